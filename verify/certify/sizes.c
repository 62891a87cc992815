/* SPDX-License-Identifier: MIT
 *
 * Chooses sizes of regions, see sizes.h. Exact evaluation of a thousand rows takes seconds and
 * shows no more than three rows do, unless the region depends on the number. If an index is
 * compared with a literal 20, it does: then a size of 50 becomes 23 instead of 2, and a size of 21
 * stays. Type rules check that the result is a graph. If it isn't, sizes stay.
 */
#include "certify/sizes.h"

#include <math.h>
#include <string.h>
#include "core/alloc.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/graph.h"
#include "ops/ops.h"
#include "pairs/numbers.h"
#include "pairs/scale.h"
#include "tiers/tiers.h"

enum { NEAR = 2, AXES = 5 };

/* ---- Literals ---- */

static void add_literal(gemel__literals *l, double x, int place) {
  for (size_t k = 0; k < l->n; k++) {
    if (l->x[k] == x) {
      l->place[k] |= place != 0;
      return;
    }
  }
  if (isfinite(x) && l->n < GEMEL__MOST_LITERALS) {
    l->place[l->n] = place != 0;
    l->x[l->n++] = x;
  }
}

/* Axes and permutations are small integers too, but no indices. */
static void add_integer(gemel__literals *l, int64_t x) {
  if (x >= AXES || x <= -AXES) {
    add_literal(l, (double)x, 1);
  }
}

static void add_dim(const gemel_graph *graph, gemel_dim dim, gemel__literals *l) {
  int64_t size;
  if (gemel_dim_is_constant(graph->context, dim, &size)) {
    add_literal(l, (double)size, 1);
  }
}

static void add_attr(const gemel_graph *graph, const gemel_attr *a, gemel__literals *l) {
  switch ((unsigned)a->kind) {
  case GEMEL_ATTR_FLOAT:
    add_literal(l, a->u.f, 0);
    break;
  case GEMEL_ATTR_INT:
    add_integer(l, a->u.i);
    break;
  case GEMEL_ATTR_LIST | GEMEL_ATTR_INT:
    for (size_t k = 0; k < a->count; k++) {
      add_integer(l, a->u.ints[k]);
    }
    break;
  case GEMEL_ATTR_DIM:
    add_dim(graph, a->u.dim, l);
    break;
  case GEMEL_ATTR_LIST | GEMEL_ATTR_DIM:
    for (size_t k = 0; k < a->count; k++) {
      add_dim(graph, a->u.dims[k], l);
    }
    break;
  case GEMEL_ATTR_TENSOR:
    for (int64_t k = 0; k < gemel_tensor_elements(a->u.tensor) && k < GEMEL__MOST_LITERALS; k++) {
      add_literal(l,
                  gemel__decode(gemel_tensor_dtype(a->u.tensor),
                                gemel__tensor_element(a->u.tensor, (size_t)k)),
                  0);
    }
    break;
  default:
    break;
  }
}

/* 1 if NODE makes numbers of indices or sizes: its results aren't of the dtype of any input
 * (arange, argmax, a size). */
static int makes_positions(const gemel_graph *graph, uint32_t node) {
  uint32_t count;
  const gemel__ref *in = gemel__node_inputs(graph, node, &count);
  const gemel__op *op = gemel__node_op(graph, node);
  gemel_dtype dtype = gemel_type_dtype(graph->context, gemel__node_type(graph, node, 0));
  if (op->record.flags & GEMEL_OP_SOURCE || gemel__scalar_row_of(&op->record) != NULL) {
    return 0;
  }
  for (uint32_t k = 0; k < count; k++) {
    if (gemel__ref_dtype(graph, in[k]) == dtype) {
      return 0;
    }
  }
  return dtype != GEMEL_BOOL && (count == 0 || !gemel__is_float(dtype));
}

/* Adds the literals of GRAPH, without its bodies'. */
static void add_literals(void *user, const gemel_graph *graph) {
  gemel__literals *literals = user;
  for (uint32_t node = 0; node < graph->n_nodes; node++) {
    uint32_t id = graph->nodes[node].attrs;
    const struct gemel__attrs *attrs = gemel__attrs_at(graph->context, id);
    if (graph->nodes[node].op == GEMEL__OP_input) {
      continue;
    }
    for (size_t k = 0; id != 0 && k < attrs->count; k++) {
      add_attr(graph, &attrs->values[k], literals);
    }
    literals->positions |= gemel__has_output(graph, node, 0) && makes_positions(graph, node);
  }
}

/* Bodies that can't be run may have any literals, and are skipped. */
void gemel__literals_find(const gemel_graph *const graphs[2], gemel__literals *literals) {
  memset(literals, 0, sizeof *literals);
  gemel__graph_visit(graphs[0], add_literals, literals);
  gemel__graph_visit(graphs[1], add_literals, literals);
}

/* ---- Constant sizes ---- */

/* 1 if X is itself a size, and so nothing to keep apart from sizes. */
static int is_size(const gemel__scaling *s, double x) {
  for (size_t k = 0; k < s->n; k++) {
    if (x == (double)s->from[k]) {
      return 1;
    }
  }
  return 0;
}

/* The least number that SIZE may become: above all literals below it, or SIZE itself if a literal
 * is near. */
static int64_t least(const gemel__scaling *s, const gemel__literals *l, int64_t size) {
  int64_t low = 2;
  for (size_t k = 0; k < l->n; k++) {
    double c = fabs(l->x[k]);
    if (is_size(s, c) || !(l->place[k] || l->positions)) {
      continue;
    }
    if (fabs((double)size - c) <= NEAR) {
      return size;
    }
    if (c < (double)size && ceil(c) + NEAR + 1 > (double)low) {
      low = (int64_t)ceil(c) + NEAR + 1;
    }
  }
  return low < size ? low : size;
}

static void find_small(const gemel_graph *graph, const gemel__literals *l, gemel__scaling *s) {
  unsigned char used[GEMEL__SMALL_SIZES] = {0};
  int64_t next = 2;
  gemel__scaling_sizes(graph, GEMEL__LARGE_SIZE, 0, s, used);
  for (size_t k = 0; k < s->n; k++) {
    int64_t low = least(s, l, s->from[k]);
    int64_t step = k > 0 ? s->from[k] - s->from[k - 1] : NEAR + 1;
    if (step <= NEAR) {
      next = s->to[k - 1] + step;
    }
    next = next < low ? low : next;
    while (next < GEMEL__SMALL_SIZES && used[next]) {
      next++;
    }
    s->to[k] = next < s->from[k] ? next : s->from[k];
    next = s->to[k] + NEAR + 1;
  }
}

/* 1 if A and B are still a pair. Integer attributes aren't scaled, so the results may have got
 * different shapes. */
static int is_pair(const gemel_graph *a, const gemel_graph *b) {
  return gemel__pair_check(a, b, NULL) == GEMEL_OK &&
         gemel_type_equal(gemel_value_type(gemel_graph_output(a, 0)),
                          gemel_value_type(gemel_graph_output(b, 0)));
}

int gemel__sizes_cut(const gemel_graph *const graphs[2], const gemel__literals *literals,
                     gemel_graph *small[2]) {
  gemel__scaling scaling;
  int smaller = 0;
  small[0] = small[1] = NULL;
  find_small(graphs[0], literals, &scaling);
  for (size_t k = 0; k < scaling.n; k++) {
    smaller |= scaling.to[k] != scaling.from[k];
  }
  if (smaller) {
    small[0] = gemel__graph_scaled(graphs[0], &scaling, NULL);
    small[1] = small[0] != NULL ? gemel__graph_scaled(graphs[1], &scaling, NULL) : NULL;
  }
  smaller = small[1] != NULL && is_pair(small[0], small[1]);
  for (int k = 0; k < 2 && !smaller; k++) {
    gemel_graph_unref(small[k]);
    small[k] = gemel_graph_ref((gemel_graph *)graphs[k]);
  }
  return smaller;
}

int gemel__sizes_symbolic(const gemel_graph *graph) {
  for (uint32_t k = 0; k < graph->n_nodes; k++) {
    const struct gemel__type *type;
    if (!gemel__has_output(graph, k, 0)) {
      continue;
    }
    type = gemel__type_at(graph->context, gemel__node_type(graph, k, 0));
    for (int j = 0; j < type->rank; j++) {
      int64_t size;
      if (!gemel_dim_is_constant(graph->context, type->dims[j], &size)) {
        return 1;
      }
    }
  }
  return 0;
}

/* ---- Symbols ---- */

/* The Kth positive integer of the literals, rounded up; 0: there is none. Large ones are skipped,
 * as they take too long. */
static int64_t literal_size(const gemel__literals *l, size_t k) {
  enum { MOST_SIZE = 4096 };
  for (size_t j = 0; j < l->n; j++) {
    double c = ceil(fabs(l->x[j]));
    if (c >= 1 && c <= MOST_SIZE && k-- == 0) {
      return (int64_t)c;
    }
  }
  return 0;
}

size_t gemel__sizes_draws(const gemel__literals *literals) {
  enum { MOST = 4 };
  size_t k = 0;
  while (k < MOST && literal_size(literals, k) > 0) {
    k++;
  }
  return 3 * k + 2;
}

gemel_status gemel__sizes_draw(const gemel_graph *const graphs[2], const gemel__literals *literals,
                               size_t k, gemel__random *random, gemel__pair *pair,
                               gemel_error *error) {
  int64_t c = literal_size(literals, k / 3);
  return gemel__pair_draw_all(pair, graphs[0], graphs[1], c > 0 ? c - 1 + (int64_t)(k % 3) : 0,
                              random, error);
}
