/* SPDX-License-Identifier: MIT
 *
 * The table of verdicts: a row for each subject, printed when its last verdict is there, a column
 * for each tier. A cell says the verdict
 * and what carries it: the model that decided (field, cells, samples), or the largest error ÷
 * bound. Of a rule the last column says what is proved of it. Why something is not applicable
 * stands below, once for each reason. What is worse than that is printed in full.
 */
#include <string.h>
#include <stdlib.h>
#include "records.h"
#include "harness/jobs.h"

enum { CELL = 16 };

/* The number of this reason, from 1; 0 when there are too many. */
static size_t reason_number(gemel__reasons *seen, const char *text) {
  for (size_t k = 0; k < seen->count; k++) {
    if (strcmp(seen->texts[k], text) == 0) {
      seen->counts[k]++;
      return k + 1;
    }
  }
  if (seen->count == sizeof seen->texts / sizeof *seen->texts || text[0] == '\0') {
    return 0;
  }
  seen->texts[seen->count] = text;
  seen->counts[seen->count] = 1;
  return ++seen->count;
}

static void format_cell(const gemel_record *r, gemel__reasons *seen, char *cell) {
  size_t number;
  if (r == NULL) {
    snprintf(cell, CELL, "-");
  } else if (r->verdict == GEMEL_VERDICT_NOT_APPLICABLE) {
    number = reason_number(seen, r->detail);
    snprintf(cell, CELL, number > 0 ? "n/a %zu" : "n/a", number);
  } else if (r->verdict == GEMEL_VERDICT_PASSED && r->tier == GEMEL_TIER_FLOAT) {
    snprintf(cell, CELL, "passed %.2f", r->worst);
  } else if (r->verdict == GEMEL_VERDICT_PASSED && r->ulp > 0) {
    snprintf(cell, CELL, "passed %.2f ulp", r->ulp);
  } else if (r->verdict == GEMEL_VERDICT_PASSED &&
             (r->tier == GEMEL_TIER_REAL || r->tier == GEMEL_TIER_GRADIENT)) {
    snprintf(cell, CELL, "passed %.8s", gemel_evidence_name(r->how));
  } else {
    snprintf(cell, CELL, "%s",
             r->verdict == GEMEL_VERDICT_REFUTED ? "REFUTED" : gemel_verdict_name(r->verdict));
  }
}

gemel__tone gemel__verdict_tone(gemel_verdict verdict) {
  return verdict == GEMEL_VERDICT_PASSED           ? GEMEL__TONE_GOOD
         : verdict == GEMEL_VERDICT_REFUTED        ? GEMEL__TONE_BAD
         : verdict == GEMEL_VERDICT_NOT_APPLICABLE ? GEMEL__TONE_QUIET
                                                   : GEMEL__TONE_OPEN;
}

/* 1 if tier K is the last column. */
static int is_last(const gemel__records *records, size_t k) {
  return k + 1 == GEMEL_TIER_COUNT && !records->proofs;
}

/* The last column, if there are proofs. */
static void print_proof(const gemel__records *records, const gemel_proof *proof) {
  char text[GEMEL__PROOF_TEXT] = "-";
  if (proof != NULL) {
    gemel__proof_text(proof, text);
  }
  if (records->proofs) {
    fprintf(records->table, "  %s", text);
  }
}

/* 1 if the records FIRST .. END were never tried, which is said once for all. */
static int is_untried(const gemel__records *records, size_t first, size_t end) {
  size_t k = first;
  while (k < end && records->rows[k].verdict == GEMEL_VERDICT_NOT_RUN &&
         strcmp(records->rows[k].detail, GEMEL__UNTRIED) == 0) {
    k++;
  }
  return k == end;
}

/* Prints the row of the records FIRST .. END, which are of one subject. */
static void print_row(gemel__records *records, size_t first, size_t end) {
  const gemel_record *cells[GEMEL_TIER_COUNT] = {NULL};
  char cell[CELL];
  size_t k;
  for (k = first; k < end; k++) {
    if ((unsigned)records->rows[k].tier < GEMEL_TIER_COUNT) {
      cells[records->rows[k].tier] = &records->rows[k];
    }
  }
  fprintf(records->table, "%-*s", records->rows_printed.width, records->rows[first].name);
  for (k = 0; k < GEMEL_TIER_COUNT; k++) {
    format_cell(cells[k], &records->rows_printed.reasons, cell);
    fputs("  ", records->table);
    gemel__paint(records->table,
                 cells[k] != NULL ? gemel__verdict_tone(cells[k]->verdict) : GEMEL__TONE_QUIET,
                 is_last(records, k) ? 0 : 15, cell);
  }
  print_proof(records, records->rows[first].proof);
  fputc('\n', records->table);
}

static void print_head(gemel__records *records) {
  gemel__table *t = &records->rows_printed;
  enum { NARROWEST = 9, WIDEST = 40 };
  for (size_t k = 0; k < records->count; k++) {
    int length = (int)strlen(records->rows[k].name);
    t->width = length > t->width && length <= WIDEST ? length : t->width;
  }
  t->width = t->width > NARROWEST ? t->width : NARROWEST;
  t->begun = 1;
  fprintf(records->table, "%-*s", t->width, "");
  for (size_t k = 0; k < GEMEL_TIER_COUNT; k++) {
    fprintf(records->table, is_last(records, k) ? "  %s" : "  %-15s",
            gemel_tier_name((gemel_tier)k));
  }
  fputs(records->proofs ? "  proved\n" : "\n", records->table);
}

static void print_reasons(FILE *file, const gemel__reasons *seen) {
  if (seen->count > 0) {
    fputs("\nnot applicable:\n", file);
  }
  for (size_t k = 0; k < seen->count; k++) {
    fprintf(file, "  n/a %zu: %s (%zu)\n", k + 1, seen->texts[k], seen->counts[k]);
  }
}

/* Prints the rows of the records before END that aren't printed yet, which are whole subjects. */
static void print_rows(gemel__records *records, size_t end) {
  gemel__table *t = &records->rows_printed;
  if (!t->begun) {
    print_head(records);
  }
  for (size_t k = t->printed + 1; t->printed < end; k++) {
    if (k == end || !gemel__same_subject(&records->rows[t->printed], &records->rows[k])) {
      if (!is_untried(records, t->printed, k)) {
        print_row(records, t->printed, k);
      }
      t->printed = k;
    }
  }
}

void gemel__records_stream(gemel__records *records) {
  size_t last = records->count > 0 ? records->count - 1 : 0;
  while (last > records->rows_printed.printed &&
         gemel__same_subject(&records->rows[last - 1], &records->rows[last])) {
    last--;
  }
  if (records->rows_printed.streams && last > records->rows_printed.printed) {
    gemel__progress(NULL);
    print_rows(records, last);
    fflush(records->table);
  }
}

void gemel__records_print(gemel__records *records) {
  print_rows(records, records->count);
  print_reasons(records->table, &records->rows_printed.reasons);
  gemel__records_print_failures(records, GEMEL_VERDICT_NOT_RUN);
}

/* ---- What didn't pass ---- */

static void print_indented(FILE *file, const char *text) {
  while (*text != '\0') {
    size_t length = strcspn(text, "\n");
    fprintf(file, "    %.*s\n", (int)length, text);
    text += length + (text[length] == '\n');
  }
}

/* A command line that meets the same instance again: from a replay, or by drawing it anew. A rule's
 * may be one that a proof suggested, of which there is none with --tier. */
void gemel__records_print_repeat(FILE *file, const gemel__records *records, const gemel_record *r) {
  int of_rule = (strcmp(r->kind, "rule") == 0 || strcmp(r->kind, "pass") == 0) &&
                (r->verdict == GEMEL_VERDICT_REFUTED || r->verdict == GEMEL_VERDICT_OVERSTATED);
  if (r->replay != NULL) {
    char *path = gemel__shell_word(r->replay, strlen(r->replay));
    fprintf(file, "  repeat: gemel verify --replay %s\n", path);
    free(path);
  } else if (of_rule || strcmp(r->kind, "operation") == 0 || strcmp(r->kind, "gradient") == 0) {
    const char *rules = records->rules != NULL ? records->rules : r->name;
    const char *ops = records->ops != NULL ? records->ops : r->name;
    size_t length = records->ops != NULL ? strlen(ops) : strcspn(ops, ".");
    char *chosen =
        of_rule ? gemel__shell_word(rules, strlen(rules)) : gemel__shell_word(ops, length);
    fprintf(file, "  repeat: gemel verify --%s %s", of_rule ? "rules" : "ops", chosen);
    free(chosen);
    if (!of_rule || !records->proofs) {
      fprintf(file, " --tier %s", gemel_tier_name(r->tier));
    }
    fprintf(file, " --seed %llu", (unsigned long long)r->seed);
    if (records->instances > 0) {
      fprintf(file, " --instances %zu", records->instances);
    }
    fputs(" --replay-dir .\n", file);
  }
}

/* 1 if a refutation stands before, of the same subject: that says why others were not run. */
static int said_already(const gemel__records *records, size_t k) {
  const gemel_record *r = &records->rows[k];
  if (r->verdict != GEMEL_VERDICT_NOT_RUN && r->verdict != GEMEL_VERDICT_UNINFORMATIVE) {
    return 0;
  }
  for (; k > 0 && gemel__same_subject(&records->rows[k - 1], r); k--) {
    const gemel_record *before = &records->rows[k - 1];
    if (r->verdict == GEMEL_VERDICT_NOT_RUN ? before->verdict == GEMEL_VERDICT_REFUTED
                                            : strcmp(before->detail, r->detail) == 0) {
      return 1;
    }
  }
  return 0;
}

/* The last of those from K on that weren't run for the same reason. */
static size_t last_not_run(const gemel__records *records, size_t k) {
  const gemel_record *r = &records->rows[k];
  while (r->verdict == GEMEL_VERDICT_NOT_RUN && k + 1 < records->count &&
         records->rows[k + 1].verdict == GEMEL_VERDICT_NOT_RUN &&
         strcmp(records->rows[k + 1].detail, r->detail) == 0) {
    k++;
  }
  return k;
}

void gemel__records_print_failures(const gemel__records *records, gemel_verdict from) {
  FILE *file = records->table;
  for (size_t k = 0; k < records->count; k++) {
    const gemel_record *r = &records->rows[k];
    if (gemel_verdict_severity(r->verdict) < gemel_verdict_severity(from) ||
        said_already(records, k)) {
      continue;
    }
    size_t last = last_not_run(records, k);
    if (!gemel__same_subject(r, &records->rows[last])) {
      fprintf(file, "\nnot run: %s to %s, %zu verdicts: %s\n", r->name, records->rows[last].name,
              last - k + 1, r->detail);
      k = last;
      continue;
    }
    fputc('\n', file);
    gemel__paint(file, gemel__verdict_tone(r->verdict), 0, gemel_verdict_name(r->verdict));
    fprintf(file, ": %s, tier %s%s%s\n", r->name, gemel_tier_name(r->tier),
            r->detail[0] != '\0' ? ": " : "", r->detail);
    if (r->counterexample != NULL) {
      print_indented(file, r->counterexample);
    }
    gemel__records_print_repeat(file, records, r);
  }
}
