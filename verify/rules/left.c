/* SPDX-License-Identifier: MIT
 *
 * Builds left sides, see left.h. The pattern's nodes are built in post-order. For each operation a
 * proposal is made (instances/propose.h) from what is known: types of operands that are built
 * already, attributes that are bound or can be computed. The proposal draws the rest, which gives
 * new variables their types. A variable becomes an input, or a constant if a condition asks for
 * one. If a condition asks for a fact, it becomes an input of which the fact is assumed, a constant
 * that has it, or a function of an input for which the engine can prove it.
 */
#include "rules/left.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include "core/dtype.h"
#include "core/error.h"
#include "core/tensor.h"
#include "ops/ops.h"
#include "rules/functions.h"
#include "rules/hinted.h"
#include "rules/sizes.h"
#include "rules/typing.h"
#include "core/attrs.h"
#include "core/value.h"
#include "sample/points.h"
#include "instances/propose.h"

enum { MOST_VARIADIC = 3, UNIFORM_ELEMENTS = 64 };

/* What conditions ask of a variable. */
enum { WANTS_CONSTANT = 1, WANTS_UNIFORM = 2, WANTS_SCALAR = 4, WANTS_FACT = 8 };

struct left {
  const struct gemel_rule *rule;
  gemel_dtype dtype;
  int empty;
  gemel__random *random;
  gemel__scene *scene;
  gemel_graph *graph;
  gemel_context *context;
  gemel__term terms[GEMEL__RULE_VARIABLES];
  uint32_t bound;
  unsigned wants[GEMEL__RULE_VARIABLES];
  uint32_t same[GEMEL__RULE_VARIABLES];   /* a bit for each variable that is to be the same value */
  unsigned facts[GEMEL__RULE_VARIABLES];  /* GEMEL_FACT_… that conditions ask for */
  unsigned dtypes[GEMEL__RULE_VARIABLES]; /* that conditions allow, a bit each */
  int typed; /* 1: some variable has the dtype that was wished for; 2: those of this node */
  int mixes; /* 1: the left side may have operands of several dtypes */
  gemel__ref values[GEMEL__RULE_NODES];
  const gemel__goal *goal;
  const gemel__hint *hint; /* NULL: none */
  gemel__rule_numbers numbers;
  gemel__constants_kind constants;
  gemel__left_constants *outcome;
  int64_t length; /* 0: any */
  gemel__aimed_sizes sizes;
  gemel_error *error;
};

static const gemel_location nowhere = {NULL, 0};

static int is_bound(const struct left *l, uint32_t variable) {
  return l->bound >> variable & 1;
}

/* Binds VARIABLE, and what is to be the same, to the value REF. */
static void bind(struct left *l, uint32_t variable, gemel__ref ref) {
  l->terms[variable] = (gemel__term){.kind = GEMEL__TERM_TENSOR, .u.tensor = ref};
  l->bound |= 1u << variable;
  for (uint32_t k = 0; k < l->rule->n_variables; k++) {
    if (l->same[variable] >> k & 1 && !is_bound(l, k)) {
      bind(l, k, ref);
    }
  }
}

static gemel_status graph_error(const struct left *l) {
  if (l->error != NULL) {
    *l->error = l->graph->error;
  }
  return l->graph->error.status == GEMEL_NO_MEMORY ? GEMEL_NO_MEMORY : GEMEL_DECLINED;
}

/* ---- What conditions ask for ---- */

/* The facts that FUNCTION asks for. */
static unsigned facts_of(uint32_t function) {
  switch (function) {
  case GEMEL__FUNCTION_nonnegative:
    return GEMEL_FACT_NONNEGATIVE;
  case GEMEL__FUNCTION_positive:
    return GEMEL_FACT_POSITIVE;
  case GEMEL__FUNCTION_nonzero:
    return GEMEL_FACT_NONZERO;
  case GEMEL__FUNCTION_not_nan:
    return GEMEL_FACT_NOT_NAN;
  case GEMEL__FUNCTION_finite:
    return GEMEL_FACT_FINITE;
  default:
    return 0;
  }
}

static unsigned want_of(uint32_t function) {
  switch (function) {
  case GEMEL__FUNCTION_constant:
    return WANTS_CONSTANT;
  case GEMEL__FUNCTION_splat:
  case GEMEL__FUNCTION_value:
    return WANTS_UNIFORM;
  case GEMEL__FUNCTION_scalar:
    return WANTS_SCALAR;
  default:
    return facts_of(function) != 0 ? WANTS_FACT : 0;
  }
}

int gemel__rule_wants_constant(uint32_t function) {
  return (want_of(function) & (WANTS_CONSTANT | WANTS_UNIFORM | WANTS_FACT)) != 0;
}

/* Notes what the functions in EXPR ask of variables. PART: EXPR needn't hold, so only what it takes
 * to evaluate it counts. */
static void read_wants(struct left *l, const gemel__termexpr *expr, int part) {
  for (uint32_t k = 1; k < expr->count; k++) {
    const gemel__termcode *code = &expr->code[k], *operand = code - 1;
    if (code->kind == GEMEL__TERMCODE_FUNCTION && code->count == 1 &&
        operand->kind == GEMEL__TERMCODE_VARIABLE &&
        (!part || code->index == GEMEL__FUNCTION_value)) {
      l->wants[operand->index] |= want_of(code->index);
      l->facts[operand->index] |= part ? 0 : facts_of(code->index);
    }
  }
}

/* Notes which two variables are to be the same value, if ATOM says so. */
static void read_same(struct left *l, const gemel__atom_goal *atom) {
  const gemel__termcode *code = atom->expr.code;
  if (atom->holds && atom->expr.count == 3 &&
      gemel__is_operator(&atom->expr, 3, GEMEL__FUNCTION_same)) {
    uint32_t a = code[0].index, b = code[1].index;
    l->same[a] |= 1u << b;
    l->same[b] |= 1u << a;
    l->wants[a] = l->wants[b] |= l->wants[a];
    l->facts[a] = l->facts[b] |= l->facts[a];
  }
}

/* ---- Expressions ---- */

/* 1 and *TERM, if ATOM is an equation that must hold, one side is VARIABLE, and the other is
 * known. */
static int solve(const struct left *l, const gemel__atom_goal *atom, uint32_t variable,
                 gemel__term *term) {
  gemel__termexpr left, right;
  uint32_t row;
  if (!gemel__goal_comparison(atom, &row, &left, &right) ||
      row != (atom->holds ? GEMEL__OPERATOR_eq : GEMEL__OPERATOR_ne)) {
    return 0;
  }
  for (int turn = 0; turn < 2; turn++) {
    const gemel__termexpr *one = turn ? &right : &left, *other = turn ? &left : &right;
    if (gemel__termexpr_variable(one) == (int)variable && gemel__termexpr_bound(other, l->bound)) {
      return gemel__term_evaluate(other, l->scene, term) == GEMEL_OK;
    }
  }
  return 0;
}

/* 1 and *TERM, if the value of the attribute EXPR is known, hinted at or follows from the goal. */
static int attr_term(const struct left *l, const gemel__termexpr *expr, gemel__term *term) {
  int variable = gemel__termexpr_variable(expr);
  if (gemel__termexpr_bound(expr, l->bound)) {
    return gemel__term_evaluate(expr, l->scene, term) == GEMEL_OK;
  }
  if (variable >= 0 && l->hint != NULL &&
      gemel__hint_attr(l->hint, (uint32_t)variable, l->scene->arena, term)) {
    return 1;
  }
  for (size_t k = 0; variable >= 0 && k < l->goal->count; k++) {
    if (solve(l, &l->goal->atoms[k], (uint32_t)variable, term)) {
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

static int compares(uint32_t row, double x, double y) {
  switch (row) {
  case GEMEL__OPERATOR_eq:
    return x == y;
  case GEMEL__OPERATOR_ne:
    return !(x == y);
  case GEMEL__OPERATOR_lt:
    return x < y;
  case GEMEL__OPERATOR_le:
    return x <= y;
  case GEMEL__OPERATOR_gt:
    return x > y;
  default:
    return x >= y;
  }
}

/* The atom `value(c) OP number` about the constant of VARIABLE, with *ROW and *NUMBER; NULL: there
 * is none. */
static const gemel__atom_goal *value_goal(const struct left *l, uint32_t variable, uint32_t *row,
                                          double *number) {
  const gemel__atom_goal *atom = l->goal->atoms, *end = atom + l->goal->count;
  while (atom < end && !gemel__goal_compares(atom, l->scene, l->bound, GEMEL__FUNCTION_value,
                                             (int)variable, row, number)) {
    atom++;
  }
  return atom < end ? atom : NULL;
}

/* Stores a number of DTYPE at AT: NUMBER or, if that is NULL, a random one, which meets the goal if
 * it says something of VARIABLE. GEMEL_BAD_VALUE: DTYPE can't hold NUMBER. */
static gemel_status draw_element(struct left *l, gemel_dtype dtype, const gemel__number *number,
                                 int variable, void *at) {
  enum { TRIES = 8 };
  uint32_t row = 0;
  double bound = 0, x;
  const gemel__atom_goal *atom =
      variable >= 0 && number == NULL ? value_goal(l, (uint32_t)variable, &row, &bound) : NULL;
  if (number != NULL) {
    return gemel__number_store(number, dtype, at);
  }
  for (int k = 0; k < TRIES; k++) {
    if (atom != NULL && gemel__random_chance(l->random, 2, 3)) {
      gemel__rule_numbers only = {1, {bound}, 0, 0};
      gemel__rule_beside(&only, l->constants, dtype, l->random, at);
    } else {
      gemel__rule_constant(&l->numbers, l->constants, dtype, l->random, at);
    }
    x = gemel__dtype_load(dtype, at);
    if (atom == NULL || compares(row, x, bound) == atom->holds) {
      break;
    }
  }
  if (gemel__is_float(dtype)) {
    x = gemel__dtype_load(dtype, at);
    l->outcome->floats = 1;
    l->outcome->nan |= isnan(x) != 0;
    l->outcome->infinite |= isinf(x) != 0;
  }
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

/* A constant of TYPE. All elements are NUMBER or, with SPLAT, one random number. VARIABLE is bound
 * to it; −1: none is. */
static gemel_value constant(struct left *l, gemel_type type, const gemel__number *number, int splat,
                            int variable) {
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
  status = draw_element(l, dtype, number, variable, one);
  for (size_t i = 0; i < n && status == GEMEL_OK; i++) {
    memcpy((char *)gemel_tensor_data(tensor) + i * size, one, size);
    status = splat || number != NULL ? GEMEL_OK : draw_element(l, dtype, NULL, variable, one);
  }
  made = status == GEMEL_OK ? gemel_constant_at(l->graph, tensor, nowhere) : made;
  gemel_tensor_unref(tensor);
  return made;
}

/* A value whose elements are one number: a constant tensor, or a scalar that is broadcast. */
static gemel_value uniform(struct left *l, gemel_type type, const gemel__number *number,
                           int variable) {
  int64_t shape[GEMEL_MAX_RANK], count = 1;
  int rank = gemel_type_rank(l->context, type);
  if (constant_shape(l, type, shape) != GEMEL_OK) {
    return (gemel_value){NULL, 0, 0};
  }
  for (int k = 0; k < rank; k++) {
    count *= shape[k];
  }
  if (rank == 0 ||
      (count > 0 && count <= UNIFORM_ELEMENTS && gemel__random_chance(l->random, 1, 2))) {
    return constant(l, type, number, 1, variable);
  }
  gemel_type scalar = gemel_type_of_shape(l->context, gemel_type_dtype(l->context, type), 0, NULL);
  gemel_value value = constant(l, scalar, number, 1, variable);
  gemel_attr attr = gemel_attr_dims("shape", (size_t)rank, gemel_type_dims(l->context, type));
  return gemel_is_null(value)
             ? value
             : gemel_apply_at(l->graph, "broadcast_to", 1, &value, 1, &attr, nowhere);
}

/* ---- Variables ---- */

/* Applies OP to VALUE and a scalar. */
static gemel_value with_literal(struct left *l, const char *op, gemel_value value, double literal) {
  gemel_dtype dtype = gemel__value_dtype(value);
  gemel_value pair[2] = {value, gemel_scalar_at(l->graph, dtype, literal, nowhere)};
  return gemel_apply_at(l->graph, op, 2, pair, 0, NULL, nowhere);
}

/* An input of TYPE of which just the facts that conditions ask for are assumed, so that its values
 * can be all that these allow. */
static gemel_value assumed(struct left *l, uint32_t variable, const char *name, gemel_type type) {
  gemel_value value = gemel_input_at(l->graph, name, type, nowhere);
  return gemel_is_null(value) || gemel_assume(value, l->facts[variable]) == GEMEL_OK
             ? value
             : gemel__graph_fail_at(l->graph, nowhere, GEMEL_NO_MEMORY, "out of memory");
}

/* A value of TYPE whose elements have facts that the engine can prove: by abs, relu, maximum and
 * neg, or a constant. These operations don't round or overflow, which would be taken for a fault of
 * the rule. */
static gemel_value proved(struct left *l, uint32_t variable, const char *name, gemel_type type) {
  static const char *const functions[] = {"abs", "relu"};
  gemel_kind kind = gemel_dtype_kind(gemel_type_dtype(l->context, type));
  size_t k = gemel__random_below(l->random, 4);
  if (k == 0) {
    return constant(l, type, NULL, 0, (int)variable);
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
  return gemel_type_equal(gemel_value_type(value), type) ? value : (gemel_value){NULL, 0, 0};
}

static gemel_value leaf(struct left *l, uint32_t variable, const char *name, gemel_type type) {
  unsigned wants = l->wants[variable];
  if (wants & WANTS_UNIFORM) {
    return wants & WANTS_CONSTANT ? constant(l, type, NULL, 1, (int)variable)
                                  : uniform(l, type, NULL, (int)variable);
  }
  if (wants & WANTS_CONSTANT) {
    return constant(l, type, NULL, gemel__random_chance(l->random, 1, 2), (int)variable);
  }
  if (wants & WANTS_FACT) {
    int ordinary = l->constants == GEMEL__CONSTANTS_SHORT; /* else constants are wanted */
    return ordinary && gemel__random_chance(l->random, 2, 3) ? assumed(l, variable, name, type)
                                                             : proved(l, variable, name, type);
  }
  return gemel_input_at(l->graph, name, type, nowhere);
}

static gemel__ref ref_of(gemel_value value) {
  gemel__ref ref = {value.node, value.output};
  return ref;
}

static gemel_status bind_tensor(struct left *l, uint32_t variable, gemel_type type) {
  gemel_value value = leaf(l, variable, l->rule->variables[variable].name, type);
  if (gemel_is_null(value)) {
    return graph_error(l);
  }
  bind(l, variable, ref_of(value));
  return GEMEL_OK;
}

static gemel_status bind_variadic(struct left *l, uint32_t variable, uint32_t count,
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

/* Which operands of the proposal belong to each operand of the pattern. */
struct operand_layout {
  uint32_t first[GEMEL__RULE_NODES + 1];
  gemel__ref refs[GEMEL__PROPOSAL_INPUTS];
};

/* How many operands `..xs`, which is VARIABLE, matches. */
static uint32_t draw_count(struct left *l, uint32_t variable) {
  enum { MOST = 16, MOST_FAR = 64 };
  if (l->hint != NULL && l->hint->values[variable].kind == GEMEL__HINT_TENSORS) {
    return l->hint->values[variable].count;
  }
  const gemel__aimed_sizes *aimed = &l->sizes;
  if (aimed->n > 0 && gemel__random_chance(l->random, 1, aimed->reach ? 2 : 4)) {
    int64_t n = aimed->at[gemel__random_below(l->random, aimed->n)];
    if (n <= (aimed->reach ? MOST_FAR : MOST)) {
      return (uint32_t)n;
    }
  }
  return (uint32_t)gemel__random_below(l->random, MOST_VARIADIC + 1);
}

static gemel_status lay_out(struct left *l, const gemel__pattern *p, struct operand_layout *at) {
  uint32_t n = 0;
  for (uint32_t k = 0; k < p->n_operands; k++) {
    const gemel__pattern *operand = &l->rule->left.nodes[p->operands[k]];
    at->first[k] = n;
    if (operand->kind != GEMEL__PATTERN_VARIADIC) {
      n++;
    } else if (is_bound(l, operand->variable)) {
      n += l->terms[operand->variable].count;
    } else {
      n += draw_count(l, operand->variable);
    }
  }
  at->first[p->n_operands] = n;
  return n <= GEMEL__PROPOSAL_INPUTS ? GEMEL_OK : GEMEL_DECLINED;
}

static void know(const struct left *l, gemel__proposal *proposal, struct operand_layout *at,
                 uint32_t k, gemel__ref ref) {
  at->refs[k] = ref;
  proposal->inputs[k] = gemel__node_type(l->graph, ref.node, ref.output);
  proposal->known_input[k] = 1;
}

/* Tells the proposal the types of operands that are known. */
static void know_operands(struct left *l, const gemel__pattern *p, gemel__proposal *proposal,
                          struct operand_layout *at) {
  for (uint32_t k = 0; k < p->n_operands; k++) {
    const gemel__pattern *operand = &l->rule->left.nodes[p->operands[k]];
    if (operand->kind == GEMEL__PATTERN_APPLY) {
      know(l, proposal, at, at->first[k], l->values[p->operands[k]]);
    } else if (operand->kind == GEMEL__PATTERN_VARIABLE && is_bound(l, operand->variable)) {
      know(l, proposal, at, at->first[k], l->terms[operand->variable].u.tensor);
    } else if (operand->kind == GEMEL__PATTERN_VARIADIC && is_bound(l, operand->variable)) {
      for (uint32_t j = 0; j < l->terms[operand->variable].count; j++) {
        know(l, proposal, at, at->first[k] + j, l->terms[operand->variable].u.tensors[j]);
      }
    }
  }
}

static int is_free(const struct left *l, const gemel__pattern *operand) {
  return operand->kind == GEMEL__PATTERN_VARIABLE && !is_bound(l, operand->variable);
}

static int wants_scalar(const struct left *l, const gemel__pattern *operand) {
  return operand->kind == GEMEL__PATTERN_LITERAL ||
         (is_free(l, operand) && (l->wants[operand->variable] & WANTS_SCALAR));
}

/* The dtypes of all operands as the operation itself would draw them: those of an index, a mask or
 * a number beside a tensor aren't the tensor's. GEMEL_DECLINED, GEMEL_NO_MEMORY. */
static gemel_status draw_dtypes(const struct left *l, const gemel__proposal *known,
                                gemel_dtype *dtypes) {
  gemel__proposal probe = *known;
  GEMEL__TRY(gemel__propose(&probe, NULL));
  for (size_t k = 0; k < probe.n_inputs; k++) {
    dtypes[k] = gemel_type_dtype(l->context, probe.inputs[k]);
  }
  return GEMEL_OK;
}

/* Makes scalars of operands that are to be scalars. */
static gemel_status know_scalars(struct left *l, const gemel__pattern *p, gemel__proposal *proposal,
                                 const struct operand_layout *at) {
  gemel_dtype dtypes[GEMEL__PROPOSAL_INPUTS];
  int any = 0;
  for (uint32_t k = 0; k < p->n_operands; k++) {
    any |= wants_scalar(l, &l->rule->left.nodes[p->operands[k]]);
  }
  gemel_status status = any ? draw_dtypes(l, proposal, dtypes) : GEMEL_DECLINED;
  for (uint32_t k = 0; k < p->n_operands && status == GEMEL_OK; k++) {
    const gemel__pattern *operand = &l->rule->left.nodes[p->operands[k]];
    if (wants_scalar(l, operand) &&
        (operand->kind == GEMEL__PATTERN_VARIABLE || gemel__random_chance(l->random, 3, 4))) {
      proposal->inputs[at->first[k]] =
          gemel_type_of_shape(l->context, dtypes[at->first[k]], 0, NULL);
      proposal->known_input[at->first[k]] = 1;
    }
  }
  return status == GEMEL_NO_MEMORY ? status : GEMEL_OK;
}

/* The dtype for free operands of P: the one that is wished for where a variable is met first;
 * behind that another one that conditions allow, if they don't allow this one, or now and then:
 * often a float, as what comes first may be an index or a mask. */
static gemel_dtype node_dtype(struct left *l, const gemel__pattern *p) {
  unsigned allowed = ~0u, found = 0, first = !l->typed;
  for (uint32_t k = 0; k < p->n_operands; k++) {
    const gemel__pattern *operand = &l->rule->left.nodes[p->operands[k]];
    if (is_free(l, operand) && gemel__random_below(l->random, ++found) == 0) {
      allowed = l->dtypes[operand->variable];
    }
  }
  l->typed = found > 0 && first ? 2 : l->typed > 0;
  int other = l->mixes && gemel__random_chance(l->random, gemel__is_float(l->dtype) ? 1 : 2, 4);
  if (found == 0 || first || (allowed >> l->dtype & 1 && !other)) {
    return l->dtype;
  }
  int real = gemel__random_chance(l->random, 1, 2) && (allowed & gemel__float_dtypes) != 0;
  return gemel__dtype_among(real ? allowed & gemel__float_dtypes : allowed, l->dtype, l->random);
}

/* Tells the proposal the types that the hint has for variables that are met for the first time. */
static void know_hints(struct left *l, const gemel__pattern *p, gemel__proposal *proposal,
                       const struct operand_layout *at) {
  for (uint32_t k = 0; k < p->n_operands && l->hint != NULL; k++) {
    const gemel__pattern *operand = &l->rule->left.nodes[p->operands[k]];
    if ((operand->kind == GEMEL__PATTERN_VARIABLE || operand->kind == GEMEL__PATTERN_VARIADIC) &&
        !is_bound(l, operand->variable) &&
        gemel__hint_types(l->hint, operand->variable, l->context, l->dtype, l->random,
                          &proposal->inputs[at->first[k]])) {
      memset(&proposal->known_input[at->first[k]], 1, at->first[k + 1] - at->first[k]);
    }
  }
}

/* Gives operands that are met for the first time a dtype that conditions allow, where the proposed
 * one isn't: the operation says whether it takes that. A dtype that was wished for stays. */
static gemel_status allow_types(struct left *l, const gemel__pattern *p, gemel__proposal *proposal,
                                const struct operand_layout *at) {
  for (uint32_t k = 0; k < p->n_operands; k++) {
    const gemel__pattern *operand = &l->rule->left.nodes[p->operands[k]];
    gemel_type *type = &proposal->inputs[at->first[k]];
    gemel_dtype dtype = gemel_type_dtype(l->context, *type);
    int wished = l->typed == 2 && dtype == l->dtype;
    if (is_free(l, operand) && !wished && !(l->dtypes[operand->variable] >> dtype & 1)) {
      dtype = gemel__dtype_among(l->dtypes[operand->variable], dtype, l->random);
      *type =
          gemel_type_new(l->context, dtype, gemel_type_rank(l->context, *type),
                         gemel_type_dims(l->context, *type), gemel_type_space(l->context, *type));
      if (gemel_type_is_none(*type)) {
        return gemel__no_memory(l->error, "an instance");
      }
    }
  }
  return GEMEL_OK;
}

/* Binds variables that are met for the first time, with the proposed types. If one occurs twice,
 * its first type counts. */
static gemel_status bind_operands(struct left *l, const gemel__pattern *p,
                                  const gemel__proposal *proposal, struct operand_layout *at) {
  gemel_status status = GEMEL_OK;
  for (uint32_t k = 0; k < p->n_operands && status == GEMEL_OK; k++) {
    const gemel__pattern *operand = &l->rule->left.nodes[p->operands[k]];
    const gemel_type *types = &proposal->inputs[at->first[k]];
    if (operand->kind == GEMEL__PATTERN_LITERAL) {
      gemel_value value = uniform(l, types[0], &operand->number, -1);
      status = gemel_is_null(value) ? graph_error(l) : GEMEL_OK;
      at->refs[at->first[k]] = ref_of(value);
    } else if (operand->kind == GEMEL__PATTERN_VARIABLE && !is_bound(l, operand->variable)) {
      status = bind_tensor(l, operand->variable, types[0]);
    } else if (operand->kind == GEMEL__PATTERN_VARIADIC && !is_bound(l, operand->variable)) {
      status = bind_variadic(l, operand->variable, at->first[k + 1] - at->first[k], types);
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

/* Chooses the output k of f(x)@k. */
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
  gemel_status status = gemel__termexpr_bound(&p->output, l->bound)
                            ? gemel__term_evaluate(&p->output, l->scene, &term)
                            : GEMEL_DECLINED;
  if (status == GEMEL_OK && (term.kind != GEMEL__TERM_NUMBER || term.list[0].value < 0 ||
                             (uint64_t)term.list[0].value >= n)) {
    return GEMEL_DECLINED;
  }
  *output = status == GEMEL_OK ? (uint32_t)term.list[0].value : 0;
  return status;
}

static gemel_status make_node(struct left *l, const gemel__pattern *p,
                              const gemel__proposal *proposal, const struct operand_layout *at,
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

uint32_t gemel__rule_same_attr(const gemel__pattern *p, uint32_t k) {
  int variable = gemel__termexpr_variable(&p->attrs[k]);
  uint32_t j = 0;
  while (j < k && (variable < 0 || gemel__termexpr_variable(&p->attrs[j]) != variable)) {
    j++;
  }
  return j;
}

/* 1, *ENTRY and *NUMBER, if ATOM says that an entry of the list VARIABLE is a number. */
static int entry_goal(const struct left *l, const gemel__atom_goal *atom, uint32_t variable,
                      int64_t *entry, int64_t *number) {
  gemel__termexpr side[2];
  gemel__term at, is;
  uint32_t row;
  if (!gemel__goal_comparison(atom, &row, &side[0], &side[1]) ||
      row != (atom->holds ? GEMEL__OPERATOR_eq : GEMEL__OPERATOR_ne)) {
    return 0;
  }
  for (int turn = 0; turn < 2; turn++) {
    const gemel__termexpr *one = &side[turn], *other = &side[!turn];
    if (one->count < 3 || !gemel__is_operator(one, one->count, GEMEL__OPERATOR_index) ||
        one->code[0].kind != GEMEL__TERMCODE_VARIABLE || one->code[0].index != variable ||
        gemel__operand_start(one, one->count - 1) != 1) {
      continue;
    }
    gemel__termexpr place = gemel__part_of(one, 1, one->count - 1);
    if (gemel__termexpr_bound(&place, l->bound) && gemel__termexpr_bound(other, l->bound) &&
        gemel__term_evaluate(&place, l->scene, &at) == GEMEL_OK && gemel__is_integer(&at) &&
        gemel__term_evaluate(other, l->scene, &is) == GEMEL_OK && gemel__is_integer(&is)) {
      *entry = at.list[0].value;
      *number = is.list[0].value;
      return 1;
    }
  }
  return 0;
}

/* Lets the entries of ATTR, a list that was drawn for VARIABLE, be what the goal says of them; 1 if
 * it says so of any. */
static int meet_entries(const struct left *l, uint32_t variable, gemel_attr *attr) {
  int met = 0;
  for (size_t k = 0; k < l->goal->count; k++) {
    int64_t entry, number, *ints;
    if (attr->kind != (GEMEL_ATTR_INT | GEMEL_ATTR_LIST) ||
        !entry_goal(l, &l->goal->atoms[k], variable, &entry, &number)) {
      continue;
    }
    ints = gemel__arena_copy(l->scene->arena, attr->u.ints, attr->count * sizeof *ints);
    if (ints != NULL && entry >= 0 && (size_t)entry < attr->count) {
      ints[entry] = number;
      attr->u.ints = ints;
      met = 1;
    }
  }
  return met;
}

/* Proposes once more if conditions say what entries of lists are. */
static gemel_status propose_entries(struct left *l, const gemel__pattern *p,
                                    gemel__proposal *proposal) {
  int met = 0;
  for (uint32_t k = 0; k < p->n_attrs; k++) {
    int variable = gemel__termexpr_variable(&p->attrs[k]);
    if (variable >= 0 && !is_bound(l, (uint32_t)variable) &&
        meet_entries(l, (uint32_t)variable, &proposal->attrs[k])) {
      proposal->known_attr[k] = 1;
      met = 1;
    }
  }
  return met ? gemel__propose(proposal, l->error) : GEMEL_OK;
}

/* Builds a node by two proposals: one for the operands' types, and one for the rest, once these and
 * all that follows from them are known. */
static gemel_status build_node(struct left *l, uint32_t index) {
  const gemel__pattern *p = &l->rule->left.nodes[index];
  gemel__proposal proposal;
  struct operand_layout at;
  gemel_status status = lay_out(l, p, &at);
  memset(&proposal, 0, sizeof proposal);
  proposal.context = l->context;
  proposal.random = l->random;
  proposal.op = gemel__op_at(l->context, p->op);
  proposal.dtype = node_dtype(l, p);
  proposal.max_elements = l->sizes.max_elements;
  proposal.empty = l->empty;
  proposal.ranks = l->sizes.rank + 1;
  proposal.length = l->length;
  proposal.elements = l->sizes.elements;
  proposal.n_sizes = l->sizes.n;
  proposal.reach = l->sizes.reach;
  memcpy(proposal.sizes, l->sizes.at, sizeof l->sizes.at);
  proposal.n_inputs = at.first[p->n_operands];
  if (status != GEMEL_OK || p->n_attrs > GEMEL__PROPOSAL_ATTRS ||
      (proposal.n_inputs == 0 && p->n_operands > 0)) {
    return GEMEL_DECLINED;
  }
  gemel__proposal first = proposal;
  know_operands(l, p, &first, &at);
  know_attrs(l, p, &first);
  GEMEL__TRY(know_scalars(l, p, &first, &at));
  know_hints(l, p, &first, &at);
  status = gemel__propose(&first, l->error);
  status = status ? status : allow_types(l, p, &first, &at);
  status = status ? status : bind_operands(l, p, &first, &at);
  if (status != GEMEL_OK) {
    return status;
  }
  for (uint32_t k = 0; k < p->n_operands; k++) { /* literals have a value, but no variable */
    if (l->rule->left.nodes[p->operands[k]].kind == GEMEL__PATTERN_LITERAL) {
      know(l, &proposal, &at, at.first[k], at.refs[at.first[k]]);
    }
  }
  know_operands(l, p, &proposal, &at);
  know_attrs(l, p, &proposal);
  for (uint32_t k = 0; k < p->n_attrs; k++) {
    uint32_t same = gemel__rule_same_attr(p, k);
    if (!proposal.known_attr[k] && (same < k || gemel__random_chance(l->random, 3, 4))) {
      proposal.attrs[k] = first.attrs[same]; /* fits unless something else changed */
      proposal.known_attr[k] = 1;
    }
  }
  status = gemel__propose(&proposal, l->error);
  status = status ? status : propose_entries(l, p, &proposal);
  return status ? status : make_node(l, p, &proposal, &at, &l->values[index]);
}

/* Binds the name given by `as` to what was built. */
static void name_result(struct left *l, uint32_t index) {
  uint32_t named = l->rule->left.nodes[index].named;
  if (named != 0) {
    bind(l, named - 1, l->values[index]);
  }
}

gemel_status gemel__rule_left(const struct gemel_rule *rule, const gemel__rule_wish *wish,
                              const gemel__goal *goal, gemel__random *random, gemel__scene *scene,
                              gemel__ref *root, gemel__left_constants *constants,
                              gemel_error *error) {
  struct left l;
  gemel_status status = GEMEL_OK;
  memset(&l, 0, sizeof l);
  l.rule = rule;
  l.dtype = wish->dtype;
  l.empty = wish->empty;
  l.length = wish->length;
  l.random = random;
  l.scene = scene;
  l.graph = scene->graph;
  l.context = scene->graph->context;
  l.error = error;
  l.goal = goal;
  l.hint = wish->hint;
  l.constants = wish->constants;
  l.outcome = constants;
  memset(constants, 0, sizeof *constants);
  gemel__rule_numbers_of(rule, &l.numbers);
  l.numbers.length = wish->length;
  scene->variables = l.terms;
  gemel__sizes_aim(rule, wish, goal, &l.numbers, scene, random, &l.sizes);
  gemel__variable_dtypes(goal, scene, l.dtypes);
  for (size_t k = 0; k < goal->count; k++) {
    read_wants(&l, &goal->atoms[k].expr, !goal->atoms[k].holds);
  }
  for (size_t k = 0; k < goal->count; k++) {
    read_same(&l, &goal->atoms[k]);
  }
  for (uint32_t k = 0; k < rule->right.count; k++) { /* value(c) in an attribute */
    for (uint32_t j = 0; j < rule->right.nodes[k].n_attrs; j++) {
      read_wants(&l, &rule->right.nodes[k].attrs[j], 0);
    }
  }
  l.mixes = gemel__mixes_dtypes(rule);
  for (uint32_t k = 0; k < rule->left.count && status == GEMEL_OK; k++) {
    if (rule->left.nodes[k].kind == GEMEL__PATTERN_APPLY) {
      status = build_node(&l, k);
      name_result(&l, k);
    }
  }
  *root = l.values[rule->left.count - 1];
  return status;
}
