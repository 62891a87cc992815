/* SPDX-License-Identifier: MIT
 *
 * Draws types and attributes, see draw.h. Most are like the types at hand with a small change, so
 * that operands fit together and attributes fit operands often enough.
 */
#include "rules/claim-draw.h"

#include <string.h>

typedef struct shape {
  int rank;
  int64_t sizes[GEMEL_MAX_RANK];
} shape;

static int one_in(gemel__claim_draw *d, uint64_t n) {
  return gemel__random_below(d->random, n) == 0;
}

static int64_t between(gemel__claim_draw *d, int64_t low, int64_t high) {
  return gemel__random_between(d->random, low, high);
}

/* ---- All small tensors ---- */

static gemel_dtype nth_dtype(unsigned dtypes, uint64_t n) {
  int k = 0;
  for (; !(dtypes >> k & 1) || n > 0; k++) {
    n -= dtypes >> k & 1;
  }
  return (gemel_dtype)k;
}

static unsigned count_dtypes(unsigned dtypes) {
  unsigned n = 0;
  for (; dtypes != 0; dtypes &= dtypes - 1) {
    n++;
  }
  return n;
}

/* Shapes of up to RANK axes. */
static uint64_t count_shapes(int rank) {
  uint64_t n = 0, of_rank = 1;
  for (int k = 0; k <= rank; k++, of_rank *= GEMEL__CLAIM_SIZE + 1) {
    n += of_rank;
  }
  return n;
}

static int whole_axes(const gemel__claim_range *range) {
  return range->axes < 3 ? range->axes : 3;
}

uint64_t gemel__claim_tensors(const gemel__claim_range *range) {
  return count_dtypes(range->dtypes) * count_shapes(whole_axes(range));
}

gemel_type gemel__claim_tensor(gemel_context *context, const gemel__claim_range *range,
                               uint64_t k) {
  enum { STRIDE = 37 }; /* has no factor in common with 1, 5, 21 and 85 shapes */
  uint64_t dtypes = count_dtypes(range->dtypes), shapes = count_shapes(whole_axes(range));
  uint64_t n = k / dtypes * STRIDE % shapes, of_rank = 1;
  int64_t sizes[GEMEL_MAX_RANK] = {0};
  int rank = 0;
  for (; n >= of_rank; rank++, of_rank *= GEMEL__CLAIM_SIZE + 1) {
    n -= of_rank;
  }
  for (int axis = 0; axis < rank; axis++, n /= GEMEL__CLAIM_SIZE + 1) {
    sizes[axis] = (int64_t)(n % (GEMEL__CLAIM_SIZE + 1));
  }
  return gemel_type_of_shape(context, nth_dtype(range->dtypes, k % dtypes), rank, sizes);
}

/* ---- Types ---- */

static shape shape_of(gemel__claim_draw *d, gemel_type type) {
  const gemel_dim *dims = gemel_type_dims(d->context, type);
  shape s = {gemel_type_rank(d->context, type), {0}};
  for (int k = 0; k < s.rank; k++) {
    if (!gemel_dim_is_constant(d->context, dims[k], &s.sizes[k])) {
      s.sizes[k] = 1;
    }
  }
  return s;
}

int64_t gemel__claim_number(gemel__claim_draw *d) {
  size_t n = d->range->n_numbers;
  return n > 0 ? d->range->numbers[gemel__random_below(d->random, n)] + between(d, -1, 1) : 0;
}

static int64_t draw_size(gemel__claim_draw *d) {
  static const int64_t sizes[] = {0, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3};
  enum { SIZES = sizeof sizes / sizeof *sizes };
  size_t k = (size_t)gemel__random_below(d->random, SIZES + 2);
  int64_t n = k > SIZES ? gemel__claim_number(d) : d->range->longest + 1;
  return k < SIZES ? sizes[k] : n < 0 ? 0 : n;
}

static shape fresh_shape(gemel__claim_draw *d) {
  shape s = {(int)between(d, 0, d->range->axes), {0}};
  for (int k = 0; k < s.rank; k++) {
    s.sizes[k] = draw_size(d);
  }
  return s;
}

static void remove_axis(shape *s, int axis) {
  memmove(&s->sizes[axis], &s->sizes[axis + 1], (size_t)(s->rank - 1 - axis) * sizeof *s->sizes);
  s->rank--;
}

static void insert_axis(shape *s, int axis, int64_t size) {
  memmove(&s->sizes[axis + 1], &s->sizes[axis], (size_t)(s->rank - axis) * sizeof *s->sizes);
  s->sizes[axis] = size;
  s->rank++;
}

static void swap_axes(gemel__claim_draw *d, shape *s) {
  int64_t a = between(d, 0, s->rank - 1), b = between(d, 0, s->rank - 1), size = s->sizes[a];
  s->sizes[a] = s->sizes[b];
  s->sizes[b] = size;
}

/* The sizes of two neighbours become one. */
static void merge_axes(gemel__claim_draw *d, shape *s) {
  int axis = (int)between(d, 0, s->rank - 2);
  s->sizes[axis] *= s->sizes[axis + 1];
  remove_axis(s, axis + 1);
}

/* A known shape, or one with one change. */
static shape changed_shape(gemel__claim_draw *d) {
  shape s = shape_of(d, d->known[gemel__random_below(d->random, d->n_known)]);
  int how = (int)between(d, 0, 9);
  if (how == 0 && s.rank < d->range->axes) {
    insert_axis(&s, (int)between(d, 0, s.rank), draw_size(d));
  } else if (how == 1 && s.rank < d->range->axes) {
    insert_axis(&s, (int)between(d, 0, s.rank), 1);
  } else if (how == 2 && s.rank > 0) {
    remove_axis(&s, (int)between(d, 0, s.rank - 1));
  } else if (how <= 4 && s.rank > 0) {
    s.sizes[between(d, 0, s.rank - 1)] = how == 3 ? 1 : draw_size(d);
  } else if (how == 5 && s.rank > 1) {
    swap_axes(d, &s);
  } else if (how == 6 && s.rank > 1) {
    merge_axes(d, &s);
  }
  return s;
}

static shape draw_shape(gemel__claim_draw *d) {
  return d->n_known > 0 && !one_in(d, 4) ? changed_shape(d) : fresh_shape(d);
}

static gemel_dtype draw_dtype(gemel__claim_draw *d) {
  if (d->n_known > 0 && !one_in(d, 3)) {
    return gemel_type_dtype(d->context, d->known[gemel__random_below(d->random, d->n_known)]);
  }
  return one_in(d, 2) /* of what may be no more than an index, a claim says nothing */
             ? (gemel_dtype)gemel__random_below(d->random, GEMEL_DTYPE_COUNT)
             : nth_dtype(d->range->dtypes,
                         gemel__random_below(d->random, count_dtypes(d->range->dtypes)));
}

gemel_type gemel__claim_type(gemel__claim_draw *d) {
  gemel_dtype dtype = draw_dtype(d);
  shape s = draw_shape(d);
  if (s.rank > d->range->axes) {
    s.rank = d->range->axes;
  }
  return gemel_type_of_shape(d->context, dtype, s.rank, s.sizes);
}

/* ---- Attributes ---- */

typedef struct number_list {
  size_t count;
  int64_t at[64];
} number_list;

static int64_t draw_number(gemel__claim_draw *d) {
  switch (between(d, 0, 6)) {
  case 0:
    return 0;
  case 1:
    return 1;
  case 2:
    return between(d, 0, d->range->longest + 1);
  case 3:
    return draw_size(d);
  case 4:
    return gemel__claim_number(d);
  default:
    return between(d, -2, 3);
  }
}

/* How many axes a list is about: those of a known type, as a rule. */
static int draw_axes(gemel__claim_draw *d) {
  return d->n_known > 0 && !one_in(d, 8)
             ? gemel_type_rank(d->context, d->known[gemel__random_below(d->random, d->n_known)])
             : (int)between(d, 0, d->range->axes);
}

static number_list some_axes(gemel__claim_draw *d) {
  number_list n = {0, {0}};
  int rank = draw_axes(d), all = one_in(d, 4);
  for (int k = 0; k < rank; k++) {
    if (all || one_in(d, 2)) {
      n.at[n.count++] = k;
    }
  }
  return n;
}

static number_list permutation(gemel__claim_draw *d) {
  size_t order[GEMEL_MAX_RANK];
  number_list n = {(size_t)draw_axes(d), {0}};
  gemel__random_permutation(d->random, n.count, order);
  for (size_t k = 0; k < n.count; k++) {
    n.at[k] = (int64_t)order[k];
  }
  return n;
}

/* Axes in some order, with -1 for new ones among them. */
static number_list reordered(gemel__claim_draw *d) {
  number_list from = permutation(d), n = {0, {0}};
  for (size_t k = 0; k < from.count; k++) {
    if (one_in(d, 3)) {
      n.at[n.count++] = -1;
    }
    n.at[n.count++] = from.at[k];
  }
  if (one_in(d, 3)) {
    n.at[n.count++] = -1;
  }
  return n;
}

/* A size cut into parts, up to two more than the longest list. */
static number_list parts(gemel__claim_draw *d) {
  shape s = d->n_known > 0 ? shape_of(d, d->known[0]) : fresh_shape(d);
  int64_t most = d->range->longest + 2, rest = s.rank > 0 ? s.sizes[between(d, 0, s.rank - 1)] : 2;
  number_list n = {(size_t)between(d, 1, most < 64 ? most : 64), {0}};
  for (rest = rest < 64 ? rest : 64; rest > 0; rest--) {
    n.at[gemel__random_below(d->random, n.count)]++;
  }
  return n;
}

static number_list sizes(gemel__claim_draw *d) {
  shape s = draw_shape(d);
  number_list n = {(size_t)s.rank, {0}};
  memcpy(n.at, s.sizes, n.count * sizeof *n.at);
  return n;
}

/* A number an axis: mostly small ones, often of one kind. */
static number_list number_each(gemel__claim_draw *d) {
  number_list n = {(size_t)(one_in(d, 8) ? between(d, 0, 4) : draw_axes(d)), {0}};
  int kind = (int)between(d, 0, 3);
  for (size_t k = 0; k < n.count; k++) {
    n.at[k] = kind == 0   ? 1
              : kind == 1 ? between(d, 0, 1)
              : kind == 2 ? between(d, 0, 2)
                          : draw_number(d);
  }
  return n;
}

static number_list draw_list(gemel__claim_draw *d) {
  static number_list (*const ways[])(gemel__claim_draw *) = {
      some_axes, permutation, reordered, parts, sizes, number_each, number_each};
  return ways[gemel__random_below(d->random, sizeof ways / sizeof *ways)](d);
}

static int give_list(gemel__claim_draw *d, const gemel_attr_spec *spec, gemel_attr *attr) {
  number_list n = draw_list(d);
  int64_t *ints = gemel__arena_alloc(d->arena, (n.count + 1) * sizeof *ints);
  gemel_dim *dims = gemel__arena_alloc(d->arena, (n.count + 1) * sizeof *dims);
  if (ints == NULL || dims == NULL) {
    return 0;
  }
  memcpy(ints, n.at, n.count * sizeof *ints);
  for (size_t k = 0; k < n.count; k++) {
    dims[k] = gemel_dim_constant(d->context, ints[k]);
  }
  *attr = spec->kind == (GEMEL_ATTR_LIST | GEMEL_ATTR_INT)
              ? gemel_attr_ints(spec->name, n.count, ints)
              : gemel_attr_dims(spec->name, n.count, dims);
  return 1;
}

static double draw_real(gemel__claim_draw *d) {
  static const double reals[] = {0, 1, -1, 0.5, 2, -0.0, 1e-3, 3};
  return reals[gemel__random_below(d->random, sizeof reals / sizeof *reals)];
}

int gemel__claim_attr(gemel__claim_draw *d, const gemel_attr_spec *spec, gemel_attr *attr) {
  if (spec->fallback != NULL && one_in(d, 8)) {
    return 0;
  }
  switch (spec->kind) {
  case GEMEL_ATTR_INT:
    *attr = gemel_attr_int(spec->name, draw_number(d));
    return 1;
  case GEMEL_ATTR_DIM:
    *attr = gemel_attr_dim(spec->name, gemel_dim_constant(d->context, draw_number(d)));
    return 1;
  case GEMEL_ATTR_FLOAT:
    *attr = gemel_attr_float(spec->name, draw_real(d));
    return 1;
  case GEMEL_ATTR_DTYPE:
    *attr = gemel_attr_dtype(spec->name,
                             (gemel_dtype)gemel__random_below(d->random, GEMEL_DTYPE_COUNT));
    return 1;
  case GEMEL_ATTR_LIST | GEMEL_ATTR_INT:
  case GEMEL_ATTR_LIST | GEMEL_ATTR_DIM:
    return give_list(d, spec, attr);
  default:
    return 0;
  }
}
