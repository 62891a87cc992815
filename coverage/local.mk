# coverage: what the tests reach, as a page and as figures held against floors. Needs
# ./configure --enable-coverage, and a source folder that isn't below the system's one for temporary
# files, where lcov takes everything for temporary. SPDX-License-Identifier: MIT

EXTRA_DIST += %reldir%/floors
EXTRA_DIST += %reldir%/judge
EXTRA_DIST += %reldir%/lcovrc
EXTRA_DIST += %reldir%/run
EXTRA_DIST += %reldir%/summary

COVERAGE_FLOORS = $(srcdir)/%reldir%/floors
coverage_lcov = $(LCOV) -q --config-file $(srcdir)/%reldir%/lcovrc
coverage_source = $(abs_top_srcdir)
if COVERAGE
coverage: check
	$(MKDIR_P) %reldir%
	$(coverage_lcov) --capture --directory . --output-file %reldir%/all.info
	$(coverage_lcov) --extract %reldir%/all.info '$(coverage_source)/lib/*' '$(coverage_source)/verify/*' \
	  '$(coverage_source)/tools/*' '$(coverage_source)/gpu/*' --output-file %reldir%/all.info
	$(coverage_lcov) --remove %reldir%/all.info '$(coverage_source)/gpu/kernels/*' --output-file %reldir%/all.info
	$(GENHTML) -q --config-file $(srcdir)/%reldir%/lcovrc --output-directory %reldir%/html %reldir%/all.info
	$(srcdir)/%reldir%/judge %reldir%/all.info $(coverage_source) $(COVERAGE_FLOORS) >%reldir%/figures; \
	  status=$$?; cat %reldir%/figures; exit $$status
else
coverage:
	@echo "coverage needs a build of its own: ./configure --enable-coverage" >&2; exit 1
endif
.PHONY: coverage clean-coverage
clean-local: clean-coverage
clean-coverage:
	rm -rf %reldir%/html %reldir%/all.info %reldir%/figures
	find . -name '*.gcda' -o -name '*.gcno' | xargs rm -f
