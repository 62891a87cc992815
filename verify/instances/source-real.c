/* SPDX-License-Identifier: MIT
 *
 * Sources of points (source.h) for tier real: numbers at which functions are defined, and
 * infinities.
 */
#include <math.h>
#include "core/dtype.h"
#include "instances/assumed.h"
#include "instances/source.h"

/* Moves all numbers of the point to where log, sqrt and inverse functions are likely to be defined:
 * all of one sign, and of any size, below 1, far below 1 or above 64. */
void gemel__put_inside(const gemel__drawn *point) {
  size_t way = point->turn;
  for (size_t k = 0; k < point->instance->n_leaves; k++) {
    const gemel__leaf *leaf = &point->instance->leaves[k];
    int free_leaf =
        gemel__is_float(leaf->dtype) && (leaf->range == GEMEL_RANGE_ANY || leaf->facts != 0);
    for (size_t i = 0; free_leaf && i < leaf->count; i++) {
      void *at = gemel__leaf_at(leaf, point->values[k], i);
      double x = fabs(gemel__decode(leaf->dtype, at));
      switch (way / 2 % 4) {
      case 1:
        x /= 1 + x;
        break;
      case 2:
        x /= 64 * (1 + x);
        break;
      case 3:
        x = 64 * (1 + x / (1 + x));
        break;
      }
      gemel__leaf_put(leaf, at, way % 2 == 0 ? x : -x);
    }
  }
}

/* Makes some elements of float inputs infinite. */
void gemel__put_infinite(const gemel__drawn *point) {
  for (size_t k = 0; k < point->instance->n_leaves; k++) {
    const gemel__leaf *leaf = &point->instance->leaves[k];
    int positive = leaf->range == GEMEL_RANGE_POSITIVE || leaf->range == GEMEL_RANGE_NONNEGATIVE;
    size_t step = 1 + gemel__random_below(point->random, 4);
    for (size_t i = gemel__random_below(point->random, step);
         gemel__is_float(leaf->dtype) && i < leaf->count; i += step) {
      double x = positive ? INFINITY : gemel__random_sign(point->random) * INFINITY;
      gemel__leaf_put(leaf, gemel__leaf_at(leaf, point->values[k], i), x);
    }
  }
}
