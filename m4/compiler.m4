# Compiler flags that every file of the project is built with. What is written is what is computed:
# no contraction of a*b + c behind our back, no -ffast-math, no -march=native (kernels choose their
# instruction set at run time). SPDX-License-Identifier: MIT

# GEMEL_ADD_FLAG(VARIABLE, FLAG): append FLAG to VARIABLE if the current compiler takes it.
AC_DEFUN([GEMEL_ADD_FLAG], [
  AS_VAR_PUSHDEF([cache], [gemel_cv_[]_AC_LANG_ABBREV[]_flag_$2])
  AC_CACHE_CHECK([whether the _AC_LANG compiler takes $2], [cache], [
    gemel_save_flags=$[]_AC_LANG_PREFIX[]FLAGS
    _AC_LANG_PREFIX[]FLAGS="$[]_AC_LANG_PREFIX[]FLAGS -Werror $2"
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM()], [AS_VAR_SET([cache], [yes])], [AS_VAR_SET([cache], [no])])
    _AC_LANG_PREFIX[]FLAGS=$gemel_save_flags])
  AS_VAR_IF([cache], [yes], [$1="$$1 $2"])
  AS_VAR_POPDEF([cache])])

# GEMEL_RUNS(PROGRAM, IF-SO, IF-NOT): whether PROGRAM links with LIBS and, where it can be tried, runs:
# a library of another C library links as well, and then isn't found or doesn't load.
AC_DEFUN([GEMEL_RUNS], [
  AS_IF([test "$gemel_foreign" = yes], [AC_LINK_IFELSE([$1], [$2], [$3])],
    [AC_RUN_IFELSE([$1], [$2], [$3], [AC_LINK_IFELSE([$1], [$2], [$3])])])])

# GEMEL_ROUNDING: the flags by which each operation is rounded to its type. The x87 of i386 keeps more
# bits between operations, so SSE2 is asked for there.
AC_DEFUN([GEMEL_ROUNDING], [
  AC_CACHE_CHECK([for flags by which each operation is rounded], [gemel_cv_rounding], [
    gemel_cv_rounding=unknown gemel_save_flags=$CFLAGS
    for gemel_flags in "" "-msse2 -mfpmath=sse"; do
      CFLAGS="$gemel_flags $gemel_save_flags"
      AS_IF([test "$gemel_cv_rounding" = unknown], [
        AC_COMPILE_IFELSE([AC_LANG_SOURCE([[
#include <float.h>
#if FLT_EVAL_METHOD != 0 && FLT_EVAL_METHOD != 16
#error operations keep more than their type
#endif]])], [gemel_cv_rounding=$gemel_flags])])
    done
    CFLAGS=$gemel_save_flags])
  AS_IF([test "$gemel_cv_rounding" = unknown],
    [AC_MSG_ERROR([the compiler keeps more bits than float and double have (FLT_EVAL_METHOD), also with -msse2 -mfpmath=sse: gemel needs a processor or options that round each operation.])])])

# GEMEL_BOTH_COMPILERS: whether C and C++ go into one program: not where CC is musl-gcc or gcc -m32, say,
# and CXX is g++. Then there are no tests, nor GPU code.
AC_DEFUN([GEMEL_BOTH_COMPILERS], [
  AC_CACHE_CHECK([whether C and C++ go into one program], [gemel_cv_both_compilers], [
    gemel_cv_both_compilers=no gemel_save_libs=$LIBS
    gemel_which_libc="#include <stdlib.h>
#ifdef __GLIBC__
#define gemel_function gemel_function_of_glibc
#endif"
    AC_COMPILE_IFELSE([AC_LANG_SOURCE([[$gemel_which_libc
int gemel_function(void) { return 0; }]])], [
      mv conftest.$ac_objext gemel-c.$ac_objext
      LIBS="gemel-c.$ac_objext $LIBS"
      AC_LANG_PUSH([C++])
      GEMEL_RUNS([AC_LANG_SOURCE([[$gemel_which_libc
extern "C" int gemel_function(void);
int main() { return gemel_function(); }]])], [gemel_cv_both_compilers=yes], [])
      AC_LANG_POP([C++])])
    LIBS=$gemel_save_libs
    rm -f gemel-c.$ac_objext])
  AS_IF([test "$gemel_cv_both_compilers" = no],
    [AC_MSG_WARN([CC=$CC and CXX=$CXX don't fit together, so there are no tests and no GPU code.])])])

# GEMEL_OPENMP: OpenMP, if programs with it run.
AC_DEFUN([GEMEL_OPENMP], [
  AC_OPENMP
  AS_IF([test "x$OPENMP_CFLAGS" != x], [
    AC_MSG_CHECKING([whether programs with OpenMP run])
    gemel_save_flags=$CFLAGS
    CFLAGS="$CFLAGS $OPENMP_CFLAGS"
    GEMEL_RUNS([AC_LANG_PROGRAM([[#include <omp.h>]], [[return omp_get_max_threads() < 1;]])],
      [gemel_runs=yes], [gemel_runs=no OPENMP_CFLAGS= ac_cv_prog_c_openmp=no])
    CFLAGS=$gemel_save_flags
    AC_MSG_RESULT([$gemel_runs])])])

AC_DEFUN([GEMEL_COMPILER_FLAGS], [
  AC_ARG_ENABLE([werror],
    [AS_HELP_STRING([--enable-werror], [treat compiler warnings as errors (for developers)])],
    [], [enable_werror=no])
  GEMEL_ROUNDING
  GEMEL_BOTH_COMPILERS
  GEMEL_CFLAGS="-std=c11 $gemel_cv_rounding"
  m4_foreach_w([flag], [-ffp-contract=off -fno-math-errno -Wall -Wextra -Wshadow -Wvla -Wpointer-arith
      -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition],
    [GEMEL_ADD_FLAG([GEMEL_CFLAGS], flag)])
  # Without OpenMP its pragmas mean nothing, which is as it should be.
  AS_IF([test "x$OPENMP_CFLAGS" = x], [GEMEL_ADD_FLAG([GEMEL_CFLAGS], [-Wno-unknown-pragmas])])
  AC_LANG_PUSH([C++])
  GEMEL_CXXFLAGS=$gemel_cv_rounding
  m4_foreach_w([flag], [-Wall -Wextra], [GEMEL_ADD_FLAG([GEMEL_CXXFLAGS], flag)])
  AC_LANG_POP([C++])
  AS_IF([test "x$enable_werror" = xyes],
    [GEMEL_CFLAGS="$GEMEL_CFLAGS -Werror"; GEMEL_CXXFLAGS="$GEMEL_CXXFLAGS -Werror"])
  AC_SUBST([GEMEL_CFLAGS])
  AC_SUBST([GEMEL_CXXFLAGS])])

# GEMEL_PREFIX_MAP: names of files, in messages and for debuggers, are those within the source folder,
# so that what is installed is the same wherever it was built. (Coverage wants to find the files.)
AC_DEFUN([GEMEL_PREFIX_MAP], [
  gemel_prefix_map=
  GEMEL_ADD_FLAG([gemel_prefix_map], [-ffile-prefix-map=/build=.])
  AS_IF([test "x$gemel_prefix_map" != x && test "x$enable_coverage" != xyes],
    [GEMEL_CFLAGS="$GEMEL_CFLAGS -ffile-prefix-map=\$(srcdir)/= -ffile-prefix-map=\$(abs_builddir)=."])])
