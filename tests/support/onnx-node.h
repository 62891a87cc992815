/*
 * Models of ONNX of one node, as rows of a table: what the operator takes, in text, and what must
 * come of it, in text or by a function that computes it from the operator's definition (its twin);
 * or why it is refused.
 *
 * A tensor is "f 2 3: 1 2 3 4 5 6", f32[2, 3]; onnx_dtypes lists the letters. Without numbers,
 * "f 2 3", it has random ones between -2 and 2 that all dtypes of floats have; "f 2 3 *100" has
 * 100 times those. A size with N behind it, "f 2N 3", is a symbol in the model. "" is left out; "="
 * before the letter makes a constant of the model. Attributes are separated by a space: an integer,
 * integers with a comma behind each but the last of several, numbers with points in the same way,
 * or a word. An operator of another domain has that before it, and a point; "Softmax-11" is that of
 * opset 11. What has a ">" is a list of nodes instead, "Shape a > s; Gather s b > v | axis=0".
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef GEMEL_TESTS_ONNX_NODE_H
#define GEMEL_TESTS_ONNX_NODE_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gemel/gemel.h>
#include "core/dtype.h"
#include "../ct.h"
#include "../onnx-writer.h"
#include "near.h"
#include "random.h"

enum { MOST_INPUTS = 12, MOST_OUTPUTS = 5, MOST_ELEMENTS = 256, USUAL_OPSET = 24 };

/* OUTPUTS of a case that is refused: the reason, and then as many as there are results but one. */
typedef struct node_case {
  const char *name, *operator_, *attributes;
  const char *inputs[MOST_INPUTS], *outputs[MOST_OUTPUTS];
} node_case;

static int all_are_constants; /* inputs without "=", too */

static const struct {
  char letter;
  gemel_dtype dtype;
  int number;   /* ONNX's */
  double error; /* of a result near 1 that was computed in this dtype */
} onnx_dtypes[] = {
    {'f', GEMEL_F32, 1, 1e-6},    {'u', GEMEL_U8, 2, 0},       {'s', GEMEL_I8, 3, 0},
    {'w', GEMEL_I32, 6, 0},       {'i', GEMEL_I64, 7, 0},      {'b', GEMEL_BOOL, 9, 0},
    {'h', GEMEL_F16, 10, 0x1p-8}, {'d', GEMEL_F64, 11, 1e-12}, {'B', GEMEL_BF16, 16, 0x1p-5}};

typedef struct numbers {
  gemel_dtype dtype;
  int is_given, is_constant, number, rank, is_symbol[8];
  int64_t shape[8], elements;
  double error, values[MOST_ELEMENTS];
} numbers;

/* Fills OUT, whose shapes the case says, from the inputs IN. */
typedef void onnx_twin(const node_case *of, const numbers *in, numbers *out);

typedef struct twin_case {
  node_case node;
  onnx_twin *twin;
} twin_case;

/* ---- Tensors ---- */

static inline void read_dtype(const char **at, numbers *t) {
  t->is_constant = **at == '=';
  *at += t->is_constant;
  for (size_t k = 0; k < CT_COUNT(onnx_dtypes); k++) {
    if (onnx_dtypes[k].letter == **at) {
      t->dtype = onnx_dtypes[k].dtype;
      t->number = onnx_dtypes[k].number;
      t->error = onnx_dtypes[k].error;
    }
  }
  CT_REQUIRE(t->number != 0);
  ++*at;
}

/* Not a text, "": a tensor that isn't given. */
static inline void read_numbers(const char *text, numbers *t) {
  memset(t, 0, sizeof *t);
  if (text == NULL || *text == '\0') {
    return;
  }
  read_dtype(&text, t);
  char *at = (char *)text;
  t->is_given = 1;
  t->elements = 1;
  while (*at == ' ' && at[1] != '*') {
    CT_REQUIRE(t->rank < 8);
    t->shape[t->rank] = strtol(at, &at, 10);
    t->is_symbol[t->rank] = *at == 'N';
    at += t->is_symbol[t->rank];
    t->elements *= t->shape[t->rank++];
  }
  CT_REQUIRE(t->elements <= MOST_ELEMENTS);
  int is_random = *at != ':';
  double times = strncmp(at, " *", 2) == 0 ? strtod(at + 2, &at) : 1;
  at += !is_random;
  for (int64_t k = 0; k < t->elements; k++) {
    t->values[k] = is_random ? ((double)rnd(256) - 128) / 64 * times : strtod(at, &at);
  }
  CT_EQ_STR(at, "");
}

/* The elements of T as bytes. */
static inline size_t as_bytes(const numbers *t, char *bytes) {
  size_t width = gemel_dtype_size(t->dtype);
  for (int64_t k = 0; k < t->elements; k++) {
    CT_CHECK(gemel__dtype_store(t->dtype, t->values[k], bytes + (size_t)k * width) == GEMEL_OK);
  }
  return (size_t)t->elements * width;
}

static inline gemel_tensor *as_tensor(const numbers *t, gemel_error *error) {
  gemel_tensor *tensor = gemel_tensor_new(t->dtype, t->rank, t->shape, error);
  if (CT_CHECK(tensor != NULL)) {
    as_bytes(t, gemel_tensor_data(tensor));
  }
  return tensor;
}

/* NaN is never the same, and infinity is itself. */
static inline void same_numbers(const gemel_tensor *is, const numbers *should) {
  if (!CT_EQ_STR(gemel_dtype_name(gemel_tensor_dtype(is)), gemel_dtype_name(should->dtype))) {
    return;
  }
  CT_REQUIRE(gemel_tensor_rank(is) == should->rank);
  for (int k = 0; k < should->rank; k++) {
    CT_REQUIRE(gemel_tensor_shape(is)[k] == should->shape[k]);
  }
  size_t width = gemel_dtype_size(should->dtype);
  for (int64_t k = 0; k < should->elements; k++) {
    double b = should->values[k],
           a = gemel__dtype_load(should->dtype,
                                 (const char *)gemel_tensor_data(is) + (size_t)k * width);
    if (!is_near(a, b, should->error * (1 + fabs(b)))) {
      CT_FAIL("element %lld is %.17g, should be %.17g", (long long)k, a, b);
    }
  }
}

/* ---- Attributes ---- */

/* The text of attribute NAME, or NULL. */
static inline const char *attribute_text(const node_case *of, const char *name) {
  size_t length = strlen(name);
  for (const char *at = of->attributes; *at != '\0'; at += *at == ' ') {
    if (strncmp(at, name, length) == 0 && at[length] == '=') {
      return at + length + 1;
    }
    at += strcspn(at, " ");
  }
  return NULL;
}

/* Attribute NAME as a number, or FALLBACK. */
static inline double attribute_number(const node_case *of, const char *name, double fallback) {
  const char *text = attribute_text(of, name);
  return text != NULL ? strtod(text, NULL) : fallback;
}

/* Whether attribute NAME is this WORD. */
static inline int attribute_is(const node_case *of, const char *name, const char *word) {
  const char *text = attribute_text(of, name);
  size_t length = strlen(word);
  return text != NULL && strncmp(text, word, length) == 0 &&
         (text[length] == '\0' || text[length] == ' ');
}

/* Puts a float into field NUMBER. */
static inline void put_float(message *m, unsigned number, const char *text, char **end) {
  float value = strtof(text, end);
  put_varint(m, number << 3 | 5);
  put_bytes(m, &value, sizeof value);
}

static inline void put_attribute(message *attributes, const char *text, size_t length) {
  char one[100], *value;
  message a = {0};
  snprintf(one, sizeof one, "%.*s", (int)length, text);
  value = strchr(one, '=');
  CT_REQUIRE(value != NULL);
  *value++ = '\0';
  int is_list = strchr(value, ',') != NULL, has_point = strchr(value, '.') != NULL;
  put_text(&a, 1, one);
  for (char *at = value; is_list && *at != '\0'; at += *at == ',') {
    if (has_point) {
      put_float(&a, 7, at, &at);
    } else {
      put_int(&a, 8, strtol(at, &at, 10));
    }
  }
  if (!is_list && strspn(value, "-.0123456789") < strlen(value)) {
    put_text(&a, 4, value);
  } else if (!is_list && has_point) {
    put_float(&a, 2, value, NULL);
  } else if (!is_list) {
    put_int(&a, 3, strtol(value, NULL, 10));
  }
  put_message(attributes, 5, &a);
}

static inline void put_attributes(message *attributes, const char *text) {
  while (*text != '\0') {
    size_t length = strcspn(text, " ");
    put_attribute(attributes, text, length);
    text += length + (text[length] == ' ');
  }
}

/* ---- The model ---- */

/* Input K is called "a", "b", ...; result K "x", "y", ... */
static inline void put_input(message *graph, int k, const numbers *t) {
  message tensor = {0};
  char name[2] = {(char)('a' + k), '\0'}, bytes[MOST_ELEMENTS * 8];
  int64_t shape[8];
  if (!t->is_given) {
    return;
  }
  if (t->is_constant || all_are_constants) {
    size_t length = as_bytes(t, bytes);
    raw_tensor(&tensor, name, t->number, t->rank, t->shape, bytes, length);
    put_message(graph, 5, &tensor);
    return;
  }
  for (int i = 0; i < t->rank; i++) {
    shape[i] = t->is_symbol[i] ? -1 : t->shape[i];
  }
  put_value(graph, 11, name, t->number, t->rank, shape);
}

static inline void put_opset(message *model, const char *domain, size_t length, int version) {
  message opset = {0};
  if (length > 0) {
    put_span(&opset, 1, domain, length);
  }
  put_int(&opset, 2, version);
  put_message(model, 8, &opset);
}

/* " a" behind NAMES; a space alone for a name that is left out. */
static inline void add_name(char *names, int k, char name) {
  size_t length = strlen(names);
  snprintf(names + length, 4, "%s%c", k > 0 ? " " : "", name);
}

/* "Shape a > s; Gather s b > v | axis=0". */
static inline void put_nodes(message *graph, const char *text) {
  while (*text != '\0') {
    char operator_[40], inputs[60], outputs[60], one[200];
    message attributes = {0};
    size_t length = strcspn(text, ";");
    snprintf(one, sizeof one, "%.*s", (int)length, text);
    CT_REQUIRE(sscanf(one, "%39s %59[^>]> %59[^|]", operator_, inputs, outputs) == 3);
    put_attributes(&attributes, strchr(one, '|') != NULL ? strchr(one, '|') + 2 : "");
    inputs[strlen(inputs) - 1] = '\0';
    outputs[strcspn(outputs, " ")] = '\0';
    put_node(graph, operator_, inputs, outputs, &attributes);
    text += length + strspn(text + length, "; ");
  }
}

static inline void one_node(const node_case *of, const numbers *in, message *model) {
  message graph = {0}, attributes = {0};
  char inputs[4 * MOST_INPUTS] = "", outputs[4 * MOST_OUTPUTS] = "", name[60];
  const char *point = strrchr(of->operator_, '.');
  put_attributes(&attributes, of->attributes);
  for (int k = 0; k < MOST_INPUTS && of->inputs[k] != NULL; k++) {
    add_name(inputs, k, in[k].is_given ? (char)('a' + k) : '\0');
    put_input(&graph, k, &in[k]);
  }
  for (int k = 0; k < MOST_OUTPUTS && of->outputs[k] != NULL; k++) {
    char result[2] = {(char)('v' + k), '\0'};
    int is_left_out = k > 0 && strcmp(of->outputs[k], "-") == 0;
    add_name(outputs, k, is_left_out ? '\0' : result[0]);
    if (!is_left_out) {
      put_value(&graph, 12, result, ONNX_FLOAT, 0, NULL);
    }
  }
  int opset = USUAL_OPSET;
  if (strchr(of->operator_, '>') != NULL) {
    put_nodes(&graph, of->operator_);
  } else {
    if (point != NULL) {
      put_span(&attributes, 7, of->operator_, (size_t)(point - of->operator_));
      put_opset(model, of->operator_, (size_t)(point - of->operator_), 1);
    }
    snprintf(name, sizeof name, "%s", point != NULL ? point + 1 : of->operator_);
    char *dash = strchr(name, '-');
    opset = dash != NULL ? atoi(dash + 1) : opset;
    name[strcspn(name, "-")] = '\0';
    put_node(&graph, name, inputs, outputs, &attributes);
  }
  put_text(&graph, 2, "one");
  put_int(model, 1, 10);
  put_opset(model, NULL, 0, opset);
  put_message(model, 7, &graph);
}

static inline gemel_graph *graph_of(const node_case *of, const numbers *in, gemel_context *context,
                                    gemel_error *error) {
  message model = {0};
  one_node(of, in, &model);
  CT_CHECK(model.length < sizeof model.bytes - 100); /* what doesn't fit is dropped */
  gemel_onnx *read = gemel_onnx_parse(model.bytes, model.length, "m.onnx", NULL, error);
  gemel_graph *graph = read != NULL ? gemel_onnx_graph(read, context, NULL, NULL, error) : NULL;
  gemel_onnx_free(read);
  return graph;
}

/* ---- Judging ---- */

/* Runs GRAPH on the inputs IN, found by their names. */
static inline void run_node(const gemel_graph *graph, const numbers *in, size_t n_results,
                            gemel_tensor **results, gemel_error *error) {
  gemel_tensor *inputs[MOST_INPUTS];
  size_t n = gemel_graph_input_count(graph);
  CT_REQUIRE(n <= MOST_INPUTS && gemel_graph_output_count(graph) == n_results);
  for (size_t k = 0; k < n; k++) {
    inputs[k] = as_tensor(&in[gemel_graph_input_name(graph, k)[0] - 'a'], error);
  }
  gemel_evaluate(graph, n, inputs, n_results, results, error);
  for (size_t k = 0; k < n; k++) {
    gemel_tensor_unref(inputs[k]);
  }
}

/* A case as it is judged. */
typedef struct judged_node {
  numbers in[MOST_INPUTS], out[MOST_OUTPUTS];
  size_t n; /* results */
  gemel_tensor *results[MOST_OUTPUTS];
  gemel_context *context;
  gemel_graph *graph;
  gemel_error error;
} judged_node;

/* Reads the case and makes its graph, which is NULL and the error otherwise. */
static inline void begin_node(judged_node *j, const node_case *of, int has_results) {
  memset(j, 0, sizeof *j);
  state = 88172645463325252u;
  for (size_t k = 0; k < MOST_INPUTS; k++) {
    read_numbers(of->inputs[k], &j->in[k]);
  }
  for (size_t k = 0; k < MOST_OUTPUTS && of->outputs[k] != NULL; k++) {
    if (strcmp(of->outputs[k], "-") == 0) {
      continue;
    }
    if (has_results) {
      read_numbers(of->outputs[k], &j->out[j->n]);
    }
    j->n++;
  }
  j->context = gemel_context_new(&j->error);
  j->graph = j->context != NULL ? graph_of(of, j->in, j->context, &j->error) : NULL;
}

static inline void end_node(judged_node *j) {
  for (size_t k = 0; k < MOST_OUTPUTS; k++) {
    gemel_tensor_unref(j->results[k]);
  }
  gemel_graph_unref(j->graph);
  gemel_context_unref(j->context);
}

static inline void judge_node(const node_case *of, onnx_twin *twin) {
  static judged_node j;
  begin_node(&j, of, 1);
  if (j.graph != NULL) {
    run_node(j.graph, j.in, j.n, j.results, &j.error);
  }
  if (CT_EQ_STR(j.error.text, "")) {
    if (twin != NULL) {
      twin(of, j.in, j.out);
    }
    for (size_t k = 0; k < j.n; k++) {
      ct_context("result %zu", k);
      same_numbers(j.results[k], &j.out[k]);
    }
  }
  end_node(&j);
}

/* DATA, a node_case, gives the numbers of its outputs. */
static inline void node_gives(const void *data) {
  judge_node(data, NULL);
}

/* DATA, a twin_case, gives what its twin computes. */
static inline void node_is_as_twin(const void *data) {
  const twin_case *of = data;
  judge_node(&of->node, of->twin);
}

/* DATA, a node_case, is refused when it is read. */
static inline void node_is_refused(const void *data) {
  static judged_node j;
  const node_case *of = data;
  begin_node(&j, of, 0);
  CT_CHECK(j.graph == NULL);
  CT_HAS_STR(j.error.text, of->outputs[0]);
  end_node(&j);
}

/* DATA, a node_case, is read, and an error of the call. */
static inline void node_fails(const void *data) {
  static judged_node j;
  const node_case *of = data;
  begin_node(&j, of, 0);
  if (CT_CHECK(j.graph != NULL)) {
    run_node(j.graph, j.in, j.n, j.results, &j.error);
  }
  CT_HAS_STR(j.error.text, of->outputs[0]);
  end_node(&j);
}

static inline int make_and_free(void *data) {
  const node_case *of = data;
  static judged_node j;
  begin_node(&j, of, 0);
  int status = (int)j.error.status;
  end_node(&j);
  return status;
}

/* The graph of DATA, a node_case, isn't made where any allocation is refused; then nothing is left.
 */
static inline void node_without_memory(const void *data) {
  node_case of = *(const node_case *)data;
  CT_CHECK(ct_oom(make_and_free, &of) > 10);
}

#endif
