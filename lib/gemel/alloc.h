/* SPDX-License-Identifier: MIT
 *
 * Allocator hooks: every byte that gemel allocates for itself comes through these three functions,
 * so a program can count, pool or refuse memory. A refused allocation is an ordinary error. The
 * hooks are called on several threads at once; they are set while no other thread is in the
 * library. (Libraries that gemel calls, such as oneDNN and GMP, allocate for themselves.)
 */
#ifndef GEMEL_ALLOC_H
#define GEMEL_ALLOC_H

#include <stddef.h>
#include <gemel/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The hooks. SIZE is sizeof(gemel_allocator). ALLOCATE returns BYTES bytes aligned for any object
 * (BYTES > 0) or NULL; REALLOCATE resizes a block of OLD_BYTES, keeping its contents, or returns
 * NULL and leaves the block as it was; RELEASE frees a block of BYTES bytes (never NULL).
 * They are called from several threads at once. */
typedef struct gemel_allocator {
  size_t size;
  void *(*allocate)(void *user, size_t bytes);
  void *(*reallocate)(void *user, void *block, size_t old_bytes, size_t bytes);
  void (*release)(void *user, void *block, size_t bytes);
  void *user;
} gemel_allocator;

/* Replaces the allocator for the whole process; NULL restores the one at the start: malloc, realloc
 * and free. The struct is copied. Blocks must be released by the allocator they came from, so call
 * this while no gemel object exists. Errors: GEMEL_BAD_ARGUMENT when a hook is NULL or SIZE is
 * too small. Not thread-safe against any other call of the library. */
gemel_status gemel_set_allocator(const gemel_allocator *allocator);

/* The allocator in use, so that hooks which count or limit can hand on to it. Not thread-safe
 * against gemel_set_allocator. */
gemel_allocator gemel_get_allocator(void);

#ifdef __cplusplus
}
#endif
#endif
