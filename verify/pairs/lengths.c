/* SPDX-License-Identifier: MIT
 *
 * Long axes for narrow dtypes, see lengths.h.
 */
#include "pairs/lengths.h"

#include <math.h>
#include <string.h>
#include "core/dtype.h"
#include "core/graph.h"
#include "ops/ops.h"

int64_t gemel__length(size_t k) {
  static const int64_t lengths[GEMEL__LENGTH_ROUNDS][GEMEL__LENGTHS] = {
      {130, 258, 2051, 32770, 65539},
      {129, 257, 2050, 32769, 65538},
      {128, 260, 2052, 32771, 65537},
      {131, 256, 2049, 32768, 65536}};
  return lengths[k / GEMEL__LENGTHS % GEMEL__LENGTH_ROUNDS][k % GEMEL__LENGTHS];
}

/* Which of the lengths is just beyond what DTYPE holds. */
static size_t own_length(gemel_dtype dtype) {
  return dtype == GEMEL_I8                          ? 0
         : dtype == GEMEL_U8 || dtype == GEMEL_BF16 ? 1
         : dtype == GEMEL_F16                       ? 2
         : dtype == GEMEL_I16                       ? 3
                                                    : 4;
}

int gemel__length_matters(size_t k, gemel_dtype dtype) {
  size_t which = k % GEMEL__LENGTHS, own = own_length(dtype);
  return which == own || (which > own && k / GEMEL__LENGTHS % GEMEL__LENGTH_ROUNDS < 2);
}

/* The most elements of an input of node K. */
static double widest_input(const gemel_graph *graph, uint32_t k) {
  uint32_t count;
  const gemel__ref *inputs = gemel__node_inputs(graph, k, &count);
  double most = 0;
  for (uint32_t j = 0; j < count; j++) {
    most = fmax(most,
                gemel__type_elements(graph->context,
                                     gemel__node_type(graph, inputs[j].node, inputs[j].output), 1));
  }
  return most;
}

/* 1 if node K, a size, is LENGTH or more, or a symbol. */
static int is_size_of(const gemel_graph *graph, uint32_t k, int64_t length) {
  const gemel_attr *attrs =
      gemel__attrs_at(graph->context, gemel__node_at(graph, k)->attrs)->values;
  int64_t size;
  return !gemel_dim_is_constant(graph->context, attrs[0].u.dim, &size) || size >= length;
}

int gemel__counts_up_to(const gemel_graph *graph, int64_t length) {
  for (uint32_t k = 0; k < graph->n_nodes; k++) {
    double elements = gemel__type_elements(graph->context, gemel__node_type(graph, k, 0), 1);
    switch (gemel__node_at(graph, k)->op) {
    case GEMEL__OP_size:
      if (is_size_of(graph, k, length)) {
        return 1;
      }
      break;
    case GEMEL__OP_arange:
    case GEMEL__OP_argsort:
    case GEMEL__OP_cumsum:
      if (elements >= (double)length) {
        return 1;
      }
      break;
    case GEMEL__OP_argmax:
    case GEMEL__OP_searchsorted:
    case GEMEL__OP_sum:
    case GEMEL__OP_dot:
      if (elements < (double)length && widest_input(graph, k) >= (double)length) {
        return 1;
      }
      break;
    default:
      break;
    }
  }
  return 0;
}

gemel_status gemel__pair_draw_long(gemel__pair *pair, const gemel_graph *a, const gemel_graph *b,
                                   size_t k, size_t which, gemel__random *random,
                                   gemel_error *error) {
  const char *names[GEMEL__MOST_SYMBOLS];
  int64_t sizes[GEMEL__MOST_SYMBOLS];
  size_t n = gemel__pair_symbols(a, names, GEMEL__MOST_SYMBOLS);
  memset(pair, 0, sizeof *pair);
  if (n == 0) {
    return GEMEL_BAD_SHAPE;
  }
  for (size_t j = 0; j < n; j++) {
    sizes[j] = j == which % n ? gemel__length(k) : 1;
  }
  return gemel__pair_draw_at(pair, a, b, n, names, sizes, random, error);
}
