/* SPDX-License-Identifier: MIT
 *
 * gemel campaign: runs an optimiser over a folder of models and judges each pair, the model and
 * what the optimiser made of it. Each pair is judged as by `gemel equal`, in a process of its own:
 * what one model does to it, or to memory, is over with it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "campaign.h"
#include "children.h"
#include "page.h"

static const gemel__option options[] = {
    {"optimizer", 'o', "COMMAND",
     "what optimises a model, a command of the shell: {in} stands for the model's path, {out} for "
     "that of the file to write"},
    {"shard", 'k', "K/N", "judge only shard K of N: each Nth model, from the Kth one on"},
    {"seconds", 'S', "S",
     "as gemel equal, for each pair; after three times that, and 10 s, the optimiser, or the pair, "
     "is ended"},
    {"allow", 'a', "NEEDS", "as gemel equal"},
    {"tier", 't', "T[,T]...", "as gemel equal"},
    {"instances", 'n', "N", "as gemel equal"},
    {"seed", 's', "S", "as gemel equal; the same for each pair"},
    {"threads", 'T', "N", "as gemel equal"},
    GEMEL__MODEL_OPTIONS,
    {"counterexample", 'c', "DIR",
     "of each pair that differs, a folder in DIR: before.onnx, after.onnx, inputs at which they "
     "differ (input_0.pb, ..., as ONNX's tests have them), and what gemel equal --counterexample "
     "writes"},
    {"json", 'j', gemel__written_file, "write one JSON object a model a line to F; '-' is stdout"},
    {"junit", 'u', gemel__written_file, "write the outcomes as JUnit's XML to F"},
    {"html", 'H', gemel__written_file, "write the outcomes as a page of HTML to F"},
    {NULL, 0, NULL, NULL}};

/* What of it is handed on to gemel equal. */
static const char *const handed_on[] = {"seconds", "allow",   "tier", "instances",
                                        "seed",    "threads", "dim",  "operators"};

typedef struct campaign {
  gemel__campaign sum;
  const gemel__args *args;
  char *scratch; /* a folder for what the optimiser writes */
  FILE *json;    /* or NULL */
  gemel__output json_output;
  size_t unwritten; /* counterexamples */
  size_t crashed;   /* pairs that couldn't be judged, for another reason than time */
  uint64_t shard, shards;
  double limit; /* seconds of a pair's process; 0: none */
} campaign;

/* ---- The models ---- */

/* A model, or a folder that may have some and can't be read. */
typedef struct model_found {
  char *name;
  int problem; /* errno; 0: a model */
} model_found;

typedef struct found_list {
  model_found *items;
  size_t count;
} found_list;

static void push(found_list *list, char *name, int problem) {
  list->items = gemel__need(list->items, (list->count + 1) * sizeof *list->items);
  list->items[list->count++] = (model_found){name, problem};
}

static int by_name(const void *a, const void *b) {
  return strcmp(((const model_found *)a)->name, ((const model_found *)b)->name);
}

/* A folder that is a link isn't entered: links may go round in circles. */
static int is_link(const char *path) {
  struct stat about;
  return lstat(path, &about) == 0 && S_ISLNK(about.st_mode);
}

/* What NAME, in ROOT, is: a model goes to MODELS, a folder to FOLDERS; what can't be looked at may
 * be either. */
static void sort_entry(const char *root, char *name, found_list *models, found_list *folders) {
  char *full = gemel__need_text("%s/%s", root, name);
  struct stat about;
  int is_there = stat(full, &about) == 0, is_named = gemel__ends_in(name, ".onnx");
  int problem = is_there || errno == ENOENT || errno == ELOOP ? 0 : errno;
  if (is_there && S_ISDIR(about.st_mode) && !is_link(full)) {
    push(folders, name, 0);
  } else if (problem != 0 || (is_there && S_ISREG(about.st_mode) && is_named)) {
    push(models, name, problem);
  } else {
    free(name);
  }
  free(full);
}

/* The entries of folder BELOW of ROOT: models go to MODELS, folders to FOLDERS. 0, or errno of why
 * they can't be read. */
static int read_folder(const char *root, const char *below, found_list *models,
                       found_list *folders) {
  char *path = gemel__need_text("%s/%s", root, below);
  DIR *folder = opendir(path);
  int problem = folder == NULL ? errno : 0;
  for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
    if (entry->d_name[0] != '.') {
      const char *between = below[0] != '\0' ? "/" : "";
      sort_entry(root, gemel__need_text("%s%s%s", below, between, entry->d_name), models, folders);
    }
  }
  if (folder != NULL) {
    closedir(folder);
  }
  free(path);
  return problem;
}

static void clear_found(found_list *list) {
  for (size_t k = 0; k < list->count; k++) {
    free(list->items[k].name);
  }
  free(list->items);
}

/* All models in ROOT and the folders in it, by name, and the folders in it that can't be read.
 * GEMEL__BAD (said): ROOT can't. */
static int find_models(const char *root, found_list *models) {
  found_list folders = {NULL, 0};
  int problem = read_folder(root, "", models, &folders);
  for (size_t k = 0; k < folders.count; k++) {
    const char *name = folders.items[k].name;
    int closed = read_folder(root, name, models, &folders);
    if (closed != 0) {
      push(models, gemel__need_text("%s", name), closed);
    }
  }
  clear_found(&folders);
  if (models->count > 0) {
    qsort(models->items, models->count, sizeof *models->items, by_name);
  }
  return problem == 0 ? GEMEL__GOOD : gemel__complain("%s: %s", root, strerror(problem));
}

/* ---- The optimiser ---- */

/* Appends LENGTH bytes to *TEXT. */
static void append(char **text, const char *bytes, size_t length) {
  size_t before = strlen(*text);
  *text = gemel__need(*text, before + length + 1);
  memcpy(*text + before, bytes, length);
  (*text)[before + length] = '\0';
}

/* Appends PATH as one word of the shell. */
static void append_word(char **text, const char *path) {
  char *word = gemel__shell_word(path, strlen(path));
  append(text, word, strlen(word));
  free(word);
}

/* The command with {in} and {out} replaced, to be freed. */
static char *command_for(const char *command, const char *in, const char *out) {
  char *text = gemel__need_text("%s", "");
  while (*command != '\0') {
    if (strncmp(command, "{in}", 4) == 0) {
      append_word(&text, in);
      command += 4;
    } else if (strncmp(command, "{out}", 5) == 0) {
      append_word(&text, out);
      command += 5;
    } else {
      append(&text, command++, 1);
    }
  }
  return text;
}

/* How a child called NAME ended, into TEXT. */
static void say_end(const char *name, const gemel__child_end *end, char *text, size_t bytes) {
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

static int is_well(const gemel__child_end *end) {
  return end->problem == 0 && !end->late && end->signal == 0;
}

static void be_shell(void *command) {
  execl("/bin/sh", "sh", "-c", (const char *)command, (char *)NULL);
}

/* Runs the optimiser on IN; 1 if it wrote a model to OUT, else why not in DETAIL. */
static int optimise(campaign *c, const char *in, const char *out, char *detail, size_t bytes) {
  char *command = command_for(c->sum.optimizer, in, out);
  gemel_error error;
  struct stat about;
  gemel__child_end end;
  gemel__child_run(be_shell, command, c->limit, &end);
  free(command);
  if (!is_well(&end) || end.status != 0 || stat(out, &about) != 0 || !S_ISREG(about.st_mode)) {
    say_end("the optimiser", &end, detail, bytes);
    return 0;
  }
  gemel_onnx *model = gemel_onnx_load(out, &error);
  if (model == NULL) {
    snprintf(detail, bytes, "the optimiser wrote no model: %.400s", error.text);
  }
  gemel_onnx_free(model);
  return model != NULL;
}

/* ---- A pair ---- */

/* The arguments of gemel equal for the pair; *N of them. All are borrowed but the array. */
static char **arguments(const campaign *c, char *before, char *after, char *folder, int *n) {
  char **argv = gemel__need(NULL, (size_t)(2 * c->args->n_given + 8) * sizeof *argv);
  *n = 0;
  argv[(*n)++] = "equal";
  argv[(*n)++] = before;
  argv[(*n)++] = after;
  for (int k = 0; k < c->args->n_given; k++) {
    for (size_t i = 0; i < sizeof handed_on / sizeof *handed_on; i++) {
      if (strcmp(c->args->given[k].option->name, handed_on[i]) == 0) {
        argv[(*n)++] = gemel__need_text("--%s=%s", handed_on[i], c->args->given[k].value);
      }
    }
  }
  if (folder != NULL) {
    argv[(*n)++] = "--counterexample";
    argv[(*n)++] = folder;
  }
  argv[*n] = NULL;
  return argv;
}

/* What a child is to judge, and the pipe for the summary. */
typedef struct pair_to_judge {
  const campaign *c;
  char *before, *after, *folder;
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

static gemel__campaign_outcome outcome_of(const gemel__equal_summary *s, int status) {
  return s->good                                            ? GEMEL__OUTCOME_EQUAL
         : s->differs                                       ? GEMEL__OUTCOME_DIFFERS
         : s->ended || s->first_read                        ? GEMEL__OUTCOME_OPEN
         : status == GEMEL__BAD || status == GEMEL__LACKING ? GEMEL__OUTCOME_UNREAD
                                                            : GEMEL__OUTCOME_CRASHED;
}

/* Compares BEFORE and AFTER in a process of its own. */
static void compare(campaign *c, char *before, char *after, char *folder,
                    gemel__campaign_row *row) {
  int ends[2];
  gemel__child_end end;
  gemel__equal_summary *s = &row->summary;
  row->outcome = GEMEL__OUTCOME_CRASHED;
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
    snprintf(s->detail, sizeof s->detail, "no pipe: %s", strerror(errno));
    c->crashed++;
    return;
  }
  pair_to_judge q = {c, before, after, folder, ends[1]};
  gemel__child_run(judge, &q, c->limit, &end);
  ssize_t got = read(ends[0], s, sizeof *s);
  close(ends[0]);
  close(ends[1]);
  if (got != (ssize_t)sizeof *s || !is_well(&end)) {
    memset(s, 0, sizeof *s);
    say_end("gemel equal", &end, s->detail, sizeof s->detail);
    c->crashed += !end.late;
    return;
  }
  row->outcome = outcome_of(s, end.status);
  if (!s->ended) {
    snprintf(s->detail, sizeof s->detail, "%.*s", (int)sizeof s->detail - 1, end.line);
  }
}

/* ---- Counterexamples ---- */

static int copy_file(const char *from, const char *to) {
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

/* The inputs of the counterexample in FOLDER as files of ONNX. */
static int write_inputs(const char *folder) {
  char *path = gemel__need_text("%s/first/inputs.npz", folder), **names = NULL;
  gemel_tensor **tensors = NULL;
  size_t n = 0;
  gemel_error error;
  int status = GEMEL__GOOD;
  if (access(path, R_OK) == 0 && /* a formula alone may have told them apart */
      gemel_npz_load(path, &n, &names, &tensors, &error) != GEMEL_OK) {
    status = gemel__complain_error(path, &error);
  }
  for (size_t k = 0; k < n && status == GEMEL__GOOD; k++) {
    char *to = gemel__need_text("%s/input_%zu.pb", folder, k);
    if (gemel_onnx_tensor_save(tensors[k], names[k], to, &error) != GEMEL_OK) {
      status = gemel__complain_error(to, &error);
    }
    free(to);
  }
  gemel_npz_free(n, names, tensors);
  free(path);
  return status;
}

static int keep_pair(const char *folder, const char *before, const char *after) {
  char *first = gemel__need_text("%s/before.onnx", folder);
  char *second = gemel__need_text("%s/after.onnx", folder);
  int status = gemel__folder_make(folder);
  status = status == GEMEL__GOOD ? copy_file(before, first) : status;
  status = status == GEMEL__GOOD ? copy_file(after, second) : status;
  status = status == GEMEL__GOOD ? write_inputs(folder) : status;
  free(first);
  free(second);
  return status;
}

/* The folder for MODEL's counterexample, to be freed; NULL: none is asked for. */
static char *folder_for(const campaign *c, const char *model) {
  const char *root = gemel__arg(c->args, "counterexample");
  char *folder = root != NULL ? gemel__need_text("%s/%s", root, model) : NULL;
  for (char *at = folder != NULL ? folder + strlen(root) + 1 : NULL; at != NULL && *at; at++) {
    *at = *at == '/' ? '_' : *at;
  }
  return folder;
}

/* ---- One model ---- */

/* Makes each byte of TEXT that no report can have a question mark: names are any bytes. */
static void make_printable(char *text) {
  while (*text != '\0') {
    size_t length = gemel__character(text);
    if (length == 0) {
      *text = '?';
    }
    text += length > 0 ? length : 1;
  }
}

/* Takes the path of the scratch folder, another in each run, off TEXT. */
static void drop_scratch(const campaign *c, char *text) {
  size_t length = strlen(c->scratch) + 1;
  for (char *at; (at = strstr(text, c->scratch)) != NULL;) {
    size_t drop = at[length - 1] == '/' ? length : length - 1;
    memmove(at, at + drop, strlen(at + drop) + 1);
  }
}

/* 1 if ITEM, at BEFORE, is a model; else what it is goes to ROW. */
static int is_model(const char *before, const model_found *item, gemel__campaign_row *row) {
  gemel__equal_summary *s = &row->summary;
  gemel_error error;
  int problem = item->problem != 0 ? item->problem : access(before, R_OK) != 0 ? errno : 0;
  if (problem != 0) {
    row->outcome = GEMEL__OUTCOME_CLOSED;
    snprintf(s->detail, sizeof s->detail, "%s", strerror(problem));
    return 0;
  }
  gemel_onnx *model = gemel_onnx_load(before, &error);
  if (model == NULL) {
    row->outcome = GEMEL__OUTCOME_UNREAD;
    snprintf(s->detail, sizeof s->detail, "%.500s", error.text);
  }
  gemel_onnx_free(model);
  return model != NULL;
}

/* Compares BEFORE and AFTER, and keeps in FOLDER (NULL: nowhere) what a pair that differs needs. If
 * that can't be written, the verdict stands all the same, and ROW says so. */
static void compare_and_keep(campaign *c, char *before, char *after, char *folder,
                             gemel__campaign_row *row) {
  gemel__equal_summary *s = &row->summary;
  char problem[sizeof s->detail] = "";
  compare(c, before, after, folder, row);
  if (folder != NULL && row->outcome == GEMEL__OUTCOME_OPEN && !s->ended &&
      !gemel__signals_caught()) {
    snprintf(problem, sizeof problem, "%s", s->detail);
    memset(s, 0, sizeof *s);
    compare(c, before, after, NULL, row);
  }
  if (folder == NULL || row->outcome != GEMEL__OUTCOME_DIFFERS) {
    return;
  }
  if (problem[0] == '\0' && keep_pair(folder, before, after) != GEMEL__GOOD) {
    snprintf(problem, sizeof problem, "%s", folder);
  }
  if (problem[0] != '\0') {
    size_t used = strlen(s->detail);
    snprintf(s->detail + used, sizeof s->detail - used, "; counterexample not written: %s",
             problem);
    c->unwritten++;
  }
}

static void optimise_and_compare(campaign *c, char *before, char *after, char *folder,
                                 gemel__campaign_row *row) {
  if (optimise(c, before, after, row->summary.detail, sizeof row->summary.detail)) {
    compare_and_keep(c, before, after, folder, row);
  } else {
    row->outcome = GEMEL__OUTCOME_FAILED;
  }
}

static void judge_model(campaign *c, const model_found *item, gemel__campaign_row *row) {
  const char *model = item->name;
  char *before = gemel__need_text("%s/%s", c->args->operands[0], model);
  char *after = gemel__need_text("%s/after.onnx", c->scratch);
  char *folder = folder_for(c, model);
  double started = gemel__now();
  memset(row, 0, sizeof *row);
  row->model = gemel__need_text("%s", model);
  gemel__progress("gemel campaign: %s", model);
  char *detail = row->summary.detail;
  if (is_model(before, item, row)) {
    optimise_and_compare(c, before, after, folder, row);
  }
  row->seconds = gemel__now() - started;
  make_printable(row->model);
  drop_scratch(c, detail);
  make_printable(detail);
  gemel__folder_clear(c->scratch);
  free(before);
  free(after);
  free(folder);
}

/* ---- All ---- */

static void judge_all(campaign *c, const found_list *models) {
  FILE *table = c->json == stdout ? stderr : stdout;
  c->sum.rows = gemel__need(NULL, models->count * sizeof *c->sum.rows);
  for (size_t k = c->shard - 1; k < models->count; k += c->shards) {
    gemel__campaign_row *row = &c->sum.rows[c->sum.count];
    judge_model(c, &models->items[k], row);
    if (gemel__signals_caught()) {
      free(row->model);
      break;
    }
    c->sum.count++;
    c->sum.counts[row->outcome]++;
    gemel__progress(NULL);
    gemel__campaign_print(table, row);
    fflush(table);
    if (c->json != NULL) {
      gemel__campaign_json(c->json, row);
    }
  }
  c->sum.seconds = gemel__now() - c->sum.seconds;
  c->sum.stopped = gemel__signals_caught();
  fprintf(table, "\ngemel campaign: %zu models", c->sum.count);
  for (int k = 0; k < GEMEL__OUTCOME_COUNT; k++) {
    if (c->sum.counts[k] > 0) {
      fprintf(table, ", %zu %s", c->sum.counts[k], gemel__outcome_text((gemel__campaign_outcome)k));
    }
  }
  if (c->shards > 1) {
    fprintf(table, "; shard %llu of %llu of %zu models", (unsigned long long)c->shard,
            (unsigned long long)c->shards, models->count);
  }
  fprintf(table, "%s (%.1f s)\n", gemel__signals_caught() ? ", then a signal ended it" : "",
          c->sum.seconds);
}

/* Writes a report of the whole to the file that option NAME says. */
static int report(const campaign *c, const char *name,
                  void (*write_it)(FILE *, const gemel__campaign *)) {
  const char *path = gemel__arg(c->args, name);
  gemel__output output;
  if (path == NULL) {
    return GEMEL__GOOD;
  }
  if (gemel__output_open(&output, path) != GEMEL__GOOD) {
    return GEMEL__BAD;
  }
  write_it(output.file, &c->sum);
  return gemel__output_close(&output, 1);
}

/* "K/N" */
static int read_shard(const char *text, campaign *c) {
  char *end = NULL;
  c->shard = c->shards = 1;
  if (text == NULL) {
    return GEMEL__GOOD;
  }
  c->shard = strtoull(text, &end, 10);
  if (*end == '/' && end != text && text[0] != '-' && end[1] >= '0' && end[1] <= '9') {
    c->shards = strtoull(end + 1, &end, 10);
    if (*end == '\0' && c->shard >= 1 && c->shard <= c->shards && c->shards < 1000000) {
      return GEMEL__GOOD;
    }
  }
  return gemel__complain("--shard: '%s' is no K/N with K from 1 to N", text);
}

static int read_options(campaign *c) {
  const gemel__args *args = c->args;
  double seconds = 0;
  c->sum.folder = args->operands[0];
  c->sum.optimizer = gemel__arg(args, "optimizer");
  if (c->sum.optimizer == NULL || strstr(c->sum.optimizer, "{in}") == NULL ||
      strstr(c->sum.optimizer, "{out}") == NULL) {
    return gemel__complain("--optimizer must be a command with {in} and {out} in it");
  }
  if (read_shard(gemel__arg(args, "shard"), c) != GEMEL__GOOD ||
      gemel__arg_seconds(args, "seconds", &seconds) != GEMEL__GOOD ||
      gemel__equal_check(args) != GEMEL__GOOD ||
      gemel__records_probe(gemel__arg(args, "junit")) != GEMEL__GOOD ||
      gemel__records_probe(gemel__arg(args, "html")) != GEMEL__GOOD) {
    return GEMEL__BAD;
  }
  c->limit = seconds > 0 ? 3 * seconds + 10 : 0;
  const char *folder = gemel__arg(args, "counterexample");
  return folder == NULL ? GEMEL__GOOD : gemel__folder_writable(folder);
}

static int make_scratch(campaign *c) {
  const char *folder = getenv("TMPDIR");
  c->scratch = gemel__need_text("%s/gemel-campaign-XXXXXX", folder != NULL ? folder : "/tmp");
  return gemel__guard_start(c->scratch);
}

static int judge_and_report(campaign *c, const found_list *models) {
  int status = make_scratch(c);
  if (status != GEMEL__GOOD) {
    return status;
  }
  gemel__signals_catch();
  judge_all(c, models);
  status = report(c, "junit", gemel__campaign_junit) == GEMEL__GOOD ? status : GEMEL__BAD;
  status = report(c, "html", gemel__campaign_html) == GEMEL__GOOD ? status : GEMEL__BAD;
  gemel__guard_end();
  return status;
}

static int run(const gemel__args *args) {
  campaign c = {.args = args, .sum = {.seconds = gemel__now()}};
  const char *json = gemel__arg(args, "json");
  found_list models = {NULL, 0};
  int status = read_options(&c);
  status = status == GEMEL__GOOD ? find_models(args->operands[0], &models) : status;
  if (status == GEMEL__GOOD && models.count == 0) {
    status = gemel__complain("%s: no models (*.onnx) in it", args->operands[0]);
  }
  if (status == GEMEL__GOOD && json != NULL) {
    status = gemel__output_open(&c.json_output, json);
    c.json = status == GEMEL__GOOD ? c.json_output.file : NULL;
  }
  status = status == GEMEL__GOOD ? judge_and_report(&c, &models) : status;
  if (c.json != NULL && gemel__output_close(&c.json_output, status == GEMEL__GOOD) != GEMEL__GOOD) {
    status = GEMEL__BAD;
  }
  for (size_t k = 0; k < c.sum.count; k++) {
    free(c.sum.rows[k].model);
  }
  free(c.sum.rows);
  free(c.scratch);
  clear_found(&models);
  return status != GEMEL__GOOD ? status
         : gemel__signals_caught() ||
                 c.unwritten + c.crashed + c.sum.counts[GEMEL__OUTCOME_CLOSED] > 0
             ? GEMEL__BAD
         : c.sum.counts[GEMEL__OUTCOME_EQUAL] + c.sum.counts[GEMEL__OUTCOME_UNREAD] < c.sum.count
             ? GEMEL__REFUTED
             : GEMEL__GOOD;
}

const gemel__command gemel__command_campaign = {
    "campaign",
    "DIR",
    "Run an optimiser over a folder of ONNX models, and judge each model against its result.",
    "All files *.onnx in DIR and in the folders in it are taken, by name. Of each one line is "
    "printed: equal (and what tells the two apart that is allowed), differs, open (neither was "
    "shown, or gemel doesn't read the result), not read (gemel doesn't read the model), no result "
    "(the optimiser failed), no "
    "verdict (gemel failed), no access (the model, or a folder, can't be read). Shards may run at "
    "once, on one machine or many; all together judge "
    "what one run would.\n"
    "Exit status 0 if all models that gemel reads are equal; else 1; 2 for usage, for what can't "
    "be "
    "read or written, and where gemel failed.",
    options,
    1,
    1,
    run};
