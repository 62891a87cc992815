# The tests: one program a family, tests/t-<family>.c, in C, run by GoogleTest through the shim ct.h.
# A new program is one line: under library_tests if it needs libgemel.a alone, under verify_tests if
# it needs the harness too. One file a line, sorted. SPDX-License-Identifier: MIT

library_tests =
library_tests += %reldir%/t-ct

verify_tests =

# The library once more, with the planted faults that the harness must find; only t-faults links it.
fault_tests =

check_LIBRARIES += %reldir%/libct.a libgemel-faults.a
check_PROGRAMS += $(library_tests)
if VERIFY
check_PROGRAMS += $(verify_tests) $(fault_tests)
endif
TESTS = $(check_PROGRAMS)

tests_libct_a_CPPFLAGS = $(AM_CPPFLAGS) $(GTEST_CFLAGS)
tests_libct_a_SOURCES = %reldir%/ct.cc %reldir%/ct.h
libgemel_faults_a_CPPFLAGS = $(libgemel_a_CPPFLAGS) -DGEMEL_FAULTS=1
libgemel_faults_a_SOURCES = $(libgemel_a_SOURCES)

LDADD = %reldir%/libct.a $(gemel_LDADD) $(GTEST_LIBS) $(STDCXX_LIBS)

AM_TESTS_ENVIRONMENT = \
	GEMEL='$(abs_builddir)/gemel'; export GEMEL; \
	GEMEL_SRCDIR='$(abs_srcdir)'; export GEMEL_SRCDIR; \
	GEMEL_JUNIT='$(abs_builddir)/tests/junit'; export GEMEL_JUNIT;

clean-local: clean-junit
clean-junit:
	rm -rf $(builddir)/tests/junit
.PHONY: clean-junit
