/* SPDX-License-Identifier: MIT
 *
 * Rule text to trees, by operator precedence: parse_operand reads what is tightest, parse_level
 * goes on while operators bind at least as tightly as asked. It recurses on the nesting of the
 * text, which is limited.
 */
#include "rules/syntax.h"

#include <string.h>
#include "core/alloc.h"
#include "text/infix.h"

enum { MAX_DEPTH = 100 };

typedef struct rule_parser {
  gemel__syntax *syntax;
  gemel__lex *lex;
  gemel_error *error;
  int depth;
} rule_parser;

void gemel__syntax_clear(gemel__syntax *syntax) {
  gemel__free(syntax->nodes, syntax->capacity * sizeof *syntax->nodes);
  memset(syntax, 0, sizeof *syntax);
}

int gemel__syntax_is(const gemel__syntax_node *node, const char *text) {
  return (node->kind == GEMEL__SYNTAX_NAME || node->kind == GEMEL__SYNTAX_CALL) &&
         strlen(text) == node->length && memcmp(text, node->text, node->length) == 0;
}

static gemel_status new_node(rule_parser *p, int kind, const gemel__lex *at, uint32_t *index) {
  gemel__syntax *s = p->syntax;
  size_t first = s->count == 0; /* element 0 stays unused */
  if (s->count + first + 1 > s->capacity &&
      gemel__grow(&s->nodes, &s->capacity, s->count + first + 1, sizeof *s->nodes)) {
    return gemel__no_memory(p->error, "a rule");
  }
  s->count += first;
  *index = (uint32_t)s->count++;
  memset(&s->nodes[*index], 0, sizeof *s->nodes);
  s->nodes[*index].kind = (unsigned char)kind;
  s->nodes[*index].at = *at;
  return GEMEL_OK;
}

/* Hangs CHILD behind the other operands of PARENT. */
static void add_child(rule_parser *p, uint32_t parent, uint32_t child) {
  gemel__syntax_node *nodes = p->syntax->nodes, *node = &nodes[parent];
  *(node->n_children == 0 ? &node->child : &nodes[node->last_child].next) = child;
  node->last_child = child;
  node->n_children++;
}

static gemel_status parse_level(rule_parser *p, int strength, uint32_t *node);

/* A CALL of NAME, which must be static or in the text, on one or two operands. */
static gemel_status operation(rule_parser *p, const char *name, const gemel__lex *at, uint32_t left,
                              uint32_t right, uint32_t *node) {
  gemel_status status = new_node(p, GEMEL__SYNTAX_CALL, at, node);
  if (status == GEMEL_OK) {
    p->syntax->nodes[*node].infix = 1;
    p->syntax->nodes[*node].text = name;
    p->syntax->nodes[*node].length = strlen(name);
    add_child(p, *node, left);
    if (right != 0) {
      add_child(p, *node, right);
    }
  }
  return status;
}

static gemel_status parse_number(rule_parser *p, uint32_t *node) {
  gemel__lex at = *p->lex;
  gemel__number number;
  gemel_status status = gemel__number_read(p->lex, &number, p->error);
  status = status ? status : new_node(p, GEMEL__SYNTAX_NUMBER, &at, node);
  if (status == GEMEL_OK) {
    p->syntax->nodes[*node].number = number;
  }
  return status;
}

static gemel_status parse_string(rule_parser *p, uint32_t *node) {
  gemel__lex at = *p->lex;
  gemel_status status = new_node(p, GEMEL__SYNTAX_STRING, &at, node);
  if (memchr(at.token, '\\', at.length) != NULL) {
    return gemel__lex_fail(p->lex, p->error, GEMEL_BAD_TEXT, "a string of a rule has no '\\'");
  }
  if (status == GEMEL_OK) {
    p->syntax->nodes[*node].text = at.token + 1;
    p->syntax->nodes[*node].length = at.length - 2;
    gemel__lex_next(p->lex);
  }
  return status;
}

/* `name =` before an argument. */
static void parse_key(rule_parser *p, const char **key, size_t *length) {
  int second;
  *key = NULL;
  *length = 0;
  if (p->lex->kind == GEMEL__TOKEN_NAME && gemel__lex_peek(p->lex, &second) == '=' &&
      second != '=' && second != '>') {
    *key = p->lex->token;
    *length = p->lex->length;
    gemel__lex_next(p->lex);
    gemel__lex_next(p->lex);
  }
}

static gemel_status parse_argument(rule_parser *p, uint32_t parent) {
  gemel__lex at = *p->lex;
  const char *key;
  size_t length;
  uint32_t inner, node;
  gemel_status status;
  parse_key(p, &key, &length);
  if (key == NULL && gemel__lex_accept(p->lex, GEMEL__TOKEN_DOTS)) {
    status = parse_level(p, GEMEL__STRENGTH_OR, &inner);
    status = status ? status : new_node(p, GEMEL__SYNTAX_VARIADIC, &at, &node);
    if (status == GEMEL_OK) {
      add_child(p, node, inner);
    }
  } else {
    status = parse_level(p, GEMEL__STRENGTH_OR, &node);
  }
  if (status == GEMEL_OK) {
    p->syntax->nodes[node].key = key;
    p->syntax->nodes[node].key_length = length;
    add_child(p, parent, node);
  }
  return status;
}

/* Arguments up to END, which is consumed; the opening bracket has been. */
static gemel_status parse_arguments(rule_parser *p, int end, uint32_t parent) {
  gemel_status status = GEMEL_OK;
  if (gemel__lex_accept(p->lex, end)) {
    return GEMEL_OK;
  }
  do {
    status = parse_argument(p, parent);
  } while (status == GEMEL_OK && gemel__lex_accept(p->lex, ','));
  return status
             ? status
             : gemel__lex_expect(p->lex, end, end == ')' ? "',' or ')'" : "',' or ']'", p->error);
}

/* A name, or a call. */
static gemel_status parse_name(rule_parser *p, uint32_t *node) {
  gemel__lex at = *p->lex;
  int call = gemel__lex_peek(p->lex, NULL) == '(';
  gemel_status status = new_node(p, call ? GEMEL__SYNTAX_CALL : GEMEL__SYNTAX_NAME, &at, node);
  if (status != GEMEL_OK) {
    return status;
  }
  p->syntax->nodes[*node].text = at.token;
  p->syntax->nodes[*node].length = at.length;
  gemel__lex_next(p->lex);
  if (call) {
    gemel__lex_next(p->lex);
    status = parse_arguments(p, ')', *node);
  }
  return status;
}

static int is_number(const gemel__lex *lex) {
  gemel__lex ahead = *lex;
  if (ahead.kind == '-') {
    gemel__lex_next(&ahead);
  }
  return ahead.kind == GEMEL__TOKEN_INT || ahead.kind == GEMEL__TOKEN_FLOAT ||
         gemel__lex_is(&ahead, "inf") || gemel__lex_is(&ahead, "nan");
}

static gemel_status parse_operand(rule_parser *p, uint32_t *node) {
  gemel__lex at = *p->lex;
  char found[64];
  uint32_t inner;
  gemel_status status;
  if (is_number(p->lex)) {
    return parse_number(p, node);
  }
  if (at.kind == GEMEL__TOKEN_STRING) {
    return parse_string(p, node);
  }
  if (at.kind == '-' || gemel__lex_is(p->lex, "not")) {
    gemel__lex_next(p->lex);
    status = parse_level(p, at.kind == '-' ? GEMEL__STRENGTH_NEGATE : GEMEL__STRENGTH_NOT, &inner);
    return status ? status
                  : operation(p, at.kind == '-' ? "neg" : "logical_not", &at, inner, 0, node);
  }
  if (at.kind == GEMEL__TOKEN_NAME) {
    return parse_name(p, node);
  }
  if (gemel__lex_accept(p->lex, '(')) {
    status = parse_level(p, GEMEL__STRENGTH_OR, node);
    return status ? status : gemel__lex_expect(p->lex, ')', "')'", p->error);
  }
  if (gemel__lex_accept(p->lex, '[')) {
    status = new_node(p, GEMEL__SYNTAX_LIST, &at, node);
    return status ? status : parse_arguments(p, ']', *node);
  }
  return gemel__lex_fail(p->lex, p->error, GEMEL_BAD_TEXT, "expected a value, found %s",
                         gemel__lex_describe(p->lex, found));
}

/* `[index]` and `@output` behind an operand. */
static gemel_status parse_postfix(rule_parser *p, uint32_t *node) {
  gemel_status status = GEMEL_OK;
  while (status == GEMEL_OK && (p->lex->kind == '[' || p->lex->kind == '@')) {
    gemel__lex at = *p->lex;
    uint32_t outer, inner;
    int index = at.kind == '[';
    gemel__lex_next(p->lex);
    status = new_node(p, index ? GEMEL__SYNTAX_INDEX : GEMEL__SYNTAX_OUTPUT, &at, &outer);
    if (status == GEMEL_OK) {
      status = index ? parse_level(p, GEMEL__STRENGTH_OR, &inner) : parse_operand(p, &inner);
    }
    if (status == GEMEL_OK && index) {
      status = gemel__lex_expect(p->lex, ']', "']'", p->error);
    }
    if (status == GEMEL_OK) {
      add_child(p, outer, *node);
      add_child(p, outer, inner);
      *node = outer;
    }
  }
  return status;
}

/* `as name` behind an operation. */
static gemel_status parse_as(rule_parser *p, uint32_t node) {
  gemel__syntax_node *s = &p->syntax->nodes[node];
  char found[64];
  if (!gemel__lex_is(p->lex, "as")) {
    return GEMEL_OK;
  }
  if (s->kind != GEMEL__SYNTAX_CALL) {
    return gemel__lex_fail(p->lex, p->error, GEMEL_BAD_TEXT, "'as' names an operation");
  }
  gemel__lex_next(p->lex);
  if (p->lex->kind != GEMEL__TOKEN_NAME) {
    return gemel__lex_fail(p->lex, p->error, GEMEL_BAD_TEXT, "expected a name, found %s",
                           gemel__lex_describe(p->lex, found));
  }
  s->as = p->lex->token;
  s->as_length = p->lex->length;
  gemel__lex_next(p->lex);
  return GEMEL_OK;
}

/* The operator here and how it binds; 0 if there is none. */
static int operator_here(const gemel__lex *lex, const char **name) {
  const gemel__infix *infix = gemel__infix_here(lex);
  *name = infix != NULL ? infix->op : "floordiv";
  return infix != NULL                        ? infix->strength
         : lex->kind == GEMEL__TOKEN_FLOORDIV ? GEMEL__STRENGTH_PRODUCT
                                              : 0;
}

static gemel_status parse_level(rule_parser *p, int strength, uint32_t *node) {
  const char *name;
  int binds, compared = 0;
  if (p->depth >= MAX_DEPTH) {
    return gemel__lex_fail(p->lex, p->error, GEMEL_BAD_TEXT,
                           "the expression is nested deeper than %d", MAX_DEPTH);
  }
  p->depth++;
  gemel_status status = parse_operand(p, node);
  status = status ? status : parse_postfix(p, node);
  status = status ? status : parse_as(p, *node);
  while (status == GEMEL_OK && (binds = operator_here(p->lex, &name)) >= strength && binds > 0) {
    gemel__lex at = *p->lex;
    uint32_t right;
    if (compared && binds == GEMEL__STRENGTH_COMPARE) {
      return gemel__lex_fail(p->lex, p->error, GEMEL_BAD_TEXT,
                             "comparisons don't chain: write a < b and b < c");
    }
    compared = binds == GEMEL__STRENGTH_COMPARE;
    gemel__lex_next(p->lex);
    status = parse_level(p, binds + 1, &right);
    status = status ? status : operation(p, name, &at, *node, right, node);
  }
  p->depth--;
  return status;
}

gemel_status gemel__syntax_parse(gemel__syntax *syntax, gemel__lex *lex, uint32_t *node,
                                 gemel_error *error) {
  gemel_error local;
  rule_parser p = {syntax, lex, error != NULL ? error : &local, 0};
  return parse_level(&p, GEMEL__STRENGTH_OR, node);
}
