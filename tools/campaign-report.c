/* SPDX-License-Identifier: MIT
 *
 * What `gemel campaign` tells of its models: a line each, failures by pass and cause, JSON, JUnit's
 * XML. A cause is what findings have in common: the operators of the nodes that differ first, or a
 * message without the names and numbers in it.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "campaign.h"
#include "page.h"

const gemel__outcome_facts gemel__outcomes[GEMEL__OUTCOME_COUNT] = {
#define OUTCOME_FACTS(NAME, text, end, tone, fails)                                                \
  {text, GEMEL__JUNIT_##end, GEMEL__TONE_##tone, fails},
    GEMEL__OUTCOME_TABLE(OUTCOME_FACTS)
#undef OUTCOME_FACTS
};

const char *gemel__outcome_text(gemel__campaign_outcome outcome) {
  return gemel__outcomes[outcome].text;
}

/* ---- Causes ---- */

/* Writes MESSAGE to TEXT with dots in the place of what is quoted or in brackets, and of numbers.
 */
static void general_text(const char *message, char *text, size_t bytes) {
  enum { LONGEST = 6 };
  size_t used = 0;
  while (*message != '\0' && used + LONGEST < bytes) {
    size_t digits = strspn(message, "0123456789");
    int in_word = used > 0 && isalpha((unsigned char)text[used - 1]);
    const char *end = *message == '\'' && !in_word ? strchr(message + 1, '\'')
                      : *message == '['            ? strchr(message + 1, ']')
                                                   : NULL;
    if (end != NULL) {
      used += (size_t)sprintf(text + used, "%c...%c", *message, *end);
      message = end + 1;
    } else if (digits > 0) {
      used += (size_t)sprintf(text + used, "...");
      message += digits;
    } else {
      text[used++] = *message++;
    }
  }
  text[used] = '\0';
}

void gemel__campaign_cause(gemel__campaign_row *row) {
  const gemel__equal_summary *s = &row->summary;
  const char *first = s->example.nodes[0], *second = s->example.nodes[1];
  const char *behind = strstr(s->detail, ".onnx: "), *refuted = strstr(s->detail, "refuted; ");
  row->cause[0] = '\0';
  switch (row->outcome) {
  case GEMEL__OUTCOME_DIFFERS:
    if (first[0] == '\0' && second[0] == '\0' && refuted != NULL && strchr(refuted, ':') != NULL) {
      general_text(refuted + strlen("refuted; "), row->cause, sizeof row->cause);
      break;
    }
    snprintf(row->cause, sizeof row->cause, "%.*s%s%.*s", (int)strcspn(first, " "), first,
             first[0] != '\0' && second[0] != '\0' ? ", " : "", (int)strcspn(second, " "), second);
    break;
  case GEMEL__OUTCOME_INVALID:
    general_text(behind != NULL ? behind + strlen(".onnx: ") : s->detail, row->cause,
                 sizeof row->cause);
    break;
  case GEMEL__OUTCOME_CRASHED:
    general_text(s->detail, row->cause, sizeof row->cause);
    break;
  case GEMEL__OUTCOME_SILENT:
    snprintf(row->cause, sizeof row->cause, "no file was written");
    break;
  default:
    break;
  }
}

int gemel__campaign_alike(const gemel__campaign_row *a, const gemel__campaign_row *b) {
  return a->outcome == b->outcome && strcmp(a->cause, b->cause) == 0 &&
         strcmp(a->pass != NULL ? a->pass : "", b->pass != NULL ? b->pass : "") == 0;
}

/* The worst first, then by pass, cause and model; rows of one array. */
static int by_cause(const void *a, const void *b) {
  const gemel__campaign_row *x = *(const gemel__campaign_row *const *)a;
  const gemel__campaign_row *y = *(const gemel__campaign_row *const *)b;
  int order = (int)y->outcome - (int)x->outcome;
  order =
      order != 0 ? order : strcmp(x->pass != NULL ? x->pass : "", y->pass != NULL ? y->pass : "");
  order = order != 0 ? order : strcmp(x->cause, y->cause);
  return order != 0 ? order : x < y ? -1 : x > y;
}

size_t *gemel__campaign_failures(const gemel__campaign *c, size_t *n) {
  const gemel__campaign_row **rows = gemel__need(NULL, (c->count + 1) * sizeof *rows);
  size_t *numbers = gemel__need(NULL, (c->count + 1) * sizeof *numbers);
  *n = 0;
  for (size_t k = 0; k < c->count; k++) {
    if (gemel__outcomes[c->rows[k].outcome].fails && !c->rows[k].is_known) {
      rows[(*n)++] = &c->rows[k];
    }
  }
  if (*n > 0) {
    qsort(rows, *n, sizeof *rows, by_cause);
  }
  for (size_t k = 0; k < *n; k++) {
    numbers[k] = (size_t)(rows[k] - c->rows);
  }
  free(rows);
  return numbers;
}

/* ---- Lines ---- */

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

void gemel__campaign_say(const gemel__campaign_row *row, char *text, size_t bytes) {
  const gemel__equal_summary *s = &row->summary;
  char words[200];
  words_text(s->needs, words, sizeof words);
  if (row->outcome == GEMEL__OUTCOME_DIFFERS && s->example.found) {
    gemel_pair_example_text(&s->example, text, bytes);
    size_t used = strlen(text);
    if (row->folder != NULL) {
      snprintf(text + used, bytes - used, "; see %.300s", row->folder);
    } else if (strstr(s->detail, "not written") != NULL) {
      snprintf(text + used, bytes - used, "; %s", strstr(s->detail, "counterexample not written"));
    }
  } else if (row->outcome != GEMEL__OUTCOME_EQUAL) {
    snprintf(text, bytes, "%s%s%.300s", s->detail, row->folder != NULL ? "; see " : "",
             row->folder != NULL ? row->folder : "");
  } else if (s->bitwise) {
    snprintf(text, bytes, "bitwise");
  } else {
    snprintf(text, bytes, "%s%s", words[0] != '\0' ? "up to " : "", words);
  }
}

void gemel__campaign_print(FILE *file, const gemel__campaign_row *row) {
  const gemel__outcome_facts *facts = &gemel__outcomes[row->outcome];
  char text[GEMEL__CAMPAIGN_TEXT];
  gemel__campaign_say(row, text, sizeof text);
  gemel__paint(file, facts->tone, 10, facts->text);
  fprintf(file, "  %6.1f s  %s%s%s%s%s%s\n", row->seconds, row->model,
          row->pass != NULL ? ", " : "", row->pass != NULL ? row->pass : "",
          row->is_known ? " (in the baseline)" : "", text[0] != '\0' ? ": " : "", text);
}

/* "  3  differs  fuse_pad, Pad: a.onnx, b.onnx, ..." of the N rows of one cause. */
static void print_cause(FILE *file, const gemel__campaign *c, const size_t *rows, size_t n) {
  enum { SHOWN = 4 };
  const gemel__campaign_row *first = &c->rows[rows[0]];
  fprintf(file, "%6zu  %-8s  %s%s%s:", n, gemel__outcome_text(first->outcome),
          first->pass != NULL ? first->pass : "",
          first->pass != NULL && first->cause[0] != '\0' ? ": " : "",
          first->cause[0] != '\0' || first->pass != NULL ? first->cause : "no cause is known");
  for (size_t k = 0; k < n && k < SHOWN; k++) {
    fprintf(file, "%s %s", k > 0 ? "," : "", c->rows[rows[k]].model);
  }
  fputs(n > SHOWN ? ", ...\n" : "\n", file);
}

void gemel__campaign_print_end(FILE *file, const gemel__campaign *c) {
  size_t n, begin = 0, *rows = gemel__campaign_failures(c, &n);
  for (size_t k = 1; k <= n; k++) {
    if (k == n || !gemel__campaign_alike(&c->rows[rows[begin]], &c->rows[rows[k]])) {
      fputs(begin == 0 ? "\n" : "", file);
      print_cause(file, c, rows + begin, k - begin);
      begin = k;
    }
  }
  free(rows);
  fprintf(file, "\ngemel campaign: %zu models", c->models);
  for (int k = 0; k < GEMEL__OUTCOME_COUNT; k++) {
    if (c->counts[k] > 0) {
      fprintf(file, ", %zu %s", c->counts[k], gemel__outcomes[k].text);
    }
  }
  if (c->known > 0) {
    fprintf(file, ", %zu as bad in the baseline", c->known);
  }
}

/* ---- JSON ---- */

static void member(FILE *file, const char *name, const char *value) {
  fprintf(file, ", \"%s\": ", name);
  gemel__json_text(file, value);
}

void gemel__campaign_json(FILE *file, const gemel__campaign *c, const gemel__campaign_row *row) {
  fputs("{\"model\": ", file);
  gemel__json_text(file, row->model);
  if (row->pass != NULL) {
    member(file, "pass", row->pass);
  }
  if (c->optimizer.name != NULL) {
    member(file, "optimizer", c->optimizer.name);
  }
  fprintf(file, ", \"outcome\": \"%s\"", gemel__outcome_text(row->outcome));
  gemel__json_words(file, "needs", row->summary.needs);
  gemel__json_words(file, "not_allowed", row->summary.refused);
  member(file, "detail", row->summary.detail);
  if (row->cause[0] != '\0') {
    member(file, "cause", row->cause);
  }
  if (row->outcome == GEMEL__OUTCOME_DIFFERS) {
    gemel__example_json(file, &row->summary.example);
  }
  if (row->folder != NULL) {
    member(file, "folder", row->folder);
  }
  fprintf(file, ", \"seconds\": %.3f}\n", row->seconds);
}

/* ---- JUnit ---- */

static gemel__junit_case case_of(const gemel__campaign_row *row) {
  char text[GEMEL__CAMPAIGN_TEXT];
  gemel__campaign_say(row, text, sizeof text);
  return (gemel__junit_case){
      .name = gemel__need_text("%s%s%s", row->model, row->pass != NULL ? ", " : "",
                               row->pass != NULL ? row->pass : ""),
      .seconds = row->seconds,
      .end = row->is_known ? GEMEL__JUNIT_SKIPPED : gemel__outcomes[row->outcome].junit,
      .verdict = gemel__outcome_text(row->outcome),
      .detail = gemel__need_text("%s", text),
      .text = row->summary.detail};
}

static void junit_case(const void *cases, size_t k, gemel__junit_case *c) {
  *c = ((const gemel__junit_case *)cases)[k];
}

void gemel__campaign_junit(FILE *file, const gemel__campaign *c) {
  gemel__junit_case *cases = gemel__need(NULL, (c->count + 1) * sizeof *cases);
  for (size_t k = 0; k < c->count; k++) {
    cases[k] = case_of(&c->rows[k]);
  }
  gemel__junit_write(file, "campaign", c->count, c->seconds, junit_case, cases);
  for (size_t k = 0; k < c->count; k++) {
    free((char *)cases[k].name);
    free((char *)cases[k].detail);
  }
  free(cases);
}
