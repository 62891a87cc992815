/* SPDX-License-Identifier: MIT
 *
 * Making a refuted instance small. First the shapes: instances of one, two, four … elements are
 * drawn until one is refuted by the same check. Then the values: each is tried as 0, 1, −1, a small
 * integer and with fewer significant bits. Only what the check still refutes is kept, and the check
 * compares with an exact reference, so shrinking can't slide over to another bug's tolerance.
 */
#include <math.h>
#include <string.h>
#include "core/alloc.h"
#include "run.h"

enum { DRAWS = 40, MAX_VALUES = 64, LARGE = 5000 };

/* Runs CHECK; 1 if it still refutes, with OUTCOME filled in. */
static int still_refuted(const gemel__instance *instance, gemel_tensor *const *values,
                         gemel__check check, const gemel__trial *trial, gemel__outcome *outcome) {
  gemel__outcome fresh;
  memset(&fresh, 0, sizeof fresh);
  if (check(instance, values, trial, &fresh, NULL) != GEMEL_OK || !fresh.refuted) {
    return 0;
  }
  *outcome = fresh;
  return 1;
}

/* One draw of at most MAX elements; replaces instance and values if it is refuted. */
static int try_smaller(gemel__instance *instance, gemel_tensor ***values, gemel__fill fill,
                       gemel__check check, const gemel__trial *trial, gemel__redraw redraw,
                       void *user, int64_t max, gemel__outcome *outcome) {
  gemel__instance small;
  gemel_tensor **drawn;
  int refuted = 0;
  if (redraw(user, max, trial->random, &small, NULL) != GEMEL_OK) {
    return 0;
  }
  if (gemel__values_draw(&small, fill, trial->random, &drawn, NULL) == GEMEL_OK) {
    refuted = still_refuted(&small, drawn, check, trial, outcome);
  }
  if (refuted) {
    gemel__values_free(instance, *values);
    gemel__instance_clear(instance);
    *instance = small;
    *values = drawn;
  } else {
    gemel__values_free(&small, drawn);
    gemel__instance_clear(&small);
  }
  return refuted;
}

static size_t instance_size(const gemel__instance *instance) {
  size_t k, total = 0;
  for (k = 0; k < instance->n_leaves; k++) {
    total += instance->leaves[k].count;
  }
  return total;
}

static void shrink_shapes(gemel__instance *instance, gemel_tensor ***values, gemel__fill fill,
                          gemel__check check, const gemel__trial *trial, gemel__redraw redraw,
                          void *user, gemel__outcome *outcome) {
  int64_t max;
  int k;
  for (max = 1; max <= 16 && (size_t)max < instance_size(instance); max *= 2) {
    for (k = 0; k < DRAWS; k++) {
      if (try_smaller(instance, values, fill, check, trial, redraw, user, max, outcome)) {
        return;
      }
    }
  }
}

/* Candidates for a simpler value than X, simplest first; how many. */
static size_t simpler(double x, double *candidates) {
  static const double plain[] = {0, 1, -1, 2};
  size_t n = 0, k;
  for (k = 0; k < sizeof plain / sizeof *plain; k++) {
    if (x == plain[k]) {
      return n;
    }
    candidates[n++] = plain[k];
  }
  if (isfinite(x) && x != rint(x)) {
    candidates[n++] = rint(x);
    candidates[n++] = rint(x * 4) / 4;
  }
  return n;
}

static void shrink_value(gemel__instance *instance, gemel_tensor **values, size_t leaf, size_t i,
                         gemel__check check, const gemel__trial *trial, gemel__outcome *outcome) {
  const gemel__leaf *l = &instance->leaves[leaf];
  size_t size = gemel_dtype_size(l->dtype);
  unsigned char *at = (unsigned char *)gemel_tensor_data(values[leaf]) + i * size;
  unsigned char old[8];
  double candidates[8];
  size_t n, k;
  memcpy(old, at, size);
  if (gemel_dtype_kind(l->dtype) != GEMEL_KIND_FLOAT) {
    return;
  }
  n = simpler(gemel__decode(l->dtype, at), candidates);
  for (k = 0; k < n; k++) {
    int in_domain = (l->domain != GEMEL_POSITIVE && l->domain != GEMEL_NONZERO &&
                     l->domain != GEMEL_ABOVE_MINUS_ONE) ||
                    candidates[k] > 0;
    gemel__points_store(l->dtype, 1, &candidates[k], NULL, at);
    if (in_domain && still_refuted(instance, values, check, trial, outcome)) {
      return;
    }
    memcpy(at, old, size);
  }
}

gemel_status gemel__shrink(gemel__instance *instance, gemel_tensor ***values, gemel__fill fill,
                           gemel__check check, const gemel__trial *trial, gemel__redraw redraw,
                           void *user, gemel__outcome *outcome, gemel_error *error) {
  size_t k, i, budget = MAX_VALUES;
  (void)error;
  if (redraw != NULL) {
    shrink_shapes(instance, values, fill, check, trial, redraw, user, outcome);
  }
  if (instance_size(instance) > LARGE) {
    budget = 0; /* needs its size: no values that a person would look at */
  }
  for (k = 0; k < instance->n_leaves; k++) {
    for (i = 0; i < instance->leaves[k].count && budget > 0; i++, budget--) {
      shrink_value(instance, *values, k, i, check, trial, outcome);
    }
  }
  return GEMEL_OK;
}
