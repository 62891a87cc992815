/*
 * Tests in C, run by GoogleTest. A test program defines ct_register(), which hands over tables of
 * tests; ct.cc registers each with GoogleTest under "suite.name" and supplies main(), so listing,
 * filtering (--gtest_filter), sharding and JUnit XML work as usual, and a failure is reported at
 * the line of the C file. A name may hold '/'.
 *
 *   static void rank_of_scalar(const void *data) { CT_EQ_INT(gemel_rank(...), 0); }
 *   static const ct_test tests[] = {CT_TEST("rank/scalar", rank_of_scalar, NULL)};
 *   void ct_register(void) { ct_suite("dims", tests, CT_COUNT(tests)); }
 *
 * CT_CHECK and the CT_EQ family report and go on, and are expressions that are 1 when all is well;
 * CT_REQUIRE and CT_SKIP return from the (void) function they stand in. There is no comparison with
 * a tolerance: a bound is computed and CT_LE_DOUBLE holds the error against it, NaN never passing.
 *
 * ct_oom() runs a function again and again with one allocation after another refused.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef GEMEL_TESTS_CT_H
#define GEMEL_TESTS_CT_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef void ct_fn(const void *data);

typedef struct {
  const char *name;
  ct_fn *run;
  const void *data; /* handed to run; must outlive the program's tests */
  const char *file;
  int line;
} ct_test;

#define CT_TEST(name, fn, data)                                                                    \
  { (name), (fn), (data), __FILE__, __LINE__ }
#define CT_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Defined by the test program: registers its tests, by ct_suite() or one at a time by ct_add(). */
void ct_register(void);

/* Says that tests share objects: blocks that are left are counted at the end of the program alone.
 */
void ct_shares(void);

/* Registers a table; names are copied. The suite's name must not hold '/'. */
void ct_suite(const char *suite, const ct_test *tests, size_t count);

/* Registers one test, for programs that make their tests from a table of the library. */
#define CT_ADD(suite, name, fn, data)                                                              \
  ct_add((suite), &(ct_test){(name), (fn), (data), __FILE__, __LINE__})
void ct_add(const char *suite, const ct_test *test);

/* The same under the name PREFIX/NAME. */
#define CT_ADD_TO(suite, prefix, name, fn, data)                                                   \
  ct_add_to((suite), (prefix), &(ct_test){(name), (fn), (data), __FILE__, __LINE__})
void ct_add_to(const char *suite, const char *prefix, const ct_test *test);

/* Says what the following checks are about ("dtype f32, axis 1"); printed with each failure until
   the next call or the end of the test. NULL clears it. */
void ct_context(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Puts a figure (a seed, a count) into the XML report. */
void ct_property(const char *key, long long value);

/* For how many seeds to try what is random: what the environment's VARIABLE says, else USUAL; 1
   where each takes much longer, or the suite has been run already. CONTRIBUTING.md lists the
   variables. */
unsigned long long ct_seeds(const char *variable, unsigned long long usual);

/* What the environment's VARIABLE says, else USUAL. What isn't a number above 0 ends the program.
 */
unsigned long long ct_number(const char *variable, unsigned long long usual);

/* A folder for files, which belongs to the program alone: made when it is first asked for, removed
   with what is in it when all tests are done. */
const char *ct_scratch(void);

/* Something that uses the library, makes and frees all its objects itself, and returns a
   gemel_status. It is called many times with the same data, and may use checks. */
typedef int ct_oom_fn(void *data);

/* Runs FN with allocation k of the library refused, for k = 0, 1, ... until a run in which none
   was: that run must return GEMEL_OK. Every run before must return GEMEL_NO_MEMORY. It is done
   twice: only allocation k is refused, then k and all that follow. After each run every block must
   have been released, with the size it was allocated with. Returns the number of refusals tried. */
#define ct_oom(fn, data) ct_oom_at((fn), (data), __FILE__, __LINE__)
size_t ct_oom_at(ct_oom_fn *fn, void *data, const char *file, int line);

#define CT_CHECK(condition) ct_check(!!(condition), #condition, __FILE__, __LINE__)
#define CT_REQUIRE(condition)                                                                      \
  do {                                                                                             \
    if (!CT_CHECK(condition))                                                                      \
      return;                                                                                      \
  } while (0)
#define CT_FAIL(...) ct_fail(__FILE__, __LINE__, __VA_ARGS__)
/* For tests that take minutes: not run where the suite has been run whole already and only asks
 * whether it can be, as for a tarball. */
#define CT_SKIP_IF_QUICK()                                                                         \
  do {                                                                                             \
    if (getenv("GEMEL_QUICK") != NULL)                                                             \
      CT_SKIP("takes long, and GEMEL_QUICK is set");                                               \
  } while (0)
#define CT_SKIP(reason)                                                                            \
  do {                                                                                             \
    ct_skip((reason), __FILE__, __LINE__);                                                         \
    return;                                                                                        \
  } while (0)

/* got, wanted */
#define CT_EQ_INT(a, b) ct_eq_int((a), (b), #a, #b, __FILE__, __LINE__)
#define CT_EQ_UINT(a, b) ct_eq_uint((a), (b), #a, #b, __FILE__, __LINE__)
#define CT_EQ_STR(a, b) ct_eq_str((a), (b), #a, #b, __FILE__, __LINE__)
/* The same bytes; reports the first that differs. Bitwise equality of arrays of any type. */
#define CT_EQ_MEM(a, b, size) ct_eq_mem((a), (b), (size), #a, #b, __FILE__, __LINE__)
/* text holds part (for error messages). */
#define CT_HAS_STR(text, part) ct_has_str((text), (part), #text, __FILE__, __LINE__)
/* a <= b; false if either is NaN. */
#define CT_LE_DOUBLE(a, b) ct_le_double((a), (b), #a, #b, __FILE__, __LINE__)

int ct_check(int ok, const char *text, const char *file, int line);
void ct_fail(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void ct_skip(const char *reason, const char *file, int line);
int ct_eq_int(long long a, long long b, const char *sa, const char *sb, const char *file, int line);
int ct_eq_uint(unsigned long long a, unsigned long long b, const char *sa, const char *sb,
               const char *file, int line);
int ct_eq_str(const char *a, const char *b, const char *sa, const char *sb, const char *file,
              int line);
int ct_eq_mem(const void *a, const void *b, size_t size, const char *sa, const char *sb,
              const char *file, int line);
int ct_has_str(const char *text, const char *part, const char *st, const char *file, int line);
int ct_le_double(double a, double b, const char *sa, const char *sb, const char *file, int line);

#ifdef __cplusplus
}
#endif

#endif
