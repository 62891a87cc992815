/* SPDX-License-Identifier: MIT
 *
 * Signs of values that depend on no input, see signs.h. Constants are looked through. Small values
 * that are computed from small ones are evaluated (closed.h).
 */
#include "equal/signs.h"

#include <math.h>
#include "core/dtype.h"
#include "domains/bound.h"
#include "equal/closed.h"
#include "tiers/tiers.h"

enum { ALL_FACTS = GEMEL_FACT_POSITIVE | GEMEL_FACT_FINITE };

/* The facts that hold of numbers from LOW to HIGH. */
static unsigned facts_of(double low, double high) {
  unsigned facts = isfinite(low) && isfinite(high) ? GEMEL_FACT_FINITE : 0;
  facts |= low >= 0 ? GEMEL_FACT_NONNEGATIVE : 0;
  return facts | (low > 0 || high < 0 ? GEMEL_FACT_NONZERO : 0);
}

static unsigned facts_of_tensor(const gemel_tensor *tensor) {
  gemel_dtype dtype = gemel_tensor_dtype(tensor);
  size_t n = (size_t)gemel_tensor_elements(tensor);
  const float *numbers = dtype == GEMEL_F32 ? gemel__tensor_plain(tensor) : NULL;
  int finite = 1, nonnegative = 1, nonzero = 1;
  for (size_t i = 0; i < n; i++) {
    double x =
        numbers != NULL ? numbers[i] : gemel__decode(dtype, gemel__tensor_element(tensor, i));
    finite &= fabs(x) < INFINITY;
    nonnegative &= x >= 0;
    nonzero &= x < 0 || x > 0;
  }
  return (finite ? GEMEL_FACT_FINITE : 0u) | (nonnegative ? GEMEL_FACT_NONNEGATIVE : 0u) |
         (nonzero ? GEMEL_FACT_NONZERO : 0u);
}

static unsigned facts_of_value(gemel__domain *d, const gemel__rtensor *r) {
  unsigned facts = ALL_FACTS;
  for (size_t i = 0; i < r->count && facts != 0; i++) {
    const void *e = gemel__rtensor_at(r, i);
    double x = gemel__bound_value(d, e), radius = gemel__bound_radius(d, e);
    facts &= d->state(d, e) == GEMEL__DEFINED ? facts_of(x - radius, x + radius) : 0;
  }
  return facts;
}

static void take_value(void *user, uint32_t node, gemel__domain *d, const gemel__rtensor *value) {
  ((unsigned char *)user)[node] = (unsigned char)facts_of_value(d, value);
}

gemel_status gemel__closed_facts(const gemel_graph *graph, unsigned char *facts,
                                 gemel_error *error) {
  for (uint32_t k = 0; k < graph->n_nodes; k++) {
    const gemel__node *record = gemel__node_at(graph, k);
    int is_constant =
        record->op == GEMEL__OP_constant &&
        gemel__is_float(gemel_type_dtype(graph->context, gemel__node_type(graph, k, 0)));
    facts[k] = 0;
    if (is_constant) {
      facts[k] = (unsigned char)facts_of_tensor(
          gemel__attrs_at(graph->context, record->attrs)->values[0].u.tensor);
    }
  }
  return gemel__closed_values(graph, NULL, take_value, facts, error);
}
