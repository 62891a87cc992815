/* SPDX-License-Identifier: MIT
 *
 * Sparse inputs, see sparse.h.
 */
#include "pairs/sparse.h"

#include <math.h>
#include <string.h>
#include "core/tensor.h"
#include "instances/assumed.h"
#include "pairs/numbers.h"

enum {
  FEW = 16,
  PLACES = 14,
  GREATEST = 12,
  EDGES = 6, /* places at the ends of an axis that are sought by turns */
  ENDS = 2   /* levels beside those of the graphs: the least and the greatest number */
};

/* So many elements are alike, besides the graphs' own numbers. */
static const int64_t lengths[] = {256, 128, 32768};
#define LENGTHS (sizeof lengths / sizeof *lengths)

static void add_level(gemel__sparse *s, int64_t level) {
  size_t k = 0;
  while (k < s->n_levels && s->levels[k] != level) {
    k++;
  }
  if (k == s->n_levels && k < GEMEL__SPARSE_LEVELS) {
    s->levels[s->n_levels++] = level;
  }
}

static void note_levels(void *user, int64_t number) {
  if (number > INT32_MIN && number < INT32_MAX) {
    add_level(user, number);
    add_level(user, number + 1);
    add_level(user, number - 1);
  }
}

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
  static const int64_t first[] = {6, 1, 0, -1};
  s->n = s->n_levels = 0;
  gemel__numbers_each(a, note, s);
  gemel__numbers_each(b, note, s);
  for (size_t k = 0; k < sizeof first / sizeof *first; k++) {
    add_level(s, first[k]);
  }
  gemel__numbers_each(a, note_levels, s);
  gemel__numbers_each(b, note_levels, s);
}

/* ---- Places ---- */

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

/* ---- Edges ---- */

/* How many coordinates of an axis are edges. */
static size_t count_edges(const gemel__sparse *s) {
  return EDGES + 3 * s->n;
}

/* Edge K of an axis of SIZE: from both ends, then at and beside the graphs' numbers. */
static int64_t edge(const gemel__sparse *s, int64_t size, size_t k, gemel__random *random) {
  int64_t at = k >= EDGES   ? s->numbers[(k - EDGES) / 3] + (int64_t)((k - EDGES) % 3) - 1
               : k % 2 == 0 ? size - 1 - (int64_t)(k / 2)
                            : (int64_t)(k / 2);
  return at >= 0 && at < size ? at : gemel__random_between(random, 0, size - 1);
}

/* One edge has the greatest number among zeros or negative ones, or in a second round the least
 * among positive ones or zeros. The other axes' coordinates are edges, too, or any. */
static void fill_edge(const gemel__sparse *s, const gemel__leaf *leaf, size_t turn,
                      gemel__random *random, gemel_tensor *tensor) {
  enum { GROUND = 3 };
  size_t rank = leaf->rank > 0 ? (size_t)leaf->rank : 1, flat = 0, n = count_edges(s);
  int sign = turn / (rank * n) % 2 == 0 ? 1 : -1, truths = leaf->dtype == GEMEL_BOOL;
  int ground = gemel__random_chance(random, 1, 2) ? 0 : truths ? 1 : -sign * GROUND;
  for (size_t k = 0; k < leaf->count; k++) {
    gemel__leaf_put(leaf, gemel__leaf_at(leaf, tensor, k), gemel__leaf_within(leaf, ground));
  }
  for (size_t j = 0; j < (size_t)leaf->rank; j++) {
    int64_t size = leaf->shape[j];
    size_t k = j == turn % rank ? turn / rank % n : gemel__random_below(random, 2 * EDGES);
    flat = flat * (size_t)size + (size_t)(j != turn % rank && k >= EDGES
                                              ? gemel__random_between(random, 0, size - 1)
                                              : edge(s, size, k, random));
  }
  gemel__leaf_put(leaf, gemel__leaf_at(leaf, tensor, flat),
                  truths ? !ground : gemel__leaf_within(leaf, sign * GREATEST));
}

/* ---- Levels ---- */

size_t gemel__sparse_levels(const gemel__sparse *s) {
  return (s->n_levels + ENDS) * (1 + LENGTHS + s->n);
}

/* Level K in LEAF: 6, both ends of its dtype, then the others. */
static long double level_of(const gemel__sparse *s, const gemel__leaf *leaf, size_t k) {
  int is_float = gemel_dtype_kind(leaf->dtype) == GEMEL_KIND_FLOAT;
  int sign = k == 1 ? -1 : 1;
  if (k != 1 && k != 2) {
    return gemel__leaf_within(leaf, s->levels[k == 0 ? 0 : k - ENDS]);
  }
  return gemel__leaf_within(leaf, is_float ? sign * 0x1p20L : sign * INFINITY);
}

/* Where an axis is counted, so many of each row are alike; else so many elements in all. */
static void fill_level(const gemel__sparse *s, const gemel__leaf *leaf, size_t turn,
                       gemel__random *random, gemel_tensor *tensor) {
  size_t n = s->n_levels + ENDS, which = turn / n, stride = 1;
  size_t axis = gemel__random_below(random, (uint64_t)leaf->rank + 1), size = leaf->count;
  long double level = level_of(s, leaf, turn % n), ground = gemel__leaf_within(leaf, 0);
  int64_t length = which == 0         ? (int64_t)leaf->count
                   : which <= LENGTHS ? lengths[which - 1]
                                      : s->numbers[which - 1 - LENGTHS];
  for (size_t j = axis + 1; j < (size_t)leaf->rank; j++) {
    stride *= (size_t)leaf->shape[j];
  }
  if (axis < (size_t)leaf->rank) {
    size = (size_t)leaf->shape[axis];
  }
  for (size_t k = 0; k < leaf->count; k++) {
    gemel__leaf_put(leaf, gemel__leaf_at(leaf, tensor, k),
                    (int64_t)(k / stride % size) < length ? level : ground);
  }
}

int gemel__sparse_put(const gemel__sparse *s, const gemel__instance *instance, size_t turn,
                      gemel__random *random, gemel_tensor *const *values) {
  int some = 0, levels = turn >= GEMEL__SPARSE_LEVEL;
  for (size_t k = 0; k < instance->n_leaves; k++) {
    const gemel__leaf *leaf = &instance->leaves[k];
    if (leaf->range == GEMEL_RANGE_INDEX || leaf->count <= (levels ? 0 : FEW)) {
      continue;
    }
    if (levels) {
      fill_level(s, leaf, turn - GEMEL__SPARSE_LEVEL, random, values[k]);
    } else if (turn >= GEMEL__SPARSE_EDGE) {
      fill_edge(s, leaf, turn - GEMEL__SPARSE_EDGE, random, values[k]);
    } else {
      fill(s, leaf, turn, random, values[k]);
    }
    some = 1;
  }
  return some;
}
