/* SPDX-License-Identifier: MIT
 *
 * Generators of passes: what makes graphs on which a pass fires. A program's pass brings its own,
 * gemel's are known here by name. Those of passes on loops are in generate-*.c, for they draw loops
 * as the sampler of `scan` does, the others beside their pass.
 */
#ifndef GEMEL__SAMPLE_GENERATORS_H
#define GEMEL__SAMPLE_GENERATORS_H

#include <gemel/rewrite.h>

/* As gemel_pass.generate. */
typedef gemel_status (*gemel__generator)(gemel_graph *graph, uint64_t (*random)(void *user),
                                         void *user, const void *data);

/* The generator of PASS. */
gemel__generator gemel__generator_of(const gemel_pass *pass);

#endif
