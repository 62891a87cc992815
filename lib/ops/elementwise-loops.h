/* SPDX-License-Identifier: MIT
 *
 * The loops of all rows of scalar.def for one dtype and one instruction set. The includer defines T
 * (the C type), TAG (the dtype's name), ISA (base, avx2, avx512), ELEMENT_C (FLOAT or INTEGER:
 * which column of the row) and FINISH (brings an expression's value to T), and reads the result,
 * TABLE(TAG, ISA). No include guard: this file is meant to be included many times.
 */
#define KERNEL(name) GEMEL__PASTE3(name, TAG, ISA)
#define M(function) GEMEL__PASTE2(TAG, function)

#define LOOP_1(name, A, R, expression)                                                             \
  static void KERNEL(name)(size_t n, void *out, const void *const *in) {                           \
    R *const r = out;                                                                              \
    const A *const px = in[0];                                                                     \
    GEMEL__INDEPENDENT                                                                             \
    for (size_t k = 0; k < n; k++) {                                                               \
      const A x = px[k];                                                                           \
      r[k] = (R)(expression);                                                                      \
    }                                                                                              \
  }
#define LOOP_2(name, A, R, expression)                                                             \
  static void KERNEL(name)(size_t n, void *out, const void *const *in) {                           \
    R *const r = out;                                                                              \
    const A *const px = in[0], *const py = in[1];                                                  \
    GEMEL__INDEPENDENT                                                                             \
    for (size_t k = 0; k < n; k++) {                                                               \
      const A x = px[k];                                                                           \
      const T y = py[k];                                                                           \
      r[k] = (R)(expression);                                                                      \
    }                                                                                              \
  }
#define LOOP_3(name, A, R, expression)                                                             \
  static void KERNEL(name)(size_t n, void *out, const void *const *in) {                           \
    R *const r = out;                                                                              \
    const A *const px = in[0];                                                                     \
    const T *const py = in[1], *const pz = in[2];                                                  \
    GEMEL__INDEPENDENT                                                                             \
    for (size_t k = 0; k < n; k++) {                                                               \
      const A x = px[k];                                                                           \
      const T y = py[k], z = pz[k];                                                                \
      r[k] = (R)(expression);                                                                      \
    }                                                                                              \
  }

#define ARGUMENTS(...) ARGUMENTS_(__VA_ARGS__, 3, 2, 1)
#define ARGUMENTS_(a, b, c, n, ...) n
#define LOOP(n) LOOP_(n)
#define LOOP_(n) LOOP_##n

#define SAME(n, name, expression) LOOP(n)(name, T, T, FINISH(expression))
#define TRUTH(n, name, expression) LOOP(n)(name, T, uint8_t, expression)
#define MASKED(n, name, expression) LOOP(n)(name, uint8_t, T, expression)

#define SCALAR(name, inputs, attrs, code, float_c, integer_c, grads, ...)                          \
  HAVE_##code(ARGUMENTS grads, name, ELEMENT_C(float_c, integer_c))
#include "ops/scalar.def"
#undef SCALAR

#define LISTED(name) [GEMEL__SCALAR_##name] = KERNEL(name),
#define SCALAR(name, inputs, attrs, code, ...) LIST_##code(name)
static const gemel__scalar_kernel GEMEL__PASTE3(table, TAG, ISA)[GEMEL__SCALAR_COUNT] = {
#include "ops/scalar.def"
};
#undef SCALAR
#undef LISTED
#undef KERNEL
#undef M
#undef LOOP_1
#undef LOOP_2
#undef LOOP_3
#undef LOOP
#undef LOOP_
#undef ARGUMENTS
#undef ARGUMENTS_
#undef SAME
#undef TRUTH
#undef MASKED
#undef T
#undef TAG
