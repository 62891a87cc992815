/* SPDX-License-Identifier: MIT
 *
 * In the rule's folder, `scenes.jsonl` has a line for each scene: its choices, its steps, and how
 * it ended. A step names the file of its question, which is called by a hash of the question, since
 * scenes often ask the same; a step that was plain without a question has none. Only answers that
 * carry the proof are there: where a truth isn't shown, the scene goes on as if it didn't hold.
 */
#include "unbounded/record.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <gemel/gemel.h>
#include "core/error.h"
#include "core/intern.h"

static const char *const step_names[] = {
#define NAME(E, name, meaning) name,
    GEMEL__PSTEP_TABLE(NAME)
#undef NAME
};

static const char *const step_meanings[] = {
#define MEANING(E, name, meaning) meaning,
    GEMEL__PSTEP_TABLE(MEANING)
#undef MEANING
};

static void fail(gemel__precord *record, const char *path) {
  if (record->status == GEMEL_OK) {
    record->status = gemel__fail(&record->error, GEMEL_IO, "%s: %s", path, strerror(errno));
  }
}

/* *FILE = a new file NAME in the record's folder; NULL if it is there, or can't be made. */
static FILE *new_file(gemel__precord *record, const char *name) {
  char path[700];
  snprintf(path, sizeof path, "%s/%s", record->folder, name);
  FILE *file = access(path, F_OK) != 0 ? fopen(path, "wx") : NULL;
  if (file == NULL && access(path, F_OK) != 0) {
    fail(record, path);
  }
  return file;
}

static void close_file(gemel__precord *record, FILE *file, const char *name) {
  int failed = file != NULL && ferror(file);
  if (file != NULL && (fclose(file) != 0 || failed)) {
    fail(record, name);
  }
}

gemel_status gemel__precord_open(gemel__precord *record, const char *folder,
                                 const struct gemel_rule *rule, gemel_error *error) {
  const char *name = gemel_rule_describe(rule)->name;
  memset(record, 0, sizeof *record);
  if (snprintf(record->folder, sizeof record->folder, "%s/%s", folder, name) >=
      (int)sizeof record->folder) {
    return gemel__fail(error, GEMEL_IO, "%s: the path is too long", folder);
  }
  if (mkdir(record->folder, 0777) != 0) {
    return gemel__fail(error, GEMEL_IO, "%s: %s", record->folder, strerror(errno));
  }
  record->scenes = new_file(record, "scenes.jsonl");
  if (record->scenes == NULL && error != NULL) {
    *error = record->error;
  }
  return record->status;
}

gemel_status gemel__precord_close(gemel__precord *record, gemel_error *error) {
  close_file(record, record->scenes, record->folder);
  if (record->status != GEMEL_OK && error != NULL) {
    *error = record->error;
  }
  return record->status;
}

/* ---- A scene ---- */

void gemel__precord_begin(gemel__pscene *s) {
  gemel__precord *r = s->record;
  r->steps = 0;
  fprintf(r->scenes, "{\"scene\": %zu, \"steps\": [", ++r->scene);
}

static void write_choices(const gemel__pscene *s, FILE *file) {
  for (uint32_t k = 0; k < s->n_chosen; k++) {
    fprintf(file, "%s%u", k > 0 ? ", " : "", s->given[k]);
  }
}

void gemel__precord_end(gemel__pscene *s) {
  FILE *file = s->record->scenes;
  fputs("], \"choices\": [", file);
  write_choices(s, file);
  fprintf(file, "], \"end\": \"%s\"}\n", s->flow == GEMEL__P_GO ? "proved" : "no instance");
}

/* ---- A question ---- */

/* TEXT as comment lines, each of which begins with BEFORE. */
static void write_comment(FILE *file, const char *before, const char *text) {
  for (const char *line = text; *line != '\0';) {
    size_t length = strcspn(line, "\n");
    fprintf(file, "; %s%.*s\n", before, (int)length, line);
    line += length + (line[length] == '\n');
  }
}

static void write_entry(const gemel__pterms *t, FILE *file, gemel__pterm a) {
  int64_t number;
  if (gemel__p_is_number(t, a, &number)) {
    fprintf(file, "%" PRId64, number);
  } else {
    fputs(a != 0 && t->nodes[a].kind == GEMEL__P_SYMBOL ? t->nodes[a].name : "...", file);
  }
}

/* What the rule's variables are in this scene: "x: 2 axes", "p: [1, 0]", "s: [s.0, s.1]". */
static void write_variables(const gemel__pscene *s, FILE *file) {
  for (uint32_t k = 0; k < s->rule->n_variables; k++) {
    const gemel__pvalue *v = &s->variables[k];
    const char *name = s->rule->variables[k].name;
    gemel_dtype dtype;
    if (s->bound[k] && v->kind == GEMEL__PV_TENSOR) {
      int known = gemel__psort_dtype(v->tensors[0]->sort, &dtype);
      fprintf(file, ";   %s: a tensor of rank %d, %s\n", name, v->tensors[0]->rank,
              known ? gemel_dtype_name(dtype) : "of any dtype");
    } else if (s->bound[k] && v->kind == GEMEL__PV_TENSORS) {
      fprintf(file, ";   %s: %u tensors\n", name, v->count);
    } else if (s->bound[k] && (v->kind == GEMEL__PV_LIST || v->kind == GEMEL__PV_INTEGER)) {
      fprintf(file, ";   %s: [", name);
      for (uint32_t i = 0; i < v->count; i++) {
        fputs(i > 0 ? ", " : "", file);
        write_entry(&s->terms, file, v->list[i]);
      }
      fputs("]\n", file);
    }
  }
}

static void write_header(const gemel__pscene *s, FILE *file, gemel__pstep step, const char *about) {
  const gemel_rule_info *info = gemel_rule_describe(s->rule);
  fprintf(file, "; gemel %s, a question of the proof of rule %s:\n", gemel_version(), info->name);
  write_comment(file, "  ", info->text);
  fprintf(file, "; Scene %zu, choices [", s->record->scene);
  write_choices(s, file);
  fputs("], in which\n", file);
  write_variables(s, file);
  fputs("; and |x.0| is the size of axis 0 of x, or entry 0 of an attribute x; E are elements of "
        "any dtype.\n"
        "; Asserted: the left side is valid, its conditions hold, indices lie inside, what this\n"
        "; scene chose, and what is always so of products, quotients and indices.\n",
        file);
  fprintf(file, "; Step \"%s\": %s", step_names[step], step_meanings[step]);
  fprintf(file, about != NULL ? ": %s.\n" : ".\n", about);
}

/* NAME = the file's of the question TEXT, which is written unless it is there. */
static void write_question(gemel__pscene *s, gemel__pstep step, const char *about,
                           gemel__follows answer, const char *text, char name[40]) {
  static const char *const statuses[] = {[GEMEL__FOLLOWS_OPEN] = "unknown",
                                         [GEMEL__FOLLOWS_YES] = "unsat",
                                         [GEMEL__FOLLOWS_NO] = "sat"};
  snprintf(name, 40, "%016" PRIx64 ".smt2", gemel__hash_bytes(1, text, strlen(text)));
  FILE *file = new_file(s->record, name);
  if (file == NULL) {
    return;
  }
  write_header(s, file, step, about);
  fprintf(file, "(set-info :smt-lib-version 2.6)\n(set-logic ALL)\n(set-info :status %s)\n%s",
          statuses[answer], text);
  close_file(s->record, file, name);
}

void gemel__precord_step(gemel__pscene *s, gemel__pstep step, const char *about,
                         gemel__follows answer, const gemel__pterm *known, size_t count,
                         gemel__pterm goal) {
  gemel__precord *r = s->record;
  char name[40] = "";
  char *text = known != NULL ? gemel__ask_text(&s->ask, known, count, goal) : NULL;
  if (known != NULL && text == NULL) {
    gemel__pscene_stop(s, GEMEL__P_FAILED, "memory is out");
    return;
  }
  if (text != NULL) {
    write_question(s, step, about, answer, text, name);
  }
  gemel_text_free(text);
  fprintf(r->scenes, "%s{\"step\": \"%s\"", r->steps++ > 0 ? ", " : "", step_names[step]);
  if (about != NULL) {
    fprintf(r->scenes, ", \"about\": \"%s\"", about);
  }
  fprintf(r->scenes, known != NULL ? ", \"file\": \"%s\"}" : ", \"file\": null}", name);
}
