/*
 * Pairs of models, judged as `gemel equal` does: what ONNX leaves undefined and gemel's conventions
 * don't, such as casts of floats beyond all integers and quotients by 0. A guard that is dropped
 * narrows, one that is added widens; where both models are undefined, results don't count. Models
 * are written here in text (support/onnx-text.h).
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>
#include <gemel/gemel.h>
#include <gemel/verify.h>
#include "ct.h"
#include "support/heard.h"
#include "support/onnx-text.h"

/* What tells two models apart: */
enum told { SAME = 0, WIDENS = 1, NARROWS = 2, DIFFERS = 4 };

/* Two models with inputs and outputs as TYPES says, and constants. FIRST and SECOND are what they
 * compute, SAYS is a part of what is said. */
typedef struct model_pair {
  const char *name, *types, *first, *second;
  unsigned told;
  const char *says;
} model_pair;

#define U8 "(float[3] x) => (uint8[3] y)"
#define BYTES U8 "<float lo = {0}, float hi = {255}"
#define BYTE BYTES ">"
#define CLIPPED "c = Clip(x, lo, hi) y = Cast<to = 2>(c)"
#define CAST "y = Cast<to = 2>(x)"
#define NO_NAN "n = IsNaN(x) c = Where(n, lo, x) y = Cast<to = 2>(c)"
#define AFTER "g = Greater(x, hi) c = Cast<to = 2>(x) y = Where(g, most, c)"
#define QUOTIENT "(int32[N] x, int32[N] d) => (int32[N] y) <int32 zero = {0}, int32 one = {1}>"
#define NOT_ZERO "e = Equal(d, zero) f = Where(e, one, d) "
#define SHIFTED "(uint8[N] x, uint8[N] s) => (uint8[N] y) <uint8 seven = {7}, uint8 six = {6}>"
#define SHIFT "y = BitShift<direction = LEFT>"
#define ROWS "(float[3, 2] x, float[2, 2] w) => (float[3, 2] y)"
#define PRODUCT "f = Cast<to = 1>(u) y = MatMul(f, w)"
#define JOINED                                                                                     \
  "(float[3] x) => (uint8[6] y) <float lo = {0}, float hi = {255}>",                               \
      "c = Clip(x, lo, hi) "                                                                       \
      "d = Cast<to = 2>(c) y = Concat<axis = 0>(d, d)"

#define FLOATS                                                                                     \
  "(float[3] x) => (float[3] y) <float zero = {0}, float six = {6}, float large = {1e30}, "        \
  "float least = {-3.4028235e+38}, float largest = {3.4028235e+38}>"
#define IMAGES                                                                                     \
  "(float[1, 1, 4] x) => (float[1, 2, 3] y) "                                                      \
  "<float[2, 1, 2] w = {1.5, -2, 0.25, 3}, float zero = {0}>"
#define HALVES                                                                                     \
  "(float16[N] x) => (float16[N] y) <float large = {70000}, float low = {-70000}, "                \
  "float16 inf = {inf}, float16 most = {65504}> "

static const model_pair pairs[] = {
    {"clip_dropped", BYTE, CLIPPED, CAST, NARROWS,
     "to u8 is undefined in ONNX (m.onnx, Cast 'y':1)"},
    {"clip_added", BYTE, CAST, CLIPPED, WIDENS, ""},
    {"clip_of_256_dropped", U8 "<float lo = {0}, float hi = {256}>", CLIPPED, CAST, NARROWS, ""},
    {"clip_wider", BYTES ", float more = {300}>", CLIPPED,
     "c = Clip(x, lo, more) y = Cast<to = 2>(c)", NARROWS, ""},
    {"clip_narrower", BYTES ", float less = {254}>", CLIPPED,
     "c = Clip(x, lo, less) y = Cast<to = 2>(c)", DIFFERS, ""},
    {"clip_twice", BYTE, "d = Clip(x, lo, hi) c = Clip(d, lo, hi) y = Cast<to = 2>(c)", CLIPPED,
     SAME, ""},
    {"clip_of_inputs_dropped", "(float[3] x, float lo, float hi) => (uint8[3] y)", CLIPPED, CAST,
     DIFFERS, ""},
    {"max_and_min", BYTE, "d = Max(x, lo) c = Min(d, hi) y = Cast<to = 2>(c)", CLIPPED, SAME, ""},
    {"min_dropped", BYTE, "d = Max(x, lo) c = Min(d, hi) y = Cast<to = 2>(c)",
     "c = Max(x, lo) y = Cast<to = 2>(c)", NARROWS, ""},
    {"i8", "(float[3] x) => (int8[3] y) <float lo = {-128}, float hi = {127}>",
     "c = Clip(x, lo, hi) y = Cast<to = 3>(c)", "y = Cast<to = 3>(x)", NARROWS, "to i8"},
    {"f64_to_i32",
     "(double[3] x) => (int32[3] y) <double lo = {-2147483648}, double hi = {2147483647}>",
     "c = Clip(x, lo, hi) y = Cast<to = 6>(c)", "y = Cast<to = 6>(x)", NARROWS, "to i32"},
    {"f64_by_i64", "(double[3] x) => (int32[3] y)", "y = Cast<to = 6>(x)",
     "c = Cast<to = 7>(x) y = Cast<to = 6>(c)", WIDENS, ""},
    {"bf16", "(bfloat16[3] x) => (int8[3] y) <float lo = {-128}, float hi = {127}>",
     "f = Cast<to = 1>(x) c = Clip(f, lo, hi) y = Cast<to = 3>(c)", "y = Cast<to = 3>(x)", NARROWS,
     ""},
    {"exact", "(uint8[3] x) => (int32[3] y)", "f = Cast<to = 1>(x) y = Cast<to = 6>(f)",
     "y = Cast<to = 6>(x)", SAME, ""},
    {"chain_shortened", U8, "c = Cast<to = 6>(x) y = Cast<to = 2>(c)", CAST, NARROWS, ""},
    {"chain_lengthened", U8, CAST, "c = Cast<to = 6>(x) y = Cast<to = 2>(c)", WIDENS, ""},
    {"chain_wrong", U8 "<float one = {1}>", CAST,
     "d = Add(x, one) c = Cast<to = 6>(d) y = Cast<to = 2>(c)", DIFFERS, ""},
    {"nan_guard_dropped", BYTE, NO_NAN, CAST, NARROWS, "Cast of nan"},
    {"nan_guard_added", BYTE, CAST, NO_NAN, WIDENS, ""},
    {"guard_behind_dropped", BYTES ", uint8 most = {255}>", AFTER, CAST, NARROWS, ""},
    {"guard_behind_added", BYTES ", uint8 most = {255}>", CAST, AFTER, WIDENS, ""},
    {"times_zero", U8 "<uint8 zero = {0}>", "c = Cast<to = 2>(x) y = Mul(c, zero)",
     "n = IsNaN(x) m = Cast<to = 2>(n) y = Sub(m, m)", WIDENS, ""},
    {"times_zero_made", U8 "<uint8 zero = {0}>", "n = IsNaN(x) m = Cast<to = 2>(n) y = Sub(m, m)",
     "c = Cast<to = 2>(x) y = Mul(c, zero)", NARROWS, ""},
    {"transposed", "(float[N, M] x) => (uint8[M, N] y)",
     "c = Cast<to = 2>(x) y = Transpose<perm = [1, 0]>(c)",
     "c = Transpose<perm = [1, 0]>(x) y = Cast<to = 2>(c)", SAME, ""},
    {"joined", JOINED,
     "c = Clip(x, lo, hi) d = Cast<to = 2>(c) e = Cast<to = 2>(x) "
     "y = Concat<axis = 0>(d, e)",
     NARROWS, "leaves y["},
    {"quantized", U8 "<float s = {0.5}, uint8 z = {3}, float zero = {3}>",
     "y = QuantizeLinear(x, s, z)",
     "q = Div(x, s) r = Round(q) t = Add(r, zero) y = Cast<to = 2>(t)", NARROWS, ""},
    {"product", ROWS "<float lo = {0}, float hi = {255}>",
     "c = Clip(x, lo, hi) u = Cast<to = 2>(c) " PRODUCT, "u = Cast<to = 2>(x) " PRODUCT, NARROWS,
     ""},
    {"product_wrong", ROWS "<uint8 one = {1}>", "u = Cast<to = 2>(x) " PRODUCT,
     "i = Cast<to = 6>(x) v = Cast<to = 2>(i) u = Add(v, one) " PRODUCT, DIFFERS, ""},
    {"division_guard_dropped", QUOTIENT, NOT_ZERO "y = Div(x, f)", "y = Div(x, d)", NARROWS,
     " / 0 is undefined in ONNX (m.onnx, Div 'y':1)"},
    {"division_guard_added", QUOTIENT, "y = Div(x, d)", NOT_ZERO "y = Div(x, f)", WIDENS, ""},
    {"division_guard_behind", QUOTIENT, "e = Equal(d, zero) q = Div(x, d) y = Where(e, zero, q)",
     "y = Div(x, d)", NARROWS, ""},
    {"division_wrong", QUOTIENT, "y = Div(x, d)",
     "e = Equal(d, one) q = Div(x, d) y = Where(e, zero, q)", DIFFERS, ""},
    {"division_reordered", QUOTIENT, "q = Div(one, d) y = Mul(q, x)", "y = Div(x, d)", DIFFERS, ""},
    {"modulus", QUOTIENT, NOT_ZERO "y = Mod(x, f)", "y = Mod(x, d)", NARROWS, " % 0"},
    {"remainder", QUOTIENT, NOT_ZERO "y = Mod<fmod = 1>(x, f)", "y = Mod<fmod = 1>(x, d)", NARROWS,
     " % 0"},
    {"shift", SHIFTED, "t = Min(s, seven) " SHIFT "(x, t)", SHIFT "(x, s)", NARROWS, " << "},
    {"shift_guard_added", SHIFTED, SHIFT "(x, s)", "t = Min(s, seven) " SHIFT "(x, t)", WIDENS, ""},
    {"clip_of_nothing_dropped", FLOATS, "y = Clip(x)", "y = Identity(x)", SAME, ""},
    {"clip_of_the_largest", FLOATS, "y = Clip(x)", "y = Clip(x, least, largest)", SAME, ""},
    {"clip_of_the_largest_dropped", FLOATS, "d = Mul(x, x) y = Clip(d, least, largest)",
     "y = Mul(x, x)", SAME, ""},
    {"clip_of_large_dropped", FLOATS, "y = Clip(x, , large)", "y = Identity(x)", DIFFERS, ""},
    {"clip_below_is_relu", FLOATS, "d = Mul(x, x) e = Sub(d, six) y = Clip(e, zero)",
     "d = Mul(x, x) e = Sub(d, six) y = Relu(e)", SAME, ""},
    {"clip_below_dropped", FLOATS, "y = Clip(x, zero)", "y = Identity(x)", DIFFERS, ""},
    {"relu_and_clip", FLOATS, "d = Clip(x, , six) y = Relu(d)", "y = Clip(x, zero, six)", SAME, ""},
    {"relu_and_another_clip", FLOATS, "d = Clip(x, , six) y = Relu(d)", "y = Clip(x, zero, large)",
     DIFFERS, ""},
    {"clip_fused", IMAGES, "p = Conv(x, w) y = Clip(p)",
     "y = com.microsoft.FusedConv<activation = Clip, activation_params = [-3.4028235e+38, "
     "3.4028235e+38]>(x, w)",
     SAME, ""},
    {"clip_above_fused", IMAGES, "p = Conv(x, w) y = Clip(p, zero)",
     "y = com.microsoft.FusedConv<activation = Clip, activation_params = [0.0, 3.4028235e+38]>(x, "
     "w)",
     SAME, ""},
    {"clip_fused_wrong", IMAGES, "p = Conv(x, w) y = Clip(p, zero)",
     "y = com.microsoft.FusedConv<activation = Clip, activation_params = [-1.0, 3.4028235e+38]>(x, "
     "w)",
     DIFFERS, ""},
    {"overflow_folded", HALVES, "e = Expand(large, s) y = Cast<to = 10>(e)", "y = Expand(inf, s)",
     SAME, ""},
    {"overflow_below_folded", HALVES, "e = Expand(low, s) y = Cast<to = 10>(e)",
     "y = Expand(inf, s)", DIFFERS, ""},
    {"overflow_limited", HALVES, "e = Expand(large, s) y = Cast<to = 10>(e)", "y = Expand(most, s)",
     DIFFERS, ""},
    {"shift_wrong", SHIFTED, SHIFT "(x, s)", "t = Min(s, six) " SHIFT "(x, t)", DIFFERS, ""},
};

static gemel_graph *graph_of(gemel_context *context, const char *types, const char *nodes) {
  char text[1000];
  gemel_error error = {0};
  snprintf(text, sizeof text, "<ai.onnx: 17, com.microsoft: 1> g %s { %s%s }", types,
           strstr(nodes, "Expand") != NULL ? "s = Shape(x) " : "", nodes);
  message model = onnx_model(text);
  gemel_graph *graph = onnx_graph_of(&model, context, NULL, NULL, &error);
  CT_EQ_STR(error.text, "");
  return graph;
}

static unsigned told_by(const gemel_pair_result *r) {
  unsigned words = r->needs & GEMEL_PAIR_BIT(NARROWS) ? NARROWS : 0;
  words |= r->needs & GEMEL_PAIR_BIT(WIDENS) ? WIDENS : 0;
  words |= r->verdict == GEMEL_VERDICT_REFUTED && !(words & NARROWS) ? DIFFERS : 0;
  return words;
}

static void tells(const void *data) {
  const model_pair *p = data;
  gemel_context *context = gemel_context_new(NULL);
  gemel_graph *a = graph_of(context, p->types, p->first);
  gemel_graph *b = graph_of(context, p->types, p->second);
  heard h = hear_pair(a, b, GEMEL_PAIR_DEFAULT, p->name, (gemel_verify_options){.instances = 8});
  int passes = p->told <= WIDENS;
  CT_EQ_INT(h.result.verdict, passes ? GEMEL_VERDICT_PASSED : GEMEL_VERDICT_REFUTED);
  CT_EQ_INT(told_by(&h.result), p->told);
  CT_EQ_INT(h.result.refused, p->told & NARROWS ? GEMEL_PAIR_BIT(NARROWS) : 0);
  if (p->says[0] != '\0') {
    CT_HAS_STR(h.bad, p->says);
  }
  gemel_graph_unref(a);
  gemel_graph_unref(b);
  gemel_context_unref(context);
}

void ct_register(void) {
  for (size_t k = 0; k < CT_COUNT(pairs); k++) {
    CT_ADD("onnx_pairs", pairs[k].name, tells, &pairs[k]);
  }
}
