/* SPDX-License-Identifier: MIT
 *
 * The verdicts of an earlier run, from its JSON lines: a run that is held to them fails for what is
 * worse only. Of each line four fields are read (kind, name, tier, verdict), whatever else stands
 * there and in whatever order; the verdicts are sorted and found by bisection.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "records.h"

/* ---- A line ---- */

enum { KIND, NAME, TIER, VERDICT, FIELDS };

/* Bytes of the line. */
typedef struct written {
  const char *at;
  size_t length;
} written;

static int is(written text, const char *word) {
  return text.length == strlen(word) && memcmp(text.at, word, text.length) == 0;
}

static const char *skip_blanks(const char *at) {
  return at + strspn(at, " \t\r\n");
}

/* *TEXT = the string that begins at AT, as it is written. What stands behind it, or NULL. */
static const char *read_string(const char *at, written *text) {
  if (*at++ != '"') {
    return NULL;
  }
  text->at = at;
  while (*at != '"' && *at != '\0') {
    at += *at == '\\' && at[1] != '\0' ? 2 : 1;
  }
  text->length = (size_t)(at - text->at);
  return *at == '"' ? at + 1 : NULL;
}

/* The same for any value; TEXT is empty if it is no string. */
static const char *read_value(const char *at, written *text) {
  size_t depth = 0;
  if (*at == '"') {
    return read_string(at, text);
  }
  while (at != NULL && *at != '\0' && (depth > 0 || (*at != ',' && *at != '}'))) {
    depth += *at == '{' || *at == '[';
    depth -= *at == '}' || *at == ']';
    at = *at == '"' ? read_string(at, text) : at + 1;
  }
  *text = (written){"", 0};
  return at;
}

/* 1 if LINE is an object with the four FIELDS. */
static int read_line(const char *line, written *fields) {
  static const char *const names[FIELDS] = {"kind", "name", "tier", "verdict"};
  const char *at = skip_blanks(line), *between = "{";
  memset(fields, 0, FIELDS * sizeof *fields);
  do {
    written name, value;
    at = *at == *between ? read_string(skip_blanks(at + 1), &name) : NULL;
    at = at != NULL ? skip_blanks(at) : NULL;
    at = at != NULL && *at == ':' ? read_value(skip_blanks(at + 1), &value) : NULL;
    for (int k = 0; k < FIELDS && at != NULL; k++) {
      fields[k] = is(name, names[k]) ? value : fields[k];
    }
    at = at != NULL ? skip_blanks(at) : NULL;
    between = ",";
  } while (at != NULL && *at != '}');
  for (int k = 0; k < FIELDS; k++) {
    at = fields[k].length > 0 ? at : NULL;
  }
  return at != NULL && *skip_blanks(at + 1) == '\0';
}

/* ---- All ---- */

/* By what they are about, of the same the best first. */
static int by_key(const void *a, const void *b) {
  const gemel__earlier *first = a, *second = b;
  int order = strcmp(first->key, second->key);
  return order != 0
             ? order
             : gemel_verdict_severity(first->verdict) - gemel_verdict_severity(second->verdict);
}

static int push(gemel__baseline *b, const char *line) {
  written f[FIELDS];
  int verdict = 0;
  int read = read_line(line, f);
  if (is(f[KIND], "whole")) { /* gemel equal's last line, which is about no tier */
    return 1;
  }
  if (!read) {
    return 0;
  }
  while (verdict < GEMEL_VERDICT_COUNT && !is(f[VERDICT], gemel_verdict_name(verdict))) {
    verdict++;
  }
  if (b->count == b->capacity) {
    b->capacity = b->capacity * 2 + 64;
    b->rows = gemel__need(b->rows, b->capacity * sizeof *b->rows);
  }
  b->rows[b->count].verdict = (gemel_verdict)verdict;
  b->rows[b->count++].key =
      gemel__need_text("%.*s\n%.*s\n%.*s", (int)f[KIND].length, f[KIND].at, (int)f[NAME].length,
                       f[NAME].at, (int)f[TIER].length, f[TIER].at);
  return verdict < GEMEL_VERDICT_COUNT;
}

int gemel__baseline_read(gemel__baseline *b, const char *path) {
  char *line = NULL;
  size_t bytes = 0, number = 0;
  int status = GEMEL__GOOD;
  FILE *file = gemel__readable(path) ? fopen(path, "r") : NULL;
  if (file == NULL) {
    return GEMEL__BAD;
  }
  while (status == GEMEL__GOOD && getline(&line, &bytes, file) >= 0) {
    number++;
    if (!push(b, line)) {
      status =
          gemel__complain("%s:%zu: is no record as gemel verify --json writes it", path, number);
    }
  }
  if (status == GEMEL__GOOD && !feof(file)) {
    status = gemel__complain("%s: %s", path, strerror(errno));
  }
  fclose(file);
  free(line);
  if (b->count > 0) {
    qsort(b->rows, b->count, sizeof *b->rows, by_key);
  }
  return status;
}

const gemel__earlier *gemel__baseline_find(const gemel__baseline *b, const gemel_record *r) {
  char *key = gemel__need_text("%s\n%s\n%s", r->kind, r->name, gemel_tier_name(r->tier));
  size_t low = 0, high = b->count;
  while (low < high) { /* the first that isn't before KEY */
    size_t middle = low + (high - low) / 2;
    if (strcmp(b->rows[middle].key, key) < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  int found = low < b->count && strcmp(b->rows[low].key, key) == 0;
  free(key);
  return found ? &b->rows[low] : NULL;
}

void gemel__baseline_clear(gemel__baseline *b) {
  for (size_t k = 0; k < b->count; k++) {
    free(b->rows[k].key);
  }
  free(b->rows);
  *b = (gemel__baseline){0};
}
