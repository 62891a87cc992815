/* SPDX-License-Identifier: MIT
 *
 * The loops of pool-lanes.c for one element type and one instruction set. The includer defines T,
 * TAG, BITS (an unsigned integer as wide as T), ISA and LANES, how many elements a vector register
 * has, as a plain number; for AVX-512 how intrinsics are named, MM_..._SUFFIX, the type MASK of its
 * masks and COMPARE(a, b, how). NAME(loops) is what it gets. No include guard: included many times.
 */
#define NAME(name) GEMEL__PASTE3(name, TAG, ISA)
#define lane_vec NAME(lane_vec)
#define lane_bits NAME(lane_bits)
#define lane_square NAME(lane_square)

typedef T lane_vec __attribute__((vector_size(LANES * sizeof(T)), aligned(sizeof(T)), may_alias));
typedef BITS lane_bits __attribute__((vector_size(LANES * sizeof(T))));
typedef BITS lane_square
    __attribute__((vector_size(LANES * sizeof(T)), aligned(sizeof(T)), may_alias));

#define AT(data, offset) (*(lane_vec *)(void *)((data) + (offset)))
#define CHOOSE(condition, a, b)                                                                    \
  (lane_vec)(((lane_bits)(condition) & (lane_bits)(a)) | (~(lane_bits)(condition) & (lane_bits)(b)))

/* Each place of row R and each block of it, and what lies there: Y, and element E of its window in
 * the image and in the other image. */
#define EACH_PLACE                                                                                 \
  for (int64_t place = 0; place < r.places; place++)                                               \
    for (int64_t behind = 0; behind < r.blocks * (int64_t)sizeof(lane_vec);                        \
         behind += (int64_t)sizeof(lane_vec))
#define X(e) AT(r.x, place *r.x_step + behind + r.x_at[e])
#define D(e) AT(r.d, place *r.d_step + behind + r.d_at[e])
#define Y AT(r.y, place *r.y_step + behind)

/* How many elements of a window are kept in registers. */
enum { NAME(KEPT) = LANES * sizeof(T) >= 32 ? 9 : 4 };

/* The loop for any windows, and for those of 2 x 2 and 3 x 3 elements, which are taken apart. */
#define BY_SIZE(name)                                                                              \
  static void NAME(name)(const place_row *r) {                                                     \
    if (r->n == 4) {                                                                               \
      NAME(name##_of)(*r, 4, 1);                                                                   \
    } else if (r->n == 9) {                                                                        \
      NAME(name##_of)(*r, 9, NAME(KEPT) >= 9);                                                     \
    } else {                                                                                       \
      NAME(name##_of)(*r, r->n, 0);                                                                \
    }                                                                                              \
  }
#define INLINE static inline __attribute__((always_inline))

/* Masks, one for each element: a register's bits, or what AVX-512 has for them. HIGHER is the
 * larger of two or, where NAN_PAIR finds a NaN among them, anything; SPOIL makes that NaN in the
 * end. Of zeros of different signs HIGHER is the second, so that both ways round have the positive
 * one's bits in common. Without AVX-512 it is a NaN itself, and the positive one. */
#ifdef MM
#define lane_mask MASK
#define HIGHER(a, b) (lane_vec) GEMEL__PASTE3(MM, max, SUFFIX)(a, b)
#define HIGHEST(a, b) (lane_vec)((lane_bits)HIGHER(a, b) & (lane_bits)HIGHER(b, a))
#define NAN_PAIR(a, b) COMPARE(a, b, _CMP_UNORD_Q)
#define SPOIL(mask, a)                                                                             \
  (lane_vec) GEMEL__PASTE3(MM, mask_mov, SUFFIX)(a, mask, (a) * (T)__builtin_nanf(""))
#define EQUAL(a, b) COMPARE(a, b, _CMP_EQ_OQ)
#define ADD_WHERE(mask, a, b) (lane_vec) GEMEL__PASTE3(MM, mask_add, SUFFIX)(a, mask, a, b)
#else
#define lane_mask lane_bits
#define HIGHER(a, b) CHOOSE(((b) > (a)) | ((b) != (b)), b, a)
#define HIGHEST(a, b) NAME(highest)(a, b)
#define NAN_PAIR(a, b)                                                                             \
  (lane_bits) {                                                                                    \
    0                                                                                              \
  }
#define SPOIL(mask, a) ((void)(mask), (a))
#define EQUAL(a, b) (lane_bits)((a) == (b))
#define ADD_WHERE(mask, a, b) ((a) + (lane_vec)((mask) & (lane_bits)(b)))

INLINE lane_vec NAME(highest)(lane_vec a, lane_vec b) {
  lane_vec most = HIGHER(a, b);
  return (lane_vec)((lane_bits)most & ((lane_bits)b | (lane_bits)(a != b)));
}
#endif

/* BEST = the largest that WHICH finds of elements E of a window. Every second element is compared
 * with those before it that were, so that no instruction waits for all of them. */
#define FIND(E, WHICH)                                                                             \
  lane_vec best = (lane_vec){0} - (T)__builtin_inff(), other = best;                               \
  lane_mask spoilt = {0};                                                                          \
  int64_t last = n / 2 * 2;                                                                        \
  for (int64_t e = 0; e < last; e += 2) {                                                          \
    lane_vec u = E(e), v = E(e + 1);                                                               \
    best = WHICH(best, u);                                                                         \
    other = WHICH(other, v);                                                                       \
    spoilt |= NAN_PAIR(u, v);                                                                      \
  }                                                                                                \
  if (last < n) {                                                                                  \
    lane_vec v = E(last);                                                                          \
    best = WHICH(best, v);                                                                         \
    spoilt |= NAN_PAIR(v, v);                                                                      \
  }                                                                                                \
  best = WHICH(best, other);                                                                       \
  best = SPOIL(spoilt, best);

INLINE void NAME(max_of)(place_row r, int64_t n, int small) {
  (void)small;
  EACH_PLACE {
    FIND(X, HIGHEST)
    Y = best;
  }
}
BY_SIZE(max)

INLINE void NAME(avg_of)(place_row r, int64_t n, int small) {
  (void)small;
  const T divisor = (T)r.divisor;
  EACH_PLACE {
    lane_vec sum = {0};
    for (int64_t e = 0; e < n; e++) {
      sum += X(e);
    }
    Y = sum / divisor;
  }
}
BY_SIZE(avg)

/* BEST, and how many elements are equal to it: none where it is NaN. Small windows are kept in
 * registers, and then which elements those are. */
#define ELEMENT(e) (small ? kept[e] : X(e))
#define IS_LARGEST(e) (small ? largest[e] : EQUAL(X(e), best))
#define FIND_LARGEST                                                                               \
  const lane_vec one = (lane_vec){0} + (T)1;                                                       \
  lane_vec kept[NAME(KEPT)], count = {0}, fellows = {0};                                           \
  lane_mask largest[NAME(KEPT)];                                                                   \
  for (int64_t e = 0; small && e < n; e++) {                                                       \
    kept[e] = X(e);                                                                                \
  }                                                                                                \
  FIND(ELEMENT, HIGHER)                                                                            \
  for (int64_t e = 0; small && e < n; e++) {                                                       \
    largest[e] = EQUAL(kept[e], best);                                                             \
  }                                                                                                \
  for (int64_t e = 0; e < last; e += 2) {                                                          \
    count = ADD_WHERE(IS_LARGEST(e), count, one);                                                  \
    fellows = ADD_WHERE(IS_LARGEST(e + 1), fellows, one);                                          \
  }                                                                                                \
  if (last < n) {                                                                                  \
    count = ADD_WHERE(IS_LARGEST(last), count, one);                                               \
  }                                                                                                \
  count += fellows;

INLINE void NAME(max_grad_of)(place_row r, int64_t n, int small) {
  EACH_PLACE {
    FIND_LARGEST
    lane_vec share = Y / count, zero = {0};
    if (r.overwrites) {
      for (int64_t e = 0; e < n; e++) {
        D(e) = ADD_WHERE(IS_LARGEST(e), zero, share);
      }
    } else {
      for (int64_t e = 0; e < n; e++) {
        D(e) = ADD_WHERE(IS_LARGEST(e), D(e), share);
      }
    }
  }
}
BY_SIZE(max_grad)

INLINE void NAME(max_pick_of)(place_row r, int64_t n, int small) {
  EACH_PLACE {
    FIND_LARGEST
    lane_vec sum = {0};
    for (int64_t e = 0; e < n; e++) {
      sum = ADD_WHERE(IS_LARGEST(e), sum, D(e));
    }
    Y = sum / CHOOSE(count > (lane_vec){0}, count, one);
  }
}
BY_SIZE(max_pick)

INLINE void NAME(avg_grad_of)(place_row r, int64_t n, int small) {
  (void)small;
  const T divisor = (T)r.divisor;
  EACH_PLACE {
    lane_vec share = Y / divisor;
    if (r.overwrites) {
      for (int64_t e = 0; e < n; e++) {
        D(e) = share + (T)0;
      }
    } else {
      for (int64_t e = 0; e < n; e++) {
        D(e) += share;
      }
    }
  }
}
BY_SIZE(avg_grad)

#define TURN(V, N, a) GEMEL__TURN(V, N, a)

/* N elements of each of LANES lanes to where those of all lanes lie together. The last lane_square
 * may do once more what the one before it has done. */
static void NAME(gather)(int64_t n, char *const *lanes, char *to) {
  for (int64_t p = 0; p < n; p += LANES) {
    lane_square a[LANES];
    p = p + LANES <= n ? p : n - LANES;
    for (int k = 0; k < LANES; k++) {
      a[k] = *(const lane_square *)(const void *)(lanes[k] + p * (int64_t)sizeof(T));
    }
    TURN(lane_square, LANES, a)
    memcpy(to + p * (int64_t)sizeof a[0], a, sizeof a);
  }
}

/* And back, to the first COUNT lanes. */
static void NAME(scatter)(int64_t n, char *const *lanes, const char *from, int count) {
  for (int64_t p = 0; p < n; p += LANES) {
    lane_square a[LANES];
    p = p + LANES <= n ? p : n - LANES;
    memcpy(a, from + p * (int64_t)sizeof a[0], sizeof a);
    TURN(lane_square, LANES, a)
    for (int k = 0; k < count; k++) {
      *(lane_square *)(void *)(lanes[k] + p * (int64_t)sizeof(T)) = a[k];
    }
  }
}

static const lane_loops NAME(loops) = {
    LANES,
    sizeof(T),
    {NAME(max), NAME(max_grad), NAME(max_pick), NAME(avg), NAME(avg_grad)},
    NAME(gather),
    NAME(scatter)};

#undef AT
#undef CHOOSE
#undef EACH_PLACE
#undef X
#undef D
#undef Y
#undef BY_SIZE
#undef INLINE
#undef ELEMENT
#undef FIND_LARGEST
#undef FIND
#undef IS_LARGEST
#undef lane_mask
#undef HIGHER
#undef HIGHEST
#undef NAN_PAIR
#undef SPOIL
#undef EQUAL
#undef ADD_WHERE
#ifdef MM
#undef SUFFIX
#undef MASK
#undef COMPARE
#endif
#undef TURN
#undef lane_square
#undef lane_bits
#undef lane_vec
#undef NAME
#undef T
#undef TAG
#undef BITS
#undef LANES
