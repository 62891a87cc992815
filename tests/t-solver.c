/*
 * The solver: its answers to single questions (verify/tiers/solver-check.h), and that a limit, a
 * table that is full and a refused allocation give no answer instead of a wrong one. What it makes
 * of pairs of graphs is in tests/pairs/solver.pairs.
 *
 * SPDX-License-Identifier: MIT
 */
#include "ct.h"

#include <pthread.h>
#include "domains/ordered.h"
#include "domains/symbolic.h"
#include "tiers/solver-check.h"

enum { ROOM = 1000, LEAVES = 3 };

typedef struct world {
  gemel__formulas *t;
  fmpq leaves[LEAVES];
} world;

static world world_new(size_t limit) {
  world w;
  w.t = gemel__formulas_new(limit);
  for (int k = 0; k < LEAVES; k++) {
    fmpq_init(&w.leaves[k]);
  }
  return w;
}

static void world_free(world *w) {
  gemel__formulas_free(w->t);
  for (int k = 0; k < LEAVES; k++) {
    fmpq_clear(&w->leaves[k]);
  }
  gemel__domains_cleanup(); /* of this thread */
}

static gemel__formula number(gemel__formulas *t, long x, long y) {
  fmpq_t q;
  gemel__formula made;
  fmpq_init(q);
  fmpq_set_si(q, x, (ulong)y);
  made = gemel__formula_number(t, q);
  fmpq_clear(q);
  return made;
}

static gemel__formula less(gemel__formulas *t, gemel__formula a, gemel__formula b) {
  return gemel__formula_sign(t, GEMEL__IF_NEGATIVE,
                             gemel__formula_add(t, a, gemel__formula_neg(t, b)));
}

static gemel__smt_answer ask(world *w, gemel__formula term) {
  return gemel__solver_check(w->t, term, GEMEL__SOLVER_WORK, w->leaves, NULL);
}

/* a < b < c < a never, a < b < c with a = 1/3 somewhere, and that is where it says. */
static void order(const void *data) {
  world w = world_new(ROOM);
  gemel__formulas *t = w.t;
  gemel__formula a = gemel__formula_leaf_real(t, GEMEL__IF_ANY), b = gemel__formula_leaf_real(t, 7);
  gemel__formula c = gemel__formula_leaf_real(t, GEMEL__IF_ANY);
  gemel__formula chain = gemel__formula_and(t, less(t, a, b), less(t, b, c));
  gemel__formula third = gemel__formula_add(t, a, number(t, -1, 3));
  (void)data;
  CT_EQ_INT(ask(&w, gemel__formula_and(t, chain, less(t, c, a))), GEMEL__SMT_NEVER);
  chain = gemel__formula_and(t, chain, gemel__formula_sign(t, GEMEL__IF_ZERO, third));
  CT_EQ_INT(ask(&w, chain), GEMEL__SMT_POSSIBLE);
  CT_CHECK(fmpq_cmp(&w.leaves[0], &w.leaves[1]) < 0 && fmpq_cmp(&w.leaves[1], &w.leaves[2]) < 0);
  CT_CHECK(fmpz_equal_si(fmpq_numref(&w.leaves[0]), 1) &&
           fmpz_equal_si(fmpq_denref(&w.leaves[0]), 3));
  world_free(&w);
}

/* x + 1 > x but for the largest number of the dtype, where it wraps; of i8 and u64. */
static void wrapping(const void *data) {
  static const gemel_dtype dtypes[] = {GEMEL_I8, GEMEL_U64};
  (void)data;
  for (size_t k = 0; k < CT_COUNT(dtypes); k++) {
    world w = world_new(ROOM);
    gemel__formula_wide low, high;
    gemel__formula x, next;
    gemel__formula_range(dtypes[k], &low, &high);
    x = gemel__formula_leaf_whole(w.t, low, high);
    next = gemel__formula_wrap(w.t, dtypes[k], gemel__formula_add(w.t, x, GEMEL__FORMULA_ONE));
    CT_EQ_INT(ask(&w, gemel__formula_not(w.t, less(w.t, x, next))), GEMEL__SMT_POSSIBLE);
    CT_CHECK(fmpz_fits_si(fmpq_numref(&w.leaves[0]))
                 ? fmpz_get_si(fmpq_numref(&w.leaves[0])) == (long)high
                 : fmpz_get_ui(fmpq_numref(&w.leaves[0])) == (ulong)high);
    world_free(&w);
  }
}

/* exp is positive and grows, and nothing more is known: exp(x) < x isn't refuted. */
static void functions(const void *data) {
  world w = world_new(ROOM);
  gemel__formulas *t = w.t;
  gemel__formula x = gemel__formula_leaf_real(t, GEMEL__IF_ANY), y = gemel__formula_leaf_real(t, 7);
  gemel__formula u = gemel__formula_apply(t, GEMEL__FORMULA_EXP, x);
  gemel__formula v = gemel__formula_apply(t, GEMEL__FORMULA_EXP, y);
  (void)data;
  CT_EQ_INT(ask(&w, gemel__formula_and(t, less(t, x, y), less(t, v, u))), GEMEL__SMT_NEVER);
  CT_EQ_INT(ask(&w, gemel__formula_and(t, less(t, GEMEL__FORMULA_ONE, u),
                                       less(t, x, GEMEL__FORMULA_ZERO))),
            GEMEL__SMT_NEVER);
  CT_CHECK(ask(&w, less(t, u, x)) != GEMEL__SMT_NEVER);
  /* What is known of log isn't said of exp: x = 1 and exp(x) > 2 may hold. */
  gemel__formula one = gemel__formula_add(t, x, number(t, -1, 1));
  CT_EQ_INT(ask(&w, gemel__formula_and(t, gemel__formula_sign(t, GEMEL__IF_ZERO, one),
                                       less(t, number(t, 2, 1), u))),
            GEMEL__SMT_POSSIBLE);
  world_free(&w);
}

/* x · x · x ≠ y · y of integers of 64 bits, both large: too much for any limit that there is. */
static gemel__formula hard(gemel__formulas *t) {
  gemel__formula x = gemel__formula_leaf_whole(t, 2, (gemel__formula_wide)1 << 31);
  gemel__formula y = gemel__formula_leaf_whole(t, 2, (gemel__formula_wide)1 << 31);
  gemel__formula product = gemel__formula_mul(t, x, y);
  fmpq_t q;
  gemel__formula off;
  fmpq_init(q);
  fmpz_set_si(fmpq_numref(q), -2305843009213693951); /* a prime */
  off = gemel__formula_add(t, product, gemel__formula_number(t, q));
  fmpq_clear(q);
  return gemel__formula_sign(t, GEMEL__IF_ZERO, off);
}

static void limits(const void *data) {
  world w = world_new(ROOM), small = world_new(8);
  gemel__formula x = gemel__formula_leaf_real(small.t, GEMEL__IF_ANY);
  (void)data;
  CT_EQ_INT(gemel__solver_check(w.t, hard(w.t), 1000, w.leaves, NULL), GEMEL__SMT_UNKNOWN);
  for (long k = 2; k < 20; k++) {
    x = gemel__formula_add(small.t, x, number(small.t, k, 7));
  }
  CT_CHECK(small.t->full);
  CT_EQ_INT(ask(&small, gemel__formula_sign(small.t, GEMEL__IF_NEGATIVE, x)), GEMEL__SMT_UNKNOWN);
  world_free(&w);
  world_free(&small);
}

/* x + 1 < x as X's dtype has it: alike for all leaves of a kind. */
static gemel__formula wraps(gemel__formulas *t, gemel__formula x, gemel__formula more) {
  return less(t, gemel__formula_wrap(t, GEMEL_I8, gemel__formula_add(t, x, more)), x);
}

static int alike(const gemel__formulas *t, gemel__formula a, gemel__formula b) {
  gemel__formula_shape left, right;
  gemel__formula_shape_of(t, a, &left);
  gemel__formula_shape_of(t, b, &right);
  int answer = gemel__formula_alike(&left, &right);
  gemel__formula_shape_free(&left);
  gemel__formula_shape_free(&right);
  return answer;
}

/* Terms are alike for other leaves, but not for leaves of another kind, for other numbers, for
 * others of the same leaves, or with one leaf where there were two. */
static void shapes(const void *data) {
  world w = world_new(ROOM);
  gemel__formulas *t = w.t;
  gemel__formula x = gemel__formula_leaf_whole(t, -128, 127), one = GEMEL__FORMULA_ONE;
  gemel__formula y = gemel__formula_leaf_whole(t, -128, 127);
  gemel__formula z = gemel__formula_leaf_whole(t, -128, 126);
  gemel__formula a = wraps(t, x, one), two = number(t, 2, 1);
  (void)data;
  CT_CHECK(alike(t, a, wraps(t, y, one)));
  CT_CHECK(!alike(t, a, wraps(t, z, one)));
  CT_CHECK(!alike(t, a, wraps(t, y, two)));
  CT_CHECK(!alike(t, wraps(t, x, x), wraps(t, x, y)));
  CT_CHECK(!alike(t, wraps(t, x, y), wraps(t, z, y)));
  CT_CHECK(!alike(t, less(t, x, y), less(t, y, x)));
  CT_CHECK(!alike(t, GEMEL__FORMULA_TRUE, GEMEL__FORMULA_TRUE));
  t->full = 1;
  CT_CHECK(!alike(t, a, a));
  world_free(&w);
}

static void *in_thread(void *user) {
  order(user);
  wrapping(user);
  return user;
}

static void threads(const void *data) {
  pthread_t thread[3];
  (void)data;
  for (size_t k = 0; k < CT_COUNT(thread); k++) {
    CT_REQUIRE(pthread_create(&thread[k], NULL, in_thread, NULL) == 0);
  }
  for (size_t k = 0; k < CT_COUNT(thread); k++) {
    pthread_join(thread[k], NULL);
  }
}

/* Refused memory: no table, a full one, or no answer. Never a wrong one. */
static int with_little_memory(void *data) {
  world w = world_new(ROOM);
  gemel__smt_answer answer = GEMEL__SMT_UNKNOWN;
  (void)data;
  if (w.t != NULL) {
    gemel__formula x = gemel__formula_leaf_real(w.t, GEMEL__IF_ANY);
    gemel__formula y = gemel__formula_leaf_real(w.t, GEMEL__IF_ANY);
    answer = ask(&w, gemel__formula_and(w.t, less(w.t, x, y), less(w.t, y, x)));
    CT_CHECK(answer != GEMEL__SMT_POSSIBLE);
  }
  world_free(&w);
  return answer == GEMEL__SMT_NEVER ? GEMEL_OK : GEMEL_NO_MEMORY;
}

static void refused_memory(const void *data) {
  (void)data;
  CT_CHECK(ct_oom(with_little_memory, NULL) > 3);
}

static const ct_test tests[] = {
    CT_TEST("order", order, NULL),
    CT_TEST("wrapping", wrapping, NULL),
    CT_TEST("functions", functions, NULL),
    CT_TEST("limits", limits, NULL),
    CT_TEST("shapes", shapes, NULL),
    CT_TEST("threads", threads, NULL),
    CT_TEST("refused_memory", refused_memory, NULL),
};

void ct_register(void) {
  ct_suite("solver", tests, CT_COUNT(tests));
}
