/* SPDX-License-Identifier: MIT
 *
 * The tile engine. One thread takes a range of tiles; for each it sets the slots that point into
 * operands, gathers what does not lie in order, runs the steps, and streams out results that are
 * too big for the cache. While the steps of one tile run from the first-level cache, the operands
 * of the next are fetched, a share before each step: or else memory would idle during the
 * computation and the processor while loading.
 */
#include "cpu/loop.h"

#include <string.h>
#include <unistd.h>
#ifdef _OPENMP
#include <omp.h>
#endif
#ifdef __SSE2__
#include <emmintrin.h>
#endif
#include "cpu/copy.h"

enum {
  TILE_BUDGET = 24 << 10, /* bytes of all slots of a tile: most of a first-level cache */
  TILE_MIN = 256,         /* elements; fewer would be all overhead */
  TILE_MAX = 4096,
  PARALLEL_WORK = 128 << 10, /* element-steps from which waking threads pays */
  LINE = 64
};

int64_t gemel__stream_bytes(void) {
  static int64_t known; /* the same value whoever writes it */
  int64_t bytes = __atomic_load_n(&known, __ATOMIC_RELAXED);
  if (bytes == 0) {
#ifdef _SC_LEVEL3_CACHE_SIZE
    bytes = sysconf(_SC_LEVEL3_CACHE_SIZE) / 2;
#endif
    bytes = bytes < (4 << 20) ? 4 << 20 : bytes;
    __atomic_store_n(&known, bytes, __ATOMIC_RELAXED);
  }
  return bytes;
}

void gemel__loop_tune(gemel__loop *loop, int threads, size_t widest) {
  size_t streams = loop->n_buffers, traffic = 0;
  int64_t tile, work;
  uint32_t k;
  for (k = 0; k < loop->n_loads; k++) {
    streams += loop->loads[k].kind == GEMEL__LOAD_DIRECT;
    traffic += loop->loads[k].kind == GEMEL__LOAD_DIRECT ? loop->loads[k].element_bytes : 0;
  }
  for (k = 0; k < loop->n_stores; k++) {
    streams += !loop->stores[k].streamed;
  }
  tile = TILE_BUDGET / (int64_t)(widest * (streams > 0 ? streams : 1));
  tile = tile < TILE_MIN ? TILE_MIN : tile > TILE_MAX ? TILE_MAX : tile;
  tile -= tile % TILE_MIN;
  loop->tile = tile;
  loop->buffer_bytes = (size_t)(tile < loop->elements ? tile : loop->elements) * widest;
  loop->buffer_bytes = (loop->buffer_bytes + LINE - 1) / LINE * LINE;
  loop->prefetch = (int64_t)traffic * loop->elements > 1 << 20;
  work = loop->elements * (int64_t)(loop->n_steps + loop->n_loads + loop->n_stores);
  loop->threads = work < PARALLEL_WORK || loop->elements <= tile ? 1 : threads;
}

size_t gemel__loop_scratch(const gemel__loop *loop) {
  return loop->n_buffers * loop->buffer_bytes;
}

/* ---- Moving tiles ---- */

/* N copies of the element at FROM. */
static void fill(size_t bytes, int64_t n, char *to, const char *from) {
  gemel__copy_row(bytes, n, to, (int64_t)bytes, from, 0);
}

/* Elements [BEGIN, BEGIN + N) of the iteration, in order, to the buffer TO. */
static void gather(const gemel__loop *loop, const gemel__load *load, int64_t begin, int64_t n,
                   char *to) {
  int64_t index[GEMEL_MAX_RANK], rest = begin, last = loop->rank - 1;
  const char *from = load->data;
  size_t bytes = load->element_bytes;
  int k;
  for (k = loop->rank - 1; k >= 0; k--) {
    index[k] = rest % loop->sizes[k];
    rest /= loop->sizes[k];
    from += index[k] * load->strides[k];
  }
  while (n > 0) {
    int64_t row = loop->sizes[last] - index[last];
    row = row < n ? row : n;
    gemel__copy_row(bytes, row, to, (int64_t)bytes, from, load->strides[last]);
    to += (size_t)row * bytes;
    n -= row;
    from -= index[last] * load->strides[last];
    index[last] = 0;
    for (k = (int)last - 1; k >= 0 && n > 0; k--) {
      from += load->strides[k];
      if (++index[k] < loop->sizes[k]) {
        break;
      }
      from -= load->strides[k] * loop->sizes[k];
      index[k] = 0;
    }
  }
}

/* Writes BYTES bytes past the cache. */
static void stream_out(char *to, const char *from, size_t bytes) {
#ifdef __SSE2__
  size_t head = (size_t)(-(uintptr_t)to & (LINE - 1)), k;
  head = head < bytes ? head : bytes;
  memcpy(to, from, head);
  for (k = head; k + LINE <= bytes; k += LINE) {
    __m128i a = _mm_loadu_si128((const __m128i *)(from + k));
    __m128i b = _mm_loadu_si128((const __m128i *)(from + k + 16));
    __m128i c = _mm_loadu_si128((const __m128i *)(from + k + 32));
    __m128i d = _mm_loadu_si128((const __m128i *)(from + k + 48));
    _mm_stream_si128((__m128i *)(to + k), a);
    _mm_stream_si128((__m128i *)(to + k + 16), b);
    _mm_stream_si128((__m128i *)(to + k + 32), c);
    _mm_stream_si128((__m128i *)(to + k + 48), d);
  }
  memcpy(to + k, from + k, bytes - k);
#else
  memcpy(to, from, bytes);
#endif
}

/* Fetches the STEP-th share of the operands of the tile that begins at NEXT. */
static void prefetch(const gemel__loop *loop, int64_t next, int64_t n, uint32_t step) {
  uint32_t k;
  for (k = 0; k < loop->n_loads; k++) {
    const gemel__load *load = &loop->loads[k];
    if (load->kind == GEMEL__LOAD_DIRECT) {
      const char *from = load->data + next * load->element_bytes;
      size_t bytes = (size_t)n * load->element_bytes;
      size_t at = bytes * step / loop->n_steps & ~(size_t)(LINE - 1);
      size_t end = bytes * (step + 1) / loop->n_steps;
      for (; at < end; at += LINE) {
        __builtin_prefetch(from + at, 0, 2);
      }
    }
  }
}

/* ---- Running ---- */

static void run_steps(const gemel__loop *loop, size_t n, void *const *slots) {
  const gemel__step *step = loop->steps, *end = step + loop->n_steps;
  for (; step < end; step++) {
    const void *in[3];
    in[0] = slots[step->in[0]];
    in[1] = slots[step->in[1]];
    in[2] = slots[step->in[2]];
    step->run(n, slots[step->out], in);
  }
}

static void run_steps_fetching(const gemel__loop *loop, int64_t n, void *const *slots,
                               int64_t next) {
  int64_t ahead = loop->elements - next < loop->tile ? loop->elements - next : loop->tile;
  uint32_t k;
  for (k = 0; k < loop->n_steps; k++) {
    const gemel__step *step = &loop->steps[k];
    const void *in[3];
    in[0] = slots[step->in[0]];
    in[1] = slots[step->in[1]];
    in[2] = slots[step->in[2]];
    if (ahead > 0) {
      prefetch(loop, next, ahead, k);
    }
    step->run((size_t)n, slots[step->out], in);
  }
}

static void run_tile(const gemel__loop *loop, int64_t begin, int64_t n, void **slots) {
  uint32_t k;
  for (k = 0; k < loop->n_loads; k++) {
    const gemel__load *load = &loop->loads[k];
    if (load->kind == GEMEL__LOAD_DIRECT) {
      slots[load->slot] = (char *)load->data + begin * load->element_bytes;
    } else if (load->kind == GEMEL__LOAD_GATHER) {
      gather(loop, load, begin, n, slots[load->slot]);
    }
  }
  for (k = 0; k < loop->n_stores; k++) {
    const gemel__store *store = &loop->stores[k];
    if (!store->streamed) {
      slots[store->slot] = store->data + begin * store->element_bytes;
    }
  }
  if (loop->prefetch) {
    run_steps_fetching(loop, n, slots, begin + n);
  } else {
    run_steps(loop, (size_t)n, slots);
  }
  for (k = 0; k < loop->n_stores; k++) {
    const gemel__store *store = &loop->stores[k];
    if (store->streamed) {
      stream_out(store->data + begin * store->element_bytes, slots[store->slot],
                 (size_t)n * store->element_bytes);
    }
  }
}

static void run_range(const gemel__loop *loop, int64_t begin, int64_t end, char *scratch) {
  void *slots[GEMEL__LOOP_SLOTS];
  int64_t tile = loop->tile < loop->elements ? loop->tile : loop->elements;
  uint32_t k;
  for (k = 0; k < loop->n_buffers; k++) {
    slots[k] = scratch + k * loop->buffer_bytes;
  }
  for (k = 0; k < loop->n_loads; k++) {
    const gemel__load *load = &loop->loads[k];
    if (load->kind == GEMEL__LOAD_FIXED) {
      fill(load->element_bytes, tile, slots[load->slot], load->data);
    }
  }
  for (; begin < end; begin += tile) {
    run_tile(loop, begin, end - begin < tile ? end - begin : tile, slots);
  }
#ifdef __SSE2__
  _mm_sfence();
#endif
}

void gemel__loop_run(const gemel__loop *loop, char *scratch) {
#ifdef _OPENMP
  if (loop->threads > 1) {
    int64_t tiles = (loop->elements + loop->tile - 1) / loop->tile;
    size_t stride = gemel__loop_scratch(loop);
#pragma omp parallel num_threads(loop->threads)
    {
      int64_t me = omp_get_thread_num(), all = omp_get_num_threads();
      int64_t begin = tiles * me / all * loop->tile, end = tiles * (me + 1) / all * loop->tile;
      end = end < loop->elements ? end : loop->elements;
      run_range(loop, begin, end, scratch + (size_t)me * stride);
    }
    return;
  }
#endif
  run_range(loop, 0, loop->elements, scratch);
}
