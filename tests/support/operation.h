/* SPDX-License-Identifier: MIT
 *
 * What operations and passes that tests register are made of, where it matters little.
 */
#ifndef GEMEL_TESTS_SUPPORT_OPERATION_H
#define GEMEL_TESTS_SUPPORT_OPERATION_H

#include <gemel/operation.h>
#include <gemel/rewrite.h>

/* One result, of the first operand's type. */
static inline gemel_status same_type(gemel_infer *call) {
  call->n_outputs = 1;
  call->outputs[0] = call->inputs[0];
  return GEMEL_OK;
}

/* Two results of that type. */
static inline gemel_status same_type_twice(gemel_infer *call) {
  call->n_outputs = 2;
  call->outputs[0] = call->outputs[1] = call->inputs[0];
  return GEMEL_OK;
}

/* A kernel that runs never, and one that writes nothing. */
static inline gemel_status no_run(const gemel_kernel_call *call) {
  (void)call;
  return GEMEL_UNSUPPORTED;
}

static inline gemel_status run_nothing(const gemel_kernel_call *call) {
  (void)call;
  return GEMEL_OK;
}

/* Of a view of f32 or f64: where element I is, its number, and how many there are. */
static inline char *place(const gemel_view *view, int64_t i) {
  char *at = view->data;
  for (int axis = view->rank - 1; axis >= 0; axis--) {
    at += i % view->shape[axis] * view->strides[axis];
    i /= view->shape[axis];
  }
  return at;
}

static inline double load(const gemel_view *view, int64_t i) {
  const void *at = place(view, i);
  return view->dtype == GEMEL_F32 ? (double)*(const float *)at : *(const double *)at;
}

static inline void store(const gemel_view *view, int64_t i, double x) {
  void *at = place(view, i);
  if (view->dtype == GEMEL_F32) {
    *(float *)at = (float)x;
  } else {
    *(double *)at = x;
  }
}

static inline int64_t elements(const gemel_view *view) {
  int64_t n = 1;
  for (int axis = 0; axis < view->rank; axis++) {
    n *= view->shape[axis];
  }
  return n;
}

/* A pass's instances, of which there are none. */
static inline gemel_status no_instance(gemel_graph *graph, uint64_t (*random)(void *), void *user,
                                       const void *data) {
  (void)random, (void)user, (void)data;
  return gemel_graph_error(graph)->status;
}

#endif
