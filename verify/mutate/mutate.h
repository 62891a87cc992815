/* SPDX-License-Identifier: MIT
 *
 * Mutants: is the harness able to tell wrong from right? That judges gemel and not the work of its
 * users, who have it as `gemel mutate`.
 *
 * A mutant of a rewrite rule is the rule's text with one thing changed. It is made on a copy of
 * the rule's tree of syntax (text.c prints it), one edit at a time; which edits there are
 * stands in rule.c, and which operations and functions replace each other in mutate.def.
 */
#ifndef GEMEL__MUTATE_MUTATE_H
#define GEMEL__MUTATE_MUTATE_H

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
  X(REFUTED, "refuted", "no mutant: the harness doesn't pass what it would be of")

typedef enum gemel__fate {
#define GEMEL__FATE_ENUM(E, name, meaning) GEMEL__FATE_##E,
  GEMEL__FATE_TABLE(GEMEL__FATE_ENUM)
#undef GEMEL__FATE_ENUM
      GEMEL__FATE_COUNT
} gemel__fate;

/* Name of a fate; NULL out of range. Thread-safe. */
const char *gemel__fate_name(gemel__fate fate);

/* A mutant and its fate. Strings are borrowed for the duration of the call that hands it over. */
typedef struct gemel__mutant {
  const char
      *kind; /* of what it was made: "rule", "derivative", "kernel"; "operation" refuted itself */
  const char *name;     /* of the rule or operation */
  const char *mutation; /* what was changed, as "where: drops float(x)" */
  const char *text;     /* the mutant as a whole */
  gemel__fate fate;
  const char *tier;   /* that refuted it; "" if none did */
  const char *detail; /* why */
  uint64_t seed;
  double seconds;
} gemel__mutant;

typedef void (*gemel__mutant_sink)(void *user, const gemel__mutant *mutant);

typedef struct gemel__mutate_options {
  uint64_t seed;
  size_t instances;        /* with which a mutant is verified; 0: 24. One of a rule that passes is
                              verified again, with 96 */
  gemel__mutant_sink sink; /* called for each mutant, on the calling thread */
  void *user;
  size_t one_in; /* of so many mutants one is judged, by chance from SEED; 0 and 1: all are */
} gemel__mutate_options;

/* Counts of a run. */
typedef struct gemel__mutate_summary {
  size_t subjects; /* rules or operations of which there are mutants */
  size_t fates[GEMEL__FATE_COUNT];
  size_t barren; /* of the killed ones: rules of which no instance was found */
  double
      score; /* killed ÷ (killed + survived); 1 if there are none, as of what is refuted itself */
  double strict; /* killed ÷ (killed + alike + survived); 1 if there are none */
} gemel__mutate_summary;

/* Makes mutants of the rules of RULES (NULL: gemel's own) that GLOB names as in
 * gemel_verify_rules, and verifies each. One that passes is compared with its rule where the two
 * do different things: it is equivalent if exact evaluation shows its sides to be the same
 * function there, narrower if it only leaves alone what the rule rewrites, alike if no instance of
 * either tells the two apart, and has survived otherwise. A rule that isn't passed itself has no
 * mutants: its own text goes to the sink, with the fate refuted. The same seed gives the same
 * mutants and fates. GEMEL_NOT_FOUND (nothing matches), GEMEL_NO_MEMORY. SUMMARY may be NULL.
 * Thread-safe for different contexts. */
gemel_status gemel__mutate_rules(gemel_context *context, const gemel_rules *rules, const char *glob,
                                 const gemel__mutate_options *options,
                                 gemel__mutate_summary *summary, gemel_error *error);

/* The same of the scalar operations whose names match GLOB (NULL: all): their derivative texts with
 * one thing changed, judged in tier gradient ("derivative"), and their kernels replaced by those of
 * operations of the same types ("kernel"), judged in tiers integer, float and special. An operation
 * that isn't passed in these tiers has none, and is refuted. Each mutant lives in a context of its
 * own. GEMEL_NOT_FOUND, GEMEL_NO_MEMORY. */
gemel_status gemel__mutate_operations(const char *glob, const gemel__mutate_options *options,
                                      gemel__mutate_summary *summary, gemel_error *error);

/* Writes a mutant as one line of JSON into TEXT (truncated to BYTES with its NUL); returns the full
 * length. Fields: kind ("mutant"), of ("rule"), rule (its name; so for the other kinds), mutation,
 * text, verdict, tier, detail, seed, seconds. */
size_t gemel__mutant_json(const gemel__mutant *mutant, char *text, size_t bytes);

/* ---- Parts of it ---- */

typedef struct gemel__mutated_rule {
  const char *mutation; /* what was changed, as "where: drops float(x)" */
  const char *text;     /* the whole rule; it need not compile */
} gemel__mutated_rule;

typedef struct gemel__mutants {
  gemel__arena arena;
  gemel__mutated_rule *list;
  size_t count, capacity;
} gemel__mutants;

/* Every mutant of RULE, in the order of its text and without doubles; where one of several names
 * could take another's place SEED chooses. GEMEL_NO_MEMORY; GEMEL_BAD_VALUE for a rule of more than
 * 8,000 characters. MUTANTS starts zeroed and is cleared by the caller, on failure too. */
gemel_status gemel__mutants_of_rule(const gemel_rule *rule, uint64_t seed, gemel__mutants *mutants,
                                    gemel_error *error);
void gemel__mutants_clear(gemel__mutants *mutants);

/* Of each ONE_IN mutants of a run, in their order, one is judged, by chance from SEED: is that
 * number AT? 0 and 1: all are. */
int gemel__mutant_chosen(uint64_t seed, size_t one_in, size_t at);

/* What exact evaluation says of two graphs. */
typedef struct gemel__decision {
  int exact;   /* the same, by field, cells or bits */
  int vague;   /* the same, by samples */
  int refuted; /* or of different types */
} gemel__decision;

/* Decides with INSTANCES points. */
gemel_status gemel__mutant_decide(const gemel_graph *a, const gemel_graph *b, uint64_t seed,
                                  size_t instances, gemel__decision *decision, gemel_error *error);

/* What instances of a mutant, and of its rule, have shown. */
typedef struct gemel__mutant_contrast {
  size_t drawn;                 /* instances of the mutant */
  size_t telling;               /* of these, such as become something else by the rule: */
  size_t exact, vague, refuted; /* decided exactly to be the same, by samples, or not the same */
  size_t empty;                 /* the same because there are no elements */
  size_t of_rule, left_alone;   /* instances of the rule, and those that the mutant leaves alone */
} gemel__mutant_contrast;

/* Counts whether A and B, what an instance becomes by both, are the same function. GEMEL_NO_MEMORY.
 */
gemel_status gemel__contrast_add(gemel__mutant_contrast *contrast, const gemel_graph *a,
                                 const gemel_graph *b, uint64_t seed, size_t instances,
                                 gemel_error *error);

/* The fate of a mutant that passes. */
gemel__fate gemel__contrast_fate(const gemel__mutant_contrast *contrast);

/* GIVEN (NULL: the defaults) as they are to be taken. */
gemel__mutate_options gemel__mutate_take(const gemel__mutate_options *given);

/* Computes the scores of what was COUNTED and copies it to SUMMARY, which may be NULL. */
void gemel__mutate_finish(gemel__mutate_summary *counted, gemel__mutate_summary *summary);

#endif
