/* SPDX-License-Identifier: MIT
 *
 * A left side whose sizes are symbols. What is only found out when it runs, that two sizes are
 * equal or that one isn't negative, isn't known when the rule is applied.
 */
#ifndef GEMEL__RULES_CLAIM_SYMBOLS_H
#define GEMEL__RULES_CLAIM_SYMBOLS_H

#include "base/random.h"
#include "core/graph.h"

enum { GEMEL__CLAIM_SYMBOLS = 12 };

/* Symbols, and the sizes that they stand for. */
typedef struct gemel__claim_sizes {
  size_t count;
  const char *names[GEMEL__CLAIM_SYMBOLS];
  int64_t sizes[GEMEL__CLAIM_SYMBOLS];
} gemel__claim_sizes;

/* *SYMBOLIC = LEFT with a symbol of its own for most axes of its inputs, but for those of size 1,
 * which stay; NULL: there is no such axis, or an operation refuses. GEMEL_OK or GEMEL_NO_MEMORY. */
gemel_status gemel__claim_symbolic(const gemel_graph *left, gemel__random *random,
                                   gemel__claim_sizes *sizes, gemel_graph **symbolic);

#endif
