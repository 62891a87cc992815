/* SPDX-License-Identifier: MIT
 *
 * Joins without copies. A value that only joins read is made where the last of them will have it:
 * its place is a part of the memory of the join's result, its *home*, which is there from the first
 * of its operands on. The join then copies what lies elsewhere, and is a view if that is nothing;
 * so is an earlier join of operands that lie one behind the other, in a later one's home say. Loops
 * write with any strides; kernels make what they can make in a part without gaps.
 */
#include <string.h>
#include "core/alloc.h"
#include "core/error.h"
#include "device/kernels.h"
#include "run/planner.h"

enum { POISON = 0xff };

/* The memory of a join's result. */
struct gemel__home {
  gemel__plan_layout *layout; /* NULL: there is none */
  gemel__run_buffer *buffer;  /* NULL: not yet */
  int64_t *offsets;           /* of each operand */
};

static gemel_status out_of_memory(gemel__planner *planner) {
  return gemel__no_memory(planner->error, "a plan");
}

/* ---- Joins ---- */

/* The axis along which NODE joins its operands; -1: it is no join. */
static int axis_of(const gemel__run_program *p, uint32_t node) {
  const struct gemel__row *row = p->ops[p->nodes[node].op].op->row;
  if (row == NULL || row->hooks->joins == NULL) {
    return -1;
  }
  int rank = gemel_type_rank(p->context, gemel__value_type(p, p->nodes[node].value));
  return row->hooks->joins(gemel__attrs_at(p->context, p->nodes[node].attrs)->values, rank);
}

/* 1 if the result of NODE, a join, may have a home: its size is known before the operands are, and
 * it is neither put elsewhere nor made by a program's kernel. */
static int may_have_home(const gemel__run_program *p, uint32_t node) {
  const gemel_operation *record = &p->ops[p->nodes[node].op].op->record;
  uint32_t count, value = p->nodes[node].value;
  const uint32_t *in = gemel__pnode_inputs(p, node, &count);
  int known = !p->types[p->value_types[value]].has_runtime;
  for (uint32_t k = 0; k < count; k++) {
    known &= !p->types[p->value_types[in[k]]].has_runtime;
  }
  return known && gemel__value_device(p, value) == 0 &&
         gemel__run_program_output(p, value) == p->n_outputs &&
         !gemel__has_registered_kernel(p->context, p->devices[0], record);
}

static void note_operands(gemel__planner *planner, uint32_t node) {
  uint32_t count;
  const uint32_t *in = gemel__pnode_inputs(&planner->f->program, node, &count);
  for (uint32_t k = 0; k < count; k++) {
    gemel__read *j = &planner->read[in[k]];
    if (j->joins == 0 || j->node != node) {
      j->node = node;
      j->operand = k;
    }
    j->joins++;
  }
}

static void note_loops(gemel__planner *planner) {
  const gemel__run_program *p = &planner->f->program;
  for (uint32_t node = 0; node < p->n_nodes; node++) {
    uint32_t count;
    const uint32_t *in = gemel__pnode_inputs(p, node, &count);
    for (uint32_t k = 0; p->ops[p->nodes[node].op].kind == GEMEL__P_SCALAR && k < count; k++) {
      planner->read[in[k]].loops++;
      planner->read[in[k]].loop = node;
    }
  }
}

/* 1 if there are nodes for whose sake readers are to be known. */
static int any_joins_or_biases(const gemel__run_program *p) {
  for (uint32_t k = 0; k < p->n_ops; k++) {
    const struct gemel__row *row = p->ops[k].op->row;
    if (row != NULL && (row->hooks->joins != NULL || row->hooks->takes != 0)) {
      return 1;
    }
  }
  return 0;
}

gemel_status gemel__reads_find(gemel__planner *planner) {
  const gemel__run_program *p = &planner->f->program;
  if (planner->f->plain || planner->f->guard != 0 || planner->segment->parent != NULL ||
      !any_joins_or_biases(p)) {
    return GEMEL_OK;
  }
  planner->read = gemel__alloc_array(p->n_values, sizeof *planner->read);
  if (planner->read == NULL) {
    return out_of_memory(planner);
  }
  for (uint32_t node = 0; node < p->n_nodes; node++) {
    if (axis_of(p, node) >= 0 && may_have_home(p, node)) {
      note_operands(planner, node);
    }
  }
  note_loops(planner);
  return GEMEL_OK;
}

void gemel__reads_clear(gemel__planner *planner) {
  gemel__free(planner->read, planner->f->program.n_values * sizeof *planner->read);
}

/* ---- Homes ---- */

/* Where each operand of NODE begins along its axis, in elements. GEMEL_DECLINED: their sizes don't
 * fit, which the join will say. */
static gemel_status find_offsets(gemel__planner *planner, uint32_t node,
                                 const gemel__plan_layout *whole, int64_t *offsets) {
  const gemel__run_program *p = &planner->f->program;
  int axis = axis_of(p, node);
  int64_t at = 0;
  uint32_t count;
  const uint32_t *in = gemel__pnode_inputs(p, node, &count);
  for (uint32_t k = 0; k < count; k++) {
    gemel__plan_layout *part;
    GEMEL__TRY(gemel__plan_row_major(planner, p->value_types[in[k]], &part));
    for (int j = 0; j < whole->rank; j++) {
      if (j != axis && part->shape[j] != whole->shape[j]) {
        return GEMEL_DECLINED;
      }
    }
    offsets[k] = at;
    at += part->shape[axis];
  }
  return at == whole->shape[axis] ? GEMEL_OK : GEMEL_DECLINED;
}

/* Lays out HOME, for the result of NODE, ordered as LIKE is. GEMEL_DECLINED: there is none. */
static gemel_status lay_out(gemel__planner *planner, uint32_t node, const gemel__plan_layout *like,
                            gemel__home *home) {
  const gemel__run_program *p = &planner->f->program;
  gemel__plan_layout *whole;
  uint32_t count;
  gemel__pnode_inputs(p, node, &count);
  home->offsets = gemel__arena_alloc(&planner->segment->meta, count * sizeof *home->offsets);
  if (home->offsets == NULL) {
    return out_of_memory(planner);
  }
  GEMEL__TRY(gemel__plan_row_major(planner, p->value_types[p->nodes[node].value], &whole));
  GEMEL__TRY(find_offsets(planner, node, whole, home->offsets));
  whole = like->channels_last ? gemel__layout_channels_last(planner->segment, whole) : whole;
  if (whole == NULL) {
    return out_of_memory(planner);
  }
  for (uint32_t k = 0; k < count; k++) {
    home->offsets[k] *= whole->strides[axis_of(p, node)];
  }
  home->layout = whole;
  return GEMEL_OK;
}

/* The home of the result of NODE, new if it has none yet. */
static gemel_status home_of(gemel__planner *planner, uint32_t node, const gemel__plan_layout *like,
                            gemel__home **home) {
  const gemel__run_program *p = &planner->f->program;
  gemel__read *join = &planner->read[p->nodes[node].value];
  uint32_t before = planner->node;
  *home = join->home;
  if (*home != NULL) {
    return GEMEL_OK;
  }
  *home = join->home = gemel__arena_alloc(&planner->segment->meta, sizeof **home);
  if (*home == NULL) {
    return out_of_memory(planner);
  }
  memset(*home, 0, sizeof **home);
  planner->node = node;
  gemel_status status = lay_out(planner, node, like, *home);
  if (status != GEMEL_OK && status != GEMEL_DECLINED && status != GEMEL_NO_MEMORY) {
    gemel__blame(p, node, planner->error);
  }
  planner->node = before;
  return status == GEMEL_DECLINED ? GEMEL_OK : status;
}

/* Memory for HOME, which is the result of NODE: from now on, though it isn't all there yet. */
static gemel_status begin(gemel__planner *planner, uint32_t node, gemel__home *home) {
  const gemel__run_program *p = &planner->f->program;
  uint32_t uses = p->uses[p->nodes[node].value];
  home->buffer = gemel__buffer_new(planner, 0, home->layout->bytes, uses);
  return home->buffer == NULL ? out_of_memory(planner)
         : planner->f->poison
             ? gemel__plan_poison(planner, planner->node, home->buffer, home->layout->bytes, POISON)
             : GEMEL_OK;
}

/* 1 if VALUE had better lie at its home: joins alone read it, or several do besides loops, which
 * take it with any strides. */
static int belongs_home(const gemel__planner *planner, uint32_t value) {
  const gemel__read *j = planner->read != NULL ? &planner->read[value] : NULL;
  uint32_t uses = planner->f->program.uses[value];
  return j != NULL && j->joins > 0 &&
         (j->joins == uses || (j->joins > 1 && j->joins + j->loops == uses));
}

gemel_status gemel__place_at_home(gemel__planner *planner, uint32_t value, int any_strides,
                                  uint32_t remaining) {
  gemel__plan_place *place = &planner->places[value];
  const gemel__plan_layout *l = place->layout;
  gemel__home *home;
  if (!belongs_home(planner, value) || l->elements == 0) {
    return GEMEL_DECLINED;
  }
  const gemel__read *j = &planner->read[value];
  GEMEL__TRY(home_of(planner, j->node, l, &home));
  if (home->layout == NULL || home->layout->channels_last != l->channels_last ||
      (place->buffer != NULL && place->buffer == home->buffer)) {
    return GEMEL_DECLINED;
  }
  gemel__plan_layout *part = gemel__layout_new(planner->segment, l->dtype, l->rank, l->shape,
                                               home->layout->strides, home->offsets[j->operand]);
  if (part == NULL) {
    return out_of_memory(planner);
  }
  if (!any_strides && (part->dense != l->dense || part->channels_last != l->channels_last)) {
    return GEMEL_DECLINED;
  }
  GEMEL__TRY(home->buffer == NULL ? begin(planner, j->node, home) : GEMEL_OK);
  place->layout = part;
  place->buffer = home->buffer;
  home->buffer->remaining += remaining;
  return GEMEL_OK;
}

gemel_status gemel__bring_home(gemel__planner *planner, uint32_t value) {
  const gemel__plan_place made = planner->places[value];
  uint32_t uses = planner->f->program.uses[value];
  if (planner->read == NULL || planner->read[value].joins < 2) {
    return GEMEL_OK;
  }
  gemel_status status = gemel__place_at_home(planner, value, 1, uses);
  if (status != GEMEL_OK) {
    return status == GEMEL_DECLINED ? GEMEL_OK : status;
  }
  GEMEL__TRY(
      gemel__plan_copy(planner, planner->node, made.layout, made.buffer, &planner->places[value]));
  return gemel__buffer_use(planner, made.buffer, uses);
}

/* ---- The join ---- */

/* 1 if what is at PART lies OFFSET bytes into BUFFER, with the STRIDES of the whole. */
static int lies_at(const gemel__plan_place *part, const gemel__run_buffer *buffer, int64_t offset,
                   const int64_t *strides) {
  const gemel__plan_layout *l = part->layout;
  int same = part->buffer == buffer && l->offset == offset;
  for (int k = 0; k < l->rank; k++) {
    same &= l->shape[k] == 1 || l->strides[k] == strides[k];
  }
  return same || l->elements == 0;
}

/* 1 if the operands of NODE lie one behind the other, with STRIDES, from OFFSET bytes into BUFFER
 * on. */
static int lie_in_line(const gemel__planner *planner, uint32_t node,
                       const gemel__run_buffer *buffer, int64_t offset, const int64_t *strides) {
  const gemel__run_program *p = &planner->f->program;
  int axis = axis_of(p, node);
  uint32_t count;
  const uint32_t *in = gemel__pnode_inputs(p, node, &count);
  for (uint32_t k = 0; k < count; k++) {
    const gemel__plan_place *part = &planner->places[in[k]];
    if (!lies_at(part, buffer, offset, strides)) {
      return 0;
    }
    offset += part->layout->shape[axis] * strides[axis];
  }
  return 1;
}

/* 1 if the result of NODE may have gaps: loops and joins read it. */
static int may_have_gaps(const gemel__planner *planner, uint32_t node) {
  uint32_t value = planner->f->program.nodes[node].value;
  const gemel__read *j = planner->read != NULL ? &planner->read[value] : NULL;
  return j != NULL && j->joins + j->loops == planner->f->program.uses[value];
}

/* Makes the result of NODE, laid out as VIEW, the view of BUFFER that its operands are. */
static gemel_status view_operands(gemel__planner *planner, uint32_t node, gemel__plan_layout *view,
                                  gemel__run_buffer *buffer) {
  const gemel__run_program *p = &planner->f->program;
  uint32_t count, value = p->nodes[node].value;
  const uint32_t *in = gemel__pnode_inputs(p, node, &count);
  planner->places[value].layout = view;
  planner->places[value].buffer = buffer;
  buffer->remaining += p->uses[value];
  for (uint32_t k = 0; k < count; k++) {
    GEMEL__TRY(gemel__buffer_use(planner, planner->places[in[k]].buffer, 1));
  }
  return GEMEL_OK;
}

gemel_status gemel__plan_join(gemel__planner *planner, uint32_t node) {
  const gemel__run_program *p = &planner->f->program;
  uint32_t count, value = p->nodes[node].value;
  gemel__home *home = planner->read != NULL ? planner->read[value].home : NULL;
  gemel__run_buffer *own = home != NULL ? home->buffer : NULL;
  gemel__plan_place *place = &planner->places[value];
  if (planner->f->plain || axis_of(p, node) < 0) {
    return GEMEL_DECLINED;
  }
  const gemel__plan_place *first = &planner->places[gemel__pnode_inputs(p, node, &count)[0]];
  const gemel__plan_layout *l = first->layout;
  gemel__plan_layout *view = gemel__layout_new(planner->segment, l->dtype, l->rank,
                                               place->layout->shape, l->strides, l->offset);
  if (view == NULL) {
    return out_of_memory(planner);
  }
  if (l->elements > 0 && lie_in_line(planner, node, first->buffer, l->offset, l->strides) &&
      (view->dense || view->channels_last || may_have_gaps(planner, node))) {
    GEMEL__TRY(view_operands(planner, node, view, first->buffer));
    return own != NULL ? gemel__buffer_use(planner, own, p->uses[value]) : GEMEL_OK;
  }
  if (own != NULL) {
    place->layout = home->layout;
    place->buffer = own;
  }
  return GEMEL_DECLINED;
}
