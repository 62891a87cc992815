/* SPDX-License-Identifier: MIT
 *
 * An instruction on its way into a graph: what the function of an opcode sees, and what it asks
 * with. It returns 1 with the result, or 0 with the graph's error, made by a builder that failed or
 * by gemel__hlo_refuse.
 */
#ifndef GEMEL__HLO_CALL_H
#define GEMEL__HLO_CALL_H

#include <gemel/composite.h>
#include <gemel/ops.h>
#include "core/arena.h"
#include "hlo/module.h"

/* A value: one of the graph, or, if that is null, a tuple; a token is a tuple of none. */
typedef struct gemel__hlo_value {
  gemel_value value;
  size_t n_parts;
  const struct gemel__hlo_value *parts;
} gemel__hlo_value;

/* What a module's import has in common. */
typedef struct gemel__hlo_import {
  const gemel_hlo *module;
  gemel_context *context;
  gemel__arena arena; /* values and lists */
  int64_t applied;    /* instructions, so far */
  int64_t effects;    /* of these, opaque ones with effects */
  char unsaid[300];   /* why an instruction can't be said, where that is no error; "": none */
} gemel__hlo_import;

typedef struct gemel__hlo_call {
  gemel__hlo_import *import;
  gemel_graph *graph; /* of the module, or a loop's body */
  const gemel__hlo_computation *computation;
  const gemel__hlo_instr *instr;
  gemel_location where;
  const gemel__hlo_value **operands;
  int depth;         /* of computations that call each other */
  gemel_value guard; /* whether the branch is taken in which the instruction is; null: it is */
  int is_mapped;     /* 1: each scalar of the computation stands for an array, all of one shape */
} gemel__hlo_call;

/* ---- Operands and attributes ---- */

/* Operand K, an array; null, with the graph's error, if there is none. */
gemel_value gemel__hlo_operand(gemel__hlo_call *c, size_t k);

/* The shape that the module says operand K has. */
const gemel__hlo_shape *gemel__hlo_shape_of(const gemel__hlo_call *c, size_t k);

/* The sizes of an array of the graph: RANK of them. All sizes are numbers. */
int gemel__hlo_sizes(const gemel__hlo_call *c, gemel_value value, int64_t *sizes);

/* 1 and the integers of attribute NAME, {1,2} or 3, at most GEMEL_MAX_RANK; none if it is absent. 0
 * and the graph's error if it is none such. */
int gemel__hlo_ints(gemel__hlo_call *c, const char *name, int *n, int64_t *values);

/* As that, where it is one number, and FALLBACK if it is absent. */
int gemel__hlo_int(gemel__hlo_call *c, const char *name, int64_t fallback, int64_t *value);

/* As gemel__hlo_ints, where each is an axis of RANK, and no two are the same. */
int gemel__hlo_axes(gemel__hlo_call *c, const char *name, int rank, int *n, int64_t *axes);

/* The computation that attribute NAME names; NULL, with the graph's error, if there is none. */
const gemel__hlo_computation *gemel__hlo_called(gemel__hlo_call *c, const char *name);

/* 1 if CALLED stands before C's computation, as XLA writes them, so that none calls itself; else 0,
 * with the graph's error. */
int gemel__hlo_is_before(gemel__hlo_call *c, const gemel__hlo_computation *called);

/* ---- Results ---- */

/* 0, with an error in the graph that names the instruction. GEMEL_UNSUPPORTED is none yet: the
 * instruction, or the one for which it is applied, becomes opaque (opaque.h). */
int gemel__hlo_refuse(gemel__hlo_call *c, gemel_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* BYTES of the import's arena; NULL, and the graph's error, when memory is out. */
void *gemel__hlo_room(gemel__hlo_call *c, size_t bytes);

/* *RESULT is the array VALUE: 1; 0 if that is null, which has the graph's error. */
int gemel__hlo_give(gemel__hlo_value *result, gemel_value value);

/* *RESULT is a tuple of N arrays. */
int gemel__hlo_give_tuple(gemel__hlo_call *c, gemel__hlo_value *result, size_t n,
                          const gemel_value *values);

/* ---- Building ---- */

/* DIMS = the sizes SIZES: 1, or 0 and the graph's error. */
int gemel__hlo_dims(gemel__hlo_call *c, int rank, const int64_t *sizes, gemel_dim *dims);

/* The scalar NUMBER of X's dtype; the sizes SIZES of X's elements in a row; X broadcast to them;
 * axis K of the result is axis AXES[k] of X, or a new one if that is -1. */
gemel_value gemel__hlo_number(gemel__hlo_call *c, gemel_dtype dtype, double number);
gemel_value gemel__hlo_reshape(gemel__hlo_call *c, gemel_value x, int rank, const int64_t *sizes);
gemel_value gemel__hlo_spread(gemel__hlo_call *c, gemel_value x, int rank, const int64_t *sizes);
gemel_value gemel__hlo_order(gemel__hlo_call *c, gemel_value x, int rank, const int64_t *axes);

/* 0, 1, ... along axis AXIS of RANK axes, N of them; the other axes have size 1. */
gemel_value gemel__hlo_iota(gemel__hlo_call *c, gemel_dtype dtype, int rank, int axis, int64_t n);

/* SIZES elements of X from START on, with steps (NULL: of 1). */
gemel_value gemel__hlo_part(gemel__hlo_call *c, gemel_value x, const int64_t *start,
                            const int64_t *sizes, const int64_t *steps);

/* X between LOW and HIGH elements of VALUE, with INTERIOR (NULL: none) between its own. */
gemel_value gemel__hlo_pad(gemel__hlo_call *c, gemel_value x, gemel_value value, const int64_t *low,
                           const int64_t *high, const int64_t *interior);

/* ---- Computations ---- */

/* *RESULT = what COMPUTATION makes of N operands, in C's graph. */
int gemel__hlo_apply(gemel__hlo_call *c, const gemel__hlo_computation *computation, size_t n,
                     const gemel__hlo_value *operands, gemel__hlo_value *result);

/* The same of scalars' computation, applied to N arrays element by element: its results, N_RESULTS
 * of them, broadcast to SIZES. */
int gemel__hlo_map(gemel__hlo_call *c, const gemel__hlo_computation *computation, size_t n,
                   const gemel_value *operands, int rank, const int64_t *sizes, size_t n_results,
                   gemel_value *results);

/* The opcode that COMPUTATION, of two scalars, applies to its parameters and does nothing else;
 * "first" and "second" if it is that parameter; NULL: it is something else. A sum of halves in f32,
 * rounded, is "add". */
const char *gemel__hlo_kind(const gemel__hlo_computation *computation);

/* 1 if VALUE is a constant scalar that is NUMBER; and one that changes nothing, for a computation
 * of this kind. */
int gemel__hlo_is_number(gemel_value value, double number);
int gemel__hlo_is_neutral(const char *kind, gemel_value value);

/* C within LOOP's body. */
gemel__hlo_call gemel__hlo_within(const gemel__hlo_call *c, gemel_loop *loop);

/* ---- Opcodes ---- */

typedef int gemel__hlo_function(gemel__hlo_call *c, gemel__hlo_value *result);

gemel__hlo_function gemel__hlo_bitcast, gemel__hlo_broadcast, gemel__hlo_concatenate,
    gemel__hlo_conditional, gemel__hlo_constant, gemel__hlo_convolution, gemel__hlo_dot,
    gemel__hlo_dynamic_slice, gemel__hlo_dynamic_update_slice, gemel__hlo_gather,
    gemel__hlo_iota_op, gemel__hlo_map_op, gemel__hlo_pad_op, gemel__hlo_reduce,
    gemel__hlo_reduce_precision, gemel__hlo_reduce_window, gemel__hlo_scatter,
    gemel__hlo_select_and_scatter, gemel__hlo_slice, gemel__hlo_sort, gemel__hlo_while;

#endif
