/* SPDX-License-Identifier: MIT
 *
 * What measuring two graphs finds: words, and points at which they differ. See needs.h.
 */
#include <gemel/verify.h>
#include <stdio.h>
#include <string.h>
#include "core/alloc.h"
#include "core/dtype.h"
#include "core/error.h"
#include "pairs/needs.h"
#include "tiers/tiers.h"

void gemel__witness_clear(gemel__witness *witness) {
  gemel__tensors_free(witness->pair.a.n_leaves, witness->values);
  gemel__pair_clear(&witness->pair);
  memset(witness, 0, sizeof *witness);
}

void gemel__witness_move(gemel__witness *into, gemel__witness *from) {
  if (into->values == NULL && from->values != NULL) {
    *into = *from;
    memset(from, 0, sizeof *from);
  }
}

static gemel_status copy_instance(gemel__instance *to, const gemel__instance *from,
                                  gemel_error *error) {
  GEMEL__TRY(gemel__instance_of_graph(to, from->graph, NULL, error));
  for (size_t k = 0; k < from->n_leaves; k++) {
    to->leaves[k] = from->leaves[k];
  }
  return GEMEL_OK;
}

gemel_status gemel__witness_take(gemel__witness *witness, const gemel__pair *pair,
                                 gemel_tensor *const *values, const gemel__both *both,
                                 size_t output, size_t element, gemel_error *error) {
  size_t n = pair->a.n_leaves, k;
  gemel_status status = copy_instance(&witness->pair.a, &pair->a, error);
  status = status ? status : copy_instance(&witness->pair.b, &pair->b, error);
  witness->values = status == GEMEL_OK ? gemel__alloc_array(n, sizeof *witness->values) : NULL;
  if (witness->values == NULL) {
    gemel__pair_clear(&witness->pair);
    return gemel__no_memory(error, "a witness");
  }
  for (k = 0; k < n; k++) {
    witness->values[k] = gemel_tensor_ref(values[k]);
  }
  witness->pair.plain = pair->plain;
  witness->output = output;
  witness->element = element;
  gemel__both_format(both, output, element, witness->left, witness->right, sizeof witness->left);
  return GEMEL_OK;
}

void gemel__needs_clear(gemel__needs *needs) {
  for (size_t k = 0; k < GEMEL_NEEDS_COUNT; k++) {
    gemel__witness_clear(&needs->witness[k]);
  }
  gemel__witness_clear(&needs->too_far);
  gemel__witness_clear(&needs->improvement);
  gemel__witness_clear(&needs->worse);
  gemel__witness_clear(&needs->loss);
  memset(needs, 0, sizeof *needs);
}

void gemel__needs_text(unsigned needs, char *text, size_t bytes) {
  static const char *const names[] = {
#define NEED_NAME(E, name, meaning) #name,
      GEMEL_NEEDS_TABLE(NEED_NAME) GEMEL_PAIR_TABLE(NEED_NAME)
#undef NEED_NAME
  };
  size_t k, used = 0;
  text[0] = '\0';
  for (k = 0; k < sizeof names / sizeof *names && used < bytes; k++) {
    if (needs >> k & 1) {
      used += (size_t)snprintf(text + used, bytes - used, "%s%s", used > 0 ? ", " : "", names[k]);
    }
  }
}
