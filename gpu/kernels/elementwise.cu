/* SPDX-License-Identifier: MIT
 *
 * Scalar operations one by one, for every dtype and layout: two kernels a dtype of the operands,
 * with a choice among the rows of scalar.def inside, which all threads make alike; what takes many
 * registers is one of them. Clusters, and operations on many elements, are one kernel each, made
 * when it is met (cuda/fuse.c); where that can't be, clusters are done step by step (cuda/steps.c).
 */
#include "kernels/host.h"
#include "kernels/scalar.h"

enum row_number {
#define SCALAR(name, ...) ROW_##name,
#include "ops/scalar.def"
#undef SCALAR
};

/* ---- Device ---- */

typedef divided_walk<4> operand_walk; /* the result, and three operands */

#define RESULT_ARITH(T, F, ROUND, name) store_##T(to, ROUND(name##_##F(x, y, z)));
#define RESULT_NUMBER RESULT_ARITH
#define RESULT_INTEGER RESULT_ARITH
#define RESULT_REAL RESULT_ARITH
#define RESULT_QUOTIENT RESULT_ARITH
#define RESULT_COMPARE(T, F, ROUND, name) store_bool(to, name##_##F(x, y, z));
#define RESULT_LOGIC RESULT_COMPARE
#define RESULT_SELECT(T, F, ROUND, name)
#define RESULT_CAST(T, F, ROUND, name)

/* exp, say: such rows take more registers than those that are rounded once. */
#define IS_FUNCTION(ulp) ((ulp) > 0.5)

/* The two kernels of dtype T: of rows that are functions, and of all else. */
#define BEGIN_KERNEL(T)                                                                            \
  template <bool FUNCTIONS>                                                                        \
  static __global__ void elementwise_##T(int row, operand_walk walk, char *out, const char *a,     \
                                         const char *b, const char *c) {                           \
    for (long long k = first_element(); k < walk.elements; k += element_step()) {                  \
      long long offsets[4];                                                                        \
      find_offsets(walk, k, offsets);                                                              \
      const value_##T x = load_##T(a + offsets[1]), y = load_##T(b + offsets[2]),                  \
                      z = load_##T(c + offsets[3]);                                                \
      char *to = out + offsets[0];                                                                 \
      switch (row) {
#define END_KERNEL(T)                                                                              \
  }                                                                                                \
  }                                                                                                \
  }                                                                                                \
  GEMEL_KERNEL(elementwise_##T, elementwise_##T<false>)                                            \
  GEMEL_KERNEL(functions_##T, elementwise_##T<true>)

#define ROW_CASE(T, F, ROUND, kind, name, code, ulp)                                               \
  FOR_##code##_##kind(                                                                             \
      case ROW_##name                                                                              \
      : if constexpr (IS_FUNCTION(ulp) == FUNCTIONS) { RESULT_##code(T, F, ROUND, name) } break;   \
      , )

#define SCALAR(name, inputs, attrs, code, fc, ic, grads, ranges, ulp, ...)                         \
  ROW_CASE(bool, bool, SAME, bool, name, code, ulp)
BEGIN_KERNEL(bool)
#include "ops/scalar.def"
END_KERNEL(bool)
#undef SCALAR
#define SCALAR(name, inputs, attrs, code, fc, ic, grads, ranges, ulp, ...)                         \
  ROW_CASE(i8, i8, SAME, integer, name, code, ulp)
BEGIN_KERNEL(i8)
#include "ops/scalar.def"
END_KERNEL(i8)
#undef SCALAR
#define SCALAR(name, inputs, attrs, code, fc, ic, grads, ranges, ulp, ...)                         \
  ROW_CASE(i16, i16, SAME, integer, name, code, ulp)
BEGIN_KERNEL(i16)
#include "ops/scalar.def"
END_KERNEL(i16)
#undef SCALAR
#define SCALAR(name, inputs, attrs, code, fc, ic, grads, ranges, ulp, ...)                         \
  ROW_CASE(i32, i32, SAME, integer, name, code, ulp)
BEGIN_KERNEL(i32)
#include "ops/scalar.def"
END_KERNEL(i32)
#undef SCALAR
#define SCALAR(name, inputs, attrs, code, fc, ic, grads, ranges, ulp, ...)                         \
  ROW_CASE(i64, i64, SAME, integer, name, code, ulp)
BEGIN_KERNEL(i64)
#include "ops/scalar.def"
END_KERNEL(i64)
#undef SCALAR
#define SCALAR(name, inputs, attrs, code, fc, ic, grads, ranges, ulp, ...)                         \
  ROW_CASE(u8, u8, SAME, integer, name, code, ulp)
BEGIN_KERNEL(u8)
#include "ops/scalar.def"
END_KERNEL(u8)
#undef SCALAR
#define SCALAR(name, inputs, attrs, code, fc, ic, grads, ranges, ulp, ...)                         \
  ROW_CASE(u16, u16, SAME, integer, name, code, ulp)
BEGIN_KERNEL(u16)
#include "ops/scalar.def"
END_KERNEL(u16)
#undef SCALAR
#define SCALAR(name, inputs, attrs, code, fc, ic, grads, ranges, ulp, ...)                         \
  ROW_CASE(u32, u32, SAME, integer, name, code, ulp)
BEGIN_KERNEL(u32)
#include "ops/scalar.def"
END_KERNEL(u32)
#undef SCALAR
#define SCALAR(name, inputs, attrs, code, fc, ic, grads, ranges, ulp, ...)                         \
  ROW_CASE(u64, u64, SAME, integer, name, code, ulp)
BEGIN_KERNEL(u64)
#include "ops/scalar.def"
END_KERNEL(u64)
#undef SCALAR
#define SCALAR(name, inputs, attrs, code, fc, ic, grads, ranges, ulp, ...)                         \
  ROW_CASE(f16, f32, round_f16, float, name, code, ulp)
BEGIN_KERNEL(f16)
#include "ops/scalar.def"
END_KERNEL(f16)
#undef SCALAR
#define SCALAR(name, inputs, attrs, code, fc, ic, grads, ranges, ulp, ...)                         \
  ROW_CASE(bf16, f32, round_bf16, float, name, code, ulp)
BEGIN_KERNEL(bf16)
#include "ops/scalar.def"
END_KERNEL(bf16)
#undef SCALAR
#define SCALAR(name, inputs, attrs, code, fc, ic, grads, ranges, ulp, ...)                         \
  ROW_CASE(f32, f32, SAME, float, name, code, ulp)
BEGIN_KERNEL(f32)
#include "ops/scalar.def"
END_KERNEL(f32)
#undef SCALAR
#define SCALAR(name, inputs, attrs, code, fc, ic, grads, ranges, ulp, ...)                         \
  ROW_CASE(f64, f64, SAME, float, name, code, ulp)
BEGIN_KERNEL(f64)
#include "ops/scalar.def"
END_KERNEL(f64)
#undef SCALAR

/* where: words of 1, 2, 4 or 8 bytes, whatever they mean. */
template <class Word>
static __global__ void select(int, operand_walk walk, char *out, const char *a, const char *b,
                              const char *c) {
  for (long long k = first_element(); k < walk.elements; k += element_step()) {
    long long offsets[4];
    find_offsets(walk, k, offsets);
    *(Word *)(out + offsets[0]) = load_bool(a + offsets[1]) ? *(const Word *)(b + offsets[2])
                                                            : *(const Word *)(c + offsets[3]);
  }
}
GEMEL_KERNEL(select_1, select<uint8_t>)
GEMEL_KERNEL(select_2, select<uint16_t>)
GEMEL_KERNEL(select_4, select<uint32_t>)
GEMEL_KERNEL(select_8, select<uint64_t>)

/* Casts from one dtype to any, a number in the order of gemel_dtype. */
#define CAST_CASE(E, name, bytes, kind, ctype)                                                     \
  case TO_##name:                                                                                  \
    store_##name(out + offsets[0], cast_##name(x));                                                \
    break;
#define CAST_KERNEL(T, stored, value)                                                              \
  static __global__ void cast_from_##T(int to, operand_walk walk, char *out, const char *a,        \
                                       const char *, const char *) {                               \
    for (long long k = first_element(); k < walk.elements; k += element_step()) {                  \
      long long offsets[4];                                                                        \
      find_offsets(walk, k, offsets);                                                              \
      const value_##T x = load_##T(a + offsets[1]);                                                \
      switch (to) { GEMEL_DTYPE_TABLE(CAST_CASE) }                                                 \
    }                                                                                              \
  }                                                                                                \
  GEMEL_KERNEL(cast_from_##T, cast_from_##T)
enum cast_target {
#define TARGET(E, name, bytes, kind, ctype) TO_##name,
  GEMEL_DTYPE_TABLE(TARGET)
#undef TARGET
};
ALL_TYPES(CAST_KERNEL)

/* ---- Host ---- */

static const kernel_getter by_dtype[][GEMEL_DTYPE_COUNT] = {
#define GETTER(E, name, bytes, kind, ctype) gemel__kernel_elementwise_##name,
    {GEMEL_DTYPE_TABLE(GETTER)},
#undef GETTER
#define GETTER(E, name, bytes, kind, ctype) gemel__kernel_functions_##name,
    {GEMEL_DTYPE_TABLE(GETTER)},
#undef GETTER
};
static const bool is_function[] = {
#define SCALAR(name, inputs, attrs, code, fc, ic, grads, ranges, ulp, ...) IS_FUNCTION(ulp),
#include "ops/scalar.def"
#undef SCALAR
};
static const kernel_getter casts[GEMEL_DTYPE_COUNT] = {
#define GETTER(E, name, bytes, kind, ctype) gemel__kernel_cast_from_##name,
    GEMEL_DTYPE_TABLE(GETTER)
#undef GETTER
};

static const void *select_kernel(gemel_dtype dtype) {
  switch (gemel_dtype_size(dtype)) {
  case 1:
    return gemel__kernel_select_1();
  case 2:
    return gemel__kernel_select_2();
  case 4:
    return gemel__kernel_select_4();
  default:
    return gemel__kernel_select_8();
  }
}

extern "C" int gemel__cuda_row_of(const gemel_operation *operation) {
  static const char *const names[] = {
#define SCALAR(name, ...) #name,
#include "ops/scalar.def"
#undef SCALAR
  };
  for (int k = 0; k < (int)(sizeof names / sizeof *names); k++) {
    if (strcmp(names[k], operation->name) == 0) {
      return k;
    }
  }
  return -1;
}

extern "C" gemel_status gemel__cuda_run_row(gemel_cuda *cuda, int row, const gemel_view *out,
                                            const gemel_view *const *in, int n,
                                            gemel_error *error) {
  const gemel_view *const views[4] = {out, in[0], in[n > 1 ? 1 : 0], in[n > 2 ? 2 : 0]};
  operand_walk walk = divided_walk_of(walk_over(views));
  int argument = row == ROW_cast ? (int)out->dtype : row;
  const void *kernel = row == ROW_cast    ? casts[in[0]->dtype]()
                       : row == ROW_where ? select_kernel(out->dtype)
                                          : by_dtype[is_function[row]][in[0]->dtype]();
  void *data[4] = {out->data, views[1]->data, views[2]->data, views[3]->data};
  void *arguments[] = {&argument, &walk, &data[0], &data[1], &data[2], &data[3]};
  return launch_over(cuda, kernel, walk.elements, arguments, error);
}

static gemel_status run_one(const gemel_kernel_call *call) {
  int64_t strides[3][GEMEL_MAX_RANK];
  gemel_view views[3];
  const gemel_view *in[3];
  for (size_t k = 0; k < call->n_inputs; k++) {
    views[k] = gemel__cuda_broadcast(&call->inputs[k], &call->outputs[0], strides[k]);
    in[k] = &views[k];
  }
  return gemel__cuda_run_row(gemel__cuda_of(call), gemel__cuda_row_of(call->operation),
                             &call->outputs[0], in, (int)call->n_inputs, call->error);
}

extern "C" const gemel_kernel gemel__cuda_elementwise[] = {{"elementwise", NULL, run_one},
                                                           {NULL, NULL, NULL}};
