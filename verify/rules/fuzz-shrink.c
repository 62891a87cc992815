/* SPDX-License-Identifier: MIT
 *
 * Shrinks a finding of the fuzzer. Outputs are left out, and nodes, the last first, are replaced by
 * one of their operands or by an input, as long as the same check still finds something. This is
 * repeated until nothing more can be left out.
 */
#include <stdio.h>
#include <string.h>
#include "core/alloc.h"
#include "core/error.h"
#include "rules/fuzz.h"
#include "instances/rebuild.h"

enum { MOST_TRIES = 3000, LEAF_NAME = 24 };

struct shrinker {
  const gemel__fuzz *fuzz;
  gemel_graph *graph;
  uint64_t seed;
  gemel__fault *fault;
  int tries, leaves; /* LEAVES: how many inputs were added */
  gemel_error *error;
};

/* Replaces the shrinker's graph by GRAPH if the check finds something in it: 1; else 0; −1: memory
 * is out. */
static int take_if_worse(struct shrinker *s, gemel_graph *graph) {
  gemel__fault fault;
  gemel_status status =
      gemel__fuzz_check(s->fuzz, graph, 1u << s->fault->kind, s->seed, &fault, s->error);
  if (status == GEMEL_OK && fault.kind == s->fault->kind) {
    *s->fault = fault;
    gemel_graph_unref(s->graph);
    s->graph = graph;
    return 1;
  }
  gemel_graph_unref(graph);
  return status == GEMEL_NO_MEMORY ? -1 : 0;
}

/* Tries the graph that REBUILD makes. */
static int attempt(struct shrinker *s, const gemel__rebuild *rebuild) {
  gemel_error reason = {GEMEL_OK, 0, 0, ""};
  if (s->tries++ >= MOST_TRIES) {
    return 0;
  }
  gemel_graph *graph = gemel__rebuild_graph(rebuild, &reason);
  if (graph == NULL) {
    return reason.status == GEMEL_NO_MEMORY ? -1 : 0;
  }
  return take_if_worse(s, graph);
}

static gemel__rebuild whole(const struct shrinker *s) {
  gemel__rebuild r = {.from = s->graph};
  r.n_outputs = s->graph->n_outputs;
  r.outputs = s->graph->outputs;
  r.output_names = s->graph->output_names;
  return r;
}

/* Tries it without output K. */
static int drop_output(struct shrinker *s, size_t k) {
  gemel__rebuild r = whole(s);
  size_t n = r.n_outputs - 1, bytes = n * sizeof *r.outputs, words = n * sizeof *r.output_names;
  gemel__ref *outputs = gemel__alloc(bytes);
  const char **names = gemel__alloc(words);
  int took = -1;
  if (outputs != NULL && names != NULL) {
    for (size_t j = 0; j < n; j++) {
      outputs[j] = r.outputs[j + (j >= k)];
      names[j] = r.output_names[j + (j >= k)];
    }
    r.n_outputs = n;
    r.outputs = outputs;
    r.output_names = names;
    took = attempt(s, &r);
  }
  gemel__free(outputs, bytes);
  gemel__free(names, words);
  return took;
}

static int drop_outputs(struct shrinker *s) {
  int took = 0, any = 0;
  for (size_t k = s->graph->n_outputs; k-- > 0 && took >= 0 && s->graph->n_outputs > 1;) {
    took = drop_output(s, k);
    any |= took > 0;
  }
  return took < 0 ? took : any;
}

/* Tries it without the inputs that nothing reads. */
static int drop_inputs(struct shrinker *s) {
  gemel__rebuild r = whole(s);
  size_t n = s->graph->n_inputs, unread = 0;
  unsigned char *keep = gemel__alloc_array(n + 1, 1), *live;
  int took = -1;
  live = gemel__alloc_array(s->graph->n_nodes, 1);
  if (keep != NULL && live != NULL) {
    gemel__graph_live(s->graph, live);
    for (size_t k = 0; k < n; k++) {
      keep[k] = live[s->graph->inputs[k].node];
      unread += !keep[k];
    }
    r.keep_inputs = keep;
    took = unread > 0 ? attempt(s, &r) : 0;
  }
  gemel__free(live, s->graph->n_nodes);
  gemel__free(keep, n + 1);
  return took;
}

/* Tries it with NODE replaced as EDIT says. */
static int edit_node(struct shrinker *s, uint32_t node, const gemel__edit *edit) {
  gemel__rebuild r = whole(s);
  size_t n = s->graph->n_nodes;
  gemel__edit *edits = gemel__alloc_array(n, sizeof *edits);
  gemel_type type = gemel__node_type(s->graph, node, 0);
  char leaf[LEAF_NAME];
  const char *name = leaf;
  int took = -1;
  if (edits != NULL) {
    snprintf(leaf, sizeof leaf, "v%d", s->leaves);
    s->leaves += edit->kind == GEMEL__EDIT_LEAF;
    edits[node] = *edit;
    r.edits = edits;
    r.n_leaves = edit->kind == GEMEL__EDIT_LEAF;
    r.leaf_names = &name;
    r.leaf_types = &type;
    took = attempt(s, &r);
  }
  gemel__free(edits, n * sizeof *edits);
  return took;
}

/* Tries NODE as each of its operands, and as an input. */
static int simplify_node(struct shrinker *s, uint32_t node) {
  uint32_t count;
  const gemel__ref *inputs = gemel__node_inputs(s->graph, node, &count);
  gemel__edit leaf = {GEMEL__EDIT_LEAF, {0, 0}, 0, NULL};
  int took = 0;
  if (s->graph->nodes[node].n_outputs != 1 || s->graph->nodes[node].op == GEMEL__OP_input) {
    return 0;
  }
  for (uint32_t k = 0; k < count && took == 0; k++) {
    gemel__edit edit = {GEMEL__EDIT_VALUE, inputs[k], 0, NULL};
    if (gemel_type_equal(gemel__node_type(s->graph, inputs[k].node, inputs[k].output),
                         gemel__node_type(s->graph, node, 0))) {
      took = edit_node(s, node, &edit);
    }
  }
  return took != 0 ? took : edit_node(s, node, &leaf);
}

static int simplify_nodes(struct shrinker *s) {
  int took = 0, any = 0;
  for (size_t k = s->graph->n_nodes; k-- > 0 && took >= 0;) {
    if (k < s->graph->n_nodes) { /* the graph may have become smaller */
      took = simplify_node(s, (uint32_t)k);
      any |= took > 0;
    }
  }
  return took < 0 ? took : any;
}

gemel_graph *gemel__fuzz_shrink(const gemel__fuzz *fuzz, const gemel_graph *graph, uint64_t seed,
                                gemel__fault *fault, gemel_error *error) {
  struct shrinker s = {fuzz, gemel_graph_ref((gemel_graph *)graph), seed, fault, 0, 0, error};
  int any = 1;
  while (any > 0 && s.tries < MOST_TRIES) {
    int outputs = drop_outputs(&s), nodes = outputs < 0 ? -1 : simplify_nodes(&s);
    int inputs = nodes < 0 ? -1 : drop_inputs(&s);
    any = outputs < 0 || nodes < 0 || inputs < 0 ? -1 : outputs | nodes;
  }
  if (any < 0) {
    gemel_graph_unref(s.graph);
    gemel__no_memory(error, "shrinking");
    return NULL;
  }
  return s.graph;
}
