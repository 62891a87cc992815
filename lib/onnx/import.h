/* SPDX-License-Identifier: MIT
 *
 * A model on its way into a graph: the names that are known, and the nodes of a graph or function
 * applied one after the other. A branch of If sees the names around it, a function only its own;
 * what they defined is unknown again behind them.
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

typedef struct gemel__importer {
  const gemel_onnx *model;
  const gemel_onnx_options *options;
  gemel_context *context;
  gemel_graph *graph;
  gemel_error *error;
  gemel__arena arena; /* sizes, names, and keys of functions */
  gemel__onnx_folded *folded;
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

/* Computes the node C if its inputs are known and short: 1 (c->first has the result), 0 if it can't
 * be, -1 on failure. */
int gemel__onnx_fold(gemel__onnx_call *c);

/* Makes RESULT, which is the importer's from now on, the result of C: 1, or -1 and the error. */
int gemel__onnx_keep(gemel__onnx_call *c, gemel_tensor *result);

/* Releases what was computed so. */
void gemel__onnx_forget_folded(gemel__importer *in);

#endif
