/*
 * take and put: indices of every integer dtype, from either end, that come again, and that are out
 * of range.
 *
 * SPDX-License-Identifier: MIT
 */
#include "optable.h"

#define M23 "f32[2, 3] 0 1 2 3 4 5"
#define NAN_3 "f32[3] nan -0 0"

static const op_case cases[] = {
    OK_CASE("take/rows", "take(x, y)", "f32[3, 3] 3 4 5 0 1 2 3 4 5", M23, "i64[3] 1 0 -1"),
    OK_CASE("take/columns", "take(x, y, axis = -1)", "f32[2, 2, 2] 2 0 1 1 5 3 4 4", M23,
            "i8[2, 2] 2 -3 1 -2"),
    OK_CASE("take/one", "take(x, y, axis = 1)", "f32[2] 1 4", M23, "u8[] 1"),
    OK_CASE("take/middle", "take(x, y, axis = 1)", "i16[2, 2, 2] 3 4 1 2 7 8 5 6",
            "i16[2, 2, 2] 1 2 3 4 5 6 7 8", "u64[2] 1 0"),
    OK_CASE("take/symbols", "take(x, y)", "bool[2] 1 0", "bool[N=3] 0 0 1", "u16[M=2] 2 0"),
    OK_CASE("take/none", "take(x, y)", "f64[0, 2]", "f64[0, 2]", "i32[0]"),
    OK_CASE("take/of_empty_rows", "take(x, y)", "f64[2, 0]", "f64[1, 0]", "i32[2] 0 -1"),
    OK_CASE("take/nan", "take(x, y)", "f32[2] nan -0", NAN_3, "i32[2] 0 1"),
    BAD_CASE("take/behind", "take(x, y)", GEMEL_BAD_VALUE,
             "index 2 (element 1 of the indices) is outside of axis 0, which has size 2", M23,
             "i64[2] 0 2"),
    BAD_CASE("take/before", "take(x, y, axis = 1)", GEMEL_BAD_VALUE, "index -4", M23, "i64[] -4"),
    BAD_CASE("take/huge", "take(x, y)", GEMEL_BAD_VALUE, "index 18446744073709551615", M23,
             "u64[] 18446744073709551615"),
    BAD_CASE("take/from_nothing", "take(x, y)", GEMEL_BAD_VALUE, "index 0", "f32[0]", "i64[1] 0"),
    BAD_CASE("take/of_empty_rows_outside", "take(x, y)", GEMEL_BAD_VALUE, "index 1", "f64[1, 0]",
             "i32[1] 1"),
    BAD_CASE("take/bools", "take(x, y)", GEMEL_BAD_TYPE, "indices of dtype bool", M23, "bool[] 1"),
    BAD_CASE("take/floats", "take(x, y)", GEMEL_BAD_TYPE, "indices of dtype f32", M23, "f32[] 1"),
    BAD_CASE("take/axis", "take(x, y, axis = 2)", GEMEL_BAD_SHAPE, "axis 2", M23, "i64[] 1"),
    BAD_CASE("take/scalar", "take(x, y)", GEMEL_BAD_SHAPE, "axis 0", "f32[] 1", "i64[] 0"),

    OK_CASE("put/last_stays", "put(x, y, z)", "f32[3] 1 30 40", "f32[3] 1 2 3", "i64[4] 1 2 -2 2",
            "f32[4] 10 20 30 40"),
    OK_CASE("put/columns", "put(x, y, z, axis = 1)", "f32[2, 3] 8 1 9 6 4 7", M23, "i8[2] 2 0",
            "f32[2, 2] 9 8 7 6"),
    OK_CASE("put/one", "put(x, y, z)", "f32[2, 3] 0 1 2 7 8 9", M23, "u8[] 1", "f32[3] 7 8 9"),
    OK_CASE("put/none", "put(x, y, z)", M23, M23, "u8[0]", "f32[0, 3]"),
    OK_CASE("put/add", "put(x, y, z, mode = \"add\")", "i8[2] -26 2", "i8[2] 100 2", "i64[3] 0 0 0",
            "i8[3] 60 60 10"),
    OK_CASE("put/add_f16", "put(x, y, z, mode = \"add\")", "f16[1] 2048", "f16[1] 2048",
            "i64[2] 0 0", "f16[2] 1 1"),
    OK_CASE("put/add_bool", "put(x, y, z, mode = \"add\")", "bool[2] 1 0", "bool[2] 0 0",
            "i64[2] 0 0", "bool[2] 1 0"),
    OK_CASE("put/mul", "put(x, y, z, mode = \"mul\")", "u16[2] 3 30", "u16[2] 3 5", "i64[2] 1 1",
            "u16[2] 2 3"),
    OK_CASE("put/mul_bool", "put(x, y, z, mode = \"mul\")", "bool[2] 0 1", "bool[2] 1 1",
            "i64[2] 0 0", "bool[2] 1 0"),
    OK_CASE("put/min", "put(x, y, z, mode = \"min\")", "f32[3] nan -0 -0", "f32[3] 1 0 -0",
            "i64[4] 0 0 1 2", "f32[4] nan 0 -0 0"),
    OK_CASE("put/max", "put(x, y, z, mode = \"max\")", "f32[3] nan 0 0", "f32[3] 1 0 -0",
            "i64[4] 0 0 1 2", "f32[4] nan 5 -0 0"),
    OK_CASE("put/min_i8", "put(x, y, z, mode = \"min\")", "i8[1] -128", "i8[1] 0", "i64[2] 0 0",
            "i8[2] -128 127"),
    OK_CASE("put/max_u64", "put(x, y, z, mode = \"max\")", "u64[1] 18446744073709551615",
            "u64[1] 0", "i64[2] 0 0", "u64[2] 18446744073709551615 1"),
    BAD_CASE("put/behind", "put(x, y, z)", GEMEL_BAD_VALUE, "index 2", M23, "i64[1] 2",
             "f32[1, 3] 1 2 3"),
    BAD_CASE("put/mode", "put(x, y, z, mode = \"sub\")", GEMEL_BAD_VALUE,
             "mode \"sub\" is none of set, add, mul, min, max", M23, "i64[] 1", "f32[3] 1 2 3"),
    BAD_CASE("put/rank", "put(x, y, z)", GEMEL_BAD_SHAPE, "y has rank 0", M23, "i64[] 1",
             "f32[] 1"),
    BAD_CASE("put/shape", "put(x, y, z)", GEMEL_BAD_SHAPE, "differ along axis 1", M23, "i64[1] 1",
             "f32[1, 2] 1 2"),
    BAD_CASE("put/dtype", "put(x, y, z)", GEMEL_BAD_TYPE, "f32 and f64 differ", M23, "i64[] 1",
             "f64[3] 1 2 3"),
};

#define FORM(name, expression)                                                                     \
  static gemel_value name(gemel_graph *graph, const gemel_value *in) {                             \
    (void)graph;                                                                                   \
    return expression;                                                                             \
  }
FORM(take_along_axis, gemel_take_along_axis(in[0], in[1], 0))
FORM(take_along_rows, gemel_take_along_axis(in[0], in[1], -1))
FORM(put_along_axis, gemel_put_along_axis(in[0], in[1], in[2], 0, NULL))
FORM(add_along_rows, gemel_put_along_axis(in[0], in[1], in[2], 1, "add"))

static const op_case forms[] = {
    OK_FORM(take_along_axis, "", "f32[1, 3] 3 1 5", M23, "i64[1, 3] 1 0 -1"),
    OK_FORM(take_along_axis, "symbols", "f32[1, 2] 3 1", "f32[N=2, M=3] 0 1 2 3 4 5",
            "i64[1, K=2] 1 0"),
    OK_FORM(take_along_rows, "", "f32[2, 2] 2 2 3 4", M23, "i8[2, 2] 2 -1 0 1"),
    BAD_FORM(take_along_axis, "behind", GEMEL_BAD_VALUE, "index 2", M23, "i64[1, 3] 1 0 2"),
    BAD_FORM(take_along_axis, "wider", GEMEL_BAD_VALUE, "index 3", M23, "i64[1, 4] 1 0 1 0"),
    BAD_FORM(take_along_axis, "rank", GEMEL_BAD_SHAPE,
             "take_along_axis: axis 0 of rank 2, and "
             "indices of rank 1",
             M23, "i64[1] 1"),
    BAD_FORM(take_along_rows, "axis", GEMEL_BAD_SHAPE, "axis -1 is out of range for rank 0",
             "f32[] 1", "i64[] 0"),
    OK_FORM(put_along_axis, "", "f32[2, 3] 0 8 2 7 4 9", M23, "i64[1, 3] 1 0 -1",
            "f32[1, 3] 7 8 9"),
    OK_FORM(add_along_rows, "", "f32[2, 3] 15 1 2 3 4 25", M23, "i64[2, 2] 0 0 2 2",
            "f32[2, 2] 7 8 9 11"),
};

static const op_case gradients[] = {
    GRAD("take", "take(x, y)", "f32[3] 2 2 1", "f32[3] 10 20 40", "f32[3] 40 30 0", NULL,
         "f32[3] 1 2 3", "i64[3] 1 -2 0"),
    GRAD("put", "put(x, y, z)", "f32[3] 30 2 9", "f32[3] 1 2 4", "f32[3] 0 2 0", NULL,
         "f32[3] 1 2 3", "i64[3] 0 -3 2", "f32[3] 10 30 9"),
};

/* The derivative by Y of the sum of X with Y at INDICES by mul. */
static gemel_value slope_of_product(gemel_value x, gemel_value indices, gemel_value y) {
  gemel_put_options options = {.mode = "mul"};
  gemel_value loss = gemel_sum(gemel_put_at(x, indices, y, &options, GEMEL_HERE)), slope;
  gemel_error error;
  CT_EQ_INT(gemel_grad(1, &loss, NULL, 1, &y, &slope, &error), GEMEL_OK);
  return slope;
}

FORM(mul_slope, slope_of_product(in[0], in[2], in[1]))

/* Zeros at one place: none, one, two and three of them, and x among them. */
static const op_case slopes[] = {
    GRAD_FORM(mul_slope, "no_zero", "f64[3] 4 40 20", "f64[3] 1 10 100", "f64[2] 1 480",
              "f64[3] 0 500 50", "f64[2] 4 5", "f64[3] 2 4 8", "i64[3] 0 -1 1"),
    GRAD_FORM(mul_slope, "one_zero", "f64[3] 32 0 0", "f64[3] 1 10 100", "f64[1] 16",
              "f64[3] 880 8 8", "f64[1] 2", "f64[3] 0 4 4", "i64[3] 0 0 0"),
    GRAD_FORM(mul_slope, "two_zeros", "f64[3] 0 0 0", "f64[3] 1 10 100", "f64[1] 0",
              "f64[3] 60 6 0", "f64[1] 2", "f64[3] 0 0 3", "i64[3] 0 -1 0"),
    GRAD_FORM(mul_slope, "zero_in_x", "f64[3] 0 0 0", "f64[3] 1 10 100", "f64[1] 15",
              "f64[3] 0 0 0", "f64[1] 0", "f64[3] 0 5 3", "i64[3] 0 0 0"),
    GRAD_FORM(mul_slope, "three_zeros", "f64[3] 0 0 0", "f64[3] 1 10 100", "f64[1] 0",
              "f64[3] 0 0 0", "f64[1] 0", "f64[3] 0 0 3", "i64[3] 0 -1 0"),
    GRAD_FORM(mul_slope, "f16", "f16[2] 16384 32768", "f16[2] 1 0", "f16[1] 128", "f16[2] 0 128",
              "f16[1] 128", "f16[2] 256 128", "u8[2] 0 0"),
};

/* No value of a derivative is larger than all indices together. */
static void mul_is_linear(const void *data) {
  int64_t n = 1000;
  gemel_context *context = gemel_context_new(NULL);
  gemel_graph *graph = gemel_graph_new(context, NULL);
  gemel_value x = gemel_declare(graph, "x: f32[5]"), y = gemel_declare(graph, "y: f32[1000]");
  gemel_output(slope_of_product(x, gemel_declare(graph, "i: i64[1000]"), y), "slope");
  (void)data;
  for (size_t k = 0; k < gemel_graph_node_count(graph); k++) {
    gemel_type type = gemel_value_type((gemel_value){graph, (uint32_t)k, 0});
    int64_t elements = 1, size = 0;
    for (int j = 0; j < gemel_type_rank(context, type); j++) {
      CT_CHECK(gemel_dim_is_constant(context, gemel_type_dims(context, type)[j], &size));
      elements *= size;
    }
    CT_CHECK(elements <= n);
  }
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

void ct_register(void) {
  OPT_SUITE("take", cases);
  OPT_SUITE("put_slopes", slopes);
  ct_add("put", &(ct_test)CT_TEST("mul_is_linear", mul_is_linear, NULL));
  OPT_SUITE("take_forms", forms);
  OPT_SUITE("take_gradient", gradients);
}
