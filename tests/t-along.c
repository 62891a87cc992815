/*
 * What is made lane by lane along an axis: cumsum, argsort, and the composites of them and of their
 * kind.
 *
 * SPDX-License-Identifier: MIT
 */
#include "optable.h"

#define M23 "f32[2, 3] 5 1 2 3 7 1"

static const op_case cases[] = {
    OK_CASE("cumsum", "cumsum(x)", "f32[2, 3] 5 1 2 8 8 3", M23),
    OK_CASE("cumsum/rows", "cumsum(x, axis = -1)", "f32[2, 3] 5 6 8 3 10 11", M23),
    OK_CASE("cumsum/exclusive", "cumsum(x, axis = 1, exclusive = 1)", "f32[2, 3] 0 5 6 0 3 10",
            M23),
    OK_CASE("cumsum/reverse", "cumsum(x, axis = 1, reverse = 1)", "f32[2, 3] 8 3 2 11 8 1", M23),
    OK_CASE("cumsum/both", "cumsum(x, axis = 1, exclusive = 1, reverse = 5)",
            "f32[2, 3] 3 2 0 8 1 0", M23),
    OK_CASE("cumsum/bool", "cumsum(x)", "i64[4] 1 1 2 3", "bool[4] 1 0 1 1"),
    OK_CASE("cumsum/u8", "cumsum(x)", "u64[2] 200 400", "u8[2] 200 200"),
    OK_CASE("cumsum/i64_wraps", "cumsum(x)", "i64[2] 9223372036854775807 -9223372036854775808",
            "i64[2] 9223372036854775807 1"),
    OK_CASE("cumsum/f16_in_f32", "cumsum(x)", "f16[3] 2048 2048 2050", "f16[3] 2048 1 1"),
    OK_CASE("cumsum/nan", "cumsum(x)", "f64[3] inf nan nan", "f64[3] inf -inf 1"),
    OK_CASE("cumsum/empty", "cumsum(x, axis = 1)", "f32[2, 0]", "f32[2, 0]"),
    OK_CASE("cumsum/symbol", "cumsum(x)", "f32[2] 1 3", "f32[N=2] 1 2"),
    BAD_CASE("cumsum/axis", "cumsum(x, axis = 1)", GEMEL_BAD_SHAPE, "axis 1", "f32[2] 1 2"),
    BAD_CASE("cumsum/scalar", "cumsum(x)", GEMEL_BAD_SHAPE, "axis 0", "f32[] 1"),

    OK_CASE("argsort", "argsort(x, axis = -1)", "i64[2, 3] 1 2 0 2 0 1", M23),
    OK_CASE("argsort/columns", "argsort(x, axis = 0)", "i64[2, 3] 1 0 1 0 1 0", M23),
    OK_CASE("argsort/ties", "argsort(x, axis = -1)", "i64[5] 1 3 0 2 4", "i32[5] 2 -1 2 -1 2"),
    OK_CASE("argsort/descending_ties", "argsort(x, axis = 0, descending = 1)", "i64[5] 0 2 4 1 3",
            "i32[5] 2 -1 2 -1 2"),
    OK_CASE("argsort/nan", "argsort(x, axis = -1)", "i64[6] 3 1 2 5 0 4",
            "f16[6] nan -0 0 -inf nan inf"),
    OK_CASE("argsort/nan_descending", "argsort(x, axis = 0, descending = 1)", "i64[6] 0 4 5 1 2 3",
            "f64[6] nan -0 0 -inf nan inf"),
    OK_CASE("argsort/u64", "argsort(x, axis = -1)", "i64[3] 2 1 0",
            "u64[3] 18446744073709551615 9223372036854775808 1"),
    OK_CASE("argsort/i64", "argsort(x, axis = -1)", "i64[3] 1 2 0",
            "i64[3] 9223372036854775807 -9223372036854775808 -1"),
    OK_CASE("argsort/bool", "argsort(x, axis = -1)", "i64[4] 1 3 0 2", "bool[4] 1 0 1 0"),
    OK_CASE("argsort/long", "argsort(x % 3, axis = 0)", "i64[14] 0 3 6 9 12 1 4 7 10 13 2 5 8 11",
            "i8[14] 0 1 2 3 4 5 6 7 8 9 10 11 12 13"),
    OK_CASE("searchsorted", "searchsorted(x, y)", "i64[2, 2] 0 2 3 4", "i32[4] 1 3 5 6",
            "i32[2, 2] 1 5 6 7"),
    OK_CASE("searchsorted/right", "searchsorted(x, x, side = \"right\")", "i64[5] 1 3 3 4 5",
            "f32[5] -inf -0 0 inf nan"),
    BAD_CASE("searchsorted/side", "searchsorted(x, x, side = \"both\")", GEMEL_BAD_VALUE, "both",
             "f32[1] 0"),
    BAD_CASE("searchsorted/rank", "searchsorted(x, x)", GEMEL_BAD_SHAPE, "rank 2", "f32[1, 1] 0"),
    OK_CASE("argsort/empty", "argsort(x, axis = -1)", "i64[2, 0]", "f32[2, 0]"),
    BAD_CASE("argsort/scalar", "argsort(x, axis = -1)", GEMEL_BAD_SHAPE, "axis -1", "f32[] 1"),
};

#define FORM(name, expression)                                                                     \
  static gemel_value name(gemel_graph *graph, const gemel_value *in) {                             \
    (void)graph;                                                                                   \
    return expression;                                                                             \
  }
static gemel_value where_top(gemel_graph *graph, const gemel_value *in) {
  gemel_value indices;
  (void)graph;
  gemel_top_k(in[0], 2, -1, 0, &indices);
  return indices;
}
FORM(sorted, gemel_sort(in[0], -1, 0))
FORM(sorted_down, gemel_sort(in[0], 0, 1))
FORM(top, gemel_top_k(in[0], 2, -1, 0, NULL))
FORM(bottom, gemel_top_k(in[0], 1, 0, 1, NULL))
FORM(cumprod, gemel_cumprod(in[0]))
FORM(cumprod_before, gemel_cumprod_with(in[0], .axis = -1, .exclusive = 1))
FORM(cumprod_back, gemel_cumprod_with(in[0], .axis = 1, .reverse = 1))

static const op_case forms[] = {
    OK_FORM(sorted, "", "f32[2, 3] 1 2 5 1 3 7", M23),
    OK_FORM(sorted_down, "", "f32[2, 3] 5 7 2 3 1 1", M23),
    OK_FORM(top, "", "f32[2, 2] 5 2 7 3", M23),
    OK_FORM(where_top, "", "i64[2, 2] 0 2 1 0", M23),
    OK_FORM(bottom, "", "f32[1, 3] 3 1 1", M23),
    BAD_FORM(top, "more", GEMEL_BAD_VALUE, "outside", "f32[1] 1"),
    OK_FORM(cumprod, "", "f32[2, 3] 5 1 2 15 7 2", M23),
    OK_FORM(cumprod, "u8", "u64[2] 200 40000", "u8[2] 200 200"),
    OK_FORM(cumprod, "empty", "f64[0, 2]", "f64[0, 2]"),
    OK_FORM(cumprod_before, "", "f32[2, 3] 1 5 5 1 3 21", M23),
    OK_FORM(cumprod_back, "", "f32[2, 3] 10 2 2 21 7 1", M23),
    BAD_FORM(cumprod, "scalar", GEMEL_BAD_SHAPE, "cumprod: axis 0", "f32[] 1"),
};

static const op_case gradients[] = {
    GRAD("cumsum", "cumsum(x, exclusive = 1)", "f32[3] 0 1 3", "f32[3] 10 20 40", "f32[3] 60 40 0",
         NULL, "f32[3] 1 2 3"),
    GRAD_FORM(sorted, "gradient", "f32[3] 1 2 3", "f32[3] 10 20 40", "f32[3] 20 40 10", NULL,
              "f32[3] 2 3 1"),
    GRAD_FORM(cumprod, "gradient", "f32[4] 2 0 0 0", "f32[4] 1 10 100 1000", "f32[4] 1 30620 0 0",
              NULL, "f32[4] 2 0 3 5"),
};

void ct_register(void) {
  OPT_SUITE("along", cases);
  OPT_SUITE("along_forms", forms);
  OPT_SUITE("along_gradient", gradients);
}
