/* SPDX-License-Identifier: MIT
 *
 * Building right sides one operation at a time, so that the engine can rewrite each before the next
 * uses it.
 */
#ifndef GEMEL__REWRITE_BUILD_H
#define GEMEL__REWRITE_BUILD_H

#include "rewrite/match.h"

/* The attributes of the operations of a side, evaluated: by node of the side. */
typedef struct gemel__template_attrs {
  const gemel_attr *attrs;
  uint32_t count;
  uint32_t output; /* of f(x)@k */
} gemel__template_attrs;

/* Evaluates the attributes of SIDE in SCENE, whose arena keeps them. GEMEL_DECLINED: one has no
 * value; GEMEL_NO_MEMORY. */
gemel_status gemel__template_evaluate(const gemel__rule_side *side, const gemel__scene *scene,
                                      const gemel__template_attrs **attrs);

/* Marks what a literal's place holds until it is known which dtype it takes. */
#define GEMEL__LITERAL_NODE UINT32_MAX

/* The value that node INDEX of SIDE is when it is no operation. */
gemel__ref gemel__template_leaf(const gemel__rule_side *side, uint32_t index,
                                const gemel__term *terms);

/* Gathers the operands of node INDEX from VALUES (by node of the side): as many as *COUNT says, in
 * OPERANDS, which has room for ROOM; GEMEL_DECLINED and *COUNT if that is not enough. Literals
 * become scalar constants of GRAPH, in the dtype of the operands beside them, or else of WANT.
 * GEMEL_BAD_VALUE: the dtype can't hold a literal; GEMEL_NO_MEMORY. */
gemel_status gemel__template_operands(const gemel__rule_side *side, uint32_t index,
                                      gemel_graph *graph, const gemel__ref *values,
                                      const gemel__term *terms, gemel_dtype want,
                                      gemel_location where, gemel_value *operands, size_t room,
                                      size_t *count);

/* The literal of node INDEX as a scalar of DTYPE; the null value with the error on the graph. */
gemel_value gemel__template_literal(const gemel__rule_side *side, uint32_t index,
                                    gemel_graph *graph, gemel_dtype dtype, gemel_location where);

/* Applies node INDEX to OPERANDS. The null value with the error on the graph. */
gemel_value gemel__template_apply(const gemel__rule_side *side, uint32_t index, gemel_graph *graph,
                                  const gemel__template_attrs *attrs, size_t count,
                                  const gemel_value *operands, gemel_location where);

/* Builds SIDE in SCENE, operation by operation, without rewriting anything; literals that stand
 * alone take the dtype WANT. The null value: GEMEL_DECLINED in *STATUS (an attribute has no value),
 * or another with the error on the graph. For the harness. */
gemel_value gemel__side_build(const gemel__rule_side *side, const gemel__scene *scene,
                              gemel_dtype want, gemel_location where, gemel_status *status);

#endif
