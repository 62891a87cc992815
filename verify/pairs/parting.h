/* SPDX-License-Identifier: MIT
 *
 * The nodes at which two graphs begin to differ when they run, by the names that the graphs' own
 * format has for them.
 */
#ifndef GEMEL__PAIRS_PARTING_H
#define GEMEL__PAIRS_PARTING_H

#include "pairs/pair.h"

enum { GEMEL__PARTING_TEXT = 120 };

/* Writes to TEXTS, for each graph of PAIR, the first node whose value at VALUES no node of the
 * other graph has, though its operands are had: "Pow 'p'" of a model, "pow (graph.gmt:3)" of a
 * text. "" where there is none, or the graphs are too large or don't run. */
void gemel__parting_name(const gemel__pair *pair, gemel_tensor *const *const points[2],
                         gemel__random *random, char texts[2][GEMEL__PARTING_TEXT]);

#endif
