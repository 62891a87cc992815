/* SPDX-License-Identifier: MIT
 *
 * Matching a rule's left side against a node of a graph, and binding its variables.
 */
#ifndef GEMEL__REWRITE_MATCH_H
#define GEMEL__REWRITE_MATCH_H

#include "rules/rule.h"

static inline int gemel__same_ref(gemel__ref a, gemel__ref b) {
  return a.node == b.node && a.output == b.output;
}

/* What a match binds: by variable. BOUND has a bit for each that is. OLDEST is the least id of an
 * operation that was matched. */
typedef struct gemel__binding {
  gemel__term terms[GEMEL__RULE_VARIABLES];
  uint32_t bound;
  uint32_t oldest;
  uint32_t asked; /* how many conditions were asked: all before the last one hold */
} gemel__binding;

/* A rule is matched with the operands of its commutative operations in each order: ORDERS of them,
 * 2 to the number of such operations. In order O, operation k of them is swapped if bit k of O is
 * set. */
uint32_t gemel__rule_orders(const struct gemel_rule *rule);

/* The operation that operand K of the left side's root must come from in order ORDER; 0: any. */
uint32_t gemel__rule_child(const struct gemel_rule *rule, uint32_t order, uint32_t k);

/* Operand K of node INDEX of the left side, by the order in which graphs have it, in ORDER. */
uint32_t gemel__rule_operand(const struct gemel_rule *rule, uint32_t order, uint32_t index,
                             uint32_t k);

/* Matches RULE in ORDER at ROOT, a value of SCENE->graph, and evaluates its conditions; on success
 * (GEMEL_OK) BINDING is filled in and lists live in the scene's arena. GEMEL_DECLINED: no match.
 * GEMEL_NO_MEMORY. SCENE->variables is set to BINDING's terms. */
gemel_status gemel__rule_match(const struct gemel_rule *rule, uint32_t order, gemel__scene *scene,
                               gemel__ref root, gemel__binding *binding);

/* 1 if all elements of the constant TENSOR are exactly NUMBER, signs of zeros included. */
int gemel__literal_is(const gemel__number *number, const gemel_tensor *tensor);

#endif
