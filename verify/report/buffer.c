/* SPDX-License-Identifier: MIT
 *
 * A text buffer that is written twice, see buffer.h.
 */
#include "report/buffer.h"

#include <stdio.h>
#include <string.h>
#include <gemel/text.h>
#include "core/alloc.h"

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
