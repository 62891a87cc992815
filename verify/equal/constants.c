/* SPDX-License-Identifier: MIT
 *
 * Recognizes folded constants, see constants.h. An optimiser replaces an expression of constants by
 * one constant, rounded. The expressions that it may have computed from BY's constants are the
 * offers (offers.h). Domain B evaluates each offer: for every element the exact value and a ball of
 * what a correct implementation may have computed. A constant of GRAPH is folded from an offer if
 * all its elements lie in the offer's balls: in the same shape, reshaped, with axes in another
 * order, repeated, as a part of the offer, or as several offers side by side. It is then replaced
 * by the offer's expression, i.e. by the real number that it is a rounding of. The models decide
 * whether the graphs are then equal.
 *
 * A constant may be a rounding of several numbers: 0.70710677 is 1 ÷ 1.4142135 rounded, and 0.5 ×
 * 1.4142135 exactly. So up to MOST_WAYS offers are tried, the nearest first.
 *
 * A graph may also compute with constants that were folded: W + R became V + 0. So if that isn't
 * enough, values that are computed from such constants alone are compared with the offers too, each
 * rounded once more, to its dtype. They may also have become 0, 1 or −1, which are offered, too.
 *
 * A constant that both graphs have may be folded all the same: b - m · k is b again if m · k is
 * less than b's last digit. Such are compared too, but only with what needs other constants.
 *
 * Balls are taken twice as wide (WIDENED), since the same operations in another order may round
 * twice as far. An offer that rounds nothing has balls of radius 0 and matches only itself.
 */
#include "equal/constants.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include "core/alloc.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/graph.h"
#include "core/value.h"
#include "pairs/contrast.h"
#include "instances/instance.h"
#include "equal/closed.h"
#include "equal/offer-values.h"
#include "equal/offers.h"
#include "instances/rebuild.h"
#include "sample/points.h"

enum {
  MOST_FOUND = 4096,
  MOST_KNOWN = 1 << 14,
  MOST_PARTS = 16,
  MOST_SIZES = 256,
  MOST_WAYS = 4,
  MOST_CHOICES = 24
};
static const double widened = 2;

/* An offer that matches: VALUE, in the constant's shape. DISTANCE is the largest distance of an
 * element in bounds, OFF the sum of the elements' distances. */
struct match {
  double distance, off;
  gemel_value value;
};

/* The N nearest matches, all of them different numbers. */
struct matches {
  struct match of[MOST_WAYS];
  size_t n;
  int computed; /* what was matched is no constant, but rounded */
};

struct constant_search {
  const gemel_graph *graph, *by;
  const gemel_graph *spared; /* a graph whose constants are left as they are, or NULL */
  int computed;              /* values computed from constants are sought, too */
  int known;                 /* constants that BY has are sought, too */
  gemel__ticker *ticker;
  gemel__offers offers;
  gemel__offer_values values;
  struct {
    gemel_dtype dtype;
    int64_t elements;
  } sizes[MOST_SIZES];
  size_t n_sizes;            /* dtypes and sizes of the constants that are looked for */
  gemel__edit *edits;        /* by node of GRAPH */
  gemel_tensor **rounded;    /* by node of GRAPH: a computed value; NULL: it isn't sought */
  size_t n_rounded, n_known; /* of N_FOUND, constants that BY has */
  int failed;                /* memory is out */
  unsigned char *news;       /* by node of GRAPH: it isn't known, or computed from what isn't */
  struct matches *found;     /* by input in place of a constant */
  gemel_value *now;          /* likewise: the one of FOUND that is tried */
  char (*names)[32];
  const char **labels;
  gemel_type *types;
  size_t n_found;
};

static int is_constant(const gemel_graph *graph, size_t node) {
  return gemel__node_at(graph, (uint32_t)node)->op == GEMEL__OP_constant;
}

static const gemel_tensor *tensor_of(const struct constant_search *s, size_t node) {
  const gemel_graph *graph = s->graph;
  return s->rounded[node] != NULL
             ? s->rounded[node]
             : gemel__attrs_at(graph->context, graph->nodes[node].attrs)->values[0].u.tensor;
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

static void note_size(struct constant_search *s, const gemel_tensor *tensor) {
  gemel_dtype dtype = gemel_tensor_dtype(tensor);
  int64_t size = gemel_tensor_elements(tensor);
  size_t k = 0;
  while (k < s->n_sizes && (s->sizes[k].elements != size || s->sizes[k].dtype != dtype)) {
    k++;
  }
  if (k == s->n_sizes && k < MOST_SIZES) {
    s->sizes[k].dtype = dtype;
    s->sizes[s->n_sizes++].elements = size;
  }
}

/* The computed value of NODE becomes sought, its elements rounded to nearest. */
static void take_rounded(void *user, uint32_t node, gemel__domain *d, const gemel__rtensor *value) {
  struct constant_search *s = user;
  gemel_tensor *tensor = gemel_tensor_new(value->dtype, value->rank, value->shape, NULL);
  size_t size = gemel_dtype_size(value->dtype);
  int finite = 1;
  s->failed |= tensor == NULL;
  for (size_t i = 0; i < value->count && tensor != NULL; i++) {
    double x = gemel__bound_value(d, gemel__rtensor_at(value, i));
    finite &= isfinite(x) != 0;
    gemel__store_real(value->dtype, x, (char *)gemel_tensor_data(tensor) + i * size);
  }
  if (tensor == NULL || !finite) {
    gemel_tensor_unref(tensor);
    return;
  }
  s->rounded[node] = tensor;
  s->n_rounded++;
  s->edits[node].leaf = 1;
  note_size(s, tensor);
}

/* Marks in ENDS the nodes that depend on no input and whose values the rest of GRAPH takes; a node
 * with several results, which can't be replaced, passes it on to its operands. */
static void mark_ends(const gemel_graph *graph, const unsigned char *closed, unsigned char *ends) {
  for (size_t k = 0; k < gemel_graph_output_count(graph); k++) {
    uint32_t node = gemel_graph_output(graph, k).node;
    ends[node] = closed[node];
  }
  for (uint32_t k = (uint32_t)graph->n_nodes; k-- > 0;) {
    uint32_t count;
    const gemel__ref *inputs = gemel__node_inputs(graph, k, &count);
    for (uint32_t j = 0; j < count; j++) {
      if (!closed[k] || (ends[k] && gemel__has_output(graph, k, 1))) {
        ends[inputs[j].node] |= closed[inputs[j].node];
      }
    }
  }
}

/* Marks what is computed from news, too. */
static void spread_news(struct constant_search *s) {
  for (uint32_t k = 0; k < s->graph->n_nodes; k++) {
    uint32_t count;
    const gemel__ref *inputs = gemel__node_inputs(s->graph, k, &count);
    s->news[k] &= is_constant(s->graph, k);
    for (uint32_t j = 0; j < count; j++) {
      s->news[k] |= s->news[inputs[j].node];
    }
  }
}

/* Seeks the values that are computed from constants alone, some of which are news, and that the
 * rest of the graph takes. */
static gemel_status seek_computed(struct constant_search *s, gemel_error *error) {
  size_t n = s->graph->n_nodes;
  unsigned char *closed = gemel__alloc_zeroed(n + 1), *ends = gemel__alloc_zeroed(n + 1);
  gemel_status status = closed == NULL || ends == NULL ? gemel__no_memory(error, "constants") : 0;
  if (status == GEMEL_OK) {
    gemel__closed_mark(s->graph, closed);
    mark_ends(s->graph, closed, ends);
    spread_news(s);
    for (size_t k = 0; k < n; k++) {
      ends[k] &= s->news[k];
    }
    status = gemel__closed_values(s->graph, ends, take_rounded, s, error);
  }
  gemel__free(closed, n + 1);
  gemel__free(ends, n + 1);
  return s->failed ? gemel__no_memory(error, "constants") : status;
}

/* Marks what is sought by EDITS[k].leaf = 1, and notes its size: the float constants of GRAPH that
 * neither BY nor SPARED has, and if need be what is computed from such constants. */
static gemel_status mark_sought(struct constant_search *s, gemel_error *error) {
  uint32_t most = largest_attrs(s->graph), other = largest_attrs(s->by);
  most = other > most ? other : most;
  other = largest_attrs(s->spared);
  size_t n = (size_t)(other > most ? other : most) + 1;
  unsigned char *known = gemel__alloc_zeroed(n);
  gemel_status status = GEMEL_OK;
  if (known == NULL) {
    status = gemel__no_memory(error, "constants");
  } else {
    mark_known(s->by, known);
    mark_known(s->spared, known);
  }
  for (size_t k = 0; k < s->graph->n_nodes && status == GEMEL_OK; k++) {
    int constant = is_constant(s->graph, k);
    s->news[k] = constant && !known[s->graph->nodes[k].attrs];
    if ((s->news[k] ||
         (s->known && constant && gemel_tensor_elements(tensor_of(s, k)) <= MOST_KNOWN)) &&
        gemel__is_float(gemel__ref_dtype(s->graph, (gemel__ref){(uint32_t)k, 0}))) {
      s->edits[k].leaf = 1;
      note_size(s, tensor_of(s, k));
    }
  }
  if (status == GEMEL_OK && s->computed) {
    status = seek_computed(s, error);
  }
  gemel__free(known, n);
  return status;
}

/* 1 if a constant that is looked for may be an offer of so many elements, a part of it, or several
 * of it. */
static int is_wanted(void *user, gemel_dtype dtype, int64_t elements) {
  const struct constant_search *s = user;
  for (size_t k = 0; k < s->n_sizes && elements > 0; k++) {
    int64_t size = s->sizes[k].elements;
    if (s->sizes[k].dtype == dtype && (size >= elements || (size > 0 && elements % size == 0))) {
      return 1;
    }
  }
  return 0;
}

/* ---- Comparing ---- */

/* A block of a constant's elements, and where they lie in an offer. */
struct constant_block {
  int rank;
  int64_t shape[GEMEL_MAX_RANK], start[GEMEL_MAX_RANK]; /* within the constant */
  int64_t strides[GEMEL_MAX_RANK], offset;              /* within the offer */
};

static const struct match nowhere = {INFINITY, INFINITY, {NULL, 0, 0}};

/* How far the constant's element X is from element I of offer K: more than WIDENED bounds is no
 * match. */
static struct match distance(struct constant_search *s, size_t k, size_t i, double x) {
  double radius, ratio = gemel__offer_ratio(&s->values, k, i, x, &radius);
  if (!(ratio <= widened)) {
    return nowhere;
  }
  return (struct match){ratio, ratio * radius, {NULL, 0, 0}};
}

/* The largest distance within a block, and the sum of all; no match as soon as one element is too
 * far. */
static struct match compare(struct constant_search *s, const gemel_tensor *tensor, size_t k,
                            const struct constant_block *b) {
  const int64_t *has = gemel_tensor_shape(tensor);
  gemel_dtype dtype = gemel_tensor_dtype(tensor);
  int64_t index[GEMEL_MAX_RANK] = {0}, count = 1, n;
  struct match all = {0, 0, {NULL, 0, 0}}, here;
  int a;
  for (a = 0; a < b->rank; a++) {
    count *= b->shape[a];
  }
  for (n = 0; n < count && all.distance <= widened; n++) {
    int64_t at = 0, in_offer = b->offset;
    double x;
    for (a = 0; a < b->rank; a++) {
      at = at * has[a] + b->start[a] + index[a];
      in_offer += index[a] * b->strides[a];
    }
    x = gemel__decode(dtype, gemel__tensor_element(tensor, (size_t)at));
    here = distance(s, k, (size_t)in_offer, x);
    all.distance = fmax(all.distance, here.distance);
    all.off += here.off;
    for (a = b->rank; a-- > 0 && ++index[a] == b->shape[a];) {
      index[a] = 0;
    }
  }
  return all;
}

/* ---- Ways to match an offer ---- */

/* The place of M among the matches ALL, the nearest of which is the first. That isn't the one in
 * whose bounds it is nearest: the wider those, the less that says. MOST_WAYS if M is too far, or
 * a number that is among them already. */
static size_t place_of(const struct matches *all, const struct match *m) {
  size_t place = 0;
  if (!(m->distance <= widened)) {
    return MOST_WAYS;
  }
  for (size_t k = 0; k < all->n; k++) {
    if (fabs(all->of[k].off - m->off) <= 1e-14 * m->off) {
      return MOST_WAYS;
    }
    place += all->of[k].off <= m->off;
  }
  return place;
}

static void add_match(struct matches *all, size_t place, const struct match *m, gemel_value value) {
  if (gemel_is_null(value)) {
    return;
  }
  all->n += all->n < MOST_WAYS;
  memmove(&all->of[place + 1], &all->of[place], (all->n - 1 - place) * sizeof *all->of);
  all->of[place] = *m;
  all->of[place].value = value;
}

static void strides_of(const gemel__rtensor *r, int64_t *strides) {
  int64_t step = 1;
  for (int a = r->rank; a-- > 0;) {
    strides[a] = step;
    step *= r->shape[a];
  }
}

/* The offer reshaped: the same elements in the same order. */
static void match_flat(struct constant_search *s, const gemel_tensor *tensor, size_t k,
                       struct matches *all) {
  struct constant_block b = {.rank = gemel_tensor_rank(tensor)};
  int64_t step = 1;
  for (int a = b.rank; a-- > 0;) {
    b.shape[a] = gemel_tensor_shape(tensor)[a];
    b.strides[a] = step;
    step *= b.shape[a];
  }
  struct match m = compare(s, tensor, k, &b);
  size_t place = place_of(all, &m);
  if (place < MOST_WAYS) {
    add_match(all, place, &m, gemel__offer_reshape(s->offers.all[k], b.rank, b.shape));
  }
}

/* Makes ORDER the next permutation in lexicographic order; 0 after the last. */
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

/* The offer with its axes (except those of size 1) in another order. */
static void match_shuffled(struct constant_search *s, const gemel_tensor *tensor, size_t k,
                           struct matches *all) {
  const gemel__rtensor *r = &s->values.of[k];
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
    for (int j = 0; j < n; j++) {
      fits &= r->shape[axes[order[j]]] == b.shape[place[j]];
      full[j] = axes[order[j]];
      b.strides[place[j]] = strides[axes[order[j]]];
    }
    struct match here = fits ? compare(s, tensor, k, &b) : nowhere;
    size_t at = place_of(all, &here);
    if (at < MOST_WAYS) {
      gemel_value shuffled = gemel__offer_shuffle(s->offers.all[k], n, full);
      add_match(all, at, &here, gemel__offer_reshape(shuffled, b.rank, b.shape));
    }
  }
}

/* The offer broadcast to the constant's shape. */
static void match_repeated(struct constant_search *s, const gemel_tensor *tensor, size_t k,
                           struct matches *all) {
  const gemel__rtensor *r = &s->values.of[k];
  struct constant_block b = {.rank = gemel_tensor_rank(tensor)};
  int64_t strides[GEMEL_MAX_RANK];
  int lead = b.rank - r->rank;
  strides_of(r, strides);
  for (int a = 0; a < b.rank; a++) {
    b.shape[a] = gemel_tensor_shape(tensor)[a];
    if (a >= lead && r->shape[a - lead] != 1 && r->shape[a - lead] != b.shape[a]) {
      return;
    }
    b.strides[a] = a < lead || r->shape[a - lead] == 1 ? 0 : strides[a - lead];
  }
  struct match m = lead >= 0 ? compare(s, tensor, k, &b) : nowhere;
  size_t place = place_of(all, &m);
  if (place < MOST_WAYS) {
    add_match(all, place, &m, gemel__offer_broadcast(s->offers.all[k], b.rank, b.shape));
  }
}

/* The only axis along which the offer and the constant differ in size; −1 if there isn't exactly
 * one. */
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

/* A slice of the offer along one axis. */
static void match_part(struct constant_search *s, const gemel_tensor *tensor, size_t k,
                       struct matches *all) {
  const gemel__rtensor *r = &s->values.of[k];
  int axis = odd_axis(r, tensor);
  struct constant_block b = {.rank = r->rank};
  if (axis < 0) {
    return;
  }
  strides_of(r, b.strides);
  memcpy(b.shape, gemel_tensor_shape(tensor), (size_t)r->rank * sizeof *b.shape);
  for (int64_t at = 0; at + b.shape[axis] <= r->shape[axis]; at++) {
    b.offset = at * b.strides[axis];
    struct match m = compare(s, tensor, k, &b);
    size_t place = place_of(all, &m);
    if (place < MOST_WAYS) {
      add_match(all, place, &m, part_of(s->offers.all[k], r->rank, axis, at, b.shape));
    }
  }
}

/* The offer that is TENSOR's slice from START along AXIS; −1 if there is none. */
static int64_t block_at(struct constant_search *s, const gemel_tensor *tensor, int axis,
                        int64_t start, struct match *m) {
  for (size_t k = 0; k < s->offers.n; k++) {
    const gemel__rtensor *r = &s->values.of[k];
    struct constant_block b = {.rank = r->rank};
    if (r->dtype != gemel_tensor_dtype(tensor) || odd_axis(r, tensor) != axis ||
        r->shape[axis] == 0 || start + r->shape[axis] > gemel_tensor_shape(tensor)[axis]) {
      continue;
    }
    strides_of(r, b.strides);
    memcpy(b.shape, r->shape, (size_t)r->rank * sizeof *b.shape);
    b.start[axis] = start;
    struct match part = compare(s, tensor, k, &b);
    if (part.distance <= widened) {
      m->distance = fmax(m->distance, part.distance);
      m->off += part.off;
      return (int64_t)k;
    }
  }
  return -1;
}

/* Several offers joined along one axis. */
static void match_joined(struct constant_search *s, const gemel_tensor *tensor,
                         struct matches *all) {
  for (int axis = 0; axis < gemel_tensor_rank(tensor); axis++) {
    gemel_value parts[MOST_PARTS];
    int64_t start = 0, size = gemel_tensor_shape(tensor)[axis];
    struct match m = {0, 0, {NULL, 0, 0}};
    size_t n = 0, place;
    while (start < size && n < MOST_PARTS) {
      int64_t k = block_at(s, tensor, axis, start, &m);
      if (k < 0) {
        break;
      }
      parts[n++] = s->offers.all[k];
      start += s->values.of[k].shape[axis];
    }
    place = start == size && n > 0 ? place_of(all, &m) : MOST_WAYS;
    if (place < MOST_WAYS) {
      gemel_attr attr = gemel_attr_int("axis", axis);
      add_match(all, place, &m, gemel__offer_make(s->offers.graph, "join", n, parts, 1, &attr));
    }
  }
}

static void find_matches(struct constant_search *s, const gemel_tensor *tensor,
                         struct matches *all) {
  int64_t size = gemel_tensor_elements(tensor);
  all->n = 0;
  for (size_t k = 0; k < s->offers.n && size > 0 && gemel__tick(s->ticker) == GEMEL_OK; k++) {
    const gemel__rtensor *r = &s->values.of[k];
    if (r->dtype != gemel_tensor_dtype(tensor)) {
      continue;
    }
    if ((int64_t)r->count == size) {
      match_flat(s, tensor, k, all);
      match_shuffled(s, tensor, k, all);
    } else if ((int64_t)r->count < size) {
      match_repeated(s, tensor, k, all);
    } else {
      match_part(s, tensor, k, all);
    }
  }
  if (all->n == 0) {
    match_joined(s, tensor, all);
  }
}

/* 1 if the expression of VALUE has a constant that GRAPH doesn't have. */
static int uses_others(struct constant_search *s, gemel_value value) {
  const gemel_graph *offers = s->offers.graph;
  uint32_t most = largest_attrs(s->graph), other = largest_attrs(offers);
  size_t n = (size_t)(other > most ? other : most) + 1;
  unsigned char *has = gemel__alloc_zeroed(n), *used = gemel__alloc_zeroed(offers->n_nodes + 1);
  int others = 0;
  s->failed |= has == NULL || used == NULL;
  if (has != NULL && used != NULL) {
    mark_known(s->graph, has);
    used[value.node] = 1;
    for (uint32_t k = value.node + 1; k-- > 0 && !others;) {
      uint32_t count;
      const gemel__ref *inputs = gemel__node_inputs(offers, k, &count);
      for (uint32_t j = 0; j < count; j++) {
        used[inputs[j].node] |= used[k];
      }
      others = used[k] && is_constant(offers, k) && !has[offers->nodes[k].attrs];
    }
  }
  gemel__free(has, n);
  gemel__free(used, offers->n_nodes + 1);
  return others;
}

/* Of a constant that BY has only expressions stay that are other numbers, and that GRAPH can't
 * compute by itself. */
static void keep_others(struct constant_search *s, struct matches *all) {
  size_t n = all->n;
  all->n = 0;
  for (size_t k = 0; k < n; k++) {
    if (all->of[k].off > 0 && uses_others(s, all->of[k].value)) {
      all->of[all->n++] = all->of[k];
    }
  }
}

/* Looks for what NODE, which is sought, may have been folded from. */
static void find(struct constant_search *s, uint32_t node) {
  struct matches *all = &s->found[s->n_found];
  int known = s->rounded[node] == NULL && !s->news[node];
  s->edits[node].leaf = 0;
  if (s->n_found < MOST_FOUND) {
    find_matches(s, tensor_of(s, node), all);
    all->computed = s->rounded[node] != NULL;
    if (known) {
      keep_others(s, all);
    }
    if (all->n > 0) {
      s->n_known += (size_t)known;
      s->edits[node].kind = GEMEL__EDIT_LEAF;
      s->edits[node].leaf = s->n_found++;
    }
  }
}

/* What is computed of known constants alone, and of such as were found, is right by itself. */
static void find_all(struct constant_search *s) {
  for (uint32_t k = 0; k < s->graph->n_nodes; k++) {
    if (s->edits[k].leaf == 1 && s->rounded[k] == NULL) {
      find(s, k);
      s->news[k] &= s->edits[k].kind != GEMEL__EDIT_LEAF;
    }
  }
  spread_news(s);
  for (uint32_t k = 0; k < s->graph->n_nodes; k++) {
    if (s->rounded[k] != NULL && s->news[k]) {
      find(s, k);
    }
  }
}

/* ---- The copy ---- */

/* GRAPH with an input in place of each constant that was matched. */
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
    s->types[k] = gemel_value_type(s->now[k]);
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

/* The offers that are tried, as outputs of a graph without inputs. */
static gemel_graph *expressions(struct constant_search *s, gemel_error *error) {
  gemel__ref *outputs = gemel__alloc_array(s->n_found, sizeof *outputs);
  gemel__rebuild rebuild = {s->offers.graph, NULL,    NULL,     0, NULL, NULL,
                            s->n_found,      outputs, s->labels};
  gemel_graph *result = NULL;
  for (size_t k = 0; k < s->n_found && outputs != NULL; k++) {
    outputs[k] = (gemel__ref){s->now[k].node, s->now[k].output};
  }
  if (outputs != NULL) {
    result = gemel__rebuild_graph(&rebuild, error);
  } else {
    gemel__no_memory(error, "constants");
  }
  gemel__free(outputs, s->n_found * sizeof *outputs);
  return result;
}

/* Inlines GIVEN and then LEAVES into INTO: the outputs of GIVEN are the last inputs of LEAVES. */
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
  if (gemel_graph_error(into)->status == GEMEL_NO_MEMORY) {
    status = gemel__no_memory(error, "constants");
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
  s->rounded = gemel__alloc_zeroed((s->graph->n_nodes + 1) * sizeof *s->rounded);
  s->news = gemel__alloc_zeroed(s->graph->n_nodes + 1);
  s->found = gemel__alloc_array(MOST_FOUND + 1, sizeof *s->found);
  s->now = gemel__alloc_array(MOST_FOUND, sizeof *s->now);
  s->names = gemel__alloc_array(MOST_FOUND, sizeof *s->names);
  s->labels = gemel__alloc_array(MOST_FOUND, sizeof *s->labels);
  s->types = gemel__alloc_array(MOST_FOUND, sizeof *s->types);
  return s->edits != NULL && s->rounded != NULL && s->news != NULL && s->found != NULL &&
                 s->now != NULL && s->names != NULL && s->labels != NULL && s->types != NULL
             ? GEMEL_OK
             : gemel__no_memory(error, "constants");
}

static void close_search(struct constant_search *s) {
  gemel__offer_values_clear(&s->values);
  for (size_t k = 0; s->rounded != NULL && k < s->graph->n_nodes; k++) {
    gemel_tensor_unref(s->rounded[k]);
  }
  gemel__free(s->edits, (s->graph->n_nodes + 1) * sizeof *s->edits);
  gemel__free(s->news, s->graph->n_nodes + 1);
  gemel__free(s->rounded, (s->graph->n_nodes + 1) * sizeof *s->rounded);
  gemel__free(s->found, (MOST_FOUND + 1) * sizeof *s->found);
  gemel__free(s->now, MOST_FOUND * sizeof *s->now);
  gemel__free(s->names, MOST_FOUND * sizeof *s->names);
  gemel__free(s->labels, MOST_FOUND * sizeof *s->labels);
  gemel__free(s->types, MOST_FOUND * sizeof *s->types);
  gemel__offers_clear(&s->offers);
}

static gemel_status offer_units(struct constant_search *s, gemel_error *error) {
  for (int dtype = 0; dtype < GEMEL_DTYPE_COUNT; dtype++) {
    for (int x = -1; x <= 1 && is_wanted(s, (gemel_dtype)dtype, 1); x++) {
      if (gemel__offers_add(&s->offers, gemel_scalar(s->offers.graph, (gemel_dtype)dtype, x)) !=
          0) {
        return gemel__no_memory(error, "constants");
      }
    }
  }
  return gemel_graph_error(s->offers.graph)->status;
}

/* Finds the offers that match constants of S's graph, except those that SPARED has. */
static gemel_status search(struct constant_search *s, gemel_error *error) {
  gemel_status status = open_search(s, error);
  status = status ? status : mark_sought(s, error);
  if (status == GEMEL_OK && s->n_sizes > 0) {
    status = gemel__offers_collect(&s->offers, s->by, is_wanted, s, error);
    status = status || s->n_rounded == 0 ? status : offer_units(s, error);
    status = status ? status : gemel__offer_values_make(&s->values, &s->offers, error);
    if (status == GEMEL_OK) {
      find_all(s);
      status = s->failed ? gemel__no_memory(error, "constants")
                         : gemel_graph_error(s->offers.graph)->status;
    }
  }
  return status == GEMEL_NO_MEMORY ? status : GEMEL_OK; /* other errors: nothing is folded */
}

/* Chooses one match for each constant. CHOICE counts through all combinations if there are at most
 * MOST_CHOICES. If there are more, one constant at a time takes another match than its first.
 * Returns 0 after the last choice. */
static int choose(struct constant_search *s, size_t choice) {
  size_t all = 1, left = choice;
  for (size_t k = 0; k < s->n_found; k++) {
    all = all > MOST_CHOICES ? all : all * s->found[k].n;
  }
  for (size_t k = 0; k < s->n_found; k++) {
    const struct matches *m = &s->found[k];
    size_t which = all <= MOST_CHOICES ? left % m->n : left < m->n ? left : 0;
    s->now[k] = m->of[which].value;
    left = all <= MOST_CHOICES ? left / m->n : left < m->n ? 0 : left - (m->n - 1);
  }
  return left == 0 && choice < MOST_CHOICES && s->n_found > 0;
}

/* ---- A pair ---- */

void gemel__folded_clear(gemel__folded *folded) {
  gemel_graph_unref(folded->a);
  gemel_graph_unref(folded->b);
  memset(folded, 0, sizeof *folded);
}

struct folding {
  const gemel_graph *a, *b;
  gemel__agree agree;
  void *user;
  gemel__ticker *ticker;
  gemel__folded *folded;
  int computed; /* values computed from constants are replaced, too */
  int known;    /* constants that both have are, too */
};

static int agrees(const struct folding *f) {
  const gemel__folded *folded = f->folded;
  return f->agree(f->user, folded->a != NULL ? folded->a : f->a,
                  folded->b != NULL ? folded->b : f->b);
}

/* Replaces folded constants of one side. If BOTH, those of the other side too, except the constants
 * from which this side's were folded. *DONE: the graphs agree then. */
static gemel_status fold_side(struct folding *f, int first, int both, int *done,
                              gemel_error *error) {
  gemel_graph **mine = first ? &f->folded->a : &f->folded->b;
  struct constant_search s;
  size_t before = f->folded->count;
  memset(&s, 0, sizeof s);
  s.graph = first ? f->a : f->b;
  s.by = first ? f->b : f->a;
  s.spared = first ? f->folded->b : f->folded->a;
  s.ticker = f->ticker;
  s.computed = f->computed;
  s.known = f->known;
  gemel_status status = search(&s, error);
  if (s.spared == NULL && ((f->computed && s.n_rounded == 0) || (f->known && s.n_known == 0))) {
    s.n_found = 0; /* nothing new to try */
  }
  for (size_t choice = 0; status == GEMEL_OK && !*done && choose(&s, choice) &&
                          (choice == 0 || !both) && gemel__tick(f->ticker) == GEMEL_OK;
       choice++) {
    gemel_error refused = {GEMEL_OK, 0, 0, ""};
    *mine = copy(&s, &refused);
    status = refused.status == GEMEL_NO_MEMORY ? gemel__no_memory(error, "constants") : GEMEL_OK;
    f->folded->count = before + s.n_found;
    if (*mine != NULL && both) {
      status = fold_side(f, !first, 0, done, error);
    } else if (*mine != NULL) {
      *done = agrees(f);
    }
    if (!*done) {
      gemel_graph_unref(*mine);
      *mine = NULL;
      f->folded->count = before;
    }
  }
  close_search(&s);
  return status;
}

gemel_status gemel__constants_fold(const gemel_graph *a, const gemel_graph *b, gemel__agree agree,
                                   void *user, gemel__ticker *ticker, gemel__folded *folded,
                                   gemel_error *error) {
  struct folding f = {a, b, agree, user, ticker, folded, 0, 0};
  gemel_status status = GEMEL_OK;
  int done = 0;
  memset(folded, 0, sizeof *folded);
  for (int way = 0; way < 6; way++) {
    f.computed = way / 2 == 1;
    f.known = way / 2 == 2;
    for (int first = 0; first < 2 && !done && status == GEMEL_OK; first++) {
      status = fold_side(&f, first, way % 2, &done, error);
    }
  }
  return status;
}

gemel_graph *gemel__constants_unfold(const gemel_graph *graph, const gemel_graph *by,
                                     gemel__ticker *ticker, size_t *count, size_t *rounded,
                                     gemel_error *error) {
  struct constant_search s;
  gemel_graph *unfolded = NULL;
  memset(&s, 0, sizeof s);
  s.graph = graph;
  s.by = by;
  s.ticker = ticker;
  s.computed = s.known = 1;
  gemel_status status = search(&s, error);
  *count = s.n_found;
  *rounded = 0;
  for (size_t k = 0; k < s.n_found; k++) {
    *rounded += s.found[k].of[0].off > 0 || s.found[k].computed;
  }
  if (status == GEMEL_OK && choose(&s, 0)) {
    unfolded = copy(&s, error);
  }
  close_search(&s);
  return unfolded;
}
