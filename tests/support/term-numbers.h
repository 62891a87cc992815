/* SPDX-License-Identifier: MIT
 *
 * Terms of proofs with numbers for their symbols. Elements are evaluated in a domain: those of the
 * operands of one operation, functions of them by the references, folds index for index.
 */
#ifndef GEMEL_TESTS_TERM_NUMBERS_H
#define GEMEL_TESTS_TERM_NUMBERS_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "core/context.h"
#include "domains/domain.h"
#include "ops/ops.h"
#include "reference/common.h"
#include "reference/twin.h"
#include "unbounded/scene.h"

enum { MOST_SYMBOLS = 200, MOST_OUTPUTS = 16 };

/* What the terms of an operation pulled are evaluated with. */
typedef struct numbers {
  gemel_context *context;
  gemel__domain *d;
  const gemel__pterms *terms;
  const gemel__op *op;
  gemel__rtensor inputs[GEMEL_SAMPLE_MAX_INPUTS], outputs[MOST_OUTPUTS];
  uint32_t n_inputs;
  gemel__pterm symbols[MOST_SYMBOLS]; /* what they are: */
  int64_t values[MOST_SYMBOLS];
  uint32_t n_symbols;
  char wrong[200]; /* what went wrong first */
} numbers;

static int fails(numbers *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int fails(numbers *w, const char *format, ...) {
  va_list list;
  if (w->wrong[0] == 0) {
    va_start(list, format);
    vsnprintf(w->wrong, sizeof w->wrong, format, list);
    va_end(list);
  }
  return 0;
}

/* ---- Integers and truths ---- */

static gemel_dtype element_of(numbers *w, gemel__pterm a, void *e);

static const gemel__pterm_node *node_of(const numbers *w, gemel__pterm a) {
  return &w->terms->nodes[a];
}

static gemel__pterm part(const numbers *w, gemel__pterm a, uint32_t k) {
  return gemel__p_operand(w->terms, a, k);
}

static void set_symbol(numbers *w, gemel__pterm symbol, int64_t number) {
  uint32_t at = 0;
  while (at < w->n_symbols && w->symbols[at] != symbol) {
    at++;
  }
  if (at == MOST_SYMBOLS) {
    fails(w, "too many symbols");
    return;
  }
  w->symbols[at] = symbol;
  w->values[at] = number;
  w->n_symbols = at == w->n_symbols ? at + 1 : w->n_symbols;
}

static int64_t floor_of(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && (a % b < 0) != (b < 0));
}

static int64_t integer_of(numbers *w, gemel__pterm a);
static int truth_of(numbers *w, gemel__pterm a);

/* The integer that the element A is. */
static int64_t integer_of_element(numbers *w, gemel__pterm a) {
  int64_t integer = 0;
  void *e = gemel__elements_new(w->d, 1);
  element_of(w, a, e);
  if (!w->d->to_integer(w->d, e, &integer)) {
    fails(w, "an element that is no integer");
  }
  gemel__elements_free(w->d, e, 1);
  return integer;
}

/* unflatten.K(number, sizes...): index K of that element, counted on outside of the tensor. */
static int64_t unflattened(numbers *w, gemel__pterm a, uint32_t k) {
  int64_t number = integer_of(w, part(w, a, 0));
  uint32_t axes = node_of(w, a)->count - 1;
  for (uint32_t i = axes - 1; i > k; i--) {
    int64_t size = integer_of(w, part(w, a, i + 1));
    number = size > 0 ? floor_of(number, size) : -1;
  }
  int64_t size = integer_of(w, part(w, a, k + 1));
  return k == 0 || size <= 0 ? number : number - size * floor_of(number, size);
}

/* group(k, count, groups): the group of channel K, of GROUPS groups of as many. */
static int64_t group_of(numbers *w, gemel__pterm a) {
  int64_t k = integer_of(w, part(w, a, 0)), count = integer_of(w, part(w, a, 1));
  int64_t groups = integer_of(w, part(w, a, 2));
  if (groups < 1 || count < groups) {
    return 0;
  }
  int64_t group = k / (count / groups);
  return group < 0 ? 0 : group >= groups ? groups - 1 : group;
}

static int64_t integer_call(numbers *w, gemel__pterm a) {
  const char *name = node_of(w, a)->name;
  if (strncmp(name, "unflatten.", 10) == 0) {
    return unflattened(w, a, (uint32_t)atoi(name + 10));
  }
  if (strcmp(name, "group") == 0) {
    return group_of(w, a);
  }
  if (strcmp(name, "integer") == 0) {
    return integer_of_element(w, part(w, a, 0));
  }
  if (strcmp(name, "quotient") == 0) {
    int64_t step = integer_of(w, part(w, a, 1));
    return step != 0 ? integer_of(w, part(w, a, 0)) / step : 0;
  }
  return fails(w, "no number for %s", name);
}

static int64_t polynomial(numbers *w, gemel__pterm a) {
  const gemel__pterm_node n = *node_of(w, a);
  int64_t value = n.kind == GEMEL__P_SUM ? n.value : 1;
  for (uint32_t k = 0; k < n.count; k++) {
    int64_t factor = integer_of(w, part(w, a, k));
    if (n.kind == GEMEL__P_SUM) {
      value += w->terms->coefficients[n.first + k] * factor;
    } else {
      value *= factor;
    }
  }
  return value;
}

static int64_t integer_of(numbers *w, gemel__pterm a) {
  const gemel__pterm_node n = *node_of(w, a);
  uint32_t at = 0;
  int64_t by;
  switch (n.kind) {
  case GEMEL__P_NUMBER:
    return n.value;
  case GEMEL__P_SYMBOL:
    while (at < w->n_symbols && w->symbols[at] != a) {
      at++;
    }
    return at < w->n_symbols ? w->values[at] : fails(w, "no number for %s", n.name);
  case GEMEL__P_SUM:
  case GEMEL__P_PRODUCT:
    return polynomial(w, a);
  case GEMEL__P_DIVIDED:
  case GEMEL__P_REMAINDER:
    by = integer_of(w, part(w, a, 1));
    if (by < 1) {
      return fails(w, "a divisor below 1");
    }
    return n.kind == GEMEL__P_DIVIDED
               ? floor_of(integer_of(w, part(w, a, 0)), by)
               : integer_of(w, part(w, a, 0)) - by * floor_of(integer_of(w, part(w, a, 0)), by);
  case GEMEL__P_CHOICE:
    return integer_of(w, part(w, a, truth_of(w, part(w, a, 0)) ? 1 : 2));
  case GEMEL__P_CALL:
    return integer_call(w, a);
  default:
    return fails(w, "an integer of kind %d", n.kind);
  }
}

static int truth_call(numbers *w, gemel__pterm a) {
  const char *name = node_of(w, a)->name;
  if (strcmp(name, "divides") == 0) {
    int64_t distance = integer_of(w, part(w, a, 0)), step = integer_of(w, part(w, a, 1));
    return step != 0 && distance % step == 0;
  }
  if (strcmp(name, "in groups") == 0) {
    int64_t groups = integer_of(w, part(w, a, 1));
    return groups > 0 && integer_of(w, part(w, a, 0)) % groups == 0;
  }
  if (strcmp(name, "truth") == 0) {
    void *e = gemel__elements_new(w->d, 1);
    element_of(w, part(w, a, 0), e);
    int sign = w->d->sign(w->d, e);
    gemel__elements_free(w->d, e, 1);
    return sign != 0;
  }
  return fails(w, "no truth for %s", name);
}

/* 1 if two elements are the same number. */
static int same_elements(numbers *w, gemel__pterm a, gemel__pterm b) {
  void *e = gemel__elements_new(w->d, 2), *other = gemel__element(w->d, e, 1);
  gemel_dtype dtype = element_of(w, a, e);
  int same = element_of(w, b, other) == dtype && w->d->equal(w->d, e, other) == 1;
  gemel__elements_free(w->d, e, 2);
  return same;
}

static int truth_of(numbers *w, gemel__pterm a) {
  const gemel__pterm_node n = *node_of(w, a);
  switch (n.kind) {
  case GEMEL__P_TRUTH:
    return n.value != 0;
  case GEMEL__P_ZERO:
    return integer_of(w, part(w, a, 0)) == 0;
  case GEMEL__P_NATURAL:
    return integer_of(w, part(w, a, 0)) >= 0;
  case GEMEL__P_NOT:
    return !truth_of(w, part(w, a, 0));
  case GEMEL__P_AND:
    return truth_of(w, part(w, a, 0)) && truth_of(w, part(w, a, 1));
  case GEMEL__P_OR:
    return truth_of(w, part(w, a, 0)) || truth_of(w, part(w, a, 1));
  case GEMEL__P_SAME:
    return same_elements(w, part(w, a, 0), part(w, a, 1));
  case GEMEL__P_CALL:
    return truth_call(w, a);
  default:
    return fails(w, "a truth of kind %d", n.kind);
  }
}

/* ---- Elements ---- */

/* The dtype that elements of SORT have, where it says so; else that of the first operand. */
static gemel_dtype dtype_of_sort(const numbers *w, int sort) {
  gemel_dtype dtype;
  return gemel__psort_dtype(sort, &dtype) ? dtype
         : w->n_inputs > 0                ? w->inputs[0].dtype
                                          : w->outputs[0].dtype;
}

/* Operation NAME by its reference. */
static gemel_dtype apply(numbers *w, const char *name, size_t n,
                         const gemel__rtensor *const *inputs, const gemel_attr *attrs,
                         size_t element, void *e) {
  gemel__rtensor result = {0};
  gemel_error error = {0};
  gemel_dtype dtype = GEMEL_DTYPE_COUNT;
  uint32_t op = 1;
  while (op < GEMEL__OP_COUNT && strcmp(gemel__rows[op].name, name) != 0) {
    op++;
  }
  gemel__rcall call = {.domain = w->d,
                       .n_inputs = n,
                       .inputs = inputs,
                       .attrs = attrs,
                       .max_outputs = 1,
                       .outputs = &result,
                       .error = &error,
                       .name = name,
                       .context = w->context};
  if (op == GEMEL__OP_COUNT || gemel__twin_of(op)->reference(&call) != GEMEL_OK ||
      element >= result.count) {
    fails(w, "%s of elements: %s", name, error.text);
  } else {
    w->d->set(w->d, e, gemel__rtensor_at(&result, element));
    dtype = result.dtype;
  }
  gemel__rtensor_clear(&result);
  return dtype;
}

/* Elements of the fold A, as a vector. */
static void vector_of(numbers *w, gemel__pterm a, gemel__rtensor *vector) {
  const gemel__pterm_node n = *node_of(w, a);
  int64_t shape[GEMEL__PAXES], at[GEMEL__PAXES] = {0}, count = 1;
  int rank = (int)n.count / 2;
  gemel_error error;
  for (int k = 0; k < rank; k++) {
    shape[k] = integer_of(w, part(w, a, 2 * (uint32_t)k + 2));
    count *= shape[k];
  }
  gemel_dtype dtype = dtype_of_sort(w, node_of(w, part(w, a, 0))->sort);
  CT_EQ_INT(gemel__rtensor_init(vector, w->d, dtype, 1, &count, &error), GEMEL_OK);
  for (size_t i = 0; i < vector->count; i++) {
    for (int k = 0; k < rank; k++) {
      set_symbol(w, part(w, a, 2 * (uint32_t)k + 1), at[k]);
    }
    vector->dtype = element_of(w, part(w, a, 0), gemel__rtensor_at(vector, i));
    gemel__index_next(rank, shape, at);
  }
}

static gemel_dtype folded(numbers *w, gemel__pterm a, void *e) {
  const char *name = node_of(w, a)->name;
  gemel__rtensor vector = {0};
  const gemel__rtensor *inputs[] = {&vector};
  const gemel_attr along[] = {gemel_attr_int("axis", 0)},
                   all[] = {{.name = "axes"}, gemel_attr_int("keepdims", 0)};
  int is_dot = strcmp(name, "dot") == 0;
  vector_of(w, a, &vector);
  gemel_dtype dtype = vector.dtype;
  if (is_dot) { /* a sum in the operands' dtype, which is not widened */
    w->d->from_integer(w->d, e, 0);
    for (size_t i = 0; i < vector.count; i++) {
      w->d->add(w->d, e, e, gemel__rtensor_at(&vector, i));
    }
    w->d->round(w->d, e, dtype, -1);
  } else {
    dtype = apply(w, name, 1, inputs, strcmp(name, "argmax") == 0 ? along : all, 0, e);
  }
  gemel__rtensor_clear(&vector);
  return dtype;
}

/* A call of what depends on all elements along an axis, and on the place there. */
static gemel_dtype along_axis(numbers *w, gemel__pterm a, void *e) {
  const gemel__pterm_node n = *node_of(w, a);
  const gemel_attr_spec *schema = w->op->record.attrs;
  gemel__rtensor vector = {0};
  const gemel__rtensor *inputs[] = {&vector};
  gemel_attr attrs[4] = {{0}};
  uint32_t next = 2;
  for (uint32_t k = 0; k < 4 && schema[k].name != NULL; k++) {
    int is_axis = strcmp(schema[k].name, "axis") == 0;
    attrs[k] = gemel_attr_int(schema[k].name,
                              is_axis || next == n.count ? 0 : integer_of(w, part(w, a, next)));
    next += !is_axis;
  }
  if (next != n.count) {
    fails(w, "%s: other attributes", n.name);
  }
  vector_of(w, part(w, a, 0), &vector);
  gemel_dtype dtype = apply(w, n.name, 1, inputs, attrs, (size_t)integer_of(w, part(w, a, 1)), e);
  gemel__rtensor_clear(&vector);
  return dtype;
}

/* A call of the elementwise operation NAME; cast's dtype is the sort's, or behind the name. */
static gemel_dtype elementwise(numbers *w, gemel__pterm a, void *e) {
  const gemel__pterm_node n = *node_of(w, a);
  gemel__rtensor inputs[3] = {{0}};
  const gemel__rtensor *pointers[3] = {&inputs[0], &inputs[1], &inputs[2]};
  char name[60];
  gemel_dtype to = dtype_of_sort(w, n.sort);
  gemel_error error;
  snprintf(name, sizeof name, "%s", n.name);
  char *behind = strchr(name, ':');
  if (behind != NULL) {
    *behind++ = 0;
    CT_EQ_INT(gemel_dtype_find(behind, &to), GEMEL_OK);
  }
  for (uint32_t k = 0; k < n.count && k < 3; k++) {
    CT_EQ_INT(gemel__rtensor_init(&inputs[k], w->d, to, 0, NULL, &error), GEMEL_OK);
    inputs[k].dtype = element_of(w, part(w, a, k), gemel__rtensor_at(&inputs[k], 0));
  }
  const gemel_attr cast[] = {gemel_attr_dtype("dtype", to)};
  gemel_dtype dtype = n.count <= 3 ? apply(w, name, n.count, pointers, cast, 0, e) : to;
  gemel__rtensors_clear(3, inputs);
  return dtype;
}

/* An element of an operand; an index outside of it is a fault of the pull. */
static gemel_dtype read_operand(numbers *w, gemel__pterm a, void *e) {
  const gemel__pterm_node n = *node_of(w, a);
  const gemel__rtensor *x = &w->inputs[atoi(n.name + 1)];
  int64_t index[GEMEL__PAXES];
  if ((int)n.count != x->rank) {
    fails(w, "%s read with %u indices", n.name, n.count);
    return x->dtype;
  }
  for (int k = 0; k < x->rank; k++) {
    index[k] = integer_of(w, part(w, a, (uint32_t)k));
    if (index[k] < 0 || index[k] >= x->shape[k]) {
      fails(w, "%s read outside, at %lld of axis %d", n.name, (long long)index[k], k);
      return x->dtype;
    }
  }
  w->d->set(w->d, e, gemel__rtensor_index(x, index));
  return x->dtype;
}

static gemel_dtype call_of(numbers *w, gemel__pterm a, void *e) {
  const gemel__pterm_node n = *node_of(w, a);
  gemel_dtype dtype = dtype_of_sort(w, n.sort);
  if (n.value == 2) {
    w->d->from_double(w->d, e, strtod(n.name, NULL));
    return dtype;
  }
  if (n.name[0] == 'x' && n.name[1] >= '0' && n.name[1] <= '9') {
    return read_operand(w, a, e);
  }
  if (strncmp(n.name, "element", 7) == 0) {
    dtype = n.name[7] == ':' || w->n_inputs == 0 ? w->outputs[0].dtype : dtype;
    w->d->from_integer(w->d, e, integer_of(w, part(w, a, 0)));
    w->d->round(w->d, e, dtype, -1);
    return dtype;
  }
  if (strcmp(n.name, "inverse") == 0) {
    void *one = gemel__elements_new(w->d, 1);
    w->d->from_integer(w->d, one, 1);
    dtype = element_of(w, part(w, a, 0), e);
    w->d->div(w->d, e, one, e);
    gemel__elements_free(w->d, one, 1);
    return dtype;
  }
  return n.count > 1 && node_of(w, part(w, a, 0))->kind == GEMEL__P_FOLD &&
                 node_of(w, part(w, a, 0))->name == n.name
             ? along_axis(w, a, e)
             : elementwise(w, a, e);
}

/* E = the element A; returns its dtype, which must be that of its sort. */
static gemel_dtype element_of(numbers *w, gemel__pterm a, void *e) {
  gemel_dtype dtype = GEMEL_DTYPE_COUNT, said;
  if (w->wrong[0] != 0 || a == 0) {
    fails(w, "no term");
    return GEMEL_F32;
  }
  const gemel__pterm_node n = *node_of(w, a);
  switch (n.kind) {
  case GEMEL__P_CALL:
    dtype = call_of(w, a, e);
    break;
  case GEMEL__P_FOLD:
    dtype = folded(w, a, e);
    break;
  case GEMEL__P_CHOICE:
    dtype = element_of(w, part(w, a, truth_of(w, part(w, a, 0)) ? 1 : 2), e);
    break;
  default:
    fails(w, "an element of kind %d", n.kind);
  }
  if (gemel__psort_dtype(n.sort, &said) && said != dtype) {
    fails(w, "%s: an element of %s in a sort of %s", n.name != NULL ? n.name : "a choice",
          dtype < GEMEL_DTYPE_COUNT ? gemel_dtype_name(dtype) : "?", gemel_dtype_name(said));
  }
  return dtype;
}

#endif
