/* SPDX-License-Identifier: MIT
 *
 * Every operation's reference, declared from the rows of lib/ops/ops.def and lib/ops/scalar.def:
 * the name of a reference is its row's name.
 */
#ifndef GEMEL__REFERENCE_TABLE_H
#define GEMEL__REFERENCE_TABLE_H

#include "reference/reference.h"

#define OP(name, ...) gemel_status gemel__reference_##name(gemel__rcall *call);
#include "ops/ops.def"
#undef OP
#define SCALAR(name, ...) gemel_status gemel__reference_##name(gemel__rcall *call);
#include "ops/scalar.def"
#undef SCALAR

#endif
