/* SPDX-License-Identifier: MIT
 *
 * Loops for passes: see loop.h. A size that the old body calls by a symbol is, outside, the size of
 * an axis of an operand; that size has one name in the new body, however many symbols it had.
 */
#include "passes/loop.h"

#include <stdio.h>
#include <string.h>
#include <gemel/ops.h>
#include "core/alloc.h"
#include "ops/rule.h"

/* ---- Reading ---- */

static const gemel_dim *result_dims(const gemel__scan_node *loop, size_t k) {
  return gemel_type_dims(loop->graph->context, gemel__scan_node_type(loop, k));
}

/* The number of rows, as the types of results say it. */
static gemel_status find_length(gemel__scan_node *loop) {
  const gemel__scan *s = &loop->scan;
  gemel_context *context = loop->graph->context;
  if (!s->rows) {
    return GEMEL_OK;
  }
  if (s->values > 0) {
    loop->length = result_dims(loop, gemel__scan_stack(s, 0))[0];
  } else if (s->states > 0) {
    loop->length = gemel_dim_sub(context, result_dims(loop, gemel__scan_history(s, 0))[0],
                                 gemel_dim_constant(context, 1));
  }
  return gemel_dim_is_none(loop->length) ? GEMEL_DECLINED : GEMEL_OK;
}

/* For gemel__dim_substitute: what a size in an attribute of NODE depends on. */
typedef struct size_owner {
  const gemel_graph *graph;
  uint32_t node;
} size_owner;

static gemel_dim operand_size(void *user, const gemel__atom *atom, gemel_dim self) {
  const size_owner *o = user;
  uint32_t count;
  const gemel__ref *in = gemel__node_inputs(o->graph, o->node, &count);
  return atom->kind == GEMEL__ATOM_INPUT && atom->a < count
             ? gemel__dim_value(o->graph->context, in[atom->a].node, in[atom->a].output)
             : self;
}

gemel_dim gemel__attr_size(const gemel_graph *graph, uint32_t node, gemel_dim dim) {
  size_owner owner = {graph, node};
  return gemel__dim_substitute(graph->context, dim, operand_size, &owner);
}

/* ---- What a call checks ---- */

/* For gemel__dim_substitute: the size of the axis that the body calls by a symbol. */
static gemel_dim outer_atom(void *user, const gemel__atom *atom, gemel_dim self) {
  const gemel__scan_node *loop = user;
  gemel_context *context = loop->graph->context;
  if (atom->kind != GEMEL__ATOM_SYMBOL) {
    return self;
  }
  for (size_t k = 0; k < gemel_graph_input_count(loop->scan.body); k++) {
    gemel_type formal = gemel__body_input(loop->scan.body, k);
    for (int axis = 0; axis < gemel_type_rank(context, formal); axis++) {
      if (gemel_dim_equal(gemel_type_dims(context, formal)[axis], self)) {
        return gemel__scan_node_argument(loop, k)[axis];
      }
    }
  }
  return self;
}

/* 1 if FORMAL, a type of LOOP's body, is proved to have the sizes ACTUAL. */
static int has_sizes(const gemel__scan_node *loop, gemel_type formal, const gemel_dim *actual) {
  gemel_context *context = loop->graph->context;
  for (int axis = 0; axis < gemel_type_rank(context, formal); axis++) {
    gemel_dim dim = gemel__dim_substitute(context, gemel_type_dims(context, formal)[axis],
                                          outer_atom, (void *)loop);
    if (gemel_dim_is_none(dim) || gemel__dim_compare(context, dim, actual[axis]) != GEMEL__EQUAL) {
      return 0;
    }
  }
  return 1;
}

/* 1 if the sizes of LOOP's operands, and of what its steps make of the states, are proved to be
 * those that the body asks for. If only a call can tell, a loop with fewer operands would take what
 * this one refuses. */
static int is_proved(const gemel__scan_node *loop) {
  gemel_context *context = loop->graph->context;
  const gemel__scan *s = &loop->scan;
  for (size_t k = 0; k < gemel_graph_input_count(s->body); k++) {
    const gemel_dim *actual = gemel__scan_node_argument(loop, k);
    if (!has_sizes(loop, gemel__body_input(s->body, k), actual) ||
        (k < s->states && !has_sizes(loop, gemel__body_output(s->body, k), actual)) ||
        (gemel__scan_node_kind(loop, k) == GEMEL__ROW_INPUT && !gemel_dim_is_none(loop->length) &&
         gemel__dim_compare(context, actual[-1], loop->length) != GEMEL__EQUAL)) {
      return 0;
    }
  }
  return 1;
}

int gemel__scan_node_steps_hold(const gemel__scan_node *loop) {
  gemel__atom atom;
  int64_t number;
  return !loop->scan.limited &&
         (loop->scan.sequences > 0 || gemel_dim_is_none(loop->length) ||
          gemel_dim_is_constant(loop->graph->context, loop->length, &number) ||
          (gemel__dim_is_atom(loop->graph->context, loop->length, &atom) &&
           atom.kind == GEMEL__ATOM_SYMBOL));
}

gemel_status gemel__scan_node_read(const gemel_graph *graph, uint32_t node,
                                   gemel__scan_node *loop) {
  const gemel__node *record = gemel__node_at(graph, node);
  uint32_t count;
  *loop = (gemel__scan_node){
      .graph = graph, .node = node, .length = GEMEL_DIM_NONE, .truncate = GEMEL_DIM_NONE};
  if (record->op != GEMEL__OP_scan) {
    return GEMEL_DECLINED;
  }
  const gemel_attr *attrs = gemel__attrs_at(graph->context, record->attrs)->values;
  gemel__scan_read(attrs, &loop->scan);
  loop->operands = gemel__node_inputs(graph, node, &count) + gemel__scan_initial(&loop->scan, 0);
  if (attrs[GEMEL__SCAN_TRUNCATE].kind == GEMEL_ATTR_DIM) {
    loop->truncate = gemel__attr_size(graph, node, attrs[GEMEL__SCAN_TRUNCATE].u.dim);
    if (gemel_dim_is_none(loop->truncate)) {
      return GEMEL_DECLINED;
    }
  }
  gemel_status status = find_length(loop);
  return status != GEMEL_OK || is_proved(loop) ? status : GEMEL_DECLINED;
}

/* ---- Sizes ---- */

void gemel__scan_symbols_clear(gemel__scan_symbols *symbols) {
  gemel__free(symbols->names, symbols->name_room * sizeof *symbols->names);
  gemel__free(symbols->sizes, symbols->size_room * sizeof *symbols->sizes);
  *symbols = (gemel__scan_symbols){NULL, NULL, 0, 0, 0};
}

static gemel_dim inner_atom(void *user, const gemel__atom *atom, gemel_dim self) {
  const gemel__scan_symbols *s = user;
  for (size_t k = 0; atom->kind == GEMEL__ATOM_SYMBOL && k < s->count; k++) {
    if (s->names[k] == atom->name) {
      return s->sizes[k];
    }
  }
  return self;
}

gemel_dim gemel__scan_inner_dim(gemel_context *context, const gemel__scan_symbols *symbols,
                                gemel_dim dim) {
  return gemel__dim_substitute(context, dim, inner_atom, (void *)symbols);
}

gemel_type gemel__scan_inner_type(gemel_context *context, const gemel__scan_symbols *symbols,
                                  gemel_type type) {
  gemel_dim dims[GEMEL_MAX_RANK];
  int rank = gemel_type_rank(context, type);
  for (int axis = 0; axis < rank; axis++) {
    dims[axis] = gemel__scan_inner_dim(context, symbols, gemel_type_dims(context, type)[axis]);
    if (gemel_dim_is_none(dims[axis])) {
      return GEMEL_TYPE_NONE;
    }
  }
  return gemel_type_new(context, gemel_type_dtype(context, type), rank, dims,
                        gemel_type_space(context, type));
}

static int is_known(const gemel__scan_symbols *s, const char *name) {
  size_t k = 0;
  while (k < s->count && s->names[k] != name) {
    k++;
  }
  return k < s->count;
}

/* NAME, a symbol of the old body, is OUTER in the graph. */
static int bind(gemel_context *context, gemel__body_sizes *sizes, gemel__scan_symbols *s,
                const char *name, gemel_dim outer) {
  gemel_dim inner = gemel__body_size(context, sizes, outer);
  if (gemel_dim_is_none(inner) ||
      gemel__grow(&s->names, &s->name_room, s->count + 1, sizeof *s->names) != 0 ||
      gemel__grow(&s->sizes, &s->size_room, s->count + 1, sizeof *s->sizes) != 0) {
    return -1;
  }
  s->names[s->count] = name;
  s->sizes[s->count++] = inner;
  return 0;
}

gemel_status gemel__new_scan_bind(gemel__new_scan *scan, const gemel__scan_node *old,
                                  gemel__scan_symbols *symbols, gemel_error *error) {
  gemel_context *context = old->graph->context;
  gemel__atom atom;
  for (size_t k = 0; k < gemel_graph_input_count(old->scan.body); k++) {
    gemel_type formal = gemel__body_input(old->scan.body, k);
    gemel_type actual =
        gemel__node_type(old->graph, old->operands[k].node, old->operands[k].output);
    int skip = gemel__scan_node_kind(old, k) == GEMEL__ROW_INPUT;
    for (int axis = 0; axis < gemel_type_rank(context, formal); axis++) {
      if (gemel__dim_is_atom(context, gemel_type_dims(context, formal)[axis], &atom) &&
          atom.kind == GEMEL__ATOM_SYMBOL && !is_known(symbols, atom.name) &&
          bind(context, &scan->sizes, symbols, atom.name,
               gemel_type_dims(context, actual)[axis + skip]) != 0) {
        return gemel__no_memory(error, "a loop's sizes");
      }
    }
  }
  return GEMEL_OK;
}

/* For gemel__dim_substitute: what a size depends on, in the new graph. */
static gemel_dim new_atom(void *user, const gemel__atom *atom, gemel_dim self) {
  gemel_edit *edit = user;
  if (atom->kind != GEMEL__ATOM_VALUE) {
    return self;
  }
  gemel_value value = gemel__edit_value(edit, (gemel__ref){atom->a, atom->b});
  return gemel_is_null(value) ? GEMEL_DIM_NONE : gemel_dim_of(value);
}

gemel_dim gemel__edit_size(gemel_edit *edit, gemel_dim dim) {
  return gemel_dim_is_none(dim)
             ? dim
             : gemel__dim_substitute(gemel_edit_graph(edit)->context, dim, new_atom, edit);
}

gemel_status gemel__scan_sizes_status(gemel_context *context, unsigned failures,
                                      gemel_error *error) {
  return gemel__dim_memory_failures(context) == failures
             ? GEMEL_OK
             : gemel__no_memory(error, "a loop's sizes");
}

/* ---- Building ---- */

gemel_status gemel__new_scan_begin(gemel__new_scan *scan, gemel_context *context,
                                   gemel_error *error) {
  gemel_graph_unref(scan->body);
  memset(scan->inputs, 0, sizeof scan->inputs);
  scan->body = gemel_graph_new(context, error);
  return scan->body != NULL ? GEMEL_OK : gemel__no_memory(error, "a loop");
}

void gemel__new_scan_clear(gemel__new_scan *scan) {
  gemel_graph_unref(scan->body);
  gemel__body_sizes_clear(&scan->sizes);
  *scan = (gemel__new_scan){.body = NULL};
}

gemel_value gemel__new_scan_enter(gemel__new_scan *scan, int kind, gemel_type type, unsigned facts,
                                  gemel_location where) {
  static const char letters[GEMEL__INPUT_KINDS] = {'s', 'x', 'c'};
  char name[32];
  snprintf(name, sizeof name, "%c%zu", letters[kind], scan->inputs[kind]++);
  gemel_value made = gemel_input_at(scan->body, name, type, where);
  if (!gemel_is_null(made) && gemel_assume(made, facts) != GEMEL_OK) {
    return gemel__graph_fail_at(scan->body, where, GEMEL_NO_MEMORY, "out of memory for a loop");
  }
  return made;
}

gemel_status gemel__new_scan_copy(gemel__new_scan *scan, const gemel__scan_node *old,
                                  const gemel__scan_symbols *symbols, const gemel_value *inputs,
                                  size_t n, const gemel__ref *refs, gemel_value *outputs,
                                  gemel_error *error) {
  gemel_graph part = *old->scan.body; /* the same nodes with other outputs, to be read only */
  gemel_status status = scan->body->error.status;
  part.outputs = (gemel__ref *)refs;
  part.n_outputs = n;
  if (status != GEMEL_OK) {
    *error = scan->body->error;
    return status;
  }
  return gemel__graph_instantiate(scan->body, &part, inputs, outputs, symbols->count,
                                  symbols->names, symbols->sizes, error);
}

gemel_value gemel__new_scan_apply(gemel__new_scan *scan, gemel_edit *edit,
                                  const gemel__scan_node *old, size_t n,
                                  const gemel_value *operands) {
  gemel_scan_options options = {.states = (int64_t)scan->inputs[GEMEL__STATE_INPUT],
                                .sequences = (int64_t)scan->inputs[GEMEL__ROW_INPUT],
                                .length = gemel__edit_size(edit, old->length),
                                .reverse = old->scan.reverse,
                                .limited = old->scan.limited,
                                .until = old->scan.until,
                                .truncate = gemel__edit_size(edit, old->truncate),
                                .recompute = old->scan.recompute};
  gemel_graph *target = gemel__edit_target(edit);
  if (options.sequences > 0) { /* which say it themselves, also where a run tells it */
    gemel_value rows = operands[options.limited + options.states];
    int rank;
    options.length =
        !gemel_is_null(rows) && gemel_dim_equal(gemel__value_dims(rows, &rank)[0], options.length)
            ? GEMEL_DIM_NONE
            : options.length;
  }
  return target == NULL ? (gemel_value){NULL, 0, 0}
                        : gemel_scan_at(n, operands, scan->body, &options,
                                        gemel__node_where(old->graph, old->node));
}
