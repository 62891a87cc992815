/* SPDX-License-Identifier: MIT
 *
 * Procedural passes: gemel's own, from passes.def, and a program's.
 */
#ifndef GEMEL__PASSES_PASSES_H
#define GEMEL__PASSES_PASSES_H

#include <gemel/rewrite.h>

#define PASS(name, phase, before, tags, needs, summary)                                            \
  gemel_status gemel__pass_##name(gemel_edit *edit, const void *data, gemel_error *error);         \
  gemel_status gemel__generate_##name(gemel_graph *graph, uint64_t (*random)(void *user),          \
                                      void *user, const void *data);
#include "passes/passes.def"
#undef PASS

/* PASS as a rule is described, which is what it is chosen by. */
gemel_rule_info gemel__pass_info(const gemel_pass *pass);

/* 1 for gemel's own. */
int gemel__pass_is_own(const gemel_pass *pass);

#endif
