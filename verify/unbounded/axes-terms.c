/* SPDX-License-Identifier: MIT
 *
 * Types of attribute expressions and conditions: a stack machine for the code that rules are
 * compiled to, with a function here for each row of lib/rules/functions.def that treats axes alike.
 * What has no row has no type. Each function must be natural: its value for what is left of its
 * operands, when axes are struck out, is what is left of its value (doc/ranks.md).
 */
#include <string.h>
#include "unbounded/axes-typing.h"

int gemel__axes_are(gemel__axes *x, const gemel__axes_value *v, uint16_t sort) {
  if (is_written(v)) {
    gemel__axes_keep_first(x, sort, v->number + 1);
    return 1;
  }
  if (!has_axes(v)) {
    gemel__axes_fail(x, "no axes of which it is known whose they are");
    return 0;
  }
  if (!gemel__axes_same(x, v->of, sort)) {
    gemel__axes_clash(x, v->of, sort);
    return 0;
  }
  return 1;
}

/* ---- Tensors ---- */

static void type_rank(const typing *t) {
  give_single(t, GEMEL__AXES_LENGTH, t->in[0].of, 0);
}

static void type_shape(const typing *t) {
  give_list(t, GEMEL__AXES_SIZE, 0, t->in[0].of);
  t->out->natural = 1;
}

static void type_elements(const typing *t) {
  give_single(t, GEMEL__AXES_SIZES, t->in[0].of, 0);
}

static void type_other(const typing *t) {
  t->out->kind = GEMEL__AXES_IS_OTHER;
}

static void type_count(const typing *t) {
  type_other(t);
}

static void type_broadcast_shape(const typing *t) {
  const gemel__axes_value *a = &t->in[0], *b = &t->in[1];
  if (!is_list(a) || !is_list(b) || !has_sizes(a) || !has_sizes(b) ||
      !gemel__axes_aligned(t->x, a->over, b->over)) {
    no_type(t, "shapes that aren't known to be aligned");
    return;
  }
  give_list(t, GEMEL__AXES_SIZE, 0,
            gemel__axes_make(t->x, GEMEL__AXES_BROADCAST, a->over, b->over, 0));
  t->out->natural = a->natural && b->natural;
}

/* ---- Lists ---- */

static void type_length(const typing *t) {
  if (is_list(&t->in[0])) {
    give_single(t, GEMEL__AXES_LENGTH, t->in[0].over, 0);
  } else {
    give_single(t, GEMEL__AXES_NUMBER, 0, 1);
  }
}

static int is_length(const gemel__axes_value *v, int64_t plus) {
  return is_single(v, GEMEL__AXES_LENGTH) && v->number == plus;
}

static void type_range(const typing *t) {
  const gemel__axes_value *to = &t->in[t->n - 1];
  if (t->n == 1 && is_length(to, 0)) {
    const gemel__axes_sort *s = &t->x->sorts[gemel__axes_find(t->x, to->of)];
    give_list(t, GEMEL__AXES_AXIS, s->how == GEMEL__AXES_FRONT ? s->a : to->of, to->of);
    t->out->natural = 1;
    return;
  }
  if (t->n == 2 && is_length(&t->in[0], 0) && is_length(to, 0)) {
    const gemel__axes_sort *s = &t->x->sorts[gemel__axes_find(t->x, t->in[0].of)];
    if (s->how == GEMEL__AXES_FRONT && gemel__axes_same(t->x, s->a, to->of)) {
      give_list(t, GEMEL__AXES_AXIS, to->of, s->b);
      t->out->natural = 1;
      return;
    }
  }
  no_type(t, "a range of numbers that aren't a number of axes");
}

/* 1 if the expression is range(n): each axis itself. */
static int is_range(const gemel__axes *x, uint32_t text) {
  return x->texts[text].kind == GEMEL__TERMCODE_FUNCTION &&
         x->texts[text].index == GEMEL__FUNCTION_range && x->texts[text].count == 1;
}

static void type_without(const typing *t) {
  const gemel__axes_value *a = &t->in[0], *b = &t->in[1];
  if (!is_list(a) || !has_axes(a)) {
    no_type(t, "without() of what aren't axes");
    return;
  }
  if (!is_new(b) && !gemel__axes_are(t->x, b, a->of)) {
    return;
  }
  give_list(t, GEMEL__AXES_AXIS, a->of,
            gemel__axes_make(t->x, GEMEL__AXES_WITHOUT, a->over, 0,
                             is_range(t->x, a->text) ? b->text : t->out->text));
  t->out->natural = a->natural || is_new(b);
}

static void type_inverse(const typing *t) {
  const gemel__axes_value *p = &t->in[0];
  if (!is_list(p) || !has_axes(p) || !gemel__axes_same_length(t->x, p->over, p->of)) {
    no_type(t, "inverse() of a list that isn't known to have all axes");
    return;
  }
  give_list(t, GEMEL__AXES_AXIS, p->over, p->of);
  t->out->natural = 1;
}

static void type_sorted(const typing *t) {
  if (!is_list(&t->in[0]) || !has_axes(&t->in[0])) {
    no_type(t, "sorted() of what aren't axes");
    return;
  }
  give_list(t, GEMEL__AXES_AXIS, t->in[0].of,
            gemel__axes_make(t->x, GEMEL__AXES_ENTRIES, t->in[0].of, 0, t->out->text));
  t->out->natural = t->in[0].natural;
}

static void type_repeat(const typing *t) {
  const gemel__axes_value *v = &t->in[0];
  if (!is_length(&t->in[1], 0) || (!is_written(v) && !has_sizes(v)) || is_list(v)) {
    no_type(t, "repeat() of what isn't a size, or not so often as there are axes");
    return;
  }
  give_list(t, v->entry, 0, t->in[1].of);
  t->out->number = v->number;
  t->out->natural = v->natural;
}

/* 1 if V may stand at the positions AT of a list like A: sizes for sizes, or axes that go with
 * these positions. */
static int may_stand(const typing *t, const gemel__axes_value *a, const gemel__axes_value *at,
                     const gemel__axes_value *v) {
  if (is_list(v) && !(is_list(at) && gemel__axes_same(t->x, v->over, at->over))) {
    return 0;
  }
  if (!has_axes(a) && !(is_new(a) && has_axes(v))) {
    return !has_axes(v) && (is_written(v) || has_sizes(v));
  }
  return is_new(v) || (has_axes(v) && (is_new(a) || gemel__axes_same(t->x, a->of, v->of)) &&
                       is_list(v) == is_list(at));
}

static void give_like(const typing *t, const gemel__axes_value *a, const gemel__axes_value *v,
                      uint16_t over) {
  int entry = a->entry;
  if (a->entry == GEMEL__AXES_NUMBER && v->entry != GEMEL__AXES_NUMBER) {
    entry = v->entry;
  }
  give_list(t, entry, a->entry == GEMEL__AXES_AXIS ? a->of : v->of, over);
  t->out->number = a->number > v->number ? a->number : v->number;
  t->out->natural = a->natural && v->natural;
  if (entry == GEMEL__AXES_NUMBER && a->number != v->number) {
    t->out->entry = GEMEL__AXES_SIZE; /* numbers of which only that is known */
  }
}

static void type_replace(const typing *t) {
  const gemel__axes_value *a = &t->in[0], *at = &t->in[1], *v = &t->in[2];
  if (!is_list(a) || !gemel__axes_are(t->x, at, a->over)) {
    no_type(t, "replace() at what aren't places of the list");
  } else if (!may_stand(t, a, at, v)) {
    no_type(t, "replace() by what doesn't go with the places");
  } else {
    give_like(t, a, v, a->over);
  }
}

static void type_insert(const typing *t) {
  gemel__axes *x = t->x;
  const gemel__axes_value *a = &t->in[0], *at = &t->in[1], *v = &t->in[2];
  if (!is_list(a) || !has_axes(at)) {
    no_type(t, "insert() at what aren't known to be places");
    return;
  }
  uint16_t rest = gemel__axes_make(x, GEMEL__AXES_WITHOUT, at->of, 0, at->text);
  if (!gemel__axes_same(x, a->over, rest)) {
    no_type(t, "insert() into a list of other places");
  } else if (!may_stand(t, a, at, v)) {
    no_type(t, "insert() of what doesn't go with the places");
  } else {
    give_like(t, a, v, at->of);
  }
}

static void type_remove(const typing *t) {
  const gemel__axes_value *a = &t->in[0];
  if (!is_list(a) || !gemel__axes_are(t->x, &t->in[1], a->over)) {
    no_type(t, "remove() of what aren't places of the list");
    return;
  }
  *t->out = *a;
  t->out->over = gemel__axes_make(t->x, GEMEL__AXES_WITHOUT, a->over, 0, t->in[1].text);
}

static void type_position(const typing *t) {
  const gemel__axes_value *a = &t->in[0], *v = &t->in[1];
  if (!is_list(a) || !has_axes(a) || !has_axes(v)) {
    no_type(t, "position() of what aren't axes");
  } else if (!gemel__axes_same(t->x, a->of, v->of)) {
    gemel__axes_clash(t->x, v->of, a->of);
  } else if (is_list(v)) {
    give_list(t, GEMEL__AXES_AXIS, a->over, v->over);
  } else {
    give_single(t, GEMEL__AXES_AXIS, a->over, 0);
  }
}

static void type_places(const typing *t) {
  const gemel__axes_value *a = &t->in[0], *v = &t->in[1];
  int sizes = has_sizes(a) && (has_sizes(v) || is_written(v));
  int axes = has_axes(a) && (is_new(v) || (has_axes(v) && gemel__axes_same(t->x, a->of, v->of)));
  if (!is_list(a) || is_list(v) || (!sizes && !axes)) {
    no_type(t, "places() of what isn't an entry for an axis");
    return;
  }
  give_list(t, GEMEL__AXES_AXIS, a->over,
            gemel__axes_make(t->x, GEMEL__AXES_ENTRIES, a->over, 0, t->out->text));
  t->out->natural = 1;
}

static void type_product(const typing *t) {
  if (!is_list(&t->in[0]) || !has_sizes(&t->in[0]) || !t->in[0].natural) {
    no_type(t, "product() of what aren't sizes");
    return;
  }
  give_single(t, GEMEL__AXES_SIZES, t->in[0].over, 0);
}

/* ---- Lists that are put together ---- */

/* [-1, ..., -1] for axes in front, then a list over the others. */
static int give_aligned_list(const typing *t) {
  const gemel__axes_value *front = &t->in[0], *rest = &t->in[1];
  if (t->n != 2 || !is_list(front) || !is_written(front) || !is_list(rest)) {
    return 0;
  }
  const gemel__axes_sort *s = &t->x->sorts[gemel__axes_find(t->x, front->over)];
  if (s->how != GEMEL__AXES_FRONT || !gemel__axes_same(t->x, s->b, rest->over) ||
      (has_axes(rest) && front->number != -1)) {
    return 0;
  }
  give_list(t, rest->entry, rest->of, s->a);
  t->out->natural = rest->natural && front->natural;
  return 1;
}

/* A list of sizes, and one number behind it. */
static int give_and_one(const typing *t) {
  if (t->n != 2 || !is_list(&t->in[0]) || !has_sizes(&t->in[0]) || !is_written(&t->in[1]) ||
      is_list(&t->in[1])) {
    return 0;
  }
  give_list(t, GEMEL__AXES_SIZE, 0,
            gemel__axes_make(t->x, GEMEL__AXES_AND_ONE, t->in[0].over, 0, 0));
  t->out->natural = t->in[0].natural && t->in[1].natural;
  return 1;
}

/* Axes of one sort, single ones and lists. */
static int give_axes(const typing *t) {
  int single = t->n == 1 && !is_list(&t->in[0]), natural = 1;
  for (uint32_t k = 0; k < t->n; k++) {
    if (!has_axes(&t->in[k])) {
      return 0;
    }
    natural &= t->in[k].natural;
  }
  for (uint32_t k = 1; k < t->n; k++) {
    if (!gemel__axes_same(t->x, t->in[k].of, t->in[0].of)) {
      gemel__axes_clash(t->x, t->in[k].of, t->in[0].of);
    }
  }
  if (t->n == 1 && !single) {
    *t->out = t->in[0];
    return 1;
  }
  give_list(t, GEMEL__AXES_AXIS, t->in[0].of,
            gemel__axes_make(t->x, GEMEL__AXES_ENTRIES, t->in[0].of, 0, t->out->text));
  t->out->natural = (unsigned char)natural;
  if (single) {
    gemel__axes_set_count(t->x, t->out->over, 1);
  }
  return 1;
}

/* Single numbers or sizes, written one behind the other. */
static int give_written(const typing *t) {
  int entry = GEMEL__AXES_NUMBER, natural = 1;
  int64_t most = -1;
  for (uint32_t k = 0; k < t->n; k++) {
    if (is_list(&t->in[k]) || (!is_written(&t->in[k]) && !has_sizes(&t->in[k]))) {
      return 0;
    }
    entry = has_sizes(&t->in[k]) ? GEMEL__AXES_SIZE : entry;
    most = t->in[k].number > most ? t->in[k].number : most;
    natural &= t->in[k].natural;
  }
  give_list(t, entry, 0, gemel__axes_make(t->x, GEMEL__AXES_NUMBERS, 0, 0, t->out->text));
  gemel__axes_set_count(t->x, t->out->over, t->n);
  t->out->number = most;
  t->out->natural = (unsigned char)natural;
  return 1;
}

static void type_concat(const typing *t) {
  if (!give_aligned_list(t) && !give_and_one(t) && !(t->n > 0 && give_axes(t)) &&
      !give_written(t)) {
    no_type(t, "a list of entries that don't go together");
  }
}

static void type_index(const typing *t) {
  const gemel__axes_value *a = &t->in[0], *b = &t->in[1];
  int64_t number;
  if (!is_list(a) || a->entry == GEMEL__AXES_SIZES) {
    no_type(t, "an entry of what is no list");
    return;
  }
  if (!gemel__axes_are(t->x, b, a->over)) {
    return;
  }
  if (is_number(b, &number) && number < 0) {
    give_single(t, GEMEL__AXES_NUMBER, 0, -1);
    return;
  }
  if (is_list(b)) {
    give_list(t, a->entry, a->of, b->over);
  } else {
    give_single(t, a->entry == GEMEL__AXES_NUMBER ? GEMEL__AXES_SIZE : a->entry, a->of, 0);
  }
  t->out->number = a->number;
  t->out->natural = a->natural && b->natural;
}

/* ---- Arithmetic ---- */

/* Entry by entry: sizes and numbers; lists must be aligned, and have as many entries. */
static void type_entries(const typing *t) {
  const gemel__axes_value *list = NULL;
  int other = 0;
  for (uint32_t k = 0; k < t->n; k++) {
    const gemel__axes_value *v = &t->in[k];
    other |= v->kind == GEMEL__AXES_IS_OTHER;
    if (!is_written(v) && !has_sizes(v) && v->kind != GEMEL__AXES_IS_OTHER) {
      no_type(t, "arithmetic of what aren't sizes");
      return;
    }
    if (is_list(v) && list != NULL && !gemel__axes_aligned(t->x, list->over, v->over)) {
      no_type(t, "arithmetic of lists over other axes");
      return;
    }
    list = is_list(v) ? v : list;
  }
  if (other && list == NULL) {
    type_other(t);
  } else if (list != NULL) {
    give_list(t, GEMEL__AXES_SIZE, 0, list->over);
  } else {
    give_single(t, GEMEL__AXES_SIZE, 0, 0);
  }
}

/* A real number, of which nothing is known. */
static void type_real(const typing *t) {
  type_entries(t);
  type_other(t);
}

/* The least and greatest of several; of one list they depend on all axes. */
static void type_extreme(const typing *t) {
  if (t->n == 1) {
    no_type(t, "the least or greatest of all entries");
  } else {
    type_entries(t);
  }
}

static void type_neg(const typing *t) {
  int64_t number;
  if (is_number(&t->in[0], &number)) {
    give_single(t, GEMEL__AXES_NUMBER, 0, -number);
  } else {
    type_entries(t);
  }
}

static int are_numbers(const typing *t, int64_t *a, int64_t *b) {
  return is_number(&t->in[0], a) && is_number(&t->in[1], b);
}

static void type_mul(const typing *t) {
  int64_t a, b;
  if (are_numbers(t, &a, &b) && a < 1000 && b < 1000 && a > -1000 && b > -1000) {
    give_single(t, GEMEL__AXES_NUMBER, 0, a * b);
  } else {
    type_entries(t);
  }
}

static void type_add(const typing *t) {
  int64_t a, b;
  if (are_numbers(t, &a, &b) && a < 1000 && b < 1000) {
    give_single(t, GEMEL__AXES_NUMBER, 0, a + b);
  } else if (is_single(&t->in[0], GEMEL__AXES_LENGTH) && is_number(&t->in[1], &b) && b < 1000) {
    give_single(t, GEMEL__AXES_LENGTH, t->in[0].of, t->in[0].number + b);
  } else {
    type_entries(t);
  }
}

/* How many axes A has less than B, as the number of axes of a sort: 0, or 1 and *SORT. B's entries
 * are axes of A's, each once; or A and B are aligned, and A has no fewer. */
static int difference(const typing *t, uint16_t *sort) {
  gemel__axes *x = t->x;
  uint16_t a = t->in[0].of, b = gemel__axes_find(x, t->in[1].of);
  const gemel__axes_sort *s = &x->sorts[b];
  const gemel__axes_text *text = &x->texts[t->in[1].text];
  if (s->how == GEMEL__AXES_LIST && x->proper[s->key] && gemel__axes_same(x, s->a, a) &&
      text->kind == GEMEL__TERMCODE_FUNCTION && text->index == GEMEL__FUNCTION_length) {
    *sort = gemel__axes_make(x, GEMEL__AXES_WITHOUT, a, 0, text->operands[0]);
    return 1;
  }
  if (gemel__axes_aligned(x, a, b)) {
    *sort = gemel__axes_make(x, GEMEL__AXES_FRONT, a, b, 0);
    return 1;
  }
  return 0;
}

/* A list of axes without those in front, and their number taken off: axes of what is aligned. */
static int give_aligned_axes(const typing *t) {
  gemel__axes *x = t->x;
  const gemel__axes_value *a = &t->in[0], *n = &t->in[1];
  if (!has_axes(a) || !is_list(a) || !is_length(n, 0)) {
    return 0;
  }
  const gemel__axes_sort *front = &x->sorts[gemel__axes_find(x, n->of)];
  const gemel__axes_text *text = &x->texts[a->text];
  if (front->how != GEMEL__AXES_FRONT || !gemel__axes_same(x, front->a, a->of) ||
      text->kind != GEMEL__TERMCODE_FUNCTION || text->index != GEMEL__FUNCTION_without) {
    return 0;
  }
  const gemel__axes_text *off = &x->texts[text->operands[1]];
  if (off->kind != GEMEL__TERMCODE_FUNCTION || off->index != GEMEL__FUNCTION_range ||
      off->count != 1 || off->operands[0] != n->text) {
    return 0;
  }
  give_list(t, GEMEL__AXES_AXIS, front->b, a->over);
  t->out->natural = a->natural;
  return 1;
}

static void type_sub(const typing *t) {
  int64_t a, b;
  uint16_t sort;
  if (are_numbers(t, &a, &b) && a < 1000 && b > -1000) {
    give_single(t, GEMEL__AXES_NUMBER, 0, a - b);
  } else if (is_single(&t->in[0], GEMEL__AXES_LENGTH) && is_number(&t->in[1], &b) && b < 1000) {
    give_single(t, GEMEL__AXES_LENGTH, t->in[0].of, t->in[0].number - b);
  } else if (is_length(&t->in[0], 0) && is_length(&t->in[1], 0) && difference(t, &sort)) {
    give_single(t, GEMEL__AXES_LENGTH, sort, 0);
  } else if (!give_aligned_axes(t)) {
    type_entries(t);
  }
}

/* Axes of A, modulo one more than there are: -1 is the one more. */
static void type_mod(const typing *t) {
  const gemel__axes_value *p = &t->in[0], *n = &t->in[1];
  if (has_axes(p) && is_length(n, 1) && gemel__axes_same(t->x, p->of, n->of)) {
    uint16_t more = gemel__axes_make(t->x, GEMEL__AXES_AND_ONE, p->of, 0, 0);
    if (is_list(p)) {
      give_list(t, GEMEL__AXES_AXIS, more, p->over);
    } else {
      give_single(t, GEMEL__AXES_AXIS, more, 0);
    }
    t->out->natural = 1;
    return;
  }
  type_entries(t);
}

/* ---- The machine ---- */

static const gemel__axes_type types[GEMEL__ROW_COUNT] = {
    [GEMEL__FUNCTION_rank] = type_rank,
    [GEMEL__FUNCTION_shape] = type_shape,
    [GEMEL__FUNCTION_dtype] = type_other,
    [GEMEL__FUNCTION_elements] = type_elements,
    [GEMEL__FUNCTION_value] = type_other,
    [GEMEL__FUNCTION_bits] = type_other,
    [GEMEL__FUNCTION_promote] = type_other,
    [GEMEL__FUNCTION_count] = type_count,
    [GEMEL__FUNCTION_broadcast_shape] = type_broadcast_shape,
    [GEMEL__FUNCTION_length] = type_length,
    [GEMEL__FUNCTION_range] = type_range,
    [GEMEL__FUNCTION_concat] = type_concat,
    [GEMEL__FUNCTION_without] = type_without,
    [GEMEL__FUNCTION_inverse] = type_inverse,
    [GEMEL__FUNCTION_sorted] = type_sorted,
    [GEMEL__FUNCTION_repeat] = type_repeat,
    [GEMEL__FUNCTION_replace] = type_replace,
    [GEMEL__FUNCTION_insert] = type_insert,
    [GEMEL__FUNCTION_remove] = type_remove,
    [GEMEL__FUNCTION_position] = type_position,
    [GEMEL__FUNCTION_places] = type_places,
    [GEMEL__FUNCTION_product] = type_product,
    [GEMEL__FUNCTION_min] = type_extreme,
    [GEMEL__FUNCTION_max] = type_extreme,
    [GEMEL__FUNCTION_abs] = type_entries,
    [GEMEL__OPERATOR_add] = type_add,
    [GEMEL__OPERATOR_sub] = type_sub,
    [GEMEL__OPERATOR_mul] = type_mul,
    [GEMEL__OPERATOR_div] = type_real,
    [GEMEL__OPERATOR_floordiv] = type_entries,
    [GEMEL__OPERATOR_mod] = type_mod,
    [GEMEL__OPERATOR_neg] = type_neg,
    [GEMEL__OPERATOR_index] = type_index,
};

uint32_t gemel__axes_text_number(gemel__axes *x, const gemel__axes_text *text) {
  for (uint32_t k = 1; k < x->n_texts; k++) {
    if (memcmp(&x->texts[k], text, sizeof *text) == 0) {
      return k;
    }
  }
  if (x->n_texts == GEMEL__AXES_TEXTS) {
    gemel__axes_fail(x, "too many expressions");
    return 0;
  }
  x->texts[x->n_texts] = *text;
  return x->n_texts++;
}

/* The number of the expression that CODE makes of the operands IN. A list of one is that one. */
static uint32_t text_of(gemel__axes *x, const gemel__termcode *code, const gemel__axes_value *in) {
  gemel__axes_text text;
  memset(&text, 0, sizeof text); /* compared as bytes */
  text.kind = code->kind;
  text.index = code->index;
  text.value = code->kind == GEMEL__TERMCODE_NUMBER ? code->value : 0;
  text.count = code->kind == GEMEL__TERMCODE_FUNCTION || code->kind == GEMEL__TERMCODE_LIST
                   ? code->count
                   : 0;
  if (code->kind == GEMEL__TERMCODE_LIST && code->count == 1) {
    return in[0].text;
  }
  if (text.count > 8 || code->kind == GEMEL__TERMCODE_REAL || code->kind == GEMEL__TERMCODE_OTHER) {
    text.count = 0;
    text.value = -(int64_t)x->n_texts; /* like no other */
  }
  for (uint32_t k = 0; k < text.count; k++) {
    text.operands[k] = in[k].text;
  }
  return gemel__axes_text_number(x, &text);
}

static void type_code(gemel__axes *x, const gemel__termcode *code, const gemel__axes_value *in,
                      gemel__axes_value *out) {
  const typing t = {x, in, code->count, out, x->condition && x->code + 1 == x->expr->count};
  memset(out, 0, sizeof *out);
  out->text = text_of(x, code, in);
  uint32_t text = out->text;
  switch (code->kind) {
  case GEMEL__TERMCODE_FUNCTION:
    if (types[code->index] != NULL) {
      types[code->index](&t);
    } else if (gemel__axes_conditions[code->index] != NULL) {
      gemel__axes_conditions[code->index](&t);
    } else {
      gemel__axes_fail(x, "%s() has no type", gemel__function_rows[code->index].name);
    }
    break;
  case GEMEL__TERMCODE_NUMBER:
    give_single(&t, GEMEL__AXES_NUMBER, 0, code->value);
    break;
  case GEMEL__TERMCODE_VARIABLE:
    *out = x->variables[code->index];
    out->natural |= has_axes(out) && x->proper[code->index];
    text = x->alias[code->index] != 0 ? x->alias[code->index] : text;
    if (out->kind == GEMEL__AXES_UNBOUND) {
      gemel__axes_fail(x, "a variable that isn't bound");
    }
    break;
  case GEMEL__TERMCODE_LIST:
    type_concat(&t);
    break;
  default:
    type_other(&t);
  }
  out->text = text;
}

void gemel__axes_evaluate(gemel__axes *x, const gemel__termexpr *expr, gemel__axes_value *value) {
  gemel__axes_value stack[GEMEL__TERM_STACK], made;
  uint32_t top = 0;
  memset(value, 0, sizeof *value);
  x->expr = expr;
  for (x->code = 0; x->code < expr->count && !x->failed; x->code++) {
    const gemel__termcode *code = &expr->code[x->code];
    top -= code->kind == GEMEL__TERMCODE_FUNCTION || code->kind == GEMEL__TERMCODE_LIST
               ? code->count
               : 0;
    type_code(x, code, &stack[top], &made);
    stack[top++] = made;
  }
  if (!x->failed) {
    *value = stack[0];
  }
}
