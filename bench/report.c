/* SPDX-License-Identifier: MIT
 *
 * Measurements as a table for people and as lines of JSON; see bench.h.
 */
#include <fnmatch.h>
#include <math.h>
#include <string.h>
#include "bench.h"

static int meets(double value, const gemel__bench_target *target) {
  return target->sense == GEMEL__BENCH_AT_MOST ? value <= target->value : value >= target->value;
}

/* A number for people: four digits, thousands and millions as powers of ten. */
static void format_value(double value, char *text, size_t bytes) {
  snprintf(text, bytes, value >= 1e5 ? "%.3e" : value >= 100 ? "%.0f" : "%.4g", value);
}

static void print_row(const gemel__bench *b, const char *what, const char *metric, double value,
                      const char *unit, const gemel__bench_target *target) {
  char number[32], aim[40] = "", bound[32];
  format_value(value, number, sizeof number);
  if (target != NULL) {
    format_value(target->value, bound, sizeof bound);
    snprintf(aim, sizeof aim, "%s %s", target->sense == GEMEL__BENCH_AT_MOST ? "<=" : ">=", bound);
  }
  fprintf(b->table, "%-7s %-21s %-18s %11s %-8s %-12s %s\n", b->suite, what, metric, number, unit,
          aim,
          target == NULL         ? ""
          : meets(value, target) ? "yes"
                                 : "MISSED");
  fflush(b->table);
}

/* JSON has no infinities and no NaN. */
static void write_number(gemel__output *json, const char *name, double value) {
  char text[64];
  int n = isfinite(value) ? snprintf(text, sizeof text, ", \"%s\": %.9g", name, value)
                          : snprintf(text, sizeof text, ", \"%s\": null", name);
  gemel__output_write(json, text, (size_t)n);
}

static void write_text(gemel__output *json, const char *before, const char *name,
                       const char *value) {
  char text[160];
  int n = snprintf(text, sizeof text, "%s\"%s\": \"%s\"", before, name, value);
  gemel__output_write(json, text, (size_t)n);
}

static void write_json(gemel__bench *b, const char *what, const char *metric, double value,
                       const char *unit, const gemel__bench_target *target) {
  write_text(&b->json, "{", "suite", b->suite);
  write_text(&b->json, ", ", "case", what);
  write_text(&b->json, ", ", "metric", metric);
  write_number(&b->json, "value", value);
  write_text(&b->json, ", ", "unit", unit);
  if (target != NULL) {
    const char *ok = meets(value, target) ? ", \"ok\": true" : ", \"ok\": false";
    write_number(&b->json, "target", target->value);
    gemel__output_write(&b->json, ok, strlen(ok));
  }
  gemel__output_write(&b->json, "}\n", 2);
}

void gemel__bench_report(gemel__bench *b, const char *what, const char *metric, double value,
                         const char *unit, const gemel__bench_target *target) {
  if (target != NULL && target->sense == GEMEL__BENCH_FREE) {
    target = NULL;
  }
  gemel__progress(NULL);
  print_row(b, what, metric, value, unit, target);
  if (b->has_json) {
    write_json(b, what, metric, value, unit, target);
  }
  b->measured++;
  b->judged += target != NULL;
  b->missed += target != NULL && !meets(value, target);
}

/* Names of cases have spaces. */
int gemel__bench_wanted(const gemel__bench *b, const char *what) {
  const char *from = b->only;
  int found = from == NULL;
  while (!found && from != NULL) {
    char pattern[100];
    size_t length = strcspn(from, ",");
    snprintf(pattern, sizeof pattern, "%.*s", (int)(length < 99 ? length : 99), from);
    found = fnmatch(pattern, what, 0) == 0;
    from = from[length] == ',' ? from + length + 1 : NULL;
  }
  return found;
}

void gemel__bench_head(gemel__bench *b) {
  fprintf(b->table, "%-7s %-21s %-18s %11s %-8s %-12s %s\n", "suite", "case", "metric", "value",
          "unit", "target", "ok");
}

void gemel__bench_summary(gemel__bench *b) {
  fprintf(b->table, "\ngemel bench: %zu measurements, %zu of %zu targets met\n", b->measured,
          b->judged - b->missed, b->judged);
}
