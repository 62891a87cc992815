/* SPDX-License-Identifier: MIT
 *
 * The words of a template that draw: dtypes, sizes, and what goes with the shape $S of its value:
 * axes, permutations, shapes that broadcast to it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "models/sketch.h"

/* $S as a list; symbols count as -1. */
typedef struct drawn_shape {
  int rank;
  int64_t sizes[GEMEL__SKETCH_RANK];
  char texts[GEMEL__SKETCH_RANK][16];
} drawn_shape;

static uint64_t below(gemel__expanding *e, uint64_t n) {
  return gemel__random_below(e->random, n);
}

/* ---- Sizes and dtypes ---- */

/* Small sizes, now and then 0 or a symbol. */
static void draw_size(gemel__expanding *e, char *text, size_t bytes) {
  static const char *const sizes[] = {"1", "2", "2", "3", "3", "4", "5"};
  static const char *const symbols[] = {"N", "M", "K"};
  uint64_t kind = below(e, 40);
  snprintf(text, bytes, "%s",
           kind == 0  ? "0"
           : kind < 4 ? symbols[below(e, 3)]
                      : sizes[below(e, sizeof sizes / sizeof *sizes)]);
}

static void bind_size(gemel__expanding *e, const char *name) {
  char text[16];
  draw_size(e, text, sizeof text);
  gemel__expansion_bind(e, name, 1, text);
}

/* Mostly f32; of the others those that runtimes know more often. */
static void bind_dtype(gemel__expanding *e) {
  static const char *const usual[] = {"f64", "f16", "i32", "i64", "i64", "u8", "i8", "bool"};
  uint64_t kind = below(e, 40);
  gemel__expansion_bind(e, "T", 1,
                        kind < 28   ? "f32"
                        : kind < 39 ? usual[below(e, sizeof usual / sizeof *usual)]
                                    : gemel_dtype_name((gemel_dtype)below(e, GEMEL_DTYPE_COUNT)));
}

static void bind_shape(gemel__expanding *e) {
  static const int ranks[] = {0, 1, 1, 2, 2, 2, 3, 3, 3, 4, 5};
  char text[80] = "", size[16];
  int rank = ranks[below(e, sizeof ranks / sizeof *ranks)];
  for (int k = 0; k < rank; k++) {
    draw_size(e, size, sizeof size);
    snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", k > 0 ? "," : "", size);
  }
  gemel__expansion_bind(e, "S", 1, text);
}

static void read_shape(gemel__expanding *e, drawn_shape *s) {
  bind_shape(e);
  const char *at = gemel__expansion_bound(e, "S", 1);
  s->rank = 0;
  while (at != NULL && *at != '\0' && s->rank < GEMEL__SKETCH_RANK) {
    size_t n = strcspn(at, ",");
    snprintf(s->texts[s->rank], sizeof s->texts[0], "%.*s", (int)n, at);
    s->sizes[s->rank++] = *at >= '0' && *at <= '9' ? strtoll(at, NULL, 10) : -1;
    at += n + (at[n] == ',');
  }
}

/* ---- Axes ---- */

static int64_t draw_axis(gemel__expanding *e, const drawn_shape *s) {
  int64_t axis = (int64_t)below(e, (uint64_t)s->rank);
  return below(e, 3) == 0 ? axis - s->rank : axis;
}

static void put_axis(gemel__expanding *e, const drawn_shape *s) {
  if (s->rank == 0) {
    e->failed = 1;
    return;
  }
  gemel__expand_format(e, "%lld", (long long)draw_axis(e, s));
}

/* Some of the axes, all of size 1 if ONES, in their order or not. */
static void put_axes(gemel__expanding *e, const drawn_shape *s, int ones) {
  size_t order[GEMEL__SKETCH_RANK];
  uint64_t wanted = below(e, (uint64_t)s->rank + 1);
  int shuffled = below(e, 3) == 0, count = 0;
  gemel__random_permutation(e->random, (size_t)s->rank, order);
  for (int k = 0; k < s->rank; k++) {
    int axis = shuffled ? (int)order[k] : k;
    int taken = ones ? s->sizes[axis] == 1 : order[axis] < wanted;
    if (taken) {
      int negative = below(e, 4) == 0;
      gemel__expand_format(e, "%s%d", count++ > 0 ? " " : "", negative ? axis - s->rank : axis);
    }
  }
  e->failed |= ones && count == 0;
}

static void put_permutation(gemel__expanding *e, const drawn_shape *s) {
  size_t order[GEMEL__SKETCH_RANK];
  gemel__random_permutation(e->random, (size_t)s->rank, order);
  for (int k = 0; k < s->rank; k++) {
    gemel__expand_format(e, "%s%zu", k > 0 ? " " : "", order[k]);
  }
}

/* ---- Shapes that go with it ---- */

/* One that broadcasts to it: leading axes left out, others of size 1. */
static void put_narrow(gemel__expanding *e, const drawn_shape *s) {
  int first = (int)below(e, (uint64_t)s->rank + 1);
  for (int k = below(e, 2) == 0 ? first : 0; k < s->rank; k++) {
    const char *text = below(e, 3) == 0 || s->sizes[k] < 0 ? "1" : s->texts[k];
    const char *last = e->used > 0 && e->text[e->used - 1] != '[' ? "," : "";
    gemel__expand_format(e, "%s%s", last, text);
  }
}

/* One that it broadcasts to, as numbers with spaces. */
static void put_wide(gemel__expanding *e, const drawn_shape *s) {
  int more = below(e, 3) == 0;
  if (more) {
    gemel__expand_format(e, "%d", 1 + (int)below(e, 2));
  }
  for (int k = 0; k < s->rank; k++) {
    int64_t size = s->sizes[k] < 0 ? 1 : s->sizes[k] == 1 && below(e, 2) == 0 ? 2 : s->sizes[k];
    size = size > 0 && below(e, 4) == 0 ? 1 : size;
    gemel__expand_format(e, "%s%lld", k > 0 || more ? " " : "", (long long)size);
  }
}

/* One of as many elements: neighbours joined, 0 for a size that stays, -1 for one of them. */
static void put_regrouped(gemel__expanding *e, const drawn_shape *s) {
  int wild = (int)below(e, (uint64_t)s->rank + 2), n = 0, is_empty = 0;
  for (int k = 0; k < s->rank; k++) {
    is_empty |= s->sizes[k] == 0;
  }
  for (int k = 0; k < s->rank; k++) {
    int64_t size = s->sizes[k];
    while (k + 1 < s->rank && size >= 0 && s->sizes[k + 1] >= 0 && below(e, 3) == 0) {
      size *= s->sizes[++k];
    }
    int stays = n == k && (size < 0 || below(e, 4) == 0);
    gemel__expand_format(e, "%s%lld", n > 0 ? " " : "",
                         n == wild && !is_empty ? -1LL
                         : stays                ? 0LL
                                                : (long long)size);
    n++;
  }
  if (below(e, 4) == 0) {
    gemel__expand_format(e, "%s1", n > 0 ? " " : "");
  }
}

/* Numbers before and behind each axis; below 0, elements are taken away. */
static void put_pads(gemel__expanding *e, const drawn_shape *s) {
  static const int pads[] = {0, 0, 0, 1, 1, 2, -1};
  uint64_t n = below(e, 4) == 0 ? 7 : 6;
  e->failed |= s->rank == 0;
  for (int k = 0; k < 2 * s->rank; k++) {
    gemel__expand_format(e, "%s%d", k > 0 ? " " : "", pads[below(e, n)]);
  }
}

static const struct {
  const char *name;
  void (*put)(gemel__expanding *e, const drawn_shape *s);
} words[] = {{"axis", put_axis}, {"perm", put_permutation},    {"narrow", put_narrow},
             {"wide", put_wide}, {"regrouped", put_regrouped}, {"pads", put_pads}};

int gemel__expand_word(gemel__expanding *e, const char *name, size_t length) {
  drawn_shape s;
  if (length == 1 && *name >= 'A' && *name <= 'Z') {
    if (*name == 'T') {
      bind_dtype(e);
    } else if (*name == 'S') {
      bind_shape(e);
    } else {
      bind_size(e, name);
    }
    gemel__expand_format(e, "%s", gemel__expansion_bound(e, name, 1));
    return 1;
  }
  if ((length == 4 && strncmp(name, "axes", 4) == 0) ||
      (length == 4 && strncmp(name, "ones", 4) == 0)) {
    read_shape(e, &s);
    put_axes(e, &s, *name == 'o');
    return 1;
  }
  for (size_t k = 0; k < sizeof words / sizeof *words; k++) {
    if (strlen(words[k].name) == length && strncmp(words[k].name, name, length) == 0) {
      read_shape(e, &s);
      words[k].put(e, &s);
      return 1;
    }
  }
  if (length == 4 && strncmp(name, "rank", 4) == 0) {
    read_shape(e, &s);
    gemel__expand_format(e, "%d", s.rank);
    return 1;
  }
  return 0;
}
