/*
 * What is assumed of inputs: it is kept by both forms of a graph, by copies and by bodies, and
 * rules that ask for it fire.
 *
 * SPDX-License-Identifier: MIT
 */
#include "ct.h"
#include "support/graph-text.h"

#include <stdio.h>
#include <string.h>
#include <gemel/gemel.h>

static gemel_error error;

static const char text[] = "graph f(x: f32[N] positive, y: f32[N] nonzero finite, z: f32[N]) {\n"
                           "  n0 = abs(x)\n"
                           "  n1 = add(n0, y)\n"
                           "  n2 = abs(z)\n"
                           "  n3 = add(n1, n2)\n"
                           "  return a = n3\n"
                           "}\n";

static void check_facts(const gemel_graph *graph) {
  CT_EQ_UINT(gemel_assumed(gemel_graph_input(graph, 0)), GEMEL_FACT_POSITIVE);
  CT_EQ_UINT(gemel_assumed(gemel_graph_input(graph, 1)),
             GEMEL_FACT_NONZERO | GEMEL_FACT_FINITE | GEMEL_FACT_NOT_NAN);
  CT_EQ_UINT(gemel_assumed(gemel_graph_input(graph, 2)), 0);
}

static void round_trips(const void *data) {
  gemel_context *context = gemel_context_new(&error);
  gemel_graph *graph = parse(context, text), *back;
  char path[600];
  char *printed = gemel_print_string(graph, "f", &error);
  (void)data;
  CT_EQ_STR(printed, text);
  check_facts(graph);
  snprintf(path, sizeof path, "%s/assumed.gemel", ct_scratch());
  CT_EQ_INT(gemel_save(graph, "f", path, &error), GEMEL_OK);
  back = gemel_load(context, path, NULL, &error);
  ct_context("%s", error.text);
  CT_CHECK(back != NULL);
  check_facts(back);
  CT_EQ_INT(gemel_graph_check(back, &error), GEMEL_OK);
  gemel_graph_unref(back);
  gemel_text_free(printed);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

static void rules_fire(const void *data) {
  gemel_context *context = gemel_context_new(&error);
  gemel_graph *graph = parse(context, text);
  gemel_graph *result = gemel_rewrite(graph, NULL, &error);
  char *printed = gemel_print_string(result, "f", &error);
  (void)data;
  check_facts(result);
  CT_HAS_STR(printed, "abs(z)");
  CT_CHECK(strstr(printed, "abs(x)") == NULL);
  gemel_text_free(printed);
  gemel_graph_unref(result);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

static void refusals(const void *data) {
  static const char wrong[] = "graph f(x: f32[N] posit) {\n  return x\n}\n";
  gemel_context *context = gemel_context_new(&error);
  gemel_graph *graph = parse(context, text);
  gemel_value null = {NULL, 0, 0};
  (void)data;
  CT_EQ_INT(gemel_assume(null, GEMEL_FACT_POSITIVE), GEMEL_NULL_VALUE);
  CT_EQ_INT(gemel_assume(gemel_graph_output(graph, 0), GEMEL_FACT_POSITIVE), GEMEL_BAD_ARGUMENT);
  CT_EQ_INT(gemel_assume(gemel_graph_input(graph, 2), 1u << 20), GEMEL_BAD_ARGUMENT);
  CT_EQ_UINT(gemel_assumed(null), 0);
  CT_EQ_UINT(gemel_assumed(gemel_graph_output(graph, 0)), 0);
  CT_EQ_INT(gemel_assume(gemel_graph_input(graph, 2), GEMEL_FACT_NOT_NAN), GEMEL_OK);
  CT_EQ_UINT(gemel_assumed(gemel_graph_input(graph, 2)), GEMEL_FACT_NOT_NAN);
  CT_CHECK(gemel_parse(context, wrong, strlen(wrong), "test", NULL, &error) == NULL);
  CT_EQ_INT(error.status, GEMEL_BAD_TEXT);
  CT_HAS_STR(error.text, "an input is positive, nonnegative");
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

void ct_register(void) {
  static const ct_test tests[] = {CT_TEST("round_trips", round_trips, NULL),
                                  CT_TEST("rules_fire", rules_fire, NULL),
                                  CT_TEST("refusals", refusals, NULL)};
  ct_suite("assume", tests, CT_COUNT(tests));
}
