/*
 * softmax and cross_entropy: literal results where they are exact, and elsewhere values worked out
 * in long double with a bound of a few roundings; the second derivative of the loss likewise.
 *
 * SPDX-License-Identifier: MIT
 */
#include "optable.h"

static const op_case cases[] = {
    OK_CASE("softmax/equal", "softmax(x)", "f32[2, 4] 0.25 0.25 0.25 0.25 0.25 0.25 0.25 0.25",
            "f32[2, 4] 1 1 1 1 -1e30 -1e30 -1e30 -1e30"),
    OK_CASE("softmax/axis", "softmax(x, axis = 0)", "f64[2, 2] 0.5 1 0.5 0",
            "f64[2, 2] 3 0 3 -1e9"),
    OK_CASE("softmax/large", "softmax(x)", "f32[3] 0 1 0", "f32[3] -3e38 3e38 0"),
    OK_CASE("softmax/one", "softmax(x)", "f16[3, 1] 1 1 1", "f16[3, 1] 65504 -65504 0"),
    OK_CASE("softmax/bf16", "softmax(x)", "bf16[2] 0.5 0.5", "bf16[2] 7 7"),
    OK_CASE("softmax/empty", "softmax(x)", "f32[2, 0]", "f32[2, 0]"),
    OK_CASE("softmax/no_lanes", "softmax(x)", "f32[0, 2]", "f32[0, 2]"),
    OK_CASE("softmax/nan", "softmax(x)", "f32[2, 2] nan nan 0.5 0.5", "f32[2, 2] nan 1 1 1"),
    OK_CASE("softmax/minus_inf", "softmax(x)", "f32[3] 0.5 0 0.5", "f32[3] 1 -inf 1"),
    OK_CASE("softmax/inf", "softmax(x)", "f64[2] nan nan", "f64[2] inf 1"),
    BAD_CASE("softmax/dtype", "softmax(x)", GEMEL_BAD_TYPE, "i32 is no float dtype; inputs i32[2]",
             "i32[2] 1 2"),
    BAD_CASE("softmax/scalar", "softmax(x)", GEMEL_BAD_SHAPE, "axis -1 is out of range for rank 0",
             "f32[] 1"),

    OK_CASE("loss/indices", "cross_entropy(x, y)", "f32[2] 0 1e30", "f32[2, 2] 0 -1e30 0 -1e30",
            "i64[2] 0 1"),
    OK_CASE("loss/indices_axis", "cross_entropy(x, y, axis = 0)", "f64[2] 0 1e9",
            "f64[2, 2] 0 0 -1e9 -1e9", "u8[2] 0 1"),
    OK_CASE("loss/floats", "cross_entropy(x, y)", "f32[1] 5e29", "f32[1, 2] 0 -1e30",
            "f32[1, 2] 0.5 0.5"),
    OK_CASE("loss/shift", "cross_entropy(x, y)", "f32[] 1024", "f32[2] 1e6 1001024", "i32[] 0"),
    OK_CASE("loss/empty", "cross_entropy(x, y)", "f32[2] 0 0", "f32[2, 0]", "f32[2, 0]"),
    OK_CASE("loss/nan", "cross_entropy(x, y)", "f32[] nan", "f32[2] 0 nan", "i32[] 0"),
    BAD_CASE("loss/behind", "cross_entropy(x, y)", GEMEL_BAD_VALUE,
             "target 2 (element 1) is outside 0..1", "f32[2, 2] 0 1 0 1", "i64[2] 0 2"),
    BAD_CASE("loss/before", "cross_entropy(x, y)", GEMEL_BAD_VALUE,
             "target -1 (element 0) is outside 0..1", "f32[2, 2] 0 1 0 1", "i8[2] -1 2"),
    BAD_CASE("loss/no_classes", "cross_entropy(x, y)", GEMEL_BAD_VALUE,
             "target 0 (element 0) is outside 0..-1", "f32[1, 0]", "i64[1] 0"),
    BAD_CASE("loss/rank", "cross_entropy(x, y)", GEMEL_BAD_SHAPE,
             "targets of dtype i64 must have rank 1", "f32[1, 1] 0", "i64[1, 1] 0"),
    BAD_CASE("loss/shape", "cross_entropy(x, y)", GEMEL_BAD_SHAPE, "differ along axis 0",
             "f32[2, 1] 0 0", "f32[3, 1] 0 0 0"),
    BAD_CASE("loss/dtype", "cross_entropy(x, y)", GEMEL_BAD_TYPE, "f32 and f64 differ", "f32[1] 0",
             "f64[1] 0"),
    BAD_CASE("loss/bool", "cross_entropy(x, y)", GEMEL_BAD_TYPE, "floats or integers",
             "f32[1, 1] 0", "bool[1] 0"),
};

static const op_case gradients[] = {
    GRAD("softmax", "softmax(x)", "f64[2] 0.5 0.5", "f64[2] 8 4", "f64[2] 1 -1", NULL,
         "f64[2] 7 7"),
    GRAD("loss/indices", "cross_entropy(x, y)", "f32[1] 1e30", "f32[1] 4", "f32[1, 2] 4 -4", NULL,
         "f32[1, 2] 0 -1e30", "i8[1] 1"),
    GRAD("loss/floats", "cross_entropy(x, y)", "f32[1] 1e30", "f32[1] 4", "f32[1, 2] 4 -4",
         "f32[1, 2] 0 4e30", "f32[1, 2] 0 -1e30", "f32[1, 2] 0 1"),
    GRAD("loss/axis", "cross_entropy(x, y, axis = 0)", "f64[1] 0", "f64[1] 2", "f64[2, 1] 0 0",
         "f64[2, 1] 0 0x1p31", "f64[2, 1] 0 -0x1p30", "f64[2, 1] 1 0"),
    GRAD("loss/empty", "cross_entropy(x, y)", "f32[1] 0", "f32[1] 4", "f32[1, 0]", "f32[1, 0]",
         "f32[1, 0]", "f32[1, 0]"),
};

/* ---- Results that are not exact ---- */

enum { CLASSES = 5 };

static const double logits[CLASSES] = {0.5, -1.25, 3, 0.1, -4};
static const double direction[CLASSES] = {1, -2, 0.5, 3, -0.25};

static void exact_softmax(long double *s) {
  long double total = 0;
  for (int k = 0; k < CLASSES; k++) {
    total += expl((long double)logits[k]);
  }
  for (int k = 0; k < CLASSES; k++) {
    s[k] = expl((long double)logits[k]) / total;
  }
}

/* Each of these makes one vector or scalar from x (the logits), v (the direction) and a target. */
static gemel_value make_softmax(gemel_value x, gemel_value v, gemel_value target) {
  (void)v, (void)target;
  return gemel_softmax(x, -1);
}

static gemel_value make_loss(gemel_value x, gemel_value v, gemel_value target) {
  (void)v;
  return gemel_cross_entropy(x, target, -1);
}

static gemel_value make_slope(gemel_value x, gemel_value v, gemel_value target) {
  gemel_value loss = make_loss(x, v, target), slope = {NULL, 0, 0};
  gemel_grad(1, &loss, NULL, 1, &x, &slope, NULL);
  return slope;
}

/* The derivative of v . slope: the second derivative times v, in reverse over reverse. */
static gemel_value make_curvature(gemel_value x, gemel_value v, gemel_value target) {
  gemel_value slope = make_slope(x, v, target), result = {NULL, 0, 0};
  gemel_value along = gemel_sum(gemel_mul(slope, v));
  gemel_grad(1, &along, NULL, 1, &x, &result, NULL);
  return result;
}

/* The same, forward over reverse. */
static gemel_value make_forward(gemel_value x, gemel_value v, gemel_value target) {
  gemel_value slope = make_slope(x, v, target), result = {NULL, 0, 0};
  gemel_jvp(1, &slope, 1, &x, &v, &result, NULL);
  return result;
}

/* The loss with its target as a unit vector of floats, and its derivative by that vector. */
static gemel_value unit(gemel_value target) {
  gemel_context *context = gemel_graph_context(target.graph);
  gemel_value index = gemel_arange(target.graph, gemel_dim_constant(context, CLASSES));
  return gemel_cast(gemel_eq(index, target), GEMEL_F64);
}

static gemel_value make_float_loss(gemel_value x, gemel_value v, gemel_value target) {
  (void)v;
  return gemel_cross_entropy(x, unit(target), -1);
}

static gemel_value make_target_slope(gemel_value x, gemel_value v, gemel_value target) {
  gemel_value t = unit(target), loss = gemel_cross_entropy(x, t, -1), slope = {NULL, 0, 0};
  (void)v;
  gemel_grad(1, &loss, NULL, 1, &t, &slope, NULL);
  return slope;
}

enum { TARGET = 3 };

static long double wanted_softmax(int k, const long double *s) {
  return s[k];
}
static long double wanted_loss(int k, const long double *s) {
  return k == 0 ? -logl(s[TARGET]) : 0;
}
static long double wanted_slope(int k, const long double *s) {
  return s[k] - (k == TARGET);
}
static long double wanted_curvature(int k, const long double *s) {
  long double mean = 0;
  for (int j = 0; j < CLASSES; j++) {
    mean += s[j] * (long double)direction[j];
  }
  return s[k] * ((long double)direction[k] - mean);
}
static long double wanted_target_slope(int k, const long double *s) {
  return -logl(s[k]);
}

typedef struct rounded {
  const char *name;
  gemel_value (*make)(gemel_value x, gemel_value v, gemel_value target);
  long double (*wanted)(int k, const long double *s);
  int count;
} rounded;

/* Every intermediate is below 8, so thirty roundings make at most 30 * 8 * 2^-53. */
static void close_enough(const void *data) {
  const rounded *r = data;
  gemel_context *context = gemel_context_new(NULL);
  gemel_graph *graph = gemel_graph_new(context, NULL);
  int64_t shape[1] = {CLASSES}, target = TARGET;
  gemel_type type = gemel_type_of_shape(context, GEMEL_F64, 1, shape);
  gemel_value x = gemel_input(graph, "x", type), v = gemel_input(graph, "v", type);
  gemel_value t = gemel_input(graph, "t", gemel_type_of_shape(context, GEMEL_I64, 0, NULL));
  gemel_tensor *in[3], *out = NULL;
  gemel_error error = {0};
  long double s[CLASSES];
  gemel_output(r->make(x, v, t), "y");
  CT_EQ_STR(gemel_graph_error(graph)->text, "");
  in[0] = gemel_tensor_wrap(GEMEL_F64, 1, shape, NULL, (void *)logits, NULL, NULL, NULL);
  in[1] = gemel_tensor_wrap(GEMEL_F64, 1, shape, NULL, (void *)direction, NULL, NULL, NULL);
  in[2] = gemel_tensor_wrap(GEMEL_I64, 0, NULL, NULL, &target, NULL, NULL, NULL);
  CT_EQ_INT(gemel_evaluate(graph, 3, in, 1, &out, &error), GEMEL_OK);
  CT_REQUIRE(out != NULL);
  exact_softmax(s);
  CT_EQ_INT(gemel_tensor_elements(out), r->count);
  for (int k = 0; k < r->count; k++) {
    long double got = ((double *)gemel_tensor_data(out))[k];
    CT_LE_DOUBLE((double)fabsl(got - r->wanted(k, s)), 30 * 8 * 0x1p-53);
  }
  for (int k = 0; k < 3; k++) {
    gemel_tensor_unref(in[k]);
  }
  gemel_tensor_unref(out);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

static const rounded results[] = {
    {"rounded/softmax", make_softmax, wanted_softmax, CLASSES},
    {"rounded/loss", make_loss, wanted_loss, 1},
    {"rounded/float_loss", make_float_loss, wanted_loss, 1},
    {"rounded/slope", make_slope, wanted_slope, CLASSES},
    {"rounded/target_slope", make_target_slope, wanted_target_slope, CLASSES},
    {"rounded/curvature", make_curvature, wanted_curvature, CLASSES},
    {"rounded/forward_curvature", make_forward, wanted_curvature, CLASSES},
};

/* ---- Lanes of any length and layout ---- */

/* Lanes of one chunk and of several, here and there a logit that dwarfs the rest, alone and in
 * groups with a rest, read and written in order and not. Results as f64: the logits as they are
 * given, softmax, and the losses for targets that are softmax's result and the largest logit. */
typedef struct lane_case {
  const char *name;
  int64_t shape[3]; /* before VIEW */
  const char *dtype, *view;
  int axis;
  double unit; /* of the dtype: 2^-mantissa bits */
} lane_case;

static const lane_case lane_cases[] = {
    {"lanes/few", {3, 67, 7}, "f32", "h", 2, 0x1p-23},
    {"lanes/middle", {3, 7, 67}, "f32", "h", 1, 0x1p-23},
    {"lanes/first", {9, 5, 31}, "f64", "h", 0, 0x1p-52},
    {"lanes/long", {2, 3, 5001}, "f32", "h", 2, 0x1p-23},
    {"lanes/long_f64", {1, 3, 5001}, "f64", "h", 2, 0x1p-52},
    {"lanes/long_middle", {2, 2500, 19}, "f32", "h", 1, 0x1p-23},
    {"lanes/long_half", {2, 2500, 3}, "f16", "h", 1, 0x1p-10},
    {"lanes/half", {5, 3, 40}, "bf16", "h", 2, 0x1p-7},
    {"lanes/reversed", {4, 33, 21}, "f32", "reverse(h, axes = [1, 2])", 2, 0x1p-23},
    {"lanes/turned", {300, 4, 5}, "f32", "dimshuffle(h, order = [2, 1, 0])", 2, 0x1p-23},
    {"lanes/turned_long", {2300, 2, 3}, "f64", "dimshuffle(h, order = [1, 2, 0])", 2, 0x1p-52},
    {"lanes/repeated", {3, 1, 40}, "f32", "broadcast_to(h, shape = [3, 17, 40])", 1, 0x1p-23},
    {"lanes/one", {40, 1, 6}, "f32", "h", 1, 0x1p-23},
    {"lanes/wide", {2, 70, 1100}, "f32", "h", 1, 0x1p-23},
    {"lanes/side_by_side", {1500, 4, 10}, "f64", "h", 0, 0x1p-52},
    {"lanes/side_by_side_reversed", {130, 4, 10}, "f32", "reverse(h, axes = [0])", 0, 0x1p-23},
    {"lanes/chunk", {2, 2, 2048}, "f32", "h", 2, 0x1p-23},
};

enum { LANE_OUTPUTS = 4 };

static int lane_results(const lane_case *c, int threads, gemel_tensor **out) {
  char text[768];
  gemel_error error = {0};
  gemel_options options = {.size = sizeof options, .threads = threads, .as_written = 1};
  gemel_context *context = gemel_context_new(NULL);
  gemel_graph *graph;
  gemel_function *f;
  gemel_tensor *x = gemel_tensor_new(GEMEL_F64, 3, c->shape, &error);
  uint64_t state = 1;
  for (int64_t k = 0; k < gemel_tensor_elements(x); k++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    ((double *)gemel_tensor_data(x))[k] =
        (double)(state >> 52) / 256 - 8 + (k % 1511 == 2 ? 100 : 0);
  }
  snprintf(text, sizeof text,
           "graph f(x: f64[%d, %d, %d]) { h = cast(x, dtype = %s) v = %s s = softmax(v, axis = %d) "
           "w = cast(v, dtype = f64) y = cast(s, dtype = f64) "
           "l = cast(cross_entropy(v, s, axis = %d), dtype = f64) "
           "i = cast(cross_entropy(v, argmax(v, axis = %d), axis = %d), dtype = f64) "
           "return w, y, l, i }",
           (int)c->shape[0], (int)c->shape[1], (int)c->shape[2], c->dtype, c->view, c->axis,
           c->axis, c->axis, c->axis);
  graph = gemel_parse(context, text, strlen(text), "lanes", NULL, &error);
  f = graph != NULL ? gemel_compile(graph, &options, &error) : NULL;
  if (f != NULL) {
    gemel_call(f, 1, &x, 4, out, &error);
  }
  CT_EQ_STR(error.text, "");
  gemel_function_free(f);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
  gemel_tensor_unref(x);
  return error.status == GEMEL_OK && out[0] != NULL;
}

/* One lane of N logits STEP apart: exp and log are good to a unit or two, the sum has no error to
 * speak of, and each result is rounded a few times more,
 * or to the last place of the smallest numbers. A total off by a part of it makes its
 * logarithm off by as much of 1. */
static int check_lane(const lane_case *c, int64_t n, int64_t step, const double *x, const double *s,
                      double loss, double index_loss) {
  long double max = -INFINITY, total = 0, wanted = 0, size = 0;
  int good = 1;
  for (int64_t k = 0; k < n; k++) {
    max = (long double)x[k * step] > max ? (long double)x[k * step] : max;
  }
  for (int64_t k = 0; k < n; k++) {
    total += expl((long double)x[k * step] - max);
  }
  for (int64_t k = 0; k < n && good; k++) {
    long double away = (long double)x[k * step] - max, p = expl(away) / total;
    long double term = (long double)s[k * step] * (logl(total) - away);
    good = CT_LE_DOUBLE((double)fabsl((long double)s[k * step] - p),
                        (double)(8 * p * (long double)c->unit) +
                            (c->unit > 0x1p-12 ? 0x1p-24 : 0x1p-148));
    wanted += term;
    size += fabsl(term);
  }
  return good &&
         CT_LE_DOUBLE((double)fabsl((long double)loss - wanted),
                      8 * c->unit * (1 + (double)size)) &&
         CT_LE_DOUBLE((double)fabsl((long double)index_loss - logl(total)),
                      8 * c->unit * (1 + (double)logl(total)));
}

static void lanes_are_right(const void *data) {
  const lane_case *c = data;
  gemel_tensor *out[LANE_OUTPUTS] = {NULL}, *three[LANE_OUTPUTS] = {NULL};
  CT_REQUIRE(lane_results(c, 1, out) && lane_results(c, 3, three));
  const double *x = gemel_tensor_data(out[0]), *s = gemel_tensor_data(out[1]);
  const double *loss = gemel_tensor_data(out[2]), *index_loss = gemel_tensor_data(out[3]);
  const int64_t *shape = gemel_tensor_shape(out[0]);
  int64_t step = 1, lanes = gemel_tensor_elements(out[2]), n = shape[c->axis];
  int good = 1;
  for (int k = c->axis + 1; k < 3; k++) {
    step *= shape[k];
  }
  for (int64_t k = 0; k < lanes && good; k++) {
    int64_t at = k / step * n * step + k % step;
    ct_context("lane %d", (int)k);
    good = check_lane(c, n, step, x + at, s + at, loss[k], index_loss[k]);
  }
  ct_context(NULL);
  for (int k = 0; k < LANE_OUTPUTS; k++) {
    CT_EQ_MEM(gemel_tensor_data(out[k]), gemel_tensor_data(three[k]),
              (size_t)gemel_tensor_elements(out[k]) * sizeof(double));
    gemel_tensor_unref(out[k]);
    gemel_tensor_unref(three[k]);
  }
}

/* A lane has the same bits wherever its elements lie: side by side with those of other lanes, or in
 * order. */
static void same_bits(const void *data) {
  static const int lengths[] = {2, 7, 15, 16, 17, 40, 63, 300, 2048, 2049, 4100};
  (void)data;
  for (size_t k = 0; k < CT_COUNT(lengths); k++) {
    lane_case across = {"", {lengths[k], 1, 150}, "f64", "h", 0, 0x1p-52};
    lane_case in_order = across;
    gemel_tensor *a[LANE_OUTPUTS] = {NULL}, *b[LANE_OUTPUTS] = {NULL};
    in_order.view = "dimshuffle(h, order = [2, 1, 0]) * 1:f64";
    in_order.axis = 2;
    ct_context("%d elements", lengths[k]);
    CT_REQUIRE(lane_results(&across, 1, a) && lane_results(&in_order, 1, b));
    for (int64_t lane = 0, differ = 0; lane < 150 && !differ; lane++) {
      for (int64_t j = 0; j < lengths[k] && !differ; j++) {
        differ =
            !CT_EQ_MEM((double *)gemel_tensor_data(a[1]) + j * 150 + lane,
                       (double *)gemel_tensor_data(b[1]) + lane * lengths[k] + j, sizeof(double));
      }
    }
    for (int j = 0; j < LANE_OUTPUTS; j++) {
      gemel_tensor_unref(a[j]);
      gemel_tensor_unref(b[j]);
    }
  }
}

void ct_register(void) {
  CT_ADD("softmax", "lanes/same_bits", same_bits, NULL);
  for (size_t k = 0; k < CT_COUNT(lane_cases); k++) {
    CT_ADD("softmax", lane_cases[k].name, lanes_are_right, &lane_cases[k]);
  }
  OPT_SUITE("softmax", cases);
  OPT_SUITE("softmax_gradient", gradients);
  for (size_t k = 0; k < CT_COUNT(results); k++) {
    CT_ADD("softmax", results[k].name, close_enough, &results[k]);
  }
}
