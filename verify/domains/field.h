/* SPDX-License-Identifier: MIT
 *
 * Domain F: a chain of prime fields (chain.h). An element is one residue in each ring that it has a
 * value in, and what is known of it besides: the exact number, where it is a known rational (all
 * integers of integer tensors and all constants are), its sign, where that follows from the facts
 * known of the leaves, and a bound on its degree as a rational function of the leaves.
 *
 * + − × ÷ act in every ring. exp lifts: the residue of ring i + 1 is an exponent of the generator
 * of ring i, and the last ring is lost. log lowers, and the first is lost. A ring where the value
 * doesn't exist (an inverse of 0, a root or a log of a non-square) drops out, and an element
 * without any ring has no value: UNDEFINED if a ring dropped out on the way, GAP if the chain is
 * too short or has no logarithms. Two elements are compared in the rings that they have in common.
 *
 * An infinity is a tag beside the residues: literals set it, choices hand it on, and it follows the
 * algebra of the extended reals (exp of −∞ is the 0 of every ring, ∞ − ∞ is UNDEFINED). Where that
 * hangs on a sign that isn't known, as in ∞ · x, there is a GAP.
 *
 * Decisions. The sign of a known number is exact; with a tape of decisions forced on the domain
 * (σF) every call of sign and floor takes the next entry, also where the answer is known; a sign
 * that follows from facts is proven; else the quadratic character of one ring decides, ring 1 where
 * there is one (it survives one exp and one log), and is counted: a result that depends on such
 * characters is a heuristic, never a proof. One ring decides for all, so a decision may contradict
 * the characters of other rings. That doesn't matter until a root, a log or a fractional power is
 * taken of such a number (√x² is then −x in a ring where |x| is x): so with both in one trial,
 * results are compared only in rings that agree with every decision ("coherent" rings), and it is
 * undecided if there is none: try again.
 *
 * What is random in a trial: the chain, the generators, the leaves. Draw them anew for each:
 *
 *   gemel__domain *f = gemel__field_new(&options, seed, error);
 *   for each trial: gemel__field_trial(f, seed of the trial), gemel__field_random for each leaf,
 *     evaluate both sides, f->equal, gemel__field_report.
 *
 * Not thread-safe: one domain for each thread.
 */
#ifndef GEMEL__DOMAINS_FIELD_H
#define GEMEL__DOMAINS_FIELD_H

#include <stddef.h>
#include <stdint.h>
#include <gemel/status.h>
#include "domains/chain.h"
#include "domains/domain.h"

/* Faults that the tests of the harness plant. */
enum {
  GEMEL__FIELD_INVERSE_OF_ZERO = 1, /* 1/0 is 0 */
  GEMEL__FIELD_WHOLE_GROUP = 2,     /* log of a generator of the whole group: log(−x) = log x */
  GEMEL__FIELD_NO_RING_EQUAL = 4,   /* elements without a common ring count as equal */
  GEMEL__FIELD_NO_COHERENCE = 8,    /* results are compared in all common rings */
  GEMEL__FIELD_ANY_PRIMES = 16,     /* chains on which 2 and the constants may be non-squares */
  GEMEL__FIELD_GENERATOR_4 = 32     /* always the generator 4: e = 4 */
};

/* What suits: GEMEL__FIELD_SMALL where it must be cheap (exp, log, inverse by table; but few
 * chains, and an error of degree ÷ 2¹⁷ a trial), MEDIUM where logs occur, LARGE where none does. */
enum { GEMEL__FIELD_SMALL = 17, GEMEL__FIELD_MEDIUM = 31, GEMEL__FIELD_LARGE = 61 };

typedef struct gemel__field_options {
  int bits;   /* of the largest prime, at least; larger if chains of the kind are too few */
  int length; /* rings: 1 + how deep exponentials are nested */
  const double *constants; /* constants of the graphs: squares, as far as possible (chain.h) */
  size_t n_constants;
  unsigned faults; /* 0 */
} gemel__field_options;

/* A domain with a first trial drawn from SEED. OPTIONS may be NULL: 31 bits, 2 rings. It copies
 * what it needs. Errors (NULL): GEMEL_BAD_VALUE, GEMEL_UNSUPPORTED (no such chain),
 * GEMEL_NO_MEMORY. Release with gemel__field_free after all its elements. */
gemel__domain *gemel__field_new(const gemel__field_options *options, uint64_t seed,
                                gemel_error *error);
void gemel__field_free(gemel__domain *d);

/* A new trial: fresh chain and generators, determined by the options and SEED; the report is set to
 * zero and the tape taken off. Elements of before have no meaning any more (but may be set again).
 * Errors: GEMEL_NO_MEMORY, GEMEL_UNSUPPORTED; the trial before then goes on. */
gemel_status gemel__field_trial(gemel__domain *d, uint64_t seed, gemel_error *error);

/* ---- Leaves ---- */

typedef enum gemel__field_leaf {
  GEMEL__LEAF_ANY,             /* not 0; of the same character in every ring */
  GEMEL__LEAF_POSITIVE,        /* a square in every ring */
  GEMEL__LEAF_NEGATIVE,        /* a non-square in every ring */
  GEMEL__LEAF_ABOVE_MINUS_ONE, /* x + 1 is a square */
  GEMEL__LEAF_BELOW_ONE,       /* 1 − x is */
  GEMEL__LEAF_UNIT             /* both are: |x| < 1 */
} gemel__field_leaf;

/* E becomes a random leaf of this kind. */
void gemel__field_random(gemel__domain *d, void *e, gemel__field_leaf kind);

/* ---- Outside the model ---- */

/* E becomes a random function, of this NAME, of the N arguments and the trial, ring by ring: the
 * same arguments give the same residues. For functions that the model doesn't have: floor, and what
 * a program brings. Two sides that agree with it agree for any function in its place; an inequality
 * downstream of one refutes nothing (GEMEL__FIELD_IS_KEYED, report.keyed). NAME stays the
 * caller's, and is reported. */
void gemel__field_keyed(gemel__domain *d, void *e, const char *name, size_t n,
                        const void *const *args);

/* ---- Decisions from outside: σF ---- */

/* Forces the decisions of TAPE, from its entry `at` on, on sign and floor: every call takes one
 * entry (INT64_MIN for a floor, GEMEL__UNORDERED for a sign: undecided). NULL takes it off. The
 * tape must outlive its use; tape->failed says that it was too short. */
void gemel__field_force(gemel__domain *d, gemel__tape *tape);

/* Records decisions: every call of sign and floor pushes one entry. NULL ends it. */
void gemel__field_record(gemel__domain *d, gemel__tape *tape);

/* ---- What an evaluation used ---- */

typedef struct gemel__field_report {
  uint64_t characters; /* signs that only the character decided */
  uint64_t undecided;  /* of how many different numbers, up to the sign, these were */
  uint64_t proven;     /* signs of known numbers, or by facts */
  uint64_t forced;     /* decisions from the tape */
  uint64_t ties;       /* forced signs of 0 on what isn't 0: a border between cells */
  uint64_t
      contradictions;     /* forced decisions against a known number or fact: the cell is another */
  uint64_t keyed;         /* keyed functions evaluated */
  const char *keyed_name; /* of the first of these; NULL: none */
  uint64_t keyed_signs;   /* characters and forced decisions on elements that depend on one */
  uint64_t gaps;        /* results without value: chain too short, no logarithms, no integer, … */
  uint64_t non_squares; /* rings lost to a log, root or power of a non-square */
  uint64_t zero_inverses; /* rings lost to a division by 0 (or a log of 0) */
  uint64_t undefined;     /* results that lost their last ring to these */
  uint64_t exponentials;  /* exp and log evaluated: error bounds rest on a conjecture */
  uint64_t roots;         /* sqrt, log and fractional powers */
  uint64_t inverses;      /* of what isn't a known number */
  unsigned coherent;      /* bit i: ring i's characters agree with all decisions */
  int no_memory;          /* a log table could not be made: results are GAPs for that reason */
  double degree;          /* largest degree of a difference that `equal` looked at */
} gemel__field_report;

const gemel__field_report *gemel__field_get_report(const gemel__domain *d);

/* Sets all counts to zero and all rings coherent; chain, tape and leaves stay. */
void gemel__field_reset(gemel__domain *d);

/* What an element's value depends on (not what decisions on the way depended on: see the report).
 */
enum { GEMEL__FIELD_IS_KEYED = 1, GEMEL__FIELD_HAS_EXP = 2, GEMEL__FIELD_HAS_ROOT = 4 };
unsigned gemel__field_flags(const gemel__domain *d, const void *e);

/* Bit i: the element has a value in ring i. 0 without value. */
unsigned gemel__field_rings(const gemel__domain *d, const void *e);

/* The residue in ring I, in [0, p), where the element has one; p of ring I. */
uint64_t gemel__field_residue(const gemel__domain *d, const void *e, int i);
uint64_t gemel__field_prime(const gemel__domain *d, int i);

/* ---- Certainty ---- */

/* A bound on the probability that A and B, if they are different functions, come out equal in one
 * trial: (degree of their difference as a rational function) ÷ p, at most 1 (Schwartz, JACM 27,
 * 1980; Zippel, 1979), for the largest ring that `equal` compares; 1 if it compares none. With
 * HAS_EXP the bound takes exponentials as independent variables and rests on the conjecture of Li
 * and Wu (ITCS 2026); with HAS_ROOT, and with characters or forced decisions, it is a heuristic.
 * That coefficients of the difference don't all vanish modulo p is a matter of the random chain and
 * not in the bound. */
double gemel__field_error_bound(const gemel__domain *d, const void *a, const void *b);

/* Trials for an error of at most DELTA when an acceptance depends on K undecided signs on a path:
 * 2^K ln(1/DELTA), rounded up; infinite for K beyond 1000. */
double gemel__field_trials(int k, double delta);

/* How many of the constants in the options aren't squares for certain in ring 1, which decides
 * signs (0 is good: see chain.h). */
size_t gemel__field_unmet(const gemel__domain *d);

#endif
