/* SPDX-License-Identifier: MIT
 *
 * References of the source family: values that are made from no operand.
 */
#include "reference/common.h"
#include "reference/twin.h"

/* Never called: the evaluator of graphs gets inputs from its caller. */
static gemel_status reference_input(gemel__rcall *call) {
  return gemel__fail(call->error, GEMEL_INTERNAL, "an input has no value of its own");
}

const gemel__twin gemel__twin_input = {.reference = reference_input, .arithmetic = GEMEL__EXACT};

static gemel_status reference_constant(gemel__rcall *call) {
  gemel_view view = gemel_tensor_view(call->attrs[0].u.tensor);
  call->n_outputs = 1;
  return gemel__rtensor_from_view(&call->outputs[0], call->domain, &view, call->error);
}

const gemel__twin gemel__twin_constant = {.reference = reference_constant,
                                          .arithmetic = GEMEL__EXACT};

/* value, an i64 scalar */
static gemel_status reference_size(gemel__rcall *call) {
  GEMEL__TRY(gemel__reference_output(call, 0, GEMEL_I64, 0, NULL));
  gemel__domain *d = call->domain;
  d->from_integer(d, gemel__rtensor_at(&call->outputs[0], 0), call->attrs[0].u.i);
  return GEMEL_OK;
}

const gemel__twin gemel__twin_size = {.reference = reference_size,
                                      .sample = gemel__sampler_size,
                                      .propose = gemel__propose_size,
                                      .arithmetic = GEMEL__EXACT};

/* out[i] = i, rounded to the dtype (an i8 wraps, an f16 has no 2049) */
static gemel_status reference_arange(gemel__rcall *call) {
  int64_t n = call->attrs[0].u.i;
  gemel_dtype dtype = call->attrs[1].u.dtype;
  gemel__decider w;
  if (n < 0) {
    return gemel__fail(call->error, GEMEL_BAD_SHAPE, "a size of %lld", (long long)n);
  }
  GEMEL__TRY(gemel__reference_output(call, 0, dtype, 1, &n));
  GEMEL__TRY(gemel__decider_init(&w, call->domain, call->error));
  for (int64_t i = 0; i < n; i++) {
    void *e = gemel__rtensor_at(&call->outputs[0], (size_t)i);
    call->domain->from_integer(call->domain, e, i);
    if (dtype == GEMEL_BOOL) {
      gemel__truth(&w, e, e);
    } else {
      call->domain->round(call->domain, e, dtype, 0.5);
    }
  }
  gemel__decider_clear(&w);
  return GEMEL_OK;
}

const gemel__twin gemel__twin_arange = {.reference = reference_arange,
                                        .sample = gemel__sampler_arange,
                                        .propose = gemel__propose_arange,
                                        .arithmetic = GEMEL__EXACT};
