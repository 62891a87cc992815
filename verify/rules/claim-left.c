/* SPDX-License-Identifier: MIT
 *
 * Builds left sides, see left.h. The pattern's operations are built from the inside out. What is
 * open at one, the types of variables that are met there first and attributes that the rule binds,
 * is drawn until the operation's type rule accepts it; attributes are then in their normal form, as
 * they are where rules are applied. Where drawing doesn't find anything, a sampler's proposal is
 * taken (instances/propose.h). Whether conditions hold is the matcher's matter.
 */
#include "rules/claim-left.h"

#include <stdio.h>
#include <string.h>
#include "core/apply.h"
#include "core/attrs.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/graph.h"
#include "core/tensor.h"
#include "rules/functions.h"
#include "rules/left.h"
#include "instances/propose.h"

enum {
  TRIES = 40,
  MOST_OPERANDS = GEMEL__PROPOSAL_INPUTS,
  OUTPUTS = GEMEL__PROPOSAL_OUTPUTS,
  MOST_COUNT = 40
};

struct builder {
  const struct gemel_rule *rule;
  gemel_graph *graph;
  gemel__claim_draw draw;
  gemel__scene scene;
  gemel__term terms[GEMEL__RULE_VARIABLES];
  uint32_t bound;                     /* a bit a variable */
  uint32_t asked, constants, scalars; /* conditions ask for its value or for facts; for a constant;
                                       * for a scalar */
  gemel__ref values[GEMEL__RULE_NODES];
  uint64_t number; /* of the first variable's type */
  int any;         /* 1: some variable has been met */
  gemel_error *error;
};

/* What is tried at an operation: its operands one after the other, and its attributes. */
struct attempt {
  const gemel__pattern *p;
  const gemel__op *op;
  size_t n;
  gemel_type types[MOST_OPERANDS];
  gemel__ref refs[MOST_OPERANDS];
  unsigned char known[MOST_OPERANDS];
  uint32_t from[MOST_OPERANDS];      /* the operand of the pattern that each belongs to */
  uint32_t count[GEMEL__RULE_NODES]; /* of an operand of the pattern */
  gemel_attr attrs[GEMEL__PROPOSAL_ATTRS];
  unsigned char known_attr[GEMEL__PROPOSAL_ATTRS];
  uint32_t attrs_id;
  size_t n_outputs;
};

static const gemel_location nowhere = {NULL, 0};

static int is_bound(const struct builder *b, uint32_t variable) {
  return b->bound >> variable & 1;
}

static gemel__ref ref_of(gemel_value value) {
  gemel__ref ref = {value.node, value.output};
  return ref;
}

static int all_bound(const struct builder *b, const gemel__termexpr *expr) {
  for (uint32_t k = 0; k < expr->count; k++) {
    if (expr->code[k].kind == GEMEL__TERMCODE_VARIABLE && !is_bound(b, expr->code[k].index)) {
      return 0;
    }
  }
  return 1;
}

static void bind(struct builder *b, uint32_t variable, gemel__ref ref) {
  b->terms[variable] = (gemel__term){.kind = GEMEL__TERM_TENSOR, .u.tensor = ref};
  b->bound |= 1u << variable;
}

/* ---- Operands ---- */

/* How many tensors `..xs` stands for. */
static uint32_t draw_count(struct builder *b) {
  int64_t most = b->draw.range->longest + 2;
  int64_t named = gemel__claim_number(&b->draw);
  return named > 0 && named < MOST_COUNT && gemel__random_chance(b->draw.random, 1, 4)
             ? (uint32_t)named
             : (uint32_t)gemel__random_between(b->draw.random, 0, most < 16 ? most : 16);
}

static gemel_status add_operand(struct attempt *a, uint32_t from, const gemel__ref *ref,
                                gemel_type type) {
  if (a->n == MOST_OPERANDS) {
    return GEMEL_DECLINED;
  }
  a->known[a->n] = ref != NULL;
  a->refs[a->n] = ref != NULL ? *ref : (gemel__ref){0, 0};
  a->types[a->n] = type;
  a->from[a->n++] = from;
  return GEMEL_OK;
}

static gemel_status add_known(struct builder *b, struct attempt *a, uint32_t k, size_t n,
                              const gemel__ref *refs) {
  a->count[k] = (uint32_t)n;
  for (size_t j = 0; j < n; j++) {
    GEMEL__TRY(
        add_operand(a, k, &refs[j], gemel__node_type(b->graph, refs[j].node, refs[j].output)));
  }
  return GEMEL_OK;
}

/* Adds operand K of the pattern. */
static gemel_status add_pattern(struct builder *b, struct attempt *a, uint32_t k) {
  const gemel__pattern *operand = &b->rule->left.nodes[a->p->operands[k]];
  if (operand->kind == GEMEL__PATTERN_APPLY) {
    return add_known(b, a, k, 1, &b->values[a->p->operands[k]]);
  }
  if (operand->kind != GEMEL__PATTERN_LITERAL && is_bound(b, operand->variable)) {
    const gemel__term *term = &b->terms[operand->variable];
    return operand->kind == GEMEL__PATTERN_VARIABLE
               ? add_known(b, a, k, 1, &term->u.tensor)
               : add_known(b, a, k, term->count, term->u.tensors);
  }
  a->count[k] = operand->kind == GEMEL__PATTERN_VARIADIC ? draw_count(b) : 1;
  for (uint32_t j = 0; j < a->count[k]; j++) {
    GEMEL__TRY(add_operand(a, k, NULL, GEMEL_TYPE_NONE));
  }
  return GEMEL_OK;
}

static void know_type(struct builder *b, gemel_type type) {
  if (b->draw.n_known < GEMEL__CLAIM_KNOWN) {
    b->draw.known[b->draw.n_known++] = type;
  }
}

/* Draws the types of operands that aren't known. */
static gemel_status draw_types(struct builder *b, struct attempt *a) {
  b->draw.n_known = 0;
  for (size_t k = 0; k < a->n; k++) {
    if (a->known[k]) {
      know_type(b, a->types[k]);
    }
  }
  for (size_t k = 0; k < a->n; k++) {
    const gemel__pattern *operand = &b->rule->left.nodes[a->p->operands[a->from[k]]];
    if (!a->known[k]) {
      int literal = operand->kind == GEMEL__PATTERN_LITERAL;
      int first =
          !b->any && b->draw.n_known == 0 && !literal &&
          (b->draw.range->axes <= GEMEL__CLAIM_AXES || gemel__random_chance(b->draw.random, 1, 2));
      a->types[k] = first ? gemel__claim_tensor(b->draw.context, b->draw.range, b->number)
                          : gemel__claim_type(&b->draw);
      int scalar = literal || (operand->kind == GEMEL__PATTERN_VARIABLE &&
                               (b->scalars >> operand->variable & 1));
      if (scalar && !gemel_type_is_none(a->types[k]) &&
          gemel__random_chance(b->draw.random, 3, 4)) {
        a->types[k] = gemel_type_of_shape(b->draw.context,
                                          gemel_type_dtype(b->draw.context, a->types[k]), 0, NULL);
      }
      if (gemel_type_is_none(a->types[k])) {
        return GEMEL_NO_MEMORY;
      }
      know_type(b, a->types[k]);
    }
  }
  return GEMEL_OK;
}

/* ---- Attributes ---- */

/* 1 if N codes at CODE leave one term on the stack, and take none that was there. */
static int is_operand(const gemel__termcode *code, uint32_t n) {
  uint32_t depth = 0;
  for (uint32_t k = 0; k < n; k++) {
    uint32_t taken =
        code[k].kind == GEMEL__TERMCODE_FUNCTION || code[k].kind == GEMEL__TERMCODE_LIST
            ? code[k].count
            : 0;
    if (taken > depth) {
      return 0;
    }
    depth += 1 - taken;
  }
  return depth == 1;
}

/* 1 and what VARIABLE must equal, if a condition says so. */
static int find_equal(const struct builder *b, uint32_t variable, gemel__termexpr *other) {
  for (uint32_t k = 0; k < b->rule->n_conditions; k++) {
    const gemel__termexpr *e = &b->rule->conditions[k];
    const gemel__termcode *code = e->code;
    uint32_t n = e->count;
    if (n < 3 || code[n - 1].kind != GEMEL__TERMCODE_FUNCTION ||
        code[n - 1].index != GEMEL__OPERATOR_eq) {
      continue;
    }
    for (uint32_t at = 0; at < 2; at++) { /* it stands first, or last */
      const gemel__termcode *v = at == 0 ? &code[0] : &code[n - 2];
      *other = *e;
      other->code = at == 0 ? code + 1 : code;
      other->count = n - 2;
      if (v->kind == GEMEL__TERMCODE_VARIABLE && v->index == variable &&
          is_operand(other->code, other->count) && all_bound(b, other)) {
        return 1;
      }
    }
  }
  return 0;
}

/* 1 and *TERM, what attribute EXPR of the rule is: it is computed or, three times in four, a
 * condition asks for it. */
static int attr_term(struct builder *b, const gemel__termexpr *expr, gemel__term *term) {
  gemel__termexpr other;
  int variable = gemel__termexpr_variable(expr);
  if (all_bound(b, expr)) {
    return gemel__term_evaluate(expr, &b->scene, term) == GEMEL_OK;
  }
  return variable >= 0 && find_equal(b, (uint32_t)variable, &other) &&
         gemel__random_chance(b->draw.random, 3, 4) &&
         gemel__term_evaluate(&other, &b->scene, term) == GEMEL_OK;
}

/* Attributes that the rule computes, or leaves out. */
static gemel_status know_attrs(struct builder *b, struct attempt *a) {
  memset(a->known_attr, 0, sizeof a->known_attr);
  for (uint32_t k = 0; k < a->p->n_attrs; k++) {
    const gemel__termexpr *expr = &a->p->attrs[k];
    gemel__term term = {.kind = GEMEL__TERM_ABSENT};
    a->attrs[k].kind = GEMEL_ATTR_NONE;
    a->known_attr[k] = (unsigned char)(expr->count == 0 || attr_term(b, expr, &term));
    if (!a->known_attr[k] && all_bound(b, expr)) {
      return GEMEL_DECLINED; /* it has no value */
    }
    if (term.kind != GEMEL__TERM_ABSENT) {
      GEMEL__TRY(gemel__term_to_attr(&b->scene, &term, &a->op->record.attrs[k], &a->attrs[k]));
    }
  }
  return GEMEL_OK;
}

static void draw_attrs(struct builder *b, struct attempt *a) {
  for (uint32_t k = 0; k < a->p->n_attrs; k++) {
    uint32_t same = gemel__rule_same_attr(a->p, k);
    if (!a->known_attr[k] && same < k) {
      a->attrs[k] = a->attrs[same];
      a->attrs[k].name = a->op->record.attrs[k].name;
    } else if (!a->known_attr[k] &&
               !gemel__claim_attr(&b->draw, &a->op->record.attrs[k], &a->attrs[k])) {
      a->attrs[k].kind = GEMEL_ATTR_NONE;
    }
  }
}

/* 1 if the operation takes operands and attributes as they are. */
static int is_accepted(struct builder *b, struct attempt *a) {
  gemel_attr given[GEMEL__PROPOSAL_ATTRS];
  gemel_type outputs[OUTPUTS];
  size_t n = 0;
  for (uint32_t k = 0; k < a->p->n_attrs; k++) {
    if (a->attrs[k].kind != GEMEL_ATTR_NONE) {
      given[n++] = a->attrs[k];
    }
  }
  return gemel__attrs_intern(b->draw.context, a->op, n, given, &a->attrs_id, NULL) == GEMEL_OK &&
         gemel__infer(b->draw.context, a->op, a->attrs_id, a->n, a->types, NULL, OUTPUTS,
                      &a->n_outputs, outputs, NULL) == GEMEL_OK &&
         a->n_outputs > 0 && a->n_outputs <= OUTPUTS;
}

/* What a sampler makes of the operation. */
static gemel_status propose(struct builder *b, struct attempt *a) {
  gemel__proposal p;
  memset(&p, 0, sizeof p);
  p.context = b->draw.context;
  p.random = b->draw.random;
  p.op = a->op;
  p.max_rank = b->draw.range->axes;
  p.max_elements = 48;
  p.dtype = b->draw.n_known > 0 ? gemel_type_dtype(b->draw.context, b->draw.known[0]) : GEMEL_F32;
  p.n_inputs = a->n;
  memcpy(p.known_input, a->known, a->n);
  memcpy(p.inputs, a->types, a->n * sizeof *p.inputs);
  memcpy(p.known_attr, a->known_attr, sizeof a->known_attr);
  memcpy(p.attrs, a->attrs, sizeof a->attrs);
  GEMEL__TRY(gemel__propose(&p, NULL));
  memcpy(a->types, p.inputs, a->n * sizeof *p.inputs);
  a->attrs_id = p.attrs_id;
  a->n_outputs = p.n_outputs;
  return GEMEL_OK;
}

/* ---- Leaves ---- */

/* A constant of TYPE; all its elements are NUMBER unless that is NULL. */
static gemel_value constant(struct builder *b, gemel_type type, const gemel__number *number) {
  static const int64_t numbers[] = {0, 1, -1, 2, 3, 2, 1, 0};
  gemel_context *context = b->draw.context;
  gemel_value made = {NULL, 0, 0};
  gemel_dtype dtype = gemel_type_dtype(context, type);
  const gemel_dim *dims = gemel_type_dims(context, type);
  int64_t shape[GEMEL_MAX_RANK] = {0};
  int rank = gemel_type_rank(context, type);
  int splat = number != NULL || gemel__random_chance(b->draw.random, 2, 3);
  gemel_status status = GEMEL_OK;
  for (int k = 0; k < rank; k++) {
    gemel_dim_is_constant(context, dims[k], &shape[k]);
  }
  gemel_tensor *tensor = gemel_tensor_new(dtype, rank, shape, b->error);
  uint64_t which = gemel__random_bits(b->draw.random);
  for (size_t i = 0; tensor != NULL && i < (size_t)gemel_tensor_elements(tensor); i++) {
    char *at = (char *)gemel_tensor_data(tensor) + i * gemel_dtype_size(dtype);
    which = splat ? which : gemel__random_bits(b->draw.random);
    if (number != NULL && status == GEMEL_OK) {
      status = gemel__number_store(number, dtype, at);
    } else if (number == NULL) {
      gemel__dtype_store(dtype, (double)numbers[which % 8], at);
    }
  }
  if (tensor != NULL && status == GEMEL_OK) {
    made = gemel_constant_at(b->graph, tensor, nowhere);
  }
  gemel_tensor_unref(tensor);
  return made;
}

/* An input, of which something is assumed if conditions ask about it. */
static gemel_value input(struct builder *b, uint32_t variable, const char *name, gemel_type type) {
  static const unsigned facts[] = {
      0,
      GEMEL_FACT_POSITIVE | GEMEL_FACT_FINITE | GEMEL_FACT_NOT_NAN,
      GEMEL_FACT_NONNEGATIVE | GEMEL_FACT_FINITE | GEMEL_FACT_NOT_NAN,
      GEMEL_FACT_NONZERO | GEMEL_FACT_FINITE | GEMEL_FACT_NOT_NAN,
      GEMEL_FACT_NOT_NAN,
      GEMEL_FACT_FINITE | GEMEL_FACT_NOT_NAN,
      GEMEL_FACT_POSITIVE,
  };
  gemel_value value = gemel_input_at(b->graph, name, type, nowhere);
  if (!gemel_is_null(value) && (b->asked >> variable & 1)) {
    gemel_assume(value, facts[gemel__random_below(b->draw.random, sizeof facts / sizeof *facts)]);
  }
  return value;
}

/* Something of the same type that another variable is bound to already, now and then where a
 * condition asks whether two are the same. */
static int share(struct builder *b, uint32_t variable, gemel_type type, gemel__ref *ref) {
  for (uint32_t k = 0; k < b->rule->n_variables && (b->asked >> variable & 1); k++) {
    const gemel__term *term = &b->terms[k];
    if (is_bound(b, k) && (b->asked >> k & 1) && term->kind == GEMEL__TERM_TENSOR &&
        gemel_type_equal(gemel__node_type(b->graph, term->u.tensor.node, term->u.tensor.output),
                         type) &&
        gemel__random_chance(b->draw.random, 1, 2)) {
      *ref = term->u.tensor;
      return 1;
    }
  }
  return 0;
}

static gemel_status leaf(struct builder *b, uint32_t variable, size_t k, gemel_type type,
                         gemel__ref *ref) {
  char name[80];
  gemel_value value;
  if (share(b, variable, type, ref)) {
    return GEMEL_OK;
  }
  snprintf(name, sizeof name,
           b->rule->variables[variable].kind == GEMEL__TERM_TENSORS ? "%.60s%zu" : "%.60s",
           b->rule->variables[variable].name, k);
  value = (b->asked >> variable & 1) &&
                  gemel__random_chance(b->draw.random, b->constants >> variable & 1 ? 7 : 4, 8)
              ? constant(b, type, NULL)
              : input(b, variable, name, type);
  *ref = ref_of(value);
  return gemel_is_null(value) ? GEMEL_DECLINED : GEMEL_OK;
}

/* Makes the operands that were drawn. A variable that stands twice has the type of its first
 * place. */
static gemel_status make_operand(struct builder *b, struct attempt *a, uint32_t k, size_t at) {
  const gemel__pattern *operand = &b->rule->left.nodes[a->p->operands[k]];
  if (operand->kind == GEMEL__PATTERN_LITERAL) {
    gemel_value value = constant(b, a->types[at], &operand->number);
    a->refs[at] = ref_of(value);
    return gemel_is_null(value) ? GEMEL_DECLINED : GEMEL_OK;
  }
  if (operand->kind == GEMEL__PATTERN_VARIABLE && is_bound(b, operand->variable)) {
    a->refs[at] = b->terms[operand->variable].u.tensor;
    return GEMEL_OK;
  }
  for (size_t j = 0; j < a->count[k]; j++) {
    GEMEL__TRY(leaf(b, operand->variable, j, a->types[at + j], &a->refs[at + j]));
  }
  if (operand->kind == GEMEL__PATTERN_VARIABLE) {
    bind(b, operand->variable, a->refs[at]);
  } else {
    gemel__term term = {.kind = GEMEL__TERM_TENSORS, .count = a->count[k]};
    term.u.tensors =
        gemel__arena_copy(b->draw.arena, &a->refs[at], (a->count[k] + 1) * sizeof *a->refs);
    GEMEL__TRY(term.u.tensors != NULL ? GEMEL_OK : GEMEL_NO_MEMORY);
    b->terms[operand->variable] = term;
    b->bound |= 1u << operand->variable;
  }
  b->any = 1;
  return GEMEL_OK;
}

static gemel_status make_operands(struct builder *b, struct attempt *a) {
  for (size_t at = 0; at < a->n; at += a->count[a->from[at]]) {
    if (!a->known[at]) {
      GEMEL__TRY(make_operand(b, a, a->from[at], at));
    }
  }
  for (uint32_t k = 0; k < a->p->n_operands; k++) { /* ..xs of none */
    const gemel__pattern *operand = &b->rule->left.nodes[a->p->operands[k]];
    if (a->count[k] == 0 && !is_bound(b, operand->variable)) {
      b->terms[operand->variable] = (gemel__term){.kind = GEMEL__TERM_TENSORS};
      b->bound |= 1u << operand->variable;
    }
  }
  return GEMEL_OK;
}

/* ---- Operations ---- */

static gemel_status bind_number(struct builder *b, uint32_t variable, int64_t number) {
  gemel__entry entry = {number, GEMEL_DIM_NONE};
  gemel__term term = {.kind = GEMEL__TERM_NUMBER, .count = 1};
  term.list = gemel__arena_copy(b->draw.arena, &entry, sizeof entry);
  b->terms[variable] = term;
  b->bound |= 1u << variable;
  return term.list != NULL ? GEMEL_OK : GEMEL_NO_MEMORY;
}

/* The output K of f(x)@k. */
static gemel_status choose_output(struct builder *b, struct attempt *a, uint32_t *output) {
  int variable = a->p->any_output ? gemel__termexpr_variable(&a->p->output) : -1;
  gemel__term term;
  *output = 0;
  if (!a->p->any_output) {
    return GEMEL_OK;
  }
  if (variable >= 0 && !is_bound(b, (uint32_t)variable)) {
    *output = (uint32_t)gemel__random_below(b->draw.random, a->n_outputs);
    return bind_number(b, (uint32_t)variable, *output);
  }
  if (!all_bound(b, &a->p->output)) {
    return GEMEL_DECLINED;
  }
  GEMEL__TRY(gemel__term_evaluate(&a->p->output, &b->scene, &term));
  if (term.kind != GEMEL__TERM_NUMBER || term.list[0].value < 0 ||
      (uint64_t)term.list[0].value >= a->n_outputs) {
    return GEMEL_DECLINED;
  }
  *output = (uint32_t)term.list[0].value;
  return GEMEL_OK;
}

/* Binds the attributes that the rule leaves open to those of NODE. */
static gemel_status bind_attrs(struct builder *b, struct attempt *a, uint32_t node) {
  uint32_t id = gemel__node_at(b->graph, node)->attrs;
  for (uint32_t k = 0; k < a->p->n_attrs && id != 0; k++) {
    int variable = gemel__termexpr_variable(&a->p->attrs[k]);
    if (variable >= 0 && !is_bound(b, (uint32_t)variable)) {
      GEMEL__TRY(gemel__term_of_attr(
          &b->scene, node, &gemel__attrs_at(b->draw.context, id)->values[k], &b->terms[variable]));
      b->bound |= 1u << variable;
    }
  }
  return GEMEL_OK;
}

/* Finds operands and attributes that the operation takes. */
static gemel_status settle(struct builder *b, struct attempt *a) {
  GEMEL__TRY(know_attrs(b, a));
  for (int k = 0; k < TRIES; k++) {
    GEMEL__TRY(draw_types(b, a));
    draw_attrs(b, a);
    if (is_accepted(b, a)) {
      return GEMEL_OK;
    }
  }
  return propose(b, a);
}

static gemel_status build_node(struct builder *b, uint32_t index) {
  struct attempt a;
  gemel_value inputs[MOST_OPERANDS];
  a.p = &b->rule->left.nodes[index];
  a.op = gemel__op_at(b->draw.context, a.p->op);
  a.n = a.n_outputs = 0;
  for (uint32_t k = 0; k < a.p->n_operands; k++) {
    GEMEL__TRY(add_pattern(b, &a, k));
  }
  if (a.p->n_attrs > GEMEL__PROPOSAL_ATTRS) {
    return GEMEL_DECLINED;
  }
  GEMEL__TRY(settle(b, &a));
  GEMEL__TRY(make_operands(b, &a));
  for (size_t k = 0; k < a.n; k++) {
    inputs[k] = gemel__value(b->graph, a.refs[k]);
  }
  gemel_status status =
      gemel__normal_attrs(b->draw.context, a.op, a.attrs_id, a.n, a.types, &a.attrs_id, NULL);
  GEMEL__TRY(status == GEMEL_OK || status == GEMEL_NO_MEMORY ? status : GEMEL_DECLINED);
  gemel_value made = gemel__apply(b->graph, a.p->op, a.attrs_id, a.n, inputs, nowhere);
  if (gemel_is_null(made)) {
    return GEMEL_DECLINED;
  }
  b->values[index] = ref_of(made);
  GEMEL__TRY(choose_output(b, &a, &b->values[index].output));
  GEMEL__TRY(bind_attrs(b, &a, made.node));
  if (a.p->named != 0) {
    bind(b, a.p->named - 1, b->values[index]);
  }
  return GEMEL_OK;
}

/* ---- The rule ---- */

static int is_constant(uint32_t function) {
  return function == GEMEL__FUNCTION_constant || function == GEMEL__FUNCTION_splat ||
         function == GEMEL__FUNCTION_value;
}

/* Notes the variables of which EXPR asks for what a type doesn't say. */
static void read_asked(struct builder *b, const gemel__termexpr *expr) {
  for (uint32_t k = 0; k < expr->count; k++) {
    const gemel__termcode *code = &expr->code[k];
    int of_values = code->kind == GEMEL__TERMCODE_FUNCTION &&
                    strchr(gemel__function_rows[code->index].kinds, 'g') != NULL;
    for (uint32_t j = 1; j <= code->count && j <= k && of_values; j++) {
      if (expr->code[k - j].kind == GEMEL__TERMCODE_VARIABLE) {
        b->asked |= 1u << expr->code[k - j].index;
      }
    }
    if (k > 0 && expr->code[k - 1].kind == GEMEL__TERMCODE_VARIABLE &&
        code->kind == GEMEL__TERMCODE_FUNCTION) {
      uint32_t bit = 1u << expr->code[k - 1].index;
      b->constants |= is_constant(code->index) ? bit : 0;
      b->scalars |= code->index == GEMEL__FUNCTION_scalar ? bit : 0;
    }
  }
}

static void read_rule(struct builder *b) {
  const struct gemel_rule *rule = b->rule;
  for (uint32_t k = 0; k < rule->n_conditions; k++) {
    read_asked(b, &rule->conditions[k]);
  }
  for (uint32_t k = 0; k < rule->right.count; k++) {
    for (uint32_t j = 0; j < rule->right.nodes[k].n_attrs; j++) {
      read_asked(b, &rule->right.nodes[k].attrs[j]);
    }
  }
}

static gemel_status build(struct builder *b) {
  const gemel__rule_side *left = &b->rule->left;
  for (uint32_t k = 0; k < left->count; k++) {
    GEMEL__TRY(left->nodes[k].kind == GEMEL__PATTERN_APPLY ? build_node(b, k) : GEMEL_OK);
  }
  return gemel_output(gemel__value(b->graph, b->values[left->count - 1]), "y");
}

gemel_status gemel__claim_left(gemel_context *context, const gemel_rule *rule,
                               const gemel__claim_range *range, uint64_t number,
                               gemel__random *random, gemel_graph **left, gemel_error *error) {
  gemel__arena arena = {NULL, 0};
  struct builder b;
  memset(&b, 0, sizeof b);
  *left = NULL;
  b.rule = rule;
  b.number = number;
  b.error = error;
  b.graph = gemel_graph_new(context, error);
  b.draw = (gemel__claim_draw){context, random, &arena, range, 0, {{0}}};
  b.scene = (gemel__scene){b.graph, NULL, &arena, b.terms, error};
  read_rule(&b);
  gemel_status status = b.graph != NULL ? build(&b) : GEMEL_NO_MEMORY;
  gemel__arena_clear(&arena);
  if (status == GEMEL_OK) {
    *left = b.graph;
    return GEMEL_OK;
  }
  gemel_graph_unref(b.graph);
  return status == GEMEL_NO_MEMORY ? gemel__no_memory(error, "an instance") : GEMEL_OK;
}
