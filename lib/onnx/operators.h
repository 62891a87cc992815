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

#endif
