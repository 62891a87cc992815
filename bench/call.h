/* SPDX-License-Identifier: MIT
 *
 * A compiled function with its operands, ready to be called again and again.
 */
#ifndef GEMEL__BENCH_CALL_H
#define GEMEL__BENCH_CALL_H

#include "bench.h"

enum { GEMEL__CALL_INPUTS = 256, GEMEL__CALL_OUTPUTS = GEMEL__CALL_INPUTS };

typedef struct gemel__call {
  gemel_function *function;
  gemel_tensor *inputs[GEMEL__CALL_INPUTS];
  gemel_shared *states[GEMEL__CALL_INPUTS];
  gemel_tensor *outputs[GEMEL__CALL_OUTPUTS];
  size_t n_inputs, n_states;  /* the inputs that are no states, and these */
  int repeat;                 /* calls that gemel__call_run makes */
  const gemel_device *device; /* of b->space, for which calls don't wait */
  gemel_status status;
  gemel_error error;
} gemel__call;

/* Compiles the graph in TEXT, as it is written or (REWRITE) rewritten first, for b->threads. States
 * are shared variables. Sizes: E
 * elements of a big vector, which as a matrix has R rows of C (a power of two near the root of E),
 * S rows of a square matrix, T (a power of two) along each of three axes of that many elements.
 * Inputs are filled with random numbers in [0.5, 1); others than floats are zeros. With b->space a
 * device's, all is done there, and inputs and outputs lie there too unless b->on_host. Calls it
 * once, which makes the plan and the outputs. GEMEL__BAD (said under NAME). Release with
 * gemel__call_clear in any case. */
int gemel__call_open(gemel__call *call, const gemel__bench *b, gemel_context *context,
                     const char *name, const char *text, int rewrite);
/* The same of GRAPH, with at most GEMEL__CALL_INPUTS inputs and as many outputs, rewritten first.
 */
int gemel__call_open_graph(gemel__call *call, const gemel__bench *b, const gemel_graph *graph,
                           const char *name);

void gemel__call_clear(gemel__call *call);

/* Calls it call->repeat times: the RUN of a contender. An error stays in the struct. */
void gemel__call_run(void *call);

/* The same, and waits for the device. */
void gemel__call_complete(void *call);

/* GEMEL__BAD (said under NAME) if a call failed. */
int gemel__call_check(const gemel__call *call, const char *name);

#endif
