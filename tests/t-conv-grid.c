/*
 * The three convolutions on a grid of small shapes (support/conv-grid.h): every algorithm of the
 * host, asked directly, gives what the reference gives, bit for bit, forward, for both gradients,
 * and for what gemel_grad makes of corr and of its gradients. One in GEMEL_GRID_PART (default 97)
 * of the cases is run.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include "core/alloc.h"
#include "cpu/gemm.h"
#include "ops/conv.h"

static gemel_error error;

#include "support/conv-grid.h"

enum { PARTS = 4 };

/* ---- Algorithms ---- */

typedef struct algorithm {
  const char *name;
  gemel_status (*prepare)(gemel_kernel_call *call, gemel__conv_kind kind);
  gemel_status (*run)(const gemel_kernel_call *call, gemel__conv_kind kind);
  size_t ran[3]; /* cases of each kind */
} algorithm;

static algorithm algorithms[] = {
#define ALGORITHM(name, least, channels_last)                                                      \
  {#name, gemel__conv_##name##_prepare, gemel__conv_##name##_run, {0}},
#include "ops/conv.def"
#undef ALGORITHM
};

/* Runs algorithm A on CALL, whose result is poisoned first; 0 if it declines. */
static int run(algorithm *a, gemel_kernel_call *call, gemel__conv_kind kind) {
  static char state[GEMEL_KERNEL_PREPARED_BYTES];
  const gemel_view *out = &call->outputs[0];
  memset(state, 0, sizeof state);
  call->prepared = state;
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

/* ---- One result ---- */

/* The result of KIND on P's operands by each algorithm that takes it, with ATTRS; the number of
 * comparisons. */
static size_t compare(const grid_problem *p, gemel__conv_kind kind, const gemel_attr *attrs,
                      const char *what, int threads) {
  static grid_operand out;
  const grid_operand *like = &p->operand[kind];
  const gemel_dtype dtype = like->view.dtype;
  gemel_view inputs[2] = {p->operand[operands_of[kind][0]].view,
                          p->operand[operands_of[kind][1]].view};
  void *e = gemel__elements_new(p->domain, 1);
  size_t compared = 0;
  shape_operand(&out, dtype, p->c.axes, like->shape[0], like->shape[1], like->shape + 2);
  gemel_kernel_call call = {.size = sizeof call,
                            .n_inputs = 2,
                            .inputs = inputs,
                            .n_outputs = 1,
                            .outputs = &out.view,
                            .attrs = attrs,
                            .threads = threads,
                            .error = &error};
  for (size_t k = 0; k < CT_COUNT(algorithms); k++) {
    if (run(&algorithms[k], &call, kind)) {
      compared++;
      if (differences(p->domain, e, &p->expected[kind], &out) > 0) {
        CT_FAIL("%s%s", what, describe(&p->c, algorithms[k].name, kind, dtype));
      }
    }
  }
  gemel__elements_free(p->domain, e, 1);
  return compared;
}

/* All three kinds, asked for directly. */
static size_t compare_kinds(const grid_problem *p, uint64_t random) {
  size_t compared = 0;
  for (int kind = 0; kind < 3; kind++) {
    gemel_attr attrs[GEMEL__CONV_SIZES + 1];
    attributes(&p->c, (gemel__conv_kind)kind, attrs);
    compared += compare(p, (gemel__conv_kind)kind, attrs, "", 1 + (int)(random >> (62 - kind) & 1));
  }
  return compared;
}

/* ---- Second gradients ---- */

/* All three are gradients of one sum of products of three factors, one of x, one of w and one of y,
 * so the gradient of any of them by an operand, the third of x, w and y being what it is weighed
 * with, is again one of the three results that the reference gives. */

/* VALUE, which gemel_grad made, is one of the three operations on two of the inputs IN; it must
 * have the shape of P's operand WANTED and its result. */
static size_t compare_gradient(const grid_problem *p, gemel_value value, const gemel_value *in,
                               gemel__conv_kind wanted, const char *what) {
  const gemel_operation *record =
      gemel_operation_find(gemel_graph_context(value.graph), gemel_value_operation(value));
  gemel_type type = gemel_value_type(value), like = gemel_value_type(in[wanted]);
  gemel_attr attrs[GEMEL_SAMPLE_MAX_ATTRS] = {{0}};
  int right = strcmp(record->name, conv_names[wanted]) == 0 && gemel_type_equal(type, like);
  for (size_t k = 0; k < 2 && right; k++) {
    right = gemel_value_input(value, k).node == in[operands_of[wanted][k]].node;
  }
  if (!right) {
    CT_FAIL("%s%s: another operation, other operands or another shape", what,
            describe(&p->c, record->name, wanted, p->operand[0].view.dtype));
    return 0;
  }
  for (size_t k = 0; record->attrs[k].name != NULL; k++) {
    CT_EQ_INT(gemel_value_attr(value, record->attrs[k].name, &attrs[k]), GEMEL_OK);
  }
  return compare(p, wanted, attrs, what, 1);
}

/* The gradients of Z by the operands that compute KIND, weighed with the input of that kind. */
static void derive(gemel_value z, gemel__conv_kind kind, const gemel_value *in,
                   gemel_value *gradients) {
  gemel_value by[2] = {in[operands_of[kind][0]], in[operands_of[kind][1]]};
  CT_EQ_INT(gemel_grad(1, &z, &in[kind], 2, by, gradients, &error), GEMEL_OK);
}

/* The gradients of corr, and those of these. */
static size_t compare_gradients(const grid_problem *p, gemel_context *context) {
  const gemel_dtype dtype = p->operand[0].view.dtype;
  gemel_graph *graph = gemel_graph_new(context, &error);
  gemel_value in[3], first[2], second[2];
  gemel_attr attrs[GEMEL__CONV_SIZES + 1];
  size_t compared = 0;
  for (int k = 0; k < 3; k++) {
    static const char *const names[3] = {"y", "w", "x"};
    gemel_type type = gemel_type_of_shape(context, dtype, p->c.axes + 2, p->operand[k].shape);
    in[k] = gemel_input(graph, names[k], type);
  }
  attributes(&p->c, GEMEL__CONV_FORWARD, attrs);
  gemel_value operands[2] = {in[GEMEL__CONV_INPUTS], in[GEMEL__CONV_WEIGHTS]};
  gemel_value y = gemel_apply(graph, "corr", 2, operands, GEMEL__CONV_SIZES, attrs);
  CT_CHECK(!gemel_is_null(y));
  derive(y, GEMEL__CONV_FORWARD, in, first);
  for (int k = 0; k < 2; k++) {
    const gemel__conv_kind kind = operands_of[GEMEL__CONV_FORWARD][k];
    compared += compare_gradient(p, first[k], in, kind, "the gradient of corr: ");
    derive(first[k], kind, in, second);
    for (int j = 0; j < 2; j++) {
      compared += compare_gradient(p, second[j], in, operands_of[kind][j], "a second gradient: ");
    }
  }
  gemel_graph_unref(graph);
  return compared;
}

/* ---- The grid ---- */

static uint64_t grid_part(void) {
  int quick = getenv("GEMEL_QUICK") != NULL || getenv("GEMEL_VALGRIND") != NULL;
  return ct_number("GEMEL_GRID_PART", quick ? 997 : 97);
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
  static grid_problem p;
  int part = *(const int *)data;
  uint64_t random = 1 + (uint64_t)part, step = grid_part();
  size_t cases = 0, compared = 0, gradients = 0;
  gemel_context *context = gemel_context_new(&error);
  p.domain = gemel__field_new(NULL, 1, &error);
  CT_REQUIRE(p.domain != NULL && context != NULL);
  for (uint64_t number = step * (uint64_t)part; number < whole_grid; number += step * PARTS) {
    if (!draw_case(number, &p.c)) {
      continue;
    }
    draw_operands(&p, dtype_of_case(number), &random);
    expect_results(&p);
    compared += compare_kinds(&p, random);
    gradients += compare_gradients(&p, context);
    cases++;
    forget_problem(&p);
  }
  gemel__field_free(p.domain);
  gemel_context_unref(context);
  printf("%zu cases, %zu comparisons, and %zu of gradients\n", cases, compared, gradients);
  for (size_t k = 0; k < CT_COUNT(algorithms); k++) {
    printf("%s: %zu, %zu, %zu\n", algorithms[k].name, algorithms[k].ran[0], algorithms[k].ran[1],
           algorithms[k].ran[2]);
  }
  CT_CHECK(cases > 0 && gradients > 0);
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
