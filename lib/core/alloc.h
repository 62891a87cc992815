/* SPDX-License-Identifier: MIT
 *
 * Allocation inside the library: every block goes through the program's hooks, and its size is
 * known when it is released. Growth of arrays is here too, so that overflow is checked in one
 * place.
 */
#ifndef GEMEL__CORE_ALLOC_H
#define GEMEL__CORE_ALLOC_H

#include <stddef.h>
#include <stdint.h>
#include <gemel/alloc.h>

/* BYTES bytes (0 is allowed and gives a block all the same), or NULL. */
void *gemel__alloc(size_t bytes);

/* As gemel__alloc, filled with zeros. */
void *gemel__alloc_zeroed(size_t bytes);

/* COUNT × BYTES zeroed bytes with overflow check, or NULL. */
void *gemel__alloc_array(size_t count, size_t bytes);

/* Resizes; on NULL the old block is untouched. BLOCK may be NULL. */
void *gemel__realloc(void *block, size_t old_bytes, size_t bytes);

/* Frees a block of BYTES bytes; NULL is ignored. */
void gemel__free(void *block, size_t bytes);

/* Makes room for at least NEED elements of BYTES bytes in *ARRAY, whose capacity is *CAPACITY:
 * grows by half. Returns 0, or -1 with everything as it was. */
int gemel__grow_to(void *array_pointer, size_t *capacity, size_t need, size_t bytes);
static inline int gemel__grow(void *array_pointer, size_t *capacity, size_t need, size_t bytes) {
  return need <= *capacity ? 0 : gemel__grow_to(array_pointer, capacity, need, bytes);
}

/* Copies a NUL-terminated string; NULL when memory is out. Release with gemel__free_string. */
char *gemel__copy_string(const char *text);
void gemel__free_string(char *text);

#endif
