/* SPDX-License-Identifier: MIT
 *
 * Walking over dims: comparing, evaluating, and rebuilding with other atoms. The walks go down into
 * quotients, mins and maxes; how deep these nest, and how many there can be, is bounded when they
 * are built (dims.h), so the recursion is too.
 */
#include "core/dims.h"
#include "core/error.h"

gemel__relation gemel__dim_compare(gemel_context *context, gemel_dim a, gemel_dim b) {
  gemel__poly left, right, difference;
  if (gemel_dim_equal(a, b)) {
    return GEMEL__EQUAL;
  }
  if (gemel_dim_is_none(a) || gemel_dim_is_none(b)) {
    return GEMEL__UNKNOWN;
  }
  gemel__poly_load(context->dims, a, &left);
  gemel__poly_load(context->dims, b, &right);
  if (gemel__poly_combine(&left, &right, -1, &difference)) {
    return GEMEL__UNKNOWN;
  }
  gemel__bounds bounds = gemel__poly_bounds(context->dims, &difference);
  if (bounds.low > 0 || bounds.high < 0) {
    return GEMEL__DIFFERENT;
  }
  /* 2 N and 2 M + 1 differ, whatever N and M are. */
  uint64_t g = gemel__poly_content(&difference, 0, 0);
  return g && gemel__poly_content(&difference, g, 1) != g ? GEMEL__DIFFERENT : GEMEL__UNKNOWN;
}

void gemel__dim_difference(gemel_context *context, gemel_dim a, gemel_dim b, int64_t *low,
                           int64_t *high) {
  gemel__poly left, right, difference;
  gemel__bounds bounds = {INT64_MIN, INT64_MAX};
  gemel__poly_load(context->dims, a, &left);
  gemel__poly_load(context->dims, b, &right);
  if (gemel__poly_combine(&left, &right, -1, &difference) == 0) {
    bounds = gemel__poly_bounds(context->dims, &difference);
  }
  *low = bounds.low;
  *high = bounds.high;
}

static gemel__atom public_atom(const gemel__dim_atom *atom) {
  gemel__atom result = {(gemel__atom_kind)atom->kind, atom->name, atom->a, atom->b};
  return result;
}

int gemel__dim_is_atom(gemel_context *context, gemel_dim dim, gemel__atom *atom) {
  const struct gemel__dims *dims = context->dims;
  const gemel__dim *stored = gemel_dim_is_none(dim) ? NULL : gemel__dim_at(dims, dim);
  if (!stored || stored->count != 1 || stored->terms[0].coefficient != 1) {
    return 0;
  }
  const gemel__mono *mono = gemel__mono_at(dims, stored->terms[0].mono);
  if (mono->degree != 1) {
    return 0;
  }
  const gemel__dim_atom *found = gemel__dim_atom_at(dims, mono->factors[0].atom);
  if (found->kind > GEMEL__ATOM_INPUT) {
    return 0;
  }
  *atom = public_atom(found);
  return 1;
}

/* ---- Evaluation ---- */

typedef struct dims_evaluation {
  const struct gemel__dims *dims;
  int (*lookup)(void *user, const gemel__atom *atom, int64_t *value);
  void *user;
  gemel_error *error;
} dims_evaluation;

static gemel_status evaluate(const dims_evaluation *e, gemel_dim dim, int64_t *value);

static gemel_status overflow(const dims_evaluation *e, const char *text) {
  return gemel__fail(e->error, GEMEL_BAD_VALUE, "the size %s does not fit 64 bits", text);
}

static gemel_status evaluate_quotient(const dims_evaluation *e, const gemel__dim_atom *atom,
                                      int64_t *value) {
  int64_t above, below;
  gemel_status status = evaluate(e, gemel__dividend(atom), &above);
  status = status ? status : evaluate(e, gemel__divisor(atom), &below);
  if (status) {
    return status;
  }
  if (below == 0) {
    return gemel__fail(e->error, GEMEL_BAD_VALUE, "division by zero in the size %s",
                       atom->facts.text);
  }
  if (below == -1 && above == INT64_MIN) {
    return overflow(e, atom->facts.text);
  }
  *value = gemel__floor_quotient(above, below);
  return GEMEL_OK;
}

static gemel_status evaluate_atom(const dims_evaluation *e, const gemel__dim_atom *atom,
                                  int64_t *value) {
  if (atom->kind == GEMEL__ATOM_QUOTIENT) {
    return evaluate_quotient(e, atom, value);
  }
  if (atom->kind <= GEMEL__ATOM_INPUT) {
    gemel__atom given = public_atom(atom);
    if (e->lookup(e->user, &given, value)) {
      return gemel__fail(e->error, GEMEL_NOT_FOUND, "the size %s has no value", atom->facts.text);
    }
    return GEMEL_OK;
  }
  for (uint32_t k = 0; k < atom->count; k++) {
    int64_t x;
    gemel_status status = evaluate(e, atom->list[k], &x);
    if (status) {
      return status;
    }
    if (k == 0 || (atom->kind == GEMEL__ATOM_MIN ? x < *value : x > *value)) {
      *value = x;
    }
  }
  return GEMEL_OK;
}

static gemel_status evaluate(const dims_evaluation *e, gemel_dim dim, int64_t *value) {
  const gemel__dim *stored = gemel__dim_at(e->dims, dim);
  int64_t sum = 0;
  for (uint32_t k = 0; k < stored->count; k++) {
    const gemel__mono *mono = gemel__mono_at(e->dims, stored->terms[k].mono);
    int64_t product = stored->terms[k].coefficient;
    for (uint32_t i = 0; i < mono->count; i++) {
      int64_t x;
      gemel_status status =
          evaluate_atom(e, gemel__dim_atom_at(e->dims, mono->factors[i].atom), &x);
      if (status) {
        return status;
      }
      for (uint32_t p = 0; p < mono->factors[i].power; p++) {
        if (__builtin_mul_overflow(product, x, &product)) {
          return overflow(e, stored->facts.text);
        }
      }
    }
    if (__builtin_add_overflow(sum, product, &sum)) {
      return overflow(e, stored->facts.text);
    }
  }
  *value = sum;
  return GEMEL_OK;
}

gemel_status gemel__dim_evaluate(gemel_context *context, gemel_dim dim,
                                 int (*lookup)(void *user, const gemel__atom *atom, int64_t *value),
                                 void *user, int64_t *value, gemel_error *error) {
  dims_evaluation e = {context->dims, lookup, user, error};
  int64_t result;
  if (gemel_dim_is_none(dim)) {
    return gemel__fail(error, GEMEL_BAD_ARGUMENT, "no size to evaluate");
  }
  gemel_status status = evaluate(&e, dim, &result);
  if (!status) {
    *value = result;
  }
  return status;
}

/* ---- Substitution ---- */

typedef struct substitution {
  gemel_context *context;
  gemel_dim (*replace)(void *user, const gemel__atom *atom, gemel_dim self);
  void *user;
} substitution;

static gemel_dim substitute(const substitution *s, gemel_dim dim);

/* The dim that is atom ID by itself. */
static gemel_dim lone(gemel_context *context, uint32_t id) {
  gemel__dim_factor factor = {id, 1};
  gemel__poly poly;
  pthread_mutex_lock(&context->lock);
  uint32_t mono = gemel__mono_intern(context->dims, &factor, 1);
  poly.count = 1;
  poly.terms[0] = (gemel__dim_term){1, mono};
  gemel_dim dim = mono ? gemel__dim_intern(context->dims, &poly) : GEMEL_DIM_NONE;
  pthread_mutex_unlock(&context->lock);
  return dim;
}

static gemel_dim substitute_atom(const substitution *s, uint32_t id) {
  const gemel__dim_atom *atom = gemel__dim_atom_at(s->context->dims, id);
  if (atom->kind <= GEMEL__ATOM_INPUT) {
    gemel__atom given = public_atom(atom);
    gemel_dim self = lone(s->context, id);
    return gemel_dim_is_none(self) ? self : s->replace(s->user, &given, self);
  }
  if (atom->kind == GEMEL__ATOM_QUOTIENT) {
    gemel_dim above = substitute(s, gemel__dividend(atom));
    if (gemel_dim_is_none(above)) {
      return above;
    }
    return gemel_dim_floordiv(s->context, above, substitute(s, gemel__divisor(atom)));
  }
  gemel_dim result = substitute(s, atom->list[0]);
  for (uint32_t k = 1; k < atom->count && !gemel_dim_is_none(result); k++) {
    gemel_dim x = substitute(s, atom->list[k]);
    result = atom->kind == GEMEL__ATOM_MIN ? gemel_dim_min(s->context, result, x)
                                           : gemel_dim_max(s->context, result, x);
  }
  return result;
}

static gemel_dim substitute(const substitution *s, gemel_dim dim) {
  const gemel__dim *stored = gemel__dim_at(s->context->dims, dim);
  gemel_dim sum = gemel_dim_constant(s->context, 0);
  for (uint32_t k = 0; k < stored->count && !gemel_dim_is_none(sum); k++) {
    const gemel__mono *mono = gemel__mono_at(s->context->dims, stored->terms[k].mono);
    gemel_dim product = gemel_dim_constant(s->context, stored->terms[k].coefficient);
    for (uint32_t i = 0; i < mono->count && !gemel_dim_is_none(product); i++) {
      gemel_dim atom = substitute_atom(s, mono->factors[i].atom);
      for (uint32_t p = 0; p < mono->factors[i].power; p++) {
        product = gemel_dim_mul(s->context, product, atom);
      }
    }
    sum = gemel_dim_add(s->context, sum, product);
  }
  return sum;
}

gemel_dim gemel__dim_substitute(gemel_context *context, gemel_dim dim,
                                gemel_dim (*replace)(void *user, const gemel__atom *atom,
                                                     gemel_dim self),
                                void *user) {
  substitution s = {context, replace, user};
  int64_t constant;
  if (gemel_dim_is_none(dim) || gemel_dim_is_constant(context, dim, &constant)) {
    return dim;
  }
  return substitute(&s, dim);
}
