/* SPDX-License-Identifier: MIT
 *
 * ONNX Runtime's GroupQueryAttention (domain com.microsoft), which generates text: queries in
 * order, fewer heads of keys and values than of queries, and a cache of keys and values that are
 * past. Each sample of a batch has a number of keys of its own; the new ones follow upon those that
 * it has, so the cache is what is read, at places that are computed, of the past with the new ones
 * behind it. A first prompt has no past, whatever is in the cache.
 */
#include <math.h>
#include <string.h>

#include "onnx/attention.h"
#include "onnx/operators.h"
#include "core/value.h"

enum { QUERY, KEY, VALUE, PAST_KEY, PAST_VALUE, LENGTHS, TOTAL, COSINE, SINE, PLACES, BIAS, SINK };
enum { FIRST_REFUSED = SINK + 1, LAST_REFUSED = 16 };

/* Sizes, and where things are. */
typedef struct grouped {
  int64_t heads, kv_heads;
  int has_past;
  gemel_dim batch, queries, past, keys; /* PAST: places in the cache that is given */
  gemel_value parts[3];                 /* queries, keys, values, by heads */
  gemel_value is_first;                 /* whether this is a first prompt; with a past alone */
  gemel_value before;                   /* i64[batch, 1]: keys that are past, of each sample */
} grouped;

/* ---- What isn't read ---- */

/* 1 if attribute NAME is absent, or a text that says NONE. */
static int is_none(const gemel__onnx_call *c, const char *name) {
  gemel__wire_span text = gemel__onnx_text(c, name);
  return text.bytes == NULL || (text.length == 4 && memcmp(text.bytes, "NONE", 4) == 0);
}

/* 1 if all that C asks for is read; else 0 and the error. */
static int is_read(gemel__onnx_call *c) {
  const char *what = NULL;
  for (size_t k = FIRST_REFUSED; k <= LAST_REFUSED; k++) {
    what = gemel__onnx_given(c, k) ? "scales, norms or lengths of queries as inputs" : what;
  }
  what = gemel__onnx_int(c, "local_window_size", -1) == 0 ? "a window of 0 keys" : what;
  what = c->n_outputs > 3 ? "scores as a result" : what;
  what = gemel__onnx_int(c, "sliding_window_cache", 0) != 0 ? "a cache that slides" : what;
  what = !is_none(c, "k_quant_type") || !is_none(c, "v_quant_type") ? "a quantized cache" : what;
  what = gemel__onnx_given(c, KEY) != gemel__onnx_given(c, VALUE) ? "keys without values" : what;
  what = gemel__onnx_given(c, PAST_KEY) != gemel__onnx_given(c, PAST_VALUE)
             ? "past keys without values"
             : what;
  if (what != NULL) {
    gemel__onnx_refuse(c, GEMEL_UNSUPPORTED, "%s", what);
  }
  return what == NULL;
}

/* ---- Heads ---- */

/* Queries, keys and values of one tensor: heads of queries, then of keys, then of values. */
static void unpack(gemel__onnx_call *c, grouped *g) {
  gemel_dim few = gemel_dim_constant(c->context, g->kv_heads);
  gemel_dim sizes[3] = {gemel_dim_constant(c->context, g->heads), few, few};
  gemel_value all =
      gemel__onnx_by_heads(c, gemel__onnx_input(c, QUERY), g->heads + 2 * g->kv_heads);
  gemel_value parts = gemel_split_at(all, 3, sizes, &(gemel_split_options){.axis = 1}, c->where);
  for (uint32_t k = 0; k < 3; k++) {
    g->parts[k] = gemel_value_output(parts, k);
  }
}

static int find_heads(gemel__onnx_call *c, grouped *g) {
  g->heads = gemel__onnx_int(c, "num_heads", 0);
  g->kv_heads = gemel__onnx_int(c, "kv_num_heads", 0);
  if (g->heads <= 0 || g->kv_heads <= 0 || g->heads % g->kv_heads != 0 || g->heads > INT32_MAX ||
      gemel__onnx_rank(gemel__onnx_input(c, QUERY)) != 3) {
    gemel__onnx_refuse(c, GEMEL_BAD_SHAPE,
                       "it takes queries of 3 axes, and a whole number of heads for each of keys");
    return 0;
  }
  if (!gemel__onnx_given(c, KEY)) {
    unpack(c, g);
  }
  for (size_t k = QUERY; k <= VALUE && gemel__onnx_given(c, KEY); k++) {
    g->parts[k] =
        gemel__onnx_by_heads(c, gemel__onnx_input(c, k), k == QUERY ? g->heads : g->kv_heads);
  }
  return !gemel_is_null(g->parts[0]) && !gemel_is_null(g->parts[1]) && !gemel_is_null(g->parts[2]);
}

/* ---- Places ---- */

static gemel_value number(gemel__onnx_call *c, gemel_dim dim) {
  return gemel_size_at(c->graph, dim, c->where);
}

/* 0, 1, … N - 1. */
static gemel_value numbers(gemel__onnx_call *c, gemel_dim n) {
  return gemel_arange_at(c->graph, n, NULL, c->where);
}

/* The number of all keys, as a size: known when the model is read, or held by the input. */
static gemel_dim total_of(gemel__onnx_call *c) {
  const gemel__sizes *sizes = gemel__onnx_sizes(c, TOTAL);
  return sizes != NULL && sizes->count == 1
             ? sizes->dims[0]
             : gemel_dim_of(gemel__onnx_scalar(c, gemel__onnx_input(c, TOTAL)));
}

/* How many keys each sample has with the new ones, i64[batch, 1]. */
static gemel_value lengths_of(gemel__onnx_call *c, const grouped *g) {
  gemel_dim shape[2] = {g->batch, gemel_dim_constant(c->context, 1)};
  gemel_value last = gemel_cast_at(gemel__onnx_input(c, LENGTHS), GEMEL_I64, c->where);
  last = gemel_reshape_at(last, 2, shape, c->where);
  return gemel_add_at(last, gemel_scalar_like_at(last, 1, c->where), c->where);
}

static int find_places(gemel__onnx_call *c, grouped *g) {
  const gemel_dim *d = gemel__onnx_dims(g->parts[QUERY]);
  gemel_dim total;
  g->batch = d[0];
  g->keys = g->queries = d[2];
  g->has_past = gemel__onnx_given(c, PAST_KEY);
  if (!g->has_past) {
    return 1;
  }
  if (gemel__onnx_rank(gemel__onnx_input(c, PAST_KEY)) != 4 ||
      gemel_dim_is_none(total = total_of(c))) {
    gemel__onnx_refuse(c, GEMEL_BAD_SHAPE, "a past of other than 4 axes, or no total length");
    return 0;
  }
  g->past = gemel__onnx_dims(gemel__onnx_input(c, PAST_KEY))[2];
  g->keys = gemel_dim_max(c->context, total, g->past);
  g->is_first = gemel_eq_at(number(c, total), number(c, g->queries), c->where);
  gemel_value before = gemel_sub_at(lengths_of(c, g), number(c, g->queries), c->where);
  g->before =
      gemel_where_at(g->is_first, gemel_scalar_like_at(before, 0, c->where), before, c->where);
  return !gemel_is_null(g->before);
}

/* Where each query stands among the keys, i64[batch or 1, queries]. */
static gemel_value places_of_queries(gemel__onnx_call *c, const grouped *g) {
  gemel_value at = gemel_expand_dims_at(numbers(c, g->queries), 0, c->where);
  return g->has_past ? gemel_add_at(g->before, at, c->where) : at;
}

/* ---- Rotation ---- */

/* The places that angles belong to: as those of queries, or as the input says; of that a first
 * prompt reads the first number. */
static gemel_value places_of_angles(gemel__onnx_call *c, const grouped *g) {
  if (!gemel__onnx_given(c, PLACES)) {
    return places_of_queries(c, g);
  }
  gemel_value all = gemel__onnx_input(c, PLACES);
  gemel_value first = gemel_index_at(gemel_index_at(all, 0, 0, c->where), 0, 0, c->where);
  first = gemel_add_at(first, gemel_expand_dims_at(numbers(c, g->queries), 0, c->where), c->where);
  return g->has_past ? gemel_where_at(g->is_first, first, all, c->where) : first;
}

/* Turns queries and keys. */
static void rotate(gemel__onnx_call *c, grouped *g) {
  gemel_value places = places_of_angles(c, g), angles[2];
  int64_t half = 0;
  for (int k = 0; k < 2; k++) {
    gemel_value table = gemel__onnx_input(c, COSINE + (size_t)k);
    if (gemel__onnx_rank(table) != 2 ||
        !gemel_dim_is_constant(c->context, gemel__onnx_dims(table)[1], &half)) {
      g->parts[QUERY] = gemel__onnx_refuse(c, GEMEL_UNSUPPORTED, "angles of a size not known");
      return;
    }
    angles[k] = gemel_expand_dims_at(gemel_take_at(table, places, NULL, c->where), 1, c->where);
  }
  for (int k = QUERY; k <= KEY; k++) {
    g->parts[k] = gemel__onnx_rotated(c, g->parts[k], angles[0], angles[1], 2 * half,
                                      gemel__onnx_int(c, "rotary_interleaved", 0) != 0);
  }
}

/* ---- The cache ---- */

/* Where each place of the new cache is read, in the past and the new ones behind it:
 * i64[batch, keys]. What lies behind all keys stays what it was. */
static gemel_value sources(gemel__onnx_call *c, const grouped *g) {
  gemel_value at = gemel_expand_dims_at(numbers(c, g->keys), 0, c->where);
  gemel_value new = gemel_sub_at(at, g->before, c->where),
              zero = gemel_scalar_like_at(new, 0, c->where);
  gemel_value is_new =
      gemel_logical_and_at(gemel_ge_at(new, zero, c->where),
                           gemel_lt_at(new, number(c, g->queries), c->where), c->where);
  gemel_dim last = gemel_dim_sub(c->context, gemel_dim_add(c->context, g->past, g->queries),
                                 gemel_dim_constant(c->context, 1));
  return gemel_where_at(is_new, gemel_add_at(new, number(c, g->past), c->where),
                        gemel_minimum_at(at, number(c, last), c->where), c->where);
}

/* Keys or values, the new X behind what is PAST of them, by heads. */
static gemel_value with_past(gemel__onnx_call *c, const grouped *g, gemel_value x, size_t past) {
  static const int64_t order[4] = {0, 2, 1, 3};
  gemel_value both[2] = {gemel__onnx_input(c, past), x};
  gemel_value all =
      gemel_permute_at(gemel_concatenate_at(2, both, 2, c->where), 4, order, c->where);
  const gemel_dim *d = gemel__onnx_dims(all);
  if (d == NULL) {
    return gemel__no_value;
  }
  gemel_dim rows[3] = {gemel_dim_mul(c->context, d[0], d[1]), d[2], d[3]};
  gemel_value begin = gemel_mul_at(numbers(c, d[0]), number(c, d[1]), c->where);
  gemel_value from =
      gemel_add_at(gemel_expand_dims_at(begin, 1, c->where), sources(c, g), c->where);
  gemel_value read = gemel_take_at(gemel_reshape_at(all, 3, rows, c->where), from, NULL, c->where);
  return gemel_permute_at(read, 4, order, c->where);
}

/* ---- Attention ---- */

/* Which keys each query sees: bool[batch or 1, 1, queries, keys], or null: all. */
static gemel_value seen(gemel__onnx_call *c, const grouped *g) {
  int64_t window = gemel__onnx_int(c, "local_window_size", -1);
  gemel_value key = numbers(c, g->keys);
  if (gemel__onnx_int(c, "causal", 1) == 0) {
    gemel_value n = gemel_expand_dims_at(lengths_of(c, g), 1, c->where);
    return gemel_lt_at(key, gemel_expand_dims_at(n, 1, c->where), c->where);
  }
  gemel_value at = gemel_expand_dims_at(places_of_queries(c, g), 1, c->where);
  at = gemel_expand_dims_at(at, 3, c->where);
  gemel_value visible = gemel_le_at(key, at, c->where);
  if (window > 0) {
    gemel_value nearest = gemel_scalar_like_at(at, (double)window, c->where);
    visible = gemel_logical_and_at(
        visible, gemel_gt_at(key, gemel_sub_at(at, nearest, c->where), c->where), c->where);
  }
  return visible;
}

/* What is added to scores, of all keys that there are: a cache may have more places. */
static gemel_value bias_of(gemel__onnx_call *c, const grouped *g) {
  gemel_value bias = gemel__onnx_input(c, BIAS);
  if (gemel__onnx_rank(bias) != 4 || gemel_dim_equal(gemel__onnx_dims(bias)[3], g->keys)) {
    return bias;
  }
  gemel_dim one = gemel_dim_constant(c->context, 1);
  gemel_value last = number(c, gemel_dim_sub(c->context, gemel__onnx_dims(bias)[3], one));
  gemel_value at = gemel_minimum_at(numbers(c, g->keys), last, c->where);
  return gemel_take_at(bias, at, &(gemel_take_options){.axis = 3}, c->where);
}

/* One more score for each query, of a head's own or 0, which takes its share and gives nothing. */
static gemel_value sink(gemel__onnx_call *c, const grouped *g, gemel_value scores) {
  static const int64_t order[4] = {-1, 0, -1, -1};
  gemel_dim shape[4] = {g->batch, gemel_dim_constant(c->context, g->heads), g->queries,
                        gemel_dim_constant(c->context, 1)};
  gemel_value x = gemel__onnx_given(c, SINK)
                      ? gemel_dimshuffle_at(gemel__onnx_input(c, SINK), 4, order, c->where)
                      : gemel_scalar_like_at(scores, 0, c->where);
  return gemel_broadcast_to_at(x, 4, shape, c->where);
}

static gemel_value shares(gemel__onnx_call *c, const grouped *g, gemel_value scores) {
  if (!gemel__onnx_given(c, SINK) && gemel__onnx_int(c, "smooth_softmax", 0) == 0) {
    return gemel_softmax_at(scores, -1, c->where);
  }
  gemel_value both[2] = {scores, sink(c, g, scores)};
  gemel_value p = gemel_softmax_at(gemel_concatenate_at(2, both, -1, c->where), -1, c->where);
  return gemel_slice_at(p, -1, 0, -1, c->where);
}

static gemel_value attend(gemel__onnx_call *c, const grouped *g, gemel_value k, gemel_value v) {
  static const int64_t order[4] = {0, 1, 3, 2};
  gemel_dim heads = gemel_dim_constant(c->context, g->heads);
  int64_t size;
  if (!gemel_dim_is_constant(c->context, gemel__onnx_dims(g->parts[QUERY])[3], &size)) {
    return gemel__onnx_refuse(c, GEMEL_UNSUPPORTED, "a size of heads that is a symbol");
  }
  double scale = gemel__onnx_float(c, "scale", 0), cap = gemel__onnx_float(c, "softcap", 0);
  gemel_value turned = gemel_permute_at(gemel__onnx_for_queries(c, k, heads), 4, order, c->where);
  gemel_value s = gemel_matmul_at(g->parts[QUERY], turned, c->where);
  scale = scale != 0 ? scale : 1 / sqrt((double)size);
  s = gemel_mul_at(s, gemel_scalar_like_at(s, scale, c->where), c->where);
  s = cap > 0 ? gemel__onnx_capped(c, s, cap) : s;
  s = gemel__onnx_given(c, BIAS) ? gemel_add_at(s, bias_of(c, g), c->where) : s;
  s = gemel_where_at(seen(c, g), s, gemel_scalar_like_at(s, -(double)INFINITY, c->where), c->where);
  return gemel_matmul_at(shares(c, g, s), gemel__onnx_for_queries(c, v, heads), c->where);
}

gemel_value gemel__onnx_group_query_attention(gemel__onnx_call *c) {
  grouped g = {0};
  if (!is_read(c) || !find_heads(c, &g) || !find_places(c, &g)) {
    return gemel__no_value;
  }
  if (gemel__onnx_int(c, "do_rotary", 0) != 0) {
    rotate(c, &g);
  }
  gemel_value kept[2];
  for (size_t k = 0; k < 2; k++) {
    gemel_value x = g.parts[k + 1];
    kept[k] = g.has_past ? with_past(c, &g, x, PAST_KEY + k) : x;
    if (k + 1 < c->n_outputs) {
      c->outputs[k + 1] = kept[k];
    }
  }
  return gemel_is_null(g.parts[QUERY]) || gemel_is_null(kept[0]) || gemel_is_null(kept[1])
             ? gemel__no_value
             : gemel__onnx_heads_together(c, attend(c, &g, kept[0], kept[1]));
}
