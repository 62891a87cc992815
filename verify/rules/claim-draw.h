/* SPDX-License-Identifier: MIT
 *
 * Types and attributes for small instances of a claim: all that a claim covers is drawn, whether
 * the operation accepts it or not, with no thought for what it means there.
 */
#ifndef GEMEL__RULES_CLAIM_DRAW_H
#define GEMEL__RULES_CLAIM_DRAW_H

#include "base/random.h"
#include "core/arena.h"
#include "core/context.h"

enum {
  GEMEL__CLAIM_AXES = 4,
  GEMEL__CLAIM_MOST_AXES = 8,
  GEMEL__CLAIM_SIZE = 3,
  GEMEL__CLAIM_KNOWN = 24,
  GEMEL__CLAIM_NUMBERS = 24
};

/* What is drawn from. */
typedef struct gemel__claim_range {
  unsigned dtypes;  /* a bit for each */
  int axes;         /* the most: GEMEL__CLAIM_AXES, or a number of the rule */
  int64_t longest;  /* the rule's longest list or largest small number */
  size_t n_numbers; /* that the rule names */
  int64_t numbers[GEMEL__CLAIM_NUMBERS];
} gemel__claim_range;

typedef struct gemel__claim_draw {
  gemel_context *context;
  gemel__random *random;
  gemel__arena *arena; /* keeps lists */
  const gemel__claim_range *range;
  size_t n_known;
  gemel_type known[GEMEL__CLAIM_KNOWN]; /* what is drawn is often like these */
} gemel__claim_draw;

/* How many tensors of up to three axes of sizes up to GEMEL__CLAIM_SIZE there are in RANGE, and
 * number K of them, in an order in which neighbours differ. */
uint64_t gemel__claim_tensors(const gemel__claim_range *range);
gemel_type gemel__claim_tensor(gemel_context *context, const gemel__claim_range *range, uint64_t k);

/* A number of the rule or one beside it; 0 where it names none. */
int64_t gemel__claim_number(gemel__claim_draw *d);

/* A type for an operand that the rule leaves open. GEMEL_TYPE_NONE: memory is out. */
gemel_type gemel__claim_type(gemel__claim_draw *d);

/* 1 and *ATTR, a value for the attribute SPEC; 0: it is left out, or is of a kind that isn't drawn,
 * or memory is out. */
int gemel__claim_attr(gemel__claim_draw *d, const gemel_attr_spec *spec, gemel_attr *attr);

#endif
