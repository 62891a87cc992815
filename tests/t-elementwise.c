/*
 * Scalar operations: dtypes, broadcasting, conventions at the edges, casts, and that
 * every variant of a kernel gives the same bits, wherever an element stands. Derivatives are
 * checked here at kinks and ties; that they are derivatives at all is the harness's business.
 *
 * SPDX-License-Identifier: MIT
 */
#include "ct.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gemel/gemel.h>
#include "core/dtype.h"
#include "ops/elementwise.h"
#include "support/random.h"

static const gemel__scalar_row *row_called(const char *name) {
  int k;
  for (k = 0; k < GEMEL__SCALAR_COUNT; k++) {
    if (strcmp(gemel__scalar_rows[k].name, name) == 0) {
      return &gemel__scalar_rows[k];
    }
  }
  CT_FAIL("there is no operation %s", name);
  return &gemel__scalar_rows[0];
}

/* ---- Dtypes ---- */

#define NO GEMEL_DTYPE_COUNT

typedef struct dtype_case {
  const char *op;
  gemel_dtype given[3], operands[3], result;
} dtype_case;

static const dtype_case dtype_cases[] = {
    {"add", {GEMEL_BOOL, GEMEL_BOOL}, {GEMEL_BOOL, GEMEL_BOOL}, GEMEL_BOOL},
    {"add", {GEMEL_I32, GEMEL_F32}, {GEMEL_F64, GEMEL_F64}, GEMEL_F64},
    {"mul", {GEMEL_F16, GEMEL_BF16}, {GEMEL_F32, GEMEL_F32}, GEMEL_F32},
    {"sub", {GEMEL_BOOL, GEMEL_BOOL}, {NO, NO}, NO},
    {"sub", {GEMEL_BOOL, GEMEL_U8}, {GEMEL_U8, GEMEL_U8}, GEMEL_U8},
    {"neg", {GEMEL_BOOL}, {NO}, NO},
    {"div", {GEMEL_I8, GEMEL_I8}, {GEMEL_F64, GEMEL_F64}, GEMEL_F64},
    {"div", {GEMEL_F16, GEMEL_I8}, {GEMEL_F16, GEMEL_F16}, GEMEL_F16},
    {"exp", {GEMEL_BOOL}, {GEMEL_F16}, GEMEL_F16},
    {"exp", {GEMEL_U16}, {GEMEL_F32}, GEMEL_F32},
    {"exp", {GEMEL_I64}, {GEMEL_F64}, GEMEL_F64},
    {"exp", {GEMEL_BF16}, {GEMEL_BF16}, GEMEL_BF16},
    {"lt", {GEMEL_U64, GEMEL_I64}, {GEMEL_F64, GEMEL_F64}, GEMEL_BOOL},
    {"logical_and", {GEMEL_F32, GEMEL_I8}, {GEMEL_BOOL, GEMEL_BOOL}, GEMEL_BOOL},
    {"where", {GEMEL_F64, GEMEL_I8, GEMEL_U8}, {GEMEL_BOOL, GEMEL_I16, GEMEL_I16}, GEMEL_I16},
    {"cast", {GEMEL_F64}, {GEMEL_F64}, GEMEL_I32},
};

static void dtypes(const void *data) {
  const dtype_case *c = data;
  const gemel__scalar_row *row = row_called(c->op);
  gemel_dtype operands[3], result;
  int k;
  gemel_status status = gemel__scalar_dtypes(row->code, (size_t)row->n_inputs, c->given, GEMEL_I32,
                                             operands, &result);
  if (c->result == NO) {
    CT_EQ_INT(status, GEMEL_BAD_TYPE);
    return;
  }
  CT_EQ_INT(status, GEMEL_OK);
  CT_EQ_STR(gemel_dtype_name(result), gemel_dtype_name(c->result));
  for (k = 0; k < row->n_inputs; k++) {
    CT_EQ_STR(gemel_dtype_name(operands[k]), gemel_dtype_name(c->operands[k]));
  }
}

/* ---- Broadcasting ---- */

typedef struct shape_case {
  const char *x, *y; /* "2 N 1"; digits are constants */
  const char *want;  /* the type, or part of the message */
} shape_case;

static const shape_case shape_cases[] = {
    {"", "", "f32[]"},
    {"3", "", "f32[3]"},
    {"2 1 4", "3 1", "f32[2, 3, 4]"},
    {"0", "1", "f32[0]"},
    {"N", "N", "f32[N]"},
    {"N", "1", "f32[N]"},
    {"N 3", "M 3", "f32[N, 3]"},
    {"N", "3", "f32[3]"},
    {"3", "N", "f32[3]"},
    {"2", "3", "sizes 2 and 3 along axis 0"},
    {"4 2", "3", "add(f32[4, 2], f32[3])"},
    {"0", "2", "sizes 0 and 2"},
};

static gemel_type type_of(gemel_context *context, gemel_dtype dtype, const char *text) {
  gemel_dim dims[8];
  int rank = 0;
  while (*text != '\0') {
    char name[2] = {*text, '\0'};
    dims[rank++] = *text >= '0' && *text <= '9' ? gemel_dim_constant(context, *text - '0')
                                                : gemel_dim_symbol(context, name);
    text += text[1] == ' ' ? 2 : 1;
  }
  return gemel_type_new(context, dtype, rank, dims, GEMEL_SPACE_HOST);
}

static void broadcasting(const void *data) {
  const shape_case *c = data;
  gemel_context *context = gemel_context_new(NULL);
  gemel_graph *graph = gemel_graph_new(context, NULL);
  gemel_value x = gemel_input(graph, "x", type_of(context, GEMEL_F32, c->x));
  gemel_value y = gemel_input(graph, "y", type_of(context, GEMEL_F32, c->y));
  gemel_value z = gemel_add(x, y);
  char text[64];
  if (!gemel_is_null(z)) {
    gemel_type_format(context, gemel_value_type(z), text, sizeof text);
    CT_EQ_STR(text, c->want);
  } else {
    CT_EQ_INT(gemel_graph_error(graph)->status, GEMEL_BAD_SHAPE);
    CT_HAS_STR(gemel_graph_error(graph)->text, c->want);
    CT_HAS_STR(gemel_graph_error(graph)->text, "t-elementwise.c:");
  }
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

static void refused_dtype(const void *data) {
  gemel_context *context = gemel_context_new(NULL);
  gemel_graph *graph = gemel_graph_new(context, NULL);
  gemel_value x = gemel_input(graph, "x", type_of(context, GEMEL_BOOL, "2"));
  (void)data;
  CT_CHECK(gemel_is_null(gemel_neg(x)));
  CT_EQ_INT(gemel_graph_error(graph)->status, GEMEL_BAD_TYPE);
  CT_HAS_STR(gemel_graph_error(graph)->text, "neg(bool[2])");
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

/* ---- Conventions of floats ---- */

typedef struct float_case {
  const char *op;
  double x, y, z, want;
} float_case;

static const float_case float_cases[] = {
    {"add", 0.0, -0.0, 0, 0.0},
    {"add", INFINITY, -INFINITY, 0, NAN},
    {"sub", -0.0, 0.0, 0, -0.0},
    {"mul", 0.0, INFINITY, 0, NAN},
    {"mul", -0.0, 2, 0, -0.0},
    {"div", 1, -0.0, 0, -INFINITY},
    {"div", 0.0, 0.0, 0, NAN},
    {"neg", 0.0, 0, 0, -0.0},
    {"abs", -0.0, 0, 0, 0.0},
    {"abs", -INFINITY, 0, 0, INFINITY},
    {"abs", NAN, 0, 0, NAN},
    {"sign", -0.0, 0, 0, -0.0},
    {"sign", NAN, 0, 0, NAN},
    {"sign", -3, 0, 0, -1},
    {"sqr", -INFINITY, 0, 0, INFINITY},
    {"sqrt", -0.0, 0, 0, -0.0},
    {"sqrt", -1, 0, 0, NAN},
    {"mod", 5, 3, 0, 2},
    {"mod", -5, 3, 0, 1},
    {"mod", 5, -3, 0, -1},
    {"mod", -5, -3, 0, -2},
    {"mod", -3, 3, 0, 0.0},
    {"mod", 3, -3, 0, -0.0},
    {"mod", 0.0, -3, 0, -0.0},
    {"mod", 1, 0.0, 0, NAN},
    {"mod", INFINITY, 3, 0, NAN},
    {"mod", 5, INFINITY, 0, 5},
    {"mod", -5, INFINITY, 0, INFINITY},
    {"mod", 5.5, 0.25, 0, 0.0},
    {"pow", 0.0, 0.0, 0, 1},
    {"pow", NAN, 0.0, 0, 1},
    {"pow", -2, 3, 0, -8},
    {"pow", -2, 0.5, 0, NAN},
    {"pow", 0.0, -1, 0, INFINITY},
    {"exp", 0.0, 0, 0, 1},
    {"exp", -0.0, 0, 0, 1},
    {"exp", INFINITY, 0, 0, INFINITY},
    {"exp", -INFINITY, 0, 0, 0.0},
    {"exp", 1000, 0, 0, INFINITY},
    {"exp", -1000, 0, 0, 0.0},
    {"exp", NAN, 0, 0, NAN},
    {"log", 1, 0, 0, 0.0},
    {"log", 0.0, 0, 0, -INFINITY},
    {"log", -0.0, 0, 0, -INFINITY},
    {"log", -1, 0, 0, NAN},
    {"log", -INFINITY, 0, 0, NAN},
    {"log", INFINITY, 0, 0, INFINITY},
    {"log", NAN, 0, 0, NAN},
    {"log1p", 0.0, 0, 0, 0.0},
    {"log1p", -0.0, 0, 0, -0.0},
    {"log1p", -1, 0, 0, -INFINITY},
    {"log1p", -2, 0, 0, NAN},
    {"log1p", INFINITY, 0, 0, INFINITY},
    {"log1p", NAN, 0, 0, NAN},
    {"expm1", -0.0, 0, 0, -0.0},
    {"expm1", -INFINITY, 0, 0, -1},
    {"expm1", -100, 0, 0, -1},
    {"expm1", INFINITY, 0, 0, INFINITY},
    {"expm1", 1000, 0, 0, INFINITY},
    {"expm1", NAN, 0, 0, NAN},
    {"tanh", -0.0, 0, 0, -0.0},
    {"tanh", 100, 0, 0, 1},
    {"tanh", -INFINITY, 0, 0, -1},
    {"tanh", NAN, 0, 0, NAN},
    {"sigmoid", 0.0, 0, 0, 0.5},
    {"sigmoid", INFINITY, 0, 0, 1},
    {"sigmoid", -INFINITY, 0, 0, 0.0},
    {"sigmoid", NAN, 0, 0, NAN},
    {"relu", -0.0, 0, 0, 0.0},
    {"relu", -1, 0, 0, 0.0},
    {"relu", NAN, 0, 0, NAN},
    {"maximum", -0.0, 0.0, 0, 0.0},
    {"maximum", 0.0, -0.0, 0, 0.0},
    {"maximum", -0.0, -0.0, 0, -0.0},
    {"maximum", NAN, 1, 0, NAN},
    {"maximum", 1, NAN, 0, NAN},
    {"maximum", 2, 2, 0, 2},
    {"minimum", -0.0, 0.0, 0, -0.0},
    {"minimum", 0.0, -0.0, 0, -0.0},
    {"minimum", -INFINITY, NAN, 0, NAN},
    {"minimum", -1, 2, 0, -1},
    {"clip", 5, 1, 3, 3},
    {"clip", -5, 1, 3, 1},
    {"clip", 2, 3, 1, 1},
    {"clip", NAN, 1, 3, NAN},
    {"clip", 2, NAN, 3, NAN},
};

static gemel__scalar_kernel kernel_of(const gemel__scalar_row *row, gemel_dtype dtype,
                                      gemel__isa isa) {
  gemel_dtype result = row->code == GEMEL__TYPE_COMPARE ? GEMEL_BOOL : dtype;
  return gemel__scalar_kernel_variant(row, dtype, result, isa);
}

static int same_number(double a, double b) {
  return (isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b));
}

static void float_convention(const void *data) {
  const float_case *c = data;
  const gemel__scalar_row *row = row_called(c->op);
  const gemel_dtype both[] = {GEMEL_F32, GEMEL_F64};
  int isa, d;
  for (isa = 0; isa <= (int)gemel__isa_best(); isa++) {
    for (d = 0; d < 2; d++) {
      uint64_t x, y, z, out;
      const void *in[3] = {&x, &y, &z};
      gemel__dtype_store(both[d], c->x, &x);
      gemel__dtype_store(both[d], c->y, &y);
      gemel__dtype_store(both[d], c->z, &z);
      kernel_of(row, both[d], (gemel__isa)isa)(1, &out, in);
      ct_context("%s of %s, variant %d: got %g", c->op, gemel_dtype_name(both[d]), isa,
                 gemel__dtype_load(both[d], &out));
      CT_CHECK(same_number(gemel__dtype_load(both[d], &out), c->want));
    }
  }
}

/* Comparisons, over pairs of interesting numbers, by C's own operators. */
static void comparisons(const void *data) {
  static const float numbers[] = {0.0f, -0.0f, 1, -1, INFINITY, -INFINITY, NAN, FLT_MIN};
  static const char *const ops[] = {"eq", "ne", "lt", "le", "gt", "ge"};
  size_t i, j, k;
  (void)data;
  for (i = 0; i < CT_COUNT(numbers); i++) {
    for (j = 0; j < CT_COUNT(numbers); j++) {
      float x = numbers[i], y = numbers[j];
      int want[] = {x == y, x != y, x<y, x <= y, x> y, x >= y};
      for (k = 0; k < CT_COUNT(ops); k++) {
        const void *in[] = {&x, &y};
        unsigned char out = 9;
        kernel_of(row_called(ops[k]), GEMEL_F32, gemel__isa_best())(1, &out, in);
        ct_context("%s(%g, %g)", ops[k], (double)x, (double)y);
        CT_EQ_INT(out, want[k]);
      }
    }
  }
}

/* ---- Conventions of integers ---- */

typedef struct int_case {
  const char *op;
  gemel_dtype dtype;
  int64_t x, y, z, want;
} int_case;

static const int_case int_cases[] = {
    {"add", GEMEL_I8, 127, 1, 0, -128},
    {"add", GEMEL_I64, INT64_MAX, 1, 0, INT64_MIN},
    {"add", GEMEL_U8, 255, 1, 0, 0},
    {"add", GEMEL_BOOL, 1, 1, 0, 1},
    {"mul", GEMEL_BOOL, 1, 0, 0, 0},
    {"sub", GEMEL_U32, 0, 1, 0, UINT32_MAX},
    {"sub", GEMEL_I32, INT32_MIN, 1, 0, INT32_MAX},
    {"mul", GEMEL_I16, 256, 256, 0, 0},
    {"mul", GEMEL_U16, 65535, 65535, 0, 1},
    {"mul", GEMEL_I64, INT64_MIN, -1, 0, INT64_MIN},
    {"neg", GEMEL_I8, -128, 0, 0, -128},
    {"neg", GEMEL_U8, 1, 0, 0, 255},
    {"abs", GEMEL_I8, -128, 0, 0, -128},
    {"abs", GEMEL_I64, INT64_MIN, 0, 0, INT64_MIN},
    {"abs", GEMEL_U8, 200, 0, 0, 200},
    {"abs", GEMEL_BOOL, 1, 0, 0, 1},
    {"sign", GEMEL_I32, INT32_MIN, 0, 0, -1},
    {"sign", GEMEL_U8, 255, 0, 0, 1},
    {"sign", GEMEL_BOOL, 1, 0, 0, 1},
    {"sqr", GEMEL_I32, 65536, 0, 0, 0},
    {"sqr", GEMEL_BOOL, 1, 0, 0, 1},
    {"mod", GEMEL_I8, -7, 3, 0, 2},
    {"mod", GEMEL_I8, 7, -3, 0, -2},
    {"mod", GEMEL_I8, -128, -1, 0, 0},
    {"mod", GEMEL_I64, INT64_MIN, -1, 0, 0},
    {"mod", GEMEL_I32, 5, 0, 0, 0},
    {"mod", GEMEL_U64, 5, 0, 0, 0},
    {"mod", GEMEL_U64, -1, 10, 0, 5},
    {"pow", GEMEL_I32, 3, 4, 0, 81},
    {"pow", GEMEL_I32, 0, 0, 0, 1},
    {"pow", GEMEL_I32, 2, 32, 0, 0},
    {"pow", GEMEL_I32, 2, -1, 0, 0},
    {"pow", GEMEL_I32, -1, -3, 0, -1},
    {"pow", GEMEL_I32, -1, -2, 0, 1},
    {"pow", GEMEL_I32, 1, INT32_MIN, 0, 1},
    {"pow", GEMEL_I64, -3, 3, 0, -27},
    {"pow", GEMEL_U8, 3, 6, 0, 217},
    {"relu", GEMEL_I8, -128, 0, 0, 0},
    {"relu", GEMEL_U8, 255, 0, 0, 255},
    {"maximum", GEMEL_U64, -1, 1, 0, -1},
    {"maximum", GEMEL_I64, -1, 1, 0, 1},
    {"maximum", GEMEL_BOOL, 0, 1, 0, 1},
    {"minimum", GEMEL_U8, 200, 100, 0, 100},
    {"clip", GEMEL_I8, 5, -3, 3, 3},
    {"clip", GEMEL_I8, 0, 3, 1, 1},
    {"clip", GEMEL_U8, 200, 10, 100, 100},
    {"lt", GEMEL_I8, -1, 1, 0, 1},
    {"lt", GEMEL_U8, 255, 1, 0, 0},
    {"ge", GEMEL_U64, -1, 1, 0, 1},
    {"logical_and", GEMEL_BOOL, 1, 0, 0, 0},
    {"logical_or", GEMEL_BOOL, 1, 0, 0, 1},
    {"logical_not", GEMEL_BOOL, 0, 0, 0, 1},
};

/* The low bytes of an integer are the shorter integer (little-endian); read back with its sign. */
static int64_t integer_at(gemel_dtype dtype, const void *data) {
  uint64_t raw = 0;
  int shift = 64 - 8 * (int)gemel_dtype_size(dtype);
  memcpy(&raw, data, gemel_dtype_size(dtype));
  return gemel_dtype_kind(dtype) == GEMEL_KIND_SIGNED ? (int64_t)(raw << shift) >> shift
                                                      : (int64_t)raw;
}

static void int_convention(const void *data) {
  const int_case *c = data;
  const gemel__scalar_row *row = row_called(c->op);
  gemel_dtype result = row->code == GEMEL__TYPE_COMPARE ? GEMEL_BOOL : c->dtype;
  int isa;
  for (isa = 0; isa <= (int)gemel__isa_best(); isa++) {
    uint64_t out = 0;
    const void *in[3] = {&c->x, &c->y, &c->z};
    kernel_of(row, c->dtype, (gemel__isa)isa)(1, &out, in);
    ct_context("%s of %s, variant %d", c->op, gemel_dtype_name(c->dtype), isa);
    CT_EQ_INT(integer_at(result, &out), c->want);
  }
}

/* ---- Casts ---- */

typedef struct cast_case {
  gemel_dtype from;
  double x;  /* of a float source */
  int64_t i; /* of an integer source */
  gemel_dtype to;
  double want_x;
  int64_t want_i;
} cast_case;

#define FI(from, x, to, want)                                                                      \
  { from, x, 0, to, 0, (int64_t)(want) }
#define FF(from, x, to, want)                                                                      \
  { from, x, 0, to, want, 0 }
#define IF(from, i, to, want)                                                                      \
  { from, 0, (int64_t)(i), to, want, 0 }
#define II(from, i, to, want)                                                                      \
  { from, 0, (int64_t)(i), to, 0, (int64_t)(want) }
static const cast_case cast_cases[] = {
    FI(GEMEL_F32, NAN, GEMEL_I32, 0),
    FI(GEMEL_F32, 1e20, GEMEL_I32, INT32_MAX),
    FI(GEMEL_F32, -1e20, GEMEL_I32, INT32_MIN),
    FI(GEMEL_F32, 0x1p31, GEMEL_I32, INT32_MAX),
    FI(GEMEL_F32, 0x1.fffffep30, GEMEL_I32, 0x7fffff80),
    FI(GEMEL_F64, -0x1p31 - 0.5, GEMEL_I32, INT32_MIN),
    FI(GEMEL_F64, 2147483646.9, GEMEL_I32, 2147483646),
    FI(GEMEL_F64, -2.9, GEMEL_I8, -2),
    FI(GEMEL_F64, 127.9, GEMEL_I8, 127),
    FI(GEMEL_F64, 128, GEMEL_I8, 127),
    FI(GEMEL_F64, -128.9, GEMEL_I8, -128),
    FI(GEMEL_F64, -129, GEMEL_I8, -128),
    FI(GEMEL_F32, -0.9, GEMEL_U8, 0),
    FI(GEMEL_F32, -5, GEMEL_U64, 0),
    FI(GEMEL_F32, 256, GEMEL_U8, 255),
    FI(GEMEL_F64, 0x1p63, GEMEL_I64, INT64_MAX),
    FI(GEMEL_F64, 0x1p63, GEMEL_U64, INT64_MIN),
    FI(GEMEL_F64, INFINITY, GEMEL_U64, -1),
    FI(GEMEL_F64, 4294967295.5, GEMEL_U32, UINT32_MAX),
    FI(GEMEL_F16, -INFINITY, GEMEL_I16, INT16_MIN),
    FI(GEMEL_BF16, NAN, GEMEL_U16, 0),
    FI(GEMEL_F32, NAN, GEMEL_BOOL, 1),
    FI(GEMEL_F32, -0.0, GEMEL_BOOL, 0),
    FI(GEMEL_F64, 0x1p-1074, GEMEL_BOOL, 1),
    FI(GEMEL_F16, 0x1p-24, GEMEL_BOOL, 1),
    II(GEMEL_I32, 256, GEMEL_BOOL, 1),
    II(GEMEL_I64, (int64_t)1 << 32, GEMEL_BOOL, 1),
    II(GEMEL_I32, 300, GEMEL_U8, 44),
    II(GEMEL_I8, -1, GEMEL_U64, -1),
    II(GEMEL_U64, -1, GEMEL_I8, -1),
    II(GEMEL_U32, UINT32_MAX, GEMEL_I64, UINT32_MAX),
    II(GEMEL_BOOL, 1, GEMEL_I64, 1),
    IF(GEMEL_U64, -1, GEMEL_F32, 0x1p64),
    IF(GEMEL_U64, -1, GEMEL_F64, 0x1p64),
    IF(GEMEL_I64, INT64_MIN, GEMEL_F64, -0x1p63),
    IF(GEMEL_I64, 0x20000000000001, GEMEL_F64, 0x1p53),
    IF(GEMEL_I32, 65519, GEMEL_F16, 65504),
    IF(GEMEL_I32, 65520, GEMEL_F16, INFINITY),
    IF(GEMEL_I32, -2049, GEMEL_F16, -2048),
    IF(GEMEL_I32, 0x1010001, GEMEL_BF16, 0x1.02p24),
    IF(GEMEL_I32, 0x1010000, GEMEL_BF16, 0x1p24),
    /* just above the middle of two bf16, by less than an f32 or an f64 can tell */
    IF(GEMEL_I64, 0x4040000000000001, GEMEL_BF16, 0x1.02p62),
    IF(GEMEL_I64, 0x4040000000000000, GEMEL_BF16, 0x1p62),
    IF(GEMEL_I64, -0x4040000000000001, GEMEL_BF16, -0x1.02p62),
    IF(GEMEL_U64, 0x8080000000000001, GEMEL_BF16, 0x1.02p63),
    IF(GEMEL_BOOL, 1, GEMEL_BF16, 1),
    FF(GEMEL_F64, 1.0 + 0x1p-11 + 0x1p-40, GEMEL_F16, 1.0 + 0x1p-10),
    FF(GEMEL_F64, 1.0 + 0x1p-11, GEMEL_F16, 1.0),
    FF(GEMEL_F64, 1.0 + 0x1p-8 + 0x1p-40, GEMEL_BF16, 1.0 + 0x1p-7),
    FF(GEMEL_F64, 65519.99999999, GEMEL_F16, 65504),
    FF(GEMEL_F64, 1e300, GEMEL_F32, INFINITY),
    FF(GEMEL_F64, -0x1p-150, GEMEL_F32, -0.0),
    FF(GEMEL_F64, 0x1.8p-149, GEMEL_F32, 0x1p-148),
    FF(GEMEL_F32, -0.0, GEMEL_F16, -0.0),
    FF(GEMEL_F16, NAN, GEMEL_F64, NAN),
    FF(GEMEL_F16, 0x1p-24, GEMEL_BF16, 0x1p-24),
    FF(GEMEL_BF16, 0x1p100, GEMEL_F16, INFINITY),
    FF(GEMEL_F32, 0x1.01p0, GEMEL_BF16, 1.0),
    FF(GEMEL_F32, 0x1.03p0, GEMEL_BF16, 0x1.04p0),
};

static void casting(const void *data) {
  const cast_case *c = data;
  const gemel__scalar_row *row = row_called("cast");
  int isa, from_float = gemel_dtype_kind(c->from) == GEMEL_KIND_FLOAT;
  uint64_t x = (uint64_t)c->i, out;
  const void *in[] = {&x};
  if (from_float) {
    gemel__dtype_store(c->from, c->x, &x);
  }
  for (isa = 0; isa <= (int)gemel__isa_best(); isa++) {
    gemel__scalar_kernel_variant(row, c->from, c->to, (gemel__isa)isa)(1, &out, in);
    ct_context("%s to %s, variant %d: got %g", gemel_dtype_name(c->from), gemel_dtype_name(c->to),
               isa, gemel__dtype_load(c->to, &out));
    if (gemel_dtype_kind(c->to) == GEMEL_KIND_FLOAT) {
      CT_CHECK(same_number(gemel__dtype_load(c->to, &out), c->want_x));
    } else {
      CT_EQ_INT(integer_at(c->to, &out), c->want_i);
    }
  }
}

/* ---- Variants, places, lengths ---- */

enum { LENGTH = 333 };

/* Random bits, small numbers and special ones. */
static void fill_random(gemel_dtype dtype, size_t n, void *data) {
  static const double special[] = {0.0, -0.0, 1, -1, INFINITY, -INFINITY, NAN, 0.5, 100, -100};
  size_t bytes = gemel_dtype_size(dtype), k;
  for (k = 0; k < n; k++) {
    char *at = (char *)data + k * bytes;
    uint64_t bits = bits64(), kind = bits >> 61;
    if (dtype == GEMEL_BOOL) {
      *at = (char)(bits & 1);
    } else if (kind < 3) {
      bits = bits64();
      memcpy(at, &bits, bytes);
    } else if (gemel_dtype_kind(dtype) != GEMEL_KIND_FLOAT) {
      bits = bits % 5 - (gemel_dtype_kind(dtype) == GEMEL_KIND_SIGNED ? 2 : 0);
      memcpy(at, &bits, bytes);
    } else {
      double number = kind < 4 ? special[bits % CT_COUNT(special)]
                               : ((double)(bits & 0xffffff) / 0x1p20 - 8) * (kind == 7 ? 20 : 1);
      gemel__dtype_store(dtype, number, at);
    }
  }
}

/* Makes all NaN of an array the same, which they are for us. */
static void settle_nan(gemel_dtype dtype, size_t n, void *data) {
  size_t bytes = gemel_dtype_size(dtype), k;
  for (k = 0; gemel_dtype_kind(dtype) == GEMEL_KIND_FLOAT && k < n; k++) {
    char *at = (char *)data + k * bytes;
    if (isnan(gemel__dtype_load(dtype, at))) {
      gemel__dtype_store(dtype, NAN, at);
    }
  }
}

static void check_kernel(const gemel__scalar_row *row, gemel_dtype from, gemel_dtype to) {
  static uint64_t x[3][LENGTH + 1], whole[LENGTH], other[LENGTH];
  gemel__scalar_kernel base = gemel__scalar_kernel_variant(row, from, to, GEMEL__ISA_BASE);
  gemel_dtype dtypes_of[3] = {from, from, from};
  size_t bytes = gemel_dtype_size(to), n, k, j;
  const void *in[3];
  int isa;
  if (row->code == GEMEL__TYPE_SELECT) {
    dtypes_of[0] = GEMEL_BOOL;
  }
  for (k = 0; k < 3; k++) {
    fill_random(dtypes_of[k], LENGTH, x[k]);
    in[k] = x[k];
  }
  base(LENGTH, whole, in);
  settle_nan(to, LENGTH, whole);
  for (isa = 0; isa <= (int)gemel__isa_best(); isa++) {
    gemel__scalar_kernel kernel = gemel__scalar_kernel_variant(row, from, to, (gemel__isa)isa);
    ct_context("%s of %s to %s, variant %d", row->name, gemel_dtype_name(from),
               gemel_dtype_name(to), isa);
    for (n = 0; n <= LENGTH; n += n < 70 ? 1 : 131) {
      memset(other, 0x5a, sizeof other);
      kernel(n, other, in);
      settle_nan(to, n, other);
      if (!CT_EQ_MEM(other, whole, n * bytes)) {
        return;
      }
      CT_CHECK(n == LENGTH || ((const unsigned char *)other)[n * bytes] == 0x5a);
    }
    for (k = 0; k < LENGTH; k += 13) {
      const void *at[3];
      for (j = 0; j < 3; j++) {
        at[j] = (const char *)x[j] + k * gemel_dtype_size(dtypes_of[j]);
      }
      kernel(1, other, at);
      settle_nan(to, 1, other);
      CT_EQ_MEM(other, (const char *)whole + k * bytes, bytes);
    }
  }
  for (j = 0; j < (size_t)row->n_inputs; j++) {
    if (gemel_dtype_size(dtypes_of[j]) >= bytes) {
      static uint64_t shared[LENGTH];
      memcpy(shared, x[j], sizeof shared);
      in[j] = shared;
      gemel__scalar_kernel_for(row, from, to)(LENGTH, shared, in);
      in[j] = x[j];
      settle_nan(to, LENGTH, shared);
      ct_context("%s of %s in the place of operand %zu", row->name, gemel_dtype_name(from), j);
      CT_EQ_MEM(shared, whole, LENGTH * bytes);
    }
  }
}

static void variants(const void *data) {
  const gemel__scalar_row *row = data;
  int from, to, found = 0;
  for (from = 0; from < GEMEL_DTYPE_COUNT; from++) {
    for (to = 0; to < GEMEL_DTYPE_COUNT; to++) {
      int fits = row->code == GEMEL__TYPE_CAST      ? 1
                 : row->code == GEMEL__TYPE_COMPARE ? to == GEMEL_BOOL
                                                    : to == from;
      if (fits && gemel__scalar_kernel_for(row, (gemel_dtype)from, (gemel_dtype)to) != NULL) {
        check_kernel(row, (gemel_dtype)from, (gemel_dtype)to);
        found++;
      }
    }
  }
  CT_CHECK(found > 0);
}

/* Each dtype that CODE lets through has a kernel, half types through f32. */
static void complete(const void *data) {
  int r, d;
  (void)data;
  for (r = 0; r < GEMEL__SCALAR_COUNT; r++) {
    const gemel__scalar_row *row = &gemel__scalar_rows[r];
    for (d = 0; d < GEMEL_DTYPE_COUNT; d++) {
      gemel_dtype given[3] = {(gemel_dtype)d, (gemel_dtype)d, (gemel_dtype)d}, operands[3], result;
      gemel_dtype operand;
      if (gemel__scalar_dtypes(row->code, (size_t)row->n_inputs, given, GEMEL_I8, operands,
                               &result) != GEMEL_OK) {
        continue;
      }
      operand = operands[row->n_inputs - 1];
      if (row->code != GEMEL__TYPE_CAST && row->code != GEMEL__TYPE_SELECT &&
          (operand == GEMEL_F16 || operand == GEMEL_BF16)) {
        CT_CHECK(gemel__scalar_kernel_for(row, operand, result) == NULL);
        operand = GEMEL_F32;
      }
      ct_context("%s of %s", row->name, gemel_dtype_name(operand));
      CT_CHECK(gemel__scalar_kernel_for(row, operand, result) != NULL);
    }
  }
}

/* ---- The plain kernel: strides, half types ---- */

/* x[2, 3] from every second column of a 4-column array, backwards, plus y[3] repeated; in f16. */
static void plain_strides(const void *data) {
  gemel_context *context = gemel_context_new(NULL);
  const gemel_operation *add = gemel_operation_find(context, "add");
  uint16_t x[2][8], y[3], out[6];
  int64_t x_shape[] = {2, 3}, x_strides[] = {16, -4}, y_shape[] = {3}, y_strides[] = {-2};
  int64_t out_strides[] = {6, 2};
  gemel_view in[2] = {{GEMEL_F16, 2, x_shape, x_strides, &x[0][5]},
                      {GEMEL_F16, 1, y_shape, y_strides, &y[2]}};
  gemel_view result = {GEMEL_F16, 2, x_shape, out_strides, out};
  gemel_kernel_call call = {.size = sizeof call,
                            .n_inputs = 2,
                            .inputs = in,
                            .n_outputs = 1,
                            .outputs = &result,
                            .threads = 1,
                            .data = add->data};
  int i, j;
  (void)data;
  for (i = 0; i < 2; i++) {
    for (j = 0; j < 8; j++) {
      gemel__dtype_store(GEMEL_F16, 10 * i + j, &x[i][j]);
    }
  }
  for (j = 0; j < 3; j++) {
    gemel__dtype_store(GEMEL_F16, 100 * j, &y[j]);
  }
  CT_EQ_INT(add->kernels[0].run(&call), GEMEL_OK);
  for (i = 0; i < 2; i++) {
    for (j = 0; j < 3; j++) {
      ct_context("element %d, %d", i, j);
      CT_CHECK(gemel__dtype_load(GEMEL_F16, &out[3 * i + j]) == 10 * i + 5 - 2 * j + 100 * (2 - j));
    }
  }
  gemel_context_unref(context);
}

/* ---- Derivatives ---- */

typedef struct slope_case {
  const char *op;
  double x, y, z;
  int wrt;
  double want;
} slope_case;

static const slope_case slope_cases[] = {
    {"relu", 0, 0, 0, 0, 0},       {"relu", 2, 0, 0, 0, 1},      {"abs", 0, 0, 0, 0, 0},
    {"abs", -2, 0, 0, 0, -1},      {"sign", 3, 0, 0, 0, 0},      {"sqr", 3, 0, 0, 0, 6},
    {"sqrt", 4, 0, 0, 0, 0.25},    {"div", 1, 4, 0, 1, -0.0625}, {"maximum", 2, 2, 0, 0, 0.5},
    {"maximum", 2, 2, 0, 1, 0.5},  {"maximum", 3, 2, 0, 0, 1},   {"maximum", 3, 2, 0, 1, 0},
    {"minimum", 2, 2, 0, 1, 0.5},  {"minimum", 3, 2, 0, 0, 0},   {"clip", 1, 1, 3, 0, 1},
    {"clip", 3, 1, 3, 0, 1},       {"clip", 0, 1, 3, 0, 0},      {"clip", 0, 1, 3, 1, 1},
    {"clip", 5, 1, 3, 2, 1},       {"clip", 5, 1, 3, 1, 0},      {"clip", 2, 3, 1, 2, 1},
    {"clip", 2, 3, 1, 1, 0},       {"pow", 0, 0, 0, 0, 0},       {"pow", 0, 1, 0, 0, 1},
    {"pow", 0, 2, 0, 1, 0},        {"pow", 1, 5, 0, 0, 5},       {"mod", 7, 3, 0, 0, 1},
    {"mod", 7, 3, 0, 1, -2},       {"mod", -7, 3, 0, 1, 3},      {"tanh", 0, 0, 0, 0, 1},
    {"sigmoid", 0, 0, 0, 0, 0.25}, {"exp", 0, 0, 0, 0, 1},       {"log", 4, 0, 0, 0, 0.25},
    {"log1p", 1, 0, 0, 0, 0.5},    {"expm1", 0, 0, 0, 0, 1},     {"where", 1, 5, 6, 1, 1},
    {"where", 1, 5, 6, 2, 0},
};

/* The slope in both modes at one point, through graphs and the executor. */
static void slope(const void *data) {
  const slope_case *c = data;
  const gemel__scalar_row *row = row_called(c->op);
  const double at[3] = {c->x, c->y, c->z};
  static const char *const names[] = {"x", "y", "z"};
  gemel_context *context = gemel_context_new(NULL);
  gemel_graph *graph = gemel_graph_new(context, NULL);
  gemel_tensor *tensors[3] = {NULL, NULL, NULL}, *results[2] = {NULL, NULL};
  gemel_value x[3], y, one, slopes[2];
  gemel_error error;
  int k;
  for (k = 0; k < row->n_inputs; k++) {
    x[k] = gemel_input(graph, names[k], gemel_type_of_shape(context, GEMEL_F64, 0, NULL));
    tensors[k] = gemel_tensor_new(GEMEL_F64, 0, NULL, NULL);
    *(double *)gemel_tensor_data(tensors[k]) = at[k];
  }
  y = gemel_apply(graph, c->op, (size_t)row->n_inputs, x, 0, NULL);
  one = gemel_scalar(graph, GEMEL_F64, 1);
  CT_EQ_INT(gemel_grad(1, &y, NULL, 1, &x[c->wrt], &slopes[0], &error), GEMEL_OK);
  CT_EQ_INT(gemel_jvp(1, &y, 1, &x[c->wrt], &one, &slopes[1], &error), GEMEL_OK);
  gemel_output(slopes[0], "reverse");
  gemel_output(slopes[1], "forward");
  if (CT_EQ_INT(gemel_evaluate(graph, (size_t)row->n_inputs, tensors, 2, results, &error),
                GEMEL_OK)) {
    for (k = 0; k < 2; k++) {
      ct_context("%s in mode %d: got %g", c->op, k, *(double *)gemel_tensor_data(results[k]));
      CT_CHECK(*(double *)gemel_tensor_data(results[k]) == c->want);
    }
  }
  for (k = 0; k < 3; k++) {
    gemel_tensor_unref(tensors[k]);
    gemel_tensor_unref(k < 2 ? results[k] : NULL);
  }
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

static gemel_value drawn_instance(gemel_graph *graph, const gemel__scalar_row *row,
                                  gemel_dtype dtype, gemel_value *x) {
  static const char *const names[] = {"x", "y", "z"};
  gemel_attr to = gemel_attr_dtype("dtype", (gemel_dtype)rnd(GEMEL_DTYPE_COUNT));
  int64_t shape[3] = {(int64_t)rnd(5), (int64_t)rnd(5), (int64_t)rnd(5)};
  int rank = (int)rnd(4);
  for (int k = 0; k < row->n_inputs; k++) {
    gemel_dtype own = row->code == GEMEL__TYPE_SELECT && k == 0 ? GEMEL_BOOL : dtype;
    int skip = rnd(2) ? 0 : (int)rnd((uint64_t)rank + 1), one = (int)rnd(6);
    int64_t part[3] = {one == 0 ? 1 : shape[0], one == 1 ? 1 : shape[1], one == 2 ? 1 : shape[2]};
    x[k] =
        gemel_input(graph, names[k],
                    gemel_type_of_shape(gemel_graph_context(graph), own, rank - skip, part + skip));
  }
  return gemel_apply(graph, row->name, (size_t)row->n_inputs, x, row->code == GEMEL__TYPE_CAST,
                     &to);
}

/* Derivatives have the types that they must have: cotangents of what is broadcast are summed. */
static void derivative_types(const void *data) {
  const gemel__scalar_row *row = data;
  static const gemel_dtype floats[] = {GEMEL_F32, GEMEL_F64, GEMEL_F16, GEMEL_BF16};
  gemel_context *context = gemel_context_new(NULL);
  for (int trial = 0; trial < 40; trial++) {
    gemel_graph *graph = gemel_graph_new(context, NULL);
    gemel_value x[3], wrt[3], made[3];
    gemel_value y = drawn_instance(graph, row, floats[trial % 4], x);
    gemel_error error;
    size_t n = 0;
    for (int k = 0; k < row->n_inputs; k++) {
      if (gemel_dtype_kind(gemel_type_dtype(context, gemel_value_type(x[k]))) == GEMEL_KIND_FLOAT) {
        wrt[n++] = x[k];
      }
    }
    ct_context("%s, trial %d: %s", row->name, trial, gemel_graph_error(graph)->text);
    if (CT_CHECK(!gemel_is_null(y)) &&
        gemel_dtype_kind(gemel_type_dtype(context, gemel_value_type(y))) == GEMEL_KIND_FLOAT) {
      CT_EQ_INT(gemel_grad(1, &y, &y, n, wrt, made, &error), GEMEL_OK);
      for (size_t k = 0; k < n; k++) {
        CT_CHECK(gemel_type_equal(gemel_value_type(made[k]), gemel_value_type(wrt[k])));
      }
      CT_EQ_INT(gemel_jvp(1, &y, n, wrt, wrt, made, &error), GEMEL_OK);
      CT_CHECK(gemel_type_equal(gemel_value_type(made[0]), gemel_value_type(y)));
    }
    gemel_graph_unref(graph);
  }
  gemel_context_unref(context);
}

/* Everything from context to gradient, with one allocation after the other refused. */
static int derive_all(void *data) {
  gemel_error error;
  gemel_context *context = gemel_context_new(&error);
  gemel_graph *graph;
  gemel_location nowhere = {NULL, 0}; /* a place that can't be kept is no error */
  gemel_value x, y, slope_of;
  gemel_status status;
  (void)data;
  if (context == NULL) {
    return error.status;
  }
  graph = gemel_graph_new(context, &error);
  if (graph == NULL) {
    gemel_context_unref(context);
    return error.status;
  }
  x = gemel_input_at(graph, "x", gemel_type_of_shape(context, GEMEL_F32, 0, NULL), nowhere);
  y = gemel_clip_at(x, gemel_neg_at(x, nowhere), gemel_exp_at(x, nowhere), nowhere);
  status = gemel_is_null(y) ? gemel_graph_error(graph)->status
                            : gemel_grad(1, &y, NULL, 1, &x, &slope_of, &error);
  status =
      status == GEMEL_BAD_ARGUMENT ? GEMEL_NO_MEMORY : status; /* no type, for want of memory */
  gemel_graph_unref(graph);
  gemel_context_unref(context);
  return status;
}

static void no_memory(const void *data) {
  (void)data;
  CT_CHECK(ct_oom(derive_all, NULL) > 10);
}

static const ct_test tests[] = {
    CT_TEST("refused-dtype", refused_dtype, NULL), CT_TEST("comparisons", comparisons, NULL),
    CT_TEST("kernels-complete", complete, NULL),   CT_TEST("plain-strides", plain_strides, NULL),
    CT_TEST("no-memory", no_memory, NULL),
};

/* Adds a test for each element of a table. */
#define ADD_CASES(what, cases, fn, label)                                                          \
  for (k = 0; k < CT_COUNT(cases); k++) {                                                          \
    snprintf(name, sizeof name, what "/%s/%zu", label, k);                                         \
    CT_ADD("elementwise", name, fn, &cases[k]);                                                    \
  }

void ct_register(void) {
  char name[100];
  size_t k;
  ct_suite("elementwise", tests, CT_COUNT(tests));
  ADD_CASES("dtypes", dtype_cases, dtypes, dtype_cases[k].op)
  ADD_CASES("broadcast", shape_cases, broadcasting, "add")
  ADD_CASES("float", float_cases, float_convention, float_cases[k].op)
  ADD_CASES("integer", int_cases, int_convention, int_cases[k].op)
  ADD_CASES("cast", cast_cases, casting, gemel_dtype_name(cast_cases[k].to))
  ADD_CASES("slope", slope_cases, slope, slope_cases[k].op)
  ADD_CASES("variants", gemel__scalar_rows, variants, gemel__scalar_rows[k].name)
  for (k = 0; k < CT_COUNT(gemel__scalar_rows); k++) {
    if (gemel__scalar_rows[k].code != GEMEL__TYPE_INTEGER) {
      CT_ADD_TO("elementwise", "derivative", gemel__scalar_rows[k].name, derivative_types,
                &gemel__scalar_rows[k]);
    }
  }
}
