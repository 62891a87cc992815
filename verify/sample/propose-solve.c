/* SPDX-License-Identifier: MIT
 *
 * Proposals for linear systems and determinants: square matrices, and right sides with as many
 * rows. Either may be known. Sizes are small, since references take time for the third power of
 * them.
 */
#include "sample/draft.h"

enum { MOST_ROWS = 12 };

/* Draws matrices as many as fit. */
static void draw_square(gemel__draft *d, gemel__shape *a) {
  gemel__draw_shape(d, a, 2);
  int64_t *rows = &a->dims[a->rank - 2];
  *rows = *rows > MOST_ROWS ? MOST_ROWS : *rows;
  rows[1] = *rows;
  gemel__limit_shape(d, a, 3u << (a->rank - 2));
}

/* B = as many rows as A has, and any number of columns. */
static void draw_columns(gemel__draft *d, gemel__shape *b, const gemel__shape *a) {
  gemel__copy_shape(b, a);
  b->dims[b->rank - 1] = gemel__draw_dim(d);
  gemel__limit_shape(d, b, ~(1u << (b->rank - 1)));
}

gemel_status gemel__propose_solve(gemel__draft *d) {
  gemel__shape *a = &d->in[0], *b = &d->in[1];
  int has_right = d->op->record.min_inputs == 2;
  if (has_right && b->known && b->rank >= 2 && !a->known) {
    gemel__copy_shape(a, b);
    a->dims[a->rank - 1] = a->dims[a->rank - 2];
  } else if (!a->known) {
    draw_square(d, a);
  }
  if (a->rank < 2 || (a->dtype != GEMEL_F32 && a->dtype != GEMEL_F64)) {
    return GEMEL_DECLINED;
  }
  if (has_right && !b->known) {
    draw_columns(d, b, a);
  }
  for (size_t k = 0; k < d->op->n_attrs; k++) {
    if (!d->attrs[k].known) {
      gemel__list_fill(&d->attrs[k], 1, d->attrs[k].absent ? 0 : gemel__one_in(d, 2));
    }
  }
  return GEMEL_OK;
}
