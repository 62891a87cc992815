/* SPDX-License-Identifier: MIT
 *
 * A rule, or a pass, on trial: its instances, and what was found so far.
 */
#ifndef GEMEL__RULES_TRIAL_H
#define GEMEL__RULES_TRIAL_H

#include "needs/needs.h"
#include "rules/draw.h"
#include "harness/run.h"
#include "sample/aims.h"

/* An instance, and its graphs as the tiers want them. */
struct gemel__example {
  gemel__rule_instance drawn;
  gemel__pair pair;
  gemel__aims aims;
  int real;     /* some input is of a float dtype, and no constant is infinite or NaN */
  int integral; /* for tier integer: nothing in it is a float, inputs or, if it has none, constants
                 */
  int full;     /* the result has elements */
  int edge;     /* and some input has none */
};

struct gemel__proof {
  gemel__run *run;
  const gemel_rule *rule; /* NULL: a pass */
  gemel__rule_engine *engine;
  const gemel_pass *pass;
  const gemel_rule_info *info;
  struct gemel__example *examples;
  size_t room;   /* for so many */
  size_t wanted; /* how many are asked for, besides those for special purposes */
  size_t n, n_shapes, n_symbolic;
  size_t n_full; /* instances that are real and full */
  unsigned ranks, dtypes;
  gemel__rule_draws draws;
  /* what was measured */
  unsigned needs;
  unsigned of_zero, of_rounding; /* what else `needs` has unless nsz or rounding explains it */
  int improves;
  size_t worse, compared;
  size_t rounds; /* instances whose sides differ by rounding */
  gemel__roundings roundings;
  gemel__witness witness[GEMEL_NEEDS_COUNT];
  gemel__witness rounding; /* some difference by rounding */
  double before, after;
};

enum { GEMEL__MORE_EXAMPLES = 224 }; /* for special purposes */

/* Makes E of DRAWN, which it takes. Release with gemel__example_clear, after an error too. */
gemel_status gemel__example_make(struct gemel__example *e, gemel__rule_instance *drawn,
                                 gemel_error *error);
void gemel__example_clear(struct gemel__example *e);

/* Values for E's inputs as gemel__values_draw; with ROUND above 0 its aims are among them. So many
 * rounds reach all of them; 0: there are none. */
gemel_status gemel__example_values(const struct gemel__example *e, gemel__fill fill, size_t round,
                                   gemel__random *random, gemel_tensor ***values,
                                   gemel_error *error);
size_t gemel__example_rounds(const struct gemel__example *e);

/* Draws the examples of P. What needs more than were asked for has them drawn again, as many as
 * usual. */
gemel_status gemel__proof_collect(struct gemel__proof *p, gemel_error *error);
gemel_status gemel__proof_collect_usual(struct gemel__proof *p, gemel_error *error);

/* Turns in which instances are drawn with sizes beyond what a narrow dtype that counts in the
 * examples holds (pairs/lengths.h); 0: nothing counts in one. */
size_t gemel__proof_long_turns(const struct gemel__proof *p);

/* Makes *E of such an instance. GEMEL_DECLINED: there is none in this TURN. Release with
 * gemel__example_clear. */
gemel_status gemel__proof_draw_long(struct gemel__proof *p, size_t turn, gemel__random *random,
                                    struct gemel__example *e, gemel_error *error);

/* Fills in what all records of the rule have in common. */
void gemel__rule_record(struct gemel__proof *p, gemel_record *record, gemel_tier tier);

/* An instance of what is on trial, as gemel__rule_draw. Of a pass that its generator makes none
 * with operands as small as WISH says is GEMEL_DECLINED; nothing else in WISH is for passes. */
gemel_status gemel__proof_draw(const struct gemel__proof *p, const gemel__rule_wish *wish,
                               gemel__random *random, gemel__rule_instance *instance,
                               gemel__rule_draws *draws, gemel_error *error);

/* Says that a rule, or PASS, was not tried. */
void gemel__rule_untried(gemel__run *run, const gemel_pass *pass, const gemel_rule_info *info);

/* Verifies RULE, or, if it is NULL, PASS, that INFO describes. */
gemel_status gemel__rule_verify(gemel__run *run, const gemel_rule *rule, const gemel_pass *pass,
                                const gemel_rule_info *info, gemel_error *error);

/* Tier special: what does the rule give up, and is that what it declares? (class.c) */
gemel_status gemel__rule_class(struct gemel__proof *p, gemel_error *error);

/* Its part for instances with infinite and NaN constants: the words that they show, with
 * witnesses, join those of P (special.c). */
gemel_status gemel__rule_special(struct gemel__proof *p, gemel_error *error);

#endif
