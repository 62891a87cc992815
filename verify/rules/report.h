/* SPDX-License-Identifier: MIT
 *
 * Shows a refuted rule: both sides in one graph with two outputs.
 */
#ifndef GEMEL__RULES_REPORT_H
#define GEMEL__RULES_REPORT_H

#include "pairs/pair.h"
#include "harness/run.h"

/* The text of a counterexample: both sides in one graph, VALUES (NULL: none are known), and the
 * results LEFT and RIGHT at PLACE. Free it with gemel_text_free. NULL when memory is out. */
char *gemel__rule_shown(const gemel__pair *pair, size_t output, gemel_tensor *const *values,
                        const char *place, const char *left, const char *right);

/* Emits Q's record as refuted by output OUTPUT of PAIR at VALUES (NULL: none are known), with
 * results LEFT and RIGHT at PLACE, and writes the replay. */
void gemel__rule_refuted(gemel__inquiry *q, const gemel__pair *pair, size_t output,
                         gemel_tensor *const *values, const char *place, const char *left,
                         const char *right, uint64_t seed);

#endif
