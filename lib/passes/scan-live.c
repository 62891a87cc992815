/* SPDX-License-Identifier: MIT
 *
 * What is live of loops that are to be joined: see scan-parts.h. A size that the new body speaks of
 * must be that of an axis of an operand; so an operand that nobody reads may have to stay for its
 * sizes, as a constant or as a sequence.
 */
#include "core/alloc.h"
#include "core/attrs.h"
#include "core/tensor.h"
#include "passes/scan-parts.h"

enum { MOST_MOVED = 16 }; /* elements of a constant */

/* ---- What is live ---- */

static void need_node(gemel__join_part *p, uint32_t node) {
  if (!p->needed[node]) {
    p->needed[node] = 1;
    p->stack[p->depth++] = node;
  }
}

static void need_output(gemel__join *j, gemel__join_part *p, size_t k) {
  gemel__join_out(j, p, k)->live = 1;
  need_node(p, p->old.scan.body->outputs[k].node);
}

static void need_what_is_read(gemel__join *j, gemel__join_part *p) {
  const gemel__scan *s = &p->old.scan;
  for (size_t k = 0; k < s->states; k++) {
    int history =
        s->rows && gemel__join_uses(j, gemel__scan_node_result(&p->old, gemel__scan_history(s, k)));
    if (history || gemel__join_uses(j, gemel__scan_node_result(&p->old, k))) {
      need_output(j, p, k);
    }
    gemel__join_in(j, p, k)->keeps_rows = history && gemel__join_is_partial(j);
  }
  for (size_t k = 0; k < s->values; k++) {
    if (gemel__join_uses(j, gemel__scan_node_result(&p->old, gemel__scan_stack(s, k)))) {
      need_output(j, p, s->states + k);
    }
  }
  if (s->until) {
    need_output(j, p, s->states + s->values);
  }
}

const gemel_tensor *gemel__join_small_constant(const gemel_graph *graph, gemel__ref ref) {
  const gemel__node *node = gemel__node_at(graph, ref.node);
  if (node->op != GEMEL__OP_constant) {
    return NULL;
  }
  const gemel_tensor *tensor = gemel__attrs_at(graph->context, node->attrs)->values[0].u.tensor;
  return gemel_tensor_elements(tensor) <= MOST_MOVED ? tensor : NULL;
}

const gemel_tensor *gemel__join_moved_constant(const gemel_graph *graph, gemel__ref ref) {
  uint32_t count;
  if (gemel__node_at(graph, ref.node)->op == GEMEL__OP_broadcast_to) {
    ref = gemel__node_inputs(graph, ref.node, &count)[0];
  }
  return gemel__join_small_constant(graph, ref);
}

static void find_kinds(gemel__join *j, gemel__join_part *p) {
  const gemel_graph *body = p->old.scan.body;
  for (size_t k = 0; k < p->n_inputs; k++) {
    gemel__join_input *in = gemel__join_in(j, p, k);
    gemel__ref at = {body->inputs[k].node, 0};
    int live = p->needed[at.node];
    in->kind = live ? gemel__scan_node_kind(&p->old, k) : GEMEL__INPUT_GONE;
    if (k < p->old.scan.states) {
      const gemel__ref *next = &body->outputs[k];
      int same = next->node == at.node;
      int moves = gemel__join_out(j, p, k)->live &&
                  (!same || in->keeps_rows || gemel__join_is_truncated(j));
      in->frozen = gemel__join_out(j, p, k)->live && !moves;
      in->kind = moves ? GEMEL__STATE_INPUT : live ? GEMEL__CONSTANT_INPUT : GEMEL__INPUT_GONE;
    }
    if (in->kind == GEMEL__CONSTANT_INPUT &&
        gemel__join_moved_constant(j->graph, in->outer) != NULL) {
      in->kind = GEMEL__INPUT_INSIDE;
    }
  }
}

void gemel__join_find_live(gemel__join *j, gemel__join_part *p) {
  const gemel_graph *body = p->old.scan.body;
  for (size_t k = 0; k < p->n_inputs; k++) {
    p->input_of[body->inputs[k].node] = (uint32_t)k + 1;
  }
  need_what_is_read(j, p);
  while (p->depth > 0) {
    uint32_t node = p->stack[--p->depth], count, k = p->input_of[node];
    const gemel__ref *in = gemel__node_inputs(body, node, &count);
    if (k > 0 && k <= p->old.scan.states) {
      need_output(j, p, k - 1);
    }
    for (uint32_t i = 0; i < count; i++) {
      need_node(p, in[i].node);
    }
  }
  find_kinds(j, p);
}

/* ---- Sizes ---- */

/* For gemel__dim_substitute and gemel__attrs_substitute: symbols of the old body in the new one,
 * which has them then. */
static gemel_dim use_symbol(void *user, const gemel__atom *atom, gemel_dim self) {
  gemel__join_part *p = user;
  for (size_t k = 0; atom->kind == GEMEL__ATOM_SYMBOL && k < p->symbols.count; k++) {
    if (p->symbols.names[k] == atom->name) {
      p->used[k] = 1;
      return p->symbols.sizes[k];
    }
  }
  return self;
}

static void use_type(gemel__join *j, gemel__join_part *p, size_t k) {
  gemel_type type = gemel__body_input(p->old.scan.body, k);
  for (int axis = 0; axis < gemel_type_rank(j->context, type); axis++) {
    gemel__dim_substitute(j->context, gemel_type_dims(j->context, type)[axis], use_symbol, p);
  }
}

/* Marks the symbols that the needed nodes and inputs of P have. */
static gemel_status use_symbols(gemel__join *j, gemel__join_part *p) {
  gemel_status status = GEMEL_OK;
  uint32_t id;
  for (size_t node = 0; node < p->n_nodes && status == GEMEL_OK; node++) {
    uint32_t attrs = gemel__node_at(p->old.scan.body, (uint32_t)node)->attrs;
    if (p->needed[node] && attrs != 0 && p->input_of[node] == 0) {
      status = gemel__attrs_substitute(j->context, attrs, use_symbol, p, &id, j->error);
    }
  }
  for (size_t k = 0; k < p->n_inputs; k++) {
    if (gemel__join_in(j, p, k)->kind != GEMEL__INPUT_GONE) {
      use_type(j, p, k);
    }
  }
  return status;
}

static int has_axis(const gemel__join *j, const gemel__join_input *in, gemel_dim dim) {
  const gemel_dim *dims = gemel_type_dims(j->context, in->type);
  int rank = gemel_type_rank(j->context, in->type), axis = 0;
  while (axis < rank && !gemel_dim_equal(dims[axis], dim)) {
    axis++;
  }
  return axis < rank;
}

/* For gemel__dim_substitute: finds a symbol of the new body that no operand's axis tells. */
typedef struct untold {
  gemel__join *join;
  gemel_dim dim;
} untold;

static gemel_dim find_untold(void *user, const gemel__atom *atom, gemel_dim self) {
  untold *u = user;
  size_t k = 0;
  (void)atom;
  while (k < u->join->n_inputs && !(gemel__join_is_operand(&u->join->inputs[k]) &&
                                    has_axis(u->join, &u->join->inputs[k], self))) {
    k++;
  }
  u->dim = k == u->join->n_inputs ? self : u->dim;
  return self;
}

/* Input K of P becomes an operand after all, for its sizes: not as a state, nor within. */
static void keep_input(gemel__join *j, gemel__join_part *p, size_t k) {
  int kind = gemel__scan_node_kind(&p->old, k);
  gemel__join_in(j, p, k)->kind = kind == GEMEL__ROW_INPUT ? kind : GEMEL__CONSTANT_INPUT;
  use_type(j, p, k);
}

/* An input that tells DIM becomes an operand. */
static gemel_status keep_teller(gemel__join *j, gemel_dim dim) {
  for (size_t i = 0; i < j->n_parts; i++) {
    gemel__join_part *p = &j->parts[i];
    for (size_t k = 0; k < p->n_inputs; k++) {
      if (!gemel__join_is_operand(gemel__join_in(j, p, k)) &&
          has_axis(j, gemel__join_in(j, p, k), dim)) {
        keep_input(j, p, k);
        return GEMEL_OK;
      }
    }
  }
  return GEMEL_DECLINED;
}

/* Keeps what tells the sizes of P's part of the new body. */
static gemel_status keep_sizes(gemel__join *j, gemel__join_part *p, int *more) {
  gemel_status status = GEMEL_OK;
  for (size_t k = 0; k < p->symbols.count && status == GEMEL_OK; k++) {
    untold u = {j, GEMEL_DIM_NONE};
    if (p->used[k]) {
      gemel__dim_substitute(j->context, p->symbols.sizes[k], find_untold, &u);
    }
    if (!gemel_dim_is_none(u.dim)) {
      status = keep_teller(j, u.dim);
      *more = 1;
    }
  }
  return status;
}

/* A loop has an operand at least. */
static void keep_operand(gemel__join *j) {
  size_t operands = (size_t)j->parts[0].old.scan.limited, results = 0;
  for (size_t k = 0; k < j->n_inputs; k++) {
    operands += (size_t)gemel__join_is_operand(&j->inputs[k]);
  }
  for (size_t k = 0; k < j->n_outputs; k++) {
    results += (size_t)j->outputs[k].live;
  }
  if (operands == 0 && results > 0 && j->n_inputs > 0) {
    keep_input(j, &j->parts[0], 0);
  }
}

/* Inputs that go, or move in, may be what told the sizes of others. */
gemel_status gemel__join_find_operands(gemel__join *j) {
  gemel_status status = GEMEL_OK;
  int more = 0;
  for (size_t k = 0; k < j->n_inputs; k++) {
    more |= !gemel__join_is_operand(&j->inputs[k]);
  }
  if (!more) {
    return GEMEL_OK;
  }
  for (size_t i = 0; i < j->n_parts && status == GEMEL_OK; i++) {
    status = use_symbols(j, &j->parts[i]);
  }
  keep_operand(j);
  while (more && status == GEMEL_OK) {
    more = 0;
    for (size_t i = 0; i < j->n_parts && status == GEMEL_OK; i++) {
      status = keep_sizes(j, &j->parts[i], &more);
    }
  }
  return status;
}
