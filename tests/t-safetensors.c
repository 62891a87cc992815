/* SPDX-License-Identifier: MIT
 *
 * safetensors: files that its own writer wrote (tests/corpus/safetensors, made by
 * make-safetensors.py), that ours are the same byte for byte, where tensors lie, and files that are
 * cut off, damaged or forbidden.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <gemel/gemel.h>
#include "core/alloc.h"
#include "core/dtype.h"
#include "text/file.h"
#include "text/npy.h"
#include "counted.h"
#include "ct.h"

static const char *corpus(const char *name) {
  static char path[2000];
  const char *folder = getenv("GEMEL_SRCDIR");
  snprintf(path, sizeof path, "%s/tests/corpus/safetensors/%s", folder ? folder : ".", name);
  return path;
}

static const char *scratch(void) {
  static char path[500];
  snprintf(path, sizeof path, "%s/t.safetensors", ct_scratch());
  return path;
}

/* What a file has. */
typedef struct named {
  char **names;
  gemel_tensor **tensors;
  size_t count;
} named;

static named load(const char *path) {
  named n = {0};
  gemel_error error = {0};
  CT_EQ_INT(gemel_safetensors_load(path, &n.count, &n.names, &n.tensors, &error), GEMEL_OK);
  CT_EQ_STR(error.text, "");
  return n;
}

static void release(named n) {
  gemel_npz_free(n.count, n.names, n.tensors);
}

typedef struct expected {
  const char *name;
  gemel_dtype dtype;
  int rank;
  int64_t shape[2];
} expected;

static void check(named n, const expected *wanted, size_t count) {
  CT_REQUIRE(n.count == count);
  for (size_t k = 0; k < count; k++) {
    const gemel_tensor *t = n.tensors[k];
    ct_context("tensor %zu, %s", k, n.names[k]);
    CT_EQ_STR(n.names[k], wanted[k].name);
    CT_EQ_INT(gemel_tensor_dtype(t), wanted[k].dtype);
    CT_REQUIRE(gemel_tensor_rank(t) == wanted[k].rank);
    for (int axis = 0; axis < wanted[k].rank; axis++) {
      CT_EQ_INT(gemel_tensor_shape(t)[axis], wanted[k].shape[axis]);
    }
    for (int64_t e = 0; e < gemel_tensor_elements(t); e++) {
      CT_CHECK(is_expected(t, e));
    }
  }
  ct_context(NULL);
}

/* In the order of the file: the largest elements first. */
static const expected dtypes[] = {{"uint64", GEMEL_U64, 2, {2, 3}},
                                  {"int64", GEMEL_I64, 2, {2, 3}},
                                  {"float64", GEMEL_F64, 2, {2, 3}},
                                  {"scalar", GEMEL_F64, 0, {0}},
                                  {"float32", GEMEL_F32, 2, {2, 3}},
                                  {"uint32", GEMEL_U32, 2, {2, 3}},
                                  {"empty", GEMEL_I32, 2, {0, 5}},
                                  {"int32", GEMEL_I32, 2, {2, 3}},
                                  {"bfloat16", GEMEL_BF16, 2, {2, 3}},
                                  {"float16", GEMEL_F16, 2, {2, 3}},
                                  {"uint16", GEMEL_U16, 2, {2, 3}},
                                  {"int16", GEMEL_I16, 2, {2, 3}},
                                  {"qu\"ote\\\t\xc3\xa9\x01/", GEMEL_I16, 1, {4}},
                                  {"int8", GEMEL_I8, 2, {2, 3}},
                                  {"uint8", GEMEL_U8, 2, {2, 3}},
                                  {"bool", GEMEL_BOOL, 2, {2, 3}}};
static const expected unaligned[] = {{"a", GEMEL_F32, 2, {2, 3}},
                                     {"b\xc3\xa9\xf0\x9f\x98\x80", GEMEL_U8, 1, {3}},
                                     {"f", GEMEL_F64, 1, {2}}};
static const expected metadata[] = {{"w", GEMEL_F32, 2, {2, 3}}};

static void reads(const void *data) {
  (void)data;
  named n = load(corpus("dtypes.safetensors"));
  check(n, dtypes, CT_COUNT(dtypes));
  release(n);
  n = load(corpus("unaligned.safetensors"));
  check(n, unaligned, CT_COUNT(unaligned));
  release(n);
  n = load(corpus("metadata.safetensors"));
  check(n, metadata, CT_COUNT(metadata));
  release(n);
  n = load(corpus("none.safetensors"));
  check(n, NULL, 0);
  release(n);
}

/* How many tensors of the file lie in its mapping; each of them holds a reference to it. */
static size_t mapped(const char *file) {
  gemel_error error = {0};
  named n = {0};
  size_t found = 0;
  gemel__file_map *map = gemel__file_map_new(corpus(file), &error);
  if (!CT_CHECK(map != NULL)) {
    return 0;
  }
  CT_EQ_INT(gemel__safetensors_parse((const char *)map->bytes, map->length, map, file, &n.names,
                                     &n.tensors, &n.count, &error),
            GEMEL_OK);
  for (size_t k = 0; k < n.count; k++) {
    uintptr_t p = (uintptr_t)gemel_tensor_data(n.tensors[k]), begin = (uintptr_t)map->bytes;
    found += p >= begin && p < begin + map->length;
    CT_CHECK(p % gemel_dtype_size(gemel_tensor_dtype(n.tensors[k])) == 0);
  }
  CT_EQ_UINT((size_t)map->references, found + 1);
  release(n);
  CT_EQ_INT(map->references, 1);
  gemel__file_map_unref(map);
  return found;
}

static void lies_in_the_file(const void *data) {
  (void)data;
  CT_EQ_UINT(mapped("dtypes.safetensors"), CT_COUNT(dtypes) - 1); /* the empty one doesn't */
  CT_EQ_UINT(mapped("unaligned.safetensors"), 1);                 /* u8 */
}

/* One tensor outlives the others and the list; it can be written to, and the file doesn't change.
 */
static void outlives(const void *data) {
  (void)data;
  named n = load(corpus("metadata.safetensors"));
  CT_REQUIRE(n.count == 1);
  gemel_tensor *t = gemel_tensor_ref(n.tensors[0]);
  release(n);
  CT_CHECK(is_expected(t, 5));
  ((float *)gemel_tensor_data(t))[5] = 7;
  n = load(corpus("metadata.safetensors"));
  check(n, metadata, 1);
  release(n);
  gemel_tensor_unref(t);
}

static void same_files(const char *ours, const char *theirs) {
  gemel_error error;
  char *a, *b;
  size_t n, m;
  CT_REQUIRE(!gemel__file_read(ours, GEMEL__MOST_BYTES, &a, &n, &error));
  CT_REQUIRE(!gemel__file_read(theirs, GEMEL__MOST_BYTES, &b, &m, &error));
  CT_EQ_UINT(n, m);
  CT_CHECK(n == m && CT_EQ_MEM(a, b, n));
  gemel__free(a, n + 1);
  gemel__free(b, m + 1);
}

/* Whatever order tensors are given in, the file is the one that safetensors writes. */
static void writes(const void *data) {
  const char *const files[] = {"dtypes.safetensors", "none.safetensors"};
  gemel_error error = {0};
  (void)data;
  for (size_t j = 0; j < CT_COUNT(files); j++) {
    named n = load(corpus(files[j]));
    for (size_t k = 0; k < n.count / 2; k++) {
      size_t other = n.count - 1 - k;
      char *name = n.names[k];
      gemel_tensor *tensor = n.tensors[k];
      n.names[k] = n.names[other], n.tensors[k] = n.tensors[other];
      n.names[other] = name, n.tensors[other] = tensor;
    }
    CT_EQ_INT(
        gemel_safetensors_save(n.count, (const char *const *)n.names, n.tensors, scratch(), &error),
        GEMEL_OK);
    release(n);
    same_files(scratch(), corpus(files[j]));
  }
  remove(scratch());
}

static void writes_views(const void *data) {
  (void)data;
  int16_t memory[6] = {-4, 5, -1, 8, 2, 11};
  const int64_t strides[2] = {2, 4}, shape[2] = {2, 3};
  const expected wanted = {"x", GEMEL_I16, 2, {2, 3}};
  gemel_error error = {0};
  gemel_tensor *t = gemel_tensor_wrap(GEMEL_I16, 2, shape, strides, memory, NULL, NULL, &error);
  CT_EQ_INT(gemel_safetensors_save(1, (const char *[]){"x"}, &t, scratch(), &error), GEMEL_OK);
  gemel_tensor_unref(t);
  named n = load(scratch());
  check(n, &wanted, 1);
  release(n);
  remove(scratch());
}

static gemel_status save(const char *path, const char *first, const char *second,
                         gemel_error *error) {
  gemel_tensor *a = gemel_tensor_new(GEMEL_F32, 0, NULL, NULL);
  gemel_tensor *b = gemel_tensor_new(GEMEL_I8, 0, NULL, NULL);
  const char *names[] = {first, second};
  gemel_tensor *tensors[] = {a, b};
  gemel_status status = gemel_safetensors_save(2, names, tensors, path, error);
  gemel_tensor_unref(a);
  gemel_tensor_unref(b);
  return status;
}

static void refuses_to_write(const void *data) {
  (void)data;
  gemel_error error = {0};
  CT_EQ_INT(save(scratch(), "a", "a", &error), GEMEL_BAD_ARGUMENT);
  CT_HAS_STR(error.text, "two tensors to save are called 'a'");
  CT_EQ_INT(save(scratch(), "a", "__metadata__", &error), GEMEL_BAD_ARGUMENT);
  CT_HAS_STR(error.text, "__metadata__");
  CT_EQ_INT(save(scratch(), "a", "\xed\xa0\x80", &error), GEMEL_BAD_ARGUMENT);
  CT_HAS_STR(error.text, "UTF-8");
  CT_EQ_INT(save(scratch(), "a", NULL, &error), GEMEL_BAD_ARGUMENT);
  CT_CHECK(access(scratch(), F_OK) != 0);
  CT_EQ_INT(save("no-such-folder/x", "a", "b", &error), GEMEL_IO);
  CT_HAS_STR(error.text, "no-such-folder/x");
}

/* ---- What is refused ---- */

/* Bytes of exactly this length, so that reading beyond them is seen. */
static gemel_status parse(const char *bytes, size_t length, gemel_error *error) {
  named n = {0};
  char *exact = malloc(length ? length : 1);
  memcpy(exact, bytes, length);
  gemel_status status = gemel__safetensors_parse(exact, length, NULL, "f.safetensors", &n.names,
                                                 &n.tensors, &n.count, error);
  free(exact);
  if (status == GEMEL_OK) {
    release(n);
  }
  return status;
}

#define ONE(rest) "{\"a\":{\"dtype\":\"U8\"," rest "}}"
#define AT(name, shape, begin, end)                                                                \
  "\"" name "\":{\"dtype\":\"U8\",\"shape\":[" shape "],\"data_offsets\":[" begin "," end "]}"

/* Headers, with the bytes of data that follow, and what is said: "" of those that are good. */
static const struct {
  const char *header;
  size_t data;
  const char *says;
} headers[] = {
    {"{" AT("a", "2", "0", "2") "," AT("b", "1", "2", "3") "}", 3, ""},
    {"{" AT("a", "2", "1", "3") "," AT("b", "1", "0", "1") "}  \n", 3, ""},
    {" {" AT("a", "2", "0", "2") "}", 2, "byte 8: expected '{'"},
    {"{" AT("", "0", "0", "0") "," AT("b", "1", "0", "1") "}", 1, ""},
    {"{ \"__metadata__\" : { } , " AT("a", "1", "0", "1") "\t}", 1, ""},
    {"{\"__metadata__\":{\"a\":1}}", 0, "expected a string"},
    {"{\"__metadata__\":{\"a\":\"b\",}}", 0, "expected a string"},
    {"{\"__metadata__\":{},\"__metadata__\":{}}", 0, "__metadata__ only once"},
    {"{" AT("a", "1", "0", "1") "," AT("a", "1", "1", "2") "}", 2, "'a' is there twice"},
    {"{" AT("a", "1", "0", "1") "," AT("\\u0061", "1", "1", "2") "}", 2, "'a' is there twice"},
    {"{" AT("a", "2", "0", "2") "," AT("b", "2", "1", "3") "}", 3, "'b' overlaps the one before"},
    {"{" AT("a", "1", "0", "1") "," AT("b", "1", "2", "3") "}", 3, "'b' has bytes before it"},
    {"{" AT("a", "1", "1", "2") "}", 2, "'a' has bytes before it"},
    {"{" AT("a", "2", "0", "2") "}", 3, "1 bytes follow the last tensor"},
    {"{}", 1, "1 bytes follow the last tensor"},
    {"{" AT("a", "2", "0", "2") "}", 1, "'a' is at [0, 2] of 1 bytes of data"},
    {"{" AT("a", "1", "1", "0") "}", 1, "'a' is at [1, 0] of 1 bytes of data"},
    {"{" AT("a", "3", "0", "2") "}", 2, "'a' of u8[3] needs 3 bytes, and its place [0, 2] has 2"},
    {"{" AT("a", "4294967296,4294967296", "0", "0") "}", 0, "is larger than 2^"},
    {"{" AT("a", "9223372036854775808", "0", "0") "}", 0, "2^63 or more"},
    {"{" AT("a", "18446744073709551616", "0", "0") "}", 0, "a number below 2^64"},
    {"{" AT("a", "1", "0", "18446744073709551615") "}", 1, "'a' is at [0, 18446744073709551615]"},
    {"{" AT("a", "01", "0", "1") "}", 1, "a whole number"},
    {"{" AT("a", "-1", "0", "1") "}", 1, "a whole number"},
    {"{" AT("a", "1.0", "0", "1") "}", 1, "',' or ']'"},
    {"{" AT("a", "1,", "0", "1") "}", 1, "a whole number"},
    {"{" AT("a", "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1", "0", "1") "}", 1, "more than 16 axes"},
    {"{" AT("\\ud800", "1", "0", "1") "}", 1, "an escape"},
    {"{" AT("\\udc00", "1", "0", "1") "}", 1, "an escape"},
    {"{" AT("\\x", "1", "0", "1") "}", 1, "an escape"},
    {"{" AT("\\u00g0", "1", "0", "1") "}", 1, "an escape"},
    {"{" AT("\\u0000", "1", "0", "1") "}", 1, "U+0000"},
    {"{" AT("a\nb", "1", "0", "1") "}", 1, "control"},
    {"{" AT("\xff", "1", "0", "1") "}", 1, "byte 10: expected UTF-8"},
    {"{" AT("\xc0\xaf", "1", "0", "1") "}", 1, "UTF-8"},
    {"{" AT("\xed\xa0\x80", "1", "0", "1") "}", 1, "UTF-8"},
    {"{" AT("a\\n", "9", "0", "1") "}", 1, "tensor 'a?' of u8[9]"},
    {"{" AT("a", "1", "0", "1") "}x", 1, "nothing but spaces"},
    {"{" AT("a", "1", "0", "1") ",}", 1, "a name"},
    {"{" AT("a", "1", "0", "1"), 1, "',' or '}'"},
    {"{\"a", 0, "the end of a string"},
    {"{\"a\\", 0, "an escape"},
    {"{\"a\\u12", 0, "an escape"},
    {"{\"a\\ud83d\\ude", 0, "an escape"},
    {"{\"a\":null}", 0, "expected '{'"},
    {"{\"a\":{}}", 0, "expected a string"},
    {"", 0, "expected '{'"},
    {"[]", 0, "expected '{'"},
    {ONE("\"shape\":[1]"), 1, "dtype, shape and data_offsets"},
    {ONE("\"shape\":[1],\"data_offsets\":[0,1],\"dtype\":\"U8\""), 1, "each once"},
    {ONE("\"shape\":[1],\"data_offsets\":[0,1],\"x\":0"), 1, "each once"},
    {ONE("\"shape\":[1],\"data_offsets\":[0,1,2]"), 1, "expected ']'"},
    {ONE("\"shape\":[1],\"data_offsets\":[0]"), 1, "expected ','"},
    {"{\"a\":{\"dtype\":\"F8_E4M3\",\"shape\":[1],\"data_offsets\":[0,1]}}", 1,
     "the dtype F8_E4M3 is not supported"},
    {"{\"a\":{\"dtype\":\"f32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "the dtype f32 is not"},
    {"{\"a\":{\"dtype\":\"BOOL\",\"shape\":[1],\"data_offsets\":[0,1]}}", 1, "neither 0 nor 1"},
};

static void refuses(const void *data) {
  char bytes[1000];
  (void)data;
  for (size_t k = 0; k < CT_COUNT(headers); k++) {
    size_t n = strlen(headers[k].header);
    gemel_error error = {0};
    ct_context("%s", headers[k].header);
    memset(bytes, 0, sizeof bytes);
    bytes[0] = (char)n;
    bytes[1] = (char)(n >> 8);
    memcpy(bytes + 8, headers[k].header, n);
    memset(bytes + 8 + n, 2, headers[k].data);
    gemel_status status = parse(bytes, 8 + n + headers[k].data, &error);
    CT_EQ_INT(status, error.status);
    CT_CHECK((status == GEMEL_OK) == (headers[k].says[0] == 0));
    CT_CHECK(strstr(error.text, headers[k].says) != NULL);
    CT_CHECK(status == GEMEL_OK || strstr(error.text, "f.safetensors: ") == error.text);
  }
  ct_context(NULL);
}

static void refuses_lengths(const void *data) {
  const unsigned char many[10] = {0, 0xe1, 0xf5, 5, 0, 0, 0, 0, '{', '}'}; /* 100,000,000 */
  const unsigned char more[10] = {1, 0xe1, 0xf5, 5, 0, 0, 0, 0, '{', '}'};
  const unsigned char most[10] = {255, 255, 255, 255, 255, 255, 255, 255, '{', '}'};
  named n;
  gemel_error error;
  (void)data;
  CT_EQ_INT(parse((const char *)many, 10, &error), GEMEL_BAD_FILE);
  CT_HAS_STR(error.text, "cut off: the header's length is 100000000");
  CT_EQ_INT(parse((const char *)more, 10, &error), GEMEL_BAD_FILE);
  CT_HAS_STR(error.text, "at most 100000000, is 100000001");
  CT_EQ_INT(parse((const char *)most, 10, &error), GEMEL_BAD_FILE);
  CT_EQ_INT(parse("", 0, &error), GEMEL_BAD_FILE);
  CT_EQ_INT(gemel_safetensors_load("no-such-file", &n.count, &n.names, &n.tensors, &error),
            GEMEL_IO);
  CT_EQ_INT(gemel_safetensors_load(".", &n.count, &n.names, &n.tensors, &error), GEMEL_IO);
  close(open(scratch(), O_WRONLY | O_CREAT, 0600));
  CT_EQ_INT(gemel_safetensors_load(scratch(), &n.count, &n.names, &n.tensors, &error),
            GEMEL_BAD_FILE);
  CT_HAS_STR(error.text, "has 0 bytes");
  remove(scratch());
}

/* Each file cut off anywhere is refused; with bytes changed it is refused or read. */
static void damaged(const void *data) {
  const char *const files[] = {"dtypes.safetensors", "unaligned.safetensors"};
  (void)data;
  for (size_t j = 0; j < CT_COUNT(files); j++) {
    char *bytes;
    size_t n;
    gemel_error error;
    CT_REQUIRE(!gemel__file_read(corpus(files[j]), GEMEL__MOST_BYTES, &bytes, &n, &error));
    for (size_t k = 0; k < n; k++) {
      ct_context("%s, %zu bytes", files[j], k);
      CT_CHECK(parse(bytes, k, &error) != GEMEL_OK);
      char kept = bytes[k];
      for (int bit = 0; bit < 8; bit += 3) {
        bytes[k] = (char)(kept ^ 1 << bit);
        parse(bytes, n, &error);
      }
      bytes[k] = kept;
    }
    CT_EQ_INT(parse(bytes, n, &error), GEMEL_OK);
    gemel__free(bytes, n + 1);
  }
}

/* ---- Memory ---- */

static int load_and_save(void *data) {
  named n = {0};
  gemel_error error;
  (void)data;
  gemel_status status = gemel_safetensors_load(corpus("unaligned.safetensors"), &n.count, &n.names,
                                               &n.tensors, &error);
  if (status == GEMEL_OK) {
    status =
        gemel_safetensors_save(n.count, (const char *const *)n.names, n.tensors, scratch(), &error);
    release(n);
  }
  return status;
}

static void out_of_memory(const void *data) {
  (void)data;
  CT_CHECK(ct_oom(load_and_save, NULL) > 10);
  remove(scratch());
}

static const ct_test tests[] = {CT_TEST("reads", reads, NULL),
                                CT_TEST("lies-in-the-file", lies_in_the_file, NULL),
                                CT_TEST("outlives", outlives, NULL),
                                CT_TEST("writes", writes, NULL),
                                CT_TEST("writes-views", writes_views, NULL),
                                CT_TEST("refuses-to-write", refuses_to_write, NULL),
                                CT_TEST("refuses", refuses, NULL),
                                CT_TEST("refuses-lengths", refuses_lengths, NULL),
                                CT_TEST("damaged", damaged, NULL),
                                CT_TEST("out-of-memory", out_of_memory, NULL)};

void ct_register(void) {
  ct_suite("safetensors", tests, CT_COUNT(tests));
}
