/* SPDX-License-Identifier: MIT
 *
 * Files mapped into memory, with counted references: whoever uses bytes of a file where they lie
 * holds one. What is written to the bytes stays in this process, and does not reach the file.
 */
#ifndef GEMEL__TEXT_MAP_H
#define GEMEL__TEXT_MAP_H

#include <stddef.h>
#include <stdint.h>
#include <gemel/status.h>

typedef struct gemel__file_map {
  long references; /* counted atomically */
  const uint8_t *bytes;
  size_t length;
} gemel__file_map;

/* Maps the file PATH. NULL on failure: GEMEL_BAD_ARGUMENT, GEMEL_IO, GEMEL_NO_MEMORY. */
gemel__file_map *gemel__file_map_new(const char *path, gemel_error *error);
gemel__file_map *gemel__file_map_ref(gemel__file_map *map);
void gemel__file_map_unref(void *map); /* a gemel__file_map; NULL is ignored */

#endif
