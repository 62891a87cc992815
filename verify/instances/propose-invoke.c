/* SPDX-License-Identifier: MIT
 *
 * Proposals for invoke: a body is drawn for inputs of the types that are known, or that are drawn.
 * If the body is known, its inputs are the operands.
 */
#include "instances/propose-invoke.h"

#include <stdio.h>
#include <gemel/ops.h>
#include "ops/ops.h"
#include "sample/draft.h"

enum { MOST_OPERANDS = 8 };

/* One more step of a body: of ALL, a truth too, what any dtype goes through. */
static gemel_value step(gemel_value x, gemel_value y, gemel__random *random) {
  switch (gemel__random_below(random, 4)) {
  case 0:
    return gemel_add(x, y);
  case 1:
    return gemel_mul(x, y);
  case 2:
    return gemel_maximum(x, y);
  default:
    return gemel_minimum(gemel_mul(x, x), y);
  }
}

/* Adds outputs: each input with itself, with an equal one before it, and now and then one more. */
static gemel_status fill_body(gemel_graph *body, size_t n, const gemel_type *types,
                              gemel__random *random) {
  gemel_value values[MOST_OPERANDS], all = {NULL, 0, 0};
  char name[16];
  for (size_t k = 0; k < n; k++) {
    snprintf(name, sizeof name, "x%zu", k);
    values[k] = gemel_input(body, name, types[k]);
    all = k == 0 ? values[k] : all;
  }
  for (size_t k = 0; k < n; k++) {
    gemel_value with = gemel_type_equal(types[k], types[0]) ? all : values[k];
    gemel_value made = step(with, values[k], random);
    all = gemel_type_equal(types[k], types[0]) ? made : all;
    if (k > 0) {
      snprintf(name, sizeof name, "z%zu", k);
      gemel_output(made, name);
    }
  }
  if (gemel__random_chance(random, 1, 3)) {
    gemel_output(step(all, all, random), "more");
  }
  return gemel_output(all, "z");
}

/* The types of operands that aren't known: those of a known body, or drawn ones, mostly alike. */
static gemel_status draw_types(const gemel__proposal *p, const gemel_graph *body, size_t n,
                               gemel_type *types) {
  gemel__draft d = {.context = p->context,
                    .random = p->random,
                    .op = p->op,
                    .dtype = p->dtype,
                    .max_rank = 2,
                    .max_elements = p->max_elements > 0 ? p->max_elements : 24};
  for (size_t k = 0; k < n; k++) {
    gemel__shape shape = {.dtype = p->dtype};
    if (p->known_input[k]) {
      types[k] = p->inputs[k];
    } else if (body != NULL) {
      types[k] = gemel_value_type(gemel_graph_input(body, k));
    } else if (k > 0 && gemel__random_chance(p->random, 1, 2)) {
      types[k] = types[0];
    } else {
      gemel__draw_shape(&d, &shape, 0);
      types[k] = gemel_type_of_shape(p->context, shape.dtype, shape.rank, shape.dims);
    }
    if (gemel_type_is_none(types[k])) {
      return GEMEL_NO_MEMORY;
    }
  }
  return GEMEL_OK;
}

gemel_status gemel__propose_invoke(const gemel__proposal *p, size_t *n_inputs, gemel_type *inputs,
                                   gemel_graph **body) {
  gemel_graph *known =
      p->known_attr[0] && p->attrs[0].kind == GEMEL_ATTR_GRAPH ? p->attrs[0].u.graph : NULL;
  size_t n = p->n_inputs > 0 ? p->n_inputs
             : known != NULL ? gemel_graph_input_count(known)
                             : 1 + (size_t)gemel__random_below(p->random, 3);
  *body = NULL;
  *n_inputs = n;
  if (n == 0 || n > MOST_OPERANDS || (known != NULL && gemel_graph_input_count(known) != n)) {
    return GEMEL_DECLINED;
  }
  gemel_status status = draw_types(p, known, n, inputs);
  if (status != GEMEL_OK || known != NULL) {
    return status;
  }
  gemel_graph *made = gemel_graph_new(p->context, NULL);
  if (made == NULL) {
    return GEMEL_NO_MEMORY;
  }
  status = fill_body(made, n, inputs, p->random);
  if (status == GEMEL_OK) {
    *body = made;
  } else {
    gemel_graph_unref(made);
  }
  return status == GEMEL_NO_MEMORY ? status : status == GEMEL_OK ? GEMEL_OK : GEMEL_DECLINED;
}
