/* SPDX-License-Identifier: MIT
 *
 * Where do two graphs part? Nodes with equal values at a witness are matched.
 */
#ifndef GEMEL__VERIFY_ALIGN_H
#define GEMEL__VERIFY_ALIGN_H

#include "instance.h"

/* Writes to TEXT which nodes of A and B are the first whose inputs all have a match in the other
 * graph but whose own value has none; "" if the graphs can't be aligned (too large, or values
 * match). */
void gemel__align(const gemel__instance *a, const gemel__instance *b, gemel_tensor *const *values,
                  char *text, size_t bytes);

#endif
