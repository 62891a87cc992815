/*
 * Tensors: their making, wrapping and counting, limits of shapes and strides, and strided copies
 * against a loop that computes each address.
 *
 * SPDX-License-Identifier: MIT
 */
#include "ct.h"

#include <gemel/gemel.h>
#include <stdlib.h>
#include <string.h>

#include "core/strided.h"

static void zeros_row_major(const void *data) {
  int64_t shape[3] = {2, 0, 3};
  gemel_error error;
  (void)data;
  for (shape[1] = 0; shape[1] < 4; shape[1]++) {
    gemel_tensor *t = gemel_tensor_new(GEMEL_I32, 3, shape, &error);
    CT_REQUIRE(t != NULL);
    gemel_view view = gemel_tensor_view(t);
    int64_t n = gemel_tensor_elements(t), k;
    CT_EQ_INT(n, 6 * shape[1]);
    CT_EQ_INT((intptr_t)view.data % 64, 0);
    CT_EQ_INT(view.strides[2], 4);
    CT_EQ_INT(view.strides[1], 12);
    CT_EQ_INT(view.strides[0], 12 * (shape[1] > 0 ? shape[1] : 1));
    CT_EQ_INT(gemel_tensor_rank(t), 3);
    CT_EQ_INT(gemel_tensor_dtype(t), GEMEL_I32);
    CT_EQ_MEM(gemel_tensor_shape(t), shape, sizeof shape);
    for (k = 0; k < n; k++)
      CT_EQ_INT(((int32_t *)gemel_tensor_data(t))[k], 0);
    gemel_tensor_unref(t);
  }
}

static void scalars(const void *data) {
  gemel_error error;
  gemel_tensor *t = gemel_tensor_new(GEMEL_F64, 0, NULL, &error);
  (void)data;
  CT_REQUIRE(t != NULL);
  CT_EQ_INT(gemel_tensor_elements(t), 1);
  CT_CHECK(*(double *)gemel_tensor_data(t) == 0);
  CT_CHECK(gemel_tensor_ref(t) == t);
  gemel_tensor_unref(t);
  gemel_tensor_unref(t);
  gemel_tensor_unref(NULL);
}

#ifdef GEMEL_SANITIZED
enum { sanitized = 1 };
#else
enum { sanitized = 0 };
#endif

typedef struct bad_shape {
  int dtype, rank;
  int64_t shape[4];
  gemel_status status;
} bad_shape;

static void bad_shapes(const void *data) {
  static const bad_shape cases[] = {
      {GEMEL_F32, -1, {0}, GEMEL_BAD_SHAPE},
      {GEMEL_F32, 17, {0}, GEMEL_BAD_SHAPE},
      {GEMEL_F32, 2, {3, -1}, GEMEL_BAD_SHAPE},
      {GEMEL_I8, 1, {((int64_t)1 << (8 * sizeof(size_t) - 2)) + 1}, GEMEL_BAD_SHAPE},
      {GEMEL_F32, 1, {(int64_t)1 << 61}, GEMEL_BAD_SHAPE},
      {GEMEL_F32, 3, {(int64_t)1 << 31, (int64_t)1 << 31, (int64_t)1 << 31}, GEMEL_BAD_SHAPE},
      {GEMEL_F32, 3, {0, (int64_t)1 << 40, (int64_t)1 << 40}, GEMEL_BAD_SHAPE},
      {GEMEL_DTYPE_COUNT, 1, {1}, GEMEL_BAD_ARGUMENT},
      {GEMEL_F64, 1, {(int64_t)1 << 58}, sizeof(size_t) > 4 ? GEMEL_NO_MEMORY : GEMEL_BAD_SHAPE},
  };
  size_t k;
  (void)data;
  for (k = 0; k < CT_COUNT(cases); k++) {
    gemel_error error = {GEMEL_OK, 0, 0, ""};
    ct_context("case %zu", k);
    if (cases[k].status == GEMEL_NO_MEMORY && sanitized)
      continue;
    CT_CHECK(gemel_tensor_new((gemel_dtype)cases[k].dtype, cases[k].rank, cases[k].shape, &error) ==
             NULL);
    CT_EQ_INT(error.status, cases[k].status);
    CT_CHECK(error.text[0] != '\0');
  }
  ct_context(NULL);
}

static int released;

static void release(void *user) {
  CT_CHECK(user == &released);
  released++;
}

static void wrapping(const void *data) {
  double memory[6] = {1, 2, 3, 4, 5, 6};
  int64_t shape[2] = {2, 3}, backwards[2] = {-24, -8}, odd[2] = {24, 4},
          far[2] = {(int64_t)1 << 62, 8};
  gemel_error error;
  gemel_tensor *t =
                   gemel_tensor_wrap(GEMEL_F64, 2, shape, NULL, memory, release, &released, &error),
               *copy;
  gemel_view view;
  (void)data;
  CT_REQUIRE(t != NULL);
  CT_CHECK(gemel_tensor_data(t) == memory);
  released = 0;
  gemel_tensor_ref(t);
  gemel_tensor_unref(t);
  CT_EQ_INT(released, 0);
  gemel_tensor_unref(t);
  CT_EQ_INT(released, 1);

  t = gemel_tensor_wrap(GEMEL_F64, 2, shape, backwards, memory + 5, NULL, NULL, &error);
  CT_REQUIRE(t != NULL);
  view = gemel_tensor_view(t);
  copy = gemel_tensor_copy(&view, &error);
  CT_REQUIRE(copy != NULL);
  CT_EQ_MEM(gemel_tensor_data(copy), ((double[]){6, 5, 4, 3, 2, 1}), sizeof memory);
  gemel_tensor_unref(copy);
  gemel_tensor_unref(t);

  CT_CHECK(!gemel_tensor_wrap(GEMEL_F64, 2, shape, odd, memory, NULL, NULL, &error));
  CT_EQ_INT(error.status, GEMEL_BAD_ARGUMENT);
  CT_CHECK(!gemel_tensor_wrap(GEMEL_F64, 2, shape, NULL, (char *)memory + 4, NULL, NULL, &error));
  CT_EQ_INT(error.status, GEMEL_BAD_ARGUMENT);
  CT_CHECK(!gemel_tensor_wrap(GEMEL_F64, 2, shape, far, memory, NULL, NULL, &error));
  CT_EQ_INT(error.status, GEMEL_BAD_SHAPE);
  CT_CHECK(!gemel_tensor_wrap(GEMEL_F64, 2, shape, NULL, NULL, NULL, NULL, &error));
  CT_EQ_INT(error.status, GEMEL_BAD_ARGUMENT);
}

/* ---- Copies ---- */

static uint64_t state = 1;

static int64_t pick(int64_t n) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (int64_t)(state >> 33) % n;
}

enum { MAX_RANK = 5, ROOM = 1 << 16 };

/* Random strides for SHAPE that don't make elements of the target overlap, and where (0, ..., 0)
 * is. */
static int64_t random_layout(int rank, const int64_t *shape, int64_t bytes, int target,
                             int64_t *strides) {
  int order[MAX_RANK], k;
  int64_t step = bytes, start = 0;
  for (k = 0; k < rank; k++)
    order[k] = k;
  for (k = rank - 1; k > 0; k--) {
    int other = (int)pick(k + 1), axis = order[k];
    order[k] = order[other];
    order[other] = axis;
  }
  for (k = 0; k < rank; k++) {
    int axis = order[k];
    step *= 1 + (k < 2 && pick(4) == 0);
    strides[axis] = step;
    if (!target && pick(4) == 0) {
      strides[axis] = 0;
    } else if (pick(3) == 0) {
      strides[axis] = -step;
      start += step * (shape[axis] - 1);
    }
    step *= shape[axis];
  }
  return start;
}

static void copies(const void *data) {
  static unsigned char from[ROOM], to[ROOM], wanted[ROOM];
  size_t bytes = *(const size_t *)data;
  int round, k;
  for (k = 0; k < ROOM; k++)
    from[k] = (unsigned char)(k * 7 + k / 251);
  for (round = 0; round < 400; round++) {
    int rank = (int)pick(MAX_RANK + 1);
    int64_t shape[MAX_RANK], a[MAX_RANK], b[MAX_RANK], index[MAX_RANK] = {0}, n = 1, i;
    for (k = 0; k < rank; k++) {
      shape[k] = rank < 3 ? 1 + pick(70 / rank) : pick(5);
      n *= shape[k];
    }
    int64_t from_start = random_layout(rank, shape, (int64_t)bytes, 0, a);
    int64_t to_start = random_layout(rank, shape, (int64_t)bytes, 1, b);
    memset(to, 0xee, ROOM);
    memset(wanted, 0xee, ROOM);
    for (i = 0; i < n; i++) {
      int64_t x = from_start, y = to_start;
      for (k = 0; k < rank; k++) {
        x += index[k] * a[k];
        y += index[k] * b[k];
      }
      memcpy(wanted + y, from + x, bytes);
      for (k = rank - 1; k >= 0 && ++index[k] == shape[k]; k--)
        index[k] = 0;
    }
    gemel__copy_strided(bytes, rank, shape, to + (n > 0 ? to_start : 0), b,
                        from + (n > 0 ? from_start : 0), a);
    ct_context("round %d", round);
    if (!CT_EQ_MEM(to, wanted, ROOM))
      return;
  }
  ct_context(NULL);
}

/* A matrix of ROWS x COLUMNS read by columns, those last to first if BACKWARDS. */
static int turn(size_t bytes, int64_t rows, int64_t columns, int backwards) {
  static const gemel_dtype dtypes[] = {GEMEL_BOOL, GEMEL_U8,   GEMEL_U16,  GEMEL_BOOL, GEMEL_F32,
                                       GEMEL_BOOL, GEMEL_BOOL, GEMEL_BOOL, GEMEL_F64};
  int64_t item = (int64_t)bytes, k, good = 1;
  int64_t shape[2] = {columns, rows}, strides[2] = {backwards ? -item : item, columns * item};
  char *memory = malloc((size_t)(rows * columns * item));
  gemel_error error;
  gemel_view view = {dtypes[bytes], 2, shape, strides,
                     memory + (backwards ? (columns - 1) * item : 0)};
  gemel_tensor *copy;
  for (k = 0; memory != NULL && k < rows * columns * item; k++) {
    memory[k] = (char)pick(256);
  }
  copy = memory != NULL ? gemel_tensor_copy(&view, &error) : NULL;
  for (k = 0; copy != NULL && k < rows * columns && good; k++) {
    good =
        memcmp((const char *)gemel_tensor_data(copy) + k * item,
               (const char *)view.data + k / rows * strides[0] + k % rows * strides[1], bytes) == 0;
  }
  good = copy != NULL && good;
  gemel_tensor_unref(copy);
  free(memory);
  return (int)good;
}

/* Whole squares and blocks and their rests; the last is more than any cache holds. */
static void turned(const void *data) {
  static const int64_t sides[] = {1, 2, 15, 16, 33, 64, 131, 257};
  size_t bytes = *(const size_t *)data, k;
  for (k = 0; k < 2 * CT_COUNT(sides) * CT_COUNT(sides); k++) {
    int64_t rows = sides[k / 2 % CT_COUNT(sides)], columns = sides[k / 2 / CT_COUNT(sides)];
    ct_context("%d x %d, %s", (int)rows, (int)columns, k % 2 ? "backwards" : "forwards");
    CT_CHECK(turn(bytes, rows, columns, k % 2 != 0));
  }
  ct_context("much");
  CT_CHECK(getenv("GEMEL_VALGRIND") != NULL ||
           turn(bytes, 2101, (17 << 20) / 2101 / (int64_t)bytes, 0));
  ct_context(NULL);
}

/* ---- Much ---- */

enum { MUCH = 18 << 20 }; /* bytes: more than what is kept in a cache */

/* How SIZES in the target's order lie in a source that is PERMUTED, with axis BACKWARDS (-1: none)
 * turned round and every STEP-th element of the innermost axis taken. */
typedef struct much {
  int64_t sizes[3];
  int permuted[3]; /* source axes, outermost first */
  int backwards, step;
} much;

static const much much_cases[] = {
    {{40, 50, 0}, {0, 1, 2}, -1, 1}, {{40, 50, 0}, {0, 2, 1}, -1, 1},
    {{40, 50, 0}, {1, 0, 2}, -1, 1}, {{40, 50, 0}, {1, 2, 0}, -1, 1},
    {{40, 50, 0}, {2, 0, 1}, -1, 1}, {{40, 50, 0}, {2, 1, 0}, -1, 1},
    {{0, 50, 41}, {2, 1, 0}, 1, 1},  {{0, 3, 700}, {2, 1, 0}, -1, 1},
    {{9, 0, 3}, {2, 0, 1}, -1, 1},   {{9, 2, 0}, {2, 0, 1}, 0, 1},
    {{40, 0, 515}, {0, 1, 2}, 2, 1}, {{40, 0, 1030}, {0, 1, 2}, 2, 1},
    {{40, 0, 515}, {0, 1, 2}, 1, 2}, {{40, 0, 1030}, {1, 0, 2}, -1, 2},
    {{0, 7, 259}, {1, 0, 2}, 0, 1},  {{40, 0, 1030}, {1, 0, 2}, 1, 3}};

static int copies_rightly(const much *c, size_t bytes, int threads) {
  int64_t shape[3], from_strides[3], to_strides[3], step = (int64_t)bytes * c->step, begin = 0;
  int64_t room = 1, n = 1, wrong = 0;
  for (int k = 0; k < 3; k++) {
    room *= c->sizes[k] > 0 ? c->sizes[k] : 1;
  }
  for (int k = 0; k < 3; k++) {
    shape[k] = c->sizes[k] > 0 ? c->sizes[k] : MUCH / (int64_t)bytes / room + 1;
    n *= shape[k];
  }
  for (int k = 3; k-- > 0; step *= shape[c->permuted[k]]) {
    from_strides[c->permuted[k]] = step;
  }
  for (int64_t k = 3, at = (int64_t)bytes; k-- > 0; at *= shape[k]) {
    to_strides[k] = at;
  }
  unsigned char *from = malloc((size_t)step), *to = malloc((size_t)n * bytes + 1);
  for (int64_t k = 0; k < step; k++) {
    from[k] = (unsigned char)((uint64_t)(k / (int64_t)bytes * 2654435761) >> (8 * (k % 4)));
  }
  if (c->backwards >= 0) {
    begin = (shape[c->backwards] - 1) * from_strides[c->backwards];
    from_strides[c->backwards] *= -1;
  }
  to[n * (int64_t)bytes] = 77;
  gemel__copy_parallel(threads, bytes, 3, shape, to, to_strides, from + begin, from_strides);
  for (int64_t i = 0, k = 0; i < shape[0]; i++) {
    for (int64_t j = 0; j < shape[1]; j++) {
      const unsigned char *row = from + begin + i * from_strides[0] + j * from_strides[1];
      for (int64_t x = 0; x < shape[2]; x++, k++) {
        wrong += memcmp(to + k * (int64_t)bytes, row + x * from_strides[2], bytes) != 0;
      }
    }
  }
  wrong += to[n * (int64_t)bytes] != 77;
  free(from);
  free(to);
  return wrong == 0;
}

/* Every order of axes, thin planes, rows backwards and with steps, of arrays that no cache holds.
 */
static void copied_much(const void *data) {
  size_t bytes = *(const size_t *)data;
  for (size_t k = 0; k < CT_COUNT(much_cases) && getenv("GEMEL_VALGRIND") == NULL;
       k += bytes < 4 ? 3 : 1) {
    ct_context("case %d", (int)k);
    CT_CHECK(copies_rightly(&much_cases[k], bytes, 1 + (int)k % 2));
  }
  ct_context(NULL);
}

static int tensors_in_little_memory(void *data) {
  int64_t shape[2] = {3, 4};
  gemel_error error;
  gemel_tensor *t = gemel_tensor_new(GEMEL_F32, 2, shape, &error), *copy = NULL;
  gemel_status status = t != NULL ? GEMEL_OK : error.status;
  (void)data;
  if (t != NULL) {
    gemel_view view = gemel_tensor_view(t);
    copy = gemel_tensor_copy(&view, &error);
    status = copy != NULL ? GEMEL_OK : error.status;
  }
  gemel_tensor_unref(copy);
  gemel_tensor_unref(t);
  return status;
}

static void out_of_memory(const void *data) {
  (void)data;
  CT_CHECK(ct_oom(tensors_in_little_memory, NULL) == 4);
}

static const size_t sizes[] = {1, 2, 4, 8};

static const ct_test tests[] = {
    CT_TEST("new/zeros", zeros_row_major, NULL),   CT_TEST("new/scalar", scalars, NULL),
    CT_TEST("new/bad_shapes", bad_shapes, NULL),   CT_TEST("wrap", wrapping, NULL),
    CT_TEST("copy/1", copies, &sizes[0]),          CT_TEST("copy/2", copies, &sizes[1]),
    CT_TEST("copy/4", copies, &sizes[2]),          CT_TEST("copy/8", copies, &sizes[3]),
    CT_TEST("much/1", copied_much, &sizes[0]),     CT_TEST("much/2", copied_much, &sizes[1]),
    CT_TEST("much/4", copied_much, &sizes[2]),     CT_TEST("much/8", copied_much, &sizes[3]),
    CT_TEST("turned/1", turned, &sizes[0]),        CT_TEST("turned/2", turned, &sizes[1]),
    CT_TEST("turned/4", turned, &sizes[2]),        CT_TEST("turned/8", turned, &sizes[3]),
    CT_TEST("out_of_memory", out_of_memory, NULL),
};

void ct_register(void) {
  ct_suite("tensor", tests, CT_COUNT(tests));
}
