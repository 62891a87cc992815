/* SPDX-License-Identifier: MIT
 *
 * Lifted graphs on the device "cuda", run by the sim: random graphs by both strategies do nothing
 * there that the sim reports, and give what references say and the host gives (verify/fuzz). So do
 * reductions of rows with what is elementwise of them, as one kernel and step by step.
 */
#include <stdlib.h>
#include <string.h>
#include "ct.h"
#include "rules/fuzz.h"
#include "support/on-gpu.h"
#include "support/row-graphs.h"

static gemel_error error;

#include "support/small-integers.h"

static void say(void *user, const gemel__fuzz_finding *finding) {
  (void)user;
  CT_FAIL("graph %llu, %s: %s\n%s", (unsigned long long)finding->number,
          gemel__fuzz_kind_name(finding->kind), finding->detail, finding->graph);
}

static void random_lifts(const void *data) {
  gemel__fuzz_options options = {.seed = 13, .graphs = 24, .sink = say};
  gemel__fuzz_summary summary = {0};
  gemel_context *context = gemel_context_new(&error);
  gemel_cuda *cuda = gemel_cuda_open(0, &error);
  (void)data;
  CT_REQUIRE(context != NULL && cuda != NULL);
  CT_EQ_INT(gemel_register_device(context, 1, gemel_cuda_device(cuda), &error), GEMEL_OK);
  CT_EQ_INT(gemel__fuzz_graphs(context, &options, &summary, &error), GEMEL_OK);
  printf("  %d random graphs, %d without a result\n", (int)summary.evaluated,
         (int)summary.inconclusive);
  CT_CHECK(summary.evaluated > 20 && summary.inconclusive < 6);
  gemel_context_unref(context);
  gemel_cuda_close(cuda);
  CT_EQ_INT(sim_reports(), 0);
  sim_forget();
}

/* ---- Rows ---- */

enum { INPUTS = 5, RESULTS = 5 };

/* The inputs of G, in the order of its text. */
static void draw_inputs(const row_graph *g, gemel_dtype dtype, gemel_tensor **in) {
  int64_t shape[3] = {g->outer[0], g->outer[1]}, one[3] = {g->outer[0], g->outer[1]};
  shape[g->rank - 1] = g->length;
  one[g->rank - 1] = 1;
  in[0] = small_integers(dtype, g->rank, shape, g->random);
  in[1] = small_integers(dtype, g->rank, shape, g->random);
  in[2] = small_integers(dtype, g->rank, one, g->random);
  in[3] = small_integers(dtype, g->rank - 1, shape, g->random);
  in[4] = small_integers(dtype, 1, &g->length, g->random);
}

/* The results of one random graph of rows, on the host as it is written and on the device, both as
 * it is written and rewritten, are the same to the bit. */
static void compare_rows(gemel_context *context, row_graph *g, gemel_dtype dtype) {
  const gemel_lift_options lift = {.size = sizeof lift, .space = 1};
  const gemel_options plain = {.size = sizeof plain, .threads = 1, .plain = 1};
  gemel_tensor *in[INPUTS], *expected[RESULTS] = {NULL}, *got[RESULTS] = {NULL};
  g->dtype = gemel_dtype_name(dtype);
  make_row_graph(g);
  gemel_graph *graph = gemel_parse(context, g->text, strlen(g->text), "rows", NULL, &error);
  ct_context("%s\n%s", g->text, error.text);
  CT_REQUIRE(graph != NULL);
  draw_inputs(g, dtype, in);
  call_once(graph, &plain, INPUTS, in, RESULTS, expected);
  for (int as_written = 0; as_written < 2; as_written++) {
    const gemel_options there = {
        .size = sizeof there, .threads = 1, .lift = &lift, .as_written = as_written};
    call_once(graph, &there, INPUTS, in, RESULTS, got);
    for (int k = 0; k < RESULTS; k++) {
      ct_context("result %d, as written: %d, of\n%s", k, as_written, g->text);
      CT_EQ_MEM(gemel_tensor_data(got[k]), gemel_tensor_data(expected[k]),
                (size_t)gemel_tensor_elements(expected[k]) * gemel_dtype_size(dtype));
    }
    drop(got, RESULTS);
  }
  drop(expected, RESULTS);
  drop(in, INPUTS);
  gemel_graph_unref(graph);
}

/* DATA: 1 if no kernel can be compiled, so that they are computed step by step. */
static void random_rows(const void *data) {
  static const gemel_dtype dtypes[] = {GEMEL_F32, GEMEL_BF16, GEMEL_F64, GEMEL_F16};
  const int step_by_step = *(const int *)data, count = step_by_step ? 16 : 8;
  const char *seed = getenv("GEMEL_ROWS_SEED"), *graphs = getenv("GEMEL_ROWS_GRAPHS");
  gemel__random random;
  gemel_context *context = gemel_context_new(&error);
  gemel_cuda *cuda = gemel_cuda_open(0, &error);
  CT_REQUIRE(context != NULL && cuda != NULL);
  CT_EQ_INT(gemel_register_device(context, 1, gemel_cuda_device(cuda), &error), GEMEL_OK);
  gemel__random_seed(&random, seed != NULL ? strtoull(seed, NULL, 10) : 7);
  if (step_by_step) {
    setenv("GEMEL_SIM_CXX", "/nonexistent", 1);
  }
  for (int k = 0; k < (graphs != NULL ? atoi(graphs) : count); k++) {
    static row_graph g;
    g.random = &random;
    compare_rows(context, &g, dtypes[k % 4]);
  }
  unsetenv("GEMEL_SIM_CXX");
  gemel_context_unref(context);
  gemel_cuda_close(cuda);
  CT_EQ_INT(sim_reports(), 0);
  sim_forget();
}

void ct_register(void) {
  static const int no = 0, yes = 1;
  static const ct_test tests[] = {CT_TEST("random", random_lifts, NULL),
                                  CT_TEST("rows", random_rows, &no),
                                  CT_TEST("rows_step_by_step", random_rows, &yes)};
  need_gpu();
  ct_suite("cuda_lifted", tests, CT_COUNT(tests));
}
