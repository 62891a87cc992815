/* SPDX-License-Identifier: MIT
 *
 * A pair in which a narrow dtype counts (pairs/lengths.h), measured at sizes beyond what that dtype
 * can count. The words found are added to those found at other sizes.
 */
#include "pairs/needs.h"
#include "core/error.h"
#include "pairs/lengths.h"

static void join(gemel__needs *needs, gemel__needs *one) {
  needs->compared += one->compared;
  needs->needs |= one->needs;
  if (one->rounds) {
    needs->rounds = 1;
    gemel__roundings_add(&needs->roundings, &one->roundings);
    needs->needs |= gemel__roundings_words(&needs->roundings);
  }
  for (size_t k = 0; k < GEMEL_NEEDS_COUNT; k++) {
    gemel__witness_move(&needs->witness[k], &one->witness[k]);
  }
  gemel__witness_move(&needs->too_far, &one->too_far);
}

/* LOSSES: points at which it is asked whether digits are lost. */
static gemel_status measure(const gemel_graph *left, const gemel_graph *right, uint64_t seed,
                            size_t losses, const gemel__needs_plan *plan, gemel__needs *needs,
                            gemel_error *error) {
  gemel__needs one;
  gemel__needs_plan less = *plan;
  less.points = 2;
  less.rounding = less.meetings = 0;
  less.finite = 1;
  less.improvement = 0;
  less.losses = losses;
  less.near = 1;
  gemel_status status = gemel__needs_measure(left, right, seed, &less, &one, error);
  join(needs, &one);
  gemel__needs_clear(&one);
  return status;
}

gemel_status gemel__needs_at_lengths(const gemel_graph *left, const gemel_graph *right,
                                     size_t symbols, gemel__random *random,
                                     const gemel__needs_plan *plan, gemel__needs *needs,
                                     gemel_error *error) {
  enum { SYMBOLS = 3, LOSSES = 8 };
  int narrow = gemel__narrows_counts(left) || gemel__narrows_counts(right);
  if (symbols == 0) {
    narrow &= gemel__graph_elements(left, 1) + gemel__graph_elements(right, 1) <=
              2 * GEMEL__LENGTH_ELEMENTS;
    return !narrow ? GEMEL_OK
                   : measure(left, right, gemel__random_bits(random), LOSSES, plan, needs, error);
  }
  symbols = symbols < SYMBOLS ? symbols : SYMBOLS;
  for (size_t k = 0; narrow && k < GEMEL__LENGTHS * symbols; k++) {
    gemel__pair pair;
    uint64_t seed = gemel__random_bits(random);
    gemel_status status = gemel__pair_draw_long(&pair, left, right, k / symbols, k, random, error);
    if (status == GEMEL_OK && gemel__pair_elements(&pair) <= 2 * GEMEL__LENGTH_ELEMENTS) {
      status = measure(pair.a.graph, pair.b.graph, seed, 0, plan, needs, error);
    }
    gemel__pair_clear(&pair);
    GEMEL__TRY(gemel__is_no_point(status) ? GEMEL_OK : status);
  }
  return GEMEL_OK;
}
