/* SPDX-License-Identifier: MIT
 *
 * The verdict of tier real, from what both models found, and its error probability. The rules are
 * listed in README.md under "The decision".
 */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "core/dtype.h"
#include "tiers/models.h"

/* F's acceptance, where it depends on undecided signs, must be wrong with a probability of at most
 * DELTA. If that takes more than MOST_TRIALS trials it is no proof. */
#define DELTA 1e-9
enum { MOST_TRIALS = 400 };

/* ---- Answering ---- */

void gemel__say(gemel__answer *a, gemel_verdict verdict, gemel_evidence how, const char *detail) {
  a->verdict = verdict;
  a->how = how;
  snprintf(a->detail, sizeof a->detail, "%s", detail);
}

/* How many results of one trial are independent of each other: all of an elementwise function whose
 * leaves have one shape; else 1, as elements may share a scalar. */
static double independent_results(const gemel__models *s) {
  const gemel__instance *in = s->q->leaves;
  for (size_t k = 0; k < in->n_leaves; k++) {
    if (!in->elementwise || in->leaves[k].count != in->leaves[0].count) {
      return 1;
    }
  }
  return in->n_leaves > 0 && in->leaves[0].count > 0 ? (double)in->leaves[0].count : 1;
}

/* ---- Trials ---- */

int gemel__models_path(const gemel__models *s, const gemel__field_report *report) {
  double n = (double)report->undecided;
  return (int)ceil(fmin(n, INT_MAX) / independent_results(s));
}

size_t gemel__models_trials(const gemel__models *s) {
  double n =
      s->undecided == 0 ? 0 : gemel__field_trials(s->undecided, DELTA) / independent_results(s);
  return n > MOST_TRIALS ? 0 : n > (double)s->q->trials ? (size_t)ceil(n) : s->q->trials;
}

/* ---- Certainty ---- */

/* The probability that F accepts different functions. If they differ in one of the 2^k combinations
 * of k undecided signs, a trial hits that one with probability 2^-k and then misses the difference
 * with probability delta. */
static double field_error(const gemel__models *s) {
  double trials = (double)s->f_accepted, hit = ldexp(1 - s->delta, -s->undecided);
  if (s->undecided == 0) {
    return pow(s->delta, trials);
  }
  return exp(trials * independent_results(s) * log1p(-hit));
}

/* 1 if some input is of integers or truths. In F these keep the numbers that were drawn, so nothing
 * is proved for others. */
static int has_integers(const gemel__models *s) {
  const gemel__instance *in = s->q->leaves;
  for (size_t k = 0; k < in->n_leaves; k++) {
    if (in->leaves[k].count > 0 && !gemel__is_float(in->leaves[k].dtype)) {
      return 1;
    }
  }
  return 0;
}

/* 1 if the trials in prime fields are a proof. A random residue is never exactly at the kink of a
 * ReLU or at a tie of two operands, so domain O must have evaluated points there. */
static int field_accepts(const gemel__models *s) {
  size_t wanted = gemel__models_trials(s);
  if (s->f_accepted == 0 || s->f_open > 0 || s->f_rejected > 0 || s->f_keyed > 0) {
    return 0;
  }
  return s->f_with_characters == 0 ||
         (wanted > 0 && s->f_accepted >= wanted && gemel__sites_tied(&s->answer->sites));
}

int gemel__models_proven(const gemel__models *s) {
  return s->f_with_characters == 0 && field_accepts(s) && !has_integers(s);
}

int gemel__models_open(const gemel__models *s) {
  return s->answer->witness == NULL && s->answer->verdict != GEMEL_VERDICT_REFUTED &&
         s->cell_rejected == 0 && !(s->f_rejected > 0 && s->f_with_characters == 0) &&
         s->o_compared > 0 && !(field_accepts(s) && !has_integers(s));
}

static void say_solver(gemel__models *s) {
  gemel__say(s->answer, GEMEL_VERDICT_PASSED, GEMEL_EVIDENCE_SOLVER, "");
  snprintf(s->answer->detail, sizeof s->answer->detail,
           "proved for all real numbers and integers of these sizes; %zu question%s to the solver",
           s->solver_questions, s->solver_questions == 1 ? "" : "s");
}

static void say_field(gemel__models *s) {
  gemel__answer *a = s->answer;
  gemel__say(a, GEMEL_VERDICT_PASSED, GEMEL_EVIDENCE_FIELD,
             s->exponentials ? "the bound rests on the conjecture of Li and Wu" : "");
  a->error_probability = field_error(s);
  if (s->undecided > 0) {
    snprintf(a->detail, sizeof a->detail, "%zu trials for %d undecided sign%s on a path%s%s",
             a->trials, s->undecided, s->undecided > 1 ? "s" : "", s->exponentials ? "; " : "",
             s->exponentials ? "the bound rests on the conjecture of Li and Wu" : "");
  }
}

/* Passed (cells), with the chance of a region that was never hit. */
static void say_cells(gemel__answer *a) {
  gemel__say(a, GEMEL_VERDICT_PASSED, GEMEL_EVIDENCE_CELLS, "");
  snprintf(a->detail, sizeof a->detail,
           "%zu cells at %zu points; a region that is 1 %% of the samples stays unseen with "
           "probability %.1g",
           a->cells, a->points, pow(0.99, (double)a->points));
}

static void say_samples(gemel__models *s) {
  gemel__answer *a = s->answer;
  int all = s->f_accepted > 0 && s->f_open == 0 && s->f_rejected == 0 && s->f_with_characters == 0;
  gemel__say(a, GEMEL_VERDICT_PASSED, GEMEL_EVIDENCE_SAMPLES,
             s->gaps > 0 ? "outside the field model" : "decided by exact evaluation at points");
  if (s->keyed_name != NULL) {
    snprintf(a->detail, sizeof a->detail, "%s is outside the field model", s->keyed_name);
  }
  if (s->keyed_name != NULL && all) {
    snprintf(a->detail, sizeof a->detail,
             "%s is outside the field model; with a random function in its place the sides agree, "
             "wrongly with probability %.1g",
             s->keyed_name, field_error(s));
  }
}

/* 1 if σF carries the verdict: it accepted a cell, and no cell was open. An instance all of whose
 * points lie on borders has no cells; if it is to be merged with others (keep_sites) it doesn't
 * weaken them. */
static int cells_carry(const gemel__models *s) {
  return s->f != NULL && s->cell_keyed == 0 && s->gaps == 0 &&
         (s->cell_accepted > 0 || (s->cell_open == 0 && s->q->keep_sites));
}

/* The rules of README.md in order; the first that applies. */
void gemel__models_decide(gemel__models *s) {
  gemel__answer *a = s->answer;
  if (a->verdict == GEMEL_VERDICT_REFUTED) {
    return;
  }
  if (s->cell_rejected > 0) {
    gemel__say(a, GEMEL_VERDICT_REFUTED, GEMEL_EVIDENCE_CELLS,
               "different formulas where the decisions are those of this point");
  } else if (s->f_rejected > 0 && s->f_with_characters == 0) {
    gemel__say(a, GEMEL_VERDICT_REFUTED, GEMEL_EVIDENCE_FIELD,
               "different residues at random elements of a prime field");
  } else if (s->o_compared == 0 && (s->o_special == 0 || a->missing > 0)) {
    gemel__say(a, GEMEL_VERDICT_UNINFORMATIVE, GEMEL_EVIDENCE_NONE,
               a->missing < a->elements ? "all results were infinite or undefined at every point"
                                        : "no result was defined at any point");
  } else if (field_accepts(s) && !has_integers(s)) {
    say_field(s);
  } else if (s->solver_proved) {
    say_solver(s);
  } else if (s->o_compared > 0 && s->o_nonzero == 0 && !s->q->zeros_count && !field_accepts(s)) {
    gemel__say(a, GEMEL_VERDICT_UNINFORMATIVE, GEMEL_EVIDENCE_NONE,
               "all results were zero at every point");
  } else if (cells_carry(s)) {
    say_cells(a);
  } else {
    say_samples(s);
  }
  a->strict = s->q->all_compared;
  if (!s->q->keep_sites) {
    gemel__answer_settle(a);
  }
}

gemel_evidence gemel__evidence_weaker(gemel_evidence a, gemel_evidence b) {
  return a == GEMEL_EVIDENCE_NONE || (b != GEMEL_EVIDENCE_NONE && b < a) ? b : a;
}

gemel__finding gemel__finding_both(gemel__finding a, gemel__finding b) {
  int x = gemel_verdict_severity(a.verdict), y = gemel_verdict_severity(b.verdict);
  if (x != y) {
    return x > y ? a : b;
  }
  if (a.verdict == GEMEL_VERDICT_REFUTED) {
    return a.how != GEMEL_EVIDENCE_NONE ? a : b;
  }
  a.how = gemel__evidence_weaker(a.how, b.how);
  return a;
}

/* 1 if ONE passed and its evidence is weaker than TOTAL's. */
static int is_weaker(const gemel__answer *one, const gemel__answer *total) {
  return one->verdict == GEMEL_VERDICT_PASSED &&
         (total->verdict != GEMEL_VERDICT_PASSED ||
          (one->how != total->how && gemel__evidence_weaker(one->how, total->how) == one->how));
}

int gemel__answer_merge(gemel__answer *total, const gemel__answer *one, size_t n) {
  size_t compared = total->compared + one->compared, points = total->points + one->points;
  size_t cells = total->cells + one->cells, trials = total->trials + one->trials;
  size_t elements = total->elements + one->elements, missing = total->missing + one->missing;
  size_t output = total->missing > 0 ? total->missing_output : one->missing_output;
  size_t poles = total->poles + one->poles;
  double error = fmax(total->error_probability, one->error_probability);
  if (n == 0 || is_weaker(one, total)) {
    gemel__sites sites = total->sites;
    *total = *one;
    total->sites = sites;
    total->witness = NULL;
  }
  total->compared = compared;
  total->points = points;
  total->cells = cells;
  total->trials = trials;
  total->poles = poles;
  total->elements = elements;
  total->missing = missing;
  total->missing_output = output;
  total->error_probability = error;
  if (total->verdict == GEMEL_VERDICT_PASSED && total->how == GEMEL_EVIDENCE_CELLS) {
    say_cells(total);
  }
  return gemel__sites_merge(&total->sites, &one->sites);
}

const gemel__site *gemel__answer_one_way(const gemel__answer *answer) {
  return answer->verdict == GEMEL_VERDICT_PASSED && answer->how != GEMEL_EVIDENCE_FIELD &&
                 answer->how != GEMEL_EVIDENCE_SOLVER
             ? gemel__sites_one_way(&answer->sites)
             : NULL;
}

/* Adds to the detail how many results no model compared. In a strict answer, they make it
 * UNINFORMATIVE. */
static void settle_missing(gemel__answer *a) {
  char text[120];
  size_t used = strlen(a->detail);
  if (a->missing == 0 || a->verdict != GEMEL_VERDICT_PASSED) {
    return;
  }
  snprintf(text, sizeof text,
           "%zu of %zu results, the first in output %zu, were compared by no model", a->missing,
           a->elements, a->missing_output);
  if (a->strict) {
    gemel__say(a, GEMEL_VERDICT_UNINFORMATIVE, GEMEL_EVIDENCE_NONE, text);
  } else {
    snprintf(a->detail + used, sizeof a->detail - used, "%s%s", used > 0 ? "; " : "", text);
  }
}

/* Adds to the detail of what passed how many results IEEE's values decided. */
static void say_poles(gemel__answer *a) {
  size_t used = strlen(a->detail);
  if (a->poles > 0 && a->verdict == GEMEL_VERDICT_PASSED) {
    snprintf(a->detail + used, sizeof a->detail - used,
             "%s%zu results without a real value on one side are the same by IEEE's rules",
             used > 0 ? "; " : "", a->poles);
  }
}

void gemel__answer_settle(gemel__answer *answer) {
  const gemel__site *site = gemel__answer_one_way(answer);
  if (answer->verdict == GEMEL_VERDICT_PASSED && answer->how == GEMEL_EVIDENCE_CELLS &&
      answer->cells == 0) {
    gemel__say(answer, GEMEL_VERDICT_PASSED, GEMEL_EVIDENCE_SAMPLES,
               "decided by exact evaluation at points");
  }
  if (site == NULL) {
    settle_missing(answer);
    say_poles(answer);
    return;
  }
  int64_t first = site->first;
  gemel__say(answer, GEMEL_VERDICT_UNINFORMATIVE, GEMEL_EVIDENCE_NONE, "");
  snprintf(answer->detail, sizeof answer->detail,
           "a decision at node %u (%s) of the %s side went one way at every point: %s",
           (unsigned)site->node, site->label, site->side == 0 ? "left" : "right",
           site->floors ? "the same floor"
           : first < 0  ? "negative"
           : first > 0  ? "positive"
                        : "zero");
}
