/* SPDX-License-Identifier: MIT
 *
 * The table of functions, made of functions.def.
 */
#include "domains/functions.h"

#define APPLY(word) b->apply(b, e, GEMEL__REAL_##word, x)
#define FUNCTION(word, name, ball, number, derivative)                                             \
  static void derivative_##word(gemel__domain *b, void *e, const void *x, const void *one,         \
                                void *t) {                                                         \
    (void)one, (void)t;                                                                            \
    derivative;                                                                                    \
  }
#include "domains/functions.def"
#undef FUNCTION

const gemel__real_row gemel__real_functions[GEMEL__REAL_COUNT] = {
#define FUNCTION(word, name, ball, number, derivative) {name, ball, number, derivative_##word},
#include "domains/functions.def"
#undef FUNCTION
};

double gemel__real_limit(gemel__real_function f, int sign) {
  mpfr_t x;
  mpfr_init2(x, 53);
  mpfr_set_inf(x, sign);
  gemel__real_functions[f].number(x, x, MPFR_RNDN);
  double limit = mpfr_get_d(x, MPFR_RNDN);
  mpfr_clear(x);
  return limit;
}

void gemel__domains_cleanup(void) {
  flint_cleanup();
  mpfr_free_cache();
}
