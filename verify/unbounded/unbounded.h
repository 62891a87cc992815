/* SPDX-License-Identifier: MIT
 *
 * Proofs that a rewrite rule holds for every size, start, stride and margin, whatever the elements
 * are. Both sides are written as the element at an index, as a term over elements of the rule's
 * variables, and the terms are shown to be the same, in every scene up to a rank. Where that can't
 * be had the rule is open, which says nothing against it.
 */
#ifndef GEMEL__UNBOUNDED_UNBOUNDED_H
#define GEMEL__UNBOUNDED_UNBOUNDED_H

#include <gemel/verify.h>
#include "rules/rule.h"
#include "unbounded/scene.h"

/* What a part of a proof knows of elements, and the dtypes that it looked at: a bit for each; of
 * the pass ANY none, and of VALUES F32 for the reals. */
typedef struct gemel__claim_part {
  gemel__ppass pass;
  unsigned dtypes;
} gemel__claim_part;

enum { GEMEL__CLAIM_PARTS = GEMEL_DTYPE_COUNT + 1 };

/* What has been proved of a rule. */
typedef struct gemel__claim {
  gemel__claim_part parts[GEMEL__CLAIM_PARTS];
  uint32_t n_parts;
  int rank;           /* for all sizes up to this rank; 0: nothing */
  int all_ranks;      /* and for any number of axes */
  size_t scenes;      /* that are instances of the rule */
  size_t questions;   /* to the solver */
  char elements[120]; /* what the parts say of elements, in words */
  char why[200];      /* why there is no more */
  gemel__hints hints; /* what to try where it isn't proved */
} gemel__claim;

/* Sets CLAIM's words. */
void gemel__claim_say(gemel__claim *claim);

/* Ranks that are tried, and the most scenes of a rank, questions, and questions without an answer
 * that a rule may take. */
enum {
  GEMEL__CLAIM_RANK = 3,
  GEMEL__CLAIM_MOST_RANK = 4,
  GEMEL__CLAIM_SCENES = 200000,
  GEMEL__CLAIM_QUESTIONS = 600,
  GEMEL__CLAIM_ELEMENTWISE = 2000, /* questions on elementwise rules, of which there is one rank */
  GEMEL__CLAIM_FEW = 100, /* after which one more rank is tried, where it is the last needed */
  GEMEL__CLAIM_OPEN = 8
};

/* Proves what it can of RULE for ranks up to MOST_RANK, and writes what the proof rests on to a
 * folder in RECORD (NULL: nowhere). GEMEL_OK with *CLAIM, GEMEL_NO_MEMORY, or GEMEL_IO. */
gemel_status gemel__prove_rule(const struct gemel_rule *rule, int most_rank, const char *record,
                               gemel__claim *claim, gemel_error *error);

/* What a record of proofs is bound to: the sources of the prover, and the text of RULE. */
uint32_t gemel__prover(void);
uint64_t gemel__rule_hash(const struct gemel_rule *rule);

/* CLAIM on RULE as programs see it; the strings are theirs. */
gemel_proof gemel__claim_proof(const gemel__claim *claim, const struct gemel_rule *rule);

#endif
