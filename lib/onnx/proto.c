/* SPDX-License-Identifier: MIT
 *
 * Messages of ONNX in place. Checking keeps the messages that it stands in on a stack of its own,
 * which is as deep as gemel reads models.
 */
#include "onnx/proto.h"

#include "core/error.h"

/* ---- The table ---- */

typedef struct field_row {
  gemel__proto_kind message;
  uint32_t number;
  gemel__proto_kind kind;
} field_row;

static const field_row fields[] = {
#define FIELD(message, E, number, kind) {GEMEL__PROTO_##message, number, GEMEL__PROTO_##kind},
#include "onnx/proto.def"
};

static const char *const message_names[GEMEL__PROTO_KINDS] = {
#define MESSAGE(E, name) [GEMEL__PROTO_##E] = #name,
#include "onnx/proto.def"
};

static const field_row *row_of(gemel__proto_kind message, uint32_t number) {
  for (size_t k = 0; k < sizeof fields / sizeof *fields; k++) {
    if (fields[k].message == message && fields[k].number == number) {
      return &fields[k];
    }
  }
  return NULL;
}

static int is_message(gemel__proto_kind kind) {
  return message_names[kind] != NULL;
}

/* ---- Checking ---- */

/* Bytes of a number of this kind that stands alone or in a packed list; 0: a varint. */
static size_t width_of(gemel__proto_kind kind) {
  return kind == GEMEL__PROTO_FLOAT ? 4 : kind == GEMEL__PROTO_DOUBLE ? 8 : 0;
}

static gemel__wire_type type_of(gemel__proto_kind kind) {
  return kind == GEMEL__PROTO_INT      ? GEMEL__WIRE_VARINT
         : kind == GEMEL__PROTO_FLOAT  ? GEMEL__WIRE_32
         : kind == GEMEL__PROTO_DOUBLE ? GEMEL__WIRE_64
                                       : GEMEL__WIRE_BYTES;
}

/* 1 if FIELD is encoded as one of KIND may be. */
static int fits(const gemel__wire_field *field, gemel__proto_kind kind) {
  gemel__wire_span packed = field->span;
  uint64_t bits;
  if (type_of(kind) == field->type) {
    return 1;
  }
  if (field->type != GEMEL__WIRE_BYTES) {
    return 0;
  }
  if (width_of(kind) > 0) {
    return packed.length % width_of(kind) == 0;
  }
  while (packed.length > 0) {
    if (gemel__wire_varint(&packed, &bits) < 0) {
      return 0;
    }
  }
  return 1;
}

typedef struct open_message {
  gemel__proto_kind kind;
  gemel__wire_span rest;
} open_message;

static gemel_status malformed(const open_message *at, gemel__wire_span whole, gemel_error *error) {
  return gemel__fail(error, GEMEL_BAD_FILE, "byte %zu: not a field of %s as ONNX has it",
                     (size_t)(at->rest.bytes - whole.bytes), message_names[at->kind]);
}

gemel_status gemel__proto_check(gemel__wire_span bytes, gemel__proto_kind kind,
                                gemel_error *error) {
  enum { DEEPEST = 64 };
  open_message open[DEEPEST];
  size_t depth = 1;
  open[0] = (open_message){kind, bytes};
  while (depth > 0) {
    open_message *at = &open[depth - 1], before = *at;
    gemel__wire_field field;
    int found = gemel__wire_next(&at->rest, &field);
    const field_row *row = found > 0 ? row_of(at->kind, field.number) : NULL;
    if (found < 0 || (row != NULL && !fits(&field, row->kind))) {
      return malformed(&before, bytes, error);
    }
    depth -= found == 0;
    if (row == NULL || !is_message(row->kind)) {
      continue;
    }
    if (depth == DEEPEST) {
      return gemel__fail(error, GEMEL_BAD_FILE, "byte %zu: messages are nested more than %d deep",
                         (size_t)(before.rest.bytes - bytes.bytes), DEEPEST);
    }
    open[depth++] = (open_message){row->kind, field.span};
  }
  return GEMEL_OK;
}

/* ---- Reading ---- */

int gemel__proto_next(gemel__wire_span *rest, uint32_t number, gemel__wire_field *field) {
  while (gemel__wire_next(rest, field) > 0) {
    if (field->number == number) {
      return 1;
    }
  }
  return 0;
}

size_t gemel__proto_count(gemel__wire_span message, uint32_t number) {
  gemel__wire_field field;
  size_t count = 0;
  while (gemel__proto_next(&message, number, &field)) {
    count++;
  }
  return count;
}

gemel__wire_span gemel__proto_span(gemel__wire_span message, uint32_t number) {
  gemel__wire_field field;
  gemel__wire_span last = {NULL, 0};
  while (gemel__proto_next(&message, number, &field)) {
    last = field.span;
  }
  return last;
}

int gemel__proto_int(gemel__wire_span message, uint32_t number, int64_t *value) {
  gemel__numbers numbers = {.message = message, .number = number, .kind = GEMEL__PROTO_INT};
  uint64_t bits;
  int found = 0;
  while (gemel__numbers_next(&numbers, &bits)) {
    *value = (int64_t)bits;
    found = 1;
  }
  return found;
}

/* The first number of a packed list, which is there. */
static uint64_t take_packed(gemel__numbers *numbers) {
  size_t width = width_of(numbers->kind);
  uint64_t bits = 0;
  if (width == 0) {
    gemel__wire_varint(&numbers->packed, &bits);
    return bits;
  }
  for (size_t k = 0; k < width; k++) {
    bits |= (uint64_t)numbers->packed.bytes[k] << (8 * k);
  }
  numbers->packed.bytes += width;
  numbers->packed.length -= width;
  return bits;
}

int gemel__numbers_next(gemel__numbers *numbers, uint64_t *bits) {
  gemel__wire_field field;
  while (numbers->packed.length == 0) {
    if (!gemel__proto_next(&numbers->message, numbers->number, &field)) {
      return 0;
    }
    if (field.type != GEMEL__WIRE_BYTES) {
      *bits = field.bits;
      return 1;
    }
    numbers->packed = field.span;
  }
  *bits = take_packed(numbers);
  return 1;
}

size_t gemel__numbers_count(gemel__numbers numbers) {
  size_t count = 0;
  uint64_t bits;
  while (gemel__numbers_next(&numbers, &bits)) {
    count++;
  }
  return count;
}
