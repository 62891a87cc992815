/* SPDX-License-Identifier: MIT
 *
 * Proposals: operands for an operation, to make instances of rewrite rules from. Some of an
 * operation's input types and attributes may be known, since an inner operation or a repeated
 * variable gave them; the others are drawn such that the operation applies to them all. The special
 * cases that rules are about come often: the identity permutation, the full slice, padding by
 * nothing, no axes and all axes, products of matrices, and sizes 0 and 1. Shapes are constant.
 */
#ifndef GEMEL__SAMPLE_PROPOSE_H
#define GEMEL__SAMPLE_PROPOSE_H

#include "core/context.h"
#include "base/random.h"

enum {
  GEMEL__PROPOSAL_INPUTS = 80,
  GEMEL__PROPOSAL_ATTRS = 16,
  GEMEL__PROPOSAL_OUTPUTS = 16,
  GEMEL__PROPOSAL_TRIES = 64,
  GEMEL__PROPOSAL_SIZES = 32,
  GEMEL__PROPOSAL_LARGE = 512 /* from this many elements on, sizes up to 67 are drawn too */
};

typedef struct gemel__proposal {
  gemel_context *context;
  gemel__random *random;
  const gemel__op *op;
  gemel_dtype dtype;    /* of what is drawn, where there is a choice */
  int max_rank;         /* of what is drawn; 0: 3, now and then 4 */
  int64_t max_elements; /* of each operand that is drawn; 0: 256 */
  int empty;            /* 1: sizes of 0 come often; else in every sixth proposal */
  int ranks;            /* 1 + the rank of shapes that are drawn, where there is a choice; 0: any */
  size_t n_sizes;       /* sizes, and numbers in attributes, that come up besides those usual */
  int64_t sizes[GEMEL__PROPOSAL_SIZES];
  int64_t length;  /* not 0: sizes are this or 1 where there is a choice */
  size_t n_inputs; /* 0: the least that the operation takes, 1 to 4 where it takes any number */
  gemel_type inputs[GEMEL__PROPOSAL_INPUTS];
  unsigned char known_input[GEMEL__PROPOSAL_INPUTS];
  /* The schema's, in its order. A known one of kind GEMEL_ATTR_NONE has its fallback. */
  gemel_attr attrs[GEMEL__PROPOSAL_ATTRS];
  unsigned char known_attr[GEMEL__PROPOSAL_ATTRS];
  /* What comes out besides: the attributes' id, in normal form, and the results' types. */
  uint32_t attrs_id;
  size_t n_outputs;
  gemel_type outputs[GEMEL__PROPOSAL_OUTPUTS];
  int tries; /* that it took */
} gemel__proposal;

/* Draws what isn't known. Lists in the attributes then belong to the context; known ones are in
 * normal form too. An operation without a proposer of its own has its sampler's instances.
 * GEMEL_DECLINED if nothing was found in GEMEL__PROPOSAL_TRIES tries (the reason of the last is in
 * ERROR), with PROPOSAL as it was; GEMEL_NO_MEMORY. The same stream of random numbers gives the
 * same proposal. */
gemel_status gemel__propose(gemel__proposal *proposal, gemel_error *error);

#endif
