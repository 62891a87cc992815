/* SPDX-License-Identifier: MIT
 *
 * What `gemel campaign` keeps of each model, and how it tells (campaign-report.c).
 */
#ifndef GEMEL__TOOLS_CAMPAIGN_H
#define GEMEL__TOOLS_CAMPAIGN_H

#include "records.h"

/* X(name, its text): what became of a model. */
#define GEMEL__OUTCOME_TABLE(X)                                                                    \
  X(EQUAL, "equal")        /* the model and the optimised one are the same function */             \
  X(DIFFERS, "differs")    /* they are not */                                                      \
  X(OPEN, "open")          /* neither was shown, or gemel doesn't read the result */               \
  X(UNREAD, "not read")    /* gemel doesn't read the model */                                      \
  X(FAILED, "no result")   /* the optimiser failed, or wrote no model */                           \
  X(CRASHED, "no verdict") /* gemel itself ended before its verdict */                             \
  X(CLOSED, "no access")   /* the file, or a folder where models may be, can't be read */

typedef enum gemel__campaign_outcome {
#define GEMEL__OUTCOME(NAME, text) GEMEL__OUTCOME_##NAME,
  GEMEL__OUTCOME_TABLE(GEMEL__OUTCOME)
#undef GEMEL__OUTCOME
      GEMEL__OUTCOME_COUNT
} gemel__campaign_outcome;

/* What `gemel equal` found, without its records. */
typedef struct gemel__equal_summary {
  int ended;      /* 1: there is a verdict */
  int first_read; /* 1: the first graph was read */
  int good, differs, bitwise;
  unsigned needs, refused;
  unsigned tiers;        /* the bits of those asked, if some were left out; else 0 */
  int64_t symbols_up_to; /* as in gemel_pair_result */
  char scaled[200];      /* likewise */
  char detail[600];      /* of the worst record */
} gemel__equal_summary;

/* Reads the options that `gemel equal` shares with other commands. GEMEL__BAD (said) if one is
 * wrong. */
int gemel__equal_check(const gemel__args *args);

/* As the command `gemel equal` with ARGS, its exit status; fills in SUMMARY. */
int gemel__equal_run(const gemel__args *args, gemel__equal_summary *summary);

typedef struct gemel__campaign_row {
  char *model; /* its path in the folder */
  gemel__campaign_outcome outcome;
  gemel__equal_summary summary;
  double seconds;
} gemel__campaign_row;

typedef struct gemel__campaign {
  const char *folder, *optimizer;
  gemel__campaign_row *rows;
  size_t count;
  size_t counts[GEMEL__OUTCOME_COUNT];
  double seconds;
  int stopped; /* 1: by a signal, before the last model */
} gemel__campaign;

const char *gemel__outcome_text(gemel__campaign_outcome outcome);

/* One line of the table. */
void gemel__campaign_print(FILE *file, const gemel__campaign_row *row);

/* One JSON object and a newline. */
void gemel__campaign_json(FILE *file, const gemel__campaign_row *row);

/* The whole as JUnit's XML, and as a page of HTML. */
void gemel__campaign_junit(FILE *file, const gemel__campaign *campaign);
void gemel__campaign_html(FILE *file, const gemel__campaign *campaign);

#endif
