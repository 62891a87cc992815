/* SPDX-License-Identifier: MIT
 *
 * Procedural passes: gemel's own, from passes.def, and a program's.
 */
#ifndef GEMEL__PASSES_PASSES_H
#define GEMEL__PASSES_PASSES_H

#include <gemel/rewrite.h>

#define PASS(name, phase, before, needs, summary)                                                  \
  gemel_graph *gemel__pass_##name(const gemel_graph *graph, const void *data, uint64_t *applied,   \
                                  gemel_error *error);                                             \
  gemel_status gemel__generate_##name(gemel_graph *graph, uint64_t (*random)(void *state),         \
                                      void *state, const void *data);
#include "passes/passes.def"
#undef PASS

/* 1 for gemel's own. */
int gemel__pass_is_own(const gemel_pass *pass);

/* Runs PASS on *GRAPH, whose reference is given back for the new one. GEMEL_INTERNAL if the result
 * has other inputs or outputs; what the pass says, with its name before. */
gemel_status gemel__pass_run(const gemel_pass *pass, gemel_graph **graph, uint64_t *applied,
                             gemel_error *error);

#endif
