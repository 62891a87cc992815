/*
 * Kernels of a program's own that give something up, and say so: each is refuted without the word,
 * or with all others, and passes with it; and with all words what is plainly wrong is refuted
 * still. And kernels that meet -inf, as where attention is masked: right ones pass, wrong ones
 * don't.
 *
 * SPDX-License-Identifier: MIT
 */
#include "ct.h"
#include "judged.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <gemel/gemel.h>
#include <gemel/verify.h>

#define WORD(E) GEMEL_NEEDS_BIT(E)

/* ---- Kernels of packed f64 ---- */

static gemel_status prepare(gemel_kernel_call *call) {
  for (size_t k = 0; k < call->n_inputs; k++) {
    if (call->inputs[k].dtype != GEMEL_F64) {
      return GEMEL_DECLINED;
    }
  }
  return gemel_prepare_packed(call);
}

/* Operands of one shape: nothing broadcasts. */
static gemel_status prepare_alike(gemel_kernel_call *call) {
  const gemel_view *x = &call->inputs[0], *y = &call->inputs[1];
  int alike =
      x->rank == y->rank && memcmp(x->shape, y->shape, (size_t)x->rank * sizeof *x->shape) == 0;
  return alike ? prepare(call) : GEMEL_DECLINED;
}

/* Of rows: the last axis. */
static gemel_status prepare_rows(gemel_kernel_call *call) {
  const gemel_view *x = &call->inputs[0];
  int last = call->operation->attrs == NULL || call->attrs[0].u.i == -1 ||
             call->attrs[0].u.i == x->rank - 1;
  return x->rank > 0 && last ? prepare(call) : GEMEL_DECLINED;
}

#define EACH(name, value)                                                                          \
  static gemel_status run_##name(const gemel_kernel_call *call) {                                  \
    const double *xs = call->inputs[0].data, *ys = call->inputs[call->n_inputs - 1].data;          \
    double *zs = call->outputs[0].data;                                                            \
    for (int64_t i = 0, n = count(&call->outputs[0]); i < n; i++) {                                \
      double x = xs[i], y = ys[i];                                                                 \
      (void)y;                                                                                     \
      zs[i] = value;                                                                               \
    }                                                                                              \
    return GEMEL_OK;                                                                               \
  }

EACH(no_nan, isnan(x) ? 0 : x *x)
EACH(no_infinity, isinf(x) ? 1 : x *x)
EACH(no_sign, x *y == 0 ? 0 : x * y)
EACH(reciprocal, x *(1 / y))
EACH(reciprocal_off, x *(1 / y) * (1 + 1e-9))
EACH(rough_exp, exp(x) * (1 + 1e-10))
EACH(rougher_exp, exp(x) * (1 + 1e-3))
EACH(rough_sqrt, sqrt(x) * (1 + 1e-12))
EACH(slope, y *(1 / (1 + exp(-x)) + x * (1 / (1 + exp(-x)) * (1 - 1 / (1 + exp(-x))))))
EACH(off_beyond_3, x *x + (x > 3))

/* Each row by a function of N elements from X, to Y. */
#define ROWS(name, row)                                                                            \
  static gemel_status run_##name(const gemel_kernel_call *call) {                                  \
    const gemel_view *in = &call->inputs[0], *out = &call->outputs[0];                             \
    int64_t n = in->shape[in->rank - 1], all = count(in),                                          \
            step = n > 0 ? count(out) * n / (all > 0 ? all : 1) : 0;                               \
    const double *x = in->data;                                                                    \
    double *y = out->data;                                                                         \
    for (int64_t k = 0; k < all; k += n, x += n, y += step) {                                      \
      row(n, x, y);                                                                                \
    }                                                                                              \
    return GEMEL_OK;                                                                               \
  }

/* ---- Layer normalisation ---- */

static void norm_once(int64_t n, const double *x, double *y) {
  double total = 0, squares = 0;
  for (int64_t k = 0; k < n; k++) {
    total += x[k];
    squares += x[k] * x[k];
  }
  double mean = total / (double)n, variance = squares / (double)n - mean * mean;
  double scale = 1 / sqrt((variance > 0 || isnan(variance) ? variance : 0) + 1e-5);
  for (int64_t k = 0; k < n; k++) {
    y[k] = (x[k] - mean) * scale;
  }
}

static void norm_off(int64_t n, const double *x, double *y) {
  norm_once(n, x, y);
  for (int64_t k = 0; k < n; k++) {
    y[k] *= 1 + 1e-6;
  }
}

ROWS(norm_once, norm_once)
ROWS(norm_off, norm_off)

/* ---- Softmax and logarithms of sums of exponentials ---- */

static double largest_of(int64_t n, const double *x) {
  double largest = -INFINITY;
  for (int64_t k = 0; k < n && !isnan(largest); k++) {
    largest = x[k] > largest || isnan(x[k]) ? x[k] : largest;
  }
  return largest;
}

static void softmax_from(int64_t n, const double *x, double *y, double largest) {
  double total = 0;
  for (int64_t k = 0; k < n; k++) {
    total += y[k] = exp(x[k] - largest);
  }
  for (int64_t k = 0; k < n; k++) {
    y[k] /= total;
  }
}

static void softmax(int64_t n, const double *x, double *y) {
  softmax_from(n, x, y, largest_of(n, x));
}

/* As flash attention has it: one pass, in which the sum is scaled whenever the largest changes. */
static void softmax_online(int64_t n, const double *x, double *y) {
  double largest = -INFINITY, total = 0;
  for (int64_t k = 0; k < n; k++) {
    double next = x[k] > largest || isnan(x[k]) ? x[k] : largest;
    if (next != -INFINITY) {
      total = total * exp(largest - next) + exp(x[k] - next);
      largest = next;
    }
  }
  for (int64_t k = 0; k < n; k++) {
    y[k] = exp(x[k] - largest) / total;
  }
}

/* Gives 0 for a row that is -inf throughout. */
static void softmax_zero(int64_t n, const double *x, double *y) {
  double largest = largest_of(n, x);
  softmax_from(n, x, y, largest);
  for (int64_t k = 0; k < n && largest == -INFINITY; k++) {
    y[k] = 0;
  }
}

/* Takes -inf for a number that is somewhat smaller than the largest. */
static void softmax_lost(int64_t n, const double *x, double *y) {
  double largest = largest_of(n, x), total = 0;
  for (int64_t k = 0; k < n; k++) {
    total += y[k] = exp(isinf(x[k]) && !isinf(largest) ? -5 : x[k] - largest);
  }
  for (int64_t k = 0; k < n; k++) {
    y[k] /= total;
  }
}

/* Leaves exp to overflow where the largest is finite. */
static void softmax_plain(int64_t n, const double *x, double *y) {
  double largest = largest_of(n, x);
  softmax_from(n, x, y, isfinite(largest) ? 0 : largest);
}

static void lse(int64_t n, const double *x, double *y) {
  double largest = largest_of(n, x), total = 0, shift = isinf(largest) ? 0 : largest;
  for (int64_t k = 0; k < n; k++) {
    total += exp(x[k] - shift);
  }
  *y = log(total) + shift;
}

static void lse_zero(int64_t n, const double *x, double *y) {
  lse(n, x, y);
  *y = largest_of(n, x) == -INFINITY ? 0 : *y;
}

static void lse_positive(int64_t n, const double *x, double *y) {
  lse(n, x, y);
  *y = isinf(*y) ? INFINITY : *y;
}

ROWS(softmax, softmax)
ROWS(softmax_online, softmax_online)
ROWS(softmax_zero, softmax_zero)
ROWS(softmax_lost, softmax_lost)
ROWS(softmax_plain, softmax_plain)
ROWS(lse, lse)
ROWS(lse_zero, lse_zero)
ROWS(lse_positive, lse_positive)

/* ---- What is given up ---- */

typedef struct candidate {
  const char *name, *operation;
  gemel_kernel kernel;
  unsigned tiers, needs;
  unsigned more; /* words by which it passes, too */
} candidate;

/* The reference of shifted has no value where all of a row is -inf, or one is inf: log(sum(exp(x)))
 * tends to these. */
#define OWN                                                                                        \
  "operation norm(x) { return layer_norm(x) }\n"                                                   \
  "operation slope(x, g) {\n"                                                                      \
  "  s = sigmoid(x)\n"                                                                             \
  "  return g * s + g * x * (s * (1 - s))\n"                                                       \
  "}\n"                                                                                            \
  "operation rows(x) { return softmax(x) }\n"                                                      \
  "operation shifted(x) {\n"                                                                       \
  "  m = max(x, axes = [-1], keepdims = 1)\n"                                                      \
  "  return sum(log(sum(exp(x - m), axes = [-1], keepdims = 1)) + m, axes = [-1])\n"               \
  "}\n"

static const candidate loose[] = {
    {"NaN lost", "sqr", {"mine", prepare, run_no_nan}, S, WORD(NNAN), 0},
    {"infinities lost", "sqr", {"mine", prepare, run_no_infinity}, S, WORD(NINF), 0},
    {"-0 lost", "mul", {"mine", prepare_alike, run_no_sign}, S, WORD(NSZ), 0},
    {"a reciprocal", "div", {"mine", prepare_alike, run_reciprocal}, F | S, WORD(ARCP), 0},
    {"a rough exp", "exp", {"mine", prepare, run_rough_exp}, F | S, WORD(AFN), 0},
    {"a rough root", "sqrt", {"mine", prepare, run_rough_sqrt}, F | S, WORD(AFN), 0},
    {"0 for what is masked", "softmax", {"mine", prepare_rows, run_softmax_zero}, S, WORD(NINF), 0},
    {"the variance at once",
     "norm",
     {"mine", prepare_rows, run_norm_once},
     F,
     WORD(REASSOC),
     WORD(AFN)},
};

/* Nothing is given up. */
static const candidate right[] = {
    {"softmax", "softmax", {"mine", prepare_rows, run_softmax}, F | S, 0, 0},
    {"softmax in one pass", "softmax", {"mine", prepare_rows, run_softmax_online}, F | S, 0, 0},
    {"softmax in one pass, by a formula",
     "rows",
     {"mine", prepare_rows, run_softmax_online},
     F | S,
     0,
     0},
    {"limits of a slope", "slope", {"mine", prepare_alike, run_slope}, F | S, 0, 0},
    {"limits of a formula", "shifted", {"mine", prepare_rows, run_lse}, F | S, 0, 0},
};

/* Whatever is allowed. */
static const candidate wrong[] = {
    {"a reciprocal and more", "div", {"mine", prepare_alike, run_reciprocal_off}, F, WORD(ARCP), 0},
    {"an exp that is too rough", "exp", {"mine", prepare, run_rougher_exp}, F, GEMEL_NEEDS_ALL, 0},
    {"a variance that is off",
     "norm",
     {"mine", prepare_rows, run_norm_off},
     F,
     GEMEL_NEEDS_ALL & ~WORD(AFN),
     0},
    {"0 for what is masked, by a formula",
     "rows",
     {"mine", prepare_rows, run_softmax_zero},
     S,
     0,
     0},
    {"-inf lost", "softmax", {"mine", prepare_rows, run_softmax_lost}, F, 0, 0},
    {"exp overflows", "softmax", {"mine", prepare_rows, run_softmax_plain}, F, 0, 0},
    {"-inf lost, by a formula", "rows", {"mine", prepare_rows, run_softmax_lost}, F, 0, 0},
    {"0 for -inf", "shifted", {"mine", prepare_rows, run_lse_zero}, S, 0, 0},
    {"inf for -inf", "shifted", {"mine", prepare_rows, run_lse_positive}, S, 0, 0},
    {"off beyond 3", "sqr", {"mine", prepare, run_off_beyond_3}, I, GEMEL_NEEDS_ALL, 0},
};

static heard judge(const candidate *c, unsigned allow) {
  const gemel_verify_options options = {.seed = 1, .tiers = c->tiers, .allow = allow};
  gemel_context *context = gemel_context_new(NULL);
  gemel_error error = {0};
  CT_EQ_INT(gemel_define_operations(context, OWN, strlen(OWN), "own", &error), GEMEL_OK);
  heard h = hear_kernel(context, c->name, c->operation, &c->kernel, options);
  ct_context("%s, allowed %#x: %s%s", c->name, allow, h.all, h.counterexample);
  gemel_context_unref(context);
  return h;
}

static void needs_its_word(const void *data) {
  const candidate *c = data;
  if (getenv("GEMEL_VALGRIND") != NULL) {
    CT_SKIP("child processes by the thousand");
  }
  heard h = judge(c, 0);
  CT_CHECK(h.refuted > 0);
  h = judge(c, GEMEL_NEEDS_ALL & ~(c->needs | c->more));
  CT_CHECK(h.refuted > 0);
  h = judge(c, c->needs);
  CT_CHECK(h.refuted == 0 && h.passed == h.records);
  CT_HAS_STR(h.all, "allowed: ");
}

static void passes(const void *data) {
  if (getenv("GEMEL_VALGRIND") != NULL) {
    CT_SKIP("child processes by the thousand");
  }
  heard h = judge(data, 0);
  CT_CHECK(h.refuted == 0 && h.passed == h.records);
}

static void is_refuted(const void *data) {
  const candidate *c = data;
  if (getenv("GEMEL_VALGRIND") != NULL) {
    CT_SKIP("child processes by the thousand");
  }
  heard h = judge(c, c->needs);
  CT_CHECK(h.refuted > 0);
}

/* ---- By a reference ---- */

static gemel_status infer_f64(gemel_infer *call) {
  call->n_outputs = 1;
  call->outputs[0] = call->inputs[0];
  call->error->status =
      gemel_type_dtype(call->context, call->inputs[0]) == GEMEL_F64 ? GEMEL_OK : GEMEL_BAD_TYPE;
  return call->error->status;
}

static gemel_status square(gemel_reference_build *call) {
  call->outputs[0] = gemel_mul(call->inputs[0], call->inputs[0]);
  return GEMEL_OK;
}

/* What gemel_verify_operations says of an operation whose kernel loses NaN. */
static heard with_reference(unsigned allow) {
  static const gemel_kernel kernels[] = {{"mine", prepare, run_no_nan}, {NULL, NULL, NULL}};
  gemel_context *context = gemel_context_new(NULL);
  gemel_operation op = {.size = sizeof op,
                        .name = "mine",
                        .min_inputs = 1,
                        .max_inputs = 1,
                        .version = 1,
                        .infer = infer_f64,
                        .sample = gemel_sample_elementwise,
                        .kernels = kernels};
  gemel_reference reference = {.size = sizeof reference, .build = square, .allow = allow};
  CT_EQ_INT(gemel_register_operation(context, &op, NULL), GEMEL_OK);
  CT_EQ_INT(gemel_verify_reference(context, "mine", &reference, NULL), GEMEL_OK);
  heard h = hear_operations(context, "mine", (gemel_verify_options){.ops = "mine", .seed = 1});
  gemel_context_unref(context);
  return h;
}

static void by_reference(const void *data) {
  (void)data;
  heard h = with_reference(0);
  CT_EQ_UINT(h.refuted, 1);
  h = with_reference(WORD(NINF));
  CT_EQ_UINT(h.refuted, 1);
  h = with_reference(WORD(NNAN));
  ct_context("%s", h.all);
  CT_EQ_UINT(h.refuted, 0);
  CT_HAS_STR(h.all, "allowed: nnan");
}

static void refuses(const void *data) {
  static const gemel_kernel kernel = {"mine", prepare, run_no_nan};
  gemel_context *context = gemel_context_new(NULL);
  gemel_verify_options options = {.size = sizeof options, .allow = 1u << GEMEL_NEEDS_COUNT};
  gemel_reference reference = {
      .size = sizeof reference, .build = square, .allow = 1u << GEMEL_NEEDS_COUNT};
  gemel_error error = {0};
  (void)data;
  CT_EQ_INT(gemel_verify_kernel(context, "sqr", &kernel, &options, NULL, &error),
            GEMEL_BAD_ARGUMENT);
  CT_EQ_INT(gemel_define_operations(context, OWN, strlen(OWN), "own", &error), GEMEL_OK);
  CT_EQ_INT(gemel_verify_reference(context, "norm", &reference, &error), GEMEL_BAD_ARGUMENT);
  CT_HAS_STR(error.text, "no word");
  reference.size = offsetof(gemel_reference, allow); /* of a program that is older */
  CT_EQ_INT(gemel_verify_reference(context, "norm", &reference, &error), GEMEL_OK);
  gemel_context_unref(context);
}

static const ct_test tests[] = {CT_TEST("by a reference", by_reference, NULL),
                                CT_TEST("refuses", refuses, NULL)};

void ct_register(void) {
  ct_suite("kernels-allowed", tests, CT_COUNT(tests));
  for (size_t k = 0; k < CT_COUNT(loose); k++) {
    CT_ADD_TO("kernels-allowed", "needs", loose[k].name, needs_its_word, &loose[k]);
  }
  for (size_t k = 0; k < CT_COUNT(right); k++) {
    CT_ADD_TO("kernels-allowed", "right", right[k].name, passes, &right[k]);
  }
  for (size_t k = 0; k < CT_COUNT(wrong); k++) {
    CT_ADD_TO("kernels-allowed", "wrong", wrong[k].name, is_refuted, &wrong[k]);
  }
}
