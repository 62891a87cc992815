/* SPDX-License-Identifier: MIT
 *
 * See outline.h. Operations are visited level by level, each with the checks that need no more than
 * what was visited before; behind a spread (..xs) positions aren't known, so nothing is asked
 * there.
 */
#include "passes/outline.h"

#include "passes/functions.h"

/* ---- Making ---- */

/* An outline in the making. */
typedef struct sketch {
  const struct gemel_rule *rule;
  uint32_t order;
  gemel__step *steps;
  uint32_t count;
  gemel__layout layout;
} sketch;

static void emit(sketch *s, int kind, uint32_t slot, uint32_t with, uint32_t number) {
  s->steps[s->count++] =
      (gemel__step){(unsigned char)kind, (unsigned char)slot, (unsigned char)with, number};
}

/* VARIABLE stands for the value in SLOT. */
static void bind(sketch *s, uint32_t variable, uint32_t slot) {
  if (s->layout.slot_of[variable] != 0) {
    emit(s, GEMEL__STEP_SAME, slot, s->layout.slot_of[variable] - 1, 0);
  } else {
    s->layout.slot_of[variable] = slot + 1;
  }
}

/* How many operands of P have known positions: those before a spread. */
static uint32_t leading(const sketch *s, const gemel__pattern *p) {
  uint32_t n = 0;
  while (n < p->n_operands && s->rule->left.nodes[p->operands[n]].kind != GEMEL__PATTERN_SPREAD) {
    n++;
  }
  return n;
}

/* 1 if SLOT is the root or one of its first two operands, whose operations the table of candidates
 * knows. */
static int is_listed(const sketch *s, uint32_t slot) {
  return slot <= 2 && slot <= leading(s, &s->rule->left.nodes[s->rule->left.count - 1]);
}

/* 1 if operation OP may have another number of operands than N, sizes apart. */
static int is_variadic(const sketch *s, uint32_t op, uint32_t n) {
  const gemel_operation *record = &gemel__op_at(s->rule->context, op)->record;
  return record->min_inputs != (int)n || record->max_inputs != (int)n;
}

static uint32_t constant_op(const sketch *s) {
  return gemel__op_find(s->rule->context, "constant");
}

/* Node INDEX of the left side stands in SLOT. */
static void place(sketch *s, uint32_t index, uint32_t slot) {
  const gemel__pattern *p = &s->rule->left.nodes[index];
  s->layout.pattern_of[slot] = index;
  if (p->kind == GEMEL__PATTERN_VARIABLE) {
    bind(s, p->variable, slot);
  } else if (p->kind == GEMEL__PATTERN_APPLY) {
    if (!is_listed(s, slot)) {
      emit(s, GEMEL__STEP_OP, slot, p->any_output, p->op);
    }
    if (p->named != 0) {
      bind(s, p->named - 1, slot);
    }
  } else if (p->kind == GEMEL__PATTERN_LITERAL && !is_listed(s, slot)) {
    emit(s, GEMEL__STEP_SPLAT, slot, 0, constant_op(s));
  }
}

/* The operands of node INDEX, which stands in SLOT. */
static void open(sketch *s, uint32_t index, uint32_t slot) {
  const gemel__pattern *p = &s->rule->left.nodes[index];
  uint32_t n = leading(s, p);
  if (n == p->n_operands && is_variadic(s, p->op, n)) {
    emit(s, GEMEL__STEP_COUNT, slot, 0, n);
  }
  for (uint32_t k = 0; k < n; k++) {
    emit(s, GEMEL__STEP_OPERAND, slot, 0, k);
    place(s, gemel__rule_operand(s->rule, s->order, index, k), s->layout.n_slots++);
  }
}

/* The conditions that are one question about one tensor. */
static void ask(sketch *s) {
  for (uint32_t k = 0; k < s->rule->n_conditions; k++) {
    uint32_t function, slot;
    int variable = gemel__termexpr_predicate(&s->rule->conditions[k], &function);
    if (variable < 0 || (slot = s->layout.slot_of[variable]) == 0) {
      continue;
    }
    if (function == GEMEL__FUNCTION_scalar) {
      emit(s, GEMEL__STEP_SCALAR, slot - 1, 0, 0);
    } else if (function == GEMEL__FUNCTION_constant) {
      emit(s, GEMEL__STEP_OP, slot - 1, 1, constant_op(s));
    } else if (function == GEMEL__FUNCTION_single_use) {
      emit(s, GEMEL__STEP_SINGLE, slot - 1, 0, 0);
    }
  }
}

static sketch draw(const struct gemel_rule *rule, uint32_t order, gemel__step *steps) {
  sketch s = {.rule = rule, .order = order, .steps = steps, .layout = {.n_slots = 1}};
  place(&s, rule->left.count - 1, 0);
  for (uint32_t slot = 0; slot < s.layout.n_slots; slot++) {
    uint32_t index = s.layout.pattern_of[slot];
    if (rule->left.nodes[index].kind == GEMEL__PATTERN_APPLY) {
      open(&s, index, slot);
    }
  }
  ask(&s);
  return s;
}

uint32_t gemel__outline_make(const struct gemel_rule *rule, uint32_t order, gemel__step *steps) {
  return draw(rule, order, steps).count;
}

gemel__layout gemel__outline_layout(const struct gemel_rule *rule, uint32_t order) {
  gemel__step steps[GEMEL__OUTLINE_STEPS];
  return draw(rule, order, steps).layout;
}

/* ---- Asking ---- */

/* 1 if NODE has COUNT operands; sizes that nodes produce are more of them, and aren't looked at
 * here. */
static int has_operands(const gemel_graph *graph, uint32_t node, uint32_t count) {
  uint32_t n;
  gemel__node_inputs(graph, node, &n);
  return n == count ||
         (n > count &&
          gemel__attrs_at(graph->context, gemel__node_at(graph, node)->attrs)->has_runtime);
}

static inline int is_made_by(const gemel_graph *graph, gemel__ref value, uint32_t op,
                             int any_output) {
  const gemel__node *node = gemel__node_at(graph, value.node);
  return node->op == op && (any_output || node->n_outputs == 1);
}

/* 1 if what STEP, which fills no slot, asks for is so. */
static inline int holds(const gemel__step *step, const gemel__scene *scene,
                        const gemel__ref *slots) {
  const gemel_graph *graph = scene->graph;
  gemel__ref value = slots[step->slot];
  const gemel_tensor *tensor;
  switch (step->kind) {
  case GEMEL__STEP_OP:
    return is_made_by(graph, value, step->number, step->with);
  case GEMEL__STEP_COUNT:
    return has_operands(graph, value.node, step->number);
  case GEMEL__STEP_SAME:
    return gemel__same_ref(value, slots[step->with]);
  case GEMEL__STEP_SPLAT:
    return is_made_by(graph, value, step->number, 0) || gemel__splat(graph, value, &tensor);
  case GEMEL__STEP_SCALAR:
    return gemel__type_at(graph->context, gemel__node_type(graph, value.node, value.output))
               ->rank == 0;
  default:
    return scene->uses == NULL || scene->uses[value.node] <= 1;
  }
}

int gemel__outline_fits(const gemel__step *steps, uint32_t count, const gemel__scene *scene,
                        gemel__ref *slots) {
  uint32_t filled = 1;
  for (const gemel__step *step = steps, *end = steps + count; step < end; step++) {
    if (step->kind == GEMEL__STEP_OPERAND) {
      uint32_t n;
      const gemel__ref *in = gemel__node_inputs(scene->graph, slots[step->slot].node, &n);
      if (step->number >= n) {
        return 0;
      }
      slots[filled++] = in[step->number];
    } else if (!holds(step, scene, slots)) {
      return 0;
    }
  }
  return 1;
}
