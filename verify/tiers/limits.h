/* SPDX-License-Identifier: MIT
 *
 * Limits at infinite inputs. A formula may be NaN there (∞ − ∞, 0 · ∞) where the function that it
 * is meant for has a limit, and a kernel that takes another way gives it: the formula m + log Σ
 * exp(x − m), m being the largest x, has none for x all −∞, and log Σ exp(x) is −∞.
 *
 * The reference is evaluated in domain O with large numbers in place of infinities, two sizes of
 * them in each of three ways: all alike, growing from one to the next, and falling. A result is the
 * limit if it is what all ways tend to. Where they don't agree (softmax of a row of −∞) there is no
 * limit, and only NaN is right. A NaN has no value in O, nor has what is computed from it.
 */
#ifndef GEMEL__TIERS_LIMITS_H
#define GEMEL__TIERS_LIMITS_H

#include "domains/ordered.h"
#include "instances/instance.h"

enum { GEMEL__LIMIT_WAYS = 3, GEMEL__LIMIT_SIZES = 2 };

/* Results of the reference; made when they are first asked for. Start from {0}. */
typedef struct gemel__limits {
  gemel__ordered *domain;
  gemel__rtensor *results[GEMEL__LIMIT_WAYS][GEMEL__LIMIT_SIZES];
  size_t n; /* results in each */
  int made; /* 1: they are there; −1: there is no limit at these values */
} gemel__limits;

/* 1 if COMPUTED is the limit of element I of result OUTPUT of INSTANCE at VALUES; 0 if it isn't, or
 * the reference fails there. */
int gemel__is_limit(gemel__limits *limits, const gemel__instance *instance,
                    gemel_tensor *const *values, size_t output, size_t i, double computed);

void gemel__limits_clear(gemel__limits *limits);

#endif
