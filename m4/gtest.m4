# GoogleTest, which runs the tests behind the C shim tests/ct.h. Only `make check' needs it; without
# it no test is built and tests/no-googletest, which says so, is skipped in their place.
# SPDX-License-Identifier: MIT

AC_DEFUN([GEMEL_GTEST], [
  gemel_have_gtest=no
  AC_LANG_PUSH([C++])
  gemel_save_libs=$LIBS gemel_save_cppflags=$CPPFLAGS
  GTEST_CFLAGS=`$PKG_CONFIG --cflags gtest 2>/dev/null`
  GTEST_LIBS=`$PKG_CONFIG --libs gtest 2>/dev/null || echo -lgtest -lpthread`
  LIBS="$GTEST_LIBS $LIBS" CPPFLAGS="$GTEST_CFLAGS $CPPFLAGS"
  AC_MSG_CHECKING([for GoogleTest])
  AS_IF([test "$gemel_cv_both_compilers" = yes],
    [GEMEL_RUNS([AC_LANG_PROGRAM([[#include <gtest/gtest.h>]],
      [[testing::InitGoogleTest(); return RUN_ALL_TESTS();]])],
    [gemel_have_gtest=yes], [GTEST_CFLAGS= GTEST_LIBS=])])
  AC_MSG_RESULT([$gemel_have_gtest])
  LIBS=$gemel_save_libs CPPFLAGS=$gemel_save_cppflags
  AC_LANG_POP([C++])
  AS_IF([test "$gemel_have_gtest" = yes],
    [],
    [AC_MSG_WARN([GoogleTest was not found, so make check will skip every test: install the Debian package libgtest-dev.])])
  AC_CHECK_LIB([stdc++], [__gxx_personality_v0], [STDCXX_LIBS=-lstdc++], [STDCXX_LIBS=-lc++])
  AM_CONDITIONAL([GTEST], [test "$gemel_have_gtest" = yes])
  AC_SUBST([STDCXX_LIBS])
  AC_SUBST([GTEST_CFLAGS])
  AC_SUBST([GTEST_LIBS])])
