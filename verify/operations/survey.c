/* SPDX-License-Identifier: MIT
 *
 * Judges a survey (survey.h). The numbers are cut into instances of 4,093 elements, a prime, so
 * that every width of vector leaves a remainder. Each is judged like any other instance, in all
 * variants. Then the library is called again on three elements at a time, and must give the same
 * bits: so the scalar code for a vector loop's remainder is tried everywhere too.
 */
#include "operations/survey.h"

#include <stdio.h>
#include <string.h>
#include "core/alloc.h"
#include "core/dtype.h"
#include "core/error.h"
#include "ops/ops.h"
#include "sample/ordinal.h"
#include "tiers/ulps.h"

enum { PIECE = 4093, SHORT = 3, LEAST = 4, SURVEYS = 500000 /* of random streams */ };

int gemel__survey_applies(const gemel_operation *op, size_t instances) {
  const gemel__scalar_row *row = gemel__scalar_row_of(op);
  return instances >= LEAST && row != NULL && row->n_inputs <= GEMEL__SURVEY_OPERANDS;
}

/* ---- A few elements at a time ---- */

struct pieces {
  gemel__instance instance; /* of SHORT elements */
  gemel_tensor **values;
  gemel_tensor *result;
};

static void pieces_clear(struct pieces *p) {
  gemel_tensor_unref(p->result);
  gemel__values_free(&p->instance, p->values);
  gemel__instance_clear(&p->instance);
}

/* What can't be compiled gets no pieces: the check of the variants refutes it already. */
static gemel_status pieces_init(struct pieces *p, const gemel__survey *s, gemel_error *error) {
  gemel_options options = {.size = sizeof options, .as_written = 1};
  gemel_error problem = {GEMEL_OK, 0, 0, ""};
  gemel_status status = gemel__survey_instance(s, SHORT, &p->instance, &p->values, error);
  if (status == GEMEL_OK) {
    p->instance.compiled = gemel_compile(p->instance.graph, &options, &problem);
  }
  return problem.status == GEMEL_NO_MEMORY ? gemel__no_memory(error, "a function") : status;
}

/* Calls the library on elements FROM to FROM + SHORT − 1 and compares with WHOLE, whose element 0
 * is the survey's element FIRST. */
static gemel_status compare_piece(struct pieces *p, const gemel__survey *s, size_t from,
                                  size_t first, const gemel_tensor *whole, gemel__outcome *outcome,
                                  gemel_error *error) {
  gemel_status status;
  size_t k, size;
  gemel_dtype dtype;
  gemel__survey_fill(s, from, SHORT, p->values);
  status = gemel_call(p->instance.compiled, p->instance.n_leaves, p->values, 1, &p->result, error);
  if (status != GEMEL_OK) {
    return status;
  }
  dtype = gemel_tensor_dtype(p->result);
  size = gemel_dtype_size(dtype);
  for (k = 0; k < SHORT; k++) {
    const char *a = (const char *)gemel_tensor_data(p->result) + k * size;
    const char *b = gemel__tensor_element(whole, from - first + k);
    if (!gemel__same_bits(dtype, a, b)) {
      outcome->refuted = 1;
      outcome->output = 0;
      outcome->element = from - first + k;
      outcome->variant = "fused, a few elements at a time";
      gemel__outcome_numbers(outcome, dtype, b, " as in a long row", a);
      return GEMEL_OK;
    }
  }
  outcome->agreed += SHORT;
  return GEMEL_OK;
}

static gemel_status compare_pieces(struct pieces *p, const gemel__survey *s, size_t first, size_t n,
                                   const gemel__instance *instance, gemel_tensor *const *values,
                                   gemel__random *random, gemel__outcome *outcome,
                                   gemel_error *error) {
  gemel_tensor *whole = NULL;
  gemel_status status;
  size_t k;
  if (p->instance.compiled == NULL) {
    return GEMEL_OK;
  }
  status = gemel__execute(instance, &gemel__variants[0], values, random, &whole, error);
  for (k = 0; k + SHORT <= n && status == GEMEL_OK && !outcome->refuted; k += SHORT) {
    status = compare_piece(p, s, first + k, first, whole, outcome, error);
  }
  gemel_tensor_unref(whole);
  return status;
}

/* ---- Judging ---- */

static void add_outcome(gemel__outcome *total, const gemel__outcome *one) {
  total->compared += one->compared;
  total->agreed += one->agreed;
  total->informative += one->informative;
  total->inexact += one->inexact;
}

/* Shrinks a refuted piece: to the failing element alone, else to 4, 16, … elements around it, until
 * it fails. */
static gemel_status cut_down(gemel__surveying *w, const gemel__survey *s, size_t first, size_t n,
                             gemel__trial *trial, gemel_error *error) {
  size_t at = w->outcome.element < n ? w->outcome.element : 0, length;
  gemel_status status = GEMEL_OK;
  int found = 0;
  for (length = 1; length < n && !found && status == GEMEL_OK; length *= 4) {
    size_t from = at - (at % length);
    size_t m = from + length > n ? n - from : length;
    gemel__instance small;
    gemel_tensor **values;
    gemel__outcome outcome;
    memset(&outcome, 0, sizeof outcome);
    status = gemel__survey_instance(s, m, &small, &values, error);
    if (status == GEMEL_OK) {
      gemel__survey_fill(s, first + from, m, values);
      status = w->check(&small, values, trial, &outcome, error);
    }
    if (status == GEMEL_OK && outcome.refuted) {
      found = 1;
      gemel__values_free(&w->instance, w->values);
      gemel__instance_clear(&w->instance);
      w->instance = small;
      w->values = values;
      w->outcome = outcome;
    } else {
      gemel__values_free(&small, values);
      gemel__instance_clear(&small);
    }
  }
  return status;
}

static gemel_status judge_piece(gemel__surveying *w, const gemel__survey *s, struct pieces *pieces,
                                size_t first, size_t n, gemel_error *error) {
  gemel__trial trial = {w->kernel, s->random, NULL};
  gemel__outcome outcome;
  gemel_status status;
  memset(&outcome, 0, sizeof outcome);
  outcome.ulps = w->ulps;
  status = gemel__survey_instance(s, n, &w->instance, &w->values, error);
  if (status == GEMEL_OK) {
    gemel__survey_fill(s, first, n, w->values);
    status = w->check(&w->instance, w->values, &trial, &outcome, error);
  }
  if (status == GEMEL_OK && !outcome.refuted && pieces != NULL) {
    status =
        compare_pieces(pieces, s, first, n, &w->instance, w->values, s->random, &outcome, error);
  }
  if (status == GEMEL_OK) {
    w->instances++;
    add_outcome(&w->outcome, &outcome);
    w->refuted = outcome.refuted;
  }
  if (status == GEMEL_OK && w->refuted) {
    size_t compared = w->outcome.compared;
    w->dtype = s->dtypes[s->n_inputs - 1];
    w->outcome = outcome;
    w->outcome.compared = compared;
    return cut_down(w, s, first, n, &trial, error);
  }
  gemel__values_free(&w->instance, w->values);
  gemel__instance_clear(&w->instance);
  w->values = NULL;
  return status;
}

static gemel_status judge(gemel__surveying *w, const gemel__survey *s, gemel_error *error) {
  struct pieces pieces;
  gemel_status status = GEMEL_OK;
  memset(&pieces, 0, sizeof pieces);
  if (w->kernel == NULL) {
    status = pieces_init(&pieces, s, error);
  }
  for (size_t k = 0; k < s->count && status == GEMEL_OK && !w->refuted; k += PIECE) {
    size_t n = s->count - k < PIECE ? s->count - k : PIECE;
    status = judge_piece(w, s, w->kernel == NULL ? &pieces : NULL, k, n, error);
  }
  pieces_clear(&pieces);
  return status;
}

/* ---- Which dtypes ---- */

/* 1 if the operation computes in DTYPE without a cast of its operands, and TIER is the one in which
 * that dtype is surveyed. */
static int concerns(const gemel__surveying *w, const gemel__scalar_row *row, gemel_dtype dtype,
                    gemel_dtype to) {
  gemel_dtype given[GEMEL__SURVEY_OPERANDS] = {dtype, dtype, dtype};
  gemel_dtype operands[GEMEL__SURVEY_OPERANDS], result;
  int floats;
  if (gemel__scalar_dtypes(row->code, (size_t)row->n_inputs, given, to, operands, &result) !=
          GEMEL_OK ||
      (operands[row->n_inputs - 1] != dtype && row->code != GEMEL__TYPE_LOGIC)) {
    return 0;
  }
  floats = gemel__is_float(dtype) || gemel__is_float(result);
  return w->tier == (floats ? GEMEL_TIER_SPECIAL : GEMEL_TIER_INTEGER);
}

static gemel_status survey_one(gemel__surveying *w, const gemel__scalar_row *row, gemel_dtype dtype,
                               gemel_dtype to, gemel_error *error) {
  gemel__random random;
  gemel__survey s;
  gemel_status status;
  int k;
  memset(&s, 0, sizeof s);
  gemel__run_random(w->run, w->name, w->tier, SURVEYS + 64 * (size_t)dtype + (size_t)to, &random);
  s.context = w->run->context;
  s.op = w->op;
  s.n_inputs = row->n_inputs;
  s.is_cast = row->code == GEMEL__TYPE_CAST;
  s.to = to;
  s.ulp = row->ulp;
  s.density = w->run->options.instances;
  s.random = &random;
  for (k = 0; k < s.n_inputs; k++) {
    s.dtypes[k] = row->code == GEMEL__TYPE_SELECT && k == 0 ? GEMEL_BOOL : dtype;
  }
  status = gemel__survey_draw(&s, error);
  if (status == GEMEL_OK) {
    status = judge(w, &s, error);
  }
  gemel__survey_clear(&s);
  if (status == GEMEL_DECLINED) { /* the kernel on trial declined it */
    w->declined++;
    gemel__values_free(&w->instance, w->values);
    gemel__instance_clear(&w->instance);
    w->values = NULL;
    return GEMEL_OK;
  }
  return status;
}

gemel_status gemel__survey_tier(gemel__surveying *w, gemel_error *error) {
  const gemel__scalar_row *row = gemel__scalar_row_of(w->op);
  gemel_status status = GEMEL_OK;
  for (int dtype = 0; dtype < GEMEL_DTYPE_COUNT; dtype++) {
    for (int to = 0; to < (row->code == GEMEL__TYPE_CAST ? GEMEL_DTYPE_COUNT : 1); to++) {
      if (status == GEMEL_OK && !w->refuted &&
          concerns(w, row, (gemel_dtype)dtype, (gemel_dtype)to)) {
        status = survey_one(w, row, (gemel_dtype)dtype, (gemel_dtype)to, error);
      }
    }
  }
  return status;
}
