/* SPDX-License-Identifier: MIT
 *
 * References: one obvious implementation for each operation, generic over the domain. Tensors here
 * are dense row-major arrays of domain elements; nothing of the library's kernels, type rules or
 * gradients is used.
 */
#ifndef GEMEL__REFERENCE_REFERENCE_H
#define GEMEL__REFERENCE_REFERENCE_H

#include <gemel/operation.h>
#include "domains/domain.h"
#include "base/element.h"
#include "base/tick.h"

/* A tensor of domain elements, row-major. */
typedef struct gemel__rtensor {
  gemel__domain *domain; /* NULL: empty slot */
  gemel_dtype dtype;
  int rank;
  int64_t shape[GEMEL_MAX_RANK];
  size_t count;
  void *elements;
} gemel__rtensor;

/* Allocates COUNT = product of SHAPE elements (0 in value). GEMEL_NO_MEMORY, or GEMEL_BAD_VALUE if
 * more than 2^24 elements are asked for (GMP aborts when memory is out, so sizes are capped here).
 */
gemel_status gemel__rtensor_init(gemel__rtensor *t, gemel__domain *d, gemel_dtype dtype, int rank,
                                 const int64_t *shape, gemel_error *error);
void gemel__rtensor_clear(gemel__rtensor *t);

/* Element I in row-major order. */
static inline void *gemel__rtensor_at(const gemel__rtensor *t, size_t i) {
  return (char *)t->elements + i * t->domain->bytes;
}

/* Element at an index of RANK numbers. */
void *gemel__rtensor_index(const gemel__rtensor *t, const int64_t *index);

/* Converts concrete numbers to elements: from a view of any strides, exactly. */
gemel_status gemel__rtensor_from_view(gemel__rtensor *t, gemel__domain *d, const gemel_view *view,
                                      gemel_error *error);

/* N tensors: clears T, and fills it in from VALUES. */
void gemel__rtensors_clear(size_t n, gemel__rtensor *t);
gemel_status gemel__rtensors_read(size_t n, gemel__rtensor *t, gemel__domain *d,
                                  gemel_tensor *const *values, gemel_error *error);

/* One evaluation. The reference fills in OUTPUTS[0..n_outputs) with gemel__rtensor_init (shape and
 * dtype by its own reasoning: the harness compares them with the type rule's) and sets N_OUTPUTS.
 * ATTRS are in schema order, dims in them evaluated to integers. */
typedef struct gemel__rcall {
  gemel__domain *domain;
  size_t n_inputs;
  const gemel__rtensor *const *inputs;
  const gemel_attr *attrs;
  size_t n_outputs, max_outputs;
  gemel__rtensor *outputs;
  const void *data;
  gemel_error *error;
  const char *name; /* of the operation */
  void *user;       /* who gave the EXTRA references of the evaluation */
  gemel_context *context;
  const gemel_operation *operation; /* the record */
} gemel__rcall;

typedef gemel_status (*gemel__reference)(gemel__rcall *call);

/* From now on evaluations on this thread ask ASK(USER) many times a second whether to go on; what
 * isn't GEMEL_OK ends them, with that status. ASK NULL: nobody is asked. */
void gemel__reference_watch(gemel_status (*ask)(void *user), void *user);

/* Asks, if since the last time so many elements were computed, or terms added up, that it is due;
 * DONE of them are new. For references whose elements take long. */
gemel_status gemel__reference_go_on(size_t done);

/* Evaluates GRAPH's outputs on D by references alone: INPUTS in the graph's order; OUTPUTS (an
 * array of as many empty slots as the graph has outputs) is filled in. Values are freed after their
 * last use. EXTRA (may be NULL) is asked first, for an
 * operation by its id. A program's operations have the references that it
 * gave them (own.h); one without is keyed in F and is what its kernel computes elsewhere. Errors:
 * GEMEL_INTERNAL (a reference's shape or dtype is not what the
 * graph's types say), and what the references report. */
typedef gemel__reference (*gemel__reference_lookup)(void *user, uint32_t op);
gemel_status gemel__reference_graph(const gemel_graph *graph, gemel__domain *d,
                                    const gemel__rtensor *inputs, gemel__rtensor *outputs,
                                    gemel__reference_lookup extra, void *user, gemel_error *error);

/* References that are evaluated on this thread ask, too, from now on; TICKER NULL: no more. */
void gemel__ticker_watch(gemel__ticker *ticker);

#endif
