/* SPDX-License-Identifier: MIT
 *
 * References of the solve family. The determinant and the inverse of a matrix come from
 * Gauss-Jordan elimination, in any domain the same whichever pivots are taken; x is the inverse
 * times b. triangular_solve and cholesky are the textbook's substitutions.
 *
 * Bounds (domain B): substitutions round once an operation, in any order of their sums; a quotient
 * may be a product by a reciprocal. What elimination may be off by is not propagated through it but
 * known from backward error analysis (Higham, "Accuracy and Stability of Numerical Algorithms", 2nd
 * ed., sections 9.3 and 9.4): with partial pivoting it solves (a + e) x = b exactly for an |e| of
 * at most g |l| |u|, g = γ of 3n + 4 roundings (a factor l has two: it may be multiplied by a
 * reciprocal). Multipliers in l are at most 1, so pivots grow by 2 a step, and a column of |l| |u|
 * has no element above 2^n times the largest of that column of a, whichever pivots are chosen among
 * equal ones.
 *
 * Special values (domain S): a NaN or an infinity in what is read makes results NaN; else it isn't
 * decided here whether rounding or overflow does, but an infinity is wrong.
 */
#include <math.h>
#include "reference/common.h"
#include "reference/twin.h"

/* A matrix of a batch, and what is computed of it. */
typedef struct solving {
  gemel__decider w;
  gemel__domain *domain;
  gemel_dtype dtype;
  size_t n, columns, count; /* rows; columns of b; matrices */
  int triangle;             /* 1: elimination may end there, as nobody needs the inverse */
  const gemel__rtensor *a, *b;
  gemel__rtensor *out;
  size_t number, at, right_at; /* of this matrix; where it, and its b or x, begin */
  void *block;                 /* elements: two matrices of n rows, and a few */
  void *m, *work, *det, *c, *term;
  const void **terms; /* n + 1 */
  double *rows;       /* the same */
} solving;

static const void *a_of(const solving *s, size_t i, size_t j) {
  return gemel__rtensor_at(s->a, s->at + i * s->n + j);
}

static void *element(const solving *s, void *matrix, size_t i, size_t j) {
  return gemel__element(s->domain, matrix, i * s->n + j);
}

static void *out_of(const solving *s, size_t i, size_t j) {
  return gemel__rtensor_at(s->out, s->right_at + i * s->columns + j);
}

/* ---- Shapes ---- */

static gemel_status start(gemel__rcall *call, solving *s) {
  const gemel__rtensor *a = call->inputs[0], *b = call->n_inputs > 1 ? call->inputs[1] : NULL;
  int r = a->rank;
  if ((a->dtype != GEMEL_F32 && a->dtype != GEMEL_F64) || (b != NULL && b->dtype != a->dtype)) {
    return gemel__fail(call->error, GEMEL_BAD_TYPE, "matrices of f32 or f64, all of one dtype");
  }
  int fits = r >= 2 && a->shape[r - 1] == a->shape[r - 2] && (b == NULL || b->rank == r);
  for (int k = 0; fits && b != NULL && k < r - 1; k++) {
    fits = a->shape[k] == b->shape[k];
  }
  if (!fits) {
    return gemel__fail(call->error, GEMEL_BAD_SHAPE, "square matrices, and b with as many rows");
  }
  *s = (solving){.domain = call->domain, .dtype = a->dtype, .a = a, .b = b, .count = 1};
  s->n = (size_t)a->shape[r - 1];
  s->columns = b != NULL ? (size_t)b->shape[r - 1] : s->n;
  for (int k = 0; k < r - 2; k++) {
    s->count *= (size_t)a->shape[k];
  }
  return GEMEL_OK;
}

/* ---- The determinant and the inverse ---- */

/* 1 if results have bounds. */
static int is_bounded(const gemel__domain *d) {
  return d->rounds && !d->ieee;
}

static double most(const solving *s, const void *e) {
  double low, high;
  s->domain->bounds(s->domain, e, &low, &high);
  return fmax(fabs(low), fabs(high));
}

/* The first row from K on whose element in column K has an inverse; where results have bounds, that
 * with the largest. N: there is none, and *STATE is why. What comes of it is the same whichever row
 * is taken, so this is no decision. */
static size_t find_pivot(solving *s, size_t k, gemel__state *state) {
  gemel__domain *d = s->domain;
  size_t p = s->n;
  *state = GEMEL__UNDEFINED;
  for (size_t i = k; i < s->n && (p == s->n || is_bounded(d)); i++) {
    const void *e = element(s, s->work, i, k);
    d->div(d, s->term, s->w.one, e);
    gemel__state own = d->state(d, s->term);
    *state = own > *state ? own : *state;
    if (own == GEMEL__DEFINED && (p == s->n || most(s, e) > most(s, element(s, s->work, p, k)))) {
      p = i;
    }
  }
  return p;
}

static void exchange(solving *s, void *matrix, size_t p, size_t q) {
  gemel__domain *d = s->domain;
  for (size_t j = 0; j < s->n; j++) {
    d->set(d, s->term, element(s, matrix, p, j));
    d->set(d, element(s, matrix, p, j), element(s, matrix, q, j));
    d->set(d, element(s, matrix, q, j), s->term);
  }
}

/* Row I of MATRIX less C times row K, from column J on. */
static void take_away(solving *s, void *matrix, size_t i, size_t k, size_t j) {
  gemel__domain *d = s->domain;
  for (; j < s->n; j++) {
    d->mul(d, s->term, s->c, element(s, matrix, k, j));
    d->sub(d, element(s, matrix, i, j), element(s, matrix, i, j), s->term);
  }
}

static void divide_row(solving *s, void *matrix, size_t k, size_t j) {
  gemel__domain *d = s->domain;
  for (; j < s->n; j++) {
    d->div(d, element(s, matrix, k, j), element(s, matrix, k, j), s->c);
  }
}

/* Makes column K of WORK that of I, and does the same with M; what nobody reads is left out. */
static void eliminate(solving *s, size_t k) {
  gemel__domain *d = s->domain;
  size_t of_m = s->triangle ? s->n : 0;
  d->mul(d, s->det, s->det, element(s, s->work, k, k));
  d->set(d, s->c, element(s, s->work, k, k));
  divide_row(s, s->work, k, k);
  divide_row(s, s->m, k, of_m);
  for (size_t i = s->triangle ? k + 1 : 0; i < s->n; i++) {
    if (i != k) {
      d->set(d, s->c, element(s, s->work, i, k));
      take_away(s, s->work, i, k, k);
      take_away(s, s->m, i, k, of_m);
    }
  }
}

/* There is no inverse, or STATE says why none is known. */
static void give_up(solving *s, gemel__state state) {
  gemel__domain *d = s->domain;
  d->from_integer(d, s->det, 0);
  if (state != GEMEL__UNDEFINED) {
    d->set_state(d, s->det, state);
  }
  for (size_t k = 0; k < s->n * s->n; k++) {
    d->set_state(d, gemel__element(d, s->m, k), state);
  }
}

/* DET = the determinant; M = the inverse, unless that ends with a triangle. Formulas
 * (domain->choose) can't be asked for inverses. */
static gemel_status invert(solving *s) {
  gemel__domain *d = s->domain;
  gemel__state state;
  for (size_t k = 0; k < s->n * s->n; k++) {
    d->set(d, gemel__element(d, s->work, k), gemel__rtensor_at(s->a, s->at + k));
    d->from_integer(d, gemel__element(d, s->m, k), k % (s->n + 1) == 0);
  }
  d->from_integer(d, s->det, 1);
  for (size_t k = 0; k < s->n; k++) {
    size_t p = find_pivot(s, k, &state);
    if (p == s->n || d->choose != NULL) {
      give_up(s, p == s->n ? state : GEMEL__GAP);
      break;
    }
    if (p != k) {
      exchange(s, s->work, p, k);
      exchange(s, s->m, p, k);
      d->neg(d, s->det, s->det);
    }
    eliminate(s, k);
    GEMEL__TRY(gemel__reference_go_on(s->n * s->n));
  }
  return GEMEL_OK;
}

/* ---- Bounds ---- */

/* γ of K roundings, in units of the last place of 1, which are two of the rounding error. */
static double gamma_units(const solving *s, double k) {
  double u = ldexp(0.5, 1 - gemel__dtype_format(s->dtype)->digits);
  return k / 2 / (1 - k * u);
}

/* A unit of the last place of 1. */
static double unit(const solving *s) {
  return ldexp(1, 1 - gemel__dtype_format(s->dtype)->digits);
}

/* Widens E by UNITS units of the last place of 1. */
static void widen(solving *s, void *e, double units) {
  gemel__domain *d = s->domain;
  if (!isfinite(units)) {
    d->set_state(d, e, GEMEL__UNDECIDED);
    return;
  }
  d->from_integer(d, s->term, 1);
  d->round(d, s->term, s->dtype, units > 0.5 ? units : 0.75);
  d->sub(d, s->term, s->term, s->w.one);
  d->add(d, e, e, s->term);
}

/* The largest magnitude in column J of a; numbers below the smallest normal one count as that,
 * since they may be lost. */
static double largest_in_column(const solving *s, size_t j) {
  double largest = ldexp(gemel__least_subnormal(s->dtype), gemel__dtype_format(s->dtype)->digits);
  for (size_t i = 0; i < s->n; i++) {
    largest = fmax(largest, most(s, a_of(s, i, j)));
  }
  return largest;
}

/* 1 if elimination may meet a number beyond the dtype: pivots grow by 2 a step at worst, as a rule
 * to n times what they were at most, and so does what is computed of numbers up to OTHER. */
static int may_overflow(const solving *s, double other) {
  double largest = other;
  for (size_t j = 0; j < s->n; j++) {
    largest = fmax(largest, largest_in_column(s, j));
  }
  double growth = s->domain->likely ? (double)s->n : ldexp(1, (int)s->n);
  return largest * growth > gemel__largest(s->dtype);
}

/* ---- Special values ---- */

static int is_finite(solving *s, const void *e) {
  s->domain->sub(s->domain, s->term, e, e);
  return s->domain->sign(s->domain, s->term) == 0;
}

static int matrix_finite(solving *s) {
  int finite = 1;
  for (size_t k = 0; k < s->n * s->n; k++) {
    finite &= is_finite(s, gemel__rtensor_at(s->a, s->at + k));
  }
  return finite;
}

/* E = NaN, or a number or NaN if the operands are FINITE. */
static void store_special(const solving *s, void *e, int finite) {
  gemel__domain *d = s->domain;
  d->from_double(d, e, finite ? 0 : NAN);
  if (finite) {
    d->set_state(d, e, GEMEL__UNDECIDED);
  }
}

/* All of x, given whether what is read of a is FINITE. */
static void store_special_columns(solving *s, int finite) {
  for (size_t j = 0; j < s->columns; j++) {
    int column_finite = finite;
    for (size_t i = 0; i < s->n; i++) {
      column_finite &= is_finite(s, gemel__rtensor_at(s->b, s->right_at + i * s->columns + j));
    }
    for (size_t i = 0; i < s->n; i++) {
      store_special(s, out_of(s, i, j), column_finite);
    }
  }
}

/* ---- solve ---- */

/* ROWS[i] = the sum of row i of |a^-1|. */
static void inverse_rows(const solving *s) {
  for (size_t i = 0; i < s->n; i++) {
    s->rows[i] = 0;
    for (size_t j = 0; j < s->n; j++) {
      s->rows[i] += most(s, element(s, s->m, i, j));
    }
  }
}

/* With M = |a^-1| g |l| |u| the error is at most M |x| + M |error|, and M_ij is at most the sum of
 * row i of |a^-1| by g 2^n times the largest number of column j. */
static void bound_column(solving *s, size_t j) {
  double g = ldexp(gamma_units(s, 3 * (double)s->n + 4), (int)s->n), of_x = 0, of_one = 0, of_b = 0,
         norm = 0;
  for (size_t k = 0; k < s->n; k++) {
    double largest = largest_in_column(s, k);
    of_x += largest * most(s, out_of(s, k, j));
    of_one += largest;
    norm = fmax(norm, s->rows[k]);
    of_b = fmax(of_b, most(s, gemel__rtensor_at(s->b, s->right_at + k * s->columns + j)));
  }
  double shrinks = norm * g * unit(s) * of_one; /* of the maximum norm of M */
  int certain = shrinks < 1 && !may_overflow(s, fmax(of_x, of_b));
  double again = certain ? 1 / (1 - shrinks) : INFINITY;
  for (size_t i = 0; i < s->n; i++) {
    widen(s, out_of(s, i, j), s->rows[i] * g * (of_x + of_one * norm * g * unit(s) * of_x * again));
  }
}

static void multiply(solving *s) {
  gemel__domain *d = s->domain;
  for (size_t i = 0; i < s->n; i++) {
    for (size_t j = 0; j < s->columns; j++) {
      void *e = out_of(s, i, j);
      for (size_t k = 0; k < s->n; k++) {
        d->mul(d, s->term, element(s, s->m, i, k),
               gemel__rtensor_at(s->b, s->right_at + k * s->columns + j));
        d->add(d, e, e, s->term);
      }
    }
  }
}

static gemel_status solve_one(solving *s) {
  if (s->domain->ieee) {
    store_special_columns(s, matrix_finite(s));
    return GEMEL_OK;
  }
  GEMEL__TRY(invert(s));
  multiply(s);
  if (is_bounded(s->domain)) {
    inverse_rows(s);
    for (size_t j = 0; j < s->columns; j++) {
      bound_column(s, j);
    }
  }
  return GEMEL_OK;
}

/* ---- triangular_solve ---- */

/* What of a is the coefficient of x_j in row I. */
static const void *coefficient(const gemel__rcall *call, const solving *s, size_t i, size_t j) {
  return call->attrs[1].u.i != 0 ? a_of(s, j, i) : a_of(s, i, j);
}

/* E = A by B, also as a product by a rounded reciprocal. */
static void store_quotient(solving *s, void *e, const void *a, const void *b) {
  s->domain->div(s->domain, e, a, b);
  gemel__store(&s->w, e, s->dtype, 1.5);
}

/* Gives N elements STEP apart from FIRST on the state AT_LEAST, unless theirs is worse; the worst.
 * A second pass with that gives all the same. */
static gemel__state share_state(const solving *s, gemel__state at_least, size_t first, size_t step,
                                size_t n) {
  gemel__domain *d = s->domain;
  for (size_t k = 0; k < n; k++) {
    void *e = gemel__rtensor_at(s->out, first + k * step);
    gemel__state own = d->state(d, e);
    at_least = own > at_least ? own : at_least;
    if (own < at_least) {
      d->set_state(d, e, at_least);
    }
  }
  return at_least;
}

/* x_ij from the rows of x that are known: those before row I if FORWARD, else those behind it. */
static void substitute(const gemel__rcall *call, solving *s, size_t i, size_t j, int forward) {
  gemel__domain *d = s->domain;
  void *e = out_of(s, i, j);
  size_t n_terms = 0;
  s->terms[n_terms++] = gemel__rtensor_at(s->b, s->right_at + i * s->columns + j);
  for (size_t k = forward ? 0 : i + 1; k < (forward ? i : s->n); k++) {
    void *product = gemel__element(d, s->m, k);
    d->mul(d, product, coefficient(call, s, i, k), out_of(s, k, j));
    d->neg(d, product, product);
    d->round(d, product, s->dtype, 0.5);
    s->terms[n_terms++] = product;
  }
  gemel__store_sum(&s->w, e, s->dtype, n_terms, s->terms);
  if (call->attrs[2].u.i == 0) {
    store_quotient(s, e, e, a_of(s, i, i));
  }
}

static int triangle_finite(const gemel__rcall *call, solving *s) {
  int lower = call->attrs[0].u.i != 0, unit_diagonal = call->attrs[2].u.i != 0, finite = 1;
  for (size_t i = 0; i < s->n; i++) {
    for (size_t j = 0; j < s->n; j++) {
      int read = i == j ? !unit_diagonal : lower == (j < i);
      finite &= !read || is_finite(s, a_of(s, i, j));
    }
  }
  return finite;
}

static gemel_status triangular_one(const gemel__rcall *call, solving *s) {
  int forward = (call->attrs[0].u.i != 0) != (call->attrs[1].u.i != 0);
  if (s->domain->ieee) {
    store_special_columns(s, triangle_finite(call, s));
    return GEMEL_OK;
  }
  for (size_t j = 0; j < s->columns; j++) {
    for (size_t step = 0; step < s->n; step++) {
      substitute(call, s, forward ? step : s->n - 1 - step, j, forward);
    }
    gemel__state worst = share_state(s, GEMEL__DEFINED, s->right_at + j, s->columns, s->n);
    share_state(s, worst, s->right_at + j, s->columns, s->n);
  }
  return GEMEL_OK;
}

/* ---- cholesky ---- */

/* E = a_ij less the products of what stands before column J in rows I and J. */
static void remainder_of(solving *s, void *e, size_t i, size_t j) {
  gemel__domain *d = s->domain;
  size_t n_terms = 0;
  s->terms[n_terms++] = a_of(s, i, j);
  for (size_t k = 0; k < j; k++) {
    void *product = gemel__element(d, s->m, k);
    d->mul(d, product, out_of(s, i, k), out_of(s, j, k));
    d->neg(d, product, product);
    d->round(d, product, s->dtype, 0.5);
    s->terms[n_terms++] = product;
  }
  gemel__store_sum(&s->w, e, s->dtype, n_terms, s->terms);
}

static void special_cholesky(solving *s) {
  int finite = 1;
  for (size_t i = 0; i < s->n; i++) {
    for (size_t j = 0; j <= i; j++) {
      finite &= is_finite(s, a_of(s, i, j));
    }
  }
  for (size_t i = 0; i < s->n; i++) {
    for (size_t j = 0; j <= i; j++) {
      store_special(s, out_of(s, i, j), finite);
    }
  }
}

static gemel_status cholesky_one(solving *s) {
  gemel__domain *d = s->domain;
  gemel__state worst = GEMEL__DEFINED;
  if (d->ieee) {
    special_cholesky(s);
    return GEMEL_OK;
  }
  for (size_t j = 0; j < s->n; j++) {
    void *pivot = out_of(s, j, j);
    remainder_of(s, pivot, j, j);
    d->sqrt(d, pivot, pivot);
    gemel__store(&s->w, pivot, s->dtype, 0.5);
    d->div(d, s->term, s->w.one, pivot); /* a pivot of 0 isn't positive */
    if (d->state(d, s->term) != GEMEL__DEFINED) {
      d->set_state(d, pivot, d->state(d, s->term));
    }
    for (size_t i = j + 1; i < s->n; i++) {
      remainder_of(s, out_of(s, i, j), i, j);
      store_quotient(s, out_of(s, i, j), out_of(s, i, j), pivot);
    }
  }
  for (size_t pass = 0; pass < 2; pass++) {
    for (size_t j = 0; j < s->n; j++) {
      worst = share_state(s, worst, s->right_at + j * (s->n + 1), s->n, s->n - j);
    }
  }
  return GEMEL_OK;
}

/* ---- Determinants ---- */

/* A bound of |det(a + e) - det a|, with e as in elimination, by Hadamard's inequality: a
 * determinant is at most the product of its columns' lengths, and in each column of a + e stands a
 * part of a and one of e. To it come the roundings of a product of n pivots. In units of the last
 * place of 1. */
static double worst_det_bound(const solving *s) {
  double n = (double)s->n, g = ldexp(gamma_units(s, n + 2), (int)s->n) * unit(s);
  double lengths = 1, growth = log1p(gamma_units(s, n) * unit(s));
  for (size_t j = 0; j < s->n; j++) {
    lengths *= sqrt(n) * largest_in_column(s, j);
    growth += log1p(g);
  }
  return lengths * expm1(growth) / unit(s);
}

/* The same where pivots don't grow and roundings go either way. det(a + e) = det a · det(1 + f)
 * with f = a^-1 e, and |det(1 + f) - 1| is about the trace of f: a sum of as many products as a has
 * elements, which is about as large as the root of the sum of their squares. NaN if a has no
 * inverse. */
static double likely_det_bound(const solving *s) {
  double n = (double)s->n, squares = 0;
  for (size_t j = 0; j < s->n; j++) {
    double largest = largest_in_column(s, j);
    for (size_t i = 0; i < s->n; i++) {
      double product = most(s, element(s, s->m, j, i)) * largest;
      squares += product * product;
    }
  }
  double units = gamma_units(s, sqrt(3 * n + 4)) * sqrt(squares) + gamma_units(s, sqrt(n));
  return most(s, s->det) * expm1(units * unit(s)) / unit(s);
}

static double det_bound(const solving *s) {
  double bound = worst_det_bound(s);
  return s->domain->likely ? fmin(bound, likely_det_bound(s)) : bound;
}

static void det_of(solving *s, void *e) {
  s->domain->set(s->domain, e, s->det);
  if (is_bounded(s->domain) && s->n > 0) {
    widen(s, e, may_overflow(s, 0) ? INFINITY : det_bound(s));
  }
}

/* The logarithm of the square, halved: there is no sign to decide. It is that of a determinant that
 * is off by its bound, within two units. */
static void log_abs_det_of(solving *s, void *e) {
  gemel__domain *d = s->domain;
  d->mul(d, e, s->det, s->det);
  d->log(d, e, e);
  d->from_integer(d, s->term, 2);
  d->div(d, e, e, s->term);
  if (is_bounded(d) && s->n > 0 && d->state(d, e) == GEMEL__DEFINED) {
    double low, high;
    d->bounds(d, s->det, &low, &high);
    double least = low > 0 ? low : high < 0 ? -high : 0;
    double relative = det_bound(s) * unit(s) / least;
    widen(s, e, relative < 1 && !may_overflow(s, 0) ? -log1p(-relative) / unit(s) : INFINITY);
    d->round(d, e, s->dtype, 2);
  }
}

static gemel_status one_number(solving *s, void (*of)(solving *s, void *e)) {
  void *e = gemel__rtensor_at(s->out, s->number);
  gemel__domain *d = s->domain;
  if (d->ieee && s->n > 0) {
    int finite = matrix_finite(s);
    d->from_double(d, e, NAN);
    if (finite) {
      d->set_state(d, e, GEMEL__GAP); /* elimination may end in a number, 0 or an infinity */
    }
    return GEMEL_OK;
  }
  s->triangle = !is_bounded(d) || !d->likely;
  gemel_status status = invert(s);
  of(s, e);
  d->div(d, s->term, s->w.one, s->det);
  if (d->no_derivative != NULL && d->state(d, s->term) != GEMEL__DEFINED) {
    d->no_derivative(d, e);
  }
  return status;
}

/* ---- Calls ---- */

enum which { SOLVE, TRIANGULAR, CHOLESKY, DET, LOG_ABS_DET };

static gemel_status work_on(const gemel__rcall *call, solving *s, enum which which) {
  switch (which) {
  case SOLVE:
    return solve_one(s);
  case TRIANGULAR:
    return triangular_one(call, s);
  case CHOLESKY:
    return cholesky_one(s);
  default:
    return one_number(s, which == DET ? det_of : log_abs_det_of);
  }
}

static gemel_status work_on_all(const gemel__rcall *call, solving *s, enum which which) {
  size_t each = s->n * s->n;
  s->m = s->block;
  s->work = gemel__element(s->domain, s->block, each);
  s->det = gemel__element(s->domain, s->block, 2 * each);
  s->c = gemel__element(s->domain, s->block, 2 * each + 1);
  s->term = gemel__element(s->domain, s->block, 2 * each + 2);
  for (s->number = 0; s->number < s->count; s->number++) {
    s->at = s->number * each;
    s->right_at = s->number * s->n * s->columns;
    GEMEL__TRY(work_on(call, s, which));
  }
  return GEMEL_OK;
}

static gemel_status reference(gemel__rcall *call, enum which which) {
  solving s;
  GEMEL__TRY(start(call, &s));
  const gemel__rtensor *like = s.b != NULL ? s.b : s.a;
  int rank = which >= DET ? like->rank - 2 : like->rank;
  size_t size = 2 * s.n * s.n + 3;
  GEMEL__TRY(gemel__reference_output(call, 0, s.dtype, rank, like->shape));
  GEMEL__TRY(gemel__decider_init(&s.w, s.domain, call->error));
  s.out = &call->outputs[0];
  s.block = gemel__elements_new(s.domain, size);
  s.terms = gemel__alloc_array(s.n + 1, sizeof *s.terms);
  s.rows = gemel__alloc_array(s.n + 1, sizeof *s.rows);
  gemel_status status = s.block != NULL && s.terms != NULL && s.rows != NULL
                            ? work_on_all(call, &s, which)
                            : gemel__no_memory(call->error, "a matrix");
  gemel__elements_free(s.domain, s.block, size);
  gemel__free(s.terms, (s.n + 1) * sizeof *s.terms);
  gemel__free(s.rows, (s.n + 1) * sizeof *s.rows);
  gemel__decider_clear(&s.w);
  return status;
}

#define TWIN(name, WHICH)                                                                          \
  static gemel_status reference_##name(gemel__rcall *call) {                                       \
    return reference(call, WHICH);                                                                 \
  }                                                                                                \
  const gemel__twin gemel__twin_##name = {.reference = reference_##name,                           \
                                          .sample = gemel__sampler_##name,                         \
                                          .propose = gemel__propose_solve,                         \
                                          .arithmetic = GEMEL__SUMS | GEMEL__PRODUCTS |            \
                                                        GEMEL__QUOTIENTS | GEMEL__FUNCTIONS};
TWIN(solve, SOLVE)
TWIN(triangular_solve, TRIANGULAR)
TWIN(cholesky, CHOLESKY)
TWIN(det, DET)
TWIN(log_abs_det, LOG_ABS_DET)
