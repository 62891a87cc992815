/* SPDX-License-Identifier: MIT
 *
 * Reference of bitcast, by arithmetic alone. Of a float's bits all but the sign's count the numbers
 * from 0 on, so those of a number are found by halving: each try makes the number of some bits, and
 * compares. Which of its bits a NaN has isn't said, nor, where a domain knows one 0 only, the sign
 * of a 0.
 */
#include <math.h>
#include "reference/common.h"
#include "reference/twin.h"

/* The number, not below 0, that a float dtype has for these BITS; infinity, and NaN above that. */
static double number_of(gemel_dtype dtype, uint64_t bits) {
  const gemel__format *f = gemel__dtype_format(dtype);
  uint64_t unit = (uint64_t)1 << (f->digits - 1), exponent = bits / unit, rest = bits % unit;
  if (exponent == (uint64_t)(f->highest - f->lowest + 2)) {
    return rest == 0 ? INFINITY : NAN;
  }
  double digits = (double)(exponent == 0 ? rest : rest + unit);
  return ldexp(digits, gemel__format_unit(f) + (exponent == 0 ? 0 : (int)exponent - 1));
}

/* How many bits are those of numbers not below 0, infinity among them. */
static uint64_t count_of(gemel_dtype dtype) {
  const gemel__format *f = gemel__dtype_format(dtype);
  return ((uint64_t)(f->highest - f->lowest + 2) << (f->digits - 1)) + 1;
}

static uint64_t sign_bit(gemel_dtype dtype) {
  return (uint64_t)1 << (8 * gemel_dtype_size(dtype) - 1);
}

/* 1 and *BITS: those of X, a number. */
static int bits_of(gemel__decider *w, const void *x, gemel_dtype dtype, uint64_t *bits) {
  gemel__domain *d = w->domain;
  int sign = d->sign(d, x);
  uint64_t low = 0, high = count_of(dtype);
  if (sign == GEMEL__UNORDERED || (sign == 0 && !d->ieee)) {
    return 0;
  }
  if (sign == 0) {
    d->div(d, w->spare, w->one, x);
    *bits = d->sign(d, w->spare) < 0 ? sign_bit(dtype) : 0;
    return 1;
  }
  while (high - low > 1) {
    uint64_t middle = low + (high - low) / 2;
    double number = number_of(dtype, middle);
    d->from_double(d, w->spare, sign < 0 ? -number : number);
    int order = gemel__compare(w, x, w->spare);
    if (order == GEMEL__UNORDERED) {
      return 0;
    }
    *(order * sign < 0 ? &high : &low) = middle;
  }
  double number = number_of(dtype, low);
  d->from_double(d, w->spare, sign < 0 ? -number : number);
  *bits = low | (sign < 0 ? sign_bit(dtype) : 0);
  return gemel__compare(w, x, w->spare) == 0;
}

/* E = the number of DTYPE with these BITS. */
static void set_bits(gemel__domain *d, void *e, gemel_dtype dtype, uint64_t bits) {
  if (gemel__is_float(dtype)) {
    double number = number_of(dtype, bits & ~sign_bit(dtype));
    d->from_double(d, e, bits & sign_bit(dtype) ? -number : number);
  } else {
    d->from_unsigned(d, e, bits);
    d->round(d, e, dtype, 0);
  }
}

/* E = X, an integer, in another dtype. Those of which a domain knows no number become none. */
static void from_whole(gemel__decider *w, void *e, const void *x, gemel_dtype from,
                       gemel_dtype to) {
  gemel__domain *d = w->domain;
  int64_t n;
  d->set(d, w->spare, x);
  if (gemel__is_float(to) && from == GEMEL_U64) {
    d->round(d, w->spare, GEMEL_I64, 0);
  }
  if (!gemel__is_float(to)) {
    d->set(d, e, x);
    d->round(d, e, to, 0);
  } else if (d->to_integer(d, w->spare, &n)) {
    set_bits(d, e, to, (uint64_t)n & (UINT64_MAX >> (64 - 8 * gemel_dtype_size(to))));
  } else {
    d->set_state(d, e, GEMEL__UNDECIDED);
  }
}

static void convert(gemel__decider *w, void *e, const void *x, gemel_dtype from, gemel_dtype to) {
  gemel__domain *d = w->domain;
  uint64_t bits;
  if (from == to) {
    d->set(d, e, x);
  } else if (!gemel__is_float(from)) {
    from_whole(w, e, x, from, to);
  } else if (bits_of(w, x, from, &bits)) {
    set_bits(d, e, to, bits);
  } else {
    d->set_state(d, e, GEMEL__UNDECIDED);
  }
  if (d->forget != NULL) {
    d->forget(d, e);
  }
}

static gemel_status reference_bitcast(gemel__rcall *call) {
  const gemel__rtensor *x = call->inputs[0];
  gemel_dtype to = call->attrs[0].u.dtype;
  gemel__decider w;
  GEMEL__TRY(gemel__reference_output(call, 0, to, x->rank, x->shape));
  GEMEL__TRY(gemel__decider_init(&w, call->domain, call->error));
  for (size_t i = 0; i < x->count; i++) {
    convert(&w, gemel__rtensor_at(&call->outputs[0], i), gemel__rtensor_at(x, i), x->dtype, to);
  }
  gemel__decider_clear(&w);
  return GEMEL_OK;
}

const gemel__twin gemel__twin_bitcast = {.reference = reference_bitcast,
                                         .sample = gemel__sampler_bitcast,
                                         .propose = gemel__propose_bitcast,
                                         .arithmetic = GEMEL__EXACT};
