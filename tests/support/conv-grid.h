/*
 * A grid of small convolutions, and what the reference makes of each. The grid has some 1.6 million
 * cases: batch 1 to 3, channels and filters 1 to 4, images 3 to 7, kernels 1 to 5, strides 1 to 3,
 * dilations 1 and 2, all paddings, groups that fit, flipped and not; of two axes, and some of one
 * and of three. Operands are small integers, so each result is exact, whatever the order of its
 * sums. Whoever includes this has an error called `error`.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef GEMEL_TESTS_CONV_GRID_H
#define GEMEL_TESTS_CONV_GRID_H

#include "../ct.h"
#include <gemel/gemel.h>
#include <stdio.h>
#include <string.h>
#include "core/dtype.h"
#include "domains/field.h"
#include "ops/conv.h"
#include "reference/twin.h"

enum { MOST_ELEMENTS = 1 << 16 };

static const char *const conv_names[] = {"corr", "corr_grad_weights", "corr_grad_inputs"};

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

static inline int64_t differences(gemel__domain *d, void *e, const gemel__rtensor *expected,
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
  snprintf(text, sizeof text,
           "%s of %s by %s: %d axes, batch %d, channels %d, filters %d, groups %d, image %d %d, "
           "kernel %d %d, stride %d %d, dilation %d, padding %d, flip %d",
           conv_names[kind], gemel_dtype_name(dtype), by, c->axes, (int)c->batch, (int)c->channels,
           (int)c->filters, (int)c->groups, (int)c->image[0], (int)c->image[1], (int)c->kernel[0],
           (int)c->kernel[1], (int)c->stride[0], (int)c->stride[1], (int)c->dilation[0], c->padding,
           c->flip);
  return text;
}

/* ---- Problems ---- */

/* A case with its operands and what is expected. OPERAND and EXPECTED stand by the kind of
 * convolution that computes them from the other two: y, w, x. */
typedef struct grid_problem {
  grid_case c;
  gemel__domain *domain;
  grid_operand operand[3];
  gemel__rtensor expected[3];
} grid_problem;

/* Which operands a kind has, as kinds that compute them. */
static const gemel__conv_kind operands_of[3][2] = {{GEMEL__CONV_INPUTS, GEMEL__CONV_WEIGHTS},
                                                   {GEMEL__CONV_INPUTS, GEMEL__CONV_FORWARD},
                                                   {GEMEL__CONV_WEIGHTS, GEMEL__CONV_FORWARD}};

/* Shapes and draws the operands of P's case. */
static void draw_operands(grid_problem *p, gemel_dtype dtype, uint64_t *random) {
  const grid_case *c = &p->c;
  grid_operand *o = p->operand;
  shape_operand(&o[GEMEL__CONV_INPUTS], dtype, c->axes, c->batch, c->channels, c->image);
  shape_operand(&o[GEMEL__CONV_WEIGHTS], dtype, c->axes, c->filters, c->channels / c->groups,
                c->kernel);
  shape_operand(&o[GEMEL__CONV_FORWARD], dtype, c->axes, c->batch, c->filters, c->out);
  for (int k = 0; k < 3; k++) {
    fill(&o[k], random);
  }
}

/* What each kind should compute, until forget_problem. */
static inline void expect_results(grid_problem *p) {
  gemel_attr attrs[GEMEL__CONV_SIZES + 1];
  for (int kind = 0; kind < 3; kind++) {
    const gemel__conv_kind *of = operands_of[kind];
    attributes(&p->c, (gemel__conv_kind)kind, attrs);
    CT_EQ_INT(refer(p->domain, (gemel__conv_kind)kind, attrs, &p->operand[of[0]],
                    &p->operand[of[1]], &p->expected[kind]),
              GEMEL_OK);
  }
}

static inline void forget_problem(grid_problem *p) {
  gemel__rtensors_clear(3, p->expected);
}

/* The case with number NUMBER, of which some have one axis or three; 0 if there is none. */
static int draw_case(uint64_t number, grid_case *c) {
  if (!make_case(number, c)) {
    return 0;
  }
  if (number % 7 < 2) {
    with_axes(c, number % 7 == 0 ? 1 : 3);
  }
  return complete(c);
}

static inline gemel_dtype dtype_of_case(uint64_t number) {
  return number % 3 == 0 ? GEMEL_F64 : GEMEL_F32;
}

#endif
