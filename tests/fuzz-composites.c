/* SPDX-License-Identifier: MIT
 *
 * A target for libFuzzer (ci/fuzz): any bytes as composites and operators of ONNX. They must be
 * refused, or each must be refused by a graph, or expanded into one that is whole.
 */
#include <stdlib.h>
#include <gemel/gemel.h>
#include "composites/composites.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

/* Applies C, as an operator if it is one, to as many of INPUTS as it takes. */
static void apply(gemel_context *context, const gemel__composite *c) {
  gemel_error error;
  gemel_graph *graph = gemel_graph_new(context, &error);
  gemel_value inputs[4] = {gemel_declare(graph, "x: f32[N, 4]"), gemel_declare(graph, "y: f16[4]"),
                           gemel_declare(graph, "i: i64[4]"), gemel_declare(graph, "m: bool[]")};
  gemel_value outputs[2];
  gemel__operator_node node = {13, 2, NULL};
  gemel__composite_expand(graph, c, c->domain != NULL ? &node : NULL,
                          c->n_operands < 4 ? c->n_operands : 4, inputs, 0, NULL, 2, outputs,
                          GEMEL_HERE);
  if (graph != NULL && gemel_graph_error(graph)->status == GEMEL_OK &&
      gemel_graph_check(graph, &error) != GEMEL_OK) {
    abort();
  }
  gemel_graph_unref(graph);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
  gemel_error error;
  gemel_context *context = gemel_context_new(&error);
  gemel__arena arena = {0};
  const gemel__composite *first = NULL;
  if (context != NULL && gemel__composites_parse(&arena, (const char *)bytes, length, "fuzzed",
                                                 &first, &error) == GEMEL_OK) {
    for (const gemel__composite *c = first; c != NULL; c = c->next) {
      apply(context, c);
    }
  }
  gemel__arena_clear(&arena);
  gemel_context_unref(context);
  return 0;
}
