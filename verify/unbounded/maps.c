/* SPDX-License-Identifier: MIT
 *
 * How operands are broadcast: which axis of a result an axis of an operand goes along, and at which
 * place it is read there.
 */
#include "unbounded/pull.h"

static gemel__pterm is_one(gemel__pscene *s, gemel__pterm size) {
  return gemel__p_equal(&s->terms, size, gemel__p_number(&s->terms, 1));
}

/* 1 if TRUTH is among what holds, as it stands. */
static int holds_already(const gemel__pscene *s, gemel__pterm truth) {
  size_t k = 0;
  while (k < s->n_known && s->known[k] != truth) {
    k++;
  }
  return k < s->n_known;
}

/* How an axis of size A is read where T's has size B. That they are the same is found out when the
 * graph runs, but only a literal 1 is repeated: on the right side a size that is 1 by what it comes
 * to isn't enough, and either of the two is only where the left side has just that, too. */
static unsigned char map_axis(gemel__pscene *s, gemel__pterm a, gemel__pterm b) {
  gemel__pterms *terms = &s->terms;
  gemel__pterm same = gemel__p_equal(terms, a, b), one = is_one(s, a);
  gemel__pterm either = gemel__p_or(terms, same, one);
  if (!gemel__p_is_true(terms, same) && gemel__pscene_is_literal_one(s, a)) {
    return GEMEL__PMAP_ZERO;
  }
  if (gemel__pscene_provable(s, same, GEMEL__PSTEP_FOLLOWS)) {
    return GEMEL__PMAP_SAME;
  }
  if (!s->right && gemel__pscene_provable(s, one, GEMEL__PSTEP_FOLLOWS)) {
    return GEMEL__PMAP_ZERO;
  }
  if (!s->right) {
    gemel__pscene_assume(s, either, 1);
  } else if (!holds_already(s, either)) {
    gemel__pscene_need(s, either, 1,
                       "sizes that don't broadcast"); /* where it isn't so is a hint */
    gemel__pscene_stop(s, GEMEL__P_OPEN, "the right side: sizes that don't broadcast");
  }
  return GEMEL__PMAP_EITHER;
}

void gemel__ptensor_map(gemel__pscene *s, gemel__ptensor *t, uint32_t k) {
  const gemel__ptensor *x = t->operands[k];
  int shift = t->rank - x->rank;
  if (shift < 0) {
    gemel__pull_refuse(s, "a broadcast to fewer axes");
    return;
  }
  for (int axis = 0; axis < x->rank && s->flow == GEMEL__P_GO; axis++) {
    gemel__pmap *map = &t->maps[k][axis];
    map->along = (unsigned char)(shift + axis);
    map->kind = map_axis(s, x->shape[axis], t->shape[shift + axis]);
  }
}

gemel__pterm gemel__ptensor_pull_operand(gemel__pscene *s, const gemel__ptensor *t, uint32_t k,
                                         const gemel__pterm *index) {
  gemel__pterms *terms = &s->terms;
  const gemel__ptensor *x = t->operands[k];
  gemel__pterm at[GEMEL__PAXES], zero = gemel__p_number(terms, 0);
  for (int axis = 0; axis < x->rank; axis++) {
    const gemel__pmap *map = &t->maps[k][axis];
    at[axis] = map->kind == GEMEL__PMAP_ZERO ? zero : index[map->along];
    if (map->kind == GEMEL__PMAP_EITHER) {
      at[axis] = gemel__p_choose(terms, is_one(s, x->shape[axis]), zero, at[axis]);
    }
  }
  return gemel__ptensor_pull(s, x, at);
}
