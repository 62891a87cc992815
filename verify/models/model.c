/* SPDX-License-Identifier: MIT
 *
 * Evaluates one question of tier real. At each point, O evaluates both sides, with more precision
 * while a decision is open; results that don't overlap are a counterexample. The decisions taken
 * there are then forced on F at fresh residues (σF): if results differ, the sides are different
 * formulas on that cell. F also runs trials by itself, with the quadratic character for the sign.
 * Where no character was used these are proofs. Where one was, a rejection proves nothing, and an
 * acceptance counts only after enough trials.
 */
#include "models/model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include "core/alloc.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/graph.h"
#include "models/models.h"
#include "models/solver.h"
#include "instances/source.h"

enum { CHAINS_A_CELL = 2, REDRAWS = 6 };
/* Most further points, drawn while some element was never compared. */
enum { MORE_POINTS = 16 };
/* Points if F has proved both sides the same polynomials. */
enum { SPARE_POINTS = 8 };
/* Rounds of interval evaluation (evaluate_signs). */
enum { SIGNS = 12 };

/* ---- Evaluating ---- */

/* Evaluates both sides in D. BEFORE is called ahead of each (0 left, 1 right). */
static gemel_status evaluate_sides(gemel__models *s, gemel__domain *d, const gemel__rtensor *inputs,
                                   void (*before)(gemel__models *s, int side), gemel_error *error) {
  const gemel__model_side *sides[2] = {s->q->left, s->q->right};
  gemel__rtensors_clear(2 * s->q->n_outputs, s->results);
  GEMEL__TRY(gemel__tick(s->q->ticker));
  for (int k = 0; k < 2; k++) {
    if (before != NULL) {
      before(s, k);
    }
    GEMEL__TRY(
        sides[k]->evaluate(sides[k], d, inputs, s->results + (size_t)k * s->q->n_outputs, error));
  }
  return GEMEL_OK;
}

static void record_side(gemel__models *s, int side) {
  gemel__sites_end(&s->answer->sites);
  gemel__tape_clear(&s->tapes[side]);
  s->o->tape = &s->tapes[side];
  gemel__sites_begin(&s->answer->sites, side, s->o->domain.hull != NULL, s->o->tape);
}

/* Evaluates both sides in O at INPUTS and records the decisions on the tapes and at the sites. */
static gemel_status evaluate_ordered(gemel__models *s, const gemel__rtensor *inputs,
                                     gemel_error *error) {
  gemel_status status = evaluate_sides(s, &s->o->domain, inputs, record_side, error);
  gemel__sites_end(&s->answer->sites);
  s->o->tape = NULL;
  if (status == GEMEL_OK && (s->answer->sites.failed || s->tapes[0].failed || s->tapes[1].failed)) {
    return gemel__no_memory(error, "decisions");
  }
  return status;
}

/* Evaluates both sides in O at VALUES, with PRECISION bits and more while something is
 * undecided. */
static gemel_status evaluate_point(gemel__models *s, gemel_tensor *const *values, long precision,
                                   gemel_error *error) {
  size_t n = s->q->leaves->n_leaves;
  gemel__rtensor *inputs = gemel__alloc_array(n, sizeof *inputs);
  gemel_status status = GEMEL_OK;
  if (inputs == NULL) {
    return gemel__no_memory(error, "a point");
  }
  s->o->precision = precision;
  do {
    s->o->undecided = 0;
    status = gemel__rtensors_read(n, inputs, &s->o->domain, values, error);
    status = status ? status : evaluate_ordered(s, inputs, error);
  } while (status == GEMEL_OK && s->o->undecided > 0 && gemel__ordered_raise(s->o));
  gemel__rtensors_free(n, inputs);
  return status;
}

/* ---- Whole domains ---- */

/* Sets E to the interval of all numbers of this SIGN (−1, 0 or 1) in RANGE, or of all positive ones
 * if it has none of that sign. */
static void whole_leaf(gemel__domain *d, gemel_range range, int sign, void *e) {
  static const double tiny = 0x1p-1074;
  double high = range == GEMEL_RANGE_MODERATE ? 16 : INFINITY;
  double low = range == GEMEL_RANGE_ABOVE_MINUS_ONE ? -1 + 0x1p-53 : -high;
  if (range == GEMEL_RANGE_POSITIVE || (range == GEMEL_RANGE_NONNEGATIVE && sign != 0) ||
      (range == GEMEL_RANGE_NONZERO && sign == 0)) {
    sign = 1;
  }
  if (sign == 0) {
    d->from_integer(d, e, 0);
  } else {
    gemel__ordered_set_interval(d, e, sign > 0 ? tiny : low, sign > 0 ? high : -tiny);
  }
}

/* Sets E, of an integer dtype, to the interval of all numbers of this SIGN in RANGE. Leaves it as
 * it is if there are none. END is scratch. */
static void whole_integer(gemel__domain *d, gemel_dtype dtype, gemel_range range, int sign, void *e,
                          void *end) {
  int is_signed = gemel_dtype_kind(dtype) == GEMEL_KIND_SIGNED;
  int bits = dtype == GEMEL_BOOL ? 1 : 8 * (int)gemel_dtype_size(dtype) - is_signed;
  int below = range == GEMEL_RANGE_ANY || range == GEMEL_RANGE_NONZERO;
  if (sign > 0 || (sign < 0 && !below)) {
    int nonzero = range == GEMEL_RANGE_POSITIVE || range == GEMEL_RANGE_NONZERO;
    d->from_integer(d, e, dtype != GEMEL_BOOL || nonzero);
    d->from_unsigned(d, end, UINT64_MAX >> (64 - bits));
    d->hull(d, e, e, end);
  } else if (sign < 0 && is_signed) {
    gemel__ordered_set_interval(d, e, -ldexp(1, bits), -1);
  }
}

/* Sets INPUT to leaf K: each float element to an interval of a random sign, and with WHOLE integer
 * elements too. Others get their value in POINT. */
static gemel_status whole_input(gemel__models *s, size_t k, gemel_tensor *const *point, int whole,
                                gemel__rtensor *input, gemel_error *error) {
  const gemel__leaf *leaf = &s->q->leaves->leaves[k];
  gemel_view view = gemel_tensor_view(point[k]);
  gemel_status status = gemel__rtensor_from_view(input, &s->o->domain, &view, error);
  int is_float = gemel__is_float(leaf->dtype);
  void *end = gemel__elements_new(&s->o->domain, 1);
  size_t i;
  if (end == NULL) {
    return gemel__no_memory(error, "a point");
  }
  for (i = 0; status == GEMEL_OK && leaf->range != GEMEL_RANGE_INDEX && i < input->count; i++) {
    int sign = (int)gemel__random_between(&s->random, -1, 1);
    if (is_float) {
      whole_leaf(&s->o->domain, leaf->range, sign, gemel__rtensor_at(input, i));
    } else if (whole && (leaf->range == GEMEL_RANGE_ANY || leaf->facts != 0)) {
      whole_integer(&s->o->domain, leaf->dtype, leaf->range, sign, gemel__rtensor_at(input, i),
                    end);
    }
  }
  gemel__elements_free(&s->o->domain, end, 1);
  return status;
}

/* Interval evaluation, to learn which ways a site can go. Each element of a float leaf (with WHOLE,
 * of an integer leaf too) is an interval: all numbers of a random sign. A decision taken there
 * holds for all these numbers. Several rounds with other signs show all ways that a site can go. If
 * a reference needs a number and gets an interval, the round ends early, and the sites that it
 * didn't reach count as decided. */
static gemel_status evaluate_signs(gemel__models *s, gemel_tensor *const *point, int whole,
                                   gemel_error *error) {
  const gemel__instance *in = s->q->leaves;
  gemel__rtensor *inputs = gemel__alloc_array(in->n_leaves, sizeof *inputs);
  gemel_error problem = {GEMEL_OK, 0, 0, ""};
  gemel_status status = GEMEL_OK;
  if (inputs == NULL) {
    return gemel__no_memory(error, "a point");
  }
  gemel__ordered_intervals(s->o, 1);
  s->o->precision = 128;
  for (size_t k = 0; k < in->n_leaves && status == GEMEL_OK; k++) {
    status = whole_input(s, k, point, whole, &inputs[k], &problem);
  }
  status = status ? status : evaluate_ordered(s, inputs, &problem);
  gemel__rtensors_clear(2 * s->q->n_outputs, s->results);
  gemel__ordered_intervals(s->o, 0);
  gemel__rtensors_free(in->n_leaves, inputs);
  return status == GEMEL_NO_MEMORY ? gemel__no_memory(error, "a point") : GEMEL_OK;
}

/* ---- Comparing ---- */

static int same_shape(const gemel__rtensor *a, const gemel__rtensor *b) {
  return a->rank == b->rank && a->count == b->count &&
         memcmp(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape) == 0;
}

/* Compares the states of two elements that aren't both defined: 1 agree, 0 differ, −1 nothing to
 * compare. */
static int compare_domains(gemel__domains how, gemel__state x, gemel__state y) {
  int known = (x == GEMEL__DEFINED || x == GEMEL__UNDEFINED) &&
              (y == GEMEL__DEFINED || y == GEMEL__UNDEFINED);
  switch (how) {
  case GEMEL__SAME_DOMAIN:
    return known ? x == y : -1;
  case GEMEL__LEFT_DEFINED:
    return known && y == GEMEL__DEFINED ? x == y : -1;
  default:
    return -1;
  }
}

/* What to note of an element that isn't defined on both sides. */
static int seen_undefined(gemel__state x, gemel__state y) {
  return x == GEMEL__UNDECIDED || x == GEMEL__GAP || y == GEMEL__UNDECIDED || y == GEMEL__GAP
             ? GEMEL__SEEN_OPEN
             : GEMEL__SEEN_UNDEFINED;
}

/* Compares element I of OUTPUT in O: 1 agree, 0 differ, −1 nothing to compare. */
static int compare_exact(gemel__models *s, size_t output, size_t i) {
  gemel__domain *d = &s->o->domain;
  const void *a = gemel__rtensor_at(&s->results[output], i);
  const void *b = gemel__rtensor_at(&s->results[s->q->n_outputs + output], i);
  gemel__state x = d->state(d, a), y = d->state(d, b);
  if (x != GEMEL__DEFINED || y != GEMEL__DEFINED) {
    gemel__compared_note(&s->compared, output, i, seen_undefined(x, y));
    return compare_domains(s->q->compare_domain, x, y);
  }
  int infinite = gemel__ordered_infinity(d, a) != 0 && gemel__ordered_infinity(d, b) != 0;
  s->o_compared += !infinite;
  s->o_nonzero += !infinite && (d->sign(d, a) != 0 || d->sign(d, b) != 0);
  gemel__compared_note(&s->compared, output, i,
                       infinite ? GEMEL__SEEN_INFINITE : GEMEL__SEEN_NUMBER);
  return gemel__ordered_overlap(d, a, b) ? 1 : 0;
}

static void note_difference(gemel__models *s, gemel__domain *d, size_t output, size_t i) {
  const gemel__rtensor *left = &s->results[output];
  const gemel__rtensor *right = &s->results[s->q->n_outputs + output];
  s->answer->output = output;
  s->answer->element = i;
  d->format(d, gemel__rtensor_at(left, i), s->answer->got, sizeof s->answer->got);
  d->format(d, gemel__rtensor_at(right, i), s->answer->expected, sizeof s->answer->expected);
}

/* 1 if no result differs at this point. */
static int point_agrees(gemel__models *s) {
  for (size_t k = 0; k < s->q->n_outputs; k++) {
    const gemel__rtensor *left = &s->results[k], *right = &s->results[s->q->n_outputs + k];
    if (!same_shape(left, right)) {
      snprintf(s->answer->detail, sizeof s->answer->detail, "output %zu: shapes differ", k);
      return 0;
    }
    for (size_t i = 0; i < left->count; i++) {
      if (compare_exact(s, k, i) == 0) {
        note_difference(s, &s->o->domain, k, i);
        return 0;
      }
    }
  }
  return 1;
}

/* Compares all results in F: 1 equal, 0 some differ, −1 some have no residue in common. */
static int field_agrees(gemel__models *s) {
  int all = 1;
  for (size_t k = 0; k < s->q->n_outputs; k++) {
    const gemel__rtensor *left = &s->results[k], *right = &s->results[s->q->n_outputs + k];
    if (!same_shape(left, right)) {
      return 0;
    }
    for (size_t i = 0; i < left->count; i++) {
      const void *a = gemel__rtensor_at(left, i), *b = gemel__rtensor_at(right, i);
      int equal = s->f->equal(s->f, a, b);
      if (equal == 0) {
        note_difference(s, s->f, k, i);
        return 0;
      }
      all = equal < 0 ? -1 : all;
      if (equal == 1) {
        gemel__compared_note(&s->compared, k, i, GEMEL__SEEN_FIELD);
        double bound = gemel__field_error_bound(s->f, a, b);
        s->delta = bound > s->delta ? bound : s->delta;
      }
    }
  }
  return all;
}

/* ---- F ---- */

static gemel__field_leaf leaf_kind(gemel_range range) {
  switch (range) {
  case GEMEL_RANGE_POSITIVE:
  case GEMEL_RANGE_NONNEGATIVE:
    return GEMEL__LEAF_POSITIVE;
  case GEMEL_RANGE_ABOVE_MINUS_ONE:
    return GEMEL__LEAF_ABOVE_MINUS_ONE;
  default:
    return GEMEL__LEAF_ANY;
  }
}

/* Sets INPUTS for F: float leaves to random residues (with SIGNS, of the sign that the element has
 * in POINT), others to their value in POINT. */
static gemel_status field_inputs(gemel__models *s, gemel_tensor *const *point, int signs,
                                 gemel__rtensor *inputs, gemel_error *error) {
  const gemel__instance *in = s->q->leaves;
  for (size_t k = 0; k < in->n_leaves; k++) {
    const gemel__leaf *leaf = &in->leaves[k];
    gemel_view view = gemel_tensor_view(point[k]);
    if (!gemel__is_float(leaf->dtype) || leaf->range == GEMEL_RANGE_INDEX) {
      GEMEL__TRY(gemel__rtensor_from_view(&inputs[k], s->f, &view, error));
      continue;
    }
    GEMEL__TRY(gemel__rtensor_init(&inputs[k], s->f, view.dtype, view.rank, view.shape, error));
    for (size_t i = 0; i < leaf->count; i++) {
      gemel__field_leaf kind = leaf_kind(leaf->range);
      if (signs && kind == GEMEL__LEAF_ANY) {
        double x = gemel__decode(leaf->dtype, gemel__tensor_element(point[k], i));
        kind = x > 0 ? GEMEL__LEAF_POSITIVE : x < 0 ? GEMEL__LEAF_NEGATIVE : kind;
      }
      gemel__field_random(s->f, gemel__rtensor_at(&inputs[k], i), kind);
    }
  }
  return GEMEL_OK;
}

static void force_side(gemel__models *s, int side) {
  gemel__tape_rewind(&s->tapes[side]);
  gemel__field_force(s->f, &s->tapes[side]);
}

static gemel_status run_field(gemel__models *s, gemel_tensor *const *point, int forced,
                              gemel__rtensor *inputs, gemel_error *error) {
  GEMEL__TRY(gemel__field_trial(s->f, gemel__random_bits(&s->random), error));
  GEMEL__TRY(field_inputs(s, point, forced, inputs, error));
  return evaluate_sides(s, s->f, inputs, forced ? force_side : NULL, error);
}

/* One evaluation in F; FORCED: with the decisions on the tapes. *RESULT as field_agrees. The domain
 * keeps the report. */
static gemel_status field_trial(gemel__models *s, gemel_tensor *const *point, int forced,
                                int *result, gemel_error *error) {
  size_t n = s->q->leaves->n_leaves;
  gemel__rtensor *inputs = gemel__alloc_array(n, sizeof *inputs);
  if (inputs == NULL) {
    return gemel__no_memory(error, "a trial");
  }
  gemel_status status = run_field(s, point, forced, inputs, error);
  gemel__field_force(s->f, NULL);
  *result = status == GEMEL_OK ? field_agrees(s) : -1;
  gemel__rtensors_free(n, inputs);
  /* elements of one trial mean nothing in the next */
  gemel__rtensors_clear(2 * s->q->n_outputs, s->results);
  return status;
}

/* 1 if O left some decision at the point undecided, so that it can't be forced. */
static int undecided_point(const gemel__models *s) {
  for (size_t k = 0; k < 2; k++) {
    for (size_t i = 0; i < s->tapes[k].count; i++) {
      if (s->tapes[k].entries[i] == GEMEL__UNORDERED || s->tapes[k].entries[i] == INT64_MIN) {
        return 1;
      }
    }
  }
  return 0;
}

static uint64_t cell_hash(const gemel__models *s) {
  uint64_t hash = 1;
  for (size_t i = 0; i < s->tapes[0].count; i++) {
    hash = hash * 0x9e3779b97f4a7c15u + (uint64_t)s->tapes[0].entries[i];
    hash ^= hash >> 29;
  }
  return hash | 1;
}

static void count_cell(gemel__models *s) {
  uint64_t hash = cell_hash(s);
  size_t k, n = sizeof s->cells / sizeof *s->cells;
  for (k = 0; k < n; k++) {
    size_t at = (size_t)(hash + k) % n;
    if (s->cells[at] == hash) {
      return;
    }
    if (s->cells[at] == 0) {
      s->cells[at] = hash;
      s->answer->cells++;
      return;
    }
  }
}

static void note_keyed(gemel__models *s, const gemel__field_report *report) {
  s->keyed_name = s->keyed_name != NULL ? s->keyed_name : report->keyed_name;
}

/* One trial of σF, with up to REDRAWS draws while the result is open. *RESULT as field_agrees.
 * *BORDER: the point has a tie that random residues don't have, such as x == y for two inputs. It
 * lies on the border between cells, where F says nothing. (x == x ties in F too.) */
static gemel_status cell_trial(gemel__models *s, gemel_tensor *const *point, int *result,
                               int *border, gemel_error *error) {
  const gemel__field_report *report = gemel__field_get_report(s->f);
  *result = -1;
  *border = 0;
  for (int tries = 0; tries < REDRAWS && *result < 0 && !*border; tries++) {
    GEMEL__TRY(field_trial(s, point, 1, result, error));
    *border = report->ties > 0;
    /* no refutation where decisions contradict known facts (no such cell exists) or with a keyed
     * function */
    if (*border || (*result == 0 && (report->contradictions > 0 || report->keyed > 0))) {
      *result = -1;
    }
    note_keyed(s, report);
    s->cell_keyed += report->keyed > 0;
    s->gaps += *border || *result >= 0 ? 0 : report->gaps;
    s->exponentials |= report->exponentials > 0;
  }
  return GEMEL_OK;
}

/* Runs σF at the point that O has just evaluated. */
static gemel_status check_cell(gemel__models *s, gemel_tensor *const *point, gemel_error *error) {
  int k, result = -1, border = 0;
  if (undecided_point(s)) {
    return GEMEL_OK;
  }
  for (k = 0; k < CHAINS_A_CELL && !border; k++) {
    GEMEL__TRY(cell_trial(s, point, &result, &border, error));
    s->cell_accepted += result == 1;
    s->cell_rejected += result == 0;
    s->cell_open += result < 0 && !border;
  }
  if (result == 1) {
    count_cell(s);
  }
  return GEMEL_OK;
}

/* ---- The rounds ---- */

/* σF rejected at POINT. Evaluates O there with the highest precision, which may show two different
 * numbers. */
static gemel_status look_closer(gemel__models *s, gemel_tensor *const *point, gemel_error *error) {
  char got[sizeof s->answer->got], expected[sizeof s->answer->expected];
  size_t output = s->answer->output, element = s->answer->element;
  memcpy(got, s->answer->got, sizeof got);
  memcpy(expected, s->answer->expected, sizeof expected);
  gemel_status status = evaluate_point(s, point, GEMEL__ORDERED_MAX_PRECISION, error);
  if (status == GEMEL_OK && !point_agrees(s)) {
    gemel__say(s->answer, GEMEL_VERDICT_REFUTED, GEMEL_EVIDENCE_SAMPLES, "");
    return status;
  }
  memcpy(s->answer->got, got, sizeof got);
  memcpy(s->answer->expected, expected, sizeof expected);
  s->answer->output = output;
  s->answer->element = element;
  return status;
}

gemel_status gemel__models_judge(gemel__models *s, gemel_tensor **point, int *witness,
                                 gemel_error *error) {
  gemel_status status = evaluate_point(s, point, 128, error);
  *witness = 0;
  if (status != GEMEL_OK) {
    /* the point is outside both functions' domain, such as an index out of range */
    return gemel__is_no_point(status) ? GEMEL_OK : status;
  }
  s->answer->points++;
  int differs = !point_agrees(s);
  if (differs) {
    s->answer->verdict = GEMEL_VERDICT_REFUTED;
    s->answer->how = GEMEL_EVIDENCE_SAMPLES;
  } else if (s->f != NULL && !s->infinite) {
    gemel__rtensors_clear(2 * s->q->n_outputs, s->results);
    GEMEL__TRY(check_cell(s, point, error));
    if (s->cell_rejected > 0) {
      GEMEL__TRY(look_closer(s, point, error));
    }
  }
  if (differs || s->cell_rejected > 0) {
    *witness = 1;
    s->answer->witness = point;
    s->answer->n_witness = s->q->leaves->n_leaves;
  }
  return GEMEL_OK;
}

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
    status = evaluate_signs(s, point, turn % 2 != 0, error);
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
  for (tries = 0; tries < REDRAWS && result < 0 && status == GEMEL_OK; tries++) {
    status = field_trial(s, point, 0, &result, error);
    status = gemel__is_no_point(status) ? GEMEL_OK : status;
    note_keyed(s, report);
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
    status = field_trial(s, point, 0, &result, error);
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

static gemel_status decide(gemel__models *s, gemel_error *error) {
  gemel__answer *answer = s->answer;
  gemel_error mine = {GEMEL_OK, 0, 0, ""};
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
  answer->compared = s->o_compared;
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
