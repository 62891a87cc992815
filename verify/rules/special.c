/* SPDX-License-Identifier: MIT
 *
 * Tier special of instances with infinite or NaN constants. A constant that a variable is bound to
 * counts as an input of the rule: a difference because it is infinite is `ninf`, a NaN that is lost
 * is `nnan`. Such a constant has no meaning over the reals, so only tier special runs these
 * instances. Differences between finite results are measured with other instances.
 */
#include "core/dtype.h"
#include "rules/judge.h"

static int differs(const gemel__both *both, size_t output, size_t i) {
  int is_float = gemel__is_float(gemel_tensor_dtype(both->left[output]));
  return i < gemel__both_elements(both, output) &&
         gemel__both_contrast(both, output, i) >= (is_float ? GEMEL__INF_SIGN : GEMEL__FAR);
}

/* The word that the difference at element I of OUTPUT under FILL shows; −1: none. If the sides also
 * differ at the finite inputs of BASE, the constant is the cause, otherwise the inputs. */
static int word_of(const struct gemel__example *e, gemel__fill fill, const gemel__both *both,
                   const gemel__both *base, size_t output, size_t i) {
  gemel_dtype dtype = gemel_tensor_dtype(both->left[output]);
  int is_float = gemel__is_float(dtype);
  double left = gemel__decode(dtype, gemel__tensor_element(both->left[output], i));
  double right = gemel__decode(dtype, gemel__tensor_element(both->right[output], i));
  int by_input =
      !differs(base, output, i) && (fill == GEMEL__FILL_NAN || fill == GEMEL__FILL_INFINITE);
  int nan = by_input ? fill == GEMEL__FILL_NAN : e->drawn.special == GEMEL__CONSTANTS_NAN;
  if (!differs(both, output, i)) {
    return -1;
  }
  return nan && !(is_float && right != right && left == left) ? GEMEL_NEEDS_INDEX_NNAN
                                                              : GEMEL_NEEDS_INDEX_NINF;
}

/* Results of both sides at some values, and at the same values with finite numbers in place of
 * infinities and NaN. */
struct special_point {
  gemel__fill fill;
  gemel_tensor **values, **finite;
  gemel__both both, base;
};

static gemel_status compare(struct gemel__rule_subject *p, const struct gemel__example *e,
                            const struct special_point *at, gemel_error *error) {
  gemel_status status = GEMEL_OK;
  for (size_t k = 0; k < at->both.n; k++) {
    size_t n = gemel__both_elements(&at->both, k);
    p->compared += n;
    for (size_t i = 0; i < n && status == GEMEL_OK && !gemel__both_identical(&at->both, k); i++) {
      int word = word_of(e, at->fill, &at->both, &at->base, k, i);
      if (word >= 0) {
        p->needs |= 1u << word;
      }
      if (word >= 0 && p->witness[word].values == NULL) {
        status =
            gemel__witness_take(&p->witness[word], &e->pair, at->values, &at->both, k, i, error);
      }
    }
  }
  return status;
}

static gemel_status run_at(struct gemel__rule_subject *p, const struct gemel__example *e,
                           gemel__fill fill, gemel__random *random, gemel_error *error) {
  struct special_point at = {.fill = fill};
  gemel__random again = *random;
  gemel_status status = gemel__values_draw(&e->pair.a, fill, random, &at.values, error);
  status = status ? status : gemel__values_draw(&e->pair.a, fill, &again, &at.finite, error);
  if (status == GEMEL_OK) {
    gemel__values_tame(&e->pair.a, at.finite);
    status = gemel__both_run(&e->pair, at.values, random, &at.both, error);
  }
  status = status ? status : gemel__both_run(&e->pair, at.finite, random, &at.base, error);
  status = status ? status : compare(p, e, &at, error);
  gemel__both_clear(&at.both);
  gemel__both_clear(&at.base);
  gemel__values_free(&e->pair.a, at.values);
  gemel__values_free(&e->pair.a, at.finite);
  return status == GEMEL_BAD_VALUE ? GEMEL_OK : status; /* an index out of range is no point */
}

gemel_status gemel__rule_special(struct gemel__rule_subject *p, gemel_error *error) {
  static const gemel__fill fills[] = {GEMEL__FILL_FULL, GEMEL__FILL_ZEROS, GEMEL__FILL_INFINITE,
                                      GEMEL__FILL_NAN, GEMEL__FILL_INTEGERS};
  enum { FILLS = sizeof fills / sizeof *fills };
  gemel_status status = GEMEL_OK;
  for (size_t k = 0; k < p->n && status == GEMEL_OK; k++) {
    struct gemel__example *e = &p->examples[k];
    if (e->drawn.special != 0) {
      gemel__pair_compile(&e->pair);
    }
    for (size_t j = 0; j < FILLS && e->drawn.special != 0 && status == GEMEL_OK; j++) {
      gemel__random random;
      gemel__run_random(p->run, p->info->name, GEMEL_TIER_SPECIAL, FILLS * k + j, &random);
      status = run_at(p, e, fills[j], &random, error);
    }
  }
  return status;
}
