/* SPDX-License-Identifier: MIT
 *
 * Tensors: counted blocks of elements with a shape and byte strides. Strides may be negative, zero
 * or permuted; a tensor may be a view into another one's memory or into the program's own.
 */
#ifndef GEMEL_TENSOR_H
#define GEMEL_TENSOR_H

#include <stddef.h>
#include <stdint.h>
#include <gemel/dtype.h>
#include <gemel/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gemel_tensor gemel_tensor;

/* A description of elements in memory: DATA points at element (0, …, 0), STRIDES count bytes. The
 * arrays are borrowed. */
typedef struct gemel_view {
  gemel_dtype dtype;
  int rank;
  const int64_t *shape;
  const int64_t *strides;
  void *data;
} gemel_view;

/* Creates a tensor of zeros in row-major order, with one reference owned by the caller; the data is
 * aligned to 64 bytes. NULL on failure: GEMEL_BAD_SHAPE (rank outside 0..GEMEL_MAX_RANK, a negative
 * size, more than 2^62 bytes, or 2^30 where addresses have 32 bits), GEMEL_NO_MEMORY. Thread-safe.
 */
gemel_tensor *gemel_tensor_new(gemel_dtype dtype, int rank, const int64_t *shape,
                               gemel_error *error);

/* As gemel_tensor_new, with the elements of VIEW copied in. */
gemel_tensor *gemel_tensor_copy(const gemel_view *view, gemel_error *error);

/* Wraps memory of the program's own, which must outlive the tensor; RELEASE (may be NULL) is called
 * with USER when the last reference goes. STRIDES NULL means row-major. Nothing is copied. */
gemel_tensor *gemel_tensor_wrap(gemel_dtype dtype, int rank, const int64_t *shape,
                                const int64_t *strides, void *data, void (*release)(void *user),
                                void *user, gemel_error *error);

/* Takes one more reference and returns TENSOR / gives one back (NULL is ignored). Thread-safe. */
gemel_tensor *gemel_tensor_ref(gemel_tensor *tensor);
void gemel_tensor_unref(gemel_tensor *tensor);

/* Describes the tensor; the arrays live as long as the tensor does. */
gemel_view gemel_tensor_view(const gemel_tensor *tensor);

/* Element type, rank, shape, data pointer. */
gemel_dtype gemel_tensor_dtype(const gemel_tensor *tensor);
int gemel_tensor_rank(const gemel_tensor *tensor);
const int64_t *gemel_tensor_shape(const gemel_tensor *tensor);
void *gemel_tensor_data(const gemel_tensor *tensor);

/* Number of elements (1 for rank 0). */
int64_t gemel_tensor_elements(const gemel_tensor *tensor);

/* Reads a .npy file (versions 1 to 3, little-endian, C or Fortran order, no objects; strict: any
 * deviation or trailing data is GEMEL_BAD_FILE). Returns a new tensor or NULL.
 * Source: numpy.lib.format, NEP 1. */
gemel_tensor *gemel_npy_load(const char *path, gemel_error *error);

/* Writes a .npy file, version 1.0, row-major. The file appears whole or not at all (written aside
 * and renamed; what a link points to is replaced, unless the link is neither the user's nor root's:
 * then it is itself; a pipe or a device is written to). bf16 has no NPY name: GEMEL_UNSUPPORTED. */
gemel_status gemel_npy_save(const char *path, const gemel_view *view, gemel_error *error);

/* Reads a .npz file whose entries are stored (not compressed). NAMES and TENSORS get *COUNT entries
 * each, owned by the caller: release with gemel_npz_free. */
gemel_status gemel_npz_load(const char *path, char ***names, gemel_tensor ***tensors, size_t *count,
                            gemel_error *error);

/* Frees what gemel_npz_load or gemel_safetensors_load returned. */
void gemel_npz_free(char **names, gemel_tensor **tensors, size_t count);

/* Writes a stored .npz file of COUNT named tensors, whole or not at all. */
gemel_status gemel_npz_save(const char *path, const char *const *names,
                            gemel_tensor *const *tensors, size_t count, gemel_error *error);

/* Reads a .safetensors file: NAMES and TENSORS as gemel_npz_load, in the order of the data. The
 * file is mapped into memory and tensors lie in it, until the last of them goes; those that aren't
 * aligned to their elements are copied. Nobody may change or shorten the file meanwhile; what is
 * written to a tensor stays in memory. Metadata is read over. Strict: GEMEL_BAD_FILE for malformed
 * JSON, names that come twice, data that overlaps, leaves a hole, or isn't what dtype and shape
 * need, and whatever else the format forbids; GEMEL_UNSUPPORTED for dtypes that gemel doesn't have
 * and more than GEMEL_MAX_RANK axes; GEMEL_IO, GEMEL_NO_MEMORY.
 * Source: github.com/huggingface/safetensors, version 0.8. */
gemel_status gemel_safetensors_load(const char *path, char ***names, gemel_tensor ***tensors,
                                    size_t *count, gemel_error *error);

/* Writes a .safetensors file of COUNT named tensors, as safetensors' own writer does without
 * metadata, whole or not at all. GEMEL_BAD_ARGUMENT: a name comes twice, is "__metadata__" or no
 * UTF-8, or a tensor isn't on the host; GEMEL_UNSUPPORTED: the names need more than 100 MB;
 * GEMEL_IO, GEMEL_NO_MEMORY. */
gemel_status gemel_safetensors_save(const char *path, const char *const *names,
                                    gemel_tensor *const *tensors, size_t count, gemel_error *error);

#ifdef __cplusplus
}
#endif
#endif
