/*
 * What the rules of shape.rules, index.rules and conv.rules come to together: graphs as programs
 * write them, and what is left of them. Sizes are symbols where that matters: what can't be decided
 * of them must leave the graph as it is. A second rewrite changes nothing.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <string.h>
#include <gemel/gemel.h>
#include "ct.h"
#include "support/graph-text.h"

typedef struct rewritten {
  const char *graph;  /* between "graph g" and the end */
  const char *wanted; /* the same of the result */
} rewritten;

static const rewritten cases[] = {
    /* heads are split off, moved, and moved back */
    {"(x: f32[B, T, 8]) { h = dimshuffle(reshape(x, shape = [B, T, 2, 4]), order = [0, 2, 1, 3]) "
     "r = reshape(dimshuffle(h, order = [0, 2, 1, 3]), shape = [B, T, 8]) return r }",
     "(x: f32[B, T, 8]) { r = x return r }"},
    /* axes of size 1 */
    {"(x: f32[N, 1, 3]) { r = reshape(reshape(x, shape = [N, 3, 1]), shape = [1, N, 3]) return r }",
     "(x: f32[N, 1, 3]) { r = dimshuffle(x, order = [-1, 0, 2]) return r }"},
    {"(x: f32[N, M]) { r = reshape(x, shape = [M, N]) return r }",
     "(x: f32[N, M]) { r = reshape(x, shape = [M, N]) return r }"},
    {"(x: f32[1, N]) { r = dimshuffle(x, order = [1, 0]) return r }",
     "(x: f32[1, N]) { r = dimshuffle(x, order = [1, 0]) return r }"},
    {"(x: f32[1, 1, N]) { r = dimshuffle(x, order = [1, 0, 2]) return r }",
     "(x: f32[1, 1, N]) { r = x return r }"},
    /* sizes that values hold: of symbols, of constants, and not known */
    {"(x: f32[2, N]) { n = size(value = N) r = subtensor(x, start = [0, 0], size = [2, n]) return "
     "r }",
     "(x: f32[2, N]) { r = x return r }"},
    {"(x: f32[5]) { n = 5:i64 r = reshape(x, shape = [n]) return r }",
     "(x: f32[5]) { r = x return r }"},
    {"(x: f32[N], m: i64[]) { n = size(value = m) r = subtensor(x, start = [0], size = [n], step = "
     "[1]) return r }",
     "(x: f32[N], m: i64[]) { n = size(value = m) r = subtensor(x, start = [0], size = [n], step = "
     "[1]) return r }"},
    /* a vector in the shape of a matrix */
    {"(x: f32[N, 3], b: f32[3]) { r = x - fill(x, broadcast_to(reshape(b, shape = [1, 3]), "
     "shape = [N, 3])) return r }",
     "(x: f32[N, 3], b: f32[3]) { r = x - b return r }"},
    {"(x: f32[3], b: f32[N, 3]) { r = neg(broadcast_to(x, shape = [N, 3])) "
     "s = broadcast_to(x, shape = [4, 3]) + 1 return r, s }",
     "(x: f32[3], b: f32[N, 3]) { r = broadcast_to(-x, shape = [N, 3]) "
     "s = broadcast_to(x + 1, shape = [4, 3]) return r, s }"},
    /* of N it isn't known that it is 1, and only a literal 1 is repeated */
    {"(x: f32[N]) { r = broadcast_to(broadcast_to(x, shape = [1]), shape = [5]) return r }",
     "(x: f32[N]) { r = broadcast_to(broadcast_to(x, shape = [1]), shape = [5]) return r }"},
    {"(x: f32[1, N]) { r = broadcast_to(broadcast_to(x, shape = [3, M]), shape = [2, 3, M]) "
     "return r }",
     "(x: f32[1, N]) { r = broadcast_to(x, shape = [2, 3, M]) return r }"},
    /* of N and M it isn't known that they are the same */
    {"(x: f32[N], y: f32[M]) { r = broadcast_to(x, shape = [N]) + y return r }",
     "(x: f32[N], y: f32[M]) { r = x + y return r }"},
    {"(x: f32[N, 3], y: f32[M, 3]) { r = subtensor(join(x, y), start = [N, 0], size = [M, 3]) "
     "s = subtensor(join(x, y), start = [0, 0], size = [M, 3], step = [1, 1]) return r, s }",
     "(x: f32[N, 3], y: f32[M, 3]) { j = join(x, y, axis = 0) r = subtensor(j, start = [N, 0], "
     "size = [M, 3], step = [1, 1]) s = subtensor(j, start = [0, 0], size = [M, 3], step = [1, 1]) "
     "return r, s }"},
    {"(x: f32[N, 3], y: f32[M + 1, 3]) { j = join(x, y) s = subtensor(j, start = [N, 0], "
     "size = [M + 1, 3]) return s }",
     "(x: f32[N, 3], y: f32[M + 1, 3]) { s = y return s }"},
    {"(x: f32[2, N], y: f32[3, N]) { s = subtensor(join(x, y), start = [3, 0], size = [2, N]) "
     "return s }",
     "(x: f32[2, N], y: f32[3, N]) { s = subtensor(y, start = [1, 0], size = [2, N], step = [1, "
     "1]) "
     "return s }"},
    /* split, turned part by part, joined */
    {"(x: f32[N, 6]) { a, b, c = split(x, sizes = [1, 2, 3], axis = 1) r = join(a, b, c, axis = 1) "
     "return r }",
     "(x: f32[N, 6]) { r = x return r }"},
    {"(x: f32[N, 6]) { r = subtensor(reverse(x, axes = [0, 1]), start = [0, 1], size = [N, 3]) "
     "return r }",
     "(x: f32[N, 6]) { r = subtensor(x, start = [N - 1, 4], size = [N, 3], step = [-1, -1]) "
     "return r }"},
    {"(x: f32[N, 6]) { r = subtensor(subtensor(x, start = [N - 1, 5], size = [N, 6], "
     "step = [-1, -1]), start = [0, 5], size = [N, 6], step = [1, -1]) return r }",
     "(x: f32[N, 6]) { r = reverse(x, axes = [0]) return r }"},
    /* a crop of a pad beside, across and inside the tensor */
    {"(x: f32[N, 3], v: f32) { p = pad(x, v, low = [0, 2], high = [0, 2]) "
     "a = subtensor(p, start = [0, 0], size = [N, 2]) b = subtensor(p, start = [0, 1], "
     "size = [N, 3]) c = subtensor(p, start = [0, 3], size = [N, 2]) return a, b, c }",
     "(x: f32[N, 3], v: f32) { a = broadcast_to(v, shape = [N, 2]) b = pad(x, v, low = [0, 1], "
     "high = [0, -1], interior = [0, 0]) c = subtensor(x, start = [0, 1], size = [N, 2], "
     "step = [1, 1]) return a, b, c }"},
    {"(x: f32[3], v: f32, w: f32) { a = pad(pad(x, v, low = [-1], high = [0]), v, low = [1], "
     "high = [0]) b = pad(pad(x, v, low = [1], high = [0]), w, low = [1], high = [0]) "
     "c = pad(pad(x, v, low = [1], high = [2]), v, low = [-1], high = [-2]) return a, b, c }",
     "(x: f32[3], v: f32, w: f32) { s = subtensor(x, start = [1], size = [2], step = [1]) "
     "a = pad(s, v, low = [1], high = [0], interior = [0]) p = pad(x, v, low = [1], high = [0], "
     "interior = [0]) b = pad(p, w, low = [1], high = [0], interior = [0]) c = x "
     "return a = a, b = b, c = c }"},
    /* gradients of slices: zeros, written to, added up */
    {"(a: f32[N, 2], b: f32[N, 3]) { z = broadcast_to(0:f32, shape = [N, 5]) "
     "r = inc_subtensor(z, a, start = [0, 0]) + inc_subtensor(z, b, start = [0, 2]) return r }",
     "(a: f32[N, 2], b: f32[N, 3]) { r = join(a, b, axis = 1) return r }"},
    {"(x: f32[5], y: f32[2], z: f32[2]) { s = set_subtensor(inc_subtensor(x, y, start = [1]), z, "
     "start = [1]) a = subtensor(s, start = [2], size = [1]) b = subtensor(s, start = [3], "
     "size = [2]) return a, b }",
     "(x: f32[5], y: f32[2], z: f32[2]) { a = subtensor(z, start = [1], size = [1], step = [1]) "
     "b = subtensor(x, start = [3], size = [2], step = [1]) return a, b }"},
    /* a window into zeros that is added, wherever it starts, but not where x is broadcast */
    {"(x: f32[5], y: f32[2], i: i64) { z = broadcast_to(0:f32, shape = [5]) "
     "r = x + inc_subtensor(z, y, start = [i]) return r }",
     "(x: f32[5], y: f32[2], i: i64) { r = inc_subtensor(x, y, start = [i], step = [1]) return r "
     "}"},
    {"(x: f32[5], y: f32[2]) { z = broadcast_to(0:f32, shape = [5]) "
     "r = set_subtensor(z, y, start = [4], step = [-2]) + x return r }",
     "(x: f32[5], y: f32[2]) { r = inc_subtensor(x, y, start = [4], step = [-2]) return r }"},
    {"(x: f32, y: f32[2], i: i64) { z = broadcast_to(0:f32, shape = [5]) "
     "r = x + set_subtensor(z, y, start = [i], step = [1]) return r }",
     "(x: f32, y: f32[2], i: i64) { z = broadcast_to(0:f32, shape = [5]) "
     "r = x + set_subtensor(z, y, start = [i], step = [1]) return r }"},
    /* a function that is used otherwise too isn't computed twice */
    {"(x: f32[N, 4]) { h = tanh(x) r = subtensor(h, start = [0, 1], size = [N, 2]) return r, h }",
     "(x: f32[N, 4]) { h = tanh(x) r = subtensor(h, start = [0, 1], size = [N, 2], step = [1, 1]) "
     "return r, h }"},
    {"(x: f32[N, 4]) { h = tanh(x) r = subtensor(h, start = [0, 1], size = [N, 2]) return r }",
     "(x: f32[N, 4]) { s = subtensor(x, start = [0, 1], size = [N, 2], step = [1, 1]) r = tanh(s) "
     "return r }"},
    /* sizes that a node produces */
    {"(n: i64, x: f32[3]) { r = reverse(broadcast_to(x, shape = [n, 3]), axes = [0, 1]) return r }",
     "(n: i64, x: f32[3]) { y = reverse(x, axes = [0]) r = broadcast_to(y, shape = [n, 3]) "
     "return r }"},
    /* normalization by known statistics is the weights' and the bias's */
    {"(x: f32[N, 2, 9]) { y = corr(x, tensor(f32[2, 2, 1], [1, 2, 3, 4])) "
     "r = relu((y + tensor(f32[2, 1], [-1, -2])) * tensor(f32[2, 1], [2, 4]) + tensor(f32[2, 1], "
     "[5, 6])) return r }",
     "(x: f32[N, 2, 9]) { y = corr(x, tensor(f32[2, 2, 1], [2, 4, 12, 16]), stride = [1], "
     "dilation = [1], low = [0], high = [0]) r = relu(y + tensor(f32[2, 1], [-2, -8]) + "
     "tensor(f32[2, 1], [5, 6])) return r }"},
    /* but an infinite factor isn't: times 0 it is NaN */
    {"(x: f32[N, 2, 9]) { r = corr(x, tensor(f32[2, 2, 1], [1, 2, 3, 4])) * tensor(f32[2, 1], [2, "
     "inf]) return r }",
     "(x: f32[N, 2, 9]) { r = corr(x, tensor(f32[2, 2, 1], [1, 2, 3, 4]), stride = [1], "
     "dilation = [1], low = [0], high = [0]) * tensor(f32[2, 1], [2, inf]) return r }"},
    /* what isn't wanted of a convolution isn't computed */
    {"(x: f32[N, 2, 9], w: f32[4, 2, 3]) { r = subtensor(corr(x, w, low = [1], high = [1]), "
     "start = [0, 0, 0], size = [N, 4, 5], step = [1, 1, 2]) return r }",
     "(x: f32[N, 2, 9], w: f32[4, 2, 3]) { r = corr(x, w, stride = [2], dilation = [1], low = [1], "
     "high = [1]) return r }"},
    {"(x: f32[7, 2, 9], w: f32[4, 2, 3]) { r = subtensor(corr(x, w), start = [2, 1, 0], "
     "size = [3, 2, 7]) return r }",
     "(x: f32[7, 2, 9], w: f32[4, 2, 3]) { a = subtensor(x, start = [2, 0, 0], size = [3, 2, 9], "
     "step = [1, 1, 1]) b = subtensor(w, start = [1, 0, 0], size = [2, 2, 3], step = [1, 1, 1]) "
     "r = corr(a, b, stride = [1], dilation = [1], low = [0], high = [0]) return r }"},
    /* of constants a number is left */
    {"(z: f32[1, 1, 2]) { x = tensor(f32[1, 1, 3], [1, 2, 3]) g = tensor(f32[1, 1, 2], [4, 5]) "
     "r = z + corr(x, g) s = z * corr_grad_weights(x, g, kernel = [2]) "
     "t = z * corr_grad_inputs(tensor(f32[1, 1, 1], [3]), g, image = [2]) return r, s, t }",
     "(z: f32[1, 1, 2]) { c = tensor(f32[1, 1, 2], [14, 23]) r = z + c s = z * c "
     "t = z * tensor(f32[1, 1, 2], [12, 15]) return r, s, t }"},
};

static gemel_graph *rewrite(const gemel_graph *graph) {
  gemel_rewrite_options options = {.size = sizeof options};
  gemel_error error = {0};
  options.include = "shape,index,conv";
  gemel_graph *result = graph != NULL ? gemel_rewrite(graph, &options, &error) : NULL;
  CT_EQ_STR(error.text, "");
  return result;
}

static void compare(const gemel_graph *result, const gemel_graph *wanted) {
  if (CT_CHECK(result != NULL && wanted != NULL)) {
    char *a = gemel_print_string(result, "g", NULL), *b = gemel_print_string(wanted, "g", NULL);
    CT_EQ_STR(a, b);
    gemel_text_free(a);
    gemel_text_free(b);
  }
}

static void same_as_wanted(const void *data) {
  const rewritten *r = data;
  gemel_context *context = gemel_context_new(NULL);
  gemel_graph *graph = graph_of(context, r->graph), *wanted = graph_of(context, r->wanted);
  gemel_graph *once = rewrite(graph), *twice = rewrite(once);
  compare(once, wanted);
  compare(twice, wanted);
  gemel_graph_unref(twice);
  gemel_graph_unref(once);
  gemel_graph_unref(wanted);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

void ct_register(void) {
  static char names[CT_COUNT(cases)][24];
  for (size_t k = 0; k < CT_COUNT(cases); k++) {
    snprintf(names[k], sizeof names[k], "case/%zu", k);
    CT_ADD("shape-rules", names[k], same_as_wanted, &cases[k]);
  }
}
