/* SPDX-License-Identifier: MIT
 *
 * Changes of a sketch that don't ask what it computes: how constants stand in the file, what is an
 * output, what is used twice, what nothing uses, names and symbols, nodes that a branch or a loop
 * has. A change may make a sketch that is no model; who asks for it has it read.
 */
#include <stdio.h>
#include <string.h>
#include "models/sketch.h"

/* ---- Looking about ---- */

int gemel__sketch_uses(const gemel__sketch *d, const char *name) {
  int uses = 0;
  for (size_t k = 0; k < d->n_nodes; k++) {
    for (int i = 0; i < d->nodes[k].n_inputs; i++) {
      uses += strcmp(d->nodes[k].inputs[i], name) == 0;
    }
  }
  for (size_t k = 1; k < d->n_graphs; k++) {
    for (int i = 0; i < d->graphs[k].n_outputs; i++) {
      uses += strcmp(d->graphs[k].outputs[i], name) == 0;
    }
  }
  return uses;
}

static size_t below(gemel__random *random, size_t n) {
  return (size_t)gemel__random_below(random, n);
}

static int is_output(const gemel__sketch *d, const char *name) {
  int is = 0;
  for (size_t k = 0; k < d->n_outputs; k++) {
    is |= strcmp(d->outputs[k].name, name) == 0;
  }
  return is;
}

static int add_output(gemel__sketch *d, const char *name) {
  if (is_output(d, name) || d->n_outputs == GEMEL__SKETCH_RESULTS) {
    return 0;
  }
  memset(&d->outputs[d->n_outputs], 0, sizeof d->outputs[0]);
  strcpy(d->outputs[d->n_outputs++].name, name);
  return 1;
}

void gemel__sketch_end(gemel__sketch *d) {
  d->n_outputs = 0;
  for (size_t k = 0; k < d->n_known; k++) {
    if (gemel__sketch_uses(d, d->known[k].name) == 0) {
      add_output(d, d->known[k].name);
    }
  }
}

/* A node of the model's own graph, or NULL. */
static gemel__sketch_node *any_node(gemel__sketch *d, gemel__random *random) {
  gemel__sketch_node *n = d->n_nodes > 0 ? &d->nodes[below(random, d->n_nodes)] : NULL;
  return n != NULL && n->graph == 0 && n->n_inputs > 0 ? n : NULL;
}

static gemel__sketch_value *any_known(gemel__sketch *d, gemel__random *random) {
  return d->n_known > 0 ? &d->known[below(random, d->n_known)] : NULL;
}

static gemel__sketch_constant *any_constant(gemel__sketch *d, gemel__random *random) {
  gemel__sketch_constant *c =
      d->n_constants > 0 ? &d->constants[below(random, d->n_constants)] : NULL;
  return c != NULL && c->form <= GEMEL__FORM_NODE && c->value.graph == 0 ? c : NULL;
}

static void rename_uses(gemel__sketch *d, const char *from, const char *to) {
  for (size_t k = 0; k < d->n_nodes; k++) {
    for (int i = 0; i < d->nodes[k].n_inputs; i++) {
      if (strcmp(d->nodes[k].inputs[i], from) == 0) {
        strcpy(d->nodes[k].inputs[i], to);
      }
    }
  }
}

static int same_type(const gemel__sketch_value *a, const gemel__sketch_value *b) {
  int same = a->dtype == b->dtype && a->rank == b->rank;
  for (int k = 0; same && k < a->rank; k++) {
    same = a->dims[k].size == b->dims[k].size && strcmp(a->dims[k].symbol, b->dims[k].symbol) == 0;
  }
  return same;
}

/* A node with one operand and one result. */
static gemel__sketch_node *add_unary(gemel__sketch *d, const char *op, const char *operand) {
  gemel__sketch_node *n = gemel__sketch_node_add(d, op, 0);
  if (n != NULL) {
    strcpy(n->inputs[0], operand);
    n->n_inputs = 1;
  }
  return n;
}

/* ---- Constants ---- */

static int change_forms(gemel__sketch *d, gemel__random *random) {
  for (size_t k = 0; k < d->n_constants; k++) {
    gemel__sketch_constant *c = &d->constants[k];
    if (c->form <= GEMEL__FORM_NODE) {
      size_t kind = below(random, 8);
      c->form = kind < 4                         ? GEMEL__FORM_INITIALISER
                : kind < 7 || c->value.graph > 0 ? GEMEL__FORM_NODE
                                                 : GEMEL__FORM_INPUT;
    }
  }
  return d->n_constants > 0;
}

static int same_constant(const gemel__sketch *d, const gemel__sketch_constant *a,
                         const gemel__sketch_constant *b) {
  return a != b && a->form <= GEMEL__FORM_NODE && b->form <= GEMEL__FORM_NODE &&
         a->value.graph == b->value.graph && same_type(&a->value, &b->value) &&
         memcmp(d->numbers + a->at, d->numbers + b->at, a->count * sizeof *d->numbers) == 0;
}

static int share_constants(gemel__sketch *d, gemel__random *random) {
  int shared = 0;
  (void)random;
  for (size_t k = 0; k < d->n_constants; k++) {
    for (size_t i = 0; i < k; i++) {
      if (same_constant(d, &d->constants[k], &d->constants[i])) {
        rename_uses(d, d->constants[k].value.name, d->constants[i].value.name);
        d->constants[k].form = GEMEL__FORM_GONE;
        shared = 1;
      }
    }
  }
  return shared;
}

/* A constant that the caller gives instead. */
static int open_constant(gemel__sketch *d, gemel__random *random) {
  gemel__sketch_constant *c = any_constant(d, random);
  if (c == NULL || d->n_inputs == GEMEL__SKETCH_VALUES) {
    return 0;
  }
  d->inputs[d->n_inputs++] = c->value;
  c->form = GEMEL__FORM_GONE;
  return 1;
}

static int unused_constant(gemel__sketch *d, gemel__random *random) {
  gemel__sketch_constant *c = gemel__sketch_constant_add(d, "unused", 1);
  if (c != NULL) {
    c->value.dtype = GEMEL_F32;
    c->form = below(random, 2) == 0 ? GEMEL__FORM_NODE : GEMEL__FORM_INITIALISER;
  }
  return c != NULL;
}

/* ---- Results ---- */

static int middle_output(gemel__sketch *d, gemel__random *random) {
  gemel__sketch_value *v = any_known(d, random);
  return v != NULL && add_output(d, v->name);
}

static int second_use(gemel__sketch *d, gemel__random *random) {
  static const char *const ops[] = {"Identity", "Neg", "Relu", "Shape", "Abs", "Not"};
  gemel__sketch_value *v = any_known(d, random);
  gemel__sketch_node *n = v != NULL ? add_unary(d, ops[below(random, 6)], v->name) : NULL;
  return n != NULL && add_output(d, n->results[0]);
}

static int dead_node(gemel__sketch *d, gemel__random *random) {
  gemel__sketch_value *v = any_known(d, random);
  return v != NULL && add_unary(d, "Identity", v->name) != NULL;
}

/* An input or a result as an output through Identity, or without. */
static int passed_output(gemel__sketch *d, gemel__random *random) {
  if (d->n_inputs == 0 || d->inputs[0].graph != 0) {
    return 0;
  }
  gemel__sketch_node *n = below(random, 3) > 0 ? add_unary(d, "Identity", d->inputs[0].name) : NULL;
  return add_output(d, n != NULL ? n->results[0] : d->inputs[0].name);
}

/* Identity on the way to one operand. Nodes stand in the order in which they are computed. */
static int detour(gemel__sketch *d, gemel__random *random) {
  gemel__sketch_node *n = any_node(d, random);
  if (n == NULL || d->n_nodes == GEMEL__SKETCH_NODES) {
    return 0;
  }
  size_t at = (size_t)(n - d->nodes), operand = below(random, (size_t)n->n_inputs);
  if (n->inputs[operand][0] == '\0') {
    return 0;
  }
  gemel__sketch_node *made = add_unary(d, "Identity", n->inputs[operand]);
  gemel__sketch_node copy = *made;
  memmove(n + 1, n, (d->n_nodes - 1 - at) * sizeof *n);
  *n = copy;
  strcpy(n[1].inputs[operand], copy.results[0]);
  return 1;
}

/* ---- Twins ---- */

/* A constant like C, of which one element is another. */
static gemel__sketch_constant *near_constant(gemel__sketch *d, gemel__random *random,
                                             const gemel__sketch_constant *c) {
  static const double steps[] = {-1, 1, 1e-9, 0x1p-20, 2};
  gemel__sketch_constant *made = c->count > 0 ? gemel__sketch_constant_add(d, "c", c->count) : NULL;
  if (made == NULL) {
    return NULL;
  }
  size_t at = made->at, k = below(random, c->count);
  gemel__sketch_name name;
  strcpy(name, made->value.name);
  memcpy(d->numbers + at, d->numbers + c->at, c->count * sizeof *d->numbers);
  double *x = &d->numbers[at + k];
  *x = *x == 0 && below(random, 2) == 0 ? -*x : *x + steps[below(random, 5)];
  made->value = c->value;
  strcpy(made->value.name, name);
  return made;
}

static gemel__sketch_constant *constant_of(gemel__sketch *d, const gemel__sketch_node *n) {
  for (size_t k = 0; k < d->n_constants; k++) {
    for (int i = 0; i < n->n_inputs; i++) {
      if (strcmp(d->constants[k].value.name, n->inputs[i]) == 0) {
        return &d->constants[k];
      }
    }
  }
  return NULL;
}

/* 1 if an operator may do without the attribute. */
static int is_optional(const gemel__sketch_node *n, const char *name) {
  static const char *const optional[] = {"keepdims", "perm",  "alpha",     "epsilon", "transA",
                                         "transB",   "start", "exclusive", "largest", "pads"};
  int is = strcmp(name, "axis") == 0 && strcmp(n->op, "Concat") != 0;
  for (size_t k = 0; k < sizeof optional / sizeof *optional; k++) {
    is |= strcmp(name, optional[k]) == 0;
  }
  return is;
}

/* A node once more, with an attribute left out, a constant that is nearly the same, its operands
 * the other way round, or nothing changed. */
static int twin_node(gemel__sketch *d, gemel__random *random) {
  gemel__sketch_node *n = any_node(d, random), *twin;
  if (n == NULL || n->n_results != 1 || (twin = gemel__sketch_node_add(d, n->op, 0)) == NULL) {
    return 0;
  }
  gemel__sketch_name result;
  strcpy(result, twin->results[0]);
  *twin = *n;
  strcpy(twin->results[0], result);
  gemel__sketch_constant *c = constant_of(d, n);
  gemel__sketch_constant *near =
      c != NULL && below(random, 4) > 0 ? near_constant(d, random, c) : NULL;
  for (int k = 0; near != NULL && k < twin->n_inputs; k++) {
    if (strcmp(twin->inputs[k], c->value.name) == 0) {
      strcpy(twin->inputs[k], near->value.name);
    }
  }
  if (near == NULL && n->n_attrs > 0 && is_optional(n, n->attrs[n->n_attrs - 1].name)) {
    twin->n_attrs--;
  } else if (near == NULL && twin->n_inputs == 2 && gemel__model_is_same(n->op) &&
             strcmp(n->op, "Clip") != 0) {
    strcpy(twin->inputs[0], n->inputs[1]);
    strcpy(twin->inputs[1], n->inputs[0]);
  }
  return add_output(d, result);
}

/* One value where there were two of its type. */
static int one_operand(gemel__sketch *d, gemel__random *random) {
  if (d->n_inputs < 2) {
    return 0;
  }
  size_t first = below(random, d->n_inputs), second = below(random, d->n_inputs);
  gemel__sketch_value *a = &d->inputs[first], *b = &d->inputs[second];
  if (first == second || a->graph != b->graph || !same_type(a, b)) {
    return 0;
  }
  rename_uses(d, b->name, a->name);
  *b = d->inputs[--d->n_inputs];
  return 1;
}

/* ---- Symbols ---- */

/* One size of an input has no number, or all sizes of inputs that are the same. */
static int symbol(gemel__sketch *d, gemel__random *random) {
  gemel__sketch_value *v = d->n_inputs > 0 ? &d->inputs[below(random, d->n_inputs)] : NULL;
  if (v == NULL || v->rank == 0 || v->graph != 0) {
    return 0;
  }
  gemel__sketch_dim *dim = &v->dims[below(random, (size_t)v->rank)], old = *dim;
  strcpy(dim->symbol, below(random, 8) == 0 ? "?" : "N");
  for (size_t k = 0; below(random, 2) == 0 && k < d->n_inputs; k++) {
    for (int i = 0; i < d->inputs[k].rank; i++) {
      gemel__sketch_dim *other = &d->inputs[k].dims[i];
      if (other->size == old.size && other->symbol[0] == '\0') {
        strcpy(other->symbol, "N");
      }
    }
  }
  return old.symbol[0] == '\0';
}

/* ---- Branches and loops ---- */

/* Moves all nodes into a graph whose outputs the model's are; its number, or 0. */
static int enclose(gemel__sketch *d, const char *name) {
  int graph = (int)d->n_graphs;
  if (d->n_graphs != 1 || d->n_outputs == 0) {
    return 0;
  }
  gemel__sketch_graph *g = &d->graphs[d->n_graphs++];
  memset(g, 0, sizeof *g);
  snprintf(g->name, sizeof g->name, "%s", name);
  for (size_t k = 0; k < d->n_outputs; k++) {
    int is_result = 0;
    for (size_t i = 0; i < d->n_known; i++) {
      is_result |= strcmp(d->known[i].name, d->outputs[k].name) == 0;
    }
    if (!is_result) {
      return 0;
    }
    strcpy(g->outputs[g->n_outputs++], d->outputs[k].name);
  }
  for (size_t k = 0; k < d->n_nodes; k++) {
    d->nodes[k].graph = graph;
  }
  return graph;
}

/* The node that has GRAPH in its attribute, and whose results are the model's outputs. */
static gemel__sketch_node *add_owner(gemel__sketch *d, const char *op, int graph,
                                     const char *attribute) {
  gemel__sketch_node *n = gemel__sketch_node_add(d, op, 0);
  if (n == NULL) {
    return NULL;
  }
  n->n_results = (int)d->n_outputs;
  for (int k = 0; k < n->n_results; k++) {
    gemel__sketch_fresh(d, "y", n->results[k]);
    strcpy(d->outputs[k].name, n->results[k]);
  }
  strcpy(n->attrs[0].name, attribute);
  n->attrs[0].kind = GEMEL__SKETCH_GRAPH;
  n->attrs[0].index = graph;
  n->n_attrs = 1;
  return n;
}

/* A scalar: an input, or the constant VALUE. */
static int scalar(gemel__sketch *d, gemel_dtype dtype, double value, int is_input,
                  gemel__sketch_name name) {
  gemel__sketch_constant *c = gemel__sketch_constant_add(d, "c", 1);
  if (c == NULL || d->n_inputs == GEMEL__SKETCH_VALUES) {
    return 0;
  }
  c->value.dtype = dtype;
  d->numbers[c->at] = value;
  strcpy(name, c->value.name);
  if (is_input) {
    d->inputs[d->n_inputs++] = c->value;
    c->form = GEMEL__FORM_GONE;
  }
  return 1;
}

/* The nodes of graph 1 once more, in a further graph, where they have the same names. One of
 * them may be another operator there. */
static int other_branch(gemel__sketch *d, gemel__random *random) {
  static const char *const pairs[][2] = {{"Add", "Sub"},  {"Mul", "Add"}, {"Relu", "Neg"},
                                         {"Min", "Max"},  {"Sub", "Mul"}, {"Neg", "Abs"},
                                         {"Tanh", "Relu"}};
  size_t count = d->n_nodes, changed = below(random, count + 1);
  if (2 * count >= GEMEL__SKETCH_NODES) {
    return 0;
  }
  for (size_t k = 0; k < count; k++) {
    gemel__sketch_node *n = &d->nodes[d->n_nodes++];
    *n = d->nodes[k];
    n->graph = 2;
    for (size_t i = 0; k == changed && i < sizeof pairs / sizeof *pairs; i++) {
      if (strcmp(n->op, pairs[i][0]) == 0) {
        strcpy(n->op, pairs[i][1]);
        break;
      }
    }
  }
  d->graphs[2] = d->graphs[1];
  strcpy(d->graphs[2].name, "else");
  d->n_graphs = 3;
  return 1;
}

static int in_branch(gemel__sketch *d, gemel__random *random) {
  gemel__sketch_name condition;
  if (enclose(d, "then") == 0 || !other_branch(d, random)) {
    return 0;
  }
  gemel__sketch_node *n = add_owner(d, "If", 1, "then_branch");
  if (n == NULL ||
      !scalar(d, GEMEL_BOOL, (double)below(random, 2), below(random, 2) == 0, condition)) {
    return 0;
  }
  strcpy(n->inputs[0], condition);
  n->n_inputs = 1;
  n->attrs[1] = n->attrs[0];
  strcpy(n->attrs[1].name, "else_branch");
  n->attrs[1].index = 2;
  n->n_attrs = 2;
  return 1;
}

/* Each step computes the same, or what else the caller of the body makes of its number. */
static int in_loop(gemel__sketch *d, gemel__random *random) {
  static const char *const inputs[] = {"i", "go"};
  gemel__sketch_name steps;
  int graph = enclose(d, "body");
  gemel__sketch_node *go = graph > 0 ? gemel__sketch_node_add(d, "Identity", graph) : NULL;
  if (go == NULL || d->n_inputs + 2 > GEMEL__SKETCH_VALUES ||
      d->graphs[graph].n_outputs == GEMEL__SKETCH_RESULTS) {
    return 0;
  }
  gemel__sketch_graph *g = &d->graphs[graph];
  memmove(g->outputs[1], g->outputs[0], (size_t)g->n_outputs++ * sizeof g->outputs[0]);
  strcpy(g->outputs[0], go->results[0]);
  for (int k = 0; k < 2; k++) {
    gemel__sketch_value *v = &d->inputs[d->n_inputs];
    memset(v, 0, sizeof *v);
    gemel__sketch_fresh(d, inputs[k], v->name);
    v->dtype = k == 0 ? GEMEL_I64 : GEMEL_BOOL;
    v->graph = graph;
    d->n_inputs++;
  }
  strcpy(go->inputs[0], d->inputs[d->n_inputs - 1].name);
  go->n_inputs = 1;
  gemel__sketch_node *n = add_owner(d, "Loop", graph, "body");
  if (n == NULL || !scalar(d, GEMEL_I64, 1 + (double)below(random, 3), 0, steps)) {
    return 0;
  }
  strcpy(n->inputs[0], steps);
  n->n_inputs = 1;
  return 1;
}

int gemel__sketch_change(gemel__sketch *d, gemel__random *random, size_t k) {
  static int (*const changes[])(gemel__sketch *, gemel__random *) = {
      change_forms, share_constants, middle_output, second_use,   detour,
      twin_node,    symbol,          open_constant, one_operand,  dead_node,
      in_branch,    unused_constant, in_loop,       passed_output};
  return k < sizeof changes / sizeof *changes ? changes[k](d, random) : 0;
}
