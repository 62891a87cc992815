/* SPDX-License-Identifier: MIT
 *
 * Which outputs of two graphs differ, once the graphs do: each output is asked about alone, with
 * what it depends on. Many outputs get fewer points each. Nothing is said if no output differs
 * alone, as what told the graphs apart was found by chance then.
 */
#include "equal/equal.h"

#include <string.h>
#include "core/alloc.h"
#include "core/error.h"
#include "pairs/joint.h"

enum { USUAL_OUTPUTS = 4 };
#define LEAST_EFFORT 0.25

static gemel_status ask_output(gemel__run *run, gemel__joint *joint, const char *name, size_t k,
                               unsigned allow, gemel_pair_result *result, gemel_error *error) {
  gemel__part_graphs part;
  *result = (gemel_pair_result){.size = sizeof *result, .verdict = GEMEL_VERDICT_NOT_RUN};
  if (gemel__joint_same(joint, k)) {
    result->verdict = GEMEL_VERDICT_PASSED;
    result->bitwise = 1;
    return GEMEL_OK;
  }
  GEMEL__TRY(gemel__joint_part(joint, 1, &joint->left[k], &joint->right[k], &name, INT32_MAX,
                               SIZE_MAX, &part, error));
  gemel_status status = gemel__equal_divided(run, &part, name, allow, result, error);
  gemel__part_clear(&part);
  return status;
}

static int is_same(const gemel_pair_result *result) {
  return result->verdict == GEMEL_VERDICT_PASSED && result->refused == 0;
}

static gemel_status ask_all(gemel__run *run, gemel__joint *joint, const gemel_graph *a,
                            unsigned allow, gemel_pair_result *results, gemel_error *error) {
  size_t n = joint->n_outputs, same = 0;
  for (uint32_t k = 0; k < joint->n_nodes; k++) {
    if (gemel__joint_meet(joint, k) < 0) {
      return gemel__no_memory(error, "the outputs of two graphs");
    }
  }
  for (size_t k = 0; k < n && !gemel__stopped(run->ticker); k++) {
    const char *name = gemel_graph_output_name(a, k);
    gemel_status status = ask_output(run, joint, name, k, allow, &results[k], error);
    if (status == GEMEL_NO_MEMORY) {
      return status;
    }
    same += is_same(&results[k]);
  }
  for (size_t k = 0; k < n && same < n && !gemel__stopped(run->ticker); k++) {
    run->options.output(run->options.user, gemel_graph_output_name(a, k), &results[k]);
  }
  return GEMEL_OK;
}

gemel_status gemel__equal_outputs(const gemel__run *run, void *user, const gemel_graph *a,
                                  const gemel_graph *b, unsigned allow, gemel_error *error) {
  size_t n = gemel_graph_output_count(a);
  gemel__run own = *run;
  gemel__joint joint;
  if (n < 2 || run->options.output == NULL) {
    return GEMEL_OK;
  }
  own.options.sink = NULL;
  own.options.user = user;
  own.options.replay_folder = NULL;
  own.point = NULL;
  own.effort = n > USUAL_OUTPUTS ? LEAST_EFFORT : 1;
  gemel_pair_result *results = gemel__alloc_zeroed(n * sizeof *results);
  gemel_status status = results == NULL ? gemel__no_memory(error, "the outputs of two graphs")
                                        : gemel__joint_make(&joint, a, b, error);
  if (status == GEMEL_OK) {
    gemel__ticker_stage(run->ticker, "each output");
    status = ask_all(&own, &joint, a, allow, results, error);
    gemel__joint_clear(&joint);
  }
  gemel__free(results, n * sizeof *results);
  return status == GEMEL_NO_MEMORY ? status : GEMEL_OK; /* sizes at run time: nothing is said */
}
