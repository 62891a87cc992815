/* SPDX-License-Identifier: MIT
 *
 * What every kernel file includes first. nvcc and NVRTC know the device language and get only the
 * three macros that a kernel file may not say in plain CUDA; any other C++ compiler gets the
 * language itself from the sim (sim/device.h), with the same macros.
 *
 *   GEMEL_KERNEL(id, kernel)             defines const void *gemel__kernel_<id>(void), in C, which
 *                                        gives what cudaLaunchKernel takes as a function
 *   GEMEL_SHARED(type, name, [32][33])   as __shared__ type name[32][33];
 *   GEMEL_DYNAMIC_SHARED(type, name)     as extern __shared__ type name[];
 */
#ifndef GEMEL__KERNELS_KERNEL_H
#define GEMEL__KERNELS_KERNEL_H

#ifdef __CUDACC__

#ifdef __CUDACC_RTC__
#define GEMEL_KERNEL(id, ...)
#else
#define GEMEL_KERNEL(id, ...)                                                                      \
  extern "C" const void *gemel__kernel_##id(void) {                                                \
    return (const void *)(__VA_ARGS__);                                                            \
  }
#endif
#define GEMEL_SHARED(type, name, dims) __shared__ type name dims
#define GEMEL_DYNAMIC_SHARED(type, name)                                                           \
  extern __shared__ __align__(16) unsigned char gemel__dynamic_shared[];                           \
  type *name = reinterpret_cast<type *>(gemel__dynamic_shared)

#elif !defined GEMEL__SIM_DEVICE_H /* which may be there already, precompiled */
#include "sim/device.h"
#endif

#endif
