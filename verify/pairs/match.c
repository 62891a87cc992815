/* SPDX-License-Identifier: MIT
 *
 * Matches inputs and outputs by place or by a list of names, see match.h: the graph is inlined into
 * one whose inputs and outputs have the other names.
 */
#include "pairs/match.h"

#include <stdio.h>
#include <string.h>
#include <gemel/verify.h>
#include "base/status.h"
#include "core/alloc.h"
#include "core/error.h"
#include "core/graph.h"

enum { MOST_NAME = 256 };

struct matching {
  const gemel_graph *a, *b;
  const char *how;
};

/* The name in A of B's NAME by the list HOW, written to TEXT; NAME itself if it isn't in the
 * list. */
static const char *listed(const char *how, const char *name, char *text, size_t bytes) {
  const char *at = how;
  while (*at != '\0') {
    size_t length = strcspn(at, ","), left = strcspn(at, "=");
    if (left < length && strlen(name) == length - left - 1 &&
        memcmp(at + left + 1, name, length - left - 1) == 0) {
      snprintf(text, bytes, "%.*s", (int)left, at);
      return text;
    }
    at += length + (at[length] == ',');
  }
  return name;
}

static int by_place(const struct matching *m) {
  return strcmp(m->how, "place") == 0;
}

static const char *input_name(const struct matching *m, size_t k, char *text) {
  return by_place(m) ? gemel_graph_input_name(m->a, k)
                     : listed(m->how, gemel_graph_input_name(m->b, k), text, MOST_NAME);
}

static const char *output_name(const struct matching *m, size_t k, char *text) {
  return by_place(m) ? gemel_graph_output_name(m->a, k)
                     : listed(m->how, gemel_graph_output_name(m->b, k), text, MOST_NAME);
}

/* An entry of the list that names no input or output of B is an error. */
static gemel_status check_list(const struct matching *m, gemel_error *error) {
  const char *at = m->how;
  while (*at != '\0') {
    size_t length = strcspn(at, ","), left = strcspn(at, "="), k;
    size_t n_in = gemel_graph_input_count(m->b), n_out = gemel_graph_output_count(m->b);
    int found = 0;
    for (k = 0; left < length && k < n_in + n_out && !found; k++) {
      const char *name =
          k < n_in ? gemel_graph_input_name(m->b, k) : gemel_graph_output_name(m->b, k - n_in);
      found = strlen(name) == length - left - 1 && memcmp(at + left + 1, name, strlen(name)) == 0;
    }
    if (!found) {
      return gemel__fail(error, GEMEL_BAD_ARGUMENT,
                         "'%.*s' doesn't name an input or output of the second graph as "
                         "FIRST=SECOND",
                         (int)length, at);
    }
    at += length + (at[length] == ',');
  }
  return GEMEL_OK;
}

static gemel_status check_counts(const struct matching *m, gemel_error *error) {
  size_t in[2] = {gemel_graph_input_count(m->a), gemel_graph_input_count(m->b)};
  size_t out[2] = {gemel_graph_output_count(m->a), gemel_graph_output_count(m->b)};
  if (in[0] != in[1] || out[0] != out[1]) {
    return gemel__fail(error, GEMEL_BAD_ARGUMENT,
                       "matched by place: %zu inputs and %zu outputs in the first graph, %zu and "
                       "%zu in the second",
                       in[0], out[0], in[1], out[1]);
  }
  return GEMEL_OK;
}

/* ROOM is for the inputs and outputs of the second graph. */
static gemel_status fill_with(const struct matching *m, gemel_graph *into, gemel_value *room,
                              gemel_error *error) {
  size_t n_in = gemel_graph_input_count(m->b), n_out = gemel_graph_output_count(m->b), k;
  char text[MOST_NAME];
  for (k = 0; k < n_in; k++) {
    gemel_value input = gemel_graph_input(m->b, k);
    room[k] = gemel__input_like(into, input_name(m, k, text), gemel_value_type(input), input);
  }
  GEMEL__TRY(gemel__graph_status(into, error));
  GEMEL__TRY(gemel__graph_inline(into, m->b, room, room + n_in, error));
  for (k = 0; k < n_out; k++) {
    gemel_output(room[n_in + k], output_name(m, k, text));
  }
  return gemel__graph_status(into, error);
}

static gemel_status fill(const struct matching *m, gemel_graph *into, gemel_error *error) {
  size_t n = gemel_graph_input_count(m->b) + gemel_graph_output_count(m->b);
  gemel_value *room = gemel__alloc_array(n, sizeof *room);
  gemel_status status =
      room == NULL ? gemel__no_memory(error, "a graph") : fill_with(m, into, room, error);
  gemel__free(room, n * sizeof *room);
  return status;
}

gemel_graph *gemel__graph_matched(const gemel_graph *a, const gemel_graph *b, const char *how,
                                  gemel_error *error) {
  struct matching m = {a, b, how};
  gemel_error mine = {GEMEL_OK, 0, 0, ""};
  gemel_error *problem = error != NULL ? error : &mine;
  gemel_graph *into;
  if ((by_place(&m) ? check_counts(&m, problem) : check_list(&m, problem)) != GEMEL_OK) {
    return NULL;
  }
  into = gemel_graph_new(gemel_graph_context(b), problem);
  if (into != NULL && fill(&m, into, problem) != GEMEL_OK) {
    gemel_graph_unref(into);
    into = NULL;
  }
  return into;
}

/* ---- Inputs that one side lists alone ---- */

/* *READ = of each node of GRAPH, 1 if a node reads it or it is an output; to be freed. */
static gemel_status find_read(const gemel_graph *graph, unsigned char **read, gemel_error *error) {
  size_t n = gemel_graph_node_count(graph);
  *read = gemel__alloc_zeroed(n + 1);
  if (*read == NULL) {
    return gemel__no_memory(error, "the inputs that are read");
  }
  for (size_t k = 0; k < n; k++) {
    gemel_value value = {(gemel_graph *)(uintptr_t)graph, (uint32_t)k, 0};
    for (size_t i = 0; i < gemel_value_input_count(value); i++) {
      (*read)[gemel_value_input(value, i).node] = 1;
    }
  }
  for (size_t k = 0; k < gemel_graph_output_count(graph); k++) {
    (*read)[gemel_graph_output(graph, k).node] = 1;
  }
  return GEMEL_OK;
}

/* Adds INPUT to INTO, unless it has one of that name. */
static gemel_status add_input(gemel_graph *into, const char *name, gemel_value input,
                              gemel_error *error) {
  gemel_input_at(into, name, gemel_value_type(input), gemel_value_where(input));
  gemel_status status = gemel_graph_error(into)->status;
  if (status == GEMEL_BAD_ARGUMENT) { /* the name is taken */
    status = GEMEL_OK;
  } else if (status != GEMEL_OK && error != NULL) {
    *error = *gemel_graph_error(into);
  }
  gemel_graph_clear_error(into);
  return status;
}

static gemel_status add_unread(const gemel_graph *from, gemel_graph *into, gemel_error *error) {
  size_t n = gemel_graph_input_count(from), bytes = gemel_graph_node_count(from) + 1;
  unsigned char *read;
  GEMEL__TRY(find_read(from, &read, error));
  gemel_status status = GEMEL_OK;
  for (size_t k = 0; k < n && status == GEMEL_OK; k++) {
    gemel_value input = gemel_graph_input(from, k);
    if (!read[input.node]) {
      status = add_input(into, gemel_graph_input_name(from, k), input, error);
    }
  }
  gemel__free(read, bytes);
  return status;
}

gemel_status gemel_pair_add_unread(gemel_graph *a, gemel_graph *b, gemel_error *error) {
  if (a == NULL || gemel_graph_context(a) != gemel_graph_context(b)) {
    return gemel__fail(error, GEMEL_BAD_ARGUMENT, "two graphs of one context are wanted");
  }
  const gemel_error *earlier =
      gemel_graph_error(a)->status != GEMEL_OK ? gemel_graph_error(a) : gemel_graph_error(b);
  if (earlier->status != GEMEL_OK) {
    return gemel__fail(error, earlier->status, "%s", earlier->text);
  }
  GEMEL__TRY(add_unread(a, b, error));
  return add_unread(b, a, error);
}
