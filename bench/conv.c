/* SPDX-License-Identifier: MIT
 *
 * Suite conv: the five layers by which convolutions have been compared since 2014, forward and both
 * gradients, against oneDNN called by hand: once with operands in the layouts that it chooses,
 * which somebody else must have brought there, and once with all of them row-major. gemel's
 * are row-major, in a call, and have channels last, as inside of a network, for the kernel alone
 * that a plan would take. Weights are row-major in both.
 */
#include <stdio.h>
#include <string.h>
#ifdef HAVE_DNNL
#include "cpu/onednn.h"
#endif
#include "call.h"
#include "core/tensor.h"
#include "ops/conv.h"

typedef struct layer {
  const char *name;
  int batch, channels, filters, kernel, image, stride, padding;
} layer;

static const layer layers[] = {
    {"L1", 16, 3, 96, 11, 128, 1, 0},          {"L2", 16, 64, 128, 9, 64, 1, 0},
    {"L3", 16, 128, 128, 9, 32, 1, 0},         {"L4", 16, 128, 128, 7, 16, 1, 0},
    {"L5", 16, 384, 384, 3, 13, 1, 0},         {"L1 of 128", 128, 3, 96, 11, 128, 1, 0},
    {"L2 of 128", 128, 64, 128, 9, 64, 1, 0},  {"L3 of 128", 128, 128, 128, 9, 32, 1, 0},
    {"L4 of 128", 128, 128, 128, 7, 16, 1, 0}, {"L5 of 128", 128, 384, 384, 3, 13, 1, 0}};

typedef enum conv_pass { FORWARD, WEIGHTS, INPUTS, PASSES } conv_pass;

static const char *const pass_names[PASSES] = {"forward", "grad weights", "grad inputs"};

static const gemel__bench_target target = {GEMEL__BENCH_AT_LEAST, 0.9},
                                 choice_target = {GEMEL__BENCH_AT_LEAST, 1 / 1.15};

static int places(const layer *l) {
  return (l->image + 2 * l->padding - l->kernel) / l->stride + 1;
}

static double work_of(const layer *l) {
  return 2.0 * l->batch * l->channels * l->filters * l->kernel * l->kernel * places(l) * places(l);
}

/* The graph of one pass. */
static void write_graph(const layer *l, conv_pass pass, char *text, size_t bytes) {
  char x[64], w[64], y[64], how[128];
  snprintf(x, sizeof x, "f32[%d, %d, %d, %d]", l->batch, l->channels, l->image, l->image);
  snprintf(w, sizeof w, "f32[%d, %d, %d, %d]", l->filters, l->channels, l->kernel, l->kernel);
  snprintf(y, sizeof y, "f32[%d, %d, %d, %d]", l->batch, l->filters, places(l), places(l));
  snprintf(how, sizeof how, "stride = [%d, %d], low = [%d, %d], high = [%d, %d]", l->stride,
           l->stride, l->padding, l->padding, l->padding, l->padding);
  if (pass == FORWARD) {
    snprintf(text, bytes, "graph f(x: %s, w: %s) { return y = corr(x, w, %s) }", x, w, how);
  } else if (pass == WEIGHTS) {
    snprintf(text, bytes,
             "graph f(x: %s, y: %s) { return w = corr_grad_weights(x, y, kernel = [%d, %d], %s) }",
             x, y, l->kernel, l->kernel, how);
  } else {
    snprintf(text, bytes,
             "graph f(w: %s, y: %s) { return x = corr_grad_inputs(w, y, image = [%d, %d], %s) }", w,
             y, l->image, l->image, how);
  }
}

/* ---- oneDNN by hand ---- */

#ifdef HAVE_DNNL

enum { X, W, Y, OPERANDS };

typedef struct bare {
  dnnl_engine_t engine;
  dnnl_stream_t stream;
  dnnl_primitive_t primitive;
  dnnl_memory_t memories[OPERANDS];
  dnnl_exec_arg_t arguments[OPERANDS];
} bare;

static void bare_run(void *state) {
  bare *p = state;
  dnnl_primitive_execute(p->primitive, p->stream, OPERANDS, p->arguments);
  dnnl_stream_wait(p->stream);
}

static void bare_close(bare *p) {
  for (int k = 0; k < OPERANDS; k++) {
    dnnl_memory_destroy(p->memories[k]);
  }
  dnnl_primitive_destroy(p->primitive);
  dnnl_stream_destroy(p->stream);
  dnnl_engine_destroy(p->engine);
}

/* Describes a pass of C, whose layouts are set. */
static dnnl_status_t bare_describe_with(const bare *p, gemel__onednn_conv *c, conv_pass pass,
                                        dnnl_primitive_desc_t *made) {
  dnnl_primitive_desc_t hint = NULL;
  c->kind = dnnl_forward_training;
  dnnl_status_t status =
      gemel__onednn_describe(c, p->engine, NULL, NULL, pass == FORWARD ? made : &hint);
  if (status == dnnl_success && pass != FORWARD) {
    c->kind = pass == WEIGHTS ? dnnl_backward_weights : dnnl_backward_data;
    status = gemel__onednn_describe(c, p->engine, hint, NULL, made);
    dnnl_primitive_desc_destroy(hint);
  }
  return status;
}

/* Describes a pass whose operands lie as TAGS say. */
static dnnl_status_t bare_describe(const bare *p, const layer *l, conv_pass pass,
                                   const dnnl_format_tag_t *tags, dnnl_primitive_desc_t *made) {
  dnnl_dims_t dims[OPERANDS] = {{l->batch, l->channels, l->image, l->image},
                                {l->filters, l->channels, l->kernel, l->kernel},
                                {l->batch, l->filters, places(l), places(l)}};
  gemel__onednn_layout layouts[OPERANDS];
  gemel__onednn_conv c = {.stride = {1, 1}};
  dnnl_status_t status = dnnl_success;
  memset(layouts, 0, sizeof layouts);
  for (int k = 0; k < OPERANDS && status == dnnl_success; k++) {
    status = gemel__onednn_tagged(&layouts[k], 4, dims[k], tags[k]);
  }
  if (status == dnnl_success) {
    c.x = gemel__onednn_md_of(&layouts[X]);
    c.w = gemel__onednn_md_of(&layouts[W]);
    c.y = gemel__onednn_md_of(&layouts[Y]);
    status = bare_describe_with(p, &c, pass, made);
  }
  for (int k = 0; k < OPERANDS; k++) {
    gemel__onednn_release(&layouts[k]);
  }
  return status;
}

static dnnl_status_t bare_fill(bare *p, conv_pass pass, dnnl_primitive_desc_t pd) {
  static const int arguments[PASSES][OPERANDS] = {
      {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST},
      {DNNL_ARG_SRC, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_DST},
      {DNNL_ARG_DIFF_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_DST}};
  dnnl_status_t status = dnnl_primitive_create(&p->primitive, pd);
  for (int k = 0; k < OPERANDS && status == dnnl_success; k++) {
    int argument = arguments[pass][k];
    gemel__onednn_md md = dnnl_primitive_desc_query_md(pd, dnnl_query_exec_arg_md, argument);
    void *data;
    status = dnnl_memory_create(&p->memories[k], md, p->engine, DNNL_MEMORY_ALLOCATE);
    p->arguments[k] = (dnnl_exec_arg_t){argument, p->memories[k]};
    if (status == dnnl_success &&
        (status = dnnl_memory_get_data_handle(p->memories[k], &data)) == dnnl_success) {
      memset(data, 0, dnnl_memory_desc_get_size(md));
    }
  }
  return status;
}

/* Sets up oneDNN for a pass; 0 if it refuses. */
static int bare_open(bare *p, const layer *l, conv_pass pass, int row_major) {
  static const dnnl_format_tag_t own[] = {dnnl_format_tag_any, dnnl_format_tag_any,
                                          dnnl_format_tag_any};
  static const dnnl_format_tag_t plain[] = {dnnl_nchw, dnnl_oihw, dnnl_nchw};
  dnnl_primitive_desc_t pd = NULL;
  memset(p, 0, sizeof *p);
  dnnl_status_t status = dnnl_engine_create(&p->engine, dnnl_cpu, 0);
  if (status == dnnl_success) {
    status = dnnl_stream_create(&p->stream, p->engine, dnnl_stream_default_flags);
  }
  if (status == dnnl_success) {
    status = bare_describe(p, l, pass, row_major ? plain : own, &pd);
  }
  if (status == dnnl_success) {
    status = bare_fill(p, pass, pd);
  }
  dnnl_primitive_desc_destroy(pd);
  return status == dnnl_success;
}
#endif

/* ---- Kernels ---- */

typedef struct algorithm {
  const char *name;
  gemel_status (*prepare)(gemel_kernel_call *call, gemel__conv_kind kind);
  gemel_status (*run)(const gemel_kernel_call *call, gemel__conv_kind kind);
} algorithm;

static const algorithm algorithms[] = {
#define ALGORITHM(name, least, channels_last)                                                      \
  {#name, gemel__conv_##name##_prepare, gemel__conv_##name##_run},
#include "ops/conv.def"
#undef ALGORITHM
};

enum { ALGORITHMS = sizeof algorithms / sizeof *algorithms, MOST_FOR_PLAIN = 1 << 22 };

/* One of them, on the operands of a call. */
typedef struct by_kernel {
  const algorithm *algorithm;
  gemel__conv_kind kind;
  gemel_kernel_call call;
  gemel_view inputs[2], output;
  int64_t strides[2][4]; /* of images with channels last */
  gemel_attr attrs[9];
  int64_t stride[2], padding[2], sizes[2];
  char prepared[GEMEL_KERNEL_PREPARED_BYTES];
  gemel_tensor *scratch;
} by_kernel;

static void kernel_run(void *state) {
  by_kernel *k = state;
  k->algorithm->run(&k->call, k->kind);
}

static const gemel_kernel *kernels_of(gemel_context *context, conv_pass pass) {
  static const char *const operations[] = {"corr", "corr_grad_weights", "corr_grad_inputs"};
  return gemel_operation_find(context, operations[pass])->kernels;
}

static void set_attrs(by_kernel *k, const layer *l, conv_pass pass) {
  static const int64_t ones[] = {1, 1};
  for (int axis = 0; axis < 2; axis++) {
    k->stride[axis] = l->stride;
    k->padding[axis] = l->padding;
    k->sizes[axis] = pass == WEIGHTS ? l->kernel : l->image;
  }
  k->attrs[0] = gemel_attr_ints("stride", 2, k->stride);
  k->attrs[1] = gemel_attr_ints("dilation", 2, ones);
  k->attrs[2] = gemel_attr_ints("low", 2, k->padding);
  k->attrs[3] = gemel_attr_ints("high", 2, k->padding);
  k->attrs[4] = gemel_attr_string("padding", "valid");
  k->attrs[5] = gemel_attr_int("groups", 1);
  k->attrs[6] = gemel_attr_int("flip", 0);
  k->attrs[7] = gemel_attr_int("unshared", 0);
  k->attrs[8] = gemel_attr_ints("sizes", 2, k->sizes);
}

/* Views the images among the operands, which are row-major, as if they had channels last: of what
 * stands in them nothing depends. */
static void put_channels_last(by_kernel *k, conv_pass pass) {
  gemel_view *images[2] = {pass == INPUTS ? &k->output : &k->inputs[0],
                           pass == FORWARD ? &k->output : &k->inputs[1]};
  for (int i = 0; i < 2; i++) {
    gemel__channels_last_strides(sizeof(float), images[i]->rank, images[i]->shape, k->strides[i]);
    images[i]->strides = k->strides[i];
  }
}

/* Algorithm A on the call's operands, which lie so or, LAST, with channels last. */
static void kernel_describe(by_kernel *k, const algorithm *a, const gemel__bench *b,
                            const gemel__call *call, const layer *l, conv_pass pass, int last) {
  static const gemel__conv_kind kinds[] = {GEMEL__CONV_FORWARD, GEMEL__CONV_WEIGHTS,
                                           GEMEL__CONV_INPUTS};
  memset(k, 0, sizeof *k);
  k->algorithm = a;
  k->kind = kinds[pass];
  k->inputs[0] = gemel_tensor_view(call->inputs[0]);
  k->inputs[1] = gemel_tensor_view(call->inputs[1]);
  k->output = gemel_tensor_view(call->outputs[0]);
  if (last) {
    put_channels_last(k, pass);
  }
  set_attrs(k, l, pass);
  k->call = (gemel_kernel_call){.size = sizeof k->call,
                                .n_inputs = 2,
                                .inputs = k->inputs,
                                .n_outputs = 1,
                                .outputs = &k->output,
                                .attrs = k->attrs,
                                .threads = b->threads,
                                .prepared = k->prepared};
}

/* The same, ready to run; 0 if it can't do that, or memory is out. */
static int kernel_open(by_kernel *k, const algorithm *a, const gemel__bench *b,
                       const gemel__call *call, const layer *l, conv_pass pass, int last) {
  kernel_describe(k, a, b, call, l, pass, last);
  if (a->prepare(&k->call, k->kind) != GEMEL_OK) {
    return 0;
  }
  int64_t bytes = (int64_t)k->call.scratch_bytes + 1;
  k->scratch = gemel_tensor_new(GEMEL_U8, 1, &bytes, NULL);
  k->call.scratch = k->scratch != NULL ? gemel_tensor_data(k->scratch) : NULL;
  return k->scratch != NULL;
}

static void kernel_close(by_kernel *k) {
  if (k->call.release != NULL) {
    k->call.release(k->prepared);
  }
  gemel_tensor_unref(k->scratch);
}

/* ---- Races ---- */

/* The algorithm that a plan takes: that of the operation's first kernel that doesn't decline. */
static const algorithm *chosen_for(gemel_context *context, const gemel__bench *b,
                                   const gemel__call *call, const layer *l, conv_pass pass,
                                   int last) {
  const gemel_kernel *kernel = kernels_of(context, pass);
  const algorithm *found = algorithms;
  by_kernel k;
  for (; kernel[1].name != NULL; kernel++, found++) {
    kernel_describe(&k, found, b, call, l, pass, last);
    if (kernel->prepare(&k.call) == GEMEL_OK) {
      kernel_close(&k);
      break;
    }
  }
  return found;
}

static void race_pass(gemel__bench *b, gemel__call *call, gemel_context *context, const layer *l,
                      conv_pass pass, const char *name) {
  gemel__bench_contender race[4] = {{gemel__call_run, call, 0, 0}};
  const char *metrics[4] = {"gemel, row-major"};
  double work = 1e-9 * work_of(l), least[2] = {1e30, 1e30};
  by_kernel last;
  size_t n = 1, ours;
  if (kernel_open(&last, chosen_for(context, b, call, l, pass, 1), b, call, l, pass, 1)) {
    race[n] = (gemel__bench_contender){kernel_run, &last, 0, 0};
    metrics[n++] = "gemel, channels last";
  }
  ours = n;
#ifdef HAVE_DNNL
  bare others[2];
  for (int k = 0; k < 2; k++) {
    if (bare_open(&others[k], l, pass, k)) {
      race[n] = (gemel__bench_contender){bare_run, &others[k], 0, 0};
      metrics[n++] = k == 0 ? "oneDNN, its layouts" : "oneDNN, row-major";
    }
  }
#endif
  gemel__bench_race(race, n, 1e-3 * (double)b->time_ms);
  for (size_t k = 0; k < n; k++) {
    gemel__bench_report(b, name, metrics[k], work / race[k].best, "GF/s", NULL);
    least[k >= ours] = race[k].best < least[k >= ours] ? race[k].best : least[k >= ours];
  }
  if (n > ours) {
    gemel__bench_report(b, name, "of oneDNN", least[1] / least[0], "ratio", &target);
  }
  kernel_close(&last);
#ifdef HAVE_DNNL
  for (int k = 0; k < 2; k++) {
    bare_close(&others[k]);
  }
#endif
}

/* ---- Algorithms ---- */

/* The algorithm that a plan chooses against each of the others that can do it, by the best times:
 * each library has threads of its own, and a turn's other times are those of waking them. The
 * plain loops are only asked for little: they would never end. */
static void race_algorithms(gemel__bench *b, gemel__call *call, gemel_context *context,
                            const layer *l, conv_pass pass, const char *name) {
  const algorithm *chosen = chosen_for(context, b, call, l, pass, 0);
  int asked = ALGORITHMS - (work_of(l) > MOST_FOR_PLAIN);
  gemel__bench_contender race[ALGORITHMS];
  by_kernel candidates[ALGORITHMS];
  size_t n = 0;
  double least = 1e30;
  for (int k = 0; k < ALGORITHMS; k++) {
    const algorithm *a = k == 0 ? chosen : &algorithms[k - (&algorithms[k] <= chosen)];
    if (a < algorithms + asked && kernel_open(&candidates[n], a, b, call, l, pass, 0)) {
      race[n] = (gemel__bench_contender){kernel_run, &candidates[n], 0, 0};
      n++;
    }
  }
  gemel__bench_race(race, n, 1e-3 * (double)b->time_ms);
  for (size_t k = 0; k < n; k++) {
    char metric[64];
    snprintf(metric, sizeof metric, k == 0 ? "%s" : "of %s", candidates[k].algorithm->name);
    double figure = k == 0 ? race[k].best : race[k].best / race[0].best;
    gemel__bench_report(b, name, metric, figure, k == 0 ? "s" : "ratio", NULL);
    least = k > 0 && figure < least ? figure : least;
    kernel_close(&candidates[k]);
  }
  if (n > 1) {
    gemel__bench_report(b, name, "of the fastest other", least, "ratio", &choice_target);
  }
}

/* ---- The suite ---- */

enum { GRID = 67 }; /* 201 cases with their gradients */

/* Layer K of the grid, on which algorithms are chosen well or not. */
static layer grid_layer(int k) {
  static const int batches[] = {1, 8, 16, 64}, channels[] = {1, 3, 16, 32, 64, 128};
  static const int filters[] = {8, 16, 32, 64, 128}, kernels[] = {1, 3, 5, 7};
  static const int images[] = {8, 14, 28, 56};
  const double most = 1e9;
  uint64_t random = (uint64_t)k + 1;
  layer l;
  do {
    random = random * 6364136223846793005u + 1442695040888963407u;
    uint64_t digits = random >> 20;
    l = (layer){"grid",
                batches[digits % 4],
                channels[digits / 4 % 6],
                filters[digits / 24 % 5],
                kernels[digits / 120 % 4],
                images[digits / 480 % 4],
                1 + (int)(digits / 1920 % 2),
                0};
    l.padding = l.kernel / 2;
  } while (work_of(&l) > most);
  return l;
}

static void write_name(const layer *l, conv_pass pass, char *name, size_t bytes) {
  if (strcmp(l->name, "grid") != 0) {
    snprintf(name, bytes, "%s %s", l->name, pass_names[pass]);
  } else {
    snprintf(name, bytes, "grid %d*%d*%d %d*%d/%d %s", l->batch, l->channels, l->image, l->filters,
             l->kernel, l->stride, pass_names[pass]);
  }
}

static int bench_pass(gemel__bench *b, gemel_context *context, const layer *l, conv_pass pass) {
  char name[64], text[400];
  gemel__call call;
  write_name(l, pass, name, sizeof name);
  if (!gemel__bench_wanted(b, name)) {
    return GEMEL__GOOD;
  }
  gemel__progress("gemel bench: conv, %s", name);
  write_graph(l, pass, text, sizeof text);
  int status = gemel__call_open(&call, b, context, name, text, 1);
  if (status == GEMEL__GOOD) {
    if (strcmp(l->name, "grid") != 0) {
      race_pass(b, &call, context, l, pass, name);
    }
    if (l->batch < 128 || strcmp(l->name, "grid") == 0) {
      race_algorithms(b, &call, context, l, pass, name);
    }
    status = gemel__call_check(&call, name);
  }
  gemel__call_clear(&call);
  return status;
}

int gemel__bench_conv(gemel__bench *b) {
  enum { LAYERS = sizeof layers / sizeof *layers };
  gemel_error error = {0};
  gemel_context *context = gemel_context_new(&error);
  int status = context == NULL ? gemel__complain_error("conv", &error) : GEMEL__GOOD;
  for (int k = 0; k < PASSES * (LAYERS + GRID) && status == GEMEL__GOOD; k++) {
    layer l = k / PASSES < LAYERS ? layers[k / PASSES] : grid_layer(k / PASSES - LAYERS);
    status = bench_pass(b, context, &l, (conv_pass)(k % PASSES));
  }
  gemel_context_unref(context);
  return status;
}
