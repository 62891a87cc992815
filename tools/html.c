/* SPDX-License-Identifier: MIT
 *
 * The report of `gemel verify --html`: one file that needs nothing else. First the counts and a
 * plot of all rules, the largest error ÷ bound of the left side against that of the right; then the
 * table of verdicts, in which each subject leads to its evidence below: what is proved of a rule
 * for all sizes, what carries each tier, over how many instances, shapes and results, the class,
 * and the counterexample of what was refuted. It is written so that it is XML as well as HTML.
 */
#include <math.h>
#include <string.h>
#include "core/lex.h"
#include "records.h"

enum { PLOT = 360, MARGIN = 48, DECADES = 6, BAR = 240 };

size_t gemel__character(const char *text) {
  size_t length = gemel__utf8_bytes(text, text + strnlen(text, 4));
  int is_control = length == 1 && ((unsigned char)*text < 0x20 || *text == 0x7f);
  int is_no_character = length == 3 && (unsigned char)*text == 0xef &&
                        memcmp(text, "\xef\xbf\xbe", 3) >= 0; /* U+FFFE, U+FFFF */
  return is_control || is_no_character ? 0 : length;
}

void gemel__escape(FILE *file, const char *text) {
  static const char special[] = "&<>\"";
  static const char *const meant[] = {"&amp;", "&lt;", "&gt;", "&quot;"};
  size_t length;
  for (; text != NULL && *text != '\0'; text += length > 0 ? length : 1) {
    const char *at = strchr(special, *text);
    length = gemel__character(text);
    if (at != NULL) {
      fputs(meant[at - special], file);
    } else if (length > 0 || *text == '\n') {
      fwrite(text, 1, length > 0 ? length : 1, file);
    } else if ((unsigned char)*text >= 0x80) {
      fputc('?', file);
    }
  }
}

static int is_rule(const gemel_record *r) {
  return strcmp(r->kind, "rule") == 0 || strcmp(r->kind, "pass") == 0;
}

static int same_subject(const gemel_record *a, const gemel_record *b) {
  return strcmp(a->name, b->name) == 0 && strcmp(a->kind, b->kind) == 0;
}

/* The record behind the last one of the subject that begins at FIRST. */
static size_t end_of(const gemel__records *records, size_t first) {
  size_t k = first;
  while (k < records->count && same_subject(&records->rows[first], &records->rows[k])) {
    k++;
  }
  return k;
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

static void plot_axes(FILE *file) {
  fprintf(file, "<rect x=\"%d\" y=\"0\" width=\"%d\" height=\"%d\" class=\"frame\"/>\n", MARGIN,
          PLOT, PLOT);
  fprintf(file, "<line x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"0\" class=\"same\"/>\n", MARGIN, PLOT,
          MARGIN + PLOT);
  for (int k = 0; k <= DECADES; k += 2) {
    int at = k * PLOT / DECADES;
    fprintf(file, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">1e%d</text>\n", MARGIN + at,
            PLOT + 16, k - DECADES);
    fprintf(file, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">1e%d</text>\n", MARGIN - 4,
            PLOT - at + 4, k - DECADES);
  }
  fprintf(file, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">error ÷ bound before</text>\n",
          MARGIN + PLOT / 2, PLOT + 34);
  fprintf(file,
          "<text x=\"12\" y=\"%d\" text-anchor=\"middle\" transform=\"rotate(-90 12 %d)\">after"
          "</text>\n",
          PLOT / 2, PLOT / 2);
}

/* Every rule as a point: below the diagonal it became more accurate. */
static void plot_rules(FILE *file, const gemel__records *records) {
  fprintf(file, "<svg width=\"%d\" height=\"%d\" role=\"img\">\n", PLOT + MARGIN + 12, PLOT + 40);
  plot_axes(file);
  for (size_t k = 0; k < records->count; k++) {
    const gemel_record *r = &records->rows[k];
    if (is_rule(r) && has_errors(r)) {
      fprintf(file, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\"><title>",
              MARGIN + place(r->before, PLOT), PLOT - place(r->worst, PLOT));
      gemel__escape(file, r->name);
      fprintf(file, ": %.3g before, %.3g after</title></circle>\n", r->before, r->worst);
    }
  }
  fputs("</svg>\n", file);
}

static void plot_bar(FILE *file, int y, const char *kind, double ratio) {
  fprintf(file,
          "<text x=\"46\" y=\"%d\" text-anchor=\"end\">%s</text>"
          "<rect x=\"50\" y=\"%d\" width=\"%.1f\" height=\"12\" class=\"%s\"/>"
          "<text x=\"%.1f\" y=\"%d\">%.3g</text>\n",
          y + 11, kind, y, place(ratio, BAR), kind, 54 + place(ratio, BAR), y + 11, ratio);
}

/* Error ÷ bound of one rule, before and after; the right end is 1. */
static void plot_record(FILE *file, const gemel_record *r) {
  fprintf(file, "<svg width=\"%d\" height=\"36\" role=\"img\">\n", BAR + 120);
  plot_bar(file, 2, "before", r->before);
  plot_bar(file, 20, "after", r->worst);
  fprintf(file, "<line x1=\"%d\" y1=\"0\" x2=\"%d\" y2=\"36\" class=\"bound\"/>\n</svg>\n",
          50 + BAR, 50 + BAR);
}

/* ---- The table ---- */

static const char *class_of(gemel_verdict verdict) {
  return verdict == GEMEL_VERDICT_PASSED           ? "passed"
         : verdict == GEMEL_VERDICT_NOT_APPLICABLE ? "na"
         : verdict == GEMEL_VERDICT_REFUTED        ? "refuted"
                                                   : "open";
}

/* What is proved, in a TAG; PROOF NULL: nobody asked. */
static void print_proof(FILE *file, const char *tag, const gemel_proof *proof) {
  char text[GEMEL__PROOF_TEXT] = "";
  if (proof != NULL) {
    gemel__proof_text(proof, text);
  }
  fprintf(file, "<%s class=\"%s\">", tag,
          proof != NULL && proof->elements != NULL ? "passed" : "na");
  gemel__escape(file, text);
  fprintf(file, "</%s>", tag);
}

static void table_row(FILE *file, const gemel__records *records, size_t first) {
  size_t end = end_of(records, first), k;
  fprintf(file, "<tr><td><a href=\"#s%zu\">", first);
  gemel__escape(file, records->rows[first].name);
  fputs("</a></td>", file);
  for (int tier = 0; tier < GEMEL_TIER_COUNT; tier++) {
    const gemel_record *r = NULL;
    for (k = first; k < end; k++) {
      r = (int)records->rows[k].tier == tier ? &records->rows[k] : r;
    }
    if (r == NULL) {
      fputs("<td></td>", file);
      continue;
    }
    fprintf(file, "<td class=\"%s\">%s", class_of(r->verdict), gemel_verdict_name(r->verdict));
    if (has_errors(r)) {
      fprintf(file, " %.2f", r->worst);
    } else if (r->how != GEMEL_EVIDENCE_NONE) {
      fprintf(file, " by ");
      gemel__escape(file, gemel_evidence_name(r->how));
    }
    fputs("</td>", file);
  }
  if (records->proofs) {
    print_proof(file, "td", records->rows[first].proof);
  }
  fputs("</tr>\n", file);
}

static void print_table(FILE *file, const gemel__records *records) {
  fputs("<table>\n<tr><th></th>", file);
  for (int tier = 0; tier < GEMEL_TIER_COUNT; tier++) {
    fprintf(file, "<th>%s</th>", gemel_tier_name((gemel_tier)tier));
  }
  fputs(records->proofs ? "<th>proved</th>" : "", file);
  fputs("</tr>\n", file);
  for (size_t k = 0; k < records->count; k = end_of(records, k)) {
    table_row(file, records, k);
  }
  fputs("</table>\n", file);
}

/* ---- Evidence ---- */

static void print_words(FILE *file, const char *what, unsigned words) {
  int k, n = 0;
  fprintf(file, "<p>%s: ", what);
  for (k = 0; k < GEMEL_NEEDS_COUNT; k++) {
    if (words >> k & 1) {
      fprintf(file, "%s%s", n++ > 0 ? ", " : "", gemel_needs_word(k));
    }
  }
  fputs(n > 0 ? "</p>\n" : "nothing</p>\n", file);
}

static void print_record(FILE *file, const gemel_record *r) {
  fprintf(file, "<li><b>%s</b>: <span class=\"%s\">%s</span>", gemel_tier_name(r->tier),
          class_of(r->verdict), gemel_verdict_name(r->verdict));
  if (r->instances > 0) {
    fprintf(file, ", %zu instances, %zu results", r->instances, r->elements);
  }
  if (r->how != GEMEL_EVIDENCE_NONE) {
    fputs(", by ", file);
    gemel__escape(file, gemel_evidence_name(r->how));
  }
  if (r->error_probability > 0) {
    fprintf(file, ", wrong with probability %.1g", r->error_probability);
  }
  if (r->detail[0] != '\0') {
    fputs("; ", file);
    gemel__escape(file, r->detail);
  }
  if (r->witnesses != NULL && r->witnesses[0] != '\0') {
    fputs("<pre>", file);
    gemel__escape(file, r->witnesses);
    fputs("</pre>", file);
  }
  if (is_rule(r) && has_errors(r)) {
    fputs("<br/>\n", file);
    plot_record(file, r);
  }
  if (r->counterexample != NULL) {
    fputs("<pre>", file);
    gemel__escape(file, r->counterexample);
    fputs("</pre>", file);
  }
  fputs("</li>\n", file);
}

static void print_evidence(FILE *file, const gemel__records *records, size_t first) {
  size_t end = end_of(records, first), k;
  const gemel_record *last = &records->rows[end - 1];
  fprintf(file, "<section id=\"s%zu\">\n<h3>", first);
  gemel__escape(file, last->name);
  fputs("</h3>\n", file);
  if (last->text != NULL && last->text[0] != '\0') {
    fputs("<pre>", file);
    gemel__escape(file, last->text);
    fputs("</pre>\n", file);
  }
  if (is_rule(last)) {
    print_words(file, "declares to give up", last->declared);
    print_words(file, "was measured to give up", last->needs);
    fprintf(file, "<p>%zu different shapes</p>\n", last->shapes);
  }
  if (last->proof != NULL) {
    fputs("<p>proved: ", file);
    print_proof(file, "span", last->proof);
    fputs("</p>\n", file);
  }
  fputs("<ul>\n", file);
  for (k = first; k < end; k++) {
    print_record(file, &records->rows[k]);
  }
  fputs("</ul>\n</section>\n", file);
}

/* ---- The file ---- */

static const char head[] =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
    "<title>gemel verify</title>\n<style>\n"
    "body { font: 14px sans-serif; margin: 2em; max-width: 72em }\n"
    "table { border-collapse: collapse } td, th { padding: 1px 10px; text-align: left }\n"
    "pre { background: #f4f4f4; padding: 6px; overflow-x: auto }\n"
    "svg text { font-size: 11px } .frame { fill: none; stroke: #888 }\n"
    ".same { stroke: #bbb; stroke-dasharray: 4 } .bound { stroke: #b00 }\n"
    "circle, .after { fill: #36c; fill-opacity: 0.6 } .before { fill: #999 }\n"
    ".passed { color: #070 } .na { color: #888 } .open { color: #a60 } .refuted { color: #b00 }\n"
    "</style>\n</head>\n<body>\n";

static void print_summary(FILE *file, const gemel__records *records, uint64_t seed) {
  fputs("<h1>gemel verify</h1>\n<p>", file);
  for (int verdict = 0; verdict < GEMEL_VERDICT_COUNT; verdict++) {
    fprintf(file, "%zu %s, ", records->verdicts[verdict],
            gemel_verdict_name((gemel_verdict)verdict));
  }
  fprintf(file, "seed %llu</p>\n", (unsigned long long)seed);
}

int gemel__records_html(const gemel__records *records, const char *path, uint64_t seed) {
  gemel__output output;
  if (gemel__output_open(&output, path) != GEMEL__GOOD) {
    return GEMEL__BAD;
  }
  fputs(head, output.file); /* an error shows when it is closed */
  print_summary(output.file, records, seed);
  fputs("<h2>Rules: the largest error ÷ bound before and after</h2>\n", output.file);
  plot_rules(output.file, records);
  fputs("<h2>Verdicts</h2>\n", output.file);
  print_table(output.file, records);
  fputs("<h2>Evidence</h2>\n", output.file);
  for (size_t k = 0; k < records->count; k = end_of(records, k)) {
    print_evidence(output.file, records, k);
  }
  fputs("</body>\n</html>\n", output.file);
  return gemel__output_close(&output, 1);
}
