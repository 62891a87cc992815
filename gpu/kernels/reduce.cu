/* SPDX-License-Identifier: MIT
 *
 * sum, prod, max and argmax. Threads read chunks of up to 16 bytes that lie along the near axis,
 * the one with the smallest stride. If that is reduced, threads of a group, neighbours, read the
 * chunks of a result: "by rows". If it is kept, each thread has the results of a chunk of columns,
 * and the threads of a block that have the same columns read different lines. What threads have is
 * joined by shuffles, then in shared memory. If there are few results of many elements each,
 * several blocks share them: each leaves its part in scratch memory, and the last one to come joins
 * them. So the order of operations depends on the shape and strides alone: not on which block runs
 * first, nor on where operands lie.
 */
#include <type_traits>
#include "kernels/host.h"
#include "kernels/scalar.h"

/* LEAST_LOADS: of a thread, where a result has more than one part; MOST_PARTS: of all results. */
enum { LEAST_LOADS = 16, GOOD_LOADS = 16, MOST_PARTS = 1024 };
static constexpr unsigned WARP_BITS = 5, WARP = 32, BLOCK_BITS = 8, BLOCK = 256;

/* ---- Device ---- */

/* Bits of a thread's number, from the lowest on, say which columns of a tile it has, then which of
 * the inner steps, then which of the outer ones, all in its group; what is left, its group. PARTS
 * cut the outer steps into lengths of PART, or the inner ones. */
struct reduction {
  divided_walk<2> kept;  /* in the result and x: results but for the near axis, if that is kept */
  divided_walk<1> outer; /* what is reduced but for the inner steps */
  long long jobs;        /* tiles of results, times parts */
  divisor tiles, parts;  /* tiles of the near axis; parts of a result */
  long long inner, inner_step;         /* steps along the near axis by rows, or along another */
  long long near, near_step, out_step; /* elements along the near axis, and their strides */
  long long part;
  bool by_rows, whole, cuts_outer; /* WHOLE: full chunks lie where they can be read at once */
  unsigned column_bits, inner_bits, group_bits; /* of numbers of threads: powers of two are */
  unsigned columns, inner_threads, outer_threads, group,
      groups; /* so many threads; GROUPS a block */
};

/* Joins what lanes have whose numbers differ in bits from FIRST on, below END, powers of two. */
template <class Kind, int M>
DEVICE void join_lanes(typename Kind::acc (&own)[M], unsigned first, unsigned end) {
  for (unsigned bit = first; bit < end; bit *= 2) {
    GEMEL_UNROLL(8)
    for (int k = 0; k < M; k++) {
      own[k] = Kind::join(own[k], Kind::shuffle(own[k], bit));
    }
  }
}

/* Where a tile's results go: TO, as far as END, or PARTS if that isn't NULL. */
template <class Kind> struct target {
  char *to;
  long long begin, end, step;
  typename Kind::acc *parts;
  __device__ __forceinline__ void store(unsigned k, typename Kind::acc all) const {
    if (parts != NULL) {
      parts[k] = all;
    } else if (begin + k < end) {
      Kind::store(to + (begin + k) * step, all);
    }
  }
};

/* Joins what threads have whose numbers are the same modulo COLUMNS, and stores the M * COLUMNS
 * results, those of a thread being neighbours. */
template <class Kind, int M>
DEVICE void join_block(typename Kind::acc *shared, typename Kind::acc (&own)[M], unsigned columns,
                       const target<Kind> &to) {
  const unsigned end = M == 1 ? WARP : BLOCK / WARP; /* many results are joined by many threads */
  const unsigned step = M * (columns < end ? end : columns), values = blockDim.x * M;
  join_lanes<Kind>(own, columns, end);
  GEMEL_UNROLL(8)
  for (int k = 0; k < M; k++) {
    shared[threadIdx.x * M + k] = own[k];
  }
  __syncthreads();
  for (unsigned k = threadIdx.x; k < M * columns; k += blockDim.x) {
    typename Kind::acc all = shared[k];
    for (unsigned other = k + step; other < values; other += step) {
      all = Kind::join(all, shared[other]);
    }
    to.store(k, all);
  }
  __syncthreads();
}

/* OWN: what a thread joins of part PART of the elements from X on, nothing if there are NONE.
 * COLUMN: its chunk of columns. */
template <class Kind>
DEVICE void add_elements(const reduction &r, const char *x, long long part, long long column,
                         bool any, typename Kind::acc (&own)[Kind::SEVERAL]) {
  constexpr int N = Kind::SEVERAL;
  const unsigned of_reduced = threadIdx.x >> r.column_bits;
  const long long stride = r.inner_threads * r.inner_step;
  long long begin = part * r.part, end = begin + r.part;
  long long first = r.cuts_outer ? 0 : begin, last = r.cuts_outer || end > r.inner ? r.inner : end;
  long long line = r.cuts_outer ? begin : 0;
  long long lines = r.cuts_outer && end < r.outer.elements ? end : r.outer.elements;
  long long chunks = r.near / N, full = r.by_rows && chunks < last ? chunks : last;
  full = r.whole && (r.by_rows || column < chunks) ? full : 0;
  typename Kind::partial sums[N];
  GEMEL_UNROLL(8)
  for (int i = 0; i < N; i++) {
    sums[i] = Kind::none();
  }
  line += any ? of_reduced >> r.inner_bits & (r.outer_threads - 1) : lines;
  for (; line < lines; line += r.outer_threads) {
    long long k = first + (of_reduced & (r.inner_threads - 1)), offset[1];
    find_offsets(r.outer, line, offset);
    const char *at = x + offset[0] + k * r.inner_step;
    GEMEL_UNROLL(4)
    for (; k < full; k += r.inner_threads, at += stride) {
      auto chunk = *(const group<typename Kind::stored, N> *)at;
      GEMEL_UNROLL(8)
      for (int i = 0; i < N; i++) {
        sums[i] = Kind::add(sums[i], Kind::load(&chunk.at[i]), (unsigned)(k - first));
      }
    }
    GEMEL_UNROLL(1)
    for (; k < last; k += r.inner_threads, at += stride) {
      long long left = r.near - (r.by_rows ? k : column) * N;
      GEMEL_UNROLL(8)
      for (int i = 0; i < N; i++) {
        if (i < left) {
          sums[i] = Kind::add(sums[i], Kind::load(at + i * r.near_step), (unsigned)(k - first));
        }
      }
    }
  }
  GEMEL_UNROLL(8)
  for (int i = 0; i < N; i++) {
    own[i] = Kind::whole(sums[i], first, r.by_rows ? N : 1, r.by_rows ? i : 0);
  }
}

/* Whether this is the last block of PARTS that comes here for one tile, all of whose threads have
 * met at a barrier since they wrote. ARRIVED is 0 before the first one and after the last one. */
DEVICE bool is_last(unsigned *arrived, unsigned parts) {
  __threadfence();
  bool last = threadIdx.x == 0 && atomicAdd(arrived, 1u) == parts - 1;
  if (last) {
    atomicExch(arrived, 0u);
  }
  last = __syncthreads_or(last) != 0;
  __threadfence();
  return last;
}

/* Joins the values of a tile's threads, and stores the results, or those of part PART; whoever
 * comes last joins the parts. */
template <class Kind, int M>
DEVICE void finish_tile(const reduction &r, typename Kind::acc *shared,
                        typename Kind::acc (&own)[M], long long tile, long long part,
                        unsigned *arrived, target<Kind> to) {
  typename Kind::acc *parts = to.parts;
  const unsigned width = M * r.columns;
  if (parts == NULL) {
    join_block<Kind, M>(shared, own, r.columns, to);
    return;
  }
  parts += tile * r.parts.size * width;
  to.parts = parts + part * width;
  join_block<Kind, M>(shared, own, r.columns, to);
  if (is_last(arrived + tile, (unsigned)r.parts.size)) {
    typename Kind::acc of_parts[1] = {Kind::nothing()};
    for (unsigned k = threadIdx.x; k < r.parts.size * width; k += blockDim.x) {
      of_parts[0] = Kind::join(of_parts[0], parts[k]);
    }
    to.parts = NULL;
    join_block<Kind, 1>(shared, of_parts, width, to);
  }
}

/* Writes the results of tile TILE, or its part PART. PARTS is NULL where there is one. */
template <class Kind>
DEVICE void reduce_tile(const reduction &r, char *out, typename Kind::acc *parts, unsigned *arrived,
                        const char *x, long long tile, long long part) {
  constexpr int N = Kind::SEVERAL;
  typedef typename Kind::acc acc;
  GEMEL_SHARED(acc, shared, [N * BLOCK]);
  long long batch = divided(tile, r.tiles), begin = (tile - batch * r.tiles.size) * r.columns;
  long long column = begin + (threadIdx.x & (r.columns - 1)), offsets[2];
  long long number = batch * r.groups + (threadIdx.x >> r.group_bits);
  find_offsets(r.kept, number, offsets);
  target<Kind> to = {out + offsets[0], begin * N, r.by_rows ? 1 : r.near, r.out_step, parts};
  acc own[N];
  add_elements<Kind>(r, x + offsets[1] + (r.by_rows ? 0 : column * N * r.near_step), part, column,
                     number < r.kept.elements, own);
  if (!r.by_rows) {
    finish_tile<Kind, N>(r, shared, own, tile, part, arrived, to);
    return;
  }
  acc one[1] = {own[0]};
  GEMEL_UNROLL(8)
  for (int k = 1; k < N; k++) {
    one[0] = Kind::join(one[0], own[k]);
  }
  if (r.group > WARP) {
    finish_tile<Kind, 1>(r, shared, one, tile, part, arrived, to);
    return;
  }
  join_lanes<Kind>(one, 1, r.group);
  if ((threadIdx.x & (r.group - 1)) == 0 && number < r.kept.elements) {
    Kind::store(to.to, one[0]);
  }
}

template <class Kind>
static __global__ void __launch_bounds__(BLOCK, 3)
    reduce(reduction r, char *out, typename Kind::acc *parts, unsigned *arrived, const char *x) {
  for (long long job = blockIdx.x; job < r.jobs; job += gridDim.x) {
    long long tile = divided(job, r.parts);
    reduce_tile<Kind>(r, out, parts, arrived, x, tile, job - tile * r.parts.size);
  }
}

/* How many of T are read at once. */
template <class T> struct several {
  typedef T stored;
  enum { SEVERAL = sizeof(T) < 2 ? 8 : 16 / sizeof(T) };
};

/* A reduction of dtype T to dtype R with accumulators of type Acc. */
#define KIND(what, T, R, Acc, START, JOIN, FINISH)                                                 \
  struct what##_##T : several<stored_##T> {                                                        \
    typedef Acc acc, partial;                                                                      \
    static __device__ Acc nothing() {                                                              \
      return START;                                                                                \
    }                                                                                              \
    static __device__ Acc none() {                                                                 \
      return START;                                                                                \
    }                                                                                              \
    static __device__ Acc load(const void *x) {                                                    \
      return (Acc)load_##T(x);                                                                     \
    }                                                                                              \
    static __device__ Acc join(Acc a, Acc b) {                                                     \
      return JOIN;                                                                                 \
    }                                                                                              \
    static __device__ Acc add(Acc a, Acc b, unsigned) {                                            \
      return JOIN;                                                                                 \
    }                                                                                              \
    static __device__ Acc whole(Acc a, long long, int, int) {                                      \
      return a;                                                                                    \
    }                                                                                              \
    static __device__ Acc shuffle(Acc a, unsigned by) {                                            \
      return (Acc)__shfl_xor_sync(~0u, a, (int)by);                                                \
    }                                                                                              \
    static __device__ void store(char *out, Acc a) {                                               \
      store_##R(out, FINISH(a));                                                                   \
    }                                                                                              \
  };                                                                                               \
  GEMEL_KERNEL(what##_##T, reduce<what##_##T>)

/* Integers wrap; those of all widths have the same sum and product modulo 2^64. */
#define SUM_AND_PROD(T, R, Acc, FINISH)                                                            \
  KIND(sum, T, R, Acc, 0, a + b, FINISH)                                                           \
  KIND(prod, T, R, Acc, 1, a *b, FINISH)
SUM_AND_PROD(bool, i64, uint64_t, (int64_t))
SUM_AND_PROD(i8, i64, uint64_t, (int64_t))
SUM_AND_PROD(i16, i64, uint64_t, (int64_t))
SUM_AND_PROD(i32, i64, uint64_t, (int64_t))
SUM_AND_PROD(i64, i64, uint64_t, (int64_t))
SUM_AND_PROD(u8, u64, uint64_t, SAME)
SUM_AND_PROD(u16, u64, uint64_t, SAME)
SUM_AND_PROD(u32, u64, uint64_t, SAME)
SUM_AND_PROD(u64, u64, uint64_t, SAME)
SUM_AND_PROD(f16, f16, float, round_f16)
SUM_AND_PROD(bf16, bf16, float, round_bf16)
SUM_AND_PROD(f32, f32, float, SAME)
SUM_AND_PROD(f64, f64, double, SAME)

#define MAX(T, Acc, START, JOIN) KIND(max, T, T, Acc, (Acc)START, JOIN, SAME)
MAX(bool, uint8_t, 0, a > b ? a : b)
MAX(i8, int8_t, INT8_MIN, a > b ? a : b)
MAX(i16, int16_t, INT16_MIN, a > b ? a : b)
MAX(i32, int32_t, INT32_MIN, a > b ? a : b)
MAX(i64, int64_t, INT64_MIN, a > b ? a : b)
MAX(u8, uint8_t, 0, a > b ? a : b)
MAX(u16, uint16_t, 0, a > b ? a : b)
MAX(u32, uint32_t, 0, a > b ? a : b)
MAX(u64, uint64_t, 0, a > b ? a : b)
MAX(f16, float, -INFINITY, maximum_f32(a, b, 0))
MAX(bf16, float, -INFINITY, maximum_f32(a, b, 0))
MAX(f32, float, -INFINITY, maximum_f32(a, b, 0))
MAX(f64, double, -(double)INFINITY, maximum_f64(a, b, 0))

/* The largest element so far, as an integer that is as large among such, and its place. */
struct placed {
  int64_t key, place;
};

/* Integers in the order of numbers: NaN is above all of them, and -0 is 0. */
template <class T> DEVICE int64_t key_of(T x) {
  return (int64_t)x;
}
template <> __device__ __forceinline__ int64_t key_of(uint64_t x) {
  return (int64_t)(x ^ 1ull << 63);
}
template <> __device__ __forceinline__ int64_t key_of(float x) {
  int bits = (int)bits_of(x + 0.0f);
  return x != x ? 0x7fffffff : bits ^ (bits >> 31 & 0x7fffffff);
}
template <> __device__ __forceinline__ int64_t key_of(double x) {
  int64_t bits = (int64_t)bits_of(x + 0.0);
  return x != x ? 0x7fffffffffffffff : bits ^ (bits >> 63 & 0x7fffffffffffffff);
}

/* The largest that a thread has met, and in which step of its part. */
template <class T> struct met {
  T value;
  unsigned step;
};

/* The least value, which nothing is below. */
template <class T> DEVICE T least() {
  return std::is_floating_point_v<T> ? -(T)INFINITY
         : std::is_signed_v<T>       ? (T)(1ull << (8 * sizeof(T) - 1))
                                     : (T)0;
}

/* The first counts of equals; a thread meets elements in the order of their places. Where the least
 * value is the largest, all elements are equal, so the place 0 of nothing is right. */
#define ARGMAX(T, stored_type, V)                                                                  \
  struct argmax_##T : several<stored_type> {                                                       \
    typedef placed acc;                                                                            \
    typedef met<V> partial;                                                                        \
    static __device__ placed nothing() {                                                           \
      return {INT64_MIN, 0};                                                                       \
    }                                                                                              \
    static __device__ partial none() {                                                             \
      return {least<V>(), 0};                                                                      \
    }                                                                                              \
    static __device__ V load(const void *x) {                                                      \
      return load_##T(x);                                                                          \
    }                                                                                              \
    static __device__ placed join(placed a, placed b) {                                            \
      return b.key > a.key || (b.key == a.key && b.place < a.place) ? b : a;                       \
    }                                                                                              \
    static __device__ partial add(partial a, V x, unsigned step) {                                 \
      if (!(x <= a.value) && a.value == a.value) { /* NaN too; none is above NaN */                \
        a = {x, step};                                                                             \
      }                                                                                            \
      return a;                                                                                    \
    }                                                                                              \
    static __device__ placed whole(partial a, long long first, int n, int i) {                     \
      return {key_of<V>(a.value), (first + a.step) * n + i};                                       \
    }                                                                                              \
    static __device__ placed shuffle(placed a, unsigned by) {                                      \
      return {__shfl_xor_sync(~0u, a.key, (int)by), __shfl_xor_sync(~0u, a.place, (int)by)};       \
    }                                                                                              \
    static __device__ void store(char *out, placed a) {                                            \
      store_i64(out, a.place);                                                                     \
    }                                                                                              \
  };                                                                                               \
  GEMEL_KERNEL(argmax_##T, reduce<argmax_##T>)
ALL_TYPES(ARGMAX)

/* ---- Host ---- */

enum what { SUM, PROD, MAXIMUM, ARGMAXIMUM };

#define GETTER(E, name, bytes, kind, ctype) gemel__kernel_sum_##name,
#define PROD_GETTER(E, name, bytes, kind, ctype) gemel__kernel_prod_##name,
#define MAX_GETTER(E, name, bytes, kind, ctype) gemel__kernel_max_##name,
#define ARGMAX_GETTER(E, name, bytes, kind, ctype) gemel__kernel_argmax_##name,
static const kernel_getter kernels[4][GEMEL_DTYPE_COUNT] = {{GEMEL_DTYPE_TABLE(GETTER)},
                                                            {GEMEL_DTYPE_TABLE(PROD_GETTER)},
                                                            {GEMEL_DTYPE_TABLE(MAX_GETTER)},
                                                            {GEMEL_DTYPE_TABLE(ARGMAX_GETTER)}};

enum { ACC_BYTES = 16 }; /* at most */

/* Which axes of x are reduced. */
static void reduced_axes(const gemel_attr *axes, int rank, bool *reduced) {
  for (int k = 0; k < rank; k++) {
    reduced[k] = axes->kind == GEMEL_ATTR_NONE;
  }
  if (axes->kind == GEMEL_ATTR_INT) {
    reduced[axes->u.i + (axes->u.i < 0 ? rank : 0)] = true;
  } else if (axes->kind != GEMEL_ATTR_NONE) {
    for (size_t k = 0; k < axes->count; k++) {
      reduced[axes->u.ints[k] + (axes->u.ints[k] < 0 ? rank : 0)] = true;
    }
  }
}

/* Where results lie, row-major, without the reduced axes or with those of size 1; and LINES, what
 * is reduced. */
static strided_walk<2> walk_over_results(const gemel_kernel_call *call, strided_walk<1> *lines) {
  const gemel_view *x = &call->inputs[0];
  int64_t shape[2][GEMEL_MAX_RANK], strides[3][GEMEL_MAX_RANK];
  bool reduced[GEMEL_MAX_RANK];
  reduced_axes(&call->attrs[0], x->rank, reduced);
  gemel_view kept = some_axes(x, reduced, false, shape[0], strides[0]);
  gemel_view along = some_axes(x, reduced, true, shape[1], strides[1]);
  gemel_view out = kept;
  int64_t step = (int64_t)gemel_dtype_size(call->outputs[0].dtype);
  for (int axis = kept.rank - 1; axis >= 0; axis--) {
    strides[2][axis] = step;
    step *= kept.shape[axis];
  }
  out.strides = strides[2];
  const gemel_view *const outer[2] = {&out, &kept}, *const inner[1] = {&along};
  *lines = walk_over(inner);
  return walk_over(outer);
}

static int longest_axis(const strided_walk<1> &walk) {
  int longest = walk.axes - 1;
  for (int axis = 0; axis < walk.axes; axis++) {
    longest = walk.sizes[axis] > walk.sizes[longest] ? axis : longest;
  }
  return longest;
}

/* Chooses the near axis and the inner steps, and takes both out of KEPT and LINES. */
static void choose_axes(reduction *r, strided_walk<2> *kept, strided_walk<1> *lines, int n) {
  int column = nearest_axis(*kept, 1), row = nearest_axis(*lines, 0);
  r->by_rows =
      row >= 0 && (column < 0 || llabs(lines->strides[0][row]) <= llabs(kept->strides[1][column]));
  r->near = 1;
  if (!r->by_rows && column >= 0) {
    r->near = kept->sizes[column];
    r->near_step = kept->strides[1][column];
    r->out_step = kept->strides[0][column];
    remove_axis(kept, column);
  }
  int inner = r->by_rows ? row : longest_axis(*lines);
  r->inner = lines->elements == 0 ? 0 : 1;
  if (inner >= 0) {
    r->inner = lines->sizes[inner];
    r->inner_step = lines->strides[0][inner];
    remove_axis(lines, inner);
  }
  if (r->by_rows) {
    r->near = r->inner;
    r->near_step = r->inner_step;
    r->inner = (r->near + (n - 1)) / n;
    r->inner_step *= n;
  }
}

/* By rows: a group's threads have some loads each, more where results are few, and read lines of at
 * least 64 bytes. */
static unsigned choose_group(reduction *r) {
  long long loads = r->inner * r->outer.elements, results = r->kept.elements;
  unsigned near = bits_for(r->inner, 2), bits = bits_for(loads / GOOD_LOADS, BLOCK_BITS);
  bits = bits > near ? bits : near;
  while (bits < BLOCK_BITS && results << bits < 1 << 11 && 4ll << bits <= loads) {
    bits++;
  }
  r->inner_bits = bits - bits_for(r->outer.elements, bits - near);
  r->group_bits = bits;
  return bits > WARP_BITS ? bits : BLOCK_BITS;
}

/* By columns: warps read 512 bytes of a line, where there are so many, and blocks several lines. */
static unsigned choose_columns(reduction *r, int n) {
  long long chunks = (r->near + (n - 1)) / n, lines = r->inner * r->outer.elements;
  unsigned bits = bits_for(lines, BLOCK_BITS - bits_for(chunks, WARP_BITS));
  r->column_bits = bits_for(chunks, BLOCK_BITS - bits);
  bits = r->column_bits + bits < WARP_BITS ? WARP_BITS - r->column_bits : bits;
  r->inner_bits = bits_for(r->inner, bits);
  r->group_bits = r->column_bits + bits;
  r->tiles = divisor_of((chunks + ((1ll << r->column_bits) - 1)) >> r->column_bits);
  return r->group_bits;
}

/* How many parts a result has: enough to fill a large GPU, unless parts would be too short. The GPU
 * at hand isn't asked, so that all GPUs give the same bits. */
static void cut(reduction *r) {
  long long most = r->inner * r->outer.elements / (r->group / r->columns) / LEAST_LOADS;
  long long tiles = r->tiles.size * ((r->kept.elements + (r->groups - 1)) / r->groups);
  long long parts = r->group < BLOCK || tiles == 0 ? 1 : MOST_PARTS / tiles;
  parts = parts < most ? parts : most;
  r->cuts_outer = r->outer.elements > r->inner;
  long long length = r->cuts_outer ? r->outer.elements : r->inner;
  parts = parts < length ? parts : length;
  r->part = parts > 1 ? (length + (parts - 1)) / parts : length;
  r->parts = divisor_of(parts > 1 ? (length + (r->part - 1)) / r->part : 1);
  r->jobs = tiles * r->parts.size;
}

static void count_threads(reduction *r, unsigned block_bits) {
  r->columns = 1u << r->column_bits;
  r->inner_threads = 1u << r->inner_bits;
  r->group = 1u << r->group_bits;
  r->outer_threads = r->group / r->inner_threads / r->columns;
  r->groups = (1u << block_bits) / r->group;
}

static reduction make_reduction(const gemel_kernel_call *call) {
  const gemel_view *x = &call->inputs[0];
  const long long item = (long long)gemel_dtype_size(x->dtype);
  const int n = item < 2 ? 8 : 16 / (int)item; /* several<T>::SEVERAL */
  strided_walk<1> lines;
  strided_walk<2> kept = walk_over_results(call, &lines);
  reduction r = {};
  choose_axes(&r, &kept, &lines, n);
  r.whole = r.near_step == item && is_aligned(kept, 1, n * item) &&
            is_aligned(lines, 0, n * item) && r.inner_step % (n * item) == 0 &&
            (uintptr_t)x->data % (uintptr_t)(n * item) == 0;
  r.kept = divided_walk_of(kept);
  r.outer = divided_walk_of(lines);
  r.tiles = divisor_of(1);
  count_threads(&r, r.by_rows ? choose_group(&r) : choose_columns(&r, n));
  cut(&r);
  return r;
}

static gemel_status prepare_reduction(gemel_kernel_call *call) {
  reduction r = make_reduction(call);
  size_t width = r.by_rows ? 1 : 8 * r.columns;
  call->scratch_bytes = r.parts.size > 1 ? (size_t)r.jobs * width * ACC_BYTES : 0;
  return r.inner / r.parts.size <= UINT32_MAX || strcmp(call->operation->name, "argmax") != 0
             ? GEMEL_OK
             : gemel__cuda_fail(call->error, GEMEL_UNSUPPORTED, "argmax along such an axis");
}

static gemel_status run_reduction(const gemel_kernel_call *call, what w) {
  gemel_cuda *cuda = gemel__cuda_of(call);
  reduction r = make_reduction(call);
  void *x = call->inputs[0].data, *out = call->outputs[0].data;
  void *parts = r.parts.size > 1 ? call->scratch : NULL;
  void *arguments[] = {&r, &out, &parts, &cuda->arrived, &x};
  long long most = 4ll * cuda->blocks_at_once;
  return r.jobs == 0 ? GEMEL_OK
                     : gemel__cuda_launch(cuda, kernels[w][call->inputs[0].dtype](),
                                          (size_t)(r.jobs < most ? r.jobs : most),
                                          r.group * r.groups, 0, arguments, call->error);
}

static gemel_status run_sum(const gemel_kernel_call *call) {
  return run_reduction(call, SUM);
}
static gemel_status run_prod(const gemel_kernel_call *call) {
  return run_reduction(call, PROD);
}
static gemel_status run_max(const gemel_kernel_call *call) {
  return run_reduction(call, MAXIMUM);
}
static gemel_status run_argmax(const gemel_kernel_call *call) {
  return run_reduction(call, ARGMAXIMUM);
}

extern "C" const gemel_kernel gemel__cuda_sum[] = {{"tree", prepare_reduction, run_sum},
                                                   {NULL, NULL, NULL}};
extern "C" const gemel_kernel gemel__cuda_prod[] = {{"tree", prepare_reduction, run_prod},
                                                    {NULL, NULL, NULL}};
extern "C" const gemel_kernel gemel__cuda_max[] = {{"tree", prepare_reduction, run_max},
                                                   {NULL, NULL, NULL}};
extern "C" const gemel_kernel gemel__cuda_argmax[] = {{"tree", prepare_reduction, run_argmax},
                                                      {NULL, NULL, NULL}};
