/*
 * Graphs and what they were lifted to, called on the same values and compared. Whoever includes
 * this has an error called `error`.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef GEMEL_TESTS_LIFTED_H
#define GEMEL_TESTS_LIFTED_H

#include <stdio.h>
#include <string.h>
#include <gemel/device.h>
#include "../ct.h"
#include "../run.h"
#include "core/graph.h"

/* ---- Graphs ---- */

static inline size_t count_of(const gemel_graph *graph, const char *operation) {
  size_t n = 0;
  for (uint32_t k = 0; k < graph->n_nodes; k++) {
    n += strcmp(gemel__node_op(graph, k)->record.name, operation) == 0;
  }
  return n;
}

/* 1 if GRAPH has sums of which the order depends on strides, and so on what is a view. */
static inline int adds_up(const gemel_graph *graph) {
  static const char *const names[] = {"sum",           "prod",          "dot",    "dot_add",
                                      "inc_subtensor", "cross_entropy", "softmax"};
  size_t found = 0;
  for (size_t k = 0; k < CT_COUNT(names); k++) {
    found += count_of(graph, names[k]);
  }
  return found > 0;
}

static inline int all_on_host(const gemel_graph *graph) {
  for (uint32_t k = 0; k < gemel_graph_node_count(graph); k++) {
    for (uint32_t j = 0; j < graph->nodes[k].n_outputs; j++) {
      gemel_type type = gemel__node_type(graph, k, j);
      if (gemel_type_space(graph->context, type) != 0) {
        return 0;
      }
    }
  }
  return 1;
}

/* ---- Results ---- */

/* Calls GRAPH; the results that lie on a device come to the host. */
static inline gemel_status results(const gemel_graph *graph, int plain, gemel_tensor *const *in,
                                   gemel_tensor **out) {
  gemel_options options = {.size = sizeof options, .threads = 1, .plain = plain, .as_written = 1};
  gemel_function *f = gemel_compile(graph, &options, &error);
  gemel_status status = f != NULL ? gemel_call(f, gemel_graph_input_count(graph), in,
                                               gemel_graph_output_count(graph), out, &error)
                                  : error.status;
  gemel_function_free(f);
  for (size_t k = 0; k < gemel_graph_output_count(graph) && status == GEMEL_OK; k++) {
    gemel_tensor *here = gemel_tensor_transfer(out[k], gemel_host(), &error);
    gemel_tensor_unref(out[k]);
    out[k] = here;
    unify_nans(here);
  }
  return status;
}

/* How many of N results differ; CT_CHECKs nothing, so that faults can be looked for. */
static inline int differ(gemel_tensor *const *a, gemel_tensor *const *b, size_t n) {
  int found = 0;
  for (size_t k = 0; k < n; k++) {
    size_t bytes = (size_t)gemel_tensor_elements(a[k]) * gemel_dtype_size(gemel_tensor_dtype(a[k]));
    found += gemel_tensor_elements(b[k]) != gemel_tensor_elements(a[k]) ||
             gemel_tensor_dtype(b[k]) != gemel_tensor_dtype(a[k]) ||
             (bytes > 0 && memcmp(gemel_tensor_data(a[k]), gemel_tensor_data(b[k]), bytes) != 0);
  }
  return found;
}

enum { MOST_VALUES = 200 };

static inline void release(gemel_tensor **tensors, size_t n) {
  for (size_t k = 0; k < n; k++) {
    gemel_tensor_unref(tensors[k]);
    tensors[k] = NULL;
  }
}

/* 1 if LIFTED and GRAPH make different results of IN (of which the bits are looked at if EXACT), or
 * only one of them makes any; WHAT says so. Both fail alike on some. */
static inline int is_wrong(const gemel_graph *graph, const gemel_graph *lifted,
                           gemel_tensor *const *in, int plain, int exact, char *what,
                           size_t bytes) {
  gemel_tensor *here[MOST_VALUES] = {NULL}, *there[MOST_VALUES] = {NULL};
  gemel_tensor *moved[MOST_VALUES] = {NULL};
  size_t n = gemel_graph_output_count(graph), inputs = gemel_graph_input_count(graph);
  gemel_context *context = gemel_graph_context(graph);
  for (size_t k = 0; k < inputs; k++) {
    int space = gemel_type_space(context, gemel_value_type(gemel_graph_input(lifted, k)));
    moved[k] = gemel_tensor_transfer(in[k], gemel_device_of_space(context, space), &error);
  }
  gemel_status wanted = results(graph, 1, in, here);
  gemel_status got = results(lifted, plain, moved, there);
  snprintf(what, bytes, "%s, wanted %s", got == GEMEL_OK ? "runs" : error.text,
           gemel_status_text(wanted));
  int wrong = wanted != got || (got == GEMEL_OK && exact && differ(here, there, n));
  release(here, n);
  release(there, n);
  release(moved, inputs);
  return wrong;
}

#endif
