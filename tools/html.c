/* SPDX-License-Identifier: MIT
 *
 * The reports of `gemel verify --html` and `gemel equal --html`, as pages (page.h). A subject is
 * what several records are about: an operation, a rule, a pair. First the verdict on the whole and
 * how many there are of each kind; then each subject that isn't accepted, in full; then a plot of
 * the rules' errors, the table of verdicts, in which each subject leads to its evidence, and what
 * carries the verdicts on all others, folded. Subjects that weren't run at all are only named.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "campaign.h"
#include "page.h"

enum { PLOT = 360, MARGIN = 48, DECADES = 6, BAR = 240, MIN_POINTS = 8 };

/* Where a subject stands; the worst come first. */
typedef enum standing {
  REFUTED,
  OVERSTATED,
  UNDECIDED,
  KNOWN,
  PASSED,
  NOT_RUN,
  STANDING_COUNT
} standing;

/* A subject: the records FIRST .. END. */
typedef struct card {
  size_t first, end;
  standing standing;
} card;

typedef struct html_report {
  const gemel__records *records;
  card *subjects;
  size_t count, counts[STANDING_COUNT];
} html_report;

/* ---- Subjects ---- */

static int is_rule(const gemel_record *r) {
  return strcmp(r->kind, "rule") == 0 || strcmp(r->kind, "pass") == 0;
}

static int is_bad(const gemel_record *r) {
  return gemel_verdict_severity(r->verdict) > gemel_verdict_severity(GEMEL_VERDICT_NOT_APPLICABLE);
}

/* How the verdict of R, one of RECORDS, is shown: that it wasn't run since another tier refuted the
 * same needs no attention. */
static gemel__tone tone_of(const gemel__records *records, const gemel_record *r) {
  switch (r->verdict) {
  case GEMEL_VERDICT_PASSED:
    return GEMEL__TONE_GOOD;
  case GEMEL_VERDICT_NOT_APPLICABLE:
    return GEMEL__TONE_QUIET;
  case GEMEL_VERDICT_OVERSTATED:
  case GEMEL_VERDICT_REFUTED:
    return GEMEL__TONE_BAD;
  case GEMEL_VERDICT_NOT_RUN:
    return gemel__records_refuted_before(records, r) != NULL ? GEMEL__TONE_QUIET : GEMEL__TONE_OPEN;
  default:
    return GEMEL__TONE_OPEN;
  }
}

static standing standing_of(const gemel__records *records, size_t first, size_t end) {
  int worst = 0; /* severity of what isn't accepted */
  size_t known = 0, not_run = 0;
  for (size_t k = first; k < end; k++) {
    const gemel_record *r = &records->rows[k];
    int severity = gemel_verdict_severity(r->verdict);
    int is_accepted = gemel__records_accepts(records, r);
    worst = !is_accepted && severity > worst ? severity : worst;
    known += (size_t)(is_accepted && is_bad(r));
    not_run += r->verdict == GEMEL_VERDICT_NOT_RUN;
  }
  return worst == gemel_verdict_severity(GEMEL_VERDICT_REFUTED)      ? REFUTED
         : worst == gemel_verdict_severity(GEMEL_VERDICT_OVERSTATED) ? OVERSTATED
         : not_run == end - first                                    ? NOT_RUN
         : worst > 0                                                 ? UNDECIDED
         : known > 0                                                 ? KNOWN
                                                                     : PASSED;
}

static html_report report_new(const gemel__records *records) {
  html_report r = {.records = records};
  r.subjects = gemel__need(NULL, (records->count + 1) * sizeof *r.subjects);
  for (size_t first = 0, end; first < records->count; first = end) {
    for (end = first;
         end < records->count && gemel__same_subject(&records->rows[first], &records->rows[end]);
         end++) {
    }
    standing is = standing_of(records, first, end);
    r.counts[is]++;
    r.subjects[r.count++] = (card){first, end, is};
  }
  return r;
}

/* 1 if B's verdict says more of a subject than A's: the worst does, then passed. */
static int says_more(const gemel_record *b, const gemel_record *a) {
  return is_bad(a) || is_bad(b)
             ? gemel_verdict_severity(b->verdict) > gemel_verdict_severity(a->verdict)
             : b->verdict == GEMEL_VERDICT_PASSED && a->verdict != GEMEL_VERDICT_PASSED;
}

/* The record whose verdict stands for the subject, the first of several. */
static const gemel_record *sum_of(const html_report *r, const card *s) {
  const gemel_record *sum = &r->records->rows[s->first];
  for (size_t k = s->first; k < s->end; k++) {
    sum = says_more(&r->records->rows[k], sum) ? &r->records->rows[k] : sum;
  }
  return sum;
}

/* ---- Plots ---- */

/* RATIO on a logarithmic axis of LENGTH that ends at 1; what is smaller than its start stands
 * there. */
static double place(double ratio, double length) {
  double decades = ratio > 0 ? log10(ratio) + DECADES : 0;
  return length * (decades < 0 ? 0 : decades > DECADES ? DECADES : decades) / DECADES;
}

/* 1 if the record says something of errors. */
static int has_errors(const gemel_record *r) {
  return r->tier == GEMEL_TIER_FLOAT && r->verdict == GEMEL_VERDICT_PASSED && isfinite(r->worst) &&
         isfinite(r->before);
}

static int is_point(const gemel_record *r) {
  return is_rule(r) && has_errors(r);
}

static void plot_axes(FILE *file) {
  fprintf(file,
          "<g class=\"axes\"><rect x=\"%d\" y=\"0\" width=\"%d\" height=\"%d\"/>"
          "<line x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"0\"/>\n",
          MARGIN, PLOT, PLOT, MARGIN, PLOT, MARGIN + PLOT);
  for (int k = 0; k <= DECADES; k += 2) {
    int at = k * PLOT / DECADES;
    char text[16] = "1";
    if (k < DECADES) {
      snprintf(text, sizeof text, "1e%d", k - DECADES);
    }
    fprintf(file, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s</text>\n", MARGIN + at,
            PLOT + 18, text);
    fprintf(file, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n", MARGIN - 8,
            PLOT - at + 4, text);
  }
  fprintf(file, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">error ÷ bound before</text>\n",
          MARGIN + PLOT / 2, PLOT + 36);
  fprintf(file,
          "<text x=\"10\" y=\"%d\" text-anchor=\"middle\" transform=\"rotate(-90 10 %d)\">after"
          "</text></g>\n",
          PLOT / 2, PLOT / 2);
}

/* Every rule as a point: below the diagonal it became more accurate. Few rules make no plot:
 * each has bars of its own. */
static void plot_rules(FILE *file, const gemel__records *records) {
  size_t points = 0;
  for (size_t k = 0; k < records->count; k++) {
    points += (size_t)is_point(&records->rows[k]);
  }
  if (points < MIN_POINTS) {
    return;
  }
  fprintf(file,
          "<h2>Errors of rules</h2>\n<figure>\n<figcaption class=\"dim\">Each point is a rule: the "
          "largest error ÷ bound of its left side, and of its right side. Below the diagonal the "
          "rule makes results more accurate.</figcaption>\n"
          "<svg class=\"plot\" viewBox=\"0 -10 %d %d\" role=\"img\">\n",
          PLOT + MARGIN + 16, PLOT + 52);
  plot_axes(file);
  fputs("<g class=\"marks\">\n", file);
  for (size_t k = 0; k < records->count; k++) {
    const gemel_record *r = &records->rows[k];
    if (is_point(r)) {
      fprintf(file, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\"><title>",
              MARGIN + place(r->before, PLOT), PLOT - place(r->worst, PLOT));
      gemel__escape(file, r->name);
      fprintf(file, ": %.3g before, %.3g after</title></circle>\n", r->before, r->worst);
    }
  }
  fputs("</g>\n</svg>\n</figure>\n", file);
}

static void plot_bar(FILE *file, int y, const char *kind, double ratio) {
  double length = place(ratio, BAR);
  fprintf(file,
          "<text x=\"46\" y=\"%d\" text-anchor=\"end\">%s</text>"
          "<rect x=\"50\" y=\"%d\" width=\"%.1f\" height=\"12\" class=\"%s\"/>"
          "<text x=\"%.1f\" y=\"%d\">%.3g</text>\n",
          y + 11, kind, y, length < 1 ? 1 : length, kind, 56 + length, y + 11, ratio);
}

/* Error ÷ bound of one rule, before and after; the right end is 1. */
static void plot_record(FILE *file, const gemel_record *r) {
  fprintf(file, "<svg class=\"bars\" viewBox=\"0 0 %d 36\" role=\"img\">\n<g class=\"marks\">\n",
          BAR + 120);
  plot_bar(file, 2, "before", r->before);
  plot_bar(file, 20, "after", r->worst);
  fprintf(file,
          "</g>\n<g class=\"axes\"><line x1=\"%d\" y1=\"0\" x2=\"%d\" y2=\"36\" class=\"bound\"/>"
          "</g>\n</svg>\n",
          50 + BAR, 50 + BAR);
}

/* ---- The table ---- */

/* What is proved, in a TAG; PROOF NULL: nobody asked. */
static void print_proof(FILE *file, const char *tag, const gemel_proof *proof) {
  char text[GEMEL__PROOF_TEXT] = "";
  if (proof != NULL) {
    gemel__proof_text(proof, text);
  }
  fprintf(file, "<%s class=\"more %s\">", tag,
          gemel__tone_class(proof != NULL && proof->elements != NULL ? GEMEL__TONE_GOOD
                                                                     : GEMEL__TONE_QUIET));
  gemel__escape(file, text);
  fprintf(file, "</%s>", tag);
}

static void table_cell(FILE *file, const html_report *r, const gemel_record *record) {
  fprintf(file, "<td class=\"%s\">%s", gemel__tone_class(tone_of(r->records, record)),
          record->verdict == GEMEL_VERDICT_NOT_APPLICABLE ? "n/a"
                                                          : gemel_verdict_name(record->verdict));
  if (has_errors(record)) {
    fprintf(file, " %.2f", record->worst);
  } else if (record->how != GEMEL_EVIDENCE_NONE) {
    fprintf(file, " by %s", gemel_evidence_name(record->how));
  }
  fputs("</td>", file);
}

/* The tiers that were asked for, bits. */
static unsigned tiers_of(const gemel__records *records) {
  unsigned tiers = 0;
  for (size_t k = 0; k < records->count; k++) {
    tiers |= 1u << records->rows[k].tier;
  }
  return tiers;
}

static void table_row(FILE *file, const html_report *r, unsigned tiers, const card *s) {
  const gemel_record *rows = r->records->rows;
  fprintf(file, "<tr><td class=\"name\"><a href=\"#s%zu\">", s->first);
  gemel__escape(file, rows[s->first].name);
  fputs("</a></td>", file);
  for (int tier = 0; tier < GEMEL_TIER_COUNT; tier++) {
    const gemel_record *record = NULL;
    for (size_t k = s->first; k < s->end; k++) {
      record = (int)rows[k].tier == tier ? &rows[k] : record;
    }
    if (record != NULL) {
      table_cell(file, r, record);
    } else if (tiers >> tier & 1) {
      fputs("<td></td>", file);
    }
  }
  if (r->records->proofs) {
    print_proof(file, "td", rows[s->first].proof);
  }
  fputs("</tr>\n", file);
}

/* What was run; one subject needs no table. */
static void print_table(FILE *file, const html_report *r) {
  if (r->count < 2 || r->counts[NOT_RUN] == r->count) {
    return;
  }
  unsigned tiers = tiers_of(r->records);
  fputs("<h2>All verdicts</h2>\n", file);
  gemel__page_table(file);
  fputs("<tr><th></th>", file);
  for (int tier = 0; tier < GEMEL_TIER_COUNT; tier++) {
    if (tiers >> tier & 1) {
      fprintf(file, "<th>%s</th>", gemel_tier_name((gemel_tier)tier));
    }
  }
  fputs(r->records->proofs ? "<th>proved</th></tr>\n" : "</tr>\n", file);
  for (int at = 0; at < NOT_RUN; at++) {
    for (size_t k = 0; k < r->count; k++) {
      if ((int)r->subjects[k].standing == at) {
        table_row(file, r, tiers, &r->subjects[k]);
      }
    }
  }
  gemel__page_table_end(file);
}

/* ---- Evidence ---- */

static void print_words(FILE *file, const char *what, unsigned words) {
  int n = 0;
  fprintf(file, "%s: ", what);
  for (int k = 0; k < GEMEL_NEEDS_COUNT; k++) {
    if (words >> k & 1) {
      fprintf(file, "%s%s", n++ > 0 ? ", " : "", gemel_needs_word(k));
    }
  }
  fputs(n > 0 ? "; " : "nothing; ", file);
}

/* What carries the verdict, in a sentence. */
static void print_carrier(FILE *file, const gemel_record *r) {
  const char *between = " ";
  if (r->how != GEMEL_EVIDENCE_NONE) {
    fprintf(file, " by %s", gemel_evidence_name(r->how));
    between = ", ";
  }
  if (r->instances > 0) {
    fprintf(file, "%s%zu instances, %zu results", between, r->instances, r->elements);
    between = ", ";
  }
  if (has_errors(r) && !is_rule(r)) { /* a rule's detail says it, before and after */
    fprintf(file, "%serror ÷ bound %.2g", between, r->worst);
    between = ", ";
  }
  if (r->error_probability > 0) {
    fprintf(file, "%swrong with probability %.1g", between, r->error_probability);
    between = ", ";
  }
  if (r->detail[0] != '\0') {
    fputs(between[0] == ' ' ? " " : "; ", file);
    gemel__escape(file, r->detail);
  }
}

/* The command line that meets a refutation again, if there is one. */
static void print_repeat(FILE *file, const gemel__records *records, const gemel_record *r) {
  char *text = NULL;
  size_t bytes = 0;
  FILE *memory = open_memstream(&text, &bytes);
  if (memory != NULL) {
    gemel__records_print_repeat(memory, records, r);
    fclose(memory);
  }
  if (bytes > 0) {
    fputs("<p><code>", file);
    gemel__escape(file, text + strspn(text, " "));
    fputs("</code></p>\n", file);
  }
  free(text);
}

/* 1 if A and B, of one subject, say the same of two tiers, and no more than a reason. */
static int same_reason(const gemel_record *a, const gemel_record *b) {
  return a->verdict == b->verdict && a->instances == 0 && b->instances == 0 &&
         a->how == GEMEL_EVIDENCE_NONE && b->how == GEMEL_EVIDENCE_NONE &&
         a->counterexample == NULL && b->counterexample == NULL &&
         strcmp(a->detail, b->detail) == 0;
}

/* The record at R, and those behind it, before END, that say the same; how many these are. */
static size_t print_record(FILE *file, const gemel__records *records, const gemel_record *r,
                           const gemel_record *end) {
  gemel__tone tone = tone_of(records, r);
  size_t n = 1;
  fprintf(file, "<li class=\"%s\"><b>%s", gemel__tone_class(tone), gemel_tier_name(r->tier));
  for (; r + n < end && same_reason(r, r + n); n++) {
    fprintf(file, ", %s", gemel_tier_name(r[n].tier));
  }
  fputs("</b> ", file);
  gemel__page_tag(file, tone, gemel_verdict_name(r->verdict));
  print_carrier(file, r);
  if (r->witnesses != NULL && r->witnesses[0] != '\0') {
    gemel__page_text(file, "witnesses", r->witnesses);
  }
  if (is_point(r) && (r->before > 0 || r->worst > 0)) {
    plot_record(file, r);
  }
  if (r->counterexample != NULL) {
    gemel__page_text(file, "counterexample", r->counterexample);
  }
  if (tone == GEMEL__TONE_BAD) {
    print_repeat(file, records, r);
  }
  fputs("</li>\n", file);
  return n;
}

/* What is said of the subject as a whole. */
static void print_about(FILE *file, const gemel_record *last) {
  if (last->text != NULL && last->text[0] != '\0') {
    gemel__page_text(file, "rule", last->text);
  }
  if (is_rule(last)) {
    fputs("<p class=\"dim\">", file);
    print_words(file, "declares to give up", last->declared);
    print_words(file, "was measured to give up", last->needs);
    fprintf(file, "%zu different shapes</p>\n", last->shapes);
  }
  if (last->proof != NULL) {
    fputs("<p>proof: ", file);
    print_proof(file, "span", last->proof);
    fputs("</p>\n", file);
  }
}

/* The section is what the table's links lead to: a browser unfolds what it is in. */
static void print_evidence(FILE *file, const html_report *r, const card *s) {
  const gemel_record *rows = r->records->rows, *sum = sum_of(r, s);
  int is_open = s->standing <= UNDECIDED || r->count == 1;
  fprintf(file, "<details class=\"card\"%s>\n<summary><h3>", is_open ? " open=\"open\"" : "");
  gemel__escape(file, rows[s->first].name);
  fputs("</h3> ", file);
  gemel__page_tag(file, tone_of(r->records, sum), gemel_verdict_name(sum->verdict));
  fputs(s->standing == KNOWN ? " as in the baseline" : "", file);
  fprintf(file, "</summary>\n<section id=\"s%zu\">\n", s->first);
  print_about(file, &rows[s->end - 1]);
  fputs("<ul>\n", file);
  for (int bad = 1; bad >= 0; bad--) {
    for (size_t k = s->first, n; k < s->end; k += n) {
      n = is_bad(&rows[k]) == bad ? print_record(file, r->records, &rows[k], rows + s->end) : 1;
    }
  }
  fputs("</ul>\n</section>\n</details>\n", file);
}

/* The subjects that stand FROM to TO, if there are any. */
static void print_cards(FILE *file, const html_report *r, const char *title, standing from,
                        standing to) {
  size_t n = 0;
  for (int at = (int)from; at <= (int)to; at++) {
    for (size_t k = 0; k < r->count; k++) {
      if ((int)r->subjects[k].standing == at) {
        if (n++ == 0 && r->count > 1) {
          fprintf(file, "<h2>%s</h2>\n", title);
        }
        print_evidence(file, r, &r->subjects[k]);
      }
    }
  }
}

/* The names of what wasn't run, below each reason. */
static void print_not_run(FILE *file, const html_report *r) {
  const char *reason = NULL;
  for (size_t k = 0; k < r->count; k++) {
    const gemel_record *record = &r->records->rows[r->subjects[k].first];
    if (r->subjects[k].standing != NOT_RUN) {
      continue;
    }
    if (reason == NULL) {
      fprintf(file, "<h2>Not run: %zu</h2>\n", r->counts[NOT_RUN]);
    }
    if (reason == NULL || strcmp(reason, record->detail) != 0) {
      fputs(reason != NULL ? "</p></details>\n" : "", file);
      reason = record->detail;
      fputs("<details class=\"card\"><summary>", file);
      gemel__escape(file, reason[0] != '\0' ? reason : "not run");
      fputs("</summary>\n<p>", file);
    }
    gemel__escape(file, record->name);
    fputs("<br/>\n", file);
  }
  fputs(reason != NULL ? "</p></details>\n" : "", file);
}

/* ---- The head ---- */

/* The verdict on operations or rules, as the exit status has it. */
static const char *verdict_on(const html_report *r, gemel__tone *tone) {
  int is_good = gemel__records_good(r->records), is_refuted = r->counts[REFUTED] > 0;
  int is_bad = is_refuted || r->counts[OVERSTATED] > 0;
  *tone = is_good ? GEMEL__TONE_GOOD : is_bad ? GEMEL__TONE_BAD : GEMEL__TONE_OPEN;
  return is_good      ? r->counts[KNOWN] > 0 ? "As in the baseline" : "Passed"
         : is_refuted ? "Refuted"
         : is_bad     ? "Overstated"
                      : "Open";
}

static const char *verdict_on_pair(const gemel__equal_summary *pair, gemel__tone *tone) {
  *tone = pair->good ? GEMEL__TONE_GOOD : pair->differs ? GEMEL__TONE_BAD : GEMEL__TONE_OPEN;
  return pair->good ? "Equal" : pair->differs ? "Different" : "Open";
}

static void print_pair_words(FILE *file, const char *before, unsigned words) {
  for (unsigned k = 0; k < GEMEL_PAIR_COUNT; k++) {
    if (words >> k & 1) {
      fprintf(file, "%s%s", before, gemel__pair_word(k));
      before = ", ";
    }
  }
}

static void print_pair(FILE *file, const gemel__equal_summary *pair) {
  fprintf(file, "<p>%s",
          pair->good      ? pair->tiers != 0 ? "They agree in the tiers that were asked"
                                             : "They are the same function"
          : pair->differs ? "They differ"
                          : "They were not shown to be the same function");
  if (pair->bitwise) {
    fputs(", bitwise", file);
  } else {
    print_pair_words(file, pair->good ? ", up to " : ", told apart by ", pair->needs);
  }
  if (pair->good && pair->symbols_up_to > 0) {
    fprintf(file, ", for sizes up to %lld", (long long)pair->symbols_up_to);
  }
  if (pair->good && pair->scaled[0] != '\0') {
    fprintf(file, ", at sizes %s", pair->scaled);
  }
  if (pair->good && pair->unfollowed) {
    fputs(", where no loop takes more than 65,536 steps", file);
  }
  print_pair_words(file, ". Not allowed: ", pair->refused);
  fputs(".</p>\n", file);
}

/* How many subjects of each kind there are, "4 rules, 1 pass". */
static void print_kinds(FILE *file, const html_report *r) {
  static const struct {
    const char *kind, *one, *many;
  } kinds[] = {{"operation", "operation", "operations"},
               {"gradient", "derivative", "derivatives"},
               {"rule", "rule", "rules"},
               {"pass", "pass", "passes"}};
  const char *between = "";
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    size_t n = 0;
    for (size_t k = 0; k < r->count; k++) {
      n += strcmp(r->records->rows[r->subjects[k].first].kind, kinds[i].kind) == 0;
    }
    if (n > 0) {
      fprintf(file, "%s%zu %s", between, n, n == 1 ? kinds[i].one : kinds[i].many);
      between = ", ";
    }
  }
}

/* How many subjects, and what became of them. */
static void print_subjects(FILE *file, const html_report *r) {
  static const char *const texts[] = {"refuted", "overstated", "open", "as in the baseline",
                                      "passed",  "not run"};
  const char *between = ": ";
  fputs("<p>", file);
  print_kinds(file, r);
  for (int at = 0; at < STANDING_COUNT; at++) {
    if (r->counts[at] > 1 && r->counts[at] == r->count) {
      fprintf(file, ": all %s", texts[at]);
    } else if (r->counts[at] > 0) {
      fprintf(file, "%s%zu %s", between, r->counts[at], texts[at]);
      between = ", ";
    }
  }
  fputs(".", file);
  if (r->records->proofs) {
    fprintf(file, " Proved for all sizes: %zu, of them for all ranks: %zu.", r->records->proved,
            r->records->all_ranks);
  }
  fputs("</p>\n", file);
}

/* The verdicts, from the worst to the best. */
static void print_counts(FILE *file, const gemel__records *records) {
  static const gemel_verdict order[] = {GEMEL_VERDICT_REFUTED,       GEMEL_VERDICT_OVERSTATED,
                                        GEMEL_VERDICT_UNINFORMATIVE, GEMEL_VERDICT_NOT_RUN,
                                        GEMEL_VERDICT_PASSED,        GEMEL_VERDICT_NOT_APPLICABLE};
  enum { N = sizeof order / sizeof *order };
  gemel__page_count counts[N];
  for (size_t k = 0; k < N; k++) {
    counts[k] = (gemel__page_count){records->verdicts[order[k]], gemel_verdict_name(order[k]),
                                    GEMEL__TONE_QUIET};
    for (size_t i = 0; i < records->count && counts[k].tone == GEMEL__TONE_QUIET; i++) {
      const gemel_record *r = &records->rows[i];
      counts[k].tone = r->verdict == order[k] ? tone_of(records, r) : GEMEL__TONE_QUIET;
    }
  }
  gemel__page_counts(file, counts, N);
}

/* What the run was about, into PAGE; NAME has room for the one of gemel verify. */
static void say_what(gemel__page *page, const gemel__args *args, const char **name) {
  static const struct {
    const char *option, *what;
  } of[] = {{"replay", "replay"}, {"rules", "rules"}, {"ops", "operations"}};
  page->what = "";
  page->names = (const char *const *)args->operands;
  page->n_names = (size_t)args->n_operands;
  if (page->n_names > 0) {
    return;
  }
  page->what = ": the whole catalogue";
  for (size_t k = 0; k < sizeof of / sizeof *of; k++) {
    *name = gemel__arg(args, of[k].option);
    if (*name != NULL) {
      page->what = of[k].what;
      page->names = name;
      page->n_names = 1;
      return;
    }
  }
}

static void print_head(FILE *file, const html_report *r, uint64_t seed,
                       const gemel__equal_summary *pair) {
  const gemel__args *args = r->records->args;
  const char *name, *baseline = gemel__arg(args, "baseline");
  gemel__page page = {.command = r->records->command};
  say_what(&page, args, &name);
  page.verdict = pair != NULL ? verdict_on_pair(pair, &page.tone) : verdict_on(r, &page.tone);
  gemel__page_begin(file, &page);
  if (pair != NULL) {
    print_pair(file, pair);
  } else {
    print_subjects(file, r);
  }
  print_counts(file, r->records);
  gemel__page_facts(file);
  gemel__page_fact(file, "seed", "%llu", (unsigned long long)seed);
  gemel__page_fact(file, "time", "%.1f s", gemel__now() - r->records->started);
  if (baseline != NULL) {
    gemel__page_fact(file, "baseline", "%s", baseline);
  }
  gemel__page_facts_end(file);
}

int gemel__records_html(const gemel__records *records, const char *path, uint64_t seed,
                        const gemel__equal_summary *pair) {
  gemel__output output;
  if (gemel__output_open(&output, path) != GEMEL__GOOD) {
    return GEMEL__BAD;
  }
  html_report r = report_new(records);
  print_head(output.file, &r, seed, pair); /* an error shows when it is closed */
  print_cards(output.file, &r, "Not passed", REFUTED, UNDECIDED);
  print_not_run(output.file, &r);
  plot_rules(output.file, records);
  print_table(output.file, &r);
  print_cards(output.file, &r, "Evidence", KNOWN, PASSED);
  gemel__page_end(output.file);
  free(r.subjects);
  return gemel__output_close(&output, 1);
}
