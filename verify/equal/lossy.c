/* SPDX-License-Identifier: MIT
 *
 * Parts at which digits are lost, see lossy.h. A part is measured at numbers that aren't far from 1
 * (pairs/needs.md), together with all that comes before it. Where it loses digits, the shipped code
 * runs the whole graphs, and in f64 as well: the second result is wrong in half of its digits, or
 * isn't finite, where the first is right. Graphs of more than MOST_ELEMENTS aren't measured, as
 * domain B would take too long.
 */
#include "equal/lossy.h"

#include <math.h>
#include <string.h>
#include "core/dtype.h"
#include "pairs/pair.h"
#include "pairs/widen.h"

#define MOST_ELEMENTS 3e4
/* Results in f64 that differ by less, as a share of the largest, are equal. */
#define WIDE_ROUNDING 1e-6

void gemel__lossy_note(gemel__lossy *lossy, gemel__ref u, gemel__ref v) {
  if (lossy->n < GEMEL__MOST_LOSSY) {
    lossy->left[lossy->n] = u;
    lossy->right[lossy->n++] = v;
  }
}

/* ---- The whole graphs ---- */

static double number_at(const gemel_tensor *tensor, size_t i) {
  return gemel__decode(gemel_tensor_dtype(tensor), gemel__tensor_element(tensor, i));
}

/* The largest finite number of TENSOR. */
static double largest(const gemel_tensor *tensor) {
  double most = 0;
  for (size_t i = 0; i < (size_t)gemel_tensor_elements(tensor); i++) {
    double x = fabs(number_at(tensor, i));
    most = isfinite(x) && x > most ? x : most;
  }
  return most;
}

/* 1 if at element I of output K the second result has lost what the first has. WIDE has the results
 * in f64, or none. */
static int is_lost(const gemel__both *both, const gemel__both *wide, size_t k, size_t i) {
  double x = number_at(both->left[k], i), y = number_at(both->right[k], i);
  int digits = gemel__dtype_format(gemel_tensor_dtype(both->left[k]))->digits;
  double apart = isfinite(y) ? fabs(x - y) : INFINITY;
  if (!isfinite(x) || !(apart > ldexp(largest(both->left[k]), -digits / 2))) {
    return 0;
  }
  if (wide->n == 0) {
    return 1;
  }
  double exact = number_at(wide->left[k], i), other = number_at(wide->right[k], i);
  return fabs(exact - other) <= WIDE_ROUNDING * largest(wide->left[k]) &&
         fabs(x - exact) <= apart / 4;
}

/* Finds a loss at VALUES. WIDE is the pair in f64 at the same values, if there is one. */
static gemel_status find_loss(const gemel__pair *pair, gemel_tensor *const *values,
                              const gemel__both *wide, gemel__random *random,
                              gemel__witness *witness, gemel_error *error) {
  gemel__both both;
  GEMEL__TRY(gemel__both_run(pair, values, random, &both, error));
  gemel_status status = GEMEL_OK;
  for (size_t k = 0; k < both.n; k++) {
    size_t n = gemel__both_elements(&both, k);
    int floats = gemel__is_float(gemel_tensor_dtype(both.left[k]));
    for (size_t i = 0; floats && i < n && witness->values == NULL && status == GEMEL_OK; i++) {
      if (is_lost(&both, wide, k, i)) {
        status = gemel__witness_take(witness, pair, values, &both, k, i, error);
      }
    }
  }
  gemel__both_clear(&both);
  return status;
}

static gemel_status look_at(const gemel__pair *pair, gemel_tensor *const *values,
                            gemel__random *random, gemel__witness *witness, gemel_error *error) {
  gemel__both wide;
  GEMEL__TRY(gemel__both_run_wide(pair, values, 0, random, &wide, error));
  gemel_status status = find_loss(pair, values, &wide, random, witness, error);
  gemel__both_clear(&wide);
  return status;
}

/* Copies the values of PART, whose inputs are some of INSTANCE's. Returns 0 if one isn't. */
static int copy_values(const gemel__witness *part, const gemel__instance *instance,
                       gemel_tensor *const *values) {
  size_t n = gemel_graph_input_count(instance->graph);
  for (size_t k = 0; k < gemel_graph_input_count(part->pair.a.graph); k++) {
    const char *name = gemel_graph_input_name(part->pair.a.graph, k);
    size_t j = 0;
    while (j < n && strcmp(gemel_graph_input_name(instance->graph, j), name) != 0) {
      j++;
    }
    const gemel__leaf *leaf = &part->pair.a.leaves[k];
    if (j == n || instance->leaves[j].count != leaf->count ||
        instance->leaves[j].dtype != leaf->dtype) {
      return 0;
    }
    memcpy(gemel_tensor_data(values[j]), gemel__tensor_plain(part->values[k]),
           leaf->count * gemel_dtype_size(leaf->dtype));
  }
  return 1;
}

/* Runs A and B where PART is lost; the other inputs are drawn. */
static gemel_status confirm(const gemel_graph *a, const gemel_graph *b, const gemel__witness *part,
                            gemel__random *random, gemel__witness *witness, gemel_error *error) {
  gemel__pair pair;
  gemel_tensor **values;
  GEMEL__TRY(gemel__pair_draw(&pair, a, b, random, error));
  gemel_status status = gemel__values_draw(&pair.a, GEMEL__FILL_FULL, random, &values, error);
  if (status == GEMEL_OK && copy_values(part, &pair.a, values)) {
    status = look_at(&pair, values, random, witness, error);
  }
  gemel__values_free(&pair.a, values);
  gemel__pair_clear(&pair);
  return gemel__is_no_point(status) ? GEMEL_OK : status;
}

/* ---- Parts ---- */

static gemel_status measure(const gemel_graph *a, const gemel_graph *b, gemel__run *run,
                            uint64_t seed, gemel__witness *part, gemel_error *error) {
  const gemel__needs_plan plan = {.points = 8, .losses = 64, .near = 1, .ticker = run->ticker};
  gemel__needs needs;
  if (gemel__graphs_elements(a, b, 4) > MOST_ELEMENTS) {
    return GEMEL_OK;
  }
  gemel_status status = gemel__needs_measure(a, b, seed, &plan, &needs, error);
  if (status == GEMEL_OK && needs.needs & GEMEL__NEED(WORSENS)) {
    gemel__witness_move(part, &needs.witness[GEMEL_NEEDS_INDEX_WORSENS]);
  }
  gemel__needs_clear(&needs);
  return gemel__is_no_point(status) || status == GEMEL_DECLINED ? GEMEL_OK : status;
}

/* The part between U and V, in A and B. */
static gemel_status measure_part(gemel__joint *joint, const gemel__ref *u, const gemel__ref *v,
                                 const gemel_graph *const graphs[2], gemel__run *run,
                                 gemel__random *random, gemel__witness *witness,
                                 gemel_error *error) {
  static const char *const names[] = {"part"}; /* so that inputs keep theirs */
  gemel__part_graphs region;
  gemel__witness part = {.values = NULL};
  GEMEL__TRY(gemel__joint_part(joint, 1, u, v, names, INT32_MAX, SIZE_MAX, &region, error));
  gemel_status status = measure(region.a, region.b, run, gemel__random_bits(random), &part, error);
  gemel__part_clear(&region);
  if (status == GEMEL_OK && part.values != NULL) {
    status = confirm(graphs[0], graphs[1], &part, random, witness, error);
  }
  gemel__witness_clear(&part);
  return status;
}

gemel_status gemel__lossy_measure(const gemel__lossy *lossy, gemel__joint *joint,
                                  const gemel_graph *a, const gemel_graph *b, gemel__run *run,
                                  const char *name, gemel__witness *witness, gemel_error *error) {
  const gemel_graph *const graphs[2] = {a, b};
  gemel__random random;
  gemel__run_random(run, name, GEMEL_TIER_REAL, gemel__aside(GEMEL__ASIDE_LOSSY), &random);
  for (size_t k = 0; k < lossy->n && witness->values == NULL && !gemel__stopped(run->ticker); k++) {
    gemel_status status = measure_part(joint, &lossy->left[k], &lossy->right[k], graphs, run,
                                       &random, witness, error);
    if (status == GEMEL_NO_MEMORY) {
      return status;
    }
  }
  return GEMEL_OK;
}
