/* SPDX-License-Identifier: MIT
 *
 * Points at which domain O evaluates graphs. Where two functions differ, they mostly differ at
 * small integers, at ties, at the constants that the graph names, or at extremes; so these are
 * drawn on purpose, mixed with log-uniform magnitudes. And where two points lead to different
 * decisions (signs, floors) in two or more places, there may be a narrow window between them in
 * which only one has changed: bisection looks for it.
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
#include "domains/domain.h"
#include "base/random.h"

#define GEMEL__POINTS_POOL 16

typedef struct gemel__points {
  double *constants;
  size_t n_constants, capacity;
  double pool[GEMEL__POINTS_POOL]; /* values drawn at this point, to be planted again as ties */
  size_t pooled;
  int style; /* of this point: which kinds of value prevail */
} gemel__points;

/* Notes a constant C of the graph, around which values are drawn: c, −c, 2c, c ÷ 2, c ± 1, c ±
 * 2^-20. NaN, infinities and what is known already are ignored. Returns 0, or −1 when memory is
 * out. */
int gemel__points_add_constant(gemel__points *p, double c);

/* Frees; P is as {0} again. */
void gemel__points_clear(gemel__points *p);

/* Starts a new point: forgets the values to tie with, and chooses what kinds of value prevail. */
void gemel__points_begin(gemel__points *p, gemel__random *random);

/* Draws N real values for a leaf of this point, all within DOMAIN. Each is finite, and one of: a
 * small integer (−8 … 8), a half, a value that this point has already (so ties are planted within a
 * leaf and across leaves), a value around a constant, or ± a full random significand × 2^−60…60.
 * GEMEL_RANGE_INDEX: an integer in [LOW, HIGH), which must not be empty. GEMEL_RANGE_MODERATE: |x|
 * ≤ 16. */
void gemel__points_draw(gemel__points *p, gemel__random *random, gemel_range range, int64_t low,
                        int64_t high, size_t n, double *values);

/* The least number, or the greatest, of an integer DTYPE (and bool) that DOMAIN has, stored as
 * those are that gemel__points_draw_integers draws. */
int64_t gemel__points_end(gemel_dtype dtype, gemel_range range, int64_t low, int64_t high,
                          int is_greatest);

/* As gemel__points_draw, for leaves of integer DTYPE (and bool: 0 or 1): small integers, ties, the
 * integers around constants, and the dtype's extremes: least, greatest, both ± 1 … 2 where they
 * exist, powers of two ± 1, and random bits. Two numbers of u64 may be a key of random numbers, and
 * are now and then one of which an end comes out. u64 values are stored as the int64_t with the
 * same bits; all others as themselves. */
void gemel__points_draw_integers(gemel__points *p, gemel__random *random, gemel_dtype dtype,
                                 gemel_range range, int64_t low, int64_t high, size_t n,
                                 int64_t *values);

/* A number for the following: often just below a power of two, where numbers lie closest for their
 * size, and so become equal by a quotient or a product. */
double gemel__points_draw_crowded(gemel__random *random);

/* Stores N floats of DTYPE that are BASE or up to two numbers away from it: what rounds makes some
 * of them equal. */
void gemel__points_store_neighbours(gemel_dtype dtype, double base, gemel__random *random, size_t n,
                                    void *data);

/* Stores N drawn values as DTYPE's bytes, packed, for a gemel_view: floats rounded to nearest even
 * (beyond the largest finite number: to that), integers cut to their width. One of REALS and
 * INTEGERS is NULL. */
void gemel__points_store(gemel_dtype dtype, size_t n, const double *reals, const int64_t *integers,
                         void *data);

/* ---- Bisection ---- */

/* Evaluates at VALUES (N numbers) and records the decisions on TAPE, which is empty; the place for
 * the harness to look at the results, too. Returns 0 to go on, 1 to stop the bisection (a
 * counterexample), −1 if the point is of no use (its tape is then ignored). */
typedef int (*gemel__points_evaluate)(void *user, size_t n, const double *values,
                                      gemel__tape *tape);

/* Looks between A and B, two points of N numbers whose tapes differ in two or more places (or in
 * length), for points with tapes between theirs: halves the segment, first the half whose ends
 * differ more, and goes on in each half whose ends still differ in two or more places, until
 * doubles have no number between, or EVALUATE was called BUDGET times (A and B included). Returns 1
 * if EVALUATE stopped it, 0 if not, −1 when memory is out. *EVALUATIONS (may be NULL) gets the
 * number of calls. */
int gemel__points_bisect(size_t n, const double *a, const double *b,
                         gemel__points_evaluate evaluate, void *user, size_t budget,
                         size_t *evaluations);

/* Number of places at which two tapes differ; tapes of different length count as the places that
 * differ in the common part, plus two. */
size_t gemel__tape_distance(const gemel__tape *a, const gemel__tape *b);

/* Puts the NaNs and infinities among VALUES, which gemel__points_store makes finite, into DATA. */
void gemel__points_store_specials(gemel_dtype dtype, size_t n, const double *values, void *data);

/* Stores X as one element of a float DTYPE, NaN and infinities too. */
void gemel__store_real(gemel_dtype dtype, double x, void *data);

#endif
