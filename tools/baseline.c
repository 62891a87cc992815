/* SPDX-License-Identifier: MIT
 *
 * The verdicts of an earlier run, from its JSON lines: a run that is held to them fails for what is
 * worse only. Of each line the members are read that the baseline's kind names (of records kind,
 * name, tier and verdict), whatever else stands there and in whatever order; the verdicts are
 * sorted and found by bisection.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "core/lex.h"
#include "records.h"

/* ---- A line ---- */

enum { VERDICT = GEMEL__BASELINE_KEYS, FIELDS };

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

/* 1 if TEXT, which may be NULL, is called NAME. */
static int is_called(written text, const char *name) {
  return name != NULL && is(text, name);
}

/* 1 if LINE is an object with the FIELDS that KIND needs. */
static int read_line(const gemel__baseline_kind *kind, const char *line, written *fields) {
  const char *at = skip_blanks(line), *between = "{";
  memset(fields, 0, FIELDS * sizeof *fields);
  do {
    written name, value;
    at = *at == *between ? read_string(skip_blanks(at + 1), &name) : NULL;
    at = at != NULL ? skip_blanks(at) : NULL;
    at = at != NULL && *at == ':' ? read_value(skip_blanks(at + 1), &value) : NULL;
    for (int k = 0; k < FIELDS && at != NULL; k++) {
      fields[k] = is_called(name, k == VERDICT ? kind->word : kind->keys[k]) ? value : fields[k];
    }
    at = at != NULL ? skip_blanks(at) : NULL;
    between = ",";
  } while (at != NULL && *at != '}');
  for (int k = 0; k < FIELDS; k++) {
    at = fields[k].length > 0 || (k >= kind->needed && k != VERDICT) ? at : NULL;
  }
  return at != NULL && *skip_blanks(at + 1) == '\0';
}

/* ---- Keys ---- */

/* VALUE as it stands in JSON, without the quotes, to be freed. */
static char *as_written(const char *value) {
  char *text = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&text, &bytes);
  if (file == NULL || value == NULL) {
    if (file != NULL) {
      fclose(file);
    }
    free(text);
    return gemel__need_text("%s", "");
  }
  gemel__json_text(file, value);
  fclose(file);
  char *inner = gemel__need_text("%.*s", bytes >= 2 ? (int)bytes - 2 : 0, text + 1);
  free(text);
  return inner;
}

/* What the string TEXT stands for, to be freed: writers of JSON escape as they like. What isn't an
 * escape sequence stands for itself. */
static char *meaning_of(written text) {
  char *plain = gemel__need_text("%.*s", (int)text.length, text.at), *to = plain;
  const char *end = plain + strlen(plain);
  for (const char *at = plain; at < end;) {
    char piece[4] = {*at};
    const char *behind = at;
    size_t n = *at == '\\' ? gemel__json_unescape(&behind, end, piece) : 0;
    if (n == 0 || piece[0] == '\0') {
      *to++ = *at++;
      continue;
    }
    memcpy(to, piece, n);
    to += n;
    at = behind;
  }
  *to = '\0';
  return plain;
}

/* VALUES in one text, to be freed. */
static char *key_of(const char *const values[GEMEL__BASELINE_KEYS]) {
  char *parts[] = {as_written(values[0]), as_written(values[1]), as_written(values[2])};
  char *key = gemel__need_text("%s\n%s\n%s", parts[0], parts[1], parts[2]);
  free(parts[0]);
  free(parts[1]);
  free(parts[2]);
  return key;
}

/* ---- All ---- */

static int by_key(const void *a, const void *b) {
  const gemel__earlier *first = a, *second = b;
  return strcmp(first->key, second->key);
}

static int push(gemel__baseline *b, const char *line) {
  const gemel__baseline_kind *kind = b->kind;
  written f[FIELDS];
  int verdict = 0;
  int read = read_line(kind, line, f);
  if (is_called(f[0], "whole")) { /* gemel equal's last line, which is about no tier */
    return 1;
  }
  if (!read) {
    return 0;
  }
  while (verdict < kind->verdicts && !is(f[VERDICT], kind->text(verdict))) {
    verdict++;
  }
  if (b->count == b->capacity) {
    b->capacity = b->capacity * 2 + 64;
    b->rows = gemel__need(b->rows, b->capacity * sizeof *b->rows);
  }
  b->rows[b->count].verdict = verdict;
  char *values[] = {meaning_of(f[0]), meaning_of(f[1]), meaning_of(f[2])};
  b->rows[b->count++].key = key_of((const char *const *)values);
  free(values[0]);
  free(values[1]);
  free(values[2]);
  return verdict < kind->verdicts;
}

/* The file at PATH; NULL (said) if it can't be read, or is a device, as one of zeros, without an
 * end. */
static FILE *open_lines(const char *path) {
  struct stat about;
  if (stat(path, &about) == 0 && S_ISCHR(about.st_mode)) {
    gemel__complain("%s: is a device", path);
    return NULL;
  }
  return gemel__readable(path) ? fopen(path, "r") : NULL;
}

int gemel__baseline_read(gemel__baseline *b, const gemel__baseline_kind *kind, const char *path) {
  char *line = NULL;
  size_t bytes = 0, number = 0;
  int status = GEMEL__GOOD;
  FILE *file = open_lines(path);
  b->kind = kind;
  if (file == NULL) {
    return GEMEL__BAD;
  }
  while (status == GEMEL__GOOD && getline(&line, &bytes, file) >= 0) {
    number++;
    if (!push(b, line)) {
      status = gemel__complain("%s:%zu: is no record as %s writes it", path, number, kind->writer);
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

const gemel__earlier *gemel__baseline_find(const gemel__baseline *b,
                                           const char *const values[GEMEL__BASELINE_KEYS]) {
  char *key = key_of(values);
  const gemel__earlier *best = NULL;
  size_t low = 0, high = b->count;
  while (low < high) { /* the first that isn't before KEY */
    size_t middle = low + (high - low) / 2;
    if (strcmp(b->rows[middle].key, key) < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  for (; low < b->count && strcmp(b->rows[low].key, key) == 0; low++) {
    int severity = b->kind->severity(b->rows[low].verdict);
    best = best == NULL || severity < b->kind->severity(best->verdict) ? &b->rows[low] : best;
  }
  free(key);
  return best;
}

void gemel__baseline_clear(gemel__baseline *b) {
  for (size_t k = 0; k < b->count; k++) {
    free(b->rows[k].key);
  }
  free(b->rows);
  *b = (gemel__baseline){0};
}

/* ---- Records ---- */

static const char *verdict_text(int verdict) {
  return gemel_verdict_name((gemel_verdict)verdict);
}

static int verdict_severity(int verdict) {
  return gemel_verdict_severity((gemel_verdict)verdict);
}

const gemel__baseline_kind gemel__baseline_of_records = {.keys = {"kind", "name", "tier"},
                                                         .needed = 3,
                                                         .word = "verdict",
                                                         .writer = "gemel verify --json",
                                                         .verdicts = GEMEL_VERDICT_COUNT,
                                                         .text = verdict_text,
                                                         .severity = verdict_severity};
