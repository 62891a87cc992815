/* SPDX-License-Identifier: MIT
 *
 * The null value: of no graph. Builders return it when they fail; in derivatives it stands for
 * zero.
 */
#ifndef GEMEL__CORE_VALUE_H
#define GEMEL__CORE_VALUE_H

#include <gemel/graph.h>

static const gemel_value gemel__no_value = {NULL, 0, 0};

static inline gemel_dtype gemel__value_dtype(gemel_value value) {
  return gemel_type_dtype(gemel_graph_context(value.graph), gemel_value_type(value));
}

#endif
