/* SPDX-License-Identifier: MIT
 *
 * Errors in units of the last place, by binade (ulps.h).
 */
#include "tiers/ulps.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include "core/alloc.h"

gemel__ulps *gemel__ulps_new(void) {
  gemel__ulps *u = gemel__alloc_zeroed(sizeof *u);
  for (size_t dtype = 0; u != NULL && dtype < GEMEL_DTYPE_COUNT; dtype++) {
    for (size_t k = 0; k < GEMEL__ULPS_BINADES; k++) {
      u->by_binade[dtype][0][k] = u->by_binade[dtype][1][k] = -1;
    }
  }
  return u;
}

void gemel__ulps_free(gemel__ulps *u) {
  gemel__free(u, sizeof *u);
}

void gemel__ulps_note(gemel__ulps *u, gemel_dtype dtype, double x, double ulps) {
  int exponent;
  if (!isfinite(x) || x == 0) {
    return;
  }
  frexp(x, &exponent);
  exponent -= 1 + GEMEL__ULPS_LOWEST;
  if (exponent < 0 || exponent >= GEMEL__ULPS_BINADES) {
    return;
  }
  float *at = &u->by_binade[dtype][x > 0][exponent];
  *at = (float)ulps > *at ? (float)ulps : *at;
  u->seen |= 1u << dtype;
  if (ulps > u->by_dtype[dtype]) {
    u->by_dtype[dtype] = ulps;
  }
  if (ulps > u->most) {
    u->most = ulps;
    u->dtype = dtype;
    u->at = x;
  }
}

void gemel__ulps_text(const gemel__ulps *u, char *text, size_t bytes) {
  size_t used;
  text[0] = '\0';
  if (!(u->most > 0)) {
    return;
  }
  snprintf(text, bytes, "up to %.2f ulp (%s, at %.6g)", u->most, gemel_dtype_name(u->dtype), u->at);
  for (int dtype = 0; dtype < GEMEL_DTYPE_COUNT; dtype++) {
    used = strlen(text);
    if ((u->seen >> dtype & 1) && dtype != (int)u->dtype && u->by_dtype[dtype] > 0) {
      snprintf(text + used, bytes - used, ", %s %.2f", gemel_dtype_name((gemel_dtype)dtype),
               u->by_dtype[dtype]);
    }
  }
}

/* Writes runs of binades with the same error, rounded to two decimals. */
static void write_runs(const float *binades, gemel__buffer *b) {
  int k = 0, first = 1;
  while (k < GEMEL__ULPS_BINADES) {
    double here = ceil((double)binades[k] * 100) / 100;
    int from = k;
    while (k < GEMEL__ULPS_BINADES && ceil((double)binades[k] * 100) / 100 == here) {
      k++;
    }
    if (here >= 0) {
      gemel__buffer_format(b, "%s[%d, %d, %.2f]", first ? "" : ", ", from + GEMEL__ULPS_LOWEST,
                           k - 1 + GEMEL__ULPS_LOWEST, here);
      first = 0;
    }
  }
}

void gemel__ulps_json(const gemel__ulps *u, gemel__buffer *b) {
  int dtype, first = 1;
  gemel__buffer_text(b, "{");
  for (dtype = 0; dtype < GEMEL_DTYPE_COUNT; dtype++) {
    if (u->seen >> dtype & 1) {
      gemel__buffer_format(b, "%s\"%s\": {\"-\": [", first ? "" : ", ",
                           gemel_dtype_name((gemel_dtype)dtype));
      write_runs(u->by_binade[dtype][0], b);
      gemel__buffer_text(b, "], \"+\": [");
      write_runs(u->by_binade[dtype][1], b);
      gemel__buffer_text(b, "]}");
      first = 0;
    }
  }
  gemel__buffer_text(b, "}");
}
