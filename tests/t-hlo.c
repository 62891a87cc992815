/*
 * XLA's HLO read (<gemel/hlo.h>): modules of tests/hlo.cases, in which XLA's own results stand
 * beside each opcode's; what is refused, with line and column; a module with all that the grammar
 * has, cut at each byte, with bytes changed at random (GEMEL_HLO_CHANGES), and while memory is
 * refused; trips of loops; what is opaque.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gemel/gemel.h>
#include "core/dtype.h"
#include "ct.h"
#include "support/random.h"

/* A module with a comment, layouts, a section of names, strings, tuples, a fusion, a loop, a
 * conditional, a reduction of pairs, a sort, an opaque call. */
static const char module_all[] =
    "HloModule jit_f, entry_computation_layout={(f32[3,2]{1,0})->f32[]}\n\n"
    "FileNames\n1 \"a { b.py\"\n\nStackFrames\n1 {file_location_id=1}\n\n"
    "%add (a: f32[], b: f32[]) -> f32[] {\n"
    "  %a = f32[] parameter(0)\n  %b = f32[] parameter(1)\n"
    "  ROOT %s = f32[] add(%a, f32[] %b), metadata={op_name=\"jit(f)/add\" line=3}\n}\n\n"
    "%largest (a: f32[], i: s32[], b: f32[], j: s32[]) -> (f32[], s32[]) {\n"
    "  %a = f32[] parameter(0)\n  %i = s32[] parameter(1)\n"
    "  %b = f32[] parameter(2)\n  %j = s32[] parameter(3)\n"
    "  %g = pred[] compare(%a, %b), direction=GE\n"
    "  %v = f32[] select(%g, %a, %b)\n  %w = s32[] select(%g, %i, %j)\n"
    "  ROOT %t = (f32[], /*index=1*/s32[]) tuple(%v, %w)\n}\n\n"
    "%less (a: f32[], b: f32[]) -> pred[] {\n"
    "  %a = f32[] parameter(0)\n  %b = f32[] parameter(1)\n"
    "  ROOT %l = pred[] compare(%a, %b), direction=LT, type=TOTALORDER\n}\n\n"
    "%goes (t: (s32[], f32[3])) -> pred[] {\n"
    "  %t = (s32[], f32[3]{0}) parameter(0)\n  %i = s32[] get-tuple-element(%t), index=0\n"
    "  %k = s32[] constant(4)\n  ROOT %l = pred[] compare(%i, %k), direction=LT\n}\n\n"
    "%step (t: (s32[], f32[3])) -> (s32[], f32[3]) {\n"
    "  %t = (s32[], f32[3]{0}) parameter(0)\n  %i = s32[] get-tuple-element(%t), index=0\n"
    "  %x = f32[3]{0} get-tuple-element(%t), index=1\n  %one = s32[] constant(1)\n"
    "  %j = s32[] add(%i, %one)\n  %y = f32[3]{0} add(%x, %x)\n"
    "  ROOT %u = (s32[], f32[3]{0}) tuple(%j, %y)\n}\n\n"
    "%twice (x: f32[3,2]) -> f32[3,2] {\n"
    "  %x = f32[3,2]{1,0} parameter(0)\n  ROOT %d = f32[3,2]{1,0} add(%x, %x)\n}\n\n"
    "ENTRY %main (p: f32[3,2]) -> (f32[3], s32[3], f32[2,3]) {\n"
    "  %p = f32[3,2]{1,0:T(8,128)} parameter(0), sharding={replicated}\n"
    "  %c = f32[3,2]{1,0} constant({ /*i0=0*/{ 1, -inf }, /*i0=1*/{ nan, 2.5e0 }, { 0, -0 } })\n"
    "  %f = f32[3,2]{1,0} fusion(%p), kind=kLoop, calls=%twice\n"
    "  %z = f32[] constant(0)\n  %low = f32[] constant(-inf)\n  %n = s32[] constant(0)\n"
    "  %r = f32[3]{0} reduce(%f, %z), dimensions={1}, to_apply=%add\n"
    "  %io = s32[3,2]{1,0} iota(), iota_dimension=1\n"
    "  %m = (f32[3]{0}, s32[3]{0}) reduce(%p, %io, %low, %n), dimensions={1}, to_apply=%largest\n"
    "  %at = s32[3]{0} get-tuple-element(%m), index=1\n"
    "  %w0 = (s32[], f32[3]{0}) tuple(%n, %r)\n"
    "  %w = (s32[], f32[3]{0}) while(%w0), condition=%goes, body=%step\n"
    "  %y = f32[3]{0} get-tuple-element(%w), index=1\n"
    "  %sorted = f32[3,2]{1,0} sort(%c), dimensions={0}, is_stable=true, to_apply=%less\n"
    "  %bits = f32[2,3]{0,1} bitcast(%sorted)\n"
    "  %call = f32[2,3]{1,0} custom-call(%bits, %at), custom_call_target=\"f\", api_version=X\n"
    "  ROOT %o = (f32[3]{0}, s32[3]{0}, f32[2,3]{1,0}) tuple(%y, %at, %call)\n}\n";

/* The graph of TEXT; NULL with *ERROR. */
static gemel_graph *graph_of(gemel_context *context, const char *text, size_t length,
                             gemel_error *error) {
  gemel_hlo *module = gemel_hlo_parse(text, length, "m.hlo", error);
  gemel_graph *graph = gemel_hlo_graph(module, context, NULL, module != NULL ? error : NULL);
  gemel_hlo_free(module);
  return graph;
}

/* ---- Results beside XLA's ---- */

/* One module of the file, whose results are those of an opcode and then XLA's. */
typedef struct module_text {
  const char *text;
  size_t length;
  char name[60];
} module_text;

static char *cases_text; /* of the file */

static int is_same(gemel_dtype dtype, const char *found, const char *wanted) {
  double x = gemel__dtype_load(dtype, found), y = gemel__dtype_load(dtype, wanted);
  return (isnan(x) && isnan(y)) || memcmp(found, wanted, gemel_dtype_size(dtype)) == 0;
}

static void check_tensors(const gemel_tensor *found, const gemel_tensor *wanted) {
  gemel_dtype dtype = gemel_tensor_dtype(found);
  CT_REQUIRE(dtype == gemel_tensor_dtype(wanted) &&
             gemel_tensor_elements(found) == gemel_tensor_elements(wanted));
  for (int64_t k = 0; k < gemel_tensor_elements(found); k++) {
    size_t at = (size_t)k * gemel_dtype_size(dtype);
    CT_CHECK(is_same(dtype, (const char *)gemel_tensor_data(found) + at,
                     (const char *)gemel_tensor_data(wanted) + at));
  }
}

static void module_case(const void *data) {
  const module_text *m = data;
  gemel_error error = {0};
  gemel_tensor *out[16] = {NULL};
  gemel_context *context = gemel_context_new(&error);
  gemel_graph *graph = graph_of(context, m->text, m->length, &error);
  ct_context("%s", error.text);
  CT_CHECK(graph != NULL);
  gemel_function *f =
      graph != NULL ? gemel_compile_with(graph, &error, .threads = 1, .as_written = 1) : NULL;
  size_t n = graph != NULL ? gemel_graph_output_count(graph) : 0;
  CT_CHECK(f != NULL && n % 2 == 0 && n <= 16);
  if (f != NULL && n <= 16 && CT_CHECK(gemel_call(f, 0, NULL, n, out, &error) == GEMEL_OK)) {
    for (size_t k = 0; k < n / 2; k++) {
      check_tensors(out[k], out[n / 2 + k]);
    }
  }
  for (size_t k = 0; k < 16; k++) {
    gemel_tensor_unref(out[k]);
  }
  gemel_function_free(f);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

/* Reads the file, which begins with a line of its own; the tests are one for each module. */
static void register_cases(void) {
  const char *root = getenv("GEMEL_SRCDIR");
  char path[4096];
  static module_text modules[400];
  size_t n = 0, length;
  snprintf(path, sizeof path, "%s/tests/hlo.cases", root != NULL ? root : ".");
  FILE *file = fopen(path, "rb");
  cases_text = calloc(1, 1 << 20);
  length = file != NULL && cases_text != NULL ? fread(cases_text, 1, (1 << 20) - 1, file) : 0;
  if (file != NULL) {
    fclose(file);
  }
  for (char *at = cases_text; length > 0 && (at = strstr(at, "\nHloModule ")) != NULL && n < 400;) {
    module_text *m = &modules[n++];
    char *end = strstr(++at, "\nHloModule ");
    m->text = at;
    m->length = end != NULL ? (size_t)(end - at) : strlen(at);
    sscanf(at, "HloModule %59s", m->name);
    CT_ADD("opcodes", m->name, module_case, m);
  }
  if (n < 40) {
    fprintf(stderr, "t-hlo: %s has %zu modules\n", path, n);
    exit(1);
  }
}

/* ---- The whole grammar ---- */

static void whole(const void *data) {
  gemel_error error = {0};
  (void)data;
  gemel_context *context = gemel_context_new(&error);
  gemel_hlo *module = gemel_hlo_parse(module_all, strlen(module_all), "m.hlo", &error);
  char *name = NULL;
  gemel_graph *graph = gemel_hlo_graph(module, context, &name, &error);
  ct_context("%s", error.text);
  CT_CHECK(graph != NULL);
  CT_EQ_STR(name, "jit_f");
  CT_EQ_UINT(gemel_graph_output_count(graph), 3);
  CT_EQ_INT(gemel_graph_check(graph, &error), GEMEL_OK);
  CT_EQ_STR(gemel_graph_input_name(graph, 0), "p0");
  CT_EQ_STR(gemel_value_operation(gemel_graph_output(graph, 2)), "hlo_opaque");
  gemel_location where = gemel_value_where(gemel_graph_output(graph, 2));
  CT_EQ_STR(where.file, "m.hlo");
  CT_EQ_INT(where.line, 70);
  gemel_text_free(name);
  gemel_graph_unref(graph);
  gemel_hlo_free(module);
  gemel_context_unref(context);
}

/* Cut anywhere, it is refused with a place, or was whole. */
static void cut(const void *data) {
  (void)data;
  gemel_error error = {0};
  gemel_context *context = gemel_context_new(&error);
  char *copy = malloc(sizeof module_all);
  size_t end = strrchr(module_all, '}') - module_all;
  CT_REQUIRE(copy != NULL);
  for (size_t n = 0; n < sizeof module_all; n++) {
    char *exact = realloc(copy, n + 1); /* so that a read beyond is seen by Valgrind */
    copy = exact != NULL ? exact : copy;
    memcpy(copy, module_all, n);
    error = (gemel_error){0};
    gemel_graph *graph = graph_of(context, copy, n, &error);
    ct_context("cut at %zu: %s", n, error.text);
    CT_EQ_INT(graph != NULL, n > end);
    CT_CHECK(graph != NULL || (error.status == GEMEL_BAD_FILE && strstr(error.text, "m.hlo:")));
    gemel_graph_unref(graph);
  }
  free(copy);
  gemel_context_unref(context);
}

/* Changes some bytes of TEXT, of LENGTH: to others of its own, or to any. */
static void change(char *text, size_t length) {
  for (uint64_t k = rnd(4) + 1; k > 0; k--) {
    size_t at = rnd(length), from = rnd(length), n = rnd(12) + 1;
    n = at + n > length ? length - at : n;
    n = from + n > length ? length - from : n;
    if (rnd(3) == 0) {
      text[at] = (char)rnd(256);
    } else {
      memmove(text + at, text + from, n);
    }
  }
}

static void changed(const void *data) {
  (void)data;
  unsigned long long n = ct_number("GEMEL_HLO_CHANGES", 4000), read = 0;
  gemel_error error = {0};
  gemel_context *context = gemel_context_new(&error);
  char copy[sizeof module_all];
  for (unsigned long long k = 0; k < n; k++) {
    memcpy(copy, module_all, sizeof module_all);
    change(copy, sizeof module_all - 1);
    error = (gemel_error){0};
    gemel_graph *graph = graph_of(context, copy, sizeof module_all - 1, &error);
    ct_context("change %llu: %s", k, error.text);
    CT_CHECK((graph != NULL) != (error.status != GEMEL_OK && error.text[0] != '\0'));
    CT_CHECK(graph == NULL || gemel_graph_check(graph, &error) == GEMEL_OK);
    read += graph != NULL;
    gemel_graph_unref(graph);
  }
  ct_property("read", (long long)read);
  CT_CHECK(read > 0 && read < n);
  gemel_context_unref(context);
}

static int read_all(void *data) {
  gemel_error error = {0};
  (void)data;
  gemel_context *context = gemel_context_new(&error);
  gemel_graph *graph =
      context != NULL ? graph_of(context, module_all, strlen(module_all), &error) : NULL;
  gemel_graph_unref(graph);
  gemel_context_unref(context);
  return error.status;
}

static void memory(const void *data) {
  (void)data;
  CT_CHECK(ct_oom(read_all, NULL) > 20);
}

/* ---- Refusals ---- */

#define ENTRY(body) "HloModule m\nENTRY e {\n" body "\n}\n"

/* What a text's error holds. */
typedef struct refusal {
  const char *name, *text, *error;
} refusal;

static const refusal refusals[] = {
    {"empty", "", "m.hlo:1:1: no module of HLO"},
    {"other", "graph f() {}", "m.hlo:1:1: no module of HLO"},
    {"no_entry", "HloModule m\n", "there is no entry computation"},
    {"no_operand", ENTRY("  ROOT a = f32[] add(b, c)"), "m.hlo:3:27: there is no b before it"},
    {"twice", ENTRY("  a = f32[] parameter(0)\n  a = f32[] negate(a)"), "m.hlo:4:22: a is there"},
    {"layout", ENTRY("  a = f32[2]{1} parameter(0)"), "m.hlo:3:16: the layout isn't an order"},
    {"parameters", ENTRY("  a = f32[] parameter(1)"), "parameters aren't numbered"},
    {"dynamic", ENTRY("  a = f32[<=3] parameter(0)"), "known only when it runs"},
    {"large", ENTRY("  a = f32[99999999999999999999] parameter(0)"), "a size is too large"},
    {"shape", ENTRY("  a = f32[2] parameter(0)\n  ROOT b = f32[3] negate(a)"),
     "m.hlo:4: b, negate: it gives f32[2], which isn't its shape"},
    {"dtype", ENTRY("  a = f32[2] parameter(0)\n  ROOT b = s32[2] negate(a)"),
     "which isn't its shape"},
    {"few_numbers", ENTRY("  ROOT a = f32[3] constant({1, 2})"), "a number is expected"},
    {"many_numbers", ENTRY("  ROOT a = f32[1] constant({1, 2})"), "more numbers than its shape"},
    {"left_out", ENTRY("  ROOT a = f32[2] constant({...})"), "numbers are left out"},
    {"left_out_many", ENTRY("  ROOT a = f32[100] constant({...})"), "dump_large_constants"},
    {"too_wide", ENTRY("  ROOT a = s8[] constant(300)"), "a number that its type can't hold"},
    {"index", ENTRY("  a = (f32[]) parameter(0)\n  ROOT b = f32[] get-tuple-element(a), index=1"),
     "its operand has no part 1"},
    {"axes",
     ENTRY("  a = f32[2,2] parameter(0)\n"
           "  ROOT b = f32[2,2] transpose(a), dimensions={0,0}"),
     "m.hlo:4: "},
    {"slice", ENTRY("  a = f32[2] parameter(0)\n  ROOT b = f32[3] slice(a), slice={[0:3]}"),
     "it isn't within its operand"},
    {"no_region",
     ENTRY("  a = f32[2] parameter(0)\n  z = f32[] constant(0)\n"
           "  ROOT b = f32[] reduce(a, z), dimensions={0}, to_apply=f"),
     "there is no computation that is its to_apply"},
    {"itself",
     "HloModule m\nf {\n  a = f32[] parameter(0)\n  ROOT b = f32[] call(a), to_apply=f\n}\n"
     "ENTRY e {\n  a = f32[] parameter(0)\n  ROOT b = f32[] call(a), to_apply=f\n}\n",
     "m.hlo:4: b, call: "},
};

static void refused(const void *data) {
  const refusal *r = data;
  gemel_error error = {0};
  gemel_context *context = gemel_context_new(&error);
  gemel_graph *graph = graph_of(context, r->text, strlen(r->text), &error);
  CT_CHECK(graph == NULL);
  CT_HAS_STR(error.text, r->error);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

static void null_arguments(const void *data) {
  gemel_error error = {0};
  (void)data;
  gemel_context *context = gemel_context_new(&error);
  gemel_hlo_free(NULL);
  CT_CHECK(gemel_hlo_load(NULL, &error) == NULL && error.status == GEMEL_BAD_ARGUMENT);
  CT_CHECK(gemel_hlo_parse(NULL, 0, NULL, &error) == NULL && error.status == GEMEL_BAD_ARGUMENT);
  CT_CHECK(gemel_hlo_graph(NULL, context, NULL, &error) == NULL &&
           error.status == GEMEL_BAD_ARGUMENT);
  CT_CHECK(gemel_hlo_load("/nowhere/m.hlo", &error) == NULL && error.status == GEMEL_IO);
  gemel_context_unref(context);
}

/* ---- Loops that are counted ---- */

/* A while of N steps becomes a loop of that length; one whose end isn't known ends by itself. */
static void trips(const void *data) {
  const char *const *wanted = data;
  gemel_error error = {0};
  char text[2000];
  gemel_context *context = gemel_context_new(&error);
  snprintf(
      text, sizeof text,
      "HloModule m\n"
      "g {\n  t = (s32[], f32[]) parameter(0)\n  i = s32[] get-tuple-element(t), index=0\n"
      "  k = s32[] constant(%s)\n  ROOT l = pred[] compare(i, k), direction=%s\n}\n"
      "f {\n  t = (s32[], f32[]) parameter(0)\n  i = s32[] get-tuple-element(t), index=0\n"
      "  x = f32[] get-tuple-element(t), index=1\n  o = s32[] constant(%s)\n"
      "  j = s32[] add(i, o)\n  y = f32[] add(x, x)\n  ROOT u = (s32[], f32[]) tuple(j, y)\n}\n"
      "ENTRY e {\n  z = s32[] %s\n  x = f32[] parameter(0)\n  t = (s32[], f32[]) tuple(z, x)\n"
      "  w = (s32[], f32[]) while(t), condition=g, body=f\n"
      "  ROOT r = f32[] get-tuple-element(w), index=1\n}\n",
      wanted[0], wanted[1], wanted[2], wanted[3]);
  gemel_graph *graph = graph_of(context, text, strlen(text), &error);
  ct_context("%s", error.text);
  CT_CHECK(graph != NULL);
  gemel_attr length = {0}, until = {0};
  gemel_value loop = gemel_graph_output(graph, 0);
  int is_loop = strcmp(gemel_value_operation(loop), "scan") == 0;
  int64_t n = 0;
  CT_EQ_INT(is_loop, strcmp(wanted[4], "0") != 0);
  if (is_loop && gemel_value_attr(loop, "length", &length) == GEMEL_OK &&
      gemel_value_attr(loop, "until", &until) == GEMEL_OK) {
    CT_EQ_INT(until.u.i != 0, strcmp(wanted[4], "until") == 0);
    CT_CHECK(until.u.i != 0 || (gemel_dim_is_constant(context, length.u.dim, &n) &&
                                n == strtoll(wanted[4], NULL, 10)));
  }
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

/* The limit, how it is compared, the step, the first value; how many steps. */
static const char *const trip_cases[][5] = {
    {"5", "LT", "1", "constant(0)", "5"},
    {"5", "LE", "2", "constant(0)", "3"},
    {"0", "GT", "-3", "constant(7)", "3"},
    {"0", "LT", "1", "constant(0)", "0"},
    {"7", "NE", "1", "constant(4)", "3"},
    {"2147483647", "LE", "1", "constant(2147483640)", "until"}, /* it never ends */
    {"5", "LT", "1", "parameter(1)", "until"}};

/* ---- What a scalars' computation is ---- */

/* Of a reduction of f32[3] or pred[3], by a computation of A and B: whether it is gemel's, or a
 * loop. */
static void kinds(const void *data) {
  (void)data;
  static const struct {
    const char *dtype, *body, *operation;
  } rows[] = {
      {"f32", "ROOT s = f32[] add(a, b)", "sum"},
      {"f32", "ROOT s = f32[] add(b, a)", "sum"},
      {"f32", "ROOT s = f32[] add(a, a)", "scan"},
      {"f32", "ROOT s = f32[] subtract(a, b)", "scan"},
      {"f32", "c = bf16[] convert(a)\n  d = f32[] convert(c)\n  ROOT s = f32[] add(d, b)", "scan"},
      {"f32", "c = s32[] convert(b)\n  d = f32[] convert(c)\n  ROOT s = f32[] add(a, d)", "scan"},
      {"f32",
       "c = f32[2] broadcast(b), dimensions={}\n  z = f32[] constant(0)\n"
       "  d = f32[] reduce(c, z), dimensions={0}, to_apply=g\n  ROOT s = f32[] add(a, d)",
       "hlo_opaque"},
      {"bf16",
       "c = f32[] convert(a)\n  d = f32[] convert(b)\n  e = f32[] add(c, d)\n"
       "  ROOT s = bf16[] convert(e)",
       "sum"},
      {"bf16",
       "c = f32[] convert(a)\n  d = f32[] convert(b)\n  e = f32[] multiply(c, d)\n"
       "  ROOT s = bf16[] convert(e)",
       "scan"},
      {"pred", "ROOT s = pred[] or(a, b)", "any"},
      {"pred", "ROOT s = pred[] and(b, a)", "all"},
      {"pred", "n = pred[] not(b)\n  ROOT s = pred[] copy(b)", "scan"},
      {"pred", "ROOT s = pred[] xor(a, b)", "scan"}};
  for (size_t k = 0; k < CT_COUNT(rows); k++) {
    char text[2000];
    gemel_error error = {0};
    const char *t = rows[k].dtype;
    snprintf(
        text, sizeof text,
        "HloModule m\ng {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
        "  ROOT s = f32[] add(a, b)\n}\nf {\n  a = %s[] parameter(0)\n"
        "  b = %s[] parameter(1)\n  %s\n}\nENTRY e {\n  x = %s[3] parameter(0)\n"
        "  i = %s[] parameter(1)\n  ROOT r = %s[] reduce(x, i), dimensions={0}, to_apply=f\n}\n",
        t, t, rows[k].body, t, t, t);
    gemel_context *context = gemel_context_new(&error);
    gemel_graph *graph = graph_of(context, text, strlen(text), &error);
    ct_context("%s: %s", rows[k].body, error.text);
    CT_CHECK(graph != NULL);
    char *shown = gemel_print_string(graph, "g", NULL);
    int is_loop = shown != NULL && strstr(shown, "scan(") != NULL;
    int is_opaque = shown != NULL && strstr(shown, "hlo_opaque(") != NULL;
    CT_EQ_INT(is_loop, strcmp(rows[k].operation, "scan") == 0);
    CT_EQ_INT(is_opaque, strcmp(rows[k].operation, "hlo_opaque") == 0);
    gemel_text_free(shown);
    gemel_graph_unref(graph);
    gemel_context_unref(context);
  }
}

/* ---- Opaque instructions ---- */

/* Two custom calls are one node where they are written alike, but for what says nothing. */
static void opaque(const void *data) {
  (void)data;
  static const struct {
    const char *first, *second;
    int same;
  } rows[] = {
      {"custom-call(a), custom_call_target=\"f\"", "custom-call(a), custom_call_target=\"f\"", 1},
      {"custom-call(a), custom_call_target=\"f\", metadata={op_name=\"x\"}",
       "custom-call(a), custom_call_target=\"f\"", 1},
      {"custom-call(a), custom_call_target=\"f\"", "custom-call(a), custom_call_target=\"g\"", 0},
      {"custom-call(a), custom_call_target=\"f\", backend_config={\"k\": 1}",
       "custom-call(a), custom_call_target=\"f\", backend_config={\"k\": 2}", 0},
      {"all-reduce(a), to_apply=s1", "all-reduce(a), to_apply=s2", 1},
      {"all-reduce(a), to_apply=s1", "all-reduce(a), to_apply=s3", 0},
      {"rng(a, a), distribution=rng_uniform", "rng(a, a), distribution=rng_uniform", 0},
      {"custom-call(a), custom_call_target=\"f\"", "custom-call(b), custom_call_target=\"f\"", 0},
      {"get-tuple-element(u), index=0", "get-tuple-element(v), index=0", 0},
      {"get-tuple-element(u), index=0", "get-tuple-element(w), index=0", 1},
      {"bitcast(h), metadata={op_name=\"x\"}", "bitcast(i)", 0}};
  static const char *const kinds[] = {"add", "add", "multiply"};
  for (size_t k = 0; k < CT_COUNT(rows); k++) {
    gemel_error error = {0};
    char text[3000];
    size_t n = (size_t)sprintf(text, "HloModule m\n");
    for (int i = 0; i < 3; i++) {
      n += (size_t)sprintf(text + n,
                           "s%d {\n  x%d = f32[] parameter(0)\n  y = f32[] parameter(1)\n"
                           "  ROOT z = f32[] %s(x%d, y)\n}\n",
                           i + 1, i, kinds[i], i);
    }
    sprintf(text + n,
            "ENTRY e {\n  a = f32[2] parameter(0)\n  b = f32[2] parameter(1)\n"
            "  u = (f32[2], f32[3,3]{0,1}) custom-call(a), custom_call_target=\"g\"\n"
            "  v = (f32[2], f32[3,3]) custom-call(a), custom_call_target=\"g\"\n"
            "  w = (f32[2], f32[3,3]{0,1}) custom-call(a), custom_call_target=\"g\"\n"
            "  h = f32[2]{0:T(2)} copy(a)\n  i = f32[2]{0:T(1)} copy(a)\n"
            "  c = f32[2] %s\n  d = f32[2] %s\n  ROOT t = (f32[2], f32[2]) tuple(c, d)\n}\n",
            rows[k].first, rows[k].second);
    gemel_context *context = gemel_context_new(&error);
    gemel_graph *graph = graph_of(context, text, strlen(text), &error);
    ct_context("%s and %s: %s", rows[k].first, rows[k].second, error.text);
    CT_CHECK(graph != NULL);
    CT_EQ_INT(gemel_graph_output(graph, 0).node == gemel_graph_output(graph, 1).node, rows[k].same);
    gemel_graph_unref(graph);
    gemel_context_unref(context);
  }
}

/* How many results a module with two of its own has, with one for each effect; and whether an
 * opaque instruction is among its nodes: loops and branches with effects are. */
static void effects(const void *data) {
  (void)data;
  static const char print[] = "p = () custom-call(%s), custom_call_target=\"p\", "
                              "custom_call_has_side_effect=true";
  static const struct {
    const char *inner, *entry;
    uint32_t outputs;
    int is_opaque;
  } rows[] = {
      {"", "", 2, 0},
      {"", "o = token[] outfeed(a, k)", 3, 1},
      {"", "o = f32[2] custom-call(a), custom_call_target=\"f\"", 2, 0},
      {"", "o = f32[2] rng(a, a), distribution=rng_uniform", 2, 0},
      {"", print, 3, 1},
      {print, "", 2, 0},
      {print, "o = f32[2] call(a), to_apply=f", 3, 1},
      {print, "o = f32[2] call(a), to_apply=g", 3, 1},
      {print, "o = f32[2] call(a), to_apply=f\n  q = f32[2] call(a), to_apply=f", 4, 1},
      {print,
       "n = s32[] constant(0)\n  o = f32[2] conditional(n, a, a), branch_computations={f, h}", 3,
       1},
      {"", "n = s32[] constant(0)\n  o = f32[2] conditional(n, a, a), branch_computations={f, h}",
       2, 0}};
  for (size_t k = 0; k < CT_COUNT(rows); k++) {
    gemel_error error = {0};
    char text[3000], inner[200], entry[200];
    snprintf(inner, sizeof inner, rows[k].inner, "x");
    snprintf(entry, sizeof entry, rows[k].entry, "a");
    snprintf(text, sizeof text,
             "HloModule m\n"
             "f {\n  x = f32[2] parameter(0)\n  %s\n  ROOT y = f32[2] negate(x)\n}\n"
             "g {\n  x = f32[2] parameter(0)\n  ROOT c = f32[2] call(x), to_apply=f\n}\nh {\n  x = "
             "f32[2] parameter(0)\n  ROOT y = f32[2] add(x, x)\n}\n"
             "ENTRY e {\n  a = f32[2] parameter(0)\n  k = token[] after-all()\n  %s\n"
             "  b = f32[2] call(a), to_apply=h\n  ROOT t = (f32[2], f32[2]) tuple(a, b)\n}\n",
             inner, entry);
    gemel_context *context = gemel_context_new(&error);
    gemel_graph *graph = graph_of(context, text, strlen(text), &error);
    ct_context("%s, %s: %s", inner, entry, error.text);
    CT_CHECK(graph != NULL);
    char *shown = gemel_print_string(graph, "g", NULL);
    CT_EQ_INT(gemel_graph_output_count(graph), rows[k].outputs);
    CT_EQ_INT(shown != NULL && strstr(shown, "hlo_opaque(") != NULL, rows[k].is_opaque);
    gemel_text_free(shown);
    gemel_graph_unref(graph);
    gemel_context_unref(context);
  }
}

void ct_register(void) {
  static const ct_test tests[] = {
      CT_TEST("whole", whole, NULL),         CT_TEST("cut", cut, NULL),
      CT_TEST("changed", changed, NULL),     CT_TEST("memory", memory, NULL),
      CT_TEST("null", null_arguments, NULL), CT_TEST("opaque", opaque, NULL),
      CT_TEST("kinds", kinds, NULL),         CT_TEST("effects", effects, NULL)};
  ct_suite("hlo", tests, CT_COUNT(tests));
  for (size_t k = 0; k < CT_COUNT(refusals); k++) {
    CT_ADD("refused", refusals[k].name, refused, &refusals[k]);
  }
  for (size_t k = 0; k < CT_COUNT(trip_cases); k++) {
    CT_ADD("trips", trip_cases[k][4], trips, trip_cases[k]);
  }
  ct_shares();
  register_cases();
}
