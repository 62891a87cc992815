/* SPDX-License-Identifier: MIT
 *
 * What a kernel on trial may give up: see allowed.h.
 */
#include "tiers/allowed.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <gemel/rewrite.h>
#include "core/dtype.h"
#include "reference/own.h"
#include "tiers/kernel.h"

enum {
  SPECIAL = GEMEL_NEEDS_BIT(NNAN) | GEMEL_NEEDS_BIT(NINF) | GEMEL_NEEDS_BIT(NSZ),
  ROUNDING = GEMEL_NEEDS_BIT(CONTRACT) | GEMEL_NEEDS_BIT(ARCP) | GEMEL_NEEDS_BIT(AFN) |
             GEMEL_NEEDS_BIT(REASSOC)
};

unsigned gemel__allowed(const gemel__instance *instance, const gemel__trial *trial) {
  return (trial->kernel != NULL ? trial->kernel->allow : 0) |
         gemel__references_allow(instance->graph);
}

/* What stands in the place of X. */
static double allow_number(unsigned allow, double x) {
  if (isnan(x)) {
    return allow & GEMEL_NEEDS_BIT(NNAN) ? 1 : x;
  }
  if (isinf(x)) {
    return allow & GEMEL_NEEDS_BIT(NINF) ? copysign(2, x) : x;
  }
  return x == 0 && (allow & GEMEL_NEEDS_BIT(NSZ)) ? 0 : x;
}

void gemel__values_allow(const gemel__instance *instance, unsigned allow,
                         gemel_tensor *const *values) {
  for (size_t k = 0; k < instance->n_leaves && (allow & SPECIAL) != 0; k++) {
    const gemel__leaf *leaf = &instance->leaves[k];
    char *data = gemel_tensor_data(values[k]);
    size_t size = gemel_dtype_size(leaf->dtype);
    for (size_t i = 0; gemel__is_float(leaf->dtype) && i < leaf->count; i++) {
      double x = gemel__decode(leaf->dtype, data + i * size), y = allow_number(allow, x);
      if (!(x == y) ? !isnan(y) : signbit(x) != signbit(y)) {
        gemel__dtype_store(leaf->dtype, y, data + i * size);
      }
    }
  }
}

int gemel__values_have_nan(const gemel__instance *instance, gemel_tensor *const *values) {
  for (size_t k = 0; k < instance->n_leaves; k++) {
    const gemel__leaf *leaf = &instance->leaves[k];
    const char *data = gemel_tensor_data(values[k]);
    size_t size = gemel_dtype_size(leaf->dtype);
    for (size_t i = 0; gemel__is_float(leaf->dtype) && i < leaf->count; i++) {
      if (isnan(gemel__decode(leaf->dtype, data + i * size))) {
        return 1;
      }
    }
  }
  return 0;
}

void gemel__allowed_text(unsigned allow, const char *before, char *text, size_t bytes) {
  size_t used = 0;
  text[0] = '\0';
  for (int k = 0; k < GEMEL_NEEDS_COUNT; k++) {
    if (allow & (SPECIAL | ROUNDING) & 1u << k && used < bytes) {
      used += (size_t)snprintf(text + used, bytes - used, "%s%s", used == 0 ? before : ", ",
                               gemel_needs_word(k));
    }
  }
}
