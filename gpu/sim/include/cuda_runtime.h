/* SPDX-License-Identifier: MIT
 *
 * CUDA's runtime for C++: the same as for C.
 */
#ifndef GEMEL__SIM_CUDA_RUNTIME_H
#define GEMEL__SIM_CUDA_RUNTIME_H

#include <cuda_runtime_api.h>

#endif
