/*
 * Tests of the shim itself: that its checks pass what is right, and that the program carries a
 * version. That they fail on what is wrong is shown by this program running itself with
 * GEMEL_CT_FAIL set: then there is a suite "wrong", in which every test must fail.
 *
 * SPDX-License-Identifier: MIT
 */
#include "ct.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gemel/status.h>
#include <gemel/version.h>

#include "core/alloc.h"
#include "support/near.h"

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

static void version_is_known(const void *data) {
  (void)data;
  CT_EQ_STR(gemel_version(), PACKAGE_VERSION);
}

/* What is wrong with a function that ct_oom() runs. */
enum { SOUND, LEAKS_ON_ERROR, IGNORES_ERROR, WRONG_SIZE };

/* Two blocks, the second grown once: three allocations. */
static int uses_memory(void *data) {
  int fault = *(int *)data;
  char *a = gemel__alloc(10);
  if (!a)
    return fault == IGNORES_ERROR ? GEMEL_OK : GEMEL_NO_MEMORY;
  char *b = gemel__alloc(20), *c = b ? gemel__realloc(b, 20, 40) : NULL;
  if (fault != LEAKS_ON_ERROR || c)
    gemel__free(a, 10);
  gemel__free(c ? c : b, fault == WRONG_SIZE || !c ? 20 : 40);
  return c ? GEMEL_OK : GEMEL_NO_MEMORY;
}

static void oom_passes(const void *data) {
  (void)data;
  int fault = SOUND;
  CT_EQ_UINT(ct_oom(uses_memory, &fault), 6);
}

/* Each of these must fail but the one that skips, and nothing after a CT_REQUIRE may run. */
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
  case 9:
    CT_SKIP("a reason");
    exit(3);
  case 10:
  case 11:
  case 12: {
    int fault = *(const int *)data - 10 + LEAKS_ON_ERROR;
    ct_oom(uses_memory, &fault);
    break;
  }
  case 13:
    break;
  case 14:
    CT_HAS_STR("abc", "");
    break;
  default:
    ct_context("case %d", *(const int *)data);
    CT_FAIL("as planned");
  }
}

static const int answer = 42;
static const int numbers[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
static const char *const names[] = {"check",    "require",  "int",       "string",
                                    "memory",   "nan/left", "nan/right", "substring",
                                    "unsigned", "skip",     "oom/leak",  "oom/ignore",
                                    "oom/size", "nothing",  "empty",     "context"};

/* Runs this program with the suite "wrong" alone and counts the failures it reports. */
static void wrong_is_found(const void *data) {
  (void)data;
  char self[1000] = "", command[1200], line[300];
  CT_REQUIRE(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
  snprintf(command, sizeof command,
           "GEMEL_CT_FAIL=1 GEMEL_JUNIT= '%s' --gtest_filter='wrong.*' --gtest_color=no 2>&1",
           self);
  FILE *output = popen(command, "r");
  CT_REQUIRE(output);
  size_t failed = 0, skipped = 0, located = 0, context = 0;
  while (fgets(line, sizeof line, output)) {
    failed += strncmp(line, "[  FAILED  ] wrong.", 19) == 0 && strstr(line, " ms)");
    skipped += strncmp(line, "[  SKIPPED ] wrong.skip", 23) == 0 && strstr(line, " ms)");
    located += strstr(line, "t-ct.c:") != NULL && strstr(line, ": Failure") != NULL;
    context += strstr(line, "with case 15") != NULL;
  }
  CT_CHECK(pclose(output) != 0);
  CT_EQ_UINT(failed, CT_COUNT(numbers) - 1);
  CT_EQ_UINT(skipped, 1);
  CT_EQ_UINT(located, CT_COUNT(numbers) - 1 + 3); /* ct_oom tries in two ways */
  CT_EQ_UINT(context, 1);
}

/* A bound that has become infinite, or a NaN, allows nothing. */
static void infinities_are_far(const void *data) {
  (void)data;
  CT_CHECK(is_near(1, 1 + 1e-10, 1e-9) && !is_near(1, 1 + 1e-8, 1e-9));
  CT_CHECK(is_near(INFINITY, INFINITY, INFINITY) && is_near(-INFINITY, -INFINITY, NAN));
  CT_CHECK(!is_near(INFINITY, -INFINITY, INFINITY) && !is_near(5, INFINITY, INFINITY));
  CT_CHECK(!is_near(5, 6, INFINITY) && !is_near(5, 6, NAN) && !is_near(NAN, NAN, 1));
  CT_CHECK(is_near_or_nan(NAN, NAN, 1) && !is_near_or_nan(NAN, 5, INFINITY));
}

/* The status with which this program ends, if there are to be SEEDS of them. */
static int status_with_seeds(const char *self, const char *seeds) {
  char command[1200];
  snprintf(command, sizeof command,
           "GEMEL_CT_SEEDS='%s' GEMEL_JUNIT= '%s' --gtest_filter='ct.seeds' >/dev/null 2>&1", seeds,
           self);
  int status = system(command);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* No seeds, or what is no number of them, ends the program. */
static void seeds_are_counted(const void *data) {
  (void)data;
  static const char *const refused[] = {"0", "", "x", "3x", "-1", " 3", "99999999999999999999"};
  char self[1000] = "";
  if (getenv("GEMEL_CT_SEEDS")) {
    CT_EQ_UINT(ct_seeds("GEMEL_CT_SEEDS", 7), 3);
    return;
  }
  CT_REQUIRE(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
  CT_EQ_INT(status_with_seeds(self, "3"), 0);
  for (size_t k = 0; k < CT_COUNT(refused); k++) {
    ct_context("'%s'", refused[k]);
    CT_EQ_INT(status_with_seeds(self, refused[k]), 2);
  }
}

static const ct_test tests[] = {
    CT_TEST("near", infinities_are_far, NULL),    CT_TEST("seeds", seeds_are_counted, NULL),
    CT_TEST("checks/pass", checks_pass, &answer), CT_TEST("oom/passes", oom_passes, NULL),
    CT_TEST("version", version_is_known, NULL),   CT_TEST("wrong/is_found", wrong_is_found, NULL),
};

void ct_register(void) {
  ct_suite("ct", tests, CT_COUNT(tests));
  if (getenv("GEMEL_CT_FAIL"))
    for (size_t i = 0; i < CT_COUNT(numbers); i++)
      CT_ADD("wrong", names[i], wrong, &numbers[i]);
}
