/* SPDX-License-Identifier: MIT
 *
 * What `gemel verify` and `gemel equal` do with the harness's records: keep them for the table,
 * write them as JSON lines and reports, hold them to those of an earlier run, show progress.
 */
#ifndef GEMEL__TOOLS_RECORDS_H
#define GEMEL__TOOLS_RECORDS_H

#include <gemel/verify.h>
#include "tool.h"

/* A verdict of an earlier run (baseline.c). */
typedef struct gemel__earlier {
  char *key;
  int verdict; /* a number of the kind's */
} gemel__earlier;

/* What stands in the lines of a baseline. */
enum { GEMEL__BASELINE_KEYS = 3 };
typedef struct gemel__baseline_kind {
  const char *keys[GEMEL__BASELINE_KEYS]; /* members that say what it is about; NULL: fewer */
  int needed;                             /* so many of them must be there */
  const char *word;                       /* the member with the verdict */
  const char *writer;                     /* the command that writes it */
  int verdicts;                           /* how many there are */
  const char *(*text)(int verdict);
  int (*severity)(int verdict);
} gemel__baseline_kind;

typedef struct gemel__baseline {
  const gemel__baseline_kind *kind;
  gemel__earlier *rows; /* sorted */
  size_t count, capacity;
} gemel__baseline;

/* The records of `gemel verify`. */
extern const gemel__baseline_kind gemel__baseline_of_records;

/* Reasons for not applicable, numbered as they come. */
typedef struct gemel__reasons {
  const char *texts[99];
  size_t counts[99];
  size_t count;
} gemel__reasons;

/* The table, which is printed row by row as subjects end (table.c). */
typedef struct gemel__table {
  int width;      /* of names; 0: that of the longest known when the first row is printed */
  int streams;    /* 1: rows as they come, else all at the end */
  int begun;      /* 1: its head is printed */
  size_t printed; /* records in the rows above */
  gemel__reasons reasons;
} gemel__table;

/* What was found of one output of graphs that differ. */
typedef struct gemel__pair_output {
  const char *name; /* belongs to the context */
  gemel_pair_result result;
} gemel__pair_output;

typedef struct gemel__records {
  const char *command; /* for progress */
  const gemel__args *args;
  const char *rules;  /* what --rules says; NULL: nothing */
  const char *ops;    /* the file that --ops names; NULL: it is a pattern */
  size_t instances;   /* what --instances says, or the depth; 0: as usual */
  gemel_record *rows; /* copies; their strings are our own */
  size_t count, capacity;
  size_t verdicts[GEMEL_VERDICT_COUNT];
  gemel__pair_output *outputs; /* of two graphs that differ; NULL: none */
  size_t n_outputs;
  size_t proved, all_ranks; /* rules that are, and for all ranks */
  int proofs;               /* 1: some record says what is proved */
  gemel__baseline baseline; /* empty: none */
  int json;                 /* 1: OUTPUT is open */
  gemel__output output;
  FILE *table; /* where text for people goes: stdout, or stderr if JSON takes that */
  gemel__table rows_printed;
  size_t done, all; /* how far the harness is, and has to go; ALL 0: unknown */
  size_t recorded;  /* proofs that were taken from the record */
  double started;   /* gemel__now() */
  double seconds;   /* after which gemel__records_tick says stop; 0: never */
  double shown;     /* when it last showed how far the harness is, on a terminal */
  double told;      /* and in a pipe */
} gemel__records;

/* The row of --tier; what each tier asks, for the text below the options. */
#define GEMEL__TIER_WORD(E, name, question) #name ", "
#define GEMEL__TIER_OPTION                                                                         \
  {                                                                                                \
    "tier", 't', "T[,T]...",                                                                       \
        "only these tiers, of " GEMEL_TIER_TABLE(                                                  \
            GEMEL__TIER_WORD) "separated by commas (default: all)"                                 \
  }
#define GEMEL__TIER_QUESTION(E, name, question) #name ": " question " "
#define GEMEL__TIER_QUESTIONS GEMEL_TIER_TABLE(GEMEL__TIER_QUESTION)

/* The options that both commands have, for their tables, and what they say about output. */
#define GEMEL__RECORD_OPTIONS                                                                      \
  {"instances", 'n', "N", "random instances for each subject and tier (default: 96)"},             \
      {"seed", 's', "S",                                                                           \
       "of everything random, a number (default 1) or 'random'; always printed"},                  \
      {"json", 'j', gemel__written_file,                                                           \
       "write one JSON object a record a line to F; '-' is stdout, then the table goes to "        \
       "stderr"},                                                                                  \
  {                                                                                                \
    "replay-dir", 'd', "D",                                                                        \
        "write each counterexample into a folder of its own in D, for gemel verify --replay"       \
  }

/* The row of --junit, of commands that write it (gemel__records_junit). */
#define GEMEL__JUNIT_OPTION                                                                        \
  { "junit", 'u', gemel__written_file, "write the verdicts as JUnit's XML to F" }

/* *TIERS = the bits of the tiers in TEXT, separated by commas. GEMEL__BAD (said). */
int gemel__read_tiers(const char *text, unsigned *tiers);

/* Reads --seed and --instances into OPTIONS, all else zero. GEMEL__BAD (said). */
int gemel__records_settings(const gemel__args *args, gemel_verify_options *options);

/* Reads these options into OPTIONS, whose sink becomes RECORDS, and opens the JSON file.
 * GEMEL__BAD (said). */
int gemel__records_open(gemel__records *records, const gemel__args *args,
                        gemel_verify_options *options);

/* *JOBS = option NAME (what works at a time): as many threads as OpenMP would use if it isn't
 * given. GEMEL__BAD (said). */
int gemel__records_jobs(const gemel__args *args, const char *name, size_t *jobs);

/* For options whose sink is RECORDS: shows what is being done, in a pipe a line each ten seconds,
 * and says stop when the time is up or a signal came. */
int gemel__records_tick(void *user, const char *doing);

/* Ends the JSON file: KEEP it (GEMEL__BAD, said, if that fails) or leave nothing. */
int gemel__records_close(gemel__records *records, int keep);
void gemel__records_clear(gemel__records *records);

/* GEMEL__BAD (said) if the file PATH (NULL: none) can't be written: before work, not behind it. */
int gemel__records_probe(const char *path);

/* Writes the report, a file that needs no other, to PATH (html.c); of a pair with its SUMMARY, else
 * NULL. GEMEL__BAD (said). */
struct gemel__equal_summary;
int gemel__records_html(const gemel__records *records, const char *path, uint64_t seed,
                        const struct gemel__equal_summary *summary);

/* gemel verify --proof (prove.c). */
int gemel__prove(const gemel__args *args);

/* Warns of rules of SET (NULL: gemel's own, of which none is so) that use axes of one tensor as
 * those of another. */
void gemel__warn_of_axes(const gemel_rules *set);

enum { GEMEL__PROOF_TEXT = 300 };

/* TEXT = what PROOF says, in its three parts: "any elements, all sizes, ranks to 3", or "open: ..."
 * (prove.c). */
void gemel__proof_text(const gemel_proof *proof, char text[GEMEL__PROOF_TEXT]);

/* ---- JSON (json.c) ---- */

/* TEXT in quotes, with '?' for each byte that is no UTF-8. */
void gemel__json_text(FILE *file, const char *text);

/* `, "NAME": [...]`, of the words whose bits are set (gemel__pair_word). */
void gemel__json_words(FILE *file, const char *name, unsigned words);

/* ---- JUnit (junit.c) ---- */

typedef enum gemel__junit_end {
  GEMEL__JUNIT_PASSED,
  GEMEL__JUNIT_FAILURE, /* it is wrong */
  GEMEL__JUNIT_ERROR,   /* it couldn't be judged */
  GEMEL__JUNIT_SKIPPED, /* nobody asked, or it is known */
  GEMEL__JUNIT_COUNT
} gemel__junit_end;

/* A case; its strings are borrowed. */
typedef struct gemel__junit_case {
  const char *kind;        /* of the class, behind the command; may be NULL */
  const char *name, *tier; /* TIER may be NULL */
  double seconds;
  gemel__junit_end end;
  const char *verdict, *detail; /* why it didn't pass, in a line; DETAIL may be NULL */
  const char *text;             /* the same in full; may be NULL */
} gemel__junit_case;

/* *C = case K of OWNER's. */
typedef void (*gemel__junit_of)(const void *owner, size_t k, gemel__junit_case *c);

/* The suite "gemel SUITE" of COUNT cases, as XML. */
void gemel__junit_write(FILE *file, const char *suite, size_t count, double seconds,
                        gemel__junit_of of, const void *owner);

/* Writes a case for each record, and the case WHOLE if it isn't NULL, to PATH. GEMEL__BAD (said).
 */
int gemel__records_junit(const gemel__records *records, const char *path,
                         const gemel__junit_case *whole);

/* ---- An earlier run (baseline.c) ---- */

/* BASELINE = the verdicts in PATH, JSON lines of KIND. GEMEL__BAD (said). Release with
 * gemel__baseline_clear in any case. */
int gemel__baseline_read(gemel__baseline *baseline, const gemel__baseline_kind *kind,
                         const char *path);
void gemel__baseline_clear(gemel__baseline *baseline);

/* The earlier verdict on what has these VALUES of the kind's keys (NULL: none), the best if there
 * are several; NULL: there is none. */
const gemel__earlier *gemel__baseline_find(const gemel__baseline *baseline,
                                           const char *const values[GEMEL__BASELINE_KEYS]);

/* Word K of those that may tell two graphs apart (GEMEL_PAIR_COUNT). */
const char *gemel__pair_word(unsigned k);

/* 1 if A and B are about one subject. */
int gemel__same_subject(const gemel_record *a, const gemel_record *b);

/* The record before R, one of RECORDS, in which a tier refuted what R is about; NULL: there is
 * none. */
const gemel_record *gemel__records_refuted_before(const gemel__records *records,
                                                  const gemel_record *r);

/* 1 if the verdict of R, one of RECORDS, is passed or not applicable, or the baseline has as bad a
 * one; or it is not run because of a refutation that the baseline has. */
int gemel__records_accepts(const gemel__records *records, const gemel_record *r);

/* How VERDICT looks in a table. */
gemel__tone gemel__verdict_tone(gemel_verdict verdict);

/* 1 if there are verdicts, and each is accepted. */
int gemel__records_good(const gemel__records *records);

/* Adds what is about to be verified to RECORDS' plan: how far it has to go, and how wide names are
 * (subjects.c). Operations that LIST names (NULL: all); rules of SET, or of gemel's own with its
 * passes if that is NULL, that LIST names. */
void gemel__subjects_operations(gemel__records *records, gemel_context *context, const char *list);
void gemel__subjects_rules(gemel__records *records, gemel_context *context, const gemel_rules *set,
                           const char *list);

/* How much of the plan verifying a subject of this KIND is. */
size_t gemel__subjects_weight(const char *kind);

/* Prints the rows of the table that are complete: all but that of the last record's subject. */
void gemel__records_stream(gemel__records *records);

/* The rest of the table of subjects and tiers, reasons, and what didn't pass, to RECORDS->table. */
void gemel__records_print(gemel__records *records);

/* "  repeat: ", a command line that meets again what refuted R, and a newline; nothing if there is
 * none. */
void gemel__records_print_repeat(FILE *file, const gemel__records *records, const gemel_record *r);

/* Every record whose verdict is FROM or worse, in full: reason, counterexample, how to repeat it.
 */
void gemel__records_print_failures(const gemel__records *records, gemel_verdict from);

#endif
