/* SPDX-License-Identifier: MIT
 *
 * The functions of operators.def: each makes the node C of gemel's operations and returns its first
 * result; null, with the error in the graph, where it can't.
 */
#ifndef GEMEL__ONNX_OPERATORS_H
#define GEMEL__ONNX_OPERATORS_H

#include "onnx/call.h"

#define OPERATOR(domain, name, least, most, build, as) gemel_value build(gemel__onnx_call *c);
#include "onnx/operators.def"

/* 1 if DOMAIN is that of ONNX, which has two names. */
int gemel__onnx_is_own(gemel__wire_span domain);

/* The node C by the text of its row. */
gemel_value gemel__onnx_by_text(gemel__onnx_call *c);

/* Sets C's row to the operator of this name; leaves it where there is none. GEMEL_OK, or the error.
 */
gemel_status gemel__onnx_find_operator(gemel__onnx_call *c, gemel__wire_span domain,
                                       gemel__wire_span name, gemel_error *error);

#endif
