/* SPDX-License-Identifier: MIT
 *
 * Are two sides the same function over the reals? Domain O evaluates both at points and compares;
 * domain F evaluates both at random residues; and F, forced to the decisions that O took at a
 * point, tells whether both are the same formula on that cell (σF). Together they decide, see
 * decide() in model.c; doc/verify.md has the mathematics.
 */
#ifndef GEMEL__VERIFY_MODEL_H
#define GEMEL__VERIFY_MODEL_H

#include "instance.h"

/* One side: a function of the leaves that can be evaluated on any domain. */
typedef struct gemel__side gemel__side;
struct gemel__side {
  /* Fills in OUTPUTS (empty slots) from INPUTS (a leaf each). */
  gemel_status (*evaluate)(const gemel__side *side, gemel__domain *d, const gemel__rtensor *inputs,
                           gemel__rtensor *outputs, gemel_error *error);
  const void *data;
};

typedef struct gemel__question {
  const gemel__instance *leaves; /* whose leaves both sides are functions of */
  const gemel__side *left, *right;
  size_t n_outputs;
  const double *constants; /* that the sides' graphs hold */
  size_t n_constants;
  int zeros_count;    /* 1: results that are zero everywhere are evidence (a derivative may be) */
  int compare_domain; /* 1: where one side is undefined the other must be too */
  size_t points, trials;
  size_t bisections; /* segments between points that are searched for narrow windows */
  uint64_t seed;
} gemel__question;

typedef struct gemel__answer {
  gemel_verdict verdict;
  const char *how;
  char detail[200];
  double error_probability;
  size_t points, trials, cells, compared;
  gemel_tensor **witness; /* a value for each leaf, when a point tells; else NULL */
  size_t n_witness;
  size_t output, element;
  char expected[160], got[160];
} gemel__answer;

/* Decides. Release the answer with gemel__answer_clear. */
gemel_status gemel__decide(const gemel__question *question, gemel__answer *answer,
                           gemel_error *error);
void gemel__answer_clear(gemel__answer *answer);

/* A side that is the graph DATA points to (a gemel_graph), evaluated by references. */
gemel_status gemel__side_graph(const gemel__side *side, gemel__domain *d,
                               const gemel__rtensor *inputs, gemel__rtensor *outputs,
                               gemel_error *error);

/* Appends the numbers in GRAPH's constants to CONSTANTS, at most until *N is ROOM. */
void gemel__constants(const gemel_graph *graph, double *constants, size_t room, size_t *n);

/* Is the derivative of INSTANCE, as the library builds it in reverse and forward mode, the one that
 * dual numbers give? */
gemel_status gemel__decide_gradient(const gemel__instance *instance, uint64_t seed, size_t points,
                                    size_t trials, gemel__answer *answer, gemel_error *error);

#endif
