/* SPDX-License-Identifier: MIT
 *
 * gemel equal: are two graphs the same function? Evidence in the tiers, and what tells the two
 * apart in IEEE terms.
 */
#include <stdlib.h>
#include <string.h>
#include "records.h"

static const gemel__option options[] = {
    {"allow", 'a', "NEEDS",
     "which words may tell the two apart, separated by commas: nnan, ninf, nsz, contract, arcp, "
     "afn, reassoc, improves, worsens, folded, integers; 'all' (the default: these but worsens and "
     "integers); 'none': they must agree in every bit"},
    GEMEL__TIER_OPTION,
    {"counterexample", 'c', "DIR",
     "if they differ, write both graphs into the folder DIR, with inputs at which they do and both "
     "results, for gemel verify --replay: first/ and second/, each for gemel run"},
    {"match", 'm', "HOW",
     "which input and output is which: name (the default); place: the first is the first; or "
     "FIRST=SECOND[,FIRST=SECOND]..., names of the first graph and the second"},
    {"seconds", 'S', "S",
     "stop after so many seconds, decimals allowed: tiers that haven't ended then are not run "
     "(default: no limit)"},
    {"threads", 'T', "N",
     "how many threads may work (default: as many as OpenMP would use); what is printed doesn't "
     "depend on it"},
    {"html", 'H', "F", "write a report with the evidence to F"},
    GEMEL__RECORD_OPTIONS,
    {NULL, 0, NULL, NULL}};

static const char *const needs_names[] = {
#define NEEDS_NAME(E, name, meaning) #name,
    GEMEL_NEEDS_TABLE(NEEDS_NAME) GEMEL_PAIR_TABLE(NEEDS_NAME)
#undef NEEDS_NAME
};

/* *NEEDS = the bits of the words in TEXT. */
static int read_needs(const char *text, unsigned *needs) {
  *needs = 0;
  if (strcmp(text, "none") == 0) {
    return GEMEL__GOOD;
  }
  do {
    size_t length = strcspn(text, ",");
    unsigned k = 0;
    if (length == 3 && memcmp(text, "all", 3) == 0) {
      *needs |= GEMEL_PAIR_DEFAULT;
      text += length;
      continue;
    }
    while (k < GEMEL_PAIR_COUNT &&
           (strlen(needs_names[k]) != length || memcmp(needs_names[k], text, length) != 0)) {
      k++;
    }
    if (k == GEMEL_PAIR_COUNT) {
      return gemel__complain("--allow: there is no word '%.*s'; see gemel equal --help",
                             (int)length, text);
    }
    *needs |= 1u << k;
    text += length;
  } while (*text++ == ',');
  return GEMEL__GOOD;
}

static void print_needs(FILE *file, unsigned needs) {
  const char *between = "";
  for (unsigned k = 0; k < GEMEL_PAIR_COUNT; k++) {
    if (needs >> k & 1) {
      fprintf(file, "%s%s", between, needs_names[k]);
      between = ", ";
    }
  }
}

static void print_evidence(FILE *file, const gemel_record *r) {
  const char *between = "";
  fprintf(file, "%-9s  %-15s", gemel_tier_name(r->tier),
          r->verdict == GEMEL_VERDICT_REFUTED ? "REFUTED" : gemel_verdict_name(r->verdict));
  if (r->how != GEMEL_EVIDENCE_NONE) {
    fprintf(file, "by %s", gemel_evidence_name(r->how));
    between = ", ";
  }
  if (r->instances > 0) {
    fprintf(file, "%s%zu instances, %zu results", between, r->instances, r->elements);
    between = ", ";
  }
  if (r->worst > 0) {
    fprintf(file, "%serror / bound %.2g", between, r->worst);
    between = ", ";
  }
  if (r->error_probability > 0) {
    fprintf(file, "%swrong with probability %.1g", between, r->error_probability);
    between = ", ";
  }
  if (r->detail[0] != '\0') {
    fprintf(file, "%s%s", between[0] != '\0' ? "; " : "", r->detail);
  }
  fputc('\n', file);
}

/* One tier at least must have something to say. */
static int is_equal(const gemel__records *records, const gemel_pair_result *result) {
  return gemel__records_good(records) && records->verdicts[GEMEL_VERDICT_PASSED] > 0 &&
         result->refused == 0;
}

static void print_result(const gemel__records *records, const gemel_pair_result *result,
                         const char *a, const char *b, const gemel_verify_options *settings) {
  FILE *file = records->table;
  int good = is_equal(records, result);
  size_t k;
  for (k = 0; k < records->count; k++) {
    print_evidence(file, &records->rows[k]);
  }
  gemel__records_print_failures(records, GEMEL_VERDICT_REFUTED); /* the others are said above */
  if (result->refused != 0) {
    fputs("\nnot allowed: ", file);
    print_needs(file, result->refused);
    fputc('\n', file);
  }
  if (settings->counterexample_folder != NULL && result->verdict == GEMEL_VERDICT_REFUTED &&
      !result->written) { /* a formula alone told them apart */
    fputs("\nno counterexample was written: no inputs are known at which the results differ\n",
          file);
  }
  fprintf(file, "\ngemel equal: %s and %s %s", a, b,
          good ? "are the same function"
          : result->verdict == GEMEL_VERDICT_REFUTED || result->refused != 0
              ? "differ"
              : "were not shown to be the same function");
  if (result->bitwise) {
    fputs(", bitwise", file);
  } else if (result->needs != 0) {
    fputs(good ? ", up to " : ", told apart by ", file);
    print_needs(file, result->needs);
  }
  if (good && result->symbols_up_to > 0) {
    fprintf(file, ", for sizes up to %lld", (long long)result->symbols_up_to);
  }
  fprintf(file, " (seed %llu, %.1f s)\n", (unsigned long long)settings->seed,
          gemel__now() - records->started);
}

static int compare(gemel__records *records, const gemel_graph *a, const gemel_graph *b,
                   const char *name, const gemel__args *args, unsigned allow,
                   const gemel_verify_options *settings) {
  gemel_pair_result result;
  gemel_error error;
  gemel_status status;
  int closed;
  memset(&result, 0, sizeof result);
  result.size = sizeof result;
  status = gemel_verify_pair(a, b, name, allow, settings, &result, &error);
  closed = gemel__records_close(records, status == GEMEL_OK);
  if (status != GEMEL_OK) {
    return gemel__complain_error(NULL, &error);
  }
  print_result(records, &result, args->operands[0], args->operands[1], settings);
  if (closed != GEMEL__GOOD) {
    return closed;
  }
  return is_equal(records, &result) ? GEMEL__GOOD : GEMEL__REFUTED;
}

static int run(const gemel__args *args) {
  gemel__records records;
  gemel_verify_options settings;
  const char *words = gemel__arg(args, "allow"), *tiers = gemel__arg(args, "tier");
  const char *html = gemel__arg(args, "html"), *match = gemel__arg(args, "match");
  unsigned bits = 0;
  size_t threads = 1;
  double seconds = 0;
  unsigned allow = GEMEL_PAIR_DEFAULT;
  gemel_graph *a = NULL, *b = NULL;
  char *name = NULL;
  int status = GEMEL__BAD;
  if ((words != NULL && read_needs(words, &allow) != GEMEL__GOOD) ||
      (tiers != NULL && gemel__read_tiers(tiers, &bits) != GEMEL__GOOD) ||
      gemel__arg_seconds(args, "seconds", &seconds) != GEMEL__GOOD ||
      gemel__records_jobs(args, "threads", &threads) != GEMEL__GOOD ||
      gemel__records_probe(html) != GEMEL__GOOD) {
    return GEMEL__BAD;
  }
  gemel_context *context = gemel__context_need();
  if (context != NULL && (a = gemel__graph_read(context, args->operands[0], &name)) != NULL &&
      (b = gemel__graph_read(context, args->operands[1], NULL)) != NULL &&
      gemel__records_open(&records, args, &settings) == GEMEL__GOOD) {
    settings.tiers = bits;
    settings.jobs = threads;
    settings.tick = gemel__records_tick;
    records.seconds = seconds;
    settings.counterexample_folder = gemel__arg(args, "counterexample");
    settings.match = match != NULL && strcmp(match, "name") == 0 ? NULL : match;
    status = compare(&records, a, b, name != NULL ? name : "pair", args, allow, &settings);
    if (html != NULL && status != GEMEL__BAD &&
        gemel__records_html(&records, html, settings.seed) != GEMEL__GOOD) {
      status = GEMEL__BAD;
    }
    gemel__records_close(&records, 0);
    gemel__records_clear(&records);
  }
  gemel_text_free(name);
  gemel_graph_unref(a);
  gemel_graph_unref(b);
  gemel_context_unref(context);
  return status;
}

const gemel__command gemel__command_equal = {
    "equal",
    "A B",
    "Decide whether two graph files are the same function, with evidence or a counterexample.",
    "Inputs and outputs are matched by name (or see --match) and must have the same types; sizes "
    "that are symbols "
    "are drawn at random.\n"
    "Two graphs that are the same function over the reals may still differ in what floating point "
    "makes of them. nnan: a NaN among the inputs may be lost. ninf: they differ where an input is "
    "infinite. nsz: in the sign of a zero. contract: by fused multiply and add. arcp: by dividing "
    "through a reciprocal. afn: by another approximation of a function. reassoc: by another order "
    "of summation. folded: a constant was computed and rounded where the other graph computes with "
    "it. Without such a word they agree in every bit. worsens: the second is NaN, infinite or "
    "wrong in half of its digits at moderate inputs where the first is right. integers: results "
    "that are integers or truths "
    "differ. Finite results that are further apart than rounding permits are never allowed.\n"
    "Exit status 0 if every tier passed or isn't applicable and what tells them apart is allowed; "
    "else 1; 2 for usage and for what can't be read or written.",
    options,
    2,
    2,
    run};
