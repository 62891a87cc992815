/* SPDX-License-Identifier: MIT
 *
 * Candidates for equality, see candidates.h. Every value of the joint graph becomes a result of one
 * function, which is called twice: at full significands, and at small integers, since different
 * values may agree at one kind of input. Each result is reduced to a weighted sum. Sums are
 * compared with a wide tolerance, since values that are equal over the reals may be rounded
 * differently.
 */
#include "equal/candidates.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "core/alloc.h"
#include "core/error.h"
#include "core/intern.h"
#include "pairs/pair.h"
#include "tiers/tiers.h"

/* How many values are compared with one node's. */
enum { MOST_SEEN = 64 };
/* A symbol counts as about this size. */
enum { SYMBOL = 4 };
/* If all values together have more elements, nothing is run. */
#define MOST_ELEMENTS 5e7
/* Two sums agree if they differ by at most this share of the sums of magnitudes. */
#define TOLERANCE 1e-3

/* ---- Digests ---- */

/* A pseudo-random weight from 1 to 2 for element I. */
static double weight_of(size_t i) {
  return 1 + ldexp((double)(gemel__mix(i) >> 12), -52);
}

static void digest(const gemel_tensor *tensor, size_t run, gemel__digest *d) {
  gemel_dtype dtype = gemel_tensor_dtype(tensor);
  size_t n = (size_t)gemel_tensor_elements(tensor), bytes = gemel_dtype_size(dtype), i;
  const char *plain = gemel__tensor_plain(tensor);
  for (i = 0; i < n; i++) {
    const void *at = plain != NULL ? plain + i * bytes : gemel__tensor_element(tensor, i);
    double x = gemel__decode(dtype, at), w = weight_of(i);
    x = isnan(x) ? 3.7 : isinf(x) ? (x > 0 ? 91.5 : -91.5) : x;
    d->sum[run] += w * x;
    d->scale[run] += w * fabs(x);
  }
}

int gemel__digests_agree(const gemel__digest *x, const gemel__digest *y) {
  int agree = x->type == y->type;
  if (x->scale[0] == 0 || y->scale[0] == 0) {
    return -1;
  }
  for (size_t k = 0; k < GEMEL__DIGEST_RUNS; k++) {
    agree &= fabs(x->sum[k] - y->sum[k]) <= TOLERANCE * fmin(x->scale[k], y->scale[k]);
  }
  return agree;
}

/* ---- Running ---- */

static int has_digest(const gemel__joint *j, uint32_t node) {
  const gemel__node *record = gemel__node_at(j->graph, node);
  uint32_t count;
  gemel__node_inputs(j->graph, node, &count);
  return record->n_outputs == 1 && (count > 0 || node < gemel_graph_input_count(j->graph));
}

static gemel_status add_outputs(gemel__joint *j) {
  for (size_t k = 0; k < j->n_nodes; k++) {
    char label[24];
    gemel__ref ref = {(uint32_t)k, 0};
    gemel_status status = GEMEL_OK;
    if (has_digest(j, (uint32_t)k)) {
      snprintf(label, sizeof label, "v%zu", k);
      status = gemel_output(gemel__value(j->graph, ref), label);
    }
    if (status != GEMEL_OK) {
      return status;
    }
  }
  return GEMEL_OK;
}

static gemel_status call(gemel__candidates *c, const gemel__joint *j, gemel_function *function,
                         size_t run, gemel_tensor *const *values, gemel_error *error) {
  size_t n = gemel_graph_output_count(j->graph), k, at = 0;
  gemel_tensor **outputs = gemel__alloc_array(n, sizeof *outputs);
  gemel_status status = outputs == NULL ? gemel__no_memory(error, "values")
                                        : gemel_call(function, gemel_graph_input_count(j->graph),
                                                     values, n, outputs, error);
  for (k = 0; k < j->n_nodes && status == GEMEL_OK; k++) {
    if (has_digest(j, (uint32_t)k)) {
      digest(outputs[at++], run, &c->of[k]);
    }
  }
  if (outputs != NULL) {
    gemel__tensors_release(n, outputs);
  }
  gemel__free(outputs, n * sizeof *outputs);
  return status;
}

/* Computes the digests of the joint graph's values, at inputs of PAIR. */
static gemel_status call_often(gemel__candidates *c, const gemel__joint *j, const gemel__pair *pair,
                               gemel__random *random, gemel_error *error) {
  static const gemel__fill fills[GEMEL__DIGEST_RUNS] = {GEMEL__FILL_FULL, GEMEL__FILL_INTEGERS};
  gemel_options options = {.size = sizeof options, .threads = 1, .as_written = 1};
  gemel_function *function = gemel_compile(j->graph, &options, error);
  gemel_status status = function == NULL ? GEMEL_DECLINED : GEMEL_OK;
  for (size_t k = 0; k < GEMEL__DIGEST_RUNS && status == GEMEL_OK; k++) {
    gemel_tensor **values = NULL;
    status = gemel__values_draw(&pair->a, fills[k], random, &values, error);
    if (status == GEMEL_OK) {
      status = call(c, j, function, k, values, error);
    }
    gemel__values_free(&pair->a, values);
  }
  gemel_function_free(function);
  return status;
}

/* Draws a pair whose symbols have sizes that differ and aren't 0, if the graphs take them. */
static gemel_status draw(gemel__pair *pair, const gemel_graph *a, const gemel_graph *b,
                         gemel__random *random, gemel_error *error) {
  static const int64_t usual[] = {3, 5, 2, 7, 4, 6};
  const char *names[GEMEL__MOST_SYMBOLS];
  int64_t sizes[GEMEL__MOST_SYMBOLS];
  size_t n = gemel__pair_symbols(a, names, GEMEL__MOST_SYMBOLS), k;
  for (k = 0; k < n; k++) {
    sizes[k] = usual[k % (sizeof usual / sizeof *usual)];
  }
  return gemel__pair_draw_at(pair, a, b, n, names, sizes, random, NULL) == GEMEL_OK
             ? gemel__pair_find_ranges(pair, gemel__random_bits(random), random, error)
             : gemel__pair_draw(pair, a, b, random, error);
}

static gemel_status run(gemel__candidates *c, gemel__joint *j, const gemel_graph *a,
                        const gemel_graph *b, gemel__random *random, gemel_error *error) {
  gemel__pair pair;
  gemel_status status = draw(&pair, a, b, random, error);
  if (status == GEMEL_OK) {
    status = add_outputs(j);
  }
  if (status == GEMEL_OK) {
    status = call_often(c, j, &pair, random, error);
  }
  gemel__pair_clear(&pair);
  return status;
}

/* ---- Looking up ---- */

static int by_sum(const void *x, const void *y) {
  const gemel__digest *a = x, *b = y;
  if (a->type != b->type) {
    return a->type < b->type ? -1 : 1;
  }
  return a->sum[0] < b->sum[0] ? -1 : a->sum[0] > b->sum[0];
}

static void sort(gemel__candidates *c, const gemel__joint *j) {
  for (size_t k = 0; k < j->n_nodes; k++) {
    c->of[k].first = !j->second[k];
    if (c->of[k].scale[0] > 0 && !j->second[k]) {
      c->sorted[c->n_sorted++] = c->of[k];
    }
  }
  qsort(c->sorted, c->n_sorted, sizeof *c->sorted, by_sum);
}

gemel_status gemel__candidates_make(gemel__candidates *c, gemel__joint *joint, const gemel_graph *a,
                                    const gemel_graph *b, gemel__random *random,
                                    gemel_error *error) {
  gemel_status status;
  size_t k;
  memset(c, 0, sizeof *c);
  c->n = joint->n_nodes;
  c->of = gemel__alloc_array(c->n, sizeof *c->of);
  c->sorted = gemel__alloc_array(c->n, sizeof *c->sorted);
  if (c->of == NULL || c->sorted == NULL) {
    gemel__candidates_clear(c);
    return gemel__no_memory(error, "values");
  }
  for (k = 0; k < c->n; k++) {
    c->of[k].node = (uint32_t)k;
    c->of[k].type =
        has_digest(joint, (uint32_t)k) ? gemel__node_type(joint->graph, (uint32_t)k, 0) : 0;
  }
  if (gemel__graph_elements(joint->graph, SYMBOL) > MOST_ELEMENTS) {
    return GEMEL_OK;
  }
  status = run(c, joint, a, b, random, error);
  if (status == GEMEL_NO_MEMORY) {
    gemel__candidates_clear(c);
    return status;
  }
  sort(c, joint);
  return GEMEL_OK;
}

void gemel__candidates_clear(gemel__candidates *c) {
  gemel__free(c->of, c->n * sizeof *c->of);
  gemel__free(c->sorted, c->n * sizeof *c->sorted);
  memset(c, 0, sizeof *c);
}

/* The index of the first digest in SORTED that isn't below LOW. */
static size_t first_from(const gemel__candidates *c, const gemel__digest *low) {
  size_t first = 0, end = c->n_sorted;
  while (first < end) {
    size_t middle = first + (end - first) / 2;
    if (by_sum(&c->sorted[middle], low) < 0) {
      first = middle + 1;
    } else {
      end = middle;
    }
  }
  return first;
}

static size_t add_node(uint32_t *nodes, size_t n, size_t room, uint32_t node) {
  size_t k = 0;
  while (k < n && nodes[k] != node) {
    k++;
  }
  if (k == n && n < room) {
    nodes[n++] = node;
  }
  return n;
}

size_t gemel__candidates_for(const gemel__candidates *c, uint32_t node, uint32_t anchor,
                             uint32_t *nodes, size_t room) {
  const gemel__digest *digest = &c->of[node];
  gemel__digest low = *digest;
  size_t n = 0, k, best = c->n_sorted, first;
  if (digest->scale[0] == 0) {
    return 0;
  }
  for (k = anchor + 1; k < c->n && k <= anchor + MOST_SEEN && n < room; k++) {
    if (c->of[k].first && gemel__digests_agree(&c->of[k], digest) == 1) {
      nodes[n++] = (uint32_t)k;
    }
  }
  low.sum[0] -= TOLERANCE * low.scale[0];
  first = first_from(c, &low);
  for (k = first; k < c->n_sorted && k < first + MOST_SEEN; k++) {
    if (gemel__digests_agree(&c->sorted[k], digest) == 1 &&
        (best == c->n_sorted || fabs(c->sorted[k].sum[0] - digest->sum[0]) <
                                    fabs(c->sorted[best].sum[0] - digest->sum[0]))) {
      best = k;
    }
  }
  return best < c->n_sorted ? add_node(nodes, n, room, c->sorted[best].node) : n;
}
