/* SPDX-License-Identifier: MIT
 *
 * A draft of a proposal (propose.h): shapes and attributes as plain numbers. The proposers of
 * propose-*.c fill in what isn't known, with the helpers below. They need not check the result,
 * since the operation's type rule decides in the end.
 */
#ifndef GEMEL__SAMPLE_DRAFT_H
#define GEMEL__SAMPLE_DRAFT_H

#include "sample/propose.h"

typedef struct gemel__shape {
  int known;
  gemel_dtype dtype;
  int rank;
  int64_t dims[GEMEL_MAX_RANK];
} gemel__shape;

enum { GEMEL__LIST_ROOM = 32 };

/* An attribute as a list of integers: axes, sizes, a dtype. */
typedef struct gemel__list {
  int known;
  int absent; /* left out, and to be filled in with its fallback */
  int count;
  int64_t at[GEMEL__LIST_ROOM];
} gemel__list;

typedef struct gemel__draft {
  gemel_context *context;
  gemel__random *random;
  const gemel__op *op;
  gemel_dtype dtype;
  int max_rank;
  int64_t max_elements;
  int zeros; /* 1: sizes 0 are drawn */
  int ranks; /* as in the proposal, like the members below */
  int reach;
  int64_t length, elements;
  size_t n_sizes;
  const int64_t *sizes;
  size_t n_inputs;
  gemel__shape in[GEMEL__PROPOSAL_INPUTS];
  gemel__list attrs[GEMEL__PROPOSAL_ATTRS];
} gemel__draft;

/* A proposer fills in the draft. GEMEL_DECLINED: this try, or the known part, allows no result. */
typedef gemel_status (*gemel__proposer)(gemel__draft *draft);

/* ---- Numbers ---- */

static inline int gemel__one_in(gemel__draft *d, int n) {
  return (int)gemel__random_below(d->random, (uint64_t)n) == 0;
}

static inline int64_t gemel__draw(gemel__draft *d, int64_t low, int64_t high) {
  if (d->n_sizes > 0 && gemel__one_in(d, d->reach ? 2 : 8)) {
    int64_t size = d->sizes[gemel__random_below(d->random, d->n_sizes)];
    if (size >= low && size <= high) {
      return size;
    }
  }
  return high <= low ? low : gemel__random_between(d->random, low, high);
}

/* The same where numbers above HIGH are possible: a draft that reaches far often has one of its
 * sizes. */
static inline int64_t gemel__draw_far(gemel__draft *d, int64_t low, int64_t high) {
  if (d->reach && d->n_sizes > 0 && !gemel__one_in(d, 4)) {
    int64_t size = d->sizes[gemel__random_below(d->random, d->n_sizes)];
    return size > low ? size : low;
  }
  return gemel__draw(d, low, high);
}

/* Draws a size: 1, 2, 3, 5; also 0 if the draft has zeros, and 7 to 67 if it may be large. */
int64_t gemel__draw_dim(gemel__draft *d);

/* ---- Shapes ---- */

/* Draws a shape of rank LOW to the draft's max_rank; its dtype stays. */
void gemel__draw_shape(gemel__draft *d, gemel__shape *shape, int low);

/* The same with exactly RANK axes. */
void gemel__draw_shape_of(gemel__draft *d, gemel__shape *shape, int rank);

/* Draws a number of spatial axes, 1 to 3: that of an image of the draft's rank, if there is one. */
int gemel__draw_spatial_axes(gemel__draft *d);

/* Makes sizes 1, other than those of the axes in KEEP (a bit each), until there are at most
 * max_elements elements. */
void gemel__limit_shape(gemel__draft *d, gemel__shape *shape, unsigned keep);

int64_t gemel__shape_elements(const gemel__shape *shape);

/* Copies dtype and dims of FROM to TO. */
void gemel__copy_shape(gemel__shape *to, const gemel__shape *from);

/* Draws a SHAPE that broadcasts to WHOLE, often a scalar or WHOLE's own shape. */
void gemel__draw_part(gemel__draft *d, gemel__shape *shape, const gemel__shape *whole);

/* Draws a SHAPE that PART broadcasts to. */
void gemel__draw_whole(gemel__draft *d, gemel__shape *shape, const gemel__shape *part);

/* The dtype of the first known input of COUNT, else D->dtype. */
gemel_dtype gemel__known_dtype(const gemel__draft *d, size_t count);

/* ---- Lists ---- */

/* Draws an ascending subset of those axes 0..RANK - 1 that ALLOWED has bits of: often none, one or
 * all. */
void gemel__draw_axes(gemel__draft *d, gemel__list *list, int rank, unsigned allowed);

/* The largest entry + 1; 0 if the list is empty. */
int gemel__list_top(const gemel__list *list);

void gemel__list_fill(gemel__list *list, int count, int64_t value);

/* ---- The proposers ---- */

gemel_status gemel__propose_corr(gemel__draft *d);
gemel_status gemel__propose_corr_grad_weights(gemel__draft *d);
gemel_status gemel__propose_corr_grad_inputs(gemel__draft *d);
gemel_status gemel__propose_elementwise(gemel__draft *d);
gemel_status gemel__propose_dimshuffle(gemel__draft *d);
gemel_status gemel__propose_reshape(gemel__draft *d);
gemel_status gemel__propose_broadcast_to(gemel__draft *d);
gemel_status gemel__propose_fill(gemel__draft *d);
gemel_status gemel__propose_reverse(gemel__draft *d);
gemel_status gemel__propose_pad(gemel__draft *d);
gemel_status gemel__propose_max_pool(gemel__draft *d);
gemel_status gemel__propose_max_pool_grad(gemel__draft *d);
gemel_status gemel__propose_max_pool_pick(gemel__draft *d);
gemel_status gemel__propose_avg_pool(gemel__draft *d);
gemel_status gemel__propose_avg_pool_grad(gemel__draft *d);
gemel_status gemel__propose_join(gemel__draft *d);
gemel_status gemel__propose_split(gemel__draft *d);
gemel_status gemel__propose_subtensor(gemel__draft *d);
gemel_status gemel__propose_write(gemel__draft *d);
gemel_status gemel__propose_bitcast(gemel__draft *d);
gemel_status gemel__propose_solve(gemel__draft *d);
gemel_status gemel__propose_searchsorted(gemel__draft *d);
gemel_status gemel__propose_take(gemel__draft *d);
gemel_status gemel__propose_along(gemel__draft *d);
gemel_status gemel__propose_put(gemel__draft *d);
gemel_status gemel__propose_reduction(gemel__draft *d);
gemel_status gemel__propose_largest(gemel__draft *d);
gemel_status gemel__propose_argmax(gemel__draft *d);
gemel_status gemel__propose_softmax(gemel__draft *d);
gemel_status gemel__propose_cross_entropy(gemel__draft *d);
gemel_status gemel__propose_dot(gemel__draft *d);
gemel_status gemel__propose_dot_add(gemel__draft *d);
gemel_status gemel__propose_size(gemel__draft *d);
gemel_status gemel__propose_arange(gemel__draft *d);
gemel_status gemel__propose_random_bits(gemel__draft *d);
gemel_status gemel__propose_random_reals(gemel__draft *d);

#endif
