/* SPDX-License-Identifier: MIT
 *
 * What `gemel campaign` tells of its models: a line each, JSON, JUnit's XML, a page of HTML.
 */
#include <string.h>
#include "campaign.h"
#include "page.h"

const char *gemel__outcome_text(gemel__campaign_outcome outcome) {
  static const char *const texts[] = {
#define OUTCOME_TEXT(NAME, text) text,
      GEMEL__OUTCOME_TABLE(OUTCOME_TEXT)
#undef OUTCOME_TEXT
  };
  return texts[outcome];
}

/* "reassoc, folded", into TEXT, shortened to fit. */
static void words_text(unsigned words, char *text, size_t bytes) {
  size_t length = 0;
  text[0] = '\0';
  for (int k = 0; k < GEMEL_PAIR_COUNT && length < bytes; k++) {
    if (words >> k & 1) {
      length += (size_t)snprintf(text + length, bytes - length, "%s%s", length > 0 ? ", " : "",
                                 gemel__pair_word((unsigned)k));
    }
  }
}

/* What tells the two models apart, or why there is no verdict. */
static void say(const gemel__campaign_row *row, char *text, size_t bytes) {
  const gemel__equal_summary *s = &row->summary;
  char words[200];
  words_text(s->needs, words, sizeof words);
  if (row->outcome != GEMEL__OUTCOME_EQUAL) {
    snprintf(text, bytes, "%s", s->detail);
  } else if (s->bitwise) {
    snprintf(text, bytes, "bitwise");
  } else {
    snprintf(text, bytes, "%s%s", words[0] != '\0' ? "up to " : "", words);
  }
}

void gemel__campaign_print(FILE *file, const gemel__campaign_row *row) {
  char text[700];
  say(row, text, sizeof text);
  gemel__paint(file,
               row->outcome == GEMEL__OUTCOME_EQUAL     ? GEMEL__TONE_GOOD
               : row->outcome == GEMEL__OUTCOME_DIFFERS ? GEMEL__TONE_BAD
                                                        : GEMEL__TONE_OPEN,
               10, gemel__outcome_text(row->outcome));
  fprintf(file, "  %6.1f s  %s%s%s\n", row->seconds, row->model, text[0] != '\0' ? ": " : "", text);
}

/* ---- JSON ---- */

void gemel__campaign_json(FILE *file, const gemel__campaign_row *row) {
  fputs("{\"model\": ", file);
  gemel__json_text(file, row->model);
  fprintf(file, ", \"outcome\": \"%s\"", gemel__outcome_text(row->outcome));
  gemel__json_words(file, "needs", row->summary.needs);
  gemel__json_words(file, "not_allowed", row->summary.refused);
  fputs(", \"detail\": ", file);
  gemel__json_text(file, row->summary.detail);
  fprintf(file, ", \"seconds\": %.3f}\n", row->seconds);
}

/* ---- JUnit ---- */

static void junit_case(const void *owner, size_t k, gemel__junit_case *c) {
  static const gemel__junit_end ends[GEMEL__OUTCOME_COUNT] = {
      [GEMEL__OUTCOME_EQUAL] = GEMEL__JUNIT_PASSED, [GEMEL__OUTCOME_DIFFERS] = GEMEL__JUNIT_FAILURE,
      [GEMEL__OUTCOME_OPEN] = GEMEL__JUNIT_FAILURE, [GEMEL__OUTCOME_UNREAD] = GEMEL__JUNIT_SKIPPED,
      [GEMEL__OUTCOME_FAILED] = GEMEL__JUNIT_ERROR, [GEMEL__OUTCOME_CRASHED] = GEMEL__JUNIT_ERROR,
      [GEMEL__OUTCOME_CLOSED] = GEMEL__JUNIT_ERROR};
  const gemel__campaign_row *row = &((const gemel__campaign *)owner)->rows[k];
  *c = (gemel__junit_case){.name = row->model,
                           .seconds = row->seconds,
                           .end = ends[row->outcome],
                           .verdict = gemel__outcome_text(row->outcome),
                           .detail = row->summary.detail};
}

void gemel__campaign_junit(FILE *file, const gemel__campaign *c) {
  gemel__junit_write(file, "campaign", c->count, c->seconds, junit_case, c);
}

/* ---- HTML ---- */

/* The order of models in the page, and how each outcome is shown. */
static const struct {
  gemel__campaign_outcome outcome;
  gemel__tone tone;
} order[] = {{GEMEL__OUTCOME_DIFFERS, GEMEL__TONE_BAD}, {GEMEL__OUTCOME_OPEN, GEMEL__TONE_OPEN},
             {GEMEL__OUTCOME_FAILED, GEMEL__TONE_OPEN}, {GEMEL__OUTCOME_CRASHED, GEMEL__TONE_OPEN},
             {GEMEL__OUTCOME_CLOSED, GEMEL__TONE_OPEN}, {GEMEL__OUTCOME_EQUAL, GEMEL__TONE_GOOD},
             {GEMEL__OUTCOME_UNREAD, GEMEL__TONE_QUIET}};
enum { N_ORDER = sizeof order / sizeof *order };
_Static_assert((int)N_ORDER == (int)GEMEL__OUTCOME_COUNT, "an outcome has no place");

static void html_row(FILE *file, const gemel__campaign_row *row, gemel__tone tone) {
  char text[700];
  say(row, text, sizeof text);
  fprintf(file, "<tr><td class=\"%s\">%s</td><td class=\"name\">", gemel__tone_class(tone),
          gemel__outcome_text(row->outcome));
  gemel__escape(file, row->model);
  fputs("</td><td class=\"more\">", file);
  gemel__escape(file, text);
  fprintf(file, "</td><td>%.1f s</td></tr>\n", row->seconds);
}

/* All models, those that need attention first. */
static void html_table(FILE *file, const gemel__campaign *c) {
  if (c->count == 0) {
    return;
  }
  fputs("<h2>Models</h2>\n", file);
  gemel__page_table(file);
  fputs("<tr><th>outcome</th><th>model</th><th>reason</th><th>time</th></tr>\n", file);
  for (size_t place = 0; place < N_ORDER; place++) {
    for (size_t k = 0; k < c->count; k++) {
      if (c->rows[k].outcome == order[place].outcome) {
        html_row(file, &c->rows[k], order[place].tone);
      }
    }
  }
  gemel__page_table_end(file);
}

/* The verdict on the whole; TONE says whether it is a good one. */
static const char *html_verdict(const gemel__campaign *c, gemel__tone *tone) {
  size_t equal = c->counts[GEMEL__OUTCOME_EQUAL], unread = c->counts[GEMEL__OUTCOME_UNREAD];
  *tone = c->counts[GEMEL__OUTCOME_DIFFERS] > 0     ? GEMEL__TONE_BAD
          : c->stopped || equal + unread < c->count ? GEMEL__TONE_OPEN
          : equal > 0                               ? GEMEL__TONE_GOOD
                                                    : GEMEL__TONE_QUIET;
  static const char *const words[] = {[GEMEL__TONE_GOOD] = "Equal",
                                      [GEMEL__TONE_BAD] = "Different",
                                      [GEMEL__TONE_OPEN] = "Open",
                                      [GEMEL__TONE_QUIET] = "Nothing compared"};
  return words[*tone];
}

static void html_head(FILE *file, const gemel__campaign *c) {
  gemel__page_count counts[N_ORDER];
  gemel__page page = {.command = "campaign", .what = "", .names = &c->folder, .n_names = 1};
  page.verdict = html_verdict(c, &page.tone);
  gemel__page_begin(file, &page);
  fprintf(file, "<p>%zu models, each judged against what the optimiser made of it.%s</p>\n",
          c->count, c->stopped ? " Then a signal ended the campaign." : "");
  for (size_t place = 0; place < N_ORDER; place++) {
    counts[place] =
        (gemel__page_count){c->counts[order[place].outcome],
                            gemel__outcome_text(order[place].outcome), order[place].tone};
  }
  gemel__page_counts(file, counts, N_ORDER);
  gemel__page_facts(file);
  gemel__page_fact(file, "time", "%.1f s", c->seconds);
  gemel__page_facts_end(file);
}

void gemel__campaign_html(FILE *file, const gemel__campaign *c) {
  html_head(file, c);
  html_table(file, c);
  gemel__page_end(file);
}
