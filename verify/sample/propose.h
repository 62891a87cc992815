/* SPDX-License-Identifier: MIT
 *
 * Proposals: operands and attributes for an operation, to make instances of rewrite rules. Some
 * input types and attributes may be known, from an inner operation of the rule or from a repeated
 * variable. The others are drawn such that the operation applies. The special cases that rules are
 * about come often: the identity permutation, the full slice, padding by nothing, no axes and all
 * axes, products of matrices, sizes 0 and 1. Shapes are constant.
 */
#ifndef GEMEL__SAMPLE_PROPOSE_H
#define GEMEL__SAMPLE_PROPOSE_H

#include "core/context.h"
#include "base/random.h"

enum {
  GEMEL__PROPOSAL_INPUTS = 80,
  GEMEL__PROPOSAL_ATTRS = 16,
  GEMEL__PROPOSAL_OUTPUTS = 16,
  GEMEL__PROPOSAL_TRIES = 16,
  GEMEL__PROPOSAL_SIZES = 32,
  GEMEL__PROPOSAL_LARGE = 512 /* from this max_elements on, sizes up to 67 are drawn too */
};

typedef struct gemel__proposal {
  gemel_context *context;
  gemel__random *random;
  const gemel__op *op;
  gemel_dtype dtype;    /* of drawn operands, where there is a choice */
  int max_rank;         /* of drawn shapes; 0: 3, now and then 4 */
  int64_t max_elements; /* of each drawn operand; 0: 256 */
  int empty;            /* 1: sizes of 0 come often; else in every sixth proposal */
  int ranks;            /* 1 + the rank of drawn shapes, where there is a choice; 0: any rank */
  size_t n_sizes;       /* sizes and attribute numbers to draw from besides the usual ones */
  int64_t sizes[GEMEL__PROPOSAL_SIZES];
  int reach;        /* 1: attributes and counts are often of these, however large */
  int64_t length;   /* if not 0: sizes are this or 1, where there is a choice */
  int64_t elements; /* if not 0: of drawn shapes, where there is a choice */
  size_t n_inputs;  /* 0: the fewest that the operation takes, or 1 to 4 if it takes any number */
  gemel_type inputs[GEMEL__PROPOSAL_INPUTS];
  unsigned char known_input[GEMEL__PROPOSAL_INPUTS];
  /* Attributes in the schema's order. A known one of kind GEMEL_ATTR_NONE is left out, so it has
   * its fallback. */
  gemel_attr attrs[GEMEL__PROPOSAL_ATTRS];
  unsigned char known_attr[GEMEL__PROPOSAL_ATTRS];
  /* Results: the attributes' id in normal form, and the types of the operation's results. */
  uint32_t attrs_id;
  size_t n_outputs;
  gemel_type outputs[GEMEL__PROPOSAL_OUTPUTS];
  int tries; /* how many tries it took */
} gemel__proposal;

#endif
