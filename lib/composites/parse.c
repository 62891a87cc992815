/* SPDX-License-Identifier: MIT
 *
 * The parser of composites: recursive descent, no deeper than MOST_DEPTH, since the text may be
 * anybody's. Line ends only separate words.
 */
#include "composites/syntax.h"
#include <string.h>
#include "core/error.h"
#include "core/number.h"
#include "core/schema.h"

enum { MOST_DEPTH = 64, MOST_NAME = 200, MOST_TEXT = 1000 };

typedef struct composite_parser {
  gemel__arena *arena;
  gemel__lex lex;
  gemel_error *error;
  int depth;
} composite_parser;

static gemel_status fail(composite_parser *p, const char *message) {
  char found[64];
  return gemel__lex_fail(&p->lex, p->error, GEMEL_BAD_TEXT, "expected %s, found %s", message,
                         gemel__lex_describe(&p->lex, found));
}

static gemel_status no_room(composite_parser *p) {
  return gemel__no_memory(p->error, "a composite");
}

/* One level deeper; with leave at its end. */
static gemel_status enter(composite_parser *p) {
  return ++p->depth <= MOST_DEPTH ? GEMEL_OK
                                  : gemel__lex_fail(&p->lex, p->error, GEMEL_BAD_TEXT,
                                                    "this is nested deeper than %d", MOST_DEPTH);
}

/* Takes a token of KIND, which is WHAT. */
static gemel_status take(composite_parser *p, int kind, const char *what) {
  return gemel__lex_accept(&p->lex, kind) ? GEMEL_OK : fail(p, what);
}

static gemel_status take_name(composite_parser *p, const char **name, const char *what) {
  char text[MOST_NAME];
  if (p->lex.kind != GEMEL__TOKEN_NAME || gemel__lex_copy(&p->lex, text, sizeof text) != 0) {
    return fail(p, what);
  }
  *name = gemel__arena_string(p->arena, text);
  gemel__lex_next(&p->lex);
  return *name != NULL ? GEMEL_OK : no_room(p);
}

/* The text between the quotes; there are no escapes. */
static gemel_status take_text(composite_parser *p, const char **text) {
  char copy[MOST_TEXT];
  if (p->lex.kind != GEMEL__TOKEN_STRING || p->lex.length < 2 || p->lex.length >= sizeof copy ||
      memchr(p->lex.token, '\\', p->lex.length) != NULL) {
    return fail(p, "a text in quotes, without escapes");
  }
  memcpy(copy, p->lex.token + 1, p->lex.length - 2);
  copy[p->lex.length - 2] = '\0';
  *text = gemel__arena_string(p->arena, copy);
  gemel__lex_next(&p->lex);
  return *text != NULL ? GEMEL_OK : no_room(p);
}

static gemel__composite_expr *new_expr(composite_parser *p, gemel__composite_expr_kind kind) {
  gemel__composite_expr *e = gemel__arena_alloc(p->arena, sizeof *e);
  if (e != NULL) {
    memset(e, 0, sizeof *e);
    e->kind = kind;
    e->line = p->lex.token_line;
  }
  return e;
}

/* CHILD becomes a part of E, which is then nested as deep as that and once more: evaluation calls
 * itself so often. */
static gemel_status hold(composite_parser *p, gemel__composite_expr *e,
                         const gemel__composite_expr *child) {
  e->height = child->height + 1 > e->height ? child->height + 1 : e->height;
  return e->height <= GEMEL__MOST_HEIGHT
             ? GEMEL_OK
             : gemel__lex_fail(&p->lex, p->error, GEMEL_BAD_TEXT,
                               "an expression is nested deeper than %d: give its parts names",
                               GEMEL__MOST_HEIGHT);
}

/* ---- Expressions ---- */

static gemel_status expression(composite_parser *p, const gemel__composite_expr **result);

/* Expressions up to END, with commas between, which become parts of OWNER; LABELS: each may be NAME
 * = expression. */
static gemel_status expressions(composite_parser *p, gemel__composite_expr *owner, int end,
                                const char *what, int labels, const gemel__composite_expr **first) {
  const gemel__composite_expr **link = first;
  *first = NULL;
  while (p->lex.kind != end) {
    const char *label = NULL;
    const gemel__composite_expr *e;
    if (labels && p->lex.kind == GEMEL__TOKEN_NAME) {
      int second, peeked = gemel__lex_peek(&p->lex, &second);
      if (peeked == '=' && second != '=') {
        GEMEL__TRY(take_name(p, &label, "a name"));
        gemel__lex_next(&p->lex);
      }
    }
    GEMEL__TRY(expression(p, &e));
    GEMEL__TRY(hold(p, owner, e));
    gemel__composite_expr *copy = gemel__arena_copy(p->arena, e, sizeof *e);
    if (copy == NULL) {
      return no_room(p);
    }
    copy->label = label;
    copy->next = NULL;
    *link = copy;
    link = &copy->next;
    if (!gemel__lex_accept(&p->lex, ',')) {
      break;
    }
  }
  return take(p, end, what);
}

/* Behind "[first": " for name in list [if condition] ]". */
static gemel_status comprehension(composite_parser *p, gemel__composite_expr *e,
                                  const gemel__composite_expr *first) {
  e->kind = GEMEL__EXPR_EACH;
  e->first = first;
  gemel__lex_next(&p->lex);
  GEMEL__TRY(take_name(p, &e->name, "a name"));
  if (!gemel__lex_is(&p->lex, "in")) {
    return fail(p, "'in'");
  }
  gemel__lex_next(&p->lex);
  GEMEL__TRY(expression(p, &e->second));
  GEMEL__TRY(hold(p, e, first));
  GEMEL__TRY(hold(p, e, e->second));
  if (gemel__lex_is(&p->lex, "if")) {
    gemel__lex_next(&p->lex);
    GEMEL__TRY(expression(p, &e->third));
    GEMEL__TRY(hold(p, e, e->third));
  }
  return take(p, ']', "']'");
}

static gemel_status list(composite_parser *p, const gemel__composite_expr **result) {
  gemel__composite_expr *e = new_expr(p, GEMEL__EXPR_LIST);
  *result = e;
  if (e == NULL) {
    return no_room(p);
  }
  gemel__lex_next(&p->lex);
  if (gemel__lex_accept(&p->lex, ']')) {
    return GEMEL_OK;
  }
  const gemel__composite_expr *first;
  GEMEL__TRY(expression(p, &first));
  GEMEL__TRY(hold(p, e, first));
  if (gemel__lex_is(&p->lex, "for")) {
    return comprehension(p, e, first);
  }
  gemel__composite_expr *head = gemel__arena_copy(p->arena, first, sizeof *first);
  if (head == NULL) {
    return no_room(p);
  }
  e->first = head;
  if (gemel__lex_accept(&p->lex, ',')) {
    return expressions(p, e, ']', "']'", 0, &head->next);
  }
  return take(p, ']', "',' or ']'");
}

static gemel_status number(composite_parser *p, const gemel__composite_expr **result) {
  gemel__number read;
  gemel__composite_expr *e = new_expr(p, GEMEL__EXPR_REAL);
  *result = e;
  if (e == NULL) {
    return no_room(p);
  }
  gemel__lex at = p->lex;
  GEMEL__TRY(gemel__number_read(&p->lex, &read, p->error));
  e->real = gemel__number_double(&read);
  if (!read.is_float) {
    e->kind = GEMEL__EXPR_INTEGER;
    return gemel__number_int(&read, &e->integer) == 0
               ? GEMEL_OK
               : gemel__lex_fail(&at, p->error, GEMEL_BAD_TEXT, "an integer beyond 64 bits");
  }
  return GEMEL_OK;
}

/* A name, or a call. */
static gemel_status named(composite_parser *p, const gemel__composite_expr **result) {
  gemel__composite_expr *e = new_expr(p, GEMEL__EXPR_NAME);
  *result = e;
  if (e == NULL) {
    return no_room(p);
  }
  GEMEL__TRY(take_name(p, &e->name, "a name"));
  if (!gemel__lex_accept(&p->lex, '(')) {
    return GEMEL_OK;
  }
  e->kind = GEMEL__EXPR_CALL;
  return expressions(p, e, ')', "',' or ')'", 1, &e->first);
}

static gemel_status primary(composite_parser *p, const gemel__composite_expr **result) {
  switch (p->lex.kind) {
  case GEMEL__TOKEN_INT:
  case GEMEL__TOKEN_FLOAT:
    return number(p, result);
  case GEMEL__TOKEN_NAME:
    return named(p, result);
  case '[':
    return list(p, result);
  case GEMEL__TOKEN_STRING: {
    gemel__composite_expr *e = new_expr(p, GEMEL__EXPR_TEXT);
    *result = e;
    return e != NULL ? take_text(p, &e->name) : no_room(p);
  }
  case '(':
    gemel__lex_next(&p->lex);
    GEMEL__TRY(expression(p, result));
    return take(p, ')', "')'");
  default:
    return fail(p, "an expression");
  }
}

/* Behind a primary: [index] or [from:to], as often as there are. */
static gemel_status indexed(composite_parser *p, const gemel__composite_expr **result) {
  GEMEL__TRY(primary(p, result));
  while (p->lex.kind == '[') {
    gemel__composite_expr *e = new_expr(p, GEMEL__EXPR_INDEX);
    if (e == NULL) {
      return no_room(p);
    }
    e->first = *result;
    *result = e;
    GEMEL__TRY(hold(p, e, e->first));
    gemel__lex_next(&p->lex);
    if (p->lex.kind != ':') {
      GEMEL__TRY(expression(p, &e->second));
      GEMEL__TRY(hold(p, e, e->second));
    }
    if (gemel__lex_accept(&p->lex, ':')) {
      e->kind = GEMEL__EXPR_SLICE;
      if (p->lex.kind != ']') {
        GEMEL__TRY(expression(p, &e->third));
        GEMEL__TRY(hold(p, e, e->third));
      }
    }
    GEMEL__TRY(take(p, ']', "']'"));
  }
  return GEMEL_OK;
}

static gemel_status prefixed(composite_parser *p, const gemel__composite_expr **result) {
  int minus = p->lex.kind == '-';
  if (!minus) {
    return indexed(p, result);
  }
  gemel__composite_expr *e = new_expr(p, GEMEL__EXPR_NEGATIVE);
  *result = e;
  if (e == NULL) {
    return no_room(p);
  }
  gemel__lex_next(&p->lex);
  GEMEL__TRY(enter(p));
  GEMEL__TRY(prefixed(p, &e->first));
  p->depth--;
  return hold(p, e, e->first);
}

/* The infix operator here and its strength, from 1; 0: there is none. */
static int infix_here(const composite_parser *p, int *op) {
  *op = p->lex.kind;
  switch (p->lex.kind) {
  case '*':
  case '/':
  case '%':
  case GEMEL__TOKEN_FLOORDIV:
    return 5;
  case '+':
  case '-':
    return 4;
  case '<':
  case '>':
  case GEMEL__TOKEN_EQ:
  case GEMEL__TOKEN_NE:
  case GEMEL__TOKEN_LE:
  case GEMEL__TOKEN_GE:
    return 3;
  default:
    *op = gemel__lex_is(&p->lex, "and") ? 'a' : 'o';
    return gemel__lex_is(&p->lex, "and") ? 2 : gemel__lex_is(&p->lex, "or") ? 1 : 0;
  }
}

/* "not" stands between "and" and the comparisons. */
static gemel_status operand_of(composite_parser *p, int strength,
                               const gemel__composite_expr **result);

static gemel_status infix(composite_parser *p, int least, const gemel__composite_expr **result) {
  int op, strength;
  GEMEL__TRY(operand_of(p, least, result));
  while ((strength = infix_here(p, &op)) >= least && strength > 0) {
    gemel__composite_expr *e = new_expr(p, GEMEL__EXPR_INFIX);
    if (e == NULL) {
      return no_room(p);
    }
    e->op = op;
    e->first = *result;
    *result = e;
    gemel__lex_next(&p->lex);
    GEMEL__TRY(infix(p, strength + 1, &e->second));
    GEMEL__TRY(hold(p, e, e->first));
    GEMEL__TRY(hold(p, e, e->second));
  }
  return GEMEL_OK;
}

static gemel_status operand_of(composite_parser *p, int strength,
                               const gemel__composite_expr **result) {
  if (strength > 3 || !gemel__lex_is(&p->lex, "not")) {
    return prefixed(p, result);
  }
  gemel__composite_expr *e = new_expr(p, GEMEL__EXPR_NOT);
  *result = e;
  if (e == NULL) {
    return no_room(p);
  }
  gemel__lex_next(&p->lex);
  GEMEL__TRY(enter(p));
  GEMEL__TRY(infix(p, 3, &e->first));
  p->depth--;
  return hold(p, e, e->first);
}

static gemel_status expression(composite_parser *p, const gemel__composite_expr **result) {
  GEMEL__TRY(enter(p));
  GEMEL__TRY(infix(p, 1, result));
  p->depth--;
  return GEMEL_OK;
}

/* ---- Statements ---- */

static gemel_status block(composite_parser *p, gemel__composite *c, const gemel__statement **first);

static gemel_status assignment(composite_parser *p, gemel__statement *s) {
  const gemel__name_list **link = &s->targets;
  do {
    gemel__name_list *target = gemel__arena_alloc(p->arena, sizeof *target);
    if (target == NULL) {
      return no_room(p);
    }
    target->next = NULL;
    *link = target;
    link = &target->next;
    GEMEL__TRY(take_name(p, &target->name, "a statement or '}'"));
  } while (gemel__lex_accept(&p->lex, ','));
  GEMEL__TRY(take(p, '=', "'='"));
  return expression(p, &s->expr);
}

static gemel_status condition(composite_parser *p, gemel__composite *c, gemel__statement *s) {
  s->kind = GEMEL__STATEMENT_IF;
  gemel__lex_next(&p->lex);
  GEMEL__TRY(expression(p, &s->expr));
  GEMEL__TRY(block(p, c, &s->body));
  if (!gemel__lex_is(&p->lex, "else")) {
    return GEMEL_OK;
  }
  gemel__lex_next(&p->lex);
  return block(p, c, &s->otherwise);
}

static gemel_status returned(composite_parser *p, gemel__composite *c, gemel__statement *s) {
  const gemel__composite_expr *first, **link = &first;
  size_t n = 0;
  s->kind = GEMEL__STATEMENT_RETURN;
  gemel__lex_next(&p->lex);
  do {
    const gemel__composite_expr *e;
    GEMEL__TRY(expression(p, &e));
    gemel__composite_expr *copy = gemel__arena_copy(p->arena, e, sizeof *e);
    if (copy == NULL) {
      return no_room(p);
    }
    copy->next = NULL;
    *link = copy;
    link = &copy->next;
    n++;
  } while (gemel__lex_accept(&p->lex, ','));
  s->expr = first;
  c->n_results = n > c->n_results ? n : c->n_results;
  return GEMEL_OK;
}

static gemel_status requirement(composite_parser *p, gemel__statement *s) {
  s->kind = GEMEL__STATEMENT_REQUIRE;
  gemel__lex_next(&p->lex);
  GEMEL__TRY(expression(p, &s->expr));
  GEMEL__TRY(take(p, ',', "','"));
  return take_text(p, &s->message);
}

static gemel_status statement(composite_parser *p, gemel__composite *c, gemel__statement *s) {
  s->line = p->lex.token_line;
  return gemel__lex_is(&p->lex, "if")        ? condition(p, c, s)
         : gemel__lex_is(&p->lex, "require") ? requirement(p, s)
         : gemel__lex_is(&p->lex, "return")  ? returned(p, c, s)
                                             : assignment(p, s);
}

static gemel_status block(composite_parser *p, gemel__composite *c,
                          const gemel__statement **first) {
  const gemel__statement **link = first;
  *first = NULL;
  GEMEL__TRY(enter(p));
  GEMEL__TRY(take(p, '{', "'{'"));
  while (p->lex.kind != '}') {
    gemel__statement *s = gemel__arena_alloc(p->arena, sizeof *s);
    if (s == NULL) {
      return no_room(p);
    }
    memset(s, 0, sizeof *s);
    GEMEL__TRY(statement(p, c, s));
    *link = s;
    link = &s->next;
  }
  gemel__lex_next(&p->lex);
  p->depth--;
  return GEMEL_OK;
}

/* ---- Heads ---- */

/* What a fallback is written as, up to the comma or parenthesis: "none", a number, a word; of a
 * string also a text. */
static gemel_status fallback(composite_parser *p, int kind, const char **text) {
  char copy[MOST_NAME];
  if (kind == GEMEL_ATTR_STRING && p->lex.kind == GEMEL__TOKEN_STRING) {
    return take_text(p, text);
  }
  int minus = gemel__lex_accept(&p->lex, '-');
  int known = p->lex.kind == GEMEL__TOKEN_NAME || p->lex.kind == GEMEL__TOKEN_INT ||
              p->lex.kind == GEMEL__TOKEN_FLOAT;
  copy[0] = '-';
  if (!known || gemel__lex_copy(&p->lex, copy + minus, sizeof copy - 1) != 0) {
    return fail(p, "a number or a word");
  }
  *text = gemel__arena_string(p->arena, copy);
  gemel__lex_next(&p->lex);
  return *text != NULL ? GEMEL_OK : no_room(p);
}

/* "int", "ints", …; 0: none. */
static int kind_of(const char *word) {
  static const struct {
    const char *word;
    int kind;
  } kinds[] = {{"int", GEMEL_ATTR_INT},
               {"dim", GEMEL_ATTR_DIM},
               {"float", GEMEL_ATTR_FLOAT},
               {"dtype", GEMEL_ATTR_DTYPE},
               {"string", GEMEL_ATTR_STRING},
               {"ints", GEMEL_ATTR_LIST | GEMEL_ATTR_INT},
               {"dims", GEMEL_ATTR_LIST | GEMEL_ATTR_DIM}};
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
    if (strcmp(kinds[k].word, word) == 0) {
      return kinds[k].kind;
    }
  }
  return 0;
}

/* "at K", behind an attribute of an operator: it may be input K, too. */
static gemel_status input_of(composite_parser *p, gemel__param *param) {
  enum { MOST_INPUTS = 100 };
  int64_t input;
  gemel__number read;
  if (!gemel__lex_is(&p->lex, "at")) {
    return GEMEL_OK;
  }
  gemel__lex_next(&p->lex);
  if (p->lex.kind != GEMEL__TOKEN_INT) {
    return fail(p, "the number of an input");
  }
  GEMEL__TRY(gemel__number_read(&p->lex, &read, p->error));
  if (gemel__number_int(&read, &input) != 0 || input < 0 || input >= MOST_INPUTS) {
    return gemel__lex_fail(&p->lex, p->error, GEMEL_BAD_TEXT, "there is no such input");
  }
  param->input = (int)input;
  return GEMEL_OK;
}

/* ": kind [= fallback] [at input]" */
static gemel_status attribute(composite_parser *p, const gemel__composite *c, gemel__param *param) {
  const char *word;
  param->kind = GEMEL__PARAM_ATTRIBUTE;
  param->spec.name = param->name;
  GEMEL__TRY(take_name(p, &word, "a kind: int, float, dim, dtype, string, ints or dims"));
  param->spec.kind = kind_of(word);
  if (param->spec.kind == 0) {
    return gemel__lex_fail(&p->lex, p->error, GEMEL_BAD_TEXT,
                           "'%s' is no kind: there are int, float, dim, dtype, string, ints, dims",
                           word);
  }
  if (gemel__lex_accept(&p->lex, '=')) {
    gemel__lex at = p->lex;
    gemel_attr attr;
    GEMEL__TRY(fallback(p, param->spec.kind, &param->spec.fallback));
    if (strcmp(param->spec.fallback, "none") != 0 &&
        gemel__schema_fallback(&param->spec, &attr) != 0) {
      return gemel__lex_fail(&at, p->error, GEMEL_BAD_TEXT, "'%s' is no %s", param->spec.fallback,
                             word);
    }
  }
  return c->domain != NULL ? input_of(p, param) : GEMEL_OK;
}

/* 1 behind "...", which is taken. */
static int dots(composite_parser *p) {
  if (!gemel__lex_accept(&p->lex, GEMEL__TOKEN_DOTS)) {
    return 0;
  }
  if (p->lex.length > 0 && p->lex.token[0] == '.') {
    gemel__lex_next(&p->lex);
  }
  return 1;
}

static gemel_status parameter(composite_parser *p, gemel__composite *c) {
  if (c->n_params == GEMEL__MOST_PARAMS) {
    return gemel__lex_fail(&p->lex, p->error, GEMEL_BAD_TEXT, "more than %d parameters",
                           GEMEL__MOST_PARAMS);
  }
  gemel__param *param = &c->params[c->n_params];
  GEMEL__TRY(take_name(p, &param->name, "a parameter"));
  for (size_t k = 0; k < c->n_params; k++) {
    if (strcmp(c->params[k].name, param->name) == 0) {
      return gemel__lex_fail(&p->lex, p->error, GEMEL_BAD_TEXT, "two parameters called %s",
                             param->name);
    }
  }
  c->n_params++;
  param->input = -1;
  if (gemel__lex_accept(&p->lex, ':')) {
    return attribute(p, c, param);
  }
  if (gemel__lex_accept(&p->lex, '=')) {
    param->kind = GEMEL__PARAM_OPTIONAL;
    if (!gemel__lex_is(&p->lex, "none")) {
      return fail(p, "none: an operand may be missing, and has no other default");
    }
    gemel__lex_next(&p->lex);
  } else {
    param->kind = dots(p)                         ? GEMEL__PARAM_VARIADIC
                  : strcmp(param->name, "_") == 0 ? GEMEL__PARAM_OPTIONAL
                                                  : GEMEL__PARAM_OPERAND;
  }
  int before = c->n_operands > 0 ? (int)c->params[c->n_operands - 1].kind : 0;
  if (c->n_operands + 1 != c->n_params || before == GEMEL__PARAM_VARIADIC ||
      (c->domain == NULL && before > (int)param->kind)) {
    return gemel__lex_fail(&p->lex, p->error, GEMEL_BAD_TEXT,
                           "%s: operands come first, then those that may be missing, or a list of "
                           "them, and then attributes",
                           param->name);
  }
  c->n_operands++;
  return GEMEL_OK;
}

/* What readers of graphs' texts need to know of it. */
static void describe(gemel__composite *c) {
  gemel_attr_spec *spec = c->specs;
  c->record.size = sizeof c->record;
  c->record.name = c->name;
  for (size_t k = 0; k < c->n_params; k++) {
    gemel__param_kind kind = c->params[k].kind;
    c->record.min_inputs = kind == GEMEL__PARAM_OPERAND ? (int)k + 1 : c->record.min_inputs;
    if (kind == GEMEL__PARAM_ATTRIBUTE) {
      *spec++ = c->params[k].spec;
    }
  }
  int many = c->n_operands > 0 && c->params[c->n_operands - 1].kind == GEMEL__PARAM_VARIADIC;
  c->record.max_inputs = many ? -1 : (int)c->n_operands;
  c->record.attrs = c->specs;
}

/* "composite", or "operator" and perhaps its domain. */
static gemel_status what_it_is(composite_parser *p, gemel__composite *c) {
  if (!gemel__lex_is(&p->lex, "composite") && !gemel__lex_is(&p->lex, "operator")) {
    return fail(p, "'composite' or 'operator'");
  }
  c->domain = gemel__lex_is(&p->lex, "operator") ? "" : NULL;
  gemel__lex_next(&p->lex);
  if (c->domain != NULL && p->lex.kind == GEMEL__TOKEN_STRING) {
    GEMEL__TRY(take_text(p, &c->domain));
  }
  c->domain = c->domain != NULL && strcmp(c->domain, "ai.onnx") == 0 ? "" : c->domain;
  return GEMEL_OK;
}

static gemel_status composite(composite_parser *p, gemel__composite *c) {
  c->line = p->lex.token_line;
  c->file = p->lex.file;
  GEMEL__TRY(what_it_is(p, c));
  GEMEL__TRY(take_name(p, &c->name, "the composite's name"));
  GEMEL__TRY(take(p, '(', "'('"));
  while (p->lex.kind != ')') {
    GEMEL__TRY(parameter(p, c));
    if (!gemel__lex_accept(&p->lex, ',')) {
      break;
    }
  }
  GEMEL__TRY(take(p, ')', "',' or ')'"));
  describe(c);
  return block(p, c, &c->body);
}

gemel_status gemel__composites_parse(gemel__arena *arena, const char *text, size_t length,
                                     const char *file, const gemel__composite **first,
                                     gemel_error *error) {
  composite_parser p = {.arena = arena, .error = error};
  const gemel__composite **link = first;
  *first = NULL;
  gemel__lex_start(&p.lex, text, length, file);
  while (p.lex.kind != GEMEL__TOKEN_END) {
    gemel__composite *c = gemel__arena_alloc(arena, sizeof *c);
    if (c == NULL) {
      return no_room(&p);
    }
    memset(c, 0, sizeof *c);
    GEMEL__TRY(composite(&p, c));
    c->set = *first != NULL ? *first : c;
    *link = c;
    link = &c->next;
  }
  return GEMEL_OK;
}
