/* SPDX-License-Identifier: MIT
 *
 * Copies of strided elements, whatever their strides: the one place that walks arbitrary layouts.
 */
#ifndef GEMEL__CORE_STRIDED_H
#define GEMEL__CORE_STRIDED_H

#include <stddef.h>
#include <stdint.h>

/* Drops axes of size 1 and merges neighbouring axes that all N layouts walk without a gap, so that
 * loops are few and long. SIZES has RANK entries; STRIDES is N rows of STEP entries each. Returns
 * the new rank (0 for one element). Row-major order is kept. */
int gemel__collapse(int rank, int64_t *sizes, int n, int64_t *strides, int step);

/* Copies the elements (1, 2, 4 or 8 bytes each) of a shape from one layout to another. The two must
 * not overlap. Strides count bytes. */
void gemel__copy_strided(size_t element_bytes, int rank, const int64_t *shape, void *to,
                         const int64_t *to_strides, const void *from, const int64_t *from_strides);

/* The same on up to THREADS threads where that pays. */
void gemel__copy_parallel(int threads, size_t element_bytes, int rank, const int64_t *shape,
                          void *to, const int64_t *to_strides, const void *from,
                          const int64_t *from_strides);

/* Copies N elements of BYTES bytes each, TO_STEP and FROM_STEP bytes apart. */
void gemel__copy_row(size_t bytes, int64_t n, char *to, int64_t to_step, const char *from,
                     int64_t from_step);

#endif
