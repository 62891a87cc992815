# Kinds of build that a developer asks for: debug arena, planted faults, sanitizers, coverage. All
# are off by default and can be combined. SPDX-License-Identifier: MIT

AC_DEFUN([GEMEL_BUILD_KINDS], [
  AC_ARG_ENABLE([debug],
    [AS_HELP_STRING([--enable-debug],
      [debug arena: one malloc an object, and every graph is checked after every step, so that
       Valgrind and the sanitizers see what an arena would hide (slow)])],
    [], [enable_debug=no])
  AS_IF([test "x$enable_debug" != xno],
    [AC_DEFINE([GEMEL_DEBUG], [1], [One malloc an object, graphs checked after every step.])])

  AC_ARG_ENABLE([sanitizers],
    [AS_HELP_STRING([--enable-sanitizers=LIST],
      [build with the compiler's sanitizers; LIST is comma-separated @<:@address,undefined@:>@])],
    [], [enable_sanitizers=no])
  AS_CASE([$enable_sanitizers], [no], [], [yes], [enable_sanitizers=address,undefined])
  AS_IF([test "x$enable_sanitizers" != xno], [
    gemel_sanitize="-fsanitize=$enable_sanitizers -fno-sanitize-recover=all -fno-omit-frame-pointer"
    GEMEL_CFLAGS="$GEMEL_CFLAGS $gemel_sanitize"
    GEMEL_CXXFLAGS="$GEMEL_CXXFLAGS $gemel_sanitize"
    GEMEL_LDFLAGS="$GEMEL_LDFLAGS $gemel_sanitize"
    AC_DEFINE([GEMEL_SANITIZED], [1], [Built with sanitizers: tests may choose smaller sizes.])])

  AC_ARG_ENABLE([coverage],
    [AS_HELP_STRING([--enable-coverage],
      [build for `make coverage', which runs the tests and writes coverage/html/index.html (needs lcov)])],
    [], [enable_coverage=no])
  AC_PATH_PROG([LCOV], [lcov])
  AC_PATH_PROG([GENHTML], [genhtml])
  AS_IF([test "x$enable_coverage" != xno], [
    AS_IF([test -z "$LCOV" || test -z "$GENHTML"],
      [AC_MSG_ERROR([--enable-coverage needs lcov: install the Debian package lcov.])])
    GEMEL_CFLAGS="$GEMEL_CFLAGS --coverage -O1"
    GEMEL_LDFLAGS="$GEMEL_LDFLAGS --coverage"
    AC_DEFINE([GEMEL_COVERAGE], [1], [Built to count what is reached: processes that end by _exit write it.])])
  AM_CONDITIONAL([COVERAGE], [test "x$enable_coverage" != xno])

  AC_PATH_PROG([VALGRIND], [valgrind])
  AC_SUBST([GEMEL_LDFLAGS])])
