/* SPDX-License-Identifier: MIT
 *
 * Text of unknown length: write once into nothing to measure, allocate, write again. The result is
 * a block of exactly its length plus the NUL, as gemel_text_free wants it.
 */
#ifndef GEMEL__BASE_BUFFER_H
#define GEMEL__BASE_BUFFER_H

#include <stddef.h>
#include "core/error.h"

typedef struct gemel__buffer {
  char *text;
  size_t bytes; /* room, NUL included */
  size_t used;  /* length of all that was written, whether it fitted or not */
  int failed;   /* memory ran out for a part: there is no text */
} gemel__buffer;

void gemel__buffer_text(gemel__buffer *buffer, const char *text);
void gemel__buffer_format(gemel__buffer *buffer, const char *format, ...) GEMEL__PRINTF(2, 3);

/* TEXT, which is then freed; NULL: memory was out for it, so the buffer fails. */
void gemel__buffer_take(gemel__buffer *buffer, char *text);

/* Gives a measured buffer its room and starts over; 0, or −1 when memory is out. */
int gemel__buffer_allocate(gemel__buffer *buffer);

/* The text, which the caller frees with gemel_text_free; NULL if the buffer has failed. */
char *gemel__buffer_finish(gemel__buffer *buffer);

/* JSON: TEXT as a string (NULL: ""); a further field of an object, a string, or a number, where
 * infinities and NaN, which JSON hasn't, become strings. */
void gemel__json_string(gemel__buffer *buffer, const char *text);
void gemel__json_field(gemel__buffer *buffer, const char *name, const char *text);
void gemel__json_number(gemel__buffer *buffer, const char *name, double x);

#endif
