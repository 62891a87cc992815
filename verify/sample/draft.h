/* SPDX-License-Identifier: MIT
 *
 * A proposal in the making: shapes and attributes as plain numbers, which the proposers of
 * propose-*.c fill in, and what they share. A proposer sees what is known and fills in the rest; it
 * need not check anything twice, since the operation's type rule has the last word.
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
  int absent; /* to be filled in with what its fallback stands for */
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
  int zeros; /* sizes 0 are drawn */
  int ranks; /* as in the proposal, and so are the sizes */
  int64_t length;
  size_t n_sizes;
  const int64_t *sizes;
  size_t n_inputs;
  gemel__shape in[GEMEL__PROPOSAL_INPUTS];
  gemel__list attrs[GEMEL__PROPOSAL_ATTRS];
} gemel__draft;

/* GEMEL_DECLINED: this try, or everything, makes no sense. */
typedef gemel_status (*gemel__proposer)(gemel__draft *draft);

/* ---- Numbers ---- */

static inline int gemel__one_in(gemel__draft *d, int n) {
  return (int)gemel__random_below(d->random, (uint64_t)n) == 0;
}

static inline int64_t gemel__draw(gemel__draft *d, int64_t low, int64_t high) {
  if (d->n_sizes > 0 && gemel__one_in(d, 8)) {
    int64_t size = d->sizes[gemel__random_below(d->random, d->n_sizes)];
    if (size >= low && size <= high) {
      return size;
    }
  }
  return high <= low ? low : gemel__random_between(d->random, low, high);
}

/* A size: 1, 2, 3, 5, and 0 where the draft has zeros; some of 7 to 67 where it may be large. */
int64_t gemel__draw_dim(gemel__draft *d);

/* ---- Shapes ---- */

/* Fills in a shape of rank LOW to the draft's greatest; its dtype stays. */
void gemel__draw_shape(gemel__draft *d, gemel__shape *shape, int low);

/* The same with exactly RANK axes. */
void gemel__draw_shape_of(gemel__draft *d, gemel__shape *shape, int rank);

/* Makes sizes other than those in KEEP (bits by axis) 1 until there are few enough elements. */
void gemel__limit_shape(gemel__draft *d, gemel__shape *shape, unsigned keep);

int64_t gemel__shape_elements(const gemel__shape *shape);

/* Gives TO the dtype and dims of FROM. */
void gemel__copy_shape(gemel__shape *to, const gemel__shape *from);

/* Fills in SHAPE with what broadcasts to WHOLE, or is a scalar, or WHOLE's own shape. */
void gemel__draw_part(gemel__draft *d, gemel__shape *shape, const gemel__shape *whole);

/* Fills in SHAPE with what PART broadcasts to. */
void gemel__draw_whole(gemel__draft *d, gemel__shape *shape, const gemel__shape *part);

/* The dtype of the first known input of COUNT, else D->dtype. */
gemel_dtype gemel__known_dtype(const gemel__draft *d, size_t count);

/* ---- Lists ---- */

/* A random subset of the axes 0..RANK - 1 that ALLOWED has bits of, ascending: often none, one or
 * all. */
void gemel__draw_axes(gemel__draft *d, gemel__list *list, int rank, unsigned allowed);

/* The largest entry + 1; 0 of nothing. */
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
