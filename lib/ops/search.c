/* SPDX-License-Identifier: MIT
 *
 * searchsorted: where among sorted elements each value belongs, by halving, so that the time for a
 * value is the logarithm of their number. In what isn't sorted it ends somewhere too, in the same
 * place on each device. A place is constant but where it jumps.
 */
#include <string.h>
#include <gemel/ops.h>
#include "core/dtype.h"
#include "core/error.h"
#include "ops/facts.h"
#include "ops/rule.h"

enum { WORTH_THREADS = 1 << 12 };

static int is_side(const gemel_attr *attr, const char *side) {
  return strcmp(attr->u.text, side) == 0;
}

static gemel_status infer_searchsorted(gemel_infer *call) {
  int rank, sorted_rank;
  const gemel_dim *dims = gemel__infer_dims(call, 1, &rank);
  gemel__infer_dims(call, 0, &sorted_rank);
  if (sorted_rank != 1) {
    return gemel__rule_fail(call, GEMEL_BAD_SHAPE, "what is sorted has rank %d, not 1",
                            sorted_rank);
  }
  if (!is_side(&call->attrs[0], "left") && !is_side(&call->attrs[0], "right")) {
    return gemel__rule_fail(call, GEMEL_BAD_VALUE, "side \"%s\" is neither left nor right",
                            call->attrs[0].u.text);
  }
  GEMEL__TRY(gemel__rule_same_dtype(call, 0, 1));
  return gemel__rule_result(call, GEMEL_I64, rank, dims);
}

/* ---- Kernel ---- */

/* The place of the value at VALUE among N elements from SORTED on, STEP bytes apart. */
typedef int64_t (*search_function)(int64_t n, const char *sorted, int64_t step, const char *value,
                                   int right);

/* A NaN, of which x != x tells it, is above all numbers. */
#define SEARCH(name, element, number, load)                                                        \
  static int64_t search_##name(int64_t n, const char *sorted, int64_t step, const char *value,     \
                               int right) {                                                        \
    number y = load(*(const element *)(const void *)value);                                        \
    int64_t low = 0;                                                                               \
    while (low < n) {                                                                              \
      int64_t middle = low + (n - low) / 2;                                                        \
      number x = load(*(const element *)(const void *)(sorted + middle * step));                   \
      int before = right ? !(y < x || (y == y && x != x)) : x < y || (x == x && y != y);           \
      low = before ? middle + 1 : low;                                                             \
      n = before ? n : middle;                                                                     \
    }                                                                                              \
    return low;                                                                                    \
  }
SEARCH(bool, uint8_t, uint8_t, )
SEARCH(i8, int8_t, int8_t, )
SEARCH(i16, int16_t, int16_t, )
SEARCH(i32, int32_t, int32_t, )
SEARCH(i64, int64_t, int64_t, )
SEARCH(u8, uint8_t, uint8_t, )
SEARCH(u16, uint16_t, uint16_t, )
SEARCH(u32, uint32_t, uint32_t, )
SEARCH(u64, uint64_t, uint64_t, )
SEARCH(f16, uint16_t, float, gemel__f16_to_f32)
SEARCH(bf16, uint16_t, float, gemel__bf16_to_f32)
SEARCH(f32, float, float, )
SEARCH(f64, double, double, )

static const search_function searches[GEMEL_DTYPE_COUNT] = {
#define SEARCH_OF(E, name, bytes, kind, ctype) [GEMEL_##E] = search_##name,
    GEMEL_DTYPE_TABLE(SEARCH_OF)
#undef SEARCH_OF
};

static gemel_status run_searchsorted(const gemel_kernel_call *call) {
  const gemel_view *sorted = &call->inputs[0], *values = &call->inputs[1];
  const gemel_view *out = &call->outputs[0];
  int right = is_side(&call->attrs[0], "right");
  int64_t count = gemel__view_elements(values);
  search_function search = searches[sorted->dtype];
#pragma omp parallel for num_threads(count < WORTH_THREADS ? 1 : call->threads) schedule(static)
  for (int64_t k = 0; k < count; k++) {
    *(int64_t *)(void *)((char *)out->data + gemel__view_offset(out, out->rank, k)) =
        search(sorted->shape[0], sorted->data, sorted->strides[0],
               (const char *)values->data + gemel__view_offset(values, values->rank, k), right);
  }
  return GEMEL_OK;
}

/* About 16 comparisons for each value. */
static void cost(const gemel_kernel_call *call, double *flops, double *bytes) {
  gemel__cost_move(call, flops, bytes);
  *flops = 16 * (double)gemel__view_elements(&call->outputs[0]);
}

static const gemel_kernel kernels[] = {{"plain", NULL, run_searchsorted}, {NULL, NULL, NULL}};

const gemel__hooks gemel__hooks_searchsorted = {.infer = infer_searchsorted,
                                                .grad = gemel__grad_nothing,
                                                .jvp = gemel__jvp_nothing,
                                                .kernels = kernels,
                                                .cost = cost,
                                                .facts = gemel__facts_nonnegative};
