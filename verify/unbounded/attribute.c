/* SPDX-License-Identifier: MIT
 *
 * Attribute expressions and conditions over symbols: a stack machine for the code that rules are
 * compiled to, with a function here for each row of lib/rules/functions.def that has a meaning
 * without numbers. A row without one ends the scene, and the rule is open.
 *
 * Lists have as many entries as the scene's ranks say, so what asks for axes works on numbers; what
 * asks for sizes makes terms.
 */
#include <string.h>
#include "unbounded/attribute.h"
#include "unbounded/bounds.h"

/* ---- Tensors and dtypes ---- */

void gemel__meaning_rank(const gemel__pcall *c) {
  give_number(c, c->in[0].tensors[0]->rank);
}

void gemel__meaning_shape(const gemel__pcall *c) {
  give_list(c);
  for (int k = 0; k < c->in[0].tensors[0]->rank; k++) {
    append(c, c->in[0].tensors[0]->shape[k]);
  }
}

void gemel__meaning_dtype(const gemel__pcall *c) {
  c->out->kind = GEMEL__PV_DTYPE;
  c->out->name = c->in[0].tensors[0]->dtype;
  c->out->sort = c->in[0].tensors[0]->sort;
}

/* The dtype of operand K, a tensor or a dtype: 1 if it is known. */
static int dtype_at(const gemel__pcall *c, uint32_t k, gemel_dtype *dtype) {
  const gemel__pvalue *v = &c->in[k];
  return gemel__psort_dtype((int)(v->kind == GEMEL__PV_TENSOR ? v->tensors[0]->sort : v->sort),
                            dtype);
}

/* Is operand 0 of one of KINDS, a bit for each? */
static void give_kind(const gemel__pcall *c, unsigned kinds) {
  gemel_dtype dtype;
  if (dtype_at(c, 0, &dtype)) {
    give_known(c, kinds >> gemel_dtype_kind(dtype) & 1);
  } else {
    give_free(c);
  }
}

void gemel__meaning_float(const gemel__pcall *c) {
  give_kind(c, 1u << GEMEL_KIND_FLOAT);
}

void gemel__meaning_signed(const gemel__pcall *c) {
  give_kind(c, 1u << GEMEL_KIND_SIGNED);
}

void gemel__meaning_unsigned(const gemel__pcall *c) {
  give_kind(c, 1u << GEMEL_KIND_UNSIGNED);
}

void gemel__meaning_integer(const gemel__pcall *c) {
  give_kind(c, 1u << GEMEL_KIND_SIGNED | 1u << GEMEL_KIND_UNSIGNED);
}

void gemel__meaning_bool(const gemel__pcall *c) {
  give_kind(c, 1u << GEMEL_KIND_BOOL);
}

void gemel__meaning_numeric(const gemel__pcall *c) {
  give_kind(c, ~(1u << GEMEL_KIND_BOOL));
}

void gemel__meaning_bits(const gemel__pcall *c) {
  gemel_dtype dtype;
  if (dtype_at(c, 0, &dtype)) {
    give_number(c, 8 * (int64_t)gemel_dtype_size(dtype));
  } else {
    give_real_unknown(c);
  }
}

void gemel__meaning_same_dtype(const gemel__pcall *c) {
  gemel_dtype a, b;
  if (dtype_at(c, 0, &a) && dtype_at(c, 1, &b)) {
    give_known(c, a == b);
  } else {
    give_free(c);
  }
}

/* How many integers in a row from 0 on, to either side, DTYPE holds: 2 to the power of this. */
static int whole_bits(gemel_dtype dtype) {
  static const int digits[] = {
      [GEMEL_F16] = 11, [GEMEL_BF16] = 8, [GEMEL_F32] = 24, [GEMEL_F64] = 53};
  int bits = 8 * (int)gemel_dtype_size(dtype);
  switch (gemel_dtype_kind(dtype)) {
  case GEMEL_KIND_BOOL:
    return 1;
  case GEMEL_KIND_SIGNED:
    return bits - 1;
  case GEMEL_KIND_UNSIGNED:
    return bits;
  default:
    return digits[dtype];
  }
}

/* 1 if every value of FROM is one of TO. The least signed integer is a power of two, which a float
 * of that range holds too. */
static int is_exact(gemel_dtype from, gemel_dtype to) {
  gemel_kind kind = gemel_dtype_kind(from), target = gemel_dtype_kind(to);
  if (from == to || kind == GEMEL_KIND_BOOL) {
    return 1;
  }
  if (target == GEMEL_KIND_BOOL || (kind == GEMEL_KIND_FLOAT && target != GEMEL_KIND_FLOAT)) {
    return 0;
  }
  if (kind == GEMEL_KIND_FLOAT) {
    return to == GEMEL_F64 || (to == GEMEL_F32 && from != GEMEL_F64);
  }
  return !(kind == GEMEL_KIND_SIGNED && target == GEMEL_KIND_UNSIGNED) &&
         whole_bits(to) >= whole_bits(from);
}

void gemel__meaning_exact_cast(const gemel__pcall *c) {
  gemel_dtype from, to;
  if (dtype_at(c, 0, &from) && dtype_at(c, 1, &to)) {
    give_known(c, is_exact(from, to));
  } else {
    give_free(c);
  }
}

void gemel__meaning_elements(const gemel__pcall *c) {
  const gemel__ptensor *t = c->in[0].tensors[0];
  give_integer(c, product_of(c, (uint32_t)t->rank, t->shape));
}

void gemel__meaning_count(const gemel__pcall *c) {
  give_number(c, c->in[0].count);
}

void gemel__meaning_broadcast_shape(const gemel__pcall *c) {
  gemel__pterms *t = &c->s->terms;
  const gemel__pvalue *a = &c->in[0], *b = &c->in[1];
  uint32_t rank = a->count > b->count ? a->count : b->count;
  give_list(c);
  for (uint32_t k = 0; k < rank; k++) {
    gemel__pterm x = k + a->count >= rank ? a->list[k + a->count - rank] : gemel__p_number(t, 1);
    gemel__pterm y = k + b->count >= rank ? b->list[k + b->count - rank] : gemel__p_number(t, 1);
    gemel__pterm one = gemel__p_number(t, 1);
    if (knows_equal(c, x, y) || knows_equal(c, y, one)) {
      append(c, x);
    } else if (knows_equal(c, x, one)) {
      append(c, y);
    } else {
      give_nothing(c);
      return;
    }
  }
}

/* ---- Entry by entry ---- */

typedef gemel__pterm (*two)(gemel__pterms *t, gemel__pterm a, gemel__pterm b);

static int is_real(const gemel__pvalue *a, const gemel__pvalue *b) {
  return a->kind == GEMEL__PV_REAL || b->kind == GEMEL__PV_REAL;
}

static void entry_by_entry(const gemel__pcall *c, const gemel__pvalue *a, const gemel__pvalue *b,
                           two f) {
  uint32_t count;
  gemel__pterm made[GEMEL__PLIST];
  unsigned char kind = a->kind == GEMEL__PV_LIST ? a->kind : b->kind;
  if (is_real(a, b)) {
    give_real_unknown(c);
    return;
  }
  if (!paired(a, b, &count)) {
    give_nothing(c);
    return;
  }
  for (uint32_t k = 0; k < count; k++) {
    made[k] = f(&c->s->terms, entry(a, k), entry(b, k));
  }
  c->out->kind = kind;
  c->out->count = count;
  memcpy(c->out->list, made, count * sizeof *made);
}

/* F of entries; of the values of constants, operation NAME. */
static void combine(const gemel__pcall *c, const char *name, two f) {
  const gemel__pvalue *last = &c->in[c->n - 1];
  if (is_real(&c->in[0], last)) {
    gemel__combine_values(c, name);
  } else {
    entry_by_entry(c, &c->in[0], last, f);
  }
}

/* Of one operand, over its entries; of several, over the operands. */
static void extreme(const gemel__pcall *c, two f) {
  if (c->n == 1 && (!has_entries(&c->in[0]) || c->in[0].count == 0)) {
    give_nothing(c);
    return;
  }
  if (c->n > 1) {
    *c->out = c->in[0];
    for (uint32_t k = 1; k < c->n && c->out->kind != GEMEL__PV_NO_VALUE; k++) {
      gemel__pvalue before = *c->out;
      entry_by_entry(c, &before, &c->in[k], f);
    }
    return;
  }
  gemel__pterm best = c->in[0].list[0];
  for (uint32_t k = 1; k < c->in[0].count; k++) {
    best = f(&c->s->terms, best, c->in[0].list[k]);
  }
  give_integer(c, best);
}

void gemel__meaning_min(const gemel__pcall *c) {
  extreme(c, gemel__p_min);
}

void gemel__meaning_max(const gemel__pcall *c) {
  extreme(c, gemel__p_max);
}

static gemel__pterm larger_of(gemel__pterms *t, gemel__pterm a, gemel__pterm unused) {
  (void)unused;
  return gemel__p_max(t, a, gemel__p_scale(t, a, -1));
}

void gemel__meaning_abs(const gemel__pcall *c) {
  combine(c, "abs", larger_of);
}

void gemel__meaning_add(const gemel__pcall *c) {
  combine(c, "add", gemel__p_add);
}

void gemel__meaning_sub(const gemel__pcall *c) {
  combine(c, "sub", gemel__p_sub);
}

void gemel__meaning_mul(const gemel__pcall *c) {
  combine(c, "mul", gemel__p_mul);
}

void gemel__meaning_div(const gemel__pcall *c) {
  gemel__combine_values(c, "div");
}

static gemel__pterm negative(gemel__pterms *t, gemel__pterm a, gemel__pterm unused) {
  (void)unused;
  return gemel__p_scale(t, a, -1);
}

void gemel__meaning_neg(const gemel__pcall *c) {
  combine(c, "neg", negative);
}

/* Division means something here by positive numbers only. */
static int divides_by_numbers(const gemel__pcall *c) {
  int64_t by[GEMEL__PLIST];
  if (!numbers_of(c, &c->in[1], by)) {
    return 0;
  }
  for (uint32_t k = 0; k < c->in[1].count; k++) {
    if (by[k] < 0) {
      gemel__pscene_stop(c->s, GEMEL__P_OPEN, "a division by a negative number");
    }
    if (by[k] <= 0) {
      return 0;
    }
  }
  return 1;
}

void gemel__meaning_floordiv(const gemel__pcall *c) {
  if (divides_by_numbers(c)) {
    entry_by_entry(c, &c->in[0], &c->in[1], gemel__p_div);
  } else {
    give_nothing(c);
  }
}

void gemel__meaning_mod(const gemel__pcall *c) {
  if (divides_by_numbers(c)) {
    entry_by_entry(c, &c->in[0], &c->in[1], gemel__p_mod);
  } else {
    give_nothing(c);
  }
}

/* ---- Comparisons ---- */

/* All pairs of entries by F; values of constants by operation NAME. */
static void compare(const gemel__pcall *c, const char *name, two f) {
  uint32_t count;
  gemel__pterm all = gemel__p_truth(&c->s->terms, 1);
  if (c->in[0].kind == GEMEL__PV_TRUTH || c->in[1].kind == GEMEL__PV_TRUTH) {
    give_free(c); /* a truth counts as 1 or 0 there */
    return;
  }
  if (is_real(&c->in[0], &c->in[1])) {
    gemel__compare_values(c, name);
    return;
  }
  if (!paired(&c->in[0], &c->in[1], &count)) {
    give_nothing(c);
    return;
  }
  for (uint32_t k = 0; k < count; k++) {
    all =
        gemel__p_and(&c->s->terms, all, f(&c->s->terms, entry(&c->in[0], k), entry(&c->in[1], k)));
  }
  give_truth(c, all);
}

static gemel__pterm equal(const gemel__pcall *c) {
  const gemel__pvalue *a = &c->in[0], *b = &c->in[1];
  uint32_t count;
  if (a->kind == GEMEL__PV_OTHER || b->kind == GEMEL__PV_OTHER || a->kind == GEMEL__PV_TRUTH ||
      b->kind == GEMEL__PV_TRUTH) {
    return gemel__pscene_free_truth(c->s);
  }
  if (a->kind == GEMEL__PV_DTYPE && b->kind == GEMEL__PV_DTYPE && c->s->pass != GEMEL__PASS_ANY) {
    return gemel__p_truth(&c->s->terms, a->sort == b->sort);
  }
  if (a->kind == GEMEL__PV_DTYPE && b->kind == GEMEL__PV_DTYPE) {
    return a->name != NULL && b->name != NULL && strcmp(a->name, b->name) == 0
               ? gemel__p_truth(&c->s->terms, 1)
               : gemel__pscene_free_truth(c->s);
  }
  if (!is_real(a, b) && !paired(a, b, &count)) {
    return gemel__p_truth(&c->s->terms, a->kind == b->kind && a->kind == GEMEL__PV_ABSENT);
  }
  compare(c, "eq", gemel__p_equal);
  return c->out->list[0];
}

void gemel__meaning_eq(const gemel__pcall *c) {
  give_truth(c, equal(c));
}

void gemel__meaning_ne(const gemel__pcall *c) {
  give_truth(c, gemel__p_not(&c->s->terms, equal(c)));
}

void gemel__meaning_lt(const gemel__pcall *c) {
  compare(c, "lt", gemel__p_below);
}

static gemel__pterm at_most(gemel__pterms *t, gemel__pterm a, gemel__pterm b) {
  return gemel__p_at_least(t, b, a);
}

void gemel__meaning_le(const gemel__pcall *c) {
  compare(c, "le", at_most);
}

static gemel__pterm above(gemel__pterms *t, gemel__pterm a, gemel__pterm b) {
  return gemel__p_below(t, b, a);
}

void gemel__meaning_gt(const gemel__pcall *c) {
  compare(c, "gt", above);
}

void gemel__meaning_ge(const gemel__pcall *c) {
  compare(c, "ge", gemel__p_at_least);
}

/* An operand of `and` and `or`: one without a value says nothing. */
static gemel__pterm part(const gemel__pcall *c, const gemel__pvalue *v) {
  return v->kind == GEMEL__PV_NO_VALUE ? gemel__p_truth(&c->s->terms, 0)
                                       : gemel__pvalue_truth(c->s, v);
}

void gemel__meaning_logical_and(const gemel__pcall *c) {
  give_truth(c, gemel__p_and(&c->s->terms, part(c, &c->in[0]), part(c, &c->in[1])));
}

void gemel__meaning_logical_or(const gemel__pcall *c) {
  give_truth(c, gemel__p_or(&c->s->terms, part(c, &c->in[0]), part(c, &c->in[1])));
}

void gemel__meaning_logical_not(const gemel__pcall *c) {
  give_truth(c, gemel__p_not(&c->s->terms, gemel__pvalue_truth(c->s, &c->in[0])));
}

void gemel__meaning_index(const gemel__pcall *c) {
  int64_t at[GEMEL__PLIST];
  if (c->in[0].kind != GEMEL__PV_LIST || !numbers_of(c, &c->in[1], at)) {
    give_nothing(c);
    return;
  }
  give_list(c);
  for (uint32_t k = 0; k < c->in[1].count; k++) {
    if (at[k] < -1 || at[k] >= c->in[0].count) {
      give_nothing(c);
      return;
    }
    append(c, at[k] < 0 ? gemel__p_number(&c->s->terms, -1) : c->in[0].list[at[k]]);
  }
  c->out->kind = c->in[1].kind;
}

/* ---- Is it so? ---- */

void gemel__meaning_scalar(const gemel__pcall *c) {
  give_known(c, c->in[0].tensors[0]->rank == 0);
}

/* What else uses a value the rule doesn't say. */
void gemel__meaning_single_use(const gemel__pcall *c) {
  give_free(c);
}

void gemel__meaning_same(const gemel__pcall *c) {
  if (c->in[0].tensors[0] == c->in[1].tensors[0]) {
    give_known(c, 1);
  } else {
    give_free(c);
  }
}

void gemel__meaning_same_shape(const gemel__pcall *c) {
  const gemel__ptensor *a = c->in[0].tensors[0], *b = c->in[1].tensors[0];
  gemel__pterm all = gemel__p_truth(&c->s->terms, a->rank == b->rank);
  for (int k = 0; k < a->rank && a->rank == b->rank; k++) {
    all = gemel__p_and(&c->s->terms, all, gemel__p_equal(&c->s->terms, a->shape[k], b->shape[k]));
  }
  give_truth(c, all);
}

void gemel__meaning_same_type(const gemel__pcall *c) {
  gemel__pvalue dtypes, *out = c->out;
  const gemel__pcall also = {c->s, c->in, c->n, &dtypes};
  gemel__meaning_same_dtype(&also);
  gemel__meaning_same_shape(c);
  give_truth(c, gemel__p_and(&c->s->terms, out->list[0], dtypes.list[0]));
}

/* ---- The machine ---- */

typedef void (*meaning)(const gemel__pcall *c);

static const meaning meanings[GEMEL__ROW_COUNT] = {
    [GEMEL__FUNCTION_rank] = gemel__meaning_rank,
    [GEMEL__FUNCTION_shape] = gemel__meaning_shape,
    [GEMEL__FUNCTION_dtype] = gemel__meaning_dtype,
    [GEMEL__FUNCTION_elements] = gemel__meaning_elements,
    [GEMEL__FUNCTION_value] = gemel__meaning_value,
    [GEMEL__FUNCTION_bits] = gemel__meaning_bits,
    [GEMEL__FUNCTION_promote] = gemel__meaning_promote,
    [GEMEL__FUNCTION_count] = gemel__meaning_count,
    [GEMEL__FUNCTION_broadcast_shape] = gemel__meaning_broadcast_shape,
    [GEMEL__FUNCTION_length] = gemel__meaning_length,
    [GEMEL__FUNCTION_range] = gemel__meaning_range,
    [GEMEL__FUNCTION_concat] = gemel__meaning_concat,
    [GEMEL__FUNCTION_without] = gemel__meaning_without,
    [GEMEL__FUNCTION_inverse] = gemel__meaning_inverse,
    [GEMEL__FUNCTION_sorted] = gemel__meaning_sorted,
    [GEMEL__FUNCTION_repeat] = gemel__meaning_repeat,
    [GEMEL__FUNCTION_replace] = gemel__meaning_replace,
    [GEMEL__FUNCTION_insert] = gemel__meaning_insert,
    [GEMEL__FUNCTION_remove] = gemel__meaning_remove,
    [GEMEL__FUNCTION_position] = gemel__meaning_position,
    [GEMEL__FUNCTION_places] = gemel__meaning_places,
    [GEMEL__FUNCTION_axes] = gemel__meaning_axes,
    [GEMEL__FUNCTION_product] = gemel__meaning_product,
    [GEMEL__FUNCTION_total] = gemel__meaning_total,
    [GEMEL__FUNCTION_min] = gemel__meaning_min,
    [GEMEL__FUNCTION_max] = gemel__meaning_max,
    [GEMEL__FUNCTION_abs] = gemel__meaning_abs,
    [GEMEL__FUNCTION_contains] = gemel__meaning_contains,
    [GEMEL__FUNCTION_subset] = gemel__meaning_subset,
    [GEMEL__FUNCTION_disjoint] = gemel__meaning_disjoint,
    [GEMEL__FUNCTION_distinct] = gemel__meaning_distinct,
    [GEMEL__FUNCTION_permutation] = gemel__meaning_permutation,
    [GEMEL__FUNCTION_identity] = gemel__meaning_identity,
    [GEMEL__FUNCTION_scalar] = gemel__meaning_scalar,
    [GEMEL__FUNCTION_single_use] = gemel__meaning_single_use,
    [GEMEL__FUNCTION_same] = gemel__meaning_same,
    [GEMEL__FUNCTION_same_shape] = gemel__meaning_same_shape,
    [GEMEL__FUNCTION_same_type] = gemel__meaning_same_type,
    [GEMEL__FUNCTION_constant] = gemel__meaning_constant,
    [GEMEL__FUNCTION_splat] = gemel__meaning_splat,
    [GEMEL__FUNCTION_float] = gemel__meaning_float,
    [GEMEL__FUNCTION_integer] = gemel__meaning_integer,
    [GEMEL__FUNCTION_signed] = gemel__meaning_signed,
    [GEMEL__FUNCTION_unsigned] = gemel__meaning_unsigned,
    [GEMEL__FUNCTION_bool] = gemel__meaning_bool,
    [GEMEL__FUNCTION_numeric] = gemel__meaning_numeric,
    [GEMEL__FUNCTION_exact_cast] = gemel__meaning_exact_cast,
    [GEMEL__FUNCTION_same_dtype] = gemel__meaning_same_dtype,
    [GEMEL__FUNCTION_nonnegative] = gemel__meaning_nonnegative,
    [GEMEL__FUNCTION_positive] = gemel__meaning_positive,
    [GEMEL__FUNCTION_nonzero] = gemel__meaning_nonzero,
    [GEMEL__FUNCTION_not_nan] = gemel__meaning_not_nan,
    [GEMEL__FUNCTION_finite] = gemel__meaning_finite,
    [GEMEL__FUNCTION_power_of_two] = gemel__meaning_power_of_two,
    [GEMEL__OPERATOR_add] = gemel__meaning_add,
    [GEMEL__OPERATOR_sub] = gemel__meaning_sub,
    [GEMEL__OPERATOR_mul] = gemel__meaning_mul,
    [GEMEL__OPERATOR_div] = gemel__meaning_div,
    [GEMEL__OPERATOR_neg] = gemel__meaning_neg,
    [GEMEL__OPERATOR_floordiv] = gemel__meaning_floordiv,
    [GEMEL__OPERATOR_mod] = gemel__meaning_mod,
    [GEMEL__OPERATOR_eq] = gemel__meaning_eq,
    [GEMEL__OPERATOR_ne] = gemel__meaning_ne,
    [GEMEL__OPERATOR_lt] = gemel__meaning_lt,
    [GEMEL__OPERATOR_le] = gemel__meaning_le,
    [GEMEL__OPERATOR_gt] = gemel__meaning_gt,
    [GEMEL__OPERATOR_ge] = gemel__meaning_ge,
    [GEMEL__OPERATOR_logical_and] = gemel__meaning_logical_and,
    [GEMEL__OPERATOR_logical_or] = gemel__meaning_logical_or,
    [GEMEL__OPERATOR_logical_not] = gemel__meaning_logical_not,
    [GEMEL__OPERATOR_index] = gemel__meaning_index,
};

/* Where tensors stand for one element of theirs nothing is known of their axes. */
static int asks_of_axes(uint32_t row) {
  return row == GEMEL__FUNCTION_rank || row == GEMEL__FUNCTION_shape ||
         row == GEMEL__FUNCTION_elements || row == GEMEL__FUNCTION_scalar ||
         row == GEMEL__FUNCTION_same_shape || row == GEMEL__FUNCTION_same_type ||
         row == GEMEL__FUNCTION_broadcast_shape;
}

/* 1 if ROW is a function of numbers of which nothing may be known. */
static int takes_unknown(const gemel__pcall *c, uint32_t row) {
  switch (row) {
  case GEMEL__FUNCTION_min:
  case GEMEL__FUNCTION_max:
    return c->n > 1;
  case GEMEL__FUNCTION_abs:
  case GEMEL__FUNCTION_power_of_two:
    return 1;
  default:
    return row >= GEMEL__OPERATOR_add && row != GEMEL__OPERATOR_floordiv &&
           row != GEMEL__OPERATOR_mod && row != GEMEL__OPERATOR_index;
  }
}

/* Nothing is known of what ROW gives: a number or truth where it is one, but no list. */
static void give_unknown(const gemel__pcall *c, uint32_t row) {
  give_real_unknown(c);
  if (!c->s->pointwise && row != GEMEL__OPERATOR_floordiv && row != GEMEL__OPERATOR_mod) {
    gemel__pscene_stop(c->s, GEMEL__P_OPEN, "%s() of a number that isn't known here",
                       gemel__function_rows[row].name);
  }
}

/* 1 if V is what LETTER of functions.def asks for, a number that isn't known being any; where it
 * isn't, a rule has no value when it is applied, either. A truth where a number is asked for ends
 * the scene: it is one there. */
static int fits(const gemel__pcall *c, const gemel__pvalue *v, char letter) {
  switch (letter) {
  case 't':
  case 'g':
    return v->kind == GEMEL__PV_TENSOR;
  case 's':
    return v->kind == GEMEL__PV_TENSORS;
  case 'k':
    return v->kind == GEMEL__PV_TENSOR || v->kind == GEMEL__PV_DTYPE;
  case 'd':
    return v->kind == GEMEL__PV_DTYPE;
  case '?':
    return 1;
  case '.':
    return v->kind != GEMEL__PV_NO_VALUE;
  default:
    break;
  }
  if (v->kind == GEMEL__PV_TRUTH) {
    gemel__pscene_stop(c->s, GEMEL__P_OPEN, "a truth where a number is asked for");
  }
  return v->kind == GEMEL__PV_REAL || (v->kind == GEMEL__PV_INTEGER && letter != 'l') ||
         (v->kind == GEMEL__PV_LIST && letter != 'n' && letter != 'v') ||
         (v->kind == GEMEL__PV_ABSENT && letter == 'x');
}

static void apply(const gemel__pcall *c, uint32_t row) {
  const char *letter = gemel__function_rows[row].kinds;
  int unknown = 0;
  for (uint32_t k = 0; k < c->n; k++) {
    if (!fits(c, &c->in[k], *letter)) {
      give_nothing(c);
      return;
    }
    letter += letter[1] != '\0';
    unknown |= c->in[k].kind == GEMEL__PV_REAL;
  }
  if (meanings[row] == NULL) {
    gemel__pscene_stop(c->s, GEMEL__P_OPEN, "%s() in a condition or attribute",
                       gemel__function_rows[row].name);
  } else if ((c->s->pointwise && asks_of_axes(row)) || (unknown && !takes_unknown(c, row))) {
    give_unknown(c, row);
  } else {
    meanings[row](c);
  }
}

/* One list of all entries of the operands. */
static void make_list(const gemel__pcall *c) {
  for (uint32_t k = 0; k < c->n; k++) {
    if (!fits(c, &c->in[k], 'e')) {
      give_nothing(c);
      return;
    }
    if (c->in[k].kind == GEMEL__PV_REAL) {
      gemel__pscene_stop(c->s, GEMEL__P_OPEN, "a list of a number that isn't known here");
    }
  }
  gemel__meaning_concat(c);
}

/* What CODE leaves on top of the stack, of which IN are the operands. */
static void run_code(gemel__pscene *s, const gemel__termcode *code, gemel__pvalue *in,
                     gemel__pvalue *out) {
  const gemel__pcall c = {s, in, code->count, out};
  memset(out, 0, sizeof *out);
  switch (code->kind) {
  case GEMEL__TERMCODE_FUNCTION:
    apply(&c, code->index);
    return;
  case GEMEL__TERMCODE_NUMBER:
    give_number(&c, code->value);
    return;
  case GEMEL__TERMCODE_VARIABLE:
    *out = s->variables[code->index];
    if (!s->bound[code->index]) {
      gemel__pscene_stop(s, GEMEL__P_OPEN, "%s is used before it is bound",
                         s->rule->variables[code->index].name);
    }
    return;
  case GEMEL__TERMCODE_LIST:
    make_list(&c);
    return;
  case GEMEL__TERMCODE_DTYPE:
    out->kind = GEMEL__PV_DTYPE;
    out->name = gemel_dtype_name((gemel_dtype)code->index);
    out->sort = s->pass == GEMEL__PASS_ANY ? GEMEL__PSORT_ELEMENT
                                           : gemel__psort_of((gemel_dtype)code->index);
    return;
  case GEMEL__TERMCODE_REAL:
    gemel__give_real_value(&c, code->real);
    return;
  default:
    out->kind = code->kind == GEMEL__TERMCODE_ABSENT ? GEMEL__PV_ABSENT : GEMEL__PV_OTHER;
  }
}

void gemel__pscene_evaluate(gemel__pscene *s, const gemel__termexpr *expr, gemel__pvalue *value) {
  gemel__pvalue stack[GEMEL__TERM_STACK], made;
  uint32_t top = 0;
  for (uint32_t k = 0; k < expr->count && s->flow == GEMEL__P_GO; k++) {
    uint32_t taken =
        expr->code[k].kind == GEMEL__TERMCODE_FUNCTION || expr->code[k].kind == GEMEL__TERMCODE_LIST
            ? expr->code[k].count
            : 0;
    top -= taken;
    run_code(s, &expr->code[k], &stack[top], &made);
    if (s->right) {
      gemel__pscene_bound(s, &made);
    }
    stack[top++] = made;
  }
  if (s->flow == GEMEL__P_GO) {
    *value = stack[0];
  }
}

gemel__pterm gemel__pvalue_truth(gemel__pscene *s, const gemel__pvalue *value) {
  int64_t number;
  if (value->kind == GEMEL__PV_TRUTH) {
    return value->list[0];
  }
  if (value->kind == GEMEL__PV_REAL) {
    return gemel__pscene_free_truth(s);
  }
  if (value->kind == GEMEL__PV_INTEGER && gemel__p_is_number(&s->terms, value->list[0], &number)) {
    return gemel__p_truth(&s->terms, number != 0);
  }
  gemel__pscene_stop(s, GEMEL__P_OPEN, "a condition that is no truth");
  return 0;
}
