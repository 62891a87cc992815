/* SPDX-License-Identifier: MIT
 *
 * Tiers integer, float and special. The reference is evaluated once, on the tier's domain. Then
 * every variant is run, and each element of its results is compared with the reference.
 *
 * Tier integer: inputs are small integers. Domain O gives the exact result. Domain B has radius 0
 * where every intermediate is exact in any order of operations; there the result must be that
 * number (+0 and −0 being equal). Other elements (a transcendental function, an overflow of the
 * significand, an integer that depends on a rounding) are counted as inexact and not compared.
 *
 * Domain M gives the same for small integers, much faster, to the sizes that are drawn besides.
 *
 * Tier float: error ÷ bound ≤ 1 in domain B. Tier special: domain S, see element_special.
 *
 * In every tier, variants that do the same arithmetic in the same order must agree in every bit.
 * Elementwise operations and those that move elements do so in all variants; others, except matrix
 * products, on any number of threads. Instances too large for references are only checked for this.
 * If they hold small integers, all operations and variants must agree.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <gemel/device.h>
#include <gemel/function.h>
#include "core/alloc.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/graph.h"
#include "device/kernels.h"
#include "domains/bound-loose.h"
#include "domains/machine.h"
#include "domains/ordered.h"
#include "domains/special.h"
#include "tiers/allowed.h"
#include "tiers/kernel.h"
#include "tiers/limits.h"
#include "reference/twin.h"
#include "ops/ops.h"
#include "tiers/tiers.h"
#include "tiers/ulps.h"

/* ---- Every variant against one judge ---- */

/* Which variants must give the same bits: none, those that differ in the number of threads only,
 * those on the host, all. */
enum agreement { AGREE_NOT, AGREE_THREADS, AGREE_HOST, AGREE_ALL };

struct judge {
  const gemel__instance *instance;
  size_t n_outputs;
  gemel__rtensor *reference; /* in the tier's domain */
  /* tier integer: results in B; tier special, a program's own operation: in O */
  gemel__rtensor *bounds;
  gemel__domain *domain, *bound_domain;
  unsigned char *agree; /* an enum agreement for each output of the graph */
  int agrees;           /* some must */
  int unrounded;        /* 1: nothing is rounded, so all variants must agree */
  gemel_tensor **first; /* results of the first variant, which the others must agree with */
  /* tier special: the operation rounds nothing (max), so results are compared exactly */
  int exact;
  gemel_tensor *const *values;
  int exhausted;  /* memory ran out while an element was judged */
  unsigned allow; /* what may be given up (allowed.h) */
  /* tier special, if bounds are wider than usual: results on such a domain B */
  gemel__rtensor *loose;
  gemel__domain *loose_domain;
  gemel__limits limits; /* tier special, a program's own operation */
  int spreads;          /* 1: where an input is NaN, any result may be */
  /* Judges one element: 1 right, 0 wrong, −1 nothing to compare. */
  int (*element)(struct judge *j, size_t output, size_t i, const void *computed,
                 gemel__outcome *outcome);
};

/* Notes in OUTCOME that element I of result OUTPUT is wrong. */
static void blame(const struct judge *j, size_t output, size_t i, const char *variant,
                  gemel__outcome *outcome) {
  size_t n = gemel_graph_output_count(j->instance->graph);
  outcome->refuted = 1;
  outcome->output = output % n;
  outcome->call = j->instance->calls > 0 ? output / n + 1 : 0;
  outcome->element = i;
  outcome->variant = variant;
}

static void describe(struct judge *j, size_t output, size_t i, const char *variant,
                     const void *computed, gemel__outcome *outcome) {
  gemel__rtensor *r = &j->reference[output];
  blame(j, output, i, variant, outcome);
  j->domain->format(j->domain, gemel__rtensor_at(r, i), outcome->expected,
                    sizeof outcome->expected);
  gemel__element_format(r->dtype, computed, outcome->got, sizeof outcome->got);
}

static void judge_tensor(struct judge *j, size_t output, const gemel_tensor *tensor,
                         const char *variant, gemel__outcome *outcome) {
  gemel__rtensor *r = &j->reference[output];
  gemel__walk walk = gemel__walk_start(tensor);
  for (size_t i = 0; i < r->count && !outcome->refuted; i++) {
    const void *computed = gemel__walk_next(&walk);
    int right = j->element(j, output, i, computed, outcome);
    outcome->compared += right >= 0;
    if (right == 0) {
      describe(j, output, i, variant, computed, outcome);
    }
  }
}

gemel_status gemel__judge_failure(gemel_status status, const char *variant,
                                  const gemel_error *problem, gemel__outcome *outcome,
                                  gemel_error *error) {
  if (status == GEMEL_NO_MEMORY || status == GEMEL_DECLINED) {
    if (error != NULL) {
      *error = *problem;
    }
    return status;
  }
  outcome->refuted = 1;
  outcome->whole = 1;
  outcome->variant = variant;
  snprintf(outcome->expected, sizeof outcome->expected, "a result");
  snprintf(outcome->got, sizeof outcome->got, "error: %.70s", problem->text);
  return GEMEL_OK;
}

static int shapes_agree(const gemel__rtensor *r, const gemel_tensor *tensor) {
  return r->dtype == gemel_tensor_dtype(tensor) && r->rank == gemel_tensor_rank(tensor) &&
         memcmp(r->shape, gemel_tensor_shape(tensor), (size_t)r->rank * sizeof *r->shape) == 0;
}

static void judge_result(struct judge *j, size_t output, const gemel_tensor *tensor,
                         const char *variant, gemel__outcome *outcome) {
  if (shapes_agree(&j->reference[output], tensor)) {
    judge_tensor(j, output, tensor, variant, outcome);
    return;
  }
  blame(j, output, 0, variant, outcome);
  snprintf(outcome->expected, sizeof outcome->expected, "the reference's shape and dtype");
  snprintf(outcome->got, sizeof outcome->got, "another shape or dtype");
}

/* ---- Agreement ---- */

/* In which variants a node of OP gives the same bits if its operands are the same. A program's
 * kernel may round differently from gemel's plain kernel. */
static enum agreement agreement_of(gemel_context *context, const gemel__op *op) {
  if (op->row == NULL || gemel__has_registered_kernel(context, NULL, &op->record)) {
    return AGREE_NOT;
  }
  switch (op->row->family) {
  case GEMEL__FAMILY_elementwise:
    return (op->record.flags & GEMEL_OP_LIBRARY) != 0 ? AGREE_HOST : AGREE_ALL;
  case GEMEL__FAMILY_shape:
  case GEMEL__FAMILY_index:
  case GEMEL__FAMILY_random:
  case GEMEL__FAMILY_source:
    return AGREE_ALL;
  case GEMEL__FAMILY_along:
  case GEMEL__FAMILY_pool:
  case GEMEL__FAMILY_reduce:
  case GEMEL__FAMILY_search:
  case GEMEL__FAMILY_softmax:
  case GEMEL__FAMILY_take:
    return AGREE_THREADS;
  default:
    return AGREE_NOT;
  }
}

/* Lowers the agreement of each node to that of its operands, and of each state to that of its
 * update. */
static void spread_agreement(const gemel_graph *graph, unsigned char *agree) {
  for (uint32_t node = 0, count; node < graph->n_nodes; node++) {
    const gemel__ref *in = gemel__node_inputs(graph, node, &count);
    for (uint32_t k = 0; k < count; k++) {
      agree[node] = agree[in[k].node] < agree[node] ? agree[in[k].node] : agree[node];
    }
  }
  for (size_t k = 0; k < graph->n_outputs; k++) {
    long state = gemel__state_called(graph, graph->output_names[k]);
    if (state >= 0 && agree[graph->outputs[k].node] < agree[graph->inputs[state].node]) {
      agree[graph->inputs[state].node] = agree[graph->outputs[k].node];
    }
  }
}

/* Fills in J->agree. */
static gemel_status find_agreement(struct judge *j, gemel_error *error) {
  const gemel_graph *graph = j->instance->graph;
  size_t n = graph->n_nodes, k;
  unsigned char *agree = gemel__alloc_array(n, 1);
  j->agree = gemel__alloc_array(graph->n_outputs, 1);
  if (agree == NULL || j->agree == NULL) {
    gemel__free(agree, n);
    return gemel__no_memory(error, "results");
  }
  for (k = 0; k < n; k++) {
    agree[k] = j->unrounded ? AGREE_ALL
                            : (unsigned char)agreement_of(graph->context,
                                                          gemel__node_op(graph, (uint32_t)k));
  }
  for (k = 0; k < 1 + j->instance->calls; k++) {
    spread_agreement(graph, agree);
  }
  for (k = 0; k < graph->n_outputs; k++) {
    j->agree[k] = agree[graph->outputs[k].node];
    j->agrees |= j->agree[k] != AGREE_NOT;
  }
  gemel__free(agree, n);
  return GEMEL_OK;
}

/* 1 if variant V must give the same bits for OUTPUT as the first variant. */
static int must_agree(const struct judge *j, size_t output, const gemel__variant *v) {
  int agree = j->agree[output % j->instance->graph->n_outputs];
  return agree == AGREE_ALL || (agree == AGREE_HOST && !v->lifted) ||
         (agree == AGREE_THREADS && !v->plain && !v->scattered && !v->lifted);
}

int gemel__same_bits(gemel_dtype dtype, const void *a, const void *b) {
  return memcmp(a, b, gemel_dtype_size(dtype)) == 0 ||
         (gemel__is_float(dtype) && isnan(gemel__decode(dtype, a)) &&
          isnan(gemel__decode(dtype, b)));
}

static void hold_together(const struct judge *j, size_t output, const gemel_tensor *tensor,
                          const char *variant, gemel__outcome *outcome) {
  const gemel_tensor *first = j->first[output];
  gemel_dtype dtype = gemel_tensor_dtype(first);
  size_t n = (size_t)gemel_tensor_elements(first);
  if (n != (size_t)gemel_tensor_elements(tensor) || dtype != gemel_tensor_dtype(tensor)) {
    return; /* the comparison with the reference refutes that */
  }
  outcome->agreed += n;
  n = gemel__tensors_equal(first, tensor) ? 0 : n;
  for (size_t i = 0; i < n; i++) {
    const void *a = gemel__tensor_element(first, i), *b = gemel__tensor_element(tensor, i);
    int zeros = j->unrounded && gemel__is_float(dtype) && gemel__decode(dtype, a) == 0 &&
                gemel__decode(dtype, b) == 0; /* the sign of a zero sum depends on the order */
    if (!gemel__same_bits(dtype, a, b) && !zeros) {
      char as[100];
      blame(j, output, i, variant, outcome);
      snprintf(as, sizeof as, " as %s", gemel__variants[0].name);
      gemel__outcome_numbers(outcome, dtype, a, as, b);
      return;
    }
  }
}

static gemel_status judge_run(struct judge *j, const gemel__variant *variant,
                              gemel_tensor *const *values, const gemel__trial *trial,
                              gemel_tensor **outputs, gemel__outcome *outcome, gemel_error *error) {
  gemel_error problem = {GEMEL_OK, 0, 0, ""};
  gemel_status status =
      gemel__execute(j->instance, variant, values, trial->random, outputs, &problem);
  if (status != GEMEL_OK) {
    return gemel__judge_failure(status, variant->name, &problem, outcome, error);
  }
  for (size_t k = 0; k < j->n_outputs && !outcome->refuted; k++) {
    int judged = j->first[k] != NULL && must_agree(j, k, variant);
    if (outputs[k] == NULL) { /* left out */
      continue;
    }
    if (judged) {
      hold_together(j, k, outputs[k], variant->name, outcome);
    }
    if (outcome->refuted || j->reference == NULL) {
      continue;
    }
    if (judged && shapes_agree(&j->reference[k], outputs[k])) {
      /* the same tensors that were compared with the reference */
      outcome->compared += j->reference[k].count;
    } else {
      judge_result(j, k, outputs[k], variant->name, outcome);
    }
  }
  for (size_t k = 0; k < j->n_outputs; k++) {
    if (j->first[k] == NULL) {
      j->first[k] = outputs[k];
      outputs[k] = NULL;
    }
  }
  gemel__tensors_release(j->n_outputs, outputs);
  return GEMEL_OK;
}

/* Judges the results of a program's kernel: those in RAN, or those that the trial was given. */
static void judge_kernel(struct judge *j, const gemel__trial *trial,
                         const gemel__kernel_results *ran, gemel__outcome *outcome) {
  const gemel__kernel_trial *t = trial->kernel;
  size_t k, output;
  for (output = 0; output < j->n_outputs && t->given != NULL && !outcome->refuted; output++) {
    judge_result(j, output, t->given[output], t->given_as, outcome);
  }
  for (k = 0; k < ran->n && !outcome->refuted; k++) {
    for (output = 0; output < j->n_outputs && !outcome->refuted; output++) {
      judge_result(j, output, ran->outputs[k][output], ran->names[k], outcome);
    }
    if (outcome->refuted) {
      gemel__kernel_say(ran, k, outcome);
    }
  }
  if (!outcome->refuted) {
    gemel__kernel_hold(ran, outcome);
  }
}

/* OUTPUTS has room for the results of the first variant and of another. */
static gemel_status judge_each(struct judge *j, int alone, gemel_tensor *const *values,
                               const gemel__trial *trial, gemel_tensor **outputs,
                               gemel__outcome *outcome, gemel_error *error) {
  const gemel__variant *variant =
      j->instance->variants != NULL ? j->instance->variants : gemel__variants;
  GEMEL__TRY(find_agreement(j, error));
  if (alone && !j->agrees) {
    return GEMEL_DECLINED;
  }
  j->first = outputs + j->n_outputs;
  for (; variant->name != NULL && !outcome->refuted; variant++) {
    if (gemel__variant_runs(j->instance, variant, trial->random)) {
      GEMEL__TRY(judge_run(j, variant, values, trial, outputs, outcome, error));
    }
  }
  return j->exhausted ? gemel__no_memory(error, "an element") : GEMEL_OK;
}

/* Runs and judges all variants. ALONE: there is no reference, so only outputs that must agree are
 * compared. */
static gemel_status judge_variants(struct judge *j, int alone, gemel_tensor *const *values,
                                   const gemel__trial *trial, gemel__outcome *outcome,
                                   gemel_error *error) {
  gemel_tensor **outputs = gemel__alloc_array(2 * j->n_outputs, sizeof *outputs);
  if (outputs == NULL) {
    return gemel__no_memory(error, "results");
  }
  gemel_status status = judge_each(j, alone, values, trial, outputs, outcome, error);
  gemel__tensors_free(2 * j->n_outputs, outputs);
  gemel__free(j->agree, gemel_graph_output_count(j->instance->graph));
  return status;
}

gemel_status gemel__check_agreement(const gemel__instance *instance, gemel_tensor *const *values,
                                    const gemel__trial *trial, gemel__outcome *outcome,
                                    gemel_error *error) {
  struct judge j = {.instance = instance, .n_outputs = gemel__instance_results(instance)};
  return judge_variants(&j, 1, values, trial, outcome, error);
}

gemel_status gemel__check_exact_agreement(const gemel__instance *instance,
                                          gemel_tensor *const *values, const gemel__trial *trial,
                                          gemel__outcome *outcome, gemel_error *error) {
  struct judge j = {
      .instance = instance, .n_outputs = gemel__instance_results(instance), .unrounded = 1};
  return judge_variants(&j, 1, values, trial, outcome, error);
}

static gemel_status judge_results(struct judge *j, gemel_tensor *const *values,
                                  const gemel__trial *trial, const gemel__kernel_results *ran,
                                  gemel__outcome *outcome, gemel_error *error) {
  GEMEL__TRY(gemel__instance_reference(j->instance, j->domain, values, j->reference, error));
  if (j->bound_domain != NULL) {
    GEMEL__TRY(gemel__instance_reference(j->instance, j->bound_domain, values, j->bounds, error));
  }
  if (j->loose_domain != NULL) {
    GEMEL__TRY(gemel__instance_reference(j->instance, j->loose_domain, values, j->loose, error));
  }
  if (ran == NULL) {
    return judge_variants(j, 0, values, trial, outcome, error);
  }
  judge_kernel(j, trial, ran, outcome);
  return j->exhausted ? gemel__no_memory(error, "an element") : GEMEL_OK;
}

/* Evaluates the reference on the judge's domains, judges, and releases what it made. RAN: results
 * of a program's kernel, or NULL. */
static gemel_status judge_by_reference(struct judge *j, gemel_tensor *const *values,
                                       const gemel__trial *trial, const gemel__kernel_results *ran,
                                       gemel__outcome *outcome, gemel_error *error) {
  size_t n = gemel__instance_results(j->instance);
  gemel__rtensor *room = gemel__alloc_array(3 * n, sizeof *room);
  j->values = values;
  if (room == NULL) {
    return gemel__no_memory(error, "references");
  }
  j->n_outputs = n;
  j->reference = room;
  j->bounds = room + n;
  j->loose = room + 2 * n;
  gemel_status status = judge_results(j, values, trial, ran, outcome, error);
  gemel__rtensors_free(3 * n, room);
  return status;
}

/* Judges an instance. A program's kernel is run before the reference, since it may decline or fail.
 */
static gemel_status judge_instance(struct judge *j, gemel_tensor *const *values,
                                   const gemel__trial *trial, gemel__outcome *outcome,
                                   gemel_error *error) {
  gemel__kernel_results ran;
  gemel_status status = GEMEL_OK;
  gemel__values_allow(j->instance, j->allow, values);
  j->spreads =
      (j->allow & GEMEL_NEEDS_BIT(NINF)) != 0 && gemel__values_have_nan(j->instance, values);
  if (trial->kernel == NULL) {
    return judge_by_reference(j, values, trial, NULL, outcome, error);
  }
  memset(&ran, 0, sizeof ran);
  if (trial->kernel->given == NULL) {
    status =
        gemel__kernel_run(j->instance, trial->kernel, values, trial->random, &ran, outcome, error);
  }
  if (status == GEMEL_OK && !outcome->refuted) {
    status = judge_by_reference(j, values, trial, &ran, outcome, error);
  }
  gemel__kernel_results_clear(&ran);
  return status;
}

/* Domain B for what ALLOW allows and, where the instance's context has a device, for the precision
 * of that one's products. */
static gemel__bound *bound_for(const gemel__instance *instance, unsigned allow) {
  static const int digits[GEMEL_PRECISION_COUNT] = {0, 11, 8};
  const gemel_device *device =
      gemel_device_of_space(gemel_graph_context(instance->graph), GEMEL__DEVICE_SPACE);
  gemel__bound *b = gemel__bound_new_loose(128, allow);
  if (b != NULL && device != NULL) {
    b->domain.product_digits = digits[device->matmul_precision];
  }
  return b;
}

/* ---- Integer ---- */

/* E = COMPUTED, in domain O; −1 if that is NaN. */
static int load_exact(gemel__domain *d, void *e, gemel_dtype dtype, const void *computed) {
  if (dtype == GEMEL_U64) {
    uint64_t x;
    memcpy(&x, computed, sizeof x);
    d->from_unsigned(d, e, x);
  } else if (dtype == GEMEL_I64) {
    int64_t x;
    memcpy(&x, computed, sizeof x);
    d->from_integer(d, e, x);
  } else {
    double x = gemel__decode(dtype, computed);
    if (isnan(x)) {
      return -1;
    }
    d->from_double(d, e, x);
  }
  return 0;
}

static int element_integer(struct judge *j, size_t output, size_t i, const void *computed,
                           gemel__outcome *outcome) {
  gemel__domain *d = j->domain;
  gemel__rtensor *r = &j->reference[output];
  const void *exact = gemel__rtensor_at(r, i);
  const void *bound = gemel__rtensor_at(&j->bounds[output], i);
  void *e;
  int equal;
  if (d->state(d, exact) != GEMEL__DEFINED ||
      j->bound_domain->state(j->bound_domain, bound) != GEMEL__DEFINED ||
      !(gemel__bound_radius(j->bound_domain, bound) == 0)) {
    outcome->inexact++;
    return -1;
  }
  /* an interval: a program's operation without a reference */
  if (!gemel__ordered_is_exact(d, exact)) {
    outcome->informative++;
    return gemel__bound_ratio(j->bound_domain, bound, r->dtype,
                              gemel__decode(r->dtype, computed)) <= 1;
  }
  e = gemel__elements_new(d, 1);
  if (e == NULL) {
    j->exhausted = 1;
    return -1;
  }
  equal = load_exact(d, e, r->dtype, computed) == 0 && d->equal(d, e, exact) == 1;
  gemel__elements_free(d, e, 1);
  outcome->informative += d->sign(d, exact) != 0;
  return equal;
}

gemel_status gemel__check_integer(const gemel__instance *instance, gemel_tensor *const *values,
                                  const gemel__trial *trial, gemel__outcome *outcome,
                                  gemel_error *error) {
  unsigned allow = gemel__allowed(instance, trial);
  gemel__ordered *o = gemel__ordered_new(128);
  gemel__bound *b = bound_for(instance, allow);
  struct judge j = {.instance = instance, .element = element_integer, .allow = allow};
  gemel_status status;
  if (o == NULL || b == NULL) {
    status = gemel__no_memory(error, "a domain");
  } else {
    j.domain = &o->domain;
    j.bound_domain = &b->domain;
    status = judge_instance(&j, values, trial, outcome, error);
  }
  gemel__ordered_free(o);
  gemel__bound_free(b);
  return status;
}

/* ---- Integer, by machine numbers ---- */

static int element_machine(struct judge *j, size_t output, size_t i, const void *computed,
                           gemel__outcome *outcome) {
  const gemel__rtensor *r = &j->reference[output];
  const void *exact = gemel__rtensor_at(r, i);
  if (j->domain->state(j->domain, exact) != GEMEL__DEFINED) {
    outcome->inexact++;
    return -1;
  }
  outcome->informative += gemel__machine_value(exact) != 0;
  int equal = gemel__decode(r->dtype, computed) == gemel__machine_value(exact);
  return equal || !gemel__is_loose(j->allow) ? equal : -1;
}

gemel_status gemel__check_machine(const gemel__instance *instance, gemel_tensor *const *values,
                                  const gemel__trial *trial, gemel__outcome *outcome,
                                  gemel_error *error) {
  struct judge j = {.instance = instance,
                    .element = element_machine,
                    .domain = gemel__machine(),
                    .allow = gemel__allowed(instance, trial)};
  return judge_instance(&j, values, trial, outcome, error);
}

/* ---- Float ---- */

static int element_float(struct judge *j, size_t output, size_t i, const void *computed,
                         gemel__outcome *outcome) {
  gemel__domain *d = j->domain;
  gemel__rtensor *r = &j->reference[output];
  const void *e = gemel__rtensor_at(r, i);
  double ratio;
  if (d->state(d, e) != GEMEL__DEFINED) {
    outcome->inexact++;
    return -1;
  }
  ratio = gemel__bound_ratio(d, e, r->dtype, gemel__decode(r->dtype, computed));
  outcome->informative += gemel__bound_relative(d, e) < 1;
  if (!(ratio <= outcome->worst)) {
    outcome->worst = ratio;
  }
  return ratio <= 1;
}

gemel_status gemel__check_float(const gemel__instance *instance, gemel_tensor *const *values,
                                const gemel__trial *trial, gemel__outcome *outcome,
                                gemel_error *error) {
  unsigned allow = gemel__allowed(instance, trial);
  gemel__bound *b = bound_for(instance, allow);
  struct judge j = {.instance = instance, .element = element_float, .allow = allow};
  if (b == NULL) {
    return gemel__no_memory(error, "a domain");
  }
  j.domain = &b->domain;
  gemel_status status = judge_instance(&j, values, trial, outcome, error);
  gemel__bound_free(b);
  return status;
}

/* ---- Special ---- */

/* 1 if COMPUTED is NaN, infinite (with the sign) or finite as E is. For operations with several
 * roundings: tier float judges finite values, and the sign of a zero sum depends on the order. */
static int same_class(gemel__domain *d, const void *e, double computed) {
  if (gemel__special_is_nan(d, e)) {
    return isnan(computed);
  }
  if (gemel__special_is_infinite(d, e)) {
    return isinf(computed) && (signbit(computed) != 0) == gemel__special_sign_bit(d, e);
  }
  return isfinite(computed);
}

/* 1 if COMPUTED is of the class of the exact result, rounded to the dtype. For a program's own
 * operation: its kernel may overflow where its reference's formula doesn't, and the other way
 * round. */
static int exact_class(struct judge *j, size_t output, size_t i, double computed) {
  gemel__domain *o = j->bound_domain;
  const void *e = o != NULL ? gemel__rtensor_at(&j->bounds[output], i) : NULL;
  double low, high, most = gemel__largest(j->reference[output].dtype);
  if (e == NULL || o->state(o, e) != GEMEL__DEFINED) {
    return 0;
  }
  gemel__ordered_bounds(o, e, &low, &high);
  return (computed == INFINITY && high > most) || (computed == -INFINITY && low < -most) ||
         (isfinite(computed) && low <= most && high >= -most);
}

/* 1 if the reference is NaN at infinite inputs, and COMPUTED what it tends to there. */
static int is_limit(struct judge *j, size_t output, size_t i, double computed) {
  const void *e = gemel__rtensor_at(&j->reference[output], i);
  return j->bound_domain != NULL && gemel__special_is_nan(j->domain, e) &&
         gemel__is_limit(&j->limits, j->instance, j->values, output, i, computed);
}

/* 1 if COMPUTED is E: 64-bit integers don't fit into a double. */
static int same_integer(struct judge *j, const void *e, gemel_dtype dtype, const void *computed) {
  gemel__domain *d = j->domain;
  void *own = gemel__elements_new(d, 1);
  if (own == NULL) {
    j->exhausted = 1;
    return -1;
  }
  int equal = load_exact(d, own, dtype, computed) == 0 && d->equal(d, own, e) == 1;
  gemel__elements_free(d, own, 1);
  return equal;
}

/* A row's ULP in units of DTYPE. A half type is computed in f32 and rounded once more: half a unit,
 * and ULP units of f32. */
static double claim_in(gemel_dtype dtype, double ulp) {
  if (ulp <= 0.5) {
    return 0.5;
  }
  const gemel__format *f = gemel__dtype_format(dtype);
  int lost = gemel__dtype_format(f->computed_in)->digits - f->digits;
  return lost > 0 ? 0.5 + ldexp(ulp, -lost) : ulp;
}

/* Judges a result for which the reference can't decide whether it is NaN, or of which it isn't
 * sure: NaN is right, too, and what rounds to infinity. */
static int undecided_class(gemel__domain *d, const void *e, gemel_dtype dtype, double computed) {
  int limit = computed < 0 ? -(int)GEMEL__MARK_LIMIT : (int)GEMEL__MARK_LIMIT;
  return !gemel__is_float(dtype) || isnan(computed) || same_class(d, e, computed) ||
         (isinf(computed) && gemel__special_landmark(d, e, dtype) == limit);
}

static int strictly_special(struct judge *j, size_t output, size_t i, const void *computed,
                            gemel__outcome *outcome) {
  gemel__domain *d = j->domain;
  gemel__rtensor *r = &j->reference[output];
  const void *e = gemel__rtensor_at(r, i);
  double x = gemel__decode(r->dtype, computed);
  if (d->state(d, e) == GEMEL__GAP) {
    return -1; /* the reference says nothing */
  }
  if (d->state(d, e) == GEMEL__UNDECIDED) {
    return undecided_class(d, e, r->dtype, x);
  }
  outcome->informative++;
  if (r->dtype == GEMEL_I64 || r->dtype == GEMEL_U64) {
    return same_integer(j, e, r->dtype, computed);
  }
  if (j->exact || !gemel__is_float(r->dtype)) {
    return gemel__special_agrees(d, e, r->dtype, x, 0.5);
  }
  if (j->instance->ulp < 0) {
    return same_class(d, e, x) || exact_class(j, output, i, x) || is_limit(j, output, i, x);
  }
  if (outcome->ulps != NULL) {
    gemel_dtype operand = j->instance->leaves[0].dtype;
    gemel__ulps_note(outcome->ulps, operand,
                     gemel__decode(operand, gemel__tensor_element(j->values[0], i)),
                     gemel__special_ulps(d, e, r->dtype, x));
  }
  return gemel__special_agrees(d, e, r->dtype, x, claim_in(r->dtype, j->instance->ulp));
}

enum { NEAR_DIGITS = 8 }; /* that agree where a result may overflow and hasn't */

/* 1 if COMPUTED is within the wider bounds. Where these reach beyond all numbers, it may be none,
 * or near. The sign of a zero is no matter of rounding. */
static int is_loosely(struct judge *j, size_t output, size_t i, gemel_dtype dtype,
                      double computed) {
  gemel__domain *d = j->domain, *loose = j->loose_domain;
  const void *exact = gemel__rtensor_at(&j->reference[output], i);
  const void *e = gemel__rtensor_at(&j->loose[output], i);
  gemel__state state = loose->state(loose, e);
  if (gemel__special_is_nan(d, exact) || gemel__special_is_infinite(d, exact) ||
      (computed == 0 && (signbit(computed) != 0) != gemel__special_sign_bit(d, exact))) {
    return 0;
  }
  if (state == GEMEL__DEFINED) {
    return gemel__bound_ratio(loose, e, dtype, computed) <= 1;
  }
  double value = gemel__special_value(d, exact), most = gemel__largest(dtype);
  value = fabs(value) > most ? copysign(most, value) : value;
  return state == GEMEL__UNDECIDED &&
         !(isfinite(computed) && fabs(computed / value - 1) > ldexp(1, -NEAR_DIGITS));
}

/* What is wrong by IEEE's rules may be allowed. */
static int element_special(struct judge *j, size_t output, size_t i, const void *computed,
                           gemel__outcome *outcome) {
  int right = strictly_special(j, output, i, computed, outcome);
  if (right != 0 || j->allow == 0) {
    return right;
  }
  gemel_dtype dtype = j->reference[output].dtype;
  double x = gemel__decode(dtype, computed);
  if (j->spreads && isnan(x)) {
    return 1;
  }
  return j->loose_domain != NULL && gemel__is_float(dtype) && is_loosely(j, output, i, dtype, x);
}

gemel_status gemel__check_special(const gemel__instance *instance, gemel_tensor *const *values,
                                  const gemel__trial *trial, gemel__outcome *outcome,
                                  gemel_error *error) {
  unsigned allow = gemel__allowed(instance, trial);
  gemel__special *s = gemel__special_new();
  gemel__ordered *o = gemel__ordered_new(128);
  gemel__bound *b = bound_for(instance, allow);
  struct judge j = {.instance = instance, .element = element_special, .allow = allow};
  uint32_t node = gemel_graph_output(instance->graph, 0).node;
  const struct gemel__row *row = gemel__node_op(instance->graph, node)->row;
  if (s == NULL || o == NULL || b == NULL) {
    gemel__special_free(s);
    gemel__ordered_free(o);
    gemel__bound_free(b);
    return gemel__no_memory(error, "a domain");
  }
  s->zero_signs = (allow & GEMEL_NEEDS_BIT(NSZ)) == 0;
  j.loose_domain = gemel__is_loose(allow) ? &b->domain : NULL;
  j.bound_domain = row == NULL ? &o->domain : NULL;
  /* one scalar operation: S needn't round, the claim is about its only rounding */
  s->unrounded = instance->ulp >= 0;
  j.exact = row != NULL &&
            gemel__twin_of(gemel__node_at(instance->graph, node)->op)->arithmetic == GEMEL__EXACT;
  j.domain = &s->domain;
  gemel_status status = judge_instance(&j, values, trial, outcome, error);
  gemel__limits_clear(&j.limits);
  gemel__special_free(s);
  gemel__ordered_free(o);
  gemel__bound_free(b);
  return status;
}
