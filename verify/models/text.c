/* SPDX-License-Identifier: MIT
 *
 * Rows of the built-in text, onnx.models: one begins in the first column of a line, with the word
 * that says what it is, and has the lines below that are indented. What a row says is looked up
 * where it stands.
 */
#include <stdlib.h>
#include <string.h>
#include "models/sketch.h"
#include "rules/builtin.h"

extern const gemel__builtin_text gemel__builtin_models[];

/* ---- Rows ---- */

static const char *line_end(const char *at) {
  return at + strcspn(at, "\n");
}

static int is_indented(const char *at) {
  return *at == ' ' || *at == '\n';
}

int gemel__model_row_next(const char *word, const char **at, gemel__model_row *row) {
  const char *p = *at != NULL ? *at : gemel__builtin_models[0].text;
  size_t length = strlen(word);
  for (; *p != '\0'; p = line_end(p) + (*line_end(p) != '\0')) {
    if (strncmp(p, word, length) == 0 && p[length] == ' ') {
      row->head = p + length + 1;
      row->head_length = (size_t)(line_end(p) - row->head);
      row->body = line_end(p);
      for (row->end = row->body; row->end[0] != '\0' && is_indented(row->end + 1);) {
        row->end = line_end(row->end + 1);
      }
      *at = row->end;
      return 1;
    }
  }
  return 0;
}

int gemel__model_row_find(const char *word, const char *name, size_t length,
                          gemel__model_row *row) {
  for (const char *at = NULL; gemel__model_row_next(word, &at, row);) {
    if (strcspn(row->head, " \n") == length && strncmp(row->head, name, length) == 0) {
      return 1;
    }
  }
  return 0;
}

/* ---- Types of operators ---- */

/* The row of "types" that has OP, and its operand that has the type. */
static int types_of(const char *op, gemel__model_row *row, int *operand) {
  size_t length = strlen(op);
  for (const char *at = NULL; gemel__model_row_next("types", &at, row);) {
    for (const char *p = row->head; *p != ':' && *p != '\n'; p += *p == ' ') {
      size_t n = strcspn(p, " :\n"), name = strcspn(p, "@ :\n");
      if (name == length && strncmp(p, op, length) == 0) {
        *operand = n > name ? atoi(p + name + 1) : 0;
        return 1;
      }
      p += n;
    }
  }
  return 0;
}

/* 1 if DTYPE is of a class, a capital letter, or has this name. */
static int is_of_class(gemel_dtype dtype, const char *word, size_t length) {
  gemel_kind kind = gemel_dtype_kind(dtype);
  const char *name = gemel_dtype_name(dtype);
  int is_wide = gemel_dtype_size(dtype) >= 4;
  if (length > 1 || dtype == GEMEL_DTYPE_COUNT) {
    return length > 1 && strlen(name) == length && strncmp(name, word, length) == 0;
  }
  switch (*word) {
  case 'F':
    return kind == GEMEL_KIND_FLOAT && dtype != GEMEL_BF16;
  case 'B':
    return dtype == GEMEL_BF16;
  case 'S':
    return kind == GEMEL_KIND_SIGNED;
  case 'U':
    return kind == GEMEL_KIND_UNSIGNED;
  case 'W':
    return is_wide && (kind == GEMEL_KIND_SIGNED || kind == GEMEL_KIND_UNSIGNED);
  case 'Z':
    return is_wide && kind == GEMEL_KIND_SIGNED;
  case 'L':
    return kind == GEMEL_KIND_BOOL;
  case 'A':
    return dtype != GEMEL_BF16;
  default:
    return 0;
  }
}

int gemel__model_takes(const char *op, int opset, gemel_dtype dtype) {
  gemel__model_row row;
  int operand, since = 0, takes = 0;
  if (!types_of(op, &row, &operand)) {
    return 0;
  }
  const char *p = row.head + strcspn(row.head, ":") + 1;
  for (; p < row.body; p += strspn(p, " ,")) {
    size_t n = strcspn(p, " ,\n");
    if (*p >= '0' && *p <= '9') {
      since = atoi(p);
      takes |= since <= opset && dtype == GEMEL_DTYPE_COUNT;
    } else {
      takes |= since <= opset && is_of_class(dtype, p, n);
    }
    p += n;
  }
  return takes;
}

int gemel__model_typed_operand(const char *op) {
  gemel__model_row row;
  int operand = 0;
  types_of(op, &row, &operand);
  return operand;
}

/* ---- Older opsets ---- */

/* 1 if OP stands behind the ':' of the row, or in it where it has none. */
static int lists_op(const gemel__model_row *row, const char *op) {
  size_t length = strlen(op);
  const char *colon = memchr(row->head, ':', row->head_length);
  const char *p = colon != NULL ? colon : row->head;
  while (p < row->body) {
    p += 1 + (p[1] == ' ');
    size_t n = strcspn(p, " \n");
    if (n == length && strncmp(p, op, n) == 0) {
      return 1;
    }
    p += n;
  }
  return 0;
}

static int is_word(const char *at, const char *word) {
  size_t length = strlen(word);
  return strncmp(at, word, length) == 0 && (at[length] == ':' || at[length] == ' ');
}

int gemel__model_operand_since(const char *op, int k, gemel__sketch_name name,
                               gemel__sketch_kind *kind) {
  gemel__model_row row;
  for (const char *at = NULL; gemel__model_row_next("operand", &at, &row);) {
    if (row.head[0] == '0' + k && lists_op(&row, op)) {
      char *rest;
      int since = (int)strtol(row.head + 2, &rest, 10);
      size_t n = *rest == ' ' ? strcspn(rest + 1, " ") : 0;
      memcpy(name, rest + 1, n);
      name[n] = '\0';
      rest += n + 2;
      *kind = n == 0                  ? 0
              : is_word(rest, "ints") ? GEMEL__SKETCH_INTS
              : is_word(rest, "int")  ? GEMEL__SKETCH_INT
                                      : GEMEL__SKETCH_FLOAT;
      return since;
    }
  }
  return 0;
}

int gemel__model_is_same(const char *op) {
  gemel__model_row row;
  for (const char *at = NULL; gemel__model_row_next("same", &at, &row);) {
    row.head--;
    if (lists_op(&row, op)) {
      return 1;
    }
  }
  return 0;
}

int gemel__model_needed(const char *op, int opset) {
  gemel__model_row row;
  for (const char *at = NULL; gemel__model_row_next("needed", &at, &row);) {
    if (lists_op(&row, op) && opset < atoi(row.head + 2)) {
      return atoi(row.head);
    }
  }
  return -1;
}

int gemel__model_attr_since(const char *op, const char *name, int *drop) {
  gemel__model_row row;
  for (const char *at = NULL; gemel__model_row_next("attribute", &at, &row);) {
    if (is_word(row.head, name) && lists_op(&row, op)) {
      char *rest;
      int since = (int)strtol(row.head + strlen(name), &rest, 10);
      *drop = is_word(rest + 1, "drop");
      return since;
    }
  }
  return 0;
}
