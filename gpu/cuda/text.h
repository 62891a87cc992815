/* SPDX-License-Identifier: MIT
 *
 * A text that grows. Once memory is out it stays empty, and FAILED says so.
 */
#ifndef GEMEL__CUDA_TEXT_H
#define GEMEL__CUDA_TEXT_H

#include <stddef.h>

typedef struct gemel__cuda_text {
  char *data; /* freed by the owner */
  size_t bytes, capacity;
  int failed;
} gemel__cuda_text;

void gemel__cuda_write(gemel__cuda_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The files that a text compiled at run time may include, by the names that it includes them by;
 * the list ends with a NULL name (made from them, see gpu/cuda/local.mk). */
typedef struct gemel__cuda_header {
  const char *name, *text;
} gemel__cuda_header;

extern const gemel__cuda_header gemel__cuda_headers[];

#endif
