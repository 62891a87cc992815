/* SPDX-License-Identifier: MIT
 *
 * searchsorted: a thread for each value, which halves what it looks at as the host does.
 */
#include <string.h>
#include "kernels/host.h"

/* ---- Device ---- */

/* Operands result and values; what is sorted has LENGTH elements, STEP bytes apart. */
struct searching {
  divided_walk<2> walk;
  long long length, step;
  int right;
};

/* A NaN, of which x != x tells it, is above all numbers. */
template <class V> static __device__ bool is_below(V x, V y) {
  return x < y || (x == x && y != y);
}

#define SEARCH(T)                                                                                  \
  static __global__ void search_##T(searching s, char *out, const char *sorted,                    \
                                    const char *values) {                                          \
    for (long long k = first_element(); k < s.walk.elements; k += element_step()) {                \
      long long offsets[2], low = 0, high = s.length;                                              \
      find_offsets(s.walk, k, offsets);                                                            \
      value_##T own = load_##T(values + offsets[1]);                                               \
      while (low < high) {                                                                         \
        long long middle = low + (high - low) / 2;                                                 \
        value_##T other = load_##T(sorted + middle * s.step);                                      \
        bool before = s.right ? !is_below(own, other) : is_below(other, own);                      \
        low = before ? middle + 1 : low;                                                           \
        high = before ? high : middle;                                                             \
      }                                                                                            \
      store_i64(out + offsets[0], low);                                                            \
    }                                                                                              \
  }                                                                                                \
  GEMEL_KERNEL(search_##T, search_##T)
SEARCH(bool)
SEARCH(i8)
SEARCH(i16)
SEARCH(i32)
SEARCH(i64)
SEARCH(u8)
SEARCH(u16)
SEARCH(u32)
SEARCH(u64)
SEARCH(f16)
SEARCH(bf16)
SEARCH(f32)
SEARCH(f64)

/* ---- Host ---- */

static const kernel_getter searches[GEMEL_DTYPE_COUNT] = {
#define GETTER(E, name, bytes, kind, ctype) gemel__kernel_search_##name,
    GEMEL_DTYPE_TABLE(GETTER)
#undef GETTER
};

static gemel_status run_searchsorted(const gemel_kernel_call *call) {
  const gemel_view *sorted = &call->inputs[0];
  const gemel_view *const views[2] = {&call->outputs[0], &call->inputs[1]};
  searching s = {divided_walk_of(walk_over(views)), sorted->shape[0], sorted->strides[0],
                 strcmp(call->attrs[0].u.text, "right") == 0};
  void *out = views[0]->data, *values = views[1]->data, *from = sorted->data;
  void *arguments[] = {&s, &out, &from, &values};
  return launch_over(gemel__cuda_of(call), searches[sorted->dtype](), s.walk.elements, arguments,
                     call->error);
}

extern "C" const gemel_kernel gemel__cuda_searchsorted[] = {{"halves", NULL, run_searchsorted},
                                                            {NULL, NULL, NULL}};
