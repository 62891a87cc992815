/* SPDX-License-Identifier: MIT
 *
 * The generators of gemel's own passes: a row of passes.def without one doesn't link.
 */
#include "sample/generators.h"

#include <string.h>
#include "passes/passes.h"

static const struct {
  const char *pass;
  gemel__generator generate;
} generators[] = {
#define PASS(name, ...) {#name, gemel__generate_##name},
#include "passes/passes.def"
#undef PASS
};

gemel__generator gemel__generator_of(const gemel_pass *pass) {
  gemel__generator generate = pass->generate;
  for (size_t k = 0; generate == NULL && k < sizeof generators / sizeof *generators; k++) {
    generate = strcmp(generators[k].pass, pass->name) == 0 ? generators[k].generate : NULL;
  }
  return generate;
}
