/* SPDX-License-Identifier: MIT
 *
 * Finds thresholds of an operation: where its result changes its kind (NaN, zero, subnormal, 1,
 * infinite, saturated). They are found by bisection on the reference, in domain S.
 *
 * A bracket is two numbers at which the result is of different kinds. One operand: the ends of all
 * binades are evaluated, and neighbours of different kinds make a bracket. Two operands: one is
 * held at a random number, the other moves between the smallest and the largest number of each
 * sign; the threshold nearest to either end is sought. All brackets are halved together, in one
 * evaluation of the reference on a tensor.
 *
 * What is added to the survey: the numbers next to each threshold, random ones at distances of
 * powers of two, and of two operands also numbers between the two thresholds.
 */
#include <string.h>
#include "core/alloc.h"
#include "core/error.h"
#include "domains/special.h"
#include "sample/ordinal.h"
#include "operations/survey.h"

enum { BATCH = 256, LITTLE = 64, LINES = 64, BETWEEN = 12, FAR = 8 };

/* Two ordinals of the moving operand. Between them the kind changes. */
struct bracket {
  int64_t low, high;
  int mark;      /* the kind at LOW; if FROM_HIGH, the kind at HIGH */
  int from_high; /* 1: the change nearest to HIGH is sought; 0: that nearest to LOW */
  uint64_t held; /* the other operand */
};

struct prober {
  gemel__survey *s;
  int moving; /* which operand */
  gemel__special *domain;
  size_t batch;             /* how many elements are evaluated together, at most BATCH */
  gemel__instance instance; /* of so many */
  gemel_tensor **values;
  gemel__rtensor result;
  struct bracket *brackets;
  size_t count, capacity;
};

static void prober_clear(struct prober *p) {
  gemel__values_free(&p->instance, p->values);
  gemel__instance_clear(&p->instance);
  gemel__special_free(p->domain);
  gemel__free(p->brackets, p->capacity * sizeof *p->brackets);
}

static gemel_status prober_init(struct prober *p, gemel__survey *s, gemel_error *error) {
  memset(p, 0, sizeof *p);
  p->s = s;
  p->domain = gemel__special_new();
  if (p->domain == NULL) {
    return gemel__no_memory(error, "a domain");
  }
  p->domain->unrounded = 1;
  p->batch = s->n_inputs == 1 ? LITTLE : BATCH;
  return gemel__survey_instance(s, p->batch, &p->instance, &p->values, error);
}

static void put(struct prober *p, size_t k, int64_t moving, uint64_t held) {
  for (int j = 0; j < p->s->n_inputs; j++) {
    gemel_dtype dtype = p->s->dtypes[j];
    uint64_t bits = j == p->moving ? gemel__ordinal_bits(dtype, moving) : held;
    gemel__ordinal_put(dtype, bits,
                       (char *)gemel_tensor_data(p->values[j]) + k * gemel_dtype_size(dtype));
  }
}

/* MARKS[k] = the kind of the result at element K, for the first N elements. */
static gemel_status evaluate(struct prober *p, size_t n, int *marks, gemel_error *error) {
  gemel__rtensor *out = &p->result;
  memset(out, 0, sizeof *out);
  gemel_status status =
      gemel__instance_reference(&p->instance, &p->domain->domain, p->values, out, error);
  for (size_t k = 0; k < n && status == GEMEL_OK; k++) {
    marks[k] = gemel__special_landmark(&p->domain->domain, gemel__rtensor_at(out, k), out->dtype);
  }
  gemel__rtensor_clear(out);
  return status;
}

static gemel_status add_bracket(struct prober *p, const struct bracket *b, gemel_error *error) {
  if (gemel__grow(&p->brackets, &p->capacity, p->count + 1, sizeof *p->brackets) != 0) {
    return gemel__no_memory(error, "thresholds");
  }
  p->brackets[p->count++] = *b;
  return GEMEL_OK;
}

/* Halves brackets FIRST .. FIRST + N, until nothing lies between their ends. */
static gemel_status bisect(struct prober *p, size_t first, size_t n, gemel_error *error) {
  int marks[BATCH];
  gemel_status status = GEMEL_OK;
  int open = 1;
  while (open && status == GEMEL_OK) {
    size_t k;
    open = 0;
    for (k = 0; k < n; k++) {
      const struct bracket *b = &p->brackets[first + k];
      put(p, k, b->low + (b->high - b->low) / 2, b->held);
    }
    status = evaluate(p, n, marks, error);
    for (k = 0; k < n && status == GEMEL_OK; k++) {
      struct bracket *b = &p->brackets[first + k];
      int64_t middle = b->low + (b->high - b->low) / 2;
      int same = marks[k] == b->mark;
      if (b->high - b->low > 1) {
        *(same != b->from_high ? &b->low : &b->high) = middle;
        open |= b->high - b->low > 1;
      }
    }
  }
  return status;
}

/* ---- What is added ---- */

static gemel_status add_at(struct prober *p, int64_t at, uint64_t held, gemel_error *error) {
  uint64_t bits[GEMEL__SURVEY_OPERANDS];
  bits[1 - p->moving] = held;
  bits[p->moving] = gemel__ordinal_bits(p->s->dtypes[p->moving], at);
  return gemel__survey_add(p->s, bits, error);
}

static gemel_status add_around(struct prober *p, const struct bracket *b, gemel_error *error) {
  gemel_dtype dtype = p->s->dtypes[p->moving];
  int digits = gemel__ordinal_fraction(dtype) + 2, k;
  gemel_status status = GEMEL_OK;
  for (int64_t at = b->low - 2; at <= b->high + 2 && status == GEMEL_OK; at++) {
    status = add_at(p, at, b->held, error);
  }
  for (k = 0; k < 2 * FAR && status == GEMEL_OK; k++) {
    int64_t by = (int64_t)1 << gemel__random_below(p->s->random, (uint64_t)digits), at;
    by += (int64_t)gemel__random_below(p->s->random, (uint64_t)by);
    if (!(k % 2 ? __builtin_add_overflow(b->high, by, &at)
                : __builtin_sub_overflow(b->low, by, &at))) {
      status = add_at(p, at, b->held, error);
    }
  }
  return status;
}

static gemel_status settle(struct prober *p, gemel_error *error) {
  gemel_status status = GEMEL_OK;
  for (size_t k = 0; k < p->count && status == GEMEL_OK; k += p->batch) {
    status = bisect(p, k, p->count - k < p->batch ? p->count - k : p->batch, error);
  }
  for (size_t k = 0; k < p->count && status == GEMEL_OK; k++) {
    status = add_around(p, &p->brackets[k], error);
  }
  return status;
}

/* ---- One operand ---- */

/* Evaluates the ends of all binades of one sign and the largest finite number, and makes a bracket
 * of neighbours of different kinds. */
static gemel_status bracket_binades(struct prober *p, int sign, gemel_error *error) {
  gemel_dtype dtype = p->s->dtypes[0];
  int n = gemel__ordinal_binades(dtype), k = 0, before = 0;
  int64_t last = 0, ends[BATCH];
  int marks[BATCH];
  gemel_status status = GEMEL_OK;
  while (k <= n && status == GEMEL_OK) {
    int m, i;
    for (m = 0; m < (int)p->batch && k <= n; m++, k++) {
      ends[m] = gemel__ordinal_infinity(dtype) - 1;
      if (k < n) {
        gemel__ordinal_binade(dtype, k, &ends[m]);
      }
      put(p, (size_t)m, sign * ends[m], 0);
    }
    status = evaluate(p, (size_t)m, marks, error);
    for (i = 0; i < m && status == GEMEL_OK; i++) {
      if (last != 0 && marks[i] != before) {
        struct bracket b = {last, ends[i], before, 0, 0};
        if (sign < 0) {
          struct bracket mirrored = {-ends[i], -last, before, 1, 0};
          b = mirrored;
        }
        status = add_bracket(p, &b, error);
      }
      last = ends[i];
      before = marks[i];
    }
  }
  return status;
}

/* ---- Two operands ---- */

/* For each number held and each sign of the moving operand: if the kinds at both ends differ, two
 * brackets, for the threshold nearest to either end. */
static gemel_status bracket_lines(struct prober *p, gemel_error *error) {
  gemel_dtype dtype = p->s->dtypes[p->moving];
  int64_t most = gemel__ordinal_infinity(dtype) - 1;
  size_t n = gemel__survey_share(p->s, LINES), k;
  uint64_t held[LINES];
  int marks[BATCH], sign;
  for (k = 0; k < n; k++) {
    held[k] = gemel__survey_number(p->s, 1 - p->moving);
    put(p, 4 * k, 1, held[k]);
    put(p, 4 * k + 1, most, held[k]);
    put(p, 4 * k + 2, -most, held[k]);
    put(p, 4 * k + 3, -1, held[k]);
  }
  gemel_status status = evaluate(p, 4 * n, marks, error);
  for (k = 0; k < 2 * n && status == GEMEL_OK; k++) {
    sign = k % 2 ? -1 : 1;
    if (marks[2 * k] != marks[2 * k + 1]) {
      struct bracket b = {sign > 0 ? 1 : -most, sign > 0 ? most : -1, marks[2 * k], 0, held[k / 2]};
      status = add_bracket(p, &b, error);
      b.mark = marks[2 * k + 1];
      b.from_high = 1;
      status = status == GEMEL_OK ? add_bracket(p, &b, error) : status;
    }
  }
  return status;
}

/* Adds numbers between the two thresholds of each line; their brackets stand next to each other. */
static gemel_status add_between(struct prober *p, gemel_error *error) {
  gemel_status status = GEMEL_OK;
  for (size_t k = 0; k + 1 < p->count; k += 2) {
    const struct bracket *from = &p->brackets[k], *to = &p->brackets[k + 1];
    for (int j = 0; j < BETWEEN && from->low < to->high && status == GEMEL_OK; j++) {
      status =
          add_at(p, gemel__random_between(p->s->random, from->low, to->high), from->held, error);
    }
  }
  return status;
}

static gemel_status of_one(struct prober *p, gemel_error *error) {
  gemel_status status = bracket_binades(p, 1, error);
  if (status == GEMEL_OK) {
    status = bracket_binades(p, -1, error);
  }
  return status == GEMEL_OK ? settle(p, error) : status;
}

static gemel_status of_two(struct prober *p, gemel_error *error) {
  gemel_status status = GEMEL_OK;
  for (p->moving = 0; p->moving < 2 && status == GEMEL_OK; p->moving++) {
    p->count = 0;
    status = bracket_lines(p, error);
    if (status == GEMEL_OK) {
      status = settle(p, error);
    }
    if (status == GEMEL_OK) {
      status = add_between(p, error);
    }
  }
  return status;
}

gemel_status gemel__survey_thresholds(gemel__survey *s, gemel_error *error) {
  struct prober p;
  gemel_status status = prober_init(&p, s, error);
  if (status == GEMEL_OK) {
    status = s->n_inputs == 1 ? of_one(&p, error) : of_two(&p, error);
  }
  prober_clear(&p);
  return status;
}
