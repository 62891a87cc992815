# The device "cuda": calls of CUDA's runtime, cuBLAS, cuDNN, cuSOLVER and NVRTC. Built for GPUs where there is nvcc, and
# always for the sim. One file a line, sorted. SPDX-License-Identifier: MIT

gpu_sources =
gpu_sources += %reldir%/blas.c
gpu_sources += %reldir%/compile.c
gpu_sources += %reldir%/compile.h
gpu_sources += %reldir%/conv-cudnn.c
gpu_sources += %reldir%/cuda.h
gpu_sources += %reldir%/device.c
gpu_sources += %reldir%/errors.c
gpu_sources += %reldir%/fuse-text.c
gpu_sources += %reldir%/fuse.c
gpu_sources += %reldir%/fuse.h
gpu_sources += %reldir%/lower.c
gpu_sources += %reldir%/pool.c
gpu_sources += %reldir%/queue.c
gpu_sources += %reldir%/rows.c
gpu_sources += %reldir%/steps.c
gpu_sources += %reldir%/solver.c
gpu_sources += %reldir%/text.h
EXTRA_DIST += %reldir%/embed.awk

# What generated kernels include.
kernel_headers =
kernel_headers += gpu/kernels/kernel.h
kernel_headers += gpu/kernels/rows.h
kernel_headers += gpu/kernels/scalar-rows.h
kernel_headers += gpu/kernels/scalar.h
kernel_headers += gpu/kernels/several.h
kernel_headers += gpu/kernels/types.h
kernel_headers += lib/ops/elementwise-function.h
kernel_headers += lib/ops/elementwise-gamma.h
kernel_headers += lib/ops/elementwise-math.h
kernel_headers += lib/ops/elementwise-normal.h
kernel_headers += lib/ops/elementwise-pow.h
kernel_headers += lib/ops/scalar.def
CLEANFILES += gpu/cuda/headers.c
gpu/cuda/headers.c: $(kernel_headers) %reldir%/embed.awk
	$(AM_V_GEN)$(MKDIR_P) gpu/cuda && \
	  $(AWK) -f $(srcdir)/%reldir%/embed.awk `for f in $(kernel_headers); do echo $(srcdir)/$$f; done` >$@.tmp && \
	  mv $@.tmp $@

if GPU_SIM
check_LIBRARIES += libgemel-gpu-on-sim.a
endif
libgemel_gpu_on_sim_a_CPPFLAGS = $(gpu_sim_cppflags)
libgemel_gpu_on_sim_a_CFLAGS = $(AM_CFLAGS) -Wno-overlength-strings
libgemel_gpu_on_sim_a_SOURCES = $(gpu_sources)
nodist_libgemel_gpu_on_sim_a_SOURCES = gpu/cuda/headers.c
libgemel_gpu_on_sim_a_LIBADD = $(kernel_sources:.cu=.sim.$(OBJEXT))
libgemel_gpu_on_sim_a_DEPENDENCIES = $(libgemel_gpu_on_sim_a_LIBADD)

# For GPUs: what a program links besides libgemel.a. CUDA's libraries are the program's own to link,
# as gemel-gpu.pc says.
if NVCC
lib_LIBRARIES += libgemel-gpu.a
pkgconfig_DATA += gpu/gemel-gpu.pc
gemelinclude_HEADERS += gpu/gemel/cuda.h
endif

# The gemel command once more, for GPUs: `gemel --device cuda` starts it, so that gemel itself needs
# none of CUDA's libraries, which take long to load.
if NVCC
bin_PROGRAMS += gemel-cuda
endif
gemel_cuda_CPPFLAGS = $(AM_CPPFLAGS) $(BLAS_CFLAGS) -I$(srcdir)/gpu $(CUDA_CPPFLAGS) -DGEMEL__CUDA=1
gemel_cuda_SOURCES = $(gemel_SOURCES)
gemel_cuda_LDADD = libgemel-gpu.a $(libraries) $(CUDA_LIBS) $(STDCXX_LIBS)
libgemel_gpu_a_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/gpu $(CUDA_CPPFLAGS) $(CUDNN_CPPFLAGS) $(CUSOLVER_CPPFLAGS)
libgemel_gpu_a_CFLAGS = $(AM_CFLAGS) -Wno-overlength-strings
libgemel_gpu_a_SOURCES = $(gpu_sources)
nodist_libgemel_gpu_a_SOURCES = gpu/cuda/headers.c
libgemel_gpu_a_LIBADD = $(kernel_sources:.cu=.gpu.$(OBJEXT))
libgemel_gpu_a_DEPENDENCIES = $(libgemel_gpu_a_LIBADD)

# A kernel file for GPUs: X.cu becomes X.gpu.o. Its PTX is made once, for the oldest architecture, as no kernel
# asks for what a later one has. From it come the code for each of GPU_ARCHITECTURES and, by the driver,
# that for all others.
GPU_ARCHITECTURES = 75 80 90 100
NVCCFLAGS = -O2
gpu_code = $(GPU_ARCHITECTURES:%=sm_%) compute_75
nvcc_flags = -std=c++17 $(NVCCFLAGS) -fmad=false -Werror all-warnings -Xcompiler -fPIC \
	$(gpu_code:%=-gencode arch=compute_75,code=%)
%.gpu.$(OBJEXT): %.cu
	$(AM_V_GEN)$(MKDIR_P) $(@D) && $(NVCC) $(nvcc_flags) -I$(srcdir)/gpu -I$(builddir)/lib -I$(srcdir)/lib \
	  -MD -MF $@.d -c -o $@ $<
-include $(wildcard gpu/kernels/*.gpu.*.d)
clean-local: clean-gpu
clean-gpu:
	rm -f gpu/kernels/*.gpu.*
.PHONY: clean-gpu
