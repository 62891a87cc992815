/* SPDX-License-Identifier: MIT
 *
 * Reads a graph as gemel prints it, one node a line as a call of an operation, and evaluates each
 * line as it is read. What a line names was computed above, so there is no graph to keep, only a
 * table of names.
 */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "recheck.h"

enum { MOST_NAMES = 4096, NAME_BYTES = 64 };

typedef struct reader {
  world *w;
  const char *at;
  char (*names)[NAME_BYTES];
  const tensor **values;
  int n;
} reader;

int bad(world *w, const char *format, ...) {
  va_list args;
  if (w->problem[0] == '\0') {
    va_start(args, format);
    vsnprintf(w->problem, sizeof w->problem, format, args);
    va_end(args);
  }
  return -1;
}

tensor *tensor_new(world *w, dtype t, int rank, const int64_t *shape) {
  tensor *x = pool_take(w->pool, 1, sizeof *x);
  x->dtype = t;
  x->rank = rank;
  x->count = 1;
  if (rank > MAX_RANK) {
    bad(w, "a tensor of rank %d", rank);
    return NULL;
  }
  for (int j = 0; j < rank; j++) {
    x->shape[j] = shape[j];
    if (shape[j] < 0 || shape[j] > MOST_ELEMENTS ||
        (x->count *= (size_t)shape[j]) > MOST_ELEMENTS) {
      bad(w, "a tensor that is too large");
      return NULL;
    }
  }
  x->at = pool_take(w->pool, x->count, sizeof *x->at);
  return x;
}

const attr *call_attr(const call *c, const char *name) {
  for (int k = 0; k < c->n_attrs; k++) {
    if (strcmp(c->attrs[k].name, name) == 0 && c->attrs[k].kind != ATTR_NONE) {
      return &c->attrs[k];
    }
  }
  return NULL;
}

int64_t call_integer(const call *c, const char *name, int64_t fallback) {
  const attr *a = call_attr(c, name);
  return a != NULL && a->kind == ATTR_INTEGER ? a->list[0] : fallback;
}

/* ---- Words ---- */

static void skip(reader *r) {
  while (isspace((unsigned char)*r->at) || *r->at == '#') {
    r->at += *r->at == '#' ? strcspn(r->at, "\n") : 1;
  }
}

static int take(reader *r, const char *what) {
  size_t length = strlen(what);
  skip(r);
  if (strncmp(r->at, what, length) != 0) {
    return 0;
  }
  r->at += length;
  return 1;
}

static int expect(reader *r, const char *what) {
  return take(r, what) ? 1 : bad(r->w, "'%s' expected at '%.20s'", what, r->at);
}

static int is_name(char c) {
  return isalnum((unsigned char)c) || c == '_' || (c & 0x80) != 0;
}

/* 1 with a name in NAME, or 0. */
static int take_name(reader *r, char *name) {
  size_t n = 0;
  skip(r);
  while (is_name(r->at[n])) {
    n++;
  }
  if (n == 0 || n >= NAME_BYTES || isdigit((unsigned char)*r->at)) {
    return 0;
  }
  memcpy(name, r->at, n);
  name[n] = '\0';
  r->at += n;
  return 1;
}

static int take_integer(reader *r, int64_t *value) {
  char *end;
  skip(r);
  *value = strtoll(r->at, &end, 10);
  if (end == r->at || *value > 1 << 30 || *value < -(1 << 30)) {
    return bad(r->w, "a number expected at '%.20s'", r->at);
  }
  r->at = end;
  return 1;
}

static int find_dtype(const char *name, dtype *t) {
  for (int k = 0; k < DTYPES; k++) {
    if (strcmp(dtypes[k].name, name) == 0) {
      *t = (dtype)k;
      return 1;
    }
  }
  return 0;
}

/* "f64" or "f64[2, 3]". */
static int take_type(reader *r, dtype *t, int *rank, int64_t *shape) {
  char name[NAME_BYTES];
  *rank = 0;
  if (!take_name(r, name) || !find_dtype(name, t)) {
    return bad(r->w, "a dtype expected at '%.20s'", r->at);
  }
  if (*r->at != '[') {
    return 1;
  }
  for (r->at++; !take(r, "]"); take(r, ",")) {
    if (*rank == MAX_RANK || take_integer(r, &shape[(*rank)++]) < 0) {
      return bad(r->w, "a size expected at '%.20s'", r->at);
    }
  }
  return 1;
}

static int keep(reader *r, const char *name, const tensor *value) {
  if (r->n == MOST_NAMES) {
    return bad(r->w, "too many names");
  }
  snprintf(r->names[r->n], NAME_BYTES, "%s", name);
  r->values[r->n++] = value;
  return 1;
}

static const tensor *look_up(reader *r, const char *name) {
  for (int k = r->n; k-- > 0;) {
    if (strcmp(r->names[k], name) == 0) {
      return r->values[k];
    }
  }
  bad(r->w, "'%s' is not defined", name);
  return NULL;
}

/* ---- Inputs ---- */

static int read_input(reader *r, const given *inputs, size_t n) {
  char name[NAME_BYTES], assumed[NAME_BYTES];
  int64_t shape[MAX_RANK];
  int rank;
  dtype t;
  const char *values = NULL;
  tensor *x;
  if (!take_name(r, name) || expect(r, ":") < 0 || take_type(r, &t, &rank, shape) < 0 ||
      (x = tensor_new(r->w, t, rank, shape)) == NULL) {
    return bad(r->w, "an input expected at '%.20s'", r->at);
  }
  while (take_name(r, assumed)) { /* of values that are given, so nothing follows from it */
  }
  for (size_t k = 0; k < n; k++) {
    values = strcmp(inputs[k].name, name) == 0 ? inputs[k].values : values;
  }
  for (size_t i = 0; i < x->count; i++) {
    if (values == NULL || !number_read(r->w, t, &values, &x->at[i])) {
      return bad(r->w, "input %s has too few values", name);
    }
  }
  return keep(r, name, x);
}

static int read_head(reader *r, const given *inputs, size_t n) {
  char name[NAME_BYTES];
  if (!take_name(r, name) || strcmp(name, "graph") != 0 || !take_name(r, name)) {
    return bad(r->w, "no graph at '%.20s'", r->at);
  }
  if (expect(r, "(") < 0) {
    return -1;
  }
  while (!take(r, ")")) {
    if (read_input(r, inputs, n) < 0) {
      return -1;
    }
    take(r, ",");
  }
  return expect(r, "{");
}

/* ---- Expressions ---- */

/* "2:f32", "true"; *OUT is its value. */
static int read_literal(reader *r, tensor **out) {
  const char *from = r->at;
  size_t word = strcspn(from, ":,)\n ");
  char name[NAME_BYTES];
  dtype t = DTYPE_bool;
  cell value;
  if (from[0] == 'n' && from[1] == 'a' && from[2] == 'n' && from[3] == '(') {
    word = strcspn(from, ")") + 1;
  }
  if (from[word] == ':') {
    r->at = from + word + 1;
    if (!take_name(r, name) || !find_dtype(name, &t)) {
      return bad(r->w, "a dtype expected at '%.20s'", r->at);
    }
  } else {
    r->at = from + word;
  }
  if (!literal_read(r->w, t, &from, &value)) {
    return bad(r->w, "a number expected at '%.20s'", from);
  }
  if ((*out = tensor_new(r->w, t, 0, NULL)) == NULL) {
    return -1;
  }
  (*out)->at[0] = value;
  return 1;
}

/* "tensor(f32[2], [1, 2])", from its parenthesis on. */
static int read_tensor(reader *r, tensor **out) {
  int64_t shape[MAX_RANK];
  int rank;
  dtype t;
  if (expect(r, "(") < 0 || take_type(r, &t, &rank, shape) < 0 || expect(r, ",") < 0 ||
      expect(r, "[") < 0 || (*out = tensor_new(r->w, t, rank, shape)) == NULL) {
    return -1;
  }
  for (size_t i = 0; i < (*out)->count; i++) {
    skip(r);
    if (!literal_read(r->w, t, &r->at, &(*out)->at[i])) {
      return bad(r->w, "a number expected at '%.20s'", r->at);
    }
    take(r, ",");
  }
  return expect(r, "]") < 0 ? -1 : expect(r, ")");
}

static int read_attr(reader *r, attr *a) {
  char name[NAME_BYTES];
  skip(r);
  if (take(r, "[")) {
    for (a->kind = ATTR_LIST; !take(r, "]"); take(r, ",")) {
      if (a->n == MAX_RANK || take_integer(r, &a->list[a->n++]) < 0) {
        return bad(r->w, "a list that can't be read at '%.20s'", r->at);
      }
    }
  } else if (take_name(r, name)) {
    a->kind = strcmp(name, "none") == 0     ? ATTR_NONE
              : find_dtype(name, &a->dtype) ? ATTR_DTYPE
                                            : ATTR_OTHER;
  } else {
    a->kind = ATTR_INTEGER;
    return take_integer(r, &a->list[0]);
  }
  return 1;
}

/* Operands and attributes up to the closing parenthesis. */
static int read_arguments(reader *r, call *c) {
  while (!take(r, ")")) {
    char name[NAME_BYTES];
    const char *from;
    skip(r);
    from = r->at;
    if (!take_name(r, name)) {
      return bad(r->w, "an operand expected at '%.20s'", r->at);
    }
    if (take(r, "=")) {
      attr *a = &c->attrs[c->n_attrs];
      if (c->n_attrs == MAX_ATTRS || strlen(name) >= sizeof a->name || read_attr(r, a) < 0) {
        return bad(r->w, "an attribute that can't be read at '%.20s'", from);
      }
      memcpy(a->name, name, strlen(name) + 1);
      c->n_attrs += a->kind != ATTR_NONE;
    } else if (c->n_in == MAX_OPERANDS || (c->in[c->n_in++] = look_up(r, name)) == NULL) {
      return bad(r->w, "too many operands");
    }
    take(r, ",");
  }
  return 1;
}

static int run_call(world *w, call *c) {
  const operation_row *tables[] = {moving_operations, reducing_operations, convolving_operations};
  for (size_t k = 0; k < sizeof tables / sizeof *tables; k++) {
    for (const operation_row *row = tables[k]; row->name != NULL; row++) {
      if (strcmp(row->name, c->op) == 0) {
        int source = strcmp(c->op, "arange") == 0 || strcmp(c->op, "size") == 0;
        return c->n_in > 0 || source ? row->run(w, c) : bad(w, "%s has no operand", c->op);
      }
    }
  }
  return elementwise_run(w, c);
}

/* The first operation of which no result is known, though its operands are. */
static void note_unknown(world *w, const call *c) {
  int known = 1;
  for (int k = 0; k < c->n_in; k++) {
    for (size_t i = 0; i < c->in[k]->count; i++) {
      known &= c->in[k]->at[i].state != UNKNOWN;
    }
  }
  for (int k = 0; k < c->n_out && known && w->uncovered == NULL; k++) {
    for (size_t i = 0; i < c->out[k]->count && w->uncovered == NULL; i++) {
      if (c->out[k]->at[i].state == UNKNOWN) {
        char *name = pool_take(w->pool, sizeof c->op, 1);
        memcpy(name, c->op, sizeof c->op);
        w->uncovered = name;
      }
    }
  }
}

static int evaluate(reader *r, call *c) {
  int status = run_call(r->w, c);
  if (status == 0) {
    char *name = pool_take(r->w->pool, sizeof c->op, 1);
    memcpy(name, c->op, sizeof c->op);
    r->w->uncovered = name;
  } else if (status > 0) {
    note_unknown(r->w, c);
  }
  return status;
}

/* What stands behind "=": N results are wanted in OUT. */
static int read_expression(reader *r, int n, tensor **out) {
  call c = {.n_out = n};
  char name[NAME_BYTES];
  skip(r);
  const char *from = r->at;
  if (!take_name(r, name) || *r->at != '(' || strcmp(name, "nan") == 0) {
    r->at = from;
    return read_literal(r, out);
  }
  if (strcmp(name, "tensor") == 0) {
    return read_tensor(r, out);
  }
  if (strlen(name) >= sizeof c.op || expect(r, "(") < 0 || read_arguments(r, &c) < 0) {
    return bad(r->w, "an operation that can't be read at '%.20s'", from);
  }
  memcpy(c.op, name, strlen(name) + 1);
  int status = evaluate(r, &c);
  memcpy(out, c.out, (size_t)n * sizeof *out);
  return status;
}

/* "a, b = split(…)"; 2: it was the return, and *RESULT is the first output. */
static int read_statement(reader *r, tensor **result) {
  char names[MAX_OPERANDS][NAME_BYTES];
  tensor *out[MAX_OPERANDS];
  int n = 0, status;
  do {
    if (n == MAX_OPERANDS || !take_name(r, names[n++])) {
      return bad(r->w, "a name expected at '%.20s'", r->at);
    }
    if (n == 1 && strcmp(names[0], "return") == 0) {
      char name[NAME_BYTES];
      int named = take_name(r, name) && (!take(r, "=") || take_name(r, name));
      *result = named ? (tensor *)look_up(r, name) : NULL;
      return *result != NULL ? 2 : bad(r->w, "no output at '%.20s'", r->at);
    }
  } while (take(r, ","));
  status = expect(r, "=") < 0 ? -1 : read_expression(r, n, out);
  for (int k = 0; k < n && status > 0; k++) {
    status = keep(r, names[k], out[k]);
  }
  return status;
}

int graph_evaluate(world *w, const char *text, const given *inputs, size_t n, tensor **out) {
  reader r = {.w = w, .at = text};
  r.names = pool_take(w->pool, MOST_NAMES, sizeof *r.names);
  r.values = pool_take(w->pool, MOST_NAMES, sizeof *r.values);
  if (strstr(text, "\ngraph ") != NULL) { /* a body comes before the graph that applies it */
    w->uncovered = "a body";
    return 0;
  }
  int status = read_head(&r, inputs, n);
  while (status == 1) {
    status = read_statement(&r, out);
  }
  return status == 2 ? 1 : status;
}
