/* SPDX-License-Identifier: MIT
 *
 * Makes large constant sizes small, see scale.h. Exact evaluation of a matrix product of a thousand
 * rows takes minutes and shows no more than three rows do, unless the graph depends on the number
 * 1000. So each large size is replaced by a small one wherever it occurs: in both graphs and in
 * their bodies, each of which is scaled once. Numbers near such a size, in attributes and in small
 * constants, move with it. Type rules check that the result is a graph. The caller has to check
 * that it is still the same question: a number may mean something else than a size, and a number
 * that was made of a size isn't near it.
 */
#include "pairs/scale.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include "core/alloc.h"
#include "core/dtype.h"
#include "core/graph.h"
#include "core/tensor.h"
#include "base/element.h"
#include "base/status.h"
#include "pairs/numbers.h"
#include "pairs/pair.h"
#include "rewrite/bodies.h"

enum { LARGE = GEMEL__LARGE_SIZE, MOST_SMALL = GEMEL__SMALL_SIZES };
/* Graphs with fewer elements, both together, aren't scaled; a symbol counts as SYMBOL. */
enum { FEW_ELEMENTS = 600, SYMBOL = 4 };
/* A number is near a size if it differs by no more, and by no more than a quarter of the size. */
enum { NEAR = 32 };

/* ---- Which sizes ---- */

static void add_large(gemel__scaling *s, int64_t size) {
  size_t k = s->n, j;
  for (j = 0; j < s->n; j++) {
    if (s->from[j] == size) {
      return;
    }
  }
  if (s->n == GEMEL__MOST_SCALED) {
    return;
  }
  for (; k > 0 && s->from[k - 1] > size; k--) {
    s->from[k] = s->from[k - 1];
  }
  s->from[k] = size;
  s->n++;
}

/* Adds the large constant sizes of TYPE, except KEPT, and marks the small ones in USED. */
static void add_sizes(gemel_context *context, gemel_type type, int64_t kept, gemel__scaling *s,
                      unsigned char *used) {
  const gemel_dim *dims = gemel_type_dims(context, type);
  int rank = gemel_type_rank(context, type), j;
  for (j = 0; j < rank; j++) {
    int64_t size;
    if (!gemel_dim_is_constant(context, dims[j], &size)) {
      continue;
    }
    if (size > LARGE && size != kept) {
      add_large(s, size);
    } else if (size < MOST_SMALL) {
      used[size] = 1;
    }
  }
}

void gemel__scaling_sizes(const gemel_graph *graph, int64_t kept, gemel__scaling *s,
                          unsigned char *used) {
  memset(s, 0, sizeof *s);
  s->kept = kept;
  for (size_t k = 0; k < gemel_graph_input_count(graph); k++) {
    add_sizes(gemel_graph_context(graph), gemel_value_type(gemel_graph_input(graph, k)), kept, s,
              used);
  }
}

static int64_t common_divisor(int64_t a, int64_t b) {
  while (b != 0) {
    int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

/* A small number that all numbers of groups divide, as they divide channels. */
static int64_t groups_of(const gemel_graph *graph) {
  int64_t all = 1;
  for (uint32_t k = 0; k < gemel_graph_node_count(graph); k++) {
    const struct gemel__attrs *attrs =
        gemel__attrs_at(graph->context, gemel__node_at(graph, k)->attrs);
    for (size_t j = 0; j < attrs->count; j++) {
      const gemel_attr *a = &attrs->values[j];
      if (a->kind == GEMEL_ATTR_INT && strcmp(a->name, "groups") == 0 && a->u.i > 1 &&
          a->u.i <= LARGE) {
        all *= a->u.i / common_divisor(all, a->u.i);
      }
    }
  }
  return all <= LARGE ? all : 1;
}

/* ---- Numbers near sizes ---- */

/* The size that NUMBER is near, counted in S; S->n: none. */
static size_t near_size(const gemel__scaling *s, int64_t number) {
  size_t nearest = s->n;
  int64_t least = NEAR + 1;
  for (size_t k = 0; k < s->n && number > LARGE && number != s->kept; k++) {
    int64_t apart = number > s->from[k] ? number - s->from[k] : s->from[k] - number;
    if (apart < least && apart <= s->from[k] / 4) {
      least = apart;
      nearest = k;
    }
  }
  return nearest;
}

/* What the numbers of graphs ask for: ROOM[k] below size k, and 1 in SOME if there are any. */
struct near_numbers {
  const gemel__scaling *sizes;
  int64_t room[GEMEL__MOST_SCALED];
  int some;
};

static void note_number(void *user, int64_t number) {
  struct near_numbers *n = user;
  size_t k = near_size(n->sizes, number);
  if (k < n->sizes->n) {
    int64_t below = n->sizes->from[k] - number;
    n->some |= below != 0;
    n->room[k] = below > n->room[k] ? below : n->room[k];
  }
}

static void find_numbers(const gemel_graph *a, const gemel_graph *b, const gemel__scaling *sizes,
                         struct near_numbers *n) {
  memset(n, 0, sizeof *n);
  n->sizes = sizes;
  gemel__numbers_each(a, note_number, n);
  gemel__numbers_each(b, note_number, n);
}

/* ---- Maps ---- */

static void find_small(const gemel_graph *graph, int64_t kept, const int64_t *room,
                       gemel__scaling *scaling) {
  unsigned char used[MOST_SMALL] = {0};
  int64_t step = groups_of(graph), next = step > 1 ? step : 2;
  gemel__scaling_sizes(graph, kept, scaling, used);
  for (size_t k = 0; k < scaling->n; k++) {
    size_t part = 0;
    while (room != NULL && next < room[k] + 2) {
      next += step;
    }
    while (part < k && (step == 1 || scaling->from[part] * step != scaling->from[k])) {
      part++;
    }
    while (next < MOST_SMALL && used[next]) {
      next += step;
    }
    scaling->to[k] = part < k ? step * scaling->to[part] : next;
    next += part < k ? 0 : step;
  }
}

static int is_small(const gemel_graph *a, const gemel_graph *b) {
  return gemel__graph_elements(a, SYMBOL) + gemel__graph_elements(b, SYMBOL) <= FEW_ELEMENTS;
}

/* ---- Division ---- */

struct division {
  int64_t kept, divisor;
};

/* Replaces the divisor by the greatest number that divides it and all large sizes of GRAPH's
 * values, except the size that is kept. */
static void divide(void *user, const gemel_graph *graph) {
  struct division *d = user;
  gemel_context *context = gemel_graph_context(graph);
  for (uint32_t k = 0; k < gemel_graph_node_count(graph) && d->divisor != 1; k++) {
    for (uint32_t i = 0; gemel__has_output(graph, k, i); i++) {
      gemel_type type = gemel__node_type(graph, k, i);
      const gemel_dim *dims = gemel_type_dims(context, type);
      for (int j = 0; j < gemel_type_rank(context, type); j++) {
        int64_t size;
        if (gemel_dim_is_constant(context, dims[j], &size) && size > LARGE && size != d->kept) {
          d->divisor = common_divisor(size, d->divisor);
        }
      }
    }
  }
}

/* The greatest common divisor of the large sizes of GRAPH and its bodies, divided by its smallest
 * prime. So no size becomes 1, where a transposition wouldn't show. */
static int64_t find_unit(const gemel_graph *graph, int64_t kept) {
  struct division d = {kept, 0};
  int64_t prime = 2;
  gemel__graph_visit(graph, divide, &d);
  while (prime * prime <= d.divisor && d.divisor % prime != 0) {
    prime++;
  }
  return prime * prime <= d.divisor ? d.divisor / prime : 1;
}

/* N is 0 if some size becomes too small for the numbers below it. */
static void find_divided(const gemel_graph *graph, int64_t kept, const int64_t *room,
                         gemel__scaling *scaling) {
  unsigned char used[MOST_SMALL] = {0};
  int64_t unit = find_unit(graph, kept);
  int enough = unit > 1;
  gemel__scaling_sizes(graph, kept, scaling, used);
  scaling->unit = unit > 1 ? unit : 0;
  for (size_t k = 0; k < scaling->n; k++) {
    scaling->to[k] = scaling->from[k] / unit;
    enough &= room == NULL || scaling->to[k] >= room[k] + 2;
  }
  scaling->n = enough ? scaling->n : 0;
}

/* The size that the WAYth map leaves as it is; 0: none; -1: there are no more maps. */
static int64_t kept_by(const gemel_graph *graph, size_t way) {
  unsigned char used[MOST_SMALL] = {0};
  gemel__scaling sizes;
  if (way < 2) {
    return 0;
  }
  gemel__scaling_sizes(graph, 0, &sizes, used);
  return way / 2 > sizes.n || sizes.n < 2 ? -1 : sizes.from[way / 2 - 1];
}

/* The WAYth map; NUMBERS: with the numbers near sizes, if there are any. */
static void find_way(const gemel_graph *a, const gemel_graph *b, size_t way, int64_t kept,
                     int numbers, gemel__scaling *scaling) {
  unsigned char used[MOST_SMALL] = {0};
  struct near_numbers near;
  gemel__scaling_sizes(a, kept, scaling, used);
  gemel__scaling sizes = *scaling;
  find_numbers(a, b, &sizes, &near);
  (way % 2 == 0 ? find_small : find_divided)(a, kept, numbers ? near.room : NULL, scaling);
  scaling->numbers = numbers && near.some;
}

void gemel__scaling_find(const gemel_graph *a, const gemel_graph *b, gemel__scaling *scaling) {
  find_way(a, b, 0, 0, 1, scaling);
  scaling->n = is_small(a, b) ? 0 : scaling->n;
}

int gemel__scaling_way(const gemel_graph *a, const gemel_graph *b, size_t way,
                       gemel__scaling *scaling) {
  if (is_small(a, b)) {
    return 0;
  }
  int64_t kept = kept_by(a, way / 2);
  if (kept >= 0) {
    find_way(a, b, way / 2, kept, way % 2 == 0, scaling);
    if (way % 2 == 0 && !scaling->numbers) {
      scaling->n = 0; /* the next way is the same map */
    }
  }
  return kept >= 0;
}

void gemel__scaling_text(const gemel__scaling *scaling, char *text, size_t bytes) {
  size_t k, used = 0;
  text[0] = '\0';
  for (k = 0; k < scaling->n && used < bytes; k++) {
    used += (size_t)snprintf(text + used, bytes - used, "%s%lld for %lld", k > 0 ? ", " : "",
                             (long long)scaling->to[k], (long long)scaling->from[k]);
  }
}

/* ---- The graph ---- */

struct scaled {
  const gemel__scaling *map;
  gemel__rewrite_bodies *bodies;
  const gemel_graph *from;
  gemel_context *context;
  gemel_graph *into;
  gemel_value *values; /* for each node the value that output 0 became */
};

static int64_t scaled_size(const struct scaled *s, int64_t size) {
  size_t near = near_size(s->map, size);
  if (near < s->map->n && (s->map->numbers || s->map->from[near] == size)) {
    return s->map->to[near] + size - s->map->from[near];
  }
  int divides =
      s->map->unit > 0 && size > LARGE && size != s->map->kept && size % s->map->unit == 0;
  return divides ? size / s->map->unit : size;
}

static gemel_dim scaled_dim(const struct scaled *s, gemel_dim dim) {
  int64_t size;
  return gemel_dim_is_constant(s->context, dim, &size)
             ? gemel_dim_constant(s->context, scaled_size(s, size))
             : dim;
}

static gemel_type scaled_type(const struct scaled *s, gemel_type type) {
  const gemel_dim *dims = gemel_type_dims(s->context, type);
  gemel_dim scaled[GEMEL_MAX_RANK];
  int rank = gemel_type_rank(s->context, type), k;
  for (k = 0; k < rank; k++) {
    scaled[k] = scaled_dim(s, dims[k]);
  }
  return gemel_type_new(s->context, gemel_type_dtype(s->context, type), rank, scaled,
                        GEMEL_SPACE_HOST);
}

/* An attribute with its dims scaled, and an integer that is a large size (as many groups as
 * channels). Those of a list are stored at *ROOM. */
static gemel_attr scaled_attr(const struct scaled *s, const gemel_attr *from, gemel_dim **room) {
  gemel_attr a = *from;
  if (a.kind == GEMEL_ATTR_INT) {
    a.u.i = scaled_size(s, a.u.i);
  } else if (a.kind == GEMEL_ATTR_DIM) {
    a.u.dim = scaled_dim(s, a.u.dim);
  } else if (a.kind == (GEMEL_ATTR_LIST | GEMEL_ATTR_DIM)) {
    for (size_t k = 0; k < a.count; k++) {
      (*room)[k] = scaled_dim(s, a.u.dims[k]);
    }
    a.u.dims = *room;
    *room += a.count;
  }
  return a;
}

/* *CHANGED: TENSOR with the numbers near sizes scaled; NULL: there are none. */
static gemel_status scaled_tensor(const struct scaled *s, const gemel_tensor *tensor,
                                  gemel_tensor **changed, gemel_error *error) {
  gemel_view view = gemel_tensor_view((gemel_tensor *)tensor);
  for (size_t k = 0; k < (size_t)gemel_tensor_elements(tensor); k++) {
    int64_t number;
    if (!gemel__whole_number(tensor, k, &number) || scaled_size(s, number) == number) {
      continue;
    }
    *changed = *changed != NULL ? *changed : gemel_tensor_copy(&view, error);
    if (*changed == NULL) {
      return gemel__no_memory(error, "a scaled graph");
    }
    gemel__dtype_store(view.dtype, (double)scaled_size(s, number),
                       (char *)gemel_tensor_data(*changed) + k * gemel_dtype_size(view.dtype));
  }
  return GEMEL_OK;
}

static size_t dims_in(const struct gemel__attrs *attrs) {
  size_t k, n = 0;
  for (k = 0; k < attrs->count; k++) {
    n += attrs->values[k].kind == (GEMEL_ATTR_LIST | GEMEL_ATTR_DIM) ? attrs->values[k].count : 0;
  }
  return n;
}

/* Room for the operands and attributes of one node. */
struct scaled_node {
  gemel_value *inputs;
  gemel_attr *attrs;
  gemel_dim *dims;
  gemel_tensor *numbers; /* NULL: none is changed */
  uint32_t n;
  size_t n_attrs, n_dims;
};

/* Scales the attributes FROM of NODE. */
static gemel_status scale_attrs(const struct scaled *s, uint32_t node,
                                const struct gemel__attrs *from, struct scaled_node *to,
                                gemel_error *error) {
  const gemel_tensor *numbers = s->map->numbers ? gemel__numbers_in(s->from, node) : NULL;
  gemel_dim *room = to->dims;
  if (numbers != NULL) {
    GEMEL__TRY(scaled_tensor(s, numbers, &to->numbers, error));
  }
  for (size_t k = 0; k < to->n_attrs; k++) {
    to->attrs[k] = scaled_attr(s, &from->values[k], &room);
    if (to->numbers != NULL && to->attrs[k].kind == GEMEL_ATTR_TENSOR) {
      to->attrs[k].u.tensor = to->numbers;
    }
  }
  return GEMEL_OK;
}

static gemel_status apply_scaled(struct scaled *s, uint32_t node, gemel_error *error) {
  uint32_t id = gemel__node_at(s->from, node)->attrs;
  const gemel__op *op = gemel__node_op(s->from, node);
  struct scaled_node m = {0};
  if (gemel__attrs_at(s->context, id)->nesting > 0) {
    GEMEL__TRY(gemel__bodies_rewrite(s->bodies, s->context, op, &id, error));
  }
  const struct gemel__attrs *attrs = gemel__attrs_at(s->context, id);
  const gemel__ref *refs = gemel__node_inputs(s->from, node, &m.n);
  m.n_attrs = id != 0 ? attrs->count : 0;
  m.n_dims = id != 0 ? dims_in(attrs) : 0;
  m.inputs = gemel__alloc_array(m.n, sizeof *m.inputs);
  m.attrs = gemel__alloc_array(m.n_attrs, sizeof *m.attrs);
  m.dims = gemel__alloc_array(m.n_dims, sizeof *m.dims);
  gemel_status status = m.inputs == NULL || m.attrs == NULL || m.dims == NULL
                            ? gemel__no_memory(error, "a scaled graph")
                            : scale_attrs(s, node, attrs, &m, error);
  if (status == GEMEL_OK) {
    for (uint32_t j = 0; j < m.n; j++) {
      m.inputs[j] = s->values[refs[j].node];
      m.inputs[j].output += refs[j].output;
    }
    s->values[node] =
        gemel_apply_at(s->into, op->record.name, m.n, m.inputs, m.n_attrs, m.attrs,
                       gemel_value_where(gemel__value(s->from, (gemel__ref){node, 0})));
  }
  gemel_tensor_unref(m.numbers);
  gemel__free(m.inputs, m.n * sizeof *m.inputs);
  gemel__free(m.attrs, m.n_attrs * sizeof *m.attrs);
  gemel__free(m.dims, m.n_dims * sizeof *m.dims);
  return status;
}

/* 1 if NODE can be scaled. It can't if its type has a run-time size, or if an attribute is a
 * tensor, whose sizes are its own, and its type would change. */
static int scalable(const struct scaled *s, uint32_t node) {
  const gemel__node *record = gemel__node_at(s->from, node);
  const struct gemel__attrs *attrs = gemel__attrs_at(s->context, record->attrs);
  gemel_type type = gemel__node_type(s->from, node, 0);
  if (gemel__has_output(s->from, node, 0) && gemel__type_at(s->context, type)->has_runtime) {
    return 0;
  }
  for (size_t k = 0; record->attrs != 0 && k < attrs->count; k++) {
    if ((attrs->values[k].kind & ~GEMEL_ATTR_LIST) == GEMEL_ATTR_TENSOR &&
        !gemel_type_equal(scaled_type(s, type), type)) {
      return 0;
    }
  }
  return 1;
}

static gemel_status fill_scaled(struct scaled *s, gemel_error *error) {
  size_t nodes = gemel_graph_node_count(s->from), k;
  for (k = 0; k < gemel_graph_input_count(s->from); k++) {
    gemel_value input = gemel_graph_input(s->from, k);
    s->values[input.node] = gemel__input_like(s->into, gemel_graph_input_name(s->from, k),
                                              scaled_type(s, gemel_value_type(input)), input);
  }
  for (k = 0; k < nodes; k++) {
    if (gemel__node_at(s->from, (uint32_t)k)->op == GEMEL__OP_input) {
      continue;
    }
    GEMEL__TRY(scalable(s, (uint32_t)k) ? apply_scaled(s, (uint32_t)k, error) : GEMEL_DECLINED);
  }
  for (k = 0; k < gemel_graph_output_count(s->from); k++) {
    gemel_value output = gemel_graph_output(s->from, k), value = s->values[output.node];
    value.output += output.output;
    gemel_output(value, gemel_graph_output_name(s->from, k));
  }
  return gemel__graph_status(s->into, error);
}

/* What a graph and its bodies share. */
struct scaled_all {
  const gemel__scaling *map;
  gemel__rewrite_bodies *bodies;
};

static gemel_graph *scale_one(void *user, const gemel_graph *graph, gemel_error *error) {
  const struct scaled_all *all = user;
  size_t n = gemel_graph_node_count(graph);
  struct scaled s = {all->map, all->bodies, graph, gemel_graph_context(graph), NULL, NULL};
  s.into = gemel_graph_new(s.context, error);
  s.values = gemel__alloc_array(n, sizeof *s.values);
  gemel_status status = s.into == NULL || s.values == NULL
                            ? gemel__no_memory(error, "a scaled graph")
                            : fill_scaled(&s, error);
  gemel__free(s.values, n * sizeof *s.values);
  if (status != GEMEL_OK) {
    if (status == GEMEL_DECLINED) {
      gemel__fail(error, status, "the sizes of the graph can't be scaled");
    }
    gemel_graph_unref(s.into);
    return NULL;
  }
  return s.into;
}

gemel_graph *gemel__graph_scaled(const gemel_graph *graph, const gemel__scaling *scaling,
                                 gemel_error *error) {
  struct scaled_all all = {scaling, NULL};
  gemel_error local;
  error = error != NULL ? error : &local;
  all.bodies = gemel__bodies_new(scale_one, &all);
  if (all.bodies == NULL) {
    gemel__no_memory(error, "a scaled graph");
    return NULL;
  }
  gemel_graph *scaled = scale_one(&all, graph, error);
  gemel__bodies_free(all.bodies);
  return scaled;
}
