# The kernels: one source for nvcc and, through the sim, for any C++ compiler.
# One file a line, sorted. SPDX-License-Identifier: MIT

kernel_sources =
kernel_sources += gpu/kernels/along.cu
kernel_sources += gpu/kernels/conv-gemm.cu
kernel_sources += gpu/kernels/conv.cu
kernel_sources += gpu/kernels/elementwise.cu
kernel_sources += gpu/kernels/index.cu
kernel_sources += gpu/kernels/linalg.cu
kernel_sources += gpu/kernels/pool.cu
kernel_sources += gpu/kernels/random.cu
kernel_sources += gpu/kernels/reduce.cu
kernel_sources += gpu/kernels/search.cu
kernel_sources += gpu/kernels/shape.cu
kernel_sources += gpu/kernels/softmax.cu
kernel_sources += gpu/kernels/solve.cu
kernel_sources += gpu/kernels/sort.cu
kernel_sources += gpu/kernels/take.cu
EXTRA_DIST += $(kernel_sources)
EXTRA_DIST += %reldir%/conv-algorithms.h
EXTRA_DIST += %reldir%/conv.def
EXTRA_DIST += %reldir%/conv.h
EXTRA_DIST += %reldir%/host.h
EXTRA_DIST += %reldir%/kernel.h
EXTRA_DIST += %reldir%/rows.h
EXTRA_DIST += %reldir%/scalar-rows.h
EXTRA_DIST += %reldir%/scalar.h
EXTRA_DIST += %reldir%/several.h
EXTRA_DIST += %reldir%/sort.h
EXTRA_DIST += %reldir%/strided.h
EXTRA_DIST += %reldir%/types.h
EXTRA_DIST += gpu/gemel/cuda.h
EXTRA_DIST += gpu/lower.def
