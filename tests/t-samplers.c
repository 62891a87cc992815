/*
 * The ready samplers of <gemel/sample.h>: what they draw has the shapes that they say, is taken by
 * the operation's type rule, stays below the limit of elements, and has the sizes and ranks that
 * the harness wants; and what a type rule refuses is declined.
 *
 * SPDX-License-Identifier: MIT
 */
#include "ct.h"

#include <stdio.h>
#include <string.h>
#include <gemel/gemel.h>
#include <gemel/sample.h>

enum { DRAWS = 300, MOST = 2000 };

static int least_rank; /* that the type rule takes of the first operand */

static gemel_status infer(gemel_infer *call) {
  if (gemel_type_dtype(call->context, call->inputs[0]) != GEMEL_F32 ||
      gemel_type_rank(call->context, call->inputs[0]) < least_rank) {
    call->error->status = GEMEL_BAD_TYPE;
    return GEMEL_BAD_TYPE;
  }
  call->n_outputs = 1;
  call->outputs[0] = call->inputs[0];
  return GEMEL_OK;
}

static gemel_status run(const gemel_kernel_call *call) {
  (void)call;
  return GEMEL_OK;
}

static uint64_t next(void *user) {
  uint64_t *state = user, x = *state += 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

/* One draw: shapes and attributes as numbers. */
typedef struct drawn {
  size_t n;
  int rank[GEMEL_SAMPLE_MAX_INPUTS];
  int64_t shape[GEMEL_SAMPLE_MAX_INPUTS][GEMEL_MAX_RANK];
  gemel_sample sample;
} drawn;

static gemel_context *context;
static uint64_t bits;

static gemel_context *open_with(int least, int most) {
  static const gemel_kernel kernels[] = {{"k", NULL, run}, {NULL, NULL, NULL}};
  static const gemel_attr_spec axis[] = {{"axis", GEMEL_ATTR_INT, "-1"}, {NULL, 0, NULL}};
  static const gemel_attr_spec axes[] = {{"axes", GEMEL_ATTR_INT | GEMEL_ATTR_LIST, "none"},
                                         {"keepdims", GEMEL_ATTR_INT, "0"},
                                         {NULL, 0, NULL}};
  gemel_operation op = {.size = sizeof op, .name = "mine", .version = 1, .infer = infer};
  op.kernels = kernels;
  op.min_inputs = least;
  op.max_inputs = most;
  context = gemel_context_new(NULL);
  CT_EQ_INT(gemel_register_operation(context, &op, NULL), GEMEL_OK);
  op.attrs = axis;
  op.name = "with_axis";
  CT_EQ_INT(gemel_register_operation(context, &op, NULL), GEMEL_OK);
  op.attrs = axes;
  op.name = "with_axes";
  CT_EQ_INT(gemel_register_operation(context, &op, NULL), GEMEL_OK);
  least_rank = 0;
  return context;
}

static gemel_status draw(gemel_status (*sampler)(gemel_sample *), const char *name,
                         gemel_sample wanted, drawn *d) {
  memset(d, 0, sizeof *d);
  d->sample = wanted;
  d->sample.size = sizeof d->sample;
  d->sample.context = context;
  d->sample.random = next;
  d->sample.user = &bits;
  d->sample.dtype = wanted.dtype != 0 ? wanted.dtype : GEMEL_F32;
  d->sample.max_elements = wanted.max_elements > 0 ? wanted.max_elements : MOST;
  d->sample.operation = gemel_operation_find(context, name);
  gemel_status status = sampler(&d->sample);
  d->n = status == GEMEL_OK ? d->sample.n_inputs : 0;
  for (size_t k = 0; k < d->n; k++) {
    int64_t elements = 1;
    d->rank[k] = gemel_type_rank(context, d->sample.inputs[k]);
    for (int axis = 0; axis < d->rank[k]; axis++) {
      gemel_dim_is_constant(context, gemel_type_dims(context, d->sample.inputs[k])[axis],
                            &d->shape[k][axis]);
      elements *= d->shape[k][axis];
    }
    CT_CHECK(elements <= d->sample.max_elements);
    CT_CHECK(d->sample.ranges[k] == GEMEL_RANGE_MODERATE);
  }
  return status;
}

static drawn drawn_by(gemel_status (*sampler)(gemel_sample *), const char *name) {
  drawn d;
  CT_EQ_INT(draw(sampler, name, (gemel_sample){0}, &d), GEMEL_OK);
  return d;
}

static int same_shape(const drawn *d, size_t a, size_t b) {
  return d->rank[a] == d->rank[b] && memcmp(d->shape[a], d->shape[b], sizeof d->shape[a]) == 0;
}

/* ---- Each of them ---- */

static void elementwise(const void *data) {
  int empty = 0, large = 0, most = 0;
  size_t least_operands = 9, most_operands = 0;
  (void)data;
  open_with(1, -1);
  for (int k = 0; k < DRAWS; k++) {
    drawn d = drawn_by(gemel_sample_elementwise, "mine");
    int64_t n = 1;
    for (size_t j = 1; j < d.n; j++) {
      CT_CHECK(same_shape(&d, 0, j));
    }
    for (int axis = 0; axis < d.rank[0]; axis++) {
      n *= d.shape[0][axis];
    }
    empty += n == 0;
    large += n > 1000;
    most = d.rank[0] > most ? d.rank[0] : most;
    least_operands = d.n < least_operands ? d.n : least_operands;
    most_operands = d.n > most_operands ? d.n : most_operands;
  }
  CT_CHECK(empty > 0 && large > DRAWS / 10 && most == 4);
  CT_CHECK(least_operands == 1 && most_operands == 3);
  gemel_context_unref(context);
}

static void broadcast(const void *data) {
  int shorter = 0, ones = 0;
  (void)data;
  open_with(2, 2);
  for (int k = 0; k < DRAWS; k++) {
    drawn d = drawn_by(gemel_sample_broadcast, "mine");
    CT_EQ_UINT(d.n, 2);
    for (int back = 1; back <= d.rank[0] && back <= d.rank[1]; back++) {
      int64_t x = d.shape[0][d.rank[0] - back], y = d.shape[1][d.rank[1] - back];
      CT_CHECK(x == y || x == 1 || y == 1);
      ones += x != y;
    }
    shorter += d.rank[0] != d.rank[1];
  }
  CT_CHECK(shorter > 0 && ones > 0);
  gemel_context_unref(context);
}

static void rows(const void *data) {
  (void)data;
  open_with(3, 3);
  for (int k = 0; k < DRAWS; k++) {
    drawn d = drawn_by(gemel_sample_rows, "mine");
    CT_CHECK(d.n == 3 && d.rank[0] > 0 && d.rank[1] == 1 && d.rank[2] == 1);
    CT_CHECK(d.shape[0][d.rank[0] - 1] > 0);
    CT_CHECK(d.shape[1][0] == d.shape[0][d.rank[0] - 1] && d.shape[2][0] == d.shape[1][0]);
  }
  gemel_context_unref(context);
}

static void along(const void *data) {
  int negative = 0, several = 0, kept = 0;
  (void)data;
  open_with(1, 1);
  for (int k = 0; k < DRAWS; k++) {
    drawn d = drawn_by(gemel_sample_along, "with_axis");
    int64_t axis = d.sample.attrs[0].u.i;
    CT_CHECK(d.sample.n_attrs == 1 && axis >= -d.rank[0] && axis < d.rank[0]);
    CT_CHECK(d.shape[0][axis < 0 ? axis + d.rank[0] : axis] > 0);
    negative += axis < 0;
    d = drawn_by(gemel_sample_along, "with_axes");
    CT_CHECK(d.sample.n_attrs == 2 && d.sample.attrs[0].count >= 1);
    for (size_t j = 0; j < d.sample.attrs[0].count; j++) {
      axis = d.sample.attrs[0].u.ints[j];
      CT_CHECK(d.shape[0][axis < 0 ? axis + d.rank[0] : axis] > 0);
    }
    several += d.sample.attrs[0].count > 1;
    kept += d.sample.attrs[1].u.i != 0;
  }
  CT_CHECK(negative > 0 && negative < DRAWS && several > 0 && kept > 0 && kept < DRAWS);
  gemel_context_unref(context);
}

static void matrices(const void *data) {
  int apart = 0;
  (void)data;
  open_with(3, 4);
  for (int k = 0; k < DRAWS; k++) {
    drawn d = drawn_by(gemel_sample_matmul, "mine");
    CT_CHECK(d.rank[0] == 2 && d.rank[1] == 2 && d.rank[2] == 1);
    CT_CHECK(d.shape[0][1] == d.shape[1][0] && d.shape[2][0] == d.shape[1][1]);
    apart += d.shape[0][0] != d.shape[0][1] && d.shape[0][1] != d.shape[1][1];
    d = drawn_by(gemel_sample_square, "mine");
    CT_CHECK(d.rank[0] == 2 && d.shape[0][0] > 0 && d.shape[0][0] == d.shape[0][1]);
    CT_CHECK(same_shape(&d, 0, 2));
  }
  CT_CHECK(apart > DRAWS / 4);
  gemel_context_unref(context);
}

static void networks(const void *data) {
  int masked = 0, batches = 0;
  (void)data;
  open_with(3, 4);
  for (int k = 0; k < DRAWS; k++) {
    drawn d = drawn_by(gemel_sample_attention, "mine");
    int r = d.rank[0];
    CT_CHECK(r >= 2 && r <= 4 && d.rank[1] == r && d.rank[2] == r);
    CT_CHECK(d.shape[0][r - 1] == d.shape[1][r - 1] && d.shape[1][r - 2] == d.shape[2][r - 2]);
    CT_CHECK(d.shape[1][r - 2] > 0 && d.shape[0][r - 1] > 0);
    CT_CHECK(d.n == 3 || (d.rank[3] == 2 && d.shape[3][0] == d.shape[0][r - 2] &&
                          d.shape[3][1] == d.shape[1][r - 2]));
    masked += d.n == 4;
    batches += r > 2 && memcmp(d.shape[0], d.shape[2], (size_t)(r - 2) * sizeof(int64_t)) == 0;
    CT_CHECK(r == 2 || memcmp(d.shape[0], d.shape[1], (size_t)(r - 2) * sizeof(int64_t)) == 0);
    d = drawn_by(gemel_sample_images, "mine");
    CT_CHECK(d.rank[0] >= 3 && d.rank[0] <= 5 && d.rank[1] == 1);
    CT_CHECK(d.shape[0][1] > 0 && d.shape[1][0] == d.shape[0][1]);
  }
  CT_CHECK(masked > 0 && masked < DRAWS && batches > 0);
  gemel_context_unref(context);
}

/* ---- What is wanted, and what is refused ---- */

static void wanted(const void *data) {
  gemel_status (*const samplers[])(gemel_sample *) = {
      gemel_sample_elementwise, gemel_sample_broadcast, gemel_sample_rows, gemel_sample_along};
  drawn d;
  (void)data;
  open_with(1, 1);
  for (size_t k = 0; k < CT_COUNT(samplers); k++) {
    for (int rank = 1; rank <= GEMEL_MAX_RANK; rank++) {
      CT_EQ_INT(draw(samplers[k], "mine", (gemel_sample){.rank = rank}, &d), GEMEL_OK);
      CT_CHECK(d.rank[0] == rank || samplers[k] == gemel_sample_broadcast);
    }
    CT_EQ_INT(draw(samplers[k], "mine", (gemel_sample){.rank = 1, .length = 257}, &d), GEMEL_OK);
    CT_CHECK(d.shape[0][0] == 257 || samplers[k] == gemel_sample_broadcast);
  }
  for (int axis = 0; axis < 3; axis++) {
    CT_EQ_INT(draw(gemel_sample_matmul, "mine", (gemel_sample){.length = 129, .axis = axis}, &d),
              GEMEL_OK);
    CT_CHECK((axis == 2) == (d.shape[0][0] != 129 && d.shape[0][1] != 129));
  }
  CT_EQ_INT(draw(gemel_sample_square, "mine", (gemel_sample){.length = 33, .axis = -1}, &d),
            GEMEL_OK);
  CT_CHECK(d.shape[0][0] == 33);
  gemel_context_unref(context);
}

static void refused(const void *data) {
  drawn d;
  (void)data;
  open_with(1, 1);
  CT_EQ_INT(draw(gemel_sample_rows, "mine", (gemel_sample){.dtype = GEMEL_F64}, &d),
            GEMEL_DECLINED);
  least_rank = 3;
  for (int k = 0; k < DRAWS; k++) {
    CT_EQ_INT(draw(gemel_sample_elementwise, "mine", (gemel_sample){0}, &d), GEMEL_OK);
    CT_CHECK(d.rank[0] >= 3);
  }
  least_rank = 0;
  CT_EQ_INT(draw(gemel_sample_images, "mine", (gemel_sample){.max_elements = 1}, &d), GEMEL_OK);
  gemel_context_unref(context);
}

static const ct_test tests[] = {
    CT_TEST("elementwise", elementwise, NULL),
    CT_TEST("broadcast", broadcast, NULL),
    CT_TEST("rows", rows, NULL),
    CT_TEST("along", along, NULL),
    CT_TEST("matrices", matrices, NULL),
    CT_TEST("networks", networks, NULL),
    CT_TEST("wanted", wanted, NULL),
    CT_TEST("refused", refused, NULL),
};

void ct_register(void) {
  ct_suite("samplers", tests, CT_COUNT(tests));
}
