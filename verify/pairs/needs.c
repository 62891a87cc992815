/* SPDX-License-Identifier: MIT
 *
 * Measuring what one graph gives up against another, see needs.h. Points are tried in three
 * stages, each of which adds one kind of input, so that its effect can be told from the others':
 *
 *   finite numbers       results differ in a zero's sign, or only while −0 is an input: nsz;
 *                        integers and truths otherwise: integers;
 *                        floats by a kind of rounding, which rounding.c finds out
 *   then some infinite   results differ that agreed at the finite numbers: ninf
 *   then some NaN        the left side is NaN and the right isn't: nnan; the reverse: ninf
 *
 * With infinite or NaN inputs, a slight difference (less than half the digits, a zero's sign, or
 * one that is gone when computed in f64) may be rounding. It needs ninf or nnan only if no finite
 * point shows a difference of that kind.
 */
#include "pairs/needs.h"

#include <gemel/verify.h>
#include <math.h>
#include <string.h>
#include "instances/assumed.h"
#include "instances/meeting.h"
#include "instances/source.h"
#include "core/alloc.h"
#include "core/dtype.h"
#include "core/error.h"
#include "pairs/beyond.h"
#include "pairs/measure.h"
#include "domains/bound.h"
#include "pairs/widen.h"
#include "reference/twin.h"

/* ---- Witnesses ---- */

/* Keeps this element as the witness of WORD, unless there is one. */
static gemel_status show(struct gemel__measure *m, size_t word, gemel_tensor *const *values,
                         const gemel__both *both, size_t output, size_t i, gemel_error *error) {
  m->needs->needs |= 1u << word;
  return m->needs->witness[word].values != NULL
             ? GEMEL_OK
             : gemel__witness_take(&m->needs->witness[word], &m->pair, values, both, output, i,
                                   error);
}

/* ---- Points ---- */

static void take_temper(struct gemel__measure *m, gemel__temper temper) {
  m->temper = temper > m->temper ? temper : m->temper;
}

static gemel_status draw_values(struct gemel__measure *m, size_t k, gemel_tensor **values,
                                gemel_error *error) {
  /* every third point is moderate: see measure_point */
  static const gemel__style styles[] = {
      GEMEL__STYLE_ZEROS, GEMEL__STYLE_EXTREME, GEMEL__STYLE_WIDE,
      GEMEL__STYLE_ZEROS, GEMEL__STYLE_LARGE,   GEMEL__STYLE_LARGE,
      GEMEL__STYLE_FULL,  GEMEL__STYLE_SHORT,   GEMEL__STYLE_WIDE};
  size_t n = sizeof styles / sizeof *styles, j;
  int moderate = k % 3 == 0;
  uint64_t common = m->plan->beyond ? gemel__random_bits(&m->random) : 0;
  GEMEL__TRY(gemel__instance_values(&m->pair.a, GEMEL__FILL_FULL, &m->random, values, error));
  m->temper = GEMEL__CALM;
  for (j = 0; j < m->pair.a.n_leaves; j++) {
    gemel__style style = styles[k % n];
    gemel_kind kind = gemel_dtype_kind(m->pair.a.leaves[j].dtype);
    if (gemel__random_chance(&m->random, 1, 4)) {
      style = moderate ? styles[3 * gemel__random_below(&m->random, 3)]
                       : styles[gemel__random_below(&m->random, n)];
    }
    if (kind == GEMEL_KIND_FLOAT) {
      gemel__style_fill(values[j], style, &m->random);
      take_temper(m, gemel__temper_of(style));
    } else if (m->plan->beyond && kind != GEMEL_KIND_BOOL) {
      if (k % 4 == 1 && m->pair.a.leaves[j].range != GEMEL_RANGE_INDEX) {
        gemel__beyond_fill(values[j], common, &m->random);
      }
      take_temper(m, gemel__temper_of_integers(values[j]));
    }
    gemel__tensor_settle(&m->pair.a.leaves[j], values[j]);
  }
  return GEMEL_OK;
}

/* What becomes of a number of a float leaf. */
typedef double (*change)(struct gemel__measure *m, double x);

static double without_minus_zero(struct gemel__measure *m, double x) {
  (void)m;
  return x == 0 ? 0.0 : x;
}

static double large_for_infinite(struct gemel__measure *m, double x) {
  const double large = 1024; /* exp of it overflows in every dtype, and exp of -1024 is 0 */
  (void)m;
  return isinf(x) ? copysign(large, x) : x;
}

static double some_infinite(struct gemel__measure *m, double x) {
  return gemel__random_chance(&m->random, 1, 3) ? gemel__random_sign(&m->random) * INFINITY : x;
}

static double some_nan(struct gemel__measure *m, double x) {
  return gemel__random_chance(&m->random, 1, 3) ? NAN : x;
}

/* RESULT is VALUES with F applied to each float; *CHANGED counts the elements that differ. Unless
 * ALL, a leaf is left as it is with a chance of 1/3, so infinities meet finite numbers. */
static gemel_status changed_values(struct gemel__measure *m, gemel_tensor *const *values, change f,
                                   int all, gemel_tensor **result, size_t *changed,
                                   gemel_error *error) {
  size_t n = m->pair.a.n_leaves, k, i;
  *changed = 0;
  for (k = 0; k < n; k++) {
    const gemel__leaf *leaf = &m->pair.a.leaves[k];
    size_t size = gemel_dtype_size(leaf->dtype);
    if (!gemel__is_float(leaf->dtype) || (!all && gemel__random_chance(&m->random, 1, 3))) {
      result[k] = gemel_tensor_ref(values[k]);
      continue;
    }
    result[k] = gemel_tensor_new(leaf->dtype, leaf->rank, leaf->shape, error);
    if (result[k] == NULL) {
      gemel__tensors_release(k, result);
      return GEMEL_NO_MEMORY;
    }
    for (i = 0; i < leaf->count; i++) {
      double x = gemel__decode(leaf->dtype, gemel__tensor_element(values[k], i));
      double y = f(m, x);
      y = gemel__leaf_admits(leaf, y) ? y : gemel__leaf_admits(leaf, -y) ? -y : x;
      *changed += !(x == y) || (signbit(x) != 0) != (signbit(y) != 0);
      gemel__store_real(leaf->dtype, y, (char *)gemel_tensor_data(result[k]) + i * size);
    }
  }
  return GEMEL_OK;
}

/* ---- Finite numbers ---- */

/* Is the difference at an element due to −0 among the inputs? */
static int from_minus_zero(const gemel__both *plus, size_t output, size_t i) {
  return plus->left != NULL && i < gemel__both_elements(plus, output) &&
         gemel__both_contrast(plus, output, i) == GEMEL__SAME;
}

/* The sign of a zero counts at MODERATE numbers only, the constants among them: elsewhere a
 * rounding error may have underflowed to that zero. */
static gemel_status judge_finite(struct gemel__measure *m, gemel_tensor *const *values,
                                 const gemel__both *base, const gemel__both *plus, int moderate,
                                 gemel_error *error) {
  moderate &= !m->plan->finite;
  for (size_t k = 0; k < base->n; k++) {
    size_t n = gemel__both_elements(base, k);
    int floats = gemel__is_float(gemel_tensor_dtype(base->left[k]));
    if (gemel__both_identical(base, k)) {
      m->needs->compared += n;
      m->needs->tried[GEMEL_NEEDS_INDEX_NSZ] += moderate ? n : 0;
      continue;
    }
    for (size_t i = 0; i < n; i++) {
      gemel__contrast c = gemel__both_contrast(base, k, i);
      m->needs->compared++;
      m->needs->tried[GEMEL_NEEDS_INDEX_NSZ] += (size_t)moderate;
      int of_zero = c == GEMEL__ZERO_SIGN || c == GEMEL__INF_SIGN ||
                    (c != GEMEL__SAME && from_minus_zero(plus, k, i));
      if (of_zero && !(m->plan->beyond && !floats)) {
        GEMEL__TRY(moderate ? show(m, GEMEL_NEEDS_INDEX_NSZ, values, base, k, i, error) : GEMEL_OK);
      } else if (c != GEMEL__SAME && !floats) {
        GEMEL__TRY(show(m, GEMEL_NEEDS_INDEX_INTEGERS, values, base, k, i, error));
      } else if (c != GEMEL__SAME && m->rounding.values == NULL) {
        GEMEL__TRY(gemel__witness_take(&m->rounding, &m->pair, values, base, k, i, error));
      }
    }
  }
  return GEMEL_OK;
}

/* The same point with each −0 replaced, in the new array POSITIVE. PLUS stays as it is if there is
 * no −0. */
static gemel_status run_without_minus_zero(struct gemel__measure *m, gemel_tensor *const *values,
                                           gemel_tensor **positive, gemel__both *plus,
                                           gemel_error *error) {
  size_t changed = 0;
  GEMEL__TRY(changed_values(m, values, without_minus_zero, 1, positive, &changed, error));
  return changed > 0 ? gemel__both_run(&m->pair, positive, &m->random, plus, error) : GEMEL_OK;
}

static gemel_status measure_finite(struct gemel__measure *m, gemel_tensor *const *values,
                                   const gemel__both *base, int moderate, gemel_error *error) {
  gemel__both plus = {0};
  gemel_tensor **positive = gemel__alloc_array(m->pair.a.n_leaves, sizeof *positive);
  if (positive == NULL) {
    return gemel__no_memory(error, "values");
  }
  gemel_status status = run_without_minus_zero(m, values, positive, &plus, error);
  status = status ? status : judge_finite(m, values, base, &plus, moderate, error);
  gemel__both_clear(&plus);
  gemel__values_free(&m->pair.a, positive);
  return status;
}

/* ---- Infinities and NaN ---- */

static int is_nan_at(const gemel_tensor *tensor, size_t i) {
  return gemel__is_float(gemel_tensor_dtype(tensor)) &&
         isnan(gemel__decode(gemel_tensor_dtype(tensor), gemel__tensor_element(tensor, i)));
}

/* A slight difference, which rounding may explain: kept until all finite points are measured. */
static gemel_status keep_slight(struct gemel__measure *m, size_t word, gemel__contrast c,
                                gemel_tensor *const *values, const gemel__both *both, size_t output,
                                size_t i, gemel_error *error) {
  if (m->slight[word].values != NULL) {
    return GEMEL_OK;
  }
  m->zero_slight[word] = c == GEMEL__ZERO_SIGN;
  return gemel__witness_take(&m->slight[word], &m->pair, values, both, output, i, error);
}

/* *VANISHES: computed in f64, both sides agree at this element to half the digits of f64. So a
 * large difference may still be rounding in a narrow dtype, as in the logarithm of a number near 1.
 */
static gemel_status look_in_f64(const struct gemel__measure *m, gemel_tensor *const *values,
                                size_t output, size_t i, int *vanishes, gemel_error *error) {
  gemel__both both;
  gemel__random random = m->random;
  gemel_status status = gemel__both_run_wide(&m->pair, values, 0, &random, &both, error);
  *vanishes = both.n > 0 && gemel__both_contrast(&both, output, i) <= GEMEL__ROUNDING;
  gemel__both_clear(&both);
  return status;
}

/* Zeros differ in sign at VALUES, where infinities are. LARGE has room for values with large
 * numbers for infinities: if zeros differ there too, as in 0 - exp(x), the pair gives up nsz. */
static gemel_status compare_at_large(struct gemel__measure *m, gemel_tensor *const *values,
                                     gemel_tensor **large, size_t output, size_t i,
                                     gemel_error *error) {
  gemel__both both;
  gemel__random random = m->random;
  gemel_status status = GEMEL_OK;
  size_t changed = 0;
  GEMEL__TRY(changed_values(m, values, large_for_infinite, 1, large, &changed, error));
  GEMEL__TRY(gemel__both_run(&m->pair, large, &random, &both, error));
  if (i < gemel__both_elements(&both, output) &&
      gemel__both_contrast(&both, output, i) == GEMEL__ZERO_SIGN) {
    status = show(m, GEMEL_NEEDS_INDEX_NSZ, large, &both, output, i, error);
  }
  gemel__both_clear(&both);
  return status;
}

static gemel_status look_at_large(struct gemel__measure *m, gemel_tensor *const *values,
                                  size_t output, size_t i, gemel_error *error) {
  gemel_tensor **large = gemel__alloc_array(m->pair.a.n_leaves, sizeof *large);
  gemel_status status = large == NULL ? gemel__no_memory(error, "values")
                                      : compare_at_large(m, values, large, output, i, error);
  gemel__values_free(&m->pair.a, large);
  return status;
}

static gemel_status judge_special_element(struct gemel__measure *m, size_t word,
                                          gemel_tensor *const *values, gemel__contrast before,
                                          const gemel__both *both, size_t k, size_t i,
                                          gemel_error *error) {
  gemel__contrast c = gemel__both_contrast(both, k, i);
  int more = is_nan_at(both->right[k], i) && !is_nan_at(both->left[k], i);
  int slight = c <= GEMEL__ROUNDING;
  if (c == GEMEL__SAME || before >= GEMEL__FAR) {
    return GEMEL_OK;
  }
  if (c == GEMEL__FAR && gemel__is_float(gemel_tensor_dtype(both->left[k])) &&
      m->needs->witness[word].values == NULL) {
    GEMEL__TRY(look_in_f64(m, values, k, i, &slight, error));
  }
  if (c == GEMEL__ZERO_SIGN && word == GEMEL_NEEDS_INDEX_NINF && m->slight[word].values == NULL) {
    GEMEL__TRY(look_at_large(m, values, k, i, error));
  }
  return slight ? keep_slight(m, word, c, values, both, k, i, error)
                : show(m, more ? (size_t)GEMEL_NEEDS_INDEX_NINF : word, values, both, k, i, error);
}

static gemel_status judge_special(struct gemel__measure *m, size_t word,
                                  gemel_tensor *const *values, const gemel__both *base,
                                  const gemel__both *both, gemel_error *error) {
  for (size_t k = 0; k < both->n; k++) {
    size_t n = gemel__both_elements(both, k);
    if (gemel__both_identical(both, k)) {
      m->needs->compared += n;
      m->needs->tried[word] += n;
      continue;
    }
    for (size_t i = 0; i < n && i < gemel__both_elements(base, k); i++) {
      gemel__contrast before = gemel__both_contrast(base, k, i);
      m->needs->compared++;
      m->needs->tried[word]++;
      GEMEL__TRY(judge_special_element(m, word, values, before, both, k, i, error));
    }
  }
  return GEMEL_OK;
}

/* Runs the pair at SPECIAL, and holds that against BASE. */
static gemel_status run_special(struct gemel__measure *m, size_t word, gemel_tensor *const *special,
                                const gemel__both *base, gemel_error *error) {
  gemel__both both;
  GEMEL__TRY(gemel__both_run(&m->pair, special, &m->random, &both, error));
  gemel_status status = judge_special(m, word, special, base, &both, error);
  gemel__both_clear(&both);
  return status;
}

static gemel_status measure_special(struct gemel__measure *m, size_t word, change f,
                                    gemel_tensor *const *values, const gemel__both *base,
                                    gemel_error *error) {
  gemel_tensor **special = gemel__alloc_array(m->pair.a.n_leaves, sizeof *special);
  size_t changed = 0;
  gemel_status status = special == NULL ? gemel__no_memory(error, "values")
                                        : changed_values(m, values, f, 0, special, &changed, error);
  if (status == GEMEL_OK && changed > 0) {
    status = run_special(m, word, special, base, error);
  }
  gemel__values_free(&m->pair.a, special);
  return status;
}

/* Slight differences at infinite and NaN inputs count if no finite point shows one. */
static void settle_slight(struct gemel__measure *m) {
  for (size_t k = 0; k < GEMEL_NEEDS_COUNT; k++) {
    int explained =
        m->zero_slight[k] ? (m->needs->needs & GEMEL__NEED(NSZ)) != 0 : m->rounding.values != NULL;
    if (m->slight[k].values != NULL && !explained) {
      unsigned new = ~m->needs->needs & 1u << k;
      *(m->zero_slight[k] ? &m->needs->of_zero : &m->needs->of_rounding) |= new;
      m->needs->needs |= 1u << k;
      if (m->needs->witness[k].values == NULL) {
        m->needs->witness[k] = m->slight[k];
        memset(&m->slight[k], 0, sizeof m->slight[k]);
      }
    }
  }
}

/* ---- All of it ---- */

/* Infinities and NaN are put among moderate numbers only: with large numbers an overflow, which is
 * rounding, couldn't be told from them. */
static gemel_status measure_results(struct gemel__measure *m, gemel_tensor *const *values,
                                    const gemel__both *base, int moderate, gemel_error *error) {
  GEMEL__TRY(measure_finite(m, values, base, moderate, error));
  if (m->plan->beyond || m->plan->losses > 0) {
    GEMEL__TRY(
        gemel__beyond_look(&m->pair, values, base, m->temper, m->plan, m->bound, m->needs, error));
  }
  if (moderate && !m->plan->finite) {
    GEMEL__TRY(measure_special(m, GEMEL_NEEDS_INDEX_NINF, some_infinite, values, base, error));
    GEMEL__TRY(measure_special(m, GEMEL_NEEDS_INDEX_NNAN, some_nan, values, base, error));
  }
  return m->plan->improvement ? gemel__measure_improvement(m, values, base, error) : GEMEL_OK;
}

static gemel_status measure_point(struct gemel__measure *m, gemel_tensor *const *values,
                                  int moderate, gemel_error *error) {
  gemel__both base;
  GEMEL__TRY(gemel__both_run(&m->pair, values, &m->random, &base, error));
  gemel_status status = measure_results(m, values, &base, moderate, error);
  gemel__both_clear(&base);
  return status;
}

/* The point with number K. */
static gemel_status draw_and_measure(struct gemel__measure *m, size_t k, gemel_error *error) {
  gemel_tensor **values = gemel__alloc_array(m->pair.a.n_leaves, sizeof *values);
  gemel_status status =
      values == NULL ? gemel__no_memory(error, "values") : draw_values(m, k, values, error);
  status = status ? status : measure_point(m, values, k % 3 == 0, error);
  gemel__values_free(&m->pair.a, values);
  return status;
}

/* Point VALUES at turn K, which SOURCE changes. */
static gemel_status measure_changed(struct gemel__measure *m, const gemel__source *source,
                                    gemel_tensor **values, size_t k, gemel_error *error) {
  const gemel__drawn point = {&m->pair.a, values, k, &m->random};
  gemel__both base;
  int orders = (source->questions & GEMEL__FOR_ORDER) != 0;
  gemel__source_put(&point, source);
  GEMEL__TRY(gemel__both_run(&m->pair, values, &m->random, &base, error));
  gemel_status status = measure_finite(m, values, &base, !orders, error);
  if (status == GEMEL_OK && m->plan->beyond && orders) {
    status = gemel__beyond_look(&m->pair, values, &base, GEMEL__WILD, m->plan, m->bound, m->needs,
                                error);
  }
  gemel__both_clear(&base);
  return status;
}

static gemel_status measure_source(struct gemel__measure *m, const gemel__source *source, size_t k,
                                   gemel_error *error) {
  gemel_tensor **values;
  GEMEL__TRY(gemel__values_draw(&m->pair.a, GEMEL__FILL_FULL, &m->random, &values, error));
  gemel_status status = measure_changed(m, source, values, k, error);
  gemel__values_free(&m->pair.a, values);
  return status;
}

/* The points that come after point K from sources that show something in the pair. What else is
 * drawn doesn't depend on them. */
static gemel_status measure_sources(struct gemel__measure *m, size_t k, gemel_error *error) {
  const gemel__random random = m->random;
  gemel_status status = GEMEL_OK;
  for (size_t j = 0; j < GEMEL__SOURCES && status == GEMEL_OK; j++) {
    const gemel__source *s = &gemel__sources[j];
    if (s->questions & GEMEL__FOR_NEEDS && k % s->every == s->first &&
        (s->shows(m->pair.a.graph) || s->shows(m->pair.b.graph))) {
      status = measure_source(m, s, k, error);
    }
  }
  m->random = random;
  return status;
}

/* Values for MEETING; from the same RANDOM they are the same. */
static gemel_status draw_meeting(const struct gemel__measure *m, const gemel__meeting *meeting,
                                 gemel__random random, gemel_tensor ***values, gemel_error *error) {
  GEMEL__TRY(gemel__values_draw(&m->pair.a, GEMEL__FILL_FULL, &random, values, error));
  gemel__meeting_arrange(meeting, &m->pair.a, &random, *values);
  return GEMEL_OK;
}

/* Holds the results at SPECIAL against those at FINITE. */
static gemel_status judge_meeting(struct gemel__measure *m, size_t word, gemel_tensor **finite,
                                  gemel_tensor *const *special, gemel_error *error) {
  gemel__both base;
  gemel__values_tame(&m->pair.a, finite);
  GEMEL__TRY(gemel__both_run(&m->pair, finite, &m->random, &base, error));
  gemel_status status = measure_finite(m, finite, &base, 1, error);
  status = status ? status : run_special(m, word, special, &base, error);
  gemel__both_clear(&base);
  return status;
}

/* Points at which zeros meet infinities or NaNs, unless the word that they would show is known. */
static gemel_status measure_meeting(struct gemel__measure *m, size_t number, unsigned known,
                                    gemel_error *error) {
  gemel_tensor **finite = NULL, **special = NULL;
  gemel__meeting meeting = gemel__meeting_of(&m->pair.a, number);
  size_t word =
      meeting.special == GEMEL__MEET_NAN ? GEMEL_NEEDS_INDEX_NNAN : GEMEL_NEEDS_INDEX_NINF;
  if ((m->needs->needs | known) >> word & 1) {
    return GEMEL_OK;
  }
  gemel_status status = draw_meeting(m, &meeting, m->random, &finite, error);
  status = status ? status : draw_meeting(m, &meeting, m->random, &special, error);
  gemel__random_bits(&m->random);
  status = status ? status : judge_meeting(m, word, finite, special, error);
  gemel__values_free(&m->pair.a, finite);
  gemel__values_free(&m->pair.a, special);
  return status;
}

/* Makes the pair ready for all ways in which it is run. */
static void compile_ways(struct gemel__measure *m) {
  gemel__pair_compile(&m->pair);
  m->pair.plain = m->plan->plain;
  gemel__pair_compile(&m->pair);
}

/* Before point K: where there are symbols, every now and then a pair of other sizes. */
static gemel_status draw_pair(struct gemel__measure *m, size_t k, gemel_error *error) {
  enum { POINTS_A_PAIR = 12 };
  if (k > 0 && (k % POINTS_A_PAIR != 0 || m->pair.symbols == 0)) {
    return GEMEL_OK;
  }
  gemel__pair_clear(&m->pair);
  GEMEL__TRY(gemel__pair_draw(&m->pair, m->left, m->right, &m->random, error));
  compile_ways(m);
  return GEMEL_OK;
}

static gemel_status measure_points(struct gemel__measure *m, size_t points, gemel_error *error) {
  /* while every result was empty: more sizes */
  for (size_t k = 0;
       k < points || (m->needs->compared == 0 && m->pair.symbols > 0 && k < 8 * points); k++) {
    gemel__ticker_at(m->plan->ticker, k, points);
    GEMEL__TRY(gemel__tick(m->plan->ticker));
    GEMEL__TRY(draw_pair(m, k, error));
    m->pair.plain = m->plan->plain && k % 2 != 0;
    gemel_status status = draw_and_measure(m, k, error);
    status = status ? status : measure_sources(m, k, error);
    /* an index out of range: no point */
    GEMEL__TRY(gemel__is_no_point(status) ? GEMEL_OK : status);
  }
  return GEMEL_OK;
}

/* A point at which digits are lost. */
static gemel_status measure_loss(struct gemel__measure *m, size_t turn, gemel_error *error) {
  const gemel__needs_plan alone = {.folded = m->plan->folded};
  gemel_tensor **values;
  gemel__both base;
  GEMEL__TRY(gemel__values_draw(&m->pair.a, GEMEL__FILL_FULL, &m->random, &values, error));
  gemel__temper temper = gemel__losses_fill(&m->pair, turn, &m->random, values);
  for (size_t j = 0; j < m->pair.a.n_leaves; j++) {
    gemel__tensor_settle(&m->pair.a.leaves[j], values[j]);
  }
  gemel_status status = gemel__both_run(&m->pair, values, &m->random, &base, error);
  if (status == GEMEL_OK) {
    status = gemel__beyond_look(&m->pair, values, &base, temper, &alone, m->bound, m->needs, error);
    gemel__both_clear(&base);
  }
  gemel__values_free(&m->pair.a, values);
  return status;
}

/* Points at which digits are lost, and more of them where a few have been. */
static gemel_status measure_losses(struct gemel__measure *m, gemel_error *error) {
  enum { MORE = 160 };
  size_t points = m->plan->losses, most = points > 0 ? points + MORE : 0;
  size_t first = 4 * gemel__random_below(&m->random, 3);
  for (size_t k = 0; !gemel__losses_worsen(&m->needs->losses) && k < most &&
                     (k < points || gemel__losses_open(&m->needs->losses) < GEMEL__LOSSES);
       k++) {
    GEMEL__TRY(gemel__tick(m->plan->ticker));
    gemel_status status = draw_pair(m, k + 1, error);
    m->pair.plain = m->plan->plain && k % 2 != 0;
    size_t open = m->plan->near ? GEMEL__LOST_DIGITS
                  : k < points  ? GEMEL__LOSSES
                                : gemel__losses_open(&m->needs->losses);
    status = status ? status : measure_loss(m, gemel__losses_turn(open, first + k), error);
    GEMEL__TRY(gemel__is_no_point(status) ? GEMEL_OK : status);
  }
  return GEMEL_OK;
}

static gemel_status measure_meetings(struct gemel__measure *m, gemel_error *error) {
  const gemel__needs_plan *plan = m->plan;
  for (size_t k = 0; k < plan->meetings && !plan->finite; k++) {
    GEMEL__TRY(gemel__tick(plan->ticker));
    GEMEL__TRY(draw_pair(m, plan->points + k, error));
    m->pair.plain = plan->plain && k % 2 != 0;
    gemel_status status = measure_meeting(m, plan->meeting + k, plan->known, error);
    GEMEL__TRY(gemel__is_no_point(status) ? GEMEL_OK : status);
  }
  return GEMEL_OK;
}

/* If one word of rounding is enough, any difference at finite numbers is its witness. */
static void show_rounding(struct gemel__measure *m) {
  static const size_t kinds[] = {GEMEL_NEEDS_INDEX_CONTRACT, GEMEL_NEEDS_INDEX_ARCP,
                                 GEMEL_NEEDS_INDEX_AFN, GEMEL_NEEDS_INDEX_REASSOC};
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
    gemel__witness *witness = &m->needs->witness[kinds[k]];
    if ((m->needs->needs >> kinds[k] & 1) && witness->values == NULL) {
      *witness = m->rounding;
      memset(&m->rounding, 0, sizeof m->rounding);
      return;
    }
  }
}

/* How many casts of GRAPH go to a narrower dtype. */
static size_t count_narrowing(const gemel_graph *graph) {
  size_t n = 0;
  for (uint32_t k = 0; k < gemel_graph_node_count(graph); k++) {
    n += (gemel__arithmetic(graph, k) & GEMEL__NARROWS) != 0;
  }
  return n;
}

/* Where only casts to a narrower dtype tell the graphs apart, whoever has fewer has more digits: a
 * cast that is gone is `improves`, one that is new is `worsens`, and neither is `afn`. */
static void settle_narrowed(const struct gemel__measure *m, gemel__needs *needs) {
  size_t left = count_narrowing(m->left), right = count_narrowing(m->right);
  unsigned word = left > right && needs->improves                       ? GEMEL__NEED(IMPROVES)
                  : left < right && needs->needs & GEMEL__NEED(WORSENS) ? GEMEL__NEED(WORSENS)
                                                                        : 0;
  if (m->plan->beyond && needs->narrowed && word != 0) {
    needs->needs = (needs->needs & ~GEMEL__NEED(AFN)) | word;
    gemel__witness_move(&needs->witness[GEMEL_NEEDS_INDEX_IMPROVES],
                        &needs->witness[GEMEL_NEEDS_INDEX_AFN]);
  }
}

gemel_status gemel__needs_measure(const gemel_graph *left, const gemel_graph *right, uint64_t seed,
                                  const gemel__needs_plan *plan, gemel__needs *needs,
                                  gemel_error *error) {
  struct gemel__measure m;
  memset(&m, 0, sizeof m);
  memset(needs, 0, sizeof *needs);
  m.left = left;
  m.right = right;
  m.needs = needs;
  m.plan = plan;
  gemel__random_seed(&m.random, seed);
  m.bound = gemel__bound_new(256);
  gemel_status status = m.bound == NULL ? gemel__no_memory(error, "a measurement")
                                        : measure_points(&m, plan->points, error);
  gemel__random other = m.random; /* what follows doesn't depend on how many points there are */
  status = status ? status : measure_losses(&m, error);
  m.random = other;
  status = status ? status : measure_meetings(&m, error);
  m.random = other;
  if (status == GEMEL_OK) {
    settle_slight(&m);
    status = gemel__challenge_rarity(&m, error);
  }
  needs->rounds = m.rounding.values != NULL;
  if (status == GEMEL_OK && needs->rounds && plan->rounding > 0) {
    status = gemel__needs_rounding(left, right, &m.random, plan, needs, error);
    show_rounding(&m);
  }
  if (status == GEMEL_OK && m.pair.symbols > 0) {
    status = gemel__needs_at_lengths(left, right, m.pair.symbols, &m.random, plan, needs, error);
  }
  needs->improves = m.better > 0 && m.worse == 0;
  if (gemel__losses_worsen(&needs->losses)) {
    needs->needs |= GEMEL__NEED(WORSENS);
    needs->witness[GEMEL_NEEDS_INDEX_WORSENS] = needs->loss;
    memset(&needs->loss, 0, sizeof needs->loss);
  }
  settle_narrowed(&m, needs);
  gemel__pair_clear(&m.pair);
  gemel__bound_free(m.bound);
  gemel__witness_clear(&m.rounding);
  for (size_t k = 0; k < GEMEL_NEEDS_COUNT; k++) {
    gemel__witness_clear(&m.slight[k]);
  }
  return status;
}
