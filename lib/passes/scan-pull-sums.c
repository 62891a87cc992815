/* SPDX-License-Identifier: MIT
 *
 * Sums that leave a loop. A state s' = s + f that nothing else reads ends as its initial value plus
 * the sum of f over the steps, and that needs no loop where the rows of what f is made of are
 * there: f = dot(A, B) is then one product, contracted over the steps too. The gradient of a loop
 * by a constant is such a state, and one large product is faster than many narrow ones.
 *
 * f may be a sum, a difference, a multiple by a constant, or a view of such terms. A term is a
 * product, a sum over axes, or anything else, of which the rows are summed. A state is only pulled
 * out if a product leaves the loop with it or if it needs no new stack; and not one of dtype f16,
 * where a sum of the terms alone, or before their factor, overflows too easily.
 */
#include <gemel/ops.h>
#include "core/dtype.h"
#include "core/value.h"
#include "ops/linalg.h"
#include "ops/rule.h"
#include "passes/scan-pull.h"

/* How deep terms are looked into, and how many views may lie above a constant. */
enum { MOST_DEPTH = 32, MOST_VIEWS = 8 };

static uint32_t uses_of(const gemel__pull *p, gemel__ref ref) {
  return p->inside.of[gemel__value_number(p->body, ref)];
}

/* 1 if sums of REF's dtype may be put in another order. */
static int is_summable(const gemel__pull *p, gemel__ref ref) {
  gemel_dtype dtype = gemel_type_dtype(p->context, gemel__pull_type(p, ref));
  return gemel__is_float(dtype) && dtype != GEMEL_F16;
}

/* 1 if REF is the same in all steps: a constant, perhaps behind views; that is *AT. */
static int is_constant(const gemel__pull *p, gemel__ref ref, gemel__ref *at) {
  for (int k = 0; k < MOST_VIEWS; k++) {
    int op = gemel__pull_op(p, ref);
    if (op == GEMEL__OP_constant || p->input_of[ref.node] > 0) {
      *at = ref;
      return op == GEMEL__OP_constant ||
             gemel__scan_node_kind(&p->old, p->input_of[ref.node] - 1) == GEMEL__CONSTANT_INPUT;
    }
    if (op != GEMEL__OP_dimshuffle) {
      return 0;
    }
    ref = gemel__pull_operand(p, ref, 0);
  }
  return 0;
}

/* ---- Terms ---- */

typedef enum term_kind { ROWS, PLUS, MINUS, NEGATED, TIMES, VIEW, PRODUCT, PARTLY, SUM } term_kind;

/* What kind of term REF is; *SIDE: of TIMES the operand that is no constant, of PARTLY, a product
 * by a constant, too. What is read elsewhere is computed all the same, so there its rows are
 * summed. */
static term_kind kind_of(const gemel__pull *p, gemel__ref ref, uint32_t *side) {
  gemel__ref at;
  size_t k;
  int op = gemel__pull_op(p, ref);
  if (gemel__pull_source(p, ref, &k) != GEMEL__ROWS_NOWHERE || uses_of(p, ref) > 1 ||
      ref.output != 0) {
    return ROWS;
  }
  if (op == GEMEL__OP_mul || op == GEMEL__OP_dot) {
    int x = is_constant(p, gemel__pull_operand(p, ref, 0), &at);
    int y = is_constant(p, gemel__pull_operand(p, ref, 1), &at);
    *side = (uint32_t)x;
    if (op == GEMEL__OP_dot) {
      return x && y ? ROWS : x || y ? PARTLY : PRODUCT;
    }
    return x != y ? TIMES : ROWS;
  }
  return op == GEMEL__OP_add            ? PLUS
         : op == GEMEL__OP_sub          ? MINUS
         : op == GEMEL__OP_neg          ? NEGATED
         : op == GEMEL__OP_dimshuffle   ? VIEW
         : op == GEMEL__OP_reshape      ? VIEW
         : op == GEMEL__OP_broadcast_to ? VIEW
         : op == GEMEL__OP_sum          ? SUM
                                        : ROWS;
}

static int operands_of(term_kind kind) {
  return kind == PLUS || kind == MINUS ? 2 : 1;
}

/* The operand of a term that is a term itself. */
static uint32_t inner_of(term_kind kind, uint32_t side, int k) {
  return kind == TIMES || kind == PARTLY ? side : (uint32_t)k;
}

/* Sees to it that REF, DEPTH terms below f, can be summed outside: 1. */
static int plan_term(gemel__pull *p, gemel__ref ref, gemel_dtype dtype, int depth) {
  gemel__ref at;
  uint32_t side = 0;
  gemel_type type = gemel__pull_type(p, ref);
  if (depth == MOST_DEPTH || gemel_type_dtype(p->context, type) != dtype ||
      gemel__type_at(p->context, type)->has_runtime || is_constant(p, ref, &at)) {
    return 0;
  }
  term_kind kind = kind_of(p, ref, &side);
  if (kind == ROWS) {
    return gemel__pull_need_rows(p, ref);
  }
  if (kind == SUM) {
    return gemel__pull_need_rows(p, gemel__pull_operand(p, ref, 0));
  }
  if (kind == PRODUCT) {
    p->products++;
    return gemel__pull_need_rows(p, gemel__pull_operand(p, ref, 0)) &&
           gemel__pull_need_rows(p, gemel__pull_operand(p, ref, 1));
  }
  p->products += kind == PARTLY;
  int good = 1;
  for (int k = 0; k < operands_of(kind) && good; k++) {
    good = plan_term(p, gemel__pull_operand(p, ref, inner_of(kind, side, k)), dtype, depth + 1);
  }
  return good;
}

/* ---- States ---- */

/* The next value of a state is a chain of sums, the first of which has the state for an operand.
 * *AT, the state or a sum on the chain, becomes the sum above it, whose other operand is *TERM,
 * subtracted if *MINUS. 0: there is none, or more than the chain reads *AT. */
static int climb(const gemel__pull *p, gemel__ref *at, gemel__ref *term, int *minus) {
  gemel__ref up = {p->user_of[at->node], 0};
  if (uses_of(p, *at) != 1 || up.node == 0) {
    return 0;
  }
  gemel__ref x = gemel__pull_operand(p, up, 0);
  int op = gemel__pull_op(p, up), first = gemel__pull_is_same(x, *at);
  if ((op != GEMEL__OP_add && (op != GEMEL__OP_sub || !first)) ||
      !gemel_type_equal(gemel__pull_type(p, up), gemel__pull_type(p, *at))) {
    return 0;
  }
  *term = first ? gemel__pull_operand(p, up, 1) : x;
  *minus = op == GEMEL__OP_sub;
  *at = up;
  return 1;
}

/* 1 if the loop can do without state K. */
static int plan_state(gemel__pull *p, size_t k) {
  gemel__ref at = p->body->inputs[k], next = p->body->outputs[k], term;
  gemel_dtype dtype = gemel_type_dtype(p->context, gemel__pull_type(p, at));
  int minus, good = !gemel__pull_is_same(at, next);
  p->products = 0;
  while (good && !gemel__pull_is_same(at, next)) {
    good = climb(p, &at, &term, &minus) && plan_term(p, term, dtype, 0);
  }
  return good && uses_of(p, next) == 1;
}

/* Pulls state K out if that is possible and worth it. */
static void try_state(gemel__pull *p, size_t k) {
  size_t stacks = p->n_stacks;
  uint32_t kept = p->n_kept;
  double added = p->added;
  if (!gemel__pull_is_read(p, k) || gemel__pull_is_read(p, gemel__scan_history(&p->old.scan, k)) ||
      !is_summable(p, p->body->inputs[k])) {
    return;
  }
  p->pulled[k] = 1;
  if (plan_state(p, k) && (p->products > 0 || p->n_stacks == stacks)) {
    p->n_pulled[0]++;
    return;
  }
  p->pulled[k] = 0;
  p->n_stacks = stacks;
  p->n_kept = kept;
  p->added = added;
}

/* Twice, since what one state has stacked may be all that another needs. */
void gemel__pull_plan_sums(gemel__pull *p) {
  for (int round = 0; round < 2; round++) {
    for (size_t k = 0; k < p->old.scan.states; k++) {
      if (!p->pulled[k]) {
        try_state(p, k);
      }
    }
  }
}

/* ---- Outside ---- */

/* What is the same in all steps, outside. */
static gemel_value constant_of(const gemel__pull *p, gemel__ref ref) {
  gemel__ref at;
  is_constant(p, ref, &at);
  gemel_value value =
      gemel__pull_op(p, at) == GEMEL__OP_constant
          ? gemel_constant_at(gemel__edit_target(p->edit), gemel__pull_attrs(p, at)[0].u.tensor,
                              gemel__pull_where(p, at))
          : gemel__edit_value(p->edit, p->old.operands[p->input_of[at.node] - 1]);
  gemel__ref views[MOST_VIEWS];
  size_t n = 0;
  for (; !gemel__pull_is_same(ref, at); ref = gemel__pull_operand(p, ref, 0)) {
    views[n++] = ref;
  }
  while (n > 0 && !gemel_is_null(value)) {
    const gemel_attr *order = &gemel__pull_attrs(p, views[--n])[0];
    value = gemel_dimshuffle_at(value, order->count, order->u.ints, gemel__pull_where(p, views[n]));
  }
  return value;
}

/* For gemel__dim_substitute: what a symbol of the body is, in the graph as it was. */
static gemel_dim outer_atom(void *user, const gemel__atom *atom, gemel_dim self) {
  const gemel__pull *p = user;
  for (size_t k = 0; k < p->n_inputs && atom->kind == GEMEL__ATOM_SYMBOL; k++) {
    const gemel_dim *formal = gemel_type_dims(p->context, gemel__body_input(p->body, k));
    gemel__ref operand = p->old.operands[k];
    const gemel_dim *actual =
        gemel_type_dims(p->context, gemel__node_type(p->old.graph, operand.node, operand.output));
    int skip = gemel__scan_node_kind(&p->old, k) == GEMEL__ROW_INPUT;
    for (int axis = 0; axis < gemel__pull_rank(p, p->body->inputs[k]); axis++) {
      if (gemel_dim_equal(formal[axis], self)) {
        return actual[axis + skip];
      }
    }
  }
  return self;
}

/* VALUE in the shape of REF. */
static gemel_value shaped(const gemel__pull *p, gemel_value value, gemel__ref ref) {
  gemel_dim dims[GEMEL_MAX_RANK];
  int rank = gemel__pull_rank(p, ref);
  for (int axis = 0; axis < rank; axis++) {
    gemel_dim inner = gemel_type_dims(p->context, gemel__pull_type(p, ref))[axis];
    dims[axis] =
        gemel__edit_size(p->edit, gemel__dim_substitute(p->context, inner, outer_atom, (void *)p));
  }
  return gemel__pull_op(p, ref) == GEMEL__OP_reshape
             ? gemel_reshape_at(value, (size_t)rank, dims, gemel__pull_where(p, ref))
             : gemel_broadcast_to_at(value, (size_t)rank, dims, gemel__pull_where(p, ref));
}

static gemel_value view_of(const gemel__pull *p, gemel_value value, gemel__ref ref) {
  const gemel_attr *order = &gemel__pull_attrs(p, ref)[0];
  return gemel__pull_op(p, ref) == GEMEL__OP_dimshuffle
             ? gemel_dimshuffle_at(value, order->count, order->u.ints, gemel__pull_where(p, ref))
             : shaped(p, value, ref);
}

/* The product REF of X and Y, which have MORE axes, 0 or 1, before those that REF's operands have:
 * contracted over these too. */
static gemel_value product_of(const gemel__pull *p, gemel__ref ref, gemel_value x, gemel_value y,
                              int more) {
  gemel__dot_axes axes;
  int64_t contract[2][GEMEL_MAX_RANK] = {{0}}, batch[2][GEMEL_MAX_RANK];
  gemel__dot_axes_of(gemel__pull_attrs(p, ref), gemel__pull_rank(p, gemel__pull_operand(p, ref, 0)),
                     gemel__pull_rank(p, gemel__pull_operand(p, ref, 1)), &axes);
  for (int side = 0; side < 2; side++) {
    for (int k = 0; k < axes.n_contract; k++) {
      contract[side][k + more] = axes.contract[side][k] + more;
    }
    for (int k = 0; k < axes.n_batch; k++) {
      batch[side][k] = axes.batch[side][k] + more;
    }
  }
  size_t n = (size_t)(axes.n_contract + more), m = (size_t)axes.n_batch;
  gemel_dot_options options = {{n, contract[0]}, {n, contract[1]}, {m, batch[0]}, {m, batch[1]}};
  return gemel_dot_at(x, y, &options, gemel__pull_where(p, ref));
}

/* The sum over axes of all steps. */
static gemel_value sum_of(const gemel__pull *p, gemel__ref ref) {
  gemel__ref x = gemel__pull_operand(p, ref, 0);
  const gemel_attr *attrs = gemel__pull_attrs(p, ref);
  int rank = gemel__pull_rank(p, x), all = attrs[0].kind == GEMEL_ATTR_NONE;
  int64_t axes[GEMEL_MAX_RANK + 1] = {0}, order[GEMEL_MAX_RANK];
  unsigned char summed[GEMEL_MAX_RANK] = {0};
  size_t n = 1;
  for (size_t k = 0; k < (all ? (size_t)rank : attrs[0].count); k++) {
    int axis = all ? (int)k : gemel__axis(attrs[0].u.ints[k], rank);
    summed[axis] = 1;
    axes[n++] = axis + 1;
  }
  gemel_sum_options options = {.axes = {n, axes}};
  gemel_value value = gemel_sum_at(gemel__pull_rows_of(p, x), &options, gemel__pull_where(p, ref));
  if (attrs[1].u.i == 0 || gemel_is_null(value)) {
    return value;
  }
  for (int k = 0, left = 0; k < rank; k++) {
    order[k] = summed[k] ? -1 : left++;
  }
  return gemel_dimshuffle_at(value, (size_t)rank, order, gemel__pull_where(p, ref));
}

static gemel_value sum_of_rows(const gemel__pull *p, gemel__ref ref) {
  static const int64_t first[] = {0};
  gemel_sum_options options = {.axes = {1, first}};
  return gemel_sum_at(gemel__pull_rows_of(p, ref), &options, gemel__pull_where(p, ref));
}

/* The sum of REF over the steps. */
static gemel_value total_of(const gemel__pull *p, gemel__ref ref) {
  uint32_t side = 0;
  gemel_location where = gemel__pull_where(p, ref);
  term_kind kind = kind_of(p, ref, &side);
  gemel_value in[2] = {gemel__no_value, gemel__no_value};
  if (kind == PRODUCT) {
    return product_of(p, ref, gemel__pull_rows_of(p, gemel__pull_operand(p, ref, 0)),
                      gemel__pull_rows_of(p, gemel__pull_operand(p, ref, 1)), 1);
  }
  if (kind == ROWS || kind == SUM) {
    return kind == ROWS ? sum_of_rows(p, ref) : sum_of(p, ref);
  }
  for (int k = 0; k < operands_of(kind); k++) {
    in[k] = total_of(p, gemel__pull_operand(p, ref, inner_of(kind, side, k)));
  }
  if (kind == TIMES || kind == PARTLY) {
    gemel_value total = in[0];
    in[!side] = constant_of(p, gemel__pull_operand(p, ref, !side));
    in[side] = total;
  }
  return kind == PLUS      ? gemel_add_at(in[0], in[1], where)
         : kind == MINUS   ? gemel_sub_at(in[0], in[1], where)
         : kind == NEGATED ? gemel_neg_at(in[0], where)
         : kind == TIMES   ? gemel_mul_at(in[0], in[1], where)
         : kind == VIEW    ? view_of(p, in[0], ref)
                           : product_of(p, ref, in[0], in[1], 0);
}

gemel_value gemel__pull_last_of(const gemel__pull *p, size_t k) {
  gemel__ref at = p->body->inputs[k], term;
  gemel_value value = gemel__edit_value(p->edit, p->old.operands[k]);
  int minus;
  while (!gemel__pull_is_same(at, p->body->outputs[k]) && climb(p, &at, &term, &minus)) {
    gemel_value total = total_of(p, term);
    value = minus ? gemel_sub_at(value, total, gemel__pull_where(p, term))
                  : gemel_add_at(value, total, gemel__pull_where(p, term));
  }
  return value;
}
