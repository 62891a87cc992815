# Scripts that a person or a CI runs.
# One file a line, sorted. SPDX-License-Identifier: MIT

EXTRA_DIST += %reldir%/abi
EXTRA_DIST += %reldir%/action/action.yml
EXTRA_DIST += %reldir%/api
EXTRA_DIST += %reldir%/api.awk
EXTRA_DIST += %reldir%/browser
EXTRA_DIST += %reldir%/calls.awk
EXTRA_DIST += %reldir%/clang
EXTRA_DIST += %reldir%/common.sh
EXTRA_DIST += %reldir%/corpus
EXTRA_DIST += %reldir%/count-tests
EXTRA_DIST += %reldir%/cross
EXTRA_DIST += %reldir%/documented
EXTRA_DIST += %reldir%/evidence
EXTRA_DIST += %reldir%/fuzz
EXTRA_DIST += %reldir%/gitlab.yml
EXTRA_DIST += %reldir%/gpu-kit
EXTRA_DIST += %reldir%/gpu-counts
EXTRA_DIST += %reldir%/gpu-mutants
EXTRA_DIST += %reldir%/gpu-threads
EXTRA_DIST += %reldir%/headers
EXTRA_DIST += %reldir%/names
EXTRA_DIST += %reldir%/outsider
EXTRA_DIST += %reldir%/package
EXTRA_DIST += %reldir%/parsed
EXTRA_DIST += %reldir%/quickstart
EXTRA_DIST += %reldir%/random
EXTRA_DIST += %reldir%/layers
EXTRA_DIST += %reldir%/lsan.supp
EXTRA_DIST += %reldir%/proved
EXTRA_DIST += %reldir%/recheck
EXTRA_DIST += %reldir%/sanitize
EXTRA_DIST += %reldir%/skips
EXTRA_DIST += %reldir%/style
EXTRA_DIST += %reldir%/suites
EXTRA_DIST += %reldir%/symbols
EXTRA_DIST += %reldir%/targets
EXTRA_DIST += %reldir%/test
EXTRA_DIST += %reldir%/wheel

# check-valgrind: the test programs under memcheck; a leak is an error. What the libraries that are
# called leave behind is listed in ci/valgrind.supp. The XML goes elsewhere than that of make check.
EXTRA_DIST += %reldir%/valgrind.supp
valgrind_tests = $(check_PROGRAMS)
valgrind_command = $(VALGRIND) -q --error-exitcode=9 --leak-check=full --show-leak-kinds=definite,indirect \
	--errors-for-leak-kinds=definite,indirect --child-silent-after-fork=yes \
	--suppressions=$(abs_srcdir)/ci/valgrind.supp
check-valgrind: all
	@test -n "$(VALGRIND)" || { echo "check-valgrind needs Valgrind: install the Debian package valgrind." >&2; exit 1; }
	GEMEL_VALGRIND=1 OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 \
	  $(MAKE) $(AM_MAKEFLAGS) check TESTS='$(valgrind_tests)' LOG_COMPILER='$(valgrind_command)' \
	  TEST_SUITE_LOG=test-suite-valgrind.log
.PHONY: check-valgrind
