/* SPDX-License-Identifier: MIT
 *
 * Expands composites: goes through the statements, and computes what is known or appends nodes. It
 * calls itself as deep as expressions and composites are nested, which GEMEL__MOST_HEIGHT and
 * MOST_COMPOSITES_DEEP bound; a text may be anybody's, so steps are counted too.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "composites/composites.h"
#include "composites/item.h"
#include "core/error.h"
#include "core/graph.h"
#include "core/registry.h"
#include "core/schema.h"
#include "core/value.h"

enum { MOST_COMPOSITES_DEEP = 16, MOST_STEPS = 200000 };

typedef struct composite_scope {
  gemel__composite_variable *variables;
} composite_scope;

static int evaluate(gemel__expansion *x, composite_scope *scope, const gemel__composite_expr *e,
                    gemel__item *result);

/* ---- Variables ---- */

static gemel__item *find_variable(const composite_scope *scope, const char *name) {
  gemel__composite_variable *v = scope->variables;
  while (v != NULL && strcmp(v->name, name) != 0) {
    v = v->next;
  }
  return v != NULL ? &v->item : NULL;
}

static int set_variable(gemel__expansion *x, composite_scope *scope, const char *name,
                        const gemel__item *item) {
  gemel__item *known = find_variable(scope, name);
  if (known != NULL) {
    *known = *item;
    return 0;
  }
  gemel__composite_variable *v = gemel__arena_alloc(&x->arena, sizeof *v);
  if (v == NULL) {
    return gemel__expansion_no_memory(x);
  }
  *v = (gemel__composite_variable){name, *item, scope->variables};
  scope->variables = v;
  return 0;
}

static int name_item(gemel__expansion *x, composite_scope *scope, const gemel__composite_expr *e,
                     gemel__item *result) {
  const gemel__item *known = find_variable(scope, e->name);
  if (known != NULL) {
    *result = *known;
    return 0;
  }
  if (strcmp(e->name, "none") == 0) {
    result->kind = GEMEL__ITEM_NONE;
    return 0;
  }
  if (strcmp(e->name, "true") == 0 || strcmp(e->name, "false") == 0) {
    result->kind = GEMEL__ITEM_BOOL;
    result->u.integer = e->name[0] == 't';
    return 0;
  }
  if (strcmp(e->name, "inf") == 0) {
    result->kind = GEMEL__ITEM_REAL;
    result->u.real = HUGE_VAL;
    return 0;
  }
  if (gemel_dtype_find(e->name, &result->u.dtype) == GEMEL_OK) {
    result->kind = GEMEL__ITEM_DTYPE;
    return 0;
  }
  if (x->node != NULL && (strcmp(e->name, "opset") == 0 || strcmp(e->name, "results") == 0)) {
    result->kind = GEMEL__ITEM_INTEGER;
    result->u.integer = e->name[0] == 'o' ? x->node->opset : (int64_t)x->node->n_results;
    return 0;
  }
  return gemel__expansion_fail(x, GEMEL_BAD_TEXT, "%s:%d: there is nothing called %s",
                               x->running->file, e->line, e->name);
}

/* *TRUTH = whether E, which must be known, is true. */
static int truth_of(gemel__expansion *x, composite_scope *scope, const gemel__composite_expr *e,
                    int *truth) {
  gemel__item item;
  if (evaluate(x, scope, e, &item) != 0) {
    return -1;
  }
  if (!gemel__item_is_number(&item) || item.kind == GEMEL__ITEM_SIZE) {
    return gemel__expansion_fail(x, GEMEL_BAD_TEXT, "%s:%d: %s is neither true nor false",
                                 x->running->file, e->line, gemel__item_name(&item));
  }
  *truth = gemel__item_real(&item) != 0;
  return 0;
}

/* ---- Lists ---- */

static int list_item(gemel__expansion *x, composite_scope *scope, const gemel__composite_expr *e,
                     gemel__item *result) {
  size_t n = 0, k = 0;
  for (const gemel__composite_expr *i = e->first; i != NULL; i = i->next) {
    n++;
  }
  int status = gemel__item_list(x, n, result);
  for (const gemel__composite_expr *i = e->first; i != NULL && status == 0; i = i->next) {
    status = evaluate(x, scope, i, &result->u.list.items[k++]);
  }
  return status;
}

static int each_item(gemel__expansion *x, composite_scope *scope, const gemel__composite_expr *e,
                     gemel__item *result) {
  gemel__item over;
  size_t n = 0;
  if (evaluate(x, scope, e->second, &over) != 0) {
    return -1;
  }
  if (over.kind != GEMEL__ITEM_LIST) {
    return gemel__expansion_fail(x, GEMEL_BAD_TEXT, "%s:%d: %s is no list", x->running->file,
                                 e->line, gemel__item_name(&over));
  }
  if (gemel__item_list(x, over.u.list.count, result) != 0) {
    return -1;
  }
  for (size_t k = 0; k < over.u.list.count; k++) {
    int wanted = 1;
    if (set_variable(x, scope, e->name, &over.u.list.items[k]) != 0 ||
        (e->third != NULL && truth_of(x, scope, e->third, &wanted) != 0) ||
        (wanted && evaluate(x, scope, e->first, &result->u.list.items[n]) != 0)) {
      return -1;
    }
    n += wanted != 0;
  }
  result->u.list.count = n;
  return 0;
}

/* *K = E, counted from the end if it is negative, within 0 .. MOST. */
static int place_in(gemel__expansion *x, composite_scope *scope, const gemel__composite_expr *e,
                    size_t count, size_t most, size_t *k) {
  gemel__item item;
  if (evaluate(x, scope, e, &item) != 0) {
    return -1;
  }
  int64_t place = item.u.integer;
  if (item.kind == GEMEL__ITEM_INTEGER && place < 0) {
    place += (int64_t)count;
  }
  if (item.kind != GEMEL__ITEM_INTEGER || place < 0 || (uint64_t)place > most) {
    return gemel__expansion_fail(x, GEMEL_BAD_SHAPE, "%s:%d: no such element of %zu",
                                 x->running->file, e->line, count);
  }
  *k = (size_t)place;
  return 0;
}

static int index_item(gemel__expansion *x, composite_scope *scope, const gemel__composite_expr *e,
                      gemel__item *result) {
  gemel__item of;
  if (evaluate(x, scope, e->first, &of) != 0) {
    return -1;
  }
  if (of.kind != GEMEL__ITEM_LIST) {
    return gemel__expansion_fail(x, GEMEL_BAD_TEXT, "%s:%d: %s is no list", x->running->file,
                                 e->line, gemel__item_name(&of));
  }
  size_t count = of.u.list.count, from = 0, to = count;
  if (e->kind == GEMEL__EXPR_INDEX) {
    if (place_in(x, scope, e->second, count, count > 0 ? count - 1 : 0, &from) != 0) {
      return -1;
    }
    if (count == 0) {
      return gemel__expansion_fail(x, GEMEL_BAD_SHAPE, "%s:%d: no such element of 0",
                                   x->running->file, e->line);
    }
    *result = of.u.list.items[from];
    return 0;
  }
  if ((e->second != NULL && place_in(x, scope, e->second, count, count, &from) != 0) ||
      (e->third != NULL && place_in(x, scope, e->third, count, count, &to) != 0)) {
    return -1;
  }
  result->kind = GEMEL__ITEM_LIST;
  result->u.list.items = of.u.list.items + from;
  result->u.list.count = to > from ? to - from : 0;
  return 0;
}

/* ---- Operators ---- */

static const char *operation_of(int op) {
  switch (op) {
  case '+':
    return "add";
  case '-':
    return "sub";
  case '*':
    return "mul";
  case '/':
    return "div";
  case '%':
    return "mod";
  case GEMEL__TOKEN_FLOORDIV:
    return "floor_div";
  case '<':
    return "lt";
  case '>':
    return "gt";
  case GEMEL__TOKEN_LE:
    return "le";
  case GEMEL__TOKEN_GE:
    return "ge";
  case GEMEL__TOKEN_EQ:
    return "eq";
  case GEMEL__TOKEN_NE:
    return "ne";
  case 'a':
    return "logical_and";
  default:
    return "logical_or";
  }
}

/* Applies an operation to N operands, of which numbers become constants. */
static int apply(gemel__expansion *x, const char *name, size_t n, const gemel__item *items,
                 size_t n_attrs, const gemel_attr *attrs, gemel__item *result) {
  gemel_value model = gemel__item_model(items, n);
  gemel_value *values = gemel__arena_alloc(&x->arena, (n + 1) * sizeof *values);
  if (values == NULL) {
    return gemel__expansion_no_memory(x);
  }
  for (size_t k = 0; k < n; k++) {
    if (gemel__item_to_value(x, &items[k], model, &values[k]) != 0) {
      return -1;
    }
  }
  result->kind = GEMEL__ITEM_VALUE;
  result->u.value = gemel_apply_at(x->graph, name, n, values, n_attrs, attrs, x->where);
  return gemel_is_null(result->u.value) ? -1 : 0;
}

static int infix_item(gemel__expansion *x, composite_scope *scope, const gemel__composite_expr *e,
                      gemel__item *result) {
  gemel__item sides[2];
  if (evaluate(x, scope, e->first, &sides[0]) != 0) {
    return -1;
  }
  int lazy = (e->op == 'a' || e->op == 'o') && gemel__item_is_number(&sides[0]) &&
             sides[0].kind != GEMEL__ITEM_SIZE;
  if (lazy && (gemel__item_real(&sides[0]) != 0) == (e->op == 'o')) {
    *result = sides[0];
    return 0;
  }
  if (evaluate(x, scope, e->second, &sides[1]) != 0) {
    return -1;
  }
  int known = sides[0].kind != GEMEL__ITEM_VALUE && sides[1].kind != GEMEL__ITEM_VALUE;
  return known || sides[0].kind == GEMEL__ITEM_LIST || sides[1].kind == GEMEL__ITEM_LIST
             ? gemel__infix_known(x, e->op, &sides[0], &sides[1], result)
             : apply(x, operation_of(e->op), 2, sides, 0, NULL, result);
}

static int prefix_item(gemel__expansion *x, composite_scope *scope, const gemel__composite_expr *e,
                       gemel__item *result) {
  static const gemel__item zero = {.kind = GEMEL__ITEM_INTEGER};
  gemel__item of;
  if (evaluate(x, scope, e->first, &of) != 0) {
    return -1;
  }
  if (of.kind == GEMEL__ITEM_LIST) {
    return gemel__expansion_fail(x, GEMEL_BAD_TEXT, "%s:%d: no such operator of a list",
                                 x->running->file, e->line);
  }
  if (of.kind == GEMEL__ITEM_VALUE) {
    return apply(x, e->kind == GEMEL__EXPR_NOT ? "logical_not" : "neg", 1, &of, 0, NULL, result);
  }
  if (e->kind == GEMEL__EXPR_NEGATIVE && of.kind == GEMEL__ITEM_REAL) {
    result->kind = GEMEL__ITEM_REAL;
    result->u.real = -of.u.real;
    return 0;
  }
  return e->kind == GEMEL__EXPR_NOT ? gemel__infix_known(x, GEMEL__TOKEN_EQ, &zero, &of, result)
                                    : gemel__infix_known(x, '-', &zero, &of, result);
}

/* ---- Calls ---- */

/* The arguments of a call, in their order. */
typedef struct call_arguments {
  size_t count;
  gemel__item *items;
  const char **labels; /* of each, the name that it is given for; or NULL */
} call_arguments;

static int read_arguments(gemel__expansion *x, composite_scope *scope,
                          const gemel__composite_expr *e, call_arguments *a) {
  size_t n = 0;
  for (const gemel__composite_expr *i = e->first; i != NULL; i = i->next) {
    n++;
  }
  a->count = n;
  a->items = gemel__arena_alloc(&x->arena, (n + 1) * sizeof *a->items);
  a->labels = gemel__arena_alloc(&x->arena, (n + 1) * sizeof *a->labels);
  if (a->items == NULL || a->labels == NULL) {
    return gemel__expansion_no_memory(x);
  }
  n = 0;
  for (const gemel__composite_expr *i = e->first; i != NULL; i = i->next, n++) {
    a->labels[n] = i->label;
    if (evaluate(x, scope, i, &a->items[n]) != 0) {
      return -1;
    }
  }
  return 0;
}

/* choose(condition, a, b): of which only one is looked at. */
static int choose(gemel__expansion *x, composite_scope *scope, const gemel__composite_expr *e,
                  gemel__item *result) {
  const gemel__composite_expr *yes = e->first != NULL ? e->first->next : NULL;
  int truth;
  if (yes == NULL || yes->next == NULL || yes->next->next != NULL) {
    return gemel__expansion_fail(x, GEMEL_BAD_TEXT, "%s:%d: choose(condition, this, that)",
                                 x->running->file, e->line);
  }
  return truth_of(x, scope, e->first, &truth) == 0
             ? evaluate(x, scope, truth ? yes : yes->next, result)
             : -1;
}

/* An operation: operands, lists of operands put in their place, and attributes by name. */
static int apply_operation(gemel__expansion *x, const gemel__op *op, const call_arguments *a,
                           gemel__item *result) {
  gemel__item operands;
  gemel_attr attrs[GEMEL__MAX_ATTRS];
  size_t n = 0, n_attrs = 0;
  for (size_t k = 0; k < a->count; k++) {
    n += a->items[k].kind == GEMEL__ITEM_LIST ? a->items[k].u.list.count : 1;
  }
  if (gemel__item_list(x, n, &operands) != 0) {
    return -1;
  }
  n = 0;
  for (size_t k = 0; k < a->count; k++) {
    const gemel__item *item = &a->items[k];
    if (a->labels[k] == NULL) {
      int many = item->kind == GEMEL__ITEM_LIST;
      for (size_t i = 0; i < (many ? item->u.list.count : 1); i++) {
        operands.u.list.items[n++] = many ? item->u.list.items[i] : *item;
      }
    } else if (item->kind != GEMEL__ITEM_NONE) {
      const gemel_attr_spec *spec = op->record.attrs;
      while (spec != NULL && spec->name != NULL && strcmp(spec->name, a->labels[k]) != 0) {
        spec++;
      }
      if (spec == NULL || spec->name == NULL || n_attrs == GEMEL__MAX_ATTRS) {
        return gemel__expansion_fail(x, GEMEL_BAD_TEXT, "%s has no attribute %s", op->record.name,
                                     a->labels[k]);
      }
      if (gemel__item_to_attr(x, item, spec, &attrs[n_attrs++]) != 0) {
        return -1;
      }
    }
  }
  if (op->id == GEMEL__OP_cast && n == 1 && n_attrs == 1) {
    const gemel__item *of = &operands.u.list.items[0];
    if (gemel__item_is_number(of)) {
      result->kind = GEMEL__ITEM_VALUE;
      return gemel__item_to_dtype(x, of, gemel__no_value, attrs[0].u.dtype, &result->u.value);
    }
    if (of->kind == GEMEL__ITEM_VALUE && gemel__value_dtype(of->u.value) == attrs[0].u.dtype) {
      *result = *of; /* it has that dtype */
      return 0;
    }
  }
  return apply(x, op->record.name, n, operands.u.list.items, n_attrs, attrs, result);
}

static int run_composite(gemel__expansion *x, const gemel__composite *c, const call_arguments *a,
                         gemel__item *result);

/* The composite that E calls: of those parsed with the one that runs, else of the context's. NULL
 * with *ERROR GEMEL_OK: there is none. */
static const gemel__composite *callee(const gemel__expansion *x, const gemel__composite_expr *e,
                                      gemel_error *error) {
  const gemel__composite *c = gemel__composite_called(x->running->set, e->name);
  error->status = GEMEL_OK;
  return c != NULL ? c : gemel__composite_find(x->context, e->name, error);
}

/* A function that only operators have, of values alone. 1: there is none. */
static int call_of_node(gemel__expansion *x, const gemel__composite_expr *e,
                        const call_arguments *a, gemel__item *result) {
  gemel_value *operands = gemel__arena_alloc(&x->arena, (a->count + 1) * sizeof *operands);
  if (operands == NULL) {
    return gemel__expansion_no_memory(x);
  }
  for (size_t k = 0; k < a->count; k++) {
    int missing_one = a->items[k].kind == GEMEL__ITEM_NONE;
    if (a->labels[k] != NULL || (!missing_one && a->items[k].kind != GEMEL__ITEM_VALUE)) {
      return 1;
    }
    operands[k] = missing_one ? gemel__no_value : a->items[k].u.value;
  }
  result->kind = GEMEL__ITEM_VALUE;
  return x->node->call(x->node, e->name, a->count, operands, &result->u.value);
}

static int call_item(gemel__expansion *x, composite_scope *scope, const gemel__composite_expr *e,
                     gemel__item *result) {
  call_arguments a;
  gemel_error error;
  if (strcmp(e->name, "choose") == 0) {
    return choose(x, scope, e, result);
  }
  if (read_arguments(x, scope, e, &a) != 0) {
    return -1;
  }
  int status = gemel__function_call(x, e->name, a.count, a.items, a.labels, result);
  status = status == 1 && x->node != NULL && x->node->call != NULL ? call_of_node(x, e, &a, result)
                                                                   : status;
  if (status <= 0) {
    return status;
  }
  const gemel__composite *c = callee(x, e, &error);
  if (c != NULL) {
    return run_composite(x, c, &a, result);
  }
  if (error.status != GEMEL_OK) {
    return gemel__expansion_no_memory(x);
  }
  uint32_t op = gemel__op_find(x->context, e->name);
  if (op == 0) {
    return gemel__expansion_fail(x, GEMEL_NOT_FOUND, "%s:%d: there is no operation called %s",
                                 x->running->file, e->line, e->name);
  }
  return apply_operation(x, gemel__op_at(x->context, op), &a, result);
}

static int evaluate(gemel__expansion *x, composite_scope *scope, const gemel__composite_expr *e,
                    gemel__item *result) {
  memset(result, 0, sizeof *result);
  if (x->steps-- <= 0) {
    return gemel__expansion_fail(x, GEMEL_BAD_VALUE, "it takes more than %d steps", MOST_STEPS);
  }
  switch (e->kind) {
  case GEMEL__EXPR_INTEGER:
    result->kind = GEMEL__ITEM_INTEGER;
    result->u.integer = e->integer;
    return 0;
  case GEMEL__EXPR_REAL:
    result->kind = GEMEL__ITEM_REAL;
    result->u.real = e->real;
    return 0;
  case GEMEL__EXPR_TEXT:
    result->kind = GEMEL__ITEM_TEXT;
    result->u.text = e->name;
    return 0;
  case GEMEL__EXPR_NAME:
    return name_item(x, scope, e, result);
  case GEMEL__EXPR_LIST:
    return list_item(x, scope, e, result);
  case GEMEL__EXPR_EACH:
    return each_item(x, scope, e, result);
  case GEMEL__EXPR_CALL:
    return call_item(x, scope, e, result);
  case GEMEL__EXPR_INDEX:
  case GEMEL__EXPR_SLICE:
    return index_item(x, scope, e, result);
  case GEMEL__EXPR_NEGATIVE:
  case GEMEL__EXPR_NOT:
    return prefix_item(x, scope, e, result);
  case GEMEL__EXPR_INFIX:
    return infix_item(x, scope, e, result);
  }
  return -1;
}

/* ---- Statements ---- */

/* Gives the items of RESULT, a list or the outputs of a node, to the names. */
static int assign_several(gemel__expansion *x, composite_scope *scope, const gemel__statement *s,
                          const gemel__item *result) {
  size_t k = 0;
  for (const gemel__name_list *t = s->targets; t != NULL; t = t->next, k++) {
    gemel__item one = {.kind = GEMEL__ITEM_VALUE};
    if (result->kind == GEMEL__ITEM_LIST && k < result->u.list.count) {
      one = result->u.list.items[k];
    } else if (result->kind == GEMEL__ITEM_VALUE) {
      one.u.value = gemel_value_output(result->u.value, (uint32_t)k);
    }
    if (one.kind == GEMEL__ITEM_VALUE && gemel_is_null(one.u.value)) {
      return gemel__expansion_fail(x, GEMEL_BAD_TEXT, "%s:%d: more names than results",
                                   x->running->file, s->line);
    }
    if (set_variable(x, scope, t->name, &one) != 0) {
      return -1;
    }
  }
  return 0;
}

static int assign(gemel__expansion *x, composite_scope *scope, const gemel__statement *s) {
  gemel__item result;
  if (evaluate(x, scope, s->expr, &result) != 0) {
    return -1;
  }
  return s->targets->next == NULL ? set_variable(x, scope, s->targets->name, &result)
                                  : assign_several(x, scope, s, &result);
}

/* What a return gives: one item, or a list of several. */
static int give(gemel__expansion *x, composite_scope *scope, const gemel__statement *s,
                gemel__item *result) {
  gemel__composite_expr several = {.kind = GEMEL__EXPR_LIST, .first = s->expr, .line = s->line};
  return evaluate(x, scope, s->expr->next == NULL ? s->expr : &several, result);
}

/* Writes ITEM to TEXT, which has room for BYTES. */
static void show(gemel__expansion *x, const gemel__item *item, char *text, size_t bytes) {
  switch (item->kind) {
  case GEMEL__ITEM_BOOL:
  case GEMEL__ITEM_INTEGER:
    snprintf(text, bytes, "%lld", (long long)item->u.integer);
    return;
  case GEMEL__ITEM_REAL:
    snprintf(text, bytes, "%g", item->u.real);
    return;
  case GEMEL__ITEM_SIZE:
    gemel_dim_format(x->context, item->u.size, text, bytes);
    return;
  case GEMEL__ITEM_DTYPE:
    snprintf(text, bytes, "%s", gemel_dtype_name(item->u.dtype));
    return;
  case GEMEL__ITEM_TEXT:
    snprintf(text, bytes, "%s", item->u.text);
    return;
  default:
    snprintf(text, bytes, "%s", gemel__item_name(item));
  }
}

/* The graph's error is MESSAGE, with what {name} is in its place. */
static int refuse(gemel__expansion *x, const composite_scope *scope, const char *message) {
  char text[300], name[64];
  size_t n = 0;
  while (*message != '\0' && n < sizeof text - 1) {
    size_t length = *message == '{' ? strcspn(message + 1, "}") : 0;
    const gemel__item *item = NULL;
    if (length > 0 && length < sizeof name && message[1 + length] == '}') {
      snprintf(name, sizeof name, "%.*s", (int)length, message + 1);
      item = find_variable(scope, name);
    }
    if (item != NULL) {
      show(x, item, text + n, sizeof text - n);
      n += strlen(text + n);
      message += length + 2;
    } else {
      text[n++] = *message++;
    }
    text[n] = '\0';
  }
  text[n] = '\0';
  return gemel__expansion_fail(x, GEMEL_BAD_VALUE, "%s", text);
}

/* 1: returned; 0: went through; -1: the graph's error. */
static int run_block(gemel__expansion *x, composite_scope *scope, const gemel__statement *s,
                     gemel__item *result) {
  for (int status, truth; s != NULL; s = s->next) {
    switch (s->kind) {
    case GEMEL__STATEMENT_ASSIGN:
      if (assign(x, scope, s) != 0) {
        return -1;
      }
      break;
    case GEMEL__STATEMENT_IF:
      if (truth_of(x, scope, s->expr, &truth) != 0) {
        return -1;
      }
      status = run_block(x, scope, truth ? s->body : s->otherwise, result);
      if (status != 0) {
        return status;
      }
      break;
    case GEMEL__STATEMENT_REQUIRE:
      if (truth_of(x, scope, s->expr, &truth) != 0) {
        return -1;
      }
      if (!truth) {
        return refuse(x, scope, s->message);
      }
      break;
    case GEMEL__STATEMENT_RETURN:
      return give(x, scope, s, result) == 0 ? 1 : -1;
    }
  }
  return 0;
}

/* ---- Parameters ---- */

/* What a parameter that isn't given is. */
static int missing(gemel__expansion *x, const gemel__param *p, gemel__item *item) {
  gemel_attr attr;
  memset(item, 0, sizeof *item);
  if (p->kind == GEMEL__PARAM_OPTIONAL ||
      (p->kind == GEMEL__PARAM_ATTRIBUTE && p->spec.fallback != NULL &&
       strcmp(p->spec.fallback, "none") == 0)) {
    return 0;
  }
  if (p->kind == GEMEL__PARAM_VARIADIC) {
    return gemel__item_list(x, 0, item);
  }
  if (p->kind == GEMEL__PARAM_OPERAND || p->spec.fallback == NULL) {
    return gemel__expansion_fail(x, GEMEL_BAD_ARGUMENT, "%s is missing", p->name);
  }
  attr.name = p->name;
  attr.kind = p->spec.kind;
  if (gemel__schema_fallback(&p->spec, &attr) != 0) {
    return gemel__expansion_fail(x, GEMEL_BAD_TEXT, "the default of %s is malformed", p->name);
  }
  if (attr.kind == GEMEL_ATTR_FLOAT && x->running->domain != NULL) {
    attr.u.f = (double)(float)attr.u.f; /* as ONNX has attributes */
  }
  return gemel__item_of_attr(x, &attr, item);
}

/* An attribute as its kind says: an integer for a float becomes one. */
static int converted(gemel__expansion *x, const gemel__param *p, gemel__item *item) {
  gemel_attr attr;
  if (p->kind != GEMEL__PARAM_ATTRIBUTE || item->kind == GEMEL__ITEM_NONE) {
    return 0;
  }
  gemel__item given = *item;
  return gemel__item_to_attr(x, &given, &p->spec, &attr) == 0 ? gemel__item_of_attr(x, &attr, item)
                                                              : -1;
}

/* The argument for parameter K of C: the unlabelled one in its place, or the one of its name. */
static int bind(gemel__expansion *x, const gemel__composite *c, size_t k, const call_arguments *a,
                gemel__item *item) {
  const gemel__param *p = &c->params[k];
  size_t unlabelled = 0;
  if (p->kind == GEMEL__PARAM_VARIADIC) {
    return k < a->count && a->items[k].kind == GEMEL__ITEM_LIST ? (*item = a->items[k], 0)
                                                                : missing(x, p, item);
  }
  for (size_t i = 0; i < a->count; i++) {
    int here = a->labels[i] != NULL ? strcmp(a->labels[i], p->name) == 0
                                    : unlabelled++ == k && p->kind != GEMEL__PARAM_ATTRIBUTE;
    if (here && (a->items[i].kind != GEMEL__ITEM_NONE || p->kind == GEMEL__PARAM_OPERAND)) {
      *item = a->items[i];
      return converted(x, p, item);
    }
  }
  return missing(x, p, item);
}

/* Every argument is for some parameter. */
static int check_arguments(gemel__expansion *x, const gemel__composite *c,
                           const call_arguments *a) {
  size_t unlabelled = 0;
  for (size_t i = 0; i < a->count; i++) {
    size_t k = 0;
    while (a->labels[i] != NULL && k < c->n_params &&
           strcmp(c->params[k].name, a->labels[i]) != 0) {
      k++;
    }
    unlabelled += a->labels[i] == NULL;
    if (k == c->n_params || unlabelled > c->n_operands) {
      return gemel__expansion_fail(x, GEMEL_BAD_ARGUMENT,
                                   a->labels[i] != NULL ? "it has no attribute %s"
                                                        : "more operands than it has%s",
                                   a->labels[i] != NULL ? a->labels[i] : "");
    }
  }
  return 0;
}

static int run_composite(gemel__expansion *x, const gemel__composite *c, const call_arguments *a,
                         gemel__item *result) {
  const gemel__composite *outer = x->running;
  composite_scope scope = {NULL};
  if (++x->depth > MOST_COMPOSITES_DEEP) {
    return gemel__expansion_fail(x, GEMEL_BAD_TEXT, "composites are nested deeper than %d",
                                 MOST_COMPOSITES_DEEP);
  }
  x->running = c;
  int status = check_arguments(x, c, a);
  for (size_t k = 0; k < c->n_params && status == 0; k++) {
    gemel__item item;
    status = bind(x, c, k, a, &item);
    status = status == 0 ? set_variable(x, &scope, c->params[k].name, &item) : status;
  }
  status = status == 0 ? run_block(x, &scope, c->body, result) : status;
  if (status == 0) {
    status = gemel__expansion_fail(x, GEMEL_BAD_TEXT, "%s ends without a return", c->name);
  }
  x->running = outer;
  x->depth--;
  return status == 1 ? 0 : -1;
}

/* ---- From a program ---- */

/* Operands and attributes as arguments, the attributes labelled. */
static int arguments_of(gemel__expansion *x, const gemel__composite *c, size_t n_inputs,
                        const gemel_value *inputs, size_t n_attrs, const gemel_attr *attrs,
                        call_arguments *a) {
  int variadic = c->n_operands > 0 && c->params[c->n_operands - 1].kind == GEMEL__PARAM_VARIADIC;
  size_t fixed = variadic ? c->n_operands - 1 : n_inputs, n = 0;
  a->items = gemel__arena_alloc(&x->arena, (n_inputs + n_attrs + 2) * sizeof *a->items);
  a->labels = gemel__arena_alloc(&x->arena, (n_inputs + n_attrs + 2) * sizeof *a->labels);
  if (a->items == NULL || a->labels == NULL) {
    return gemel__expansion_no_memory(x);
  }
  for (; n < fixed && n < n_inputs; n++) {
    a->labels[n] = NULL;
    a->items[n] = (gemel__item){.kind = GEMEL__ITEM_NONE};
    if (!gemel_is_null(inputs[n])) {
      a->items[n] = (gemel__item){.kind = GEMEL__ITEM_VALUE, .u.value = inputs[n]};
    }
  }
  if (variadic) {
    a->labels[n] = NULL;
    if (gemel__item_list(x, n_inputs - n, &a->items[n]) != 0) {
      return -1;
    }
    for (size_t k = n; k < n_inputs; k++) {
      a->items[n].u.list.items[k - n] =
          (gemel__item){.kind = GEMEL__ITEM_VALUE, .u.value = inputs[k]};
    }
    n++;
  }
  for (size_t k = 0; k < n_attrs; k++, n++) {
    a->labels[n] = attrs[k].name != NULL ? attrs[k].name : "(null)";
    if (gemel__item_of_attr(x, &attrs[k], &a->items[n]) != 0) {
      return -1;
    }
  }
  a->count = n;
  return 0;
}

/* The results as values. */
static int take_results(gemel__expansion *x, const gemel__item *result, size_t n,
                        gemel_value *outputs) {
  int many = result->kind == GEMEL__ITEM_LIST;
  if (result->kind == GEMEL__ITEM_NONE) {
    return gemel__expansion_fail(x, GEMEL_BAD_VALUE, "it returns none");
  }
  size_t given = many ? result->u.list.count : 1;
  for (size_t k = 0; k < n && k < given; k++) {
    const gemel__item *one = many ? &result->u.list.items[k] : result;
    if (one->kind != GEMEL__ITEM_NONE &&
        gemel__item_to_value(x, one, gemel__no_value, &outputs[k]) != 0) {
      return -1;
    }
  }
  return 0;
}

/* An operation's error says which composite has it: "in NAME: " behind the place. */
static void name_error(gemel__expansion *x) {
  gemel_error error = *gemel_graph_error(x->graph);
  size_t length = strlen(x->composite->name);
  gemel__error_unplace(&error, x->where);
  if (x->node != NULL || error.status == GEMEL_OK || error.status == GEMEL_NO_MEMORY ||
      strncmp(error.text, x->composite->name, length) == 0) {
    return;
  }
  gemel_graph_clear_error(x->graph);
  gemel__error_prefix(&error, "in %s", x->composite->name);
  gemel__error_place(&error, x->where);
  gemel__graph_take_error(x->graph, &error);
}

gemel_value gemel__composite_expand(gemel_graph *graph, const gemel__composite *composite,
                                    const gemel__operator_node *node, size_t n_inputs,
                                    const gemel_value *inputs, size_t n_attrs,
                                    const gemel_attr *attrs, size_t n_outputs, gemel_value *outputs,
                                    gemel_location where) {
  gemel__expansion x = {.graph = graph,
                        .context = gemel_graph_context(graph),
                        .where = where,
                        .steps = MOST_STEPS,
                        .composite = composite,
                        .node = node};
  call_arguments a;
  gemel__item result = {0};
  int status = arguments_of(&x, composite, n_inputs, inputs, n_attrs, attrs, &a);
  for (size_t k = 0; k < n_outputs; k++) {
    outputs[k] = gemel__no_value;
  }
  status = status == 0 ? run_composite(&x, composite, &a, &result) : status;
  status = status == 0 ? take_results(&x, &result, n_outputs, outputs) : status;
  if (status != 0) {
    name_error(&x);
  }
  for (size_t k = 0; status != 0 && k < n_outputs; k++) {
    outputs[k] = gemel__no_value;
  }
  gemel__arena_clear(&x.arena);
  return n_outputs > 0 ? outputs[0] : gemel__no_value;
}
