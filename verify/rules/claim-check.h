/* SPDX-License-Identifier: MIT
 *
 * A claim that a rule is proved, checked before anybody is told: small instances of all that it
 * covers are drawn, the rule is applied to them, and both sides are computed by references.
 * Nothing is shared with the prover but the reading of the rule.
 */
#ifndef GEMEL__RULES_CLAIM_CHECK_H
#define GEMEL__RULES_CLAIM_CHECK_H

#include "rules/claim-scope.h"
#include "pairs/pair.h"

/* An instance that a claim covers, and on which the sides differ. */
typedef struct gemel__contradiction {
  int found;
  gemel__pair pair;      /* left and right; b.graph NULL: there is no right side */
  gemel_tensor **values; /* of the inputs; NULL: they don't matter */
  int bits;              /* 1: the sides were compared bit by bit, not as numbers */
  char place[80];        /* "element 3" */
  char left[80], right[240];
  size_t tried, fired, compared; /* left sides that were built, rewritten, and points */
} gemel__contradiction;

/* Looks for an instance of RULE that contradicts PROOF. The same rule gives the same instances. If
 * PROOF claims nothing, nothing is found. GEMEL_OK or GEMEL_NO_MEMORY. Release FOUND with
 * gemel__contradiction_clear, after an error too. */
gemel_status gemel__check_claim(gemel_context *context, const gemel_rule *rule,
                                const gemel_proof *proof, gemel__contradiction *found,
                                gemel_error *error);
void gemel__contradiction_clear(gemel__contradiction *found);

/* Checks PROOF, which may claim something of RULE, and withdraws it where an instance contradicts
 * it, or no instance was found: *TEXT, to be freed with gemel_text_free, is that instance, else
 * NULL. GEMEL_OK or GEMEL_NO_MEMORY. */
gemel_status gemel__keep_claim(gemel_context *context, const gemel_rule *rule, gemel_proof *proof,
                               char **text, gemel_error *error);

/* The text of a contradiction. Free it with gemel_text_free. NULL when memory is out. */
char *gemel__contradiction_text(const gemel__contradiction *found);

#endif
