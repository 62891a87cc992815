# A CBLAS, found by pkg-config: the fastest known first. Optional; without one the project's own
# matrix product is used, and without the LAPACK in it the project's own elimination. For another system only by a pkg-config that knows its libraries.
# SPDX-License-Identifier: MIT

# GEMEL_TRY_BLAS(MODULE): take MODULE if pkg-config knows it and a program that calls it runs.
AC_DEFUN([GEMEL_TRY_BLAS], [
  AC_MSG_CHECKING([for a CBLAS in $1])
  gemel_blas_found=no
  AS_IF([$PKG_CONFIG --exists "$1" 2>/dev/null], [
    gemel_blas_cflags=`$PKG_CONFIG --cflags "$1"`
    gemel_blas_libs=`$PKG_CONFIG --libs "$1"`
    gemel_save_libs=$LIBS gemel_save_cppflags=$CPPFLAGS
    LIBS="$gemel_blas_libs $LIBS" CPPFLAGS="$gemel_blas_cflags $CPPFLAGS"
    for gemel_header in cblas.h mkl_cblas.h blis/cblas.h; do
      AS_IF([test "$gemel_blas_found" = no], [
        GEMEL_RUNS([AC_LANG_PROGRAM([[#include <$gemel_header>]],
            [[float x = 0;
              cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, 1, 1, 1, 1, &x, 1, &x, 1, 0, &x, 1);]])],
          [gemel_blas_found=yes gemel_blas_header=$gemel_header], [])])
    done
    LIBS=$gemel_save_libs CPPFLAGS=$gemel_save_cppflags])
  AC_MSG_RESULT([$gemel_blas_found])])

# GEMEL_TRY_LAPACK: whether the CBLAS that was taken brings LAPACK along, as OpenBLAS and MKL do.
AC_DEFUN([GEMEL_TRY_LAPACK], [
  AC_MSG_CHECKING([for LAPACK in $gemel_have_blas])
  gemel_save_libs=$LIBS
  LIBS="$BLAS_LIBS $LIBS"
  GEMEL_RUNS([AC_LANG_PROGRAM([[void dpotrf_(const char *, const int *, double *, const int *, int *, unsigned long);
      void dgetrf_(const int *, const int *, double *, const int *, int *, int *);]],
      [[double x = 4;
        int one = 1, info;
        dpotrf_("L", &one, &x, &one, &info, 1);
        dgetrf_(&one, &one, &x, &one, &one, &info);]])],
    [gemel_have_lapack=yes], [])
  LIBS=$gemel_save_libs
  AC_MSG_RESULT([$gemel_have_lapack])])

AC_DEFUN([GEMEL_BLAS], [
  AC_ARG_WITH([blas],
    [AS_HELP_STRING([--with-blas=NAME],
      [CBLAS to use, as pkg-config calls it; `no' for none @<:@the first of openblas, blis, cblas,
       mkl-dynamic-lp64-seq, blas-netlib, blas that links@:>@])],
    [], [with_blas=auto])
  # The libraries that pkg-config knows are those of the system it runs on, unless it is told otherwise.
  AS_IF([test "$gemel_foreign:$with_blas:$PKG_CONFIG_LIBDIR$PKG_CONFIG_SYSROOT_DIR" = yes:auto:],
    [AS_CASE([$PKG_CONFIG], [*/$host_alias-*], [], [with_blas=no])])
  AS_CASE([$with_blas],
    [no], [gemel_blas_list=],
    [auto|yes], [gemel_blas_list="openblas blis cblas mkl-dynamic-lp64-seq blas-netlib blas"],
    [gemel_blas_list=$with_blas])
  gemel_have_blas=no
  for gemel_blas in $gemel_blas_list; do
    AS_IF([test "$gemel_have_blas" = no], [
      GEMEL_TRY_BLAS([$gemel_blas])
      AS_IF([test "$gemel_blas_found" = yes], [
        gemel_have_blas=$gemel_blas
        BLAS_CFLAGS=$gemel_blas_cflags BLAS_LIBS=$gemel_blas_libs])])
  done
  AS_CASE([$with_blas:$gemel_have_blas],
    [no:*|auto:*], [],
    [*:no], [AC_MSG_ERROR([no CBLAS was found as `$gemel_blas_list': install the Debian package libopenblas-dev.])])
  gemel_have_lapack=no
  AS_IF([test "$gemel_have_blas" != no], [
    GEMEL_TRY_LAPACK
    AS_IF([test "$gemel_have_lapack" = yes], [AC_DEFINE([HAVE_LAPACK], [1], [The CBLAS has LAPACK.])])
    AC_DEFINE([HAVE_CBLAS], [1], [A CBLAS is used.])
    AC_DEFINE_UNQUOTED([GEMEL_CBLAS_HEADER], [<$gemel_blas_header>], [Header of the CBLAS.])
    AC_DEFINE_UNQUOTED([GEMEL_CBLAS_NAME], ["$gemel_have_blas"], [The CBLAS, as pkg-config calls it.])])
  AM_CONDITIONAL([CBLAS], [test "$gemel_have_blas" != no])
  AC_SUBST([BLAS_CFLAGS])
  AC_SUBST([BLAS_LIBS])])
