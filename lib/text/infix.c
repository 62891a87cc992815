/* SPDX-License-Identifier: MIT
 *
 * The parser of expressions, by operator precedence with an explicit stack, so that no depth of
 * parentheses can overflow the program's own. A frame on the stack is what waits for something to
 * be complete: an operator for its right side, a parenthesis or call for its end. Complete operands
 * stand on a second stack. From loosest to tightest:
 *
 *   or    and    not    == != < <= > >= (one, not a chain)    + -    * / %    unary -    f(…)
 *
 * A minus before a number belongs to the number.
 */
#include <string.h>
#include "core/alloc.h"
#include "core/attrs.h"
#include "core/registry.h"
#include "text/infix.h"
#include "text/program.h"

enum { MAX_ATTRS = 32 };

enum { FRAME_INFIX, FRAME_PREFIX, FRAME_PARENTHESIS, FRAME_CALL };

typedef struct gemel__infix_frame {
  unsigned char kind;
  unsigned char strength;
  uint32_t op;
  size_t stack;   /* of a call: where its operands begin */
  size_t pending; /* of a call: where its attributes begin */
  gemel__lex at;  /* where it stands, for messages */
} frame;

typedef struct infix_parser {
  gemel__expr_program *program;
  gemel__lex *lex;
  const gemel__scope *scope;
  gemel_error *error;
  size_t base; /* frames below are not ours */
} infix_parser;

static const gemel__infix infixes[] = {
    {GEMEL__TOKEN_NAME, "or", "logical_or", GEMEL__STRENGTH_OR},
    {GEMEL__TOKEN_NAME, "and", "logical_and", GEMEL__STRENGTH_AND},
    {GEMEL__TOKEN_EQ, NULL, "eq", GEMEL__STRENGTH_COMPARE},
    {GEMEL__TOKEN_NE, NULL, "ne", GEMEL__STRENGTH_COMPARE},
    {'<', NULL, "lt", GEMEL__STRENGTH_COMPARE},
    {GEMEL__TOKEN_LE, NULL, "le", GEMEL__STRENGTH_COMPARE},
    {'>', NULL, "gt", GEMEL__STRENGTH_COMPARE},
    {GEMEL__TOKEN_GE, NULL, "ge", GEMEL__STRENGTH_COMPARE},
    {'+', NULL, "add", GEMEL__STRENGTH_SUM},
    {'-', NULL, "sub", GEMEL__STRENGTH_SUM},
    {'*', NULL, "mul", GEMEL__STRENGTH_PRODUCT},
    {'/', NULL, "div", GEMEL__STRENGTH_PRODUCT},
    {'%', NULL, "mod", GEMEL__STRENGTH_PRODUCT},
};

const gemel__infix *gemel__infix_here(const gemel__lex *lex) {
  if (lex->kind == GEMEL__TOKEN_END || lex->kind == ')' || lex->kind == ',') {
    return NULL;
  }
  if (lex->kind == GEMEL__TOKEN_NAME && (lex->length > 3 || lex->length < 2)) {
    return NULL;
  }
  for (size_t k = 0; k < sizeof infixes / sizeof *infixes; k++) {
    if (infixes[k].token == lex->kind &&
        (!infixes[k].word || gemel__lex_is(lex, infixes[k].word))) {
      return &infixes[k];
    }
  }
  return NULL;
}

/* ---- Looking up operations ---- */

/* The operation, or composite, called TEXT; or 0. */
static uint32_t find_op(const infix_parser *p, const char *text, size_t length) {
  char name[1024];
  if (length >= sizeof name) {
    return 0;
  }
  memcpy(name, text, length);
  name[length] = 0;
  return gemel__callee_find(p->program->context, name, p->scope && p->scope->composites);
}

/* ---- Stacks ---- */

static gemel_status push_operand(infix_parser *p, uint32_t index) {
  gemel__expr_program *program = p->program;
  if (gemel__grow(&program->stack, &program->stack_capacity, program->n_stack + 1,
                  sizeof *program->stack)) {
    return gemel__no_memory(p->error, "an expression");
  }
  program->stack[program->n_stack++] = index;
  return GEMEL_OK;
}

static gemel_status push_frame(infix_parser *p, int kind, int strength, uint32_t op) {
  gemel__expr_program *program = p->program;
  if (gemel__grow(&program->frames, &program->frame_capacity, program->n_frames + 1,
                  sizeof *program->frames)) {
    return gemel__no_memory(p->error, "an expression");
  }
  frame *f = &program->frames[program->n_frames++];
  f->kind = (unsigned char)kind;
  f->strength = (unsigned char)strength;
  f->op = op;
  f->stack = program->n_stack;
  f->pending = program->n_pending;
  f->at = *p->lex;
  return GEMEL_OK;
}

static frame *top_frame(const infix_parser *p) {
  return p->program->n_frames > p->base ? &p->program->frames[p->program->n_frames - 1] : NULL;
}

/* Applies OP to the COUNT operands on top of the stack. */
static gemel_status apply(infix_parser *p, uint32_t op, size_t count, uint32_t attrs,
                          size_t n_bound, int line) {
  gemel__expr_program *program = p->program;
  uint32_t index;
  program->n_stack -= count;
  gemel_status status =
      gemel__expr_program_apply(program, op, count, program->stack + program->n_stack, attrs,
                                n_bound, line, &index, p->error);
  return status ? status : push_operand(p, index);
}

/* Applies the waiting operators that bind at least as tightly as STRENGTH. */
static gemel_status reduce(infix_parser *p, int strength) {
  frame *f;
  while ((f = top_frame(p)) && f->kind <= FRAME_PREFIX && f->strength >= strength) {
    uint32_t op = f->op;
    size_t count = f->kind == FRAME_INFIX ? 2 : 1;
    int line = f->at.token_line;
    p->program->n_frames--;
    gemel_status status = apply(p, op, count, 0, 0, line);
    if (status) {
      return status;
    }
  }
  return GEMEL_OK;
}

/* ---- Operands ---- */

/* A name that is no call. */
static gemel_status variable(infix_parser *p) {
  gemel__lex *lex = p->lex;
  gemel__ref ref;
  uint32_t index;
  char found[64];
  if (!p->scope || !p->scope->value ||
      !p->scope->value(p->scope->user, lex->token, lex->length, &ref)) {
    gemel__suggestion near;
    gemel__suggestion_start(&near, lex->token, lex->length);
    if (p->scope && p->scope->offer) {
      p->scope->offer(p->scope->user, &near);
    }
    return gemel__lex_fail(lex, p->error, GEMEL_BAD_TEXT, "%s is not defined%s",
                           gemel__lex_describe(lex, found), gemel__suggestion_text(&near));
  }
  gemel_status status =
      gemel__expr_program_variable(p->program, ref, lex->token_line, &index, p->error);
  gemel__lex_next(lex);
  return status ? status : push_operand(p, index);
}

static int is_value(const infix_parser *p) {
  gemel__ref ref;
  return p->scope && p->scope->value &&
         p->scope->value(p->scope->user, p->lex->token, p->lex->length, &ref);
}

/* 1 if the token is one of the words for a bool and no value's name. */
static int bool_here(const infix_parser *p) {
  return (gemel__lex_is(p->lex, "true") || gemel__lex_is(p->lex, "false")) && !is_value(p);
}

/* 1 if a number stands here, its minus included, and not a value that has the name inf or nan. */
static int literal_here(const infix_parser *p) {
  gemel__lex ahead = *p->lex;
  gemel__ref ref;
  if (ahead.kind == '-') {
    gemel__lex_next(&ahead);
  }
  if (ahead.kind == GEMEL__TOKEN_INT || ahead.kind == GEMEL__TOKEN_FLOAT) {
    return 1;
  }
  if (ahead.kind != GEMEL__TOKEN_NAME || ahead.length != 3 ||
      (!gemel__lex_is(&ahead, "inf") && !gemel__lex_is(&ahead, "nan"))) {
    return 0;
  }
  int next = gemel__lex_peek(&ahead, NULL);
  return next == ':' || next == '(' || !p->scope || !p->scope->value ||
         !p->scope->value(p->scope->user, ahead.token, ahead.length, &ref);
}

/* A tensor, or a number with or without a dtype. */
static gemel_status literal(infix_parser *p) {
  gemel__lex start = *p->lex;
  gemel__attr_store *store = &p->program->store;
  gemel__number number;
  gemel_tensor *tensor;
  uint32_t index;
  gemel_status status = GEMEL_OK;
  if (!gemel__lex_is(p->lex, "tensor") && !bool_here(p)) {
    status = gemel__number_read(p->lex, &number, p->error);
    if (!status && p->lex->kind != ':') {
      status = gemel__expr_program_literal(p->program, &number, start.token_line, &index, p->error);
      return status ? status : push_operand(p, index);
    }
  }
  *p->lex = start;
  if (!status && gemel__grow(&store->tensors, &store->tensor_capacity, store->n_tensors + 1,
                             sizeof *store->tensors)) {
    status = gemel__no_memory(p->error, "a constant");
  }
  status = status ? status : gemel__tensor_read(p->program->context, p->lex, &tensor, p->error);
  if (status) {
    return status;
  }
  store->tensors[store->n_tensors++] = tensor;
  status = gemel__expr_program_constant(p->program, tensor, start.token_line, &index, p->error);
  return status ? status : push_operand(p, index);
}

static gemel_status begin_call(infix_parser *p) {
  char found[64];
  gemel__suggestion near;
  const gemel__lex *lex = p->lex;
  uint32_t op = find_op(p, lex->token, lex->length);
  if (!op) {
    return gemel__lex_fail(
        lex, p->error, GEMEL_BAD_TEXT, "there is no operation called %s%s",
        gemel__lex_describe(lex, found),
        gemel__op_suggestion(p->program->context, lex->token, lex->length, &near));
  }
  gemel_status status = push_frame(p, FRAME_CALL, 0, op);
  gemel__lex_next(p->lex);
  gemel__lex_next(p->lex);
  return status;
}

/* `not` begins an operand of its own, unless a value has that name and nothing follows. */
static int is_not(const infix_parser *p) {
  if (!gemel__lex_is(p->lex, "not")) {
    return 0;
  }
  int next = gemel__lex_peek(p->lex, NULL);
  return !((next == ',' || next == ')' || next == '}') && is_value(p));
}

static gemel_status prefix(infix_parser *p, const char *op, int strength) {
  gemel_status status = push_frame(p, FRAME_PREFIX, strength, find_op(p, op, strlen(op)));
  gemel__lex_next(p->lex);
  return status;
}

enum { WANT_OPERAND, WANT_OPERATOR, WANT_NOTHING };

/* Reads an operand or what comes before one. */
static gemel_status operand(infix_parser *p, int *want) {
  gemel__lex *lex = p->lex;
  char found[64];
  *want = WANT_OPERATOR;
  int number = literal_here(p) || bool_here(p);
  if (lex->kind == GEMEL__TOKEN_NAME && !number) {
    if (is_not(p)) {
      *want = WANT_OPERAND;
      return prefix(p, "logical_not", GEMEL__STRENGTH_NOT);
    }
    if (gemel__lex_peek(lex, NULL) != '(') {
      return variable(p);
    }
    if (gemel__lex_is(lex, "tensor")) {
      return literal(p);
    }
    *want = WANT_OPERAND;
    return begin_call(p);
  }
  if (number) {
    return literal(p);
  }
  *want = WANT_OPERAND;
  if (lex->kind == '-') {
    return prefix(p, "neg", GEMEL__STRENGTH_NEGATE);
  }
  if (lex->kind == '(') {
    gemel_status status = push_frame(p, FRAME_PARENTHESIS, 0, 0);
    gemel__lex_next(lex);
    return status;
  }
  return gemel__lex_fail(lex, p->error, GEMEL_BAD_TEXT, "expected a value, found %s",
                         gemel__lex_describe(lex, found));
}

/* ---- Attributes and the end of a call ---- */

static const gemel_attr_spec *find_spec(const gemel_operation *record, const gemel__lex *lex) {
  const gemel_attr_spec *spec = record->attrs;
  while (spec != NULL && spec->name != NULL && !gemel__lex_is(lex, spec->name)) {
    spec++;
  }
  return spec != NULL && spec->name != NULL ? spec : NULL;
}

static gemel_status no_attribute(infix_parser *p, uint32_t callee) {
  gemel_context *context = p->program->context;
  char found[64];
  gemel__suggestion near;
  return gemel__lex_fail(p->lex, p->error, GEMEL_BAD_TEXT, "%s has no attribute called %s%s",
                         gemel__callee(context, callee)->name, gemel__lex_describe(p->lex, found),
                         callee & GEMEL__COMPOSITE
                             ? ""
                             : gemel__attr_suggestion(gemel__op_at(context, callee), p->lex->token,
                                                      p->lex->length, &near));
}

/* If the token is the name of an attribute variable and nothing else belongs to it, its index. */
static int attr_variable(const infix_parser *p) {
  int next = gemel__lex_peek(p->lex, NULL);
  if (p->lex->kind != GEMEL__TOKEN_NAME || !p->scope || !p->scope->attr ||
      (next != ',' && next != ')')) {
    return -1;
  }
  return p->scope->attr(p->scope->user, p->lex->token, p->lex->length);
}

/* name = value, in the call on top. */
static gemel_status attribute(infix_parser *p) {
  gemel__expr_program *program = p->program;
  const frame *call = top_frame(p);
  const gemel_attr_spec *spec = find_spec(gemel__callee(program->context, call->op), p->lex);
  gemel__expr_attr bound = {{0}, -1};
  if (!spec) {
    return no_attribute(p, call->op);
  }
  for (size_t k = call->pending; k < program->n_pending; k++) {
    if (!strcmp(program->pending[k].attr.name, spec->name)) {
      return gemel__lex_fail(p->lex, p->error, GEMEL_BAD_TEXT, "attribute %s is given twice",
                             spec->name);
    }
  }
  gemel__lex_next(p->lex);
  gemel__lex_next(p->lex);
  if (gemel__grow(&program->pending, &program->pending_capacity, program->n_pending + 1,
                  sizeof *program->pending)) {
    return gemel__no_memory(p->error, "attributes");
  }
  bound.attr.name = spec->name;
  bound.variable = attr_variable(p);
  gemel_status status = GEMEL_OK;
  if (bound.variable >= 0) {
    gemel__lex_next(p->lex);
  } else {
    status = gemel__attr_read(program->context, p->lex, p->scope, &program->store, spec,
                              &bound.attr, p->error);
  }
  if (!status) {
    program->pending[program->n_pending++] = bound;
  }
  return status;
}

/* 1 if the attribute is a run-time one: it can't be interned before the graph is there. */
static int is_runtime(gemel_context *context, const gemel__expr_attr *b,
                      const gemel__scope *scope) {
  const gemel_dim *dims = b->attr.kind == GEMEL_ATTR_DIM ? &b->attr.u.dim : b->attr.u.dims;
  size_t n = b->attr.kind == GEMEL_ATTR_DIM ? 1 : b->attr.count;
  if (b->variable >= 0) {
    return 1;
  }
  if ((b->attr.kind & ~GEMEL_ATTR_LIST) != GEMEL_ATTR_DIM || !scope || !scope->size) {
    return 0;
  }
  for (size_t k = 0; k < n; k++) {
    if (gemel__dim_has_runtime(context, dims[k])) {
      return 1;
    }
  }
  return 0;
}

/* Moves the call's attributes to where they wait for the graph. */
static gemel_status keep_bound(infix_parser *p, const frame *call, uint32_t *first) {
  gemel__expr_program *program = p->program;
  size_t n = program->n_pending - call->pending;
  *first = (uint32_t)program->n_bound;
  if (n == 0) {
    return GEMEL_OK;
  }
  if (gemel__grow(&program->bound, &program->bound_capacity, program->n_bound + n,
                  sizeof *program->bound)) {
    return gemel__no_memory(p->error, "attributes");
  }
  memcpy(program->bound + program->n_bound, program->pending + call->pending,
         n * sizeof *program->bound);
  program->n_bound += n;
  return GEMEL_OK;
}

/* The attributes of the call: their id, or for run-time ones their place and number. */
static gemel_status call_attrs(infix_parser *p, const frame *call, uint32_t *attrs,
                               size_t *n_bound) {
  gemel__expr_program *program = p->program;
  gemel_attr given[MAX_ATTRS];
  size_t n = program->n_pending - call->pending;
  *attrs = 0;
  *n_bound = 0;
  if (call->op & GEMEL__COMPOSITE) {
    *n_bound = n;
    return keep_bound(p, call, attrs);
  }
  const gemel__op *op = gemel__op_at(program->context, call->op);
  if (op->n_attrs == 0) {
    return GEMEL_OK;
  }
  for (size_t k = 0; k < n && k < MAX_ATTRS; k++) {
    given[k] = program->pending[call->pending + k].attr;
    if (is_runtime(program->context, &program->pending[call->pending + k], p->scope)) {
      *n_bound = n;
      return keep_bound(p, call, attrs);
    }
  }
  gemel_status status = gemel__attrs_intern(program->context, op, n, given, attrs, p->error);
  return status && status != GEMEL_NO_MEMORY ? gemel__lex_locate(&call->at, p->error) : status;
}

static gemel_status end_call(infix_parser *p) {
  frame *call = top_frame(p);
  uint32_t attrs, op = call->op;
  size_t n_bound, count = p->program->n_stack - call->stack;
  const gemel_operation *record = gemel__callee(p->program->context, op);
  int line = call->at.token_line;
  if (count < (size_t)record->min_inputs ||
      (record->max_inputs >= 0 && count > (size_t)record->max_inputs &&
       p->program->n_pending == call->pending)) {
    return gemel__lex_fail(&call->at, p->error, GEMEL_BAD_TEXT, "%s takes %s%d input%s, not %zu",
                           record->name,
                           record->min_inputs == record->max_inputs ? "" : "at least ",
                           record->min_inputs, record->min_inputs == 1 ? "" : "s", count);
  }
  gemel_status status = call_attrs(p, call, &attrs, &n_bound);
  p->program->n_pending = call->pending;
  p->program->n_frames--;
  return status ? status : apply(p, op, count, attrs, n_bound, line);
}

/* ---- The loop ---- */

/* At the start of an argument of the call on top: an attribute, the call's end, or neither (then an
 * operand follows). */
static gemel_status argument(infix_parser *p, int *want, int may_end) {
  int second;
  if (p->lex->kind == ')' && may_end) {
    gemel_status status = end_call(p);
    gemel__lex_next(p->lex);
    *want = WANT_OPERATOR;
    return status;
  }
  if (p->lex->kind == GEMEL__TOKEN_NAME && gemel__lex_peek(p->lex, &second) == '=' &&
      second != '=') {
    char found[64];
    gemel_status status = attribute(p);
    *want = WANT_OPERATOR;
    if (!status && p->lex->kind != ',' && p->lex->kind != ')') {
      status = gemel__lex_fail(p->lex, p->error, GEMEL_BAD_TEXT, "expected ',' or ')', found %s",
                               gemel__lex_describe(p->lex, found));
    }
    return status;
  }
  *want = WANT_OPERAND;
  return GEMEL_OK;
}

static gemel_status infix_operator(infix_parser *p, const gemel__infix *op, int *want) {
  gemel_status status = reduce(p, op->strength + (op->strength == GEMEL__STRENGTH_COMPARE));
  const frame *f = top_frame(p);
  if (!status && op->strength == GEMEL__STRENGTH_COMPARE && f && f->kind == FRAME_INFIX &&
      f->strength == GEMEL__STRENGTH_COMPARE) {
    return gemel__lex_fail(p->lex, p->error, GEMEL_BAD_TEXT,
                           "comparisons don't chain: write (a < b) and (b < c)");
  }
  status = status ? status
                  : push_frame(p, FRAME_INFIX, op->strength, find_op(p, op->op, strlen(op->op)));
  gemel__lex_next(p->lex);
  *want = WANT_OPERAND;
  return status;
}

/* Goes on behind a complete operand (or attribute). */
static gemel_status behind_operand(infix_parser *p, int *want) {
  const gemel__infix *op = gemel__infix_here(p->lex);
  char found[64];
  if (op) {
    return infix_operator(p, op, want);
  }
  gemel_status status = reduce(p, 0);
  const frame *f = top_frame(p);
  if (status || !f) {
    *want = WANT_NOTHING;
    return status;
  }
  if (p->lex->kind == ')') {
    if (f->kind == FRAME_CALL) {
      return argument(p, want, 1);
    }
    p->program->n_frames--;
    gemel__lex_next(p->lex);
    return GEMEL_OK;
  }
  if (p->lex->kind == ',' && f->kind == FRAME_CALL) {
    gemel__lex_next(p->lex);
    return argument(p, want, 0);
  }
  return gemel__lex_fail(p->lex, p->error, GEMEL_BAD_TEXT, "expected %s, found %s",
                         f->kind == FRAME_CALL ? "',' or ')'" : "')'",
                         gemel__lex_describe(p->lex, found));
}

gemel_status gemel__infix_parse(gemel__expr_program *program, gemel__lex *lex,
                                const gemel__scope *scope, uint32_t *index, gemel_error *error) {
  infix_parser p = {program, lex, scope, error, program->n_frames};
  int want = WANT_OPERAND;
  gemel_status status = GEMEL_OK;
  while (!status && want != WANT_NOTHING) {
    if (want == WANT_OPERATOR) {
      status = behind_operand(&p, &want);
      continue;
    }
    size_t calls = program->n_frames;
    status = operand(&p, &want);
    const frame *f = top_frame(&p);
    if (!status && program->n_frames > calls && f->kind == FRAME_CALL) {
      status = argument(&p, &want, 1);
    }
  }
  if (!status) {
    *index = program->stack[--program->n_stack];
  }
  return status;
}

void gemel__expr_program_discard(gemel__expr_program *program) {
  gemel__expr_program_reset(program);
  gemel__store_clear(&program->store);
  gemel__free(program->code, program->code_capacity * sizeof *program->code);
  gemel__free(program->operands, program->operand_capacity * sizeof *program->operands);
  gemel__free(program->bound, program->bound_capacity * sizeof *program->bound);
  gemel__free(program->frames, program->frame_capacity * sizeof *program->frames);
  gemel__free(program->stack, program->stack_capacity * sizeof *program->stack);
  gemel__free(program->pending, program->pending_capacity * sizeof *program->pending);
}
