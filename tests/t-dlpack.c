/* SPDX-License-Identifier: MIT
 *
 * DLPack: what a tensor looks like to another library, tensors of another library, and who gives
 * back what, when.
 */
#include <stddef.h>
#include <string.h>
#include <gemel/gemel.h>
#include "core/tensor.h"
#include "ct.h"

/* The layout that DLPack's header has where addresses have 64 bits. */
_Static_assert(
    sizeof(void *) != 8 ||
        (sizeof(gemel_dlpack_tensor) == 48 && offsetof(gemel_dlpack_tensor, device_id) == 12 &&
         offsetof(gemel_dlpack_tensor, ndim) == 16 && offsetof(gemel_dlpack_tensor, code) == 20 &&
         offsetof(gemel_dlpack_tensor, lanes) == 22 && offsetof(gemel_dlpack_tensor, shape) == 24 &&
         offsetof(gemel_dlpack_tensor, byte_offset) == 40 &&
         offsetof(gemel_dlpack, deleter) == 16 && offsetof(gemel_dlpack, tensor) == 32 &&
         offsetof(gemel_dlpack_unversioned, deleter) == 56),
    "another layout than DLPack's");

static const gemel_error no_error = {0};

/* ---- Lending ---- */

/* Kind of number and bits of each dtype. */
static const struct {
  gemel_dtype dtype;
  int code, bits;
} kinds[] = {{GEMEL_BOOL, 6, 8}, {GEMEL_I8, 0, 8},   {GEMEL_I16, 0, 16}, {GEMEL_I32, 0, 32},
             {GEMEL_I64, 0, 64}, {GEMEL_U8, 1, 8},   {GEMEL_U16, 1, 16}, {GEMEL_U32, 1, 32},
             {GEMEL_U64, 1, 64}, {GEMEL_F16, 2, 16}, {GEMEL_F32, 2, 32}, {GEMEL_F64, 2, 64},
             {GEMEL_BF16, 4, 16}};

static void lends(const void *data) {
  (void)data;
  CT_EQ_INT(CT_COUNT(kinds), GEMEL_DTYPE_COUNT);
  for (size_t k = 0; k < CT_COUNT(kinds); k++) {
    gemel_error error = no_error;
    ct_context("%s", gemel_dtype_name(kinds[k].dtype));
    gemel_tensor *t = gemel_tensor_new(kinds[k].dtype, GEMEL_LIST(int64_t, 2, 3), &error);
    gemel_dlpack *lent = gemel_tensor_to_dlpack(t, GEMEL_DLPACK_READ_ONLY, &error);
    CT_REQUIRE(lent != NULL);
    CT_EQ_INT(t->references, 2);
    CT_EQ_INT(lent->major, 1);
    CT_EQ_UINT(lent->flags, 1);
    CT_CHECK(lent->tensor.data == gemel_tensor_data(t) && lent->tensor.byte_offset == 0);
    CT_CHECK(lent->tensor.device_type == 1 && lent->tensor.device_id == 0);
    CT_EQ_INT(lent->tensor.code, kinds[k].code);
    CT_EQ_INT(lent->tensor.bits, kinds[k].bits);
    CT_EQ_INT(lent->tensor.lanes, 1);
    CT_EQ_INT(lent->tensor.ndim, 2);
    CT_CHECK(lent->tensor.shape[0] == 2 && lent->tensor.shape[1] == 3);
    CT_CHECK(lent->tensor.strides[0] == 3 && lent->tensor.strides[1] == 1);
    lent->deleter(lent);
    CT_EQ_INT(t->references, 1);
    gemel_tensor_unref(t);
  }
  ct_context(NULL);
}

static void lends_unversioned(const void *data) {
  (void)data;
  gemel_error error = no_error;
  gemel_tensor *t = gemel_tensor_new(GEMEL_F32, GEMEL_LIST(int64_t, 2, 3), &error);
  gemel_dlpack_unversioned *lent = gemel_tensor_to_dlpack_unversioned(t, &error);
  CT_REQUIRE(lent != NULL);
  gemel_tensor_unref(t); /* what is lent stays */
  memset(lent->tensor.data, 0, 24);
  CT_CHECK(lent->tensor.ndim == 2 && lent->tensor.strides[0] == 3 && lent->tensor.bits == 32);
  lent->deleter(lent);
}

/* Strides that aren't those of rows, negative ones too; no axes; no elements. */
static void lends_views(const void *data) {
  (void)data;
  gemel_error error = no_error;
  int32_t memory[6] = {0};
  const int64_t shape[] = {3, 2}, strides[] = {4, -12};
  gemel_tensor *t = gemel_tensor_wrap(GEMEL_I32, 2, shape, strides, memory + 3, NULL, NULL, &error);
  gemel_dlpack *lent = gemel_tensor_to_dlpack(t, 0, &error);
  CT_REQUIRE(lent != NULL);
  CT_CHECK(lent->tensor.data == memory + 3);
  CT_CHECK(lent->tensor.strides[0] == 1 && lent->tensor.strides[1] == -3);
  lent->deleter(lent);
  gemel_tensor_unref(t);
  t = gemel_tensor_new(GEMEL_I32, 0, NULL, &error);
  lent = gemel_tensor_to_dlpack(t, 0, &error);
  CT_REQUIRE(lent != NULL);
  CT_CHECK(lent->tensor.ndim == 0 && lent->tensor.data == gemel_tensor_data(t));
  lent->deleter(lent);
  gemel_tensor_unref(t);
  t = gemel_tensor_new(GEMEL_I32, GEMEL_LIST(int64_t, 4, 0), &error);
  lent = gemel_tensor_to_dlpack(t, 0, &error);
  CT_REQUIRE(lent != NULL);
  CT_CHECK(lent->tensor.data == NULL && lent->tensor.shape[0] == 4 && lent->tensor.shape[1] == 0);
  lent->deleter(lent);
  CT_CHECK(gemel_tensor_to_dlpack(t, 4, &error) == NULL);
  CT_EQ_INT(error.status, GEMEL_BAD_ARGUMENT);
  CT_EQ_INT(t->references, 1);
  gemel_tensor_unref(t);
}

/* ---- Taking ---- */

static int deleted;

static void count_versioned(gemel_dlpack *self) {
  deleted++;
  self->tensor.data = NULL;
}

static void count_unversioned(gemel_dlpack_unversioned *self) {
  deleted++;
  self->tensor.data = NULL;
}

/* f32[2, 3] at MEMORY, as another library would lend it. */
static gemel_dlpack foreign(float *memory, int64_t *shape, int64_t *strides) {
  deleted = 0;
  return (gemel_dlpack){
      1,
      3,
      NULL,
      count_versioned,
      GEMEL_DLPACK_READ_ONLY,
      {memory, GEMEL_DLPACK_CPU, 0, 2, GEMEL_DLPACK_FLOAT, 32, 1, shape, strides, 0}};
}

static void takes(const void *data) {
  (void)data;
  gemel_error error = no_error;
  float memory[12] = {0};
  int64_t shape[] = {2, 3}, strides[] = {-1, 4}, rows[] = {6, 2};
  gemel_dlpack lent = foreign(memory, shape, strides);
  lent.tensor.byte_offset = 4;
  lent.tensor.device_type = GEMEL_DLPACK_CUDA_HOST;
  gemel_tensor *t = gemel_tensor_from_dlpack(&lent, &error);
  CT_REQUIRE(t != NULL);
  gemel_view view = gemel_tensor_view(t);
  CT_CHECK(view.data == memory + 1 && view.dtype == GEMEL_F32 && view.rank == 2);
  CT_CHECK(view.shape[0] == 2 && view.shape[1] == 3);
  CT_CHECK(view.strides[0] == -4 && view.strides[1] == 16);
  gemel_tensor_unref(gemel_tensor_ref(t));
  CT_EQ_INT(deleted, 0);
  gemel_tensor_unref(t);
  CT_EQ_INT(deleted, 1);

  gemel_dlpack_unversioned before = {foreign(memory, shape, NULL).tensor, NULL, count_unversioned};
  t = gemel_tensor_from_dlpack_unversioned(&before, &error);
  CT_REQUIRE(t != NULL);
  view = gemel_tensor_view(t);
  CT_CHECK(view.strides[0] == 12 && view.strides[1] == 4); /* NULL: row-major */
  gemel_tensor_unref(t);
  CT_EQ_INT(deleted, 1);

  lent = foreign(memory, shape, rows);
  lent.deleter = NULL; /* there may be none */
  t = gemel_tensor_from_dlpack(&lent, &error);
  CT_CHECK(t != NULL);
  gemel_tensor_unref(t);
}

/* No elements need no data, and strides of axes that nobody steps along don't count. */
static void takes_nothing(const void *data) {
  (void)data;
  gemel_error error = no_error;
  float memory[2] = {0};
  int64_t shape[] = {0, 3}, strides[] = {INT64_MAX, 1};
  gemel_dlpack lent = foreign(NULL, shape, strides);
  lent.tensor.byte_offset = 2;
  gemel_tensor *t = gemel_tensor_from_dlpack(&lent, &error);
  CT_CHECK(t != NULL && gemel_tensor_elements(t) == 0);
  gemel_tensor_unref(t);
  CT_EQ_INT(deleted, 1);
  shape[0] = 1, shape[1] = 2;
  lent = foreign(memory, shape, strides);
  t = gemel_tensor_from_dlpack(&lent, &error);
  CT_CHECK(t != NULL && gemel_tensor_elements(t) == 2);
  gemel_tensor_unref(t);
}

/* Each dtype comes back as itself, in the same memory, and then gives back what was lent. */
static void there_and_back(const void *data) {
  (void)data;
  for (int k = 0; k < GEMEL_DTYPE_COUNT; k++) {
    gemel_error error = no_error;
    gemel_tensor *t = gemel_tensor_new((gemel_dtype)k, GEMEL_LIST(int64_t, 3, 1, 2), &error);
    gemel_tensor *back = gemel_tensor_from_dlpack(gemel_tensor_to_dlpack(t, 0, &error), &error);
    CT_REQUIRE(back != NULL);
    CT_EQ_INT(gemel_tensor_dtype(back), k);
    CT_CHECK(gemel_tensor_data(back) == gemel_tensor_data(t));
    CT_EQ_INT(t->references, 2);
    gemel_tensor_unref(back);
    CT_EQ_INT(t->references, 1);
    gemel_tensor_unref(t);
  }
}

/* What is refused is the caller's as before. */
static void check_refused(gemel_dlpack lent, gemel_status status, const char *says) {
  gemel_error error = no_error;
  gemel_dlpack_unversioned before = {lent.tensor, NULL, count_unversioned};
  ct_context("%s", says);
  CT_CHECK(gemel_tensor_from_dlpack(&lent, &error) == NULL);
  CT_EQ_INT(error.status, status);
  CT_HAS_STR(error.text, says);
  if (lent.major == 1) {
    error = no_error;
    CT_CHECK(gemel_tensor_from_dlpack_unversioned(&before, &error) == NULL);
    CT_HAS_STR(error.text, says);
  }
  CT_EQ_INT(deleted, 0);
  ct_context(NULL);
}

static void refuses(const void *data) {
  (void)data;
  float memory[6] = {0};
  int64_t shape[] = {2, 3}, strides[] = {3, 1}, negative[] = {2, -3}, far[] = {INT64_MAX / 2, 1};
  gemel_dlpack good = foreign(memory, shape, strides), lent = good;
  lent.major = 2;
  check_refused(lent, GEMEL_UNSUPPORTED, "version 2.3 of DLPack");
  lent = good, lent.tensor.device_type = 2, lent.tensor.device_id = 1;
  check_refused(lent, GEMEL_UNSUPPORTED, "device 1 of type 2");
  lent = good, lent.tensor.lanes = 4;
  check_refused(lent, GEMEL_UNSUPPORTED, "4 lanes");
  lent = good, lent.tensor.code = 5, lent.tensor.bits = 64;
  check_refused(lent, GEMEL_UNSUPPORTED, "type code 5, 64 bits");
  lent = good, lent.tensor.code = GEMEL_DLPACK_BFLOAT;
  check_refused(lent, GEMEL_UNSUPPORTED, "type code 4, 32 bits");
  lent = good, lent.tensor.ndim = -1;
  check_refused(lent, GEMEL_UNSUPPORTED, "-1 axes");
  lent = good, lent.tensor.ndim = 17;
  check_refused(lent, GEMEL_UNSUPPORTED, "17 axes");
  lent = good, lent.tensor.shape = NULL;
  check_refused(lent, GEMEL_BAD_ARGUMENT, "shape");
  lent = good, lent.tensor.shape = negative;
  check_refused(lent, GEMEL_BAD_SHAPE, "negative size -3");
  lent = good, lent.tensor.data = NULL, lent.tensor.byte_offset = 64;
  check_refused(lent, GEMEL_BAD_ARGUMENT, "missing");
  lent = good, lent.tensor.byte_offset = 2;
  check_refused(lent, GEMEL_BAD_ARGUMENT, "not aligned");
  lent = good, lent.tensor.strides = far;
  check_refused(lent, GEMEL_BAD_SHAPE, "of axis 0");
}

static int lend_and_take(void *data) {
  gemel_error error = no_error;
  gemel_tensor *t = data;
  gemel_dlpack *lent = gemel_tensor_to_dlpack(t, 0, &error);
  gemel_tensor *back = lent ? gemel_tensor_from_dlpack(lent, &error) : NULL;
  if (lent && !back) {
    lent->deleter(lent);
  }
  gemel_tensor_unref(back);
  CT_EQ_INT(t->references, 1);
  return error.status;
}

static void out_of_memory(const void *data) {
  (void)data;
  gemel_tensor *t = gemel_tensor_new(GEMEL_F64, GEMEL_LIST(int64_t, 5), NULL);
  CT_CHECK(ct_oom(lend_and_take, t) >= 2);
  gemel_tensor_unref(t);
}

static const ct_test tests[] = {CT_TEST("lends", lends, NULL),
                                CT_TEST("lends-unversioned", lends_unversioned, NULL),
                                CT_TEST("lends-views", lends_views, NULL),
                                CT_TEST("takes", takes, NULL),
                                CT_TEST("takes-nothing", takes_nothing, NULL),
                                CT_TEST("there-and-back", there_and_back, NULL),
                                CT_TEST("refuses", refuses, NULL),
                                CT_TEST("out-of-memory", out_of_memory, NULL)};

void ct_register(void) {
  ct_suite("dlpack", tests, CT_COUNT(tests));
}
