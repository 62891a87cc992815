/* SPDX-License-Identifier: MIT
 *
 * Checks a folded constant: references compute it again. Integers and truths must be the same,
 * floats within the bound of domain B. Where B has no bound (NaN, infinities), domain S's result
 * must be of the same class.
 */
#include <math.h>
#include <string.h>
#include "certify/fold.h"
#include "core/alloc.h"
#include "core/cons.h"
#include "core/dtype.h"
#include "core/error.h"
#include "domains/bound.h"
#include "domains/special.h"
#include "reference/reference.h"
#include "tiers/tiers.h"

static const gemel_tensor *tensor_of(const gemel_graph *graph, uint32_t node) {
  return gemel__attrs_at(graph->context, gemel__node_at(graph, node)->attrs)->values[0].u.tensor;
}

gemel_graph *gemel__certify_alone(const gemel_graph *graph, uint32_t node, gemel_error *error) {
  uint32_t count;
  const gemel__ref *inputs = gemel__node_inputs(graph, node, &count);
  gemel_location nowhere = {"", 0};
  gemel_graph *into = gemel_graph_new(graph->context, error);
  gemel_value *operands = gemel__alloc_array(count + 1, sizeof *operands);
  gemel_status status = GEMEL_NO_MEMORY;
  if (into != NULL && operands != NULL) {
    for (uint32_t k = 0; k < count; k++) {
      const gemel__node *input = gemel__node_at(graph, inputs[k].node);
      operands[k] = gemel__apply(into, input->op, input->attrs, 0, NULL, nowhere);
    }
    status = gemel_output(gemel__apply(into, graph->nodes[node].op, graph->nodes[node].attrs, count,
                                       operands, nowhere),
                          "y");
  }
  gemel__free(operands, (count + 1) * sizeof *operands);
  if (status != GEMEL_OK) {
    gemel__no_memory(error, "a constant");
    gemel_graph_unref(into);
    return NULL;
  }
  return into;
}

static int same_class(gemel__domain *d, const void *e, double computed) {
  return gemel__special_is_nan(d, e) ? isnan(computed)
         : gemel__special_is_infinite(d, e)
             ? isinf(computed) && (signbit(computed) != 0) == gemel__special_sign_bit(d, e)
             : isfinite(computed);
}

static int element_holds(gemel__rtensor *bound, gemel__rtensor *special, size_t i,
                         const gemel_tensor *got) {
  gemel_dtype dtype = gemel_tensor_dtype(got);
  double computed = gemel__decode(dtype, gemel__tensor_element(got, i));
  const void *e = gemel__rtensor_at(bound, i);
  if (gemel__is_float(dtype) &&
      (!isfinite(computed) || bound->domain->state(bound->domain, e) != GEMEL__DEFINED)) {
    return same_class(special->domain, gemel__rtensor_at(special, i), computed);
  }
  return gemel__bound_ratio(bound->domain, e, dtype, computed) <= 1;
}

static int holds(gemel__rtensor *bound, gemel__rtensor *special, const gemel_tensor *got) {
  size_t count = (size_t)gemel_tensor_elements(got);
  int all =
      bound->dtype == gemel_tensor_dtype(got) && bound->count == count && special->count == count;
  for (size_t i = 0; i < count && all; i++) {
    all = element_holds(bound, special, i, got);
  }
  return all;
}

gemel_status gemel__certify_fold(const gemel_graph *graph, uint32_t before, uint32_t after,
                                 int *held, gemel_error *error) {
  gemel_graph *one = gemel__certify_alone(graph, before, error);
  gemel__bound *b = gemel__bound_new(128);
  gemel__special *s = gemel__special_new();
  gemel__rtensor bound, special;
  gemel_status status = one != NULL && b != NULL && s != NULL ? GEMEL_OK : GEMEL_NO_MEMORY;
  memset(&bound, 0, sizeof bound);
  memset(&special, 0, sizeof special);
  *held = 1;
  if (status == GEMEL_OK) {
    status = gemel__reference_graph(one, &b->domain, NULL, &bound, NULL, NULL, error);
    status = status ? status
                    : gemel__reference_graph(one, &s->domain, NULL, &special, NULL, NULL, error);
    *held = status == GEMEL_OK ? holds(&bound, &special, tensor_of(graph, after)) : -1;
    gemel__rtensor_clear(&bound);
    gemel__rtensor_clear(&special);
    status = status == GEMEL_NO_MEMORY ? status : GEMEL_OK;
  }
  gemel__special_free(s);
  gemel__bound_free(b);
  gemel_graph_unref(one);
  return status ? gemel__no_memory(error, "a constant") : GEMEL_OK;
}
