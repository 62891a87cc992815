/* SPDX-License-Identifier: MIT
 *
 * Tensors: counted blocks of elements with a shape and byte strides. Strides may be negative, zero
 * or permuted; a tensor may be a view into another one's memory or into the program's own.
 *
 * All functions may be called on several threads at once, for one tensor too. Only elements are not
 * guarded: while one thread writes to them, no other may read or write them.
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
 * size, more than 2^62 bytes, or 2^30 where addresses have 32 bits, sizes of 0 taken as 1),
 * GEMEL_BAD_ARGUMENT (no such dtype, no shape), GEMEL_NO_MEMORY. Thread-safe. */
gemel_tensor *gemel_tensor_new(gemel_dtype dtype, int rank, const int64_t *shape,
                               gemel_error *error);

/* As gemel_tensor_new, with the elements of VIEW copied in. They lie on the host; VIEW isn't needed
 * any more afterwards. NULL on failure: as gemel_tensor_new, GEMEL_BAD_ARGUMENT (no view, or no
 * data for its elements). Strides that are NULL are those of row-major order. */
gemel_tensor *gemel_tensor_copy(const gemel_view *view, gemel_error *error);

/* Wraps memory of the program's own, which must outlive the tensor; RELEASE (may be NULL) is called
 * with USER when the last reference goes, on the thread that gives it back. STRIDES NULL means
 * row-major. No element is copied; shape and strides are. One reference, owned by the caller. NULL
 * on failure, when RELEASE isn't called and the memory is the program's as before: as
 * gemel_tensor_new, GEMEL_BAD_ARGUMENT (no DATA, but where there are no elements; DATA or a stride
 * isn't aligned to the elements), GEMEL_BAD_SHAPE (strides that reach beyond so many bytes). */
gemel_tensor *gemel_tensor_wrap(gemel_dtype dtype, int rank, const int64_t *shape,
                                const int64_t *strides, void *data, void (*release)(void *user),
                                void *user, gemel_error *error);

/* Takes one more reference and returns TENSOR (NULL for NULL) / gives one back (NULL is ignored).
 * Thread-safe. */
gemel_tensor *gemel_tensor_ref(gemel_tensor *tensor);
void gemel_tensor_unref(gemel_tensor *tensor);

/* Describes the tensor; the arrays live as long as the tensor does. For NULL a scalar of bools
 * whose pointers are NULL. */
gemel_view gemel_tensor_view(const gemel_tensor *tensor);

/* Element type, rank, shape, data pointer; the pointers live as long as the tensor does. Parts of
 * that view for NULL. */
gemel_dtype gemel_tensor_dtype(const gemel_tensor *tensor);
int gemel_tensor_rank(const gemel_tensor *tensor);
const int64_t *gemel_tensor_shape(const gemel_tensor *tensor);
void *gemel_tensor_data(const gemel_tensor *tensor);

/* Number of elements (1 for rank 0); 0 for NULL. */
int64_t gemel_tensor_elements(const gemel_tensor *tensor);

/* Reads a .npy file (versions 1 to 3, little-endian, C or Fortran order, no objects; strict: any
 * deviation or trailing data is GEMEL_BAD_FILE, as is a dtype that gemel doesn't have). Returns a
 * new tensor, with one reference owned by the caller, or NULL: GEMEL_BAD_FILE, GEMEL_BAD_SHAPE as
 * gemel_tensor_new, GEMEL_IO (PATH can't be read), GEMEL_BAD_ARGUMENT (no PATH), GEMEL_NO_MEMORY.
 * Source: numpy.lib.format, NEP 1. */
gemel_tensor *gemel_npy_load(const char *path, gemel_error *error);

/* Writes a .npy file, version 1.0, row-major. The elements of VIEW lie on the host. The file
 * appears whole or not at all (written aside and renamed; what a link points to is replaced, unless
 * the link is neither the user's nor root's: then it is itself; a pipe or a device is written to).
 * A file that is replaced gets the mode of a new one. Errors: GEMEL_UNSUPPORTED (bf16, which has no
 * name in NPY), GEMEL_IO, what gemel_tensor_copy says of the view, GEMEL_NO_MEMORY. */
gemel_status gemel_npy_save(const gemel_view *view, const char *path, gemel_error *error);

/* Reads a .npz file whose entries are stored (not compressed). *NAMES and *TENSORS become arrays of
 * *N_TENSORS entries each, owned by the caller: release with gemel_npz_free. On failure the three
 * are as before: GEMEL_BAD_FILE (what is no NPZ, a checksum that doesn't fit, an entry that
 * gemel_npy_load would refuse), GEMEL_UNSUPPORTED (entries that are compressed or encrypted),
 * GEMEL_BAD_SHAPE as gemel_tensor_new, GEMEL_IO, GEMEL_BAD_ARGUMENT (NULL), GEMEL_NO_MEMORY. */
gemel_status gemel_npz_load(const char *path, size_t *n_tensors, char ***names,
                            gemel_tensor ***tensors, gemel_error *error);

/* Frees what gemel_npz_load or gemel_safetensors_load returned: both arrays, the names, and a
 * reference to each tensor, of which the program may have taken more. */
void gemel_npz_free(size_t n_tensors, char **names, gemel_tensor **tensors);

/* Writes a stored .npz file of N_TENSORS named tensors, whole or not at all as gemel_npy_save.
 * Errors: GEMEL_BAD_ARGUMENT (NULL, also among names and tensors, a tensor that isn't on the host,
 * a name that comes twice, is empty or longer than 65531 bytes), GEMEL_UNSUPPORTED (bf16),
 * GEMEL_IO, GEMEL_NO_MEMORY. */
gemel_status gemel_npz_save(size_t n_tensors, const char *const *names,
                            gemel_tensor *const *tensors, const char *path, gemel_error *error);

/* Reads a .safetensors file: NAMES and TENSORS as gemel_npz_load, in the order of the data. The
 * file is mapped into memory and tensors lie in it, until the last of them goes; those that aren't
 * aligned to their elements are copied. Nobody may change or shorten the file meanwhile; what is
 * written to a tensor stays in memory. Metadata is read over. Strict: GEMEL_BAD_FILE for malformed
 * JSON, names that come twice, data that overlaps, leaves a hole, or isn't what dtype and shape
 * need, and whatever else the format forbids; GEMEL_UNSUPPORTED for dtypes that gemel doesn't have
 * and more than GEMEL_MAX_RANK axes; GEMEL_BAD_SHAPE as gemel_tensor_new; GEMEL_IO (also a pipe or
 * a device), GEMEL_BAD_ARGUMENT (NULL), GEMEL_NO_MEMORY. On failure the three are as before.
 * Source: github.com/huggingface/safetensors, version 0.8. */
gemel_status gemel_safetensors_load(const char *path, size_t *n_tensors, char ***names,
                                    gemel_tensor ***tensors, gemel_error *error);

/* Writes a .safetensors file of N_TENSORS named tensors, as safetensors' own writer does without
 * metadata, whole or not at all. GEMEL_BAD_ARGUMENT: a name comes twice, is "__metadata__" or no
 * UTF-8, a tensor isn't on the host, or something is NULL; GEMEL_UNSUPPORTED: the names need more
 * than 100 MB; GEMEL_IO, GEMEL_NO_MEMORY. */
gemel_status gemel_safetensors_save(size_t n_tensors, const char *const *names,
                                    gemel_tensor *const *tensors, const char *path,
                                    gemel_error *error);

#ifdef __cplusplus
}
#endif
#endif
