/* SPDX-License-Identifier: MIT
 *
 * Lifted graphs on the device "cuda", run by the sim: random graphs by both strategies do nothing
 * there that the sim reports, and give what references say and the host gives (verify/fuzz).
 */
#include "ct.h"
#include "rules/fuzz.h"
#include "support/on-gpu.h"

static void say(void *user, const gemel__fuzz_finding *finding) {
  (void)user;
  CT_FAIL("graph %llu, %s: %s\n%s", (unsigned long long)finding->number,
          gemel__fuzz_kind_name(finding->kind), finding->detail, finding->graph);
}

static void random_lifts(const void *data) {
  gemel_error error = {GEMEL_OK, 0, 0, ""};
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

void ct_register(void) {
  static const ct_test tests[] = {CT_TEST("random", random_lifts, NULL)};
  need_gpu();
  ct_suite("cuda_lifted", tests, CT_COUNT(tests));
}
