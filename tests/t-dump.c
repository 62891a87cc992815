/*
 * Calls written to folders and read again: graph, options, rules, inputs with their strides, states
 * and results come back as they were, and the call gives the same bits. A folder appears whole or
 * not at all, and one that somebody has changed is refused with the place of the mistake.
 *
 * SPDX-License-Identifier: MIT
 */
#include "run.h"

#include <dirent.h>
#include <gemel/dump.h>
#include <gemel/text.h>
#include <sys/stat.h>
#include <unistd.h>
#include "support/graph-text.h"
#include "support/small-stack.h"
#include "support/watched-memory.h"

/* NAME in the folder of scratch files. */
static const char *scratch(const char *name) {
  static char paths[4][512];
  static int next;
  char *path = paths[next++ % 4];
  snprintf(path, sizeof paths[0], "%s/%s", ct_scratch(), name);
  return path;
}

static void remove_folder(const char *folder) {
  DIR *all = opendir(folder);
  char path[800];
  struct dirent *entry;
  while (all != NULL && (entry = readdir(all)) != NULL) {
    snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    remove(path); /* . and .. stay */
  }
  if (all != NULL)
    closedir(all);
  rmdir(folder);
}

/* How many files and folders there are in the folder of scratch files. */
static int count_scratch(void) {
  DIR *all = opendir(ct_scratch());
  int n = 0;
  while (readdir(all) != NULL)
    n++;
  closedir(all);
  return n;
}

static void write_text(const char *folder, const char *name, const char *text) {
  char path[800];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "w");
  CT_REQUIRE(file != NULL);
  fputs(text, file);
  fclose(file);
}

/* Two tensors have the same dtype, shape and bits. */
static void same_bits(const gemel_tensor *a, const gemel_tensor *b) {
  gemel_view x = gemel_tensor_view(a), y = gemel_tensor_view(b);
  gemel_tensor *p = gemel_tensor_copy(&x, &error), *q = gemel_tensor_copy(&y, &error);
  CT_EQ_INT(x.dtype, y.dtype);
  CT_EQ_INT(x.rank, y.rank);
  CT_EQ_MEM(x.shape, y.shape, (size_t)x.rank * sizeof *x.shape);
  CT_EQ_MEM(gemel_tensor_data(p), gemel_tensor_data(q),
            (size_t)gemel_tensor_elements(p) * gemel_dtype_size(x.dtype));
  gemel_tensor_unref(p);
  gemel_tensor_unref(q);
}

static void same_strides(const gemel_tensor *a, const gemel_tensor *b) {
  gemel_view x = gemel_tensor_view(a), y = gemel_tensor_view(b);
  CT_EQ_MEM(x.strides, y.strides, (size_t)x.rank * sizeof *x.strides);
}

static void release(gemel_tensor **tensors, size_t n) {
  for (size_t k = 0; k < n; k++)
    gemel_tensor_unref(tensors[k]);
}

/* ---- All there is ---- */

static const char text[] = "operation twice(x) { return x + x }\n"
                           "graph f(x: f32[N, 3] positive, state w: f32[3], b: bf16[4], r: f32[N, "
                           "3], e: f32[0, N]) {\n"
                           "  y = twice(x) * w + r - 0\n"
                           "  update w = w - sum(y, axes = [0])\n"
                           "  return y = y, b = b * b, e = e\n"
                           "}\n";

static const char own_rules[] = "# nothing is lost\n"
                                "rule own in canonicalize: x - 0 => x\n";

/* 4 × 3 numbers whose rows run backwards, in every other column of a wider matrix. */
static gemel_tensor *crooked(float *data) {
  static const int64_t shape[] = {4, 3}, strides[] = {-24, 8};
  for (int k = 0; k < 24; k++)
    data[k] = 0.5f + (float)k;
  return gemel_tensor_wrap(GEMEL_F32, 2, shape, strides, data + 18, NULL, NULL, &error);
}

/* 4 rows that are one. */
static gemel_tensor *repeated(float *data) {
  static const int64_t shape[] = {4, 3}, strides[] = {0, 4};
  return gemel_tensor_wrap(GEMEL_F32, 2, shape, strides, data, NULL, NULL, &error);
}

static void fill_inputs(gemel_tensor **in, float *data) {
  in[0] = crooked(data);
  in[1] = vector_of(GEMEL_F32, 3, 7);
  in[2] = gemel_tensor_new(GEMEL_BF16, 1, (const int64_t[]){4}, &error);
  ((uint16_t *)gemel_tensor_data(in[2]))[1] = 0x4049;
  ((uint16_t *)gemel_tensor_data(in[2]))[3] = 0xffc1; /* a NaN */
  in[3] = repeated(data);
  in[4] = gemel_tensor_new(GEMEL_F32, 2, (const int64_t[]){0, 4}, &error);
}

/* OPTIONS as they were. */
static void same_options(const gemel_dumped *d) {
  const gemel_options *o = &d->options;
  const gemel_rewrite_options *r = o->rewrite;
  CT_CHECK(o->threads == 1 && o->deterministic == 1 && o->plain == 0 && o->guard == 2);
  CT_EQ_INT(o->poison, 1);
  CT_CHECK(o->states == NULL && r == &d->rewrite);
  CT_CHECK(r->has_mode && r->mode == GEMEL_MODE_FAST_COMPILE);
  CT_CHECK(r->has_allow && r->allow == (GEMEL_NEEDS_BIT(AFN) | GEMEL_NEEDS_BIT(NSZ)));
  CT_EQ_STR(r->include, "canonicalize:own");
  CT_EQ_STR(r->exclude, "mul_one, slow");
  if (CT_EQ_INT(r->n_rules, 1) && CT_EQ_INT(gemel_rules_count(r->rules[0]), 1)) {
    const gemel_rule_info *info = gemel_rule_describe(gemel_rules_at(r->rules[0], 0));
    CT_EQ_STR(info->name, "own");
    CT_EQ_STR(info->family, "mine");
  }
}

/* Both were made by the same line of a program. */
static void same_place(gemel_value a, gemel_value b) {
  gemel_location x = gemel_value_where(a), y = gemel_value_where(b);
  CT_EQ_STR(x.file, y.file);
  CT_EQ_INT(x.line, y.line);
}

/* The call, as it was dumped and as it is read, gives the same; its parts are the same. */
static void round_trip(const void *data) {
  float memory[24];
  const char *folder = scratch("round");
  gemel_context *context = context_new(), *other = context_new();
  gemel_graph *graph = parse(context, text);
  gemel_rules *rules =
      gemel_rules_parse(context, own_rules, strlen(own_rules), "folder/mine.rules", &error);
  const gemel_rules *const sets[] = {rules};
  gemel_rewrite_options rewrite = {.size = sizeof rewrite,
                                   .mode = GEMEL_MODE_FAST_COMPILE,
                                   .has_mode = 1,
                                   .allow = GEMEL_NEEDS_BIT(AFN) | GEMEL_NEEDS_BIT(NSZ),
                                   .has_allow = 1,
                                   .include = "canonicalize:own",
                                   .exclude = "mul_one, slow",
                                   .rules = sets,
                                   .n_rules = 1};
  gemel_options options = {.size = sizeof options,
                           .threads = 1,
                           .deterministic = 1,
                           .guard = GEMEL_GUARD_INF,
                           .poison = 1,
                           .rewrite = &rewrite};
  gemel_tensor *in[5], *out[4] = {NULL}, *again[4] = {NULL};
  (void)data;
  fill_inputs(in, memory);
  gemel_function *f = gemel_compile(graph, &options, &error);
  CT_EQ_INT(gemel_call(f, 5, in, 4, out, &error), GEMEL_OK);
  gemel_function_free(f);
  CT_EQ_INT(gemel_dump(graph, &options, 5, in, 4, out, folder, &error), GEMEL_OK);
  gemel_dumped *d = gemel_dump_load(other, folder, &error);
  if (CT_CHECK(d != NULL)) {
    char *printed = gemel_print_string(graph, "g", &error);
    same_texts(printed, gemel_print_string(d->graph, "g", &error));
    same_options(d);
    CT_CHECK(d->n_inputs == 5 && d->n_outputs == 4);
    for (size_t k = 0; k < 4; k++)
      same_place(gemel_graph_output(graph, k), gemel_graph_output(d->graph, k));
    for (size_t k = 0; k < 5; k++)
      same_place(gemel_graph_input(graph, k), gemel_graph_input(d->graph, k));
    for (int k = 0; k < 5; k++)
      same_bits(in[k], d->inputs[k]);
    same_strides(in[0], d->inputs[0]);
    same_strides(in[3], d->inputs[3]);
    f = gemel_compile(d->graph, &d->options, &error);
    CT_EQ_INT(gemel_call(f, d->n_inputs, d->inputs, 4, again, &error), GEMEL_OK);
    for (int k = 0; k < 4; k++) {
      same_bits(out[k], again[k]);
      same_bits(out[k], d->outputs[k]);
    }
    gemel_function_free(f);
  }
  gemel_dump_free(d);
  CT_EQ_INT(gemel_dump(graph, &options, 5, in, 4, out, folder, &error), GEMEL_IO);
  CT_HAS_STR(error.text, "is there already");
  remove_folder(folder);
  release(in, 5);
  release(out, 4);
  release(again, 4);
  gemel_rules_unref(rules);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
  gemel_context_unref(other);
}

/* A state that is bound is written as it is; without outputs none are stored; no options are those
 * of gemel_compile. */
static void bound(const void *data) {
  const char *folder = scratch("bound");
  gemel_context *context = context_new();
  gemel_graph *graph =
      parse(context, "graph f(x: f32[2], state w: f32[2]) { update w = w + x return y = w }");
  gemel_tensor *value = vector_of(GEMEL_F32, 2, 5), *in[] = {vector_of(GEMEL_F32, 2, 1), NULL};
  gemel_shared *shared = gemel_shared_new(value, &error);
  gemel_options options = {.size = sizeof options, .states = &shared, .n_states = 1};
  (void)data;
  CT_EQ_INT(gemel_dump(graph, &options, 2, in, 0, NULL, folder, &error), GEMEL_OK);
  gemel_dumped *d = gemel_dump_load(context, folder, &error);
  if (CT_CHECK(d != NULL)) {
    same_bits(d->inputs[1], value);
    CT_CHECK(d->outputs == NULL && d->options.states == NULL && d->options.threads > 0);
  }
  gemel_dump_free(d);
  remove_folder(folder);
  CT_EQ_INT(gemel_dump(graph, NULL, 2, in, 0, NULL, folder, &error), GEMEL_BAD_ARGUMENT);
  CT_HAS_STR(error.text, "input w is missing");
  CT_EQ_INT(gemel_dump(graph, NULL, 1, in, 0, NULL, folder, &error), GEMEL_BAD_ARGUMENT);
  CT_EQ_STR(error.text, "a dump takes 2 inputs, and 1 is given: x, w");
  CT_EQ_INT(gemel_dump(graph, &options, 2, in, 1, in, folder, &error), GEMEL_BAD_ARGUMENT);
  CT_EQ_STR(error.text, "a dump takes 2 outputs, and 1 is given: w, y");
  CT_CHECK(access(folder, F_OK) != 0);
  gemel_shared_unref(shared);
  gemel_tensor_unref(value);
  gemel_tensor_unref(in[0]);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

/* ---- Folders that somebody has changed ---- */

typedef struct changed {
  const char *file, *text, *wanted;
} changed;

static const changed changes[] = {
    {"options", "threads = 2\ncolour = 3\n", "/options:2: no such option: 'colour'"},
    {"options", "threads = many\n", "/options:1: no whole number from 0 on: 'many'"},
    {"options", "threads = -1\n", "'-1'"},
    {"options", "threads = 99999999999999999999\n", "'99999999999999999999'"},
    {"options", "threads\n", "/options:1: no name = value: 'threads'"},
    {"options", "mode = slow\n", "no mode: 'slow'"},
    {"options", "allow = afn speed\n", "'speed'"},
    {"options", "strides y = 4\n", "no input of that name here: 'y'"},
    {"options", "strides x = 4 4\n", "no stride: '4'"},
    {"options", "strides x =\n", "not a stride for each axis: 'x'"},
    {"options", "strides x = 4611686018427387904\n", "too large"},
    {"options", "strides x = -9223372036854775808\n", "too large"},
    {"options", "strides x = 4\nstrides x = 4\n", "/options:2: no input of that name here: 'x'"},
    {"options", "rules = mine.rules\n", "rules-0.rules: can't be opened"},
    {"graph.gmt", "graph f(x: f32[3]) {\n  return y = frobnicate(x)\n}\n", "graph.gmt:2:"},
    {"graph.gmt", "graph f(z: f32[3]) { return y = z }", "entry 0 is x, and the graph has z"},
    {"graph.gmt", "graph f(x: f32[3], z: f32[3]) { return y = z + x }",
     "1 tensors for the graph's 2"},
    {"graph.gmt", "graph f(x: f32[3]@7) { return y = x }", "memory space 7"},
    {"lines", "file a.c\n3\n4 x 0\n", "/lines:3: neither a file nor a line"},
    {"lines", "file a.c\n3 x\n", "/lines:2: neither a file nor a line"},
    {"lines", "-1\n2\n", "/lines:1: neither a file nor a line"},
    {"lines", "99999999999999999999\n2\n", "/lines:1: neither a file nor a line"},
    {"inputs.npz", "not a zip", "inputs.npz"},
    {"outputs.npz", "not a zip", "outputs.npz"},
};

static void is_refused(const void *data) {
  const changed *c = data;
  const char *folder = scratch("changed");
  gemel_context *context = context_new();
  gemel_graph *graph = parse(context, "graph f(x: f32[3]) { return y = x * x }");
  gemel_tensor *in = vector_of(GEMEL_F32, 3, 1);
  CT_EQ_INT(gemel_dump(graph, NULL, 1, &in, 1, &in, folder, &error), GEMEL_OK);
  write_text(folder, c->file, c->text);
  CT_CHECK(gemel_dump_load(context, folder, &error) == NULL);
  CT_HAS_STR(error.text, c->wanted);
  remove_folder(folder);
  gemel_tensor_unref(in);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

/* Nodes come from the lines of the program; with other lines for as many nodes, from those; with
 * lines of another number of nodes, from the text. */
static void lines(const void *data) {
  static const struct {
    const char *text, *file;
    int line;
  } cases[] = {{NULL, "t-dump.c", 0},
               {"file other.c\n1 x 2\n7\n", "other.c", 7},
               {"1\n5\nfile other.c\n8\n", "other.c", 8},
               {"file other.c\n7\n", "graph.gmt", 2},
               {"9 x 4000000000\n", "graph.gmt", 2}};
  gemel_context *context = context_new();
  gemel_graph *graph = gemel_graph_new(context, &error);
  gemel_value x = f32_input(graph, "x", NULL, 3), z = f32_input(graph, "z", NULL, 3);
  gemel_value y = gemel_mul(x, z);
  gemel_tensor *in[] = {vector_of(GEMEL_F32, 3, 1), vector_of(GEMEL_F32, 3, 2)};
  (void)data;
  gemel_output(y, "y");
  for (size_t k = 0; k < CT_COUNT(cases); k++) {
    const char *folder = scratch("lines");
    CT_EQ_INT(gemel_dump(graph, NULL, 2, in, 0, NULL, folder, &error), GEMEL_OK);
    if (cases[k].text != NULL)
      write_text(folder, "lines", cases[k].text);
    gemel_dumped *d = gemel_dump_load(context, folder, &error);
    if (CT_CHECK(d != NULL)) {
      gemel_location where = gemel_value_where(gemel_graph_output(d->graph, 0));
      int wanted = cases[k].text != NULL ? cases[k].line : gemel_value_where(y).line;
      CT_HAS_STR(where.file, cases[k].file);
      CT_EQ_INT(where.line, wanted);
      CT_EQ_INT(gemel_graph_check(d->graph, &error), GEMEL_OK);
    }
    gemel_dump_free(d);
    remove_folder(folder);
  }
  release(in, 2);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

/* ---- Memory ---- */

static int dump_and_load(void *data) {
  gemel_tensor **in = data, *out[] = {NULL, NULL, NULL, NULL};
  const char *folder = scratch("refused");
  int before = count_scratch();
  gemel_error e = {0};
  gemel_context *context = gemel_context_new(&e);
  gemel_graph *g = context ? gemel_parse(context, text, strlen(text), "", NULL, &e) : NULL;
  gemel_rules *rules =
      g ? gemel_rules_parse(context, own_rules, strlen(own_rules), "mine.rules", &e) : NULL;
  const gemel_rules *const sets[] = {rules};
  gemel_rewrite_options rewrite = {
      .size = sizeof rewrite, .include = "own", .rules = sets, .n_rules = 1};
  gemel_options options = {.size = sizeof options, .threads = 1, .rewrite = &rewrite};
  gemel_dumped *d = NULL;
  gemel_status status =
      rules != NULL ? gemel_dump(g, &options, gemel_graph_input_count(g), in, 0, NULL, folder, &e)
                    : e.status;
  if (rules != NULL && status != GEMEL_OK)
    CT_EQ_INT(count_scratch(), before);
  if (rules != NULL && status == GEMEL_OK) {
    d = gemel_dump_load(context, folder, &e);
    status = d != NULL ? GEMEL_OK : e.status;
  }
  gemel_dump_free(d);
  remove_folder(folder);
  release(out, 4);
  gemel_rules_unref(rules);
  gemel_graph_unref(g);
  gemel_context_unref(context);
  return status;
}

static void refused(const void *data) {
  float memory[24];
  gemel_tensor *in[5];
  (void)data;
  fill_inputs(in, memory);
  CT_CHECK(ct_oom(dump_and_load, in) > 50);
  release(in, 5);
}

/* ---- Large graphs ---- */

/* A graph of N nodes, more or less, with a state w: f32[3]. */
typedef struct large {
  void (*build)(gemel_graph *graph, gemel_value w, int n);
  int n;
} large;

/* Each node reads the one before, and no rewrite makes fewer of them. */
static void deep(gemel_graph *graph, gemel_value w, int n) {
  gemel_value x = f32_input(graph, "x", NULL, 3), y = x;
  for (int k = 0; k < n; k += 2)
    y = gemel_sqrt(gemel_add(y, x));
  gemel_update(w, gemel_add(w, y));
  gemel_output(y, "y");
}

/* One node reads N others, which have an input each and are outputs. */
static void wide(gemel_graph *graph, gemel_value w, int n) {
  gemel_value *all = malloc((size_t)n * sizeof *all);
  char name[16];
  for (int k = 0; k < n; k++) {
    snprintf(name, sizeof name, "x%d", k);
    all[k] = gemel_sqrt(gemel_add(f32_input(graph, name, NULL, 3), w));
    name[0] = 'y';
    gemel_output(all[k], name);
  }
  gemel_update(w, gemel_add(w, all[n - 1]));
  gemel_output(gemel_sum(gemel_apply(graph, "join", (size_t)n, all, 0, NULL)), "total");
  free(all);
}

/* N tensors like w, for the state and inputs; states come first. */
static gemel_tensor **values_for(size_t n) {
  gemel_tensor **values = calloc(n, sizeof *values);
  for (size_t k = 0; k < n; k++)
    values[k] = vector_of(GEMEL_F32, 3, (double)(k % 50) + 1);
  return values;
}

/* Called again and again with the same tensors, F allocates nothing. */
static void allocates_nothing(gemel_function *f, gemel_tensor **in, gemel_tensor **out) {
  CT_EQ_INT(
      gemel_call(f, gemel_function_input_count(f), in, gemel_function_output_count(f), out, &error),
      GEMEL_OK);
  CT_EQ_INT(
      gemel_call(f, gemel_function_input_count(f), in, gemel_function_output_count(f), out, &error),
      GEMEL_OK);
  long before = atomic_load(&watched.asked);
  for (int k = 0; k < 3; k++)
    CT_EQ_INT(gemel_call(f, gemel_function_input_count(f), in, gemel_function_output_count(f), out,
                         &error),
              GEMEL_OK);
  CT_EQ_INT(atomic_load(&watched.asked), before);
}

/* With a shared variable, all but the state and its update are given. */
static void calls(const gemel_graph *graph, gemel_tensor **in, gemel_tensor *const *wanted) {
  size_t n_out = gemel_graph_output_count(graph);
  gemel_tensor **out = calloc(n_out, sizeof *out), *w;
  gemel_shared *shared = gemel_shared_new(in[0], &error);
  gemel_options options = {.size = sizeof options, .threads = 1, .states = &shared, .n_states = 1};
  gemel_function *f = gemel_compile(graph, &options, &error);
  size_t k = 0;
  CT_REQUIRE(f != NULL);
  CT_EQ_INT(gemel_call(f, gemel_function_input_count(f), in + 1, gemel_function_output_count(f),
                       out, &error),
            GEMEL_OK);
  while (gemel_is_null(gemel_graph_updated_state(graph, k)))
    same_bits(out[k], wanted[k]), k++;
  w = gemel_shared_get(shared);
  same_bits(w, wanted[k]);
  gemel_tensor_unref(w);
  while (++k < n_out)
    same_bits(out[k - 1], wanted[k]);
  allocates_nothing(f, in + 1, out);
  gemel_function_free(f);
  gemel_shared_unref(shared);
  release(out, (int)n_out - 1);
  free(out);
}

/* The folder that was dumped, loaded and called. */
static void replay(const char *folder, const gemel_graph *graph, gemel_tensor *const *wanted) {
  size_t n_out = gemel_graph_output_count(graph);
  gemel_tensor **again = calloc(n_out, sizeof *again);
  gemel_context *context = context_new();
  gemel_dumped *d = gemel_dump_load(context, folder, &error);
  if (CT_CHECK(d != NULL)) {
    gemel_function *f = gemel_compile(d->graph, &d->options, &error);
    CT_EQ_UINT(gemel_graph_node_count(d->graph), gemel_graph_node_count(graph));
    CT_EQ_INT(gemel_call(f, d->n_inputs, d->inputs, d->n_outputs, again, &error), GEMEL_OK);
    for (size_t k = 0; k < n_out; k++) {
      same_bits(wanted[k], again[k]);
      same_bits(wanted[k], d->outputs[k]);
    }
    gemel_function_free(f);
  }
  release(again, (int)n_out);
  free(again);
  gemel_dump_free(d);
  gemel_context_unref(context);
}

/* Loops come back with their bodies, and what these compute. */
static void loops(const void *data) {
  gemel_context *context = context_new();
  gemel_graph *graph =
      parse(context, "graph inner(s: f32[N], w: f32[N]) { return s = tanh(s * w + 1) }\n"
                     "graph outer(s: f32[N], x: f32[N]) {\n"
                     "  last, all = scan(s, x, body = inner, states = 1, length = 3)\n"
                     "  return s = last, rows = all - s\n"
                     "}\n"
                     "graph f(s: f32[3], x: f32[3]) {\n"
                     "  rows = broadcast_to(x, shape = [2, 3])\n"
                     "  last, all, y = scan(s, rows, body = outer, states = 1, sequences = 1)\n"
                     "  return last = last, rows = y\n"
                     "}\n");
  gemel_tensor *in[] = {vector_of(GEMEL_F32, 3, 1), vector_of(GEMEL_F32, 3, 2)}, *out[2] = {NULL};
  const char *folder = scratch("loops");
  gemel_options options = {.size = sizeof options, .threads = 1, .poison = 1};
  gemel_function *f = gemel_compile(graph, &options, &error);
  (void)data;
  CT_EQ_INT(gemel_call(f, 2, in, 2, out, &error), GEMEL_OK);
  CT_EQ_INT(gemel_dump(graph, &options, 2, in, 2, out, folder, &error), GEMEL_OK);
  replay(folder, graph, out);
  remove_folder(folder);
  release(in, 2);
  release(out, 2);
  gemel_function_free(f);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

/* Runs on a stack of 256 KiB: compiled with all rewrites, called, dumped and called from there. */
static void *large_on_thread(void *data) {
  const large *l = data;
  const char *folder = scratch("large");
  watch_memory(0);
  gemel_context *context = context_new();
  gemel_graph *graph = gemel_graph_new(context, &error);
  const int64_t three = 3;
  l->build(graph, gemel_state(graph, "w", gemel_type_of_shape(context, GEMEL_F32, 1, &three)),
           l->n);
  CT_EQ_INT(gemel_graph_error(graph)->status, GEMEL_OK);
  size_t n_in = gemel_graph_input_count(graph), n_out = gemel_graph_output_count(graph);
  gemel_tensor **in = values_for(n_in), **out = calloc(n_out, sizeof *out);
  gemel_options options = {.size = sizeof options, .threads = 1};
  gemel_function *f = gemel_compile(graph, &options, &error);
  CT_EQ_INT(
      gemel_call(f, gemel_function_input_count(f), in, gemel_function_output_count(f), out, &error),
      GEMEL_OK);
  CT_CHECK(gemel_function_kernels(f) > (size_t)l->n / 150); /* no rewrite made it short */
  gemel_function_free(f);
  calls(graph, in, out);
  CT_EQ_INT(gemel_dump(graph, &options, n_in, in, n_out, out, folder, &error), GEMEL_OK);
  replay(folder, graph, out);
  remove_folder(folder);
  release(in, (int)n_in);
  release(out, (int)n_out);
  free(in);
  free(out);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
  unwatch_memory();
  return NULL;
}

static void large_graph(const void *data) {
  large l = *(const large *)data;
  l.n = sanitized || valgrind() ? l.n / 20 : l.n;
  on_small_stack(large_on_thread, &l);
}

static const large larges[] = {{deep, 1000000}, {wide, 100000}};

static const ct_test tests[] = {
    CT_TEST("loops", loops, NULL),
    CT_TEST("round_trip", round_trip, NULL),
    CT_TEST("bound", bound, NULL),
    CT_TEST("refused", refused, NULL),
    CT_TEST("lines", lines, NULL),
    CT_TEST("deep", large_graph, &larges[0]),
    CT_TEST("wide", large_graph, &larges[1]),
};

void ct_register(void) {
  ct_suite("dump", tests, CT_COUNT(tests));
  for (size_t k = 0; k < CT_COUNT(changes); k++) {
    char name[32];
    snprintf(name, sizeof name, "%zu", k);
    CT_ADD_TO("dump", "changed", name, is_refused, &changes[k]);
  }
}
