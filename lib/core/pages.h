/* SPDX-License-Identifier: MIT
 *
 * Big blocks straight from the system, on huge pages where it has them.
 */
#ifndef GEMEL__CORE_PAGES_H
#define GEMEL__CORE_PAGES_H

#include <stddef.h>

/* 1 if a block of BYTES bytes is one of these. */
int gemel__pages_wanted(size_t bytes);

/* BYTES bytes, or BYTES zeroed bytes, that begin at a huge page, or NULL. */
void *gemel__pages_new(size_t bytes);
void *gemel__pages_new_zeroed(size_t bytes);

/* Resizes a block without copying it, or returns NULL and leaves it as it was. Both sizes are
 * wanted. */
void *gemel__pages_resize(void *block, size_t old_bytes, size_t bytes);

/* The memory is kept for other blocks, and for the system when it needs some. */
void gemel__pages_free(void *block, size_t bytes);

/* Gives what is kept back to the system at once; 0: there was nothing. */
int gemel__pages_release(void);

#endif
