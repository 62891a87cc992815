/* SPDX-License-Identifier: MIT
 *
 * What the sim's cub::DeviceRadixSort calls (sort.c).
 */
#ifndef GEMEL__SIM_PAIRS_H
#define GEMEL__SIM_PAIRS_H

#include <stdbool.h>
#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* COUNT pairs of a key and a value, numbers without sign of so many bytes, each in the first of two
 * buffers; by bits FIRST to END of their keys they are to be sorted, with ROOM to work in. */
typedef struct gemel__sim_pairs {
  size_t key_bytes, value_bytes;
  void *keys[2], *values[2];
  size_t count;
  int first, end;
  void *room;
  size_t room_bytes;
} gemel__sim_pairs;

/* Sorts PAIRS behind what STREAM was asked for; *MOVED says whether into the second buffers, which
 * is the seed's choice. Without ROOM: sets ROOM_BYTES, and no more. */
cudaError_t gemel__sim_sort_pairs(gemel__sim_pairs *pairs, cudaStream_t stream, bool *moved);

#ifdef __cplusplus
}
#endif

#endif
