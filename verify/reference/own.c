/* SPDX-License-Identifier: MIT
 *
 * The references that a program gave its operations. The context keeps them in a list that only
 * grows, so evaluations read it without a lock. A formula is evaluated by the references of the
 * operations in it, like the body of an invoke. Each such evaluation knows its operation and the
 * evaluation around it, so a formula that is defined through itself is noticed.
 */
#include "reference/common.h"
#include "reference/own.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include "base/status.h"
#include "core/attrs.h"
#include "core/graph.h"
#include "text/define.h"

struct own_entry {
  struct own_entry *next;
  const char *name; /* the operation record's */
  gemel_reference reference;
  gemel_graph *graph; /* frozen, or NULL */
};

struct gemel__own_references {
  struct own_entry *first;
};

/* ---- The list ---- */

static void release(struct gemel__own_references *list) {
  struct own_entry *e = list->first;
  while (e != NULL) {
    struct own_entry *next = e->next;
    if (e->graph != NULL) {
      gemel__graph_free_frozen(e->graph);
    }
    if (e->reference.release != NULL) {
      e->reference.release(e->reference.data);
    }
    gemel__free(e, sizeof *e);
    e = next;
  }
  gemel__free(list, sizeof *list);
}

static struct own_entry *first_entry(const gemel_context *context) {
  struct gemel__own_references *list = __atomic_load_n(&context->own_references, __ATOMIC_ACQUIRE);
  return list != NULL ? __atomic_load_n(&list->first, __ATOMIC_ACQUIRE) : NULL;
}

/* The first entry called NAME, from E on, or NULL. */
static const struct own_entry *called(const struct own_entry *e, const char *name) {
  while (e != NULL && e->name != name) {
    e = __atomic_load_n(&e->next, __ATOMIC_ACQUIRE);
  }
  return e;
}

int gemel__own_reference_exists(gemel_context *context, const gemel_operation *op) {
  return called(first_entry(context), op->name) != NULL ||
         gemel__definition_find(context, op->name) != NULL;
}

unsigned gemel__own_reference_allows(gemel_context *context, const gemel_operation *op) {
  unsigned allow = 0;
  const struct own_entry *e = called(first_entry(context), op->name);
  while (e != NULL) {
    allow |= e->reference.allow;
    e = called(__atomic_load_n(&e->next, __ATOMIC_ACQUIRE), op->name);
  }
  return allow;
}

unsigned gemel__references_allow(const gemel_graph *graph) {
  unsigned allow = 0;
  for (size_t k = 0; k < graph->n_nodes && first_entry(graph->context) != NULL; k++) {
    const gemel__op *op = gemel__node_op(graph, (uint32_t)k);
    if (op->id > graph->context->n_builtins) {
      allow |= gemel__own_reference_allows(graph->context, &op->record);
    }
  }
  return allow;
}

/* Appends ENTRY; the caller holds the context's lock. 0, or −1 when memory is out. */
static int append(gemel_context *context, struct own_entry *entry) {
  struct gemel__own_references *list = context->own_references;
  struct own_entry **at;
  if (list == NULL) {
    list = gemel__alloc_zeroed(sizeof *list);
    if (list == NULL) {
      return -1;
    }
    context->release_own_references = release;
    __atomic_store_n(&context->own_references, list, __ATOMIC_RELEASE);
  }
  for (at = &list->first; *at != NULL; at = &(*at)->next) {
  }
  __atomic_store_n(at, entry, __ATOMIC_RELEASE);
  return 0;
}

/* ---- Which of them takes what is there ---- */

static int takes(const struct own_entry *e, size_t n, const gemel_dtype *dtypes, const int *ranks) {
  if (e->graph == NULL) {
    return 1;
  }
  if (n != e->graph->n_inputs) {
    return 0;
  }
  for (size_t k = 0; k < n; k++) {
    gemel_type type = gemel__node_type(e->graph, e->graph->inputs[k].node, 0);
    if (gemel_type_dtype(e->graph->context, type) != dtypes[k] ||
        gemel_type_rank(e->graph->context, type) != ranks[k]) {
      return 0;
    }
  }
  return 1;
}

static const struct own_entry *find(gemel_context *context, const char *name, size_t n,
                                    const gemel_dtype *dtypes, const int *ranks) {
  const struct own_entry *e = called(first_entry(context), name);
  while (e != NULL && !takes(e, n, dtypes, ranks)) {
    e = called(__atomic_load_n(&e->next, __ATOMIC_ACQUIRE), name);
  }
  return e;
}

enum { FEW = 16 };

static const struct own_entry *find_for_call(const gemel__rcall *call) {
  gemel_dtype dtypes[FEW];
  int ranks[FEW];
  for (size_t k = 0; k < call->n_inputs && k < FEW; k++) {
    dtypes[k] = call->inputs[k]->dtype;
    ranks[k] = call->inputs[k]->rank;
  }
  return find(call->context, call->operation->name, call->n_inputs <= FEW ? call->n_inputs : 0,
              dtypes, ranks);
}

static int covers_node(const gemel_graph *graph, uint32_t id) {
  gemel_dtype dtypes[FEW];
  int ranks[FEW];
  uint32_t count, k;
  const gemel__ref *refs = gemel__node_inputs(graph, id, &count);
  for (k = 0; k < count && k < FEW; k++) {
    gemel_type type = gemel__node_type(graph, refs[k].node, refs[k].output);
    dtypes[k] = gemel_type_dtype(graph->context, type);
    ranks[k] = gemel_type_rank(graph->context, type);
  }
  return find(graph->context, gemel__node_op(graph, id)->record.name, count <= FEW ? count : 0,
              dtypes, ranks) != NULL ||
         gemel__definition_find(graph->context, gemel__node_op(graph, id)->record.name) != NULL;
}

static int covers_bodies(const gemel_graph *graph, uint32_t id, const char **name) {
  const struct gemel__attrs *attrs =
      gemel__attrs_at(graph->context, gemel__node_at(graph, id)->attrs);
  for (size_t k = 0; attrs->nesting > 0 && k < attrs->count; k++) {
    if (attrs->values[k].kind == GEMEL_ATTR_GRAPH &&
        attrs->nesting <= GEMEL_MAX_NESTING && /* deeper bodies aren't evaluated either */
        !gemel__references_cover(attrs->values[k].u.graph, name)) {
      return 0;
    }
  }
  return 1;
}

int gemel__references_cover(const gemel_graph *graph, const char **name) {
  for (size_t k = 0; k < graph->n_nodes; k++) {
    const gemel__op *op = gemel__node_op(graph, (uint32_t)k);
    if (op->id > graph->context->n_builtins && !covers_node(graph, (uint32_t)k)) {
      if (name != NULL) {
        *name = op->record.name;
      }
      return 0;
    }
    if (!covers_bodies(graph, (uint32_t)k, name)) {
      return 0;
    }
  }
  return 1;
}

/* ---- Formulas ---- */

/* Adds inputs x0, x1, … of the operands' types. */
static gemel_status add_inputs(const gemel__rcall *call, gemel_graph *graph, gemel_value *inputs) {
  char label[32];
  for (size_t k = 0; k < call->n_inputs; k++) {
    gemel_type type;
    const gemel__rtensor *t = call->inputs[k];
    snprintf(label, sizeof label, "x%zu", k);
    type = gemel_type_of_shape(call->context, t->dtype, t->rank, t->shape);
    if (gemel_type_is_none(type)) {
      return gemel__no_memory(call->error, "a type");
    }
    inputs[k] = gemel_input(graph, label, type);
  }
  return gemel__graph_status(graph, call->error);
}

static gemel_status add_outputs(const gemel__rcall *call, gemel_graph *graph,
                                const gemel_value *outputs) {
  char label[32];
  for (size_t k = 0; k < call->max_outputs; k++) {
    if (outputs[k].graph != graph) {
      return gemel__fail(call->error, GEMEL_BAD_ARGUMENT,
                         "the reference of %s gives output %zu no value of its graph", call->name,
                         k);
    }
    snprintf(label, sizeof label, "y%zu", k);
    gemel_output(outputs[k], label);
  }
  return gemel__graph_status(graph, call->error);
}

/* Adds what REFERENCE makes of CALL's inputs to GRAPH; B has room for inputs and outputs. */
static gemel_status build_with(const gemel__rcall *call, const gemel_reference *reference,
                               gemel_graph *graph, gemel_value *inputs, gemel_reference_build *b) {
  GEMEL__TRY(add_inputs(call, graph, inputs));
  gemel_error told = {GEMEL_OK, 0, 0, ""};
  b->error = &told;
  gemel_status status = reference->build(b);
  if (status != GEMEL_OK && gemel__graph_status(graph, call->error) == GEMEL_OK) {
    gemel__fail(call->error, status, "the reference of %s can't be built%s%s", call->name,
                told.text[0] != '\0' ? ": " : "", told.text);
  }
  GEMEL__TRY(status);
  GEMEL__TRY(gemel__graph_status(graph, call->error));
  return add_outputs(call, graph, b->outputs);
}

static gemel_status build(const gemel__rcall *call, const gemel_reference *reference,
                          gemel_graph *graph) {
  size_t n = call->n_inputs + call->max_outputs;
  gemel_value *room = gemel__alloc_array(n, sizeof *room);
  gemel_reference_build b = {sizeof b,
                             graph,
                             call->n_inputs,
                             room,
                             call->attrs,
                             call->max_outputs,
                             room + call->n_inputs,
                             reference->data,
                             NULL};
  gemel_status status = room == NULL ? gemel__no_memory(call->error, "a reference")
                                     : build_with(call, reference, graph, room, &b);
  gemel__free(room, n * sizeof *room);
  return status;
}

static gemel_status evaluate_formula(gemel__rcall *call, const gemel_graph *graph,
                                     const gemel__evaluation *within) {
  gemel__evaluation inside = *within;
  size_t n = gemel_graph_output_count(graph);
  gemel_status status;
  if (n > call->max_outputs) {
    return gemel__fail(call->error, GEMEL_BAD_TYPE, "the reference has %zu outputs, %s has %zu", n,
                       call->name, call->max_outputs);
  }
  inside.depth++;
  inside.own = call->operation->name;
  inside.outer = within;
  status =
      gemel__reference_body(graph, call->domain, call->inputs, call->outputs, &inside, call->error);
  call->n_outputs = status == GEMEL_OK ? n : 0;
  return status;
}

/* Evaluates a formula that was made for this call. The context's interned copy is evaluated, like
 * the body of an invoke: observers know nodes by the address of their graph, and equal formulas
 * then have the same. */
static gemel_status evaluate_made(gemel__rcall *call, gemel_graph *graph,
                                  const gemel__evaluation *within) {
  const gemel__op *invoke = gemel__op_at(call->context, gemel__op_find(call->context, "invoke"));
  gemel_attr body = {.name = "body", .kind = GEMEL_ATTR_GRAPH, .u.graph = graph};
  uint32_t id;
  GEMEL__TRY(gemel__attrs_intern(call->context, invoke, 1, &body, &id, call->error));
  return evaluate_formula(call, gemel__attrs_at(call->context, id)->values[0].u.graph, within);
}

static gemel_status built(gemel__rcall *call, const gemel_reference *reference,
                          const gemel__evaluation *within) {
  gemel_graph *graph = gemel_graph_new(call->context, call->error);
  gemel_status status = graph != NULL ? build(call, reference, graph) : GEMEL_NO_MEMORY;
  status = status ? status : evaluate_made(call, graph, within);
  gemel_graph_unref(graph);
  return status;
}

/* 1 if the operation's own reference is being evaluated already. */
static int goes_in_circles(const gemel__rcall *call, const gemel__evaluation *within) {
  while (within != NULL && within->own != call->operation->name) {
    within = within->outer;
  }
  return within != NULL;
}

/* *GRAPH: the formula of DEFINITION for CALL's inputs; TYPES has room for their types. */
static gemel_status define(const gemel__rcall *call, const gemel__definition *definition,
                           gemel_type *types, gemel_graph **graph) {
  gemel_error problem = {GEMEL_OK, 0, 0, ""};
  for (size_t k = 0; k < call->n_inputs; k++) {
    const gemel__rtensor *t = call->inputs[k];
    types[k] = gemel_type_of_shape(call->context, t->dtype, t->rank, t->shape);
    if (gemel_type_is_none(types[k])) {
      return gemel__no_memory(call->error, "a type");
    }
  }
  *graph = gemel__definition_graph(definition, call->n_inputs, types, &problem);
  if (problem.status != GEMEL_OK && call->error != NULL) {
    *call->error = problem;
  }
  return problem.status;
}

/* Evaluates the formula that a text defines (lib/text/define.c). */
static gemel_status defined(gemel__rcall *call, const gemel__definition *definition,
                            const gemel__evaluation *within) {
  gemel_type *types = gemel__alloc_array(call->n_inputs, sizeof *types);
  gemel_graph *graph = NULL;
  gemel_status status = types == NULL ? gemel__no_memory(call->error, "a reference")
                                      : define(call, definition, types, &graph);
  if (graph != NULL) {
    status = evaluate_made(call, graph, within);
  }
  gemel_graph_unref(graph);
  gemel__free(types, call->n_inputs * sizeof *types);
  return status;
}

/* ---- The reference ---- */

gemel_status gemel__reference_own(gemel__rcall *call) {
  const gemel__evaluation *within = call->data;
  const struct own_entry *e = find_for_call(call);
  const gemel__definition *definition =
      e == NULL ? gemel__definition_find(call->context, call->operation->name) : NULL;
  if (e == NULL && definition == NULL) {
    return gemel__reference_unknown(call);
  }
  if (e != NULL && e->reference.function != NULL) {
    return gemel__reference_function(call, &e->reference);
  }
  if (goes_in_circles(call, within)) {
    return gemel__fail(call->error, GEMEL_BAD_ARGUMENT,
                       "the reference of %s is defined through itself", call->name);
  }
  if (within->depth >= GEMEL_MAX_NESTING) {
    return gemel__fail(call->error, GEMEL_UNSUPPORTED, "references nested deeper than %d",
                       GEMEL_MAX_NESTING);
  }
  return definition != NULL ? defined(call, definition, within)
         : e->graph != NULL ? evaluate_formula(call, e->graph, within)
                            : built(call, &e->reference, within);
}

/* ---- Giving one ---- */

static int holds(const gemel_graph *graph, const char *name) {
  for (size_t k = 0; k < graph->n_nodes; k++) {
    if (gemel__node_op(graph, (uint32_t)k)->record.name == name) {
      return 1;
    }
  }
  return 0;
}

static int needs_attributes(const gemel_operation *op) {
  const gemel_attr_spec *spec = op->attrs;
  while (spec != NULL && spec->name != NULL && spec->fallback != NULL) {
    spec++;
  }
  return spec != NULL && spec->name != NULL;
}

static gemel_status compare_types(const gemel_graph *graph, const gemel_operation *op,
                                  gemel_value result, gemel_error *error) {
  gemel_context *context = graph->context;
  char left[200], right[200];
  size_t k;
  for (k = 0; k < graph->n_outputs || !gemel_is_null(gemel_value_output(result, (uint32_t)k));
       k++) {
    gemel_value y = gemel_value_output(result, (uint32_t)k);
    gemel_value z = gemel_graph_output(graph, k);
    if (gemel_is_null(y) || gemel_is_null(z)) {
      return gemel__fail(error, GEMEL_BAD_TYPE, "the reference has %zu outputs, %s has others",
                         graph->n_outputs, op->name);
    }
    if (!gemel_type_equal(gemel_value_type(y), gemel_value_type(z))) {
      gemel_type_format(context, gemel_value_type(z), left, sizeof left);
      gemel_type_format(context, gemel_value_type(y), right, sizeof right);
      return gemel__fail(error, GEMEL_BAD_TYPE,
                         "the reference gives %s as output %zu, the type rule of %s says %s", left,
                         k, op->name, right);
    }
  }
  return GEMEL_OK;
}

/* Applies OP in PROBE; INPUTS has room. */
static gemel_status check_applied(const gemel_graph *graph, const gemel_operation *op,
                                  gemel_graph *probe, gemel_value *inputs, gemel_error *error) {
  for (size_t k = 0; k < graph->n_inputs; k++) {
    inputs[k] =
        gemel_input(probe, graph->input_names[k], gemel_value_type(gemel_graph_input(graph, k)));
  }
  gemel_value result = gemel_apply_at(probe, op->name, graph->n_inputs, inputs, 0, NULL,
                                      gemel_value_where(gemel_graph_output(graph, 0)));
  GEMEL__TRY(gemel__graph_status(probe, error));
  return compare_types(graph, op, result, error);
}

/* Fails unless the graph's outputs have the types that the operation's type rule gives for its
 * inputs. */
static gemel_status check_types(const gemel_graph *graph, const gemel_operation *op,
                                gemel_error *error) {
  gemel_graph *probe = gemel_graph_new(graph->context, error);
  gemel_value *inputs = gemel__alloc_array(graph->n_inputs, sizeof *inputs);
  gemel_status status = probe == NULL || inputs == NULL
                            ? gemel__no_memory(error, "a reference")
                            : check_applied(graph, op, probe, inputs, error);
  gemel__free(inputs, graph->n_inputs * sizeof *inputs);
  gemel_graph_unref(probe);
  return status;
}

static gemel_status check_graph(const gemel_graph *graph, gemel_context *context,
                                const gemel_operation *op, gemel_error *error) {
  if (gemel_graph_context(graph) != context) {
    return gemel__fail(error, GEMEL_BAD_ARGUMENT, "the reference of %s is of another context",
                       op->name);
  }
  if (gemel__graph_status(graph, error) != GEMEL_OK) {
    return graph->error.status;
  }
  if (holds(graph, op->name)) {
    return gemel__fail(error, GEMEL_BAD_ARGUMENT, "the reference of %s is defined through itself",
                       op->name);
  }
  return needs_attributes(op) ? GEMEL_OK : check_types(graph, op, error);
}

static gemel_status check(gemel_context *context, uint32_t id, const char *name,
                          const gemel_reference *r, gemel_error *error) {
  if (id == 0) {
    return gemel__fail(error, GEMEL_NOT_FOUND, "there is no operation called %s", name);
  }
  if (id <= context->n_builtins) {
    return gemel__fail(error, GEMEL_BAD_ARGUMENT, "%s is gemel's own and has its reference", name);
  }
  if (r->size < offsetof(gemel_reference, allow) ||
      (r->function != NULL) + (r->build != NULL) + (r->graph != NULL) != 1) {
    return gemel__fail(error, GEMEL_BAD_ARGUMENT,
                       "the reference of %s has to be a function, a graph, or what builds one",
                       name);
  }
  if (r->size >= sizeof *r && (r->allow & ~GEMEL_NEEDS_ALL) != 0) {
    return gemel__fail(error, GEMEL_BAD_ARGUMENT,
                       "the reference of %s allows what there is no word for", name);
  }
  return r->graph != NULL
             ? check_graph(r->graph, context, &gemel__op_at(context, id)->record, error)
             : GEMEL_OK;
}

static gemel_status add(gemel_context *context, struct own_entry *entry, gemel_error *error) {
  const struct own_entry *e;
  int taken = 0, failed = 0;
  pthread_mutex_lock(&context->lock);
  for (e = called(first_entry(context), entry->name); e != NULL; e = called(e->next, entry->name)) {
    taken |= e->graph == NULL;
  }
  if (!taken) {
    failed = append(context, entry);
  }
  pthread_mutex_unlock(&context->lock);
  return taken ? gemel__fail(error, GEMEL_BAD_ARGUMENT, "%s has a reference already", entry->name)
         : failed ? gemel__no_memory(error, "a reference")
                  : GEMEL_OK;
}

gemel_status gemel_verify_reference(gemel_context *context, const char *name,
                                    const gemel_reference *reference, gemel_error *error) {
  struct own_entry *entry;
  uint32_t id;
  gemel_status status = GEMEL_OK;
  if (context == NULL || name == NULL || reference == NULL) {
    return gemel__null(error, context == NULL ? "the context"
                              : name == NULL  ? "the name"
                                              : "the reference");
  }
  id = gemel__op_find(context, name);
  GEMEL__TRY(check(context, id, name, reference, error));
  entry = gemel__alloc_zeroed(sizeof *entry);
  if (entry == NULL) {
    return gemel__no_memory(error, "a reference");
  }
  entry->name = gemel__op_at(context, id)->record.name;
  memcpy(&entry->reference, reference,
         reference->size < sizeof *reference ? reference->size : sizeof *reference);
  if (reference->graph != NULL &&
      (entry->graph = gemel__graph_freeze_copy(reference->graph)) == NULL) {
    status = gemel__no_memory(error, "a reference");
  }
  entry->reference.graph = NULL;
  status = status ? status : add(context, entry, error);
  if (status != GEMEL_OK) {
    if (entry->graph != NULL) {
      gemel__graph_free_frozen(entry->graph);
    }
    gemel__free(entry, sizeof *entry);
  }
  return status;
}
