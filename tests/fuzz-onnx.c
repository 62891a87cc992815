/* SPDX-License-Identifier: MIT
 *
 * A target for libFuzzer (ci/fuzz): any bytes as a model of ONNX. It must be refused, or
 * become a graph that is whole; a crash, a leak, a sanitizer's word or a hang is a finding.
 */
#include <stdlib.h>
#include <gemel/gemel.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
  gemel_error error;
  gemel_context *context = gemel_context_new(&error);
  gemel_onnx *model = gemel_onnx_parse(bytes, length, "fuzzed.onnx", NULL, &error);
  gemel_graph *graph = context != NULL && model != NULL
                           ? gemel_onnx_graph(model, context, NULL, NULL, &error)
                           : NULL;
  if (graph != NULL && gemel_graph_check(graph, &error) != GEMEL_OK) {
    abort();
  }
  gemel_graph_unref(graph);
  gemel_onnx_free(model);
  gemel_context_unref(context);
  return 0;
}
