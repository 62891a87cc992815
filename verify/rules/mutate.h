/* SPDX-License-Identifier: MIT
 *
 * Mutants: can the harness tell wrong from right? This judges gemel's harness, and a user's rules;
 * users run it as `gemel mutate`.
 *
 * A mutant of a rewrite rule is the rule's text with one change. The change is made on a copy of
 * the rule's syntax tree, which is then printed (mutate-text.c). mutate-rule.c has the kinds of
 * changes, mutate.def the operations and functions that replace each other.
 */
#ifndef GEMEL__RULES_MUTATE_H
#define GEMEL__RULES_MUTATE_H

#include <gemel/rewrite.h>
#include <gemel/verify.h>
#include "core/arena.h"

/* ---- A run ---- */

/* What became of a mutant. X(enum, name, meaning). */
#define GEMEL__FATE_TABLE(X)                                                                       \
  X(KILLED, "killed", "the harness doesn't pass it")                                               \
  X(STILLBORN, "stillborn", "it doesn't compile")                                                  \
  X(EQUIVALENT, "equivalent", "no mistake, as exact evaluation shows where it differs")            \
  X(NARROWER, "narrower", "no mistake: it rewrites less than its rule, and the same way")          \
  X(ALIKE, "alike", "it does on every instance what its rule does")                                \
  X(SURVIVED, "survived", "the harness passes it")                                                 \
  X(OPEN, "open", "the prover was asked, and proves nothing: it isn't judged")                     \
  X(REFUTED, "refuted", "no mutant: the harness doesn't pass what it would be of")

typedef enum gemel__fate {
#define GEMEL__FATE_ENUM(E, name, meaning) GEMEL__FATE_##E,
  GEMEL__FATE_TABLE(GEMEL__FATE_ENUM)
#undef GEMEL__FATE_ENUM
      GEMEL__FATE_COUNT
} gemel__fate;

/* Name of a fate; NULL out of range. Thread-safe. */
const char *gemel__fate_name(gemel__fate fate);

/* A mutant and its fate. Strings are borrowed for the duration of the sink's call. */
typedef struct gemel__mutant {
  /* what was changed: "rule", "derivative", "kernel"; or "operation", refuted itself */
  const char *kind;
  const char *name;     /* name of the rule or operation */
  const char *mutation; /* the change, as "where: drops float(x)" */
  const char *text;     /* the whole mutant */
  gemel__fate fate;
  const char *tier;           /* the tier that refuted it, or "" */
  const char *detail;         /* why */
  const char *proof;          /* what is proved of it, if that was asked; or "" */
  const char *counterexample; /* with a proof: what refuted it, as in a record; or "" */
  int contradicted;           /* 1: what is proved of it isn't so, as the counterexample shows */
  uint64_t seed;
  double seconds;
} gemel__mutant;

typedef void (*gemel__mutant_sink)(void *user, const gemel__mutant *mutant);

typedef struct gemel__mutate_options {
  uint64_t seed;
  /* instances for verifying a mutant; 0: 24. A mutant of a rule that passes is verified with 96 */
  size_t instances;
  gemel__mutant_sink sink; /* called for each mutant, on the calling thread */
  void *user;
  size_t one_in; /* one mutant in so many is judged, chosen by SEED; 0 and 1: all */
  int proofs; /* 1: mutants of rules are asked of the prover, and only what is proved is judged */
} gemel__mutate_options;

/* Counts of a run. */
typedef struct gemel__mutate_summary {
  size_t subjects; /* rules or operations that have mutants */
  size_t fates[GEMEL__FATE_COUNT];
  size_t barren;       /* killed since no instance of the rule was found */
  size_t contradicted; /* proved, and killed in tier real or integer by what the proof is about */
  double score;        /* killed ÷ (killed + survived); 1 if there are none */
  double strict;       /* killed ÷ (killed + alike + survived); 1 if there are none */
} gemel__mutate_summary;

/* Makes mutants of the rules of RULES (NULL: gemel's own) that match GLOB, as in
 * gemel_verify_rules, and verifies each. A mutant that passes is compared with its rule where both
 * give different graphs. It is equivalent if exact evaluation shows these to be the same function,
 * narrower if it only leaves alone what the rule rewrites, alike if no instance of either tells
 * them apart, and else has survived. A rule that isn't passed itself has no mutants: its own text
 * goes to the sink, with the fate refuted. The same seed gives the same mutants and fates.
 * GEMEL_NOT_FOUND (nothing matches), GEMEL_NO_MEMORY. SUMMARY may be NULL. Thread-safe for
 * different contexts. */
gemel_status gemel__mutate_rules(gemel_context *context, const gemel_rules *rules, const char *glob,
                                 const gemel__mutate_options *options,
                                 gemel__mutate_summary *summary, gemel_error *error);

/* The same for the scalar operations that match GLOB (NULL: all). Their derivative texts are
 * changed and judged in tier gradient ("derivative"). Their kernels are replaced by those of
 * operations of the same types and judged in the tiers integer, float and special ("kernel"). An
 * operation that isn't passed in these tiers has no mutants and is reported as refuted. Each mutant
 * has a context of its own. GEMEL_NOT_FOUND, GEMEL_NO_MEMORY. */
gemel_status gemel__mutate_operations(const char *glob, const gemel__mutate_options *options,
                                      gemel__mutate_summary *summary, gemel_error *error);

/* Writes a mutant as one line of JSON to TEXT, cut to BYTES with its NUL; returns the full length.
 * Fields: kind ("mutant"), of ("rule"), rule (its name; the same for the other kinds), mutation,
 * text, verdict, tier, detail, seed, seconds. */
size_t gemel__mutant_json(const gemel__mutant *mutant, char *text, size_t bytes);

/* ---- Parts of it ---- */

typedef struct gemel__mutated_rule {
  const char *mutation; /* the change, as "where: drops float(x)" */
  const char *text;     /* the whole rule, which may not compile */
} gemel__mutated_rule;

typedef struct gemel__mutants {
  gemel__arena arena;
  gemel__mutated_rule *list;
  size_t count, capacity;
} gemel__mutants;

/* Makes all mutants of RULE, in the order of its text, without duplicates. Where one of several
 * names could replace another, SEED chooses. GEMEL_NO_MEMORY; GEMEL_BAD_VALUE for a rule of more
 * than 8,000 characters. MUTANTS starts zeroed; the caller clears it, on failure too. */
gemel_status gemel__mutants_of_rule(const gemel_rule *rule, uint64_t seed, gemel__mutants *mutants,
                                    gemel_error *error);
void gemel__mutants_clear(gemel__mutants *mutants);

/* 1 if mutant number AT of a run is judged: one of each ONE_IN, chosen by SEED. 0 and 1: all are.
 */
int gemel__mutant_chosen(uint64_t seed, size_t one_in, size_t at);

/* The result of comparing two graphs exactly. */
typedef struct gemel__decision {
  int exact;   /* equal, by field, solver, cells or bits */
  int vague;   /* equal, by samples */
  int refuted; /* different, or of different types */
} gemel__decision;

/* Compares A and B at INSTANCES points, in the tiers real and integer. */
gemel_status gemel__mutant_decide(const gemel_graph *a, const gemel_graph *b, uint64_t seed,
                                  size_t instances, gemel__decision *decision, gemel_error *error);

/* What instances of a mutant and of its rule have shown. */
typedef struct gemel__mutant_contrast {
  size_t drawn;   /* instances of the mutant */
  size_t telling; /* of these, those of which the rule makes another graph: */
  /* of these, decided exactly as equal, equal by samples, different */
  size_t exact, vague, refuted;
  size_t empty; /* of these, equal since there are no elements */
  /* instances of the rule; of these, those that the mutant leaves alone */
  size_t of_rule, left_alone;
} gemel__mutant_contrast;

/* Compares A and B, which rule and mutant make of an instance, and counts the result.
 * GEMEL_NO_MEMORY. */
gemel_status gemel__contrast_add(gemel__mutant_contrast *contrast, const gemel_graph *a,
                                 const gemel_graph *b, uint64_t seed, size_t instances,
                                 gemel_error *error);

/* The fate of a mutant that the harness passes. */
gemel__fate gemel__contrast_fate(const gemel__mutant_contrast *contrast);

/* GIVEN (NULL: the defaults) with defaults filled in. */
gemel__mutate_options gemel__mutate_take(const gemel__mutate_options *given);

/* Computes the scores from the counts in COUNTED and copies it to SUMMARY, which may be NULL. */
void gemel__mutate_finish(gemel__mutate_summary *counted, gemel__mutate_summary *summary);

#endif
