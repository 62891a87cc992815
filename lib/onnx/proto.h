/* SPDX-License-Identifier: MIT
 *
 * Messages of ONNX in place: checked once as a whole, then read where they lie. A message is a
 * span; its fields are found by walking over it, so what isn't asked for (the weights, above all)
 * costs nothing. After gemel__proto_check nothing here can fail.
 */
#ifndef GEMEL__ONNX_PROTO_H
#define GEMEL__ONNX_PROTO_H

#include <gemel/status.h>
#include "onnx/wire.h"

typedef enum gemel__proto_kind {
  GEMEL__PROTO_TEXT,
  GEMEL__PROTO_INT,
  GEMEL__PROTO_FLOAT,
  GEMEL__PROTO_DOUBLE,
#define MESSAGE(E, name) GEMEL__PROTO_##E,
#include "onnx/proto.def"
  GEMEL__PROTO_KINDS
} gemel__proto_kind;

/* The number of each field: GEMEL__NODE_INPUT. */
enum {
#define FIELD(message, E, number, kind) GEMEL__##message##_##E = number,
#include "onnx/proto.def"
};

/* Checks that BYTES are a message of KIND, with all messages in it that gemel reads: fields whole
 * and encoded as their kind is, not nested deeper than 64. GEMEL_BAD_FILE (with the byte counted
 * from the first), GEMEL_NO_MEMORY. Linear time, but for tensors' bytes, which aren't looked at. */
gemel_status gemel__proto_check(gemel__wire_span bytes, gemel__proto_kind kind, gemel_error *error);

/* Takes fields off *REST up to and with the next of this NUMBER: 1, or 0 if there is none left. */
int gemel__proto_next(gemel__wire_span *rest, uint32_t number, gemel__wire_field *field);

/* How many fields of this number there are. */
size_t gemel__proto_count(gemel__wire_span message, uint32_t number);

/* The text or message that is field NUMBER (the last one, where there are several); absent: no
 * bytes, NULL. */
gemel__wire_span gemel__proto_span(gemel__wire_span message, uint32_t number);

/* 1 and *VALUE if there is an integer in field NUMBER, else 0. */
int gemel__proto_int(gemel__wire_span message, uint32_t number, int64_t *value);

/* The numbers of a repeated field, packed or one by one: zeroed but for MESSAGE, NUMBER and KIND
 * (INT, FLOAT or DOUBLE). */
typedef struct gemel__numbers {
  gemel__wire_span message;
  uint32_t number;
  gemel__proto_kind kind;
  gemel__wire_span packed;
} gemel__numbers;

/* 1 and the next number's bits, or 0 at the end. */
int gemel__numbers_next(gemel__numbers *numbers, uint64_t *bits);

/* How many numbers are left. */
size_t gemel__numbers_count(gemel__numbers numbers);

#endif
