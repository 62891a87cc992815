/* SPDX-License-Identifier: MIT
 *
 * Generators of the passes that compute before a loop what doesn't depend on its states.
 */
#include <gemel/ops.h>
#include "passes/instances.h"
#include "passes/passes.h"

/* The operands of products in a body: rows x, of N by D, and constants. */
typedef struct drawn_product {
  gemel__drawing by;
  gemel_dim n, d, h;
  gemel_value x, w, v, m; /* m: N by H; w: D by H; v: N by D by H */
  int hoists;
} drawn_product;

/* What feeds a product: N by D. */
static gemel_value draw_feed(const drawn_product *p) {
  const gemel_dim shape[] = {p->n, p->d};
  switch (gemel__draw_below(&p->by, 6)) {
  case 0:
    return gemel_sqr(p->x);
  case 1:
    return gemel_mul(p->x, gemel_sum_with(p->w, .axes = GEMEL_INTS(1)));
  case 2:
    return gemel_broadcast_to(gemel_max_with(p->x, .axes = GEMEL_INTS(1), .keepdims = 1), 2, shape);
  case 3:
    return gemel_reshape(gemel_neg(p->x), 2, shape);
  default:
    return p->x;
  }
}

/* A product, N by H. */
static gemel_value draw_product(const drawn_product *p) {
  static const int64_t swap[] = {1, 0};
  gemel_value x = draw_feed(p);
  switch (gemel__draw_below(&p->by, 6)) {
  case 0: /* rows on the right, contracted by their last axis */
    return gemel_dimshuffle(
        gemel_dot_with(p->w, x, .contract_x = GEMEL_INTS(0), .contract_y = GEMEL_INTS(1)), 2, swap);
  case 1:
    return gemel_dot_with(gemel_dimshuffle(x, 2, swap), gemel_mul(p->w, p->w),
                          .contract_x = GEMEL_INTS(0), .contract_y = GEMEL_INTS(0));
  case 2: /* with a batch axis */
    return gemel_dot_with(x, p->v, .contract_x = GEMEL_INTS(1), .contract_y = GEMEL_INTS(1),
                          .batch_x = GEMEL_INTS(0), .batch_y = GEMEL_INTS(0));
  case 3: /* fed by a product of rows with rows */
    return gemel_dot(
        gemel_dot_with(x, p->x, .contract_x = GEMEL_INTS(1), .contract_y = GEMEL_INTS(1)), p->m);
  default:
    return gemel_dot(x, p->w);
  }
}

static gemel_type drawn_type(const drawn_product *p, int rank, gemel_dim a, gemel_dim b,
                             gemel_dim c) {
  return gemel_type_new(gemel_graph_context(p->by.graph), p->by.dtype, rank, (gemel_dim[]){a, b, c},
                        GEMEL_SPACE_HOST);
}

/* What is the same in each step: N by H. */
static gemel_value draw_same(const drawn_product *p) {
  const gemel_dim shape[] = {p->n, p->h};
  switch (gemel__draw_below(&p->by, 4)) {
  case 0:
    return gemel_sum_with(gemel_neg(p->v), .axes = GEMEL_INTS(1));
  case 1:
    return gemel_mul(
        p->m,
        gemel_broadcast_to(gemel_max_with(p->m, .axes = GEMEL_INTS(1), .keepdims = 1), 2, shape));
  case 2:
    return gemel_dot_with(
        gemel_sqr(p->m),
        gemel_dot_with(p->w, p->w, .contract_x = GEMEL_INTS(0), .contract_y = GEMEL_INTS(0)),
        .contract_x = GEMEL_INTS(1), .contract_y = GEMEL_INTS(0));
  default:
    return gemel_where(gemel_gt(p->m, gemel__draw_number(&p->by, 0)), p->m, gemel_neg(p->m));
  }
}

/* A body with state h, one or two products in its next state and one in a stack; to be hoisted, of
 * constants too. */
static gemel_status draw_body(const drawn_product *from, gemel_graph *body) {
  drawn_product p = *from;
  p.by.graph = body;
  gemel_value h = gemel_input(body, "h", drawn_type(&p, 2, p.n, p.h, GEMEL_DIM_NONE));
  p.x = gemel_input(body, "x", drawn_type(&p, 2, p.n, p.d, GEMEL_DIM_NONE));
  p.w = gemel_input(body, "w", drawn_type(&p, 2, p.d, p.h, GEMEL_DIM_NONE));
  p.v = gemel_input(body, "v", drawn_type(&p, 3, p.n, p.d, p.h));
  p.m = gemel_input(body, "m", drawn_type(&p, 2, p.n, p.h, GEMEL_DIM_NONE));
  gemel_value next = gemel_sub(p.hoists ? draw_same(&p) : draw_product(&p), h);
  if (gemel__draw_below(&p.by, 2)) {
    next = gemel_add(next, gemel_mul(h, draw_product(&p)));
  }
  gemel_output(next, "next");
  gemel_output(gemel__draw_below(&p.by, 2) ? draw_product(&p) : gemel_neg(p.x), "y");
  return gemel_graph_error(body)->status;
}

/* Small ones; and ones of products that are a library's, which rounds one row otherwise than many.
 */
static void draw_sizes(drawn_product *p) {
  gemel_context *context = gemel_graph_context(p->by.graph);
  int large = gemel__draw_below(&p->by, 4) == 0;
  int64_t n = 1 + (int64_t)gemel__draw_below(&p->by, 3);
  int64_t d = n + (int64_t)gemel__draw_below(&p->by, 2); /* room for products of rows with rows */
  p->n = gemel_dim_constant(context, large ? 1 : n);
  p->d = gemel_dim_constant(context, large ? 30 : d);
  p->h = gemel_dim_constant(context, large ? 9 : 1 + (int64_t)gemel__draw_below(&p->by, 3));
  p->by.dtype = gemel__draw_below(&p->by, 4) == 0   ? GEMEL_I64
                : gemel__draw_below(&p->by, 2) == 0 ? GEMEL_F32
                                                    : GEMEL_F64;
}

/* A loop over such a body. */
static gemel_status draw_pushing(gemel_graph *graph, uint64_t (*random)(void *user), void *user,
                                 int hoists) {
  static const int64_t lengths[] = {0, 1, 2, 3, 5};
  gemel_context *context = gemel_graph_context(graph);
  drawn_product p = {.by = gemel__draw_on(graph, random, user, 0), .hoists = hoists};
  draw_sizes(&p);
  gemel_dim rows = gemel_dim_constant(context, lengths[gemel__draw_below(&p.by, 5)]);
  gemel_graph *body = gemel_graph_new(context, NULL);
  gemel_status status = body != NULL ? draw_body(&p, body) : GEMEL_NO_MEMORY;
  if (status == GEMEL_OK) {
    gemel_value operands[] = {gemel_input(graph, "h", drawn_type(&p, 2, p.n, p.h, GEMEL_DIM_NONE)),
                              gemel_input(graph, "x", drawn_type(&p, 3, rows, p.n, p.d)),
                              gemel_input(graph, "w", drawn_type(&p, 2, p.d, p.h, GEMEL_DIM_NONE)),
                              gemel_input(graph, "v", drawn_type(&p, 3, p.n, p.d, p.h)),
                              gemel_input(graph, "m", drawn_type(&p, 2, p.n, p.h, GEMEL_DIM_NONE))};
    gemel_scan_options options = {.states = 1, .sequences = 1};
    options.reverse = (int64_t)gemel__draw_below(&p.by, 2);
    gemel_value loop = gemel_scan_at(5, operands, body, &options, GEMEL_HERE);
    gemel_output(gemel_value_output(loop, 1), "history");
    gemel_output(gemel_value_output(loop, 2), "y");
    status = gemel_graph_error(graph)->status;
  }
  gemel_graph_unref(body);
  return status;
}

gemel_status gemel__generate_scan_push_rows(gemel_graph *graph, uint64_t (*random)(void *user),
                                            void *user, const void *data) {
  (void)data;
  return draw_pushing(graph, random, user, 0);
}

gemel_status gemel__generate_scan_hoist(gemel_graph *graph, uint64_t (*random)(void *user),
                                        void *user, const void *data) {
  (void)data;
  return draw_pushing(graph, random, user, 1);
}
