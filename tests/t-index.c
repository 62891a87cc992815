/*
 * Windows: subtensor, set_subtensor, inc_subtensor, with starts and sizes known when the graph is
 * built, only when it is called, or not at all inside the tensor.
 *
 * SPDX-License-Identifier: MIT
 */
#include "optable.h"

#define M34 "f32[3, 4] 0 1 2 3 4 5 6 7 8 9 10 11"

static const op_case cases[] = {
    OK_CASE("subtensor", "subtensor(x, start = [1, 1], size = [2, 2])", "f32[2, 2] 5 6 9 10", M34),
    OK_CASE("subtensor/steps", "subtensor(x, start = [2, 3], size = [2, 2], step = [-2, -3])",
            "f32[2, 2] 11 8 3 0", M34),
    OK_CASE("subtensor/one", "subtensor(x, start = [2, 3], size = [1, 1], step = [-7, 9])",
            "f32[1, 1] 11", M34),
    OK_CASE("subtensor/empty_anywhere", "subtensor(x, start = [9, -3], size = [0, 0])", "f32[0, 0]",
            M34),
    OK_CASE("subtensor/of_empty", "subtensor(x, start = [0], size = [0])", "f32[0]", "f32[0]"),
    OK_CASE("subtensor/scalar", "subtensor(x, start = [], size = [])", "f32[] 3", "f32[] 3"),
    OK_CASE("subtensor/bool", "subtensor(x, start = [0], size = [2], step = [2])", "bool[2] 1 1",
            "bool[3] 1 0 1"),
    OK_CASE("subtensor/late_start", "subtensor(x, y, start = [$1, 0], size = [1, 4])",
            "f32[1, 4] 8 9 10 11", M34, "i32[] 2"),
    OK_CASE("subtensor/late_size", "subtensor(x, y, start = [0, 1], size = [$1, $1])",
            "f32[2, 2] 1 2 5 6", M34, "u8[] 2"),
    OK_CASE("subtensor/late_both", "subtensor(x, y, z, start = [$1 + 1], size = [$2 - 1])",
            "f32[2] 20 30", "f32[4] 0 10 20 30", "i64[] 1", "i64[] 3"),
    OK_CASE("subtensor/symbol", "subtensor(x, start = [2], size = [2], step = [-1])", "f32[2] 2 1",
            "f32[N=3] 0 1 2"),
    BAD_CASE("subtensor/behind", "subtensor(x, start = [1, 1], size = [3, 2])", GEMEL_BAD_VALUE,
             "index 3 of axis 0 is outside 0..2; inputs f32[3, 4]", M34),
    BAD_CASE("subtensor/before", "subtensor(x, start = [1, 1], size = [2, 3], step = [1, -1])",
             GEMEL_BAD_VALUE, "index -1 of axis 1 is outside 0..3", M34),
    BAD_CASE("subtensor/negative_start", "subtensor(x, start = [-1, 1], size = [1, 1])",
             GEMEL_BAD_VALUE, "index -1 of axis 0", M34),
    BAD_CASE("subtensor/empty_axis", "subtensor(x, start = [0], size = [1])", GEMEL_BAD_VALUE,
             "index 0 of axis 0", "f32[0]"),
    BAD_CASE("subtensor/overflow",
             "subtensor(x, start = [1], size = [3], step = [9223372036854775807])", GEMEL_BAD_VALUE,
             "of axis 0", "f32[3] 1 2 3"),
    BAD_CASE("subtensor/step_0", "subtensor(x, start = [1, 1], size = [1, 1], step = [1, 0])",
             GEMEL_BAD_VALUE, "step 0 along axis 1", M34),
    BAD_CASE("subtensor/negative_size", "subtensor(x, start = [1, 1], size = [-1, 1])",
             GEMEL_BAD_SHAPE, "size -1", M34),
    BAD_CASE("subtensor/length", "subtensor(x, start = [1], size = [1, 1])", GEMEL_BAD_SHAPE,
             "start has 1 entries for rank 2", M34),
    BAD_CASE("subtensor/provably_behind", "subtensor(x, start = [N - 1], size = [2])",
             GEMEL_BAD_VALUE, "index N of axis 0 is outside its size N", "f32[N=3] 0 1 2"),
    BAD_CASE("subtensor/at_run_time", "subtensor(x, start = [2], size = [2])", GEMEL_BAD_VALUE,
             "index 3 of axis 0 is outside 0..2", "f32[N=3] 0 1 2"),
    BAD_CASE("subtensor/late_behind", "subtensor(x, y, start = [$1, 0], size = [1, 4])",
             GEMEL_BAD_VALUE, "index 3 of axis 0 is outside 0..2", M34, "i32[] 3"),
    BAD_CASE("subtensor/late_before", "subtensor(x, y, start = [$1, 0], size = [1, 4])",
             GEMEL_BAD_VALUE, "index -1 of axis 0 is outside 0..2", M34, "i32[] -1"),
    BAD_CASE("subtensor/late_size_behind", "subtensor(x, y, start = [0, 1], size = [$1, $1])",
             GEMEL_BAD_VALUE, "index 4 of axis 1 is outside 0..3",
             "f32[4, 4] 0 1 2 3 4 5 6 7 8 9 "
             "10 11 12 13 14 15",
             "u8[] 4"),
    BAD_CASE("subtensor/late_float", "subtensor(x, y, start = [$1, 0], size = [1, 4])",
             GEMEL_BAD_TYPE, "no integer scalar", M34, "f32[] 1"),

    OK_CASE("set_subtensor", "set_subtensor(x, y, start = [1, 1], step = [1, 2])",
            "f32[3, 4] 0 1 2 3 4 -1 6 -2 8 -3 10 -4", M34, "f32[2, 2] -1 -2 -3 -4"),
    OK_CASE("set_subtensor/backwards", "set_subtensor(x, y, start = [3], step = [-2])",
            "i8[4] 1 9 3 8", "i8[4] 1 2 3 4", "i8[2] 8 9"),
    OK_CASE("set_subtensor/nothing", "set_subtensor(x, y, start = [77])", "i8[2] 1 2", "i8[2] 1 2",
            "i8[0]"),
    OK_CASE("set_subtensor/scalar", "set_subtensor(x, y, start = [])", "f64[] 2", "f64[] 1",
            "f64[] 2"),
    OK_CASE("set_subtensor/late", "set_subtensor(x, y, z, start = [$2])", "f16[3] 1 9 3",
            "f16[3] 1 2 3", "f16[1] 9", "i16[] 1"),
    BAD_CASE("set_subtensor/behind", "set_subtensor(x, y, start = [2])", GEMEL_BAD_VALUE,
             "index 3 of axis 0 is outside 0..2", "f32[3] 1 2 3", "f32[2] 1 2"),
    BAD_CASE("set_subtensor/at_run_time", "set_subtensor(x, y, start = [2])", GEMEL_BAD_VALUE,
             "index 3 of axis 0 is outside 0..2", "f32[3] 1 2 3", "f32[N=2] 1 2"),
    BAD_CASE("set_subtensor/late", "set_subtensor(x, y, z, start = [$2])", GEMEL_BAD_VALUE,
             "index 3 of axis 0 is outside 0..2", "f16[3] 1 2 3", "f16[1] 9", "i16[] 3"),
    BAD_CASE("set_subtensor/rank", "set_subtensor(x, y, start = [0])", GEMEL_BAD_SHAPE,
             "ranks 1 and 0 differ", "f32[3] 1 2 3", "f32[] 1"),
    BAD_CASE("set_subtensor/dtype", "set_subtensor(x, y, start = [0])", GEMEL_BAD_TYPE,
             "f32 and i32 differ", "f32[3] 1 2 3", "i32[1] 1"),

    OK_CASE("inc_subtensor", "inc_subtensor(x, y, start = [2, 0], step = [-2, 3])",
            "f32[3, 4] 30 1 2 43 4 5 6 7 18 9 10 31", M34, "f32[2, 2] 10 20 30 40"),
    OK_CASE("inc_subtensor/i8_wraps", "inc_subtensor(x, y, start = [1])", "i8[2] 100 -56",
            "i8[2] 100 100", "i8[1] 100"),
    OK_CASE("inc_subtensor/u16_wraps", "inc_subtensor(x, y, start = [0])", "u16[1] 1",
            "u16[1] 65535", "u16[1] 2"),
    OK_CASE("inc_subtensor/i64", "inc_subtensor(x, y, start = [0])", "i64[1] -9223372036854775808",
            "i64[1] 9223372036854775807", "i64[1] 1"),
    OK_CASE("inc_subtensor/bool", "inc_subtensor(x, y, start = [0])", "bool[4] 0 1 1 1",
            "bool[4] 0 0 1 1", "bool[4] 0 1 0 1"),
    OK_CASE("inc_subtensor/f16", "inc_subtensor(x, y, start = [0])", "f16[2] 2048 inf",
            "f16[2] 2048 65504", "f16[2] 1 65504"),
    OK_CASE("inc_subtensor/bf16", "inc_subtensor(x, y, start = [0])", "bf16[2] 256 258",
            "bf16[2] 256 256", "bf16[2] 1 2"),
    OK_CASE("inc_subtensor/nan", "inc_subtensor(x, y, start = [0])", "f64[2] nan 1", "f64[2] inf 1",
            "f64[1] -inf"),
};

#define GRAD(name, expression, out, seed, wrt_x, wrt_y, ...)                                       \
  {                                                                                                \
    (name), (expression), {__VA_ARGS__}, {(out)}, GEMEL_OK, NULL, (seed), {                        \
      (wrt_x), (wrt_y)                                                                             \
    }                                                                                              \
  }

static const op_case gradients[] = {
    GRAD("subtensor", "subtensor(x, start = [3], size = [2], step = [-2])", "f32[2] 3 1",
         "f32[2] 10 20", "f32[4] 0 20 0 10", NULL, "f32[4] 0 1 2 3"),
    GRAD("subtensor/symbol", "subtensor(x, start = [1], size = [N - 1])", "f32[2] 1 2",
         "f32[2] 10 20", "f32[3] 0 10 20", NULL, "f32[N=3] 0 1 2"),
    GRAD("subtensor/late", "subtensor(x, y, start = [$1], size = [2])", "f32[2] 1 2",
         "f32[2] 10 20", "f32[3] 0 10 20", NULL, "f32[3] 0 1 2", "i64[] 1"),
    GRAD("set_subtensor", "set_subtensor(x, y, start = [1], step = [2])", "f32[4] 1 8 3 9",
         "f32[4] 1 2 3 4", "f32[4] 1 0 3 0", "f32[2] 2 4", "f32[4] 1 2 3 4", "f32[2] 8 9"),
    GRAD("set_subtensor/late", "set_subtensor(x, y, z, start = [$2])", "f32[3] 1 8 3",
         "f32[3] 1 2 3", "f32[3] 1 0 3", "f32[1] 2", "f32[3] 1 2 3", "f32[1] 8", "i8[] 1"),
    GRAD("inc_subtensor", "inc_subtensor(x, y, start = [1], step = [2])", "f32[4] 1 10 3 13",
         "f32[4] 1 2 3 4", "f32[4] 1 2 3 4", "f32[2] 2 4", "f32[4] 1 2 3 4", "f32[2] 8 9"),
};

void ct_register(void) {
  OPT_SUITE("index", cases);
  OPT_SUITE("index_gradient", gradients);
}
