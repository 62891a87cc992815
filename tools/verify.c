/* SPDX-License-Identifier: MIT
 *
 * gemel verify: the harness over the operations, over rewrite rules, or over one replay.
 */
#include <string.h>
#include "records.h"
#include "harness/run.h"

static const gemel__option options[] = {
    {"ops", 'o', "GLOB[,GLOB]...|FILE",
     "only operations whose name matches, as '*softmax*' or exp,log (default: all), or those that "
     "the file defines"},
    {"rules", 'R', "GLOB[,GLOB]...|FILE",
     "rewrite rules and passes instead: those of gemel's own whose name, family, phase or tag "
     "matches, or the rules in the file"},
    {"proof", 'P', NULL,
     "only say of rewrite rules what is proved for all sizes, which without --tier stands beside "
     "what "
     "is measured; with --rules, --ranks, --jobs, --json and --record only"},
    {"ranks", 'K', "R", "with --proof: for tensors of up to R axes, 1 to 4 (default 3)"},
    {"record", 'E', "DIR",
     "with --proof: write the questions that each proof rests on to DIR, as SMT-LIB files for "
     "another solver (ci/recheck)"},
    {"thorough", 'T', NULL,
     "before a release: 128 instances, and proofs that are looked for anew (default: 96 for what "
     "--ops "
     "or --rules chooses; 8 of the whole catalogue, with proofs as they were recorded)"},
    GEMEL__TIER_OPTION,
    {"jobs", 'J', "N",
     "operations or rules that are verified at a time (default: as many threads as OpenMP would "
     "use); what is printed doesn't depend on it"},
    {"seconds", 'S', "S",
     "begin no more operations or rules after so many seconds, decimals allowed: they are not run "
     "(default: no limit)"},
    {"html", 'H', gemel__written_file, "write a report with the evidence and plots to F"},
    GEMEL__JUNIT_OPTION,
    {"baseline", 'b', "F",
     "accept what isn't worse than in F, the JSON lines of an earlier run: only what is makes the "
     "exit status 1"},
    {"device", 'D', "NAME",
     "operations on this device, too, as of gemel run (default: on the host alone)"},
    GEMEL__RECORD_OPTIONS,
    {"replay", 'r', "FOLDER",
     "repeat the counterexample in FOLDER, and nothing else; without --seed and --instances"},
    {NULL, 0, NULL, NULL}};

/* How many subjects of this kind the records are about. */
static size_t count_subjects(const gemel__records *records, const char *kind) {
  const char *last = "";
  size_t k, count = 0;
  for (k = 0; k < records->count; k++) {
    const char *name = records->rows[k].name;
    count += strcmp(records->rows[k].kind, kind) == 0 && strcmp(name, last) != 0;
    last = name;
  }
  return count;
}

enum { THOROUGH = 128 }; /* instances */

/* What is proved, and whether that is known from the record. */
static void print_proved(const gemel__records *r) {
  size_t anew = r->proved - r->recorded;
  fprintf(r->table, "; %zu rules proved for all sizes, %zu of them for all ranks", r->proved,
          r->all_ranks);
  if (r->recorded > 0) {
    fputs(", as recorded", r->table);
  }
  if (r->recorded > 0 && anew > 0) {
    fprintf(r->table, " but for %zu", anew);
  }
}

static void print_summary(const gemel__records *r, const gemel_verify_options *settings,
                          uint64_t seed, int replay, const char *device) {
  fputs("\ngemel verify: ", r->table);
  if (!replay) {
    fprintf(r->table, "%zu operations, %zu rules, %zu passes, ", count_subjects(r, "operation"),
            count_subjects(r, "rule"), count_subjects(r, "pass"));
  }
  fprintf(r->table, "%zu passed, %zu not applicable, %zu uninformative, %zu not run, ",
          r->verdicts[GEMEL_VERDICT_PASSED], r->verdicts[GEMEL_VERDICT_NOT_APPLICABLE],
          r->verdicts[GEMEL_VERDICT_UNINFORMATIVE], r->verdicts[GEMEL_VERDICT_NOT_RUN]);
  if (r->verdicts[GEMEL_VERDICT_OVERSTATED] > 0) {
    fprintf(r->table, "%zu overstated, ", r->verdicts[GEMEL_VERDICT_OVERSTATED]);
  }
  fprintf(r->table, "%zu refuted (seed %llu, %.1f s%s%s)", r->verdicts[GEMEL_VERDICT_REFUTED],
          (unsigned long long)seed, gemel__now() - r->started, device != NULL ? ", device " : "",
          device != NULL ? device : "");
  if (r->proofs) {
    print_proved(r);
  }
  if (settings->quick) {
    fprintf(r->table,
            "; a quick look: --thorough tries %d instances where this tried %zu, and proves anew",
            THOROUGH, r->instances);
  }
  fputc('\n', r->table);
}

/* The rules in a file, or those of gemel's own that a pattern names. */
static gemel_status run_rules(gemel_context *context, gemel__records *records, const char *rules,
                              const gemel_verify_options *settings, gemel_error *error) {
  gemel_rules *set = NULL;
  gemel_status status;
  status = gemel__rules_choose(context, &rules, &set, error);
  if (status == GEMEL_OK) {
    gemel__warn_of_axes(set);
    gemel__subjects_rules(records, context, set, rules);
    status = gemel_verify_rules(context, set, rules, settings, NULL, error);
  }
  gemel_rules_unref(set);
  return status;
}

/* The operations that the file OPS defines, one after the other. */
static gemel_status run_defined(gemel_context *context, gemel__records *records, const char *ops,
                                const gemel_verify_options *settings, gemel_error *error) {
  gemel_verify_options each = *settings;
  size_t before = gemel_operation_count(context), k;
  gemel_status status = gemel__define_from(context, ops, error);
  if (status == GEMEL_OK && gemel_operation_count(context) == before) {
    snprintf(error->text, sizeof error->text, "%s defines no operation", ops);
    status = error->status = GEMEL_NOT_FOUND;
  }
  for (k = before; status == GEMEL_OK && k < gemel_operation_count(context); k++) {
    gemel__subjects_operations(records, context, gemel_operation_at(context, k)->name);
  }
  for (k = before; status == GEMEL_OK && k < gemel_operation_count(context); k++) {
    each.ops = gemel_operation_at(context, k)->name;
    status = gemel_verify_operations(context, &each, NULL, error);
  }
  return status;
}

/* Runs the harness with SETTINGS; REPLAY may be NULL. */
static gemel_status run_harness(gemel_context *context, gemel__records *records, const char *replay,
                                const gemel_verify_options *settings, gemel_error *error) {
  const char *rules = records->rules;
  gemel_status status;
  if (replay != NULL) {
    return gemel_verify_replay(context, replay, settings, NULL, error);
  }
  if (rules != NULL) {
    return run_rules(context, records, rules, settings, error);
  }
  if (settings->ops != NULL && strpbrk(settings->ops, "./") != NULL) {
    return run_defined(context, records, settings->ops, settings, error);
  }
  gemel__subjects_operations(records, context, settings->ops);
  if (settings->ops == NULL) {
    gemel__subjects_rules(records, context, NULL, NULL);
  }
  status = gemel_verify_operations(context, settings, NULL, error);
  return status == GEMEL_OK && settings->ops == NULL
             ? gemel_verify_rules(context, NULL, NULL, settings, NULL, error)
             : status;
}

/* What is worse than in the baseline, a line each. */
static void print_worse(const gemel__records *r) {
  size_t worse = 0, known = 0;
  for (size_t k = 0; k < r->count; k++) {
    const gemel_record *row = &r->rows[k];
    const char *const about[] = {row->kind, row->name, gemel_tier_name(row->tier)};
    const gemel__earlier *earlier = gemel__baseline_find(&r->baseline, about);
    if (!gemel__records_accepts(r, row)) {
      worse++;
      fprintf(r->table, "worse: %s, tier %s: %s, %s%s\n", row->name, gemel_tier_name(row->tier),
              gemel_verdict_name(row->verdict), earlier != NULL ? "was " : "not in the baseline",
              earlier != NULL ? gemel_verdict_name((gemel_verdict)earlier->verdict) : "");
    } else if (gemel_verdict_severity(row->verdict) >
               gemel_verdict_severity(GEMEL_VERDICT_NOT_APPLICABLE)) {
      known++;
    }
  }
  fprintf(r->table,
          "gemel verify: %zu verdicts are worse than in the baseline, %zu as bad as there\n", worse,
          known);
}

/* The reports that ARGS ask for. */
static int write_reports(const gemel__records *records, const gemel__args *args, uint64_t seed) {
  const char *html = gemel__arg(args, "html"), *junit = gemel__arg(args, "junit");
  int status = GEMEL__GOOD;
  if (html != NULL && gemel__records_html(records, html, seed, NULL) != GEMEL__GOOD) {
    status = GEMEL__BAD;
  }
  if (junit != NULL && gemel__records_junit(records, junit, NULL) != GEMEL__GOOD) {
    status = GEMEL__BAD;
  }
  return status;
}

static int verify(gemel__records *records, const gemel__args *args,
                  const gemel_verify_options *settings) {
  const char *replay = gemel__arg(args, "replay");
  gemel_error error;
  gemel_status status;
  gemel_context *context = gemel__context_need();
  int closed, space;
  if (context == NULL ||
      gemel__device_open(context, gemel__arg(args, "device"), &space) != GEMEL__GOOD) {
    gemel_context_unref(context);
    return GEMEL__BAD;
  }
  status = run_harness(context, records, replay, settings, &error);
  gemel_context_unref(context);
  closed = gemel__records_close(records, status == GEMEL_OK);
  if (status != GEMEL_OK) {
    return gemel__complain_error(replay, &error);
  }
  if (write_reports(records, args, settings->seed) != GEMEL__GOOD) {
    closed = GEMEL__BAD;
  }
  gemel__records_print(records);
  print_summary(records, settings,
                replay != NULL && records->count > 0 ? records->rows[0].seed : settings->seed,
                replay != NULL, gemel__arg(args, "device"));
  if (gemel__arg(args, "baseline") != NULL) {
    print_worse(records);
  }
  if (closed != GEMEL__GOOD) {
    return closed;
  }
  return gemel__records_good(records) ? GEMEL__GOOD : GEMEL__REFUTED;
}

/* What ARGS say of how much is verified, and of where else verdicts go. GEMEL__BAD (said). */
static int read_settings(const gemel__args *args, gemel__records *records,
                         gemel_verify_options *settings) {
  const char *tiers = gemel__arg(args, "tier"), *html = gemel__arg(args, "html");
  const char *baseline = gemel__arg(args, "baseline");
  unsigned bits = 0;
  size_t jobs = 1;
  double seconds = 0;
  if ((tiers != NULL && gemel__read_tiers(tiers, &bits) != GEMEL__GOOD) ||
      gemel__records_jobs(args, "jobs", &jobs) != GEMEL__GOOD ||
      gemel__arg_seconds(args, "seconds", &seconds) != GEMEL__GOOD ||
      gemel__records_probe(html) != GEMEL__GOOD ||
      gemel__records_probe(gemel__arg(args, "junit")) != GEMEL__GOOD ||
      gemel__records_open(records, args, settings) != GEMEL__GOOD) {
    return GEMEL__BAD;
  }
  settings->tiers = bits;
  settings->jobs = jobs;
  settings->tick = gemel__records_tick;
  records->seconds = seconds;
  settings->witnesses = html != NULL;
  settings->proofs = tiers == NULL && gemel__arg(args, "replay") == NULL;
  return baseline != NULL
             ? gemel__baseline_read(&records->baseline, &gemel__baseline_of_records, baseline)
             : GEMEL__GOOD;
}

/* How many instances there are, and whether proofs are taken from the record. */
static void choose_depth(gemel__records *records, const gemel__args *args,
                         gemel_verify_options *settings) {
  int whole = records->rules == NULL && settings->ops == NULL && gemel__arg(args, "replay") == NULL;
  int thorough = gemel__arg(args, "thorough") != NULL;
  settings->quick = whole && !thorough;
  if (settings->instances == 0 && (thorough || settings->quick)) {
    records->instances = settings->instances = thorough ? THOROUGH : GEMEL__QUICK_INSTANCES;
  }
  records->proofs = settings->proofs && (records->rules != NULL || whole);
  records->rows_printed.streams = 1;
}

static int run(const gemel__args *args) {
  gemel__records records = {0};
  gemel_verify_options settings;
  if (gemel__arg(args, "proof") != NULL) {
    return gemel__prove(args);
  }
  if (gemel__arg(args, "record") != NULL || gemel__arg(args, "ranks") != NULL) {
    return gemel__complain("--record and --ranks need --proof");
  }
  if (gemel__arg(args, "rules") != NULL && gemel__arg(args, "ops") != NULL) {
    return gemel__complain("verify: --rules and --ops cannot be given together");
  }
  int status = read_settings(args, &records, &settings);
  if (status == GEMEL__GOOD) {
    records.rules = gemel__arg(args, "rules");
    settings.ops = gemel__arg(args, "ops");
    records.ops = settings.ops != NULL && strpbrk(settings.ops, "./") != NULL ? settings.ops : NULL;
    choose_depth(&records, args, &settings);
    gemel__signals_catch();
    status = verify(&records, args, &settings);
  }
  gemel__records_close(&records, 0);
  gemel__records_clear(&records);
  return status;
}

const gemel__command gemel__command_verify = {
    "verify",
    "",
    "Verify every operation and its derivatives against independent references, and every rewrite "
    "rule.",
    "Evidence comes in tiers. " GEMEL__TIER_QUESTIONS "\n"
    "Of a rewrite rule, instances are made from its own text; besides the tiers, what it gives up "
    "is measured, and `needs` must say exactly that; and what is proved for all sizes is said, "
    "unless "
    "--tier chooses among what is measured.\n"
    "The verdicts are passed, not applicable (with its reason), not run, uninformative and refuted "
    "(with a counterexample). Exit status 0 if there are only the first two, or with --baseline "
    "nothing that is worse, else 1; 2 for usage and for what can't be read or written. With "
    "--proof it "
    "is 1 only where a claim is withdrawn: what is open says nothing against a rule.",
    options,
    0,
    0,
    run};
