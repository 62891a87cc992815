/* SPDX-License-Identifier: MIT
 *
 * Inputs with zeros and infinities, see meeting.h.
 */
#include "instances/meeting.h"

#include <math.h>
#include "core/dtype.h"
#include "instances/assumed.h"
#include "instances/instance.h"

gemel__meeting gemel__meeting_of(const gemel__instance *instance, size_t number) {
  gemel__meeting m;
  size_t n = instance->n_leaves > 0 ? instance->n_leaves : 1;
  m.kind = (int)(number % GEMEL__MEETINGS);
  m.special = (int)(number / GEMEL__MEETINGS % GEMEL__MEET_SPECIALS);
  m.leaf = number / GEMEL__MEETING_WAYS % n;
  if (n == 1 && m.kind == GEMEL__MEET_LEAF) {
    m.kind = GEMEL__MEET_WITHIN;
  }
  return m;
}

static void store(const gemel__leaf *leaf, size_t i, double x, gemel_tensor *tensor) {
  gemel__leaf_put(leaf, gemel__leaf_at(leaf, tensor, i), x);
}

enum { LARGEST = 4 }; /* magnitude of finite numbers */

/* Writes the zeros, and makes other numbers small. */
static void set_finite(const gemel__meeting *meeting, const gemel__instance *instance,
                       gemel__random *random, gemel_tensor **values) {
  for (size_t k = 0; k < instance->n_leaves; k++) {
    const gemel__leaf *leaf = &instance->leaves[k];
    int computed = meeting->kind == GEMEL__MEET_COMPUTED && gemel__is_float(leaf->dtype);
    int zeros = k == meeting->leaf && meeting->kind != GEMEL__MEET_ALL;
    for (size_t i = 0; i < leaf->count && leaf->range != GEMEL_RANGE_INDEX; i++) {
      double x = gemel__decode(leaf->dtype, gemel__tensor_element(values[k], i));
      if (computed) {
        store(leaf, i, (double)gemel__random_between(random, -2, 2), values[k]);
      } else if (zeros &&
                 (meeting->kind == GEMEL__MEET_LEAF || gemel__random_chance(random, 1, 2))) {
        store(leaf, i, gemel__random_sign(random) * 0.0, values[k]);
      } else if (gemel__is_float(leaf->dtype) && fabs(x) > LARGEST) {
        store(leaf, i, remainder(x, LARGEST), values[k]);
      }
    }
  }
}

/* 1 if leaf K gets infinities or NaNs. */
static int gets_special(const gemel__meeting *meeting, size_t k) {
  return meeting->kind == GEMEL__MEET_ALL ||
         (k == meeting->leaf) == (meeting->kind != GEMEL__MEET_LEAF);
}

/* Writes the infinities or NaNs. */
static void set_special(const gemel__meeting *meeting, const gemel__instance *instance,
                        gemel__random *random, gemel_tensor **values) {
  static const double specials[] = {INFINITY, -INFINITY, INFINITY, NAN};
  for (size_t k = 0; k < instance->n_leaves; k++) {
    const gemel__leaf *leaf = &instance->leaves[k];
    int dense = gemel__random_chance(random, 1, 3);
    int turn = meeting->kind == GEMEL__MEET_ALL && gemel__random_chance(random, 1, 2);
    if (!gemel__is_float(leaf->dtype) || leaf->range == GEMEL_RANGE_INDEX ||
        !gets_special(meeting, k)) {
      continue;
    }
    for (size_t i = 0; i < leaf->count; i++) {
      double x = gemel__decode(leaf->dtype, gemel__tensor_element(values[k], i));
      double special = specials[meeting->special] * (turn ? -1 : 1);
      special *= meeting->special == GEMEL__MEET_BOTH ? gemel__random_sign(random) : 1;
      special = gemel__leaf_admits(leaf, special) ? special : -special;
      if (gemel__leaf_admits(leaf, special) && (dense || gemel__random_chance(random, 1, 3)) &&
          (x != 0 || meeting->kind != GEMEL__MEET_WITHIN)) {
        store(leaf, i, special, values[k]);
      }
    }
  }
}

void gemel__meeting_arrange(const gemel__meeting *meeting, const gemel__instance *instance,
                            gemel__random *random, gemel_tensor **values) {
  set_finite(meeting, instance, random, values);
  set_special(meeting, instance, random, values);
}
