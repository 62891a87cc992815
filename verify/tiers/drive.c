/* SPDX-License-Identifier: MIT
 *
 * Driving decisions: finding points at which two compared numbers are equal. Sampling can't hit x *
 * 8 == 98760. But O decides a comparison by the sign of a difference, and its value tells how far
 * away the tie is. So the difference is taken as a function of one element of one input, with all
 * others fixed, and its zero is searched (crossing.h). The zero and its neighbours, or the two
 * neighbours between which the sign changes, are then judged like any point.
 *
 * A pass starts at a random point and goes through the sites in graph order or in reverse. At each
 * site it drives one decision, and continues from the point that it found, so that several
 * conditions hold together. The element to move is found by binary search: move half of the
 * candidates and see whether the difference changes.
 *
 * Divisors are driven to 0 likewise, where one side may have no value: (8 x - 98760) ÷ (8 x -
 * 98760) isn't 1 at 12345.
 *
 * In x² + y² == 5000 two elements have to be small integers at once. Then one takes 0, 1, …, 71
 * while the other is driven.
 */
#include <math.h>
#include <string.h>
#include "instances/assumed.h"
#include "instances/crossing.h"
#include "core/alloc.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/graph.h"
#include "tiers/models.h"
#include "instances/instance.h"
#include "ops/ops.h"

/* Most elements moved, one after the other, for one zero. */
enum { NUMBERS = 3 };
/* Passes, each from a point of its own; they take the left and the right side in turn. */
enum { PASSES = 8 };
/* The first of these, of both sides, drive divisors as well. */
enum { DIVISOR_PASSES = 2 };

/* One sign that O was asked for: the node, and the number whose sign it is (NaN: no value). */
struct asked_sign {
  const void *graph;
  uint32_t node;
  double value;
};

/* One element of one leaf. */
struct coordinate {
  size_t leaf, element;
};

struct drive {
  gemel__observer observer; /* first */
  gemel__models *s;
  struct asked_sign *signs;
  size_t n_signs, capacity;
  const void *graph; /* the node being evaluated */
  uint32_t node;
  struct coordinate *numbers; /* all elements of all leaves */
  size_t n_numbers;
  size_t *moved; /* indices of numbers: the candidates of find_number */
  gemel__rtensor *inputs;
  gemel_tensor **point; /* the point that is moved */
  int side;
  size_t sign;   /* which of SIGNS is being driven */
  size_t budget; /* evaluations left */
  int divisors;  /* 1: divisors are driven to 0, too */
  int witness, failed;
  gemel_status status; /* what ended the search early, other than lack of memory */
  gemel_error *error;
};

/* ---- Numbers of a point ---- */

static const gemel__leaf *leaf_of(const struct drive *v, struct coordinate at) {
  return &v->s->q->leaves->leaves[at.leaf];
}

static void *address(const struct drive *v, struct coordinate at) {
  return gemel__leaf_at(leaf_of(v, at), v->point[at.leaf], at.element);
}

static gemel_dtype dtype_of(const struct drive *v, struct coordinate at) {
  return leaf_of(v, at)->dtype;
}

static int is_float(const struct drive *v, struct coordinate at) {
  return gemel__is_float(dtype_of(v, at));
}

static void store(const struct drive *v, struct coordinate at, long double x) {
  gemel__leaf_put(leaf_of(v, at), address(v, at), gemel__leaf_within(leaf_of(v, at), x));
}

static long double load(const struct drive *v, struct coordinate at) {
  return gemel__leaf_get(leaf_of(v, at), address(v, at));
}

/* ---- Watching ---- */

static void watch_node(gemel__observer *observer, const void *graph, uint32_t node) {
  struct drive *v = (struct drive *)observer;
  v->graph = graph;
  v->node = node;
}

static void watch_sign(void *user, gemel__domain *d, const void *e) {
  struct drive *v = user;
  struct asked_sign sign = {v->graph, v->node, NAN};
  double low, high;
  if (gemel__grow(&v->signs, &v->capacity, v->n_signs + 1, sizeof *v->signs) != 0) {
    v->failed = 1;
    return;
  }
  if (d->state(d, e) == GEMEL__DEFINED) {
    gemel__ordered_bounds(d, e, &low, &high);
    sign.value = low == high ? low : low / 2 + high / 2;
  }
  v->signs[v->n_signs++] = sign;
}

static void end_early(struct drive *v, gemel_status status) {
  v->status = status;
  v->budget = 0;
}

/* Evaluates the current side at the point and records its signs. 0: that failed, or the budget is
 * spent. */
static int probe(struct drive *v) {
  gemel__models *s = v->s;
  const gemel__model_side *side = v->side == 0 ? s->q->left : s->q->right;
  gemel__observer *observer = s->o->domain.observer;
  gemel_error problem = {GEMEL_OK, 0, 0, ""};
  size_t n = s->q->leaves->n_leaves;
  if (gemel__tick(s->q->ticker) != GEMEL_OK) {
    end_early(v, GEMEL_DECLINED);
  }
  if (v->budget == 0 || v->failed) {
    return 0;
  }
  v->budget--;
  v->n_signs = 0;
  s->o->precision = 128;
  s->o->domain.observer = &v->observer;
  s->o->watch = watch_sign;
  s->o->watcher = v;
  s->o->divisors = v->divisors;
  gemel_status status = gemel__rtensors_read(n, v->inputs, &s->o->domain, v->point, &problem);
  gemel__rtensors_clear(2 * s->q->n_outputs, s->results);
  status = status ? status : side->evaluate(side, &s->o->domain, v->inputs, s->results, &problem);
  s->o->domain.observer = observer;
  s->o->watch = NULL;
  v->failed |= status == GEMEL_NO_MEMORY;
  return status == GEMEL_OK && !v->failed;
}

/* The driven difference at the current point; NaN if it has no value there. */
static double difference(struct drive *v) {
  return probe(v) && v->sign < v->n_signs ? v->signs[v->sign].value : NAN;
}

/* Judges a copy of the point by both models. */
static void judge(struct drive *v) {
  gemel__models *s = v->s;
  if (v->witness || v->failed || v->status != GEMEL_OK) {
    return;
  }
  gemel_tensor **copy = gemel__values_copy(s->q->leaves, v->point, v->error);
  v->failed |= copy == NULL;
  if (!v->failed) {
    gemel_status status = gemel__models_judge(s, copy, &v->witness, v->error);
    v->failed = status == GEMEL_NO_MEMORY;
    v->budget -= v->budget > 3 ? 3 : v->budget;
    if (status != GEMEL_OK) {
      end_early(v, status);
    }
  }
  if (!v->witness) {
    gemel__values_free(s->q->leaves, copy);
  }
}

/* ---- What a difference depends on ---- */

/* Moves the candidates moved[FROM … TO) by 1 or, with FAR, by a random power of two (both relative
 * to large floats). */
static void move(struct drive *v, size_t from, size_t to, int far) {
  for (size_t k = from; k < to; k++) {
    struct coordinate at = v->numbers[v->moved[k]];
    long double x = load(v, at), step = 1;
    if (far) {
      step = ldexpl(1, (int)gemel__random_between(&v->s->random, 3, 20));
    }
    if (is_float(v, at) && fabsl(x) > 0x1p20L) {
      step *= fabsl(x);
    }
    store(v, at, dtype_of(v, at) == GEMEL_BOOL ? 1 - x : x + step);
    if (load(v, at) == x) {
      store(v, at, x - step);
    }
  }
}

/* Saves all elements for `restore`. */
static void save(const struct drive *v, long double *values) {
  for (size_t k = 0; k < v->n_numbers; k++) {
    values[k] = load(v, v->numbers[k]);
  }
}

static void restore(const struct drive *v, const long double *values) {
  for (size_t k = 0; k < v->n_numbers; k++) {
    store(v, v->numbers[k], values[k]);
  }
}

/* 1 if the difference, which is NOW, changes when these candidates are moved. Restores the
 * point. */
static int changes(struct drive *v, size_t from, size_t to, int far, double now,
                   const long double *values) {
  double then;
  move(v, from, to, far);
  then = difference(v);
  restore(v, values);
  return !isnan(then) && then != now;
}

/* Fills `moved` with all elements but BUT (may be NULL), in random order. Returns how many. */
static size_t shuffle_numbers(struct drive *v, const struct coordinate *but) {
  size_t n = v->n_numbers, k;
  gemel__random_permutation(&v->s->random, n, v->moved);
  for (k = 0; k < n && but != NULL; k++) {
    const struct coordinate *at = &v->numbers[v->moved[k]];
    if (at->leaf == but->leaf && at->element == but->element) {
      v->moved[k] = v->moved[--n];
      break;
    }
  }
  return n;
}

/* Finds an element other than BUT that the difference, which is NOW, depends on. 0: none was
 * found. */
static int find_number(struct drive *v, double now, const long double *values,
                       const struct coordinate *but, struct coordinate *at) {
  size_t from = 0, to = shuffle_numbers(v, but), k;
  int far = 0;
  if (to == 0) {
    return 0;
  }
  if (!changes(v, from, to, 0, now, values)) {
    far = 1;
    if (!changes(v, from, to, 1, now, values)) {
      return 0;
    }
  }
  while (to - from > 1 && v->budget > 0) {
    k = from + (to - from) / 2;
    if (changes(v, from, k, far, now, values)) {
      to = k;
    } else {
      from = k;
    }
  }
  *at = v->numbers[v->moved[from]];
  return v->budget > 0;
}

/* ---- One number ---- */

static double look(void *user) {
  return difference(user);
}

/* A search at AT, where the difference is NOW. */
static gemel__crossing crossing_at(struct drive *v, struct coordinate at, double now) {
  gemel__crossing c = {.leaf = leaf_of(v, at), .element = address(v, at), .look = look, .user = v};
  gemel__crossing_see(&c, load(v, at), now);
  return c;
}

static void judge_at(struct drive *v, const gemel__crossing *c, long double x) {
  gemel__leaf_put(c->leaf, c->element, gemel__leaf_within(c->leaf, x));
  judge(v);
}

/* Judges the zero, the numbers next to it and, of floats, some further away; without a zero, both
 * ends of the bracket. Leaves the point at the best place. */
static void judge_crossing(struct drive *v, const gemel__crossing *c) {
  long double x = c->best.x, far = fmaxl(fabsl(x), 1) * 0x1p-7L;
  int zero = c->best.f == 0;
  judge_at(v, c, zero ? gemel__leaf_beside(c->leaf, x, -1) : c->negative.x);
  judge_at(v, c, zero ? gemel__leaf_beside(c->leaf, x, 1) : c->positive.x);
  if (zero && gemel__is_float(c->leaf->dtype)) {
    judge_at(v, c, x - far);
    judge_at(v, c, x + far);
  }
  judge_at(v, c, x);
}

/* ---- Passes ---- */

/* Drives the sign numbered SIGN to a zero, and leaves the point there. If one element alone leads
 * to no zero, another is moved from the best place: 256 x + y == c needs both. */
static void drive_sign(struct drive *v, size_t sign, long double *values) {
  gemel__crossing c;
  struct coordinate at, before;
  int k, found = 0, met = 0;
  v->sign = sign;
  for (k = 0; k < NUMBERS && !met; k++) {
    double now = difference(v);
    save(v, values);
    if (!isfinite(now) || now == 0 || !find_number(v, now, values, k > 0 ? &before : NULL, &at)) {
      break;
    }
    c = crossing_at(v, at, now);
    found = gemel__crossing_find(&c);
    met = found && c.best.f == 0;
    store(v, at, c.best.x);
    before = at;
  }
  if (found) {
    judge_crossing(v, &c);
  }
}

/* ---- Two integers ---- */

/* 1 if sign K belongs to an equality, whose outcome changes at the zero only. */
static int is_equality(const struct drive *v, size_t k) {
  uint32_t op = gemel__node_at(v->signs[k].graph, v->signs[k].node)->op;
  return op == GEMEL__OP_eq || op == GEMEL__OP_ne;
}

/* Drives AT to the integer nearest to a zero. 1 if that integer is a zero. */
static int meets_at_integer(struct drive *v, struct coordinate at) {
  double now = difference(v);
  if (now != 0 && isfinite(now)) {
    gemel__crossing c = crossing_at(v, at, now);
    gemel__crossing_find(&c);
    now = gemel__crossing_look(&c, roundl(c.best.x));
  }
  return now == 0;
}

/* Drives SIGN to zero by two elements that are both integers. Several such pairs are judged: the
 * first may be 0 and 0, at which x * 7 == y * 11 tells nothing apart. */
static void drive_integers(struct drive *v, size_t sign, long double *values) {
  enum { MOST = 72, PAIRS = 4 };
  struct coordinate one, other;
  int met = 0;
  v->sign = sign;
  double now = difference(v);
  save(v, values);
  if (!isfinite(now) || now == 0 || !find_number(v, now, values, NULL, &one) ||
      !find_number(v, now, values, &one, &other)) {
    return;
  }
  for (int x = 0; x < MOST && met < PAIRS && !v->witness && v->budget > 0; x++) {
    store(v, one, x);
    store(v, other, x + 1);
    if (meets_at_integer(v, other)) {
      met++;
      judge(v);
    }
  }
}

/* The index of the first sign after K that belongs to another node. */
static size_t end_of_site(const struct drive *v, size_t k) {
  const struct asked_sign *first = &v->signs[k];
  while (k < v->n_signs && v->signs[k].graph == first->graph && v->signs[k].node == first->node) {
    k++;
  }
  return k;
}

/* Chooses one sign for each site: the one at the fraction PLACE of the site's signs. So elementwise
 * operations of one shape are driven at the same element. */
static size_t choose_signs(const struct drive *v, double place, size_t room, size_t *chosen) {
  size_t k, end, n = 0;
  for (k = 0; k < v->n_signs && n < room; k = end) {
    end = end_of_site(v, k);
    chosen[n++] = k + (size_t)(place * (double)(end - k));
  }
  return n;
}

/* One pass. The last two are those that drive equalities by two integers. */
static void run_pass(struct drive *v, size_t pass, long double *values) {
  enum { MOST_SITES = 64 };
  size_t chosen[MOST_SITES], n, k;
  double place = gemel__random_unit(&v->s->random);
  v->side = (int)(pass % 2);
  v->divisors = v->s->q->compare_domain == GEMEL__IEEE_DECIDES && pass < DIVISOR_PASSES;
  if (!probe(v)) {
    return;
  }
  n = choose_signs(v, place, MOST_SITES, chosen);
  for (k = 0; k < n && v->budget > 0 && !v->witness && !v->failed; k++) {
    size_t sign = chosen[pass / 2 % 2 == 0 ? k : n - 1 - k];
    if (pass < PASSES) {
      drive_sign(v, sign, values);
    } else if (sign < v->n_signs && is_equality(v, sign)) {
      drive_integers(v, sign, values);
    }
  }
}

/* ---- From outside ---- */

static void count_numbers(struct drive *v, struct coordinate *numbers) {
  const gemel__instance *in = v->s->q->leaves;
  v->n_numbers = 0;
  for (size_t k = 0; k < in->n_leaves; k++) {
    for (size_t i = 0; i < in->leaves[k].count; i++) {
      if (numbers != NULL) {
        numbers[v->n_numbers] = (struct coordinate){k, i};
      }
      v->n_numbers++;
    }
  }
}

static gemel_status run_passes(struct drive *v, long double *values) {
  gemel__models *s = v->s;
  for (size_t pass = 0; pass < PASSES + 2 && v->budget > 0 && !v->witness && !v->failed; pass++) {
    GEMEL__TRY(gemel__values_around(s->q->leaves, GEMEL__FILL_POINTS, s->q->constants,
                                    s->q->n_constants, &s->random, &v->point, v->error));
    run_pass(v, pass, values);
    gemel__values_free(s->q->leaves, v->point);
  }
  return v->failed ? gemel__no_memory(v->error, "a search") : v->status;
}

gemel_status gemel__models_drive(gemel__models *s, gemel_error *error) {
  struct drive v;
  size_t n = s->q->leaves->n_leaves, room;
  gemel_status status;
  long double *values;
  memset(&v, 0, sizeof v);
  v.observer.node = watch_node;
  v.s = s;
  v.error = error;
  count_numbers(&v, NULL);
  if (s->q->drives == 0 || v.n_numbers == 0) {
    return GEMEL_OK;
  }
  room = v.n_numbers;
  v.budget = s->q->drives;
  v.numbers = gemel__alloc_array(room, sizeof *v.numbers);
  v.moved = gemel__alloc_array(room, sizeof *v.moved);
  v.inputs = gemel__alloc_array(n, sizeof *v.inputs);
  values = gemel__alloc_array(room, sizeof *values);
  if (v.numbers == NULL || v.moved == NULL || v.inputs == NULL || values == NULL) {
    status = gemel__no_memory(error, "a search");
  } else {
    count_numbers(&v, v.numbers);
    status = run_passes(&v, values);
  }
  gemel__rtensors_clear(2 * s->q->n_outputs, s->results);
  gemel__free(v.signs, v.capacity * sizeof *v.signs);
  gemel__free(v.numbers, room * sizeof *v.numbers);
  gemel__free(v.moved, room * sizeof *v.moved);
  gemel__rtensors_free(n, v.inputs);
  gemel__free(values, room * sizeof *values);
  return status;
}
