/*
 * Chains of prime fields against GMP: that they are chains, the arithmetic of a ring, logarithms;
 * and what the search promises about constants.
 *
 * SPDX-License-Identifier: MIT
 */
#include "ct.h"

#include <stdint.h>
#include <stdlib.h>
#include <gmp.h>

#include "domains/field.h"

static const int small = GEMEL__FIELD_SMALL, medium = GEMEL__FIELD_MEDIUM,
                 large = GEMEL__FIELD_LARGE;

static void set_u64(mpz_t z, uint64_t x) {
  mpz_import(z, 1, -1, sizeof x, 0, 0, &x);
}

static int character_by_gmp(uint64_t a, uint64_t p) {
  mpz_t x, y;
  mpz_inits(x, y, NULL);
  set_u64(x, a), set_u64(y, p);
  int character = mpz_jacobi(x, y);
  mpz_clears(x, y, NULL);
  return character;
}

static int prime_by_gmp(uint64_t p) {
  mpz_t x;
  mpz_init(x);
  set_u64(x, p);
  int prime = mpz_probab_prime_p(x, 40) > 0;
  mpz_clear(x);
  return prime;
}

/* 2 and 3 are squares everywhere; 5, 7 and 11 where it is promised. */
static void check_ring(const gemel__prime_chain *c, int i, int promised) {
  const gemel__ring *r = &c->ring[i];
  static const int squares[] = {2, 3, 5, 7, 11};
  CT_CHECK(prime_by_gmp(r->p));
  CT_EQ_UINT(r->p % 8, 7);
  for (int k = 0; k < (promised ? 5 : c->length > 1 ? 2 : 1); k++)
    CT_EQ_INT(character_by_gmp((uint64_t)squares[k], r->p), 1);
  if (i + 1 == c->length)
    return;
  CT_EQ_UINT(r->p, 2 * c->ring[i + 1].p + 1);
  CT_CHECK(r->generator != r->one && r->generator != 0);
  CT_EQ_INT(character_by_gmp(gemel__ring_leave(r, r->generator), r->p), 1);
  CT_EQ_UINT(gemel__ring_pow(r, r->generator, c->ring[i + 1].p), r->one);
}

static void chains_are_chains(const void *data) {
  int bits = *(const int *)data;
  static const double constants[] = {0.75, -5, 0.875, 11 * 0x1p-70, 100};
  for (int length = 1; length <= 4; length++) {
    gemel__chain_options o = {bits == small && length > 2 ? 20 : bits, length, constants, 5, 0};
    gemel__chains *source = NULL;
    gemel__prime_chain c;
    gemel__random random;
    gemel__random_seed(&random, 7);
    CT_EQ_INT(gemel__chains_new(&source, &o), GEMEL_OK);
    for (int trial = 0; source && trial < 25; trial++) {
      ct_context("%d bits, length %d, trial %d", bits, length, trial);
      CT_REQUIRE(gemel__chains_draw(source, &random, &c) == GEMEL_OK);
      CT_EQ_INT(c.length, length);
      CT_CHECK(c.ring[0].p >> (o.bits - 1) != 0);
      for (int i = 0; i < length; i++)
        check_ring(&c, i, bits == large || (!gemel__chains_unmet(source) && i == (length > 1)));
    }
    CT_CHECK(gemel__chains_unmet(source) == 0 || (bits == small && length > 2));
    gemel__chains_free(source);
  }
}

/* The numerator of f32(0.01) is a large prime: it must become a square by drawing. */
static void constants_are_met(const void *data) {
  (void)data;
  static const double constants[] = {(double)0.01f, 1e-5, 3.14159};
  static const int bits[] = {17, 31, 61};
  for (int k = 0; k < 3; k++) {
    gemel__field_options o = {bits[k], 2, constants, 3, 0};
    gemel__domain *f = gemel__field_new(&o, 5, NULL);
    CT_REQUIRE(f != NULL);
    ct_context("%d bits", bits[k]);
    CT_EQ_UINT(gemel__field_unmet(f), 0);
    for (int trial = 0; trial < 10; trial++) {
      CT_EQ_INT(gemel__field_trial(f, (uint64_t)trial, NULL), GEMEL_OK);
      void *e = gemel__elements_new(f, 1);
      for (int j = 0; j < 6; j++) {
        f->from_double(f, e, constants[j / 2]);
        CT_CHECK(j % 2 == 0 ||
                 character_by_gmp(gemel__field_residue(f, e, 1), gemel__field_prime(f, 1)) == 1);
      }
      gemel__elements_free(f, e, 1);
    }
    gemel__field_free(f);
  }
}

static void arithmetic_of_a_ring(const void *data) {
  int bits = *(const int *)data;
  gemel__chain_options o = {bits, 2, NULL, 0, 0};
  gemel__chains *source;
  gemel__prime_chain c;
  gemel__random random;
  mpz_t x, y, p;
  mpz_inits(x, y, p, NULL);
  gemel__random_seed(&random, 11);
  CT_REQUIRE(gemel__chains_new(&source, &o) == GEMEL_OK);
  CT_REQUIRE(gemel__chains_draw(source, &random, &c) == GEMEL_OK);
  for (int k = 0; k < 1000; k++) {
    const gemel__ring *r = &c.ring[k % 2];
    uint64_t a = gemel__random_below(&random, r->p), b = gemel__random_below(&random, r->p);
    uint64_t ma = gemel__ring_enter(r, a), mb = gemel__ring_enter(r, b);
    set_u64(p, r->p), set_u64(x, a), set_u64(y, b);
    mpz_mul(x, x, y);
    mpz_mod(x, x, p);
    CT_EQ_UINT(gemel__ring_leave(r, gemel__ring_mul(r, ma, mb)), mpz_get_ui(x));
    CT_EQ_UINT(gemel__ring_leave(r, gemel__ring_add(r, ma, mb)), (a + b) % r->p);
    CT_EQ_UINT(gemel__ring_leave(r, gemel__ring_sub(r, ma, mb)), (a + r->p - b) % r->p);
    CT_EQ_INT(gemel__ring_character(r, ma), character_by_gmp(a, r->p));
    set_u64(x, a);
    if (a && CT_CHECK(mpz_invert(x, x, p)))
      CT_EQ_UINT(gemel__ring_leave(r, gemel__ring_inverse(r, ma)), mpz_get_ui(x));
    uint64_t root = gemel__ring_sqrt(r, gemel__ring_mul(r, ma, ma));
    CT_CHECK(root == ma || root == gemel__ring_neg(r, ma));
    CT_CHECK(a == 0 || gemel__ring_character(r, root) == 1);
    int n = (int)(a % 3000) - 1500;
    set_u64(x, 2);
    mpz_powm_ui(x, x, (unsigned long)abs(n), p);
    if (n < 0)
      mpz_invert(x, x, p);
    CT_EQ_UINT(gemel__ring_leave(r, gemel__ring_power_of_two(r, n)), mpz_get_ui(x));
  }
  gemel__chains_free(source);
  mpz_clears(x, y, p, NULL);
}

static void primality(const void *data) {
  (void)data;
  int count = 0;
  for (uint64_t n = 0; n < 20000; n++)
    count += gemel__is_prime(n);
  CT_EQ_INT(count, 2262);                                    /* π(20000) */
  CT_CHECK(!gemel__is_prime(UINT64_C(3825123056546413051))); /* strong pseudoprime to 2 … 23 */
  CT_CHECK(!gemel__is_prime(UINT64_C(3215031751)));
  CT_CHECK(gemel__is_prime((UINT64_C(1) << 61) - 1));
}

/* Each logarithm is checked by raising the generator to it, in GMP. */
static void logarithms(const void *data) {
  int bits = *(const int *)data;
  gemel__chain_options o = {bits, 3, NULL, 0, 0};
  gemel__chains *source;
  gemel__prime_chain c;
  gemel__random random;
  mpz_t x, y, p;
  mpz_inits(x, y, p, NULL);
  gemel__random_seed(&random, 3);
  CT_REQUIRE(gemel__chains_new(&source, &o) == GEMEL_OK);
  for (int k = 0; k < 600; k++) {
    if (k % 200 == 0)
      CT_REQUIRE(gemel__chains_draw(source, &random, &c) == GEMEL_OK);
    int i = k % 2;
    const gemel__ring *r = &c.ring[i], *below = &c.ring[i + 1];
    uint64_t a = 1 + gemel__random_below(&random, r->p - 1), log;
    uint64_t square = gemel__ring_mul(r, a, a);
    CT_REQUIRE(gemel__chain_log(&c, i, square, &log));
    set_u64(p, r->p), set_u64(x, gemel__ring_leave(r, r->generator));
    set_u64(y, gemel__ring_leave(below, log));
    mpz_powm(x, x, y, p);
    CT_EQ_UINT(mpz_get_ui(x), gemel__ring_leave(r, square));
    CT_EQ_UINT(gemel__chain_exp(&c, i, log), square);
  }
  gemel__chains_free(source);
  mpz_clears(x, y, p, NULL);
}

static void sources_say_what_they_lack(const void *data) {
  (void)data;
  gemel__chains *source;
  gemel_error error;
  CT_EQ_INT(gemel__chains_new(&source, &(gemel__chain_options){.bits = 14, .length = 2}),
            GEMEL_BAD_VALUE);
  CT_EQ_INT(gemel__chains_new(&source, &(gemel__chain_options){.bits = 62, .length = 2}),
            GEMEL_BAD_VALUE);
  CT_EQ_INT(gemel__chains_new(&source, &(gemel__chain_options){.bits = 31, .length = 7}),
            GEMEL_BAD_VALUE);
  CT_EQ_INT(gemel__chains_new(&source, &(gemel__chain_options){.bits = 17, .length = 6}),
            GEMEL_UNSUPPORTED);
  CT_CHECK(source == NULL);
  gemel__field_options o = {.bits = 17, .length = 6};
  CT_CHECK(gemel__field_new(&o, 1, &error) == NULL);
  CT_HAS_STR(error.text, "6 prime fields of 17 bits");
}

static const ct_test chain_tests[] = {
    CT_TEST("gmp/17", chains_are_chains, &small),
    CT_TEST("gmp/31", chains_are_chains, &medium),
    CT_TEST("gmp/61", chains_are_chains, &large),
    CT_TEST("constants", constants_are_met, NULL),
    CT_TEST("ring/17", arithmetic_of_a_ring, &small),
    CT_TEST("ring/31", arithmetic_of_a_ring, &medium),
    CT_TEST("ring/61", arithmetic_of_a_ring, &large),
    CT_TEST("primality", primality, NULL),
    CT_TEST("log/17", logarithms, &small),
    CT_TEST("log/31", logarithms, &medium),
    CT_TEST("lacking", sources_say_what_they_lack, NULL),
};

void ct_register(void) {
  ct_suite("chain", chain_tests, CT_COUNT(chain_tests));
}
