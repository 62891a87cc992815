/* SPDX-License-Identifier: MIT
 *
 * A target for libFuzzer (ci/fuzz): any bytes as the text of two graphs, which are compared: of
 * other shapes, ranks, dtypes, inputs, outputs and symbols, too. Between them stands a line "==",
 * or
 * "==HOW" where HOW is what `gemel equal --match` is given.
 */
#include "fuzz.h"

static void compare(const gemel_graph *a, const gemel_graph *b, const char *words) {
  gemel_error error;
  double until;
  gemel_pair_result result = {.size = sizeof result};
  gemel_verify_options options = fuzz_options(words[0], &until);
  const char *match = options.tiers != 0 ? words + 1 : words;
  options.match = match[0] != '\0' ? match : NULL;
  gemel_verify_pair(a, b, "fuzzed", GEMEL_PAIR_DEFAULT, &options, &result, &error);
}

static void read_and_compare(const char *text, const char *cut, const char *line_end,
                             const char *end) {
  char words[100];
  gemel_error error;
  gemel_context *context = gemel_context_new(&error);
  gemel_graph *a = NULL, *b = NULL;
  snprintf(words, sizeof words, "%.*s", (int)(line_end - cut - 3), cut + 3);
  if (context != NULL) {
    a = gemel_parse(context, text, (size_t)(cut - text), "a.gmt", NULL, &error);
  }
  if (a != NULL) {
    b = gemel_parse(context, line_end, (size_t)(end - line_end), "b.gmt", NULL, &error);
  }
  if (b != NULL) {
    compare(a, b, words);
  }
  gemel_graph_unref(a);
  gemel_graph_unref(b);
  gemel_context_unref(context);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
  const char *text = (const char *)bytes, *end = text + length;
  const char *cut = length > 0 ? memmem(text, length, "\n==", 3) : NULL;
  const char *line_end = cut != NULL ? memchr(cut + 3, '\n', (size_t)(end - cut - 3)) : NULL;
  if (line_end != NULL) {
    read_and_compare(text, cut, line_end, end);
  }
  return 0;
}
