/* SPDX-License-Identifier: MIT
 *
 * Clusters with reductions of rows as one kernel. Groups of threads share rows; each goes through
 * its row once for all reductions that need no other, again for those that need these, and once
 * more for results. What is elementwise is computed anew each time, from operands that then lie in
 * a cache. The text of a mean that is subtracted, of operands and steps as in fuse-text.c:
 *
 *   extern "C" __global__ void rows(arguments c) {
 *     …
 *     for (long long begin = …; begin < c.rows; begin += …) { // of a block
 *       const bool any = begin + own < c.rows;
 *       const char *const at0 = c.in[0] + (long long)i0 * c.by0[0];
 *       const value_f32 x1 = load_f32(at1);                   // the same all along the row
 *       float a0[4];
 *       for (long long i = first; i < count; i += 64) {
 *         const group<stored_f32, 4> v0 = read_chunk<stored_f32, 4>(at0 + i * 16, 4, whole);
 *         for (int k = 0; k < 4; k++) {
 *           const value_f32 x0 = load_f32(&v0.at[k]);
 *           a0[k] = row_sum::join(a0[k], x0);
 *         }
 *       }
 *       const value_f32 s0 = join_row<row_sum, 64>(a0, narrow);
 *       const value_f32 s1 = div_f32(s0, x1, s0);
 *       for (…) { … const value_f32 s2 = sub_f32(x0, s1, x0); … }
 *     }
 *   }
 */
#include <stdlib.h>
#include <string.h>
#include "cuda/compile.h"
#include "cuda/cuda.h"
#include "cuda/fuse.h"

enum { BLOCK = 256 }; /* threads */

typedef enum lies { ALONG_ROW, APART, SAME_IN_ROW } lies;

/* STEPS and operands: how they LIE, on how many reductions one after the other a step waits (its
 * LEVEL), and what the loop at hand needs. */
typedef struct row_cluster {
  gemel__fuse f; /* its axes are those of rows, and STRIDES the operands' alone */
  int64_t length;
  int threads; /* of a row */
  int aligned; /* operands and results can be read in groups, if their addresses are aligned */
  unsigned char *lie, *level, *loaded, *needed;
} row_cluster;

typedef struct row_plan {
  const void *kernel;
  int several, aligned;
  int64_t rows_of_block;
  size_t addresses, n_words;
  uint64_t *words;
} row_plan;

#define WRITE(...) gemel__cuda_write(&r->f.text, __VA_ARGS__)

static const char *name_of(gemel_dtype dtype) {
  return gemel_dtype_name(dtype);
}

static size_t size_of(const gemel_view *view) {
  return gemel_dtype_size(view->dtype);
}

static int is_half(gemel_dtype dtype) {
  return dtype == GEMEL_F16 || dtype == GEMEL_BF16;
}

static const char *wide_name(gemel_dtype dtype) {
  return dtype == GEMEL_F64 ? "double" : "float";
}

/* "sum" or "max". */
static const char *reduction_of(const gemel_step *step) {
  return step->operation->name;
}

/* 1 if output K has an element for each element of a row. */
static int is_full(const gemel_kernel_call *call, size_t k) {
  size_t step = 0;
  while (call->steps[step].output != (int)k) {
    step++;
  }
  return !call->steps[step].by_row;
}

/* ---- Layouts ---- */

static void collapse(row_cluster *r) {
  const gemel_kernel_call *c = r->f.call;
  const gemel_view *shape = &c->inputs[0];
  int last = shape->rank - 1;
  r->length = shape->shape[last];
  r->f.elements = 1; /* rows */
  for (int axis = 0; axis < last; axis++) {
    r->f.sizes[axis] = shape->shape[axis];
    r->f.elements *= shape->shape[axis];
    for (size_t k = 0; k < c->n_inputs; k++) {
      r->f.strides[k * GEMEL_MAX_RANK + (size_t)axis] = c->inputs[k].strides[axis];
    }
  }
  r->f.axes = gemel__collapse(last, r->f.sizes, (int)c->n_inputs, r->f.strides, GEMEL_MAX_RANK);
  for (size_t k = 0; k < c->n_inputs; k++) {
    int64_t step = c->inputs[k].strides[last];
    r->lie[k] = step == 0                                 ? SAME_IN_ROW
                : step == (int64_t)size_of(&c->inputs[k]) ? ALONG_ROW
                                                          : APART;
  }
}

/* Elements of 16 bytes, of the largest dtype that is read or written along rows, if these have a
 * whole number of such groups. */
static void choose_several(row_cluster *r) {
  const gemel_kernel_call *c = r->f.call;
  size_t most = 2;
  for (size_t k = 0; k < c->n_inputs; k++) {
    size_t size = r->lie[k] == ALONG_ROW ? size_of(&c->inputs[k]) : 0;
    most = size > most ? size : most;
  }
  for (size_t k = 0; k < c->n_outputs; k++) {
    size_t size = is_full(c, k) ? size_of(&c->outputs[k]) : 0;
    most = size > most ? size : most;
  }
  r->f.several = r->length % (int64_t)(16 / most) == 0 ? 16 / (int)most : 1;
  r->aligned = r->f.several > 1;
  for (size_t k = 0; k < c->n_inputs; k++) {
    int64_t bytes = gemel__fuse_alignment(&r->f, size_of(&c->inputs[k]));
    for (int axis = 0; axis < r->f.axes && r->lie[k] == ALONG_ROW; axis++) {
      r->aligned &= r->f.strides[k * GEMEL_MAX_RANK + (size_t)axis] % bytes == 0;
    }
  }
}

/* So that a thread has four groups of its row, and neighbours enough for whole sectors. */
static void choose_threads(row_cluster *r) {
  int64_t groups = r->length / r->f.several, wanted = groups < 8 ? groups : 8;
  wanted = groups / 4 > wanted ? groups / 4 : wanted;
  r->threads = 1;
  while (r->threads < BLOCK && r->threads < wanted) {
    r->threads *= 2;
  }
}

static void find_levels(row_cluster *r) {
  const gemel_kernel_call *c = r->f.call;
  for (size_t k = 0; k < c->n_steps; k++) {
    const gemel_step *step = &c->steps[k];
    r->level[k] = 0;
    for (int i = 0; i < step->n_in; i++) {
      int in = step->in[i];
      r->level[k] = in >= 0 && r->level[in] > r->level[k] ? r->level[in] : r->level[k];
    }
    r->level[k] = (unsigned char)(r->level[k] + gemel__reduces(step));
  }
}

/* ---- Arguments ---- */

static void write_arguments(row_cluster *r) {
  const gemel_kernel_call *c = r->f.call;
  WRITE("#include \"kernels/rows.h\"\n");
  WRITE("typedef %s number;\n", r->f.elements < INT32_MAX ? "unsigned" : "long long");
  WRITE("struct arguments {\n  long long rows, length, whole;\n");
  if (r->f.axes > 1) {
    WRITE("  divisor sizes[%d];\n", r->f.axes - 1);
  }
  WRITE("  const char *in[%zu];\n  char *out[%zu];\n  long long step[%zu];\n", c->n_inputs,
        c->n_outputs, c->n_inputs);
  for (size_t k = 0; k < c->n_inputs && r->f.axes > 0; k++) {
    WRITE("  long long by%zu[%d];\n", k, r->f.axes);
  }
  WRITE("};\n");
}

static size_t words_of(const row_cluster *r) {
  size_t axes = (size_t)r->f.axes;
  return 3 + (axes > 1 ? 2 * (axes - 1) : 0) + r->f.call->n_outputs +
         r->f.call->n_inputs * (2 + axes);
}

/* All but whether groups are WHOLE, and the addresses, which are known at a call. */
static void fill_words(const row_cluster *r, row_plan *p) {
  const gemel_kernel_call *c = r->f.call;
  size_t at = 3, axes = (size_t)r->f.axes;
  p->words[0] = (uint64_t)r->f.elements;
  p->words[1] = (uint64_t)r->length;
  for (size_t axis = 1; axis < axes; axis++) {
    p->words[at++] = (uint64_t)r->f.sizes[axis];
    p->words[at++] = gemel__fuse_divisor(r->f.sizes[axis]);
  }
  p->addresses = at;
  at += c->n_inputs + c->n_outputs;
  for (size_t k = 0; k < c->n_inputs; k++) {
    p->words[at++] = (uint64_t)c->inputs[k].strides[c->inputs[k].rank - 1];
  }
  for (size_t k = 0; k < c->n_inputs; k++, at += axes) {
    memcpy(p->words + at, r->f.strides + k * GEMEL_MAX_RANK, axes * sizeof *p->words);
  }
}

/* ---- The text ---- */

/* What a block and a thread have to do, and where the operands of a row begin. */
static void write_start(row_cluster *r) {
  const gemel_kernel_call *c = r->f.call;
  WRITE("extern \"C\" __global__ void __launch_bounds__(%d) rows(arguments c) {\n"
        "  GEMEL_SHARED(float, narrow, [%d]);\n  GEMEL_SHARED(double, wide, [%d]);\n"
        "  const bool whole = c.whole != 0;\n  const long long count = c.length / %d;\n"
        "  const unsigned lane = threadIdx.x %% %d, own = threadIdx.x / %d;\n"
        "  for (long long begin = blockIdx.x * %lldll; begin < c.rows;\n"
        "       begin += gridDim.x * %lldll) {\n"
        "    const bool any = begin + own < c.rows;\n"
        "    const long long row = any ? begin + own : begin, first = any ? lane : count;\n"
        "    number i0 = (number)row;\n",
        BLOCK, BLOCK / 32, BLOCK / 32, r->f.several, r->threads, r->threads,
        (long long)(BLOCK / r->threads), (long long)(BLOCK / r->threads));
  for (int axis = r->f.axes - 1; axis > 0; axis--) {
    WRITE("    number i%d = i0;\n    i0 = quotient(i0, c.sizes[%d]);\n", axis, axis - 1);
    WRITE("    i%d -= i0 * (number)c.sizes[%d].size;\n", axis, axis - 1);
  }
  for (size_t k = 0; k < c->n_inputs; k++) {
    WRITE("    const char *const at%zu = c.in[%zu]", k, k);
    for (int axis = 0; axis < r->f.axes; axis++) {
      WRITE(" + (long long)i%d * c.by%zu[%d]", axis, k, axis);
    }
    WRITE(";\n");
    if (r->lie[k] == SAME_IN_ROW) {
      const char *name = name_of(c->inputs[k].dtype);
      WRITE("    const value_%s x%zu = load_%s(at%zu);\n", name, k, name, k);
    }
  }
}

/* 1 if step K is what the loop at LEVEL is for: a reduction, or a result where level is the last.
 */
static int is_target(const row_cluster *r, size_t k, int level, int last) {
  const gemel_step *step = &r->f.call->steps[k];
  return gemel__reduces(step) ? r->level[k] == level + 1
                              : !step->by_row && step->output >= 0 && last;
}

/* Finds what that loop reads and computes; 0: nothing. */
static int find_needs(row_cluster *r, int level, int last) {
  const gemel_kernel_call *c = r->f.call;
  int some = 0;
  memset(r->needed, 0, c->n_steps);
  memset(r->loaded, 0, c->n_inputs);
  for (size_t k = c->n_steps; k-- > 0;) {
    const gemel_step *step = &c->steps[k];
    int target = is_target(r, k, level, last);
    some |= target;
    r->needed[k] |= (unsigned char)(target && !gemel__reduces(step));
    for (int i = 0; i < step->n_in && (target || r->needed[k]); i++) {
      int in = step->in[i];
      if (in < 0) {
        r->loaded[-1 - in] = r->lie[-1 - in] != SAME_IN_ROW;
      } else {
        r->needed[in] |= (unsigned char)!c->steps[in].by_row;
      }
    }
  }
  return some;
}

static void write_chunks(row_cluster *r) {
  const gemel_kernel_call *c = r->f.call;
  int n = r->f.several;
  for (size_t k = 0; k < c->n_inputs; k++) {
    const char *name = name_of(c->inputs[k].dtype);
    if (r->loaded[k]) {
      WRITE("      const group<stored_%s, %d> v%zu = read_chunk<stored_%s, %d>(", name, n, k, name,
            n);
      if (r->lie[k] == ALONG_ROW) {
        WRITE("at%zu + i * %zu, %zu, whole);\n", k, (size_t)n * size_of(&c->inputs[k]),
              size_of(&c->inputs[k]));
      } else {
        WRITE("at%zu + i * %d * c.step[%zu], c.step[%zu], false);\n", k, n, k, k);
      }
    }
  }
  WRITE("      for (int k = 0; k < %d; k++) {\n", n);
  for (size_t k = 0; k < c->n_inputs; k++) {
    const char *name = name_of(c->inputs[k].dtype);
    if (r->loaded[k]) {
      WRITE("        const value_%s x%zu = load_%s(&v%zu.at[k]);\n", name, k, name, k);
    }
  }
}

/* What is done with an element: the steps, and then it is joined or stored. */
static void write_element(row_cluster *r, int level, int last) {
  const gemel_kernel_call *c = r->f.call;
  for (size_t k = 0; k < c->n_steps; k++) {
    const gemel_step *step = &c->steps[k];
    if (r->needed[k]) {
      WRITE("      ");
      gemel__fuse_write_step(&r->f, k);
    }
    if (!is_target(r, k, level, last)) {
      continue;
    }
    if (gemel__reduces(step)) {
      WRITE("        a%zu[k] = row_%s::join(a%zu[k], ", k, reduction_of(step), k);
      gemel__fuse_write_operand(&r->f, step->in[0]);
      WRITE(");\n");
    } else {
      WRITE("        store_%s(&w%d.at[k], s%zu);\n", name_of(step->dtype), step->output, k);
    }
  }
  WRITE("      }\n");
}

static void write_loop(row_cluster *r, int level, int last) {
  const gemel_kernel_call *c = r->f.call;
  int n = r->f.several;
  for (size_t k = 0; k < c->n_steps; k++) {
    if (gemel__reduces(&c->steps[k]) && is_target(r, k, level, last)) {
      WRITE("    %s a%zu[%d];\n    for (int k = 0; k < %d; k++) {\n      a%zu[k] = %s;\n    }\n",
            wide_name(c->steps[k].dtype), k, n, n, k,
            strcmp(reduction_of(&c->steps[k]), "sum") == 0 ? "0" : "-INFINITY");
    }
  }
  WRITE("    for (long long i = first; i < count; i += %d) {\n", r->threads);
  for (size_t k = 0; k < c->n_outputs && last; k++) {
    if (is_full(c, k)) {
      WRITE("      group<stored_%s, %d> w%zu;\n", name_of(c->outputs[k].dtype), n, k);
    }
  }
  write_chunks(r);
  write_element(r, level, last);
  for (size_t k = 0; k < c->n_outputs && last; k++) {
    if (is_full(c, k)) {
      WRITE("      write_chunk(c.out[%zu] + (row * count + i) * %zu, w%zu, whole);\n", k,
            (size_t)n * size_of(&c->outputs[k]), k);
    }
  }
  WRITE("    }\n");
}

/* The values of rows that are known behind the loop at LEVEL. */
static void write_row_steps(row_cluster *r, int level) {
  const gemel_kernel_call *c = r->f.call;
  for (size_t k = 0; k < c->n_steps; k++) {
    const gemel_step *step = &c->steps[k];
    const char *name = name_of(step->dtype);
    if (!step->by_row || r->level[k] != level + 1) {
      continue;
    }
    if (gemel__reduces(step)) {
      WRITE("    const value_%s s%zu = %s%s(join_row<row_%s, %d>(a%zu, %s));\n", name, k,
            is_half(step->dtype) ? "round_" : "", is_half(step->dtype) ? name : "",
            reduction_of(step), r->threads, k, step->dtype == GEMEL_F64 ? "wide" : "narrow");
    } else {
      WRITE("  ");
      gemel__fuse_write_step(&r->f, k);
    }
  }
}

static void write_end(row_cluster *r) {
  const gemel_kernel_call *c = r->f.call;
  WRITE("    if (any && lane == 0) {\n");
  for (size_t k = 0; k < c->n_steps; k++) {
    const gemel_step *step = &c->steps[k];
    if (step->by_row && step->output >= 0) {
      WRITE("      store_%s(c.out[%d] + row * %zu, s%zu);\n", name_of(step->dtype), step->output,
            gemel_dtype_size(step->dtype), k);
    }
  }
  WRITE("    }\n  }\n}\n");
}

static void write_text(row_cluster *r) {
  int last = 0;
  collapse(r);
  choose_several(r);
  choose_threads(r);
  find_levels(r);
  for (size_t k = 0; k < r->f.call->n_steps; k++) {
    last = r->level[k] > last ? r->level[k] : last;
  }
  write_arguments(r);
  write_start(r);
  for (int level = 0; level <= last; level++) {
    if (find_needs(r, level, level == last)) {
      write_loop(r, level, level == last);
    }
    write_row_steps(r, level);
  }
  write_end(r);
}

/* ---- Kernels ---- */

static void release_plan(void *prepared) {
  free(((row_plan *)prepared)->words);
}

static gemel_status make_plan(row_cluster *r, row_plan *p, gemel_error *error) {
  write_text(r);
  p->n_words = words_of(r);
  if (r->f.text.failed) {
    return gemel__cuda_fail(error, GEMEL_NO_MEMORY, "out of memory for a kernel");
  }
  if (p->n_words > GEMEL__FUSE_MOST_WORDS) {
    return GEMEL_DECLINED;
  }
  gemel_status status =
      gemel__cuda_compile(gemel__cuda_of(r->f.call), r->f.text.data, "rows", &p->kernel, error);
  if (status != GEMEL_OK) {
    return status;
  }
  p->several = r->f.several;
  p->aligned = r->aligned;
  p->rows_of_block = BLOCK / r->threads;
  p->words = calloc(p->n_words, sizeof *p->words);
  if (p->words == NULL) {
    return gemel__cuda_fail(error, GEMEL_NO_MEMORY, "out of memory for a kernel");
  }
  fill_words(r, p);
  return GEMEL_OK;
}

gemel_status gemel__cuda_prepare_rows(gemel_kernel_call *call) {
  size_t inputs = call->n_inputs, steps = call->n_steps;
  row_cluster r = {.f = {.call = call}};
  if (!gemel__has_rows(call)) {
    return GEMEL_DECLINED;
  }
  unsigned char *notes = malloc(2 * inputs + 2 * steps);
  memset(call->prepared, 0, sizeof(row_plan));
  r.f.strides = malloc(inputs * GEMEL_MAX_RANK * sizeof *r.f.strides);
  gemel_status status = GEMEL_NO_MEMORY;
  if (notes != NULL && r.f.strides != NULL) {
    r.lie = notes;
    r.loaded = notes + inputs;
    r.level = notes + 2 * inputs;
    r.needed = r.level + steps;
    status = make_plan(&r, call->prepared, call->error);
  } else {
    gemel__cuda_fail(call->error, GEMEL_NO_MEMORY, "out of memory for a kernel");
  }
  if (status == GEMEL_OK) {
    call->release = release_plan;
  }
  free(notes);
  free(r.f.strides);
  free(r.f.text.data);
  return status;
}

static int is_aligned(const row_plan *p, const gemel_view *view) {
  size_t bytes = (size_t)p->several * size_of(view);
  return (uintptr_t)view->data % (bytes < 16 ? bytes : 16) == 0;
}

/* Fills in the addresses; 1 if groups of elements can be read and written at once. */
static int fill_addresses(const row_plan *p, const gemel_kernel_call *call) {
  uint64_t *addresses = p->words + p->addresses;
  int whole = p->aligned;
  for (size_t k = 0; k < call->n_inputs; k++) {
    const gemel_view *in = &call->inputs[k];
    addresses[k] = (uint64_t)(uintptr_t)in->data;
    whole &= in->strides[in->rank - 1] != (int64_t)size_of(in) || is_aligned(p, in);
  }
  for (size_t k = 0; k < call->n_outputs; k++) {
    const gemel_view *out = &call->outputs[k];
    addresses[call->n_inputs + k] = (uint64_t)(uintptr_t)out->data;
    whole &= !is_full(call, k) || is_aligned(p, out);
  }
  return whole;
}

gemel_status gemel__cuda_run_rows(const gemel_kernel_call *call) {
  gemel_cuda *cuda = gemel__cuda_of(call);
  const row_plan *p = call->prepared;
  void *arguments[] = {p->words};
  int64_t blocks = ((int64_t)p->words[0] + p->rows_of_block - 1) / p->rows_of_block;
  int64_t most = 4 * (int64_t)cuda->blocks_at_once;
  p->words[2] = (uint64_t)fill_addresses(p, call);
  return gemel__cuda_launch(cuda, p->kernel, (size_t)(blocks < most ? blocks : most), BLOCK, 0,
                            arguments, call->error);
}
