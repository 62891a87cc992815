/* SPDX-License-Identifier: MIT
 *
 * The tile engine. One thread takes a range of tiles; for each it sets the slots that point into
 * operands, gathers what does not lie in order, runs the steps, and streams out results that are
 * too big for the cache. While the steps of one tile run from the first-level cache, the operands
 * of a later one are fetched, a share before each step: or else memory would idle during the
 * computation and the processor while loading. An operand whose elements lie closer along another
 * axis than along the last (a transposed one) is gathered for a block of rows along that axis, and
 * the tiles of the block are done one after the other.
 */
#include "cpu/loop.h"

#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif
#include "core/strided.h"

enum {
  TILE_BUDGET = 24 << 10, /* bytes of all slots of a tile: most of a first-level cache */
  TILE_MIN = 256,         /* elements; fewer would be all overhead */
  TILE_MAX = 4096,
  TILE_STRAIGHT = 64 << 10,  /* of a loop that is one chain */
  TURN_TILE = 512,           /* elements of a tile where an operand is turned */
  TURN_ROW = 64,             /* elements of a row, from which that pays */
  TURN_LEAST = 128 << 10,    /* bytes of the widest value, likewise */
  TURN_BYTES = 128,          /* of each of its lines that are gathered at once */
  SHARES = 8,                /* of a thread, at least, where tiles are big */
  TILE_STEP = 256,           /* elements that are fetched before a step: 16 lines, or more, are
                              * all that processors wait for without stopping */
  TILE_AHEAD = 4 << 10,      /* bytes from what is computed to what is fetched, at least */
  OVERLAP_BYTES = 2 << 20,   /* of operands and results, from which memory is overlapped */
  PARALLEL_WORK = 128 << 10, /* element-steps from which waking threads pays */
  LANES = 16,                /* elements that begin a line, as a rule */
  LINE = 64
};

/* Results that are streamed get their second buffers. */
static int add_spares(gemel__loop *loop) {
  int streamed = 0;
  for (uint32_t k = 0; k < loop->n_stores; k++) {
    if (loop->stores[k].streamed) {
      loop->stores[k].spare = (uint16_t)(loop->n_buffers + streamed++);
    }
  }
  return streamed;
}

/* Bytes that a tile of one element takes in the cache. */
static int64_t footprint(const gemel__loop *loop, int buffers, size_t widest) {
  size_t bytes = (size_t)buffers * widest;
  for (uint32_t k = 0; k < loop->n_loads; k++) {
    bytes += loop->loads[k].kind == GEMEL__LOAD_DIRECT ? loop->loads[k].element_bytes : 0;
  }
  for (uint32_t k = 0; k < loop->n_stores; k++) {
    bytes += loop->stores[k].streamed ? 0 : loop->stores[k].element_bytes;
  }
  return bytes > 0 ? (int64_t)bytes : 1;
}

/* Bytes of one of N_STEPS shares of a tile: whole lines. */
static uint32_t share_of(const gemel__loop *loop, size_t element_bytes) {
  int64_t bytes = loop->tile * (int64_t)element_bytes / LINE + 1;
  return (uint32_t)((bytes + loop->n_steps - 1) / loop->n_steps * LINE);
}

static void set_shares(gemel__loop *loop) {
  for (uint32_t k = 0; k < loop->n_loads; k++) {
    gemel__load *load = &loop->loads[k];
    load->share = share_of(loop, load->element_bytes);
  }
  for (uint32_t k = 0; k < loop->n_stores; k++) {
    loop->stores[k].share = share_of(loop, loop->stores[k].element_bytes);
  }
}

/* Elements of a tile's buffers: no more than are ever read. */
static int64_t filled(const gemel__loop *loop) {
  int64_t tile = loop->straight ? GEMEL__CHAIN_FIXED : loop->tile;
  return tile < loop->elements ? tile : loop->elements;
}

/* Bytes of an element of the operands that lie in order. */
static int64_t direct_bytes(const gemel__loop *loop) {
  int64_t bytes = 0;
  for (uint32_t k = 0; k < loop->n_loads; k++) {
    const gemel__load *load = &loop->loads[k];
    bytes += load->kind == GEMEL__LOAD_DIRECT ? load->element_bytes : 0;
  }
  return bytes;
}

/* 1 if all the loop does is one chain from operands to results. */
static int is_straight(const gemel__loop *loop, int streamed) {
  const gemel__chain *chain = loop->n_steps == 1 ? loop->steps[0].chain : NULL;
  for (uint32_t k = 0; chain != NULL && k < loop->n_loads; k++) {
    const gemel__load *load = &loop->loads[k];
    if (load->kind == GEMEL__LOAD_GATHER || load->kind == GEMEL__LOAD_ROW ||
        (load->kind == GEMEL__LOAD_FIXED && load->slot == chain->slots[0])) {
      return 0;
    }
  }
  return chain != NULL && !streamed && loop->n_stores == 1 && loop->stores[0].strides == NULL;
}

/* Tiles that fit into the first-level cache with all that happens to them. */
static int64_t small_tile(const gemel__loop *loop, int64_t bytes) {
  int64_t tile = TILE_BUDGET / bytes, most = (int64_t)TILE_STEP * loop->n_steps;
  most = loop->overlap && most < TILE_MAX ? most : TILE_MAX;
  tile = tile < most ? tile : most;
  return tile < TILE_MIN ? TILE_MIN : tile - tile % TILE_MIN;
}

/* Each end of a tile stops the processor's pipeline, so a loop that keeps nothing in the cache
 * takes big ones: as many as share the work out evenly. */
static int64_t big_tile(const gemel__loop *loop, int threads) {
  int64_t tile = loop->elements / (SHARES * (int64_t)(threads > 1 ? threads : 1));
  tile = tile < TILE_STRAIGHT ? tile : TILE_STRAIGHT;
  return tile < TILE_MAX ? TILE_MAX : tile - tile % TILE_MIN;
}

/* ---- Turned operands ---- */

static int64_t magnitude(int64_t x) {
  return x < 0 ? -x : x;
}

/* The axis along which the elements of LOAD lie closest, if it is not the last one and gathering
 * along the last would use little of each cache line; -1 otherwise. */
static int close_axis(const gemel__loop *loop, const gemel__load *load) {
  int last = loop->rank - 1, axis = last, k;
  for (k = 0; k < last; k++) {
    int64_t stride = magnitude(load->strides[k]);
    axis = stride > 0 && stride < magnitude(load->strides[axis]) ? k : axis;
  }
  return axis != last && magnitude(load->strides[last]) >= LINE &&
                 magnitude(load->strides[axis]) < LINE && loop->sizes[last] >= TURN_ROW &&
                 loop->sizes[axis] > 1
             ? axis
             : -1;
}

/* Has tiles be whole rows, which begin at a vector's multiple if they may, if an operand is the
 * same for each row; else such operands are gathered. */
static void fit_rows(gemel__loop *loop) {
  int64_t row = loop->rank > 0 ? loop->sizes[loop->rank - 1] : 1, rows = loop->tile / row;
  int64_t power = row & -row, even = power < LANES ? LANES / power : 1;
  int fits = loop->turn_axis < 0 && 2 * loop->tile >= row, some = 0;
  for (uint32_t k = 0; k < loop->n_loads; k++) {
    gemel__load *load = &loop->loads[k];
    if (load->kind == GEMEL__LOAD_ROW) {
      load->kind = fits ? GEMEL__LOAD_ROW : GEMEL__LOAD_GATHER;
      some = fits;
    }
  }
  if (some) {
    rows -= rows > even ? rows % even : 0;
    loop->tile = row * (rows > 0 ? rows : 1);
  }
}

static void count_gathers(gemel__loop *loop) {
  for (uint32_t k = 0; k < loop->n_loads; k++) {
    loop->n_gathers += loop->loads[k].kind == GEMEL__LOAD_GATHER;
  }
}

/* Sets TURN_AXIS and how many rows along it are gathered at once. */
static void find_turn(gemel__loop *loop, size_t widest) {
  loop->turn_axis = -1;
  for (uint32_t k = 0; k < loop->n_loads; k++) {
    if (loop->loads[k].kind == GEMEL__LOAD_GATHER) {
      int axis = close_axis(loop, &loop->loads[k]);
      loop->turn_axis = loop->turn_axis < 0 ? axis : loop->turn_axis;
    }
  }
  if (loop->elements * (int64_t)widest < TURN_LEAST) {
    loop->turn_axis = -1;
  }
  loop->turn_rows = TURN_BYTES / (int64_t)widest;
  if (loop->turn_axis >= 0 && loop->tile > TURN_TILE) {
    loop->tile = TURN_TILE;
  }
}

/* Scratch memory for the rows of one gathered operand, a buffer each: a later step may put a value
 * of its own into one. */
static size_t turn_bytes(const gemel__loop *loop) {
  return loop->turn_axis < 0 ? 0 : (size_t)loop->turn_rows * loop->buffer_bytes;
}

static int64_t parts_of(const gemel__loop *loop) {
  if (loop->turn_axis < 0) {
    return (loop->elements + loop->tile - 1) / loop->tile;
  }
  int64_t last = loop->sizes[loop->rank - 1];
  return loop->elements / last / loop->sizes[loop->turn_axis] *
         ((loop->sizes[loop->turn_axis] + loop->turn_rows - 1) / loop->turn_rows) *
         ((last + loop->tile - 1) / loop->tile);
}

void gemel__loop_tune(gemel__loop *loop, int threads, size_t widest) {
  int streamed = add_spares(loop);
  int64_t bytes = footprint(loop, loop->n_buffers + streamed, widest), n, work;
  loop->straight = (uint8_t)is_straight(loop, streamed);
  loop->overlap =
      !loop->straight && (streamed > 0 || direct_bytes(loop) * loop->elements > OVERLAP_BYTES);
  loop->tile = loop->straight ? big_tile(loop, threads) : small_tile(loop, bytes);
  loop->ahead = loop->tile * (1 + TILE_AHEAD / (1 + loop->tile * direct_bytes(loop)));
  find_turn(loop, widest);
  fit_rows(loop);
  count_gathers(loop);
  loop->parts = parts_of(loop);
  set_shares(loop);
  n = filled(loop);
  loop->buffer_bytes = ((size_t)n * widest + LINE - 1) / LINE * LINE;
  loop->n_buffers_all = (uint16_t)(loop->n_buffers + streamed);
  loop->stream = gemel__stream_best();
  work = loop->elements * (int64_t)(loop->n_steps + loop->n_loads + loop->n_stores);
  loop->threads = work < PARALLEL_WORK || loop->elements <= loop->tile ? 1 : threads;
}

size_t gemel__loop_scratch(const gemel__loop *loop) {
  return loop->n_buffers_all * loop->buffer_bytes + loop->n_gathers * turn_bytes(loop);
}

/* ---- Moving tiles ---- */

/* N copies of the element at FROM. */
static void fill(size_t bytes, int64_t n, char *to, const char *from) {
  gemel__copy_row(bytes, n, to, (int64_t)bytes, from, 0);
}

/* Copies elements [BEGIN, BEGIN + N) of the iteration between what lies at DATA with STRIDES and
 * the buffer TILE, where they are in order: to that if it GATHERS. */
static void move_tile(const gemel__loop *loop, size_t bytes, const int64_t *strides, char *data,
                      int64_t begin, int64_t n, char *tile, int gathers) {
  int64_t index[GEMEL_MAX_RANK], rest = begin, item = (int64_t)bytes;
  int last = loop->rank - 1, k;
  for (k = last; k >= 0; k--) {
    index[k] = rest % loop->sizes[k];
    rest /= loop->sizes[k];
    data += index[k] * strides[k];
  }
  while (n > 0) {
    int64_t row = loop->sizes[last] - index[last], step = strides[last];
    row = row < n ? row : n;
    if (gathers) {
      gemel__copy_row(bytes, row, tile, item, data, step);
    } else {
      gemel__copy_row(bytes, row, data, step, tile, item);
    }
    tile += row * item;
    n -= row;
    data -= index[last] * strides[last];
    index[last] = 0;
    for (k = last - 1; k >= 0 && n > 0; k--) {
      data += strides[k];
      if (++index[k] < loop->sizes[k]) {
        break;
      }
      data -= strides[k] * loop->sizes[k];
      index[k] = 0;
    }
  }
}

/* ---- Running ---- */

/* What one thread is at: where slots are, and the tile whose streamed results are still in buffers.
 */
typedef struct loop_state {
  int64_t last_begin, last_n;
  char *scratch;
  int turn; /* which of its two buffers a streamed result is written to */
  void *slots[GEMEL__LOOP_SLOTS];
} loop_state;

static char *buffer_at(const gemel__loop *loop, const loop_state *s, uint32_t k) {
  return s->scratch + k * loop->buffer_bytes;
}

/* Fetches the STEP-th share of the operands of the tile at NEXT, of N elements. */
static void prefetch(const gemel__loop *loop, int64_t next, int64_t n, uint32_t step) {
  for (uint32_t k = 0; k < loop->n_loads; k++) {
    const gemel__load *load = &loop->loads[k];
    if (load->kind == GEMEL__LOAD_DIRECT) {
      const char *from = load->data + next * load->element_bytes;
      size_t at = (size_t)step * load->share, end = at + load->share;
      size_t bytes = (size_t)n * load->element_bytes;
      for (end = end < bytes ? end : bytes; at < end; at += LINE) {
        __builtin_prefetch(from + at, 0, 3);
      }
    }
  }
}

/* Writes the STEP-th share of the last tile's streamed results, or all from it on. */
static void write_last(const gemel__loop *loop, const loop_state *s, uint32_t step, int all) {
  for (uint32_t k = 0; k < loop->n_stores; k++) {
    const gemel__loop_store *store = &loop->stores[k];
    if (store->streamed) {
      const char *from = buffer_at(loop, s, s->turn ? store->slot : store->spare);
      char *to = store->data + s->last_begin * store->element_bytes;
      size_t at = (size_t)step * store->share, end = at + store->share;
      size_t bytes = (size_t)s->last_n * store->element_bytes;
      end = end < bytes && !all ? end : bytes;
      if (at < end) {
        loop->stream(to + at, from + at, end - at);
      }
    }
  }
}

static inline void run_step(const gemel__step *step, size_t n, void *const *slots) {
  const void *in[3];
  if (step->chain != NULL) {
    gemel__chain_run(step->chain, n, slots);
    return;
  }
  in[0] = slots[step->in[0]];
  in[1] = slots[step->in[1]];
  in[2] = slots[step->in[2]];
  step->run(n, slots[step->out], in);
}

static void run_steps(const gemel__loop *loop, size_t n, void *const *slots) {
  const gemel__step *step = loop->steps, *end = step + loop->n_steps;
  for (; step < end; step++) {
    run_step(step, n, slots);
  }
}

static void run_steps_overlapped(const gemel__loop *loop, int64_t n, const loop_state *s,
                                 int64_t next) {
  int64_t ahead = loop->elements - next < loop->tile ? loop->elements - next : loop->tile;
  uint32_t k;
  for (k = 0; k < loop->n_steps; k++) {
    if (ahead > 0) {
      prefetch(loop, next, ahead, k);
    }
    if (s->last_n > 0) {
      write_last(loop, s, k, k + 1 == loop->n_steps);
    }
    run_step(&loop->steps[k], (size_t)n, s->slots);
  }
}

/* NEXT: a tile to come, whose operands are fetched; none at the end or with turned operands,
 * which are in their slots already. */
static void run_tile(const gemel__loop *loop, int64_t begin, int64_t n, int64_t next,
                     loop_state *s) {
  uint32_t k;
  for (k = 0; k < loop->n_loads; k++) {
    const gemel__load *load = &loop->loads[k];
    if (load->kind == GEMEL__LOAD_DIRECT) {
      s->slots[load->slot] = (char *)load->data + begin * load->element_bytes;
    } else if (load->kind == GEMEL__LOAD_GATHER && loop->turn_axis < 0) {
      move_tile(loop, load->element_bytes, load->strides, (char *)load->data, begin, n,
                s->slots[load->slot], 1);
    }
  }
  for (k = 0; k < loop->n_stores; k++) {
    const gemel__loop_store *store = &loop->stores[k];
    if (store->strides == NULL) { /* else in a buffer, or in that of a turned operand */
      s->slots[store->slot] = store->streamed
                                  ? buffer_at(loop, s, s->turn ? store->spare : store->slot)
                                  : store->data + begin * store->element_bytes;
    }
  }
  if (loop->overlap) {
    run_steps_overlapped(loop, n, s, next);
    s->last_begin = begin;
    s->last_n = n;
    s->turn = !s->turn;
  } else {
    run_steps(loop, (size_t)n, s->slots);
  }
  for (k = 0; k < loop->n_stores; k++) {
    const gemel__loop_store *store = &loop->stores[k];
    if (store->strides != NULL) {
      move_tile(loop, store->element_bytes, store->strides, store->data, begin, n,
                s->slots[store->slot], 0);
    }
  }
}

/* A block of ROWS rows along the turn axis and N columns: its first element, and where it stands.
 */
typedef struct turn_block {
  int64_t index[GEMEL_MAX_RANK];
  int64_t begin, rows, n, step; /* STEP elements from row to row */
} turn_block;

static turn_block turn_block_at(const gemel__loop *loop, int64_t part) {
  turn_block b = {{0}, 0, 0, 0, 0};
  int last = loop->rank - 1, axis = loop->turn_axis, k;
  int64_t chunks = (loop->sizes[last] + loop->tile - 1) / loop->tile, inside = 1;
  int64_t blocks = (loop->sizes[axis] + loop->turn_rows - 1) / loop->turn_rows;
  b.index[last] = part % chunks * loop->tile;
  b.index[axis] = part / chunks % blocks * loop->turn_rows;
  part = part / chunks / blocks;
  for (k = last; k >= 0; k--) {
    if (k != last && k != axis) {
      b.index[k] = part % loop->sizes[k];
      part /= loop->sizes[k];
    }
    b.step = k == axis ? inside : b.step;
    b.begin += b.index[k] * inside;
    inside *= loop->sizes[k];
  }
  b.rows = loop->sizes[axis] - b.index[axis];
  b.rows = b.rows < loop->turn_rows ? b.rows : loop->turn_rows;
  b.n = loop->sizes[last] - b.index[last];
  b.n = b.n < loop->tile ? b.n : loop->tile;
  return b;
}

/* The block of a gathered operand to the memory at TO. */
static void gather_block(const gemel__loop *loop, const gemel__load *load, const turn_block *b,
                         char *to) {
  int last = loop->rank - 1, k;
  int64_t bytes = load->element_bytes, shape[2] = {b->rows, b->n},
          packed[2] = {(int64_t)loop->buffer_bytes, bytes};
  int64_t strides[2] = {load->strides[loop->turn_axis], load->strides[last]};
  const char *from = load->data;
  for (k = 0; k <= last; k++) {
    from += b->index[k] * load->strides[k];
  }
  gemel__copy_strided(load->element_bytes, 2, shape, to, packed, from, strides);
}

static void run_block(const gemel__loop *loop, int64_t part, loop_state *s) {
  turn_block b = turn_block_at(loop, part);
  char *blocks = s->scratch + loop->n_buffers_all * loop->buffer_bytes;
  uint32_t k, g;
  for (k = g = 0; k < loop->n_loads; k++) {
    if (loop->loads[k].kind == GEMEL__LOAD_GATHER) {
      gather_block(loop, &loop->loads[k], &b, blocks + g++ * turn_bytes(loop));
    }
  }
  for (int64_t row = 0; row < b.rows; row++) {
    for (k = g = 0; k < loop->n_loads; k++) {
      const gemel__load *load = &loop->loads[k];
      if (load->kind == GEMEL__LOAD_GATHER) {
        s->slots[load->slot] = blocks + g++ * turn_bytes(loop) + (size_t)row * loop->buffer_bytes;
      }
    }
    run_tile(loop, b.begin + row * b.step, b.n, loop->elements, s);
  }
}

/* Tiles from BEGIN to END, counted in elements. */
static void run_tiles(const gemel__loop *loop, int64_t begin, int64_t end, loop_state *s) {
  int64_t tile = loop->tile < loop->elements ? loop->tile : loop->elements;
  for (; begin < end; begin += tile) {
    int64_t n = end - begin < tile ? end - begin : tile;
    run_tile(loop, begin, n, begin + loop->ahead, s);
  }
}

/* Parts FIRST to LAST. */
static void run_parts(const gemel__loop *loop, int64_t first, int64_t last, char *scratch) {
  loop_state s;
  int64_t end = last * loop->tile;
  s.scratch = scratch;
  s.last_n = s.turn = 0;
  for (uint32_t k = 0; k < loop->n_buffers; k++) {
    s.slots[k] = buffer_at(loop, &s, k);
  }
  for (uint32_t k = 0; k < loop->n_loads; k++) {
    const gemel__load *load = &loop->loads[k];
    if (load->kind == GEMEL__LOAD_FIXED) {
      fill(load->element_bytes, filled(loop), s.slots[load->slot], load->data);
    } else if (load->kind == GEMEL__LOAD_ROW) {
      move_tile(loop, load->element_bytes, load->strides, (char *)load->data, 0, filled(loop),
                s.slots[load->slot], 1);
    }
  }
  if (loop->turn_axis < 0) {
    run_tiles(loop, first * loop->tile, end < loop->elements ? end : loop->elements, &s);
  }
  for (; loop->turn_axis >= 0 && first < last; first++) {
    run_block(loop, first, &s);
  }
  if (s.last_n > 0) {
    write_last(loop, &s, 0, 1);
  }
  if (s.last_n > 0 || loop->fenced) {
    gemel__stream_end();
  }
}

void gemel__loop_run(const gemel__loop *loop, char *scratch) {
#ifdef _OPENMP
  if (loop->threads > 1) {
    size_t stride = gemel__loop_scratch(loop);
#pragma omp parallel num_threads(loop->threads)
    {
      int64_t me = omp_get_thread_num(), all = omp_get_num_threads();
      run_parts(loop, loop->parts * me / all, loop->parts * (me + 1) / all,
                scratch + (size_t)me * stride);
    }
    return;
  }
#endif
  run_parts(loop, 0, loop->parts, scratch);
}
