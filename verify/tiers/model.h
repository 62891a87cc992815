/* SPDX-License-Identifier: MIT
 *
 * Tier real: are two sides the same function over the reals? Three comparisons are made. Domain O
 * evaluates both sides exactly at points. Domain F evaluates both at random residues. σF evaluates
 * both in F with the decisions (signs, floors) that O took at a point forced on it: is it the same
 * formula on that cell? gemel__models_decide (verdict.c) turns them into a verdict; README.md has
 * the mathematics.
 */
#ifndef GEMEL__TIERS_MODEL_H
#define GEMEL__TIERS_MODEL_H

#include "instances/instance.h"
#include "tiers/sites.h"
#include "base/tick.h"

/* One side of a question: a function of the leaves that can be evaluated in any domain. */
typedef struct gemel__model_side gemel__model_side;
struct gemel__model_side {
  /* Computes OUTPUTS (empty) from INPUTS (one for each leaf). */
  gemel_status (*evaluate)(const gemel__model_side *side, gemel__domain *d,
                           const gemel__rtensor *inputs, gemel__rtensor *outputs,
                           gemel_error *error);
  const void *data;
};

/* What it means if one side is undefined at a point. */
typedef enum gemel__domains {
  GEMEL__DOMAINS_FREE, /* nothing: such points aren't compared */
  GEMEL__SAME_DOMAIN,  /* the other side must be undefined there too */
  GEMEL__LEFT_DEFINED, /* the left side must be defined where the right one is */
  GEMEL__IEEE_DECIDES  /* the other side must be undefined there too, or have the same value by
                        * IEEE's rules (poles.h) */
} gemel__domains;

typedef struct gemel__question {
  const gemel__instance *leaves; /* its leaves are the arguments of both sides */
  const gemel__model_side *left, *right;
  size_t n_outputs;
  const double *constants; /* numbers in the constants of both graphs */
  size_t n_constants;
  int zeros_count; /* 1: results that are all zero may pass (a derivative may be 0) */
  gemel__domains compare_domain;
  int special;      /* bits 1 and 2: the left and the right side have NaN or infinite constants, so
                     * a result may be NaN or infinite, or made of NaN, at every point */
  int all_compared; /* 1: uninformative if some element was never compared */
  int keep_sites;   /* 1: leave sites that went one way to the caller, who merges several answers */
  int solve;        /* 1: ask Z3 what the models leave open */
  struct gemel__solver_memory *memory; /* what Z3 was asked before (solver-check.h); or NULL */
  int spare;       /* 1: draw few points if F proves both sides the same polynomials */
  unsigned faults; /* planted faults of domain F, for tests (field.h) */
  size_t points, trials;
  size_t infinite; /* number of points with infinite inputs */
  size_t drives;   /* most evaluations for driving decisions to a tie (drive.c) */
  uint64_t seed;
  gemel__ticker *ticker; /* may stop the run (GEMEL_DECLINED); NULL: nobody does */
} gemel__question;

typedef struct gemel__answer {
  gemel_verdict verdict;
  gemel_evidence how;
  char detail[200];
  double error_probability; /* how field: probability of passing although false; else 0 */
  size_t points, trials, cells, compared;
  size_t poles; /* results with a real value on one side only and the same IEEE value on both */
  size_t elements, missing, missing_output; /* result elements; those never compared, and the first
                                             * output with one */
  int strict;                               /* copy of the question's all_compared */
  gemel__sites sites;                       /* where O took decisions, and which */
  gemel_tensor **witness; /* the counterexample: a tensor for each leaf, owned; else NULL */
  size_t n_witness;
  size_t output, element;
  char expected[160], got[160];
} gemel__answer;

/* Answers QUESTION. Release the answer with gemel__answer_clear, whatever the status. */
gemel_status gemel__decide(const gemel__question *question, gemel__answer *answer,
                           gemel_error *error);
void gemel__answer_clear(gemel__answer *answer);

/* Merges ONE, the answer for another instance of the same subject, into TOTAL, which holds N
 * answers already. The weakest evidence counts; cells, points and sites add up. Neither may be
 * refuted. −1: memory is out. */
int gemel__answer_merge(gemel__answer *total, const gemel__answer *one, size_t n);

/* The weaker of two kinds of evidence; NONE is neutral. */
gemel_evidence gemel__evidence_weaker(gemel_evidence a, gemel_evidence b);

/* A verdict and what carries it. */
typedef struct gemel__finding {
  gemel_verdict verdict;
  gemel_evidence how; /* of a refutation: NONE if it isn't certain */
} gemel__finding;

/* Combines two findings on one question: the worse verdict; of two equal ones the weaker evidence;
 * of two refutations the certain one. */
gemel__finding gemel__finding_both(gemel__finding a, gemel__finding b);

/* 1 if the sides are proven to be the same function. */
static inline int gemel__is_proven(gemel__finding f) {
  return f.verdict == GEMEL_VERDICT_PASSED && f.how >= GEMEL_EVIDENCE_FIELD;
}

/* If the answer passed by points (samples or cells) and an undecided site went one way at all of
 * them, that site; else NULL. Proofs (field, solver) need no sites. */
const gemel__site *gemel__answer_one_way(const gemel__answer *answer);

/* Makes an answer with such a site UNINFORMATIVE, with the node named in DETAIL. Does the same, if
 * the answer is STRICT, for elements that were never compared. */
void gemel__answer_settle(gemel__answer *answer);

/* The `evaluate` of a side whose DATA is a gemel_graph: evaluates it by the references. */
gemel_status gemel__side_graph(const gemel__model_side *side, gemel__domain *d,
                               const gemel__rtensor *inputs, gemel__rtensor *outputs,
                               gemel_error *error);

/* Appends to CONSTANTS the finite nonzero numbers of NODE, if it is a constant (gemel__constants:
 * of all constants of GRAPH). Stops when *N reaches ROOM. */
void gemel__constants_of(const gemel_graph *graph, uint32_t node, double *constants, size_t room,
                         size_t *n);
/* 1 if a constant of GRAPH has a NaN or an infinity. */
int gemel__has_special_constants(const gemel_graph *graph);

void gemel__constants(const gemel_graph *graph, double *constants, size_t room, size_t *n);

/* Is the derivative of INSTANCE that the library builds, in reverse and in forward mode, the one
 * that dual numbers give? The answer isn't settled (gemel__answer_settle): one instance has too few
 * points to meet all branches. */
gemel_status gemel__decide_gradient(const gemel__instance *instance, uint64_t seed, size_t points,
                                    size_t trials, gemel__answer *answer, gemel_error *error);

/* The same for PART of the derivative. ROUNDED: the derivative is of a program's own operation and
 * may contain rounded constants. If reverse or forward mode doesn't exist, the other is judged
 * alone. */
gemel_status gemel__decide_gradient_part(const gemel__instance *instance, gemel__partial part,
                                         uint64_t seed, size_t points, size_t trials, int rounded,
                                         gemel__answer *answer, gemel_error *error);

#endif
