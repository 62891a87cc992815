/* SPDX-License-Identifier: MIT
 *
 * What came of matching. Where the outline of a candidate fits, the rest (attributes, conditions,
 * literals) mostly depends on no more than the attributes and types of what stands where, and a
 * large graph has few of these: so what came of it is kept, and the next node that is alike needn't
 * be asked.
 */
#ifndef GEMEL__PASSES_VERDICT_H
#define GEMEL__PASSES_VERDICT_H

#include "passes/outline.h"

enum { GEMEL__VERDICT_SLOTS = 8, GEMEL__VERDICTS = 2048 };

/* What of a left side's slots decides. Bits by slot. */
typedef struct gemel__grounds {
  unsigned char n_slots; /* 0: other things decide too, and nothing is kept */
  uint16_t operations;   /* attributes decide */
  uint16_t elements;     /* elements decide: those of a constant, or what is known of others */
  unsigned char right;   /* the same decide what attributes the right side has */
  unsigned char slot_of[GEMEL__RULE_VARIABLES]; /* by variable, + 1; 0: no tensor */
} gemel__grounds;

typedef struct gemel__verdict {
  const struct gemel_rule *rule; /* NULL: nothing is kept here */
  uint32_t order;
  uint32_t key[2 * GEMEL__VERDICT_SLOTS];
  int fails; /* the rule doesn't match */
  int fires; /* it does, and the right side has ATTRS, by node, by their numbers */
  uint32_t attrs[GEMEL__VERDICT_SLOTS];
} gemel__verdict;

/* The grounds of RULE. */
gemel__grounds gemel__grounds_of(const struct gemel_rule *rule, uint32_t order);

/* The place in TABLE (GEMEL__VERDICTS of them) of what came of RULE in ORDER where SLOTS are the
 * values of its outline. *KNOWN: it is there; else the place is the caller's to fill in, all but
 * rule, order and key, which are (it neither fails nor fires as yet). NULL: nothing is kept of
 * these. */
gemel__verdict *gemel__verdict_find(gemel__verdict *table, const struct gemel_rule *rule,
                                    uint32_t order, const gemel__grounds *grounds,
                                    const gemel_graph *graph, uint32_t constant_op,
                                    const gemel__ref *slots, int *known);

/* What the match binds where SLOTS are the values of the outline of RULE: tensors, no attributes.
 */
void gemel__verdict_bind(const struct gemel_rule *rule, const gemel__grounds *grounds,
                         const gemel__ref *slots, gemel__binding *binding);

#endif
