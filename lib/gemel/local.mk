# Public headers, installed as <gemel/x.h>.
# One file a line, sorted. SPDX-License-Identifier: MIT

gemelinclude_HEADERS += %reldir%/version.h

# <gemel/ops.h>, one builder for each row of the tables, is made in the build tree; the tarball
# brings it along, and a build elsewhere finds it there until a table changes.
lib/gemel/ops.h: lib/ops/builders.awk lib/ops/ops.def lib/ops/scalar.def
	$(AM_V_GEN)$(MKDIR_P) lib/gemel && \
	  $(AWK) -f $(srcdir)/lib/ops/builders.awk $(srcdir)/lib/ops/ops.def $(srcdir)/lib/ops/scalar.def >$@.tmp && \
	  mv $@.tmp $@
# To be taken in with the tables themselves:
#gemelinclude_HEADERS += lib/gemel/ops.h
#BUILT_SOURCES += lib/gemel/ops.h
#CLEANFILES += lib/gemel/ops.h
#EXTRA_DIST += lib/ops/builders.awk
