/* SPDX-License-Identifier: MIT
 *
 * Text of unknown length, written twice: see buffer.h.
 */
#include "base/buffer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <gemel/text.h>
#include "core/alloc.h"
#include "core/lex.h"

void gemel__buffer_text(gemel__buffer *b, const char *text) {
  size_t length = strlen(text);
  if (b->used < b->bytes) {
    size_t fits = b->bytes - 1 - b->used;
    size_t n = length < fits ? length : fits;
    memcpy(b->text + b->used, text, n);
    b->text[b->used + n] = '\0';
  }
  b->used += length;
}

void gemel__buffer_format(gemel__buffer *b, const char *format, ...) {
  char piece[1600];
  va_list args;
  va_start(args, format);
  vsnprintf(piece, sizeof piece, format, args);
  va_end(args);
  gemel__buffer_text(b, piece);
}

void gemel__buffer_take(gemel__buffer *b, char *text) {
  b->failed |= text == NULL;
  gemel__buffer_text(b, text != NULL ? text : "");
  gemel_text_free(text);
}

int gemel__buffer_allocate(gemel__buffer *b) {
  if (b->failed) {
    return -1;
  }
  b->bytes = b->used + 1;
  b->text = gemel__alloc(b->bytes);
  if (b->text == NULL) {
    return -1;
  }
  b->text[0] = '\0';
  b->used = 0;
  return 0;
}

char *gemel__buffer_finish(gemel__buffer *b) {
  if (b->failed) {
    gemel__free(b->text, b->bytes);
    b->text = NULL;
  }
  return b->text;
}

/* ---- JSON ---- */

void gemel__json_string(gemel__buffer *b, const char *text) {
  const unsigned char *p = (const unsigned char *)(text != NULL ? text : "");
  size_t length;
  gemel__buffer_text(b, "\"");
  for (; *p != '\0'; p += length > 0 ? length : 1) {
    const char *at = (const char *)p;
    length = gemel__utf8_bytes(at, at + strnlen(at, 4));
    if (*p == '"' || *p == '\\') {
      gemel__buffer_format(b, "\\%c", *p);
    } else if (*p == '\n') {
      gemel__buffer_text(b, "\\n");
    } else if (*p < 0x20) {
      gemel__buffer_format(b, "\\u%04x", *p);
    } else if (length == 0) {
      gemel__buffer_text(b, "?"); /* names of files are any bytes, JSON is UTF-8 */
    } else {
      gemel__buffer_format(b, "%.*s", (int)length, at);
    }
  }
  gemel__buffer_text(b, "\"");
}

void gemel__json_field(gemel__buffer *b, const char *name, const char *text) {
  gemel__buffer_format(b, ", \"%s\": ", name);
  gemel__json_string(b, text);
}

void gemel__json_number(gemel__buffer *b, const char *name, double x) {
  if (isfinite(x)) {
    gemel__buffer_format(b, ", \"%s\": %.6g", name, x);
  } else {
    gemel__buffer_format(b, ", \"%s\": \"%s\"", name, isnan(x) ? "nan" : "inf");
  }
}
