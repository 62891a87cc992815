/* SPDX-License-Identifier: MIT
 *
 * Walking over two strided blocks of memory side by side, row by row: for kernels that combine what
 * they read with what is there. Plain copies are in copy.h.
 */
#ifndef GEMEL__CPU_WALK_H
#define GEMEL__CPU_WALK_H

#include <stdint.h>
#include <gemel/tensor.h>

/* Handles N elements: TO and FROM advance by their strides (bytes). */
typedef void (*gemel__row_function)(int64_t n, char *to, int64_t to_stride, const char *from,
                                    int64_t from_stride);

/* Calls ROW for rows that together cover SHAPE, each element once, axes merged where possible. */
void gemel__walk(gemel__row_function row, int rank, const int64_t *shape, char *to,
                 const int64_t *to_strides, const char *from, const int64_t *from_strides);

/* Copies FROM to TO, of the same dtype and shape; they don't overlap. */
void gemel__copy_view(const gemel_view *to, const gemel_view *from);

/* Writes the element at VALUE to every element of the row-major view TO, of the same dtype. */
void gemel__fill_view(const gemel_view *to, const void *value);

/* Row-major byte strides of SHAPE for elements of ITEM bytes. */
void gemel__packed_strides(int64_t item, int rank, const int64_t *shape, int64_t *strides);

#endif
