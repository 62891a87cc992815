/* SPDX-License-Identifier: MIT
 *
 * Arithmetic on dims in normal form, and bounds of their values. A sum is merged term by term; a
 * product is distributed; of a floor-quotient everything that divides exactly is taken out, so that
 * what stays inside is reduced as far as integers allow:
 *
 *   (k a + b) // k = a + b // k           for a constant k, every coefficient of b in [0, k)
 *   (g a + c) // (g k) = (a + c // g) // k for a common divisor g and a constant c
 *   (x // m + c) // k = (x + c m) // (m k) for positive constants m and k
 *   (a b + r) // b = a + r // b           term by term, for a b of one term
 *
 * Where a divisor may be 0 the quotient has no value there, and the identities hold where it has
 * one. Mins and maxes are flattened, sorted, and lose operands that bounds show to be idle.
 */
#include <string.h>
#include "core/dims.h"

/* ---- Bounds ---- */

static const gemel__bounds unbounded = {INT64_MIN, INT64_MAX};

/* A bound of a product or sum, INFINITE where there is none. */
static int64_t times(int64_t a, int64_t b, int64_t infinite) {
  int64_t r;
  if (a == INT64_MIN || a == INT64_MAX || __builtin_mul_overflow(a, b, &r)) {
    return infinite;
  }
  return r;
}

static int64_t plus(int64_t a, int64_t b, int64_t infinite) {
  int64_t r;
  if (a == infinite || b == infinite || __builtin_add_overflow(a, b, &r)) {
    return infinite;
  }
  return r;
}

gemel__bounds gemel__poly_bounds(const struct gemel__dims *dims, const gemel__poly *poly) {
  gemel__bounds sum = {0, 0};
  for (uint32_t k = 0; k < poly->count; k++) {
    int64_t c = poly->terms[k].coefficient;
    gemel__bounds mono = gemel__mono_at(dims, poly->terms[k].mono)->facts.bounds;
    int64_t low = times(c > 0 ? mono.low : mono.high, c, INT64_MIN);
    int64_t high = times(c > 0 ? mono.high : mono.low, c, INT64_MAX);
    sum.low = plus(sum.low, low, INT64_MIN);
    sum.high = plus(sum.high, high, INT64_MAX);
  }
  return sum;
}

gemel__bounds gemel__mono_bounds(const struct gemel__dims *dims, const gemel__mono *mono) {
  gemel__bounds product = {1, 1};
  for (uint32_t k = 0; k < mono->count; k++) {
    gemel__bounds atom = gemel__dim_atom_at(dims, mono->factors[k].atom)->facts.bounds;
    if (mono->count == 1 && mono->factors[0].power == 1) {
      return atom;
    }
    if (atom.low < 0) {
      return unbounded;
    }
    for (uint32_t p = 0; p < mono->factors[k].power; p++) {
      /* A lower bound that overflows is replaced by one that is certainly right. */
      product.low = times(product.low, atom.low, 0);
      product.high = atom.high == INT64_MAX ? INT64_MAX : times(product.high, atom.high, INT64_MAX);
    }
  }
  return product;
}

static gemel__bounds quotient_bounds(const struct gemel__dims *dims, const gemel__dim_atom *atom) {
  const gemel__dim *divisor = gemel__dim_at(dims, gemel__divisor(atom));
  gemel__bounds above = gemel__dim_at(dims, gemel__dividend(atom))->facts.bounds,
                result = unbounded;
  int64_t k;
  if (gemel__dim_constant_of(divisor, &k) && k > 0) {
    result.low = above.low == INT64_MIN ? INT64_MIN : gemel__floor_quotient(above.low, k);
    result.high = above.high == INT64_MAX ? INT64_MAX : gemel__floor_quotient(above.high, k);
  } else if (divisor->facts.bounds.low >= 0 && above.low >= 0) {
    result.low = 0;
    result.high = above.high;
  }
  return result;
}

gemel__bounds gemel__atom_bounds(const struct gemel__dims *dims, const gemel__dim_atom *atom) {
  gemel__bounds result = unbounded;
  if (atom->kind == GEMEL__ATOM_SYMBOL) {
    result.low = 0;
  } else if (atom->kind == GEMEL__ATOM_QUOTIENT) {
    result = quotient_bounds(dims, atom);
  }
  for (uint32_t k = 0; k < atom->count; k++) {
    gemel__bounds b = gemel__dim_at(dims, atom->list[k])->facts.bounds;
    int least = atom->kind == GEMEL__ATOM_MIN;
    if (k == 0) {
      result = b;
      continue;
    }
    if (least ? b.low < result.low : b.low > result.low) {
      result.low = b.low;
    }
    if (least ? b.high < result.high : b.high > result.high) {
      result.high = b.high;
    }
  }
  return result;
}

/* ---- Sums and products ---- */

void gemel__poly_load(const struct gemel__dims *dims, gemel_dim dim, gemel__poly *poly) {
  const gemel__dim *stored = gemel__dim_at(dims, dim);
  poly->count = stored->count;
  memcpy(poly->terms, stored->terms, stored->count * sizeof *stored->terms);
}

/* Appends COEFFICIENT × MONO, whose monomial comes after all that are there; nothing for 0. */
static int append(gemel__poly *poly, int64_t coefficient, uint32_t mono) {
  if (coefficient == 0) {
    return 0;
  }
  if (poly->count == GEMEL__DIM_TERMS) {
    return -1;
  }
  poly->terms[poly->count++] = (gemel__dim_term){coefficient, mono};
  return 0;
}

int gemel__poly_combine(const gemel__poly *a, const gemel__poly *b, int64_t factor,
                        gemel__poly *result) {
  uint32_t i = 0, j = 0;
  result->count = 0;
  while (i < a->count || j < b->count) {
    uint32_t left = i < a->count ? a->terms[i].mono : UINT32_MAX;
    uint32_t right = j < b->count ? b->terms[j].mono : UINT32_MAX;
    int64_t sum = 0, scaled;
    if (left <= right) {
      sum = a->terms[i++].coefficient;
    }
    if (right <= left) {
      if (__builtin_mul_overflow(b->terms[j++].coefficient, factor, &scaled) ||
          __builtin_add_overflow(sum, scaled, &sum)) {
        return -1;
      }
    }
    if (append(result, sum, left < right ? left : right)) {
      return -1;
    }
  }
  return 0;
}

/* Adds COEFFICIENT × MONO wherever it belongs. */
static int add_term(gemel__poly *poly, int64_t coefficient, uint32_t mono) {
  uint32_t k = 0;
  while (k < poly->count && poly->terms[k].mono < mono) {
    k++;
  }
  if (k < poly->count && poly->terms[k].mono == mono) {
    if (__builtin_add_overflow(poly->terms[k].coefficient, coefficient,
                               &poly->terms[k].coefficient)) {
      return -1;
    }
    if (poly->terms[k].coefficient == 0) {
      poly->count--;
      memmove(poly->terms + k, poly->terms + k + 1, (poly->count - k) * sizeof *poly->terms);
    }
    return 0;
  }
  if (coefficient == 0) {
    return 0;
  }
  if (poly->count == GEMEL__DIM_TERMS) {
    return -1;
  }
  memmove(poly->terms + k + 1, poly->terms + k, (poly->count - k) * sizeof *poly->terms);
  poly->terms[k] = (gemel__dim_term){coefficient, mono};
  poly->count++;
  return 0;
}

static uint32_t multiply_monos(struct gemel__dims *dims, uint32_t x, uint32_t y) {
  gemel__dim_factor factors[2 * GEMEL__DIM_DEGREE];
  const gemel__mono *a = gemel__mono_at(dims, x), *b = gemel__mono_at(dims, y);
  uint32_t i = 0, j = 0, n = 0;
  if (x == GEMEL__MONO_ONE || y == GEMEL__MONO_ONE) {
    return x == GEMEL__MONO_ONE ? y : x;
  }
  while (i < a->count || j < b->count) {
    uint32_t left = i < a->count ? a->factors[i].atom : UINT32_MAX;
    uint32_t right = j < b->count ? b->factors[j].atom : UINT32_MAX;
    gemel__dim_factor *f = &factors[n++];
    f->atom = left < right ? left : right;
    f->power = 0;
    f->power += left <= right ? a->factors[i++].power : 0;
    f->power += right <= left ? b->factors[j++].power : 0;
  }
  return gemel__mono_intern(dims, factors, n);
}

int gemel__poly_multiply(struct gemel__dims *dims, const gemel__poly *a, const gemel__poly *b,
                         gemel__poly *result) {
  result->count = 0;
  for (uint32_t i = 0; i < a->count; i++) {
    for (uint32_t j = 0; j < b->count; j++) {
      int64_t c;
      uint32_t mono = multiply_monos(dims, a->terms[i].mono, b->terms[j].mono);
      if (!mono || __builtin_mul_overflow(a->terms[i].coefficient, b->terms[j].coefficient, &c) ||
          add_term(result, c, mono)) {
        return -1;
      }
    }
  }
  return 0;
}

/* ---- Quotients ---- */

/* X / Y where Y divides X, else 0. */
static uint32_t divide_monos(struct gemel__dims *dims, uint32_t x, uint32_t y) {
  gemel__dim_factor factors[GEMEL__DIM_DEGREE];
  const gemel__mono *a = gemel__mono_at(dims, x), *b = gemel__mono_at(dims, y);
  uint32_t j = 0, n = 0;
  for (uint32_t i = 0; i < a->count; i++) {
    uint32_t power = a->factors[i].power;
    if (j < b->count && b->factors[j].atom == a->factors[i].atom) {
      if (b->factors[j].power > power) {
        return 0;
      }
      power -= b->factors[j++].power;
    }
    if (power) {
      factors[n++] = (gemel__dim_factor){a->factors[i].atom, power};
    }
  }
  return j == b->count ? gemel__mono_intern(dims, factors, n) : 0;
}

static uint64_t magnitude(int64_t x) {
  return x < 0 ? 0 - (uint64_t)x : (uint64_t)x;
}

static uint64_t gcd(uint64_t a, uint64_t b) {
  while (b) {
    uint64_t r = a % b;
    a = b;
    b = r;
  }
  return a;
}

/* Greatest common divisor of START and the coefficients of POLY, the constant's left out if asked.
 */
uint64_t gemel__poly_content(const gemel__poly *poly, uint64_t start, int with_constant) {
  for (uint32_t k = 0; k < poly->count; k++) {
    if (with_constant || poly->terms[k].mono != GEMEL__MONO_ONE) {
      start = gcd(start, magnitude(poly->terms[k].coefficient));
    }
  }
  return start;
}

/* Divides every coefficient by G, rounding down. */
static void shrink(gemel__poly *poly, int64_t g) {
  uint32_t n = 0;
  for (uint32_t k = 0; k < poly->count; k++) {
    gemel__dim_term term = poly->terms[k];
    term.coefficient = gemel__floor_quotient(term.coefficient, g);
    if (term.coefficient) {
      poly->terms[n++] = term;
    }
  }
  poly->count = n;
}

/* Adds the quotient of two dims, as an atom of its own, to RESULT. */
static int add_quotient(struct gemel__dims *dims, const gemel__poly *a, const gemel__poly *b,
                        gemel__poly *result) {
  gemel__dim_atom atom = {.kind = GEMEL__ATOM_QUOTIENT};
  atom.a = gemel__dim_intern(dims, a).id;
  atom.b = atom.a ? gemel__dim_intern(dims, b).id : 0;
  gemel__dim_factor factor = {atom.b ? gemel__atom_intern(dims, &atom) : 0, 1};
  uint32_t mono = factor.atom ? gemel__mono_intern(dims, &factor, 1) : 0;
  return mono ? add_term(result, 1, mono) : -1;
}

/* Moves what K divides from REST to RESULT; every coefficient left is in [0, K). */
static int take_multiples(gemel__poly *rest, int64_t k, gemel__poly *result) {
  gemel__poly left;
  left.count = 0;
  for (uint32_t i = 0; i < rest->count; i++) {
    gemel__dim_term t = rest->terms[i];
    int64_t q = gemel__floor_quotient(t.coefficient, k);
    if (add_term(result, q, t.mono) || append(&left, t.coefficient - q * k, t.mono)) {
      return -1;
    }
  }
  *rest = left;
  return 0;
}

/* If REST is x // m + c with a constant m, makes it x + c m, and K m times K. */
static int unnest(struct gemel__dims *dims, gemel__poly *rest, int64_t *k) {
  gemel__poly inner, shift;
  int64_t c = rest->count == 2 ? rest->terms[0].coefficient : 0, m, km, cm;
  if (rest->count == 0 || rest->count > 2 || rest->terms[rest->count - 1].coefficient != 1 ||
      (rest->count == 2 && rest->terms[0].mono != GEMEL__MONO_ONE)) {
    return 0;
  }
  const gemel__mono *mono = gemel__mono_at(dims, rest->terms[rest->count - 1].mono);
  if (mono->degree != 1) {
    return 0;
  }
  const gemel__dim_atom *atom = gemel__dim_atom_at(dims, mono->factors[0].atom);
  if (atom->kind != GEMEL__ATOM_QUOTIENT ||
      !gemel__dim_constant_of(gemel__dim_at(dims, gemel__divisor(atom)), &m) || m <= 0 ||
      __builtin_mul_overflow(*k, m, &km) || __builtin_mul_overflow(c, m, &cm)) {
    return 0;
  }
  gemel__poly_load(dims, gemel__dividend(atom), &inner);
  shift.count = cm != 0;
  shift.terms[0] = (gemel__dim_term){cm, GEMEL__MONO_ONE};
  if (gemel__poly_combine(&inner, &shift, 1, rest)) {
    return -1;
  }
  *k = km;
  return 1;
}

/* A // K for a positive constant K. */
static int divide_by_constant(struct gemel__dims *dims, const gemel__poly *a, int64_t k,
                              gemel__poly *result) {
  gemel__poly rest = *a, divisor;
  int nested = 1;
  result->count = 0;
  while (nested == 1) {
    if (take_multiples(&rest, k, result)) {
      return -1;
    }
    gemel__bounds bounds = gemel__poly_bounds(dims, &rest);
    if (bounds.low >= 0 && bounds.high < k) {
      return 0;
    }
    int64_t g = (int64_t)gemel__poly_content(&rest, (uint64_t)k, 0);
    shrink(&rest, g);
    k /= g;
    nested = unnest(dims, &rest, &k);
  }
  divisor.count = 1;
  divisor.terms[0] = (gemel__dim_term){k, GEMEL__MONO_ONE};
  return nested < 0 ? -1 : add_quotient(dims, &rest, &divisor, result);
}

/* Moves the terms of REST that the one term of B divides to RESULT. */
static int take_exact(struct gemel__dims *dims, gemel__poly *rest, gemel__dim_term b,
                      gemel__poly *result) {
  gemel__poly left;
  left.count = 0;
  for (uint32_t i = 0; i < rest->count; i++) {
    gemel__dim_term t = rest->terms[i];
    int whole =
        !(t.coefficient == INT64_MIN && b.coefficient == -1) && t.coefficient % b.coefficient == 0;
    uint32_t mono = whole ? divide_monos(dims, t.mono, b.mono) : 0;
    if (mono ? add_term(result, t.coefficient / b.coefficient, mono)
             : append(&left, t.coefficient, t.mono)) {
      return -1;
    }
  }
  *rest = left;
  return 0;
}

/* If A = B × q with an integer q, adds q to RESULT, empties A and returns 1. */
static int whole_multiple(gemel__poly *a, const gemel__poly *b, gemel__poly *result) {
  gemel__poly difference;
  int64_t top = a->terms[0].coefficient, bottom = b->terms[0].coefficient;
  if (a->count != b->count || (bottom == -1 && top == INT64_MIN) || top % bottom) {
    return 0;
  }
  if (top / bottom == INT64_MIN || gemel__poly_combine(a, b, -(top / bottom), &difference) ||
      difference.count) {
    return 0;
  }
  a->count = 0;
  return add_term(result, top / bottom, GEMEL__MONO_ONE) ? -1 : 1;
}

int gemel__poly_floordiv(struct gemel__dims *dims, const gemel__poly *a, const gemel__poly *b,
                         gemel__poly *result) {
  gemel__poly rest = *a, by = *b, slack;
  if (b->count == 0) {
    return -1;
  }
  if (b->count == 1 && b->terms[0].mono == GEMEL__MONO_ONE) {
    int64_t k = b->terms[0].coefficient;
    slack.count = 0;
    if (k < 0 && (k == INT64_MIN || gemel__poly_combine(&slack, a, -1, &rest))) {
      return -1;
    }
    return divide_by_constant(dims, &rest, k < 0 ? -k : k, result);
  }
  result->count = 0;
  if (b->count == 1 && take_exact(dims, &rest, b->terms[0], result)) {
    return -1;
  }
  if (rest.count && whole_multiple(&rest, b, result) < 0) {
    return -1;
  }
  if (rest.count == 0) {
    return 0;
  }
  if (gemel__poly_bounds(dims, &rest).low >= 0 && !gemel__poly_combine(b, &rest, -1, &slack) &&
      gemel__poly_bounds(dims, &slack).low >= 1) {
    return 0;
  }
  uint64_t g = gemel__poly_content(&by, gemel__poly_content(&rest, 0, 1), 1);
  if (g > 1 && g <= INT64_MAX) {
    shrink(&rest, (int64_t)g);
    shrink(&by, (int64_t)g);
  }
  return add_quotient(dims, &rest, &by, result);
}

/* ---- Min and max ---- */

/* Bounds of a - b; unbounded when the difference can't be represented. */
static gemel__bounds difference(const struct gemel__dims *dims, gemel_dim a, gemel_dim b) {
  gemel__poly left, right, result;
  gemel__poly_load(dims, a, &left);
  gemel__poly_load(dims, b, &right);
  if (gemel__poly_combine(&left, &right, -1, &result)) {
    return unbounded;
  }
  return gemel__poly_bounds(dims, &result);
}

/* Puts DIM into the ascending list of candidates for the least (or greatest) value. */
static int add_candidate(const struct gemel__dims *dims, int kind, gemel_dim *list, uint32_t *count,
                         gemel_dim dim) {
  uint32_t n = 0, place = 0;
  for (uint32_t k = 0; k < *count; k++) {
    gemel__bounds d = difference(dims, dim, list[k]);
    int idle = kind == GEMEL__ATOM_MIN ? d.low >= 0 : d.high <= 0;
    if (idle) { /* something in the list is always as good; nothing was dropped for DIM before */
      return 0;
    }
  }
  for (uint32_t k = 0; k < *count; k++) {
    gemel__bounds d = difference(dims, dim, list[k]);
    int better = kind == GEMEL__ATOM_MIN ? d.high <= 0 : d.low >= 0;
    if (!better) {
      list[n++] = list[k];
    }
  }
  if (n == GEMEL__DIM_LIST) {
    return -1;
  }
  while (place < n && list[place].id < dim.id) {
    place++;
  }
  memmove(list + place + 1, list + place, (n - place) * sizeof *list);
  list[place] = dim;
  *count = n + 1;
  return 0;
}

/* Adds the operands of DIM if it is itself a min (or max), else DIM. */
static int add_candidates(const struct gemel__dims *dims, int kind, gemel_dim *list,
                          uint32_t *count, gemel_dim dim) {
  const gemel__dim *stored = gemel__dim_at(dims, dim);
  if (stored->count == 1 && stored->terms[0].coefficient == 1) {
    const gemel__mono *mono = gemel__mono_at(dims, stored->terms[0].mono);
    const gemel__dim_atom *atom =
        mono->degree == 1 ? gemel__dim_atom_at(dims, mono->factors[0].atom) : NULL;
    if (atom && atom->kind == kind) {
      for (uint32_t k = 0; k < atom->count; k++) {
        if (add_candidate(dims, kind, list, count, atom->list[k])) {
          return -1;
        }
      }
      return 0;
    }
  }
  return add_candidate(dims, kind, list, count, dim);
}

gemel_dim gemel__dim_extreme(struct gemel__dims *dims, int kind, gemel_dim a, gemel_dim b) {
  gemel_dim list[GEMEL__DIM_LIST + 1];
  gemel__poly poly;
  uint32_t count = 0;
  if (add_candidates(dims, kind, list, &count, a) || add_candidates(dims, kind, list, &count, b)) {
    return GEMEL_DIM_NONE;
  }
  if (count == 1) {
    return list[0];
  }
  gemel__dim_atom atom = {.kind = kind, .count = count, .list = list};
  gemel__dim_factor factor = {gemel__atom_intern(dims, &atom), 1};
  uint32_t mono = factor.atom ? gemel__mono_intern(dims, &factor, 1) : 0;
  poly.count = 1;
  poly.terms[0] = (gemel__dim_term){1, mono};
  return mono ? gemel__dim_intern(dims, &poly) : GEMEL_DIM_NONE;
}
