/* SPDX-License-Identifier: MIT
 *
 * Makes large constant sizes small, see scale.h. Exact evaluation of a matrix product of a thousand
 * rows takes minutes and shows no more than three rows do, unless the graph depends on the number
 * 1000. So each large size is replaced by a small one wherever it occurs: in both graphs and in
 * their bodies, each of which is scaled once. Type rules check that the result is a graph. The
 * caller has to check that it is still the same question: a literal 1000 among the values stays as
 * it is.
 */
#include "pairs/scale.h"

#include <stdio.h>
#include <string.h>
#include "core/alloc.h"
#include "core/graph.h"
#include "base/status.h"
#include "pairs/pair.h"
#include "rewrite/bodies.h"

enum { LARGE = GEMEL__LARGE_SIZE, MOST_SMALL = GEMEL__SMALL_SIZES };
/* Graphs with fewer elements, both together, aren't scaled; a symbol counts as SYMBOL. */
enum { FEW_ELEMENTS = 600, SYMBOL = 4 };

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

static void find_small(const gemel_graph *graph, int64_t kept, gemel__scaling *scaling) {
  unsigned char used[MOST_SMALL] = {0};
  int64_t step = groups_of(graph), next = step > 1 ? step : 2;
  gemel__scaling_sizes(graph, kept, scaling, used);
  for (size_t k = 0; k < scaling->n; k++) {
    size_t part = 0;
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

void gemel__scaling_find(const gemel_graph *a, const gemel_graph *b, gemel__scaling *scaling) {
  find_small(a, 0, scaling);
  scaling->n = is_small(a, b) ? 0 : scaling->n;
}

/* ---- Bodies ---- */

static int visit_body(const gemel_graph *body, void (*visit)(void *user, const gemel_graph *graph),
                      void *user) {
  return body->nesting <= GEMEL_MAX_NESTING && body->expanded <= GEMEL_MAX_BODIES &&
         gemel__graph_visit(body, visit, user);
}

int gemel__graph_visit(const gemel_graph *graph,
                       void (*visit)(void *user, const gemel_graph *graph), void *user) {
  int all = 1;
  visit(user, graph);
  for (uint32_t k = 0; k < graph->n_nodes; k++) {
    const struct gemel__attrs *attrs = gemel__attrs_at(graph->context, graph->nodes[k].attrs);
    for (size_t j = 0; attrs->nesting > 0 && j < attrs->count; j++) {
      const gemel_attr *a = &attrs->values[j];
      if (a->kind == GEMEL_ATTR_GRAPH) {
        all &= visit_body(a->u.graph, visit, user);
      }
      for (size_t i = 0; a->kind == (GEMEL_ATTR_LIST | GEMEL_ATTR_GRAPH) && i < a->count; i++) {
        all &= visit_body(a->u.graphs[i], visit, user);
      }
    }
  }
  return all;
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

static void find_divided(const gemel_graph *graph, int64_t kept, gemel__scaling *scaling) {
  unsigned char used[MOST_SMALL] = {0};
  int64_t unit = find_unit(graph, kept);
  gemel__scaling_sizes(graph, kept, scaling, used);
  scaling->n = unit > 1 ? scaling->n : 0;
  scaling->unit = unit > 1 ? unit : 0;
  for (size_t k = 0; k < scaling->n; k++) {
    scaling->to[k] = scaling->from[k] / unit;
  }
}

int gemel__scaling_way(const gemel_graph *a, const gemel_graph *b, size_t way,
                       gemel__scaling *scaling) {
  int64_t kept = 0;
  if (is_small(a, b)) {
    return 0;
  }
  if (way >= 2) { /* one size isn't scaled */
    find_small(a, 0, scaling);
    if (way / 2 > scaling->n || scaling->n < 2) {
      return 0;
    }
    kept = scaling->from[way / 2 - 1];
  }
  (way % 2 == 0 ? find_small : find_divided)(a, kept, scaling);
  return 1;
}

void gemel__scaling_text(const gemel__scaling *scaling, char *text, size_t bytes) {
  size_t k, used = 0;
  text[0] = '\0';
  for (k = 0; k < scaling->n && used < bytes; k++) {
    used += (size_t)snprintf(text + used, bytes - used, "%s%lld → %lld", k > 0 ? ", " : "",
                             (long long)scaling->from[k], (long long)scaling->to[k]);
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
  for (size_t k = 0; k < s->map->n; k++) {
    if (s->map->from[k] == size) {
      return s->map->to[k];
    }
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

static size_t dims_in(const struct gemel__attrs *attrs) {
  size_t k, n = 0;
  for (k = 0; k < attrs->count; k++) {
    n += attrs->values[k].kind == (GEMEL_ATTR_LIST | GEMEL_ATTR_DIM) ? attrs->values[k].count : 0;
  }
  return n;
}

static gemel_status apply_scaled(struct scaled *s, uint32_t node, gemel_error *error) {
  uint32_t n, j, id = gemel__node_at(s->from, node)->attrs;
  if (gemel__attrs_at(s->context, id)->nesting > 0) {
    GEMEL__TRY(
        gemel__bodies_rewrite(s->bodies, s->context, gemel__node_op(s->from, node), &id, error));
  }
  const struct gemel__attrs *attrs = gemel__attrs_at(s->context, id);
  const gemel__ref *refs = gemel__node_inputs(s->from, node, &n);
  gemel__ref self = {node, 0};
  size_t n_attrs = id != 0 ? attrs->count : 0, k;
  size_t n_dims = id != 0 ? dims_in(attrs) : 0;
  gemel_value *inputs = gemel__alloc_array(n, sizeof *inputs);
  gemel_attr *mine = gemel__alloc_array(n_attrs, sizeof *mine);
  gemel_dim *dims = gemel__alloc_array(n_dims, sizeof *dims), *room = dims;
  int good = inputs != NULL && mine != NULL && dims != NULL;
  for (j = 0; j < n && good; j++) {
    inputs[j] = s->values[refs[j].node];
    inputs[j].output += refs[j].output;
  }
  for (k = 0; k < n_attrs && good; k++) {
    mine[k] = scaled_attr(s, &attrs->values[k], &room);
  }
  if (good) {
    s->values[node] = gemel_apply_at(s->into, gemel__node_op(s->from, node)->record.name, n, inputs,
                                     n_attrs, mine, gemel_value_where(gemel__value(s->from, self)));
  }
  gemel__free(inputs, n * sizeof *inputs);
  gemel__free(mine, n_attrs * sizeof *mine);
  gemel__free(dims, n_dims * sizeof *dims);
  return good ? GEMEL_OK : gemel__no_memory(error, "a scaled graph");
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
