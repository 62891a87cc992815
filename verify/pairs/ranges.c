/* SPDX-License-Identifier: MIT
 *
 * Integers that are indices. A graph that takes labels, or looks rows up in a table, runs with
 * integers below some size only: out of range is an error and no result. Which size that is can't
 * be read off the input's type, so it is found by running: the sizes of the graph's values are
 * tried from the largest on. What is drawn then reaches both ends of the range. Where no range will
 * do, as for a size that must divide another, single numbers are tried.
 */
#include <string.h>
#include "instances/assumed.h"
#include "pairs/contrast.h"
#include "core/alloc.h"
#include "core/error.h"
#include "core/graph.h"
#include "pairs/pair.h"

/* Sizes of the graph's values, different ones, the largest first: an index is below one of them. */
static size_t sizes_of(const gemel_graph *graph, int64_t *sizes, size_t room) {
  gemel_context *context = gemel_graph_context(graph);
  size_t n = 0, k, i;
  for (k = 0; k < gemel_graph_node_count(graph); k++) {
    gemel_type type = gemel__has_output(graph, (uint32_t)k, 0)
                          ? gemel__node_type(graph, (uint32_t)k, 0)
                          : GEMEL_TYPE_NONE;
    int rank = type != GEMEL_TYPE_NONE ? gemel_type_rank(context, type) : 0, j;
    for (j = 0; j < rank; j++) {
      int64_t size;
      if (!gemel_dim_is_constant(context, gemel_type_dims(context, type)[j], &size) || size < 1) {
        continue;
      }
      for (i = 0; i < n && sizes[i] > size; i++) {
      }
      if ((i < n && sizes[i] == size) || i == room) {
        continue;
      }
      n += n < room;
      memmove(&sizes[i + 1], &sizes[i], (n - i - 1) * sizeof *sizes);
      sizes[i] = size;
    }
  }
  return n;
}

static int is_integer_leaf(const gemel__leaf *leaf) {
  gemel_kind kind = gemel_dtype_kind(leaf->dtype);
  return kind == GEMEL_KIND_SIGNED || kind == GEMEL_KIND_UNSIGNED;
}

static void set_range(gemel__leaf *leaf, int64_t high) {
  leaf->domain = GEMEL_INDEX;
  leaf->low = (leaf->facts & GEMEL_FACT_NONZERO) != 0;
  leaf->high = high > leaf->low ? high : leaf->low + 1;
}

/* Puts the greatest number of its dtype somewhere into each input that holds any integers: who runs
 * at all of them runs there, and indices that are never negative are mostly small. */
static void plant_greatest(const gemel__instance *instance, size_t at,
                           gemel_tensor *const *values) {
  size_t k;
  for (k = 0; k < instance->n_leaves; k++) {
    const gemel__leaf *leaf = &instance->leaves[k];
    size_t bytes = gemel_dtype_size(leaf->dtype);
    int is_signed = gemel_dtype_kind(leaf->dtype) == GEMEL_KIND_SIGNED;
    int64_t greatest = (int64_t)(UINT64_MAX >> (64 - 8 * bytes) >> is_signed);
    if (is_integer_leaf(leaf) && leaf->domain != GEMEL_INDEX && leaf->count > 0) {
      gemel__points_store(leaf->dtype, 1, NULL, &greatest,
                          (char *)gemel_tensor_data(values[k]) + at % leaf->count * bytes);
    }
  }
}

/* 1 if both graphs run at all of some draws, with the ends of the range among them; −1: memory is
 * out. */
static int in_range(const gemel__pair *pair, gemel__random *random) {
  enum { DRAWS_A_RANGE = 12 };
  int k, good = 1;
  for (k = 0; k < DRAWS_A_RANGE && good > 0; k++) {
    gemel_tensor **values;
    gemel__both both;
    gemel_status status = gemel__values_draw(&pair->a, GEMEL__FILL_INTEGERS, random, &values, NULL);
    if (status == GEMEL_OK) {
      if (k % 2 != 0) {
        gemel__plant_ends(&pair->a, random, values);
        plant_greatest(&pair->a, (size_t)k / 2, values);
      }
      status = gemel__both_run(pair, values, random, &both, NULL);
      gemel__values_free(&pair->a, values);
    }
    if (status == GEMEL_OK) {
      gemel__both_clear(&both);
    }
    good = status == GEMEL_NO_MEMORY ? -1 : status == GEMEL_OK;
  }
  return good;
}

/* Every integer leaf gets one number, one of SIZES or a small one, at which both graphs run: a size
 * that divides another, say. 1 if one was found, −1: memory is out. */
static int find_numbers(gemel__pair *pair, gemel__random *random, size_t n, const int64_t *sizes) {
  enum { TRIES = 64, SMALL = 7 };
  int good = 0;
  for (size_t tries = 0; tries < TRIES && good == 0; tries++) {
    for (size_t k = 0; k < pair->a.n_leaves; k++) {
      gemel__leaf *leaf = &pair->a.leaves[k];
      size_t which = gemel__random_below(random, n + SMALL);
      if (is_integer_leaf(leaf)) {
        set_range(leaf, 1 + (which < n ? sizes[which] : (int64_t)(which - n)));
        leaf->low = leaf->high - 1;
      }
    }
    good = in_range(pair, random);
  }
  return good;
}

static void forget_ranges(gemel__pair *pair) {
  for (size_t k = 0; k < pair->a.n_leaves; k++) {
    if (is_integer_leaf(&pair->a.leaves[k])) {
      pair->a.leaves[k].domain = gemel__domain_of_facts(pair->a.leaves[k].facts);
    }
  }
}

/* The largest of N sizes below which each integer leaf may lie, one leaf after the other, the rest
 * being 0. As in_range. */
static int find_bounds(gemel__pair *pair, gemel__random *random, size_t n, const int64_t *sizes) {
  int good = 0;
  for (size_t k = 0; k < pair->a.n_leaves; k++) {
    if (is_integer_leaf(&pair->a.leaves[k])) {
      set_range(&pair->a.leaves[k], 1);
    }
  }
  for (size_t k = 0; k < pair->a.n_leaves && good >= 0; k++) {
    good = 0;
    for (size_t i = 0; is_integer_leaf(&pair->a.leaves[k]) && i < n && good == 0; i++) {
      set_range(&pair->a.leaves[k], sizes[i]);
      good = in_range(pair, random);
    }
    if (is_integer_leaf(&pair->a.leaves[k]) && good == 0) {
      set_range(&pair->a.leaves[k], 1);
    }
  }
  return good < 0 ? good : in_range(pair, random);
}

gemel_status gemel__pair_find_ranges(gemel__pair *pair, gemel__random *random, gemel_error *error) {
  enum { MOST_SIZES = 24 };
  int64_t sizes[MOST_SIZES];
  size_t n, k, integers = 0;
  int good;
  for (k = 0; k < pair->a.n_leaves; k++) {
    integers += (size_t)is_integer_leaf(&pair->a.leaves[k]);
  }
  if (integers == 0 || (good = in_range(pair, random)) > 0) {
    return GEMEL_OK;
  }
  n = sizes_of(pair->a.graph, sizes, MOST_SIZES);
  good = good < 0 ? good : find_bounds(pair, random, n, sizes);
  good = good != 0 ? good : find_numbers(pair, random, n, sizes);
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
    if (leaf->domain != GEMEL_INDEX || leaf->count == 0 || !is_integer_leaf(leaf)) {
      continue;
    }
    at[0] = gemel__random_below(random, leaf->count);
    at[1] = gemel__random_below(random, leaf->count);
    for (i = 0; i < 2; i++) {
      gemel__points_store(leaf->dtype, 1, NULL, &ends[i],
                          (char *)gemel_tensor_data(values[k]) +
                              at[i] * gemel_dtype_size(leaf->dtype));
    }
  }
}
