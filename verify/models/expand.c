/* SPDX-License-Identifier: MIT
 *
 * A template becomes statements. {a|b} is a place where a fusion looks for a: it stays a, but for
 * the few places of a sketch that deviate. {*a|b} is a or b as it comes. $C is a text that is the
 * same in the whole template: what a line "let C = …" draws, or a size.
 */
#include <stdio.h>
#include <string.h>
#include "models/sketch.h"

enum { DEEPEST = 12 };

static void append(gemel__expanding *e, const char *text, size_t length) {
  if (length >= sizeof e->text - e->used) {
    e->failed = 1;
    return;
  }
  memcpy(e->text + e->used, text, length);
  e->used += length;
  e->text[e->used] = '\0';
}

void gemel__expand_format(gemel__expanding *e, const char *format, ...) {
  char text[160];
  va_list args;
  va_start(args, format);
  int n = vsnprintf(text, sizeof text, format, args);
  va_end(args);
  append(e, text, n < (int)sizeof text ? (size_t)n : sizeof text - 1);
}

/* ---- Variables ---- */

const char *gemel__expansion_bound(const gemel__expanding *e, const char *name, size_t length) {
  for (size_t k = 0; k < e->n_variables; k++) {
    if (strlen(e->variables[k].name) == length &&
        strncmp(e->variables[k].name, name, length) == 0) {
      return e->variables[k].text;
    }
  }
  return NULL;
}

void gemel__expansion_bind(gemel__expanding *e, const char *name, size_t length, const char *text) {
  size_t k = e->n_variables;
  if (gemel__expansion_bound(e, name, length) != NULL) {
    return;
  }
  if (k == GEMEL__EXPANSION_VARIABLES || length >= sizeof e->variables[k].name ||
      strlen(text) >= sizeof e->variables[k].text) {
    e->failed = 1;
    return;
  }
  memcpy(e->variables[k].name, name, length);
  e->variables[k].name[length] = '\0';
  strcpy(e->variables[k].text, text);
  e->n_variables++;
}

static size_t name_length(const char *at) {
  size_t n = 0;
  while ((at[n] >= 'a' && at[n] <= 'z') || (at[n] >= 'A' && at[n] <= 'Z')) {
    n++;
  }
  return n;
}

/* What $NAME stands for: a variable, a word that draws, or a row "define NAME TEXT". */
static void expand_variable(gemel__expanding *e, const char *name, size_t length) {
  gemel__model_row row;
  const char *bound = gemel__expansion_bound(e, name, length);
  if (bound != NULL) {
    append(e, bound, strlen(bound));
  } else if (!gemel__expand_word(e, name, length)) {
    if (gemel__model_row_find("define", name, length, &row)) {
      gemel__expand(e, row.head + length, row.body);
    } else {
      e->failed = 1;
    }
  }
}

/* ---- Places ---- */

/* The end of the alternative that begins at AT: its '|' or '}'. */
static const char *alternative_end(const char *at, const char *end) {
  int depth = 0;
  for (; at < end && (depth > 0 || (*at != '|' && *at != '}')); at++) {
    depth += *at == '{' ? 1 : *at == '}' ? -1 : 0;
  }
  return at;
}

static uint64_t count_alternatives(const char *at, const char *end) {
  uint64_t n = 1;
  for (at = alternative_end(at, end); at < end && *at == '|'; n++) {
    at = alternative_end(at + 1, end);
  }
  return n;
}

/* Behind the '}' of the place whose alternatives begin at AT; one of them is appended. */
static const char *expand_place(gemel__expanding *e, const char *at, const char *end) {
  int is_free = *at == '*', deviates = 0;
  uint64_t n = count_alternatives(at + is_free, end);
  if (!is_free) {
    deviates = e->places < 64 && (e->deviate >> e->places & 1) != 0;
    e->places++;
  }
  uint64_t chosen = is_free             ? gemel__random_below(e->random, n)
                    : deviates && n > 1 ? 1 + gemel__random_below(e->random, n - 1)
                                        : 0;
  at += is_free;
  for (uint64_t k = 0;; k++, at++) {
    const char *stop = alternative_end(at, end);
    if (k == chosen) {
      gemel__expand(e, at, stop);
    }
    at = stop;
    if (at >= end || *at == '}') {
      return at < end ? at + 1 : end;
    }
  }
}

/* "let C = …": C is bound to what … becomes. */
static const char *expand_let(gemel__expanding *e, const char *at, const char *end) {
  size_t mark = e->used, length = name_length(at);
  const char *line = memchr(at, '\n', (size_t)(end - at));
  const char *equals = memchr(at, '=', (size_t)(end - at));
  line = line != NULL ? line : end;
  if (equals == NULL || equals > line) {
    e->failed = 1;
    return line;
  }
  gemel__expand(e, equals + 2, line);
  e->used = mark;
  gemel__expansion_bind(e, at, length, e->text + mark);
  e->text[mark] = '\0';
  return line;
}

void gemel__expand(gemel__expanding *e, const char *at, const char *end) {
  if (e->depth == DEEPEST) {
    e->failed = 1;
    return;
  }
  e->depth++;
  while (at < end && !e->failed) {
    if (*at == '{') {
      at = expand_place(e, at + 1, end);
    } else if (*at == '$') {
      size_t length = name_length(at + 1);
      expand_variable(e, at + 1, length);
      at += 1 + length;
    } else if (strncmp(at, "  let ", 6) == 0) {
      at = expand_let(e, at + 6, end);
    } else {
      append(e, at++, 1);
    }
  }
  e->depth--;
}
