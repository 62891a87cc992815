/* SPDX-License-Identifier: MIT
 *
 * Text of unknown length. Write everything once without memory, to measure it; allocate; write
 * again. The result is a block of exactly its length plus the NUL, as gemel_text_free needs.
 */
#ifndef GEMEL__BASE_BUFFER_H
#define GEMEL__BASE_BUFFER_H

#include <stddef.h>
#include "core/error.h"

typedef struct gemel__buffer {
  char *text;
  size_t bytes; /* room, NUL included */
  size_t used;  /* length of all that was written, even if it didn't fit */
  int failed;   /* 1: memory ran out for a part, so there is no text */
} gemel__buffer;

void gemel__buffer_text(gemel__buffer *buffer, const char *text);
void gemel__buffer_format(gemel__buffer *buffer, const char *format, ...) GEMEL__PRINTF(2, 3);

/* Appends TEXT and frees it. NULL (memory was out for it): the buffer fails. */
void gemel__buffer_take(gemel__buffer *buffer, char *text);

/* Allocates what was measured and starts again. −1: memory is out. */
int gemel__buffer_allocate(gemel__buffer *buffer);

/* The text, which the caller frees with gemel_text_free; NULL if the buffer has failed. */
char *gemel__buffer_finish(gemel__buffer *buffer);

/* JSON: TEXT as a string (NULL: ""), with '?' for each byte that is no UTF-8; a further field of an
 * object, with a string or a number. JSON has no infinities and NaN, so these become strings. */
void gemel__json_string(gemel__buffer *buffer, const char *text);
void gemel__json_field(gemel__buffer *buffer, const char *name, const char *text);
void gemel__json_number(gemel__buffer *buffer, const char *name, double x);

#endif
