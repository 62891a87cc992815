/* SPDX-License-Identifier: MIT
 *
 * The links of chains for one element type and one instruction set. The includer defines T, TAG,
 * BITS (an integer as wide as T), ISA and WIDTH, the bytes of a vector register, and for x86 how
 * intrinsics are named, MM_..._SUFFIX. No include guard:
 * included many times.
 */
#define NAME(name) GEMEL__PASTE3(name, TAG, ISA)
#define vec NAME(vec)
#define bits NAME(bits)
#define link_function NAME(link_function)

typedef T vec __attribute__((vector_size(WIDTH), aligned(sizeof(T)), may_alias));
typedef BITS bits __attribute__((vector_size(WIDTH)));
typedef void (*link_function)(vec, vec, vec, vec, vec, vec, vec, vec, const gemel__link *, size_t);

#define PARAMETERS                                                                                 \
  vec a0, vec a1, vec a2, vec a3, vec a4, vec a5, vec a6, vec a7, const gemel__link *link, size_t at
#define CALL(next) ((link_function)(next)->run)(a0, a1, a2, a3, a4, a5, a6, a7, (next), at)
#define EACH(DO) DO(a0, 0) DO(a1, 1) DO(a2, 2) DO(a3, 3) DO(a4, 4) DO(a5, 5) DO(a6, 6) DO(a7, 7)

#define LOAD_ONE(a, k) a = p[k];
static void NAME(load)(PARAMETERS) {
  const vec *p = (const vec *)(link->operand + at);
  EACH(LOAD_ONE)
  CALL(link + 1);
}

#define STORE_ONE(a, k) p[k] = a;
static void NAME(store)(PARAMETERS) {
  vec *p = (vec *)(link->operand + at);
  EACH(STORE_ONE)
}

#define STREAM_ONE(a, k) STREAM(p + k, a);
static void NAME(stream)(PARAMETERS) {
  vec *p = (vec *)(link->operand + at);
  EACH(STREAM_ONE)
}

/* A link that does STEP(a, x) to each register a, where x is the operand's part. The operand of a
 * FIXED link is the same everywhere, so that one vector of it is enough. */
#define LINK(name, step)                                                                           \
  static void NAME(name)(PARAMETERS) {                                                             \
    const vec *p = (const vec *)(link->operand + at);                                              \
    (void)p;                                                                                       \
    step(a0, p[0]) step(a1, p[1]) step(a2, p[2]) step(a3, p[3]);                                   \
    step(a4, p[4]) step(a5, p[5]) step(a6, p[6]) step(a7, p[7]);                                   \
    CALL(link + 1);                                                                                \
  }
#define FIXED_LINK(name, step)                                                                     \
  static void NAME(name)(PARAMETERS) {                                                             \
    const vec x = *(const vec *)link->operand;                                                     \
    step(a0, x) step(a1, x) step(a2, x) step(a3, x);                                               \
    step(a4, x) step(a5, x) step(a6, x) step(a7, x);                                               \
    CALL(link + 1);                                                                                \
  }

/* The larger (smaller) of the two, and B where they are equal or one is a NaN: what processors have
 * as one instruction. */
#ifdef MM
#define HIGHER(a, b) GEMEL__PASTE3(MM, max, SUFFIX)(a, b)
#define LOWER(a, b) GEMEL__PASTE3(MM, min, SUFFIX)(a, b)
#else
#define HIGHER(a, b) (vec)(((bits)(a) & ((a) > (b))) | ((bits)(b) & ~((a) > (b))))
#define LOWER(a, b) (vec)(((bits)(a) & ((a) < (b))) | ((bits)(b) & ~((a) < (b))))
#endif

/* Asked both ways round, only zeros of different signs give different bits: both together (or
 * either) make the sign. All bits, a NaN, where nothing compares. */
#define EXTREME(a, x, which, zeros)                                                                \
  a = (vec)(((bits)which(a, x) zeros(bits) which(x, a)) | ~((a > x) | (a < x) | (a == x)));
#define MAXIMUM(a, x) EXTREME(a, x, HIGHER, &)
#define MINIMUM(a, x) EXTREME(a, x, LOWER, |)

/* With an X that is the same everywhere, the correction is an addend worked out once: -0 changes
 * nothing, +0 the sign of zeros only, and a NaN all. */
#define ADDEND(x, zero) (vec)(((x != x) & (bits)x) | ((x == x) & ~(zero) & (bits) - (vec){0}))
#define POSITIVE_ZERO(x) ((bits)x == 0)
#define NEGATIVE_ZERO(x) ((bits)x == (bits) - (vec){0})
#define MAXIMUM_FIXED(a, x) a = HIGHER(x, a) + addend;
#define MINIMUM_FIXED(a, x) a = -(addend - LOWER(x, a));

#define EXTREME_LINK(name, step, zero)                                                             \
  static void NAME(name)(PARAMETERS) {                                                             \
    const vec x = *(const vec *)link->operand, addend = ADDEND(x, zero(x));                        \
    step(a0, x) step(a1, x) step(a2, x) step(a3, x);                                               \
    step(a4, x) step(a5, x) step(a6, x) step(a7, x);                                               \
    CALL(link + 1);                                                                                \
  }

#define ADD_LEFT(a, x) a = a + x;
#define ADD_RIGHT(a, x) a = x + a;
#define ADD_BOTH(a, x) a = a + a;
#define SUB_LEFT(a, x) a = a - x;
#define SUB_RIGHT(a, x) a = x - a;
#define SUB_BOTH(a, x) a = a - a;
#define MUL_LEFT(a, x) a = a * x;
#define MUL_RIGHT(a, x) a = x * a;
#define MUL_BOTH(a, x) a = a * a;
#define DIV_LEFT(a, x) a = a / x;
#define DIV_RIGHT(a, x) a = x / a;
#define DIV_BOTH(a, x) a = a / a;
#define NEGATE(a, x) a = -a;
#define KEEP(a, x)
/* -0 has the sign bit alone; a comparison gives all bits or none. */
#define CLEAR_SIGN(a, x) a = (vec)((bits)a & ~(bits) - (vec){0});
#define KEEP_POSITIVE(a, x) a = (vec)((bits)a & ((a > (vec){0}) | (a != a)));

LINK(add_left, ADD_LEFT)
LINK(add_right, ADD_RIGHT)
LINK(add_both, ADD_BOTH)
FIXED_LINK(add_left_fixed, ADD_LEFT)
FIXED_LINK(add_right_fixed, ADD_RIGHT)
LINK(sub_left, SUB_LEFT)
LINK(sub_right, SUB_RIGHT)
LINK(sub_both, SUB_BOTH)
FIXED_LINK(sub_left_fixed, SUB_LEFT)
FIXED_LINK(sub_right_fixed, SUB_RIGHT)
LINK(mul_left, MUL_LEFT)
LINK(mul_right, MUL_RIGHT)
LINK(mul_both, MUL_BOTH)
FIXED_LINK(mul_left_fixed, MUL_LEFT)
FIXED_LINK(mul_right_fixed, MUL_RIGHT)
LINK(div_left, DIV_LEFT)
LINK(div_right, DIV_RIGHT)
LINK(div_both, DIV_BOTH)
FIXED_LINK(div_left_fixed, DIV_LEFT)
FIXED_LINK(div_right_fixed, DIV_RIGHT)
LINK(maximum, MAXIMUM)
EXTREME_LINK(maximum_fixed, MAXIMUM_FIXED, POSITIVE_ZERO)
LINK(minimum, MINIMUM)
LINK(extreme_both, KEEP)
EXTREME_LINK(minimum_fixed, MINIMUM_FIXED, NEGATIVE_ZERO)
LINK(neg, NEGATE)
LINK(abs, CLEAR_SIGN)
LINK(relu, KEEP_POSITIVE)

/* In the order of gemel__chain_side. */
#define F(name) (gemel__chain_function) NAME(name)
#define ALL(name)                                                                                  \
  { F(name##_left), F(name##_right), F(name##_both), F(name##_left_fixed), F(name##_right_fixed) }
#define EITHER(name)                                                                               \
  { F(name), F(name), F(extreme_both), F(name##_fixed), F(name##_fixed) }
#define ONE(name)                                                                                  \
  { F(name) }

static const gemel__chain_function NAME(links)[GEMEL__SCALAR_COUNT][GEMEL__CHAIN_SIDES] = {
    [GEMEL__SCALAR_add] = ALL(add),
    [GEMEL__SCALAR_sub] = ALL(sub),
    [GEMEL__SCALAR_mul] = ALL(mul),
    [GEMEL__SCALAR_div] = ALL(div),
    [GEMEL__SCALAR_maximum] = EITHER(maximum),
    [GEMEL__SCALAR_minimum] = EITHER(minimum),
    [GEMEL__SCALAR_neg] = ONE(neg),
    [GEMEL__SCALAR_sqr] = ONE(mul_both),
    [GEMEL__SCALAR_abs] = ONE(abs),
    [GEMEL__SCALAR_relu] = ONE(relu),
};

/* Whole blocks of eight vectors; returns the bytes done. */
static size_t NAME(blocks)(const gemel__link *link, size_t bytes) {
  size_t at = 0;
  const vec a0 = {0}, a1 = a0, a2 = a0, a3 = a0, a4 = a0, a5 = a0, a6 = a0, a7 = a0;
  for (; at + 8 * WIDTH <= bytes; at += 8 * WIDTH) {
    CALL(link);
  }
  return at;
}

static const family NAME(family) = {NAME(links), F(load), F(store), F(stream), NAME(blocks)};

#undef NAME
#undef vec
#undef link_function
#undef PARAMETERS
#undef CALL
#undef EACH
#undef LOAD_ONE
#undef STORE_ONE
#undef STREAM_ONE
#undef LINK
#undef ADD_LEFT
#undef ADD_RIGHT
#undef ADD_BOTH
#undef SUB_LEFT
#undef SUB_RIGHT
#undef SUB_BOTH
#undef MUL_LEFT
#undef MUL_RIGHT
#undef MUL_BOTH
#undef DIV_LEFT
#undef DIV_RIGHT
#undef DIV_BOTH
#undef NEGATE
#undef KEEP
#undef CLEAR_SIGN
#undef KEEP_POSITIVE
#undef bits
#undef BITS
#undef ALL
#undef F
#undef FIXED_LINK
#undef ONE
#undef EITHER
#undef EXTREME
#undef MAXIMUM
#undef MINIMUM
#undef MAXIMUM_FIXED
#undef MINIMUM_FIXED
#undef EXTREME_LINK
#undef ADDEND
#undef POSITIVE_ZERO
#undef NEGATIVE_ZERO
#undef HIGHER
#undef LOWER
#undef SUFFIX
#undef T
#undef TAG
