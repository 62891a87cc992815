/* SPDX-License-Identifier: MIT
 *
 * The sim and a comparison with the host find planted faults of the device "cuda": in its kernels,
 * its library calls, its queue, its pool, the texts that it writes, and in what asks devices for
 * work. Each fault is switched on in a process of its own, since some end it. There an operation of
 * the catalogue, or one of the graphs below, is computed on the host and on the device: a wrong
 * result, an error, a report of the sim, something left behind or an end of the process refutes.
 * Some faults are left to `gemel verify --device sim`, which must refute them for every seed.
 * Without a fault nothing may.
 */
#include <cuda_runtime_api.h>
#include <errno.h>
#include <gemel/cuda.h>
#include <gemel/lift.h>
#include <gemel/verify.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "support/fault.h"
#include "core/graph.h"
#include "instances/instance.h"
#include "run.h"
#include "sim/sim.h"
#include "support/graph-text.h"
#include "support/on-device.h"

enum { SEEDS = 2, SECONDS = 60 };

/* So many seeds of five must refute where one doesn't. */
enum { NEEDED = 4, OF = 5 };

/* ---- Graphs ---- */

/* A graph that is lifted and called often. */
typedef struct scenario {
  const char *name, *text;
  const char *there; /* with its transfers; NULL: TEXT lifted */
  gemel__fill fill;
  int classes;   /* not 0: integers are numbers of so many classes, and in one call wrong */
  int no_nvrtc;  /* there is no compiler at run time */
  int no_cudnn;  /* there is no cuDNN */
  int from_host; /* only with inputs and outputs on the host */
  int once;      /* so, and called twice */
  int far;       /* how many numbers a float may be from the host's (room_of in on-device.h) */
} scenario;

static const scenario scenarios[] = {
    {.name = "long",
     .text = "(x: i32[33001], y: i8[2, 8199, 3], z: f16[8199, 20]) {\n"
             "  return a = sum(x), b = argmax(x, axis = 0), c = sum(y, axes = [1]),\n"
             "    d = argmax(z, axis = 0)\n}",
     .once = 1},
    {.name = "rows",
     .text = "(x: i32[5000, 2], y: i32[140, 2, 9]) {\n"
             "  return a = sum(x, axes = [1]), b = sum(y, axes = [1])\n}",
     .once = 1},
    {.name = "rows fused",
     .text = "(x: f32[9, 1044], q: f32[9], y: f32[3, 3], z: bf16[5, 600], w: f32[3, 3, 8]) {\n"
             "  s = subtensor(x, start = [0, 1], size = [9, 1040]) - 100\n"
             "  m = max(s, axes = [1]) + q\n"
             "  c = s - dimshuffle(m, order = [0, -1])\n  t = sum(c, axes = [1], keepdims = 1)\n"
             "  e = sum(y, axes = [1])\n  f = sum(abs(z) * 3, axes = [1], keepdims = 1)\n"
             "  g = max(w * 2, axes = [2])\n"
             "  return a = maximum(c, t) + c, b = t, d = m, h = y + e, i = z - f,\n"
             "    j = w + dimshuffle(g, order = [1, 0, -1])\n}"},
    {.name = "rows one by one",
     .text = "(x: f64[7, 40], q: f64[7]) {\n  m = max(x * 3, axes = [1]) * q\n"
             "  return a = x * 3 - dimshuffle(m, order = [0, -1]), b = sum(x * 3, axes = [1], "
             "keepdims = 1)\n}",
     .no_nvrtc = 1},
    {.name = "kept",
     .text = "(x: i32[4, 5, 6], y: i32[2, 700], z: f32[40, 20]) {\n"
             "  return a = sum(x, axes = [1]), b = sum(y, axes = [1]), c = sum(z, axes = [0])\n}"},
    {.name = "large",
     .text = "(x: i8[33000], y: i8[33000]) {\n"
             "  return a = x + y\n}",
     .once = 1},
    {.name = "wide",
     .text =
         "(x: f64[9, 7], y: i64[33], z: i8[2, 70, 65], w: f32[9, 8]) {\n"
         "  return a = dimshuffle(x, order = [1, 0]), b = reverse(y, axes = [0]),\n"
         "    c = dimshuffle(z, order = [2, 0, 1]), d = subtensor(w, start = [0, 1], size = [9, "
         "4])\n}"},
    {.name = "sums",
     .text = "(x: i32[9001], y: i16[70, 9]) {\n"
             "  return a = cumsum(x, axis = 0), b = cumsum(y, axis = 0, exclusive = 1)\n}",
     .once = 1},
    {.name = "casts",
     .text =
         "(x: f32[60], y: f64[60], z: i32[60]) {\n"
         "  return a = cast(x, dtype = i8), b = cast(y, dtype = u16), c = cast(x, dtype = i32),\n"
         "    d = cast(z, dtype = bool), e = cast(y, dtype = f16), f = cast(x, dtype = f16),\n"
         "    g = cast(y, dtype = bf16)\n}",
     .fill = GEMEL__FILL_SPECIAL},
    {.name = "limits",
     .text = "(x: f64[6]) {\n  z = x * 0:f64\n"
             "  return a = cast(z + 128:f64, dtype = i8), b = cast(z + 32768:f64, dtype = i16),\n"
             "    c = cast(z + 2147483648:f64, dtype = i32),\n"
             "    d = cast(z + 9.223372036854775808e18:f64, dtype = i64),\n"
             "    e = cast(z + 256:f64, dtype = u8), f = cast(z + 65536:f64, dtype = u16),\n"
             "    g = cast(z + 4294967296:f64, dtype = u32),\n"
             "    h = cast(z + 1.8446744073709552e19:f64, dtype = u64)\n}",
     .no_nvrtc = 1,
     .once = 1},
    {.name = "halves",
     .text = "(x: f64[60]) {\n  return a = cast(x, dtype = f16), b = cast(x, dtype = bf16)\n}",
     .fill = GEMEL__FILL_FULL},
    {.name = "integers",
     .text = "(x: i16[40], y: i16[40], z: i32[40], w: i32[40]) {\n"
             "  return a = x < y, b = z % w, c = maximum(x, y)\n}"},
    {.name = "products",
     .text =
         "(x: f32[7, 6], y: f32[6, 5], z: f32[4, 5], w: f32[3, 4, 6], v: f32[3, 6, 5], u: f32[5, "
         "6],\n"
         "  e: f32[4, 0], f: f32[0, 5], h: f16[4, 4], p: f32[30, 3, 3], q: f32[3, 3, 5]) {\n"
         "  s = subtensor(x, start = [1, 0], size = [4, 6])\n"
         "  o = subtensor(v, start = [0, 1, 1], size = [3, 4, 4])\n"
         "  return a = dot(s, y), b = dot_add(s, y, z), c = dot(s, u, contract_x = [1], contract_y "
         "= "
         "[1]),\n"
         "    d = dot(w, v, contract_x = [2], contract_y = [1], batch_x = [0], batch_y = [0]),\n"
         "    g = dot(e, f), i = dot(h, h), j = dot(x, s, contract_x = [1], contract_y = [1]),\n"
         "    k = dot(o, o, contract_x = [2], contract_y = [1], batch_x = [0], batch_y = [0]),\n"
         "    l = dot(p, q, contract_x = [2, 1], contract_y = [1, 0]),\n"
         "    m = dot(p, q, contract_x = [1, 2], contract_y = [1, 0]),\n"
         "    n = dot(subtensor(x, start = [0, 0], size = [7, 2], step = [1, 3]),\n"
         "      subtensor(y, start = [0, 0], size = [2, 2], step = [3, 3]))\n}"},
    {.name = "big matrices", /* whose results are exact */
     .text = "(x: f32[129, 1]) {\n"
             "  i = arange(n = 129, dtype = i32)\n"
             "  d = reshape(i, shape = [129, 1]) - i\n"
             "  e = cast(d == 0, dtype = f32) * -4\n"
             "  t = cast(d == 1, dtype = f32)\n"
             "  return f = solve(reverse(e, axes = [0]), x), n = cholesky(e), m = cholesky(-e),\n"
             "    k = triangular_solve(t, x, unit_diagonal = 1)\n}",
     .no_nvrtc = 1,
     .from_host = 1},
    {.name = "integer products",
     .text = "(x: i32[4, 6], y: i32[6, 5], z: i32[4, 5]) {\n"
             "  return a = dot(x, y), b = dot_add(x, y, z)\n}"},
    {.name = "convolutions",
     .text =
         "(x: f32[2, 4, 9, 8], w: f32[6, 2, 3, 2], v: f16[2, 4, 40], u: f16[8, 4, 3],\n"
         "  g: f32[2, 6, 5, 8]) {\n"
         "  return a = corr(x, w, groups = 2, stride = [2, 1], padding = \"half\", flip = 1),\n"
         "    b = corr_grad_weights(x, corr(x, w, groups = 2), groups = 2, kernel = [3, 2]),\n"
         "    c = corr(v, u, low = [1], high = [0]),\n"
         "    d = corr_grad_inputs(w, subtensor(g, start = [0, 0, 0, 0], size = [2, 6, 4, 8]),\n"
         "      groups = 2, stride = [2, 1], image = [9, 9])\n}",
     .no_cudnn = 1,
     .once = 1},
    {.name = "convolutions in blocks",
     .text = "(x: f32[3, 4, 64, 64], w: f32[2, 4, 5, 5]) {\n"
             "  y = corr(x, w)\n"
             "  return a = y, b = corr_grad_weights(x, y, kernel = [5, 5]),\n"
             "    c = corr_grad_inputs(w, y, image = [64, 64])\n}",
     .no_cudnn = 1,
     .once = 1},
    {.name = "convolutions by cuDNN",
     .text =
         "(x: f32[2, 4, 9, 8], w: f32[6, 2, 3, 2], v: f32[2, 4, 41], u: f32[8, 4, 3],\n"
         "  g: f32[2, 6, 5, 8]) {\n"
         "  z = x * 4099\n"
         "  return a = corr(z, w, groups = 2, stride = [2, 1], dilation = [1, 2], low = [2, 0],\n"
         "      high = [0, 1], flip = 1),\n"
         "    b = corr_grad_weights(x, corr(x, w, groups = 2), groups = 2, kernel = [3, 2]),\n"
         "    c = corr(subtensor(v, start = [0, 0, 1], size = [2, 4, 40]), u, low = [1], high = "
         "[0]),\n"
         "    d = corr_grad_inputs(w, subtensor(g, start = [0, 0, 0, 0], size = [2, 6, 4, 8]),\n"
         "      groups = 2, stride = [2, 1], image = [9, 9]),\n"
         "    e = corr(reverse(z, axes = [3]), w, groups = 2)\n}"},
    {.name = "targets",
     .text = "(x: f32[140, 5], t: i64[140]) {\n  return a = cross_entropy(x, t, axis = 1)\n}",
     .classes = 5,
     .from_host = 1},
    {.name = "lanes",
     .text = "(x: f32[140, 3], y: f32[140, 3]) {\n"
             "  return a = softmax(x, axis = 1), b = cross_entropy(x, abs(y), axis = 1)\n}",
     .once = 1,
     .far = 4},
    {.name = "long lanes",
     .text = "(x: f32[2, 4500], y: f32[600, 6], z: f32[40, 6]) {\n"
             "  return a = cast(softmax(x) * 1e6:f32, dtype = i32),\n"
             "    b = cast(softmax(y, axis = 0) * 1e6:f32, dtype = i32),\n"
             "    c = cast(softmax(z, axis = 0) * 1e6:f32, dtype = i32)\n}",
     .once = 1},
    {.name = "order",
     .text = "(x: f32[140, 3], y: i8[2300], z: f16[2, 65], w: i16[1030, 2]) {\n"
             "  return a = argsort(x, axis = 0), b = argsort(y, axis = 0, descending = 1),\n"
             "    c = argsort(reverse(z, axes = [1]), axis = 1), d = searchsorted(y, y, side = "
             "\"right\"),\n"
             "    e = argsort(w, axis = 0)\n}",
     .once = 1},
    {.name = "views",
     .text = "(x: f32[6, 8]) {\n"
             "  return a = subtensor(x, start = [2, 0], size = [3, 8]),\n"
             "    b = subtensor(x, start = [1, 3], size = [4, 2], step = [1, 2]),\n"
             "    c = softmax(dimshuffle(x, order = [1, 0]), axis = 1)\n}",
     .far = 4},
    {.name = "fused",
     .text = "(x: f32[6, 9], y: f32[9, 6], v: f32[6], c: bool[9, 6], k: f32[]) {\n"
             "  t = dimshuffle(x, order = [1, 0])\n"
             "  s = t - y * k\n"
             "  u = where(c, s, v - t)\n"
             "  return a = s, b = u * y - s\n}"},
    {.name = "fused groups",
     .text = "(x: f32[5, 8], y: f32[5, 8], b: f32[8], r: f32[5, 1], w: f32[5, 16], z: f32[43],\n"
             "  h: f16[48]) {\n"
             "  s = x * y + b - r\n"
             "  u = s * subtensor(w, start = [0, 0], size = [5, 8], step = [1, 2])\n"
             "  v = subtensor(z, start = [1], size = [40])\n"
             "  return a = s, c = u, d = v * v - v, e = z * z + z, f = h * h - h\n}"},
    {.name = "fused words",
     .text = "(x: f64[50], y: i8[50], h: f16[50], g: f16[50]) {\n"
             "  a = cast(x - x * 300:f64, dtype = i8)\n"
             "  return b = a - y, c = (h / (g * g + 1:f16)) / 3:f16 + h\n}"},
    {.name = "fused casts",
     .text = "(x: f64[50], y: f64[50]) {\n"
             "  return b = cast(maximum(x, y), dtype = i8) - cast(x, dtype = i8)\n}",
     .fill = GEMEL__FILL_SPECIAL},
    {.name = "fused texts",
     .text = "(x: f32[9], y: f32[9], z: f32[8], w: f32[8]) {\n"
             "  return a = (x + y) * y, b = (z * w) - w, c = (z - w) * z\n}"},
    {.name = "steps",
     .text = "(x: f32[6, 9], y: f32[6, 9], c: bool[6, 9]) {\n"
             "  s = x - y\n  t = s * s\n  u = where(c, t, s)\n  return a = u + x * t\n}",
     .no_nvrtc = 1},
    {.name = "mixed",
     .text = "(x: f32[40, 3], y: f32[3, 40], w: f32[40], k: f32[]) {\n"
             "  d = dot(x, y)\n"
             "  s = sum(d, axes = [1])\n"
             "  u = softmax(d * 0:f32 + k, axis = 1)\n"
             "  m = set_subtensor(s, w * k, start = [0])\n"
             "  return a = s - w, b = dot(d, x), c = m + s, e = u\n}"},
    {.name = "random",
     .text = "(key: u64[4]) {\n"
             "  k = subtensor(key, start = [0], size = [2], step = [2])\n"
             "  b, n = random_bits(k, shape = [9], dtype = u32)\n"
             "  return b, n\n}"},
    {.name = "sizes",
     .text = "(a: f32[100], b: f32[130], c: f32[160], d: f32[190], e: f32[220], f: f32[250]) {\n"
             "  return u = a + a, v = b + b, w = c + c, x = d + d, y = e + e, z = f + f\n}"},
    {.name = "islands",
     .text = "(x: f32[9], y: f32[9]) {\n"
             "  a = x * y\n"
             "  b = invoke(a, body = graph (p: f32[9]) { return r = p - 1:f32 })\n"
             "  return c = b * y\n}"},
    {.name = "constants",
     .text =
         "(x: f32[3]) {\n"
         "  c = tensor(f32[2, 3], [1, 2, 3, 4, 5, 6])\n"
         "  return a = x * reshape(subtensor(c, start = [1, 0], size = [1, 3]), shape = [3])\n}",
     .there = "(x: f32[3]) {\n"
              "  c = tensor(f32[2, 3], [1, 2, 3, 4, 5, 6])\n"
              "  d = transfer(subtensor(c, start = [1, 0], size = [1, 3]), space = 1)\n"
              "  y = transfer(x, space = 1) * reshape(d, shape = [3])\n"
              "  return a = transfer(y, space = 0)\n}",
     .from_host = 1},
};

/* ---- One process ---- */

/* What was found first. */
static char found[1200];

static int find(const char *format, const char *what) {
  if (found[0] == '\0') {
    snprintf(found, sizeof found, format, what);
  }
  return 1;
}

/* ---- Calls of a graph ---- */

enum { SETS = 6, MOST = 16 };

typedef struct trial {
  const scenario *s;
  const gemel_device *device;
  gemel_graph *graph;
  gemel__instance instance;
  gemel_tensor **values[SETS];
  gemel_tensor *wanted[SETS][MOST];
  gemel_status status[SETS];
  size_t n_in, n_out;
} trial;

/* In set 1 all classes are wrong: too large, or negative; in set 3 only their upper words are. */
static void set_classes(const trial *t, int set, uint64_t seed) {
  for (size_t k = 0; k < t->n_in && t->s->classes > 0; k++) {
    gemel_tensor *x = t->values[set][k];
    if (gemel_tensor_dtype(x) == GEMEL_I64) {
      int64_t *data = gemel_tensor_data(x);
      for (int64_t e = 0; e < gemel_tensor_elements(x); e++) {
        int64_t wrong = e % 2 != 0 ? t->s->classes : -1;
        int64_t right = (int64_t)(((uint64_t)e * 3 + seed) % (uint64_t)t->s->classes);
        data[e] = set == 1 ? wrong : set == 3 ? right + (1ll << 32) : right;
      }
    }
  }
}

/* The values of all sets, and what the host makes of them. */
static void begin_trial(trial *t, gemel_context *context, uint64_t seed) {
  gemel__random random;
  gemel__random_seed(&random, seed);
  t->graph = graph_of(context, t->s->text);
  t->n_in = gemel_graph_input_count(t->graph);
  t->n_out = gemel_graph_output_count(t->graph);
  gemel__instance_of_graph(&t->instance, t->graph, NULL, &error);
  for (int set = 0; set < SETS; set++) {
    gemel__values_draw(&t->instance, t->s->fill, &random, &t->values[set], &error);
    set_classes(t, set, seed);
    t->status[set] = call(t->graph, 1, t->values[set], t->wanted[set]);
  }
}

static void end_trial(trial *t) {
  for (int set = 0; set < SETS; set++) {
    for (size_t k = 0; k < t->n_out; k++) {
      gemel_tensor_unref(t->wanted[set][k]);
    }
    gemel__values_free(&t->instance, t->values[set]);
  }
  gemel__instance_clear(&t->instance);
  gemel_graph_unref(t->graph);
}

/* 1 if RESULTS, wherever they lie, aren't those of SET. */
static int is_wrong(const trial *t, int set, gemel_tensor *const *results) {
  gemel_tensor *here[MOST] = {NULL};
  int wrong = 0, missing = 0;
  for (size_t k = 0; k < t->n_out; k++) {
    here[k] = gemel_tensor_transfer(results[k], gemel_host(), &error);
    missing |= here[k] == NULL;
  }
  if (missing) {
    wrong = find("a result can't be read: %s", error.text);
  } else {
    wrong =
        different(t->wanted[set], here, t->n_out, t->s->far) > 0 && find("a wrong result%s", "");
  }
  for (size_t k = 0; k < t->n_out; k++) {
    gemel_tensor_unref(here[k]);
  }
  return wrong;
}

typedef struct step {
  int set, slot;
} step;

/* Two calls, and then their results are looked at: between the calls nobody waits. */
static int call_twice(const trial *t, gemel_function *f, const step *steps,
                      gemel_tensor *(*in)[MOST], gemel_tensor *(*out)[MOST]) {
  int ran[2], wrong = 0;
  for (int k = 0; k < 2 && !wrong; k++) {
    gemel_status status =
        gemel_call(f, t->n_in, in[steps[k].set], t->n_out, out[steps[k].slot], &error);
    ran[k] = status == GEMEL_OK;
    wrong = status != t->status[steps[k].set] && find("an error: %s", error.text);
  }
  for (int k = 0; k < 2 && !wrong; k++) {
    wrong = ran[k] && is_wrong(t, steps[k].set, out[steps[k].slot]);
  }
  return wrong;
}

/* Calls with the same tensors, which are replayed, then with others, more than are kept. */
static int call_often(const trial *t, gemel_function *f, gemel_tensor *(*in)[MOST]) {
  static const step order[][2] = {
      {{0, 0}, {1, 1}}, {{0, 0}, {1, 1}}, {{0, 0}, {1, 1}}, {{1, 0}, {0, 1}}, {{1, 0}, {0, 1}},
      {{2, 2}, {3, 3}}, {{4, 4}, {5, 5}}, {{4, 4}, {5, 5}}, {{0, 0}, {2, 1}}, {{0, 0}, {2, 1}}};
  gemel_tensor *out[SETS][MOST] = {{NULL}};
  int wrong = 0;
  for (size_t k = 0; k < (t->s->once ? 1 : CT_COUNT(order)) && !wrong; k++) {
    wrong = call_twice(t, f, order[k], in, out);
  }
  for (int set = 0; set < SETS; set++) {
    for (size_t k = 0; k < t->n_out; k++) {
      gemel_tensor_unref(out[set][k]);
    }
  }
  return wrong;
}

/* The graph with its inputs, its outputs, both or none on the device. */
static int try_places(const trial *t, int inputs, int outputs) {
  gemel_lift_options lift = {.size = sizeof lift,
                             .space = 1,
                             .strategy = GEMEL_LIFT_AGGRESSIVE,
                             .inputs = inputs ? "*" : NULL,
                             .outputs = outputs ? "*" : NULL};
  gemel_options options = {.size = sizeof options, .threads = 1, .as_written = 1};
  gemel_graph *lifted = t->s->there != NULL ? graph_of(gemel_graph_context(t->graph), t->s->there)
                                            : gemel_lift(t->graph, &lift, &error);
  gemel_function *f = lifted != NULL ? gemel_compile(lifted, &options, &error) : NULL;
  gemel_tensor *in[SETS][MOST] = {{NULL}};
  int wrong = f == NULL && find("no function: %s", error.text);
  for (int set = 0; set < SETS; set++) {
    for (size_t k = 0; k < t->n_in; k++) {
      in[set][k] =
          gemel_tensor_transfer(t->values[set][k], inputs ? t->device : gemel_host(), &error);
      wrong |= in[set][k] == NULL && find("an input isn't transferred: %s", error.text);
    }
  }
  wrong = wrong || call_often(t, f, in);
  for (int set = 0; set < SETS; set++) {
    for (size_t k = 0; k < t->n_in; k++) {
      gemel_tensor_unref(in[set][k]);
    }
  }
  gemel_function_free(f);
  gemel_graph_unref(lifted);
  return wrong;
}

static int try_graph(gemel_context *context, const scenario *s, uint64_t seed) {
  trial t = {.s = s, .device = gemel_device_of_space(context, 1)};
  int wrong = 0;
  if (s->no_nvrtc) {
    setenv("GEMEL_SIM_CXX", "/nonexistent", 1);
  }
  if (s->no_cudnn) {
    setenv("GEMEL_SIM_CUDNN", "no", 1);
  }
  begin_trial(&t, context, seed);
  for (int places = 0; places < (s->from_host || s->once ? 1 : 4) && !wrong; places++) {
    wrong = try_places(&t, places & 1, places >> 1);
  }
  end_trial(&t);
  return wrong;
}

/* ---- What a process finds ---- */

static void keep_refuted(void *user, const gemel_record *record) {
  if (record->verdict == GEMEL_VERDICT_REFUTED) {
    *(int *)user = find("%s", record->detail);
  }
}

/* What is refuted needs no further tiers. */
static int is_settled(void *user, const char *doing) {
  (void)doing;
  return *(const int *)user;
}

/* What a run of `gemel verify` says of the operations called NAME; without a fault a few instances
 * will do. */
static int try_verify(gemel_context *context, const char *name, uint64_t seed) {
  static const char bounds[] = "float ";
  int by_bounds = strncmp(name, bounds, strlen(bounds)) == 0, refuted = 0;
  gemel_verify_options options = {.size = sizeof options,
                                  .seed = seed,
                                  .ops = by_bounds ? name + strlen(bounds) : name,
                                  .sink = keep_refuted,
                                  .tick = is_settled,
                                  .user = &refuted};
  options.tiers =
      by_bounds ? 1u << GEMEL_TIER_FLOAT : 1u << GEMEL_TIER_INTEGER | 1u << GEMEL_TIER_SPECIAL;
  options.instances = gemel__fault_active == GEMEL__FAULT_NONE ? 8 : 0;
  return (gemel_verify_operations(context, &options, NULL, &error) != GEMEL_OK &&
          find("an error: %s", error.text)) ||
         refuted;
}

static int try_operation(gemel_context *context, const char *name, uint64_t seed) {
  static const gemel__fill fills[] = {GEMEL__FILL_INTEGERS, GEMEL__FILL_SPECIAL, GEMEL__FILL_NAN};
  const gemel_operation *record = gemel_operation_find(context, name);
  int wrong = 0, compared = 0;
  for (size_t k = 0; k < (is_exact(record) ? CT_COUNT(fills) : 1) && wrong == 0; k++) {
    compared += compare_operation(context, record, fills[k], seed, &wrong);
  }
  return (wrong > 0 && find("a wrong result or error: %s", error.text)) ||
         (compared == 0 && find("nothing was compared%s", ""));
}

#define VERIFY "verify "

static int is_verified(const char *home) {
  return strncmp(home, VERIFY, strlen(VERIFY)) == 0;
}

static const scenario *scenario_of(const char *home) {
  for (size_t k = 0; k < CT_COUNT(scenarios); k++) {
    if (strcmp(scenarios[k].name, home) == 0) {
      return &scenarios[k];
    }
  }
  return NULL;
}

static int left_behind(void) {
  gemel__sim_alive a = gemel__sim_living();
  return a.allocations + a.pinned + a.streams + a.events + a.graphs + a.libraries + a.handles +
             a.programs >
         0;
}

/* A call that is refused memory; 1 unless it says so, and CUDA doesn't. */
static int be_refused(const gemel_cuda *cuda) {
  const gemel_device *device = gemel_cuda_device(cuda);
  void *data = NULL;
  gemel__sim_refuse(0);
  gemel_status status = device->allocate_staging(device->user, 1, &data, &error);
  gemel__sim_refuse(-1);
  return (status != GEMEL_NO_MEMORY && find("memory was there%s", "")) ||
         (cudaGetLastError() != cudaSuccess && find("the application finds CUDA's error%s", ""));
}

/* 1 if anything refutes; FOUND says what. */
static int look(const char *home, uint64_t seed) {
  gemel_context *context = gemel_context_new(&error);
  int current = -1;
  gemel_cuda *cuda = gemel_cuda_open(1, &error); /* while the application is on 0, then on 2 */
  const scenario *s = scenario_of(home);
  int wrong = context == NULL || cuda == NULL ||
              gemel_register_device(context, 1, gemel_cuda_device(cuda), &error) != GEMEL_OK;
  if (wrong) {
    return find("the device can't be opened: %s", error.text);
  }
  gemel__sim_seed(seed);
  cudaSetDevice(2);
  wrong = s != NULL           ? try_graph(context, s, seed)
          : is_verified(home) ? try_verify(context, home + strlen(VERIFY), seed)
                              : try_operation(context, home, seed);
  wrong |= be_refused(cuda);
  gemel_context_unref(context);
  gemel_cuda_close(cuda);
  if (gemel__sim_reports() > 0) {
    found[0] = '\0'; /* errors follow from it */
    wrong = find("%s", gemel__sim_report(0));
  }
  gemel__sim_forget();
  if (cudaGetDevice(&current) != cudaSuccess || current != 2) {
    wrong = find("another GPU is the current one%s", "");
  }
  return wrong || (left_behind() && find("something is left behind%s", ""));
}

/* The same in a process of its own with fault ID; 1 if something refutes, which WHAT says. */
static int look_apart(int id, const char *home, uint64_t seed, char *what, size_t bytes) {
  int ends[2], status = 0;
  CT_CHECK(pipe(ends) == 0);
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    alarm(SECONDS);
    gemel__sim_quiet(1);
    gemel__fault_active = id;
    int wrong = look(home, seed);
    ssize_t written = write(ends[1], found, strlen(found));
    _exit(wrong ? 1 : written > 0);
  }
  close(ends[1]);
  ssize_t n = read(ends[0], what, bytes - 1);
  what[n > 0 ? n : 0] = '\0';
  close(ends[0]);
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (status != 0 && n <= 0) {
    snprintf(what, bytes, "the process ends, %s %d", WIFSIGNALED(status) ? "signal" : "status",
             WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
  }
  return status != 0;
}

/* ---- Tests ---- */

static size_t tried, refuted;

/* All seeds must refute; a fault that isn't left to `gemel verify` may go unseen once, and is then
 * tried for five. */
static void refutes(const void *data) {
  int id = (int)(intptr_t)data;
  const char *home = gemel__fault_where(id);
  uint64_t n = ct_seeds("GEMEL_FAULT_SEEDS", SEEDS), seen = 0;
  char what[1200], first[1200] = "nothing";
  for (uint64_t seed = 1; seed <= n; seed++) {
    int wrong = look_apart(id, home, seed, what, sizeof what);
    if (wrong && seen++ == 0) {
      memcpy(first, what, sizeof first);
    }
    if (!wrong && !is_verified(home) && n < OF) {
      n = OF;
    }
  }
  ct_context("%s (%s): %s", gemel__fault_name(id), gemel__fault_what(id), home);
  int enough = CT_CHECK(seen * OF >= n * (is_verified(home) ? OF : NEEDED));
  printf("  %s, %llu of %llu: %s\n", gemel__fault_name(id), (unsigned long long)seen,
         (unsigned long long)n, first);
  tried++;
  refuted += (size_t)enough;
}

/* Without a fault nothing refutes. */
static void none_is_good(const void *data) {
  const char *home = data;
  char what[1200];
  for (uint64_t seed = 1; seed <= ct_seeds("GEMEL_FAULT_SEEDS", SEEDS); seed++) {
    int wrong = look_apart(GEMEL__FAULT_NONE, home, seed, what, sizeof what);
    ct_context("%s, seed %llu: %s", home, (unsigned long long)seed, what);
    CT_EQ_INT(wrong, 0);
  }
}

static void summary(const void *data) {
  (void)data;
  printf("%zu of %zu planted faults refuted\n", refuted, tried);
  CT_EQ_UINT(refuted, tried);
}

static const int faults[] = {
#define FAULT(name, what, where)
#define GPU_FAULT(name, what, where) GEMEL__FAULT_##name,
#include "support/fault.def"
#undef FAULT
};

void ct_register(void) {
  static const ct_test last[] = {CT_TEST("summary", summary, NULL)};
  setenv("GEMEL_CACHE", ct_scratch(), 1);
  gemel__sim_devices(3);
  for (size_t k = 0; k < CT_COUNT(scenarios); k++) {
    CT_ADD_TO("gpu_faults", "none/", scenarios[k].name, none_is_good, scenarios[k].name);
  }
  for (size_t k = 0; k < CT_COUNT(faults); k++) {
    const char *home = gemel__fault_where(faults[k]);
    size_t j = 0;
    while (strcmp(gemel__fault_where(faults[j]), home) != 0) {
      j++;
    }
    if (j == k && scenario_of(home) == NULL) {
      CT_ADD_TO("gpu_faults", "none/", home, none_is_good, home);
    }
    CT_ADD("gpu_faults", gemel__fault_name(faults[k]), refutes, (const void *)(intptr_t)faults[k]);
  }
  ct_suite("gpu_faults", last, CT_COUNT(last));
}
