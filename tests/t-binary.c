/* SPDX-License-Identifier: MIT
 *
 * The binary form: graphs come back as they were, sections of a newer writer are skipped, and files
 * that are cut off, damaged, or put together by an enemy are refused without harm.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <gemel/gemel.h>
#include "core/alloc.h"
#include "core/attrs.h"
#include "core/graph.h"
#include "text/binary.h"
#include "text/write.h"
#include "ct.h"
#include "support/corpus.h"
#include "support/graph-text.h"
#include "support/small-stack.h"
#include "support/watched-memory.h"
#include "support/random.h"
#include "support/operation.h"

static const char sample[] =
    "graph body(a: f32[N]) { return s = a * a }\n"
    "graph g(x: f32[N, (H+2*p-k)//s+1], b: f32[500], n7: i64[], N: i64[]) {\n"
    "  t = tanh(x * 2.5) + 0.1 + -inf\n"
    "  q = where(b > 0 and not (b == 2), 1, 0.5 * b)\n"
    "  r = reshape(q, shape = [n7, 500 // n7])\n"
    "  s1, s2 = split(q, sizes = [N, 500 - N])\n"
    "  c = tensor(f64[2, 3], [1, 2.5, nan, -inf, 1e300, 0.1])\n"
    "  d = sum(invoke(b, body = body), axes = [0], keepdims = 1) + nan(0x7fc00001):f32\n"
    "  e = join(b, b, b, b, b, b, b, b, b, b, b, b, b, b, b, b, b, b, b, b)\n"
    "  return t, z = q, r, s2, c, d, i = n7, e\n"
    "}\n";

/* GRAPH's bytes; release with gemel__free(bytes, capacity). */
static gemel__text_memory serialize(const gemel_graph *graph) {
  gemel__text_memory bytes = {NULL, 0, 0};
  gemel_error error = {0};
  CT_EQ_INT(gemel_serialize(graph, "name", gemel__memory_write, &bytes, &error), GEMEL_OK);
  return bytes;
}

static void release(gemel__text_memory *bytes) {
  gemel__free(bytes->bytes, bytes->capacity);
}

/* Through bytes into the same and into another context. */
static void check_trip(gemel_context *context, const gemel_graph *graph) {
  gemel__text_memory bytes = serialize(graph), again;
  gemel_error error = {0};
  char *name = NULL;
  gemel_context *other = gemel_context_new(NULL);
  gemel_graph *back = gemel_deserialize(context, bytes.bytes, bytes.count, &name, &error);
  gemel_graph *there = gemel_deserialize(other, bytes.bytes, bytes.count, NULL, &error);
  CT_EQ_STR(error.text, "");
  CT_REQUIRE(back && there);
  CT_EQ_STR(name, "name");
  CT_EQ_INT(gemel_graph_check(there, &error), GEMEL_OK);
  same_text(graph, back);
  same_text(graph, there);
  again = serialize(there);
  CT_EQ_UINT(again.count, bytes.count);
  CT_CHECK(again.count == bytes.count && CT_EQ_MEM(again.bytes, bytes.bytes, bytes.count));
  release(&bytes);
  release(&again);
  gemel_text_free(name);
  gemel_graph_unref(back);
  gemel_graph_unref(there);
  gemel_context_unref(other);
}

static void round_trip(const void *data) {
  const corpus_file *file = data;
  gemel_context *context = gemel_context_new(NULL);
  gemel_error error = {0};
  gemel_graph *graph =
      file ? gemel_load(context, file->path, NULL, &error) : parse(context, sample);
  CT_EQ_STR(error.text, "");
  CT_REQUIRE(graph != NULL);
  check_trip(context, graph);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

/* Every kind of attribute, through an operation that has them all. */
static const gemel_attr_spec all_attrs[] = {
    {"int", GEMEL_ATTR_INT, "3"},
    {"dim", GEMEL_ATTR_DIM, NULL},
    {"float", GEMEL_ATTR_FLOAT, "0.5"},
    {"dtype", GEMEL_ATTR_DTYPE, "f32"},
    {"string", GEMEL_ATTR_STRING, "abc"},
    {"tensor", GEMEL_ATTR_TENSOR, "none"},
    {"graph", GEMEL_ATTR_GRAPH, "none"},
    {"ints", GEMEL_ATTR_LIST | GEMEL_ATTR_INT, "[]"},
    {"dims", GEMEL_ATTR_LIST | GEMEL_ATTR_DIM, "none"},
    {"floats", GEMEL_ATTR_LIST | GEMEL_ATTR_FLOAT, "none"},
    {"dtypes", GEMEL_ATTR_LIST | GEMEL_ATTR_DTYPE, "none"},
    {"strings", GEMEL_ATTR_LIST | GEMEL_ATTR_STRING, "none"},
    {"tensors", GEMEL_ATTR_LIST | GEMEL_ATTR_TENSOR, "none"},
    {"graphs", GEMEL_ATTR_LIST | GEMEL_ATTR_GRAPH, "none"},
    {NULL, 0, NULL},
};

static const char all_text[] =
    "graph one(a: f32[N]) { return s = a }\n"
    "graph two(a: f32[N]) { return s = all(a, dim = N, graph = one, string = \"in\") }\n"
    "graph g(x: f32[N]) {\n"
    "  a = all(x, dim = 2*M + 1)\n"
    "  b = all(x, dim = 1, int = -9223372036854775807 - 1, float = -inf, dtype = bf16, string = "
    "\"a\\\"\\\\\\n\\t\\x01\xc3\xa9 # {\", tensor = tensor(i8[2, 0], []), graph = two)\n"
    "  c = all(a, dim = M, ints = [1, -2, 3], dims = [N, M, 4], floats = [1, 0.1, nan, -0.0],\n"
    "          dtypes = [bool, f64], strings = [\"\", \"x\"], tensors = [1:f16, tensor(bool[1], "
    "[1])], graphs = [one, two, one])\n"
    "  d = all(b, dim = M, int = 3, float = 0.5, string = \"abc\", ints = [], dims = [], floats = "
    "none)\n"
    "  return c, d\n"
    "}\n";

static void all_kinds(const void *data) {
  static const gemel_kernel kernels[] = {{.name = "plain", .run = run_nothing}, {.name = NULL}};
  gemel_operation all = {.size = sizeof all,
                         .name = "all",
                         .summary = "All attributes.",
                         .min_inputs = 1,
                         .max_inputs = 1,
                         .version = 2,
                         .attrs = all_attrs,
                         .infer = same_type,
                         .kernels = kernels};
  gemel_error error = {0};
  (void)data;
  gemel_context *context = gemel_context_new(NULL), *other = gemel_context_new(NULL);
  CT_EQ_INT(gemel_register_operation(context, &all, &error), GEMEL_OK);
  CT_EQ_STR(error.text, "");
  gemel_graph *graph = parse(context, all_text);
  CT_REQUIRE(graph != NULL);
  char *text = gemel_print_string(graph, "g", NULL);
  CT_HAS_STR(text, "string = \"a\\\"\\\\\\n\\t\\x01\xc3\xa9 # {\"");
  CT_HAS_STR(text, "floats = [1, 0.1, nan, -0]");
  CT_HAS_STR(text, "graphs = [body1, body2, body1]");
  CT_HAS_STR(text, "n1 = all(x, int = -9223372036854775808, dim = 1, float = -inf, dtype = bf16");
  gemel_graph *again = parse(context, text);
  CT_REQUIRE(again != NULL);
  same_text(graph, again);
  gemel__text_memory bytes = serialize(graph);
  gemel_graph *back = gemel_deserialize(context, bytes.bytes, bytes.count, NULL, &error);
  CT_EQ_STR(error.text, "");
  CT_REQUIRE(back != NULL);
  same_text(graph, back);
  /* where the operation is not known, or only in an older version */
  CT_CHECK(!gemel_deserialize(other, bytes.bytes, bytes.count, NULL, &error));
  CT_EQ_INT(error.status, GEMEL_UNSUPPORTED);
  CT_HAS_STR(error.text, "operation all, version 2");
  all.version = 1;
  CT_EQ_INT(gemel_register_operation(other, &all, &error), GEMEL_OK);
  CT_CHECK(!gemel_deserialize(other, bytes.bytes, bytes.count, NULL, &error));
  CT_EQ_INT(error.status, GEMEL_UNSUPPORTED);
  release(&bytes);
  gemel_text_free(text);
  gemel_graph_unref(graph);
  gemel_graph_unref(again);
  gemel_graph_unref(back);
  gemel_context_unref(context);
  gemel_context_unref(other);
}

/* ---- Damage ---- */

/* Puts the checksum right again, for damage that is to get past it. */
static void sign(gemel__text_memory *bytes) {
  size_t body = bytes->count - GEMEL__SECTION_BYTES - 8;
  uint64_t checksum = gemel__checksum(GEMEL__CHECKSUM_START, bytes->bytes, body);
  memcpy(bytes->bytes + bytes->count - 8, &checksum, sizeof checksum);
}

/* Reads N bytes from a block of their own. */
static gemel_status read_copy(gemel_context *context, const char *bytes, size_t n,
                              gemel_error *error) {
  char *exact = (char *)malloc(n + 1);
  memcpy(exact, bytes, n);
  gemel_graph *graph = gemel_deserialize(context, exact, n, NULL, error);
  gemel_status status = graph ? GEMEL_OK : error->status;
  if (graph) {
    CT_EQ_INT(gemel_graph_check(graph, error), GEMEL_OK);
  }
  gemel_graph_unref(graph);
  free(exact);
  return status;
}

static void cut_off(const void *data) {
  (void)data;
  gemel_context *context = gemel_context_new(NULL);
  gemel_graph *graph = parse(context, sample);
  gemel__text_memory bytes = serialize(graph);
  gemel_error error;
  for (size_t k = 0; k < bytes.count; k++) {
    CT_EQ_INT(read_copy(context, bytes.bytes, k, &error), GEMEL_BAD_FILE);
    CT_HAS_STR(error.text, "at byte");
  }
  CT_EQ_INT(gemel__memory_write(&bytes, "\0\0\0\0\0\0\0", 8), 0);
  CT_EQ_INT(read_copy(context, bytes.bytes, bytes.count, &error), GEMEL_BAD_FILE);
  release(&bytes);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

/* A later version may have more dtypes. */
static void strange_dtype(const void *data) {
  gemel_context *context = gemel_context_new(NULL);
  gemel_graph *graph = parse(context, "graph g(x: bf16[8]) { return y = x + x }");
  gemel_error error;
  (void)data;
  CT_REQUIRE(graph != NULL);
  gemel__text_memory bytes = serialize(graph);
  char *at = (char *)memmem(bytes.bytes, bytes.count, "bf16", 4);
  CT_REQUIRE(at != NULL);
  memcpy(at, "bf17", 4);
  sign(&bytes);
  CT_EQ_INT(read_copy(context, bytes.bytes, bytes.count, &error), GEMEL_BAD_FILE);
  CT_HAS_STR(error.text, "'bf17'");
  CT_HAS_STR(error.text, " bf16 f32 f64");
  release(&bytes);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

/* A bool is 0 or 1, in memory and so in a file. */
static void strange_bool(const void *data) {
  static const char values[8] = {1, 0, 1, 1, 0, 1, 0, 1};
  gemel_context *context = gemel_context_new(NULL);
  gemel_graph *graph =
      parse(context, "graph g(x: f32[8]) { return y = where(tensor(bool[8], [true, "
                     "0, 1, 1, 0, 1, 0, 1]), x, 0) }");
  gemel_error error;
  (void)data;
  CT_REQUIRE(graph != NULL);
  gemel__text_memory bytes = serialize(graph);
  char *at = (char *)memmem(bytes.bytes, bytes.count, values, sizeof values);
  CT_REQUIRE(at != NULL);
  CT_EQ_INT(read_copy(context, bytes.bytes, bytes.count, &error), GEMEL_OK);
  at[2] = 7;
  sign(&bytes);
  CT_EQ_INT(read_copy(context, bytes.bytes, bytes.count, &error), GEMEL_BAD_FILE);
  CT_HAS_STR(error.text, "a bool is neither 0 nor 1");
  release(&bytes);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

/* One flipped bit anywhere is noticed: by the checksum, or before. */
static void flipped(const void *data) {
  (void)data;
  gemel_context *context = gemel_context_new(NULL);
  gemel_graph *graph = parse(context, sample);
  gemel__text_memory bytes = serialize(graph);
  gemel_error error;
  for (size_t k = 0; k < 8 * bytes.count; k++) {
    bytes.bytes[k / 8] = (char)(bytes.bytes[k / 8] ^ 1 << k % 8);
    gemel_status status = read_copy(context, bytes.bytes, bytes.count, &error);
    CT_CHECK(status == GEMEL_BAD_FILE || status == GEMEL_UNSUPPORTED);
    bytes.bytes[k / 8] = (char)(bytes.bytes[k / 8] ^ 1 << k % 8);
  }
  release(&bytes);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

/* Damage with a checksum that fits: extreme numbers, random bytes, words moved about. */
static void enemy(const void *data) {
  static const uint64_t extremes[] = {0,          1,          2,          127,        128,
                                      255,        256,        0x7fffffff, 0x80000000, 0xffffffff,
                                      1ull << 32, 1ull << 40, 1ull << 62, 1ull << 63, ~0ull};
  (void)data;
  int accepted = 0;
  watch_memory(0);
  gemel_context *context = gemel_context_new(NULL);
  gemel_graph *graph = parse(context, sample);
  gemel__text_memory good = serialize(graph);
  gemel__text_memory bad = {(char *)malloc(good.count), good.count, good.count};
  state = 4711;
  atomic_store(&watched.largest, 0);
  for (int round = 0; round < 30000; round++) {
    gemel_error error = {0};
    memcpy(bad.bytes, good.bytes, good.count);
    for (uint64_t k = 1 + rnd(3); k > 0; k--) {
      uint64_t word = extremes[rnd(CT_COUNT(extremes))];
      size_t at = GEMEL__HEAD_BYTES + rnd(good.count - GEMEL__HEAD_BYTES - 8);
      size_t n = rnd(2) ? 1 + rnd(8) : rnd(2) ? 4 : 8;
      at = n == 4 || n == 8 ? at / n * n : at;
      if (rnd(4) == 0) {
        memcpy(&word, good.bytes + rnd(good.count - 8), 8);
      } else if (rnd(3) == 0) {
        word = rnd(1u << 31) << 33 ^ rnd(1u << 31);
      }
      memcpy(bad.bytes + at, &word, n);
    }
    sign(&bad);
    gemel_status status = read_copy(context, bad.bytes, bad.count, &error);
    accepted += status == GEMEL_OK;
    if (status) {
      CT_CHECK(error.text[0] && error.status == status && status != GEMEL_INTERNAL);
    }
  }
  CT_CHECK(accepted > 100 && accepted < 25000);
  /* nothing in reading a file of some kilobytes needs more */
  CT_CHECK(atomic_load(&watched.largest) < 4 << 20);
  ct_property("accepted", accepted);
  ct_property("largest_allocation", atomic_load(&watched.largest));
  free(bad.bytes);
  release(&good);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
  unwatch_memory();
}

/* A node that refers to itself, or to before the first value. */
static void dangling(const void *data) {
  (void)data;
  gemel_context *context = gemel_context_new(NULL);
  gemel_graph *graph = parse(context, "graph g(x: f32[]) { return y = -x }");
  gemel__text_memory bytes = serialize(graph);
  gemel_error error = {0};
  size_t at = bytes.count - GEMEL__SECTION_BYTES - 8;
  while (memcmp(bytes.bytes + at, "\0\1\1", 3) != 0) { /* kind 0, one input, one value ago */
    at--;
  }
  for (char back = 0; back <= 2; back++) {
    bytes.bytes[at + 2] = back;
    sign(&bytes);
    CT_EQ_INT(read_copy(context, bytes.bytes, bytes.count, &error),
              back == 1 ? GEMEL_OK : GEMEL_BAD_FILE);
    if (back != 1) {
      CT_HAS_STR(error.text, "a value that is not there");
    }
  }
  release(&bytes);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

/* ---- Versions ---- */

/* Inserts an unknown section with FLAGS behind the head. */
static gemel__text_memory with_section(const gemel__text_memory *bytes, uint32_t flags) {
  gemel__text_memory all = {NULL, 0, 0};
  uint32_t head[4] = {GEMEL__TAG('N', 'E', 'W', '!'), flags, 11, 0};
  gemel__memory_write(&all, bytes->bytes, GEMEL__HEAD_BYTES);
  gemel__memory_write(&all, head, sizeof head);
  gemel__memory_write(&all, "hello world\0\0\0\0", 16);
  gemel__memory_write(&all, bytes->bytes + GEMEL__HEAD_BYTES, bytes->count - GEMEL__HEAD_BYTES);
  sign(&all);
  return all;
}

static void versions(const void *data) {
  (void)data;
  gemel_context *context = gemel_context_new(NULL);
  gemel_graph *graph = parse(context, sample);
  gemel__text_memory bytes = serialize(graph);
  gemel_error error = {0};
  gemel__text_memory skipped = with_section(&bytes, 0);
  CT_EQ_INT(read_copy(context, skipped.bytes, skipped.count, &error), GEMEL_OK);
  gemel__text_memory needed = with_section(&bytes, GEMEL__SECTION_REQUIRED);
  CT_EQ_INT(read_copy(context, needed.bytes, needed.count, &error), GEMEL_BAD_FILE);
  CT_HAS_STR(error.text, "not known");
  bytes.bytes[8] = 2;
  CT_EQ_INT(read_copy(context, bytes.bytes, bytes.count, &error), GEMEL_UNSUPPORTED);
  CT_HAS_STR(error.text, "version 2");
  release(&bytes);
  release(&skipped);
  release(&needed);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

/* ---- Files ---- */

static const char *scratch(const char *suffix) {
  static char path[500];
  snprintf(path, sizeof path, "%s/t-binary%s", ct_scratch(), suffix);
  return path;
}

static void files(const void *data) {
  static const char *const suffixes[] = {".gemel", ".gmt"};
  gemel_context *context = gemel_context_new(NULL);
  gemel_graph *graph = parse(context, sample);
  gemel_error error = {0};
  (void)data;
  for (int k = 0; k < 2; k++) {
    char first[8] = "", *name = NULL;
    const char *path = scratch(suffixes[k]);
    CT_EQ_INT(gemel_save(graph, "g", path, &error), GEMEL_OK);
    FILE *f = fopen(path, "rb");
    CT_CHECK(f && fread(first, 1, 6, f) == 6);
    fclose(f);
    CT_EQ_MEM(first, k ? "graph " : "\x93GEMEL", 6);
    gemel_graph *back = gemel_load(context, path, &name, &error);
    CT_REQUIRE(back != NULL);
    CT_EQ_STR(name, "g");
    CT_EQ_STR(gemel_value_where(gemel_graph_output(back, 0)).file, path);
    same_text(graph, back);
    gemel_text_free(name);
    gemel_graph_unref(back);
    remove(path);
  }
  CT_CHECK(!gemel_load(context, "no-such-file", NULL, &error));
  CT_EQ_INT(error.status, GEMEL_IO);
  CT_HAS_STR(error.text, "no-such-file");
  CT_CHECK(!gemel_load(context, ".", NULL, &error));
  CT_EQ_INT(error.status, GEMEL_IO);
  CT_EQ_INT(gemel_save(graph, "g", "no-such-folder/g.gemel", &error), GEMEL_IO);
  CT_EQ_INT(gemel_save(graph, "a b", scratch(".gmt"), &error), GEMEL_BAD_ARGUMENT);
  CT_CHECK(access(scratch(".gmt"), F_OK) != 0);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

/* ---- Size ---- */

static void *long_chain(void *data) {
  enum { N = 300000 };
  gemel_context *context = gemel_context_new(NULL);
  gemel_graph *graph = gemel_graph_new(context, NULL);
  gemel_value v[2];
  (void)data;
  v[0] = v[1] = gemel_input(graph, "x", gemel_type_of_shape(context, GEMEL_F32, 0, NULL));
  for (int k = 0; k < N; k++) {
    v[0] = k % 3 ? gemel_apply(graph, "add", 2, v, 0, NULL)
                 : gemel_apply(graph, "tanh", 1, v, 0, NULL);
  }
  gemel_output(v[0], "y");
  check_trip(context, graph);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
  return NULL;
}

static void chain(const void *data) {
  on_small_stack(long_chain, data);
}

static int out_and_back(void *data) {
  gemel_error error = {0};
  gemel__text_memory bytes = {NULL, 0, 0};
  gemel_context *context = gemel_context_new(&error);
  gemel_graph *graph = context ? gemel_parse(context, (const char *)data,
                                             strlen((const char *)data), NULL, NULL, &error)
                               : NULL;
  gemel_status status = graph ? GEMEL_OK : error.status;
  if (!status) {
    status = gemel_serialize(graph, "g", gemel__memory_write, &bytes, &error);
    status = status == GEMEL_IO ? GEMEL_NO_MEMORY : status; /* the sink's */
  }
  gemel_graph_unref(graph);
  graph = status ? NULL : gemel_deserialize(context, bytes.bytes, bytes.count, NULL, &error);
  status = status ? status : graph ? GEMEL_OK : error.status;
  release(&bytes);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
  return status;
}

static void memory(const void *data) {
  (void)data;
  CT_CHECK(ct_oom(out_and_back, (void *)sample) > 50);
}

static const ct_test tests[] = {
    CT_TEST("round_trip", round_trip, NULL),
    CT_TEST("all_kinds", all_kinds, NULL),
    CT_TEST("cut_off", cut_off, NULL),
    CT_TEST("flipped", flipped, NULL),
    CT_TEST("strange_bool", strange_bool, NULL),
    CT_TEST("strange_dtype", strange_dtype, NULL),
    CT_TEST("enemy", enemy, NULL),
    CT_TEST("versions", versions, NULL),
    CT_TEST("dangling", dangling, NULL),
    CT_TEST("files", files, NULL),
    CT_TEST("chain", chain, NULL),
    CT_TEST("memory", memory, NULL),
};

void ct_register(void) {
  static corpus graphs = {.folder = "tests/corpus/graphs", .end = ".gmt", .least = 8};
  ct_suite("binary", tests, CT_COUNT(tests));
  corpus_add(&graphs, "binary", "round_trip", round_trip);
}
