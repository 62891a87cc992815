/* SPDX-License-Identifier: MIT
 *
 * cumsum: a block for each lane, which is what lies along the axis, or a thread where lanes lie
 * side by side; where there are few of them, for a piece of one, after the sums of pieces.
 */
#include "kernels/host.h"

/* ---- Device ---- */

/* LANES leads to the first element of each, of operands result and x. A lane is cut into PIECES of
 * PIECE elements, which are numbered lane by lane. */
struct along {
  divided_walk<2> lanes;
  divisor count, pieces; /* of lanes; of pieces of each */
  long long length, piece, out_step, x_step;
  bool exclusive;
};
enum { LANE = 32, MOST_WARPS = 4 };

/* A piece of a lane: where it begins in both operands, and how many elements it has. */
struct lane_piece {
  long long at[2], length;
};

DEVICE lane_piece find_piece(const along &a, long long lane, long long piece) {
  const long long begin = piece * a.piece;
  lane_piece p;
  find_offsets(a.lanes, lane, p.at);
  p.at[0] += begin * a.out_step;
  p.at[1] += begin * a.x_step;
  p.length = min(a.piece, a.length - begin);
  return p;
}

/* Of a dtype: elements as what is added up, and that as elements of the result. */
#define SUMS_OF(T, Sum, Result, STORE)                                                             \
  struct sums_of_##T {                                                                             \
    typedef stored_##T element;                                                                    \
    typedef stored_##Result result;                                                                \
    typedef Sum sum;                                                                               \
    enum { N = 16 / sizeof(result) };                                                              \
    DEVICE sum load(const void *at) {                                                              \
      return (sum)load_##T(at);                                                                    \
    }                                                                                              \
    DEVICE void store(void *at, sum x) {                                                           \
      STORE(at, (value_##Result)x);                                                                \
    }                                                                                              \
  };
SUMS_OF(bool, uint64_t, i64, store_i64)
SUMS_OF(i8, uint64_t, i64, store_i64)
SUMS_OF(i16, uint64_t, i64, store_i64)
SUMS_OF(i32, uint64_t, i64, store_i64)
SUMS_OF(i64, uint64_t, i64, store_i64)
SUMS_OF(u8, uint64_t, u64, store_u64)
SUMS_OF(u16, uint64_t, u64, store_u64)
SUMS_OF(u32, uint64_t, u64, store_u64)
SUMS_OF(u64, uint64_t, u64, store_u64)
SUMS_OF(f16, float, f16, store_rounded_f16)
SUMS_OF(bf16, float, bf16, store_rounded_bf16)
SUMS_OF(f32, float, f32, store_f32)
SUMS_OF(f64, double, f64, store_f64)

/* Whether elements at AT, STEP bytes apart and of so many BYTES, lie as a GROUP. */
template <class Group> DEVICE bool is_group(const char *at, long long step, size_t bytes) {
  return step == (long long)bytes && (uintptr_t)at % alignof(Group) == 0;
}

/* VALUES = the elements at AT, of COUNT that there are; zeros behind them. */
template <class Of>
DEVICE void read_chunk(typename Of::sum *values, const char *at, long long step, long long count) {
  typedef group<typename Of::element, Of::N> several;
  if (count >= Of::N && is_group<several>(at, step, sizeof(typename Of::element))) {
    const several in = *(const several *)at;
    GEMEL_UNROLL(8)
    for (int k = 0; k < Of::N; k++) {
      values[k] = Of::load(&in.at[k]);
    }
  } else {
    GEMEL_UNROLL(8)
    for (int k = 0; k < Of::N; k++) {
      values[k] = k < count ? Of::load(at + k * step) : (typename Of::sum)0;
    }
  }
}

/* The elements at AT, of COUNT that there are, = VALUES. */
template <class Of>
DEVICE void write_chunk(char *at, long long step, long long count, const typename Of::sum *values) {
  typedef group<typename Of::result, Of::N> several;
  if (count >= Of::N && is_group<several>(at, step, sizeof(typename Of::result))) {
    several out;
    GEMEL_UNROLL(8)
    for (int k = 0; k < Of::N; k++) {
      Of::store(&out.at[k], values[k]);
    }
    *(several *)at = out;
  } else {
    GEMEL_UNROLL(8)
    for (int k = 0; k < Of::N; k++) {
      if (k < count) {
        Of::store(at + k * step, values[k]);
      }
    }
  }
}

/* The sum of VALUE over this lane of the warp and those before it. */
template <class Sum> DEVICE Sum sum_to_lane(Sum value, int lane) {
  GEMEL_UNROLL(8)
  for (int by = 1; by < LANE; by *= 2) {
    Sum other = __shfl_up_sync(~0u, value, by);
    value = lane >= by ? other + value : value;
  }
  return value;
}

/* CARRIED and the sum of what the block's threads before this one give as OWN. *CARRIED grows by
 * what all give. */
template <class Sum> DEVICE Sum sum_before(Sum own, Sum *carried, Sum *shared) {
  const int lane = (int)threadIdx.x % LANE, warp = (int)threadIdx.x / LANE;
  const Sum up_to = sum_to_lane(own, lane), earlier = __shfl_up_sync(~0u, up_to, 1);
  Sum before = *carried;
  if (lane == LANE - 1) {
    shared[warp] = up_to;
  }
  __syncthreads();
  for (int k = 0; k < (int)blockDim.x / LANE; k++) {
    *carried = *carried + shared[k];
    before = k == warp - 1 ? *carried : before;
  }
  return lane > 0 ? before + earlier : before;
}

/* A block goes through a piece, a chunk a thread at a time. BEFORE has what comes before each
 * piece; NULL: nothing. */
template <class Of>
static __global__ void cumsum_pieces(along a, char *out, const char *x,
                                     const typename Of::sum *before) {
  typedef typename Of::sum Sum;
  GEMEL_SHARED(Sum, shared, [2][MOST_WARPS]);
  int turn = 0;
  for (long long job = blockIdx.x; job < a.count.size * a.pieces.size; job += gridDim.x) {
    const long long lane = divided(job, a.pieces);
    const lane_piece p = find_piece(a, lane, job - lane * a.pieces.size);
    Sum carried = before != NULL ? before[job] : 0;
    for (long long k = 0; k < p.length; k += blockDim.x * Of::N, turn = 1 - turn) {
      const long long own = k + threadIdx.x * Of::N;
      Sum values[Of::N], sum = 0;
      read_chunk<Of>(values, x + p.at[1] + own * a.x_step, a.x_step, p.length - own);
      GEMEL_UNROLL(8)
      for (int i = 0; i < Of::N; i++) {
        sum = sum + values[i];
      }
      Sum add = sum_before(sum, &carried, shared[turn]);
      GEMEL_UNROLL(8)
      for (int i = 0; i < Of::N; i++) {
        const Sum up_to = add + values[i];
        values[i] = a.exclusive ? add : up_to;
        add = up_to;
      }
      write_chunk<Of>(out + p.at[0] + own * a.out_step, a.out_step, p.length - own, values);
    }
  }
}

/* TOTALS = the sum of each piece, a block for each. */
template <class Of>
static __global__ void cumsum_totals(along a, const char *x, typename Of::sum *totals) {
  typedef typename Of::sum Sum;
  GEMEL_SHARED(Sum, shared, [MOST_WARPS]);
  for (long long job = blockIdx.x; job < a.count.size * a.pieces.size; job += gridDim.x) {
    const long long lane = divided(job, a.pieces);
    const lane_piece p = find_piece(a, lane, job - lane * a.pieces.size);
    Sum values[Of::N], sum = 0, carried = 0;
    for (long long own = threadIdx.x * Of::N; own < p.length; own += blockDim.x * Of::N) {
      read_chunk<Of>(values, x + p.at[1] + own * a.x_step, a.x_step, p.length - own);
      GEMEL_UNROLL(8)
      for (int i = 0; i < Of::N; i++) {
        sum = sum + values[i];
      }
    }
    sum_before(sum, &carried, shared);
    if (threadIdx.x == 0) {
      totals[job] = carried;
    }
    __syncthreads();
  }
}

/* A thread goes through a piece; without TOTALS it writes, else it only gives the sum. */
template <class Of>
static __global__ void cumsum_lanes(along a, char *out, const char *x,
                                    const typename Of::sum *before, typename Of::sum *totals) {
  typedef typename Of::sum Sum;
  enum { ROWS = 8 };
  const long long jobs = a.count.size * a.pieces.size;
  for (long long job = first_element(); job < jobs; job += element_step()) {
    const long long piece = divided(job, a.count), lane = job - piece * a.count.size;
    const lane_piece p = find_piece(a, lane, piece);
    const char *from = x + p.at[1];
    char *to = out + p.at[0];
    Sum sum = before != NULL ? before[lane * a.pieces.size + piece] : 0;
    for (long long left = p.length; left > 0; left -= ROWS) {
      Sum values[ROWS];
      GEMEL_UNROLL(8)
      for (int k = 0; k < ROWS; k++, from += a.x_step) {
        values[k] = k < left ? Of::load(from) : (Sum)0;
      }
      GEMEL_UNROLL(8)
      for (int k = 0; k < ROWS; k++, to += a.out_step) {
        const Sum up_to = sum + values[k];
        if (totals == NULL && k < left) {
          Of::store(to, a.exclusive ? sum : up_to);
        }
        sum = up_to;
      }
    }
    if (totals != NULL) {
      totals[lane * a.pieces.size + piece] = sum;
    }
  }
}
#define CUMSUM(T, stored, value)                                                                   \
  GEMEL_KERNEL(cumsum_##T, cumsum_pieces<sums_of_##T>)                                             \
  GEMEL_KERNEL(cumsum_totals_##T, cumsum_totals<sums_of_##T>)                                      \
  GEMEL_KERNEL(cumsum_lanes_##T, cumsum_lanes<sums_of_##T>)
ALL_TYPES(CUMSUM)

/* ---- Host ---- */

#define GETTERS(E, name, bytes, kind, ctype)                                                       \
  {gemel__kernel_cumsum_##name, gemel__kernel_cumsum_totals_##name,                                \
   gemel__kernel_cumsum_lanes_##name},
static const struct {
  kernel_getter pieces, totals, lanes;
} kernels[GEMEL_DTYPE_COUNT] = {GEMEL_DTYPE_TABLE(GETTERS)};
#undef GETTERS

/* How lanes are cut: so that there is something to do for all of a GPU, whichever it is. A piece is
 * a thread's if BY_LANES. This goes by the shape alone, and with it the order of additions. */
struct cutting {
  long long pieces, piece;
  bool by_lanes;
};

static cutting cut_lanes(const gemel_kernel_call *call) {
  const long long threads = 1 << 18, of_thread = 16;
  const long long blocks = 2048, of_block = 2048;
  const long long few = 32, side_by_side = 8;
  const gemel_view *x = &call->inputs[0];
  const int axis = axis_of(call);
  long long lanes = 1, inner = 1;
  for (int k = 0; k < x->rank; k++) {
    lanes *= k == axis ? 1 : x->shape[k];
    inner *= k > axis ? x->shape[k] : 1;
  }
  const bool by_lanes = inner >= side_by_side || x->shape[axis] < few;
  const long long least = by_lanes ? of_thread : of_block;
  const long long wanted = (by_lanes ? threads : blocks) / (lanes > 0 ? lanes : 1);
  const long long most = (x->shape[axis] + least - 1) / least;
  const long long pieces = most < wanted ? most : wanted;
  const long long piece = pieces < 4 ? x->shape[axis] : (x->shape[axis] + pieces - 1) / pieces;
  const long long whole = (piece + least - 1) / least * least;
  return {piece > 0 ? (x->shape[axis] + whole - 1) / whole : 1, whole, by_lanes};
}

/* Scratch memory for the totals of pieces. */
static gemel_status prepare_cumsum(gemel_kernel_call *call) {
  const cutting cut = cut_lanes(call);
  size_t bytes = (size_t)cut.pieces * sizeof(uint64_t);
  for (int k = 0; k < call->inputs[0].rank; k++) {
    bytes *= k == axis_of(call) ? 1 : (size_t)call->inputs[0].shape[k];
  }
  call->scratch_bytes = cut.pieces > 1 ? bytes : 0;
  return GEMEL_OK;
}

static along make_along(const strided_walk<2> &lanes, const cutting &cut, long long length,
                        long long out_step, long long x_step, bool exclusive) {
  return {divided_walk_of(lanes),
          divisor_of(lanes.elements),
          divisor_of(cut.pieces),
          length,
          cut.piece,
          out_step,
          x_step,
          exclusive};
}

/* The lanes of x and of the result; *FROM and *TO are where they begin. */
static along along_axis(const gemel_kernel_call *call, const cutting &cut, char **from, char **to) {
  const gemel_view *x = &call->inputs[0], *out = &call->outputs[0];
  int64_t shape[2][GEMEL_MAX_RANK], strides[2][GEMEL_MAX_RANK];
  bool chosen[GEMEL_MAX_RANK] = {};
  const int axis = axis_of(call);
  const bool backwards = call->attrs[2].u.i != 0;
  chosen[axis] = true;
  gemel_view of_out = some_axes(out, chosen, false, shape[0], strides[0]);
  gemel_view of_x = some_axes(x, chosen, false, shape[1], strides[1]);
  const gemel_view *const views[2] = {&of_out, &of_x};
  const long long last = backwards && x->shape[axis] > 0 ? x->shape[axis] - 1 : 0;
  *from = (char *)x->data + last * x->strides[axis];
  *to = (char *)out->data + last * out->strides[axis];
  return make_along(walk_over(views), cut, x->shape[axis],
                    out->strides[axis] * (backwards ? -1 : 1),
                    x->strides[axis] * (backwards ? -1 : 1), call->attrs[1].u.i != 0);
}

/* Threads of a block for a piece. */
static long long threads_for(const along *a) {
  return min(a->piece / AT_ONCE, (long long)MOST_WARPS * LANE);
}

static gemel_status launch_cumsum(const gemel_kernel_call *call, along *a, gemel_dtype dtype,
                                  bool by_lanes, char *out, char *x, void *before) {
  gemel_cuda *cuda = gemel__cuda_of(call);
  void *totals = NULL, *arguments[] = {a, &out, &x, &before, &totals};
  const long long jobs = a->count.size * a->pieces.size;
  return by_lanes ? launch_over(cuda, kernels[dtype].lanes(), jobs, arguments, call->error)
                  : launch_jobs(cuda, kernels[dtype].pieces(), jobs, threads_for(a), arguments,
                                call->error);
}

static gemel_status launch_totals(const gemel_kernel_call *call, along *a, gemel_dtype dtype,
                                  bool by_lanes, char *x, void *totals) {
  gemel_cuda *cuda = gemel__cuda_of(call);
  void *none = NULL, *of_pieces[] = {a, &x, &totals}, *of_lanes[] = {a, &none, &x, &none, &totals};
  const long long jobs = a->count.size * a->pieces.size;
  return by_lanes ? launch_over(cuda, kernels[dtype].lanes(), jobs, of_lanes, call->error)
                  : launch_jobs(cuda, kernels[dtype].totals(), jobs, threads_for(a), of_pieces,
                                call->error);
}

/* The lanes of totals, which are added up where they are, and begin at 0. */
static along along_totals(const along *a, gemel_dtype dtype) {
  const long long bytes = (long long)gemel_dtype_size(dtype), lane = a->pieces.size * bytes;
  const strided_walk<2> lanes = {a->count.size, 1, {a->count.size}, {{lane}, {lane}}};
  return make_along(lanes, {1, a->pieces.size, false}, a->pieces.size, bytes, bytes, true);
}

/* If lanes are cut: the sum of each piece, what comes before each, and then all. */
static gemel_status run_cumsum(const gemel_kernel_call *call) {
  char *from, *to, *totals = (char *)call->scratch;
  const gemel_dtype dtype = call->inputs[0].dtype;
  const bool half = dtype == GEMEL_F16 || dtype == GEMEL_BF16;
  const gemel_dtype sum = half ? GEMEL_F32 : call->outputs[0].dtype;
  const cutting cut = cut_lanes(call);
  along a = along_axis(call, cut, &from, &to);
  if (a.length == 0 || a.count.size == 0) {
    return GEMEL_OK;
  }
  if (cut.pieces == 1) {
    return launch_cumsum(call, &a, dtype, cut.by_lanes, to, from, NULL);
  }
  along of_totals = along_totals(&a, sum);
  gemel_status status = launch_totals(call, &a, dtype, cut.by_lanes, from, totals);
  if (status == GEMEL_OK) {
    status = launch_cumsum(call, &of_totals, sum, false, totals, totals, NULL);
  }
  return status == GEMEL_OK ? launch_cumsum(call, &a, dtype, cut.by_lanes, to, from, totals)
                            : status;
}

extern "C" const gemel_kernel gemel__cuda_cumsum[] = {{"pieces", prepare_cumsum, run_cumsum},
                                                      {NULL, NULL, NULL}};
