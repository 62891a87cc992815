# Public headers, installed as <gemel/x.h>.
# One file a line, sorted. SPDX-License-Identifier: MIT

gemelinclude_HEADERS += %reldir%/alloc.h
gemelinclude_HEADERS += %reldir%/collective.h
gemelinclude_HEADERS += %reldir%/composite.h
gemelinclude_HEADERS += %reldir%/context.h
gemelinclude_HEADERS += %reldir%/device.h
gemelinclude_HEADERS += %reldir%/dlpack.h
gemelinclude_HEADERS += %reldir%/dtype.h
gemelinclude_HEADERS += %reldir%/dump.h
gemelinclude_HEADERS += %reldir%/function.h
gemelinclude_HEADERS += %reldir%/gemel.h
gemelinclude_HEADERS += %reldir%/gemel.hpp
gemelinclude_HEADERS += %reldir%/grad.h
gemelinclude_HEADERS += %reldir%/graph.h
gemelinclude_HEADERS += %reldir%/hlo.h
gemelinclude_HEADERS += %reldir%/lift.h
gemelinclude_HEADERS += %reldir%/onnx.h
gemelinclude_HEADERS += %reldir%/operation.h
gemelinclude_HEADERS += %reldir%/operation.hpp
gemelinclude_HEADERS += %reldir%/ops.hpp
gemelinclude_HEADERS += %reldir%/profile.h
gemelinclude_HEADERS += %reldir%/rewrite.h
gemelinclude_HEADERS += %reldir%/shared.h
gemelinclude_HEADERS += %reldir%/status.h
gemelinclude_HEADERS += %reldir%/tensor.h
gemelinclude_HEADERS += %reldir%/tensor.hpp
gemelinclude_HEADERS += %reldir%/text.h
gemelinclude_HEADERS += %reldir%/train.h
gemelinclude_HEADERS += %reldir%/value.hpp
gemelinclude_HEADERS += %reldir%/version.h

# <gemel/ops.h>, one builder for each row of the tables, is made in the build tree; the tarball
# brings it along, and a build elsewhere finds it there until a table changes.
gemelinclude_HEADERS += lib/gemel/ops.h
BUILT_SOURCES += lib/gemel/ops.h
CLEANFILES += lib/gemel/ops.h
EXTRA_DIST += lib/ops/builders.awk
# <gemel/nn.h>, one builder for each composite, likewise: whoever waits for ops.h has it.
gemelinclude_HEADERS += lib/gemel/nn.h
CLEANFILES += lib/gemel/nn.h
lib/gemel/nn.h: lib/ops/builders.awk lib/composites/numpy.composites
	$(AM_V_GEN)$(MKDIR_P) lib/gemel && \
	  $(AWK) -v part=nn -f $(srcdir)/lib/ops/builders.awk $(srcdir)/lib/composites/numpy.composites >$@.tmp && \
	  mv $@.tmp $@
# <gemel/nn.hpp>, the same in C++.
gemelinclude_HEADERS += lib/gemel/nn.hpp
CLEANFILES += lib/gemel/nn.hpp
lib/gemel/nn.hpp: lib/ops/builders.awk lib/composites/numpy.composites
	$(AM_V_GEN)$(MKDIR_P) lib/gemel && \
	  $(AWK) -v part=hpp -f $(srcdir)/lib/ops/builders.awk $(srcdir)/lib/composites/numpy.composites >$@.tmp && \
	  mv $@.tmp $@
lib/gemel/ops.h: lib/ops/builders.awk lib/ops/ops.def lib/ops/scalar.def lib/gemel/nn.h lib/gemel/nn.hpp
	$(AM_V_GEN)$(MKDIR_P) lib/gemel && \
	  $(AWK) -f $(srcdir)/lib/ops/builders.awk $(srcdir)/lib/ops/scalar.def $(srcdir)/lib/ops/ops.def >$@.tmp && \
	  mv $@.tmp $@
