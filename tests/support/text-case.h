/*
 * Tests of whole graphs as tables of text: a graph, or a file of graphs of which the last is run,
 * its operands and what comes out, each as "f64[2, 3] 1 2 3 4 5 6" (see optable.h). Each case is
 * compiled as it is written, plainly, with poisoned memory and rewritten, on operands that lie in
 * several ways, and read back from its text and its bytes; all must give exactly these elements. A
 * case that must fail says the status and a part of the message instead.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef GEMEL_TESTS_TEXT_CASE_H
#define GEMEL_TESTS_TEXT_CASE_H

#include <gemel/text.h>
#include "../optable.h"
#include "graph-text.h"

enum { CASE_OPERANDS = 6, CASE_WAYS = 6 };

typedef struct text_case {
  const char *name;
  const char *text;
  const char *inputs[CASE_OPERANDS]; /* NULL: no more */
  const char *outputs[CASE_OPERANDS];
  gemel_status status;
  const char *message;
} text_case;

#define VALUES(...)                                                                                \
  { __VA_ARGS__ }
#define GIVES(name, text, inputs, ...)                                                             \
  { (name), text, inputs, {__VA_ARGS__}, GEMEL_OK, NULL }
/* Of an error of a call; without operands: of reading the text. */
#define FAILS(name, text, inputs, status, message)                                                 \
  { (name), text, inputs, {NULL}, (status), (message) }

/* Tensors of TEXTS; how many there are. */
static inline size_t read_tensors(const char *const *texts, gemel_tensor **tensors) {
  size_t n = 0;
  for (; n < CASE_OPERANDS && texts[n] != NULL; n++) {
    tensors[n] = opt_read(texts[n]).tensor;
  }
  return n;
}

static inline void drop_tensors(size_t n, gemel_tensor **tensors) {
  for (size_t k = 0; k < n; k++) {
    gemel_tensor_unref(tensors[k]);
    tensors[k] = NULL;
  }
}

typedef struct byte_buffer {
  char bytes[1 << 16];
  size_t count;
} byte_buffer;

static inline int keep_bytes(void *user, const void *bytes, size_t count) {
  byte_buffer *buffer = user;
  if (count > sizeof buffer->bytes - buffer->count) {
    return 1;
  }
  memcpy(buffer->bytes + buffer->count, bytes, count);
  buffer->count += count;
  return 0;
}

/* GRAPH, which is freed, read back from what is written of it: WAY 1 text, 2 bytes, else as it is.
 */
static inline gemel_graph *read_back(gemel_graph *graph, int way) {
  gemel_context *context = gemel_graph_context(graph);
  static byte_buffer buffer;
  gemel_error error = {0};
  gemel_graph *again = gemel_graph_ref(graph);
  buffer.count = 0;
  if (way == 1 || way == 2) {
    gemel_graph_unref(again);
    CT_EQ_INT(way == 1 ? gemel_print(graph, "g", keep_bytes, &buffer, &error)
                       : gemel_serialize(graph, "g", keep_bytes, &buffer, &error),
              GEMEL_OK);
    again = way == 1 ? gemel_parse(context, buffer.bytes, buffer.count, "printed", NULL, &error)
                     : gemel_deserialize(context, buffer.bytes, buffer.count, NULL, &error);
    CT_EQ_STR(error.text, "");
    if (CT_CHECK(again != NULL)) {
      same_text(graph, again);
    }
  }
  gemel_graph_unref(graph);
  return again;
}

/* Calls GRAPH in one of CASE_WAYS ways. */
static inline gemel_status call_graph(gemel_graph *graph, int way, gemel_tensor *const *in,
                                      gemel_tensor **out, gemel_error *error) {
  gemel_options options = {.size = sizeof options,
                           .threads = way == 3 ? 1 : 2,
                           .plain = way == 1,
                           .poison = way == 2,
                           .deterministic = way == 3,
                           .as_written = way != 4};
  gemel_function *f = gemel_compile(graph, &options, error);
  gemel_status status = f == NULL ? error->status
                                  : gemel_call(f, gemel_graph_input_count(graph), in,
                                               gemel_graph_output_count(graph), out, error);
  gemel_function_free(f);
  return status;
}

static inline void compare_all(size_t n, gemel_tensor **out, size_t n_wanted,
                               gemel_tensor *const *wanted) {
  CT_EQ_UINT(n, n_wanted);
  for (size_t k = 0; k < n && k < n_wanted; k++) {
    ct_context("result %zu", k);
    opt_compare(out[k], wanted[k]);
  }
}

static inline void run_way(const text_case *c, gemel_context *context, int way,
                           gemel_tensor **operands, size_t n) {
  gemel_tensor *lying[CASE_OPERANDS], *out[CASE_OPERANDS] = {NULL}, *wanted[CASE_OPERANDS];
  gemel_error error = {0};
  size_t n_wanted = read_tensors(c->outputs, wanted);
  gemel_graph *graph = read_back(parse(context, c->text), c->status == GEMEL_OK ? way : 0);
  CT_REQUIRE(graph != NULL && gemel_graph_input_count(graph) == n);
  CT_EQ_INT(gemel_graph_check(graph, &error), GEMEL_OK);
  for (size_t k = 0; k < n; k++) {
    lying[k] = opt_lay(operands[k], way % OPT_LAYOUTS);
  }
  CT_EQ_INT(call_graph(graph, way, lying, out, &error), c->status);
  if (c->status == GEMEL_OK) {
    CT_EQ_STR(error.text, "");
    compare_all(gemel_graph_output_count(graph), out, n_wanted, wanted);
  } else {
    CT_HAS_STR(error.text, c->message);
  }
  drop_tensors(CASE_OPERANDS, out);
  drop_tensors(n, lying);
  drop_tensors(n_wanted, wanted);
  gemel_graph_unref(graph);
}

static inline void run_text_case(const void *data) {
  const text_case *c = data;
  gemel_context *context = gemel_context_new(NULL);
  gemel_tensor *operands[CASE_OPERANDS];
  size_t n = read_tensors(c->inputs, operands);
  gemel_error error = {0};
  if (c->status != GEMEL_OK && n == 0) {
    gemel_graph *graph = gemel_parse(context, c->text, strlen(c->text), "test", NULL, &error);
    CT_CHECK(graph == NULL);
    CT_EQ_INT(error.status, c->status);
    CT_HAS_STR(error.text, c->message);
    gemel_graph_unref(graph);
  } else {
    for (int way = 0; way < CASE_WAYS; way++) {
      ct_context("way %d", way);
      run_way(c, context, way, operands, n);
    }
  }
  drop_tensors(n, operands);
  gemel_context_unref(context);
}

#define TEXT_SUITE(suite, cases)                                                                   \
  for (size_t k = 0; k < CT_COUNT(cases); k++) {                                                   \
    CT_ADD((suite), (cases)[k].name, run_text_case, &(cases)[k]);                                  \
  }

#endif
