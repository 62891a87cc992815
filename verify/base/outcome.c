/* SPDX-License-Identifier: MIT
 *
 * Describing an outcome in words, see outcome.h.
 */
#include "base/outcome.h"

#include <stdio.h>
#include <string.h>

size_t gemel__outcome_place(const gemel__outcome *o, char *text, size_t bytes) {
  size_t used = (size_t)snprintf(text, bytes, "output %zu", o->output);
  if (o->call > 0) {
    used += (size_t)snprintf(text + used, bytes - used, " of call %zu", o->call);
  }
  return used + (size_t)snprintf(text + used, bytes - used, ", element %zu", o->element);
}

void gemel__outcome_numbers(gemel__outcome *outcome, gemel_dtype dtype, const void *expected,
                            const char *as, const void *got) {
  size_t used;
  gemel__element_format(dtype, expected, outcome->expected, sizeof outcome->expected);
  used = strlen(outcome->expected);
  snprintf(outcome->expected + used, sizeof outcome->expected - used, "%s", as);
  gemel__element_format(dtype, got, outcome->got, sizeof outcome->got);
}
