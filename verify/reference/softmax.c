/* SPDX-License-Identifier: MIT
 *
 * References of softmax and of cross-entropy with logits. A line is the elements along the axis.
 *
 * Over the reals (domains F and O, and dual numbers over them) the definitions are evaluated:
 * softmax is exp(x) / Σ exp(x), and the loss is Σ t · (log Σ exp(x) − x). Nothing is compared, so
 * no decision depends on the logits.
 *
 * In domains B and S, which model rounding and infinities, it matters how implementations compute.
 * With m the largest of the line:
 *
 *   d = x − m,  e = exp(d),  s = Σ e;   softmax = e / s,   log softmax = d − log s.
 *
 * The roundings are one for each −, two units for exp and for log (as in their rows), the sum in
 * any order, and 1.5 units for the quotient, so that a product with 1/s is within the bound too. If
 * rounding errors leave m undecided, B covers all candidates. In S the same formulas settle the
 * infinities. A line with +Inf or NaN, or of only −Inf, is NaN throughout. −Inf beside a finite
 * number has softmax 0. In the loss 0 · log 0 = 0 · −Inf is NaN.
 *
 * Half types are computed in f32 and rounded once at the end.
 */
#include "core/dtype.h"
#include "reference/common.h"
#include "reference/twin.h"

/* ULPs of exp and log, as in lib/ops/scalar.def, and of a quotient, which may be computed by a
 * reciprocal. */
#define EXP_ULPS 2
#define LOG_ULPS 2
#define QUOTIENT_ULPS 1.5

/* A line that is being computed. */
typedef struct softmax_line {
  gemel__domain *domain;
  gemel__decider w;
  gemel_dtype dtype;    /* of the logits */
  gemel_dtype computed; /* f32 for half types */
  int shifted;          /* 1: the largest logit is subtracted */
  size_t size;
  void *block;           /* 2 * SIZE + 3 elements: */
  void *shifts, *powers; /* d and e */
  void *largest, *total, *term;
  const void **pointers; /* SIZE of them */
} softmax_line;

static gemel_status line_init(softmax_line *l, gemel__rcall *call, size_t size) {
  gemel__domain *d = call->domain;
  l->domain = d;
  l->dtype = call->inputs[0]->dtype;
  l->computed = gemel__compute_dtype(l->dtype);
  l->shifted = d->ieee || d->hull != NULL;
  l->size = size;
  GEMEL__TRY(gemel__decider_init(&l->w, d, call->error));
  l->block = gemel__elements_new(d, 2 * size + 3);
  l->pointers = gemel__alloc_array(size, sizeof *l->pointers);
  if (!l->block || !l->pointers) {
    gemel__elements_free(d, l->block, 2 * size + 3);
    gemel__free(l->pointers, size * sizeof *l->pointers);
    gemel__decider_clear(&l->w);
    return gemel__no_memory(call->error, "a line of logits");
  }
  l->largest = l->block;
  l->total = gemel__element(d, l->block, 1);
  l->term = gemel__element(d, l->block, 2);
  l->shifts = gemel__element(d, l->block, 3);
  l->powers = gemel__element(d, l->block, 3 + size);
  return GEMEL_OK;
}

static void line_clear(softmax_line *l) {
  gemel__elements_free(l->domain, l->block, 2 * l->size + 3);
  gemel__free(l->pointers, l->size * sizeof *l->pointers);
  gemel__decider_clear(&l->w);
}

static void round_to(softmax_line *l, void *e, double ulps) {
  l->domain->round(l->domain, e, l->computed, ulps);
}

/* d of each element: x, or x − m. */
static void shift(softmax_line *l, void *const *logits) {
  gemel__domain *d = l->domain;
  for (size_t i = 0; l->shifted && i < l->size; i++) {
    if (i == 0) {
      d->set(d, l->largest, logits[0]);
    } else {
      gemel__larger(&l->w, l->largest, l->largest, logits[i]);
    }
  }
  for (size_t i = 0; i < l->size; i++) {
    void *e = gemel__element(d, l->shifts, i);
    d->set(d, e, logits[i]);
    if (l->shifted) {
      d->sub(d, e, e, l->largest);
      round_to(l, e, 0.5);
    }
  }
}

/* e of each element, and their total. */
static void exponentials(softmax_line *l, void *const *logits) {
  gemel__domain *d = l->domain;
  shift(l, logits);
  for (size_t i = 0; i < l->size; i++) {
    void *e = gemel__element(d, l->powers, i);
    d->exp(d, e, gemel__element(d, l->shifts, i));
    round_to(l, e, EXP_ULPS);
    l->pointers[i] = e;
  }
  gemel__store_sum(&l->w, l->total, l->computed, l->size, l->pointers);
}

/* ---- softmax ---- */

/* Groups of tensor T along the axis in attribute K. */
static gemel_status lines_of(const gemel__rcall *call, size_t k, const gemel__rtensor *t,
                             gemel__groups *groups) {
  unsigned char chosen[GEMEL_MAX_RANK] = {0};
  int axis = gemel__reference_axis(call->attrs[k].u.i, t->rank);
  if (axis < 0) {
    return gemel__fail(call->error, GEMEL_BAD_SHAPE, "no axis %lld", (long long)call->attrs[k].u.i);
  }
  chosen[axis] = 1;
  return gemel__groups_init(groups, t, chosen, call->error);
}

static void one_softmax(softmax_line *l, void *const *logits, void *const *results) {
  gemel__domain *d = l->domain;
  exponentials(l, logits);
  for (size_t i = 0; i < l->size; i++) {
    d->div(d, results[i], l->pointers[i], l->total);
    gemel__store(&l->w, results[i], l->dtype, QUOTIENT_ULPS);
  }
}

static gemel_status reference_softmax(gemel__rcall *call) {
  const gemel__rtensor *x = call->inputs[0];
  gemel__groups in, out;
  softmax_line l;
  GEMEL__TRY(gemel__reference_output(call, 0, x->dtype, x->rank, x->shape));
  GEMEL__TRY(lines_of(call, 0, x, &in));
  gemel_status status = lines_of(call, 0, &call->outputs[0], &out);
  if (status == GEMEL_OK) {
    status = line_init(&l, call, in.size);
    for (size_t i = 0; i < in.count && status == GEMEL_OK; i++) {
      gemel__groups_next(&in);
      gemel__groups_next(&out);
      one_softmax(&l, in.members, out.members);
    }
    if (status == GEMEL_OK) {
      line_clear(&l);
    }
    gemel__groups_clear(&out);
  }
  gemel__groups_clear(&in);
  return status;
}

const gemel__twin gemel__twin_softmax = {.reference = reference_softmax,
                                         .sample = gemel__sampler_softmax,
                                         .propose = gemel__propose_softmax,
                                         .arithmetic = GEMEL__FUNCTIONS};

/* ---- cross_entropy ---- */

/* total = log s, then e = log softmax of element I. */
static void log_of_total(softmax_line *l) {
  l->domain->log(l->domain, l->total, l->total);
  round_to(l, l->total, LOG_ULPS);
}

static void log_softmax(softmax_line *l, void *e, size_t i) {
  l->domain->sub(l->domain, e, gemel__element(l->domain, l->shifts, i), l->total);
  round_to(l, e, 0.5);
}

/* -Σ t · log softmax(x) */
static void loss_of_weights(softmax_line *l, void *e, void *const *targets) {
  gemel__domain *d = l->domain;
  for (size_t i = 0; i < l->size; i++) {
    void *product = gemel__element(d, l->powers, i);
    log_softmax(l, product, i);
    d->mul(d, product, product, targets[i]);
    round_to(l, product, 0.5);
    l->pointers[i] = product;
  }
  gemel__store_sum(&l->w, e, l->dtype, l->size, l->pointers);
  d->neg(d, e, e);
}

/* -log softmax(x)[target] */
static gemel_status loss_of_index(softmax_line *l, void *e, const void *target,
                                  gemel_error *error) {
  gemel__domain *d = l->domain;
  int64_t i;
  if (!d->to_integer(d, target, &i)) {
    d->set_state(d, e, GEMEL__UNDECIDED);
    return GEMEL_OK;
  }
  if (i < 0 || (uint64_t)i >= l->size) {
    return gemel__fail(error, GEMEL_BAD_VALUE, "target %lld of %zu classes", (long long)i, l->size);
  }
  log_softmax(l, l->term, (size_t)i);
  d->neg(d, e, l->term);
  gemel__store(&l->w, e, l->dtype, 0);
  return GEMEL_OK;
}

/* Computes the loss of each line. WEIGHTS: groups of the targets, or NULL if targets are indices.
 */
static gemel_status losses(gemel__rcall *call, softmax_line *l, gemel__groups *logits,
                           gemel__groups *weights) {
  for (size_t i = 0; i < logits->count; i++) {
    void *e = gemel__rtensor_at(&call->outputs[0], i);
    gemel__groups_next(logits);
    exponentials(l, logits->members);
    if (l->size > 0) {
      log_of_total(l);
    }
    if (weights) {
      gemel__groups_next(weights);
      loss_of_weights(l, e, weights->members);
    } else {
      GEMEL__TRY(loss_of_index(l, e, gemel__rtensor_at(call->inputs[1], i), call->error));
    }
  }
  return GEMEL_OK;
}

/* *SHAPE = the logits' shape without the axis. Returns 1 if TARGETS are weights, 0 if indices, −1
 * if they don't fit. */
static int loss_shape(const gemel__rtensor *x, const gemel__rtensor *targets, int axis,
                      int64_t *shape) {
  int rank = 0, same = targets->rank == x->rank, without = targets->rank == x->rank - 1;
  for (int k = 0; k < x->rank; k++) {
    same = same && targets->shape[k] == x->shape[k];
    if (k != axis) {
      without = without && targets->shape[rank] == x->shape[k];
      shape[rank++] = x->shape[k];
    }
  }
  without = without && !gemel__is_float(targets->dtype);
  return same ? 1 : without ? 0 : -1;
}

static gemel_status cross_entropy(gemel__rcall *call, gemel__groups *logits, int is_weights) {
  gemel__groups weights;
  softmax_line l;
  GEMEL__TRY(line_init(&l, call, logits->size));
  gemel_status status =
      is_weights ? lines_of(call, 0, call->inputs[1], &weights) : losses(call, &l, logits, NULL);
  if (status == GEMEL_OK && is_weights) {
    status = losses(call, &l, logits, &weights);
    gemel__groups_clear(&weights);
  }
  line_clear(&l);
  return status;
}

static gemel_status reference_cross_entropy(gemel__rcall *call) {
  const gemel__rtensor *x = call->inputs[0];
  int64_t shape[GEMEL_MAX_RANK];
  gemel__groups logits;
  GEMEL__TRY(lines_of(call, 0, x, &logits));
  int axis = gemel__reference_axis(call->attrs[0].u.i, x->rank);
  int is_weights = loss_shape(x, call->inputs[1], axis, shape);
  gemel_status status =
      is_weights < 0
          ? gemel__fail(call->error, GEMEL_BAD_SHAPE, "targets that don't fit the logits")
          : gemel__reference_output(call, 0, x->dtype, x->rank - 1, shape);
  status = status ? status : cross_entropy(call, &logits, is_weights);
  gemel__groups_clear(&logits);
  return status;
}

const gemel__twin gemel__twin_cross_entropy = {.reference = reference_cross_entropy,
                                               .sample = gemel__sampler_cross_entropy,
                                               .propose = gemel__propose_cross_entropy,
                                               .arithmetic = GEMEL__FUNCTIONS,
                                               .refuses_with = 2};
