/* SPDX-License-Identifier: MIT
 *
 * A target for libFuzzer (ci/fuzz): any bytes as the text of a graph. It must be refused, or become
 * a graph that is whole and that, printed, is read as the same text again.
 */
#include <stdlib.h>
#include <string.h>
#include <gemel/gemel.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
  gemel_error error;
  gemel_context *context = gemel_context_new(&error);
  gemel_graph *graph = context != NULL ? gemel_parse(context, (const char *)bytes, length,
                                                     "fuzzed.gmt", NULL, &error)
                                       : NULL;
  char *text = graph != NULL ? gemel_print_string(graph, "f", &error) : NULL;
  gemel_graph *again =
      text != NULL ? gemel_parse(context, text, strlen(text), "again.gmt", NULL, &error) : NULL;
  char *same = again != NULL ? gemel_print_string(again, "f", &error) : NULL;
  if (graph != NULL && (gemel_graph_check(graph, &error) != GEMEL_OK || text == NULL ||
                        same == NULL || strcmp(text, same) != 0)) {
    abort();
  }
  gemel_text_free(text);
  gemel_text_free(same);
  gemel_graph_unref(graph);
  gemel_graph_unref(again);
  gemel_context_unref(context);
  return 0;
}
