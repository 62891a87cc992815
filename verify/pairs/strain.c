/* SPDX-License-Identifier: MIT
 *
 * Inputs that strain the arithmetic, see strain.h. At each point one input or all of them get such
 * numbers; the others are moderate. The results in f64 stand for the exact ones, which domain B has
 * no useful bounds for behind many layers. A result Y of the second graph is lost where the first
 * one is right and Y
 *
 *   isn't finite, or
 *   is wrong in half of its digits, and further from the exact one than that moves where each input
 *   is rounded once more: the second graph isn't backward stable.
 */
#include "pairs/strain.h"

#include <math.h>
#include <string.h>
#include "core/alloc.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/graph.h"
#include "instances/assumed.h"
#include "pairs/widen.h"
#include "base/random.h"

enum {
  POINTS = 480,
  FEW_POINTS = 12, /* where not even so many can be run, none is */
  AGAIN = 6,       /* times that one form is taken again */
  ENOUGH = 5,      /* points that count as evidence, */
  TIMES_MORE = 16, /* and how many more they are than those at which the second graph gains */
  ROUNDINGS = 3    /* times that the inputs are rounded once more */
};
#define MOST_WORK 4e8
#define LARGE_WORK 1e8 /* where a symbol is large */
/* What a run takes besides its elements, as a number of these. */
#define RUN_WORK 5e3
/* Results in f64 that differ by less, as a share of the largest, are equal. */
#define WIDE_ROUNDING 1e-6

/* How the numbers of one input are made. */
enum strain_way { MODERATE, LARGE, FAR, ROWS, IDENTITY, WAYS };

struct strain {
  gemel__pair pair, wide;
  gemel_tensor **values, **wide_values; /* of one point */
  gemel__random *random;
  gemel__flip *found;
  const gemel__format *narrowest[2]; /* of each graph's floats */
  enum strain_way way;
  uint64_t forms; /* seed of what the inputs have in common from point to point */
  size_t repeats;
  size_t chosen;           /* the input; after the last one: all of them */
  double work;             /* that may be done */
  size_t lost, gained;     /* points */
  gemel__both both, exact; /* results at one point */
  gemel_tensor **moved;    /* ROUNDINGS of the left side in f64; NULL: not asked yet */
  int here_lost, here_gained;
};

static double number_at(const gemel_tensor *tensor, size_t i) {
  return gemel__decode(gemel_tensor_dtype(tensor), gemel__tensor_element(tensor, i));
}

/* ---- Inputs ---- */

/* The format with the smaller range, or with fewer digits where both have the same. */
static const gemel__format *narrower(const gemel__format *x, const gemel__format *y) {
  return y->highest < x->highest || (y->highest == x->highest && y->digits < x->digits) ? y : x;
}

static const gemel__format *narrowest_of_both(const struct strain *s) {
  return narrower(s->narrowest[0], s->narrowest[1]);
}

struct form {
  enum strain_way way;
  double size, step, small;
};

static struct form draw_form(const gemel__format *format, enum strain_way way, double small,
                             gemel__random *random) {
  /* powers of two; two products of such numbers don't overflow, and one noise of STEP is left */
  int most = format->highest / 3 < 10 ? format->highest / 3 : 10;
  double size = gemel__random_uniform(random, 1, most);
  double step = gemel__random_uniform(random, 0.1, 0.6) * format->digits;
  return (struct form){way, exp2(size), exp2(-step), small};
}

/* The element in ROW and COLUMN. OFFSET: the same number for a row, from −1 to 1. */
static double number_of(const struct form *form, size_t row, size_t column, double offset,
                        gemel__random *random) {
  double u = gemel__random_uniform(random, -1, 1);
  switch (form->way) {
  case LARGE:
    return form->size * u;
  case FAR:
    return form->size * (1 + form->step * u);
  case ROWS:
    return form->size * (offset + form->step * u);
  case IDENTITY:
    return (row == column ? form->size : 0) + form->step * u;
  default: /* all moderate, or all small */
    return form->small * u;
  }
}

static void fill_leaf(const gemel__leaf *leaf, const struct form *form, gemel_tensor *tensor,
                      gemel__random *random) {
  size_t columns = leaf->rank > 0 ? (size_t)leaf->shape[leaf->rank - 1] : 1;
  size_t rows = leaf->rank > 1 ? (size_t)leaf->shape[leaf->rank - 2] : 1;
  double offset = 0;
  for (size_t i = 0; i < leaf->count; i++) {
    offset = i % columns == 0 ? gemel__random_uniform(random, -1, 1) : offset;
    double x = number_of(form, i / columns % rows, i % columns, offset, random);
    gemel__store_real(leaf->dtype, x, gemel__leaf_at(leaf, tensor, i));
  }
  gemel__tensor_settle(leaf, tensor);
}

/* Chooses a way for one input, or for all, and the form of each. What shows something is taken
 * again, with other numbers. */
static void choose(struct strain *s, size_t turn) {
  if (!s->here_lost || ++s->repeats > AGAIN) {
    s->repeats = 0;
    s->way = (enum strain_way)(LARGE + turn % (WAYS - LARGE));
    s->chosen = gemel__random_below(s->random, s->pair.a.n_leaves + 1);
    s->forms = gemel__random_bits(s->random);
  }
}

static void fill(struct strain *s) {
  size_t n = s->pair.a.n_leaves;
  gemel__random forms;
  gemel__random_seed(&forms, s->forms);
  double small = gemel__random_chance(&forms, 1, 3) ? 1 : gemel__random_magnitude(&forms, -8, 0);
  for (size_t k = 0; k < n; k++) {
    const gemel__leaf *leaf = &s->pair.a.leaves[k];
    if (gemel__is_float(leaf->dtype)) {
      enum strain_way own = k == s->chosen || s->chosen == n ? s->way : MODERATE;
      struct form form = draw_form(narrowest_of_both(s), own, small, &forms);
      fill_leaf(leaf, &form, s->values[k], s->random);
    }
  }
}

/* Copies the values to f64. If ROUNDED, those of a narrower dtype are moved by half a unit. */
static void copy_wide(struct strain *s, int rounded) {
  for (size_t k = 0; k < s->pair.a.n_leaves; k++) {
    const gemel__leaf *leaf = &s->pair.a.leaves[k], *wide = &s->wide.a.leaves[k];
    if (!gemel__is_float(leaf->dtype)) {
      memcpy(gemel_tensor_data(s->wide_values[k]), gemel__tensor_plain(s->values[k]),
             leaf->count * gemel_dtype_size(leaf->dtype));
      continue;
    }
    double half = leaf->dtype != GEMEL_F64 && rounded
                      ? ldexp(1, -gemel__dtype_format(leaf->dtype)->digits)
                      : 0;
    for (size_t i = 0; i < leaf->count; i++) {
      double x = gemel__decode(leaf->dtype, gemel__leaf_at(leaf, s->values[k], i));
      gemel__store_real(GEMEL_F64, x * (1 + half * gemel__random_sign(s->random)),
                        gemel__leaf_at(wide, s->wide_values[k], i));
    }
  }
}

/* ---- One point ---- */

/* The largest finite number of TENSOR. */
static double largest(const gemel_tensor *tensor) {
  double most = 0;
  for (size_t i = 0; i < (size_t)gemel_tensor_elements(tensor); i++) {
    double x = fabs(number_at(tensor, i));
    most = isfinite(x) && x > most ? x : most;
  }
  return most;
}

/* The left side in f64 at inputs that were rounded once more. */
static gemel_status run_moved(struct strain *s, gemel_error *error) {
  s->moved = gemel__alloc_zeroed(ROUNDINGS * s->both.n * sizeof *s->moved);
  if (s->moved == NULL) {
    return gemel__no_memory(error, "results in f64");
  }
  for (size_t k = 0; k < ROUNDINGS; k++) {
    copy_wide(s, 1);
    GEMEL__TRY(
        gemel__side_run(&s->wide, 0, s->wide_values, s->random, s->moved + k * s->both.n, error));
  }
  return GEMEL_OK;
}

/* How far element I of output K moves where the inputs are rounded once more. */
static double motion(const struct strain *s, size_t k, size_t i) {
  double exact = number_at(s->exact.left[k], i), most = 0;
  for (size_t j = 0; j < ROUNDINGS; j++) {
    const gemel_tensor *moved = s->moved[j * s->both.n + k];
    double x = i < (size_t)gemel_tensor_elements(moved) ? number_at(moved, i) : NAN;
    most = fabs(x - exact) <= most ? most : fabs(x - exact);
  }
  return most;
}

/* One part in SHARE of the digits of numbers up to MOST, as far as the first graph has them, or the
 * SECOND. Where dtypes of 16 bits occur, half of the number. */
static double digits_of(const struct strain *s, int second, double most, int share) {
  enum { NARROW = 11 };
  int digits = s->narrowest[second]->digits;
  return ldexp(most, digits <= NARROW ? -1 : -digits / share);
}

/* 1 if results as large as MOST are far from overflow and underflow in the first graph, or the
 * SECOND. */
static int is_ordinary(const struct strain *s, int second, double most) {
  int half = s->narrowest[second]->highest / 2;
  return most < ldexp(1, half) && most > ldexp(1, -half);
}

/* 1 if Y of one graph is lost where X of the other, the SECOND or the first, is right; exactly they
 * are the finite EXACT and OTHER. Where Y isn't finite, a quarter of X's digits is enough. */
static int is_lost(const struct strain *s, int second, double x, double y, double exact,
                   double other, double most) {
  int equal = fabs(exact - other) <= WIDE_ROUNDING * most;
  double room = digits_of(s, second, most, 2);
  if (!is_ordinary(s, second, most)) {
    return 0;
  }
  if (isfinite(y)) {
    return equal && fabs(x - exact) <= room / 4 && fabs(y - exact) > room;
  }
  return (equal || !isfinite(other)) && fabs(x - exact) <= digits_of(s, second, most, 4) / 4;
}

/* Holds element I of output K of both sides against each other. */
static gemel_status look_at(struct strain *s, size_t k, size_t i, double most, gemel_error *error) {
  enum { TIMES = 16 };
  double x = number_at(s->both.left[k], i), y = number_at(s->both.right[k], i);
  double exact = number_at(s->exact.left[k], i), other = number_at(s->exact.right[k], i);
  int lost = is_lost(s, 0, x, y, exact, other, most);
  int gained = is_lost(s, 1, y, x, other, exact, most);
  if ((lost || gained) && isfinite(x) && isfinite(y)) {
    GEMEL__TRY(s->moved == NULL ? run_moved(s, error) : GEMEL_OK);
    int counts = fabs(x - y) > TIMES * motion(s, k, i);
    lost &= counts;
    gained &= counts;
  }
  s->here_lost |= lost;
  s->here_gained |= gained;
  return lost && s->found->witness.values == NULL
             ? gemel__witness_take(&s->found->witness, &s->pair, s->values, &s->both, k, i, error)
             : GEMEL_OK;
}

static gemel_status look_at_outputs(struct strain *s, gemel_error *error) {
  for (size_t k = 0; k < s->both.n; k++) {
    size_t n = gemel__both_elements(&s->both, k);
    if (!gemel__is_float(gemel_tensor_dtype(s->both.left[k])) ||
        gemel__both_identical(&s->both, k) || gemel__both_elements(&s->exact, k) != n) {
      continue;
    }
    double most = largest(s->exact.left[k]);
    for (size_t i = 0; i < n; i++) {
      GEMEL__TRY(look_at(s, k, i, most, error));
    }
  }
  return GEMEL_OK;
}

static void clear_results(struct strain *s) {
  gemel__tensors_free(s->moved != NULL ? ROUNDINGS * s->both.n : 0, s->moved);
  gemel__both_clear(&s->both);
  gemel__both_clear(&s->exact);
  s->moved = NULL;
}

static gemel_status run_results(struct strain *s, gemel_error *error) {
  copy_wide(s, 0);
  GEMEL__TRY(gemel__both_run(&s->pair, s->values, s->random, &s->both, error));
  GEMEL__TRY(gemel__both_run(&s->wide, s->wide_values, s->random, &s->exact, error));
  return look_at_outputs(s, error);
}

static gemel_status run_point(struct strain *s, size_t turn, gemel_error *error) {
  choose(s, turn);
  fill(s);
  s->here_lost = s->here_gained = 0;
  gemel_status status = run_results(s, error);
  clear_results(s);
  s->lost += s->here_lost;
  s->gained += s->here_gained;
  return gemel__is_no_point(status) ? GEMEL_OK : status;
}

/* ---- All of it ---- */

static const gemel__format *find_narrowest(const gemel_graph *graph) {
  const gemel__format *narrowest = gemel__dtype_format(GEMEL_F64);
  for (uint32_t k = 0; k < gemel_graph_node_count(graph); k++) {
    for (uint32_t i = 0; gemel__has_output(graph, k, i); i++) {
      gemel_dtype dtype = gemel_type_dtype(graph->context, gemel__node_type(graph, k, i));
      if (gemel__is_float(dtype)) {
        narrowest = narrower(narrowest, gemel__dtype_format(dtype));
      }
    }
  }
  return narrowest;
}

/* How many points can be afforded; 0: too few. */
static size_t points_of(const struct strain *s) {
  double points = s->work / (3 * gemel__pair_work(&s->pair) + RUN_WORK);
  return points >= POINTS ? POINTS : points >= FEW_POINTS ? (size_t)points : 0;
}

static gemel_status run_points(struct strain *s, gemel__ticker *ticker, gemel_error *error) {
  size_t points = points_of(s);
  gemel__pair_compile(&s->pair);
  gemel__pair_compile(&s->wide);
  for (size_t k = 0; k < points && TIMES_MORE * s->gained <= points; k++) {
    GEMEL__TRY(gemel__tick(ticker));
    GEMEL__TRY(run_point(s, k, error));
  }
  return GEMEL_OK;
}

static gemel_status run_wide(struct strain *s, gemel__ticker *ticker, gemel_error *error) {
  gemel_status status = gemel__pair_widen(&s->wide, &s->pair, s->values, &s->wide_values, error);
  if (status == GEMEL_OK) {
    status = run_points(s, ticker, error);
    gemel__values_free(&s->wide.a, s->wide_values);
    gemel__pair_clear(&s->wide);
  }
  return status;
}

/* Draws the pair; in TURN k above 0, the symbol with number k − 1 is large: so large that a sum in
 * 16 bits overflows and a power of 0.9 underflows. */
static gemel_status draw_pair(struct strain *s, const gemel_graph *a, const gemel_graph *b,
                              size_t turn, gemel_error *error) {
  enum { LARGE_SIZE = 3000, OTHERS = 3 };
  const char *names[GEMEL__MOST_SYMBOLS];
  int64_t sizes[GEMEL__MOST_SYMBOLS];
  size_t n = gemel__pair_symbols(a, names, GEMEL__MOST_SYMBOLS);
  if (turn == 0) {
    return gemel__pair_draw(&s->pair, a, b, s->random, error);
  }
  for (size_t k = 0; k < n; k++) {
    sizes[k] = k + 1 == turn ? LARGE_SIZE : OTHERS;
  }
  return gemel__pair_draw_at(&s->pair, a, b, n, names, sizes, s->random, error);
}

static gemel_status strain_at(struct strain *s, const gemel_graph *a, const gemel_graph *b,
                              size_t turn, gemel__ticker *ticker, gemel_error *error) {
  s->work = turn > 0 ? LARGE_WORK : MOST_WORK;
  GEMEL__TRY(draw_pair(s, a, b, turn, error));
  gemel_status status = GEMEL_OK;
  if (points_of(s) > 0) {
    status = gemel__values_draw(&s->pair.a, GEMEL__FILL_FULL, s->random, &s->values, error);
    status = status ? status : run_wide(s, ticker, error);
    gemel__values_free(&s->pair.a, s->values);
  }
  gemel__pair_clear(&s->pair);
  if (s->lost < ENOUGH || s->lost < TIMES_MORE * s->gained) {
    gemel__witness_clear(&s->found->witness);
    s->lost = s->gained = 0;
  }
  s->here_lost = s->here_gained = 0;
  return status;
}

gemel_status gemel__strain_find(const gemel_graph *a, const gemel_graph *b, gemel__random *random,
                                gemel__ticker *ticker, gemel__flip *found, gemel_error *error) {
  enum { SYMBOLS = 3 };
  const char *names[GEMEL__MOST_SYMBOLS];
  size_t n = gemel__pair_symbols(a, names, GEMEL__MOST_SYMBOLS), turns = n < SYMBOLS ? n : SYMBOLS;
  struct strain s = {
      .random = random, .found = found, .narrowest = {find_narrowest(a), find_narrowest(b)}};
  memset(found, 0, sizeof *found);
  gemel__ticker_stage(ticker, "inputs that strain the arithmetic");
  for (size_t k = 0; k <= turns && s.lost == 0; k++) {
    gemel_error mine = {GEMEL_OK, 0, 0, ""};
    if (strain_at(&s, a, b, k, ticker, &mine) == GEMEL_NO_MEMORY) {
      return gemel__no_memory(error, "two graphs");
    }
  }
  found->words = s.lost > 0 ? GEMEL__NEED(WORSENS) : 0;
  return GEMEL_OK;
}
