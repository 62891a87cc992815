/* SPDX-License-Identifier: MIT
 *
 * Operations that move elements and compute nothing, but for inc_subtensor, which adds.
 */
#include <string.h>
#include "recheck.h"

size_t offset_of(const tensor *t, const int64_t *index) {
  int64_t offset = 0;
  for (int j = 0; j < t->rank; j++) {
    offset = offset * t->shape[j] + index[j];
  }
  return (size_t)offset;
}

int next_index(int rank, const int64_t *shape, int64_t *index) {
  for (int j = rank; j-- > 0;) {
    if (++index[j] < shape[j]) {
      return 1;
    }
    index[j] = 0;
  }
  return 0;
}

/* The list called NAME, of N numbers, or FALLBACK for each if it isn't given; 0: another length. */
static int list_of(const call *c, const char *name, int n, int64_t fallback, int64_t *list) {
  const attr *a = call_attr(c, name);
  for (int j = 0; j < n; j++) {
    list[j] = a != NULL ? a->list[j] : fallback;
  }
  return a == NULL || (a->kind == ATTR_LIST && a->n == n);
}

static int shape_of(const call *c, const char *name, int64_t *shape) {
  const attr *a = call_attr(c, name);
  if (a == NULL || a->kind != ATTR_LIST) {
    return -1;
  }
  memcpy(shape, a->list, sizeof a->list);
  return a->n;
}

static int run_dimshuffle(world *w, call *c) {
  int64_t order[MAX_RANK], shape[MAX_RANK], index[MAX_RANK] = {0}, from[MAX_RANK];
  const tensor *x = c->in[0];
  int rank = shape_of(c, "order", order);
  size_t i = 0;
  for (int j = 0; j < rank; j++) {
    if (order[j] < -1 || order[j] >= x->rank) {
      return bad(w, "dimshuffle: axis %lld", (long long)order[j]);
    }
    shape[j] = order[j] < 0 ? 1 : x->shape[order[j]];
  }
  if (rank < 0 || (c->out[0] = tensor_new(w, x->dtype, rank, shape)) == NULL) {
    return bad(w, "dimshuffle has no order");
  }
  if (c->out[0]->count != x->count) {
    return bad(w, "dimshuffle loses elements");
  }
  do {
    memset(from, 0, sizeof from);
    for (int j = 0; j < rank; j++) {
      if (order[j] >= 0) {
        from[order[j]] = index[j];
      }
    }
    if (x->count > 0) {
      c->out[0]->at[i++] = x->at[offset_of(x, from)];
    }
  } while (next_index(rank, shape, index) && x->count > 0);
  return 1;
}

static int run_reshape(world *w, call *c) {
  int64_t shape[MAX_RANK];
  int rank = shape_of(c, "shape", shape);
  c->out[0] = rank >= 0 ? tensor_new(w, c->in[0]->dtype, rank, shape) : NULL;
  if (c->out[0] == NULL || c->out[0]->count != c->in[0]->count) {
    return bad(w, "reshape: the shapes don't fit");
  }
  memcpy(c->out[0]->at, c->in[0]->at, c->in[0]->count * sizeof(cell));
  return 1;
}

/* X repeated into the result, whose shape is known. */
static int spread(world *w, const tensor *x, tensor *out) {
  int64_t index[MAX_RANK] = {0}, own[MAX_RANK];
  size_t i = 0;
  for (int j = 0; j < x->rank; j++) {
    int64_t to = out->rank >= x->rank ? out->shape[j + out->rank - x->rank] : -1;
    if (x->shape[j] != 1 && x->shape[j] != to) {
      return bad(w, "size %lld can't be broadcast to %lld", (long long)x->shape[j], (long long)to);
    }
  }
  while (i < out->count) {
    for (int j = 0; j < x->rank; j++) {
      own[j] = x->shape[j] == 1 ? 0 : index[j + out->rank - x->rank];
    }
    out->at[i++] = x->at[offset_of(x, own)];
    next_index(out->rank, out->shape, index);
  }
  return 1;
}

static int run_broadcast_to(world *w, call *c) {
  int64_t shape[MAX_RANK];
  int rank = shape_of(c, "shape", shape);
  c->out[0] = rank >= c->in[0]->rank ? tensor_new(w, c->in[0]->dtype, rank, shape) : NULL;
  return c->out[0] != NULL ? spread(w, c->in[0], c->out[0]) : bad(w, "broadcast_to: the shape");
}

static int run_fill(world *w, call *c) {
  if (c->n_in != 2) {
    return bad(w, "fill has two operands");
  }
  c->out[0] = tensor_new(w, c->in[1]->dtype, c->in[0]->rank, c->in[0]->shape);
  return c->out[0] != NULL ? spread(w, c->in[1], c->out[0]) : -1;
}

static int run_reverse(world *w, call *c) {
  const tensor *x = c->in[0];
  const attr *axes = call_attr(c, "axes");
  int64_t index[MAX_RANK] = {0}, from[MAX_RANK];
  c->out[0] = tensor_new(w, x->dtype, x->rank, x->shape);
  if (c->out[0] == NULL || axes == NULL) {
    return bad(w, "reverse has no axes");
  }
  for (size_t i = 0; i < x->count; i++) {
    memcpy(from, index, sizeof from);
    for (int k = 0; k < axes->n; k++) {
      int64_t j = axes->list[k];
      if (j < 0 || j >= x->rank) {
        return bad(w, "reverse: axis %lld", (long long)j);
      }
      from[j] = x->shape[j] - 1 - index[j];
    }
    c->out[0]->at[i] = x->at[offset_of(x, from)];
    next_index(x->rank, x->shape, index);
  }
  return 1;
}

static int run_pad(world *w, call *c) {
  const tensor *x = c->in[0];
  int64_t low[MAX_RANK], high[MAX_RANK], inner[MAX_RANK], shape[MAX_RANK];
  int64_t index[MAX_RANK] = {0}, from[MAX_RANK];
  if (c->n_in != 2 || c->in[1]->count != 1 || !list_of(c, "low", x->rank, 0, low) ||
      !list_of(c, "high", x->rank, 0, high) || !list_of(c, "interior", x->rank, 0, inner)) {
    return bad(w, "pad: what it is given doesn't fit");
  }
  for (int j = 0; j < x->rank; j++) {
    int64_t n = x->shape[j];
    shape[j] = low[j] + high[j] + n + (n > 0 ? (n - 1) * inner[j] : 0);
  }
  if ((c->out[0] = tensor_new(w, x->dtype, x->rank, shape)) == NULL) {
    return -1;
  }
  for (size_t i = 0; i < c->out[0]->count; i++) {
    int inside = 1;
    for (int j = 0; j < x->rank; j++) {
      int64_t at = index[j] - low[j];
      inside &= at >= 0 && at % (inner[j] + 1) == 0 && at / (inner[j] + 1) < x->shape[j];
      from[j] = at / (inner[j] + 1);
    }
    c->out[0]->at[i] = inside ? x->at[offset_of(x, from)] : c->in[1]->at[0];
    next_index(x->rank, shape, index);
  }
  return 1;
}

static int run_join(world *w, call *c) {
  int64_t axis = call_integer(c, "axis", 0), shape[MAX_RANK], index[MAX_RANK], start = 0;
  const tensor *x = c->in[0];
  memcpy(shape, x->shape, sizeof shape);
  axis += axis < 0 ? x->rank : 0;
  if (axis < 0 || axis >= x->rank) {
    return bad(w, "join: axis %lld", (long long)axis);
  }
  for (int k = 1; k < c->n_in; k++) {
    shape[axis] += c->in[k]->rank == x->rank ? c->in[k]->shape[axis] : 0;
  }
  if ((c->out[0] = tensor_new(w, x->dtype, x->rank, shape)) == NULL) {
    return -1;
  }
  for (int k = 0; k < c->n_in; k++) {
    const tensor *y = c->in[k];
    int64_t own[MAX_RANK] = {0};
    for (int j = 0; j < x->rank; j++) {
      if (y->rank != x->rank || y->dtype != x->dtype || (j != axis && y->shape[j] != shape[j])) {
        return bad(w, "join: operand %d doesn't fit", k);
      }
    }
    for (size_t i = 0; i < y->count; i++) {
      memcpy(index, own, sizeof index);
      index[axis] += start;
      c->out[0]->at[offset_of(c->out[0], index)] = y->at[i];
      next_index(y->rank, y->shape, own);
    }
    start += y->shape[axis];
  }
  return 1;
}

/* OUT = what lies in X at START + i · STEP. */
static int take_window(world *w, const tensor *x, tensor *out, const int64_t *start,
                       const int64_t *step) {
  int64_t index[MAX_RANK] = {0}, from[MAX_RANK];
  for (size_t i = 0; i < out->count; i++) {
    for (int j = 0; j < x->rank; j++) {
      from[j] = start[j] + index[j] * step[j];
      if (from[j] < 0 || from[j] >= x->shape[j]) {
        return bad(w, "a window reads outside its tensor");
      }
    }
    out->at[i] = x->at[offset_of(x, from)];
    next_index(out->rank, out->shape, index);
  }
  return 1;
}

static int run_split(world *w, call *c) {
  const tensor *x = c->in[0];
  const attr *sizes = call_attr(c, "sizes");
  int64_t axis = call_integer(c, "axis", 0), shape[MAX_RANK], start[MAX_RANK] = {0};
  int64_t step[MAX_RANK];
  axis += axis < 0 ? x->rank : 0;
  if (sizes == NULL || axis < 0 || axis >= x->rank || c->n_out != sizes->n) {
    return bad(w, "split: what it is given doesn't fit");
  }
  memcpy(shape, x->shape, sizeof shape);
  for (int j = 0; j < MAX_RANK; j++) {
    step[j] = 1;
  }
  for (int k = 0; k < sizes->n; k++) {
    shape[axis] = sizes->list[k];
    c->out[k] = tensor_new(w, x->dtype, x->rank, shape);
    if (c->out[k] == NULL || take_window(w, x, c->out[k], start, step) < 0) {
      return -1;
    }
    start[axis] += sizes->list[k];
  }
  return 1;
}

static int run_subtensor(world *w, call *c) {
  const tensor *x = c->in[0];
  int64_t start[MAX_RANK], size[MAX_RANK], step[MAX_RANK];
  if (!list_of(c, "start", x->rank, 0, start) || !list_of(c, "size", x->rank, 0, size) ||
      !list_of(c, "step", x->rank, 1, step)) {
    return bad(w, "subtensor: what it is given doesn't fit");
  }
  c->out[0] = tensor_new(w, x->dtype, x->rank, size);
  return c->out[0] != NULL ? take_window(w, x, c->out[0], start, step) : -1;
}

/* x with a window that is set, or added to. */
static int write_window(world *w, call *c, int add) {
  int64_t start[MAX_RANK], step[MAX_RANK], index[MAX_RANK] = {0}, to[MAX_RANK];
  const tensor *x = c->in[0], *y = c->n_in > 1 ? c->in[1] : c->in[0];
  if (y->rank != x->rank || y->dtype != x->dtype || !list_of(c, "start", x->rank, 0, start) ||
      !list_of(c, "step", x->rank, 1, step)) {
    return bad(w, "%s: what it is given doesn't fit", c->op);
  }
  if ((c->out[0] = tensor_new(w, x->dtype, x->rank, x->shape)) == NULL) {
    return -1;
  }
  memcpy(c->out[0]->at, x->at, x->count * sizeof *x->at);
  for (size_t i = 0; i < y->count; i++) {
    cell *at;
    for (int j = 0; j < x->rank; j++) {
      to[j] = start[j] + index[j] * step[j];
      if (to[j] < 0 || to[j] >= x->shape[j]) {
        return bad(w, "a window lies outside its tensor");
      }
    }
    at = &c->out[0]->at[offset_of(x, to)];
    *at = add ? number_add(w, x->dtype, *at, y->at[i]) : y->at[i];
    next_index(y->rank, y->shape, index);
  }
  return 1;
}

static int run_set_subtensor(world *w, call *c) {
  return write_window(w, c, 0);
}

static int run_inc_subtensor(world *w, call *c) {
  return write_window(w, c, 1);
}

static int run_arange(world *w, call *c) {
  const attr *t = call_attr(c, "dtype");
  int64_t n = call_integer(c, "n", -1);
  c->out[0] = n >= 0 ? tensor_new(w, t != NULL ? t->dtype : DTYPE_i64, 1, &n) : NULL;
  for (int64_t i = 0; c->out[0] != NULL && i < n; i++) {
    c->out[0]->at[i] = number_of_integer(w, c->out[0]->dtype, i);
  }
  return c->out[0] != NULL ? 1 : bad(w, "arange has no size");
}

static int run_size(world *w, call *c) {
  c->out[0] = tensor_new(w, DTYPE_i64, 0, NULL);
  c->out[0]->at[0] = number_of_integer(w, DTYPE_i64, call_integer(c, "value", 0));
  return call_attr(c, "value") != NULL ? 1 : bad(w, "size has no value");
}

const operation_row moving_operations[] = {{"dimshuffle", run_dimshuffle},
                                           {"reshape", run_reshape},
                                           {"broadcast_to", run_broadcast_to},
                                           {"fill", run_fill},
                                           {"reverse", run_reverse},
                                           {"pad", run_pad},
                                           {"join", run_join},
                                           {"split", run_split},
                                           {"subtensor", run_subtensor},
                                           {"set_subtensor", run_set_subtensor},
                                           {"inc_subtensor", run_inc_subtensor},
                                           {"arange", run_arange},
                                           {"size", run_size},
                                           {NULL, NULL}};
