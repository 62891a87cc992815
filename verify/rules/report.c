/* SPDX-License-Identifier: MIT
 *
 * Shows refuted rules, see report.h. What both sides share is printed once, so a rule with a
 * handful of operations takes a dozen lines.
 */
#include "rules/report.h"

#include <stdio.h>
#include "core/alloc.h"
#include "core/graph.h"
#include "harness/report.h"

static gemel_status merge_into(gemel_graph *graph, const gemel__pair *pair, size_t output,
                               gemel_value *in, gemel_value *left, gemel_value *right) {
  size_t n = gemel_graph_input_count(pair->a.graph), k;
  gemel_status status;
  for (k = 0; k < n; k++) {
    gemel_value input = gemel_graph_input(pair->a.graph, k);
    in[k] = gemel__input_like(graph, gemel_graph_input_name(pair->a.graph, k),
                              gemel_value_type(input), input);
  }
  status = gemel_graph_error(graph)->status;
  status = status ? status : gemel__graph_inline(graph, pair->a.graph, in, left, NULL);
  status = status ? status : gemel__graph_inline(graph, pair->b.graph, in, right, NULL);
  status = status ? status : gemel_output(left[output], "left");
  return status ? status : gemel_output(right[output], "right");
}

/* Both sides as one graph with two outputs; their inputs are in the same order. NULL: *STATUS says
 * why. */
static gemel_graph *merged(const gemel__pair *pair, size_t output, gemel_status *status) {
  size_t n = gemel_graph_input_count(pair->a.graph), m = gemel_graph_output_count(pair->a.graph);
  gemel_value *room = gemel__alloc_array(n + 2 * m, sizeof *room);
  gemel_graph *graph = gemel_graph_new(gemel_graph_context(pair->a.graph), NULL);
  *status = room != NULL && graph != NULL
                ? merge_into(graph, pair, output, room, room + n, room + n + m)
                : GEMEL_NO_MEMORY;
  if (*status != GEMEL_OK) {
    gemel_graph_unref(graph);
    graph = NULL;
  }
  gemel__free(room, (n + 2 * m) * sizeof *room);
  return graph;
}

char *gemel__rule_shown(const gemel__pair *pair, size_t output, gemel_tensor *const *values,
                        const char *place, const char *left, const char *right) {
  gemel__instance both = pair->a;
  gemel_status status;
  gemel_graph *one = merged(pair, output, &status);
  char *text, said[512];
  if (status == GEMEL_NO_MEMORY) {
    return NULL;
  }
  both.graph = one != NULL ? one : pair->a.graph;
  snprintf(said, sizeof said, "%s: left %s, right %s", place, left, right);
  text = gemel__counterexample(&both, one != NULL ? NULL : pair->b.graph, values, said, NULL, NULL);
  gemel_graph_unref(one);
  return text;
}

void gemel__rule_refuted(gemel__inquiry *q, const gemel__pair *pair, size_t output,
                         gemel_tensor *const *values, const char *place, const char *left,
                         const char *right, uint64_t seed) {
  char *text = gemel__rule_shown(pair, output, values, place, left, right);
  char *path = gemel__replay_write(q->run->options.replay_folder, &q->record, &pair->a,
                                   pair->b.graph, values, seed);
  q->refuted = 1;
  q->record.counterexample = text != NULL ? text : "(out of memory)";
  q->record.replay = path;
  gemel__inquiry_end(q, GEMEL_VERDICT_REFUTED, q->record.how, q->record.detail);
  gemel_text_free(text);
  gemel__free_string(path);
}
