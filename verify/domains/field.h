/* SPDX-License-Identifier: MIT
 *
 * Domain F: residues in a chain of prime fields (chain.h). An element is one residue for each ring
 * in which it has a value. Beside the residues it has: the exact number, if it is a known rational
 * (constants, and elements of integer tensors); its sign, if that follows from facts about the
 * leaves; a bound on its degree as a rational function of the leaves.
 *
 * + − × ÷ act in every ring. exp lifts: the residue of ring i + 1 is an exponent of the generator
 * of ring i, and the last ring is lost. log lowers, and the first ring is lost. A ring where the
 * value doesn't exist (an inverse of 0, a root or log of a non-square) drops out. An element
 * without any ring has no value: UNDEFINED if a ring dropped out on the way, GAP if the chain is
 * too short or has no logarithms. Two elements are compared in the rings that they have in common.
 *
 * An infinity is a tag beside the residues. Literals set it, choices pass it on, and it follows the
 * algebra of the extended reals: exp(−∞) is 0 in every ring, ∞ − ∞ is UNDEFINED. Where the result
 * depends on an unknown sign, as in ∞ · x, it is a GAP.
 *
 * Signs are decided by the first of these that applies: a tape of forced decisions (σF; also where
 * the sign is known, and for floor), the known number, facts about the leaves, the quadratic
 * character of one ring. That is ring 1 if there is one, as it survives one exp and one log. The
 * report counts characters: a result that depends on them is a heuristic, not a proof.
 *
 * One ring decides for all, so a decision may contradict the character in other rings. This matters
 * only if a root, log or fractional power is taken of such a number: where |x| is x, √x² is −x in a
 * ring whose character disagrees. So if a trial has both, results are compared only in "coherent"
 * rings, those that agree with every decision. If there is none, the comparison is undecided: try
 * again.
 *
 * The chain, the generators and the leaves are random. Draw them anew for each trial:
 *
 *   gemel__domain *f = gemel__field_new(&options, seed, error);
 *   for each trial: gemel__field_trial(f, seed of the trial), gemel__field_random for each leaf,
 *     evaluate both sides, f->equal, gemel__field_get_report.
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

/* Sizes of the largest prime. SMALL: cheap, with exp, log and inverse by table, but few chains, and
 * an error of degree ÷ 2¹⁷ a trial. MEDIUM: for logarithms. LARGE: without logarithms. */
enum { GEMEL__FIELD_SMALL = 17, GEMEL__FIELD_MEDIUM = 31, GEMEL__FIELD_LARGE = 61 };

typedef struct gemel__field_options {
  int bits;                /* of the largest prime; more if there are too few chains */
  int length;              /* rings: 1 + how deep exponentials are nested */
  const double *constants; /* constants of the graphs, made squares as far as possible (chain.h) */
  size_t n_constants;
  unsigned faults; /* 0 */
} gemel__field_options;

/* A domain with a first trial drawn from SEED. OPTIONS may be NULL: 31 bits, 2 rings. It copies
 * what it needs. Errors (NULL): GEMEL_BAD_VALUE, GEMEL_UNSUPPORTED (no such chain),
 * GEMEL_NO_MEMORY. Release with gemel__field_free after all its elements. */
gemel__domain *gemel__field_new(const gemel__field_options *options, uint64_t seed,
                                gemel_error *error);
void gemel__field_free(gemel__domain *d);

/* Begins a trial: a fresh chain and generators, determined by the options and SEED. Resets the
 * report and removes the tape. Elements of the trial before have no meaning any more (but may be
 * set again). Errors: GEMEL_NO_MEMORY, GEMEL_UNSUPPORTED; the trial before then continues. */
gemel_status gemel__field_trial(gemel__domain *d, uint64_t seed, gemel_error *error);

/* ---- Leaves ---- */

typedef enum gemel__field_leaf {
  GEMEL__LEAF_ANY,             /* not 0; of the same character in every ring */
  GEMEL__LEAF_POSITIVE,        /* a square in every ring */
  GEMEL__LEAF_NEGATIVE,        /* a non-square in every ring */
  GEMEL__LEAF_ABOVE_MINUS_ONE, /* x + 1 is a square */
  GEMEL__LEAF_BELOW_ONE,       /* 1 − x is a square */
  GEMEL__LEAF_UNIT             /* both are squares: |x| < 1 */
} gemel__field_leaf;

/* E becomes a random leaf of this kind. */
void gemel__field_random(gemel__domain *d, void *e, gemel__field_leaf kind);

/* ---- Outside the model ---- */

/* Sets E to a random function, chosen by NAME and trial, of the N arguments, ring by ring: equal
 * arguments give equal residues. It stands for functions that F has no model of, such as floor. If
 * two sides agree, they agree for any function in its place. If they differ, that refutes nothing
 * (GEMEL__FIELD_IS_KEYED, report.keyed). NAME isn't copied, and is named in the report. */
void gemel__field_keyed(gemel__domain *d, void *e, const char *name, size_t n,
                        const void *const *args);

/* ---- Decisions from outside: σF ---- */

/* Forces the decisions on TAPE, from its entry `at` on, on sign and floor: every call takes one
 * entry (undecided: INT64_MIN for a floor, GEMEL__UNORDERED for a sign). NULL ends it. The tape
 * must outlive its use; tape->failed says that it was too short. */
void gemel__field_force(gemel__domain *d, gemel__tape *tape);

/* Records decisions on TAPE: every call of sign and floor pushes one entry. NULL ends it. */
void gemel__field_record(gemel__domain *d, gemel__tape *tape);

/* ---- What an evaluation used ---- */

typedef struct gemel__field_report {
  uint64_t characters;     /* signs that only the character decided */
  uint64_t undecided;      /* number of different numbers, up to the sign, among these */
  uint64_t proven;         /* signs known from the number or from facts */
  uint64_t forced;         /* decisions from the tape */
  uint64_t ties;           /* forced signs of 0 where the residue isn't 0: the point is on a border
                            * between cells */
  uint64_t contradictions; /* forced decisions that contradict a known number or fact: no such cell
                            * exists */
  uint64_t keyed;          /* keyed functions evaluated */
  const char *keyed_name;  /* name of the first of these; NULL: none */
  uint64_t keyed_signs;    /* characters and forced decisions on elements that depend on one */
  uint64_t gaps;        /* results without value: chain too short, no logarithms, no integer, … */
  uint64_t non_squares; /* rings lost to a log, root or power of a non-square */
  uint64_t zero_inverses; /* rings lost to a division by 0 or a log of 0 */
  uint64_t undefined;     /* results that lost their last ring to these */
  uint64_t exponentials;  /* exp and log evaluated: error bounds rest on a conjecture */
  uint64_t roots;         /* sqrt, log and fractional powers */
  uint64_t inverses;      /* inverses of elements that aren't known numbers */
  unsigned coherent;      /* bit i: all decisions agree with the characters of ring i */
  int no_memory;          /* out of memory for a table of logarithms, so results became GAPs */
  double degree;          /* largest degree of a difference that `equal` looked at */
} gemel__field_report;

const gemel__field_report *gemel__field_get_report(const gemel__domain *d);

/* Sets all counts to zero and all rings coherent; chain, tape and leaves stay. */
void gemel__field_reset(gemel__domain *d);

/* What an element's value depends on. (What decisions on the way depended on is in the report.) */
enum { GEMEL__FIELD_IS_KEYED = 1, GEMEL__FIELD_HAS_EXP = 2, GEMEL__FIELD_HAS_ROOT = 4 };
unsigned gemel__field_flags(const gemel__domain *d, const void *e);

/* Bit i: the element has a value in ring i. */
unsigned gemel__field_rings(const gemel__domain *d, const void *e);

/* The residue of E in ring I, in [0, p), if it has one there; the prime p of ring I. */
uint64_t gemel__field_residue(const gemel__domain *d, const void *e, int i);
uint64_t gemel__field_prime(const gemel__domain *d, int i);

/* ---- Certainty ---- */

/* A bound on the probability that A and B, if they are different functions, come out equal in one
 * trial: the degree of their difference as a rational function ÷ p, at most 1 (Schwartz, JACM 27,
 * 1980; Zippel, 1979). p is that of the largest ring that `equal` compares; 1 if it compares none.
 * With HAS_EXP, exponentials count as independent variables, and the bound rests on the conjecture
 * of Li and Wu (ITCS 2026). With HAS_ROOT, characters or forced decisions it is a heuristic. The
 * bound leaves out that all coefficients of the difference may vanish modulo p, which the random
 * chain makes unlikely. */
double gemel__field_error_bound(const gemel__domain *d, const void *a, const void *b);

/* Trials for an error of at most DELTA when an acceptance depends on K undecided signs on a path:
 * 2^K ln(1/DELTA), rounded up; infinite for K beyond 1000. */
double gemel__field_trials(int k, double delta);

/* How many of the constants in the options may be non-squares in ring 1, which decides signs (0 is
 * best: see chain.h). */
size_t gemel__field_unmet(const gemel__domain *d);

#endif
