/* SPDX-License-Identifier: MIT
 *
 * ONNX models for the commands (onnx.c).
 */
#ifndef GEMEL__TOOLS_ONNX_H
#define GEMEL__TOOLS_ONNX_H

#include "tool.h"

/* 1 if PATH is called as ONNX models are. */
int gemel__is_model(const char *path);

/* GEMEL__BAD (said) if a --dim is no NAME=SIZE. */
int gemel__model_sizes_check(const gemel__args *args);

/* *GRAPH = that of the model in the file PATH, with the sizes that ARGS (NULL: none) give by --dim.
 * GEMEL__BAD, GEMEL__LACKING (said), and *GRAPH is NULL. *NAME as gemel_load has it. */
int gemel__model_read(gemel_context *context, const char *path, gemel_graph **graph, char **name,
                      const gemel__args *args);

/* The graphs of the two models that are ARGS' operands. GEMEL__BAD, GEMEL__LACKING (said); GRAPHS
 * are the caller's in any case, or NULL. *WHY is GEMEL_OK, or what reading the first that failed
 * reports. */
int gemel__models_read(gemel_context *context, const gemel__args *args, gemel_graph *graphs[2],
                       char **name, gemel_status *why);

#endif
