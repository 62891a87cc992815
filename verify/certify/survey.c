/* SPDX-License-Identifier: MIT
 *
 * Points of regions, see survey.h. A point is drawn as for domain O anywhere; then literals of the
 * region, and what lies one beside them, are planted in it. From some points a search starts: one
 * element of one leaf moves by a power of two, and where the decisions (signs, floors) at both ends
 * differ, the segment is halved, again and again, until the two ends are neighbours in the leaf's
 * dtype. So the operands of a comparison are driven together, down to the tie if there is one, and
 * each way of a decision is seen. Every point on the way is compared.
 */
#include "certify/survey.h"

#include <math.h>
#include <string.h>
#include "certify/trials.h"
#include "pairs/contrast.h"
#include "core/alloc.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/graph.h"
#include "domains/ordered.h"
#include "tiers/tiers.h"

enum { POINTS = 24, FEWEST_POINTS = 4, SEARCHES = 3, EVALUATIONS = 400, MOST_PRECISION = 256 };
/* Elements of all values of both sides, at all points together. */
static const double work = 200000;

typedef struct survey {
  const gemel__pair *pair;
  const gemel__literals *literals;
  gemel__random *random;
  gemel__ordered *o;
  gemel__rtensor *room; /* both results, and a slot for each leaf */
  gemel_tensor **point;
  unsigned char *seen; /* by element of the result: compared once */
  size_t n_seen;
  gemel__tape tape;
  int thorough; /* 1: searches, too */
  int infinite; /* 1: infinite inputs, too */
  long left;    /* evaluations in searches */
  int unlike;   /* a difference was found */
  gemel__difference *shown;
  gemel_error *error;
} survey;

/* ---- One point ---- */

static gemel_status evaluate(survey *s) {
  const gemel__instance *in = &s->pair->a;
  gemel_status status = GEMEL_OK;
  s->o->precision = 128;
  do {
    s->o->undecided = 0;
    gemel__tape_clear(&s->tape);
    gemel__rtensors_clear(2, s->room);
    status = gemel__rtensors_read(in->n_leaves, s->room + 2, &s->o->domain, s->point, s->error);
    for (int k = 0; k < 2 && status == GEMEL_OK; k++) {
      const gemel_graph *graph = k == 0 ? in->graph : s->pair->b.graph;
      status = gemel__reference_graph(graph, &s->o->domain, s->room + 2, &s->room[k], NULL, NULL,
                                      s->error);
    }
  } while (status == GEMEL_OK && s->o->undecided > 0 && s->o->precision < MOST_PRECISION &&
           gemel__ordered_raise(s->o));
  return status;
}

static int same_shape(const gemel__rtensor *a, const gemel__rtensor *b) {
  return a->rank == b->rank && a->dtype == b->dtype && a->count == b->count &&
         memcmp(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape) == 0;
}

/* The point is one where both sides differ. */
static gemel_status show(const survey *s) {
  return s->unlike ? gemel__difference_show(s->shown, s->pair, s->point, "", s->error) : GEMEL_OK;
}

static void compare(survey *s) {
  gemel__domain *d = &s->o->domain;
  const gemel__rtensor *a = &s->room[0], *b = &s->room[1];
  if (!same_shape(a, b)) {
    s->unlike = 1;
    return;
  }
  for (size_t i = 0; i < a->count && !s->unlike; i++) {
    const void *x = gemel__rtensor_at(a, i), *y = gemel__rtensor_at(b, i);
    if (d->state(d, x) == GEMEL__DEFINED && d->state(d, y) == GEMEL__DEFINED) {
      s->seen[i] |= i < s->n_seen;
      s->unlike = !gemel__ordered_overlap(d, x, y);
    }
  }
}

/* Both sides at the point as it is now; *DECISIONS: a hash of those taken. What a reference can't
 * evaluate (an index out of range) is no point of either side. */
static gemel_status look(survey *s, uint64_t *decisions) {
  s->left--;
  s->o->tape = &s->tape;
  gemel_status status = evaluate(s);
  s->o->tape = NULL;
  *decisions = 1;
  if (status == GEMEL_OK) {
    compare(s);
    status = show(s);
    for (size_t k = 0; k < s->tape.count; k++) {
      *decisions = (*decisions ^ (uint64_t)s->tape.entries[k]) * 0x9e3779b97f4a7c15u;
      *decisions ^= *decisions >> 29;
    }
  }
  gemel__rtensors_clear(s->pair->a.n_leaves + 2, s->room);
  return status == GEMEL_NO_MEMORY ? status : GEMEL_OK;
}

/* ---- Numbers of leaves ---- */

/* An element of a leaf: X of float dtypes, else I. */
typedef struct survey_number {
  double x;
  int64_t i;
} survey_number;

static int is_float(const gemel__leaf *leaf) {
  return gemel__is_float(leaf->dtype);
}

static void store(const survey *s, size_t k, size_t i, survey_number *n) {
  const gemel__leaf *leaf = &s->pair->a.leaves[k];
  char *at = (char *)gemel_tensor_data(s->point[k]) + i * gemel_dtype_size(leaf->dtype);
  gemel__points_store(leaf->dtype, 1, is_float(leaf) ? &n->x : NULL, is_float(leaf) ? NULL : &n->i,
                      at);
  n->x = is_float(leaf) ? gemel__decode(leaf->dtype, at) : n->x;
}

/* The numbers that leaf K may have: those of its dtype that its range leaves. */
static void range_of(const gemel__leaf *leaf, survey_number *low, survey_number *high) {
  unsigned bits = 8 * (unsigned)gemel_dtype_size(leaf->dtype);
  int is_signed = gemel_dtype_kind(leaf->dtype) == GEMEL_KIND_SIGNED;
  int positive = leaf->range == GEMEL_RANGE_POSITIVE;
  int64_t most = (int64_t)(UINT64_MAX >> (64 - bits + (is_signed || bits == 64)));
  high->i = gemel_dtype_kind(leaf->dtype) == GEMEL_KIND_BOOL ? 1 : most;
  low->i = is_signed ? -most - 1 : 0;
  high->x = 0x1p60;
  low->x = -0x1p60;
  if (positive || leaf->range == GEMEL_RANGE_NONNEGATIVE) {
    low->i = positive;
    low->x = positive ? 0x1p-20 : 0;
  }
}

static int is_inside(const gemel__leaf *leaf, const survey_number *n) {
  survey_number low, high;
  range_of(leaf, &low, &high);
  return is_float(leaf)
             ? n->x >= low.x && n->x <= high.x && (leaf->range != GEMEL_RANGE_NONZERO || n->x != 0)
             : n->i >= low.i && n->i <= high.i && (leaf->range != GEMEL_RANGE_NONZERO || n->i != 0);
}

/* ---- Drawing ---- */

/* Candidate K for every leaf: the numbers that the region names, and those beside them. */
static survey_number candidate(const survey *s, size_t k) {
  static const double beside[] = {0, 1, -1};
  double c = s->literals->x[k / 4 % s->literals->n];
  survey_number n;
  n.x = k % 4 == 3 ? -c : c + beside[k % 4];
  n.i = fabs(n.x) < 0x1p62 ? (int64_t)floor(n.x) : 0;
  return n;
}

/* Every other element of a leaf becomes the next candidate, so that after some points, of which
 * this is the Pth, each has been. With several leaves some keep what was drawn. */
static void plant(survey *s, size_t p) {
  const gemel__instance *in = &s->pair->a;
  for (size_t k = 0; k < in->n_leaves && s->literals->n > 0; k++) {
    const gemel__leaf *leaf = &in->leaves[k];
    size_t half = (leaf->count + 1) / 2;
    if (p % in->n_leaves != k && gemel__random_chance(s->random, 1, 2)) {
      continue;
    }
    for (size_t i = 0; i < half; i++) {
      survey_number n = candidate(s, p * half + i);
      size_t at = 2 * i + p % 2 < leaf->count ? 2 * i + p % 2 : 2 * i;
      if (is_inside(leaf, &n)) {
        store(s, k, at, &n);
      }
    }
  }
}

/* Some elements of float dtypes become infinite. */
static void plant_infinities(survey *s) {
  const gemel__instance *in = &s->pair->a;
  for (size_t k = 0; k < in->n_leaves; k++) {
    const gemel__leaf *leaf = &in->leaves[k];
    int positive = leaf->range == GEMEL_RANGE_POSITIVE || leaf->range == GEMEL_RANGE_NONNEGATIVE;
    size_t step = 1 + gemel__random_below(s->random, 4);
    for (size_t i = gemel__random_below(s->random, step); is_float(leaf) && i < leaf->count;
         i += step) {
      double x = positive ? INFINITY : gemel__random_sign(s->random) * INFINITY;
      gemel__store_real(leaf->dtype, x,
                        (char *)gemel_tensor_data(s->point[k]) + i * gemel_dtype_size(leaf->dtype));
    }
  }
}

static gemel_status draw(survey *s, gemel__fill fill) {
  double named[GEMEL__MOST_LITERALS];
  size_t n = 0;
  for (size_t k = 0; k < s->literals->n; k++) {
    if (s->literals->x[k] != 0) {
      named[n++] = s->literals->x[k];
    }
  }
  return gemel__instance_points(&s->pair->a, fill, named, n, s->random, s->point, s->error);
}

/* ---- Searching ---- */

typedef struct survey_segment {
  survey_number a, b;
  uint64_t at_a, at_b; /* decisions */
  int depth;
} survey_segment;

/* Halfway on T: 0 if there is nothing between. */
static int halve(const gemel__leaf *leaf, const survey_segment *t, survey_number *m) {
  if (is_float(leaf)) {
    m->x = t->a.x / 2 + t->b.x / 2;
    return m->x != t->a.x && m->x != t->b.x;
  }
  m->i = (int64_t)((uint64_t)t->a.i + ((uint64_t)t->b.i - (uint64_t)t->a.i) / 2);
  return m->i != t->a.i && m->i != t->b.i;
}

/* Halves what lies between A and B on element I of leaf K as long as decisions differ. */
static gemel_status search(survey *s, size_t k, size_t i, survey_number a, survey_number b) {
  enum { STACK = 64, DEPTH = 110 };
  const gemel__leaf *leaf = &s->pair->a.leaves[k];
  survey_segment stack[STACK], first = {a, b, 0, 0, 0};
  size_t n = 0;
  store(s, k, i, &first.a);
  gemel_status status = look(s, &first.at_a);
  store(s, k, i, &first.b);
  status = status ? status : look(s, &first.at_b);
  stack[n++] = first;
  while (n > 0 && s->left > 0 && !s->unlike && status == GEMEL_OK) {
    survey_segment t = stack[--n];
    survey_number m = {0, 0};
    uint64_t at;
    if (t.at_a == t.at_b || t.depth == DEPTH || !halve(leaf, &t, &m)) {
      continue;
    }
    store(s, k, i, &m); /* rounded to the dtype, it may be an end */
    if (is_float(leaf) && (m.x == t.a.x || m.x == t.b.x)) {
      continue;
    }
    status = look(s, &at);
    if (n + 2 <= STACK) {
      stack[n++] = (survey_segment){t.a, m, t.at_a, at, t.depth + 1};
      stack[n++] = (survey_segment){m, t.b, at, t.at_b, t.depth + 1};
    }
  }
  return status;
}

/* N moved up or down by a power of two, as far as leaves of its kind go. */
static survey_number moved(const gemel__leaf *leaf, const survey_number *n, int power, int up) {
  int64_t step = (int64_t)1 << power;
  survey_number low, high, end = *n;
  range_of(leaf, &low, &high);
  end.x = up ? fmin(n->x + (double)step, high.x) : fmax(n->x - (double)step, low.x);
  if (step > high.i - 8 || up) {
    end.i = up && (step > high.i - 8 || n->i > high.i - step) ? high.i : up ? n->i + step : low.i;
  } else {
    end.i = n->i < low.i + step ? low.i : n->i - step;
  }
  return end;
}

/* Element I of leaf K moves from START up, or down, in steps that get longer. */
static gemel_status climb(survey *s, size_t k, size_t i, survey_number start, int up) {
  static const int powers[] = {4, 10, 17, 24, 40};
  const gemel__leaf *leaf = &s->pair->a.leaves[k];
  survey_number from = start;
  gemel_status status = GEMEL_OK;
  for (size_t j = 0; j < sizeof powers / sizeof *powers && status == GEMEL_OK && !s->unlike; j++) {
    survey_number to = moved(leaf, &start, powers[j], up);
    if (is_float(leaf) ? to.x != from.x : to.i != from.i) {
      status = up ? search(s, k, i, from, to) : search(s, k, i, to, from);
    }
    from = to;
  }
  return status;
}

/* One element of leaf K moves down and up from a small integer, the others stay. */
static gemel_status search_leaf(survey *s, size_t k) {
  const gemel__leaf *leaf = &s->pair->a.leaves[k];
  gemel_status status = GEMEL_OK;
  survey_number start;
  if (leaf->count == 0 || leaf->range == GEMEL_RANGE_INDEX || leaf->dtype == GEMEL_BOOL) {
    return GEMEL_OK;
  }
  size_t i = gemel__random_below(s->random, leaf->count);
  start.i = gemel__random_between(s->random, -8, 8);
  start.x = (double)start.i;
  if (!is_inside(leaf, &start)) {
    start.i = 1;
    start.x = 1;
  }
  for (int up = 0; up < 2 && status == GEMEL_OK && !s->unlike; up++) {
    long left = s->left;
    s->left = EVALUATIONS / 2;
    status = climb(s, k, i, start, up);
    s->left = left - (EVALUATIONS / 2 - s->left);
  }
  store(s, k, i, &start);
  return status;
}

/* ---- All points ---- */

static gemel_status survey_point(survey *s, int k) {
  static const gemel__fill fills[] = {GEMEL__FILL_POINTS, GEMEL__FILL_POINTS, GEMEL__FILL_FULL,
                                      GEMEL__FILL_POINTS, GEMEL__FILL_INTEGERS};
  uint64_t decisions = 1;
  int starts = k % 5 == 4; /* a search starts here, which small integers and literals serve best */
  gemel_status status = draw(s, starts && k % 2 != 0 ? GEMEL__FILL_POINTS : fills[k % 5]);
  if (status != GEMEL_OK) {
    return status;
  }
  if (k % 2 == 0 || starts) {
    plant(s, (size_t)k / 2);
  }
  if (s->infinite && k % 6 == 3) {
    plant_infinities(s);
  }
  status = look(s, &decisions);
  for (size_t j = 0; decisions != 1 && starts && k / 5 < SEARCHES && j < s->pair->a.n_leaves &&
                     s->left > 0 && !s->unlike && status == GEMEL_OK;
       j++) {
    status = search_leaf(s, j);
  }
  gemel__tensors_release(s->pair->a.n_leaves, s->point);
  return status;
}

static int all_seen(const survey *s) {
  size_t k = 0;
  while (k < s->n_seen && s->seen[k]) {
    k++;
  }
  return k == s->n_seen;
}

static gemel_status survey_points(survey *s) {
  double elements =
      gemel__sizes_elements(s->pair->a.graph) + gemel__sizes_elements(s->pair->b.graph) + 1;
  double affordable = work / elements;
  int points = affordable < FEWEST_POINTS ? FEWEST_POINTS
               : affordable < POINTS      ? (int)affordable
                                          : POINTS;
  gemel_status status = GEMEL_OK;
  s->left = affordable < 4 * EVALUATIONS ? (long)affordable : 4 * EVALUATIONS;
  s->left = s->thorough ? s->left : 0;
  for (int k = 0;
       status == GEMEL_OK && !s->unlike && (k < points || (k < 3 * points && !all_seen(s))); k++) {
    status = survey_point(s, k);
  }
  return status;
}

/* Makes room for S and runs WHAT. */
static gemel_status with_room(survey *s, gemel_status (*what)(survey *s)) {
  size_t n = s->pair->a.n_leaves;
  s->n_seen = gemel__pair_results(s->pair);
  s->room = gemel__alloc_array(n + 2, sizeof *s->room);
  s->point = gemel__alloc_array(n + 1, sizeof *s->point);
  s->seen = gemel__alloc_array(s->n_seen + 1, 1);
  s->o = gemel__ordered_new(128);
  gemel_status status = s->room != NULL && s->point != NULL && s->seen != NULL && s->o != NULL
                            ? what(s)
                            : gemel__no_memory(s->error, "certifying");
  gemel__tape_clear(&s->tape);
  gemel__ordered_free(s->o);
  return status;
}

static void free_room(survey *s) {
  size_t n = s->pair->a.n_leaves;
  gemel__free(s->room, (n + 2) * sizeof *s->room);
  gemel__free(s->point, (n + 1) * sizeof *s->point);
  gemel__free(s->seen, s->n_seen + 1);
}

gemel_status gemel__survey(const gemel__pair *pair, const gemel__survey_options *options,
                           gemel__random *random, gemel__likeness *likeness, gemel_error *error) {
  survey s = {.pair = pair,
              .literals = options->literals,
              .random = random,
              .thorough = options->thorough,
              .infinite = options->infinite,
              .shown = options->shown,
              .error = error};
  gemel_status status = with_room(&s, survey_points);
  *likeness = s.unlike                              ? GEMEL__UNLIKE
              : status != GEMEL_OK || !all_seen(&s) ? GEMEL__UNSEEN
                                                    : GEMEL__ALIKE;
  free_room(&s);
  return status == GEMEL_NO_MEMORY ? status : GEMEL_OK;
}

/* ---- Bits ---- */

int gemel__bits_matter(const gemel_graph *graph) {
  unsigned floats = 0, others = 0;
  for (uint32_t k = 0; k < graph->n_nodes; k++) {
    gemel_dtype dtype;
    if (!gemel__has_output(graph, k, 0)) {
      continue;
    }
    dtype = gemel_type_dtype(graph->context, gemel__node_type(graph, k, 0));
    if (gemel__is_float(dtype)) {
      floats |= 1u << dtype;
    } else if (dtype != GEMEL_BOOL) {
      others |= 1u << dtype;
    }
  }
  return (floats & (floats - 1)) != 0 || (floats != 0 && others != 0);
}

static void contrast(survey *s, const gemel__both *both) {
  for (size_t i = 0; i < gemel__both_elements(both, 0) && !s->unlike; i++) {
    s->unlike = gemel__both_contrast(both, 0, i) > GEMEL__ZERO_SIGN;
  }
}

/* Large numbers that are one unit apart, from leaf to leaf and up to the sign: neighbours that a
 * narrower dtype can't tell from each other. */
static void plant_neighbours(survey *s, size_t run) {
  const gemel__instance *in = &s->pair->a;
  for (size_t k = 0; k < in->n_leaves; k++) {
    const gemel__leaf *leaf = &in->leaves[k];
    for (size_t i = 0; i < leaf->count; i++) {
      int64_t base = ((int64_t)1 << (8 + (7 * i + 3 * run) % 51)) + (int64_t)i;
      survey_number n;
      n.i = (base + gemel__random_between(s->random, -1, 1)) * ((run >> (k % 4)) % 2 == 0 ? 1 : -1);
      n.x = (double)n.i;
      if (is_inside(leaf, &n)) {
        store(s, k, i, &n);
      }
    }
  }
}

static gemel_status run_bits(survey *s) {
  enum { RUNS = 30 };
  static const gemel__fill fills[] = {GEMEL__FILL_FULL, GEMEL__FILL_POINTS, GEMEL__FILL_POINTS};
  gemel_status status = GEMEL_OK;
  for (int k = 0; k < RUNS && status == GEMEL_OK && !s->unlike; k++) {
    gemel__both both;
    status = draw(s, fills[k % 3]);
    if (status == GEMEL_OK && k % 3 != 0) {
      plant_neighbours(s, (size_t)k);
    }
    if (status == GEMEL_OK) {
      status = gemel__both_run(s->pair, s->point, s->random, &both, s->error);
      if (status == GEMEL_OK) {
        contrast(s, &both);
        gemel__both_clear(&both);
        status = show(s);
      }
      gemel__tensors_release(s->pair->a.n_leaves, s->point);
    }
  }
  return status;
}

gemel_status gemel__survey_bits(gemel__pair *pair, const gemel__survey_options *options,
                                gemel__random *random, gemel__likeness *likeness,
                                gemel_error *error) {
  survey s = {.pair = pair,
              .literals = options->literals,
              .random = random,
              .shown = options->shown,
              .error = error};
  gemel_status status;
  gemel__pair_compile(pair);
  status = with_room(&s, run_bits);
  *likeness = s.unlike ? GEMEL__UNLIKE : status != GEMEL_OK ? GEMEL__UNSEEN : GEMEL__ALIKE;
  free_room(&s);
  return status == GEMEL_NO_MEMORY ? status : GEMEL_OK;
}
