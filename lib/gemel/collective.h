/* SPDX-License-Identifier: MIT
 *
 * Collective operations: values on N devices, one each, become N results, one on each of these
 * devices, as MPI's and NCCL's collectives do. A program that trains on several devices has a part
 * of the data, a copy of the weights and a gradient on each, and adds the gradients up by an
 * all-reduce: examples/parallel.c.
 *
 *   gemel_value slopes[4];                    one in each of the memory spaces 1 to 4
 *   gemel_all_reduce(4, slopes, slopes);      each is the sum of all
 *
 * They are made of transfers, sums and joins, so they have derivatives, and are rewritten and
 * verified as any graph is. Sums are added in the order of the devices: all results have the same
 * bits. Bytes go from device to device by way of the host. VALUES are N > 0 values of one graph, of
 * one dtype and rank; a device may have several. RESULTS is an array of N, which may be VALUES;
 * what it holds after a failure are null values.
 *
 * Each appends to the graph, so it is one thread's at a time, and returns GEMEL_OK or the status of
 * the graph's error: GEMEL_BAD_ARGUMENT (no values, values of two graphs), GEMEL_NO_MEMORY, and as
 * each says.
 */
#ifndef GEMEL_COLLECTIVE_H
#define GEMEL_COLLECTIVE_H

#include <gemel/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Each result is the sum of all values, which have one shape. Where its size is a number, each
 * device adds up a part, and gets the others' from them: 2 (N - 1) / N of a value's bytes go to a
 * device, whatever N is. Where it isn't, the first device adds up all. Source: Thakur,
 * Rabenseifner and Gropp, Optimization of collective communication operations in MPICH, 2005,
 * section 4.5. Errors: GEMEL_BAD_SHAPE, GEMEL_BAD_TYPE (they differ). */
gemel_status gemel_all_reduce_at(size_t n, const gemel_value *values, gemel_value *results,
                                 gemel_location where);
#define gemel_all_reduce(n, values, results) gemel_all_reduce_at(n, values, results, GEMEL_HERE)

/* The sum of all values, which have one shape, cut along AXIS (from the end if it is negative) into
 * N parts, the first of which are longer by 1 where N doesn't divide the axis, as NumPy's
 * array_split cuts: result k is part k. Errors: GEMEL_BAD_ARGUMENT (no such axis), GEMEL_BAD_SHAPE
 * (shapes differ, the axis's length isn't a number), GEMEL_BAD_TYPE (dtypes differ). */
gemel_status gemel_reduce_scatter_at(size_t n, const gemel_value *values, int axis,
                                     gemel_value *results, gemel_location where);
#define gemel_reduce_scatter(n, values, axis, results)                                             \
  gemel_reduce_scatter_at(n, values, axis, results, GEMEL_HERE)

/* Each result is all values joined along AXIS, in the order of the devices; they may differ in
 * length there. Errors: those of gemel_join. */
gemel_status gemel_all_gather_at(size_t n, const gemel_value *values, int axis,
                                 gemel_value *results, gemel_location where);
#define gemel_all_gather(n, values, axis, results)                                                 \
  gemel_all_gather_at(n, values, axis, results, GEMEL_HERE)

#ifdef __cplusplus
}
#endif
#endif
