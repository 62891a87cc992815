/* SPDX-License-Identifier: MIT
 *
 * Bisection between points whose decisions differ in two or more places: see points.h. A stack
 * holds the segments still to be halved. The half whose ends differ more is pushed last, so it is
 * taken first. Segments share the points at their ends, which are reference-counted.
 */
#include "sample/points.h"

#include <string.h>
#include "core/alloc.h"

size_t gemel__tape_distance(const gemel__tape *a, const gemel__tape *b) {
  size_t common = a->count < b->count ? a->count : b->count, distance = 0;
  for (size_t i = 0; i < common; i++)
    distance += a->entries[i] != b->entries[i];
  return distance + (a->count == b->count ? 0 : 2);
}

/* A point: its values and the tape of decisions there; freed with its last segment. */
typedef struct bisect_place {
  size_t references;
  double *values;
  gemel__tape tape;
} bisect_place;

typedef struct bisect_segment {
  bisect_place *a, *b;
} bisect_segment;

typedef struct bisect_search {
  size_t n;
  gemel__points_evaluate evaluate;
  void *user;
  size_t budget, evaluations;
  bisect_segment *stack;
  size_t count, capacity;
} bisect_search;

static void release(bisect_search *s, bisect_place *p) {
  if (!p || --p->references)
    return;
  gemel__tape_clear(&p->tape);
  gemel__free(p->values, s->n * sizeof *p->values);
  gemel__free(p, sizeof *p);
}

static bisect_place *new_place(const bisect_search *s) {
  bisect_place *p = gemel__alloc_zeroed(sizeof *p);
  if (!p)
    return NULL;
  p->references = 1;
  p->values = gemel__alloc(s->n * sizeof *p->values);
  if (!p->values) {
    gemel__free(p, sizeof *p);
    return NULL;
  }
  return p;
}

/* Evaluates at P. 0: go on, 1: stop, −1: out of memory, 2: the point is of no use. */
static int evaluate(bisect_search *s, bisect_place *p) {
  s->evaluations++;
  int answer = s->evaluate(s->user, s->n, p->values, &p->tape);
  if (p->tape.failed)
    return -1;
  return answer < 0 ? 2 : answer;
}

static int push(bisect_search *s, bisect_place *a, bisect_place *b) {
  if (gemel__grow(&s->stack, &s->capacity, s->count + 1, sizeof *s->stack))
    return -1;
  a->references++;
  b->references++;
  s->stack[s->count++] = (bisect_segment){a, b};
  return 0;
}

/* Sets M to the middle of T. 0: no doubles lie between its ends. */
static int halve(const bisect_search *s, const bisect_segment *t, bisect_place *m) {
  int inside = 0;
  for (size_t i = 0; i < s->n; i++) {
    double a = t->a->values[i], b = t->b->values[i];
    m->values[i] = a / 2 + b / 2;
    if (m->values[i] != a && m->values[i] != b)
      inside = 1;
    else
      m->values[i] = a;
  }
  return inside;
}

/* Evaluates at the middle of T and pushes the halves whose ends differ in two or more places. */
static int refine(bisect_search *s, const bisect_segment *t) {
  bisect_place *m = new_place(s);
  if (!m)
    return -1;
  int answer = 0;
  if (halve(s, t, m)) {
    answer = evaluate(s, m);
    if (answer == 0) {
      size_t first = gemel__tape_distance(&t->a->tape, &m->tape);
      size_t second = gemel__tape_distance(&m->tape, &t->b->tape);
      if (second > first) {
        answer = first >= 2 ? push(s, t->a, m) : 0;
        answer = answer ? answer : push(s, m, t->b);
      } else {
        answer = second >= 2 ? push(s, m, t->b) : 0;
        answer = answer || first < 2 ? answer : push(s, t->a, m);
      }
    }
  }
  release(s, m);
  return answer == 2 ? 0 : answer;
}

static int run(bisect_search *s, bisect_place *a, bisect_place *b) {
  int answer = evaluate(s, a);
  if (answer == 0)
    answer = evaluate(s, b);
  if (answer == 0 && gemel__tape_distance(&a->tape, &b->tape) >= 2)
    answer = push(s, a, b);
  while (answer == 0 && s->count && s->evaluations < s->budget) {
    bisect_segment t = s->stack[--s->count];
    answer = refine(s, &t);
    release(s, t.a);
    release(s, t.b);
  }
  return answer == 2 ? 0 : answer;
}

int gemel__points_bisect(size_t n, const double *a, const double *b,
                         gemel__points_evaluate evaluate_at, void *user, size_t budget,
                         size_t *evaluations) {
  bisect_search s = {.n = n, .evaluate = evaluate_at, .user = user, .budget = budget};
  bisect_place *pa = new_place(&s), *pb = new_place(&s);
  int answer = -1;
  if (pa && pb) {
    memcpy(pa->values, a, n * sizeof *a);
    memcpy(pb->values, b, n * sizeof *b);
    answer = run(&s, pa, pb);
  }
  while (s.count) {
    bisect_segment t = s.stack[--s.count];
    release(&s, t.a);
    release(&s, t.b);
  }
  release(&s, pa);
  release(&s, pb);
  gemel__free(s.stack, s.capacity * sizeof *s.stack);
  if (evaluations)
    *evaluations = s.evaluations;
  return answer;
}
