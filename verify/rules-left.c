/* SPDX-License-Identifier: MIT
 *
 * See rules-left.h. The pattern's nodes are taken in post-order. At each operation, what is known
 * (types of operands that are made already, attributes that are bound or can be computed) goes into
 * a proposal; what comes out besides gives the variables among its operands their types. A variable
 * becomes an input of the graph, or a constant, or a function of an input of which the engine can
 * prove what a condition asks for.
 */
#include "rules-left.h"

#include <stdio.h>
#include <string.h>
#include "core/error.h"
#include "core/tensor.h"
#include "passes/functions.h"
#include "core/attrs.h"
#include "sample/points.h"
#include "sample/propose.h"

enum { MOST_SPREAD = 3, SPLAT_ELEMENTS = 64 };

/* What conditions ask of a variable. */
enum { WANTS_CONSTANT = 1, WANTS_SPLAT = 2, WANTS_SCALAR = 4, WANTS_FACT = 8 };

struct left {
  const struct gemel_rule *rule;
  gemel_dtype dtype;
  int64_t max_elements;
  int empty, many;
  gemel__random *random;
  gemel__scene *scene;
  gemel_graph *graph;
  gemel_context *context;
  gemel__term terms[GEMEL__RULE_VARIABLES];
  uint32_t bound;
  unsigned wants[GEMEL__RULE_VARIABLES];
  gemel__ref values[GEMEL__RULE_NODES];
  gemel_error *error;
};

static const gemel_location nowhere = {NULL, 0};

static int is_bound(const struct left *l, uint32_t variable) {
  return l->bound >> variable & 1;
}

static gemel_status graph_error(const struct left *l) {
  if (l->error != NULL) {
    *l->error = l->graph->error;
  }
  return l->graph->error.status == GEMEL_NO_MEMORY ? GEMEL_NO_MEMORY : GEMEL_DECLINED;
}

/* ---- What conditions ask for ---- */

static unsigned want_of(uint32_t function) {
  switch (function) {
  case GEMEL__FUNCTION_constant:
    return WANTS_CONSTANT;
  case GEMEL__FUNCTION_splat:
  case GEMEL__FUNCTION_value:
    return WANTS_SPLAT;
  case GEMEL__FUNCTION_scalar:
    return WANTS_SCALAR;
  case GEMEL__FUNCTION_nonnegative:
  case GEMEL__FUNCTION_positive:
  case GEMEL__FUNCTION_nonzero:
  case GEMEL__FUNCTION_not_nan:
    return WANTS_FACT;
  default:
    return 0;
  }
}

static void read_wants(struct left *l, const gemel__termexpr *expr) {
  for (uint32_t k = 1; k < expr->count; k++) {
    const gemel__termcode *code = &expr->code[k], *operand = code - 1;
    if (code->kind == GEMEL__TERMCODE_FUNCTION && code->count == 1 &&
        operand->kind == GEMEL__TERMCODE_VARIABLE) {
      l->wants[operand->index] |= want_of(code->index);
    }
  }
}

/* ---- Expressions ---- */

static int all_bound(const struct left *l, const gemel__termexpr *expr) {
  for (uint32_t k = 0; k < expr->count; k++) {
    if (expr->code[k].kind == GEMEL__TERMCODE_VARIABLE && !is_bound(l, expr->code[k].index)) {
      return 0;
    }
  }
  return 1;
}

/* Where the operand that ends before code END begins. */
static uint32_t operand_start(const gemel__termexpr *expr, uint32_t end) {
  uint32_t wanted = 1;
  while (wanted > 0 && end > 0) {
    const gemel__termcode *code = &expr->code[--end];
    int takes = code->kind == GEMEL__TERMCODE_FUNCTION || code->kind == GEMEL__TERMCODE_LIST;
    wanted += (takes ? code->count : 0u) - 1;
  }
  return end;
}

static gemel__termexpr part_of(const gemel__termexpr *expr, uint32_t from, uint32_t to) {
  gemel__termexpr part = *expr;
  part.code += from;
  part.count = to - from;
  return part;
}

/* The other side of the equation EXPR[.., END) if one of its sides is VARIABLE alone and the other
 * is known: 1 and *TERM. Conjunctions are searched. */
static int solve(const struct left *l, const gemel__termexpr *expr, uint32_t end, uint32_t variable,
                 gemel__term *term) {
  const gemel__termcode *code = &expr->code[end - 1];
  if (code->kind != GEMEL__TERMCODE_FUNCTION || code->count != 2) {
    return 0;
  }
  uint32_t middle = operand_start(expr, end - 1), start = operand_start(expr, middle);
  if (code->index == GEMEL__OPERATOR_logical_and) {
    return solve(l, expr, middle, variable, term) || solve(l, expr, end - 1, variable, term);
  }
  if (code->index != GEMEL__OPERATOR_eq) {
    return 0;
  }
  gemel__termexpr left = part_of(expr, start, middle), right = part_of(expr, middle, end - 1);
  for (int turn = 0; turn < 2; turn++) {
    const gemel__termexpr *one = turn ? &right : &left, *other = turn ? &left : &right;
    if (gemel__termexpr_variable(one) == (int)variable && all_bound(l, other)) {
      return gemel__term_evaluate(other, l->scene, term) == GEMEL_OK;
    }
  }
  return 0;
}

/* 1 and *TERM if what the attribute EXPR must be can be said already. */
static int attr_term(const struct left *l, const gemel__termexpr *expr, gemel__term *term) {
  int variable = gemel__termexpr_variable(expr);
  if (all_bound(l, expr)) {
    return gemel__term_evaluate(expr, l->scene, term) == GEMEL_OK;
  }
  for (uint32_t k = 0; variable >= 0 && k < l->rule->n_conditions; k++) {
    const gemel__termexpr *condition = &l->rule->conditions[k];
    if (condition->count > 0 && solve(l, condition, condition->count, (uint32_t)variable, term)) {
      return 1;
    }
  }
  return 0;
}

static void know_attrs(const struct left *l, const gemel__pattern *p, gemel__proposal *proposal) {
  for (uint32_t k = 0; k < p->n_attrs; k++) {
    gemel__term term;
    gemel_attr *attr = &proposal->attrs[k];
    if (p->attrs[k].count == 0) {
      attr->kind = GEMEL_ATTR_NONE;
      proposal->known_attr[k] = 1;
    } else if (attr_term(l, &p->attrs[k], &term)) {
      if (term.kind == GEMEL__TERM_ABSENT) {
        attr->kind = GEMEL_ATTR_NONE;
        proposal->known_attr[k] = 1;
      } else {
        proposal->known_attr[k] =
            gemel__term_to_attr(l->scene, &term, &proposal->op->record.attrs[k], attr) == GEMEL_OK;
      }
    }
  }
}

/* ---- Constants ---- */

/* Few digits: a sum or a product of two of them is exact in every float dtype, so that constants
 * that a rule folds are what they are over the reals. */
static double special_value(gemel__random *random) {
  static const double values[] = {0, 1, -1, 2, 0.5, 3, -0.0, -2, 4, 10, 0.25, -0.5, 0.125, 7};
  return values[gemel__random_below(random, sizeof values / sizeof *values)];
}

/* A small number of DTYPE at AT: NUMBER, or else a random one. GEMEL_BAD_VALUE: it can't be. */
static gemel_status draw_element(struct left *l, gemel_dtype dtype, const gemel__number *number,
                                 void *at) {
  double x = special_value(l->random);
  gemel_kind kind = gemel_dtype_kind(dtype);
  int64_t i = kind == GEMEL_KIND_BOOL       ? x != 0
              : kind == GEMEL_KIND_UNSIGNED ? (int64_t)(x < 0 ? -x : x)
                                            : (int64_t)x;
  if (number != NULL) {
    return gemel__number_store(number, dtype, at);
  }
  gemel__points_store(dtype, 1, kind == GEMEL_KIND_FLOAT ? &x : NULL,
                      kind == GEMEL_KIND_FLOAT ? NULL : &i, at);
  return GEMEL_OK;
}

static gemel_status constant_shape(struct left *l, gemel_type type, int64_t *shape) {
  const gemel_dim *dims = gemel_type_dims(l->context, type);
  for (int k = 0; k < gemel_type_rank(l->context, type); k++) {
    if (!gemel_dim_is_constant(l->context, dims[k], &shape[k])) {
      return GEMEL_DECLINED;
    }
  }
  return GEMEL_OK;
}

/* A constant tensor of TYPE. NUMBER: all elements are that; SPLAT: they are one random number. */
static gemel_value constant(struct left *l, gemel_type type, const gemel__number *number,
                            int splat) {
  gemel_value made = {NULL, 0, 0};
  gemel_dtype dtype = gemel_type_dtype(l->context, type);
  int64_t shape[GEMEL_MAX_RANK];
  unsigned char one[8] = {0};
  gemel_status status = constant_shape(l, type, shape);
  gemel_tensor *tensor =
      status != GEMEL_OK
          ? NULL
          : gemel_tensor_new(dtype, gemel_type_rank(l->context, type), shape, l->error);
  if (tensor == NULL) {
    return made;
  }
  size_t size = gemel_dtype_size(dtype), n = (size_t)gemel_tensor_elements(tensor);
  status = draw_element(l, dtype, number, one);
  for (size_t i = 0; i < n && status == GEMEL_OK; i++) {
    memcpy((char *)gemel_tensor_data(tensor) + i * size, one, size);
    status = splat || number != NULL ? GEMEL_OK : draw_element(l, dtype, NULL, one);
  }
  made = status == GEMEL_OK ? gemel_constant_at(l->graph, tensor, nowhere) : made;
  gemel_tensor_unref(tensor);
  return made;
}

/* All elements are one number: as a constant tensor, or as a scalar that is broadcast. */
static gemel_value uniform(struct left *l, gemel_type type, const gemel__number *number) {
  int64_t shape[GEMEL_MAX_RANK], count = 1;
  int rank = gemel_type_rank(l->context, type);
  if (constant_shape(l, type, shape) != GEMEL_OK) {
    return (gemel_value){NULL, 0, 0};
  }
  for (int k = 0; k < rank; k++) {
    count *= shape[k];
  }
  if (rank == 0 ||
      (count > 0 && count <= SPLAT_ELEMENTS && gemel__random_chance(l->random, 1, 2))) {
    return constant(l, type, number, 1);
  }
  gemel_type scalar = gemel_type_of_shape(l->context, gemel_type_dtype(l->context, type), 0, NULL);
  gemel_value value = constant(l, scalar, number, 1);
  gemel_attr attr = gemel_attr_dims("shape", (size_t)rank, gemel_type_dims(l->context, type));
  return gemel_is_null(value)
             ? value
             : gemel_apply_at(l->graph, "broadcast_to", 1, &value, 1, &attr, nowhere);
}

/* ---- Variables ---- */

/* VALUE and a literal number. */
static gemel_value with_literal(struct left *l, const char *op, gemel_value value, double literal) {
  gemel_dtype dtype = gemel_type_dtype(l->context, gemel_value_type(value));
  gemel_value pair[2] = {value, gemel_scalar_at(l->graph, dtype, literal, nowhere)};
  return gemel_apply_at(l->graph, op, 2, pair, 0, NULL, nowhere);
}

/* Something of TYPE whose elements have a fact that can be proved: what is at least 0 or a small
 * number, and what is at most its negative. The operations don't round or overflow, or a rule would
 * be blamed for what they do. */
static gemel_value proved(struct left *l, const char *name, gemel_type type) {
  static const char *const functions[] = {"abs", "relu"};
  gemel_kind kind = gemel_dtype_kind(gemel_type_dtype(l->context, type));
  size_t k = gemel__random_below(l->random, 4);
  if (k == 0) {
    return constant(l, type, NULL, 0);
  }
  gemel_value value = gemel_input_at(l->graph, name, type, nowhere);
  if (k < 3) {
    value = gemel_apply_at(l->graph, functions[k - 1], 1, &value, 0, NULL, nowhere);
  }
  if (!gemel_is_null(value) && (k == 3 || gemel__random_chance(l->random, 1, 2))) {
    static const double least[] = {1, 0x1p-8, -0.0};
    size_t which = kind == GEMEL_KIND_FLOAT ? gemel__random_below(l->random, 3) : 0;
    value = with_literal(l, "maximum", value, least[which]);
  }
  if (!gemel_is_null(value) && kind == GEMEL_KIND_FLOAT && gemel__random_chance(l->random, 1, 4)) {
    value = gemel_apply_at(l->graph, "neg", 1, &value, 0, NULL, nowhere);
  }
  return !gemel_is_null(value) && gemel_value_type(value) == type ? value
                                                                  : (gemel_value){NULL, 0, 0};
}

static gemel_value leaf(struct left *l, uint32_t variable, const char *name, gemel_type type) {
  unsigned wants = l->wants[variable];
  if (wants & WANTS_SPLAT) {
    return wants & WANTS_CONSTANT ? constant(l, type, NULL, 1) : uniform(l, type, NULL);
  }
  if (wants & WANTS_CONSTANT) {
    return constant(l, type, NULL, gemel__random_chance(l->random, 1, 2));
  }
  return wants & WANTS_FACT ? proved(l, name, type) : gemel_input_at(l->graph, name, type, nowhere);
}

static gemel__ref ref_of(gemel_value value) {
  gemel__ref ref = {value.node, value.output};
  return ref;
}

static gemel_status bind_tensor(struct left *l, uint32_t variable, gemel_type type) {
  gemel__term *term = &l->terms[variable];
  gemel_value value = leaf(l, variable, l->rule->variables[variable].name, type);
  if (gemel_is_null(value)) {
    return graph_error(l);
  }
  memset(term, 0, sizeof *term);
  term->kind = GEMEL__TERM_TENSOR;
  term->u.tensor = ref_of(value);
  l->bound |= 1u << variable;
  return GEMEL_OK;
}

static gemel_status bind_spread(struct left *l, uint32_t variable, uint32_t count,
                                const gemel_type *types) {
  gemel__term *term = &l->terms[variable];
  gemel__ref *refs = gemel__arena_alloc(l->scene->arena, (count + 1) * sizeof *refs);
  char name[80];
  if (refs == NULL) {
    return gemel__no_memory(l->error, "an instance");
  }
  for (uint32_t k = 0; k < count; k++) {
    snprintf(name, sizeof name, "%.60s%u", l->rule->variables[variable].name, (unsigned)k);
    gemel_value value = leaf(l, variable, name, types[k]);
    if (gemel_is_null(value)) {
      return graph_error(l);
    }
    refs[k] = ref_of(value);
  }
  memset(term, 0, sizeof *term);
  term->kind = GEMEL__TERM_TENSORS;
  term->count = count;
  term->u.tensors = refs;
  l->bound |= 1u << variable;
  return GEMEL_OK;
}

/* ---- Operands ---- */

/* Where the operands of a pattern stand among those of the proposal. */
struct layout {
  uint32_t first[GEMEL__RULE_NODES + 1];
  gemel__ref refs[GEMEL__PROPOSAL_INPUTS];
};

/* How many operands `..xs` matches. */
static uint32_t draw_count(struct left *l) {
  if (l->many > MOST_SPREAD && gemel__random_chance(l->random, 1, 2)) {
    return (uint32_t)(l->many + gemel__random_between(l->random, -2, 2));
  }
  return (uint32_t)gemel__random_below(l->random, MOST_SPREAD + 1);
}

static gemel_status lay_out(struct left *l, const gemel__pattern *p, struct layout *at) {
  uint32_t n = 0;
  for (uint32_t k = 0; k < p->n_operands; k++) {
    const gemel__pattern *operand = &l->rule->left.nodes[p->operands[k]];
    at->first[k] = n;
    if (operand->kind != GEMEL__PATTERN_SPREAD) {
      n++;
    } else if (is_bound(l, operand->variable)) {
      n += l->terms[operand->variable].count;
    } else {
      n += draw_count(l);
    }
  }
  at->first[p->n_operands] = n;
  return n <= GEMEL__PROPOSAL_INPUTS ? GEMEL_OK : GEMEL_DECLINED;
}

static void know(const struct left *l, gemel__proposal *proposal, struct layout *at, uint32_t k,
                 gemel__ref ref) {
  at->refs[k] = ref;
  proposal->inputs[k] = gemel__node_type(l->graph, ref.node, ref.output);
  proposal->known_input[k] = 1;
}

/* What is known of the operands. A literal is mostly a scalar. */
static void know_operands(struct left *l, const gemel__pattern *p, gemel__proposal *proposal,
                          struct layout *at) {
  for (uint32_t k = 0; k < p->n_operands; k++) {
    const gemel__pattern *operand = &l->rule->left.nodes[p->operands[k]];
    if (operand->kind == GEMEL__PATTERN_APPLY) {
      know(l, proposal, at, at->first[k], l->values[p->operands[k]]);
    } else if (operand->kind == GEMEL__PATTERN_VARIABLE && is_bound(l, operand->variable)) {
      know(l, proposal, at, at->first[k], l->terms[operand->variable].u.tensor);
    } else if (operand->kind == GEMEL__PATTERN_SPREAD && is_bound(l, operand->variable)) {
      for (uint32_t j = 0; j < l->terms[operand->variable].count; j++) {
        know(l, proposal, at, at->first[k] + j, l->terms[operand->variable].u.tensors[j]);
      }
    }
  }
}

/* The dtype that scalars beside the operands that are known should have. */
static gemel_dtype beside(const struct left *l, const gemel__proposal *proposal) {
  for (size_t k = proposal->n_inputs; k-- > 0;) {
    if (proposal->known_input[k]) {
      return gemel_type_dtype(l->context, proposal->inputs[k]);
    }
  }
  return l->dtype;
}

static void know_scalars(struct left *l, const gemel__pattern *p, gemel__proposal *proposal,
                         const struct layout *at) {
  gemel_dtype dtype = beside(l, proposal);
  for (uint32_t k = 0; k < p->n_operands; k++) {
    const gemel__pattern *operand = &l->rule->left.nodes[p->operands[k]];
    int scalar =
        (operand->kind == GEMEL__PATTERN_LITERAL && gemel__random_chance(l->random, 3, 4)) ||
        (operand->kind == GEMEL__PATTERN_VARIABLE && !is_bound(l, operand->variable) &&
         (l->wants[operand->variable] & WANTS_SCALAR));
    if (scalar) {
      proposal->inputs[at->first[k]] = gemel_type_of_shape(l->context, dtype, 0, NULL);
      proposal->known_input[at->first[k]] = 1;
    }
  }
}

/* Gives variables that are met for the first time the types that were proposed. A variable that
 * stands there twice has its first one's. */
static gemel_status bind_operands(struct left *l, const gemel__pattern *p,
                                  const gemel__proposal *proposal, struct layout *at) {
  gemel_status status = GEMEL_OK;
  for (uint32_t k = 0; k < p->n_operands && status == GEMEL_OK; k++) {
    const gemel__pattern *operand = &l->rule->left.nodes[p->operands[k]];
    const gemel_type *types = &proposal->inputs[at->first[k]];
    if (operand->kind == GEMEL__PATTERN_LITERAL) {
      gemel_value value = uniform(l, types[0], &operand->number);
      status = gemel_is_null(value) ? graph_error(l) : GEMEL_OK;
      at->refs[at->first[k]] = ref_of(value);
    } else if (operand->kind == GEMEL__PATTERN_VARIABLE && !is_bound(l, operand->variable)) {
      status = bind_tensor(l, operand->variable, types[0]);
    } else if (operand->kind == GEMEL__PATTERN_SPREAD && !is_bound(l, operand->variable)) {
      status = bind_spread(l, operand->variable, at->first[k + 1] - at->first[k], types);
    }
  }
  return status;
}

/* ---- Operations ---- */

static gemel_status bind_attr(struct left *l, const gemel__termexpr *expr, gemel__ref node,
                              const gemel_attr *attr) {
  int variable = gemel__termexpr_variable(expr);
  if (variable < 0 || is_bound(l, (uint32_t)variable)) {
    return GEMEL_OK;
  }
  l->bound |= 1u << variable;
  return gemel__term_of_attr(l->scene, node.node, attr, &l->terms[variable]);
}

static gemel_status number_term(struct left *l, int64_t number, gemel__term *term) {
  gemel__entry entry = {number, GEMEL_DIM_NONE};
  memset(term, 0, sizeof *term);
  term->kind = GEMEL__TERM_NUMBER;
  term->count = 1;
  term->list = gemel__arena_copy(l->scene->arena, &entry, sizeof entry);
  return term->list != NULL ? GEMEL_OK : gemel__no_memory(l->error, "an instance");
}

/* Which output f(x)@k is. */
static gemel_status choose_output(struct left *l, const gemel__pattern *p, size_t n,
                                  uint32_t *output) {
  int variable = p->any_output ? gemel__termexpr_variable(&p->output) : -1;
  gemel__term term;
  *output = 0;
  if (!p->any_output) {
    return GEMEL_OK;
  }
  if (variable >= 0 && !is_bound(l, (uint32_t)variable)) {
    *output = (uint32_t)gemel__random_below(l->random, n);
    l->bound |= 1u << variable;
    return number_term(l, *output, &l->terms[variable]);
  }
  gemel_status status =
      all_bound(l, &p->output) ? gemel__term_evaluate(&p->output, l->scene, &term) : GEMEL_DECLINED;
  if (status == GEMEL_OK && (term.kind != GEMEL__TERM_NUMBER || term.list[0].value < 0 ||
                             (uint64_t)term.list[0].value >= n)) {
    return GEMEL_DECLINED;
  }
  *output = status == GEMEL_OK ? (uint32_t)term.list[0].value : 0;
  return status;
}

static gemel_status make_node(struct left *l, const gemel__pattern *p,
                              const gemel__proposal *proposal, const struct layout *at,
                              gemel__ref *made) {
  gemel_value inputs[GEMEL__PROPOSAL_INPUTS];
  for (size_t k = 0; k < proposal->n_inputs; k++) {
    inputs[k] = gemel__value(l->graph, at->refs[k]);
  }
  gemel_value value =
      gemel__apply(l->graph, p->op, proposal->attrs_id, proposal->n_inputs, inputs, nowhere);
  if (gemel_is_null(value)) {
    return graph_error(l);
  }
  *made = ref_of(value);
  gemel_status status = choose_output(l, p, proposal->n_outputs, &made->output);
  for (uint32_t k = 0; k < p->n_attrs && status == GEMEL_OK; k++) {
    status = p->attrs[k].count == 0
                 ? GEMEL_OK
                 : bind_attr(l, &p->attrs[k], *made,
                             &gemel__attrs_at(l->context, proposal->attrs_id)->values[k]);
  }
  return status;
}

/* Proposes twice: for the operands' types, and, when those are known and with them what follows
 * from them, for what is left. */
static gemel_status build_node(struct left *l, uint32_t index) {
  const gemel__pattern *p = &l->rule->left.nodes[index];
  gemel__proposal proposal;
  struct layout at;
  gemel_status status = lay_out(l, p, &at);
  memset(&proposal, 0, sizeof proposal);
  proposal.context = l->context;
  proposal.random = l->random;
  proposal.op = gemel__op_at(l->context, p->op);
  proposal.dtype = l->dtype;
  proposal.max_elements = l->max_elements;
  proposal.empty = l->empty;
  proposal.n_inputs = at.first[p->n_operands];
  if (status != GEMEL_OK || p->n_attrs > GEMEL__PROPOSAL_ATTRS ||
      (proposal.n_inputs == 0 && p->n_operands > 0)) {
    return GEMEL_DECLINED;
  }
  gemel__proposal first = proposal;
  know_operands(l, p, &first, &at);
  know_scalars(l, p, &first, &at);
  know_attrs(l, p, &first);
  status = gemel__propose(&first, l->error);
  status = status ? status : bind_operands(l, p, &first, &at);
  if (status != GEMEL_OK) {
    return status;
  }
  for (uint32_t k = 0; k < p->n_operands; k++) { /* literals have a place, but no variable */
    if (l->rule->left.nodes[p->operands[k]].kind == GEMEL__PATTERN_LITERAL) {
      know(l, &proposal, &at, at.first[k], at.refs[at.first[k]]);
    }
  }
  know_operands(l, p, &proposal, &at);
  know_attrs(l, p, &proposal);
  for (uint32_t k = 0; k < p->n_attrs; k++) {
    if (!proposal.known_attr[k] && gemel__random_chance(l->random, 3, 4)) {
      proposal.attrs[k] = first.attrs[k]; /* fits, as long as nothing else has changed */
      proposal.known_attr[k] = 1;
    }
  }
  status = gemel__propose(&proposal, l->error);
  return status ? status : make_node(l, p, &proposal, &at, &l->values[index]);
}

/* What `as` names is what was built. */
static void name_result(struct left *l, uint32_t index) {
  uint32_t named = l->rule->left.nodes[index].named;
  if (named != 0) {
    gemel__term *term = &l->terms[named - 1];
    memset(term, 0, sizeof *term);
    term->kind = GEMEL__TERM_TENSOR;
    term->u.tensor = l->values[index];
    l->bound |= 1u << (named - 1);
  }
}

gemel_status gemel__rule_left(const struct gemel_rule *rule, const gemel__rule_wish *wish,
                              gemel__random *random, gemel__scene *scene, gemel__ref *root,
                              gemel_error *error) {
  struct left l;
  gemel_status status = GEMEL_OK;
  memset(&l, 0, sizeof l);
  l.rule = rule;
  l.dtype = wish->dtype;
  l.max_elements = wish->max_elements;
  l.empty = wish->empty;
  l.many = wish->many;
  l.random = random;
  l.scene = scene;
  l.graph = scene->graph;
  l.context = scene->graph->context;
  l.error = error;
  scene->variables = l.terms;
  for (uint32_t k = 0; k < rule->n_conditions; k++) {
    read_wants(&l, &rule->conditions[k]);
  }
  for (uint32_t k = 0; k < rule->right.count; k++) { /* value(c) in an attribute */
    for (uint32_t j = 0; j < rule->right.nodes[k].n_attrs; j++) {
      read_wants(&l, &rule->right.nodes[k].attrs[j]);
    }
  }
  for (uint32_t k = 0; k < rule->left.count && status == GEMEL_OK; k++) {
    if (rule->left.nodes[k].kind == GEMEL__PATTERN_APPLY) {
      status = build_node(&l, k);
      name_result(&l, k);
    }
  }
  *root = l.values[rule->left.count - 1];
  return status;
}
