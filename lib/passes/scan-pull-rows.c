/* SPDX-License-Identifier: MIT
 *
 * Stacks that leave a loop. What the steps compute for stacks alone isn't needed in the loop: where
 * it begins with a product by what is the same in each step, as in y[t] = dot(h[t], V), it is
 * computed for all rows by one product behind the loop, and what reads that product goes along, if
 * each operation of it has a hook BATCH. What the products read is stacked in its place.
 */
#include "core/alloc.h"
#include "passes/scan-pull.h"
#include "passes/scan-rows.h"

/* Marks of the body's nodes. */
enum {
  VARIES = 1,  /* from step to step */
  OUTSIDE = 2, /* the same in each step, and can be computed outside */
  FEEDS = 4,   /* is needed for the next step */
  STACKED = 8, /* is needed for a stack */
  ABLE = 16,   /* and for nothing else, and it and all that reads it can be computed for all rows */
  LEAVES = 32, /* is computed behind the loop */
  FACTOR = 64, /* is needed there, and the same in each step */
  LEAF = 128   /* is read there, from the loop */
};

static void mark_inputs(const gemel__pull *p, unsigned char *marks) {
  for (size_t k = 0; k < p->n_inputs; k++) {
    int same = gemel__scan_node_kind(&p->old, k) == GEMEL__CONSTANT_INPUT;
    marks[p->body->inputs[k].node] = same ? OUTSIDE : VARIES;
  }
  for (size_t k = 0; k < p->body->n_outputs; k++) {
    marks[p->body->outputs[k].node] |= k < p->old.scan.states ? FEEDS : STACKED;
  }
}

/* VARIES and OUTSIDE, of nodes that aren't inputs. */
static void mark_kinds(const gemel__pull *p, unsigned char *marks) {
  for (uint32_t node = 0; node < p->body->n_nodes; node++) {
    uint32_t count;
    const gemel__ref *in = gemel__node_inputs(p->body, node, &count);
    unsigned varies = 0, outside = OUTSIDE;
    if (gemel__node_at(p->body, node)->op == GEMEL__OP_input) {
      continue;
    }
    for (uint32_t k = 0; k < count; k++) {
      varies |= marks[in[k].node] & VARIES;
      outside &= marks[in[k].node];
    }
    outside = outside && gemel__all_rows_takes(p->body, node) ? OUTSIDE : 0;
    marks[node] |= (unsigned char)(varies | (varies ? 0 : outside));
  }
}

/* 1 if NODE can be computed for all rows: each operand varies or can be had outside. */
static int is_able(const gemel__pull *p, const unsigned char *marks, uint32_t node) {
  uint32_t count;
  const gemel__ref *in = gemel__node_inputs(p->body, node, &count);
  int able = (marks[node] & (VARIES | FEEDS)) == VARIES && gemel__all_rows_takes(p->body, node) &&
             gemel__node_at(p->body, node)->op != GEMEL__OP_input;
  for (uint32_t k = 0; k < count && able; k++) {
    able = (marks[in[k].node] & (VARIES | OUTSIDE)) != 0;
  }
  return able;
}

/* FEEDS, STACKED and ABLE: readers come before what they read. */
static void mark_uses(const gemel__pull *p, unsigned char *marks) {
  for (uint32_t node = 0; node < p->body->n_nodes; node++) {
    marks[node] |= ABLE;
  }
  for (uint32_t node = (uint32_t)p->body->n_nodes; node-- > 0;) {
    uint32_t count;
    const gemel__ref *in = gemel__node_inputs(p->body, node, &count);
    if (!is_able(p, marks, node)) {
      marks[node] &= (unsigned char)~ABLE;
    }
    for (uint32_t k = 0; k < count; k++) {
      marks[in[k].node] |= marks[node] & (FEEDS | STACKED);
      if (marks[node] & (FEEDS | STACKED) && !(marks[node] & ABLE)) {
        marks[in[k].node] &= (unsigned char)~ABLE;
      }
    }
  }
}

/* 1 if NODE is a product of what varies with what doesn't. */
static int is_product(const gemel__pull *p, const unsigned char *marks, uint32_t node) {
  gemel__ref ref = {node, 0};
  return gemel__pull_op(p, ref) == GEMEL__OP_dot &&
         (marks[gemel__pull_operand(p, ref, 0).node] & VARIES) !=
             (marks[gemel__pull_operand(p, ref, 1).node] & VARIES);
}

/* LEAVES, and what that reads: FACTOR, up to the constants, and LEAF. */
static void mark_leaving(const gemel__pull *p, unsigned char *marks) {
  for (uint32_t node = 0; node < p->body->n_nodes; node++) {
    uint32_t count;
    const gemel__ref *in = gemel__node_inputs(p->body, node, &count);
    int leaves = is_product(p, marks, node);
    for (uint32_t k = 0; k < count; k++) {
      leaves |= (marks[in[k].node] & LEAVES) != 0;
    }
    if (leaves && marks[node] & STACKED && marks[node] & ABLE) {
      marks[node] |= LEAVES;
    }
  }
  for (uint32_t node = (uint32_t)p->body->n_nodes; node-- > 0;) {
    uint32_t count;
    const gemel__ref *in = gemel__node_inputs(p->body, node, &count);
    for (uint32_t k = 0; k < count && marks[node] & (LEAVES | FACTOR); k++) {
      unsigned char *mark = &marks[in[k].node];
      *mark |= !(*mark & VARIES) ? FACTOR : *mark & LEAVES ? 0 : LEAF;
    }
  }
}

/* Makes REF a leaf: 1; 0 if there can't be rows of it; -1 when memory is out. */
static int add_leaf(gemel__pull *p, gemel__pull_rows *rows, gemel__ref ref) {
  for (size_t k = 0; k < rows->n_leaves; k++) {
    if (gemel__pull_is_same(rows->leaves[k], ref)) {
      return 1;
    }
  }
  if (gemel__grow(&rows->leaves, &rows->leaf_room, rows->n_leaves + 1, sizeof *rows->leaves) != 0) {
    gemel__no_memory(p->error, "a loop");
    return -1;
  }
  rows->leaves[rows->n_leaves++] = ref;
  return gemel__pull_need_rows(p, ref);
}

/* Finds the leaves, and sees to it that there are rows of them. */
static gemel_status find_leaves(gemel__pull *p, gemel__pull_rows *rows) {
  for (uint32_t node = 0; node < p->body->n_nodes; node++) {
    uint32_t count;
    const gemel__ref *in = gemel__node_inputs(p->body, node, &count);
    for (uint32_t k = 0; k < count && rows->marks[node] & LEAVES; k++) {
      unsigned mark = rows->marks[in[k].node];
      int found = mark & LEAF ? add_leaf(p, rows, in[k]) : 1;
      if (found <= 0) {
        return found < 0 ? GEMEL_NO_MEMORY : GEMEL_DECLINED;
      }
    }
  }
  return GEMEL_OK;
}

gemel_status gemel__pull_plan_rows(gemel__pull *p, gemel__pull_rows *rows) {
  const gemel__scan *s = &p->old.scan;
  rows->marks = gemel__alloc_zeroed(p->body->n_nodes);
  if (rows->marks == NULL) {
    return gemel__no_memory(p->error, "a loop");
  }
  mark_inputs(p, rows->marks);
  mark_kinds(p, rows->marks);
  mark_uses(p, rows->marks);
  mark_leaving(p, rows->marks);
  for (size_t k = s->states; k < s->states + s->values; k++) {
    p->pulled[k] = (rows->marks[p->body->outputs[k].node] & LEAVES) != 0;
    p->n_pulled[1] += p->pulled[k];
  }
  return p->n_pulled[1] > 0 ? find_leaves(p, rows) : GEMEL_DECLINED;
}

void gemel__pull_rows_clear(const gemel__pull *p, gemel__pull_rows *rows) {
  gemel__free(rows->marks, p->body->n_nodes);
  gemel__free(rows->leaves, rows->leaf_room * sizeof *rows->leaves);
}

/* ---- Behind the loop ---- */

static gemel_status fill_behind(const gemel__pull *p, const gemel__pull_rows *rows,
                                gemel__all_rows *all) {
  const gemel__scan *s = &p->old.scan;
  gemel_status status = gemel__all_rows_begin(all);
  for (size_t k = 0; k < rows->n_leaves && status == GEMEL_OK; k++) {
    status = gemel__all_rows_enter(all, rows->leaves[k]);
  }
  for (uint32_t node = 0; node < p->body->n_nodes && status == GEMEL_OK; node++) {
    if (rows->marks[node] & (LEAVES | FACTOR) &&
        gemel__node_at(p->body, node)->op != GEMEL__OP_input) {
      status = gemel__all_rows_add(all, node);
    }
  }
  for (size_t k = s->states; k < s->states + s->values && status == GEMEL_OK; k++) {
    status = p->pulled[k] ? gemel__all_rows_leave(all, p->body->outputs[k]) : GEMEL_OK;
  }
  return status;
}

/* What the inputs of ALL are: OPERANDS. */
static gemel_status find_operands(const gemel__pull *p, const gemel__pull_rows *rows,
                                  gemel_value *operands) {
  for (size_t k = 0; k < p->n_inputs; k++) {
    operands[k] = gemel__edit_value(p->edit, p->old.operands[k]);
  }
  for (size_t k = 0; k < rows->n_leaves; k++) {
    operands[p->n_inputs + k] = gemel__pull_rows_of(p, rows->leaves[k]);
  }
  for (size_t k = 0; k < p->n_inputs + rows->n_leaves; k++) {
    if (gemel_is_null(operands[k])) {
      return GEMEL_NO_MEMORY;
    }
  }
  return GEMEL_OK;
}

/* P->behind, from RESULTS, which are those of the stacks that left. */
static void spread_results(gemel__pull *p, const gemel_value *results) {
  size_t n = 0;
  for (size_t k = 0; k < p->old.scan.values; k++) {
    if (p->pulled[p->old.scan.states + k]) {
      p->behind[k] = results[n];
      n++;
    }
  }
}

static gemel_status compute(gemel__pull *p, const gemel__pull_rows *rows, gemel__all_rows *all,
                            gemel_value *operands) {
  gemel_value *results = operands + p->n_inputs + rows->n_leaves;
  gemel_status status = fill_behind(p, rows, all);
  if (status == GEMEL_OK) {
    status = find_operands(p, rows, operands);
  }
  if (status == GEMEL_OK) {
    status = gemel__all_rows_inline(all, p->edit, operands, results);
  }
  spread_results(p, results);
  return gemel__body_status(all->graph, status, p->error);
}

gemel_status gemel__pull_compute_rows(gemel__pull *p, const gemel__pull_rows *rows) {
  size_t room = p->n_inputs + rows->n_leaves + p->n_pulled[1], n = gemel__value_count(p->body);
  gemel__all_rows all = {
      .loop = &p->old, .marks = rows->marks, .varies = VARIES, .error = p->error};
  gemel_value *operands = gemel__alloc_zeroed(room * sizeof *operands);
  all.map = gemel__alloc_array(n, sizeof *all.map);
  gemel_status status = operands != NULL && all.map != NULL ? compute(p, rows, &all, operands)
                                                            : gemel__no_memory(p->error, "a loop");
  gemel__free(operands, room * sizeof *operands);
  gemel__free(all.map, n * sizeof *all.map);
  gemel__all_rows_clear(&all);
  return status;
}
