/* SPDX-License-Identifier: MIT
 *
 * Making a refuted instance small. First the shapes: instances of one, two, four … elements are
 * drawn until the same check refutes one. Then the values: each is tried as 1, 2, −1, ½, 0, a small
 * integer, and with fewer significant bits. Those of a long input are tried all alike before. A
 * change is kept only if the check still refutes. The check compares with an exact reference, so
 * the result still shows a fault.
 */
#include <math.h>
#include <string.h>
#include "instances/assumed.h"
#include "core/alloc.h"
#include "core/dtype.h"
#include "core/error.h"
#include "instances/trial.h"

enum { DRAWS = 40, MAX_VALUES = 64, LARGE = 5000 };
/* Few tries for a program's kernel, as each check starts a process. */
enum { KERNEL_DRAWS = 12, KERNEL_MAX_VALUES = 16 };

/* Runs CHECK. *REFUTED is 1 if it still refutes, with OUTCOME filled in. A check that doesn't apply
 * to the values refutes nothing; only GEMEL_NO_MEMORY is returned. */
static gemel_status still_refuted(const gemel__instance *instance, gemel_tensor *const *values,
                                  gemel__check check, const gemel__trial *trial,
                                  gemel__outcome *outcome, int *refuted) {
  gemel__outcome fresh;
  memset(&fresh, 0, sizeof fresh);
  gemel_status status = check(instance, values, trial, &fresh, NULL);
  *refuted = status == GEMEL_OK && fresh.refuted;
  if (*refuted) {
    *outcome = fresh;
  }
  return status == GEMEL_NO_MEMORY ? status : GEMEL_OK;
}

/* Draws one instance of at most MAX elements, and replaces instance and values if it is refuted. */
static gemel_status try_smaller(gemel__instance *instance, gemel_tensor ***values, gemel__fill fill,
                                gemel__check check, const gemel__trial *trial, gemel__redraw redraw,
                                void *user, int64_t max, gemel__outcome *outcome, int *refuted) {
  gemel__instance small;
  gemel_tensor **drawn;
  gemel_status status = redraw(user, max, trial->random, &small, NULL);
  *refuted = 0;
  if (status != GEMEL_OK) {
    return status == GEMEL_NO_MEMORY ? status : GEMEL_OK;
  }
  status = gemel__values_draw(&small, fill, trial->random, &drawn, NULL);
  status = status ? status : still_refuted(&small, drawn, check, trial, outcome, refuted);
  if (*refuted) {
    gemel__values_free(instance, *values);
    gemel__instance_clear(instance);
    *instance = small;
    *values = drawn;
  } else {
    gemel__values_free(&small, drawn);
    gemel__instance_clear(&small);
  }
  return status == GEMEL_NO_MEMORY ? status : GEMEL_OK;
}

static size_t instance_size(const gemel__instance *instance) {
  size_t k, total = 0;
  for (k = 0; k < instance->n_leaves; k++) {
    total += instance->leaves[k].count;
  }
  return total;
}

static gemel_status shrink_shapes(gemel__instance *instance, gemel_tensor ***values,
                                  gemel__fill fill, gemel__check check, const gemel__trial *trial,
                                  gemel__redraw redraw, void *user, gemel__outcome *outcome) {
  gemel_status status = GEMEL_OK;
  int64_t max;
  int k, refuted = 0, draws = trial->kernel != NULL ? KERNEL_DRAWS : DRAWS;
  for (max = 1; max <= 16 && (size_t)max < instance_size(instance); max *= 2) {
    for (k = 0; k < draws && status == GEMEL_OK && !refuted; k++) {
      status =
          try_smaller(instance, values, fill, check, trial, redraw, user, max, outcome, &refuted);
    }
    if (status != GEMEL_OK || refuted) {
      break;
    }
  }
  return status;
}

/* The simplest first: ones show more than zeros. */
static const double plain_numbers[] = {1, 2, -1, 0.5, 0};
enum { PLAIN_NUMBERS = sizeof plain_numbers / sizeof *plain_numbers };

/* Fills CANDIDATES with values simpler than X, the simplest first. Returns how many. */
static size_t simpler(double x, double *candidates) {
  size_t n = 0, k;
  for (k = 0; k < PLAIN_NUMBERS; k++) {
    if (x == plain_numbers[k]) {
      return n;
    }
    candidates[n++] = plain_numbers[k];
  }
  if (isfinite(x) && x != rint(x)) {
    candidates[n++] = rint(x);
    candidates[n++] = rint(x * 4) / 4;
  }
  return n;
}

/* 1 if X is in the range that LEAF says, as far as its sign tells. */
static int in_range(const gemel__leaf *l, double x) {
  return (l->range != GEMEL_RANGE_POSITIVE && l->range != GEMEL_RANGE_NONZERO &&
          l->range != GEMEL_RANGE_ABOVE_MINUS_ONE) ||
         x > 0;
}

/* Gives all values of LEAF one number, if the instance is still refuted then. */
static gemel_status shrink_alike(gemel__instance *instance, gemel_tensor **values, size_t leaf,
                                 gemel__check check, const gemel__trial *trial,
                                 gemel__outcome *outcome, int *alike, gemel_error *error) {
  const gemel__leaf *l = &instance->leaves[leaf];
  gemel_view view = gemel_tensor_view(values[leaf]);
  gemel_status status = GEMEL_OK;
  for (size_t k = 0; k < PLAIN_NUMBERS && !*alike && status == GEMEL_OK; k++) {
    gemel_tensor *old = values[leaf], *fresh = gemel_tensor_copy(&view, error);
    if (fresh == NULL) {
      return GEMEL_NO_MEMORY;
    }
    for (size_t i = 0; i < l->count; i++) {
      gemel__points_store(l->dtype, 1, &plain_numbers[k], NULL, gemel__leaf_at(l, fresh, i));
    }
    gemel__tensor_settle(l, fresh);
    values[leaf] = fresh;
    status = in_range(l, plain_numbers[k])
                 ? still_refuted(instance, values, check, trial, outcome, alike)
                 : GEMEL_OK;
    values[leaf] = *alike ? fresh : old;
    gemel_tensor_unref(*alike ? old : fresh);
  }
  return status;
}

static gemel_status shrink_value(gemel__instance *instance, gemel_tensor **values, size_t leaf,
                                 size_t i, gemel__check check, const gemel__trial *trial,
                                 gemel__outcome *outcome) {
  const gemel__leaf *l = &instance->leaves[leaf];
  size_t size = gemel_dtype_size(l->dtype);
  unsigned char *at = (unsigned char *)gemel_tensor_data(values[leaf]) + i * size;
  unsigned char old[8];
  double candidates[8];
  gemel_status status = GEMEL_OK;
  size_t n, k;
  int refuted = 0;
  memcpy(old, at, size);
  if (!gemel__is_float(l->dtype)) {
    return GEMEL_OK;
  }
  n = simpler(gemel__decode(l->dtype, at), candidates);
  for (k = 0; k < n && status == GEMEL_OK && !refuted; k++) {
    gemel__points_store(l->dtype, 1, &candidates[k], NULL, at);
    if (in_range(l, candidates[k]) && gemel__leaf_keeps(l, at)) {
      status = still_refuted(instance, values, check, trial, outcome, &refuted);
    }
    if (!refuted) {
      memcpy(at, old, size);
    }
  }
  return status;
}

gemel_status gemel__shrink(gemel__instance *instance, gemel_tensor ***values, gemel__fill fill,
                           gemel__check check, const gemel__trial *trial, gemel__redraw redraw,
                           void *user, gemel__outcome *outcome, gemel_error *error) {
  size_t k, i, budget = trial->kernel != NULL ? KERNEL_MAX_VALUES : MAX_VALUES;
  gemel_status status = GEMEL_OK;
  if (redraw != NULL) {
    status = shrink_shapes(instance, values, fill, check, trial, redraw, user, outcome);
  }
  if (instance_size(instance) > LARGE) {
    budget = 0; /* so large that nobody would read its values */
  }
  for (k = 0; k < instance->n_leaves && status == GEMEL_OK; k++) {
    const gemel__leaf *leaf = &instance->leaves[k];
    int alike = 0;
    if (leaf->count > MAX_VALUES && gemel__is_float(leaf->dtype) && trial->kernel == NULL) {
      status = shrink_alike(instance, *values, k, check, trial, outcome, &alike, error);
    }
    for (i = 0; !alike && i < leaf->count && budget > 0 && status == GEMEL_OK; i++, budget--) {
      status = shrink_value(instance, *values, k, i, check, trial, outcome);
    }
  }
  return status == GEMEL_NO_MEMORY ? gemel__no_memory(error, "a counterexample") : status;
}
