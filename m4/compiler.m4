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

AC_DEFUN([GEMEL_COMPILER_FLAGS], [
  AC_ARG_ENABLE([werror],
    [AS_HELP_STRING([--enable-werror], [treat compiler warnings as errors (for developers)])],
    [], [enable_werror=no])
  GEMEL_CFLAGS="-std=c11"
  m4_foreach_w([flag], [-ffp-contract=off -fno-math-errno -Wall -Wextra -Wshadow -Wvla -Wpointer-arith
      -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition],
    [GEMEL_ADD_FLAG([GEMEL_CFLAGS], flag)])
  # Without OpenMP its pragmas mean nothing, which is as it should be.
  AS_IF([test "x$OPENMP_CFLAGS" = x], [GEMEL_ADD_FLAG([GEMEL_CFLAGS], [-Wno-unknown-pragmas])])
  AC_LANG_PUSH([C++])
  GEMEL_CXXFLAGS=
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
