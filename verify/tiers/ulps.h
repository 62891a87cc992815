/* SPDX-License-Identifier: MIT
 *
 * The largest error of results in units of the last place, for each binade of the first operand.
 * Measured while a scalar operation is surveyed (operations/survey.h), and put into its record.
 */
#ifndef GEMEL__TIERS_ULPS_H
#define GEMEL__TIERS_ULPS_H

#include <gemel/dtype.h>
#include "base/buffer.h"

enum { GEMEL__ULPS_LOWEST = -1074, GEMEL__ULPS_BINADES = 2098 };

typedef struct gemel__ulps {
  double most;       /* of all */
  gemel_dtype dtype; /* the dtype of the first operand at the largest error */
  double at;         /* its value */
  unsigned seen;     /* bit 1 << dtype: something was compared */
  double by_dtype[GEMEL_DTYPE_COUNT];
  /* By dtype, sign (negative first) and exponent of the first operand; −1: nothing was compared. */
  float by_binade[GEMEL_DTYPE_COUNT][2][GEMEL__ULPS_BINADES];
} gemel__ulps;

/* A new, empty record, or NULL when memory is out. Freeing NULL does nothing. */
gemel__ulps *gemel__ulps_new(void);
void gemel__ulps_free(gemel__ulps *u);

/* Notes that a result is ULPS off where the first operand, of DTYPE, is X. */
void gemel__ulps_note(gemel__ulps *u, gemel_dtype dtype, double x, double ulps);

/* "up to 0.87 ulp (f32, at 0.34), f16 0.50, …"; "" if every result was exact. */
void gemel__ulps_text(const gemel__ulps *u, char *text, size_t bytes);

/* As JSON: {"f32": {"-": [[from, to, ulps], …], "+": …}, …}. For operands with exponents FROM to TO
 * no result is off by more than ULPS. */
void gemel__ulps_json(const gemel__ulps *u, gemel__buffer *b);

#endif
