/* SPDX-License-Identifier: MIT
 *
 * Judges one point of a question of tier real. O evaluates both sides there, with more precision
 * while a decision is open; results that don't overlap are a counterexample. The decisions taken
 * there are then forced on F at fresh residues (σF): if results differ, the sides are different
 * formulas on that cell.
 */
#include "tiers/models.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include "core/alloc.h"
#include "core/dtype.h"
#include "core/error.h"

enum { CHAINS_A_CELL = 2 };

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

gemel_status gemel__models_signs(gemel__models *s, gemel_tensor *const *point, int whole,
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

int gemel__same_shape(const gemel__rtensor *a, const gemel__rtensor *b) {
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
  case GEMEL__IEEE_DECIDES:
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

/* The same for A and B, element I of OUTPUT, which aren't both defined, after its note. IEEE's
 * values decide where they may. */
static int compare_undefined(gemel__models *s, size_t output, size_t i, const void *a,
                             const void *b) {
  gemel__domain *d = &s->o->domain;
  gemel__state x = d->state(d, a), y = d->state(d, b);
  int same = gemel__poles_agree(&s->poles, output, i, d, a, b);
  int nan = same && s->poles.special->invalid == 0 &&
            (x == GEMEL__DEFINED || (s->q->special & 1)) &&
            (y == GEMEL__DEFINED || (s->q->special & 2));
  int agree = compare_domains(s->q->compare_domain, x, y);
  gemel__compared_note(&s->compared, output, i, nan ? GEMEL__SEEN_NAN : seen_undefined(x, y));
  s->o_special += (size_t)nan;
  if (agree == 0 && same) {
    s->answer->poles++;
    return -1;
  }
  return agree;
}

/* Compares element I of OUTPUT in O: 1 agree, 0 differ, −1 nothing to compare. */
static int compare_exact(gemel__models *s, size_t output, size_t i) {
  gemel__domain *d = &s->o->domain;
  const void *a = gemel__rtensor_at(&s->results[output], i);
  const void *b = gemel__rtensor_at(&s->results[s->q->n_outputs + output], i);
  gemel__state x = d->state(d, a), y = d->state(d, b);
  if (x != GEMEL__DEFINED || y != GEMEL__DEFINED) {
    return compare_undefined(s, output, i, a, b);
  }
  int infinite = gemel__ordered_infinity(d, a) != 0 && gemel__ordered_infinity(d, b) != 0;
  s->o_compared += !infinite;
  s->o_special += infinite && s->q->special == 3;
  s->o_nonzero += !infinite && (d->sign(d, a) != 0 || d->sign(d, b) != 0);
  gemel__compared_note(&s->compared, output, i,
                       infinite ? GEMEL__SEEN_INFINITE : GEMEL__SEEN_NUMBER);
  return gemel__ordered_overlap(d, a, b) ? 1 : 0;
}

static gemel_status look_at_poles(gemel__models *s, gemel_tensor *const *point,
                                  gemel_error *error) {
  return gemel__poles_look(&s->poles, s->q, &s->o->domain, s->results, point, error);
}

static void note_difference(gemel__models *s, gemel__domain *d, size_t output, size_t i) {
  const gemel__rtensor *left = &s->results[output];
  const gemel__rtensor *right = &s->results[s->q->n_outputs + output];
  s->answer->output = output;
  s->answer->element = i;
  gemel__format_both(d, gemel__rtensor_at(left, i), gemel__rtensor_at(right, i), s->answer->got,
                     s->answer->expected, sizeof s->answer->got);
}

/* 1 if no result differs at this point. */
static int point_agrees(gemel__models *s) {
  for (size_t k = 0; k < s->q->n_outputs; k++) {
    const gemel__rtensor *left = &s->results[k], *right = &s->results[s->q->n_outputs + k];
    if (!gemel__same_shape(left, right)) {
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
    if (!gemel__same_shape(left, right)) {
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

gemel_status gemel__models_trial(gemel__models *s, gemel_tensor *const *point, int forced,
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

/* One trial of σF, with up to GEMEL__MODELS_REDRAWS draws while the result is open. *RESULT as
 * field_agrees. *BORDER: the point has a tie that random residues don't have, such as x == y for
 * two inputs. It lies on the border between cells, where F says nothing. (x == x ties in F too.) */
static gemel_status cell_trial(gemel__models *s, gemel_tensor *const *point, int *result,
                               int *border, gemel_error *error) {
  const gemel__field_report *report = gemel__field_get_report(s->f);
  *result = -1;
  *border = 0;
  for (int tries = 0; tries < GEMEL__MODELS_REDRAWS && *result < 0 && !*border; tries++) {
    GEMEL__TRY(gemel__models_trial(s, point, 1, result, error));
    *border = report->ties > 0;
    /* no refutation where decisions contradict known facts (no such cell exists) or with a keyed
     * function */
    if (*border || (*result == 0 && (report->contradictions > 0 || report->keyed > 0))) {
      *result = -1;
    }
    gemel__models_note_keyed(s, report);
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

/* ---- Judging ---- */

/* σF rejected at POINT. Evaluates O there with the highest precision, which may show two different
 * numbers. */
static gemel_status look_closer(gemel__models *s, gemel_tensor *const *point, gemel_error *error) {
  char got[sizeof s->answer->got], expected[sizeof s->answer->expected];
  size_t output = s->answer->output, element = s->answer->element;
  memcpy(got, s->answer->got, sizeof got);
  memcpy(expected, s->answer->expected, sizeof expected);
  gemel_status status = evaluate_point(s, point, GEMEL__ORDERED_MAX_PRECISION, error);
  status = status ? status : look_at_poles(s, point, error);
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
  GEMEL__TRY(look_at_poles(s, point, error));
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
