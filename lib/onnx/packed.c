/* SPDX-License-Identifier: MIT
 *
 * ONNX Runtime's own Attention and MultiHeadAttention (domain com.microsoft), which its optimiser
 * makes of a transformer's layer: a mask is 1 where a key counts. In the first the projections to
 * queries, keys and values are one product, in the second they are inputs.
 */
#include <math.h>

#include "onnx/attention.h"
#include "onnx/operators.h"
#include "core/value.h"

/* Inputs of the first, and of the second. */
enum { INPUT, WEIGHTS, BIAS, MASK, PAST, SCORE_BIAS };
enum { QUERY, KEY, VALUE, BIASES, KEY_MASK, ADDED, PAST_KEY, PAST_VALUE, PAST_LENGTH, BEAMS };

/* What a key that doesn't count is given in place of its score. */
static double filter_of(const gemel__onnx_call *c) {
  return gemel__onnx_float(c, "mask_filter_value", -10000);
}

/* Queries, keys and values by heads: 1, or 0 and the graph's error. */
static int project(gemel__onnx_call *c, int64_t heads, gemel_value parts[3]) {
  gemel_value x =
      gemel_matmul_at(gemel__onnx_input(c, INPUT), gemel__onnx_input(c, WEIGHTS), c->where);
  x = gemel__onnx_given(c, BIAS) ? gemel_add_at(x, gemel__onnx_input(c, BIAS), c->where) : x;
  gemel__int_list sizes = {0, NULL};
  int found = gemel__onnx_ints(c, "qkv_hidden_sizes", &sizes);
  int64_t all = 0, at = 0;
  if (gemel_is_null(x) || gemel__onnx_rank(x) != 3 || found < 0 ||
      (found > 0 && sizes.count != 3) ||
      !gemel_dim_is_constant(c->context, gemel__onnx_dims(x)[2], &all)) {
    gemel__onnx_refuse(c, GEMEL_UNSUPPORTED, "it takes [batch, length, size] of a known size");
    return 0;
  }
  for (int k = 0; k < 3; k++) {
    int64_t size = found > 0 ? sizes.values[k] : all / 3;
    if (size < 0 || size > all - at || (k == 2 && size < all - at)) {
      gemel__onnx_refuse(c, GEMEL_BAD_SHAPE,
                         "queries, keys and values of other sizes than all %lld", (long long)all);
      return 0;
    }
    gemel_value part = gemel_slice_at(x, -1, at, at + size, c->where);
    parts[k] = gemel__onnx_by_heads(c, part, heads);
    at += size;
  }
  return !gemel_is_null(parts[0]) && !gemel_is_null(parts[1]) && !gemel_is_null(parts[2]);
}

/* Keys and values behind those of the past, [2, batch, heads, length, size]. */
static void put_past(gemel__onnx_call *c, gemel_value parts[3]) {
  for (int k = 0; k < 2 && gemel__onnx_given(c, PAST); k++) {
    gemel_value both[2] = {gemel_index_at(gemel__onnx_input(c, PAST), 0, k, c->where),
                           parts[k + 1]};
    parts[k + 1] = gemel_concatenate_at(2, both, 2, c->where);
  }
  if (c->n_outputs > 1) {
    c->outputs[1] = gemel_stack_at(2, &parts[1], 0, c->where);
  }
}

/* Which keys count, bool[batch, 1, 1, keys], where the mask has lengths of the BATCH, or as many
 * ends and then starts. */
static gemel_value between_ends(gemel__onnx_call *c, gemel_value mask, gemel_dim batch,
                                gemel_dim keys) {
  static const int64_t order[4] = {0, -1, -1, -1};
  gemel_dim n = gemel__onnx_dims(mask)[0], halves[2] = {batch, batch};
  int64_t given, wanted;
  int has_starts =
      gemel_dim_equal(n, gemel_dim_mul(c->context, batch, gemel_dim_constant(c->context, 2)));
  if (!has_starts && gemel_dim_is_constant(c->context, n, &given) &&
      gemel_dim_is_constant(c->context, batch, &wanted) && given != wanted) {
    return gemel__onnx_refuse(c, GEMEL_UNSUPPORTED, "a mask of %lld numbers for a batch of %lld",
                              (long long)given, (long long)wanted);
  }
  gemel_value at = gemel_arange_at(c->graph, keys, NULL, c->where);
  mask = gemel_dimshuffle_at(gemel_cast_at(mask, GEMEL_I64, c->where), 4, order, c->where);
  if (!has_starts) {
    return gemel_lt_at(at, mask, c->where);
  }
  gemel_value ends = gemel_split_at(mask, 2, halves, NULL, c->where);
  return gemel_logical_and_at(gemel_lt_at(at, ends, c->where),
                              gemel_ge_at(at, gemel_value_output(ends, 1), c->where), c->where);
}

/* S plus the filter where the mask, an INPUT, [batch, keys] or [batch, queries, keys] is 0, or one
 * of lengths has no key. */
static gemel_value with_mask(gemel__onnx_call *c, gemel_value s, size_t input) {
  gemel_value mask = gemel__onnx_input(c, input);
  int rank = gemel__onnx_rank(mask);
  if (gemel_is_null(s) || rank < 1 || rank > 3) {
    return gemel_is_null(s) ? s
                            : gemel__onnx_refuse(c, GEMEL_UNSUPPORTED,
                                                 "a mask of %d axes, and not of 1 to 3", rank);
  }
  for (int k = rank; rank > 1 && k < 4; k++) {
    mask = gemel_expand_dims_at(mask, 1, c->where);
  }
  gemel_value counts = rank > 1
                           ? gemel_ne_at(mask, gemel_scalar_like_at(mask, 0, c->where), c->where)
                           : between_ends(c, mask, gemel__onnx_dims(s)[0], gemel__onnx_dims(s)[3]);
  gemel_value less = gemel_add_at(s, gemel_scalar_like_at(s, filter_of(c), c->where), c->where);
  return gemel_where_at(counts, s, less, c->where);
}

/* S, of QUERIES and KEYS, where no query sees a key behind it. */
static gemel_value in_order(gemel__onnx_call *c, gemel_value s, gemel_dim queries, gemel_dim keys) {
  gemel_dim before = gemel_dim_sub(c->context, keys, queries);
  gemel_value at = gemel_add_at(gemel_arange_at(c->graph, queries, NULL, c->where),
                                gemel_size_at(c->graph, before, c->where), c->where);
  gemel_value seen = gemel_le_at(gemel_arange_at(c->graph, keys, NULL, c->where),
                                 gemel_expand_dims_at(at, 1, c->where), c->where);
  return gemel_where_at(seen, s, gemel_scalar_like_at(s, -(double)INFINITY, c->where), c->where);
}

/* The result for queries, keys and values by heads; what is added to scores, and the mask, are
 * inputs ADDED and MASK. */
static gemel_value attend(gemel__onnx_call *c, const gemel_value parts[3], size_t added,
                          size_t mask) {
  static const int64_t order[4] = {0, 1, 3, 2};
  int64_t size;
  if (gemel_is_null(parts[0]) ||
      !gemel_dim_is_constant(c->context, gemel__onnx_dims(parts[0])[3], &size)) {
    return gemel__onnx_refuse(c, GEMEL_UNSUPPORTED, "a size of heads that is a symbol");
  }
  double scale = gemel__onnx_float(c, "scale", 0);
  gemel_value s =
      gemel_matmul_at(parts[0], gemel_permute_at(parts[1], 4, order, c->where), c->where);
  s = gemel_mul_at(
      s, gemel_scalar_like_at(s, scale != 0 ? scale : 1 / sqrt((double)size), c->where), c->where);
  s = gemel__onnx_given(c, added) ? gemel_add_at(s, gemel__onnx_input(c, added), c->where) : s;
  s = gemel__onnx_given(c, mask) ? with_mask(c, s, mask) : s;
  if (gemel__onnx_int(c, "unidirectional", 0) && !gemel_is_null(s)) {
    s = in_order(c, s, gemel__onnx_dims(s)[2], gemel__onnx_dims(s)[3]);
  }
  gemel_value p = gemel_softmax_at(s, -1, c->where);
  return gemel__onnx_heads_together(c, gemel_matmul_at(p, parts[2], c->where));
}

gemel_value gemel__onnx_packed_attention(gemel__onnx_call *c) {
  gemel_value parts[3];
  if (gemel__onnx_int(c, "do_rotary", 0)) {
    return gemel__onnx_refuse(c, GEMEL_UNSUPPORTED, "do_rotary");
  }
  if (!project(c, gemel__onnx_int(c, "num_heads", 0), parts)) {
    return gemel__no_value;
  }
  put_past(c, parts);
  return attend(c, parts, SCORE_BIAS, MASK);
}

/* Queries, keys and values plus their parts of the bias. */
static int add_biases(gemel__onnx_call *c, gemel_value parts[3]) {
  gemel_dim sizes[3];
  for (int k = 0; k < 3; k++) {
    if (gemel__onnx_rank(parts[k]) != 3) {
      gemel__onnx_refuse(c, GEMEL_UNSUPPORTED, "a bias of keys that are by heads already");
      return 0;
    }
    sizes[k] = gemel__onnx_dims(parts[k])[2];
  }
  gemel_value bias = gemel_split_at(gemel__onnx_input(c, BIASES), 3, sizes, NULL, c->where);
  for (uint32_t k = 0; k < 3 && !gemel_is_null(bias); k++) {
    parts[k] = gemel_add_at(parts[k], gemel_value_output(bias, k), c->where);
  }
  return !gemel_is_null(bias);
}

gemel_value gemel__onnx_multi_head_attention(gemel__onnx_call *c) {
  int64_t heads = gemel__onnx_int(c, "num_heads", 0);
  gemel_value parts[3];
  if (!gemel__onnx_given(c, KEY) || !gemel__onnx_given(c, VALUE) || c->n_outputs > 3 ||
      gemel__onnx_given(c, PAST_LENGTH) || gemel__onnx_given(c, BEAMS) ||
      gemel__onnx_rank(gemel__onnx_input(c, QUERY)) != 3) {
    return gemel__onnx_refuse(c, GEMEL_UNSUPPORTED,
                              "it takes queries of 3 axes, keys and values, and a past as long as "
                              "it is, and gives no scores");
  }
  for (size_t k = QUERY; k <= VALUE; k++) {
    parts[k] = gemel__onnx_input(c, k);
  }
  if (gemel__onnx_given(c, BIASES) && !add_biases(c, parts)) {
    return gemel__no_value;
  }
  for (size_t k = QUERY; k <= VALUE; k++) {
    parts[k] = gemel__onnx_by_heads(c, parts[k], heads);
    if (k != QUERY && gemel__onnx_given(c, PAST_KEY + k - 1)) {
      gemel_value all[2] = {gemel__onnx_input(c, PAST_KEY + k - 1), parts[k]};
      parts[k] = gemel_concatenate_at(2, all, 2, c->where);
    }
    if (k != QUERY && k < c->n_outputs) {
      c->outputs[k] = parts[k];
    }
  }
  return attend(c, parts, ADDED, KEY_MASK);
}
