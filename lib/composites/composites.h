/* SPDX-License-Identifier: MIT
 *
 * Composites by name, and their expansion (syntax.h says what they are).
 */
#ifndef GEMEL__COMPOSITES_COMPOSITES_H
#define GEMEL__COMPOSITES_COMPOSITES_H

#include "composites/syntax.h"
#include "core/context.h"

/* The composite of CONTEXT that is called NAME; NULL if there is none, with *ERROR (may be NULL)
 * GEMEL_OK, or another status. */
const gemel__composite *gemel__composite_find(gemel_context *context, const char *name,
                                              gemel_error *error);

/* Appends to GRAPH what COMPOSITE computes of INPUTS, of which those that may be missing may be
 * null, and gives its results to OUTPUTS[0 .. N_OUTPUTS - 1]; null ones that this call doesn't
 * give. Returns OUTPUTS[0]: null with the graph's error. */
gemel_value gemel__composite_expand(gemel_graph *graph, const gemel__composite *composite,
                                    size_t n_inputs, const gemel_value *inputs, size_t n_attrs,
                                    const gemel_attr *attrs, size_t n_outputs, gemel_value *outputs,
                                    gemel_location where);

/* What a context has, so that gemel_apply and texts of graphs know composites. */
extern const gemel__composing gemel__composing_by_name;

#endif
