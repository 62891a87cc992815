# The harness (libgemel-verify.a) and what it stands on: exact arithmetic by GMP, MPFR, FLINT and Arb,
# and the solver Z3. Built unless --disable-verify; then each is required, Z3 unless --without-z3.
# SPDX-License-Identifier: MIT

# GEMEL_NEED(HEADER, LIBRARY, FUNCTION, PACKAGE, OTHER-LIBRARIES)
AC_DEFUN([GEMEL_NEED], [
  gemel_found=no
  AC_CHECK_HEADER([$1], [AC_CHECK_LIB([$2], [$3], [gemel_found=yes], [], [$5])])
  AS_IF([test "$gemel_found" = no],
    [AC_MSG_ERROR([the harness needs <$1> and -l$2: install the Debian package $4, or build without the harness by --disable-verify.])])])

AC_DEFUN([GEMEL_VERIFY], [
  AC_ARG_ENABLE([verify],
    [AS_HELP_STRING([--disable-verify],
      [build without the harness (libgemel-verify.a, `gemel verify' and its kin); it needs GMP,
       MPFR, FLINT, Arb and Z3])],
    [], [enable_verify=yes])
  AC_ARG_WITH([z3],
    [AS_HELP_STRING([--without-z3],
      [build the harness without the solver: what it would decide stays open, and nothing is proved])],
    [], [with_z3=yes])
  gemel_have_verify=no gemel_z3= gemel_have_z3=no
  AC_CHECK_TYPES([__int128])
  AS_IF([test "x$enable_verify" != xno], [
    AS_IF([test "$ac_cv_type___int128" != yes],
      [AC_MSG_ERROR([the harness needs integers of 128 bits, which compilers have for 64-bit processors: build without it by --disable-verify.])])
    GEMEL_NEED([gmp.h], [gmp], [__gmpz_init], [libgmp-dev])
    GEMEL_NEED([mpfr.h], [mpfr], [mpfr_init2], [libmpfr-dev], [-lgmp])
    GEMEL_NEED([flint/flint.h], [flint], [flint_malloc], [libflint-dev], [-lmpfr -lgmp])
    # Arb is a part of FLINT from version 3 on.
    gemel_arb=
    AC_CHECK_HEADER([flint/arb.h],
      [AC_DEFINE([HAVE_FLINT_ARB], [1], [FLINT has Arb.])
       GEMEL_NEED([flint/arb.h], [flint], [arb_exp], [libflint-dev], [-lmpfr -lgmp])],
      [AC_CHECK_LIB([flint-arb], [arb_exp], [gemel_arb=flint-arb], [gemel_arb=arb], [-lflint -lmpfr -lgmp])
       GEMEL_NEED([arb.h], [$gemel_arb], [arb_exp], [libflint-arb-dev], [-lflint -lmpfr -lgmp])
       gemel_arb="-l$gemel_arb "])
    AS_IF([test "x$with_z3" != xno], [
      GEMEL_NEED([z3.h], [z3], [Z3_mk_context], [libz3-dev])
      AC_DEFINE([HAVE_Z3], [1], [The harness asks the solver Z3.])
      gemel_z3="-lz3 " gemel_have_z3=yes])
    VERIFY_LIBS="$gemel_z3$gemel_arb-lflint -lmpfr -lgmp"
    gemel_save_libs=$LIBS LIBS="$VERIFY_LIBS $LIBS"
    AC_MSG_CHECKING([whether programs with the harness's libraries run])
    GEMEL_RUNS([AC_LANG_PROGRAM([[
#ifdef HAVE_FLINT_ARB
#include <flint/arb.h>
#else
#include <arb.h>
#endif
#ifdef HAVE_Z3
#include <z3.h>
#endif
#include <mpfr.h>]], [[
arb_t x;
arb_init(x);
mpfr_get_version();
#ifdef HAVE_Z3
return Z3_get_full_version() == NULL;
#endif]])], [gemel_have_verify=yes], [])
    AC_MSG_RESULT([$gemel_have_verify])
    LIBS=$gemel_save_libs
    AS_IF([test "$gemel_have_verify" = no],
      [AC_MSG_ERROR([GMP, MPFR, FLINT, Arb and Z3 were found, but a program with them doesn't run (config.log): build without the harness by --disable-verify.])])
    AC_DEFINE([HAVE_VERIFY], [1], [The harness is built.])])
  AM_CONDITIONAL([VERIFY], [test "$gemel_have_verify" = yes])
  AM_CONDITIONAL([Z3], [test "$gemel_have_z3" = yes])
  AC_SUBST([VERIFY_LIBS])])
