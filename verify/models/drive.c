/* SPDX-License-Identifier: MIT
 *
 * Driving decisions: finding points at which two compared numbers are equal. Sampling can't hit x *
 * 8 == 98760. But O decides a comparison by the sign of a difference, and its value tells how far
 * away the tie is. So the difference is taken as a function of one element of one input, with all
 * others fixed, and its zero is searched: by secants, and by bisection once both signs were seen.
 * For integers the search ends at the zero, or at two neighbours between which the sign changes.
 * The zero and its neighbours are then judged like any point.
 *
 * A pass starts at a random point and goes through the sites in graph order or in reverse. At each
 * site it drives one decision, and continues from the point that it found, so that several
 * conditions hold together. The element to move is found by binary search: move half of the
 * candidates and see whether the difference changes.
 *
 * In x² + y² == 5000 two elements have to be small integers at once. Then one takes 0, 1, …, 71
 * while the other is driven.
 */
#include <math.h>
#include <string.h>
#include "instances/assumed.h"
#include "core/alloc.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/graph.h"
#include "models/models.h"
#include "instances/instance.h"
#include "ops/ops.h"

/* Steps of one search for a zero; steps of growing size that look for a change of the
 * difference. */
enum { STEPS = 14, DOUBLINGS = 7 };
/* Most elements moved, one after the other, for one zero. */
enum { NUMBERS = 3 };
/* Passes, each from a point of its own; they take the left and the right side in turn. */
enum { PASSES = 8 };

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
  int witness, failed;
  gemel_status status; /* what ended the search early, other than lack of memory */
  gemel_error *error;
};

/* ---- Numbers of a point ---- */

static void *address(const struct drive *v, struct coordinate at) {
  size_t bytes = gemel_dtype_size(v->s->q->leaves->leaves[at.leaf].dtype);
  return (char *)gemel_tensor_data(v->point[at.leaf]) + at.element * bytes;
}

static gemel_dtype dtype_of(const struct drive *v, struct coordinate at) {
  return v->s->q->leaves->leaves[at.leaf].dtype;
}

static int is_float(const struct drive *v, struct coordinate at) {
  return gemel__is_float(dtype_of(v, at));
}

/* The least and the largest number of an integer dtype. */
static void range_of(gemel_dtype dtype, long double *low, long double *high) {
  int bits = dtype == GEMEL_BOOL ? 1 : 8 * (int)gemel_dtype_size(dtype);
  int is_signed = gemel_dtype_kind(dtype) == GEMEL_KIND_SIGNED;
  *high = ldexpl(1, bits - is_signed) - 1;
  *low = is_signed ? -ldexpl(1, bits - 1) : 0;
}

/* The integer of DTYPE nearest to X, in an int64_t (u64: the same bits). */
static int64_t integer_of(gemel_dtype dtype, long double x) {
  long double low, high;
  range_of(dtype, &low, &high);
  if (x <= low) {
    return dtype == GEMEL_I64 ? INT64_MIN : (int64_t)low;
  }
  if (x >= high) {
    return dtype == GEMEL_I64 ? INT64_MAX : dtype == GEMEL_U64 ? -1 : (int64_t)high;
  }
  return x >= 0x1p63L ? (int64_t)(uint64_t)x : (int64_t)x;
}

/* Stores X in the element AT: rounded to the leaf's dtype, and moved into the leaf's range. */
static void store(const struct drive *v, struct coordinate at, long double x) {
  gemel_dtype dtype = dtype_of(v, at);
  const gemel__leaf *leaf = &v->s->q->leaves->leaves[at.leaf];
  gemel_range range = leaf->range;
  double real;
  int64_t n;
  if (range == GEMEL_RANGE_MODERATE) {
    x = fmaxl(-16, fminl(16, x));
  }
  if (range == GEMEL_RANGE_INDEX) {
    x = fmaxl((long double)leaf->low, fminl((long double)leaf->high - 1, x));
  }
  if ((range == GEMEL_RANGE_NONNEGATIVE && x < 0) ||
      (range == GEMEL_RANGE_ABOVE_MINUS_ONE && x <= -1)) {
    x = 0;
  }
  if ((range == GEMEL_RANGE_POSITIVE && x <= 0) || (range == GEMEL_RANGE_NONZERO && x == 0)) {
    x = 1;
  }
  if (is_float(v, at)) {
    real = (double)x;
    gemel__points_store(dtype, 1, &real, NULL, address(v, at));
  } else {
    n = integer_of(dtype, x);
    gemel__points_store(dtype, 1, NULL, &n, address(v, at));
  }
  gemel__leaf_settle(leaf, 1, address(v, at));
}

static long double load(const struct drive *v, struct coordinate at) {
  gemel_dtype dtype = dtype_of(v, at);
  int64_t n;
  uint64_t bits;
  if (dtype != GEMEL_I64 && dtype != GEMEL_U64) {
    return gemel__decode(dtype, address(v, at));
  }
  memcpy(&n, address(v, at), sizeof n);
  memcpy(&bits, address(v, at), sizeof bits);
  return dtype == GEMEL_U64 ? (long double)bits : (long double)n;
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
  gemel_status status = gemel__rtensors_read(n, v->inputs, &s->o->domain, v->point, &problem);
  gemel__rtensors_clear(2 * s->q->n_outputs, s->results);
  if (status == GEMEL_OK) {
    status = side->evaluate(side, &s->o->domain, v->inputs, s->results, &problem);
  }
  s->o->domain.observer = observer;
  s->o->watch = NULL;
  v->failed |= status == GEMEL_NO_MEMORY;
  return status == GEMEL_OK && !v->failed;
}

/* The driven difference at the current point; NaN if it has no value there. */
static double difference(struct drive *v) {
  return probe(v) && v->sign < v->n_signs ? v->signs[v->sign].value : NAN;
}

static double difference_at(struct drive *v, struct coordinate at, long double x) {
  store(v, at, x);
  return difference(v);
}

/* Judges a copy of the point by both models. */
static void judge(struct drive *v) {
  gemel__models *s = v->s;
  size_t k, n = s->q->leaves->n_leaves;
  if (v->witness || v->failed || v->status != GEMEL_OK) {
    return;
  }
  gemel_tensor **copy = gemel__models_point_new(s, v->error);
  for (k = 0; copy != NULL && k < n; k++) {
    gemel_view view = gemel_tensor_view(v->point[k]);
    copy[k] = gemel_tensor_copy(&view, v->error);
    v->failed |= copy[k] == NULL;
  }
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
    gemel__models_point_free(s, copy);
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

/* A search for a zero. NEGATIVE and POSITIVE are the closest places at which the difference had
 * these signs. */
struct zero_search {
  struct coordinate at;
  long double x; /* the place with the smallest |difference| so far; F is the difference there */
  double f;
  long double negative, positive;
  int has_negative, has_positive;
};

static void see(struct zero_search *z, long double x, double f) {
  if (isnan(f)) {
    return;
  }
  if (f <= 0 && (!z->has_negative || !z->has_positive ||
                 fabsl(x - z->positive) < fabsl(z->negative - z->positive))) {
    z->negative = x;
    z->has_negative = 1;
  }
  if (f >= 0 && (!z->has_positive || !z->has_negative ||
                 fabsl(x - z->negative) < fabsl(z->positive - z->negative))) {
    z->positive = x;
    z->has_positive = 1;
  }
  if (!(fabs(f) > fabs(z->f))) {
    z->x = x;
    z->f = f;
  }
}

static int bracketed(const struct zero_search *z) {
  return z->has_negative && z->has_positive;
}

/* 1 if no number of the dtype lies between the two places of different sign. */
static int closed(const struct drive *v, const struct zero_search *z) {
  long double a = z->negative, b = z->positive, middle = a / 2 + b / 2;
  return is_float(v, z->at) ? middle == a || middle == b : fabsl(a - b) <= 1;
}

/* The next place: the secant through (X, F) and the best place, or the middle of the bracket. */
static long double next_place(const struct drive *v, const struct zero_search *z, long double x,
                              double f, int halve) {
  long double place = z->f == f ? NAN : z->x - z->f * (z->x - x) / (z->f - f);
  long double low = fminl(z->negative, z->positive), high = fmaxl(z->negative, z->positive);
  if (bracketed(z) && (halve || !(place > low && place < high))) {
    place = low / 2 + high / 2;
  }
  return is_float(v, z->at) ? place : roundl(place);
}

/* Finds a place *X where the difference *F is another than now. 0: none found. */
static int find_slope(struct drive *v, struct zero_search *z, long double *x, double *f) {
  long double from = z->x, step = 1;
  double now = z->f;
  if (is_float(v, z->at) && fabsl(from) > 0x1p10) {
    step = fabsl(from) * 0x1p-10;
  }
  for (int k = 0; k < DOUBLINGS && v->budget > 0; k++, step *= 16) {
    *x = k % 2 == 0 ? from + step : from - step;
    *f = difference_at(v, z->at, *x);
    *x = load(v, z->at); /* rounded by the store */
    if (!isnan(*f) && *f != now && *x != from) {
      see(z, *x, *f);
      return 1;
    }
  }
  return 0;
}

/* Drives the difference, which is NOW at the point, to zero by one element. 1: a zero was found, or
 * neighbours between which the sign changes. */
static int find_zero(struct drive *v, struct zero_search *z, double now) {
  long double start = load(v, z->at), x, place;
  double f;
  z->x = start;
  z->f = now;
  see(z, z->x, now);
  if (!find_slope(v, z, &x, &f)) {
    return 0;
  }
  if (z->f == f) { /* the next secant goes through the start */
    x = start;
    f = now;
  }
  for (int k = 0; k < STEPS + (bracketed(z) ? 50 : 0) && v->budget > 0 && z->f != 0; k++) {
    long double before = z->x;
    double was = z->f;
    if (bracketed(z) && closed(v, z)) {
      return 1;
    }
    place = next_place(v, z, x, f, k % 3 == 2);
    if (isnan(place)) {
      return 0;
    }
    store(v, z->at, place);
    place = load(v, z->at);
    if (place == z->x || place == x) {
      place += place < x || place < z->x ? 1 : -1;
    }
    f = difference_at(v, z->at, place);
    x = load(v, z->at);
    if (isnan(f)) {
      return 0;
    }
    see(z, x, f);
    if (z->x == x && z->f == f) { /* this place is the best: the next secant goes through the one
                                   * before */
      x = before;
      f = was;
    }
  }
  return z->f == 0 || (bracketed(z) && closed(v, z));
}

/* Judges the zero and a place on each side of it, or, without a zero, both ends of the bracket.
 * Leaves the point at the best place. */
static void judge_zero(struct drive *v, const struct zero_search *z) {
  long double x = z->x, below, above;
  if (z->f != 0) {
    store(v, z->at, z->negative);
    judge(v);
    store(v, z->at, z->positive);
    judge(v);
    store(v, z->at, x);
    return;
  }
  below = is_float(v, z->at) ? x - fmaxl(fabsl(x), 1) * 0x1p-7 : x - 1;
  above = is_float(v, z->at) ? x + fmaxl(fabsl(x), 1) * 0x1p-7 : x + 1;
  store(v, z->at, below);
  judge(v);
  store(v, z->at, above);
  judge(v);
  store(v, z->at, x);
  judge(v);
}

/* ---- Passes ---- */

/* Drives the sign numbered SIGN to a zero, and leaves the point there. If one element alone leads
 * to no zero, another is moved from the best place: 256 x + y == c needs both. */
static void drive_sign(struct drive *v, size_t sign, long double *values) {
  struct zero_search z, before;
  int k, found = 0;
  double now;
  v->sign = sign;
  memset(&before, 0, sizeof before);
  for (k = 0; k < NUMBERS && !found; k++) {
    memset(&z, 0, sizeof z);
    save(v, values);
    now = difference(v);
    if (isnan(now) || isinf(now) || now == 0 ||
        !find_number(v, now, values, k > 0 ? &before.at : NULL, &z.at)) {
      break;
    }
    found = find_zero(v, &z, now) && z.f == 0;
    store(v, z.at, z.x);
    before = z;
  }
  if (k > 0 && (found || (bracketed(&before) && closed(v, &before)))) {
    judge_zero(v, &before);
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
  struct zero_search z = {.at = at};
  double now = difference(v);
  if (now != 0 && isfinite(now)) {
    find_zero(v, &z, now);
    now = difference_at(v, at, roundl(z.x));
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
  gemel_status status = GEMEL_OK;
  for (size_t pass = 0;
       pass < PASSES + 2 && v->budget > 0 && !v->witness && !v->failed && status == GEMEL_OK;
       pass++) {
    v->point = gemel__models_point_new(s, v->error);
    status = v->point == NULL
                 ? GEMEL_NO_MEMORY
                 : gemel__instance_points(s->q->leaves, GEMEL__FILL_POINTS, s->q->constants,
                                          s->q->n_constants, &s->random, v->point, v->error);
    if (status == GEMEL_OK) {
      run_pass(v, pass, values);
    }
    gemel__models_point_free(s, v->point);
  }
  if (v->failed) {
    return gemel__no_memory(v->error, "a search");
  }
  return status == GEMEL_OK ? v->status : status;
}

gemel_status gemel__models_drive(gemel__models *s, gemel_error *error) {
  struct drive v;
  size_t n = s->q->leaves->n_leaves, signs = s->tapes[0].count + s->tapes[1].count, room;
  gemel_status status;
  long double *values;
  memset(&v, 0, sizeof v);
  v.observer.node = watch_node;
  v.s = s;
  v.error = error;
  count_numbers(&v, NULL);
  if (s->q->drives == 0 || signs == 0 || v.n_numbers == 0) {
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
    gemel__rtensors_clear(n, v.inputs);
  }
  gemel__rtensors_clear(2 * s->q->n_outputs, s->results);
  gemel__free(v.signs, v.capacity * sizeof *v.signs);
  gemel__free(v.numbers, room * sizeof *v.numbers);
  gemel__free(v.moved, room * sizeof *v.moved);
  gemel__free(v.inputs, n * sizeof *v.inputs);
  gemel__free(values, room * sizeof *values);
  return status;
}
