/* SPDX-License-Identifier: MIT
 *
 * Draws an instance of a subject, judges it, and reports what was refuted. Each file that tries
 * instances of its own kind (verify.c, besides.c, gradient.c, kernel-extent.c) calls this.
 */
#include "operations/subject.h"

#include <stdio.h>
#include <string.h>
#include "core/alloc.h"
#include "core/dtype.h"
#include "core/error.h"
#include "ops/ops.h"
#include "reference/own.h"

/* ---- Drawing ---- */

static gemel_status draw(struct subject *s, gemel_dtype dtype, int64_t max_elements,
                         gemel__random *random, gemel__instance *instance, gemel_error *error) {
  gemel__instance base;
  gemel_status status = gemel__instance_draw_ranked(&base, s->run->context, s->op, dtype,
                                                    max_elements, s->wanted, random, error);
  if (status == GEMEL_OK && (s->derivative || s->embedded)) {
    status = s->derivative && s->op->grad == NULL ? gemel__instance_forward(instance, &base, error)
             : s->derivative                      ? gemel__instance_gradient(instance, &base, error)
                             : gemel__instance_embed(instance, &base, s->stateful, random, error);
    gemel__instance_clear(&base);
  } else {
    *instance = base;
  }
  instance->in_sequence = s->in_sequence && instance->n_leaves > 0 && instance->calls == 0;
  return status;
}

/* Tries dtypes from the K-th on until the sampler accepts one. */
gemel_status gemel__subject_draw(struct subject *s, const gemel_dtype *dtypes, size_t n, size_t k,
                                 int64_t max_elements, gemel__random *random,
                                 gemel__instance *instance, gemel_error *error) {
  gemel_status status = GEMEL_DECLINED;
  size_t tries;
  for (tries = 0; tries < n && status == GEMEL_DECLINED; tries++) {
    s->dtype = dtypes[(k + tries) % n];
    status = draw(s, s->dtype, max_elements, random, instance, error);
  }
  return status;
}

static gemel_status redraw(void *user, int64_t max_elements, gemel__random *random,
                           gemel__instance *instance, gemel_error *error) {
  struct subject *s = user;
  struct subject simpler = *s;
  memset(&simpler.wanted, 0, sizeof simpler.wanted);
  simpler.embedded = s->embedded && gemel__random_chance(random, 1, 2);
  return draw(&simpler, s->dtype, max_elements, random, instance, error);
}

/* ---- Reporting ---- */

void gemel__subject_reason(struct subject *s, gemel_tier tier, gemel_verdict verdict,
                           const char *reason) {
  gemel_record record;
  gemel__record_init(&record, s->run, s->kind, s->name, tier);
  record.verdict = verdict;
  record.detail = reason;
  gemel__record_emit(s->run, &record);
}

int gemel__subject_inexact(const struct subject *s) {
  const gemel__scalar_row *row = gemel__scalar_row_of(s->op);
  return row != NULL ? row->ulp > 0.5 : (s->op->flags & GEMEL_OP_INEXACT) != 0;
}

size_t gemel__subject_instances(const struct subject *s) {
  const gemel_attr_spec *spec;
  size_t n = s->run->options.instances;
  for (spec = s->op->attrs; spec != NULL && spec->name != NULL; spec++) {
    n *= spec->kind == GEMEL_ATTR_DTYPE ? 8 : 1;
  }
  return n;
}

void gemel__subject_place(const struct subject *s, const gemel__outcome *o, char *place,
                          size_t bytes) {
  const char *variant = o->variant != NULL ? o->variant : "";
  const char *dtype = gemel_dtype_name(s->dtype);
  size_t used;
  if (o->whole) {
    used = (size_t)snprintf(place, bytes, "the call (%s, %s)", variant, dtype);
  } else {
    used = gemel__outcome_place(o, place, bytes);
    used += (size_t)snprintf(place + used, bytes - used, " (%s, %s)", variant, dtype);
  }
  if (o->manner[0] != '\0') {
    snprintf(place + used, bytes - used, "; %s", o->manner);
  }
}

gemel_status gemel__subject_refute(struct subject *s, const struct tier_plan *plan,
                                   gemel__check check, gemel__redraw again,
                                   gemel__instance *instance, gemel_tensor ***values,
                                   const gemel__trial *trial, gemel__inquiry *q,
                                   gemel_error *error) {
  char place[800];
  gemel__outcome *o = &q->outcome;
  if (s->kernel != NULL) {
    GEMEL__TRY(gemel__kernel_shrink(instance, values, check, trial, o, error));
  }
  GEMEL__TRY(gemel__shrink(instance, values, s->fill, check, trial, again, s, o, error));
  if (s->kernel != NULL) {
    gemel__kernel_widen(s->kernel);
  }
  gemel__subject_place(s, o, place, sizeof place);
  q->record.elements = o->compared;
  q->record.worst = o->worst;
  q->record.how = plan->how;
  q->record.detail = place;
  gemel__inquiry_refute(q, instance, NULL, *values, place, o->expected, o->got);
  return GEMEL_OK;
}

gemel_status gemel__subject_refuse(gemel__inquiry *q, gemel_status status,
                                   const gemel_error *error) {
  if (status == GEMEL_DECLINED || status == GEMEL_NOT_DIFFERENTIABLE) {
    return GEMEL_OK;
  }
  if (status == GEMEL_NO_MEMORY) {
    return status;
  }
  q->record.instances = 1;
  q->record.detail = "the graph can't be built";
  gemel__inquiry_refute(q, NULL, NULL, NULL, "building it", "a graph", error->text);
  return GEMEL_OK;
}

/* ---- Judging ---- */

/* Puts half of VALUES at or beside numbers that the reference names. Draws from a copy of RANDOM.
 */
static gemel_status move_beside(const gemel__instance *instance, const struct tier_plan *plan,
                                const gemel__random *random, gemel_tensor *const *values,
                                gemel_error *error) {
  enum { MOST = 16 };
  double constants[MOST];
  gemel__random aside = *random;
  size_t n = 0;
  gemel_status status = gemel__instance_constants(instance, constants, MOST, &n, error);
  gemel__values_beside(instance, constants, n, plan->tier == GEMEL_TIER_INTEGER, &aside, values);
  return status;
}

/* Square operands of a kernel are always made to overlap, so that a kernel which takes x x for x xᵀ
 * is found. */
void gemel__subject_relate(const struct subject *s, const gemel__instance *instance,
                           gemel__random *random, gemel_tensor *const *values) {
  int square = s->kernel != NULL && s->wanted.axis < 0;
  if (s->kernel == NULL && !gemel__has_device(s->run->context)) {
    return;
  }
  if (!square && gemel__random_chance(random, 1, 4)) {
    gemel__kernel_repeat(instance, random, values);
  } else if (s->kernel != NULL && (square || gemel__random_chance(random, 1, 3))) {
    gemel__kernel_share(instance, random, values);
  }
}

gemel_status gemel__subject_judge(struct subject *s, const struct tier_plan *plan,
                                  gemel__check check, gemel__instance *instance,
                                  gemel__random *random, gemel__inquiry *q, gemel_error *error) {
  gemel__trial trial = {s->kernel, random, NULL};
  gemel__outcome outcome;
  gemel_tensor **values;
  gemel_status status = gemel__values_draw(instance, s->fill, random, &values, error);
  memset(&outcome, 0, sizeof outcome);
  if (status == GEMEL_OK && s->decides) {
    status = move_beside(instance, plan, random, values, error);
  }
  if (status == GEMEL_OK) {
    gemel__subject_relate(s, instance, random, values);
  }
  if (status == GEMEL_OK && s->own && !gemel__references_cover(instance->graph, NULL)) {
    status = GEMEL_DECLINED;
    q->declined += s->kernel == NULL;
  }
  if (status == GEMEL_OK) {
    status = check(instance, values, &trial, &outcome, error);
  }
  if (s->own && gemel__is_no_result(status) && gemel__reference_refuses(instance, values)) {
    status = GEMEL_DECLINED; /* both sides refuse the values, such as an index out of range */
    q->declined += s->kernel == NULL;
  }
  if (status == GEMEL_OK) {
    q->record.instances++;
    s->taken = s->dtype;
    s->took = 1;
    gemel__inquiry_add(q, &outcome);
    if (outcome.refuted) {
      status = gemel__subject_refute(s, plan, check, s->arranged ? NULL : redraw, instance, &values,
                                     &trial, q, error);
    }
  }
  gemel__values_free(instance, values);
  return status;
}
