/* SPDX-License-Identifier: MIT
 *
 * Points at which domain O evaluates graphs. Two different functions mostly differ at small
 * integers, at ties, at the graph's constants or at extremes; so these are drawn on purpose, mixed
 * with log-uniform magnitudes.
 *
 *   gemel__points p = {0};
 *   gemel__points_add_constant(&p, c);             for each constant of the graph
 *   gemel__points_begin(&p, &random);              a new point
 *   gemel__points_draw(&p, &random, range, low, high, n, values);     for each leaf
 *
 * All of it is deterministic: the same seed, constants and calls give the same points.
 */
#ifndef GEMEL__SAMPLE_POINTS_H
#define GEMEL__SAMPLE_POINTS_H

#include <stddef.h>
#include <stdint.h>
#include <gemel/dtype.h>
#include <gemel/operation.h>
#include "base/random.h"

#define GEMEL__POINTS_POOL 16

typedef struct gemel__points {
  double *constants;
  size_t n_constants, capacity;
  double pool[GEMEL__POINTS_POOL]; /* values drawn at this point, to be repeated as ties */
  size_t pooled;
  int style; /* of this point: how often each kind of value is drawn */
} gemel__points;

/* Adds a constant C of the graph. Values are drawn around it: c, −c, 2c, c ÷ 2, c ± 1, c ± 2^-20.
 * NaN, infinities and constants that were added before are ignored. Returns 0, or −1 when memory is
 * out. */
int gemel__points_add_constant(gemel__points *p, double c);

/* Frees; P is as {0} again. */
void gemel__points_clear(gemel__points *p);

/* Starts a new point: empties the pool of ties and chooses a style. */
void gemel__points_begin(gemel__points *p, gemel__random *random);

/* Draws N finite real values for a leaf of this point, all within RANGE. Each is one of: a small
 * integer (−8 … 8), a half, a value drawn before at this point (a tie within a leaf or across
 * leaves), a value around a constant, or ± a full random significand × 2^−60…60. GEMEL_RANGE_INDEX:
 * an integer in [LOW, HIGH), which must not be empty. GEMEL_RANGE_MODERATE: |x| ≤ 16. */
void gemel__points_draw(gemel__points *p, gemel__random *random, gemel_range range, int64_t low,
                        int64_t high, size_t n, double *values);

/* The least or greatest number of an integer DTYPE (or bool) in RANGE, stored as
 * gemel__points_draw_integers stores numbers. */
int64_t gemel__points_end(gemel_dtype dtype, gemel_range range, int64_t low, int64_t high,
                          int is_greatest);

/* Like gemel__points_draw, for leaves of an integer DTYPE (bool: 0 or 1). Draws small integers,
 * ties, the integers around constants, the dtype's extremes, these ± 1 … 2, powers of two ± 1, and
 * random bits. Two numbers of u64 may be a key of random numbers; now and then they are a key whose
 * first random number is an extreme one. u64 values are stored as the int64_t with the same
 * bits. */
void gemel__points_draw_integers(gemel__points *p, gemel__random *random, gemel_dtype dtype,
                                 gemel_range range, int64_t low, int64_t high, size_t n,
                                 int64_t *values);

/* Stores N drawn values as packed elements of DTYPE: floats are rounded to nearest even (and
 * limited to the largest finite number), integers truncated to their width. One of REALS and
 * INTEGERS is NULL. */
void gemel__points_store(gemel_dtype dtype, size_t n, const double *reals, const int64_t *integers,
                         void *data);

/* Stores X, which may be NaN or infinite, as one element of a float DTYPE. */
void gemel__store_real(gemel_dtype dtype, double x, void *data);

#endif
