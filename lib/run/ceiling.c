/* SPDX-License-Identifier: MIT
 *
 * How fast this machine is at its best: the speed of a copy between blocks too large for a cache,
 * and of a product of matrices that stays in one, as gemel itself does them with so many threads.
 * Measured when it is first asked for, and kept for the process.
 */
#include <string.h>
#include "core/alloc.h"
#include "run/record.h"

enum { COPY_BYTES = 64 << 20, LARGEST_SIDE = 1024, ROUNDS = 4 };
#define LONG_ENOUGH 3e-3

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static gemel__ceiling known; /* of known.threads threads; 0: not measured */

/* The best of some copies of COPY_BYTES, in bytes a second; 0 when memory is out. */
static double measure_copy(int threads) {
  int64_t shape = COPY_BYTES / 4, stride = 4;
  char *from = gemel__alloc(COPY_BYTES), *to = gemel__alloc(COPY_BYTES);
  gemel_view a = {GEMEL_F32, 1, &shape, &stride, from}, b = {GEMEL_F32, 1, &shape, &stride, to};
  double best = 0;
  if (from != NULL && to != NULL) {
    memset(from, 0, COPY_BYTES);
    for (int k = 0; k < ROUNDS; k++) {
      double start = gemel__seconds();
      gemel__host_device.copy(gemel__host_device.user, &b, &a, threads, NULL);
      double speed = 2.0 * COPY_BYTES / (gemel__seconds() - start);
      best = speed > best ? speed : best;
    }
  }
  gemel__free(from, COPY_BYTES);
  gemel__free(to, COPY_BYTES);
  return best;
}

/* Flops a second of the best of some calls of F, a product, on square matrices of SIDE rows; 0 when
 * memory is out. *SECONDS is what it took. */
static double measure_calls(gemel_function *f, gemel_dtype dtype, int64_t side, double *seconds) {
  gemel_tensor *x = gemel_tensor_new(dtype, 2, (const int64_t[]){side, side}, NULL), *y = NULL;
  gemel_tensor *inputs[] = {x, x};
  double least = 0;
  for (int k = 0; x != NULL && k < ROUNDS; k++) {
    double start = gemel__seconds();
    if (gemel_call(f, 2, inputs, 1, &y, NULL) != GEMEL_OK) {
      break;
    }
    double took = gemel__seconds() - start;
    least = k == 0 || took < least ? took : least;
  }
  gemel_tensor_unref(x);
  gemel_tensor_unref(y);
  *seconds = least;
  return least > 0 ? 2.0 * (double)side * (double)side * (double)side / least : 0;
}

/* The best of products of larger and larger matrices, until one takes LONG_ENOUGH. */
static double measure_sides(gemel_function *f, gemel_dtype dtype) {
  double best = 0, seconds = 0;
  for (int64_t side = 64; side <= LARGEST_SIDE && seconds < LONG_ENOUGH; side *= 2) {
    double speed = measure_calls(f, dtype, side, &seconds);
    best = speed > best ? speed : best;
  }
  return best;
}

static double measure_product(gemel_context *context, gemel_dtype dtype, int threads) {
  gemel_options options = {.size = sizeof options, .threads = threads, .as_written = 1};
  gemel_graph *graph = gemel_graph_new(context, NULL);
  gemel_dim size = gemel_dim_symbol(context, "N"), dims[] = {size, size};
  gemel_type type = gemel_type_new(context, dtype, 2, dims, GEMEL_SPACE_HOST);
  gemel_value operands[] = {gemel_input(graph, "x", type), gemel_input(graph, "y", type)};
  gemel_output(gemel_apply(graph, "dot", 2, operands, 0, NULL), "z");
  gemel_function *f = gemel_compile(graph, &options, NULL);
  double speed = f != NULL ? measure_sides(f, dtype) : 0;
  gemel_function_free(f);
  gemel_graph_unref(graph);
  return speed;
}

gemel__ceiling gemel__ceiling_of(gemel_context *context, int threads) {
  pthread_mutex_lock(&lock);
  if (known.threads != threads) {
    known.copy = measure_copy(threads);
    known.f32 = measure_product(context, GEMEL_F32, threads);
    known.f64 = measure_product(context, GEMEL_F64, threads);
    /* what there was no memory for is measured again */
    known.threads = known.copy > 0 && known.f32 > 0 && known.f64 > 0 ? threads : 0;
  }
  gemel__ceiling result = known;
  pthread_mutex_unlock(&lock);
  return result;
}
