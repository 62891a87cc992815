/* SPDX-License-Identifier: MIT
 *
 * A model on its way into a graph: the names that are known, and the nodes of a graph or function
 * applied one after the other. A body of If or Loop sees the names around it, a function only its
 * own; what they defined is unknown again behind them.
 */
#ifndef GEMEL__ONNX_IMPORT_H
#define GEMEL__ONNX_IMPORT_H

#include "onnx/model.h"
#include "onnx/names.h"

/* Tensors that were computed while the model was read. */
typedef struct gemel__onnx_folded {
  gemel_tensor *tensor;
  struct gemel__onnx_folded *next;
} gemel__onnx_folded;

/* A loop whose body is being made, in the graph around it. */
typedef struct gemel__onnx_loop {
  gemel_loop *loop;
  gemel_graph *around;
  const struct gemel__onnx_loop *outer; /* the one in whose body it is; NULL: none */
} gemel__onnx_loop;

/* A symbol of the model that was met, and what it stands for. */
typedef struct gemel__onnx_symbol {
  const char *symbol;
  gemel_dim dim;
  struct gemel__onnx_symbol *next;
} gemel__onnx_symbol;

typedef struct gemel__importer {
  const gemel_onnx *model;
  const gemel_onnx_options *options;
  gemel_context *context;
  gemel_graph *graph;           /* to which nodes are added: that of the model, or a body's */
  const gemel__onnx_loop *loop; /* of that body; NULL: none */
  gemel_error *error;
  gemel__arena arena; /* sizes, names, and keys of functions */
  gemel__onnx_folded *folded;
  gemel__onnx_symbol *symbols; /* where options->like gives them sizes */
  gemel__onnx_names names;     /* of values */
  gemel__onnx_names functions; /* of the model, by domain and name */
  size_t weights;              /* the first entries: those of the main graph */
  int64_t applied;             /* functions and branches, so far */
  size_t floor;                /* entries below it are those of a function's caller, and not seen */
  size_t scope;                /* entries from it on are of the graph whose nodes are applied */
  int64_t node;                /* of the main graph, from 1 */
  int depth;                   /* of functions and branches */
  gemel__wire_span function;   /* whose nodes are applied; no bytes: none */
  const gemel__onnx_call *caller; /* of the function whose nodes are applied, or NULL */
  int64_t opset;                  /* the version of ONNX's operators in force */
} gemel__importer;

/* VALUE as a value of the graph, made now if need be. */
gemel_value gemel__onnx_value_in(gemel__onnx_call *c, gemel__onnx_value *value);

/* Makes RESULTS, one for each output of C, its outputs. */
void gemel__onnx_results(gemel__onnx_call *c, gemel__onnx_value *results);

/* Applies BODY, a graph among C's attributes, to INPUTS, one for each of its inputs: GEMEL_OK and
 * its results, or the status of the error, which is C's graph's too. */
gemel_status gemel__onnx_body(gemel__onnx_call *c, gemel__wire_span body, size_t n_inputs,
                              const gemel__onnx_value *inputs, size_t n_results,
                              gemel__onnx_value *results);

/* Computes the node C if its inputs are known and short: 1 (c->first has the result), 0 if it can't
 * be, -1 on failure. */
int gemel__onnx_fold(gemel__onnx_call *c);

/* Makes RESULT, which is the importer's from now on, the result of C: 1, or -1 and the error. */
int gemel__onnx_keep(gemel__onnx_call *c, gemel_tensor *result);

/* Releases what was computed so. */
void gemel__onnx_forget_folded(gemel__importer *in);

#endif
