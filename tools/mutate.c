/* SPDX-License-Identifier: MIT
 *
 * gemel mutate: wrong variants of rewrite rules and of scalar operations, and whether the harness
 * refutes them. Counts of each go to a table, survivors below it in full, everything to JSON lines.
 */
#include <stdlib.h>
#include <string.h>
#include "rules/mutate.h"
#include "tool.h"

static const gemel__option options[] = {
    {"rules", 'R', "GLOB[,GLOB]...|FILE",
     "only gemel's own rules whose name, family, phase or tag matches, or the rules in the file "
     "(default: all of gemel's own)"},
    {"ops", 'o', "GLOB[,GLOB]...",
     "scalar operations instead whose name matches: their derivatives and kernels"},
    {"instances", 'n', "N",
     "random instances of each mutant and tier (default 24; a rule's that pass: 96)"},
    {"one-in", 'i', "N", "of N mutants judge one, by chance: an estimate in an Nth of the time"},
    {"proof", 'p', NULL,
     "ask the prover each mutant of a rule, and judge only those of which it proves something: "
     "whether anything wrong is proved"},
    {"seed", 's', "S", "of everything random, a number (default 1) or 'random'; always printed"},
    {"json", 'j', gemel__written_file,
     "write one JSON object a mutant a line to F; '-' is stdout, then the table goes to stderr"},
    {"markdown", 'm', NULL, "the table as Markdown"},
    {NULL, 0, NULL, NULL}};

/* What is known of one rule's mutants. */
typedef struct mutant_row {
  char *name;
  size_t fates[GEMEL__FATE_COUNT];
} mutant_row;

typedef struct report {
  mutant_row *rows;
  size_t n_rows;
  char **listed; /* survivors, and those alike, each as it is printed */
  size_t n_listed, n_mutants;
  int json, markdown, proofs;
  const char *subjects; /* what mutants are made of */
  gemel__output output;
  FILE *table;
} report;

static void write_json(report *r, const gemel__mutant *mutant) {
  size_t length = gemel__mutant_json(mutant, NULL, 0);
  char *text = gemel__need(NULL, length + 1);
  gemel__mutant_json(mutant, text, length + 1);
  fprintf(r->output.file, "%s\n", text);
  fflush(r->output.file); /* a run that takes hours may be ended */
  free(text);
}

/* CALLED: its fate, or that its proof is contradicted. */
static void keep(report *r, const char *called, const gemel__mutant *m) {
  r->listed = gemel__need(r->listed, (r->n_listed + 1) * sizeof *r->listed);
  r->listed[r->n_listed++] =
      gemel__need_text("%s: %s, %s\n  %s%s%s\n%s\n%s", called, m->name, m->mutation, m->proof,
                       m->proof[0] != 0 ? "\n  " : "", m->detail, m->text, m->counterexample);
}

static void sink(void *user, const gemel__mutant *mutant) {
  report *r = user;
  if (r->n_rows == 0 || strcmp(r->rows[r->n_rows - 1].name, mutant->name) != 0) {
    r->rows = gemel__need(r->rows, (r->n_rows + 1) * sizeof *r->rows);
    memset(&r->rows[r->n_rows], 0, sizeof *r->rows);
    r->rows[r->n_rows++].name = gemel__need_text("%s", mutant->name);
  }
  r->rows[r->n_rows - 1].fates[mutant->fate]++;
  r->n_mutants += mutant->fate != GEMEL__FATE_REFUTED;
  if (mutant->contradicted) {
    keep(r, "proof contradicted", mutant);
  } else if (mutant->fate == GEMEL__FATE_SURVIVED || mutant->fate == GEMEL__FATE_ALIKE ||
             mutant->fate == GEMEL__FATE_REFUTED) {
    keep(r, gemel__fate_name(mutant->fate), mutant);
  }
  if (r->json) {
    write_json(r, mutant);
  }
  gemel__progress("mutate: %s, %zu mutants", mutant->name, r->n_mutants);
}

static void clear(report *r) {
  for (size_t k = 0; k < r->n_rows; k++) {
    free(r->rows[k].name);
  }
  for (size_t k = 0; k < r->n_listed; k++) {
    free(r->listed[k]);
  }
  free(r->rows);
  free(r->listed);
}

/* ---- Printing ---- */

/* Without proofs no mutant is left open. */
static int is_shown(const report *r, int fate) {
  return r->proofs || fate != GEMEL__FATE_OPEN;
}

static void print_rows(const report *r) {
  const char *bar = r->markdown ? " | " : "  ";
  int width = (int)strlen(r->subjects);
  for (size_t k = 0; k < r->n_rows; k++) {
    int length = (int)strlen(r->rows[k].name);
    width = length > width ? length : width;
  }
  fprintf(r->table, "%s%-*s", r->markdown ? "| " : "", width, r->subjects);
  for (int fate = 0; fate < GEMEL__FATE_COUNT; fate++) {
    if (is_shown(r, fate)) {
      fprintf(r->table, "%s%10s", bar, gemel__fate_name((gemel__fate)fate));
    }
  }
  fputs(r->markdown ? " |\n|---|" : "\n", r->table);
  for (int fate = 0; fate < GEMEL__FATE_COUNT && r->markdown; fate++) {
    fputs(is_shown(r, fate) ? "---:|" : "", r->table);
  }
  fputs(r->markdown ? "\n" : "", r->table);
  for (size_t k = 0; k < r->n_rows; k++) {
    fprintf(r->table, "%s%-*s", r->markdown ? "| " : "", width, r->rows[k].name);
    for (int fate = 0; fate < GEMEL__FATE_COUNT; fate++) {
      if (is_shown(r, fate)) {
        fprintf(r->table, "%s%10zu", bar, r->rows[k].fates[fate]);
      }
    }
    fputs(r->markdown ? " |\n" : "\n", r->table);
  }
}

static void print(const report *r, const gemel__mutate_summary *s, uint64_t seed, double seconds) {
  print_rows(r);
  for (size_t k = 0; k < r->n_listed; k++) {
    fprintf(r->table, "\n%s", r->listed[k]);
  }
  fprintf(r->table, "\ngemel mutate: %zu %s, %zu mutants", s->subjects, r->subjects, r->n_mutants);
  for (int fate = 0; fate < GEMEL__FATE_COUNT; fate++) {
    if (is_shown(r, fate)) {
      fprintf(r->table, ", %zu %s", s->fates[fate], gemel__fate_name((gemel__fate)fate));
    }
    if (fate == GEMEL__FATE_KILLED) {
      fprintf(r->table, " (%zu of them match nothing)", s->barren);
    }
  }
  if (s->fates[GEMEL__FATE_KILLED] + s->fates[GEMEL__FATE_ALIKE] + s->fates[GEMEL__FATE_SURVIVED] >
      0) {
    fprintf(r->table, ": score %.2f %%, strict %.2f %%", 100 * s->score, 100 * s->strict);
  } else {
    fputs(": no score", r->table);
  }
  if (r->proofs) {
    fprintf(r->table, "; %zu proofs contradicted", s->contradicted);
  }
  fprintf(r->table, " (seed %llu, %.1f s)\n", (unsigned long long)seed, seconds);
}

/* ---- Running ---- */

static gemel_status mutate(gemel_context *context, const char *rules, const char *ops,
                           const gemel__mutate_options *settings, gemel__mutate_summary *summary,
                           gemel_error *error) {
  gemel_rules *set = NULL;
  if (ops != NULL) {
    return gemel__mutate_operations(ops, settings, summary, error);
  }
  gemel_status status = gemel__rules_choose(context, &rules, &set, error);
  status = status ? status : gemel__mutate_rules(context, set, rules, settings, summary, error);
  gemel_rules_unref(set);
  return status;
}

static int hunt(report *r, const char *rules, const char *ops,
                const gemel__mutate_options *settings) {
  double started = gemel__now();
  gemel__mutate_summary summary;
  gemel_error error;
  gemel_context *context = gemel__context_need();
  int closed = GEMEL__GOOD;
  if (context == NULL) {
    return GEMEL__BAD;
  }
  memset(&summary, 0, sizeof summary);
  gemel_status status = mutate(context, rules, ops, settings, &summary, &error);
  gemel_context_unref(context);
  gemel__progress(NULL);
  if (r->json) {
    closed = gemel__output_close(&r->output, status == GEMEL_OK);
  }
  if (status != GEMEL_OK) {
    return gemel__complain_error(NULL, &error);
  }
  print(r, &summary, settings->seed, gemel__now() - started);
  size_t bad = settings->proofs
                   ? summary.contradicted
                   : summary.fates[GEMEL__FATE_SURVIVED] + summary.fates[GEMEL__FATE_REFUTED];
  return closed != GEMEL__GOOD ? closed : bad > 0 ? GEMEL__REFUTED : GEMEL__GOOD;
}

static int run(const gemel__args *args) {
  const char *json = gemel__arg(args, "json");
  gemel__mutate_options settings;
  report r;
  uint64_t instances = 0, one_in = 1;
  memset(&settings, 0, sizeof settings);
  memset(&r, 0, sizeof r);
  settings.seed = 1;
  settings.sink = sink;
  settings.user = &r;
  if (gemel__arg_seed(args, &settings.seed) != GEMEL__GOOD ||
      gemel__arg_number(args, "instances", 1, 1000000, &instances) != GEMEL__GOOD ||
      gemel__arg_number(args, "one-in", 1, 1000000, &one_in) != GEMEL__GOOD) {
    return GEMEL__BAD;
  }
  settings.instances = (size_t)instances;
  settings.one_in = (size_t)one_in;
  settings.proofs = r.proofs = gemel__arg_set(args, "proof");
  r.markdown = gemel__arg_set(args, "markdown");
  r.table = json != NULL && strcmp(json, "-") == 0 ? stderr : stdout;
  if (json != NULL && gemel__output_open(&r.output, json) != GEMEL__GOOD) {
    return GEMEL__BAD;
  }
  r.json = json != NULL;
  r.subjects = gemel__arg(args, "ops") != NULL ? "operations" : "rules";
  int status = hunt(&r, gemel__arg(args, "rules"), gemel__arg(args, "ops"), &settings);
  clear(&r);
  return status;
}

const gemel__command gemel__command_mutate = {
    "mutate",
    "",
    "Verify wrong variants of rewrite rules and scalar operations, to see that they are refuted.",
    "Mutants are made from each rule's text: conditions dropped and negated, operands swapped or "
    "left out, operations and functions replaced by their kin, numbers and variables changed, "
    "words of `needs` removed and added. Derivatives of scalar operations are changed in the same "
    "ways, and their kernels replaced by those of others.\n"
    "A mutant is killed if gemel verify doesn't pass it; stillborn if it doesn't compile; "
    "equivalent if it is no mistake, as exact evaluation shows on instances where it does "
    "something else than its rule; narrower if it rewrites less than its rule, in the same way; "
    "alike if no instance tells it from its rule; else it has survived. The score is killed ÷ "
    "(killed + survived); the strict score counts those alike as survivors. Exit status 0 if none "
    "has survived, with --proof if no proof is contradicted, else 1; 2 for usage and for what "
    "can't "
    "be read or written.",
    options,
    0,
    0,
    run};
