/* SPDX-License-Identifier: MIT
 *
 * Texts of kernels, compiled when they are first met and kept.
 */
#ifndef GEMEL__CUDA_COMPILE_H
#define GEMEL__CUDA_COMPILE_H

#include <gemel/cuda.h>

/* *KERNEL = what is launched for the function NAME of TEXT. GEMEL_DECLINED if there is no compiler
 * for it; GEMEL_INTERNAL if it refuses the text, with what it says; GEMEL_DEVICE if it or CUDA
 * fails; GEMEL_NO_MEMORY. Thread-safe. */
gemel_status gemel__cuda_compile(gemel_cuda *cuda, const char *text, const char *name,
                                 const void **kernel, gemel_error *error);

#endif
