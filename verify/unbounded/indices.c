/* SPDX-License-Identifier: MIT
 *
 * Indices and classes, of which one outside is an error when a graph runs: the right side of a rule
 * must not look up what the left one doesn't. All elements of the left side's indices are looked
 * up, so those of the right are inside if they are elements of these, moved or some of them, for as
 * many places. So they are where argmax, argsort or arange makes them, of no more places. Other
 * indices leave the rule open.
 */
#include <string.h>
#include "unbounded/pull.h"

/* Operations whose elements are some of their first operand's, and those with all of them. */
static const char *const choices[] = {"broadcast_to", "dimshuffle", "reshape", "reverse",
                                      "split",        "subtensor",  "take",    NULL};
static const char *const moves[] = {"dimshuffle", "reshape", "reverse", NULL};

static int is_one_of(const gemel__ptensor *t, const char *const *names) {
  while (t->op != NULL && *names != NULL && strcmp(t->op->record.name, *names) != 0) {
    names++;
  }
  return t->op != NULL && *names != NULL;
}

/* 1 if INDICES are places of SIZE by what makes them. */
static int are_places(gemel__pscene *s, const gemel__ptensor *indices, gemel__pterm size) {
  static const char *const places[] = {"argmax", "argsort", NULL};
  static const char *const numbers[] = {"arange", NULL};
  gemel__pterm most = size;
  if (is_one_of(indices, places)) {
    const gemel__ptensor *x = indices->operands[0];
    most = x->shape[gemel__pull_axis(s, indices, "axis", x->rank)];
  } else if (is_one_of(indices, numbers)) {
    most = gemel__ptensor_attr(indices, "n")->list[0];
  } else {
    return 0;
  }
  return gemel__pscene_provable(s, gemel__p_at_least(&s->terms, size, most), GEMEL__PSTEP_VALID);
}

void gemel__pscene_look_up(gemel__pscene *s, const gemel__ptensor *indices, gemel__pterm size) {
  if (s->flow != GEMEL__P_GO) {
    return;
  }
  if (!s->right) {
    while (is_one_of(indices, moves)) {
      indices = indices->operands[0];
    }
    if (s->n_looked_up < GEMEL__PPARTS) {
      s->looked_up[s->n_looked_up++] = (gemel__plookup){indices, size};
    }
    return;
  }
  for (;; indices = indices->operands[0]) {
    for (uint32_t k = 0; k < s->n_looked_up; k++) {
      gemel__pterm same = gemel__p_equal(&s->terms, size, s->looked_up[k].size);
      if (s->looked_up[k].indices == indices &&
          gemel__pscene_provable(s, same, GEMEL__PSTEP_VALID)) {
        return;
      }
    }
    if (are_places(s, indices, size)) {
      return;
    }
    if (!is_one_of(indices, choices)) {
      break;
    }
  }
  gemel__pscene_stop(s, GEMEL__P_OPEN, "the right side: indices that may lie outside");
}
