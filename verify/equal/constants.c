/* SPDX-License-Identifier: MIT
 *
 * Folded constants, see constants.h. What the constants of BY may have been folded to (offers.h) is
 * evaluated in domain B, which gives for each element the ball of what a correct implementation may
 * have computed. A constant of GRAPH all of whose elements lie in the balls of one offer is folded
 * from it: in the offer's shape, in another one, with its axes in another order, repeated, as a
 * part of it, or as several of them side by side. It is then replaced by the expression that the
 * offer is, and stands for that real number; whether the graphs are equal then is for the models to
 * say.
 *
 * A ball is taken twice as wide as it is, since the same operations in another order may round
 * twice as far. An offer that no rounding takes part in has balls without extent, so nothing but
 * that very number lies in them, and a constant that is off by more than rounding finds no offer.
 */
#include "equal/constants.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include "core/alloc.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/graph.h"
#include "pairs/contrast.h"
#include "domains/bound.h"
#include "instances/instance.h"
#include "equal/offers.h"
#include "instances/rebuild.h"

enum { MOST_FOUND = 4096, MOST_PARTS = 16, MOST_SIZES = 256 };
static const double widened = 2;

struct constant_search {
  const gemel_graph *graph, *by;
  const gemel_graph *spared; /* NULL, or a graph whose constants are left as they are */
  gemel__ticker *ticker;
  gemel__offers offers;
  gemel__bound *bound;
  gemel__rtensor *values; /* by offer */
  double *largest;        /* by offer: of its elements; negative: not known yet */
  int64_t sizes[MOST_SIZES];
  size_t n_sizes;     /* of the constants that are sought */
  gemel__edit *edits; /* by node of GRAPH */
  gemel_value *found; /* by new leaf: the offer */
  char (*names)[32];
  const char **labels;
  gemel_type *types;
  size_t n_found;
};

static int is_constant(const gemel_graph *graph, size_t node) {
  return gemel__node_at(graph, (uint32_t)node)->op == GEMEL__OP_constant;
}

static int is_float(const gemel_graph *graph, gemel_value value) {
  return gemel__is_float(gemel_type_dtype(graph->context, gemel_value_type(value)));
}

static const gemel_tensor *tensor_of(const gemel_graph *graph, size_t node) {
  return gemel__attrs_at(graph->context, graph->nodes[node].attrs)->values[0].u.tensor;
}

/* ---- What is sought ---- */

static void mark_known(const gemel_graph *graph, unsigned char *known) {
  for (size_t k = 0; graph != NULL && k < graph->n_nodes; k++) {
    if (is_constant(graph, k)) {
      known[graph->nodes[k].attrs] = 1;
    }
  }
}

static uint32_t largest_attrs(const gemel_graph *graph) {
  uint32_t most = 0;
  for (size_t k = 0; graph != NULL && k < graph->n_nodes; k++) {
    most = graph->nodes[k].attrs > most ? graph->nodes[k].attrs : most;
  }
  return most;
}

static void note_size(struct constant_search *s, int64_t size) {
  size_t k = 0;
  while (k < s->n_sizes && s->sizes[k] != size) {
    k++;
  }
  if (k == s->n_sizes && k < MOST_SIZES) {
    s->sizes[s->n_sizes++] = size;
  }
}

/* Marks the float constants of GRAPH that neither BY nor SPARED has, by EDITS[k].leaf = 1. */
static gemel_status mark_sought(struct constant_search *s, gemel_error *error) {
  uint32_t most = largest_attrs(s->graph), other = largest_attrs(s->by);
  most = other > most ? other : most;
  other = largest_attrs(s->spared);
  size_t n = (size_t)(other > most ? other : most) + 1;
  unsigned char *known = gemel__alloc_zeroed(n);
  if (known == NULL) {
    return gemel__no_memory(error, "constants");
  }
  mark_known(s->by, known);
  mark_known(s->spared, known);
  for (size_t k = 0; k < s->graph->n_nodes; k++) {
    if (is_constant(s->graph, k) && !known[s->graph->nodes[k].attrs] &&
        is_float(s->graph, gemel__value(s->graph, (gemel__ref){(uint32_t)k, 0}))) {
      s->edits[k].leaf = 1;
      note_size(s, gemel_tensor_elements(tensor_of(s->graph, k)));
    }
  }
  gemel__free(known, n);
  return GEMEL_OK;
}

/* A constant may be an offer, a part of one, or have it as a part. */
static int is_wanted(void *user, int64_t elements) {
  const struct constant_search *s = user;
  for (size_t k = 0; k < s->n_sizes && elements > 0; k++) {
    int64_t size = s->sizes[k];
    if (size >= elements || (size > 0 && elements % size == 0)) {
      return 1;
    }
  }
  return 0;
}

static gemel_status evaluate(struct constant_search *s, gemel_error *error) {
  gemel_status status = GEMEL_OK;
  for (size_t k = 0; k < s->offers.n && status == GEMEL_OK; k++) {
    char name[32];
    snprintf(name, sizeof name, "offer%u", (unsigned)k);
    status = gemel_output(s->offers.all[k], name);
    s->largest[k] = -1;
  }
  return status ? status
                : gemel__reference_graph(s->offers.graph, &s->bound->domain, NULL, s->values, NULL,
                                         NULL, error);
}

/* ---- Comparing ---- */

/* A block of a constant's elements, and where each lies in an offer. */
struct constant_block {
  int rank;
  int64_t shape[GEMEL_MAX_RANK], start[GEMEL_MAX_RANK]; /* within the constant */
  int64_t strides[GEMEL_MAX_RANK], offset;              /* within the offer */
};

static double largest_of(struct constant_search *s, size_t k) {
  const gemel__rtensor *r = &s->values[k];
  if (s->largest[k] < 0) {
    s->largest[k] = 0;
    for (size_t i = 0; i < r->count; i++) {
      double x = fabs(gemel__bound_value(&s->bound->domain, gemel__rtensor_at(r, i)));
      s->largest[k] = x > s->largest[k] ? x : s->largest[k];
    }
  }
  return s->largest[k];
}

/* How far the constant's element X is from what offer K has at I, in bounds: above WIDENED it isn't
 * that. A ball that is wide among the offer's elements would explain anything. */
static double distance(struct constant_search *s, size_t k, size_t i, gemel_dtype dtype, double x) {
  gemel__domain *d = &s->bound->domain;
  const void *e = gemel__rtensor_at(&s->values[k], i);
  if (d->state(d, e) != GEMEL__DEFINED) {
    return INFINITY;
  }
  double ratio = gemel__bound_ratio(d, e, dtype, x);
  if (!(ratio <= widened)) {
    return INFINITY;
  }
  return gemel__bound_radius(d, e) <=
                 ldexp(largest_of(s, k), 6 - gemel__dtype_format(dtype)->digits)
             ? ratio
             : INFINITY;
}

/* The largest distance within a block; INFINITY as soon as one is too large. */
static double compare(struct constant_search *s, const gemel_tensor *tensor, size_t k,
                      const struct constant_block *b) {
  const int64_t *has = gemel_tensor_shape(tensor);
  gemel_dtype dtype = gemel_tensor_dtype(tensor);
  int64_t index[GEMEL_MAX_RANK] = {0}, count = 1, n;
  double worst = 0;
  int a;
  for (a = 0; a < b->rank; a++) {
    count *= b->shape[a];
  }
  for (n = 0; n < count && worst <= widened; n++) {
    int64_t at = 0, in_offer = b->offset;
    double x;
    for (a = 0; a < b->rank; a++) {
      at = at * has[a] + b->start[a] + index[a];
      in_offer += index[a] * b->strides[a];
    }
    x = gemel__decode(dtype, gemel__tensor_element(tensor, (size_t)at));
    worst = fmax(worst, distance(s, k, (size_t)in_offer, dtype, x));
    for (a = b->rank; a-- > 0 && ++index[a] == b->shape[a];) {
      index[a] = 0;
    }
  }
  return worst;
}

/* ---- Ways to be an offer ---- */

/* A constant that may be an offer, with what it then is. */
struct match {
  double distance;
  gemel_value value; /* of the constant's shape */
};

static void strides_of(const gemel__rtensor *r, int64_t *strides) {
  int64_t step = 1;
  for (int a = r->rank; a-- > 0;) {
    strides[a] = step;
    step *= r->shape[a];
  }
}

static void better(struct match *best, double distance, gemel_value value) {
  if (distance <= widened && distance < best->distance && !gemel_is_null(value)) {
    best->distance = distance;
    best->value = value;
  }
}

/* The same elements in the same order. */
static void match_flat(struct constant_search *s, const gemel_tensor *tensor, size_t k,
                       struct match *best) {
  struct constant_block b = {.rank = gemel_tensor_rank(tensor)};
  int64_t step = 1;
  double d;
  for (int a = b.rank; a-- > 0;) {
    b.shape[a] = gemel_tensor_shape(tensor)[a];
    b.strides[a] = step;
    step *= b.shape[a];
  }
  d = compare(s, tensor, k, &b);
  if (d < best->distance) {
    better(best, d, gemel__offer_reshape(s->offers.all[k], b.rank, b.shape));
  }
}

/* ORDER becomes the next one, in the order of dictionaries; 0 after the last. */
static int next_order(int64_t *order, int n) {
  int i = n - 2, j = n - 1;
  while (i >= 0 && order[i] > order[i + 1]) {
    i--;
  }
  if (i < 0) {
    return 0;
  }
  while (order[j] < order[i]) {
    j--;
  }
  int64_t t = order[i];
  order[i] = order[j];
  order[j] = t;
  for (i++, j = n - 1; i < j; i++, j--) {
    t = order[i];
    order[i] = order[j];
    order[j] = t;
  }
  return 1;
}

/* The same axes (but for those of size 1) in another order. */
static void match_shuffled(struct constant_search *s, const gemel_tensor *tensor, size_t k,
                           struct match *best) {
  const gemel__rtensor *r = &s->values[k];
  int64_t axes[GEMEL_MAX_RANK], order[GEMEL_MAX_RANK], strides[GEMEL_MAX_RANK];
  int64_t full[GEMEL_MAX_RANK];
  struct constant_block b = {.rank = gemel_tensor_rank(tensor)};
  int n = 0, m = 0, place[GEMEL_MAX_RANK];
  for (int a = 0; a < r->rank; a++) {
    order[n] = n;
    axes[n] = a;
    n += r->shape[a] != 1;
  }
  for (int a = 0; a < b.rank; a++) {
    b.shape[a] = gemel_tensor_shape(tensor)[a];
    place[m] = a;
    m += b.shape[a] != 1;
  }
  strides_of(r, strides);
  while (n == m && n >= 2 && n <= 4 && next_order(order, n)) {
    int fits = 1;
    double d;
    for (int j = 0; j < n; j++) {
      fits &= r->shape[axes[order[j]]] == b.shape[place[j]];
      full[j] = axes[order[j]];
      b.strides[place[j]] = strides[axes[order[j]]];
    }
    d = fits ? compare(s, tensor, k, &b) : INFINITY;
    if (d < best->distance) {
      better(
          best, d,
          gemel__offer_reshape(gemel__offer_shuffle(s->offers.all[k], n, full), b.rank, b.shape));
    }
  }
}

/* The offer broadcast to the constant's shape. */
static void match_repeated(struct constant_search *s, const gemel_tensor *tensor, size_t k,
                           struct match *best) {
  const gemel__rtensor *r = &s->values[k];
  struct constant_block b = {.rank = gemel_tensor_rank(tensor)};
  int64_t strides[GEMEL_MAX_RANK];
  int lead = b.rank - r->rank;
  double d;
  strides_of(r, strides);
  for (int a = 0; a < b.rank; a++) {
    b.shape[a] = gemel_tensor_shape(tensor)[a];
    if (a >= lead && r->shape[a - lead] != 1 && r->shape[a - lead] != b.shape[a]) {
      return;
    }
    b.strides[a] = a < lead || r->shape[a - lead] == 1 ? 0 : strides[a - lead];
  }
  d = lead >= 0 ? compare(s, tensor, k, &b) : INFINITY;
  if (d < best->distance) {
    better(best, d, gemel__offer_broadcast(s->offers.all[k], b.rank, b.shape));
  }
}

/* The axis along which the offer and the constant differ in size, others being alike; −1. */
static int odd_axis(const gemel__rtensor *r, const gemel_tensor *tensor) {
  int axis = -1;
  if (r->rank != gemel_tensor_rank(tensor)) {
    return -1;
  }
  for (int a = 0; a < r->rank; a++) {
    if (r->shape[a] != gemel_tensor_shape(tensor)[a]) {
      if (axis >= 0) {
        return -1;
      }
      axis = a;
    }
  }
  return axis;
}

static gemel_value part_of(gemel_value x, int rank, int axis, int64_t start, const int64_t *shape) {
  gemel_context *context = gemel_graph_context(x.graph);
  gemel_dim starts[GEMEL_MAX_RANK], sizes[GEMEL_MAX_RANK];
  gemel_attr attrs[2];
  for (int a = 0; a < rank; a++) {
    starts[a] = gemel_dim_constant(context, a == axis ? start : 0);
    sizes[a] = gemel_dim_constant(context, shape[a]);
  }
  attrs[0] = gemel_attr_dims("start", (size_t)rank, starts);
  attrs[1] = gemel_attr_dims("size", (size_t)rank, sizes);
  return gemel__offer_make(x.graph, "subtensor", 1, &x, 2, attrs);
}

/* A part of the offer, cut out along one axis. */
static void match_part(struct constant_search *s, const gemel_tensor *tensor, size_t k,
                       struct match *best) {
  const gemel__rtensor *r = &s->values[k];
  int axis = odd_axis(r, tensor);
  struct constant_block b = {.rank = r->rank};
  if (axis < 0) {
    return;
  }
  strides_of(r, b.strides);
  memcpy(b.shape, gemel_tensor_shape(tensor), (size_t)r->rank * sizeof *b.shape);
  for (int64_t at = 0; at + b.shape[axis] <= r->shape[axis]; at++) {
    double d;
    b.offset = at * b.strides[axis];
    d = compare(s, tensor, k, &b);
    if (d < best->distance) {
      better(best, d, part_of(s->offers.all[k], r->rank, axis, at, b.shape));
    }
  }
}

/* The offer that is TENSOR's block from START along AXIS; −1 if there is none. */
static int64_t block_at(struct constant_search *s, const gemel_tensor *tensor, int axis,
                        int64_t start, double *worst) {
  for (size_t k = 0; k < s->offers.n; k++) {
    const gemel__rtensor *r = &s->values[k];
    struct constant_block b = {.rank = r->rank};
    double d;
    if (r->dtype != gemel_tensor_dtype(tensor) || odd_axis(r, tensor) != axis ||
        r->shape[axis] == 0 || start + r->shape[axis] > gemel_tensor_shape(tensor)[axis]) {
      continue;
    }
    strides_of(r, b.strides);
    memcpy(b.shape, r->shape, (size_t)r->rank * sizeof *b.shape);
    b.start[axis] = start;
    d = compare(s, tensor, k, &b);
    if (d <= widened) {
      *worst = fmax(*worst, d);
      return (int64_t)k;
    }
  }
  return -1;
}

/* Offers side by side along one axis. */
static void match_joined(struct constant_search *s, const gemel_tensor *tensor,
                         struct match *best) {
  for (int axis = 0; axis < gemel_tensor_rank(tensor); axis++) {
    gemel_value parts[MOST_PARTS];
    int64_t start = 0, size = gemel_tensor_shape(tensor)[axis];
    double worst = 0;
    size_t n = 0;
    while (start < size && n < MOST_PARTS) {
      int64_t k = block_at(s, tensor, axis, start, &worst);
      if (k < 0) {
        break;
      }
      parts[n++] = s->offers.all[k];
      start += s->values[k].shape[axis];
    }
    if (start == size && n > 0 && worst < best->distance) {
      gemel_attr attr = gemel_attr_int("axis", axis);
      better(best, worst, gemel__offer_make(s->offers.graph, "join", n, parts, 1, &attr));
    }
  }
}

static struct match find_match(struct constant_search *s, const gemel_tensor *tensor) {
  struct match best = {INFINITY, {NULL, 0, 0}};
  int64_t size = gemel_tensor_elements(tensor);
  for (size_t k = 0;
       k < s->offers.n && size > 0 && best.distance > 0 && gemel__tick(s->ticker) == GEMEL_OK;
       k++) {
    const gemel__rtensor *r = &s->values[k];
    if (r->dtype != gemel_tensor_dtype(tensor)) {
      continue;
    }
    if ((int64_t)r->count == size) {
      match_flat(s, tensor, k, &best);
      match_shuffled(s, tensor, k, &best);
    } else if ((int64_t)r->count < size) {
      match_repeated(s, tensor, k, &best);
    } else {
      match_part(s, tensor, k, &best);
    }
  }
  if (best.distance > widened) {
    match_joined(s, tensor, &best);
  }
  return best;
}

static void find_all(struct constant_search *s) {
  for (size_t k = 0; k < s->graph->n_nodes; k++) {
    int sought = s->edits[k].leaf == 1 && s->edits[k].kind == GEMEL__EDIT_KEEP;
    s->edits[k].leaf = 0;
    if (sought && s->n_found < MOST_FOUND) {
      struct match match = find_match(s, tensor_of(s->graph, k));
      if (!gemel_is_null(match.value)) {
        s->edits[k].kind = GEMEL__EDIT_LEAF;
        s->edits[k].leaf = s->n_found;
        s->found[s->n_found++] = match.value;
      }
    }
  }
}

/* ---- The copy ---- */

/* GRAPH with an input in place of each constant that was found. */
static gemel_graph *with_leaves(struct constant_search *s, gemel_error *error) {
  size_t n = gemel_graph_output_count(s->graph);
  gemel__ref *outputs = gemel__alloc_array(n, sizeof *outputs);
  const char **names = gemel__alloc_array(n, sizeof *names);
  gemel__rebuild rebuild = {s->graph, s->edits, NULL,    s->n_found, s->labels,
                            s->types, n,        outputs, names};
  gemel_graph *result = NULL;
  for (size_t k = 0; k < s->n_found; k++) {
    snprintf(s->names[k], sizeof s->names[k], "unrounded%u", (unsigned)k);
    s->labels[k] = s->names[k];
    s->types[k] = gemel_value_type(s->found[k]);
  }
  if (outputs != NULL && names != NULL) {
    for (size_t k = 0; k < n; k++) {
      gemel_value output = gemel_graph_output(s->graph, k);
      outputs[k] = (gemel__ref){output.node, output.output};
      names[k] = gemel_graph_output_name(s->graph, k);
    }
    result = gemel__rebuild_graph(&rebuild, error);
  } else {
    gemel__no_memory(error, "constants");
  }
  gemel__free(outputs, n * sizeof *outputs);
  gemel__free(names, n * sizeof *names);
  return result;
}

/* The offers that were found, as a graph without inputs. */
static gemel_graph *expressions(struct constant_search *s, gemel_error *error) {
  gemel__ref *outputs = gemel__alloc_array(s->n_found, sizeof *outputs);
  gemel__rebuild rebuild = {s->offers.graph, NULL,    NULL,     0, NULL, NULL,
                            s->n_found,      outputs, s->labels};
  gemel_graph *result = NULL;
  for (size_t k = 0; k < s->n_found && outputs != NULL; k++) {
    outputs[k] = (gemel__ref){s->found[k].node, s->found[k].output};
  }
  if (outputs != NULL) {
    result = gemel__rebuild_graph(&rebuild, error);
  } else {
    gemel__no_memory(error, "constants");
  }
  gemel__free(outputs, s->n_found * sizeof *outputs);
  return result;
}

/* INTO gets LEAVES, whose last inputs are what EXPRESSIONS gives. */
static gemel_status join(struct constant_search *s, gemel_graph *into, const gemel_graph *leaves,
                         const gemel_graph *given, gemel_error *error) {
  size_t n_in = gemel_graph_input_count(s->graph), n_out = gemel_graph_output_count(s->graph);
  gemel_value *room = gemel__alloc_array(n_in + s->n_found + n_out, sizeof *room);
  gemel_value *outputs = room + n_in + s->n_found;
  gemel_status status = room != NULL ? GEMEL_OK : gemel__no_memory(error, "constants");
  for (size_t k = 0; k < n_in && status == GEMEL_OK; k++) {
    gemel_value input = gemel_graph_input(s->graph, k);
    room[k] = gemel__input_like(into, gemel_graph_input_name(s->graph, k), gemel_value_type(input),
                                input);
  }
  status = status ? status : gemel__graph_inline(into, given, NULL, room + n_in, error);
  status = status ? status : gemel__graph_inline(into, leaves, room, outputs, error);
  for (size_t k = 0; k < n_out && status == GEMEL_OK; k++) {
    status = gemel_output(outputs[k], gemel_graph_output_name(s->graph, k));
  }
  gemel__free(room, (n_in + s->n_found + n_out) * sizeof *room);
  return status;
}

static gemel_graph *copy(struct constant_search *s, gemel_error *error) {
  gemel_graph *leaves = with_leaves(s, error), *given = NULL, *into = NULL;
  if (leaves != NULL && (given = expressions(s, error)) != NULL &&
      (into = gemel_graph_new(s->graph->context, error)) != NULL &&
      join(s, into, leaves, given, error) != GEMEL_OK) {
    gemel_graph_unref(into);
    into = NULL;
  }
  gemel_graph_unref(leaves);
  gemel_graph_unref(given);
  return into;
}

/* ---- One graph ---- */

static gemel_status open_search(struct constant_search *s, gemel_error *error) {
  s->edits = gemel__alloc_zeroed((s->graph->n_nodes + 1) * sizeof *s->edits);
  s->bound = gemel__bound_new(128);
  s->found = gemel__alloc_array(MOST_FOUND, sizeof *s->found);
  s->names = gemel__alloc_array(MOST_FOUND, sizeof *s->names);
  s->labels = gemel__alloc_array(MOST_FOUND, sizeof *s->labels);
  s->types = gemel__alloc_array(MOST_FOUND, sizeof *s->types);
  return s->edits != NULL && s->bound != NULL && s->found != NULL && s->names != NULL &&
                 s->labels != NULL && s->types != NULL
             ? GEMEL_OK
             : gemel__no_memory(error, "constants");
}

static gemel_status open_values(struct constant_search *s, gemel_error *error) {
  s->values = gemel__alloc_zeroed((s->offers.n + 1) * sizeof *s->values);
  s->largest = gemel__alloc_array(s->offers.n + 1, sizeof *s->largest);
  return s->values != NULL && s->largest != NULL ? GEMEL_OK : gemel__no_memory(error, "constants");
}

static void close_search(struct constant_search *s) {
  if (s->values != NULL) {
    gemel__rtensors_clear(s->offers.n, s->values);
  }
  gemel__free(s->values, (s->offers.n + 1) * sizeof *s->values);
  gemel__free(s->largest, (s->offers.n + 1) * sizeof *s->largest);
  gemel__free(s->edits, (s->graph->n_nodes + 1) * sizeof *s->edits);
  gemel__free(s->found, MOST_FOUND * sizeof *s->found);
  gemel__free(s->names, MOST_FOUND * sizeof *s->names);
  gemel__free(s->labels, MOST_FOUND * sizeof *s->labels);
  gemel__free(s->types, MOST_FOUND * sizeof *s->types);
  gemel__bound_free(s->bound);
  gemel__offers_clear(&s->offers);
}

/* A copy of GRAPH in which constants that are folded from BY's are what they stand for; NULL if
 * there are none. Those that SPARED has are left alone. *COUNT: how many. */
static gemel_graph *unfold(const gemel_graph *graph, const gemel_graph *by,
                           const gemel_graph *spared, gemel__ticker *ticker, size_t *count,
                           gemel_status *outcome, gemel_error *error) {
  struct constant_search s;
  gemel_graph *result = NULL;
  memset(&s, 0, sizeof s);
  s.graph = graph;
  s.by = by;
  s.spared = spared;
  s.ticker = ticker;
  gemel_status status = open_search(&s, error);
  status = status ? status : mark_sought(&s, error);
  if (status == GEMEL_OK && s.n_sizes > 0) {
    status = gemel__offers_collect(&s.offers, by, is_wanted, &s, error);
    status = status ? status : open_values(&s, error);
    status = status ? status : evaluate(&s, error);
    if (status == GEMEL_OK) {
      find_all(&s);
    }
    if (s.n_found > 0) {
      result = copy(&s, error);
    }
  }
  *count = s.n_found;
  *outcome = status == GEMEL_NO_MEMORY ? status : GEMEL_OK; /* else: nothing is known of them */
  close_search(&s);
  return result;
}

/* ---- A pair ---- */

void gemel__folded_clear(gemel__folded *folded) {
  gemel_graph_unref(folded->a);
  gemel_graph_unref(folded->b);
  memset(folded, 0, sizeof *folded);
}

/* Folded constants of one side alone. */
static gemel_status fold_one(const gemel_graph *a, const gemel_graph *b, int first,
                             gemel__ticker *ticker, gemel__folded *folded, gemel_error *error) {
  gemel_status status;
  memset(folded, 0, sizeof *folded);
  if (first) {
    folded->a = unfold(a, b, NULL, ticker, &folded->count, &status, error);
  } else {
    folded->b = unfold(b, a, NULL, ticker, &folded->count, &status, error);
  }
  return status;
}

/* Then of the other side, too, but for the constants from which those of this one were folded. */
static gemel_status fold_other(const gemel_graph *a, const gemel_graph *b, gemel__ticker *ticker,
                               gemel__folded *folded, gemel_error *error) {
  gemel_status status;
  size_t count = 0;
  if (folded->a != NULL) {
    folded->b = unfold(b, a, folded->a, ticker, &count, &status, error);
  } else {
    folded->a = unfold(a, b, folded->b, ticker, &count, &status, error);
  }
  folded->count += count;
  return status;
}

static int agrees(const gemel__folded *folded, const gemel_graph *a, const gemel_graph *b,
                  gemel__agree agree, void *user) {
  return agree(user, folded->a != NULL ? folded->a : a, folded->b != NULL ? folded->b : b);
}

gemel_status gemel__constants_fold(const gemel_graph *a, const gemel_graph *b, gemel__agree agree,
                                   void *user, gemel__ticker *ticker, gemel__folded *folded,
                                   gemel_error *error) {
  gemel_status status = GEMEL_OK;
  for (int both = 0; both < 2; both++) {
    for (int first = 0; first < 2 && status == GEMEL_OK && gemel__tick(ticker) == GEMEL_OK;
         first++) {
      status = fold_one(a, b, first, ticker, folded, error);
      if (status == GEMEL_OK && both && (folded->a != NULL || folded->b != NULL)) {
        status = fold_other(a, b, ticker, folded, error);
      }
      if (status == GEMEL_OK && (folded->a != NULL || folded->b != NULL) &&
          agrees(folded, a, b, agree, user)) {
        return GEMEL_OK;
      }
      gemel__folded_clear(folded);
    }
  }
  return status;
}
