/* SPDX-License-Identifier: MIT
 *
 * The part of CUB that gemel uses, for the sim: names, parameters and results are CUB's, the work
 * is sort.c's, and strict.
 */
#ifndef GEMEL__SIM_CUB_DEVICE_RADIX_SORT_CUH
#define GEMEL__SIM_CUB_DEVICE_RADIX_SORT_CUH

#include <type_traits>
#include <utility>
#include "sim/pairs.h"

namespace cub {

template <class T> struct DoubleBuffer {
  T *d_buffers[2];
  int selector;

  DoubleBuffer(T *current, T *alternate) : d_buffers{current, alternate}, selector(0) {
  }
  T *Current() const {
    return d_buffers[selector];
  }
  T *Alternate() const {
    return d_buffers[selector ^ 1];
  }
};

struct DeviceRadixSort {
  template <class Key, class Value, class Count>
  static cudaError_t SortPairs(void *d_temp_storage, size_t &temp_storage_bytes,
                               DoubleBuffer<Key> &d_keys, DoubleBuffer<Value> &d_values,
                               Count num_items, int begin_bit = 0, int end_bit = sizeof(Key) * 8,
                               cudaStream_t stream = nullptr) {
    static_assert(std::is_unsigned_v<Key> && std::is_unsigned_v<Value>, "the sim has no others");
    gemel__sim_pairs pairs = {sizeof(Key),
                              sizeof(Value),
                              {d_keys.Current(), d_keys.Alternate()},
                              {d_values.Current(), d_values.Alternate()},
                              (size_t)num_items,
                              begin_bit,
                              end_bit,
                              d_temp_storage,
                              temp_storage_bytes};
    bool moved = false;
    const cudaError_t error = gemel__sim_sort_pairs(&pairs, stream, &moved);
    temp_storage_bytes = pairs.room_bytes;
    d_keys.selector ^= moved;
    d_values.selector ^= moved;
    return error;
  }
};

} // namespace cub

#endif
