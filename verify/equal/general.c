/* SPDX-License-Identifier: MIT
 *
 * Constants as inputs, see general.h. Two graphs that are equal for any weights are equal for
 * theirs. That is also the easier question: nothing is known of an input, so the field decides
 * formulas in it, while the root of a constant has no residue half of the time; sizes that only the
 * weights fixed may be scaled; and small numbers are drawn in place of full significands.
 *
 * A tensor becomes an input if it depends on no input (a constant, or computed from constants
 * alone) and an operation of the first graph takes it together with a value that does. If the
 * second graph has other constants there, the pair hardly passes, and nothing is concluded.
 * Constants of rank 0 stay, as a 2 is more often part of the formula; those that are computed
 * become inputs too.
 */
#include "equal/general.h"

#include <stdio.h>
#include <string.h>
#include "core/alloc.h"
#include "core/dtype.h"
#include "core/error.h"
#include "pairs/joint.h"
#include "equal/closed.h"
#include "equal/question.h"
#include "equal/signs.h"
#include "instances/rebuild.h"
#include "pairs/scale.h"

enum { ROUNDS = 2, MOST_INPUTS = 4096 };

struct general {
  gemel__joint joint;
  unsigned char *closed; /* a byte a node: depends on no input */
  unsigned char *needed; /* a byte a node: the first graph needs it */
  unsigned char *facts;  /* a byte a node: what is known of its elements (signs.h) */
  gemel__edit *edits;
  size_t n_leaves;
  gemel_graph *a, *b;
};

static void mark_needed(struct general *g) {
  for (size_t k = 0; k < g->joint.n_outputs; k++) {
    g->needed[g->joint.left[k].node] = 1;
  }
  for (uint32_t k = (uint32_t)g->joint.n_nodes; k-- > 0;) {
    uint32_t count;
    const gemel__ref *inputs = gemel__node_inputs(g->joint.graph, k, &count);
    for (uint32_t j = 0; j < count && g->needed[k]; j++) {
      g->needed[inputs[j].node] = 1;
    }
  }
}

/* 1 for a float tensor, or a float number that is computed. */
static int may_vary(const gemel_graph *graph, uint32_t node) {
  if (!gemel__has_output(graph, node, 0) || gemel__has_output(graph, node, 1)) {
    return 0;
  }
  const struct gemel__type *type = gemel__type_at(graph->context, gemel__node_type(graph, node, 0));
  return gemel__is_float((gemel_dtype)type->dtype) &&
         (type->rank > 0 || gemel__node_at(graph, node)->op != GEMEL__OP_constant);
}

static void make_leaf(struct general *g, uint32_t node) {
  gemel__edit *edit = &g->edits[node];
  if (edit->kind == GEMEL__EDIT_KEEP && g->n_leaves < MOST_INPUTS &&
      may_vary(g->joint.graph, node)) {
    edit->kind = GEMEL__EDIT_LEAF;
    edit->leaf = g->n_leaves++;
  }
}

/* Makes inputs of values that depend on no input and are operands, in the first graph, of a node
 * that does; or of the constants themselves that the first graph needs. */
static void choose_leaves(struct general *g, int constants) {
  for (uint32_t k = 0; k < g->joint.n_nodes; k++) {
    uint32_t count;
    const gemel__ref *inputs = gemel__node_inputs(g->joint.graph, k, &count);
    if (constants && g->needed[k] && count == 0 && g->closed[k]) {
      make_leaf(g, k);
    }
    for (uint32_t j = 0; j < count && g->needed[k] && !g->closed[k] && !constants; j++) {
      if (g->closed[inputs[j].node]) {
        make_leaf(g, inputs[j].node);
      }
    }
  }
}

/* Assumes of the new inputs of GRAPH what is true of the constants. */
static gemel_status assume(const struct general *g, gemel_graph *graph) {
  size_t first = gemel_graph_input_count(g->joint.graph);
  gemel_status status = GEMEL_OK;
  for (uint32_t k = 0; k < g->joint.n_nodes && status == GEMEL_OK; k++) {
    if (g->edits[k].kind == GEMEL__EDIT_LEAF && g->facts[k] != 0) {
      status = gemel_assume(gemel_graph_input(graph, first + g->edits[k].leaf), g->facts[k]);
    }
  }
  return status;
}

static gemel_graph *rebuild(struct general *g, const gemel_graph *like, const gemel__ref *outputs,
                            gemel_error *error) {
  size_t n = g->joint.n_outputs;
  const char **names = gemel__alloc_array(n + g->n_leaves, sizeof *names);
  gemel_type *types = gemel__alloc_array(g->n_leaves, sizeof *types);
  char(*labels)[32] = gemel__alloc_array(g->n_leaves, sizeof *labels);
  gemel__rebuild how = {g->joint.graph, g->edits, NULL,    g->n_leaves, names + n,
                        types,          n,        outputs, names};
  gemel_graph *result = NULL;
  if (names != NULL && types != NULL && labels != NULL) {
    for (size_t k = 0; k < n; k++) {
      names[k] = gemel_graph_output_name(like, k);
    }
    for (uint32_t k = 0; k < g->joint.n_nodes; k++) {
      size_t leaf = g->edits[k].leaf;
      if (g->edits[k].kind == GEMEL__EDIT_LEAF) {
        types[leaf] = gemel__node_type(g->joint.graph, k, 0);
        snprintf(labels[leaf], sizeof labels[leaf], "constant_%zu", leaf);
        names[n + leaf] = labels[leaf];
      }
    }
    result = gemel__rebuild_graph(&how, error);
    if (result != NULL && assume(g, result) != GEMEL_OK) {
      gemel__no_memory(error, "constants");
      gemel_graph_unref(result);
      result = NULL;
    }
  } else {
    gemel__no_memory(error, "constants");
  }
  gemel__free(names, (n + g->n_leaves) * sizeof *names);
  gemel__free(types, g->n_leaves * sizeof *types);
  gemel__free(labels, g->n_leaves * sizeof *labels);
  return result;
}

/* Makes both graphs. GEMEL_DECLINED: there is no such constant. */
static gemel_status make(struct general *g, const gemel_graph *a, const gemel_graph *b,
                         int constants, gemel_error *error) {
  gemel_status status = gemel__joint_make(&g->joint, a, b, error);
  if (status != GEMEL_OK) {
    return status;
  }
  g->closed = gemel__alloc_zeroed(g->joint.n_nodes + 1);
  g->needed = gemel__alloc_zeroed(g->joint.n_nodes + 1);
  g->edits = gemel__alloc_zeroed((g->joint.n_nodes + 1) * sizeof *g->edits);
  g->facts = gemel__alloc_zeroed(g->joint.n_nodes + 1);
  if (g->closed == NULL || g->needed == NULL || g->edits == NULL || g->facts == NULL) {
    return gemel__no_memory(error, "constants");
  }
  gemel__closed_mark(g->joint.graph, g->closed);
  mark_needed(g);
  choose_leaves(g, constants);
  if (g->n_leaves == 0) {
    return GEMEL_DECLINED;
  }
  status = gemel__closed_facts(g->joint.graph, g->facts, error);
  if (status != GEMEL_OK) {
    return status;
  }
  g->a = rebuild(g, a, g->joint.left, error);
  g->b = g->a != NULL ? rebuild(g, a, g->joint.right, error) : NULL;
  return g->b != NULL ? GEMEL_OK : error->status;
}

static void clear(struct general *g) {
  gemel__free(g->closed, g->joint.n_nodes + 1);
  gemel__free(g->needed, g->joint.n_nodes + 1);
  gemel__free(g->facts, g->joint.n_nodes + 1);
  gemel__free(g->edits, (g->joint.n_nodes + 1) * sizeof *g->edits);
  gemel__joint_clear(&g->joint);
  gemel_graph_unref(g->a);
  gemel_graph_unref(g->b);
}

/* Scales large sizes if both graphs can be scaled; TEXT says which. */
static void scale(struct general *g, char *text) {
  gemel__scaling scaling;
  gemel_graph *a = NULL, *b = NULL;
  gemel__scaling_find(g->a, g->b, &scaling);
  if (scaling.n > 0 && (a = gemel__graph_scaled(g->a, &scaling, NULL)) != NULL &&
      (b = gemel__graph_scaled(g->b, &scaling, NULL)) != NULL &&
      gemel__pair_check(a, b, NULL) == GEMEL_OK) {
    gemel_graph *t = g->a;
    g->a = a;
    a = t;
    t = g->b;
    g->b = b;
    b = t;
    gemel__scaling_text(&scaling, text, GEMEL__MOST_SCALED_TEXT);
  }
  gemel_graph_unref(a);
  gemel_graph_unref(b);
}

static gemel_status ask(gemel__run *run, const char *name, const struct general *g,
                        gemel__answer *total, size_t *instances, gemel_error *error) {
  gemel_status status = GEMEL_OK;
  *instances = 0;
  for (size_t k = 0; k < ROUNDS && status == GEMEL_OK; k++) {
    gemel__question how = {.compare_domain = GEMEL__IEEE_DECIDES,
                           .trials = 4,
                           .all_compared = 1,
                           .keep_sites = 1,
                           .ticker = run->ticker};
    gemel__random random;
    gemel__pair pair;
    gemel__answer answer;
    gemel__run_random(run, name, GEMEL_TIER_REAL, gemel__aside(GEMEL__ASIDE_GENERAL + k), &random);
    status = gemel__pair_draw(&pair, g->a, g->b, &random, error);
    if (status != GEMEL_OK) {
      return status;
    }
    how.seed = gemel__random_bits(&random);
    how.points = gemel__equal_affordable(gemel__equal_share(run, &pair), run->options.instances);
    status = gemel__pair_decide(&pair, &how, &answer, error);
    if (status == GEMEL_OK && answer.verdict == GEMEL_VERDICT_REFUTED) {
      status = GEMEL_DECLINED;
    }
    if (status == GEMEL_OK && gemel__answer_merge(total, &answer, (*instances)++) != 0) {
      status = gemel__no_memory(error, "decisions");
    }
    gemel__answer_clear(&answer);
    gemel__pair_clear(&pair);
  }
  if (status == GEMEL_OK) {
    gemel__answer_settle(total);
  }
  return status;
}

int gemel__general_decide(gemel__run *run, const char *name, const gemel_graph *a,
                          const gemel_graph *b, gemel__answer *answer, size_t *instances,
                          char *scaled) {
  struct general g;
  gemel_error error = {GEMEL_OK, 0, 0, ""};
  gemel_status status;
  memset(&g, 0, sizeof g);
  memset(answer, 0, sizeof *answer);
  answer->how = GEMEL_EVIDENCE_NONE;
  scaled[0] = '\0';
  gemel__sites_init(&answer->sites);
  status = make(&g, a, b, 0, &error);
  if (status == GEMEL_OK) {
    scale(&g, scaled);
    status = ask(run, name, &g, answer, instances, &error);
  }
  clear(&g);
  return status == GEMEL_NO_MEMORY ? -1
                                   : status == GEMEL_OK && answer->verdict == GEMEL_VERDICT_PASSED;
}

gemel_status gemel__general_make(const gemel_graph *a, const gemel_graph *b, int constants,
                                 gemel_graph *general[2], gemel_error *error) {
  struct general g;
  memset(&g, 0, sizeof g);
  gemel_status status = make(&g, a, b, constants, error);
  general[0] = g.a;
  general[1] = g.b;
  g.a = g.b = NULL;
  clear(&g);
  return status;
}
