/* SPDX-License-Identifier: MIT
 *
 * Types and attributes by a hint, see hinted.h. What a proof says of any elements has no dtypes,
 * and an operand may have to be of another than the others (a condition, an index), so dtypes are
 * drawn.
 */
#include "rules/hinted.h"

#include <string.h>

int gemel__hint_attr(const gemel__hint *hint, uint32_t variable, gemel__arena *arena,
                     gemel__term *term) {
  const gemel__hint_value *v = &hint->values[variable];
  memset(term, 0, sizeof *term);
  if (v->kind == GEMEL__HINT_ABSENT) {
    term->kind = GEMEL__TERM_ABSENT;
    return 1;
  }
  if (v->kind != GEMEL__HINT_NUMBER && v->kind != GEMEL__HINT_LIST) {
    return 0;
  }
  gemel__entry *entries = gemel__arena_alloc(arena, (v->count + 1u) * sizeof *entries);
  for (uint32_t k = 0; entries != NULL && k < v->count; k++) {
    entries[k] = (gemel__entry){hint->numbers[v->first + k], GEMEL_DIM_NONE};
  }
  term->kind = v->kind == GEMEL__HINT_LIST ? GEMEL__TERM_LIST : GEMEL__TERM_NUMBER;
  term->count = v->count;
  term->list = entries;
  return entries != NULL;
}

static gemel_dtype draw_dtype(gemel_dtype said, gemel_dtype dtype, gemel__random *random) {
  if (said != GEMEL_DTYPE_COUNT) {
    return said;
  }
  return gemel__random_chance(random, 3, 4)   ? dtype
         : gemel__random_chance(random, 1, 2) ? GEMEL_BOOL
                                              : GEMEL_I64;
}

int gemel__hint_types(const gemel__hint *hint, uint32_t variable, gemel_context *context,
                      gemel_dtype dtype, gemel__random *random, gemel_type *types) {
  enum { MOST_ELEMENTS = 10000 };
  const gemel__hint_value *v = &hint->values[variable];
  const int64_t *shape = hint->numbers + v->first;
  if (v->kind != GEMEL__HINT_TENSORS) {
    return 0;
  }
  for (uint32_t k = 0; k < v->count; k++) {
    double elements = 1;
    for (int i = 0; i < v->ranks[k]; i++) {
      elements *= shape[i] >= 0 ? (double)shape[i] : MOST_ELEMENTS + 1;
    }
    if (elements > MOST_ELEMENTS) {
      return 0;
    }
    types[k] = gemel_type_of_shape(context, draw_dtype((gemel_dtype)v->dtypes[k], dtype, random),
                                   v->ranks[k], shape);
    shape += v->ranks[k];
  }
  return 1;
}
