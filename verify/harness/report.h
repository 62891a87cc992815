/* SPDX-License-Identifier: MIT
 *
 * Counterexamples as text (report.c) and as folders (saved.c).
 */
#ifndef GEMEL__HARNESS_REPORT_H
#define GEMEL__HARNESS_REPORT_H

#include <gemel/verify.h>
#include "base/buffer.h"
#include "instances/instance.h"

/* The text of a counterexample: the graph (of a pair: both; OTHER is the second), its inputs, the
 * place, and the expected and the computed result (of a pair: the first and the second one's).
 * EXPECTED NULL: PLACE alone. Freed with gemel_text_free; NULL when memory is out. VALUES and OTHER
 * may be NULL. */
char *gemel__counterexample(const gemel__instance *instance, const gemel_graph *other,
                            gemel_tensor *const *values, const char *place, const char *expected,
                            const char *got);

/* Appends only the inputs, one a line. */
void gemel__print_inputs(gemel__buffer *b, const gemel__instance *instance,
                         gemel_tensor *const *values);

/* Writes a refutation to a new folder inside FOLDER (NULL: nowhere), for `gemel verify --replay`.
 * Returns its path (freed with gemel__free_string), or NULL. OTHER is the second graph of a pair,
 * or NULL. */
char *gemel__replay_write(const char *folder, const gemel_record *record,
                          const gemel__instance *instance, const gemel_graph *other,
                          gemel_tensor *const *values, uint64_t seed);

#endif
