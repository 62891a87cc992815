/* SPDX-License-Identifier: MIT
 *
 * See verdict.h. A table with one place for each hash: what is asked for next takes it.
 */
#include "passes/verdict.h"

#include <string.h>
#include "core/attrs.h"
#include "passes/facts.h"
#include "passes/functions.h"

/* ---- Grounds ---- */

/* Notes in *GROUNDS which tensors EXPR asks for elements of, or whatever else is known of the graph
 * about them; 0 if it asks for more than that. SLOT_OF: by variable, + 1. */
static int note_asked(const gemel__termexpr *expr, const uint32_t *slot_of,
                      gemel__grounds *grounds) {
  for (uint32_t k = 0; k < expr->count; k++) {
    const gemel__termcode *code = &expr->code[k];
    const char *kinds =
        code->kind == GEMEL__TERMCODE_FUNCTION ? gemel__function_rows[code->index].kinds : "";
    if (strpbrk(kinds, "gs") == NULL) {
      continue;
    }
    if (strcmp(kinds, "g") != 0 || k == 0 || code[-1].kind != GEMEL__TERMCODE_VARIABLE ||
        slot_of[code[-1].index] == 0 || code->index == GEMEL__FUNCTION_single_use) {
      return 0;
    }
    grounds->elements |= (uint16_t)(1u << (slot_of[code[-1].index] - 1));
  }
  return 1;
}

/* 1 if all that EXPR says is in the outline. */
static int is_outlined(const gemel__termexpr *expr) {
  uint32_t function;
  return gemel__termexpr_predicate(expr, &function) >= 0 &&
         (function == GEMEL__FUNCTION_single_use || function == GEMEL__FUNCTION_constant);
}

/* 0 if a node of the left side has what the grounds don't tell. */
static int note_nodes(const struct gemel_rule *rule, const gemel__layout *layout,
                      gemel__grounds *grounds) {
  for (uint32_t slot = 0; slot < layout->n_slots; slot++) {
    const gemel__pattern *p = &rule->left.nodes[layout->pattern_of[slot]];
    grounds->operations |= (uint16_t)((p->kind == GEMEL__PATTERN_APPLY) << slot);
    grounds->elements |= (uint16_t)((p->kind == GEMEL__PATTERN_LITERAL) << slot);
    if (p->kind == GEMEL__PATTERN_APPLY && p->any_output) {
      return 0;
    }
    for (uint32_t k = 0; p->kind == GEMEL__PATTERN_APPLY && k < p->n_attrs; k++) {
      if (!note_asked(&p->attrs[k], layout->slot_of, grounds)) {
        return 0;
      }
    }
  }
  return 1;
}

/* 1 if GROUNDS decide what attributes the right side has. */
static int decide_right(const struct gemel_rule *rule, const gemel__layout *layout,
                        gemel__grounds grounds) {
  uint16_t elements = grounds.elements;
  int all = rule->right.count <= GEMEL__VERDICT_SLOTS;
  for (uint32_t k = 0; k < rule->right.count && all; k++) {
    const gemel__pattern *p = &rule->right.nodes[k];
    all = p->kind != GEMEL__PATTERN_SPREAD && !(p->kind == GEMEL__PATTERN_APPLY && p->any_output);
    for (uint32_t j = 0; p->kind == GEMEL__PATTERN_APPLY && j < p->n_attrs; j++) {
      all &= note_asked(&p->attrs[j], layout->slot_of, &grounds);
    }
  }
  return all && grounds.elements == elements;
}

gemel__grounds gemel__grounds_of(const struct gemel_rule *rule, uint32_t order) {
  static const gemel__grounds none;
  gemel__grounds grounds = none;
  gemel__layout layout = gemel__outline_layout(rule, order);
  if (layout.n_slots != rule->left.count || layout.n_slots > GEMEL__VERDICT_SLOTS ||
      !note_nodes(rule, &layout, &grounds)) {
    return none;
  }
  for (uint32_t k = 0; k < rule->n_conditions; k++) {
    if (!is_outlined(&rule->conditions[k]) &&
        !note_asked(&rule->conditions[k], layout.slot_of, &grounds)) {
      return none;
    }
  }
  grounds.n_slots = (unsigned char)layout.n_slots;
  grounds.right = (unsigned char)decide_right(rule, &layout, grounds);
  for (uint32_t k = 0; k < rule->n_variables; k++) {
    grounds.slot_of[k] = (unsigned char)layout.slot_of[k];
  }
  return grounds;
}

/* ---- Looking up ---- */

/* Beside this bit are facts; attributes are never so many. */
#define FACTS 0x80000000u

/* The same of elements that no constant holds: of those that aren't one number, no more is ever
 * known than facts. */
static int describe_elements(const gemel_graph *graph, const gemel__grounds *grounds, uint32_t slot,
                             gemel__ref value, uint32_t *key) {
  const gemel_tensor *tensor;
  if ((grounds->operations >> slot & 1) || gemel__splat(graph, value, &tensor)) {
    return 0;
  }
  *key = FACTS | gemel__facts(graph, value);
  return 1;
}

/* What decides of the value in SLOT, as two numbers; 0: nothing is kept of it. */
static inline int describe(const gemel_graph *graph, uint32_t constant_op,
                           const gemel__grounds *grounds, uint32_t slot, gemel__ref value,
                           uint32_t key[2]) {
  const gemel__node *node = gemel__node_at(graph, value.node);
  key[0] = gemel__node_type(graph, value.node, value.output);
  key[1] = 0;
  if ((grounds->elements >> slot & 1) && node->op != constant_op) {
    return describe_elements(graph, grounds, slot, value, &key[1]);
  }
  if ((grounds->operations | grounds->elements) >> slot & 1) {
    key[1] = node->attrs;
  }
  return 1;
}

/* 1 if an operation in KEY, of N values, has a size known at run time among its attributes: then
 * nothing is kept. */
static int has_runtime(const gemel_context *context, const uint32_t *key, uint32_t n) {
  int any = 0;
  for (uint32_t k = 0; k < n; k++) {
    any |= key[2 * k + 1] != 0 && !(key[2 * k + 1] & FACTS) &&
           gemel__attrs_at(context, key[2 * k + 1])->has_runtime;
  }
  return any;
}

gemel__verdict *gemel__verdict_find(gemel__verdict *table, const struct gemel_rule *rule,
                                    uint32_t order, const gemel__grounds *grounds,
                                    const gemel_graph *graph, uint32_t constant_op,
                                    const gemel__ref *slots, int *known) {
  uint32_t key[2 * GEMEL__VERDICT_SLOTS], n = grounds->n_slots;
  uint64_t hash = (uint64_t)(uintptr_t)rule + order;
  *known = 0;
  if (n == 0) {
    return NULL;
  }
  for (uint32_t k = 0; k < n; k++) {
    if (!describe(graph, constant_op, grounds, k, slots[k], key + 2 * k)) {
      return NULL;
    }
    hash = (hash ^ (hash >> 29)) * 0x9e3779b97f4a7c15u;
    hash ^= (uint64_t)key[2 * k] << 32 | key[2 * k + 1];
  }
  gemel__verdict *found = &table[(hash * 0x9e3779b97f4a7c15u) >> 53];
  *known = found->rule == rule && found->order == order &&
           memcmp(found->key, key, 2 * n * sizeof *key) == 0;
  if (*known) {
    return found;
  }
  if (has_runtime(graph->context, key, n)) {
    return NULL;
  }
  found->rule = rule;
  found->order = order;
  memcpy(found->key, key, 2 * n * sizeof *key);
  found->fails = found->fires = 0;
  return found;
}

void gemel__verdict_bind(const struct gemel_rule *rule, const gemel__grounds *grounds,
                         const gemel__ref *slots, gemel__binding *binding) {
  binding->oldest = slots[0].node;
  for (uint32_t k = 1; k < grounds->n_slots; k++) {
    if ((grounds->operations >> k & 1) && slots[k].node < binding->oldest) {
      binding->oldest = slots[k].node;
    }
  }
  for (uint32_t k = 0; k < rule->n_variables; k++) {
    uint32_t slot = grounds->slot_of[k];
    gemel__term *term = &binding->terms[k];
    *term = (gemel__term){.kind = slot != 0 ? GEMEL__TERM_TENSOR : GEMEL__TERM_ABSENT};
    if (slot != 0) {
      term->u.tensor = slots[slot - 1];
    }
  }
}
