# The package for Python: the folder python/gemel of the build, which a Python finds by PYTHONPATH=python, and of which
# ci/wheel makes a wheel. The extension is linked with the static libraries.
# One file a line, sorted. SPDX-License-Identifier: MIT

python_modules =
python_modules += %reldir%/gemel/__init__.py
python_modules += %reldir%/gemel/__main__.py
python_modules += %reldir%/gemel/_equal.py
python_modules += %reldir%/gemel/_errors.py
python_modules += %reldir%/gemel/_foreign.py
python_modules += %reldir%/gemel/_graph.py
python_modules += %reldir%/gemel/_loops.py
python_modules += %reldir%/gemel/_names.py
python_modules += %reldir%/gemel/_native.pyi
python_modules += %reldir%/gemel/_place.py
python_modules += %reldir%/gemel/_pytensor_graph.py
python_modules += %reldir%/gemel/_pytensor_ops.py
python_modules += %reldir%/gemel/_pytensor_random.py
python_modules += %reldir%/gemel/_pytest.py
python_modules += %reldir%/gemel/_serve.py
python_modules += %reldir%/gemel/_tensor.py
python_modules += %reldir%/gemel/_train.py
python_modules += %reldir%/gemel/_types.py
python_modules += %reldir%/gemel/_values.py
python_modules += %reldir%/gemel/_xla.py
python_modules += %reldir%/gemel/pytensor.py
python_modules += %reldir%/gemel/torch.py
python_modules += %reldir%/gemel/jax.py
python_modules += %reldir%/gemel/py.typed

EXTRA_DIST += $(python_modules)
EXTRA_DIST += %reldir%/bind.py
EXTRA_DIST += %reldir%/native/builders.c
EXTRA_DIST += %reldir%/native/function.c
EXTRA_DIST += %reldir%/native/graph.c
EXTRA_DIST += %reldir%/native/loop.c
EXTRA_DIST += %reldir%/native/module.c
EXTRA_DIST += %reldir%/native/native.h
EXTRA_DIST += %reldir%/native/native.map
EXTRA_DIST += %reldir%/native/tensor.c
EXTRA_DIST += %reldir%/native/verify.c

if PYTHON_PACKAGE
noinst_PROGRAMS += %reldir%/gemel/_native.abi3.so
%canon_reldir%_gemel__native_abi3_so_SOURCES = \
	%reldir%/native/builders.c \
	%reldir%/native/function.c \
	%reldir%/native/graph.c \
	%reldir%/native/loop.c \
	%reldir%/native/module.c \
	%reldir%/native/native.h \
	%reldir%/native/tensor.c \
	%reldir%/native/verify.c
%canon_reldir%_gemel__native_abi3_so_CPPFLAGS = $(AM_CPPFLAGS) -I$(builddir)/%reldir% $(PYTHON_CFLAGS)
%canon_reldir%_gemel__native_abi3_so_LDFLAGS = $(AM_LDFLAGS) -shared -Wl,--version-script=$(srcdir)/%reldir%/native/native.map
%canon_reldir%_gemel__native_abi3_so_LDADD = $(libraries)

# bind.py writes both; the second is made with the first.
%reldir%/builders.inc: %reldir%/bind.py lib/gemel/ops.h lib/gemel/nn.h lib/gemel/composite.h
	$(AM_V_GEN)$(MKDIR_P) %reldir%/gemel && $(PYTHON) $(srcdir)/%reldir%/bind.py lib/gemel/ops.h \
	  lib/gemel/nn.h $(srcdir)/lib/gemel/composite.h --thunks %reldir%/builders.inc.new --functions %reldir%/gemel/_functions.py && \
	  mv %reldir%/builders.inc.new %reldir%/builders.inc
$(%canon_reldir%_gemel__native_abi3_so_OBJECTS): %reldir%/builders.inc lib/gemel/ops.h
CLEANFILES += %reldir%/builders.inc %reldir%/gemel/_functions.py %reldir%/gemel/.copied

# Their copies in the build folder must not be found in place of the modules.
%reldir%/gemel/.copied: $(addprefix $(srcdir)/,$(python_modules)) %reldir%/builders.inc
	$(AM_V_GEN)$(MKDIR_P) %reldir%/gemel/bin && \
	  { test -e Makefile.am || (cd $(srcdir) && cat $(python_modules) >/dev/null && cp $(python_modules) $(abs_builddir)/%reldir%/gemel/); } && \
	  ln -sf ../../../gemel %reldir%/gemel/bin/gemel && touch $@
all-local: %reldir%/gemel/.copied
mostlyclean-local:
	@test -e Makefile.am || { rm -rf %reldir%/gemel/*.py %reldir%/gemel/py.typed %reldir%/gemel/__pycache__; }; rm -rf %reldir%/gemel/bin
endif
