/* SPDX-License-Identifier: MIT
 *
 * A target for libFuzzer (ci/fuzz): any bytes as a module of HLO. They must be refused, or become a
 * graph that is whole.
 */
#include <stdlib.h>
#include <gemel/gemel.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
  gemel_error error;
  gemel_context *context = gemel_context_new(&error);
  gemel_hlo *module = gemel_hlo_parse((const char *)bytes, length, "fuzzed", &error);
  gemel_graph *graph = gemel_hlo_graph(module, context, NULL, &error);
  if (graph != NULL && gemel_graph_check(graph, &error) != GEMEL_OK) {
    abort();
  }
  gemel_graph_unref(graph);
  gemel_hlo_free(module);
  gemel_context_unref(context);
  return 0;
}
