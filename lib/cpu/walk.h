/* SPDX-License-Identifier: MIT
 *
 * Walking over two strided blocks of memory side by side, and copying one to the other. Axes are
 * merged where both sides allow it, so a contiguous block is one row; where the source runs across
 * the destination (a transpose), the walk goes by square tiles that fit the cache.
 */
#ifndef GEMEL__CPU_WALK_H
#define GEMEL__CPU_WALK_H

#include <stddef.h>
#include <stdint.h>
#include <gemel/tensor.h>

/* Handles N elements: TO and FROM advance by their strides (bytes). */
typedef void (*gemel__row_function)(int64_t n, char *to, int64_t to_stride, const char *from,
                                    int64_t from_stride);

/* Calls ROW for rows that together cover SHAPE, each element once, in no promised order. ITEM is the
 * size of an element of TO, which contiguous rows advance by. */
void gemel__walk(gemel__row_function row, int64_t item, int rank, const int64_t *shape, char *to,
                 const int64_t *to_strides, const char *from, const int64_t *from_strides);

/* Copies elements of ITEM (1, 2, 4 or 8) bytes. */
void gemel__copy_strided(int64_t item, int rank, const int64_t *shape, void *to,
                         const int64_t *to_strides, const void *from, const int64_t *from_strides);

/* Copies FROM to TO, of the same dtype and shape. */
void gemel__copy_view(const gemel_view *to, const gemel_view *from);

/* Writes the ITEM bytes at VALUE to every element of the row-major block of COUNT elements at TO. */
void gemel__fill(int64_t item, int64_t count, void *to, const void *value);

/* Row-major strides of SHAPE for elements of ITEM bytes. */
void gemel__row_major(int64_t item, int rank, const int64_t *shape, int64_t *strides);

/* 1 if the elements of VIEW lie row-major without gaps (strides of axes of size 1 don't matter, and
 * an empty view does). */
int gemel__is_row_major(const gemel_view *view);

#endif
