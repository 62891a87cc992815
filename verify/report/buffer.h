/* SPDX-License-Identifier: MIT
 *
 * Text of unknown length: write once into nothing to measure, allocate, write again. The result is
 * a block of exactly its length plus the NUL, as gemel_text_free wants it.
 */
#ifndef GEMEL__REPORT_BUFFER_H
#define GEMEL__REPORT_BUFFER_H

#include <stddef.h>
#include "core/error.h"

typedef struct gemel__buffer {
  char *text;
  size_t bytes; /* room, NUL included */
  size_t used;  /* length of all that was written, whether it fitted or not */
} gemel__buffer;

void gemel__buffer_text(gemel__buffer *buffer, const char *text);
void gemel__buffer_format(gemel__buffer *buffer, const char *format, ...) GEMEL__PRINTF(2, 3);

/* Gives a measured buffer its room and starts over; 0, or −1 when memory is out. */
int gemel__buffer_allocate(gemel__buffer *buffer);

#endif
