/*
 * Random numbers: the published vectors of Philox4x32-10, the stream that a key stands for in each
 * dtype, types and errors, keys in shared variables, and text-book tests of the numbers, with fixed
 * keys. The constants of normal numbers were computed with mpmath in 60 digits.
 *
 * SPDX-License-Identifier: MIT
 */
#include "optable.h"

#include <gemel/grad.h>
#include <gemel/ops.h>
#include "ops/random.h"
#include "support/graph-text.h"
#include "support/near.h"

static int valgrind(void) {
  return getenv("GEMEL_VALGRIND") != NULL;
}

static const op_case cases[] = {
    /* kat_vectors of Random123: counter and key 0 */
    OK_CASE("vectors/zero", "random_bits(x, shape = [4])",
            "u32[4] 1713891541 3781805453 3159862348 2600524760", "u64[2] 0 0"),
    OK_CASE("bits/u64", "random_bits(x, shape = [2], dtype = u64)",
            "u64[2] 16242730742183356629 11169168799798111308", "u64[2] 0 0"),
    OK_CASE("bits/u8", "random_bits(x, shape = [2, 3], dtype = u8)",
            "u8[2, 3] 213 232 39 102 141 197", "u64[2] 0 0"),
    OK_CASE("bits/u16", "random_bits(x, shape = [3], dtype = u16)", "u16[3] 59605 26151 50573",
            "u64[2] 0 0"),
    OK_CASE("bits/none", "random_bits(x, shape = [0, 5])", "u32[0, 5]", "u64[2] 1 2"),
    OK_CASE("cast/f32", "bitcast(x, dtype = u32)", "u32[3] 1065353216 2147483648 2139095040",
            "f32[3] 1 -0 inf"),
    OK_CASE("cast/i16", "bitcast(x, dtype = f16)", "f16[2] 1 -2", "i16[2] 15360 -16384"),
    OK_CASE("cast/bool", "bitcast(x, dtype = u8)", "u8[2] 1 0", "bool[2] 1 0"),
    OK_CASE("cast/none", "bitcast(x, dtype = i64)", "i64[0, 2]", "f64[0, 2]"),
    BAD_CASE("cast/width", "bitcast(x, dtype = f64)", GEMEL_BAD_TYPE, "f32 has 32 bits, f64 has 64",
             "f32[1] 1"),
    BAD_CASE("cast/to_bool", "bitcast(x, dtype = bool)", GEMEL_BAD_TYPE, "may be none of a bool",
             "u8[1] 1"),
    OK_CASE("bits/scalar", "random_bits(x, shape = [])", "u32[] 1713891541", "u64[2] 0 0"),
    OK_CASE("bits/runtime", "random_bits(x, y, shape = [$1, 2], dtype = u16)",
            "u16[2, 2] 59605 26151 50573 57705", "u64[2] 0 0", "i32[] 2"),
    OK_CASE("bits/symbol", "random_bits(x, shape = [2])", "u32[2] 1713891541 3781805453",
            "u64[K=2] 0 0"),
    {"next/one_more",
     "random_uniform(x, shape = [1])",
     {"u64[2] 7 41"},
     {"f32[1] 0.017641842365264893", "u64[2] 7 42"},
     GEMEL_OK,
     NULL,
     NULL,
     {NULL},
     NULL},
    {"next/wraps",
     "random_bits(x, shape = [0])",
     {"u64[2] 7 18446744073709551615"},
     {"u32[0]", "u64[2] 7 0"},
     GEMEL_OK,
     NULL,
     NULL,
     {NULL},
     NULL},
    OK_CASE("uniform/f32", "random_uniform(x, shape = [2]) * 16777216:f32",
            "f32[2] 6694888 14772677", "u64[2] 0 0"),
    OK_CASE("uniform/f64", "random_uniform(x, shape = [1], dtype = f64) * 9007199254740992:f64",
            "f64[1] 7931020870206717", "u64[2] 0 0"),
    OK_CASE("uniform/f16", "random_uniform(x, shape = [2], dtype = f16) * 2048:f16",
            "f16[2] 817 1803", "u64[2] 0 0"),
    OK_CASE("uniform/bf16", "random_uniform(x, shape = [2], dtype = bf16) * 256:bf16",
            "bf16[2] 102 225", "u64[2] 0 0"),
    BAD_CASE("key/dtype", "random_bits(x, shape = [1])", GEMEL_BAD_TYPE,
             "a key is u64[2]; inputs i64[2]", "i64[2] 0 0"),
    BAD_CASE("key/size", "random_uniform(x, shape = [1])", GEMEL_BAD_TYPE, "a key is u64[2]",
             "u64[3] 0 0 0"),
    BAD_CASE("key/size_late", "random_normal(x, shape = [1])", GEMEL_BAD_TYPE, "a key is u64[2]",
             "u64[K=3] 0 0 0"),
    BAD_CASE("key/rank", "random_uniform(x, shape = [1])", GEMEL_BAD_TYPE, "a key is u64[2]",
             "u64[1, 2] 0 0"),
    BAD_CASE("bits/signed", "random_bits(x, shape = [1], dtype = i32)", GEMEL_BAD_TYPE,
             "random bits are u8, u16, u32 or u64, not i32", "u64[2] 0 0"),
    BAD_CASE("bits/float", "random_bits(x, shape = [1], dtype = f32)", GEMEL_BAD_TYPE, "not f32",
             "u64[2] 0 0"),
    BAD_CASE("uniform/integer", "random_uniform(x, shape = [1], dtype = u32)", GEMEL_BAD_TYPE,
             "random reals are floats, not u32", "u64[2] 0 0"),
    BAD_CASE("shape/negative", "random_normal(x, y, shape = [$1])", GEMEL_BAD_SHAPE, "-1",
             "u64[2] 0 0", "i64[] -1"),
    BAD_CASE("shape/float", "random_normal(x, y, shape = [$1])", GEMEL_BAD_TYPE,
             "no integer scalar", "u64[2] 0 0", "f32[] 2"),
};

/* ---- The generator ---- */

typedef struct vector {
  uint64_t key[2], block;
  uint32_t words[4];
} vector;

/* kat_vectors of Random123 for philox4x32, 10 rounds; counters as block, stream. */
static const vector vectors[] = {
    {{0, 0}, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {{UINT64_MAX, UINT64_MAX}, UINT64_MAX, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {{0x299f31d0a4093822, 0x0370734413198a2e},
     0x85a308d3243f6a88,
     {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}};

/* Each instruction set that this machine has gives the published words. */
static void published(const void *data) {
  (void)data;
  for (int isa = GEMEL__ISA_BASE; isa <= (int)gemel__isa_best(); isa++) {
    for (size_t k = 0; k < CT_COUNT(vectors); k++) {
      uint32_t words[4 * 40];
      gemel__philox_for((gemel__isa)isa)->blocks(vectors[k].key, vectors[k].block, 40, words);
      ct_context("instruction set %d, vector %zu", isa, k);
      CT_EQ_MEM(words, vectors[k].words, sizeof vectors[k].words);
    }
  }
}

/* Blocks across the carry between the counter's words, many and one at a time, and floats of their
 * words, by each instruction set. */
static void same_everywhere(const void *data) {
  enum { MOST = 70 };
  static const uint64_t starts[] = {0, UINT32_MAX - 30, UINT64_MAX - 20};
  static const uint64_t key[] = {0x0123456789abcdef, 0xfedcba9876543210};
  const gemel__philox *base = gemel__philox_for(GEMEL__ISA_BASE);
  (void)data;
  for (int isa = GEMEL__ISA_BASE; isa <= (int)gemel__isa_best(); isa++) {
    const gemel__philox *p = gemel__philox_for((gemel__isa)isa);
    for (size_t n = 0; n <= MOST; n++) {
      uint32_t words[4 * MOST], one[4];
      double a[4 * MOST], b[4 * MOST];
      uint64_t start = starts[n % CT_COUNT(starts)];
      ct_context("instruction set %d, %zu blocks", isa, n);
      p->blocks(key, start, n, words);
      for (size_t k = 0; k < n; k++) {
        base->blocks(key, start + k, 1, one);
        CT_EQ_MEM(words + 4 * k, one, sizeof one);
      }
      base->normal_f32(4 * n, words, a);
      p->normal_f32(4 * n, words, b);
      CT_EQ_MEM(a, b, 4 * n * sizeof(float));
      base->normal_f64(2 * n, words, a);
      p->normal_f64(2 * n, words, b);
      CT_EQ_MEM(a, b, 2 * n * sizeof(double));
      base->uniform_f64(2 * n, 53, words, a);
      p->uniform_f64(2 * n, 53, words, b);
      CT_EQ_MEM(a, b, 2 * n * sizeof(double));
    }
  }
}

typedef struct inverse {
  uint64_t word;
  double z;
} inverse;

static const inverse inverses_f32[] = {
    {0x00000000, -6.33795775455378925249},      {0x00000001, -6.166429517819750247},
    {0x00000002, -6.08510454578303098371},      {0x000000ff, -5.29506135188609190407},
    {0x00001234, -4.73689134573455671684},      {0x0004625d, -3.81936370603862887614},
    {0x00ffffff, -2.66006747865494775962},      {0x10000000, -1.53412054340595672921},
    {0x20000000, -1.15034937981048315819},      {0x3fffffff, -0.674489750562425054347},
    {0x40000000, -0.674489749829738432148},     {0x60000000, -0.318639363657368880156},
    {0x7fff0000, -0.0000382478203000808940351}, {0x7fffffff, -2.91809937291662267229e-10},
    {0x80000000, 2.91809937291662267229e-10},   {0x80000001, 8.75429811874986801786e-10},
    {0x80000100, 1.49698497830623302201e-7},    {0xa0000000, 0.318639364271381445918},
    {0xc0000000, 0.674489750562425054347},      {0xf0000001, 1.53412054719231506744},
    {0xfff00000, 3.48710423163722834475},       {0xffffff00, 5.29506135188609190407},
    {0xffffffff, 6.33795775455378925249},
};

static const inverse inverses_f64[] = {
    {0x0000000000000000, -9.155293772686072546},
    {0x0000000000000001, -9.03591884857193797183},
    {0x0000000000000003, -8.94278873039826179695},
    {0x000000000000ffff, -7.78259158267859750393},
    {0x000000000035320f, -7.26322189640058255027},
    {0x000000123456789a, -5.75868634554945084127},
    {0x0000ffffffffffff, -4.16956932334910615986},
    {0x0123456789abcdef, -2.6162982036439606853},
    {0x1000000000000000, -1.53412054435254631149},
    {0x3fffffffffffffff, -0.674489750196081743288},
    {0x4000000000000000, -0.674489750196081743117},
    {0x7000000000000000, -0.157310684610170695454},
    {0x7fffffff00000000, -5.83619874515382238959e-10},
    {0x7fffffffffffffff, -6.79422955242130596249e-20},
    {0x8000000000000000, 6.79422955242130596249e-20},
    {0x8000000000000001, 2.03826886572639178875e-19},
    {0x8000000100000000, 5.83619874651266830007e-10},
    {0x9e3779b97f4a7c15, 0.300321385389998514892},
    {0xc000000000000000, 0.674489750196081743288},
    {0xf123456789abcdef, 1.57130805493779419943},
    {0xffffff0000000000, 5.2947040848546811615},
    {0xffffffffffff0000, 7.78259158267859750393},
    {0xffffffffffffffff, 9.155293772686072546},
};

/* X is within 8 units in the last place, of DIGITS bits, of Z: what doc/conventions.md promises. */
static void within_units(double x, double z, int digits, uint64_t word) {
  enum { UNITS = 8 };
  double unit = ldexp(1, ilogb(z) + 1 - digits);
  if (!is_near(x, z, UNITS * unit)) {
    CT_FAIL("of %llx, %.17g, wanted %.17g", (unsigned long long)word, x, z);
  }
}

/* Normal numbers of chosen words, the least and greatest among them, which no key finds. */
static void inverses(const void *data) {
  const gemel__philox *p = gemel__philox_for(gemel__isa_best());
  (void)data;
  for (size_t k = 0; k < CT_COUNT(inverses_f32); k++) {
    uint32_t words[2] = {(uint32_t)inverses_f32[k].word, ~(uint32_t)inverses_f32[k].word};
    float z[2];
    p->normal_f32(2, words, z);
    within_units((double)z[0], inverses_f32[k].z, 24, inverses_f32[k].word);
    CT_CHECK(z[1] == -z[0]);
  }
  for (size_t k = 0; k < CT_COUNT(inverses_f64); k++) {
    uint64_t pairs[2] = {inverses_f64[k].word, ~inverses_f64[k].word};
    uint32_t words[4];
    double z[2];
    memcpy(words, pairs, sizeof words);
    p->normal_f64(2, words, z);
    within_units(z[0], inverses_f64[k].z, 53, inverses_f64[k].word);
    CT_CHECK(z[1] == -z[0]);
  }
}

/* One u32 of 509 (of all, the farthest off is 5.47 units; with a step of 1 it takes a minute): the
 * number for f32 is near that of f64 for the u64 in the middle of those that begin with it. */
static void all_words(const void *data) {
  enum { STEP = 509, AT_ONCE = 512 };
  const gemel__philox *p = gemel__philox_for(gemel__isa_best());
  double most = 0;
  (void)data;
  for (uint64_t first = 0; first <= UINT32_MAX && most <= 5.5; first += STEP * AT_ONCE) {
    uint32_t words[AT_ONCE], pairs[2 * AT_ONCE];
    float x[AT_ONCE];
    double z[AT_ONCE];
    for (uint32_t k = 0; k < AT_ONCE; k++) {
      words[k] = (uint32_t)first + STEP * k;
      pairs[2 * k] = UINT32_C(1) << 31;
      pairs[2 * k + 1] = words[k];
    }
    p->normal_f32(AT_ONCE, words, x);
    p->normal_f64(AT_ONCE, pairs, z);
    for (uint32_t k = 0; k < AT_ONCE; k++) {
      most = fmax(most, fabs((double)x[k] - z[k]) / ldexp(1, ilogb(z[k]) - 23));
    }
    first += valgrind() ? STEP * AT_ONCE * 100 : 0;
  }
  CT_LE_DOUBLE(most, 5.5);
}

/* ---- Functions ---- */

static gemel_error error;

static gemel_tensor *key_of(uint64_t seed, uint64_t stream) {
  int64_t two = 2;
  gemel_tensor *key = gemel_tensor_new(GEMEL_U64, 1, &two, &error);
  uint64_t *numbers = gemel_tensor_data(key);
  numbers[0] = seed;
  numbers[1] = stream;
  return key;
}

static gemel_function *compile(const gemel_graph *graph, int threads) {
  gemel_options options = {.size = sizeof options, .threads = threads};
  gemel_function *function = gemel_compile(graph, &options, &error);
  CT_CHECK(function != NULL);
  return function;
}

/* What EXPRESSION of a key gives: a function that is called with many. */
typedef struct drawer {
  gemel_context *context;
  gemel_function *function;
} drawer;

static drawer open_drawer(const char *expression, int threads) {
  drawer d = {gemel_context_new(&error), NULL};
  gemel_graph *graph = graph_returning(d.context, "key: u64[2]", expression);
  d.function = compile(graph, threads);
  gemel_graph_unref(graph);
  return d;
}

static gemel_tensor *draw(const drawer *d, uint64_t seed, uint64_t stream) {
  gemel_tensor *key = key_of(seed, stream), *result = NULL;
  CT_EQ_INT(gemel_call(d->function, 1, &key, 1, &result, &error), GEMEL_OK);
  gemel_tensor_unref(key);
  return result;
}

static void close_drawer(drawer *d) {
  gemel_function_free(d->function);
  gemel_context_unref(d->context);
}

static gemel_tensor *draw_once(const char *expression, int threads, uint64_t seed,
                               uint64_t stream) {
  drawer d = open_drawer(expression, threads);
  gemel_tensor *result = draw(&d, seed, stream);
  close_drawer(&d);
  return result;
}

static void same_tensors(gemel_tensor *a, gemel_tensor *b) {
  size_t bytes = gemel_dtype_size(gemel_tensor_dtype(a));
  CT_EQ_INT(gemel_tensor_elements(a), gemel_tensor_elements(b));
  CT_EQ_MEM(gemel_tensor_data(a), gemel_tensor_data(b), bytes * (size_t)gemel_tensor_elements(a));
  gemel_tensor_unref(a);
  gemel_tensor_unref(b);
}

/* Threads take pieces of the stream. */
static void threads(const void *data) {
  static const char *const expressions[] = {"random_bits(key, shape = [300001], dtype = u8)",
                                            "random_bits(key, shape = [100003])",
                                            "random_uniform(key, shape = [7, 11003], dtype = f64)",
                                            "random_uniform(key, shape = [90001], dtype = bf16)",
                                            "random_normal(key, shape = [100003])",
                                            "random_normal(key, shape = [70001], dtype = f64)"};
  (void)data;
  for (size_t k = 0; k < CT_COUNT(expressions); k++) {
    ct_context("%s", expressions[k]);
    same_tensors(draw_once(expressions[k], 1, 5, k), draw_once(expressions[k], 4, 5, k));
  }
}

typedef struct identity {
  const char *name, *one, *other;
} identity;

/* The same stream, cut in other ways. */
static const identity identities[] = {
    {"f16", "random_normal(key, shape = [3000], dtype = f16)",
     "cast(random_normal(key, shape = [3000]), dtype = f16)"},
    {"bf16", "random_normal(key, shape = [3000], dtype = bf16)",
     "cast(random_normal(key, shape = [3000]), dtype = bf16)"},
    {"uniform", "random_uniform(key, shape = [3000])",
     "cast(random_bits(key, shape = [3000]) - random_bits(key, shape = [3000]) % 256:u32, "
     "dtype = f32) * 0x1p-32:f32"},
    {"u64", "random_bits(key, shape = [2000], dtype = u64)",
     "sum(reshape(cast(random_bits(key, shape = [4000]), dtype = u64), shape = [2000, 2]) * "
     "tensor(u64[2], [1, 4294967296]), axes = [1])"},
    {"u8", "cast(random_bits(key, shape = [4000], dtype = u8), dtype = u64)",
     "cast(random_bits(key, shape = [2000, 2], dtype = u8), dtype = u64)"},
    {"row_major", "random_normal(key, shape = [3000])",
     "reshape(random_normal(key, shape = [3, 10, 100]), shape = [3000])"},
    {"prefix", "random_normal(key, shape = [100])",
     "subtensor(random_normal(key, shape = [3000]), start = [0], size = [100])"},
};

static void identical(const void *data) {
  const identity *i = data;
  gemel_tensor *a = draw_once(i->one, 1, 77, 3), *b = draw_once(i->other, 1, 77, 3);
  same_tensors(a, b);
}

/* Equal calls are one node, and what differs in key, shape, dtype or operation isn't. */
static void one_node(const void *data) {
  gemel_context *context = gemel_context_new(&error);
  gemel_graph *g = gemel_graph_new(context, &error);
  int64_t two = 2;
  gemel_value key = gemel_input(g, "key", gemel_type_of_shape(context, GEMEL_U64, 1, &two));
  gemel_dim dim = gemel_dim_constant(context, 5);
  gemel_value a = gemel_random_uniform(key, 1, &dim), next = gemel_value_output(a, 1);
  (void)data;
  CT_EQ_UINT(gemel_random_uniform(key, 1, &dim).node, a.node);
  CT_CHECK(gemel_random_uniform(next, 1, &dim).node != a.node);
  CT_CHECK(gemel_random_uniform_with(key, 1, &dim, .dtype = GEMEL_F64).node != a.node);
  CT_CHECK(gemel_random_normal(key, 1, &dim).node != a.node);
  CT_EQ_INT(gemel_graph_error(g)->status, GEMEL_OK);
  gemel_graph_unref(g);
  gemel_context_unref(context);
}

/* Sizes that are symbols, and a function that is called with several. */
static void symbols(const void *data) {
  gemel_context *context = gemel_context_new(&error);
  gemel_graph *graph = graph_of(context, "(key: u64[2], x: f64[N, 3]) {\n"
                                         "  r, next = random_normal(key, shape = [N, 3], "
                                         "dtype = f64)\n  return y = r + 0 * x, next = next\n}\n");
  gemel_function *function = compile(graph, 1);
  gemel_tensor *all = draw_once("random_normal(key, shape = [21], dtype = f64)", 1, 9, 9);
  (void)data;
  for (int64_t n = 0; n <= 7; n++) {
    int64_t shape[] = {n, 3};
    gemel_tensor *in[] = {key_of(9, 9), gemel_tensor_new(GEMEL_F64, 2, shape, &error)};
    gemel_tensor *out[] = {NULL, NULL};
    memset(gemel_tensor_data(in[1]), 0, (size_t)(3 * n) * sizeof(double));
    CT_EQ_INT(gemel_call(function, 2, in, 2, out, &error), GEMEL_OK);
    CT_EQ_MEM(gemel_tensor_data(out[0]), gemel_tensor_data(all), (size_t)(3 * n) * sizeof(double));
    CT_EQ_UINT(((uint64_t *)gemel_tensor_data(out[1]))[1], 10);
    for (int k = 0; k < 2; k++) {
      gemel_tensor_unref(in[k]);
      gemel_tensor_unref(out[k]);
    }
  }
  gemel_tensor_unref(all);
  gemel_function_free(function);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

/* ---- Keys in shared variables ---- */

static const char dropout[] = "(x: f32[N], state key: u64[2]) {\n"
                              "  u, next = random_uniform(key, shape = [N])\n"
                              "  update key = next\n"
                              "  return y = where(u < 0.8, x / 0.8, 0)\n}\n";

static gemel_tensor *drop(gemel_function *function) {
  int64_t n = 1000;
  gemel_tensor *x = gemel_tensor_new(GEMEL_F32, 1, &n, &error), *y = NULL;
  for (int64_t k = 0; k < n; k++) {
    ((float *)gemel_tensor_data(x))[k] = 1;
  }
  CT_EQ_INT(gemel_call(function, 1, &x, 1, &y, &error), GEMEL_OK);
  gemel_tensor_unref(x);
  return y;
}

/* A function that draws from its state: each call gives other numbers, and from a state that was
 * kept the same numbers come again. */
static void state(const void *data) {
  gemel_context *context = gemel_context_new(&error);
  gemel_graph *graph = graph_of(context, dropout);
  gemel_tensor *key = key_of(2024, 0), *saved, *y[4];
  gemel_shared *shared = gemel_shared_new(key, &error);
  gemel_options options = {.size = sizeof options, .states = &shared, .n_states = 1};
  gemel_function *function = gemel_compile(graph, &options, &error);
  int64_t kept = 0;
  (void)data;
  CT_REQUIRE(function != NULL);
  y[0] = drop(function);
  saved = gemel_shared_get(shared);
  CT_EQ_UINT(((uint64_t *)gemel_tensor_data(saved))[1], 1);
  y[1] = drop(function);
  CT_EQ_INT(gemel_shared_set(shared, saved, &error), GEMEL_OK);
  y[2] = drop(function);
  y[3] = drop(function);
  for (int64_t k = 0; k < 1000; k++) {
    kept += ((float *)gemel_tensor_data(y[0]))[k] != 0;
  }
  CT_CHECK(kept > 750 && kept < 850);
  CT_CHECK(memcmp(gemel_tensor_data(y[0]), gemel_tensor_data(y[1]), 4000) != 0);
  CT_CHECK(memcmp(gemel_tensor_data(y[2]), gemel_tensor_data(y[3]), 4000) != 0);
  same_tensors(y[1], y[2]);
  gemel_tensor_unref(y[0]);
  gemel_tensor_unref(y[3]);
  gemel_tensor_unref(saved);
  gemel_tensor_unref(key);
  gemel_function_free(function);
  gemel_shared_unref(shared);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

/* ---- Derivatives ---- */

/* Through dropout flows what it keeps; there is none by the key, which is no float. */
static void derivatives(const void *data) {
  gemel_context *context = gemel_context_new(&error);
  gemel_graph *graph = graph_of(context, "(x: f32[64], key: u64[2]) {\n"
                                         "  u, next = random_uniform(key, shape = [64])\n"
                                         "  y = sum(where(u < 0.5, 2 * x, 0))\n  return y\n}\n");
  gemel_value y = gemel_graph_output(graph, 0), x = gemel_graph_input(graph, 0), d = {NULL, 0, 0};
  gemel_value key = gemel_graph_input(graph, 1), none = {NULL, 0, 0};
  gemel_tensor *in[2], *out[2] = {NULL, NULL}, *u = NULL;
  int64_t n = 64;
  (void)data;
  CT_EQ_INT(gemel_grad(1, &y, NULL, 1, &x, &d, &error), GEMEL_OK);
  gemel_output(d, "d");
  in[0] = gemel_tensor_new(GEMEL_F32, 1, &n, &error);
  memset(gemel_tensor_data(in[0]), 0, 64 * sizeof(float));
  in[1] = key_of(3, 4);
  CT_EQ_INT(gemel_evaluate(graph, 2, in, 2, out, &error), GEMEL_OK);
  u = draw_once("random_uniform(key, shape = [64])", 1, 3, 4);
  for (int64_t k = 0; k < n; k++) {
    float wanted = ((float *)gemel_tensor_data(u))[k] < 0.5f ? 2 : 0;
    CT_CHECK(((float *)gemel_tensor_data(out[1]))[k] == wanted);
  }
  CT_EQ_INT(gemel_grad(1, &y, NULL, 1, &key, &none, &error), GEMEL_BAD_TYPE);
  CT_HAS_STR(error.text, "u64[2], made at test:1) is not of a float dtype");
  gemel_tensor_unref(u);
  for (int k = 0; k < 2; k++) {
    gemel_tensor_unref(in[k]);
    gemel_tensor_unref(out[k]);
  }
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

/* ---- Statistics ----
 *
 * Text-book tests, each of which makes one number that is normally distributed, nearly, if the
 * numbers are random: how often it is beyond 4 is 6e-5. Keys are fixed, so each test passes or
 * fails for good. Knuth, The Art of Computer Programming 2 (1997), section 3.3; NIST SP 800-22.
 */

enum { MANY = 1 << 18, STREAM_NUMBERS = 4 };

static int fewer(void) {
  return valgrind() ? MANY >> 4 : MANY;
}

static void judge(const char *test, double score) {
  if (!(fabs(score) < 4)) {
    CT_FAIL("%s: %.2f standard deviations from what is expected", test, score);
  }
}

/* The score of X, chi-square distributed with K degrees of freedom (Wilson and Hilferty, 1931). */
static double chi_square_score(double x, double k) {
  return (cbrt(x / k) - (1 - 2 / (9 * k))) / sqrt(2 / (9 * k));
}

/* Chi-square of N counts of which each should be EXPECTED. */
static double counts_score(const uint32_t *counts, size_t n, double expected) {
  double x = 0;
  for (size_t k = 0; k < n; k++) {
    double off = (double)counts[k] - expected;
    x += off * off / expected;
  }
  return chi_square_score(x, (double)n - 1);
}

/* As many ones as zeros. */
static void monobit(const uint32_t *words, size_t n) {
  double ones = 0, bits = 32 * (double)n;
  for (size_t k = 0; k < n; k++) {
    ones += __builtin_popcount(words[k]);
  }
  judge("monobit", (ones - bits / 2) / sqrt(bits / 4));
}

/* Half of the neighbouring bits differ. */
static void runs(const uint32_t *words, size_t n) {
  double changes = 0, pairs = 32 * (double)n - 1;
  for (size_t k = 0; k < n; k++) {
    uint64_t following = words[k] | (uint64_t)(k + 1 < n ? words[k + 1] & 1 : words[k] >> 31) << 32;
    changes += __builtin_popcountll((following ^ following >> 1) & UINT32_MAX);
  }
  judge("runs", (changes - pairs / 2) / sqrt(pairs / 4));
}

/* Pieces of BITS bits are equally frequent: poker for 4, the bytes for 8; of pairs of bytes too. */
static void pieces(const uint32_t *words, size_t n, unsigned bits) {
  static uint32_t counts[1 << 16];
  size_t kinds = (size_t)1 << bits;
  memset(counts, 0, sizeof counts);
  for (size_t k = 0; k < n; k++) {
    for (unsigned shift = 0; shift < 32; shift += bits) {
      counts[words[k] >> shift & (kinds - 1)]++;
    }
  }
  ct_context("pieces of %u bits", bits);
  judge("chi-square", counts_score(counts, kinds, (double)n * (32 / bits) / (double)kinds));
}

/* The lower and upper byte of a word against the same of the word AFTER it. */
static void serial(const uint32_t *words, size_t n, size_t after) {
  static uint32_t counts[1 << 12];
  memset(counts, 0, sizeof counts);
  for (size_t k = 0; k + after < n; k++) {
    counts[(words[k] & 63) << 6 | words[k + after] >> 26]++;
  }
  ct_context("words %zu apart", after);
  judge("serial", counts_score(counts, CT_COUNT(counts), (double)(n - after) / (1 << 12)));
}

/* Of gaps between birthdays, M in a year of 2^32 days, those that come again are Poisson
 * distributed with mean M^3 / 2^34: Marsaglia's test. */
static int by_size(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return (x > y) - (x < y);
}

static void birthdays(const uint32_t *words, size_t n) {
  enum { BIRTHDAYS = 4096 };
  static uint32_t days[BIRTHDAYS], gaps[BIRTHDAYS];
  const double mean = 4; /* 2^36 / 2^34 */
  double again = 0, years = 0;
  for (; n >= BIRTHDAYS; n -= BIRTHDAYS, words += BIRTHDAYS, years++) {
    memcpy(days, words, sizeof days);
    qsort(days, BIRTHDAYS, sizeof *days, by_size);
    for (size_t k = 0; k < BIRTHDAYS; k++) {
      gaps[k] = days[k] - days[k > 0 ? k - 1 : BIRTHDAYS - 1];
    }
    qsort(gaps, BIRTHDAYS, sizeof *gaps, by_size);
    for (size_t k = 1; k < BIRTHDAYS; k++) {
      again += gaps[k] == gaps[k - 1];
    }
  }
  judge("birthday spacings", (again - years * mean) / sqrt(years * mean));
}

static void judge_words(const uint32_t *words, size_t n) {
  static const unsigned sizes[] = {1, 2, 4, 8, 16};
  monobit(words, n);
  runs(words, n);
  for (size_t k = 0; k < CT_COUNT(sizes); k++) {
    pieces(words, n, sizes[k]);
  }
  for (size_t after = 1; after <= 5; after++) {
    serial(words, n, after);
  }
  birthdays(words, n);
  ct_context("%s", "");
}

static const uint64_t keys[][2] = {
    {0, 0}, {1, 0}, {0, 1}, {UINT64_MAX, 7}, {0x0123456789abcdef, UINT64_MAX}};

static void bits_are_random(const void *data) {
  char text[80];
  (void)data;
  snprintf(text, sizeof text, "random_bits(key, shape = [%d])", fewer());
  drawer d = open_drawer(text, 1);
  for (size_t k = 0; k < CT_COUNT(keys); k++) {
    gemel_tensor *words = draw(&d, keys[k][0], keys[k][1]);
    judge_words(gemel_tensor_data(words), (size_t)fewer());
    gemel_tensor_unref(words);
  }
  close_drawer(&d);
}

/* The first numbers of neighbouring keys, or of neighbouring streams of a key, one behind the
 * other; likewise of keys of which one bit is set. */
static void neighbours(const void *data) {
  enum { BY_SEED, BY_STREAM, BY_UPPER_STREAM };
  size_t n = (size_t)fewer();
  uint32_t *words = malloc(n * sizeof *words);
  drawer d = open_drawer("random_bits(key, shape = [4])", 1);
  (void)data;
  for (int how = BY_SEED; how <= BY_UPPER_STREAM; how++) {
    for (uint64_t k = 0; k < n / STREAM_NUMBERS; k++) {
      gemel_tensor *four = how == BY_SEED     ? draw(&d, k, 3)
                           : how == BY_STREAM ? draw(&d, 3, k)
                                              : draw(&d, 3, k << 32);
      memcpy(words + STREAM_NUMBERS * k, gemel_tensor_data(four), STREAM_NUMBERS * sizeof *words);
      gemel_tensor_unref(four);
    }
    judge_words(words, n);
  }
  close_drawer(&d);
  free(words);
}

/* What one bit of the key changes: half of the bits. */
static void avalanche(const void *data) {
  drawer d = open_drawer("random_bits(key, shape = [64])", 1);
  gemel_tensor *plain = draw(&d, 12345, 678);
  (void)data;
  for (int bit = 0; bit < 128; bit++) {
    gemel_tensor *turned = draw(&d, 12345 ^ (bit < 64 ? UINT64_C(1) << bit : 0),
                                678 ^ (bit >= 64 ? UINT64_C(1) << (bit - 64) : 0));
    double differ = 0;
    for (int k = 0; k < 64; k++) {
      differ += __builtin_popcount(((uint32_t *)gemel_tensor_data(plain))[k] ^
                                   ((uint32_t *)gemel_tensor_data(turned))[k]);
    }
    ct_context("bit %d of the key", bit);
    judge("avalanche", (differ - 1024) / sqrt(512));
    gemel_tensor_unref(turned);
  }
  gemel_tensor_unref(plain);
  close_drawer(&d);
}

/* ---- Reals ---- */

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double same(double x) {
  return x;
}

static double normal_distribution(double x) {
  return erfc(-x / sqrt(2)) / 2;
}

/* sqrt(n) times the greatest distance of what the numbers' distribution function is from what it
 * should be; it is below 0.3 or above 2.3 in one of 10,000 cases. Numbers may be multiples of
 * 1 / GRID. */
static void kolmogorov(double *x, size_t n, double (*distribution)(double), double grid) {
  double most = 0, scaled;
  qsort(x, n, sizeof *x, by_value);
  for (size_t k = 0; k < n; k++) {
    double f = distribution(x[k]);
    double above = (double)(k + 1) / (double)n - f, below = f - (double)k / (double)n;
    most = fmax(most, fmax(above, below));
  }
  scaled = sqrt((double)n) * (most - grid);
  if (!(scaled > 0.3 && scaled < 2.3)) {
    CT_FAIL("Kolmogorov and Smirnov: %.3f", scaled);
  }
}

/* Mean, variance and correlation of neighbours, and for normal numbers the third and fourth moment.
 */
static void moments(const double *x, size_t n, int normal) {
  double mean = normal ? 0 : 0.5, variance = normal ? 1 : 1.0 / 12, sums[5] = {0};
  double fourth = normal ? 3 : 1.0 / 80, root = sqrt((double)n);
  for (size_t k = 0; k < n; k++) {
    double y = x[k] - mean;
    sums[0] += y;
    sums[1] += y * y;
    sums[2] += y * y * y;
    sums[3] += y * y * y * y;
    sums[4] += k > 0 ? y * (x[k - 1] - mean) : 0;
  }
  judge("mean", sums[0] / root / sqrt(variance));
  judge("variance", (sums[1] - (double)n * variance) / root / sqrt(fourth - variance * variance));
  judge("correlation", sums[4] / root / variance);
  if (normal) {
    judge("third moment", sums[2] / root / sqrt(15));
    judge("fourth moment", (sums[3] - 3 * (double)n) / root / sqrt(96));
  }
}

typedef struct real_case {
  const char *name, *operation, *dtype;
  double grid;
} real_case;

static const real_case real_cases[] = {
    {"uniform/f32", "uniform", "f32", 0x1p-24}, {"uniform/f64", "uniform", "f64", 0},
    {"uniform/f16", "uniform", "f16", 0x1p-11}, {"uniform/bf16", "uniform", "bf16", 0x1p-8},
    {"normal/f32", "normal", "f32", 0x1p-24},   {"normal/f64", "normal", "f64", 0}};

static void reals(const void *data) {
  const real_case *c = data;
  int n = fewer() / 4, normal = c->operation[0] == 'n';
  /* numbers of a coarse grid stand for all that were rounded down to them */
  double shift = strstr(c->dtype, "16") != NULL ? c->grid / 2 : 0;
  char text[160];
  snprintf(text, sizeof text, "cast(random_%s(key, shape = [%d], dtype = %s), dtype = f64)",
           c->operation, n, c->dtype);
  drawer d = open_drawer(text, 1);
  for (size_t k = 0; k < CT_COUNT(keys); k++) {
    gemel_tensor *t = draw(&d, keys[k][0], keys[k][1]);
    double *x = gemel_tensor_data(t);
    for (int j = 0; j < n; j++) {
      CT_CHECK(normal || (x[j] >= 0 && x[j] < 1 &&
                          x[j] / (c->grid > 0 ? c->grid : 0x1p-53) ==
                              floor(x[j] / (c->grid > 0 ? c->grid : 0x1p-53))));
      x[j] += shift;
    }
    moments(x, (size_t)n, normal);
    kolmogorov(x, (size_t)n, normal ? normal_distribution : same, c->grid / 2);
    gemel_tensor_unref(t);
  }
  close_drawer(&d);
}

/* Numbers of one key, and those of its neighbours, at the same places. */
static void independent(const void *data) {
  static const uint64_t steps[][2] = {
      {1, 0}, {0, 1}, {UINT64_C(1) << 32, 0}, {0, UINT64_C(1) << 32}};
  enum { LENGTH = 1 << 14 };
  drawer d = open_drawer("random_normal(key, shape = [16384], dtype = f64)", 1);
  (void)data;
  for (size_t k = 0; k < CT_COUNT(keys) * CT_COUNT(steps); k++) {
    const uint64_t *key = keys[k / CT_COUNT(steps)], *step = steps[k % CT_COUNT(steps)];
    gemel_tensor *a = draw(&d, key[0], key[1]), *b = draw(&d, key[0] + step[0], key[1] + step[1]);
    double sum = 0;
    for (int j = 0; j < LENGTH; j++) {
      sum += ((double *)gemel_tensor_data(a))[j] * ((double *)gemel_tensor_data(b))[j];
    }
    ct_context("key %zu", k);
    judge("correlation of two keys", sum / sqrt(LENGTH));
    gemel_tensor_unref(a);
    gemel_tensor_unref(b);
  }
  close_drawer(&d);
}

void ct_register(void) {
  OPT_SUITE("random", cases);
  CT_ADD("random", "vectors/published", published, NULL);
  CT_ADD("random", "vectors/same_everywhere", same_everywhere, NULL);
  CT_ADD("random", "normal/inverses", inverses, NULL);
  CT_ADD("random", "normal/all_words", all_words, NULL);
  CT_ADD("random", "threads", threads, NULL);
  for (size_t k = 0; k < CT_COUNT(identities); k++) {
    CT_ADD_TO("random", "identity", identities[k].name, identical, &identities[k]);
  }
  CT_ADD("random", "one_node", one_node, NULL);
  CT_ADD("random", "symbols", symbols, NULL);
  CT_ADD("random", "state", state, NULL);
  CT_ADD("random", "derivatives", derivatives, NULL);
  CT_ADD("random", "statistics/bits", bits_are_random, NULL);
  CT_ADD("random", "statistics/neighbours", neighbours, NULL);
  CT_ADD("random", "statistics/avalanche", avalanche, NULL);
  CT_ADD("random", "statistics/independent", independent, NULL);
  for (size_t k = 0; k < CT_COUNT(real_cases); k++) {
    CT_ADD_TO("random", "statistics", real_cases[k].name, reals, &real_cases[k]);
  }
}
