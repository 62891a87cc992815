/* SPDX-License-Identifier: MIT
 *
 * Scalar operations one by one, for every dtype and layout: two kernels a dtype of the operands,
 * with a choice among the rows of scalar.def inside, which all threads make alike; what takes many
 * registers is one of them. Clusters, and operations on many elements, are one kernel each, made
 * when it is met (cuda/fuse.c); where that can't be, clusters are done here, step by step, with
 * what steps hand on in scratch memory.
 */
#include "kernels/host.h"
#include "kernels/scalar.h"

enum row_number {
#define SCALAR(name, ...) ROW_##name,
#include "ops/scalar.def"
#undef SCALAR
};

/* ---- Device ---- */

typedef strided_walk<4> operand_walk; /* the result, and three operands */

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

/* The number of OPERATION's row; -1: it is no scalar operation. */
static int row_of(const gemel_operation *operation) {
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

/* Operation ROW of N operands. */
static gemel_status run_row(gemel_cuda *cuda, int row, const gemel_view *out,
                            const gemel_view *const *in, int n, gemel_error *error) {
  const gemel_view *const views[4] = {out, in[0], in[n > 1 ? 1 : 0], in[n > 2 ? 2 : 0]};
  operand_walk walk = walk_over(views);
  int argument = row == ROW_cast ? (int)out->dtype : row;
  const void *kernel = row == ROW_cast    ? casts[in[0]->dtype]()
                       : row == ROW_where ? select_kernel(out->dtype)
                                          : by_dtype[is_function[row]][in[0]->dtype]();
  void *data[4] = {out->data, views[1]->data, views[2]->data, views[3]->data};
  void *arguments[] = {&argument, &walk, &data[0], &data[1], &data[2], &data[3]};
  return launch_over(cuda, kernel, walk.elements, arguments, error);
}

/* IN as SHAPE broadcasts it. */
static gemel_view broadcast(const gemel_view *in, const gemel_view *shape, int64_t *strides) {
  int shift = shape->rank - in->rank;
  for (int axis = 0; axis < shape->rank; axis++) {
    int fixed = axis < shift || (in->shape[axis - shift] == 1 && shape->shape[axis] != 1);
    strides[axis] = fixed ? 0 : in->strides[axis - shift];
  }
  gemel_view view = *shape;
  view.dtype = in->dtype;
  view.strides = strides;
  view.data = in->data;
  return view;
}

static gemel_status run_one(const gemel_kernel_call *call) {
  int64_t strides[3][GEMEL_MAX_RANK];
  gemel_view views[3];
  const gemel_view *in[3];
  for (size_t k = 0; k < call->n_inputs; k++) {
    views[k] = broadcast(&call->inputs[k], &call->outputs[0], strides[k]);
    in[k] = &views[k];
  }
  return run_row(gemel__cuda_of(call), row_of(call->operation), &call->outputs[0], in,
                 (int)call->n_inputs, call->error);
}

extern "C" const gemel_kernel gemel__cuda_elementwise[] = {{"elementwise", NULL, run_one},
                                                           {NULL, NULL, NULL}};

/* ---- Clusters, step by step ---- */

extern "C" const gemel_kernel gemel__cuda_sum[], gemel__cuda_max[];

static long long elements_of(const gemel_view *view) {
  long long n = 1;
  for (int axis = 0; axis < view->rank; axis++) {
    n *= view->shape[axis];
  }
  return n;
}

/* The shape of what isn't by row. */
static const gemel_view *shape_of(const gemel_kernel_call *call) {
  return call->n_inputs > 0 ? &call->inputs[0] : &call->outputs[0];
}

/* How many of the first N steps leave their results in scratch memory. */
static size_t inner_steps(const gemel_kernel_call *call, size_t n) {
  size_t count = 0;
  for (size_t k = 0; k < n; k++) {
    count += call->steps[k].output < 0;
  }
  return count;
}

/* Scratch memory for one result. */
static size_t result_bytes(const gemel_kernel_call *call) {
  return ((size_t)elements_of(shape_of(call)) * 8 + 63) / 64 * 64;
}

/* A view of one of CALL's shapes: with a last axis of 1 if BY_ROW. */
struct shaped_view {
  int64_t shape[GEMEL_MAX_RANK], strides[GEMEL_MAX_RANK];
  gemel_view view;
};

static void take_shape(const gemel_kernel_call *call, int by_row, shaped_view *made) {
  const gemel_view *shape = shape_of(call);
  for (int axis = 0; axis < shape->rank; axis++) {
    made->shape[axis] = by_row && axis == shape->rank - 1 ? 1 : shape->shape[axis];
  }
  made->view.rank = shape->rank;
  made->view.shape = made->shape;
  made->view.strides = made->strides;
}

/* Where step K leaves its result, row-major: an output, or its part of the scratch memory. */
static void result_of(const gemel_kernel_call *call, size_t k, shaped_view *made) {
  const gemel_step *step = &call->steps[k];
  int64_t stride = (int64_t)gemel_dtype_size(step->dtype);
  take_shape(call, step->by_row, made);
  for (int axis = made->view.rank - 1; axis >= 0; axis--) {
    made->strides[axis] = stride;
    stride *= made->shape[axis];
  }
  made->view.dtype = step->dtype;
  made->view.data = step->output >= 0
                        ? call->outputs[step->output].data
                        : (char *)call->scratch + inner_steps(call, k) * result_bytes(call);
}

/* Operand IN as a step of LIKE's shape reads it. */
static void operand_of(const gemel_kernel_call *call, int in, const shaped_view *like,
                       shaped_view *made) {
  shaped_view from;
  if (in >= 0) {
    result_of(call, (size_t)in, &from);
  } else {
    from.view = call->inputs[-1 - in];
    memcpy(from.shape, from.view.shape, (size_t)from.view.rank * sizeof *from.shape);
    for (int axis = 0; axis < from.view.rank; axis++) { /* of one element where all are the same */
      from.shape[axis] = from.view.strides[axis] == 0 ? 1 : from.shape[axis];
    }
    from.view.shape = from.shape;
  }
  memcpy(made->shape, like->shape, sizeof made->shape);
  made->view = broadcast(&from.view, &like->view, made->strides);
  made->view.shape = made->shape;
}

/* The call of a reduction of IN to OUT. */
static gemel_kernel_call reduction_of(const gemel_kernel_call *call, const gemel_step *step,
                                      const gemel_view *in, const gemel_view *out) {
  static const gemel_attr attrs[2] = {{"axes", GEMEL_ATTR_INT, 0, {-1}},
                                      {"keepdims", GEMEL_ATTR_INT, 0, {1}}};
  gemel_kernel_call made = *call;
  made.n_inputs = made.n_outputs = 1;
  made.inputs = in;
  made.outputs = out;
  made.attrs = attrs;
  made.operation = step->operation;
  made.steps = NULL;
  made.n_steps = 0;
  made.scratch = (char *)call->scratch + inner_steps(call, call->n_steps) * result_bytes(call);
  return made;
}

static const gemel_kernel *reducing_kernel(const gemel_step *step) {
  return strcmp(step->operation->name, "sum") == 0 ? gemel__cuda_sum : gemel__cuda_max;
}

static bool reduces(const gemel_step *step) {
  return step->by_row && row_of(step->operation) < 0;
}

/* The operand of reduction STEP is of the whole shape. */
static void views_of_reduction(const gemel_kernel_call *call, size_t k, shaped_view *in,
                               shaped_view *out) {
  shaped_view whole;
  take_shape(call, 0, &whole);
  operand_of(call, call->steps[k].in[0], &whole, in);
  result_of(call, k, out);
}

extern "C" gemel_status gemel__cuda_prepare_steps(gemel_kernel_call *call) {
  size_t most = 0;
  gemel_status status = GEMEL_OK;
  for (size_t k = 0; k < call->n_steps && status == GEMEL_OK; k++) {
    if (reduces(&call->steps[k])) {
      shaped_view in, out;
      views_of_reduction(call, k, &in, &out);
      gemel_kernel_call made = reduction_of(call, &call->steps[k], &in.view, &out.view);
      status = reducing_kernel(&call->steps[k])->prepare(&made);
      most = made.scratch_bytes > most ? made.scratch_bytes : most;
    }
  }
  call->scratch_bytes = inner_steps(call, call->n_steps) * result_bytes(call) + most;
  return status;
}

static gemel_status run_reduction(const gemel_kernel_call *call, size_t k) {
  shaped_view in, out;
  views_of_reduction(call, k, &in, &out);
  gemel_kernel_call made = reduction_of(call, &call->steps[k], &in.view, &out.view);
  return reducing_kernel(&call->steps[k])->run(&made);
}

static gemel_status run_step(const gemel_kernel_call *call, size_t k) {
  const gemel_step *step = &call->steps[k];
  shaped_view out, operands[3];
  const gemel_view *in[3] = {NULL, NULL, NULL};
  result_of(call, k, &out);
  for (int i = 0; i < step->n_in; i++) {
    operand_of(call, step->in[i], &out, &operands[i]);
    in[i] = &operands[i].view;
  }
  return run_row(gemel__cuda_of(call), row_of(step->operation), &out.view, in, step->n_in,
                 call->error);
}

extern "C" gemel_status gemel__cuda_run_steps(const gemel_kernel_call *call) {
  gemel_status status = GEMEL_OK;
  for (size_t k = 0; k < call->n_steps && status == GEMEL_OK; k++) {
    status = reduces(&call->steps[k]) ? run_reduction(call, k) : run_step(call, k);
  }
  return status;
}
