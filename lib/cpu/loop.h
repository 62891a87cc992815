/* SPDX-License-Identifier: MIT
 *
 * The tile engine: runs a straight-line program of scalar kernels over all elements of one
 * iteration shape, a cache-sized tile at a time, so that values between kernels never reach memory.
 * Operands that lie in the order of the iteration are read and written where they are; any others
 * are gathered into tile buffers first, or copied from these behind, and one that is the same
 * everywhere, or for each row, is filled in once.
 * Tiles are independent, so threads share them out in a fixed way and the result doesn't depend on
 * how many there are.
 */
#ifndef GEMEL__CPU_LOOP_H
#define GEMEL__CPU_LOOP_H

#include <stddef.h>
#include <stdint.h>
#include "cpu/chain.h"
#include "core/stream.h"
#include "core/rows.h"

/* A slot is a place for one tile of a value. Slots below N_BUFFERS are buffers of BUFFER_BYTES each
 * in the thread's scratch memory, the others point into operands (spare buffers are no slots). */
enum { GEMEL__LOOP_SLOTS = 1024 };

typedef enum gemel__load_kind {
  GEMEL__LOAD_DIRECT, /* in iteration order without gaps: SLOT points into it */
  GEMEL__LOAD_GATHER, /* any STRIDES: copied to SLOT, a buffer, for each tile */
  GEMEL__LOAD_ROW,  /* the same along all axes but the last: SLOT, a buffer that is nothing else's,
                       is filled once, tiles being whole rows. Becomes GATHER if they can't be */
  GEMEL__LOAD_FIXED /* one element for all: SLOT, a buffer, is filled once */
} gemel__load_kind;

typedef struct gemel__load {
  const char *data;       /* element (0, ..., 0); set before a run */
  const int64_t *strides; /* bytes, one an axis of the loop */
  uint32_t share;         /* bytes to fetch before each step when overlapped */
  uint16_t slot;
  uint8_t element_bytes;
  uint8_t kind;
} gemel__load;

typedef struct gemel__loop_store {
  char *data;             /* element (0, ..., 0); set before a run */
  const int64_t *strides; /* bytes, one an axis of the loop: SLOT is a buffer, copied there behind
                             each tile. NULL: row-major */
  uint32_t share;         /* bytes to write before each step when overlapped */
  uint16_t slot;
  uint8_t element_bytes;
  uint8_t streamed; /* SLOT is a buffer, written past the cache while the next tile is computed */
  uint16_t spare;   /* then: a second buffer, that takes turns with the one of SLOT */
} gemel__loop_store;

typedef struct gemel__step {
  gemel__scalar_kernel run;
  gemel__chain *chain; /* in place of RUN, if it is not NULL */
  uint16_t out;
  uint16_t in[3];
} gemel__step;

typedef struct gemel__loop {
  int64_t elements;
  int64_t tile;  /* elements in a tile */
  int64_t ahead; /* from the tile that is computed to the one that is fetched, in elements */
  int rank;      /* of the collapsed iteration shape, which only gathers look at */
  int threads;
  const int64_t *sizes;
  uint32_t n_loads, n_stores, n_steps, n_gathers;
  uint8_t fenced; /* a chain writes past the cache */
  uint8_t
      straight; /* one chain, from operands to results: fixed slots are read at their beginning */
  uint16_t n_buffers, n_buffers_all; /* without and with the spare ones */
  uint16_t overlap; /* 1: fetch a later tile's operands and write the last one's results while
                       this one is computed */
  size_t buffer_bytes;
  int turn_axis; /* -1, or the axis along which gathered operands are taken in blocks of TURN_ROWS
                  */
  int64_t turn_rows;
  int64_t parts; /* that threads share out: tiles, or blocks of rows of them */
  gemel__load *loads;
  gemel__loop_store *stores;
  const gemel__step *steps;
  gemel__stream stream;
} gemel__loop;

/* Chooses TILE, BUFFER_BYTES, PARTS and THREADS (at most THREADS) for a loop whose other members
 * are set; WIDEST is the largest element in bytes of any slot. */
void gemel__loop_tune(gemel__loop *loop, int threads, size_t widest);

/* Scratch memory for each thread, a multiple of 64 bytes. */
size_t gemel__loop_scratch(const gemel__loop *loop);

/* Runs the loop. SCRATCH holds gemel__loop_scratch bytes, aligned to 64, for each thread. */
void gemel__loop_run(const gemel__loop *loop, char *scratch);

#endif
