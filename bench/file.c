/* SPDX-License-Identifier: MIT
 *
 * Any graph: the time of a call. The graph is rewritten and compiled as gemel run would, its inputs
 * are random numbers in [0.5, 1), and sizes may be the letters of call.h. On a device all operands
 * and results lie there.
 */
#include "call.h"

#include <string.h>

int gemel__bench_file(gemel__bench *b, const char *path) {
  gemel_context *context =
      b->context != NULL ? gemel_context_ref(b->context) : gemel__context_need();
  gemel_graph *graph = NULL;
  gemel__call call;
  gemel__bench_contender alone = {gemel__call_complete, &call, 0, 0};
  int status = GEMEL__BAD;
  if (context != NULL) {
    status = gemel__graph_read(context, path, &graph, NULL, b->args);
  }
  memset(&call, 0, sizeof call);
  if (graph != NULL) {
    status = gemel__call_open_graph(&call, b, graph, path);
    if (status == GEMEL__GOOD) {
      gemel__bench_race(&alone, 1, 1e-3 * (double)b->time_ms);
      gemel__bench_report(b, path, "call", alone.best, "s", NULL);
      status = gemel__call_check(&call, path);
    }
    gemel__call_clear(&call);
  }
  gemel_graph_unref(graph);
  gemel_context_unref(context);
  return status;
}
