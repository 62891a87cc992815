/*
 * Models of ONNX written by tests: messages as bytes, put together from the inside out.
 *
 *   message node = {0}, graph = {0}, model = {0};
 *   put_text(&node, 1, "x"); ...
 *   put_message(&graph, 1, &node);
 *
 * A message that is put into another is emptied.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef GEMEL_TESTS_ONNX_WRITER_H
#define GEMEL_TESTS_ONNX_WRITER_H

#include <stdint.h>
#include <string.h>

typedef struct message {
  unsigned char bytes[4096];
  size_t length;
} message;

static inline void put_bytes(message *m, const void *bytes, size_t length) {
  if (m->length + length <= sizeof m->bytes) {
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

/* ---- ONNX ---- */

enum { ONNX_FLOAT = 1, ONNX_INT64 = 7 };

/* A tensor of RANK sizes with raw elements. */
static inline void raw_tensor(message *m, const char *name, int dtype, int rank,
                              const int64_t *shape, const void *data, size_t bytes) {
  for (int k = 0; k < rank; k++) {
    put_int(m, 1, shape[k]);
  }
  put_int(m, 2, dtype);
  put_text(m, 8, name);
  put_span(m, 9, data, bytes);
}

/* An input or output: a size below 0 is the symbol N. */
static inline void put_value(message *graph, unsigned number, const char *name, int dtype, int rank,
                             const int64_t *shape) {
  message value = {0}, type = {0}, tensor = {0}, dims = {0}, dim = {0};
  for (int k = 0; k < rank; k++) {
    if (shape[k] < 0) {
      put_text(&dim, 2, "N");
    } else {
      put_int(&dim, 1, shape[k]);
    }
    put_message(&dims, 1, &dim);
  }
  put_int(&tensor, 1, dtype);
  put_message(&tensor, 2, &dims);
  put_message(&type, 1, &tensor);
  put_text(&value, 1, name);
  put_message(&value, 2, &type);
  put_message(graph, number, &value);
}

/* A node with inputs and outputs in text with spaces between them; ATTRIBUTES may be NULL. */
static inline void put_node(message *graph, const char *operator_, const char *inputs,
                            const char *outputs, message *attributes) {
  message node = {0};
  const char *lists[2] = {inputs, outputs};
  for (unsigned k = 0; k < 2; k++) {
    for (const char *at = lists[k]; *at != '\0';) {
      size_t length = strcspn(at, " ");
      put_span(&node, k + 1, at, length);
      at += length + (at[length] == ' ');
    }
  }
  put_text(&node, 4, operator_);
  if (attributes != NULL) {
    put_bytes(&node, attributes->bytes, attributes->length);
    attributes->length = 0;
  }
  put_message(graph, 1, &node);
}

static inline void put_int_attribute(message *attributes, const char *name, int64_t value) {
  message a = {0};
  put_text(&a, 1, name);
  put_int(&a, 3, value);
  put_int(&a, 20, 2);
  put_message(attributes, 5, &a);
}

/* The whole model of GRAPH, with what else MODEL has already. */
static inline void put_model(message *model, message *graph) {
  message opset = {0};
  put_int(model, 1, 8);
  put_int(&opset, 2, 13);
  put_message(model, 8, &opset);
  put_message(model, 7, graph);
}

#endif
