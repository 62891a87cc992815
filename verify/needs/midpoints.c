/* SPDX-License-Identifier: MIT
 *
 * Numbers that show where something is rounded twice. A number half way between two of a narrower
 * dtype, and a little more, is rounded up; where it goes through a dtype in between, which loses
 * the little, it becomes half way, and then the even neighbour. Such numbers are rare: one of f64
 * in 2^13 changes between f32 and f16. So they are made, also as sums of half way and a little, and
 * as products with powers of two.
 */
#include "needs/midpoints.h"

#include <math.h>
#include "core/dtype.h"
#include "core/graph.h"
#include "instances/instance.h"

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
