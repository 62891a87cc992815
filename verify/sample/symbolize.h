/* SPDX-License-Identifier: MIT
 *
 * Shapes with names for their sizes: what holds on constant shapes by accident shows when each size
 * is a symbol. Sizes 0 and 1 stay what they are, since type rules treat them by themselves.
 */
#ifndef GEMEL__SAMPLE_SYMBOLIZE_H
#define GEMEL__SAMPLE_SYMBOLIZE_H

#include "core/context.h"

enum { GEMEL__SYMBOLS = 64 };

/* Which symbol stands for which size. Zeroed: none yet. */
typedef struct gemel__symbols {
  size_t count;
  int64_t sizes[GEMEL__SYMBOLS];
  gemel_dim dims[GEMEL__SYMBOLS];
} gemel__symbols;

/* Writes N types with a symbol for each size above 1 that is constant: n2 for 2, n3 for 3, whether
 * SYMBOLS has it already or not (then it is added; past GEMEL__SYMBOLS sizes stay constant).
 * GEMEL_NO_MEMORY. */
gemel_status gemel__symbolize(gemel_context *context, size_t n, const gemel_type *types,
                              gemel_type *symbolic, gemel__symbols *symbols, gemel_error *error);

/* The same for the dims among the attributes ATTRS, of sizes that SYMBOLS has; others stay. *ID may
 * be ATTRS itself. */
gemel_status gemel__symbolize_attrs(gemel_context *context, uint32_t attrs,
                                    const gemel__symbols *symbols, uint32_t *id,
                                    gemel_error *error);

/* A type with the symbols that SYMBOLS has, and no new ones; GEMEL_TYPE_NONE: no memory. */
gemel_type gemel__symbolized(gemel_context *context, gemel_type type,
                             const gemel__symbols *symbols);

#endif
