/* SPDX-License-Identifier: MIT
 *
 * Fields of protocol buffers in place. Every read is checked against the end of the span, so that
 * a length that lies is an error and no read behind the file.
 */
#include "onnx/wire.h"

#include <string.h>

static void skip(gemel__wire_span *rest, size_t count) {
  rest->bytes += count;
  rest->length -= count;
}

int gemel__wire_varint(gemel__wire_span *rest, uint64_t *value) {
  enum { MOST = 10 }; /* bytes of 7 bits that hold 64 */
  uint64_t sum = 0;
  for (size_t k = 0; k < MOST && k < rest->length; k++) {
    uint8_t byte = rest->bytes[k];
    sum |= (uint64_t)(byte & 0x7f) << (7 * k);
    if (byte < 0x80) {
      *value = sum;
      skip(rest, k + 1);
      return 1;
    }
  }
  return -1;
}

/* COUNT bytes, the lowest first. */
static int fixed(gemel__wire_span *rest, size_t count, uint64_t *value) {
  if (rest->length < count) {
    return -1;
  }
  *value = 0;
  for (size_t k = 0; k < count; k++) {
    *value |= (uint64_t)rest->bytes[k] << (8 * k);
  }
  skip(rest, count);
  return 1;
}

static int length_delimited(gemel__wire_span *rest, gemel__wire_span *span) {
  uint64_t length;
  if (gemel__wire_varint(rest, &length) < 0 || length > rest->length) {
    return -1;
  }
  *span = (gemel__wire_span){rest->bytes, (size_t)length};
  skip(rest, (size_t)length);
  return 1;
}

static int payload(gemel__wire_span *rest, gemel__wire_field *field) {
  switch (field->type) {
  case GEMEL__WIRE_VARINT:
    return gemel__wire_varint(rest, &field->bits);
  case GEMEL__WIRE_64:
    return fixed(rest, 8, &field->bits);
  case GEMEL__WIRE_BYTES:
    return length_delimited(rest, &field->span);
  case GEMEL__WIRE_32:
    return fixed(rest, 4, &field->bits);
  default: /* groups, which proto2 gave up */
    return -1;
  }
}

int gemel__wire_next(gemel__wire_span *rest, gemel__wire_field *field) {
  gemel__wire_span left = *rest;
  uint64_t key;
  if (left.length == 0) {
    return 0;
  }
  *field = (gemel__wire_field){0, GEMEL__WIRE_VARINT, 0, {NULL, 0}};
  if (gemel__wire_varint(&left, &key) < 0 || key >> 3 == 0 || key >> 3 > UINT32_MAX) {
    return -1;
  }
  field->number = (uint32_t)(key >> 3);
  field->type = (gemel__wire_type)(key & 7);
  if (payload(&left, field) < 0) {
    return -1;
  }
  *rest = left;
  return 1;
}

int gemel__wire_same(gemel__wire_span a, gemel__wire_span b) {
  return a.length == b.length && (a.length == 0 || memcmp(a.bytes, b.bytes, a.length) == 0);
}

int gemel__wire_is(gemel__wire_span span, const char *text) {
  return gemel__wire_same(span, (gemel__wire_span){(const uint8_t *)text, strlen(text)});
}
