/* SPDX-License-Identifier: MIT
 *
 * What the files of `gemel campaign` share: the models of a folder (campaign-models.c), the
 * optimiser (campaign-optimizer.c), how a pair is judged (campaign-pair.c), and how it is told
 * (campaign-report.c, campaign-html.c).
 */
#ifndef GEMEL__TOOLS_CAMPAIGN_H
#define GEMEL__TOOLS_CAMPAIGN_H

#include "children.h"
#include "records.h"

/* X(name, its text, its end in JUnit, its tone, 1: it makes the exit status 1): what became of a
 * model, from the best to the worst. */
#define GEMEL__OUTCOME_TABLE(X)                                                                    \
  X(EQUAL, "equal", PASSED, GOOD, 0) /* the model and the optimised one are the same function */   \
  X(UNCHANGED, "unchanged", PASSED, GOOD, 0) /* the optimiser left it as it is; not judged */      \
  X(UNREAD, "not read", SKIPPED, QUIET, 0)   /* gemel doesn't read the model */                    \
  X(OPEN, "open", SKIPPED, OPEN, 0)          /* neither was shown, or gemel doesn't read the       \
                                                result */                                          \
  X(CLOSED, "no access", ERROR, OPEN, 0)     /* the file, or a folder where models may be, can't   \
                                                be read */                                         \
  X(UNJUDGED, "no verdict", ERROR, OPEN, 0)  /* gemel itself ended before its verdict */           \
  X(SILENT, "silent", FAILURE, BAD, 1)       /* the optimiser ended well and wrote nothing */      \
  X(CRASHED, "crashed", FAILURE, BAD, 1)     /* the optimiser failed, or took too long */          \
  X(INVALID, "invalid", FAILURE, BAD, 1)     /* what it wrote is no valid model, or has other      \
                                                types */                                           \
  X(DIFFERS, "differs", FAILURE, BAD, 1)     /* it is another function */

typedef enum gemel__campaign_outcome {
#define GEMEL__OUTCOME(NAME, ...) GEMEL__OUTCOME_##NAME,
  GEMEL__OUTCOME_TABLE(GEMEL__OUTCOME)
#undef GEMEL__OUTCOME
      GEMEL__OUTCOME_COUNT
} gemel__campaign_outcome;

/* What the table says of an outcome. */
typedef struct gemel__outcome_facts {
  const char *text;
  gemel__junit_end junit;
  gemel__tone tone;
  int fails;
} gemel__outcome_facts;
extern const gemel__outcome_facts gemel__outcomes[GEMEL__OUTCOME_COUNT];

const char *gemel__outcome_text(gemel__campaign_outcome outcome);

/* What `gemel equal` found, without its records. */
typedef struct gemel__equal_summary {
  int ended;      /* 1: there is a verdict */
  int first_read; /* 1: the first graph was read */
  int is_invalid; /* 1: there is none as the second is no valid model, or has other types */
  int good, differs, bitwise;
  unsigned needs, refused;
  unsigned tiers;             /* the bits of those asked, if some were left out; else 0 */
  int64_t symbols_up_to;      /* as in gemel_pair_result */
  char scaled[200];           /* likewise */
  int unfollowed;             /* likewise */
  char detail[600];           /* of the worst record */
  gemel_pair_example example; /* as in gemel_pair_result */
} gemel__equal_summary;

/* The members of EXAMPLE, if one was found, each behind a comma. */
void gemel__example_json(FILE *file, const gemel_pair_example *example);

/* Reads the options that `gemel equal` shares with other commands. GEMEL__BAD (said) if one is
 * wrong. */
int gemel__equal_check(const gemel__args *args);

/* As the command `gemel equal` with ARGS, its exit status; fills in SUMMARY. */
int gemel__equal_run(const gemel__args *args, gemel__equal_summary *summary);

/* ---- Models ---- */

/* A model, or a folder that may have some and can't be read. */
typedef struct gemel__campaign_model {
  char *name;  /* its path in the folder */
  int problem; /* errno; 0: a model */
} gemel__campaign_model;

typedef struct gemel__campaign_models {
  gemel__campaign_model *items;
  size_t count;
} gemel__campaign_models;

/* All files in ROOT and the folders in it that end in SUFFIX, by name, and the folders in it that
 * can't be read. GEMEL__BAD (said): ROOT can't. */
int gemel__campaign_find(const char *root, const char *suffix, gemel__campaign_models *models);
void gemel__campaign_forget(gemel__campaign_models *models);

/* ---- XLA's dumps ---- */

/* What a pass made of a module. */
typedef struct gemel__campaign_step {
  char *model;          /* the module: its path in the folder, without what XLA adds */
  char *pass;           /* the pass behind which AFTER was written, or "all passes" */
  char *before, *after; /* paths */
} gemel__campaign_step;

typedef struct gemel__campaign_steps {
  gemel__campaign_step *items;
  size_t count;
} gemel__campaign_steps;

/* The steps of all modules that XLA has dumped to ROOT and the folders in it, module by module, in
 * the order of passes. GEMEL__BAD (said): ROOT can't be read. */
int gemel__campaign_find_steps(const char *root, gemel__campaign_steps *steps);
void gemel__campaign_forget_steps(gemel__campaign_steps *steps);

/* 1 if two files have the same text but for the first line. */
int gemel__campaign_is_same(const char *before, const char *after);

/* ---- The optimiser ---- */

typedef struct gemel__optimizer {
  const char *command; /* with {in} and {out}, and {pass} if there are PASSES; or NULL */
  const char *stays;   /* the command of a server; or NULL */
  const char *after;   /* a folder with results; or NULL */
  double limit;        /* seconds of a model, and of a pair's process; 0: none */
  char *name;          /* its name and version; NULL: nobody said them */
  char **passes;
  size_t n_passes;
  gemel__server server;
} gemel__optimizer;

/* Reads the options of the optimiser. GEMEL__BAD (said). */
int gemel__optimizer_read(gemel__optimizer *o, const gemel__args *args);

/* Starts it, in the folder SCRATCH: a server says its name, and passes are listed. GEMEL__BAD
 * (said). */
int gemel__optimizer_start(gemel__optimizer *o, const gemel__args *args, const char *scratch);
void gemel__optimizer_end(gemel__optimizer *o);

/* Optimises the file IN, which is MODEL of the folder, by PASS (NULL: by all). The outcome is
 * GEMEL__OUTCOME_OPEN if *OUT, to be freed, is the path of a result that isn't IN again;
 * SCRATCH_OUT is where it may be written. Else why not is in DETAIL. */
gemel__campaign_outcome gemel__optimize(gemel__optimizer *o, const char *model, const char *in,
                                        const char *pass, const char *scratch_out, char **out,
                                        char *detail, size_t bytes);

/* ---- A judged model ---- */

typedef struct gemel__campaign_row {
  char *model;  /* its path in the folder */
  char *pass;   /* of the optimiser; NULL: all */
  char *folder; /* of the counterexample; NULL: none */
  gemel__campaign_outcome outcome;
  gemel__equal_summary summary;
  char cause[300]; /* what findings of one cause have in common; "" if it isn't known */
  double seconds;
  int is_known; /* 1: the baseline has it */
} gemel__campaign_row;

typedef struct gemel__campaign {
  const gemel__args *args;
  const char *folder;
  gemel__optimizer optimizer;
  char *scratch; /* a folder for what the optimiser writes */
  gemel__campaign_row *rows;
  size_t count, models;
  size_t counts[GEMEL__OUTCOME_COUNT]; /* of rows that the baseline hasn't */
  size_t known;                        /* rows that it has */
  size_t unwritten;                    /* counterexamples */
  size_t unjudged; /* pairs that couldn't be judged, for another reason than time */
  double seconds;
  int stopped; /* 1: by a signal, before the last model */
  int is_hlo;  /* 1: models are XLA's modules, and passes what XLA did */
} gemel__campaign;

/* Copies the file FROM to TO. GEMEL__BAD (said). */
int gemel__campaign_copy(const char *from, const char *to);

/* Judges BEFORE against AFTER, which the optimiser made, and keeps in FOLDER (NULL: nowhere) what a
 * pair that differs needs: ROW's outcome, summary and folder. */
void gemel__campaign_judge(gemel__campaign *c, const char *before, const char *after,
                           const char *folder, gemel__campaign_row *row);

/* Keeps both in FOLDER, which becomes ROW's. If it can't be written, the verdict stands all the
 * same, and ROW says so. */
void gemel__campaign_keep(gemel__campaign *c, const char *before, const char *after,
                          const char *folder, gemel__campaign_row *row);

/* How a child called NAME ended, into TEXT. */
void gemel__say_end(const char *name, const gemel__child_end *end, char *text, size_t bytes);

/* 1 if it ended by itself. */
int gemel__ended_well(const gemel__child_end *end);

/* ---- Telling ---- */

/* Fills in the row's cause. */
void gemel__campaign_cause(gemel__campaign_row *row);

/* What tells the two models apart, or why there is no verdict. */
enum { GEMEL__CAMPAIGN_TEXT = 1400 };
void gemel__campaign_say(const gemel__campaign_row *row, char *text, size_t bytes);

/* One line of the table. */
void gemel__campaign_print(FILE *file, const gemel__campaign_row *row);

/* A table: what became of each pass's pairs. */
void gemel__campaign_print_passes(FILE *file, const gemel__campaign *c);

/* Failures by pass and cause, and the last line of the table. */
void gemel__campaign_print_end(FILE *file, const gemel__campaign *campaign);

/* Numbers of the rows that fail, those of one pass and cause beside each other, to be freed; *N of
 * them. */
size_t *gemel__campaign_failures(const gemel__campaign *campaign, size_t *n);

/* 1 if two rows have one outcome, pass and cause. */
int gemel__campaign_alike(const gemel__campaign_row *a, const gemel__campaign_row *b);

/* One JSON object and a newline. */
void gemel__campaign_json(FILE *file, const gemel__campaign *campaign,
                          const gemel__campaign_row *row);

/* The whole as JUnit's XML, and as a page of HTML (campaign-html.c). */
void gemel__campaign_junit(FILE *file, const gemel__campaign *campaign);
void gemel__campaign_html(FILE *file, const gemel__campaign *campaign);

#endif
