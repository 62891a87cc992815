/* SPDX-License-Identifier: MIT
 *
 * Sizes of input axes whose dim is an expression. If one symbol of it is not known from elsewhere
 * and the expression is linear in that symbol (2*T, N + 1), the size determines the symbol. If it
 * leaves symbols open ((H + 2*p - k)//s + 1), the axis may have any size: then the expression as a
 * whole is known, and so is every dim of the graph that is this expression.
 */
#include <string.h>
#include "core/alloc.h"
#include "core/error.h"
#include "run/planner.h"

/* Looks symbols up, with a trial value for the first one that isn't known. */
struct trial {
  const gemel__plan *plan;
  const char *unknown; /* NULL: none so far */
  int64_t value;
  int several; /* more than one is unknown */
};

static int look_up_trial(void *user, const gemel__atom *atom, int64_t *size) {
  struct trial *t = user;
  if (atom->kind != GEMEL__ATOM_SYMBOL) {
    return -1;
  }
  if (gemel__plan_symbol(t->plan, atom->name, size) == 0) {
    return 0;
  }
  if (t->unknown == NULL) {
    t->unknown = atom->name;
  }
  t->several |= strcmp(t->unknown, atom->name) != 0;
  *size = t->value;
  return 0;
}

/* The dim's value with the unknown symbol at VALUE; 0 if it has none. */
static int value_at(gemel_context *context, gemel_dim dim, struct trial *t, int64_t value,
                    int64_t *result) {
  t->value = value;
  return gemel__dim_evaluate(context, dim, look_up_trial, t, result, NULL) == GEMEL_OK;
}

/* Solves DIM = SIZE for its one unknown symbol: 1 solved, 0 not linear or several unknown, −1
 * linear and without solution. */
static int solve(gemel_context *context, gemel_dim dim, struct trial *t, int64_t size,
                 int64_t *solution) {
  int64_t at0, at1, at2, slope, check;
  if (!value_at(context, dim, t, 0, &at0) || !value_at(context, dim, t, 1, &at1) ||
      !value_at(context, dim, t, 2, &at2) || t->several || t->unknown == NULL) {
    return 0;
  }
  slope = at1 - at0;
  if (slope == 0 || at2 - at1 != slope) {
    return 0;
  }
  *solution = (size - at0) / slope;
  /* a floor may be linear at the start and not further on */
  if (*solution < 0 || !value_at(context, dim, t, *solution, &check) || check != size) {
    return -1;
  }
  return 1;
}

static gemel_status add_known(gemel__plan *plan, gemel_dim dim, int64_t size, gemel_error *error) {
  if (gemel__grow(&plan->known, &plan->known_capacity, plan->n_known + 1, sizeof *plan->known) !=
      0) {
    return gemel__no_memory(error, "a plan");
  }
  plan->known[plan->n_known].dim = dim;
  plan->known[plan->n_known++].size = size;
  return GEMEL_OK;
}

int gemel__plan_known(const gemel__plan *plan, gemel_dim dim, int64_t *size) {
  size_t k;
  for (k = 0; k < plan->n_known; k++) {
    if (gemel_dim_equal(plan->known[k].dim, dim)) {
      *size = plan->known[k].size;
      return 1;
    }
  }
  return 0;
}

static gemel_status add_symbol(gemel__plan *plan, const char *name, int64_t size, uint32_t input,
                               int axis, gemel_error *error) {
  size_t at;
  if (gemel__grow(&plan->symbols, &plan->symbol_capacity, plan->n_symbols + 1,
                  sizeof *plan->symbols) != 0) {
    return gemel__no_memory(error, "a plan");
  }
  /* the list is sorted by name */
  for (at = plan->n_symbols; at > 0 && strcmp(plan->symbols[at - 1].name, name) > 0; at--) {
    plan->symbols[at] = plan->symbols[at - 1];
  }
  plan->symbols[at].name = name;
  plan->symbols[at].size = size;
  plan->symbols[at].input = input;
  plan->symbols[at].axis = axis;
  plan->n_symbols++;
  return GEMEL_OK;
}

gemel_status gemel__solve_axis(const gemel_function *f, gemel__plan *plan, uint32_t input, int axis,
                               int64_t size, int last, gemel_error *error) {
  gemel_context *context = f->program.context;
  gemel_type type = gemel__value_type(&f->program, f->program.inputs[input].value);
  gemel_dim dim = gemel_type_dims(context, type)[axis];
  struct trial t = {plan, NULL, 0, 0};
  int64_t solution, known;
  char text[200];
  int solved = solve(context, dim, &t, size, &solution);
  if (t.unknown == NULL) {
    return GEMEL_OK;
  }
  if (solved > 0) {
    return add_symbol(plan, t.unknown, solution, input, axis, error);
  }
  gemel_dim_format(context, dim, text, sizeof text);
  if (solved < 0) {
    return gemel__fail(error, GEMEL_BAD_SHAPE, "axis %d of input %s: no size %s makes %s %lld",
                       axis, f->program.inputs[input].name, t.unknown, text, (long long)size);
  }
  if (!last) {
    return GEMEL_OK; /* another axis may yet tell a symbol */
  }
  if (gemel__plan_known(plan, dim, &known)) {
    return known == size ? GEMEL_OK
                         : gemel__fail(error, GEMEL_BAD_SHAPE,
                                       "axis %d of input %s: %s is %lld elsewhere, not %lld", axis,
                                       f->program.inputs[input].name, text, (long long)known,
                                       (long long)size);
  }
  return add_known(plan, dim, size, error);
}
