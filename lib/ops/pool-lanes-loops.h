/* SPDX-License-Identifier: MIT
 *
 * The loops of pool-lanes.c for one element type and one instruction set. The includer defines T,
 * TAG, BITS (an unsigned integer as wide as T), ISA and LANES, how many elements a vector register
 * has, as a plain number. NAME(loops) is what it gets. No include guard: included many times.
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
#define WHERE(condition, value) (lane_vec)((lane_bits)(condition) & (lane_bits)(value))
#define CHOOSE(condition, a, b)                                                                    \
  (lane_vec)(((lane_bits)(condition) & (lane_bits)(a)) | (~(lane_bits)(condition) & (lane_bits)(b)))

/* A body for each place and each block of it: N elements of a window, X, Y and D where they lie. */
#define EACH_PLACE(BODY)                                                                           \
  for (int64_t place = 0; place < r->places; place++) {                                            \
    for (int64_t block = 0; block < r->blocks; block++) {                                          \
      int64_t behind = block * (int64_t)sizeof(lane_vec);                                          \
      char *x = r->x + place * r->x_step + behind, *y = r->y + place * r->y_step + behind;         \
      char *d = r->d + place * r->d_step + behind;                                                 \
      (void)x, (void)y, (void)d;                                                                   \
      BODY                                                                                         \
    }                                                                                              \
  }

/* The loop for any windows, and for those of 2 x 2 and 3 x 3 elements, which are taken apart. */
#define BY_SIZE(name)                                                                              \
  static void NAME(name)(const place_row *r) {                                                     \
    if (r->n == 4) {                                                                               \
      NAME(name##_of)(r, 4);                                                                       \
    } else if (r->n == 9) {                                                                        \
      NAME(name##_of)(r, 9);                                                                       \
    } else {                                                                                       \
      NAME(name##_of)(r, r->n);                                                                    \
    }                                                                                              \
  }
#define BODY_OF(name)                                                                              \
  static inline __attribute__((always_inline)) void NAME(name##_of)(const place_row *r, int64_t n)

/* As larger_of in pool-plain.c: NaN if either is, and of zeros the positive one. */
BODY_OF(max){EACH_PLACE({
  lane_vec best = (lane_vec){0} - (T)__builtin_inff();
  for (int64_t e = 0; e < n; e++) {
    lane_vec v = AT(x, r->x_at[e]);
    lane_vec most = CHOOSE((v > best) | (v != v), v, best);
    best = (lane_vec)((lane_bits)most & ((lane_bits)v | (lane_bits)(best != v)));
  }
  AT(y, 0) = best;
})} BY_SIZE(max)

    BODY_OF(avg) {
  const T divisor = (T)r->divisor;
  EACH_PLACE({
    lane_vec sum = {0};
    for (int64_t e = 0; e < n; e++) {
      sum += AT(x, r->x_at[e]);
    }
    AT(y, 0) = sum / divisor;
  })
}
BY_SIZE(avg)

/* A window that has a NaN has no largest elements: BEST is NaN then, or is made one, which nothing
 * equals. Those of small windows are kept in registers. */
enum { NAME(KEPT) = LANES * sizeof(T) >= 32 ? 9 : 4 };
#define ELEMENT(e) (n <= NAME(KEPT) ? kept[e] : AT(x, r->x_at[e]))
#define FIND_LARGEST                                                                               \
  const lane_vec one = (lane_vec){0} + (T)1;                                                       \
  lane_vec kept[NAME(KEPT)];                                                                       \
  lane_vec best = (lane_vec){0} - (T)__builtin_inff(), count = {0};                                \
  for (int64_t e = 0; e < n; e++) {                                                                \
    lane_vec v = AT(x, r->x_at[e]);                                                                \
    if (n <= NAME(KEPT)) {                                                                         \
      kept[e] = v;                                                                                 \
    }                                                                                              \
    best = CHOOSE((v > best) | (v != v), v, best);                                                 \
  }                                                                                                \
  for (int64_t e = 0; e < n; e++) {                                                                \
    count += WHERE(ELEMENT(e) == best, one);                                                       \
  }

BODY_OF(max_grad) {
  const int overwrites = r->overwrites;
  EACH_PLACE({
    FIND_LARGEST
    lane_vec share = AT(y, 0) / count;
    if (overwrites) {
      for (int64_t e = 0; e < n; e++) {
        AT(d, r->d_at[e]) = WHERE(ELEMENT(e) == best, share) + (T)0;
      }
    } else {
      for (int64_t e = 0; e < n; e++) {
        AT(d, r->d_at[e]) += WHERE(ELEMENT(e) == best, share);
      }
    }
  })
}
BY_SIZE(max_grad)

BODY_OF(max_pick){EACH_PLACE({
  FIND_LARGEST
  lane_vec sum = {0};
  for (int64_t e = 0; e < n; e++) {
    sum += WHERE(ELEMENT(e) == best, AT(d, r->d_at[e]));
  }
  AT(y, 0) = sum / CHOOSE(count > (lane_vec){0}, count, one);
})} BY_SIZE(max_pick)

    BODY_OF(avg_grad) {
  const T divisor = (T)r->divisor;
  const int overwrites = r->overwrites;
  EACH_PLACE({
    lane_vec share = AT(y, 0) / divisor;
    if (overwrites) {
      for (int64_t e = 0; e < n; e++) {
        AT(d, r->d_at[e]) = share + (T)0;
      }
    } else {
      for (int64_t e = 0; e < n; e++) {
        AT(d, r->d_at[e]) += share;
      }
    }
  })
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
#undef WHERE
#undef CHOOSE
#undef EACH_PLACE
#undef BY_SIZE
#undef BODY_OF
#undef ELEMENT
#undef FIND_LARGEST
#undef TURN
#undef lane_square
#undef lane_bits
#undef lane_vec
#undef NAME
#undef T
#undef TAG
#undef BITS
#undef LANES
