/* SPDX-License-Identifier: MIT
 *
 * A target for libFuzzer (ci/fuzz): any bytes as the binary form of a graph. It must be refused, or
 * become a graph that is whole. Its checksum would stop nearly all of them, so it is made right
 * first, where the format has it: in the last eight bytes.
 */
#include <stdlib.h>
#include <string.h>
#include <gemel/gemel.h>
#include "text/binary.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static void sign(uint8_t *bytes, size_t length) {
  size_t tail = GEMEL__SECTION_BYTES + 8;
  if (length > tail) {
    uint64_t checksum = gemel__checksum(GEMEL__CHECKSUM_START, bytes, length - tail);
    memcpy(bytes + length - sizeof checksum, &checksum, sizeof checksum);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
  gemel_error error;
  gemel_context *context = gemel_context_new(&error);
  uint8_t *copy = malloc(length + 1);
  if (copy != NULL) {
    memcpy(copy, bytes, length);
    sign(copy, length);
  }
  gemel_graph *graph = context != NULL && copy != NULL
                           ? gemel_deserialize(context, copy, length, NULL, &error)
                           : NULL;
  if (graph != NULL && gemel_graph_check(graph, &error) != GEMEL_OK) {
    abort();
  }
  free(copy);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
  return 0;
}
