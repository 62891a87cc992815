/*
 * dot and dot_add: which axes meet, every dtype, strides and sizes that go through a library and
 * that don't, special values, and independence of the number of threads.
 *
 * SPDX-License-Identifier: MIT
 */
#include "optable.h"

#define X23 "f32[2, 3] 1 2 3 4 5 6"
#define Y32 "f32[3, 2] 7 8 9 10 11 12"

static const op_case cases[] = {
    OK_CASE("matrix", "dot(x, y)", "f32[2, 2] 58 64 139 154", X23, Y32),
    OK_CASE("vector/left", "dot(x, y)", "f32[2] 58 64", "f32[3] 1 2 3", Y32),
    OK_CASE("vector/right", "dot(x, y)", "f32[2] 14 32", X23, "f32[3] 1 2 3"),
    OK_CASE("vector/both", "dot(x, y)", "f32[] 14", "f32[3] 1 2 3", "f32[3] 1 2 3"),
    OK_CASE("batch", "dot(x, y)", "f32[2, 1, 1] 11 39", "f32[2, 1, 2] 1 2 3 4",
            "f32[2, 2, 1] 3 4 5 6"),
    OK_CASE("batch/two_axes", "dot(x, y)", "i32[2, 1, 1, 2] 3 4 10 12", "i32[2, 1, 1, 1] 1 2",
            "i32[2, 1, 1, 2] 3 4 5 6"),
    OK_CASE("outer", "dot(x, y, contract_x = [], contract_y = [])", "f32[2, 2] 3 4 6 8",
            "f32[2] 1 2", "f32[2] 3 4"),
    OK_CASE("both_axes", "dot(x, y, contract_x = [0, 1], contract_y = [1, 0])", "f32[] 212",
            "f32[2, 3] 1 2 3 4 5 6", Y32),
    OK_CASE("first_axes", "dot(x, y, contract_x = [0], contract_y = [0])",
            "f32[3, 2] 13 18 17 24 21 30", X23, "f32[2, 2] 1 2 3 4"),
    OK_CASE("batch_only", "dot(x, y, batch_x = [0], batch_y = [-1])", "f32[3, 2] 1 4 4 10 9 18",
            "f32[3] 1 2 3", "f32[2, 3] 1 2 3 4 5 6"),
    OK_CASE("batch_and_contract",
            "dot(x, y, contract_x = [0], contract_y = [1], batch_x = [1], batch_y = [0])",
            "i16[3] 9 19 33", "i16[2, 3] 1 2 3 4 5 6", "i16[3, 2] 1 2 2 3 3 4"),
    OK_CASE("free_between", "dot(x, y, contract_x = [1], contract_y = [1])",
            "i8[2, 2, 1, 2] 3 4 6 8 9 12 12 16", "i8[2, 1, 2] 1 2 3 4", "i8[1, 1, 2] 3 4"),
    OK_CASE("symbols", "dot(x, y)", "f32[2, 2] 58 64 139 154", "f32[N=2, K=3] 1 2 3 4 5 6",
            "f32[L=3, M=2] 7 8 9 10 11 12"),

    OK_CASE("bool", "dot(x, y)", "bool[2, 2] 1 0 1 1", "bool[2, 2] 1 0 1 1", "bool[2, 2] 1 0 0 1"),
    OK_CASE("i8/wraps", "dot(x, y)", "i8[1, 1] -28", "i8[1, 2] 100 100", "i8[2, 1] 100 -3"),
    OK_CASE("i16", "dot(x, y)", "i16[1, 1] -32768", "i16[1, 2] 16384 1", "i16[2, 1] 2 0"),
    OK_CASE("i32", "dot(x, y)", "i32[1, 1] -2147483648", "i32[1, 1] 65536", "i32[1, 1] 32768"),
    OK_CASE("i64", "dot(x, y)", "i64[1, 1] 4611686018427387905", "i64[1, 2] 4611686018427387904 1",
            "i64[2, 1] 1 1"),
    OK_CASE("u8", "dot(x, y)", "u8[] 1", "u8[2] 255 0", "u8[2] 255 3"),
    OK_CASE("u16", "dot(x, y)", "u16[] 1", "u16[1] 65535", "u16[1] 65535"),
    OK_CASE("u32", "dot(x, y)", "u32[] 1", "u32[1] 4294967295", "u32[1] 4294967295"),
    OK_CASE("u64", "dot(x, y)", "u64[] 1", "u64[1] 18446744073709551615",
            "u64[1] 18446744073709551615"),
    OK_CASE("f16/accumulates_in_f32", "dot(x, y)", "f16[] 2050", "f16[3] 2048 1 1", "f16[3] 1 1 1"),
    OK_CASE("bf16/accumulates_in_f32", "dot(x, y)", "bf16[] 258", "bf16[3] 256 1 1",
            "bf16[3] 1 1 1"),
    OK_CASE("f64", "dot(x, y)", "f64[2, 2] 58 64 139 154", "f64[2, 3] 1 2 3 4 5 6",
            "f64[3, 2] 7 8 9 10 11 12"),

    OK_CASE("empty/contracted", "dot(x, y)", "f32[2, 2] 0 0 0 0", "f32[2, 0]", "f32[0, 2]"),
    OK_CASE("empty/free", "dot(x, y)", "f32[0, 2]", "f32[0, 3]", Y32),
    OK_CASE("empty/batch", "dot(x, y)", "f64[0, 1, 1]", "f64[0, 1, 2]", "f64[0, 2, 1]"),
    OK_CASE("nan_times_zero", "dot(x, y)", "f32[1, 2] nan nan", "f32[1, 2] 0 1",
            "f32[2, 2] nan inf 1 1"),
    OK_CASE("inf", "dot(x, y)", "f32[1, 2] inf nan", "f32[1, 2] inf 1", "f32[2, 2] 1 0 1 1"),

    OK_CASE("add/matrix", "dot_add(x, y, z)", "f32[2, 2] 59 66 142 158", X23, Y32,
            "f32[2, 2] 1 2 3 4"),
    OK_CASE("add/vector", "dot_add(x, y, z)", "f64[2] 15 30", "f64[2, 3] 1 2 3 4 5 6",
            "f64[3] 1 2 3", "f64[2] 1 -2"),
    OK_CASE("add/scalar", "dot_add(x, y, z)", "f32[] 10", "f32[3] 1 2 3", "f32[3] 1 2 3",
            "f32[] -4"),
    OK_CASE("add/batch", "dot_add(x, y, z)", "f32[2, 1, 1] 111 239", "f32[2, 1, 2] 1 2 3 4",
            "f32[2, 2, 1] 3 4 5 6", "f32[2, 1, 1] 100 200"),
    OK_CASE("add/axes", "dot_add(x, y, z, contract_x = [0], contract_y = [0])",
            "f32[3, 2] 14 20 20 28 26 36", X23, "f32[2, 2] 1 2 3 4", "f32[3, 2] 1 2 3 4 5 6"),
    OK_CASE("add/symbols", "dot_add(x, y, z)", "f32[2, 2] 59 66 142 158",
            "f32[N=2, K=3] 1 2 3 4 5 6", "f32[L=3, M=2] 7 8 9 10 11 12", "f32[P=2, Q=2] 1 2 3 4"),
    OK_CASE("add/i8", "dot_add(x, y, z)", "i8[1, 1] 99", "i8[1, 2] 100 100", "i8[2, 1] 100 -3",
            "i8[1, 1] 127"),
    OK_CASE("add/bool", "dot_add(x, y, z)", "bool[2, 2] 1 1 1 1", "bool[2, 2] 1 0 1 1",
            "bool[2, 2] 1 0 0 1", "bool[2, 2] 0 1 0 0"),
    OK_CASE("add/f16_rounded_once", "dot_add(x, y, z)", "f16[] 2050", "f16[2] 2048 1", "f16[2] 1 1",
            "f16[] 1"),
    OK_CASE("add/empty", "dot_add(x, y, z)", "f32[2, 2] 1 2 3 4", "f32[2, 0]", "f32[0, 2]",
            "f32[2, 2] 1 2 3 4"),
    OK_CASE("add/nan", "dot_add(x, y, z)", "f32[1, 2] nan inf", "f32[1, 1] 0", "f32[1, 2] 1 1",
            "f32[1, 2] nan inf"),
    BAD_CASE("add/rank", "dot_add(x, y, z)", GEMEL_BAD_SHAPE,
             "the product has rank 2, and z has rank 1", X23, Y32, "f32[2] 1 2"),
    BAD_CASE("add/size", "dot_add(x, y, z)", GEMEL_BAD_SHAPE, "axis 1 of z has another size", X23,
             Y32, "f32[2, 1] 1 2"),
    BAD_CASE("add/size_at_run_time", "dot_add(x, y, z)", GEMEL_BAD_SHAPE,
             "axis 0 of z has another size", X23, Y32, "f32[N=1, 2] 1 2"),
    BAD_CASE("add/dtype", "dot_add(x, y, z)", GEMEL_BAD_TYPE, "dtypes f32 and f64 differ", X23, Y32,
             "f64[2, 2] 1 2 3 4"),

    BAD_CASE("size", "dot(x, y)", GEMEL_BAD_SHAPE,
             "contracted axis 1 of x has size 3, axis 0 of y has 2; inputs f32[2, 3], f32[2, 2]",
             X23, "f32[2, 2] 1 2 3 4"),
    BAD_CASE("size_at_run_time", "dot(x, y)", GEMEL_BAD_SHAPE, "has size 3, axis 0 of y has 2",
             "f32[2, K=3] 1 2 3 4 5 6", "f32[L=2, 1] 1 2"),
    BAD_CASE("batch_size", "dot(x, y)", GEMEL_BAD_SHAPE, "batch axis 0 of x has size 1",
             "f32[1, 1, 1] 1", "f32[2, 1, 1] 1 2"),
    BAD_CASE("dtype", "dot(x, y)", GEMEL_BAD_TYPE, "dtypes f32 and f64 differ", X23,
             "f64[3] 1 2 3"),
    BAD_CASE("scalar", "dot(x, y)", GEMEL_BAD_SHAPE, "no axis to sum over", "f32[] 1", "f32[1] 1"),
    BAD_CASE("ranks", "dot(x, y)", GEMEL_BAD_SHAPE, "ranks 3 and 2 is ambiguous", "f32[1, 1, 1] 1",
             "f32[1, 1] 1"),
    BAD_CASE("axis", "dot(x, y, contract_x = [2], contract_y = [0])", GEMEL_BAD_SHAPE,
             "contract_x: axis 2 is out of range for rank 2", X23, Y32),
    BAD_CASE("axis_twice",
             "dot(x, y, contract_x = [0], contract_y = [0], batch_x = [0], batch_y = "
             "[1])",
             GEMEL_BAD_SHAPE, "batch_x: axis 0 is given twice", X23, "f32[2, 2] 1 2 3 4"),
    BAD_CASE("lists", "dot(x, y, contract_x = [0])", GEMEL_BAD_SHAPE,
             "contract_x has 1 axes and contract_y 0", X23, Y32),
};

static const op_case gradients[] = {
    GRAD("matrix", "dot(x, y)", "f32[2, 2] 58 64 139 154", "f32[2, 2] 1 2 3 4",
         "f32[2, 3] 23 29 35 53 67 81", "f32[3, 2] 13 18 17 24 21 30", X23, Y32),
    GRAD("vectors", "dot(x, y)", "f32[] 11", "f32[] 2", "f32[2] 6 8", "f32[2] 2 4", "f32[2] 1 2",
         "f32[2] 3 4"),
    GRAD("crossed", "dot(x, y, contract_x = [0, 1], contract_y = [1, 0])", "f32[] 212", "f32[] 2",
         "f32[2, 3] 14 18 22 16 20 24", "f32[3, 2] 2 8 4 10 6 12", X23, Y32),
    GRAD("crossed_and_free", "dot(x, y, contract_x = [1, 0], contract_y = [1, 2])", "f32[1] 55",
         "f32[1] 10", "f32[2, 2] 10 20 30 70", "f32[1, 2, 2] 20 40 30 50", "f32[2, 2] 2 3 4 5",
         "f32[1, 2, 2] 1 3 2 7"),
    GRAD("batch", "dot(x, y, batch_x = [0], batch_y = [-1])", "f32[2, 1] 3 8", "f32[2, 1] 1 10",
         "f32[2] 3 40", "f32[1, 2] 1 20", "f32[2] 1 2", "f32[1, 2] 3 4"),
    GRAD("symbols", "dot(x, y)", "f32[1, 1] 11", "f32[1, 1] 2", "f32[1, 2] 6 8", "f32[2, 1] 2 4",
         "f32[N=1, K=2] 1 2", "f32[L=2, M=1] 3 4"),
};

/* ---- Sizes that a library takes ---- */

typedef struct product {
  const char *name;
  gemel_dtype dtype;
  int64_t m, k, n;
  int layout_x, layout_y;
} product;

/* Small integers, so that every sum is exact in any order. */
static gemel_tensor *integers(gemel_dtype dtype, int64_t rows, int64_t columns, int64_t step) {
  int64_t shape[2] = {rows, columns};
  gemel_tensor *t = gemel_tensor_new(dtype, 2, shape, NULL);
  for (int64_t i = 0; i < rows * columns; i++) {
    gemel__dtype_store(dtype, (double)(i * step % 7 - 3),
                       (char *)gemel_tensor_data(t) + i * (int64_t)gemel_dtype_size(dtype));
  }
  return t;
}

static double at(const gemel_tensor *t, int64_t row, int64_t column) {
  gemel_view v = gemel_tensor_view(t);
  return gemel__dtype_load(v.dtype, (char *)v.data + row * v.strides[0] + column * v.strides[1]);
}

/* x y, or x y + z. */
static gemel_tensor *multiply(gemel_tensor *x, gemel_tensor *y, gemel_tensor *z,
                              const gemel_options *options) {
  gemel_error error = {0};
  gemel_context *context = gemel_context_new(&error);
  gemel_graph *graph = gemel_graph_new(context, &error);
  static const char *const names[] = {"x", "y", "z"};
  gemel_tensor *in[3] = {x, y, z}, *out = NULL;
  gemel_value v[3];
  gemel_function *function;
  for (int k = 0; k < 2 + (z != NULL); k++) {
    v[k] = gemel_input(
        graph, names[k],
        gemel_type_of_shape(context, gemel_tensor_dtype(in[k]), 2, gemel_tensor_shape(in[k])));
  }
  gemel_output(z != NULL ? gemel_dot_add(v[0], v[1], v[2]) : gemel_dot(v[0], v[1]), "product");
  function = gemel_compile(graph, options, &error);
  CT_CHECK(function != NULL);
  CT_EQ_INT(gemel_call(function, z != NULL ? 3 : 2, in, 1, &out, &error), GEMEL_OK);
  gemel_function_free(function);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
  return out;
}

static void exact(const void *data) {
  const product *p = data;
  gemel_tensor *x = integers(p->dtype, p->m, p->k, 5), *y = integers(p->dtype, p->k, p->n, 3);
  gemel_tensor *added = integers(p->dtype, p->m, p->n, 2);
  for (int mode = 0; mode < 6; mode++) {
    gemel_options options = {.size = sizeof options,
                             .threads = 2,
                             .plain = mode % 3 == 1,
                             .deterministic = mode % 3 == 2,
                             .as_written = 1};
    gemel_tensor *a = opt_lay(x, p->layout_x), *b = opt_lay(y, p->layout_y);
    gemel_tensor *c = mode < 3 ? NULL : opt_lay(added, p->layout_x);
    gemel_tensor *z = multiply(a, b, c, &options);
    int64_t wrong = 0;
    for (int64_t i = 0; i < p->m && z != NULL; i++) {
      for (int64_t j = 0; j < p->n; j++) {
        double sum = mode < 3 ? 0 : at(added, i, j);
        for (int64_t k = 0; k < p->k; k++) {
          sum += at(x, i, k) * at(y, k, j);
        }
        wrong += at(z, i, j) != sum;
      }
    }
    CT_EQ_INT(wrong, 0);
    gemel_tensor_unref(z);
    gemel_tensor_unref(a);
    gemel_tensor_unref(b);
    gemel_tensor_unref(c);
  }
  gemel_tensor_unref(x);
  gemel_tensor_unref(y);
  gemel_tensor_unref(added);
}

static const product products[] = {
    {"exact/f32", GEMEL_F32, 65, 70, 67, 0, 0},
    {"exact/f32/transposed", GEMEL_F32, 65, 70, 67, 2, 2},
    {"exact/f32/reversed", GEMEL_F32, 65, 70, 67, 1, 1},
    {"exact/f32/gaps", GEMEL_F32, 65, 70, 67, 3, 3},
    {"exact/f32/mixed", GEMEL_F32, 65, 70, 67, 2, 1},
    {"exact/f32/row", GEMEL_F32, 1, 70, 67, 0, 2},
    {"exact/f32/row_with_gaps", GEMEL_F32, 1, 70, 67, 3, 0},
    {"exact/f32/column", GEMEL_F32, 65, 70, 1, 0, 3},
    {"exact/f32/column_of_transposed", GEMEL_F32, 65, 70, 1, 2, 1},
    {"exact/f32/inner", GEMEL_F32, 1, 700, 1, 3, 3},
    {"exact/f32/outer", GEMEL_F32, 65, 1, 67, 0, 0},
    {"exact/f32/big", GEMEL_F32, 200, 170, 180, 0, 2},
    {"exact/f64", GEMEL_F64, 65, 70, 67, 0, 2},
    {"exact/f64/column", GEMEL_F64, 65, 70, 1, 3, 3},
    {"exact/f64/inner", GEMEL_F64, 1, 700, 1, 0, 0},
    {"exact/f16", GEMEL_F16, 65, 70, 67, 0, 2},
    {"exact/bf16", GEMEL_BF16, 33, 20, 300, 0, 0},
    {"exact/i32", GEMEL_I32, 100, 70, 300, 2, 0},
    {"exact/i64", GEMEL_I64, 65, 70, 67, 1, 2},
    {"exact/few", GEMEL_F32, 5, 6, 7, 2, 2},
    {"exact/small/f32", GEMEL_F32, 7, 37, 109, 0, 0},
    {"exact/small/f32/transposed", GEMEL_F32, 7, 37, 109, 0, 2},
    {"exact/small/f32/both", GEMEL_F32, 7, 37, 109, 2, 0},
    {"exact/small/f32/outer", GEMEL_F32, 65, 3, 67, 2, 0},
    {"exact/small/f32/column", GEMEL_F32, 83, 37, 1, 0, 3},
    {"exact/small/f32/column_of_transposed", GEMEL_F32, 83, 37, 1, 2, 0},
    {"exact/small/f64", GEMEL_F64, 7, 37, 109, 0, 0},
    {"exact/small/f64/transposed", GEMEL_F64, 7, 37, 109, 0, 2},
};

/* Full significands: results may differ by rounding unless they are asked not to. */
static void one_thread_or_more(const void *data) {
  const product *p = data;
  int64_t shape_x[2] = {p->m, p->k}, shape_y[2] = {p->k, p->n};
  gemel_tensor *x = gemel_tensor_new(p->dtype, 2, shape_x, NULL);
  gemel_tensor *y = gemel_tensor_new(p->dtype, 2, shape_y, NULL), *z[4];
  for (int64_t i = 0; i < p->m * p->k; i++) {
    gemel__dtype_store(p->dtype, sin((double)i),
                       (char *)gemel_tensor_data(x) + i * (int64_t)gemel_dtype_size(p->dtype));
  }
  for (int64_t i = 0; i < p->k * p->n; i++) {
    gemel__dtype_store(p->dtype, cos((double)i),
                       (char *)gemel_tensor_data(y) + i * (int64_t)gemel_dtype_size(p->dtype));
  }
  for (int run = 0; run < 4; run++) {
    gemel_options options = {
        .size = sizeof options, .threads = run + 1, .deterministic = 1, .as_written = 1};
    z[run] = multiply(x, y, NULL, &options);
    CT_REQUIRE(z[run] != NULL);
    CT_EQ_MEM(gemel_tensor_data(z[run]), gemel_tensor_data(z[0]),
              (size_t)(p->m * p->n) * gemel_dtype_size(p->dtype));
  }
  for (int run = 0; run < 4; run++) {
    gemel_tensor_unref(z[run]);
  }
  gemel_tensor_unref(x);
  gemel_tensor_unref(y);
}

static const product repeatable[] = {
    {"deterministic/f32", GEMEL_F32, 250, 260, 270, 0, 0},
    {"deterministic/f32/vector", GEMEL_F32, 1, 3000, 500, 0, 0},
    {"deterministic/f64", GEMEL_F64, 250, 260, 270, 0, 0},
    {"deterministic/f16", GEMEL_F16, 130, 140, 150, 0, 0},
};

void ct_register(void) {
  OPT_SUITE("linalg", cases);
  OPT_SUITE("linalg_gradient", gradients);
  for (size_t k = 0; k < CT_COUNT(products); k++) {
    CT_ADD("linalg", products[k].name, exact, &products[k]);
  }
  for (size_t k = 0; k < CT_COUNT(repeatable); k++) {
    CT_ADD("linalg", repeatable[k].name, one_thread_or_more, &repeatable[k]);
  }
}
