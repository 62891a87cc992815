/* SPDX-License-Identifier: MIT
 *
 * Building right sides: attributes are evaluated first, all of them, so that a rule whose
 * attributes have no value builds nothing; then operands are gathered and operations applied.
 */
#include "rewrite/build.h"

#include <string.h>
#include "core/alloc.h"
#include "core/dtype.h"
#include "core/sizes.h"
#include "ops/ops.h"

/* ---- Attributes ---- */

static gemel_status evaluate_node(const gemel__pattern *p, const gemel__scene *scene,
                                  gemel__template_attrs *out) {
  const gemel__op *op = gemel__op_at(scene->graph->context, p->op);
  gemel_attr *attrs = gemel__arena_alloc(scene->arena, (p->n_attrs + 1) * sizeof *attrs);
  gemel__term term;
  gemel_status status = GEMEL_OK;
  if (attrs == NULL) {
    return gemel__no_memory(scene->error, "attributes");
  }
  out->attrs = attrs;
  out->count = 0;
  for (uint32_t k = 0; k < p->n_attrs && status == GEMEL_OK; k++) {
    if (p->attrs[k].count == 0) {
      continue;
    }
    status = gemel__term_evaluate(&p->attrs[k], scene, &term);
    if (status == GEMEL_OK && term.kind != GEMEL__TERM_ABSENT) {
      status = gemel__term_to_attr(scene, &term, &op->record.attrs[k], &attrs[out->count]);
      out->count += status == GEMEL_OK;
    }
  }
  if (status == GEMEL_OK && p->any_output) {
    status = gemel__term_evaluate(&p->output, scene, &term);
    if (status == GEMEL_OK &&
        (term.kind != GEMEL__TERM_NUMBER || !gemel_dim_is_none(term.list[0].dim))) {
      return GEMEL_DECLINED;
    }
    out->output = status == GEMEL_OK ? (uint32_t)term.list[0].value : 0;
  }
  return status;
}

gemel_status gemel__template_evaluate(const gemel__rule_side *side, const gemel__scene *scene,
                                      const gemel__template_attrs **attrs) {
  gemel__template_attrs *all = gemel__arena_alloc(scene->arena, side->count * sizeof *all);
  gemel_status status = GEMEL_OK;
  if (all == NULL) {
    return gemel__no_memory(scene->error, "attributes");
  }
  memset(all, 0, side->count * sizeof *all);
  for (uint32_t k = 0; k < side->count && status == GEMEL_OK; k++) {
    if (side->nodes[k].kind == GEMEL__PATTERN_APPLY &&
        (side->nodes[k].n_attrs > 0 || side->nodes[k].any_output)) {
      status = evaluate_node(&side->nodes[k], scene, &all[k]);
    }
  }
  *attrs = all;
  return status;
}

/* ---- Operands ---- */

gemel__ref gemel__template_leaf(const gemel__rule_side *side, uint32_t index,
                                const gemel__term *terms) {
  const gemel__pattern *p = &side->nodes[index];
  gemel__ref none = {GEMEL__LITERAL_NODE, 0};
  return p->kind == GEMEL__PATTERN_VARIABLE ? terms[p->variable].u.tensor : none;
}

/* A scalar constant with the bits of ELEMENT. */
static gemel_value scalar_of(gemel_graph *graph, gemel_dtype dtype, const void *element,
                             gemel_location where) {
  gemel_view view = {dtype, 0, NULL, NULL, (void *)element};
  gemel_tensor *tensor = gemel_tensor_copy(&view, NULL);
  if (tensor == NULL) {
    return gemel__graph_fail_at(graph, where, GEMEL_NO_MEMORY, "out of memory for a constant");
  }
  gemel_value value = gemel_constant_at(graph, tensor, where);
  gemel_tensor_unref(tensor);
  return value;
}

gemel_value gemel__template_literal(const gemel__rule_side *side, uint32_t index,
                                    gemel_graph *graph, gemel_dtype dtype, gemel_location where) {
  const gemel__number *number = &side->nodes[index].number;
  unsigned char element[8] = {0};
  if (gemel__number_store(number, dtype, element) != GEMEL_OK) {
    return gemel__graph_fail_at(graph, where, GEMEL_BAD_VALUE, "%s can't hold %.17g",
                                gemel_dtype_name(dtype), gemel__number_double(number));
  }
  /* what f64 holds is kept by the graph for the next rule that asks for it */
  double x = gemel__dtype_load(dtype, element);
  int whole = number->magnitude > (uint64_t)1 << 53 && !gemel__is_float(dtype);
  return whole || x != x ? scalar_of(graph, dtype, element, where)
                         : gemel_scalar_at(graph, dtype, x, where);
}

/* The dtype that literals among the operands of P take. */
static gemel_dtype literal_dtype(const gemel__rule_side *side, const gemel__pattern *p,
                                 const gemel_graph *graph, const gemel__ref *values,
                                 const gemel__term *terms, gemel_dtype want) {
  const gemel__scalar_row *row = gemel__scalar_row_of(&gemel__op_at(graph->context, p->op)->record);
  uint32_t first = row != NULL && row->code == GEMEL__TYPE_SELECT; /* a condition says nothing */
  for (uint32_t k = first; k < p->n_operands; k++) {
    const gemel__pattern *operand = &side->nodes[p->operands[k]];
    gemel__ref ref = values[p->operands[k]];
    if (operand->kind == GEMEL__PATTERN_VARIADIC) {
      if (terms[operand->variable].count == 0) {
        continue;
      }
      ref = terms[operand->variable].u.tensors[0];
    }
    if (operand->kind != GEMEL__PATTERN_LITERAL) {
      return gemel__ref_dtype(graph, ref);
    }
  }
  return want;
}

static size_t operand_count(const gemel__rule_side *side, const gemel__pattern *p,
                            const gemel__term *terms) {
  size_t n = 0;
  for (uint32_t k = 0; k < p->n_operands; k++) {
    const gemel__pattern *operand = &side->nodes[p->operands[k]];
    n += operand->kind == GEMEL__PATTERN_VARIADIC ? terms[operand->variable].count : 1;
  }
  return n;
}

gemel_status gemel__template_operands(const gemel__rule_side *side, uint32_t index,
                                      gemel_graph *graph, const gemel__ref *values,
                                      const gemel__term *terms, gemel_dtype want,
                                      gemel_location where, gemel_value *operands, size_t room,
                                      size_t *count) {
  const gemel__pattern *p = &side->nodes[index];
  size_t n = 0;
  *count = operand_count(side, p, terms);
  if (*count > room) {
    return GEMEL_DECLINED;
  }
  for (uint32_t k = 0; k < p->n_operands; k++) {
    const gemel__pattern *operand = &side->nodes[p->operands[k]];
    if (operand->kind == GEMEL__PATTERN_VARIADIC) {
      const gemel__term *term = &terms[operand->variable];
      for (uint32_t j = 0; j < term->count; j++) {
        operands[n++] = gemel__value(graph, term->u.tensors[j]);
      }
    } else if (operand->kind == GEMEL__PATTERN_LITERAL) {
      gemel_dtype dtype = literal_dtype(side, p, graph, values, terms, want);
      operands[n] = gemel__template_literal(side, p->operands[k], graph, dtype, where);
      if (gemel_is_null(operands[n++])) {
        return graph->error.status;
      }
    } else {
      operands[n++] = gemel__value(graph, values[p->operands[k]]);
    }
  }
  return GEMEL_OK;
}

static gemel_value apply(gemel_graph *graph, const gemel__op *op,
                         const gemel__template_attrs *attrs, size_t count,
                         const gemel_value *operands, gemel_location where) {
  gemel_error error;
  uint32_t id = 0;
  if (gemel__runtime_sizes(attrs->count, attrs->attrs, graph->context)) {
    return gemel__apply_sized(graph, op->id, count, operands, attrs->count, attrs->attrs, where);
  }
  if (op->n_attrs > 0 && gemel__attrs_intern(graph->context, op, attrs->count, attrs->attrs, &id,
                                             &error) != GEMEL_OK) {
    gemel__error_place(&error, where);
    return gemel__graph_take_error(graph, &error);
  }
  return gemel__apply(graph, op->id, id, count, operands, where);
}

gemel_value gemel__template_apply(const gemel__rule_side *side, uint32_t index, gemel_graph *graph,
                                  const gemel__template_attrs *attrs, size_t count,
                                  const gemel_value *operands, gemel_location where) {
  const gemel__pattern *p = &side->nodes[index];
  const gemel__op *op = gemel__op_at(graph->context, p->op);
  gemel_value value = apply(graph, op, &attrs[index], count, operands, where);
  if (gemel_is_null(value) || attrs[index].output == 0) {
    return value;
  }
  gemel_value output = gemel_value_output(value, attrs[index].output);
  return !gemel_is_null(output)
             ? output
             : gemel__graph_fail_at(graph, where, GEMEL_BAD_ARGUMENT, "%s has no output %u",
                                    op->record.name, (unsigned)attrs[index].output);
}

/* ---- A whole side ---- */

static gemel_value build_node(const gemel__rule_side *side, uint32_t index,
                              const gemel__scene *scene, const gemel__template_attrs *attrs,
                              const gemel__ref *values, gemel_dtype want, gemel_location where) {
  gemel_value local[GEMEL__RULE_NODES], *operands = local, made = {NULL, 0, 0};
  size_t count, room = GEMEL__RULE_NODES;
  gemel_status status = gemel__template_operands(
      side, index, scene->graph, values, scene->variables, want, where, operands, room, &count);
  if (status == GEMEL_DECLINED) {
    room = count;
    operands = gemel__alloc_array(room, sizeof *operands);
    if (operands == NULL) {
      return gemel__graph_fail_at(scene->graph, where, GEMEL_NO_MEMORY, "out of memory for a rule");
    }
    status = gemel__template_operands(side, index, scene->graph, values, scene->variables, want,
                                      where, operands, room, &count);
  }
  if (status == GEMEL_OK) {
    made = gemel__template_apply(side, index, scene->graph, attrs, count, operands, where);
  }
  if (operands != local) {
    gemel__free(operands, room * sizeof *operands);
  }
  return made;
}

gemel_value gemel__side_build(const gemel__rule_side *side, const gemel__scene *scene,
                              gemel_dtype want, gemel_location where, gemel_status *status) {
  const gemel__template_attrs *attrs;
  gemel__ref values[GEMEL__RULE_NODES];
  gemel_value made = {NULL, 0, 0};
  *status = gemel__template_evaluate(side, scene, &attrs);
  for (uint32_t k = 0; k < side->count && *status == GEMEL_OK; k++) {
    if (side->nodes[k].kind != GEMEL__PATTERN_APPLY) {
      values[k] = gemel__template_leaf(side, k, scene->variables);
      continue;
    }
    made = build_node(side, k, scene, attrs, values, want, where);
    *status = gemel_is_null(made) ? gemel_graph_error(scene->graph)->status : GEMEL_OK;
    values[k].node = made.node;
    values[k].output = made.output;
  }
  if (*status != GEMEL_OK) {
    return (gemel_value){NULL, 0, 0};
  }
  uint32_t root = side->count - 1;
  switch (side->nodes[root].kind) {
  case GEMEL__PATTERN_LITERAL:
    made = gemel__template_literal(side, root, scene->graph, want, where);
    *status = gemel_is_null(made) ? gemel_graph_error(scene->graph)->status : GEMEL_OK;
    return made;
  case GEMEL__PATTERN_VARIABLE:
    return gemel__value(scene->graph, values[root]);
  default:
    return made;
  }
}
