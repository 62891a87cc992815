/* SPDX-License-Identifier: MIT
 *
 * Random instances of invoke: one body, with symbols for its sizes, called with any sizes.
 */
#include <gemel/ops.h>
#include "sample/sampling.h"

/* A body of two inputs and two outputs that every dtype goes through. */
static gemel_status build_body(gemel_graph *body, gemel_dtype dtype) {
  gemel_context *context = gemel_graph_context(body);
  gemel_dim dims[2] = {gemel_dim_symbol(context, "N"), gemel_dim_symbol(context, "M")};
  int64_t axis = 0;
  gemel_value x = gemel_input(body, "x", gemel_type_new(context, dtype, 2, dims, 0));
  gemel_value y = gemel_input(body, "y", gemel_type_new(context, dtype, 1, &dims[1], 0));
  gemel_value z = gemel_add(gemel_mul(x, y), x);
  gemel_output(z, "z");
  return gemel_output(gemel_sum_with(z, .axes = {1, &axis}), "total");
}

gemel_status gemel__sampler_invoke(gemel_sample *sample) {
  gemel_graph *body = gemel_graph_new(sample->context, NULL);
  int64_t shape[2];
  gemel_status status = body == NULL ? GEMEL_NO_MEMORY : build_body(body, sample->dtype);
  if (status == GEMEL_OK) {
    status = gemel__sample_body(sample, "invoke", body);
  }
  gemel_graph_unref(body);
  if (status != GEMEL_OK) {
    return status;
  }
  gemel__sample_shape(sample, 2, shape);
  gemel__sample_input(sample, sample->dtype, 2, shape, GEMEL_RANGE_ANY);
  gemel__sample_input(sample, sample->dtype, 1, &shape[1], GEMEL_RANGE_ANY);
  return gemel__sample_status(sample);
}
