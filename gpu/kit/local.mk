# What a machine with a GPU is asked for, one truth for ci/gpu-kit's archive and `make gpu-check`; and what compiles
# generated kernels beforehand. One file a line, sorted. SPDX-License-Identifier: MIT

EXTRA_DIST += %reldir%/run
if NVCC
EXTRA_PROGRAMS += %reldir%/prewarm
CLEANFILES += %reldir%/prewarm
endif
gpu_kit_prewarm_CPPFLAGS = $(libgemel_gpu_a_CPPFLAGS)
gpu_kit_prewarm_SOURCES = %reldir%/prewarm.c
gpu_kit_prewarm_LDADD = libgemel-gpu.a libgemel.a $(gemel_LIBS) $(CUDA_LIBS) $(STDCXX_LIBS)
