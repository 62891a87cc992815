/* SPDX-License-Identifier: MIT
 *
 * Runs both graphs at the sizes that matter, see scout.h. The models evaluate small tensors only,
 * but a graph may change its behaviour from a size on: a threshold of 64 shows at 65 elements. The
 * shipped code is fast, so it runs at every number that stands in either graph, one below, one
 * above, and at sums, differences, products and quotients of two.
 *
 * Where results are further apart than rounding explains, domain O decides at that point. Its
 * results must differ by a sixteenth of what was seen. So rounding of results isn't taken for a
 * difference, nor the rounding of a constant that one graph folded, which O sees as a much smaller
 * difference. Where O would take too long, both graphs are also run in f64: a difference by
 * rounding is then 2^29 times smaller, that of another function isn't.
 */
#include "pairs/scout.h"

#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "pairs/contrast.h"
#include "pairs/numbers.h"
#include "pairs/sparse.h"
#include "pairs/widen.h"
#include "core/alloc.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/tensor.h"
#include "core/graph.h"
#include "core/value.h"
#include "domains/ordered.h"
#include "instances/assumed.h"
#include "pairs/targets.h"
#include "tiers/tiers.h"

enum {
  MOST_NUMBERS = 40,  /* taken from a graph's text */
  MOST_SIZES = 600,   /* made of these */
  LARGEST = 4100,     /* largest size of a symbol */
  RUNS = 240,         /* choices of sizes */
  TRUE_RUNS = 8,      /* draws if all sizes are constants */
  FIRST_RUNS = 2,     /* draws otherwise, and choices of sizes in a first look */
  SPARSE_RUNS = 6,    /* at sparse inputs (sparse.h), if all sizes are constants */
  EDGE_RUNS = 96,     /* with one edge each, if all sizes are constants */
  LEVELS = 160,       /* at level inputs, if all sizes are constants */
  LEVELS_EACH = 40,   /* the same for each of several choices of sizes */
  MOST_WIDE = 4,      /* points at which small differences are looked at in f64 */
  MOST_JUDGED = 6,    /* points at which domain O is asked */
  MOST_UNCLEAR = 16,  /* points of the kind that f64 is asked about in vain */
  TARGET_RUNS = 64,   /* choices of sizes at which thresholds are sought */
  MOST_WAYS = 8,      /* ways to find ranges of indices that depend on each other */
  MOST_POINTS = 1000, /* points, if scalar indices take all their numbers */
  MOST_TEXT = 1 << 20 /* bytes of a graph's text that is searched for numbers */
};
/* Elements of all values in one run, and in all runs; and the cost of all evaluations in domain O
 * (gemel__pair_work), about a second. */
#define RUN_ELEMENTS 5e7
#define ALL_ELEMENTS 4e8
/* The same if all sizes are constants, in a first look, and in f64. */
#define FIRST_ELEMENTS 2e9
/* Differences in f64, as a share of the largest result, that neither rounding there explains nor
 * that of f32's constants. */
#define WIDE_ROUNDING 1e-6
/* The same if both graphs have the same constants. */
#define WIDE_ALIKE 1e-7
/* Elements in all runs at drawn values if all sizes are constants, and in all sparse runs, but for
 * the first two of each. */
#define DRAWN_ELEMENTS 1e8
#define SPARSE_ELEMENTS 1e8
#define JUDGED_WORK 5e5
/* The same for thresholds: if there is one choice of sizes, for each of several choices, and in a
 * rough look. Domain O gets TARGET_JUDGED_SHARE of that. */
#define TARGET_ELEMENTS 1e8
#define TARGET_ELEMENTS_EACH 2e6
#define TARGET_ELEMENTS_ROUGH 4e6
#define TARGET_JUDGED_SHARE 0.1
/* The work (gemel__pair_work) at level inputs and at edges, each: if there is one choice of sizes,
 * in a first look, for each of several choices, and in a rough look. Domain O gets
 * LEVEL_JUDGED_SHARE of that. */
#define LEVEL_WORK 3e7
#define LEVEL_WORK_FIRST 6e6
#define LEVEL_WORK_EACH 5e5
#define LEVEL_WORK_ROUGH 2e6
#define LEVEL_JUDGED_SHARE 0.03

/* ---- Numbers and sizes ---- */

struct scout_sizes {
  int64_t of[MOST_SIZES];
  size_t n;
};

static void add_size(struct scout_sizes *s, int64_t size) {
  size_t k = 0;
  while (k < s->n && s->of[k] != size) {
    k++;
  }
  if (k == s->n && s->n < MOST_SIZES && size >= 0 && size <= LARGEST) {
    s->of[s->n++] = size;
  }
}

/* Whole numbers of at least 2 in TEXT that aren't part of a name. */
static void scan_text(const char *text, struct scout_sizes *numbers) {
  const char *at = text;
  while (*at != '\0' && numbers->n < MOST_NUMBERS) {
    if (isalpha((unsigned char)*at) || *at == '_') {
      while (isalnum((unsigned char)*at) || *at == '_') {
        at++;
      }
    } else if (isdigit((unsigned char)*at)) {
      char *end;
      double x = strtod(at, &end);
      if (x >= 2 && x <= LARGEST && x == floor(x)) {
        add_size(numbers, (int64_t)x);
      }
      at = end;
    } else {
      at++;
    }
  }
}

static void numbers_of(const gemel_graph *graph, struct scout_sizes *numbers) {
  if (gemel_graph_node_count(graph) > MOST_TEXT / 64) {
    return;
  }
  char *text = gemel_print_string(graph, "g", NULL);
  if (text != NULL && strlen(text) < MOST_TEXT) {
    scan_text(text, numbers);
  }
  gemel_text_free(text);
}

static void add_beside(struct scout_sizes *sizes, int64_t size) {
  add_size(sizes, size);
  add_size(sizes, size + 1);
  add_size(sizes, size - 1);
}

/* 1 if GRAPH has a loop outside of bodies. What it counts may double each step, or wrap. */
static int has_loop(const gemel_graph *graph) {
  uint32_t k = 0, n = gemel_graph_node_count(graph);
  while (k < n && gemel__node_at(graph, k)->op != GEMEL__OP_scan) {
    k++;
  }
  return k < n;
}

/* Adds sizes just beyond what the narrow dtypes that GRAPH computes in count up to. */
static void add_beyond(const gemel_graph *graph, struct scout_sizes *sizes) {
  for (uint32_t k = 0; k < gemel_graph_node_count(graph); k++) {
    uint32_t op = gemel__node_at(graph, k)->op;
    gemel_dtype dtype =
        gemel__has_output(graph, k, 0)
            ? gemel_type_dtype(gemel_graph_context(graph), gemel__node_type(graph, k, 0))
            : GEMEL_BOOL;
    int wide = dtype == GEMEL_F16;
    if (op != GEMEL__OP_input && op != GEMEL__OP_constant &&
        (wide || dtype == GEMEL_BF16 || dtype == GEMEL_I8 || dtype == GEMEL_U8)) {
      add_size(sizes, wide ? 2050 : 257);
    }
  }
}

/* Sizes at which the graphs' behaviour may change: small ones; with loops, one more than each power
 * of two from 32 to 1024; those beyond what narrow dtypes count up to; the graphs' numbers, and
 * results of + − × ÷ on two of them, each with its neighbours. */
static void find_sizes(const gemel_graph *a, const gemel_graph *b, struct scout_sizes *sizes) {
  struct scout_sizes numbers = {{0}, 0};
  numbers_of(a, &numbers);
  numbers_of(b, &numbers);
  sizes->n = 0;
  for (size_t k = 0; k < 10; k++) {
    add_size(sizes,
             (int64_t)k ^ 2); /* 2, 3, 0, 1, 6, …: small sizes first, for a small counterexample */
  }
  int64_t most = has_loop(a) || has_loop(b) ? 1024 : 0;
  for (int64_t power = 32; power <= most; power *= 2) {
    add_size(sizes, power + 1);
  }
  add_beyond(a, sizes);
  add_beyond(b, sizes);
  for (size_t k = 0; k < numbers.n; k++) {
    add_beside(sizes, numbers.of[k]);
  }
  for (size_t k = 0; k < numbers.n; k++) {
    for (size_t i = 0; i < numbers.n; i++) {
      add_beside(sizes, numbers.of[k] / numbers.of[i]);
      add_beside(sizes, numbers.of[k] - numbers.of[i]);
      add_beside(sizes, numbers.of[k] + numbers.of[i]);
      add_beside(sizes, numbers.of[k] * numbers.of[i]);
    }
  }
}

/* ---- Comparing ---- */

/* The largest difference between the two results of an output, and its place. */
struct gap {
  size_t element;
  double apart; /* 0, or a share of the largest number; infinite for different integers, NaN,
                   infinities */
};

static struct gap gap_of(const gemel__both *both, size_t output) {
  gemel_dtype dtype = gemel_tensor_dtype(both->left[output]);
  int is_float = gemel__is_float(dtype);
  size_t n = gemel__both_elements(both, output), i;
  double most = 0, off = 0;
  struct gap gap = {0, 0};
  if (!gemel__have_one_shape(both->left[output], both->right[output])) {
    return (struct gap){0, INFINITY};
  }
  if (gemel__both_identical(both, output)) {
    return gap;
  }
  gemel__walk left = gemel__walk_start(both->left[output]);
  gemel__walk right = gemel__walk_start(both->right[output]);
  for (i = 0; i < n; i++) {
    const void *a = gemel__walk_next(&left), *b = gemel__walk_next(&right);
    gemel__contrast contrast = gemel__contrast_of(dtype, a, b);
    double x = gemel__decode(dtype, a), y = gemel__decode(dtype, b);
    most = isfinite(x) && fabs(x) > most ? fabs(x) : most;
    if (contrast > GEMEL__FAR || (contrast == GEMEL__FAR && !is_float)) {
      return (struct gap){i, INFINITY};
    }
    if (isfinite(x) && fabs(x - y) > off) {
      off = fabs(x - y);
      gap.element = i;
    }
  }
  gap.apart = off > 0 ? off / most : 0;
  return gap;
}

struct scout {
  const gemel_graph *a, *b;
  gemel__scouting how;
  gemel__random *random;
  gemel__scouted *found;
  gemel__ticker *ticker;
  int digits;     /* of the narrowest float dtype in which either graph computes */
  int alike;      /* 1: no constant is folded, as both graphs have the same ones */
  int constant;   /* 1: all sizes are constants */
  int plain;      /* 1: there are no convolutions, which round otherwise when they are fast */
  int counts;     /* 1: a truth or an integer is computed */
  size_t widened; /* points at which a small difference was looked at in f64 */
  gemel__sparse sparse;
  size_t judged, drawn;
  size_t unclear; /* points whose difference may be amplified rounding */
  double spent, judged_work;
  double aiming; /* above 0 while at ties, where rounding may decide a comparison: only domain O
                    refutes there, and this bounds the cost of all its evaluations */
};

/* The number of digits that a result of DTYPE can have: not more than the narrowest dtype it may be
 * computed in. */
static int digits_of(const struct scout *s, gemel_dtype dtype) {
  int digits = gemel__is_float(dtype) ? gemel__dtype_format(dtype)->digits : 0;
  return s->digits < digits ? s->digits : digits;
}

static void note_digits(struct scout *s, const gemel_graph *graph) {
  for (uint32_t k = 0; k < gemel_graph_node_count(graph); k++) {
    uint32_t op = gemel__node_at(graph, k)->op;
    int rounds = op != GEMEL__OP_input && op != GEMEL__OP_constant;
    for (uint32_t i = 0; rounds && gemel__has_output(graph, k, i); i++) {
      gemel_value value = gemel__value(graph, (gemel__ref){k, i});
      gemel_dtype dtype = gemel__value_dtype(value);
      s->digits = gemel__is_float(dtype) ? digits_of(s, dtype) : s->digits;
      s->counts |= !gemel__is_float(dtype);
    }
  }
}

/* Moves the pair and the values into what was found. */
static void take(struct scout *s, gemel__pair *pair, gemel_tensor ***values, size_t output,
                 size_t element) {
  s->found->pair = *pair;
  s->found->values = *values;
  s->found->output = output;
  s->found->element = element;
  memset(pair, 0, sizeof *pair);
  *values = NULL;
}

static void say(struct scout *s, const gemel__both *both, size_t output, size_t element) {
  gemel__both_format(both, output, element, s->found->left, s->found->right, sizeof s->found->left);
}

/* 1 if element I of OUTPUT is many times further apart in WIDE, the results in f64, than each side
 * is from its own result there. Where many steps amplify rounding, it isn't, but by chance. */
static int is_clear(const gemel__both *both, const gemel__both *wide, size_t output, size_t i) {
  const gemel_tensor *tensors[] = {both->left[output], wide->left[output], both->right[output],
                                   wide->right[output]};
  enum { TIMES = 16 };
  double x[4];
  for (size_t k = 0; k < 4; k++) {
    x[k] = gemel__decode(gemel_tensor_dtype(tensors[k]), gemel__tensor_element(tensors[k], i));
  }
  return TIMES * (fabs(x[0] - x[1]) + fabs(x[2] - x[3])) < fabs(x[1] - x[3]);
}

/* *YES: the results of OUTPUT, with this GAP, are about as far apart in f64, and clearly so, or
 * that can't be told. */
static gemel_status confirm(struct scout *s, const gemel__pair *pair, gemel_tensor *const *values,
                            const gemel__both *both, size_t output, const struct gap *gap, int *yes,
                            gemel_error *error) {
  gemel__both wide;
  gemel_status status = gemel__both_run_wide(pair, values, 1, s->random, &wide, error);
  *yes = wide.n == 0 || (gap_of(&wide, output).apart > fmin(gap->apart, 1) / 16 &&
                         (isinf(gap->apart) || is_clear(both, &wide, output, gap->element)));
  gemel__both_clear(&wide);
  return status;
}

/* Takes the pair if its results in f64 differ by more than MOST, the most that rounding there
 * explains. Integers, NaN and infinities that differ in f64 count in SCOUT_WIDE alone. */
static gemel_status look_wide(struct scout *s, gemel__pair *pair, gemel_tensor ***values,
                              double most, gemel_error *error) {
  gemel__both both;
  gemel_status status = gemel__both_run_wide(pair, *values, 1, s->random, &both, error);
  for (size_t k = 0; k < both.n && s->found->found == GEMEL__SCOUT_NOTHING; k++) {
    struct gap gap = gap_of(&both, k);
    s->found->elements += gemel__both_elements(&both, k);
    if (gap.apart > most && (s->how == GEMEL__SCOUT_WIDE || isfinite(gap.apart))) {
      s->found->found = GEMEL__SCOUT_APART;
      s->found->wide = 1;
      say(s, &both, k, gap.element);
      take(s, pair, values, k, gap.element);
    }
  }
  gemel__both_clear(&both);
  return status;
}

/* Refutes without domain O: results differ by more than half their digits, and about as much in
 * f64. */
static gemel_status take_apart(struct scout *s, gemel__pair *pair, gemel_tensor ***values,
                               const gemel__both *both, size_t output, const struct gap *gap,
                               gemel_error *error) {
  int half = digits_of(s, gemel_tensor_dtype(both->left[output])) / 2, yes = 1;
  if (gap->apart <= ldexp(1, -half) || s->unclear > MOST_UNCLEAR) {
    return GEMEL_OK;
  }
  if (s->how != GEMEL__SCOUT_ROUGH) {
    GEMEL__TRY(confirm(s, pair, *values, both, output, gap, &yes, error));
  }
  s->unclear += !yes;
  if (yes) {
    s->found->found = GEMEL__SCOUT_APART;
    say(s, both, output, gap->element);
    take(s, pair, values, output, gap->element);
  }
  return GEMEL_OK;
}

/* ROOM is for the results of both graphs. */
static gemel_status gap_in(gemel__domain *d, const gemel__pair *pair, gemel_tensor *const *values,
                           size_t output, gemel__rtensor *room, double *apart, gemel_error *error) {
  size_t n = gemel_graph_output_count(pair->a.graph);
  const gemel__rtensor *left = &room[output], *right = &room[n + output];
  double most = 0, off = 0;
  GEMEL__TRY(gemel__instance_reference(&pair->a, d, values, room, error));
  GEMEL__TRY(gemel__instance_reference(&pair->b, d, values, room + n, error));
  *apart = INFINITY;
  if (left->count != right->count) {
    return GEMEL_OK;
  }
  for (size_t i = 0; i < left->count; i++) {
    double x[2], y[2];
    gemel__ordered_bounds(d, gemel__rtensor_at(left, i), &x[0], &x[1]);
    gemel__ordered_bounds(d, gemel__rtensor_at(right, i), &y[0], &y[1]);
    most = fmax(most, fmin(fabs(x[0]), fabs(x[1])));
    off = isinf(x[1] - x[0]) || isinf(y[1] - y[0]) ? INFINITY
                                                   : fmax(off, fmax(x[0] - y[1], y[0] - x[1]));
  }
  *apart = isinf(off) ? off : off > 0 ? off / most : 0;
  return GEMEL_OK;
}

/* *APART: the least difference that OUTPUT's results in domain O have, as a share of the largest;
 * infinite where one has no value, or there are more of one than of the other. */
static gemel_status exact_gap(const gemel__pair *pair, gemel_tensor *const *values, size_t output,
                              double *apart, gemel_error *error) {
  size_t n = 2 * gemel_graph_output_count(pair->a.graph);
  gemel__ordered *o = gemel__ordered_new(128);
  gemel__rtensor *room = gemel__alloc_zeroed(n * sizeof *room);
  gemel_status status = o == NULL || room == NULL
                            ? gemel__no_memory(error, "a comparison")
                            : gap_in(&o->domain, pair, values, output, room, apart, error);
  gemel__rtensors_free(n, room);
  gemel__ordered_free(o);
  return status;
}

/* How far apart results of DTYPE may be before domain O is asked. Small integers are mostly
 * computed exactly, so less difference is allowed there than with full significands. */
static double allowed_gap(const struct scout *s, gemel_dtype dtype, gemel__fill fill) {
  int digits = digits_of(s, dtype);
  return ldexp(1, fill == GEMEL__FILL_INTEGERS ? -digits * 2 / 3 : -digits / 2);
}

/* Asks domain O about results that look different. They are refuted if their exact values differ by
 * a sixteenth of what was seen, or more; less is rounding. At ties, where rounding may decide what
 * is seen, they are if their exact values differ by more than a constant that one graph folded
 * does. */
static gemel_status judge(struct scout *s, gemel__pair *pair, gemel_tensor ***values,
                          const gemel__both *both, size_t output, const struct gap *gap,
                          gemel_error *error) {
  gemel__trial trial = {NULL, s->random, &pair->b};
  gemel__outcome outcome;
  double apart = INFINITY, least = fmin(gap->apart, 1) / 16;
  memset(&outcome, 0, sizeof outcome);
  if (!gemel__have_one_shape(both->left[output], both->right[output])) {
    s->found->found = GEMEL__SCOUT_REAL;
    gemel__say_shape(both->left[output], s->found->left, sizeof s->found->left);
    gemel__say_shape(both->right[output], s->found->right, sizeof s->found->right);
    take(s, pair, values, output, 0);
    return GEMEL_OK;
  }
  if (s->aiming > 0 && s->judged_work + gemel__pair_work(pair) > s->aiming) {
    return GEMEL_OK;
  }
  if (s->aiming == 0 &&
      (s->how == GEMEL__SCOUT_ROUGH || s->judged_work + gemel__pair_work(pair) > JUDGED_WORK)) {
    return take_apart(s, pair, values, both, output, gap, error);
  }
  s->judged++;
  s->judged_work += gemel__pair_work(pair);
  gemel_status status = gemel__check_equal(&pair->a, *values, &trial, &outcome, error);
  if (s->aiming > 0) {
    least = allowed_gap(s, gemel_tensor_dtype(both->left[output]), GEMEL__FILL_INTEGERS);
  }
  /* Of floats an infinite gap may be one that overflowed. */
  if (status == GEMEL_OK && outcome.refuted &&
      (isfinite(gap->apart) || gemel__is_float(gemel_tensor_dtype(both->left[output])))) {
    status = exact_gap(pair, *values, output, &apart, error);
  }
  if (status == GEMEL_OK && outcome.refuted && apart >= least) {
    s->found->found = GEMEL__SCOUT_REAL;
    s->found->at_tie = s->aiming > 0;
    snprintf(s->found->left, sizeof s->found->left, "%s", outcome.expected);
    snprintf(s->found->right, sizeof s->found->right, "%s", outcome.got);
    take(s, pair, values, outcome.output, outcome.element);
  }
  return status == GEMEL_NO_MEMORY ? status : GEMEL_OK;
}

static gemel_status compare(struct scout *s, gemel__pair *pair, gemel_tensor ***values,
                            const gemel__both *both, gemel__fill fill, gemel_error *error) {
  int small = 0;
  for (size_t k = 0; k < both->n && s->found->found == GEMEL__SCOUT_NOTHING; k++) {
    gemel_dtype dtype = gemel_tensor_dtype(both->left[k]);
    struct gap gap = gap_of(both, k);
    double allowed = allowed_gap(s, dtype, fill);
    s->found->elements += gemel__both_elements(both, k);
    small |= gap.apart > 0 && gap.apart <= allowed && gemel__is_float(dtype);
    s->found->rounds |= gap.apart > 0 && gemel__is_float(dtype) && s->plain;
    if (gap.apart > allowed && s->judged < MOST_JUDGED) {
      GEMEL__TRY(judge(s, pair, values, both, k, &gap, error));
    }
  }
  /* a few elements of a large sum are less than what rounding in f32 explains */
  small &= s->alike && s->constant && s->aiming == 0 && s->widened < MOST_WIDE;
  if (small && s->found->found == GEMEL__SCOUT_NOTHING) {
    s->widened++;
    return look_wide(s, pair, values, WIDE_ALIKE, error);
  }
  return GEMEL_OK;
}

/* ---- Indices ---- */

static int is_index(const gemel__leaf *leaf) {
  return leaf->range == GEMEL_RANGE_INDEX && gemel_dtype_kind(leaf->dtype) != GEMEL_KIND_FLOAT;
}

static size_t count_indices(const gemel__instance *instance) {
  size_t n = 0;
  for (size_t k = 0; k < instance->n_leaves; k++) {
    n += (size_t)is_index(&instance->leaves[k]);
  }
  return n;
}

/* How many points there are if each scalar index takes all its numbers; 0: there is no scalar
 * index. */
static double count_points(const gemel__instance *instance) {
  double n = 1;
  int some = 0;
  for (size_t k = 0; k < instance->n_leaves; k++) {
    const gemel__leaf *leaf = &instance->leaves[k];
    if (is_index(leaf) && leaf->count == 1) {
      n *= (double)(leaf->high - leaf->low);
      some = 1;
    }
  }
  return some ? n : 0;
}

static void store_point(const gemel__instance *instance, size_t point,
                        gemel_tensor *const *values) {
  for (size_t k = 0; k < instance->n_leaves; k++) {
    const gemel__leaf *leaf = &instance->leaves[k];
    if (is_index(leaf) && leaf->count == 1) {
      size_t range = (size_t)(leaf->high - leaf->low);
      gemel__leaf_put(leaf, gemel_tensor_data(values[k]), leaf->low + (int64_t)(point % range));
      point /= range;
    }
  }
}

/* ---- Running ---- */

/* In place of a combination: scalar indices are drawn, ends included; and large inputs are sparse.
 */
#define DRAWN SIZE_MAX
#define SPARSE(turn) (SIZE_MAX / 2 + (turn))

/* One run at drawn values. Scalar indices take combination POINT of their numbers. */
static gemel_status run_once(struct scout *s, gemel__pair *pair, gemel__fill fill, size_t point,
                             gemel_error *error) {
  gemel_tensor **values = NULL;
  const gemel__instance leaves = pair->a; /* what looks may move the pair away */
  GEMEL__TRY(gemel__values_draw(&pair->a, fill, s->random, &values, error));
  int sparse = point >= SPARSE(0) && point != DRAWN;
  if (sparse || point == DRAWN) {
    gemel__plant_ends(&pair->a, s->random, values);
    if (point == DRAWN && s->drawn % 4 == 3) { /* late: other numbers are easier to read */
      gemel__values_put_ends(&pair->a, s->drawn / 4, s->random, values);
    }
    s->drawn += point == DRAWN;
  } else {
    store_point(&pair->a, point, values);
  }
  if (sparse && !gemel__sparse_put(&s->sparse, &pair->a, point - SPARSE(0), s->random, values)) {
    gemel__values_free(&leaves, values);
    return GEMEL_OK;
  }
  gemel_status status;
  gemel__both both;
  if (s->how == GEMEL__SCOUT_WIDE) {
    s->found->runs++;
    status = look_wide(s, pair, &values, WIDE_ROUNDING, error);
  } else if ((status = gemel__both_run_fast(pair, values, s->random, &both, error)) == GEMEL_OK) {
    s->found->runs++;
    status = compare(s, pair, &values, &both, fill, error);
    gemel__both_clear(&both);
  } else {
    status = gemel__is_no_point(status) ? GEMEL_OK : status;
  }
  gemel__values_free(&leaves, values);
  return status;
}

static void note_largest(struct scout *s, const gemel__pair *pair) {
  for (size_t k = 0; k < pair->a.n_leaves; k++) {
    for (int j = 0; j < pair->a.leaves[k].rank; j++) {
      int64_t size = pair->a.leaves[k].shape[j];
      s->found->largest = size > s->found->largest ? size : s->found->largest;
    }
  }
}

/* ---- Thresholds ---- */

struct targeted {
  struct scout *s;
  gemel__pair *pair;
};

static gemel_status try_target(void *user, gemel_tensor ***values, int *stop, gemel_error *error) {
  struct targeted *t = user;
  gemel__both both;
  gemel_status status = gemel__both_run(t->pair, *values, t->s->random, &both, error);
  if (status == GEMEL_OK) {
    t->s->found->runs++;
    status = compare(t->s, t->pair, values, &both, GEMEL__FILL_INTEGERS, error);
    gemel__both_clear(&both);
  }
  *stop = t->s->found->found != GEMEL__SCOUT_NOTHING;
  return status == GEMEL_NO_MEMORY ? status : GEMEL_OK; /* where the graphs don't run is no point */
}

static gemel_status run_targets(struct scout *s, gemel__pair *pair, double elements,
                                gemel_error *error) {
  struct targeted t = {s, pair};
  gemel__targets how = {s->random, s->ticker, elements, try_target, &t};
  struct scout before = *s;
  s->judged = 0;
  s->judged_work = 0;
  s->aiming = TARGET_JUDGED_SHARE * elements;
  gemel_status status = gemel__targets_find(pair, &how, error);
  s->judged = before.judged;
  s->judged_work = before.judged_work;
  s->aiming = 0;
  return status;
}

/* ---- Ranges of indices ---- */

/* Runs all combinations of numbers of the scalar indices, even if their ranges depend on each
 * other. */
static gemel_status run_points(struct scout *s, gemel__pair *pair, double most,
                               gemel_error *error) {
  double n = count_points(&pair->a);
  if (n * gemel__pair_elements(pair) > most || n > MOST_POINTS) {
    return GEMEL_OK;
  }
  for (size_t k = 0; k < (size_t)n && s->found->found == GEMEL__SCOUT_NOTHING &&
                     gemel__tick(s->ticker) == GEMEL_OK;
       k++) {
    GEMEL__TRY(run_once(s, pair, k % 2 == 0 ? GEMEL__FILL_INTEGERS : GEMEL__FILL_FULL, k, error));
  }
  return GEMEL_OK;
}

/* Widens the ranges of TO's indices so that they contain those of FROM. */
static void widen(gemel__instance *to, const gemel__instance *from) {
  for (size_t k = 0; k < to->n_leaves; k++) {
    gemel__leaf *leaf = &to->leaves[k];
    const gemel__leaf *other = &from->leaves[k];
    if (is_index(leaf) && is_index(other)) {
      leaf->low = other->low < leaf->low ? other->low : leaf->low;
      leaf->high = other->high > leaf->high ? other->high : leaf->high;
    }
  }
}

/* Runs at the ranges that are found in some ways; those of WIDE's indices become the union of these
 * and their own. */
static gemel_status run_ways(struct scout *s, gemel__pair *pair, gemel__instance *wide, size_t ways,
                             gemel_error *error) {
  for (size_t way = 0; way < ways; way++) {
    GEMEL__TRY(gemel__pair_find_ranges(pair, way, s->random, s->ticker, error));
    for (size_t k = 0; k < 4 && s->found->found == GEMEL__SCOUT_NOTHING; k++) {
      GEMEL__TRY(
          run_once(s, pair, k % 2 == 0 ? GEMEL__FILL_INTEGERS : GEMEL__FILL_FULL, DRAWN, error));
    }
    if (s->found->found == GEMEL__SCOUT_NOTHING) {
      widen(wide, &pair->a);
    }
  }
  return GEMEL_OK;
}

/* Ranges of several indices may depend on each other: runs at the ranges that are found in some
 * other ways, then at all points within their union, if these have at most MOST elements
 * together. */
static gemel_status run_ranges(struct scout *s, gemel__pair *pair, size_t draws, double most,
                               gemel_error *error) {
  size_t n = count_indices(&pair->a), leaves = pair->a.n_leaves;
  size_t ways = n < 2 ? 0 : draws == TRUE_RUNS ? MOST_WAYS : 2;
  gemel__instance before = pair->a;
  if (n == 0) {
    return GEMEL_OK;
  }
  gemel__leaf *all = gemel__alloc_array(leaves, sizeof *all);
  if (all == NULL) {
    return gemel__no_memory(error, "the ranges of indices");
  }
  memcpy(all, pair->a.leaves, leaves * sizeof *all);
  before.leaves = all;
  gemel_status status = run_ways(s, pair, &before, ways, error);
  if (status == GEMEL_OK && s->found->found == GEMEL__SCOUT_NOTHING) {
    memcpy(pair->a.leaves, all, leaves * sizeof *all);
    status = run_points(s, pair, most, error);
  }
  gemel__free(all, leaves * sizeof *all);
  return status;
}

/* ---- All of it ---- */

/* Runs at sparse inputs, from turn FROM to before turn TO, as far as WORK allows. */
static gemel_status run_turns(struct scout *s, gemel__pair *pair, size_t from, size_t to,
                              double work, gemel_error *error) {
  double each = gemel__pair_work(pair);
  for (size_t k = from; k < to && s->found->found == GEMEL__SCOUT_NOTHING &&
                        (double)(k - from + 1) * each <= work && gemel__tick(s->ticker) == GEMEL_OK;
       k++) {
    GEMEL__TRY(run_once(s, pair, GEMEL__FILL_INTEGERS, SPARSE(k), error));
  }
  return GEMEL_OK;
}

/* The work that each of the following may do. */
static double level_work(const struct scout *s) {
  static const double work[] = {[GEMEL__SCOUT_ALL] = LEVEL_WORK,
                                [GEMEL__SCOUT_FIRST] = LEVEL_WORK_FIRST,
                                [GEMEL__SCOUT_WIDE] = 0,
                                [GEMEL__SCOUT_ROUGH] = LEVEL_WORK_ROUGH};
  return s->constant ? work[s->how] : s->how == GEMEL__SCOUT_ALL ? LEVEL_WORK_EACH : 0;
}

/* Runs at inputs that are level; in a first or rough look only if anything may be counted. All
 * elements may be at a tie there: where a float is computed, only domain O refutes. What is drawn
 * later stays the same. */
static gemel_status run_level(struct scout *s, gemel__pair *pair, gemel_error *error) {
  double work = level_work(s);
  struct scout before = *s;
  gemel__random random = *s->random;
  size_t levels = gemel__sparse_levels(&s->sparse), from = GEMEL__SPARSE_LEVEL;
  size_t most = s->constant ? LEVELS : LEVELS_EACH;
  if (!s->counts && s->how != GEMEL__SCOUT_ALL) {
    return GEMEL_OK;
  }
  s->judged = 0;
  s->judged_work = 0;
  s->aiming = s->digits == INT_MAX ? 0 : LEVEL_JUDGED_SHARE * work;
  gemel_status status =
      run_turns(s, pair, from, from + (levels < most ? levels : most), work, error);
  *s->random = random;
  s->judged = before.judged;
  s->judged_work = before.judged_work;
  s->aiming = 0;
  return status;
}

/* Runs with the greatest or the least number at one edge after the other; not in a rough look. */
static gemel_status run_edges(struct scout *s, gemel__pair *pair, gemel_error *error) {
  gemel__random random = *s->random;
  size_t from = GEMEL__SPARSE_EDGE;
  int runs = s->constant && s->how != GEMEL__SCOUT_ROUGH ? EDGE_RUNS : 0;
  gemel_status status = run_turns(s, pair, from, from + (size_t)runs, level_work(s), error);
  *s->random = random;
  return status;
}

static gemel_status run_sparse(struct scout *s, gemel__pair *pair, gemel_error *error) {
  double each = gemel__pair_elements(pair);
  for (size_t k = 0;
       s->constant && k < SPARSE_RUNS && s->found->found == GEMEL__SCOUT_NOTHING &&
       (k < 2 || (double)k * each <= SPARSE_ELEMENTS) && gemel__tick(s->ticker) == GEMEL_OK;
       k++) {
    GEMEL__TRY(run_once(s, pair, GEMEL__FILL_INTEGERS, SPARSE(k), error));
  }
  return GEMEL_OK;
}

/* The runs of run_at at PAIR. */
static gemel_status run_drawn(struct scout *s, gemel__pair *pair, size_t draws, double targets,
                              gemel_error *error) {
  gemel_status status =
      gemel__pair_find_ranges(pair, gemel__random_bits(s->random), s->random, s->ticker, error);
  note_largest(s, pair);
  GEMEL__TRY(status);
  for (size_t k = 0;
       k < draws && s->found->found == GEMEL__SCOUT_NOTHING && gemel__tick(s->ticker) == GEMEL_OK;
       k++) {
    GEMEL__TRY(
        run_once(s, pair, k % 2 == 0 ? GEMEL__FILL_INTEGERS : GEMEL__FILL_FULL, DRAWN, error));
  }
  GEMEL__TRY(run_sparse(s, pair, error));
  GEMEL__TRY(run_edges(s, pair, error));
  GEMEL__TRY(s->constant || targets > 0 ? run_level(s, pair, error) : GEMEL_OK);
  if (s->found->found == GEMEL__SCOUT_NOTHING && targets > 0) {
    GEMEL__TRY(run_targets(s, pair, targets, error));
  }
  return s->found->found == GEMEL__SCOUT_NOTHING && targets > 0
             ? run_ranges(s, pair, draws, targets, error)
             : GEMEL_OK;
}

/* DRAWS runs at one choice of sizes, unless it is too large; then thresholds and ranges, for
 * TARGETS elements. */
static gemel_status run_at(struct scout *s, size_t n, const char *const *names,
                           const int64_t *sizes, size_t draws, double targets, gemel_error *error) {
  gemel__pair pair;
  double cost;
  GEMEL__TRY(gemel__pair_draw_at(&pair, s->a, s->b, n, names, sizes, s->random, error));
  cost = gemel__pair_elements(&pair);
  int first = s->constant || s->how == GEMEL__SCOUT_FIRST || s->how == GEMEL__SCOUT_WIDE;
  if (cost > (first ? FIRST_ELEMENTS : RUN_ELEMENTS) ||
      s->spent + cost > (first ? FIRST_ELEMENTS : ALL_ELEMENTS)) {
    s->found->skipped++;
    gemel__pair_clear(&pair);
    return GEMEL_OK;
  }
  while (s->constant && draws > FIRST_RUNS && (double)draws * cost > DRAWN_ELEMENTS) {
    draws--;
  }
  s->spent += cost * (double)draws;
  if (s->how != GEMEL__SCOUT_FIRST &&
      s->how != GEMEL__SCOUT_WIDE) { /* kernels keep weights in their own layout: those of one graph
                                        at a time, there */
    gemel__pair_compile(&pair);
  }
  gemel_status status = run_drawn(s, &pair, draws, targets, error);
  gemel__pair_clear(&pair);
  return status;
}

static gemel_status run_sizes(struct scout *s, size_t n, const char *const *names,
                              gemel_error *error) {
  struct scout_sizes sizes;
  size_t runs = s->how == GEMEL__SCOUT_FIRST ? FIRST_RUNS : RUNS, k, j, refused = 0;
  gemel_status status = GEMEL_OK;
  find_sizes(s->a, s->b, &sizes);
  for (k = 0; k < runs && (k < sizes.n || n > 1) && s->found->found == GEMEL__SCOUT_NOTHING &&
              gemel__tick(s->ticker) == GEMEL_OK;
       k++) {
    int64_t chosen[GEMEL__MOST_SYMBOLS];
    gemel__ticker_at(s->ticker, k, n > 1 || sizes.n > runs ? runs : sizes.n);
    for (j = 0; j < n; j++) {
      /* symbols take turns in going through all sizes; the others are small, or any of the sizes */
      int small = j != k % n && gemel__random_chance(s->random, 1, 2);
      size_t at = j == k % n ? k / n % sizes.n : gemel__random_below(s->random, sizes.n);
      chosen[j] = small ? gemel__random_between(s->random, 1, 3) : sizes.of[at];
    }
    size_t before = s->found->runs;
    status =
        run_at(s, n, names, chosen, 2,
               k < TARGET_RUNS && s->how == GEMEL__SCOUT_ALL ? TARGET_ELEMENTS_EACH : 0, error);
    refused += status != GEMEL_OK;
    for (j = 0; j < n && s->found->runs > before; j++) {
      s->found->symbols_up_to =
          chosen[j] > s->found->symbols_up_to ? chosen[j] : s->found->symbols_up_to;
    }
    if (status == GEMEL_NO_MEMORY) {
      return status;
    }
  }
  return refused == k ? status : GEMEL_OK;
}

gemel_status gemel__scout(const gemel_graph *a, const gemel_graph *b, gemel__scouting how,
                          gemel__random *random, gemel__ticker *ticker, gemel__scouted *scouted,
                          gemel_error *error) {
  static const double targets[] = {[GEMEL__SCOUT_ALL] = TARGET_ELEMENTS,
                                   [GEMEL__SCOUT_FIRST] = 0,
                                   [GEMEL__SCOUT_WIDE] = 0,
                                   [GEMEL__SCOUT_ROUGH] = TARGET_ELEMENTS_ROUGH};
  const char *names[GEMEL__MOST_SYMBOLS];
  struct scout s = {
      .a = a, .b = b, .how = how, .random = random, .found = scouted, .ticker = ticker};
  s.digits = INT_MAX;
  note_digits(&s, a);
  note_digits(&s, b);
  size_t n = gemel__pair_symbols(a, names, GEMEL__MOST_SYMBOLS);
  s.constant = n == 0;
  s.plain = !gemel__runs_plain(a) && !gemel__runs_plain(b);
  if (s.constant) { /* only these runs need it */
    s.alike = gemel__constants_alike(a, b);
  }
  gemel__sparse_find(&s.sparse, a, b);
  size_t draws = how == GEMEL__SCOUT_ALL ? TRUE_RUNS : FIRST_RUNS;
  memset(scouted, 0, sizeof *scouted);
  gemel__ticker_stage(ticker, "running both");
  return n == 0 ? run_at(&s, 0, NULL, NULL, draws, targets[how], error)
                : run_sizes(&s, n, names, error);
}

void gemel__scouted_clear(gemel__scouted *scouted) {
  gemel__values_free(&scouted->pair.a, scouted->values);
  gemel__pair_clear(&scouted->pair);
  memset(scouted, 0, sizeof *scouted);
}
