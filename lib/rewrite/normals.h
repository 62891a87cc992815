/* SPDX-License-Identifier: MIT
 *
 * Normal forms of attributes that were asked for lately: in a graph the same few come again and
 * again.
 */
#ifndef GEMEL__REWRITE_NORMALS_H
#define GEMEL__REWRITE_NORMALS_H

#include "core/context.h"

enum { GEMEL__NORMALS = 256, GEMEL__NORMAL_INPUTS = 3 };

/* What the normal form of some attributes was: all of its bytes are its key, but RESULT. */
typedef struct gemel__normal {
  uint32_t op, attrs, n;
  gemel_type types[GEMEL__NORMAL_INPUTS];
  uint32_t result;
} gemel__normal;

/* Zeroed is empty. Of one context. */
typedef struct gemel__normals {
  gemel__normal slots[GEMEL__NORMALS];
} gemel__normals;

/* *ATTRS, of OP on N inputs of TYPES, in their normal form. Errors are those of
 * gemel__normal_attrs. */
gemel_status gemel__normals_find(gemel__normals *normals, gemel_context *context,
                                 const gemel__op *op, uint32_t *attrs, size_t n,
                                 const gemel_type *types, gemel_error *error);

#endif
