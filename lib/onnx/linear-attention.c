/* SPDX-License-Identifier: MIT
 *
 * Linear attention as a loop over the sequence: a state [batch, heads, keys, values] decays, takes
 * up the product of a key and a value, and is read by queries. And the causal convolution that
 * stands before it in such models.
 */
#include <math.h>

#include "core/graph.h"
#include "core/value.h"
#include "onnx/attention.h"
#include "onnx/operators.h"

/* Inputs of LinearAttention. */
enum { QUERY, KEY, VALUE, PAST, DECAY, BETA };

/* ---- Linear attention ---- */

/* X [batch, length, HEADS * size] in f32 as rows for the loop: [length, batch, heads, size]. */
static gemel_value as_rows(gemel__onnx_call *c, size_t k, int64_t heads) {
  static const int64_t order[4] = {2, 0, 1, 3};
  gemel_value x = gemel__onnx_input(c, k);
  if (gemel__onnx_rank(x) != 3) {
    return gemel__onnx_refuse(c, GEMEL_BAD_SHAPE, "input %zu must be [batch, length, heads * size]",
                              k);
  }
  x = gemel__onnx_by_heads(c, x, heads);
  return gemel_permute_at(gemel__onnx_widened(c, x), 4, order, c->where);
}

/* Input K, [batch, length, heads], or [batch, length, heads * size] (DECAY), or [batch, length, 1]
 * (BETA), as rows. */
static gemel_value gate_rows(gemel__onnx_call *c, size_t k, int64_t heads) {
  gemel_value x = gemel__onnx_input(c, k);
  int64_t n;
  if (gemel__onnx_rank(x) != 3 || !gemel_dim_is_constant(c->context, gemel__onnx_dims(x)[2], &n)) {
    return as_rows(c, k, heads);
  }
  if (k == BETA ? n != 1 && n != heads : n % heads != 0) {
    return gemel__onnx_refuse(c, GEMEL_BAD_SHAPE,
                              "input %zu has %lld numbers a place for %lld heads", k, (long long)n,
                              (long long)heads);
  }
  return as_rows(c, k, n == 1 ? 1 : heads);
}

/* The sum over the keys of STATE [B, H, K, V] times X [B, H, K]. */
static gemel_value read_state(gemel__onnx_call *c, gemel_value state, gemel_value x) {
  int64_t keys = 2;
  gemel_sum_options over = {.axes = {1, &keys}};
  return gemel_sum_at(gemel_mul_at(state, gemel_expand_dims_at(x, 3, c->where), c->where), &over,
                      c->where);
}

/* Rows of the loop, or null. */
static gemel_value row_of(gemel__onnx_call *c, gemel_loop *loop, gemel_value rows) {
  return gemel_is_null(rows) ? rows : gemel_loop_row_at(loop, rows, c->where);
}

/* One step in the body of LOOP, from STATE; the next state. */
static gemel_value step(gemel__onnx_call *c, gemel_loop *loop, gemel_value state,
                        const gemel_value rows[6]) {
  gemel_value key = row_of(c, loop, rows[KEY]), value = row_of(c, loop, rows[VALUE]);
  gemel_value decay = row_of(c, loop, rows[DECAY]), beta = row_of(c, loop, rows[BETA]);
  if (!gemel_is_null(decay)) {
    gemel_value kept = gemel_expand_dims_at(gemel_exp_at(decay, c->where), 3, c->where);
    state = gemel_mul_at(state, kept, c->where);
  }
  if (!gemel_is_null(beta)) {
    value = gemel_mul_at(beta, gemel_sub_at(value, read_state(c, state, key), c->where), c->where);
  }
  gemel_value taken = gemel_mul_at(gemel_expand_dims_at(key, 3, c->where),
                                   gemel_expand_dims_at(value, 2, c->where), c->where);
  return gemel_add_at(state, taken, c->where);
}

/* The state at the beginning: input PAST, or zeros. */
static gemel_value first_state(gemel__onnx_call *c, const gemel_value rows[6]) {
  if (gemel__onnx_given(c, PAST)) {
    return gemel__onnx_widened(c, gemel__onnx_input(c, PAST));
  }
  const gemel_dim *k = gemel__onnx_dims(rows[KEY]), *v = gemel__onnx_dims(rows[VALUE]);
  gemel_dim shape[4] = {k[1], k[2], k[3], v[3]};
  return gemel_broadcast_to_at(gemel_scalar_like_at(rows[KEY], 0, c->where), 4, shape, c->where);
}

/* The rule's inputs: "gated" ones decay, "delta" ones have beta. 1, or 0 and the error. */
static int read_rule(gemel__onnx_call *c, int *gated, int *delta) {
  gemel__wire_span rule = gemel__onnx_text(c, "update_rule");
  int both = rule.length == 0 || gemel__wire_is(rule, "gated_delta");
  *gated = both || gemel__wire_is(rule, "gated");
  *delta = both || gemel__wire_is(rule, "delta");
  if (!*gated && !*delta && !gemel__wire_is(rule, "linear")) {
    gemel__onnx_refuse(c, GEMEL_UNSUPPORTED, "update_rule %.*s", (int)rule.length,
                       (const char *)rule.bytes);
    return 0;
  }
  if (*gated != gemel__onnx_given(c, DECAY) || *delta != gemel__onnx_given(c, BETA)) {
    gemel__onnx_refuse(c, GEMEL_BAD_FILE, "decay or beta don't belong to its update_rule");
    return 0;
  }
  return 1;
}

/* Runs LOOP over ROWS: results of all steps, [length, batch, heads, values]; *LAST the state. */
static gemel_value run_loop(gemel__onnx_call *c, gemel_loop *loop, const gemel_value rows[6],
                            int64_t heads, gemel_value *last) {
  gemel_value state = gemel_loop_state_at(loop, first_state(c, rows), c->where);
  gemel_value next = step(c, loop, state, rows);
  gemel_value query = row_of(c, loop, rows[QUERY]);
  gemel_loop_next_at(loop, state, next, c->where);
  gemel_value read =
      read_state(c, gemel__onnx_for_queries(c, next, gemel_dim_constant(c->context, heads)), query);
  gemel_loop_stack_at(loop, read, c->where);
  gemel_loop_end_at(loop, NULL, c->where);
  *last = gemel_loop_last_at(loop, state, c->where);
  return gemel_loop_stacked_at(loop, read, c->where);
}

gemel_value gemel__onnx_linear_attention(gemel__onnx_call *c) {
  static const int64_t order[4] = {1, 2, 0, 3};
  int64_t heads = gemel__onnx_int(c, "q_num_heads", 0), size = 1;
  int64_t kv_heads = gemel__onnx_int(c, "kv_num_heads", 0);
  gemel_value rows[6] = {gemel__no_value, gemel__no_value, gemel__no_value,
                         gemel__no_value, gemel__no_value, gemel__no_value};
  gemel_error error;
  int gated, delta;
  if (heads <= 0 || kv_heads <= 0 || heads % kv_heads != 0) {
    return gemel__onnx_refuse(c, GEMEL_BAD_VALUE, "%lld heads of queries for %lld of keys",
                              (long long)heads, (long long)kv_heads);
  }
  if (!read_rule(c, &gated, &delta)) {
    return gemel__no_value;
  }
  rows[QUERY] = as_rows(c, QUERY, heads);
  rows[KEY] = as_rows(c, KEY, kv_heads);
  rows[VALUE] = as_rows(c, VALUE, kv_heads);
  rows[DECAY] = gated ? gate_rows(c, DECAY, kv_heads) : gemel__no_value;
  rows[BETA] = delta ? gate_rows(c, BETA, kv_heads) : gemel__no_value;
  if (gemel_graph_error(c->graph)->status != GEMEL_OK) {
    return gemel__no_value;
  }
  double scale = gemel__onnx_float(c, "scale", 0);
  if (scale == 0 && !gemel_dim_is_constant(c->context, gemel__onnx_dims(rows[QUERY])[3], &size)) {
    return gemel__onnx_refuse(c, GEMEL_UNSUPPORTED, "a size of heads that is a symbol");
  }
  gemel_loop *loop = gemel_loop_begin(c->graph, &error);
  if (loop == NULL) {
    return gemel__graph_take_error(c->graph, &error);
  }
  gemel_value last, all = run_loop(c, loop, rows, heads, &last);
  gemel_loop_free(loop);
  gemel_dtype dtype = gemel__onnx_dtype_of(gemel__onnx_input(c, QUERY));
  gemel_value scaled = gemel_mul_at(
      all, gemel_scalar_like_at(all, scale != 0 ? scale : 1 / sqrt((double)size), c->where),
      c->where);
  if (c->n_outputs > 1) {
    gemel_dtype kept =
        gemel__onnx_given(c, PAST) ? gemel__onnx_dtype_of(gemel__onnx_input(c, PAST)) : dtype;
    c->outputs[1] = gemel_cast_at(last, kept, c->where);
  }
  gemel_value y = gemel__onnx_heads_together(c, gemel_permute_at(scaled, 4, order, c->where));
  return gemel_cast_at(y, dtype, c->where);
}

/* ---- Causal convolution ---- */

/* X [batch, channels, length] with what came before it, or zeros, for weights of K elements. */
static gemel_value behind_past(gemel__onnx_call *c, gemel_value x, int64_t k) {
  if (gemel__onnx_given(c, 3)) {
    gemel_value parts[2] = {gemel__onnx_input(c, 3), x};
    int64_t n;
    if (gemel__onnx_rank(parts[0]) == 3 &&
        gemel_dim_is_constant(c->context, gemel__onnx_dims(parts[0])[2], &n) && n != k - 1) {
      return gemel__onnx_refuse(c, GEMEL_BAD_SHAPE, "a past of %lld places, and not of %lld",
                                (long long)n, (long long)k - 1);
    }
    return gemel_concatenate_at(2, parts, 2, c->where);
  }
  const int64_t low[3] = {0, 0, k - 1}, high[3] = {0, 0, 0};
  return gemel_pad_at(x, gemel_scalar_like_at(x, 0, c->where), 3, low, 3, high, NULL, c->where);
}

gemel_value gemel__onnx_causal_conv(gemel__onnx_call *c) {
  gemel_value x = gemel__onnx_input(c, 0), w = gemel__onnx_input(c, 1);
  gemel__wire_span activation = gemel__onnx_text(c, "activation");
  int is_none = activation.length == 0 || gemel__wire_is(activation, "none");
  int64_t channels, k;
  if (gemel__onnx_rank(x) != 3 || gemel__onnx_rank(w) != 3 ||
      !gemel_dim_is_constant(c->context, gemel__onnx_dims(x)[1], &channels) ||
      !gemel_dim_is_constant(c->context, gemel__onnx_dims(w)[2], &k) || k < 1) {
    return gemel__onnx_refuse(c, GEMEL_UNSUPPORTED,
                              "it takes [batch, channels, length] and weights of known sizes");
  }
  if (!is_none && !gemel__wire_is(activation, "silu") && !gemel__wire_is(activation, "swish")) {
    return gemel__onnx_refuse(c, GEMEL_UNSUPPORTED, "activation %.*s", (int)activation.length,
                              (const char *)activation.bytes);
  }
  gemel_value all = behind_past(c, x, k);
  if (gemel_is_null(all)) {
    return gemel__no_value;
  }
  gemel_corr_options options = {.groups = channels};
  gemel_value y = gemel_corr_at(all, w, &options, c->where);
  if (gemel__onnx_given(c, 2)) {
    y = gemel_add_at(y, gemel_expand_dims_at(gemel__onnx_input(c, 2), 1, c->where), c->where);
  }
  if (c->n_outputs > 1) {
    const gemel_dim *d = gemel__onnx_dims(all);
    gemel_dim kept = gemel_dim_constant(c->context, k - 1),
              zero = gemel_dim_constant(c->context, 0);
    gemel_dim start[3] = {zero, zero, gemel_dim_sub(c->context, d[2], kept)};
    gemel_dim sizes[3] = {d[0], d[1], kept};
    c->outputs[1] = gemel_subtensor_at(all, 3, start, 3, sizes, NULL, c->where);
  }
  gemel_value wide = gemel__onnx_widened(c, y);
  return is_none ? y
                 : gemel_cast_at(gemel_mul_at(wide, gemel_sigmoid_at(wide, c->where), c->where),
                                 gemel__onnx_dtype_of(y), c->where);
}
