/* SPDX-License-Identifier: MIT
 *
 * How far results were from the exact ones, in units of the last place, by the binade of the first
 * operand: the largest of each. Filled in while an operation is surveyed (operations/survey.h), and
 * put into its record.
 */
#ifndef GEMEL__TIERS_ULPS_H
#define GEMEL__TIERS_ULPS_H

#include <gemel/dtype.h>
#include "base/buffer.h"

enum { GEMEL__ULPS_LOWEST = -1074, GEMEL__ULPS_BINADES = 2098 };

typedef struct gemel__ulps {
  double most;       /* of all */
  gemel_dtype dtype; /* of the first operand, there */
  double at;         /* its value */
  unsigned seen;     /* bits of dtypes */
  double by_dtype[GEMEL_DTYPE_COUNT];
  /* By dtype, sign (negative ones first) and exponent; -1 where nothing was compared. */
  float by_binade[GEMEL_DTYPE_COUNT][2][GEMEL__ULPS_BINADES];
} gemel__ulps;

/* A new, empty one, or NULL when memory is out; NULL is ignored when it is freed. */
gemel__ulps *gemel__ulps_new(void);
void gemel__ulps_free(gemel__ulps *u);

/* A result that is ULPS off where the first operand, of DTYPE, is X. */
void gemel__ulps_note(gemel__ulps *u, gemel_dtype dtype, double x, double ulps);

/* "up to 0.87 ulp (f32, at 0.34), f16 0.50, …"; "" if every result was exact. */
void gemel__ulps_text(const gemel__ulps *u, char *text, size_t bytes);

/* As JSON: {"f32": {"-": [[from, to, ulps], …], "+": …}, …}: from exponent FROM to exponent TO of
 * the first operand no result was farther off than ULPS. */
void gemel__ulps_json(const gemel__ulps *u, gemel__buffer *b);

#endif
