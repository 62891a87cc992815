/* SPDX-License-Identifier: MIT
 *
 * A target for libFuzzer (ci/fuzz): any bytes as the text of two graphs, with a line "==" between
 * them, which are compared: of other shapes, ranks, dtypes, inputs, outputs and symbols, too.
 */
#include <stdlib.h>
#include <string.h>
#include <gemel/verify.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static void take(void *user, const gemel_record *record) {
  (void)user;
  (void)record;
}

static int count_ticks(void *user, const char *doing) {
  size_t *ticks = user;
  (void)doing;
  return ++*ticks > 200;
}

static void compare(const gemel_graph *a, const gemel_graph *b) {
  gemel_error error;
  size_t ticks = 0;
  gemel_pair_result result = {.size = sizeof result};
  const gemel_verify_options options = {
      .size = sizeof options, .instances = 3, .sink = take, .tick = count_ticks, .user = &ticks};
  gemel_verify_pair(a, b, "fuzzed", GEMEL_PAIR_DEFAULT, &options, &result, &error);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
  gemel_error error;
  const char *text = (const char *)bytes,
             *cut = length > 4 ? memmem(bytes, length, "\n==\n", 4) : NULL;
  gemel_context *context = cut != NULL ? gemel_context_new(&error) : NULL;
  if (context == NULL) {
    return 0;
  }
  size_t first = (size_t)(cut - text);
  gemel_graph *a = gemel_parse(context, text, first, "a.gmt", NULL, &error);
  gemel_graph *b =
      a != NULL ? gemel_parse(context, cut + 4, length - first - 4, "b.gmt", NULL, &error) : NULL;
  if (b != NULL) {
    compare(a, b);
  }
  gemel_graph_unref(a);
  gemel_graph_unref(b);
  gemel_context_unref(context);
  return 0;
}
