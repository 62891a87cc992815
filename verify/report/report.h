/* SPDX-License-Identifier: MIT
 *
 * Counterexamples, as text (report.c) and in folders (saved.c).
 */
#ifndef GEMEL__REPORT_REPORT_H
#define GEMEL__REPORT_REPORT_H

#include <gemel/verify.h>
#include "base/buffer.h"
#include "instances/instance.h"

/* Text of a counterexample: graph (of a pair: both, OTHER is the second), inputs, what was expected
 * and what came (of a pair: what the first and the second gave; EXPECTED NULL: PLACE says it all).
 * Freed with gemel_text_free; NULL when memory is out. VALUES and OTHER may be NULL. */
char *gemel__counterexample(const gemel__instance *instance, const gemel_graph *other,
                            gemel_tensor *const *values, const char *place, const char *expected,
                            const char *got);

/* Of these the inputs alone, a line each. */
void gemel__print_inputs(gemel__buffer *b, const gemel__instance *instance,
                         gemel_tensor *const *values);

/* Writes it into a folder of its own in FOLDER (NULL: nowhere), for `gemel verify --replay`, and
 * returns its path (freed with gemel__free_string), or NULL. OTHER is the second graph of a pair,
 * or NULL. */
char *gemel__replay_write(const char *folder, const gemel_record *record,
                          const gemel__instance *instance, const gemel_graph *other,
                          gemel_tensor *const *values, uint64_t seed);

#endif
