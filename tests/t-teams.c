/*
 * Teams: operations on tensors that are large enough for several threads give, bit for bit, what
 * one thread gives. Memory that nothing wrote holds a pattern (poison), so what a thread leaves out
 * shows.
 *
 * SPDX-License-Identifier: MIT
 */
#include "support/network.h"

static const struct {
  const char *name, *text;
} graphs[] = {
    {"take", "graph f(x: f32[300, 500], i: i64[700]) { return y = take(x, i, axis = 0) }"},
    {"put", "graph f(x: f32[700, 500], i: i64[700], y: f32[700, 500]) {"
            "  return z = put(x, i, y, axis = 0, mode = \"add\") }"},
    {"cumsum",
     "graph f(x: f32[500, 700]) { return y = cumsum(x, axis = 0), z = cumsum(x, axis = 1) }"},
    {"sort",
     "graph f(x: f32[300, 500]) { return y = argsort(x, axis = 1), z = argsort(x, axis = 0) }"},
    {"argmax", "graph f(x: f32[500, 700], y: f32[300000], z: f32[3, 90000]) {"
               "  return a = argmax(x, axis = 0), b = argmax(x, axis = 1), c = argmax(y, axis = 0),"
               "         d = argmax(z, axis = 1) }"},
    {"searchsorted", "graph f(x: f32[90], y: f32[40000]) { return z = searchsorted(x * 0, y) }"},
    {"solve",
     "graph f(x: f32[900, 9, 9], y: f32[900, 9, 2]) {"
     "  return z = solve(x, y), d = det(x), e = solve(dimshuffle(x, order = [0, 2, 1]), y) }"},
    {"pools",
     "graph f(x: f32[4, 6, 70, 70], y: f32[3, 5, 9000]) {"
     "  return a = max_pool(x, size = [3, 3]), b = avg_pool(x, size = [3, 2], stride = [2, 2]),"
     "         c = max_pool(y, size = [4], stride = [3]), d = avg_pool(y, size = [5]) }"},
    {"pool_gradients",
     "graph f(x: f32[4, 6, 70, 70]) {"
     "  y = max_pool(x, size = [2, 2], stride = [2, 2])"
     "  return a = max_pool_grad(x, y, size = [2, 2], stride = [2, 2]),"
     "         b = avg_pool_grad(y, size = [2, 2], stride = [2, 2], image = [70, 70]) }"},
    {"softmax",
     "graph f(x: f32[500, 700]) { return y = softmax(x, axis = 0), z = softmax(x, axis = 1) }"},
    {"sums", "graph f(x: f32[500, 700], y: f32[400000]) {"
             "  return a = sum(x, axes = [0]), b = sum(x, axes = [1]), c = max(y), d = prod(x, "
             "axes = [1]) }"},
    {"random", "graph f(k: u64[2]) { return y = random_uniform(k, shape = [90000]) }"},
    {"scalars", "graph f(x: f32[500, 700], y: f32[700]) { return z = exp(x) * y - x }"},
    {"turned", "graph f(x: f32[500, 700]) { return z = dimshuffle(x, order = [1, 0]) * 2 }"},
    {"products", "graph f(x: i64[300, 200], y: i64[200, 300]) { return z = dot(x, y) }"},
    {"convolutions",
     "graph f(x: f32[4, 8, 40, 40], w: f32[16, 8, 3, 3]) {"
     "  return y = corr(x, w), z = corr(x * 2, w, padding = \"half\", dilation = [2, 2]) }"},
    {"losses", "graph f(x: f32[500, 700], t: f32[500, 700], i: i64[500]) {"
               "  return a = cross_entropy(x, t, axis = 1), b = cross_entropy(x, i, axis = 1),"
               "         c = cross_entropy(x, t, axis = 0) }"},
    {"large_systems", "graph f(x: f32[3, 90, 90], y: f32[3, 90, 20]) { return z = solve(x, y) }"},
    {"columns",
     "graph f(x: f32[40, 9000], y: f32[30, 40, 300], z: f32[9000, 40], w: f32[7, 300, 90]) {"
     "  return a = sum(x, axes = [0]), b = max(y, axes = [0, 1]), c = sum(z, axes = [0]),"
     "         d = argmax(x, axis = 0) }"},
    {"slabs",
     "graph f(w: f32[60, 30, 90]) {"
     "  return a = sum(w, axes = [1]), b = sum(w, axes = [0, 2]), c = max(w, axes = [1]) }"},
    {"wide_convolutions", "graph f(x: f32[4, 8, 40, 40], w: f32[16, 8, 3, 3]) {"
                          "  d = cast(x, dtype = f64)  v = cast(w, dtype = f64)"
                          "  i = cast(x, dtype = i32)  j = cast(w, dtype = i32)"
                          "  return a = corr(d, v), b = corr(i, j), c = max_pool(i, size = [3, 3]),"
                          "         e = avg_pool(d, size = [3, 3], stride = [2, 2]) }"},
};

static void as_one_thread(const void *data) {
  size_t k = (size_t)(uintptr_t)data;
  gemel_context *context = context_new();
  gemel_tensor *team[MAX_OUTPUTS];
  program p;
  error = (gemel_error){0};
  if (CT_CHECK(begin_call(&p, context, graphs[k].name, graphs[k].text))) {
    CT_EQ_INT(run_call(&p, as_written(1, 0, 1), p.wanted, NULL), GEMEL_OK);
    CT_EQ_INT(run_call(&p, as_written(3, 0, 1), team, NULL), GEMEL_OK);
    for (size_t j = 0; j < gemel_graph_output_count(p.graph); j++) {
      ct_context("%s: result %zu", graphs[k].name, j);
      CT_CHECK(team[j] != NULL && p.wanted[j] != NULL && same_tensor(team[j], p.wanted[j]));
    }
    drop(team, MAX_OUTPUTS);
  }
  CT_EQ_STR(error.text, "");
  close_call(&p);
  gemel_context_unref(context);
}

void ct_register(void) {
  for (size_t k = 0; k < CT_COUNT(graphs); k++) {
    CT_ADD("teams", graphs[k].name, as_one_thread, (const void *)(uintptr_t)k);
  }
}
