/* SPDX-License-Identifier: MIT
 *
 * A random graph on a device. It is lifted by each strategy, run there, and judged like an instance
 * of an operation: by references, and by the host's results. The seed chooses the values, and with
 * them the tier: small integers (tier integer), full significands (tier float), or special values,
 * for which only device and host are compared.
 */
#include "rules/fuzz.h"

#include <stdio.h>
#include "core/error.h"
#include "tiers/tiers.h"

static const struct {
  const char *name;
  gemel__fill fill;
  gemel__check check;
} questions[] = {{"small integers", GEMEL__FILL_INTEGERS, gemel__check_integer},
                 {"full significands", GEMEL__FILL_FULL, gemel__check_float},
                 {"special values", GEMEL__FILL_SPECIAL, gemel__check_agreement}};
enum { QUESTIONS = sizeof questions / sizeof *questions };

static void note(gemel__fault *fault, const char *values, const gemel__outcome *o) {
  char place[80] = "";
  if (!o->whole) {
    gemel__outcome_place(o, place, sizeof place);
  }
  fault->kind = GEMEL__FUZZ_LIFTED;
  snprintf(fault->detail, sizeof fault->detail, "on %s, variant %s: %s%s%s instead of %s", values,
           o->variant, place, o->whole ? "" : " is ", o->got, o->expected);
}

gemel_status gemel__fuzz_lifted(const gemel_graph *graph, uint64_t seed, gemel__fault *fault,
                                gemel_error *error) {
  gemel_error problem = {GEMEL_OK, 0, 0, ""};
  gemel__instance instance;
  gemel__random random;
  gemel_tensor **values;
  gemel__outcome outcome = {0};
  size_t k = seed / 2 % QUESTIONS;
  gemel_status status = gemel__instance_of_graph(&instance, (gemel_graph *)graph, NULL, &problem);
  if (status == GEMEL_OK) {
    gemel__random_seed(&random, seed);
    instance.variants = gemel__lifted_variants;
    const gemel__trial trial = {NULL, &random, NULL};
    status = gemel__values_draw(&instance, questions[k].fill, &random, &values, &problem);
    status = status ? status : questions[k].check(&instance, values, &trial, &outcome, &problem);
    gemel__values_free(&instance, values);
    gemel__instance_clear(&instance);
  }
  if (status == GEMEL_OK && outcome.whole && outcome.variant == gemel__lifted_variants[0].name) {
    status = GEMEL_UNSUPPORTED; /* the host can't compute the graph at these values */
  } else if (status == GEMEL_OK && outcome.refuted) {
    note(fault, questions[k].name, &outcome);
  }
  return status == GEMEL_OK          ? GEMEL_OK
         : status == GEMEL_NO_MEMORY ? gemel__no_memory(error, "fuzzing")
                                     : GEMEL_UNSUPPORTED;
}
