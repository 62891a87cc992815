/* SPDX-License-Identifier: MIT
 *
 * Protocol buffers as bytes: the fields of a message, one after the other, in place. A field is a
 * key (its number and how it is encoded) and a varint, 4 or 8 bytes, or a length and that many
 * bytes: text, a nested message, or packed numbers. Nothing is copied. Source:
 * protobuf.dev/programming-guides/encoding.
 */
#ifndef GEMEL__ONNX_WIRE_H
#define GEMEL__ONNX_WIRE_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of the file: a message, text (without a NUL at its end), or packed numbers. */
typedef struct gemel__wire_span {
  const uint8_t *bytes; /* NULL: absent */
  size_t length;
} gemel__wire_span;

typedef enum gemel__wire_type {
  GEMEL__WIRE_VARINT = 0,
  GEMEL__WIRE_64 = 1,
  GEMEL__WIRE_BYTES = 2,
  GEMEL__WIRE_32 = 5
} gemel__wire_type;

typedef struct gemel__wire_field {
  uint32_t number;
  gemel__wire_type type;
  uint64_t bits;         /* of a varint, or of 4 or 8 bytes */
  gemel__wire_span span; /* of GEMEL__WIRE_BYTES */
} gemel__wire_field;

/* Takes the first field off *REST: 1 and *FIELD; 0 at the end; -1 where the bytes are no field (cut
 * off, number 0, a length beyond the end, another encoding), with *REST at the field. */
int gemel__wire_next(gemel__wire_span *rest, gemel__wire_field *field);

/* Takes a varint off *REST: 1 and *VALUE, or -1. */
int gemel__wire_varint(gemel__wire_span *rest, uint64_t *value);

/* 1 if A and B are the same bytes. */
int gemel__wire_same(gemel__wire_span a, gemel__wire_span b);

/* 1 if SPAN is TEXT, byte for byte. */
int gemel__wire_is(gemel__wire_span span, const char *text);

#endif
