/* SPDX-License-Identifier: MIT
 *
 * Your own C function as one more implementation of an operation, judged by the harness: a softmax
 * that is right, one that forgets about its attribute and always works along the last axis, and one
 * that is off by a factor of 1 + 1e-6. The first must pass, the others must be refuted with a
 * counterexample. Then the right one is registered, and computes what the program's functions ask
 * softmax for; the program succeeds if that is what happened.
 *
 *   cc -std=c11 my_kernel.c $(pkg-config --cflags --libs gemel-verify gemel) && ./a.out
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <gemel/gemel.h>
#include <gemel/verify.h>

/* ---- The kernels ---- */

/* They take f64 only: for anything else they decline, and aren't judged. */
static gemel_status prepare(gemel_kernel_call *call) {
  return call->inputs[0].dtype == GEMEL_F64 ? GEMEL_OK : GEMEL_DECLINED;
}

/* Byte offset of the lane number LANE in VIEW, a lane being what lies along AXIS. */
static int64_t lane_offset(const gemel_view *view, int axis, int64_t lane) {
  int64_t offset = 0;
  for (int k = view->rank - 1; k >= 0; k--) {
    if (k != axis) {
      offset += lane % view->shape[k] * view->strides[k];
      lane /= view->shape[k];
    }
  }
  return offset;
}

/* Softmax of one lane of N elements, times SCALE. The largest element is subtracted first, or else
 * exp would overflow. */
static void softmax_lane(const char *in, int64_t in_stride, char *out, int64_t out_stride,
                         int64_t n, double scale) {
  double largest = -INFINITY, total = 0;
  for (int64_t k = 0; k < n; k++) {
    double x = *(const double *)(const void *)(in + k * in_stride);
    largest = x > largest || isnan(x) ? x : largest;
  }
  for (int64_t k = 0; k < n; k++) {
    double x = *(const double *)(const void *)(in + k * in_stride);
    double e = exp(x - largest);
    *(double *)(void *)(out + k * out_stride) = e;
    total += e;
  }
  for (int64_t k = 0; k < n; k++) {
    *(double *)(void *)(out + k * out_stride) *= scale / total;
  }
}

static gemel_status softmax(const gemel_kernel_call *call, int axis, double scale) {
  const gemel_view *x = &call->inputs[0], *y = &call->outputs[0];
  int64_t lanes = 1;
  axis += axis < 0 ? x->rank : 0;
  for (int k = 0; k < x->rank; k++) {
    lanes *= k == axis ? x->shape[k] > 0 : x->shape[k];
  }
  for (int64_t lane = 0; lane < lanes; lane++) {
    softmax_lane((const char *)x->data + lane_offset(x, axis, lane), x->strides[axis],
                 (char *)y->data + lane_offset(y, axis, lane), y->strides[axis], x->shape[axis],
                 scale);
  }
  return GEMEL_OK;
}

/* softmax has the one attribute "axis", which may count from behind: a kernel gets attributes as
 * the graph has them, with fallbacks filled in. */
static int axis_of(const gemel_kernel_call *call) {
  return (int)call->attrs[0].u.i;
}

static int right_runs;

static gemel_status run_right(const gemel_kernel_call *call) {
  right_runs++;
  return softmax(call, axis_of(call), 1);
}

static gemel_status run_last_axis(const gemel_kernel_call *call) {
  return softmax(call, -1, 1);
}

static gemel_status run_scaled(const gemel_kernel_call *call) {
  return softmax(call, axis_of(call), 1 + 1e-6);
}

/* ---- The verdicts ---- */

static void print_record(void *user, const gemel_record *record) {
  (void)user;
  printf("%-18s %-8s %-14s %s\n", record->name, gemel_tier_name(record->tier),
         gemel_verdict_name(record->verdict), record->detail);
  if (record->verdict == GEMEL_VERDICT_REFUTED) {
    printf("%s", record->counterexample);
  }
}

/* 1 if the harness says of the kernel what it should: passed somewhere and refuted nowhere, or
 * refuted. */
static int judge(gemel_context *context, const gemel_kernel *kernel, int right) {
  gemel_verify_options options = {
      .size = sizeof options, .seed = 1, .instances = 200, .sink = print_record};
  gemel_verify_summary summary = {.size = sizeof summary};
  gemel_error error;
  if (gemel_verify_kernel(context, "softmax", kernel, &options, &summary, &error) != GEMEL_OK) {
    fprintf(stderr, "%s\n", error.text);
    return 0;
  }
  return right ? summary.verdicts[GEMEL_VERDICT_REFUTED] == 0 &&
                     summary.verdicts[GEMEL_VERDICT_PASSED] > 0
               : summary.verdicts[GEMEL_VERDICT_REFUTED] > 0;
}

/* Has KERNEL compute softmax in this context, and computes one. 1 if it was KERNEL that ran. */
static int install(gemel_context *context, const gemel_kernel *kernel) {
  gemel_error error = {0};
  gemel_graph *graph = gemel_graph_new(context, &error);
  gemel_output(gemel_softmax(gemel_declare(graph, "x: f64[2]"), -1), "y");
  double data[] = {0, 0};
  gemel_tensor *y = NULL, *x = gemel_tensor_wrap(GEMEL_F64, GEMEL_LIST(int64_t, 2), NULL, data,
                                                 NULL, NULL, &error);
  int before = right_runs;
  if (gemel_register_kernel(context, GEMEL_SPACE_HOST, "softmax", kernel, &error) != GEMEL_OK ||
      gemel_evaluate(graph, 1, &x, 1, &y, &error) != GEMEL_OK) {
    fprintf(stderr, "%s\n", error.text);
  }
  int ran = right_runs == before + 1 && y != NULL && *(double *)gemel_tensor_data(y) == 0.5;
  gemel_tensor_unref(x);
  gemel_tensor_unref(y);
  gemel_graph_unref(graph);
  return ran;
}

int main(void) {
  static const gemel_kernel kernels[] = {
      {"right", prepare, run_right},
      {"last_axis", prepare, run_last_axis},
      {"scaled", prepare, run_scaled},
  };
  gemel_error error;
  gemel_context *context = gemel_context_new(&error);
  int good = context != NULL;
  for (int k = 0; k < 3 && good; k++) {
    good = judge(context, &kernels[k], strcmp(kernels[k].name, "right") == 0);
  }
  good = good && install(context, &kernels[0]);
  puts(good ? "\nthe right one passed and is installed, the wrong ones are refuted"
            : "\nthe harness did not say what it should");
  gemel_context_unref(context);
  return !good;
}
