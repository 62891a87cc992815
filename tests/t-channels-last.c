/*
 * Images with channels last: functions in which a plan lays values out so give, bit for bit, what
 * the plain functions give, in which all is row-major. Operands are small integers, so every order
 * of summation gives the same. Weights that stay from call to call are brought to
 * another layout once, and anew when their variable has changed.
 *
 * SPDX-License-Identifier: MIT
 */
#include "support/network.h"
#include "support/operation.h"

typedef struct network {
  const char *name;
  const char *text;
  int marked; /* how many values have channels last, as the listing says */
} network;

#define IMAGES "x: f32[2, 16, 12, 10], w: f32[32, 16, 3, 3]"
#define TWO_LAYERS IMAGES ", v: f32[32, 32, 3, 3]"

static const network networks[] = {
#ifdef HAVE_DNNL
    {"result_of_the_function", "graph f(" IMAGES ") { return y = corr(x, w) }", 0},
    {"sum", "graph f(" IMAGES ") { return s = sum(corr(x, w) + 1, axes = [0, 2, 3]) }", 2},
    {"bias",
     "graph f(" TWO_LAYERS ", b: f32[32]) {"
     "  h = relu(corr(x, w) + dimshuffle(b, order = [0, -1, -1]))"
     "  return y = corr(h, v) }",
     2},
    {"bias_alone",
     "graph f(" TWO_LAYERS ", b: f32[32, 1, 1]) { return y = corr(corr(x, w) + b, v) }", 1},
    {"bias_of_groups",
     "graph f(" IMAGES ", v: f32[32, 1, 3, 3], u: f32[8, 32, 1, 1], b: f32[1, 32, 1, 1]) {"
     "  return y = corr(b + corr(relu(corr(x, w)), v, groups = 32), u) }",
     3},
    {"bias_of_what_is_read_again",
     "graph f(" TWO_LAYERS ", b: f32[32, 1, 1]) {"
     "  h = corr(x, w)  return y = corr(h + b, v), s = sum(h, axes = [1]) }",
     2},
    {"no_bias", /* one number for each row, and one for each image */
     "graph f(" TWO_LAYERS ", b: f32[10, 1], c: f32[2, 1, 1, 1]) {"
     "  return y = corr(corr(x, w) + b, v), z = corr(corr(x, w) + c, v) }",
     3},
    {"residual",
     "graph f(" TWO_LAYERS ") {"
     "  h = corr(x, w, padding = \"half\")"
     "  y = corr(relu(h), v, padding = \"half\") + h"
     "  return s = sum(y, axes = [1]), t = y * 2 }",
     4},
    {"row_major_operand",
     "graph f(" TWO_LAYERS ", z: f32[2, 32, 10, 8]) {"
     "  h = corr(x, w)"
     "  return y = corr(h * z + z, v) }",
     2},
    {"most_row_major",
     "graph f(" TWO_LAYERS ", z: f32[2, 32, 10, 8], u: f32[2, 32, 10, 8]) {"
     "  h = corr(x, w)"
     "  return y = corr(h * z + u, v) }",
     1},
    {"gradients",
     "graph f(" TWO_LAYERS ", y: f32[2, 32, 8, 6]) {"
     "  h = relu(corr(x, w))"
     "  gh = corr_grad_inputs(v, y, image = [10, 8]) * h"
     "  return gv = corr_grad_weights(h, y, kernel = [3, 3]),"
     "         gw = corr_grad_weights(x, gh, kernel = [3, 3]),"
     "         gx = corr_grad_inputs(w, gh, image = [12, 10]) }",
     3},
    {"views",
     "graph f(" IMAGES ", a: f32[7680, 2]) {"
     "  h = corr(x, w, low = [1, 1], high = [1, 1])"
     "  turned = dimshuffle(h, order = [0, 2, 3, 1])"
     "  cut = subtensor(h, start = [0, 1, 2, 3], size = [2, 30, 5, 4], step = [1, 1, 2, 1])"
     "  return y = turned * 2, z = cut + 1, k = dot(reshape(h, shape = [2, 3840]),"
     "         subtensor(a, start = [0, 0], size = [3840, 2])) }",
     1},
    {"line",
     "graph f(x: f32[4, 16, 40], w: f32[32, 16, 3], v: f32[16, 32, 5]) {"
     "  return y = corr(relu(corr(x, w)), v) }",
     2},
    {"volume",
     "graph f(x: f32[2, 16, 5, 6, 7], w: f32[16, 16, 3, 3, 3]) {"
     "  return y = corr(corr(x, w, padding = \"half\") - 1, w, padding = \"half\") }",
     2},
    {"cast",
     "graph f(" IMAGES ") {"
     "  h = cast(corr(x, w), dtype = i32)"
     "  return y = sum(h * h, axes = [0, 2]), z = max(cast(h, dtype = f32), axes = [1]) }",
     3},
    {"one_channel",
     "graph f(" IMAGES ", v: f32[1, 32, 3, 3]) {"
     "  return y = sum(corr(relu(corr(x, w)), v) * 2, axes = [0]) }",
     2},
    {"pooled",
     "graph f(" TWO_LAYERS ") {"
     "  p = max_pool(relu(corr(x, w)), size = [2, 2], stride = [2, 2])"
     "  return y = corr(p, v), z = avg_pool(p, size = [1, 1]) }",
     3},
    {"joined",
     "graph f(" TWO_LAYERS ", z: f32[2, 4, 10, 8], u: f32[16, 36, 3, 3]) {"
     "  h = corr(x, w)"
     "  j = join(h, z, axis = 1)"
     "  a, b = split(j, sizes = [20, 16], axis = 1)"
     "  p = pad(relu(j), 0, low = [0, 0, 1, 0], high = [0, 0, 1, 0])"
     "  return y = corr(p, u), s = sum(a * a, axes = [1]), t = sum(b + 1, axes = [2]) }",
     8},
    {"shuffled",
     "graph f(" IMAGES ", v: f32[32, 1, 3, 3]) {"
     "  h = reshape(corr(x, w), shape = [2, 4, 8, 10, 8])"
     "  s = reshape(dimshuffle(h, order = [0, 2, 1, 3, 4]), shape = [2, 32, 10, 8])"
     "  return y = corr(relu(s), v, groups = 32) }",
     3},
    {"shuffled_unevenly", /* turned in squares, but for some rows and columns */
     "graph f(" IMAGES ", v: f32[30, 1, 3, 3]) {"
     "  h = reshape(subtensor(corr(x, w), start = [0, 0, 0, 0], size = [2, 30, 10, 8]),"
     "              shape = [2, 5, 6, 10, 8])"
     "  s = reshape(dimshuffle(h, order = [0, 2, 1, 3, 4]), shape = [2, 30, 10, 8])"
     "  return y = corr(s, v, groups = 30) }",
     2},
    {"reshaped",
     "graph f(" IMAGES ") {"
     "  h = corr(x, w)"
     "  rows = dimshuffle(reshape(h, shape = [2, 32, 80]), order = [0, 2, 1])"
     "  odd = reshape(h, shape = [4, 20, 4, 16])"
     "  none = reshape(subtensor(h, start = [0, 0, 0, 0], size = [2, 0, 10, 8]), shape = [0, 3, 4, "
     "5])"
     "  return y = rows * 2, z = odd + 1, t = sum(none),"
     "         u = sum(reshape(h, shape = [2, 16, 2, 80]), axes = [1]) }",
     1},
    {"mostly_row_major_join",
     "graph f(" TWO_LAYERS ", z: f32[2, 40, 10, 8], u: f32[16, 72, 3, 3]) {"
     "  return y = corr(join(corr(x, w), z, axis = 1), u) }",
     1},
#else
    {"result_of_the_function", "graph f(" IMAGES ") { return y = corr(x, w) }", 0},
#endif
    {"own_operation",
     "graph f(x: f32[2, 16, 12, 10]) {"
     "  h = doubled(x + 1)"
     "  return s = sum(doubled(h), axes = [1]), t = doubled(h + x) }",
     3},
};

/* ---- A program's operation ---- */

static gemel_status double_elements(const gemel_kernel_call *call) {
  for (int64_t i = 0; i < elements(&call->inputs[0]); i++) {
    store(&call->outputs[0], i, 2 * load(&call->inputs[0], i));
  }
  return GEMEL_OK;
}

static int always(const gemel_kernel_call *call) {
  (void)call;
  return 1;
}

/* 2 x, in the memory of x where that may be, and with channels last. */
static void register_doubled(gemel_context *context) {
  static const gemel_kernel kernels[] = {{"plain", NULL, double_elements}, {NULL, NULL, NULL}};
  gemel_operation record = {.size = sizeof record,
                            .name = "doubled",
                            .summary = "2 x",
                            .min_inputs = 1,
                            .max_inputs = 1,
                            .version = 1,
                            .infer = same_type,
                            .kernels = kernels,
                            .overwrites = 1,
                            .channels_last = always};
  CT_EQ_INT(gemel_register_operation(context, &record, &error), GEMEL_OK);
}

static gemel_context *context_with_doubled(void) {
  gemel_context *context = context_new();
  register_doubled(context);
  return context;
}

/* ---- Tests ---- */

static void as_plain(const void *data) {
  const network *n = data;
  gemel_context *context = context_with_doubled();
  program c;
  if (open_call(&c, context, n->name, n->text)) {
    for (int threads = 1; threads <= 2; threads++) {
      const char *listing = NULL;
      CT_EQ_UINT(wrong(&c, as_written(threads, 0, 0), &listing), 0);
      CT_EQ_INT(times_in(listing, "channels last"), n->marked);
    }
  }
  close_call(&c);
  gemel_context_unref(context);
}

/* ---- Weights that are kept ---- */

static const char reads[] =
    "graph f(x: f32[2, 16, 12, 10], y: f32[2, 32, 10, 8], state w: f32[32, 16, 3, 3]) {"
    "  return forward = corr(x, w), flipped = corr(x, w, flip = 1),"
    "         back = corr_grad_inputs(w, y, image = [12, 10]) }";
static const char doubles[] = "graph f(state w: f32[32, 16, 3, 3]) { update w = w + w }";
static const char as_inputs[] =
    "graph f(x: f32[2, 16, 12, 10], y: f32[2, 32, 10, 8], w: f32[32, 16, 3, 3]) {"
    "  return forward = corr(x, w), flipped = corr(x, w, flip = 1),"
    "         back = corr_grad_inputs(w, y, image = [12, 10]) }";

static gemel_function *bound(gemel_context *context, const char *text, gemel_shared *w) {
  gemel_options options = {.size = sizeof options, .threads = 1, .states = &w, .n_states = 1};
  gemel_graph *graph = gemel_parse(context, text, strlen(text), "kept", NULL, &error);
  gemel_function *f = graph != NULL ? gemel_compile(graph, &options, &error) : NULL;
  if (f == NULL) {
    CT_FAIL("%s", error.text);
  }
  gemel_graph_unref(graph);
  return f;
}

/* How many results of READER are other than those of C, whose weights are an input, given the value
 * of W. */
static size_t wrong_now(gemel_function *reader, program *c, gemel_shared *w) {
  gemel_tensor *outputs[MAX_OUTPUTS] = {NULL}, *wanted[MAX_OUTPUTS];
  gemel_tensor *all[MAX_INPUTS] = {c->inputs[0], c->inputs[1], gemel_shared_get(w)};
  program plain = *c;
  size_t bad = 0;
  memcpy(plain.inputs, all, sizeof all);
  CT_EQ_INT(gemel_call(reader, gemel_function_input_count(reader), all,
                       gemel_function_output_count(reader), outputs, &error),
            GEMEL_OK);
  CT_EQ_INT(run_call(&plain, as_written(1, 1, 0), wanted, NULL), GEMEL_OK);
  for (size_t k = 0; k < gemel_graph_output_count(c->graph); k++) {
    bad += !same_tensor(outputs[k], wanted[k]);
  }
  gemel_tensor_unref(all[2]);
  drop(outputs, MAX_OUTPUTS);
  drop(wanted, MAX_OUTPUTS);
  return bad;
}

/* The same over calls between which the variable stays, is set, and is updated by another function.
 */
static size_t stale_results(void) {
  gemel_context *context = context_with_doubled();
  program c;
  size_t bad = 0;
  if (!open_call(&c, context, "kept", as_inputs)) {
    close_call(&c);
    gemel_context_unref(context);
    return 0;
  }
  gemel_shared *w = gemel_shared_new(c.inputs[2], &error);
  gemel_function *reader = bound(context, reads, w), *writer = bound(context, doubles, w);
  gemel_tensor *other = integers(c.graph, 2);
  for (int k = 0; k < 6 && reader != NULL && writer != NULL; k++) {
    bad += wrong_now(reader, &c, w);
    if (k == 1) {
      CT_EQ_INT(gemel_shared_set(w, other, &error), GEMEL_OK);
    } else if (k > 2) {
      CT_EQ_INT(gemel_call(writer, 0, NULL, 0, NULL, &error), GEMEL_OK);
    }
  }
  gemel_tensor_unref(other);
  gemel_function_free(reader);
  gemel_function_free(writer);
  gemel_shared_unref(w);
  close_call(&c);
  gemel_context_unref(context);
  return bad;
}

static void kept_weights(const void *data) {
  (void)data;
  CT_EQ_UINT(stale_results(), 0);
}

static int on_two_threads(void *data) {
  const network *n = data;
  return (int)call_once(n->name, n->text, as_written(2, 0, 0));
}

static void without_memory(const void *data) {
  ct_oom(on_two_threads, (void *)(uintptr_t)data);
}

void ct_register(void) {
  const network *residual = networks, *bias = networks; /* the first, where there are none */
  for (size_t k = 0; k < CT_COUNT(networks); k++) {
    CT_ADD("channels_last", networks[k].name, as_plain, &networks[k]);
    residual = strcmp(networks[k].name, "residual") == 0 ? &networks[k] : residual;
    bias = strcmp(networks[k].name, "bias_alone") == 0 ? &networks[k] : bias;
  }
  CT_ADD("channels_last", "kept_weights", kept_weights, NULL);
  CT_ADD("channels_last", "without_memory", without_memory, residual);
  CT_ADD("channels_last", "without_memory_for_a_bias", without_memory, bias);
}
