# The package for Python, python/gemel in the build folder: its extension is written against the limited interface, so
# what is built with one Python serves each from 3.9 on. Optional; needs the harness and Python's headers. It isn't
# installed: ci/wheel makes a wheel of it. SPDX-License-Identifier: MIT
AC_DEFUN([GEMEL_PYTHON], [
  AC_ARG_WITH([python],
    [AS_HELP_STRING([--with-python=PYTHON],
      [the Python whose headers the package for Python is built with; `no' for no package @<:@python3, where it has headers@:>@])],
    [], [with_python=auto])
  gemel_have_python=no PYTHON=: PYTHON_CFLAGS=
  AS_CASE([$with_python], [auto|yes], [gemel_python=python3], [gemel_python=$with_python])
  AS_IF([test "$gemel_python" != no && test "$gemel_foreign:$enable_sanitizers:$enable_coverage" = no:no:no], [
    AC_MSG_CHECKING([for the headers of $gemel_python, 3.9 or later])
    gemel_python_folder=`$gemel_python -c 'import sys, sysconfig
if sys.version_info >= (3, 9): print(sysconfig.get_paths()@<:@"include"@:>@)' 2>/dev/null`
    AS_IF([test -n "$gemel_python_folder" && test -e "$gemel_python_folder/Python.h" && test "$gemel_have_verify" = yes],
      [gemel_have_python=yes PYTHON=$gemel_python PYTHON_CFLAGS="-isystem $gemel_python_folder"])
    AC_MSG_RESULT([$gemel_have_python])])
  AS_CASE([$with_python:$gemel_have_python],
    [no:*|auto:*|*:yes], [],
    [AC_MSG_ERROR([the package for Python needs the harness, and headers of $gemel_python: install the Debian package python3-dev.])])
  AC_SUBST([PYTHON])
  AC_SUBST([PYTHON_CFLAGS])
  AM_CONDITIONAL([PYTHON_PACKAGE], [test "$gemel_have_python" = yes])])
