/* SPDX-License-Identifier: MIT
 *
 * Pairs of a key and a place, sorted by key: what argsort and put have in common (sort.cu).
 */
#ifndef GEMEL__KERNELS_SORT_H
#define GEMEL__KERNELS_SORT_H

#include "kernels/host.h"

/* ---- Device ---- */

/* Numbers without sign, of 8 bytes if they are wide, else of 4. */
struct radix_numbers {
  void *at;
  bool wide;
};

DEVICE uint64_t nth(const radix_numbers &all, long long n) {
  return all.wide ? ((const uint64_t *)all.at)[n] : ((const uint32_t *)all.at)[n];
}

DEVICE void set_nth(const radix_numbers &all, long long n, uint64_t number) {
  if (all.wide) {
    ((uint64_t *)all.at)[n] = number;
  } else {
    ((uint32_t *)all.at)[n] = (uint32_t)number;
  }
}

/* ---- Host ---- */

/* COUNT pairs, in the first of two buffers each; and ROOM for who sorts them. */
struct radix_pairs {
  long long count;
  radix_numbers keys[2], places[2];
  void *room;
  size_t room_bytes;
};

/* *BYTES = the memory for COUNT pairs and the room to sort them, with keys of 8 bytes if these are
 * WIDE. Places are numbers up to COUNT. */
extern "C" gemel_status gemel__cuda_pairs_bytes(gemel_cuda *cuda, long long count, bool wide,
                                                size_t *bytes, gemel_error *error);

/* Pairs that lie in that memory. */
radix_pairs gemel__cuda_pairs(long long count, bool wide, void *memory, size_t bytes);

/* Sorts PAIRS by the first BITS bits of their keys; pairs of equal ones stay in their order. They
 * are in the first buffers again, which may be the former second ones. */
gemel_status gemel__cuda_sort_pairs(gemel_cuda *cuda, radix_pairs *pairs, unsigned bits,
                                    gemel_error *error);

#endif
