/* SPDX-License-Identifier: MIT
 *
 * See aims.h. Each node has a list of numbers that its elements should be. Lists begin at the
 * operands of operations that have a constant beside them (that number and its neighbours), and go
 * from a result to its operands by inverting the operation, node by node from the last to the
 * first. Nothing here need be exact or complete: a number more is a sample more.
 */
#include "sample/aims.h"

#include <math.h>
#include <string.h>
#include "core/alloc.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/graph.h"
#include "rules/term.h"
#include "sample/points.h"

enum { MOST_NODES = 400, LIST = 32, CONSTANTS = 4, MOST_WRAPS = 8 };

struct aim_list {
  size_t count;
  gemel__aim at[LIST];
};

/* A number that some constant is. */
struct aim_number {
  int is_float;
  double real;
  int64_t whole;
};

struct aim_search {
  const gemel_graph *graph;
  struct aim_list *lists;
};

/* ---- Numbers of a dtype ---- */

static int is_float(gemel_dtype dtype) {
  return gemel_dtype_kind(dtype) == GEMEL_KIND_FLOAT;
}

static int bits_of(gemel_dtype dtype) {
  return 8 * (int)gemel_dtype_size(dtype);
}

/* 1 if an integer DTYPE has X, as int64_t bits. */
static int holds(gemel_dtype dtype, int64_t x) {
  int bits = bits_of(dtype);
  if (gemel_dtype_kind(dtype) == GEMEL_KIND_BOOL) {
    return 0;
  }
  if (bits == 64) {
    return 1;
  }
  return gemel_dtype_kind(dtype) == GEMEL_KIND_SIGNED
             ? x >= -((int64_t)1 << (bits - 1)) && x < (int64_t)1 << (bits - 1)
             : x >= 0 && x < (int64_t)1 << bits;
}

/* X rounded to a float DTYPE. */
static double rounded(gemel_dtype dtype, double x) {
  unsigned char bytes[8] = {0};
  gemel__points_store(dtype, 1, &x, NULL, bytes);
  return gemel__dtype_load(dtype, bytes);
}

/* The next number of a float DTYPE above X, or below it. */
static double neighbour(gemel_dtype dtype, double x, int up) {
  uint16_t half;
  x = rounded(dtype, x);
  if (dtype == GEMEL_F64) {
    return nextafter(x, up ? INFINITY : -INFINITY);
  }
  if (dtype == GEMEL_F32) {
    return nextafterf((float)x, up ? INFINITY : -INFINITY);
  }
  if (x == 0) {
    return (up ? 1 : -1) * (dtype == GEMEL_F16 ? 0x1p-24 : 0x1p-133);
  }
  gemel__points_store(dtype, 1, &x, NULL, &half);
  half = (uint16_t)(half + ((x > 0) == up ? 1 : -1));
  return gemel__dtype_load(dtype, &half);
}

/* ---- Lists ---- */

static void add_real(struct aim_list *list, gemel_dtype dtype, double x) {
  double asked = x;
  size_t k;
  x = rounded(dtype, x);
  for (k = 0; k < list->count && list->at[k].real != x; k++) {
  }
  if (isfinite(asked) && fabs(asked) <= 2 * fabs(x) && k == list->count && k < LIST) {
    list->at[list->count++].real = x;
  }
}

static void add_whole(struct aim_list *list, gemel_dtype dtype, int64_t x) {
  size_t k;
  for (k = 0; k < list->count && list->at[k].whole != x; k++) {
  }
  if (holds(dtype, x) && k == list->count && k < LIST) {
    list->at[list->count++].whole = x;
  }
}

/* X as numbers of DTYPE: an integer dtype gets those on both sides of it. */
static void add(struct aim_list *list, gemel_dtype dtype, const struct aim_number *x) {
  if (is_float(dtype)) {
    add_real(list, dtype, x->is_float ? x->real : (double)x->whole);
  } else if (!x->is_float) {
    add_whole(list, dtype, x->whole);
  } else if (fabs(x->real) < 0x1p62) {
    add_whole(list, dtype, (int64_t)floor(x->real));
    add_whole(list, dtype, (int64_t)ceil(x->real));
  }
}

static void add_double(struct aim_list *list, gemel_dtype dtype, double x) {
  struct aim_number n = {1, x, 0};
  add(list, dtype, &n);
}

/* X and what stands beside it. */
static void add_around(struct aim_list *list, gemel_dtype dtype, const struct aim_number *x) {
  add(list, dtype, x);
  if (is_float(dtype)) {
    double c = x->is_float ? x->real : (double)x->whole;
    if (!isfinite(c)) {
      return;
    }
    add_real(list, dtype, neighbour(dtype, c, 0));
    add_real(list, dtype, neighbour(dtype, c, 1));
    add_real(list, dtype, c + 1);
    add_real(list, dtype, c - 1);
  } else if (!x->is_float) {
    add_whole(list, dtype, (int64_t)((uint64_t)x->whole + 1));
    add_whole(list, dtype, (int64_t)((uint64_t)x->whole - 1));
  }
}

/* ---- Constants ---- */

static gemel_dtype dtype_of(const gemel_graph *graph, gemel__ref value) {
  return gemel_type_dtype(graph->context, gemel__node_type(graph, value.node, value.output));
}

static const char *name_of(const gemel_graph *graph, uint32_t node) {
  return gemel__node_op(graph, node)->record.name;
}

static int is_called(const char *name, const char *other) {
  return strcmp(name, other) == 0;
}

static struct aim_number load(const gemel_tensor *tensor, size_t i) {
  gemel_dtype dtype = gemel_tensor_dtype(tensor);
  const char *data = (const char *)gemel_tensor_data(tensor) + i * gemel_dtype_size(dtype);
  struct aim_number n = {is_float(dtype), gemel__dtype_load(dtype, data), 0};
  if (dtype == GEMEL_I64 || dtype == GEMEL_U64) {
    memcpy(&n.whole, data, sizeof n.whole);
  } else if (!n.is_float) {
    n.whole = (int64_t)n.real;
  }
  return n;
}

/* The numbers of VALUE if it is a constant, CONSTANTS of them at most; else 0. */
static size_t constants_of(const gemel_graph *graph, gemel__ref value, struct aim_number *numbers) {
  const gemel_tensor *tensor = NULL;
  size_t n, k;
  if (gemel__uniform_constant(graph, value, &tensor)) {
    numbers[0] = load(tensor, 0);
    return 1;
  }
  if (!is_called(name_of(graph, value.node), "constant")) {
    return 0;
  }
  tensor =
      gemel__attrs_at(graph->context, gemel__node_at(graph, value.node)->attrs)->values[0].u.tensor;
  n = (size_t)gemel_tensor_elements(tensor);
  for (k = 0; k < n && k < CONSTANTS; k++) {
    numbers[k] = load(tensor, k);
  }
  return k;
}

/* ---- Inverses ---- */

/* Solutions of c x = t in integers that wrap at so many bits: of the odd part of c there is one, of
 * its power of two as many as it is. */
static void divide_whole(struct aim_list *list, gemel_dtype dtype, int64_t t, int64_t c) {
  int bits = bits_of(dtype), shift = 0;
  uint64_t mask = UINT64_MAX >> (64 - bits), odd = (uint64_t)c & mask, inverse = 1, x;
  if (odd == 0) {
    return;
  }
  while ((odd & 1) == 0) {
    odd >>= 1;
    shift++;
  }
  if (((uint64_t)t & ((UINT64_C(1) << shift) - 1)) != 0) {
    add_whole(list, dtype, t / c); /* none: what is near one */
    return;
  }
  for (int k = 0; k < 6; k++) {
    inverse *= 2 - odd * inverse; /* Newton's iteration doubles the digits that are right */
  }
  x = (((uint64_t)t & mask) >> shift) * inverse & mask >> shift;
  for (uint64_t k = 0; k < MOST_WRAPS && (shift >= 3 || k < UINT64_C(1) << shift); k++) {
    uint64_t one = (x + (shift > 0 ? k << (bits - shift) : 0)) & mask;
    uint64_t sign = UINT64_C(1) << (bits - 1);
    int is_signed = gemel_dtype_kind(dtype) == GEMEL_KIND_SIGNED;
    add_whole(list, dtype, is_signed ? (int64_t)((one ^ sign) - sign) : (int64_t)one);
  }
}

/* X with op(x, c) = t, or op(c, x) if FIRST. */
typedef void (*inverse)(struct aim_list *list, gemel_dtype dtype, const struct aim_number *t,
                        const struct aim_number *c, int first);

static double real_of(const struct aim_number *n) {
  return n->is_float ? n->real : (double)n->whole;
}

static int both_whole(gemel_dtype dtype, const struct aim_number *t, const struct aim_number *c) {
  return !is_float(dtype) && !t->is_float && !c->is_float;
}

static void of_add(struct aim_list *list, gemel_dtype dtype, const struct aim_number *t,
                   const struct aim_number *c, int first) {
  (void)first;
  if (both_whole(dtype, t, c)) {
    add_whole(list, dtype, (int64_t)((uint64_t)t->whole - (uint64_t)c->whole));
  } else {
    add_double(list, dtype, real_of(t) - real_of(c));
  }
}

static void of_sub(struct aim_list *list, gemel_dtype dtype, const struct aim_number *t,
                   const struct aim_number *c, int first) {
  if (both_whole(dtype, t, c)) {
    uint64_t a = (uint64_t)t->whole, b = (uint64_t)c->whole;
    add_whole(list, dtype, (int64_t)(first ? b - a : a + b));
  } else {
    add_double(list, dtype, first ? real_of(c) - real_of(t) : real_of(t) + real_of(c));
  }
}

static void of_mul(struct aim_list *list, gemel_dtype dtype, const struct aim_number *t,
                   const struct aim_number *c, int first) {
  (void)first;
  if (both_whole(dtype, t, c)) {
    divide_whole(list, dtype, t->whole, c->whole);
  } else {
    add_double(list, dtype, real_of(t) / real_of(c));
  }
}

static void of_div(struct aim_list *list, gemel_dtype dtype, const struct aim_number *t,
                   const struct aim_number *c, int first) {
  add_double(list, dtype, first ? real_of(c) / real_of(t) : real_of(t) * real_of(c));
}

/* t, and t after one round and after several. */
static void of_mod(struct aim_list *list, gemel_dtype dtype, const struct aim_number *t,
                   const struct aim_number *c, int first) {
  static const int rounds[] = {0, 1, -1, 7};
  for (size_t k = 0; k < sizeof rounds / sizeof *rounds && !first; k++) {
    if (both_whole(dtype, t, c)) {
      uint64_t turn = (uint64_t)c->whole * (uint64_t)(int64_t)rounds[k];
      add_whole(list, dtype, (int64_t)((uint64_t)t->whole + turn));
    } else {
      add_double(list, dtype, real_of(t) + rounds[k] * real_of(c));
    }
  }
}

static void of_pow(struct aim_list *list, gemel_dtype dtype, const struct aim_number *t,
                   const struct aim_number *c, int first) {
  double x = real_of(t), e = real_of(c);
  add_double(list, dtype, first ? log(x) / log(e) : pow(fabs(x), 1 / e));
  add_double(list, dtype, first ? log(x) / log(e) : -pow(fabs(x), 1 / e));
}

static void of_itself(struct aim_list *list, gemel_dtype dtype, const struct aim_number *t,
                      const struct aim_number *c, int first) {
  (void)c;
  (void)first;
  add(list, dtype, t);
}

static const struct {
  const char *name;
  inverse invert;
} with_constant[] = {{"add", of_add}, {"sub", of_sub}, {"mul", of_mul},
                     {"div", of_div}, {"mod", of_mod}, {"pow", of_pow}};

static double negated(double t) {
  return -t;
}

static double root(double t) {
  return sqrt(fabs(t));
}

static double minus_root(double t) {
  return -sqrt(fabs(t));
}

static double square(double t) {
  return t * t;
}

static double logit(double t) {
  return log(t / (1 - t));
}

/* Of operations with one operand: x with op(x) = t, twice where there are two. */
static const struct {
  const char *name;
  double (*one)(double), (*other)(double);
} unary[] = {{"neg", negated, NULL},  {"abs", fabs, negated}, {"sqr", root, minus_root},
             {"sqrt", square, NULL},  {"exp", log, NULL},     {"log", exp, NULL},
             {"log1p", expm1, NULL},  {"expm1", log1p, NULL}, {"tanh", atanh, NULL},
             {"sigmoid", logit, NULL}};

/* ---- Through a node ---- */

static struct aim_number number_of(gemel_dtype dtype, gemel__aim aim) {
  struct aim_number n = {is_float(dtype), 0, 0};
  if (n.is_float) {
    n.real = aim.real;
  } else {
    n.whole = aim.whole;
  }
  return n;
}

/* T of a node with one operand, or with nothing but operands that aren't constants. */
static void invert_unary(const char *name, struct aim_list *list, gemel_dtype dtype,
                         const struct aim_number *t) {
  for (size_t k = 0; k < sizeof unary / sizeof *unary; k++) {
    if (is_called(name, unary[k].name)) {
      if (!t->is_float && (unary[k].one == negated || unary[k].one == fabs)) {
        add_whole(list, dtype, (int64_t)(0 - (uint64_t)t->whole));
        break;
      }
      add_double(list, dtype, unary[k].one(real_of(t)));
      if (unary[k].other != NULL) {
        add_double(list, dtype, unary[k].other(real_of(t)));
      }
      return;
    }
  }
  add(list, dtype, t);
}

/* A cast hits T from numbers that it rounds or cuts to it. */
static void invert_cast(struct aim_list *list, gemel_dtype dtype, const struct aim_number *t) {
  add(list, dtype, t);
  if (is_float(dtype) && !t->is_float) {
    add_double(list, dtype, (double)t->whole + 0.5);
    add_double(list, dtype, (double)t->whole - 0.5);
  } else if (!is_float(dtype) && !t->is_float && bits_of(dtype) > 8) {
    add_whole(list, dtype, (int64_t)((uint64_t)t->whole + 256)); /* an integer that wraps */
    if (bits_of(dtype) > 16) {
      add_whole(list, dtype, (int64_t)((uint64_t)t->whole + 65536));
    }
    if (bits_of(dtype) > 32) {
      add_whole(list, dtype, (int64_t)((uint64_t)t->whole + (UINT64_C(1) << 32)));
    }
  }
}

/* What operand K should be for the node to be T; BESIDE is a constant among the other operands. */
static void invert(struct aim_search *s, const char *name, gemel__ref operand, uint32_t k,
                   const struct aim_number *t, const struct aim_number *beside, int twice) {
  struct aim_list *list = &s->lists[operand.node];
  gemel_dtype dtype = dtype_of(s->graph, operand);
  inverse f = of_itself;
  for (size_t j = 0; j < sizeof with_constant / sizeof *with_constant && beside != NULL; j++) {
    f = is_called(name, with_constant[j].name) ? with_constant[j].invert : f;
  }
  if (is_called(name, "cast")) {
    invert_cast(list, dtype, t);
  } else if (twice && is_called(name, "mul")) {
    invert_unary("sqr", list, dtype, t);
  } else if (beside != NULL) {
    f(list, dtype, t, beside, k == 1);
  } else {
    invert_unary(name, list, dtype, t);
  }
}

static void through_node(struct aim_search *s, uint32_t node) {
  uint32_t n, k, j;
  const gemel__ref *inputs = gemel__node_inputs(s->graph, node, &n);
  const char *name = name_of(s->graph, node);
  const struct aim_list *own = &s->lists[node];
  gemel__ref self = {node, 0};
  gemel_dtype dtype =
      gemel__has_output(s->graph, node, 0) ? dtype_of(s->graph, self) : GEMEL_DTYPE_COUNT;
  int twice = n == 2 && inputs[0].node == inputs[1].node;
  struct aim_number numbers[CONSTANTS];
  for (j = 0; j < n; j++) {
    size_t found = n > 1 ? constants_of(s->graph, inputs[j], numbers) : 0;
    for (k = 0; k < n; k++) {
      struct aim_list *list = &s->lists[inputs[k].node];
      gemel_dtype to = dtype_of(s->graph, inputs[k]);
      for (size_t c = 0; c < found && k != j; c++) {
        add_around(list, to, &numbers[c]);
        for (size_t i = 0; i < own->count; i++) {
          struct aim_number t = number_of(dtype, own->at[i]);
          invert(s, name, inputs[k], k, &t, &numbers[c], 0);
        }
      }
    }
  }
  for (k = 0; k < n && k < 3; k++) {
    for (size_t i = 0; i < own->count; i++) {
      struct aim_number t = number_of(dtype, own->at[i]);
      invert(s, name, inputs[k], k, &t, NULL, twice);
    }
  }
}

/* ---- The inputs ---- */

static void take(struct gemel__aims_of *into, const struct aim_list *list) {
  for (size_t k = 0; k < list->count && into->count < GEMEL__AIMS; k++) {
    size_t j = 0;
    while (j < into->count && into->at[j].whole != list->at[k].whole) {
      j++;
    }
    if (j == into->count) {
      into->at[into->count++] = list->at[k];
    }
  }
}

static gemel_status aim(const gemel_graph *graph, gemel__aims *aims, gemel_error *error) {
  struct aim_search s = {graph, NULL};
  size_t bytes = graph->n_nodes * sizeof *s.lists;
  if (graph->n_nodes > MOST_NODES || graph->n_nodes == 0) {
    return GEMEL_OK;
  }
  s.lists = gemel__alloc_zeroed(bytes);
  if (s.lists == NULL) {
    return gemel__no_memory(error, "values");
  }
  for (uint32_t node = graph->n_nodes; node-- > 0;) {
    through_node(&s, node);
  }
  for (size_t k = 0; k < aims->n_inputs && k < gemel_graph_input_count(graph); k++) {
    take(&aims->inputs[k], &s.lists[gemel_graph_input(graph, k).node]);
    aims->most = aims->inputs[k].count > aims->most ? aims->inputs[k].count : aims->most;
  }
  gemel__free(s.lists, bytes);
  return GEMEL_OK;
}

gemel_status gemel__aims_of_graphs(const gemel_graph *a, const gemel_graph *b, gemel__aims *aims,
                                   gemel_error *error) {
  gemel_status status;
  memset(aims, 0, sizeof *aims);
  aims->n_inputs = gemel_graph_input_count(a);
  aims->inputs = gemel__alloc_array(aims->n_inputs, sizeof *aims->inputs);
  if (aims->inputs == NULL) {
    aims->n_inputs = 0;
    return gemel__no_memory(error, "values");
  }
  status = aim(a, aims, error);
  return status == GEMEL_OK && b != NULL ? aim(b, aims, error) : status;
}

void gemel__aims_clear(gemel__aims *aims) {
  gemel__free(aims->inputs, aims->n_inputs * sizeof *aims->inputs);
  memset(aims, 0, sizeof *aims);
}

void gemel__aims_plant(const gemel__aims *aims, size_t round, gemel__random *random,
                       gemel_tensor *const *values) {
  for (size_t k = 0; k < aims->n_inputs; k++) {
    const struct gemel__aims_of *of = &aims->inputs[k];
    gemel_dtype dtype = gemel_tensor_dtype(values[k]);
    size_t n = (size_t)gemel_tensor_elements(values[k]), size = gemel_dtype_size(dtype), next;
    if (of->count == 0) {
      continue;
    }
    next = round % of->count;
    for (size_t i = 0; i < n; i++) {
      char *to = (char *)gemel_tensor_data(values[k]) + i * size;
      if (n > 1 && !gemel__random_chance(random, 1, 2)) {
        continue;
      }
      gemel__points_store(dtype, 1, is_float(dtype) ? &of->at[next].real : NULL,
                          is_float(dtype) ? NULL : &of->at[next].whole, to);
      next = (next + 1) % of->count;
    }
  }
}
