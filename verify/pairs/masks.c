/* SPDX-License-Identifier: MIT
 *
 * Masks of undefined elements, see masks.h. What moves elements moves the mask alike. An
 * elementwise operation is undefined where an operand is, but for `where`, which needs the operand
 * that it chooses alone. A sum is undefined if one of its terms is. Of what else there is, all
 * elements depend on all.
 */
#include "pairs/masks.h"

#include <math.h>
#include <gemel/composite.h>
#include "base/element.h"
#include "core/dtype.h"
#include "core/ids.h"
#include "core/value.h"

/* ---- Masks ---- */

gemel_value gemel__mask_either(gemel_value x, gemel_value y, gemel_location where) {
  if (gemel_is_null(x) || gemel_is_null(y)) {
    return gemel_is_null(x) ? y : x;
  }
  if (x.node == y.node && x.output == y.output) {
    return x;
  }
  return x.node < y.node ? gemel_logical_or_at(x, y, where) : gemel_logical_or_at(y, x, where);
}

static int rank_of(gemel_value value) {
  return gemel_type_rank(gemel_graph_context(value.graph), gemel_value_type(value));
}

static int has_shape_of(gemel_value x, gemel_value like) {
  gemel_context *context = gemel_graph_context(x.graph);
  gemel_type a = gemel_value_type(x), b = gemel_value_type(like);
  const gemel_dim *dims = gemel_type_dims(context, a), *other = gemel_type_dims(context, b);
  int rank = rank_of(x), k = 0;
  while (k < rank && rank == rank_of(like) && dims[k].id == other[k].id) {
    k++;
  }
  return k == rank && rank == rank_of(like);
}

static gemel_value truth(gemel_graph *graph, int is_true, gemel_location where) {
  return gemel_scalar_at(graph, GEMEL_BOOL, is_true, where);
}

gemel_value gemel__mask_like(gemel_value mask, gemel_value like, gemel_location where) {
  if (gemel_is_null(mask)) {
    return gemel_fill_at(like, truth(like.graph, 0, where), where);
  }
  return has_shape_of(mask, like) ? mask : gemel_fill_at(like, mask, where);
}

static gemel_value any(gemel_value mask, gemel_location where) {
  return gemel_is_null(mask) || rank_of(mask) == 0 ? mask : gemel_any_at(mask, NULL, where);
}

/* ---- Partial nodes ---- */

/* NUMBER to compare X with. */
static gemel_value number(gemel_value x, double n, gemel_location where) {
  return gemel_scalar_like_at(x, n, where);
}

static int bits_of(gemel_dtype dtype) {
  return 8 * (int)gemel_dtype_size(dtype);
}

/* A cast has a result where what is left behind the point is an integer of the dtype. Both bounds
 * are powers of 2, or one less than a small one, and so floats. */
static gemel_value own_of_cast(const gemel__masked_node *node) {
  gemel_value x = node->inputs[0];
  gemel_dtype from = gemel__value_dtype(x), to = gemel__value_dtype(node->output);
  gemel_location where = node->where;
  int is_signed = gemel_dtype_kind(to) == GEMEL_KIND_SIGNED, bits = bits_of(to) - is_signed;
  int digits = from == GEMEL_F64 ? 53 : 24;
  double least = is_signed ? -ldexp(1, bits) : 0, beyond = ldexp(1, bits);
  if (!gemel__is_float(from) || gemel_dtype_kind(to) == GEMEL_KIND_BOOL || gemel__is_float(to)) {
    return gemel__no_value;
  }
  x = from == GEMEL_F64 ? x : gemel_cast_at(x, GEMEL_F32, where);
  gemel_value above = !is_signed || bits < digits
                          ? gemel_gt_at(x, number(x, least - 1, where), where)
                          : gemel_ge_at(x, number(x, least, where), where);
  gemel_value below = gemel_lt_at(x, number(x, beyond, where), where);
  return gemel_logical_not_at(gemel_logical_and_at(above, below, where), where);
}

/* 1 if Y is a constant that is nowhere 0 and nowhere -1. */
static int divides_always(gemel_value y) {
  const gemel__node *record = gemel__node_at(y.graph, y.node);
  if (record->op != GEMEL__OP_constant) {
    return 0;
  }
  const gemel_tensor *tensor = gemel__attrs_at(y.graph->context, record->attrs)->values[0].u.tensor;
  gemel__walk walk = gemel__walk_start(tensor);
  size_t k = 0, n = (size_t)gemel_tensor_elements(tensor);
  for (; k < n; k++) {
    double divisor = gemel__decode(gemel_tensor_dtype(tensor), gemel__walk_next(&walk));
    if (divisor == 0 || divisor == -1) {
      return 0;
    }
  }
  return 1;
}

/* Nothing is a quotient by 0; nor is what exceeds the dtype, the least integer by -1. */
static gemel_value own_of_division(const gemel__masked_node *node) {
  gemel_value x = node->inputs[0], y = node->inputs[1];
  gemel_dtype dtype = gemel__value_dtype(node->output);
  gemel_location where = node->where;
  if (gemel__is_float(dtype) || divides_always(y)) {
    return gemel__no_value;
  }
  gemel_value by_zero = gemel_eq_at(y, number(y, 0, where), where);
  if (node->op != GEMEL__OP_trunc_div || gemel_dtype_kind(dtype) != GEMEL_KIND_SIGNED) {
    return by_zero;
  }
  gemel_value least = gemel_eq_at(x, number(x, -ldexp(1, bits_of(dtype) - 1), where), where);
  gemel_value by_minus = gemel_eq_at(y, number(y, -1, where), where);
  return gemel_logical_or_at(by_zero, gemel_logical_and_at(least, by_minus, where), where);
}

static gemel_value own_of_shift(const gemel__masked_node *node) {
  gemel_value y = node->inputs[1];
  gemel_value bits = number(y, bits_of(gemel__value_dtype(node->output)), node->where);
  gemel_value beyond = gemel_ge_at(y, bits, node->where);
  if (gemel_dtype_kind(gemel__value_dtype(y)) != GEMEL_KIND_SIGNED) {
    return beyond;
  }
  return gemel_logical_or_at(beyond, gemel_lt_at(y, number(y, 0, node->where), node->where),
                             node->where);
}

gemel_value gemel__mask_own(const gemel__masked_node *node) {
  switch (node->op) {
  case GEMEL__OP_cast:
    return own_of_cast(node);
  case GEMEL__OP_trunc_div:
  case GEMEL__OP_mod:
  case GEMEL__OP_fmod:
    return own_of_division(node);
  case GEMEL__OP_shift_left:
  case GEMEL__OP_shift_right:
    return own_of_shift(node);
  default:
    return gemel__no_value;
  }
}

/* ---- Operations ---- */

static gemel_value either_of_all(const gemel__masked_node *node) {
  gemel_value all = gemel__no_value;
  for (size_t k = 0; k < node->n_inputs; k++) {
    all = gemel__mask_either(all, node->masks[k], node->where);
  }
  return all;
}

static gemel_value any_of_all(const gemel__masked_node *node) {
  gemel_value all = gemel__no_value;
  for (size_t k = 0; k < node->n_inputs; k++) {
    all = gemel__mask_either(all, any(node->masks[k], node->where), node->where);
  }
  return all;
}

/* What a choice doesn't take may be undefined. */
static gemel_value of_where(const gemel__masked_node *node) {
  gemel_value x = node->masks[1], y = node->masks[2];
  gemel_value chosen = x;
  if (x.graph != y.graph || x.node != y.node || x.output != y.output) {
    gemel_value no = truth(node->output.graph, 0, node->where);
    chosen = gemel_where_at(node->inputs[0], gemel_is_null(x) ? no : x, gemel_is_null(y) ? no : y,
                            node->where);
  }
  return gemel__mask_either(node->masks[0], chosen, node->where);
}

/* The operands whose elements an operation that moves elements puts into its result: a bit each.
 * 0: it is none. */
static unsigned moved_by(const gemel__masked_node *node) {
  switch (node->op) {
  case GEMEL__OP_dimshuffle:
  case GEMEL__OP_reshape:
  case GEMEL__OP_broadcast_to:
  case GEMEL__OP_reverse:
  case GEMEL__OP_split:
  case GEMEL__OP_subtensor:
  case GEMEL__OP_take:
    return 1;
  case GEMEL__OP_fill:
    return 2;
  case GEMEL__OP_pad:
  case GEMEL__OP_set_subtensor:
  case GEMEL__OP_inc_subtensor:
    return 3;
  case GEMEL__OP_join:
    return ~0U;
  default:
    return 0;
  }
}

/* Where indices or sizes are undefined, so is all. The shape of `like` counts, not its elements. */
static gemel_value of_moved(const gemel__masked_node *node, unsigned moved, size_t k) {
  gemel_value inputs[64], where_not = gemel__no_value, only = gemel__no_value;
  size_t marked = 0, operands = 0;
  for (size_t i = 0; i < node->n_inputs; i++) {
    if (moved >> (i < 31 ? i : 31) & 1) {
      only = gemel_is_null(node->masks[i]) ? only : node->masks[i];
      marked += !gemel_is_null(node->masks[i]);
      operands++;
    } else if (node->op != GEMEL__OP_fill) {
      where_not = gemel__mask_either(where_not, any(node->masks[i], node->where), node->where);
    }
  }
  if (marked == 0 || (operands == 1 && rank_of(only) == 0)) {
    return gemel__mask_either(where_not, only, node->where);
  }
  if (node->n_inputs > sizeof inputs / sizeof *inputs) {
    return any_of_all(node);
  }
  for (size_t i = 0; i < node->n_inputs; i++) {
    inputs[i] = moved >> (i < 31 ? i : 31) & 1
                    ? gemel__mask_like(node->masks[i], node->inputs[i], node->where)
                    : node->inputs[i];
  }
  gemel_value made =
      gemel__apply(node->output.graph, node->op, node->attrs, node->n_inputs, inputs, node->where);
  made.output += (uint32_t)k;
  return gemel__mask_either(where_not, made, node->where);
}

/* A sum, product, or largest of several is undefined if one of them is: their number isn't 0. */
static gemel_value of_reduced(const gemel__masked_node *node) {
  gemel_value mask = node->masks[0];
  uint32_t op = node->op == GEMEL__OP_cumsum ? node->op : (uint32_t)GEMEL__OP_sum;
  if (gemel_is_null(mask) || rank_of(mask) == 0) {
    return mask;
  }
  mask = gemel__mask_like(mask, node->inputs[0], node->where);
  gemel_value count = gemel__apply(node->output.graph, op, node->attrs, 1, &mask, node->where);
  return gemel_is_null(count)
             ? count
             : gemel_ne_at(count, gemel_scalar_like_at(count, 0, node->where), node->where);
}

/* Of truths a product is the or of ands: with truths everywhere in the place of the other operand
 * it says whether one of the terms is undefined. */
static gemel_value of_product(const gemel__masked_node *node) {
  gemel_value all = gemel__no_value;
  for (size_t k = 0; k < 2; k++) {
    gemel_value mask = node->masks[k];
    if (gemel_is_null(mask) || rank_of(mask) == 0) {
      all = gemel__mask_either(all, mask, node->where);
      continue;
    }
    gemel_value other = node->inputs[1 - k];
    other = gemel_fill_at(other, truth(other.graph, 1, node->where), node->where);
    mask = gemel__mask_like(mask, node->inputs[k], node->where);
    gemel_value pair[2] = {k == 0 ? mask : other, k == 0 ? other : mask};
    gemel_value made =
        gemel__apply(node->output.graph, node->op, node->attrs, 2, pair, node->where);
    all = gemel__mask_either(all, made, node->where);
  }
  return all;
}

static gemel_value of_operands(const gemel__masked_node *node, size_t k) {
  unsigned moved = moved_by(node);
  if (moved != 0) {
    return of_moved(node, moved, k);
  }
  switch (node->op) {
  case GEMEL__OP_where:
    return of_where(node);
  case GEMEL__OP_sum:
  case GEMEL__OP_prod:
  case GEMEL__OP_max:
  case GEMEL__OP_cumsum:
    return of_reduced(node);
  case GEMEL__OP_dot:
  case GEMEL__OP_corr:
    return of_product(node);
  default:
    return gemel__op_at(node->output.graph->context, node->op)->record.flags & GEMEL_OP_ELEMENTWISE
               ? either_of_all(node)
               : any_of_all(node);
  }
}

gemel_value gemel__mask_of(const gemel__masked_node *node, size_t k) {
  int is_marked = 0;
  for (size_t i = 0; i < node->n_inputs; i++) {
    is_marked |= !gemel_is_null(node->masks[i]);
  }
  gemel_value mask = is_marked ? of_operands(node, k) : gemel__no_value;
  return node->partial ? gemel__mask_either(gemel__mask_own(node), mask, node->where) : mask;
}
