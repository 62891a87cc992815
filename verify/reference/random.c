/* SPDX-License-Identifier: MIT
 *
 * References of the random family, from the definitions of Philox4x32-10 (Salmon et al., "Parallel
 * Random Numbers: As Easy as 1, 2, 3", SC 2011) and of the byte stream that a key stands for. Each
 * byte of the stream is computed by itself. If a key isn't known as a number, results have no value
 * (GAP).
 *
 * A uniform number is a fraction, exactly. A normal number is irrational: Arb encloses it to about
 * a hundred bits, and domains of numbers get that interval. In domain F, which has no such
 * function, it is a random (keyed) function of the fraction.
 */
#include "domains/arb.h"
#include <math.h>
#include "reference/common.h"
#include "reference/twin.h"

/* How many ULPs a normal number of f32 or f64 may be off. Products, quotients, a logarithm and
 * polynomials with positive terms are each off by a few units. */
#define NORMAL_ULPS 8

enum { BLOCK_BYTES = 16, WORD_BITS = 32, ROUNDS = 10 };

/* ---- Philox ---- */

/* The upper and lower half of a product. */
static void multiply(uint32_t a, uint32_t b, uint32_t *high, uint32_t *low) {
  uint64_t product = (uint64_t)a * b;
  *high = (uint32_t)(product >> WORD_BITS);
  *low = (uint32_t)product;
}

/* Philox: in each round one half takes words 0 and 1, the other words 2 and 3; then words 0 and 2
 * change places. The key grows by the fractions of the golden ratio and of the root of 3. */
static void philox(const uint32_t counter[4], const uint32_t key[2], uint32_t result[4]) {
  uint32_t l0 = counter[1], r0 = counter[0], l1 = counter[3], r1 = counter[2];
  for (uint32_t round = 0; round < ROUNDS; round++) {
    uint32_t high0, low0, high1, low1;
    multiply(r0, 0xD2511F53u, &high0, &low0);
    multiply(r1, 0xCD9E8D57u, &high1, &low1);
    r0 = high1 ^ l0 ^ (key[0] + round * 0x9E3779B9u);
    r1 = high0 ^ l1 ^ (key[1] + round * 0xBB67AE85u);
    l0 = low1;
    l1 = low0;
  }
  result[0] = r0;
  result[1] = l0;
  result[2] = r1;
  result[3] = l1;
}

/* Byte PLACE of a key's stream. It is in block place / 16, with words and their bytes in ascending
 * order. The counter is the number of the block and, above it, the second number of the key. */
static unsigned stream_byte(const uint64_t key[2], uint64_t place) {
  uint64_t block = place / BLOCK_BYTES;
  unsigned byte = (unsigned)(place % BLOCK_BYTES);
  const uint32_t counter[4] = {(uint32_t)block, (uint32_t)(block >> WORD_BITS), (uint32_t)key[1],
                               (uint32_t)(key[1] >> WORD_BITS)};
  const uint32_t words[2] = {(uint32_t)key[0], (uint32_t)(key[0] >> WORD_BITS)};
  uint32_t result[4];
  philox(counter, words, result);
  return result[byte / 4] >> byte % 4 * 8 & 0xFF;
}

/* Number I of the stream, of BYTES bytes each, little-endian. */
static uint64_t number_at(const uint64_t key[2], uint64_t i, size_t bytes) {
  uint64_t number = 0;
  for (size_t k = 0; k < bytes; k++) {
    number += (uint64_t)stream_byte(key, i * bytes + k) << 8 * k;
  }
  return number;
}

/* ---- Calls ---- */

/* *NUMBER = the u64 in E; 0 if it isn't known. */
static int read_number(gemel__decider *w, const void *e, uint64_t *number) {
  gemel__domain *d = w->domain;
  const uint64_t half = (uint64_t)1 << 63;
  int64_t n;
  if (d->to_integer(d, e, &n) && n >= 0) {
    *number = (uint64_t)n;
    return 1;
  }
  d->from_unsigned(d, w->spare, half);
  d->sub(d, w->spare, e, w->spare);
  *number = half;
  if (!d->to_integer(d, w->spare, &n) || n < 0) {
    return 0;
  }
  *number += (uint64_t)n;
  return 1;
}

typedef void (*fill_element)(gemel__decider *w, void *e, gemel_dtype dtype, const uint64_t key[2],
                             uint64_t i);

/* Fills in the elements and the next key. */
static void fill(gemel__rcall *call, gemel__decider *w, fill_element element) {
  gemel__domain *d = call->domain;
  uint64_t key[2];
  const gemel__rtensor *given = call->inputs[0];
  gemel__rtensor *out = &call->outputs[0], *next = &call->outputs[1];
  int known = read_number(w, gemel__rtensor_at(given, 0), &key[0]) &
              read_number(w, gemel__rtensor_at(given, 1), &key[1]);
  for (size_t i = 0; i < out->count; i++) {
    if (known) {
      element(w, gemel__rtensor_at(out, i), out->dtype, key, i);
    } else {
      d->set_state(d, gemel__rtensor_at(out, i), GEMEL__GAP);
    }
  }
  d->set(d, gemel__rtensor_at(next, 0), gemel__rtensor_at(given, 0));
  d->add(d, gemel__rtensor_at(next, 1), gemel__rtensor_at(given, 1), w->one);
  d->round(d, gemel__rtensor_at(next, 1), GEMEL_U64, 0);
}

static gemel_status numbers(gemel__rcall *call, fill_element element) {
  const gemel__rtensor *key = call->inputs[0];
  const gemel_attr *shape = &call->attrs[0];
  const int64_t two = 2;
  gemel__decider w;
  if (key->dtype != GEMEL_U64 || key->rank != 1 || key->shape[0] != 2) {
    return gemel__fail(call->error, GEMEL_BAD_TYPE, "a key is two numbers of u64");
  }
  for (size_t k = 0; k < shape->count; k++) {
    if (shape->u.ints[k] < 0) {
      return gemel__fail(call->error, GEMEL_BAD_SHAPE, "a size of %lld",
                         (long long)shape->u.ints[k]);
    }
  }
  GEMEL__TRY(
      gemel__reference_output(call, 0, call->attrs[1].u.dtype, (int)shape->count, shape->u.ints));
  GEMEL__TRY(gemel__reference_output(call, 1, GEMEL_U64, 1, &two));
  GEMEL__TRY(gemel__decider_init(&w, call->domain, call->error));
  fill(call, &w, element);
  gemel__decider_clear(&w);
  return GEMEL_OK;
}

/* ---- Bits ---- */

static void bits_element(gemel__decider *w, void *e, gemel_dtype dtype, const uint64_t key[2],
                         uint64_t i) {
  w->domain->from_unsigned(w->domain, e, number_at(key, i, gemel_dtype_size(dtype)));
}

static gemel_status reference_bits(gemel__rcall *call) {
  return numbers(call, bits_element);
}

const gemel__twin gemel__twin_random_bits = {.reference = reference_bits,
                                             .sample = gemel__sampler_random_bits,
                                             .propose = gemel__propose_random_bits,
                                             .invert = gemel__invert_random_bits,
                                             .arithmetic = GEMEL__EXACT};

/* ---- Uniform ---- */

/* The bits of the stream from which float I is made; *BITS is how many. */
static uint64_t float_bits(gemel_dtype dtype, const uint64_t key[2], uint64_t i, int *bits) {
  size_t bytes = dtype == GEMEL_F64 ? 8 : 4;
  *bits = 8 * (int)bytes;
  return number_at(key, i, bytes);
}

/* E = the upper bits, as many as the dtype has digits, as a fraction. */
static void uniform_element(gemel__decider *w, void *e, gemel_dtype dtype, const uint64_t key[2],
                            uint64_t i) {
  gemel__domain *d = w->domain;
  int bits, kept = gemel__dtype_format(dtype)->digits;
  uint64_t number = float_bits(dtype, key, i, &bits);
  d->from_unsigned(d, e, number >> (bits - kept));
  d->from_unsigned(d, w->spare, (uint64_t)1 << kept);
  d->div(d, e, e, w->spare);
}

static gemel_status reference_uniform(gemel__rcall *call) {
  return numbers(call, uniform_element);
}

const gemel__twin gemel__twin_random_uniform = {.reference = reference_uniform,
                                                .sample = gemel__sampler_random_uniform,
                                                .propose = gemel__propose_random_reals,
                                                .invert = gemel__invert_random_uniform,
                                                .arithmetic = GEMEL__EXACT};

/* ---- Normal ---- */

/* Z = the inverse of the normal distribution function at p = (N + 1/2) / 2^BITS: √2 erf⁻¹(2p − 1),
 * computed as ±√2 erfc⁻¹(2 min(p, 1 − p)). */
static void inverse_normal(arb_t z, uint64_t n, int bits) {
  enum { PRECISION = 128 };
  int below = n >> (bits - 1) == 0;
  uint64_t most = bits == 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
  arb_t tail;
  arb_init(tail);
  arb_set_ui(tail, below ? n : most - n);
  arb_mul_2exp_si(tail, tail, 1);
  arb_add_ui(tail, tail, 1, PRECISION); /* 2 min(p, 1 - p) 2^bits */
  arb_mul_2exp_si(tail, tail, -bits);
  arb_hypgeom_erfcinv(z, tail, PRECISION);
  arb_sqrt_ui(tail, 2, PRECISION);
  arb_mul(z, z, tail, PRECISION);
  if (below) {
    arb_neg(z, z);
  }
  arb_clear(tail);
}

/* Z lies within SLACK of FIRST + SECOND; SLACK is about 2^-100 |Z|. */
static void take_apart(const arb_t z, double *first, double *second, double *slack) {
  arf_t left, part;
  mag_t rest;
  arf_init(left);
  arf_init(part);
  mag_init(rest);
  *first = arf_get_d(arb_midref(z), ARF_RND_NEAR);
  arf_set_d(part, *first);
  arf_sub(left, arb_midref(z), part, ARF_PREC_EXACT, ARF_RND_DOWN);
  *second = arf_get_d(left, ARF_RND_NEAR);
  arf_set_d(part, *second);
  arf_sub(left, left, part, ARF_PREC_EXACT, ARF_RND_DOWN);
  arf_get_mag(rest, left);
  mag_add(rest, rest, arb_radref(z));
  *slack = 2 * mag_get_d(rest) + fabs(*first) * 0x1p-100;
  mag_clear(rest);
  arf_clear(part);
  arf_clear(left);
}

/* E = the interval of SLACK around FIRST + SECOND; in domains without intervals, FIRST + SECOND. */
static void enclose(gemel__decider *w, void *e, double first, double second, double slack) {
  gemel__domain *d = w->domain;
  d->from_double(d, e, second - (d->between != NULL ? slack : 0));
  d->from_double(d, w->spare, first);
  d->add(d, e, e, w->spare);
  if (d->between != NULL) {
    d->from_double(d, w->spare, 4 * slack); /* a bit more than FIRST + SECOND + SLACK */
    d->add(d, w->spare, e, w->spare);
    d->between(d, e, e, w->spare);
  } else if (!d->ieee) {
    d->set_state(d, e, GEMEL__GAP);
  }
}

static void normal_element(gemel__decider *w, void *e, gemel_dtype dtype, const uint64_t key[2],
                           uint64_t i) {
  gemel__domain *d = w->domain;
  int bits;
  uint64_t n = float_bits(dtype, key, i, &bits);
  double first, second, slack;
  arb_t z;
  if (d->keyed != NULL) {
    d->from_unsigned(d, w->spare, n);
    d->from_integer(d, e, bits);
    d->keyed(d, e, "random_normal", 2, (const void *const[]){w->spare, e});
    return;
  }
  arb_init(z);
  inverse_normal(z, n, bits);
  take_apart(z, &first, &second, &slack);
  arb_clear(z);
  enclose(w, e, first, second, slack);
  gemel__store(w, e, dtype, NORMAL_ULPS);
}

static gemel_status reference_normal(gemel__rcall *call) {
  return numbers(call, normal_element);
}

const gemel__twin gemel__twin_random_normal = {.reference = reference_normal,
                                               .sample = gemel__sampler_random_normal,
                                               .propose = gemel__propose_random_reals,
                                               .invert = gemel__invert_random_normal,
                                               .arithmetic = GEMEL__FUNCTIONS};
