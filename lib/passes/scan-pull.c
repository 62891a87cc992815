/* SPDX-License-Identifier: MIT
 *
 * Sums that leave a loop. A state s' = s + f that nothing else reads ends as its initial value plus
 * the sum of f over the steps, and that needs no loop where the rows of what f is made of are
 * there: f = dot(A, B) is then one product, contracted over the steps too. The gradient of a loop
 * by a constant is such a state, and one large product is faster than many narrow ones.
 *
 * f may be a sum, a difference, a multiple by a constant, or a view of such terms. A term is a
 * product, a sum over axes, or anything else, of which the rows are summed. What stands in a
 * product is a row or a constant of the loop, a state before or behind the step, whose rows are in
 * its history, or any other value, which the loop then stacks: `dot(h, da)` needs the rows of da.
 * New stacks take memory, so a state is only pulled out if a product leaves the loop with it or if
 * it needs none; and they never take more than the rows that the loop has already.
 *
 * A loop that may leave steps out, by `limited` or `until`, stays as it is: a product of all rows
 * would cost more than the steps that it takes, however few these are. So does a truncated loop,
 * whose derivatives don't reach the first steps as those of a product would; and a state of dtype
 * f16, where a sum of the terms alone, or before their factor, overflows too easily.
 */
#include <gemel/ops.h>
#include "core/alloc.h"
#include "core/attrs.h"
#include "core/dtype.h"
#include "core/fault.h"
#include "ops/linalg.h"
#include "ops/rule.h"
#include "passes/loop.h"
#include "passes/passes.h"
#include "rewrite/uses.h"

/* How deep terms are looked into, and how many views may lie above a constant. */
enum { MOST_DEPTH = 32, MOST_VIEWS = 8 };

static const gemel_value null_value = {NULL, 0, 0};

typedef struct scan_pull {
  gemel_edit *edit;
  gemel_error *error;
  gemel_context *context;
  gemel__scan_node old;
  const gemel_graph *body;
  const uint32_t *uses;  /* of the graph */
  gemel__uses inside;    /* of the body */
  uint32_t *input_of;    /* by node of the body: the input that it is, + 1 */
  uint32_t *user_of;     /* by node: one that uses it; 0: none */
  unsigned char *pulled; /* by state */
  gemel__ref *stacks;    /* new ones: values of the body */
  size_t n_stacks, stack_room;
  size_t n_inputs, n_pulled;
  double rows, added; /* bytes that a step has in rows, and in new stacks */
  int products;       /* that leave the loop with the state that is looked at */
  gemel__new_scan scan;
  gemel__scan_symbols symbols;
  gemel_value loop; /* the new one's first result; null: nothing is left of it */
} scan_pull;

/* ---- Values of the body ---- */

static int op_of(const scan_pull *p, gemel__ref ref) {
  return gemel__node_at(p->body, ref.node)->op;
}

static const gemel_attr *attrs_of(const scan_pull *p, gemel__ref ref) {
  return gemel__attrs_at(p->context, gemel__node_at(p->body, ref.node)->attrs)->values;
}

static gemel__ref operand_of(const scan_pull *p, gemel__ref ref, uint32_t k) {
  uint32_t count;
  return gemel__node_inputs(p->body, ref.node, &count)[k];
}

static gemel_type type_of(const scan_pull *p, gemel__ref ref) {
  return gemel__node_type(p->body, ref.node, ref.output);
}

static int rank_of(const scan_pull *p, gemel__ref ref) {
  return gemel_type_rank(p->context, type_of(p, ref));
}

static int is_same(gemel__ref a, gemel__ref b) {
  return a.node == b.node && a.output == b.output;
}

static uint32_t uses_of(const scan_pull *p, gemel__ref ref) {
  return p->inside.of[gemel__value_number(p->body, ref)];
}

/* 1 if sums of REF's dtype may be put in another order. */
static int is_summable(const scan_pull *p, gemel__ref ref) {
  gemel_dtype dtype = gemel_type_dtype(p->context, type_of(p, ref));
  return gemel__is_float(dtype) && dtype != GEMEL_F16;
}

/* 1 if REF is the same in all steps: a constant, perhaps behind views; that is *AT. */
static int is_constant(const scan_pull *p, gemel__ref ref, gemel__ref *at) {
  for (int k = 0; k < MOST_VIEWS; k++) {
    int op = op_of(p, ref);
    if (op == GEMEL__OP_constant || p->input_of[ref.node] > 0) {
      *at = ref;
      return op == GEMEL__OP_constant ||
             gemel__scan_node_kind(&p->old, p->input_of[ref.node] - 1) == GEMEL__CONSTANT_INPUT;
    }
    if (op != GEMEL__OP_dimshuffle) {
      return 0;
    }
    ref = operand_of(p, ref, 0);
  }
  return 0;
}

/* ---- Where rows are ---- */

typedef enum row_source { NOWHERE, SEQUENCE, BEFORE, BEHIND, STACK } row_source;

/* Where the rows of REF are without a new stack; *K: of which sequence, state or stack. */
static row_source source_of(const scan_pull *p, gemel__ref ref, size_t *k) {
  const gemel__scan *s = &p->old.scan;
  uint32_t input = p->input_of[ref.node];
  for (*k = 0; *k < s->values; ++*k) {
    if (is_same(p->body->outputs[s->states + *k], ref)) {
      return STACK;
    }
  }
  for (*k = 0; *k < p->n_stacks; ++*k) {
    if (is_same(p->stacks[*k], ref)) {
      *k += s->values;
      return STACK;
    }
  }
  if (input > 0 && input <= s->states + s->sequences) {
    *k = input <= s->states ? input - 1 : input - 1 - s->states;
    return input <= s->states ? BEFORE : SEQUENCE;
  }
  for (*k = 0; *k < s->states; ++*k) {
    if (!p->pulled[*k] && is_same(p->body->outputs[*k], ref)) {
      return BEHIND;
    }
  }
  return NOWHERE;
}

/* Bytes of a value of TYPE, symbols being guessed. */
static double bytes_of(const scan_pull *p, gemel_type type) {
  double bytes = (double)gemel_dtype_size(gemel_type_dtype(p->context, type));
  for (int axis = 0; axis < gemel_type_rank(p->context, type); axis++) {
    int64_t size = GEMEL__SIZE_GUESS;
    gemel_dim_is_constant(p->context, gemel_type_dims(p->context, type)[axis], &size);
    bytes *= (double)size;
  }
  return bytes;
}

/* Bytes of the rows that the loop has: sequences, stacks, and the histories that are read. */
static double bytes_of_rows(const scan_pull *p) {
  const gemel__scan *s = &p->old.scan;
  double bytes = 0;
  for (size_t k = s->states; k < s->states + s->sequences; k++) {
    bytes += bytes_of(p, gemel__body_input(p->body, k));
  }
  for (size_t k = 0; k < s->states + s->values; k++) {
    gemel__ref history = gemel__scan_node_result(&p->old, gemel__scan_history(s, k));
    if (k >= s->states || p->uses[gemel__value_number(p->old.graph, history)] > 0) {
      bytes += bytes_of(p, gemel__body_output(p->body, k));
    }
  }
  return bytes;
}

/* Has REF stacked: 1. 0: its size is known only in the body, it has too many axes, or that is too
 * much memory. */
static int add_stack(scan_pull *p, gemel__ref ref) {
  gemel_type type = type_of(p, ref);
  if (gemel__type_at(p->context, type)->has_runtime || rank_of(p, ref) == GEMEL_MAX_RANK ||
      p->added + bytes_of(p, type) > p->rows) {
    return 0;
  }
  if (gemel__grow(&p->stacks, &p->stack_room, p->n_stacks + 1, sizeof *p->stacks) != 0) {
    gemel__no_memory(p->error, "a loop");
    return 0;
  }
  p->added += bytes_of(p, type);
  p->stacks[p->n_stacks++] = ref;
  return 1;
}

/* Sees to it that there are rows of REF. */
static int need_rows(scan_pull *p, gemel__ref ref) {
  size_t k;
  for (int views = 0; views < MOST_VIEWS && source_of(p, ref, &k) == NOWHERE; views++) {
    if (op_of(p, ref) != GEMEL__OP_dimshuffle) {
      return add_stack(p, ref);
    }
    ref = operand_of(p, ref, 0);
  }
  return source_of(p, ref, &k) != NOWHERE;
}

/* ---- Terms ---- */

typedef enum term_kind { ROWS, PLUS, MINUS, NEGATED, TIMES, VIEW, PRODUCT, PARTLY, SUM } term_kind;

/* What kind of term REF is; *SIDE: of TIMES the operand that is no constant, of PARTLY, a product
 * by a constant, too. What is read elsewhere is computed all the same, so there its rows are
 * summed. */
static term_kind kind_of(const scan_pull *p, gemel__ref ref, uint32_t *side) {
  gemel__ref at;
  size_t k;
  int op = op_of(p, ref);
  if (source_of(p, ref, &k) != NOWHERE || uses_of(p, ref) > 1 || ref.output != 0) {
    return ROWS;
  }
  if (op == GEMEL__OP_mul || op == GEMEL__OP_dot) {
    int x = is_constant(p, operand_of(p, ref, 0), &at);
    int y = is_constant(p, operand_of(p, ref, 1), &at);
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
static int plan_term(scan_pull *p, gemel__ref ref, gemel_dtype dtype, int depth) {
  gemel__ref at;
  uint32_t side = 0;
  gemel_type type = type_of(p, ref);
  if (depth == MOST_DEPTH || gemel_type_dtype(p->context, type) != dtype ||
      gemel__type_at(p->context, type)->has_runtime || is_constant(p, ref, &at)) {
    return 0;
  }
  term_kind kind = kind_of(p, ref, &side);
  if (kind == ROWS) {
    return need_rows(p, ref);
  }
  if (kind == SUM) {
    return need_rows(p, operand_of(p, ref, 0));
  }
  if (kind == PRODUCT) {
    p->products++;
    return need_rows(p, operand_of(p, ref, 0)) && need_rows(p, operand_of(p, ref, 1));
  }
  p->products += kind == PARTLY;
  int good = 1;
  for (int k = 0; k < operands_of(kind) && good; k++) {
    good = plan_term(p, operand_of(p, ref, inner_of(kind, side, k)), dtype, depth + 1);
  }
  return good;
}

/* ---- States ---- */

/* The next value of a state is a chain of sums, the first of which has the state for an operand.
 * *AT, the state or a sum on the chain, becomes the sum above it, whose other operand is *TERM,
 * subtracted if *MINUS. 0: there is none, or more than the chain reads *AT. */
static int climb(const scan_pull *p, gemel__ref *at, gemel__ref *term, int *minus) {
  gemel__ref up = {p->user_of[at->node], 0};
  if (uses_of(p, *at) != 1 || up.node == 0) {
    return 0;
  }
  gemel__ref x = operand_of(p, up, 0);
  int op = op_of(p, up), first = is_same(x, *at);
  if ((op != GEMEL__OP_add && (op != GEMEL__OP_sub || !first)) ||
      type_of(p, up) != type_of(p, *at)) {
    return 0;
  }
  *term = first ? operand_of(p, up, 1) : x;
  *minus = op == GEMEL__OP_sub;
  *at = up;
  return 1;
}

/* 1 if the loop can do without state K. */
static int plan_state(scan_pull *p, size_t k) {
  gemel__ref at = p->body->inputs[k], next = p->body->outputs[k], term;
  gemel_dtype dtype = gemel_type_dtype(p->context, type_of(p, at));
  int minus, good = !is_same(at, next);
  p->products = 0;
  while (good && !is_same(at, next)) {
    good = climb(p, &at, &term, &minus) && plan_term(p, term, dtype, 0);
  }
  return good && uses_of(p, next) == 1;
}

static int is_read(const scan_pull *p, size_t result) {
  return p->uses[gemel__value_number(p->old.graph, gemel__scan_node_result(&p->old, result))] > 0;
}

/* Pulls state K out if that is possible and worth it. */
static void try_state(scan_pull *p, size_t k) {
  size_t stacks = p->n_stacks;
  double added = p->added;
  if (!is_read(p, k) || is_read(p, gemel__scan_history(&p->old.scan, k)) ||
      !is_summable(p, p->body->inputs[k])) {
    return;
  }
  p->pulled[k] = 1;
  if (plan_state(p, k) && (p->products > 0 || p->n_stacks == stacks)) {
    p->n_pulled++;
    return;
  }
  p->pulled[k] = 0;
  p->n_stacks = stacks;
  p->added = added;
}

/* Twice, since what one state has stacked may be all that another needs. */
static void plan(scan_pull *p) {
  for (int round = 0; round < 2; round++) {
    for (size_t k = 0; k < p->old.scan.states; k++) {
      if (!p->pulled[k]) {
        try_state(p, k);
      }
    }
  }
}

/* ---- The loop that is left ---- */

/* The state's number in the new loop. */
static size_t new_state(const scan_pull *p, size_t k) {
  size_t before = 0;
  for (size_t i = 0; i < k; i++) {
    before += !p->pulled[i];
  }
  return before;
}

static gemel_status enter(scan_pull *p, gemel_value *inputs) {
  for (size_t k = 0; k < p->n_inputs; k++) {
    gemel_value old = gemel_graph_input((gemel_graph *)p->body, k);
    if (k < p->old.scan.states && p->pulled[k]) {
      inputs[k] = null_value;
      continue;
    }
    gemel_type type = gemel__scan_inner_type(p->context, &p->symbols, gemel_value_type(old));
    inputs[k] =
        gemel__new_scan_enter(&p->scan, gemel__scan_node_kind(&p->old, k), type, gemel_assumed(old),
                              gemel__node_where(p->body, p->body->inputs[k].node));
  }
  return p->scan.body->error.status;
}

/* The outputs of the new body, as values of the old one; how many of each kind. */
static size_t list_outputs(const scan_pull *p, gemel__ref *refs, size_t *states, size_t *values) {
  const gemel__scan *s = &p->old.scan;
  size_t n = 0;
  for (size_t k = 0; k < s->states; k++) {
    if (!p->pulled[k]) {
      refs[n++] = p->body->outputs[k];
    }
  }
  *states = n;
  for (size_t k = 0; k < s->values; k++) {
    refs[n++] = p->body->outputs[s->states + k];
  }
  for (size_t k = 0; k < p->n_stacks; k++) {
    refs[n++] = p->stacks[k];
  }
  *values = n - *states;
  return n;
}

static gemel_status leave(scan_pull *p, const gemel_value *inputs, gemel__ref *refs,
                          gemel_value *made) {
  size_t states, values, n = list_outputs(p, refs, &states, &values);
  gemel_status status =
      gemel__new_scan_copy(&p->scan, &p->old, &p->symbols, inputs, n, refs, made, p->error);
  for (size_t k = 0; k < states + values && status == GEMEL_OK; k++) {
    status = k < states ? gemel__body_add_output(made[k], 'n', k)
                        : gemel__body_add_output(made[k], 'y', k - states);
  }
  return status;
}

/* Makes the body of the loop that is left. */
static gemel_status make_body(scan_pull *p) {
  size_t room = gemel__scan_body_outputs(&p->old.scan) + p->n_stacks + 1;
  gemel_value *inputs = gemel__alloc_array(p->n_inputs + 1, sizeof *inputs);
  gemel_value *made = gemel__alloc_array(room, sizeof *made);
  gemel__ref *refs = gemel__alloc_array(room, sizeof *refs);
  gemel_status status = inputs != NULL && made != NULL && refs != NULL
                            ? gemel__new_scan_begin(&p->scan, p->context, p->error)
                            : gemel__no_memory(p->error, "a loop");
  if (status == GEMEL_OK) {
    status = gemel__new_scan_bind(&p->scan, &p->old, &p->symbols, p->error);
  }
  status = status == GEMEL_OK ? enter(p, inputs) : status;
  status = status == GEMEL_OK ? leave(p, inputs, refs, made) : status;
  gemel__free(inputs, (p->n_inputs + 1) * sizeof *inputs);
  gemel__free(made, room * sizeof *made);
  gemel__free(refs, room * sizeof *refs);
  return gemel__body_status(p->scan.body, status, p->error);
}

/* Asks for what the new loop is made of: OPERANDS; how many. */
static size_t ask(scan_pull *p, gemel_value *operands) {
  size_t n = 0;
  for (size_t k = 0; k < p->n_inputs; k++) {
    if (k >= p->old.scan.states || !p->pulled[k]) {
      operands[n++] = gemel__edit_value(p->edit, p->old.operands[k]);
    }
  }
  gemel__edit_size(p->edit, p->old.length);
  return n;
}

/* ---- Outside ---- */

static gemel_location where_of(const scan_pull *p, gemel__ref ref) {
  return gemel__node_where(p->body, ref.node);
}

/* What state K, which stays, has for its last value or its history in the new loop. */
static gemel_value state_result(const scan_pull *p, size_t k, int history) {
  size_t left = p->old.scan.states - p->n_pulled;
  return gemel_value_output(p->loop, (uint32_t)(history * left + new_state(p, k)));
}

/* Stack K of the new loop: the old ones, then the new ones. Behind them is the number of steps. */
static gemel_value stack_result(const scan_pull *p, size_t k) {
  return gemel_value_output(p->loop, (uint32_t)(2 * (p->old.scan.states - p->n_pulled) + k));
}

/* The rows of REF, from where they are. */
static gemel_value rows_at(const scan_pull *p, row_source source, size_t k, gemel__ref ref) {
  const gemel__scan *s = &p->old.scan;
  if (source == SEQUENCE) {
    return gemel__edit_value(p->edit, p->old.operands[s->states + k]);
  }
  if (source == STACK) {
    return stack_result(p, k);
  }
  int backwards = s->reverse && !GEMEL__FAULT(scan_pull_reversed);
  return gemel__scan_rows(state_result(p, k, 1),
                          gemel_dim_constant(p->context, backwards != (source == BEHIND)),
                          gemel__edit_size(p->edit, p->old.length), where_of(p, ref));
}

/* VALUE, whose first axis are the steps, through the dimshuffle REF of the body. */
static gemel_value shuffled(const scan_pull *p, gemel_value value, gemel__ref ref) {
  const gemel_attr *order = &attrs_of(p, ref)[0];
  int64_t axes[GEMEL_MAX_RANK] = {0};
  for (size_t k = 0; k < order->count; k++) {
    axes[k + 1] = order->u.ints[k] < 0 ? -1 : order->u.ints[k] + 1;
  }
  return gemel_dimshuffle_at(value, order->count + 1, axes, where_of(p, ref));
}

static gemel_value rows_of(const scan_pull *p, gemel__ref ref) {
  gemel__ref views[MOST_VIEWS];
  size_t n = 0, k;
  row_source source;
  while ((source = source_of(p, ref, &k)) == NOWHERE && n < MOST_VIEWS) {
    views[n++] = ref;
    ref = operand_of(p, ref, 0);
  }
  gemel_value rows = rows_at(p, source, k, ref);
  while (n > 0 && !gemel_is_null(rows)) {
    rows = shuffled(p, rows, views[--n]);
  }
  return rows;
}

/* What is the same in all steps, outside. */
static gemel_value constant_of(const scan_pull *p, gemel__ref ref) {
  gemel__ref at;
  is_constant(p, ref, &at);
  gemel_value value = op_of(p, at) == GEMEL__OP_constant
                          ? gemel_constant_at(gemel__edit_target(p->edit),
                                              attrs_of(p, at)[0].u.tensor, where_of(p, at))
                          : gemel__edit_value(p->edit, p->old.operands[p->input_of[at.node] - 1]);
  gemel__ref views[MOST_VIEWS];
  size_t n = 0;
  for (; !is_same(ref, at); ref = operand_of(p, ref, 0)) {
    views[n++] = ref;
  }
  while (n > 0 && !gemel_is_null(value)) {
    const gemel_attr *order = &attrs_of(p, views[--n])[0];
    value = gemel_dimshuffle_at(value, order->count, order->u.ints, where_of(p, views[n]));
  }
  return value;
}

/* For gemel__dim_substitute: what a symbol of the body is, in the graph as it was. */
static gemel_dim outer_atom(void *user, const gemel__atom *atom, gemel_dim self) {
  const scan_pull *p = user;
  for (size_t k = 0; k < p->n_inputs && atom->kind == GEMEL__ATOM_SYMBOL; k++) {
    const gemel_dim *formal = gemel_type_dims(p->context, gemel__body_input(p->body, k));
    gemel__ref operand = p->old.operands[k];
    const gemel_dim *actual =
        gemel_type_dims(p->context, gemel__node_type(p->old.graph, operand.node, operand.output));
    int skip = gemel__scan_node_kind(&p->old, k) == GEMEL__ROW_INPUT;
    for (int axis = 0; axis < rank_of(p, p->body->inputs[k]); axis++) {
      if (formal[axis] == self) {
        return actual[axis + skip];
      }
    }
  }
  return self;
}

/* VALUE in the shape of REF. */
static gemel_value shaped(const scan_pull *p, gemel_value value, gemel__ref ref) {
  gemel_dim dims[GEMEL_MAX_RANK];
  int rank = rank_of(p, ref);
  for (int axis = 0; axis < rank; axis++) {
    gemel_dim inner = gemel_type_dims(p->context, type_of(p, ref))[axis];
    dims[axis] =
        gemel__edit_size(p->edit, gemel__dim_substitute(p->context, inner, outer_atom, (void *)p));
  }
  return op_of(p, ref) == GEMEL__OP_reshape
             ? gemel_reshape_at(value, (size_t)rank, dims, where_of(p, ref))
             : gemel_broadcast_to_at(value, (size_t)rank, dims, where_of(p, ref));
}

static gemel_value view_of(const scan_pull *p, gemel_value value, gemel__ref ref) {
  const gemel_attr *order = &attrs_of(p, ref)[0];
  return op_of(p, ref) == GEMEL__OP_dimshuffle
             ? gemel_dimshuffle_at(value, order->count, order->u.ints, where_of(p, ref))
             : shaped(p, value, ref);
}

/* The product REF of X and Y, which have MORE axes, 0 or 1, before those that REF's operands have:
 * contracted over these too. */
static gemel_value product_of(const scan_pull *p, gemel__ref ref, gemel_value x, gemel_value y,
                              int more) {
  gemel__dot_axes axes;
  int64_t contract[2][GEMEL_MAX_RANK] = {{0}}, batch[2][GEMEL_MAX_RANK];
  gemel__dot_axes_of(attrs_of(p, ref), rank_of(p, operand_of(p, ref, 0)),
                     rank_of(p, operand_of(p, ref, 1)), &axes);
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
  return gemel_dot_at(x, y, &options, where_of(p, ref));
}

/* The sum over axes of all steps. */
static gemel_value sum_of(const scan_pull *p, gemel__ref ref) {
  gemel__ref x = operand_of(p, ref, 0);
  const gemel_attr *attrs = attrs_of(p, ref);
  int rank = rank_of(p, x), all = attrs[0].kind == GEMEL_ATTR_NONE;
  int64_t axes[GEMEL_MAX_RANK + 1] = {0}, order[GEMEL_MAX_RANK];
  unsigned char summed[GEMEL_MAX_RANK] = {0};
  size_t n = 1;
  for (size_t k = 0; k < (all ? (size_t)rank : attrs[0].count); k++) {
    int axis = all ? (int)k : gemel__axis(attrs[0].u.ints[k], rank);
    summed[axis] = 1;
    axes[n++] = axis + 1;
  }
  gemel_sum_options options = {.axes = {n, axes}};
  gemel_value value = gemel_sum_at(rows_of(p, x), &options, where_of(p, ref));
  if (attrs[1].u.i == 0 || gemel_is_null(value)) {
    return value;
  }
  for (int k = 0, left = 0; k < rank; k++) {
    order[k] = summed[k] ? -1 : left++;
  }
  return gemel_dimshuffle_at(value, (size_t)rank, order, where_of(p, ref));
}

static gemel_value sum_of_rows(const scan_pull *p, gemel__ref ref) {
  static const int64_t first[] = {0};
  gemel_sum_options options = {.axes = {1, first}};
  return gemel_sum_at(rows_of(p, ref), &options, where_of(p, ref));
}

/* The sum of REF over the steps. */
static gemel_value total_of(const scan_pull *p, gemel__ref ref) {
  uint32_t side = 0;
  gemel_location where = where_of(p, ref);
  term_kind kind = kind_of(p, ref, &side);
  gemel_value in[2] = {null_value, null_value};
  if (kind == PRODUCT) {
    return product_of(p, ref, rows_of(p, operand_of(p, ref, 0)), rows_of(p, operand_of(p, ref, 1)),
                      1);
  }
  if (kind == ROWS || kind == SUM) {
    return kind == ROWS ? sum_of_rows(p, ref) : sum_of(p, ref);
  }
  for (int k = 0; k < operands_of(kind); k++) {
    in[k] = total_of(p, operand_of(p, ref, inner_of(kind, side, k)));
  }
  if (kind == TIMES || kind == PARTLY) {
    gemel_value total = in[0];
    in[!side] = constant_of(p, operand_of(p, ref, !side));
    in[side] = total;
  }
  return kind == PLUS      ? gemel_add_at(in[0], in[1], where)
         : kind == MINUS   ? gemel_sub_at(in[0], in[1], where)
         : kind == NEGATED ? gemel_neg_at(in[0], where)
         : kind == TIMES   ? gemel_mul_at(in[0], in[1], where)
         : kind == VIEW    ? view_of(p, in[0], ref)
                           : product_of(p, ref, in[0], in[1], 0);
}

/* The last value of state K, which was pulled. */
static gemel_value last_of(const scan_pull *p, size_t k) {
  gemel__ref at = p->body->inputs[k], term;
  gemel_value value = gemel__edit_value(p->edit, p->old.operands[k]);
  int minus;
  if (GEMEL__FAULT(scan_pull_initial)) {
    value = gemel_sub_at(value, value, gemel__node_where(p->old.graph, p->old.node));
  }
  while (!is_same(at, p->body->outputs[k]) && climb(p, &at, &term, &minus)) {
    gemel_value total = total_of(p, term);
    value = minus ? gemel_sub_at(value, total, where_of(p, term))
                  : gemel_add_at(value, total, where_of(p, term));
  }
  return value;
}

/* What old result K becomes. */
static gemel_value result_of(const scan_pull *p, size_t k) {
  const gemel__scan *s = &p->old.scan;
  size_t stacks = gemel__scan_stack(s, 0);
  if (k < stacks) {
    size_t state = k < s->states ? k : k - s->states;
    return p->pulled[state] ? last_of(p, state) : state_result(p, state, k >= s->states);
  }
  return stack_result(p, k < gemel__scan_count(s) ? k - stacks : s->values + p->n_stacks);
}

/* ---- All of it ---- */

/* 1 if an input that stays has an axis of size DIM. */
static int is_told(const scan_pull *p, gemel_dim dim) {
  for (size_t k = 0; k < gemel_graph_input_count(p->scan.body); k++) {
    gemel_type type = gemel__body_input(p->scan.body, k);
    for (int axis = 0; axis < gemel_type_rank(p->context, type); axis++) {
      if (gemel_type_dims(p->context, type)[axis] == dim) {
        return 1;
      }
    }
  }
  return 0;
}

/* 1 if the inputs that stay tell the sizes that those which go have told. */
static int sizes_are_told(const scan_pull *p) {
  gemel__atom atom;
  int told = 1;
  for (size_t k = 0; k < p->old.scan.states; k++) {
    gemel_type type = gemel__body_input(p->body, k);
    for (int axis = 0; p->pulled[k] && axis < gemel_type_rank(p->context, type); axis++) {
      gemel_dim dim =
          gemel__scan_inner_dim(p->context, &p->symbols, gemel_type_dims(p->context, type)[axis]);
      told &= !gemel__dim_is_atom(p->context, dim, &atom) || is_told(p, dim);
    }
  }
  return told;
}

/* 1 if the new loop computes anything. */
static int is_anything_left(const scan_pull *p) {
  const gemel__scan *s = &p->old.scan;
  return s->states + s->values + (size_t)s->until > p->n_pulled || p->n_stacks > 0;
}

/* 1 if what becomes of the results that are read has their types. */
static int results_fit(scan_pull *p) {
  int fit = 1;
  for (size_t k = 0; k < gemel__scan_results(&p->old.scan) && fit; k++) {
    if (is_read(p, k)) {
      gemel_value by = result_of(p, k);
      fit =
          !gemel_is_null(by) && gemel__edit_fits(p->edit, gemel__scan_node_result(&p->old, k), by);
    }
  }
  return fit;
}

static gemel_status replace_results(scan_pull *p, gemel_value *operands) {
  gemel_status status = GEMEL_OK;
  for (size_t k = 0; k < gemel__scan_results(&p->old.scan) && status == GEMEL_OK; k++) {
    if (is_read(p, k)) {
      ask(p, operands);
      status = gemel__edit_replace(p->edit, gemel__scan_node_result(&p->old, k), result_of(p, k));
    }
  }
  return status;
}

/* Makes the loop that is left, and replaces what is read of the old one. */
static gemel_status replace_loop(scan_pull *p) {
  gemel_value *operands = gemel__alloc_array(p->n_inputs + 1, sizeof *operands);
  if (operands == NULL) {
    return gemel__no_memory(p->error, "a loop");
  }
  size_t n = ask(p, operands);
  gemel_status status = gemel__edit_target(p->edit) != NULL ? GEMEL_OK : GEMEL_NO_MEMORY;
  if (status == GEMEL_OK && is_anything_left(p)) {
    status = n > 0 && sizes_are_told(p) ? GEMEL_OK : GEMEL_DECLINED;
    p->loop = status == GEMEL_OK ? gemel__new_scan_apply(&p->scan, p->edit, &p->old, n, operands)
                                 : null_value;
  }
  if (status == GEMEL_OK) {
    status = results_fit(p) ? replace_results(p, operands) : GEMEL_DECLINED;
  }
  gemel__free(operands, (p->n_inputs + 1) * sizeof *operands);
  return status;
}

static gemel_status prepare(scan_pull *p) {
  size_t n = p->body->n_nodes;
  p->input_of = gemel__alloc_zeroed(n * sizeof *p->input_of);
  p->user_of = gemel__alloc_zeroed(n * sizeof *p->user_of);
  p->pulled = gemel__alloc_zeroed(p->old.scan.states + 1);
  gemel_status status = gemel__uses_find(&p->inside, p->body, p->error);
  if (p->input_of == NULL || p->user_of == NULL || p->pulled == NULL || status != GEMEL_OK) {
    return gemel__no_memory(p->error, "a loop");
  }
  for (size_t k = 0; k < p->n_inputs; k++) {
    p->input_of[p->body->inputs[k].node] = (uint32_t)k + 1;
  }
  for (uint32_t node = 0; node < n; node++) {
    uint32_t count;
    const gemel__ref *in = gemel__node_inputs(p->body, node, &count);
    for (uint32_t k = 0; p->inside.of[node] > 0 && k < count; k++) {
      p->user_of[in[k].node] = node;
    }
  }
  p->rows = bytes_of_rows(p);
  return GEMEL_OK;
}

static void clear(scan_pull *p) {
  size_t n = p->body->n_nodes;
  gemel__uses_clear(&p->inside);
  gemel__free(p->input_of, n * sizeof *p->input_of);
  gemel__free(p->user_of, n * sizeof *p->user_of);
  gemel__free(p->pulled, p->old.scan.states + 1);
  gemel__free(p->stacks, p->stack_room * sizeof *p->stacks);
  gemel__scan_symbols_clear(&p->symbols);
  gemel__new_scan_clear(&p->scan);
}

/* Pulls sums out of the loop NODE. */
static gemel_status pull(gemel_edit *edit, uint32_t node, const uint32_t *uses,
                         gemel_error *error) {
  const gemel_graph *graph = gemel_edit_graph(edit);
  scan_pull p = {.edit = edit, .error = error, .context = graph->context, .uses = uses};
  if (gemel__scan_node_read(graph, node, &p.old) != GEMEL_OK || !p.old.scan.rows ||
      p.old.scan.limited || p.old.scan.until || p.old.truncate != GEMEL_DIM_NONE) {
    return GEMEL_OK;
  }
  p.body = p.old.scan.body;
  p.n_inputs = gemel_graph_input_count(p.body);
  gemel_status status = prepare(&p);
  if (status == GEMEL_OK) {
    plan(&p);
    status = p.n_pulled > 0 ? make_body(&p) : GEMEL_DECLINED;
  }
  status = status == GEMEL_OK ? replace_loop(&p) : status;
  clear(&p);
  return status == GEMEL_DECLINED ? GEMEL_OK : status;
}

gemel_status gemel__pass_scan_pull_sums(gemel_edit *edit, const void *data, gemel_error *error) {
  const gemel_graph *graph = gemel_edit_graph(edit);
  const uint32_t *uses = NULL;
  gemel_status status = GEMEL_OK;
  unsigned failures = gemel__dim_memory_failures(graph->context);
  (void)data;
  for (uint32_t k = 0; k < graph->n_nodes && status == GEMEL_OK; k++) {
    if (graph->nodes[k].op != GEMEL__OP_scan) {
      continue;
    }
    if (uses == NULL && (uses = gemel__edit_uses(edit)) == NULL) {
      return GEMEL_NO_MEMORY;
    }
    status = uses[k] > 0 ? pull(edit, k, uses, error) : GEMEL_OK;
  }
  return status == GEMEL_OK ? gemel__scan_sizes_status(graph->context, failures, error) : status;
}
