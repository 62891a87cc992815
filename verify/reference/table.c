/* SPDX-License-Identifier: MIT
 *
 * The table of references, one entry for each row of lib/ops/ops.def and lib/ops/scalar.def: an
 * operation without a reference doesn't link.
 */
#include "reference/table.h"

#include <string.h>

static const struct {
  const char *name;
  gemel__reference reference;
} entries[] = {
#define OP(name, ...) {#name, gemel__reference_##name},
#include "ops/ops.def"
#undef OP
#define SCALAR(name, ...) {#name, gemel__reference_##name},
#include "ops/scalar.def"
#undef SCALAR
};

gemel__reference gemel__reference_find(const char *name) {
  for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++) {
    if (strcmp(entries[i].name, name) == 0) {
      return entries[i].reference;
    }
  }
  return NULL;
}
