/* SPDX-License-Identifier: MIT
 *
 * See normals.h. A table with one place for each hash: what is asked for next takes it.
 */
#include "rewrite/normals.h"

#include <string.h>
#include "core/attrs.h"

static gemel__normal *slot_of(gemel__normals *normals, const gemel__normal *wanted) {
  uint64_t key = (uint64_t)wanted->op << 32 ^ wanted->attrs;
  for (uint32_t k = 0; k < wanted->n; k++) {
    key = key * 31 + wanted->types[k];
  }
  return &normals->slots[(key * 0x9e3779b97f4a7c15u) >> 56];
}

gemel_status gemel__normals_find(gemel__normals *normals, gemel_context *context,
                                 const gemel__op *op, uint32_t *attrs, size_t n,
                                 const gemel_type *types, gemel_error *error) {
  gemel__normal wanted = {op->id, *attrs, (uint32_t)n, {0}, 0}, *found;
  if (n > GEMEL__NORMAL_INPUTS || op->id > context->n_builtins) {
    return gemel__normal_attrs(context, op, *attrs, n, types, attrs, error);
  }
  memcpy(wanted.types, types, n * sizeof *types);
  found = slot_of(normals, &wanted);
  wanted.result = found->result;
  if (memcmp(&wanted, found, sizeof wanted) != 0) {
    gemel_status status = gemel__normal_attrs(context, op, *attrs, n, types, &wanted.result, error);
    if (status != GEMEL_OK) {
      return status;
    }
    *found = wanted;
  }
  *attrs = wanted.result;
  return GEMEL_OK;
}
