/* SPDX-License-Identifier: MIT
 *
 * Reference of invoke: the body's outputs, evaluated by references. Bodies may be nested.
 * References recurse for a body only, here, in scan.c and in own.c: at most GEMEL_MAX_NESTING deep,
 * however deep a graph is.
 */
#include "reference/common.h"
#include "reference/twin.h"

static gemel_status reference_invoke(gemel__rcall *call) {
  const gemel_graph *body = call->attrs[0].u.graph;
  const gemel__evaluation *within = call->data;
  size_t n = gemel_graph_output_count(body);
  if (call->n_inputs != gemel_graph_input_count(body) || n > call->max_outputs) {
    return gemel__fail(call->error, GEMEL_INTERNAL, "the body has other inputs or outputs");
  }
  if (within->depth >= GEMEL_MAX_NESTING) {
    return gemel__fail(call->error, GEMEL_UNSUPPORTED, "bodies nested deeper than %d",
                       GEMEL_MAX_NESTING);
  }
  gemel__evaluation inside = *within;
  inside.depth++;
  inside.outer = within;
  gemel_status status =
      gemel__reference_body(body, call->domain, call->inputs, call->outputs, &inside, call->error);
  call->n_outputs = status == GEMEL_OK ? n : 0;
  return status;
}

const gemel__twin gemel__twin_invoke = {
    .reference = reference_invoke, .sample = gemel__sampler_invoke, .refuses_with = 1};
