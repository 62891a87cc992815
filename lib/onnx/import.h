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

typedef struct gemel__importer {
  const gemel_onnx *model;
  const gemel_onnx_options *options;
  gemel_context *context;
  gemel_graph *graph;
  gemel_error *error;
  gemel__arena arena;          /* sizes, names, and keys of functions */
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

/* The value called NAME, or NULL. */
gemel__onnx_value *gemel__onnx_find(const gemel__importer *in, gemel__wire_span name);

/* Makes NAME known: NULL, and the error, if the graph has it already or memory is out. */
gemel__onnx_value *gemel__onnx_define(gemel__importer *in, gemel__wire_span name,
                                      gemel__onnx_value value);

/* Applies the nodes that are field NODES of MESSAGE, a graph or function. */
gemel_status gemel__onnx_nodes(gemel__importer *in, gemel__wire_span message, uint32_t nodes);

/* Defines the initialisers of a graph; those of the main graph may become inputs. */
gemel_status gemel__onnx_initializers(gemel__importer *in, gemel__wire_span graph, int main);

/* The row of an operator; NULL if there is none. */
const gemel__onnx_row *gemel__onnx_row_of(gemel__wire_span domain, gemel__wire_span name);

/* VALUE as a value of the graph, made now if need be. */
gemel_value gemel__onnx_value_in(gemel__onnx_call *c, gemel__onnx_value *value);

#endif
