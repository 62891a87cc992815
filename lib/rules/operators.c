/* SPDX-License-Identifier: MIT
 *
 * Operators of terms, and the arithmetic of entries under them. Integers are computed with a check
 * for overflow; as soon as one operand is a symbolic size both are, and the normal form of sizes
 * does the rest. Reals are doubles, computed and compared as IEEE 754 says.
 */
#include <math.h>
#include "core/attrs.h"
#include "rules/functions.h"

/* ---- Entries ---- */

gemel__entry gemel__entry_dim(gemel_context *context, gemel_dim dim) {
  gemel__entry entry = {0, dim};
  if (gemel_dim_is_constant(context, dim, &entry.value)) {
    entry.dim = GEMEL_DIM_NONE;
  } else {
    entry.value = 0;
  }
  return entry;
}

gemel_dim gemel__dim_of_entry(gemel_context *context, gemel__entry entry) {
  return gemel_dim_is_none(entry.dim) ? gemel_dim_constant(context, entry.value) : entry.dim;
}

static int64_t floor_quotient(int64_t a, int64_t b) {
  int64_t q = a / b;
  return q - (a % b != 0 && (a < 0) != (b < 0));
}

static gemel_status combine_integers(gemel__arithmetic op, int64_t a, int64_t b, int64_t *result) {
  int overflow = 0;
  switch (op) {
  case GEMEL__ADD:
    overflow = __builtin_add_overflow(a, b, result);
    break;
  case GEMEL__SUB:
    overflow = __builtin_sub_overflow(a, b, result);
    break;
  case GEMEL__MUL:
    overflow = __builtin_mul_overflow(a, b, result);
    break;
  case GEMEL__MIN:
    *result = a < b ? a : b;
    break;
  case GEMEL__MAX:
    *result = a > b ? a : b;
    break;
  default:
    overflow = b == 0 || (a == INT64_MIN && b == -1);
    if (!overflow) {
      *result = op == GEMEL__FLOORDIV ? floor_quotient(a, b) : a - b * floor_quotient(a, b);
    }
  }
  return overflow ? GEMEL_DECLINED : GEMEL_OK;
}

static gemel_dim combine_dims(gemel_context *context, gemel__arithmetic op, gemel_dim a,
                              gemel_dim b) {
  gemel_dim whole;
  switch (op) {
  case GEMEL__ADD:
    return gemel_dim_add(context, a, b);
  case GEMEL__SUB:
    return gemel_dim_sub(context, a, b);
  case GEMEL__MUL:
    return gemel_dim_mul(context, a, b);
  case GEMEL__MIN:
    return gemel_dim_min(context, a, b);
  case GEMEL__MAX:
    return gemel_dim_max(context, a, b);
  default:
    whole = gemel_dim_floordiv(context, a, b);
    return op == GEMEL__FLOORDIV ? whole
                                 : gemel_dim_sub(context, a, gemel_dim_mul(context, b, whole));
  }
}

gemel_status gemel__entry_combine(const gemel__scene *scene, gemel__arithmetic op, gemel__entry a,
                                  gemel__entry b, gemel__entry *result) {
  gemel_context *context = scene->graph->context;
  unsigned failures = gemel__dim_memory_failures(context);
  gemel_dim dim;
  if (gemel_dim_is_none(a.dim) && gemel_dim_is_none(b.dim)) {
    result->dim = GEMEL_DIM_NONE;
    return combine_integers(op, a.value, b.value, &result->value);
  }
  dim = combine_dims(context, op, gemel__dim_of_entry(context, a), gemel__dim_of_entry(context, b));
  if (gemel_dim_is_none(dim)) {
    return gemel__dim_memory_failures(context) == failures
               ? GEMEL_DECLINED
               : gemel__no_memory(scene->error, "a size");
  }
  *result = gemel__entry_dim(context, dim);
  return GEMEL_OK;
}

/* Dims of two entries of which one is symbolic; MAYBE is said when memory is out, too: nothing is
 * claimed then, and what comes next will notice. */
int gemel__entry_equal(gemel_context *context, gemel__entry a, gemel__entry b) {
  if (gemel_dim_is_none(a.dim) && gemel_dim_is_none(b.dim)) {
    return a.value == b.value;
  }
  switch (gemel__dim_compare(context, gemel__dim_of_entry(context, a),
                             gemel__dim_of_entry(context, b))) {
  case GEMEL__EQUAL:
    return 1;
  case GEMEL__DIFFERENT:
    return 0;
  default:
    return GEMEL__MAYBE;
  }
}

int gemel__entry_less(gemel_context *context, gemel__entry a, gemel__entry b) {
  int64_t low, high;
  if (gemel_dim_is_none(a.dim) && gemel_dim_is_none(b.dim)) {
    return a.value < b.value;
  }
  gemel_dim left = gemel__dim_of_entry(context, a);
  gemel_dim right = gemel__dim_of_entry(context, b);
  if (gemel_dim_is_none(left) || gemel_dim_is_none(right)) {
    return GEMEL__MAYBE;
  }
  gemel__dim_difference(context, left, right, &low, &high);
  return high < 0 ? 1 : low >= 0 ? 0 : GEMEL__MAYBE;
}

/* ---- Arithmetic ---- */

/* X as a double, if it is a real or an integer within 2^53: doubles hold each of those, and the
 * next integer would be rounded to 2^53. */
static int real_of(const gemel__term *x, double *value) {
  static const int64_t most = (int64_t)1 << 53;
  if (x->kind == GEMEL__TERM_REAL) {
    *value = x->u.real;
    return 1;
  }
  if (!gemel__is_integer(x) || x->list[0].value > most || x->list[0].value < -most) {
    return 0;
  }
  *value = (double)x->list[0].value;
  return 1;
}

static int any_real(const gemel__termcall *call) {
  int any = 0;
  for (uint32_t k = 0; k < call->n; k++) {
    any |= call->x[k].kind == GEMEL__TERM_REAL;
  }
  return any;
}

/* Minimum and maximum as IEEE 754-2019 has them: NaN if either is, -0 below +0. */
static double extreme(gemel__arithmetic op, double a, double b) {
  int first = a == b ? (signbit(a) != 0) == (op == GEMEL__MIN) : (a < b) == (op == GEMEL__MIN);
  return a != a ? a : b != b ? b : first ? a : b;
}

static gemel_status combine_reals(gemel__termcall *call, gemel__arithmetic op, const gemel__term *x,
                                  const gemel__term *y) {
  double a, b;
  if (!real_of(x, &a) || !real_of(y, &b)) {
    return GEMEL_DECLINED;
  }
  switch (op) {
  case GEMEL__ADD:
    return gemel__give_real(call, a + b);
  case GEMEL__SUB:
    return gemel__give_real(call, a - b);
  case GEMEL__MUL:
    return gemel__give_real(call, a * b);
  case GEMEL__MIN:
  case GEMEL__MAX:
    return gemel__give_real(call, extreme(op, a, b));
  default:
    return GEMEL_DECLINED;
  }
}

/* The K-th entry; a number has as many as are asked for. */
static gemel__entry entry_at(const gemel__term *x, uint32_t k) {
  return x->list[x->kind == GEMEL__TERM_LIST ? k : 0];
}

/* How many entries two terms have together; 0 and *COUNT, or -1 if lengths differ. */
static int common_count(const gemel__term *x, const gemel__term *y, uint32_t *count) {
  int two = x->kind == GEMEL__TERM_LIST && y->kind == GEMEL__TERM_LIST;
  *count = x->kind == GEMEL__TERM_LIST ? x->count : y->count;
  return two && x->count != y->count ? -1 : 0;
}

static gemel_status combine(gemel__termcall *call, gemel__arithmetic op, const gemel__term *x,
                            const gemel__term *y) {
  gemel__entry one, *list = &one;
  uint32_t count;
  gemel_status status = GEMEL_OK;
  int is_list = x->kind == GEMEL__TERM_LIST || y->kind == GEMEL__TERM_LIST;
  if (x->kind == GEMEL__TERM_REAL || y->kind == GEMEL__TERM_REAL) {
    return combine_reals(call, op, x, y);
  }
  if (!gemel__has_entries(x) || !gemel__has_entries(y) || common_count(x, y, &count)) {
    return GEMEL_DECLINED;
  }
  if (is_list) {
    status = gemel__give_list(call, count, &list);
  }
  for (uint32_t k = 0; status == GEMEL_OK && k < count; k++) {
    status = gemel__entry_combine(call->scene, op, entry_at(x, k), entry_at(y, k), &list[k]);
  }
  return status || is_list ? status : gemel__give_entry(call, one);
}

#define ARITHMETIC(name, op)                                                                       \
  gemel_status gemel__operator_##name(gemel__termcall *call) {                                     \
    return combine(call, op, &call->x[0], &call->x[1]);                                            \
  }
ARITHMETIC(add, GEMEL__ADD)
ARITHMETIC(sub, GEMEL__SUB)
ARITHMETIC(mul, GEMEL__MUL)
ARITHMETIC(floordiv, GEMEL__FLOORDIV)
ARITHMETIC(mod, GEMEL__MOD)

gemel_status gemel__operator_div(gemel__termcall *call) {
  double a, b;
  if (!any_real(call) || !real_of(&call->x[0], &a) || !real_of(&call->x[1], &b)) {
    return GEMEL_DECLINED;
  }
  return gemel__give_real(call, a / b);
}

static const gemel__entry zero_entry;
static const gemel__term zero = {.kind = GEMEL__TERM_NUMBER, .count = 1, .list = &zero_entry};

gemel_status gemel__operator_neg(gemel__termcall *call) {
  return any_real(call) ? gemel__give_real(call, -call->x[0].u.real)
                        : combine(call, GEMEL__SUB, &zero, &call->x[0]);
}

/* Entry after entry of the only operand. */
static gemel_status fold_entries(gemel__termcall *call, gemel__arithmetic op) {
  const gemel__term *x = &call->x[0];
  gemel_status status = gemel__has_entries(x) && x->count > 0 ? GEMEL_OK : GEMEL_DECLINED;
  gemel__entry last = status == GEMEL_OK ? x->list[0] : zero_entry;
  for (uint32_t k = 1; status == GEMEL_OK && k < x->count; k++) {
    status = gemel__entry_combine(call->scene, op, last, x->list[k], &last);
  }
  return status ? status : gemel__give_entry(call, last);
}

/* Operand after operand. */
static gemel_status fold(gemel__termcall *call, gemel__arithmetic op) {
  if (call->n == 1 && call->x[0].kind != GEMEL__TERM_REAL) {
    return fold_entries(call, op);
  }
  gemel__term last = *call->result = call->x[0];
  gemel_status status = GEMEL_OK;
  for (uint32_t k = 1; status == GEMEL_OK && k < call->n; k++) {
    status = combine(call, op, &last, &call->x[k]);
    last = *call->result;
  }
  return status;
}

gemel_status gemel__function_min(gemel__termcall *call) {
  return fold(call, GEMEL__MIN);
}

gemel_status gemel__function_max(gemel__termcall *call) {
  return fold(call, GEMEL__MAX);
}

/* The greater of a and -a. */
gemel_status gemel__function_abs(gemel__termcall *call) {
  gemel__term negative;
  gemel__termcall negate = {call->scene, call->context, call->x, 1, &negative};
  if (any_real(call)) {
    return gemel__give_real(call, fabs(call->x[0].u.real));
  }
  gemel_status status = gemel__operator_neg(&negate);
  return status ? status : combine(call, GEMEL__MAX, &call->x[0], &negative);
}

/* Of integers, 0 is none, and the least one is -2^63. */
gemel_status gemel__function_power_of_two(gemel__termcall *call) {
  const gemel__term *x = &call->x[0];
  int exponent;
  if (x->kind == GEMEL__TERM_REAL) {
    return gemel__give_truth(call, fabs(frexp(x->u.real, &exponent)) == 0.5);
  }
  if (!gemel__is_integer(x)) {
    return GEMEL_DECLINED;
  }
  uint64_t bits = (uint64_t)x->list[0].value;
  bits = x->list[0].value < 0 ? 0 - bits : bits;
  return gemel__give_truth(call, bits != 0 && (bits & (bits - 1)) == 0);
}

/* ---- Comparisons ---- */

typedef enum comparison { EQ, LT, LE } comparison;

static int compare_entries(gemel_context *context, comparison how, gemel__entry a, gemel__entry b) {
  switch (how) {
  case EQ:
    return gemel__entry_equal(context, a, b);
  case LT:
    return gemel__entry_less(context, a, b);
  default:
    return gemel__truth_not(gemel__entry_less(context, b, a));
  }
}

static gemel_status compare_lists(gemel_context *context, comparison how, const gemel__term *x,
                                  const gemel__term *y, int *truth) {
  uint32_t count;
  *truth = 0;
  if (common_count(x, y, &count)) {
    return how == EQ ? GEMEL_OK : GEMEL_DECLINED;
  }
  *truth = 1;
  for (uint32_t k = 0; k < count; k++) {
    *truth =
        gemel__truth_and(*truth, compare_entries(context, how, entry_at(x, k), entry_at(y, k)));
  }
  return GEMEL_OK;
}

static gemel_status compare_reals(comparison how, const gemel__term *x, const gemel__term *y,
                                  int *truth) {
  double a, b;
  if (!real_of(x, &a) || !real_of(y, &b)) {
    return GEMEL_DECLINED;
  }
  *truth = how == EQ ? a == b : how == LT ? a < b : a <= b;
  return GEMEL_OK;
}

/* Kinds that are equal or not, and nothing else. */
static gemel_status compare_things(comparison how, const gemel__term *x, const gemel__term *y,
                                   int *truth) {
  int absent = x->kind == GEMEL__TERM_ABSENT || y->kind == GEMEL__TERM_ABSENT;
  if (how != EQ || (x->kind != y->kind && !absent)) {
    return GEMEL_DECLINED;
  }
  if (absent) {
    *truth = x->kind == y->kind;
  } else if (x->kind == GEMEL__TERM_DTYPE) {
    *truth = x->u.dtype == y->u.dtype;
  } else if (x->kind == GEMEL__TERM_OTHER) {
    *truth = gemel__attr_same(x->u.attr, y->u.attr);
  } else {
    return GEMEL_DECLINED; /* tensors: same(x, y) says what is meant */
  }
  return GEMEL_OK;
}

static gemel_status compare(gemel__termcall *call, comparison how, const gemel__term *x,
                            const gemel__term *y, int *truth) {
  *truth = GEMEL__MAYBE;
  if (x->kind == GEMEL__TERM_UNKNOWN || y->kind == GEMEL__TERM_UNKNOWN) {
    return GEMEL_OK;
  }
  if (gemel__has_entries(x) && gemel__has_entries(y)) {
    return compare_lists(call->context, how, x, y, truth);
  }
  if ((x->kind == GEMEL__TERM_REAL && y->kind != GEMEL__TERM_ABSENT) ||
      (y->kind == GEMEL__TERM_REAL && x->kind != GEMEL__TERM_ABSENT)) {
    return compare_reals(how, x, y, truth);
  }
  return compare_things(how, x, y, truth);
}

/* Operands I and J compared, the result negated or not. */
static gemel_status give_comparison(gemel__termcall *call, comparison how, int i, int j,
                                    int negated) {
  int truth;
  gemel_status status = compare(call, how, &call->x[i], &call->x[j], &truth);
  return status ? status : gemel__give_truth(call, negated ? gemel__truth_not(truth) : truth);
}

#define COMPARISON(name, how, i, j, negated)                                                       \
  gemel_status gemel__operator_##name(gemel__termcall *call) {                                     \
    return give_comparison(call, how, i, j, negated);                                              \
  }
COMPARISON(eq, EQ, 0, 1, 0)
COMPARISON(ne, EQ, 0, 1, 1)
COMPARISON(lt, LT, 0, 1, 0)
COMPARISON(le, LE, 0, 1, 0)
COMPARISON(gt, LT, 1, 0, 0)
COMPARISON(ge, LE, 1, 0, 0)

/* ---- Logic ---- */

/* What X says as a truth; MAYBE for what says nothing. */
static int truth_of(gemel_context *context, const gemel__term *x) {
  return x->kind == GEMEL__TERM_NUMBER
             ? gemel__truth_not(gemel__entry_equal(context, x->list[0], zero_entry))
             : GEMEL__MAYBE;
}

gemel_status gemel__operator_logical_and(gemel__termcall *call) {
  return gemel__give_truth(call, gemel__truth_and(truth_of(call->context, &call->x[0]),
                                                  truth_of(call->context, &call->x[1])));
}

gemel_status gemel__operator_logical_or(gemel__termcall *call) {
  int neither = gemel__truth_and(gemel__truth_not(truth_of(call->context, &call->x[0])),
                                 gemel__truth_not(truth_of(call->context, &call->x[1])));
  return gemel__give_truth(call, gemel__truth_not(neither));
}

gemel_status gemel__operator_logical_not(gemel__termcall *call) {
  return gemel__give_truth(call, gemel__truth_not(truth_of(call->context, &call->x[0])));
}

/* ---- a[b] ---- */

/* Entry AT of LIST; -1 stays -1, a new axis as in the order of dimshuffle. */
static gemel_status pick(const gemel__term *list, int64_t at, gemel__entry *entry) {
  if (at < -1 || at >= (int64_t)list->count) {
    return GEMEL_DECLINED;
  }
  *entry = at == -1 ? gemel__entry_int(-1) : list->list[at];
  return GEMEL_OK;
}

gemel_status gemel__operator_index(gemel__termcall *call) {
  const gemel__term *places = &call->x[1];
  gemel__entry entry, *list;
  gemel_status status;
  if (places->kind == GEMEL__TERM_NUMBER) {
    status = pick(&call->x[0], places->list[0].value, &entry);
    return status ? status : gemel__give_entry(call, entry);
  }
  status = gemel__give_list(call, places->count, &list);
  for (uint32_t k = 0; status == GEMEL_OK && k < places->count; k++) {
    status = pick(&call->x[0], places->list[k].value, &list[k]);
  }
  return status;
}
