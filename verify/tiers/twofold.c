/* SPDX-License-Identifier: MIT
 *
 * Judges instances that compute one thing in two ways, such as an operation of a part of its
 * operands and a part of its result: outputs that stand beside each other must have the same bits.
 * No reference is needed, so many sizes can be tried in one graph, in two variants.
 */
#include <string.h>
#include "core/alloc.h"
#include "core/error.h"
#include "core/tensor.h"
#include "tiers/tiers.h"

/* Compares A with B element by element; the first that differs is that of OUTPUT. */
static void hold_together(const gemel_tensor *a, const gemel_tensor *b, size_t output,
                          const gemel__variant *variant, const char *as, gemel__outcome *outcome) {
  gemel_dtype dtype = gemel_tensor_dtype(a);
  size_t n = (size_t)gemel_tensor_elements(a);
  outcome->compared += n;
  outcome->agreed += n;
  outcome->informative += n;
  n = gemel__tensors_equal(a, b) ? 0 : n;
  for (size_t i = 0; i < n && !outcome->refuted; i++) {
    const void *x = gemel__tensor_element(a, i), *y = gemel__tensor_element(b, i);
    if (!gemel__same_bits(dtype, x, y)) {
      outcome->refuted = 1;
      outcome->output = output;
      outcome->element = i;
      outcome->variant = variant->name;
      gemel__outcome_numbers(outcome, dtype, x, as, y);
    }
  }
}

/* Runs VARIANT and compares: neighbours, and with what the first variant gave (FIRST; it becomes
 * that). OUTPUTS has room for N. */
static gemel_status run(const gemel__instance *instance, const gemel__variant *variant,
                        gemel_tensor *const *values, const gemel__trial *trial, size_t n,
                        gemel_tensor **outputs, gemel_tensor **first, gemel__outcome *outcome,
                        gemel_error *error) {
  gemel_error problem = {GEMEL_OK, 0, 0, ""};
  gemel_status status = gemel__execute(instance, variant, values, trial->random, outputs, &problem);
  if (status != GEMEL_OK) {
    return gemel__judge_failure(status, variant->name, &problem, outcome, error);
  }
  for (size_t k = 0; k < n && !outcome->refuted; k++) {
    if (k % 2 == 1) {
      hold_together(outputs[k - 1], outputs[k], k, variant, " in the other way", outcome);
    }
    if (first[k] != NULL && !outcome->refuted) {
      hold_together(first[k], outputs[k], k, variant, " as fused", outcome);
    }
  }
  for (size_t k = 0; k < n && first[k] == NULL; k++) {
    first[k] = outputs[k];
    outputs[k] = NULL;
  }
  gemel__tensors_release(n, outputs);
  return GEMEL_OK;
}

gemel_status gemel__check_twofold(const gemel__instance *instance, gemel_tensor *const *values,
                                  const gemel__trial *trial, gemel__outcome *outcome,
                                  gemel_error *error) {
  enum { VARIANTS = 2 }; /* fused, plain */
  size_t n = gemel_graph_output_count(instance->graph);
  gemel_tensor **outputs = gemel__alloc_zeroed(2 * n * sizeof *outputs);
  gemel_status status = outputs != NULL ? GEMEL_OK : gemel__no_memory(error, "results");
  for (int v = 0; v < VARIANTS && status == GEMEL_OK && !outcome->refuted; v++) {
    status = run(instance, &gemel__few_variants[v], values, trial, n, outputs, outputs + n, outcome,
                 error);
  }
  gemel__tensors_free(2 * n, outputs);
  return status;
}
