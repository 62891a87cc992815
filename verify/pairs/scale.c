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
#include <stdlib.h>
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

enum { MOST_SMALL = GEMEL__SMALL_SIZES };
/* Graphs with fewer elements, both together, aren't scaled; a symbol counts as SYMBOL. With more
 * work than MUCH_WORK sizes above MIDDLE_SIZE are large. */
enum { FEW_ELEMENTS = 600, SYMBOL = 4, MUCH_WORK = 4000, MIDDLE_SIZE = 4 };
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

/* Adds the large constant sizes of TYPE and marks the small ones in USED. */
static void add_sizes(gemel_context *context, gemel_type type, gemel__scaling *s,
                      unsigned char *used) {
  const gemel_dim *dims = gemel_type_dims(context, type);
  int rank = gemel_type_rank(context, type), j;
  for (j = 0; j < rank; j++) {
    int64_t size;
    if (!gemel_dim_is_constant(context, dims[j], &size)) {
      continue;
    }
    if (size > s->large && size != s->kept) {
      add_large(s, size);
    } else if (size < MOST_SMALL) {
      used[size] = 1;
    }
  }
}

void gemel__scaling_sizes(const gemel_graph *graph, int64_t large, int64_t kept, gemel__scaling *s,
                          unsigned char *used) {
  memset(s, 0, sizeof *s);
  s->large = large;
  s->kept = kept;
  for (size_t k = 0; k < gemel_graph_input_count(graph); k++) {
    add_sizes(gemel_graph_context(graph), gemel_value_type(gemel_graph_input(graph, k)), s, used);
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

/* A small number that all numbers of groups divide, as they divide channels; those above LARGE are
 * scaled. */
static int64_t groups_of(const gemel_graph *graph, int64_t large) {
  int64_t all = 1;
  for (uint32_t k = 0; k < gemel_graph_node_count(graph); k++) {
    const struct gemel__attrs *attrs =
        gemel__attrs_at(graph->context, gemel__node_at(graph, k)->attrs);
    for (size_t j = 0; j < attrs->count; j++) {
      const gemel_attr *a = &attrs->values[j];
      if (a->kind == GEMEL_ATTR_INT && strcmp(a->name, "groups") == 0 && a->u.i > 1 &&
          a->u.i <= large) {
        all *= a->u.i / common_divisor(all, a->u.i);
      }
    }
  }
  return all <= large ? all : 1;
}

/* ---- Numbers near sizes ---- */

/* The size that NUMBER is near, counted in S; S->n: none. */
static size_t near_size(const gemel__scaling *s, int64_t number) {
  size_t nearest = s->n;
  int64_t least = NEAR + 1;
  for (size_t k = 0; k < s->n && number > s->large && number != s->kept; k++) {
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
    n->some = 1;
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

static void find_small(const gemel_graph *graph, int64_t large, int64_t kept, const int64_t *room,
                       gemel__scaling *scaling) {
  unsigned char used[MOST_SMALL] = {0};
  int64_t step = groups_of(graph, large), next = step > 1 ? step : 2;
  gemel__scaling_sizes(graph, large, kept, scaling, used);
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
  int64_t large, kept, divisor;
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
        if (gemel_dim_is_constant(context, dims[j], &size) && size > d->large && size != d->kept) {
          d->divisor = common_divisor(size, d->divisor);
        }
      }
    }
  }
}

/* The greatest common divisor of the large sizes of GRAPH and its bodies, divided by its smallest
 * prime. So no size becomes 1, where a transposition wouldn't show. */
static int64_t find_unit(const gemel_graph *graph, int64_t large, int64_t kept) {
  struct division d = {large, kept, 0};
  int64_t prime = 2;
  gemel__graph_visit(graph, divide, &d);
  while (prime * prime <= d.divisor && d.divisor % prime != 0) {
    prime++;
  }
  return prime * prime <= d.divisor ? d.divisor / prime : 1;
}

/* N is 0 if some size becomes too small for the numbers below it. */
static void find_divided(const gemel_graph *graph, int64_t large, int64_t kept, const int64_t *room,
                         gemel__scaling *scaling) {
  unsigned char used[MOST_SMALL] = {0};
  int64_t unit = find_unit(graph, large, kept);
  int enough = unit > 1;
  gemel__scaling_sizes(graph, large, kept, scaling, used);
  scaling->unit = unit > 1 ? unit : 0;
  for (size_t k = 0; k < scaling->n; k++) {
    scaling->to[k] = scaling->from[k] / unit;
    enough &= room == NULL || scaling->to[k] >= room[k] + 2;
  }
  scaling->n = enough ? scaling->n : 0;
}

/* How many maps there are, see gemel__scaling_way: each is tried with numbers near sizes and
 * without, by small sizes and by division, without a size that is kept and with each. */
static size_t count_ways(const gemel_graph *graph, int64_t large) {
  unsigned char used[MOST_SMALL] = {0};
  gemel__scaling sizes;
  gemel__scaling_sizes(graph, large, 0, &sizes, used);
  return sizes.n < 2 ? 4 : 4 * (sizes.n + 1);
}

/* The size that the WAYth map leaves as it is; 0: none. */
static int64_t kept_by(const gemel_graph *graph, int64_t large, size_t way) {
  unsigned char used[MOST_SMALL] = {0};
  gemel__scaling sizes;
  gemel__scaling_sizes(graph, large, 0, &sizes, used);
  return way < 4 ? 0 : sizes.from[way / 4 - 1];
}

/* Leaves the sizes that don't become smaller out. */
static void drop_kept(gemel__scaling *s) {
  size_t n = 0;
  for (size_t k = 0; k < s->n; k++) {
    if (s->to[k] < s->from[k]) {
      s->from[n] = s->from[k];
      s->to[n++] = s->to[k];
    }
  }
  s->n = n;
}

static void find_way(const gemel_graph *a, const gemel_graph *b, int64_t large, size_t way,
                     gemel__scaling *scaling) {
  unsigned char used[MOST_SMALL] = {0};
  struct near_numbers near;
  int numbers = way % 2 == 0;
  int64_t kept = kept_by(a, large, way);
  gemel__scaling_sizes(a, large, kept, scaling, used);
  gemel__scaling sizes = *scaling;
  find_numbers(a, b, &sizes, &near);
  (way / 2 % 2 == 0 ? find_small : find_divided)(a, large, kept, numbers ? near.room : NULL,
                                                 scaling);
  drop_kept(scaling);
  scaling->numbers = numbers && near.some;
}

void gemel__scaling_find(const gemel_graph *a, const gemel_graph *b, gemel__scaling *scaling) {
  find_way(a, b, GEMEL__LARGE_SIZE, 0, scaling);
  scaling->n = is_small(a, b) ? 0 : scaling->n;
}

int gemel__scaling_way(const gemel_graph *a, const gemel_graph *b, size_t way,
                       gemel__scaling *scaling) {
  int64_t large = GEMEL__LARGE_SIZE;
  size_t ways = is_small(a, b) ? 0 : count_ways(a, large);
  if (way >= ways && ways > 0 &&
      gemel__graph_work(a, SYMBOL) + gemel__graph_work(b, SYMBOL) > MUCH_WORK) {
    way -= ways;
    large = MIDDLE_SIZE;
    ways = count_ways(a, large);
  }
  if (way >= ways) {
    return 0;
  }
  find_way(a, b, large, way, scaling);
  if (way % 2 == 0 && !scaling->numbers) {
    scaling->n = 0; /* the next way is the same map */
  }
  return 1;
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
      s->map->unit > 0 && size > s->map->large && size != s->map->kept && size % s->map->unit == 0;
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

/* *CROPPED: the first elements of TENSOR, as many along each axis as its scaled size says. */
static gemel_status crop_tensor(const struct scaled *s, const gemel_tensor *tensor,
                                gemel_tensor **cropped, gemel_error *error) {
  gemel_view view = gemel_tensor_view((gemel_tensor *)tensor);
  int64_t shape[GEMEL_MAX_RANK];
  for (int k = 0; k < view.rank; k++) {
    int64_t size = scaled_size(s, view.shape[k]);
    shape[k] = size < view.shape[k] ? size : view.shape[k];
  }
  view.shape = shape;
  *cropped = gemel_tensor_copy(&view, error);
  return *cropped != NULL ? GEMEL_OK : GEMEL_NO_MEMORY;
}

/* The constant that NODE is; NULL: it is none. */
static const gemel_tensor *constant_of(const gemel_graph *graph, uint32_t node) {
  const gemel__node *record = gemel__node_at(graph, node);
  return record->op == GEMEL__OP_constant
             ? gemel__attrs_at(graph->context, record->attrs)->values[0].u.tensor
             : NULL;
}

/* 1 if NODE is a constant whose sizes change. */
static int is_cropped(const struct scaled *s, const gemel_graph *graph, uint32_t node) {
  gemel_type type = gemel__node_type(graph, node, 0);
  return constant_of(graph, node) != NULL && !gemel_type_equal(scaled_type(s, type), type);
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
  if (is_cropped(s, s->from, node)) {
    GEMEL__TRY(crop_tensor(s, constant_of(s->from, node), &to->numbers, error));
  } else if (numbers != NULL) {
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
 * tensor, whose sizes are its own, and its type would change, unless constants are cropped. */
static int scalable(const struct scaled *s, uint32_t node) {
  const gemel__node *record = gemel__node_at(s->from, node);
  const struct gemel__attrs *attrs = gemel__attrs_at(s->context, record->attrs);
  gemel_type type = gemel__node_type(s->from, node, 0);
  if (gemel__has_output(s->from, node, 0) && gemel__type_at(s->context, type)->has_runtime) {
    return 0;
  }
  if (s->map->crops && constant_of(s->from, node) != NULL) {
    return 1;
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

/* ---- Cropped constants ---- */

/* Attributes of the constants that are cropped, interned: the same content has the same number. */
struct cropped {
  const gemel__scaling *map;
  uint32_t *ids;
  size_t n, room;
  int failed;
};

static void note_cropped(void *user, const gemel_graph *graph) {
  struct cropped *c = user;
  struct scaled s = {.map = c->map, .from = graph, .context = gemel_graph_context(graph)};
  for (uint32_t k = 0; k < gemel_graph_node_count(graph) && !c->failed; k++) {
    if (is_cropped(&s, graph, k)) {
      c->failed = gemel__grow(&c->ids, &c->room, c->n + 1, sizeof *c->ids);
      if (!c->failed) {
        c->ids[c->n++] = gemel__node_at(graph, k)->attrs;
      }
    }
  }
}

static int compare_ids(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return (x > y) - (x < y);
}

/* Sorts the numbers and leaves one of each. */
static void settle_cropped(struct cropped *c) {
  size_t n = 0;
  qsort(c->ids, c->n, sizeof *c->ids, compare_ids);
  for (size_t k = 0; k < c->n; k++) {
    if (n == 0 || c->ids[n - 1] != c->ids[k]) {
      c->ids[n++] = c->ids[k];
    }
  }
  c->n = n;
}

int gemel__scaling_crops_alike(const gemel_graph *a, const gemel_graph *b,
                               const gemel__scaling *scaling) {
  struct cropped left = {.map = scaling}, right = {.map = scaling};
  gemel__graph_visit(a, note_cropped, &left);
  gemel__graph_visit(b, note_cropped, &right);
  int alike = !left.failed && !right.failed;
  if (alike && left.n > 0 && right.n > 0) {
    settle_cropped(&left);
    settle_cropped(&right);
  }
  alike = alike && left.n == right.n &&
          (left.n == 0 || memcmp(left.ids, right.ids, left.n * sizeof *left.ids) == 0);
  gemel__free(left.ids, left.room * sizeof *left.ids);
  gemel__free(right.ids, right.room * sizeof *right.ids);
  return alike;
}

/* ---- Graph and bodies ---- */

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
