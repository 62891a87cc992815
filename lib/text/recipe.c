/* SPDX-License-Identifier: MIT
 *
 * Writing recipes and following them; see recipe.h. An instruction becomes a step only if the node
 * that it gave is just what the step would ask for: this operation on these operands. So a recipe
 * needs to know nothing of how programs treat literals, or operations their operands.
 */
#include "text/recipe.h"

#include "core/make.h"

enum {
  LITERALS_AT = GEMEL__RECIPE_VARIABLES,
  STEPS_AT = GEMEL__RECIPE_VARIABLES + GEMEL__RECIPE_LITERALS,
  MAX_CODE = 64 /* of a program that may have a recipe */
};

/* A recipe on its way. */
typedef struct writing {
  gemel__recipe *recipe;
  const gemel__program *program;
  const gemel_graph *graph;
  const gemel_value *values;
  unsigned char places[MAX_CODE]; /* of what each instruction gives */
  uint32_t owner;                 /* of the weak operation written last, if that is to come */
} writing;

/* 1 if VALUE is OP with ATTRS on what the operands of CODE gave, and the only output. */
static int is_plain(const writing *w, const gemel__code *code, gemel_value value) {
  const gemel__node *node = gemel__node_at(w->graph, value.node);
  uint32_t count, k;
  const gemel__ref *inputs = gemel__node_inputs(w->graph, value.node, &count);
  if (node->op != code->op || node->attrs != code->attrs || node->n_outputs != 1 ||
      count != code->count) {
    return 0;
  }
  for (k = 0; k < count; k++) {
    const gemel_value *operand = &w->values[w->program->operands[code->first + k]];
    if (inputs[k].node != operand->node || inputs[k].output != operand->output) {
      return 0;
    }
  }
  return 1;
}

/* A weak operation is executed right before its owner (program.h), a step when its turn comes. 1 if
 * no other comes between, so that nodes are made in the same order. */
static int is_in_turn(writing *w, uint32_t index) {
  const gemel__code *code = &w->program->code[index];
  int waits = w->owner != GEMEL__NO_OWNER && w->owner != index;
  if (code->weak) {
    int same = !waits || w->owner == code->owner;
    w->owner = code->owner;
    return same;
  }
  w->owner = GEMEL__NO_OWNER;
  return !waits;
}

static int write_literal(writing *w, uint32_t index) {
  gemel__recipe *r = w->recipe;
  gemel_value value = w->values[index];
  if (r->n_literals == GEMEL__RECIPE_LITERALS) {
    return 0;
  }
  r->literals[r->n_literals] = value.node;
  w->places[index] = (unsigned char)(LITERALS_AT + r->n_literals++);
  return 1;
}

static int write_step(writing *w, uint32_t index) {
  gemel__recipe *r = w->recipe;
  const gemel__code *code = &w->program->code[index];
  gemel_value value = w->values[index];
  gemel__recipe_step *step = &r->steps[r->n_steps];
  uint32_t k;
  if (r->n_steps == GEMEL__RECIPE_STEPS || code->count == 0 ||
      code->count > GEMEL__RECIPE_OPERANDS || !is_plain(w, code, value) || !is_in_turn(w, index)) {
    return 0;
  }
  step->op = code->op;
  step->attrs = code->attrs;
  step->type = gemel__node_type(w->graph, value.node, value.output);
  step->n_operands = (unsigned char)code->count;
  for (k = 0; k < code->count; k++) {
    step->operands[k] = w->places[w->program->operands[code->first + k]];
  }
  w->places[index] = (unsigned char)(STEPS_AT + r->n_steps++);
  return 1;
}

static int write_instruction(writing *w, uint32_t index, const gemel_value *variables) {
  const gemel__code *code = &w->program->code[index];
  switch (code->kind) {
  case GEMEL__CODE_VARIABLE:
    w->places[index] = (unsigned char)code->u.ref.node;
    return code->u.ref.node < GEMEL__RECIPE_VARIABLES && variables[code->u.ref.node].output == 0;
  case GEMEL__CODE_LITERAL:
  case GEMEL__CODE_CONSTANT:
    return write_literal(w, index);
  case GEMEL__CODE_APPLY:
    return write_step(w, index);
  default:
    return 0;
  }
}

int gemel__recipe_write(gemel__recipe *recipe, const gemel__program *program,
                        const gemel_graph *graph, const gemel_value *variables,
                        const gemel_value *values) {
  writing w = {.recipe = recipe,
               .program = program,
               .graph = graph,
               .values = values,
               .owner = GEMEL__NO_OWNER};
  uint32_t k;
  recipe->n_literals = recipe->n_steps = 0;
  if (program->n_code > MAX_CODE) {
    return 0;
  }
  for (k = 0; k < program->n_code; k++) {
    if (!write_instruction(&w, k, variables)) {
      return 0;
    }
  }
  recipe->result = w.places[program->n_code - 1];
  return 1;
}

/* The number of operands is known in each case, so that there are no loops over them. */
static GEMEL__INLINE gemel_status make(gemel_graph *graph, const gemel__recipe_step *step,
                                       const uint32_t *room, gemel_location where, uint32_t *node) {
  gemel__ref inputs[GEMEL__RECIPE_OPERANDS];
  inputs[0] = (gemel__ref){room[step->operands[0]], 0};
  if (step->n_operands == 1) {
    return gemel__cons_make(graph, step->op, step->attrs, 1, inputs, step->type, where, node);
  }
  inputs[1] = (gemel__ref){room[step->operands[1]], 0};
  if (step->n_operands == 2) {
    return gemel__cons_make(graph, step->op, step->attrs, 2, inputs, step->type, where, node);
  }
  inputs[2] = (gemel__ref){room[step->operands[2]], 0};
  return gemel__cons_make(graph, step->op, step->attrs, 3, inputs, step->type, where, node);
}

gemel_status gemel__recipe_follow(const gemel__recipe *recipe, gemel_graph *graph,
                                  uint32_t room[GEMEL__RECIPE_ROOM], gemel_location where,
                                  uint32_t *result) {
  gemel_status status = GEMEL_OK;
  unsigned k;
  for (k = 0; k < recipe->n_literals; k++) {
    room[LITERALS_AT + k] = recipe->literals[k];
  }
  for (k = 0; k < recipe->n_steps && status == GEMEL_OK; k++) {
    status = make(graph, &recipe->steps[k], room, where, &room[STEPS_AT + k]);
  }
  *result = room[recipe->result];
  return status;
}
