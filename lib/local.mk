# The shared libraries, linked of the objects of the static ones. In the build folder each is a file
# NAME.so; `make install` gives it its version and makes the links by which the linker and the loader
# find it. soversion goes up when a public function or struct changes so that compiled programs no
# longer fit (ci/abi). SPDX-License-Identifier: MIT

soversion = 0
# What is in a folder whose name has "exec" in it is installed with programs, before install-exec-hook.
soexecdir = $(libdir)
soexec_PROGRAMS =
if SHARED
soexec_PROGRAMS += libgemel.so
if VERIFY
soexec_PROGRAMS += libgemel-verify.so
endif
endif
libgemel_so_SOURCES =
libgemel_so_LDADD = $(libgemel_a_OBJECTS) $(gemel_LIBS)
libgemel_so_DEPENDENCIES = $(libgemel_a_OBJECTS) %reldir%/gemel.map
libgemel_so_LDFLAGS = $(AM_LDFLAGS) $(SHARED_LDFLAGS) -Wl,-soname,libgemel.so.$(soversion) \
	-Wl,--version-script=%reldir%/gemel.map
libgemel_verify_so_SOURCES =
libgemel_verify_so_LDADD = $(libgemel_verify_a_OBJECTS) libgemel.so $(VERIFY_LIBS)
libgemel_verify_so_DEPENDENCIES = $(libgemel_verify_a_OBJECTS) libgemel.so verify/gemel-verify.map
libgemel_verify_so_LDFLAGS = $(AM_LDFLAGS) $(SHARED_LDFLAGS) -Wl,-soname,libgemel-verify.so.$(soversion) \
	-Wl,--version-script=verify/gemel-verify.map

install-exec-hook:
	@cd "$(DESTDIR)$(libdir)" && for so in $(soexec_PROGRAMS); do \
	  mv -f $$so $$so.$(PACKAGE_VERSION) && ln -sf $$so.$(PACKAGE_VERSION) $$so.$(soversion) && ln -sf $$so.$(soversion) $$so || exit 1; done
uninstall-hook:
	@for so in $(soexec_PROGRAMS); do rm -f "$(DESTDIR)$(libdir)/$$so".*; done
