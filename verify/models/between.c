/* SPDX-License-Identifier: MIT
 *
 * Bisection of the segment between two points, to find narrow windows in which functions differ.
 * gemel__points_bisect (points-bisect.c) chooses the points; each is judged by both models.
 */
#include <math.h>
#include <string.h>
#include "instances/assumed.h"
#include "core/alloc.h"
#include "core/dtype.h"
#include "core/error.h"
#include "models/models.h"
#include "instances/instance.h"

/* Most evaluations on one segment. */
enum { BISECTION = 80 };

struct between_walk {
  gemel__models *s;
  gemel_tensor *const *from; /* leaves that don't move keep their values here */
  gemel_status status;
  gemel_error *error;
};

static int moves(const gemel__leaf *leaf) {
  return gemel__is_float(leaf->dtype) && leaf->range != GEMEL_RANGE_INDEX;
}

static void flatten(const gemel__instance *leaves, gemel_tensor *const *point, double *values) {
  for (size_t k = 0; k < leaves->n_leaves; k++) {
    for (size_t i = 0; moves(&leaves->leaves[k]) && i < leaves->leaves[k].count; i++) {
      *values++ = gemel__decode(leaves->leaves[k].dtype, gemel__tensor_element(point[k], i));
    }
  }
}

/* Makes a point with VALUES in its float leaves. */
static gemel_tensor **unflatten(const struct between_walk *w, const double *values) {
  const gemel__instance *leaves = w->s->q->leaves;
  gemel_tensor **point = gemel__models_point_new(w->s, w->error);
  for (size_t k = 0; k < leaves->n_leaves && point != NULL; k++) {
    const gemel__leaf *leaf = &leaves->leaves[k];
    if (!moves(leaf)) {
      point[k] = gemel_tensor_ref(w->from[k]);
      continue;
    }
    point[k] = gemel_tensor_new(leaf->dtype, leaf->rank, leaf->shape, w->error);
    if (point[k] == NULL) {
      gemel__models_point_free(w->s, point);
      return NULL;
    }
    gemel__points_store(leaf->dtype, leaf->count, values, NULL, gemel_tensor_data(point[k]));
    gemel__tensor_settle(leaf, point[k]);
    values += leaf->count;
  }
  return point;
}

/* Appends both sides' decisions to TAPE. */
static int join_tapes(const gemel__models *s, gemel__tape *tape) {
  for (size_t k = 0; k < 2; k++) {
    for (size_t i = 0; i < s->tapes[k].count; i++) {
      gemel__tape_push(tape, s->tapes[k].entries[i]);
    }
  }
  return tape->failed ? -1 : 0;
}

static int walk_on(void *user, size_t n, const double *values, gemel__tape *tape) {
  struct between_walk *w = user;
  gemel_tensor **point = unflatten(w, values);
  int witness = 0;
  (void)n;
  if (point == NULL) {
    w->status = GEMEL_NO_MEMORY;
    return 1;
  }
  w->status = gemel__models_judge(w->s, point, &witness, w->error);
  if (!witness) {
    gemel__models_point_free(w->s, point);
  }
  return w->status != GEMEL_OK || witness ? 1 : join_tapes(w->s, tape);
}

gemel_status gemel__models_bisect(gemel__models *s, gemel_tensor *const *a, gemel_tensor *const *b,
                                  int one, gemel_error *error) {
  const gemel__instance *leaves = s->q->leaves;
  struct between_walk w = {s, a, GEMEL_OK, error};
  size_t n = 0, k, at = 0;
  double *room, *from, *to;
  for (k = 0; k < leaves->n_leaves; k++) {
    n += moves(&leaves->leaves[k]) ? leaves->leaves[k].count : 0;
  }
  if (n == 0) {
    return GEMEL_OK;
  }
  room = gemel__alloc_array(3 * n, sizeof *room);
  if (room == NULL) {
    return gemel__no_memory(error, "a segment");
  }
  from = room;
  to = room + n;
  flatten(leaves, a, from);
  flatten(leaves, b, one ? room + 2 * n : to);
  if (one) {
    memcpy(to, from, n * sizeof *to);
  }
  for (k = 0; k < leaves->n_leaves && one; k++) {
    if (moves(&leaves->leaves[k]) && leaves->leaves[k].count > 0) {
      size_t i = at + gemel__random_below(&s->random, leaves->leaves[k].count);
      to[i] = room[2 * n + i];
      at += leaves->leaves[k].count;
    }
  }
  if (gemel__points_bisect(n, from, to, walk_on, &w, BISECTION, NULL) < 0) {
    w.status = gemel__no_memory(error, "a bisection");
  }
  gemel__free(room, 3 * n * sizeof *room);
  return w.status;
}
