/*
 * What a compiled function tells about itself: the listing of a plan, the profile of its calls, and
 * the first node that makes a NaN or an infinity.
 *
 * SPDX-License-Identifier: MIT
 */
#include "support/guarded-device.h" /* before the names of run.h */
#include "run/record.h"
#include "run.h"

#include <gemel/dump.h>
#include <gemel/profile.h>
#include <gemel/text.h>
#include <unistd.h>
#include "core/alloc.h"
#include "text/write.h"
#include "support/graph-text.h"
#include "support/small-stack.h"
#include "support/operation.h"
#include "support/listing.h"

/* TEXT compiled as it is written, for one thread. */
static gemel_function *function_of(gemel_context *context, const char *text) {
  gemel_graph *graph = parse(context, text);
  gemel_function *f = compile(graph, 1, 0);
  gemel_graph_unref(graph);
  return f;
}

/* A call with these inputs; its outputs go. */
static gemel_status call(gemel_function *f, gemel_tensor *const *inputs, size_t n_outputs) {
  gemel_tensor *outputs[4] = {NULL, NULL, NULL, NULL};
  gemel_status status =
      gemel_call(f, gemel_function_input_count(f), inputs, n_outputs, outputs, &error);
  for (size_t k = 0; k < n_outputs; k++)
    gemel_tensor_unref(outputs[k]);
  return status;
}

static gemel_tensor *matrix(int64_t rows, int64_t columns, float first) {
  gemel_tensor *t = gemel_tensor_new(GEMEL_F32, 2, (const int64_t[]){rows, columns}, &error);
  for (int64_t k = 0; k < rows * columns; k++)
    ((float *)gemel_tensor_data(t))[k] = first + 0.125f * (float)k;
  return t;
}

/* What a program's own operation does with its time: 4 ms a run or more, which it measures itself,
 * and 7 flops and 5 bytes. */
enum { NAP_MICROSECONDS = 4000 };

static double napped; /* seconds, since a test set it to 0 */

static gemel_status run_nap(const gemel_kernel_call *call) {
  double start = gemel__seconds();
  usleep(NAP_MICROSECONDS);
  napped += gemel__seconds() - start;
  memcpy(call->outputs[0].data, call->inputs[0].data, (size_t)call->inputs[0].shape[0] * 4);
  return GEMEL_OK;
}

static void cost_nap(const gemel_kernel_call *call, double *flops, double *bytes) {
  CT_EQ_STR(call->operation->name, "nap");
  *flops = 7;
  *bytes = 5;
}

static gemel_context *context_with_nap(void) {
  static const gemel_kernel kernels[] = {{"asleep", NULL, run_nap}, {NULL, NULL, NULL}};
  gemel_operation record = {.size = sizeof record,
                            .name = "nap",
                            .summary = "x, after a while",
                            .min_inputs = 1,
                            .max_inputs = 1,
                            .version = 1,
                            .infer = same_type,
                            .kernels = kernels,
                            .cost = cost_nap};
  gemel_context *context = context_new();
  CT_EQ_INT(gemel_register_operation(context, &record, &error), GEMEL_OK);
  return context;
}

/* ---- Listing ---- */

static const char network[] = "graph f(x: f32[N, 3], w: f32[3, 4]) {\n"
                              "  h = tanh(dot(x, w) * 2:f32 + 1:f32)\n"
                              "  t = dimshuffle(h, order = [1, 0])\n"
                              "  k = dot(t, x)\n"
                              "  return y = exp(k) + k, s = sum(h, axes = [0]), z = x\n"
                              "}\n";

static const char network_listing[] =
    "inputs:\n"
    "       %0 = x: f32[N, 3]\n"
    "       %1 = w: f32[3, 4]\n"
    "constants and views, which need no work:\n"
    "       %3 = 2:f32  # test:2\n"
    "       %5 = 1:f32  # test:2\n"
    "       %8 = dimshuffle(%7): f32[4, N]  # test:3\n"
    "instructions, 256 bytes of intermediate results (384 if none shared a place):\n"
    "   0 kernel small\n"
    "       %2 = dot(%0, %1): f32[5, 4] -> host arena + 0  # test:2\n"
    "   1 loop of 3 over [5, 4], 1 thread\n"
    "       %4 = mul(%2, %3)  # test:2\n"
    "       %6 = add(%4, %5)  # test:2\n"
    "       %7 = tanh(%6): f32[5, 4] -> host arena + 0, in place of %2  # test:2\n"
    "   2 kernel small\n"
    "       %9 = dot(%8, %0): f32[4, 3] -> host arena + 128  # test:4\n"
    "   3 kernel blocks; 64 bytes of scratch\n"
    "       %12 = sum(%7): f32[4] -> output s  # test:5\n"
    "   4 loop of 2 over [4, 3], 1 thread\n"
    "       %10 = exp(%9)  # test:5\n"
    "       %11 = add(%10, %9): f32[4, 3] -> output y  # test:5\n"
    "   5 result of 60 bytes\n"
    "       %0 -> output z\n";

static void lists(const void *data) {
  gemel_context *context = context_new();
  gemel_function *f = function_of(context, network);
  gemel_tensor *in[] = {matrix(5, 3, 0), matrix(3, 4, -1)};
  (void)data;
  CT_EQ_INT(gemel_function_print(f, to_file, stdout, &error), GEMEL_NOT_FOUND);
  CT_EQ_INT(call(f, in, 3), GEMEL_OK);
  CT_EQ_STR(listing_of(f), network_listing);
  gemel_tensor_unref(in[0]);
  gemel_tensor_unref(in[1]);
  gemel_function_free(f);
  gemel_context_unref(context);
}

/* A place that served another value before is said. */
static void lists_reuse(const void *data) {
  gemel_context *context = context_new();
  gemel_function *f = function_of(context, "graph f(x: f32[8]) {\n"
                                           "  a = softmax(x)\n"
                                           "  b = softmax(a)\n"
                                           "  c = softmax(b)\n"
                                           "  return y = softmax(c)\n"
                                           "}\n");
  gemel_tensor *in = vector_of(GEMEL_F32, 8, 1);
  (void)data;
  CT_EQ_INT(call(f, &in, 1), GEMEL_OK);
  const char *text = listing_of(f);
  CT_HAS_STR(text, "128 bytes of intermediate results (192 if none shared a place)");
  CT_HAS_STR(text, "%3 = softmax(%2): f32[8] -> host arena + 0, where %1 was  # test:4\n");
  gemel_tensor_unref(in);
  gemel_function_free(f);
  gemel_context_unref(context);
}

/* What was planned for a size that a call saw stands behind the rest. */
static void lists_sizes(const void *data) {
  gemel_context *context = context_new();
  gemel_graph *g = gemel_graph_new(context, &error);
  gemel_value n = gemel_declare(g, "n: i64[]"), twice = gemel_add(n, n);
  gemel_output(gemel_arange(g, gemel_dim_of(twice)), "r");
  gemel_function *f = compile(g, 1, 0);
  gemel_tensor *in = gemel_tensor_new(GEMEL_I64, 0, NULL, &error);
  (void)data;
  for (int64_t size = 3; size < 6; size++) {
    char wanted[80];
    *(int64_t *)gemel_tensor_data(in) = size;
    CT_EQ_INT(call(f, &in, 1), GEMEL_OK);
    snprintf(wanted, sizeof wanted, "planned for %%1 being %d, ", (int)size * 2);
    const char *text = listing_of(f);
    CT_HAS_STR(text, wanted);
    snprintf(wanted, sizeof wanted, "arange(%%1): i64[%d] -> output r", (int)size * 2);
    CT_HAS_STR(text, wanted);
  }
  gemel_tensor_unref(in);
  gemel_function_free(f);
  gemel_graph_unref(g);
  gemel_context_unref(context);
}

/* Bodies stand behind the instructions that call them, further right. */
static const char loops[] = "operation twice(x) { return x + x }\n"
                            "graph inner(s: f32[N]) {\n"
                            "  return s = nap(s)\n"
                            "}\n"
                            "graph outer(s: f32[N], x: f32[N]) {\n"
                            "  last, all = scan(s, body = inner, states = 1, length = 2)\n"
                            "  return s = last + twice(x)\n"
                            "}\n"
                            "graph f(s: f32[N], x: f32[T, N]) {\n"
                            "  last, all = scan(s, x, body = outer, states = 1, sequences = 1)\n"
                            "  return y = last\n"
                            "}\n";

static const char loops_listing[] =
    "instructions, 64 bytes of intermediate results (64 if none shared a place):\n"
    "   0 kernel steps; 64 bytes of scratch\n"
    "       %2 = scan(%0, %1): f32[3] -> output y  # test:10\n"
    "       %3 = output of the same: f32[6, 3], which nobody reads and has no memory  # test:10\n"
    "       whose body is\n"
    "         inputs:\n"
    "                %0 = s: f32[N]\n"
    "                %1 = x: f32[N]\n"
    "         constants and views, which need no work:\n"
    "         instructions, 128 bytes of intermediate results (192 if none shared a place):\n"
    "            0 kernel steps; 64 bytes of scratch\n"
    "                %2 = scan(%0): f32[3] -> host arena + 0  # test:6\n"
    "                %3 = output of the same: f32[3, 3], which nobody reads and has no memory  # "
    "test:6\n"
    "                whose body is\n"
    "                  inputs:\n"
    "                         %0 = s: f32[N]\n"
    "                  constants and views, which need no work:\n"
    "                  instructions, 0 bytes of intermediate results (0 if none shared a place):\n"
    "                     0 kernel asleep\n"
    "                         %1 = nap(%0): f32[3] -> output s  # test:3\n"
    "            1 kernel defined\n"
    "                %4 = twice(%1): f32[3] -> host arena + 64  # test:7\n"
    "                whose body is\n";

static void lists_bodies(const void *data) {
  gemel_context *context = context_with_nap();
  gemel_function *f = function_of(context, loops);
  gemel_tensor *in[] = {vector_of(GEMEL_F32, 3, 1), matrix(5, 3, 0)}, *none = matrix(0, 3, 0);
  (void)data;
  CT_EQ_INT(call(f, (gemel_tensor *[]){in[0], none}, 1), GEMEL_OK);
  CT_HAS_STR(listing_of(f), "whose body is not called yet\n");
  CT_EQ_INT(call(f, in, 1), GEMEL_OK);
  CT_HAS_STR(listing_of(f), loops_listing);
  CT_EQ_UINT(gemel_function_bytes(f), 64 + 128); /* bodies' are a part of it, once */
  gemel_tensor_unref(none);
  gemel_tensor_unref(in[0]);
  gemel_tensor_unref(in[1]);
  gemel_function_free(f);
  gemel_context_unref(context);
}

/* Runs on a stack of 256 KiB. */
static void *list_deep(void *data) {
  int n = *(int *)data;
  gemel_context *context = context_new();
  gemel_graph *g = gemel_graph_new(context, &error);
  gemel_value x = f32_input(g, "x", NULL, 3), y = x;
  for (int k = 0; k < n; k++)
    y = k % 2 ? gemel_neg(y) : gemel_reverse(y, 1, (const int64_t[]){0});
  gemel_output(y, "y");
  gemel_function *f = compile(g, 1, 0);
  gemel_tensor *in = vector_of(GEMEL_F32, 3, 1);
  CT_EQ_INT(call(f, &in, 1), GEMEL_OK);
  CT_HAS_STR(listing_of(f), " -> output y");
  gemel_tensor_unref(in);
  gemel_function_free(f);
  gemel_graph_unref(g);
  gemel_context_unref(context);
  return NULL;
}

static void lists_deep(const void *data) {
  int n = sanitized || valgrind() ? 50000 : 1000000;
  (void)data;
  on_small_stack(list_deep, &n);
}

/* ---- Profiles ---- */

static gemel_function *profiled_with(gemel_context *context, const char *text, int profile,
                                     int as_written, const gemel_rewrite_options *rewrite) {
  gemel_options options = {.size = sizeof options,
                           .threads = 1,
                           .profile = profile,
                           .as_written = as_written,
                           .rewrite = rewrite};
  gemel_graph *graph = parse(context, text);
  gemel_function *f = gemel_compile(graph, &options, &error);
  CT_CHECK(f != NULL);
  gemel_graph_unref(graph);
  return f;
}

static gemel_function *profiled(gemel_context *context, const char *text, int profile,
                                int as_written) {
  return profiled_with(context, text, profile, as_written, NULL);
}

/* The row of OPERATION; a failure if there isn't just one. */
static const gemel_call_row *row_of(const gemel_call_profile *p, const char *operation) {
  const gemel_call_row *found = NULL;
  static const gemel_call_row none = {.kind = ""};
  int count = 0;
  for (size_t k = 0; k < gemel_call_profile_count(p); k++) {
    if (strcmp(gemel_call_profile_at(p, k)->operation, operation) == 0) {
      found = gemel_call_profile_at(p, k);
      count++;
    }
  }
  CT_EQ_INT(count, 1);
  return found != NULL ? found : &none;
}

static void is_at(const gemel_call_row *row, size_t k, int line) {
  if (CT_CHECK(k < row->n_places)) {
    CT_EQ_STR(row->places[k].file, "test");
    CT_EQ_INT(row->places[k].line, line);
  }
}

typedef gemel_status (*profile_writer)(const gemel_call_profile *, gemel_write, void *,
                                       gemel_error *);

/* What WRITE says of P, until it is asked again. */
static const char *text_of(const gemel_call_profile *p, profile_writer write) {
  static char *text;
  size_t bytes;
  free(text);
  FILE *file = open_memstream(&text, &bytes);
  CT_EQ_INT(write(p, to_file, file, &error), GEMEL_OK);
  fclose(file);
  return text;
}

static const char slow[] = "graph f(x: f32[N]) {\n"
                           "  a = nap(x)\n"
                           "  b = log(1 + a)\n"
                           "  c = tanh(b) * b\n"
                           "  d = max(c)\n"
                           "  return d = d, x = x\n"
                           "}\n";

/* The speed of memcpy here, in bytes read and written a second. */
static double speed_of_memcpy(void) {
  enum { BYTES = 16 << 20, ROUNDS = 3 };
  char *from = calloc(1, BYTES), *to = calloc(1, BYTES);
  double best = 0;
  for (int k = 0; k < ROUNDS; k++) {
    double start = gemel__seconds();
    memcpy(to, from, BYTES);
    double speed = 2.0 * BYTES / (gemel__seconds() - start);
    CT_EQ_INT(to[k], 0);
    best = speed > best ? speed : best;
  }
  free(from);
  free(to);
  return best;
}

/* What the machine does at its best is in bytes and flops a second, not in thousands of them. */
static void has_speeds(const gemel_call_summary *s) {
  double here = speed_of_memcpy();
  CT_CHECK(s->copy_speed > here / 100 && s->copy_speed < here * 100);
  CT_CHECK(s->f32_speed > here / 1000 && s->f64_speed > here / 1000);
}

/* Rows are what the calls did: work, calls, and times that lie between what was measured within and
 * around them. */
static void profile_rows(const void *data) {
  enum { CALLS = 3, N = 1000 };
  gemel_context *context = context_with_nap();
  gemel_function *f = profiled(context, slow, GEMEL_PROFILE_TIMES, 0);
  gemel_tensor *in = vector_of(GEMEL_F32, N, 1);
  (void)data;
  napped = 0;
  double began = gemel__seconds();
  for (int k = 0; k < CALLS; k++)
    CT_EQ_INT(call(f, &in, 2), GEMEL_OK);
  double around = gemel__seconds() - began;
  gemel_call_profile *p = gemel_function_profile(f, &error);
  const gemel_call_summary *s = gemel_call_profile_summary(p);
  const gemel_call_row *nap = row_of(p, "nap"), *loop = row_of(p, "log1p+tanh+mul"),
                       *max = row_of(p, "max"), *copy = row_of(p, "result");
  CT_EQ_INT(gemel_call_profile_count(p), 4);
  CT_CHECK(gemel_call_profile_at(p, 0) == nap && gemel_call_profile_at(p, 4) == NULL);
  CT_EQ_STR(nap->kind, "kernel");
  CT_EQ_STR(nap->kernel, "asleep");
  CT_EQ_STR(nap->family, "other");
  CT_CHECK(nap->calls == CALLS && nap->seconds >= napped);
  CT_CHECK(nap->flops == 7 * CALLS && nap->bytes == 5 * CALLS);
  is_at(nap, 0, 2);
  CT_EQ_STR(loop->kind, "loop");
  CT_EQ_STR(loop->family, "elementwise");
  CT_CHECK(loop->flops == 3.0 * N * CALLS && loop->bytes == 2.0 * 4 * N * CALLS);
  CT_EQ_INT(loop->n_places, 2);
  is_at(loop, 0, 3);
  is_at(loop, 1, 4);
  CT_CHECK(max->flops == 1.0 * N * CALLS && max->bytes == (4.0 * N + 4) * CALLS);
  is_at(max, 0, 5);
  CT_EQ_STR(copy->family, "copy");
  CT_CHECK(copy->bytes == 2.0 * 4 * N * CALLS);
  CT_CHECK(s->calls == CALLS && s->plans == 1 && s->threads == 1);
  CT_CHECK(s->shortest * CALLS <= s->seconds && s->longest * CALLS >= s->seconds);
  CT_CHECK(s->in_instructions >= nap->seconds && s->in_instructions <= s->seconds);
  CT_CHECK(s->seconds <= around);
  CT_CHECK(s->rewriting > 0 && s->program > 0 && s->planning > 0);
  for (int k = 0; k < GEMEL_PHASE_COUNT; k++)
    CT_CHECK(s->phases[k] > 0 && s->phases[k] <= s->rewriting);
  CT_EQ_UINT(s->bytes, gemel_function_bytes(f));
  CT_CHECK(s->unshared_bytes > s->bytes);
  has_speeds(s);
  double least = fmax(max->bytes / s->copy_speed, max->flops / s->f32_speed);
  CT_CHECK(fabs(max->ceiling - least / max->seconds) < 1e-9 + 1e-6 * max->ceiling);
  gemel_call_profile_free(p);
  gemel_tensor_unref(in);
  gemel_function_free(f);
  gemel_context_unref(context);
}

/* What bodies do is a row of theirs, with a call for each step; the row of the loop has the rest of
 * the time, so that all rows together are no more than the calls. */
static void profile_bodies(const void *data) {
  enum { STEPS = 5, INNER = 2, CALLS = 2 };
  gemel_context *context = context_with_nap();
  gemel_function *f = profiled(context, loops, GEMEL_PROFILE_TRACE, 1);
  gemel_tensor *in[] = {vector_of(GEMEL_F32, 3, 1), matrix(STEPS, 3, 0)};
  (void)data;
  napped = 0;
  for (int k = 0; k < CALLS; k++)
    CT_EQ_INT(call(f, in, 1), GEMEL_OK);
  gemel_call_profile *p = gemel_function_profile(f, &error);
  const gemel_call_summary *s = gemel_call_profile_summary(p);
  const gemel_call_row *nap = row_of(p, "scan/scan/nap"), *inner = row_of(p, "scan/scan"),
                       *scan = row_of(p, "scan"), *twice = row_of(p, "scan/twice/add");
  CT_EQ_UINT(nap->calls, STEPS * INNER * CALLS);
  CT_EQ_UINT(twice->calls, STEPS * CALLS);
  CT_EQ_UINT(inner->calls, STEPS * CALLS);
  CT_EQ_UINT(scan->calls, CALLS);
  CT_EQ_STR(nap->within, "%2/%2/");
  CT_EQ_STR(twice->within, "%2/%4/");
  CT_EQ_STR(scan->within, "");
  CT_CHECK(nap->seconds >= napped && nap->flops == 7 * STEPS * INNER * CALLS);
  CT_CHECK(inner->inside >= napped && scan->inside >= inner->inside + inner->seconds);
  CT_CHECK(nap->inside == 0 && scan->flops == 0);
  CT_CHECK(nap->seconds + inner->seconds + scan->seconds + twice->seconds <= s->seconds);
  CT_CHECK(scan->inside + scan->seconds <= s->seconds);
  CT_EQ_UINT(s->calls, CALLS);
  CT_EQ_UINT(s->plans, 4);
  CT_EQ_UINT(s->bytes, gemel_function_bytes(f));
  is_at(nap, 0, 3);
  const char *text = text_of(p, gemel_call_profile_print);
  CT_HAS_STR(text, "  scan/scan/nap -> %2/%2/%1 (asleep)  # test:3\n");
  char rest[60];
  snprintf(rest, sizeof rest, "  scan -> %%2 (steps), and %.6f s in its body", scan->inside);
  CT_HAS_STR(text, rest);
  text = text_of(p, gemel_call_profile_trace);
  CT_EQ_INT(times_in(text, "\"tid\": 1"), times_in(text, "\"tid\""));
  gemel_call_profile_free(p);
  gemel_tensor_unref(in[0]);
  gemel_tensor_unref(in[1]);
  gemel_function_free(f);
  gemel_context_unref(context);
}

/* A caller that was compiled when options had no profile yet: rewriting is timed for it, too, and
 * does what its options say. */
static void profile_older_options(const void *data) {
  static const gemel_rewrite_options older = {.size = offsetof(gemel_rewrite_options, profile),
                                              .mode = GEMEL_MODE_NONE,
                                              .has_mode = 1,
                                              .profile = (gemel_rewrite_profile *)1};
  gemel_context *context = context_new();
  gemel_function *f =
      profiled_with(context, "graph f(x: f32[3]) { return y = x + 0 }", 1, 0, &older);
  gemel_call_profile *p = gemel_function_profile(f, &error);
  (void)data;
  CT_CHECK(gemel_call_profile_summary(p)->rewriting > 0);
  gemel_call_profile_free(p);
  gemel_function_free(f);
  gemel_context_unref(context);
}

/* A reset forgets calls, and functions without the option have nothing to say. */
static void profile_reset(const void *data) {
  gemel_context *context = context_new();
  gemel_function *f = profiled(context, network, GEMEL_PROFILE_TRACE, 1);
  gemel_function *bare = profiled(context, network, 0, 1);
  gemel_tensor *in[] = {matrix(5, 3, 0), matrix(3, 4, -1)};
  (void)data;
  CT_EQ_INT(call(f, in, 3), GEMEL_OK);
  CT_EQ_INT(gemel_function_profile_reset(f, &error), GEMEL_OK);
  gemel_call_profile *p = gemel_function_profile(f, &error);
  const gemel_call_summary *s = gemel_call_profile_summary(p);
  CT_EQ_INT(gemel_call_profile_count(p), 0);
  CT_CHECK(s->calls == 0 && s->seconds == 0 && s->events == 0 && s->program > 0);
  gemel_call_profile_free(p);
  CT_EQ_INT(call(f, in, 3), GEMEL_OK);
  p = gemel_function_profile(f, &error);
  CT_EQ_INT(gemel_call_profile_count(p), 6);
  CT_EQ_INT(gemel_call_profile_at(p, 0)->calls, 1);
  gemel_call_profile_free(p);
  CT_EQ_INT(gemel_function_profile_reset(bare, &error), GEMEL_BAD_ARGUMENT);
  CT_CHECK(gemel_function_profile(bare, &error) == NULL && error.status == GEMEL_BAD_ARGUMENT);
  CT_HAS_STR(error.text, "gemel_options.profile");
  gemel_tensor_unref(in[0]);
  gemel_tensor_unref(in[1]);
  gemel_function_free(f);
  gemel_function_free(bare);
  gemel_context_unref(context);
}

/* ---- Profiles as text ---- */

static int refuse(void *sink, const void *bytes, size_t count) {
  (void)sink, (void)bytes, (void)count;
  return 1;
}

static void profile_texts(const void *data) {
  gemel_context *context = context_with_nap();
  gemel_function *f = profiled(context, slow, GEMEL_PROFILE_TRACE, 0);
  gemel_tensor *in = vector_of(GEMEL_F32, 4, 1);
  (void)data;
  CT_EQ_INT(call(f, &in, 2), GEMEL_OK);
  CT_EQ_INT(call(f, &in, 2), GEMEL_OK);
  gemel_call_profile *p = gemel_function_profile(f, &error);
  const char *text = text_of(p, gemel_call_profile_print);
  CT_HAS_STR(text, "calls                 2\n");
  CT_HAS_STR(text, "\nClass\n");
  CT_HAS_STR(text, "  elementwise\n");
  CT_HAS_STR(text, "  log1p+tanh+mul -> %");
  CT_HAS_STR(text, "  # test:3,4\n");
  CT_HAS_STR(text, "  nap -> %1 (asleep)  # test:2\n");
  text = text_of(p, gemel_call_profile_json);
  char summary[80];
  snprintf(summary, sizeof summary, "{\"kind\": \"summary\", \"calls\": 2, \"seconds\": %.9f, ",
           gemel_call_profile_summary(p)->seconds);
  CT_HAS_STR(text, summary);
  CT_HAS_STR(text, "{\"kind\": \"loop\", \"family\": \"elementwise\", \"operation\": "
                   "\"log1p+tanh+mul\", \"kernel\": \"\", ");
  CT_HAS_STR(text, "\"places\": [{\"file\": \"test\", \"line\": 3}, {\"file\": \"test\", "
                   "\"line\": 4}]}\n");
  CT_EQ_INT(times_in(text, "\n"), 5);
  text = text_of(p, gemel_call_profile_trace);
  CT_EQ_INT(times_in(text, "\"ph\": \"X\""), 2 * 5);
  CT_EQ_INT(times_in(text, "{\"name\": \"call\""), 2);
  CT_EQ_INT(times_in(text, "{\"name\": \"nap\", \"cat\": \"other\""), 2);
  CT_EQ_INT(gemel_call_profile_print(p, refuse, NULL, &error), GEMEL_IO);
  CT_EQ_INT(gemel_call_profile_trace(p, refuse, NULL, &error), GEMEL_IO);
  gemel_call_profile_free(p);
  gemel_tensor_unref(in);
  gemel_function_free(f);
  gemel_context_unref(context);
}

/* Runs on a stack of 256 KiB: more instructions than a trace keeps, in two calls. */
static void *profile_deep(void *data) {
  int n = *(int *)data;
  gemel_context *context = context_new();
  gemel_graph *g = gemel_graph_new(context, &error);
  gemel_value x = f32_input(g, "x", NULL, 3), y = x;
  gemel_options options = {
      .size = sizeof options, .threads = 1, .as_written = 1, .profile = GEMEL_PROFILE_TRACE};
  for (int k = 0; k < n; k++)
    y = gemel_softmax(gemel_reverse(y, 1, (const int64_t[]){0}), -1);
  gemel_output(y, "y");
  gemel_function *f = gemel_compile(g, &options, &error);
  gemel_tensor *in = vector_of(GEMEL_F32, 3, 1);
  CT_EQ_INT(call(f, &in, 1), GEMEL_OK);
  CT_EQ_INT(call(f, &in, 1), GEMEL_OK);
  gemel_call_profile *p = gemel_function_profile(f, &error);
  const gemel_call_summary *s = gemel_call_profile_summary(p);
  CT_EQ_INT(gemel_call_profile_count(p), n);
  CT_EQ_INT(s->events + s->lost_events, 2 * (n + 1));
  CT_EQ_INT(s->events, n > 1 << 19 ? 1 << 20 : 2 * (n + 1));
  const char *text = text_of(p, gemel_call_profile_print);
  CT_HAS_STR(text, "more rows, ");
  CT_CHECK((strstr(text, "events of the trace   1048576 are kept, ") != NULL) == (n > 1 << 19));
  gemel_call_profile_free(p);
  gemel_tensor_unref(in);
  gemel_function_free(f);
  gemel_graph_unref(g);
  gemel_context_unref(context);
  return NULL;
}

static void profile_deeply(const void *data) {
  int n = sanitized || valgrind() ? 20000 : 600000;
  (void)data;
  on_small_stack(profile_deep, &n);
}

/* ---- Profiles of calls at a time ---- */

enum { THREADS = 4 };

/* Calls of each thread: enough that some are at the same time. */
static int each(void) {
  return sanitized || valgrind() ? 500 : 20000;
}

static void *call_often(void *data) {
  gemel_function *f = data;
  gemel_tensor *in = vector_of(GEMEL_F32, 64, 1);
  for (int k = 0; k < each(); k++) {
    gemel_tensor *out[] = {NULL, NULL};
    gemel_error mine;
    CT_EQ_INT(gemel_call(f, 1, &in, 2, out, &mine), GEMEL_OK);
    gemel_tensor_unref(out[0]);
    gemel_tensor_unref(out[1]);
  }
  gemel_tensor_unref(in);
  return NULL;
}

/* Calls on several threads are all counted, on one row an instruction; a profile may be taken among
 * them. */
static void profile_threads(const void *data) {
  gemel_context *context = context_new();
  gemel_function *f = profiled(context,
                               "graph f(x: f32[N]) { y = exp(x) return s = sum(y), t = "
                               "softmax(y) }",
                               GEMEL_PROFILE_TRACE, 1);
  pthread_t threads[THREADS];
  (void)data;
  for (int k = 0; k < THREADS; k++)
    CT_REQUIRE(pthread_create(&threads[k], NULL, call_often, f) == 0);
  gemel_call_profile *p = gemel_function_profile(f, &error);
  CT_CHECK(p != NULL);
  gemel_call_profile_free(p);
  for (int k = 0; k < THREADS; k++)
    pthread_join(threads[k], NULL);
  p = gemel_function_profile(f, &error);
  CT_EQ_INT(gemel_call_profile_summary(p)->calls, THREADS * each());
  CT_EQ_INT(gemel_call_profile_summary(p)->events, THREADS * each() * 4);
  CT_EQ_INT(gemel_call_profile_count(p), 3);
  for (size_t k = 0; k < 3; k++)
    CT_EQ_INT(gemel_call_profile_at(p, k)->calls, THREADS * each());
  gemel_call_profile_free(p);
  gemel_function_free(f);
  gemel_context_unref(context);
}

/* Takes what the network takes, and gives as many results. */
static const char small_loop[] = "graph step(x: f32[N, 3], w: f32[3, 4]) {\n"
                                 "  return x = dot(dot(x, w), dimshuffle(w, order = [1, 0]))\n"
                                 "}\n"
                                 "graph f(x: f32[N, 3], w: f32[3, 4]) {\n"
                                 "  last, all = scan(x, w, body = step, states = 1, length = 2)\n"
                                 "  return last = last, all = all, e = exp(x)\n"
                                 "}\n";

static int profile_in_little_memory(void *data) {
  gemel_error e = {0};
  gemel_context *context = gemel_context_new(&e);
  gemel_rewrite_options rewrite = {.size = sizeof rewrite, .without_builtin = 1};
  gemel_options options = {
      .size = sizeof options, .threads = 1, .profile = GEMEL_PROFILE_TIMES, .rewrite = &rewrite};
  gemel_graph *g =
      context ? gemel_parse(context, small_loop, strlen(small_loop), "", NULL, &e) : NULL;
  gemel_function *f = g != NULL ? gemel_compile(g, &options, &e) : NULL;
  gemel_tensor *out[] = {NULL, NULL, NULL};
  gemel_call_profile *p = NULL;
  gemel_status status =
      f != NULL ? gemel_call(f, gemel_function_input_count(f), (gemel_tensor **)data, 3, out, &e)
                : e.status;
  if (f != NULL && status == GEMEL_OK) {
    p = gemel_function_profile(f, &e);
    status = p != NULL ? gemel_call_profile_print(p, refuse, NULL, &e) : e.status;
    status = status == GEMEL_IO ? gemel_function_print(f, refuse, NULL, &e) : status;
    status = status == GEMEL_IO ? GEMEL_OK : status;
  }
  gemel_call_profile_free(p);
  for (int k = 0; k < 3; k++)
    gemel_tensor_unref(out[k]);
  gemel_function_free(f);
  gemel_graph_unref(g);
  gemel_context_unref(context);
  return status;
}

static void profile_refused(const void *data) {
  gemel_tensor *in[] = {matrix(5, 3, 0), matrix(3, 4, -1)};
  (void)data;
  CT_CHECK(ct_oom(profile_in_little_memory, in) > 50);
  gemel_tensor_unref(in[0]);
  gemel_tensor_unref(in[1]);
}

/* ---- The guard ---- */

/* A graph, what its input x holds, what is guarded against, and the error; NULL: there is none. */
typedef struct guarded {
  const char *text;
  double x[3];
  unsigned guard;
  const char *wanted;
} guarded;

static const guarded guards[] = {
    {"graph f(x: f32[3]) {\n  a = x - 2\n  b = log(a) * 3\n  return y = exp(b)\n}\n",
     {3, 4, 1},
     GEMEL_GUARD_NAN,
     "test:3: log(f32[3]): %3, f32[3], has a NaN at [2], and its operands (f32[3]) have none"},
    {"graph f(x: f32[3]) {\n  a = x - 2\n  b = log(a) * 3\n  return y = exp(b)\n}\n",
     {3, 4, 5},
     GEMEL_GUARD_NAN | GEMEL_GUARD_INF,
     NULL},
    {"graph f(x: f32[3]) { return y = log(x) }", {1, NAN, 2}, GEMEL_GUARD_NAN, NULL},
    {"graph f(x: f32[3]) { return y = log(x) }", {1, NAN, 0}, GEMEL_GUARD_NAN, NULL},
    {"graph f(x: f32[3]) { return y = log(x) }",
     {1, NAN, 0},
     GEMEL_GUARD_NAN | GEMEL_GUARD_INF,
     "has an infinity at [2]"},
    {"graph f(x: f32[3]) { return y = x - x }",
     {1, 2, INFINITY},
     GEMEL_GUARD_NAN,
     "sub(f32[3], f32[3]): %1, f32[3], has a NaN at [2]"},
    {"graph f(x: f64[3]) { return y = sum(exp(x)) }",
     {1, 2000, 2},
     GEMEL_GUARD_INF,
     "exp(f64[3]): %1, f64[3], has an infinity at [1], and its operands (f64[3]) have none"},
    {"graph f(x: f64[3]) { return y = exp(x) }", {1, 2000, 2}, GEMEL_GUARD_NAN, NULL},
    {"graph f(x: f64[3]) {\n  return y = sum(x)\n}",
     {1e308, 1e308, 1},
     GEMEL_GUARD_INF,
     "test:2: sum(f64[3]): %1, f64[], has an infinity at []"},
    {"graph f(x: f32[3]) { return y = cast(x, dtype = f16) }",
     {1, 2, 1e6},
     GEMEL_GUARD_INF,
     "cast(f32[3]): %1, f16[3], has an infinity at [2]"},
    {"graph f(x: f32[3]) { a = dimshuffle(broadcast_to(x, shape = [2, 3]), order = [1, 0])\n"
     " return y = log(a) }",
     {1, -1, 2},
     GEMEL_GUARD_NAN,
     "test:2: log(f32[3, 2]): %3, f32[3, 2], has a NaN at [1, 0]"},
    {"graph b(z: f32[N]) {\n  return y = sqr(sqrt(z))\n}\n"
     "graph f(x: f32[3]) {\n  return y = invoke(x, body = b)\n}\n",
     {1, 2, -1},
     GEMEL_GUARD_NAN,
     "test:5: invoke(f32[3]): test:2: sqrt(f32[N]): %1, f32[3], has a NaN at [2]"},
    {"graph b(z: f32[N]) {\n  return y = where(z > 0, sqrt(z), 0)\n}\n"
     "graph f(x: f32[3]) {\n  return y = invoke(x, body = b)\n}\n",
     {1, 2, -1},
     GEMEL_GUARD_NAN,
     "sqrt(f32[N])"}, /* which doesn't get out of the body */
    {"graph f(x: f32[3]) { c = reshape(cast(arange(n = 2), dtype = f32), shape = [2, 1])\n"
     " return y = log(x * c) }",
     {1, 2, -1},
     GEMEL_GUARD_NAN,
     "f32[2, 3], has a NaN at [1, 2]"},
};

static void guard_stops(const void *data) {
  const guarded *t = data;
  gemel_context *context = context_new();
  gemel_graph *graph = parse(context, t->text);
  gemel_options options = {
      .size = sizeof options, .threads = 1, .as_written = 1, .guard = t->guard};
  gemel_function *f = gemel_compile(graph, &options, &error);
  gemel_dtype dtype = gemel_type_dtype(context, gemel_value_type(gemel_graph_input(graph, 0)));
  gemel_tensor *x = gemel_tensor_new(dtype, 1, (const int64_t[]){3}, &error), *y = NULL;
  for (int k = 0; k < 3; k++) {
    if (dtype == GEMEL_F32)
      ((float *)gemel_tensor_data(x))[k] = (float)t->x[k];
    else
      ((double *)gemel_tensor_data(x))[k] = t->x[k];
  }
  gemel_status status = gemel_call(f, 1, &x, 1, &y, &error);
  CT_EQ_INT(status, t->wanted != NULL ? GEMEL_BAD_VALUE : GEMEL_OK);
  CT_CHECK((y != NULL) == (t->wanted == NULL));
  if (t->wanted != NULL)
    CT_HAS_STR(error.text, t->wanted);
  gemel_tensor_unref(x);
  gemel_tensor_unref(y);
  gemel_function_free(f);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

/* A guarded function computes what it would without the guard, bit for bit. */
static void guard_bits(const void *data) {
  gemel_context *context = context_new();
  gemel_graph *graph = parse(context, network);
  gemel_tensor *in[] = {matrix(5, 3, 0), matrix(3, 4, -1)}, *out[2][3] = {{NULL}, {NULL}};
  (void)data;
  for (unsigned guard = 0; guard < 2; guard++) {
    gemel_options options = {.size = sizeof options, .threads = 1, .guard = guard};
    gemel_function *f = gemel_compile(graph, &options, &error);
    CT_EQ_INT(gemel_call(f, 2, in, 3, out[guard], &error), GEMEL_OK);
    gemel_function_free(f);
  }
  for (int k = 0; k < 3; k++) {
    CT_EQ_MEM(gemel_tensor_data(out[0][k]), gemel_tensor_data(out[1][k]),
              (size_t)gemel_tensor_elements(out[0][k]) * 4);
    gemel_tensor_unref(out[0][k]);
    gemel_tensor_unref(out[1][k]);
  }
  gemel_tensor_unref(in[0]);
  gemel_tensor_unref(in[1]);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

/* ---- Devices ---- */

static guarded_device device;

/* What lies on a device is listed and timed without being touched; the guard finds what comes back
 * from there as the operand that it is, and what the host makes of it. A call is dumped with the
 * values, and read back to where they were. */
static void devices(const void *data) {
  gemel_context *context = context_new();
  gemel_options options = {.size = sizeof options,
                           .threads = 1,
                           .profile = GEMEL_PROFILE_TIMES,
                           .guard = GEMEL_GUARD_NAN};
  gemel_tensor *out = NULL, *host = vector_of(GEMEL_F32, 3, -1);
  (void)data;
  CT_CHECK(guarded_open(&device, "guarded") == 0);
  CT_EQ_INT(gemel_register_device(context, 1, &device.record, &error), GEMEL_OK);
  gemel_tensor *in = gemel_tensor_transfer(host, &device.record, &error);
  gemel_graph *graph = parse(context, "graph f(x: f32[3]@1) {\n"
                                      "  y = transfer(log(x), space = 0)\n"
                                      "  return r = exp(y + 1)\n"
                                      "}\n");
  gemel_function *f = gemel_compile(graph, &options, &error);
  CT_EQ_INT(gemel_call(f, 1, &in, 1, &out, &error), GEMEL_OK);
  const char *text = listing_of(f);
  CT_HAS_STR(text, "%1 = log(%0): f32[3] -> guarded arena + 0  # test:2\n");
  CT_HAS_STR(text, "download of 12 bytes\n       for %2 -> guarded staging + 0");
  CT_HAS_STR(text, "fetch of 12 bytes\n       for %2 -> host arena + ");
  gemel_call_profile *p = gemel_function_profile(f, &error);
  CT_CHECK(row_of(p, "log")->calls == 1 && row_of(p, "download")->bytes == 24);
  gemel_call_profile_free(p);
  const char *folder = ct_scratch();
  char path[300];
  snprintf(path, sizeof path, "%s/device", folder);
  CT_EQ_INT(gemel_dump(graph, NULL, 1, &in, 0, NULL, path, &error), GEMEL_OK);
  gemel_dumped *d = gemel_dump_load(context, path, &error);
  if (CT_CHECK(d != NULL))
    CT_CHECK(gemel_tensor_device(d->inputs[0]) == &device.record);
  gemel_dump_free(d);
  gemel_function_free(f);
  gemel_graph_unref(graph);
  gemel_tensor_unref(in);
  gemel_tensor_unref(host);
  gemel_tensor_unref(out);
  gemel_context_unref(context);
  CT_EQ_UINT(device.live, 0);
  guarded_close(&device);
}

static const ct_test tests[] = {
    CT_TEST("list", lists, NULL),
    CT_TEST("list/reuse", lists_reuse, NULL),
    CT_TEST("list/sizes", lists_sizes, NULL),
    CT_TEST("list/bodies", lists_bodies, NULL),
    CT_TEST("list/deep", lists_deep, NULL),
    CT_TEST("rows", profile_rows, NULL),
    CT_TEST("bodies", profile_bodies, NULL),
    CT_TEST("older_options", profile_older_options, NULL),
    CT_TEST("reset", profile_reset, NULL),
    CT_TEST("texts", profile_texts, NULL),
    CT_TEST("deep", profile_deeply, NULL),
    CT_TEST("threads", profile_threads, NULL),
    CT_TEST("refused", profile_refused, NULL),
    CT_TEST("guard/bits", guard_bits, NULL),
    CT_TEST("devices", devices, NULL),
};

void ct_register(void) {
  ct_suite("profile", tests, CT_COUNT(tests));
  for (size_t k = 0; k < CT_COUNT(guards); k++) {
    char name[32];
    snprintf(name, sizeof name, "%zu", k);
    CT_ADD_TO("profile", "guard", name, guard_stops, &guards[k]);
  }
}
