/* SPDX-License-Identifier: MIT
 *
 * `gemel campaign --html`: failures first, by pass and cause, then all models in a table that the
 * page itself filters and sorts. Its one script is named by its hash in what the page allows
 * (Content-Security-Policy), so that a name which got through unescaped would do nothing; without
 * it the whole table is shown.
 */
#include <stdlib.h>
#include <string.h>
#include "campaign.h"
#include "page.h"

/* Neither '<' nor '&' are in it: the page is XML, too. */
static const char script[] =
    "'use strict';\n"
    "const table = document.querySelector('#models table'), filter = "
    "document.querySelector('#filter');\n"
    "const rows = Array.from(table.rows).slice(1), boxes = "
    "Array.from(document.querySelectorAll('#filters input[type=checkbox]'));\n"
    "const show = function () {\n"
    "  const word = filter.value.toLowerCase(), outcomes = boxes.filter(b => b.checked).map(b => "
    "b.value);\n"
    "  for (const row of rows)\n"
    "    row.hidden = !(outcomes.includes(row.cells[0].textContent) ? "
    "row.textContent.toLowerCase().includes(word) : false);\n"
    "};\n"
    "const key = (row, k) => row.cells[k].dataset.key || row.cells[k].textContent;\n"
    "Array.from(table.rows[0].cells).forEach(function (cell, k) {\n"
    "  let up = -1;\n"
    "  cell.tabIndex = 0;\n"
    "  cell.onclick = function () {\n"
    "    up = -up;\n"
    "    rows.sort((a, b) => up * key(a, k).localeCompare(key(b, k), undefined, { numeric: true "
    "}));\n"
    "    rows.forEach(row => row.parentNode.appendChild(row));\n"
    "  };\n"
    "});\n"
    "boxes.concat([filter]).forEach(b => { b.oninput = show; });\n"
    "document.querySelector('#filters').hidden = false;\n";
static const char script_hash[] = "sha256-nXFBkBH2dohK5HTHERSZf5ZVURYS7hTExEFaXdMb5X8=";

/* ---- Failures ---- */

static void failure_row(FILE *file, const gemel__campaign_row *row) {
  char text[GEMEL__CAMPAIGN_TEXT];
  gemel__campaign_say(row, text, sizeof text);
  fprintf(file, "<li class=\"%s\"><code>", gemel__tone_class(gemel__outcomes[row->outcome].tone));
  gemel__escape(file, row->model);
  fputs("</code>: ", file);
  gemel__escape(file, text);
  fputs("</li>\n", file);
}

/* The N rows of one cause. */
static void cause(FILE *file, const gemel__campaign *c, const size_t *rows, size_t n) {
  const gemel__campaign_row *first = &c->rows[rows[0]];
  const gemel__outcome_facts *facts = &gemel__outcomes[first->outcome];
  fputs("<details class=\"card\" open=\"open\"><summary>", file);
  gemel__page_tag(file, facts->tone, facts->text);
  fprintf(file, " %zu <h3>", n);
  gemel__escape(file, first->pass);
  fputs(first->pass != NULL && first->cause[0] != '\0' ? ": " : "", file);
  gemel__escape(file, first->cause);
  fputs("</h3></summary>\n<ul>\n", file);
  for (size_t k = 0; k < n; k++) {
    failure_row(file, &c->rows[rows[k]]);
  }
  fputs("</ul></details>\n", file);
}

static void failures(FILE *file, const gemel__campaign *c) {
  size_t n, begin = 0, *rows = gemel__campaign_failures(c, &n);
  fputs(n > 0 ? "<h2>Failures, by pass and cause</h2>\n" : "", file);
  for (size_t k = 1; k <= n; k++) {
    if (k == n || !gemel__campaign_alike(&c->rows[rows[begin]], &c->rows[rows[k]])) {
      cause(file, c, rows + begin, k - begin);
      begin = k;
    }
  }
  free(rows);
}

/* ---- All models ---- */

static void filters(FILE *file, const gemel__campaign *c) {
  size_t counts[GEMEL__OUTCOME_COUNT] = {0};
  for (size_t k = 0; k < c->count; k++) {
    counts[c->rows[k].outcome]++;
  }
  fputs("<p id=\"filters\" hidden=\"hidden\"><input id=\"filter\" type=\"search\" "
        "aria-label=\"filter\" placeholder=\"model, pass or operator\"/>\n",
        file);
  for (int k = GEMEL__OUTCOME_COUNT; k-- > 0;) {
    if (counts[k] > 0) {
      fprintf(file,
              "<label><input type=\"checkbox\" value=\"%s\" checked=\"checked\"/> %s</label>\n",
              gemel__outcomes[k].text, gemel__outcomes[k].text);
    }
  }
  fputs("</p>\n", file);
}

static void table_row(FILE *file, const gemel__campaign *c, const gemel__campaign_row *row) {
  const gemel__outcome_facts *facts = &gemel__outcomes[row->outcome];
  char text[GEMEL__CAMPAIGN_TEXT];
  gemel__campaign_say(row, text, sizeof text);
  fprintf(file, "<tr><td class=\"%s\" data-key=\"%d\">%s</td><td class=\"name\">",
          gemel__tone_class(row->is_known ? GEMEL__TONE_QUIET : facts->tone),
          GEMEL__OUTCOME_COUNT - (int)row->outcome, facts->text);
  gemel__escape(file, row->model);
  if (c->optimizer.n_passes > 0) {
    fputs("</td><td class=\"name\">", file);
    gemel__escape(file, row->pass);
  }
  fputs("</td><td class=\"more\">", file);
  gemel__escape(file, text);
  fprintf(file, "%s</td><td>%.1f s</td></tr>\n", row->is_known ? " (in the baseline)" : "",
          row->seconds);
}

/* All models, the worst first. */
static void table(FILE *file, const gemel__campaign *c) {
  if (c->count == 0) {
    return;
  }
  fputs("<h2>Models</h2>\n", file);
  filters(file, c);
  fputs("<div id=\"models\">\n", file);
  gemel__page_table(file);
  fprintf(file, "<tr><th>outcome</th><th>model</th>%s<th>what was found</th><th>time</th></tr>\n",
          c->optimizer.n_passes > 0 ? "<th>pass</th>" : "");
  for (int outcome = GEMEL__OUTCOME_COUNT; outcome-- > 0;) {
    for (size_t k = 0; k < c->count; k++) {
      if ((int)c->rows[k].outcome == outcome) {
        table_row(file, c, &c->rows[k]);
      }
    }
  }
  gemel__page_table_end(file);
  fprintf(file, "</div>\n<script>%s</script>\n", script);
}

/* ---- The page ---- */

/* The verdict on the whole; TONE says whether it is a good one. */
static const char *verdict(const gemel__campaign *c, gemel__tone *tone) {
  size_t failing = 0, open = 0, good = 0;
  for (int k = 0; k < GEMEL__OUTCOME_COUNT; k++) {
    failing += gemel__outcomes[k].fails ? c->counts[k] : 0;
    open += gemel__outcomes[k].tone == GEMEL__TONE_OPEN ? c->counts[k] : 0;
    good += gemel__outcomes[k].tone == GEMEL__TONE_GOOD ? c->counts[k] : 0;
  }
  *tone = failing > 0              ? GEMEL__TONE_BAD
          : c->stopped || open > 0 ? GEMEL__TONE_OPEN
          : good + c->known > 0    ? GEMEL__TONE_GOOD
                                   : GEMEL__TONE_QUIET;
  return failing == 0 ? *tone == GEMEL__TONE_OPEN   ? "Nothing wrong, some open"
                        : *tone == GEMEL__TONE_GOOD ? c->known > 0 ? "As in the baseline" : "Equal"
                                                    : "Nothing compared"
                      : "Failures";
}

static void head(FILE *file, const gemel__campaign *c) {
  gemel__page_count counts[GEMEL__OUTCOME_COUNT];
  gemel__page page = {
      .command = "campaign", .what = "", .names = &c->folder, .n_names = 1, .script = script_hash};
  page.verdict = verdict(c, &page.tone);
  gemel__page_begin(file, &page);
  fprintf(file, "<p>%zu models, each judged against what the optimiser%s made of it.%s</p>\n",
          c->models, c->optimizer.n_passes > 0 ? "'s passes" : "",
          c->stopped ? " Then a signal ended the campaign." : "");
  for (int k = 0; k < GEMEL__OUTCOME_COUNT; k++) {
    int outcome = GEMEL__OUTCOME_COUNT - 1 - k;
    counts[k] = (gemel__page_count){c->counts[outcome], gemel__outcomes[outcome].text,
                                    gemel__outcomes[outcome].tone};
  }
  gemel__page_counts(file, counts, GEMEL__OUTCOME_COUNT);
  gemel__page_facts(file);
  if (c->optimizer.name != NULL) {
    gemel__page_fact(file, "optimiser", "%s", c->optimizer.name);
  }
  if (c->known > 0) {
    gemel__page_fact(file, "baseline", "%zu failures are as bad there", c->known);
  }
  gemel__page_fact(file, "time", "%.1f s", c->seconds);
  gemel__page_facts_end(file);
}

void gemel__campaign_html(FILE *file, const gemel__campaign *c) {
  head(file, c);
  failures(file, c);
  table(file, c);
  gemel__page_end(file);
}
