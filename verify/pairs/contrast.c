/* SPDX-License-Identifier: MIT
 *
 * Runs the shipped code of both graphs of a pair and compares the results, see contrast.h.
 */
#include "pairs/contrast.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include "core/alloc.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/graph.h"
#include "core/tensor.h"
#include "ops/ops.h"

gemel__contrast gemel__contrast_of(gemel_dtype dtype, const void *a, const void *b) {
  if (!gemel__is_float(dtype)) {
    return memcmp(a, b, gemel_dtype_size(dtype)) == 0 ? GEMEL__SAME : GEMEL__FAR;
  }
  double x = gemel__decode(dtype, a);
  double y = gemel__decode(dtype, b);
  if (isnan(x) || isnan(y)) {
    return isnan(x) && isnan(y) ? GEMEL__SAME : GEMEL__CLASS;
  }
  if (isinf(x) || isinf(y)) {
    return x == y ? GEMEL__SAME : isinf(x) && isinf(y) ? GEMEL__INF_SIGN : GEMEL__CLASS;
  }
  if (x == 0 && y == 0) {
    return (signbit(x) != 0) == (signbit(y) != 0) ? GEMEL__SAME : GEMEL__ZERO_SIGN;
  }
  if (x == y) {
    return GEMEL__SAME;
  }
  return fabs(x - y) <= ldexp(fmax(fabs(x), fabs(y)), -gemel__dtype_format(dtype)->digits / 2)
             ? GEMEL__ROUNDING
             : GEMEL__FAR;
}

int gemel__is_far_beside(gemel_dtype dtype, const void *a, const void *b, double most) {
  return !gemel__is_float(dtype) || fabs(gemel__decode(dtype, a) - gemel__decode(dtype, b)) >
                                        ldexp(most, -gemel__dtype_format(dtype)->digits / 2);
}

int gemel__have_one_shape(const gemel_tensor *x, const gemel_tensor *y) {
  gemel_view a = gemel_tensor_view(x), b = gemel_tensor_view(y);
  return a.rank == b.rank && memcmp(a.shape, b.shape, (size_t)a.rank * sizeof *a.shape) == 0;
}

void gemel__say_shape(const gemel_tensor *tensor, char *text, size_t bytes) {
  char shape[64];
  gemel_view view = gemel_tensor_view(tensor);
  gemel__format_shape(view.rank, view.shape, shape, sizeof shape);
  snprintf(text, bytes, "shape %s", shape);
}

/* A convolution's algorithm is chosen by shape or by timing, and each adds up in another order. So
 * that both sides round alike, graphs with convolutions are run with the plain algorithm. */
int gemel__runs_plain(const gemel_graph *graph) {
  for (uint32_t k = 0; k < gemel_graph_node_count(graph); k++) {
    const struct gemel__row *row = gemel__node_op(graph, k)->row;
    if (row != NULL && row->family == GEMEL__FAMILY_conv) {
      return 1;
    }
  }
  return 0;
}

static int is_plain(const gemel__pair *pair) {
  return pair->plain || gemel__runs_plain(pair->a.graph) || gemel__runs_plain(pair->b.graph);
}

void gemel__pair_compile(gemel__pair *pair) {
  for (int plain = pair->plain != 0; plain <= is_plain(pair); plain++) {
    gemel__instance_compile(&pair->a, plain);
    gemel__instance_compile(&pair->b, plain);
  }
}

static gemel_status run_variant(const gemel__pair *pair, const gemel__variant *variant,
                                gemel_tensor *const *values, gemel__random *random,
                                gemel__both *both, gemel_error *error) {
  size_t n = gemel_graph_output_count(pair->a.graph);
  memset(both, 0, sizeof *both);
  both->left = gemel__alloc_array(2 * n, sizeof *both->left);
  if (both->left == NULL) {
    return gemel__no_memory(error, "results");
  }
  both->n = n;
  both->right = both->left + n;
  gemel_status status = gemel__execute(&pair->a, variant, values, random, both->left, error);
  status = status ? status : gemel__execute(&pair->b, variant, values, random, both->right, error);
  if (status != GEMEL_OK) {
    gemel__both_clear(both);
  }
  return status;
}

gemel_status gemel__both_run(const gemel__pair *pair, gemel_tensor *const *values,
                             gemel__random *random, gemel__both *both, gemel_error *error) {
  return run_variant(pair, &gemel__variants[is_plain(pair)], values, random, both, error);
}

gemel_status gemel__both_run_fast(const gemel__pair *pair, gemel_tensor *const *values,
                                  gemel__random *random, gemel__both *both, gemel_error *error) {
  return run_variant(pair, &gemel__variants[0], values, random, both, error);
}

gemel_status gemel__side_run(const gemel__pair *pair, int second, gemel_tensor *const *values,
                             gemel__random *random, gemel_tensor **results, gemel_error *error) {
  return gemel__execute(second ? &pair->b : &pair->a, &gemel__variants[is_plain(pair)], values,
                        random, results, error);
}

void gemel__both_clear(gemel__both *both) {
  gemel__tensors_free(2 * both->n, both->left);
  memset(both, 0, sizeof *both);
}

size_t gemel__both_elements(const gemel__both *both, size_t output) {
  size_t n = (size_t)gemel_tensor_elements(both->left[output]);
  size_t m = (size_t)gemel_tensor_elements(both->right[output]);
  return n < m ? n : m;
}

int gemel__both_identical(const gemel__both *both, size_t output) {
  const gemel_tensor *left = both->left[output], *right = both->right[output];
  gemel_dtype dtype = gemel_tensor_dtype(left);
  const void *a = gemel__tensor_plain(left), *b = gemel__tensor_plain(right);
  int64_t n = gemel_tensor_elements(left);
  return dtype == gemel_tensor_dtype(right) && n == gemel_tensor_elements(right) && a != NULL &&
         b != NULL && memcmp(a, b, (size_t)n * gemel_dtype_size(dtype)) == 0;
}

gemel__contrast gemel__both_contrast(const gemel__both *both, size_t output, size_t i) {
  return gemel__contrast_of(gemel_tensor_dtype(both->left[output]),
                            gemel__tensor_element(both->left[output], i),
                            gemel__tensor_element(both->right[output], i));
}

void gemel__both_format(const gemel__both *both, size_t output, size_t i, char *left, char *right,
                        size_t bytes) {
  gemel_dtype dtype = gemel_tensor_dtype(both->left[output]);
  gemel__element_format(dtype, gemel__tensor_element(both->left[output], i), left, bytes);
  gemel__element_format(dtype, gemel__tensor_element(both->right[output], i), right, bytes);
}

/* Writes the worst difference of one way to run PAIR to OUTCOME, if it is worse than *WORST. */
static gemel_status contrast_one_way(const gemel__pair *pair, gemel_tensor *const *values,
                                     gemel__random *random, gemel__contrast *worst,
                                     gemel__outcome *outcome, gemel_error *error) {
  gemel__both both;
  GEMEL__TRY(gemel__both_run(pair, values, random, &both, error));
  for (size_t k = 0; k < both.n; k++) {
    for (size_t i = 0; i < gemel__both_elements(&both, k); i++) {
      gemel__contrast c = gemel__both_contrast(&both, k, i);
      outcome->compared++;
      if (c > *worst) {
        *worst = c;
        outcome->refuted = 1;
        outcome->output = k;
        outcome->element = i;
        gemel__both_format(&both, k, i, outcome->expected, outcome->got, sizeof outcome->got);
      }
    }
  }
  gemel__both_clear(&both);
  return GEMEL_OK;
}

gemel_status gemel__check_contrast(const gemel__instance *instance, gemel_tensor *const *values,
                                   const gemel__trial *trial, gemel__outcome *outcome,
                                   gemel_error *error) {
  gemel__pair pair = {.a = *instance, .b = *trial->other};
  gemel__contrast worst = GEMEL__SAME;
  return contrast_one_way(&pair, values, trial->random, &worst, outcome, error);
}

gemel_status gemel__check_contrast_ways(const gemel__instance *instance,
                                        gemel_tensor *const *values, const gemel__trial *trial,
                                        gemel__outcome *outcome, gemel_error *error) {
  gemel__pair pair = {.a = *instance, .b = *trial->other, .plain = 1};
  gemel__contrast worst = GEMEL__SAME;
  GEMEL__TRY(gemel__check_contrast(instance, values, trial, outcome, error));
  return !outcome->refuted ? contrast_one_way(&pair, values, trial->random, &worst, outcome, error)
                           : GEMEL_OK;
}
