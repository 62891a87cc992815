/* SPDX-License-Identifier: MIT
 *
 * A backward pass written by hand, held to the forward formula: silu(x) = x · sigmoid(x) has one
 * line as its formula, and the operation silu_grad(x, g), which a fused kernel computes, has the
 * gradient of that line as its reference. Nobody writes the derivative a second time. One kernel is
 * right, one forgets a factor; the first must pass and the other be refuted, and the program
 * succeeds if that is what happened.
 *
 *   cc -std=c11 my_backward.c $(pkg-config --cflags --libs gemel-verify gemel) && ./a.out
 */
#include <math.h>
#include <stdio.h>
#include <gemel/ops.h>
#include <gemel/verify.h>

/* ---- The forward pass, as a formula ---- */

static gemel_value silu(gemel_value x) {
  return gemel_mul(x, gemel_sigmoid(x));
}

/* ---- silu_grad(x, g): the cotangent of x, g being that of silu(x) ---- */

static gemel_status infer(gemel_infer *call) {
  gemel_dtype dtype = gemel_type_dtype(call->context, call->inputs[0]);
  if ((dtype != GEMEL_F32 && dtype != GEMEL_F64) ||
      !gemel_type_equal(call->inputs[0], call->inputs[1])) {
    call->error->status = GEMEL_BAD_TYPE;
    snprintf(call->error->text, sizeof call->error->text, "it takes two of one shape, f32 or f64");
    return GEMEL_BAD_TYPE;
  }
  call->n_outputs = 1;
  call->outputs[0] = call->inputs[0];
  return GEMEL_OK;
}

/* The reference: the gradient by x of Σ g · silu(x), which is the formula's transposed derivative
 * times g. */
static gemel_status gradient(gemel_reference_build *call) {
  gemel_value x = call->inputs[0], g = call->inputs[1];
  call->outputs[0] = gemel_gradient(gemel_sum(gemel_mul(g, silu(x))), x);
  return GEMEL_OK;
}

/* ---- The kernels, written by hand, of packed operands ---- */

static int64_t count(const gemel_view *view) {
  int64_t n = 1;
  for (int axis = 0; axis < view->rank; axis++) {
    n *= view->shape[axis];
  }
  return n;
}

static double load(const gemel_view *view, int64_t i) {
  return view->dtype == GEMEL_F32 ? (double)((const float *)view->data)[i]
                                  : ((const double *)view->data)[i];
}

static void store(const gemel_view *view, int64_t i, double x) {
  if (view->dtype == GEMEL_F32) {
    ((float *)view->data)[i] = (float)x;
  } else {
    ((double *)view->data)[i] = x;
  }
}

/* g · s · (1 + x · (1 − s)), s being sigmoid(x). */
static gemel_status run_right(const gemel_kernel_call *call) {
  for (int64_t i = 0, n = count(&call->outputs[0]); i < n; i++) {
    double x = load(&call->inputs[0], i), g = load(&call->inputs[1], i), s = 1 / (1 + exp(-x));
    store(&call->outputs[0], i, g * (s + x * (s * (1 - s))));
  }
  return GEMEL_OK;
}

/* The second factor of the derivative of sigmoid is missing. */
static gemel_status run_wrong(const gemel_kernel_call *call) {
  for (int64_t i = 0, n = count(&call->outputs[0]); i < n; i++) {
    double x = load(&call->inputs[0], i), g = load(&call->inputs[1], i), s = 1 / (1 + exp(-x));
    store(&call->outputs[0], i, g * (s + x * s));
  }
  return GEMEL_OK;
}

/* ---- The verdicts ---- */

static void print(void *user, const gemel_record *record) {
  (void)user;
  printf("%-16s %-9s %-15s %s\n", record->name, gemel_tier_name(record->tier),
         gemel_verdict_name(record->verdict), record->detail);
  if (record->verdict == GEMEL_VERDICT_REFUTED) {
    printf("%s\n", record->counterexample);
  }
}

/* 1 if the harness says of KERNEL what it should. */
static int judge(gemel_context *context, const gemel_kernel *kernel, int right) {
  gemel_verify_options options = {
      .size = sizeof options, .seed = 1, .instances = 48, .sink = print};
  gemel_verify_summary summary = {.size = sizeof summary};
  gemel_error error = {0};
  if (gemel_verify_kernel(context, "silu_grad", kernel, &options, &summary, &error) != GEMEL_OK) {
    fprintf(stderr, "%s\n", error.text);
    return 0;
  }
  size_t refuted = summary.verdicts[GEMEL_VERDICT_REFUTED];
  return right ? refuted == 0 && summary.verdicts[GEMEL_VERDICT_PASSED] > 0 : refuted > 0;
}

int main(void) {
  static const gemel_kernel right[] = {{"right", gemel_prepare_packed, run_right},
                                       {NULL, NULL, NULL}};
  static const gemel_kernel wrong = {"wrong", gemel_prepare_packed, run_wrong};
  gemel_error error = {0};
  gemel_context *context = gemel_context_new(&error);
  gemel_reference reference = {.size = sizeof reference, .build = gradient};
  gemel_operation op = {.size = sizeof op,
                        .name = "silu_grad",
                        .min_inputs = 2,
                        .max_inputs = 2,
                        .flags = GEMEL_OP_ELEMENTWISE,
                        .version = 1,
                        .infer = infer,
                        .sample = gemel_sample_elementwise,
                        .kernels = right};
  int good = gemel_register_operation(context, &op, &error) == GEMEL_OK &&
             gemel_verify_reference(context, "silu_grad", &reference, &error) == GEMEL_OK &&
             judge(context, &right[0], 1) && judge(context, &wrong, 0);
  if (error.text[0] != '\0') {
    fprintf(stderr, "%s\n", error.text);
  }
  gemel_context_unref(context);
  return good ? 0 : 1;
}
