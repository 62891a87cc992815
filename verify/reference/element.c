/* SPDX-License-Identifier: MIT
 *
 * The functions of <gemel/reference.h> for references over elements, on top of a domain's table of
 * functions (domains/domain.h). Each arithmetic step ends with its rounding in the working dtype,
 * so that domains B and S see what an implementation would compute; other domains ignore that. A
 * scalar operation is computed by its own reference.
 */
#include <string.h>
#include "ops/ops.h"
#include "reference/common.h"
#include "reference/own.h"
#include "reference/twin.h"

/* An element is a domain's element behind an incomplete type. Those that a function asks for are
 * blocks of one element, in a list. */
struct element_block {
  struct element_block *next;
  void *element;
};

struct gemel_reference_call {
  gemel__rcall *inner;
  const gemel_reference *reference;
  gemel_dtype working;
  gemel__decider decider;
  struct element_block *blocks;
  gemel_status status; /* of the first step that failed */
};

/* ---- The call ---- */

static void fail(gemel_reference_call *call, gemel_status status) {
  call->status = call->status == GEMEL_OK ? status : call->status;
}

static void free_blocks(gemel_reference_call *call) {
  while (call->blocks != NULL) {
    struct element_block *next = call->blocks->next;
    gemel__elements_free(call->inner->domain, call->blocks->element, 1);
    gemel__free(call->blocks, sizeof *call->blocks);
    call->blocks = next;
  }
}

gemel_status gemel__reference_function(gemel__rcall *inner, const gemel_reference *reference) {
  gemel_reference_call call;
  memset(&call, 0, sizeof call);
  call.inner = inner;
  call.reference = reference;
  call.working = GEMEL_F64;
  GEMEL__TRY(gemel__decider_init(&call.decider, inner->domain, inner->error));
  gemel_status status = reference->function(&call);
  if (call.status != GEMEL_OK) {
    status = call.status; /* an earlier step failed and has written the message */
  } else if (status != GEMEL_OK) {
    gemel__fail(inner->error, status, "the reference of %s failed", inner->name);
  }
  free_blocks(&call);
  gemel__decider_clear(&call.decider);
  return status;
}

/* ---- What a function sees ---- */

size_t gemel_reference_input_count(const gemel_reference_call *call) {
  return call != NULL ? call->inner->n_inputs : 0;
}

gemel_reference_shape gemel_reference_input(const gemel_reference_call *call, size_t k) {
  gemel_reference_shape shape = {GEMEL_BOOL, 0, NULL, 0};
  if (k < gemel_reference_input_count(call)) {
    const gemel__rtensor *t = call->inner->inputs[k];
    shape.dtype = t->dtype;
    shape.rank = t->rank;
    shape.sizes = t->shape;
    shape.count = t->count;
  }
  return shape;
}

const gemel_element *gemel_reference_at(const gemel_reference_call *call, size_t k, size_t i) {
  const gemel__rtensor *t = k < gemel_reference_input_count(call) ? call->inner->inputs[k] : NULL;
  return t != NULL && i < t->count ? gemel__rtensor_at(t, i) : NULL;
}

const gemel_attr *gemel_reference_attr(const gemel_reference_call *call, const char *name) {
  const gemel_attr_spec *spec = call != NULL ? call->inner->operation->attrs : NULL;
  for (size_t k = 0; spec != NULL && name != NULL && spec[k].name != NULL; k++) {
    if (strcmp(spec[k].name, name) == 0) {
      return &call->inner->attrs[k];
    }
  }
  return NULL;
}

const void *gemel_reference_data(const gemel_reference_call *call) {
  return call != NULL ? call->reference->data : NULL;
}

gemel_status gemel_reference_output(gemel_reference_call *call, size_t k, gemel_dtype dtype,
                                    int rank, const int64_t *sizes) {
  gemel__rcall *inner = call != NULL ? call->inner : NULL;
  gemel_status status;
  if (inner == NULL || k >= inner->max_outputs || inner->outputs[k].domain != NULL) {
    status = gemel__fail(inner != NULL ? inner->error : NULL, GEMEL_BAD_TYPE,
                         "the reference has more outputs than its operation");
  } else {
    status = gemel__reference_output(inner, k, dtype, rank, sizes);
  }
  if (call != NULL) {
    fail(call, status);
  }
  if (status == GEMEL_OK && k == 0) {
    gemel_reference_work_in(call, dtype);
  }
  return status;
}

void gemel_reference_work_in(gemel_reference_call *call, gemel_dtype dtype) {
  if (call != NULL) {
    call->working = gemel__compute_dtype(dtype);
    gemel__work_in(call->inner->domain, call->working);
  }
}

/* ---- Elements ---- */

gemel_element *gemel_element_new(gemel_reference_call *call) {
  struct element_block *block = call != NULL ? gemel__alloc_zeroed(sizeof *block) : NULL;
  if (block != NULL && (block->element = gemel__elements_new(call->inner->domain, 1)) == NULL) {
    gemel__free(block, sizeof *block);
    block = NULL;
  }
  if (block == NULL) {
    if (call != NULL) {
      fail(call, gemel__no_memory(call->inner->error, "elements of a reference"));
    }
    return NULL;
  }
  block->next = call->blocks;
  call->blocks = block;
  return block->element;
}

/* 1 if a step has all it needs. A null operand is the function's mistake unless a step failed
 * before. */
static int ready(gemel_reference_call *call, const void *e, const void *a, const void *b) {
  if (call == NULL || call->status != GEMEL_OK) {
    return 0;
  }
  if (e == NULL || a == NULL || b == NULL) {
    fail(call, gemel__fail(call->inner->error, GEMEL_BAD_ARGUMENT,
                           "the reference of %s computes with a null element", call->inner->name));
    return 0;
  }
  return 1;
}

void gemel_reference_store(gemel_reference_call *call, size_t k, size_t i, const gemel_element *x) {
  if (!ready(call, x, x, x)) {
    return;
  }
  gemel__rtensor *t = k < call->inner->max_outputs ? &call->inner->outputs[k] : NULL;
  if (t == NULL || t->domain == NULL || i >= t->count) {
    fail(call, gemel__fail(call->inner->error, GEMEL_BAD_ARGUMENT,
                           "the reference of %s has no element %zu of an output %zu",
                           call->inner->name, i, k));
    return;
  }
  call->inner->domain->set(call->inner->domain, gemel__rtensor_at(t, i), x);
  gemel__store(&call->decider, gemel__rtensor_at(t, i), t->dtype, 0);
}

void gemel_element_set(gemel_reference_call *call, gemel_element *e, const gemel_element *a) {
  if (ready(call, e, a, a)) {
    call->inner->domain->set(call->inner->domain, e, a);
  }
}

static void say_number(const gemel_reference_call *call, double x) {
  gemel__observer *observer = call->inner->domain->observer;
  if (observer != NULL && observer->number != NULL) {
    observer->number(observer, x);
  }
}

void gemel_element_number(gemel_reference_call *call, gemel_element *e, double x) {
  if (ready(call, e, e, e)) {
    say_number(call, x);
    call->inner->domain->from_double(call->inner->domain, e, x);
  }
}

void gemel_element_integer(gemel_reference_call *call, gemel_element *e, int64_t x) {
  if (ready(call, e, e, e)) {
    say_number(call, (double)x);
    call->inner->domain->from_integer(call->inner->domain, e, x);
  }
}

#define ARITHMETIC(name)                                                                           \
  void gemel_element_##name(gemel_reference_call *call, gemel_element *e, const gemel_element *a,  \
                            const gemel_element *b) {                                              \
    if (ready(call, e, a, b)) {                                                                    \
      gemel__domain *d = call->inner->domain;                                                      \
      d->name(d, e, a, b);                                                                         \
      d->round(d, e, call->working, 0.5);                                                          \
    }                                                                                              \
  }
ARITHMETIC(add)
ARITHMETIC(sub)
ARITHMETIC(mul)
ARITHMETIC(div)

void gemel_element_sum(gemel_reference_call *call, gemel_element *e, size_t n,
                       const gemel_element *const *terms) {
  size_t k;
  int complete = ready(call, e, n > 0 ? (const void *)terms : e, e);
  for (k = 0; k < n && complete; k++) {
    complete = ready(call, terms[k], e, e);
  }
  if (complete) {
    gemel__store_sum(&call->decider, e, call->working, n, (const void *const *)terms);
  }
}

/* ---- Scalar operations ---- */

enum { MOST_OPERANDS = 3 };

/* E = OP's reference on scalars of the working dtype (the condition of a choice is a bool). */
static gemel_status apply_scalar(gemel_reference_call *call, void *e, uint32_t op, size_t n,
                                 const gemel_element *const *operands) {
  gemel__domain *d = call->inner->domain;
  gemel__rtensor in[MOST_OPERANDS], out;
  const gemel__rtensor *pointers[MOST_OPERANDS];
  gemel__rcall inner = *call->inner;
  memset(&out, 0, sizeof out);
  memset(in, 0, sizeof in);
  for (size_t k = 0; k < n; k++) {
    in[k].domain = d;
    in[k].dtype = k == 0 && op == GEMEL__OP_where ? GEMEL_BOOL : call->working;
    in[k].count = 1;
    in[k].elements = (void *)(uintptr_t)operands[k];
    pointers[k] = &in[k];
  }
  inner.n_inputs = n;
  inner.inputs = pointers;
  inner.attrs = NULL;
  inner.n_outputs = 0;
  inner.max_outputs = 1;
  inner.outputs = &out;
  gemel_status status = gemel__twin_of(op)->reference(&inner);
  if (status == GEMEL_OK) {
    d->set(d, e, gemel__rtensor_at(&out, 0));
  }
  gemel__rtensor_clear(&out);
  gemel__work_in(d, call->working);
  return status;
}

void gemel_element_apply(gemel_reference_call *call, gemel_element *e, const char *name, size_t n,
                         const gemel_element *const *operands) {
  const gemel__op *op;
  const gemel__scalar_row *row;
  uint32_t id;
  size_t k;
  if (!ready(call, e, name, operands)) {
    return;
  }
  id = gemel__op_find(call->inner->context, name);
  op = gemel__op_at(call->inner->context, id);
  row = id != 0 ? gemel__scalar_row_of(&op->record) : NULL;
  if (row == NULL || op->n_attrs > 0 || (size_t)row->n_inputs != n || n > MOST_OPERANDS) {
    fail(call, gemel__fail(call->inner->error, GEMEL_BAD_ARGUMENT,
                           "the reference of %s: there is no scalar operation %s of %zu elements",
                           call->inner->name, name, n));
    return;
  }
  for (k = 0; k < n; k++) {
    if (!ready(call, operands[k], e, e)) {
      return;
    }
  }
  fail(call, apply_scalar(call, e, id, n, operands));
}

int gemel_element_sign(gemel_reference_call *call, const gemel_element *a) {
  if (call == NULL) {
    return 0;
  }
  int sign =
      ready(call, a, a, a) ? call->inner->domain->sign(call->inner->domain, a) : GEMEL_SIGN_UNKNOWN;
  return sign == GEMEL__UNORDERED ? GEMEL_SIGN_UNKNOWN : sign;
}
