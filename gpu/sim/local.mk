# The sim: CUDA's entry points and device language on a CPU. For tests only, never installed.
# One file a line, sorted. SPDX-License-Identifier: MIT

if GPU_SIM
check_LIBRARIES += libgemel-gpu-sim.a
endif
gpu_sim_cppflags = $(AM_CPPFLAGS) -I$(srcdir)/gpu -I$(srcdir)/gpu/sim/include -DGEMEL__CUDNN=1 -DGEMEL__CUSOLVER=1
gpu_sim_ldflags = $(AM_LDFLAGS) -rdynamic
gpu_sim_ldadd = libgemel-gpu-sim.a $(LDADD) -ldl
# What nvrtc.c compiles texts with, at run time.
libgemel_gpu_sim_a_CPPFLAGS = $(gpu_sim_cppflags) -DGEMEL__SIM_CXX='"$(CXX)"' \
	-DGEMEL__SIM_CXXFLAGS='"$(GPU_SIM_CXXFLAGS)"' -DGEMEL__SIM_UNIQUE='"$(GPU_SIM_UNIQUE)"' \
	-DGEMEL__SIM_FOLDER='"$(abs_srcdir)/gpu"' -DGEMEL__SIM_PCH='"$(abs_builddir)/%reldir%/pch"' $(gpu_sim_home)
if CUDA_HEADERS
gpu_sim_home = -DGEMEL__CUDA_HOME='"$(CUDA_HOME)"'
endif
libgemel_gpu_sim_a_SOURCES =
libgemel_gpu_sim_a_SOURCES += %reldir%/blas.c
libgemel_gpu_sim_a_SOURCES += %reldir%/block.c
libgemel_gpu_sim_a_SOURCES += %reldir%/calls.h
libgemel_gpu_sim_a_SOURCES += %reldir%/check.c
libgemel_gpu_sim_a_SOURCES += %reldir%/conv.c
libgemel_gpu_sim_a_SOURCES += %reldir%/conv.h
libgemel_gpu_sim_a_SOURCES += %reldir%/count.c
libgemel_gpu_sim_a_SOURCES += %reldir%/cudnn.c
libgemel_gpu_sim_a_SOURCES += %reldir%/cusolver.c
libgemel_gpu_sim_a_SOURCES += %reldir%/device.h
libgemel_gpu_sim_a_SOURCES += %reldir%/devices.c
libgemel_gpu_sim_a_SOURCES += %reldir%/events.c
libgemel_gpu_sim_a_SOURCES += %reldir%/extent.h
libgemel_gpu_sim_a_SOURCES += %reldir%/fault.c
libgemel_gpu_sim_a_SOURCES += %reldir%/gemm.c
libgemel_gpu_sim_a_SOURCES += %reldir%/gemm.h
libgemel_gpu_sim_a_SOURCES += %reldir%/graph.c
libgemel_gpu_sim_a_SOURCES += %reldir%/hooks.c
libgemel_gpu_sim_a_SOURCES += %reldir%/image.h
libgemel_gpu_sim_a_SOURCES += %reldir%/inside.h
libgemel_gpu_sim_a_SOURCES += %reldir%/launch.c
libgemel_gpu_sim_a_SOURCES += %reldir%/libm.c
libgemel_gpu_sim_a_SOURCES += %reldir%/library.c
libgemel_gpu_sim_a_SOURCES += %reldir%/memory.c
libgemel_gpu_sim_a_SOURCES += %reldir%/nvrtc.c
libgemel_gpu_sim_a_SOURCES += %reldir%/pairs.h
libgemel_gpu_sim_a_SOURCES += %reldir%/pinned.c
libgemel_gpu_sim_a_SOURCES += %reldir%/random.c
libgemel_gpu_sim_a_SOURCES += %reldir%/real-nvrtc.c
libgemel_gpu_sim_a_SOURCES += %reldir%/real-nvrtc.h
libgemel_gpu_sim_a_SOURCES += %reldir%/report.c
libgemel_gpu_sim_a_SOURCES += %reldir%/runtime.c
libgemel_gpu_sim_a_SOURCES += %reldir%/shared.c
libgemel_gpu_sim_a_SOURCES += %reldir%/shared.h
libgemel_gpu_sim_a_SOURCES += %reldir%/sim.h
libgemel_gpu_sim_a_SOURCES += %reldir%/sort.c
libgemel_gpu_sim_a_SOURCES += %reldir%/steps.c
libgemel_gpu_sim_a_SOURCES += %reldir%/stream.c
libgemel_gpu_sim_a_SOURCES += %reldir%/task.c
libgemel_gpu_sim_a_SOURCES += %reldir%/warp.c
EXTRA_DIST += %reldir%/README.md
EXTRA_DIST += %reldir%/alike.awk
EXTRA_DIST += %reldir%/include
EXTRA_DIST += %reldir%/simcc
EXTRA_DIST += %reldir%/simcc.awk

# A kernel file for the sim: X.cu becomes X.sim.o.
sim_compile = $(MKDIR_P) $(@D) && from=`realpath --relative-to=. $(srcdir)` && $(CXX) $(GPU_SIM_CXXFLAGS) \
	  -ffile-prefix-map=$$from/= -ffile-prefix-map=$(abs_builddir)=. \
	  -I$$from/gpu -I$$from/gpu/sim/include -I$(builddir)/lib -I$$from/lib -MD -MP -MF $@.d -x c++
%.sim.$(OBJEXT): %.cu
	$(AM_V_CXX)$(sim_compile) -c -o $@ $$from/$*.cu
-include $(wildcard gpu/kernels/*.sim.*.d tests/kernels/*.sim.*.d)
clean-local: clean-gpu-sim
clean-gpu-sim:
	rm -f gpu/kernels/*.sim.* tests/kernels/*.sim.*
	rm -rf %reldir%/pch

# The device language, read once for all texts that nvrtc.c compiles; where it is missing or the compiler
# doesn't take it, they only take longer. The flags must be the same.
gpu_sim_pch = %reldir%/pch/sim/device.h.gch
$(gpu_sim_pch): %reldir%/device.h %reldir%/calls.h
	$(AM_V_GEN)$(MKDIR_P) %reldir%/pch/sim && $(CXX) $(GPU_SIM_CXXFLAGS) -w -fPIC -fvisibility=hidden \
	  $(GPU_SIM_UNIQUE) -I$(srcdir)/gpu -I$(srcdir)/gpu/sim/include -x c++-header -o $@ $(srcdir)/%reldir%/device.h
check_DATA =
if GPU_SIM
check_DATA += $(gpu_sim_pch)
endif

# The sim's headers say what NVIDIA's say.
CLEANFILES += %reldir%/alike.c %reldir%/alike.ok
gpu_sim_headers = cublas_v2.h cuda_runtime_api.h nvrtc.h vector_types.h
if CUDNN_HEADERS
gpu_sim_headers += cudnn.h
endif
if CUSOLVER_HEADERS
gpu_sim_headers += cusolverDn.h
endif
%reldir%/alike.ok: %reldir%/alike.awk $(gpu_sim_headers:%=gpu/sim/include/%)
	$(AM_V_GEN)$(MKDIR_P) %reldir% && \
	  $(AWK) -f $(srcdir)/%reldir%/alike.awk $(gpu_sim_headers:%=$(srcdir)/gpu/sim/include/%) >%reldir%/alike.c && \
	  $(CC) -std=gnu11 -Wno-deprecated-declarations $(CUDA_CPPFLAGS) $(CUDNN_CPPFLAGS) $(CUSOLVER_CPPFLAGS) -fsyntax-only %reldir%/alike.c && touch $@
if CUDA_HEADERS
check_DATA += %reldir%/alike.ok
endif
.PHONY: clean-gpu-sim

# For the gemel command, which has the device "cuda" on the sim, as "sim". What generated kernels
# include is installed.
if GPU_SIM
noinst_LIBRARIES += libgemel-sim-for-command.a
device_libraries += libgemel-gpu-on-sim.a libgemel-sim-for-command.a
device_LIBS += $(STDCXX_LIBS) -ldl
device_cppflags += -DGEMEL__SIM=1 -I$(srcdir)/gpu -I$(srcdir)/gpu/sim/include
gemel_LDFLAGS += -rdynamic
simdir = $(pkgdatadir)/gpu/sim
dist_sim_DATA = %reldir%/device.h %reldir%/calls.h
siminclude_DATA = $(sim_includes)
simincludedir = $(simdir)/include
endif
sim_includes = %reldir%/include/cuda_runtime.h %reldir%/include/cuda_runtime_api.h %reldir%/include/vector_types.h
libgemel_sim_for_command_a_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/gpu -I$(srcdir)/gpu/sim/include \
	-DGEMEL__SIM_CXX='"$(CXX)"' -DGEMEL__SIM_CXXFLAGS='"$(GPU_SIM_CXXFLAGS)"' \
	-DGEMEL__SIM_UNIQUE='"$(GPU_SIM_UNIQUE)"' -DGEMEL__SIM_FOLDER='"$(pkgdatadir)/gpu"' \
	-DGEMEL__SIM_PCH='"$(pkgdatadir)/gpu"' $(gpu_sim_home)
libgemel_sim_for_command_a_SOURCES = $(libgemel_gpu_sim_a_SOURCES)
