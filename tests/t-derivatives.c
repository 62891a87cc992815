/*
 * Derivatives of a program's own operation that has a reference: they are judged by the one rule
 * that there is, in the dtypes that there are, and by each operand and of each result alone, since
 * a rule is told which of them are asked for.
 *
 * SPDX-License-Identifier: MIT
 */
#include "ct.h"

#include <stdio.h>
#include <string.h>
#include <gemel/ops.h>
#include <gemel/verify.h>
#include "support/heard.h"
#include "support/operation.h"

enum { SEEDS = 3 };

/* ---- (x y², x / 3 + y), with rules that are right or not ---- */

enum {
  NO_GRAD = 1,
  NO_JVP = 2,
  SCALED = 4,      /* by 1.05, always */
  OPERAND = 8,     /* twice too large if one operand alone is asked for */
  RESULT = 16,     /* the same if one result alone has a cotangent */
  TANGENT = 32,    /* the same if one operand alone has a tangent */
  IN_F32 = 64,     /* of all dtypes f32 alone */
  IN_F16 = 128,    /* f16 alone */
  IN_BF16 = 256,   /* bf16 alone */
  REFUTED = 1 << 9 /* what the verdict is */
};

static gemel_value number(gemel_value like, double x) {
  gemel_context *context = gemel_graph_context(like.graph);
  return gemel_scalar(like.graph, gemel_type_dtype(context, gemel_value_type(like)), x);
}

static gemel_value scaled(gemel_value x, double c) {
  return c == 1 ? x : gemel_mul(x, number(x, c));
}

static gemel_status infer(gemel_infer *call) {
  call->n_outputs = 2;
  call->outputs[0] = call->outputs[1] = call->inputs[0];
  return gemel_type_equal(call->inputs[0], call->inputs[1]) ? GEMEL_OK : GEMEL_BAD_TYPE;
}

static gemel_status build(gemel_reference_build *call) {
  gemel_value x = call->inputs[0], y = call->inputs[1];
  call->outputs[0] = gemel_mul(gemel_mul(x, y), y);
  call->outputs[1] = gemel_add(gemel_div(x, number(x, 3)), y);
  return GEMEL_OK;
}

static gemel_value sum_of(gemel_value a, gemel_value b) {
  return gemel_is_null(a) ? b : gemel_is_null(b) ? a : gemel_add(a, b);
}

static gemel_value product(gemel_value a, gemel_value b) {
  return gemel_is_null(a) ? a : gemel_mul(a, b);
}

static gemel_status grad(gemel_derive *call) {
  int how = *(const int *)call->data;
  gemel_value x = call->inputs[0], y = call->inputs[1];
  gemel_value p = call->d_outputs[0], q = call->d_outputs[1];
  int operand = call->wanted[0] + call->wanted[1] == 1;
  int result = gemel_is_null(p) || gemel_is_null(q);
  double c = how & SCALED                  ? 1.05
             : how & OPERAND && operand    ? 2
             : how & RESULT && result != 0 ? 2
                                           : 1;
  if (call->wanted[0]) {
    call->d_inputs[0] =
        scaled(sum_of(product(p, gemel_mul(y, y)), product(q, number(x, 1.0 / 3))), c);
  }
  if (call->wanted[1]) {
    call->d_inputs[1] = scaled(sum_of(product(p, scaled(gemel_mul(x, y), 2)), q), c);
  }
  return gemel_graph_error(call->graph)->status;
}

static gemel_status jvp(gemel_derive *call) {
  int how = *(const int *)call->data;
  gemel_value x = call->inputs[0], y = call->inputs[1];
  gemel_value s = call->d_inputs[0], t = call->d_inputs[1];
  int alone = gemel_is_null(s) || gemel_is_null(t);
  double c = how & SCALED ? 1.05 : how & TANGENT && alone ? 2 : 1;
  call->d_outputs[0] =
      scaled(sum_of(product(s, gemel_mul(y, y)), product(t, scaled(gemel_mul(x, y), 2))), c);
  call->d_outputs[1] = scaled(sum_of(product(s, number(x, 1.0 / 3)), t), c);
  return gemel_graph_error(call->graph)->status;
}

static gemel_status sample(gemel_sample *call) {
  int how = *(const int *)call->data;
  int64_t n = 1 + (int64_t)(call->random(call->user) % 3);
  gemel_dtype only = how & IN_F32 ? GEMEL_F32 : how & IN_F16 ? GEMEL_F16 : GEMEL_BF16;
  if (how & (IN_F32 | IN_F16 | IN_BF16) && call->dtype != only) {
    return GEMEL_DECLINED;
  }
  call->n_inputs = 2;
  call->inputs[0] = call->inputs[1] = gemel_type_of_shape(call->context, call->dtype, 1, &n);
  return GEMEL_OK;
}

/* ---- Asking ---- */

/* Only tier gradient is asked for, which runs no kernel. */
static heard ask(const int *how, uint64_t seed) {
  static const gemel_kernel kernels[] = {{"plain", NULL, no_run}, {NULL, NULL, NULL}};
  gemel_context *context = gemel_context_new(NULL);
  gemel_reference reference = {.size = sizeof reference, .build = build};
  gemel_operation op = {.size = sizeof op, .name = "two", .min_inputs = 2, .max_inputs = 2};
  gemel_error error = {GEMEL_OK, 0, 0, ""};
  op.version = 1;
  op.infer = infer;
  op.grad = *how & NO_GRAD ? NULL : grad;
  op.jvp = *how & NO_JVP ? NULL : jvp;
  op.sample = sample;
  op.kernels = kernels;
  op.data = how;
  CT_EQ_INT(gemel_register_operation(context, &op, &error), GEMEL_OK);
  CT_EQ_INT(gemel_verify_reference(context, "two", &reference, &error), GEMEL_OK);
  heard h = hear_operations(
      context, "two",
      (gemel_verify_options){
          .seed = seed, .instances = 24, .ops = "two", .tiers = 1u << GEMEL_TIER_GRADIENT});
  gemel_context_unref(context);
  return h;
}

static void judged(const void *data) {
  const int *how = data;
  for (uint64_t seed = 1; seed <= SEEDS; seed++) {
    heard h = ask(how, seed);
    CT_EQ_UINT(h.records, 2);
    if (*how & REFUTED) {
      CT_CHECK(h.refuted > 0);
    } else {
      CT_EQ_UINT(h.passed, 2);
    }
  }
}

static const struct kind {
  const char *name;
  int how;
} kinds[] = {{"right", 0},
             {"right/reverse", NO_JVP},
             {"right/forward", NO_GRAD},
             {"right/f32", IN_F32},
             {"right/f16", IN_F16},
             {"right/bf16", IN_BF16},
             {"right/forward/f16", NO_GRAD | IN_F16},
             {"wrong/reverse", NO_JVP | SCALED | REFUTED},
             {"wrong/forward", NO_GRAD | SCALED | REFUTED},
             {"wrong/f32", IN_F32 | SCALED | REFUTED},
             {"wrong/f16", IN_F16 | SCALED | REFUTED},
             {"wrong/bf16", IN_BF16 | SCALED | REFUTED},
             {"wrong/forward/bf16", NO_GRAD | IN_BF16 | SCALED | REFUTED},
             {"wrong/operand", OPERAND | REFUTED},
             {"wrong/operand/reverse", NO_JVP | OPERAND | REFUTED},
             {"wrong/result", RESULT | REFUTED},
             {"wrong/result/f16", NO_JVP | IN_F16 | RESULT | REFUTED},
             {"wrong/tangent", TANGENT | REFUTED},
             {"wrong/tangent/forward", NO_GRAD | TANGENT | REFUTED}};

void ct_register(void) {
  for (size_t k = 0; k < CT_COUNT(kinds); k++) {
    CT_ADD_TO("derivatives", "judged", kinds[k].name, judged, &kinds[k].how);
  }
}
