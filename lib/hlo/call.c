/* SPDX-License-Identifier: MIT
 *
 * What the functions of opcodes ask with (call.h): operands, attributes, results, and builders of
 * what they are often made of.
 */
#include "hlo/call.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "core/graph.h"
#include "core/value.h"

/* ---- Results ---- */

int gemel__hlo_refuse(gemel__hlo_call *c, gemel_status status, const char *format, ...) {
  char text[300];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  gemel__hlo_span name = c->instr->name, opcode = c->instr->opcode;
  if (status == GEMEL_UNSUPPORTED) {
    snprintf(c->import->unsaid, sizeof c->import->unsaid, "%s", text);
    return 0;
  }
  gemel__graph_fail_at(c->graph, c->where, status, "%.*s, %.*s: %s",
                       (int)(name.length < 80 ? name.length : 80), name.text,
                       (int)(opcode.length < 80 ? opcode.length : 80), opcode.text, text);
  return 0;
}

void *gemel__hlo_room(gemel__hlo_call *c, size_t bytes) {
  void *room = gemel__arena_alloc(&c->import->arena, bytes > 0 ? bytes : 1);
  if (room == NULL) {
    gemel__hlo_refuse(c, GEMEL_NO_MEMORY, "out of memory");
  }
  return room;
}

int gemel__hlo_give(gemel__hlo_value *result, gemel_value value) {
  *result = (gemel__hlo_value){.value = value};
  return !gemel_is_null(value);
}

int gemel__hlo_give_tuple(gemel__hlo_call *c, gemel__hlo_value *result, size_t n,
                          const gemel_value *values) {
  gemel__hlo_value *parts = gemel__hlo_room(c, n * sizeof *parts);
  int good = parts != NULL;
  for (size_t k = 0; k < n && good; k++) {
    good = gemel__hlo_give(&parts[k], values[k]);
  }
  *result = (gemel__hlo_value){.n_parts = n, .parts = parts};
  return good;
}

/* ---- Operands ---- */

gemel_value gemel__hlo_operand(gemel__hlo_call *c, size_t k) {
  if (k >= c->instr->n_operands) {
    gemel__hlo_refuse(c, GEMEL_BAD_FILE, "operand %zu is missing", k);
    return gemel__no_value;
  }
  if (gemel_is_null(c->operands[k]->value)) {
    gemel__hlo_refuse(c, GEMEL_BAD_FILE, "operand %zu is no array", k);
  }
  return c->operands[k]->value;
}

const gemel__hlo_shape *gemel__hlo_shape_of(const gemel__hlo_call *c, size_t k) {
  return &c->computation->instrs[c->instr->operands[k]].shape;
}

int gemel__hlo_sizes(const gemel__hlo_call *c, gemel_value value, int64_t *sizes) {
  gemel_context *context = c->import->context;
  gemel_type type = gemel_value_type(value);
  int rank = gemel_type_rank(context, type);
  for (int k = 0; k < rank; k++) {
    if (!gemel_dim_is_constant(context, gemel_type_dims(context, type)[k], &sizes[k])) {
      sizes[k] = 0;
    }
  }
  return rank;
}

/* ---- Attributes ---- */

/* An integer at *AT, before END; behind it *AT is. */
static int take_integer(const char **at, const char *end, int64_t *value) {
  int negative = *at < end && **at == '-';
  const char *begin = *at += negative;
  *value = 0;
  while (*at < end && **at >= '0' && **at <= '9' && *value < INT64_MAX / 10 - 10) {
    *value = *value * 10 + (*(*at)++ - '0');
  }
  *value = negative ? -*value : *value;
  return *at > begin;
}

int gemel__hlo_ints(gemel__hlo_call *c, const char *name, int *n, int64_t *values) {
  gemel__hlo_span span = gemel__hlo_attr_of(c->instr, name);
  const char *at = span.text, *end = span.text + span.length;
  *n = 0;
  if (span.text == NULL) {
    return 1;
  }
  int braces = at < end && *at == '{';
  at += braces;
  while (at < end && *at != '}') {
    if (*n == GEMEL_MAX_RANK || !take_integer(&at, end, &values[*n])) {
      return gemel__hlo_refuse(c, GEMEL_BAD_FILE, "%s is no list of integers", name);
    }
    ++*n;
    while (at < end && (*at == ',' || *at == ' ')) {
      at++;
    }
  }
  return at + braces == end || gemel__hlo_refuse(c, GEMEL_BAD_FILE, "%s has no end", name);
}

int gemel__hlo_int(gemel__hlo_call *c, const char *name, int64_t fallback, int64_t *value) {
  int64_t values[GEMEL_MAX_RANK];
  int n;
  if (!gemel__hlo_ints(c, name, &n, values)) {
    return 0;
  }
  *value = n == 1 ? values[0] : fallback;
  return n <= 1 || gemel__hlo_refuse(c, GEMEL_BAD_FILE, "%s is no integer", name);
}

int gemel__hlo_axes(gemel__hlo_call *c, const char *name, int rank, int *n, int64_t *axes) {
  uint32_t seen = 0;
  if (!gemel__hlo_ints(c, name, n, axes)) {
    return 0;
  }
  for (int k = 0; k < *n; k++) {
    if (axes[k] < 0 || axes[k] >= rank || (seen >> axes[k] & 1) != 0) {
      return gemel__hlo_refuse(c, GEMEL_BAD_FILE, "%s are no axes of %d", name, rank);
    }
    seen |= 1u << axes[k];
  }
  return 1;
}

const gemel__hlo_computation *gemel__hlo_called(gemel__hlo_call *c, const char *name) {
  gemel__hlo_span span = gemel__hlo_attr_of(c->instr, name);
  const gemel__hlo_computation *called = gemel__hlo_computation_of(c->import->module, span);
  if (called == NULL) {
    gemel__hlo_refuse(c, GEMEL_BAD_FILE, "there is no computation that is its %s", name);
  }
  return called != NULL && gemel__hlo_is_before(c, called) ? called : NULL;
}

int gemel__hlo_is_before(gemel__hlo_call *c, const gemel__hlo_computation *called) {
  return called < c->computation ||
         gemel__hlo_refuse(c, GEMEL_BAD_FILE, "it calls a computation that isn't before its own");
}

/* ---- Building ---- */

int gemel__hlo_dims(gemel__hlo_call *c, int rank, const int64_t *sizes, gemel_dim *dims) {
  for (int k = 0; k < rank; k++) {
    dims[k] = gemel_dim_constant(c->import->context, sizes[k]);
    if (gemel_dim_is_none(dims[k])) {
      return gemel__hlo_refuse(c, GEMEL_NO_MEMORY, "out of memory");
    }
  }
  return 1;
}

gemel_value gemel__hlo_number(gemel__hlo_call *c, gemel_dtype dtype, double number) {
  return gemel_scalar_at(c->graph, dtype, number, c->where);
}

gemel_value gemel__hlo_reshape(gemel__hlo_call *c, gemel_value x, int rank, const int64_t *sizes) {
  int64_t own[GEMEL_MAX_RANK];
  gemel_dim dims[GEMEL_MAX_RANK];
  if (gemel__hlo_sizes(c, x, own) == rank && memcmp(own, sizes, (size_t)rank * sizeof *own) == 0) {
    return x;
  }
  return gemel__hlo_dims(c, rank, sizes, dims) ? gemel_reshape_at(x, (size_t)rank, dims, c->where)
                                               : gemel__no_value;
}

gemel_value gemel__hlo_spread(gemel__hlo_call *c, gemel_value x, int rank, const int64_t *sizes) {
  int64_t own[GEMEL_MAX_RANK];
  gemel_dim dims[GEMEL_MAX_RANK];
  if (gemel__hlo_sizes(c, x, own) == rank && memcmp(own, sizes, (size_t)rank * sizeof *own) == 0) {
    return x;
  }
  return gemel__hlo_dims(c, rank, sizes, dims)
             ? gemel_broadcast_to_at(x, (size_t)rank, dims, c->where)
             : gemel__no_value;
}

gemel_value gemel__hlo_order(gemel__hlo_call *c, gemel_value x, int rank, const int64_t *axes) {
  int is_same = gemel_type_rank(c->import->context, gemel_value_type(x)) == rank;
  for (int k = 0; k < rank; k++) {
    is_same = is_same && axes[k] == k;
  }
  return is_same ? x : gemel_dimshuffle_at(x, (size_t)rank, axes, c->where);
}

gemel_value gemel__hlo_iota(gemel__hlo_call *c, gemel_dtype dtype, int rank, int axis, int64_t n) {
  int64_t sizes[GEMEL_MAX_RANK];
  gemel_dim length;
  if (!gemel__hlo_dims(c, 1, &n, &length)) {
    return gemel__no_value;
  }
  gemel_value iota =
      gemel_arange_at(c->graph, length, &(gemel_arange_options){.dtype = dtype}, c->where);
  for (int k = 0; k < rank; k++) {
    sizes[k] = k == axis ? n : 1;
  }
  return rank == 1 ? iota : gemel__hlo_reshape(c, iota, rank, sizes);
}

gemel_value gemel__hlo_part(gemel__hlo_call *c, gemel_value x, const int64_t *start,
                            const int64_t *sizes, const int64_t *steps) {
  int64_t own[GEMEL_MAX_RANK];
  gemel_dim from[GEMEL_MAX_RANK], dims[GEMEL_MAX_RANK];
  int rank = gemel__hlo_sizes(c, x, own), is_whole = 1, has_steps = 0;
  for (int k = 0; k < rank; k++) {
    is_whole = is_whole && start[k] == 0 && sizes[k] == own[k];
    has_steps = has_steps || (steps != NULL && steps[k] != 1);
  }
  if (is_whole && !has_steps) {
    return x;
  }
  if (!gemel__hlo_dims(c, rank, start, from) || !gemel__hlo_dims(c, rank, sizes, dims)) {
    return gemel__no_value;
  }
  gemel_subtensor_options options = {.step = {(size_t)rank, steps}};
  return gemel_subtensor_at(x, (size_t)rank, from, (size_t)rank, dims, has_steps ? &options : NULL,
                            c->where);
}

gemel_value gemel__hlo_pad(gemel__hlo_call *c, gemel_value x, gemel_value value, const int64_t *low,
                           const int64_t *high, const int64_t *interior) {
  int64_t own[GEMEL_MAX_RANK];
  int rank = gemel__hlo_sizes(c, x, own), is_same = 1, is_apart = 0;
  for (int k = 0; k < rank; k++) {
    is_same = is_same && low[k] == 0 && high[k] == 0;
    is_apart = is_apart || (interior != NULL && interior[k] != 0);
  }
  if (is_same && !is_apart) {
    return x;
  }
  gemel_pad_options options = {.interior = {(size_t)rank, interior}};
  return gemel_pad_at(x, value, (size_t)rank, low, (size_t)rank, high, is_apart ? &options : NULL,
                      c->where);
}

/* ---- Loops ---- */

gemel__hlo_call gemel__hlo_within(const gemel__hlo_call *c, gemel_loop *loop) {
  gemel__hlo_call inner = *c;
  inner.graph = gemel_loop_body(loop);
  if (!gemel_is_null(c->guard)) {
    inner.guard = gemel_loop_constant_at(loop, c->guard, c->where);
  }
  return inner;
}
