/* SPDX-License-Identifier: MIT
 *
 * Tier gradient by dual numbers. The library builds two graphs: reverse mode R(x, u) gives Jᵀu,
 * whose inner product with a direction t is uᵀ(J t); forward mode J(x, t) gives J t. The reference
 * of the operation itself, evaluated on dual numbers x + t ε, has the tangent J t, by the rules of
 * calculus in domains/dual.c, which share nothing with lib/ops. Both sides are evaluated by
 * references on the models, so they must be equal exactly. An operation may have only one of the
 * two rules, and is judged by that.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include "core/alloc.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/graph.h"
#include "core/value.h"
#include "base/status.h"
#include "domains/bound.h"
#include "domains/dual.h"
#include "domains/ordered.h"
#include "instances/assumed.h"
#include "reference/twin.h"
#include "tiers/model.h"
#include "tiers/tiers.h"

/* One instance. The leaves of both sides are x (its inputs), u (a cotangent for each output of
 * float dtype) and t (a tangent for each input of float dtype), in this order. */
struct derivative {
  const gemel__instance *instance;
  gemel__partial part;     /* which of these are asked about; the others have none */
  gemel__instance reverse; /* graph of inputs x, u and of a cotangent for each float input */
  /* graph of inputs x, t and of a tangent for each float output, or NULL */
  gemel_graph *forward;
  int one_way;            /* 1: there is no reverse rule; only the inputs of REVERSE are used */
  gemel__instance leaves; /* without a graph: the leaves of both sides */
  size_t n_x, n_u, n_t;
  size_t n_out;                   /* outputs of the instance, of any dtype */
  gemel__reference_lookup lookup; /* references for the built graphs; NULL: the usual ones */
};

/* 1 if input K has a tangent. */
static int moves(const struct derivative *v, size_t k) {
  return gemel__is_float(v->instance->leaves[k].dtype) && gemel__partial_takes_input(v->part, k);
}

/* ---- The forward graph ---- */

/* "tangent_K", or in a derivative's derivative "tangent2_K" and so on. */
static void name_tangent(const gemel_graph *g, size_t k, char *label, size_t bytes) {
  int taken = 1;
  unsigned char order = 1;
  snprintf(label, bytes, "tangent_%zu", k);
  while (taken) {
    taken = 0;
    for (size_t j = 0; j < gemel_graph_input_count(g); j++) {
      taken |= strcmp(gemel_graph_input_name(g, j), label) == 0;
    }
    if (taken) {
      snprintf(label, bytes, "tangent%u_%zu", (unsigned)++order, k);
    }
  }
}

static gemel_status build_forward(struct derivative *v, gemel_value *x, gemel_value *y,
                                  gemel_value *wrt, gemel_value *t, gemel_value *result,
                                  gemel_error *error) {
  gemel_graph *g = v->forward;
  char label[40];
  size_t k, n_wrt = 0, n_y = 0;
  for (k = 0; k < v->n_x; k++) {
    gemel_value input = gemel_graph_input(v->instance->graph, k);
    x[k] = gemel__input_like(g, gemel_graph_input_name(v->instance->graph, k),
                             gemel_value_type(input), input);
  }
  for (k = 0; k < v->n_x; k++) {
    if (moves(v, k)) {
      name_tangent(g, k, label, sizeof label);
      wrt[n_wrt] = x[k];
      t[n_wrt++] = gemel_input(g, label, gemel_value_type(x[k]));
    }
  }
  GEMEL__TRY(gemel__graph_status(g, error));
  GEMEL__TRY(gemel__graph_inline(g, v->instance->graph, x, y, error));
  for (k = 0; k < v->n_out; k++) {
    if (gemel__partial_takes_output(v->part, k) && gemel__is_float(gemel__value_dtype(y[k]))) {
      y[n_y++] = y[k];
    }
  }
  GEMEL__TRY(gemel_jvp(n_y, y, n_wrt, wrt, t, result, error));
  for (k = 0; k < n_y; k++) {
    snprintf(label, sizeof label, "dy%zu", k);
    GEMEL__TRY(gemel_output(result[k], label));
  }
  return GEMEL_OK;
}

static gemel_status make_forward(struct derivative *v, gemel_error *error) {
  size_t n = 3 * v->n_x + 2 * v->n_out;
  gemel_value *room = gemel__alloc_array(n, sizeof *room);
  v->forward = gemel_graph_new(gemel_graph_context(v->instance->graph), error);
  if (room == NULL || v->forward == NULL) {
    gemel__free(room, n * sizeof *room);
    return gemel__no_memory(error, "a derivative");
  }
  gemel_status status = build_forward(v, room, room + 3 * v->n_x, room + v->n_x, room + 2 * v->n_x,
                                      room + 3 * v->n_x + v->n_out, error);
  gemel__free(room, n * sizeof *room);
  return status;
}

gemel_status gemel__instance_forward(gemel__instance *forward, const gemel__instance *instance,
                                     gemel_error *error) {
  return gemel__instance_forward_part(forward, instance, (gemel__partial){0, 0}, error);
}

gemel_status gemel__instance_forward_part(gemel__instance *forward, const gemel__instance *instance,
                                          gemel__partial part, gemel_error *error) {
  struct derivative v;
  memset(&v, 0, sizeof v);
  v.part = part;
  memset(forward, 0, sizeof *forward);
  v.instance = instance;
  v.n_x = instance->n_leaves;
  v.n_out = gemel_graph_output_count(instance->graph);
  gemel_status status = make_forward(&v, error);
  status = status ? status : gemel__instance_of_graph(forward, v.forward, NULL, error);
  gemel_graph_unref(v.forward);
  return status;
}

/* ---- Leaves ---- */

/* Makes the leaves. Directions are never 0: a dual number with tangent 0 is a constant, for which
 * the formula may give 0 times infinity and dual numbers give 0. */
static gemel_status make_leaves(struct derivative *v, gemel_error *error) {
  size_t k, at;
  gemel__instance *l = &v->leaves;
  v->n_x = v->instance->n_leaves;
  v->n_u = v->reverse.n_leaves - v->n_x;
  v->n_t = gemel_graph_output_count(v->reverse.graph);
  v->n_out = gemel_graph_output_count(v->instance->graph);
  l->elementwise = v->instance->elementwise;
  l->leaves = gemel__alloc_array(v->n_x + v->n_u + v->n_t, sizeof *l->leaves);
  if (l->leaves == NULL) {
    return gemel__no_memory(error, "a derivative");
  }
  l->n_leaves = v->n_x + v->n_u + v->n_t;
  memcpy(l->leaves, v->reverse.leaves, v->reverse.n_leaves * sizeof *l->leaves);
  for (k = v->n_x; k < v->n_x + v->n_u; k++) {
    l->leaves[k].range = GEMEL_RANGE_NONZERO;
  }
  for (k = 0, at = v->n_x + v->n_u; k < v->n_x; k++) {
    if (moves(v, k)) {
      l->leaves[at] = v->instance->leaves[k];
      l->leaves[at].facts = 0; /* facts hold for the input, not for its direction */
      l->leaves[at++].range = GEMEL_RANGE_NONZERO;
    }
  }
  return GEMEL_OK;
}

static void clear_derivative(struct derivative *v) {
  gemel__instance_clear(&v->reverse);
  gemel__instance_clear(&v->leaves);
  gemel_graph_unref(v->forward);
}

/* How many results are compared: the inner product, and each output of the forward graph. */
static size_t n_compared(const struct derivative *v) {
  return 1 + (v->forward != NULL ? v->n_u : 0);
}

/* ---- Left: what the library built ---- */

/* ACCUMULATOR += Σ a_i b_i. */
static void add_inner_product(gemel__domain *d, void *accumulator, void *scratch,
                              const gemel__rtensor *a, const gemel__rtensor *b) {
  size_t i;
  for (i = 0; i < a->count; i++) {
    d->mul(d, scratch, gemel__rtensor_at(a, i), gemel__rtensor_at(b, i));
    d->add(d, accumulator, accumulator, scratch);
  }
}

/* OUTPUT = Σ_k <A[k], B[k]> as a scalar. */
static gemel_status inner_products(gemel__domain *d, size_t n, const gemel__rtensor *a,
                                   const gemel__rtensor *b, gemel__rtensor *output,
                                   gemel_error *error) {
  GEMEL__TRY(gemel__rtensor_init(output, d, GEMEL_F64, 0, NULL, error));
  void *scratch = gemel__elements_new(d, 1);
  if (scratch == NULL) {
    return gemel__no_memory(error, "an inner product");
  }
  for (size_t k = 0; k < n; k++) {
    add_inner_product(d, gemel__rtensor_at(output, 0), scratch, &a[k], &b[k]);
  }
  gemel__elements_free(d, scratch, 1);
  return GEMEL_OK;
}

/* COTANGENTS and BORROWED have room for the results of one graph and the inputs of the other. */
static gemel_status evaluate_graphs(const struct derivative *v, gemel__domain *d,
                                    const gemel__rtensor *inputs, gemel__rtensor *outputs,
                                    gemel__rtensor *cotangents, gemel__rtensor *borrowed,
                                    gemel_error *error) {
  const gemel__rtensor *u = inputs + v->n_x, *t = u + v->n_u;
  /* x then t, without u in between; the elements stay the caller's */
  memcpy(borrowed, inputs, v->n_x * sizeof *borrowed);
  memcpy(borrowed + v->n_x, t, v->n_t * sizeof *borrowed);
  if (!v->one_way) {
    GEMEL__TRY(
        gemel__reference_graph(v->reverse.graph, d, inputs, cotangents, v->lookup, NULL, error));
  }
  if (v->forward != NULL) {
    GEMEL__TRY(
        gemel__reference_graph(v->forward, d, borrowed, outputs + 1, v->lookup, NULL, error));
  }
  return v->one_way ? inner_products(d, v->n_u, outputs + 1, u, &outputs[0], error)
                    : inner_products(d, v->n_t, cotangents, t, &outputs[0], error);
}

static gemel_status evaluate_built(const gemel__model_side *side, gemel__domain *d,
                                   const gemel__rtensor *inputs, gemel__rtensor *outputs,
                                   gemel_error *error) {
  const struct derivative *v = side->data;
  size_t n_forward = v->n_x + v->n_t;
  gemel__rtensor *cotangents = gemel__alloc_array(v->n_t, sizeof *cotangents);
  gemel__rtensor *borrowed = gemel__alloc_array(n_forward, sizeof *borrowed);
  gemel_status status = cotangents == NULL || borrowed == NULL
                            ? gemel__no_memory(error, "a derivative")
                            : evaluate_graphs(v, d, inputs, outputs, cotangents, borrowed, error);
  gemel__rtensors_free(v->n_t, cotangents);
  gemel__free(borrowed, n_forward * sizeof *borrowed);
  return status;
}

/* ---- Right: dual numbers ---- */

static gemel_status dual_input(gemel__domain *dual, const gemel__rtensor *x,
                               const gemel__rtensor *t, gemel__rtensor *result,
                               gemel_error *error) {
  gemel__domain *base = gemel__dual_base(dual);
  GEMEL__TRY(gemel__rtensor_init(result, dual, x->dtype, x->rank, x->shape, error));
  for (size_t i = 0; i < x->count; i++) {
    void *e = gemel__rtensor_at(result, i);
    base->set(base, gemel__dual_value(dual, e), gemel__rtensor_at(x, i));
    if (t != NULL) {
      base->set(base, gemel__dual_tangent(dual, e), gemel__rtensor_at(t, i));
    }
  }
  return GEMEL_OK;
}

/* OUTPUT = the tangents of Y, in the base domain. */
static gemel_status take_tangents(gemel__domain *dual, const gemel__rtensor *y,
                                  gemel__rtensor *tangents, gemel_error *error) {
  gemel__domain *base = gemel__dual_base(dual);
  GEMEL__TRY(gemel__rtensor_init(tangents, base, y->dtype, y->rank, y->shape, error));
  for (size_t i = 0; i < y->count; i++) {
    base->set(base, gemel__rtensor_at(tangents, i),
              gemel__dual_tangent_of(dual, gemel__rtensor_at(y, i)));
  }
  return GEMEL_OK;
}

/* Makes the COUNT tensors RESULTS undefined if some tangent of Y has no value. */
static void spoil(gemel__domain *dual, const gemel__rtensor *y, size_t count,
                  gemel__rtensor *results) {
  gemel__domain *base = gemel__dual_base(dual);
  for (size_t i = 0; i < y->count; i++) {
    const void *tangent = gemel__dual_tangent_of(dual, gemel__rtensor_at(y, i));
    gemel__state state = base->state(base, tangent);
    for (size_t k = 0; state != GEMEL__DEFINED && k < count; k++) {
      for (size_t j = 0; j < results[k].count; j++) {
        void *result = gemel__rtensor_at(&results[k], j);
        if (base->state(base, result) < state) {
          base->set_state(base, result, state);
        }
      }
    }
  }
}

/* Leaves out points at which some output has no derivative. A rule computes the derivative of one
 * output from a formula that may have no value where another output isn't differentiable (x^y at x
 * = 0). */
static void spoil_by_others(const struct derivative *v, gemel__domain *dual,
                            const gemel__rtensor *y, size_t n, gemel__rtensor *tangents,
                            gemel__rtensor *product) {
  for (size_t k = 0; k < v->n_out; k++) {
    if (gemel__is_float(y[k].dtype) && !gemel__partial_takes_output(v->part, k)) {
      spoil(dual, &y[k], n, tangents);
      spoil(dual, &y[k], 1, product);
    }
  }
}

static gemel_status evaluate_dual(const struct derivative *v, gemel__domain *dual,
                                  const gemel__rtensor *inputs, gemel__rtensor *x,
                                  gemel__rtensor *y, gemel__rtensor *tangents,
                                  gemel__rtensor *product, gemel_error *error) {
  size_t k, t = v->n_x + v->n_u, n = 0;
  for (k = 0; k < v->n_x; k++) {
    int f = moves(v, k);
    GEMEL__TRY(dual_input(dual, &inputs[k], f ? &inputs[t] : NULL, &x[k], error));
    t += (size_t)f;
  }
  GEMEL__TRY(gemel__reference_graph(v->instance->graph, dual, x, y, NULL, NULL, error));
  for (k = 0; k < v->n_out; k++) {
    if (gemel__is_float(y[k].dtype) && gemel__partial_takes_output(v->part, k)) {
      GEMEL__TRY(take_tangents(dual, &y[k], &tangents[n++], error));
    }
  }
  GEMEL__TRY(inner_products(gemel__dual_base(dual), n, tangents, inputs + v->n_x, product, error));
  spoil_by_others(v, dual, y, n, tangents, product);
  return GEMEL_OK;
}

static gemel_status evaluate_right(const gemel__model_side *side, gemel__domain *d,
                                   const gemel__rtensor *inputs, gemel__rtensor *outputs,
                                   gemel_error *error) {
  const struct derivative *v = side->data;
  size_t n = v->n_x + v->n_out + v->n_u;
  gemel__domain *dual = gemel__dual_new(d);
  gemel__rtensor *room = gemel__alloc_array(n, sizeof *room);
  gemel_status status;
  if (dual == NULL || room == NULL) {
    status = gemel__no_memory(error, "dual numbers");
  } else {
    /* without a forward graph only the inner product of the tangents is compared */
    gemel__rtensor *tangents = v->forward != NULL ? outputs + 1 : room + v->n_x + v->n_out;
    status = evaluate_dual(v, dual, inputs, room, room + v->n_x, tangents, &outputs[0], error);
  }
  gemel__rtensors_free(n, room);
  gemel__dual_free(dual);
  return status;
}

/* ---- Points beside kinks ---- */

enum { MOST_PARTED = 1024, PARTINGS = 64 };

static int is_taken(const double *taken, size_t n, double x) {
  size_t k = 0;
  while (k < n && taken[k] != x) {
    k++;
  }
  return x == 0 || k < n;
}

/* Changes the number at AT by multiples of a 64th until it equals none of TAKEN. */
static double part(gemel_dtype dtype, void *at, const double *taken, size_t n) {
  double from = gemel__decode(dtype, at), x = from;
  for (int k = 1; k < PARTINGS && is_taken(taken, n, x); k++) {
    gemel__dtype_store(dtype, (from == 0 ? 0.125 : from) * (1 + k / 64.0), at);
    x = gemel__decode(dtype, at);
  }
  return x;
}

void gemel__values_part(const gemel__instance *instance, size_t n, gemel_tensor **values) {
  double taken[MOST_PARTED];
  size_t count = 0;
  for (size_t k = 0; k < n; k++) {
    gemel_dtype dtype = instance->leaves[k].dtype;
    for (size_t i = 0;
         gemel__is_float(dtype) && count < MOST_PARTED && i < instance->leaves[k].count; i++) {
      void *at = (void *)(uintptr_t)gemel__tensor_element(values[k], i);
      taken[count] = part(dtype, at, taken, count);
      count++;
    }
  }
}

/* X moved by a random part of itself: enough to break a tie with another number or with a constant,
 * and so little that it rarely crosses a kink. */
static double beside(gemel_dtype dtype, double x, gemel__random *random) {
  int few = dtype == GEMEL_F16 || dtype == GEMEL_BF16; /* digits */
  double step =
      gemel__random_sign(random) * ldexp(gemel__random_uniform(random, 0.25, 1), few ? -4 : -10);
  return x == 0 ? step : x * (1 + step);
}

/* MOVED = copies of VALUES with every float moved a little. The caller releases them, on failure
 * too. */
static gemel_status move_beside(const gemel__instance *instance, gemel_tensor *const *values,
                                gemel__random *random, gemel_tensor **moved, gemel_error *error) {
  for (size_t k = 0; k < instance->n_leaves; k++) {
    const gemel__leaf *leaf = &instance->leaves[k];
    gemel_view view = gemel_tensor_view(values[k]);
    moved[k] = gemel_tensor_copy(&view, error);
    if (moved[k] == NULL) {
      return GEMEL_NO_MEMORY;
    }
    for (size_t i = 0; gemel__is_float(leaf->dtype) && i < leaf->count; i++) {
      void *at = (void *)(uintptr_t)gemel__tensor_element(moved[k], i);
      gemel__store_real(leaf->dtype, beside(leaf->dtype, gemel__decode(leaf->dtype, at), random),
                        at);
      gemel__leaf_settle(leaf, 1, at);
    }
  }
  return GEMEL_OK;
}

gemel_status gemel__check_derivatives(const gemel__instance *instance, gemel_tensor *const *values,
                                      const gemel__trial *trial, gemel__outcome *outcome,
                                      gemel_error *error) {
  enum { BESIDE = 3 };
  gemel__random random;
  gemel_tensor **moved = gemel__alloc_array(instance->n_leaves, sizeof *moved);
  gemel_status status = moved == NULL ? gemel__no_memory(error, "a point")
                                      : gemel__check_pair(instance, values, trial, outcome, error);
  gemel__random_seed(&random, 1);
  for (int k = 0; k < BESIDE && status == GEMEL_OK && outcome->refuted; k++) {
    gemel__outcome there;
    memset(&there, 0, sizeof there);
    memset(moved, 0, instance->n_leaves * sizeof *moved);
    status = move_beside(instance, values, &random, moved, error);
    status = status ? status : gemel__check_pair(instance, moved, trial, &there, error);
    outcome->refuted =
        there.refuted && there.output == outcome->output && there.element == outcome->element;
    gemel__tensors_release(instance->n_leaves, moved);
  }
  gemel__free(moved, instance->n_leaves * sizeof *moved);
  return status;
}

/* *LACKING: both sides lack a value somewhere at VALUES. */
static gemel_status both_lack(const gemel__instance *a, const gemel__instance *b,
                              gemel_tensor *const *values, int *lacking, gemel_error *error) {
  size_t n = gemel_graph_output_count(a->graph);
  gemel__ordered *o = gemel__ordered_new(128);
  gemel__rtensor *room = gemel__alloc_array(2 * n, sizeof *room);
  gemel_status status = o == NULL || room == NULL ? gemel__no_memory(error, "a point") : GEMEL_OK;
  status = status ? status : gemel__instance_reference(a, &o->domain, values, room, error);
  status = status ? status : gemel__instance_reference(b, &o->domain, values, room + n, error);
  *lacking = 0;
  for (size_t k = 0; k < n && status == GEMEL_OK; k++) {
    for (size_t i = 0; i < room[k].count && i < room[n + k].count; i++) {
      *lacking |=
          o->domain.state(&o->domain, gemel__rtensor_at(&room[k], i)) == GEMEL__UNDEFINED &&
          o->domain.state(&o->domain, gemel__rtensor_at(&room[n + k], i)) == GEMEL__UNDEFINED;
    }
  }
  gemel__rtensors_free(2 * n, room);
  gemel__ordered_free(o);
  return status;
}

static void make_positive(const gemel__instance *instance, gemel_tensor **values) {
  for (size_t k = 0; k < instance->n_leaves; k++) {
    const gemel__leaf *leaf = &instance->leaves[k];
    for (size_t i = 0; gemel__is_float(leaf->dtype) && i < leaf->count; i++) {
      void *at = (void *)(uintptr_t)gemel__tensor_element(values[k], i);
      gemel__store_real(leaf->dtype, fabs(gemel__decode(leaf->dtype, at)), at);
      gemel__leaf_settle(leaf, 1, at);
    }
  }
}

gemel_status gemel__check_derivatives_of(const gemel__instance *a, const gemel__instance *b,
                                         const gemel__instance *instance, gemel_tensor **values,
                                         const gemel__trial *trial, gemel__outcome *outcome,
                                         gemel_error *error) {
  int lacking = 0;
  GEMEL__TRY(gemel__check_derivatives(instance, values, trial, outcome, error));
  if (!outcome->refuted) {
    return GEMEL_OK;
  }
  GEMEL__TRY(both_lack(a, b, values, &lacking, error));
  if (!lacking) {
    return GEMEL_OK;
  }
  memset(outcome, 0, sizeof *outcome);
  make_positive(a, values);
  GEMEL__TRY(both_lack(a, b, values, &lacking, error));
  return lacking ? GEMEL_DECLINED
                 : gemel__check_derivatives(instance, values, trial, outcome, error);
}

/* ---- Constants that are rounded ----
 *
 * A program writes its derivative with constants that are doubles, 0.3989… for 1/√(2π), so it isn't
 * exactly the derivative of its reference. It is asked whether it is if each constant may be off by
 * one unit in the last place. Constants of at most half the dtype's digits are taken for exact.
 * Domain B evaluates the built graphs with these errors, in f64; the result of the dual numbers, in
 * domain O, must lie within B's bound at every point. */

enum { ROUNDED_POINTS = 12 };
/* A bound is tight if this share of the digits is certain: 30 of the 53 of f64. */
#define TIGHT (30.0 / 53)

/* 1 if X has at most half the digits of DTYPE, as 0.5 and 3 have: it is meant to be exact. */
static int is_short(double x, gemel_dtype dtype) {
  int exponent;
  double digits = ldexp(frexp(x, &exponent), gemel__dtype_format(dtype)->digits / 2);
  return digits == floor(digits);
}

static gemel_status rounded_constant(gemel__rcall *call) {
  gemel__domain *d = call->domain;
  gemel__bound *b = (gemel__bound *)d;
  GEMEL__TRY(gemel__twin_constant.reference(call));
  for (size_t i = 0; gemel__is_float(call->outputs[0].dtype) && i < call->outputs[0].count; i++) {
    double x = gemel__bound_value(d, gemel__rtensor_at(&call->outputs[0], i));
    if (!is_short(x, call->outputs[0].dtype)) {
      b->in_f64 = 0;
      d->round(d, gemel__rtensor_at(&call->outputs[0], i), call->outputs[0].dtype, 1);
      b->in_f64 = 1;
    }
  }
  return GEMEL_OK;
}

static gemel__reference rounded_lookup(void *user, uint32_t op) {
  (void)user;
  return op == GEMEL__OP_constant ? rounded_constant : NULL;
}

/* A bound is tight if it is below this share of the value, in the dtype of fewest digits. */
static double tight_share(const struct derivative *v) {
  int digits = gemel__dtype_format(GEMEL_F64)->digits;
  for (size_t k = 0; k < v->leaves.n_leaves; k++) {
    int of_leaf = gemel__dtype_format(v->leaves.leaves[k].dtype)->digits;
    if (gemel__is_float(v->leaves.leaves[k].dtype) && of_leaf < digits) {
      digits = of_leaf;
    }
  }
  return exp2(-floor(TIGHT * digits));
}

/* 1 if RIGHT lies within the bound of BUILT, or can't be compared. Counts in *COMPARED the elements
 * that can be, and in *TIGHT those with a bound below SHARE of the value. MUST: 0 if it can't be
 * compared. */
static int within_bound(gemel__domain *b, const void *built, gemel__domain *o, const void *right,
                        int must, double share, size_t *compared, size_t *tight) {
  double value, radius, low, high;
  if (o->state(o, right) != GEMEL__DEFINED || b->state(b, built) > GEMEL__UNDEFINED) {
    return !must;
  }
  if (b->state(b, built) == GEMEL__UNDEFINED) {
    return 0; /* the built derivative has no value where there is one */
  }
  value = gemel__bound_value(b, built);
  radius = gemel__bound_radius(b, built) + ldexp(fabs(value), -52);
  gemel__ordered_bounds(o, right, &low, &high);
  (*compared)++;
  *tight += radius <= share * fabs(value);
  return low <= value + radius && high >= value - radius;
}

/* Evaluates both sides at one point, in B and in O. ROOM: inputs of both, then their results. */
static gemel_status evaluate_rounded(const struct derivative *v, gemel_tensor *const *values,
                                     gemel__bound *b, gemel__ordered *o, gemel__rtensor *room,
                                     gemel_error *error) {
  size_t n_in = v->leaves.n_leaves;
  gemel__rtensor *built = room + 2 * n_in, *right = built + n_compared(v);
  gemel__model_side side = {NULL, v};
  b->in_f64 = 1;
  GEMEL__TRY(gemel__rtensors_read(n_in, room, &b->domain, values, error));
  GEMEL__TRY(gemel__rtensors_read(n_in, room + n_in, &o->domain, values, error));
  GEMEL__TRY(evaluate_built(&side, &b->domain, room, built, error));
  return evaluate_right(&side, &o->domain, room + n_in, right, error);
}

/* Compares at one point: 1 if all is within bounds. WITNESS (may be NULL): the answer that was
 * refuted there; its element must be comparable. */
static int rounded_at(const struct derivative *v, gemel_tensor *const *values,
                      const gemel__answer *witness, size_t *compared, size_t *tight,
                      gemel_status *status, gemel_error *error) {
  size_t n_in = v->leaves.n_leaves, n_out = n_compared(v), k, i;
  gemel__bound *b = gemel__bound_new(256);
  gemel__ordered *o = gemel__ordered_new(512);
  gemel__rtensor *room = gemel__alloc_array(2 * (n_in + n_out), sizeof *room);
  gemel__rtensor *built = room + 2 * n_in, *right = built + n_out;
  double share = tight_share(v);
  int within = 1;
  *status = b == NULL || o == NULL || room == NULL ? gemel__no_memory(error, "a derivative")
                                                   : evaluate_rounded(v, values, b, o, room, error);
  for (k = 0; k < n_out && *status == GEMEL_OK; k++) {
    for (i = 0; i < built[k].count && i < right[k].count; i++) {
      int must = witness != NULL && witness->output == k && witness->element == i;
      within &= within_bound(&b->domain, gemel__rtensor_at(&built[k], i), &o->domain,
                             gemel__rtensor_at(&right[k], i), must, share, compared, tight);
    }
  }
  gemel__rtensors_free(2 * (n_in + n_out), room);
  gemel__ordered_free(o);
  gemel__bound_free(b);
  return within;
}

/* Asks again about a refuted answer. If the rounding of constants explains it at the point that
 * refuted it and at all other points tried, the answer becomes passed by samples. */
static gemel_status forgive_rounding(struct derivative *v, const gemel__question *q,
                                     gemel__answer *answer, gemel_error *error) {
  size_t compared = 0, tight = 0, k;
  gemel__random random;
  gemel_status status = GEMEL_OK;
  int within = 1;
  v->lookup = rounded_lookup;
  gemel__random_seed(&random, q->seed);
  if (answer->witness != NULL && answer->n_witness == v->leaves.n_leaves) {
    within = rounded_at(v, answer->witness, answer, &compared, &tight, &status, error);
  }
  for (k = 0; k < ROUNDED_POINTS && within && status == GEMEL_OK; k++) {
    gemel_tensor **values;
    gemel__fill fill = k % 2 == 0 ? GEMEL__FILL_FULL : GEMEL__FILL_POINTS;
    status = gemel__values_draw(&v->leaves, fill, &random, &values, error);
    if (status == GEMEL_OK) {
      within = rounded_at(v, values, NULL, &compared, &tight, &status, error);
    }
    gemel__values_free(&v->leaves, values);
  }
  v->lookup = NULL;
  if (status == GEMEL_OK && within && tight > 0) {
    answer->verdict = GEMEL_VERDICT_PASSED;
    answer->how = GEMEL_EVIDENCE_SAMPLES;
    answer->error_probability = 0;
    answer->compared = compared;
    snprintf(answer->detail, sizeof answer->detail,
             "right up to the rounding of its constants, which are no exact ones");
    answer->expected[0] = answer->got[0] = '\0';
  }
  return status;
}

/* ---- The question ---- */

/* Makes the graphs of both rules, or of the only one. */
static gemel_status make_graphs(struct derivative *v, gemel_error *error) {
  gemel_status status = gemel__instance_gradient_part(&v->reverse, v->instance, v->part, 0, error);
  v->one_way = status == GEMEL_NOT_DIFFERENTIABLE;
  if (v->one_way) {
    status = gemel__instance_gradient_part(&v->reverse, v->instance, v->part, 1, error);
  }
  status = status ? status : make_leaves(v, error);
  status = status ? status : make_forward(v, error);
  if (status == GEMEL_NOT_DIFFERENTIABLE && !v->one_way) {
    gemel_graph_unref(v->forward);
    v->forward = NULL;
    return GEMEL_OK;
  }
  return status;
}

/* Adds to the detail which part of the derivative was refuted, unless it was the whole. */
static void say_part(gemel__partial part, gemel__answer *answer) {
  char said[sizeof answer->detail];
  if (answer->verdict == GEMEL_VERDICT_REFUTED && part.input + part.output > 0) {
    memcpy(said, answer->detail, sizeof said);
    snprintf(answer->detail, sizeof answer->detail, "%s %zu alone: %.150s",
             part.input > 0 ? "by input" : "of output",
             (part.input > 0 ? part.input : part.output) - 1, said);
  }
}

/* Asks Q, whose points, trials and seed are set, about the derivative V. */
static gemel_status decide(struct derivative *v, gemel__question *q, int rounded,
                           gemel__answer *answer, gemel_error *error) {
  gemel__model_side left = {evaluate_built, v}, right = {evaluate_right, v};
  double constants[16];
  GEMEL__TRY(make_graphs(v, error));
  q->leaves = &v->leaves;
  q->left = &left;
  q->right = &right;
  q->n_outputs = n_compared(v);
  q->zeros_count = 1;
  q->compare_domain = GEMEL__LEFT_DEFINED;
  q->keep_sites = 1;
  gemel__constants(v->reverse.graph, constants, 16, &q->n_constants);
  if (rounded) {
    GEMEL__TRY(gemel__instance_constants(v->instance, constants, 16, &q->n_constants, error));
  }
  q->constants = constants;
  GEMEL__TRY(gemel__decide(q, answer, error));
  if (rounded && answer->verdict == GEMEL_VERDICT_REFUTED) {
    GEMEL__TRY(forgive_rounding(v, q, answer, error));
  }
  /* the witness starts with the instance's inputs; directions follow */
  say_part(v->part, answer);
  return GEMEL_OK;
}

gemel_status gemel__decide_gradient_part(const gemel__instance *instance, gemel__partial part,
                                         uint64_t seed, size_t points, size_t trials, int rounded,
                                         gemel__answer *answer, gemel_error *error) {
  struct derivative v;
  gemel__question q;
  memset(&v, 0, sizeof v);
  memset(&q, 0, sizeof q);
  memset(answer, 0, sizeof *answer);
  answer->how = GEMEL_EVIDENCE_NONE;
  v.instance = instance;
  v.part = part;
  q.points = points;
  q.trials = trials;
  q.seed = seed;
  gemel_status status = decide(&v, &q, rounded, answer, error);
  clear_derivative(&v);
  return status;
}

gemel_status gemel__decide_gradient(const gemel__instance *instance, uint64_t seed, size_t points,
                                    size_t trials, gemel__answer *answer, gemel_error *error) {
  return gemel__decide_gradient_part(instance, (gemel__partial){0, 0}, seed, points, trials, 0,
                                     answer, error);
}
