/* SPDX-License-Identifier: MIT
 *
 * What the parts of the lift share. lift.c reads the options; place.c says of each node where it
 * can be computed, and takes everything that can to the device; cheapest.c chooses by costs, with a
 * minimum cut (cut.c); build.c makes the new graph, with its transfers; report.c keeps what is told
 * of it.
 */
#ifndef GEMEL__LIFT_LIFT_H
#define GEMEL__LIFT_LIFT_H

#include <gemel/device.h>
#include <gemel/lift.h>
#include "core/graph.h"
#include "core/ids.h"

/* Where a node is computed. */
typedef enum gemel__lift_place {
  GEMEL__LIFT_UNUSED, /* nowhere: no output needs it */
  GEMEL__LIFT_HOST,
  GEMEL__LIFT_DEVICE,
  GEMEL__LIFT_BOTH,  /* where it is read: what is made of attributes alone, and views */
  GEMEL__LIFT_SAME,  /* a transfer between the two, which is put in anew: its input stands for it */
  GEMEL__LIFT_OTHER, /* on another device, as GRAPH has it */
  GEMEL__LIFT_FREE   /* not decided yet: on the host or the device */
} gemel__lift_place;

typedef struct gemel__lifting {
  const gemel_graph *from;
  gemel_lift_options options;
  const gemel_device *device;
  unsigned char *places;        /* by node: gemel__lift_place */
  unsigned char *alone;         /* by node: 1: it is made of attributes alone */
  unsigned char *reasons;       /* by node that stays on the host: gemel_lift_reason */
  unsigned char *outputs_there; /* by output: 1: it is to lie on the device */
  gemel_lift_counts counts;
  gemel_error *error;
} gemel__lifting;

/* 1 for a node that is told of: on one of the two sides, neither an input nor a transfer. */
static inline int gemel__lift_is_told(const gemel__lifting *l, uint32_t node) {
  uint32_t op = gemel__node_at(l->from, node)->op;
  return (l->places[node] == GEMEL__LIFT_HOST || l->places[node] == GEMEL__LIFT_DEVICE) &&
         op != GEMEL__OP_input && op != GEMEL__OP_transfer;
}

/* 1 if output K of the new graph lies on the device. */
static inline int gemel__lift_output_there(const gemel__lifting *l, size_t k) {
  gemel__ref output = l->from->outputs[k];
  gemel_type type = gemel__node_type(l->from, output.node, output.output);
  return l->outputs_there[k] || gemel__type_at(l->from->context, type)->space == l->options.space;
}

/* Of the inputs of NODE how many are operands; what comes behind them are run-time sizes. */
static inline uint32_t gemel__lift_operands(const gemel_graph *graph, uint32_t node) {
  const gemel__node *record = gemel__node_at(graph, node);
  uint32_t count = record[1].in_begin - record->in_begin;
  uint32_t own = (uint32_t)gemel__node_op(graph, node)->record.min_inputs;
  return gemel__attrs_at(graph->context, record->attrs)->has_runtime && own < count ? own : count;
}

/* INPUTS[k], OUTPUTS[k], zeroed: 1 for those that are the host's in GRAPH and that OPTIONS take to
 * the device. GEMEL_NOT_FOUND: a word of a list names nothing. */
gemel_status gemel__lift_ports(const gemel_graph *graph, const gemel_lift_options *options,
                               unsigned char *inputs, unsigned char *outputs, gemel_error *error);

/* Fills PLACES and REASONS, which are zeroed, but for inputs: those are there already, as are dead
 * nodes' places. Nodes that may be on either side are GEMEL__LIFT_FREE. */
gemel_status gemel__lift_find_places(gemel__lifting *l);

/* Takes all that is free to the device, but for scalars that only run-time sizes are made of. */
gemel_status gemel__lift_aggressively(gemel__lifting *l);

/* Takes that to the device of which a call gets cheaper. */
gemel_status gemel__lift_cheaply(gemel__lifting *l);

/* The graph with nodes and transfers where PLACES say; every place is decided. ROWS: of REPORT, or
 * none. NULL with the error. */
gemel_graph *gemel__lift_build(gemel__lifting *l, gemel_lift_report *report);

/* ---- cost.c: what things take, in picoseconds ---- */

typedef struct gemel__lift_cost {
  int64_t host, device; /* to compute a node */
} gemel__lift_cost;

/* Room for what an operation's own hook looks at; begin with {0}. */
typedef struct gemel__lift_meter {
  gemel_view *views;
  gemel_attr *attrs;
  int64_t *sizes;
  size_t view_capacity, attr_capacity, size_capacity;
} gemel__lift_meter;

void gemel__lift_meter_clear(gemel__lift_meter *meter);

/* *COST: NODE's. GEMEL_NO_MEMORY. */
gemel_status gemel__lift_node_cost(gemel__lift_meter *meter, const gemel_graph *graph,
                                   uint32_t node, gemel__lift_cost *cost, gemel_error *error);

/* A transfer of a value of TYPE, either way. */
int64_t gemel__lift_transfer_cost(gemel_context *context, gemel_type type);

/* ---- report.c ---- */

/* Forgets what REPORT (may be NULL) holds of another lift. */
void gemel__lift_report_reset(gemel_lift_report *report);

/* Writes down counts and the nodes that stay. GEMEL_NO_MEMORY. */
gemel_status gemel__lift_report_fill(gemel_lift_report *report, const gemel__lifting *l);

/* Nodes of the operation OP: COUNT more went to the device, which took SECONDS, and CREATED nodes.
 */
gemel_status gemel__lift_report_add(gemel_lift_report *report, const gemel__op *op, double seconds,
                                    uint64_t created, gemel_error *error);

/* In *THERE, BODY with all of its inputs, outputs and nodes on the device of SPACE; only constants
 * and the like come from the host, when a call is planned. GEMEL_DECLINED if something in it is the
 * host's. */
gemel_status gemel__body_lift(const gemel_graph *body, int space, gemel_graph **there,
                              gemel_error *error);

#endif
