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
  CT_EQ_INT(gemel_call(f, in, out, &error), GEMEL_OK);
  gemel_function_free(f);
  CT_EQ_INT(gemel_dump(graph, &options, in, out, folder, &error), GEMEL_OK);
  gemel_dumped *d = gemel_dump_load(other, folder, &error);
  if (CT_CHECK(d != NULL)) {
    char *printed = gemel_print_string(graph, "g", &error);
    same_texts(printed, gemel_print_string(d->graph, "g", &error));
    same_options(d);
    CT_CHECK(d->n_inputs == 5 && d->n_outputs == 4);
    for (int k = 0; k < 5; k++)
      same_bits(in[k], d->inputs[k]);
    same_strides(in[0], d->inputs[0]);
    same_strides(in[3], d->inputs[3]);
    f = gemel_compile(d->graph, &d->options, &error);
    CT_EQ_INT(gemel_call(f, d->inputs, again, &error), GEMEL_OK);
    for (int k = 0; k < 4; k++) {
      same_bits(out[k], again[k]);
      same_bits(out[k], d->outputs[k]);
    }
    gemel_function_free(f);
  }
  gemel_dump_free(d);
  CT_EQ_INT(gemel_dump(graph, &options, in, out, folder, &error), GEMEL_IO);
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
  CT_EQ_INT(gemel_dump(graph, &options, in, NULL, folder, &error), GEMEL_OK);
  gemel_dumped *d = gemel_dump_load(context, folder, &error);
  if (CT_CHECK(d != NULL)) {
    same_bits(d->inputs[1], value);
    CT_CHECK(d->outputs == NULL && d->options.states == NULL && d->options.threads > 0);
  }
  gemel_dump_free(d);
  remove_folder(folder);
  CT_EQ_INT(gemel_dump(graph, NULL, in, NULL, folder, &error), GEMEL_BAD_ARGUMENT);
  CT_HAS_STR(error.text, "input w is missing");
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
    {"inputs.npz", "not a zip", "inputs.npz"},
    {"outputs.npz", "not a zip", "outputs.npz"},
};

static void is_refused(const void *data) {
  const changed *c = data;
  const char *folder = scratch("changed");
  gemel_context *context = context_new();
  gemel_graph *graph = parse(context, "graph f(x: f32[3]) { return y = x * x }");
  gemel_tensor *in = vector_of(GEMEL_F32, 3, 1);
  CT_EQ_INT(gemel_dump(graph, NULL, &in, &in, folder, &error), GEMEL_OK);
  write_text(folder, c->file, c->text);
  CT_CHECK(gemel_dump_load(context, folder, &error) == NULL);
  CT_HAS_STR(error.text, c->wanted);
  remove_folder(folder);
  gemel_tensor_unref(in);
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
  gemel_status status = rules != NULL ? gemel_dump(g, &options, in, NULL, folder, &e) : e.status;
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

/* ---- Depth ---- */

/* Runs on a stack of 256 KiB. */
static void *dump_deep(void *data) {
  int n = *(int *)data;
  const char *folder = scratch("deep");
  gemel_context *context = context_new();
  gemel_graph *g = gemel_graph_new(context, &error);
  gemel_value x = f32_input(g, "x", NULL, 3), y = x;
  for (int k = 0; k < n; k++)
    y = k % 3 ? gemel_neg(y) : gemel_sub(y, x);
  gemel_output(y, "y");
  gemel_options options = {.size = sizeof options, .threads = 1, .as_written = 1};
  gemel_function *f = gemel_compile(g, &options, &error);
  gemel_tensor *in = vector_of(GEMEL_F32, 3, 1), *out = NULL, *again = NULL;
  CT_EQ_INT(gemel_call(f, &in, &out, &error), GEMEL_OK);
  gemel_function_free(f);
  CT_EQ_INT(gemel_dump(g, &options, &in, &out, folder, &error), GEMEL_OK);
  gemel_graph_unref(g);
  gemel_dumped *d = gemel_dump_load(context, folder, &error);
  if (CT_CHECK(d != NULL)) {
    f = gemel_compile(d->graph, &d->options, &error);
    CT_EQ_INT(gemel_call(f, d->inputs, &again, &error), GEMEL_OK);
    same_bits(d->outputs[0], again);
    gemel_function_free(f);
  }
  gemel_dump_free(d);
  remove_folder(folder);
  gemel_tensor_unref(in);
  gemel_tensor_unref(out);
  gemel_tensor_unref(again);
  gemel_context_unref(context);
  return NULL;
}

static void deep(const void *data) {
  int n = sanitized || valgrind() ? 50000 : 1000000;
  (void)data;
  on_small_stack(dump_deep, &n);
}

static const ct_test tests[] = {
    CT_TEST("round_trip", round_trip, NULL),
    CT_TEST("bound", bound, NULL),
    CT_TEST("refused", refused, NULL),
    CT_TEST("deep", deep, NULL),
};

void ct_register(void) {
  ct_suite("dump", tests, CT_COUNT(tests));
  for (size_t k = 0; k < CT_COUNT(changes); k++) {
    char name[32];
    snprintf(name, sizeof name, "%zu", k);
    CT_ADD_TO("dump", "changed", name, is_refused, &changes[k]);
  }
}
