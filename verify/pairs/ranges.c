/* SPDX-License-Identifier: MIT
 *
 * Finds the ranges of inputs that are indices. A graph that takes labels, or looks rows up in a
 * table, runs with integers of some range only; an index out of range is an error. Types don't say
 * which range, so it is found by running.
 *
 * First one number for each integer input is sought at which both graphs run. Then, for one input
 * after the other, the search goes from there down and up as far as both graphs run, at most to one
 * more than any size or literal. Both ends of a range are among what is drawn later. Ranges may
 * depend on each other, such as those of a window's beginning and its length: which input goes
 * first, and sometimes the number to start from, are therefore varied.
 */
#include <math.h>
#include <string.h>
#include "instances/assumed.h"
#include "instances/rebuild.h"
#include "instances/source.h"
#include "pairs/contrast.h"
#include "core/alloc.h"
#include "core/error.h"
#include "core/graph.h"
#include "pairs/pair.h"

/* USUAL: the largest index that is tried if nothing in the graphs is larger. LARGEST: literals
 * below it count as sizes. */
enum { USUAL = 12, LARGEST = 4100 };

/* Elements from which on a pair is run less often. */
#define LARGE_PAIR 1e5

/* Sizes of the graph's values: the largest, and up to 24 of them. */
struct sizes {
  int64_t of[24];
  size_t n;
  int64_t largest;
};

static void add_size(struct sizes *s, int64_t size) {
  size_t k = 0;
  while (k < s->n && s->of[k] != size) {
    k++;
  }
  if (k == s->n && k < sizeof s->of / sizeof *s->of) {
    s->of[s->n++] = size;
  }
  s->largest = size > s->largest ? size : s->largest;
}

static void add_sizes(const gemel_graph *graph, struct sizes *s) {
  gemel_context *context = gemel_graph_context(graph);
  for (size_t k = 0; k < gemel_graph_node_count(graph); k++) {
    gemel_type type = gemel__has_output(graph, (uint32_t)k, 0)
                          ? gemel__node_type(graph, (uint32_t)k, 0)
                          : GEMEL_TYPE_NONE;
    int rank = gemel_type_is_none(type) ? 0 : gemel_type_rank(context, type);
    for (int j = 0; j < rank; j++) {
      int64_t size;
      if (gemel_dim_is_constant(context, gemel_type_dims(context, type)[j], &size)) {
        add_size(s, size);
      }
    }
  }
}

/* Literals bound indices too: an index that is compared with 100 may go up to that. */
static void add_literals(const gemel_graph *graph, struct sizes *s) {
  double literals[sizeof s->of / sizeof *s->of];
  size_t n = 0;
  gemel__constants(graph, literals, sizeof literals / sizeof *literals, &n);
  for (size_t k = 0; k < n; k++) {
    if (literals[k] > 0 && literals[k] < LARGEST) {
      add_size(s, (int64_t)literals[k]);
    }
  }
}

int gemel__is_integer_dtype(gemel_dtype dtype) {
  gemel_kind kind = gemel_dtype_kind(dtype);
  return kind == GEMEL_KIND_SIGNED || kind == GEMEL_KIND_UNSIGNED;
}

int gemel__is_integer_leaf(const gemel__leaf *leaf) {
  return gemel__is_integer_dtype(leaf->dtype);
}

/* Sets the range LOW to HIGH, both included. */
static void set_range(gemel__leaf *leaf, int64_t low, int64_t high) {
  leaf->range = GEMEL_RANGE_INDEX;
  leaf->low = low;
  leaf->high = high + 1;
}

/* Puts the greatest number of its dtype somewhere into each integer input that isn't an index. A
 * graph that uses it as an index doesn't run then, while small numbers drawn by chance might all be
 * in range. */
static void plant_greatest(const gemel__instance *instance, size_t at,
                           gemel_tensor *const *values) {
  size_t k;
  for (k = 0; k < instance->n_leaves; k++) {
    const gemel__leaf *leaf = &instance->leaves[k];
    if (gemel__is_integer_leaf(leaf) && leaf->range != GEMEL_RANGE_INDEX && leaf->count > 0) {
      gemel__leaf_put(leaf, gemel__leaf_at(leaf, values[k], at % leaf->count), INFINITY);
    }
  }
}

/* Fills inputs of indices with one end of their range: the Kth with the greatest number if bit K
 * mod 3 of WHICH is set, otherwise with the least. */
static void fill_ends(const gemel__instance *instance, size_t which, gemel_tensor *const *values) {
  for (size_t k = 0, index = 0; k < instance->n_leaves; k++) {
    const gemel__leaf *leaf = &instance->leaves[k];
    if (leaf->range != GEMEL_RANGE_INDEX || !gemel__is_integer_leaf(leaf)) {
      continue;
    }
    int64_t end = (which >> index++ % 3 & 1) ? leaf->high - 1 : leaf->low;
    for (size_t i = 0; i < leaf->count; i++) {
      gemel__leaf_put(leaf, gemel__leaf_at(leaf, values[k], i), end);
    }
  }
}

/* How many choices of ends are tried: of large pairs each that is another one. */
static int count_corners(const gemel__pair *pair) {
  enum { CORNERS = 8 };
  int corners = 1;
  for (size_t k = 0; k < pair->a.n_leaves && corners < CORNERS; k++) {
    corners <<=
        pair->a.leaves[k].range == GEMEL_RANGE_INDEX && gemel__is_integer_leaf(&pair->a.leaves[k]);
  }
  return gemel__pair_elements(pair) > LARGE_PAIR ? corners : CORNERS;
}

/* What a search for ranges draws from, and what ends it. */
struct range_search {
  gemel__random *random;
  gemel__ticker *ticker; /* may be NULL */
};

/* 1 if both graphs run at all of some draws, the ends of the ranges among them; 0 if not, or if the
 * ticker says stop; −1 if memory is out. */
static int in_range(const gemel__pair *pair, const struct range_search *s) {
  enum { OTHERS = 6 };
  gemel__random *random = s->random;
  int k, good = 1, corners = count_corners(pair);
  for (k = 0; k < corners + OTHERS && good > 0; k++) {
    gemel_tensor **values;
    gemel__both both;
    gemel_status status = gemel__tick(s->ticker);
    status =
        status ? status : gemel__values_draw(&pair->a, GEMEL__FILL_INTEGERS, random, &values, NULL);
    if (status != GEMEL_OK) {
      return status == GEMEL_NO_MEMORY ? -1 : 0;
    }
    if (k < corners) {
      fill_ends(&pair->a, (size_t)(corners - 1 - k), values);
    } else if (k % 2 != 0) {
      gemel__plant_ends(&pair->a, random, values);
      plant_greatest(&pair->a, (size_t)k / 2, values);
    }
    status = gemel__both_run(pair, values, random, &both, NULL);
    gemel__values_free(&pair->a, values);
    if (status == GEMEL_OK) {
      gemel__both_clear(&both);
    }
    good = status == GEMEL_NO_MEMORY ? -1 : status == GEMEL_OK;
  }
  return good;
}

/* Gives every integer input one number at which both graphs run. Tried are 0 or 1 as WHICH_ONES has
 * it, then 1 and 0 for all, then sizes and small numbers by chance. 1 if such numbers were found, 0
 * if not, −1 if memory is out. */
static int find_numbers(gemel__pair *pair, size_t which_ones, const struct range_search *s,
                        const struct sizes *sizes) {
  enum { TRIES = 64, SMALL = 7 };
  int good = 0;
  for (size_t tries = 0; tries < TRIES && good == 0; tries++) {
    for (size_t k = 0; k < pair->a.n_leaves; k++) {
      gemel__leaf *leaf = &pair->a.leaves[k];
      size_t which = gemel__random_below(s->random, sizes->n + SMALL);
      int64_t x = which < sizes->n ? sizes->of[which] : (int64_t)(which - sizes->n);
      if (tries < 3) {
        x = tries == 0 ? (int64_t)(which_ones >> k % 32 & 1) : (int64_t)(tries == 1);
      }
      if (gemel__is_integer_leaf(leaf)) {
        x += x == 0 && (leaf->facts & GEMEL_FACT_NONZERO) != 0;
        set_range(leaf, x, x);
      }
    }
    good = in_range(pair, s);
  }
  return good;
}

int64_t gemel__greatest_sought(gemel_dtype dtype) {
  gemel_kind kind = gemel_dtype_kind(dtype);
  unsigned bits = kind == GEMEL_KIND_BOOL ? 1 : 8 * (unsigned)gemel_dtype_size(dtype);
  return bits < 32 ? ((int64_t)1 << (bits - (kind == GEMEL_KIND_SIGNED))) - 1 : INT32_MAX;
}

/* The bounds of LEAF's numbers, by dtype, facts and MOST, both excluded. */
static void limits_of(const gemel__leaf *leaf, int64_t most, int64_t *below, int64_t *above) {
  int is_signed = gemel_dtype_kind(leaf->dtype) == GEMEL_KIND_SIGNED;
  int64_t greatest = gemel__greatest_sought(leaf->dtype);
  *above = (most < greatest ? most : greatest) + 1;
  *below = -*above;
  if (!is_signed || (leaf->facts & GEMEL_FACT_NONNEGATIVE)) {
    *below = (leaf->facts & GEMEL_FACT_NONZERO) ? 0 : -1;
  }
}

/* Extends LEAF's range towards LIMIT, which is excluded, by bisection; in large pairs after numbers
 * next to the limit: a size mostly ends the range, and the limit is beside the largest. */
static int extend(gemel__pair *pair, const struct range_search *s, gemel__leaf *leaf,
                  int64_t limit) {
  int up = limit > leaf->low;
  int64_t good = up ? leaf->high - 1 : leaf->low, low = leaf->low, high = leaf->high - 1;
  int64_t next = up ? limit - 1 : good - 1; /* mostly the right answers: the limit, nothing lower */
  int found = 1, beside = gemel__pair_elements(pair) > LARGE_PAIR ? 2 : 0;
  while (found >= 0 && next != limit && (up ? next > good : next < good)) {
    set_range(leaf, up ? low : next, up ? next : high);
    found = in_range(pair, s);
    *(found > 0 ? &good : &limit) = next;
    next = good + (limit - good) / 2;
    if (beside > 0 && (up ? limit - good : good - limit) > 2) {
      next = limit + (up ? -1 : 1);
      beside--;
    }
  }
  set_range(leaf, up ? low : good, up ? good : high);
  return found;
}

/* Finds the ranges of all integer inputs, one after the other from FIRST on. Inputs whose turn
 * hasn't come have one number each. */
static int find_bounds(gemel__pair *pair, size_t first, const struct range_search *s,
                       int64_t most) {
  size_t n = pair->a.n_leaves, k;
  int good = 1;
  for (k = 0; k < n && good >= 0; k++) {
    gemel__leaf *leaf = &pair->a.leaves[(first + k) % n];
    if (gemel__is_integer_leaf(leaf)) {
      int64_t below, above;
      limits_of(leaf, most, &below, &above);
      good = extend(pair, s, leaf, above);
      good = good < 0 ? good : extend(pair, s, leaf, below);
    }
  }
  return good < 0 ? good : in_range(pair, s);
}

static void forget_ranges(gemel__pair *pair) {
  for (size_t k = 0; k < pair->a.n_leaves; k++) {
    if (gemel__is_integer_leaf(&pair->a.leaves[k])) {
      pair->a.leaves[k].range = gemel__range_of_facts(pair->a.leaves[k].facts);
    }
  }
}

/* Finds integer tensors that aren't indices although others are: both graphs run at any integers in
 * them. */
static int free_tensors(gemel__pair *pair, const struct range_search *s) {
  int sized = gemel__graph_has_runtime_sizes(pair->a.graph), good = 1;
  for (size_t k = 0; k < pair->a.n_leaves && good >= 0; k++) {
    gemel__leaf *leaf = &pair->a.leaves[k], before = *leaf;
    if (gemel__is_integer_leaf(leaf) && leaf->rank > 0) {
      leaf->range = gemel__range_of_facts(leaf->facts);
      good = in_range(pair, s);
      good = good < 0 && sized ? 0 : good; /* memory ran out, so it is a size */
      *leaf = good > 0 ? *leaf : before;
    }
  }
  return good < 0 ? good : 1;
}

/* 1 if PAIR runs at all values, and running it to see that is expensive. */
static int takes_all(const gemel__pair *pair) {
  return gemel__pair_elements(pair) > LARGE_PAIR && !gemel__may_refuse(pair->a.graph) &&
         !gemel__may_refuse(pair->b.graph);
}

gemel_status gemel__pair_find_ranges(gemel__pair *pair, uint64_t way, gemel__random *random,
                                     gemel__ticker *ticker, gemel_error *error) {
  const struct range_search s = {random, ticker};
  struct sizes sizes = {{0}, 0, USUAL};
  size_t k, integers = 0;
  int good = 0;
  for (k = 0; k < pair->a.n_leaves; k++) {
    integers += (size_t)gemel__is_integer_leaf(&pair->a.leaves[k]);
  }
  /* a run-time size that is any integer could need any amount of memory */
  if (integers > 0 && !gemel__graph_has_runtime_sizes(pair->a.graph) &&
      !gemel__graph_has_runtime_sizes(pair->b.graph)) {
    good = takes_all(pair) ? 1 : in_range(pair, &s);
  }
  if (integers == 0 || good > 0) {
    return GEMEL_OK;
  }
  add_sizes(pair->a.graph, &sizes);
  add_literals(pair->a.graph, &sizes);
  add_literals(pair->b.graph, &sizes);
  good = good < 0 ? good : find_numbers(pair, way / pair->a.n_leaves, &s, &sizes);
  if (good > 0) {
    good = find_bounds(pair, way % pair->a.n_leaves, &s, sizes.largest + 1);
    /* the ranges fail together: go back to one number each */
    good = good == 0 ? find_numbers(pair, 0, &s, &sizes) : good;
    good = good > 0 ? free_tensors(pair, &s) : good;
  }
  if (good == 0) {
    forget_ranges(pair);
  }
  return good < 0 ? gemel__no_memory(error, "the ranges of indices") : GEMEL_OK;
}

void gemel__plant_ends(const gemel__instance *instance, gemel__random *random,
                       gemel_tensor *const *values) {
  size_t k;
  for (k = 0; k < instance->n_leaves; k++) {
    const gemel__leaf *leaf = &instance->leaves[k];
    int64_t ends[2] = {leaf->low, leaf->high - 1};
    size_t at[2], i;
    if (leaf->range != GEMEL_RANGE_INDEX || leaf->count == 0 || !gemel__is_integer_leaf(leaf)) {
      continue;
    }
    at[0] = gemel__random_below(random, leaf->count);
    at[1] = gemel__random_below(random, leaf->count);
    for (i = 0; i < 2; i++) {
      if (leaf->count == 1 && gemel__random_below(random, 3) != i) {
        continue; /* only one element: one end, the other, or what was drawn */
      }
      gemel__leaf_put(leaf, gemel__leaf_at(leaf, values[k], at[i]), ends[i]);
    }
  }
}
