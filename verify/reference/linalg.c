/* SPDX-License-Identifier: MIT
 *
 * Reference of dot: for each index of the batch axes, the free axes of x and the free axes of y,
 * the sum over the contracted axes of products. Each product is rounded to the dtype computed in
 * (f32 for half types), the sum as the sum reference rounds it. dot_add has the element of z as one
 * more addend.
 */
#include <string.h>
#include "reference/common.h"
#include "reference/twin.h"

/* One operand, with its axes by their roles, in the order of the attributes. */
typedef struct dot_operand {
  const gemel__rtensor *tensor;
  int batch[GEMEL_MAX_RANK], contracted[GEMEL_MAX_RANK], free[GEMEL_MAX_RANK];
  int n_batch, n_contracted, n_free;
} dot_operand;

typedef struct product {
  dot_operand x, y;
  int rank; /* of the result */
  int64_t shape[GEMEL_MAX_RANK];
  int64_t inner[GEMEL_MAX_RANK]; /* sizes of the contracted axes */
  size_t terms;
  const gemel__rtensor *z; /* added; NULL: nothing */
} product;

static gemel_status refuse(const gemel__rcall *call, const char *what) {
  return gemel__fail(call->error, GEMEL_BAD_SHAPE, "%s", what);
}

/* ---- Which axis plays which role ---- */

/* Reads list attribute K into AXES, marking each axis as used. */
static gemel_status read_axes(const gemel__rcall *call, size_t k, int rank, unsigned char *used,
                              int *axes, int *count) {
  *count = 0;
  for (size_t i = 0; !gemel__reference_absent(call, k) && i < call->attrs[k].count; i++) {
    int axis = gemel__reference_axis(call->attrs[k].u.ints[i], rank);
    if (axis < 0 || used[axis]++) {
      return refuse(call, "an axis is out of range or has two roles");
    }
    axes[(*count)++] = axis;
  }
  return GEMEL_OK;
}

static void free_axes(dot_operand *o, const unsigned char *used) {
  o->n_free = 0;
  for (int axis = 0; axis < o->tensor->rank; axis++) {
    if (!used[axis]) {
      o->free[o->n_free++] = axis;
    }
  }
}

static gemel_status explicit_axes(const gemel__rcall *call, dot_operand *o, size_t contract,
                                  size_t batch) {
  unsigned char used[GEMEL_MAX_RANK] = {0};
  GEMEL__TRY(read_axes(call, contract, o->tensor->rank, used, o->contracted, &o->n_contracted));
  GEMEL__TRY(read_axes(call, batch, o->tensor->rank, used, o->batch, &o->n_batch));
  free_axes(o, used);
  return GEMEL_OK;
}

/* numpy.matmul: a vector is contracted whole; a matrix along its last axis on the left side, its
 * last but one on the right. Other axes are batch axes. */
static gemel_status matrix_axes(const gemel__rcall *call, dot_operand *o, int from_the_end) {
  unsigned char used[GEMEL_MAX_RANK] = {0};
  int rank = o->tensor->rank;
  if (rank == 0) {
    return refuse(call, "a matrix product of a scalar");
  }
  o->n_contracted = 1;
  o->contracted[0] = rank == 1 ? 0 : rank - from_the_end;
  used[o->contracted[0]] = 1;
  o->n_batch = 0;
  for (int axis = 0; axis < rank - 2; axis++) {
    o->batch[o->n_batch++] = axis;
    used[axis] = 1;
  }
  free_axes(o, used);
  return GEMEL_OK;
}

static gemel_status assign_axes(const gemel__rcall *call, product *p) {
  int is_explicit = 0;
  for (size_t k = 0; k < 4; k++) {
    is_explicit |= !gemel__reference_absent(call, k);
  }
  GEMEL__TRY(is_explicit ? explicit_axes(call, &p->x, 0, 2) : matrix_axes(call, &p->x, 1));
  return is_explicit ? explicit_axes(call, &p->y, 1, 3) : matrix_axes(call, &p->y, 2);
}

/* ---- Shapes ---- */

static gemel_status append(const gemel__rcall *call, product *p, int64_t size) {
  if (p->rank == GEMEL_MAX_RANK) {
    return refuse(call, "the product has too many axes");
  }
  p->shape[p->rank++] = size;
  return GEMEL_OK;
}

static gemel_status pair_axes(const gemel__rcall *call, product *p) {
  const dot_operand *x = &p->x, *y = &p->y;
  if (x->n_contracted != y->n_contracted || x->n_batch != y->n_batch) {
    return refuse(call, "different numbers of contracted or of batch axes");
  }
  p->rank = 0;
  p->terms = 1;
  for (int k = 0; k < x->n_contracted; k++) {
    p->inner[k] = x->tensor->shape[x->contracted[k]];
    p->terms *= (size_t)p->inner[k];
    if (p->inner[k] != y->tensor->shape[y->contracted[k]]) {
      return refuse(call, "contracted axes of different sizes");
    }
  }
  for (int k = 0; k < x->n_batch; k++) {
    p->shape[p->rank++] = x->tensor->shape[x->batch[k]];
    if (p->shape[k] != y->tensor->shape[y->batch[k]]) {
      return refuse(call, "batch axes of different sizes");
    }
  }
  return GEMEL_OK;
}

static gemel_status result_shape(const gemel__rcall *call, product *p) {
  GEMEL__TRY(pair_axes(call, p));
  for (int k = 0; k < p->x.n_free; k++) {
    GEMEL__TRY(append(call, p, p->x.tensor->shape[p->x.free[k]]));
  }
  for (int k = 0; k < p->y.n_free; k++) {
    GEMEL__TRY(append(call, p, p->y.tensor->shape[p->y.free[k]]));
  }
  return GEMEL_OK;
}

/* ---- Elements ---- */

/* An element of the operand: BATCH and FREE are parts of the result's index, INNER indexes the
 * contracted axes. */
static const void *element(const dot_operand *o, const int64_t *batch, const int64_t *inner,
                           const int64_t *free) {
  int64_t at[GEMEL_MAX_RANK];
  for (int k = 0; k < o->n_batch; k++) {
    at[o->batch[k]] = batch[k];
  }
  for (int k = 0; k < o->n_contracted; k++) {
    at[o->contracted[k]] = inner[k];
  }
  for (int k = 0; k < o->n_free; k++) {
    at[o->free[k]] = free[k];
  }
  return gemel__rtensor_index(o->tensor, at);
}

/* Memory for the products of one element. */
typedef struct workspace {
  gemel__decider w;
  void *products;
  const void **pointers;
} workspace;

static void one_element(const product *p, workspace *space, const int64_t *index, void *e,
                        gemel_dtype dtype) {
  gemel__domain *d = space->w.domain;
  int64_t inner[GEMEL_MAX_RANK] = {0};
  const int64_t *free_x = index + p->x.n_batch, *free_y = free_x + p->x.n_free;
  for (size_t i = 0; i < p->terms; i++) {
    void *term = gemel__element(d, space->products, i);
    gemel__multiply(d, term, element(&p->x, index, inner, free_x),
                    element(&p->y, index, inner, free_y), dtype);
    space->pointers[i] = term;
    gemel__index_next(p->x.n_contracted, p->inner, inner);
  }
  if (p->z != NULL) {
    space->pointers[p->terms] = gemel__rtensor_index(p->z, index);
  }
  gemel__store_sum(&space->w, e, dtype, p->terms + (p->z != NULL), space->pointers);
}

static gemel_status fill_elements(gemel__rcall *call, const product *p, workspace *space) {
  gemel__rtensor *out = &call->outputs[0];
  int64_t index[GEMEL_MAX_RANK] = {0};
  for (size_t i = 0; i < out->count; i++) {
    one_element(p, space, index, gemel__rtensor_at(out, i), out->dtype);
    gemel__index_next(out->rank, out->shape, index);
    GEMEL__TRY(gemel__reference_go_on(p->terms));
  }
  return GEMEL_OK;
}

static gemel_status fill_product(gemel__rcall *call, const product *p) {
  workspace space;
  GEMEL__TRY(gemel__decider_init(&space.w, call->domain, call->error));
  space.products = gemel__elements_new(call->domain, p->terms);
  space.pointers = gemel__alloc_array(p->terms + 1, sizeof *space.pointers);
  gemel_status status = space.products && space.pointers
                            ? fill_elements(call, p, &space)
                            : gemel__no_memory(call->error, "a product's terms");
  gemel__free(space.pointers, (p->terms + 1) * sizeof *space.pointers);
  gemel__elements_free(call->domain, space.products, p->terms);
  gemel__decider_clear(&space.w);
  return status;
}

static gemel_status reference_product(gemel__rcall *call, const gemel__rtensor *z) {
  product p;
  p.z = z;
  p.x.tensor = call->inputs[0];
  p.y.tensor = call->inputs[1];
  if (p.x.tensor->dtype != p.y.tensor->dtype) {
    return gemel__fail(call->error, GEMEL_BAD_TYPE, "operands of different dtypes");
  }
  GEMEL__TRY(assign_axes(call, &p));
  GEMEL__TRY(result_shape(call, &p));
  GEMEL__TRY(gemel__reference_output(call, 0, p.x.tensor->dtype, p.rank, p.shape));
  if (z != NULL &&
      (z->rank != p.rank || memcmp(z->shape, p.shape, (size_t)p.rank * sizeof *p.shape) != 0)) {
    return refuse(call, "z has another shape than the product");
  }
  return z != NULL && z->dtype != p.x.tensor->dtype
             ? gemel__fail(call->error, GEMEL_BAD_TYPE, "operands of different dtypes")
             : fill_product(call, &p);
}

static gemel_status reference_dot(gemel__rcall *call) {
  return reference_product(call, NULL);
}

static gemel_status reference_dot_add(gemel__rcall *call) {
  return reference_product(call, call->inputs[2]);
}

const gemel__twin gemel__twin_dot = {.reference = reference_dot,
                                     .sample = gemel__sampler_dot,
                                     .propose = gemel__propose_dot,
                                     .arithmetic = GEMEL__SUMS | GEMEL__PRODUCTS,
                                     .linear = GEMEL__LINEAR_CONTRACTION};
const gemel__twin gemel__twin_dot_add = {.reference = reference_dot_add,
                                         .sample = gemel__sampler_dot_add,
                                         .propose = gemel__propose_dot_add,
                                         .arithmetic = GEMEL__SUMS | GEMEL__PRODUCTS,
                                         .linear = GEMEL__LINEAR_CONTRACTION};
