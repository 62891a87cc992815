/* SPDX-License-Identifier: MIT
 *
 * What `gemel campaign` tells of its models: a line each, JSON, JUnit's XML, a page of HTML.
 */
#include <string.h>
#include "campaign.h"

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
               row->outcome == GEMEL__OUTCOME_EQUAL     ? GEMEL__WELL
               : row->outcome == GEMEL__OUTCOME_DIFFERS ? GEMEL__WRONG
                                                        : GEMEL__DOUBTED,
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

static void html_row(FILE *file, const gemel__campaign_row *row) {
  char text[700];
  say(row, text, sizeof text);
  fprintf(file, "<tr class=\"%s\"><td>",
          row->outcome == GEMEL__OUTCOME_EQUAL     ? "passed"
          : row->outcome == GEMEL__OUTCOME_DIFFERS ? "refuted"
                                                   : "open");
  gemel__escape(file, row->model);
  fprintf(file, "</td><td>%s</td><td>%.1f s</td><td>", gemel__outcome_text(row->outcome),
          row->seconds);
  gemel__escape(file, text);
  fputs("</td></tr>\n", file);
}

void gemel__campaign_html(FILE *file, const gemel__campaign *c) {
  fputs("<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"/><title>gemel campaign</title>\n"
        "<style>body { font-family: sans-serif } td, th { padding: 2px 12px; text-align: left } "
        ".passed { background: #dfd } .refuted { background: #fbb } .open { background: #ffd }"
        "</style></head>\n<body>\n<h1>gemel campaign</h1>\n<p><code>",
        file);
  gemel__escape(file, c->optimizer);
  fprintf(file, "</code></p>\n<p>%zu models", c->count);
  for (int k = 0; k < GEMEL__OUTCOME_COUNT; k++) {
    fprintf(file, ", %zu %s", c->counts[k], gemel__outcome_text((gemel__campaign_outcome)k));
  }
  fputs("</p>\n<table>\n<tr><th>model</th><th>outcome</th><th>time</th><th></th></tr>\n", file);
  for (size_t k = 0; k < c->count; k++) {
    html_row(file, &c->rows[k]);
  }
  fputs("</table>\n</body></html>\n", file);
}
