/*
 * Instances inside graphs: of every operation with a sampler there are, among as many as a tier of
 * `gemel verify` draws, such where its result is part of a fused loop, such where memory is used in
 * place, and such where it goes into the update of a state; and calls of the functions made of them
 * allocate nothing once there have been three.
 *
 * SPDX-License-Identifier: MIT
 */
#include "ct.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gemel/function.h>
#include "core/alloc.h"
#include "core/context.h"
#include "core/graph.h"
#include "instances/instance.h"
#include "reference/twin.h"
#include "support/watched-memory.h"
#include "text/write.h"
#include "support/listing.h"

enum { EMBEDDED = 48 }; /* half of the instances of a tier */

typedef struct counts {
  int fused, in_place, updates;
  int counted, allocating; /* functions whose calls were looked at, and that asked for memory */
} counts;

/* 1 if an update in GRAPH depends on a node of OP. */
static int updates_state(const gemel_graph *graph, const gemel_operation *op) {
  unsigned char *depends = calloc(graph->n_nodes, 1);
  int found = 0;
  for (uint32_t node = 0, count; node < graph->n_nodes; node++) {
    const gemel__ref *in = gemel__node_inputs(graph, node, &count);
    depends[node] = strcmp(gemel__node_op(graph, node)->record.name, op->name) == 0;
    for (uint32_t k = 0; k < count; k++)
      depends[node] |= depends[in[k].node];
  }
  for (size_t k = 0; k < graph->n_outputs; k++)
    found |=
        depends[graph->outputs[k].node] && gemel__state_called(graph, graph->output_names[k]) >= 0;
  free(depends);
  return found;
}

/* What the listing of F says: a loop of several nodes, memory in which another value was. */
static void look(const gemel_function *f, counts *c) {
  const char *text = listing_of(f), *at;
  int most = 0;
  for (at = strstr(text, "loop of "); at != NULL; at = strstr(at + 1, "loop of ")) {
    int n = atoi(at + strlen("loop of "));
    most = n > most ? n : most;
  }
  c->fused += most > 1;
  c->in_place += strstr(text, "in place of") != NULL;
}

/* Results of a size that only the call shows are given up: the next may be larger. *SOME: there are
 * such. */
static void drop_unsized(const gemel_graph *graph, gemel_tensor **out, int *some) {
  for (size_t k = 0; k < graph->n_outputs; k++) {
    gemel_type type = gemel_value_type(gemel_graph_output(graph, k));
    if (gemel__type_at(graph->context, type)->has_runtime) {
      gemel_tensor_unref(out[k]);
      out[k] = NULL;
      *some = 1;
    }
  }
}

/* Calls F four times and notes whether the last call asked for memory. */
static void call(const gemel_graph *graph, gemel_function *f, gemel_tensor **in, counts *c) {
  gemel_tensor **out = calloc(graph->n_outputs, sizeof *out);
  long before = 0;
  int unsized = 0;
  for (int k = 0; k < 4; k++) {
    drop_unsized(graph, out, &unsized);
    before = atomic_load(&watched.asked);
    CT_EQ_INT(
        gemel_call(f, gemel_function_input_count(f), in, gemel_function_output_count(f), out, NULL),
        GEMEL_OK);
  }
  c->counted += !unsized;
  c->allocating += !unsized && atomic_load(&watched.asked) != before;
  look(f, c);
  gemel__tensors_release(graph->n_outputs, out);
  free(out);
}

/* With VALUES for the inputs, the states among them as shared variables. */
static void compile_and_call(const gemel_graph *graph, gemel_tensor **values, counts *c) {
  gemel_shared **states = calloc(graph->n_inputs, sizeof *states);
  gemel_tensor **in = calloc(graph->n_inputs, sizeof *in);
  size_t n = 0, m = 0;
  for (size_t k = 0; k < graph->n_inputs; k++) {
    if (gemel_is_state(gemel_graph_input(graph, k)))
      states[n++] = gemel_shared_new(values[k], NULL);
    else
      in[m++] = values[k];
  }
  gemel_options options = {.size = sizeof options,
                           .as_written = 1,
                           .threads = 1,
                           .states = n > 0 ? states : NULL,
                           .n_states = n};
  gemel_function *f = gemel_compile(graph, &options, NULL);
  if (CT_CHECK(f != NULL))
    call(graph, f, in, c);
  gemel_function_free(f);
  for (size_t k = 0; k < n; k++)
    gemel_shared_unref(states[k]);
  free(states);
  free(in);
}

static void embed(gemel_context *context, const gemel_operation *op, uint64_t seed, counts *c) {
  gemel_error error = {GEMEL_OK, 0, 0, ""};
  gemel__instance base, embedded;
  gemel_tensor **values;
  gemel__random random;
  gemel_status status = GEMEL_DECLINED;
  gemel__random_seed(&random, seed);
  for (int k = 0; k < GEMEL_DTYPE_COUNT && status == GEMEL_DECLINED; k++)
    status = gemel__instance_draw(&base, context, op,
                                  (gemel_dtype)((seed + (uint64_t)k) % GEMEL_DTYPE_COUNT), 40,
                                  &random, &error);
  if (status == GEMEL_DECLINED)
    return;
  CT_EQ_INT(status, GEMEL_OK);
  CT_EQ_INT(gemel__instance_embed(&embedded, &base, seed % 2 == 0, &random, &error), GEMEL_OK);
  gemel__instance_clear(&base);
  c->updates += updates_state(embedded.graph, op);
  CT_EQ_INT(gemel__values_draw(&embedded, GEMEL__FILL_INTEGERS, &random, &values, &error),
            GEMEL_OK);
  compile_and_call(embedded.graph, values, c);
  gemel__values_free(&embedded, values);
  gemel__instance_clear(&embedded);
}

static void forms(const void *data) {
  watch_memory(0);
  gemel_context *context = gemel_context_new(NULL);
  (void)data;
  for (size_t k = 0; k < gemel_operation_count(context); k++) {
    const gemel_operation *op = gemel_operation_at(context, k);
    counts c = {0, 0, 0, 0, 0};
    if (gemel__sampler_of(context, op) == NULL)
      continue;
    for (uint64_t seed = 0; seed < EMBEDDED; seed++)
      embed(context, op, seed, &c);
    ct_context("%s: %d fused, %d in place, %d with updates, of %d counted %d allocate", op->name,
               c.fused, c.in_place, c.updates, c.counted, c.allocating);
    CT_CHECK(c.fused >= 10 && c.in_place >= 5 && c.updates >= 10);
    CT_CHECK(c.counted > 0 && c.allocating == 0);
  }
  ct_context(NULL);
  gemel_context_unref(context);
  unwatch_memory();
}

void ct_register(void) {
  CT_ADD("embed", "forms", forms, NULL);
}
