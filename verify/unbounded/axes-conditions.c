/* SPDX-License-Identifier: MIT
 *
 * Types of conditions. Each says how many axes must be kept for it to stay true, and to stay false
 * (doc/ranks.md, Lemma 2). A condition as a whole also says that sorts are one, or how many axes
 * there are.
 */
#include "unbounded/axes-typing.h"

/* ---- Of tensors and numbers ---- */

static void type_free(const typing *t) {
  give_truth(t, 0, 0);
}

static void type_scalar(const typing *t) {
  if (t->top) {
    gemel__axes_set_count(t->x, t->in[0].of, 0);
  }
  give_truth(t, 0, 1);
}

static void have_one_shape(gemel__axes *x, const gemel__axes_text *a, const gemel__axes_text *b) {
  if (a->kind == GEMEL__TERMCODE_VARIABLE && b->kind == GEMEL__TERMCODE_VARIABLE) {
    unsigned char one = x->shapes[a->index], other = x->shapes[b->index];
    for (uint32_t k = 0; k < GEMEL__RULE_VARIABLES; k++) {
      x->shapes[k] = x->shapes[k] == other ? one : x->shapes[k];
    }
  }
}

static void type_same_shape(const typing *t) {
  uint16_t a = t->in[0].of, b = t->in[1].of;
  if (t->top) {
    gemel__axes_unite(t->x, a, b);
    have_one_shape(t->x, &t->x->texts[t->in[0].text], &t->x->texts[t->in[1].text]);
  }
  int aligned = gemel__axes_aligned(t->x, a, b);
  give_truth(t, aligned ? 0 : GEMEL__AXES_ALL, aligned ? 1 : GEMEL__AXES_ALL);
}

/* Said of one number, or of each of a list: of sizes, and of reals of which nothing is known. */
static int are_sizes(const typing *t) {
  for (uint32_t k = 0; k < t->n; k++) {
    const gemel__axes_value *v = &t->in[k];
    if (!is_written(v) && !has_sizes(v) && v->kind != GEMEL__AXES_IS_OTHER) {
      no_type(t, "what isn't said of a size");
      return 0;
    }
  }
  return 1;
}

static void type_of_number(const typing *t) {
  if (are_sizes(t)) {
    give_truth(t, 0, is_list(&t->in[0]) ? 1 : 0);
  }
}

/* ---- Comparisons ---- */

enum { EQ, NE, LT, LE, GT, GE };

static int comparison(const typing *t) {
  switch (t->x->expr->code[t->x->code].index) {
  case GEMEL__OPERATOR_eq:
    return EQ;
  case GEMEL__OPERATOR_ne:
    return NE;
  case GEMEL__OPERATOR_lt:
    return LT;
  case GEMEL__OPERATOR_le:
    return LE;
  case GEMEL__OPERATOR_gt:
    return GT;
  default:
    return GE;
  }
}

static int at_least_0(int64_t a) {
  return a < 0 ? 0 : a > GEMEL__AXES_ALL ? GEMEL__AXES_ALL : (int)a;
}

/* Compares LENGTH, the number of axes of a sort plus a constant, with N. IS axes of the sort show
 * that it is at least N, MORE axes that it is above N. */
static void compare_length(const typing *t, int op, const gemel__axes_value *length, int64_t n) {
  int64_t least = n - length->number;
  int is = at_least_0(least), more = at_least_0(least + 1);
  int holds = op == EQ || op == GE ? is : op == GT || op == NE ? more : 0;
  int fails = op == NE || op == LT ? is : op == EQ || op == LE ? more : 0;
  if (t->top) {
    gemel__axes_keep_first(t->x, length->of, holds);
    if (op == EQ) {
      gemel__axes_set_count(t->x, length->of, least);
    }
    holds = 0;
  }
  give_truth(t, holds, fails);
}

/* The sort that SORT's axes are some of, each once: a list of axes is of the sort of its entries.
 * -1: there is none, or that isn't known. */
static int whole_of(gemel__axes *x, uint16_t sort) {
  const gemel__axes_sort *s = &x->sorts[sort];
  if (s->how == GEMEL__AXES_ENTRIES) {
    const gemel__axes_text *text = &x->texts[s->key];
    return text->kind == GEMEL__TERMCODE_FUNCTION && text->index == GEMEL__FUNCTION_places ? s->a
                                                                                           : -1;
  }
  return s->how == GEMEL__AXES_WITHOUT || (s->how == GEMEL__AXES_LIST && x->proper[s->key]) ? s->a
                                                                                            : -1;
}

/* 1 if PART's axes are some of those of OF: if there are as many, all. */
static int is_part(gemel__axes *x, uint16_t part, uint16_t of) {
  int sort = gemel__axes_find(x, part);
  for (uint32_t k = 0; k < x->n_sorts && sort >= 0; k++) {
    sort = whole_of(x, (uint16_t)sort);
    sort = sort >= 0 ? gemel__axes_find(x, (uint16_t)sort) : -1;
    if (sort >= 0 && gemel__axes_same(x, (uint16_t)sort, of)) {
      return 1;
    }
  }
  return 0;
}

static void compare_lengths(const typing *t, int op) {
  gemel__axes *x = t->x;
  uint16_t a = t->in[0].of, b = t->in[1].of;
  int parts = is_part(x, a, b) || is_part(x, b, a) || gemel__axes_same(x, a, b);
  if (t->in[0].number != t->in[1].number) {
    no_type(t, "numbers of axes with something added");
    return;
  }
  if (t->top && op == EQ) {
    gemel__axes_as_long(x, a, b);
    if (!parts && x->left_typed) {
      gemel__axes_unite(x, a, b);
    }
  } else if (!parts && !gemel__axes_aligned(x, a, b)) {
    no_type(t, "numbers of axes that have nothing to do with each other");
    return;
  }
  give_truth(t, op == EQ ? 0 : op == GE || op == LE ? 1 : 1, 1);
}

/* An axis, or each axis of a list, against the number N. */
static void compare_axis_number(const typing *t, int op, const gemel__axes_value *axis, int64_t n) {
  int keep = at_least_0(n + 1);
  if (op == GE && n == 0) {
    give_truth(t, 0, is_list(axis) ? 1 : 0);
  } else if (is_list(axis)) {
    no_type(t, "axes against a number");
  } else {
    give_truth(t, keep, keep);
  }
}

/* A product of sizes against a number: that it is 1, or above 0, is so of each size. */
static void compare_sizes(const typing *t, int op, int64_t n) {
  if ((op == EQ && n == 1) || (op == GT && n == 0) || (op == GE && n == 1) ||
      (op == NE && n == 0)) {
    give_truth(t, 0, 1);
  } else if ((op == NE && n == 1) || (op == EQ && n == 0)) {
    give_truth(t, 1, 0);
  } else {
    no_type(t, "a number of elements");
  }
}

static uint16_t length_sort(gemel__axes *x, const gemel__axes_value *v) {
  return gemel__axes_find(x, v->over);
}

/* A list of axes against one: the same list says what the axis is. */
static int give_single_axis(const typing *t, int op) {
  gemel__axes *x = t->x;
  for (int k = 0; k < 2; k++) {
    const gemel__axes_value *a = &t->in[k], *one = &t->in[1 - k];
    if (op == EQ && is_list(a) && is_list(one) && t->top && has_axes(a) && has_axes(one) &&
        x->sorts[length_sort(x, one)].how == GEMEL__AXES_ENTRIES &&
        x->sorts[length_sort(x, one)].count == 1) {
      const gemel__axes_text *text = &x->texts[a->text];
      if (text->kind == GEMEL__TERMCODE_VARIABLE && x->alias[text->index] == 0) {
        x->alias[text->index] = one->text;
        x->changed = 1;
      }
      gemel__axes_set_count(x, a->over, 1);
      give_truth(t, 0, GEMEL__AXES_ALL);
      return 1;
    }
  }
  return 0;
}

static void compare_axes(const typing *t, int op) {
  gemel__axes *x = t->x;
  const gemel__axes_value *a = &t->in[0], *b = &t->in[1];
  if (!gemel__axes_same(x, a->of, b->of)) {
    gemel__axes_clash(x, a->of, b->of);
    return;
  }
  if (give_single_axis(t, op)) {
    return;
  }
  if (!is_list(a) || !is_list(b)) {
    int lists = is_list(a) || is_list(b);
    give_truth(t, op == NE && lists ? 1 : 0, op != NE && lists ? 1 : 0);
    return;
  }
  if (t->top && op == EQ) {
    gemel__axes_unite(x, a->over, b->over);
  }
  if (!gemel__axes_same(x, a->over, b->over)) {
    no_type(t, "lists over other axes");
    return;
  }
  give_truth(t, op == NE ? 1 : 0, op != NE ? 1 : 0);
}

/* Sizes and numbers, entry by entry. */
static void compare_entries(const typing *t, int op) {
  gemel__axes *x = t->x;
  const gemel__axes_value *a = &t->in[0], *b = &t->in[1];
  int lists = is_list(a) || is_list(b);
  if (is_list(a) && is_list(b)) {
    int count = gemel__axes_count(x, b->over) == 0 || gemel__axes_count(x, a->over) == 0;
    if (t->top && op != NE && !count) {
      gemel__axes_unite(x, a->over, b->over);
    }
    if (!gemel__axes_aligned(x, a->over, b->over) && !(count && (op == EQ || op == NE))) {
      no_type(t, "lists over other axes");
      return;
    }
  }
  give_truth(t, op == NE && lists ? 1 : 0, op != NE && lists ? 1 : 0);
}

static int is_empty(const typing *t, const gemel__axes_value *v) {
  return is_list(v) && gemel__axes_count(t->x, v->over) == 0;
}

/* Against a number that is written out: 1 if that is what it is. */
static int compare_number(const typing *t, int op, const gemel__axes_value *a, int64_t n) {
  if (is_single(a, GEMEL__AXES_LENGTH)) {
    compare_length(t, op, a, n);
  } else if (has_axes(a)) {
    compare_axis_number(t, op, a, n);
  } else if (is_single(a, GEMEL__AXES_SIZES)) {
    compare_sizes(t, op, n);
  } else {
    return 0;
  }
  return 1;
}

static void type_compare(const typing *t) {
  static const int swapped[] = {EQ, NE, GT, GE, LT, LE};
  const gemel__axes_value *a = &t->in[0], *b = &t->in[1];
  int op = comparison(t);
  int64_t n;
  if (a->kind == GEMEL__AXES_IS_OTHER || b->kind == GEMEL__AXES_IS_OTHER) {
    int lists = are_sizes(t) && (is_list(a) || is_list(b));
    give_truth(t, op == NE && lists, op != NE && lists);
    return;
  }
  if ((is_number(b, &n) && compare_number(t, op, a, n)) ||
      (is_number(a, &n) && compare_number(t, swapped[op], b, n))) {
    return;
  }
  if (is_single(a, GEMEL__AXES_LENGTH) && is_single(b, GEMEL__AXES_LENGTH)) {
    compare_lengths(t, op);
  } else if (has_axes(a) && has_axes(b)) {
    compare_axes(t, op);
  } else if ((is_written(a) || has_sizes(a)) && (is_written(b) || has_sizes(b))) {
    compare_entries(t, op);
  } else if ((op == EQ || op == NE) && is_list(a) && is_list(b) &&
             (is_empty(t, a) || is_empty(t, b))) {
    give_truth(t, op == NE, op == EQ);
  } else {
    no_type(t, "a comparison of what doesn't go together");
  }
}

/* ---- Truths ---- */

static int sum_of(int a, int b) {
  return a + b > GEMEL__AXES_ALL ? GEMEL__AXES_ALL : a + b;
}

static int larger(int a, int b) {
  return a > b ? a : b;
}

static int are_truths(const typing *t) {
  for (uint32_t k = 0; k < t->n; k++) {
    if (t->in[k].kind != GEMEL__AXES_IS_TRUTH) {
      no_type(t, "a condition that is no truth");
      return 0;
    }
  }
  return 1;
}

static void type_and(const typing *t) {
  if (are_truths(t)) {
    give_truth(t, sum_of(t->in[0].holds, t->in[1].holds), larger(t->in[0].fails, t->in[1].fails));
  }
}

static void type_or(const typing *t) {
  if (are_truths(t)) {
    give_truth(t, larger(t->in[0].holds, t->in[1].holds), sum_of(t->in[0].fails, t->in[1].fails));
  }
}

static void type_not(const typing *t) {
  const gemel__axes_text *text = &t->x->texts[t->in[0].text];
  if (!are_truths(t)) {
    return;
  }
  if (t->top && text->kind == GEMEL__TERMCODE_FUNCTION && text->index == GEMEL__FUNCTION_contains) {
    const gemel__axes_text *list = &t->x->texts[text->operands[0]];
    const gemel__axes_text *entry = &t->x->texts[text->operands[1]];
    int is_minus_one = entry->kind == GEMEL__TERMCODE_NUMBER && entry->value == -1;
    if (is_minus_one && list->kind == GEMEL__TERMCODE_VARIABLE &&
        has_axes(&t->x->variables[list->index])) {
      t->x->changed |= !t->x->proper[list->index];
      t->x->proper[list->index] = 1;
    }
  }
  give_truth(t, t->in[0].fails, t->in[0].holds);
}

/* An entry that is one, or that all are: of axes of one sort, or of sizes. */
static int may_contain(const typing *t, const gemel__axes_value *list,
                       const gemel__axes_value *entry) {
  if (is_written(list) && (is_written(entry) || entry->kind == GEMEL__AXES_IS_OTHER)) {
    return 1;
  }
  if (has_axes(list) && has_axes(entry)) {
    if (!gemel__axes_same(t->x, list->of, entry->of)) {
      gemel__axes_clash(t->x, entry->of, list->of);
      return 0;
    }
    return 1;
  }
  if ((has_axes(list) && is_new(entry)) ||
      (has_sizes(list) && !is_list(entry) && (has_sizes(entry) || is_written(entry)))) {
    return 1;
  }
  no_type(t, "entries of which it isn't known what they are");
  return 0;
}

static void type_contains(const typing *t) {
  if (may_contain(t, &t->in[0], &t->in[1])) {
    give_truth(t, is_single(&t->in[1], GEMEL__AXES_AXIS) || is_written(&t->in[0]) ? 0 : 1, 0);
  }
}

static void type_subset(const typing *t) {
  if (may_contain(t, &t->in[1], &t->in[0])) {
    give_truth(t, 0, 1);
  }
}

static void type_disjoint(const typing *t) {
  if (may_contain(t, &t->in[0], &t->in[1])) {
    give_truth(t, 0, 1);
  }
}

/* What two entries show that it isn't so: one twice, out of order, or one that is missing. */
static void type_order(const typing *t) {
  const gemel__axes_text *text = &t->x->texts[t->in[0].text];
  if (!is_list(&t->in[0]) || !has_axes(&t->in[0])) {
    no_type(t, "what aren't axes");
    return;
  }
  if (t->top && text->kind == GEMEL__TERMCODE_VARIABLE) {
    t->x->changed |= !t->x->proper[text->index];
    t->x->proper[text->index] = 1;
  }
  give_truth(t, 0, 2);
}

/* ---- The table ---- */

const gemel__axes_type gemel__axes_conditions[GEMEL__ROW_COUNT] = {
    [GEMEL__FUNCTION_contains] = type_contains,
    [GEMEL__FUNCTION_subset] = type_subset,
    [GEMEL__FUNCTION_disjoint] = type_disjoint,
    [GEMEL__FUNCTION_permutation] = type_order,
    [GEMEL__FUNCTION_identity] = type_order,
    [GEMEL__FUNCTION_constant] = type_free,
    [GEMEL__FUNCTION_splat] = type_free,
    [GEMEL__FUNCTION_single_use] = type_free,
    [GEMEL__FUNCTION_float] = type_free,
    [GEMEL__FUNCTION_integer] = type_free,
    [GEMEL__FUNCTION_signed] = type_free,
    [GEMEL__FUNCTION_unsigned] = type_free,
    [GEMEL__FUNCTION_bool] = type_free,
    [GEMEL__FUNCTION_numeric] = type_free,
    [GEMEL__FUNCTION_exact_cast] = type_free,
    [GEMEL__FUNCTION_same] = type_free,
    [GEMEL__FUNCTION_same_dtype] = type_free,
    [GEMEL__FUNCTION_nonnegative] = type_free,
    [GEMEL__FUNCTION_positive] = type_free,
    [GEMEL__FUNCTION_nonzero] = type_free,
    [GEMEL__FUNCTION_not_nan] = type_free,
    [GEMEL__FUNCTION_finite] = type_free,
    [GEMEL__OPERATOR_eq] = type_compare,
    [GEMEL__OPERATOR_ne] = type_compare,
    [GEMEL__OPERATOR_lt] = type_compare,
    [GEMEL__OPERATOR_le] = type_compare,
    [GEMEL__OPERATOR_gt] = type_compare,
    [GEMEL__OPERATOR_ge] = type_compare,
    [GEMEL__OPERATOR_logical_and] = type_and,
    [GEMEL__OPERATOR_logical_or] = type_or,
    [GEMEL__OPERATOR_logical_not] = type_not,
    [GEMEL__FUNCTION_scalar] = type_scalar,
    [GEMEL__FUNCTION_same_type] = type_same_shape,
    [GEMEL__FUNCTION_same_shape] = type_same_shape,
    [GEMEL__FUNCTION_power_of_two] = type_of_number,
};
