/*
 * Models of ONNX from text, in the syntax of onnx/docs/Syntax.md as far as tests need it:
 *
 *   <ai.onnx: 16, own: 1>
 *   layer (float[N, 3] x, int64 n) => (float[N, 2] y) <float[3, 2] w = {1, 2, 3, 4, 5, 6}> {
 *     p = MatMul (x, w)
 *     q, , r = com.microsoft.Some <axis = 0, scales = [0.5, 1.0], mode = wrap, text = ''> (p, , w)
 *     y = If <then_branch = a () => (float[N, 2] s) { s = Neg (q) }> (r)
 *   }
 *   <ai.onnx: 16>
 *   own.Leaky <slope, other = 0.5> (x) => (y) { y = LeakyRelu <alpha = @slope> (x) }
 *
 * First the versions of operators, which are those of opset 13 if nothing is said, then the graph,
 * then functions. What stands before the point of an operator is its domain. A name between commas
 * may be absent. An attribute is an integer, a float (with a point), a word, a list of one of
 * these, a graph, or that of the function around it, "@slope". A tensor has as many elements as
 * stand there, be they those of its shape or not, and they are read as doubles. A text that can't
 * be read fails the test.
 *
 * The bytes are those of protocol buffers: messages put together from the inside out. A message
 * that is put into another is emptied.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef GEMEL_TESTS_ONNX_TEXT_H
#define GEMEL_TESTS_ONNX_TEXT_H

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gemel/gemel.h>
#include "core/dtype.h"
#include "../ct.h"

/* ---- Bytes ---- */

typedef struct message {
  unsigned char bytes[4096];
  size_t length;
} message;

static inline void put_bytes(message *m, const void *bytes, size_t length) {
  if (CT_CHECK(length <= sizeof m->bytes - m->length)) {
    memcpy(m->bytes + m->length, bytes, length);
    m->length += length;
  }
}

static inline void put_varint(message *m, uint64_t value) {
  do {
    unsigned char byte = (unsigned char)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
    put_bytes(m, &byte, 1);
    value >>= 7;
  } while (value > 0);
}

static inline void put_int(message *m, unsigned number, int64_t value) {
  put_varint(m, number << 3);
  put_varint(m, (uint64_t)value);
}

static inline void put_span(message *m, unsigned number, const void *bytes, size_t length) {
  put_varint(m, number << 3 | 2);
  put_varint(m, length);
  put_bytes(m, bytes, length);
}

static inline void put_text(message *m, unsigned number, const char *text) {
  put_span(m, number, text, strlen(text));
}

static inline void put_message(message *m, unsigned number, message *inner) {
  put_span(m, number, inner->bytes, inner->length);
  inner->length = 0;
}

/* ---- Words ---- */

enum { LONGEST_WORD = 64 };

/* Where a text is read. */
typedef struct onnx_text {
  const char *at;
  int is_bad; /* there is nothing more to read then */
} onnx_text;

static inline void onnx_bad(onnx_text *t, const char *wanted) {
  if (!t->is_bad) {
    CT_FAIL("a model's text should have %s: %.60s", wanted, t->at);
  }
  t->is_bad = 1;
}

/* 1 if MARK comes next, which is read then. */
static inline int onnx_take(onnx_text *t, const char *mark) {
  t->at += strspn(t->at, " \n");
  int is_next = !t->is_bad && strncmp(t->at, mark, strlen(mark)) == 0;
  t->at += is_next ? strlen(mark) : 0;
  return is_next;
}

static inline void onnx_want(onnx_text *t, const char *mark) {
  if (!onnx_take(t, mark)) {
    onnx_bad(t, mark);
  }
}

/* 1 if something comes before END, which is read otherwise; commas are passed over. */
static inline int onnx_next(onnx_text *t, const char *end) {
  onnx_take(t, ",");
  return !onnx_take(t, end) && !t->is_bad;
}

/* The next word, or "". */
static inline char *onnx_word(onnx_text *t, char word[LONGEST_WORD]) {
  static const char letters[] =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-+";
  onnx_take(t, "");
  size_t length = t->is_bad ? 0 : strspn(t->at, letters);
  if (length >= LONGEST_WORD) {
    onnx_bad(t, "a shorter word");
    length = 0;
  }
  memcpy(word, t->at, length);
  word[length] = '\0';
  t->at += length;
  return word;
}

static inline char *onnx_name(onnx_text *t, char name[LONGEST_WORD]) {
  if (*onnx_word(t, name) == '\0') {
    onnx_bad(t, "a name");
  }
  return name;
}

/* Names up to END, each of which may be absent, as fields NUMBER. */
static inline void onnx_names(onnx_text *t, message *m, unsigned number, const char *end) {
  char name[LONGEST_WORD];
  while (!onnx_take(t, end) && !t->is_bad) {
    put_text(m, number, onnx_word(t, name));
    if (!onnx_take(t, ",")) {
      onnx_want(t, end);
      return;
    }
  }
}

/* ---- Tensors ---- */

typedef struct onnx_dtype {
  char letter;
  const char *name;
  gemel_dtype dtype;
  int number;   /* ONNX's */
  double error; /* of a result near 1 that was computed in this dtype */
} onnx_dtype;

static const onnx_dtype onnx_dtypes[] = {{'f', "float", GEMEL_F32, 1, 1e-6},
                                         {'u', "uint8", GEMEL_U8, 2, 0},
                                         {'s', "int8", GEMEL_I8, 3, 0},
                                         {'w', "int32", GEMEL_I32, 6, 0},
                                         {'i', "int64", GEMEL_I64, 7, 0},
                                         {'b', "bool", GEMEL_BOOL, 9, 0},
                                         {'h', "float16", GEMEL_F16, 10, 0x1p-8},
                                         {'d', "double", GEMEL_F64, 11, 1e-12},
                                         {'B', "bfloat16", GEMEL_BF16, 16, 0x1p-5}};

static inline const onnx_dtype *onnx_read_dtype(onnx_text *t) {
  char word[LONGEST_WORD];
  onnx_word(t, word);
  for (size_t k = 0; k < CT_COUNT(onnx_dtypes); k++) {
    if (strcmp(word, onnx_dtypes[k].name) == 0) {
      return &onnx_dtypes[k];
    }
  }
  onnx_bad(t, "a type before this");
  return &onnx_dtypes[0];
}

/* Sizes in brackets, if there are any, as those of a value's SHAPE and of a TENSOR. */
static inline void onnx_sizes(onnx_text *t, message *shape, message *tensor) {
  int is_given = onnx_take(t, "[");
  while (is_given && onnx_next(t, "]")) {
    char word[LONGEST_WORD], *end;
    message dim = {0};
    int64_t size = strtoll(onnx_name(t, word), &end, 10);
    if (*end == '\0') {
      put_int(&dim, 1, size);
      put_int(tensor, 1, size);
    } else {
      put_text(&dim, 2, word);
    }
    put_message(shape, 1, &dim);
  }
}

/* Inputs or outputs of a graph, as fields NUMBER. */
static inline void onnx_values(onnx_text *t, message *graph, unsigned number) {
  onnx_want(t, "(");
  while (onnx_next(t, ")")) {
    message value = {0}, type = {0}, tensor = {0}, shape = {0}, unused = {0};
    char name[LONGEST_WORD];
    put_int(&tensor, 1, onnx_read_dtype(t)->number);
    onnx_sizes(t, &shape, &unused);
    put_message(&tensor, 2, &shape);
    put_message(&type, 1, &tensor);
    put_text(&value, 1, onnx_name(t, name));
    put_message(&value, 2, &type);
    put_message(graph, number, &value);
  }
}

/* "float[2] w = {1, 2}" */
static inline void onnx_tensor(onnx_text *t, message *graph) {
  message tensor = {0}, unused = {0}, elements = {0};
  char word[LONGEST_WORD], *end = word, element[8];
  const onnx_dtype *of = onnx_read_dtype(t);
  onnx_sizes(t, &unused, &tensor);
  put_int(&tensor, 2, of->number);
  put_text(&tensor, 8, onnx_name(t, word));
  onnx_want(t, "=");
  onnx_want(t, "{");
  while (onnx_next(t, "}")) {
    double value = strtod(onnx_name(t, word), &end);
    if (*end != '\0' || gemel__dtype_store(of->dtype, value, element) != GEMEL_OK) {
      onnx_bad(t, "a number before this");
    }
    put_bytes(&elements, element, gemel_dtype_size(of->dtype));
  }
  put_message(&tensor, 9, &elements);
  put_message(graph, 5, &tensor);
}

/* ---- Nodes ---- */

static inline void onnx_graph(onnx_text *t, message *graph);

/* Kinds of attributes: their numbers as types. Fields of single ones and of lists follow in the
 * same order. */
enum { A_FLOAT = 1, AN_INT, A_WORD, A_GRAPH = 5, BEHIND_SINGLE = 1, BEHIND_LIST = 6 };

/* WORD as field NUMBER behind its kind, which is returned. */
static inline int onnx_scalar(message *attribute, unsigned number, const char *word) {
  char *end_of_int, *end_of_float;
  int64_t integer = strtoll(word, &end_of_int, 10);
  float real = strtof(word, &end_of_float);
  if (*end_of_int == '\0') {
    put_int(attribute, AN_INT + number, integer);
    return AN_INT;
  }
  if (*end_of_float == '\0') {
    put_varint(attribute, (A_FLOAT + number) << 3 | 5);
    put_bytes(attribute, &real, sizeof real);
    return A_FLOAT;
  }
  put_text(attribute, A_WORD + number, word);
  return A_WORD;
}

/* "1, 2]" */
static inline void onnx_list(onnx_text *t, message *attribute) {
  char word[LONGEST_WORD];
  int kind = 0;
  while (onnx_next(t, "]")) {
    int next = onnx_scalar(attribute, BEHIND_LIST, onnx_name(t, word));
    if (kind != 0 && next != kind) {
      onnx_bad(t, "elements of one kind before this");
    }
    kind = next;
  }
  if (kind == 0) {
    onnx_bad(t, "elements before this");
  }
  put_int(attribute, 20, kind + A_GRAPH);
}

/* What stands behind "=". */
static inline void onnx_attribute_value(onnx_text *t, message *attribute) {
  char word[LONGEST_WORD];
  message graph = {0};
  if (onnx_take(t, "[")) {
    onnx_list(t, attribute);
  } else if (onnx_take(t, "@")) {
    put_text(attribute, 21, onnx_name(t, word));
  } else if (onnx_take(t, "''")) {
    put_text(attribute, 4, "");
    put_int(attribute, 20, A_WORD);
  } else {
    const char *begin = t->at;
    onnx_name(t, word);
    if (onnx_take(t, "(")) {
      t->at = begin;
      onnx_graph(t, &graph);
      put_message(attribute, 6, &graph);
      put_int(attribute, 20, A_GRAPH);
    } else {
      put_int(attribute, 20, onnx_scalar(attribute, BEHIND_SINGLE, word));
    }
  }
}

/* Attributes, if there are any, as fields NUMBER; those without a value as names, fields BARE. */
static inline void onnx_attributes(onnx_text *t, message *m, unsigned number, unsigned bare) {
  int is_given = onnx_take(t, "<");
  while (is_given && onnx_next(t, ">")) {
    message attribute = {0};
    char name[LONGEST_WORD];
    put_text(&attribute, 1, onnx_name(t, name));
    if (onnx_take(t, "=")) {
      onnx_attribute_value(t, &attribute);
      put_message(m, number, &attribute);
    } else if (bare != 0) {
      put_text(m, bare, name);
    } else {
      onnx_bad(t, "=");
    }
  }
}

/* "own.Leaky": the domain, if there is one, and the name as these fields. */
static inline void onnx_operator(onnx_text *t, message *m, unsigned domain, unsigned number) {
  char name[LONGEST_WORD], *point = strrchr(onnx_name(t, name), '.');
  if (point != NULL) {
    put_span(m, domain, name, (size_t)(point - name));
  }
  put_text(m, number, point != NULL ? point + 1 : name);
}

/* Nodes in braces, as fields NUMBER. */
static inline void onnx_nodes(onnx_text *t, message *m, unsigned number) {
  onnx_want(t, "{");
  while (onnx_next(t, "}")) {
    message node = {0};
    onnx_names(t, &node, 2, "=");
    onnx_operator(t, &node, 7, 4);
    onnx_attributes(t, &node, 5, 0);
    onnx_want(t, "(");
    onnx_names(t, &node, 1, ")");
    put_message(m, number, &node);
  }
}

/* ---- Models ---- */

static inline void onnx_graph(onnx_text *t, message *graph) {
  char name[LONGEST_WORD];
  put_text(graph, 2, onnx_word(t, name));
  onnx_values(t, graph, 11);
  onnx_want(t, "=>");
  onnx_values(t, graph, 12);
  int has_tensors = onnx_take(t, "<");
  while (has_tensors && onnx_next(t, ">")) {
    onnx_tensor(t, graph);
  }
  onnx_nodes(t, graph, 1);
}

/* Versions of domains, if they are given, as fields NUMBER; else opset USUAL unless that is 0. */
static inline void onnx_opsets(onnx_text *t, message *m, unsigned number, int64_t usual) {
  message opset = {0};
  int is_given = onnx_take(t, "<");
  if (!is_given && usual != 0) {
    put_int(&opset, 2, usual);
    put_message(m, number, &opset);
  }
  while (is_given && onnx_next(t, ">")) {
    char word[LONGEST_WORD], *end;
    put_text(&opset, 1, strcmp(onnx_name(t, word), "ai.onnx") == 0 ? "" : word);
    onnx_want(t, ":");
    put_int(&opset, 2, strtoll(onnx_name(t, word), &end, 10));
    if (*end != '\0') {
      onnx_bad(t, "a version before this");
    }
    put_message(m, number, &opset);
  }
}

static inline void onnx_function(onnx_text *t, message *function) {
  onnx_opsets(t, function, 9, 0);
  onnx_operator(t, function, 10, 1);
  onnx_attributes(t, function, 11, 6);
  onnx_want(t, "(");
  onnx_names(t, function, 4, ")");
  onnx_want(t, "=>");
  onnx_want(t, "(");
  onnx_names(t, function, 5, ")");
  onnx_nodes(t, function, 7);
}

/* The model of TEXT. */
static inline message onnx_model(const char *text) {
  onnx_text t = {text, 0};
  message model = {0}, part = {0};
  put_int(&model, 1, 8);
  onnx_opsets(&t, &model, 8, 13);
  onnx_graph(&t, &part);
  put_message(&model, 7, &part);
  for (onnx_take(&t, ""); !t.is_bad && *t.at != '\0'; onnx_take(&t, "")) {
    onnx_function(&t, &part);
    put_message(&model, 25, &part);
  }
  return model;
}

/* The same of a text that is made as printf makes it. */
__attribute__((format(printf, 1, 2))) static inline message onnx_format(const char *format, ...) {
  char text[4096];
  va_list values;
  va_start(values, format);
  CT_CHECK(vsnprintf(text, sizeof text, format, values) < (int)sizeof text);
  va_end(values);
  return onnx_model(text);
}

/* The graph of MODEL, and its *NAME unless that is NULL; NULL and *ERROR on failure. */
static inline gemel_graph *onnx_graph_of(const message *model, gemel_context *context,
                                         const gemel_onnx_options *options, char **name,
                                         gemel_error *error) {
  gemel_onnx *read = gemel_onnx_parse(model->bytes, model->length, "m.onnx", NULL, error);
  gemel_graph *graph = read != NULL ? gemel_onnx_graph(read, context, options, name, error) : NULL;
  gemel_onnx_free(read);
  return graph;
}

#endif
