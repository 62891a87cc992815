/* SPDX-License-Identifier: MIT
 *
 * A cluster of elementwise operations as one kernel, written when it is met. Its text has a line
 * for each operand that is read, each step, and each result that is kept; the functions that it
 * calls are those of gpu/kernels/scalar.h, which the text includes. What is the same for all
 * clusters of one text (sizes, strides, addresses) are its arguments, so a text is compiled once
 * (compile.c).
 *
 *   extern "C" __global__ void cluster(arguments c) {
 *     for (long long e = ...) {
 *       const value_f32 x0 = load_f32(c.in[0] + e * 4);
 *       const value_f32 s0 = exp_f32(x0, x0, x0);
 *       store_f32(c.out[0] + e * 4, s0);
 *     }
 *   }
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "core/strided.h"
#include "cuda/compile.h"
#include "cuda/cuda.h"
#include "cuda/text.h"
#include "ops/ops.h"

/* ---- Texts ---- */

void gemel__cuda_write(gemel__cuda_text *t, const char *format, ...) {
  va_list arguments;
  char *grown;
  int n;
  va_start(arguments, format);
  n = vsnprintf(NULL, 0, format, arguments);
  va_end(arguments);
  if (n < 0 || t->failed) {
    t->failed = 1;
    return;
  }
  if (t->bytes + (size_t)n + 1 > t->capacity) {
    t->capacity = 2 * (t->bytes + (size_t)n + 1);
    grown = realloc(t->data, t->capacity);
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

/* ---- The cluster ---- */

typedef enum load_kind { IN_ORDER, FIXED, STRIDED } load_kind;

/* What a cluster's kernel is given, 8 bytes each: the number of elements; the sizes of the axes;
 * the addresses of operands and results; and for each strided operand its strides. */
typedef struct cluster_plan {
  const void *kernel;
  int axes;
  size_t n_words;
  uint64_t *words;
} cluster_plan;

typedef struct cluster_writer {
  const gemel_kernel_call *call;
  gemel__cuda_text text;
  int axes;
  int64_t elements;
  int64_t sizes[GEMEL_MAX_RANK];
  int64_t *strides; /* of each operand GEMEL_MAX_RANK, behind those of the result */
  unsigned char *kinds;
} cluster_writer;

static const char *name_of(gemel_dtype dtype) {
  return gemel_dtype_name(dtype);
}

static int is_half(gemel_dtype dtype) {
  return dtype == GEMEL_F16 || dtype == GEMEL_BF16;
}

/* Merges axes that all walk alike. */
static void collapse(cluster_writer *w) {
  const gemel_view *out = &w->call->outputs[0];
  size_t n = w->call->n_inputs;
  w->elements = 1;
  for (int axis = 0; axis < out->rank; axis++) {
    w->sizes[axis] = out->shape[axis];
    w->elements *= out->shape[axis];
    w->strides[axis] = out->strides[axis];
    for (size_t k = 0; k < n; k++) {
      w->strides[(k + 1) * GEMEL_MAX_RANK + (size_t)axis] = w->call->inputs[k].strides[axis];
    }
  }
  w->axes = gemel__collapse(out->rank, w->sizes, (int)n + 1, w->strides, GEMEL_MAX_RANK);
}

/* The result is row-major, so an operand lies in its order if strides are in proportion. */
static load_kind kind_of(const cluster_writer *w, size_t k) {
  const int64_t *out = w->strides, *in = w->strides + (k + 1) * GEMEL_MAX_RANK;
  int64_t of_out = (int64_t)gemel_dtype_size(w->call->outputs[0].dtype);
  int64_t of_in = (int64_t)gemel_dtype_size(w->call->inputs[k].dtype);
  int fixed = 1, in_order = 1;
  for (int axis = 0; axis < w->axes; axis++) {
    fixed &= in[axis] == 0;
    in_order &= in[axis] == out[axis] / of_out * of_in;
  }
  return fixed ? FIXED : in_order ? IN_ORDER : STRIDED;
}

static void write_arguments(cluster_writer *w) {
  const gemel_kernel_call *c = w->call;
  gemel__cuda_write(&w->text, "#include \"kernels/scalar.h\"\nstruct arguments {\n"
                              "  long long elements;\n");
  if (w->axes > 0) {
    gemel__cuda_write(&w->text, "  long long sizes[%d];\n", w->axes);
  }
  if (c->n_inputs > 0) {
    gemel__cuda_write(&w->text, "  const char *in[%zu];\n", c->n_inputs);
  }
  gemel__cuda_write(&w->text, "  char *out[%zu];\n", c->n_outputs);
  for (size_t k = 0; k < c->n_inputs; k++) {
    if (w->kinds[k] == STRIDED) {
      gemel__cuda_write(&w->text, "  long long by%zu[%d];\n", k, w->axes);
    }
  }
  gemel__cuda_write(&w->text,
                    "};\nextern \"C\" __global__ void cluster(arguments c) {\n"
                    "  for (long long e = (long long)blockIdx.x * blockDim.x + "
                    "threadIdx.x; e %s c.elements;\n"
                    "       e += (long long)gridDim.x * blockDim.x) {\n",
                    "<");
}

/* The index along each axis, if any operand asks for it. */
static void write_indices(cluster_writer *w) {
  int strided = 0;
  for (size_t k = 0; k < w->call->n_inputs; k++) {
    strided |= w->kinds[k] == STRIDED;
  }
  if (!strided) {
    return;
  }
  gemel__cuda_write(&w->text, "    long long rest = e;\n");
  for (int axis = w->axes - 1; axis >= 0; axis--) {
    gemel__cuda_write(&w->text, "    const long long i%d = rest %% c.sizes[%d];\n", axis, axis);
    if (axis > 0) {
      gemel__cuda_write(&w->text, "    rest /= c.sizes[%d];\n", axis);
    }
  }
}

static void write_loads(cluster_writer *w) {
  for (size_t k = 0; k < w->call->n_inputs; k++) {
    gemel_dtype dtype = w->call->inputs[k].dtype;
    const char *name = name_of(dtype);
    gemel__cuda_write(&w->text, "    const value_%s x%zu = load_%s(c.in[%zu]", name, k, name, k);
    if (w->kinds[k] == IN_ORDER) {
      gemel__cuda_write(&w->text, " + e * %zu", gemel_dtype_size(dtype));
    }
    for (int axis = 0; w->kinds[k] == STRIDED && axis < w->axes; axis++) {
      gemel__cuda_write(&w->text, " + i%d * c.by%zu[%d]", axis, k, axis);
    }
    gemel__cuda_write(&w->text, ");\n");
  }
}

static gemel_dtype operand_dtype(const gemel_kernel_call *c, int in) {
  return in < 0 ? c->inputs[-1 - in].dtype : c->steps[in].dtype;
}

static void write_operand(cluster_writer *w, int in) {
  gemel__cuda_write(&w->text, in < 0 ? "x%d" : "s%d", in < 0 ? -1 - in : in);
}

/* The expression of STEP, not yet rounded where it is a half. */
static void write_expression(cluster_writer *w, const gemel_step *step) {
  const gemel__scalar_row *row = gemel__scalar_row_of(step->operation);
  gemel_dtype dtype = operand_dtype(w->call, step->in[step->n_in - 1]);
  if (row->code == GEMEL__TYPE_SELECT) {
    write_operand(w, step->in[0]);
    gemel__cuda_write(&w->text, " ? ");
    write_operand(w, step->in[1]);
    gemel__cuda_write(&w->text, " : ");
    write_operand(w, step->in[2]);
    return;
  }
  if (row->code == GEMEL__TYPE_CAST) {
    gemel__cuda_write(&w->text, "cast_%s(", name_of(step->dtype));
    write_operand(w, step->in[0]);
    gemel__cuda_write(&w->text, ")");
    return;
  }
  gemel__cuda_write(&w->text, "%s_%s(", row->name, is_half(dtype) ? "f32" : name_of(dtype));
  for (int k = 0; k < 3; k++) {
    write_operand(w, step->in[k < step->n_in ? k : 0]);
    gemel__cuda_write(&w->text, k < 2 ? ", " : ")");
  }
}

static void write_step(cluster_writer *w, size_t k) {
  const gemel_step *step = &w->call->steps[k];
  int rounds = is_half(step->dtype);
  gemel__cuda_write(&w->text, "    const value_%s s%zu = ", name_of(step->dtype), k);
  if (rounds) {
    gemel__cuda_write(&w->text, "round_%s(", name_of(step->dtype));
  }
  write_expression(w, step);
  gemel__cuda_write(&w->text, rounds ? ");\n" : ";\n");
}

/* Results are kept behind all steps, since a result may have an operand's memory. */
static void write_stores(cluster_writer *w) {
  for (size_t k = 0; k < w->call->n_steps; k++) {
    const gemel_step *step = &w->call->steps[k];
    if (step->output >= 0) {
      gemel__cuda_write(&w->text, "    store_%s(c.out[%d] + e * %zu, s%zu);\n",
                        name_of(step->dtype), step->output, gemel_dtype_size(step->dtype), k);
    }
  }
  gemel__cuda_write(&w->text, "  }\n}\n");
}

static void write_all(cluster_writer *w) {
  collapse(w);
  for (size_t k = 0; k < w->call->n_inputs; k++) {
    w->kinds[k] = (unsigned char)kind_of(w, k);
  }
  write_arguments(w);
  write_indices(w);
  write_loads(w);
  for (size_t k = 0; k < w->call->n_steps; k++) {
    write_step(w, k);
  }
  write_stores(w);
}

/* ---- Kernels ---- */

/* CUDA of any version and GPU takes that many bytes of arguments. */
enum { MOST_WORDS = 4000 / 8 };

static void release_plan(void *prepared) {
  free(((cluster_plan *)prepared)->words);
}

/* The arguments but for the addresses, which are known at a call. */
static gemel_status fill_arguments(const cluster_writer *w, cluster_plan *p) {
  size_t n_addresses = w->call->n_inputs + w->call->n_outputs, at;
  at = 1 + (size_t)w->axes + n_addresses;
  p->axes = w->axes;
  p->n_words = at;
  for (size_t k = 0; k < w->call->n_inputs; k++) {
    p->n_words += w->kinds[k] == STRIDED ? (size_t)w->axes : 0;
  }
  if (p->n_words > MOST_WORDS) {
    return GEMEL_DECLINED;
  }
  p->words = calloc(p->n_words, sizeof *p->words);
  if (p->words == NULL) {
    return GEMEL_NO_MEMORY;
  }
  p->words[0] = (uint64_t)w->elements;
  memcpy(p->words + 1, w->sizes, (size_t)w->axes * sizeof *p->words);
  for (size_t k = 0; k < w->call->n_inputs; k++) {
    if (w->kinds[k] == STRIDED) {
      memcpy(p->words + at, w->strides + (k + 1) * GEMEL_MAX_RANK,
             (size_t)w->axes * sizeof *p->words);
      at += (size_t)w->axes;
    }
  }
  return GEMEL_OK;
}

static gemel_status make_plan(cluster_writer *w, gemel_kernel_call *call) {
  cluster_plan *p = call->prepared;
  gemel_status status;
  write_all(w);
  if (w->text.failed) {
    return gemel__cuda_fail(call->error, GEMEL_NO_MEMORY, "out of memory for a kernel");
  }
  status =
      gemel__cuda_compile(gemel__cuda_of(call), w->text.data, "cluster", &p->kernel, call->error);
  if (status == GEMEL_OK) {
    status = fill_arguments(w, p);
  }
  if (status == GEMEL_OK) {
    call->release = release_plan;
  }
  return status;
}

/* One operation alone has a kernel already. */
static gemel_status prepare_cluster(gemel_kernel_call *call) {
  cluster_writer w = {.call = call};
  gemel_status status;
  if (call->n_steps < 2) {
    return GEMEL_DECLINED;
  }
  w.strides = malloc((call->n_inputs + 1) * GEMEL_MAX_RANK * sizeof *w.strides);
  w.kinds = malloc(call->n_inputs + 1);
  status = w.strides != NULL && w.kinds != NULL
               ? make_plan(&w, call)
               : gemel__cuda_fail(call->error, GEMEL_NO_MEMORY, "out of memory for a kernel");
  free(w.strides);
  free(w.kinds);
  free(w.text.data);
  return status;
}

static gemel_status run_cluster(const gemel_kernel_call *call) {
  gemel_cuda *cuda = gemel__cuda_of(call);
  const cluster_plan *p = call->prepared;
  uint64_t *addresses = p->words + 1 + p->axes;
  void *arguments[] = {p->words};
  unsigned threads = p->words[0] < 256 ? ((unsigned)p->words[0] + 31) / 32 * 32 : 256;
  size_t blocks = (size_t)((p->words[0] + threads - 1) / threads);
  size_t most = 4 * (size_t)cuda->blocks_at_once;
  for (size_t k = 0; k < call->n_inputs; k++) {
    addresses[k] = (uint64_t)(uintptr_t)call->inputs[k].data;
  }
  for (size_t k = 0; k < call->n_outputs; k++) {
    addresses[call->n_inputs + k] = (uint64_t)(uintptr_t)call->outputs[k].data;
  }
  return gemel__cuda_launch(cuda, p->kernel, blocks < most ? blocks : most, threads, 0, arguments,
                            call->error);
}

gemel_status gemel__cuda_prepare_steps(gemel_kernel_call *call);
gemel_status gemel__cuda_run_steps(const gemel_kernel_call *call);

const gemel_kernel gemel__cuda_clusters[] = {
    {"fused", prepare_cluster, run_cluster},
    {"step by step", gemel__cuda_prepare_steps, gemel__cuda_run_steps},
    {NULL, NULL, NULL}};
