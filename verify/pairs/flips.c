/* SPDX-License-Identifier: MIT
 *
 * Where rounding decides otherwise, see flips.h. A line has two ends, points at which a result of
 * one graph differs. It is halved, keeping the half at whose ends the result differs, until the
 * ends are neighbours in every number; then numbers are moved one half of those that differ at a
 * time, until one does. If both graphs round alike, the other graph's result changes at the same
 * place.
 *
 * A truth that only chooses between floats, as in the derivative of relu, is no other integer: any
 * rewrite moves such a place by a rounding error. It only shows that the graphs round differently.
 */
#include "pairs/flips.h"

#include <gemel/verify.h>
#include <math.h>
#include <string.h>
#include "core/alloc.h"
#include "core/dtype.h"
#include "core/error.h"
#include "instances/assumed.h"
#include "instances/crossing.h"
#include "instances/source.h"
#include "pairs/decided.h"
#include "reference/twin.h"

enum {
  DRAWS = 48,     /* random points for each choice of sizes */
  LINES = 48,     /* lines for each choice of sizes */
  STEPS = 100,    /* halvings of a line, at most */
  BESIDE = 48,    /* points beside its end */
  CHOICES = 2,    /* of sizes, if there are symbols */
  KINDS = 6,      /* of lines, by how large numbers are */
  LEAST_DRAWS = 2 /* even if a run is expensive */
};
/* What a run costs besides its work. */
#define RUN_WORK 1e4

struct flips {
  const gemel_graph *a, *b;
  const unsigned char *decided; /* by output */
  gemel__random *random;
  gemel__ticker *ticker;
  gemel__flip *found;
  gemel__pair pair;
  double work, spent, each; /* work that may be done, of all runs, and of one of both graphs */
  /* of a line: */
  int second; /* 1: the second graph's result is followed */
  size_t output, element;
  gemel_tensor **low, **high, **middle;
  double at_low, at_high;
};

static int is_found(const struct flips *f) {
  return f->found->witness.values != NULL;
}

static int may_go_on(const struct flips *f) {
  return !is_found(f) && f->spent < f->work && gemel__tick(f->ticker) == GEMEL_OK;
}

/* ---- Comparing ---- */

static double number_at(const gemel_tensor *tensor, size_t i) {
  return gemel__decode(gemel_tensor_dtype(tensor), gemel__tensor_element(tensor, i));
}

/* 1 if X and Y are integers, so small that DTYPE also holds eighths beside them: from one to the
 * next is further than rounding goes. */
static int are_whole(gemel_dtype dtype, double x, double y) {
  enum { EIGHTHS = 3 };
  double most = ldexp(1, gemel__dtype_format(dtype)->digits - EIGHTHS - 1);
  return x == floor(x) && y == floor(y) && fabs(x) < most && fabs(y) < most;
}

/* 1 if rounding doesn't explain that one result is X and another Y. JUMP: how far a float result
 * jumps there. */
static int differ(gemel_dtype dtype, double x, double y, double jump) {
  if (!gemel__is_float(dtype)) {
    return x != y;
  }
  int digits = gemel__dtype_format(dtype)->digits;
  double most = fmax(fabs(x), fabs(y));
  int jumps = jump > ldexp(most, -digits / 2) || are_whole(dtype, x, y);
  return isfinite(x) && isfinite(y) && jumps && fabs(x - y) > jump / 2;
}

/* Takes the first difference between the results of an output that is decided. At a line's end
 * the followed element of float results is the only one to compare. */
static gemel_status compare(struct flips *f, gemel_tensor *const *values, const gemel__both *both,
                            int at_end, gemel_error *error) {
  for (size_t k = 0; k < both->n; k++) {
    gemel_dtype dtype = gemel_tensor_dtype(both->left[k]);
    int floats = gemel__is_float(dtype), followed = at_end && k == f->output;
    size_t n = gemel__both_elements(both, k), i = floats && followed ? f->element : 0;
    size_t end = !floats ? n : followed && i < n ? i + 1 : 0;
    for (; f->decided[k] && i < end; i++) {
      if (differ(dtype, number_at(both->left[k], i), number_at(both->right[k], i),
                 fabs(f->at_high - f->at_low))) {
        return gemel__witness_take(&f->found->witness, &f->pair, values, both, k, i, error);
      }
    }
  }
  return GEMEL_OK;
}

static gemel_status run_both(struct flips *f, gemel_tensor *const *values, int at_end,
                             gemel_error *error) {
  gemel__both both;
  f->spent += f->each;
  GEMEL__TRY(gemel__both_run(&f->pair, values, f->random, &both, error));
  gemel_status status = compare(f, values, &both, at_end, error);
  gemel__both_clear(&both);
  return status;
}

/* ---- Random points ---- */

void gemel__put_largest(const gemel__instance *instance, size_t turn, gemel__random *random,
                        gemel_tensor *const *values) {
  enum { LESS = 3 };
  int sign = turn % 2 == 0 ? 1 : -1, share = turn / 2 % 2 != 0;
  uint64_t shared = share ? gemel__random_bits(random) : 0;
  for (size_t k = 0; k < instance->n_leaves; k++) {
    const gemel__leaf *leaf = &instance->leaves[k];
    int truths = leaf->dtype == GEMEL_BOOL;
    if ((!truths && !gemel__is_integer_leaf(leaf)) || leaf->range == GEMEL_RANGE_INDEX) {
      continue;
    }
    long double most = truths ? 1 : gemel__leaf_within(leaf, sign * (long double)INFINITY);
    for (size_t i = 0; i < leaf->count; i++) {
      gemel__leaf_put(leaf, gemel__leaf_at(leaf, values[k], i), most);
    }
    for (size_t j = share ? 1 : gemel__random_below(random, LESS); leaf->count > 0 && j-- > 0;) {
      size_t i = share ? (size_t)(shared % leaf->count) : gemel__random_below(random, leaf->count);
      gemel__leaf_put(leaf, gemel__leaf_at(leaf, values[k], i), truths ? 0 : most - sign);
    }
  }
}

static gemel_status draw(struct flips *f, size_t turn, gemel_tensor ***values, gemel_error *error) {
  gemel__fill fill = turn % 4 == 3 ? GEMEL__FILL_INTEGERS : GEMEL__FILL_FULL;
  GEMEL__TRY(gemel__values_draw(&f->pair.a, fill, f->random, values, error));
  const gemel__drawn point = {&f->pair.a, *values, turn, f->random};
  if (turn % 4 == 2) {
    gemel__sources_change(&point, GEMEL__FOR_ORDER);
  } else if (turn % 4 == 1) {
    gemel__put_largest(&f->pair.a, turn / 4, f->random, *values);
  }
  return GEMEL_OK;
}

static gemel_status run_random(struct flips *f, gemel_error *error) {
  for (size_t k = 0; k < DRAWS && (k < LEAST_DRAWS ? !is_found(f) : may_go_on(f)); k++) {
    gemel_tensor **values;
    GEMEL__TRY(draw(f, k, &values, error));
    gemel_status status = run_both(f, values, 0, error);
    gemel__values_free(&f->pair.a, values);
    GEMEL__TRY(gemel__is_no_point(status) ? GEMEL_OK : status);
  }
  return GEMEL_OK;
}

/* ---- Ramps ---- */

/* The integers of LEAF that are tried one by one: from *FIRST on. */
static double ramp_of(const gemel__leaf *leaf, double *first) {
  enum { RAMP = 1 << 17 };
  double least = (double)gemel__leaf_within(leaf, -INFINITY);
  double most = (double)gemel__leaf_within(leaf, INFINITY);
  *first = least < -RAMP / 2 ? -RAMP / 2 : least;
  return most - *first < RAMP ? most - *first + 1 : RAMP;
}

/* Puts consecutive integers from FIRST on into LEAF. */
static void put_ramp(const gemel__leaf *leaf, double first, gemel_tensor *tensor) {
  for (size_t i = 0; i < leaf->count; i++) {
    gemel__leaf_put(leaf, gemel__leaf_at(leaf, tensor, i),
                    gemel__leaf_within(leaf, first + (double)i));
  }
}

static gemel_status run_ramp(struct flips *f, size_t k, double first, gemel_error *error) {
  gemel_tensor **values;
  GEMEL__TRY(draw(f, 0, &values, error));
  put_ramp(&f->pair.a.leaves[k], first, values[k]);
  gemel_status status = run_both(f, values, 0, error);
  gemel__values_free(&f->pair.a, values);
  return gemel__is_no_point(status) ? GEMEL_OK : status;
}

/* Integers that are rounded are few: all of them that are tried take each of one input's places by
 * turns, those next to 0 first. That takes a quarter of the work at most. */
static gemel_status run_ramps(struct flips *f, gemel_error *error) {
  enum { RUNS = 1024 };
  double most = f->spent + (f->work - f->spent) / 4, first;
  for (size_t k = 0; k < f->pair.a.n_leaves; k++) {
    const gemel__leaf *leaf = &f->pair.a.leaves[k];
    if (!gemel__is_integer_leaf(leaf) || leaf->range == GEMEL_RANGE_INDEX || leaf->count == 0) {
      continue;
    }
    double n = ramp_of(leaf, &first), each = (double)leaf->count;
    for (size_t j = 0; j < RUNS && (double)j * each < n && f->spent < most && may_go_on(f); j++) {
      double block = j % 2 ? -(double)(j / 2 + 1) : (double)(j / 2);
      double shift = (double)gemel__random_below(f->random, 2); /* each integer is the last one */
      GEMEL__TRY(run_ramp(f, k, shift + (first < 0 ? block : (double)j) * each, error));
    }
  }
  return GEMEL_OK;
}

/* The same at sizes at which an input has many places, if there are symbols. */
static gemel_status run_long_ramps(struct flips *f, gemel_error *error) {
  enum { LONG = 1024 };
  GEMEL__TRY(gemel__pair_draw_all(&f->pair, f->a, f->b, LONG, f->random, error));
  gemel__pair_compile(&f->pair);
  f->each = gemel__pair_work(&f->pair) + RUN_WORK;
  int cheap = f->each < (f->work - f->spent) / 16;
  gemel_status status = cheap ? run_ramps(f, error) : GEMEL_OK;
  gemel__pair_clear(&f->pair);
  return status;
}

/* ---- A line ---- */

/* The number that is followed, at VALUES. */
static gemel_status follow(struct flips *f, gemel_tensor *const *values, double *x,
                           gemel_error *error) {
  size_t n = gemel_graph_output_count(f->pair.a.graph);
  gemel_tensor **results = gemel__alloc_zeroed(n * sizeof *results);
  if (results == NULL) {
    return gemel__no_memory(error, "results");
  }
  f->spent += f->each / 2;
  gemel_status status = gemel__side_run(&f->pair, f->second, values, f->random, results, error);
  if (status == GEMEL_OK) {
    const gemel_tensor *result = results[f->output];
    *x = f->element < (size_t)gemel_tensor_elements(result) ? number_at(result, f->element) : NAN;
  }
  gemel__tensors_free(n, results);
  return status;
}

/* Numbers of a key are no line. */
static int is_moved(const gemel__leaf *leaf) {
  return leaf->dtype != GEMEL_U64;
}

/* MIDDLE between LOW and HIGH. Returns 0 if it is either of them in every number. */
static int halve(struct flips *f) {
  int between = 0;
  for (size_t k = 0; k < f->pair.a.n_leaves; k++) {
    const gemel__leaf *leaf = &f->pair.a.leaves[k];
    for (size_t i = 0; i < leaf->count; i++) {
      long double x = gemel__leaf_get(leaf, gemel__leaf_at(leaf, f->low[k], i));
      long double y = gemel__leaf_get(leaf, gemel__leaf_at(leaf, f->high[k], i));
      void *to = gemel__leaf_at(leaf, f->middle[k], i);
      gemel__leaf_put(leaf, to, x + (y - x) / 2);
      long double z = gemel__leaf_get(leaf, to);
      between |= z != x && z != y;
    }
  }
  return between;
}

/* MIDDLE is LOW, with the numbers of HIGH in half of the places where these differ. Returns 0 if
 * they differ in fewer than two. */
static int split(struct flips *f) {
  size_t apart = 0, taken = 0;
  for (int put = 0; put < 2; put++) {
    for (size_t k = 0; k < f->pair.a.n_leaves; k++) {
      const gemel__leaf *leaf = &f->pair.a.leaves[k];
      size_t size = gemel_dtype_size(leaf->dtype);
      for (size_t i = 0; i < leaf->count; i++) {
        const void *x = gemel__leaf_at(leaf, f->low[k], i),
                   *y = gemel__leaf_at(leaf, f->high[k], i);
        int here = memcmp(x, y, size) != 0;
        apart += (size_t)(here && !put);
        if (put) {
          memcpy(gemel__leaf_at(leaf, f->middle[k], i), here && taken < apart / 2 ? y : x, size);
          taken += (size_t)here;
        }
      }
    }
  }
  return apart >= 2;
}

static void swap(gemel_tensor ***a, gemel_tensor ***b) {
  gemel_tensor **c = *a;
  *a = *b;
  *b = c;
}

/* Keeps the half of the line in which the number that is followed jumps, X at the middle. */
static void keep_half(struct flips *f, double x) {
  int floats = gemel__is_float(
      gemel_type_dtype(gemel_graph_context(f->pair.a.graph),
                       gemel_value_type(gemel_graph_output(f->pair.a.graph, f->output))));
  int lower = floats ? fabs(x - f->at_low) >= fabs(f->at_high - x) : x != f->at_low;
  swap(&f->middle, lower ? &f->high : &f->low);
  *(lower ? &f->at_high : &f->at_low) = x;
}

static gemel_status halve_line(struct flips *f, gemel_error *error) {
  int halving = 1;
  for (size_t k = 0; k < STEPS && may_go_on(f); k++) {
    double x = NAN;
    halving = halving && halve(f);
    if (!halving && !split(f)) {
      break;
    }
    GEMEL__TRY(follow(f, f->middle, &x, error));
    if (!isfinite(x)) {
      break;
    }
    keep_half(f, x);
  }
  return GEMEL_OK;
}

/* Both ends of the line keep the numbers that don't move. */
static void join_ends(struct flips *f) {
  for (size_t k = 0; k < f->pair.a.n_leaves; k++) {
    const gemel__leaf *leaf = &f->pair.a.leaves[k];
    if (!is_moved(leaf)) {
      memcpy(gemel_tensor_data(f->high[k]), gemel_tensor_data(f->low[k]),
             leaf->count * gemel_dtype_size(leaf->dtype));
    }
  }
}

/* MIDDLE is LOW with a few numbers moved to a neighbour. */
static void nudge(struct flips *f) {
  size_t moves = (size_t)1 << gemel__random_below(f->random, 5);
  for (size_t k = 0; k < f->pair.a.n_leaves; k++) {
    const gemel__leaf *leaf = &f->pair.a.leaves[k];
    memcpy(gemel_tensor_data(f->middle[k]), gemel_tensor_data(f->low[k]),
           leaf->count * gemel_dtype_size(leaf->dtype));
  }
  while (moves-- > 0) {
    size_t k = gemel__random_below(f->random, f->pair.a.n_leaves);
    const gemel__leaf *leaf = &f->pair.a.leaves[k];
    if (leaf->count > 0 && gemel__is_float(leaf->dtype)) {
      void *at = gemel__leaf_at(leaf, f->middle[k], gemel__random_below(f->random, leaf->count));
      int up = gemel__random_chance(f->random, 1, 2) ? 1 : -1;
      gemel__leaf_put(leaf, at, gemel__leaf_beside(leaf, gemel__leaf_get(leaf, at), up));
    }
  }
}

/* Both graphs at the ends of the line and beside them. */
static gemel_status run_ends(struct flips *f, gemel_error *error) {
  GEMEL__TRY(run_both(f, f->low, 1, error));
  if (!is_found(f)) {
    GEMEL__TRY(run_both(f, f->high, 1, error));
  }
  for (size_t k = 0; k < BESIDE && may_go_on(f); k++) {
    nudge(f);
    GEMEL__TRY(run_both(f, f->middle, 1, error));
  }
  return GEMEL_OK;
}

static gemel_status run_line(struct flips *f, gemel_error *error) {
  join_ends(f);
  GEMEL__TRY(follow(f, f->low, &f->at_low, error));
  GEMEL__TRY(follow(f, f->high, &f->at_high, error));
  if (!(f->at_low != f->at_high) || !isfinite(f->at_low) || !isfinite(f->at_high)) {
    return GEMEL_OK;
  }
  GEMEL__TRY(halve_line(f, error));
  return run_ends(f, error);
}

/* Of six lines four have larger numbers: a quotient, or a product with a small constant, has to be
 * beyond 1 to be rounded to another integer. In one of six they are about as large as a dtype's
 * significand: there a sum, or three times a number, is rounded to a half or an integer. */
static void enlarge(struct flips *f, size_t kind, gemel_tensor *const *values) {
  enum { AT_END = 5, NEAR_END = 8 };
  static const int64_t most[KINDS] = {0, 8, 24, 0, 8, NEAR_END};
  int power = (int)gemel__random_between(f->random, 0, most[kind]);
  for (size_t k = 0; k < f->pair.a.n_leaves; k++) {
    const gemel__leaf *leaf = &f->pair.a.leaves[k];
    for (size_t i = 0; gemel__is_float(leaf->dtype) && i < leaf->count; i++) {
      int own = kind == AT_END ? gemel__dtype_format(leaf->dtype)->digits - power : power;
      void *at = gemel__leaf_at(leaf, values[k], i);
      long double x = ldexpl(gemel__leaf_get(leaf, at), own);
      if (fabsl(x) < ldexpl(1, gemel__dtype_format(leaf->dtype)->highest)) { /* f16 ends early */
        gemel__leaf_put(leaf, at, x);
      }
    }
  }
}

static gemel_status draw_line(struct flips *f, gemel_error *error) {
  size_t kind = gemel__random_below(f->random, KINDS);
  GEMEL__TRY(draw(f, 0, &f->low, error));
  GEMEL__TRY(draw(f, 0, &f->high, error));
  enlarge(f, kind, f->low);
  enlarge(f, kind, f->high);
  f->middle = gemel__values_copy(&f->pair.a, f->low, error);
  return f->middle == NULL ? GEMEL_NO_MEMORY : run_line(f, error);
}

/* Chooses what the line with number K follows. Returns 0 if the output isn't decided or empty. */
static int choose(struct flips *f, size_t k) {
  size_t n = gemel_graph_output_count(f->pair.a.graph);
  f->output = k / 2 % n;
  f->second = k % 2 != 0;
  double count =
      gemel__type_elements(gemel_graph_context(f->pair.a.graph),
                           gemel_value_type(gemel_graph_output(f->pair.a.graph, f->output)), 1);
  f->element = count >= 1 ? gemel__random_below(f->random, (uint64_t)count) : 0;
  return f->decided[f->output] && count >= 1;
}

static gemel_status run_lines(struct flips *f, gemel_error *error) {
  size_t n = gemel_graph_output_count(f->pair.a.graph);
  for (size_t k = 0, lines = 0; k < 2 * n * LINES && lines < LINES && may_go_on(f); k++) {
    if (!choose(f, k)) {
      continue;
    }
    lines++;
    gemel_status status = draw_line(f, error);
    gemel__values_free(&f->pair.a, f->low);
    gemel__values_free(&f->pair.a, f->high);
    gemel__values_free(&f->pair.a, f->middle);
    f->low = f->high = f->middle = NULL;
    GEMEL__TRY(gemel__is_no_point(status) ? GEMEL_OK : status);
  }
  return GEMEL_OK;
}

/* ---- All of it ---- */

static gemel_status run_choice(struct flips *f, gemel_error *error) {
  gemel__pair_compile(&f->pair);
  f->each = gemel__pair_work(&f->pair) + RUN_WORK;
  GEMEL__TRY(run_random(f, error));
  GEMEL__TRY(f->pair.symbols == 0 ? run_ramps(f, error) : GEMEL_OK);
  return run_lines(f, error);
}

static gemel_status run_choices(struct flips *f, gemel_error *error) {
  size_t choices = 1;
  for (size_t k = 0; k < choices && (k == 0 || may_go_on(f)); k++) {
    GEMEL__TRY(gemel__pair_draw(&f->pair, f->a, f->b, f->random, error));
    choices = f->pair.symbols > 0 ? CHOICES : 1;
    gemel_status status = run_choice(f, error);
    gemel__pair_clear(&f->pair);
    GEMEL__TRY(status);
  }
  return choices > 1 && may_go_on(f) ? run_long_ramps(f, error) : GEMEL_OK;
}

/* Leaves what counts among the N outputs of GRAPH. Returns how many there are. */
static size_t count_decided(const gemel_graph *graph, size_t n, int choices,
                            unsigned char *decided) {
  size_t some = 0;
  for (size_t k = 0; k < n; k++) {
    gemel_dtype dtype = gemel_type_dtype(gemel_graph_context(graph),
                                         gemel_value_type(gemel_graph_output(graph, k)));
    int counts = !gemel__is_float(dtype) || choices || decided[k] & GEMEL__DECIDED_WHOLE;
    decided[k] = counts ? decided[k] : 0;
    some += decided[k] != 0;
  }
  return some;
}

/* The words for what FOUND shows, where KINDS of arithmetic differ. */
static unsigned words_of(const struct flips *f, unsigned kinds) {
  const gemel__witness *w = &f->found->witness;
  gemel_dtype dtype = gemel_type_dtype(gemel_graph_context(f->a),
                                       gemel_value_type(gemel_graph_output(f->a, w->output)));
  if (w->values == NULL) {
    return 0;
  }
  if (!gemel__is_float(dtype) || f->decided[w->output] & GEMEL__DECIDED_WHOLE) {
    return GEMEL__NEED(INTEGERS);
  }
  return gemel__words_of_kinds(kinds);
}

gemel_status gemel__flips_find(const gemel_graph *a, const gemel_graph *b, int choices, double work,
                               gemel__random *random, gemel__ticker *ticker, gemel__flip *flip,
                               gemel_error *error) {
  size_t n = gemel_graph_output_count(a);
  unsigned char *decided = gemel__alloc_zeroed(n);
  unsigned kinds = 0;
  struct flips f = {.a = a,
                    .b = b,
                    .decided = decided,
                    .work = work,
                    .random = random,
                    .ticker = ticker,
                    .found = flip};
  memset(flip, 0, sizeof *flip);
  if (decided == NULL) {
    return gemel__no_memory(error, "two graphs");
  }
  gemel_status status = gemel__decided_outputs(a, b, decided, &kinds, error);
  if (status == GEMEL_OK && count_decided(a, n, choices, decided) > 0) {
    gemel__ticker_stage(ticker, "where rounding decides");
    flip->decided = 1;
    status = run_choices(&f, error);
    flip->words = words_of(&f, kinds);
  }
  gemel__free(decided, n);
  return status == GEMEL_NO_MEMORY ? status : GEMEL_OK;
}
