/* SPDX-License-Identifier: MIT
 *
 * NPY, NPZ and safetensors in memory.
 */
#ifndef GEMEL__TEXT_NPY_H
#define GEMEL__TEXT_NPY_H

#include <gemel/tensor.h>
#include "text/map.h"

/* The tensor in LENGTH bytes of NPY; WHAT names them in messages. */
gemel_tensor *gemel__npy_parse(const char *bytes, size_t length, const char *what,
                               gemel_error *error);

/* gemel_npz_load on LENGTH bytes. */
gemel_status gemel__npz_parse(const char *bytes, size_t length, const char *what, char ***names,
                              gemel_tensor ***tensors, size_t *count, gemel_error *error);

/* Writes the head of an NPY file of VIEW (magic to padding) to HEAD; its length. GEMEL_UNSUPPORTED
 * for bf16, which has no name in NPY. */
enum { GEMEL__NPY_HEAD = 1024 };
gemel_status gemel__npy_head(const gemel_view *view, char head[GEMEL__NPY_HEAD], size_t *length,
                             gemel_error *error);

/* GEMEL_OK if each of COUNT tensors to save is there, on the host, and has a name of its own. */
gemel_status gemel__check_named(size_t count, const char *const *names,
                                gemel_tensor *const *tensors, gemel_error *error);

/* gemel_safetensors_load on LENGTH bytes. They are part of MAP (NULL: they are not, and elements
 * are copied). */
gemel_status gemel__safetensors_parse(const char *bytes, size_t length, gemel__file_map *map,
                                      const char *what, char ***names, gemel_tensor ***tensors,
                                      size_t *count, gemel_error *error);

#endif
