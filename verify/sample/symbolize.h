/* SPDX-License-Identifier: MIT
 *
 * Replaces constant sizes by symbols: 2 becomes n2, 3 becomes n3. What holds of constant shapes by
 * accident doesn't hold of symbols. Sizes 0 and 1 stay, since type rules treat them specially.
 */
#ifndef GEMEL__SAMPLE_SYMBOLIZE_H
#define GEMEL__SAMPLE_SYMBOLIZE_H

#include "core/context.h"

enum { GEMEL__SYMBOLS = 64 };

/* Which symbol stands for which size. All zero: none yet. */
typedef struct gemel__symbols {
  size_t count;
  int64_t sizes[GEMEL__SYMBOLS];
  gemel_dim dims[GEMEL__SYMBOLS];
} gemel__symbols;

/* Writes the N types to SYMBOLIC with a symbol for each constant size above 1. Sizes that SYMBOLS
 * hasn't are added to it; beyond GEMEL__SYMBOLS of them, sizes stay constant. GEMEL_NO_MEMORY. */
gemel_status gemel__symbolize(gemel_context *context, size_t n, const gemel_type *types,
                              gemel_type *symbolic, gemel__symbols *symbols, gemel_error *error);

/* The same for the dims in the attributes ATTRS; only sizes that SYMBOLS has are replaced. *ID may
 * be ATTRS itself. */
gemel_status gemel__symbolize_attrs(gemel_context *context, uint32_t attrs,
                                    const gemel__symbols *symbols, uint32_t *id,
                                    gemel_error *error);

/* TYPE with the sizes that SYMBOLS has replaced. GEMEL_TYPE_NONE: no memory. */
gemel_type gemel__symbolized(gemel_context *context, gemel_type type,
                             const gemel__symbols *symbols);

#endif
