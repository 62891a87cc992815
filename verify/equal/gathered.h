/* SPDX-License-Identifier: MIT
 *
 * Evidence of several parts of a pair as one: a record a tier, kept and added up.
 */
#ifndef GEMEL__EQUAL_GATHERED_H
#define GEMEL__EQUAL_GATHERED_H

#include <gemel/verify.h>

typedef struct gemel__gathered {
  gemel_record record; /* its strings are those below */
  char detail[700];
  char *counterexample; /* owned; NULL unless refuted */
  char *replay;         /* owned; path of the replay; NULL: none */
  int used;
} gemel__gathered;

/* Releases the records of all tiers, which become empty. */
void gemel__gathered_forget(gemel__gathered *tiers);

/* Keeps a record. USER is an array with an entry for each tier. */
void gemel__gathered_keep(void *user, const gemel_record *record);

/* Adds FROM to TO: the worst verdict, the weakest evidence, the sum of the counts. A part to which
 * a tier doesn't apply changes nothing. */
void gemel__gathered_add(gemel__gathered *to, const gemel__gathered *from);

#endif
