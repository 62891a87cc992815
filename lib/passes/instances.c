/* SPDX-License-Identifier: MIT
 *
 * Drawing dtypes, inputs and operations. Everything comes from the caller's random bits, so the
 * same bits make the same graph.
 */
#include "passes/instances.h"

static const gemel_dtype integers[] = {GEMEL_I8, GEMEL_I16, GEMEL_I32, GEMEL_I64,
                                       GEMEL_U8, GEMEL_U16, GEMEL_U32, GEMEL_U64};
/* of the wider ones more, since most is measured in them */
static const gemel_dtype floats[] = {GEMEL_F64, GEMEL_F32, GEMEL_F64, GEMEL_F32,
                                     GEMEL_F64, GEMEL_F32, GEMEL_F16, GEMEL_BF16};

uint64_t gemel__draw_below(const gemel__drawing *d, uint64_t n) {
  return (d->random(d->user) >> 33) % n;
}

static void draw_inputs(const gemel__drawing *d, gemel_value in[3]) {
  gemel_context *context = gemel_graph_context(d->graph);
  int64_t shape[2] = {(int64_t)gemel__draw_below(d, 3), (int64_t)gemel__draw_below(d, 2) + 2};
  in[0] = gemel_input(d->graph, "x", gemel_type_of_shape(context, d->dtype, 2, shape));
  in[1] = gemel_input(d->graph, "y", gemel_type_of_shape(context, d->dtype, 1, shape + 1));
  in[2] = gemel__draw_number(d, (double)gemel__draw_below(d, 9) + 1);
}

gemel__drawing gemel__draw_on(gemel_graph *graph, uint64_t (*random)(void *user), void *user,
                              int integer) {
  gemel__drawing d = {graph, random, user, GEMEL_F64};
  d.dtype = (integer ? integers : floats)[gemel__draw_below(&d, 8)];
  return d;
}

gemel__drawing gemel__draw_start(gemel_graph *graph, uint64_t (*random)(void *user), void *user,
                                 int integer, gemel_value in[3]) {
  gemel__drawing d = gemel__draw_on(graph, random, user, integer);
  draw_inputs(&d, in);
  return d;
}

gemel_value gemel__draw_number(const gemel__drawing *d, double number) {
  return gemel_scalar(d->graph, d->dtype, number);
}

gemel_value gemel__draw_apply(const gemel__drawing *d, const char *op, gemel_value x,
                              gemel_value y) {
  gemel_value operands[2] = {x, y};
  return gemel_apply(d->graph, op, gemel_is_null(y) ? 1 : 2, operands, 0, NULL);
}
