/* SPDX-License-Identifier: MIT
 *
 * The state of verifying a rule or a pass: its instances, and what was found.
 */
#ifndef GEMEL__RULES_JUDGE_H
#define GEMEL__RULES_JUDGE_H

#include "pairs/needs.h"
#include "rules/draw.h"
#include "harness/run.h"
#include "sample/aims.h"

/* An instance, and its graphs as the tiers use them. */
struct gemel__example {
  gemel__rule_instance drawn;
  gemel__pair pair;
  gemel__pair reals; /* if FOLDED: with real numbers in the place of constants (folded.h) */
  int folded;
  gemel__aims aims;
  int real;     /* 1: some input is of a float dtype, and no constant is infinite or NaN */
  int integral; /* 1: for tier integer: no input is a float (no constant, if no inputs) */
  int full;     /* the result has elements */
  int edge;     /* 1: and some input has none */
};

struct gemel__rule_subject {
  gemel__run *run;
  const gemel_rule *rule; /* NULL: a pass */
  gemel__rule_engine *engine;
  const gemel_pass *pass;
  const gemel_rule_info *info;
  struct gemel__example *examples;
  size_t room;   /* for so many examples */
  size_t wanted; /* how many are asked for, not counting those for special purposes */
  int quick;     /* 1: words of needs that the instances don't show are not looked for */
  int folds;     /* 1: an example is folded */
  int refuted;   /* 1: tier integer refuted it */
  int widens;    /* 1: the right side has results where the left side ends in an error */
  int far;       /* 1: there are only instances with sizes beyond the usual ones */
  size_t n, n_shapes, n_symbolic;
  size_t n_full; /* instances that are real and full */
  unsigned ranks, dtypes;
  gemel__rule_draws draws;
  uint64_t taken;    /* arms and boundaries of the rule, a bit each, that an example takes */
  char untaken[200]; /* what no example takes, for people; "": nothing */
  /* What was measured: */
  unsigned needs;
  unsigned of_zero, of_rounding; /* words, unless nsz or rounding explains them */
  int improves;
  size_t compared;
  gemel__losses losses;
  gemel__witness worse; /* a point at which the right side is wrong and the left isn't */
  size_t rounds;        /* instances whose sides differ by rounding */
  gemel__roundings roundings;
  gemel__witness witness[GEMEL_NEEDS_COUNT];
  gemel__witness rounding; /* a point at which the sides differ by rounding */
  double before, after;
};

enum { GEMEL__MORE_EXAMPLES = 224 }; /* room for instances for special purposes */

/* Makes E of DRAWN, which is moved. Release with gemel__example_clear, after an error too. */
gemel_status gemel__example_make(struct gemel__example *e, gemel__rule_instance *drawn,
                                 gemel_error *error);
void gemel__example_clear(struct gemel__example *e);

/* E's sides over the reals. */
static inline gemel__pair *gemel__example_reals(struct gemel__example *e) {
  return e->folded ? &e->reals : &e->pair;
}

/* Draws values for E's inputs, like gemel__values_draw. If ROUND is above 0, some of them are aims.
 * gemel__example_rounds says how many rounds cover all aims; 0: there are none. */
gemel_status gemel__example_values(const struct gemel__example *e, gemel__fill fill, size_t round,
                                   gemel__random *random, gemel_tensor ***values,
                                   gemel_error *error);
size_t gemel__example_rounds(const struct gemel__example *e);

/* Draws the examples of P. gemel__rule_collect_usual discards them and draws the usual number, if
 * fewer were asked for and that isn't enough. */
gemel_status gemel__rule_collect(struct gemel__rule_subject *p, gemel_error *error);
gemel_status gemel__rule_collect_usual(struct gemel__rule_subject *p, gemel_error *error);

/* 1 if there are examples for TIER, and the results of all of them are empty. */
int gemel__rule_all_empty(const struct gemel__rule_subject *p, gemel_tier tier);

/* 1 if a value of a left side is of a float dtype, whatever the inputs are. */
int gemel__rule_computes_floats(const struct gemel__rule_subject *p);

/* How many turns gemel__rule_draw_long has: instances with sizes beyond what a narrow dtype holds
 * (pairs/lengths.h); 0: no example has a count of such a dtype. */
size_t gemel__rule_long_turns(const struct gemel__rule_subject *p);

/* Makes *E of such an instance. GEMEL_DECLINED: none was found in this TURN. Release with
 * gemel__example_clear. */
gemel_status gemel__rule_draw_long(struct gemel__rule_subject *p, size_t turn,
                                   gemel__random *random, struct gemel__example *e,
                                   gemel_error *error);

/* Makes *E of an instance with 140,001 elements along an axis, if an example adds up integers of
 * one or two bytes in f32: the largest sums are beyond 2^24 then. GEMEL_DECLINED: none was found in
 * this TURN. Release with gemel__example_clear. */
gemel_status gemel__rule_draw_sum(struct gemel__rule_subject *p, size_t turn, gemel__random *random,
                                  struct gemel__example *e, gemel_error *error);

/* Begins a tier, with the members that all records of the rule share. */
void gemel__rule_begin(struct gemel__rule_subject *p, gemel__inquiry *q, gemel_tier tier);

/* Emits the record of a tier that ended, as gemel__inquiry_end. It is uninformative if there are
 * examples for this tier and none has elements, and one that passed also if no example takes some
 * arm of the rule. */
void gemel__rule_end(const struct gemel__rule_subject *p, gemel__inquiry *q, gemel_verdict verdict,
                     gemel_evidence how, const char *detail);

/* Draws an instance of the rule or pass, like gemel__rule_draw. Of WISH only max_elements counts
 * for a pass. GEMEL_DECLINED: none was found. */
gemel_status gemel__rule_draw_again(const struct gemel__rule_subject *p,
                                    const gemel__rule_wish *wish, gemel__random *random,
                                    gemel__rule_instance *instance, gemel__rule_draws *draws,
                                    gemel_error *error);

/* Reports that a rule, or PASS, was not tried. */
void gemel__rule_untried(gemel__run *run, const gemel_pass *pass, const gemel_rule_info *info);

/* Verifies RULE or, if it is NULL, PASS; INFO describes it. */
gemel_status gemel__rule_verify(gemel__run *run, const gemel_rule *rule, const gemel_pass *pass,
                                const gemel_rule_info *info, gemel_error *error);

/* Reports, as a refutation in tier real, inputs or sizes at which the right side ends in an error
 * and the left side doesn't: *REFUTED is 1 then (narrows.c). */
gemel_status gemel__rule_narrows(struct gemel__rule_subject *p, int *refuted, gemel_error *error);

/* The part of tier integer for indices that are larger than any instance (counted.c). */
gemel_status gemel__rule_counted(struct gemel__rule_subject *p, gemel__inquiry *q,
                                 gemel_error *error);

/* The part of tier integer for sums that f32 doesn't hold (counted.c). */
gemel_status gemel__rule_sums(struct gemel__rule_subject *p, gemel__inquiry *q, gemel_error *error);

/* Compares PAIR's results with numbers next to END in integer inputs. A difference is reported in
 * tier integer, unless it is of floats and the rule rounds. */
gemel_status gemel__rule_compare_beside(struct gemel__rule_subject *p, gemel__inquiry *q,
                                        gemel__pair *pair, int64_t end, gemel__random *random,
                                        gemel_error *error);

/* Tier gradient (gradient.c). */
gemel_status gemel__rule_gradient(struct gemel__rule_subject *p, gemel_error *error);

/* Tier special: measures what the rule needs, and compares that with what it declares (class.c). */
gemel_status gemel__rule_class(struct gemel__rule_subject *p, gemel_error *error);

/* The part of tier special for places at which rounding decides: adds `integers` to the words of P,
 * with a witness, if the sides differ at one (flips.c). */
gemel_status gemel__rule_flips(struct gemel__rule_subject *p, gemel_error *error);

/* Likewise of an instance whose sums f32 doesn't hold. */
gemel_status gemel__rule_flips_of_sums(struct gemel__rule_subject *p, gemel_error *error);

/* A difference that OUTCOME has between integers of PAIR at VALUES is taken back if the rule
 * declares `integers`, some number on the way is a float, and without rounding all results are
 * equal there. */
gemel_status gemel__rule_excuse(const struct gemel__rule_subject *p, const gemel__pair *pair,
                                gemel_tensor *const *values, gemel__random *random,
                                gemel__outcome *outcome, gemel_error *error);

/* The part of tier special for instances with infinite and NaN constants: adds the words that they
 * show, with witnesses, to those of P (special.c). */
gemel_status gemel__rule_special(struct gemel__rule_subject *p, gemel_error *error);

#endif
