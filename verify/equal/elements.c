/* SPDX-License-Identifier: MIT
 *
 * Elements of large offers, see elements.h. The expression is laid out as a tree, each term before
 * its operands. For one element the places go down the tree, from the result to the constants, and
 * the numbers come up. Numbers are doubles with a radius, which f32's roundings widen; a double's
 * own rounding, 2^29 times smaller, is counted as well.
 */
#include "equal/elements.h"

#include <math.h>
#include <string.h>
#include "core/alloc.h"
#include "core/attrs.h"
#include "core/error.h"
#include "core/value.h"
#include "tiers/tiers.h"

enum { MOST_TERMS = 48 };

enum element_kind {
  TERM_CONSTANT,
  TERM_SMALL,
  TERM_MOVE,
  TERM_ADD,
  TERM_SUB,
  TERM_NEG,
  TERM_MUL,
  TERM_DIV
};

struct gemel__element_term {
  enum element_kind kind;
  gemel_value value;
  uint32_t user;                   /* the term whose operand it is */
  uint32_t operands[2];            /* of an operation or a move */
  int same;                        /* its elements lie as its user's do */
  int rank;                        /* of the user */
  int64_t shape[GEMEL_MAX_RANK];   /* of the user */
  int64_t strides[GEMEL_MAX_RANK]; /* from an index of the user to a place in this one */
  const float *numbers;            /* of a constant */
  int64_t small;
};

static int shape_of(gemel_value x, int64_t *shape) {
  const struct gemel__type *type = gemel__type_at(x.graph->context, gemel_value_type(x));
  for (int k = 0; k < type->rank; k++) {
    shape[k] = 0;
    gemel_dim_is_constant(x.graph->context, type->dims[k], &shape[k]);
  }
  return type->rank;
}

int64_t gemel__value_elements(gemel_value value) {
  int64_t shape[GEMEL_MAX_RANK], n = 1;
  int rank = shape_of(value, shape);
  for (int k = 0; k < rank; k++) {
    n *= shape[k];
  }
  return n;
}

/* ---- The tree ---- */

/* The kind of the operation that makes VALUE; −1: none of these. */
static int kind_of(gemel_value value) {
  uint32_t op = gemel__node_at(value.graph, value.node)->op;
  switch (op) {
  case GEMEL__OP_constant:
    return TERM_CONSTANT;
  case GEMEL__OP_add:
    return TERM_ADD;
  case GEMEL__OP_sub:
    return TERM_SUB;
  case GEMEL__OP_neg:
    return TERM_NEG;
  case GEMEL__OP_mul:
    return TERM_MUL;
  case GEMEL__OP_div:
    return TERM_DIV;
  case GEMEL__OP_reshape:
  case GEMEL__OP_cast:
  case GEMEL__OP_dimshuffle:
  case GEMEL__OP_broadcast_to:
    return TERM_MOVE;
  default:
    return -1;
  }
}

/* Fills in where an element of T's user, whose value is USER, lies in T. */
static void place(struct gemel__element_term *t, gemel_value user) {
  int64_t own[GEMEL_MAX_RANK], step[GEMEL_MAX_RANK], size = 1;
  int rank = shape_of(t->value, own);
  uint32_t op = gemel__node_at(user.graph, user.node)->op;
  t->rank = shape_of(user, t->shape);
  t->same = op == GEMEL__OP_reshape || (op != GEMEL__OP_dimshuffle && rank == t->rank &&
                                        memcmp(own, t->shape, (size_t)rank * sizeof *own) == 0);
  for (int k = rank; k-- > 0;) {
    step[k] = own[k] == 1 ? 0 : size;
    size *= own[k];
  }
  const gemel_attr *attrs =
      op == GEMEL__OP_dimshuffle
          ? gemel__attrs_at(user.graph->context, gemel__node_at(user.graph, user.node)->attrs)
                ->values
          : NULL;
  for (int k = 0; k < t->rank; k++) {
    int64_t from = attrs != NULL ? attrs[0].u.ints[k] : k - (t->rank - rank);
    t->strides[k] = from >= 0 ? step[from] : 0;
  }
}

/* Fills in T, and adds its operands to E. */
static gemel_status expand(gemel__elements *e, uint32_t k,
                           int64_t (*small)(void *user, gemel_value value), void *user) {
  struct gemel__element_term *t = &e->terms[k];
  const gemel_graph *graph = t->value.graph;
  uint32_t count;
  const gemel__ref *inputs = gemel__node_inputs(graph, t->value.node, &count);
  int kind = kind_of(t->value);
  if (gemel__value_dtype(t->value) != GEMEL_F32) {
    return GEMEL_DECLINED;
  }
  if (kind == TERM_CONSTANT) {
    t->kind = TERM_CONSTANT;
    t->numbers = gemel__tensor_plain(
        gemel__attrs_at(graph->context, gemel__node_at(graph, t->value.node)->attrs)
            ->values[0]
            .u.tensor);
    return t->numbers != NULL ? GEMEL_OK : GEMEL_DECLINED;
  }
  if (gemel__value_elements(t->value) <= GEMEL__LARGE_OFFER) {
    t->kind = TERM_SMALL;
    t->small = small(user, t->value);
    return t->small < 0 ? GEMEL_DECLINED : GEMEL_OK;
  }
  if (kind < 0 || e->n + count > MOST_TERMS) {
    return GEMEL_DECLINED;
  }
  t->kind = (enum element_kind)kind;
  for (uint32_t j = 0; j < count && j < 2; j++) {
    struct gemel__element_term *own = &e->terms[e->n];
    own->value = gemel__value(graph, inputs[j]);
    own->user = k;
    place(own, t->value);
    t->operands[j] = (uint32_t)e->n++;
  }
  t->operands[1] = count > 1 ? t->operands[1] : t->operands[0];
  return GEMEL_OK;
}

gemel_status gemel__elements_make(gemel__elements *e, gemel_value value,
                                  int64_t (*small)(void *user, gemel_value value), void *user,
                                  gemel_error *error) {
  gemel_status status = GEMEL_OK;
  e->terms = gemel__alloc_zeroed(MOST_TERMS * sizeof *e->terms);
  if (e->terms == NULL) {
    return gemel__no_memory(error, "the elements of a constant");
  }
  e->terms[0].value = value;
  e->n = 1;
  for (uint32_t k = 0; k < e->n && status == GEMEL_OK; k++) {
    status = expand(e, k, small, user);
  }
  if (status != GEMEL_OK) {
    gemel__elements_clear(e);
  }
  return status;
}

void gemel__elements_clear(gemel__elements *e) {
  gemel__free(e->terms, MOST_TERMS * sizeof *e->terms);
  e->terms = NULL;
  e->n = 0;
}

/* ---- Numbers ---- */

struct ball {
  double value, radius;
};

/* B rounded to f32: half a unit in the last place of the largest number of the ball, and half the
 * smallest subnormal; nothing if it is known and is an f32. */
static struct ball rounded(struct ball b) {
  double most = fabs(b.value) + b.radius;
  int e;
  if (b.radius == 0 && (double)(float)b.value == b.value) {
    return b;
  }
  if (!(most <= 3.4e38)) {
    return (struct ball){b.value, INFINITY};
  }
  frexp(most, &e);
  b.radius += ldexp(1, e - 25) + ldexp(1, -150) + most * ldexp(1, -52);
  return b;
}

static struct ball combine(enum element_kind kind, struct ball a, struct ball b) {
  switch (kind) {
  case TERM_ADD:
    return rounded((struct ball){a.value + b.value, a.radius + b.radius});
  case TERM_SUB:
    return rounded((struct ball){a.value - b.value, a.radius + b.radius});
  case TERM_MUL:
    return rounded(
        (struct ball){a.value * b.value,
                      fabs(a.value) * b.radius + fabs(b.value) * a.radius + a.radius * b.radius});
  case TERM_DIV: {
    double quotient = a.value / b.value, least = fabs(b.value) - b.radius;
    double radius = least > 0 ? (a.radius + fabs(quotient) * b.radius) / least : INFINITY;
    return rounded((struct ball){quotient, radius});
  }
  case TERM_NEG:
    return (struct ball){-a.value, a.radius};
  default:
    return a;
  }
}

static size_t place_in(const struct gemel__element_term *t, size_t i) {
  size_t at = 0;
  if (t->same) {
    return i;
  }
  for (int k = t->rank; k-- > 0;) {
    at += i % (size_t)t->shape[k] * (size_t)t->strides[k];
    i /= (size_t)t->shape[k];
  }
  return at;
}

void gemel__elements_at(const gemel__elements *e, size_t i,
                        double (*known)(void *user, int64_t small, size_t i, double *radius),
                        void *user, double *value, double *radius) {
  size_t places[MOST_TERMS];
  struct ball balls[MOST_TERMS];
  places[0] = i;
  for (size_t k = 1; k < e->n; k++) {
    places[k] = place_in(&e->terms[k], places[e->terms[k].user]);
  }
  for (size_t k = e->n; k-- > 0;) {
    const struct gemel__element_term *t = &e->terms[k];
    balls[k].radius = 0;
    if (t->kind == TERM_CONSTANT) {
      balls[k].value = t->numbers[places[k]];
    } else if (t->kind == TERM_SMALL) {
      balls[k].value = known(user, t->small, places[k], &balls[k].radius);
    } else {
      balls[k] = combine(t->kind, balls[t->operands[0]], balls[t->operands[1]]);
    }
  }
  *value = balls[0].value;
  *radius = balls[0].radius;
}
