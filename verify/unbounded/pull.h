/* SPDX-License-Identifier: MIT
 *
 * What the tables of pulls share.
 */
#ifndef GEMEL__UNBOUNDED_PULL_H
#define GEMEL__UNBOUNDED_PULL_H

#include "unbounded/scene.h"

/* Tables of pulls; each ends with a row without an operation. */
extern const gemel__ppull gemel__pulls_of_folds[], gemel__pulls_of_convs[];

/* What the attribute `padding` says, as the number in its value. */
enum { GEMEL__PADDING_VALID, GEMEL__PADDING_FULL, GEMEL__PADDING_HALF };

/* Where the axes of an attribute are wrong: no instance, or no proof. */
void gemel__pull_refuse(gemel__pscene *s, const char *what);

/* 1 if the list NAME of T has COUNT entries, or is absent and may be. */
int gemel__pull_has_length(gemel__pscene *s, const gemel__ptensor *t, const char *name, int count,
                           int optional);

/* The axes in the attribute NAME of T, for RANK axes: a bit each; LISTED gets them in their order,
 * and -1 stays if NEW is allowed. Absent: all. */
uint32_t gemel__pull_axes(gemel__pscene *s, const gemel__ptensor *t, const char *name, int rank,
                          int new, int *listed, int *count);

/* The one axis in the attribute NAME of T. */
int gemel__pull_axis(gemel__pscene *s, const gemel__ptensor *t, const char *name, int rank);

/* The element of T that function NAME gives of the operands. */
gemel__pterm gemel__pull_call(gemel__pscene *s, const gemel__ptensor *t, const char *name,
                              uint32_t count, const gemel__pterm *operands);

/* The dtype of T's operand K; GEMEL_DTYPE_COUNT if that isn't known. */
gemel_dtype gemel__pull_dtype(const gemel__ptensor *t, uint32_t k);

/* That of all operands, which must be one. */
gemel_dtype gemel__pull_common_dtype(const gemel__ptensor *t);

/* The dtype that totals of operand 0 have: integers and bools as 64 bits. */
gemel_dtype gemel__pull_wide_dtype(const gemel__ptensor *t);

/* 1 if, elements being any, RIGHT has a dtype wherever LEFT has, and the same (dtypes.c). */
int gemel__pscene_dtypes_agree(const gemel__ptensor *left, const gemel__ptensor *right);

#endif
