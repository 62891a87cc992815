/* SPDX-License-Identifier: MIT
 *
 * Bodies: the types that a body gives for its arguments, bounds on how deep bodies are nested, and
 * how a kernel compiles one. A body's symbols are names for sizes: wherever an axis of an input is
 * a symbol by itself, the argument's size is what the symbol stands for, and all other sizes follow
 * by substitution.
 */
#include "ops/body.h"

#include <stdio.h>
#include "core/alloc.h"
#include "core/value.h"
#include "ops/rule.h"

/* What the body's symbols stand for in one application of it. */
typedef struct symbol_binding {
  gemel_context *context;
  size_t count, room;
  gemel_dim *symbols, *sizes;
  const char *unbound; /* a symbol met that has no size */
  int runtime;         /* a size met that a node of the body produces */
} symbol_binding;

gemel_type gemel__body_input(const gemel_graph *body, size_t k) {
  return gemel_value_type(gemel_graph_input(body, k));
}

gemel_type gemel__body_output(const gemel_graph *body, size_t k) {
  return gemel_value_type(gemel_graph_output(body, k));
}

static int argument_rank(const gemel_infer *call, const gemel__body_argument *argument) {
  return gemel_type_rank(call->context, argument->type) - argument->skip;
}

static const gemel_dim *argument_dims(const gemel_infer *call,
                                      const gemel__body_argument *argument) {
  return gemel_type_dims(call->context, argument->type) + argument->skip;
}

static size_t find_symbol(const symbol_binding *b, gemel_dim symbol) {
  size_t k = 0;
  while (k < b->count && !gemel_dim_equal(b->symbols[k], symbol)) {
    k++;
  }
  return k;
}

static gemel_dim replace_symbol(void *user, const gemel__atom *atom, gemel_dim self) {
  symbol_binding *b = user;
  if (atom->kind != GEMEL__ATOM_SYMBOL) {
    b->runtime = 1;
    return self;
  }
  size_t k = find_symbol(b, self);
  if (k == b->count) {
    b->unbound = atom->name;
    return self;
  }
  return b->sizes[k];
}

static void bind_symbols(const gemel_infer *call, const gemel_graph *body,
                         const gemel__body_argument *arguments, symbol_binding *b) {
  gemel__atom atom;
  for (size_t k = 0; k < gemel_graph_input_count(body); k++) {
    const gemel_dim *actual = argument_dims(call, &arguments[k]);
    const gemel_dim *formal = gemel_type_dims(call->context, gemel__body_input(body, k));
    for (int j = 0; j < argument_rank(call, &arguments[k]); j++) {
      if (gemel__dim_is_atom(call->context, formal[j], &atom) &&
          find_symbol(b, formal[j]) == b->count) {
        b->symbols[b->count] = formal[j];
        b->sizes[b->count++] = actual[j];
      }
    }
  }
}

/* Substitutes sizes for symbols in the dims of TYPE. */
static gemel_status substitute(const gemel_infer *call, symbol_binding *b, gemel_type type,
                               gemel_dim *dims) {
  int rank = gemel_type_rank(call->context, type);
  const gemel_dim *formal = gemel_type_dims(call->context, type);
  for (int j = 0; j < rank; j++) {
    dims[j] = gemel__dim_substitute(call->context, formal[j], replace_symbol, b);
    if (gemel_dim_is_none(dims[j])) {
      return gemel__rule_no_size(call, "a size");
    }
  }
  if (b->unbound != NULL) {
    return gemel__rule_fail(call, GEMEL_BAD_TYPE,
                            "the body's symbol %s is the size of no axis of its inputs",
                            b->unbound);
  }
  return GEMEL_OK;
}

/* Checks dtypes and ranks, and counts the axes. */
static gemel_status check_arguments(const gemel_infer *call, const gemel_graph *body,
                                    const gemel__body_argument *arguments, size_t *n_dims) {
  *n_dims = 0;
  for (size_t k = 0; k < gemel_graph_input_count(body); k++) {
    gemel_type formal = gemel__body_input(body, k);
    if (gemel_type_dtype(call->context, arguments[k].type) !=
            gemel_type_dtype(call->context, formal) ||
        argument_rank(call, &arguments[k]) != gemel_type_rank(call->context, formal)) {
      char text[128];
      gemel_type_format(call->context, formal, text, sizeof text);
      return gemel__rule_fail(call, GEMEL_BAD_TYPE, "the body's input %s is %s",
                              gemel_graph_input_name(body, k), text);
    }
    *n_dims += (size_t)gemel_type_rank(call->context, formal);
  }
  return GEMEL_OK;
}

static gemel_status check_inputs(const gemel_infer *call, const gemel_graph *body,
                                 const gemel__body_argument *arguments, symbol_binding *b) {
  for (size_t k = 0; k < gemel_graph_input_count(body); k++) {
    gemel_dim dims[GEMEL_MAX_RANK];
    const gemel_dim *actual = argument_dims(call, &arguments[k]);
    gemel_status status = substitute(call, b, gemel__body_input(body, k), dims);
    if (status != GEMEL_OK) {
      return status;
    }
    for (int j = 0; j < argument_rank(call, &arguments[k]); j++) {
      if (gemel__dim_compare(call->context, dims[j], actual[j]) == GEMEL__DIFFERENT) {
        char text[128];
        gemel_type_format(call->context, gemel__body_input(body, k), text, sizeof text);
        return gemel__rule_fail(call, GEMEL_BAD_SHAPE, "axis %d of the body's input %s: %s", j,
                                gemel_graph_input_name(body, k), text);
      }
    }
  }
  return GEMEL_OK;
}

static gemel_status make_results(const gemel_infer *call, const gemel_graph *body,
                                 symbol_binding *b, gemel_type *results) {
  for (size_t k = 0; k < gemel_graph_output_count(body); k++) {
    gemel_dim dims[GEMEL_MAX_RANK];
    gemel_infer one = *call;
    gemel_type formal = gemel__body_output(body, k);
    gemel_status status = substitute(call, b, formal, dims);
    if (status == GEMEL_OK && b->runtime) {
      status = gemel__rule_fail(call, GEMEL_UNSUPPORTED,
                                "a size of the body's output %s is known only inside the body",
                                gemel_graph_output_name(body, k));
    }
    if (status != GEMEL_OK) {
      return status;
    }
    one.outputs = &results[k];
    status = gemel__rule_result(&one, gemel_type_dtype(call->context, formal),
                                gemel_type_rank(call->context, formal), dims);
    if (status != GEMEL_OK) {
      return status;
    }
  }
  return GEMEL_OK;
}

/* A body on the host is computed where the operands lie; what is on a device has its place. */
static gemel_status check_spaces(const gemel_infer *call, const gemel_graph *body) {
  int space = call->n_inputs > 0 ? gemel_type_space(call->context, call->inputs[0]) : 0;
  size_t inputs = gemel_graph_input_count(body), outputs = gemel_graph_output_count(body);
  for (size_t k = 0; k < inputs + outputs; k++) {
    gemel_type type =
        k < inputs ? gemel__body_input(body, k) : gemel__body_output(body, k - inputs);
    int at = gemel_type_space(call->context, type);
    if (at != GEMEL_SPACE_HOST && at != space) {
      return gemel__rule_fail(
          call, GEMEL_BAD_TYPE, "the body's %s %s lies in memory space %d, and operands in %d",
          k < inputs ? "input" : "output",
          k < inputs ? gemel_graph_input_name(body, k) : gemel_graph_output_name(body, k - inputs),
          at, space);
    }
  }
  return GEMEL_OK;
}

gemel_status gemel__body_infer(const gemel_infer *call, const gemel_graph *body,
                               const gemel__body_argument *arguments, gemel_type *results) {
  size_t n_dims = 0;
  gemel_status status = check_spaces(call, body);
  status = status == GEMEL_OK ? check_arguments(call, body, arguments, &n_dims) : status;
  if (status != GEMEL_OK) {
    return status;
  }
  gemel_dim *room = gemel__alloc_array(2 * n_dims + 1, sizeof *room);
  if (room == NULL) {
    return gemel__no_memory(call->error, "the body's symbols");
  }
  symbol_binding b = {call->context, 0, n_dims, room, room + n_dims, NULL, 0};
  bind_symbols(call, body, arguments, &b);
  status = check_inputs(call, body, arguments, &b);
  if (status == GEMEL_OK) {
    status = make_results(call, body, &b, results);
  }
  gemel__free(room, (2 * n_dims + 1) * sizeof *room);
  return status;
}

/* ---- Sizes ---- */

/* What DIM, a size of the graph around, is in the body; GEMEL_DIM_NONE: nothing yet. */
static gemel_dim known_size(const gemel__body_sizes *sizes, gemel_dim dim) {
  for (size_t k = 0; k < sizes->count; k++) {
    if (gemel_dim_equal(sizes->pairs[k].outer, dim)) {
      return sizes->pairs[k].inner;
    }
  }
  return GEMEL_DIM_NONE;
}

static int is_taken(const gemel__body_sizes *sizes, gemel_dim inner) {
  for (size_t k = 0; k < sizes->count; k++) {
    if (gemel_dim_equal(sizes->pairs[k].inner, inner)) {
      return 1;
    }
  }
  return 0;
}

/* For gemel__dim_substitute; USER is what is known and whether an atom was met that the body has no
 * size for. */
typedef struct size_search {
  const gemel__body_sizes *sizes;
  int unknown;
} size_search;

static gemel_dim replace_atom(void *user, const gemel__atom *atom, gemel_dim self) {
  size_search *s = user;
  gemel_dim inner = known_size(s->sizes, self);
  (void)atom;
  s->unknown |= gemel_dim_is_none(inner);
  return gemel_dim_is_none(inner) ? self : inner;
}

/* A symbol that the body doesn't use yet. */
static gemel_dim new_symbol(gemel_context *context, const gemel__body_sizes *sizes) {
  gemel_dim symbol;
  size_t k = sizes->count;
  do {
    char name[32];
    snprintf(name, sizeof name, "_%zu", k++);
    symbol = gemel_dim_symbol(context, name);
  } while (!gemel_dim_is_none(symbol) && is_taken(sizes, symbol));
  return symbol;
}

gemel_dim gemel__body_size(gemel_context *context, gemel__body_sizes *sizes, gemel_dim dim) {
  gemel_dim inner = known_size(sizes, dim);
  size_search search = {sizes, 0};
  gemel__atom atom;
  if (!gemel_dim_is_none(inner)) {
    return inner;
  }
  inner = gemel__dim_substitute(context, dim, replace_atom, &search);
  if (gemel_dim_is_none(inner) || !search.unknown) {
    return inner;
  }
  int stays = gemel__dim_is_atom(context, dim, &atom) && atom.kind == GEMEL__ATOM_SYMBOL &&
              !is_taken(sizes, dim);
  inner = stays ? dim : new_symbol(context, sizes);
  if (gemel_dim_is_none(inner) ||
      gemel__grow(&sizes->pairs, &sizes->room, sizes->count + 1, sizeof *sizes->pairs) != 0) {
    return GEMEL_DIM_NONE;
  }
  sizes->pairs[sizes->count++] = (gemel__body_pair){dim, inner};
  return inner;
}

void gemel__body_sizes_clear(gemel__body_sizes *sizes) {
  gemel__free(sizes->pairs, sizes->room * sizeof *sizes->pairs);
  *sizes = (gemel__body_sizes){NULL, 0, 0};
}

/* ---- Building ---- */

gemel_status gemel__body_status(const gemel_graph *body, gemel_status status, gemel_error *error) {
  const gemel_error *own = gemel_graph_error(body);
  if (body == NULL || own->status == GEMEL_OK) {
    return status;
  }
  if (error != NULL) {
    *error = *own;
  }
  return own->status;
}

gemel_status gemel__body_add_output(gemel_value value, char group, size_t k) {
  char name[32];
  snprintf(name, sizeof name, "%c%zu", group, k);
  return gemel_output(value, name);
}

int gemel__body_is_float(gemel_value value) {
  return gemel_dtype_kind(gemel__value_dtype(value)) == GEMEL_KIND_FLOAT;
}

/* ---- Nesting ---- */

gemel_status gemel__body_nesting(const gemel_graph *body, gemel_error *error) {
  if (body->expanded > GEMEL_MAX_BODIES) {
    return gemel__fail(error, GEMEL_UNSUPPORTED,
                       "%s%u bodies are invoked within one another, and no more than %d can be "
                       "differentiated or run",
                       body->expanded == UINT32_MAX ? "more than " : "", (unsigned)body->expanded,
                       GEMEL_MAX_BODIES);
  }
  return body->nesting <= GEMEL_MAX_NESTING
             ? GEMEL_OK
             : gemel__fail(error, GEMEL_UNSUPPORTED,
                           "bodies are nested %u deep, and no more than %d can be differentiated "
                           "or run",
                           (unsigned)body->nesting, GEMEL_MAX_NESTING);
}
