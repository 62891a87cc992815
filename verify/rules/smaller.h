/* SPDX-License-Identifier: MIT
 *
 * Reports refutations of a rule: on the smallest instance that shows the difference, with simple
 * values.
 */
#ifndef GEMEL__RULES_SMALLER_H
#define GEMEL__RULES_SMALLER_H

#include "rules/judge.h"
#include "tiers/tiers.h"

/* A way to find a difference: CHECK at values of FILL, of the sides or of their derivatives. */
struct gemel__rule_search {
  gemel__check check;
  gemel__fill fill;
  int gradient;
  const char *what;
};

/* Derives both sides. GEMEL_DECLINED if the results are empty: something undefined may stand beside
 * them. */
gemel_status gemel__rule_derive(const gemel__pair *pair, gemel__pair *gradient, gemel_error *error);

/* Reports a difference of PAIR at VALUES: in a smaller instance if one shows it, with shrunk
 * values. */
gemel_status gemel__rule_report_values(struct gemel__rule_subject *p, gemel__inquiry *q,
                                       gemel__pair *pair, gemel_tensor ***values,
                                       const struct gemel__rule_search *how, uint64_t seed,
                                       gemel_error *error);

#endif
