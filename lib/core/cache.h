/* SPDX-License-Identifier: MIT
 *
 * Where gemel keeps what can be made again: in GEMEL_CACHE, or gemel/ in the user's folder for such
 * things ($XDG_CACHE_HOME, or ~/.cache).
 */
#ifndef GEMEL__CORE_CACHE_H
#define GEMEL__CORE_CACHE_H

#include <stddef.h>

/* PATH = the file NAME in that folder, which is made if it isn't there. 0 if there is none and none
 * can be made, or PATH has too few BYTES. */
int gemel__cache_path(const char *name, char *path, size_t bytes);

#endif
