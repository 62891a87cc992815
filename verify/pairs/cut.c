/* SPDX-License-Identifier: MIT
 *
 * Cutting a pair, see cut.h. If both graphs apply exp to equal operands, the pair is cut there: the
 * operand becomes a result, and the result of exp an input, so that exp is in neither part. Whether
 * two operands are equal is decided in domain O at a few points. Some pairs are equal only by a
 * property of the function (exp(x) exp(−x) = 1); cut, they differ over the reals, and the cut is
 * given up.
 */
#include "pairs/cut.h"

#include <stdio.h>
#include <string.h>
#include "core/alloc.h"
#include "core/dtype.h"
#include "core/error.h"
#include "domains/ordered.h"
#include "instances/rebuild.h"
#include "instances/source.h"
#include "tiers/tiers.h"

enum { POINTS = 4, MAX_NODES = 400, CHECKS = 24 };

/* ---- All values ---- */

static gemel_status trace_outputs(const gemel_graph *graph, size_t *first, size_t n,
                                  gemel__ref *outputs, char (*labels)[32], const char **names) {
  size_t nodes = gemel_graph_node_count(graph), k, at = 0;
  for (k = 0; k < nodes; k++) {
    uint32_t j;
    first[k] = at;
    for (j = 0; gemel__has_output(graph, (uint32_t)k, j) && at < n; j++, at++) {
      outputs[at].node = (uint32_t)k;
      outputs[at].output = j;
      snprintf(labels[at], sizeof labels[at], "value_%zu", at);
      names[at] = labels[at];
    }
  }
  return GEMEL_OK;
}

static size_t count_values(const gemel_graph *graph) {
  size_t nodes = gemel_graph_node_count(graph), k, n = 0;
  for (k = 0; k < nodes; k++) {
    uint32_t j;
    for (j = 0; gemel__has_output(graph, (uint32_t)k, j); j++) {
      n++;
    }
  }
  return n;
}

gemel_status gemel__instance_trace(gemel__instance *all, const gemel__instance *instance,
                                   size_t *first, gemel_error *error) {
  size_t n = count_values(instance->graph), k;
  gemel__ref *outputs = gemel__alloc_array(n, sizeof *outputs);
  char(*labels)[32] = gemel__alloc_array(n, sizeof *labels);
  const char **names = gemel__alloc_array(n, sizeof *names);
  gemel__rebuild rebuild = {instance->graph, NULL, NULL, 0, NULL, NULL, n, outputs, names};
  gemel_graph *graph = NULL;
  gemel_error mine = {GEMEL_OK, 0, 0, ""};
  gemel_status status = GEMEL_OK;
  memset(all, 0, sizeof *all);
  if (outputs == NULL || labels == NULL || names == NULL) {
    status = gemel__no_memory(&mine, "a trace");
  } else {
    trace_outputs(instance->graph, first, n, outputs, labels, names);
    graph = gemel__rebuild_graph(&rebuild, &mine);
    status = graph == NULL ? mine.status : gemel__instance_of_graph(all, graph, NULL, &mine);
  }
  for (k = 0; status == GEMEL_OK && k < all->n_leaves; k++) {
    all->leaves[k] = instance->leaves[k];
  }
  gemel__free(outputs, n * sizeof *outputs);
  gemel__free(labels, n * sizeof *labels);
  gemel__free(names, n * sizeof *names);
  gemel_graph_unref(graph);
  if (status != GEMEL_OK && error != NULL) {
    *error = mine;
  }
  return status;
}

/* ---- Matching ---- */

struct side {
  const gemel_graph *graph;
  gemel__instance all;
  size_t n, n_values;
  size_t *first;
  gemel__rtensor *values; /* POINTS times n_values */
  unsigned char *candidate;
  size_t *leaf;    /* a node each: number of its leaf + 1; 0: it isn't cut */
  size_t *partner; /* a node of the second graph each: its node in the first, + 1 */
};

struct cutting {
  const gemel__pair *pair;
  struct side sides[2];
  gemel__ordered *o;
  size_t n_leaves;
};

static void find_candidates(struct side *s, int constants) {
  for (size_t k = 0; k < s->n; k++) {
    unsigned kinds = gemel__arithmetic(s->graph, (uint32_t)k);
    uint32_t count;
    const gemel__ref *inputs = gemel__node_inputs(s->graph, (uint32_t)k, &count);
    int single =
        gemel__has_output(s->graph, (uint32_t)k, 0) && !gemel__has_output(s->graph, (uint32_t)k, 1);
    if (single && (kinds & (GEMEL__FUNCTIONS | GEMEL__QUOTIENTS))) {
      s->candidate[k] = 1;
    }
    if (constants && kinds == GEMEL__QUOTIENTS && count == 2 &&
        gemel__node_at(s->graph, inputs[1].node)->op == GEMEL__OP_constant) {
      s->candidate[inputs[1].node] = 1;
    }
  }
}

static gemel_status open_side(struct side *s, const gemel__instance *instance, int constants,
                              gemel_error *error) {
  s->graph = instance->graph;
  s->n = gemel_graph_node_count(s->graph);
  s->n_values = count_values(s->graph);
  if (s->n > MAX_NODES) {
    return GEMEL_DECLINED;
  }
  s->first = gemel__alloc_array(s->n, sizeof *s->first);
  s->values = gemel__alloc_array(POINTS * s->n_values, sizeof *s->values);
  s->candidate = gemel__alloc_array(s->n, 1);
  s->leaf = gemel__alloc_array(s->n, sizeof *s->leaf);
  s->partner = gemel__alloc_array(s->n, sizeof *s->partner);
  if (s->first == NULL || s->values == NULL || s->candidate == NULL || s->leaf == NULL ||
      s->partner == NULL) {
    return gemel__no_memory(error, "cutting a pair");
  }
  find_candidates(s, constants);
  return gemel__instance_trace(&s->all, instance, s->first, error);
}

static void close_side(struct side *s) {
  if (s->values != NULL) {
    gemel__rtensors_clear(POINTS * s->n_values, s->values);
  }
  gemel__free(s->first, s->n * sizeof *s->first);
  gemel__free(s->values, POINTS * s->n_values * sizeof *s->values);
  gemel__free(s->candidate, s->n);
  gemel__free(s->leaf, s->n * sizeof *s->leaf);
  gemel__free(s->partner, s->n * sizeof *s->partner);
  gemel__instance_clear(&s->all);
}

/* Every second point is positive, for the sake of logarithms. */
static void make_positive(const gemel__instance *leaves, gemel_tensor **values) {
  for (size_t k = 0; k < leaves->n_leaves; k++) {
    const gemel__leaf *leaf = &leaves->leaves[k];
    for (size_t i = 0; i < leaf->count && gemel__is_float(leaf->dtype); i++) {
      void *at = (char *)gemel_tensor_data(values[k]) + i * gemel_dtype_size(leaf->dtype);
      double x = gemel__decode(leaf->dtype, at);
      gemel__store_real(leaf->dtype, x < 0 ? -x : x, at);
    }
  }
}

/* Point K: VALUES, which the caller releases, and those of all nodes of both sides. */
static gemel_status evaluate_point(struct cutting *c, size_t k, gemel__random *random,
                                   gemel_tensor **values, gemel_error *error) {
  const gemel__instance *leaves = &c->pair->a;
  GEMEL__TRY(gemel__instance_values(leaves, GEMEL__FILL_FULL, random, values, error));
  if (k % 2 == 0) {
    make_positive(leaves, values);
  }
  for (size_t side = 0; side < 2; side++) {
    struct side *s = &c->sides[side];
    GEMEL__TRY(gemel__instance_reference(&s->all, &c->o->domain, values,
                                         s->values + k * s->n_values, error));
  }
  return GEMEL_OK;
}

static gemel_status evaluate(struct cutting *c, gemel__random *random, gemel_error *error) {
  size_t n = c->pair->a.n_leaves;
  gemel_tensor **values = gemel__alloc_array(n, sizeof *values);
  gemel_status status = values == NULL ? gemel__no_memory(error, "cutting a pair") : GEMEL_OK;
  for (size_t k = 0; k < POINTS && status == GEMEL_OK; k++) {
    status = evaluate_point(c, k, random, values, error);
    gemel__tensors_release(n, values);
  }
  gemel__free(values, n * sizeof *values);
  return status;
}

/* 1 if two values agree at every point, and are defined at one at least. */
static int same_values(struct cutting *c, const struct side *s, gemel__ref x, const struct side *t,
                       gemel__ref y) {
  gemel__domain *d = &c->o->domain;
  size_t point, i, defined = 0;
  for (point = 0; point < POINTS; point++) {
    const gemel__rtensor *a = &s->values[point * s->n_values + s->first[x.node] + x.output];
    const gemel__rtensor *b = &t->values[point * t->n_values + t->first[y.node] + y.output];
    if (a->dtype != b->dtype || a->rank != b->rank ||
        memcmp(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape) != 0) {
      return 0;
    }
    for (i = 0; i < a->count; i++) {
      const void *p = gemel__rtensor_at(a, i), *q = gemel__rtensor_at(b, i);
      if (d->state(d, p) != d->state(d, q) || !gemel__ordered_overlap(d, p, q)) {
        return 0;
      }
      defined += d->state(d, p) == GEMEL__DEFINED;
    }
  }
  return defined > 0;
}

static int same_application(struct cutting *c, const struct side *s, size_t x, const struct side *t,
                            size_t y) {
  const gemel__node *a = gemel__node_at(s->graph, (uint32_t)x);
  const gemel__node *b = gemel__node_at(t->graph, (uint32_t)y);
  uint32_t n, m, j;
  const gemel__ref *p = gemel__node_inputs(s->graph, (uint32_t)x, &n);
  const gemel__ref *q = gemel__node_inputs(t->graph, (uint32_t)y, &m);
  if (a->op != b->op || a->attrs != b->attrs || n != m) {
    return 0;
  }
  for (j = 0; j < n; j++) {
    if (!same_values(c, s, p[j], t, q[j])) {
      return 0;
    }
  }
  return 1;
}

/* Numbers the leaves: one for each value that both graphs compute by such a function. */
static void match(struct cutting *c) {
  struct side *s = &c->sides[0], *t = &c->sides[1];
  for (size_t y = 0; y < t->n; y++) {
    for (size_t x = 0; x < s->n && t->candidate[y]; x++) {
      if (!s->candidate[x] || !same_application(c, s, x, t, y)) {
        continue;
      }
      if (s->leaf[x] == 0) {
        s->leaf[x] = t->leaf[y] != 0 ? t->leaf[y] : ++c->n_leaves;
      }
      if (t->leaf[y] == 0) {
        t->leaf[y] = s->leaf[x];
        t->partner[y] = x + 1;
      }
    }
  }
}

/* ---- Cutting ---- */

struct cut_plan {
  const struct cutting *c;
  size_t n_outputs, capacity;
  gemel__ref *outputs[2];
  char (*labels)[32];
  const char **names;
  gemel_type *types;
  char (*leaf_labels)[32];
  const char **leaf_names;
};

static void add_output(struct cut_plan *p, gemel__ref left, gemel__ref right, const char *name) {
  if (p->n_outputs < p->capacity) {
    size_t at = p->n_outputs++;
    p->outputs[0][at] = left;
    p->outputs[1][at] = right;
    p->names[at] = name;
    if (name == NULL) {
      snprintf(p->labels[at], sizeof p->labels[at], "operand_%zu", at);
      p->names[at] = p->labels[at];
    }
  }
}

static gemel__ref ref_of(gemel_value value) {
  gemel__ref ref = {value.node, value.output};
  return ref;
}

/* The graphs' own results, then the operands of what is cut. */
static void plan_outputs(struct cut_plan *p) {
  const struct side *s = &p->c->sides[0], *t = &p->c->sides[1];
  size_t n = gemel_graph_output_count(s->graph), k;
  for (k = 0; k < n; k++) {
    add_output(p, ref_of(gemel_graph_output(s->graph, k)), ref_of(gemel_graph_output(t->graph, k)),
               gemel_graph_output_name(s->graph, k));
  }
  for (k = 0; k < t->n; k++) {
    uint32_t count, j;
    const gemel__ref *right = gemel__node_inputs(t->graph, (uint32_t)k, &count);
    const gemel__ref *left;
    if (t->partner[k] == 0) {
      continue;
    }
    left = gemel__node_inputs(s->graph, (uint32_t)(t->partner[k] - 1), &count);
    for (j = 0; j < count; j++) {
      if (gemel__is_float(gemel__ref_dtype(s->graph, left[j]))) {
        add_output(p, left[j], right[j], NULL);
      }
    }
  }
}

static void plan_leaves(struct cut_plan *p) {
  const struct side *s = &p->c->sides[0];
  for (size_t k = 0; k < s->n; k++) {
    if (s->leaf[k] != 0) {
      size_t at = s->leaf[k] - 1;
      p->types[at] = gemel__node_type(s->graph, (uint32_t)k, 0);
      snprintf(p->leaf_labels[at], sizeof p->leaf_labels[at], "cut_%zu", at);
      p->leaf_names[at] = p->leaf_labels[at];
    }
  }
}

static gemel_status cut_side(const struct cut_plan *p, size_t side, gemel__instance *instance,
                             gemel_error *error) {
  const struct side *s = &p->c->sides[side];
  gemel__edit *edits = gemel__alloc_array(s->n, sizeof *edits);
  gemel__rebuild rebuild = {s->graph,      edits,    NULL,         p->c->n_leaves,
                            p->leaf_names, p->types, p->n_outputs, p->outputs[side],
                            p->names};
  gemel_error mine = {GEMEL_OK, 0, 0, ""};
  gemel_graph *graph;
  if (edits == NULL) {
    return gemel__no_memory(error, "cutting a pair");
  }
  for (size_t k = 0; k < s->n; k++) {
    if (s->leaf[k] != 0) {
      edits[k].kind = GEMEL__EDIT_LEAF;
      edits[k].leaf = s->leaf[k] - 1;
    }
  }
  graph = gemel__rebuild_graph(&rebuild, &mine);
  gemel_status status =
      graph == NULL ? mine.status : gemel__instance_of_graph(instance, graph, NULL, &mine);
  gemel_graph_unref(graph);
  gemel__free(edits, s->n * sizeof *edits);
  if (status != GEMEL_OK && error != NULL) {
    *error = mine;
  }
  return status;
}

static gemel_status cut_both(const struct cutting *c, gemel__pair *cut, gemel_error *error) {
  struct cut_plan p;
  gemel_status status;
  memset(&p, 0, sizeof p);
  p.c = c;
  p.capacity = gemel_graph_output_count(c->sides[0].graph) + 4 * c->sides[1].n;
  p.outputs[0] = gemel__alloc_array(2 * p.capacity, sizeof *p.outputs[0]);
  p.labels = gemel__alloc_array(p.capacity, sizeof *p.labels);
  p.names = gemel__alloc_array(p.capacity, sizeof *p.names);
  p.types = gemel__alloc_array(c->n_leaves, sizeof *p.types);
  p.leaf_labels = gemel__alloc_array(c->n_leaves, sizeof *p.leaf_labels);
  p.leaf_names = gemel__alloc_array(c->n_leaves, sizeof *p.leaf_names);
  if (p.outputs[0] == NULL || p.labels == NULL || p.names == NULL || p.types == NULL ||
      p.leaf_labels == NULL || p.leaf_names == NULL) {
    status = gemel__no_memory(error, "cutting a pair");
  } else {
    p.outputs[1] = p.outputs[0] + p.capacity;
    plan_outputs(&p);
    plan_leaves(&p);
    status = cut_side(&p, 0, &cut->a, error);
    status = status ? status : cut_side(&p, 1, &cut->b, error);
  }
  gemel__free(p.outputs[0], 2 * p.capacity * sizeof *p.outputs[0]);
  gemel__free(p.labels, p.capacity * sizeof *p.labels);
  gemel__free(p.names, p.capacity * sizeof *p.names);
  gemel__free(p.types, c->n_leaves * sizeof *p.types);
  gemel__free(p.leaf_labels, c->n_leaves * sizeof *p.leaf_labels);
  gemel__free(p.leaf_names, c->n_leaves * sizeof *p.leaf_names);
  return status;
}

/* Are the cut graphs still one function? Many points are tried: a maximum, say, may hide the
 * difference at most of them. */
static gemel_status still_equal(const gemel__pair *cut, gemel__random *random,
                                gemel__ticker *ticker, gemel_error *error) {
  gemel_tensor **values = gemel__alloc_array(cut->a.n_leaves, sizeof *values);
  gemel__trial trial = {NULL, random, &cut->b};
  gemel_status status = values == NULL ? gemel__no_memory(error, "cutting a pair") : GEMEL_OK;
  for (size_t k = 0; k < CHECKS && status == GEMEL_OK; k++) {
    gemel__outcome outcome;
    memset(&outcome, 0, sizeof outcome);
    status = gemel__instance_values(&cut->a, k % 4 == 0 ? GEMEL__FILL_FULL : GEMEL__FILL_POINTS,
                                    random, values, error);
    status = status ? status : gemel__check_pair(&cut->a, values, &trial, &outcome, error);
    gemel__tensors_release(cut->a.n_leaves, values);
    status = status ? status : outcome.refuted ? GEMEL_DECLINED : gemel__tick(ticker);
  }
  gemel__free(values, cut->a.n_leaves * sizeof *values);
  return status;
}

gemel_status gemel__pair_cut(gemel__pair *cut, const gemel__pair *pair, int constants,
                             gemel__random *random, gemel__ticker *ticker, gemel_error *error) {
  struct cutting c;
  memset(&c, 0, sizeof c);
  memset(cut, 0, sizeof *cut);
  c.pair = pair;
  c.o = gemel__ordered_new(256);
  gemel_status status = c.o == NULL ? gemel__no_memory(error, "cutting a pair")
                                    : open_side(&c.sides[0], &pair->a, constants, error);
  status = status ? status : open_side(&c.sides[1], &pair->b, constants, error);
  status = status ? status : evaluate(&c, random, error);
  if (status == GEMEL_OK) {
    match(&c);
    status = c.n_leaves > 0 ? cut_both(&c, cut, error) : GEMEL_DECLINED;
  }
  status = status ? status : still_equal(cut, random, ticker, error);
  if (status != GEMEL_OK) {
    gemel__pair_clear(cut);
  }
  close_side(&c.sides[0]);
  close_side(&c.sides[1]);
  gemel__ordered_free(c.o);
  return status == GEMEL_NO_MEMORY || status == GEMEL_OK ? status : GEMEL_DECLINED;
}
