/*
 * Pooling: padding, stride, dilation, one to three axes, ties, NaN, signed zeros, every dtype, and
 * what is refused. Numbers that aren't plain to see were computed by PyTorch.
 *
 * SPDX-License-Identifier: MIT
 */
#include "ops/pool.h"
#include "optable.h"

#define X44 "f32[1, 1, 4, 4] 1 5 2 0 3 5 7 1 0 2 7 7 9 1 4 6"
/* without ties */
#define U44 "f32[1, 1, 4, 4] 1 5 2 0 3 4 7 1 0 2 6 8 9 1.5 4.5 6.5"
#define Y33 "f32[1, 1, 3, 3] 1 2 3 4 5 6 7 8 9"
#define FOURS "f32[1, 1, 3, 3] 4 8 12 16 20 24 28 32 36"

static const op_case cases[] = {
    OK_CASE("max", "max_pool(x, size = [2, 2])", "f32[1, 1, 3, 3] 5 7 7 5 7 7 9 7 7", X44),
    OK_CASE("max/stride", "max_pool(x, size = [2, 2], stride = [2, 2])", "f32[1, 1, 2, 2] 5 7 9 7",
            X44),
    OK_CASE("max/padding",
            "max_pool(x, size = [3, 3], stride = [2, 2], low = [1, 1], high = [1, 1])",
            "f32[1, 1, 2, 2] 5 7 9 7", X44),
    OK_CASE("max/uneven",
            "max_pool(x, size = [3, 2], stride = [2, 3], low = [2, 0], high = [0, 1])",
            "f32[1, 1, 2, 2] 5 0 5 7", X44),
    OK_CASE("max/dilation", "max_pool(x, size = [2, 2], dilation = [2, 2])",
            "f32[1, 1, 2, 2] 7 7 9 6", X44),
    OK_CASE("max/line", "max_pool(x, size = [3], stride = [2], low = [1], high = [1])",
            "f32[1, 1, 3] 2 4 5", "f32[1, 1, 5] 1 2 3 4 5"),
    OK_CASE("max/volume", "max_pool(x, size = [1, 2, 2])", "f32[1, 1, 2, 1, 1] 4 8",
            "f32[1, 1, 2, 2, 2] 1 2 3 4 5 6 7 8"),
    OK_CASE("max/symbols", "max_pool(x, size = [2, 2], stride = [2, 2])", "f32[1, 1, 2, 2] 5 7 9 7",
            "f32[N=1, C=1, H=4, W=4] 1 5 2 0 3 5 7 1 0 2 7 7 9 1 4 6"),
    OK_CASE("max/channels", "max_pool(x, size = [2])", "f32[2, 2, 1] 2 4 -1 8",
            "f32[2, 2, 2] 1 2 4 3 -2 -1 8 -9"),
    OK_CASE("max/negative", "max_pool(x, size = [2], low = [1], high = [1])",
            "f32[1, 1, 3] -3 -3 -4", "f32[1, 1, 2] -3 -4"),
    OK_CASE("max/nan", "max_pool(x, size = [2])", "f32[1, 1, 4] 2 nan nan 4",
            "f32[1, 1, 5] 1 2 nan 3 4"),
    OK_CASE("max/infinite", "max_pool(x, size = [2])", "f64[1, 1, 3] -inf inf inf",
            "f64[1, 1, 4] -inf -inf inf 3"),
    OK_CASE("max/zeros", "1:f32 / max_pool(x, size = [2])", "f32[1, 1, 3] inf inf -inf",
            "f32[1, 1, 4] -0 0 -0 -0"),
    OK_CASE("max/no_images", "max_pool(x, size = [1])", "f32[0, 1, 2]", "f32[0, 1, 2]"),
    OK_CASE("max/no_channels", "max_pool(x, size = [2])", "f32[1, 0, 1]", "f32[1, 0, 2]"),
    OK_CASE("max/bool", "max_pool(x, size = [2])", "bool[1, 1, 3] 0 1 1", "bool[1, 1, 4] 0 0 1 0"),
    OK_CASE("max/i8", "max_pool(x, size = [2])", "i8[1, 1, 2] -127 -1", "i8[1, 1, 3] -128 -127 -1"),
    OK_CASE("max/i16", "max_pool(x, size = [2])", "i16[1, 1, 1] -32767",
            "i16[1, 1, 2] -32768 -32767"),
    OK_CASE("max/i32", "max_pool(x, size = [2])", "i32[1, 1, 1] 2147483647",
            "i32[1, 1, 2] -2147483648 2147483647"),
    OK_CASE("max/i64", "max_pool(x, size = [2])", "i64[1, 1, 1] 9223372036854775807",
            "i64[1, 1, 2] 9223372036854775806 9223372036854775807"),
    OK_CASE("max/u8", "max_pool(x, size = [2])", "u8[1, 1, 1] 255", "u8[1, 1, 2] 127 255"),
    OK_CASE("max/u16", "max_pool(x, size = [2])", "u16[1, 1, 1] 65535", "u16[1, 1, 2] 65535 1"),
    OK_CASE("max/u32", "max_pool(x, size = [2])", "u32[1, 1, 1] 4294967295",
            "u32[1, 1, 2] 1 4294967295"),
    OK_CASE("max/u64", "max_pool(x, size = [2])", "u64[1, 1, 1] 18446744073709551615",
            "u64[1, 1, 2] 18446744073709551615 9223372036854775807"),
    OK_CASE("max/f16", "max_pool(x, size = [2])", "f16[1, 1, 2] 65504 65504",
            "f16[1, 1, 3] 1 65504 -2"),
    OK_CASE("max/bf16", "max_pool(x, size = [2])", "bf16[1, 1, 2] 1.5 nan",
            "bf16[1, 1, 3] 1.5 -2 nan"),

    OK_CASE("grad", "max_pool_grad(x, y, size = [2, 2])",
            "f32[1, 1, 4, 4] 0 1 0 0 0 4 10 0 0 0 8 15 7 0 0 0", U44, Y33),
    OK_CASE("grad/padding",
            "max_pool_grad(x, y, size = [3, 3], stride = [2, 2], low = [1, 1], high = [1, 1])",
            "f32[1, 1, 4, 4] 0 1 0 0 0 0 2 0 0 0 0 4 3 0 0 0", U44, "f32[1, 1, 2, 2] 1 2 3 4"),
    OK_CASE("grad/ties", "max_pool_grad(x, y, size = [2])", "f32[1, 1, 4] 6 8 2 4",
            "f32[1, 1, 4] 1 1 1 3", "f32[1, 1, 3] 12 4 4"),
    OK_CASE("grad/zeros_tie", "max_pool_grad(x, y, size = [2])", "f64[1, 1, 2] 2 2",
            "f64[1, 1, 2] -0 0", "f64[1, 1, 1] 4"),
    OK_CASE("grad/nan", "max_pool_grad(x, y, size = [2])", "f32[1, 1, 4] 0 0 0 4",
            "f32[1, 1, 4] 1 nan 2 3", "f32[1, 1, 3] 1 2 4"),
    OK_CASE("grad/infinite", "max_pool_grad(x, y, size = [2])", "f32[1, 1, 3] 0 inf 0",
            "f32[1, 1, 3] 1 2 1", "f32[1, 1, 2] inf 1"),
    OK_CASE("grad/f16_adds_in_f32", "max_pool_grad(x, y, size = [3], low = [2], high = [2])",
            "f16[1, 1, 1] 2050", "f16[1, 1, 1] 1", "f16[1, 1, 3] 2048 1 1"),
    OK_CASE("pick", "max_pool_pick(x, y, size = [2, 2])", "f32[1, 1, 3, 3] 1 6 6 5 6 11 12 10 11",
            U44, "f32[1, 1, 4, 4] 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15"),
    OK_CASE("pick/ties", "max_pool_pick(x, y, size = [2])", "f32[1, 1, 3] 2 4 7",
            "f32[1, 1, 4] 1 1 1 3", "f32[1, 1, 4] 1 3 5 7"),
    OK_CASE("pick/nan", "max_pool_pick(x, y, size = [2])", "f32[1, 1, 3] 0 0 4",
            "f32[1, 1, 4] 1 nan 2 3", "f32[1, 1, 4] 1 2 3 4"),
    OK_CASE("pick/takes_alone", "max_pool_pick(x, y, size = [2])", "f32[1, 1, 2] 5 nan",
            "f32[1, 1, 3] 1 3 4", "f32[1, 1, 3] nan 5 nan"),

    OK_CASE("avg", "avg_pool(x, size = [2, 2])",
            "f32[1, 1, 3, 3] 3.5 4.75 2.5 2.5 5.25 5.5 3 3.5 6", X44),
    OK_CASE("avg/padding",
            "avg_pool(x, size = [2, 2], stride = [2, 2], low = [1, 1], high = [1, 1])",
            "f32[1, 1, 3, 3] 1 3.5 0 1.5 5.25 4 9 2.5 6", X44),
    OK_CASE("avg/count_padding",
            "avg_pool(x, size = [2, 2], stride = [2, 2], low = [1, 1], high = [1, 1], "
            "count_padding = 1)",
            "f32[1, 1, 3, 3] 0.25 1.75 0 0.75 5.25 2 2.25 1.25 1.5", X44),
    OK_CASE("avg/line", "avg_pool(x, size = [3], stride = [2], low = [1], high = [1])",
            "f32[1, 1, 3] 1.5 3 4.5", "f32[1, 1, 5] 1 2 3 4 5"),
    OK_CASE("avg/volume", "avg_pool(x, size = [2, 1, 2])", "f32[1, 1, 1, 2, 1] 3.5 5.5",
            "f32[1, 1, 2, 2, 2] 1 2 3 4 5 6 7 8"),
    OK_CASE("avg/dilation", "avg_pool(x, size = [2], dilation = [2], low = [1])",
            "f64[1, 1, 2] 2 2", "f64[1, 1, 3] 1 2 3"),
    OK_CASE("avg/f16_adds_in_f32", "avg_pool(x, size = [3])", "f16[1, 1, 1] 1366",
            "f16[1, 1, 3] 4096 1 1"),
    OK_CASE("avg/bf16", "avg_pool(x, size = [2])", "bf16[1, 1, 1] 1.5", "bf16[1, 1, 2] 1 2"),

    OK_CASE("avg_grad",
            "avg_pool_grad(x, size = [2, 2], stride = [2, 2], low = [1, 1], high = [1, 1], "
            "image = [4, 4])",
            "f32[1, 1, 4, 4] 4 4 4 12 8 5 5 12 8 5 5 12 28 16 16 36", FOURS),
    OK_CASE("avg_grad/count_padding",
            "avg_pool_grad(x, size = [2, 2], stride = [2, 2], low = [1, 1], high = [1, 1], "
            "count_padding = 1, image = [4, 4])",
            "f32[1, 1, 4, 4] 1 2 2 3 4 5 5 6 4 5 5 6 7 8 8 9", FOURS),
    OK_CASE("avg_grad/overlap", "avg_pool_grad(x, size = [2, 2], image = [3, 3])",
            "f32[1, 1, 3, 3] 1 3 2 4 10 6 3 7 4", "f32[1, 1, 2, 2] 4 8 12 16"),
    OK_CASE("avg_grad/larger", "avg_pool_grad(x, size = [2, 2], stride = [2, 2], image = [5, 5])",
            "f32[1, 1, 5, 5] 1 1 2 2 0 1 1 2 2 0 3 3 4 4 0 3 3 4 4 0 0 0 0 0 0",
            "f32[1, 1, 2, 2] 4 8 12 16"),

    BAD_CASE("rank", "max_pool(x, size = [1])", GEMEL_BAD_SHAPE, "operand 0 has rank 2",
             "f32[1, 1] 1"),
    BAD_CASE("rank/4_axes", "max_pool(x, size = [1])", GEMEL_BAD_SHAPE, "operand 0 has rank 6",
             "f32[1, 1, 1, 1, 1, 1] 1"),
    BAD_CASE("size_count", "max_pool(x, size = [2])", GEMEL_BAD_SHAPE,
             "size has 1 entries for 2 spatial axes", X44),
    BAD_CASE("size", "max_pool(x, size = [2, 0])", GEMEL_BAD_VALUE,
             "size 0 along spatial axis 1 is below 1", X44),
    BAD_CASE("stride", "avg_pool(x, size = [2, 2], stride = [0, 1])", GEMEL_BAD_VALUE,
             "stride 0 along spatial axis 0 is below 1", X44),
    BAD_CASE("dilation", "avg_pool(x, size = [2, 2], dilation = [1, -1])", GEMEL_BAD_VALUE,
             "dilation -1 along spatial axis 1 is below 1", X44),
    BAD_CASE("low", "max_pool(x, size = [2, 2], low = [-1, 0])", GEMEL_BAD_VALUE,
             "low -1 along spatial axis 0 is below 0", X44),
    BAD_CASE("too_wide", "max_pool(x, size = [2, 3], dilation = [1, 2])", GEMEL_BAD_SHAPE,
             "along spatial axis 1 the window spans 5 elements, and the padded image has 4", X44),
    BAD_CASE("too_wide_at_run_time", "max_pool(x, size = [2])", GEMEL_BAD_SHAPE,
             "the window spans 2 elements, and the padded image has 1", "f32[1, 1, H=1] 1"),
    BAD_CASE("empty", "max_pool(x, size = [1])", GEMEL_BAD_SHAPE,
             "the window spans 1 elements, and the padded image has 0", "f32[1, 1, 0]"),
    BAD_CASE("padding/low", "max_pool(x, size = [2, 2], low = [0, 2])", GEMEL_BAD_VALUE,
             "low 2 along spatial axis 1 isn't below the window's span", X44),
    BAD_CASE("padding/high", "avg_pool(x, size = [2, 2], dilation = [3, 1], high = [4, 0])",
             GEMEL_BAD_VALUE, "high 4 along spatial axis 0 isn't below the window's span", X44),
    BAD_CASE("padding/between", "max_pool(x, size = [2], dilation = [3], low = [2], high = [3])",
             GEMEL_BAD_SHAPE, "the image has 1 elements, and those of a window lie 3 apart",
             "f32[1, 1, 1] 1"),
    BAD_CASE("padding/between_at_run_time",
             "max_pool(x, size = [2], dilation = [3], low = [2], high = [3])", GEMEL_BAD_SHAPE,
             "the image has 1 elements, and those of a window lie 3 apart", "f32[1, 1, H=1] 1"),
    BAD_CASE("overflow", "max_pool(x, size = [9223372036854775807, 1], dilation = [4, 1])",
             GEMEL_BAD_SHAPE, "exceeds 64 bits", X44),
    BAD_CASE("integers", "avg_pool(x, size = [1])", GEMEL_BAD_TYPE, "i32 is no float dtype",
             "i32[1, 1, 1] 1"),
    BAD_CASE("grad_integers", "max_pool_grad(x, y, size = [1])", GEMEL_BAD_TYPE,
             "i32 is no float dtype", "i32[1, 1, 1] 1", "i32[1, 1, 1] 1"),
    BAD_CASE("grad_dtype", "max_pool_grad(x, y, size = [2, 2])", GEMEL_BAD_TYPE,
             "dtypes f32 and f64 differ", X44, "f64[1, 1, 3, 3] 1 2 3 4 5 6 7 8 9"),
    BAD_CASE("grad_rank", "max_pool_grad(x, y, size = [2, 2])", GEMEL_BAD_SHAPE,
             "operands of ranks 4 and 3", X44, "f32[1, 1, 1] 1"),
    BAD_CASE("grad_batch", "max_pool_grad(x, y, size = [1])", GEMEL_BAD_SHAPE,
             "the batch is 2 and should be 1", "f32[1, 1, 1] 1", "f32[2, 1, 1] 1 2"),
    BAD_CASE("grad_channels", "max_pool_grad(x, y, size = [1])", GEMEL_BAD_SHAPE,
             "the number of channels is 2 and should be 1", "f32[1, 1, 1] 1", "f32[1, 2, 1] 1 2"),
    BAD_CASE("grad_places", "max_pool_grad(x, y, size = [2, 2], stride = [1, 2])", GEMEL_BAD_SHAPE,
             "the number of places along spatial axis 1 is 3 and should be 2", X44, Y33),
    BAD_CASE("pick_size", "max_pool_pick(x, y, size = [2, 2])", GEMEL_BAD_SHAPE,
             "the second operand's size along spatial axis 0 is 3 and should be 4", X44, Y33),
    BAD_CASE("avg_grad_image", "avg_pool_grad(x, size = [2, 2], image = [4])", GEMEL_BAD_SHAPE,
             "image has 1 entries for 2 spatial axes", Y33),
    BAD_CASE("avg_grad_places", "avg_pool_grad(x, size = [2, 2], image = [4, 5])", GEMEL_BAD_SHAPE,
             "the number of places along spatial axis 1 is 3 and should be 4", Y33),
};

static const op_case gradients[] = {
    GRAD("max", "max_pool(x, size = [2, 2])", "f32[1, 1, 3, 3] 5 7 7 4 7 8 9 6 8", Y33,
         "f32[1, 1, 4, 4] 0 1 0 0 0 4 10 0 0 0 8 15 7 0 0 0", NULL, U44),
    GRAD("avg", "avg_pool(x, size = [2, 2], stride = [2, 2], low = [1, 1], high = [1, 1])",
         "f32[1, 1, 3, 3] 1 3.5 0 1.5 5.25 4 9 2.5 6", FOURS,
         "f32[1, 1, 4, 4] 4 4 4 12 8 5 5 12 8 5 5 12 28 16 16 36", NULL, X44),
};

/* Rows longer than a kernel takes at once. */
static void long_rows(const void *data) {
  enum { N = 1500 };
  gemel_error error = {0};
  gemel_context *context = gemel_context_new(&error);
  gemel_graph *graph = gemel_graph_new(context, &error);
  gemel_value x = gemel_declare(graph, "x: f32[1, 1, 1500]");
  int64_t size = 3, one = 1;
  gemel_value y = gemel_max_pool_with(x, 1, &size, .low = {1, &one}, .high = {1, &one});
  float given[N], d[N];
  gemel_tensor *in, *out[2] = {NULL, NULL};
  (void)data;
  for (int k = 0; k < N; k++) {
    given[k] = (float)((k * 7919) % 1009);
  }
  gemel_output(y, "y");
  gemel_output(gemel_gradient(gemel_sum(y), x), "d");
  in = gemel_tensor_wrap(GEMEL_F32, GEMEL_LIST(int64_t, 1, 1, N), NULL, given, NULL, NULL, &error);
  CT_EQ_INT(gemel_evaluate(graph, 1, &in, 2, out, &error), GEMEL_OK);
  memset(d, 0, sizeof d);
  for (int k = 0; k < N && out[0] != NULL; k++) {
    int from = k > 0 ? k - 1 : 0, best = from;
    for (int i = from; i <= k + 1 && i < N; i++) {
      best = given[i] > given[best] ? i : best;
    }
    d[best]++;
    ct_context("place %d", k);
    CT_CHECK(((const float *)gemel_tensor_data(out[0]))[k] == given[best]);
  }
  CT_CHECK(out[1] != NULL && memcmp(gemel_tensor_data(out[1]), d, sizeof d) == 0);
  gemel_tensor_unref(out[0]);
  gemel_tensor_unref(out[1]);
  gemel_tensor_unref(in);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

/* ---- Kernels, wherever the channels of operands and results lie ---- */

/* Instances of one geometry: images and what has a number for each place. */
typedef struct geometry {
  gemel_dtype dtype;
  int64_t item, image[4], places[4], lists[5][2]; /* the attributes up to HIGH */
  gemel_attr attrs[GEMEL__POOL_IMAGE + 1];
  uint64_t state;
} geometry;

enum { MOST = 4 * 40 * 12 * 12 };

static const gemel_kernel *const kernels[GEMEL__POOL_KINDS] = {
    [GEMEL__POOL_MAX] = gemel__max_pool_kernels,
    [GEMEL__POOL_MAX_GRAD] = gemel__max_pool_grad_kernels,
    [GEMEL__POOL_MAX_PICK] = gemel__max_pool_pick_kernels,
    [GEMEL__POOL_AVG] = gemel__avg_pool_kernels,
    [GEMEL__POOL_AVG_GRAD] = gemel__avg_pool_grad_kernels};

static int64_t below(geometry *g, int64_t n) {
  g->state = g->state * 6364136223846793005u + 1442695040888963407u;
  return (int64_t)((g->state >> 33) % (uint64_t)n);
}

static void draw_geometry(geometry *g, int number) {
  static const char *const names[] = {"size", "stride", "dilation", "low", "high"};
  g->state = (uint64_t)number;
  g->dtype = below(g, 2) ? GEMEL_F64 : GEMEL_F32;
  g->item = (int64_t)gemel_dtype_size(g->dtype);
  g->image[0] = g->places[0] = 1 + below(g, 4);
  g->image[1] = g->places[1] = 1 + below(g, 40);
  for (int k = 0; k < 2; k++) {
    int64_t size = 1 + below(g, 4), dilation = 1 + below(g, 2), reach = (size - 1) * dilation;
    int64_t stride = below(g, 2) ? size : 1 + below(g, 3);
    int64_t low = below(g, 2) ? 0 : below(g, reach + 1), high = below(g, 2) ? 0 : low;
    const int64_t list[] = {size, stride, dilation, low, high};
    g->image[2 + k] = reach + 1 + below(g, 12 - reach);
    g->places[2 + k] = (g->image[2 + k] + low + high - reach - 1) / stride + 1;
    for (int j = 0; j < 5; j++) {
      g->lists[j][k] = list[j];
    }
  }
  for (int j = 0; j < 5; j++) {
    g->attrs[j] = gemel_attr_ints(names[j], 2, g->lists[j]);
  }
  g->attrs[GEMEL__POOL_COUNT_PADDING] = gemel_attr_int("count_padding", below(g, 2));
  g->attrs[GEMEL__POOL_IMAGE] = gemel_attr_ints("image", 2, g->image + 2);
}

/* Row-major, with channels last, or with gaps and the batch last. */
static void lay(const geometry *g, int layout, const int64_t *sizes, int64_t *strides) {
  static const int orders[3][4] = {{3, 2, 1, 0}, {1, 3, 2, 0}, {0, 1, 2, 3}};
  int64_t step = g->item * (layout == 2 ? 2 : 1);
  for (int k = 0; k < 4; k++) {
    strides[orders[layout][k]] = step;
    step *= sizes[orders[layout][k]];
  }
}

/* A few numbers only, so that there are ties, with zeros of both signs, NaNs and infinities. */
static void fill(geometry *g, void *data) {
  static const double numbers[] = {-2, -1, -0.0, 0, 1, 2, 0.1, 3};
  for (int k = 0; k < 2 * MOST; k++) {
    int64_t odd = below(g, 400);
    double x = odd == 0 ? NAN : odd == 1 ? INFINITY : odd == 2 ? -INFINITY : numbers[below(g, 8)];
    if (g->dtype == GEMEL_F64) {
      ((double *)data)[k] = x;
    } else {
      ((float *)data)[k] = (float)x;
    }
  }
}

static int same(const geometry *g, const void *a, const void *b) {
  int equal = 1;
  for (int k = 0; k < 2 * MOST; k++) {
    const char *x = (const char *)a + k * g->item, *y = (const char *)b + k * g->item;
    double u = g->dtype == GEMEL_F64 ? *(const double *)(const void *)x
                                     : (double)*(const float *)(const void *)x;
    double v = g->dtype == GEMEL_F64 ? *(const double *)(const void *)y
                                     : (double)*(const float *)(const void *)y;
    equal &= (u != u && v != v) || memcmp(x, y, (size_t)g->item) == 0;
  }
  return equal;
}

/* What the plain kernel (ISA < 0), or that of lanes for a machine with ISA, makes of the operands,
 * in OUT, where nothing else may change. 0 if it declines. */
static int call_kernel(gemel__pool_kind kind, int isa, gemel_kernel_call *call, int threads,
                       void *out) {
  _Alignas(16) char state[GEMEL_KERNEL_PREPARED_BYTES] = {0};
  gemel_view result = call->outputs[0];
  gemel_status status;
  result.data = out;
  call->outputs = &result;
  call->threads = threads;
  call->prepared = state;
  call->scratch_bytes = 0;
  memset(out, 0x55, 2 * MOST * sizeof(double));
  status = isa < 0 ? kernels[kind][1].prepare(call)
                   : gemel__pool_lanes_prepare(call, kind, (gemel__isa)isa);
  if (status == GEMEL_OK) {
    call->scratch = malloc(call->scratch_bytes + 1);
    memset(call->scratch, 0x55, call->scratch_bytes);
    CT_EQ_INT(isa < 0 ? kernels[kind][1].run(call)
                      : gemel__pool_lanes_run(call, kind, (gemel__isa)isa),
              GEMEL_OK);
    free(call->scratch);
  } else {
    CT_EQ_INT(status, GEMEL_DECLINED);
  }
  return status == GEMEL_OK;
}

/* The kernel that takes channels together gives the same bits as the plain one, whichever way each
 * operand and the result lie. */
static void lanes(const void *data) {
  static double memory[5][2 * MOST];
  int taken = 0;
  (void)data;
  for (int number = 0; number < 400; number++) {
    geometry g;
    int isa = number % ((int)gemel__isa_best() + 1);
    draw_geometry(&g, number);
    for (int k = 0; k < 3; k++) {
      fill(&g, memory[k]);
    }
    for (int kind = 0; kind < GEMEL__POOL_KINDS; kind++) {
      int gives = kind == GEMEL__POOL_MAX_GRAD || kind == GEMEL__POOL_AVG_GRAD;
      int common = (int)below(&g, 2), alike = below(&g, 2) != 0;
      int64_t strides[4][4];
      gemel_view views[4];
      for (int k = 0; k < 4; k++) { /* image, places, another image, result */
        int64_t *sizes = k == 1 || (k == 3 && !gives) ? g.places : g.image;
        lay(&g, alike ? common : (int)below(&g, 3), sizes, strides[k]);
        views[k] = (gemel_view){g.dtype, 4, sizes, strides[k], memory[k]};
      }
      const gemel_view in[2] = {views[kind == GEMEL__POOL_AVG_GRAD],
                                views[kind == GEMEL__POOL_MAX_GRAD ? 1 : 2]};
      gemel_kernel_call call = {
          .size = sizeof call,
          .n_inputs = kind == GEMEL__POOL_MAX_GRAD || kind == GEMEL__POOL_MAX_PICK ? 2 : 1,
          .inputs = in,
          .n_outputs = 1,
          .outputs = &views[3],
          .attrs = g.attrs};
      gemel_kernel_call plain = call;
      ct_context("geometry %d, operation %d", number, kind);
      if (call_kernel((gemel__pool_kind)kind, isa, &call, 1 + number % 3, memory[3])) {
        CT_CHECK(call_kernel((gemel__pool_kind)kind, -1, &plain, 1, memory[4]));
        CT_CHECK(same(&g, memory[3], memory[4]));
        taken++;
      }
    }
  }
  CT_CHECK(taken > 1800);
}

void ct_register(void) {
  static const ct_test others[] = {CT_TEST("long_rows", long_rows, NULL),
                                   CT_TEST("lanes", lanes, NULL)};
  OPT_SUITE("pool", cases);
  OPT_SUITE("pool_gradient", gradients);
  ct_suite("pool_others", others, CT_COUNT(others));
}
