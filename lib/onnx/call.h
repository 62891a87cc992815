/* SPDX-License-Identifier: MIT
 *
 * What the function of an operator sees of a node, and what it asks with. A function returns the
 * node's first result and puts others into OUTPUTS; where it returns the null value, the error is
 * in the graph, by whatever builder failed, or by gemel__onnx_refuse.
 */
#ifndef GEMEL__ONNX_CALL_H
#define GEMEL__ONNX_CALL_H

#include <gemel/composite.h>
#include "core/arena.h"
#include "onnx/proto.h"

struct gemel__composite;
struct gemel__importer;

/* Integers that are computed of shapes, as sizes: a scalar or a vector. They may be on their way
 * through a cast to floats and back; DTYPE says so. */
typedef struct gemel__sizes {
  gemel_dtype dtype;
  int rank;
  size_t count;
  const gemel_dim *dims;
} gemel__sizes;

enum { GEMEL__ONNX_MOST_SIZES = 1024 /* of a list that is taken for sizes */ };

/* A value of the model. Either VALUE is in the graph, or it becomes so when somebody needs it, from
 * SIZES, from the TensorProto, or from what it is BOUND to. */
typedef struct gemel__onnx_value {
  gemel_value value;
  gemel__wire_span tensor;
  gemel_tensor *bound;       /* what the caller has bound an input to, borrowed; or NULL */
  const gemel__sizes *sizes; /* NULL: not known as such */
  int no_sizes;              /* 1: TENSOR was looked at, and is none */
} gemel__onnx_value;

struct gemel__onnx_call;

typedef struct gemel__onnx_row {
  const char *domain, *name;
  size_t least, most; /* inputs; MOST 0: any number */
  gemel_value (*build)(struct gemel__onnx_call *call);
  const char *as; /* what BUILD shares among operators: gemel's operation, say */
  const struct gemel__composite *text; /* what gemel__onnx_by_text applies */
} gemel__onnx_row;

typedef struct gemel__onnx_call {
  struct gemel__importer *importer;
  gemel_graph *graph;
  gemel_context *context;
  gemel__arena *arena;                   /* of the node: emptied behind it */
  gemel__wire_span node, function;       /* FUNCTION: the one in whose body NODE is */
  const struct gemel__onnx_call *caller; /* the node that applies it; NULL: none */
  const gemel__onnx_row *row;
  int64_t opset;
  gemel_location where;
  size_t n_inputs, n_outputs;
  gemel__onnx_value **inputs;
  gemel_value *outputs;
  gemel__onnx_row own_row; /* what ROW is for an operator that is a text */
  gemel__onnx_value first; /* instead of the first result: sizes, or a tensor that is known */
} gemel__onnx_call;

/* A list of integers in the node's arena. */
typedef struct gemel__int_list {
  size_t count;
  int64_t *values;
} gemel__int_list;

/* ---- Inputs ---- */

/* 1 if input K is given. */
int gemel__onnx_given(const gemel__onnx_call *c, size_t k);

/* Input K as a value of the graph; null, and the graph's error, if it is left out or can't be. */
gemel_value gemel__onnx_input(gemel__onnx_call *c, size_t k);

/* Input K as sizes, or NULL if it isn't known as such; and the same if it is of floats. */
const gemel__sizes *gemel__onnx_sizes(gemel__onnx_call *c, size_t k);
const gemel__sizes *gemel__onnx_cast_sizes(gemel__onnx_call *c, size_t k);

/* Input K as integers that are known: 1, or 0 and the graph's error. */
int gemel__onnx_integers(gemel__onnx_call *c, size_t k, gemel__int_list *list);

/* Input K as a tensor that is known, to be released; NULL and no error if it isn't. */
gemel_tensor *gemel__onnx_known(gemel__onnx_call *c, size_t k);

/* 1 and *NUMBER if input K is one number that is known; else 0. */
int gemel__onnx_number(gemel__onnx_call *c, size_t k, double *number);

/* The first element of T as a scalar constant. */
gemel_value gemel__onnx_first_element(gemel__onnx_call *c, const gemel_tensor *t);

/* Rank, dims and dtype of a value. */
int gemel__onnx_rank(gemel_value value);
const gemel_dim *gemel__onnx_dims(gemel_value value);
gemel_dtype gemel__onnx_dtype_of(gemel_value value);

/* ---- Attributes ----
 *
 * One of another kind than is asked for is absent, and the graph's error. */

/* Attribute NAME, or FALLBACK if it is absent. */
int64_t gemel__onnx_int(const gemel__onnx_call *c, const char *name, int64_t fallback);
double gemel__onnx_float(const gemel__onnx_call *c, const char *name, double fallback);

/* Number K of the list of floats that is attribute NAME, or FALLBACK if there is none. */
double gemel__onnx_float_at(const gemel__onnx_call *c, const char *name, size_t k, double fallback);

/* The text of attribute NAME; no bytes, NULL, if it is absent. */
gemel__wire_span gemel__onnx_text(const gemel__onnx_call *c, const char *name);

/* 1 if the text of attribute NAME is one of WORDS, which have spaces between them, or it is absent;
 * else 0 and the graph's error. */
int gemel__onnx_is_one_of(gemel__onnx_call *c, const char *name, const char *words);

/* Text K of the list that is attribute NAME; no bytes, NULL, if there is none. */
gemel__wire_span gemel__onnx_text_at(const gemel__onnx_call *c, const char *name, size_t k);

/* The AttributeProto of this name; no bytes, NULL, if it is absent. */
gemel__wire_span gemel__onnx_attribute(const gemel__onnx_call *c, const char *name);

/* The integers of attribute NAME: 1; 0 if it is absent; -1 when memory is out (the graph's error).
 */
int gemel__onnx_ints(gemel__onnx_call *c, const char *name, gemel__int_list *list);

/* Axes, from attribute "axes" or from input K, counted from the front of RANK axes: 1, 0 if there
 * are none, -1 on failure. */
int gemel__onnx_axes(gemel__onnx_call *c, size_t k, int rank, gemel__int_list *axes);

/* AXIS of RANK counted from the front; -1, and the graph's error, if there is no such axis. */
int gemel__onnx_axis(gemel__onnx_call *c, int64_t axis, int rank);

/* ---- Errors ---- */

/* The null value, with an error in the graph that names the node. */
gemel_value gemel__onnx_refuse(gemel__onnx_call *c, gemel_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* BYTES of the node's arena; NULL, and the graph's error, when memory is out. */
void *gemel__onnx_room(gemel__onnx_call *c, size_t bytes);

/* ---- Values ---- */

/* An activation that attributes name: an operator of one input, with as many parameters as it
 * takes, and their values where they are absent. */
typedef struct gemel__onnx_activation {
  const struct gemel__composite *operator_; /* NULL: Clip, with its bounds */
  size_t takes;
  double fallback[2];
} gemel__onnx_activation;

/* *ACTIVATION = the one called NAME: 1, or 0 and the graph's error. */
int gemel__onnx_activation_find(gemel__onnx_call *c, gemel__wire_span name,
                                gemel__onnx_activation *activation);

/* ACTIVATION of X with these two PARAMETERS, as far as it takes them. */
gemel_value gemel__onnx_activate(gemel__onnx_call *c, const gemel__onnx_activation *activation,
                                 gemel_value x, const double *parameters);

/* The activation that attribute "activation" names, of X; X if there is none. */
gemel_value gemel__onnx_activated(gemel__onnx_call *c, gemel_value x);

/* X between two bounds. */
gemel_value gemel__onnx_clip_to(gemel__onnx_call *c, gemel_value x, double low, double high);

/* The correlation of X and WEIGHTS, with the strides, dilations, pads and groups of C. */
gemel_value gemel__onnx_correlate(gemel__onnx_call *c, gemel_value x, gemel_value weights);

/* The same in so many groups. */
gemel_value gemel__onnx_correlate_groups(gemel__onnx_call *c, gemel_value x, gemel_value weights,
                                         int64_t groups);

/* The correlation of images X with input 1 of C: filters as ONNX Runtime stores them for blocks of
 * channels, of 16 where this machine has AVX-512 and the filters allow it, else of 8. */
gemel_value gemel__onnx_correlate_blocked(gemel__onnx_call *c, gemel_value x);

/* X in f32 where it is narrower. */
gemel_value gemel__onnx_widened(gemel__onnx_call *c, gemel_value x);

/* X, which has one element, as a scalar. */
gemel_value gemel__onnx_scalar(gemel__onnx_call *c, gemel_value x);

/* The result of an operator that is computed of sizes: 1 (c->first has them), 0 if its inputs
 * aren't sizes or the operator isn't such, -1 on failure. */
int gemel__onnx_by_sizes(gemel__onnx_call *c);

/* 1 if SIZES are there and all numbers; these as a tensor, to be released, or NULL and the error.
 */
int gemel__onnx_sizes_are_known(gemel__onnx_call *c, const gemel__sizes *sizes);
gemel_tensor *gemel__onnx_sizes_tensor(gemel__onnx_call *c, const gemel__sizes *sizes,
                                       gemel_error *error);

/* SIZES as a value of the graph. */
gemel_value gemel__onnx_sizes_value(gemel__onnx_call *c, const gemel__sizes *sizes);

#endif
