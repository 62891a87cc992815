/* SPDX-License-Identifier: MIT
 *
 * Describes a difference, see difference.h. Values are shrunk as long as both sides are defined in
 * domain O and differ there; a side that is undefined is no difference (compare.h). If O sees none,
 * as for differences in bits, the shipped code's results are shown.
 */
#include "pairs/contrast.h"
#include "certify/difference.h"

#include <string.h>
#include "core/dtype.h"
#include "core/error.h"
#include "domains/ordered.h"
#include "harness/run.h"
#include "base/buffer.h"
#include "harness/report.h"

enum { PRECISION = 256 };

/* Writes the first element that is defined on both sides and certainly differs to OUTCOME. */
static void find_element(gemel__domain *d, const gemel__rtensor sides[2], gemel__outcome *outcome) {
  for (size_t i = 0; i < sides[0].count && i < sides[1].count && !outcome->refuted; i++) {
    const void *x = gemel__rtensor_at(&sides[0], i), *y = gemel__rtensor_at(&sides[1], i);
    if (d->state(d, x) == GEMEL__DEFINED && d->state(d, y) == GEMEL__DEFINED &&
        !gemel__ordered_overlap(d, x, y)) {
      outcome->refuted = 1;
      outcome->element = i;
      d->format(d, x, outcome->expected, sizeof outcome->expected);
      d->format(d, y, outcome->got, sizeof outcome->got);
    }
  }
}

static gemel_status check_values(const gemel__instance *instance, gemel_tensor *const *values,
                                 const gemel__trial *trial, gemel__outcome *outcome,
                                 gemel_error *error) {
  gemel__ordered *o = gemel__ordered_new(PRECISION);
  gemel__rtensor sides[2];
  memset(sides, 0, sizeof sides);
  if (o == NULL) {
    return gemel__no_memory(error, "a difference");
  }
  gemel_status status = gemel__instance_reference(instance, &o->domain, values, &sides[0], error);
  status = status ? status
                  : gemel__instance_reference(trial->other, &o->domain, values, &sides[1], error);
  if (status == GEMEL_OK) {
    find_element(&o->domain, sides, outcome);
  }
  gemel__rtensors_clear(2, sides);
  gemel__ordered_free(o);
  return status;
}

/* Draws other floats into VALUES until the sides differ. Residues refute formulas that agree at
 * these values: 0 and x agree at x = 0. */
static gemel_status draw_beside(const gemel__trial *trial, gemel__instance *instance,
                                gemel_tensor **values, gemel__outcome *outcome,
                                gemel_error *error) {
  enum { TRIES = 16 };
  gemel_status status = GEMEL_OK;
  for (int k = 0; k < TRIES && status == GEMEL_OK && !outcome->refuted; k++) {
    gemel_tensor **drawn;
    status = gemel__values_draw(instance, GEMEL__FILL_FULL, trial->random, &drawn, error);
    for (size_t j = 0; j < instance->n_leaves && status == GEMEL_OK; j++) {
      const gemel__leaf *leaf = &instance->leaves[j];
      if (gemel__is_float(leaf->dtype)) {
        memcpy(gemel_tensor_data(values[j]), gemel_tensor_data(drawn[j]),
               leaf->count * gemel_dtype_size(leaf->dtype));
      }
    }
    gemel__values_free(instance, drawn);
    status = status ? status : check_values(instance, values, trial, outcome, error);
  }
  return status;
}

/* Shrinks VALUES and writes both results there to OUTCOME. If OUTCOME isn't refuted, no difference
 * was seen. */
static gemel_status look_again(gemel__difference *d, const gemel__pair *pair, gemel_tensor **values,
                               gemel__outcome *outcome, gemel_error *error) {
  const gemel__trial trial = {NULL, d->random, &pair->b};
  gemel__instance instance = pair->a;
  gemel_status status = check_values(&instance, values, &trial, outcome, error);
  if (status == GEMEL_OK && outcome->refuted) {
    return gemel__shrink(&instance, &values, GEMEL__FILL_POINTS, check_values, &trial, NULL, NULL,
                         outcome, error);
  }
  if (status != GEMEL_NO_MEMORY) {
    status = gemel__check_contrast(&instance, values, &trial, outcome, error);
  }
  if (status != GEMEL_NO_MEMORY && !outcome->refuted) {
    status = draw_beside(&trial, &instance, values, outcome, error);
  }
  return status == GEMEL_NO_MEMORY ? status : GEMEL_OK;
}

static void print(gemel__buffer *b, const gemel__difference *d, const gemel__pair *pair,
                  gemel_tensor *const *values, const gemel__outcome *outcome, const char *why) {
  if (d->graphs || pair->a.n_leaves == 0) {
    gemel__buffer_text(b, "# at these sizes:\n");
    gemel__buffer_take(b, gemel_print_string(pair->a.graph, "before", NULL));
    gemel__buffer_take(b, gemel_print_string(pair->b.graph, "after", NULL));
  }
  if (values == NULL) {
    gemel__buffer_format(b, "# no inputs are known at which they differ%s%s\n",
                         why[0] != '\0' ? ": " : "", why);
    return;
  }
  gemel__print_inputs(b, &pair->a, values);
  if (outcome->refuted) {
    gemel__buffer_format(b, "# element %zu: before %s, after %s\n", outcome->element,
                         outcome->expected, outcome->got);
  }
}

gemel_status gemel__difference_show(gemel__difference *difference, const gemel__pair *pair,
                                    gemel_tensor **values, const char *why, gemel_error *error) {
  gemel__buffer b = {NULL, 0, 0, 0};
  gemel__outcome outcome;
  gemel_status status = GEMEL_OK;
  memset(&outcome, 0, sizeof outcome);
  if (difference == NULL || difference->text != NULL) {
    return GEMEL_OK;
  }
  if (values != NULL) {
    status = look_again(difference, pair, values, &outcome, error);
  }
  if (status == GEMEL_OK) {
    print(&b, difference, pair, values, &outcome, why);
    if (gemel__buffer_allocate(&b) == 0) {
      print(&b, difference, pair, values, &outcome, why);
      difference->text = gemel__buffer_finish(&b);
    }
    status = difference->text != NULL ? GEMEL_OK : gemel__no_memory(error, "a difference");
  }
  return status;
}

void gemel__difference_forget(gemel__difference *difference) {
  gemel_text_free(difference->text);
  difference->text = NULL;
}
