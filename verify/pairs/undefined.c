/* SPDX-License-Identifier: MIT
 *
 * Where graphs are undefined, see undefined.h. Both are copied into one graph, where equal nodes
 * are one, and masks are built beside them, node by node (masks.h). So masks that are built alike
 * are the same value there.
 */
#include "pairs/undefined.h"

#include <stdio.h>
#include <string.h>
#include <gemel/composite.h>
#include "base/status.h"
#include "core/alloc.h"
#include "core/copy.h"
#include "core/cons.h"
#include "core/value.h"
#include "instances/assumed.h"
#include "instances/rebuild.h"
#include "pairs/masks.h"

enum { OF_ONE = 3 };

static const gemel_location nowhere = {"", 0};

/* One of the two graphs in the graph of both. By gemel__value_number: */
struct half {
  const gemel_graph *from;
  size_t n_values, most; /* MOST: operands of a node */
  gemel__ref *map;
  gemel_value *masks;
  unsigned char *live; /* by node */
  gemel_value *inputs; /* of a node, then their masks */
  size_t n_causes;
  struct caused {
    gemel__cause cause;
    gemel__ref values[OF_ONE]; /* its own mask, its operands */
  } causes[GEMEL__MOST_CAUSES];
};

struct both {
  const gemel_graph *a; /* the order of inputs and outputs */
  size_t n_outputs;
  gemel_graph *graph;
  struct half sides[2];
};

/* ---- The graphs in one ---- */

static gemel_status add_inputs(struct both *u, const gemel_graph *b, gemel_error *error) {
  for (size_t k = 0; k < gemel_graph_input_count(u->a); k++) {
    const char *name = gemel_graph_input_name(u->a, k);
    gemel_value like = gemel_graph_input(u->a, k);
    gemel_input_at(u->graph, name, gemel_value_type(like), gemel_value_where(like));
    if (gemel__input_add_marks(u->graph, k, gemel__facts_of_both(u->a, b, name)) != 0) {
      return gemel__no_memory(error, "masks of a graph");
    }
  }
  return gemel__graph_status(u->graph, error);
}

static gemel_status start_side(struct half *s, const gemel_graph *from, gemel_error *error) {
  s->from = from;
  s->n_values = gemel__value_count(from);
  for (uint32_t k = 0; k < from->n_nodes; k++) {
    uint32_t count;
    gemel__node_inputs(from, k, &count);
    s->most = count > s->most ? count : s->most;
  }
  s->map = gemel__alloc_array(s->n_values + 1, sizeof *s->map);
  s->masks = gemel__alloc_zeroed((s->n_values + 1) * sizeof *s->masks);
  s->live = gemel__alloc_zeroed(from->n_nodes + 1);
  s->inputs = gemel__alloc_array(2 * s->most + 1, sizeof *s->inputs);
  return s->map == NULL || s->masks == NULL || s->live == NULL || s->inputs == NULL
             ? gemel__no_memory(error, "masks of a graph")
             : GEMEL_OK;
}

static gemel_status copy_side(struct both *u, struct half *s, gemel_error *error) {
  for (size_t k = 0; k < s->n_values; k++) {
    s->map[k] = (gemel__ref){UINT32_MAX, 0};
  }
  for (size_t k = 0; k < gemel_graph_input_count(s->from); k++) {
    const char *name = gemel_graph_input_name(s->from, k);
    long at = gemel__name_find(&u->graph->input_table, u->graph->input_names, name);
    s->map[gemel__value_number(s->from, s->from->inputs[k])] = u->graph->inputs[at];
  }
  gemel__graph_live(s->from, s->live);
  gemel__copy_marked(u->graph, s->from, s->live, 1, s->map);
  return gemel__graph_status(u->graph, error);
}

/* ---- Masks ---- */

static void note_cause(struct half *s, const gemel__masked_node *node) {
  gemel_value own =
      node->partial && s->n_causes < GEMEL__MOST_CAUSES ? gemel__mask_own(node) : gemel__no_value;
  if (!gemel_is_null(own)) {
    gemel_value x = node->inputs[0], y = node->inputs[node->n_inputs - 1];
    s->causes[s->n_causes++] =
        (struct caused){{node->op, gemel__value_dtype(node->output), node->where},
                        {{own.node, own.output}, {x.node, x.output}, {y.node, y.output}}};
  }
}

static void mask_node(struct both *u, struct half *s, uint32_t id) {
  const gemel__node *record = gemel__node_at(s->from, id);
  uint32_t count;
  const gemel__ref *refs = gemel__node_inputs(s->from, id, &count);
  for (uint32_t k = 0; k < count; k++) {
    size_t number = gemel__value_number(s->from, refs[k]);
    s->inputs[k] = gemel__value(u->graph, s->map[number]);
    s->inputs[s->most + k] = s->masks[number];
  }
  for (uint32_t k = 0; k < record->n_outputs; k++) {
    size_t number = gemel__value_number(s->from, (gemel__ref){id, k});
    gemel__masked_node node = {.op = record->op,
                               .attrs = record->attrs,
                               .partial = gemel__is_partial(s->from, id),
                               .n_inputs = count,
                               .n_outputs = record->n_outputs,
                               .inputs = s->inputs,
                               .masks = s->inputs + s->most,
                               .output = gemel__value(u->graph, s->map[number]),
                               .where = gemel__node_where(s->from, id)};
    s->masks[number] = gemel__mask_of(&node, k);
    note_cause(s, &node);
  }
}

static gemel_status mask_side(struct both *u, struct half *s, gemel_error *error) {
  for (uint32_t id = 0; id < s->from->n_nodes && s->from->partial_capacity > 0; id++) {
    if (s->live[id] && gemel__node_at(s->from, id)->n_outputs > 0) {
      mask_node(u, s, id);
    }
  }
  return gemel__graph_status(u->graph, error);
}

/* ---- Outputs ---- */

/* The number in S of the output that is the first graph's output K. */
static size_t output_number(const struct both *u, const struct half *s, size_t k) {
  const char *name = gemel_graph_output_name(u->a, k);
  long at = gemel__name_find(&s->from->output_table, s->from->output_names, name);
  return gemel__value_number(s->from, s->from->outputs[at]);
}

static gemel_value output_mask(const struct both *u, int side, size_t k) {
  const struct half *s = &u->sides[side];
  return s->masks[output_number(u, s, k)];
}

static int is_same(gemel_value x, gemel_value y) {
  return x.graph == y.graph && x.node == y.node && x.output == y.output;
}

/* 1 if outputs of both graphs have the same masks. */
static int are_alike(const struct both *u) {
  size_t k = 0;
  while (k < u->n_outputs && is_same(output_mask(u, 0, k), output_mask(u, 1, k))) {
    k++;
  }
  return k == u->n_outputs;
}

/* What output K of a graph is made of. */
enum kind_made { MASK, DEFINED, EITHER };

static gemel__ref output_of(const struct both *u, enum kind_made what, int side, size_t k) {
  const struct half *s = &u->sides[side];
  gemel_value y = gemel__value(u->graph, s->map[output_number(u, s, k)]);
  gemel_value mask = output_mask(u, side, k), made = y;
  if (what != MASK) {
    mask = gemel__mask_either(output_mask(u, 0, k), output_mask(u, 1, k), nowhere);
  }
  if (what != DEFINED) {
    made = gemel__mask_like(mask, y, nowhere);
  } else if (!gemel_is_null(mask)) {
    gemel_value zero = gemel_scalar_at(u->graph, gemel__value_dtype(y), 0, nowhere);
    made = gemel_where_at(gemel__mask_like(mask, y, nowhere), zero, y, nowhere);
  }
  return (gemel__ref){made.node, made.output};
}

static gemel_graph *extract(const struct both *u, size_t n, const gemel__ref *outputs,
                            const char *const *names, gemel_error *error) {
  gemel__rebuild how = {
      .from = u->graph, .n_outputs = n, .outputs = outputs, .output_names = names};
  return gemel__rebuild_graph(&how, error);
}

static gemel_graph *make_graph(const struct both *u, enum kind_made what, int side,
                               gemel_error *error) {
  gemel__ref *outputs = gemel__alloc_array(u->n_outputs, sizeof *outputs);
  const char **names = gemel__alloc_array(u->n_outputs, sizeof *names);
  gemel_graph *made = NULL;
  if (outputs == NULL || names == NULL) {
    gemel__no_memory(error, "masks of a graph");
  } else {
    for (size_t k = 0; k < u->n_outputs; k++) {
      outputs[k] = output_of(u, what, side, k);
      names[k] = gemel_graph_output_name(u->a, k);
    }
    made = gemel__graph_status(u->graph, error) == GEMEL_OK
               ? extract(u, u->n_outputs, outputs, names, error)
               : NULL;
  }
  gemel__free(outputs, u->n_outputs * sizeof *outputs);
  gemel__free(names, u->n_outputs * sizeof *names);
  return made;
}

/* 1 if the other side has the same cause. */
static int is_shared(const struct both *u, int side, const struct caused *cause) {
  const struct half *other = &u->sides[1 - side];
  size_t k = 0;
  while (k < other->n_causes && other->causes[k].values[0].node != cause->values[0].node) {
    k++;
  }
  return k < other->n_causes;
}

static gemel_status make_causes(const struct both *u, int side, gemel__undefined *made,
                                gemel_error *error) {
  const struct half *s = &u->sides[side];
  char text[GEMEL__MOST_CAUSES * OF_ONE][24];
  const char *names[GEMEL__MOST_CAUSES * OF_ONE];
  gemel__ref outputs[GEMEL__MOST_CAUSES * OF_ONE];
  size_t n = 0;
  for (size_t k = 0; k < 2 * s->n_causes; k++) {
    const struct caused *cause = &s->causes[k % s->n_causes];
    if (is_shared(u, side, cause) != (k >= s->n_causes)) {
      continue;
    }
    made->cause[side][n / OF_ONE] = cause->cause;
    for (size_t i = 0; i < OF_ONE; i++, n++) {
      snprintf(text[n], sizeof text[n], "%c%zu", "cxy"[i], n / OF_ONE);
      names[n] = text[n];
      outputs[n] = cause->values[i];
    }
  }
  made->n_causes[side] = n / OF_ONE;
  made->causes[side] = n > 0 ? extract(u, n, outputs, names, error) : NULL;
  return n > 0 && made->causes[side] == NULL ? error->status : GEMEL_OK;
}

static gemel_status make_graphs(const struct both *u, gemel__undefined *made, gemel_error *error) {
  for (int k = 0; k < 2; k++) {
    int is_marked = 0;
    for (size_t i = 0; i < u->n_outputs; i++) {
      is_marked |= !gemel_is_null(output_mask(u, k, i));
    }
    made->defined[k] = make_graph(u, DEFINED, k, error);
    made->mask[k] = make_graph(u, MASK, k, error);
    made->is_partial[k] = is_marked;
    if (made->defined[k] == NULL || made->mask[k] == NULL) {
      return error->status;
    }
    GEMEL__TRY(make_causes(u, k, made, error));
  }
  made->either = make_graph(u, EITHER, 0, error);
  return made->either != NULL ? GEMEL_OK : error->status;
}

/* ---- All ---- */

static gemel_status build(struct both *u, const gemel_graph *b, gemel__undefined *made,
                          gemel_error *error) {
  u->graph = gemel_graph_new(gemel_graph_context(u->a), error);
  if (u->graph == NULL) {
    return error->status;
  }
  GEMEL__TRY(add_inputs(u, b, error));
  for (int k = 0; k < 2; k++) {
    GEMEL__TRY(start_side(&u->sides[k], k == 0 ? u->a : b, error));
    GEMEL__TRY(copy_side(u, &u->sides[k], error));
  }
  for (int k = 0; k < 2; k++) {
    GEMEL__TRY(mask_side(u, &u->sides[k], error));
  }
  return are_alike(u) ? GEMEL_DECLINED : make_graphs(u, made, error);
}

gemel_status gemel__undefined_make(const gemel_graph *a, const gemel_graph *b,
                                   gemel__undefined *undefined, gemel_error *error) {
  struct both u = {.a = a, .n_outputs = gemel_graph_output_count(a)};
  gemel_error mine = {GEMEL_OK, 0, 0, ""};
  memset(undefined, 0, sizeof *undefined);
  if ((a->partial_capacity == 0 && b->partial_capacity == 0) || gemel__graph_has_runtime_sizes(a) ||
      gemel__graph_has_runtime_sizes(b)) {
    return GEMEL_DECLINED;
  }
  gemel_status status = build(&u, b, undefined, error != NULL ? error : &mine);
  for (int k = 0; k < 2; k++) {
    struct half *s = &u.sides[k];
    gemel__free(s->map, (s->n_values + 1) * sizeof *s->map);
    gemel__free(s->masks, (s->n_values + 1) * sizeof *s->masks);
    gemel__free(s->live, s->from != NULL ? s->from->n_nodes + 1 : 0);
    gemel__free(s->inputs, (2 * s->most + 1) * sizeof *s->inputs);
  }
  gemel_graph_unref(u.graph);
  return status;
}

void gemel__undefined_clear(gemel__undefined *u) {
  for (int k = 0; k < 2; k++) {
    gemel_graph_unref(u->defined[k]);
    gemel_graph_unref(u->mask[k]);
    gemel_graph_unref(u->causes[k]);
  }
  gemel_graph_unref(u->either);
  memset(u, 0, sizeof *u);
}
