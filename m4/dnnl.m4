# oneDNN: matrix products and convolutions. Optional; Debian's package brings no .pc file, so it is
# found by its header and library. SPDX-License-Identifier: MIT

AC_DEFUN([GEMEL_DNNL], [
  AC_ARG_WITH([dnnl],
    [AS_HELP_STRING([--with-dnnl], [use oneDNN for matrix products and convolutions @<:@if found@:>@])],
    [], [with_dnnl=auto])
  gemel_have_dnnl=no
  AS_IF([test "x$with_dnnl" != xno], [
    gemel_save_libs=$LIBS
    AC_MSG_CHECKING([for oneDNN])
    LIBS="-ldnnl $LIBS"
    GEMEL_RUNS([AC_LANG_PROGRAM([[#include <dnnl.h>]], [[return dnnl_version() == NULL;]])],
      [gemel_have_dnnl=yes], [])
    AC_MSG_RESULT([$gemel_have_dnnl])
    LIBS=$gemel_save_libs
    AS_IF([test "$gemel_have_dnnl" = no && test "x$with_dnnl" != xauto],
      [AC_MSG_ERROR([oneDNN was asked for and not found: install the Debian package libdnnl-dev.])])])
  AS_IF([test "$gemel_have_dnnl" = yes], [
    DNNL_LIBS=-ldnnl
    AC_DEFINE([HAVE_DNNL], [1], [oneDNN is used.])])
  AM_CONDITIONAL([DNNL], [test "$gemel_have_dnnl" = yes])
  AC_SUBST([DNNL_LIBS])])
