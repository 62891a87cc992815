/* SPDX-License-Identifier: MIT
 *
 * Evaluates both sides once in the domain of formulas. "Can they differ?" is asked of each pair of
 * results. If one stays open, "can it go another way?" is asked of each decision that went one way.
 * Z3's example is a point of rationals and isn't trusted: domain O evaluates there. First the point
 * is rounded to the leaves' dtypes. If O sees nothing there, Z3 is asked for an example that needs
 * no rounding. A difference is also checked at the rational point itself.
 */
#include "tiers/solver.h"

#include <math.h>
#include <mpfr.h>
#include <stdio.h>
#include <string.h>
#include "instances/assumed.h"
#include "core/alloc.h"
#include "core/dtype.h"
#include "core/error.h"
#include "domains/symbolic.h"
#include "tiers/solver-check.h"

enum {
  MOST_TERMS = 20000,
  MOST_ELEMENTS = 2000, /* of all leaves together */
  MOST_OPEN = 2,        /* after so many results without an answer no more are asked about */
  MOST_SITES = 12,
  MOST_WORK = 3 * GEMEL__SOLVER_WORK /* in all, for questions without an answer */
};

struct study {
  gemel__models *s;
  gemel__symbolic *symbolic;
  gemel__rtensor *results; /* left's, then right's */
  gemel__formula demands;  /* that the leaves are in their ranges */
  fmpq *leaves;            /* Z3's example: the elements of all leaves in order */
  size_t n_leaves;
  unsigned work; /* that is left for questions without an answer */
  /* The last question, its answer, and the work that it was allowed: */
  gemel__formula_shape last;
  gemel__smt_answer last_answer;
  unsigned last_work;
  /* The last example of a difference, and the results there: */
  char point[150], got[160], expected[160];
  gemel_error *error;
};

/* ---- Formulas ---- */

static gemel_status make_leaves(struct study *y, gemel__rtensor *inputs) {
  const gemel__instance *in = y->s->q->leaves;
  for (size_t k = 0; k < in->n_leaves; k++) {
    const gemel__leaf *leaf = &in->leaves[k];
    gemel_status status = gemel__rtensor_init(&inputs[k], &y->symbolic->domain, leaf->dtype,
                                              leaf->rank, leaf->shape, y->error);
    if (status != GEMEL_OK) {
      return status;
    }
    for (size_t i = 0; i < leaf->count; i++) {
      gemel__symbolic_leaf(y->symbolic, gemel__rtensor_at(&inputs[k], i), leaf->dtype, leaf->range,
                           &y->demands);
    }
  }
  return GEMEL_OK;
}

/* Makes the formulas of both sides' results. *DONE is 0 (no error) if a reference can't run on
 * formulas. */
static gemel_status evaluate(struct study *y, int *done) {
  const gemel__model_side *sides[2] = {y->s->q->left, y->s->q->right};
  size_t n = y->s->q->leaves->n_leaves;
  gemel__rtensor *inputs = gemel__alloc_array(n, sizeof *inputs);
  gemel_error problem = {GEMEL_OK, 0, 0, ""};
  gemel_status status = inputs != NULL ? make_leaves(y, inputs) : GEMEL_NO_MEMORY;
  for (int k = 0; k < 2 && status == GEMEL_OK; k++) {
    y->symbolic->side = k;
    status = sides[k]->evaluate(sides[k], &y->symbolic->domain, inputs,
                                y->results + (size_t)k * y->s->q->n_outputs, &problem);
  }
  gemel__rtensors_clear(inputs != NULL ? n : 0, inputs);
  gemel__free(inputs, n * sizeof *inputs);
  *done = status == GEMEL_OK && !y->symbolic->failed && y->symbolic->open == 0 &&
          !y->symbolic->terms->full;
  return status == GEMEL_NO_MEMORY ? gemel__no_memory(y->error, "formulas") : GEMEL_OK;
}

static int can_be_asked(const gemel__instance *in) {
  size_t k, elements = 0;
  for (k = 0; k < in->n_leaves; k++) {
    elements += in->leaves[k].count;
    if (in->leaves[k].range == GEMEL_RANGE_INDEX) {
      return 0;
    }
  }
  return elements <= MOST_ELEMENTS;
}

/* Sets *VALUES to the formula "the two results are two numbers", and *DIFFER to "they differ", by
 * the question's compare_domain. 0 if one of them has no formula. */
static int difference(const struct study *y, const void *left, const void *right,
                      gemel__formula *values, gemel__formula *differ) {
  gemel__formulas *t = y->symbolic->terms;
  gemel__formula a, b, in_a, in_b, both, off, outside;
  if (!gemel__symbolic_terms(left, &a, &in_a) || !gemel__symbolic_terms(right, &b, &in_b)) {
    return 0;
  }
  both = gemel__formula_and(t, in_a, in_b);
  off = gemel__formula_add(t, a, gemel__formula_neg(t, b));
  *values = gemel__formula_and(t, both, gemel__formula_sign(t, GEMEL__IF_NONZERO, off));
  *differ = *values;
  if (y->s->q->compare_domain != GEMEL__DOMAINS_FREE) {
    outside = gemel__formula_and(t, in_b, gemel__formula_not(t, in_a));
    *differ = gemel__formula_or(t, *differ, outside);
  }
  if (y->s->q->compare_domain == GEMEL__SAME_DOMAIN ||
      y->s->q->compare_domain == GEMEL__IEEE_DECIDES) {
    outside = gemel__formula_and(t, in_a, gemel__formula_not(t, in_b));
    *differ = gemel__formula_or(t, *differ, outside);
  }
  return 1;
}

/* ---- Examples ---- */

static double nearest_double(const fmpq_t x) {
  mpfr_t rounded;
  mpfr_init2(rounded, 53);
  fmpq_get_mpfr(rounded, x, MPFR_RNDN);
  double result = mpfr_get_d(rounded, MPFR_RNDN);
  mpfr_clear(rounded);
  return result;
}

static gemel_tensor *example_tensor(const gemel__leaf *leaf, const fmpq *values,
                                    gemel_error *error) {
  gemel_tensor *tensor = gemel_tensor_new(leaf->dtype, leaf->rank, leaf->shape, error);
  for (size_t i = 0; i < leaf->count && tensor != NULL; i++) {
    const fmpz *whole = fmpq_numref(&values[i]);
    long double x = gemel__is_float(leaf->dtype) ? nearest_double(&values[i])
                    : leaf->dtype == GEMEL_U64   ? (long double)fmpz_get_ui(whole)
                                                 : (long double)fmpz_get_si(whole);
    gemel__leaf_put(leaf, gemel__leaf_at(leaf, tensor, i), x);
  }
  return tensor;
}

/* *POINT = the example, rounded to the leaves' dtypes. Free it with gemel__values_free, whatever
 * the status. */
static gemel_status rounded_example(struct study *y, gemel_tensor ***point) {
  const gemel__instance *in = y->s->q->leaves;
  size_t k, at = 0;
  *point = gemel__alloc_array(in->n_leaves, sizeof **point);
  if (*point == NULL) {
    return gemel__no_memory(y->error, "a point");
  }
  for (k = 0; k < in->n_leaves; k++) {
    (*point)[k] = example_tensor(&in->leaves[k], y->leaves + at, y->error);
    at += in->leaves[k].count;
    if ((*point)[k] == NULL) {
      return GEMEL_NO_MEMORY;
    }
  }
  return GEMEL_OK;
}

/* Judges the example, rounded to the leaves' dtypes. *WITNESS: the sides differ there, and the
 * answer owns the point. */
static gemel_status try_example(struct study *y, int *witness) {
  gemel_tensor **point;
  gemel_status status = rounded_example(y, &point);
  *witness = 0;
  if (status == GEMEL_OK) {
    status = gemel__models_judge(y->s, point, witness, y->error);
  }
  if (!*witness) {
    gemel__values_free(y->s->q->leaves, point);
  }
  return status;
}

/* *SAME: at the example, rounded to the leaves' dtypes, IEEE's arithmetic gives element I of output
 * K of both sides a NaN, the same infinity or a number. */
static gemel_status try_class(struct study *y, size_t k, size_t i, int *same) {
  gemel_tensor **point;
  gemel__models *s = y->s;
  gemel_status status = rounded_example(y, &point);
  status = status ? status : gemel__poles_evaluate(&s->poles, s->q, 1, point, y->error);
  *same = status == GEMEL_OK && gemel__poles_same_class(&s->poles, k, i);
  gemel__values_free(s->q->leaves, point);
  return status;
}

/* The formula "X is a multiple of u", with u the unit in the last place of VALUE in DTYPE. X is an
 * element of a float leaf and VALUE its number in the example. */
static gemel__formula on_grid(struct study *y, gemel__formula x, gemel_dtype dtype,
                              const fmpq_t value) {
  gemel__formulas *t = y->symbolic->terms;
  int exponent, digits = gemel__dtype_format(dtype)->digits;
  gemel__formula scaled;
  fmpq_t scale;
  frexp(nearest_double(value), &exponent);
  fmpq_init(scale);
  fmpq_one(scale);
  if (digits > exponent) {
    fmpq_mul_2exp(scale, scale, (flint_bitcnt_t)(digits - exponent));
  } else {
    fmpq_div_2exp(scale, scale, (flint_bitcnt_t)(exponent - digits));
  }
  scaled = gemel__formula_mul(t, gemel__formula_number(t, scale), x);
  fmpq_clear(scale);
  return gemel__formula_sign(
      t, GEMEL__IF_ZERO,
      gemel__formula_add(t, scaled, gemel__formula_neg(t, gemel__formula_floor(t, scaled))));
}

/* The leaf of element AT, counted over all leaves. */
static const gemel__leaf *leaf_of(const gemel__instance *in, size_t at) {
  size_t leaf = 0;
  for (; at >= in->leaves[leaf].count; leaf++) {
    at -= in->leaves[leaf].count;
  }
  return &in->leaves[leaf];
}

/* TERM, and for each float element: it is a multiple of its ulp in the example, so rounding won't
 * change it. */
static gemel__formula representable(struct study *y, gemel__formula term) {
  const gemel__instance *in = y->s->q->leaves;
  gemel__formulas *t = y->symbolic->terms;
  gemel__formula k, count = (gemel__formula)t->count;
  for (k = 0; k < count; k++) {
    if (t->nodes[k].kind == GEMEL__FORMULA_LEAF && !t->nodes[k].whole) {
      size_t at = t->nodes[k].a;
      term = gemel__formula_and(t, term, on_grid(y, k, leaf_of(in, at)->dtype, &y->leaves[at]));
    }
  }
  return term;
}

/* ---- Exactly as it is ---- */

/* E = X, built from pieces that fit an int64_t; PIECE is scratch. */
static void set_integer(gemel__domain *d, void *e, void *piece, const fmpz_t x) {
  enum { BITS = 60 };
  slong k = (slong)(fmpz_bits(x) / BITS) + 1;
  fmpz_t size, part;
  fmpz_init(size);
  fmpz_init(part);
  fmpz_abs(size, x);
  d->from_integer(d, e, 0);
  while (k-- > 0) {
    fmpz_fdiv_q_2exp(part, size, (ulong)k * BITS);
    fmpz_fdiv_r_2exp(part, part, BITS);
    d->from_integer(d, piece, (int64_t)1 << BITS);
    d->mul(d, e, e, piece);
    d->from_integer(d, piece, fmpz_get_si(part));
    d->add(d, e, e, piece);
  }
  if (fmpz_sgn(x) < 0) {
    d->neg(d, e, e);
  }
  fmpz_clear(size);
  fmpz_clear(part);
}

/* The example as elements of domain O, without rounding. */
static gemel_status exact_inputs(const struct study *y, gemel__domain *d, gemel__rtensor *inputs) {
  const gemel__instance *in = y->s->q->leaves;
  void *room = gemel__elements_new(d, 2);
  gemel_status status = room != NULL ? GEMEL_OK : gemel__no_memory(y->error, "a point");
  size_t k, i, at = 0;
  for (k = 0; k < in->n_leaves && status == GEMEL_OK; k++) {
    const gemel__leaf *leaf = &in->leaves[k];
    status = gemel__rtensor_init(&inputs[k], d, leaf->dtype, leaf->rank, leaf->shape, y->error);
    for (i = 0; status == GEMEL_OK && i < leaf->count; i++, at++) {
      void *e = gemel__rtensor_at(&inputs[k], i), *low = gemel__element(d, room, 0);
      set_integer(d, e, gemel__element(d, room, 1), fmpq_numref(&y->leaves[at]));
      set_integer(d, low, gemel__element(d, room, 1), fmpq_denref(&y->leaves[at]));
      d->div(d, e, e, low);
    }
  }
  gemel__elements_free(d, room, 2);
  return status;
}

/* Sets y->point to the first few numbers of the example: "x[0] = 1/3, …". */
static void say_example(struct study *y) {
  const gemel__instance *in = y->s->q->leaves;
  size_t k, i, at = 0, used = 0;
  y->point[0] = '\0';
  for (k = 0; k < in->n_leaves; k++) {
    for (i = 0; i < in->leaves[k].count && used < sizeof y->point; i++, at++) {
      char number[64] = "...";
      if (fmpz_bits(fmpq_numref(&y->leaves[at])) + fmpz_bits(fmpq_denref(&y->leaves[at])) < 180) {
        fmpq_get_str(number, 10, &y->leaves[at]);
      }
      used += (size_t)snprintf(y->point + used, sizeof y->point - used, "%s%s[%zu] = %s",
                               at > 0 ? ", " : "", gemel_graph_input_name(in->graph, k), i, number);
    }
  }
}

/* 1 if A and B differ in O, by the question's compare_domain. */
static int differ(gemel__domains how, gemel__domain *d, const void *a, const void *b) {
  gemel__state x = d->state(d, a), y = d->state(d, b);
  int known = (x == GEMEL__DEFINED || x == GEMEL__UNDEFINED) &&
              (y == GEMEL__DEFINED || y == GEMEL__UNDEFINED);
  if (x == GEMEL__DEFINED && y == GEMEL__DEFINED) {
    return !gemel__ordered_overlap(d, a, b);
  }
  return known && x != y &&
         (how == GEMEL__SAME_DOMAIN || how == GEMEL__IEEE_DECIDES ||
          (how == GEMEL__LEFT_DEFINED && y == GEMEL__DEFINED));
}

/* *DIFFERS: element I of output K differs in O at the example without rounding; *ALONE: as only one
 * side has a value there. */
static gemel_status try_exactly(struct study *y, size_t k, size_t i, int *differs, int *alone) {
  const gemel__question *q = y->s->q;
  const gemel__model_side *sides[2] = {q->left, q->right};
  size_t n = q->leaves->n_leaves, m = q->n_outputs, side;
  gemel__ordered *o = gemel__ordered_new(GEMEL__ORDERED_MAX_PRECISION);
  gemel__rtensor *room = gemel__alloc_array(n + 2 * m, sizeof *room);
  gemel_status status = o != NULL && room != NULL ? exact_inputs(y, &o->domain, room)
                                                  : gemel__no_memory(y->error, "a point");
  for (side = 0; side < 2 && status == GEMEL_OK; side++) {
    status = sides[side]->evaluate(sides[side], &o->domain, room, room + n + side * m, y->error);
  }
  if (status == GEMEL_OK) {
    const void *a = gemel__rtensor_at(&room[n + k], i), *b = gemel__rtensor_at(&room[n + m + k], i);
    *differs = differ(q->compare_domain, &o->domain, a, b);
    *alone = o->domain.state(&o->domain, a) != o->domain.state(&o->domain, b);
    gemel__format_both(&o->domain, a, b, y->got, y->expected, sizeof y->got);
    say_example(y);
  }
  gemel__rtensors_clear(room != NULL ? n + 2 * m : 0, room);
  gemel__free(room, (n + 2 * m) * sizeof *room);
  gemel__ordered_free(o);
  return status == GEMEL_NO_MEMORY ? status : GEMEL_OK;
}

static void refute_exactly(struct study *y, size_t k, size_t i) {
  gemel__answer *a = y->s->answer;
  gemel__say(a, GEMEL_VERDICT_REFUTED, GEMEL_EVIDENCE_SOLVER, "");
  snprintf(a->detail, sizeof a->detail, "where no number of the dtype is: %s", y->point);
  memcpy(a->got, y->got, sizeof a->got);
  memcpy(a->expected, y->expected, sizeof a->expected);
  a->output = k;
  a->element = i;
}

/* ---- Questions ---- */

/* 1 if the last question has the same shape and its answer holds here: proved, or unknown with at
 * least this much work. Elements of one result often differ in their leaves only. */
static int is_known(const struct study *y, const gemel__formula_shape *shape, unsigned work) {
  return gemel__formula_alike(shape, &y->last) &&
         (y->last_answer == GEMEL__SMT_NEVER ||
          (y->last_answer == GEMEL__SMT_UNKNOWN && work <= y->last_work));
}

static gemel__smt_answer check_once(struct study *y, gemel__formula term) {
  unsigned work = y->work < GEMEL__SOLVER_WORK ? y->work : GEMEL__SOLVER_WORK;
  gemel__smt_answer answer = GEMEL__SMT_UNKNOWN;
  gemel__formula_shape shape;
  term = gemel__formula_and(y->symbolic->terms, term, y->demands);
  gemel__formula_shape_of(y->symbolic->terms, term, &shape);
  if (is_known(y, &shape, work)) {
    answer = y->last_answer;
    gemel__formula_shape_free(&shape);
  } else if (work > 0 && gemel__tick(y->s->q->ticker) == GEMEL_OK) {
    y->s->solver_questions++;
    answer = gemel__solver_check(y->symbolic->terms, term, work, y->leaves, y->s->q->memory);
    gemel__formula_shape_free(&y->last);
    y->last = shape;
    y->last_answer = answer;
    y->last_work = work;
  } else {
    gemel__formula_shape_free(&shape);
  }
  if (answer == GEMEL__SMT_UNKNOWN) {
    y->work -= work;
  }
  return answer;
}

/* The formula "X isn't beyond the largest numbers of DTYPE". */
static gemel__formula within_dtype(gemel__formulas *t, gemel__formula x, gemel_dtype dtype) {
  gemel__formula limit, low, high;
  fmpq_t largest;
  fmpq_init(largest);
  fmpz_set_d(fmpq_numref(largest), gemel__largest(dtype));
  limit = gemel__formula_number(t, largest);
  fmpq_clear(largest);
  low =
      gemel__formula_sign(t, GEMEL__IF_POSITIVE | GEMEL__IF_ZERO, gemel__formula_add(t, x, limit));
  high = gemel__formula_add(t, x, gemel__formula_neg(t, limit));
  return gemel__formula_and(t, low,
                            gemel__formula_sign(t, GEMEL__IF_NEGATIVE | GEMEL__IF_ZERO, high));
}

/* 1 if X is beyond the largest numbers of DTYPE. A double can't tell that: X may be the largest
 * number of f32 and a half, which a double rounds to that number. */
static int is_beyond(const fmpq_t x, gemel_dtype dtype) {
  fmpq_t largest, size;
  fmpq_init(largest);
  fmpq_init(size);
  fmpz_set_d(fmpq_numref(largest), gemel__largest(dtype));
  fmpq_abs(size, x);
  int beyond = fmpq_cmp(size, largest) > 0;
  fmpq_clear(largest);
  fmpq_clear(size);
  return beyond;
}

/* TERM, and if a float element is beyond its dtype in the example: none is. */
static gemel__formula all_within_dtypes(struct study *y, gemel__formula term) {
  gemel__formulas *t = y->symbolic->terms;
  gemel__formula k, count = (gemel__formula)t->count, within = term;
  int beyond = 0;
  for (k = 0; k < count; k++) {
    if (t->nodes[k].kind == GEMEL__FORMULA_LEAF && !t->nodes[k].whole) {
      size_t at = t->nodes[k].a;
      gemel_dtype dtype = leaf_of(y->s->q->leaves, at)->dtype;
      beyond |= is_beyond(&y->leaves[at], dtype);
      within = gemel__formula_and(t, within, within_dtype(t, k, dtype));
    }
  }
  return beyond ? within : term;
}

/* An example may have numbers between those of a dtype, but none beyond. As most have none anyway,
 * that is demanded only after one has. */
static gemel__smt_answer check(struct study *y, gemel__formula term) {
  gemel__smt_answer answer = check_once(y, term);
  gemel__formula within = answer == GEMEL__SMT_POSSIBLE ? all_within_dtypes(y, term) : term;
  return within != term ? check_once(y, within) : answer;
}

/* Judges Z3's example of TERM, which says that element I of output K differs. POLE (NULL: there is
 * none): set to 1 if numbers of the leaves' dtypes are an example and O, with IEEE's values, sees
 * no difference there; or if only one side has a value at the example, and IEEE's arithmetic
 * doesn't tell the sides apart at the nearest numbers. */
static gemel_status try_difference(struct study *y, size_t k, size_t i, gemel__formula term,
                                   int *pole) {
  int witness = 0, differs = 0, alone = 0, excused = 0, near = 0;
  gemel_status status = try_exactly(y, k, i, &differs, &alone);
  if (status == GEMEL_OK && pole != NULL && differs && alone) {
    status = try_class(y, k, i, &near);
  }
  if (status == GEMEL_OK) {
    status = try_example(y, &witness);
  }
  if (status == GEMEL_OK && !witness && check(y, representable(y, term)) == GEMEL__SMT_POSSIBLE) {
    status = try_example(y, &witness);
    excused = !witness && pole != NULL;
  }
  excused |= near;
  if (status == GEMEL_OK && !witness && differs && !excused) {
    refute_exactly(y, k, i);
  }
  if (pole != NULL) {
    *pole = excused;
  }
  return status;
}

/* Asks whether element I of output K can differ. Adds 1 to *OPEN unless that is proved impossible.
 * At a pole that IEEE's values excuse, Z3 is asked again for two numbers. */
static gemel_status ask_result(struct study *y, size_t k, size_t i, size_t *open) {
  const gemel__rtensor *left = &y->results[k], *right = &y->results[y->s->q->n_outputs + k];
  gemel__formula differ, values;
  gemel__smt_answer answer = GEMEL__SMT_UNKNOWN;
  gemel_status status = GEMEL_OK;
  int pole = 0, ieee = y->s->q->compare_domain == GEMEL__IEEE_DECIDES;
  if (difference(y, gemel__rtensor_at(left, i), gemel__rtensor_at(right, i), &values, &differ)) {
    answer = check(y, differ);
  }
  *open += answer != GEMEL__SMT_NEVER;
  if (answer == GEMEL__SMT_POSSIBLE) {
    status = try_difference(y, k, i, differ, ieee && values != differ ? &pole : NULL);
  }
  if (status == GEMEL_OK && pole && check(y, values) == GEMEL__SMT_POSSIBLE) {
    status = try_difference(y, k, i, values, NULL);
  }
  return status;
}

static int refuted(const struct study *y) {
  return y->s->answer->verdict == GEMEL_VERDICT_REFUTED || y->s->answer->witness != NULL;
}

/* Asks about each result until one differs or MOST_OPEN stay open. */
static gemel_status ask_results(struct study *y) {
  size_t k, i, open = 0, n = y->s->q->n_outputs;
  gemel_status status = GEMEL_OK;
  for (k = 0; k < n; k++) {
    const gemel__rtensor *left = &y->results[k], *right = &y->results[n + k];
    if (left->count != right->count) {
      return GEMEL_OK;
    }
    for (i = 0; i < left->count && status == GEMEL_OK && open < MOST_OPEN && !refuted(y); i++) {
      status = ask_result(y, k, i, &open);
    }
  }
  y->s->solver_proved = status == GEMEL_OK && open == 0 && !refuted(y);
  return status;
}

/* ---- Sites ---- */

static int one_way(const gemel__site *site) {
  gemel__sites one;
  memset(&one, 0, sizeof one);
  one.sites = (gemel__site *)site;
  one.count = 1;
  return gemel__sites_one_way(&one) != NULL;
}

/* The signs that a site hasn't seen yet and should. At truth values and floors: all but the first
 * decision's sign. */
static unsigned news(const gemel__site *site) {
  unsigned first = site->first < 0   ? GEMEL__IF_NEGATIVE
                   : site->first > 0 ? GEMEL__IF_POSITIVE
                                     : GEMEL__IF_ZERO;
  if (site->boolean || site->truth || site->floors) {
    return GEMEL__IF_ANY & ~first;
  }
  return GEMEL__IF_NONZERO & ~site->seen;
}

/* The formula "some decision at SITE has one of SIGNS (or, for a floor, another value than the
 * first)". */
static gemel__formula site_term(struct study *y, const gemel__site *site, unsigned signs) {
  gemel__formulas *t = y->symbolic->terms;
  gemel__formula any = GEMEL__FORMULA_FALSE;
  size_t k, n = y->symbolic->n_decisions;
  for (k = 0; k < n; k++) {
    const gemel__symbolic_decision *d = &y->symbolic->decisions[k];
    gemel__formula holds;
    if (d->graph != site->graph || d->node != site->node || d->side != site->side) {
      continue;
    }
    if (d->floor) {
      fmpq_t first;
      fmpq_init(first);
      fmpz_set_si(fmpq_numref(first), (slong)site->first);
      holds = gemel__formula_neg(t, gemel__formula_number(t, first));
      holds = gemel__formula_add(t, gemel__formula_floor(t, d->term), holds);
      holds = gemel__formula_sign(t, GEMEL__IF_NONZERO, holds);
      fmpq_clear(first);
    } else {
      holds = gemel__formula_sign(t, signs, d->term);
    }
    any = gemel__formula_or(t, any, gemel__formula_and(t, holds, d->defined));
  }
  return any;
}

/* Removes ways that are proved impossible. */
static void close_site(gemel__site *site, unsigned signs) {
  site->possible &= ~signs;
  site->floors = 0;
}

/* Asks for a point at which site K goes another way, or the proof that there is none. */
static gemel_status ask_site(struct study *y, size_t k) {
  gemel__sites *sites = &y->s->answer->sites;
  unsigned signs = news(&sites->sites[k]);
  gemel__formula term = site_term(y, &sites->sites[k], signs);
  gemel__smt_answer answer = check(y, term);
  gemel_status status = GEMEL_OK;
  int witness = 0;
  if (answer == GEMEL__SMT_NEVER) {
    close_site(&sites->sites[k], signs);
  } else if (answer == GEMEL__SMT_POSSIBLE) {
    status = try_example(y, &witness);
    if (status == GEMEL_OK && !witness && one_way(&sites->sites[k]) &&
        check(y, representable(y, term)) == GEMEL__SMT_POSSIBLE) {
      status = try_example(y, &witness);
    }
  }
  return status;
}

static gemel_status ask_sites(struct study *y) {
  gemel_status status = GEMEL_OK;
  size_t k, asked = 0;
  for (k = 0; k < y->s->answer->sites.count && status == GEMEL_OK && asked < MOST_SITES; k++) {
    if (one_way(&y->s->answer->sites.sites[k]) && !refuted(y)) {
      asked++;
      status = ask_site(y, k);
    }
  }
  return status;
}

/* A proof covers all branches, so no site is open any more. */
static void close_sites(gemel__sites *sites) {
  for (size_t k = 0; k < sites->count; k++) {
    close_site(&sites->sites[k], ~sites->sites[k].seen);
  }
}

/* ---- All of it ---- */

static gemel_status study(struct study *y) {
  int done = 0;
  gemel_status status = evaluate(y, &done);
  if (status == GEMEL_OK && done) {
    y->n_leaves = y->symbolic->terms->n_leaves;
    y->leaves = gemel__alloc_array(y->n_leaves, sizeof *y->leaves);
    if (y->leaves == NULL) {
      return gemel__no_memory(y->error, "an example");
    }
    for (size_t k = 0; k < y->n_leaves; k++) {
      fmpq_init(&y->leaves[k]);
    }
    status = ask_results(y);
    if (status == GEMEL_OK && y->s->solver_proved) {
      close_sites(&y->s->answer->sites);
    } else if (status == GEMEL_OK && !refuted(y)) {
      status = ask_sites(y);
    }
  }
  return status;
}

gemel_status gemel__solver_ask(gemel__models *s, gemel_error *error) {
  size_t k, n = 2 * s->q->n_outputs;
  struct study y = {.s = s, .demands = GEMEL__FORMULA_TRUE, .work = MOST_WORK, .error = error};
  if (!can_be_asked(s->q->leaves)) {
    return GEMEL_OK;
  }
  y.symbolic = gemel__symbolic_new(MOST_TERMS);
  y.results = gemel__alloc_array(n, sizeof *y.results);
  gemel_status status =
      y.symbolic != NULL && y.results != NULL ? study(&y) : gemel__no_memory(error, "formulas");
  for (k = 0; k < y.n_leaves && y.leaves != NULL; k++) {
    fmpq_clear(&y.leaves[k]);
  }
  gemel__free(y.leaves, y.n_leaves * sizeof *y.leaves);
  gemel__rtensors_clear(y.results != NULL ? n : 0, y.results);
  gemel__free(y.results, n * sizeof *y.results);
  gemel__formula_shape_free(&y.last);
  gemel__symbolic_free(y.symbolic);
  return status;
}
