/* SPDX-License-Identifier: MIT
 *
 * A model that was read: its bytes, checked, and where in them the weights stand.
 */
#ifndef GEMEL__ONNX_MODEL_H
#define GEMEL__ONNX_MODEL_H

#include <gemel/onnx.h>
#include "core/arena.h"
#include "onnx/proto.h"
#include "text/map.h"

struct gemel_onnx {
  gemel__file_map *map; /* NULL: the bytes are the caller's */
  gemel__wire_span bytes, graph;
  char *name, *folder, *graph_name; /* in the arena */
  size_t n_inputs;
  struct {
    const char *name, *spelled; /* as a graph has it, and as the file does */
  } * inputs;
  size_t n_weights;
  struct gemel__onnx_weight {
    gemel__wire_span tensor;
    const char *name;
  } * weights;
  gemel__arena arena;
};

/* SPAN as a name of gemel's: _ for bytes that such a name can't have, and before a digit; "_" if it
 * is empty. NULL when memory is out. */
char *gemel__onnx_name_of(gemel__arena *arena, gemel__wire_span span);

/* The dtype that ONNX's NUMBER stands for: GEMEL_OK, or GEMEL_UNSUPPORTED with the dtype's name. */
gemel_status gemel__onnx_dtype(int64_t number, gemel_dtype *dtype, gemel_error *error);

/* ONNX's number for DTYPE. */
int64_t gemel__onnx_dtype_number(gemel_dtype dtype);

/* 1 if tensors of MODEL may be in other files: the word that says so is somewhere in it. */
int gemel__onnx_has_files(const gemel_onnx *model);

/* 1 if both have the same nodes, weights, inputs and outputs, of the same versions of operators,
 * byte for byte: only what a model says of itself may differ. 0 where that isn't plain to see, as
 * where numbers are in other files. */
int gemel__onnx_same(const gemel_onnx *a, const gemel_onnx *b);

/* ---- Tensors ---- */

/* The tensor in a TensorProto of MODEL; errors as gemel_onnx_weight. */
gemel_tensor *gemel__onnx_tensor(const gemel_onnx *model, gemel__wire_span proto,
                                 gemel_error *error);

/* ---- Files ---- */

/* The bytes of a file. */
static inline gemel__wire_span gemel__onnx_bytes(const gemel__file_map *map) {
  return (gemel__wire_span){map->bytes, map->length};
}

#endif
