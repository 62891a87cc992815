/* SPDX-License-Identifier: MIT
 *
 * A bias that a kernel adds. Where all that reads a node's result is an elementwise node that adds
 * a number for each channel, and no other elementwise node follows, a loop would pass over memory
 * for that alone; so the node's kernel is asked to do it (core/nested.h). If it does, the
 * elementwise node is a view of what it makes.
 */
#include "core/error.h"
#include "device/kernels.h"
#include "run/planner.h"

/* The operand that the elementwise node ADDING has beside VALUE. */
static uint32_t other_operand(const gemel__run_program *p, uint32_t adding, uint32_t value) {
  uint32_t count;
  const uint32_t *in = gemel__pnode_inputs(p, adding, &count);
  return in[0] == value && count > 1 ? in[1] : in[0];
}

/* 1 if what is at PLACE, a number for each channel of RESULT, is there already and has no gaps. */
static int is_bias(const gemel__plan_place *place, const gemel__plan_layout *result) {
  const gemel__plan_layout *l = place->layout;
  int shift = l != NULL ? result->rank - l->rank : 0;
  if (l == NULL || place->cluster != 0 || l->dtype != GEMEL_F32 || shift > 1 || result->rank < 3 ||
      l->elements != result->shape[1]) {
    return 0;
  }
  return l->shape[1 - shift] == l->elements &&
         (l->elements == 1 || l->strides[1 - shift] == (int64_t)sizeof(float));
}

/* 1 if ADDING, which alone reads VALUE, is OPERATION, is done by no program's kernel and is neither
 * a result of the function nor to be at home in a join, and no loop follows. */
static int is_last(const gemel__planner *planner, uint32_t adding, uint32_t value, int operation) {
  const gemel__run_program *p = &planner->f->program;
  const gemel__op *op = p->ops[p->nodes[adding].op].op;
  uint32_t made = p->nodes[adding].value;
  const gemel__read *read = &planner->read[made];
  return op->row == &gemel__rows[operation] && p->value_types[made] == p->value_types[value] &&
         read->loops == 0 && read->joins < p->uses[made] &&
         gemel__run_program_output(p, made) == p->n_outputs &&
         !gemel__has_registered_kernel(p->context, p->devices[0], &op->record);
}

/* The elementwise node that NODE's kernel may do; 0: none. */
static uint32_t node_behind(const gemel__planner *planner, uint32_t node) {
  const gemel__run_program *p = &planner->f->program;
  const struct gemel__row *row = p->ops[p->nodes[node].op].op->row;
  uint32_t value = p->nodes[node].value;
  if (planner->read == NULL || row == NULL || row->hooks->takes == 0 || p->uses[value] != 1 ||
      planner->read[value].loops != 1 || planner->f->tuner != NULL) {
    return 0;
  }
  uint32_t adding = planner->read[value].loop, other = other_operand(p, adding, value);
  return is_last(planner, adding, value, row->hooks->takes) &&
                 is_bias(&planner->places[other], planner->places[value].layout)
             ? adding
             : 0;
}

gemel_status gemel__offer_bias(gemel__planner *planner, uint32_t node, gemel__invocation *inv) {
  const gemel__run_program *p = &planner->f->program;
  uint32_t adding = node_behind(planner, node);
  if (adding == 0) {
    return GEMEL_OK;
  }
  inv->added = other_operand(p, adding, p->nodes[node].value);
  const gemel__plan_layout *l = planner->places[inv->added].layout;
  inv->nested.bias = gemel__arena_alloc(&planner->segment->meta, sizeof *inv->nested.bias);
  if (inv->nested.bias == NULL) {
    return gemel__no_memory(planner->error, "a plan");
  }
  *inv->nested.bias = (gemel__bias){{l->dtype, l->rank, l->shape, l->strides, NULL}, 0};
  return GEMEL_OK;
}

gemel_status gemel__settle_bias(gemel__planner *planner, uint32_t node, gemel__invocation *inv) {
  if (inv->nested.bias == NULL || !inv->nested.bias->taken) {
    inv->nested.bias = NULL;
    return GEMEL_OK;
  }
  const gemel__plan_place *place = &planner->places[inv->added];
  planner->read[planner->f->program.nodes[node].value].done = 1;
  return gemel__fix(planner, (void *)&inv->nested.bias->view.data, place->buffer,
                    place->layout->offset) == 0
             ? GEMEL_OK
             : gemel__no_memory(planner->error, "a plan");
}

gemel_status gemel__plan_added(gemel__planner *planner, uint32_t node) {
  const gemel__run_program *p = &planner->f->program;
  uint32_t count, value = p->nodes[node].value;
  const uint32_t *in = gemel__pnode_inputs(p, node, &count);
  for (uint32_t k = 0; k < count && planner->read != NULL; k++) {
    if (planner->read[in[k]].done) {
      const gemel__plan_place *made = &planner->places[in[k]];
      planner->places[value].layout = made->layout;
      planner->places[value].buffer = made->buffer;
      made->buffer->remaining += p->uses[value];
      for (uint32_t j = 0; j < count; j++) {
        GEMEL__TRY(gemel__buffer_use(planner, planner->places[in[j]].buffer, 1));
      }
      return GEMEL_OK;
    }
  }
  return GEMEL_DECLINED;
}
