/* SPDX-License-Identifier: MIT
 *
 * NPY and NPZ: files that NumPy wrote (tests/corpus/npy, made by make-npy.py), what gemel writes
 * read back, and files that are cut off, damaged or of kinds that gemel doesn't read.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <gemel/gemel.h>
#include "core/alloc.h"
#include "core/dtype.h"
#include "text/file.h"
#include "text/npy.h"
#include "counted.h"
#include "ct.h"
#include "support/random.h"

static const char *corpus(const char *name) {
  static char path[2000];
  const char *folder = getenv("GEMEL_SRCDIR");
  snprintf(path, sizeof path, "%s/tests/corpus/npy/%s", folder ? folder : ".", name);
  return path;
}

/* A scratch file. */
static const char *scratch(const char *suffix) {
  static char path[500];
  snprintf(path, sizeof path, "%s/t-npy%s", ct_scratch(), suffix);
  return path;
}

typedef struct fixture {
  const char *file;
  gemel_dtype dtype;
  int rank;
  int64_t shape[3];
} fixture;

static const fixture fixtures[] = {
    {"b1-2x3.npy", GEMEL_BOOL, 2, {2, 3}},
    {"i1-2x3.npy", GEMEL_I8, 2, {2, 3}},
    {"i2-2x3.npy", GEMEL_I16, 2, {2, 3}},
    {"i4-2x3.npy", GEMEL_I32, 2, {2, 3}},
    {"i8-2x3.npy", GEMEL_I64, 2, {2, 3}},
    {"u1-2x3.npy", GEMEL_U8, 2, {2, 3}},
    {"u2-2x3.npy", GEMEL_U16, 2, {2, 3}},
    {"u4-2x3.npy", GEMEL_U32, 2, {2, 3}},
    {"u8-2x3.npy", GEMEL_U64, 2, {2, 3}},
    {"f2-2x3.npy", GEMEL_F16, 2, {2, 3}},
    {"f4-2x3.npy", GEMEL_F32, 2, {2, 3}},
    {"f8-2x3.npy", GEMEL_F64, 2, {2, 3}},
    {"f4-fortran-2x3x4.npy", GEMEL_F32, 3, {2, 3, 4}},
    {"f8-scalar.npy", GEMEL_F64, 0, {0}},
    {"i4-empty-0x5.npy", GEMEL_I32, 2, {0, 5}},
    {"i4-one-7.npy", GEMEL_I32, 1, {7}},
    {"i2-version2.npy", GEMEL_I16, 2, {2, 2}},
    {"i2-version3.npy", GEMEL_I16, 2, {2, 2}},
};

static void check_tensor(const gemel_tensor *t, gemel_dtype dtype, int rank, const int64_t *shape) {
  CT_REQUIRE(t != NULL);
  CT_EQ_INT(gemel_tensor_dtype(t), dtype);
  CT_REQUIRE(gemel_tensor_rank(t) == rank);
  for (int k = 0; k < rank; k++) {
    CT_EQ_INT(gemel_tensor_shape(t)[k], shape[k]);
  }
  for (int64_t k = 0; k < gemel_tensor_elements(t); k++) {
    ct_context("element %lld", (long long)k);
    CT_CHECK(is_expected(t, k));
  }
  ct_context(NULL);
}

static void reads(const void *data) {
  const fixture *f = (const fixture *)data;
  gemel_error error = {0};
  gemel_tensor *t = gemel_npy_load(corpus(f->file), &error);
  CT_EQ_STR(error.text, "");
  check_tensor(t, f->dtype, f->rank, f->shape);
  gemel_tensor_unref(t);
}

/* What is written reads back the same, and where NumPy would write one block of rows, so does
 * gemel. */
static void writes(const void *data) {
  const fixture *f = (const fixture *)data;
  gemel_error error = {0};
  char *ours, *theirs;
  size_t n = 0, m = 0;
  gemel_tensor *t = gemel_npy_load(corpus(f->file), &error);
  CT_REQUIRE(t != NULL);
  gemel_view view = gemel_tensor_view(t);
  CT_EQ_INT(gemel_npy_save(&view, scratch(".npy"), &error), GEMEL_OK);
  gemel_tensor *back = gemel_npy_load(scratch(".npy"), &error);
  check_tensor(back, f->dtype, f->rank, f->shape);
  if (!strstr(f->file, "fortran") && !strstr(f->file, "version")) {
    CT_REQUIRE(!gemel__file_read(scratch(".npy"), GEMEL__MOST_BYTES, &ours, &n, &error));
    CT_REQUIRE(!gemel__file_read(corpus(f->file), GEMEL__MOST_BYTES, &theirs, &m, &error));
    CT_EQ_UINT(n, m);
    CT_CHECK(n == m && CT_EQ_MEM(ours, theirs, n));
    gemel__free(ours, n + 1);
    gemel__free(theirs, m + 1);
  }
  remove(scratch(".npy"));
  gemel_tensor_unref(t);
  gemel_tensor_unref(back);
}

static void views(const void *data) {
  (void)data;
  float memory[24];
  int64_t shape[3] = {3, 2, 2}, strides[3] = {-8, 4, 48};
  gemel_error error = {0};
  for (int k = 0; k < 24; k++) {
    memory[k] = (float)k;
  }
  gemel_view view = {GEMEL_F32, 3, shape, strides, memory + 5};
  CT_EQ_INT(gemel_npy_save(&view, scratch(".npy"), &error), GEMEL_OK);
  gemel_tensor *t = gemel_npy_load(scratch(".npy"), &error);
  CT_REQUIRE(t != NULL);
  for (int i = 0, k = 0; i < 3; i++) {
    for (int j = 0; j < 2; j++) {
      for (int l = 0; l < 2; l++, k++) {
        CT_CHECK(((const float *)gemel_tensor_data(t))[k] == (float)(5 - 2 * i + j + 12 * l));
      }
    }
  }
  remove(scratch(".npy"));
  gemel_tensor_unref(t);
}

static void refuses(const void *data) {
  const char *const files[] = {"bad-bigendian.npy", "bad-complex.npy", "bad-structure.npy",
                               "bad-object.npy", "bad-text.npy"};
  char **names;
  gemel_tensor **tensors;
  size_t count;
  gemel_error error;
  (void)data;
  for (size_t k = 0; k < CT_COUNT(files); k++) {
    ct_context("%s", files[k]);
    CT_CHECK(!gemel_npy_load(corpus(files[k]), &error));
    CT_EQ_INT(error.status, GEMEL_BAD_FILE);
    CT_HAS_STR(error.text, files[k]);
  }
  CT_EQ_INT(gemel_npz_load(corpus("bad-compressed.npz"), &count, &names, &tensors, &error),
            GEMEL_UNSUPPORTED);
  CT_HAS_STR(error.text, "compressed");
  CT_CHECK(!gemel_npy_load(corpus("stored.npz"), &error));
  CT_EQ_INT(error.status, GEMEL_BAD_FILE);
  CT_EQ_INT(gemel_npz_load(corpus("f4-2x3.npy"), &count, &names, &tensors, &error), GEMEL_BAD_FILE);
  CT_CHECK(!gemel_npy_load(corpus("no-such-file.npy"), &error));
  CT_EQ_INT(error.status, GEMEL_IO);
  CT_CHECK(!gemel_npy_load(corpus("."), &error));
  CT_EQ_INT(error.status, GEMEL_IO);
}

static void refuses_to_write(const void *data) {
  (void)data;
  uint16_t element = 0x3f80;
  gemel_error error = {0};
  gemel_view view = {GEMEL_BF16, 0, NULL, NULL, &element};
  CT_EQ_INT(gemel_npy_save(&view, scratch("-bf16.npy"), &error), GEMEL_UNSUPPORTED);
  CT_HAS_STR(error.text, "bf16");
  CT_CHECK(access(scratch("-bf16.npy"), F_OK) != 0);
  view.dtype = GEMEL_F16;
  CT_EQ_INT(gemel_npy_save(&view, "no-such-folder/x.npy", &error), GEMEL_IO);
  CT_HAS_STR(error.text, "no-such-folder/x.npy");
  CT_EQ_INT(gemel_npy_save(&view, ".", &error), GEMEL_IO);
}

/* Headers by hand: 1 those that NumPy could have written, 0 those that it couldn't. */
static const struct {
  int good;
  const char *text;
} headers[] = {
    {1, "{'descr': '<i2', 'fortran_order': False, 'shape': (3,), }"},
    {1, "{\"shape\":(3,),\"descr\":\"<i2\",\"fortran_order\":True}"},
    {1, "{ 'shape' : ( 3 , ) , 'fortran_order' : False , 'descr' : '<i2' }"},
    {1, "{'descr': '<i2', 'fortran_order': False, 'shape': (3, 1)}"},
    {0, "{'descr': '<i2', 'fortran_order': False, 'shape': (3)}"},
    {0, "{'descr': '<i2', 'fortran_order': False, 'shape': (3,), 'x': 1}"},
    {0, "{'descr': '<i2', 'fortran_order': False}"},
    {0, "{'descr': '<i2', 'descr': '<i2', 'fortran_order': False, 'shape': (3,)}"},
    {0, "{'descr': '<i2', 'fortran_order': false, 'shape': (3,)}"},
    {0, "{'descr': '>i2', 'fortran_order': False, 'shape': (3,)}"},
    {0, "{'descr': '<i2', 'fortran_order': False, 'shape': (-3,)}"},
    {0, "{'descr': '<i2', 'fortran_order': False, 'shape': (3 3)}"},
    {0, "{'descr': '<i2', 'fortran_order': False, 'shape': (99999999999999999999,)}"},
    {0, "{'descr': '<i2', 'fortran_order': False, 'shape': (4611686018427387904, 4)}"},
    {0, "{'descr': '<i2', 'fortran_order': False, 'shape': (4,)}"},
    {0, "{'descr': '<i2', 'fortran_order': False, 'shape': (2,)}"},
    {0, "{'descr': '<i2', 'fortran_order': False, 'shape': "
        "(3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1)}"},
    {0, "{'descr': '<i2', 'fortran_order': False, 'shape': (3,)} x"},
    {0, "{'descr: '<i2', 'fortran_order': False, 'shape': (3,)}"},
    {0, "{'descr': '<i2' 'fortran_order': False, 'shape': (3,)}"},
    {0, "'descr': '<i2', 'fortran_order': False, 'shape': (3,)"},
    {0, "{"},
    {0, ""},
};

static void header_variants(const void *data) {
  (void)data;
  for (size_t k = 0; k < CT_COUNT(headers); k++) {
    char bytes[400];
    size_t n = strlen(headers[k].text) + 1;
    gemel_error error = {0};
    memcpy(bytes, "\x93NUMPY\x01", 8);
    bytes[8] = (char)n;
    bytes[9] = 0;
    memcpy(bytes + 10, headers[k].text, n);
    bytes[9 + n] = '\n';
    memcpy(bytes + 10 + n, "\1\0\2\0\3\0", 6);
    ct_context("%s", headers[k].text);
    gemel_tensor *t = gemel__npy_parse(bytes, 16 + n, "header", &error);
    CT_EQ_INT(t != NULL, headers[k].good);
    if (!t) {
      CT_EQ_INT(error.status, GEMEL_BAD_FILE);
    }
    gemel_tensor_unref(t);
  }
}

/* What NumPy has and gemel hasn't is named. */
static void other_dtypes(const void *data) {
  static const struct {
    const char *description, *named;
  } all[] = {{"'<c8'", "dtype <c8 "},
             {"'>f4'", "dtype >f4 "},
             {"'|O'", "dtype |O "},
             {"'<M8[25s/generic]'", "dtype <M8[25s/generic] "},
             {"[('a', '<f4'), ('b', '<i4')]", "dtype of several fields "}};
  (void)data;
  for (size_t k = 0; k < CT_COUNT(all); k++) {
    char bytes[400] = "\x93NUMPY\x01";
    int n = snprintf(bytes + 10, sizeof bytes - 10,
                     "{'descr': %s, 'fortran_order': False, 'shape': (), }\n", all[k].description);
    gemel_error error = {0};
    bytes[8] = (char)n;
    ct_context("%s", all[k].description);
    CT_CHECK(gemel__npy_parse(bytes, 10 + (size_t)n + 8, "header", &error) == NULL);
    CT_EQ_INT(error.status, GEMEL_BAD_FILE);
    CT_HAS_STR(error.text, all[k].named);
    CT_HAS_STR(error.text, "|i1 <i2 <i4");
  }
}

/* Every proper beginning of a file is refused, and so is one byte more. */
static void cut_off(const void *data) {
  (void)data;
  for (size_t f = 0; f < CT_COUNT(fixtures); f++) {
    char *bytes;
    size_t n;
    gemel_error error;
    CT_REQUIRE(!gemel__file_read(corpus(fixtures[f].file), GEMEL__MOST_BYTES, &bytes, &n, &error));
    for (size_t k = 0; k < n; k++) {
      char *exact = (char *)malloc(k + 1); /* its own block: a byte too far is seen by Valgrind */
      memcpy(exact, bytes, k);
      ct_context("%s, %zu bytes", fixtures[f].file, k);
      CT_CHECK(!gemel__npy_parse(exact, k, "cut", &error));
      CT_EQ_INT(error.status, GEMEL_BAD_FILE);
      free(exact);
    }
    CT_CHECK(!gemel__npy_parse(bytes, n + 1, "longer", &error)); /* the NUL behind the file */
    gemel__free(bytes, n + 1);
  }
}

static void damaged(const void *data) {
  (void)data;
  int accepted = 0;
  for (int round = 0; round < 20000; round++) {
    const fixture *f = &fixtures[rnd(CT_COUNT(fixtures))];
    char *bytes;
    size_t n;
    gemel_error error = {0};
    CT_REQUIRE(!gemel__file_read(corpus(f->file), GEMEL__MOST_BYTES, &bytes, &n, &error));
    for (uint64_t k = 1 + rnd(3); k > 0; k--) {
      bytes[rnd(n < 100 ? n : 100)] = (char)(rnd(2) ? rnd(256) : ' ' + rnd(95));
    }
    gemel_tensor *t = gemel__npy_parse(bytes, n, "damaged", &error);
    accepted += t != NULL;
    if (!t && !CT_EQ_INT(error.status, GEMEL_BAD_FILE)) {
      round = 20000;
    }
    gemel_tensor_unref(t);
    gemel__free(bytes, n + 1);
  }
  CT_CHECK(accepted > 0 && accepted < 15000);
}

/* ---- NPZ ---- */

static void npz_reads(const void *data) {
  (void)data;
  char **names = NULL;
  gemel_tensor **tensors = NULL;
  size_t count = 0;
  gemel_error error = {0};
  int64_t shape[] = {2, 3}, four = 4, none = 0;
  CT_EQ_INT(gemel_npz_load(corpus("stored.npz"), &count, &names, &tensors, &error), GEMEL_OK);
  CT_REQUIRE(count == 3);
  CT_EQ_STR(names[0], "x");
  CT_EQ_STR(names[1], "y");
  CT_EQ_STR(names[2], "empty");
  check_tensor(tensors[0], GEMEL_F32, 2, shape);
  check_tensor(tensors[1], GEMEL_I64, 1, &four);
  check_tensor(tensors[2], GEMEL_F64, 1, &none);
  gemel_npz_free(count, names, tensors);
}

static gemel_status save_and_load(size_t *count) {
  gemel_error error = {0};
  const char *const wanted[] = {"a", "b/c", "long name with \xc3\xa9"};
  gemel_tensor *out[3] = {NULL, NULL, NULL}, **tensors = NULL;
  char **names = NULL;
  int64_t shape[2] = {2, 3};
  gemel_status status = GEMEL_OK;
  for (int k = 0; k < 3 && !status; k++) {
    out[k] = gemel_tensor_new(k == 1 ? GEMEL_BOOL : GEMEL_F64, k, shape, &error);
    status = out[k] ? GEMEL_OK : error.status;
  }
  status = status ? status : gemel_npz_save(3, wanted, out, scratch(".npz"), &error);
  status = status ? status : gemel_npz_load(scratch(".npz"), count, &names, &tensors, &error);
  for (size_t k = 0; k < 3 && !status; k++) {
    CT_EQ_STR(names[k], wanted[k]);
    CT_EQ_INT(gemel_tensor_rank(tensors[k]), (int)k);
  }
  if (!status) {
    gemel_npz_free(*count, names, tensors);
  }
  for (int k = 0; k < 3; k++) {
    gemel_tensor_unref(out[k]);
  }
  remove(scratch(".npz"));
  return status;
}

static void npz_writes(const void *data) {
  (void)data;
  size_t count = 0;
  gemel_error error = {0};
  char **names;
  gemel_tensor **tensors;
  CT_EQ_INT(save_and_load(&count), GEMEL_OK);
  CT_EQ_UINT(count, 3);
  CT_EQ_INT(gemel_npz_save(0, NULL, NULL, scratch(".npz"), &error), GEMEL_OK);
  CT_EQ_INT(gemel_npz_load(scratch(".npz"), &count, &names, &tensors, &error), GEMEL_OK);
  CT_EQ_UINT(count, 0);
  gemel_npz_free(count, names, tensors);
  remove(scratch(".npz"));
}

/* A view without strides is row-major, one without elements is refused; a device has an end. */
static void bare_views(const void *data) {
  gemel_error error = {0};
  const int64_t shape[2] = {2, 3};
  float elements[6] = {1, 2, 3, 4, 5, 6};
  gemel_view view = {GEMEL_F32, 2, shape, NULL, elements};
  gemel_tensor *t = gemel_tensor_copy(&view, &error);
  (void)data;
  CT_REQUIRE(t != NULL);
  CT_EQ_MEM(gemel_tensor_data(t), elements, sizeof elements);
  gemel_tensor_unref(t);
  CT_EQ_INT(gemel_npy_save(&view, scratch(".npy"), &error), GEMEL_OK);
  remove(scratch(".npy"));
  view.data = NULL;
  CT_CHECK(gemel_tensor_copy(&view, &error) == NULL);
  CT_EQ_INT(gemel_npy_save(&view, scratch(".npy"), &error), GEMEL_BAD_ARGUMENT);
  CT_CHECK(gemel_npy_load("/dev/zero", &error) == NULL && error.text[0] != '\0');
}

static void npz_twice(const void *data) {
  gemel_error error = {0};
  gemel_tensor *t = gemel_tensor_new(GEMEL_F32, 0, NULL, &error);
  gemel_tensor *all[3] = {t, t, t};
  const char *const names[3] = {"b", "a", "b"};
  (void)data;
  CT_EQ_INT(gemel_npz_save(3, names, all, scratch(".npz"), &error), GEMEL_BAD_ARGUMENT);
  CT_HAS_STR(error.text, "two tensors to save are called 'b'");
  CT_CHECK(access(scratch(".npz"), F_OK) != 0);
  CT_EQ_INT(gemel_npz_save(2, names, all, scratch(".npz"), &error), GEMEL_OK);
  remove(scratch(".npz"));
  gemel_tensor_unref(t);
}

/* Parses N bytes from a block of their own. */
static gemel_status parse_copy(const char *bytes, size_t n, gemel_error *error) {
  char **names, *exact = (char *)malloc(n + 1);
  gemel_tensor **tensors;
  size_t count;
  memcpy(exact, bytes, n);
  gemel_status status = gemel__npz_parse(exact, n, "bytes", &names, &tensors, &count, error);
  if (!status) {
    gemel_npz_free(count, names, tensors);
  }
  free(exact);
  return status;
}

static void npz_damaged(const void *data) {
  (void)data;
  char *bytes;
  size_t n;
  gemel_error error;
  int refused = 0;
  CT_REQUIRE(!gemel__file_read(corpus("stored.npz"), GEMEL__MOST_BYTES, &bytes, &n, &error));
  for (size_t k = 0; k < n; k++) {
    ct_context("%zu bytes", k);
    CT_EQ_INT(parse_copy(bytes, k, &error), GEMEL_BAD_FILE);
  }
  ct_context(NULL);
  for (size_t k = 0; k < 8 * n; k++) {
    bytes[k / 8] = (char)(bytes[k / 8] ^ 1 << k % 8);
    refused += parse_copy(bytes, n, &error) != GEMEL_OK;
    bytes[k / 8] = (char)(bytes[k / 8] ^ 1 << k % 8);
  }
  CT_CHECK(refused > (int)(6 * n)); /* but for dates, versions and the like */
  for (int round = 0; round < 20000; round++) {
    char old[4];
    size_t at[4];
    for (int k = 0; k < 4; k++) {
      at[k] = rnd(n);
      old[k] = bytes[at[k]];
      bytes[at[k]] = (char)rnd(256);
    }
    parse_copy(bytes, n, &error);
    for (int k = 4; k-- > 0;) {
      bytes[at[k]] = old[k];
    }
  }
  gemel__free(bytes, n + 1);
}

/* What a link points to is written, and a pipe stays a pipe. */
static void links_and_pipes(const void *data) {
  static char bytes[4096];
  char link[500], pipe[500], file[500];
  struct stat info;
  gemel_error error = {0};
  int64_t two = 2;
  gemel_tensor *t = gemel_tensor_new(GEMEL_F32, 1, &two, NULL), *back;
  gemel_view view = gemel_tensor_view(t);
  (void)data;
  snprintf(link, sizeof link, "%s", scratch("-link.npy"));
  snprintf(pipe, sizeof pipe, "%s", scratch("-pipe"));
  snprintf(file, sizeof file, "%s", scratch("-file.npy"));
  CT_EQ_INT(gemel_npy_save(&view, file, &error), GEMEL_OK);
  ((float *)gemel_tensor_data(t))[1] = 7;
  CT_REQUIRE(symlink(file, link) == 0 && mkfifo(pipe, 0600) == 0);
  CT_EQ_INT(gemel_npy_save(&view, link, &error), GEMEL_OK);
  CT_CHECK(lstat(link, &info) == 0 && S_ISLNK(info.st_mode));
  back = gemel_npy_load(file, &error);
  CT_CHECK(back != NULL && ((const float *)gemel_tensor_data(back))[1] == 7);
  int reader = open(pipe, O_RDONLY | O_NONBLOCK);
  CT_EQ_INT(gemel_npy_save(&view, pipe, &error), GEMEL_OK);
  CT_CHECK(lstat(pipe, &info) == 0 && S_ISFIFO(info.st_mode));
  CT_EQ_INT(read(reader, bytes, sizeof bytes), 128 + 8);
  close(reader);
  gemel_tensor_unref(back);
  gemel_tensor_unref(t);
  remove(link);
  remove(pipe);
  remove(file);
}

static int everything(void *data) {
  size_t count = 0;
  gemel_error error = {0};
  (void)data;
  gemel_tensor *t = gemel_npy_load(corpus("f4-fortran-2x3x4.npy"), &error);
  if (!t) {
    return error.status;
  }
  gemel_view view = gemel_tensor_view(t);
  gemel_status status = gemel_npy_save(&view, scratch("-oom.npy"), &error);
  if (status) {
    CT_CHECK(access(scratch("-oom.npy"), F_OK) != 0);
  }
  remove(scratch("-oom.npy"));
  gemel_tensor_unref(t);
  return status ? status : save_and_load(&count);
}

static void memory(const void *data) {
  (void)data;
  CT_CHECK(ct_oom(everything, NULL) > 10);
}

static const ct_test tests[] = {
    CT_TEST("links_and_pipes", links_and_pipes, NULL),
    CT_TEST("views", views, NULL),
    CT_TEST("refuses", refuses, NULL),
    CT_TEST("refuses_to_write", refuses_to_write, NULL),
    CT_TEST("headers", header_variants, NULL),
    CT_TEST("other_dtypes", other_dtypes, NULL),
    CT_TEST("cut_off", cut_off, NULL),
    CT_TEST("damaged", damaged, NULL),
    CT_TEST("npz/reads", npz_reads, NULL),
    CT_TEST("npz/writes", npz_writes, NULL),
    CT_TEST("npz/twice", npz_twice, NULL),
    CT_TEST("bare_views", bare_views, NULL),
    CT_TEST("npz/damaged", npz_damaged, NULL),
    CT_TEST("memory", memory, NULL),
};

void ct_register(void) {
  for (size_t k = 0; k < CT_COUNT(fixtures); k++) {
    CT_ADD_TO("npy", "reads", fixtures[k].file, reads, &fixtures[k]);
    CT_ADD_TO("npy", "writes", fixtures[k].file, writes, &fixtures[k]);
  }
  ct_suite("npy", tests, CT_COUNT(tests));
}
