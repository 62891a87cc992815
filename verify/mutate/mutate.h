/* SPDX-License-Identifier: MIT
 *
 * Mutants of rewrite rules: the rule's text with one thing changed. A mutant is made on a copy of
 * the rule's tree of syntax (text.c prints it), one edit at a time; which edits there are
 * stands in rule.c, and which operations and functions replace each other in mutate.def.
 */
#ifndef GEMEL__MUTATE_MUTATE_H
#define GEMEL__MUTATE_MUTATE_H

#include <gemel/rewrite.h>
#include <gemel/verify.h>
#include "core/arena.h"

typedef struct gemel__mutant {
  const char *mutation; /* what was changed, as "where: drops float(x)" */
  const char *text;     /* the whole rule; it need not compile */
} gemel__mutant;

typedef struct gemel__mutants {
  gemel__arena arena;
  gemel__mutant *list;
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
gemel_fate gemel__contrast_fate(const gemel__mutant_contrast *contrast);

/* *TAKEN: GIVEN (NULL: the defaults) as they are to be taken. GEMEL_BAD_ARGUMENT: the size of GIVEN
 * or of SUMMARY, either of which may be NULL, is 0. */
gemel_status gemel__mutate_options(gemel_mutate_options *taken, const gemel_mutate_options *given,
                                   const gemel_mutate_summary *summary, gemel_error *error);

/* Computes the scores of what was COUNTED and copies it to SUMMARY, which may be NULL. */
void gemel__mutate_finish(gemel_mutate_summary *counted, gemel_mutate_summary *summary);

#endif
