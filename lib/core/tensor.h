/* SPDX-License-Identifier: MIT
 *
 * Inside a tensor. Shape and strides lie behind the struct, and the elements of a tensor that owns
 * them behind those, in the same block, aligned to 64 bytes.
 */
#ifndef GEMEL__CORE_TENSOR_H
#define GEMEL__CORE_TENSOR_H

#include <stddef.h>
#include <stdint.h>
#include <gemel/context.h>
#include <gemel/tensor.h>

#define GEMEL__DATA_ALIGNMENT 64
/* What a tensor, or memory for several, has at most: 2^62 bytes, or 2^30 where addresses have 32
 * bits, so that sums of a few fit size_t. */
enum { GEMEL__MAX_BYTES_LOG2 = 8 * sizeof(size_t) - 2 };
#define GEMEL__MAX_BYTES ((int64_t)1 << GEMEL__MAX_BYTES_LOG2)

/* BYTES, a product of what tensors have, to be asked for; if that is too much, what is always
 * refused. */
static inline size_t gemel__bytes(int64_t bytes) {
  return bytes <= GEMEL__MAX_BYTES ? (size_t)bytes : SIZE_MAX / 2 + 1;
}

struct gemel_tensor {
  long references; /* counted atomically */
  gemel_dtype dtype;
  int rank;
  const struct gemel_device *device; /* NULL: the host */
  size_t device_bytes;               /* of a tensor on another */
  void *data;                        /* element (0, ..., 0) */
  void (*release)(void *user);
  void *user;
  size_t block_bytes;
  int64_t *shape; /* RANK each, behind the struct */
  int64_t *strides;
};

/* Checks RANK and SHAPE and writes the row-major byte strides, the number of elements and their
 * bytes. Strides are those that the shape has with empty axes taken as 1. Errors as
 * gemel_tensor_new. */
gemel_status gemel__row_major(gemel_dtype dtype, int rank, const int64_t *shape, int64_t *strides,
                              int64_t *elements, int64_t *bytes, gemel_error *error);

/* 1 if elements of SHAPE with STRIDES lie in row-major order without gaps (empty ones do). */
int gemel__is_row_major(size_t element_bytes, int rank, const int64_t *shape,
                        const int64_t *strides);

/* The strides in bytes of images [batch, channels, spatial axes...] without gaps and with their
 * channels last. Three axes or more. */
void gemel__channels_last_strides(size_t element_bytes, int rank, const int64_t *shape,
                                  int64_t *strides);

/* 1 if the elements lie so, and not row-major too. Strides of axes of size 1 don't count. */
int gemel__is_channels_last(size_t element_bytes, int rank, const int64_t *shape,
                            const int64_t *strides);

/* As gemel_tensor_new, with the elements left uninitialised. */
gemel_tensor *gemel__tensor_raw(gemel_dtype dtype, int rank, const int64_t *shape,
                                gemel_error *error);

/* A tensor on the host with this shape and strides and no data. */
gemel_tensor *gemel__tensor_described(gemel_dtype dtype, int rank, const int64_t *shape,
                                      const int64_t *strides, gemel_error *error);

/* Asks the system for huge pages where BYTES is big enough for them to pay. */
void gemel__advise_huge(void *data, size_t bytes);

/* Writes "[2, 3]" to TEXT (cut off at BYTES); returns TEXT. */
char *gemel__format_shape(int rank, const int64_t *shape, char *text, size_t bytes);

#endif
