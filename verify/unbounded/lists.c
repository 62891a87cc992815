/* SPDX-License-Identifier: MIT
 *
 * Functions of lists in attribute expressions. What asks for positions works on numbers; whether
 * two sizes are the same is what gemel knows, which may be a choice.
 */
#include <string.h>
#include "unbounded/attribute.h"

/* ---- Lists ---- */

void gemel__meaning_length(const gemel__pcall *c) {
  give_number(c, c->in[0].count);
}

void gemel__meaning_range(const gemel__pcall *c) {
  int64_t from = 0, to, count;
  if ((c->n == 2 && !number_of(c, &c->in[0], &from)) || !number_of(c, &c->in[c->n - 1], &to) ||
      __builtin_sub_overflow(to, from, &count) || count < 0 || !is_short(c, count)) {
    give_nothing(c);
    return;
  }
  give_list(c);
  for (; from < to; from++) {
    append(c, gemel__p_number(&c->s->terms, from));
  }
}

void gemel__meaning_concat(const gemel__pcall *c) {
  give_list(c);
  for (uint32_t k = 0; k < c->n; k++) {
    for (uint32_t i = 0; i < c->in[k].count; i++) {
      append(c, c->in[k].list[i]);
    }
  }
}

void gemel__meaning_without(const gemel__pcall *c) {
  give_list(c);
  for (uint32_t k = 0; k < c->in[0].count; k++) {
    if (!knows_entry(c, &c->in[1], c->in[0].list[k])) {
      append(c, c->in[0].list[k]);
    }
  }
}

/* 1 if the N numbers are 0, ..., N - 1 in some order. */
static int is_permutation(const int64_t *numbers, uint32_t n) {
  uint64_t seen = 0;
  for (uint32_t k = 0; k < n; k++) {
    if (numbers[k] < 0 || numbers[k] >= n || seen >> numbers[k] & 1) {
      return 0;
    }
    seen |= (uint64_t)1 << numbers[k];
  }
  return 1;
}

void gemel__meaning_inverse(const gemel__pcall *c) {
  int64_t p[GEMEL__PLIST];
  uint32_t n = c->in[0].count;
  if (!numbers_of(c, &c->in[0], p) || !is_permutation(p, n)) {
    give_nothing(c);
    return;
  }
  c->out->kind = GEMEL__PV_LIST;
  c->out->count = n;
  for (uint32_t k = 0; k < n; k++) {
    c->out->list[p[k]] = gemel__p_number(&c->s->terms, k);
  }
}

void gemel__meaning_sorted(const gemel__pcall *c) {
  int64_t a[GEMEL__PLIST];
  if (!numbers_of(c, &c->in[0], a)) {
    give_nothing(c);
    return;
  }
  for (uint32_t k = 1; k < c->in[0].count; k++) {
    for (uint32_t i = k; i > 0 && a[i - 1] > a[i]; i--) {
      int64_t other = a[i];
      a[i] = a[i - 1];
      a[i - 1] = other;
    }
  }
  give_list(c);
  for (uint32_t k = 0; k < c->in[0].count; k++) {
    append(c, gemel__p_number(&c->s->terms, a[k]));
  }
}

void gemel__meaning_repeat(const gemel__pcall *c) {
  int64_t times;
  if (!number_of(c, &c->in[1], &times) || times < 0 || !is_short(c, times)) {
    give_nothing(c);
    return;
  }
  give_list(c);
  for (int64_t k = 0; k < times; k++) {
    append(c, c->in[0].list[0]);
  }
}

/* Positions IN[1] and as many entries IN[2]: 1 if they are good for lists of LENGTH entries. */
static int positions_of(const gemel__pcall *c, uint32_t length, int64_t *at) {
  if (!numbers_of(c, &c->in[1], at) || !has_entries(&c->in[2]) ||
      (c->in[2].kind == GEMEL__PV_LIST && c->in[2].count != c->in[1].count)) {
    return 0;
  }
  for (uint32_t k = 0; k < c->in[1].count; k++) {
    if (at[k] < 0 || at[k] >= length) {
      return 0;
    }
  }
  return 1;
}

void gemel__meaning_replace(const gemel__pcall *c) {
  int64_t at[GEMEL__PLIST];
  if (!positions_of(c, c->in[0].count, at)) {
    give_nothing(c);
    return;
  }
  c->out->kind = GEMEL__PV_LIST;
  c->out->count = c->in[0].count;
  memcpy(c->out->list, c->in[0].list, sizeof c->out->list);
  for (uint32_t k = 0; k < c->in[1].count; k++) {
    c->out->list[at[k]] = entry(&c->in[2], k);
  }
}

void gemel__meaning_insert(const gemel__pcall *c) {
  int64_t at[GEMEL__PLIST];
  uint32_t length = c->in[0].count + c->in[1].count, next = 0;
  uint64_t put = 0;
  if (length > GEMEL__PLIST || !positions_of(c, length, at)) {
    give_nothing(c);
    return;
  }
  c->out->kind = GEMEL__PV_LIST;
  c->out->count = length;
  for (uint32_t k = 0; k < c->in[1].count; k++) {
    if (put >> at[k] & 1) {
      give_nothing(c);
      return;
    }
    put |= (uint64_t)1 << at[k];
    c->out->list[at[k]] = entry(&c->in[2], k);
  }
  for (uint32_t k = 0; k < length; k++) {
    if (!(put >> k & 1)) {
      c->out->list[k] = c->in[0].list[next++];
    }
  }
}

void gemel__meaning_remove(const gemel__pcall *c) {
  int64_t at[GEMEL__PLIST];
  uint64_t gone = 0;
  if (!numbers_of(c, &c->in[1], at)) {
    give_nothing(c);
    return;
  }
  for (uint32_t k = 0; k < c->in[1].count; k++) {
    if (at[k] < 0 || at[k] >= c->in[0].count) {
      give_nothing(c);
      return;
    }
    gone |= (uint64_t)1 << at[k];
  }
  give_list(c);
  for (uint32_t k = 0; k < c->in[0].count; k++) {
    if (!(gone >> k & 1)) {
      append(c, c->in[0].list[k]);
    }
  }
}

void gemel__meaning_position(const gemel__pcall *c) {
  int64_t a[GEMEL__PLIST], v[GEMEL__PLIST];
  if (!numbers_of(c, &c->in[0], a) || !numbers_of(c, &c->in[1], v)) {
    give_nothing(c);
    return;
  }
  give_list(c);
  for (uint32_t k = 0; k < c->in[1].count; k++) {
    int64_t at = 0;
    while (at < c->in[0].count && a[at] != v[k]) {
      at++;
    }
    append(c, gemel__p_number(&c->s->terms, at < c->in[0].count ? at : -1));
  }
  c->out->kind = c->in[1].kind;
}

void gemel__meaning_places(const gemel__pcall *c) {
  give_list(c);
  for (uint32_t k = 0; k < c->in[0].count; k++) {
    if (knows_equal(c, c->in[0].list[k], c->in[1].list[0])) {
      append(c, gemel__p_number(&c->s->terms, k));
    }
  }
}

void gemel__meaning_axes(const gemel__pcall *c) {
  int64_t rank, axes[GEMEL__PLIST];
  int all = c->in[1].kind == GEMEL__PV_ABSENT;
  if (!number_of(c, &c->in[0], &rank) || rank < 0 || !is_short(c, rank) ||
      (!all && !numbers_of(c, &c->in[1], axes))) {
    give_nothing(c);
    return;
  }
  uint32_t count = all ? (uint32_t)rank : c->in[1].count;
  give_list(c);
  for (uint32_t k = 0; k < count; k++) {
    append(c, gemel__p_number(&c->s->terms, all ? k : axes[k] < 0 ? axes[k] + rank : axes[k]));
  }
}

void gemel__meaning_product(const gemel__pcall *c) {
  give_integer(c, product_of(c, c->in[0].count, c->in[0].list));
}

void gemel__meaning_total(const gemel__pcall *c) {
  gemel__pterm total = gemel__p_number(&c->s->terms, 0);
  for (uint32_t k = 0; k < c->in[0].count; k++) {
    total = gemel__p_add(&c->s->terms, total, c->in[0].list[k]);
  }
  give_integer(c, total);
}

void gemel__meaning_contains(const gemel__pcall *c) {
  give_known(c, knows_entry(c, &c->in[0], c->in[1].list[0]));
}

void gemel__meaning_subset(const gemel__pcall *c) {
  int all = 1;
  for (uint32_t k = 0; k < c->in[0].count && all; k++) {
    all = knows_entry(c, &c->in[1], c->in[0].list[k]);
  }
  give_known(c, all);
}

void gemel__meaning_disjoint(const gemel__pcall *c) {
  int some = 0;
  for (uint32_t k = 0; k < c->in[0].count && !some; k++) {
    some = knows_entry(c, &c->in[1], c->in[0].list[k]);
  }
  give_known(c, !some);
}

void gemel__meaning_distinct(const gemel__pcall *c) {
  int64_t a[GEMEL__PLIST];
  int twice = 0;
  if (!numbers_of(c, &c->in[0], a)) {
    give_nothing(c);
    return;
  }
  for (uint32_t k = 0; k < c->in[0].count; k++) {
    for (uint32_t i = 0; i < k; i++) {
      twice |= a[i] == a[k];
    }
  }
  give_known(c, !twice);
}

void gemel__meaning_permutation(const gemel__pcall *c) {
  int64_t p[GEMEL__PLIST];
  if (numbers_of(c, &c->in[0], p)) {
    give_known(c, is_permutation(p, c->in[0].count));
  } else {
    give_nothing(c);
  }
}

void gemel__meaning_identity(const gemel__pcall *c) {
  int64_t p[GEMEL__PLIST];
  int same = 1;
  if (!numbers_of(c, &c->in[0], p)) {
    give_nothing(c);
    return;
  }
  for (uint32_t k = 0; k < c->in[0].count; k++) {
    same &= p[k] == k;
  }
  give_known(c, same);
}
