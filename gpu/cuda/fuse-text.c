/* SPDX-License-Identifier: MIT
 *
 * The text of a cluster of elementwise operations. The functions that it calls are those of
 * gpu/kernels/scalar.h. What is the same for all clusters of one text (sizes, strides, addresses)
 * are its arguments, so a text is compiled once (compile.c). A thread reads and writes several
 * neighbouring elements at a time, 16 bytes where that can be; what is left over, or all where an
 * address isn't aligned, is done one by one:
 *
 *   static __device__ __forceinline__ void compute(const value_f32 x0, value_f32 *r0) {
 *     const value_f32 s0 = exp_f32(x0, x0, x0);
 *     *r0 = s0;
 *   }
 *   extern "C" __global__ void cluster(arguments c) {
 *     …
 *     for (number g = first; g < groups; g += threads) {
 *       const number e = g * 4;
 *       const char *const at0 = c.in[0] + (long long)e * 4;
 *       const group<stored_f32, 4> v0 = *(const group<stored_f32, 4> *)at0;
 *       group<stored_f32, 4> w0;
 *       for (int k = 0; k < 4; k++) {
 *         value_f32 r0;
 *         compute(load_f32(&v0.at[k]), &r0);
 *         store_f32(&w0.at[k], r0);
 *       }
 *       *(group<stored_f32, 4> *)(c.out[0] + (long long)e * 4) = w0;
 *     }
 *     for (number e = groups * 4 + first; e < n; e += threads) { … }
 *   }
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include "cuda/fuse.h"

enum { MOST_IN_GROUPS = 16 }; /* operands and results: more would not fit in registers */

void gemel__cuda_write(gemel__cuda_text *t, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int n = vsnprintf(NULL, 0, format, arguments);
  va_end(arguments);
  if (n < 0 || t->failed) {
    t->failed = 1;
    return;
  }
  if (t->bytes + (size_t)n + 1 > t->capacity) {
    t->capacity = 2 * (t->bytes + (size_t)n + 1);
    char *grown = realloc(t->data, t->capacity);
    if (grown == NULL) {
      t->failed = 1;
      return;
    }
    t->data = grown;
  }
  va_start(arguments, format);
  vsnprintf(t->data + t->bytes, (size_t)n + 1, format, arguments);
  va_end(arguments);
  t->bytes += (size_t)n;
}

#define WRITE(...) gemel__cuda_write(&f->text, __VA_ARGS__)

static const char *name_of(gemel_dtype dtype) {
  return gemel_dtype_name(dtype);
}

static int is_half(gemel_dtype dtype) {
  return dtype == GEMEL_F16 || dtype == GEMEL_BF16;
}

static size_t size_of(const gemel__fuse *f, size_t k) {
  return gemel_dtype_size(f->call->inputs[k].dtype);
}

/* ---- Layouts ---- */

static void collapse(gemel__fuse *f) {
  const gemel_view *out = &f->call->outputs[0];
  size_t n = f->call->n_inputs;
  f->elements = 1;
  for (int axis = 0; axis < out->rank; axis++) {
    f->sizes[axis] = out->shape[axis];
    f->elements *= out->shape[axis];
    f->strides[axis] = out->strides[axis];
    for (size_t k = 0; k < n; k++) {
      f->strides[(k + 1) * GEMEL_MAX_RANK + (size_t)axis] = f->call->inputs[k].strides[axis];
    }
  }
  f->axes = gemel__collapse(out->rank, f->sizes, (int)n + 1, f->strides, GEMEL_MAX_RANK);
}

/* FIXED, IN_ORDER or STRIDED: the results are row-major, so an operand lies in their order if
 * strides are in proportion. A single element does: all threads would read it, while one writes a
 * result that may have its memory. */
static gemel__fuse_kind order_of(const gemel__fuse *f, size_t k) {
  const int64_t *out = f->strides, *in = f->strides + (k + 1) * GEMEL_MAX_RANK;
  int64_t of_out = (int64_t)gemel_dtype_size(f->call->outputs[0].dtype);
  int64_t of_in = (int64_t)size_of(f, k);
  int fixed = f->axes > 0, in_order = 1;
  for (int axis = 0; axis < f->axes; axis++) {
    fixed &= in[axis] == 0;
    in_order &= in[axis] == out[axis] / of_out * of_in;
  }
  return fixed ? GEMEL__FUSE_FIXED : in_order ? GEMEL__FUSE_IN_ORDER : GEMEL__FUSE_STRIDED;
}

/* Of a strided operand, how its rows lie. */
static gemel__fuse_kind rows_of(const gemel__fuse *f, size_t k) {
  const int64_t *in = f->strides + (k + 1) * GEMEL_MAX_RANK;
  int64_t alignment = gemel__fuse_alignment(f, size_of(f, k));
  int aligned = in[f->axes - 1] == (int64_t)size_of(f, k);
  for (int axis = 0; axis < f->axes - 1; axis++) {
    aligned &= in[axis] % alignment == 0;
  }
  return aligned                ? GEMEL__FUSE_ROWS
         : in[f->axes - 1] == 0 ? GEMEL__FUSE_STEADY
                                : GEMEL__FUSE_STRIDED;
}

/* Elements of 16 bytes, of the largest dtype that is read or written in order. */
static int several_of(const gemel__fuse *f) {
  const gemel_kernel_call *c = f->call;
  size_t most = 2;
  for (size_t k = 0; k < c->n_inputs; k++) {
    most = f->kinds[k] != GEMEL__FUSE_FIXED && size_of(f, k) > most ? size_of(f, k) : most;
  }
  for (size_t k = 0; k < c->n_outputs; k++) {
    size_t size = gemel_dtype_size(c->outputs[k].dtype);
    most = size > most ? size : most;
  }
  return c->n_inputs + c->n_outputs > MOST_IN_GROUPS ? 1 : 16 / (int)most;
}

static void find_kinds(gemel__fuse *f) {
  for (size_t k = 0; k < f->call->n_inputs; k++) {
    f->kinds[k] = (unsigned char)order_of(f, k);
    f->indexed |= f->kinds[k] == GEMEL__FUSE_STRIDED;
  }
  f->several = several_of(f);
  if (f->indexed && f->sizes[f->axes - 1] % f->several != 0) {
    f->several = 1;
  }
  for (size_t k = 0; k < f->call->n_inputs; k++) {
    if (f->kinds[k] == GEMEL__FUSE_STRIDED && f->several > 1) {
      f->kinds[k] = (unsigned char)rows_of(f, k);
    }
  }
}

/* 1 if the place of operand K depends on indices. */
static int has_strides(const gemel__fuse *f, size_t k) {
  return f->kinds[k] >= GEMEL__FUSE_ROWS;
}

/* ---- Arguments ---- */

static void write_arguments(gemel__fuse *f) {
  const gemel_kernel_call *c = f->call;
  WRITE("#include \"kernels/scalar.h\"\n#include \"kernels/several.h\"\n");
  WRITE("typedef %s number;\n", f->elements < INT32_MAX ? "unsigned" : "long long");
  WRITE("struct arguments {\n  long long elements, groups;\n");
  if (f->indexed && f->axes > 1) {
    WRITE("  divisor sizes[%d];\n", f->axes - 1);
  }
  if (c->n_inputs > 0) {
    WRITE("  const char *in[%zu];\n", c->n_inputs);
  }
  WRITE("  char *out[%zu];\n", c->n_outputs);
  for (size_t k = 0; k < c->n_inputs; k++) {
    if (has_strides(f, k)) {
      WRITE("  long long by%zu[%d];\n", k, f->axes);
    }
  }
  WRITE("};\n");
}

/* ---- What is computed ---- */

static gemel_dtype operand_dtype(const gemel_kernel_call *c, int in) {
  return in < 0 ? c->inputs[-1 - in].dtype : c->steps[in].dtype;
}

void gemel__fuse_write_operand(gemel__fuse *f, int in) {
  WRITE(in < 0 ? "x%d" : "s%d", in < 0 ? -1 - in : in);
}

/* The expression of STEP, not yet rounded where it is a half. */
static void write_expression(gemel__fuse *f, const gemel_step *step) {
  const gemel__scalar_row *row = gemel__scalar_row_of(step->operation);
  gemel_dtype dtype = operand_dtype(f->call, step->in[step->n_in - 1]);
  if (row->code == GEMEL__TYPE_SELECT) {
    gemel__fuse_write_operand(f, step->in[0]);
    WRITE(" ? ");
    gemel__fuse_write_operand(f, step->in[1]);
    WRITE(" : ");
    gemel__fuse_write_operand(f, step->in[2]);
    return;
  }
  if (row->code == GEMEL__TYPE_CAST) {
    WRITE("cast_%s(", name_of(step->dtype));
    gemel__fuse_write_operand(f, step->in[0]);
    WRITE(")");
    return;
  }
  WRITE("%s_%s(", row->name, is_half(dtype) ? "f32" : name_of(dtype));
  for (int k = 0; k < 3; k++) {
    gemel__fuse_write_operand(f, step->in[k < step->n_in ? k : 0]);
    WRITE(k < 2 ? ", " : ")");
  }
}

/* A half's value is always rounded; a selected one is. */
void gemel__fuse_write_step(gemel__fuse *f, size_t k) {
  const gemel_step *step = &f->call->steps[k];
  int rounds = is_half(step->dtype);
  WRITE("  const value_%s s%zu = ", name_of(step->dtype), k);
  if (rounds) {
    WRITE("round_%s(", name_of(step->dtype));
  }
  write_expression(f, step);
  WRITE(rounds ? ");\n" : ";\n");
}

static void write_compute(gemel__fuse *f) {
  const gemel_kernel_call *c = f->call;
  WRITE("static __device__ __forceinline__ void compute(");
  for (size_t k = 0; k < c->n_inputs; k++) {
    WRITE("const value_%s x%zu, ", name_of(c->inputs[k].dtype), k);
  }
  for (size_t k = 0; k < c->n_outputs; k++) {
    WRITE("value_%s *r%zu%s", name_of(c->outputs[k].dtype), k,
          k + 1 < c->n_outputs ? ", " : ") {\n");
  }
  for (size_t k = 0; k < c->n_steps; k++) {
    gemel__fuse_write_step(f, k);
  }
  for (size_t k = 0; k < c->n_steps; k++) {
    if (c->steps[k].output >= 0) {
      WRITE("  *r%d = s%zu;\n", c->steps[k].output, k);
    }
  }
  WRITE("}\n");
}

/* ---- The kernel ---- */

static void write_start(gemel__fuse *f) {
  WRITE("extern \"C\" __global__ void cluster(arguments c) {\n"
        "  const number threads = (number)gridDim.x * blockDim.x;\n"
        "  const number first = (number)blockIdx.x * blockDim.x + threadIdx.x;\n"
        "  const number n = (number)c.elements, groups = (number)c.groups;\n");
  for (size_t k = 0; k < f->call->n_inputs; k++) {
    const char *name = name_of(f->call->inputs[k].dtype);
    if (f->kinds[k] == GEMEL__FUSE_FIXED) {
      WRITE("  const value_%s x%zu = load_%s(c.in[%zu]);\n", name, k, name, k);
    }
  }
}

/* The index of element E along each axis, if any operand asks for it. */
static void write_indices(gemel__fuse *f) {
  if (!f->indexed) {
    return;
  }
  WRITE("    number i0 = e;\n");
  for (int axis = f->axes - 1; axis > 0; axis--) {
    WRITE("    number i%d = i0;\n    i0 = quotient(i0, c.sizes[%d]);\n", axis, axis - 1);
    WRITE("    i%d -= i0 * (number)c.sizes[%d].size;\n", axis, axis - 1);
  }
}

/* Where element E of each operand lies. */
static void write_places(gemel__fuse *f) {
  for (size_t k = 0; k < f->call->n_inputs; k++) {
    if (f->kinds[k] == GEMEL__FUSE_FIXED) {
      continue;
    }
    WRITE("    const char *const at%zu = c.in[%zu]", k, k);
    if (f->kinds[k] == GEMEL__FUSE_IN_ORDER) {
      WRITE(" + (long long)e * %zu", size_of(f, k));
    }
    for (int axis = 0; has_strides(f, k) && axis < f->axes; axis++) {
      WRITE(" + (long long)i%d * c.by%zu[%d]", axis, k, axis);
    }
    WRITE(";\n");
  }
}

/* The value of operand K for the element; in a group for its element k. */
static void write_value(gemel__fuse *f, size_t k, int in_group) {
  const char *name = name_of(f->call->inputs[k].dtype);
  if (f->kinds[k] == GEMEL__FUSE_FIXED) {
    WRITE("x%zu", k);
  } else if (!in_group || f->kinds[k] == GEMEL__FUSE_STEADY) {
    WRITE("load_%s(at%zu)", name, k);
  } else if (f->kinds[k] == GEMEL__FUSE_STRIDED) {
    WRITE("load_%s(at%zu + k * c.by%zu[%d])", name, k, k, f->axes - 1);
  } else {
    WRITE("load_%s(&v%zu.at[k])", name, k);
  }
}

static void write_call(gemel__fuse *f, int in_group) {
  const gemel_kernel_call *c = f->call;
  for (size_t k = 0; k < c->n_outputs; k++) {
    WRITE("    value_%s r%zu;\n", name_of(c->outputs[k].dtype), k);
  }
  WRITE("    compute(");
  for (size_t k = 0; k < c->n_inputs; k++) {
    write_value(f, k, in_group);
    WRITE(", ");
  }
  for (size_t k = 0; k < c->n_outputs; k++) {
    WRITE("&r%zu%s", k, k + 1 < c->n_outputs ? ", " : ");\n");
  }
}

/* Groups are stored behind all that is read, since a result may have an operand's memory. */
static void write_groups(gemel__fuse *f) {
  const gemel_kernel_call *c = f->call;
  WRITE("  for (number g = first; g < groups; g += threads) {\n    const number e = g * %d;\n",
        f->several);
  write_indices(f);
  write_places(f);
  for (size_t k = 0; k < c->n_inputs; k++) {
    if (f->kinds[k] == GEMEL__FUSE_IN_ORDER || f->kinds[k] == GEMEL__FUSE_ROWS) {
      const char *name = name_of(c->inputs[k].dtype);
      WRITE("    const group<stored_%s, %d> v%zu = *(const group<stored_%s, %d> *)at%zu;\n", name,
            f->several, k, name, f->several, k);
    }
  }
  for (size_t k = 0; k < c->n_outputs; k++) {
    WRITE("    group<stored_%s, %d> w%zu;\n", name_of(c->outputs[k].dtype), f->several, k);
  }
  WRITE("    for (int k = 0; k < %d; k++) {\n", f->several);
  write_call(f, 1);
  for (size_t k = 0; k < c->n_outputs; k++) {
    WRITE("    store_%s(&w%zu.at[k], r%zu);\n", name_of(c->outputs[k].dtype), k, k);
  }
  WRITE("    }\n");
  for (size_t k = 0; k < c->n_outputs; k++) {
    gemel_dtype dtype = c->outputs[k].dtype;
    WRITE("    *(group<stored_%s, %d> *)(c.out[%zu] + (long long)e * %zu) = w%zu;\n",
          name_of(dtype), f->several, k, gemel_dtype_size(dtype), k);
  }
  WRITE("  }\n");
}

static void write_singles(gemel__fuse *f) {
  const gemel_kernel_call *c = f->call;
  WRITE("  for (number e = groups * %d + first; e %s n; e += threads) {\n", f->several, "<");
  write_indices(f);
  write_places(f);
  write_call(f, 0);
  for (size_t k = 0; k < c->n_outputs; k++) {
    gemel_dtype dtype = c->outputs[k].dtype;
    WRITE("    store_%s(c.out[%zu] + (long long)e * %zu, r%zu);\n", name_of(dtype), k,
          gemel_dtype_size(dtype), k);
  }
  WRITE("  }\n}\n");
}

void gemel__fuse_write(gemel__fuse *f) {
  collapse(f);
  find_kinds(f);
  write_arguments(f);
  write_compute(f);
  write_start(f);
  if (f->several > 1) {
    write_groups(f);
  }
  write_singles(f);
}
