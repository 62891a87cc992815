/* SPDX-License-Identifier: MIT
 *
 * A compiled function with its operands; see call.h.
 */
#include "call.h"

#include <string.h>

/* ---- Operands ---- */

static int64_t columns(const gemel__bench *b) {
  int64_t c = 1;
  if (b->columns > 0) {
    return (int64_t)b->columns;
  }
  while (4 * c * c <= (int64_t)b->elements) {
    c *= 2;
  }
  return c;
}

static int64_t cube(const gemel__bench *b) {
  int64_t t = 1;
  while (8 * t * t * t <= (int64_t)b->elements) {
    t *= 2;
  }
  return t;
}

/* The size that DIM, a constant or one of the letters of call.h, stands for; -1 for others. */
static int64_t size_of(const gemel__bench *b, gemel_context *context, gemel_dim dim) {
  char text[32];
  int64_t value;
  if (gemel_dim_is_constant(context, dim, &value)) {
    return value;
  }
  gemel_dim_format(context, dim, text, sizeof text);
  return text[1] != '\0'  ? -1
         : text[0] == 'E' ? (int64_t)b->elements
         : text[0] == 'C' ? columns(b)
         : text[0] == 'R' ? (int64_t)b->elements / columns(b)
         : text[0] == 'S' ? (int64_t)b->matrix
         : text[0] == 'T' ? cube(b)
                          : -1;
}

/* Random numbers in [0.5, 1), which no chain of a few operations takes to infinity or below the
 * normal numbers: those would cost time of their own. */
static void fill(gemel_tensor *tensor, uint64_t seed) {
  int64_t n = gemel_tensor_elements(tensor), k;
  float *f = gemel_tensor_data(tensor);
  double *d = gemel_tensor_data(tensor);
  uint16_t *h = gemel_tensor_data(tensor);
  for (k = 0; k < n; k++) {
    double u;
    seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
    u = 0.5 + (double)(seed >> 40) * 0x1p-25;
    if (gemel_tensor_dtype(tensor) == GEMEL_F32) {
      f[k] = (float)u;
    } else if (gemel_tensor_dtype(tensor) == GEMEL_F64) {
      d[k] = u;
    } else if (gemel_tensor_dtype(tensor) == GEMEL_F16) {
      h[k] = (uint16_t)(0x3800 | seed >> 54); /* the exponent of [0.5, 1), ten random digits */
    } else if (gemel_tensor_dtype(tensor) == GEMEL_BF16) {
      h[k] = (uint16_t)(0x3f00 | seed >> 57); /* and seven */
    }                                         /* others stay 0 */
  }
}

static gemel_tensor *make_operand(const gemel__bench *b, gemel_context *context, gemel_type type,
                                  uint64_t seed, gemel_error *error) {
  int64_t shape[GEMEL_MAX_RANK];
  int rank = gemel_type_rank(context, type), k;
  gemel_tensor *tensor;
  for (k = 0; k < rank; k++) {
    shape[k] = size_of(b, context, gemel_type_dims(context, type)[k]);
    if (shape[k] < 0) {
      char size[100];
      gemel_dim_format(context, gemel_type_dims(context, type)[k], size, sizeof size);
      error->status = GEMEL_BAD_SHAPE;
      snprintf(error->text, sizeof error->text,
               "an input has an axis of size %s: give a number, or E, R, C, S or T", size);
      return NULL;
    }
  }
  tensor = gemel_tensor_new(gemel_type_dtype(context, type), rank, shape, error);
  if (tensor != NULL) {
    fill(tensor, seed);
  }
  return tensor;
}

/* ---- The call ---- */

/* Binds OPERAND, which it takes, to INPUT: as a shared variable, which moves to the device by
 * itself, or as an argument. */
static gemel_status bind(gemel__call *call, gemel_value input, gemel_tensor *operand, int there) {
  if (gemel_is_state(input)) {
    gemel_shared *state = gemel_shared_new(operand, &call->error);
    gemel_tensor_unref(operand);
    call->states[call->n_states++] = state;
    return state != NULL ? GEMEL_OK : call->error.status;
  }
  if (there) {
    gemel_tensor *moved = gemel_tensor_transfer(operand, call->device, &call->error);
    gemel_tensor_unref(operand);
    operand = moved;
  }
  call->inputs[call->n_inputs++] = operand;
  return operand != NULL ? GEMEL_OK : call->error.status;
}

static gemel_status bind_all(gemel__call *call, const gemel__bench *b, const gemel_graph *graph,
                             int there) {
  gemel_status status = GEMEL_OK;
  for (size_t k = 0; k < gemel_graph_input_count(graph) && status == GEMEL_OK; k++) {
    gemel_value input = gemel_graph_input(graph, k);
    gemel_tensor *operand = make_operand(b, gemel_graph_context(graph), gemel_value_type(input),
                                         b->seed + k, &call->error);
    status = operand != NULL ? bind(call, input, operand, there) : call->error.status;
  }
  return status;
}

static gemel_status prepare(gemel__call *call, const gemel__bench *b, const gemel_graph *graph,
                            int rewrite) {
  int lifted = b->space != GEMEL_SPACE_HOST, there = lifted && !b->on_host;
  gemel_lift_options lift = {.size = sizeof lift,
                             .space = b->space,
                             .states = 1,
                             .inputs = there ? "*" : NULL,
                             .outputs = there ? "*" : NULL};
  gemel_options options = {.size = sizeof options,
                           .threads = b->threads,
                           .as_written = !rewrite,
                           .autotune = b->autotune,
                           .states = call->states,
                           .lift = lifted ? &lift : NULL};
  call->device = lifted ? gemel_device_of_space(gemel_graph_context(graph), b->space) : NULL;
  gemel_status status = bind_all(call, b, graph, there);
  if (status != GEMEL_OK) {
    return status;
  }
  options.n_states = call->n_states;
  call->function = gemel_compile(graph, &options, &call->error);
  if (call->function == NULL) {
    return call->error.status;
  }
  return gemel_call(call->function, call->n_inputs, call->inputs,
                    gemel_function_output_count(call->function), call->outputs, &call->error);
}

int gemel__call_open(gemel__call *call, const gemel__bench *b, gemel_context *context,
                     const char *name, const char *text, int rewrite) {
  gemel_graph *graph;
  memset(call, 0, sizeof *call);
  call->repeat = 1;
  graph = gemel_parse(context, text, strlen(text), name, NULL, &call->error);
  call->status = graph != NULL ? prepare(call, b, graph, rewrite) : call->error.status;
  gemel_graph_unref(graph);
  return gemel__call_check(call, name);
}

int gemel__call_open_graph(gemel__call *call, const gemel__bench *b, const gemel_graph *graph,
                           const char *name) {
  memset(call, 0, sizeof *call);
  call->repeat = 1;
  int fits = gemel_graph_input_count(graph) <= GEMEL__CALL_INPUTS &&
             gemel_graph_output_count(graph) <= GEMEL__CALL_OUTPUTS;
  call->status = fits ? prepare(call, b, graph, 1) : GEMEL_UNSUPPORTED;
  if (!fits) {
    snprintf(call->error.text, sizeof call->error.text, "more than %d inputs or outputs",
             GEMEL__CALL_INPUTS);
  }
  return gemel__call_check(call, name);
}

void gemel__call_clear(gemel__call *call) {
  gemel_function_free(call->function);
  for (size_t k = 0; k < call->n_inputs; k++) {
    gemel_tensor_unref(call->inputs[k]);
  }
  for (size_t k = 0; k < call->n_states; k++) {
    gemel_shared_unref(call->states[k]);
  }
  for (size_t k = 0; k < GEMEL__CALL_OUTPUTS; k++) {
    gemel_tensor_unref(call->outputs[k]);
  }
}

void gemel__call_run(void *state) {
  gemel__call *call = state;
  for (int k = 0; k < call->repeat && call->status == GEMEL_OK; k++) {
    call->status =
        gemel_call(call->function, call->n_inputs, call->inputs,
                   gemel_function_output_count(call->function), call->outputs, &call->error);
  }
}

void gemel__call_complete(void *state) {
  gemel__call *call = state;
  gemel__call_run(call);
  if (call->status == GEMEL_OK && call->device != NULL) {
    call->status = call->device->synchronize(call->device->user, &call->error);
  }
}

int gemel__call_check(const gemel__call *call, const char *name) {
  return call->status == GEMEL_OK ? GEMEL__GOOD : gemel__complain_error(name, &call->error);
}
