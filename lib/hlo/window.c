/* SPDX-License-Identifier: MIT
 *
 * The attribute window={size=3x3 stride=2x2 pad=1_1x0_1 rhs_dilate=2x1} (window.h). What isn't said
 * is 1, and no padding.
 */
#include "hlo/window.h"

#include <string.h>

enum { MOST = 1 << 24 };

/* The numbers of the word NAME= in TEXT, with x between them and _ within: VALUES[k][i]. 1; 0: they
 * aren't RANK pieces of N numbers. */
static int take_word(gemel__hlo_span text, const char *name, int rank, int n,
                     int64_t (*values)[2]) {
  size_t length = strlen(name);
  const char *at = text.text, *end = text.text + text.length;
  while (at < end &&
         !((at == text.text || at[-1] == ' ' || at[-1] == '{') && (size_t)(end - at) > length &&
           memcmp(at, name, length) == 0 && at[length] == '=')) {
    at++;
  }
  if (at == end) {
    return 1;
  }
  at += length + 1;
  for (int k = 0; k < rank * n; k++) {
    int negative = at < end && *at == '-';
    int64_t value = 0;
    const char *begin = at += negative;
    while (at < end && *at >= '0' && *at <= '9' && value < MOST) {
      value = value * 10 + (*at++ - '0');
    }
    if (at == begin || value >= MOST) {
      return 0;
    }
    values[k / n][k % n] = negative ? -value : value;
    if (k + 1 < rank * n && (at == end || *at++ != ((k + 1) % n == 0 ? 'x' : '_'))) {
      return 0;
    }
  }
  return at == end || *at == ' ' || *at == '}';
}

/* As that, of one number an axis, of LEAST at least. */
static int take_numbers(gemel__hlo_span text, const char *name, int rank, int64_t least,
                        int64_t usual, int64_t *values) {
  int64_t pairs[GEMEL_MAX_RANK][2];
  for (int k = 0; k < rank; k++) {
    pairs[k][0] = usual;
  }
  int good = take_word(text, name, rank, 1, pairs);
  for (int k = 0; k < rank && good; k++) {
    values[k] = pairs[k][0];
    good = values[k] >= least;
  }
  return good;
}

int gemel__hlo_window_of(gemel__hlo_call *c, int rank, gemel__hlo_window *w) {
  gemel__hlo_span text = gemel__hlo_attr_of(c->instr, "window");
  int64_t pad[GEMEL_MAX_RANK][2] = {{0}};
  *w = (gemel__hlo_window){.rank = rank};
  if (text.text == NULL) {
    text = (gemel__hlo_span){"", 0};
  }
  if (rank > GEMEL_MAX_RANK || !take_numbers(text, "size", rank, 0, 1, w->size) ||
      !take_numbers(text, "stride", rank, 1, 1, w->stride) ||
      !take_numbers(text, "lhs_dilate", rank, 1, 1, w->apart) ||
      !take_numbers(text, "rhs_dilate", rank, 1, 1, w->dilation) ||
      !take_numbers(text, "rhs_reversal", rank, 0, 0, w->reversed) ||
      !take_word(text, "pad", rank, 2, pad)) {
    return gemel__hlo_refuse(c, GEMEL_BAD_FILE, "its window isn't one of %d axes", rank);
  }
  for (int k = 0; k < rank; k++) {
    w->low[k] = pad[k][0];
    w->high[k] = pad[k][1];
  }
  return 1;
}

int64_t gemel__hlo_window_count(const gemel__hlo_window *w, int k, int64_t n) {
  int64_t longer, span = (w->size[k] - 1) * w->dilation[k] + 1;
  if (n > 0 && __builtin_mul_overflow(n - 1, w->apart[k], &longer)) {
    return 0;
  }
  longer = (n > 0 ? longer + 1 : 0) + w->low[k] + w->high[k];
  return w->size[k] == 0 || longer < span ? 0 : (longer - span) / w->stride[k] + 1;
}
