/* SPDX-License-Identifier: MIT
 *
 * The lifted graph. Two walks: from the outputs back, which finds on which sides each value is
 * read; and in the order of ids, which makes each node where its place is, and behind it a transfer
 * of each of its values that is read on the other side. So a value crosses once, however many
 * readers it has there. Operands are taken from the side of the node, run-time sizes from the host.
 */
#include <stdlib.h>
#include "core/alloc.h"
#include "core/clock.h"
#include "core/copy.h"
#include "core/error.h"
#include "lift/lift.h"
#include "rewrite/profile.h"

#define NOWHERE UINT32_MAX

enum { HOST, DEVICE, SIDES };                                        /* copies of a value */
enum { ON_HOST = 1 << HOST, ON_DEVICE = 1 << DEVICE, ANYWHERE = 4 }; /* where it is read */

typedef struct lift_build {
  const gemel__lifting *l;
  const gemel_graph *from;
  gemel_graph *to;
  uint32_t *first;       /* by node: its first value */
  unsigned char *wanted; /* by value */
  gemel__ref *copies;    /* by value: on the host (or another device), on the device */
  gemel__ref *operands;
  gemel_value *values;
  size_t n_values, operand_capacity, value_capacity;
  gemel_lift_counts counts;
} lift_build;

static uint32_t value_of(const lift_build *b, gemel__ref ref) {
  return b->first[ref.node] + ref.output;
}

static gemel__lift_place place_of(const lift_build *b, uint32_t node) {
  return (gemel__lift_place)b->l->places[node];
}

/* ---- Where values are read ---- */

/* Where the values of NODE are read, together. */
static unsigned wanted_of(const lift_build *b, uint32_t node) {
  unsigned wanted = 0;
  for (uint32_t k = b->first[node]; k < b->first[node + 1]; k++) {
    wanted |= b->wanted[k];
  }
  return wanted;
}

/* Where NODE reads its operands. */
static unsigned reading_side(const lift_build *b, uint32_t node) {
  switch (place_of(b, node)) {
  case GEMEL__LIFT_HOST:
    return ON_HOST;
  case GEMEL__LIFT_DEVICE:
    return ON_DEVICE;
  case GEMEL__LIFT_OTHER:
    return ANYWHERE;
  case GEMEL__LIFT_BOTH: /* a view */
  case GEMEL__LIFT_SAME:
    return wanted_of(b, node);
  default:
    return 0;
  }
}

static void find_wanted(lift_build *b) {
  for (size_t k = 0; k < b->from->n_outputs; k++) {
    b->wanted[value_of(b, b->from->outputs[k])] |=
        gemel__lift_output_there(b->l, k) ? ON_DEVICE : ON_HOST;
  }
  for (uint32_t node = (uint32_t)b->from->n_nodes; node-- > 0;) {
    uint32_t count, n = gemel__lift_operands(b->from, node);
    const gemel__ref *in = gemel__node_inputs(b->from, node, &count);
    unsigned side = reading_side(b, node);
    for (uint32_t k = 0; k < count && side != 0; k++) {
      b->wanted[value_of(b, in[k])] |= k < n ? side : ON_HOST;
    }
  }
}

/* ---- Nodes ---- */

static gemel_status failed(const lift_build *b) {
  *b->l->error = b->to->error;
  return b->to->error.status;
}

/* The copy of VALUE on SIDE, or the only one that there is. */
static gemel__ref copy_on(const lift_build *b, gemel__ref value, int side) {
  const gemel__ref *copies = &b->copies[SIDES * value_of(b, value)];
  return copies[side].node != NOWHERE ? copies[side] : copies[!side];
}

static void note_copies(lift_build *b, uint32_t node, int side, uint32_t made) {
  for (uint32_t k = 0; k < b->from->nodes[node].n_outputs; k++) {
    b->copies[SIDES * (b->first[node] + k) + side] = (gemel__ref){made, k};
  }
}

/* Makes NODE on SIDE, of copies of its operands there. */
static gemel_status make_on(lift_build *b, uint32_t node, int side) {
  const gemel__node *record = gemel__node_at(b->from, node);
  uint32_t count, made, n = gemel__lift_operands(b->from, node);
  const gemel__ref *in = gemel__node_inputs(b->from, node, &count);
  if (gemel__grow(&b->operands, &b->operand_capacity, count, sizeof *b->operands) != 0 ||
      gemel__grow(&b->values, &b->value_capacity, count, sizeof *b->values) != 0) {
    return gemel__no_memory(b->l->error, "a lift");
  }
  for (uint32_t k = 0; k < count; k++) {
    b->operands[k] = copy_on(b, in[k], k < n ? side : HOST);
    b->values[k] = gemel__value(b->to, b->operands[k]);
  }
  gemel_status status = gemel__copy_node(b->to, b->from, node, b->operands, &made);
  if (status == GEMEL_DECLINED) {
    gemel_value value = gemel__apply(b->to, record->op, record->attrs, count, b->values,
                                     gemel__node_where(b->from, node));
    status = gemel_is_null(value) ? b->to->error.status : GEMEL_OK;
    made = value.node;
  }
  if (status != GEMEL_OK) {
    return failed(b);
  }
  note_copies(b, node, side, made);
  return GEMEL_OK;
}

/* Puts a transfer of VALUE, which there is on the other side, to SIDE. */
static gemel_status transfer(lift_build *b, uint32_t node, uint32_t value, int side) {
  gemel__ref *copies = &b->copies[SIDES * value];
  int space = side == DEVICE ? b->l->options.space : GEMEL_SPACE_HOST;
  gemel_value crossed = gemel__value(b->to, copies[!side]);
  size_t before = b->to->n_nodes; /* what was apart only by transfers is one node now */
  gemel_location where = gemel__node_where(b->from, node);
  crossed = gemel__in_space(crossed, space, where);
  if (gemel_is_null(crossed)) {
    return failed(b);
  }
  copies[side] = (gemel__ref){crossed.node, crossed.output};
  if (crossed.node >= before) {
    b->counts.once += place_of(b, node) == GEMEL__LIFT_BOTH;
    b->counts.uploads += place_of(b, node) != GEMEL__LIFT_BOTH && side == DEVICE;
    b->counts.downloads += side == HOST;
  }
  return GEMEL_OK;
}

/* Transfers of NODE's values, which are made on SIDE, to where they are read on the other. */
static gemel_status cross(lift_build *b, uint32_t node, int side) {
  for (uint32_t k = b->first[node]; k < b->first[node + 1]; k++) {
    if (b->wanted[k] & 1u << !side) {
      GEMEL__TRY(transfer(b, node, k, !side));
    }
  }
  return GEMEL_OK;
}

/* NODE, a value of which is at home on both sides: a view on each side where it is read; what has
 * no operands on the host, with a transfer. */
static gemel_status make_both(lift_build *b, uint32_t node) {
  unsigned wanted = wanted_of(b, node);
  int is_view = gemel__lift_operands(b->from, node) > 0;
  if (!is_view || wanted & (ON_HOST | ANYWHERE)) {
    GEMEL__TRY(make_on(b, node, HOST));
  }
  if (wanted & ON_DEVICE) {
    GEMEL__TRY(is_view ? make_on(b, node, DEVICE) : cross(b, node, HOST));
  }
  return GEMEL_OK;
}

static gemel_status make(lift_build *b, uint32_t node) {
  gemel__lift_place place = place_of(b, node);
  int side = place == GEMEL__LIFT_DEVICE ? DEVICE : HOST;
  uint32_t count;
  const gemel__ref *in = gemel__node_inputs(b->from, node, &count);
  if (place == GEMEL__LIFT_UNUSED || b->from->nodes[node].op == GEMEL__OP_input) {
    return GEMEL_OK;
  }
  if (place == GEMEL__LIFT_SAME) {
    for (int k = 0; k < SIDES; k++) {
      b->copies[SIDES * b->first[node] + k] = b->copies[SIDES * value_of(b, in[0]) + k];
    }
    return GEMEL_OK;
  }
  if (place == GEMEL__LIFT_BOTH) {
    return make_both(b, node);
  }
  gemel_status status = make_on(b, node, side);
  return status == GEMEL_OK && place != GEMEL__LIFT_OTHER ? cross(b, node, side) : status;
}

/* ---- Inputs and outputs ---- */

/* Input K, which is the host's in the graph as it is, on the device. */
static gemel_status move_input(lift_build *b, size_t k, uint32_t *made) {
  gemel_context *context = b->from->context;
  uint32_t node = b->from->inputs[k].node;
  gemel_type type = gemel__node_type(b->from, node, 0);
  gemel_type there =
      gemel_type_new(context, gemel_type_dtype(context, type), gemel_type_rank(context, type),
                     gemel_type_dims(context, type), b->l->options.space);
  gemel_value value =
      gemel_input_at(b->to, b->from->input_names[k], there, gemel__node_where(b->from, node));
  *made = value.node;
  return !gemel_is_null(value) &&
                 gemel__input_add_marks(b->to, k, gemel__input_marks(b->from, k)) == 0
             ? GEMEL_OK
         : gemel_is_null(value) ? b->to->error.status
                                : GEMEL_NO_MEMORY;
}

static gemel_status make_inputs(lift_build *b) {
  gemel_status status = GEMEL_OK;
  for (size_t k = 0; k < b->from->n_inputs && status == GEMEL_OK; k++) {
    uint32_t node = b->from->inputs[k].node, made = 0;
    int there = place_of(b, node) == GEMEL__LIFT_DEVICE;
    int moves = there && gemel_type_space(b->from->context, gemel__node_type(b->from, node, 0)) ==
                             GEMEL_SPACE_HOST;
    status = moves ? move_input(b, k, &made) : gemel__copy_input(b->to, b->from, k, &made);
    note_copies(b, node, there ? DEVICE : HOST, made);
  }
  if (status != GEMEL_OK && failed(b) == GEMEL_OK) {
    gemel__no_memory(b->l->error, "a lift");
  }
  /* behind all inputs, wherever they stand, so that a lifted graph is left alone */
  for (size_t k = 0; k < b->from->n_inputs && status == GEMEL_OK; k++) {
    uint32_t node = b->from->inputs[k].node;
    status = place_of(b, node) == GEMEL__LIFT_OTHER
                 ? GEMEL_OK
                 : cross(b, node, place_of(b, node) == GEMEL__LIFT_DEVICE ? DEVICE : HOST);
  }
  return status;
}

static gemel_status make_outputs(lift_build *b) {
  for (size_t k = 0; k < b->from->n_outputs; k++) {
    gemel__ref output = b->from->outputs[k];
    int there = gemel__lift_output_there(b->l, k);
    if (gemel__copy_output(b->to, b->from, k, copy_on(b, output, there ? DEVICE : HOST)) !=
        GEMEL_OK) {
      return failed(b);
    }
  }
  return GEMEL_OK;
}

/* ---- All ---- */

static gemel_status start(lift_build *b, gemel_error *error) {
  size_t n = b->from->n_nodes;
  b->first = gemel__alloc_array(n + 1, sizeof *b->first);
  if (b->first == NULL) {
    return gemel__no_memory(error, "a lift");
  }
  for (size_t k = 0; k < n; k++) {
    b->first[k + 1] = b->first[k] + b->from->nodes[k].n_outputs;
  }
  b->n_values = b->first[n];
  b->wanted = gemel__alloc_array(b->n_values, 1);
  b->copies = gemel__alloc_array(b->n_values, SIDES * sizeof *b->copies);
  b->to = gemel_graph_new(b->from->context, error);
  if (b->wanted == NULL || b->copies == NULL || b->to == NULL ||
      gemel__copy_reserve(b->to, b->from, 1) != GEMEL_OK) {
    return gemel__no_memory(error, "a lift");
  }
  for (size_t k = 0; k < SIDES * b->n_values; k++) {
    b->copies[k].node = NOWHERE;
  }
  find_wanted(b);
  return GEMEL_OK;
}

static void clear(lift_build *b) {
  gemel__free(b->first, (b->from->n_nodes + 1) * sizeof *b->first);
  gemel__free(b->wanted, b->n_values);
  gemel__free(b->copies, b->n_values * SIDES * sizeof *b->copies);
  gemel__free(b->operands, b->operand_capacity * sizeof *b->operands);
  gemel__free(b->values, b->value_capacity * sizeof *b->values);
}

/* Makes NODE and, if there is a report, adds what that took. */
static gemel_status make_told(lift_build *b, uint32_t node, gemel_lift_report *report) {
  int told =
      report != NULL && place_of(b, node) == GEMEL__LIFT_DEVICE && gemel__lift_is_told(b->l, node);
  double start = told ? gemel__thread_seconds() : 0;
  size_t before = b->to->n_nodes;
  gemel_status status = make(b, node);
  return told && status == GEMEL_OK ? gemel__lift_report_add(report, gemel__node_op(b->from, node),
                                                             gemel__thread_seconds() - start,
                                                             b->to->n_nodes - before, b->l->error)
                                    : status;
}

gemel_graph *gemel__lift_build(gemel__lifting *l, gemel_lift_report *report) {
  lift_build b = {.l = l, .from = l->from};
  gemel_status status = start(&b, l->error);
  status = status ? status : make_inputs(&b);
  for (uint32_t node = 0; node < b.from->n_nodes && status == GEMEL_OK; node++) {
    status = make_told(&b, node, report);
  }
  status = status ? status : make_outputs(&b);
  status = status ? status : gemel__debug_check(b.to, l->error);
  l->counts.uploads = b.counts.uploads;
  l->counts.downloads = b.counts.downloads;
  l->counts.once = b.counts.once;
  clear(&b);
  if (status != GEMEL_OK) {
    gemel_graph_unref(b.to);
    return NULL;
  }
  return b.to;
}
