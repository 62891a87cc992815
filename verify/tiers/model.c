/* SPDX-License-Identifier: MIT
 *
 * Asks one question of tier real: points are drawn and judged (point.c), numbers driven to ties
 * (drive.c), and F runs trials by itself, with the quadratic character for the sign. Where no
 * character was used these are proofs. Where one was, a rejection proves nothing, and an acceptance
 * counts only after enough trials. Z3 is asked what stays open (solver.c).
 */
#include "tiers/model.h"

#include <math.h>
#include <string.h>
#include "core/alloc.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/graph.h"
#include "tiers/models.h"
#include "tiers/solver.h"
#include "instances/source.h"

/* Most further points, drawn while some element was never compared. */
enum { MORE_POINTS = 16 };
/* Points if F has proved both sides the same polynomials. */
enum { SPARE_POINTS = 8 };
/* Rounds of interval evaluation. */
enum { SIGNS = 12 };

/* Draws a point by FILL, the TURNth for QUESTION, lets the sources change it, and judges it. */
static gemel_status run_point(gemel__models *s, gemel__fill fill, unsigned question, size_t turn,
                              int *witness, gemel_error *error) {
  const gemel__question *q = s->q;
  gemel_tensor **point;
  gemel_status status = GEMEL_OK;
  GEMEL__TRY(gemel__values_around(q->leaves, fill, q->constants, q->n_constants, &s->random, &point,
                                  error));
  const gemel__drawn at = {q->leaves, point, turn, &s->random};
  gemel__sources_change(&at, question);
  if (question == GEMEL__FOR_REAL && turn < SIGNS) {
    status = gemel__models_signs(s, point, turn % 2 != 0, error);
  }
  status = status ? status : gemel__models_judge(s, point, witness, error);
  if (!*witness) {
    gemel__values_free(q->leaves, point);
  }
  return status;
}

static gemel_status run_points(gemel__models *s, gemel_error *error) {
  int witness = 0;
  for (size_t k = 0; k < s->points && !witness; k++) {
    GEMEL__TRY(run_point(s, k % 3 == 0 ? GEMEL__FILL_FULL : GEMEL__FILL_POINTS, GEMEL__FOR_REAL, k,
                         &witness, error));
  }
  return GEMEL_OK;
}

/* Judges more points while some element was never compared, then the points with infinities that
 * were asked for. */
static gemel_status run_more_points(gemel__models *s, gemel_error *error) {
  gemel_status status = GEMEL_OK;
  size_t k, output;
  int witness = 0;
  for (k = 0; k < MORE_POINTS && status == GEMEL_OK && !witness &&
              gemel__compared_missing(&s->compared, &output) > 0;
       k++) {
    status = run_point(s, GEMEL__FILL_FULL, GEMEL__FOR_UNDEFINED, k, &witness, error);
  }
  s->infinite = 1;
  for (k = 0; k < s->q->infinite && status == GEMEL_OK && !witness; k++) {
    status = run_point(s, GEMEL__FILL_POINTS, GEMEL__FOR_INFINITE, k, &witness, error);
  }
  s->infinite = 0;
  return status;
}

static void count_trial(gemel__models *s, int result) {
  const gemel__field_report *report = gemel__field_get_report(s->f);
  int path = gemel__models_path(s, report);
  s->answer->trials++;
  s->undecided = path > s->undecided ? path : s->undecided;
  s->f_with_characters += report->characters > 0;
  s->f_keyed += report->keyed > 0;
  s->f_accepted += result == 1;
  s->f_rejected += result == 0 && report->keyed == 0;
  s->f_open += result < 0 || (result == 0 && report->keyed > 0);
  s->f_other += report->proven + report->inverses + report->exponentials + report->roots > 0;
}

/* One trial of F, drawn again while some element has no value because of a non-square or an inverse
 * of 0. */
static gemel_status run_trial(gemel__models *s, gemel_tensor **point, gemel_error *error) {
  const gemel__field_report *report = gemel__field_get_report(s->f);
  int result = -1, tries;
  gemel_status status = gemel__instance_points(s->q->leaves, GEMEL__FILL_POINTS, s->q->constants,
                                               s->q->n_constants, &s->random, point, error);
  for (tries = 0; tries < GEMEL__MODELS_REDRAWS && result < 0 && status == GEMEL_OK; tries++) {
    status = gemel__models_trial(s, point, 0, &result, error);
    status = gemel__is_no_point(status) ? GEMEL_OK : status;
    gemel__models_note_keyed(s, report);
    s->exponentials |= report->exponentials > 0;
    if (result < 0 && report->non_squares + report->zero_inverses == 0) {
      s->gaps += report->gaps;
      break;
    }
  }
  count_trial(s, result);
  gemel__tensors_release(s->q->leaves->n_leaves, point);
  return status;
}

static gemel_status run_trials(gemel__models *s, gemel_error *error) {
  size_t n = s->q->leaves->n_leaves;
  gemel_tensor **point = gemel__alloc_array(n, sizeof *point);
  gemel_status status = point != NULL ? GEMEL_OK : gemel__no_memory(error, "trials");
  while (status == GEMEL_OK && s->f_rejected == 0 &&
         (s->answer->trials < s->q->trials ||
          (s->f_open == 0 && s->answer->trials < gemel__models_trials(s)))) {
    status = run_trial(s, point, error);
  }
  gemel__free(point, n * sizeof *point);
  return status;
}

/* Runs F first, and if it proves both sides the same polynomials of the leaves, reduces the number
 * of points: no point can tell polynomials apart, and they are defined everywhere. */
static gemel_status spare_points(gemel__models *s, gemel_error *error) {
  GEMEL__TRY(s->q->spare && s->f != NULL ? run_trials(s, error) : GEMEL_OK);
  if (s->answer->trials > 0 && s->f_other == 0 && gemel__models_proven(s) &&
      s->points > SPARE_POINTS) {
    s->points = SPARE_POINTS;
  }
  return GEMEL_OK;
}

/* The fields to try, the smallest error probability first. Each nested exponential needs one more
 * ring; logarithms need primes of moderate size. */
static const struct {
  int bits, rings;
} fields[] = {{GEMEL__FIELD_LARGE, 1}, {GEMEL__FIELD_LARGE, 2},  {GEMEL__FIELD_MEDIUM, 2},
              {GEMEL__FIELD_LARGE, 3}, {GEMEL__FIELD_MEDIUM, 3}, {GEMEL__FIELD_MEDIUM, 4},
              {GEMEL__FIELD_MEDIUM, 5}};

/* One trial on the current field. *GAPS: how many results had no value for want of a ring or a
 * logarithm. */
static gemel_status probe(gemel__models *s, uint64_t *gaps, gemel_error *error) {
  size_t n = s->q->leaves->n_leaves;
  gemel_tensor **point = gemel__alloc_array(n, sizeof *point);
  int result;
  gemel_status status = point == NULL ? gemel__no_memory(error, "a trial")
                                      : gemel__instance_values(s->q->leaves, GEMEL__FILL_POINTS,
                                                               &s->random, point, error);
  if (status == GEMEL_OK) {
    status = gemel__models_trial(s, point, 0, &result, error);
    *gaps = gemel__field_get_report(s->f)->gaps;
    gemel__tensors_release(n, point);
  }
  gemel__free(point, n * sizeof *point);
  return status;
}

/* Chooses the first field on which a trial has no gaps, else the last one that could be made. */
static gemel_status choose_field(gemel__models *s, gemel_error *error) {
  const gemel__question *q = s->q;
  gemel_error problem = {GEMEL_OK, 0, 0, ""};
  for (size_t k = 0; k < sizeof fields / sizeof *fields; k++) {
    gemel__field_options options = {fields[k].bits, fields[k].rings, q->constants, q->n_constants,
                                    q->faults};
    gemel__domain *next = gemel__field_new(&options, q->seed, &problem);
    uint64_t gaps = 0;
    gemel_status status;
    if (next == NULL && problem.status == GEMEL_NO_MEMORY) {
      return gemel__no_memory(error, "a field");
    }
    if (next == NULL) {
      continue;
    }
    gemel__field_free(s->f);
    s->f = next;
    status = probe(s, &gaps, error);
    if (status != GEMEL_OK && !gemel__is_no_point(status)) {
      return status;
    }
    if (gaps == 0) {
      break;
    }
  }
  return GEMEL_OK;
}

static gemel_status start(gemel__models *s, gemel_error *error) {
  s->results = gemel__alloc_array(2 * s->q->n_outputs, sizeof *s->results);
  s->o = gemel__ordered_new(128);
  if (s->results == NULL || s->o == NULL ||
      gemel__compared_init(&s->compared, s->q->n_outputs) != 0) {
    return gemel__no_memory(error, "the models");
  }
  s->o->domain.observer = &s->answer->sites.observer;
  return choose_field(s, error);
}

/* Without inputs there is one point. *SAME: all results have the same IEEE values there, NaN among
 * them, which settles the question. */
static gemel_status decide_only_point(gemel__models *s, int *same, gemel_error *error) {
  gemel__answer *a = s->answer;
  GEMEL__TRY(gemel__poles_evaluate(&s->poles, s->q, 1, NULL, error));
  *same = s->poles.evaluated;
  for (size_t k = 0; k < s->q->n_outputs && *same; k++) {
    const gemel__rtensor *left = &s->poles.results[k];
    *same = gemel__same_shape(left, &s->poles.results[s->q->n_outputs + k]);
    for (size_t i = 0; i < left->count && *same; i++) {
      *same = gemel__poles_agree(&s->poles, k, i, NULL, NULL, NULL);
      a->elements++;
    }
  }
  if (*same) {
    a->points = 1;
    a->compared = a->elements;
    gemel__say(a, GEMEL_VERDICT_PASSED, GEMEL_EVIDENCE_BITS, "there are no inputs, so bits decide");
  }
  return GEMEL_OK;
}

static gemel_status decide(gemel__models *s, gemel_error *error) {
  gemel__answer *answer = s->answer;
  gemel_error mine = {GEMEL_OK, 0, 0, ""};
  int same = 0;
  if (gemel__poles_only_point(s->q)) {
    GEMEL__TRY(decide_only_point(s, &same, error));
  }
  if (same) {
    return GEMEL_OK;
  }
  GEMEL__TRY(start(s, error != NULL ? error : &mine));
  GEMEL__TRY(spare_points(s, error));
  GEMEL__TRY(run_points(s, error));
  if (answer->witness == NULL) {
    GEMEL__TRY(gemel__models_drive(s, error));
  }
  if (answer->witness == NULL) {
    GEMEL__TRY(run_more_points(s, error));
  }
  if (answer->witness == NULL && s->f != NULL) {
    GEMEL__TRY(run_trials(s, error));
  }
  if (s->q->solve && gemel__models_open(s)) {
    GEMEL__TRY(gemel__solver_ask(s, error));
  }
  if (s->compared.failed) {
    return gemel__no_memory(error, "what was compared");
  }
  if (answer->verdict != GEMEL_VERDICT_REFUTED && answer->witness == NULL &&
      gemel__stopped(s->q->ticker)) {
    return GEMEL_DECLINED; /* stopped early: not enough was tried for a verdict */
  }
  answer->compared = s->o_compared + s->o_special;
  answer->elements = gemel__compared_elements(&s->compared);
  answer->missing = gemel__compared_missing(&s->compared, &answer->missing_output);
  gemel__models_decide(s);
  return GEMEL_OK;
}

gemel_status gemel__decide(const gemel__question *question, gemel__answer *answer,
                           gemel_error *error) {
  gemel__models *s = gemel__alloc_zeroed(sizeof *s);
  memset(answer, 0, sizeof *answer);
  answer->how = GEMEL_EVIDENCE_NONE;
  gemel__sites_init(&answer->sites);
  if (s == NULL) {
    return gemel__no_memory(error, "the models");
  }
  s->q = question;
  s->answer = answer;
  gemel__random_seed(&s->random, question->seed);
  s->points = question->points;
  gemel_status status = decide(s, error);
  if (status != GEMEL_OK) {
    gemel__answer_clear(answer);
  }
  gemel__rtensors_free(2 * question->n_outputs, s->results);
  gemel__compared_clear(&s->compared);
  gemel__poles_clear(&s->poles);
  gemel__tape_clear(&s->tapes[0]);
  gemel__tape_clear(&s->tapes[1]);
  gemel__ordered_free(s->o);
  gemel__field_free(s->f);
  gemel__free(s, sizeof *s);
  return status;
}

void gemel__answer_clear(gemel__answer *answer) {
  gemel__sites_clear(&answer->sites);
  if (answer->witness != NULL) {
    gemel__tensors_free(answer->n_witness, answer->witness);
    answer->witness = NULL;
  }
}

/* ---- Graphs as sides ---- */

gemel_status gemel__side_graph(const gemel__model_side *side, gemel__domain *d,
                               const gemel__rtensor *inputs, gemel__rtensor *outputs,
                               gemel_error *error) {
  return gemel__reference_graph(side->data, d, inputs, outputs, NULL, NULL, error);
}

static void add_constant(gemel_value value, double *constants, size_t room, size_t *n) {
  gemel_attr attr;
  if (gemel_value_attr(value, "value", &attr) == GEMEL_OK) {
    int64_t count = gemel_tensor_elements(attr.u.tensor), i;
    for (i = 0; i < count && *n < room; i++) {
      double x = gemel__decode(gemel_tensor_dtype(attr.u.tensor),
                               gemel__tensor_element(attr.u.tensor, (size_t)i));
      if (isfinite(x) && x != 0) {
        constants[(*n)++] = x;
      }
    }
  }
}

void gemel__constants_of(const gemel_graph *graph, uint32_t node, double *constants, size_t room,
                         size_t *n) {
  gemel__ref self = {node, 0};
  if (gemel__node_at(graph, node)->op == GEMEL__OP_constant) {
    add_constant(gemel__value(graph, self), constants, room, n);
  }
}

void gemel__constants(const gemel_graph *graph, double *constants, size_t room, size_t *n) {
  size_t count = gemel_graph_node_count(graph), k;
  for (k = 0; k < count; k++) {
    gemel__constants_of(graph, (uint32_t)k, constants, room, n);
  }
}

/* 1 if VALUE is a constant with a NaN or an infinity. */
static int is_special(gemel_value value) {
  gemel_attr attr;
  if (gemel_value_attr(value, "value", &attr) != GEMEL_OK) {
    return 0;
  }
  gemel_dtype dtype = gemel_tensor_dtype(attr.u.tensor);
  int64_t count = gemel__is_float(dtype) ? gemel_tensor_elements(attr.u.tensor) : 0, i = 0;
  while (i < count &&
         isfinite(gemel__decode(dtype, gemel__tensor_element(attr.u.tensor, (size_t)i)))) {
    i++;
  }
  return i < count;
}

int gemel__has_special_constants(const gemel_graph *graph) {
  for (uint32_t k = 0; k < gemel_graph_node_count(graph); k++) {
    if (gemel__node_at(graph, k)->op == GEMEL__OP_constant &&
        is_special(gemel__value(graph, (gemel__ref){k, 0}))) {
      return 1;
    }
  }
  return 0;
}
