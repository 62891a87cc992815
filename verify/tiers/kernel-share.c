/* SPDX-License-Identifier: MIT
 *
 * Operands of a program's own kernel that overlap in memory: one tensor given twice, one that
 * begins a few elements behind the other, one that is the other's memory read by columns. Values
 * are drawn so that this is possible. The pair is then found by comparing values, since a case has
 * nothing but its values.
 */
#include <string.h>
#include "tiers/kernel.h"

enum { FARTHEST = 3 };

/* ---- Positions ---- */

/* Position of element I of LEAF (counted row-major) in column-major order. */
static size_t by_columns(const gemel__leaf *leaf, size_t i) {
  size_t inner = leaf->count, at = 0;
  for (int k = leaf->rank; k-- > 0;) {
    size_t length = (size_t)leaf->shape[k];
    inner /= length;
    at += i % length * inner;
    i /= length;
  }
  return at;
}

static size_t position(const gemel__leaf *leaf, const gemel__sharing *s, size_t i) {
  return s->by_columns ? by_columns(leaf, i) : i + s->shift;
}

static int long_axes(const gemel__leaf *leaf) {
  int n = 0;
  for (int k = 0; k < leaf->rank; k++) {
    n += leaf->shape[k] > 1;
  }
  return n;
}

/* 1 if the types allow the second leaf to lie in the memory of the first as S says. */
static int possible(const gemel__leaf *leaves, const gemel__sharing *s) {
  const gemel__leaf *a = &leaves[s->of], *b = &leaves[s->with];
  return a->dtype == b->dtype && a->count > 0 && b->count > 0 &&
         (s->by_columns ? long_axes(b) > 1 && b->count <= a->count : s->shift < a->count);
}

/* ---- Finding it ---- */

static int fits(const gemel__kernel_case *c, const gemel__sharing *s) {
  const gemel__leaf *a = &c->in[s->of], *b = &c->in[s->with];
  size_t size = gemel_dtype_size(a->dtype);
  const char *x = c->values[s->of], *y = c->values[s->with];
  if (!possible(c->in, s) || x == NULL || y == NULL) {
    return 0;
  }
  for (size_t i = 0; i < b->count; i++) {
    size_t at = position(b, s, i);
    if (at < a->count && memcmp(x + at * size, y + i * size, size) != 0) {
      return 0;
    }
  }
  return 1;
}

int gemel__kernel_sharing(const gemel__kernel_case *c, gemel__sharing *s) {
  for (s->with = 1; s->with < c->n_in; s->with++) {
    for (s->of = 0; s->of < s->with; s->of++) {
      for (s->shift = 0; s->shift <= FARTHEST; s->shift++) {
        for (s->by_columns = s->shift == 0; s->by_columns >= 0; s->by_columns--) {
          if (fits(c, s)) {
            return 1;
          }
        }
      }
    }
  }
  return 0;
}

/* ---- Making it so ---- */

void gemel__kernel_share(const gemel__instance *instance, gemel__random *random,
                         gemel_tensor *const *values) {
  gemel__sharing s;
  size_t n = instance->n_leaves;
  if (n < 2) {
    return;
  }
  s.with = 1 + (size_t)gemel__random_below(random, n - 1);
  s.of = (size_t)gemel__random_below(random, s.with);
  s.by_columns = gemel__random_chance(random, 1, 3);
  s.shift = s.by_columns ? 0 : (size_t)gemel__random_below(random, 2 * FARTHEST);
  s.shift = s.shift > FARTHEST ? 0 : s.shift;
  const gemel__leaf *a = &instance->leaves[s.of], *b = &instance->leaves[s.with];
  if (!possible(instance->leaves, &s) || a->range != b->range || a->low != b->low ||
      a->high != b->high || a->facts != b->facts) {
    return;
  }
  size_t size = gemel_dtype_size(a->dtype);
  const char *from = gemel_tensor_data(values[s.of]);
  char *to = gemel_tensor_data(values[s.with]);
  for (size_t i = 0; i < b->count; i++) {
    size_t at = position(b, &s, i);
    if (at < a->count) {
      memcpy(to + i * size, from + at * size, size);
    }
  }
}
