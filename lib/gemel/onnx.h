/* SPDX-License-Identifier: MIT
 *
 * ONNX models as graphs: a model is read (gemel_onnx_load), and made into a graph of a context
 * (gemel_onnx_graph) as often as you like. Each operator becomes gemel's own operations; what is
 * computed of shapes becomes sizes, so that nothing of it is left in the graph. doc/onnx.md
 * says what is read, and gemel_onnx_operator lists the operators. All functions may be called on
 * several threads at once, for one model too; but it is freed when no other thread uses it.
 */
#ifndef GEMEL_ONNX_H
#define GEMEL_ONNX_H

#include <stddef.h>
#include <stdint.h>
#include <gemel/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A model that was read. It doesn't change, so threads may share it. */
typedef struct gemel_onnx gemel_onnx;

/* Reads the model in the file PATH. The file is mapped into memory, not copied; it must not change
 * while the model, or a tensor of gemel_onnx_weight, lives. Files of weights beside it (external
 * data) are mapped when they are asked for; they must lie in its folder or below. To be freed with
 * gemel_onnx_free. NULL on failure: GEMEL_IO, GEMEL_BAD_FILE (no model of ONNX; the byte),
 * GEMEL_BAD_ARGUMENT (no PATH), GEMEL_NO_MEMORY. Thread-safe. */
gemel_onnx *gemel_onnx_load(const char *path, gemel_error *error);

/* As gemel_onnx_load, of LENGTH BYTES in memory, which must outlive the model and its tensors. NAME
 * stands for the file in messages. FOLDER is that of external data; NULL: a model with such is
 * refused, when the data is asked for. NULL on failure, as gemel_onnx_load but for GEMEL_IO. */
gemel_onnx *gemel_onnx_parse(const void *bytes, size_t length, const char *name, const char *folder,
                             gemel_error *error);

/* Frees the model; NULL is ignored. Graphs made of it stay, and tensors. */
void gemel_onnx_free(gemel_onnx *model);

/* How many weights (initialisers of the main graph) the model has. */
size_t gemel_onnx_weight_count(const gemel_onnx *model);

/* The name of weight K as a graph has it (a letter or _ for each byte that gemel's names can't
 * have); borrowed from the model. NULL if there is none. */
const char *gemel_onnx_weight_name(const gemel_onnx *model, size_t k);

/* Weight K as a tensor, in the file's own bytes where they are aligned, to be released with
 * gemel_tensor_unref. NULL on failure: GEMEL_BAD_FILE (what it is made of doesn't fit its shape, a
 * file outside the folder), GEMEL_UNSUPPORTED (strings, complex numbers, fewer than 8 bits),
 * GEMEL_BAD_SHAPE as gemel_tensor_new, GEMEL_BAD_ARGUMENT (no such weight), GEMEL_IO,
 * GEMEL_NO_MEMORY. */
gemel_tensor *gemel_onnx_weight(const gemel_onnx *model, size_t k, gemel_error *error);

/* How many inputs the model has, without those that are weights, and the name of input K as a graph
 * has it; borrowed from the model. NULL if there is none. */
size_t gemel_onnx_input_count(const gemel_onnx *model);
const char *gemel_onnx_input_name(const gemel_onnx *model, size_t k);

/* The name of input K as the file has it; borrowed from the model. NULL if there is none. */
const char *gemel_onnx_input_spelled(const gemel_onnx *model, size_t k);

/* How a graph is made. Begin with {sizeof options}. */
typedef struct gemel_onnx_options {
  size_t size;
  /* Sizes for symbols of the model (dim_param): SIZES[k] for SYMBOLS[k]. */
  size_t n_symbols;
  const char *const *symbols;
  const int64_t *sizes;
  /* For each weight the name of the input that it becomes, several of the same type the same one if
   * they like; NULL: it is a constant. INPUTS itself is NULL if all are. */
  const char *const *inputs;
  /* Inputs that become constants: TENSORS[k] for the input called NAMES[k]. For models that take a
   * shape, axes or indices as inputs, which must be known when the graph is made. */
  size_t n_constants;
  const char *const *names;
  gemel_tensor *const *tensors;
  /* A graph of the same context, borrowed: a size that is a symbol, or isn't said, becomes that of
   * LIKE's input of the same name and rank, everywhere. So two models whose symbols have other
   * names have inputs of the same types. NULL: symbols are the model's. */
  const gemel_graph *like;
} gemel_onnx_options;

/* The model's graph; OPTIONS may be NULL. *NAME (NAME may be NULL) receives the graph's name, to be
 * freed with gemel_text_free. Inputs that have an initialiser are constants. Inputs and
 * outputs have the model's names, with _ for each byte that gemel's names can't have. Each node's
 * location is the model's name and the number of the node, from 1. NULL on failure:
 * GEMEL_UNSUPPORTED (an operator that isn't known: the node, and how many the model has of it),
 * GEMEL_BAD_FILE (a name that nothing makes, a missing attribute), GEMEL_NOT_FOUND (a symbol among
 * OPTIONS that isn't the model's), or the error of an operation, all with the node's name;
 * GEMEL_BAD_ARGUMENT (NULL, OPTIONS' size is 0), GEMEL_NO_MEMORY. The graph has one reference,
 * owned by the caller. Costs time linear in the model's size. Thread-safe. */
gemel_graph *gemel_onnx_graph(const gemel_onnx *model, gemel_context *context,
                              const gemel_onnx_options *options, char **name, gemel_error *error);

/* Operator K of those that gemel reads, in no particular order, and its domain ("" is ONNX's own);
 * NULL if there is none. Static storage; thread-safe. */
const char *gemel_onnx_operator(size_t k, const char **domain);

/* Reads a tensor as ONNX stores it in a file of its own (a TensorProto; .pb), as beside the models
 * of its tests. NULL on failure, as gemel_onnx_weight. Thread-safe. */
gemel_tensor *gemel_onnx_tensor_load(const char *path, gemel_error *error);

/* Writes TENSOR to the file PATH in that form, called NAME (NULL: nothing), whole or not at all.
 * Errors: GEMEL_IO, GEMEL_BAD_ARGUMENT (no TENSOR, or it isn't on the host, no PATH),
 * GEMEL_NO_MEMORY. Thread-safe. */
gemel_status gemel_onnx_tensor_save(const gemel_tensor *tensor, const char *name, const char *path,
                                    gemel_error *error);

#ifdef __cplusplus
}
#endif
#endif
