/* SPDX-License-Identifier: MIT
 *
 * Composites by name, and their expansion (syntax.h says what they are).
 */
#ifndef GEMEL__COMPOSITES_COMPOSITES_H
#define GEMEL__COMPOSITES_COMPOSITES_H

#include "composites/syntax.h"
#include "core/context.h"

/* The first from COMPOSITE on, of those parsed together, that is a composite called NAME; or NULL.
 */
const gemel__composite *gemel__composite_called(const gemel__composite *composite,
                                                const char *name);

/* The composite of CONTEXT that is called NAME, of gemel's own or a program's; NULL if there is
 * none, with *ERROR (may be NULL) GEMEL_OK, or another status. */
const gemel__composite *gemel__composite_find(gemel_context *context, const char *name,
                                              gemel_error *error);

/* The operator of ONNX that is called NAME of LENGTH bytes and has this DOMAIN; else as above. */
const gemel__composite *gemel__operator_find(gemel_context *context, const char *domain,
                                             size_t domain_length, const char *name, size_t length,
                                             gemel_error *error);

/* 1 if OPERATOR is one of onnx.operators. */
int gemel__is_own_operator(gemel_context *context, const gemel__composite *operator_);

/* 1 if gemel has an operator of this name in C. */
typedef int gemel__operator_taken(const char *domain, const char *name);

/* Parses TEXT and makes its composites and operators known to CONTEXT, all or none: GEMEL_BAD_TEXT,
 * GEMEL_BAD_ARGUMENT (a name that is taken), GEMEL_NO_MEMORY. */
gemel_status gemel__composites_define(gemel_context *context, const char *text, size_t length,
                                      const char *file, gemel__operator_taken *taken,
                                      gemel_error *error);

/* What an operator can ask of the node that it is applied for. */
typedef struct gemel__operator_node {
  int64_t opset;    /* the version of ONNX's operators: what "opset" is */
  size_t n_results; /* that the node has: what "results" is */
  /* A call of a function that is written in C (NULL: there are none): 1 if there is none called
   * NAME; 0, or -1 with the graph's error. */
  int (*call)(const struct gemel__operator_node *node, const char *name, size_t n,
              const gemel_value *operands, gemel_value *result);
} gemel__operator_node;

/* Appends to GRAPH what COMPOSITE computes of INPUTS, of which those that may be missing may be
 * null, and gives its results to OUTPUTS[0 .. N_OUTPUTS - 1]; null ones that this call doesn't
 * give. NODE is that of an operator, NULL otherwise. Returns OUTPUTS[0]: null with the graph's
 * error. */
gemel_value gemel__composite_expand(gemel_graph *graph, const gemel__composite *composite,
                                    const gemel__operator_node *node, size_t n_inputs,
                                    const gemel_value *inputs, size_t n_attrs,
                                    const gemel_attr *attrs, size_t n_outputs, gemel_value *outputs,
                                    gemel_location where);

/* What a context has, so that gemel_apply and texts of graphs know composites. */
extern const gemel__composing gemel__composing_by_name;

#endif
