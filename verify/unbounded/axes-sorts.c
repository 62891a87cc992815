/* SPDX-License-Identifier: MIT
 *
 * Sorts of axes: which are the same, aligned, equally long, linked; and how many axes are kept.
 */
#include "unbounded/axes.h"

#include <stdarg.h>
#include <stdio.h>

/* ---- Sorts ---- */

uint16_t gemel__axes_find(gemel__axes *x, uint16_t sort) {
  while (x->sorts[sort].same != sort) {
    sort = x->sorts[sort].same;
  }
  return sort;
}

uint16_t gemel__axes_frame(gemel__axes *x, uint16_t sort) {
  sort = gemel__axes_find(x, sort);
  while (x->sorts[sort].frame != sort) {
    sort = gemel__axes_find(x, x->sorts[sort].frame);
  }
  return sort;
}

static uint16_t length_of(gemel__axes *x, uint16_t sort) {
  sort = gemel__axes_find(x, sort);
  while (x->sorts[sort].length != sort) {
    sort = gemel__axes_find(x, x->sorts[sort].length);
  }
  return sort;
}

int gemel__axes_same(gemel__axes *x, uint16_t a, uint16_t b) {
  return gemel__axes_find(x, a) == gemel__axes_find(x, b);
}

int gemel__axes_aligned(gemel__axes *x, uint16_t a, uint16_t b) {
  return gemel__axes_frame(x, a) == gemel__axes_frame(x, b);
}

int gemel__axes_same_length(gemel__axes *x, uint16_t a, uint16_t b) {
  return length_of(x, a) == length_of(x, b);
}

int gemel__axes_count(gemel__axes *x, uint16_t sort) {
  return x->sorts[gemel__axes_find(x, sort)].count;
}

void gemel__axes_set_count(gemel__axes *x, uint16_t sort, int64_t count) {
  gemel__axes_sort *s = &x->sorts[gemel__axes_find(x, sort)];
  if (count >= 0 && count < GEMEL__AXES_ALL && s->count != (int)count) {
    s->count = (int)count;
    x->changed = 1;
  }
}

void gemel__axes_keep_first(gemel__axes *x, uint16_t sort, int64_t count) {
  gemel__axes_sort *s = &x->sorts[gemel__axes_find(x, sort)];
  s->first = count > s->first ? (count > GEMEL__AXES_ALL ? GEMEL__AXES_ALL : (int)count) : s->first;
}

void gemel__axes_align(gemel__axes *x, uint16_t a, uint16_t b) {
  a = gemel__axes_frame(x, a);
  b = gemel__axes_frame(x, b);
  if (a != b) {
    x->sorts[b].frame = a;
    x->changed = 1;
  }
}

void gemel__axes_as_long(gemel__axes *x, uint16_t a, uint16_t b) {
  a = length_of(x, a);
  b = length_of(x, b);
  if (a != b) {
    x->sorts[b].length = a;
    x->changed = 1;
  }
}

/* 1 if S's axes are kept where they come from. */
static int is_derived(const gemel__axes *x, const gemel__axes_sort *s) {
  return s->how == GEMEL__AXES_NUMBERS || s->how == GEMEL__AXES_ENTRIES ||
         (s->how == GEMEL__AXES_LIST && x->alias[s->key] != 0);
}

void gemel__axes_unite(gemel__axes *x, uint16_t a, uint16_t b) {
  gemel__axes_align(x, a, b);
  gemel__axes_as_long(x, a, b);
  uint16_t frame = gemel__axes_frame(x, a), length = length_of(x, a);
  a = gemel__axes_find(x, a);
  b = gemel__axes_find(x, b);
  if (a == b) {
    return;
  }
  if (is_derived(x, &x->sorts[a])) { /* the one that stays is the one whose axes are counted */
    uint16_t other = a;
    a = b;
    b = other;
  }
  gemel__axes_sort *s = &x->sorts[a], *t = &x->sorts[b];
  s->count = s->count < 0 ? t->count : s->count;
  s->first = s->first > t->first ? s->first : t->first;
  t->same = a;
  s->frame = frame == b ? a : frame;
  s->length = length == b ? a : length;
  x->changed = 1;
}

/* The sort that HOW makes of A and B with KEY: an earlier one, if it was made before. */
uint16_t gemel__axes_make(gemel__axes *x, gemel__axes_how how, uint16_t a, uint16_t b,
                          uint32_t key) {
  if (how == GEMEL__AXES_BROADCAST && (gemel__axes_same(x, a, b) || gemel__axes_count(x, b) == 0)) {
    return a;
  }
  if (how == GEMEL__AXES_BROADCAST && gemel__axes_count(x, a) == 0) {
    return b;
  }
  for (uint16_t k = 0; k < x->n_sorts; k++) {
    const gemel__axes_sort *s = &x->sorts[k];
    int equal = gemel__axes_same(x, s->a, a) && gemel__axes_same(x, s->b, b);
    int swapped = how == GEMEL__AXES_BROADCAST && gemel__axes_same(x, s->a, b) &&
                  gemel__axes_same(x, s->b, a);
    if (s->how == how && s->key == key && (equal || swapped)) {
      x->sorts[k].used = 1;
      return k;
    }
  }
  if (x->n_sorts == GEMEL__AXES_SORTS) {
    gemel__axes_fail(x, "too many sorts of axes");
    return 0;
  }
  uint16_t made = (uint16_t)x->n_sorts++;
  x->sorts[made] = (gemel__axes_sort){
      .how = (unsigned char)how, .a = a, .b = b, .key = key, .same = made, .frame = made};
  x->sorts[made].length = made;
  x->sorts[made].used = 1;
  x->sorts[made].count = how == GEMEL__AXES_NONE ? 0 : -1;
  if (how == GEMEL__AXES_BROADCAST) {
    gemel__axes_align(x, a, made);
  }
  return made;
}

/* ---- What has no type ---- */

void gemel__axes_fail(gemel__axes *x, const char *format, ...) {
  va_list list;
  if (x->failed) {
    return;
  }
  x->failed = 1;
  va_start(list, format);
  vsnprintf(x->why, sizeof x->why, format, list);
  va_end(list);
}

/* What SORT's axes are called. */
static void name_of(gemel__axes *x, uint16_t sort, char *text, size_t bytes) {
  const gemel__axes_sort *s = &x->sorts[gemel__axes_find(x, sort)];
  char inner[60] = "";
  switch (s->how) {
  case GEMEL__AXES_TENSOR:
    snprintf(text, bytes, "%s", x->rule->variables[s->key].name);
    return;
  case GEMEL__AXES_LIST:
    snprintf(text, bytes, "a tensor with an axis for each entry of %s",
             x->rule->variables[s->key].name);
    return;
  case GEMEL__AXES_WITHOUT:
    name_of(x, s->a, inner, sizeof inner);
    snprintf(text, bytes, "%s without some of its axes", inner);
    return;
  case GEMEL__AXES_BROADCAST:
    snprintf(text, bytes, "a result of broadcasting");
    return;
  default:
    snprintf(text, bytes, "another list");
  }
}

/* 1 if SORT is that of a tensor of which the rule's text says which it is. */
static int is_plain(gemel__axes *x, uint16_t sort) {
  const gemel__axes_sort *s = &x->sorts[gemel__axes_find(x, sort)];
  return s->count < 0 && (s->how == GEMEL__AXES_TENSOR || s->how == GEMEL__AXES_LIST ||
                          (s->how == GEMEL__AXES_WITHOUT && is_plain(x, s->a)));
}

void gemel__axes_clash(gemel__axes *x, uint16_t of, uint16_t sort) {
  char a[90], b[90];
  name_of(x, of, a, sizeof a);
  name_of(x, sort, b, sizeof b);
  if (!x->failed && is_plain(x, of) && is_plain(x, sort)) {
    x->clashes = 1;
    x->clash = x->expr;
    x->clash_code = x->code < x->expr->count ? x->code : x->expr->count - 1;
  }
  gemel__axes_fail(x, "axes of %s are used as axes of %s", a, b);
}

/* ---- Links ---- */

static uint16_t component_of(gemel__axes *x, uint16_t sort) {
  sort = gemel__axes_frame(x, sort);
  while (x->sorts[sort].component != sort) {
    sort = x->sorts[sort].component;
  }
  return sort;
}

/* Each sort that is made from another is linked to it. 0 if links come back to where they began:
 * then one axis may be linked to another of its own tensor. */
int gemel__axes_are_trees(gemel__axes *x) {
  for (uint16_t k = 0; k < x->n_sorts; k++) {
    x->sorts[k].component = k;
  }
  for (uint16_t k = 0; k < x->n_sorts; k++) {
    const gemel__axes_sort *s = &x->sorts[k];
    if (!s->used) {
      continue;
    }
    int links = s->how == GEMEL__AXES_WITHOUT || s->how == GEMEL__AXES_ENTRIES ||
                s->how == GEMEL__AXES_FRONT || s->how == GEMEL__AXES_AND_ONE ||
                s->how == GEMEL__AXES_PRODUCT ||
                (s->how == GEMEL__AXES_LIST && gemel__axes_count(x, s->a) != 0);
    if (links) {
      uint16_t a = component_of(x, k), b = component_of(x, s->a);
      if (a == b) {
        return 0;
      }
      x->sorts[b].component = a;
    }
    if (s->how == GEMEL__AXES_PRODUCT) {
      uint16_t a = component_of(x, k), b = component_of(x, s->b);
      if (a == b) {
        return 0;
      }
      x->sorts[b].component = a;
    }
  }
  return 1;
}

/* ---- Kept axes ---- */

/* All axes that are kept, whatever the elements are. */
int gemel__axes_kept(gemel__axes *x) {
  int all = x->kept;
  for (uint16_t k = 0; k < x->n_sorts && all < GEMEL__AXES_ALL; k++) {
    const gemel__axes_sort *s = &x->sorts[k];
    int count = s->count > 0 && !is_derived(x, s) ? s->count : 0;
    if (s->same == k) {
      all += count > s->first ? count : s->first;
    }
  }
  return all;
}
