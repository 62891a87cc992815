/* SPDX-License-Identifier: MIT
 *
 * gemel verify --proof: what is proved of rewrite rules, for all sizes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "records.h"

typedef struct proofs {
  FILE *table;
  gemel__output output; /* of --json */
  int json;
  uint64_t ranks;     /* what --ranks says; 0: nothing */
  const char *record; /* folder of --record, or NULL */
  size_t rules, proved, all_ranks, withdrawn;
} proofs;

void gemel__proof_text(const gemel_proof *proof, char text[GEMEL__PROOF_TEXT]) {
  char ranks[20];
  snprintf(ranks, sizeof ranks, "ranks to %d", proof->ranks);
  if (proof->elements == NULL) {
    snprintf(text, GEMEL__PROOF_TEXT, "open: %s", proof->why);
  } else {
    snprintf(text, GEMEL__PROOF_TEXT, "%s%s, all sizes, %s", proof->elements,
             strcmp(proof->elements, "any") == 0 ? " elements" : "",
             proof->all_ranks ? "all ranks" : ranks);
  }
}

static void print_row(proofs *p, const gemel_proof *proof) {
  char text[GEMEL__PROOF_TEXT];
  gemel__proof_text(proof, text);
  fprintf(p->table, "%-34s  %s%s", proof->rule, proof->elements != NULL ? "proved: " : "", text);
  if (proof->elements != NULL) {
    fprintf(p->table, " (scenes: %zu; checked: %zu)%s%s", proof->scenes, proof->checked,
            proof->why[0] != '\0' ? "; " : "", proof->why);
  }
  fputc('\n', p->table);
  if (proof->counterexample != NULL) {
    fprintf(p->table, "%s\n", proof->counterexample);
  }
}

static void write_json(proofs *p, const gemel_proof *proof) {
  size_t length = gemel_proof_json(proof, NULL, 0);
  char *line = gemel__need(NULL, length + 2);
  gemel_proof_json(proof, line, length + 1);
  line[length] = '\n';
  gemel__output_write(&p->output, line, length + 1); /* an error shows when it is closed */
  free(line);
}

static void take(void *user, const gemel_proof *proof) {
  proofs *p = user;
  p->rules++;
  p->proved += proof->elements != NULL;
  p->withdrawn += proof->counterexample != NULL;
  p->all_ranks += proof->elements != NULL && proof->all_ranks;
  print_row(p, proof);
  fflush(p->table);
  if (p->json) {
    write_json(p, proof);
  }
}

void gemel__warn_of_axes(const gemel_rules *set) {
  gemel_error error;
  for (size_t k = 0; set != NULL && k < gemel_rules_count(set); k++) {
    if (gemel_rule_check_axes(gemel_rules_at(set, k), &error) == GEMEL_BAD_TEXT) {
      fprintf(stderr, "gemel: warning: %s\n", error.text);
    }
  }
}

/* Proves what RULES (GLOB|FILE; NULL: all of gemel's own) names. */
static gemel_status prove(proofs *p, const char *rules, size_t jobs, gemel_error *error) {
  gemel_context *context = gemel__context_need();
  gemel_rules *set = NULL;
  gemel_status status = GEMEL_NO_MEMORY;
  const gemel_prove_options options = {.size = sizeof options,
                                       .ranks = (int)p->ranks,
                                       .jobs = jobs,
                                       .sink = take,
                                       .user = p,
                                       .record_folder = p->record};
  if (context != NULL) {
    status = rules != NULL ? gemel__rules_choose(context, &rules, &set, error) : GEMEL_OK;
    gemel__warn_of_axes(set);
    status = status ? status : gemel_prove_rules(context, set, rules, &options, error);
    gemel_rules_unref(set);
  }
  gemel_context_unref(context);
  return status;
}

/* Options that mean nothing for proofs: GEMEL__BAD (said) if one is given. */
static int refuse_others(const gemel__args *args) {
  static const char *const others[] = {"ops",   "tier",     "seconds",   "html",
                                       "junit", "baseline", "device",    "instances",
                                       "seed",  "replay",   "replay-dir"};
  for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
    if (gemel__arg(args, others[k]) != NULL) {
      return gemel__complain(
          "--proof takes --rules, --ranks, --jobs, --json and --record, not --%s", others[k]);
    }
  }
  return GEMEL__GOOD;
}

int gemel__prove(const gemel__args *args) {
  const char *json = gemel__arg(args, "json");
  proofs p = {.table = json != NULL && strcmp(json, "-") == 0 ? stderr : stdout};
  size_t jobs = 0;
  gemel_error error;
  double start = gemel__now();
  p.record = gemel__arg(args, "record");
  if (refuse_others(args) != GEMEL__GOOD ||
      gemel__records_jobs(args, "jobs", &jobs) != GEMEL__GOOD ||
      gemel__arg_number(args, "ranks", 1, 4, &p.ranks) != GEMEL__GOOD ||
      (p.record != NULL && gemel__folder_make(p.record) != GEMEL__GOOD) ||
      (json != NULL && gemel__output_open(&p.output, json) != GEMEL__GOOD)) {
    return GEMEL__BAD;
  }
  p.json = json != NULL;
  gemel_status status = prove(&p, gemel__arg(args, "rules"), jobs, &error);
  int closed = p.json ? gemel__output_close(&p.output, status == GEMEL_OK) : GEMEL__GOOD;
  if (status != GEMEL_OK) {
    return gemel__complain_error(NULL, &error);
  }
  fprintf(p.table,
          "\ngemel verify --proof: %zu rules, %zu proved for all sizes, %zu of them for all ranks, "
          "%zu open (%.1f s)\n",
          p.rules, p.proved, p.all_ranks, p.rules - p.proved, gemel__now() - start);
  return closed != GEMEL__GOOD || p.withdrawn == 0 ? closed : GEMEL__REFUTED;
}
