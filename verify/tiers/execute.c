/* SPDX-License-Identifier: MIT
 *
 * Runs the library in its variants. Each call gets copies of the inputs, which must not change. In
 * the variant with odd layouts, results lie between guard bytes, which are compared afterwards, so
 * a write outside a result is found. In another variant results overlap inputs, which the library
 * must notice. States are bound to shared variables, and the function is called as often as the
 * instance says; a value that was fetched from a state before must not change. Some instances are
 * also run in a sequence of calls (sequence.c). A program's own kernel is run by tiers/kernel.c.
 */
#include <stdio.h>
#include <string.h>
#include "core/alloc.h"
#include "core/error.h"
#include "core/graph.h"
#include "core/tensor.h"
#include "device/device.h"
#include "tiers/tiers.h"

/* The numbers of threads are fixed, so that a run doesn't depend on the machine. The first two
 * variants can be compiled once for many runs (gemel__instance_compile). */
const gemel__variant gemel__variants[] = {
    {.name = "fused", .threads = 3, .poison = 1},
    {.name = "plain", .threads = 1, .plain = 1},
    {.name = "one thread", .threads = 1, .overlaps = 1},
    {.name = "odd layout", .threads = 2, .poison = 1, .scattered = 1},
    {.name = "some results", .threads = 1, .poison = 1, .some = 1},
    {.name = "sequence of calls", .threads = 2, .sequence = 1},
    /* one_in: compiling kernels for a device takes long */
    {.name = "device", .threads = 1, .lifted = 1 + GEMEL_LIFT_AGGRESSIVE, .one_in = 8},
    {.name = "device, plain",
     .threads = 1,
     .plain = 1,
     .lifted = 1 + GEMEL_LIFT_AGGRESSIVE,
     .one_in = 4},
    {.name = "device, odd layout",
     .threads = 1,
     .lifted = 1 + GEMEL_LIFT_AGGRESSIVE,
     .in_views = 1,
     .one_in = 1},
    {.name = NULL}};

const gemel__variant gemel__few_variants[] = {
    {.name = "fused", .threads = 3, .poison = 1},
    {.name = "plain", .threads = 1, .plain = 1},
    {.name = "odd layout", .threads = 2, .poison = 1, .scattered = 1},
    {.name = NULL}};

const gemel__variant gemel__repeated_variants[] = {
    {.name = "one thread", .threads = 1},
    {.name = "fused", .threads = 3, .poison = 1},
    {.name = "fused, again", .threads = 3, .poison = 1},
    {.name = "fused, a third time", .threads = 3, .poison = 1},
    {.name = "fused, a fourth time", .threads = 2, .poison = 1},
    {.name = NULL}};

/* With GEMEL_LIFT_CHEAPEST small values stay on the host unless they lie on the device already. */
const gemel__variant gemel__lifted_variants[] = {
    {.name = "fused", .threads = 1},
    {.name = "device", .threads = 1, .lifted = 1 + GEMEL_LIFT_AGGRESSIVE, .one_in = 1},
    {.name = "device, cheapest",
     .threads = 1,
     .lifted = 1 + GEMEL_LIFT_CHEAPEST,
     .there = 1,
     .one_in = 1},
    {.name = "device, plain",
     .threads = 1,
     .plain = 1,
     .lifted = 1 + GEMEL_LIFT_AGGRESSIVE,
     .there = 1,
     .one_in = 2},
    {.name = NULL}};

/* A simulated device that checks every access takes a microsecond per element. Instances of
 * MANY_ELEMENTS are run on it OF_MANY times less often. */
enum { MANY_ELEMENTS = 10000, OF_MANY = 8 };

/* Instances with bodies are run on a device OF_BODIES times less often: each has kernels of its
 * own, which must be compiled. */
enum { OF_BODIES = 4 };

static int has_many(const gemel__instance *instance) {
  size_t k = 0;
  while (k < instance->n_leaves && instance->leaves[k].count < MANY_ELEMENTS) {
    k++;
  }
  return k < instance->n_leaves;
}

/* 1 if a node of GRAPH has a body. */
static int has_bodies(const gemel_graph *graph) {
  uint32_t node = 0;
  while (node < graph->n_nodes &&
         gemel__attrs_at(graph->context, graph->nodes[node].attrs)->nesting == 0) {
    node++;
  }
  return node < graph->n_nodes;
}

/* 1 if at most one node of GRAPH computes anything. A kernel would have to be compiled for a graph
 * of several. */
static int is_one_operation(const gemel_graph *graph) {
  size_t computing = 0;
  for (uint32_t node = 0; node < graph->n_nodes; node++) {
    const gemel_operation *op = &gemel__node_op(graph, node)->record;
    computing += op->max_inputs != 0 && !(op->flags & GEMEL_OP_VIEW);
  }
  return computing <= 1;
}

int gemel__has_device(gemel_context *context) {
  return gemel_device_of_space(context, GEMEL__DEVICE_SPACE) != NULL;
}

/* 1 if an operation of INSTANCE spares results that nobody reads, and the graph has more than one.
 */
static int spares_unread(const gemel__instance *instance) {
  const gemel_graph *graph = instance->graph;
  uint32_t node = 0;
  while (node < graph->n_nodes &&
         !(gemel__node_op(graph, node)->record.flags & GEMEL_OP_SPARES_UNREAD)) {
    node++;
  }
  return node < graph->n_nodes && instance->calls == 0 && gemel_graph_output_count(graph) > 1;
}

int gemel__variant_runs(const gemel__instance *instance, const gemel__variant *variant,
                        gemel__random *random) {
  if (variant->some) {
    return spares_unread(instance);
  }
  int compiles = !variant->plain && !variant->in_views && has_bodies(instance->graph);
  int one_in = variant->one_in * (has_many(instance) ? OF_MANY : 1) * (compiles ? OF_BODIES : 1);
  gemel_context *context = gemel_graph_context(instance->graph);
  return (!variant->sequence || instance->in_sequence) &&
         (!variant->lifted || (gemel__has_device(context) &&
                               (!variant->in_views || is_one_operation(instance->graph)) &&
                               gemel__random_chance(random, 1, (uint64_t)one_in)));
}

/* ---- Guarded results ---- */

#define GUARD_BYTE 0xA5

struct guarded {
  void *block;
  size_t bytes;
  gemel_tensor *tensor;
};

static void release_block(void *user) {
  struct guarded *g = user;
  gemel__free(g->block, g->bytes);
  gemel__free(g, sizeof *g);
}

/* A tensor of TYPE in column-major order with a gap after each element and guards around it. */
static gemel_tensor *guarded_tensor(const gemel__leaf *type, gemel_error *error) {
  size_t size = gemel_dtype_size(type->dtype);
  int64_t strides[GEMEL_MAX_RANK];
  size_t step = 2 * size;
  struct guarded *g = gemel__alloc_zeroed(sizeof *g);
  for (int k = 0; k < type->rank; k++) {
    strides[k] = (int64_t)step;
    step *= (size_t)(type->shape[k] > 0 ? type->shape[k] : 1);
  }
  if (g == NULL || (g->block = gemel__alloc(g->bytes = step + 128)) == NULL) {
    gemel__free(g, sizeof *g);
    gemel__no_memory(error, "a guarded result");
    return NULL;
  }
  memset(g->block, GUARD_BYTE, g->bytes);
  g->tensor = gemel_tensor_wrap(type->dtype, type->rank, type->shape, strides,
                                (char *)g->block + 64, release_block, g, error);
  if (g->tensor == NULL) {
    release_block(g);
    return NULL;
  }
  return g->tensor;
}

static int untouched(const unsigned char *bytes, size_t count) {
  size_t k = 0;
  while (k < count && bytes[k] == GUARD_BYTE) {
    k++;
  }
  return k == count;
}

/* 1 if every byte outside the elements is still the guard byte. Elements stand at every second
 * place. */
static int guards_hold(gemel_tensor *tensor) {
  gemel_view v = gemel_tensor_view(tensor);
  const unsigned char *data = v.data;
  size_t size = gemel_dtype_size(v.dtype);
  size_t count = (size_t)gemel_tensor_elements(tensor), k;
  int hold = untouched(data - 64, 64);
  for (k = 0; k < count && hold; k++) {
    hold = untouched(data + (2 * k + 1) * size, size);
  }
  return hold && (count > 0 || untouched(data, 2 * size)) &&
         untouched(data + 2 * size * (count > 0 ? count : 1), 64);
}

/* A tensor for a result, filled with NaN (floats), so that elements which the library doesn't write
 * show. */
static gemel_tensor *filled_tensor(const gemel__leaf *type, gemel_error *error) {
  gemel_tensor *t = gemel_tensor_new(type->dtype, type->rank, type->shape, error);
  if (t != NULL) {
    memset(gemel_tensor_data(t), type->dtype == GEMEL_BOOL ? 1 : 0xff,
           type->count * gemel_dtype_size(type->dtype));
  }
  return t;
}

/* ---- Results that overlap an input ---- */

struct shared_block {
  char *data;
  size_t bytes;
  int users;
};

static void leave_block(void *user) {
  struct shared_block *b = user;
  if (--b->users == 0) {
    gemel__free(b->data, b->bytes);
    gemel__free(b, sizeof *b);
  }
}

static gemel_tensor *in_block(struct shared_block *b, const gemel__leaf *type, size_t offset,
                              gemel_error *error) {
  int64_t strides[GEMEL_MAX_RANK], step = (int64_t)gemel_dtype_size(type->dtype);
  for (int k = type->rank; k-- > 0; step *= type->shape[k]) {
    strides[k] = step;
  }
  b->users++;
  gemel_tensor *t = gemel_tensor_wrap(type->dtype, type->rank, type->shape, strides,
                                      b->data + offset, leave_block, b, error);
  if (t == NULL) {
    leave_block(b);
  }
  return t;
}

static size_t bytes_of(const gemel__leaf *type) {
  return type->count * gemel_dtype_size(type->dtype);
}

/* *INPUT = a copy of VALUE and *OUTPUT = a tensor for a result, in overlapping memory: at the same
 * place, or one somewhere inside the other. */
static gemel_status overlapping(const gemel__leaf *in, const gemel_tensor *value,
                                const gemel__leaf *out, gemel__random *random, gemel_tensor **input,
                                gemel_tensor **output, gemel_error *error) {
  int out_first = gemel__random_chance(random, 1, 2);
  const gemel__leaf *first = out_first ? out : in, *second = out_first ? in : out;
  size_t step = gemel_dtype_size(second->dtype);
  size_t places = (bytes_of(first) + step - 1) / step;
  size_t shift =
      gemel__random_chance(random, 1, 3) ? 0 : gemel__random_below(random, places) * step;
  struct shared_block *b = gemel__alloc_zeroed(sizeof *b);
  if (b == NULL || (b->data = gemel__alloc(b->bytes = bytes_of(in) + bytes_of(out))) == NULL) {
    gemel__free(b, sizeof *b);
    return gemel__no_memory(error, "a result");
  }
  b->users = 1;
  *input = in_block(b, in, out_first ? shift : 0, error);
  *output = *input != NULL ? in_block(b, out, out_first ? 0 : shift, error) : NULL;
  if (*output != NULL) {
    memset(b->data, 0xff, b->bytes);
    memcpy(gemel_tensor_data(*input), gemel_tensor_data(value), bytes_of(in));
  }
  leave_block(b);
  return *output != NULL ? GEMEL_OK : GEMEL_NO_MEMORY;
}

/* ---- The library ---- */

/* A compiled function and the tensors of its calls. INPUTS and OUTPUTS leave out states and
 * updates. */
struct session {
  const gemel__instance *instance;
  const gemel__variant *variant;
  gemel__random *random;
  gemel_function *function;
  int borrowed; /* 1: FUNCTION belongs to the instance */
  size_t n_in, n_out, n_states, n_calls;
  gemel_shared **states; /* in the order of the inputs */
  /* of the current call; those of earlier calls are kept and overwritten */
  gemel_tensor **inputs;
  gemel_tensor **outputs; /* of a call */
  gemel_tensor **all_inputs;
  gemel_tensor **guarded;         /* the results between guard bytes */
  const gemel_tensor *spoilt;     /* the input that a result overlaps, and so changes */
  gemel_tensor *held, *as_it_was; /* a state's value before the first call, and a copy */
};

static int is_state(const struct session *s, size_t k) {
  return s->instance->calls > 0 && gemel_is_state(gemel_graph_input(s->instance->graph, k));
}

/* Which of the states output K updates; −1: it is no update. */
static long updated(const struct session *s, size_t k) {
  const gemel_graph *graph = s->instance->graph;
  long input = s->instance->calls > 0
                   ? gemel__state_called(graph, gemel_graph_output_name(graph, k))
                   : -1,
       state = 0;
  for (long j = 0; j < input; j++) {
    state += is_state(s, (size_t)j);
  }
  return input < 0 ? -1 : state;
}

gemel_function *gemel__variant_compile(const gemel__variant *variant, const gemel_graph *graph,
                                       size_t n, gemel_shared *const *variables,
                                       gemel_error *error) {
  gemel_options options = {.size = sizeof options,
                           .threads = variant->threads,
                           .plain = variant->plain || (variant->in_views && has_bodies(graph)),
                           .poison = variant->poison,
                           .as_written = 1,
                           .most_steps = GEMEL__MOST_STEPS,
                           .states = n > 0 ? variables : NULL,
                           .n_states = n};
  gemel_lift_options lift = {.size = sizeof lift,
                             .space = GEMEL__DEVICE_SPACE,
                             .strategy = (gemel_lift_strategy)(variant->lifted - 1),
                             .inputs =
                                 variant->there && gemel_graph_input_count(graph) > n ? "*" : NULL,
                             .states = 1};
  options.lift = variant->lifted ? &lift : NULL;
  return gemel_compile(graph, &options, error);
}

static gemel_function *compile(const struct session *s, gemel_error *error) {
  return gemel__variant_compile(s->variant, s->instance->graph, s->n_states, s->states, error);
}

void gemel__instance_compile(gemel__instance *instance, int plain) {
  struct session s = {.instance = instance, .variant = &gemel__variants[plain != 0]};
  gemel_function **function = plain ? &instance->compiled_plain : &instance->compiled;
  if (*function == NULL && instance->calls == 0) {
    *function = compile(&s, NULL);
  }
}

/* The function that was compiled for VARIANT beforehand, or NULL. */
static gemel_function *ready(const gemel__instance *instance, const gemel__variant *variant) {
  return variant == &gemel__variants[0]   ? instance->compiled
         : variant == &gemel__variants[1] ? instance->compiled_plain
                                          : NULL;
}

static gemel_status make_states(struct session *s, gemel_tensor *const *values,
                                gemel_error *error) {
  for (size_t k = 0; k < s->n_in; k++) {
    if (is_state(s, k)) {
      gemel_shared *made = gemel_shared_new(values[k], error);
      if (made == NULL) {
        return GEMEL_NO_MEMORY;
      }
      s->states[s->n_states++] = made;
    }
  }
  if (s->n_states > 0 && gemel__random_chance(s->random, 1, 2)) {
    s->held = gemel_shared_get(s->states[gemel__random_below(s->random, s->n_states)]);
    s->as_it_was = gemel__tensor_clone(s->held, error);
    return s->as_it_was != NULL ? GEMEL_OK : GEMEL_NO_MEMORY;
  }
  return GEMEL_OK;
}

static gemel_status open_session(struct session *s, gemel_tensor *const *values,
                                 gemel_error *error) {
  gemel_error problem = {GEMEL_OK, 0, 0, ""};
  s->states = gemel__alloc_array(s->n_in, sizeof *s->states);
  s->outputs = gemel__alloc_array(2 * s->n_out, sizeof *s->outputs);
  s->all_inputs = gemel__alloc_array(s->n_calls * s->n_in, sizeof *s->all_inputs);
  if (s->states == NULL || s->outputs == NULL || s->all_inputs == NULL) {
    return gemel__no_memory(error, "a run");
  }
  s->inputs = s->all_inputs;
  s->guarded = s->outputs + s->n_out;
  GEMEL__TRY(make_states(s, values, error));
  s->function = ready(s->instance, s->variant);
  s->borrowed = s->function != NULL;
  s->function = s->borrowed ? s->function : compile(s, &problem);
  if (s->function == NULL && error != NULL) {
    *error = problem;
  }
  return s->function == NULL ? problem.status : GEMEL_OK;
}

static void close_session(struct session *s) {
  if (!s->borrowed) {
    gemel_function_free(s->function);
  }
  for (size_t k = 0; k < s->n_states; k++) {
    gemel_shared_unref(s->states[k]);
  }
  gemel_tensor_unref(s->held);
  gemel_tensor_unref(s->as_it_was);
  gemel__free(s->states, s->n_in * sizeof *s->states);
  gemel__free(s->outputs, 2 * s->n_out * sizeof *s->outputs);
  gemel__tensors_free(s->n_calls * s->n_in, s->all_inputs);
}

/* ---- One call ---- */

/* Puts an input and a result into overlapping memory, if there are two with elements. */
static gemel_status overlap_some(struct session *s, gemel_tensor *const *values,
                                 gemel_error *error) {
  gemel__leaf type;
  size_t in = 0, out = 0, input = 0, output = 0;
  while (in < s->n_in && (is_state(s, in) || s->instance->leaves[in].count == 0)) {
    input += !is_state(s, in++);
  }
  while (out < s->n_out &&
         (updated(s, out) >= 0 ||
          gemel__leaf_of_output(s->instance->graph, out, &type) != GEMEL_OK || type.count == 0)) {
    output += updated(s, out++) < 0;
  }
  if (in == s->n_in || out == s->n_out || gemel__random_chance(s->random, 1, 2)) {
    return GEMEL_OK;
  }
  gemel_status status = overlapping(&s->instance->leaves[in], values[in], &type, s->random,
                                    &s->inputs[input], &s->outputs[output], error);
  s->spoilt = s->inputs[input];
  return status;
}

/* A copy of VALUE, in the variant's layout, for the function to read. */
static gemel_tensor *input_for(const struct session *s, const gemel_tensor *value,
                               gemel_error *error) {
  if (s->variant->there) {
    gemel_context *context = gemel_graph_context(s->instance->graph);
    return gemel_tensor_transfer(value, gemel_device_of_space(context, GEMEL__DEVICE_SPACE), error);
  }
  return s->variant->scattered ? gemel__tensor_scattered(value, s->random, error)
                               : gemel__tensor_clone(value, error);
}

static gemel_status give_inputs(struct session *s, gemel_tensor *const *values,
                                gemel_error *error) {
  for (size_t k = 0, next = 0; k < s->n_in; k++) {
    if (is_state(s, k)) {
      continue;
    }
    if (s->inputs[next] == NULL) {
      s->inputs[next] = input_for(s, values[k], error);
    }
    if (s->inputs[next++] == NULL) {
      return GEMEL_NO_MEMORY;
    }
  }
  return GEMEL_OK;
}

static gemel_status give_outputs(struct session *s, gemel_error *error) {
  for (size_t k = 0, next = 0; k < s->n_out && !s->variant->plain; k++) {
    gemel__leaf type;
    if (updated(s, k) >= 0) {
      continue;
    }
    /* a size known at run time only: the library allocates the result */
    if (s->outputs[next] == NULL &&
        gemel__leaf_of_output(s->instance->graph, k, &type) == GEMEL_OK) {
      s->outputs[next] =
          s->variant->scattered ? guarded_tensor(&type, error) : filled_tensor(&type, error);
      s->guarded[next] = s->variant->scattered ? s->outputs[next] : NULL;
      if (s->outputs[next] == NULL) {
        return GEMEL_NO_MEMORY;
      }
    }
    next++;
  }
  return GEMEL_OK;
}

static int same_bytes(const gemel_tensor *a, const gemel_tensor *b) {
  size_t n = (size_t)gemel_tensor_elements(a), size = gemel_dtype_size(gemel_tensor_dtype(a));
  const void *plain_a = gemel__tensor_plain(a), *plain_b = gemel__tensor_plain(b);
  if (plain_a != NULL && plain_b != NULL) {
    return n == 0 || memcmp(plain_a, plain_b, n * size) == 0;
  }
  gemel__walk of_a = gemel__walk_start(a), of_b = gemel__walk_start(b);
  while (n > 0 && memcmp(gemel__walk_next(&of_a), gemel__walk_next(&of_b), size) == 0) {
    n--;
  }
  return n == 0;
}

int gemel__tensors_equal(const gemel_tensor *a, const gemel_tensor *given) {
  gemel_tensor *b = gemel_tensor_device(given) == gemel_host()
                        ? gemel_tensor_ref((gemel_tensor *)given)
                        : gemel_tensor_transfer(given, gemel_host(), NULL);
  if (b == NULL) {
    return 0;
  }
  int same = same_bytes(a, b);
  gemel_tensor_unref(b);
  return same;
}

/* Checks that the call left inputs, guard bytes and fetched state values unchanged. */
static gemel_status check_untouched(const struct session *s, gemel_tensor *const *values,
                                    gemel_error *error) {
  for (size_t k = 0; k < s->n_out; k++) {
    if (s->guarded[k] != NULL && !guards_hold(s->guarded[k])) {
      return gemel__fail(error, GEMEL_INTERNAL, "output %zu: bytes outside it were written", k);
    }
  }
  for (size_t k = 0, next = 0; k < s->n_in; k++) {
    const gemel_tensor *given = is_state(s, k) ? NULL : s->inputs[next++];
    if (given != NULL && given != s->spoilt && !gemel__tensors_equal(values[k], given)) {
      return gemel__fail(error, GEMEL_INTERNAL, "input %zu was written to", k);
    }
  }
  return s->held == NULL || gemel__tensors_equal(s->as_it_was, s->held)
             ? GEMEL_OK
             : gemel__fail(error, GEMEL_INTERNAL,
                           "a state's value that was fetched was written to");
}

/* Moves the results of one call, updates included, to RESULTS. */
static gemel_status take_results(struct session *s, gemel_tensor **results, gemel_error *error) {
  for (size_t k = 0, next = 0; k < s->n_out; k++) {
    long state = updated(s, k);
    if (state < 0) {
      results[k] = s->outputs[next];
      s->outputs[next++] = NULL;
    } else {
      gemel_tensor *value = gemel_shared_get(s->states[state]);
      results[k] = gemel_tensor_transfer(value, gemel_host(), error);
      gemel_tensor_unref(value);
      GEMEL__TRY(results[k] != NULL ? GEMEL_OK : GEMEL_NO_MEMORY);
    }
  }
  return GEMEL_OK;
}

/* Overwrites the inputs of earlier calls, so that a function that still reads them gives wrong
 * results. */
static void spoil_inputs(struct session *s) {
  for (size_t k = 0; k < s->n_in && s->inputs[k] != NULL; k++) {
    gemel_tensor *t = s->inputs[k];
    if (!s->variant->scattered && !s->variant->there && t != s->spoilt) {
      memset(gemel_tensor_data(t), 0xff,
             (size_t)gemel_tensor_elements(t) * gemel_dtype_size(gemel_tensor_dtype(t)));
    }
  }
  s->inputs += s->n_in;
}

static gemel_status call_and_check(struct session *s, gemel_tensor *const *values,
                                   gemel_tensor **results, gemel_error *error) {
  if (s->variant->overlaps) {
    GEMEL__TRY(overlap_some(s, values, error));
  }
  GEMEL__TRY(give_inputs(s, values, error));
  GEMEL__TRY(give_outputs(s, error));
  gemel_status status = gemel_call(s->function, gemel_function_input_count(s->function), s->inputs,
                                   gemel_function_output_count(s->function), s->outputs, error);
  if (status == GEMEL_TOO_LONG) {
    gemel__ticker_unfollowed();
  }
  GEMEL__TRY(status);
  GEMEL__TRY(check_untouched(s, values, error));
  return take_results(s, results, error);
}

static gemel_status call_once(struct session *s, gemel_tensor *const *values,
                              gemel_tensor **results, gemel_error *error) {
  gemel_status status = call_and_check(s, values, results, error);
  gemel__tensors_release(s->n_out, s->outputs);
  spoil_inputs(s);
  memset(s->guarded, 0, s->n_out * sizeof *s->guarded);
  s->spoilt = NULL;
  return status;
}

/* Asks the device whether it noticed mistakes (out-of-bounds accesses, races) since the last run.
 */
static gemel_status ask_for_mistakes(const gemel__instance *instance, gemel_status status,
                                     gemel_error *error) {
  gemel_context *context = gemel_graph_context(instance->graph);
  const gemel_device *device = gemel_device_of_space(context, GEMEL__DEVICE_SPACE);
  char text[300] = "";
  return device->mistakes != NULL && device->mistakes(device->user, text, sizeof text) > 0
             ? gemel__fail(error, GEMEL_INTERNAL, "%s", text)
             : status;
}

static gemel_status execute(const gemel__instance *instance, const gemel__variant *variant,
                            gemel_tensor *const *values, gemel__random *random,
                            gemel_tensor **outputs, gemel_error *error) {
  struct session s = {.instance = instance, .variant = variant, .random = random};
  size_t n = gemel__instance_results(instance);
  s.n_in = instance->n_leaves;
  s.n_out = gemel_graph_output_count(instance->graph);
  s.n_calls = instance->calls > 0 ? instance->calls : 1;
  memset(outputs, 0, n * sizeof *outputs);
  gemel_status status = variant->sequence
                            ? gemel__execute_sequence(instance, variant, values, outputs, error)
                            : open_session(&s, values, error);
  for (size_t k = 0; k < n && status == GEMEL_OK && !variant->sequence; k += s.n_out) {
    status = call_once(&s, values, outputs + k, error);
  }
  close_session(&s);
  if (variant->lifted) {
    status = ask_for_mistakes(instance, status, error);
  }
  if (status != GEMEL_OK) {
    gemel__tensors_release(n, outputs);
  }
  return status;
}

/* ---- Some results alone ---- */

/* PART = the graph FROM with some of its outputs: at least one, and not all. TAKEN[k] = 1 for
 * those. IN and OUT have room for the inputs and outputs of FROM. */
static gemel_status take_some(gemel_graph *part, const gemel_graph *from, gemel__random *random,
                              gemel_value *in, gemel_value *out, unsigned char *taken,
                              gemel_error *error) {
  size_t n = gemel_graph_output_count(from);
  size_t first = gemel__random_below(random, n),
         other = (first + 1 + gemel__random_below(random, n - 1)) % n;
  for (size_t k = 0; k < gemel_graph_input_count(from); k++) {
    gemel_value input = gemel_graph_input(from, k);
    in[k] =
        gemel__input_like(part, gemel_graph_input_name(from, k), gemel_value_type(input), input);
  }
  GEMEL__TRY(gemel__graph_inline(part, from, in, out, error));
  for (size_t k = 0; k < n; k++) {
    taken[k] = k == first || (k != other && gemel__random_chance(random, 1, 2));
    GEMEL__TRY(taken[k] ? gemel_output(out[k], gemel_graph_output_name(from, k)) : GEMEL_OK);
  }
  return GEMEL_OK;
}

/* Runs INSTANCE as VARIANT for some of its results; the others are NULL. */
static gemel_status execute_some(const gemel__instance *instance, const gemel__variant *variant,
                                 gemel_tensor *const *values, gemel__random *random,
                                 gemel_tensor **outputs, gemel_error *error) {
  size_t n_in = gemel_graph_input_count(instance->graph),
         n = gemel_graph_output_count(instance->graph);
  gemel__instance part = *instance;
  gemel_value *room = gemel__alloc_array(n_in + n, sizeof *room);
  unsigned char *taken = gemel__alloc_array(n, 1);
  part.compiled = part.compiled_plain = NULL;
  part.graph = gemel_graph_new(gemel_graph_context(instance->graph), error);
  gemel_status status =
      part.graph == NULL || room == NULL || taken == NULL
          ? gemel__no_memory(error, "a part of a graph")
          : take_some(part.graph, instance->graph, random, room, room + n_in, taken, error);
  status = status ? status : execute(&part, variant, values, random, outputs, error);
  size_t at = status == GEMEL_OK ? gemel_graph_output_count(part.graph) : 0;
  for (size_t k = n; k-- > 0 && status == GEMEL_OK;) {
    gemel_tensor *result = taken[k] ? outputs[--at] : NULL;
    outputs[k] = result;
  }
  gemel_graph_unref(part.graph);
  gemel__free(taken, n);
  gemel__free(room, (n_in + n) * sizeof *room);
  return status;
}

gemel_status gemel__execute(const gemel__instance *instance, const gemel__variant *variant,
                            gemel_tensor *const *values, gemel__random *random,
                            gemel_tensor **outputs, gemel_error *error) {
  gemel__instance viewed;
  gemel_tensor **stored;
  if (variant->some) {
    return execute_some(instance, variant, values, random, outputs, error);
  }
  if (!variant->in_views || instance->calls > 0) {
    return execute(instance, variant, values, random, outputs, error);
  }
  GEMEL__TRY(gemel__instance_in_views(&viewed, instance, values, random, &stored, error));
  gemel_status status = execute(&viewed, variant, stored, random, outputs, error);
  gemel__values_free(&viewed, stored);
  gemel__instance_clear(&viewed);
  return status;
}

gemel_status gemel__instance_run(const gemel__instance *instance, gemel_tensor *const *values,
                                 gemel__random *random, gemel_error *error) {
  size_t n = gemel__instance_results(instance);
  gemel_tensor **results = gemel__alloc_zeroed(n * sizeof *results);
  if (results == NULL) {
    return gemel__no_memory(error, "results");
  }
  gemel_status status =
      gemel__execute(instance, &gemel__variants[0], values, random, results, error);
  gemel__tensors_free(n, results);
  return status;
}
