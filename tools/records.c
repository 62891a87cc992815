/* SPDX-License-Identifier: MIT
 *
 * Records as they come from the harness: see records.h.
 */
#include "records.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "core/suggest.h"
#ifdef _OPENMP
#include <omp.h>
#endif

static void write_json(gemel__records *records, const gemel_record *record) {
  size_t length = gemel_record_json(record, NULL, 0);
  char *line = gemel__need(NULL, length + 2);
  gemel_record_json(record, line, length + 1);
  line[length] = '\n';
  gemel__output_write(&records->output, line, length + 1); /* an error shows when it is closed */
  if (records->output.file == stdout) {
    fflush(stdout);
  }
  free(line);
}

static const char *copy(const char *text) {
  return text != NULL ? gemel__need_text("%s", text) : NULL;
}

/* PROOF (or NULL) without the rule's name, which the record has; to be freed with free_proof. */
static const gemel_proof *copy_proof(const gemel_proof *proof) {
  if (proof == NULL) {
    return NULL;
  }
  gemel_proof *to = gemel__need(NULL, sizeof *to);
  *to = *proof;
  to->rule = NULL;
  to->elements = copy(proof->elements);
  to->why = copy(proof->why);
  return to;
}

static void free_proof(const gemel_proof *proof) {
  if (proof != NULL) {
    free((char *)proof->elements);
    free((char *)proof->why);
    free((gemel_proof *)proof);
  }
}

/* Counts what is proved of a rule, whose records come one after the other. */
static void count_proof(gemel__records *records, const gemel_record *record) {
  const gemel_record *before = records->count > 0 ? &records->rows[records->count - 1] : NULL;
  records->proofs |= record->proof != NULL;
  if (record->proof != NULL && record->proof->elements != NULL &&
      (before == NULL || before->proof == NULL || strcmp(before->name, record->name) != 0)) {
    records->proved++;
    records->all_ranks += record->proof->all_ranks != 0;
    records->recorded += record->proof->recorded != 0;
  }
}

static void keep(gemel__records *records, const gemel_record *record) {
  if (records->count == records->capacity) {
    records->capacity = records->capacity * 2 + 64;
    records->rows = gemel__need(records->rows, records->capacity * sizeof *records->rows);
  }
  count_proof(records, record);
  gemel_record *row = &records->rows[records->count++];
  *row = *record;
  row->proof = copy_proof(record->proof);
  row->kind = copy(record->kind);
  row->name = copy(record->name);
  row->detail = copy(record->detail != NULL ? record->detail : "");
  row->counterexample = copy(record->counterexample);
  row->replay = copy(record->replay);
  row->text = copy(record->text);
  row->witnesses = copy(record->witnesses);
  row->ulps = NULL; /* long, and in the JSON already */
}

int gemel__same_subject(const gemel_record *a, const gemel_record *b) {
  return strcmp(a->name, b->name) == 0 && strcmp(a->kind, b->kind) == 0;
}

/* Counts the subject before RECORD, if that begins another one, as done. */
static void count_done(gemel__records *records, const gemel_record *record) {
  const gemel_record *last = records->count > 0 ? &records->rows[records->count - 1] : NULL;
  if (last != NULL && !gemel__same_subject(last, record)) {
    records->done += gemel__subjects_weight(last->kind);
  }
}

static void sink(void *user, const gemel_record *record) {
  gemel__records *records = user;
  count_done(records, record);
  if ((unsigned)record->verdict < GEMEL_VERDICT_COUNT) {
    records->verdicts[record->verdict]++;
  }
  keep(records, record);
  if (records->json) {
    write_json(records, record);
  }
  gemel__records_stream(records);
}

int gemel__records_settings(const gemel__args *args, gemel_verify_options *options) {
  uint64_t instances = 0;
  memset(options, 0, sizeof *options);
  options->size = sizeof *options;
  options->seed = 1;
  if (gemel__arg_seed(args, &options->seed) != GEMEL__GOOD ||
      gemel__arg_number(args, "instances", 1, 1000000, &instances) != GEMEL__GOOD) {
    return GEMEL__BAD;
  }
  options->instances = (size_t)instances;
  return GEMEL__GOOD;
}

int gemel__records_open(gemel__records *records, const gemel__args *args,
                        gemel_verify_options *options) {
  const char *json = gemel__arg(args, "json"), *folder = gemel__arg(args, "replay-dir");
  memset(records, 0, sizeof *records);
  records->command = args->command->name;
  records->args = args;
  records->table = stdout;
  records->started = records->told = gemel__now();
  if (gemel__records_settings(args, options) != GEMEL__GOOD ||
      (folder != NULL && gemel__folder_writable(folder) != GEMEL__GOOD)) {
    return GEMEL__BAD;
  }
  records->instances = options->instances;
  options->sink = sink;
  options->user = records;
  options->replay_folder = folder;
  if (json != NULL) {
    records->table = strcmp(json, "-") == 0 ? stderr : stdout;
    records->json = gemel__output_open(&records->output, json) == GEMEL__GOOD;
    return records->json ? GEMEL__GOOD : GEMEL__BAD;
  }
  return GEMEL__GOOD;
}

int gemel__records_jobs(const gemel__args *args, const char *name, size_t *jobs) {
#ifdef _OPENMP
  uint64_t n = (uint64_t)omp_get_max_threads();
#else
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  uint64_t n = cores > 0 ? (uint64_t)cores : 1;
#endif
  if (gemel__arg_number(args, name, 1, 256, &n) != GEMEL__GOOD) {
    return GEMEL__BAD;
  }
  *jobs = (size_t)n;
  return GEMEL__GOOD;
}

/* TEXT = how far it is: a share of the plan with the time that is left, or what is being done. */
static void progress_text(const gemel__records *records, const char *doing, char *text,
                          size_t bytes) {
  double spent = gemel__now() - records->started;
  size_t done = records->done, all = records->all;
  if (all == 0 || done == 0 || done > all) {
    snprintf(text, bytes, "gemel %s: %s (%.0f s)", records->command, doing, spent);
    return;
  }
  snprintf(
      text, bytes, "gemel %s: %zu %% done, %zu verdicts, %zu refuted, %.0f s, about %.0f s left",
      records->command, 100 * done / all, records->count, records->verdicts[GEMEL_VERDICT_REFUTED],
      spent, spent * (double)(all - done) / (double)done);
}

/* Shows it on a terminal; in a pipe, seldom, as a line. */
static void show_progress(gemel__records *records, const char *doing) {
  const double often = 0.1, seldom = 10; /* seconds */
  double now = gemel__now();
  char text[300];
  if (now - records->shown >= often) {
    records->shown = now;
    progress_text(records, doing, text, sizeof text);
    gemel__progress("%s", text);
    if (now - records->told >= seldom && !isatty(STDERR_FILENO)) {
      records->told = now;
      fprintf(stderr, "%s\n", text);
    }
  }
}

int gemel__records_tick(void *user, const char *doing) {
  gemel__records *records = user;
  show_progress(records, doing);
  return gemel__signals_caught() ||
         (records->seconds > 0 && gemel__now() - records->started >= records->seconds);
}

int gemel__records_close(gemel__records *records, int keep_it) {
  int status = GEMEL__GOOD;
  gemel__progress(NULL);
  if (records->json) {
    status = gemel__output_close(&records->output, keep_it);
    records->json = 0;
  }
  return status;
}

void gemel__records_clear(gemel__records *records) {
  free(records->outputs);
  for (size_t k = 0; k < records->count; k++) {
    gemel_record *row = &records->rows[k];
    free((char *)row->kind);
    free((char *)row->name);
    free((char *)row->detail);
    free((char *)row->counterexample);
    free((char *)row->replay);
    free((char *)row->text);
    free((char *)row->witnesses);
    free_proof(row->proof);
  }
  free(records->rows);
  gemel__baseline_clear(&records->baseline);
}

const gemel_record *gemel__records_refuted_before(const gemel__records *records,
                                                  const gemel_record *r) {
  const gemel_record *before = r;
  while (before > records->rows && gemel__same_subject(&before[-1], r)) {
    if ((--before)->verdict == GEMEL_VERDICT_REFUTED) {
      return before;
    }
  }
  return NULL;
}

int gemel__records_accepts(const gemel__records *records, const gemel_record *r) {
  int severity = gemel_verdict_severity(r->verdict);
  if (severity <= gemel_verdict_severity(GEMEL_VERDICT_NOT_APPLICABLE)) {
    return 1;
  }
  const char *const about[] = {r->kind, r->name, gemel_tier_name(r->tier)};
  const gemel__earlier *earlier = gemel__baseline_find(&records->baseline, about);
  if (earlier != NULL && gemel_verdict_severity((gemel_verdict)earlier->verdict) >= severity) {
    return 1;
  }
  const gemel_record *cause =
      r->verdict == GEMEL_VERDICT_NOT_RUN ? gemel__records_refuted_before(records, r) : NULL;
  return cause != NULL && gemel__records_accepts(records, cause);
}

int gemel__records_good(const gemel__records *records) {
  size_t k = 0;
  while (k < records->count && gemel__records_accepts(records, &records->rows[k])) {
    k++;
  }
  return records->count > 0 && k == records->count;
}

/* ---- Files that are written at the end ---- */

int gemel__records_probe(const char *path) {
  gemel__output output;
  if (path != NULL && strcmp(path, "-") == 0) {
    return gemel__complain("%s: a file is needed, stdout has the table", path);
  }
  if (path == NULL) {
    return GEMEL__GOOD;
  }
  return gemel__output_open(&output, path) == GEMEL__GOOD ? gemel__output_close(&output, 0)
                                                          : GEMEL__BAD;
}

static int no_tier(const char *text, size_t length) {
  gemel__suggestion near;
  gemel__suggestion_start(&near, text, length);
  for (int k = 0; k < GEMEL_TIER_COUNT; k++) {
    const char *name = gemel_tier_name((gemel_tier)k);
    gemel__suggestion_offer(&near, name, strlen(name));
  }
  return gemel__complain("--tier: there is no tier '%.*s'%s; see --help", (int)length, text,
                         gemel__suggestion_text(&near));
}

int gemel__read_tiers(const char *text, unsigned *tiers) {
  *tiers = 0;
  do {
    size_t length = strcspn(text, ",");
    unsigned k = 0;
    while (k < GEMEL_TIER_COUNT && (strlen(gemel_tier_name((gemel_tier)k)) != length ||
                                    memcmp(gemel_tier_name((gemel_tier)k), text, length) != 0)) {
      k++;
    }
    if (k == GEMEL_TIER_COUNT) {
      return no_tier(text, length);
    }
    *tiers |= 1u << k;
    text += length;
  } while (*text++ == ',');
  return GEMEL__GOOD;
}
