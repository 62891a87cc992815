/* SPDX-License-Identifier: MIT
 *
 * Reference of transfer: a copy, since a memory space changes no element.
 */
#include "reference/common.h"
#include "reference/twin.h"

static gemel_status reference_transfer(gemel__rcall *call) {
  const gemel__rtensor *x = call->inputs[0];
  GEMEL__TRY(gemel__reference_output(call, 0, x->dtype, x->rank, x->shape));
  for (size_t i = 0; i < x->count; i++) {
    call->domain->set(call->domain, gemel__rtensor_at(&call->outputs[0], i),
                      gemel__rtensor_at(x, i));
  }
  return GEMEL_OK;
}

const gemel__twin gemel__twin_transfer = {.reference = reference_transfer,
                                          .sample = gemel__sampler_transfer,
                                          .arithmetic = GEMEL__EXACT,
                                          .linear = GEMEL__LINEAR_PART};
