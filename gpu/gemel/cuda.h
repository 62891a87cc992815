/* SPDX-License-Identifier: MIT
 *
 * An NVIDIA GPU as a device of gemel: <gemel/device.h> says what a device is. All work goes to one
 * stream; kernels are gemel's own, cuBLAS's for matrix products, and for clusters of elementwise
 * operations made when they are first met, by NVRTC. What a function asks for in a row is a CUDA
 * graph from the second call with the same addresses on.
 *
 * All functions may be called on several threads at once, but a GPU is closed when no other thread
 * uses it. An index that is outside, in work that one thread asked for, may also fail a call of
 * another thread that waits for the GPU meanwhile.
 */
#ifndef GEMEL_CUDA_H
#define GEMEL_CUDA_H

#include <stddef.h>
#include <gemel/device.h>
#include <gemel/function.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gemel_cuda gemel_cuda;

/* The GPU of number ORDINAL (from 0, as CUDA counts), to be closed by the caller. NULL on failure:
 * GEMEL_UNSUPPORTED (no such GPU, no driver, or one that is too old), GEMEL_DEVICE (whatever else
 * CUDA or cuBLAS says), GEMEL_NO_MEMORY. Thread-safe. */
gemel_cuda *gemel_cuda_open(int ordinal, gemel_error *error);

/* The same with all work in STREAM, a cudaStream_t of that GPU, which is the program's and stays
 * open until the device is closed: what the program asks of it before is done before, what it asks
 * behind is done behind. NULL: a stream of its own, as above. GEMEL_BAD_ARGUMENT: it is a stream of
 * another GPU. A call while the program captures STREAM fails, and the capture with it: calls
 * record themselves. */
gemel_cuda *gemel_cuda_open_on(int ordinal, void *stream, gemel_error *error);

/* Its record, for gemel_register_device, whose state is CUDA; it lives as long as CUDA does. NULL
 * for NULL. */
const gemel_device *gemel_cuda_device(const gemel_cuda *cuda);

/* Has functions whose gemel_options leave matmul_precision 0 multiply f32 by PRECISION on CUDA,
 * from the next call on that is planned; at first by GEMEL_PRECISION_IEEE. GEMEL_BAD_ARGUMENT: CUDA
 * is NULL, or there is no such precision. Not while functions are called. */
gemel_status gemel_cuda_set_precision(gemel_cuda *cuda, gemel_precision precision);

/* Waits for its work and gives all back. No context may use it any more, and no tensor may lie on
 * it. NULL is ignored. */
void gemel_cuda_close(gemel_cuda *cuda);

/* What the device was asked for since it was opened. Copies and launches that are part of a graph
 * count each time that it is launched. */
typedef struct gemel_cuda_counts {
  size_t size; /* sizeof(gemel_cuda_counts), set by the caller */
  size_t uploads, downloads;
  size_t kernels;            /* launched one by one, library calls among them */
  size_t graphs;             /* launched */
  size_t allocations, bytes; /* of CUDA: blocks, and their bytes, that are held now */
} gemel_cuda_counts;

/* Fills in COUNTS as far as its SIZE says. GEMEL_BAD_ARGUMENT: NULL, or SIZE is 0. Thread-safe. */
gemel_status gemel_cuda_counted(gemel_cuda *cuda, gemel_cuda_counts *counts);

#ifdef __cplusplus
}
#endif
#endif
