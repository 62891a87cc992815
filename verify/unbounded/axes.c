/* SPDX-License-Identifier: MIT
 *
 * Which rules treat all axes alike, whatever their number? Both sides are typed operation by
 * operation, the left one and the conditions in rounds, since a condition may say that two sorts
 * are the same; then axes that are linked must not come back to another axis of the same tensor.
 */
#include "unbounded/axes.h"

#include <stdio.h>
#include <string.h>
#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"

/* Keys beside the numbers of expressions. */
enum {
  TEXT_LAST = GEMEL__AXES_TEXTS,
  TEXT_FIRST,
  KEY_ARANGE = GEMEL__AXES_TEXTS + 2,
  KEY_LITERAL = KEY_ARANGE + GEMEL__RULE_NODES,
  KEY_UNKNOWN = KEY_LITERAL + GEMEL__RULE_NODES
};

/* ---- Operations ---- */

/* An operation of a side: the sorts of its operands, and of its result. */
typedef struct typed_node {
  gemel__axes *x;
  const gemel__op *op;
  const gemel__pattern *pattern;
  uint32_t node, count;
  uint16_t in[GEMEL__RULE_NODES];
  unsigned char literal[GEMEL__RULE_NODES];
  uint16_t out;
} typed_node;

/* The attribute NAME: 1 and *VALUE; 0 if the rule doesn't mention it. A variable that isn't bound
 * yet becomes BOUND. */
static int attribute(const typed_node *a, const char *name, const gemel__axes_value *bound,
                     gemel__axes_value *value) {
  gemel__axes *x = a->x;
  for (uint32_t k = 0; k < a->pattern->n_attrs; k++) {
    const gemel__termexpr *expr = &a->pattern->attrs[k];
    if (strcmp(a->op->record.attrs[k].name, name) == 0 && expr->count > 0) {
      int variable = gemel__termexpr_variable(expr);
      if (variable >= 0 && x->variables[variable].kind == GEMEL__AXES_UNBOUND && !x->right) {
        x->variables[variable] = *bound;
        x->kept += bound->kind == GEMEL__AXES_IS_NUMBER && bound->entry == GEMEL__AXES_AXIS;
      }
      gemel__axes_evaluate(x, expr, value);
      return !x->failed;
    }
  }
  return 0;
}

/* The variable that the attribute NAME is; 0 if it is none. */
static uint32_t variable_of(const typed_node *a, const char *name) {
  for (uint32_t k = 0; k < a->pattern->n_attrs; k++) {
    int variable = gemel__termexpr_variable(&a->pattern->attrs[k]);
    if (strcmp(a->op->record.attrs[k].name, name) == 0 && variable >= 0) {
      return (uint32_t)variable;
    }
  }
  return 0;
}

/* A list of sizes, starts or the like for the axes of SORT. */
static void sizes(const typed_node *a, const char *name, uint16_t sort) {
  const gemel__axes_value bound = {.kind = GEMEL__AXES_IS_LIST,
                                   .entry = GEMEL__AXES_SIZE,
                                   .over = sort,
                                   .natural = strcmp(name, "size") == 0};
  gemel__axes_value v;
  if (!attribute(a, name, &bound, &v)) {
    return;
  }
  if (v.kind != GEMEL__AXES_IS_LIST ||
      (v.entry != GEMEL__AXES_SIZE && v.entry != GEMEL__AXES_NUMBER)) {
    gemel__axes_fail(a->x, "%s of %s isn't a number for each axis", name, a->op->record.name);
  } else if (!gemel__axes_aligned(a->x, v.over, sort)) {
    gemel__axes_fail(a->x, "%s of %s is for other axes", name, a->op->record.name);
  }
}

/* A list of axes of SORT, each once, which has one for each entry of the list AS_MANY (NULL: any
 * number): 1 and *V; 0 if it is absent, or has no type. */
static int axes(const typed_node *a, const char *name, uint16_t sort, gemel__axes_value *v,
                const gemel__axes_value *as_many) {
  gemel__axes *x = a->x;
  uint32_t variable = variable_of(a, name);
  gemel__axes_value bound = {
      .kind = GEMEL__AXES_IS_LIST, .entry = GEMEL__AXES_AXIS, .of = sort, .natural = 1};
  if (!x->right && x->variables[variable].kind == GEMEL__AXES_UNBOUND) {
    bound.over =
        as_many != NULL ? as_many->over : gemel__axes_make(x, GEMEL__AXES_LIST, sort, 0, variable);
    x->proper[variable] = 1;
  }
  if (!attribute(a, name, &bound, v)) {
    return 0;
  }
  if (!x->right && v->kind == GEMEL__AXES_IS_LIST && v->entry == GEMEL__AXES_AXIS &&
      !gemel__axes_same(x, v->of, sort) && gemel__axes_same_length(x, v->of, sort)) {
    gemel__axes_unite(x, v->of, sort);
  }
  return gemel__axes_are(x, v, sort);
}

/* What an attribute that the rule doesn't mention is. */
static const char *fallback_of(const typed_node *a, const char *name) {
  for (size_t k = 0; k < a->op->n_attrs; k++) {
    if (strcmp(a->op->record.attrs[k].name, name) == 0 && a->op->record.attrs[k].fallback != NULL) {
      return a->op->record.attrs[k].fallback;
    }
  }
  return "";
}

/* One axis of SORT; the first or the last, which is then kept, where none is mentioned. */
static void axis(const typed_node *a, uint16_t sort, gemel__axes_value *v) {
  gemel__axes *x = a->x;
  int first = strcmp(fallback_of(a, "axis"), "0") == 0;
  int last = strcmp(fallback_of(a, "axis"), "-1") == 0;
  const gemel__axes_value bound = {
      .kind = GEMEL__AXES_IS_NUMBER, .entry = GEMEL__AXES_AXIS, .of = sort, .natural = 1};
  if (attribute(a, "axis", &bound, v)) {
    if (gemel__axes_are(x, v, sort) && v->kind != GEMEL__AXES_IS_NUMBER) {
      gemel__axes_fail(x, "axis of %s is a list", a->op->record.name);
    }
  } else if (!first && !last) {
    gemel__axes_fail(x, "axis of %s isn't mentioned", a->op->record.name);
  } else {
    *v = bound;
    v->text = last ? TEXT_LAST : TEXT_FIRST;
    x->kept += last;
    gemel__axes_keep_first(x, sort, first);
  }
}

/* Sorts of operands that must be the same: on the left that is known by the operation. */
static void alike(typed_node *a) {
  for (uint32_t k = 1; k < a->count; k++) {
    if (!a->x->right) {
      gemel__axes_unite(a->x, a->in[0], a->in[k]);
    } else if (!gemel__axes_same(a->x, a->in[0], a->in[k]) &&
               gemel__axes_count(a->x, a->in[k]) != 0) {
      gemel__axes_fail(a->x, "operands of %s have other axes", a->op->record.name);
    }
  }
  a->out = a->in[0];
}

/* Sorts of operands that are broadcast to each other. */
static void broadcast(typed_node *a) {
  gemel__axes *x = a->x;
  uint16_t all = 0;
  for (uint32_t k = 0; k < a->count && !x->failed; k++) {
    if (gemel__axes_count(x, all) != 0 && gemel__axes_count(x, a->in[k]) != 0) {
      if (!x->right) {
        gemel__axes_align(x, all, a->in[k]);
      } else if (!gemel__axes_aligned(x, all, a->in[k])) {
        gemel__axes_fail(x, "operands of %s that aren't known to be aligned", a->op->record.name);
      }
    }
    all = gemel__axes_make(x, GEMEL__AXES_BROADCAST, all, a->in[k], 0);
  }
  a->out = all;
}

/* Attributes of which only that matters: they are one number, dtype or text. */
static void plain_attributes(const typed_node *a, const char *const *others) {
  const gemel__axes_value bound = {.kind = GEMEL__AXES_IS_OTHER};
  for (uint32_t k = 0; k < a->pattern->n_attrs && !a->x->failed; k++) {
    const char *name = a->op->record.attrs[k].name;
    const char *const *other = others;
    gemel__axes_value v;
    while (*other != NULL && strcmp(*other, name) != 0) {
      other++;
    }
    if (*other == NULL && attribute(a, name, &bound, &v) && v.kind != GEMEL__AXES_IS_OTHER &&
        !(v.kind == GEMEL__AXES_IS_NUMBER &&
          (v.entry == GEMEL__AXES_NUMBER || v.entry == GEMEL__AXES_SIZE))) {
      gemel__axes_fail(a->x, "%s of %s depends on axes", name, a->op->record.name);
    }
  }
}

static void type_elementwise(typed_node *a) {
  static const char *const none[] = {NULL};
  plain_attributes(a, none);
  broadcast(a);
}

static void type_fill(typed_node *a) {
  broadcast(a);
  a->out = a->in[0];
}

static void type_dimshuffle(typed_node *a) {
  gemel__axes *x = a->x;
  uint32_t variable = variable_of(a, "order");
  gemel__axes_value v, bound = {.kind = GEMEL__AXES_IS_LIST, .entry = GEMEL__AXES_AXIS};
  bound.of = a->in[0];
  if (!x->right && x->variables[variable].kind == GEMEL__AXES_UNBOUND) {
    bound.over = gemel__axes_make(x, GEMEL__AXES_LIST, a->in[0], 0, variable);
  }
  if (!attribute(a, "order", &bound, &v)) {
    return;
  }
  if (v.kind != GEMEL__AXES_IS_LIST ||
      (v.entry == GEMEL__AXES_NUMBER && gemel__axes_count(x, v.over) >= 0)) {
    gemel__axes_fail(x, "an order that is written out");
    return;
  }
  if (!x->right && v.entry == GEMEL__AXES_AXIS && !gemel__axes_same(x, v.of, a->in[0]) &&
      gemel__axes_same_length(x, v.of, a->in[0])) {
    gemel__axes_unite(x, v.of, a->in[0]);
  }
  a->out = v.over;
  gemel__axes_are(x, &v, a->in[0]);
}

static void type_reverse(typed_node *a) {
  gemel__axes_value v;
  axes(a, "axes", a->in[0], &v, NULL);
  a->out = a->in[0];
}

/* A reduction along the axes V of SORT; V NULL: of all. Those along single axes, which are kept, do
 * not count. */
static void fold(gemel__axes *x, uint16_t sort, const gemel__axes_value *v) {
  uint32_t text = v != NULL ? v->text : 0;
  int single =
      v != NULL && (v->kind == GEMEL__AXES_IS_NUMBER || gemel__axes_count(x, v->over) >= 0);
  if (single) {
    x->singles++;
    return;
  }
  x->different |= x->folds > 0 && (text != x->folded || !gemel__axes_same(x, x->folded_of, sort));
  x->folded = text;
  x->folded_of = sort;
  x->folds++;
}

static void type_reduction(typed_node *a) {
  static const gemel__axes_value bound = {.kind = GEMEL__AXES_IS_OTHER};
  gemel__axes *x = a->x;
  gemel__axes_value v, keep = {.kind = GEMEL__AXES_IS_NUMBER};
  int some = axes(a, "axes", a->in[0], &v, NULL);
  if (x->failed) {
    return;
  }
  attribute(a, "keepdims", &bound, &keep);
  if (keep.kind != GEMEL__AXES_IS_NUMBER || keep.entry != GEMEL__AXES_NUMBER) {
    gemel__axes_fail(x, "keepdims that isn't written out");
    return;
  }
  fold(x, a->in[0], some ? &v : NULL);
  a->out = keep.number ? a->in[0]
           : some      ? gemel__axes_make(x, GEMEL__AXES_WITHOUT, a->in[0], 0, v.text)
                       : 0;
}

static void type_argmax(typed_node *a) {
  gemel__axes_value v;
  axis(a, a->in[0], &v);
  a->out = gemel__axes_make(a->x, GEMEL__AXES_WITHOUT, a->in[0], 0, v.text);
}

static void type_along(typed_node *a) {
  static const char *const others[] = {"axis", NULL};
  gemel__axes_value v;
  axis(a, a->in[0], &v);
  plain_attributes(a, others);
  a->out = a->in[0];
}

static void type_window(typed_node *a) {
  static const char *const names[] = {"start", "size", "step", NULL};
  alike(a);
  for (int k = 0; names[k] != NULL && !a->x->failed; k++) {
    sizes(a, names[k], a->in[0]);
  }
}

static void type_pad(typed_node *a) {
  static const char *const names[] = {"low", "high", "interior", NULL};
  if (!a->x->right) {
    gemel__axes_set_count(a->x, a->in[1], 0);
  } else if (gemel__axes_count(a->x, a->in[1]) != 0) {
    gemel__axes_fail(a->x, "a pad by no scalar");
  }
  for (int k = 0; names[k] != NULL && !a->x->failed; k++) {
    sizes(a, names[k], a->in[0]);
  }
  a->out = a->in[0];
}

static void type_join(typed_node *a) {
  gemel__axes_value v;
  alike(a);
  if (!a->x->failed) {
    axis(a, a->in[0], &v);
  }
}

static void type_broadcast_to(typed_node *a) {
  gemel__axes *x = a->x;
  uint32_t variable = variable_of(a, "shape");
  gemel__axes_value v, bound = {.kind = GEMEL__AXES_IS_LIST, .entry = GEMEL__AXES_SIZE};
  bound.natural = 1;
  if (!x->right && x->variables[variable].kind == GEMEL__AXES_UNBOUND) {
    bound.over = gemel__axes_make(x, GEMEL__AXES_LIST, 0, 0, variable);
  }
  if (!attribute(a, "shape", &bound, &v)) {
    return;
  }
  if (v.kind != GEMEL__AXES_IS_LIST || v.entry != GEMEL__AXES_SIZE) {
    gemel__axes_fail(x, "a shape that isn't a size for each axis");
  } else if (!x->right && gemel__axes_count(x, a->in[0]) != 0) {
    gemel__axes_align(x, v.over, a->in[0]);
  } else if (gemel__axes_count(x, a->in[0]) != 0 && !gemel__axes_aligned(x, v.over, a->in[0])) {
    gemel__axes_fail(x, "broadcast_to a shape that isn't known to be aligned");
  }
  a->out = v.over;
}

static void type_arange(typed_node *a) {
  static const char *const none[] = {NULL};
  plain_attributes(a, none);
  a->out = gemel__axes_make(a->x, GEMEL__AXES_NUMBERS, 0, 0, KEY_ARANGE + a->node);
  gemel__axes_set_count(a->x, a->out, 1);
  gemel__axes_keep_first(a->x, a->out, 1);
}

static void type_size(typed_node *a) {
  static const char *const others[] = {"value", NULL};
  const gemel__axes_value bound = {.kind = GEMEL__AXES_IS_OTHER};
  gemel__axes_value v;
  plain_attributes(a, others);
  if (attribute(a, "value", &bound, &v)) {
    int is_size = v.kind == GEMEL__AXES_IS_OTHER ||
                  (v.kind == GEMEL__AXES_IS_NUMBER &&
                   (v.entry <= GEMEL__AXES_SIZE || v.entry == GEMEL__AXES_SIZES));
    a->x->counts_elements |= v.kind == GEMEL__AXES_IS_NUMBER && v.entry == GEMEL__AXES_SIZES;
    if (!is_size) {
      gemel__axes_fail(a->x, "value of size depends on axes");
    }
  }
  a->out = 0;
}

/* The lists of axes that a product sums over (K 0) or goes along (1): the number of the text of
 * both; 0: it has none. Those of y are as many as those of x. */
static uint32_t product_axes(typed_node *a, int k) {
  static const char *const names[2][2] = {{"contract_x", "contract_y"}, {"batch_x", "batch_y"}};
  gemel__axes_value x, y;
  gemel__axes_text both;
  memset(&both, 0, sizeof both); /* compared as bytes */
  int some = axes(a, names[k][0], a->in[0], &x, NULL);
  int others = !a->x->failed && axes(a, names[k][1], a->in[1], &y, some ? &x : NULL);
  if (!some && !others) {
    return 0;
  }
  if (!some || !others || x.kind != GEMEL__AXES_IS_LIST || y.kind != GEMEL__AXES_IS_LIST ||
      !gemel__axes_same(a->x, x.over, y.over)) {
    gemel__axes_fail(a->x, "axes of a product that aren't known to be as many");
    return 0;
  }
  both.kind = GEMEL__TERMCODE_LIST;
  both.count = 2;
  both.operands[0] = x.text;
  both.operands[1] = y.text;
  return gemel__axes_text_number(a->x, &both);
}

static void type_dot(typed_node *a) {
  gemel__axes *x = a->x;
  gemel__axes_text all;
  memset(&all, 0, sizeof all);
  all.kind = GEMEL__TERMCODE_LIST;
  all.count = 2;
  all.operands[0] = product_axes(a, 0);
  all.operands[1] = x->failed ? 0 : product_axes(a, 1);
  if (!x->failed && all.operands[0] == 0) {
    gemel__axes_fail(x, "a product whose axes aren't mentioned");
  }
  if (!x->failed) {
    uint32_t key = gemel__axes_text_number(x, &all);
    a->out = gemel__axes_make(x, GEMEL__AXES_PRODUCT, a->in[0], a->in[1], key);
    x->different |=
        x->folds > 0 && (x->folded != key || !gemel__axes_same(x, x->folded_of, a->out));
    x->folded = key;
    x->folded_of = a->out;
    x->folds++;
  }
}

typedef struct operation {
  const char *name;
  void (*type)(typed_node *a);
} operation;

static const operation operations[] = {
    {"arange", type_arange},
    {"argmax", type_argmax},
    {"argsort", type_along},
    {"broadcast_to", type_broadcast_to},
    {"cumsum", type_along},
    {"dimshuffle", type_dimshuffle},
    {"dot", type_dot},
    {"fill", type_fill},
    {"inc_subtensor", type_window},
    {"join", type_join},
    {"max", type_reduction},
    {"pad", type_pad},
    {"prod", type_reduction},
    {"reverse", type_reverse},
    {"set_subtensor", type_window},
    {"size", type_size},
    {"softmax", type_along},
    {"subtensor", type_window},
    {"sum", type_reduction},
};

static void type_operation(typed_node *a) {
  for (size_t k = 0; k < sizeof operations / sizeof *operations; k++) {
    if (strcmp(operations[k].name, a->op->record.name) == 0) {
      operations[k].type(a);
      return;
    }
  }
  if (a->op->record.flags & GEMEL_OP_ELEMENTWISE) {
    type_elementwise(a);
  } else {
    gemel__axes_fail(a->x, "%s", a->op->record.name);
  }
}

/* ---- Sides ---- */

static uint16_t operand_sort(gemel__axes *x, const gemel__rule_side *side, uint32_t node,
                             const uint16_t *made) {
  const gemel__pattern *p = &side->nodes[node];
  if (p->kind == GEMEL__PATTERN_APPLY) {
    return made[node];
  }
  if (p->kind == GEMEL__PATTERN_LITERAL) {
    return x->right ? 0 : gemel__axes_make(x, GEMEL__AXES_NUMBERS, 0, 0, KEY_LITERAL + node);
  }
  return x->variables[p->variable].of;
}

/* One that has no type doesn't keep others from saying what they know; the first is told. */
static void type_operation_of_side(typed_node *a) {
  gemel__axes *x = a->x;
  int failed = x->failed;
  char why[sizeof x->why];
  memcpy(why, x->why, sizeof why);
  x->failed = 0;
  type_operation(a);
  if (a->pattern->any_output) {
    gemel__axes_fail(x, "one of several outputs");
  }
  if (failed && !x->clashes) {
    x->failed = 1;
    memcpy(x->why, why, sizeof why);
  }
  x->failed |= failed;
}

static uint16_t side_sort(gemel__axes *x, const gemel__rule_side *side) {
  uint16_t made[GEMEL__RULE_NODES] = {0};
  for (uint32_t k = 0; k < side->count; k++) {
    const gemel__pattern *p = &side->nodes[k];
    if (p->kind != GEMEL__PATTERN_APPLY) {
      made[k] = operand_sort(x, side, k, made);
      continue;
    }
    typed_node a = {.x = x, .pattern = p, .node = k, .count = p->n_operands};
    a.op = gemel__op_at(x->rule->context, p->op);
    a.out = gemel__axes_make(x, GEMEL__AXES_NUMBERS, 0, 0, KEY_UNKNOWN + k);
    for (uint32_t i = 0; i < p->n_operands; i++) {
      a.in[i] = operand_sort(x, side, p->operands[i], made);
    }
    type_operation_of_side(&a);
    made[k] = a.out;
    if (p->named > 0) {
      x->variables[p->named - 1] =
          (gemel__axes_value){.kind = GEMEL__AXES_IS_TENSOR, .of = made[k]};
    }
  }
  memcpy(x->sides[x->right], made, sizeof made);
  return made[side->count - 1];
}

static void bind_tensors(gemel__axes *x) {
  memset(x->variables, 0, sizeof x->variables);
  for (uint32_t k = 0; k < x->rule->left.count; k++) {
    const gemel__pattern *p = &x->rule->left.nodes[k];
    if (p->kind == GEMEL__PATTERN_VARIABLE || p->kind == GEMEL__PATTERN_VARIADIC) {
      x->variables[p->variable] =
          (gemel__axes_value){.kind = GEMEL__AXES_IS_TENSOR,
                              .of = gemel__axes_make(x, GEMEL__AXES_TENSOR, 0, 0, p->variable)};
    }
  }
}

/* Conditions, of which all are looked at: what one says may be what another needs. */
static void conditions(gemel__axes *x) {
  int failed = x->failed;
  char why[sizeof x->why];
  memcpy(why, x->why, sizeof why);
  x->condition = 1;
  x->left_typed = !failed;
  for (uint32_t k = 0; k < x->rule->n_conditions; k++) {
    gemel__axes_value v;
    x->failed = 0;
    gemel__axes_evaluate(x, &x->rule->conditions[k], &v);
    if (x->failed && !failed) {
      failed = 1;
      memcpy(why, x->why, sizeof why);
    }
    if (v.kind == GEMEL__AXES_IS_NUMBER && v.entry >= GEMEL__AXES_AXIS && !failed) {
      failed = 1;
      snprintf(why, sizeof why, "a condition that is a number of axes");
    }
    x->kept += v.kind == GEMEL__AXES_IS_TRUTH ? v.holds : 0;
  }
  x->condition = 0;
  x->failed = failed;
  memcpy(x->why, why, sizeof why);
}

/* The left side and the conditions once: the sort of its result. */
static uint16_t one_round(gemel__axes *x) {
  x->failed = x->changed = x->kept = x->clashes = 0;
  x->folds = x->singles = x->different = x->counts_elements = 0;
  x->right = 0;
  for (uint32_t k = 0; k < x->n_sorts; k++) {
    x->sorts[k].first = x->sorts[k].used = 0;
  }
  for (uint32_t k = 0; k < GEMEL__RULE_VARIABLES; k++) {
    x->shapes[k] = (unsigned char)k;
  }
  bind_tensors(x);
  uint16_t left = side_sort(x, &x->rule->left);
  conditions(x);
  return left;
}

/* ---- Ranks that are given ---- */

/* The number of entries of the list that is attribute K of P, where its variable is a list of new
 * axes or sizes; 0 where it has no more than a tensor has axes; -1 if that isn't known. */
static int list_count(gemel__axes *x, const gemel__pattern *p, uint32_t k) {
  const char *name = gemel__op_at(x->rule->context, p->op)->record.attrs[k].name;
  int variable = gemel__termexpr_variable(&p->attrs[k]);
  if (variable < 0 || (strcmp(name, "order") != 0 && strcmp(name, "shape") != 0)) {
    return 0;
  }
  const gemel__axes_value *v = &x->variables[variable];
  return v->kind == GEMEL__AXES_IS_LIST ? gemel__axes_count(x, v->over) : -1;
}

static int literal_count(gemel__axes *x, uint32_t node) {
  return gemel__axes_count(x, gemel__axes_make(x, GEMEL__AXES_NUMBERS, 0, 0, KEY_LITERAL + node));
}

/* The largest rank that the left side can have, where conditions say all; else -1. */
static int given_rank(gemel__axes *x) {
  const gemel__rule_side *left = &x->rule->left;
  int most = 0;
  for (uint32_t k = 0; k < left->count; k++) {
    const gemel__pattern *p = &left->nodes[k];
    int count = p->kind == GEMEL__PATTERN_LITERAL ? literal_count(x, k) : 0;
    if (p->kind == GEMEL__PATTERN_VARIABLE || p->kind == GEMEL__PATTERN_VARIADIC) {
      count = gemel__axes_count(x, x->variables[p->variable].of);
    }
    for (uint32_t i = 0; p->kind == GEMEL__PATTERN_APPLY && i < p->n_attrs && count >= 0; i++) {
      int entries = list_count(x, p, i);
      count = entries < 0 ? -1 : entries > count ? entries : count;
    }
    if (count < 0) {
      return -1;
    }
    most = count > most ? count : most;
  }
  return most;
}

/* ---- Rules ---- */

/* The node of the tree at NODE that is number *LEFT in post-order, which is that of its code; 0: it
 * has fewer, and *LEFT is what is left. */
static uint32_t nth(const gemel__syntax *syntax, uint32_t node, uint32_t *left) {
  for (uint32_t k = syntax->nodes[node].child; k != 0; k = syntax->nodes[k].next) {
    uint32_t found = nth(syntax, k, left);
    if (found != 0) {
      return found;
    }
  }
  return (*left)-- == 0 ? node : 0;
}

static void place(gemel__axes *x, gemel__axes_report *report) {
  uint32_t left = x->clash_code, node = x->clash->root;
  const gemel__syntax *syntax = &x->rule->syntax;
  uint32_t found = node < syntax->count ? nth(syntax, node, &left) : 0;
  if (found != 0) {
    const gemel__lex *at = &syntax->nodes[found].at;
    report->line = at->token_line;
    report->column = (int)(at->token - at->token_line_start) + 1;
  }
}

static void set_bounds(gemel__axes *x, gemel__axes_report *report) {
  int any, elements = gemel__axes_of_elements(x, &any), all = gemel__axes_kept(x);
  int sums = gemel__axes_of_sums(x);
  elements = x->counts_elements ? -1 : elements;
  int least = sums >= 0 && (elements < 0 || sums < elements) ? sums : elements;
  report->typed = least >= 0 && all + least < GEMEL__AXES_ALL;
  if (report->typed) {
    int of_values = any ? sums : least;
    report->bound = all + (least > 1 ? least : 1);
    report->bound_of_values = of_values < 0 ? 0 : all + (of_values > 1 ? of_values : 1);
  } else {
    gemel__axes_fail(x, x->counts_elements ? "a number of elements that is an element"
                                           : "reductions along different axes");
  }
}

static void type_right(gemel__axes *x, uint16_t left, gemel__axes_report *report) {
  x->right = 1;
  uint16_t right = side_sort(x, &x->rule->right);
  if (x->failed) {
    return;
  }
  if (gemel__axes_count(x, right) != 0 && !gemel__axes_aligned(x, left, right)) {
    gemel__axes_fail(x, "the result has axes that aren't known to be those of the left side");
  } else if (!gemel__axes_are_trees(x)) {
    gemel__axes_fail(x, "axes of a tensor may be linked to each other");
  } else {
    set_bounds(x, report);
  }
}

static void check(gemel__axes *x, gemel__axes_report *report) {
  uint16_t left = 0;
  gemel__axes_make(x, GEMEL__AXES_NONE, 0, 0, 0);
  x->n_texts = 1;
  bind_tensors(x);
  conditions(x); /* which operands are scalars, before they are aligned with others */
  for (int round = 0; round < 8 && (round == 0 || x->changed); round++) {
    left = one_round(x);
  }
  if (x->changed) {
    gemel__axes_fail(x, "too many conditions about axes");
  }
  int rank = given_rank(x);
  if (!x->failed) {
    type_right(x, left, report);
  }
  if (x->clashes) {
    place(x, report);
  }
  report->clashes = x->clashes;
  snprintf(report->why, sizeof report->why, "%s", report->typed ? "" : x->why);
  if (rank >= 0 && !(report->typed && report->bound_of_values > 0 &&
                     report->bound_of_values <= rank && report->bound <= rank)) {
    report->typed = 1;
    report->bound = report->bound_of_values = rank > 1 ? rank : 1;
  }
}

gemel_status gemel__axes_check(const struct gemel_rule *rule, gemel__axes_report *report,
                               gemel_error *error) {
  gemel__axes *x = gemel__alloc_zeroed(sizeof *x);
  memset(report, 0, sizeof *report);
  if (x == NULL) {
    return gemel__no_memory(error, "types of axes");
  }
  x->rule = rule;
  check(x, report);
  gemel__free(x, sizeof *x);
  return GEMEL_OK;
}
