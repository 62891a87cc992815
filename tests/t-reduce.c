/*
 * Reductions: types, conventions, any strides and axes against a count on fingers, the same bits
 * from any number of threads and any instruction set, and derivatives at ties and zeros.
 *
 * SPDX-License-Identifier: MIT
 */
#include "ct.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gemel/gemel.h>
#include "core/dtype.h"
#include "ops/reduce.h"
#include "support/near.h"
#include "support/random.h"

/* ---- Types ---- */

typedef struct type_case {
  const char *op;
  gemel_dtype dtype;
  int rank;
  int64_t shape[4];
  int n_axes; /* -1: absent */
  int64_t axes[4];
  int keepdims;
  const char *want; /* the type, or part of the message */
} type_case;

static const type_case type_cases[] = {
    {"sum", GEMEL_F32, 3, {2, 3, 4}, -1, {0}, 0, "f32[]"},
    {"sum", GEMEL_F32, 3, {2, 3, 4}, -1, {0}, 1, "f32[1, 1, 1]"},
    {"sum", GEMEL_F32, 3, {2, 3, 4}, 1, {-2}, 0, "f32[2, 4]"},
    {"sum", GEMEL_F32, 3, {2, 3, 4}, 2, {2, 0}, 1, "f32[1, 3, 1]"},
    {"sum", GEMEL_F32, 2, {2, 3}, 0, {0}, 0, "f32[2, 3]"},
    {"sum", GEMEL_F32, 0, {0}, -1, {0}, 0, "f32[]"},
    {"sum", GEMEL_BOOL, 1, {2}, -1, {0}, 0, "i64[]"},
    {"sum", GEMEL_I8, 1, {2}, -1, {0}, 0, "i64[]"},
    {"prod", GEMEL_U8, 1, {2}, -1, {0}, 0, "u64[]"},
    {"prod", GEMEL_BF16, 1, {2}, -1, {0}, 0, "bf16[]"},
    {"max", GEMEL_I8, 1, {2}, -1, {0}, 0, "i8[]"},
    {"max", GEMEL_BOOL, 2, {2, 0}, 1, {0}, 0, "bool[0]"},
    {"argmax", GEMEL_F16, 2, {2, 3}, 1, {-1}, 0, "i64[2]"},
    {"sum", GEMEL_F32, 2, {2, 3}, 1, {2}, 0, "sum(f32[2, 3]): axis 2 is out of range for rank 2"},
    {"sum", GEMEL_F32, 2, {2, 3}, 1, {-3}, 0, "axis -3 is out of range"},
    {"sum", GEMEL_F32, 2, {2, 3}, 2, {1, -1}, 0, "axis 1 is named twice"},
    {"max", GEMEL_F32, 2, {2, 0}, 1, {1}, 0, "axis 1 has size 0"},
    {"argmax", GEMEL_F32, 2, {0, 2}, 1, {0}, 0, "axis 0 has size 0"},
    {"argmax", GEMEL_F32, 0, {0}, 1, {0}, 0, "out of range for rank 0"},
};

/* The attributes of an operation; returns how many. */
static size_t attributes(const char *op, int n_axes, const int64_t *axes, int keepdims,
                         gemel_attr *attrs) {
  size_t n = 0;
  if (strcmp(op, "argmax") == 0) {
    attrs[n++] = gemel_attr_int("axis", axes[0]);
    return n;
  }
  attrs[n] = gemel_attr_ints("axes", n_axes < 0 ? 0 : (size_t)n_axes, axes);
  attrs[n].kind = n_axes < 0 ? GEMEL_ATTR_NONE : attrs[n].kind;
  attrs[++n] = gemel_attr_int("keepdims", keepdims);
  return n + 1;
}

static void types(const void *data) {
  const type_case *c = data;
  gemel_context *context = gemel_context_new(NULL);
  gemel_graph *graph = gemel_graph_new(context, NULL);
  gemel_value x =
      gemel_input(graph, "x", gemel_type_of_shape(context, c->dtype, c->rank, c->shape));
  gemel_attr attrs[2];
  size_t n = attributes(c->op, c->n_axes, c->axes, c->keepdims, attrs);
  gemel_value y = c->n_axes < 0 ? gemel_apply(graph, c->op, 1, &x, 1, &attrs[1])
                                : gemel_apply(graph, c->op, 1, &x, n, attrs);
  if (!gemel_is_null(y)) {
    char text[64];
    gemel_type_format(context, gemel_value_type(y), text, sizeof text);
    CT_EQ_STR(text, c->want);
  } else {
    CT_HAS_STR(gemel_graph_error(graph)->text, c->want);
    CT_HAS_STR(gemel_graph_error(graph)->text, "t-reduce.c:");
  }
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

/* ---- Calling a kernel ---- */

static const gemel_kernel *kernels_of(const char *op) {
  return strcmp(op, "sum") == 0    ? gemel__sum_kernels
         : strcmp(op, "prod") == 0 ? gemel__prod_kernels
         : strcmp(op, "max") == 0  ? gemel__max_kernels
                                   : gemel__argmax_kernels;
}

static gemel_dtype result_of(const char *op, gemel_dtype dtype) {
  gemel_kind kind = gemel_dtype_kind(dtype);
  if (strcmp(op, "argmax") == 0) {
    return GEMEL_I64;
  }
  return strcmp(op, "max") == 0 || kind == GEMEL_KIND_FLOAT ? dtype
         : kind == GEMEL_KIND_UNSIGNED                      ? GEMEL_U64
                                                            : GEMEL_I64;
}

static gemel_status reduce(const char *op, const gemel_view *x, int n_axes, const int64_t *axes,
                           void *out, int threads, gemel_error *error) {
  const gemel_kernel *kernel = kernels_of(op);
  int64_t shape[GEMEL_MAX_RANK], strides[GEMEL_MAX_RANK], count = 1;
  gemel_view result = {result_of(op, x->dtype), 0, shape, strides, out};
  uint64_t room[GEMEL_KERNEL_PREPARED_BYTES / 8];
  gemel_attr attrs[2];
  gemel_kernel_call call = {.size = sizeof call,
                            .n_inputs = 1,
                            .inputs = x,
                            .n_outputs = 1,
                            .outputs = &result,
                            .attrs = attrs,
                            .threads = threads,
                            .prepared = room,
                            .error = error};
  gemel_status status = GEMEL_OK;
  int axis, k;
  attributes(op, n_axes, axes, 0, attrs);
  for (axis = 0; axis < x->rank; axis++) {
    int reduced = n_axes < 0;
    for (k = 0; k < n_axes; k++) {
      reduced |= axes[k] == axis || axes[k] + x->rank == axis;
    }
    if (!reduced) {
      shape[result.rank++] = x->shape[axis];
    }
  }
  for (k = result.rank - 1; k >= 0; k--) {
    strides[k] = count * (int64_t)gemel_dtype_size(result.dtype);
    count *= shape[k];
  }
  if (kernel->prepare != NULL) {
    status = kernel->prepare(&call);
  }
  call.scratch = malloc(call.scratch_bytes + 1);
  status = status == GEMEL_OK ? kernel->run(&call) : status;
  free(call.scratch);
  if (call.release != NULL) {
    call.release(room);
  }
  return status;
}

/* ---- Any strides ---- */

enum { RANK = 4, MOST = 3000, PATTERN = 997 };

/* A random operand in a bigger block of memory: permuted, reversed, repeated, stepped. Its elements
 * are small integers, so that sums are exact in every dtype and order. */
typedef struct operand {
  gemel_view view;
  int64_t shape[RANK], strides[RANK];
  char memory[MOST * 8 * 9];
} operand;

static int64_t number_at(const operand *x, int64_t index) {
  const char *at = x->view.data;
  int axis;
  for (axis = x->view.rank - 1; axis >= 0; axis--) {
    at += index % x->shape[axis] * x->strides[axis];
    index /= x->shape[axis];
  }
  return (int64_t)gemel__dtype_load(x->view.dtype, at);
}

static void make_strides(operand *x, int64_t *offset) {
  int order[RANK] = {0, 1, 2, 3}, k;
  int64_t step = (int64_t)gemel_dtype_size(x->view.dtype);
  *offset = 0;
  for (k = x->view.rank - 1; k > 0; k--) {
    int j = bits64() % 3 == 0 ? (int)(bits64() % (uint64_t)(k + 1)) : k;
    int swap = order[k];
    order[k] = order[j];
    order[j] = swap;
  }
  for (k = x->view.rank - 1; k >= 0; k--) {
    int axis = order[k];
    int64_t size = x->shape[axis] > 0 ? x->shape[axis] : 1;
    int kind = (int)(bits64() % 8);
    step *= kind == 0 ? 2 : 1;
    x->strides[axis] = kind == 1 ? 0 : kind == 2 ? -step : step;
    *offset += kind == 2 ? (size - 1) * step : 0;
    step *= kind == 1 ? 1 : size;
  }
}

static void make_operand(operand *x, gemel_dtype dtype, int small) {
  int64_t room = small ? 24 : MOST, offset;
  gemel_kind kind = gemel_dtype_kind(dtype);
  int64_t low = kind == GEMEL_KIND_SIGNED || kind == GEMEL_KIND_FLOAT ? -1 : 0;
  uint64_t most = dtype == GEMEL_BOOL ? 2 : 4;
  size_t bytes = gemel_dtype_size(dtype), k;
  int axis;
  x->view = (gemel_view){dtype, (int)(bits64() % (RANK + 1)), x->shape, x->strides, x->memory};
  for (axis = 0; axis < x->view.rank; axis++) {
    uint64_t die = bits64() % 10;
    x->shape[axis] = die == 0  ? 1
                     : die < 8 ? 1 + (int64_t)(bits64() % 9)
                               : (int64_t)(bits64() % 900);
    x->shape[axis] = x->shape[axis] > room ? room : x->shape[axis];
    room /= x->shape[axis] > 0 ? x->shape[axis] : 1;
  }
  make_strides(x, &offset);
  x->view.data = x->memory + offset;
  for (k = 0; k < PATTERN; k++) {
    gemel__dtype_store(dtype, (double)(low + (int64_t)(bits64() % most) / (small ? 1 : 2)),
                       x->memory + k * bytes);
  }
  for (k = PATTERN; k + PATTERN <= sizeof x->memory / bytes; k += PATTERN) {
    memcpy(x->memory + k * bytes, x->memory, PATTERN * bytes);
  }
}

/* Counts on fingers: result LINE over the reduced axes; *LENGTH elements. */
static int64_t counted(const char *op, const operand *x, const unsigned char *mask, int64_t line,
                       int64_t *length) {
  int64_t total = 1, k, r = strcmp(op, "prod") == 0, best = 0;
  int axis;
  *length = 0;
  for (axis = 0; axis < x->view.rank; axis++) {
    total *= x->shape[axis];
  }
  for (k = 0; k < total; k++) {
    int64_t rest = k, own = 0, step = 1, value = number_at(x, k);
    for (axis = x->view.rank - 1; axis >= 0; axis--) {
      own += mask[axis] ? 0 : rest % x->shape[axis] * step;
      step *= mask[axis] ? 1 : x->shape[axis];
      rest /= x->shape[axis];
    }
    if (own != line) {
      continue;
    }
    if (strcmp(op, "sum") == 0) {
      r += value;
    } else if (strcmp(op, "prod") == 0) {
      r *= value;
    } else if (*length == 0 || value > best) {
      best = value;
      r = strcmp(op, "max") == 0 ? value : *length;
    }
    ++*length;
  }
  return r;
}

static int64_t lines_of(const operand *x, const unsigned char *mask) {
  int64_t lines = 1;
  int axis;
  for (axis = 0; axis < x->view.rank; axis++) {
    lines *= mask[axis] ? 1 : x->shape[axis];
  }
  return lines;
}

static int same_results(const char *op, const operand *x, const unsigned char *mask, const char *a,
                        const char *b) {
  return CT_EQ_MEM(a, b,
                   (size_t)lines_of(x, mask) * gemel_dtype_size(result_of(op, x->view.dtype)));
}

static int check_lines(const char *op, const operand *x, const unsigned char *mask,
                       const char *out) {
  gemel_dtype dtype = result_of(op, x->view.dtype);
  int64_t lines = lines_of(x, mask), line, length;
  for (line = 0; line < lines; line += 1 + lines / 4) {
    int64_t want = counted(op, x, mask, line, &length);
    double got = gemel__dtype_load(dtype, out + line * (int64_t)gemel_dtype_size(dtype));
    if (got != (double)want) {
      CT_FAIL("result %lld is %g, should be %lld", (long long)line, got, (long long)want);
      return 0;
    }
  }
  return 1;
}

static void any_strides(const void *data) {
  static operand x;
  static char out[3][MOST * 8];
  const char *op = data;
  int trial, axis, threads, is_arg = strcmp(op, "argmax") == 0;
  for (trial = 0; trial < 13 * 20; trial++) {
    gemel_dtype dtype = (gemel_dtype)(trial % GEMEL_DTYPE_COUNT);
    int64_t axes[RANK], length = 1;
    unsigned char mask[RANK] = {0};
    gemel_error error;
    int n = 0;
    make_operand(&x, dtype, strcmp(op, "prod") == 0 || dtype == GEMEL_BF16);
    if (is_arg && x.view.rank == 0) {
      continue;
    }
    for (axis = 0; axis < x.view.rank; axis++) {
      if (is_arg ? axis == trial % x.view.rank : bits64() % 2) {
        mask[axis] = 1;
        length *= x.shape[axis];
        axes[n++] = bits64() % 2 ? axis : axis - x.view.rank;
      }
    }
    ct_context("%s, trial %d: %s, rank %d", op, trial, gemel_dtype_name(dtype), x.view.rank);
    for (threads = 1; threads <= 3; threads++) {
      gemel_status status = reduce(op, &x.view, n, axes, out[threads - 1], threads, &error);
      if (length == 0 && (is_arg || strcmp(op, "max") == 0)) {
        CT_EQ_INT(status, GEMEL_BAD_SHAPE);
        continue;
      }
      CT_REQUIRE(status == GEMEL_OK);
      CT_REQUIRE(threads > 1 ? same_results(op, &x, mask, out[0], out[threads - 1])
                             : check_lines(op, &x, mask, out[0]));
    }
  }
}

/* ---- Threads and instruction sets ---- */

/* Long and wide enough for every way of cutting; full significands, so any other order shows. */
static void threads(const void *data) {
  static const int64_t shapes[][2] = {{1, 100001}, {3, 20003}, {300, 133}, {50003, 2}, {3001, 33}};
  const char *op = data;
  size_t n = 100006, s, k;
  float *x = malloc(n * sizeof *x);
  float *out[2] = {malloc(n * sizeof **out), malloc(n * sizeof **out)};
  for (k = 0; k < n; k++) {
    x[k] = 1 + ((float)(bits64() >> 40) * 0x1p-24f - 0.5f) * 0x1p-3f;
  }
  for (s = 0; s < CT_COUNT(shapes); s++) {
    int64_t strides[2] = {shapes[s][1] * 4, 4}, axis;
    gemel_view view = {GEMEL_F32, 2, shapes[s], strides, x};
    gemel_error error;
    for (axis = 0; axis < 2; axis++) {
      size_t bytes = (size_t)shapes[s][1 - axis] * 4;
      int count;
      CT_EQ_INT(reduce(op, &view, 1, &axis, out[0], 1, &error), GEMEL_OK);
      for (count = 2; count <= 4; count++) {
        ct_context("%s of %lld x %lld along axis %lld by %d threads", op, (long long)shapes[s][0],
                   (long long)shapes[s][1], (long long)axis, count);
        CT_EQ_INT(reduce(op, &view, 1, &axis, out[1], count, &error), GEMEL_OK);
        CT_EQ_MEM(out[1], out[0], bytes);
      }
    }
  }
  free(x);
  free(out[0]);
  free(out[1]);
}

/* Lines of rows that lie apart, those of other results between them: exact on small integers, and
 * the same to the last bit on any number of threads. */
static void slabs(const void *data) {
  static const int64_t shapes[][3] = {{5, 700, 37}, {9, 3, 65},   {40, 2100, 2},
                                      {3, 2, 5000}, {300, 1, 40}, {2, 9, 15}};
  static const int64_t axes[2] = {0, 2};
  const char *op = data;
  for (size_t s = 0; s < CT_COUNT(shapes); s++) {
    const int64_t *n = shapes[s], strides[3] = {n[1] * n[2] * 4, n[2] * 4, 4};
    size_t count = (size_t)(n[0] * n[1] * n[2]);
    float *x = malloc(count * sizeof *x), *out[2] = {malloc(4 * 2100), malloc(4 * 2100)};
    gemel_view view = {GEMEL_F32, 3, n, strides, x};
    gemel_error error;
    for (int exact = 1; exact >= 0; exact--) {
      for (size_t k = 0; k < count; k++) {
        x[k] = exact ? (float)(bits64() % 7) : 1 + (float)(bits64() >> 40) * 0x1p-30f;
      }
      CT_EQ_INT(reduce(op, &view, 2, axes, out[0], 1, &error), GEMEL_OK);
      for (int64_t j = 0; exact && strcmp(op, "prod") != 0 && j < n[1]; j++) {
        double all = 0;
        for (int64_t i = 0; i < n[0] * n[2]; i++) {
          double it = x[(i / n[2] * n[1] + j) * n[2] + i % n[2]];
          all = strcmp(op, "sum") == 0 ? all + it : it > all ? it : all;
        }
        CT_EQ_INT((int64_t)out[0][j], (int64_t)all);
      }
      for (int threads = 2; threads <= 4; threads++) {
        ct_context("%s of shape %zu by %d threads", op, s, threads);
        CT_EQ_INT(reduce(op, &view, 2, axes, out[1], threads, &error), GEMEL_OK);
        CT_EQ_MEM(out[1], out[0], (size_t)n[1] * 4);
      }
    }
    free(x);
    free(out[0]);
    free(out[1]);
  }
}

static void same_for_isa(gemel__reduction what, gemel_dtype dtype, size_t n, const double *data,
                         size_t rows) {
  gemel__acc acc[2][65], lines[2][4] = {{{0}}};
  int isa;
  for (isa = 0; isa <= (int)gemel__isa_best(); isa++) {
    const gemel__reducer *r = gemel__reducer_for(what, dtype, (gemel__isa)isa);
    gemel__acc *a = acc[isa > 0];
    size_t width = n < 64 ? n : 64;
    ct_context("reduction %d of %zu %s, variant %d", what, n, gemel_dtype_name(dtype), isa);
    memset(a, 0, sizeof acc[0]);
    r->block(n, data, a);
    r->init(width, (char *)a + r->acc_bytes);
    r->rows(rows, (int64_t)(width * gemel_dtype_size(dtype)), width, data,
            (char *)a + r->acc_bytes);
    CT_EQ_MEM(acc[isa > 0], acc[0], sizeof acc[0]);
    r->lines(n > 4 ? 4 : n, 8, n > 4 ? n - 3 : 1, data, lines[isa > 0]);
    CT_EQ_MEM(lines[isa > 0], lines[0], sizeof lines[0]);
  }
}

static void instruction_sets(const void *data) {
  static double x[4096];
  size_t n, k;
  int what;
  (void)data;
  for (what = 0; what < GEMEL__REDUCE_COUNT; what++) {
    for (n = 1; n < 700; n += n < 140 ? 1 : 97) {
      for (k = 0; k < CT_COUNT(x); k++) {
        ((float *)x)[2 * k] = 0.5f + (float)(bits64() >> 40) * 0x1p-24f;
        ((float *)x)[2 * k + 1] = 0.5f + (float)(bits64() >> 40) * 0x1p-24f;
      }
      same_for_isa((gemel__reduction)what, GEMEL_F32, n, x, n % 11);
      same_for_isa((gemel__reduction)what, GEMEL_F64, n, x, n % 11);
      same_for_isa((gemel__reduction)what, GEMEL_I8, n, x, n % 11);
      same_for_isa((gemel__reduction)what, GEMEL_U16, n, x, n % 11);
      same_for_isa((gemel__reduction)what, GEMEL_I64, n, x, n % 11);
    }
  }
}

/* Blocks read abreast give what they give one by one, bit for bit. */
static void abreast(const void *data) {
  static const gemel_dtype dtypes[] = {GEMEL_F32, GEMEL_F64};
  enum { N = GEMEL__REDUCE_ABREAST * GEMEL__REDUCE_BLOCK };
  static double x[N];
  size_t d, k, bytes;
  int isa, what;
  (void)data;
  for (d = 0; d < CT_COUNT(dtypes); d++) {
    bytes = gemel_dtype_size(dtypes[d]);
    for (k = 0; k < N; k++) {
      double number = 1 + ((double)(bits64() >> 40) * 0x1p-24 - 0.5) * 0x1p-5;
      x[k] = number;
      if (dtypes[d] == GEMEL_F32) {
        ((float *)x)[k] = (float)number;
      }
    }
    for (isa = 0; isa <= (int)gemel__isa_best(); isa++) {
      for (what = GEMEL__REDUCE_SUM; what <= GEMEL__REDUCE_PROD; what++) {
        const gemel__reducer *r =
            gemel__reducer_for((gemel__reduction)what, dtypes[d], (gemel__isa)isa);
        gemel__acc all[GEMEL__REDUCE_ABREAST], one;
        r->abreast(x, all);
        for (k = 0; k < GEMEL__REDUCE_ABREAST; k++) {
          r->block(GEMEL__REDUCE_BLOCK, (char *)x + k * GEMEL__REDUCE_BLOCK * bytes, &one);
          CT_EQ_MEM((char *)all + k * bytes, &one, bytes);
        }
      }
    }
  }
}

/* A lane of an f32 sum takes 64 additions in a block of 4096, and 6 + 8 joins follow for 2^20
 * elements: far below what a million additions one after the other may lose. */
static void accuracy(const void *data) {
  int64_t n = 1 << 20, strides[] = {4}, k;
  float *x = malloc((size_t)n * sizeof *x), got;
  gemel_view view = {GEMEL_F32, 1, &n, strides, x};
  double exact = 0, size = 0;
  gemel_error error;
  (void)data;
  for (k = 0; k < n; k++) {
    x[k] = (float)(bits64() >> 40) * 0x1p-24f - 0.25f;
    exact += (double)x[k];
    size += fabs((double)x[k]);
  }
  CT_EQ_INT(reduce("sum", &view, -1, NULL, &got, 1, &error), GEMEL_OK);
  CT_CHECK(is_near((double)got, exact, (64 + 6 + 8) * 0x1p-24 * size));
  free(x);
}

/* ---- Conventions ---- */

typedef struct convention {
  const char *op;
  int n;
  double x[4];
  double want;
} convention;

static const convention conventions[] = {
    {"sum", 0, {0}, 0.0},
    {"prod", 0, {0}, 1},
    {"sum", 2, {-0.0, -0.0}, 0.0},
    {"sum", 2, {INFINITY, -INFINITY}, NAN},
    {"sum", 3, {1, NAN, 2}, NAN},
    {"prod", 2, {0.0, INFINITY}, NAN},
    {"prod", 2, {-1, 0.0}, -0.0},
    {"max", 3, {1, NAN, INFINITY}, NAN},
    {"max", 2, {-NAN, -INFINITY}, NAN},
    {"max", 2, {-0.0, 0.0}, 0.0},
    {"max", 2, {0.0, -0.0}, 0.0},
    {"max", 1, {-0.0}, -0.0},
    {"max", 2, {-INFINITY, -INFINITY}, -INFINITY},
    {"max", 3, {-3, -1, -2}, -1},
    {"argmax", 3, {1, 2, 2}, 1},
    {"argmax", 4, {1, NAN, INFINITY, NAN}, 1},
    {"argmax", 2, {-0.0, 0.0}, 0},
    {"argmax", 2, {0.0, -0.0}, 0},
    {"argmax", 3, {-INFINITY, -5, -2}, 2},
    {"argmax", 2, {-INFINITY, -INFINITY}, 0},
};

static void convention_of(const void *data) {
  static const gemel_dtype dtypes[] = {GEMEL_F16, GEMEL_BF16, GEMEL_F32, GEMEL_F64};
  const convention *c = data;
  size_t d;
  for (d = 0; d < CT_COUNT(dtypes); d++) {
    size_t bytes = gemel_dtype_size(dtypes[d]);
    int64_t n = c->n, strides[] = {(int64_t)bytes}, axis = 0;
    char x[4 * 8];
    uint64_t out = 0;
    gemel_view view = {dtypes[d], 1, &n, strides, x};
    double got;
    gemel_error error;
    int k;
    for (k = 0; k < c->n; k++) {
      gemel__dtype_store(dtypes[d], c->x[k], x + (size_t)k * bytes);
    }
    CT_EQ_INT(reduce(c->op, &view, 1, &axis, &out, 1, &error), GEMEL_OK);
    got = gemel__dtype_load(result_of(c->op, dtypes[d]), &out);
    ct_context("%s of %s: got %g", c->op, gemel_dtype_name(dtypes[d]), got);
    CT_CHECK(isnan(c->want) ? isnan(got) : got == c->want && !signbit(got) == !signbit(c->want));
  }
}

/* The largest of integers at their extremes, and wrapping. */
static void integers(const void *data) {
  int8_t low[] = {-128, -128}, one[] = {127, 1};
  uint64_t high[] = {UINT64_MAX, 1};
  int64_t two = 2, byte[] = {1}, word[] = {8}, wide = 0, index = 9;
  int8_t narrow = 0;
  gemel_view view = {GEMEL_I8, 1, &two, byte, low};
  int64_t axis = 0;
  gemel_error error;
  (void)data;
  reduce("max", &view, -1, NULL, &narrow, 1, &error);
  CT_EQ_INT(narrow, -128);
  reduce("argmax", &view, 1, &axis, &index, 1, &error);
  CT_EQ_INT(index, 0);
  reduce("sum", &view, -1, NULL, &wide, 1, &error);
  CT_EQ_INT(wide, -256);
  view.data = one;
  reduce("sum", &view, -1, NULL, &wide, 1, &error);
  CT_EQ_INT(wide, 128);
  view = (gemel_view){GEMEL_U64, 1, &two, word, high};
  reduce("sum", &view, -1, NULL, &wide, 1, &error);
  CT_EQ_INT(wide, 0);
  reduce("max", &view, -1, NULL, &wide, 1, &error);
  CT_EQ_INT(wide, -1);
}

/* The first of the largest, in every place of lines around the length of a block. */
static void argmax_places(const void *data) {
  static float x[2 * 4096 + 70];
  int64_t strides[] = {4}, n, axis = 0, at, got;
  gemel_error error;
  (void)data;
  for (n = 4096 - 65; n < (int64_t)CT_COUNT(x); n += 661) {
    for (at = 0; at < n; at += at < 130 || at > n - 130 ? 1 : 127) {
      gemel_view view = {GEMEL_F32, 1, &n, strides, x};
      memset(x, 0, sizeof x);
      x[at] = 1;
      x[n - 1] = 1;
      reduce("argmax", &view, 1, &axis, &got, 1, &error);
      CT_EQ_INT(got, at);
    }
  }
}

/* The same for lines that lie side by side: few and many of them, by one thread and by several.
 * Every value stands in a line several times; zeros of both signs and NaNs are among them. */
static void argmax_columns(const void *data) {
  static const int64_t widths[] = {3, 4, 65, 511, 1100};
  enum { ROWS = 37, MOST_WIDE = 1100 };
  static float x[ROWS * MOST_WIDE];
  int64_t got[MOST_WIDE], axis = 0, row, k;
  size_t w;
  gemel_error error;
  (void)data;
  for (w = 0; w < CT_COUNT(widths); w++) {
    int64_t width = widths[w], shape[] = {ROWS, width}, strides[] = {width * 4, 4};
    gemel_view view = {GEMEL_F32, 2, shape, strides, x};
    for (k = 0; k < ROWS * width; k++) {
      int64_t die = (int64_t)(bits64() % 200);
      x[k] = die == 0 ? NAN : die % 7 == 0 ? -0.0f : (float)(die % 13 - 12);
    }
    for (int threads = 1; threads <= 3; threads++) {
      CT_EQ_INT(reduce("argmax", &view, 1, &axis, got, threads, &error), GEMEL_OK);
      for (k = 0; k < width; k++) {
        int64_t best = 0;
        for (row = 1; row < ROWS; row++) {
          float here = x[row * width + k], most = x[best * width + k];
          best = !isnan(most) && (isnan(here) || here > most) ? row : best;
        }
        ct_context("column %lld of %lld by %d threads", (long long)k, (long long)width, threads);
        CT_EQ_INT(got[k], best);
      }
    }
  }
}

/* ---- Derivatives ---- */

typedef struct slope_case {
  const char *op;
  double x[4];
  double first[4];     /* of the result by x[k] */
  double second[4][4]; /* of first[j] by x[k] */
} slope_case;

static const slope_case slope_cases[] = {
    {"sum", {1, 2, 3, 4}, {1, 1, 1, 1}, {{0}}},
    {"max", {1, 4, 4, 2}, {0, 0.5, 0.5, 0}, {{0}}},
    {"max", {3, 3, 3, 3}, {0.25, 0.25, 0.25, 0.25}, {{0}}},
    {"prod",
     {1, 2, 4, 8},
     {64, 32, 16, 8},
     {{0, 32, 16, 8}, {32, 0, 8, 4}, {16, 8, 0, 2}, {8, 4, 2, 0}}},
    {"prod",
     {1, 0, 4, 8},
     {0, 32, 0, 0},
     {{0, 32, 0, 0}, {32, 0, 8, 4}, {0, 8, 0, 0}, {0, 4, 0, 0}}},
    {"prod", {0, 2, 0, 8}, {0, 0, 0, 0}, {{0, 0, 16, 0}, {0}, {16, 0, 0, 0}, {0}}},
    {"prod", {0, 0, 0, 8}, {0, 0, 0, 0}, {{0}}},
};

/* Adds input x, op(x) and output NAME of a gradient to a graph, in both modes, first and second. */
static void slopes_of(const slope_case *c, int symbolic) {
  gemel_context *context = gemel_context_new(NULL);
  gemel_graph *graph = gemel_graph_new(context, NULL);
  int64_t four = 4, axes[] = {0};
  gemel_dim size = symbolic ? gemel_dim_symbol(context, "N") : gemel_dim_constant(context, four);
  gemel_type type = gemel_type_new(context, GEMEL_F64, 1, &size, GEMEL_SPACE_HOST);
  gemel_value x = gemel_input(graph, "x", type), v = gemel_input(graph, "v", type), made[4];
  gemel_attr attrs[2];
  size_t n = attributes(c->op, 1, axes, 0, attrs);
  gemel_value y = gemel_apply(graph, c->op, 1, &x, n, attrs);
  gemel_tensor *in[2] = {gemel_tensor_new(GEMEL_F64, 1, &four, NULL),
                         gemel_tensor_new(GEMEL_F64, 1, &four, NULL)};
  gemel_tensor *out[4] = {NULL, NULL, NULL, NULL};
  gemel_error error;
  int j, k;
  CT_EQ_INT(gemel_grad(1, &y, NULL, 1, &x, &made[0], &error), GEMEL_OK);
  CT_EQ_INT(gemel_grad(1, &made[0], &v, 1, &x, &made[1], &error), GEMEL_OK);
  CT_EQ_INT(gemel_jvp(1, &y, 1, &x, &v, &made[2], &error), GEMEL_OK);
  CT_EQ_INT(gemel_jvp(1, &made[0], 1, &x, &v, &made[3], &error), GEMEL_OK);
  gemel_output(made[0], "gradient");
  gemel_output(made[1], "second_reverse");
  gemel_output(made[2], "forward");
  gemel_output(made[3], "second_forward");
  memcpy(gemel_tensor_data(in[0]), c->x, sizeof c->x);
  for (j = 0; j < 4; j++) {
    memset(gemel_tensor_data(in[1]), 0, sizeof c->x);
    ((double *)gemel_tensor_data(in[1]))[j] = 1;
    memset(out, 0, sizeof out);
    ct_context("%s, direction %d", c->op, j);
    if (CT_EQ_INT(gemel_evaluate(graph, 2, in, 4, out, &error), GEMEL_OK)) {
      for (k = 0; k < 4; k++) {
        CT_CHECK(((double *)gemel_tensor_data(out[0]))[k] == c->first[k]);
        CT_CHECK(((double *)gemel_tensor_data(out[1]))[k] == c->second[j][k]);
        CT_CHECK(((double *)gemel_tensor_data(out[3]))[k] == c->second[k][j]);
      }
      CT_CHECK(*(double *)gemel_tensor_data(out[2]) == c->first[j]);
    }
    for (k = 0; k < 4; k++) {
      gemel_tensor_unref(out[k]);
    }
  }
  gemel_tensor_unref(in[0]);
  gemel_tensor_unref(in[1]);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

static void slopes(const void *data) {
  slopes_of(data, 0);
}

/* The same for a size that is a symbol. */
static void symbolic_slopes(const void *data) {
  slopes_of(data, 1);
}

/* Ties that are more than the dtype can count: the part of each of N in the gradient, and their
 * sum forward, which is 1. */
typedef struct tie_case {
  gemel_dtype dtype;
  int64_t n;
  uint16_t one, part; /* as bits */
} tie_case;

static const tie_case tie_cases[] = {
    {GEMEL_F16, 2049, 0x3c00, 0x0fff},  /* 1/2048 less one unit; an f16 makes 2049 to 2048 */
    {GEMEL_F16, 70000, 0x3c00, 0x00f0}, /* 240 * 2^-24; an f16 makes 70000 infinite */
    {GEMEL_BF16, 257, 0x3f80, 0x3b7f},  /* 1/256 less one unit */
};

static gemel_tensor *repeated(gemel_dtype dtype, int64_t n, uint16_t bits) {
  gemel_tensor *t = gemel_tensor_new(dtype, 1, &n, NULL);
  for (int64_t k = 0; k < n; k++) {
    ((uint16_t *)gemel_tensor_data(t))[k] = bits;
  }
  return t;
}

static void ties(const void *data) {
  const tie_case *c = data;
  gemel_context *context = gemel_context_new(NULL);
  gemel_graph *graph = gemel_graph_new(context, NULL);
  gemel_type type = gemel_type_of_shape(context, c->dtype, 1, &c->n);
  gemel_value x = gemel_input(graph, "x", type), v = gemel_input(graph, "v", type), made[2];
  int64_t axis = 0;
  gemel_value y = gemel_max_with(x, .axes = {1, &axis});
  gemel_tensor *in[2] = {repeated(c->dtype, c->n, 0), repeated(c->dtype, c->n, c->one)};
  gemel_tensor *out[2] = {NULL, NULL};
  gemel_error error;
  CT_EQ_INT(gemel_grad(1, &y, NULL, 1, &x, &made[0], &error), GEMEL_OK);
  CT_EQ_INT(gemel_jvp(1, &y, 1, &x, &v, &made[1], &error), GEMEL_OK);
  gemel_output(made[0], "gradient");
  gemel_output(made[1], "forward");
  ct_context("%lld ties of %s", (long long)c->n, gemel_dtype_name(c->dtype));
  if (CT_EQ_INT(gemel_evaluate(graph, 2, in, 2, out, &error), GEMEL_OK)) {
    const uint16_t *parts = gemel_tensor_data(out[0]), *sum = gemel_tensor_data(out[1]);
    CT_CHECK(gemel_tensor_dtype(out[0]) == c->dtype && gemel_tensor_dtype(out[1]) == c->dtype);
    CT_EQ_UINT(parts[0], c->part);
    CT_EQ_UINT(parts[c->n - 1], c->part);
    CT_EQ_UINT(*sum, c->one);
  }
  for (int k = 0; k < 2; k++) {
    gemel_tensor_unref(out[k]);
    gemel_tensor_unref(in[k]);
  }
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

/* The product of n zeros, differentiated by every element but the last, one after the other: the
 * gradient of that is 1 for the last, 0 for those that had their turn, in either mode. */
typedef struct mixed_case {
  int rank;
  int64_t shape[2];
} mixed_case;

static const mixed_case mixed_cases[] = {{1, {1}}, {1, {2}}, {1, {3}},    {1, {4}},
                                         {1, {5}}, {1, {7}}, {2, {2, 2}}, {2, {3, 2}}};

static gemel_value direction(gemel_graph *graph, const mixed_case *c, int64_t k) {
  gemel_tensor *t = gemel_tensor_new(GEMEL_F64, c->rank, c->shape, NULL);
  ((double *)gemel_tensor_data(t))[k] = 1;
  gemel_value v = gemel_constant(graph, t);
  gemel_tensor_unref(t);
  return v;
}

static void mixed(const void *data) {
  const mixed_case *c = data;
  gemel_context *context = gemel_context_new(NULL);
  gemel_graph *graph = gemel_graph_new(context, NULL);
  gemel_type type = gemel_type_of_shape(context, GEMEL_F64, c->rank, c->shape);
  gemel_value x = gemel_input(graph, "x", type), y = gemel_prod(x), d;
  gemel_tensor *in = gemel_tensor_new(GEMEL_F64, c->rank, c->shape, NULL), *out = NULL;
  gemel_error error = {0};
  int64_t n = gemel_tensor_elements(in), k;
  for (k = 0; k + 1 < n; k++) {
    gemel_value v = direction(graph, c, k);
    if (k % 2 == 0) {
      CT_EQ_INT(gemel_grad(1, &y, NULL, 1, &x, &d, &error), GEMEL_OK);
      y = gemel_sum(gemel_mul(d, v));
    } else {
      CT_EQ_INT(gemel_jvp(1, &y, 1, &x, &v, &d, &error), GEMEL_OK);
      y = d;
    }
  }
  CT_EQ_INT(gemel_grad(1, &y, NULL, 1, &x, &d, &error), GEMEL_OK);
  gemel_output(d, "d");
  if (CT_EQ_INT(gemel_evaluate(graph, 1, &in, 1, &out, &error), GEMEL_OK)) {
    for (k = 0; k < n; k++) {
      CT_CHECK(((const double *)gemel_tensor_data(out))[k] == (k + 1 == n));
    }
  }
  gemel_tensor_unref(out);
  gemel_tensor_unref(in);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

static const ct_test tests[] = {
    CT_TEST("ties/f16-inexact", ties, &tie_cases[0]),
    CT_TEST("ties/f16-overflow", ties, &tie_cases[1]),
    CT_TEST("ties/bf16-inexact", ties, &tie_cases[2]),
    CT_TEST("strides/sum", any_strides, "sum"),
    CT_TEST("strides/prod", any_strides, "prod"),
    CT_TEST("strides/max", any_strides, "max"),
    CT_TEST("strides/argmax", any_strides, "argmax"),
    CT_TEST("slabs/sum", slabs, "sum"),
    CT_TEST("slabs/max", slabs, "max"),
    CT_TEST("slabs/prod", slabs, "prod"),
    CT_TEST("threads/sum", threads, "sum"),
    CT_TEST("threads/prod", threads, "prod"),
    CT_TEST("threads/max", threads, "max"),
    CT_TEST("instruction-sets", instruction_sets, NULL),
    CT_TEST("abreast", abreast, NULL),
    CT_TEST("accuracy", accuracy, NULL),
    CT_TEST("integers", integers, NULL),
    CT_TEST("argmax-places", argmax_places, NULL),
    CT_TEST("argmax-columns", argmax_columns, NULL),
};

#define ADD_CASES(what, cases, fn)                                                                 \
  for (k = 0; k < CT_COUNT(cases); k++) {                                                          \
    snprintf(name, sizeof name, what "/%s/%zu", cases[k].op, k);                                   \
    CT_ADD("reduce", name, fn, &cases[k]);                                                         \
  }

void ct_register(void) {
  char name[100];
  size_t k;
  ct_suite("reduce", tests, CT_COUNT(tests));
  ADD_CASES("type", type_cases, types)
  ADD_CASES("convention", conventions, convention_of)
  ADD_CASES("slope", slope_cases, slopes)
  ADD_CASES("symbolic_slope", slope_cases, symbolic_slopes)
  for (k = 0; k < CT_COUNT(mixed_cases); k++) {
    snprintf(name, sizeof name, "mixed/%zu", k);
    CT_ADD("reduce", name, mixed, &mixed_cases[k]);
  }
}
