/* SPDX-License-Identifier: MIT
 *
 * Operations that a text defines by other operations, beside a graph or a rule:
 *
 *   operation swish(x) {
 *     return x * sigmoid(x)
 *   }
 *
 * The context keeps the text. For the types of the operands at hand it is parsed once more, to a
 * graph of these types: which is the operation's type rule, what its kernel runs, what its
 * derivatives differentiate, and what the harness evaluates by references. So it takes any types
 * that its formula takes. Where a program has registered an operation of this name, the definition
 * is that one's reference and nothing else.
 */
#include "text/define.h"

#include <stdio.h>
#include <string.h>
#include <gemel/function.h>
#include <gemel/grad.h>
#include <gemel/operation.h>
#include "core/alloc.h"
#include "core/graph.h"
#include "core/intern.h"
#include "core/runner.h"

enum { MOST_OPERANDS = GEMEL_SAMPLE_MAX_INPUTS };

struct gemel__definition {
  gemel__definition *next;
  gemel_context *context;
  const char *name; /* interned */
  const char *file; /* interned */
  char *text;       /* of the whole stanza */
  size_t bytes;     /* of TEXT, with its NUL */
  size_t operands;
  int line; /* on which it began */
};

/* ---- The context's list ---- */

static void release_one(gemel__definition *d) {
  gemel__free(d->text, d->bytes);
  gemel__free(d, sizeof *d);
}

static void release(gemel__definition *first) {
  while (first != NULL) {
    gemel__definition *next = first->next;
    release_one(first);
    first = next;
  }
}

const gemel__definition *gemel__definition_find(gemel_context *context, const char *name) {
  const gemel__definition *d = __atomic_load_n(&context->definitions, __ATOMIC_ACQUIRE);
  while (d != NULL && strcmp(d->name, name) != 0) {
    d = d->next;
  }
  return d;
}

static void push(gemel_context *context, gemel__definition *d) {
  pthread_mutex_lock(&context->lock);
  context->release_definitions = release;
  d->next = context->definitions;
  __atomic_store_n(&context->definitions, d, __ATOMIC_RELEASE);
  pthread_mutex_unlock(&context->lock);
}

/* ---- Graphs of it ---- */

gemel_graph *gemel__definition_graph(const gemel__definition *d, size_t n, const gemel_type *types,
                                     gemel_error *error) {
  gemel__lex lex;
  if (n != d->operands) {
    gemel__fail(error, GEMEL_BAD_ARGUMENT, "%s has %zu operands, not %zu", d->name, d->operands, n);
    return NULL;
  }
  gemel__lex_start(&lex, d->text, d->bytes - 1, d->file);
  lex.line += d->line - 1;
  gemel__lex_next(&lex); /* the name */
  gemel__lex_next(&lex);
  return gemel__parse_body(d->context, &lex, n, types, error);
}

static gemel_status type_rule(gemel_infer *call) {
  gemel_graph *graph =
      gemel__definition_graph(call->data, call->n_inputs, call->inputs, call->error);
  if (graph == NULL) {
    return call->error->status;
  }
  call->n_outputs = 1;
  call->outputs[0] = gemel_value_type(gemel_graph_output(graph, 0));
  gemel_graph_unref(graph);
  return GEMEL_OK;
}

/* ---- Derivatives ---- */

static gemel_status take_error(const gemel_graph *graph, gemel_error *error) {
  if (gemel_graph_error(graph)->status != GEMEL_OK && error != NULL) {
    *error = *gemel_graph_error(graph);
  }
  return gemel_graph_error(graph)->status;
}

/* In GRAPH, of which the formula is, SEEDS more inputs of the types of VALUES (null ones have
 * none). */
static gemel_status add_seeds(gemel_graph *graph, size_t n, const gemel_value *values,
                              gemel_value *seeds, gemel_error *error) {
  size_t k;
  for (k = 0; k < n; k++) {
    char label[40];
    snprintf(label, sizeof label, "seed__%zu", k);
    memset(&seeds[k], 0, sizeof seeds[k]);
    if (!gemel_is_null(values[k])) {
      seeds[k] = gemel_input(graph, label, gemel_value_type(values[k]));
    }
  }
  return take_error(graph, error);
}

/* Makes the K results in GRAPH its only outputs, and copies them to where the node is: INPUTS
 * first, then the seeds' values. */
static gemel_status place(gemel_derive *call, gemel_graph *derivative, size_t n_seeds,
                          const gemel_value *seeds, size_t n, const gemel_value *results,
                          gemel_value *placed) {
  gemel_value in[2 * MOST_OPERANDS + 1], out[MOST_OPERANDS + 1];
  size_t k, at = 0;
  gemel_status status = GEMEL_OK;
  for (k = 0; k < call->n_inputs; k++) {
    in[at++] = call->inputs[k];
  }
  for (k = 0; k < n_seeds; k++) {
    if (!gemel_is_null(seeds[k])) {
      in[at++] = seeds[k];
    }
  }
  for (k = 0; k < n && status == GEMEL_OK; k++) {
    char label[40];
    snprintf(label, sizeof label, "result__%zu", k);
    status = gemel_output(results[k], label);
  }
  if (status != GEMEL_OK) {
    return take_error(derivative, call->error);
  }
  status = gemel__graph_inline(call->graph, derivative, in, out, call->error);
  for (k = 0; k < n && status == GEMEL_OK; k++) {
    placed[k] = out[k + 1]; /* behind the formula's own */
  }
  return status;
}

static gemel_graph *own_graph(gemel_derive *call, gemel_value *x, gemel_value *y) {
  gemel_type types[MOST_OPERANDS];
  for (size_t k = 0; k < call->n_inputs && k < MOST_OPERANDS; k++) {
    types[k] = gemel_value_type(call->inputs[k]);
  }
  gemel_graph *graph = gemel__definition_graph(call->data, call->n_inputs, types, call->error);
  for (size_t k = 0; k < call->n_inputs && graph != NULL; k++) {
    x[k] = gemel_graph_input(graph, k);
  }
  if (graph != NULL) {
    *y = gemel_graph_output(graph, 0);
  }
  return graph;
}

static gemel_status gradient(gemel_derive *call) {
  gemel_value x[MOST_OPERANDS], wrt[MOST_OPERANDS], g[MOST_OPERANDS], y, seed;
  gemel_graph *graph = own_graph(call, x, &y);
  size_t k, n = 0, at[MOST_OPERANDS];
  if (graph == NULL) {
    return call->error->status;
  }
  for (k = 0; k < call->n_inputs; k++) {
    if (call->wanted[k]) {
      at[n] = k;
      wrt[n++] = x[k];
    }
  }
  gemel_status status = add_seeds(graph, 1, &y, &seed, call->error);
  if (status == GEMEL_OK) {
    status = gemel_grad(1, &y, &seed, n, wrt, g, call->error);
  }
  if (status == GEMEL_OK) {
    status = place(call, graph, 1, call->d_outputs, n, g, wrt);
  }
  for (k = 0; k < n && status == GEMEL_OK; k++) {
    call->d_inputs[at[k]] = wrt[k];
  }
  gemel_graph_unref(graph);
  return status;
}

static gemel_status forward(gemel_derive *call) {
  gemel_value x[MOST_OPERANDS], wrt[MOST_OPERANDS], seeds[MOST_OPERANDS], t[MOST_OPERANDS], y, dy;
  gemel_graph *graph = own_graph(call, x, &y);
  size_t k, n = 0;
  if (graph == NULL) {
    return call->error->status;
  }
  for (k = 0; k < call->n_inputs; k++) {
    memset(&t[k], 0, sizeof t[k]);
    t[k] = gemel_is_null(call->d_inputs[k]) ? t[k] : x[k];
  }
  gemel_status status = add_seeds(graph, call->n_inputs, t, seeds, call->error);
  for (k = 0; k < call->n_inputs; k++) {
    if (!gemel_is_null(t[k])) {
      wrt[n] = x[k];
      t[n++] = seeds[k];
    }
  }
  if (status == GEMEL_OK) {
    status = gemel_jvp(1, &y, n, wrt, t, &dy, call->error);
  }
  if (status == GEMEL_OK) {
    status = place(call, graph, call->n_inputs, call->d_inputs, 1, &dy, &call->d_outputs[0]);
  }
  gemel_graph_unref(graph);
  return status;
}

/* ---- What a graph needs of them ---- */

/* 1 if a node of GRAPH applies operation ID. */
static int applies(const gemel_graph *graph, uint32_t id) {
  size_t k = 0;
  while (k < graph->n_nodes && gemel__node_at(graph, (uint32_t)k)->op != id) {
    k++;
  }
  return k < graph->n_nodes;
}

/* 1 if the formula of D names NAME. */
static int mentions(const gemel__definition *d, const char *name) {
  gemel__lex lex;
  gemel__lex_start(&lex, d->text, d->bytes - 1, d->file);
  while (lex.kind != GEMEL__TOKEN_END && lex.kind != GEMEL__TOKEN_BAD &&
         !gemel__lex_is(&lex, name)) {
    gemel__lex_next(&lex);
  }
  return gemel__lex_is(&lex, name);
}

gemel_status gemel__definitions_of(const gemel_graph *const *graphs, size_t n,
                                   void (*put)(void *user, const char *text), void *user,
                                   gemel_error *error) {
  gemel_context *context = graphs[0]->context;
  const gemel__definition *first = __atomic_load_n(&context->definitions, __ATOMIC_ACQUIRE), *d;
  const gemel__definition **used;
  size_t count = 0, most = 0, k;
  for (d = first; d != NULL; d = d->next) {
    most++;
  }
  if (most == 0) {
    return GEMEL_OK;
  }
  used = gemel__alloc_array(most, sizeof *used);
  if (used == NULL) {
    return gemel__no_memory(error, "definitions");
  }
  for (d = first; d != NULL; d = d->next) { /* the newest first: it may need older ones */
    uint32_t id = gemel__op_find(context, d->name);
    int needed = 0;
    for (k = 0; k < n && !needed; k++) {
      needed = applies(graphs[k], id);
    }
    for (k = 0; k < count && !needed; k++) {
      needed = mentions(used[k], d->name);
    }
    if (needed) {
      used[count++] = d;
    }
  }
  while (count > 0) {
    put(user, used[--count]->text);
  }
  gemel__free(used, most * sizeof *used);
  return GEMEL_OK;
}

/* ---- Running it ---- */

/* What is kept from one call to the next. */
typedef struct definition_call {
  const gemel__body_runner *runner;
  gemel_function *function;
} definition_call;

static void free_function(void *prepared) {
  definition_call *c = prepared;
  c->runner->free(c->function);
}

static gemel_status prepare(gemel_kernel_call *call) {
  const gemel__definition *d = call->data;
  gemel_type types[MOST_OPERANDS];
  definition_call made = {d->context->runner, NULL};
  gemel_status status = GEMEL_NO_MEMORY;
  for (size_t k = 0; k < call->n_inputs && k < MOST_OPERANDS; k++) {
    const gemel_view *x = &call->inputs[k];
    types[k] = gemel_type_of_shape(d->context, x->dtype, x->rank, x->shape);
    if (gemel_type_is_none(types[k])) {
      return gemel__no_memory(call->error, "a type");
    }
  }
  gemel_graph *graph = gemel__definition_graph(d, call->n_inputs, types, call->error);
  if (graph == NULL) {
    return call->error->status;
  }
  made.function = made.runner->compile(call, graph, &status);
  gemel_graph_unref(graph);
  if (made.function == NULL) {
    return status;
  }
  memcpy(call->prepared, &made, sizeof made);
  call->release = free_function;
  return GEMEL_OK;
}

static gemel_status run(const gemel_kernel_call *call) {
  gemel_tensor *in[MOST_OPERANDS] = {NULL}, *out;
  const gemel_view *y = &call->outputs[0];
  const definition_call *made = call->prepared;
  gemel_status status = GEMEL_OK;
  out =
      gemel_tensor_wrap(y->dtype, y->rank, y->shape, y->strides, y->data, NULL, NULL, call->error);
  for (size_t k = 0; k < call->n_inputs && k < MOST_OPERANDS; k++) {
    const gemel_view *x = &call->inputs[k];
    in[k] = gemel_tensor_wrap(x->dtype, x->rank, x->shape, x->strides, x->data, NULL, NULL,
                              call->error);
    status = in[k] == NULL ? call->error->status : status;
  }
  status = out == NULL ? call->error->status : status;
  if (status == GEMEL_OK) {
    status = made->runner->call(made->function, call->n_inputs, in, 1, &out, call->error);
  }
  for (size_t k = 0; k < call->n_inputs && k < MOST_OPERANDS; k++) {
    gemel_tensor_unref(in[k]);
  }
  gemel_tensor_unref(out);
  return status;
}

/* ---- Samples ---- */

/* Operands of one dtype and shape, or of different ranks, as far as the formula takes them. */
static gemel_status draw(gemel_sample *call, size_t n) {
  int64_t shape[3];
  int rank = (int)(call->random(call->user) % 4), axis, square;
  uint64_t what = call->random(call->user) % 4;
  int64_t left = call->max_elements;
  square = call->random(call->user) % 4 == 0;
  for (axis = 0; axis < rank; axis++) {
    int64_t most = left < 6 ? left : 6;
    shape[axis] = axis > 0 && square && left >= shape[0]
                      ? shape[0]
                      : (int64_t)(call->random(call->user) % (uint64_t)(most + 1));
    shape[axis] = shape[axis] == 0 && call->random(call->user) % 4 != 0 ? 1 : shape[axis];
    left = shape[axis] > 0 ? left / shape[axis] : left;
  }
  if (rank > 0 && call->length > 0 && call->length <= call->max_elements) {
    for (axis = 0; axis < rank; axis++) {
      shape[axis] = axis == (call->axis < 0 ? 0 : call->axis % rank) ? call->length : 1;
    }
  }
  call->n_inputs = n;
  for (size_t k = 0; k < n; k++) {
    int lower = k > 0 && rank > 0 && call->random(call->user) % 4 == 0;
    call->inputs[k] = gemel_type_of_shape(call->context, call->dtype, rank - lower, shape + lower);
    call->ranges[k] = what == 0   ? GEMEL_RANGE_POSITIVE
                      : what == 1 ? GEMEL_RANGE_ANY
                                  : GEMEL_RANGE_MODERATE;
    if (gemel_type_is_none(call->inputs[k])) {
      return GEMEL_NO_MEMORY;
    }
  }
  return GEMEL_OK;
}

static gemel_status sample(gemel_sample *call) {
  enum { TRIES = 16 };
  const gemel__definition *d = call->data;
  for (int k = 0; k < TRIES; k++) {
    gemel_error problem = {GEMEL_OK, 0, 0, ""};
    gemel_status status = draw(call, d->operands);
    gemel_graph *graph = status == GEMEL_OK
                             ? gemel__definition_graph(d, call->n_inputs, call->inputs, &problem)
                             : NULL;
    gemel_graph_unref(graph);
    if (graph != NULL) {
      return GEMEL_OK;
    }
    if (status == GEMEL_NO_MEMORY || problem.status == GEMEL_NO_MEMORY) {
      return GEMEL_NO_MEMORY;
    }
  }
  return GEMEL_DECLINED;
}

/* ---- Reading ---- */

static const gemel_kernel kernels[] = {{"defined", prepare, run}, {NULL, NULL, NULL}};

/* Goes behind the brace that closes the body; counts the operands on the way. */
static gemel_status skip(gemel__lex *lex, gemel__definition *d, const char **end,
                         gemel_error *error) {
  char found[64];
  int depth = 0, first = 1;
  gemel__lex_next(lex); /* the parenthesis */
  if (lex->kind != '(') {
    return gemel__lex_fail(lex, error, GEMEL_BAD_TEXT, "expected '(', found %s",
                           gemel__lex_describe(lex, found));
  }
  gemel__lex_next(lex);
  while (lex->kind == GEMEL__TOKEN_NAME || (lex->kind == ',' && !first)) {
    d->operands += lex->kind == GEMEL__TOKEN_NAME;
    first = 0;
    gemel__lex_next(lex);
  }
  if (lex->kind != ')' || d->operands > MOST_OPERANDS || d->operands == 0) {
    return gemel__lex_fail(lex, error, GEMEL_BAD_TEXT,
                           "expected the names of one to %d operands, found %s", MOST_OPERANDS,
                           gemel__lex_describe(lex, found));
  }
  gemel__lex_next(lex);
  do {
    depth += (lex->kind == '{') - (lex->kind == '}');
    if (lex->kind == GEMEL__TOKEN_END || lex->kind == GEMEL__TOKEN_BAD || depth == 0) {
      break;
    }
    gemel__lex_next(lex);
  } while (depth > 0 && !(depth == 1 && lex->kind == '}'));
  if (lex->kind != '}') {
    return gemel__lex_fail(lex, error, GEMEL_BAD_TEXT, "expected '{' and the operation's body");
  }
  *end = lex->token + lex->length;
  gemel__lex_next(lex);
  return GEMEL_OK;
}

static gemel__definition *read(gemel_context *context, gemel__lex *lex, gemel_error *error) {
  const char *begin = lex->token, *end = NULL;
  gemel__definition *d = gemel__alloc_zeroed(sizeof *d);
  char name[1024];
  if (d == NULL) {
    gemel__no_memory(error, "a definition");
    return NULL;
  }
  d->context = context;
  d->line = lex->token_line;
  gemel__lex_next(lex);
  if (lex->kind != GEMEL__TOKEN_NAME || gemel__lex_copy(lex, name, sizeof name) != 0) {
    gemel__lex_fail(lex, error, GEMEL_BAD_TEXT, "expected the operation's name");
  } else if (skip(lex, d, &end, error) == GEMEL_OK) {
    d->bytes = (size_t)(end - begin) + 1;
    d->text = gemel__alloc(d->bytes);
    d->name = gemel__intern_string(context, name);
    d->file = gemel__intern_string(context, lex->file);
    if (d->text != NULL && d->name != NULL && d->file != NULL) {
      memcpy(d->text, begin, d->bytes - 1);
      d->text[d->bytes - 1] = '\0';
      return d;
    }
    d->bytes = d->text != NULL ? d->bytes : 0;
    gemel__no_memory(error, "a definition");
  }
  release_one(d);
  return NULL;
}

/* What isn't about types is found out at once: mistakes of grammar, and names that aren't defined.
 */
static gemel_status try_out(const gemel__definition *d, gemel_error *error) {
  gemel_type types[MOST_OPERANDS];
  gemel_error problem = {GEMEL_OK, 0, 0, ""};
  for (size_t k = 0; k < d->operands; k++) {
    types[k] = gemel_type_of_shape(d->context, GEMEL_F64, 0, NULL);
    if (gemel_type_is_none(types[k])) {
      return gemel__no_memory(error, "a type");
    }
  }
  gemel_graph *graph = gemel__definition_graph(d, d->operands, types, &problem);
  gemel_graph_unref(graph);
  if (graph == NULL && (problem.status == GEMEL_BAD_TEXT || problem.status == GEMEL_NO_MEMORY)) {
    *error = problem;
    return problem.status;
  }
  return GEMEL_OK;
}

static gemel_status add(gemel_context *context, gemel__definition *d, gemel_error *error) {
  gemel_operation op;
  memset(&op, 0, sizeof op);
  op.size = sizeof op;
  op.name = d->name;
  op.summary = "Defined by a text.";
  op.min_inputs = op.max_inputs = (int)d->operands;
  op.version = 1;
  op.infer = type_rule;
  op.grad = gradient;
  op.jvp = forward;
  op.sample = sample;
  op.kernels = kernels;
  op.data = d;
  gemel_status status = gemel_register_operation(context, &op, error);
  if (status == GEMEL_OK) {
    push(context, d);
  }
  return status;
}

/* Adds D, whose name stands at AT, or frees it. Call with CONTEXT->defining locked: otherwise
 * another thread's operation that is registered, but whose definition isn't in the list yet, would
 * be taken for one that a program has registered. */
static gemel_status take_in(gemel_context *context, gemel__definition *d, const gemel__lex *at,
                            gemel_error *error) {
  const gemel__definition *old = gemel__definition_find(context, d->name);
  uint32_t id = gemel__op_find(context, d->name);
  gemel_status status;
  if (old != NULL && strcmp(old->text, d->text) == 0) {
    release_one(d); /* once more the same */
    return GEMEL_OK;
  }
  if (old != NULL || (id != 0 && id <= context->n_builtins)) {
    status = gemel__lex_fail(at, error, GEMEL_BAD_TEXT, "there is an operation called %s already",
                             d->name);
    release_one(d);
    return status;
  }
  status = try_out(d, error);
  if (status == GEMEL_OK && id != 0) {
    push(context, d);
    return GEMEL_OK;
  }
  status = status == GEMEL_OK ? add(context, d, error) : status;
  if (status != GEMEL_OK) {
    release_one(d);
  }
  return status;
}

gemel_status gemel__define(gemel_context *context, gemel__lex *lex, gemel_error *error) {
  gemel__lex at = *lex;
  gemel__definition *d = read(context, lex, error);
  if (d == NULL) {
    return error->status;
  }
  gemel__lex_next(&at);
  pthread_mutex_lock(&context->defining);
  gemel_status status = take_in(context, d, &at, error);
  pthread_mutex_unlock(&context->defining);
  return status;
}

gemel_status gemel_define_operations(gemel_context *context, const char *text, size_t length,
                                     const char *file, gemel_error *error) {
  gemel_error local;
  gemel__lex lex;
  char found[64];
  const char *name;
  gemel_status status = GEMEL_OK;
  error = error != NULL ? error : &local;
  if (context == NULL || (text == NULL && length > 0)) {
    return gemel__null(error, context == NULL ? "the context" : "the text");
  }
  name = gemel__intern_string(context, file != NULL ? file : "");
  if (name == NULL) {
    return gemel__no_memory(error, "a name");
  }
  gemel__lex_start(&lex, text, length, name);
  while (status == GEMEL_OK && lex.kind != GEMEL__TOKEN_END && !gemel__lex_is(&lex, "graph") &&
         !gemel__lex_is(&lex, "rule") && !gemel__lex_is(&lex, "for")) {
    status = gemel__lex_is(&lex, "operation")
                 ? gemel__define(context, &lex, error)
                 : gemel__lex_fail(&lex, error, GEMEL_BAD_TEXT, "expected 'operation', found %s",
                                   gemel__lex_describe(&lex, found));
  }
  return status;
}
