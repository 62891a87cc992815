/* SPDX-License-Identifier: MIT
 *
 * Facts of elements, from the facts of operands, operation by operation. Each rule holds for the
 * arithmetic as it is done, not for the reals: floats underflow, so a product of positive numbers
 * may be 0; -0 counts as not below 0, so 1 divided by what is only "not below 0" may be -inf;
 * integers wrap, so their squares, sums and even absolute values may be negative. That floats are
 * rounded doesn't matter, since rounding keeps signs and order.
 */
#include "rules/facts.h"

#include <string.h>
#include "core/dtype.h"
#include "core/tensor.h"
#include "rules/term.h"

enum { MAX_DEPTH = 6, MAX_NODES = 64, MAX_SPLAT = 64, MAX_STEPS = 16 };
enum {
  N = GEMEL__NONNEGATIVE,
  Z = GEMEL__NONZERO,
  M = GEMEL__NOT_NAN,
  P = GEMEL__POSITIVE,
  EVERY = N | Z | M
};

/* ---- Dtypes ---- */

/* Binary digits that DTYPE's significand (of an integer: its magnitude) has. */
static int digits(gemel_dtype dtype) {
  static const signed char of_float[GEMEL_DTYPE_COUNT] = {
      [GEMEL_F16] = 11, [GEMEL_BF16] = 8, [GEMEL_F32] = 24, [GEMEL_F64] = 53};
  int bits = 8 * (int)gemel_dtype_size(dtype);
  gemel_kind kind = gemel_dtype_kind(dtype);
  return kind == GEMEL_KIND_FLOAT  ? of_float[dtype]
         : kind == GEMEL_KIND_BOOL ? 1
                                   : bits - (kind == GEMEL_KIND_SIGNED);
}

int gemel__exact_cast(gemel_dtype from, gemel_dtype to) {
  gemel_kind source = gemel_dtype_kind(from), target = gemel_dtype_kind(to);
  if (from == to || source == GEMEL_KIND_BOOL) {
    return 1;
  }
  if (target == GEMEL_KIND_BOOL || (source == GEMEL_KIND_FLOAT && target != source) ||
      (source == GEMEL_KIND_SIGNED && target == GEMEL_KIND_UNSIGNED)) {
    return 0;
  }
  if (from == GEMEL_F16 && to == GEMEL_BF16) {
    return 0;
  }
  if (from == GEMEL_BF16 && to == GEMEL_F16) {
    return 0;
  }
  return digits(from) <= digits(to);
}

/* ---- Constants ---- */

static const char *operation(const gemel_graph *graph, uint32_t node) {
  return gemel__node_op(graph, node)->record.name;
}

/* strcmp(A, B) == 0; most operations are told apart by two letters. */
static int is_called(const char *a, const char *b) {
  return a[0] == b[0] && a[1] == b[1] && strcmp(a, b) == 0;
}

static const gemel_tensor *constant_of(const gemel_graph *graph, uint32_t node) {
  const gemel__node *record = gemel__node_at(graph, node);
  return is_called(operation(graph, node), "constant")
             ? gemel__attrs_at(graph->context, record->attrs)->values[0].u.tensor
             : NULL;
}

/* 1 if all of at least one and at most 64 elements have the same bits. */
static int is_uniform(const gemel_tensor *tensor) {
  size_t bytes = gemel_dtype_size(gemel_tensor_dtype(tensor));
  int64_t count = gemel_tensor_elements(tensor);
  const char *data = gemel_tensor_data(tensor);
  int all = count >= 1 && count <= MAX_SPLAT;
  for (int64_t k = 1; all && k < count; k++) {
    all = memcmp(data, data + (size_t)k * bytes, bytes) == 0;
  }
  return all;
}

/* Operations that repeat or rearrange elements of one operand, and which operand that is. */
static const struct view {
  const char *name;
  unsigned char operand;
} views[] = {{"broadcast_to", 0}, {"fill", 1},      {"dimshuffle", 0}, {"reshape", 0},
             {"reverse", 0},      {"subtensor", 0}, {"split", 0}};

/* Where the elements of NODE come from; -1 if it computes new ones. */
static int view_of(const char *name) {
  for (size_t k = 0; k < sizeof views / sizeof *views; k++) {
    if (is_called(name, views[k].name)) {
      return views[k].operand;
    }
  }
  return -1;
}

int gemel__may_be_splat(const char *name) {
  return view_of(name) >= 0 || strcmp(name, "constant") == 0;
}

int gemel__splat(const gemel_graph *graph, gemel__ref value, const gemel_tensor **tensor) {
  for (int step = 0; step < MAX_STEPS; step++) {
    uint32_t n;
    const gemel__ref *inputs = gemel__node_inputs(graph, value.node, &n);
    *tensor = constant_of(graph, value.node);
    if (*tensor != NULL) {
      return is_uniform(*tensor);
    }
    int operand = view_of(operation(graph, value.node));
    if (operand < 0) {
      return 0;
    }
    value = inputs[operand];
  }
  return 0;
}

/* The facts that all elements of a constant share. */
static unsigned constant_facts(const gemel_tensor *tensor) {
  gemel_dtype dtype = gemel_tensor_dtype(tensor);
  int64_t count = gemel_tensor_elements(tensor);
  const char *data = gemel_tensor_data(tensor);
  unsigned facts = count <= MAX_SPLAT ? EVERY : 0;
  for (int64_t k = 0; k < count && facts != 0; k++) {
    double x = gemel__dtype_load(dtype, data + (size_t)k * gemel_dtype_size(dtype));
    facts &= (x < 0 ? 0u : N) | (x == 0 ? 0u : Z) | (x != x ? 0u : M);
  }
  return facts;
}

/* ---- Rules ---- */

/* What a rule sees: the facts of the operands (of those that there are), dtypes of the result and
 * of operand 0, and whether operands 0 and 1 are the same value. */
typedef struct node_facts {
  unsigned a, b, c;
  unsigned all; /* what all operands share */
  gemel_dtype from, to;
  int real; /* the result is a float */
  int twice;
} node_facts;

/* FACTS if CONDITION. */
static unsigned when(int condition, unsigned facts) {
  return condition ? facts : 0;
}

static int has(unsigned facts, unsigned wanted) {
  return (facts & wanted) == wanted;
}

static unsigned abs_facts(const node_facts *f) {
  return (f->a & (Z | M)) | when(f->real, N);
}

static unsigned neg_facts(const node_facts *f) {
  return f->a & (Z | M);
}

static unsigned keep_facts(const node_facts *f) {
  return f->a;
}

static unsigned sqr_facts(const node_facts *f) {
  return when(f->real, N | (f->a & M));
}

/* NaN below 0; the root of what isn't 0 is not 0. */
static unsigned sqrt_facts(const node_facts *f) {
  return N | (f->a & Z) | when(has(f->a, N | M), M);
}

/* e^x and what is made of it: 0 by underflow, but never below. */
static unsigned exp_facts(const node_facts *f) {
  return N | (f->a & M);
}

static unsigned monotone_facts(const node_facts *f) {
  return f->a & M;
}

/* NaN below 0 (log) or below -1 (log1p). */
static unsigned log_facts(const node_facts *f) {
  return when(has(f->a, N | M), M);
}

static unsigned relu_facts(const node_facts *f) {
  return N | (f->a & M) | when(has(f->a, P), P);
}

static unsigned maximum_facts(const node_facts *f) {
  return (f->a & f->b) | ((f->a | f->b) & N) | when(has(f->a, P) || has(f->b, P), P);
}

static unsigned minimum_facts(const node_facts *f) {
  return f->a & f->b;
}

static unsigned clip_facts(const node_facts *f) {
  return maximum_facts(f) & f->c;
}

/* Of what is not below 0; inf - inf can't happen then. */
static unsigned add_facts(const node_facts *f) {
  return when(f->real && has(f->a & f->b, N),
              N | (f->a & f->b & M) | when(has(f->a, P) || has(f->b, P), P));
}

static unsigned mul_facts(const node_facts *f) {
  return when(f->real, (f->a & f->b & N) | when(f->twice, N | (f->a & M)));
}

static unsigned div_facts(const node_facts *f) {
  return when(has(f->a, N) && has(f->b, P), N);
}

static unsigned pow_facts(const node_facts *f) {
  return when(f->real && has(f->a, P), N);
}

static unsigned where_facts(const node_facts *f) {
  return f->b & f->c;
}

static unsigned both_facts(const node_facts *f) {
  return f->a & f->b;
}

static unsigned all_facts(const node_facts *f) {
  return f->all;
}

/* Rounding keeps what isn't below 0; towards 0, too; only what wraps may not. */
static unsigned cast_facts(const node_facts *f) {
  int from_float = gemel_dtype_kind(f->from) == GEMEL_KIND_FLOAT;
  int exact = gemel__exact_cast(f->from, f->to);
  return when(exact || from_float || f->real, f->a & N) | when(exact || !from_float, f->a & M) |
         when(f->real, f->a & M) | when(exact || (!from_float && f->real), f->a & Z);
}

/* Sums and products of what isn't below 0; of bools they count. */
static unsigned sum_facts(const node_facts *f) {
  return when(f->from == GEMEL_BOOL, N) | when(f->real && has(f->a, N), f->a & (N | M));
}

static unsigned prod_facts(const node_facts *f) {
  return when(f->from == GEMEL_BOOL, N) | when(f->real, f->a & N);
}

static unsigned index_facts(const node_facts *f) {
  (void)f;
  return N;
}

/* 0, 1, ... in a dtype that doesn't wrap; too large for f16 it is inf. */
static unsigned arange_facts(const node_facts *f) {
  return M | when(f->real || f->to == GEMEL_I64, N);
}

static const struct fact_rule {
  const char *name;
  unsigned (*facts)(const node_facts *f);
} rules[] = {
    {"abs", abs_facts},         {"add", add_facts},
    {"arange", arange_facts},   {"argmax", index_facts},
    {"cast", cast_facts},       {"clip", clip_facts},
    {"div", div_facts},         {"exp", exp_facts},
    {"expm1", monotone_facts},  {"join", all_facts},
    {"log", log_facts},         {"log1p", log_facts},
    {"max", keep_facts},        {"maximum", maximum_facts},
    {"minimum", minimum_facts}, {"mul", mul_facts},
    {"neg", neg_facts},         {"pad", both_facts},
    {"pow", pow_facts},         {"prod", prod_facts},
    {"relu", relu_facts},       {"set_subtensor", both_facts},
    {"sigmoid", exp_facts},     {"sign", keep_facts},
    {"softmax", index_facts},   {"sqr", sqr_facts},
    {"sqrt", sqrt_facts},       {"sum", sum_facts},
    {"tanh", monotone_facts},   {"where", where_facts},
};

/* ---- Looking ---- */

typedef struct facts_search {
  const gemel_graph *graph;
  int nodes; /* looked at so far */
} facts_search;

static gemel_dtype dtype_of(const gemel_graph *graph, gemel__ref value) {
  gemel_type type = gemel__node_type(graph, value.node, value.output);
  return (gemel_dtype)gemel__type_at(graph->context, type)->dtype;
}

/* What DTYPE says by itself. */
static unsigned dtype_facts(gemel_dtype dtype) {
  gemel_kind kind = gemel_dtype_kind(dtype);
  return when(kind != GEMEL_KIND_FLOAT, M) |
         when(kind == GEMEL_KIND_BOOL || kind == GEMEL_KIND_UNSIGNED, N);
}

static unsigned look(facts_search *s, gemel__ref value, int depth);

static void look_at_operands(facts_search *s, gemel__ref value, int depth, node_facts *f) {
  uint32_t n;
  const gemel__ref *inputs = gemel__node_inputs(s->graph, value.node, &n);
  f->all = n > 0 ? EVERY : 0;
  for (uint32_t k = 0; k < n && (k < 3 || f->all != 0); k++) {
    unsigned facts = s->nodes <= MAX_NODES ? look(s, inputs[k], depth + 1) : 0;
    f->all &= facts;
    if (k < 3) {
      *(k == 0 ? &f->a : k == 1 ? &f->b : &f->c) = facts;
    }
  }
  f->from = n > 0 ? dtype_of(s->graph, inputs[0]) : f->to;
  f->twice = n > 1 && inputs[0].node == inputs[1].node && inputs[0].output == inputs[1].output;
}

/* Recurses to MAX_DEPTH at most, and looks at MAX_NODES nodes at most. */
static unsigned look(facts_search *s, gemel__ref value, int depth) {
  gemel_dtype dtype = dtype_of(s->graph, value);
  unsigned facts = dtype_facts(dtype);
  const gemel_tensor *tensor = constant_of(s->graph, value.node);
  const char *name = operation(s->graph, value.node);
  int operand = view_of(name);
  node_facts f = {.to = dtype, .real = gemel_dtype_kind(dtype) == GEMEL_KIND_FLOAT};
  uint32_t n;
  if (tensor != NULL) {
    return facts | constant_facts(tensor);
  }
  if (s->graph->input_mark_capacity > 0) {
    facts |= gemel_assumed(gemel__value(s->graph, value)) & EVERY;
  }
  if (depth == MAX_DEPTH || ++s->nodes > MAX_NODES) {
    return facts;
  }
  if (operand >= 0) {
    return facts | look(s, gemel__node_inputs(s->graph, value.node, &n)[operand], depth + 1);
  }
  for (size_t k = 0; k < sizeof rules / sizeof *rules; k++) {
    if (is_called(name, rules[k].name)) {
      look_at_operands(s, value, depth, &f);
      return facts | rules[k].facts(&f);
    }
  }
  return facts;
}

unsigned gemel__facts(const gemel_graph *graph, gemel__ref value) {
  facts_search s = {graph, 0};
  return look(&s, value, 0);
}
