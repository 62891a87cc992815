/* SPDX-License-Identifier: MIT
 *
 * Both sides of a question in domain S where only one has a real value, see poles.h. S isn't
 * rounded: 1 + 1/(1/x) and 1.00001 differ at 0 as they do elsewhere, and half of 200 bits are
 * left for what both sides compute in another order.
 */
#include "tiers/poles.h"

#include "core/alloc.h"
#include "core/error.h"

/* 1 if some element has a value on one side only, or on neither where that may be a constant's
 * doing. */
static int any_open(const gemel__question *q, gemel__domain *d, const gemel__rtensor *results) {
  for (size_t k = 0; k < q->n_outputs; k++) {
    const gemel__rtensor *left = &results[k], *right = &results[q->n_outputs + k];
    for (size_t i = 0; i < left->count && i < right->count; i++) {
      gemel__state x = d->state(d, gemel__rtensor_at(left, i));
      gemel__state y = d->state(d, gemel__rtensor_at(right, i));
      int known = x <= GEMEL__UNDEFINED && y <= GEMEL__UNDEFINED;
      if (known && (x != y || (q->special == 3 && x == GEMEL__UNDEFINED))) {
        return 1;
      }
    }
  }
  return 0;
}

static int make_room(gemel__poles *p, size_t n) {
  if (p->special == NULL) {
    p->n = n;
    p->special = gemel__special_new();
    p->results = gemel__alloc_array(2 * n, sizeof *p->results);
  }
  return p->special != NULL && p->results != NULL;
}

static gemel_status evaluate(gemel__poles *p, const gemel__question *q, gemel__rtensor *inputs,
                             gemel_tensor *const *values, gemel_error *error) {
  const gemel__model_side *sides[2] = {q->left, q->right};
  gemel__domain *d = &p->special->domain;
  GEMEL__TRY(gemel__rtensors_read(q->leaves->n_leaves, inputs, d, values, error));
  for (size_t k = 0; k < 2; k++) {
    GEMEL__TRY(sides[k]->evaluate(sides[k], d, inputs, p->results + k * p->n, error));
  }
  return GEMEL_OK;
}

gemel_status gemel__poles_evaluate(gemel__poles *p, const gemel__question *q, int rounded,
                                   gemel_tensor *const *values, gemel_error *error) {
  size_t n = q->leaves->n_leaves;
  gemel__rtensor *inputs = gemel__alloc_array(n, sizeof *inputs);
  gemel_error ignored;
  p->evaluated = 0;
  if (inputs == NULL || !make_room(p, q->n_outputs)) {
    gemel__free(inputs, n * sizeof *inputs);
    return gemel__no_memory(error, "a point");
  }
  p->rounded = rounded;
  p->special->unrounded = !rounded;
  p->special->unknown = 0;
  p->special->invalid = 0;
  gemel__rtensors_clear(2 * p->n, p->results);
  gemel_status status = evaluate(p, q, inputs, values, &ignored);
  p->evaluated = status == GEMEL_OK && p->special->unknown == 0;
  gemel__rtensors_free(n, inputs);
  return status == GEMEL_NO_MEMORY ? gemel__no_memory(error, "a point") : GEMEL_OK;
}

int gemel__poles_only_point(const gemel__question *q) {
  return q->compare_domain == GEMEL__IEEE_DECIDES && q->leaves->n_leaves == 0;
}

gemel_status gemel__poles_look(gemel__poles *p, const gemel__question *q, gemel__domain *d,
                               const gemel__rtensor *results, gemel_tensor *const *values,
                               gemel_error *error) {
  int only = gemel__poles_only_point(q);
  p->evaluated = 0;
  p->rounded = 0;
  return only || (q->compare_domain == GEMEL__IEEE_DECIDES && any_open(q, d, results))
             ? gemel__poles_evaluate(p, q, only, values, error)
             : GEMEL_OK;
}

/* Element I of OUTPUT of both sides in S. 0: there is none. */
static int find_both(const gemel__poles *p, size_t output, size_t i, const void **x,
                     const void **y) {
  const gemel__rtensor *left, *right;
  if (!p->evaluated) {
    return 0;
  }
  left = &p->results[output];
  right = &p->results[p->n + output];
  *x = gemel__rtensor_at(left, i);
  *y = gemel__rtensor_at(right, i);
  return i < left->count && i < right->count;
}

/* 1 if E, in S, is a zero; or another number, and REAL in D is exactly 0: 2 - (2 / 6) 6 isn't in
 * S. */
static int is_zero(gemel__domain *special, const void *e, gemel__domain *d, const void *real) {
  if (special->state(special, e) != GEMEL__DEFINED || gemel__special_is_nan(special, e) ||
      gemel__special_is_infinite(special, e)) {
    return 0;
  }
  int64_t whole = 1;
  return special->sign(special, e) == 0 ||
         (d != NULL && d->to_integer(d, real, &whole) && whole == 0);
}

int gemel__poles_agree(const gemel__poles *p, size_t output, size_t i, gemel__domain *d,
                       const void *x, const void *y) {
  gemel__domain *special = p->special != NULL ? &p->special->domain : NULL;
  const void *a, *b;
  if (!find_both(p, output, i, &a, &b)) {
    return 0;
  }
  if (is_zero(special, a, d, x) && is_zero(special, b, d, y)) {
    return 1;
  }
  return p->rounded ? special->equal(special, a, b) == 1 : gemel__special_alike(special, a, b);
}

int gemel__poles_same_class(const gemel__poles *p, size_t output, size_t i) {
  gemel__domain *d = p->special != NULL ? &p->special->domain : NULL;
  const void *x, *y;
  if (!find_both(p, output, i, &x, &y) || d->state(d, x) != GEMEL__DEFINED ||
      d->state(d, y) != GEMEL__DEFINED) {
    return 0;
  }
  if (gemel__special_is_infinite(d, x) || gemel__special_is_infinite(d, y)) {
    return d->equal(d, x, y) == 1;
  }
  return gemel__special_is_nan(d, x) == gemel__special_is_nan(d, y);
}

void gemel__poles_clear(gemel__poles *p) {
  gemel__rtensors_free(2 * p->n, p->results);
  gemel__special_free(p->special);
  *p = (gemel__poles){NULL, NULL, 0, 0, 0};
}
