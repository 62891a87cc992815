/* SPDX-License-Identifier: MIT
 *
 * Functions of lists: the rows of functions.def under "Lists". Operands have the kinds that the row
 * asks for. Lists are short (an entry an axis, mostly), so what compares each with each is fine;
 * where that might matter GEMEL__TERM_LONGEST bounds it.
 */
#include <stdlib.h>
#include <string.h>
#include "rules/functions.h"

/* ---- Looking for entries ---- */

/* Whether ENTRY is in A: 1, 0 or MAYBE. *PLACE is where it stands first, if that is known. */
static int find(gemel_context *context, const gemel__term *a, gemel__entry entry, int64_t *place) {
  int found = 0;
  *place = -1;
  for (uint32_t k = 0; k < a->count; k++) {
    int equal = gemel__entry_equal(context, entry, a->list[k]);
    if (equal == 1) {
      *place = found == 0 ? (int64_t)k : -1;
      return 1;
    }
    found = equal == GEMEL__MAYBE ? GEMEL__MAYBE : found;
  }
  return found;
}

gemel_status gemel__function_contains(gemel__termcall *call) {
  int64_t place;
  return gemel__give_truth(call, find(call->context, &call->x[0], call->x[1].list[0], &place));
}

gemel_status gemel__function_position(gemel__termcall *call) {
  const gemel__term *v = &call->x[1];
  gemel__entry *list;
  int64_t place;
  gemel_status status = gemel__give_list(call, v->count, &list);
  for (uint32_t k = 0; status == GEMEL_OK && k < v->count; k++) {
    int found = find(call->context, &call->x[0], v->list[k], &place);
    if (found == GEMEL__MAYBE || (found == 1 && place < 0)) {
      return GEMEL_DECLINED;
    }
    list[k] = gemel__entry_int(place);
  }
  if (status == GEMEL_OK && v->kind == GEMEL__TERM_NUMBER) {
    return gemel__give_entry(call, list[0]);
  }
  return status;
}

gemel_status gemel__function_places(gemel__termcall *call) {
  const gemel__term *a = &call->x[0];
  gemel__entry *list;
  uint32_t n = 0;
  gemel_status status = gemel__give_list(call, a->count, &list);
  for (uint32_t k = 0; status == GEMEL_OK && k < a->count; k++) {
    if (gemel__entry_equal(call->context, a->list[k], call->x[1].list[0]) == 1) {
      list[n++] = gemel__entry_int(k);
    }
  }
  call->result->count = n;
  return status;
}

gemel_status gemel__function_subset(gemel__termcall *call) {
  int64_t place;
  int all = 1;
  for (uint32_t k = 0; k < call->x[0].count; k++) {
    int found = find(call->context, &call->x[1], call->x[0].list[k], &place);
    all = gemel__truth_and(all, found);
  }
  return gemel__give_truth(call, all);
}

gemel_status gemel__function_disjoint(gemel__termcall *call) {
  int64_t place;
  int none = 1;
  for (uint32_t k = 0; k < call->x[0].count; k++) {
    int found = find(call->context, &call->x[1], call->x[0].list[k], &place);
    none = gemel__truth_and(none, gemel__truth_not(found));
  }
  return gemel__give_truth(call, none);
}

gemel_status gemel__function_distinct(gemel__termcall *call) {
  gemel__term before = call->x[0];
  int64_t place;
  int none = 1;
  for (uint32_t k = 0; k < call->x[0].count; k++) {
    before.count = k;
    none = gemel__truth_and(
        none, gemel__truth_not(find(call->context, &before, call->x[0].list[k], &place)));
  }
  return gemel__give_truth(call, none);
}

gemel_status gemel__function_without(gemel__termcall *call) {
  const gemel__term *a = &call->x[0];
  gemel__entry *list;
  int64_t place;
  uint32_t n = 0;
  gemel_status status = gemel__give_list(call, a->count, &list);
  for (uint32_t k = 0; status == GEMEL_OK && k < a->count; k++) {
    int found = find(call->context, &call->x[1], a->list[k], &place);
    if (found == GEMEL__MAYBE) {
      return GEMEL_DECLINED;
    }
    if (!found) {
      list[n++] = a->list[k];
    }
  }
  call->result->count = n;
  return status;
}

/* ---- Whole lists ---- */

gemel_status gemel__function_length(gemel__termcall *call) {
  return gemel__give_number(call, call->x[0].count);
}

static gemel_status give_range(gemel__termcall *call, int64_t from, int64_t end) {
  gemel__entry *list;
  int64_t count;
  if (__builtin_sub_overflow(end, from, &count) || count < 0) {
    return GEMEL_DECLINED;
  }
  gemel_status status = gemel__give_list(call, (size_t)count, &list);
  for (int64_t k = 0; status == GEMEL_OK && k < count; k++) {
    list[k] = gemel__entry_int(from + k);
  }
  return status;
}

gemel_status gemel__function_range(gemel__termcall *call) {
  int64_t first = call->x[0].list[0].value;
  return call->n == 1 ? give_range(call, 0, first)
                      : give_range(call, first, call->x[1].list[0].value);
}

gemel_status gemel__function_concat(gemel__termcall *call) {
  gemel__entry *list;
  size_t count = 0;
  for (uint32_t k = 0; k < call->n; k++) {
    count += call->x[k].count;
  }
  gemel_status status = gemel__give_list(call, count, &list);
  for (uint32_t k = 0; status == GEMEL_OK && k < call->n; k++) {
    for (uint32_t j = 0; j < call->x[k].count; j++) {
      *list++ = call->x[k].list[j];
    }
  }
  return status;
}

static int ascending(const void *a, const void *b) {
  int64_t x = ((const gemel__entry *)a)->value, y = ((const gemel__entry *)b)->value;
  return (x > y) - (x < y);
}

gemel_status gemel__function_sorted(gemel__termcall *call) {
  gemel__entry *list;
  uint32_t n = call->x[0].count;
  gemel_status status = gemel__give_list(call, n, &list);
  if (status == GEMEL_OK && n > 0) {
    memcpy(list, call->x[0].list, n * sizeof *list);
    qsort(list, n, sizeof *list, ascending);
  }
  return status;
}

gemel_status gemel__function_repeat(gemel__termcall *call) {
  int64_t n = call->x[1].list[0].value;
  gemel__entry *list;
  gemel_status status = n < 0 ? GEMEL_DECLINED : gemel__give_list(call, (size_t)n, &list);
  for (int64_t k = 0; status == GEMEL_OK && k < n; k++) {
    list[k] = call->x[0].list[0];
  }
  return status;
}

static gemel_status fold(gemel__termcall *call, gemel__arithmetic op, int64_t start) {
  gemel__entry result = gemel__entry_int(start);
  gemel_status status = GEMEL_OK;
  for (uint32_t k = 0; status == GEMEL_OK && k < call->x[0].count; k++) {
    status = gemel__entry_combine(call->scene, op, result, call->x[0].list[k], &result);
  }
  return status ? status : gemel__give_entry(call, result);
}

gemel_status gemel__function_product(gemel__termcall *call) {
  return fold(call, GEMEL__MUL, 1);
}

gemel_status gemel__function_total(gemel__termcall *call) {
  return fold(call, GEMEL__ADD, 0);
}

/* ---- Permutations ---- */

/* The inverse of P goes to PLACES (P's length); 0 if it isn't a permutation. */
static int invert(const gemel__term *p, gemel__entry *places) {
  for (uint32_t k = 0; k < p->count; k++) {
    places[k] = gemel__entry_int(-1);
  }
  for (uint32_t k = 0; k < p->count; k++) {
    int64_t to = p->list[k].value;
    if (to < 0 || to >= (int64_t)p->count || places[to].value >= 0) {
      return 0;
    }
    places[to] = gemel__entry_int(k);
  }
  return 1;
}

gemel_status gemel__function_inverse(gemel__termcall *call) {
  gemel__entry *list;
  gemel_status status = gemel__give_list(call, call->x[0].count, &list);
  return status ? status : invert(&call->x[0], list) ? GEMEL_OK : GEMEL_DECLINED;
}

gemel_status gemel__function_permutation(gemel__termcall *call) {
  gemel__entry *list;
  gemel_status status = gemel__give_list(call, call->x[0].count, &list);
  return status ? status : gemel__give_truth(call, invert(&call->x[0], list));
}

gemel_status gemel__function_identity(gemel__termcall *call) {
  int all = 1;
  for (uint32_t k = 0; k < call->x[0].count; k++) {
    int equal = gemel__entry_equal(call->context, call->x[0].list[k], gemel__entry_int(k));
    all = gemel__truth_and(all, equal);
  }
  return gemel__give_truth(call, all);
}

/* ---- Positions ---- */

/* Marks the positions P in MARKS (COUNT zeroed bytes); 0 if one is out of range or comes twice. */
static int mark(const gemel__term *p, size_t count, unsigned char *marks) {
  memset(marks, 0, count);
  for (uint32_t k = 0; k < p->count; k++) {
    int64_t at = p->list[k].value;
    if (at < 0 || at >= (int64_t)count || marks[at]) {
      return 0;
    }
    marks[at] = 1;
  }
  return 1;
}

/* V's entry for position K of COUNT: a number is for all. */
static gemel__entry value_at(const gemel__term *v, uint32_t k) {
  return v->list[v->kind == GEMEL__TERM_LIST ? k : 0];
}

/* A list of COUNT entries, with V's at positions P and those of A, in their order, elsewhere; if
 * OVER, A has one for each position, else for those that are not in P. */
static gemel_status merge(gemel__termcall *call, size_t count, int over) {
  const gemel__term *a = &call->x[0], *p = &call->x[1], *v = &call->x[2];
  unsigned char marks[GEMEL__TERM_LONGEST];
  gemel__entry *list;
  uint32_t next = 0;
  if (count > GEMEL__TERM_LONGEST || !mark(p, count, marks) ||
      (v->kind == GEMEL__TERM_LIST && v->count != p->count)) {
    return GEMEL_DECLINED;
  }
  gemel_status status = gemel__give_list(call, count, &list);
  for (size_t k = 0; status == GEMEL_OK && k < count; k++) {
    if (over || !marks[k]) {
      list[k] = a->list[next++];
    }
  }
  for (uint32_t k = 0; status == GEMEL_OK && k < p->count; k++) {
    list[p->list[k].value] = value_at(v, k);
  }
  return status;
}

gemel_status gemel__function_replace(gemel__termcall *call) {
  return merge(call, call->x[0].count, 1);
}

gemel_status gemel__function_insert(gemel__termcall *call) {
  return merge(call, (size_t)call->x[0].count + call->x[1].count, 0);
}

gemel_status gemel__function_remove(gemel__termcall *call) {
  const gemel__term *a = &call->x[0];
  unsigned char marks[GEMEL__TERM_LONGEST];
  gemel__entry *list;
  uint32_t n = 0;
  if (a->count > GEMEL__TERM_LONGEST || !mark(&call->x[1], a->count, marks)) {
    return GEMEL_DECLINED;
  }
  gemel_status status = gemel__give_list(call, a->count, &list);
  for (uint32_t k = 0; status == GEMEL_OK && k < a->count; k++) {
    if (!marks[k]) {
      list[n++] = a->list[k];
    }
  }
  call->result->count = n;
  return status;
}

/* ---- Axes ---- */

gemel_status gemel__function_axes(gemel__termcall *call) {
  const gemel__term *a = &call->x[1];
  int64_t rank = call->x[0].list[0].value;
  unsigned char marks[GEMEL__TERM_LONGEST];
  gemel__entry *list;
  if (a->kind == GEMEL__TERM_ABSENT) {
    return give_range(call, 0, rank);
  }
  if (!gemel__has_integers(a) || rank < 0 || rank > GEMEL__TERM_LONGEST) {
    return GEMEL_DECLINED;
  }
  gemel_status status = gemel__give_list(call, a->count, &list);
  for (uint32_t k = 0; status == GEMEL_OK && k < a->count; k++) {
    int64_t axis = a->list[k].value;
    list[k] = gemel__entry_int(axis < 0 ? axis + rank : axis);
  }
  return status ? status : mark(call->result, (size_t)rank, marks) ? GEMEL_OK : GEMEL_DECLINED;
}

/* ---- Broadcasting ---- */

/* The size of an axis of a sum whose operands have sizes A and B there. */
static gemel_status broadcast(gemel_context *context, gemel__entry a, gemel__entry b,
                              gemel__entry *size) {
  int one = gemel_dim_is_none(a.dim) && a.value == 1;
  int other = gemel_dim_is_none(b.dim) && b.value == 1;
  *size = one ? b : a;
  return one || other || gemel__entry_equal(context, a, b) == 1 ? GEMEL_OK : GEMEL_DECLINED;
}

/* Entry K of X lined up from the last with RANK axes; 1 before the first. */
static gemel__entry lined_up(const gemel__term *x, uint32_t k, uint32_t rank) {
  return k < rank - x->count ? gemel__entry_int(1) : x->list[k - (rank - x->count)];
}

gemel_status gemel__function_broadcast_shape(gemel__termcall *call) {
  const gemel__term *a = &call->x[0], *b = &call->x[1];
  uint32_t rank = a->count > b->count ? a->count : b->count;
  gemel__entry *list;
  gemel_status status = gemel__give_list(call, rank, &list);
  for (uint32_t k = 0; status == GEMEL_OK && k < rank; k++) {
    status = broadcast(call->context, lined_up(a, k, rank), lined_up(b, k, rank), &list[k]);
  }
  return status;
}
