/*
 * Random programs on extreme numbers in the domains that compute with GMP, MPFR, FLINT and Arb.
 * These libraries abort when memory is out, so sizes are capped before they are called: whatever
 * the program, no block that they ask for is larger than 128 KiB (a page of FLINT's integers has
 * 68). All of their blocks are watched. What an operation gives is for the domains' own tests.
 *
 * SPDX-License-Identifier: MIT
 */
#include "ct.h"

#include <flint/flint.h>
#include <gmp.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "domains/bound.h"
#include "domains/dual.h"
#include "domains/ordered.h"
#include "domains/special.h"
#include "base/random.h"

enum { REGISTERS = 6, STEPS = 30, PROGRAMS = 1500, LARGEST = 1 << 17 };

/* ---- Watching ---- */

static size_t largest;

/* Notes N, and refuses what can't be meant: the library then aborts, which is what is tested. */
static void *watched(void *block, size_t n) {
  largest = n > largest ? n : largest;
  return n > (size_t)1 << 30 ? NULL : realloc(block, n);
}

static void *watched_new(size_t n) {
  return watched(NULL, n);
}

static void *watched_zeroed(size_t count, size_t n) {
  largest = count * n > largest ? count * n : largest;
  return calloc(count, n);
}

static void *watched_resized(void *block, size_t old, size_t n) {
  (void)old;
  return watched(block, n);
}

static void freed(void *block, size_t n) {
  (void)n;
  free(block);
}

static void watch(void) {
  __flint_set_memory_functions(watched_new, watched_zeroed, watched, free);
  mp_set_memory_functions(watched_new, watched_resized, freed);
}

/* ---- Programs ---- */

static const double extremes[] = {
    0,       1,       -1,     2,        0.5,    3,      -0.75,   1.5,     1e-300, 5e-324,    1e300,
    0x1p31,  0x1p32,  0x1p53, 0x1p62,   0x1p63, 0x1p64, 0x1p100, 0x1p127, 1e15,   -1e15,     1e18,
    -0x1p63, 0x1p-62, -1e300, 0x1p1000, 100,    -1000,  1e5,     1e-5,    0.1,    1.0 / 8191};

typedef struct machine {
  gemel__domain *d;
  void *registers;
  gemel__random *random;
} machine;

static void *any(machine *m) {
  return gemel__element(m->d, m->registers, (size_t)gemel__random_below(m->random, REGISTERS));
}

static void load(machine *m, void *e) {
  m->d->from_double(m->d, e, extremes[gemel__random_below(m->random, CT_COUNT(extremes))]);
}

static void round_any(machine *m, void *e) {
  gemel_dtype dtype = (gemel_dtype)gemel__random_below(m->random, GEMEL_DTYPE_COUNT);
  m->d->round(m->d, e, dtype, gemel__random_below(m->random, 4));
}

/* What takes many operands, or gives no element. */
static void look(machine *m, unsigned which, void *e) {
  const void *operands[3] = {any(m), any(m), any(m)};
  char text[80];
  int64_t n;
  gemel__domain *d = m->d;
  switch (which) {
  case 0:
    d->sum(d, e, 3, operands);
    break;
  case 1:
    if (d->product != NULL)
      d->product(d, e, 3, operands);
    break;
  case 2:
    if (d->hull != NULL)
      d->hull(d, e, operands[0], operands[1]);
    break;
  case 3:
    d->format(d, e, text, sizeof text);
    break;
  case 4:
    d->sign(d, e);
    d->to_integer(d, e, &n);
    break;
  default:
    d->equal(d, operands[0], operands[1]);
  }
}

static void step(machine *m) {
  void (*const unary[])(gemel__domain *, void *, const void *) = {
      m->d->neg, m->d->exp, m->d->log, m->d->sqrt, m->d->floor, m->d->exp};
  void (*const binary[])(gemel__domain *, void *, const void *, const void *) = {
      m->d->add, m->d->sub, m->d->mul, m->d->div, m->d->pow, m->d->pow};
  void *e = any(m), *a = any(m), *b = any(m);
  unsigned which = (unsigned)gemel__random_below(m->random, 24);
  if (which < 6)
    unary[which](m->d, e, a);
  else if (which < 12)
    binary[which - 6](m->d, e, a, b);
  else if (which < 18)
    look(m, which - 12, e);
  else if (which < 20)
    round_any(m, e);
  else
    load(m, e);
}

static void run_programs(gemel__domain *d, void (*more)(machine *), uint64_t seed) {
  gemel__random random;
  machine m = {d, gemel__elements_new(d, REGISTERS), &random};
  CT_REQUIRE(m.registers != NULL);
  gemel__random_seed(&random, seed);
  largest = 0;
  for (int k = 0; k < PROGRAMS; k++) {
    for (int i = 0; i < REGISTERS; i++)
      load(&m, gemel__element(d, m.registers, (size_t)i));
    for (int i = 0; i < STEPS; i++) {
      if (more != NULL && gemel__random_below(&random, 6) == 0)
        more(&m);
      else
        step(&m);
    }
  }
  CT_LE_DOUBLE((double)largest, LARGEST);
  printf("  %s: the largest of all blocks has %zu bytes\n", d->name, largest);
  gemel__elements_free(d, m.registers, REGISTERS);
}

/* ---- The domains ---- */

static gemel__real_function any_function(machine *m) {
  return (gemel__real_function)gemel__random_below(m->random, GEMEL__REAL_COUNT);
}

static void ordered_more(machine *m) {
  void *e = any(m), *a = any(m), *b = any(m);
  double low, high;
  switch (gemel__random_below(m->random, 6)) {
  case 0:
    m->d->apply(m->d, e, any_function(m), a);
    break;
  case 1:
    gemel__ordered_max(m->d, e, a, b);
    break;
  case 2:
    gemel__ordered_abs(m->d, e, a);
    break;
  case 3:
    low = extremes[gemel__random_below(m->random, CT_COUNT(extremes))];
    gemel__ordered_set_interval(m->d, e, low, low + fabs(low));
    break;
  case 4:
    gemel__ordered_bounds(m->d, e, &low, &high);
    break;
  default:
    gemel__ordered_overlap(m->d, a, b);
  }
}

static void ordered(const void *data) {
  gemel__ordered *o = gemel__ordered_new(*(const long *)data);
  CT_REQUIRE(o != NULL);
  run_programs(&o->domain, ordered_more, 1);
  gemel__ordered_intervals(o, 1);
  run_programs(&o->domain, ordered_more, 2);
  gemel__ordered_free(o);
  gemel__domains_cleanup();
}

static void bound_more(machine *m) {
  double x = extremes[gemel__random_below(m->random, CT_COUNT(extremes))];
  void *e = any(m);
  m->d->apply(m->d, e, any_function(m), any(m));
  gemel__bound_ratio(m->d, e, GEMEL_F64, x);
  gemel__bound_relative(m->d, e);
  gemel__bound_value(m->d, e);
  m->d->round(m->d, e, GEMEL_F64, 0.5); /* as references do */
}

static void bound(const void *data) {
  gemel__bound *b = gemel__bound_new(*(const long *)data);
  CT_REQUIRE(b != NULL);
  run_programs(&b->domain, bound_more, 3);
  gemel__bound_free(b);
  gemel__domains_cleanup();
}

static void special_more(machine *m) {
  void *e = any(m), *a = any(m), *b = any(m);
  double x = extremes[gemel__random_below(m->random, CT_COUNT(extremes))];
  switch (gemel__random_below(m->random, 4)) {
  case 0:
    m->d->round(m->d, a, GEMEL_F64, 0.5); /* operands are numbers of a dtype */
    m->d->apply(m->d, e, any_function(m), a);
    break;
  case 1:
    m->d->round(m->d, a, GEMEL_F64, 0.5);
    m->d->round(m->d, b, GEMEL_F64, 0.5);
    m->d->fmod(m->d, e, a, b);
    break;
  case 2:
    m->d->from_double(m->d, e, x > 0 ? INFINITY : NAN);
    break;
  default:
    gemel__special_agrees(m->d, e, GEMEL_F32, x, 2);
  }
}

static void special(const void *data) {
  gemel__special *s = gemel__special_new();
  (void)data;
  CT_REQUIRE(s != NULL);
  run_programs(&s->domain, special_more, 4);
  gemel__special_free(s);
  gemel__domains_cleanup();
}

static void dual(const void *data) {
  gemel__ordered *o = gemel__ordered_new(128);
  gemel__domain *pair;
  (void)data;
  CT_REQUIRE(o != NULL);
  pair = gemel__dual_new(&o->domain);
  CT_REQUIRE(pair != NULL);
  run_programs(pair, NULL, 5);
  gemel__dual_free(pair);
  gemel__ordered_free(o);
  gemel__domains_cleanup();
}

void ct_register(void) {
  static const long precisions[] = {128, 2048};
  watch();
  for (size_t k = 0; k < CT_COUNT(precisions); k++) {
    char name[16];
    snprintf(name, sizeof name, "%ld", precisions[k]);
    CT_ADD_TO("extremes", "ordered", name, ordered, &precisions[k]);
    CT_ADD_TO("extremes", "bound", name, bound, &precisions[k]);
  }
  CT_ADD("extremes", "special", special, NULL);
  CT_ADD("extremes", "dual", dual, NULL);
}
