/* SPDX-License-Identifier: MIT
 *
 * Kinds of nodes; see replay.h. They are in a small table by hash. Who comes first stays: graphs of
 * millions of nodes have a few kinds, and where they have more, the rules are asked.
 */
#include "grad/replay.h"

#include <string.h>
#include "core/alloc.h"
#include "ops/elementwise.h"

enum { RESULT = GEMEL__REPLAY_INPUTS, FLOW }; /* variables behind the inputs */

struct gemel__kind {
  uint32_t op, attrs, n_inputs;
  gemel_type types[GEMEL__REPLAY_INPUTS]; /* of inputs; GEMEL_TYPE_NONE behind the last */
  gemel_type flow;
  unsigned char known[GEMEL__REPLAY_INPUTS];   /* gemel__derivation */
  unsigned char carries[GEMEL__REPLAY_INPUTS]; /* of a float dtype */
  gemel__recipe recipes[GEMEL__REPLAY_INPUTS];
};

/* What a node's kind is told by. */
typedef struct signature {
  uint32_t op, attrs, n_inputs;
  gemel_type types[GEMEL__REPLAY_INPUTS], flow;
} signature;

/* Takes down NODE, which the cotangent FLOW reaches: the nodes of its inputs as well. 0: nodes like
 * this have no kind. A value that is not the only output of its node has a type here that no kind
 * has. */
static GEMEL__INLINE int sign(const gemel__sweep *s, uint32_t node, uint32_t flow, signature *g,
                              uint32_t inputs[GEMEL__REPLAY_INPUTS]) {
  const gemel__node *record = gemel__node_at(s->graph, node);
  const gemel__ref *refs = gemel__node_inputs(s->graph, node, &g->n_inputs);
  uint32_t k;
  if (record->n_outputs != 1 || g->n_inputs == 0 || g->n_inputs > GEMEL__REPLAY_INPUTS) {
    return 0;
  }
  g->op = record->op;
  g->attrs = record->attrs;
  g->flow = gemel__stored_type(s->graph, flow);
  for (k = 0; k < GEMEL__REPLAY_INPUTS; k++) {
    g->types[k] = GEMEL_TYPE_NONE;
    if (k < g->n_inputs) {
      inputs[k] = refs[k].node;
      g->types[k] = gemel__stored_type(s->graph, refs[k].node);
    }
  }
  return 1;
}

static GEMEL__INLINE size_t slot_of(const signature *g) {
  uint32_t key = g->op * 31 + g->attrs * 7 + g->types[0] + g->types[1] * 3 + g->types[2] * 5;
  return (key + g->flow * 11) % GEMEL__KINDS;
}

static GEMEL__INLINE int is_kind(const struct gemel__kind *kind, const signature *g) {
  return kind->op == g->op && kind->attrs == g->attrs && kind->flow == g->flow &&
         kind->types[0] == g->types[0] && kind->types[1] == g->types[1] &&
         kind->types[2] == g->types[2];
}

/* The cotangent of input K of KIND; 0: it is not known how to make it. */
static GEMEL__INLINE int follow(gemel__sweep *s, const struct gemel__kind *kind, uint32_t k,
                                uint32_t *room, gemel__replayed *r) {
  r->any[k] = 0;
  if (!kind->carries[k] || !gemel__sweep_active(s, room[k])) {
    return 1;
  }
  if (kind->known[k] != GEMEL__DERIVATION_RECIPE) {
    return kind->known[k] == GEMEL__DERIVATION_ZERO;
  }
  r->any[k] = 1;
  return gemel__recipe_follow(&kind->recipes[k], s->graph, room, r->where, &r->cotangents[k]) ==
         GEMEL_OK;
}

int gemel__replay(gemel__sweep *s, uint32_t node, gemel__replayed *r) {
  uint32_t flow = *gemel__sweep_slot(s, node, 0), room[GEMEL__RECIPE_ROOM];
  const struct gemel__kind *kind;
  signature g;
  uint32_t k;
  if ((flow & GEMEL__SEVERAL) || !sign(s, node, flow - 1, &g, room) ||
      (kind = s->kinds[slot_of(&g)]) == NULL || !is_kind(kind, &g)) {
    return 0;
  }
  room[RESULT] = node;
  room[FLOW] = flow - 1;
  r->n_inputs = kind->n_inputs;
  r->where = gemel__node_where(s->graph, node);
  for (k = 0; k < kind->n_inputs; k++) {
    r->inputs[k] = room[k];
    r->types[k] = kind->types[k];
    if (!follow(s, kind, k, room, r)) {
      return 0;
    }
  }
  return 1;
}

/* ---- Learning ---- */

/* A new kind; NULL when memory is out. */
static struct gemel__kind *kind_new(const gemel__sweep *s, const signature *g) {
  struct gemel__kind *kind = gemel__alloc_zeroed(sizeof *kind);
  uint32_t k;
  if (kind == NULL) {
    return NULL;
  }
  kind->op = g->op;
  kind->attrs = g->attrs;
  kind->n_inputs = g->n_inputs;
  kind->flow = g->flow;
  memcpy(kind->types, g->types, sizeof kind->types);
  for (k = 0; k < g->n_inputs; k++) {
    kind->carries[k] = (unsigned char)gemel__differentiable(s->graph, s->call.inputs[k].node,
                                                            s->call.inputs[k].output);
  }
  return kind;
}

/* 1 if the types say it all: no value is one of several of its node. */
static int is_plain(const signature *g) {
  return !((g->flow | g->types[0] | g->types[1] | g->types[2]) & GEMEL__SEVERAL);
}

void gemel__replay_learn(gemel__sweep *s, uint32_t node) {
  uint32_t flow = *gemel__sweep_slot(s, node, 0), inputs[GEMEL__REPLAY_INPUTS];
  signature g;
  struct gemel__kind *kind;
  size_t slot;
  uint32_t k;
  if (gemel__scalar_row_of(&s->op->record) == NULL || (flow & GEMEL__SEVERAL) ||
      !sign(s, node, flow - 1, &g, inputs) || !is_plain(&g)) {
    return;
  }
  slot = slot_of(&g);
  if (s->kinds[slot] == NULL && s->seen[slot]++ > 0) {
    s->kinds[slot] = kind_new(s, &g);
  }
  kind = s->kinds[slot];
  if (kind == NULL || !is_kind(kind, &g)) {
    return;
  }
  for (k = 0; k < kind->n_inputs; k++) {
    if (s->wanted[k] && kind->known[k] == GEMEL__DERIVATION_UNKNOWN) {
      kind->known[k] = (unsigned char)gemel__scalar_recipe(&s->call, k, &kind->recipes[k]);
    }
  }
}

void gemel__replay_clear(gemel__sweep *s) {
  size_t k;
  for (k = 0; k < GEMEL__KINDS; k++) {
    gemel__free(s->kinds[k], sizeof *s->kinds[k]);
  }
}
