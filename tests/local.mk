# The tests: one program a family, tests/t-<family>.c, in C, run by GoogleTest through the shim ct.h.
# A new program is one line: under library_tests if it needs libgemel.a alone, under verify_tests if
# it needs the harness too. One file a line, sorted. SPDX-License-Identifier: MIT

library_tests =
library_tests += %reldir%/t-accuracy
library_tests += %reldir%/t-along
library_tests += %reldir%/t-assume
library_tests += %reldir%/t-autotune
library_tests += %reldir%/t-binary
library_tests += %reldir%/t-check
library_tests += %reldir%/t-composite
library_tests += %reldir%/t-composites
library_tests += %reldir%/t-conv
library_tests += %reldir%/t-cpp
library_tests += %reldir%/t-cpp-nn
library_tests += %reldir%/t-ct
library_tests += %reldir%/t-dims
library_tests += %reldir%/t-dtype
library_tests += %reldir%/t-dump
library_tests += %reldir%/t-facts
library_tests += %reldir%/t-grad
library_tests += %reldir%/t-graph
library_tests += %reldir%/t-graphs
library_tests += %reldir%/t-index
library_tests += %reldir%/t-invoke
library_tests += %reldir%/t-lift
library_tests += %reldir%/t-linalg
library_tests += %reldir%/t-loop
library_tests += %reldir%/t-memory
library_tests += %reldir%/t-pool
library_tests += %reldir%/t-profile
library_tests += %reldir%/t-rewrite
library_tests += %reldir%/t-run
library_tests += %reldir%/t-npy
library_tests += %reldir%/t-safetensors
library_tests += %reldir%/t-dlpack
library_tests += %reldir%/t-onnx
library_tests += %reldir%/t-onnx-attention
library_tests += %reldir%/t-onnx-blocked
library_tests += %reldir%/t-onnx-edges
library_tests += %reldir%/t-onnx-fused
library_tests += %reldir%/t-onnx-linear-attention
library_tests += %reldir%/t-onnx-loops
library_tests += %reldir%/t-onnx-nodes
library_tests += %reldir%/t-hlo
library_tests += %reldir%/t-onnx-operators
library_tests += %reldir%/t-calls
library_tests += %reldir%/t-null
library_tests += %reldir%/t-scan
library_tests += %reldir%/t-scan-calls
library_tests += %reldir%/t-scan-grad
library_tests += %reldir%/t-scan-passes
library_tests += %reldir%/t-scan-pull
library_tests += %reldir%/t-scan-push
library_tests += %reldir%/t-schedule
library_tests += %reldir%/t-shape
library_tests += %reldir%/t-shape-rules
library_tests += %reldir%/t-shared
library_tests += %reldir%/t-train
library_tests += %reldir%/t-updates
library_tests += %reldir%/t-sizes
library_tests += %reldir%/t-softmax
library_tests += %reldir%/t-solve
library_tests += %reldir%/t-take
library_tests += %reldir%/t-terms
library_tests += %reldir%/t-text
library_tests += %reldir%/t-tensor
library_tests += %reldir%/t-elementwise
library_tests += %reldir%/t-random
library_tests += %reldir%/t-reduce
library_tests += %reldir%/t-scale
library_tests += %reldir%/t-waits

verify_tests =
verify_tests += %reldir%/t-verify
verify_tests += %reldir%/t-assumed
verify_tests += %reldir%/t-besides
verify_tests += %reldir%/t-bound
verify_tests += %reldir%/t-certify
verify_tests += %reldir%/t-cpp-operation
verify_tests += %reldir%/t-channels-last
verify_tests += %reldir%/t-certify-wrong
verify_tests += %reldir%/t-device
verify_tests += %reldir%/t-domain
verify_tests += %reldir%/t-embed
verify_tests += %reldir%/t-equal
verify_tests += %reldir%/t-extremes
verify_tests += %reldir%/t-functions
verify_tests += %reldir%/t-fuzz
verify_tests += %reldir%/t-onnx-pairs
verify_tests += %reldir%/t-outputs
verify_tests += %reldir%/t-unread
verify_tests += %reldir%/t-pairs
verify_tests += %reldir%/t-passes
verify_tests += %reldir%/t-needs
verify_tests += %reldir%/t-jobs
verify_tests += %reldir%/t-join
verify_tests += %reldir%/t-teams
verify_tests += %reldir%/t-lifted
verify_tests += %reldir%/t-kernels
verify_tests += %reldir%/t-kernels-allowed
verify_tests += %reldir%/t-kernels-subtle
verify_tests += %reldir%/t-hostile
verify_tests += %reldir%/t-infinity
verify_tests += %reldir%/t-model
verify_tests += %reldir%/t-mutate
verify_tests += %reldir%/t-operation
verify_tests += %reldir%/t-installed
verify_tests += %reldir%/t-own
verify_tests += %reldir%/t-optimized
verify_tests += %reldir%/t-taylor
verify_tests += %reldir%/t-derivatives
verify_tests += %reldir%/t-streamed
verify_tests += %reldir%/t-threads
verify_tests += %reldir%/t-ordered
verify_tests += %reldir%/t-points
verify_tests += %reldir%/t-rtensor
verify_tests += %reldir%/t-reference
verify_tests += %reldir%/t-reference-graph
verify_tests += %reldir%/t-rules-corpus
verify_tests += %reldir%/t-models
verify_tests += %reldir%/t-samplers
verify_tests += %reldir%/t-scan-saved
verify_tests += %reldir%/t-scan-unrolled
verify_tests += %reldir%/t-special
verify_tests += %reldir%/t-stop
verify_tests += %reldir%/t-chain
verify_tests += %reldir%/t-conv-grid
verify_tests += %reldir%/t-dual
verify_tests += %reldir%/t-field
verify_tests += %reldir%/t-normal
verify_tests += %reldir%/t-propose
verify_tests += %reldir%/t-refused
verify_tests += %reldir%/t-symbolize
if Z3
verify_tests += %reldir%/t-solver
verify_tests += %reldir%/t-claims
verify_tests += %reldir%/t-claims-altered
verify_tests += %reldir%/t-rule-kinds
verify_tests += %reldir%/t-unbounded
verify_tests += %reldir%/t-unbounded-parts
verify_tests += %reldir%/t-unbounded-pulls
verify_tests += %reldir%/t-unbounded-recorded
verify_tests += %reldir%/t-unbounded-exponentials
verify_tests += %reldir%/t-unbounded-hints
verify_tests += %reldir%/t-unbounded-scalar
verify_tests += %reldir%/t-unbounded-terms
endif

# What must find planted faults: linked with the library compiled once more, with the faults of tests/faults.
fault_tests =
fault_tests += %reldir%/t-faults
fault_ldadd = %reldir%/libct.a libgemel-verify.a libgemel-faults.a $(gemel_LIBS) $(VERIFY_LIBS) \
	$(GTEST_LIBS) $(STDCXX_LIBS)
fault_cppflags = $(AM_CPPFLAGS) $(planted_cppflags)

# What runs kernels on the sim (gpu/sim). Each also takes the lines
# tests_t_NAME_CPPFLAGS = $(gpu_sim_cppflags), tests_t_NAME_LDFLAGS = $(gpu_sim_ldflags) and its LDADD,
# with the objects of its kernels.
sim_tests =
sim_tests += %reldir%/t-sim
tests_t_sim_CPPFLAGS = $(gpu_sim_cppflags)
tests_t_sim_LDFLAGS = $(gpu_sim_ldflags)
tests_t_sim_LDADD = %reldir%/kernels/crimes.sim.$(OBJEXT) %reldir%/kernels/legal.sim.$(OBJEXT) \
	%reldir%/kernels/planted.sim.$(OBJEXT) $(gpu_sim_ldadd)
sim_tests += %reldir%/t-gpu-examples
tests_t_gpu_examples_CPPFLAGS = $(gpu_sim_cppflags)
tests_t_gpu_examples_LDFLAGS = $(gpu_sim_ldflags)
tests_t_gpu_examples_LDADD = libgemel-gpu-on-sim.a libgemel-gpu-sim.a $(LDADD) -ldl
if VERIFY
sim_tests += %reldir%/t-cuda
sim_tests += %reldir%/t-cuda-calls
sim_tests += %reldir%/t-cuda-conv
sim_tests += %reldir%/t-cuda-collective
sim_tests += %reldir%/t-cuda-devices
sim_tests += %reldir%/t-cuda-lifted
sim_tests += %reldir%/t-cuda-scan
sim_tests += %reldir%/t-cuda-solve
sim_tests += %reldir%/t-cudnn-plans
sim_tests += %reldir%/t-gpu-faults
endif
tests_t_cuda_calls_CPPFLAGS = $(gpu_sim_cppflags)
tests_t_cuda_calls_LDFLAGS = $(gpu_sim_ldflags)
tests_t_cuda_calls_LDADD = $(tests_t_cuda_LDADD)
tests_t_cuda_collective_CPPFLAGS = $(gpu_sim_cppflags)
tests_t_cuda_collective_LDFLAGS = $(gpu_sim_ldflags)
tests_t_cuda_collective_LDADD = $(tests_t_gpu_examples_LDADD)
tests_t_cuda_devices_CPPFLAGS = $(gpu_sim_cppflags)
tests_t_cuda_devices_LDFLAGS = $(gpu_sim_ldflags)
tests_t_cuda_devices_LDADD = $(tests_t_cuda_LDADD)
tests_t_cuda_conv_CPPFLAGS = $(gpu_sim_cppflags)
tests_t_cuda_conv_LDFLAGS = $(gpu_sim_ldflags)
tests_t_cuda_conv_LDADD = $(tests_t_cuda_LDADD)
# Not with -rdynamic, nor t-sim-cudnn: NVIDIA's library, which they load, must not find their functions.
tests_t_cudnn_plans_CPPFLAGS = $(gpu_sim_cppflags) $(gpu_sim_home)
tests_t_cudnn_plans_LDADD = $(tests_t_cuda_LDADD)
tests_t_cuda_lifted_CPPFLAGS = $(gpu_sim_cppflags)
tests_t_cuda_lifted_LDFLAGS = $(gpu_sim_ldflags)
tests_t_cuda_lifted_LDADD = $(tests_t_cuda_LDADD)
tests_t_cuda_scan_CPPFLAGS = $(gpu_sim_cppflags)
tests_t_cuda_scan_LDFLAGS = $(gpu_sim_ldflags)
tests_t_cuda_scan_LDADD = $(tests_t_cuda_LDADD)
tests_t_cuda_solve_CPPFLAGS = $(gpu_sim_cppflags)
tests_t_cuda_solve_LDFLAGS = $(gpu_sim_ldflags)
tests_t_cuda_solve_LDADD = $(tests_t_cuda_LDADD)
tests_t_cuda_CPPFLAGS = $(gpu_sim_cppflags)
tests_t_cuda_LDFLAGS = $(gpu_sim_ldflags)
tests_t_cuda_LDADD = libgemel-gpu-on-sim.a libgemel-gpu-sim.a %reldir%/libct.a libgemel-verify.a libgemel.a \
	$(gemel_LIBS) $(VERIFY_LIBS) $(GTEST_LIBS) $(STDCXX_LIBS) -ldl
sim_tests += %reldir%/t-sim-counts
tests_t_sim_counts_CPPFLAGS = $(gpu_sim_cppflags)
tests_t_sim_counts_LDFLAGS = $(gpu_sim_ldflags)
tests_t_sim_counts_LDADD = %reldir%/kernels/counted.sim.$(OBJEXT) $(gpu_sim_ldadd)
sim_tests += %reldir%/t-sim-cudnn
tests_t_sim_cudnn_CPPFLAGS = $(gpu_sim_cppflags) $(gpu_sim_home)
tests_t_sim_cudnn_LDADD = $(gpu_sim_ldadd)
sim_tests += %reldir%/t-sim-devices
tests_t_sim_devices_CPPFLAGS = $(gpu_sim_cppflags)
tests_t_sim_devices_LDFLAGS = $(gpu_sim_ldflags)
tests_t_sim_devices_LDADD = %reldir%/kernels/stream.sim.$(OBJEXT) $(gpu_sim_ldadd)
sim_tests += %reldir%/t-sim-solver
tests_t_sim_solver_CPPFLAGS = $(gpu_sim_cppflags)
tests_t_sim_solver_LDFLAGS = $(gpu_sim_ldflags)
tests_t_sim_solver_LDADD = $(gpu_sim_ldadd)
sim_tests += %reldir%/t-sim-libraries
tests_t_sim_libraries_CPPFLAGS = $(gpu_sim_cppflags) $(gpu_sim_home)
tests_t_sim_libraries_LDFLAGS = $(gpu_sim_ldflags)
tests_t_sim_libraries_LDADD = $(gpu_sim_ldadd)
sim_tests += %reldir%/t-sim-sort
tests_t_sim_sort_CPPFLAGS = $(gpu_sim_cppflags)
tests_t_sim_sort_LDFLAGS = $(gpu_sim_ldflags)
tests_t_sim_sort_LDADD = $(gpu_sim_ldadd)
sim_tests += %reldir%/t-sim-streams
tests_t_sim_streams_CPPFLAGS = $(gpu_sim_cppflags)
tests_t_sim_streams_LDFLAGS = $(gpu_sim_ldflags)
tests_t_sim_streams_LDADD = %reldir%/kernels/stream.sim.$(OBJEXT) $(gpu_sim_ldadd)

# The same programs on a GPU, linked with NVIDIA's libraries, for `make gpu-check`; `make check` builds
# them. One line in gpu_tests, and SOURCES, CPPFLAGS and LDADD.
gpu_tests =
if GPU_CHECK
gpu_tests += %reldir%/t-cuda-on-gpu
gpu_tests += %reldir%/t-cuda-conv-on-gpu
gpu_tests += %reldir%/t-cuda-lifted-on-gpu
gpu_tests += %reldir%/t-cuda-scan-on-gpu
gpu_tests += %reldir%/t-cuda-solve-on-gpu
gpu_tests += %reldir%/t-gpu-examples-on-gpu
endif
EXTRA_PROGRAMS += $(gpu_tests)
CLEANFILES += $(gpu_tests)
check_DATA += $(gpu_tests)
on_gpu_cppflags = $(AM_CPPFLAGS) -I$(srcdir)/gpu $(CUDNN_CPPFLAGS) $(CUSOLVER_CPPFLAGS) -DGEMEL_ON_GPU=1
on_gpu_ldadd = libgemel-gpu.a $(LDADD) $(CUDA_LIBS)
tests_t_cuda_on_gpu_SOURCES = %reldir%/t-cuda.c
tests_t_cuda_on_gpu_CPPFLAGS = $(on_gpu_cppflags)
tests_t_cuda_on_gpu_LDADD = $(on_gpu_ldadd)
tests_t_cuda_conv_on_gpu_SOURCES = %reldir%/t-cuda-conv.c
tests_t_cuda_conv_on_gpu_CPPFLAGS = $(on_gpu_cppflags)
tests_t_cuda_conv_on_gpu_LDADD = $(on_gpu_ldadd)
tests_t_cuda_lifted_on_gpu_SOURCES = %reldir%/t-cuda-lifted.c
tests_t_cuda_lifted_on_gpu_CPPFLAGS = $(on_gpu_cppflags)
tests_t_cuda_lifted_on_gpu_LDADD = $(on_gpu_ldadd)
tests_t_cuda_scan_on_gpu_SOURCES = %reldir%/t-cuda-scan.c
tests_t_cuda_scan_on_gpu_CPPFLAGS = $(on_gpu_cppflags)
tests_t_cuda_scan_on_gpu_LDADD = $(on_gpu_ldadd)
tests_t_cuda_solve_on_gpu_SOURCES = %reldir%/t-cuda-solve.c
tests_t_cuda_solve_on_gpu_CPPFLAGS = $(on_gpu_cppflags)
tests_t_cuda_solve_on_gpu_LDADD = $(on_gpu_ldadd)
tests_t_gpu_examples_on_gpu_SOURCES = %reldir%/t-gpu-examples.c
tests_t_gpu_examples_on_gpu_CPPFLAGS = $(on_gpu_cppflags)
tests_t_gpu_examples_on_gpu_LDADD = $(on_gpu_ldadd)
EXTRA_DIST += %reldir%/hlo.cases
EXTRA_DIST += %reldir%/fuzz-binary.c
EXTRA_DIST += %reldir%/fuzz-composites.c
EXTRA_DIST += %reldir%/fuzz-hlo.c
EXTRA_DIST += %reldir%/fuzz-onnx.c
EXTRA_DIST += %reldir%/fuzz-pairs.c
EXTRA_DIST += %reldir%/fuzz-replay.c
EXTRA_DIST += %reldir%/fuzz-rules.c
EXTRA_DIST += %reldir%/fuzz-safetensors.c
EXTRA_DIST += %reldir%/fuzz-text.c
EXTRA_DIST += %reldir%/fuzz.h
EXTRA_DIST += %reldir%/gpu-check
if GPU_CHECK
gpu-check: gemel gemel-cuda $(gpu_tests)
	@$(AM_TESTS_ENVIRONMENT) $(SHELL) $(srcdir)/%reldir%/gpu-check
else
gpu-check:
	@echo "gpu-check: configure found no CUDA toolkit with nvcc, no GoogleTest or no harness" >&2; exit 77
endif
.PHONY: gpu-check

EXTRA_DIST += %reldir%/kernels/counted.cu
EXTRA_DIST += %reldir%/kernels/crimes.cu
EXTRA_DIST += %reldir%/kernels/legal.cu
EXTRA_DIST += %reldir%/kernels/planted.cu
EXTRA_DIST += %reldir%/kernels/planted.h
EXTRA_DIST += %reldir%/kernels/stream.cu
# The libraries with planted faults: copies of the sources that have some (tests/faults/plant), and all others as
# they are, each into an object below %reldir%/planted.
planted = %reldir%/planted
planted_cppflags = -I$(builddir)/%reldir% -I$(srcdir)/%reldir%
planted_flags = -I$(planted)/lib -I$(planted)/gpu -I$(planted)/verify $(planted_cppflags) -include support/fault.h
CLEANFILES += libgemel-faults.a libgemel-gpu-faults-on-sim.a
clean-local: clean-planted
clean-planted:
	rm -rf $(planted)
planted_host = $(planted)/fault.$(OBJEXT) \
	$(patsubst %.c,$(planted)/%.$(OBJEXT),$(filter %.c,$(libgemel_a_SOURCES) $(nodist_libgemel_a_SOURCES)))
planted_gpu = $(patsubst %.cu,$(planted)/%.$(OBJEXT),$(kernel_sources)) \
	$(patsubst %.c,$(planted)/%.$(OBJEXT),$(filter %.c,$(gpu_sources)) gpu/cuda/headers.c)
libgemel-faults.a: $(planted_host)
	$(AM_V_AR)rm -f $@ && $(AR) $(ARFLAGS) $@ $(planted_host)
libgemel-gpu-faults-on-sim.a: $(planted_gpu)
	$(AM_V_AR)rm -f $@ && $(AR) $(ARFLAGS) $@ $(planted_gpu)
$(planted)/stamp: $(srcdir)/%reldir%/faults/* $(libgemel_a_SOURCES) $(libgemel_verify_a_SOURCES) $(gpu_sources) $(kernel_sources) \
		$(srcdir)/gpu/kernels/*.h
	$(AM_V_GEN)$(MKDIR_P) $(planted) && AWK="$(AWK)" $(SHELL) $(srcdir)/%reldir%/faults/plant $(srcdir) $(planted) && touch $@
$(planted)/%.c $(planted)/%.h $(planted)/%.cu $(planted)/%.def: $(planted)/stamp ;
$(planted)/%.d: ;
# The source of an object: the copy, what was made here, or what is distributed.
planted_source = $(MKDIR_P) $(@D) && \
	for from in $(planted)/$(1) $(1) $(srcdir)/$(1); do test ! -f $$from || break; done
planted_cc = $(CC) $(DEFS) $(DEFAULT_INCLUDES) $(INCLUDES) $(planted_flags) $(1) $(CPPFLAGS) $(AM_CFLAGS) $(CFLAGS) \
	-MD -MP -MF $@.d -c -o $@
$(planted)/fault.$(OBJEXT): | $(planted)/stamp
	$(AM_V_CC)$(call planted_cc,$(AM_CPPFLAGS)) $(srcdir)/%reldir%/support/fault.c
$(planted)/lib/%.$(OBJEXT): | $(planted)/stamp lib/gemel/ops.h lib/rules/builtin.c
	$(AM_V_CC)$(call planted_source,lib/$*.c) && $(call planted_cc,$(libgemel_a_CPPFLAGS)) $$from
$(planted)/gpu/cuda/%.$(OBJEXT): | $(planted)/stamp lib/gemel/ops.h gpu/cuda/headers.c
	$(AM_V_CC)$(call planted_source,gpu/cuda/$*.c) && \
	  $(call planted_cc,$(libgemel_gpu_on_sim_a_CPPFLAGS)) $(libgemel_gpu_on_sim_a_CFLAGS) $$from
$(planted)/gpu/kernels/%.$(OBJEXT): | $(planted)/stamp lib/gemel/ops.h
	$(AM_V_CXX)$(call planted_source,gpu/kernels/$*.cu) && $(CXX) $(GPU_SIM_CXXFLAGS) $(planted_flags) \
	  -I$(srcdir)/gpu -I$(srcdir)/gpu/sim/include -I$(builddir)/lib -I$(srcdir)/lib -MD -MP -MF $@.d -x c++ -c -o $@ $$from
$(tests_t_faults_OBJECTS) $(tests_t_gpu_faults_OBJECTS): | $(planted)/stamp
-include $(wildcard $(planted)/*.d $(planted)/*/*/*.d)
# What tests/t-planted.sh runs: tests with a library, or a prover, that has faults.
planted_tests = $(planted)/t-channels-last $(planted)/t-join $(planted)/t-lifted
planted_proofs = $(planted)/t-unbounded $(planted)/t-unbounded-pulls $(planted)/t-unbounded-scalar
planted_models = $(planted)/fault.$(OBJEXT) \
	$(patsubst %.c,$(planted)/%.$(OBJEXT),$(filter verify/models/%.c,$(libgemel_verify_a_SOURCES)))
planted_prover = $(planted)/fault.$(OBJEXT) \
	$(patsubst %.c,$(planted)/%.$(OBJEXT),$(filter verify/unbounded/%.c,$(libgemel_verify_a_SOURCES)))
planted_link = $(AM_V_CCLD)$(CXX) $(AM_CFLAGS) $(CFLAGS) $(AM_LDFLAGS) $(LDFLAGS) -o $@
$(planted)/verify/%.$(OBJEXT): | $(planted)/stamp lib/gemel/ops.h verify/unbounded/prover.h
	$(AM_V_CC)$(call planted_source,verify/$*.c) && $(call planted_cc,$(libgemel_verify_a_CPPFLAGS)) $$from
$(planted_tests): $(planted)/%: %reldir%/%.$(OBJEXT) %reldir%/libct.a libgemel-faults.a libgemel-verify.a
	$(planted_link) $< $(fault_ldadd) $(LIBS)
$(planted_proofs): $(planted)/%: %reldir%/%.$(OBJEXT) $(planted_prover) %reldir%/libct.a libgemel-verify.a libgemel.a
	$(planted_link) $< $(planted_prover) $(LDADD) $(LIBS)
$(planted)/t-models: %reldir%/t-models.$(OBJEXT) $(planted_models) %reldir%/libct.a libgemel-verify.a libgemel.a
	$(planted_link) $< $(planted_models) $(LDADD) $(LIBS)
tests/t-planted.log: $(planted_tests) $(planted_proofs) $(planted)/t-models
tests_t_gpu_faults_CPPFLAGS = $(gpu_sim_cppflags) $(planted_cppflags)
tests_t_gpu_faults_LDFLAGS = $(gpu_sim_ldflags)
tests_t_gpu_faults_LDADD = libgemel-gpu-faults-on-sim.a libgemel-gpu-sim.a $(fault_ldadd) -ldl

EXTRA_DIST += %reldir%/corpus
EXTRA_DIST += %reldir%/command.sh
EXTRA_DIST += %reldir%/counted.h
EXTRA_DIST += %reldir%/dtypes.h
EXTRA_DIST += %reldir%/faults
EXTRA_DIST += %reldir%/graphs.h
EXTRA_DIST += %reldir%/judged.h
EXTRA_DIST += %reldir%/no-googletest
EXTRA_DIST += %reldir%/null-calls.awk
EXTRA_DIST += %reldir%/optable.h
EXTRA_DIST += %reldir%/own.h
EXTRA_DIST += %reldir%/pairs
EXTRA_DIST += %reldir%/plain.h
EXTRA_DIST += %reldir%/rules
EXTRA_DIST += %reldir%/run.h
EXTRA_DIST += %reldir%/shared.h
EXTRA_DIST += %reldir%/support
EXTRA_DIST += %reldir%/terms.def
if GPU_SIM
sim_is_built = yes
else
sim_is_built = no
endif
if VERIFY
harness_is_built = yes
else
harness_is_built = no
endif
if COVERAGE
is_covered = yes
else
is_covered = no
endif
if GTEST
check_LIBRARIES += %reldir%/libct.a
# Those that take long begin first, so that all processors are busy to the end.
if VERIFY
check_PROGRAMS += $(fault_tests) $(verify_tests)
endif
if GPU_SIM
check_PROGRAMS += $(sim_tests)
endif
check_PROGRAMS += $(library_tests)
tried_programs = $(check_PROGRAMS)
else
tried_programs = %reldir%/no-googletest
endif

# The command from outside, and what doc/adding.md promises, by shell scripts: they need neither
# GoogleTest nor Valgrind.
TEST_EXTENSIONS = .sh
SH_LOG_COMPILER = $(SHELL)
# The two that build for themselves begin before the programs: a minute or more each.
TESTS = %reldir%/t-adding.sh
TESTS += $(tried_programs)
EXTRA_DIST += %reldir%/t-adding.sh
EXTRA_DIST += %reldir%/t-campaign.sh
EXTRA_DIST += %reldir%/t-hlo.sh
EXTRA_DIST += %reldir%/t-catalogue.sh
EXTRA_DIST += %reldir%/t-command.sh
EXTRA_DIST += %reldir%/t-bench.sh
EXTRA_DIST += %reldir%/t-completions.sh
EXTRA_DIST += %reldir%/t-documentation.sh
EXTRA_DIST += %reldir%/t-exit.sh
EXTRA_DIST += %reldir%/t-gpu-kit.sh
EXTRA_DIST += %reldir%/t-html.sh
EXTRA_DIST += %reldir%/t-links.sh
EXTRA_DIST += %reldir%/nn.gmt
EXTRA_DIST += %reldir%/t-newrule.sh
EXTRA_DIST += %reldir%/t-nn.sh
EXTRA_DIST += %reldir%/t-operators.sh
EXTRA_DIST += %reldir%/t-plant.sh
EXTRA_DIST += %reldir%/t-recheck.sh
EXTRA_DIST += %reldir%/python/conftest.py
EXTRA_DIST += %reldir%/python/test_arrays.py
EXTRA_DIST += %reldir%/python/test_campaign.py
EXTRA_DIST += %reldir%/python/test_composites.py
EXTRA_DIST += %reldir%/python/test_documentation.py
EXTRA_DIST += %reldir%/python/test_equal.py
EXTRA_DIST += %reldir%/python/test_examples.py
EXTRA_DIST += %reldir%/python/test_graphs.py
EXTRA_DIST += %reldir%/python/test_certify.py
EXTRA_DIST += %reldir%/python/test_hlo.py
EXTRA_DIST += %reldir%/python/test_jax.py
EXTRA_DIST += %reldir%/python/test_pytensor.py
EXTRA_DIST += %reldir%/python/test_torch.py
EXTRA_DIST += %reldir%/t-python.sh
EXTRA_DIST += %reldir%/t-record.sh
EXTRA_DIST += %reldir%/t-refuted.sh
EXTRA_DIST += %reldir%/t-simcc.sh
EXTRA_DIST += %reldir%/t-terminal.sh
EXTRA_DIST += %reldir%/t-planted.sh
EXTRA_DIST += %reldir%/t-xla.sh
TESTS += %reldir%/t-bench.sh
TESTS += %reldir%/t-campaign.sh
TESTS += %reldir%/t-hlo.sh
TESTS += %reldir%/t-catalogue.sh
TESTS += %reldir%/t-command.sh
TESTS += %reldir%/t-completions.sh
TESTS += %reldir%/t-documentation.sh
TESTS += %reldir%/t-exit.sh
TESTS += %reldir%/t-gpu-kit.sh
TESTS += %reldir%/t-html.sh
TESTS += %reldir%/t-links.sh
TESTS += %reldir%/t-newrule.sh
TESTS += %reldir%/t-nn.sh
TESTS += %reldir%/t-operators.sh
TESTS += %reldir%/t-plant.sh
TESTS += %reldir%/t-refuted.sh
TESTS += %reldir%/t-terminal.sh
if Z3
TESTS += %reldir%/t-recheck.sh
TESTS += %reldir%/t-python.sh
TESTS += %reldir%/t-record.sh
TESTS += %reldir%/t-planted.sh
TESTS += %reldir%/t-xla.sh
endif
if GPU_SIM
TESTS += %reldir%/t-simcc.sh
endif

tests_libct_a_CPPFLAGS = $(AM_CPPFLAGS) $(GTEST_CFLAGS)
tests_libct_a_SOURCES = %reldir%/ct.cc %reldir%/ct.h

LDADD = %reldir%/libct.a $(libraries) $(GTEST_LIBS) $(STDCXX_LIBS)

# Programs run side by side, so idle threads must not spin.
AM_TESTS_ENVIRONMENT = \
	unset GTEST_FILTER GTEST_REPEAT GTEST_TOTAL_SHARDS GTEST_SHARD_INDEX GTEST_OUTPUT; \
	GEMEL_HAS_HARNESS='$(harness_is_built)'; export GEMEL_HAS_HARNESS; \
	OMP_WAIT_POLICY=passive; export OMP_WAIT_POLICY; \
	GEMEL='$(abs_builddir)/gemel'; export GEMEL; \
	GEMEL_SRCDIR='$(abs_srcdir)'; export GEMEL_SRCDIR; \
	GEMEL_COVERED='$(is_covered)'; export GEMEL_COVERED; \
	GEMEL_HAS_SIM='$(sim_is_built)'; export GEMEL_HAS_SIM; \
	GEMEL_JUNIT='$(abs_builddir)/tests/junit'; export GEMEL_JUNIT;

clean-local: clean-junit
clean-junit:
	rm -rf $(builddir)/tests/junit $(builddir)/gpu-check
.PHONY: clean-junit

# In C++, with a flag of its own: its object has a name of its own too, and waits for the header that
# is made as the others do (Makefile.am).
tests_t_cpp_SOURCES = %reldir%/t-cpp.cc %reldir%/cpp.h
tests_t_cpp_CXXFLAGS = $(AM_CXXFLAGS) $(OPENMP_CFLAGS) -std=c++17
$(tests_t_cpp_OBJECTS): lib/gemel/ops.h
tests_t_cpp_nn_SOURCES = %reldir%/t-cpp-nn.cc %reldir%/cpp.h
tests_t_cpp_nn_CXXFLAGS = $(tests_t_cpp_CXXFLAGS)
$(tests_t_cpp_nn_OBJECTS): lib/gemel/ops.h
tests_t_cpp_operation_SOURCES = %reldir%/t-cpp-operation.cc %reldir%/cpp.h
tests_t_cpp_operation_CXXFLAGS = $(tests_t_cpp_CXXFLAGS)
$(tests_t_cpp_operation_OBJECTS): lib/gemel/ops.h
tests_t_dual_SOURCES = %reldir%/t-dual.c %reldir%/formula.h
tests_t_faults_CPPFLAGS = $(fault_cppflags)
tests_t_faults_LDADD = $(fault_ldadd)
tests_t_field_SOURCES = %reldir%/t-field.c %reldir%/formula.h

# A call of every public function of gemel and its harness, made from the headers.
null_headers = $(gemelinclude_HEADERS)
CLEANFILES += %reldir%/null-calls.h
%reldir%/null-calls.h: %reldir%/null-calls.awk $(null_headers)
	$(AM_V_GEN)$(MKDIR_P) %reldir% && $(AWK) -f $(srcdir)/%reldir%/null-calls.awk \
	  `for h in $(null_headers); do case $$h in gpu/*) ;; *) test -f $$h && echo $$h || echo $(srcdir)/$$h;; esac; done` >$@.tmp && mv $@.tmp $@
%reldir%/t-null.$(OBJEXT): %reldir%/null-calls.h
