/* SPDX-License-Identifier: MIT
 *
 * Saved questions (saved.h). The calls are written and read as dumps. This file writes and reads
 * the question beside them, and makes an instance of the graphs again.
 */
#include "harness/saved.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "base/element.h"
#include "core/alloc.h"
#include "core/error.h"
#include "core/graph.h"
#include "harness/report.h"
#include "instances/assumed.h"

enum { MOST_PATH = 1200, MOST_CALLS = 9 };

static gemel_status path_of(char path[MOST_PATH], const char *folder, const char *name,
                            gemel_error *error) {
  return snprintf(path, MOST_PATH, "%s/%s", folder, name) < MOST_PATH
             ? GEMEL_OK
             : gemel__fail(error, GEMEL_IO, "%s: the path is too long", folder);
}

/* ---- Points ---- */

/* Takes the inputs of the instance's own graph; in tier gradient VALUES has directions behind them.
 */
gemel_status gemel__point_take(gemel__point *point, const gemel__instance *instance,
                               gemel_tensor *const *values, gemel_error *error) {
  size_t n = gemel_graph_input_count(instance->graph);
  gemel__point_clear(point);
  point->given = gemel__alloc_array(n, sizeof *point->given);
  if (point->given == NULL) {
    return gemel__no_memory(error, "a counterexample");
  }
  point->taken = 1;
  for (; point->n < n; point->n++) {
    point->given[point->n].name = gemel_graph_input_name(instance->graph, point->n);
    point->given[point->n].tensor = gemel_tensor_ref(values[point->n]);
  }
  return GEMEL_OK;
}

void gemel__point_clear(gemel__point *point) {
  for (size_t k = 0; k < point->n; k++) {
    gemel_tensor_unref(point->given[k].tensor);
  }
  gemel__free(point->given, point->n * sizeof *point->given);
  memset(point, 0, sizeof *point);
}

gemel_tensor *gemel__point_find(const gemel__point *point, const char *name) {
  size_t k = 0;
  while (k < point->n && point->given[k].name != name) { /* interned */
    k++;
  }
  return k < point->n ? gemel_tensor_ref(point->given[k].tensor) : NULL;
}

/* What may be spent on finding sizes, in bytes of the text of dims that are evaluated: well below a
 * second, whatever a damaged file says. */
enum { MOST_EFFORT = 1 << 24 };

/* A graph and tensors for its inputs; missing ones are NULL. */
struct given {
  const gemel_graph *graph;
  gemel_tensor *const *tensors;
  int64_t effort; /* that is left, MOST_EFFORT at first */
};

struct symbol_size {
  const char *symbol;
  int64_t size;
  int used, shown; /* USED by the current axis; SHOWN by an axis without another symbol */
};

static int try_symbol(void *user, const gemel__atom *atom, int64_t *value) {
  struct symbol_size *t = user;
  if (atom->kind != GEMEL__ATOM_SYMBOL || strcmp(atom->name, t->symbol) != 0) {
    return -1;
  }
  t->used = 1;
  *value = t->size;
  return 0;
}

/* The axes of S's input K; none if its tensor is missing, or has another rank. */
static int axes_of(const struct given *s, size_t k, const gemel_dim **dims) {
  gemel_context *context = gemel_graph_context(s->graph);
  gemel_type type = gemel_value_type(gemel_graph_input(s->graph, k));
  int rank = gemel_type_rank(context, type);
  *dims = gemel_type_dims(context, type);
  return s->tensors[k] != NULL && gemel_tensor_rank(s->tensors[k]) == rank ? rank : 0;
}

/* 1 if every axis whose size depends on T's symbol alone has the size that T says. */
static int sizes_fit(struct given *s, struct symbol_size *t) {
  gemel_context *context = gemel_graph_context(s->graph);
  const gemel_dim *dims;
  for (size_t k = 0; k < gemel_graph_input_count(s->graph); k++) {
    int rank = axes_of(s, k, &dims);
    for (int j = 0; j < rank; j++) {
      int64_t size;
      t->used = 0;
      s->effort -= (int64_t)gemel_dim_format(context, dims[j], NULL, 0);
      if (gemel__dim_evaluate(context, dims[j], try_symbol, t, &size, NULL) == GEMEL_OK &&
          t->used) {
        t->shown = 1;
        if (size != gemel_tensor_shape(s->tensors[k])[j]) {
          return 0;
        }
      }
    }
  }
  return 1;
}

/* The size of an axis that is SYMBOL itself; -1 if there is none. */
static int64_t size_of_axis(const struct given *s, const char *symbol) {
  gemel_dim alone = gemel_dim_symbol(gemel_graph_context(s->graph), symbol);
  const gemel_dim *dims;
  for (size_t k = 0; k < gemel_graph_input_count(s->graph); k++) {
    int rank = axes_of(s, k, &dims), j = 0;
    while (j < rank && !gemel_dim_equal(dims[j], alone)) {
      j++;
    }
    if (j < rank) {
      return gemel_tensor_shape(s->tensors[k])[j];
    }
  }
  return -1;
}

/* The size of SYMBOL as the given inputs show it; 1 if they don't. */
static int64_t size_of(struct given *s, const char *symbol) {
  enum { MOST = 1 << 20 };
  struct symbol_size t = {symbol, 0, 0, 0};
  int64_t seen = size_of_axis(s, symbol);
  if (seen >= 0) {
    return seen;
  }
  int fit = sizes_fit(s, &t);
  while (!fit && t.size < MOST && s->effort > 0) {
    t.size++;
    fit = sizes_fit(s, &t);
  }
  return fit && t.shown ? t.size : 1;
}

static int look_up(void *user, const gemel__atom *atom, int64_t *value) {
  if (atom->kind != GEMEL__ATOM_SYMBOL) {
    return -1;
  }
  *value = size_of(user, atom->name);
  return 0;
}

/* Makes input K, which isn't part of the point: zeros, or other values if its facts exclude zero.
 */
static gemel_status make_zeros(const gemel_graph *graph, gemel_tensor **tensors, size_t k,
                               gemel_error *error) {
  struct given s = {graph, tensors, MOST_EFFORT};
  gemel_context *context = gemel_graph_context(graph);
  gemel_type type = gemel_value_type(gemel_graph_input(graph, k));
  int64_t shape[GEMEL_MAX_RANK];
  gemel__leaf leaf = {.dtype = gemel_type_dtype(context, type),
                      .facts = gemel_assumed(gemel_graph_input(graph, k))};
  int rank = gemel_type_rank(context, type);
  for (int j = 0; j < rank; j++) {
    GEMEL__TRY(gemel__dim_evaluate(context, gemel_type_dims(context, type)[j], look_up, &s,
                                   &shape[j], error));
  }
  gemel_tensor *tensor = tensors[k] = gemel_tensor_new(leaf.dtype, rank, shape, error);
  if (tensor == NULL) {
    return error->status;
  }
  memset(gemel_tensor_data(tensor), 0,
         (size_t)gemel_tensor_elements(tensor) * gemel_dtype_size(leaf.dtype));
  gemel__tensor_settle(&leaf, tensor);
  return GEMEL_OK;
}

/* ---- Writing ---- */

/* ROOM is for inputs and results. */
static gemel_status run_and_dump(const gemel__point *point, const char *path,
                                 const gemel_graph *graph, int must_run, gemel_tensor **room,
                                 gemel_error *error) {
  const gemel_options options = {.size = sizeof options, .as_written = 1};
  size_t n = gemel_graph_input_count(graph), m = gemel_graph_output_count(graph), k;
  for (k = 0; k < n; k++) {
    room[k] = gemel__point_find(point, gemel_graph_input_name(graph, k));
  }
  for (k = 0; k < n; k++) {
    GEMEL__TRY(room[k] != NULL ? GEMEL_OK : make_zeros(graph, room, k, error));
  }
  gemel_status ran = gemel_evaluate(graph, n, room, m, room + n, error);
  int may_end = gemel__is_no_result(ran) || (!must_run && ran != GEMEL_NO_MEMORY);
  GEMEL__TRY(may_end ? GEMEL_OK : ran);
  return gemel_dump(graph, &options, n, room, m, ran == GEMEL_OK ? room + n : NULL, path, error);
}

/* Writes the call of GRAPH at POINT with its results; without results if it ends in an error by
 * values or sizes, or can't be run and needn't be. */
static gemel_status write_call(const gemel__point *point, const char *folder, const char *side,
                               const gemel_graph *graph, int must_run, gemel_error *error) {
  size_t n = gemel_graph_input_count(graph) + gemel_graph_output_count(graph);
  gemel_tensor **room = gemel__alloc_array(n, sizeof *room);
  char path[MOST_PATH];
  gemel_status status = room == NULL ? gemel__no_memory(error, "a counterexample")
                                     : path_of(path, folder, side, error);
  status = status ? status : run_and_dump(point, path, graph, must_run, room, error);
  gemel__tensors_free(n, room);
  return status;
}

static void print_question(FILE *file, const gemel_record *record, uint64_t seed,
                           const gemel__point *point, const gemel__instance *instance) {
  fprintf(file,
          "# `gemel verify --replay` on this folder asks this again.\n"
          "kind = %s\nname = %.999s\ntier = %s\nseed = %" PRIu64 "\ncompared = %d\nvalues = %d\n",
          record->kind, record->name, gemel_tier_name(record->tier), seed, point->compared,
          point->taken);
  if (instance == NULL) {
    return;
  }
  fprintf(file, "ulp = %a\nelementwise = %d\ncalls = %zu\nsequence = %d\n\n", instance->ulp,
          instance->elementwise, instance->calls, instance->in_sequence);
  for (size_t k = 0; k < gemel_graph_input_count(instance->graph); k++) {
    const gemel__leaf *l = &instance->leaves[k];
    fprintf(file, "range = %d %" PRId64 " %" PRId64 "\n", (int)l->range, l->low, l->high);
  }
}

gemel_status gemel__saved_check(const char *folder, gemel_error *error) {
  char path[MOST_PATH];
  struct stat about;
  GEMEL__TRY(path_of(path, folder, "first", error));
  return stat(path, &about) == 0 ? gemel__fail(error, GEMEL_IO, "%s: is there already", path)
                                 : GEMEL_OK;
}

gemel_status gemel__saved_write(const char *folder, const gemel_record *record, uint64_t seed,
                                const gemel__point *point, const gemel__instance *instance,
                                const gemel_graph *a, const gemel_graph *b, gemel_error *error) {
  gemel_error local;
  char path[MOST_PATH];
  error = error != NULL ? error : &local;
  GEMEL__TRY(path_of(path, folder, "question", error));
  if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
    return gemel__fail(error, GEMEL_IO, "%s: %s", folder, strerror(errno));
  }
  GEMEL__TRY(write_call(point, folder, "first", a, instance == NULL, error));
  if (b != NULL) {
    GEMEL__TRY(write_call(point, folder, "second", b, instance == NULL, error));
  }
  FILE *file = fopen(path, "wx");
  if (file == NULL) {
    return gemel__fail(error, GEMEL_IO, "%s: can't be written", path);
  }
  print_question(file, record, seed, point, instance);
  int good = ferror(file) == 0, closed = fclose(file) == 0;
  return !good     ? gemel__fail(error, GEMEL_IO, "%s: can't be written", path)
         : !closed ? gemel__fail(error, GEMEL_IO, "%s: %s", path, strerror(errno))
                   : GEMEL_OK;
}

/* Makes a new folder for RECORD in FOLDER; if the name is taken, a number is appended. */
static int make_folder(const char *folder, const gemel_record *record, uint64_t seed,
                       char path[MOST_PATH]) {
  char name[256], number[16] = "";
  snprintf(name, sizeof name, "%s", record->name);
  for (char *slash = name; (slash = strchr(slash, '/')) != NULL;) {
    *slash = '_';
  }
  for (int k = 2; k < 10000; k++) {
    if (snprintf(path, MOST_PATH, "%s/%s-%s-%" PRIx64 "%s.replay", folder, name,
                 gemel_tier_name(record->tier), seed, number) >= MOST_PATH) {
      return -1;
    }
    if (mkdir(path, 0777) == 0) {
      return 0;
    }
    if (errno != EEXIST) {
      return -1;
    }
    snprintf(number, sizeof number, "-%d", k);
  }
  return -1;
}

char *gemel__replay_write(const char *folder, const gemel_record *record,
                          const gemel__instance *instance, const gemel_graph *other,
                          gemel_tensor *const *values, uint64_t seed) {
  gemel__point point = {.compared = other != NULL};
  char path[MOST_PATH];
  if (folder == NULL || instance == NULL || instance->graph == NULL ||
      make_folder(folder, record, seed, path) != 0) {
    return NULL;
  }
  gemel_status status =
      values != NULL ? gemel__point_take(&point, instance, values, NULL) : GEMEL_OK;
  point.compared = other != NULL;
  status = status ? status
                  : gemel__saved_write(path, record, seed, &point, instance, instance->graph, other,
                                       NULL);
  gemel__point_clear(&point);
  return status == GEMEL_OK ? gemel__copy_string(path) : NULL;
}

/* ---- Reading ---- */

static gemel_tier tier_of(const char *name) {
  int k = 0;
  while (k < GEMEL_TIER_COUNT && strcmp(name, gemel_tier_name((gemel_tier)k)) != 0) {
    k++;
  }
  return (gemel_tier)k;
}

/* Reads the lines up to the first empty one; how the instance is run goes to RUN. 0: the file is
 * damaged. */
static int read_question(FILE *file, gemel__saved *s, gemel__instance *run) {
  char line[1100], tier[32] = "";
  int seeds = 0;
  run->ulp = -1;
  while (fgets(line, sizeof line, file) != NULL && line[0] != '\n') {
    sscanf(line, "kind = %31[^\n]", s->kind);
    sscanf(line, "name = %999[^\n]", s->name);
    sscanf(line, "tier = %31[^\n]", tier);
    seeds += sscanf(line, "seed = %" SCNu64, &s->seed) == 1;
    sscanf(line, "compared = %d", &s->compared);
    sscanf(line, "values = %d", &s->has_values);
    sscanf(line, "ulp = %lf", &run->ulp);
    sscanf(line, "elementwise = %d", &run->elementwise);
    sscanf(line, "calls = %zu", &run->calls);
    sscanf(line, "sequence = %d", &run->in_sequence);
  }
  s->tier = tier_of(tier);
  return s->kind[0] != '\0' && s->name[0] != '\0' && s->tier != GEMEL_TIER_COUNT && seeds == 1 &&
         run->calls <= MOST_CALLS; /* or a damaged file could cost hours */
}

/* The values that inputs may have, a line each; a question about two graphs that a model asked has
 * none. 0: the file is damaged. */
static int read_domains(FILE *file, gemel__instance *instance) {
  for (size_t k = 0; k < instance->n_leaves; k++) {
    gemel__leaf *l = &instance->leaves[k];
    int64_t low, high;
    int range, n = fscanf(file, "range = %d %" SCNd64 " %" SCNd64 "\n", &range, &low, &high);
    if (n == EOF && k == 0) {
      return 1;
    }
    int indices = range == GEMEL_RANGE_INDEX && l->count > 0;
    if (n != 3 || range < 0 || range > GEMEL_RANGE_DEFINITE || low > high ||
        (indices && low == high)) {
      return 0;
    }
    l->range = (gemel_range)range;
    l->low = low;
    l->high = high;
  }
  return 1;
}

/* 1 if RUN is a way to run what S has: only one graph with states is called several times. */
static int can_run(const gemel__saved *s, const gemel__instance *run) {
  int states = 0;
  for (size_t k = 0; k < gemel_graph_input_count(s->first->graph); k++) {
    states |= gemel_is_state(gemel_graph_input(s->first->graph, k));
  }
  return run->calls == 0 || (s->second == NULL && states);
}

/* 1 if results K of both graphs have the same shape; sizes known at run time only aren't compared.
 */
static int same_shape(const gemel__pair *p, size_t k) {
  gemel_context *context = gemel_graph_context(p->a.graph);
  gemel_type x = gemel_value_type(gemel_graph_output(p->a.graph, k));
  gemel_type y = gemel_value_type(gemel_graph_output(p->b.graph, k));
  int same = 1;
  for (int j = 0; j < gemel_type_rank(context, x) && same; j++) {
    int64_t m, n;
    same = !gemel_dim_is_constant(context, gemel_type_dims(context, x)[j], &m) ||
           !gemel_dim_is_constant(context, gemel_type_dims(context, y)[j], &n) || m == n;
  }
  return same;
}

/* Makes one instance of both graphs. Symbols get the sizes of FIRST's inputs; inputs and outputs of
 * the same name belong together. GEMEL_BAD_TYPE: the graphs don't go together, and WHY says in
 * what. */
static gemel_status draw_pair(gemel__saved *s, gemel_error *why) {
  const gemel_graph *a = s->first->graph, *b = s->second->graph;
  const char *names[GEMEL__MOST_SYMBOLS];
  int64_t sizes[GEMEL__MOST_SYMBOLS];
  struct given given = {a, s->first->inputs, MOST_EFFORT};
  gemel__random random;
  GEMEL__TRY(gemel__pair_check(a, b, why));
  size_t n = gemel__pair_symbols(a, names, GEMEL__MOST_SYMBOLS), k;
  for (k = 0; k < n; k++) {
    sizes[k] = size_of(&given, names[k]);
  }
  gemel__random_seed(&random, s->seed);
  GEMEL__TRY(gemel__pair_draw_at(&s->pair, a, b, n, names, sizes, &random, why));
  for (k = 0; k < a->n_outputs; k++) {
    int same = same_shape(&s->pair, k);
    s->has_values &= same;
    /* different shapes: in tier real the models report that, without values */
    if (!same && s->tier != GEMEL_TIER_REAL) {
      return gemel__fail(why, GEMEL_BAD_TYPE, "the shapes of result %zu", k);
    }
  }
  return GEMEL_OK;
}

static gemel_status make_pair(gemel__saved *s, gemel_error *error) {
  gemel_error why;
  gemel_status status = draw_pair(s, &why);
  if (status != GEMEL_OK && error != NULL) {
    *error = why;
  }
  return status != GEMEL_BAD_TYPE
             ? status
             : gemel__fail(error, GEMEL_BAD_FILE, "the two graphs have other inputs or outputs: %s",
                           why.text);
}

static gemel_status check_values(const gemel__saved *s, const char *folder, gemel_error *error) {
  for (size_t k = 0; k < s->pair.a.n_leaves; k++) {
    const gemel_tensor *t = s->first->inputs[k];
    const gemel__leaf *l = &s->pair.a.leaves[k];
    if (l->dtype != gemel_tensor_dtype(t) || l->rank != gemel_tensor_rank(t) ||
        (l->rank > 0 &&
         memcmp(l->shape, gemel_tensor_shape(t), (size_t)l->rank * sizeof *l->shape))) {
      return gemel__fail(error, GEMEL_BAD_FILE, "%s/first: input %s has another type", folder,
                         gemel_graph_input_name(s->first->graph, k));
    }
  }
  return GEMEL_OK;
}

/* Has the inputs lie on the host in row-major order, as all that checks them expects. */
static gemel_status lay_out_plainly(gemel_dumped *dumped, gemel_error *error) {
  for (size_t k = 0; k < dumped->n_inputs; k++) {
    gemel_tensor *given = dumped->inputs[k];
    if (gemel_tensor_device(given) != gemel_host() || gemel__tensor_plain(given) == NULL) {
      dumped->inputs[k] = gemel_tensor_transfer(given, gemel_host(), error);
      gemel_tensor_unref(given);
      if (dumped->inputs[k] == NULL) {
        return error->status;
      }
    }
  }
  return GEMEL_OK;
}

/* Reads one of the calls. *DUMPED stays NULL if it is OPTIONAL and doesn't exist. */
static gemel_status read_call(gemel_context *context, const char *folder, const char *side,
                              int optional, gemel_dumped **dumped, gemel_error *error) {
  char path[MOST_PATH];
  struct stat about;
  GEMEL__TRY(path_of(path, folder, side, error));
  if (optional && stat(path, &about) != 0 && errno == ENOENT) {
    return GEMEL_OK;
  }
  *dumped = gemel_dump_load(context, path, error);
  return *dumped != NULL ? lay_out_plainly(*dumped, error) : error->status;
}

static gemel_status read_all(gemel__saved *s, gemel_context *context, const char *folder,
                             FILE *file, gemel_error *error) {
  gemel__instance run = {0};
  if (!read_question(file, s, &run)) {
    return gemel__fail(error, GEMEL_BAD_FILE, "%s/question: is damaged", folder);
  }
  if (strcmp(s->kind, "kernel") == 0) {
    return gemel__fail(error, GEMEL_UNSUPPORTED,
                       "%s: the kernel is the program's own, so only the program can repeat it",
                       folder);
  }
  GEMEL__TRY(read_call(context, folder, "first", 0, &s->first, error));
  GEMEL__TRY(read_call(context, folder, "second", 1, &s->second, error));
  GEMEL__TRY(s->second != NULL
                 ? make_pair(s, error)
                 : gemel__instance_of_graph(&s->pair.a, s->first->graph, NULL, error));
  if (!can_run(s, &run)) {
    return gemel__fail(error, GEMEL_BAD_FILE, "%s/question: calls = %zu isn't for these graphs",
                       folder, run.calls);
  }
  s->compared = s->compared && s->second != NULL;
  s->pair.a.ulp = run.ulp;
  s->pair.a.elementwise = run.elementwise && s->pair.a.n_leaves > 0;
  s->pair.a.calls = run.calls;
  s->pair.a.in_sequence = run.in_sequence && run.calls == 0;
  if (!read_domains(file, &s->pair.a)) {
    return gemel__fail(error, GEMEL_BAD_FILE, "%s/question: a range is damaged", folder);
  }
  return check_values(s, folder, error);
}

gemel_status gemel__saved_read(gemel__saved *saved, gemel_context *context, const char *folder,
                               gemel_error *error) {
  gemel_error local;
  char path[MOST_PATH];
  memset(saved, 0, sizeof *saved);
  error = error != NULL ? error : &local;
  gemel_status status = path_of(path, folder, "question", error);
  FILE *file = status == GEMEL_OK ? fopen(path, "r") : NULL;
  if (file == NULL) {
    return gemel__fail(error, GEMEL_BAD_FILE, "%s: %s", path, strerror(errno));
  }
  status = read_all(saved, context, folder, file, error);
  fclose(file);
  return status;
}

void gemel__saved_clear(gemel__saved *saved) {
  gemel__pair_clear(&saved->pair);
  gemel_dump_free(saved->first);
  gemel_dump_free(saved->second);
}
