/* SPDX-License-Identifier: MIT
 *
 * softmax and cross_entropy along lanes. Threads read chunks of 8 or 16 bytes: by rows, where
 * lanes are contiguous or nothing is, of a lane that a group of threads shares; by columns, of
 * neighbouring lanes. First the largest element is found, then the total of exp(x - largest), then
 * the results are made. What threads can hold is read once. Of longer lanes each thread goes
 * through its elements with the largest so far, and once more for the results. Totals are in
 * f64: their logarithms may be next to nothing. Of softmax, which divides by them, what a thread
 * has read at once is added up as values are calculated. No NaN is looked for: it makes the total
 * NaN.
 */
#include "kernels/host.h"
#include "kernels/scalar.h"

/* HELD: bytes of values that a thread holds. */
enum { HELD = 64, COLUMNS = 4, MOST_WARPS = 8 };
static constexpr unsigned WARP = 32, THREADS = 256;

static constexpr int chunk_bytes(bool by_rows, long long item) {
  return by_rows || item > 2 ? 16 : 8;
}

/* ---- Device ---- */

/* Strides in bytes from chunk to chunk and within one. WHOLE: full chunks can be read at once. */
struct chunked {
  long long step, within;
  bool whole;
};

/* FIRST leads to the first element of each lane, of operands x, targets and result; by columns to
 * those of a tile's first lane without the near axis, of NEAR lanes. A group of threads has COLUMNS
 * chunks of these; a lane has N elements in COUNT chunks, or one in each chunk. */
struct lanes {
  divided_walk<3> first;
  long long jobs, n, count, near;
  divisor tiles;
  chunked operand[3];
  unsigned columns, column_bits, group, group_bits, groups;
};

/* Of which sign 0 is, doesn't matter; y if x is NaN. */
template <class T> DEVICE T larger(T x, T y) {
  return x > y ? x : y;
}
/* exp of x - y, where x <= y or one is NaN. */
DEVICE float power(float x, float y) {
  return f32_exp_falling(x - y);
}
DEVICE double power(double x, double y) {
  return f64_exp_falling(x - y);
}
/* The sum of N values, M apart, as numbers of type S. */
template <class S, int N, int M, class T> DEVICE S sum_of(const T *values) {
  if constexpr (N == 1) {
    return (S)*values;
  } else {
    return sum_of<S, N / 2, M>(values) + sum_of<S, N - N / 2, M>(values + N / 2 * M);
  }
}

/* An element type: what is calculated with, how it is read and written, and how many a chunk has.
 * By columns these are four at most, of which each has a total. */
#define ELEMENT(T, ROUND)                                                                          \
  template <bool BY_ROWS> struct element_##T {                                                     \
    typedef stored_##T stored;                                                                     \
    typedef value_##T value;                                                                       \
    enum {                                                                                         \
      SEVERAL = chunk_bytes(BY_ROWS, sizeof(stored)) / sizeof(stored),                             \
      CHUNKS = HELD / sizeof(value) / SEVERAL                                                      \
    };                                                                                             \
    static __device__ __forceinline__ value load(const void *x) {                                  \
      return load_##T(x);                                                                          \
    }                                                                                              \
    static __device__ __forceinline__ void store(void *x, value v) {                               \
      store_##T(x, ROUND(v));                                                                      \
    }                                                                                              \
  };
ELEMENT(f16, round_f16)
ELEMENT(bf16, round_bf16)
ELEMENT(f32, SAME)
ELEMENT(f64, SAME)

/* The elements at FROM; -inf where there are only LEFT. */
template <class E>
DEVICE void load_chunk(const chunked &c, const char *from, long long left,
                       typename E::value *values) {
  constexpr int N = E::SEVERAL;
  if (c.whole && left >= N) {
    auto all = *(const group<typename E::stored, N> *)from;
    GEMEL_UNROLL(8)
    for (int i = 0; i < N; i++) {
      values[i] = E::load(&all.at[i]);
    }
  } else {
    GEMEL_UNROLL(8)
    for (int i = 0; i < N; i++) {
      values[i] = i < left ? E::load(from + i * c.within) : -(typename E::value)INFINITY;
    }
  }
}

template <class E>
DEVICE void store_chunk(const chunked &c, char *to, long long left,
                        const typename E::value *values) {
  constexpr int N = E::SEVERAL;
  if (c.whole && left >= N) {
    group<typename E::stored, N> all;
    GEMEL_UNROLL(8)
    for (int i = 0; i < N; i++) {
      E::store(&all.at[i], values[i]);
    }
    *(group<typename E::stored, N> *)to = all;
  } else {
    GEMEL_UNROLL(8)
    for (int i = 0; i < N; i++) {
      if (i < left) {
        E::store(to + i * c.within, values[i]);
      }
    }
  }
}

struct by_sum {
  template <class T> static __device__ __forceinline__ T join(T x, T y) {
    return x + y;
  }
};
struct by_size {
  template <class T> static __device__ __forceinline__ T join(T x, T y) {
    return larger(x, y);
  }
};

/* Joins the M values of the threads of a group that have the same columns; all get the results. */
template <class How, class T, int M> DEVICE void join_group(const lanes &l, T (&own)[M]) {
  GEMEL_SHARED(T, shared, [MOST_WARPS * (M == 1 ? 1 : COLUMNS * M)]);
  const unsigned warp = threadIdx.x / WARP, lane = threadIdx.x % WARP, width = l.columns * M;
  for (unsigned bit = l.columns; bit < WARP && bit < l.group; bit *= 2) {
    GEMEL_UNROLL(8)
    for (int i = 0; i < M; i++) {
      own[i] = How::join(own[i], __shfl_xor_sync(~0u, own[i], (int)bit));
    }
  }
  if (l.group <= WARP) {
    return;
  }
  GEMEL_UNROLL(8)
  for (int i = 0; i < M; i++) {
    if (lane < l.columns) {
      shared[warp * width + lane * M + i] = own[i];
    }
  }
  __syncthreads();
  if (threadIdx.x < width) {
    T all = shared[threadIdx.x];
    for (unsigned k = threadIdx.x + width; k < l.group / WARP * width; k += width) {
      all = How::join(all, shared[k]);
    }
    shared[threadIdx.x] = all;
  }
  __syncthreads();
  GEMEL_UNROLL(8)
  for (int i = 0; i < M; i++) {
    own[i] = shared[(lane & (l.columns - 1)) * M + i];
  }
  __syncthreads();
}

/* What a thread has of a tile: elements from X on, of chunks FIRST, FIRST + STEP and so on; LEFT
 * elements are in a chunk by columns. Of its M lanes it knows the largest elements and the totals.
 */
template <class E, int M> struct portion {
  const char *x;
  long long first, step, count, left;
  bool any; /* there is such a lane */
  typename E::value values[E::CHUNKS * E::SEVERAL], largest[M];
  double total[M];
};

/* How many elements chunk K has. */
template <class E, int M>
DEVICE long long left_in(const lanes &l, const portion<E, M> &p, long long k) {
  return k >= p.count ? 0 : M == 1 ? l.n - k * E::SEVERAL : p.left;
}

/* Reads the chunks from K on that a thread can hold, and looks for larger elements. */
template <class E, int M> DEVICE void load_some(const lanes &l, portion<E, M> &p, long long k) {
  GEMEL_UNROLL(8)
  for (int j = 0; j < E::CHUNKS; j++, k += p.step) {
    load_chunk<E>(l.operand[0], p.x + k * l.operand[0].step, left_in(l, p, k),
                  p.values + j * E::SEVERAL);
  }
  GEMEL_UNROLL(16)
  for (int i = 0; i < E::CHUNKS * E::SEVERAL; i++) {
    p.largest[i % M] = larger(p.largest[i % M], p.values[i]);
  }
}

/* Adds to the totals; with POWERS, values become exp(value - largest). */
template <class E, int M, bool POWERS> DEVICE void add_some(portion<E, M> &p) {
  typedef typename E::value value;
  constexpr int N = E::CHUNKS * E::SEVERAL;
  value from[M], powers[N];
  GEMEL_UNROLL(8)
  for (int i = 0; i < M; i++) {
    const bool none = !POWERS && p.largest[i] == -(value)INFINITY;
    from[i] = none ? (value)0 : p.largest[i];
  }
  GEMEL_UNROLL(16)
  for (int k = 0; k < N; k++) {
    powers[k] = power(p.values[k], from[k % M]);
    p.values[k] = POWERS ? powers[k] : p.values[k];
  }
  GEMEL_UNROLL(8)
  for (int i = 0; i < M; i++) {
    p.total[i] +=
        POWERS ? (double)sum_of<value, N / M, M>(powers + i) : sum_of<double, N / M, M>(powers + i);
  }
}

/* The largest elements and the totals of all lanes; values are left as they are read, or become
 * exp(value - largest) with POWERS, where a thread holds all of them. */
template <class E, int M, bool POWERS> DEVICE void find_totals(const lanes &l, portion<E, M> &p) {
  typedef typename E::value value;
  const long long some = p.step * E::CHUNKS;
  GEMEL_UNROLL(8)
  for (int i = 0; i < M; i++) {
    p.largest[i] = -(value)INFINITY;
    p.total[i] = 0;
  }
  if (l.count <= some) {
    load_some(l, p, p.first);
    join_group<by_size>(l, p.largest);
    add_some<E, M, POWERS>(p);
  } else {
    value before[M];
    for (long long k = p.first; k < p.count; k += some) {
      GEMEL_UNROLL(8)
      for (int i = 0; i < M; i++) {
        before[i] = p.largest[i];
      }
      load_some(l, p, k);
      GEMEL_UNROLL(8)
      for (int i = 0; i < M; i++) {
        if (p.largest[i] != before[i]) {
          p.total[i] *= (double)power(before[i], p.largest[i]);
        }
      }
      add_some<E, M, false>(p);
    }
    GEMEL_UNROLL(8)
    for (int i = 0; i < M; i++) {
      before[i] = p.largest[i];
    }
    join_group<by_size>(l, p.largest);
    GEMEL_UNROLL(8)
    for (int i = 0; i < M; i++) {
      p.total[i] *= (double)power(before[i], p.largest[i]);
    }
  }
  join_group<by_sum>(l, p.total);
}

template <class E, int M> DEVICE void write_softmax(const lanes &l, portion<E, M> &p, char *out) {
  typedef typename E::value value;
  const bool held = l.count <= p.step * E::CHUNKS;
  value inverse[M];
  GEMEL_UNROLL(8)
  for (int i = 0; i < M; i++) {
    inverse[i] = (value)(1 / p.total[i]);
  }
  for (long long k = p.first; k < p.count;) {
    if (!held) {
      load_some(l, p, k);
    }
    GEMEL_UNROLL(8)
    for (int j = 0; j < E::CHUNKS; j++, k += p.step) {
      value results[E::SEVERAL];
      GEMEL_UNROLL(8)
      for (int i = 0; i < E::SEVERAL; i++) {
        value x = p.values[j * E::SEVERAL + i];
        results[i] = (held ? x : power(x, p.largest[i % M])) * inverse[i % M];
      }
      store_chunk<E>(l.operand[2], out + k * l.operand[2].step, left_in(l, p, k), results);
    }
  }
}

/* -sum(t log(softmax(x))) = sum(t (largest - x + log(total))), of the targets from TARGETS on. */
template <class E, int M>
DEVICE void find_losses(const lanes &l, portion<E, M> &p, const char *targets, double (&own)[M]) {
  typedef typename E::value value;
  const bool held = l.count <= p.step * E::CHUNKS;
  value largest[M], log_total[M];
  GEMEL_UNROLL(8)
  for (int i = 0; i < M; i++) {
    largest[i] = p.largest[i];
    log_total[i] = (value)log_f64(p.total[i], 0, 0);
    own[i] = 0;
  }
  for (long long k = p.first; k < p.count;) {
    if (!held) {
      load_some(l, p, k);
    }
    GEMEL_UNROLL(8)
    for (int j = 0; j < E::CHUNKS; j++, k += p.step) {
      value with[E::SEVERAL];
      long long left = left_in(l, p, k);
      load_chunk<E>(l.operand[1], targets + k * l.operand[1].step, left, with);
      GEMEL_UNROLL(8)
      for (int i = 0; i < E::SEVERAL; i++) {
        value log = (largest[i % M] - p.values[j * E::SEVERAL + i]) + log_total[i % M];
        with[i] = i < left ? with[i] * log : 0;
      }
      GEMEL_UNROLL(8)
      for (int i = 0; i < M; i++) {
        own[i] += (double)sum_of<value, E::SEVERAL / M, M>(with + i);
      }
    }
  }
  join_group<by_sum>(l, own);
}

/* The number of a class, of BYTES; a negative one is huge, as is one of a SIGNED type. */
DEVICE uint64_t target_at(const char *at, int bytes, bool is_signed) {
  switch (bytes) {
  case 1:
    return is_signed ? (uint64_t) * (const int8_t *)at : *(const uint8_t *)at;
  case 2:
    return is_signed ? (uint64_t) * (const int16_t *)at : *(const uint16_t *)at;
  case 4:
    return is_signed ? (uint64_t) * (const int32_t *)at : *(const uint32_t *)at;
  default:
    return *(const uint64_t *)at;
  }
}

enum task { SOFTMAX, LOSS, INDEX_LOSS };

/* What targets are, and where a problem is told. */
struct classes {
  int *problem;
  int bytes;
  bool is_signed;
};

/* The loss of lane I of a thread, whose target is the number of a class. */
template <class E, int M>
DEVICE double index_loss(const lanes &l, const portion<E, M> &p, int i, const char *targets,
                         const classes &c) {
  const chunked &x = l.operand[0];
  const long long step = M == 1 ? x.within : x.step, lane = M == 1 ? 0 : i * x.within;
  uint64_t target = target_at(targets + i * l.operand[1].within, c.bytes, c.is_signed);
  if (target < (uint64_t)l.n) { /* a negative one is huge */
    double at = (double)E::load(p.x + lane + (long long)target * step);
    return ((double)p.largest[i] - at) + log_f64(p.total[i], 0, 0);
  }
  atomicExch(c.problem, GEMEL__CUDA_BAD_TARGET);
  return (double)NAN;
}

template <class E, int M, task WHAT>
DEVICE void write_losses(const lanes &l, portion<E, M> &p, const char *targets, char *out,
                         const classes &c) {
  double own[M];
  if (WHAT == LOSS) {
    find_losses(l, p, targets, own);
  }
  GEMEL_UNROLL(8)
  for (int i = 0; i < M; i++) {
    if (p.first == 0 && p.any && (M == 1 || i < p.left)) {
      double loss = WHAT == LOSS ? own[i] : index_loss(l, p, i, targets, c);
      E::store(out + i * l.operand[2].within, (typename E::value)loss);
    }
  }
}

/* By rows M is 1, by columns as many as a chunk has. */
template <class E, int M, task WHAT>
DEVICE void do_tiles(const lanes &l, const char *x, const char *targets, char *out,
                     const classes &c) {
  for (long long job = blockIdx.x; job < l.jobs; job += gridDim.x) {
    const unsigned in_group = threadIdx.x & (l.group - 1);
    long long batch = divided(job, l.tiles), offsets[3];
    long long lane = M == 1 ? job * l.groups + (threadIdx.x >> l.group_bits) : batch;
    long long column =
        M == 1 ? 0 : ((job - batch * l.tiles.size) * l.columns + (in_group & (l.columns - 1))) * M;
    find_offsets(l.first, lane, offsets);
    portion<E, M> p;
    p.x = x + offsets[0] + column * l.operand[0].within;
    p.first = in_group >> l.column_bits;
    p.step = l.group >> l.column_bits;
    p.any = lane < l.first.elements;
    p.count = p.any ? l.count : 0;
    p.left = l.near - column;
    const char *with = targets + offsets[1] + column * l.operand[1].within;
    char *to = out + offsets[2] + column * l.operand[2].within;
    find_totals<E, M, WHAT == SOFTMAX>(l, p);
    if (WHAT == SOFTMAX) {
      write_softmax(l, p, to);
    } else {
      write_losses<E, M, WHAT>(l, p, with, to, c);
    }
  }
}

#define LANES(name, M, WHAT, BLOCKS)                                                               \
  template <class E>                                                                               \
  static __global__ void __launch_bounds__(THREADS, BLOCKS)                                        \
      name(lanes l, const char *x, const char *targets, char *out, classes c) {                    \
    do_tiles<E, M, WHAT>(l, x, targets, out, c);                                                   \
  }
LANES(softmax_rows, 1, SOFTMAX, 3)
LANES(softmax_columns, E::SEVERAL, SOFTMAX, 3)
LANES(loss_rows, 1, LOSS, 3)
LANES(loss_columns, E::SEVERAL, LOSS, 3)
LANES(index_loss_rows, 1, INDEX_LOSS, 3)
LANES(index_loss_columns, E::SEVERAL, INDEX_LOSS, 3)

#define FLOAT_TYPES(X) X(f16) X(bf16) X(f32) X(f64)
#define KERNELS(T)                                                                                 \
  GEMEL_KERNEL(softmax_##T, softmax_rows<element_##T<true>>)                                       \
  GEMEL_KERNEL(softmax_columns_##T, softmax_columns<element_##T<false>>)                           \
  GEMEL_KERNEL(loss_##T, loss_rows<element_##T<true>>)                                             \
  GEMEL_KERNEL(loss_columns_##T, loss_columns<element_##T<false>>)                                 \
  GEMEL_KERNEL(index_loss_##T, index_loss_rows<element_##T<true>>)                                 \
  GEMEL_KERNEL(index_loss_columns_##T, index_loss_columns<element_##T<false>>)
FLOAT_TYPES(KERNELS)

/* ---- Host ---- */

static const void *kernel_of(task what, bool by_rows, gemel_dtype dtype) {
  switch (what) {
  case SOFTMAX:
    return by_rows ? BY_FLOAT(softmax, dtype) : BY_FLOAT(softmax_columns, dtype);
  case LOSS:
    return by_rows ? BY_FLOAT(loss, dtype) : BY_FLOAT(loss_columns, dtype);
  default:
    return by_rows ? BY_FLOAT(index_loss, dtype) : BY_FLOAT(index_loss_columns, dtype);
  }
}

/* VIEW without axis AXIS, if it has the rank of the logits. */
static gemel_view without_axis(const gemel_view *view, int rank, int axis, int64_t *shape,
                               int64_t *strides) {
  gemel_view made = *view;
  if (view->rank != rank) {
    return made;
  }
  made.rank = 0;
  for (int k = 0; k < rank; k++) {
    if (k != axis) {
      shape[made.rank] = view->shape[k];
      strides[made.rank++] = view->strides[k];
    }
  }
  made.shape = shape;
  made.strides = strides;
  return made;
}

/* By rows: groups of threads that hold a lane, if so many may be in a group; at least 64 bytes lie
 * side by side. By columns: as many bytes of a row, and threads that hold its lanes. */
static void count_threads(lanes *l, bool by_rows, int n, int held) {
  unsigned threads = bits_for((l->count + (held - 1)) / held, by_rows ? 8 : 6);
  if (by_rows) {
    unsigned least = bits_for(l->count, 2);
    l->group_bits = threads > least ? threads : least;
    l->groups = l->group_bits > 5 ? 1 : THREADS >> l->group_bits;
    l->tiles = divisor_of(1);
    l->jobs = (l->first.elements + (l->groups - 1)) / l->groups;
  } else {
    long long chunks = (l->near + (n - 1)) / n;
    l->column_bits = bits_for(chunks, threads < 3 ? 5 - threads : 2);
    l->group_bits = threads + l->column_bits < 5 ? 5 : threads + l->column_bits;
    l->groups = 1;
    l->tiles = divisor_of((chunks + ((1ll << l->column_bits) - 1)) >> l->column_bits);
    l->jobs = l->first.elements * l->tiles.size;
  }
  l->columns = 1u << l->column_bits;
  l->group = 1u << l->group_bits;
}

/* Lanes along AXIS of X, of TARGETS and OUT where they have it. */
static lanes make_lanes(const gemel_view *x, const gemel_view *targets, const gemel_view *out,
                        int axis, bool *by_rows) {
  const gemel_view *const operands[3] = {x, targets, out};
  int64_t shape[3][GEMEL_MAX_RANK], strides[3][GEMEL_MAX_RANK];
  gemel_view made[3];
  for (int k = 0; k < 3; k++) {
    made[k] = without_axis(operands[k], x->rank, axis, shape[k], strides[k]);
  }
  const gemel_view *const views[3] = {&made[0], &made[1], &made[2]};
  strided_walk<3> first = walk_over(views);
  const long long item = (long long)gemel_dtype_size(x->dtype);
  int near = nearest_axis(first, 0);
  lanes l = {};
  *by_rows = near < 0 || llabs(x->strides[axis]) <= llabs(first.strides[0][near]);
  const long long bytes = chunk_bytes(*by_rows, item), n = bytes / item;
  l.n = x->shape[axis];
  l.near = *by_rows ? 1 : first.sizes[near];
  l.count = *by_rows ? (l.n + (n - 1)) / n : l.n;
  for (int k = 0; k < 3; k++) {
    long long step = operands[k]->rank == x->rank ? operands[k]->strides[axis] : 0;
    l.operand[k] = {*by_rows ? n * step : step, *by_rows ? step : first.strides[k][near], false};
  }
  if (!*by_rows) {
    remove_axis(&first, near);
  }
  for (int k = 0; k < 3; k++) {
    l.operand[k].whole = l.operand[k].within == item && l.operand[k].step % bytes == 0 &&
                         is_aligned(first, k, bytes) &&
                         (uintptr_t)operands[k]->data % (uintptr_t)bytes == 0;
  }
  l.first = divided_walk_of(first);
  count_threads(&l, *by_rows, (int)n, (int)(HELD / (item < 4 ? 4 : item) / n));
  return l;
}

static gemel_status run_lanes(const gemel_kernel_call *call, task what, const gemel_view *targets) {
  gemel_cuda *cuda = gemel__cuda_of(call);
  const gemel_view *x = &call->inputs[0], *out = &call->outputs[0];
  bool by_rows;
  lanes l = make_lanes(x, targets, out, axis_of(call), &by_rows);
  classes c = {cuda->problem, (int)gemel_dtype_size(targets->dtype),
               gemel_dtype_kind(targets->dtype) == GEMEL_KIND_SIGNED};
  void *from = x->data, *with = targets->data, *to = out->data;
  void *arguments[] = {&l, &from, &with, &to, &c};
  long long most = 4ll * cuda->blocks_at_once;
  if (what == INDEX_LOSS) {
    gemel__cuda_may_fail(cuda);
  }
  return l.jobs == 0 ? GEMEL_OK
                     : gemel__cuda_launch(cuda, kernel_of(what, by_rows, x->dtype),
                                          (size_t)(l.jobs < most ? l.jobs : most),
                                          l.group * l.groups, 0, arguments, call->error);
}

static gemel_status run_softmax(const gemel_kernel_call *call) {
  return run_lanes(call, SOFTMAX, &call->outputs[0]);
}

static gemel_status run_cross_entropy(const gemel_kernel_call *call) {
  const gemel_view *targets = &call->inputs[1];
  bool by_index = gemel_dtype_kind(targets->dtype) != GEMEL_KIND_FLOAT;
  return run_lanes(call, by_index ? INDEX_LOSS : LOSS, targets);
}

extern "C" const gemel_kernel gemel__cuda_softmax[] = {{"lanes", NULL, run_softmax},
                                                       {NULL, NULL, NULL}};
extern "C" const gemel_kernel gemel__cuda_cross_entropy[] = {{"lanes", NULL, run_cross_entropy},
                                                             {NULL, NULL, NULL}};
