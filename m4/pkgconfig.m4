# What a program must link besides gemel's own libraries: with the static ones all that these need, with
# the shared ones nothing. So the .pc files have it in Libs.private, which `pkg-config --static` adds, or, if
# static libraries are all there is, in Libs. Behind it stands -lm in any case: a program that computes with
# tensors calls <math.h> itself, and is linked by the same line. Other libraries' modules are not required: that would bring
# their folders of headers to whoever compiles with gemel's.
# SPDX-License-Identifier: MIT

AC_DEFUN([GEMEL_PKGCONFIG], [
  GEMEL_NEEDS=`AS_ECHO(["$DNNL_LIBS $BLAS_LIBS $OPENMP_CFLAGS $GEMEL_LDFLAGS $LIBS"]) | $AWK '{$[]1 = $[]1; print}'`
  AS_IF([test "$enable_shared" = yes],
    [PC_LIBS=-lm PC_PRIVATE=$GEMEL_NEEDS PC_VERIFY_LIBS='' PC_VERIFY_PRIVATE=$VERIFY_LIBS],
    [PC_LIBS="$GEMEL_NEEDS -lm" PC_PRIVATE='' PC_VERIFY_LIBS=$VERIFY_LIBS PC_VERIFY_PRIVATE=''])
  AC_SUBST([GEMEL_NEEDS])
  AC_SUBST([PC_LIBS])
  AC_SUBST([PC_PRIVATE])
  AC_SUBST([PC_VERIFY_LIBS])
  AC_SUBST([PC_VERIFY_PRIVATE])])
