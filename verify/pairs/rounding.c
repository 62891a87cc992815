/* SPDX-License-Identifier: MIT
 *
 * Two graphs differ by rounding; of which kind? A single result doesn't tell. Each word makes a
 * promise instead:
 *
 *   contract   they agree where products are exact
 *   arcp       they agree where divisors are powers of two
 *   reassoc    they agree where sums and products are exact, but for what comes after a function or
 *              quotient that isn't
 *   afn        they agree where all functions are exact
 *
 * At each of many points both graphs are run, and domain B, evaluated on all intermediate values,
 * tells which promises apply there. (Products are exact where their operands have half the digits
 * at most; elsewhere they can be made exact: domain S evaluates both graphs without rounding
 * products. If the results differ even so, the point speaks against `contract`.) A set of words is
 * refuted as an explanation by a point that keeps all of its promises and at which the results
 * differ nevertheless. The answer is the smallest set that isn't; of sets of one size, the first in
 * the order of `preference`.
 *
 * Functions and quotients that both graphs apply to the same operands are cut out before (cut.c),
 * so a sum of exponentials in another order is a sum in another order. If functions are left that
 * only one side has, `afn` is the first explanation tried.
 */
#include <math.h>
#include <string.h>
#include "instances/assumed.h"
#include "instances/source.h"
#include "core/alloc.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/graph.h"
#include "pairs/cut.h"
#include "domains/bound.h"
#include "domains/special.h"
#include "pairs/needs.h"

/* ---- Numbers ---- */

static double style_number(gemel__style style, int p, double limit, int scale, int bits,
                           double power, gemel__random *random) {
  static const double zeros[] = {0.0, -0.0, 1, -1, 0.0, -0.0, 2, -0.5};
  double sign = gemel__random_sign(random);
  int spread = p <= 11 ? 3 : p / 2; /* so that sums of products round */
  switch (style) {
  case GEMEL__STYLE_SHORT:
    return sign * ldexp((double)gemel__random_between(random, 1, (1 << (p / 4)) - 1),
                        (int)gemel__random_between(random, -spread, spread - p / 4));
  case GEMEL__STYLE_INTEGERS:
    return sign * ldexp((double)gemel__random_between(random, 1, (1 << bits) - 1), scale);
  case GEMEL__STYLE_POWERS:
    return sign * ldexp(1, (int)gemel__random_between(random, -3, 3));
  case GEMEL__STYLE_ONE_POWER:
    return power;
  case GEMEL__STYLE_ZEROS:
    return zeros[gemel__random_below(random, sizeof zeros / sizeof *zeros)];
  case GEMEL__STYLE_LARGE:
    return sign * (gemel__random_chance(random, 1, 2)
                       ? gemel__random_magnitude(random, 2, 4)
                       : limit * gemel__random_uniform(random, 0.9, 1.1));
  case GEMEL__STYLE_WIDE:
    return sign * gemel__random_magnitude(random, p <= 11 ? -6 : -40, p <= 11 ? 4 : 20);
  default:
    return sign * gemel__random_magnitude(random, -2, 1);
  }
}

static double extreme_number(gemel_dtype dtype, gemel__random *random) {
  int p = gemel__dtype_format(dtype)->digits;
  int top = gemel__dtype_format(dtype)->highest;
  double huge = ldexp(2 - ldexp(1, 1 - p), top), least = ldexp(1, 2 - top - p);
  double sign = gemel__random_sign(random);
  switch (gemel__random_below(random, 9)) {
  case 0:
    return sign * huge;
  case 1:
    return sign * ldexp(gemel__random_magnitude(random, 0, 0), top - 2);
  case 2:
    return sign * least * (double)gemel__random_between(random, 1, 5);
  case 3:
    return sign * ldexp(1, 1 - top);
  case 4:
    return sign * ldexp(gemel__random_magnitude(random, 0, 0), top * 5 / 8);
  case 5:
    return sign * ldexp(gemel__random_magnitude(random, 0, 0), -top * 5 / 8);
  case 6:
    return sign * ldexp(1, -p - 3);
  default:
    return sign * gemel__random_magnitude(random, -1, 1);
  }
}

void gemel__style_fill(gemel_tensor *tensor, gemel__style style, gemel__random *random) {
  gemel_dtype dtype = gemel_tensor_dtype(tensor);
  size_t n = (size_t)gemel_tensor_elements(tensor), size = gemel_dtype_size(dtype), i;
  int p = gemel__dtype_format(dtype)->digits;
  int bits = (int)gemel__random_between(random, 2, p / 4 + 1);
  int scale = -(int)gemel__random_below(random, (uint64_t)bits);
  int positive = gemel__random_chance(random, 1, 2);
  double power = ldexp(1, (int)gemel__random_between(random, -3, 3));
  /* where exponentials overflow: the largest exponent times log 2 */
  double limit = (gemel__dtype_format(dtype)->highest + 1) * 0.6931471805599453;
  for (i = 0; i < n; i++) {
    double x = style == GEMEL__STYLE_EXTREME
                   ? extreme_number(dtype, random)
                   : style_number(style, p, limit, scale, bits, power, random);
    x = positive && style != GEMEL__STYLE_ZEROS ? fabs(x) : x;
    gemel__store_real(dtype, x, (char *)gemel_tensor_data(tensor) + i * size);
  }
}

/* ---- Promises ---- */

/* Beside the kinds of arithmetic; SUMS_OF_PRODUCTS: some operation is both by itself, on both
 * sides.
 */
enum { CARRIES = 1 << 30, FUSES = 1 << 29, SUMS_OF_PRODUCTS = 1 << 28 };
enum { CONTRACT = 1, ARCP = 2, REASSOC = 4, AFN = 8, ALL = 15, SETS = GEMEL__PROMISE_SETS };
/* No word, but part of what AFN promises: casts to a narrower dtype are exact. */
enum { NARROW = 16 };

static const unsigned words[] = {GEMEL__NEED(CONTRACT), GEMEL__NEED(ARCP), GEMEL__NEED(REASSOC),
                                 GEMEL__NEED(AFN)};

static unsigned words_of(unsigned set) {
  unsigned k, result = 0;
  for (k = 0; k < sizeof words / sizeof *words; k++) {
    result |= set >> k & 1 ? words[k] : 0;
  }
  return result;
}

/* One graph with all of its values, and what kinds of arithmetic make them. */
struct watched {
  const gemel_graph *graph;
  gemel__instance all;
  size_t n, n_values;
  size_t *first;
  unsigned *kinds;
  unsigned char *tainted; /* at the values at hand: comes after an inexact function or quotient */
  gemel__rtensor *values;
};

static gemel_status watch(struct watched *w, const gemel__instance *instance, gemel_error *error) {
  memset(w, 0, sizeof *w);
  w->graph = instance->graph;
  w->n = gemel_graph_node_count(w->graph);
  w->first = gemel__alloc_array(w->n, sizeof *w->first);
  w->kinds = gemel__alloc_array(w->n, sizeof *w->kinds);
  w->tainted = gemel__alloc_array(w->n, 1);
  if (w->first == NULL || w->kinds == NULL || w->tainted == NULL) {
    return gemel__no_memory(error, "watching a graph");
  }
  GEMEL__TRY(gemel__instance_trace(&w->all, instance, w->first, error));
  w->n_values = gemel_graph_output_count(w->all.graph);
  w->values = gemel__alloc_array(w->n_values, sizeof *w->values);
  for (size_t k = 0; k < w->n; k++) {
    w->kinds[k] = gemel__arithmetic(w->graph, (uint32_t)k);
  }
  return w->values != NULL ? GEMEL_OK : gemel__no_memory(error, "watching a graph");
}

static void unwatch(struct watched *w) {
  gemel__rtensors_free(w->n_values, w->values);
  gemel__free(w->first, w->n * sizeof *w->first);
  gemel__free(w->kinds, w->n * sizeof *w->kinds);
  gemel__free(w->tainted, w->n);
  gemel__instance_clear(&w->all);
}

static const gemel__rtensor *value_of(const struct watched *w, gemel__ref ref) {
  return &w->values[w->first[ref.node] + ref.output];
}

static int is_exact(gemel__domain *d, const gemel__rtensor *t) {
  for (size_t i = 0; i < t->count; i++) {
    const void *e = gemel__rtensor_at(t, i);
    if (d->state(d, e) != GEMEL__DEFINED || !(gemel__bound_radius(d, e) == 0)) {
      return 0;
    }
  }
  return 1;
}

/* 1 if each element has at most BITS digits (1: is a power of two). */
static int is_short(gemel__domain *d, const gemel__rtensor *t, int bits) {
  for (size_t i = 0; i < t->count; i++) {
    int exponent;
    double x = frexp(gemel__bound_value(d, gemel__rtensor_at(t, i)), &exponent);
    double scaled = ldexp(x, bits);
    if (scaled != rint(scaled) || (bits == 1 && x == 0)) {
      return 0;
    }
  }
  return is_exact(d, t);
}

static int operands_short(const struct watched *w, gemel__domain *d, size_t node) {
  uint32_t count, j;
  const gemel__ref *inputs = gemel__node_inputs(w->graph, (uint32_t)node, &count);
  for (j = 0; j < count; j++) {
    const gemel__rtensor *t = value_of(w, inputs[j]);
    if (!is_short(d, t, gemel__dtype_format(t->dtype)->digits / 2)) {
      return 0;
    }
  }
  return 1;
}

/* 1 if all results of NODE are exact. */
static int results_exact(const struct watched *w, gemel__domain *d, uint32_t node) {
  gemel__ref ref = {node, 0};
  while (gemel__has_output(w->graph, node, ref.output) && is_exact(d, value_of(w, ref))) {
    ref.output++;
  }
  return !gemel__has_output(w->graph, node, ref.output);
}

/* Which promises the values at hand keep. */
static unsigned promises_kept(struct watched *w, gemel__domain *d) {
  unsigned kept = ALL | NARROW;
  for (size_t k = 0; k < w->n; k++) {
    uint32_t count;
    const gemel__ref *inputs = gemel__node_inputs(w->graph, (uint32_t)k, &count);
    int exact;
    w->tainted[k] = 0;
    for (uint32_t j = 0; j < count; j++) {
      w->tainted[k] |= w->tainted[inputs[j].node];
    }
    if (w->kinds[k] == 0) {
      continue;
    }
    exact = results_exact(w, d, (uint32_t)k);
    if ((w->kinds[k] & (GEMEL__SUMS | GEMEL__PRODUCTS)) && !w->tainted[k] && !exact) {
      kept &= ~(unsigned)REASSOC;
    }
    if ((w->kinds[k] & GEMEL__PRODUCTS) && !exact && !operands_short(w, d, k)) {
      kept &= ~(unsigned)CONTRACT;
    }
    if ((w->kinds[k] & GEMEL__QUOTIENTS) && count == 2 && !is_short(d, value_of(w, inputs[1]), 1)) {
      kept &= ~(unsigned)ARCP;
    }
    if ((w->kinds[k] & (GEMEL__FUNCTIONS | GEMEL__NARROWS)) && !exact) {
      kept &= ~(unsigned)(AFN | (w->kinds[k] & GEMEL__NARROWS ? NARROW : 0));
    }
    w->tainted[k] |= (w->kinds[k] & (GEMEL__FUNCTIONS | GEMEL__QUOTIENTS)) && !exact;
  }
  return kept;
}

/* ---- Exact products ---- */

struct unrounded {
  gemel__special *special;
  void (*round)(gemel__domain *d, void *e, gemel_dtype dtype, double ulps);
};

static void round_nothing(gemel__domain *d, void *e, gemel_dtype dtype, double ulps) {
  (void)d;
  (void)e;
  (void)dtype;
  (void)ulps;
}

/* Called ahead of each node: products aren't rounded, all else is. (`prod` over an axis has no sum
 * to be fused with.) */
static gemel__reference before_node(void *user, uint32_t op) {
  struct unrounded *u = user;
  int product = gemel__twin_of(op)->arithmetic == GEMEL__PRODUCTS && op != GEMEL__OP_prod;
  u->special->domain.round = product ? round_nothing : u->round;
  return NULL;
}

static gemel_status evaluate_unrounded(struct unrounded *u, const gemel__instance *instance,
                                       gemel_tensor *const *values, gemel__rtensor *outputs,
                                       gemel_error *error) {
  gemel__domain *d = &u->special->domain;
  gemel_status status =
      gemel__instance_reference_by(instance, d, values, outputs, before_node, u, error);
  size_t k, i;
  d->round = u->round;
  for (k = 0; k < gemel_graph_output_count(instance->graph) && status == GEMEL_OK; k++) {
    for (i = 0; i < outputs[k].count; i++) {
      d->round(d, gemel__rtensor_at(&outputs[k], i), outputs[k].dtype, 0.5);
    }
  }
  return status;
}

static int any_differs(gemel__domain *d, size_t n, const gemel__rtensor *a,
                       const gemel__rtensor *b) {
  size_t k, i;
  for (k = 0; k < n; k++) {
    for (i = 0; i < a[k].count && i < b[k].count; i++) {
      if (d->equal(d, gemel__rtensor_at(&a[k], i), gemel__rtensor_at(&b[k], i)) == 0) {
        return 1;
      }
    }
  }
  return 0;
}

/* *DIFFERS: with exact products the results are different still. */
static gemel_status differs_unrounded(const gemel__pair *pair, gemel_tensor *const *values,
                                      int *differs, gemel_error *error) {
  size_t n = gemel_graph_output_count(pair->a.graph);
  struct unrounded u = {gemel__special_new(), NULL};
  gemel__rtensor *room = gemel__alloc_array(2 * n, sizeof *room);
  gemel_status status = GEMEL_OK;
  if (u.special == NULL || room == NULL) {
    status = gemel__no_memory(error, "exact products");
  } else {
    u.round = u.special->domain.round;
    status = evaluate_unrounded(&u, &pair->a, values, room, error);
    status = status ? status : evaluate_unrounded(&u, &pair->b, values, room + n, error);
    *differs = status == GEMEL_OK && any_differs(&u.special->domain, n, room, room + n);
  }
  gemel__rtensors_free(2 * n, room);
  gemel__special_free(u.special);
  return status;
}

/* ---- Points ---- */

struct rounding_inquiry {
  gemel__random *random;
  gemel__ticker *ticker;
  gemel__bound *bound;
  int plain; /* every other point is run by plain kernels */
  gemel__roundings found;
  gemel__witness witness[SETS];
};

/* Numbers of few digits are drawn most often: with them products are exact and sums aren't, which
 * tells `contract` from `reassoc`. */
static gemel__style draw_style(gemel__random *random) {
  static const gemel__style styles[] = {
      GEMEL__STYLE_FULL,     GEMEL__STYLE_SHORT,  GEMEL__STYLE_SHORT,     GEMEL__STYLE_SHORT,
      GEMEL__STYLE_INTEGERS, GEMEL__STYLE_POWERS, GEMEL__STYLE_ONE_POWER, GEMEL__STYLE_ZEROS};
  return styles[gemel__random_below(random, sizeof styles / sizeof *styles)];
}

/* Float tensors get numbers of a style: half of the points have the same for all. */
static void fill_point(const gemel__pair *pair, gemel__random *random, gemel_tensor **values) {
  int same = gemel__random_chance(random, 1, 2);
  gemel__style all = draw_style(random);
  for (size_t k = 0; k < pair->a.n_leaves; k++) {
    gemel__style own = draw_style(random);
    if (gemel__is_float(pair->a.leaves[k].dtype)) {
      gemel__style_fill(values[k], same ? all : own, random);
      gemel__tensor_settle(&pair->a.leaves[k], values[k]);
    }
  }
}

static gemel_status promises_at(struct rounding_inquiry *q, struct watched *sides,
                                gemel_tensor *const *values, unsigned *kept, gemel_error *error) {
  gemel__domain *d = &q->bound->domain;
  *kept = ALL | NARROW;
  for (size_t k = 0; k < 2; k++) {
    gemel_status status =
        gemel__instance_reference(&sides[k].all, d, values, sides[k].values, error);
    *kept &= status == GEMEL_OK ? promises_kept(&sides[k], d) : 0;
    gemel__rtensors_clear(sides[k].n_values, sides[k].values);
    GEMEL__TRY(status);
  }
  return GEMEL_OK;
}

static gemel_status note_point(struct rounding_inquiry *q, const gemel__pair *pair,
                               gemel_tensor *const *values, unsigned kept, gemel_error *error) {
  gemel__both both;
  int differs = 0;
  size_t output = 0, element = 0;
  gemel_status status = GEMEL_OK;
  GEMEL__TRY(gemel__both_run(pair, values, q->random, &both, error));
  for (size_t k = 0; k < both.n && !differs; k++) {
    if (gemel__both_identical(&both, k)) {
      continue;
    }
    for (size_t i = 0; i < gemel__both_elements(&both, k) && !differs; i++) {
      differs = gemel__both_contrast(&both, k, i) >= GEMEL__ROUNDING;
      output = k;
      element = i;
    }
  }
  if (differs && !(kept & CONTRACT)) {
    int still = 0;
    status = differs_unrounded(pair, values, &still, error);
    kept |= still ? CONTRACT : 0;
  }
  if (status == GEMEL_OK && differs && q->witness[kept].values == NULL) {
    status = gemel__witness_take(&q->witness[kept], pair, values, &both, output, element, error);
  }
  q->found.kept[kept]++;
  q->found.differing[kept] += (size_t)differs;
  gemel__both_clear(&both);
  return status;
}

/* Point K at VALUES, which the caller releases; the first POINTS are of the usual kind. */
static gemel_status ask_point(struct rounding_inquiry *q, const gemel__pair *pair,
                              struct watched *sides, size_t k, size_t points, gemel_tensor **values,
                              gemel_error *error) {
  const gemel__drawn point = {&pair->a, values, k, q->random};
  unsigned kept = ALL;
  GEMEL__TRY(gemel__instance_values(&pair->a, GEMEL__FILL_FULL, q->random, values, error));
  if (k < points) {
    fill_point(pair, q->random, values);
  } else {
    gemel__source_put(&point, &gemel__sources[GEMEL__SOURCE_midpoints]);
  }
  GEMEL__TRY(promises_at(q, sides, values, &kept, error));
  return note_point(q, pair, values, kept, error);
}

static gemel_status ask_points(struct rounding_inquiry *q, const gemel__pair *whole,
                               struct watched *sides, size_t points, gemel_error *error) {
  gemel__pair turn = *whole, *const pair = &turn; /* its graphs are WHOLE's */
  gemel_tensor **values = gemel__alloc_array(pair->a.n_leaves, sizeof *values);
  gemel_status status = values == NULL ? gemel__no_memory(error, "points") : GEMEL_OK;
  int twice = gemel__rounds_twice(pair->a.graph) || gemel__rounds_twice(pair->b.graph);
  size_t more = twice ? points / 2 : 0;
  for (size_t k = 0; k < points + more && status == GEMEL_OK && gemel__tick(q->ticker) == GEMEL_OK;
       k++) {
    pair->plain = q->plain && k % 2 != 0;
    status = ask_point(q, pair, sides, k, points, values, error);
    gemel__tensors_release(pair->a.n_leaves, values);
    status = gemel__is_no_point(status) ? GEMEL_OK : status; /* an index out of range: no point */
  }
  gemel__free(values, pair->a.n_leaves * sizeof *values);
  return status;
}

/* FUSES if some sum has a product as an operand, perhaps reshaped or broadcast: only then can a
 * product and a sum be fused. A node has CARRIES in its KINDS if it passes a product on. */
static unsigned fuses(struct watched *w) {
  unsigned found = 0;
  uint32_t j, count;
  for (size_t k = 0; k < w->n; k++) {
    const gemel__ref *inputs = gemel__node_inputs(w->graph, (uint32_t)k, &count);
    unsigned carries = 0;
    for (j = 0; j < count; j++) {
      carries |= w->kinds[inputs[j].node] & CARRIES;
    }
    if (w->kinds[k] & GEMEL__SUMS && (carries || w->kinds[k] & GEMEL__PRODUCTS)) {
      found |= FUSES | (w->kinds[k] & GEMEL__PRODUCTS ? SUMS_OF_PRODUCTS : 0);
    }
    if (w->kinds[k] & GEMEL__PRODUCTS || (w->kinds[k] == 0 && carries)) {
      w->kinds[k] |= CARRIES;
    }
  }
  return found;
}

static gemel_status ask_sides(struct rounding_inquiry *q, const gemel__pair *pair,
                              struct watched *sides, size_t points, gemel_error *error) {
  unsigned both = SUMS_OF_PRODUCTS;
  GEMEL__TRY(watch(&sides[0], &pair->a, error));
  GEMEL__TRY(watch(&sides[1], &pair->b, error));
  for (size_t j = 0; j < 2; j++) {
    unsigned one = fuses(&sides[j]);
    both &= one;
    q->found.kinds |= (one & ~(unsigned)SUMS_OF_PRODUCTS) | (j == 1 ? both : 0);
    for (size_t k = 0; k < sides[j].n; k++) {
      sides[j].kinds[k] &= ~(unsigned)CARRIES;
      q->found.kinds |= sides[j].kinds[k];
    }
  }
  return ask_points(q, pair, sides, points, error);
}

/* Points of a pair of concrete graphs, cut where that is possible. */
static gemel_status ask_pair(struct rounding_inquiry *q, const gemel__pair *pair, size_t points,
                             gemel_error *error) {
  struct watched sides[2];
  gemel__pair cut;
  gemel_status status = gemel__pair_cut(&cut, pair, 1, q->random, q->ticker, error);
  if (status == GEMEL_DECLINED) {
    status = gemel__pair_cut(&cut, pair, 0, q->random, q->ticker, error);
  }
  memset(sides, 0, sizeof sides);
  if (status == GEMEL_OK || status == GEMEL_DECLINED) {
    status = ask_sides(q, status == GEMEL_OK ? &cut : pair, sides, points, error);
  }
  unwatch(&sides[0]);
  unwatch(&sides[1]);
  gemel__pair_clear(&cut);
  return status == GEMEL_DECLINED ? GEMEL_OK : status;
}

/* ---- The answer ---- */

/* A word is left out if no node does its kind of arithmetic. */
static unsigned eligible(unsigned kinds) {
  unsigned result = 0;
  result |= kinds & FUSES ? CONTRACT : 0;
  result |= kinds & GEMEL__QUOTIENTS ? ARCP : 0;
  result |= kinds & (GEMEL__SUMS | GEMEL__PRODUCTS) ? REASSOC : 0;
  result |= kinds & (GEMEL__FUNCTIONS | GEMEL__NARROWS) ? AFN : 0;
  return result != 0 ? result : AFN;
}

/* Points that keep all promises of SET: how many, and how many differ. */
static size_t points_keeping(const gemel__roundings *q, unsigned set, size_t *differing) {
  size_t kept = 0, m;
  *differing = 0;
  for (m = 0; m < SETS; m++) {
    if ((m & set) == set) {
      kept += q->kept[m];
      *differing += q->differing[m];
    }
  }
  return kept;
}

static unsigned choose(const gemel__roundings *q) {
  static const unsigned preference[] = {CONTRACT,
                                        ARCP,
                                        REASSOC,
                                        AFN,
                                        CONTRACT | ARCP,
                                        CONTRACT | AFN,
                                        ARCP | REASSOC,
                                        REASSOC | AFN,
                                        ARCP | AFN,
                                        CONTRACT | REASSOC,
                                        CONTRACT | ARCP | AFN,
                                        ARCP | REASSOC | AFN,
                                        CONTRACT | ARCP | REASSOC,
                                        CONTRACT | REASSOC | AFN,
                                        ALL};
  unsigned able = eligible(q->kinds), unseen = 0;
  size_t k, n = sizeof preference / sizeof *preference, differing;
  points_keeping(q, AFN, &differing);
  if ((q->kinds & GEMEL__FUNCTIONS) && differing == 0) {
    return AFN;
  }
  for (k = 0; k < n; k++) {
    unsigned set = preference[k];
    size_t kept = points_keeping(q, set, &differing);
    if ((set & ~able) == 0 && differing == 0) {
      if (kept > 0) {
        return set;
      }
      unseen = unseen == 0 ? set : unseen;
    }
  }
  return unseen != 0 ? unseen : able;
}

/* For each word of SET a point that keeps the promises of the others and differs. */
static void take_witnesses(struct rounding_inquiry *q, unsigned set, gemel__needs *needs) {
  for (size_t k = 0; k < sizeof words / sizeof *words; k++) {
    unsigned others = set & ~(1u << k);
    size_t at = 0;
    if (!(set >> k & 1)) {
      continue;
    }
    while (words[k] >> at != 1) {
      at++;
    }
    for (size_t m = 0; m < SETS && needs->witness[at].values == NULL && others != 0; m++) {
      if ((m & others) == others && q->witness[m].values != NULL) {
        needs->witness[at] = q->witness[m];
        memset(&q->witness[m], 0, sizeof q->witness[m]);
      }
    }
  }
}

/* 1 if of what AFN in SET promises exact casts are enough. */
static int is_narrowed(const gemel__roundings *q, unsigned set) {
  size_t differing;
  return set & AFN && q->kinds & GEMEL__NARROWS &&
         points_keeping(q, (set & ~(unsigned)AFN) | NARROW, &differing) > 0 && differing == 0;
}

static void conclude(struct rounding_inquiry *q, gemel__needs *needs) {
  unsigned set = choose(&q->found);
  size_t k, differing;
  needs->narrowed = is_narrowed(&q->found, set);
  for (k = 0; k < sizeof words / sizeof *words; k++) {
    size_t at = 0;
    while (words[k] >> at != 1) {
      at++;
    }
    needs->tried[at] = points_keeping(&q->found, 1u << k, &differing);
  }
  needs->confirmed = points_keeping(&q->found, set, &differing);
  needs->roundings = q->found;
  needs->needs |= words_of(set);
  take_witnesses(q, set, needs);
}

void gemel__roundings_add(gemel__roundings *total, const gemel__roundings *one) {
  total->kinds |= one->kinds;
  for (size_t k = 0; k < SETS; k++) {
    total->kept[k] += one->kept[k];
    total->differing[k] += one->differing[k];
  }
}

unsigned gemel__roundings_words(const gemel__roundings *roundings) {
  return words_of(choose(roundings));
}

static unsigned set_of(unsigned wanted) {
  unsigned set = 0, k;
  for (k = 0; k < sizeof words / sizeof *words; k++) {
    set |= wanted & words[k] ? 1u << k : 0;
  }
  return set;
}

int gemel__roundings_refute(const gemel__roundings *roundings, unsigned wanted) {
  size_t differing;
  points_keeping(roundings, set_of(wanted), &differing);
  return differing > 0;
}

static int size_of_set(unsigned set) {
  int n = 0;
  for (; set != 0; set &= set - 1) {
    n++;
  }
  return n;
}

/* A matrix product's kernel depends on its shape, and some fuse multiply and add: there `reassoc`
 * includes `contract`. */
int gemel__roundings_agree(const gemel__roundings *roundings, unsigned wanted) {
  unsigned least = choose(roundings), set = set_of(wanted);
  int fused = set & REASSOC && roundings->kinds & SUMS_OF_PRODUCTS;
  if (words_of(set) != wanted || size_of_set(set) != size_of_set(least) ||
      (set & ~eligible(roundings->kinds)) != 0 || (!fused && (least & CONTRACT & ~set) != 0)) {
    return 0;
  }
  return !gemel__roundings_refute(roundings, wanted);
}

enum { PAIRS = 8, CUTS = 2 }; /* of sizes drawn; of one pair of concrete sizes */

/* POINTS, or a few more, at pairs of several sizes. */
static gemel_status ask_pairs(struct rounding_inquiry *q, const gemel_graph *left,
                              const gemel_graph *right, size_t points, gemel_error *error) {
  size_t pairs = PAIRS;
  for (size_t k = 0; k < pairs; k++) {
    gemel__pair pair;
    GEMEL__TRY(gemel__pair_draw(&pair, left, right, q->random, error));
    pairs = pair.symbols > 0 ? PAIRS : CUTS;
    gemel__pair_compile(&pair);
    gemel_status status = ask_pair(q, &pair, (points / PAIRS + 1) * (PAIRS / pairs), error);
    gemel__pair_clear(&pair);
    GEMEL__TRY(status);
    if (gemel__stopped(q->ticker)) {
      return GEMEL_DECLINED;
    }
    gemel__ticker_at(q->ticker, k, pairs);
  }
  return GEMEL_OK;
}

gemel_status gemel__needs_rounding(const gemel_graph *left, const gemel_graph *right,
                                   gemel__random *random, const gemel__needs_plan *plan,
                                   gemel__needs *needs, gemel_error *error) {
  struct rounding_inquiry *q = gemel__alloc_zeroed(sizeof *q);
  if (q == NULL || (q->bound = gemel__bound_new(128)) == NULL) {
    gemel__free(q, sizeof *q);
    return gemel__no_memory(error, "kinds of rounding");
  }
  q->random = random;
  q->ticker = plan->ticker;
  q->plain = plan->plain;
  gemel__ticker_stage(q->ticker, "tier special, kinds of rounding");
  gemel_status status = ask_pairs(q, left, right, plan->rounding, error);
  if (status == GEMEL_OK) {
    conclude(q, needs);
  }
  for (size_t k = 0; k < SETS; k++) {
    gemel__witness_clear(&q->witness[k]);
  }
  gemel__bound_free(q->bound);
  gemel__free(q, sizeof *q);
  return status;
}
