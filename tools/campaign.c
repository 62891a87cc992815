/* SPDX-License-Identifier: MIT
 *
 * gemel campaign: runs an optimiser over a folder of models and judges each model against what the
 * optimiser made of it; or pass by pass, each model against what the pass made of it. What a pass
 * made wrong isn't handed to the next one, so each is judged on a right model. With --hlo the
 * optimiser is XLA, and what its passes made lies in the folder.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "campaign.h"
#include "page.h"

static const gemel__option options[] = {
    {"optimizer", 'o', "COMMAND",
     "what optimises a model, a command of the shell: {in} stands for the model's path, {out} for "
     "that of the file to write"},
    {"server", 'r', "COMMAND",
     "a command that stays and optimises model after model: it prints its name and version, then "
     "reads lines with the two paths, and a pass, with tabs between, and answers ok or error "
     "REASON"},
    {"after", 'A', "DIR", "a folder with the results, called as the models are"},
    {"passes", 'p', "COMMAND",
     "judge each pass alone, one after the other: a command that prints their names, a line each; "
     "{pass} stands for one in the optimiser's command"},
    {"hlo", 'X', NULL,
     "DIR has what XLA writes with --xla_dump_to=DIR --xla_dump_hlo_as_text "
     "--xla_dump_hlo_pass_re=.* --xla_dump_large_constants: judge what each pass made of each "
     "module, and the last module against the first; no optimiser is run"},
    {"name", 'N', "TEXT", "the optimiser's name and version, for reports"},
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
     "writes; of an invalid result the two models"},
    {"baseline", 'b', "F",
     "the JSON of an earlier campaign: what isn't worse than there doesn't fail"},
    {"json", 'j', gemel__written_file, "write one JSON object a model a line to F; '-' is stdout"},
    {"junit", 'u', gemel__written_file, "write the outcomes as JUnit's XML to F"},
    {"html", 'H', gemel__written_file, "write the outcomes as a page of HTML to F"},
    {NULL, 0, NULL, NULL}};

typedef struct campaign {
  gemel__campaign sum;
  FILE *table;
  FILE *json; /* or NULL */
  gemel__output json_output;
  gemel__baseline baseline; /* empty: none */
  uint64_t shard, shards;
} campaign;

/* ---- Rows ---- */

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
static void drop_scratch(const gemel__campaign *c, char *text) {
  size_t length = strlen(c->scratch) + 1;
  for (char *at; (at = strstr(text, c->scratch)) != NULL;) {
    size_t drop = at[length - 1] == '/' ? length : length - 1;
    memmove(at, at + drop, strlen(at + drop) + 1);
  }
}

static void free_row(gemel__campaign_row *row) {
  free(row->model);
  free(row->pass);
  free(row->folder);
}

static void make_row_printable(const gemel__campaign *c, gemel__campaign_row *row) {
  gemel_pair_example *e = &row->summary.example;
  char *const texts[] = {row->model, row->summary.detail, e->inputs,   e->output, e->before,
                         e->after,   e->nodes[0],         e->nodes[1], NULL};
  drop_scratch(c, row->summary.detail);
  for (char *const *text = texts; *text != NULL; text++) {
    make_printable(*text);
  }
  if (row->pass != NULL) {
    make_printable(row->pass);
  }
}

static const char *outcome_text(int outcome) {
  return gemel__outcome_text((gemel__campaign_outcome)outcome);
}

static int severity(int outcome) {
  return outcome;
}

static const gemel__baseline_kind of_outcomes = {.keys = {"model", "pass"},
                                                 .needed = 1,
                                                 .word = "outcome",
                                                 .writer = "gemel campaign --json",
                                                 .verdicts = GEMEL__OUTCOME_COUNT,
                                                 .text = outcome_text,
                                                 .severity = severity};

/* 1 if ROW fails, and did no less in the baseline. */
static int is_known(const gemel__baseline *baseline, const gemel__campaign_row *row) {
  const char *const about[GEMEL__BASELINE_KEYS] = {row->model, row->pass};
  const gemel__earlier *earlier =
      gemel__outcomes[row->outcome].fails ? gemel__baseline_find(baseline, about) : NULL;
  return earlier != NULL && earlier->verdict >= (int)row->outcome;
}

/* Adds ROW, which it owns then, and tells it. */
static void add_row(campaign *c, gemel__campaign_row *row) {
  gemel__campaign *sum = &c->sum;
  int is_told = !sum->is_hlo || row->outcome != GEMEL__OUTCOME_UNCHANGED;
  make_row_printable(sum, row);
  gemel__campaign_cause(row);
  row->is_known = is_known(&c->baseline, row);
  sum->rows = gemel__need(sum->rows, (sum->count + 1) * sizeof *sum->rows);
  sum->rows[sum->count++] = *row;
  sum->counts[row->outcome] += row->is_known == 0;
  sum->known += row->is_known != 0;
  gemel__progress(NULL);
  if (is_told) {
    gemel__campaign_print(c->table, row);
    fflush(c->table);
  }
  if (c->json != NULL) {
    gemel__campaign_json(c->json, sum, row);
  }
}

static gemel__campaign_row new_row(const char *model, const char *pass) {
  gemel__campaign_row row = {.seconds = gemel__now()};
  row.model = gemel__need_text("%s", model);
  row.pass = pass != NULL ? gemel__need_text("%s", pass) : NULL;
  return row;
}

static void end_row(campaign *c, gemel__campaign_row *row) {
  row->seconds = gemel__now() - row->seconds;
  if (gemel__signals_caught()) {
    free_row(row);
  } else {
    add_row(c, row);
  }
}

/* ---- One model ---- */

/* The folder for a counterexample, to be freed; NULL: none is asked for. What isn't plain in its
 * name is written as in a URL, so that two models never have one. */
static char *folder_for(const gemel__campaign *c, const char *model, const char *pass) {
  const char *root = gemel__arg(c->args, "counterexample");
  if (root == NULL) {
    return NULL;
  }
  char *name = gemel__need_text("%s%s%s", model, pass != NULL ? "." : "", pass != NULL ? pass : "");
  char *folder = gemel__need(NULL, strlen(root) + 3 * strlen(name) + 2);
  char *to = folder + sprintf(folder, "%s/", root);
  for (const char *at = name; *at != '\0'; at++) {
    to += sprintf(to, *at == '/' || *at == '%' ? "%%%02X" : "%c", (unsigned char)*at);
  }
  free(name);
  return folder;
}

/* 1 if ITEM, at BEFORE, is a model; else what it is goes to ROW. */
static int is_model(const char *before, const gemel__campaign_model *item,
                    gemel__campaign_row *row) {
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

/* Optimises the model at IN by ROW's pass and judges the result, which becomes *OUT, to be
 * freed, if there is one. */
static void judge_step(campaign *c, const char *in, const char *scratch_out,
                       gemel__campaign_row *row, char **out) {
  gemel__equal_summary *s = &row->summary;
  row->outcome = gemel__optimize(&c->sum.optimizer, row->model, in, row->pass, scratch_out, out,
                                 s->detail, sizeof s->detail);
  if (row->outcome == GEMEL__OUTCOME_UNJUDGED) {
    c->sum.unjudged++;
  }
  char *folder = folder_for(&c->sum, row->model, row->pass);
  if (row->outcome == GEMEL__OUTCOME_OPEN && !gemel__signals_caught()) {
    gemel__campaign_judge(&c->sum, in, *out, folder, row);
  }
  if (row->outcome == GEMEL__OUTCOME_INVALID && folder != NULL) {
    gemel__campaign_keep(&c->sum, in, *out, folder, row);
  }
  free(folder);
}

/* All passes one after the other; a row for each that changes the model or fails. */
static void judge_passes(campaign *c, const char *before, const char *model) {
  const gemel__optimizer *o = &c->sum.optimizer;
  char *in = gemel__need_text("%s", before);
  size_t rows = c->sum.count;
  double began = gemel__now();
  for (size_t k = 0; k < o->n_passes && !gemel__signals_caught(); k++) {
    gemel__campaign_row row = new_row(model, o->passes[k]);
    char *place = gemel__need_text("%s/%zu.onnx", c->sum.scratch, k), *out = NULL;
    gemel__progress("gemel campaign: %s, %s", model, o->passes[k]);
    judge_step(c, in, place, &row, &out);
    if (out != NULL && gemel__outcomes[row.outcome].fails == 0) {
      free(in);
      in = gemel__need_text("%s", out);
    }
    if (row.outcome == GEMEL__OUTCOME_UNCHANGED) {
      free_row(&row);
    } else {
      end_row(c, &row);
    }
    free(out);
    free(place);
  }
  free(in);
  if (c->sum.count == rows && !gemel__signals_caught()) {
    gemel__campaign_row row = new_row(model, NULL);
    row.outcome = GEMEL__OUTCOME_UNCHANGED;
    row.seconds = began;
    end_row(c, &row);
  }
}

static void judge_model(campaign *c, const gemel__campaign_model *item) {
  char *before = gemel__need_text("%s/%s", c->sum.folder, item->name);
  char *place = gemel__need_text("%s/after.onnx", c->sum.scratch), *out = NULL;
  gemel__campaign_row row = new_row(item->name, NULL);
  gemel__progress("gemel campaign: %s", item->name);
  int good = is_model(before, item, &row);
  if (good && c->sum.optimizer.n_passes > 0) {
    free_row(&row);
    judge_passes(c, before, item->name);
  } else {
    if (good) {
      judge_step(c, before, place, &row, &out);
    }
    end_row(c, &row);
  }
  c->sum.models += gemel__signals_caught() == 0;
  gemel__folder_clear(c->sum.scratch);
  free(before);
  free(place);
  free(out);
}

/* ---- XLA's dumps ---- */

/* Judges what a pass made of a module. */
static void judge_dump(campaign *c, const gemel__campaign_step *step) {
  gemel__campaign_row row = new_row(step->model, step->pass);
  gemel__progress("gemel campaign: %s, %s", step->model, step->pass);
  if (gemel__campaign_is_same(step->before, step->after)) {
    row.outcome = GEMEL__OUTCOME_UNCHANGED;
  } else {
    char *folder = folder_for(&c->sum, step->model, step->pass);
    gemel__campaign_judge(&c->sum, step->before, step->after, folder, &row);
    free(folder);
  }
  end_row(c, &row);
}

/* Judges the modules of this shard: each Nth. */
static void judge_dumps(campaign *c, const gemel__campaign_steps *steps) {
  size_t module = 0;
  for (size_t k = 0; k < steps->count && !gemel__signals_caught(); k++) {
    module += k > 0 && strcmp(steps->items[k].model, steps->items[k - 1].model) != 0;
    if (module % c->shards == c->shard - 1) {
      int is_last =
          k + 1 == steps->count || strcmp(steps->items[k].model, steps->items[k + 1].model) != 0;
      judge_dump(c, &steps->items[k]);
      c->sum.models += (size_t)is_last;
    }
  }
}

/* ---- All ---- */

/* What is judged: models, or what XLA made of modules. */
typedef struct judged_files {
  gemel__campaign_models models;
  gemel__campaign_steps steps;
} judged_files;

static void judge_all(campaign *c, const judged_files *all) {
  const gemel__campaign_models *models = &all->models;
  for (size_t k = c->shard - 1; k < models->count && !gemel__signals_caught(); k += c->shards) {
    judge_model(c, &models->items[k]);
  }
  judge_dumps(c, &all->steps);
  c->sum.seconds = gemel__now() - c->sum.seconds;
  c->sum.stopped = gemel__signals_caught();
  if (c->sum.is_hlo) {
    gemel__campaign_print_passes(c->table, &c->sum);
  }
  gemel__campaign_print_end(c->table, &c->sum);
  if (c->shards > 1) {
    fprintf(c->table, "; shard %llu of %llu", (unsigned long long)c->shard,
            (unsigned long long)c->shards);
    if (!c->sum.is_hlo) {
      fprintf(c->table, " of %zu models", models->count);
    }
  }
  fprintf(c->table, "%s (%.1f s)\n", gemel__signals_caught() ? ", then a signal ended it" : "",
          c->sum.seconds);
}

/* Writes a report of the whole to the file that option NAME says. */
static int report(const campaign *c, const char *name,
                  void (*write_it)(FILE *, const gemel__campaign *)) {
  const char *path = gemel__arg(c->sum.args, name);
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

/* The options of the optimiser; with --hlo there is none. */
static int read_optimizer(campaign *c) {
  static const char *const others[] = {"optimizer", "server", "after", "passes"};
  const gemel__args *args = c->sum.args;
  c->sum.is_hlo = gemel__arg_set(args, "hlo");
  if (!c->sum.is_hlo) {
    return gemel__optimizer_read(&c->sum.optimizer, args);
  }
  for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
    if (gemel__arg(args, others[k]) != NULL) {
      return gemel__complain("--%s can't be used with --hlo, which runs no optimiser", others[k]);
    }
  }
  const char *name = gemel__arg(args, "name");
  c->sum.optimizer.name = name != NULL ? gemel__need_text("%s", name) : NULL;
  return GEMEL__GOOD;
}

static int read_options(campaign *c) {
  const gemel__args *args = c->sum.args;
  const char *baseline = gemel__arg(args, "baseline");
  double seconds = 0;
  c->sum.folder = args->operands[0];
  if (read_optimizer(c) != GEMEL__GOOD || read_shard(gemel__arg(args, "shard"), c) != GEMEL__GOOD ||
      gemel__arg_seconds(args, "seconds", &seconds) != GEMEL__GOOD ||
      gemel__equal_check(args) != GEMEL__GOOD ||
      gemel__records_probe(gemel__arg(args, "junit")) != GEMEL__GOOD ||
      gemel__records_probe(gemel__arg(args, "html")) != GEMEL__GOOD ||
      (baseline != NULL &&
       gemel__baseline_read(&c->baseline, &of_outcomes, baseline) != GEMEL__GOOD)) {
    return GEMEL__BAD;
  }
  c->sum.optimizer.limit = seconds > 0 ? 3 * seconds + 10 : 0;
  const char *folder = gemel__arg(args, "counterexample");
  return folder == NULL ? GEMEL__GOOD : gemel__folder_writable(folder);
}

static int make_scratch(campaign *c) {
  const char *folder = getenv("TMPDIR");
  c->sum.scratch = gemel__need_text("%s/gemel-campaign-XXXXXX", folder != NULL ? folder : "/tmp");
  return gemel__guard_start(c->sum.scratch);
}

static int judge_and_report(campaign *c, const judged_files *all) {
  int status = make_scratch(c);
  if (status != GEMEL__GOOD) {
    return status;
  }
  gemel__signals_catch();
  status = c->sum.is_hlo ? GEMEL__GOOD
                         : gemel__optimizer_start(&c->sum.optimizer, c->sum.args, c->sum.scratch);
  if (status == GEMEL__GOOD) {
    judge_all(c, all);
    status = report(c, "junit", gemel__campaign_junit) == GEMEL__GOOD ? status : GEMEL__BAD;
    status = report(c, "html", gemel__campaign_html) == GEMEL__GOOD ? status : GEMEL__BAD;
  }
  gemel__server_stop(&c->sum.optimizer.server);
  gemel__guard_end();
  return status;
}

static void clear(campaign *c, judged_files *all) {
  for (size_t k = 0; k < c->sum.count; k++) {
    free_row(&c->sum.rows[k]);
  }
  free(c->sum.rows);
  free(c->sum.scratch);
  gemel__optimizer_end(&c->sum.optimizer);
  gemel__baseline_clear(&c->baseline);
  gemel__campaign_forget(&all->models);
  gemel__campaign_forget_steps(&all->steps);
}

/* Finds what is to be judged. */
static int find_subjects(const campaign *c, judged_files *all) {
  const char *folder = c->sum.folder;
  int status = c->sum.is_hlo ? gemel__campaign_find_steps(folder, &all->steps)
                             : gemel__campaign_find(folder, ".onnx", &all->models);
  return status == GEMEL__GOOD && all->models.count + all->steps.count == 0
             ? gemel__complain(c->sum.is_hlo ? "%s: no modules that XLA has dumped in it"
                                             : "%s: no models (*.onnx) in it",
                               folder)
             : status;
}

static int exit_status(const campaign *c) {
  size_t failing = 0;
  for (int k = 0; k < GEMEL__OUTCOME_COUNT; k++) {
    failing += gemel__outcomes[k].fails ? c->sum.counts[k] : 0;
  }
  return gemel__signals_caught() ||
                 c->sum.unwritten + c->sum.unjudged + c->sum.counts[GEMEL__OUTCOME_CLOSED] > 0
             ? GEMEL__BAD
         : failing > 0 ? GEMEL__REFUTED
                       : GEMEL__GOOD;
}

static int run(const gemel__args *args) {
  campaign c = {.sum = {.args = args, .seconds = gemel__now()}, .table = stdout};
  const char *json = gemel__arg(args, "json");
  judged_files all = {{NULL, 0}, {NULL, 0}};
  int status = read_options(&c);
  status = status == GEMEL__GOOD ? find_subjects(&c, &all) : status;
  if (status == GEMEL__GOOD && json != NULL) {
    status = gemel__output_open(&c.json_output, json);
    c.json = status == GEMEL__GOOD ? c.json_output.file : NULL;
    c.table = c.json == stdout ? stderr : stdout;
  }
  status = status == GEMEL__GOOD ? judge_and_report(&c, &all) : status;
  if (c.json != NULL && gemel__output_close(&c.json_output, status == GEMEL__GOOD) != GEMEL__GOOD) {
    status = GEMEL__BAD;
  }
  status = status != GEMEL__GOOD ? status : exit_status(&c);
  clear(&c, &all);
  return status;
}

const gemel__command gemel__command_campaign = {
    "campaign",
    "DIR",
    "Run an optimiser over a folder of ONNX models, or take XLA's dumps, and judge each result.",
    "All files *.onnx in DIR and in the folders in it are taken, by name. Of each one line is "
    "printed: equal (and what tells the two apart that is allowed), unchanged (the optimiser left "
    "it as it is), open (neither was shown, or gemel doesn't read the result), not read (gemel "
    "doesn't read the model), differs (with inputs at which they do, and the nodes that differ "
    "first), invalid (the result is no valid model, or has other types), crashed or silent (the "
    "optimiser failed, or wrote nothing), no verdict (gemel failed), no access (the model, or a "
    "folder, can't be read). In the end, failures are listed by pass and cause. Shards may run at "
    "once, on one machine or many; all together judge what one run would. "
    "With --hlo each line is of a module and a pass, but what is unchanged, and a table says what "
    "became of each pass.\n"
    "Exit status 1 if a model differs, is invalid, or the optimiser crashed or was silent; else 0; "
    "2 for usage, for what can't be read or written, and where gemel failed.",
    options,
    1,
    1,
    run};
