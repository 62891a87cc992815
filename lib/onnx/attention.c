/* SPDX-License-Identifier: MIT
 *
 * Attention: softmax(scores + bias) V, where the scores are products of queries and keys, scaled.
 * Which keys a query sees (causal order, windows, padding, a mask of bools) is one tensor of bools;
 * a mask of floats is added. Where a query sees no key its result is 0.
 */
#include <math.h>
#include <string.h>

#include "onnx/attention.h"
#include "onnx/model.h"
#include "onnx/operators.h"
#include "core/value.h"

/* Inputs of the operator. */
enum { QUERY, KEY, VALUE, MASK, PAST_KEY, PAST_VALUE, LENGTHS };

/* What a score is made of on its way: [batch, heads, queries, keys] or what broadcasts to it. */
typedef struct scores {
  gemel_value value;
  gemel_value visible; /* bools, or null: all */
  gemel_value bias;    /* or null: none */
} scores;

/* ---- Heads ---- */

gemel_value gemel__onnx_by_heads(gemel__onnx_call *c, gemel_value x, int64_t heads) {
  static const int64_t order[4] = {0, 2, 1, 3};
  const gemel_dim *d = gemel__onnx_dims(x);
  if (gemel__onnx_rank(x) == 4) {
    return x;
  }
  if (gemel__onnx_rank(x) != 3 || heads <= 0) {
    return gemel__onnx_refuse(c, GEMEL_BAD_SHAPE,
                              "it takes tensors of 4 axes, or of 3 and numbers of heads");
  }
  gemel_dim n = gemel_dim_constant(c->context, heads);
  gemel_dim shape[4] = {d[0], d[1], n, gemel_dim_floordiv(c->context, d[2], n)};
  return gemel_permute_at(gemel_reshape_at(x, 4, shape, c->where), 4, order, c->where);
}

gemel_value gemel__onnx_heads_together(gemel__onnx_call *c, gemel_value x) {
  static const int64_t order[4] = {0, 2, 1, 3};
  const gemel_dim *d = gemel__onnx_dims(x);
  if (d == NULL) {
    return gemel__no_value;
  }
  gemel_dim shape[3] = {d[0], d[2], gemel_dim_mul(c->context, d[1], d[3])};
  return gemel_reshape_at(gemel_permute_at(x, 4, order, c->where), 3, shape, c->where);
}

gemel_value gemel__onnx_for_queries(gemel__onnx_call *c, gemel_value x, gemel_dim heads) {
  const gemel_dim *d = gemel__onnx_dims(x);
  if (d == NULL || gemel_dim_equal(d[1], heads)) {
    return x;
  }
  gemel_dim wide[5] = {d[0], d[1], gemel_dim_floordiv(c->context, heads, d[1]), d[2], d[3]};
  gemel_dim shape[4] = {d[0], heads, d[2], d[3]};
  gemel_value each = gemel_expand_dims_at(x, 2, c->where);
  return gemel_reshape_at(gemel_broadcast_to_at(each, 5, wide, c->where), 4, shape, c->where);
}

/* Input PAST, if it is given, with X behind it. */
static gemel_value with_past(gemel__onnx_call *c, gemel_value x, size_t past) {
  if (!gemel__onnx_given(c, past)) {
    return x;
  }
  gemel_value parts[2] = {gemel__onnx_input(c, past), x};
  return gemel_concatenate_at(2, parts, 2, c->where);
}

/* ---- Which keys a query sees ---- */

static gemel_value both(gemel__onnx_call *c, gemel_value x, gemel_value y) {
  return gemel_is_null(x) ? y : gemel_is_null(y) ? x : gemel_logical_and_at(x, y, c->where);
}

static gemel_value plus(gemel__onnx_call *c, gemel_value x, int64_t n) {
  return gemel_add_at(x, gemel_scalar_like_at(x, (double)n, c->where), c->where);
}

/* The number of keys in each sample, [batch, 1, 1, 1] i64. */
static gemel_value lengths_of(gemel__onnx_call *c) {
  static const int64_t order[4] = {0, -1, -1, -1};
  gemel_value n = gemel_dimshuffle_at(gemel__onnx_input(c, LENGTHS), 4, order, c->where);
  return gemel_cast_at(n, GEMEL_I64, c->where);
}

/* Where each query stands among the keys: its index, behind the keys of the past, and at the end of
 * those that a sample has. */
static gemel_value positions(gemel__onnx_call *c, gemel_dim queries) {
  gemel_value index = gemel_arange_at(c->graph, queries, NULL, c->where);
  index = gemel_expand_dims_at(index, 1, c->where);
  if (gemel__onnx_given(c, PAST_KEY)) {
    const gemel_dim *d = gemel__onnx_dims(gemel__onnx_input(c, PAST_KEY));
    return d == NULL ? gemel__no_value
                     : gemel_add_at(index, gemel_size_at(c->graph, d[2], c->where), c->where);
  }
  if (gemel__onnx_given(c, LENGTHS)) {
    gemel_value n = gemel_size_at(c->graph, queries, c->where);
    index = gemel_add_at(index, gemel_sub_at(lengths_of(c), n, c->where), c->where);
  }
  return index;
}

/* Whether keys are seen by their place, for QUERIES and KEYS; null: all are. */
static gemel_value seen_by_place(gemel__onnx_call *c, gemel_dim queries, gemel_dim keys) {
  int64_t left = gemel__onnx_int(c, "left_window_size", -1);
  int64_t right = gemel__onnx_int(c, "right_window_size", -1);
  int causal = gemel__onnx_int(c, "is_causal", 0) != 0;
  gemel_value seen = gemel__no_value, key = gemel_arange_at(c->graph, keys, NULL, c->where);
  gemel_value at = causal || left >= 0 || right >= 0 ? positions(c, queries) : gemel__no_value;
  if (causal) {
    seen = gemel_le_at(key, at, c->where);
  }
  if (left >= 0) {
    seen = both(c, seen, gemel_ge_at(key, plus(c, at, -left), c->where));
  }
  if (right >= 0) {
    seen = both(c, seen, gemel_le_at(key, plus(c, at, right), c->where));
  }
  if (gemel__onnx_given(c, LENGTHS)) {
    seen = both(c, seen, gemel_lt_at(key, lengths_of(c), c->where));
  }
  return seen;
}

/* The mask, of one axis at least, whose last may be shorter than KEYS: nothing is seen there. */
static gemel_value mask_of(gemel__onnx_call *c, gemel_dim keys) {
  gemel_value mask = gemel__onnx_input(c, MASK);
  int rank = gemel__onnx_rank(mask);
  int64_t low[GEMEL_MAX_RANK] = {0}, high[GEMEL_MAX_RANK] = {0}, size, wanted;
  if (rank == 0 || gemel_dim_equal(gemel__onnx_dims(mask)[rank - 1], keys)) {
    return rank == 0 ? gemel_expand_dims_at(mask, 0, c->where) : mask;
  }
  if (!gemel_dim_is_constant(c->context, gemel__onnx_dims(mask)[rank - 1], &size) ||
      !gemel_dim_is_constant(c->context, keys, &wanted)) {
    return gemel__onnx_refuse(c, GEMEL_UNSUPPORTED,
                              "a mask whose last size isn't known to be the number of keys");
  }
  if (size > wanted) {
    return gemel__onnx_refuse(c, GEMEL_BAD_SHAPE, "a mask of %lld keys, where there are %lld",
                              (long long)size, (long long)wanted);
  }
  high[rank - 1] = wanted - size;
  int is_bool = gemel__onnx_dtype_of(mask) == GEMEL_BOOL;
  gemel_value outside = gemel_scalar_like_at(mask, is_bool ? 0 : -(double)INFINITY, c->where);
  return gemel_pad_at(mask, outside, (size_t)rank, low, (size_t)rank, high, NULL, c->where);
}

static void mask_scores(gemel__onnx_call *c, scores *s, gemel_dim queries, gemel_dim keys) {
  s->visible = seen_by_place(c, queries, keys);
  s->bias = gemel__no_value;
  if (gemel__onnx_given(c, MASK)) {
    gemel_value mask = mask_of(c, keys);
    if (gemel__onnx_dtype_of(mask) == GEMEL_BOOL) {
      s->visible = both(c, s->visible, mask);
    } else {
      s->bias = mask;
    }
  }
}

/* ---- Scores ---- */

gemel_value gemel__onnx_capped(gemel__onnx_call *c, gemel_value x, double factor) {
  gemel_value f = gemel_scalar_like_at(x, factor, c->where);
  return gemel_mul_at(f, gemel_tanh_at(gemel_div_at(x, f, c->where), c->where), c->where);
}

/* The products of queries and keys, each scaled by the root of the scale. */
static gemel_value products(gemel__onnx_call *c, gemel_value q, gemel_value k) {
  static const int64_t order[4] = {0, 1, 3, 2};
  const gemel_dim *d = gemel__onnx_dims(q);
  int64_t size = 1;
  if (d == NULL) {
    return gemel__no_value;
  }
  if (gemel__onnx_attribute(c, "scale").bytes == NULL &&
      !gemel_dim_is_constant(c->context, d[3], &size)) {
    return gemel__onnx_refuse(c, GEMEL_UNSUPPORTED, "a size of heads that is a symbol");
  }
  double scale = gemel__onnx_float(c, "scale", 1 / sqrt((double)size));
  gemel_value root = gemel_scalar_like_at(q, sqrt(scale), c->where);
  gemel_value turned = gemel_permute_at(k, 4, order, c->where);
  return gemel_matmul_at(gemel_mul_at(q, root, c->where), gemel_mul_at(turned, root, c->where),
                         c->where);
}

/* Scores with the bias, and -inf where nothing is seen. */
static gemel_value masked(gemel__onnx_call *c, const scores *s) {
  gemel_value x = s->value;
  x = gemel_is_null(s->bias) ? x : gemel_add_at(x, s->bias, c->where);
  return gemel_is_null(s->visible)
             ? x
             : gemel_where_at(s->visible, x, gemel_scalar_like_at(x, -(double)INFINITY, c->where),
                              c->where);
}

/* P, but 0 where a query sees no key. */
static gemel_value where_any_seen(gemel__onnx_call *c, const scores *s, gemel_value p) {
  int64_t last = -1;
  gemel_sum_options keys = {.axes = {1, &last}, .keepdims = 1};
  gemel_value seen = s->visible;
  if (!gemel_is_null(s->bias)) {
    gemel_value nothing = gemel_scalar_like_at(s->bias, -(double)INFINITY, c->where);
    seen = both(c, seen, gemel_ne_at(s->bias, nothing, c->where));
  }
  return gemel_is_null(seen) ? p
                             : gemel_where_at(gemel_any_at(seen, &keys, c->where), p,
                                              gemel_scalar_like_at(p, 0, c->where), c->where);
}

/* The shares of the keys for each query, in the scores' dtype. */
static gemel_value shares(gemel__onnx_call *c, const scores *s, gemel_value x) {
  gemel_dtype dtype = gemel__onnx_dtype_of(x), wide = dtype;
  gemel_error error;
  int64_t precision = gemel__onnx_int(c, "softmax_precision", 0);
  if (precision != 0 && gemel__onnx_dtype(precision, &wide, &error) != GEMEL_OK) {
    return gemel__onnx_refuse(c, GEMEL_UNSUPPORTED, "softmax_precision: %s", error.text);
  }
  gemel_value p = gemel_softmax_at(gemel_cast_at(x, wide, c->where), -1, c->where);
  return where_any_seen(c, s, gemel_cast_at(p, dtype, c->where));
}

/* ---- The operator ---- */

/* Shows of the scores' way what the attribute says. */
static void put_scores(gemel__onnx_call *c, gemel_value raw, gemel_value soft, gemel_value biased,
                       gemel_value p) {
  const gemel_value ways[4] = {raw, soft, biased, p};
  int64_t mode = gemel__onnx_int(c, "qk_matmul_output_mode", 0);
  if (c->n_outputs <= 3) {
    return;
  }
  if (mode < 0 || mode > 3) {
    gemel__onnx_refuse(c, GEMEL_UNSUPPORTED, "qk_matmul_output_mode %lld", (long long)mode);
    return;
  }
  c->outputs[3] = ways[mode];
}

static gemel_value attend(gemel__onnx_call *c, gemel_value q, gemel_value k, gemel_value v) {
  scores s = {gemel__no_value, gemel__no_value, gemel__no_value};
  gemel_dim heads = gemel__onnx_dims(q)[1];
  mask_scores(c, &s, gemel__onnx_dims(q)[2], gemel__onnx_dims(k)[2]);
  gemel_value raw = products(c, q, gemel__onnx_for_queries(c, k, heads));
  double cap = gemel__onnx_float(c, "softcap", 0);
  s.value = cap != 0 ? gemel__onnx_capped(c, raw, cap) : raw;
  gemel_value biased = masked(c, &s), p = shares(c, &s, biased);
  put_scores(c, raw, s.value, biased, p);
  return gemel_matmul_at(p, gemel__onnx_for_queries(c, v, heads), c->where);
}

gemel_value gemel__onnx_attention(gemel__onnx_call *c) {
  int64_t heads = gemel__onnx_int(c, "kv_num_heads", 0);
  gemel_value query = gemel__onnx_input(c, QUERY);
  gemel_value q = gemel__onnx_by_heads(c, query, gemel__onnx_int(c, "q_num_heads", 0));
  gemel_value k = with_past(c, gemel__onnx_by_heads(c, gemel__onnx_input(c, KEY), heads), PAST_KEY);
  gemel_value v =
      with_past(c, gemel__onnx_by_heads(c, gemel__onnx_input(c, VALUE), heads), PAST_VALUE);
  if (gemel_is_null(q) || gemel_is_null(k) || gemel_is_null(v)) {
    return gemel__no_value;
  }
  if (c->n_outputs > 1) {
    c->outputs[1] = k;
  }
  if (c->n_outputs > 2) {
    c->outputs[2] = v;
  }
  gemel_value y = attend(c, q, k, v);
  return gemel__onnx_rank(query) == 3 ? gemel__onnx_heads_together(c, y) : y;
}
