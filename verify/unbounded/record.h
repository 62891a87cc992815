/* SPDX-License-Identifier: MIT
 *
 * The record of a proof: a folder with a file of SMT-LIB for each question that the proof rests on,
 * and a list of the scenes with their steps, so that anybody can ask them again.
 */
#ifndef GEMEL__UNBOUNDED_RECORD_H
#define GEMEL__UNBOUNDED_RECORD_H

#include <stdio.h>
#include <gemel/status.h>
#include "unbounded/scene.h"

typedef struct gemel__precord {
  char folder[600];
  FILE *scenes;
  size_t scene, steps; /* the scene's number, and its steps so far */
  gemel_status status; /* of the first thing that failed */
  gemel_error error;
} gemel__precord;

/* Makes a folder in FOLDER for what is proved of RULE. GEMEL_IO: it can't be made, or is there. */
gemel_status gemel__precord_open(gemel__precord *record, const char *folder,
                                 const struct gemel_rule *rule, gemel_error *error);

/* Between the scenes of S: one begins, and has ended. */
void gemel__precord_begin(gemel__pscene *s);
void gemel__precord_end(gemel__pscene *s);

/* Whether GOAL follows from COUNT truths KNOWN, where ANSWER is what the proof rests on. KNOWN
 * NULL: no question was needed. ABOUT: what is needed of the right side, or NULL. */
void gemel__precord_step(gemel__pscene *s, gemel__pstep step, const char *about,
                         gemel__follows answer, const gemel__pterm *known, size_t count,
                         gemel__pterm goal);

/* Ends the record: GEMEL_IO if not all could be written. */
gemel_status gemel__precord_close(gemel__precord *record, gemel_error *error);

#endif
