/*
 * Proposals: for every operation, whatever is known beforehand of an instance that exists, another
 * is found, the operation's type rule takes it, and what was known stays. The special cases that
 * rewrite rules are about all occur, also where x is known. Symbols, a list too long and what can't
 * be are declined and change nothing.
 *
 * SPDX-License-Identifier: MIT
 */
#include "ct.h"

#include <stdlib.h>
#include <string.h>
#include <gemel/gemel.h>
#include "core/attrs.h"
#include "core/error.h"
#include "core/graph.h"
#include "core/rows.h"
#include "instances/propose.h"
#include "support/attributes.h"

static gemel_error error;

static int draws(int many) {
  return getenv("GEMEL_VALGRIND") != NULL ? 1 + many / 50 : many;
}

static gemel__proposal blank(gemel_context *context, const char *op, gemel_dtype dtype,
                             gemel__random *random) {
  gemel__proposal p;
  memset(&p, 0, sizeof p);
  p.context = context;
  p.random = random;
  p.op = gemel__op_at(context, gemel__op_find(context, op));
  p.dtype = dtype;
  return p;
}

/* ---- Every operation ---- */

/* What can be proposed: input and constant have nothing to draw. */
static int proposable(const gemel_operation *op) {
  return strcmp(op->name, "input") != 0 && strcmp(op->name, "constant") != 0;
}

/* The proposal makes a node, whose outputs' types are those said. */
static void builds(const gemel__proposal *p) {
  gemel_graph *graph = gemel_graph_new(p->context, &error);
  gemel_value inputs[GEMEL__PROPOSAL_INPUTS], result;
  gemel_location nowhere = {NULL, 0};
  char name[] = "x0";
  for (size_t k = 0; k < p->n_inputs; k++) {
    name[1] = (char)('0' + k);
    inputs[k] = gemel_input(graph, name, p->inputs[k]);
  }
  result = gemel__apply(graph, p->op->id, p->attrs_id, p->n_inputs, inputs, nowhere);
  CT_EQ_STR(gemel_graph_error(graph)->text, "");
  for (size_t k = 0; k < p->n_outputs; k++) {
    CT_CHECK(
        gemel_type_equal(gemel_value_type(gemel_value_output(result, (uint32_t)k)), p->outputs[k]));
  }
  CT_CHECK(gemel_is_null(gemel_value_output(result, (uint32_t)p->n_outputs)));
  /* nothing was promoted: a cast would stand between */
  CT_CHECK(gemel_is_null(result) || result.node == p->n_inputs);
  gemel_graph_unref(graph);
}

/* Operations with a body have no proposer: these make do with their sampler. */
static int has_body(const gemel_operation *op) {
  return op->attrs != NULL && op->attrs[0].kind == GEMEL_ATTR_GRAPH;
}

/* Keeps a random part of a proposal as what is known; where a body says what belongs together, all
 * or nothing. */
static void keep_some(gemel__proposal *p, gemel__random *random) {
  uint64_t bits = gemel__random_bits(random);
  if (has_body(&p->op->record)) {
    bits = bits & 1 ? 0xffffffff : 0xffffffffULL << 32;
  }
  for (size_t k = 0; k < p->n_inputs; k++) {
    p->known_input[k] = (bits >> k & 1) != 0;
  }
  for (size_t k = 0; k < p->op->n_attrs; k++) {
    p->known_attr[k] = (bits >> (32 + k) & 3) == 0;
  }
}

static void same_known(const gemel__proposal *before, const gemel__proposal *after) {
  const struct gemel__attrs *stored = gemel__attrs_at(before->context, before->attrs_id);
  const struct gemel__attrs *now = gemel__attrs_at(before->context, after->attrs_id);
  gemel_attr mixed[GEMEL__PROPOSAL_ATTRS];
  uint32_t id;
  CT_EQ_UINT(after->n_inputs, before->n_inputs);
  for (size_t k = 0; k < before->n_inputs; k++) {
    CT_CHECK(!before->known_input[k] || gemel_type_equal(before->inputs[k], after->inputs[k]));
  }
  for (size_t k = 0; k < before->op->n_attrs; k++) {
    mixed[k] = before->known_attr[k] ? stored->values[k] : now->values[k];
  }
  CT_EQ_INT(
      gemel__attrs_intern(before->context, before->op, before->op->n_attrs, mixed, &id, &error),
      GEMEL_OK);
  CT_EQ_UINT(id, after->attrs_id);
}

static void is_normal(const gemel__proposal *p) {
  uint32_t normal;
  CT_EQ_INT(
      gemel__normal_attrs(p->context, p->op, p->attrs_id, p->n_inputs, p->inputs, &normal, &error),
      GEMEL_OK);
  CT_EQ_UINT(normal, p->attrs_id);
}

/* One operation in one dtype; counts what was asked and what was found. A dtype of which nothing is
 * found at first has no instances. */
static void try_operation(gemel_context *context, const gemel_operation *op, gemel_dtype dtype,
                          int *asked, int *found, int *tries) {
  int ours = 0, theirs = 0;
  for (int seed = 0; seed < draws(300) && (theirs > 0 || seed < 20); seed++) {
    gemel__random random;
    gemel__random_split(&random, 100 + (uint64_t)seed, (uint64_t)dtype);
    gemel__proposal p = blank(context, op->name, dtype, &random), q;
    ct_context("%s %s, seed %d", op->name, gemel_dtype_name(dtype), seed);
    ours++;
    if (gemel__propose(&p, &error) != GEMEL_OK) {
      continue;
    }
    builds(&p);
    is_normal(&p);
    keep_some(&p, &random);
    q = p;
    ours++;
    theirs++;
    *tries += p.tries;
    if (gemel__propose(&q, &error) == GEMEL_OK) {
      theirs++;
      *tries += q.tries;
      builds(&q);
      is_normal(&q);
      same_known(&p, &q);
    }
  }
  *asked += theirs > 0 ? ours : 0;
  *found += theirs;
}

static void every_operation(const void *data) {
  static const gemel_dtype dtypes[] = {GEMEL_F32, GEMEL_F64, GEMEL_BF16,
                                       GEMEL_I32, GEMEL_U8,  GEMEL_BOOL};
  (void)data;
  for (size_t k = 0;; k++) {
    gemel_context *context = gemel_context_new(&error);
    const gemel_operation *op = gemel_operation_at(context, k);
    int asked = 0, found = 0, tries = 0;
    if (op == NULL) {
      gemel_context_unref(context);
      break;
    }
    for (size_t i = 0; i < CT_COUNT(dtypes); i++) {
      try_operation(context, op, dtypes[i], &asked, &found, &tries);
    }
    ct_context("%s: %d of %d in %d tries", op->name, found, asked, tries);
    CT_CHECK(proposable(op) ? found > 0 : found == 0);
    CT_CHECK(found * 100 >= asked * 95);
    /* a proposer seldom tries again */
    CT_CHECK(tries * 100 <= found * (has_body(op) ? 400 : 104));
    gemel_context_unref(context);
  }
}

/* f32, or i64 if OP takes no f32, as an operation of integers alone. */
static gemel_dtype dtype_for(gemel_context *context, const gemel_operation *op) {
  enum { TRIES = 20 };
  for (uint64_t seed = 0; seed < TRIES; seed++) {
    gemel__random random;
    gemel__random_seed(&random, seed);
    gemel__proposal p = blank(context, op->name, GEMEL_F32, &random);
    if (gemel__propose(&p, &error) == GEMEL_OK) {
      return GEMEL_F32;
    }
  }
  return GEMEL_I64;
}

/* Operand K comes from elsewhere: any shape with an axis and elements, for an image three. */
static int from_elsewhere(gemel_context *context, const gemel_operation *op, size_t k,
                          uint64_t seed) {
  gemel__random random;
  gemel__random_split(&random, 900 + k, seed);
  gemel_dtype dtype = dtype_for(context, op);
  gemel__proposal x = blank(context, "neg", dtype, &random);
  gemel__proposal p = blank(context, op->name, dtype, &random);
  int64_t size;
  CT_EQ_INT(gemel__propose(&x, &error), GEMEL_OK);
  /* What moves over an image by strides has operands with a batch, channels and spatial axes. */
  int usable = gemel_type_rank(context, x.inputs[0]) >= (has_attribute(op, "stride") ? 3 : 1);
  for (int axis = 0; axis < gemel_type_rank(context, x.inputs[0]); axis++) {
    gemel_dim_is_constant(context, gemel_type_dims(context, x.inputs[0])[axis], &size);
    usable &= size > 0;
  }
  p.inputs[k] = x.inputs[0];
  p.known_input[k] = 1;
  ct_context("%s, input %d, seed %d", op->name, (int)k, (int)seed);
  return !usable ? -1 : gemel__propose(&p, &error) == GEMEL_OK;
}

/* Operations whose operand is a key, of one type. */
static int takes_key(const gemel_operation *op) {
  return strncmp(op->name, "random_", 7) == 0;
}

/* Operands that must be of another dtype or rank than such an x, or that only a sampler draws. */
static int takes_any(gemel_context *context, const gemel_operation *op, size_t k) {
  const struct gemel__row *row = gemel__op_at(context, gemel__op_find(context, op->name))->row;
  if (row->family == GEMEL__FAMILY_solve) {
    return 0; /* square matrices, and what has two axes */
  }
  if (strcmp(op->name, "where") == 0 || strcmp(op->name, "pad") == 0) {
    return (k == 0) == (op->name[0] == 'p');
  }
  if (strcmp(op->name, "searchsorted") == 0) {
    return k == 1;
  }
  int is_index = k == 1 && (strcmp(op->name, "take") == 0 || strcmp(op->name, "put") == 0);
  return !is_index && strncmp(op->name, "logical", 7) != 0 && !has_body(op) && !takes_key(op);
}

static void any_operand(const void *data) {
  gemel_context *context = gemel_context_new(&error);
  (void)data;
  for (size_t i = 0; i < gemel_operation_count(context); i++) {
    const gemel_operation *op = gemel_operation_at(context, i);
    for (size_t k = 0; k < (size_t)op->min_inputs; k++) {
      int asked = 0, found = 0;
      for (uint64_t seed = 0; seed < (uint64_t)draws(200) && takes_any(context, op, k); seed++) {
        int answer = from_elsewhere(context, op, k, seed);
        asked += answer >= 0;
        found += answer > 0;
      }
      ct_context("%s, input %d: %d of %d", op->name, (int)k, found, asked);
      CT_CHECK(!takes_any(context, op, k) || (asked > 0 && found * 100 >= asked * 99));
    }
  }
  gemel_context_unref(context);
}

static void deterministic(const void *data) {
  gemel_context *context = gemel_context_new(&error);
  (void)data;
  for (size_t k = 0; k < gemel_operation_count(context); k++) {
    const gemel_operation *op = gemel_operation_at(context, k);
    gemel__proposal p[2];
    gemel_dtype dtype = dtype_for(context, op);
    int different = 0;
    for (uint64_t seed = 0; seed < 20; seed++) {
      gemel_type first = p[0].inputs[0];
      for (int i = 0; i < 2; i++) {
        gemel__random random;
        gemel__random_seed(&random, seed);
        p[i] = blank(context, op->name, dtype, &random);
        gemel__propose(&p[i], &error);
      }
      ct_context("%s, seed %d", op->name, (int)seed);
      CT_EQ_UINT(p[0].attrs_id, p[1].attrs_id);
      CT_EQ_MEM(p[0].inputs, p[1].inputs, sizeof p[0].inputs);
      different |= seed > 0 && !gemel_type_equal(p[0].inputs[0], first);
    }
    CT_CHECK(different || op->min_inputs == 0 || takes_key(op) ||
             strcmp(op->name, "logical_not") == 0);
  }
  gemel_context_unref(context);
}

/* ---- Special cases ---- */

/* What a case looks at: shapes and integer attributes as plain numbers. */
typedef struct seen {
  size_t n_inputs;
  int rank[4];
  int64_t dims[4][GEMEL_MAX_RANK];
  size_t count[4];
  int64_t list[4][32];
} seen;

static int64_t number_at(gemel_context *context, const gemel_attr *a, size_t k) {
  int64_t value = 0;
  if ((a->kind & ~GEMEL_ATTR_LIST) == GEMEL_ATTR_DIM) {
    gemel_dim_is_constant(context, a->kind & GEMEL_ATTR_LIST ? a->u.dims[k] : a->u.dim, &value);
    return value;
  }
  if (a->kind == GEMEL_ATTR_DTYPE) {
    return a->u.dtype;
  }
  return a->kind & GEMEL_ATTR_LIST ? a->u.ints[k] : a->u.i;
}

static seen look(const gemel__proposal *p) {
  seen s;
  memset(&s, 0, sizeof s);
  s.n_inputs = p->n_inputs;
  for (size_t k = 0; k < p->n_inputs && k < 4; k++) {
    s.rank[k] = gemel_type_rank(p->context, p->inputs[k]);
    for (int i = 0; i < s.rank[k]; i++) {
      gemel_dim_is_constant(p->context, gemel_type_dims(p->context, p->inputs[k])[i],
                            &s.dims[k][i]);
    }
  }
  for (size_t k = 0; k < p->op->n_attrs && k < 4; k++) {
    s.count[k] = p->attrs[k].kind & GEMEL_ATTR_LIST ? p->attrs[k].count : 1;
    for (size_t i = 0; i < s.count[k] && i < 32; i++) {
      s.list[k][i] = number_at(p->context, &p->attrs[k], i);
    }
  }
  return s;
}

static int all_are(const seen *s, int list, int64_t value) {
  for (size_t k = 0; k < s->count[list]; k++) {
    if (s->list[list][k] != value) {
      return 0;
    }
  }
  return 1;
}

static int any_below(const seen *s, int list, int64_t bound) {
  for (size_t k = 0; k < s->count[list]; k++) {
    if (s->list[list][k] < bound) {
      return 1;
    }
  }
  return 0;
}

static int has_dim(const seen *s, int64_t size) {
  for (int k = 0; k < s->rank[0]; k++) {
    if (s->dims[0][k] == size) {
      return 1;
    }
  }
  return 0;
}

static int list_is_shape(const seen *s, int list, int input) {
  return s->count[list] == (size_t)s->rank[input] &&
         memcmp(s->list[list], s->dims[input], s->count[list] * 8) == 0;
}

static int size_zero(const seen *s) {
  return has_dim(s, 0);
}
static int size_one(const seen *s) {
  return has_dim(s, 1);
}
static int size_five(const seen *s) {
  return has_dim(s, 5);
}
static int scalar(const seen *s) {
  return s->rank[0] == 0;
}
static int square(const seen *s) {
  return s->rank[0] == 2 && s->dims[0][0] == s->dims[0][1] && s->dims[0][0] > 1;
}
static int identity_order(const seen *s) {
  for (size_t k = 0; k < s->count[0]; k++) {
    if (s->list[0][k] != (int64_t)k) {
      return 0;
    }
  }
  return s->count[0] == (size_t)s->rank[0] && s->rank[0] >= 2;
}
static int swaps_last(const seen *s) {
  return s->rank[0] == 3 && s->count[0] == 3 && s->list[0][0] == 0 && s->list[0][1] == 2;
}
static int reverses_order(const seen *s) {
  return s->rank[0] == 3 && s->count[0] == 3 && s->list[0][0] == 2 && s->list[0][1] == 1;
}
static int inserts_axis(const seen *s) {
  return any_below(s, 0, 0);
}
static int drops_axis(const seen *s) {
  return s->count[0] < (size_t)s->rank[0];
}
static int no_axes(const seen *s) {
  return s->count[0] == 0 && s->rank[0] > 0;
}
static int one_axis(const seen *s) {
  return s->count[0] == 1 && s->rank[0] > 1;
}
static int all_axes(const seen *s) {
  return s->count[0] == (size_t)s->rank[0] && s->rank[0] > 1;
}
static int keeps(const seen *s) {
  return s->list[1][0] == 1;
}
static int drops(const seen *s) {
  return s->list[1][0] == 0;
}
static int same_shape(const seen *s) {
  return list_is_shape(s, 0, 0) && s->rank[0] > 0;
}
static int merges(const seen *s) {
  return s->rank[0] == 3 && s->count[0] == 2 && s->dims[0][0] > 1 && s->dims[0][1] > 1 &&
         s->list[0][0] == s->dims[0][0] * s->dims[0][1];
}
static int splits_axis(const seen *s) {
  return s->rank[0] == 1 && s->count[0] == 2 && s->dims[0][0] > 1;
}
static int adds_one(const seen *s) {
  return s->count[0] == (size_t)s->rank[0] + 1 && s->list[0][0] == 1 && s->rank[0] > 0 &&
         memcmp(s->list[0] + 1, s->dims[0], (size_t)s->rank[0] * 8) == 0;
}
static int flattens(const seen *s) {
  return s->count[0] == 1 && s->rank[0] == 3;
}
static int adds_leading(const seen *s) {
  return s->count[0] > (size_t)s->rank[0] && s->rank[0] > 0;
}
static int expands_one(const seen *s) {
  for (int k = 0; k < s->rank[0] && s->count[0] == (size_t)s->rank[0]; k++) {
    if (s->dims[0][k] == 1 && s->list[0][k] > 1) {
      return s->rank[0] > 1;
    }
  }
  return 0;
}
static int all_windows(const seen *s, int64_t step, int strided, int start, int size, int steps) {
  for (int k = 0; k < s->rank[0]; k++) {
    int64_t n = s->dims[0][k], want = step > 0 ? 0 : n - 1;
    int64_t count = strided ? s->list[size][k] : n;
    if (s->list[steps][k] != step || (n > 0 && s->list[start][k] != want) ||
        s->list[size][k] != count) {
      return 0;
    }
  }
  return s->rank[0] > 0 && !has_dim(s, 0);
}
static int full_slice(const seen *s) {
  return all_windows(s, 1, 0, 0, 1, 2);
}
static int reversed_slice(const seen *s) {
  return all_windows(s, -1, 0, 0, 1, 2) && (has_dim(s, 2) || has_dim(s, 3));
}
static int strided_slice(const seen *s) {
  return s->rank[0] > 0 && s->list[1][0] > 1 && s->list[2][0] == 2;
}
static int empty_slice(const seen *s) {
  return s->rank[0] > 0 && any_below(s, 1, 1) && !has_dim(s, 0);
}
static int prefix(const seen *s) {
  return s->rank[0] > 0 && s->list[0][0] == 0 && s->list[2][0] == 1 && s->list[1][0] > 1 &&
         s->list[1][0] < s->dims[0][0];
}
static int writes_all(const seen *s) {
  return s->rank[0] > 0 && s->rank[1] == s->rank[0] && all_are(s, 1, 1) && all_are(s, 0, 0) &&
         memcmp(s->dims[0], s->dims[1], (size_t)s->rank[0] * 8) == 0;
}
static int writes_back(const seen *s) {
  return any_below(s, 1, 0);
}
static int writes_part(const seen *s) {
  return s->rank[0] == 1 && s->dims[1][0] > 0 && s->dims[1][0] < s->dims[0][0];
}
static int pads_nothing(const seen *s) {
  return s->rank[0] > 0 && all_are(s, 0, 0) && all_are(s, 1, 0) && all_are(s, 2, 0);
}
static int pads(const seen *s) {
  return s->rank[0] == 2 && s->list[0][0] > 0 && s->list[1][1] > 0 && all_are(s, 2, 0);
}
static int crops(const seen *s) {
  return any_below(s, 0, 0) && !any_below(s, 2, 0);
}
static int gaps(const seen *s) {
  return s->count[2] > 0 && s->list[2][0] > 0 && s->dims[0][0] > 1;
}
static int one_part(const seen *s) {
  return s->count[0] == 1;
}
static int three_parts(const seen *s) {
  return s->count[0] == 3;
}
static int joins_one(const seen *s) {
  return s->n_inputs == 1;
}
static int joins_two(const seen *s) {
  return s->n_inputs == 2;
}
static int joins_four(const seen *s) {
  return s->n_inputs == 4;
}
static int last_axis(const seen *s) {
  return s->list[0][0] == s->rank[0] - 1 && s->rank[0] > 1;
}
static int first_axis(const seen *s) {
  return s->list[0][0] == 0 && s->rank[0] > 1;
}
static int is_matmul(const seen *s) {
  return s->rank[0] == 2 && s->rank[1] == 2 && s->count[2] == 0 && s->count[0] == 1 &&
         s->list[0][0] == 1 && s->list[1][0] == 0 && s->dims[0][0] > 1 && s->dims[0][1] > 1 &&
         s->dims[1][1] > 1;
}
static int is_transposed(const seen *s) {
  return s->rank[0] == 2 && s->rank[1] == 2 && s->count[2] == 0 && s->count[0] == 1 &&
         s->list[0][0] == 1 && s->list[1][0] == 1;
}
static int is_matvec(const seen *s) {
  return s->rank[0] == 2 && s->rank[1] == 1 && s->count[0] == 1 && s->count[2] == 0;
}
static int is_vecvec(const seen *s) {
  return s->rank[0] == 1 && s->rank[1] == 1 && s->count[0] == 1;
}
static int is_outer(const seen *s) {
  return s->rank[0] == 1 && s->rank[1] == 1 && s->count[0] + s->count[2] == 0;
}
static int is_batched(const seen *s) {
  return s->rank[0] == 3 && s->rank[1] == 3 && s->count[2] == 1 && s->list[2][0] == 0 &&
         s->list[3][0] == 0 && s->list[0][0] == 2 && s->list[1][0] == 1 && s->count[0] == 1;
}
static int contracts_two(const seen *s) {
  return s->count[0] == 2;
}
static int contracts_none_left(const seen *s) {
  return s->count[0] > 0 && s->dims[0][s->list[0][0]] == 0;
}
static int second_scalar(const seen *s) {
  return s->rank[1] == 0 && s->rank[0] > 0;
}
static int second_same(const seen *s) {
  return s->rank[0] == s->rank[1] && s->rank[0] > 1 &&
         memcmp(s->dims[0], s->dims[1], (size_t)s->rank[0] * 8) == 0;
}
static int second_shorter(const seen *s) {
  return s->rank[1] < s->rank[0] && s->rank[1] > 0;
}
static int second_longer(const seen *s) {
  return s->rank[1] > s->rank[0] && s->rank[0] > 0;
}
static int second_expands(const seen *s) {
  int last = s->rank[0] - 1;
  return last > 0 && s->rank[1] == s->rank[0] && s->dims[0][last] > 1 && s->dims[1][last] == 1;
}
static int indexes(const seen *s) {
  return s->rank[1] == s->rank[0] - 1;
}
static int casts_to_itself(const seen *s) {
  return s->list[0][0] == GEMEL_F32;
}
static int casts_to_f64(const seen *s) {
  return s->list[0][0] == GEMEL_F64;
}

typedef struct special {
  const char *op, *name;
  int (*is)(const seen *s);
} special;

static const special specials[] = {{"exp", "size 0", size_zero},
                                   {"exp", "size 1", size_one},
                                   {"exp", "size 5", size_five},
                                   {"exp", "scalar", scalar},
                                   {"exp", "square", square},
                                   {"add", "scalar", second_scalar},
                                   {"add", "same shape", second_same},
                                   {"add", "fewer axes", second_shorter},
                                   {"add", "more axes", second_longer},
                                   {"add", "a one", second_expands},
                                   {"cast", "itself", casts_to_itself},
                                   {"cast", "f64", casts_to_f64},
                                   {"fill", "scalar", second_scalar},
                                   {"fill", "same shape", second_same},
                                   {"dimshuffle", "identity", identity_order},
                                   {"dimshuffle", "swap of the last two", swaps_last},
                                   {"dimshuffle", "reversed", reverses_order},
                                   {"dimshuffle", "new axis", inserts_axis},
                                   {"dimshuffle", "dropped axis", drops_axis},
                                   {"reshape", "same shape", same_shape},
                                   {"reshape", "merge", merges},
                                   {"reshape", "split", splits_axis},
                                   {"reshape", "a one", adds_one},
                                   {"reshape", "flat", flattens},
                                   {"reshape", "size 0", size_zero},
                                   {"broadcast_to", "same shape", same_shape},
                                   {"broadcast_to", "leading axes", adds_leading},
                                   {"broadcast_to", "expanded", expands_one},
                                   {"reverse", "no axes", no_axes},
                                   {"reverse", "one axis", one_axis},
                                   {"reverse", "all axes", all_axes},
                                   {"pad", "nothing", pads_nothing},
                                   {"pad", "padding", pads},
                                   {"pad", "crop", crops},
                                   {"pad", "interior", gaps},
                                   {"join", "one", joins_one},
                                   {"join", "two", joins_two},
                                   {"join", "four", joins_four},
                                   {"split", "one part", one_part},
                                   {"split", "three parts", three_parts},
                                   {"subtensor", "full", full_slice},
                                   {"subtensor", "reversed", reversed_slice},
                                   {"subtensor", "strided", strided_slice},
                                   {"subtensor", "empty", empty_slice},
                                   {"subtensor", "prefix", prefix},
                                   {"set_subtensor", "all", writes_all},
                                   {"set_subtensor", "part", writes_part},
                                   {"inc_subtensor", "backwards", writes_back},
                                   {"sum", "no axes", no_axes},
                                   {"sum", "one axis", one_axis},
                                   {"sum", "all axes", all_axes},
                                   {"sum", "keepdims", keeps},
                                   {"sum", "no keepdims", drops},
                                   {"sum", "size 0", size_zero},
                                   {"max", "one axis", one_axis},
                                   {"max", "no elements", size_zero},
                                   {"argmax", "last axis", last_axis},
                                   {"softmax", "last axis", last_axis},
                                   {"softmax", "first axis", first_axis},
                                   {"cross_entropy", "classes", indexes},
                                   {"cross_entropy", "distribution", second_same},
                                   {"dot", "matrix product", is_matmul},
                                   {"dot", "transposed", is_transposed},
                                   {"dot", "matrix and vector", is_matvec},
                                   {"dot", "vectors", is_vecvec},
                                   {"dot", "outer product", is_outer},
                                   {"dot", "batch", is_batched},
                                   {"dot", "two contracted axes", contracts_two},
                                   {"dot", "nothing to add up", contracts_none_left},
                                   {"dot", "size 1", size_one}};

enum { SPECIAL_DRAWS = 2000 };

/* How often the case occurs with all free, and with x taken from another proposal. */
static void one_special(const special *c, int *free_count, int *known_count) {
  gemel_context *context = gemel_context_new(&error);
  *free_count = *known_count = 0;
  for (uint64_t seed = 0; seed < SPECIAL_DRAWS; seed++) {
    gemel__random random;
    gemel__proposal p;
    gemel__random_seed(&random, seed);
    p = blank(context, c->op, GEMEL_F32, &random);
    if (gemel__propose(&p, &error) == GEMEL_OK) {
      seen s = look(&p);
      *free_count += c->is(&s) != 0;
      p.known_input[0] = 1;
      if (gemel__propose(&p, &error) == GEMEL_OK) {
        s = look(&p);
        *known_count += c->is(&s) != 0;
      }
    }
  }
  gemel_context_unref(context);
}

static void special_cases(const void *data) {
  (void)data;
  if (getenv("GEMEL_VALGRIND") != NULL)
    CT_SKIP("takes too long under Valgrind");
  for (size_t k = 0; k < CT_COUNT(specials); k++) {
    int free_count, known_count;
    one_special(&specials[k], &free_count, &known_count);
    ct_context("%s, %s: %d and %d of %d", specials[k].op, specials[k].name, free_count, known_count,
               SPECIAL_DRAWS);
    CT_CHECK(free_count >= 16);
    CT_CHECK(known_count >= 8);
  }
}

/* Zeros are rare, ones are common. */
static void sizes(const void *data) {
  gemel_context *context = gemel_context_new(&error);
  int zeros = 0, ones = 0;
  (void)data;
  for (uint64_t seed = 0; seed < SPECIAL_DRAWS; seed++) {
    gemel__random random;
    gemel__random_seed(&random, seed);
    gemel__proposal p = blank(context, "exp", GEMEL_F32, &random);
    CT_EQ_INT(gemel__propose(&p, &error), GEMEL_OK);
    seen s = look(&p);
    zeros += has_dim(&s, 0);
    ones += has_dim(&s, 1);
    CT_CHECK(s.rank[0] <= 4);
  }
  ct_context("%d with a zero, %d with a one", zeros, ones);
  CT_CHECK(zeros * 20 > SPECIAL_DRAWS && zeros * 6 < SPECIAL_DRAWS);
  CT_CHECK(ones * 3 > SPECIAL_DRAWS && ones * 4 < SPECIAL_DRAWS * 3);
  gemel_context_unref(context);
}

/* What is drawn keeps to the bounds. */
static void bounds(const void *data) {
  static const char *const names[] = {"exp", "add", "dot", "reshape", "subtensor", "join", "sum"};
  gemel_context *context = gemel_context_new(&error);
  (void)data;
  for (size_t i = 0; i < CT_COUNT(names); i++) {
    for (uint64_t seed = 0; seed < 300; seed++) {
      gemel__random random;
      gemel__random_seed(&random, seed);
      gemel__proposal p = blank(context, names[i], GEMEL_F32, &random);
      p.max_elements = 6;
      p.max_rank = 2;
      ct_context("%s, seed %d", names[i], (int)seed);
      CT_EQ_INT(gemel__propose(&p, &error), GEMEL_OK);
      seen s = look(&p);
      for (size_t k = 0; k < p.n_inputs && k < 4; k++) {
        int64_t count = 1;
        for (int axis = 0; axis < s.rank[k]; axis++) {
          count *= s.dims[k][axis];
        }
        CT_CHECK(count <= 6);
      }
      CT_CHECK(strcmp(names[i], "dot") == 0 || s.rank[0] <= 2);
    }
  }
  gemel_context_unref(context);
}

/* ---- Known attributes that are left out; what can't be ---- */

static void left_out(const void *data) {
  static const char *const names[] = {"sum", "max", "dot", "subtensor", "pad", "set_subtensor"};
  gemel_context *context = gemel_context_new(&error);
  (void)data;
  for (size_t i = 0; i < CT_COUNT(names); i++) {
    int found = 0;
    for (uint64_t seed = 0; seed < 200; seed++) {
      gemel__random random;
      gemel__random_seed(&random, seed);
      gemel__proposal p = blank(context, names[i], GEMEL_F32, &random);
      for (size_t k = 0; k < p.op->n_attrs; k++) {
        const char *fallback = p.op->record.attrs[k].fallback;
        p.known_attr[k] = fallback != NULL;
      }
      ct_context("%s, seed %d", names[i], (int)seed);
      if (gemel__propose(&p, &error) == GEMEL_OK) {
        found++;
        builds(&p);
        is_normal(&p);
        seen s = look(&p);
        CT_CHECK(strcmp(names[i], "sum") != 0 || s.count[0] == (size_t)s.rank[0]);
        CT_CHECK(strcmp(names[i], "subtensor") != 0 || all_are(&s, 2, 1));
      }
    }
    ct_context("%s: %d of 200", names[i], found);
    CT_CHECK(found >= 190);
  }
  gemel_context_unref(context);
}

static void declined(const void *data) {
  gemel_context *context = gemel_context_new(&error);
  const int64_t two = 2, three = 3;
  gemel_dim n = gemel_dim_symbol(context, "n");
  gemel_type symbolic = gemel_type_new(context, GEMEL_F32, 1, &n, GEMEL_SPACE_HOST);
  gemel_type a = gemel_type_of_shape(context, GEMEL_F32, 1, &two);
  gemel_type b = gemel_type_of_shape(context, GEMEL_F32, 1, &three);
  const struct {
    const char *op;
    gemel_dtype dtype;
    gemel_type first, second;
  } cases[] = {{"exp", GEMEL_I32, {0}, {0}},       {"softmax", GEMEL_I32, {0}, {0}},
               {"exp", GEMEL_F32, symbolic, {0}},  {"add", GEMEL_F32, a, b},
               {"set_subtensor", GEMEL_F32, a, b}, {"input", GEMEL_F32, {0}, {0}}};
  (void)data;
  for (size_t k = 0; k < CT_COUNT(cases); k++) {
    gemel__random random;
    gemel__random_seed(&random, k);
    gemel__proposal p = blank(context, cases[k].op, cases[k].dtype, &random), before;
    p.inputs[0] = cases[k].first;
    p.inputs[1] = cases[k].second;
    p.known_input[0] = !gemel_type_is_none(cases[k].first);
    p.known_input[1] = !gemel_type_is_none(cases[k].second);
    before = p;
    ct_context("case %zu", k);
    CT_EQ_INT(gemel__propose(&p, &error), GEMEL_DECLINED);
    CT_EQ_MEM(&p, &before, sizeof p);
  }
  gemel_context_unref(context);
}

static int oom_body(void *data) {
  gemel_error local = {0};
  gemel_context *context = gemel_context_new(&local);
  gemel_status status = local.status;
  (void)data;
  if (context != NULL) {
    gemel__random random;
    gemel__random_seed(&random, 3);
    gemel__proposal p = blank(context, "subtensor", GEMEL_F32, &random);
    status = gemel__propose(&p, &local);
  }
  gemel_context_unref(context);
  return status;
}

static void out_of_memory(const void *data) {
  (void)data;
  CT_CHECK(ct_oom(oom_body, NULL) > 0);
}

static const ct_test tests[] = {CT_TEST("every-operation", every_operation, NULL),
                                CT_TEST("any-operand", any_operand, NULL),
                                CT_TEST("deterministic", deterministic, NULL),
                                CT_TEST("special-cases", special_cases, NULL),
                                CT_TEST("sizes", sizes, NULL),
                                CT_TEST("bounds", bounds, NULL),
                                CT_TEST("left-out", left_out, NULL),
                                CT_TEST("declined", declined, NULL),
                                CT_TEST("out-of-memory", out_of_memory, NULL)};

void ct_register(void) {
  ct_suite("propose", tests, CT_COUNT(tests));
}
