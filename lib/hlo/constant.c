/* SPDX-License-Identifier: MIT
 *
 * Literals of HLO: 3, -inf, nan, true, { { 1, 2 }, { 3, 4 } }, with comments between. An array's
 * numbers stand in row-major order, so braces and commas say nothing that its shape doesn't.
 */
#include "hlo/call.h"

#include <string.h>
#include "core/error.h"
#include "core/graph.h"
#include "core/number.h"
#include "core/value.h"

/* Passes over braces, commas and comments. */
static void skip_marks(gemel__lex *lex) {
  for (;;) {
    if (lex->kind == '/' && lex->at < lex->end && *lex->at == '*') {
      const char *at = lex->at;
      while (at < lex->end && !(at[0] == '/' && at[-1] == '*' && at - 1 > lex->at)) {
        at++;
      }
      gemel__lex_move(lex, at < lex->end ? at + 1 : at, lex->line_start, lex->line);
    } else if (lex->kind == '{' || lex->kind == '}' || lex->kind == ',') {
      gemel__lex_next(lex);
    } else {
      return;
    }
  }
}

/* The number or truth at the token, as an element of DTYPE. */
static int take_element(gemel__hlo_call *c, gemel__lex *lex, gemel_dtype dtype, void *element) {
  gemel__number number;
  int is_true = gemel__lex_is(lex, "true");
  if (lex->kind == GEMEL__TOKEN_DOTS || lex->kind == '.') {
    return gemel__hlo_refuse(c, GEMEL_BAD_FILE,
                             "its numbers are left out; XLA writes them with "
                             "--xla_dump_large_constants=true or print_large_constants");
  }
  if (is_true || gemel__lex_is(lex, "false")) {
    number = (gemel__number){.magnitude = (uint64_t)is_true};
    gemel__lex_next(lex);
  } else if (gemel__number_read(lex, &number, NULL) != GEMEL_OK) {
    return gemel__hlo_refuse(c, GEMEL_BAD_FILE, "a number is expected");
  }
  return gemel__number_store(&number, dtype, element) == GEMEL_OK ||
         gemel__hlo_refuse(c, GEMEL_BAD_FILE, "a number that its type can't hold");
}

/* Reads TENSOR's elements. */
static int take_elements(gemel__hlo_call *c, gemel_tensor *tensor) {
  gemel_dtype dtype = gemel_tensor_dtype(tensor);
  int64_t n = gemel_tensor_elements(tensor);
  char *data = gemel_tensor_data(tensor);
  gemel__lex lex;
  gemel__lex_start(&lex, c->instr->inside.text, c->instr->inside.length, "");
  for (int64_t k = 0; k < n; k++) {
    skip_marks(&lex);
    if (!take_element(c, &lex, dtype, data + (size_t)k * gemel_dtype_size(dtype))) {
      return 0;
    }
  }
  skip_marks(&lex);
  return lex.kind == GEMEL__TOKEN_END ||
         gemel__hlo_refuse(c, GEMEL_BAD_FILE, "more numbers than its shape has");
}

/* 1 if the literal can have as many numbers as SHAPE: no room is taken for a lie. */
static int is_long_enough(const gemel__hlo_call *c, const gemel__hlo_shape *shape) {
  int64_t n = 1;
  for (int k = 0; k < shape->rank; k++) {
    if (__builtin_mul_overflow(n, shape->dims[k], &n)) {
      return 0;
    }
  }
  return n <= 1 || (size_t)n <= c->instr->inside.length / 2 + 1;
}

int gemel__hlo_constant(gemel__hlo_call *c, gemel__hlo_value *result) {
  const gemel__hlo_shape *shape = &c->instr->shape;
  gemel_error error;
  if (shape->is_tuple || shape->dtype < 0) {
    return gemel__hlo_refuse(c, GEMEL_UNSUPPORTED, "a literal that is no array");
  }
  if (!is_long_enough(c, shape)) {
    return gemel__hlo_refuse(
        c, GEMEL_BAD_FILE,
        "fewer numbers than its shape has; XLA writes all with --xla_dump_large_constants=true");
  }
  gemel_tensor *tensor =
      gemel_tensor_new((gemel_dtype)shape->dtype, shape->rank, shape->dims, &error);
  if (tensor == NULL) {
    return gemel__hlo_refuse(c, error.status, "%s", error.text);
  }
  int good = take_elements(c, tensor) &&
             gemel__hlo_give(result, gemel_constant_at(c->graph, tensor, c->where));
  gemel_tensor_unref(tensor);
  return good;
}
