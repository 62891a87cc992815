/*
 * The three convolutions on a grid of small shapes: every algorithm of the host, asked directly,
 * gives what the reference gives, bit for bit, on small integers. The grid has some 1.6 million
 * cases: batch 1 to 3, channels and filters 1 to 4, images 3 to 7, kernels 1 to 5, strides 1 to 3,
 * dilations 1 and 2, all paddings, groups that fit, flipped and not; of two axes, and some of one
 * and of three. One in GEMEL_GRID_PART (default 97) of them is run.
 *
 * SPDX-License-Identifier: MIT
 */
#include <gemel/gemel.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "core/alloc.h"
#include "core/dtype.h"
#include "cpu/gemm.h"
#include "ct.h"
#include "domains/field.h"
#include "ops/conv.h"
#include "reference/twin.h"

enum { PARTS = 4, MOST_ELEMENTS = 1 << 16 };

static gemel_error error;

/* ---- Algorithms ---- */

typedef struct algorithm {
  const char *name;
  gemel_status (*prepare)(gemel_kernel_call *call, gemel__conv_kind kind);
  gemel_status (*run)(const gemel_kernel_call *call, gemel__conv_kind kind);
  size_t ran[3]; /* cases of each kind */
} algorithm;

static algorithm algorithms[] = {
#define ALGORITHM(name, least) {#name, gemel__conv_##name##_prepare, gemel__conv_##name##_run, {0}},
#include "ops/conv.def"
#undef ALGORITHM
};

/* ---- A case ---- */

typedef struct grid_case {
  int axes, flip, padding; /* 0: valid, 1: half, 2: full, 3: uneven */
  int64_t batch, channels, filters, groups;
  int64_t image[3], kernel[3], stride[3], dilation[3], low[3], high[3], out[3];
} grid_case;

/* Digits of a case's number, the fastest first. */
static int64_t digit(uint64_t *number, uint64_t base) {
  uint64_t d = *number % base;
  *number /= base;
  return (int64_t)d;
}

static const uint64_t whole_grid = 2ull * 4 * 2 * 3 * 25 * 25 * 4 * 4 * 3 * 3;

/* Case NUMBER of the grid; 0 if there is none: the kernel is larger than the padded image, or the
 * groups don't fit. */
static int make_case(uint64_t number, grid_case *c) {
  memset(c, 0, sizeof *c);
  c->axes = 2;
  c->flip = (int)digit(&number, 2);
  c->padding = (int)digit(&number, 4);
  int64_t dilation = 1 + digit(&number, 2), stride = 1 + digit(&number, 3);
  for (int k = 0; k < 2; k++) {
    c->kernel[k] = 1 + digit(&number, 5);
    c->image[k] = 3 + digit(&number, 5);
    c->dilation[k] = dilation;
    c->stride[k] = k == 0 ? stride : 1 + (stride + 1) % 3;
  }
  c->channels = 1 + digit(&number, 4);
  c->filters = 1 + digit(&number, 4);
  c->batch = 1 + digit(&number, 3);
  c->groups = 1 + digit(&number, 3);
  return c->channels % c->groups == 0 && c->filters % c->groups == 0;
}

/* Another number of axes: an axis is taken away, or put behind. */
static void with_axes(grid_case *c, int axes) {
  c->axes = axes;
  c->kernel[2] = c->kernel[0] < 3 ? c->kernel[0] : 2;
  c->image[2] = c->image[1] < 5 ? c->image[1] : 3;
  c->stride[2] = c->stride[0];
  c->dilation[2] = c->dilation[0];
}

/* Padding and places; 0 if the kernel doesn't fit. */
static int complete(grid_case *c) {
  for (int k = 0; k < c->axes; k++) {
    int64_t span = (c->kernel[k] - 1) * c->dilation[k] + 1;
    c->low[k] = c->padding == 1 ? span / 2 : c->padding == 2 ? span - 1 : c->padding == 3 ? k : 0;
    c->high[k] = c->padding == 3 ? 2 - k : c->low[k];
    int64_t room = c->image[k] + c->low[k] + c->high[k] - span;
    c->out[k] = room / c->stride[k] + 1;
    if (room < 0) {
      return 0;
    }
  }
  return 1;
}

/* ---- Operands ---- */

typedef struct grid_operand {
  gemel_view view;
  int64_t shape[5], strides[5];
  double numbers[MOST_ELEMENTS]; /* room for elements of any dtype */
} grid_operand;

static void shape_operand(grid_operand *o, gemel_dtype dtype, int axes, int64_t first,
                          int64_t second, const int64_t *sizes) {
  int64_t step = (int64_t)gemel_dtype_size(dtype);
  o->shape[0] = first, o->shape[1] = second;
  memcpy(o->shape + 2, sizes, (size_t)axes * sizeof *sizes);
  for (int k = axes + 1; k >= 0; k--) {
    o->strides[k] = step;
    step *= o->shape[k];
  }
  o->view = (gemel_view){.dtype = dtype,
                         .rank = axes + 2,
                         .shape = o->shape,
                         .strides = o->strides,
                         .data = o->numbers};
  CT_CHECK(step <= (int64_t)sizeof o->numbers);
}

static int64_t count_of(const gemel_view *view) {
  int64_t count = 1;
  for (int k = 0; k < view->rank; k++) {
    count *= view->shape[k];
  }
  return count;
}

static int64_t elements(const grid_operand *o) {
  return count_of(&o->view);
}

static void fill(grid_operand *o, uint64_t *random) {
  for (int64_t i = 0; i < elements(o); i++) {
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    double x = (double)(int64_t)(*random >> 61) - 3;
    gemel__dtype_store(o->view.dtype, x,
                       (char *)o->view.data + i * (int64_t)gemel_dtype_size(o->view.dtype));
  }
}

/* ---- Both sides ---- */

static void attributes(const grid_case *c, gemel__conv_kind kind, gemel_attr *attrs) {
  size_t n = (size_t)c->axes;
  attrs[GEMEL__CONV_STRIDE] = gemel_attr_ints("stride", n, c->stride);
  attrs[GEMEL__CONV_DILATION] = gemel_attr_ints("dilation", n, c->dilation);
  attrs[GEMEL__CONV_LOW] = gemel_attr_ints("low", n, c->low);
  attrs[GEMEL__CONV_HIGH] = gemel_attr_ints("high", n, c->high);
  attrs[GEMEL__CONV_PADDING] = gemel_attr_string("padding", "valid");
  attrs[GEMEL__CONV_GROUPS] = gemel_attr_int("groups", c->groups);
  attrs[GEMEL__CONV_FLIP] = gemel_attr_int("flip", c->flip);
  attrs[GEMEL__CONV_UNSHARED] = gemel_attr_int("unshared", 0);
  attrs[GEMEL__CONV_SIZES] =
      gemel_attr_ints("sizes", n, kind == GEMEL__CONV_WEIGHTS ? c->kernel : c->image);
}

/* The reference's result in the field, for operands A and B. */
static gemel_status refer(gemel__domain *d, gemel__conv_kind kind, const gemel_attr *attrs,
                          const grid_operand *a, const grid_operand *b, gemel__rtensor *out) {
  static const gemel__twin *const twins[] = {&gemel__twin_corr, &gemel__twin_corr_grad_weights,
                                             &gemel__twin_corr_grad_inputs};
  gemel__rtensor in[2] = {{0}};
  const gemel__rtensor *inputs[2] = {&in[0], &in[1]};
  gemel__rcall call = {.domain = d,
                       .n_inputs = 2,
                       .inputs = inputs,
                       .attrs = attrs,
                       .max_outputs = 1,
                       .outputs = out,
                       .error = &error};
  gemel_status status = gemel__rtensor_from_view(&in[0], d, &a->view, &error);
  if (status == GEMEL_OK) {
    status = gemel__rtensor_from_view(&in[1], d, &b->view, &error);
  }
  if (status == GEMEL_OK) {
    status = twins[kind]->reference(&call);
  }
  gemel__rtensors_clear(2, in);
  return status;
}

/* Runs algorithm A on CALL, whose result is poisoned first; 0 if it declines. */
static int run(algorithm *a, gemel_kernel_call *call, gemel__conv_kind kind) {
  static char state[GEMEL_KERNEL_STATE_BYTES];
  const gemel_view *out = &call->outputs[0];
  memset(state, 0, sizeof state);
  call->state = state;
  call->scratch_bytes = 0;
  call->release = NULL;
  if (a->prepare(call, kind) != GEMEL_OK) {
    return 0;
  }
  size_t bytes = (call->scratch_bytes + 127) / 64 * 64;
  char *block = aligned_alloc(64, bytes);
  CT_CHECK(block != NULL);
  memset(block, 0xff, bytes);
  call->scratch = block;
  memset(out->data, 0xff, (size_t)count_of(out) * gemel_dtype_size(out->dtype));
  CT_EQ_INT(a->run(call, kind), GEMEL_OK);
  a->ran[kind]++;
  if (call->release != NULL) {
    call->release(state);
  }
  free(block);
  return 1;
}

static int64_t differences(gemel__domain *d, void *e, const gemel__rtensor *expected,
                           const grid_operand *out) {
  int64_t wrong = expected->count != (size_t)elements(out);
  for (int64_t i = 0; i < elements(out) && wrong == 0; i++) {
    double x = gemel__dtype_load(
        out->view.dtype, (char *)out->view.data + i * (int64_t)gemel_dtype_size(out->view.dtype));
    d->from_double(d, e, x);
    wrong += d->equal(d, e, gemel__rtensor_at(expected, (size_t)i)) != 1;
  }
  return wrong;
}

static const char *describe(const grid_case *c, const char *by, gemel__conv_kind kind,
                            gemel_dtype dtype) {
  static char text[300];
  static const char *const kinds[] = {"corr", "corr_grad_weights", "corr_grad_inputs"};
  snprintf(text, sizeof text,
           "%s of %s by %s: %d axes, batch %d, channels %d, filters %d, groups %d, image %d %d, "
           "kernel %d %d, stride %d %d, dilation %d, padding %d, flip %d",
           kinds[kind], gemel_dtype_name(dtype), by, c->axes, (int)c->batch, (int)c->channels,
           (int)c->filters, (int)c->groups, (int)c->image[0], (int)c->image[1], (int)c->kernel[0],
           (int)c->kernel[1], (int)c->stride[0], (int)c->stride[1], (int)c->dilation[0], c->padding,
           c->flip);
  return text;
}

/* All three kinds of a case by all algorithms; the number of comparisons. */
static size_t compare(gemel__domain *d, const grid_case *c, gemel_dtype dtype, uint64_t *random) {
  static grid_operand x, w, y, out;
  void *e = gemel__elements_new(d, 1);
  size_t compared = 0;
  shape_operand(&x, dtype, c->axes, c->batch, c->channels, c->image);
  shape_operand(&w, dtype, c->axes, c->filters, c->channels / c->groups, c->kernel);
  shape_operand(&y, dtype, c->axes, c->batch, c->filters, c->out);
  fill(&x, random);
  fill(&w, random);
  fill(&y, random);
  for (int kind = 0; kind < 3; kind++) {
    grid_operand *a = kind == GEMEL__CONV_INPUTS ? &w : &x;
    grid_operand *b = kind == GEMEL__CONV_FORWARD ? &w : &y;
    const grid_operand *like = kind == GEMEL__CONV_FORWARD   ? &y
                               : kind == GEMEL__CONV_WEIGHTS ? &w
                                                             : &x;
    gemel_attr attrs[GEMEL__CONV_SIZES + 1];
    gemel_view inputs[2] = {a->view, b->view};
    gemel__rtensor expected = {0};
    shape_operand(&out, dtype, c->axes, like->shape[0], like->shape[1], like->shape + 2);
    attributes(c, (gemel__conv_kind)kind, attrs);
    CT_EQ_INT(refer(d, (gemel__conv_kind)kind, attrs, a, b, &expected), GEMEL_OK);
    gemel_kernel_call call = {.size = sizeof call,
                              .n_inputs = 2,
                              .inputs = inputs,
                              .n_outputs = 1,
                              .outputs = &out.view,
                              .attrs = attrs,
                              .threads = 1 + (int)(*random >> 63),
                              .error = &error};
    for (size_t k = 0; k < CT_COUNT(algorithms); k++) {
      if (run(&algorithms[k], &call, (gemel__conv_kind)kind)) {
        compared++;
        int64_t wrong = differences(d, e, &expected, &out);
        if (wrong > 0) {
          CT_FAIL("%s", describe(c, algorithms[k].name, (gemel__conv_kind)kind, dtype));
        }
      }
    }
    gemel__rtensor_clear(&expected);
  }
  gemel__elements_free(d, e, 1);
  return compared;
}

/* ---- The grid ---- */

static uint64_t grid_part(void) {
  const char *given = getenv("GEMEL_GRID_PART");
  int quick = getenv("GEMEL_QUICK") != NULL || getenv("GEMEL_VALGRIND") != NULL;
  return given != NULL ? strtoull(given, NULL, 10) : quick ? 997 : 97;
}

/* 1 if this build has the library that algorithm K needs for DTYPE. */
static int is_built(size_t k, gemel_dtype dtype) {
#ifdef HAVE_DNNL
  int onednn = dtype == GEMEL_F32;
#else
  int onednn = 0;
#endif
  return strcmp(algorithms[k].name, "onednn") == 0 ? onednn
         : strcmp(algorithms[k].name, "gemm") == 0 ? gemel__gemm_has_library(dtype)
                                                   : 1;
}

/* An algorithm that declines everything would agree with the reference, too. */
static void all_ran(void) {
  for (size_t k = 0; k < CT_COUNT(algorithms); k++) {
    for (int kind = 0; kind < 3; kind++) {
      ct_context("%s, kind %d", algorithms[k].name, kind);
      CT_CHECK(algorithms[k].ran[kind] > 0 || !is_built(k, GEMEL_F32));
    }
  }
}

/* Cases PART, PART + 4, … of those that are run. */
static void part_of_grid(const void *data) {
  int part = *(const int *)data;
  uint64_t random = 1 + (uint64_t)part, step = grid_part();
  size_t cases = 0, compared = 0;
  gemel__domain *d = gemel__field_new(NULL, 1, &error);
  CT_REQUIRE(d != NULL);
  for (uint64_t number = step * (uint64_t)part; number < whole_grid; number += step * PARTS) {
    grid_case c;
    if (!make_case(number, &c)) {
      continue;
    }
    if (number % 7 < 2) {
      with_axes(&c, number % 7 == 0 ? 1 : 3);
    }
    if (!complete(&c)) {
      continue;
    }
    cases++;
    compared += compare(d, &c, number % 3 == 0 ? GEMEL_F64 : GEMEL_F32, &random);
  }
  gemel__field_free(d);
  printf("%zu cases, %zu comparisons\n", cases, compared);
  for (size_t k = 0; k < CT_COUNT(algorithms); k++) {
    printf("%s: %zu, %zu, %zu\n", algorithms[k].name, algorithms[k].ran[0], algorithms[k].ran[1],
           algorithms[k].ran[2]);
  }
  CT_CHECK(cases > 0);
  all_ran();
}

/* ---- Several blocks of columns ---- */

/* Images so large that their columns are made in several blocks, and the plain loops, which the
 * grid has held to the reference. */
static void several_blocks(const void *data) {
  static grid_operand x, w, y, out, plain;
  const gemel_dtype dtype = *(const gemel_dtype *)data;
  grid_case c = {.axes = 2,
                 .batch = 2,
                 .channels = 12,
                 .filters = 3,
                 .groups = 1,
                 .image = {40, 41},
                 .kernel = {7, 6},
                 .stride = {1, 1},
                 .dilation = {1, 1},
                 .padding = 3};
  uint64_t random = 5;
  CT_REQUIRE(complete(&c));
  shape_operand(&x, dtype, 2, c.batch, c.channels, c.image);
  shape_operand(&w, dtype, 2, c.filters, c.channels, c.kernel);
  shape_operand(&y, dtype, 2, c.batch, c.filters, c.out);
  fill(&x, &random);
  fill(&w, &random);
  fill(&y, &random);
  for (int kind = 0; kind < 3; kind++) {
    const grid_operand *like[] = {&y, &w, &x};
    gemel_attr attrs[GEMEL__CONV_SIZES + 1];
    gemel_view inputs[2] = {kind == GEMEL__CONV_INPUTS ? w.view : x.view,
                            kind == GEMEL__CONV_FORWARD ? w.view : y.view};
    gemel_kernel_call call = {.size = sizeof call,
                              .n_inputs = 2,
                              .inputs = inputs,
                              .n_outputs = 1,
                              .attrs = attrs,
                              .threads = 2,
                              .error = &error};
    attributes(&c, (gemel__conv_kind)kind, attrs);
    shape_operand(&out, dtype, 2, like[kind]->shape[0], like[kind]->shape[1],
                  like[kind]->shape + 2);
    plain = out;
    plain.view.data = plain.numbers;
    call.outputs = &plain.view;
    CT_CHECK(run(&algorithms[CT_COUNT(algorithms) - 1], &call, (gemel__conv_kind)kind));
    call.outputs = &out.view;
    for (size_t k = 0; k + 1 < CT_COUNT(algorithms); k++) {
      ct_context("%s, kind %d", algorithms[k].name, kind);
      int ran = run(&algorithms[k], &call, (gemel__conv_kind)kind);
      CT_CHECK(ran || !is_built(k, dtype));
      if (ran) {
        CT_CHECK(memcmp(out.numbers, plain.numbers,
                        (size_t)elements(&out) * gemel_dtype_size(dtype)) == 0);
      }
    }
  }
}

void ct_register(void) {
  static const gemel_dtype dtypes[] = {GEMEL_F32, GEMEL_F64};
  static const int parts[PARTS] = {0, 1, 2, 3};
  static const char *const names[PARTS] = {"grid/1", "grid/2", "grid/3", "grid/4"};
  for (int k = 0; k < PARTS; k++) {
    CT_ADD("conv", names[k], part_of_grid, &parts[k]);
  }
  CT_ADD("conv", "blocks/f32", several_blocks, &dtypes[0]);
  CT_ADD("conv", "blocks/f64", several_blocks, &dtypes[1]);
}
