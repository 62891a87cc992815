/* SPDX-License-Identifier: MIT
 *
 * cumsum: a block for each lane, which is what lies along the axis, or a thread where lanes lie
 * side by side; where there are few of them, for a piece of one, after the sums of pieces.
 */
#include "kernels/host.h"

/* ---- Device ---- */

/* LANES leads to the first element of each, of operands result and x. A lane is cut into PIECES of
 * PIECE elements, which are added up from what BEFORE has for each; without it from 0. TOTALS gets
 * what each piece ends with. Either may be NULL. */
struct along {
  strided_walk<2> lanes;
  long long length, out_step, x_step, pieces, piece;
  int exclusive, writes;
};
enum { LANE = 32, MOST_WARPS = 4 };

/* The sum of VALUE over this lane of the warp and those before it. */
template <class Sum> static __device__ Sum sum_to_lane(Sum value, int lane) {
  for (int by = 1; by < LANE; by *= 2) {
    Sum other = __shfl_up_sync(~0u, value, by);
    value = lane >= by ? other + value : value;
  }
  return value;
}

/* Whether elements at AT, STEP bytes apart and of so many BYTES, are read or written as a GROUP. */
template <class Group>
static __device__ bool are_side_by_side(const char *at, long long step, size_t bytes) {
  return step == (long long)bytes && (uintptr_t)at % alignof(Group) == 0;
}

/* A block goes through a piece, AT_ONCE elements a thread at a time; or, where lanes lie side by
 * side or are short, a thread does. */
#define CUMSUM(T, Sum, Result, ROUND)                                                              \
  static __global__ void cumsum_##T(along a, char *out, const char *x, const Sum *before,          \
                                    Sum *totals) {                                                 \
    enum { N = 16 / sizeof(stored_##Result) };                                                     \
    GEMEL_SHARED(Sum, shared, [2][MOST_WARPS]);                                                    \
    typedef group<stored_##T, N> several;                                                          \
    typedef group<stored_##Result, N> results;                                                     \
    const int lane = (int)threadIdx.x % LANE, warp = (int)threadIdx.x / LANE;                      \
    const int warps = (int)blockDim.x / LANE;                                                      \
    int turn = 0;                                                                                  \
    for (long long job = blockIdx.x; job < a.lanes.elements * a.pieces; job += gridDim.x) {        \
      long long at[2], number = job / a.pieces, begin = (job - number * a.pieces) * a.piece;       \
      const long long end = min(begin + a.piece, a.length);                                        \
      find_offsets(a.lanes, number, at);                                                           \
      const char *source = x + at[1] + begin * a.x_step;                                           \
      char *target = out + at[0] + begin * a.out_step;                                             \
      const bool read = are_side_by_side<several>(source, a.x_step, sizeof(stored_##T));           \
      const bool write = are_side_by_side<results>(target, a.out_step, sizeof(stored_##Result));   \
      Sum carried = before != NULL ? before[job] : 0;                                              \
      for (; begin < end; begin += blockDim.x * N, turn = 1 - turn) {                              \
        const long long own = (long long)threadIdx.x * N;                                          \
        const int count = (int)max(0ll, min(end - begin - own, (long long)N));                     \
        Sum values[N], sum = 0, add = carried;                                                     \
        several in;                                                                                \
        if (read && count == N) {                                                                  \
          in = *(const several *)(source + own * a.x_step);                                        \
        }                                                                                          \
        for (int k = 0; k < N; k++) {                                                              \
          values[k] = 0;                                                                           \
          if (read && count == N) {                                                                \
            values[k] = (Sum)load_##T(&in.at[k]);                                                  \
          } else if (k < count) {                                                                  \
            values[k] = (Sum)load_##T(source + (own + k) * a.x_step);                              \
          }                                                                                        \
          sum = sum + values[k];                                                                   \
        }                                                                                          \
        sum = sum_to_lane(sum, lane);                                                              \
        Sum earlier = __shfl_up_sync(~0u, sum, 1);                                                 \
        if (lane == LANE - 1) {                                                                    \
          shared[turn][warp] = sum;                                                                \
        }                                                                                          \
        __syncthreads();                                                                           \
        for (int k = 0; k < warps; k++) {                                                          \
          carried = carried + shared[turn][k];                                                     \
          add = k == warp - 1 ? carried : add;                                                     \
        }                                                                                          \
        add = lane > 0 ? add + earlier : add;                                                      \
        results made;                                                                              \
        for (int k = 0; k < N; k++) {                                                              \
          Sum up_to = add + values[k];                                                             \
          store_##Result(&made.at[k], ROUND(a.exclusive ? add : up_to));                           \
          add = up_to;                                                                             \
        }                                                                                          \
        if (a.writes && write && count == N) {                                                     \
          *(results *)(target + own * a.out_step) = made;                                          \
        } else if (a.writes) {                                                                     \
          for (int k = 0; k < count; k++) {                                                        \
            *(stored_##Result *)(target + (own + k) * a.out_step) = made.at[k];                    \
          }                                                                                        \
        }                                                                                          \
        source += blockDim.x * N * a.x_step;                                                       \
        target += blockDim.x * N * a.out_step;                                                     \
      }                                                                                            \
      if (totals != NULL && threadIdx.x == 0) {                                                    \
        totals[job] = carried;                                                                     \
      }                                                                                            \
    }                                                                                              \
  }                                                                                                \
  static __global__ void cumsum_lanes_##T(along a, char *out, const char *x, const Sum *before,    \
                                          Sum *totals) {                                           \
    const long long lanes = a.lanes.elements;                                                      \
    for (long long job = first_element(); job < lanes * a.pieces; job += element_step()) {         \
      long long at[2], piece = job / lanes, lane = job - piece * lanes, begin = piece * a.piece;   \
      const long long end = min(begin + a.piece, a.length);                                        \
      find_offsets(a.lanes, lane, at);                                                             \
      Sum sum = before != NULL ? before[lane * a.pieces + piece] : 0;                              \
      for (; begin < end; begin += AT_ONCE) {                                                      \
        Sum values[AT_ONCE];                                                                       \
        for (int k = 0; k < AT_ONCE; k++) {                                                        \
          values[k] =                                                                              \
              begin + k < end ? (Sum)load_##T(x + at[1] + (begin + k) * a.x_step) : (Sum)0;        \
        }                                                                                          \
        for (int k = 0; k < AT_ONCE; k++) {                                                        \
          Sum up_to = sum + values[k];                                                             \
          if (a.writes && begin + k < end) {                                                       \
            store_##Result(out + at[0] + (begin + k) * a.out_step,                                 \
                           ROUND(a.exclusive ? sum : up_to));                                      \
          }                                                                                        \
          sum = up_to;                                                                             \
        }                                                                                          \
      }                                                                                            \
      if (totals != NULL) {                                                                        \
        totals[lane * a.pieces + piece] = sum;                                                     \
      }                                                                                            \
    }                                                                                              \
  }                                                                                                \
  GEMEL_KERNEL(cumsum_lanes_##T, cumsum_lanes_##T)                                                 \
  GEMEL_KERNEL(cumsum_##T, cumsum_##T)
CUMSUM(bool, uint64_t, i64, (int64_t))
CUMSUM(i8, uint64_t, i64, (int64_t))
CUMSUM(i16, uint64_t, i64, (int64_t))
CUMSUM(i32, uint64_t, i64, (int64_t))
CUMSUM(i64, uint64_t, i64, (int64_t))
CUMSUM(u8, uint64_t, u64, SAME)
CUMSUM(u16, uint64_t, u64, SAME)
CUMSUM(u32, uint64_t, u64, SAME)
CUMSUM(u64, uint64_t, u64, SAME)
CUMSUM(f16, float, f16, round_f16)
CUMSUM(bf16, float, bf16, round_bf16)
CUMSUM(f32, float, f32, SAME)
CUMSUM(f64, double, f64, SAME)

/* ---- Host ---- */

static const kernel_getter cumsums[GEMEL_DTYPE_COUNT] = {
#define GETTER(E, name, bytes, kind, ctype) gemel__kernel_cumsum_##name,
    GEMEL_DTYPE_TABLE(GETTER)
#undef GETTER
};
static const kernel_getter cumsums_by_lanes[GEMEL_DTYPE_COUNT] = {
#define GETTER(E, name, bytes, kind, ctype) gemel__kernel_cumsum_lanes_##name,
    GEMEL_DTYPE_TABLE(GETTER)
#undef GETTER
};
static int axis_of(const gemel_kernel_call *call) {
  int64_t axis = call->attrs[0].u.i;
  return (int)(axis + (axis < 0 ? call->inputs[0].rank : 0));
}

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

/* The lanes of x and of the result; *FROM and *TO are where they begin. */
static along make_along(const gemel_kernel_call *call, bool backwards, char **from, char **to) {
  const gemel_view *x = &call->inputs[0], *out = &call->outputs[0];
  int64_t shape[2][GEMEL_MAX_RANK], strides[2][GEMEL_MAX_RANK];
  bool chosen[GEMEL_MAX_RANK] = {};
  int axis = axis_of(call);
  chosen[axis] = true;
  gemel_view of_out = some_axes(out, chosen, false, shape[0], strides[0]);
  gemel_view of_x = some_axes(x, chosen, false, shape[1], strides[1]);
  const gemel_view *const views[2] = {&of_out, &of_x};
  const cutting cut = cut_lanes(call);
  long long last = backwards && x->shape[axis] > 0 ? x->shape[axis] - 1 : 0;
  *from = (char *)x->data + last * x->strides[axis];
  *to = (char *)out->data + last * out->strides[axis];
  return {walk_over(views),
          x->shape[axis],
          out->strides[axis] * (backwards ? -1 : 1),
          x->strides[axis] * (backwards ? -1 : 1),
          cut.pieces,
          cut.piece,
          call->attrs[1].u.i != 0,
          1};
}

static gemel_status launch_cumsum(const gemel_kernel_call *call, along a, gemel_dtype dtype,
                                  bool by_lanes, char *out, char *x, void *before, void *totals) {
  gemel_cuda *cuda = gemel__cuda_of(call);
  void *arguments[] = {&a, &out, &x, &before, &totals};
  const long long jobs = a.length > 0 ? a.lanes.elements * a.pieces : 0;
  const long long threads = min(a.piece / AT_ONCE, (long long)MOST_WARPS * LANE);
  return by_lanes ? launch_over(cuda, cumsums_by_lanes[dtype](), jobs, arguments, call->error)
                  : launch_jobs(cuda, cumsums[dtype](), jobs, threads, arguments, call->error);
}

/* The lanes of totals, which are added up where they are, and begin at 0. */
static along along_totals(const along *a, gemel_dtype dtype) {
  const long long bytes = (long long)gemel_dtype_size(dtype), lane = a->pieces * bytes;
  strided_walk<2> lanes = {a->lanes.elements, 1, {a->lanes.elements}, {{lane}, {lane}}};
  return {lanes, a->pieces, bytes, bytes, 1, a->pieces, 1, 1};
}

/* If lanes are cut: the sum of each piece, what comes before each, and then all. */
static gemel_status run_cumsum(const gemel_kernel_call *call) {
  char *from, *to, *totals = (char *)call->scratch;
  const gemel_dtype dtype = call->inputs[0].dtype;
  const bool half = dtype == GEMEL_F16 || dtype == GEMEL_BF16;
  const gemel_dtype sum = half ? GEMEL_F32 : call->outputs[0].dtype;
  const bool by_lanes = cut_lanes(call).by_lanes;
  along a = make_along(call, call->attrs[2].u.i != 0, &from, &to);
  if (a.pieces == 1) {
    return launch_cumsum(call, a, dtype, by_lanes, to, from, NULL, NULL);
  }
  a.writes = 0;
  gemel_status status = launch_cumsum(call, a, dtype, by_lanes, to, from, NULL, totals);
  if (status == GEMEL_OK) {
    status = launch_cumsum(call, along_totals(&a, sum), sum, false, totals, totals, NULL, NULL);
  }
  a.writes = 1;
  return status == GEMEL_OK ? launch_cumsum(call, a, dtype, by_lanes, to, from, totals, NULL)
                            : status;
}

extern "C" const gemel_kernel gemel__cuda_cumsum[] = {{"pieces", prepare_cumsum, run_cumsum},
                                                      {NULL, NULL, NULL}};
