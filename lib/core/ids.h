/* SPDX-License-Identifier: MIT
 *
 * Numbers of gemel's own operations: the rows of ops.def and scalar.def in their order, from 1 on.
 * Every context registers them first and in this order, so they are the ids there, and code that is
 * about one operation says `node->op == GEMEL__OP_constant`. A name that has no row doesn't
 * compile.
 */
#ifndef GEMEL__CORE_IDS_H
#define GEMEL__CORE_IDS_H

enum {
  GEMEL__OP_NONE,
#define OP(name, ...) GEMEL__OP_##name,
#include "ops/ops.def"
#undef OP
#define SCALAR(name, ...) GEMEL__OP_##name,
#include "ops/scalar.def"
#undef SCALAR
  GEMEL__OP_COUNT
};

#endif
