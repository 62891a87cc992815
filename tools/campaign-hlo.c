/* SPDX-License-Identifier: MIT
 *
 * XLA's dumps, for `gemel campaign --hlo`. XLA writes a module before the first pass, behind each
 * pass that changed it, and behind the last:
 *
 *   module_0004.jit_f.before_optimizations.txt
 *   module_0004.jit_f.0009.simplification.after_algsimp.before_dce.txt
 *   module_0004.jit_f.cpu_after_optimizations.txt
 *
 * Of each module two that follow one another are a pair, and so are the first and the last.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include "campaign.h"

/* A file of a module. */
typedef struct stage {
  char *path;   /* in the folder */
  size_t stem;  /* bytes of PATH that name the module */
  long number;  /* in the order of passes */
  char *passed; /* the pass behind which it was written */
} stage;

typedef struct stages {
  stage *items;
  size_t count;
} stages;

/* ---- Names ---- */

/* The text of LENGTH bytes, to be freed. */
static char *copy(const char *text, size_t length) {
  return gemel__need_text("%.*s", (int)length, text);
}

/* ".0009." in NAME, whose digits are the pass's number; NULL: there is none. */
static const char *find_number(const char *name) {
  for (const char *at = name; (at = strchr(at, '.')) != NULL; at++) {
    size_t digits = strspn(at + 1, "0123456789");
    if (digits >= 4 && at[1 + digits] == '.') {
      return at;
    }
  }
  return NULL;
}

/* What is behind the last ".after_" in REST, up to ".before_". */
static char *pass_of(const char *rest) {
  const char *after = NULL;
  for (const char *at = rest; (at = strstr(at, ".after_")) != NULL; at++) {
    after = at + strlen(".after_");
  }
  if (after == NULL) {
    return gemel__need_text("%s", "?");
  }
  const char *end = strstr(after, ".before_");
  return copy(after, end != NULL ? (size_t)(end - after) : strlen(after) - strlen(".txt"));
}

/* 1 and *S if PATH, in the folder, is called as a module before or behind a pass is. */
static int take_stage(const char *path, stage *s) {
  const char *name = strrchr(path, '/'), *at, *end;
  name = name != NULL ? name + 1 : path;
  if ((at = find_number(name)) != NULL) {
    s->number = strtol(at + 1, NULL, 10);
    s->passed = pass_of(at);
  } else if (gemel__ends_in(name, ".before_optimizations.txt")) {
    at = name + strlen(name) - strlen(".before_optimizations.txt");
    s->number = -1;
    s->passed = gemel__need_text("%s", "");
  } else if (gemel__ends_in(name, "_after_optimizations.txt")) {
    end = name + strlen(name) - strlen("_after_optimizations.txt");
    for (at = end; at > name && *at != '.'; at--) {
    }
    s->number = LONG_MAX;
    s->passed = gemel__need_text("%s", "the end");
  } else {
    return 0;
  }
  s->stem = (size_t)(at - path);
  s->path = gemel__need_text("%s", path);
  return s->stem > 0;
}

static int by_module(const void *a, const void *b) {
  const stage *x = a, *y = b;
  size_t shorter = x->stem < y->stem ? x->stem : y->stem;
  int order = strncmp(x->path, y->path, shorter);
  order = order != 0 ? order : (x->stem > y->stem) - (x->stem < y->stem);
  order = order != 0 ? order : (x->number > y->number) - (x->number < y->number);
  return order != 0 ? order : strcmp(x->path, y->path);
}

/* ---- Steps ---- */

static void add_step(gemel__campaign_steps *steps, const char *root, const stage *before,
                     const stage *after, const char *pass) {
  steps->items = gemel__need(steps->items, (steps->count + 1) * sizeof *steps->items);
  steps->items[steps->count++] =
      (gemel__campaign_step){.model = copy(before->path, before->stem),
                             .pass = gemel__need_text("%s", pass),
                             .before = gemel__need_text("%s/%s", root, before->path),
                             .after = gemel__need_text("%s/%s", root, after->path)};
}

/* The steps of one module, whose N files are in the order of passes. */
static void add_module(gemel__campaign_steps *steps, const char *root, const stage *first,
                       size_t n) {
  for (size_t k = 1; k < n; k++) {
    add_step(steps, root, &first[k - 1], &first[k], first[k].passed);
  }
  if (n > 2) {
    add_step(steps, root, &first[0], &first[n - 1], "all passes");
  }
}

static int is_same_module(const stage *a, const stage *b) {
  return a->stem == b->stem && strncmp(a->path, b->path, a->stem) == 0;
}

int gemel__campaign_find_steps(const char *root, gemel__campaign_steps *steps) {
  gemel__campaign_models files = {NULL, 0};
  stages s = {NULL, 0};
  int status = gemel__campaign_find(root, ".txt", &files);
  s.items = gemel__need(NULL, (files.count + 1) * sizeof *s.items);
  for (size_t k = 0; k < files.count && status == GEMEL__GOOD; k++) {
    s.count += (size_t)take_stage(files.items[k].name, &s.items[s.count]);
  }
  qsort(s.items, s.count, sizeof *s.items, by_module);
  for (size_t begin = 0, end; begin < s.count; begin = end) {
    for (end = begin + 1; end < s.count && is_same_module(&s.items[begin], &s.items[end]); end++) {
    }
    add_module(steps, root, &s.items[begin], end - begin);
  }
  for (size_t k = 0; k < s.count; k++) {
    free(s.items[k].path);
    free(s.items[k].passed);
  }
  free(s.items);
  gemel__campaign_forget(&files);
  return status;
}

void gemel__campaign_forget_steps(gemel__campaign_steps *steps) {
  for (size_t k = 0; k < steps->count; k++) {
    free(steps->items[k].model);
    free(steps->items[k].pass);
    free(steps->items[k].before);
    free(steps->items[k].after);
  }
  free(steps->items);
}

/* ---- Unchanged ---- */

/* Passes over the first line, which says what XLA thinks of the module. */
static int skip_line(FILE *file) {
  int c;
  while ((c = getc(file)) != EOF && c != '\n') {
  }
  return c;
}

int gemel__campaign_is_same(const char *before, const char *after) {
  FILE *a = fopen(before, "r"), *b = fopen(after, "r");
  int same = a != NULL && b != NULL && skip_line(a) != EOF && skip_line(b) != EOF, c = 0;
  while (same && c != EOF) {
    c = getc(a);
    same = c == getc(b);
  }
  if (a != NULL) {
    fclose(a);
  }
  if (b != NULL) {
    fclose(b);
  }
  return same;
}

/* ---- The table by pass ---- */

/* What became of a pass's pairs. */
typedef struct pass_row {
  const char *pass;
  size_t counts[GEMEL__OUTCOME_COUNT], all;
  double seconds;
} pass_row;

static int by_pass(const void *a, const void *b) {
  return strcmp(((const pass_row *)a)->pass, ((const pass_row *)b)->pass);
}

/* Joins neighbours of one pass in the N rows; returns how many are left. */
static size_t join_rows(pass_row *rows, size_t n) {
  size_t kept = 0;
  for (size_t k = 0; k < n; k++) {
    if (kept == 0 || by_pass(&rows[kept - 1], &rows[k]) != 0) {
      rows[kept++] = rows[k];
      continue;
    }
    pass_row *row = &rows[kept - 1];
    row->all += rows[k].all;
    row->seconds += rows[k].seconds;
    for (int i = 0; i < GEMEL__OUTCOME_COUNT; i++) {
      row->counts[i] += rows[k].counts[i];
    }
  }
  return kept;
}

void gemel__campaign_print_passes(FILE *file, const gemel__campaign *c) {
  pass_row *rows = gemel__need(NULL, (c->count + 1) * sizeof *rows);
  memset(rows, 0, (c->count + 1) * sizeof *rows);
  for (size_t k = 0; k < c->count; k++) {
    rows[k].pass = c->rows[k].pass;
    rows[k].counts[c->rows[k].outcome] = rows[k].all = 1;
    rows[k].seconds = c->rows[k].seconds;
  }
  qsort(rows, c->count, sizeof *rows, by_pass);
  size_t n = join_rows(rows, c->count);
  fprintf(file, "\n%-44s %7s", "pass", "pairs");
  for (int i = 0; i < GEMEL__OUTCOME_COUNT; i++) {
    if (c->counts[i] > 0) {
      fprintf(file, " %9s", gemel__outcomes[i].text);
    }
  }
  fprintf(file, " %9s\n", "seconds");
  for (size_t k = 0; k < n; k++) {
    fprintf(file, "%-44s %7zu", rows[k].pass, rows[k].all);
    for (int i = 0; i < GEMEL__OUTCOME_COUNT; i++) {
      if (c->counts[i] > 0) {
        fprintf(file, " %9zu", rows[k].counts[i]);
      }
    }
    fprintf(file, " %9.1f\n", rows[k].seconds);
  }
  free(rows);
}
