/* SPDX-License-Identifier: MIT
 *
 * See midpoints.h. Numbers that show double rounding. Take a number slightly above the midpoint of
 * two numbers of a narrow dtype: it is rounded up. If it is rounded to a dtype in between first, it
 * may become the midpoint, which is rounded to the even neighbour. Such numbers are rare (one f64
 * in 2^13, for f32 and then f16), so they are constructed, also as sums of a midpoint and a small
 * number, and as products with powers of two.
 */
#include "needs/midpoints.h"

#include <math.h>
#include "core/dtype.h"
#include "core/graph.h"
#include "instances/instance.h"
#include "instances/assumed.h"
#include "needs/cut.h"
#include "needs/needs.h"
#include "ops/ops.h"
#include "pairs/lengths.h"

/* The float dtypes of the nodes' first results, a bit each. */
static unsigned dtypes_of(const gemel_graph *graph) {
  unsigned seen = 0;
  for (size_t k = 0; k < graph->n_nodes; k++) {
    gemel_dtype dtype = gemel_type_dtype(graph->context, gemel__node_type(graph, (uint32_t)k, 0));
    seen |= gemel__is_float(dtype) ? 1u << dtype : 0;
  }
  return seen;
}

int gemel__is_narrowing(const gemel__pair *pair) {
  unsigned seen = dtypes_of(pair->a.graph) | dtypes_of(pair->b.graph);
  return (seen & (seen - 1)) != 0;
}

/* 1 if NODE's result jumps where OPERAND changes slightly. */
static int is_order(const gemel_graph *graph, uint32_t node, gemel__ref operand) {
  uint32_t op = gemel__node_at(graph, node)->op;
  gemel_type from = gemel__node_type(graph, operand.node, operand.output);
  gemel_type to = gemel__node_type(graph, node, 0);
  return gemel__is_float(gemel_type_dtype(graph->context, from)) &&
         (op == GEMEL__OP_sign || op == GEMEL__OP_max_pool_grad || op == GEMEL__OP_max_pool_pick ||
          !gemel__is_float(gemel_type_dtype(graph->context, to)));
}

static int orders_rounded(const gemel_graph *graph) {
  enum { MOST = 400 };
  unsigned char rounded[MOST];
  int found = 0;
  for (uint32_t k = 0; k < graph->n_nodes && graph->n_nodes <= MOST && !found; k++) {
    uint32_t count;
    const gemel__ref *inputs = gemel__node_inputs(graph, k, &count);
    rounded[k] = gemel__arithmetic(graph, k) != 0;
    for (uint32_t j = 0; j < count; j++) {
      found |= rounded[inputs[j].node] && is_order(graph, k, inputs[j]);
      rounded[k] |= rounded[inputs[j].node];
    }
  }
  return found;
}

enum rounding_kind { MIDPOINT, LITTLE, POWER, KINDS };

/* Half way between two numbers of DIGITS digits, or beside that in one of P digits. */
static double midpoint(int digits, int p, gemel__random *random) {
  double odd = 2 * (double)gemel__random_between(random, (int64_t)1 << (digits - 1),
                                                 ((int64_t)1 << digits) - 1) +
               1;
  double beside = (double)gemel__random_between(random, -1, 1);
  return odd + beside * ldexp(1, digits + 1 - p);
}

void gemel__midpoints_fill(gemel_tensor *tensor, gemel__random *random) {
  static const gemel_dtype narrower[] = {GEMEL_F16, GEMEL_BF16, GEMEL_F32};
  gemel_dtype dtype = gemel_tensor_dtype(tensor);
  size_t n = (size_t)gemel_tensor_elements(tensor), size = gemel_dtype_size(dtype);
  int p = gemel__dtype_format(dtype)->digits, digits;
  enum rounding_kind kind = gemel__random_chance(random, 1, 2)
                                ? MIDPOINT
                                : (enum rounding_kind)gemel__random_below(random, KINDS);
  digits = gemel__dtype_format(narrower[gemel__random_below(random, 3)])->digits;
  digits = digits < p ? digits : p / 2;
  for (size_t i = 0; i < n; i++) {
    double sign = gemel__random_sign(random), x = sign;
    if (kind == MIDPOINT) {
      x = ldexp(sign * midpoint(digits, p, random),
                (int)gemel__random_between(random, -2, 2) - digits);
    } else if (kind == LITTLE) {
      x = ldexp(sign, -(int)gemel__random_between(random, digits + 2, p - 1));
    } else {
      x = ldexp(sign, (int)gemel__random_between(random, -2, 2));
    }
    gemel__store_real(dtype, x, (char *)gemel_tensor_data(tensor) + i * size);
  }
}

/* ---- All of them ---- */

static int shows_something(const gemel__pair *pair, gemel__planted what) {
  const gemel_graph *a = pair->a.graph, *b = pair->b.graph;
  switch (what) {
  case GEMEL__PLANT_MIDPOINTS:
    return gemel__is_narrowing(pair);
  case GEMEL__PLANT_NEIGHBOURS:
    return orders_rounded(a) || orders_rounded(b);
  case GEMEL__PLANT_LATE:
    return gemel__narrows_counts(a) || gemel__narrows_counts(b);
  default:
    return 1;
  }
}

static void plant_floats(gemel_tensor *tensor, gemel__planted what, double base,
                         gemel__random *random) {
  if (what == GEMEL__PLANT_MIDPOINTS) {
    gemel__midpoints_fill(tensor, random);
  } else if (what == GEMEL__PLANT_MINUS) {
    gemel__style_fill(tensor, GEMEL__STYLE_MINUS, random);
  } else if (what == GEMEL__PLANT_NEIGHBOURS) {
    gemel__points_store_neighbours(gemel_tensor_dtype(tensor), base, random,
                                   (size_t)gemel_tensor_elements(tensor),
                                   gemel_tensor_data(tensor));
  }
}

gemel_status gemel__plant(const gemel__pair *pair, gemel__planted what, gemel__random *random,
                          gemel_tensor ***values, gemel_error *error) {
  gemel__fill fill = what == GEMEL__PLANT_LATE ? GEMEL__FILL_LATE : GEMEL__FILL_FULL;
  *values = NULL;
  if (!shows_something(pair, what)) {
    return GEMEL_DECLINED;
  }
  gemel_status status = gemel__values_draw(&pair->a, fill, random, values, error);
  double base = what == GEMEL__PLANT_NEIGHBOURS ? gemel__points_draw_crowded(random) : 0;
  for (size_t k = 0; k < pair->a.n_leaves && status == GEMEL_OK; k++) {
    if (gemel__is_float(pair->a.leaves[k].dtype)) {
      plant_floats((*values)[k], what, base, random);
    }
    gemel__tensor_settle(&pair->a.leaves[k], (*values)[k]);
  }
  return status;
}
