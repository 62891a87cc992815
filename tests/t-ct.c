/*
 * Tests of the shim itself: that its checks pass what is right, and that the program carries a
 * version. That they fail on what is wrong is shown by running this program with GEMEL_CT_FAIL set,
 * which ci/test does, expecting every test of the suite "wrong" to fail.
 *
 * SPDX-License-Identifier: MIT
 */
#include "ct.h"

#include <math.h>
#include <stdlib.h>

#include <gemel/version.h>

static void checks_pass(const void *data) {
  const char text[] = "ab";
  CT_CHECK(1 + 1 == 2);
  CT_EQ_INT(-3, -3);
  CT_EQ_UINT(~0ull, ~0ull);
  CT_EQ_STR("a", "a");
  CT_EQ_STR(NULL, NULL);
  CT_EQ_MEM(text, "ab", 3);
  CT_HAS_STR("abc", "bc");
  CT_LE_DOUBLE(0.0, -0.0);
  CT_LE_DOUBLE(1.0, INFINITY);
  CT_EQ_INT(*(const int *)data, 42);
}

static void skip_returns(const void *data) {
  (void)data;
  CT_SKIP("to see that a reason is shown");
  CT_FAIL("after a skip");
}

static void version_is_known(const void *data) {
  (void)data;
  CT_EQ_STR(gemel_version(), PACKAGE_VERSION);
}

/* Each of these must fail, and nothing after a CT_REQUIRE may run. */
static void wrong(const void *data) {
  switch (*(const int *)data) {
  case 0:
    CT_CHECK(1 + 1 == 3);
    break;
  case 1:
    CT_REQUIRE(0);
    exit(3);
  case 2:
    CT_EQ_INT(1, 2);
    break;
  case 3:
    CT_EQ_STR("a", NULL);
    break;
  case 4:
    CT_EQ_MEM("abc", "abd", 3);
    break;
  case 5:
    CT_LE_DOUBLE(NAN, INFINITY);
    break;
  case 6:
    CT_LE_DOUBLE(0.0, NAN);
    break;
  case 7:
    CT_HAS_STR("abc", "ac");
    break;
  case 8:
    CT_EQ_UINT(0, ~0ull);
    break;
  default:
    ct_context("case %d", *(const int *)data);
    CT_FAIL("as planned");
  }
}

static const int answer = 42;
static const int numbers[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
static const char *const names[] = {"check",    "require",    "int",   "string", "memory",
                                    "nan/left", "nan/right", "substring", "unsigned", "context"};

static const ct_test tests[] = {
    CT_TEST("checks/pass", checks_pass, &answer),
    CT_TEST("skip/returns", skip_returns, NULL),
    CT_TEST("version", version_is_known, NULL),
};

void ct_register(void) {
  ct_suite("ct", tests, CT_COUNT(tests));
  if (getenv("GEMEL_CT_FAIL"))
    for (size_t i = 0; i < CT_COUNT(numbers); i++)
      CT_ADD("wrong", names[i], wrong, &numbers[i]);
}
