/* SPDX-License-Identifier: MIT
 *
 * The parser of graph text: a file is one graph after another, the last of which is the result and
 * the others can be named as attributes by those behind them. A statement is parsed to a program
 * (program.h) and executed at once; the program's memory serves all statements, so a line costs no
 * allocation. Nothing recurses but graphs written inside attributes, and those only MAX_INLINE
 * deep: graphs inside graphs without limit are written one before the other.
 */
#include <gemel/text.h>
#include <string.h>
#include "core/alloc.h"
#include "text/define.h"
#include "text/names.h"
#include "text/program.h"

enum { MAX_INLINE = 16 };

/* A graph that was read, under the name that later ones call it by. */
typedef struct definition {
  const char *name;
  size_t length;
  gemel_graph *graph;
} definition;

/* What all graphs of one text share. */
typedef struct file {
  gemel_context *context;
  const char *name; /* interned: the nodes' provenance */
  definition *definitions;
  size_t count, capacity;
  gemel__names index; /* definition number by name */
  int depth;
} file;

/* One graph being read. */
typedef struct body {
  file *file;
  gemel_graph *graph;
  gemel__names names;
  gemel__expr_program program;
  gemel_value *values; /* of the statement's instructions */
  size_t value_capacity;
  gemel__lex *targets; /* names on the left of '=' */
  size_t target_capacity;
  const gemel_type *types; /* of the inputs, where the text has none: of an operation's formula */
  size_t n_types;
} body;

/* ---- Scope ---- */

static int find_token(const gemel__names *names, const gemel__lex *at, gemel__ref *ref) {
  gemel__name name = gemel__name_of(at->token, at->length);
  return gemel__names_find(names, &name, ref);
}

static int add_token(gemel__names *names, const gemel__lex *at, gemel__ref ref) {
  gemel__name name = gemel__name_of(at->token, at->length);
  return gemel__names_add(names, &name, ref);
}

static int find_value(void *user, const char *name, size_t length, gemel__ref *ref) {
  gemel__name key = gemel__name_of(name, length);
  return gemel__names_find(&((body *)user)->names, &key, ref);
}

static void offer_names(void *user, gemel__suggestion *near) {
  gemel__names_offer(&((const body *)user)->names, near);
}

static int find_size(void *user, const char *name, size_t length, gemel_dim *dim,
                     gemel_error *error) {
  body *b = (body *)user;
  gemel__ref ref;
  if (!find_value(user, name, length, &ref)) {
    return 0;
  }
  *dim = gemel_dim_of(gemel__value(b->graph, ref));
  if (gemel_dim_is_none(*dim)) {
    if (b->graph->error.status && error) {
      *error = b->graph->error;
    } else {
      gemel__no_memory(error, "a size");
    }
  }
  return 1;
}

static gemel_graph *read_graph(file *f, gemel__lex *lex, gemel_error *error);

/* An attribute's graph: written inline, or the name of one before. */
static gemel_graph *find_graph(void *user, gemel__lex *lex, gemel_error *error) {
  file *f = ((body *)user)->file;
  gemel__ref ref;
  char found[64];
  int next = gemel__lex_peek(lex, NULL);
  if (gemel__lex_is(lex, "graph") && next != ',' && next != ')') {
    return read_graph(f, lex, error);
  }
  if (lex->kind != GEMEL__TOKEN_NAME || !find_token(&f->index, lex, &ref)) {
    gemel__lex_fail(lex, error, GEMEL_BAD_TEXT, "expected a graph that is defined above, found %s",
                    gemel__lex_describe(lex, found));
    return NULL;
  }
  gemel__lex_next(lex);
  return gemel_graph_ref(f->definitions[ref.node].graph);
}

/* ---- Statements ---- */

/* 1 if the token is WORD and a name follows, as none can where WORD is itself a name. */
static int is_word_before_name(const gemel__lex *lex, const char *word) {
  gemel__lex next = *lex;
  if (!gemel__lex_is(lex, word)) {
    return 0;
  }
  gemel__lex_next(&next);
  return next.kind == GEMEL__TOKEN_NAME;
}

static gemel_status expect_name(const gemel__lex *lex, const char *what, gemel_error *error) {
  char found[64];
  if (lex->kind == GEMEL__TOKEN_NAME) {
    return GEMEL_OK;
  }
  return gemel__lex_fail(lex, error, GEMEL_BAD_TEXT, "expected %s, found %s", what,
                         gemel__lex_describe(lex, found));
}

/* The graph's own error, with the line that it names; a text without a name has its line alone. */
static gemel_status graph_error(const body *b, gemel_location where, gemel_error *error) {
  if (error) {
    *error = b->graph->error;
    error->line = where.line;
    error->column = 0;
    if (!gemel__is_place(where)) {
      gemel__error_prefix(error, "line %d", where.line);
    }
  }
  return b->graph->error.status;
}

/* The graph's own error at AT, not where VALUE, which it refuses as an output, was made. */
static gemel_status output_error(const gemel__lex *at, gemel_value value, gemel_error *error) {
  if (error) {
    *error = *gemel_graph_error(value.graph);
    gemel__error_unplace(error, gemel_value_where(value));
  }
  return gemel__lex_locate(at, error);
}

/* Makes NAME stand for REF. */
static gemel_status define(body *b, const gemel__lex *at, gemel__ref ref, gemel_error *error) {
  char found[64];
  int added = add_token(&b->names, at, ref);
  if (added > 0) {
    return gemel__lex_fail(at, error, GEMEL_BAD_TEXT, "%s is defined already",
                           gemel__lex_describe(at, found));
  }
  return added ? gemel__no_memory(error, "names") : GEMEL_OK;
}

/* Reads an expression and builds it. */
static gemel_status expression(body *b, gemel__lex *lex, gemel_value *value, gemel_error *error) {
  gemel__scope scope = {b, find_value, NULL, find_size, find_graph, offer_names, 1};
  gemel__expr_program *program = &b->program;
  gemel_location where = {b->file->name, lex->token_line};
  uint32_t index;
  gemel__expr_program_reset(program);
  gemel_status status = gemel__infix_parse(program, lex, &scope, &index, error);
  if (status) {
    return status;
  }
  if (gemel__grow(&b->values, &b->value_capacity, program->n_code, sizeof *b->values)) {
    return gemel__no_memory(error, "an expression");
  }
  *value = gemel__expr_program_run(program, b->graph, NULL, NULL, where, 1, b->values);
  return gemel_is_null(*value) ? graph_error(b, where, error) : GEMEL_OK;
}

/* Gives the names on the left to the outputs of VALUE's node. */
static gemel_status define_targets(body *b, size_t n, gemel_value value, gemel_error *error) {
  uint32_t outputs = gemel__node_at(b->graph, value.node)->n_outputs;
  gemel_status status = GEMEL_OK;
  if (n != outputs && (n > 1 || b->program.code[b->program.n_code - 1].kind >= GEMEL__CODE_APPLY)) {
    return gemel__lex_fail(&b->targets[0], error, GEMEL_BAD_TEXT, "%zu name%s for %u value%s", n,
                           n == 1 ? "" : "s", outputs, outputs == 1 ? "" : "s");
  }
  for (size_t k = 0; k < n && !status; k++) {
    gemel__ref ref = {value.node, n == 1 ? value.output : (uint32_t)k};
    status = define(b, &b->targets[k], ref, error);
  }
  return status;
}

/* name, … = expression */
static gemel_status assignment(body *b, gemel__lex *lex, gemel_error *error) {
  gemel_value value;
  size_t n = 0;
  gemel_status status;
  do {
    if (gemel__grow(&b->targets, &b->target_capacity, n + 1, sizeof *b->targets)) {
      return gemel__no_memory(error, "names");
    }
    status = expect_name(lex, "a name, 'return' or '}'", error);
    if (status) {
      return status;
    }
    b->targets[n++] = *lex;
    gemel__lex_next(lex);
  } while (gemel__lex_accept(lex, ','));
  status = gemel__lex_expect(lex, '=', "'='", error);
  status = status ? status : expression(b, lex, &value, error);
  return status ? status : define_targets(b, n, value, error);
}

/* name, or name = expression */
static gemel_status output(body *b, gemel__lex *lex, gemel_error *error) {
  gemel__lex at = *lex;
  gemel__ref ref;
  gemel_value value;
  char name[1024], found[64];
  gemel_status status = expect_name(lex, "the name of an output", error);
  if (status) {
    return status;
  }
  gemel__lex_next(lex);
  if (gemel__lex_accept(lex, '=')) {
    status = expression(b, lex, &value, error);
  } else if (find_token(&b->names, &at, &ref)) {
    value = gemel__value(b->graph, ref);
  } else {
    gemel__suggestion near;
    gemel__suggestion_start(&near, at.token, at.length);
    offer_names(b, &near);
    status = gemel__lex_fail(&at, error, GEMEL_BAD_TEXT, "%s is not defined%s",
                             gemel__lex_describe(&at, found), gemel__suggestion_text(&near));
  }
  if (!status && gemel__lex_copy(&at, name, sizeof name)) {
    status = gemel__lex_fail(&at, error, GEMEL_BAD_TEXT, "the name is too long");
  }
  if (!status && gemel_output(value, name)) {
    status = output_error(&at, value, error);
  }
  return status;
}

/* update state = expression */
static gemel_status update(body *b, gemel__lex *lex, gemel_error *error) {
  char name[1024], found[64];
  gemel__lex_next(lex);
  const char *interned =
      gemel__lex_copy(lex, name, sizeof name) ? NULL : gemel__intern_string(b->file->context, name);
  if (interned == NULL || gemel__state_called(b->graph, interned) < 0) {
    return gemel__lex_fail(lex, error, GEMEL_BAD_TEXT, "%s is no state",
                           gemel__lex_describe(lex, found));
  }
  return output(b, lex, error);
}

/* The one result of an operation's formula, which needs no name. */
static gemel_status nameless_output(body *b, gemel__lex *lex, gemel_error *error) {
  gemel__lex at = *lex;
  gemel_value value;
  gemel_status status = expression(b, lex, &value, error);
  if (!status && gemel_output(value, "result")) {
    status = output_error(&at, value, error);
  }
  return status;
}

static gemel_status outputs(body *b, gemel__lex *lex, gemel_error *error) {
  gemel_status status;
  int next, second;
  if (lex->kind == '}') {
    return GEMEL_OK;
  }
  next = gemel__lex_peek(lex, &second);
  if (b->types && !(lex->kind == GEMEL__TOKEN_NAME &&
                    (next == '}' || next == ',' || (next == '=' && second != '=')))) {
    return nameless_output(b, lex, error);
  }
  do {
    status = output(b, lex, error);
  } while (!status && gemel__lex_accept(lex, ','));
  return status;
}

/* ---- Graphs ---- */

/* The bits of the fact that the token is; 0: it is none. */
static unsigned fact_of(const gemel__lex *lex) {
  static const struct {
    const char *word;
    unsigned bits;
  } facts[] = {
#define FACT_WORD(E, word, bit, meaning) {#word, bit},
      GEMEL_FACT_TABLE(FACT_WORD)
#undef FACT_WORD
          {"positive", GEMEL_FACT_POSITIVE}};
  for (size_t k = 0; k < sizeof facts / sizeof *facts; k++) {
    if (gemel__lex_is(lex, facts[k].word)) {
      return facts[k].bits;
    }
  }
  return 0;
}

/* What is assumed of an input, behind its type. */
static gemel_status read_facts(gemel__lex *lex, unsigned *facts, gemel_error *error) {
  *facts = 0;
  while (lex->kind == GEMEL__TOKEN_NAME) {
    unsigned one = fact_of(lex);
    if (one == 0) {
      return gemel__lex_fail(lex, error, GEMEL_BAD_TEXT,
                             "an input is positive, nonnegative, nonzero, not_nan or finite");
    }
    *facts |= one;
    gemel__lex_next(lex);
  }
  return GEMEL_OK;
}

/* An input as it is written: [state] name: type facts. */
typedef struct declaration {
  int is_state;
  char name[1024];
  gemel_type type;
  unsigned facts;
} declaration;

static gemel_status read_name(gemel__lex *lex, char name[1024], gemel_error *error) {
  gemel_status status = expect_name(lex, "the name of an input", error);
  if (!status && gemel__lex_copy(lex, name, 1024)) {
    status = gemel__lex_fail(lex, error, GEMEL_BAD_TEXT, "the name is too long");
  }
  if (!status) {
    gemel__lex_next(lex);
  }
  return status;
}

static gemel_status read_type(gemel_context *context, gemel__lex *lex, gemel_type *type,
                              gemel_error *error) {
  gemel_status status = gemel__lex_expect(lex, ':', "':' and a type", error);
  return status ? status : gemel__type_read(context, lex, type, error);
}

static gemel_value declare(gemel_graph *graph, const declaration *d, gemel_location where) {
  return d->is_state ? gemel_state_at(graph, d->name, d->type, where)
                     : gemel_input_at(graph, d->name, d->type, where);
}

static gemel_status input(body *b, gemel__lex *lex, gemel_error *error) {
  declaration d;
  gemel__ref old;
  d.is_state = !b->types && is_word_before_name(lex, "state");
  if (d.is_state) {
    gemel__lex_next(lex);
  }
  gemel__lex at = *lex;
  gemel_location where = {b->file->name, lex->token_line};
  gemel_status status = read_name(lex, d.name, error);
  if (!status && b->types) {
    d.type = b->graph->n_inputs < b->n_types ? b->types[b->graph->n_inputs] : GEMEL_TYPE_NONE;
  } else if (!status) {
    status = read_type(b->file->context, lex, &d.type, error);
  }
  status = status ? status : read_facts(lex, &d.facts, error);
  if (status) {
    return status;
  }
  if (find_token(&b->names, &at, &old)) {
    return gemel__lex_fail(&at, error, GEMEL_BAD_TEXT, "there are two inputs called %s", d.name);
  }
  gemel_value value = declare(b->graph, &d, where);
  if (gemel_is_null(value)) {
    return graph_error(b, where, error);
  }
  if (gemel_assume(value, d.facts) != GEMEL_OK) {
    return gemel__no_memory(error, "what is assumed of an input");
  }
  return define(b, &at, (gemel__ref){value.node, value.output}, error);
}

/* Reads a declaration that is a whole text. */
static gemel_status read_declaration(gemel_context *context, gemel__lex *lex, declaration *d,
                                     gemel_error *error) {
  d->is_state = is_word_before_name(lex, "state");
  if (d->is_state) {
    gemel__lex_next(lex);
  }
  gemel_status status = read_name(lex, d->name, error);
  status = status ? status : read_type(context, lex, &d->type, error);
  status = status ? status : read_facts(lex, &d->facts, error);
  return status ? status : gemel__lex_expect(lex, GEMEL__TOKEN_END, "the end of the text", error);
}

gemel_value gemel_declare_at(gemel_graph *graph, const char *text, gemel_location where) {
  gemel_value value = {NULL, 0, 0};
  gemel_error error;
  gemel__lex lex;
  declaration d;
  if (graph == NULL || graph->frozen) {
    return value;
  }
  if (text == NULL) {
    return gemel__graph_fail_at(graph, where, GEMEL_BAD_ARGUMENT, "the declaration is null");
  }
  gemel__lex_start(&lex, text, strlen(text), "");
  if (read_declaration(graph->context, &lex, &d, &error) != GEMEL_OK) {
    return gemel__graph_fail_at(graph, where, error.status, "%s", error.text);
  }
  value = declare(graph, &d, where);
  if (!gemel_is_null(value) && gemel_assume(value, d.facts) != GEMEL_OK) {
    gemel__graph_fail_at(graph, where, GEMEL_NO_MEMORY, "out of memory for what is assumed");
    return (gemel_value){NULL, 0, 0};
  }
  return value;
}

static gemel_status inputs(body *b, gemel__lex *lex, gemel_error *error) {
  gemel_status status = gemel__lex_expect(lex, '(', "'('", error);
  if (status || gemel__lex_accept(lex, ')')) {
    return status;
  }
  do {
    status = input(b, lex, error);
  } while (!status && gemel__lex_accept(lex, ','));
  return status ? status : gemel__lex_expect(lex, ')', "',' or ')'", error);
}

static gemel_status statements(body *b, gemel__lex *lex, gemel_error *error) {
  gemel_status status = gemel__lex_expect(lex, '{', "'{'", error);
  while (!status && lex->kind != '}') {
    if (gemel__lex_is(lex, "return") && gemel__lex_peek(lex, NULL) != '=') {
      gemel__lex_next(lex);
      status = outputs(b, lex, error);
      break;
    }
    status = is_word_before_name(lex, "update") ? update(b, lex, error) : assignment(b, lex, error);
  }
  return status ? status : gemel__lex_expect(lex, '}', "'}'", error);
}

/* Reads `(inputs) { … }`. N TYPES: those of the inputs, where the text has none. A new graph, or
 * NULL. */
static gemel_graph *read_body(file *f, gemel__lex *lex, size_t n, const gemel_type *types,
                              gemel_error *error) {
  body b = {.file = f, .types = types, .n_types = n};
  b.graph = gemel_graph_new(f->context, error);
  if (!b.graph) {
    return NULL;
  }
  gemel__expr_program_init(&b.program, f->context);
  gemel_status status = inputs(&b, lex, error);
  status = status ? status : statements(&b, lex, error);
  if (!status && types && (b.graph->n_inputs != n || b.graph->n_outputs != 1)) {
    status = gemel__lex_fail(lex, error, GEMEL_BAD_TEXT,
                             "an operation's body returns one result, not %zu", b.graph->n_outputs);
  }
  gemel__names_clear(&b.names);
  gemel__expr_program_discard(&b.program);
  gemel__free(b.values, b.value_capacity * sizeof *b.values);
  gemel__free(b.targets, b.target_capacity * sizeof *b.targets);
  if (status) {
    gemel_graph_unref(b.graph);
    return NULL;
  }
  return b.graph;
}

/* Reads `graph [NAME](inputs) { … }` with the lexer on `graph`; a new graph or NULL. */
static gemel_graph *read_graph(file *f, gemel__lex *lex, gemel_error *error) {
  if (f->depth == MAX_INLINE) {
    gemel__lex_fail(lex, error, GEMEL_BAD_TEXT,
                    "graphs inside one another more than %d deep: define them one before the other",
                    MAX_INLINE);
    return NULL;
  }
  f->depth++;
  gemel__lex_next(lex);
  gemel__lex_accept(lex, GEMEL__TOKEN_NAME);
  gemel_graph *graph = read_body(f, lex, 0, NULL, error);
  f->depth--;
  return graph;
}

gemel_graph *gemel__parse_body(gemel_context *context, gemel__lex *lex, size_t n,
                               const gemel_type *types, gemel_error *error) {
  gemel_error local;
  file f = {.context = context, .name = lex->file};
  return read_body(&f, lex, n, types, error ? error : &local);
}

/* Reads one top-level graph and files it under its name. */
static gemel_status definition_at(file *f, gemel__lex *lex, gemel_error *error) {
  gemel__ref ref = {(uint32_t)f->count, 0}, old;
  char found[64];
  if (!gemel__lex_is(lex, "graph")) {
    return gemel__lex_fail(lex, error, GEMEL_BAD_TEXT, "expected 'graph', found %s",
                           gemel__lex_describe(lex, found));
  }
  gemel__lex at = *lex;
  gemel__lex_next(&at);
  gemel_status status = expect_name(&at, "the graph's name", error);
  if (status) {
    return status;
  }
  if (find_token(&f->index, &at, &old)) {
    return gemel__lex_fail(&at, error, GEMEL_BAD_TEXT, "there are two graphs called %s",
                           gemel__lex_describe(&at, found));
  }
  if (gemel__grow(&f->definitions, &f->capacity, f->count + 1, sizeof *f->definitions)) {
    return gemel__no_memory(error, "graphs");
  }
  gemel_graph *graph = read_graph(f, lex, error);
  if (!graph) {
    return error->status;
  }
  f->definitions[f->count++] = (definition){at.token, at.length, graph};
  return add_token(&f->index, &at, ref) ? gemel__no_memory(error, "names") : GEMEL_OK;
}

/* The last definition, its reference handed to the caller; NAME (may be NULL) receives its name. */
static gemel_graph *take_last(file *f, char **name, gemel_error *error) {
  definition *last = &f->definitions[f->count - 1];
  gemel_graph *graph = last->graph;
  if (name) {
    char *copy = (char *)gemel__alloc(last->length + 1);
    if (!copy) {
      gemel__no_memory(error, "a name");
      return NULL;
    }
    memcpy(copy, last->name, last->length);
    copy[last->length] = 0;
    *name = copy;
  }
  last->graph = NULL;
  return graph;
}

gemel_graph *gemel_parse(gemel_context *context, const char *text, size_t length,
                         const char *file_name, char **name, gemel_error *error) {
  gemel_error local;
  gemel_graph *graph = NULL;
  gemel__lex lex;
  file f;
  error = error ? error : &local;
  if (!context || (!text && length > 0)) {
    gemel__null(error, !context ? "the context" : "the text");
    return NULL;
  }
  memset(&f, 0, sizeof f);
  f.context = context;
  f.name = gemel__intern_string(context, file_name ? file_name : "");
  if (!f.name) {
    gemel__no_memory(error, "a name");
    return NULL;
  }
  gemel__lex_start(&lex, text, length, f.name);
  gemel_status status;
  do {
    status = gemel__lex_is(&lex, "operation") ? gemel__define(context, &lex, error)
                                              : definition_at(&f, &lex, error);
  } while (!status && (f.count == 0 || lex.kind != GEMEL__TOKEN_END));
  if (!status) {
    status = gemel__debug_check(f.definitions[f.count - 1].graph, error);
  }
  if (!status) {
    graph = take_last(&f, name, error);
  }
  while (f.count > 0) {
    gemel_graph_unref(f.definitions[--f.count].graph);
  }
  gemel__free(f.definitions, f.capacity * sizeof *f.definitions);
  gemel__names_clear(&f.index);
  return graph;
}

void gemel_text_free(char *text) {
  gemel__free_string(text);
}
