/* SPDX-License-Identifier: MIT
 *
 * gemel equal: are two graphs the same function? Evidence in the tiers, and what tells the two
 * apart in IEEE terms.
 */
#include <stdlib.h>
#include <string.h>
#include "campaign.h"
#include "core/suggest.h"
#include "onnx.h"

static const gemel__option options[] = {
    GEMEL__MODEL_OPTIONS,
    {"allow", 'a', "NEEDS",
     "which words may tell the two apart, separated by commas: nnan, ninf, nsz, contract, arcp, "
     "afn, reassoc, improves, worsens, folded, integers, narrows, widens; 'all' (the default: "
     "these "
     "but worsens, integers and narrows); 'none': they must agree in every bit"},
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
    {"html", 'H', gemel__written_file, "write a report with the evidence to F"},
    GEMEL__JUNIT_OPTION,
    GEMEL__RECORD_OPTIONS,
    {NULL, 0, NULL, NULL}};

static const char *const needs_names[] = {
#define NEEDS_NAME(E, name, meaning) #name,
    GEMEL_NEEDS_TABLE(NEEDS_NAME) GEMEL_PAIR_TABLE(NEEDS_NAME)
#undef NEEDS_NAME
};

const char *gemel__pair_word(unsigned k) {
  return needs_names[k];
}

static int no_such_word(const char *text, size_t length) {
  gemel__suggestion near;
  gemel__suggestion_start(&near, text, length);
  for (unsigned k = 0; k < GEMEL_PAIR_COUNT; k++) {
    gemel__suggestion_offer(&near, needs_names[k], strlen(needs_names[k]));
  }
  return gemel__complain("--allow: there is no word '%.*s'%s; see gemel equal --help", (int)length,
                         text, gemel__suggestion_text(&near));
}

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
      return no_such_word(text, length);
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
  fprintf(file, "%-9s  ", gemel_tier_name(r->tier));
  gemel__paint(file, gemel__verdict_tone(r->verdict), 15,
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

/* 1 if TIERS, as --tier says them, leave some out: what they miss is not known then. */
static int is_part(unsigned tiers) {
  return tiers != 0 && (~tiers & ((1u << GEMEL_TIER_COUNT) - 1)) != 0;
}

static void print_tiers(FILE *file, unsigned tiers) {
  const char *between = "";
  for (int tier = 0; tier < GEMEL_TIER_COUNT; tier++) {
    if (tiers >> tier & 1) {
      fprintf(file, "%s%s", between, gemel_tier_name((gemel_tier)tier));
      between = ", ";
    }
  }
}

/* The verdict, and what it is up to. */
static void print_verdict(FILE *file, const gemel__equal_summary *s, const char *a, const char *b) {
  fprintf(file, "\ngemel equal: %s and %s ", a, b);
  if (s->good && s->tiers != 0) {
    gemel__paint(file, GEMEL__TONE_GOOD, 0, "agree");
    fputs(" in the tiers that were asked: ", file);
    print_tiers(file, s->tiers);
  } else if (s->good) {
    gemel__paint(file, GEMEL__TONE_GOOD, 0, "are the same function");
  } else if (s->differs) {
    gemel__paint(file, GEMEL__TONE_BAD, 0, "differ");
  } else {
    gemel__paint(file, GEMEL__TONE_OPEN, 0, "were not shown to be the same function");
  }
  if (s->bitwise) {
    fputs(", bitwise", file);
  } else if (s->needs != 0) {
    fputs(s->good ? ", up to " : ", told apart by ", file);
    print_needs(file, s->needs);
  }
  if (s->good && s->symbols_up_to > 0) {
    fprintf(file, ", for sizes up to %lld", (long long)s->symbols_up_to);
  }
  if (s->good && s->scaled[0] != '\0') {
    fprintf(file, ", at sizes %s", s->scaled);
  }
  if (s->good && s->unfollowed) {
    fputs(", where no loop takes more than 65,536 steps", file);
  }
}

/* ---- Outputs of graphs that differ ---- */

/* Keeps what was found of one output. Without memory it isn't told. */
static void take_output(void *user, const char *name, const gemel_pair_result *result) {
  gemel__records *records = user;
  gemel__pair_output *more =
      realloc(records->outputs, (records->n_outputs + 1) * sizeof *records->outputs);
  if (more != NULL) {
    records->outputs = more;
    records->outputs[records->n_outputs++] = (gemel__pair_output){name, *result};
  }
}

static int is_same(const gemel_pair_result *r) {
  return r->verdict == GEMEL_VERDICT_PASSED && r->refused == 0;
}

static const char *word_of_output(const gemel_pair_result *r) {
  return gemel__outcome_text(is_same(r)                            ? GEMEL__OUTCOME_EQUAL
                             : r->verdict == GEMEL_VERDICT_REFUTED ? GEMEL__OUTCOME_DIFFERS
                                                                   : GEMEL__OUTCOME_OPEN);
}

static void print_outputs(const gemel__records *records) {
  FILE *file = records->table;
  for (size_t k = 0; k < records->n_outputs; k++) {
    const gemel_pair_result *r = &records->outputs[k].result;
    int good = is_same(r);
    fprintf(file, "%soutput %-12s  ", k == 0 ? "\n" : "", records->outputs[k].name);
    gemel__paint(file, good ? GEMEL__TONE_GOOD : GEMEL__TONE_BAD, 0, word_of_output(r));
    if (r->needs != 0) {
      fputs(good ? ", up to " : ", told apart by ", file);
      print_needs(file, r->needs);
    }
    fputs(good && r->bitwise ? ", bitwise\n" : "\n", file);
  }
}

static void write_outputs(const gemel__records *records) {
  FILE *file = records->output.file;
  for (size_t k = 0; k < records->n_outputs; k++) {
    const gemel_pair_result *r = &records->outputs[k].result;
    fputs(k == 0 ? ", \"outputs\": [{\"name\": " : ", {\"name\": ", file);
    gemel__json_text(file, records->outputs[k].name);
    fprintf(file, ", \"verdict\": \"%s\", \"bitwise\": %s", word_of_output(r),
            r->bitwise ? "true" : "false");
    gemel__json_words(file, "needs", r->needs);
    fputc('}', file);
  }
  fputs(records->n_outputs > 0 ? "]" : "", file);
}

void gemel__example_json(FILE *file, const gemel_pair_example *e) {
  const char *const names[] = {"inputs", "output", "before", "after", "first_node", "second_node"};
  const char *const texts[] = {e->inputs, e->output, e->before, e->after, e->nodes[0], e->nodes[1]};
  for (size_t k = 0; k < sizeof names / sizeof *names && e->found; k++) {
    fprintf(file, ", \"%s\": ", names[k]);
    gemel__json_text(file, texts[k]);
  }
}

static void print_result(const gemel__records *records, const gemel_pair_result *result,
                         const gemel__equal_summary *s, char *const operands[2],
                         const gemel_verify_options *settings) {
  FILE *file = records->table;
  for (size_t k = 0; k < records->count; k++) {
    print_evidence(file, &records->rows[k]);
  }
  gemel__records_print_failures(records, GEMEL_VERDICT_REFUTED); /* the others are said above */
  if (s->refused != 0) {
    fputs("\nnot allowed: ", file);
    print_needs(file, s->refused);
    fputc('\n', file);
  }
  if (settings->counterexample_folder != NULL && result->verdict == GEMEL_VERDICT_REFUTED &&
      !result->written) { /* a formula alone told them apart */
    fputs("\nno counterexample was written: no inputs are known at which the results differ\n",
          file);
  }
  print_outputs(records);
  if (result->example.found) {
    char text[GEMEL_EXAMPLE_TEXT];
    gemel_pair_example_text(&result->example, text, sizeof text);
    fprintf(file, "\nfor example %s\n", text);
  }
  print_verdict(file, s, operands[0], operands[1]);
  fprintf(file, " (seed %llu, %.1f s)\n", (unsigned long long)settings->seed,
          gemel__now() - records->started);
}

/* What the command asks. */
typedef struct pair_question {
  const gemel__args *args;
  gemel_context *context;
  gemel_graph *graphs[2];
  char *name; /* or NULL */
  unsigned allow, tiers;
  size_t threads;
  double seconds;
  gemel__equal_summary *summary;
} pair_question;

/* What became of the pair, in the word that a campaign has for it. */
static const char *outcome_word(const gemel__equal_summary *s) {
  return gemel__outcome_text(s->good      ? GEMEL__OUTCOME_EQUAL
                             : s->differs ? GEMEL__OUTCOME_DIFFERS
                                          : GEMEL__OUTCOME_OPEN);
}

/* The member that lists TIERS, if they are a part. */
static void write_tiers(FILE *file, unsigned tiers) {
  const char *before = ", \"tiers\": [";
  for (int tier = 0; tier < GEMEL_TIER_COUNT; tier++) {
    if (tiers >> tier & 1) {
      fprintf(file, "%s\"%s\"", before, gemel_tier_name((gemel_tier)tier));
      before = ", ";
    }
  }
  if (tiers != 0) {
    fputc(']', file);
  }
}

/* The last line of the JSON: the verdict on the pair as a whole. */
static void write_whole(const gemel__records *records, const gemel_pair_result *result,
                        const pair_question *q, uint64_t seed) {
  FILE *file = records->output.file;
  const gemel__equal_summary *s = q->summary;
  fputs("{\"kind\": \"whole\", \"name\": ", file);
  gemel__json_text(file, q->name != NULL ? q->name : "pair");
  fputs(", \"first\": ", file);
  gemel__json_text(file, q->args->operands[0]);
  fputs(", \"second\": ", file);
  gemel__json_text(file, q->args->operands[1]);
  fprintf(file, ", \"verdict\": \"%s\", \"bitwise\": %s", outcome_word(s),
          s->bitwise ? "true" : "false");
  gemel__json_words(file, "needs", s->needs);
  gemel__json_words(file, "not_allowed", s->refused);
  if (s->good && result->symbols_up_to > 0) {
    fprintf(file, ", \"sizes_up_to\": %lld", (long long)result->symbols_up_to);
  }
  if (s->good && s->scaled[0] != '\0') {
    fputs(", \"sizes_scaled\": ", file);
    gemel__json_text(file, s->scaled);
  }
  if (s->good && s->unfollowed) {
    fputs(", \"loop_steps_up_to\": 65536", file);
  }
  write_tiers(file, s->tiers);
  write_outputs(records);
  gemel__example_json(file, &s->example);
  fputs(", \"detail\": ", file);
  gemel__json_text(file, s->detail);
  fprintf(file, ", \"seed\": %llu, \"seconds\": %.3f}\n", (unsigned long long)seed,
          gemel__now() - records->started);
}

/* The result, with the reason of the worst record. */
static void summarise(const gemel__records *records, const gemel_pair_result *result,
                      unsigned tiers, gemel__equal_summary *s) {
  const gemel_record *worst = NULL;
  s->ended = 1;
  s->good = is_equal(records, result);
  s->differs = !s->good && (result->verdict == GEMEL_VERDICT_REFUTED || result->refused != 0);
  s->tiers = is_part(tiers) ? tiers : 0;
  s->bitwise = result->bitwise && s->tiers == 0;
  s->needs = result->needs;
  s->refused = result->refused;
  s->symbols_up_to = result->symbols_up_to;
  s->unfollowed = result->unfollowed;
  s->example = result->example;
  snprintf(s->scaled, sizeof s->scaled, "%s", result->scaled);
  for (size_t k = 0; k < records->count; k++) {
    const gemel_record *r = &records->rows[k];
    worst =
        worst == NULL || gemel_verdict_severity(r->verdict) > gemel_verdict_severity(worst->verdict)
            ? r
            : worst;
  }
  if (worst != NULL && !s->good) {
    snprintf(s->detail, sizeof s->detail, "tier %s: %s%s%s", gemel_tier_name(worst->tier),
             gemel_verdict_name(worst->verdict), worst->detail[0] != '\0' ? "; " : "",
             worst->detail);
  }
}

/* The reports that are asked for; in JUnit's the whole pair is a case, too. */
static int write_reports(const gemel__records *records, const pair_question *q, uint64_t seed) {
  const char *html = gemel__arg(q->args, "html"), *junit = gemel__arg(q->args, "junit");
  const gemel__equal_summary *s = q->summary;
  char text[GEMEL_EXAMPLE_TEXT];
  gemel_pair_example_text(&s->example, text, sizeof text);
  gemel__junit_case whole = {.kind = "pair",
                             .name = q->name != NULL ? q->name : "pair",
                             .seconds = gemel__now() - records->started,
                             .end = s->good      ? GEMEL__JUNIT_PASSED
                                    : s->differs ? GEMEL__JUNIT_FAILURE
                                                 : GEMEL__JUNIT_ERROR,
                             .verdict = s->differs ? "differ" : "not shown to be the same function",
                             .detail = s->detail,
                             .text = text};
  int status = GEMEL__GOOD;
  if (html != NULL && gemel__records_html(records, html, seed, s) != GEMEL__GOOD) {
    status = GEMEL__BAD;
  }
  if (junit != NULL && gemel__records_junit(records, junit, &whole) != GEMEL__GOOD) {
    status = GEMEL__BAD;
  }
  return status;
}

/* 1 if X and Y may be of one type: sizes may be known to one graph alone. */
static int types_may_fit(gemel_value x, gemel_value y, int sizes_too) {
  gemel_context *context = gemel_graph_context(x.graph);
  gemel_type a = gemel_value_type(x), b = gemel_value_type(y);
  int rank = gemel_type_rank(context, a),
      fit = rank == gemel_type_rank(context, b) &&
            gemel_type_dtype(context, a) == gemel_type_dtype(context, b);
  for (int k = 0; k < rank && fit && sizes_too; k++) {
    int64_t n, m;
    fit = !(gemel_dim_is_constant(context, gemel_type_dims(context, a)[k], &n) &&
            gemel_dim_is_constant(context, gemel_type_dims(context, b)[k], &m) && n != m);
  }
  return fit;
}

static int has_input(const gemel_graph *graph, gemel_value like, const char *name) {
  for (size_t k = 0; k < gemel_graph_input_count(graph); k++) {
    if (strcmp(gemel_graph_input_name(graph, k), name) == 0) {
      return types_may_fit(like, gemel_graph_input(graph, k), 1);
    }
  }
  return 0;
}

static int has_output(const gemel_graph *graph, gemel_value like, const char *name) {
  for (size_t k = 0; k < gemel_graph_output_count(graph); k++) {
    if (strcmp(gemel_graph_output_name(graph, k), name) == 0) {
      return types_may_fit(like, gemel_graph_output(graph, k), 0);
    }
  }
  return 0;
}

/* 1 if B has the inputs and outputs of A, as far as that is known. */
static int may_have_those_of(const gemel_graph *b, const gemel_graph *a) {
  int fit = 1;
  for (size_t k = 0; k < gemel_graph_input_count(a) && fit; k++) {
    fit = has_input(b, gemel_graph_input(a, k), gemel_graph_input_name(a, k));
  }
  for (size_t k = 0; k < gemel_graph_output_count(a) && fit; k++) {
    fit = has_output(b, gemel_graph_output(a, k), gemel_graph_output_name(a, k));
  }
  return fit;
}

static int compare(gemel__records *records, const pair_question *q,
                   const gemel_verify_options *settings) {
  gemel_pair_result result = {.size = sizeof result};
  gemel_error error;
  gemel_status status =
      gemel_verify_pair(q->graphs[0], q->graphs[1], q->name != NULL ? q->name : "pair", q->allow,
                        settings, &result, &error);
  if (status == GEMEL_OK) {
    summarise(records, &result, q->tiers, q->summary);
  }
  q->summary->is_invalid =
      status == GEMEL_BAD_TYPE && !(may_have_those_of(q->graphs[0], q->graphs[1]) &&
                                    may_have_those_of(q->graphs[1], q->graphs[0]));
  if (status == GEMEL_OK && records->json) {
    write_whole(records, &result, q, settings->seed);
  }
  int closed = gemel__records_close(records, status == GEMEL_OK);
  if (status != GEMEL_OK) {
    return gemel__complain_error(NULL, &error);
  }
  print_result(records, &result, q->summary, q->args->operands, settings);
  if (closed != GEMEL__GOOD) {
    return closed;
  }
  return q->summary->good ? GEMEL__GOOD : GEMEL__REFUTED;
}

/* Compares the two graphs, with a report if one is asked for. */
static int ask(const pair_question *q) {
  const char *match = gemel__arg(q->args, "match");
  gemel__records records;
  gemel_verify_options settings;
  int status = gemel__records_open(&records, q->args, &settings);
  if (status != GEMEL__GOOD) {
    return status;
  }
  settings.tiers = q->tiers;
  settings.jobs = q->threads;
  settings.tick = gemel__records_tick;
  settings.output = take_output;
  records.seconds = q->seconds;
  settings.counterexample_folder = gemel__arg(q->args, "counterexample");
  settings.match = match != NULL && strcmp(match, "name") == 0 ? NULL : match;
  status = compare(&records, q, &settings);
  if ((status == GEMEL__GOOD || status == GEMEL__REFUTED) &&
      write_reports(&records, q, settings.seed) != GEMEL__GOOD) {
    status = GEMEL__BAD;
  }
  gemel__records_close(&records, 0);
  gemel__records_clear(&records);
  return status;
}

/* 1 if STATUS, of reading a model, says that it isn't valid. */
static int is_of_model(gemel_status status) {
  return status != GEMEL_OK && status != GEMEL_UNSUPPORTED && status != GEMEL_NO_MEMORY &&
         status != GEMEL_IO;
}

/* An input that one of two models lists and nothing reads doesn't count. */
static int read_models(pair_question *q) {
  gemel_error error;
  gemel_status why;
  int status = gemel__models_read(q->context, q->args, q->graphs, &q->name, &why);
  q->summary->is_invalid = q->graphs[0] != NULL && is_of_model(why);
  return status == GEMEL__GOOD &&
                 gemel_pair_add_unread(q->graphs[0], q->graphs[1], &error) != GEMEL_OK
             ? gemel__complain_error(NULL, &error)
             : status;
}

static int read_graphs(pair_question *q) {
  char *const *paths = q->args->operands;
  if (gemel__is_model(paths[0]) && gemel__is_model(paths[1])) {
    return read_models(q);
  }
  int status = gemel__graph_read(q->context, paths[0], &q->graphs[0], &q->name, q->args);
  return status == GEMEL__GOOD
             ? gemel__graph_read(q->context, paths[1], &q->graphs[1], NULL, q->args)
             : status;
}

static int read_and_ask(pair_question *q) {
  int status = read_graphs(q);
  q->summary->first_read = q->graphs[0] != NULL;
  status = status == GEMEL__GOOD ? ask(q) : status;
  gemel_text_free(q->name);
  gemel_graph_unref(q->graphs[0]);
  gemel_graph_unref(q->graphs[1]);
  return status;
}

static int read_settings(const gemel__args *args, pair_question *q) {
  const char *words = gemel__arg(args, "allow"), *tiers = gemel__arg(args, "tier");
  q->allow = GEMEL_PAIR_DEFAULT;
  q->threads = 1;
  return (words != NULL && read_needs(words, &q->allow) != GEMEL__GOOD) ||
                 (tiers != NULL && gemel__read_tiers(tiers, &q->tiers) != GEMEL__GOOD) ||
                 gemel__arg_seconds(args, "seconds", &q->seconds) != GEMEL__GOOD ||
                 gemel__records_jobs(args, "threads", &q->threads) != GEMEL__GOOD
             ? GEMEL__BAD
             : GEMEL__GOOD;
}

int gemel__equal_check(const gemel__args *args) {
  pair_question q = {.args = args};
  gemel_verify_options settings;
  return read_settings(args, &q) == GEMEL__GOOD &&
                 gemel__records_settings(args, &settings) == GEMEL__GOOD &&
                 gemel__model_sizes_check(args) == GEMEL__GOOD
             ? GEMEL__GOOD
             : GEMEL__BAD;
}

int gemel__equal_run(const gemel__args *args, gemel__equal_summary *summary) {
  pair_question q = {.args = args, .summary = summary};
  if (read_settings(args, &q) != GEMEL__GOOD ||
      gemel__records_probe(gemel__arg(args, "html")) != GEMEL__GOOD ||
      gemel__records_probe(gemel__arg(args, "junit")) != GEMEL__GOOD) {
    return GEMEL__BAD;
  }
  q.context = gemel__context_for(args);
  int status = q.context != NULL ? read_and_ask(&q) : GEMEL__BAD;
  gemel_context_unref(q.context);
  return status;
}

static int run(const gemel__args *args) {
  gemel__equal_summary summary = {0};
  gemel__signals_catch();
  return gemel__equal_run(args, &summary);
}

const gemel__command gemel__command_equal = {
    "equal",
    "A B",
    "Decide whether two graph files are the same function, with evidence or a counterexample.",
    "A and B may be ONNX models (.onnx), or modules of XLA's HLO as text.\n"
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
    "that are integers or truths differ. narrows: the second ends in an error, such as an index "
    "out of range, or has elements that ONNX leaves undefined, where the first has a result; "
    "widens: the other way round. Finite results that are further apart than rounding permits are "
    "never allowed.\n"
    "Exit status 0 if every tier passed or isn't applicable and what tells them apart is allowed; "
    "else 1; 2 for usage and for what can't be read or written; 3 where a model has something that "
    "gemel hasn't.",
    options,
    2,
    2,
    run};
