/* SPDX-License-Identifier: MIT
 *
 * Proposals for random numbers: a key, any shape, and the draft's dtype if the operation has that
 * attribute.
 */
#include "sample/draft.h"

static gemel_status propose_random(gemel__draft *d, gemel_kind kind, gemel_dtype otherwise) {
  gemel__shape *key = &d->in[0], shape = {0};
  gemel__list *sizes = &d->attrs[0], *dtype = &d->attrs[1];
  if (!key->known) {
    *key = (gemel__shape){.dtype = GEMEL_U64, .rank = 1, .dims = {2}};
  }
  if (!sizes->known) {
    gemel__draw_shape(d, &shape, 0);
    gemel__limit_shape(d, &shape, 0);
    gemel__list_fill(sizes, shape.rank, 0);
    for (int k = 0; k < shape.rank; k++) {
      sizes->at[k] = shape.dims[k];
    }
  }
  if (!dtype->known) {
    int fits = !dtype->absent && gemel_dtype_kind(d->dtype) == kind;
    gemel__list_fill(dtype, 1, fits ? d->dtype : otherwise);
  }
  return d->n_inputs == 1 ? GEMEL_OK : GEMEL_DECLINED;
}

gemel_status gemel__propose_random_bits(gemel__draft *d) {
  return propose_random(d, GEMEL_KIND_UNSIGNED, GEMEL_U32);
}

gemel_status gemel__propose_random_reals(gemel__draft *d) {
  return propose_random(d, GEMEL_KIND_FLOAT, GEMEL_F32);
}
