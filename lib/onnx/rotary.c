/* SPDX-License-Identifier: MIT
 *
 * Rotary position embeddings: pairs of elements of each head, turned by an angle that belongs to
 * their place in the sequence. A pair is an element of the first half with that of the second, or
 * neighbours (interleaved).
 */
#include "onnx/attention.h"
#include "onnx/operators.h"
#include "core/value.h"

/* Places of LENGTH elements: input K, or from its one number on. */
static gemel_value places_of(gemel__onnx_call *c, size_t k, gemel_dim length) {
  gemel_value places = gemel__onnx_input(c, k);
  return gemel__onnx_rank(places) == 1
             ? gemel_add_at(places, gemel_arange_at(c->graph, length, NULL, c->where), c->where)
             : places;
}

/* Input K, of angles, for the LENGTH places in input PLACES or, if it is left out, for places as
 * they come: [batch, 1, length, half]. */
static gemel_value angles(gemel__onnx_call *c, size_t k, size_t places, gemel_dim length) {
  gemel_value x = gemel__onnx_input(c, k);
  if (gemel__onnx_given(c, places)) {
    x = gemel_take_at(x, places_of(c, places, length), NULL, c->where);
  }
  return gemel_expand_dims_at(x, gemel__onnx_rank(x) == 3 ? 1 : 0, c->where);
}

/* The first (0) or second (1) elements of all pairs of X, whose last axis has SIZE elements. */
static gemel_value of_pairs(gemel__onnx_call *c, gemel_value x, int64_t size, int which,
                            int interleaved) {
  return interleaved ? gemel_slice_step_at(x, -1, which, GEMEL_TO_END, 2, c->where)
                     : gemel_slice_at(x, -1, which * size / 2, (which + 1) * size / 2, c->where);
}

/* The pairs of A and B, of SIZE elements, in one axis again. */
static gemel_value together(gemel__onnx_call *c, gemel_value a, gemel_value b, int64_t size,
                            int interleaved) {
  gemel_value both[2] = {a, b};
  const gemel_dim *d = gemel__onnx_dims(a);
  if (!interleaved || d == NULL) {
    return gemel_concatenate_at(2, both, -1, c->where);
  }
  gemel_dim shape[4] = {d[0], d[1], d[2], gemel_dim_constant(c->context, size)};
  return gemel_reshape_at(gemel_stack_at(2, both, -1, c->where), 4, shape, c->where);
}

/* X [batch, heads, length, SIZE], turned. */
static gemel_value turned(gemel__onnx_call *c, gemel_value x, gemel_value cosine, gemel_value sine,
                          int64_t size, int interleaved) {
  gemel_value a = of_pairs(c, x, size, 0, interleaved), b = of_pairs(c, x, size, 1, interleaved);
  gemel_value real =
      gemel_sub_at(gemel_mul_at(cosine, a, c->where), gemel_mul_at(sine, b, c->where), c->where);
  gemel_value imaginary =
      gemel_add_at(gemel_mul_at(sine, a, c->where), gemel_mul_at(cosine, b, c->where), c->where);
  return together(c, real, imaginary, size, interleaved);
}

/* 1 if X, of angles, has PAIRS of them for each place, or a number of them that isn't known; else 0
 * and the error. */
static int are_angles(gemel__onnx_call *c, gemel_value x, int64_t pairs) {
  const gemel_dim *d = gemel__onnx_dims(x);
  int64_t n;
  if (d == NULL || !gemel_dim_is_constant(c->context, d[gemel__onnx_rank(x) - 1], &n) ||
      n == pairs) {
    return d != NULL;
  }
  gemel__onnx_refuse(c, GEMEL_BAD_SHAPE, "angles for %lld pairs of elements, and not for %lld",
                     (long long)n, (long long)pairs);
  return 0;
}

gemel_value gemel__onnx_rotated(gemel__onnx_call *c, gemel_value heads, gemel_value cosine,
                                gemel_value sine, int64_t turns, int interleaved) {
  int64_t size;
  if (gemel_is_null(heads)) {
    return gemel__no_value;
  }
  if (!gemel_dim_is_constant(c->context, gemel__onnx_dims(heads)[3], &size)) {
    return gemel__onnx_refuse(c, GEMEL_UNSUPPORTED, "a size of heads that is a symbol");
  }
  turns = turns > 0 ? turns : size;
  if (turns > size || turns % 2 != 0) {
    return gemel__onnx_refuse(c, GEMEL_BAD_SHAPE, "%lld of %lld elements of a head",
                              (long long)turns, (long long)size);
  }
  if (!are_angles(c, cosine, turns / 2) || !are_angles(c, sine, turns / 2)) {
    return gemel__no_value;
  }
  gemel_value first = gemel_slice_at(heads, -1, 0, turns, c->where);
  gemel_value y = turned(c, first, cosine, sine, turns, interleaved);
  if (turns < size) {
    gemel_value parts[2] = {y, gemel_slice_at(heads, -1, turns, size, c->where)};
    y = gemel_concatenate_at(2, parts, -1, c->where);
  }
  return y;
}

/* com.microsoft's operator has the places before the angles. */
gemel_value gemel__onnx_rotary_embedding(gemel__onnx_call *c) {
  int is_other = c->row->domain[0] != '\0';
  gemel_value x = gemel__onnx_input(c, 0);
  if (is_other &&
      (gemel__onnx_float(c, "scale", 1) != 1 || gemel__onnx_int(c, "is_packed_batching", 0) != 0)) {
    return gemel__onnx_refuse(c, GEMEL_UNSUPPORTED, "a scale, or a batch of ragged sequences");
  }
  gemel_value heads = gemel__onnx_by_heads(c, x, gemel__onnx_int(c, "num_heads", 0));
  if (gemel_is_null(heads)) {
    return gemel__no_value;
  }
  gemel_dim length = gemel__onnx_dims(heads)[2];
  gemel_value y = gemel__onnx_rotated(
      c, heads, angles(c, is_other ? 2 : 1, is_other ? 1 : 3, length),
      angles(c, is_other ? 3 : 2, is_other ? 1 : 3, length),
      gemel__onnx_int(c, "rotary_embedding_dim", 0), gemel__onnx_int(c, "interleaved", 0) != 0);
  return gemel__onnx_rank(x) == 3 ? gemel__onnx_heads_together(c, y) : y;
}
