/* SPDX-License-Identifier: MIT
 *
 * How `gemel campaign` judges a pair: as `gemel equal` does, in a process of its own, so that what
 * one model does to it, or to memory, is over with it; and what it keeps of a pair that differs.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "campaign.h"

/* What of a campaign's options is handed on to gemel equal. */
static const char *const handed_on[] = {"seconds", "allow",   "tier", "instances",
                                        "seed",    "threads", "dim",  "operators"};

/* ---- How a child ended ---- */

void gemel__say_end(const char *name, const gemel__child_end *end, char *text, size_t bytes) {
  const char *line = end->line, *colon = line[0] != '\0' ? ": " : "";
  if (end->problem != 0) {
    snprintf(text, bytes, "%s wasn't started: %s", name, strerror(end->problem));
  } else if (end->late) {
    snprintf(text, bytes, "%s didn't end in time", name);
  } else if (end->signal != 0) {
    snprintf(text, bytes, "%s was ended by signal %d%s%.400s", name, end->signal, colon, line);
  } else {
    snprintf(text, bytes, "%s %s status %d%s%.400s", name,
             end->status != 0 ? "ended with" : "wrote no file and ended with", end->status, colon,
             line);
  }
}

int gemel__ended_well(const gemel__child_end *end) {
  return end->problem == 0 && !end->late && end->signal == 0;
}

/* ---- A pair ---- */

/* The arguments of gemel equal for the pair; *N of them. All are borrowed but the array. */
static char **arguments(const gemel__campaign *c, const char *before, const char *after,
                        const char *folder, int *n) {
  char **argv = gemel__need(NULL, (size_t)(2 * c->args->n_given + 8) * sizeof *argv);
  *n = 0;
  argv[(*n)++] = "equal";
  argv[(*n)++] = (char *)before; /* only read */
  argv[(*n)++] = (char *)after;
  for (int k = 0; k < c->args->n_given; k++) {
    for (size_t i = 0; i < sizeof handed_on / sizeof *handed_on; i++) {
      if (strcmp(c->args->given[k].option->name, handed_on[i]) == 0) {
        argv[(*n)++] = gemel__need_text("--%s=%s", handed_on[i], c->args->given[k].value);
      }
    }
  }
  if (folder != NULL) {
    argv[(*n)++] = "--counterexample";
    argv[(*n)++] = (char *)folder;
  }
  argv[*n] = NULL;
  return argv;
}

/* What a child is to judge, and the pipe for the summary. */
typedef struct pair_to_judge {
  const gemel__campaign *c;
  const char *before, *after, *folder;
  int pipe;
} pair_to_judge;

/* The child's part: judges the pair and writes the summary to the pipe. Doesn't return. */
static void judge(void *user) {
  const pair_to_judge *q = user;
  gemel__equal_summary summary;
  gemel__args args;
  int n, status = GEMEL__BAD;
  memset(&summary, 0, sizeof summary);
  char **argv = arguments(q->c, q->before, q->after, q->folder, &n);
  if (gemel__args_read(&args, &gemel__command_equal, n, argv) == GEMEL__GOOD) {
    status = gemel__equal_run(&args, &summary);
  }
  fflush(stdout);
  if (write(q->pipe, &summary, sizeof summary) != (ssize_t)sizeof summary) {
    status = GEMEL__BAD;
  }
  gemel__end_child(status);
}

/* A difference that no inputs show, when the graphs run, is none that a report could show. */
static int is_shown(const gemel__equal_summary *s) {
  unsigned narrows = GEMEL_PAIR_BIT(NARROWS) | GEMEL_PAIR_BIT(WIDENS);
  return s->example.found || (s->refused & narrows) != 0;
}

static gemel__campaign_outcome outcome_of(gemel__equal_summary *s, int status) {
  if (s->differs && !is_shown(s)) {
    char found[sizeof s->detail];
    snprintf(found, sizeof found, "%s", s->detail);
    snprintf(s->detail, sizeof s->detail,
             "no inputs were found at which the results differ; %.520s", found);
    return GEMEL__OUTCOME_OPEN;
  }
  return s->good                                            ? GEMEL__OUTCOME_EQUAL
         : s->differs                                       ? GEMEL__OUTCOME_DIFFERS
         : s->is_invalid                                    ? GEMEL__OUTCOME_INVALID
         : s->ended || s->first_read                        ? GEMEL__OUTCOME_OPEN
         : status == GEMEL__BAD || status == GEMEL__LACKING ? GEMEL__OUTCOME_UNREAD
                                                            : GEMEL__OUTCOME_UNJUDGED;
}

/* Compares BEFORE and AFTER in a process of its own. */
static void compare(gemel__campaign *c, const char *before, const char *after, const char *folder,
                    gemel__campaign_row *row) {
  int ends[2];
  gemel__child_end end;
  gemel__equal_summary *s = &row->summary;
  row->outcome = GEMEL__OUTCOME_UNJUDGED;
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
    snprintf(s->detail, sizeof s->detail, "no pipe: %s", strerror(errno));
    c->unjudged++;
    return;
  }
  pair_to_judge q = {c, before, after, folder, ends[1]};
  gemel__child_run(judge, &q, c->optimizer.limit, &end);
  ssize_t got = read(ends[0], s, sizeof *s);
  close(ends[0]);
  close(ends[1]);
  if (got != (ssize_t)sizeof *s || !gemel__ended_well(&end)) {
    memset(s, 0, sizeof *s);
    gemel__say_end("gemel equal", &end, s->detail, sizeof s->detail);
    c->unjudged += !end.late;
    return;
  }
  row->outcome = outcome_of(s, end.status);
  if (!s->ended) {
    const char *said = strncmp(end.line, "gemel: ", 7) == 0 ? end.line + 7 : end.line;
    snprintf(s->detail, sizeof s->detail, "%.*s", (int)sizeof s->detail - 1, said);
  }
}

/* ---- Counterexamples ---- */

int gemel__campaign_copy(const char *from, const char *to) {
  char bytes[1 << 16];
  FILE *in = fopen(from, "rb");
  gemel__output out;
  int status =
      in != NULL ? gemel__output_open(&out, to) : gemel__complain("%s: %s", from, strerror(errno));
  size_t n;
  if (status != GEMEL__GOOD) {
    if (in != NULL) {
      fclose(in);
    }
    return status;
  }
  while ((n = fread(bytes, 1, sizeof bytes, in)) > 0) {
    gemel__output_write(&out, bytes, n);
  }
  int whole = !ferror(in);
  fclose(in);
  return gemel__output_close(&out, whole);
}

/* The name in MODEL (may be NULL) of the input that a graph calls NAME; *AT, where it is looked for
 * first, comes to lie behind it. */
static const char *name_in(const gemel_onnx *model, const char *name, size_t *at) {
  size_t n = gemel_onnx_input_count(model);
  for (size_t k = 0; k < n; k++, ++*at) {
    if (strcmp(gemel_onnx_input_name(model, *at % n), name) == 0) {
      return gemel_onnx_input_spelled(model, (*at)++ % n);
    }
  }
  return name;
}

/* The inputs of the counterexample in FOLDER as files of ONNX, with the names that MODEL has. */
static int write_inputs(const char *folder, const gemel_onnx *model) {
  char *path = gemel__need_text("%s/first/inputs.npz", folder), **names = NULL;
  gemel_tensor **tensors = NULL;
  size_t n = 0, at = 0;
  gemel_error error;
  int status = GEMEL__GOOD;
  if (access(path, R_OK) == 0 && /* a formula alone may have told them apart */
      gemel_npz_load(path, &n, &names, &tensors, &error) != GEMEL_OK) {
    status = gemel__complain_error(path, &error);
  }
  for (size_t k = 0; k < n && status == GEMEL__GOOD; k++) {
    char *to = gemel__need_text("%s/input_%zu.pb", folder, k);
    if (gemel_onnx_tensor_save(tensors[k], name_in(model, names[k], &at), to, &error) != GEMEL_OK) {
      status = gemel__complain_error(to, &error);
    }
    free(to);
  }
  gemel_npz_free(n, names, tensors);
  free(path);
  return status;
}

static int keep_pair(const gemel__campaign *c, const char *folder, const char *before,
                     const char *after) {
  const char *ending = c->is_hlo ? "hlo" : "onnx";
  char *first = gemel__need_text("%s/before.%s", folder, ending);
  char *second = gemel__need_text("%s/after.%s", folder, ending);
  int status = gemel__folder_make(folder);
  status = status == GEMEL__GOOD ? gemel__campaign_copy(before, first) : status;
  status = status == GEMEL__GOOD ? gemel__campaign_copy(after, second) : status;
  if (!c->is_hlo && status == GEMEL__GOOD) {
    gemel_onnx *model = gemel_onnx_load(before, NULL);
    status = write_inputs(folder, model);
    gemel_onnx_free(model);
  }
  free(first);
  free(second);
  return status;
}

/* PROBLEM: why the counterexample couldn't be written; "": it can. */
static void keep(gemel__campaign *c, const char *before, const char *after, const char *folder,
                 const char *problem, gemel__campaign_row *row) {
  gemel__equal_summary *s = &row->summary;
  problem =
      problem[0] == '\0' && keep_pair(c, folder, before, after) != GEMEL__GOOD ? folder : problem;
  if (problem[0] != '\0') {
    size_t used = strlen(s->detail);
    snprintf(s->detail + used, sizeof s->detail - used, "; counterexample not written: %s",
             problem);
    c->unwritten++;
  } else {
    row->folder = gemel__need_text("%s", folder);
  }
}

void gemel__campaign_keep(gemel__campaign *c, const char *before, const char *after,
                          const char *folder, gemel__campaign_row *row) {
  keep(c, before, after, folder, "", row);
}

/* What was written of a difference that isn't told. */
static void drop(const char *folder) {
  gemel__folder_clear(folder);
  rmdir(folder);
}

void gemel__campaign_judge(gemel__campaign *c, const char *before, const char *after,
                           const char *folder, gemel__campaign_row *row) {
  gemel__equal_summary *s = &row->summary;
  char problem[sizeof s->detail] = "";
  int was_there = folder != NULL && access(folder, F_OK) == 0;
  compare(c, before, after, folder, row);
  if (folder != NULL && row->outcome == GEMEL__OUTCOME_OPEN && !s->ended &&
      !gemel__signals_caught()) {
    snprintf(problem, sizeof problem, "%s", s->detail);
    memset(s, 0, sizeof *s);
    compare(c, before, after, NULL, row);
  }
  if (folder != NULL && row->outcome == GEMEL__OUTCOME_DIFFERS) {
    keep(c, before, after, folder, problem, row);
  } else if (folder != NULL && !was_there && access(folder, F_OK) == 0) {
    drop(folder);
  }
}
