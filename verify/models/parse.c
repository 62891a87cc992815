/* SPDX-License-Identifier: MIT
 *
 * Statements as nodes of a sketch. What is an operand today and was an attribute once becomes one
 * where the sketch's opset is older.
 */
#include <stdio.h>
#include <string.h>
#include "core/lex.h"
#include "core/number.h"
#include "models/sketch.h"
#include "onnx/model.h"

enum { NAMES = 96 };

typedef struct statement_reader {
  gemel__sketch *d;
  gemel__random *random;
  gemel__lex lex;
  gemel_error *error;
  int graph;
  size_t n_names;
  struct {
    gemel__sketch_name local, outer;
  } names[NAMES];
} statement_reader;

static gemel_status misfit(statement_reader *r, const char *what) {
  return gemel__lex_fail(&r->lex, r->error, GEMEL_UNSUPPORTED, "%s", what);
}

/* ---- Names ---- */

static int is_taken(const gemel__sketch *d, const char *name) {
  int taken = gemel__sketch_uses(d, name);
  for (size_t k = 0; k < d->n_inputs; k++) {
    taken |= strcmp(d->inputs[k].name, name) == 0;
  }
  for (size_t k = 0; k < d->n_constants; k++) {
    taken |= strcmp(d->constants[k].value.name, name) == 0;
  }
  for (size_t k = 0; k < d->n_nodes; k++) {
    for (int i = 0; i < d->nodes[k].n_results; i++) {
      taken |= strcmp(d->nodes[k].results[i], name) == 0;
    }
  }
  return taken;
}

void gemel__sketch_fresh(gemel__sketch *d, const char *base, gemel__sketch_name name) {
  gemel__sketch_name made;
  int plain = d->style == 0;
  do {
    if (plain) {
      snprintf(made, sizeof made, "%.16s", base);
    } else if (d->style == 2) {
      snprintf(made, sizeof made, "%d", ++d->serial);
    } else {
      const char *format = d->style == 3 ? "/m/%.14s.%d" : "%.14s_%d";
      snprintf(made, sizeof made, format, base, ++d->serial);
    }
    plain = 0;
  } while (is_taken(d, made));
  strcpy(name, made);
}

static const char *outer_of(const statement_reader *r, const char *local) {
  for (size_t k = r->n_names; k-- > 0;) {
    if (strcmp(r->names[k].local, local) == 0) {
      return r->names[k].outer;
    }
  }
  return NULL;
}

static gemel_status bind(statement_reader *r, const char *local, const char *outer) {
  if (r->n_names == NAMES) {
    return misfit(r, "too many names");
  }
  snprintf(r->names[r->n_names].local, GEMEL__SKETCH_TEXT, "%s", local);
  snprintf(r->names[r->n_names++].outer, GEMEL__SKETCH_TEXT, "%s", outer);
  return GEMEL_OK;
}

static gemel_status read_name(statement_reader *r, gemel__sketch_name name) {
  if (r->lex.kind != GEMEL__TOKEN_NAME || gemel__lex_copy(&r->lex, name, GEMEL__SKETCH_TEXT) != 0) {
    return gemel__lex_fail(&r->lex, r->error, GEMEL_BAD_TEXT, "expected a name");
  }
  gemel__lex_next(&r->lex);
  return GEMEL_OK;
}

static gemel_status expect(statement_reader *r, int kind, const char *what) {
  return gemel__lex_expect(&r->lex, kind, what, r->error);
}

/* ---- Types ---- */

static gemel_status read_dim(statement_reader *r, gemel__sketch_dim *dim) {
  gemel__number number;
  memset(dim, 0, sizeof *dim);
  if (r->lex.kind == GEMEL__TOKEN_NAME) {
    if (gemel__lex_copy(&r->lex, dim->symbol, sizeof dim->symbol) != 0) {
      return misfit(r, "the symbol is too long");
    }
    gemel__lex_next(&r->lex);
    return GEMEL_OK;
  }
  dim->size = 1;
  do {
    int64_t factor;
    GEMEL__TRY(gemel__number_read(&r->lex, &number, r->error));
    if (gemel__number_int(&number, &factor) != 0 || factor < 0 || factor > 1000) {
      return misfit(r, "no size");
    }
    dim->size *= factor;
  } while (gemel__lex_accept(&r->lex, '*'));
  return GEMEL_OK;
}

static gemel_status read_dims(statement_reader *r, gemel__sketch_value *v) {
  GEMEL__TRY(expect(r, '[', "'['"));
  for (v->rank = 0; !gemel__lex_accept(&r->lex, ']'); v->rank++) {
    if (v->rank == GEMEL__SKETCH_RANK) {
      return misfit(r, "too many axes");
    }
    if (v->rank > 0) {
      GEMEL__TRY(expect(r, ',', "','"));
    }
    GEMEL__TRY(read_dim(r, &v->dims[v->rank]));
  }
  return GEMEL_OK;
}

/* 1 if the token is a dtype. */
static int dtype_here(const statement_reader *r, gemel_dtype *dtype) {
  gemel__sketch_name name;
  return r->lex.kind == GEMEL__TOKEN_NAME && gemel__lex_copy(&r->lex, name, sizeof name) == 0 &&
         gemel_dtype_find(name, dtype) == GEMEL_OK;
}

static gemel_status read_input(statement_reader *r, const char *local) {
  gemel__sketch *d = r->d;
  if (d->n_inputs == GEMEL__SKETCH_VALUES) {
    return misfit(r, "too many inputs");
  }
  gemel__sketch_value v = {.graph = r->graph};
  if (!dtype_here(r, &v.dtype)) {
    return gemel__lex_fail(&r->lex, r->error, GEMEL_BAD_TEXT, "expected a dtype");
  }
  gemel__lex_next(&r->lex);
  GEMEL__TRY(read_dims(r, &v));
  gemel__sketch_fresh(d, local, v.name);
  d->inputs[d->n_inputs++] = v;
  return bind(r, local, v.name);
}

/* ---- Constants ---- */

gemel__sketch_constant *gemel__sketch_constant_add(gemel__sketch *d, const char *base,
                                                   size_t count) {
  if (d->n_constants == GEMEL__SKETCH_CONSTANTS || d->n_numbers + count > GEMEL__SKETCH_NUMBERS) {
    return NULL;
  }
  gemel__sketch_constant *c = &d->constants[d->n_constants];
  memset(c, 0, sizeof *c);
  gemel__sketch_fresh(d, base, c->value.name);
  c->at = d->n_numbers;
  c->count = count;
  memset(d->numbers + c->at, 0, count * sizeof *d->numbers);
  d->n_constants++;
  d->n_numbers += count;
  return c;
}

/* A number that ordinary weights have: STYLE 0: a whole one, 1: eighths, 2: tenths. */
static double random_number(statement_reader *r, gemel_dtype dtype, int style) {
  int64_t k = gemel__random_between(r->random, -12, 12);
  gemel_kind kind = gemel_dtype_kind(dtype);
  return kind == GEMEL_KIND_BOOL       ? (double)(k & 1)
         : kind == GEMEL_KIND_UNSIGNED ? (double)(k < 0 ? -k : k)
         : kind == GEMEL_KIND_SIGNED   ? (double)k
         : style == 0                  ? (double)(k / 3)
         : style == 1                  ? (double)(k == 0 ? 1 : k) / 8
                                       : (double)(k == 0 ? 1 : k) / 10;
}

/* "%", any numbers; "%+", such above 0; "% N", whole ones below N. */
static gemel_status fill(statement_reader *r, gemel__sketch_constant *c) {
  int style = (int)gemel__random_below(r->random, 3), positive = gemel__lex_accept(&r->lex, '+');
  gemel__number number;
  int64_t below = 0;
  if (r->lex.kind == GEMEL__TOKEN_INT) {
    GEMEL__TRY(gemel__number_read(&r->lex, &number, r->error));
    gemel__number_int(&number, &below);
  }
  for (size_t k = 0; k < c->count; k++) {
    double x = random_number(r, c->value.dtype, style);
    r->d->numbers[c->at + k] = below > 0  ? (double)gemel__random_below(r->random, (uint64_t)below)
                               : positive ? fabs(x) + (x == 0)
                                          : x;
  }
  return GEMEL_OK;
}

/* Numbers up to CLOSE, of which there may be fewer than elements: they are repeated. */
static gemel_status read_numbers(statement_reader *r, int close, double *to, size_t most,
                                 size_t *count) {
  gemel__number number;
  for (*count = 0; !gemel__lex_accept(&r->lex, close); (*count)++) {
    GEMEL__TRY(gemel__number_read(&r->lex, &number, r->error));
    if (*count == most) {
      return misfit(r, "too many numbers");
    }
    to[*count] = gemel__number_double(&number);
  }
  return GEMEL_OK;
}

static gemel_status read_elements(statement_reader *r, gemel__sketch_constant *c) {
  size_t given;
  if (gemel__lex_accept(&r->lex, '%')) {
    GEMEL__TRY(fill(r, c));
    return expect(r, ')', "')'");
  }
  double *numbers = r->d->numbers + c->at;
  GEMEL__TRY(read_numbers(r, ')', numbers, c->count, &given));
  for (size_t k = given; given > 0 && k < c->count; k++) {
    numbers[k] = numbers[k - given];
  }
  return GEMEL_OK;
}

/* "f32[2,3](1 2)", "f32(1)"; the dtype is the token. */
static gemel_status read_constant(statement_reader *r, const char *base, gemel_dtype dtype,
                                  gemel__sketch_constant **made) {
  gemel__sketch_value type = {.dtype = dtype, .graph = r->graph};
  size_t count = 1;
  gemel__lex_next(&r->lex);
  if (r->lex.kind == '[') {
    GEMEL__TRY(read_dims(r, &type));
  }
  for (int k = 0; k < type.rank; k++) {
    if (type.dims[k].symbol[0] != '\0') {
      return misfit(r, "a constant's size is a symbol");
    }
    count *= (size_t)type.dims[k].size;
  }
  *made = gemel__sketch_constant_add(r->d, base, count);
  if (*made == NULL) {
    return misfit(r, "too many constants");
  }
  strcpy(type.name, (*made)->value.name);
  (*made)->value = type;
  GEMEL__TRY(expect(r, '(', "'('"));
  return read_elements(r, *made);
}

/* "[1 -1]": integers of 64 bits. */
static gemel_status read_ints(statement_reader *r, const char *base,
                              gemel__sketch_constant **made) {
  double numbers[GEMEL__SKETCH_LIST * 2];
  size_t count;
  gemel__lex_next(&r->lex);
  GEMEL__TRY(read_numbers(r, ']', numbers, sizeof numbers / sizeof *numbers, &count));
  *made = gemel__sketch_constant_add(r->d, base, count);
  if (*made == NULL) {
    return misfit(r, "too many constants");
  }
  (*made)->value.dtype = GEMEL_I64;
  (*made)->value.rank = 1;
  (*made)->value.dims[0].size = (int64_t)count;
  (*made)->value.graph = r->graph;
  memcpy(r->d->numbers + (*made)->at, numbers, count * sizeof *numbers);
  return GEMEL_OK;
}

/* ---- Attributes ---- */

static int graph_named(const statement_reader *r, const char *name) {
  for (size_t k = r->d->n_graphs; k-- > 1;) {
    if (strcmp(r->d->graphs[k].name, name) == 0) {
      return (int)k;
    }
  }
  return 0;
}

/* A dtype as a number, a tensor, a graph, a word or a quoted text. */
static gemel_status read_word(statement_reader *r, gemel__sketch_attr *a) {
  gemel_dtype dtype;
  int second;
  gemel__sketch_constant *made;
  if (dtype_here(r, &dtype) && strchr("[(", gemel__lex_peek(&r->lex, &second)) != NULL) {
    GEMEL__TRY(read_constant(r, "value", dtype, &made));
    made->form = GEMEL__FORM_ATTRIBUTE;
    a->kind = GEMEL__SKETCH_TENSOR;
    a->index = (int)(made - r->d->constants);
    return GEMEL_OK;
  }
  if (r->lex.kind == GEMEL__TOKEN_STRING && r->lex.length < sizeof a->text) {
    memcpy(a->text, r->lex.token + 1, r->lex.length - 2);
    a->kind = GEMEL__SKETCH_STRING;
    gemel__lex_next(&r->lex);
    return GEMEL_OK;
  }
  int is_dtype = dtype_here(r, &dtype);
  GEMEL__TRY(read_name(r, a->text));
  a->index = graph_named(r, a->text);
  a->kind = is_dtype       ? GEMEL__SKETCH_INT
            : a->index > 0 ? GEMEL__SKETCH_GRAPH
                           : GEMEL__SKETCH_STRING;
  a->count = is_dtype;
  a->numbers[0] = is_dtype ? (double)gemel__onnx_dtype_number(dtype) : 0;
  return GEMEL_OK;
}

/* A number, or a list; one with a point makes it floats. */
static gemel_status read_attr_numbers(statement_reader *r, gemel__sketch_attr *a) {
  gemel__number number;
  int is_list = gemel__lex_accept(&r->lex, '['), is_float = 0;
  for (a->count = 0; is_list ? !gemel__lex_accept(&r->lex, ']') : a->count == 0; a->count++) {
    GEMEL__TRY(gemel__number_read(&r->lex, &number, r->error));
    if (a->count == GEMEL__SKETCH_LIST) {
      return misfit(r, "too many numbers");
    }
    a->numbers[a->count] = gemel__number_double(&number);
    is_float |= number.is_float;
  }
  a->kind = is_list ? (is_float ? GEMEL__SKETCH_FLOATS : GEMEL__SKETCH_INTS)
                    : (is_float ? GEMEL__SKETCH_FLOAT : GEMEL__SKETCH_INT);
  return GEMEL_OK;
}

/* Axes counted from the end are of opset 11. */
static int is_too_new(const statement_reader *r, const gemel__sketch_attr *a) {
  int is_negative = 0;
  for (int k = 0; k < a->count; k++) {
    is_negative |= a->numbers[k] < 0;
  }
  return r->d->opset < 11 && is_negative && strncmp(a->name, "ax", 2) == 0;
}

static gemel_status read_attr(statement_reader *r, gemel__sketch_node *n) {
  gemel__sketch_attr *a = &n->attrs[n->n_attrs];
  int drop = 0;
  if (n->n_attrs == GEMEL__SKETCH_ATTRS) {
    return misfit(r, "too many attributes");
  }
  memset(a, 0, sizeof *a);
  GEMEL__TRY(read_name(r, a->name));
  GEMEL__TRY(expect(r, '=', "'='"));
  GEMEL__TRY(r->lex.kind == GEMEL__TOKEN_NAME || r->lex.kind == GEMEL__TOKEN_STRING
                 ? read_word(r, a)
                 : read_attr_numbers(r, a));
  int since = gemel__model_attr_since(n->op, a->name, &drop);
  if ((since > r->d->opset && !drop) || is_too_new(r, a)) {
    return misfit(r, "the opset hasn't this attribute");
  }
  n->n_attrs += since <= r->d->opset;
  return GEMEL_OK;
}

static gemel_status read_attrs(statement_reader *r, gemel__sketch_node *n) {
  if (gemel__lex_accept(&r->lex, '<')) {
    while (!gemel__lex_accept(&r->lex, '>')) {
      if (!gemel__lex_accept(&r->lex, ',')) {
        GEMEL__TRY(read_attr(r, n));
      }
    }
  }
  return GEMEL_OK;
}

/* ---- Operands ---- */

static gemel__sketch_constant *constant_named(gemel__sketch *d, const char *name) {
  for (size_t k = 0; k < d->n_constants; k++) {
    if (strcmp(d->constants[k].value.name, name) == 0) {
      return &d->constants[k];
    }
  }
  return NULL;
}

/* Operand K, a constant, becomes an attribute. */
static gemel_status to_attribute(statement_reader *r, gemel__sketch_node *n, int k,
                                 const char *name, gemel__sketch_kind kind) {
  gemel__sketch_constant *c = constant_named(r->d, n->inputs[k]);
  gemel__sketch_attr *a = &n->attrs[n->n_attrs];
  if (c == NULL || c->count > GEMEL__SKETCH_LIST || n->n_attrs == GEMEL__SKETCH_ATTRS ||
      (kind <= GEMEL__SKETCH_INT && c->count != 1)) {
    return misfit(r, "the operand was an attribute");
  }
  memset(a, 0, sizeof *a);
  strcpy(a->name, name);
  a->kind = kind;
  a->count = (int)c->count;
  memcpy(a->numbers, r->d->numbers + c->at, c->count * sizeof(double));
  n->n_attrs += c->count > 0;
  c->form = gemel__sketch_uses(r->d, n->inputs[k]) == 0 ? GEMEL__FORM_GONE : c->form;
  n->inputs[k][0] = '\0';
  return is_too_new(r, a) || c->count == 0 ? misfit(r, "such axes are of opset 11") : GEMEL_OK;
}

/* What the opset has otherwise. */
static gemel_status fit_operands(statement_reader *r, gemel__sketch_node *n) {
  gemel__sketch_kind kind = GEMEL__SKETCH_INT;
  gemel__sketch_name name;
  for (int k = n->n_inputs; k-- > 0;) {
    if (n->inputs[k][0] != '\0' &&
        gemel__model_operand_since(n->op, k, name, &kind) > r->d->opset) {
      if (kind == 0) {
        return misfit(r, "the opset hasn't this operand");
      }
      GEMEL__TRY(to_attribute(r, n, k, name, kind));
    }
  }
  while (n->n_inputs > 0 && n->inputs[n->n_inputs - 1][0] == '\0') {
    n->n_inputs--;
  }
  return GEMEL_OK;
}

static gemel_status read_expression(statement_reader *r, const char *base,
                                    gemel__sketch_name value);

static gemel_status read_operands(statement_reader *r, gemel__sketch_node *n) {
  GEMEL__TRY(expect(r, '(', "'('"));
  for (n->n_inputs = 0; !gemel__lex_accept(&r->lex, ')'); n->n_inputs++) {
    if (n->n_inputs == GEMEL__SKETCH_INPUTS) {
      return misfit(r, "too many operands");
    }
    if (n->n_inputs > 0) {
      GEMEL__TRY(expect(r, ',', "','"));
    }
    GEMEL__TRY(read_expression(r, "c", n->inputs[n->n_inputs]));
  }
  return GEMEL_OK;
}

/* ---- Nodes ---- */

gemel__sketch_node *gemel__sketch_node_add(gemel__sketch *d, const char *op, int graph) {
  if (d->n_nodes == GEMEL__SKETCH_NODES) {
    return NULL;
  }
  gemel__sketch_node *n = &d->nodes[d->n_nodes];
  memset(n, 0, sizeof *n);
  snprintf(n->op, sizeof n->op, "%s", op);
  n->graph = graph;
  gemel__sketch_fresh(d, "t", n->results[0]);
  n->n_results = 1;
  d->n_nodes++;
  return n;
}

/* A call whose operator is the token. Its results are called LOCALS; "_": left out. */
static gemel_status read_call(statement_reader *r, int n_locals, gemel__sketch_name *locals) {
  gemel__sketch_node n;
  memset(&n, 0, sizeof n);
  GEMEL__TRY(read_name(r, n.op));
  n.graph = r->graph;
  GEMEL__TRY(read_attrs(r, &n));
  GEMEL__TRY(read_operands(r, &n));
  if (!gemel__model_takes(n.op, r->d->opset, GEMEL_DTYPE_COUNT)) {
    return misfit(r, "the opset hasn't this operator");
  }
  GEMEL__TRY(fit_operands(r, &n));
  gemel__sketch_node *made = gemel__sketch_node_add(r->d, n.op, r->graph);
  if (made == NULL) {
    return misfit(r, "too many nodes");
  }
  *made = n;
  for (made->n_results = 0; made->n_results < n_locals; made->n_results++) {
    char *name = made->results[made->n_results];
    if (strcmp(locals[made->n_results], "_") != 0) {
      gemel__sketch_fresh(r->d, locals[made->n_results], name);
      GEMEL__TRY(bind(r, locals[made->n_results], name));
    }
  }
  return GEMEL_OK;
}

/* A name, a constant, "_" for an operand that is left out, or a call. */
static gemel_status read_expression(statement_reader *r, const char *base,
                                    gemel__sketch_name value) {
  gemel__sketch_name local = "t";
  gemel__sketch_constant *made = NULL;
  gemel_dtype dtype;
  int second, peek = gemel__lex_peek(&r->lex, &second);
  if (r->lex.kind == '[' || dtype_here(r, &dtype)) {
    GEMEL__TRY(r->lex.kind == '[' ? read_ints(r, base, &made)
                                  : read_constant(r, base, dtype, &made));
    strcpy(value, made->value.name);
    return GEMEL_OK;
  }
  if (r->lex.kind == GEMEL__TOKEN_NAME && (peek == '(' || peek == '<')) {
    GEMEL__TRY(read_call(r, 1, &local));
  } else {
    GEMEL__TRY(read_name(r, local));
  }
  const char *outer = strcmp(local, "_") == 0 ? "" : outer_of(r, local);
  if (outer == NULL) {
    return gemel__lex_fail(&r->lex, r->error, GEMEL_BAD_TEXT, "there is no %s", local);
  }
  strcpy(value, outer);
  return GEMEL_OK;
}

/* ---- Statements ---- */

/* "graph body(i: i64[], v: f32[2])", and the statements up to "end v, w". */
static gemel_status read_graph_start(statement_reader *r) {
  gemel__sketch_name name;
  if (r->d->n_graphs == GEMEL__SKETCH_GRAPHS) {
    return misfit(r, "too many graphs");
  }
  gemel__lex_next(&r->lex);
  r->graph = (int)r->d->n_graphs++;
  memset(&r->d->graphs[r->graph], 0, sizeof r->d->graphs[0]);
  GEMEL__TRY(read_name(r, r->d->graphs[r->graph].name));
  GEMEL__TRY(expect(r, '(', "'('"));
  while (!gemel__lex_accept(&r->lex, ')')) {
    GEMEL__TRY(read_name(r, name));
    GEMEL__TRY(expect(r, ':', "':'"));
    GEMEL__TRY(read_input(r, name));
    gemel__lex_accept(&r->lex, ',');
  }
  return GEMEL_OK;
}

static gemel_status read_graph_end(statement_reader *r) {
  gemel__sketch_graph *g = &r->d->graphs[r->graph];
  gemel__lex_next(&r->lex);
  do {
    if (g->n_outputs == GEMEL__SKETCH_RESULTS) {
      return misfit(r, "too many outputs");
    }
    GEMEL__TRY(read_expression(r, "c", g->outputs[g->n_outputs]));
    g->n_outputs++;
  } while (gemel__lex_accept(&r->lex, ','));
  r->graph = 0;
  return GEMEL_OK;
}

static gemel_status read_statement(statement_reader *r) {
  gemel__sketch_name locals[GEMEL__SKETCH_RESULTS], value;
  int n = 0, second;
  if (gemel__lex_is(&r->lex, "graph") || gemel__lex_is(&r->lex, "end")) {
    return gemel__lex_is(&r->lex, "end") ? read_graph_end(r) : read_graph_start(r);
  }
  do {
    if (n == GEMEL__SKETCH_RESULTS) {
      return misfit(r, "too many results");
    }
    GEMEL__TRY(read_name(r, locals[n++]));
  } while (gemel__lex_accept(&r->lex, ','));
  if (gemel__lex_accept(&r->lex, ':')) {
    return read_input(r, locals[0]);
  }
  GEMEL__TRY(expect(r, '=', "'='"));
  int peek = gemel__lex_peek(&r->lex, &second);
  gemel_dtype dtype;
  if (r->lex.kind == GEMEL__TOKEN_NAME && (peek == '(' || peek == '<') && !dtype_here(r, &dtype)) {
    return read_call(r, n, locals);
  }
  GEMEL__TRY(read_expression(r, locals[0], value));
  return bind(r, locals[0], value);
}

gemel_status gemel__sketch_parse(gemel__sketch *d, gemel__random *random, const char *text,
                                 size_t length, const char *local, const char *outer,
                                 gemel_error *error) {
  statement_reader r = {.d = d, .random = random, .error = error};
  d->n_graphs = d->n_graphs == 0 ? 1 : d->n_graphs;
  gemel__lex_start(&r.lex, text, length, "drawn");
  if (outer != NULL) {
    GEMEL__TRY(bind(&r, local, outer));
  }
  while (r.lex.kind != GEMEL__TOKEN_END) {
    GEMEL__TRY(read_statement(&r));
  }
  return GEMEL_OK;
}
