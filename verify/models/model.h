/* SPDX-License-Identifier: MIT
 *
 * Are two sides the same function over the reals? Domain O evaluates both at points and compares;
 * domain F evaluates both at random residues; and F, forced to the decisions that O took at a
 * point, tells whether both are the same formula on that cell (σF). Together they decide, see
 * decide() in model.c; doc/verify.md has the mathematics.
 */
#ifndef GEMEL__MODELS_MODEL_H
#define GEMEL__MODELS_MODEL_H

#include "instances/instance.h"
#include "models/sites.h"
#include "base/tick.h"

/* One side: a function of the leaves that can be evaluated on any domain. */
typedef struct gemel__model_side gemel__model_side;
struct gemel__model_side {
  /* Fills in OUTPUTS (empty slots) from INPUTS (a leaf each). */
  gemel_status (*evaluate)(const gemel__model_side *side, gemel__domain *d,
                           const gemel__rtensor *inputs, gemel__rtensor *outputs,
                           gemel_error *error);
  const void *data;
};

/* What points where a side is undefined say of two functions. */
typedef enum gemel__domains {
  GEMEL__DOMAINS_FREE, /* nothing */
  GEMEL__SAME_DOMAIN,  /* the other side must be undefined there too */
  GEMEL__LEFT_DEFINED  /* the left side must be defined where the right one is */
} gemel__domains;

typedef struct gemel__question {
  const gemel__instance *leaves; /* whose leaves both sides are functions of */
  const gemel__model_side *left, *right;
  size_t n_outputs;
  const double *constants; /* that the sides' graphs hold */
  size_t n_constants;
  int zeros_count; /* 1: results that are zero everywhere are evidence (a derivative may be) */
  gemel__domains compare_domain;
  int all_compared; /* 1: an element that no model compared makes the verdict uninformative */
  int keep_sites;  /* 1: sites that went one way are for the caller to judge, who has more points */
  int solve;       /* 1: a solver is asked what the models leave open */
  int spare;       /* 1: few points where residues prove the sides the same polynomials */
  unsigned faults; /* of domain F, for tests (field.h) */
  size_t points, trials;
  size_t infinite;   /* points at which some inputs are infinite */
  size_t drives;     /* evaluations spent on driving decisions to where they change */
  size_t bisections; /* segments between points that are searched for narrow windows */
  uint64_t seed;
  gemel__ticker *ticker; /* says when to stop, with GEMEL_DECLINED; NULL: nobody does */
} gemel__question;

typedef struct gemel__answer {
  gemel_verdict verdict;
  gemel_evidence how;
  char detail[200];
  double error_probability; /* how field: of passing although false; else 0 */
  size_t points, trials, cells, compared;
  size_t elements, missing, missing_output; /* MISSING of the results' ELEMENTS nobody compared */
  int strict;                               /* as the question's all_compared */
  gemel__sites sites;                       /* where decisions were taken, and which */
  gemel_tensor **witness; /* a value for each leaf, when a point tells; else NULL */
  size_t n_witness;
  size_t output, element;
  char expected[160], got[160];
} gemel__answer;

/* Decides. Release the answer with gemel__answer_clear, whatever the status. */
gemel_status gemel__decide(const gemel__question *question, gemel__answer *answer,
                           gemel_error *error);
void gemel__answer_clear(gemel__answer *answer);

/* Adds ONE, the answer on another instance of the same subject, to TOTAL, which has N of them
 * already: the weakest evidence counts, cells, points and sites add up. Neither is refuted. −1:
 * memory is out. */
int gemel__answer_merge(gemel__answer *total, const gemel__answer *one, size_t n);

/* What carries two verdicts together: the weaker; NONE takes nothing away. */
gemel_evidence gemel__evidence_weaker(gemel_evidence a, gemel_evidence b);

/* A verdict and what carries it. */
typedef struct gemel__finding {
  gemel_verdict verdict;
  gemel_evidence how; /* of a refutation: NONE if it may be wrong */
} gemel__finding;

/* What two findings on one question say together: the worse verdict, and of two that are alike the
 * weaker evidence; of two refutations the certain one. */
gemel__finding gemel__finding_both(gemel__finding a, gemel__finding b);

/* 1 if the sides are proven to be the same function. */
static inline int gemel__is_proven(gemel__finding f) {
  return f.verdict == GEMEL_VERDICT_PASSED && f.how >= GEMEL_EVIDENCE_FIELD;
}

/* A site of an answer that passed by points, an undecided one, went one way only: that, else NULL.
 * A proof by residues needs no sites. */
const gemel__site *gemel__answer_one_way(const gemel__answer *answer);

/* Makes an answer with such a site UNINFORMATIVE; DETAIL then names the node. */
void gemel__answer_settle(gemel__answer *answer);

/* A side that is the graph DATA points to (a gemel_graph), evaluated by references. */
gemel_status gemel__side_graph(const gemel__model_side *side, gemel__domain *d,
                               const gemel__rtensor *inputs, gemel__rtensor *outputs,
                               gemel_error *error);

/* Appends the numbers in GRAPH's constants to CONSTANTS, at most until *N is ROOM; and those of
 * NODE, if it is one. */
void gemel__constants_of(const gemel_graph *graph, uint32_t node, double *constants, size_t room,
                         size_t *n);
void gemel__constants(const gemel_graph *graph, double *constants, size_t room, size_t *n);

/* Is the derivative of INSTANCE, as the library builds it in reverse and forward mode, the one that
 * dual numbers give? The answer isn't settled: a few points of one instance don't meet all
 * branches. */
gemel_status gemel__decide_gradient(const gemel__instance *instance, uint64_t seed, size_t points,
                                    size_t trials, gemel__answer *answer, gemel_error *error);

/* The same of PART of the derivative. ROUNDED: it is that of a program's own operation, and may
 * have constants that are rounded. Where one of the two rules doesn't exist, the other alone is
 * judged.
 */
gemel_status gemel__decide_gradient_part(const gemel__instance *instance, gemel__partial part,
                                         uint64_t seed, size_t points, size_t trials, int rounded,
                                         gemel__answer *answer, gemel_error *error);

#endif
