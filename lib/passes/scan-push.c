/* SPDX-License-Identifier: MIT
 *
 * What goes before a loop, in two passes.
 *
 * scan_push_rows: where dot(x, W) in the body depends on rows of sequences and on constants, and on
 * no state, it is computed for all rows by one product before the loop, whose rows the loop then
 * reads. What feeds it goes along, if each operation of it has a hook BATCH. Other operations on
 * rows stay: fused with what reads them they cost next to nothing.
 *
 * scan_hoist: what depends on constants alone is the same in each step, and becomes a constant of
 * the loop. Views stay, and what is made of numbers in the body is folded there.
 *
 * What goes before the loop is first built in a graph of its own (scan-rows.c).
 */
#include <string.h>
#include <gemel/ops.h>
#include "core/alloc.h"
#include "core/copy.h"
#include "core/error.h"
#include "ops/batch.h"
#include "ops/rule.h"
#include "passes/loop.h"
#include "passes/passes.h"
#include "passes/scan-rows.h"

/* Marks of the body's nodes. */
enum {
  OF_STATE = 1,    /* depends on a state */
  OF_ROW = 2,      /* depends on a row */
  ABLE = 4,        /* can be computed for all rows at once, or hoisted */
  PUSHED = 8,      /* a value that is, for the loop to read */
  BEFORE = 16,     /* is needed for these */
  STAYS = 32,      /* is needed in the loop */
  OF_CONSTANT = 64 /* depends on a constant of the loop */
};

enum { MOST_OPERANDS = 16 }; /* of an operation that is hoisted */

typedef struct push {
  gemel_edit *edit;
  gemel_error *error;
  gemel__scan_node loop;
  const gemel_graph *body;
  int hoists; /* 1: pass scan_hoist, else scan_push_rows */
  size_t n_values, n_pushed;
  double row_room, product_room; /* elements that a row may have before the loop */
  unsigned char *marks;
  gemel__ref *map;       /* by value of the body: what it is in the graph at hand */
  gemel_value *operands; /* of the new loop */
  gemel_value *before;   /* values that go before the loop: in a graph of their own, then outside */
} push;

/* ---- What can go before the loop ---- */

/* Elements of VALUE; sizes that are symbols are guessed. */
static double elements_of(const push *p, gemel__ref value) {
  return gemel__guess_elements(p->body->context,
                               gemel__node_type(p->body, value.node, value.output));
}

/* What feeds a product takes no more memory than the rows that there are, and a product no more
 * than these and a few states: the gates of an LSTM are four. */
static void find_room(push *p) {
  enum { STATES = 4 };
  for (size_t k = 0; k < p->loop.scan.states + p->loop.scan.sequences; k++) {
    double elements = elements_of(p, p->body->inputs[k]);
    int row = k >= p->loop.scan.states;
    p->row_room += row ? elements : 0;
    p->product_room += row ? elements : STATES * elements;
  }
}

/* 1 if NODE, whose operands are, may be computed even where the loop takes no step: whether it
 * fails depends on shapes alone. */
static int is_harmless(const push *p, uint32_t node) {
  const gemel__node *record = gemel__node_at(p->body, node);
  const struct gemel__attrs *attrs = gemel__attrs_at(p->body->context, record->attrs);
  return record->op < GEMEL__OP_COUNT && record->n_outputs == 1 && !attrs->has_runtime &&
         attrs->nesting == 0 && record[1].in_begin - record->in_begin <= MOST_OPERANDS;
}

/* 1 if NODE is a product of what has rows with what is the same in each step. */
static int is_product(const push *p, uint32_t node, const gemel__ref *in) {
  return gemel__node_at(p->body, node)->op == GEMEL__OP_dot &&
         (p->marks[in[0].node] & OF_ROW) != (p->marks[in[1].node] & OF_ROW);
}

/* Of a node that is the same in each step: KINDS and ABLE are those of its operands. */
static void mark_hoisted(push *p, uint32_t node, unsigned kinds, unsigned able) {
  unsigned view = gemel__node_op(p->body, node)->record.flags & GEMEL_OP_VIEW;
  able = able && kinds == (kinds & OF_CONSTANT) && is_harmless(p, node) ? ABLE : 0;
  p->marks[node] = (unsigned char)(kinds | able | (able && kinds && !view ? PUSHED : 0));
}

static void mark_node(push *p, uint32_t node) {
  uint32_t count;
  const gemel__ref *in = gemel__node_inputs(p->body, node, &count);
  unsigned able = ABLE, kinds = 0;
  for (uint32_t k = 0; k < count; k++) {
    able &= p->marks[in[k].node];
    kinds |= p->marks[in[k].node] & (OF_STATE | OF_ROW | OF_CONSTANT);
  }
  if (p->hoists) {
    mark_hoisted(p, node, kinds, able);
    return;
  }
  p->marks[node] =
      (unsigned char)(kinds | (able && gemel__all_rows_takes(p->body, node) ? ABLE : 0));
  int product = p->marks[node] & ABLE && is_product(p, node, in);
  double room = product ? p->product_room : p->row_room;
  if (kinds & OF_ROW && elements_of(p, (gemel__ref){node, 0}) > room) {
    p->marks[node] &= (unsigned char)~ABLE;
  } else if (product) {
    p->marks[node] |= PUSHED;
  }
}

static void mark_kinds(push *p) {
  static const unsigned char kinds[] = {OF_STATE, OF_ROW | ABLE, OF_CONSTANT | ABLE};
  for (size_t k = 0; k < p->body->n_inputs; k++) {
    int kind = gemel__scan_node_kind(&p->loop, k);
    p->marks[p->body->inputs[k].node] = kinds[kind];
  }
  for (uint32_t node = 0; node < p->body->n_nodes; node++) {
    if (gemel__node_at(p->body, node)->op != GEMEL__OP_input) {
      mark_node(p, node);
    }
  }
}

/* STAYS, up to the values that don't; BEFORE: what those need that the loop still reads. How many
 * these are. */
static size_t mark_places(push *p) {
  size_t pushed = 0;
  for (size_t k = 0; k < p->body->n_outputs; k++) {
    p->marks[p->body->outputs[k].node] |= STAYS;
  }
  for (uint32_t node = (uint32_t)p->body->n_nodes; node-- > 0;) {
    uint32_t count;
    const gemel__ref *in = gemel__node_inputs(p->body, node, &count);
    if (p->marks[node] & STAYS && p->marks[node] & PUSHED) {
      p->marks[node] = (unsigned char)((p->marks[node] & ~STAYS) | BEFORE);
      pushed++;
    } else {
      p->marks[node] &= (unsigned char)~PUSHED;
    }
    for (uint32_t k = 0; k < count; k++) {
      p->marks[in[k].node] |= p->marks[node] & (STAYS | BEFORE);
    }
  }
  return pushed;
}

/* ---- Before the loop ---- */

/* Builds what goes before the loop, with the values that the loop reads as outputs. */
static gemel_status fill_before(push *p, gemel__all_rows *all) {
  GEMEL__TRY(gemel__all_rows_begin(all));
  for (uint32_t node = 0; node < p->body->n_nodes; node++) {
    unsigned marks = p->marks[node];
    if (marks & BEFORE && gemel__node_at(p->body, node)->op != GEMEL__OP_input) {
      GEMEL__TRY(gemel__all_rows_add(all, node));
    }
    if (marks & PUSHED) {
      GEMEL__TRY(gemel__all_rows_leave(all, (gemel__ref){node, 0}));
    }
  }
  return GEMEL_OK;
}

/* The values that the loop reads, in the new graph. */
static gemel_status compute_before(push *p) {
  gemel__all_rows all = {
      .loop = &p->loop, .marks = p->marks, .varies = OF_ROW, .map = p->map, .error = p->error};
  gemel_status status = fill_before(p, &all);
  for (size_t k = 0; k < p->body->n_inputs && status == GEMEL_OK; k++) {
    p->operands[k] = gemel__edit_value(p->edit, p->loop.operands[k]);
    status = gemel_is_null(p->operands[k]) ? GEMEL_NO_MEMORY : GEMEL_OK;
  }
  if (status == GEMEL_OK) {
    status = gemel__all_rows_inline(&all, p->edit, p->operands, p->before);
  }
  status = gemel__body_status(all.graph, status, p->error);
  gemel__all_rows_clear(&all);
  return status;
}

/* ---- The new loop ---- */

/* Input K of the old body. What is no longer read goes by scan_prune. */
static void enter_old(push *p, gemel__new_scan *new, size_t k, size_t *n) {
  gemel__ref input = p->body->inputs[k];
  int kind = gemel__scan_node_kind(&p->loop, k);
  gemel_value inner =
      gemel__new_scan_enter(new, kind, gemel__node_type(p->body, input.node, 0),
                            gemel__input_facts(p->body, k), gemel__node_where(p->body, input.node));
  p->map[input.node] = (gemel__ref){inner.node, inner.output};
  p->operands[(*n)++] = gemel__edit_value(p->edit, p->loop.operands[k]);
}

static void enter_pushed(push *p, gemel__new_scan *new, size_t *n) {
  int kind = p->hoists ? GEMEL__CONSTANT_INPUT : GEMEL__ROW_INPUT;
  size_t at = 0;
  for (uint32_t node = 0; node < p->body->n_nodes; node++) {
    if (p->marks[node] & PUSHED) {
      gemel_value inner = gemel__new_scan_enter(new, kind, gemel__node_type(p->body, node, 0), 0,
                                                gemel__node_where(p->body, node));
      p->map[node] = (gemel__ref){inner.node, inner.output};
      p->operands[(*n)++] = p->before[at++];
    }
  }
}

static gemel_status fill_body(push *p, gemel__new_scan *new, size_t *n) {
  size_t rows = p->loop.scan.states + p->loop.scan.sequences;
  for (size_t k = 0; k < rows; k++) {
    enter_old(p, new, k, n);
  }
  enter_pushed(p, new, n);
  for (size_t k = rows; k < p->body->n_inputs; k++) {
    enter_old(p, new, k, n);
  }
  GEMEL__TRY(gemel__copy_marked(new->body, p->body, p->marks, STAYS, p->map));
  for (size_t k = 0; k < p->body->n_outputs; k++) {
    gemel__ref output = p->body->outputs[k];
    gemel_value value = gemel__value(new->body, p->map[gemel__value_number(p->body, output)]);
    int next = k < p->loop.scan.states;
    GEMEL__TRY(
        k == p->loop.scan.states + p->loop.scan.values
            ? gemel_output(value, "stop")
            : gemel__body_add_output(value, next ? 'n' : 'y', next ? k : k - p->loop.scan.states));
  }
  return GEMEL_OK;
}

/* Asks for what the new loop is made of, so that a replacement rests on it. */
static void ask(push *p) {
  gemel__edit_anew(p->edit);
  for (size_t k = 0; k < p->body->n_inputs + (size_t)p->loop.scan.limited; k++) {
    gemel__edit_value(p->edit, (p->loop.operands - p->loop.scan.limited)[k]);
  }
  gemel__edit_size(p->edit, p->loop.length);
  gemel__edit_size(p->edit, p->loop.truncate);
}

/* Puts the results of LOOP in the place of the old loop's. */
static gemel_status replace_results(push *p, gemel_value loop) {
  const uint32_t *uses = gemel__edit_uses(p->edit);
  gemel_status status = uses != NULL ? GEMEL_OK : GEMEL_NO_MEMORY;
  size_t n = gemel__scan_results(&p->loop.scan);
  for (uint32_t k = 0; k < n && status == GEMEL_OK; k++) {
    gemel__ref old = gemel__scan_node_result(&p->loop, k);
    if (!gemel__edit_fits(p->edit, old, gemel_value_output(loop, k))) {
      return GEMEL_OK;
    }
  }
  for (uint32_t k = 0; k < n && status == GEMEL_OK; k++) {
    gemel__ref old = gemel__scan_node_result(&p->loop, k);
    if (uses[gemel__value_number(p->loop.graph, old)] > 0) {
      ask(p);
      status = gemel__edit_replace(p->edit, old, gemel_value_output(loop, k));
    }
  }
  return status;
}

static gemel_status make_loop(push *p) {
  gemel__new_scan new = {.body = NULL};
  size_t n = 0;
  gemel_status status = gemel__new_scan_begin(&new, p->body->context, p->error);
  memset(p->map, 0xff, p->n_values * sizeof *p->map);
  if (status == GEMEL_OK && p->loop.scan.limited) {
    p->operands[n++] = gemel__edit_value(p->edit, p->loop.operands[-1]);
  }
  if (status == GEMEL_OK) {
    status = gemel__body_status(new.body, fill_body(p, &new, &n), p->error);
  }
  if (status == GEMEL_OK) {
    gemel_value loop = gemel__new_scan_apply(&new, p->edit, &p->loop, n, p->operands);
    status = gemel_is_null(loop) ? GEMEL_NO_MEMORY : replace_results(p, loop);
  }
  gemel__new_scan_clear(&new);
  return status;
}

/* ---- The pass ---- */

static gemel_status push_products(push *p) {
  find_room(p);
  mark_kinds(p);
  p->n_pushed = mark_places(p);
  if (p->n_pushed == 0) {
    return GEMEL_OK;
  }
  size_t n = 1 + p->body->n_inputs + p->n_pushed;
  p->operands = gemel__alloc_array(n + p->n_pushed, sizeof *p->operands);
  if (p->operands == NULL) {
    return gemel__no_memory(p->error, "a loop");
  }
  p->before = p->operands + n;
  gemel__edit_anew(p->edit);
  gemel_status status = compute_before(p);
  if (status == GEMEL_OK) {
    status = make_loop(p);
  }
  gemel__free(p->operands, (n + p->n_pushed) * sizeof *p->operands);
  return status == GEMEL_DECLINED ? GEMEL_OK : status;
}

static gemel_status push_node(gemel_edit *edit, uint32_t node, int hoists, gemel_error *error) {
  push p = {.edit = edit, .error = error, .hoists = hoists};
  gemel_status status = gemel__scan_node_read(gemel_edit_graph(edit), node, &p.loop);
  const gemel__scan *s = &p.loop.scan;
  if (status != GEMEL_OK ||
      (hoists ? s->constants == 0 : s->limited || s->until || s->sequences == 0)) {
    return status == GEMEL_DECLINED ? GEMEL_OK : status;
  }
  p.body = p.loop.scan.body;
  p.n_values = gemel__value_count(p.body);
  p.marks = gemel__alloc_zeroed(p.body->n_nodes);
  p.map = gemel__alloc_array(p.n_values, sizeof *p.map);
  status = p.marks != NULL && p.map != NULL ? push_products(&p) : gemel__no_memory(error, "a loop");
  gemel__free(p.marks, p.body->n_nodes);
  gemel__free(p.map, p.n_values * sizeof *p.map);
  return status;
}

static gemel_status push_all(gemel_edit *edit, int hoists, gemel_error *error) {
  const gemel_graph *graph = gemel_edit_graph(edit);
  const uint32_t *uses = NULL;
  for (uint32_t k = 0; k < graph->n_nodes; k++) {
    if (graph->nodes[k].op != GEMEL__OP_scan) {
      continue;
    }
    if (uses == NULL && (uses = gemel__edit_uses(edit)) == NULL) {
      return GEMEL_NO_MEMORY;
    }
    GEMEL__TRY(uses[k] > 0 ? push_node(edit, k, hoists, error) : GEMEL_OK);
  }
  return GEMEL_OK;
}

gemel_status gemel__pass_scan_push_rows(gemel_edit *edit, const void *data, gemel_error *error) {
  (void)data;
  return push_all(edit, 0, error);
}

gemel_status gemel__pass_scan_hoist(gemel_edit *edit, const void *data, gemel_error *error) {
  (void)data;
  return push_all(edit, 1, error);
}
