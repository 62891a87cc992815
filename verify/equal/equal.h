/* SPDX-License-Identifier: MIT
 *
 * The question of `gemel equal`, for graphs as a whole.
 */
#ifndef GEMEL__EQUAL_EQUAL_H
#define GEMEL__EQUAL_EQUAL_H

#include "harness/run.h"

struct gemel__part_graphs;
struct gemel__scouted;
struct gemel__defined;
struct gemel__undefinedness;
struct gemel__witness;

/* Asks all tiers that RUN wants about the graphs as a whole, not divided (equal.c). Records go to
 * RUN's sink. */
gemel_status gemel__equal_ask(gemel__run *run, const gemel_graph *a, const gemel_graph *b,
                              const char *name, unsigned allow, gemel_pair_result *result,
                              gemel_error *error);

/* Asks about PAIR, divided into parts where that helps (parts.c). */
gemel_status gemel__equal_divided(gemel__run *run, const struct gemel__part_graphs *pair,
                                  const char *name, unsigned allow, gemel_pair_result *result,
                                  gemel_error *error);

/* Of A and B, which differ: asks about each output alone and tells RUN's options->output, with
 * USER, if there are several and somebody listens. GEMEL_NO_MEMORY. */
gemel_status gemel__equal_outputs(const gemel__run *run, void *user, const gemel_graph *a,
                                  const gemel_graph *b, unsigned allow, gemel_error *error);

/* Reports what SCOUTED found, of a pair whose models are too large to be asked: tier float refutes
 * it.
 */
void gemel__equal_apart(gemel__run *run, const char *name, const struct gemel__scouted *scouted,
                        gemel_pair_result *result);

/* Reports that DEFINED, with WORDS that tell the two apart, refutes the pair, since REFUSED of them
 * aren't allowed. */
void gemel__equal_undefined(gemel__run *run, const char *name, const struct gemel__defined *defined,
                            unsigned words, unsigned refused, gemel_pair_result *result);

/* Reports that what FOUND says of undefined elements refutes the pair, since the words REFUSED
 * aren't allowed. */
void gemel__equal_open(gemel__run *run, const char *name, const struct gemel__undefinedness *found,
                       unsigned refused, gemel_pair_result *result);

/* Reports that WITNESS, which shows a word that RESULT refuses, refutes the pair in tier special.
 */
void gemel__equal_shown(gemel__run *run, const char *name, const struct gemel__witness *witness,
                        gemel_pair_result *result);

#endif
