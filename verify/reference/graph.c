/* SPDX-License-Identifier: MIT
 *
 * Evaluates a whole graph by references, in one loop over the nodes that an output needs (ids are a
 * topological order). For each node: the dims in its attributes are evaluated, its reference is
 * called, and the results are compared with the graph's types. A value is freed after its last use.
 *
 * Symbols get their numbers from the shapes of the inputs, wherever a size is a symbol by itself.
 * Sizes known at run time only are read from the integer scalars that nodes compute, and kept when
 * the scalar is freed.
 */
#include "core/dtype.h"
#include "core/graph.h"
#include "reference/common.h"
#include "reference/own.h"
#include "reference/twin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One output of one node. */
typedef struct output_slot {
  gemel__rtensor own; /* empty for graph inputs, and for values that are freed or not computed */
  const gemel__rtensor *value; /* &own, or a graph input */
  int64_t size;                /* the integer in a scalar, if HAS_SIZE */
  int has_size;
} output_slot;

typedef struct symbol {
  const char *name;
  int64_t value;
} symbol;

typedef struct evaluator {
  const gemel_graph *graph;
  gemel_context *context;
  gemel__domain *domain;
  const gemel__evaluation *within;
  gemel_error *error;
  size_t n_nodes, n_slots;
  output_slot *slots;
  uint32_t *first;    /* slot of each node's output 0, and the end */
  uint32_t *last_use; /* the last node that reads each node; KEPT for outputs, unless VISIT is */
  unsigned char *live;
  symbol *symbols; /* sorted by name */
  size_t n_symbols, symbol_capacity;
  uint32_t node;                  /* the current node */
  gemel__reference_visitor visit; /* gets each value that is computed; NULL: nobody */
  void *user;
} evaluator;

#define KEPT UINT32_MAX

static output_slot *slot_of(const evaluator *ev, uint32_t node, uint32_t output) {
  return &ev->slots[ev->first[node] + output];
}

/* ---- Dims ---- */

static int by_name(const void *a, const void *b) {
  return strcmp(((const symbol *)a)->name, ((const symbol *)b)->name);
}

/* *SIZE = the integer in a scalar of integer dtype; 1 if T is one and its value is known. */
static int read_size(gemel__domain *d, const gemel__rtensor *t, int64_t *size) {
  return t && t->rank == 0 && !gemel__is_float(t->dtype) &&
         d->to_integer(d, gemel__rtensor_at(t, 0), size);
}

/* Sets *VALUE for a symbol or a run-time size: 0, or −1 if it has none here. */
static int look_up(void *user, const gemel__atom *atom, int64_t *value) {
  const evaluator *ev = user;
  if (atom->kind == GEMEL__ATOM_SYMBOL) {
    symbol key = {atom->name, 0}, *found = NULL;
    if (ev->n_symbols > 0) {
      found = bsearch(&key, ev->symbols, ev->n_symbols, sizeof key, by_name);
    }
    *value = found ? found->value : 0;
    return found ? 0 : -1;
  }
  if (atom->kind == GEMEL__ATOM_INPUT) {
    uint32_t count;
    const gemel__ref *inputs = gemel__node_inputs(ev->graph, ev->node, &count);
    const output_slot *from =
        atom->a < count ? slot_of(ev, inputs[atom->a].node, inputs[atom->a].output) : NULL;
    return from && read_size(ev->domain, from->value, value) ? 0 : -1;
  }
  if (atom->a >= ev->n_nodes || !slot_of(ev, atom->a, atom->b)->has_size) {
    return -1;
  }
  *value = slot_of(ev, atom->a, atom->b)->size;
  return 0;
}

static gemel_status evaluate_dim(evaluator *ev, gemel_dim dim, int64_t *value) {
  gemel_status status = gemel__dim_evaluate(ev->context, dim, look_up, ev, value, ev->error);
  if (status == GEMEL_NOT_FOUND) {
    char text[200];
    gemel_dim_format(ev->context, dim, text, sizeof text);
    return gemel__fail(ev->error, GEMEL_BAD_VALUE, "the size %s has no value in domain %s", text,
                       ev->domain->name);
  }
  return status;
}

/* ---- Inputs ---- */

/* Collects the symbols that are a size of input T by themselves, with their numbers. */
static gemel_status collect_symbols(evaluator *ev, gemel_type type, const gemel__rtensor *t) {
  const gemel_dim *dims = gemel_type_dims(ev->context, type);
  for (int k = 0; k < t->rank; k++) {
    gemel__atom atom;
    if (!gemel__dim_is_atom(ev->context, dims[k], &atom) || atom.kind != GEMEL__ATOM_SYMBOL) {
      continue;
    }
    if (gemel__grow(&ev->symbols, &ev->symbol_capacity, ev->n_symbols + 1, sizeof *ev->symbols) !=
        0) {
      return gemel__no_memory(ev->error, "symbols");
    }
    ev->symbols[ev->n_symbols++] = (symbol){atom.name, t->shape[k]};
  }
  return GEMEL_OK;
}

/* Sorts the symbols, removes duplicates, and fails if one has two numbers. */
static gemel_status settle_symbols(evaluator *ev) {
  size_t kept = 0;
  if (ev->n_symbols == 0) {
    return GEMEL_OK;
  }
  qsort(ev->symbols, ev->n_symbols, sizeof *ev->symbols, by_name);
  for (size_t i = 0; i < ev->n_symbols; i++) {
    const symbol *last = kept ? &ev->symbols[kept - 1] : NULL;
    if (!last || by_name(last, &ev->symbols[i]) != 0) {
      ev->symbols[kept++] = ev->symbols[i];
    } else if (last->value != ev->symbols[i].value) {
      return gemel__fail(ev->error, GEMEL_BAD_SHAPE, "inputs give %s the sizes %lld and %lld",
                         last->name, (long long)last->value, (long long)ev->symbols[i].value);
    }
  }
  ev->n_symbols = kept;
  return GEMEL_OK;
}

/* 1 if T has the dtype, rank and sizes of TYPE, 0 if not, −1 if a size can't be evaluated. */
static int fits(evaluator *ev, gemel_type type, const gemel__rtensor *t) {
  const gemel_dim *dims = gemel_type_dims(ev->context, type);
  if (gemel_type_dtype(ev->context, type) != t->dtype ||
      gemel_type_rank(ev->context, type) != t->rank) {
    return 0;
  }
  for (int k = 0; k < t->rank; k++) {
    int64_t size;
    if (evaluate_dim(ev, dims[k], &size) != GEMEL_OK) {
      return -1;
    }
    if (size != t->shape[k]) {
      return 0;
    }
  }
  return 1;
}

/* "f32[2, 3]" */
static void describe(const gemel__rtensor *t, char *text, size_t bytes) {
  size_t used = (size_t)snprintf(text, bytes, "%s[", gemel_dtype_name(t->dtype));
  for (int k = 0; k < t->rank && used < bytes; k++) {
    used += (size_t)snprintf(text + used, bytes - used, "%s%lld", k ? ", " : "",
                             (long long)t->shape[k]);
  }
  if (used < bytes) {
    snprintf(text + used, bytes - used, "]");
  }
}

/* Fails with STATUS unless T fits TYPE; WHOSE says what T is. */
static gemel_status check_fit(evaluator *ev, gemel_type type, const gemel__rtensor *t,
                              gemel_status status, const char *whose) {
  char wanted[300], got[300];
  int fit = fits(ev, type, t);
  if (fit != 0) {
    return fit > 0 ? GEMEL_OK : GEMEL_BAD_VALUE;
  }
  gemel_type_format(ev->context, type, wanted, sizeof wanted);
  describe(t, got, sizeof got);
  return gemel__fail(ev->error, status, "%s gives %s, the graph says %s", whose, got, wanted);
}

static gemel_status bind_inputs(evaluator *ev, const gemel__rtensor *const *inputs) {
  const gemel_graph *graph = ev->graph;
  for (size_t k = 0; k < graph->n_inputs; k++) {
    gemel_type type = gemel__node_type(graph, graph->inputs[k].node, 0);
    output_slot *s = slot_of(ev, graph->inputs[k].node, 0);
    s->value = inputs[k];
    s->has_size = read_size(ev->domain, inputs[k], &s->size);
    if (gemel_type_rank(ev->context, type) != inputs[k]->rank) {
      return gemel__fail(ev->error, GEMEL_BAD_SHAPE, "input %s has rank %d", graph->input_names[k],
                         inputs[k]->rank);
    }
    GEMEL__TRY(collect_symbols(ev, type, inputs[k]));
  }
  GEMEL__TRY(settle_symbols(ev));
  for (size_t k = 0; k < graph->n_inputs; k++) {
    gemel_type type = gemel__node_type(graph, graph->inputs[k].node, 0);
    GEMEL__TRY(check_fit(ev, type, inputs[k], GEMEL_BAD_SHAPE, graph->input_names[k]));
  }
  return GEMEL_OK;
}

/* ---- Attributes ---- */

typedef struct numbers {
  gemel_attr *attrs;
  size_t n_attrs;
  int64_t *ints;
  size_t n_ints;
} numbers;

static void numbers_clear(numbers *n) {
  gemel__free(n->attrs, n->n_attrs * sizeof *n->attrs);
  gemel__free(n->ints, n->n_ints * sizeof *n->ints);
}

/* Replaces attribute A, a list of dims, by a list of integers, stored in INTS. */
static gemel_status number_list(evaluator *ev, gemel_attr *a, int64_t *ints) {
  for (size_t i = 0; i < a->count; i++) {
    GEMEL__TRY(evaluate_dim(ev, a->u.dims[i], &ints[i]));
  }
  a->kind = GEMEL_ATTR_LIST | GEMEL_ATTR_INT;
  a->u.ints = ints;
  return GEMEL_OK;
}

static gemel_status number_dims(evaluator *ev, numbers *n) {
  size_t used = 0;
  for (size_t k = 0; k < n->n_attrs; k++) {
    gemel_attr *a = &n->attrs[k];
    if (a->kind == GEMEL_ATTR_DIM) {
      int64_t value;
      GEMEL__TRY(evaluate_dim(ev, a->u.dim, &value));
      a->kind = GEMEL_ATTR_INT;
      a->u.i = value;
    } else if (a->kind == (GEMEL_ATTR_LIST | GEMEL_ATTR_DIM)) {
      size_t count = a->count;
      GEMEL__TRY(number_list(ev, a, n->ints + used));
      used += count;
    }
  }
  return GEMEL_OK;
}

/* N = the attributes of the current node with their dims evaluated. Clear N on failure too. */
static gemel_status number_attrs(evaluator *ev, numbers *n) {
  const struct gemel__attrs *attrs =
      gemel__attrs_at(ev->context, gemel__node_at(ev->graph, ev->node)->attrs);
  n->n_attrs = attrs->count;
  n->n_ints = 0;
  for (size_t k = 0; k < attrs->count; k++) {
    n->n_ints +=
        attrs->values[k].kind == (GEMEL_ATTR_LIST | GEMEL_ATTR_DIM) ? attrs->values[k].count : 0;
  }
  n->attrs = gemel__alloc_array(n->n_attrs, sizeof *n->attrs);
  n->ints = gemel__alloc_array(n->n_ints, sizeof *n->ints);
  if (!n->attrs || !n->ints) {
    return gemel__no_memory(ev->error, "attributes");
  }
  if (n->n_attrs > 0) {
    memcpy(n->attrs, attrs->values, n->n_attrs * sizeof *n->attrs);
  }
  return number_dims(ev, n);
}

/* ---- Going on ---- */

static _Thread_local struct {
  gemel_status (*ask)(void *user);
  void *user;
  size_t done;
} watch;

void gemel__reference_watch(gemel_status (*ask)(void *user), void *user) {
  watch.ask = ask;
  watch.user = user;
  watch.done = 0;
}

static gemel_status ask_ticker(void *user) {
  return gemel__tick(user);
}

void gemel__ticker_watch(gemel__ticker *ticker) {
  gemel__reference_watch(ticker != NULL ? ask_ticker : NULL, ticker);
}

void gemel__ticker_unfollowed(void) {
  gemel__ticker *ticker = watch.ask == ask_ticker ? watch.user : NULL;
  if (ticker != NULL) {
    atomic_store(&(ticker->first != NULL ? ticker->first : ticker)->unfollowed, 1);
  }
}

gemel_status gemel__reference_go_on(size_t done) {
  enum { OFTEN = 20000 }; /* some hundredths of a second of work */
  watch.done += done;
  if (watch.ask == NULL || watch.done < OFTEN) {
    return GEMEL_OK;
  }
  watch.done = 0;
  return watch.ask(watch.user);
}

/* ---- Nodes ---- */

/* Checks the outputs of the current node's reference and moves them into its slots. */
static gemel_status keep_outputs(evaluator *ev, gemel__rcall *call) {
  uint32_t n = gemel__node_at(ev->graph, ev->node)->n_outputs;
  gemel_status fault = gemel__node_op(ev->graph, ev->node)->id > ev->context->n_builtins
                           /* the program's reference or its type rule is wrong */
                           ? GEMEL_BAD_TYPE
                           : GEMEL_INTERNAL;
  if (call->n_outputs != n) {
    return gemel__fail(ev->error, fault, "the reference gives %zu outputs of %u", call->n_outputs,
                       (unsigned)n);
  }
  for (uint32_t k = 0; k < n; k++) {
    output_slot *s = slot_of(ev, ev->node, k);
    s->own = call->outputs[k];
    memset(&call->outputs[k], 0, sizeof call->outputs[k]);
    s->value = &s->own;
    s->has_size = read_size(ev->domain, &s->own, &s->size);
    GEMEL__TRY(
        check_fit(ev, gemel__node_type(ev->graph, ev->node, k), &s->own, fault, "the reference"));
  }
  return GEMEL_OK;
}

static void find_reference(evaluator *ev, gemel__rcall *call, gemel__reference *found) {
  const gemel__op *op = gemel__node_op(ev->graph, ev->node);
  *found = NULL;
  if (ev->within->extra) {
    *found = ev->within->extra(ev->within->user, op->id);
  }
  call->data = *found ? op->record.data : ev->within;
  if (!*found) {
    *found = op->row == NULL ? gemel__reference_own : gemel__twin_of(op->id)->reference;
  }
}

static gemel_status call_reference(evaluator *ev, gemel__rcall *call, numbers *n) {
  gemel__reference reference;
  GEMEL__TRY(number_attrs(ev, n));
  find_reference(ev, call, &reference);
  call->attrs = n->attrs;
  GEMEL__TRY(reference(call));
  return keep_outputs(ev, call);
}

/* Evaluates the current node; OPERANDS and the outputs in CALL have room for it. */
static gemel_status run_reference(evaluator *ev, gemel__rcall *call) {
  numbers n;
  gemel_status status = call_reference(ev, call, &n);
  gemel__rtensors_clear(call->max_outputs, call->outputs);
  numbers_clear(&n);
  return status;
}

static gemel_status evaluate_node(evaluator *ev) {
  uint32_t count, n_outputs = gemel__node_at(ev->graph, ev->node)->n_outputs;
  const gemel__ref *refs = gemel__node_inputs(ev->graph, ev->node, &count);
  const gemel__rtensor **operands = gemel__alloc_array(count, sizeof *operands);
  gemel__rcall call = {ev->domain,
                       count,
                       operands,
                       NULL,
                       0,
                       n_outputs,
                       NULL,
                       NULL,
                       ev->error,
                       gemel__node_op(ev->graph, ev->node)->record.name,
                       ev->within->user,
                       ev->context,
                       &gemel__node_op(ev->graph, ev->node)->record};
  call.outputs = gemel__alloc_array(n_outputs, sizeof *call.outputs);
  for (uint32_t k = 0; k < count && operands != NULL; k++) {
    operands[k] = slot_of(ev, refs[k].node, refs[k].output)->value;
  }
  gemel_status status = operands != NULL && call.outputs != NULL
                            ? run_reference(ev, &call)
                            : gemel__no_memory(ev->error, "operands");
  gemel__free(call.outputs, n_outputs * sizeof *call.outputs);
  gemel__free(operands, count * sizeof *operands);
  return status;
}

/* Adds to an error's message which node it is about. */
static gemel_status name_node(evaluator *ev, gemel_status status) {
  const gemel__node *node = gemel__node_at(ev->graph, ev->node);
  gemel__error_prefix(ev->error, "node %u, %s (%s:%u)", (unsigned)ev->node,
                      gemel__node_op(ev->graph, ev->node)->record.name,
                      ev->graph->files[node->file], (unsigned)node->line);
  return status;
}

static void free_slots(evaluator *ev, uint32_t node) {
  for (uint32_t i = ev->first[node]; i < ev->first[node + 1]; i++) {
    if (ev->slots[i].own.domain) {
      gemel__rtensor_clear(&ev->slots[i].own);
      memset(&ev->slots[i].own, 0, sizeof ev->slots[i].own);
      ev->slots[i].value = NULL;
    }
  }
}

/* Shows the values of the current node, and frees them if nobody reads them later. */
static void visit_node(evaluator *ev) {
  for (uint32_t i = ev->first[ev->node]; i < ev->first[ev->node + 1]; i++) {
    if (ev->slots[i].value != NULL) {
      ev->visit(ev->user, ev->node, i - ev->first[ev->node], ev->slots[i].value);
    }
  }
  if (ev->last_use[ev->node] <= ev->node) {
    free_slots(ev, ev->node);
  }
}

static gemel_status evaluate_nodes(evaluator *ev) {
  for (ev->node = 0; ev->node < ev->n_nodes; ev->node++) {
    uint32_t count;
    const gemel__ref *refs = gemel__node_inputs(ev->graph, ev->node, &count);
    if (!ev->live[ev->node] || slot_of(ev, ev->node, 0)->value) {
      continue; /* not needed, or an input */
    }
    if (ev->domain->observer) {
      ev->domain->observer->node(ev->domain->observer, ev->graph, ev->node);
    }
    gemel_status status = evaluate_node(ev);
    if (status != GEMEL_OK) {
      return name_node(ev, status);
    }
    status = gemel__reference_go_on(slot_of(ev, ev->node, 0)->value->count + 1);
    if (status != GEMEL_OK) {
      return gemel__fail(ev->error, status, "told to stop");
    }
    if (ev->visit != NULL) {
      visit_node(ev);
    }
    for (uint32_t k = 0; k < count; k++) {
      if (ev->last_use[refs[k].node] == ev->node) {
        free_slots(ev, refs[k].node);
      }
    }
  }
  return GEMEL_OK;
}

/* ---- Graphs ---- */

static gemel_status evaluator_init(evaluator *ev) {
  const gemel_graph *graph = ev->graph;
  ev->n_nodes = graph->n_nodes;
  for (size_t i = 0; i < ev->n_nodes; i++) {
    ev->n_slots += graph->nodes[i].n_outputs;
  }
  ev->slots = gemel__alloc_array(ev->n_slots, sizeof *ev->slots);
  ev->first = gemel__alloc_array(ev->n_nodes + 1, sizeof *ev->first);
  ev->last_use = gemel__alloc_array(ev->n_nodes, sizeof *ev->last_use);
  ev->live = gemel__alloc_array(ev->n_nodes, 1);
  if (!ev->slots || !ev->first || !ev->last_use || !ev->live) {
    return gemel__no_memory(ev->error, "an evaluation by references");
  }
  gemel__graph_live(graph, ev->live);
  for (uint32_t i = 0; i < ev->n_nodes; i++) {
    uint32_t count;
    const gemel__ref *refs = gemel__node_inputs(graph, i, &count);
    ev->first[i + 1] = ev->first[i] + graph->nodes[i].n_outputs;
    for (uint32_t k = 0; ev->live[i] && k < count; k++) {
      ev->last_use[refs[k].node] = i;
    }
  }
  for (size_t k = 0; k < graph->n_outputs && ev->visit == NULL; k++) {
    ev->last_use[graph->outputs[k].node] = KEPT;
  }
  return GEMEL_OK;
}

static void evaluator_clear(evaluator *ev) {
  for (uint32_t i = 0; ev->slots && ev->first && i < ev->n_nodes; i++) {
    free_slots(ev, i);
  }
  gemel__free(ev->slots, ev->n_slots * sizeof *ev->slots);
  gemel__free(ev->first, (ev->n_nodes + 1) * sizeof *ev->first);
  gemel__free(ev->last_use, ev->n_nodes * sizeof *ev->last_use);
  gemel__free(ev->live, ev->n_nodes);
  gemel__free(ev->symbols, ev->symbol_capacity * sizeof *ev->symbols);
}

static gemel_status copy_tensor(gemel__rtensor *copy, const gemel__rtensor *t, gemel_error *error) {
  GEMEL__TRY(gemel__rtensor_init(copy, t->domain, t->dtype, t->rank, t->shape, error));
  for (size_t i = 0; i < t->count; i++) {
    t->domain->set(t->domain, gemel__rtensor_at(copy, i), gemel__rtensor_at(t, i));
  }
  return GEMEL_OK;
}

/* Takes the graph's outputs; all of them, or none on failure. An input, or an output for the second
 * time, is copied. */
static gemel_status take_outputs(evaluator *ev, gemel__rtensor *outputs) {
  gemel_status status = GEMEL_OK;
  size_t k = 0;
  for (; status == GEMEL_OK && k < ev->graph->n_outputs; k++) {
    gemel__ref ref = ev->graph->outputs[k];
    output_slot *slot = slot_of(ev, ref.node, ref.output);
    if (slot->own.domain != NULL) {
      outputs[k] = slot->own;
      memset(&slot->own, 0, sizeof slot->own);
      slot->value = &outputs[k];
    } else {
      status = copy_tensor(&outputs[k], slot->value, ev->error);
    }
  }
  while (status != GEMEL_OK && k-- > 0) {
    if (outputs[k].domain) {
      gemel__rtensor_clear(&outputs[k]);
    }
  }
  return status;
}

gemel_status gemel__reference_body(const gemel_graph *graph, gemel__domain *d,
                                   const gemel__rtensor *const *inputs, gemel__rtensor *outputs,
                                   const gemel__evaluation *within, gemel_error *error) {
  evaluator ev = {graph, graph->context, d,    within, error, 0, 0,    NULL, NULL,
                  NULL,  NULL,           NULL, 0,      0,     0, NULL, NULL};
  gemel_status status = evaluator_init(&ev);
  status = status ? status : bind_inputs(&ev, inputs);
  status = status ? status : evaluate_nodes(&ev);
  status = status ? status : take_outputs(&ev, outputs);
  evaluator_clear(&ev);
  return status;
}

static gemel_status evaluate_types(evaluator *ev, const gemel__rtensor *const *inputs,
                                   gemel__rtensor *results) {
  const gemel_graph *graph = ev->graph;
  GEMEL__TRY(evaluator_init(ev));
  GEMEL__TRY(bind_inputs(ev, inputs));
  for (size_t k = 0; k < graph->n_outputs; k++) {
    gemel_type type = gemel__node_type(graph, graph->outputs[k].node, graph->outputs[k].output);
    const gemel_dim *dims = gemel_type_dims(ev->context, type);
    int64_t shape[GEMEL_MAX_RANK];
    int rank = gemel_type_rank(ev->context, type);
    for (int axis = 0; axis < rank; axis++) {
      GEMEL__TRY(evaluate_dim(ev, dims[axis], &shape[axis]));
    }
    GEMEL__TRY(gemel__rtensor_init(&results[k], ev->domain, gemel_type_dtype(ev->context, type),
                                   rank, shape, ev->error));
  }
  return GEMEL_OK;
}

gemel_status gemel__reference_body_types(const gemel_graph *graph, gemel__domain *d,
                                         const gemel__rtensor *const *inputs,
                                         gemel__rtensor *results, const gemel__evaluation *within,
                                         gemel_error *error) {
  evaluator ev = {graph, graph->context, d,    within, error, 0, 0,    NULL, NULL,
                  NULL,  NULL,           NULL, 0,      0,     0, NULL, NULL};
  gemel_status status = evaluate_types(&ev, inputs, results);
  evaluator_clear(&ev);
  return status;
}

gemel_status gemel__reference_graph(const gemel_graph *graph, gemel__domain *d,
                                    const gemel__rtensor *inputs, gemel__rtensor *outputs,
                                    gemel__reference_lookup extra, void *user, gemel_error *error) {
  gemel__evaluation within = {extra, user, 0, NULL, NULL};
  const gemel__rtensor **pointers = gemel__alloc_array(graph->n_inputs, sizeof *pointers);
  if (!pointers) {
    return gemel__no_memory(error, "inputs");
  }
  for (size_t k = 0; k < graph->n_inputs; k++) {
    pointers[k] = &inputs[k];
  }
  gemel_status status = gemel__reference_body(graph, d, pointers, outputs, &within, error);
  gemel__free(pointers, graph->n_inputs * sizeof *pointers);
  return status;
}

gemel_status gemel__reference_visit(const gemel_graph *graph, gemel__domain *d,
                                    gemel__reference_visitor visit, void *user,
                                    gemel_error *error) {
  gemel__evaluation within = {NULL, NULL, 0, NULL, NULL};
  evaluator ev = {.graph = graph,
                  .context = graph->context,
                  .domain = d,
                  .within = &within,
                  .error = error,
                  .visit = visit,
                  .user = user};
  gemel_status status = evaluator_init(&ev);
  status = status ? status : evaluate_nodes(&ev);
  evaluator_clear(&ev);
  return status;
}
