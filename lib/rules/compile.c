/* SPDX-License-Identifier: MIT
 *
 * From a rule's text to a compiled rule: the header's words, then the trees of both sides become
 * patterns in post-order, with names resolved. A name is first met on the left, where its position
 * says what it is: a tensor, an attribute, or (..xs) any number of tensors.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "core/attrs.h"
#include "core/context.h"
#include "core/registry.h"
#include "core/suggest.h"
#include "rules/functions.h"
#include "rules/kinds.h"
#include "rules/rule.h"

enum { MAX_WORDS = 16 };

typedef struct rule_compiler {
  gemel_context *context;
  gemel__lex *lex;
  gemel__arena *arena;
  struct gemel_rule *rule;
  gemel_error *error;
  int left; /* names may be new */
  gemel__pattern nodes[GEMEL__RULE_NODES];
  uint32_t count;
} rule_compiler;

static gemel_status fail(const rule_compiler *c, uint32_t node, const char *format, ...)
    GEMEL__PRINTF(3, 4);

/* An error at a node of the tree. */
static gemel_status fail(const rule_compiler *c, uint32_t node, const char *format, ...) {
  va_list args;
  va_start(args, format);
  gemel__fail_va(c->error, GEMEL_BAD_TEXT, format, args);
  va_end(args);
  return gemel__lex_locate(&c->rule->syntax.nodes[node].at, c->error);
}

static void *keep(const rule_compiler *c, const void *data, size_t bytes) {
  void *copy = gemel__arena_copy(c->arena, data, bytes);
  if (copy == NULL) {
    gemel__no_memory(c->error, "a rule");
  }
  return copy;
}

static const char *keep_text(const rule_compiler *c, const char *text, size_t length) {
  char *copy = gemel__arena_alloc(c->arena, length + 1);
  if (copy == NULL) {
    gemel__no_memory(c->error, "a rule");
    return NULL;
  }
  memcpy(copy, text, length);
  copy[length] = '\0';
  return copy;
}

/* ---- Variables ---- */

static int find_variable(void *user, const char *name, size_t length) {
  const struct gemel_rule *rule = user;
  for (uint32_t k = 0; k < rule->n_variables; k++) {
    if (strlen(rule->variables[k].name) == length &&
        memcmp(rule->variables[k].name, name, length) == 0) {
      return (int)k;
    }
  }
  return -1;
}

/* The same for expressions. */
static int look_up(void *user, const char *name, size_t length, unsigned *kinds) {
  const struct gemel_rule *rule = user;
  int found = find_variable(user, name, length);
  if (found >= 0) {
    *kinds = rule->variables[found].kinds;
  }
  return found;
}

static const char *kind_name(int kind) {
  return kind == GEMEL__TERM_TENSOR    ? "a tensor"
         : kind == GEMEL__TERM_TENSORS ? "a list of tensors"
                                       : "an attribute";
}

/* A name on the right that is not bound. */
static gemel_status unbound(const rule_compiler *c, uint32_t node) {
  const gemel__syntax_node *s = &c->rule->syntax.nodes[node];
  gemel__suggestion near;
  gemel__suggestion_start(&near, s->text, s->length);
  for (uint32_t k = 0; k < c->rule->n_variables; k++) {
    gemel__suggestion_offer(&near, c->rule->variables[k].name, strlen(c->rule->variables[k].name));
  }
  int truth = gemel__syntax_is(s, "true") || gemel__syntax_is(s, "false");
  return fail(c, node, "%.*s isn't bound on the left side%s", (int)s->length, s->text,
              truth ? "; truths are the numbers 1 and 0" : gemel__suggestion_text(&near));
}

/* The variable that NODE names, used as KIND: known, or new on the left side. */
static gemel_status variable(rule_compiler *c, uint32_t node, int kind, uint32_t *index) {
  const gemel__syntax_node *s = &c->rule->syntax.nodes[node];
  int found = find_variable(c->rule, s->text, s->length);
  gemel__variable *v;
  if (found < 0 && !c->left) {
    return unbound(c, node);
  }
  if (found >= 0 && c->rule->variables[found].kind != kind) {
    return fail(c, node, "%.*s is %s, not %s", (int)s->length, s->text,
                kind_name(c->rule->variables[found].kind), kind_name(kind));
  }
  if (found < 0) {
    if (c->rule->n_variables == GEMEL__RULE_VARIABLES) {
      return fail(c, node, "more than %d variables", GEMEL__RULE_VARIABLES);
    }
    found = (int)c->rule->n_variables;
    v = &c->rule->variables[found];
    v->kind = (unsigned char)kind;
    v->kinds = kind == GEMEL__TERM_ABSENT ? 0 : 1u << kind;
    v->name = keep_text(c, s->text, s->length);
    if (v->name == NULL) {
      return GEMEL_NO_MEMORY;
    }
    c->rule->n_variables++;
  }
  *index = (uint32_t)found;
  return GEMEL_OK;
}

/* The name that `as` gives the operation at NODE: a variable that no other place binds. */
static gemel_status name_result(rule_compiler *c, uint32_t node, gemel__pattern *p) {
  gemel__syntax_node *s = &c->rule->syntax.nodes[node];
  gemel__variable *v = &c->rule->variables[c->rule->n_variables];
  if (s->as == NULL) {
    return GEMEL_OK;
  }
  if (!c->left || find_variable(c->rule, s->as, s->as_length) >= 0) {
    return fail(c, node, c->left ? "%.*s has a meaning already" : "'as %.*s' on the right side",
                (int)s->as_length, s->as);
  }
  if (c->rule->n_variables == GEMEL__RULE_VARIABLES) {
    return fail(c, node, "more than %d variables", GEMEL__RULE_VARIABLES);
  }
  v->kind = GEMEL__TERM_TENSOR;
  v->kinds = GEMEL__KINDS_OF(TENSOR);
  v->name = keep_text(c, s->as, s->as_length);
  p->named = ++c->rule->n_variables;
  return v->name != NULL ? GEMEL_OK : GEMEL_NO_MEMORY;
}

/* ---- Attributes ---- */

/* The expression at NODE: WHAT, which is one of KINDS. */
static gemel_status expression(const rule_compiler *c, uint32_t node, const char *what,
                               unsigned kinds, gemel__termexpr *expr) {
  char is[100], wanted[100];
  gemel_status status =
      gemel__term_compile(&c->rule->syntax, node, look_up, c->rule, c->arena, expr, c->error);
  if (status == GEMEL_OK && gemel__kinds_apart(expr->kinds, kinds)) {
    return fail(c, node, "%s is %s, and this is %s", what, gemel__kinds_text(kinds, wanted),
                gemel__kinds_text(expr->kinds, is));
  }
  return status;
}

/* 1 if a bare name is a constant and no variable. */
static int is_constant_name(const gemel__syntax_node *s) {
  char name[16];
  gemel_dtype dtype;
  if (s->length >= sizeof name) {
    return 0;
  }
  memcpy(name, s->text, s->length);
  name[s->length] = '\0';
  return strcmp(name, "none") == 0 || strcmp(name, "true") == 0 || strcmp(name, "false") == 0 ||
         gemel_dtype_find(name, &dtype) == GEMEL_OK;
}

/* An expression where an attribute of KINDS stands; on the left, a new bare name binds. */
static gemel_status attribute(rule_compiler *c, uint32_t node, unsigned kinds,
                              gemel__termexpr *expr) {
  const gemel__syntax_node *s = &c->rule->syntax.nodes[node];
  if (c->left && s->kind == GEMEL__SYNTAX_NAME && !is_constant_name(s)) {
    uint32_t index;
    gemel_status status = variable(c, node, GEMEL__TERM_ABSENT, &index);
    if (status != GEMEL_OK) {
      return status;
    }
    c->rule->variables[index].kinds |= kinds;
  }
  return expression(c, node, "the attribute", kinds, expr);
}

static const gemel_attr_spec *find_spec(const gemel__op *op, const gemel__syntax_node *s,
                                        size_t *k) {
  for (*k = 0; *k < op->n_attrs; (*k)++) {
    const char *name = op->record.attrs[*k].name;
    if (strlen(name) == s->key_length && memcmp(name, s->key, s->key_length) == 0) {
      return &op->record.attrs[*k];
    }
  }
  return NULL;
}

static gemel_status no_attribute(const rule_compiler *c, uint32_t node, const gemel__op *op) {
  const gemel__syntax_node *s = &c->rule->syntax.nodes[node];
  gemel__suggestion near;
  return fail(c, node, "%s has no attribute called %.*s%s", op->record.name, (int)s->key_length,
              s->key, gemel__attr_suggestion(op, s->key, s->key_length, &near));
}

/* The named arguments of the call at NODE, into an array over the operation's schema. */
static gemel_status call_attributes(rule_compiler *c, uint32_t node, const gemel__op *op,
                                    gemel__pattern *p) {
  const gemel__syntax_node *nodes = c->rule->syntax.nodes;
  gemel__termexpr *attrs =
      gemel__arena_alloc(c->arena, (op->n_attrs > 0 ? op->n_attrs : 1) * sizeof *attrs);
  size_t k;
  if (attrs == NULL) {
    return gemel__no_memory(c->error, "a rule");
  }
  memset(attrs, 0, op->n_attrs * sizeof *attrs);
  for (uint32_t child = nodes[node].child; child != 0; child = nodes[child].next) {
    if (nodes[child].key == NULL) {
      continue;
    }
    if (find_spec(op, &nodes[child], &k) == NULL) {
      return no_attribute(c, child, op);
    }
    if (attrs[k].count != 0) {
      return fail(c, child, "attribute %s is given twice", op->record.attrs[k].name);
    }
    gemel_status status =
        attribute(c, child, gemel__kinds_of_attr(&op->record.attrs[k]), &attrs[k]);
    if (status != GEMEL_OK) {
      return status;
    }
  }
  for (k = 0; k < op->n_attrs; k++) {
    if (attrs[k].count == 0 && op->record.attrs[k].fallback == NULL) {
      return fail(c, node, "%s needs its attribute %s", op->record.name, op->record.attrs[k].name);
    }
  }
  p->n_attrs = (uint32_t)op->n_attrs;
  p->attrs = attrs;
  return GEMEL_OK;
}

/* ---- Patterns ---- */

static gemel_status side_node(rule_compiler *c, uint32_t node, uint32_t *index);

static gemel_status push(rule_compiler *c, const gemel__pattern *p, uint32_t *index) {
  if (c->count == GEMEL__RULE_NODES) {
    return fail(c, p->syntax, "a side has more than %d parts", GEMEL__RULE_NODES);
  }
  c->nodes[c->count] = *p;
  *index = c->count++;
  return GEMEL_OK;
}

static gemel_status operand(rule_compiler *c, uint32_t node, uint32_t *index) {
  const gemel__syntax_node *s = &c->rule->syntax.nodes[node];
  gemel__pattern p;
  if (s->kind != GEMEL__SYNTAX_VARIADIC) {
    return side_node(c, node, index);
  }
  memset(&p, 0, sizeof p);
  p.kind = GEMEL__PATTERN_VARIADIC;
  p.syntax = node;
  if (c->rule->syntax.nodes[s->child].kind != GEMEL__SYNTAX_NAME) {
    return fail(c, s->child, "a name must stand behind '..'");
  }
  gemel_status status = variable(c, s->child, GEMEL__TERM_TENSORS, &p.variable);
  return status ? status : push(c, &p, index);
}

static int same_pattern(const gemel__pattern *a, const gemel__pattern *b) {
  return a->kind == GEMEL__PATTERN_VARIABLE && b->kind == GEMEL__PATTERN_VARIABLE &&
         a->variable == b->variable;
}

static gemel_status no_operation(const rule_compiler *c, uint32_t node) {
  const gemel__syntax_node *s = &c->rule->syntax.nodes[node];
  gemel__suggestion near;
  if (gemel__syntax_is(s, "floordiv")) {
    return fail(c, node, "there is no operation called floordiv ('//' is for attributes)");
  }
  return fail(c, node, "there is no operation called %.*s%s", (int)s->length, s->text,
              gemel__op_suggestion(c->context, s->text, s->length, &near));
}

/* The operation that the call at NODE names. */
static gemel_status find_op(rule_compiler *c, uint32_t node, const gemel__op **op) {
  const gemel__syntax_node *s = &c->rule->syntax.nodes[node];
  char name[64];
  uint32_t id = 0;
  if (s->length < sizeof name) {
    memcpy(name, s->text, s->length);
    name[s->length] = '\0';
    id = gemel__op_find(c->context, name);
  }
  if (id == 0) {
    return no_operation(c, node);
  }
  *op = gemel__op_at(c->context, id);
  return GEMEL_OK;
}

static gemel_status check_arity(rule_compiler *c, uint32_t node, const gemel__op *op, uint32_t n,
                                int variadic) {
  const gemel_operation *r = &op->record;
  int few = variadic == 0 && (int)n < r->min_inputs;
  int least = few || r->max_inputs < 0 ? r->min_inputs : r->max_inputs;
  /* a variadic variable may stand for no operand, but what stands beside it is there */
  if (!few && (r->max_inputs < 0 || (int)n - variadic <= r->max_inputs)) {
    return GEMEL_OK;
  }
  return fail(c, node, "%s takes %s%d operand%s, not %u", r->name,
              r->min_inputs == r->max_inputs ? ""
              : few                          ? "at least "
                                             : "at most ",
              least, least == 1 ? "" : "s", n);
}

static gemel_status call(rule_compiler *c, uint32_t node, gemel__pattern *p, uint32_t *index) {
  const gemel__syntax_node *nodes = c->rule->syntax.nodes;
  uint32_t operands[GEMEL__RULE_NODES];
  const gemel__op *op = NULL;
  int variadic = 0;
  gemel_status status = find_op(c, node, &op);
  if (status != GEMEL_OK) {
    return status;
  }
  p->kind = GEMEL__PATTERN_APPLY;
  for (uint32_t child = nodes[node].child; child != 0 && status == GEMEL_OK;
       child = nodes[child].next) {
    if (nodes[child].key == NULL) {
      status = operand(c, child, &operands[p->n_operands]);
      variadic += nodes[child].kind == GEMEL__SYNTAX_VARIADIC;
      p->n_operands++;
    }
  }
  status = status ? status : check_arity(c, node, op, p->n_operands, variadic);
  status = status ? status : call_attributes(c, node, op, p);
  status = status ? status : name_result(c, node, p);
  if (status != GEMEL_OK) {
    return status;
  }
  p->op = op->id;
  p->operands = keep(c, operands, (p->n_operands > 0 ? p->n_operands : 1) * sizeof *operands);
  p->commutative = (op->record.flags & GEMEL_OP_COMMUTATIVE) && p->n_operands == 2 &&
                   !same_pattern(&c->nodes[operands[0]], &c->nodes[operands[1]]);
  return p->operands != NULL ? push(c, p, index) : GEMEL_NO_MEMORY;
}

/* f(x)@k */
static gemel_status output(rule_compiler *c, uint32_t node, gemel__pattern *p, uint32_t *index) {
  const gemel__syntax_node *nodes = c->rule->syntax.nodes;
  uint32_t inner = nodes[node].child, k = nodes[inner].next;
  if (nodes[inner].kind != GEMEL__SYNTAX_CALL) {
    return fail(c, node, "'@' stands behind a call");
  }
  gemel_status status = attribute(c, k, GEMEL__KINDS_OF(NUMBER), &p->output);
  p->any_output = 1;
  p->syntax = inner;
  return status ? status : call(c, inner, p, index);
}

static gemel_status side_node(rule_compiler *c, uint32_t node, uint32_t *index) {
  const gemel__syntax_node *s = &c->rule->syntax.nodes[node];
  gemel_status status;
  gemel__pattern p;
  memset(&p, 0, sizeof p);
  p.syntax = node;
  switch (s->kind) {
  case GEMEL__SYNTAX_NUMBER:
    p.kind = GEMEL__PATTERN_LITERAL;
    p.number = s->number;
    return push(c, &p, index);
  case GEMEL__SYNTAX_NAME:
    p.kind = GEMEL__PATTERN_VARIABLE;
    status = variable(c, node, GEMEL__TERM_TENSOR, &p.variable);
    return status ? status : push(c, &p, index);
  case GEMEL__SYNTAX_CALL:
    return call(c, node, &p, index);
  case GEMEL__SYNTAX_OUTPUT:
    return output(c, node, &p, index);
  default:
    return s->kind == GEMEL__SYNTAX_VARIADIC
               ? fail(c, node, "'..' can't be a tensor")
               : fail(c, node,
                      "a list or an element of one can't be a tensor; a size is "
                      "size(value = ...)");
  }
}

static gemel_status parse_side(rule_compiler *c, gemel__rule_side *side) {
  uint32_t root, index;
  gemel_status status = gemel__syntax_parse(&c->rule->syntax, c->lex, &root, c->error);
  c->count = 0;
  status = status ? status : side_node(c, root, &index);
  if (status != GEMEL_OK) {
    return status;
  }
  if (c->left && c->nodes[index].kind != GEMEL__PATTERN_APPLY) {
    return fail(c, root, "the left side must be an operation");
  }
  side->nodes = keep(c, c->nodes, c->count * sizeof *c->nodes);
  side->count = c->count;
  return side->nodes != NULL ? GEMEL_OK : GEMEL_NO_MEMORY;
}

/* ---- Header and conditions ---- */

/* One word of a list in the header. */
static gemel_status word(rule_compiler *c, const char *what, const char **text) {
  char found[64];
  if (c->lex->kind != GEMEL__TOKEN_NAME) {
    return gemel__lex_fail(c->lex, c->error, GEMEL_BAD_TEXT, "expected %s, found %s", what,
                           gemel__lex_describe(c->lex, found));
  }
  *text = keep_text(c, c->lex->token, c->lex->length);
  return *text != NULL ? GEMEL_OK : GEMEL_NO_MEMORY;
}

static const char *phase_word(int k) {
  return gemel_phase_name((gemel_phase)k);
}

/* The token is none of the COUNT words of a table: says which there are, and which is near. */
static gemel_status no_word(const rule_compiler *c, const char *what, int count,
                            const char *(*name)(int)) {
  char list[200], found[64];
  size_t used = 0;
  gemel__suggestion near;
  gemel__suggestion_start(&near, c->lex->token, c->lex->length);
  for (int k = 0; k < count && used < sizeof list; k++) {
    used += (size_t)snprintf(list + used, sizeof list - used, "%s%s",
                             k == 0           ? ""
                             : k + 1 == count ? " and "
                                              : ", ",
                             name(k));
    gemel__suggestion_offer(&near, name(k), strlen(name(k)));
  }
  return gemel__lex_fail(c->lex, c->error, GEMEL_BAD_TEXT, "%s is no %s%s; there are %s",
                         gemel__lex_describe(c->lex, found), what, gemel__suggestion_text(&near),
                         list);
}

static gemel_status parse_phase(rule_compiler *c) {
  const char *text;
  gemel_status status = word(c, "a phase", &text);
  int k = 0;
  if (status != GEMEL_OK) {
    return status;
  }
  while (k < GEMEL_PHASE_COUNT && strcmp(gemel_phase_name((gemel_phase)k), text) != 0) {
    k++;
  }
  if (k == GEMEL_PHASE_COUNT) {
    return no_word(c, "phase", GEMEL_PHASE_COUNT, phase_word);
  }
  c->rule->info.phase = (gemel_phase)k;
  gemel__lex_next(c->lex);
  return GEMEL_OK;
}

static gemel_status parse_need(rule_compiler *c) {
  int k = 0;
  while (k < GEMEL_NEEDS_COUNT && !gemel__lex_is(c->lex, gemel_needs_word(k))) {
    k++;
  }
  if (k == GEMEL_NEEDS_COUNT) {
    return no_word(c, "need", GEMEL_NEEDS_COUNT, gemel_needs_word);
  }
  c->rule->info.needs |= 1u << k;
  gemel__lex_next(c->lex);
  return GEMEL_OK;
}

static gemel_status parse_tags(rule_compiler *c) {
  const char *tags[MAX_WORDS];
  size_t n = 0;
  do {
    if (n == MAX_WORDS) {
      return gemel__lex_fail(c->lex, c->error, GEMEL_BAD_TEXT, "more than %d tags", MAX_WORDS);
    }
    gemel_status status = word(c, "a tag", &tags[n]);
    if (status != GEMEL_OK) {
      return status;
    }
    n++;
    gemel__lex_next(c->lex);
  } while (gemel__lex_accept(c->lex, ','));
  c->rule->info.n_tags = n;
  c->rule->info.tags = keep(c, tags, n * sizeof *tags);
  return c->rule->info.tags != NULL ? GEMEL_OK : GEMEL_NO_MEMORY;
}

/* NAME in PHASE [tags …] [needs …] : */
static gemel_status parse_header(rule_compiler *c) {
  gemel_status status = word(c, "the rule's name", &c->rule->info.name);
  if (status != GEMEL_OK) {
    return status;
  }
  gemel__lex_next(c->lex);
  if (!gemel__lex_is(c->lex, "in")) {
    return gemel__lex_expect(c->lex, 0, "'in' and a phase", c->error);
  }
  gemel__lex_next(c->lex);
  status = parse_phase(c);
  if (status == GEMEL_OK && gemel__lex_is(c->lex, "tags")) {
    gemel__lex_next(c->lex);
    status = parse_tags(c);
  }
  if (status == GEMEL_OK && gemel__lex_is(c->lex, "needs")) {
    do {
      gemel__lex_next(c->lex);
      status = parse_need(c);
    } while (status == GEMEL_OK && c->lex->kind == ',');
  }
  return status ? status : gemel__lex_expect(c->lex, ':', "'tags', 'needs' or ':'", c->error);
}

/* 1 if EXPR asks how often something is used. */
static int counts_uses(const gemel__termexpr *expr) {
  for (uint32_t k = 0; k < expr->count; k++) {
    if (expr->code[k].kind == GEMEL__TERMCODE_FUNCTION &&
        expr->code[k].index == GEMEL__FUNCTION_single_use) {
      return 1;
    }
  }
  return 0;
}

static gemel_status parse_conditions(rule_compiler *c) {
  gemel__termexpr list[GEMEL__RULE_NODES];
  uint32_t n = 0, root;
  gemel_status status = GEMEL_OK;
  if (!gemel__lex_is(c->lex, "where")) {
    return GEMEL_OK;
  }
  do {
    gemel__lex_next(c->lex);
    if (n == GEMEL__RULE_NODES) {
      return gemel__lex_fail(c->lex, c->error, GEMEL_BAD_TEXT, "more than %d conditions",
                             GEMEL__RULE_NODES);
    }
    status = gemel__syntax_parse(&c->rule->syntax, c->lex, &root, c->error);
    status =
        status ? status : expression(c, root, "a condition", gemel__kinds_given('b'), &list[n]);
    n++;
  } while (status == GEMEL_OK && c->lex->kind == ',');
  if (status == GEMEL_OK) {
    c->rule->n_conditions = n;
    c->rule->conditions = keep(c, list, n * sizeof *list);
    status = c->rule->conditions != NULL ? GEMEL_OK : GEMEL_NO_MEMORY;
    for (uint32_t k = 0; k < n; k++) {
      c->rule->asks_uses |= counts_uses(&list[k]);
    }
  }
  return status;
}

/* ---- The rule ---- */

static uint32_t operations(const gemel__rule_side *side) {
  uint32_t n = 0;
  for (uint32_t k = 0; k < side->count; k++) {
    n += side->nodes[k].kind == GEMEL__PATTERN_APPLY;
  }
  return n;
}

int gemel__rule_ends(const gemel__lex *lex) {
  return lex->kind == GEMEL__TOKEN_END || gemel__lex_is(lex, "rule") || gemel__lex_is(lex, "for") ||
         gemel__lex_is(lex, "operation");
}

static gemel_status parse_body(rule_compiler *c) {
  gemel_status status = parse_side(c, &c->rule->left);
  status = status ? status : gemel__lex_expect(c->lex, GEMEL__TOKEN_ARROW, "'=>'", c->error);
  c->left = 0;
  status = status ? status : parse_side(c, &c->rule->right);
  status = status ? status : parse_conditions(c);
  if (status == GEMEL_OK && !gemel__rule_ends(c->lex)) {
    char found[64];
    status = gemel__lex_fail(c->lex, c->error, GEMEL_BAD_TEXT,
                             "expected 'where', another rule or the end, found %s",
                             gemel__lex_describe(c->lex, found));
  }
  return status;
}

gemel_status gemel__rule_compile(gemel_context *context, gemel__lex *lex, gemel__arena *arena,
                                 struct gemel_rule *rule, gemel_error *error) {
  gemel_error local;
  rule_compiler c;
  memset(&c, 0, sizeof c);
  c.context = context;
  c.lex = lex;
  c.arena = arena;
  c.rule = rule;
  c.error = error != NULL ? error : &local;
  c.left = 1;
  rule->context = context;
  gemel_status status = parse_header(&c);
  status = status ? status : parse_body(&c);
  rule->grows = status == GEMEL_OK && operations(&rule->right) > operations(&rule->left);
  return status;
}
