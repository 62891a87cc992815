/* SPDX-License-Identifier: MIT
 *
 * Dims: identities that the normal form must see and some that it must not, texts, bounds,
 * overflow, and a comparison of random expressions with plain integer arithmetic at random points.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gemel/gemel.h>
#include "core/context.h"
#include "ct.h"
#include "support/random.h"

static gemel_context *ctx;

static gemel_dim K(int64_t v) {
  return gemel_dim_constant(ctx, v);
}
static gemel_dim S(const char *name) {
  return gemel_dim_symbol(ctx, name);
}
static gemel_dim add(gemel_dim a, gemel_dim b) {
  return gemel_dim_add(ctx, a, b);
}
static gemel_dim sub(gemel_dim a, gemel_dim b) {
  return gemel_dim_sub(ctx, a, b);
}
static gemel_dim mul(gemel_dim a, gemel_dim b) {
  return gemel_dim_mul(ctx, a, b);
}
static gemel_dim quo(gemel_dim a, gemel_dim b) {
  return gemel_dim_floordiv(ctx, a, b);
}
static gemel_dim least(gemel_dim a, gemel_dim b) {
  return gemel_dim_min(ctx, a, b);
}
static gemel_dim most(gemel_dim a, gemel_dim b) {
  return gemel_dim_max(ctx, a, b);
}

/* Neither a number nor a dtype is taken for a dim or a type, nor one of these for the other. */
#define IS_ITS_OWN(type, other)                                                                    \
  _Static_assert(_Generic((type){0}, uint32_t : 0, int : 0, other : 0, default : 1),               \
                 #type " is a type of its own")
IS_ITS_OWN(gemel_dim, gemel_type);
IS_ITS_OWN(gemel_type, gemel_dim);

static int same(gemel_dim a, gemel_dim b) {
  return gemel_dim_equal(a, b);
}

static void eq_text(gemel_dim dim, const char *text) {
  char got[200];
  gemel_dim_format(ctx, dim, got, sizeof got);
  CT_EQ_STR(got, text);
}

static void begin(void) {
  ctx = gemel_context_new(NULL);
}
static void end(void) {
  gemel_context_unref(ctx);
}

static void constants(const void *data) {
  (void)data;
  int64_t v = 0;
  begin();
  for (int64_t k = -3; k < 2000; k += 7) {
    CT_CHECK(gemel_dim_is_constant(ctx, K(k), &v));
    CT_EQ_INT(v, k);
    CT_CHECK(same(K(k), K(k)));
  }
  CT_CHECK(same(quo(K(-7), K(2)), K(-4)));
  CT_CHECK(same(quo(K(7), K(-2)), K(-4)));
  CT_CHECK(gemel_dim_is_none(quo(K(7), K(0))));
  CT_CHECK(gemel_dim_is_none(quo(K(INT64_MIN), K(-1))));
  CT_CHECK(gemel_dim_is_none(add(K(INT64_MAX), K(1))));
  CT_CHECK(gemel_dim_is_none(sub(K(INT64_MIN), K(1))));
  CT_CHECK(gemel_dim_is_none(mul(K(INT64_MAX), K(2))));
  CT_CHECK(same(least(K(3), K(-4)), K(-4)));
  CT_CHECK(same(most(K(3), K(-4)), K(3)));
  CT_CHECK(!gemel_dim_is_constant(ctx, S("N"), &v));
  CT_CHECK(!gemel_dim_is_constant(ctx, GEMEL_DIM_NONE, &v));
  CT_CHECK(gemel_dim_is_none(add(GEMEL_DIM_NONE, K(1))));
  CT_CHECK(gemel_dim_is_none(most(K(1), GEMEL_DIM_NONE)));
  eq_text(K(0), "0");
  eq_text(K(INT64_MIN), "-9223372036854775808");
  end();
}

static void names(const void *data) {
  (void)data;
  begin();
  CT_CHECK(!gemel_dim_is_none(S("N")) && same(S("N"), S("N")) && !same(S("N"), S("M")));
  CT_CHECK(!gemel_dim_is_none(S("_x9")));
  CT_CHECK(gemel_dim_is_none(S("")));
  CT_CHECK(gemel_dim_is_none(S("9x")));
  CT_CHECK(gemel_dim_is_none(S("a b")));
  CT_CHECK(gemel_dim_is_none(S("a-b")));
  CT_CHECK(gemel_dim_is_none(S(NULL)));
  end();
}

static void identities(const void *data) {
  (void)data;
  begin();
  gemel_dim n = S("N"), m = S("M"), k = S("K");
  CT_CHECK(same(add(n, m), add(m, n)));
  CT_CHECK(same(sub(add(n, m), m), n));
  CT_CHECK(same(sub(n, n), K(0)));
  CT_CHECK(same(mul(add(n, m), sub(n, m)), sub(mul(n, n), mul(m, m))));
  CT_CHECK(same(mul(add(n, K(1)), K(3)), add(mul(K(3), n), K(3))));
  CT_CHECK(same(mul(n, K(0)), K(0)));
  CT_CHECK(same(quo(add(mul(K(6), n), m), K(3)), add(mul(K(2), n), quo(m, K(3)))));
  CT_CHECK(same(quo(n, K(1)), n));
  CT_CHECK(same(quo(n, K(-1)), sub(K(0), n)));
  CT_CHECK(same(quo(mul(K(2), n), K(4)), quo(n, K(2))));
  CT_CHECK(same(quo(add(mul(K(2), n), K(3)), K(4)), quo(add(n, K(1)), K(2))));
  CT_CHECK(same(quo(quo(n, K(2)), K(3)), quo(n, K(6))));
  CT_CHECK(same(quo(add(quo(n, K(2)), K(1)), K(3)), quo(add(n, K(2)), K(6))));
  CT_CHECK(same(quo(mul(n, m), m), n));
  CT_CHECK(same(quo(add(mul(n, m), k), m), add(n, quo(k, m))));
  CT_CHECK(same(quo(mul(K(4), mul(n, m)), mul(K(2), m)), mul(K(2), n)));
  CT_CHECK(same(quo(add(n, m), add(m, n)), K(1)));
  CT_CHECK(same(quo(mul(K(3), add(n, m)), add(m, n)), K(3)));
  CT_CHECK(same(quo(n, K(-2)), quo(sub(K(0), n), K(2))));
  CT_CHECK(same(quo(n, add(n, K(1))), K(0)));
  CT_CHECK(!same(quo(mul(K(3), n), K(2)), mul(K(3), quo(n, K(2)))));
  CT_CHECK(!same(quo(n, K(2)), quo(n, K(3))));
  CT_CHECK(!same(mul(K(2), quo(n, K(2))), n));
  CT_CHECK(!same(add(n, K(1)), n));
  end();
}

static void extremes(const void *data) {
  (void)data;
  begin();
  gemel_dim n = S("N"), m = S("M"), k = S("K"), v = gemel__dim_value(ctx, 3, 0);
  CT_CHECK(same(least(n, m), least(m, n)));
  CT_CHECK(same(least(least(n, m), k), least(n, least(k, m))));
  CT_CHECK(same(least(n, n), n));
  CT_CHECK(same(least(n, add(n, K(1))), n));
  CT_CHECK(same(most(n, add(n, m)), add(n, m)));
  CT_CHECK(same(most(n, K(0)), n));
  CT_CHECK(same(least(n, K(-1)), K(-1)));
  CT_CHECK(same(least(least(n, K(5)), K(3)), least(n, K(3))));
  CT_CHECK(same(most(most(n, K(3)), K(2)), most(n, K(3))));
  CT_CHECK(!same(least(n, m), most(n, m)));
  CT_CHECK(!same(most(v, K(0)), v)); /* what a node produces may be negative */
  CT_CHECK(!same(most(sub(n, K(1)), K(0)), sub(n, K(1))));
  CT_CHECK(same(most(least(most(n, K(2)), m), K(-1)), least(most(n, K(2)), m)));
  end();
}

static void relations(const void *data) {
  (void)data;
  begin();
  gemel_dim n = S("N"), m = S("M"), v = gemel__dim_value(ctx, 3, 0);
  CT_EQ_INT(gemel__dim_compare(ctx, n, n), GEMEL__EQUAL);
  CT_EQ_INT(gemel__dim_compare(ctx, n, m), GEMEL__UNKNOWN);
  CT_EQ_INT(gemel__dim_compare(ctx, n, add(n, K(1))), GEMEL__DIFFERENT);
  CT_EQ_INT(gemel__dim_compare(ctx, n, K(-1)), GEMEL__DIFFERENT);
  CT_EQ_INT(gemel__dim_compare(ctx, n, K(0)), GEMEL__UNKNOWN);
  CT_EQ_INT(gemel__dim_compare(ctx, add(n, m), add(n, K(-2))), GEMEL__DIFFERENT);
  CT_EQ_INT(gemel__dim_compare(ctx, v, K(-1)), GEMEL__UNKNOWN);
  CT_EQ_INT(gemel__dim_compare(ctx, mul(K(2), n), add(mul(K(2), m), K(1))), GEMEL__DIFFERENT);
  CT_EQ_INT(gemel__dim_compare(ctx, mul(K(2), n), add(mul(K(2), m), K(2))), GEMEL__UNKNOWN);
  CT_EQ_INT(gemel__dim_compare(ctx, most(n, K(4)), K(3)), GEMEL__DIFFERENT);
  CT_EQ_INT(gemel__dim_compare(ctx, K(4), K(3)), GEMEL__DIFFERENT);
  end();
}

static void texts(const void *data) {
  (void)data;
  begin();
  /* Interned in an order that is not the one in which they are to be printed. */
  gemel_dim s = S("s"), p = S("p"), k = S("k"), h = S("H");
  gemel_dim out = add(quo(sub(add(h, mul(K(2), p)), k), s), K(1));
  eq_text(out, "(H - k + 2*p)//s + 1");
  eq_text(sub(K(3), h), "-H + 3");
  eq_text(mul(K(-2), quo(h, K(3))), "-2*(H//3)");
  eq_text(sub(h, quo(h, K(3))), "H - H//3");
  eq_text(mul(quo(h, K(3)), p), "(H//3)*p");
  eq_text(quo(h, mul(K(2), s)), "H//(2*s)");
  eq_text(quo(h, quo(k, s)), "H//(k//s)");
  eq_text(quo(mul(K(2), h), K(3)), "2*H//3");
  eq_text(mul(h, h), "H*H");
  eq_text(most(sub(h, K(1)), K(0)), "max(0, H - 1)");
  eq_text(least(s, least(p, h)), "min(H, p, s)");
  eq_text(add(gemel__dim_value(ctx, 7, 0), gemel__dim_input(ctx, 2)), "$2 + value(7)");
  eq_text(gemel__dim_value(ctx, 7, 1), "value(7, 1)");
  char small[4];
  CT_EQ_UINT(gemel_dim_format(ctx, out, small, sizeof small), strlen("(H - k + 2*p)//s + 1"));
  CT_EQ_STR(small, "(H ");
  CT_EQ_UINT(gemel_dim_format(ctx, out, NULL, 0), strlen("(H - k + 2*p)//s + 1"));
  end();
}

static void too_big(const void *data) {
  (void)data;
  begin();
  gemel_dim wide = K(0), deep = S("N"), tall = S("N"), big = S("N");
  for (int k = 0; k < 100000 && !gemel_dim_is_none(wide); k++) {
    char name[24];
    snprintf(name, sizeof name, "s%d", k);
    wide = add(wide, S(name));
  }
  CT_CHECK(gemel_dim_is_none(wide));
  for (int k = 0; k < 100000 && !gemel_dim_is_none(deep); k++) {
    deep = quo(S("M"), add(deep, K(1)));
  }
  CT_CHECK(gemel_dim_is_none(deep));
  for (int k = 0; k < 100000 && !gemel_dim_is_none(tall); k++) {
    tall = mul(tall, S("N"));
  }
  CT_CHECK(gemel_dim_is_none(tall));
  for (int k = 0; k < 100 && !gemel_dim_is_none(big); k++) {
    big = mul(big, K(1000));
  }
  CT_CHECK(gemel_dim_is_none(big));
  gemel_dim half = least(S("A"), S("B"));
  for (int k = 0; k < 100000 && !gemel_dim_is_none(half); k++) { /* doubles at every step */
    half = least(quo(half, S("P")), quo(half, S("Q")));
  }
  CT_CHECK(gemel_dim_is_none(half));
  CT_CHECK(!gemel_dim_is_none(add(S("N"), K(1))));
  end();
}

/* ---- Random expressions against plain arithmetic ---- */

enum { POINTS = 6, LEAVES = 5 };
typedef struct sample {
  gemel_dim dim;
  int64_t at[POINTS];
  unsigned char bad; /* points (as bits) at which a divisor was 0 */
} sample;

static int64_t floor_div(int64_t a, int64_t b) {
  int64_t q = a / b;
  while (q * b > a && b > 0) {
    q--;
  }
  while (q * b < a && b < 0) {
    q--;
  }
  return q;
}

static sample random_step(const sample *a, const sample *b) {
  sample r = {{0}, {0}, (unsigned char)(a->bad | b->bad)};
  uint64_t op = rnd(6);
  gemel_dim (*const apply[6])(gemel_dim, gemel_dim) = {add, sub, mul, quo, least, most};
  r.dim = apply[op](a->dim, b->dim);
  for (int p = 0; p < POINTS; p++) {
    int64_t x = a->at[p], y = b->at[p];
    if (op == 3 && y == 0) {
      r.bad |= (unsigned char)(1 << p);
      continue;
    }
    r.at[p] = op == 0   ? x + y
              : op == 1 ? x - y
              : op == 2 ? x * y
              : op == 3 ? floor_div(x, y)
              : op == 4 ? (x < y ? x : y)
                        : (x > y ? x : y);
    if (llabs(r.at[p]) > 100000000) {
      r.dim = GEMEL_DIM_NONE;
    }
  }
  return r;
}

static const int64_t *point;

static int lookup(void *user, const gemel__atom *atom, int64_t *value) {
  (void)user;
  *value = atom->kind == GEMEL__ATOM_SYMBOL ? point[atom->name[0] - 'A'] : point[3 + atom->b];
  return 0;
}

static gemel_dim keep(void *user, const gemel__atom *atom, gemel_dim self) {
  (void)user;
  (void)atom;
  return self;
}

static gemel_dim pin(void *user, const gemel__atom *atom, gemel_dim self) {
  int64_t value = 0;
  (void)user;
  (void)self;
  lookup(NULL, atom, &value);
  return K(value);
}

static void check_sample(const sample *s, int64_t points[POINTS][LEAVES]) {
  int64_t got = 0, other = 0;
  gemel_error error;
  CT_CHECK(same(gemel__dim_substitute(ctx, s->dim, keep, NULL), s->dim));
  for (int p = 0; p < POINTS; p++) {
    point = points[p];
    if (s->bad >> p & 1) {
      continue;
    }
    CT_EQ_INT(gemel__dim_evaluate(ctx, s->dim, lookup, NULL, &got, &error), GEMEL_OK);
    CT_EQ_INT(got, s->at[p]);
    CT_CHECK(gemel_dim_is_constant(ctx, gemel__dim_substitute(ctx, s->dim, pin, NULL), &other));
    CT_EQ_INT(other, s->at[p]);
  }
}

static void random_expressions(const void *data) {
  (void)data;
  state = 88172645463325252u;
  begin();
  for (int round = 0; round < 3000; round++) {
    sample pool[16];
    int64_t points[POINTS][LEAVES];
    int n = LEAVES;
    for (int p = 0; p < POINTS; p++) {
      for (int k = 0; k < LEAVES; k++) {
        points[p][k] = (int64_t)rnd(12) - (k >= 3 ? 6 : 0);
        pool[k].at[p] = points[p][k];
      }
    }
    for (int k = 0; k < LEAVES; k++) {
      char name[2] = {(char)('A' + k), 0};
      pool[k].dim = k < 3 ? S(name) : gemel__dim_value(ctx, 9, (uint32_t)k - 3);
      pool[k].bad = 0;
    }
    for (int t = 0; t < 12 && n < 16; t++) {
      sample c = {K((int64_t)rnd(9) - 3), {0}, 0};
      gemel_dim_is_constant(ctx, c.dim, &c.at[0]);
      for (int p = 1; p < POINTS; p++) {
        c.at[p] = c.at[0];
      }
      sample a = pool[rnd((uint64_t)n)], b = rnd(3) ? pool[rnd((uint64_t)n)] : c;
      sample s = random_step(&a, &b);
      if (!gemel_dim_is_none(s.dim)) {
        pool[n++] = s;
        check_sample(&s, points);
      }
    }
  }
  end();
}

/* Whatever bounds claim must hold: compare and min/max lean on them. */
static void relations_hold(const void *data) {
  (void)data;
  int decided = 0;
  state = 1234567;
  begin();
  for (int round = 0; round < 20000; round++) {
    gemel_dim d[2];
    int64_t points[POINTS][LEAVES], v[2] = {0, 0};
    for (int p = 0; p < POINTS; p++) {
      for (int k = 0; k < LEAVES; k++) {
        points[p][k] = (int64_t)rnd(4) - (k >= 3 ? 2 : 0);
      }
    }
    for (int e = 0; e < 2; e++) {
      gemel_dim x = rnd(4) ? S("A") : gemel__dim_value(ctx, 9, 0);
      for (int t = 0; t < 3; t++) {
        gemel_dim y = rnd(2) ? K((int64_t)rnd(5)) : S(rnd(2) ? "A" : "B");
        uint64_t op = rnd(6);
        y = op == 3 ? K(1 + (int64_t)rnd(4)) : y;
        x = (gemel_dim(*[6])(gemel_dim, gemel_dim)){add, sub, mul, quo, least, most}[op](x, y);
      }
      d[e] = x;
    }
    gemel__relation relation = gemel__dim_compare(ctx, d[0], d[1]);
    decided += relation == GEMEL__DIFFERENT;
    for (int p = 0; p < POINTS && relation == GEMEL__DIFFERENT; p++) {
      point = points[p];
      gemel__dim_evaluate(ctx, d[0], lookup, NULL, &v[0], NULL);
      gemel__dim_evaluate(ctx, d[1], lookup, NULL, &v[1], NULL);
      CT_CHECK(v[0] != v[1]);
    }
  }
  CT_CHECK(decided > 500);
  ct_property("decided", decided);
  end();
}

static int nothing(void *user, const gemel__atom *atom, int64_t *value) {
  (void)user;
  *value = INT64_MAX;
  return atom->kind == GEMEL__ATOM_SYMBOL && atom->name[0] == 'N';
}

static void evaluation_errors(const void *data) {
  (void)data;
  gemel_error error = {0};
  int64_t v = 42;
  gemel__atom atom;
  begin();
  gemel_dim n = S("N"), x = S("X");
  CT_EQ_INT(gemel__dim_evaluate(ctx, add(n, K(1)), nothing, NULL, &v, &error), GEMEL_NOT_FOUND);
  CT_HAS_STR(error.text, "N");
  CT_EQ_INT(gemel__dim_evaluate(ctx, add(x, K(1)), nothing, NULL, &v, &error), GEMEL_BAD_VALUE);
  CT_EQ_INT(gemel__dim_evaluate(ctx, quo(K(1), sub(x, K(INT64_MAX))), nothing, NULL, &v, &error),
            GEMEL_BAD_VALUE);
  CT_HAS_STR(error.text, "zero");
  CT_EQ_INT(gemel__dim_evaluate(ctx, GEMEL_DIM_NONE, nothing, NULL, &v, &error),
            GEMEL_BAD_ARGUMENT);
  CT_EQ_INT(v, 42);
  CT_CHECK(gemel__dim_is_atom(ctx, n, &atom) && atom.kind == GEMEL__ATOM_SYMBOL);
  CT_EQ_STR(atom.name, "N");
  CT_CHECK(!gemel__dim_is_atom(ctx, add(n, K(1)), &atom));
  CT_CHECK(!gemel__dim_is_atom(ctx, mul(n, n), &atom));
  CT_CHECK(!gemel__dim_is_atom(ctx, quo(n, K(2)), &atom));
  CT_CHECK(gemel__dim_is_atom(ctx, gemel__dim_value(ctx, 5, 1), &atom) && atom.a == 5 &&
           atom.b == 1);
  CT_CHECK(gemel__dim_has_runtime(ctx, quo(n, gemel__dim_input(ctx, 1))));
  CT_CHECK(!gemel__dim_has_runtime(ctx, quo(n, x)));
  end();
}

static void *work(void *seed) {
  uint64_t s = (uint64_t)(size_t)seed;
  for (int k = 0; k < 3000; k++) {
    char name[8];
    s = s * 6364136223846793005u + 1442695040888963407u;
    snprintf(name, sizeof name, "t%d", (int)(s >> 60));
    gemel_dim n = S(name), d = add(mul(n, K((int64_t)(s >> 50 & 15))), K(k));
    if (!same(sub(d, K(k)), mul(n, K((int64_t)(s >> 50 & 15))))) {
      return (void *)1;
    }
  }
  return NULL;
}

static void threads(const void *data) {
  (void)data;
  pthread_t ids[4];
  begin();
  for (size_t k = 0; k < 4; k++) {
    CT_REQUIRE(!pthread_create(&ids[k], NULL, work, (void *)(k + 1)));
  }
  for (size_t k = 0; k < 4; k++) {
    void *result = NULL;
    pthread_join(ids[k], &result);
    CT_CHECK(!result);
  }
  end();
}

static int build_some(void *data) {
  (void)data;
  gemel_error error = {0};
  gemel_context *c = gemel_context_new(&error);
  if (!c) {
    return error.status;
  }
  gemel_dim n = gemel_dim_symbol(c, "N"), m = gemel_dim_symbol(c, "M");
  gemel_dim d = gemel_dim_mul(c, gemel_dim_add(c, n, m), gemel_dim_constant(c, 12345));
  d = gemel_dim_max(c, gemel_dim_floordiv(c, d, gemel_dim_add(c, n, gemel_dim_constant(c, 3))), m);
  gemel_context_unref(c);
  return gemel_dim_is_none(d) ? GEMEL_NO_MEMORY : GEMEL_OK;
}

static void memory(const void *data) {
  (void)data;
  CT_CHECK(ct_oom(build_some, NULL) > 5);
}

static const ct_test tests[] = {
    CT_TEST("constants", constants, NULL),
    CT_TEST("names", names, NULL),
    CT_TEST("identities", identities, NULL),
    CT_TEST("extremes", extremes, NULL),
    CT_TEST("relations", relations, NULL),
    CT_TEST("relations/hold", relations_hold, NULL),
    CT_TEST("texts", texts, NULL),
    CT_TEST("too_big", too_big, NULL),
    CT_TEST("random", random_expressions, NULL),
    CT_TEST("evaluation", evaluation_errors, NULL),
    CT_TEST("threads", threads, NULL),
    CT_TEST("memory", memory, NULL),
};

void ct_register(void) {
  ct_suite("dims", tests, CT_COUNT(tests));
}
