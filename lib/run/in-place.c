/* SPDX-License-Identifier: MIT
 *
 * Updates that are made in the memory of their states. While nodes are planned, each instruction
 * that makes an update notes whether it could: nothing reads the old value behind it, and the
 * instruction itself, if it reads that, may overwrite what it reads. What counts as a read are the
 * uses of the state's memory, which views share, so that whatever is still to be planned or emitted
 * is among them. At the end the updates are kept for which nothing may fail behind the instruction:
 * a call that fails must leave the states as they were.
 *
 * It is the call that puts such an update there, since whether anybody else holds the value is
 * known only then; so one plan serves for both.
 */
#include "run/planner.h"

const gemel__run_buffer *gemel__state_buffer(const gemel__planner *planner, uint32_t output,
                                             const gemel__plan_layout *layout) {
  const gemel__run_program *p = &planner->f->program;
  uint32_t state = output < p->n_outputs ? p->outputs[output].pair : GEMEL__NO_VALUE;
  const gemel__plan_place *place = state != GEMEL__NO_VALUE ? planner->inputs[state] : NULL;
  if (place == NULL || planner->f->plain || !place->layout->dense ||
      place->layout->bytes != layout->bytes || place->layout->dtype != layout->dtype ||
      place->layout->rank != layout->rank) {
    return NULL;
  }
  for (int axis = 0; axis < layout->rank; axis++) {
    if (place->layout->shape[axis] != layout->shape[axis]) {
      return NULL;
    }
  }
  return place->buffer;
}

void gemel__update_placed(gemel__planner *planner, uint32_t output,
                          const gemel__plan_layout *layout, uint32_t reads) {
  const gemel__run_buffer *state = gemel__state_buffer(planner, output, layout);
  if (state != NULL && state->remaining == reads) {
    planner->updates[output] = planner->segment->n_instrs + 1;
  }
}

/* 1 if the kernel that INSTR calls is a program's, or runs bodies, which are called as functions
 * are: it may fail anywhere. */
static int runs_others(const gemel__planner *planner, const gemel__instr *instr) {
  const gemel__run_program *p = &planner->f->program;
  const gemel__pnode *node = &p->nodes[instr->node];
  return p->ops[node->op].op->row == NULL || gemel__attrs_at(p->context, node->attrs)->nesting > 0;
}

/* 1 if INSTR may fail when it is run. What is gemel's own checks everything when it is planned, but
 * for sizes that are known only then. */
static int may_fail(const gemel__planner *planner, const gemel__instr *instr) {
  return instr->kind == GEMEL__INSTR_DYNAMIC ||
         (instr->kind == GEMEL__INSTR_KERNEL && runs_others(planner, instr));
}

/* 1 if INSTR, should it fail, does so before it writes: gemel's own kernels look at sizes first. */
static int fails_first(const gemel__planner *planner, const gemel__instr *instr) {
  return instr->kind == GEMEL__INSTR_DYNAMIC && !runs_others(planner, instr);
}

void gemel__updates_settle(gemel__planner *planner) {
  const gemel__segment *s = planner->segment;
  size_t failing = 0; /* 1 + the last instruction that may fail */
  if (s->parent != NULL || s->wanted != GEMEL__NO_VALUE || planner->f->guard != 0 ||
      planner->f->program.n_devices > 1) {
    return;
  }
  for (size_t k = 0; k < s->n_instrs; k++) {
    failing = may_fail(planner, &s->instrs[k]) ? k + 1 : failing;
  }
  for (uint32_t k = 0; k < planner->f->program.n_outputs; k++) {
    size_t made = planner->updates[k];
    planner->plan->in_place[k] = made > failing || (made > 0 && made == failing &&
                                                    fails_first(planner, &s->instrs[made - 1]));
  }
}
