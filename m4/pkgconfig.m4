# What the .pc files say. The libraries are static only, so everything that they need stands in Libs
# and Requires: with Libs.private a plain `pkg-config --libs' would not link.
# SPDX-License-Identifier: MIT

AC_DEFUN([GEMEL_PKGCONFIG], [
  PC_REQUIRES=$BLAS_MODULE
  PC_LIBS=`AS_ECHO(["$DNNL_LIBS $OPENMP_CFLAGS $GEMEL_LDFLAGS $LIBS"]) | $AWK '{$[]1 = $[]1; print}'`
  AC_SUBST([PC_REQUIRES])
  AC_SUBST([PC_LIBS])])
