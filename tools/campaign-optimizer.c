/* SPDX-License-Identifier: MIT
 *
 * The optimiser of `gemel campaign`: a command that runs once a model, a server that stays and is
 * asked a line a model, or a folder with results that are there already. Passes, if they are to be
 * run one at a time, come from a command that lists them.
 *
 * A server is asked with the path of the model, that of the file to write and, with passes, the
 * name of one, with tabs between them. It answers "ok", or "error" and why. Its first line, before
 * it is asked, is its name and version.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "campaign.h"
#include "onnx/model.h"

/* ---- Options ---- */

static int has(const char *command, const char *what) {
  return strstr(command, what) != NULL;
}

static int check_command(const gemel__optimizer *o, const char *list) {
  if (!has(o->command, "{in}") || !has(o->command, "{out}")) {
    return gemel__complain("--optimizer must be a command with {in} and {out} in it");
  }
  if (has(o->command, "{pass}") != (list != NULL)) {
    return gemel__complain("--optimizer: {pass} and --passes belong together");
  }
  return GEMEL__GOOD;
}

int gemel__optimizer_read(gemel__optimizer *o, const gemel__args *args) {
  const char *list = gemel__arg(args, "passes"), *name = gemel__arg(args, "name");
  o->command = gemel__arg(args, "optimizer");
  o->stays = gemel__arg(args, "server");
  o->after = gemel__arg(args, "after");
  if ((o->command != NULL) + (o->stays != NULL) + (o->after != NULL) != 1) {
    return gemel__complain("what optimises is said by one of --optimizer, --server and --after");
  }
  struct stat about;
  if (o->after != NULL && (stat(o->after, &about) != 0 || !S_ISDIR(about.st_mode))) {
    return gemel__complain("--after: %s is no folder", o->after);
  }
  if (o->after != NULL && list != NULL) {
    return gemel__complain("--after has one result a model: --passes can't be used with it");
  }
  o->name = name != NULL ? gemel__need_text("%s", name) : NULL;
  return o->command != NULL ? check_command(o, list) : GEMEL__GOOD;
}

/* ---- A command of the shell ---- */

/* Appends LENGTH bytes to *TEXT. */
static void append(char **text, const char *bytes, size_t length) {
  size_t before = strlen(*text);
  *text = gemel__need(*text, before + length + 1);
  memcpy(*text + before, bytes, length);
  (*text)[before + length] = '\0';
}

/* The command with {in}, {out} and {pass} replaced by words of the shell, to be freed. */
static char *command_for(const char *command, const char *in, const char *out, const char *pass) {
  const char *const names[] = {"{in}", "{out}", "{pass}"}, *const values[] = {in, out, pass};
  char *text = gemel__need_text("%s", "");
  while (*command != '\0') {
    size_t k = 0;
    while (k < 3 && (values[k] == NULL || strncmp(command, names[k], strlen(names[k])) != 0)) {
      k++;
    }
    if (k < 3) {
      char *word = gemel__shell_word(values[k], strlen(values[k]));
      append(&text, word, strlen(word));
      free(word);
      command += strlen(names[k]);
    } else {
      append(&text, command++, 1);
    }
  }
  return text;
}

static void be_shell(void *command) {
  execl("/bin/sh", "sh", "-c", (const char *)command, (char *)NULL);
}

static void run_shell(const gemel__optimizer *o, char *command, gemel__child_end *end) {
  gemel__child_run(be_shell, command, o->limit, end);
}

/* ---- Starting ---- */

static void add_pass(gemel__optimizer *o, char *line) {
  line[strcspn(line, "\r\n")] = '\0';
  if (line[0] != '\0') {
    o->passes = gemel__need(o->passes, (o->n_passes + 1) * sizeof *o->passes);
    o->passes[o->n_passes++] = gemel__need_text("%s", line);
  }
}

/* Runs LIST, which prints a pass a line. */
static int list_passes(gemel__optimizer *o, const char *list, const char *scratch) {
  char *path = gemel__need_text("%s/passes", scratch), *line = NULL;
  char *word = gemel__shell_word(path, strlen(path));
  char *command = gemel__need_text("{ %s\n} >%s", list, word);
  size_t bytes = 0;
  gemel__child_end end;
  run_shell(o, command, &end);
  FILE *file = gemel__ended_well(&end) && end.status == 0 ? fopen(path, "r") : NULL;
  while (file != NULL && getline(&line, &bytes, file) >= 0) {
    add_pass(o, line);
  }
  if (file != NULL) {
    fclose(file);
  }
  free(line);
  free(command);
  free(word);
  free(path);
  if (o->n_passes > 0) {
    return GEMEL__GOOD;
  }
  char text[700];
  gemel__say_end("--passes", &end, text, sizeof text);
  return file != NULL ? gemel__complain("--passes: '%s' printed no names of passes", list)
                      : gemel__complain("%s", text);
}

/* Starts the server, if it doesn't run, and hears its name. 0, or 1 with why not in DETAIL. */
static int wake(gemel__optimizer *o, char *detail, size_t bytes) {
  char name[400];
  gemel__child_end end;
  if (o->server.process != 0) {
    return 0;
  }
  int problem = gemel__server_start(&o->server, o->stays);
  if (problem != 0) {
    snprintf(detail, bytes, "the server wasn't started: %s", strerror(problem));
    return 1;
  }
  if (!gemel__server_ask(&o->server, NULL, o->limit, name, sizeof name, &end)) {
    gemel__say_end("the server", &end, detail, bytes);
    return 1;
  }
  if (o->name == NULL && name[0] != '\0') {
    o->name = gemel__need_text("%s", name);
  }
  return 0;
}

int gemel__optimizer_start(gemel__optimizer *o, const gemel__args *args, const char *scratch) {
  const char *list = gemel__arg(args, "passes");
  char text[700];
  if (o->stays != NULL && wake(o, text, sizeof text) != 0) {
    return gemel__complain("%s", text);
  }
  return list != NULL ? list_passes(o, list, scratch) : GEMEL__GOOD;
}

void gemel__optimizer_end(gemel__optimizer *o) {
  gemel__server_stop(&o->server);
  for (size_t k = 0; k < o->n_passes; k++) {
    free(o->passes[k]);
  }
  free(o->passes);
  free(o->name);
}

/* ---- A model ---- */

static int is_file(const char *path) {
  struct stat about;
  return stat(path, &about) == 0 && S_ISREG(about.st_mode);
}

/* GEMEL__OUTCOME_OPEN: OUT may have been written. */
static gemel__campaign_outcome run_command(const gemel__optimizer *o, const char *in,
                                           const char *pass, const char *out, char *detail,
                                           size_t bytes) {
  char *command = command_for(o->command, in, out, pass);
  gemel__child_end end;
  run_shell(o, command, &end);
  free(command);
  if (gemel__ended_well(&end) && end.status == 0 && is_file(out)) {
    return GEMEL__OUTCOME_OPEN;
  }
  gemel__say_end("the optimiser", &end, detail, bytes);
  return gemel__ended_well(&end) && end.status == 0 ? GEMEL__OUTCOME_SILENT
                                                    : GEMEL__OUTCOME_CRASHED;
}

static gemel__campaign_outcome ask_server(gemel__optimizer *o, const char *in, const char *pass,
                                          const char *out, char *detail, size_t bytes) {
  char answer[700];
  gemel__child_end end;
  if (in[strcspn(in, "\t\n")] != '\0' || wake(o, detail, bytes) != 0) {
    snprintf(detail, detail[0] == '\0' ? bytes : 0, "a server can't be told such a name");
    return GEMEL__OUTCOME_CRASHED;
  }
  char *question =
      gemel__need_text("%s\t%s%s%s", in, out, pass != NULL ? "\t" : "", pass != NULL ? pass : "");
  int answered = gemel__server_ask(&o->server, question, o->limit, answer, sizeof answer, &end);
  free(question);
  if (!answered) {
    gemel__say_end("the server", &end, detail, bytes);
    return GEMEL__OUTCOME_CRASHED;
  }
  if (strcmp(answer, "ok") != 0) {
    snprintf(detail, bytes, "the server: %.500s",
             strncmp(answer, "error ", 6) == 0 ? answer + 6 : answer);
    return GEMEL__OUTCOME_CRASHED;
  }
  if (!is_file(out)) {
    snprintf(detail, bytes, "the server said ok and wrote no file");
    return GEMEL__OUTCOME_SILENT;
  }
  return GEMEL__OUTCOME_OPEN;
}

static gemel__campaign_outcome look_up(const char *out, char *detail, size_t bytes) {
  int problem = is_file(out) ? 0 : access(out, F_OK) == 0 ? EISDIR : errno;
  if (problem == ENOENT) {
    snprintf(detail, bytes, "there is no %s", out);
  } else if (problem != 0) {
    snprintf(detail, bytes, "%s: %s", out, strerror(problem));
  }
  return problem == 0        ? GEMEL__OUTCOME_OPEN
         : problem == ENOENT ? GEMEL__OUTCOME_SILENT
                             : GEMEL__OUTCOME_CLOSED;
}

/* What the file at OUT is, beside the model at IN. */
static gemel__campaign_outcome look_at(const char *in, const char *out, char *detail,
                                       size_t bytes) {
  gemel_error error;
  gemel_onnx *after = gemel_onnx_load(out, &error);
  if (after == NULL) {
    int is_ours = error.status == GEMEL_NO_MEMORY || error.status == GEMEL_IO;
    snprintf(detail, bytes, "%.500s", error.text);
    return is_ours ? GEMEL__OUTCOME_UNJUDGED : GEMEL__OUTCOME_INVALID;
  }
  gemel_onnx *before = gemel_onnx_load(in, NULL);
  int is_same = before != NULL && gemel__onnx_same(before, after);
  gemel_onnx_free(before);
  gemel_onnx_free(after);
  return is_same ? GEMEL__OUTCOME_UNCHANGED : GEMEL__OUTCOME_OPEN;
}

/* What the optimiser is given for the model at IN: a copy, as it may write to it. Files beside a
 * model are found from where it lies, so one with such is given itself. */
static char *given_for(const char *in, const char *scratch_out) {
  gemel_onnx *model = gemel_onnx_load(in, NULL);
  int copies = model == NULL || !gemel__onnx_has_files(model);
  const char *slash = strrchr(in, '/');
  char *given = copies ? gemel__need_text("%s.%s", scratch_out, slash != NULL ? slash + 1 : in)
                       : gemel__need_text("%s", in);
  gemel_onnx_free(model);
  if (copies && gemel__campaign_copy(in, given) != GEMEL__GOOD) {
    free(given);
    return NULL;
  }
  return given;
}

/* Runs the command, or asks the server. One that writes over the model all the same has failed. */
static gemel__campaign_outcome run_optimizer(gemel__optimizer *o, const char *in, const char *pass,
                                             const char *out, char *detail, size_t bytes) {
  struct stat before = {0}, after = {0};
  char *given = given_for(in, out);
  if (given == NULL) {
    snprintf(detail, bytes, "it can't be copied");
    return GEMEL__OUTCOME_UNJUDGED;
  }
  stat(in, &before);
  gemel__campaign_outcome outcome = o->stays != NULL
                                        ? ask_server(o, given, pass, out, detail, bytes)
                                        : run_command(o, given, pass, out, detail, bytes);
  if (stat(in, &after) != 0 || after.st_size != before.st_size || after.st_ino != before.st_ino ||
      memcmp(&after.st_mtim, &before.st_mtim, sizeof after.st_mtim) != 0) {
    outcome = GEMEL__OUTCOME_CRASHED;
    snprintf(detail, bytes, "it wrote over the model");
  }
  if (strcmp(given, in) != 0) {
    unlink(given);
  }
  free(given);
  return outcome;
}

gemel__campaign_outcome gemel__optimize(gemel__optimizer *o, const char *model, const char *in,
                                        const char *pass, const char *scratch_out, char **out,
                                        char *detail, size_t bytes) {
  gemel__campaign_outcome outcome;
  detail[0] = '\0';
  *out = o->after != NULL ? gemel__need_text("%s/%s", o->after, model)
                          : gemel__need_text("%s", scratch_out);
  if (o->after != NULL) {
    outcome = look_up(*out, detail, bytes);
  } else {
    outcome = run_optimizer(o, in, pass, *out, detail, bytes);
  }
  outcome = outcome == GEMEL__OUTCOME_OPEN ? look_at(in, *out, detail, bytes) : outcome;
  if (outcome != GEMEL__OUTCOME_OPEN && outcome != GEMEL__OUTCOME_INVALID) {
    free(*out);
    *out = NULL;
  }
  return outcome;
}
