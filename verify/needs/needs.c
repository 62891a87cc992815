/* SPDX-License-Identifier: MIT
 *
 * Measuring what one graph gives up against another, see needs.h. One thing is brought in at a
 * time, so that what it does can be told from the rest:
 *
 *   finite numbers       a zero of another sign, or what vanishes once −0 becomes 0: nsz
 *                        all else: a kind of rounding, which rounding.c tells
 *   then some infinite   where the finite numbers gave no such difference: ninf
 *   then some NaN        the left side's NaN is lost: nnan; the right side has one more: ninf
 *
 * Under infinities and NaN, a difference by less than half the digits (or of a zero's sign, or one
 * that vanishes in f64) counts only if the finite numbers never show such a one: else it is that
 * one.
 *
 * Whether the right side improves is asked of domain B: the exact result, and the bound that holds
 * for the right side.
 */
#include "needs/needs.h"

#include <gemel/verify.h>
#include <math.h>
#include <string.h>
#include "instances/assumed.h"
#include "instances/meeting.h"
#include "core/alloc.h"
#include "core/dtype.h"
#include "core/error.h"
#include "needs/beyond.h"
#include "needs/midpoints.h"
#include "domains/bound.h"
#include "pairs/widen.h"

enum { CHALLENGES = 40 }; /* enough to find the one case in thousands in which luck turns */

struct measure {
  const gemel_graph *left, *right;
  gemel__random random;
  gemel__bound *bound;
  gemel__needs *needs;
  gemel__pair pair; /* the instance at hand */
  gemel__witness rounding;
  gemel__witness slight[GEMEL_NEEDS_COUNT]; /* differences that rounding or a zero's sign explains,
                                               if the finite numbers show it */
  int zero_slight[GEMEL_NEEDS_COUNT];       /* 1: it is of a zero's sign */
  size_t better, worse, challenges;
  int improvement; /* 1: it is asked */
  int finite;      /* 1: nothing but finite numbers */
  int beyond, folded, plain;
  gemel__ticker *ticker;
  gemel__temper temper; /* of the point at hand */
};

/* ---- Witnesses ---- */

/* The word WORD shows at this element, unless it is known already. */
static gemel_status show(struct measure *m, size_t word, gemel_tensor *const *values,
                         const gemel__both *both, size_t output, size_t i, gemel_error *error) {
  m->needs->needs |= 1u << word;
  return m->needs->witness[word].values != NULL
             ? GEMEL_OK
             : gemel__witness_take(&m->needs->witness[word], &m->pair, values, both, output, i,
                                   error);
}

/* ---- Points ---- */

static gemel__temper temper_of(gemel__style style) {
  return style == GEMEL__STYLE_FULL || style == GEMEL__STYLE_SHORT    ? GEMEL__CALM
         : style == GEMEL__STYLE_ZEROS || style == GEMEL__STYLE_LARGE ? GEMEL__TAME
                                                                      : GEMEL__WILD;
}

/* Integers beyond a thousand may overflow a float too. */
static gemel__temper temper_of_integers(const gemel_tensor *tensor) {
  size_t n = (size_t)gemel_tensor_elements(tensor), i;
  for (i = 0; i < n; i++) {
    if (fabs(gemel__decode(gemel_tensor_dtype(tensor), gemel__tensor_element(tensor, i))) > 1000) {
      return GEMEL__WILD;
    }
  }
  return GEMEL__TAME;
}

static void take_temper(struct measure *m, gemel__temper temper) {
  m->temper = temper > m->temper ? temper : m->temper;
}

static gemel_status draw_values(struct measure *m, size_t k, gemel_tensor **values,
                                gemel_error *error) {
  /* every third point is moderate: see measure_point */
  static const gemel__style styles[] = {
      GEMEL__STYLE_ZEROS, GEMEL__STYLE_EXTREME, GEMEL__STYLE_WIDE,
      GEMEL__STYLE_ZEROS, GEMEL__STYLE_LARGE,   GEMEL__STYLE_LARGE,
      GEMEL__STYLE_FULL,  GEMEL__STYLE_SHORT,   GEMEL__STYLE_WIDE};
  size_t n = sizeof styles / sizeof *styles, j;
  int moderate = k % 3 == 0;
  uint64_t common = m->beyond ? gemel__random_bits(&m->random) : 0;
  gemel_status status =
      gemel__instance_values(&m->pair.a, GEMEL__FILL_FULL, &m->random, values, error);
  m->temper = GEMEL__CALM;
  for (j = 0; j < m->pair.a.n_leaves && status == GEMEL_OK; j++) {
    gemel__style style = styles[k % n];
    gemel_kind kind = gemel_dtype_kind(m->pair.a.leaves[j].dtype);
    if (gemel__random_chance(&m->random, 1, 4)) {
      style = moderate ? styles[3 * gemel__random_below(&m->random, 3)]
                       : styles[gemel__random_below(&m->random, n)];
    }
    if (kind == GEMEL_KIND_FLOAT) {
      gemel__style_fill(values[j], style, &m->random);
      take_temper(m, temper_of(style));
    } else if (m->beyond && kind != GEMEL_KIND_BOOL) {
      if (k % 4 == 1 && m->pair.a.leaves[j].range != GEMEL_RANGE_INDEX) {
        gemel__beyond_fill(values[j], common, &m->random);
      }
      take_temper(m, temper_of_integers(values[j]));
    }
    gemel__tensor_settle(&m->pair.a.leaves[j], values[j]);
  }
  return status;
}

/* What becomes of a number of a float leaf. */
typedef double (*change)(struct measure *m, double x);

static double without_minus_zero(struct measure *m, double x) {
  (void)m;
  return x == 0 ? 0.0 : x;
}

static double some_infinite(struct measure *m, double x) {
  return gemel__random_chance(&m->random, 1, 3) ? gemel__random_sign(&m->random) * INFINITY : x;
}

static double some_nan(struct measure *m, double x) {
  return gemel__random_chance(&m->random, 1, 3) ? NAN : x;
}

/* VALUES changed: *CHANGED counts the elements that the change made different. A leaf of two is
 * left as it is, so infinities meet finite numbers. */
static gemel_status changed_values(struct measure *m, gemel_tensor *const *values, change f,
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

/* Signs of zeros count among MODERATE numbers only: elsewhere rounding errors may underflow. */
static gemel_status judge_finite(struct measure *m, gemel_tensor *const *values,
                                 const gemel__both *base, const gemel__both *plus, int moderate,
                                 gemel_error *error) {
  gemel_status status = GEMEL_OK;
  size_t k, i;
  for (k = 0; k < base->n; k++) {
    size_t n = gemel__both_elements(base, k);
    int floats = gemel__is_float(gemel_tensor_dtype(base->left[k]));
    if (gemel__both_identical(base, k) || (m->beyond && !floats)) {
      m->needs->compared += n;
      m->needs->tried[GEMEL_NEEDS_INDEX_NSZ] += moderate ? n : 0;
      continue;
    }
    for (i = 0; i < n && status == GEMEL_OK; i++) {
      gemel__contrast c = gemel__both_contrast(base, k, i);
      m->needs->compared++;
      m->needs->tried[GEMEL_NEEDS_INDEX_NSZ] += (size_t)moderate;
      if (c == GEMEL__ZERO_SIGN || c == GEMEL__INF_SIGN ||
          (c != GEMEL__SAME && from_minus_zero(plus, k, i))) {
        status = moderate ? show(m, GEMEL_NEEDS_INDEX_NSZ, values, base, k, i, error) : GEMEL_OK;
      } else if (c != GEMEL__SAME && m->rounding.values == NULL) {
        status = gemel__witness_take(&m->rounding, &m->pair, values, base, k, i, error);
      }
    }
  }
  return status;
}

static gemel_status measure_finite(struct measure *m, gemel_tensor *const *values,
                                   const gemel__both *base, int moderate, gemel_error *error) {
  gemel__both plus;
  gemel_tensor **positive = gemel__alloc_array(m->pair.a.n_leaves, sizeof *positive);
  size_t changed = 0;
  gemel_status status = positive == NULL ? gemel__no_memory(error, "values")
                                         : changed_values(m, values, without_minus_zero, 1,
                                                          positive, &changed, error);
  memset(&plus, 0, sizeof plus);
  if (status == GEMEL_OK && changed > 0) {
    status = gemel__both_run(&m->pair, positive, &m->random, &plus, error);
  }
  if (status == GEMEL_OK) {
    status = judge_finite(m, values, base, &plus, moderate, error);
  }
  gemel__both_clear(&plus);
  if (positive != NULL) {
    gemel__tensors_release(m->pair.a.n_leaves, positive);
    gemel__free(positive, m->pair.a.n_leaves * sizeof *positive);
  }
  return status;
}

/* ---- Infinities and NaN ---- */

static int is_nan_at(const gemel_tensor *tensor, size_t i) {
  return gemel__is_float(gemel_tensor_dtype(tensor)) &&
         isnan(gemel__decode(gemel_tensor_dtype(tensor), gemel__tensor_element(tensor, i)));
}

/* A difference that finite numbers may explain as well: kept until they have been heard. */
static gemel_status keep_slight(struct measure *m, size_t word, gemel__contrast c,
                                gemel_tensor *const *values, const gemel__both *both, size_t output,
                                size_t i, gemel_error *error) {
  if (m->slight[word].values != NULL) {
    return GEMEL_OK;
  }
  m->zero_slight[word] = c == GEMEL__ZERO_SIGN;
  return gemel__witness_take(&m->slight[word], &m->pair, values, both, output, i, error);
}

/* *VANISHES: computed in f64, the two are alike at this element, to half the digits of f64. Where
 * numbers of a narrow type cancel, as in the logarithm of what is nearly 1, their roundings are FAR
 * apart. */
static gemel_status look_in_f64(const struct measure *m, gemel_tensor *const *values, size_t output,
                                size_t i, int *vanishes, gemel_error *error) {
  gemel__pair wide;
  gemel_tensor **wide_values;
  gemel__both both;
  gemel__random random = m->random;
  gemel_status status = gemel__pair_widen(&wide, &m->pair, values, &wide_values, NULL);
  *vanishes = 0;
  if (status == GEMEL_OK) {
    status = gemel__both_run(&wide, wide_values, &random, &both, NULL);
    if (status == GEMEL_OK) {
      *vanishes = gemel__both_contrast(&both, output, i) <= GEMEL__ROUNDING;
      gemel__both_clear(&both);
    }
    gemel__values_free(&wide.a, wide_values);
    gemel__pair_clear(&wide);
  }
  return status == GEMEL_NO_MEMORY ? gemel__no_memory(error, "graphs in f64") : GEMEL_OK;
}

static gemel_status judge_special(struct measure *m, size_t word, gemel_tensor *const *values,
                                  const gemel__both *base, const gemel__both *both,
                                  gemel_error *error) {
  gemel_status status = GEMEL_OK;
  size_t k, i;
  for (k = 0; k < both->n; k++) {
    size_t n = gemel__both_elements(both, k);
    if (gemel__both_identical(both, k)) {
      m->needs->compared += n;
      m->needs->tried[word] += n;
      continue;
    }
    for (i = 0; i < n && i < gemel__both_elements(base, k) && status == GEMEL_OK; i++) {
      gemel__contrast before = gemel__both_contrast(base, k, i);
      gemel__contrast c = gemel__both_contrast(both, k, i);
      int more = is_nan_at(both->right[k], i) && !is_nan_at(both->left[k], i);
      m->needs->compared++;
      m->needs->tried[word]++;
      if (c == GEMEL__SAME || before >= GEMEL__FAR) {
        continue;
      }
      int slight = c <= GEMEL__ROUNDING;
      if (c == GEMEL__FAR && gemel__is_float(gemel_tensor_dtype(both->left[k])) &&
          m->needs->witness[word].values == NULL) {
        status = look_in_f64(m, values, k, i, &slight, error);
      }
      if (status == GEMEL_OK && slight) {
        status = keep_slight(m, word, c, values, both, k, i, error);
      } else if (status == GEMEL_OK) {
        status = show(m, more ? (size_t)GEMEL_NEEDS_INDEX_NINF : word, values, both, k, i, error);
      }
    }
  }
  return status;
}

static gemel_status measure_special(struct measure *m, size_t word, change f,
                                    gemel_tensor *const *values, const gemel__both *base,
                                    gemel_error *error) {
  gemel__both both;
  gemel_tensor **special = gemel__alloc_array(m->pair.a.n_leaves, sizeof *special);
  size_t changed = 0;
  gemel_status status = special == NULL ? gemel__no_memory(error, "values")
                                        : changed_values(m, values, f, 0, special, &changed, error);
  if (status == GEMEL_OK && changed > 0) {
    status = gemel__both_run(&m->pair, special, &m->random, &both, error);
    if (status == GEMEL_OK) {
      status = judge_special(m, word, special, base, &both, error);
      gemel__both_clear(&both);
    }
  }
  if (special != NULL) {
    gemel__tensors_release(m->pair.a.n_leaves, special);
    gemel__free(special, m->pair.a.n_leaves * sizeof *special);
  }
  return status;
}

/* Slight differences under infinities and NaN that finite numbers never show. */
static void settle_slight(struct measure *m) {
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

/* ---- Improvement ---- */

/* Far off: NaN or infinite though a finite number is right, or by more than ROOM, the bound, and 16
 * units in the last place. */
static int is_wrong(gemel_dtype dtype, double computed, double exact, double room) {
  int p = gemel__dtype_format(dtype)->digits, top = gemel__dtype_format(dtype)->highest;
  double unit = fmax(ldexp(fabs(exact), 5 - p), ldexp(16, 2 - top - p));
  return !isfinite(computed) || fabs(computed - exact) > fmax(room, unit);
}

/* Two finite numbers that neither of them can be called the better one of: closer than half of what
 * makes one wrong. */
static int are_alike(gemel_dtype dtype, double left, double right) {
  int p = gemel__dtype_format(dtype)->digits, top = gemel__dtype_format(dtype)->highest;
  double unit = fmax(ldexp(fmax(fabs(left), fabs(right)), 4 - p), ldexp(8, 2 - top - p));
  return isfinite(left) && isfinite(right) && fabs(left - right) <= unit;
}

/* The bounds of both sides at one element. */
struct yardstick {
  int known; /* of the right side */
  double value, left_room, right_room, relative;
};

static struct yardstick yardstick_of(gemel__domain *d, const void *left, const void *right) {
  struct yardstick y = {0, 0, INFINITY, INFINITY, INFINITY};
  if (d->state(d, left) == GEMEL__DEFINED) {
    y.left_room = gemel__bound_radius(d, left);
  }
  if (d->state(d, right) == GEMEL__DEFINED) {
    y.value = gemel__bound_value(d, right);
    y.right_room = gemel__bound_radius(d, right);
    y.relative = y.right_room == 0 ? 0 : gemel__bound_relative(d, right);
    y.known = isfinite(y.value) && isfinite(y.right_room);
  }
  return y;
}

/* Each side is wrong if it is off by more than the other's bound. */
static gemel_status judge_element(struct measure *m, const struct yardstick *y,
                                  gemel_tensor *const *values, const gemel__both *base,
                                  size_t output, size_t i, gemel_error *error) {
  gemel_dtype dtype = gemel_tensor_dtype(base->left[output]);
  double left = gemel__decode(dtype, gemel__tensor_element(base->left[output], i));
  double right = gemel__decode(dtype, gemel__tensor_element(base->right[output], i));
  int left_wrong, right_wrong;
  if (are_alike(dtype, left, right)) {
    return GEMEL_OK;
  }
  if (!y->known) {
    m->worse += isfinite(left) && !isfinite(right) && isfinite(y->left_room);
    return GEMEL_OK;
  }
  left_wrong = is_wrong(dtype, left, y->value, y->right_room);
  right_wrong = is_wrong(dtype, right, y->value, y->left_room);
  m->worse += right_wrong && (!left_wrong || !isfinite(right));
  if (!left_wrong || right_wrong ||
      !(y->relative < ldexp(1, -gemel__dtype_format(dtype)->digits / 2))) {
    return GEMEL_OK;
  }
  m->better++;
  return m->needs->improvement.values != NULL
             ? GEMEL_OK
             : gemel__witness_take(&m->needs->improvement, &m->pair, values, base, output, i,
                                   error);
}

static gemel_status judge_improvement(struct measure *m, gemel_tensor *const *values,
                                      const gemel__both *base, const gemel__rtensor *exact,
                                      gemel_error *error) {
  gemel__domain *d = &m->bound->domain;
  gemel_status status = GEMEL_OK;
  size_t k, i;
  for (k = 0; k < base->n; k++) {
    const gemel__rtensor *left = &exact[k], *right = &exact[base->n + k];
    if (!gemel__is_float(right->dtype)) {
      continue;
    }
    for (i = 0; i < right->count && i < left->count && status == GEMEL_OK; i++) {
      struct yardstick y = yardstick_of(d, gemel__rtensor_at(left, i), gemel__rtensor_at(right, i));
      status = judge_element(m, &y, values, base, k, i, error);
    }
  }
  return status;
}

/* 1 if some elements are worth a look at the exact results: those are what takes long. */
static int any_apart(const gemel__both *base) {
  for (size_t k = 0; k < base->n; k++) {
    gemel_dtype dtype = gemel_tensor_dtype(base->left[k]);
    int is_float = gemel__is_float(dtype);
    for (size_t i = 0; is_float && i < gemel__both_elements(base, k); i++) {
      if (!are_alike(dtype, gemel__decode(dtype, gemel__tensor_element(base->left[k], i)),
                     gemel__decode(dtype, gemel__tensor_element(base->right[k], i)))) {
        return 1;
      }
    }
  }
  return 0;
}

/* 1 if the right side is wrong somewhere, whatever the left side's bound allows it: EXACT are the
 * right side's. */
static int right_in_doubt(struct measure *m, const gemel__both *base, const gemel__rtensor *exact) {
  gemel__domain *d = &m->bound->domain;
  for (size_t k = 0; k < base->n; k++) {
    gemel_dtype dtype = exact[k].dtype;
    int is_float = gemel__is_float(dtype);
    for (size_t i = 0; is_float && i < exact[k].count; i++) {
      const void *e = gemel__rtensor_at(&exact[k], i);
      double right = gemel__decode(dtype, gemel__tensor_element(base->right[k], i));
      if (!isfinite(right) || (d->state(d, e) == GEMEL__DEFINED &&
                               is_wrong(dtype, right, gemel__bound_value(d, e), 0))) {
        return 1;
      }
    }
  }
  return 0;
}

/* One point: are the results of either side wrong? With ONLY_WORSE it is asked only where the right
 * side does worse, which often needs no exact result of the left. */
static gemel_status hold_against_exact(struct measure *m, gemel_tensor *const *values,
                                       const gemel__both *base, int only_worse,
                                       gemel_error *error) {
  gemel__rtensor *exact;
  gemel__domain *d = &m->bound->domain;
  gemel_status status;
  if (!any_apart(base)) {
    return GEMEL_OK;
  }
  exact = gemel__alloc_array(2 * base->n, sizeof *exact);
  if (exact == NULL) {
    return gemel__no_memory(error, "exact results");
  }
  status = gemel__instance_reference(&m->pair.b, d, values, exact + base->n, error);
  if (status == GEMEL_OK && (!only_worse || right_in_doubt(m, base, exact + base->n))) {
    status = gemel__instance_reference(&m->pair.a, d, values, exact, error);
    status = status == GEMEL_OK ? judge_improvement(m, values, base, exact, error) : status;
  }
  gemel__rtensors_clear(2 * base->n, exact);
  gemel__free(exact, 2 * base->n * sizeof *exact);
  return status;
}

/* How the numbers of a point are turned. */
struct point_turn {
  size_t shift;     /* leaves of one type change places: a rotation or a reflection */
  int mirror, vary; /* VARY: numbers of some leaves are negated or inverted */
  int scale;        /* all numbers times 2^scale, or 2^−scale for leaves with a bit in DOWN */
  uint64_t down;
  int tie;                   /* one leaf is ± another of its type */
  const gemel__both *cancel; /* one leaf less the left side's result, where they are of one type */
};

static double turn_number(const struct point_turn *t, size_t leaf, double x, double sign,
                          int invert) {
  x = invert && x != 0 && isfinite(1 / x) ? 1 / x : x;
  return sign * ldexp(x, t->down >> leaf % 64 & 1 ? -t->scale : t->scale);
}

static const gemel_tensor *cancelled(const struct point_turn *t, const gemel__leaf *leaf) {
  const gemel_tensor *result = t->cancel != NULL ? t->cancel->left[0] : NULL;
  int fits = result != NULL && gemel_tensor_dtype(result) == leaf->dtype &&
             (size_t)gemel_tensor_elements(result) == leaf->count;
  return fits ? result : NULL;
}

static gemel_status turn_leaf(struct measure *m, struct point_turn *t, size_t k,
                              gemel_tensor *const *values, gemel_tensor **turned,
                              gemel_error *error) {
  size_t n = m->pair.a.n_leaves, i;
  const gemel__leaf *leaf = &m->pair.a.leaves[k];
  size_t size = gemel_dtype_size(leaf->dtype), from = (t->shift + (t->mirror ? n - k : k)) % n;
  const gemel__leaf *other = &m->pair.a.leaves[from];
  double sign = t->vary && gemel__random_chance(&m->random, 1, 3) ? -1 : 1;
  int invert = t->vary && gemel__random_chance(&m->random, 1, 3);
  const gemel_tensor *less = k == t->shift ? cancelled(t, leaf) : NULL;
  if (!gemel__is_float(leaf->dtype)) {
    turned[k] = gemel_tensor_ref(values[k]);
    return GEMEL_OK;
  }
  if (t->tie && k == t->shift) {
    from = (k + 1) % n;
    sign = gemel__random_sign(&m->random);
  } else if (t->tie || t->cancel != NULL) {
    from = k;
  }
  other = &m->pair.a.leaves[from];
  from = other->dtype == leaf->dtype && other->count == leaf->count ? from : k;
  turned[k] = gemel_tensor_new(leaf->dtype, leaf->rank, leaf->shape, error);
  if (turned[k] == NULL) {
    return GEMEL_NO_MEMORY;
  }
  for (i = 0; i < leaf->count; i++) {
    double x = gemel__decode(leaf->dtype, gemel__tensor_element(values[from], i));
    double y = less != NULL ? gemel__decode(leaf->dtype, gemel__tensor_element(less, i)) : 0;
    x = turn_number(t, from, x, sign, invert) - (isfinite(y) ? y : 0);
    x = isfinite(x) ? x : 1;
    gemel__points_store(leaf->dtype, 1, &x, NULL, (char *)gemel_tensor_data(turned[k]) + i * size);
  }
  gemel__tensor_settle(leaf, turned[k]);
  return GEMEL_OK;
}

static gemel_status challenge(struct measure *m, gemel_tensor *const *values, gemel_error *error);

/* CHALLENGED: if the right side does better there, that is challenged. */
static gemel_status judge_turned(struct measure *m, struct point_turn *t,
                                 gemel_tensor *const *values, int challenged, gemel_error *error) {
  size_t n = m->pair.a.n_leaves, k, before = m->better;
  gemel_tensor **turned = gemel__alloc_array(n, sizeof *turned);
  gemel__both both;
  gemel_status status = turned == NULL ? gemel__no_memory(error, "values") : GEMEL_OK;
  for (k = 0; k < n && status == GEMEL_OK; k++) {
    status = turn_leaf(m, t, k, values, turned, error);
  }
  if (status == GEMEL_OK) {
    status = gemel__both_run(&m->pair, turned, &m->random, &both, error);
    if (status == GEMEL_OK) {
      status = hold_against_exact(m, turned, &both, !challenged, error);
      gemel__both_clear(&both);
    }
  }
  if (status == GEMEL_OK && challenged && m->better > before) {
    status = challenge(m, turned, error);
  }
  if (turned != NULL) {
    gemel__tensors_release(n, turned);
    gemel__free(turned, n * sizeof *turned);
  }
  return status;
}

/* The right side does better at a point: by luck? Then it does worse at one that is like it, with
 * leaves exchanged, signs changed, or near overflow or underflow. */
static gemel_status challenge(struct measure *m, gemel_tensor *const *values, gemel_error *error) {
  enum { TURNS = 100 };
  size_t n = m->pair.a.n_leaves, k;
  gemel_dtype dtype = gemel_tensor_dtype(values[0]);
  int top = gemel__dtype_format(dtype)->highest;
  gemel_status status = GEMEL_OK;
  if (m->challenges++ >= CHALLENGES) {
    return GEMEL_OK;
  }
  for (k = 0; k < TURNS && status == GEMEL_OK && m->worse == 0; k++) {
    struct point_turn t = {0, 0, 0, 0, 0, 0, NULL};
    if (gemel__tick(m->ticker) != GEMEL_OK) {
      return GEMEL_DECLINED;
    }
    t.shift = k / 2 % n;
    t.mirror = (int)(k % 2);
    t.vary = k >= 2 * n && gemel__random_chance(&m->random, 1, 2);
    if (k >= 2 * n && gemel__random_chance(&m->random, 1, 2)) {
      int near = gemel__random_chance(&m->random, 1, 2);
      t.scale = (int)gemel__random_between(&m->random, near ? 8 : top - 8, near ? 30 : top);
      t.down = gemel__random_bits(&m->random);
    }
    t.tie = k >= 2 * n && gemel__random_chance(&m->random, 1, 2);
    status = judge_turned(m, &t, values, 0, error);
  }
  return status;
}

/* Where the results nearly cancel, it shows which side is the better one. */
static gemel_status measure_cancelling(struct measure *m, gemel_tensor *const *values,
                                       const gemel__both *base, gemel_error *error) {
  struct point_turn t = {0, 0, 0, 0, 0, 0, NULL};
  t.shift = gemel__random_below(&m->random, m->pair.a.n_leaves);
  t.cancel = base;
  return judge_turned(m, &t, values, 1, error);
}

static gemel_status measure_improvement(struct measure *m, gemel_tensor *const *values,
                                        const gemel__both *base, gemel_error *error) {
  size_t before = m->better;
  gemel_status status = m->worse > 0 || m->pair.a.n_leaves == 0
                            ? GEMEL_OK
                            : hold_against_exact(m, values, base, 0, error);
  if (status == GEMEL_OK && m->better > before && m->worse == 0) {
    status = challenge(m, values, error);
  }
  if (status == GEMEL_OK && m->worse == 0 && m->pair.a.n_leaves > 0) {
    status = measure_cancelling(m, values, base, error);
  }
  return status;
}

/* What was better at few points is challenged at those for as long as the rest would have been. */
static gemel_status challenge_rarity(struct measure *m, gemel_error *error) {
  gemel__pair drawn = m->pair;
  gemel_status status = GEMEL_OK;
  if (m->better == 0) {
    return GEMEL_OK;
  }
  gemel__pair_compile(&m->needs->improvement.pair);
  m->pair = m->needs->improvement.pair;
  while (status == GEMEL_OK && m->worse == 0 && m->challenges < CHALLENGES) {
    status = challenge(m, m->needs->improvement.values, error);
  }
  m->pair = drawn;
  return status;
}

/* ---- All of it ---- */

/* Infinities and NaN come among moderate numbers only: what overflows by itself is a question of
 * rounding. */
static gemel_status measure_point(struct measure *m, gemel_tensor *const *values, int moderate,
                                  gemel_error *error) {
  gemel__both base;
  gemel_status status = gemel__both_run(&m->pair, values, &m->random, &base, error);
  if (status != GEMEL_OK) {
    return status;
  }
  status = measure_finite(m, values, &base, moderate, error);
  if (status == GEMEL_OK && m->beyond) {
    status = gemel__beyond_look(&m->pair, values, &base, m->temper, m->folded, m->bound, m->needs,
                                error);
  }
  if (status == GEMEL_OK && moderate && !m->finite) {
    status = measure_special(m, GEMEL_NEEDS_INDEX_NINF, some_infinite, values, &base, error);
  }
  if (status == GEMEL_OK && moderate && !m->finite) {
    status = measure_special(m, GEMEL_NEEDS_INDEX_NNAN, some_nan, values, &base, error);
  }
  if (status == GEMEL_OK && m->improvement) {
    status = measure_improvement(m, values, &base, error);
  }
  gemel__both_clear(&base);
  return status;
}

/* The point with number K. */
static gemel_status draw_and_measure(struct measure *m, size_t k, gemel_error *error) {
  gemel_tensor **values = gemel__alloc_array(m->pair.a.n_leaves, sizeof *values);
  gemel_status status =
      values == NULL ? gemel__no_memory(error, "values") : draw_values(m, k, values, error);
  if (status == GEMEL_OK) {
    status = measure_point(m, values, k % 3 == 0, error);
    gemel__tensors_release(m->pair.a.n_leaves, values);
  }
  gemel__free(values, m->pair.a.n_leaves * sizeof *values);
  return status;
}

/* A point at which inputs hold WHAT, if that shows something in the pair. */
static gemel_status measure_planted(struct measure *m, gemel__planted what, gemel_error *error) {
  gemel_tensor **values;
  gemel__both base;
  int orders = what == GEMEL__PLANT_NEIGHBOURS || what == GEMEL__PLANT_LATE;
  gemel_status status = gemel__plant(&m->pair, what, &m->random, &values, error);
  if (status == GEMEL_OK) {
    status = gemel__both_run(&m->pair, values, &m->random, &base, error);
    if (status == GEMEL_OK) {
      status = measure_finite(m, values, &base, !orders, error);
      if (status == GEMEL_OK && m->beyond && orders) {
        status = gemel__beyond_look(&m->pair, values, &base, GEMEL__WILD, m->folded, m->bound,
                                    m->needs, error);
      }
      gemel__both_clear(&base);
    }
    gemel__values_free(&m->pair.a, values);
  }
  return status == GEMEL_DECLINED ? GEMEL_OK : status;
}

/* The planted points that come after point K. What else is drawn doesn't depend on them. */
static gemel_status measure_all_planted(struct measure *m, size_t k, gemel_error *error) {
  gemel_status status = k % 4 == 3 ? measure_planted(m, GEMEL__PLANT_MINUS, error) : GEMEL_OK;
  gemel__random other = m->random;
  if (status == GEMEL_OK && k % 2 == 0) {
    status = measure_planted(m, GEMEL__PLANT_MIDPOINTS, error);
  } else if (status == GEMEL_OK) {
    status = measure_planted(m, GEMEL__PLANT_NEIGHBOURS, error);
  }
  if (status == GEMEL_OK && k % 8 == 0) {
    status = measure_planted(m, GEMEL__PLANT_LATE, error);
  }
  m->random = other;
  return status;
}

/* Values for MEETING; from the same RANDOM they are the same. */
static gemel_status draw_meeting(const struct measure *m, const gemel__meeting *meeting,
                                 gemel__random random, gemel_tensor ***values, gemel_error *error) {
  gemel_status status = gemel__values_draw(&m->pair.a, GEMEL__FILL_FULL, &random, values, error);
  if (status == GEMEL_OK) {
    gemel__meeting_arrange(meeting, &m->pair.a, &random, *values);
  }
  return status;
}

/* Zeros and infinities, or NaNs, meet; but on account of a word that is known. */
static gemel_status measure_meeting(struct measure *m, size_t number, unsigned known,
                                    gemel_error *error) {
  gemel_tensor **finite = NULL, **special = NULL;
  gemel__meeting meeting = gemel__meeting_of(&m->pair.a, number);
  size_t word =
      meeting.special == GEMEL__MEET_NAN ? GEMEL_NEEDS_INDEX_NNAN : GEMEL_NEEDS_INDEX_NINF;
  gemel__both base, both;
  if ((m->needs->needs | known) >> word & 1) {
    return GEMEL_OK;
  }
  gemel_status status = draw_meeting(m, &meeting, m->random, &finite, error);
  status = status ? status : draw_meeting(m, &meeting, m->random, &special, error);
  if (status == GEMEL_OK) {
    gemel__values_tame(&m->pair.a, finite);
  }
  gemel__random_bits(&m->random);
  status = status ? status : gemel__both_run(&m->pair, finite, &m->random, &base, error);
  if (status == GEMEL_OK) {
    status = measure_finite(m, finite, &base, 1, error);
    status = status ? status : gemel__both_run(&m->pair, special, &m->random, &both, error);
    if (status == GEMEL_OK) {
      status = judge_special(m, word, special, &base, &both, error);
      gemel__both_clear(&both);
    }
    gemel__both_clear(&base);
  }
  gemel__values_free(&m->pair.a, finite);
  gemel__values_free(&m->pair.a, special);
  return status;
}

/* Makes the pair ready for all ways in which it is run. */
static void compile_ways(struct measure *m) {
  gemel__pair_compile(&m->pair);
  m->pair.plain = m->plain;
  gemel__pair_compile(&m->pair);
}

/* Before point K: where there are symbols, every now and then a pair of other sizes. */
static gemel_status draw_pair(struct measure *m, size_t k, gemel_error *error) {
  enum { POINTS_A_PAIR = 12 };
  gemel_status status;
  if (k > 0 && (k % POINTS_A_PAIR != 0 || m->pair.symbols == 0)) {
    return GEMEL_OK;
  }
  gemel__pair_clear(&m->pair);
  status = gemel__pair_draw(&m->pair, m->left, m->right, &m->random, error);
  if (status == GEMEL_OK) {
    compile_ways(m);
  }
  return status;
}

static gemel_status measure_points(struct measure *m, size_t points, gemel_error *error) {
  gemel_status status = GEMEL_OK;
  /* where every size drawn so far was 0, there was nothing to compare: more are drawn */
  for (size_t k = 0; status == GEMEL_OK && (k < points || (m->needs->compared == 0 &&
                                                           m->pair.symbols > 0 && k < 8 * points));
       k++) {
    gemel__ticker_at(m->ticker, k, points);
    if (gemel__tick(m->ticker) != GEMEL_OK) {
      return GEMEL_DECLINED;
    }
    status = draw_pair(m, k, error);
    if (status != GEMEL_OK) {
      return status;
    }
    m->pair.plain = m->plain && k % 2 != 0;
    status = draw_and_measure(m, k, error);
    status = status == GEMEL_OK ? measure_all_planted(m, k, error) : status;
    status = gemel__is_no_point(status) ? GEMEL_OK : status; /* an index out of range: no point */
  }
  return status;
}

static gemel_status measure_meetings(struct measure *m, const gemel__needs_plan *plan,
                                     gemel_error *error) {
  gemel__random other = m->random; /* what follows doesn't depend on how many meetings there are */
  gemel_status status = GEMEL_OK;
  for (size_t k = 0; k < plan->meetings && !m->finite && status == GEMEL_OK; k++) {
    if (gemel__tick(m->ticker) != GEMEL_OK) {
      return GEMEL_DECLINED;
    }
    status = draw_pair(m, plan->points + k, error);
    if (status != GEMEL_OK) {
      return status;
    }
    m->pair.plain = m->plain && k % 2 != 0;
    status = measure_meeting(m, plan->meeting + k, plan->known, error);
    status = gemel__is_no_point(status) ? GEMEL_OK : status;
  }
  m->random = other;
  return status;
}

/* The word of a single kind of rounding is shown by any difference at finite numbers. */
static void show_rounding(struct measure *m) {
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

gemel_status gemel__needs_measure(const gemel_graph *left, const gemel_graph *right, uint64_t seed,
                                  const gemel__needs_plan *plan, gemel__needs *needs,
                                  gemel_error *error) {
  struct measure m;
  gemel_status status;
  size_t k;
  memset(&m, 0, sizeof m);
  memset(needs, 0, sizeof *needs);
  m.left = left;
  m.right = right;
  m.needs = needs;
  m.improvement = plan->improvement;
  m.finite = plan->finite;
  m.beyond = plan->beyond;
  m.folded = plan->folded;
  m.plain = plan->plain;
  m.ticker = plan->ticker;
  gemel__random_seed(&m.random, seed);
  m.bound = gemel__bound_new(256);
  status = m.bound == NULL ? gemel__no_memory(error, "a measurement")
                           : measure_points(&m, plan->points, error);
  status = status ? status : measure_meetings(&m, plan, error);
  if (status == GEMEL_OK) {
    settle_slight(&m);
    status = challenge_rarity(&m, error);
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
  needs->worse = m.worse;
  gemel__pair_clear(&m.pair);
  gemel__bound_free(m.bound);
  gemel__witness_clear(&m.rounding);
  for (k = 0; k < GEMEL_NEEDS_COUNT; k++) {
    gemel__witness_clear(&m.slight[k]);
  }
  return status;
}
