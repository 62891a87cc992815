# Which kinds of libraries are built: shared and static, unless one is refused by --disable-shared or
# --disable-static. Both kinds are made of the same objects, which are position-independent; programs that
# are linked with the static one have lost nothing by that, as compilers make position-independent
# executables by default. Not by libtool, which compiles each file twice, and whose programs in the build
# folder are scripts. SPDX-License-Identifier: MIT

AC_DEFUN([GEMEL_LIBRARIES], [
  AC_ARG_ENABLE([shared], [AS_HELP_STRING([--disable-shared], [build no shared libraries])],
    [], [enable_shared=auto])
  AC_ARG_ENABLE([static], [AS_HELP_STRING([--disable-static], [install no static libraries])],
    [], [enable_static=yes])
  SHARED_LDFLAGS="-shared -Wl,-Bsymbolic -Wl,-z,defs"
  # Calls of a sanitizer's functions are resolved by the program.
  AS_IF([test "x$enable_sanitizers" != xno], [SHARED_LDFLAGS="-shared -Wl,-Bsymbolic"])
  GEMEL_ADD_FLAG([gemel_pic], [-fPIC])
  GEMEL_ADD_FLAG([gemel_pic], [-fno-semantic-interposition])
  AS_IF([test "x$enable_shared" != xno], [
    AC_MSG_CHECKING([whether shared libraries with versioned symbols can be linked])
    gemel_save_cflags=$CFLAGS gemel_save_ldflags=$LDFLAGS
    CFLAGS="$CFLAGS $gemel_pic"
    LDFLAGS="$LDFLAGS $GEMEL_LDFLAGS $SHARED_LDFLAGS -Wl,--version-script=conftest.map"
    AS_ECHO(["GEMEL_0 { global: gemel_@<:@!_@:>@*; local: *; };"]) >conftest.map
    AC_LINK_IFELSE([AC_LANG_SOURCE([[int gemel_function(void); int gemel_function(void) { return 0; }]])],
      [gemel_shared=yes], [gemel_shared=no])
    CFLAGS=$gemel_save_cflags LDFLAGS=$gemel_save_ldflags
    rm -f conftest.map
    AC_MSG_RESULT([$gemel_shared])
    AS_IF([test "$enable_shared:$gemel_shared" = yes:no],
      [AC_MSG_ERROR([shared libraries were asked for, and the linker makes none: see config.log.])])
    enable_shared=$gemel_shared])
  AS_IF([test "$enable_shared:$enable_static" = no:no],
    [AC_MSG_ERROR([with neither shared nor static libraries there is nothing to build.])])
  AS_IF([test "$enable_shared" = yes], [GEMEL_CFLAGS="$GEMEL_CFLAGS $gemel_pic"])
  AM_CONDITIONAL([SHARED], [test "$enable_shared" = yes])
  AM_CONDITIONAL([STATIC], [test "$enable_static" != no])
  AC_SUBST([SHARED_LDFLAGS])])
