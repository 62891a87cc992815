/* SPDX-License-Identifier: MIT
 *
 * The device "cuda" on the sim: the whole catalogue gives what the host gives, bit for bit on small
 * integers; what a program does with a device works, and each call asks for as few transfers as it
 * needs. The sim reports whatever its kernels and calls do wrong.
 */
#include <gemel/cuda.h>
#include <gemel/lift.h>
#include <stdlib.h>
#include "core/graph.h"
#include "instances/instance.h"
#include "run.h"
#include "support/graph-text.h"
#include "support/on-device.h"
#include "support/on-gpu.h"

/* Each row of lower.def is a name here; an operation of ops.def that has none isn't there to be
 * named below. */
enum {
#define LOWER(operation, kernels) HAS_ROW_##operation,
#define HOST(operation, why) HAS_ROW_##operation,
#define LOWER_SCALARS(kernels)
#include "lower.def"
#undef LOWER
#undef HOST
#undef LOWER_SCALARS
  ROWS
};
#define OP(name, ...) HAS_ROW_##name,
static const unsigned char operations[] = {
#include "ops/ops.def"
};
#undef OP
_Static_assert(sizeof operations == ROWS, "lower.def has one row for each operation");

static gemel_cuda *cuda;

static gemel_context *context_with_cuda(void) {
  gemel_context *context = gemel_context_new(&error);
  cuda = gemel_cuda_open(0, &error);
  ct_context("%s", error.text);
  CT_CHECK(context != NULL && cuda != NULL);
  CT_EQ_INT(gemel_register_device(context, 1, gemel_cuda_device(cuda), &error), GEMEL_OK);
  return context;
}

/* Nothing may be left behind, and nothing have been done wrong. */
static void leave(gemel_context *context) {
  gemel_context_unref(context);
  gemel_cuda_close(cuda);
  gemel__sim_alive alive = sim_living();
  CT_EQ_INT(sim_reports(), 0);
  CT_EQ_INT(alive.allocations, 0);
  CT_EQ_INT(alive.pinned + alive.streams + alive.events + alive.graphs, 0);
  CT_EQ_INT(alive.libraries + alive.handles + alive.programs, 0);
  sim_forget();
}

/* ---- The catalogue ---- */

static void catalogue(const void *data) {
  static const gemel__fill special[] = {GEMEL__FILL_SPECIAL, GEMEL__FILL_NAN};
  gemel_context *context = context_with_cuda();
  (void)operations;
  const char *name = data;
  const gemel_operation *record = gemel_find_operation(context, name);
  int wrong, compared = compare_operation(context, record, GEMEL__FILL_INTEGERS, 7, &wrong);
  ct_context("%s: %s", name, error.text);
  CT_EQ_INT(wrong, 0);
  CT_CHECK(compared >= 3);
  for (size_t k = 0; k < CT_COUNT(special) && is_exact(record); k++) {
    compare_operation(context, record, special[k], 7, &wrong);
    ct_context("%s of special values: %s", name, error.text);
    CT_EQ_INT(wrong, 0);
  }
  leave(context);
}

#ifndef GEMEL_ON_GPU
/* ---- Convolutions by cuDNN ---- */

/* cuDNN computes those that it can; where it can't be opened, others compute all. */
static void by_cudnn(const void *data) {
  enum { LEAST = 10, ROUNDS = 10 };
  for (int without = 0; without < 2; without++) {
    setenv("GEMEL_SIM_CUDNN", without ? "no" : "yes", 1);
    gemel_context *context = context_with_cuda();
    int wrong = 0;
    gemel__sim_count_from_here();
    for (uint64_t round = 0; round < ROUNDS && wrong == 0; round++) {
      compare_operation(context, gemel_find_operation(context, data), GEMEL__FILL_INTEGERS, round,
                        &wrong);
    }
    long convolutions = gemel__sim_counted().convolutions;
    ct_context("%s, %s cuDNN: %ld convolutions by it; %s", (const char *)data,
               without ? "without" : "with", convolutions, error.text);
    CT_EQ_INT(wrong, 0);
    CT_CHECK(without ? convolutions == 0 : convolutions >= LEAST);
    leave(context);
  }
  unsetenv("GEMEL_SIM_CUDNN");
}
#endif

static gemel_context *names;

void ct_register(void) {
  static ct_test tests[200];
  static char titles[200][60];
  size_t n = 0;
  need_gpu();
  names = gemel_context_new(&error);
  for (size_t k = 0; k < gemel_operation_count(names); k++) {
    const gemel_operation *record = gemel_operation_at(names, k);
    if (record->max_inputs != 0 && record->min_inputs != 0 && strcmp(record->name, "invoke") != 0) {
      snprintf(titles[n], sizeof titles[n], "catalogue/%s", record->name);
      tests[n] = (ct_test)CT_TEST(titles[n], catalogue, record->name);
      n++;
    }
  }
#ifndef GEMEL_ON_GPU
  tests[n++] = (ct_test)CT_TEST("cudnn/corr", by_cudnn, "corr");
  tests[n++] = (ct_test)CT_TEST("cudnn/corr_grad_weights", by_cudnn, "corr_grad_weights");
  tests[n++] = (ct_test)CT_TEST("cudnn/corr_grad_inputs", by_cudnn, "corr_grad_inputs");
#endif
  ct_suite("cuda", tests, n);
}
