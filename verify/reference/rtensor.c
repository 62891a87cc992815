/* SPDX-License-Identifier: MIT
 *
 * Tensors of domain elements: dense, row-major, each element initialised in its domain. Stored
 * numbers of every dtype are decoded here (f16 and bf16 from their bits), so that references don't
 * depend on the library's conversions.
 */
#include "reference/reference.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "core/alloc.h"
#include "core/dtype.h"
#include "core/error.h"

#define MAX_ELEMENTS ((size_t)1 << 24)

/* The product of the sizes; −1 if it exceeds MAX_ELEMENTS or a size is negative. */
static int64_t count_of(int rank, const int64_t *shape) {
  int64_t count = 1;
  int empty = 0;
  for (int i = 0; i < rank; i++) {
    if (shape[i] < 0)
      return -1;
    empty |= shape[i] == 0;
  }
  if (empty)
    return 0;
  for (int i = 0; i < rank; i++) {
    if (shape[i] > (int64_t)MAX_ELEMENTS / count)
      return -1;
    count *= shape[i];
  }
  return count;
}

gemel_status gemel__rtensor_init(gemel__rtensor *t, gemel__domain *d, gemel_dtype dtype, int rank,
                                 const int64_t *shape, gemel_error *error) {
  *t = (gemel__rtensor){0};
  if (rank < 0 || rank > GEMEL_MAX_RANK)
    return gemel__fail(error, GEMEL_BAD_VALUE, "reference: a tensor of rank %d", rank);
  int64_t count = count_of(rank, shape);
  if (count < 0)
    return gemel__fail(error, GEMEL_BAD_VALUE,
                       "reference: a negative size, or more than %zu elements", MAX_ELEMENTS);
  void *elements = gemel__elements_new(d, (size_t)count);
  if (!elements)
    return gemel__no_memory(error, "a tensor of the reference");
  t->domain = d;
  t->dtype = dtype;
  t->rank = rank;
  for (int i = 0; i < rank; i++)
    t->shape[i] = shape[i];
  t->count = (size_t)count;
  t->elements = elements;
  return GEMEL_OK;
}

void gemel__rtensor_clear(gemel__rtensor *t) {
  if (t->domain)
    gemel__elements_free(t->domain, t->elements, t->count);
  *t = (gemel__rtensor){0};
}

void *gemel__rtensor_index(const gemel__rtensor *t, const int64_t *index) {
  int64_t at = 0;
  for (int i = 0; i < t->rank; i++)
    at = at * t->shape[i] + index[i];
  return gemel__rtensor_at(t, (size_t)at);
}

/* E = the number of DTYPE stored at FROM, which needn't be aligned. */
static void read_element(gemel__domain *d, void *e, gemel_dtype dtype, const char *from) {
  uint64_t whole;
  memcpy(&whole, from, gemel_dtype_size(dtype) == sizeof whole ? sizeof whole : 0);
  if (gemel__is_float(dtype)) {
    d->from_double(d, e, gemel__decode(dtype, from));
  } else if (dtype == GEMEL_BOOL) {
    d->from_integer(d, e, *from != 0);
  } else if (dtype == GEMEL_U64) {
    d->from_unsigned(d, e, whole);
  } else {
    d->from_integer(d, e,
                    dtype == GEMEL_I64 ? (int64_t)whole : (int64_t)gemel__decode(dtype, from));
  }
}

gemel_status gemel__rtensor_from_view(gemel__rtensor *t, gemel__domain *d, const gemel_view *view,
                                      gemel_error *error) {
  GEMEL__TRY(gemel__rtensor_init(t, d, view->dtype, view->rank, view->shape, error));
  int64_t index[GEMEL_MAX_RANK] = {0};
  const char *at = view->data;
  for (size_t i = 0; i < t->count; i++) {
    read_element(d, gemel__rtensor_at(t, i), view->dtype, at);
    for (int axis = view->rank - 1; axis >= 0; axis--) {
      at += view->strides[axis];
      if (++index[axis] < view->shape[axis])
        break;
      at -= view->strides[axis] * index[axis];
      index[axis] = 0;
    }
  }
  return GEMEL_OK;
}

void gemel__rtensors_clear(size_t n, gemel__rtensor *t) {
  for (size_t k = 0; k < n; k++) {
    gemel__rtensor_clear(&t[k]);
  }
}

void gemel__rtensors_free(size_t n, gemel__rtensor *t) {
  if (t != NULL) {
    gemel__rtensors_clear(n, t);
    gemel__free(t, n * sizeof *t);
  }
}

gemel_status gemel__rtensors_read(size_t n, gemel__rtensor *t, gemel__domain *d,
                                  gemel_tensor *const *values, gemel_error *error) {
  gemel__rtensors_clear(n, t);
  for (size_t k = 0; k < n; k++) {
    gemel_view view = gemel_tensor_view(values[k]);
    GEMEL__TRY(gemel__rtensor_from_view(&t[k], d, &view, error));
  }
  return GEMEL_OK;
}
