/* SPDX-License-Identifier: MIT
 *
 * What a graph remembers while nodes are applied: results of type rules and scalar constants seen
 * lately, one small table each. Losing an entry costs time only. And type rules asked by
 * themselves.
 */
#ifndef GEMEL__CORE_APPLY_H
#define GEMEL__CORE_APPLY_H

#include "core/graph.h"

struct gemel__apply_memo;

struct gemel__apply_memo *gemel__memo_new(void);
void gemel__memo_free(struct gemel__apply_memo *memo);
size_t gemel__memo_bytes(const struct gemel__apply_memo *memo);

/* The type rule of OP on types alone: *N_OUTPUTS types into OUTPUTS (room for MAX_OUTPUTS; when
 * more are needed, *N_OUTPUTS says how many and nothing is written). INPUT_VALUES may be NULL. */
gemel_status gemel__infer(gemel_context *context, const gemel__op *op, uint32_t attrs,
                          size_t n_inputs, const gemel_type *inputs,
                          const gemel_value *input_values, size_t max_outputs, size_t *n_outputs,
                          gemel_type *outputs, gemel_error *error);

/* Puts "file:line: op(types): " before an error's message. */
void gemel__apply_context(gemel_context *context, const gemel__op *op, size_t n_inputs,
                          const gemel_type *inputs, gemel_location where, gemel_error *error);

#endif
