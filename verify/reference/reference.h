/* SPDX-License-Identifier: MIT
 *
 * References: one obvious implementation of each operation, for any domain. Their tensors are dense
 * row-major arrays of domain elements. They use nothing of the library's kernels, type rules and
 * gradients.
 */
#ifndef GEMEL__REFERENCE_REFERENCE_H
#define GEMEL__REFERENCE_REFERENCE_H

#include <gemel/operation.h>
#include "domains/domain.h"
#include "base/element.h"
#include "base/tick.h"

/* A loop that takes more steps is followed no further: GEMEL_TOO_LONG, in the shipped code as in
 * its twin. It may have no end. */
enum { GEMEL__MOST_STEPS = 1 << 16 };

/* A tensor of domain elements, row-major. */
typedef struct gemel__rtensor {
  gemel__domain *domain; /* NULL: the slot is empty */
  gemel_dtype dtype;
  int rank;
  int64_t shape[GEMEL_MAX_RANK];
  size_t count;
  void *elements;
} gemel__rtensor;

/* Allocates a tensor of zeros. GEMEL_NO_MEMORY, or GEMEL_BAD_VALUE for more than 2^24 elements
 * (sizes are limited because GMP aborts when memory is out). */
gemel_status gemel__rtensor_init(gemel__rtensor *t, gemel__domain *d, gemel_dtype dtype, int rank,
                                 const int64_t *shape, gemel_error *error);
void gemel__rtensor_clear(gemel__rtensor *t);

/* Element I in row-major order. */
static inline void *gemel__rtensor_at(const gemel__rtensor *t, size_t i) {
  return (char *)t->elements + i * t->domain->bytes;
}

/* The element at INDEX, of as many numbers as the rank. */
void *gemel__rtensor_index(const gemel__rtensor *t, const int64_t *index);

/* Makes T from concrete numbers, exactly; VIEW may have any strides. */
gemel_status gemel__rtensor_from_view(gemel__rtensor *t, gemel__domain *d, const gemel_view *view,
                                      gemel_error *error);

/* N tensors: clears T; and frees it too (may be NULL); clears T, and fills it in from VALUES. */
void gemel__rtensors_clear(size_t n, gemel__rtensor *t);
void gemel__rtensors_free(size_t n, gemel__rtensor *t);
gemel_status gemel__rtensors_read(size_t n, gemel__rtensor *t, gemel__domain *d,
                                  gemel_tensor *const *values, gemel_error *error);

/* A call of a reference. It fills in OUTPUTS[0..n_outputs) with gemel__rtensor_init and sets
 * N_OUTPUTS. It works out shapes and dtypes by itself; they are compared with the type rule's.
 * ATTRS are in schema order, with dims evaluated to integers. */
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
  void *user;       /* as passed with EXTRA to gemel__reference_graph */
  gemel_context *context;
  const gemel_operation *operation; /* the record */
} gemel__rcall;

typedef gemel_status (*gemel__reference)(gemel__rcall *call);

/* From now on, evaluations on this thread call ASK(USER) many times a second. If it returns
 * anything but GEMEL_OK, the evaluation ends with that status. ASK NULL: nothing is called. */
void gemel__reference_watch(gemel_status (*ask)(void *user), void *user);

/* Counts DONE computed elements or terms, and asks if it is time. For references whose elements
 * take long. */
gemel_status gemel__reference_go_on(size_t done);

/* Evaluates GRAPH's outputs on D by references. INPUTS are in the graph's order. OUTPUTS, an array
 * of empty slots, one for each output, is filled in; the caller releases them. Values are freed
 * after their last use. EXTRA (may be NULL) is asked first for an operation's reference, by its id.
 * A program's operation has the reference that the program gave it (own.h), else
 * gemel__reference_unknown. Errors: GEMEL_INTERNAL (a reference's shape or dtype isn't that of the
 * graph's types), and what references report. */
typedef gemel__reference (*gemel__reference_lookup)(void *user, uint32_t op);
gemel_status gemel__reference_graph(const gemel_graph *graph, gemel__domain *d,
                                    const gemel__rtensor *inputs, gemel__rtensor *outputs,
                                    gemel__reference_lookup extra, void *user, gemel_error *error);

/* Evaluates GRAPH, which has no inputs, on D. VISIT gets each value that an output needs as soon as
 * it is computed, which is freed after its last use; so many large outputs needn't be there at
 * once. */
typedef void (*gemel__reference_visitor)(void *user, uint32_t node, uint32_t output,
                                         const gemel__rtensor *value);
gemel_status gemel__reference_visit(const gemel_graph *graph, gemel__domain *d,
                                    gemel__reference_visitor visit, void *user, gemel_error *error);

/* From now on, evaluations on this thread ask TICKER; NULL: no more. */
void gemel__ticker_watch(gemel__ticker *ticker);

/* Notes in that ticker that a loop took more than GEMEL__MOST_STEPS steps, so that values were left
 * out. */
void gemel__ticker_unfollowed(void);

#endif
