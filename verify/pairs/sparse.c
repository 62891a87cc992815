/* SPDX-License-Identifier: MIT
 *
 * Sparse inputs, see sparse.h.
 */
#include "pairs/sparse.h"

#include <string.h>
#include "core/tensor.h"
#include "instances/assumed.h"
#include "pairs/numbers.h"

enum { FEW = 16, PLACES = 14, GREATEST = 12 };

static void note(void *user, int64_t number) {
  gemel__sparse *s = user;
  size_t k = 0;
  while (k < s->n && s->numbers[k] > number) {
    k++;
  }
  if (number < 2 || k == GEMEL__SPARSE_NUMBERS || (k < s->n && s->numbers[k] == number)) {
    return;
  }
  s->n += s->n < GEMEL__SPARSE_NUMBERS;
  memmove(&s->numbers[k + 1], &s->numbers[k], (s->n - k - 1) * sizeof *s->numbers);
  s->numbers[k] = number;
}

void gemel__sparse_find(gemel__sparse *s, const gemel_graph *a, const gemel_graph *b) {
  s->n = 0;
  gemel__numbers_each(a, note, s);
  gemel__numbers_each(b, note, s);
}

/* A number of the graphs, or one beside it; 0 if there is none. */
static int64_t number_beside(const gemel__sparse *s, gemel__random *random) {
  return s->n == 0
             ? 0
             : s->numbers[gemel__random_below(random, s->n)] + gemel__random_between(random, -1, 1);
}

/* A number below SIZE, as often from 0 to 1 as from 2 to 3, from 4 to 7, … */
static int64_t near_0(int64_t size, gemel__random *random) {
  int bits = 0;
  while (size >> bits > 1) {
    bits++;
  }
  int64_t most = (int64_t)1 << gemel__random_below(random, (uint64_t)bits + 1);
  return gemel__random_between(random, 0, most < size ? most : size - 1);
}

/* A coordinate on an axis of SIZE; BEFORE is that on another axis. */
static int64_t coordinate(const gemel__sparse *s, int64_t size, int64_t before,
                          gemel__random *random) {
  int64_t at = 0;
  switch (gemel__random_below(random, 6)) {
  case 0:
    at = number_beside(s, random);
    break;
  case 1:
    at = size - number_beside(s, random);
    break;
  case 2:
    at = before + gemel__random_between(random, -1, 1) * number_beside(s, random);
    break;
  case 3:
    at = near_0(size, random);
    break;
  case 4:
    at = size - 1 - near_0(size, random);
    break;
  default:
    at = -1;
  }
  return at >= 0 && at < size ? at : gemel__random_between(random, 0, size - 1);
}

/* Place K of LEAF: the first element, the last one, or any other. */
static size_t place(const gemel__sparse *s, const gemel__leaf *leaf, int k, gemel__random *random) {
  size_t flat = 0;
  int64_t before = gemel__random_between(random, 0, leaf->shape[0] - 1);
  for (int j = 0; j < leaf->rank; j++) {
    int64_t size = leaf->shape[j];
    before = k == 0 ? 0 : k == 1 ? size - 1 : coordinate(s, size, before, random);
    flat = flat * (size_t)size + (size_t)before;
  }
  return flat;
}

static void fill(const gemel__sparse *s, const gemel__leaf *leaf, size_t turn,
                 gemel__random *random, gemel_tensor *tensor) {
  int positive = leaf->range == GEMEL_RANGE_POSITIVE || leaf->range == GEMEL_RANGE_NONZERO;
  int ground = positive || gemel__random_chance(random, 1, 4);
  int greatest = turn < 2 ? 1 - (int)turn : (int)gemel__random_below(random, PLACES);
  size_t at[PLACES];
  for (size_t k = 0; k < leaf->count; k++) {
    gemel__leaf_put(leaf, gemel__leaf_at(leaf, tensor, k), ground);
  }
  for (int k = 0; k < PLACES; k++) {
    at[k] = place(s, leaf, k, random);
    gemel__leaf_put(leaf, gemel__leaf_at(leaf, tensor, at[k]),
                    leaf->dtype == GEMEL_BOOL ? !ground : gemel__random_between(random, 2, 9));
  }
  if (leaf->dtype != GEMEL_BOOL) {
    gemel__leaf_put(leaf, gemel__leaf_at(leaf, tensor, at[greatest]), GREATEST);
  }
}

int gemel__sparse_put(const gemel__sparse *s, const gemel__instance *instance, size_t turn,
                      gemel__random *random, gemel_tensor *const *values) {
  int some = 0;
  for (size_t k = 0; k < instance->n_leaves; k++) {
    const gemel__leaf *leaf = &instance->leaves[k];
    if (leaf->count > FEW && leaf->range != GEMEL_RANGE_INDEX) {
      fill(s, leaf, turn, random, values[k]);
      some = 1;
    }
  }
  return some;
}
