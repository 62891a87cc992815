/* SPDX-License-Identifier: MIT
 *
 * Matching recurses on the depth of a pattern, which its text limits. Tensor variables bind on the
 * way down; attributes of operations met on the way are noted, and looked at when all operations
 * fit: bare names bind first, then what is computed is compared, then the conditions are asked.
 */
#include "rewrite/match.h"

#include <string.h>
#include "core/dtype.h"
#include "core/schema.h"
#include "core/tensor.h"
#include "core/attrs.h"

typedef struct met {
  const gemel__pattern *pattern;
  gemel__ref value;
} met;

typedef struct matcher {
  const struct gemel_rule *rule;
  gemel__scene *scene;
  gemel__binding *binding;
  uint32_t order;
  met met[GEMEL__RULE_NODES];
  uint32_t n_met;
} matcher;

/* ---- Orders ---- */

/* Position of node K among the commutative nodes of the side. */
static uint32_t commutative_before(const gemel__rule_side *side, uint32_t k) {
  uint32_t n = 0;
  for (uint32_t j = 0; j < k; j++) {
    n += side->nodes[j].commutative;
  }
  return n;
}

uint32_t gemel__rule_orders(const struct gemel_rule *rule) {
  return 1u << commutative_before(&rule->left, rule->left.count);
}

uint32_t gemel__rule_operand(const struct gemel_rule *rule, uint32_t order, uint32_t index,
                             uint32_t k) {
  const gemel__pattern *p = &rule->left.nodes[index];
  if (p->commutative && (order >> commutative_before(&rule->left, index) & 1)) {
    k = 1 - k;
  }
  return p->operands[k];
}

uint32_t gemel__rule_child(const struct gemel_rule *rule, uint32_t order, uint32_t k) {
  uint32_t root = rule->left.count - 1;
  const gemel__pattern *p = &rule->left.nodes[root];
  for (uint32_t j = 0; j <= k; j++) { /* behind a variadic variable, positions are not known */
    if (j >= p->n_operands || rule->left.nodes[p->operands[j]].kind == GEMEL__PATTERN_VARIADIC) {
      return 0;
    }
  }
  const gemel__pattern *child = &rule->left.nodes[gemel__rule_operand(rule, order, root, k)];
  return child->kind == GEMEL__PATTERN_APPLY ? child->op : 0;
}

/* ---- Literals ---- */

int gemel__literal_is(const gemel__number *number, const gemel_tensor *tensor) {
  gemel_dtype dtype = gemel_tensor_dtype(tensor);
  unsigned char element[8] = {0};
  if (gemel__number_store(number, dtype, element) != GEMEL_OK) {
    return 0;
  }
  /* 0.1 rounds when it is stored, and so does it where a program writes it; but 1e99 must not
   * match the infinity that it is in f32 */
  double stored = gemel__dtype_load(dtype, element), asked = gemel__number_double(number);
  if (stored - stored != 0 && asked - asked == 0) {
    return 0;
  }
  return memcmp(element, gemel_tensor_data(tensor), gemel_dtype_size(dtype)) == 0;
}

static int match_literal(const matcher *m, const gemel__pattern *p, gemel__ref value) {
  const gemel_tensor *tensor;
  return gemel__uniform_constant(m->scene->graph, value, &tensor) &&
         gemel__literal_is(&p->number, tensor);
}

/* ---- Structure ---- */

static int bind_tensor(matcher *m, uint32_t variable, gemel__ref value) {
  gemel__term *term = &m->binding->terms[variable];
  if (m->binding->bound >> variable & 1) {
    return gemel__same_ref(term->u.tensor, value);
  }
  memset(term, 0, sizeof *term);
  term->kind = GEMEL__TERM_TENSOR;
  term->u.tensor = value;
  m->binding->bound |= 1u << variable;
  return 1;
}

static int bind_variadic(matcher *m, uint32_t variable, const gemel__ref *values, uint32_t count) {
  gemel__term *term = &m->binding->terms[variable];
  if (m->binding->bound >> variable & 1) {
    return term->count == count &&
           (count == 0 || memcmp(term->u.tensors, values, count * sizeof *values) == 0);
  }
  memset(term, 0, sizeof *term);
  term->kind = GEMEL__TERM_TENSORS;
  term->count = count;
  term->u.tensors = values;
  m->binding->bound |= 1u << variable;
  return 1;
}

/* What variadic variables are bound to is copied when all operations fit: the graph's pool may move
 * while a template is built. */
static gemel_status keep_variadic(const matcher *m) {
  for (uint32_t k = 0; k < m->rule->n_variables; k++) {
    gemel__term *term = &m->binding->terms[k];
    if (m->rule->variables[k].kind != GEMEL__TERM_TENSORS || !(m->binding->bound >> k & 1)) {
      continue;
    }
    size_t bytes = term->count * sizeof *term->u.tensors;
    gemel__ref *copy = gemel__arena_alloc(m->scene->arena, bytes + 1);
    if (copy == NULL) {
      return gemel__no_memory(m->scene->error, "a match");
    }
    memcpy(copy, term->u.tensors, bytes);
    term->u.tensors = copy;
  }
  return GEMEL_OK;
}

/* How many operands a variadic variable at FROM may take at least, of COUNT: all that those behind
 * it leave, if there is no other such variable among them. */
static uint32_t least_taken(const matcher *m, uint32_t index, uint32_t from, uint32_t count) {
  const gemel__pattern *p = &m->rule->left.nodes[index];
  uint32_t behind = p->n_operands - from - 1;
  for (uint32_t k = from + 1; k < p->n_operands; k++) {
    if (m->rule->left.nodes[p->operands[k]].kind == GEMEL__PATTERN_VARIADIC) {
      return 0;
    }
  }
  return count - (behind < count ? behind : count);
}

static int match_node(matcher *m, uint32_t index, gemel__ref value);

/* Operands FROM.. of the pattern against VALUES; variadic variables take as few as they can. */
static int match_operands(matcher *m, uint32_t index, uint32_t from, const gemel__ref *values,
                          uint32_t count) {
  const gemel__pattern *p = &m->rule->left.nodes[index];
  for (; from < p->n_operands; from++, values++, count--) {
    uint32_t node = gemel__rule_operand(m->rule, m->order, index, from);
    const gemel__pattern *operand = &m->rule->left.nodes[node];
    if (operand->kind == GEMEL__PATTERN_VARIADIC) {
      uint32_t bound = m->binding->bound, n_met = m->n_met;
      for (uint32_t n = least_taken(m, index, from, count); n <= count; n++) {
        m->binding->bound = bound;
        m->n_met = n_met;
        if (bind_variadic(m, operand->variable, values, n) &&
            match_operands(m, index, from + 1, values + n, count - n)) {
          return 1;
        }
      }
      return 0;
    }
    if (count == 0 || !match_node(m, node, *values)) {
      return 0;
    }
  }
  return count == 0;
}

static int match_apply(matcher *m, uint32_t index, const gemel__pattern *p, gemel__ref value) {
  const gemel_graph *graph = m->scene->graph;
  const gemel__node *node = gemel__node_at(graph, value.node);
  uint32_t count;
  if (node->op != p->op || (!p->any_output && node->n_outputs != 1)) {
    return 0;
  }
  if (p->named != 0 && !bind_tensor(m, p->named - 1, value)) {
    return 0;
  }
  const gemel__ref *inputs = gemel__node_inputs(graph, value.node, &count);
  m->met[m->n_met].pattern = p;
  m->met[m->n_met++].value = value;
  /* sizes that nodes produce are operands behind its own; they are in the attributes too */
  if (gemel__attrs_at(graph->context, node->attrs)->has_runtime) {
    count = (uint32_t)gemel__op_at(graph->context, node->op)->record.min_inputs;
  }
  return match_operands(m, index, 0, inputs, count);
}

static int match_node(matcher *m, uint32_t index, gemel__ref value) {
  const gemel__pattern *p = &m->rule->left.nodes[index];
  switch (p->kind) {
  case GEMEL__PATTERN_VARIABLE:
    return bind_tensor(m, p->variable, value);
  case GEMEL__PATTERN_LITERAL:
    return match_literal(m, p, value);
  default:
    return match_apply(m, index, p, value);
  }
}

/* ---- Attributes ---- */

static int mentions_all(const gemel__pattern *p) {
  uint32_t k = 0;
  while (k < p->n_attrs && p->attrs[k].count != 0) {
    k++;
  }
  return k == p->n_attrs;
}

/* An attribute that isn't mentioned has its fallback, or what that is in the normal form: all other
 * attributes as they are, this one left out, gives the same node. */
static gemel_status check_fallbacks(const matcher *m, const met *at) {
  const gemel_graph *graph = m->scene->graph;
  gemel_context *context = graph->context;
  const gemel__op *op = gemel__op_at(context, at->pattern->op);
  uint32_t attrs = gemel__node_at(graph, at->value.node)->attrs, plain, normal, count, n = 0;
  const gemel_attr *values = gemel__attrs_at(context, attrs)->values;
  const gemel__ref *inputs = gemel__node_inputs(graph, at->value.node, &count);
  gemel_attr given[GEMEL__MAX_ATTRS];
  gemel_type types[GEMEL__RULE_NODES];
  if (mentions_all(at->pattern)) {
    return GEMEL_OK;
  }
  for (uint32_t k = 0; k < op->n_attrs; k++) {
    if (at->pattern->attrs[k].count != 0 && values[k].kind != GEMEL_ATTR_NONE) {
      given[n++] = values[k];
    }
  }
  if (n == op->n_attrs) {
    return GEMEL_OK;
  }
  if (gemel__attrs_intern(context, op, n, given, &plain, m->scene->error) != GEMEL_OK) {
    return GEMEL_NO_MEMORY;
  }
  if (plain == attrs) {
    return GEMEL_OK;
  }
  if (count > GEMEL__RULE_NODES) {
    return GEMEL_DECLINED;
  }
  for (uint32_t k = 0; k < count; k++) {
    types[k] = gemel__node_type(graph, inputs[k].node, inputs[k].output);
  }
  gemel_status status =
      gemel__normal_attrs(context, op, plain, count, types, &normal, m->scene->error);
  return status == GEMEL_OK && normal == attrs ? GEMEL_OK
         : status == GEMEL_NO_MEMORY           ? status
                                               : GEMEL_DECLINED;
}

/* Binds the attributes written as bare names, and the number of an output. */
static gemel_status bind_term(matcher *m, const gemel__termexpr *expr, const gemel__term *term) {
  int variable = gemel__termexpr_variable(expr);
  if (variable < 0) {
    return GEMEL_OK;
  }
  if (m->binding->bound >> variable & 1) {
    return gemel__term_same(m->scene->graph->context, &m->binding->terms[variable], term)
               ? GEMEL_OK
               : GEMEL_DECLINED;
  }
  m->binding->terms[variable] = *term;
  m->binding->bound |= 1u << variable;
  return GEMEL_OK;
}

static gemel_status output_term(const matcher *m, uint32_t output, gemel__term *term) {
  gemel__entry entry = {output, GEMEL_DIM_NONE};
  memset(term, 0, sizeof *term);
  term->kind = GEMEL__TERM_NUMBER;
  term->count = 1;
  term->list = gemel__arena_copy(m->scene->arena, &entry, sizeof entry);
  return term->list != NULL ? GEMEL_OK : gemel__no_memory(m->scene->error, "a match");
}

/* Hands each attribute that the pattern mentions to VISIT. */
static gemel_status each_attr(matcher *m, const met *at,
                              gemel_status (*visit)(matcher *, const gemel__termexpr *,
                                                    const gemel__term *)) {
  const gemel_graph *graph = m->scene->graph;
  uint32_t attrs = gemel__node_at(graph, at->value.node)->attrs;
  const gemel_attr *values = gemel__attrs_at(graph->context, attrs)->values;
  gemel_status status = GEMEL_OK;
  gemel__term term;
  for (uint32_t k = 0; k < at->pattern->n_attrs && status == GEMEL_OK; k++) {
    if (at->pattern->attrs[k].count != 0) {
      status = gemel__term_of_attr(m->scene, at->value.node, &values[k], &term);
      status = status ? status : visit(m, &at->pattern->attrs[k], &term);
    }
  }
  if (status == GEMEL_OK && at->pattern->any_output) {
    status = output_term(m, at->value.output, &term);
    status = status ? status : visit(m, &at->pattern->output, &term);
  }
  return status;
}

/* An attribute that is computed must be what it comes out as. */
static gemel_status compare_term(matcher *m, const gemel__termexpr *expr, const gemel__term *term) {
  gemel__term computed;
  if (gemel__termexpr_variable(expr) >= 0) {
    return GEMEL_OK;
  }
  gemel_status status = gemel__term_evaluate(expr, m->scene, &computed);
  return status                                                        ? status
         : gemel__term_same(m->scene->graph->context, &computed, term) ? GEMEL_OK
                                                                       : GEMEL_DECLINED;
}

static gemel_status check_conditions(const matcher *m) {
  gemel__term term;
  for (uint32_t k = 0; k < m->rule->n_conditions; k++) {
    m->binding->asked = k + 1;
    gemel_status status = gemel__term_evaluate(&m->rule->conditions[k], m->scene, &term);
    if (status != GEMEL_OK || !gemel__term_holds(&term)) {
      return status ? status : GEMEL_DECLINED;
    }
  }
  return GEMEL_OK;
}

gemel_status gemel__rule_match(const struct gemel_rule *rule, uint32_t order, gemel__scene *scene,
                               gemel__ref root, gemel__binding *binding) {
  matcher m;
  m.rule = rule;
  m.scene = scene;
  m.binding = binding;
  m.order = order;
  m.n_met = 0;
  binding->bound = binding->asked = 0;
  scene->variables = binding->terms;
  if (!match_node(&m, rule->left.count - 1, root)) {
    return GEMEL_DECLINED;
  }
  gemel_status status = keep_variadic(&m);
  for (uint32_t k = 0; k < m.n_met && status == GEMEL_OK; k++) {
    status = each_attr(&m, &m.met[k], bind_term);
  }
  for (uint32_t k = 0; k < m.n_met && status == GEMEL_OK; k++) {
    status = each_attr(&m, &m.met[k], compare_term);
  }
  binding->oldest = root.node;
  for (uint32_t k = 0; k < m.n_met && status == GEMEL_OK; k++) {
    uint32_t node = m.met[k].value.node;
    binding->oldest = node < binding->oldest ? node : binding->oldest;
    status = m.met[k].pattern->n_attrs > 0 ? check_fallbacks(&m, &m.met[k]) : GEMEL_OK;
  }
  return status ? status : check_conditions(&m);
}
