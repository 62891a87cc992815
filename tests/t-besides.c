/*
 * What gemel verify tries besides the instances that chance gives: kernels that are wrong on few
 * instances only are refuted for every seed. Each is gemel's own plain kernel, whose result is
 * spoilt where one thing holds: at one remainder of a block, from the seventh operand on, where
 * indices meet in threads, where a logit is −∞ along one axis, for batches that can't be merged.
 * And what is arranged has all lengths, and chains on the right.
 *
 * SPDX-License-Identifier: MIT
 */
#include "ct.h"

#include <math.h>
#include <string.h>
#include <gemel/verify.h>
#include "core/graph.h"
#include "domains/machine.h"
#include "operations/arrange.h"

enum { SEEDS = 3, REMAINDER = 127, MANY = 6, ENOUGH = 1 << 16 };

/* ---- Wrong kernels ---- */

static int64_t count_of(const gemel_view *v) {
  int64_t n = 1;
  for (int k = 0; k < v->rank; k++) {
    n *= v->shape[k];
  }
  return n;
}

/* Where element NUMBER of V lies. */
static char *element(const gemel_view *v, int64_t number) {
  char *at = v->data;
  for (int k = v->rank; k-- > 0; number /= v->shape[k]) {
    at += number % v->shape[k] * v->strides[k];
  }
  return at;
}

/* 1 if a size of X leaves the remainder, in the tail of whole blocks. */
static int leaves_remainder(const gemel_view *x) {
  for (int k = 0; k < x->rank; k++) {
    if (x->shape[k] > GEMEL__BLOCK && x->shape[k] % GEMEL__BLOCK == REMAINDER) {
      return 1;
    }
  }
  return 0;
}

static int at_remainder(const gemel_kernel_call *call) {
  return leaves_remainder(&call->inputs[0]);
}

static int with_many(const gemel_kernel_call *call) {
  return call->n_inputs > MANY;
}

static int where_indices_meet(const gemel_kernel_call *call) {
  const gemel_view *x = &call->inputs[0], *indices = &call->inputs[1];
  int64_t axis = call->attrs[0].u.i + (call->attrs[0].u.i < 0 ? x->rank : 0);
  return call->threads > 1 && count_of(indices) > x->shape[axis] &&
         count_of(&call->inputs[call->n_inputs - 1]) >= ENOUGH;
}

/* Two batch axes of the second operand don't lie one in the other, and its matrix is turned. */
static int at_turned_batches(const gemel_kernel_call *call) {
  const gemel_view *y = &call->inputs[1];
  const gemel_attr *contract = &call->attrs[1], *batch = &call->attrs[3];
  if (batch->kind == GEMEL_ATTR_NONE || batch->count != 2 || contract->count != 1 || y->rank != 4) {
    return 0;
  }
  int64_t outer = batch->u.ints[0], inner = batch->u.ints[1], row = contract->u.ints[0];
  int64_t column = 6 - outer - inner - row;
  return outer >= 0 && inner >= 0 && row >= 0 && y->shape[outer] > 1 && y->shape[inner] > 1 &&
         y->strides[outer] != y->strides[inner] * y->shape[inner] &&
         y->strides[row] < y->strides[column];
}

static int axis_of_softmax; /* along which −∞ is spoilt */

static int along_axis(const gemel_kernel_call *call) {
  const gemel_view *x = &call->inputs[0];
  return x->dtype == GEMEL_F32 && x->rank == 3 &&
         call->attrs[0].u.i + (call->attrs[0].u.i < 0 ? 3 : 0) == axis_of_softmax;
}

/* An element's bits are changed. */
static void spoil_last(const gemel_kernel_call *call) {
  const gemel_view *out = &call->outputs[0];
  if (count_of(out) > 0) {
    *element(out, count_of(out) - 1) ^= 1;
    element(out, count_of(out) - 1)[gemel_dtype_size(out->dtype) - 1] ^= 0x40;
  }
}

/* What ought to be 0 where a logit is −∞ is a little more. */
static void spoil_zeros(const gemel_kernel_call *call) {
  const gemel_view *x = &call->inputs[0], *out = &call->outputs[0];
  for (int64_t k = 0; k < count_of(x); k++) {
    float *y = (float *)(void *)element(out, k);
    if (*(const float *)(const void *)element(x, k) == -INFINITY && *y == 0) {
      *y = 1e-30f;
    }
  }
}

static const struct wrong {
  const char *operation;
  gemel_tier tier;
  int (*holds)(const gemel_kernel_call *call);
  void (*spoil)(const gemel_kernel_call *call);
  int axis;
} wrongs[] = {{"exp", GEMEL_TIER_FLOAT, at_remainder, spoil_last, 0},
              {"sub", GEMEL_TIER_FLOAT, at_remainder, spoil_last, 0},
              {"bit_and", GEMEL_TIER_INTEGER, at_remainder, spoil_last, 0},
              {"sum", GEMEL_TIER_INTEGER, at_remainder, spoil_last, 0},
              {"pad", GEMEL_TIER_INTEGER, at_remainder, spoil_last, 0},
              {"dot", GEMEL_TIER_INTEGER, at_remainder, spoil_last, 0},
              {"softmax", GEMEL_TIER_FLOAT, at_remainder, spoil_last, 0},
              {"join", GEMEL_TIER_INTEGER, with_many, spoil_last, 0},
              {"put", GEMEL_TIER_INTEGER, where_indices_meet, spoil_last, 0},
              {"take", GEMEL_TIER_INTEGER, where_indices_meet, spoil_last, 0},
              {"dot", GEMEL_TIER_INTEGER, at_turned_batches, spoil_last, 0},
              {"softmax", GEMEL_TIER_FLOAT, along_axis, spoil_zeros, 0},
              {"softmax", GEMEL_TIER_FLOAT, along_axis, spoil_zeros, 1},
              {"softmax", GEMEL_TIER_FLOAT, along_axis, spoil_zeros, 2}};

static const struct wrong *planted;
static const gemel_kernel *plain; /* the operation's own */

static gemel_status prepare(gemel_kernel_call *call) {
  return plain->prepare != NULL ? plain->prepare(call) : GEMEL_OK;
}

static gemel_status run(const gemel_kernel_call *call) {
  gemel_status status = plain->run(call);
  if (status == GEMEL_OK && planted->holds(call)) {
    planted->spoil(call);
  }
  return status;
}

static size_t refuted_by(const struct wrong *wrong, uint64_t seed) {
  static const gemel_kernel kernel = {"wrong", prepare, run};
  gemel_context *context = gemel_context_new(NULL);
  gemel_error error = {GEMEL_OK, 0, 0, ""};
  gemel_verify_summary summary = {.size = sizeof summary};
  gemel_verify_options options = {.size = sizeof options,
                                  .seed = seed,
                                  .ops = wrong->operation,
                                  .tiers = 1u << wrong->tier,
                                  .jobs = 1};
  planted = wrong;
  axis_of_softmax = wrong->axis;
  plain = gemel_operation_find(context, wrong->operation)->kernels;
  while (plain[1].name != NULL) {
    plain++;
  }
  CT_EQ_INT(gemel_register_kernel(context, GEMEL_SPACE_HOST, wrong->operation, &kernel, &error),
            GEMEL_OK);
  CT_EQ_INT(gemel_verify_operations(context, &options, &summary, &error), GEMEL_OK);
  ct_context("%s", error.text);
  gemel_context_unref(context);
  return summary.verdicts[GEMEL_VERDICT_REFUTED];
}

static void wrong_kernels(const void *data) {
  (void)data;
  for (size_t k = 0; k < CT_COUNT(wrongs); k++) {
    for (uint64_t seed = 1; seed <= ct_seeds("GEMEL_TEST_SEEDS", SEEDS); seed++) {
      size_t refuted = refuted_by(&wrongs[k], seed);
      ct_context("%s (%zu), seed %llu", wrongs[k].operation, k, (unsigned long long)seed);
      CT_CHECK(refuted > 0);
    }
  }
}

/* ---- Arrangements ---- */

/* An instance of OPERATION whose operands are vectors of LENGTH elements. */
static gemel__instance vectors(gemel_context *context, const char *operation, int64_t length) {
  enum { DRAWS = 100 };
  const gemel_operation *op = gemel_operation_find(context, operation);
  gemel__wanted wanted = {1, length, 0};
  gemel__instance base = {0};
  gemel__random random;
  int found = 0;
  for (uint64_t seed = 1; !found && seed <= DRAWS; seed++) {
    gemel__instance_clear(&base);
    gemel__random_seed(&random, seed);
    gemel_status status =
        gemel__instance_draw_ranked(&base, context, op, GEMEL_F32, length, wanted, &random, NULL);
    found = status == GEMEL_OK && base.leaves[0].count == (size_t)length &&
            base.leaves[base.n_leaves - 1].count == (size_t)length;
  }
  CT_CHECK(found);
  return base;
}

static void every_length(const void *data) {
  gemel_context *context = gemel_context_new(NULL);
  gemel__instance base = vectors(context, "mul", GEMEL__LENGTHS_ROOM), made;
  int seen[GEMEL__BLOCK] = {0}, all = 0;
  (void)data;
  CT_REQUIRE(gemel__arrange_lengths(&made, &base, (gemel__lengths){0, 1}, NULL) == GEMEL_OK);
  CT_EQ_UINT(gemel_graph_output_count(made.graph), 2 * GEMEL__BLOCK);
  for (size_t k = 0; k < gemel_graph_output_count(made.graph); k++) {
    gemel__leaf leaf;
    CT_EQ_INT(gemel__leaf_of_output(made.graph, k, &leaf), GEMEL_OK);
    CT_CHECK(leaf.count >= GEMEL__BLOCK && leaf.count < 2 * GEMEL__BLOCK);
    seen[leaf.count % GEMEL__BLOCK]++;
  }
  for (size_t k = 0; k < GEMEL__BLOCK; k++) {
    all += seen[k] == 2;
  }
  CT_EQ_INT(all, GEMEL__BLOCK);
  gemel__instance_clear(&made);
  gemel__instance_clear(&base);
  gemel_context_unref(context);
}

/* How many nodes of OPERATION have a computed operand at place K, and none computed elsewhere. */
static size_t chained(const gemel_graph *graph, const char *operation, uint32_t place) {
  size_t n = 0;
  for (uint32_t node = 0, count; node < graph->n_nodes; node++) {
    const gemel__ref *in = gemel__node_inputs(graph, node, &count);
    int here = 0, elsewhere = 0;
    for (uint32_t k = 0; k < count; k++) {
      const gemel_operation *op = &gemel__node_op(graph, in[k].node)->record;
      int computed = (op->flags & (GEMEL_OP_VIEW | GEMEL_OP_SOURCE)) == 0;
      here |= computed && k == place;
      elsewhere |= computed && k != place;
    }
    n += here && !elsewhere && strcmp(gemel__node_op(graph, node)->record.name, operation) == 0;
  }
  return n;
}

static void chains_on_the_right(const void *data) {
  gemel_context *context = gemel_context_new(NULL);
  gemel__instance base = vectors(context, "div", GEMEL__CHAIN_ROOM), made;
  (void)data;
  CT_REQUIRE(gemel__arrange_chains(&made, &base, (gemel__lengths){0, 1}, NULL) == GEMEL_OK);
  CT_CHECK(chained(made.graph, "div", 0) >= 30);
  CT_CHECK(chained(made.graph, "div", 1) >= 30);
  CT_CHECK(chained(made.graph, "sub", 1) >= 20);
  CT_CHECK(chained(made.graph, "maximum", 1) >= 20);
  gemel__instance_clear(&made);
  gemel__instance_clear(&base);
  gemel_context_unref(context);
}

static void many_operands(const void *data) {
  enum { COUNT = 18 };
  gemel_context *context = gemel_context_new(NULL);
  gemel__instance base, made;
  gemel__random random;
  (void)data;
  gemel__random_seed(&random, 1);
  CT_REQUIRE(gemel__instance_draw(&base, context, gemel_operation_find(context, "join"), GEMEL_F32,
                                  GEMEL__BLOCK, &random, NULL) == GEMEL_OK);
  CT_REQUIRE(gemel__arrange_many(&made, &base, COUNT, NULL) == GEMEL_OK);
  CT_EQ_UINT(made.n_leaves, COUNT);
  gemel__instance_clear(&made);
  gemel__instance_clear(&base);
  /* an operation of two operands takes no more */
  base = vectors(context, "div", GEMEL__BLOCK);
  CT_EQ_INT(gemel__arrange_many(&made, &base, COUNT, NULL), GEMEL_DECLINED);
  gemel__instance_clear(&base);
  gemel_context_unref(context);
}

static const ct_test tests[] = {CT_TEST("wrong_kernels", wrong_kernels, NULL),
                                CT_TEST("every_length", every_length, NULL),
                                CT_TEST("chains_on_the_right", chains_on_the_right, NULL),
                                CT_TEST("many_operands", many_operands, NULL)};

/* Domain M decides nothing that a kernel may round, and no function. */
static void machine_numbers(const void *data) {
  gemel__domain *d = gemel__machine();
  char *e = gemel__elements_new(d, 3), *x = e, *y = e + d->bytes, *z = e + 2 * d->bytes;
  (void)data;
  CT_REQUIRE(e != NULL);
  d->from_double(d, x, -2.5);
  d->floor(d, y, x);
  d->from_integer(d, z, -3);
  CT_EQ_INT(d->equal(d, y, z), 1);
  CT_EQ_INT(d->equal(d, y, x), 0);
  void (*const functions[])(gemel__domain *, void *, const void *) = {d->exp, d->log, d->sqrt};
  for (size_t k = 0; k < CT_COUNT(functions); k++) {
    functions[k](d, y, z);
    CT_EQ_INT(d->state(d, y), GEMEL__UNDECIDED);
    CT_EQ_INT(d->equal(d, y, z), -1);
  }
  d->pow(d, y, x, z);
  CT_EQ_INT(d->state(d, y), GEMEL__UNDECIDED);
  d->apply(d, y, GEMEL__REAL_SIN, z);
  CT_EQ_INT(d->state(d, y), GEMEL__UNDECIDED);
  d->round(d, x, GEMEL_BOOL, 0);
  CT_CHECK(gemel__machine_value(x) == 1);
  d->set_state(d, x, GEMEL__GAP);
  d->exp(d, y, x);
  CT_EQ_INT(d->state(d, y), GEMEL__GAP);
  gemel__elements_free(d, e, 3);
}

void ct_register(void) {
  CT_ADD("besides", "machine", machine_numbers, NULL);
  ct_suite("besides", tests, CT_COUNT(tests));
}
