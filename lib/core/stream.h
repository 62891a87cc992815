/* SPDX-License-Identifier: MIT
 *
 * Writing past the cache, for results too big to be found there again: it spares memory the reading
 * of what is overwritten.
 */
#ifndef GEMEL__CORE_STREAM_H
#define GEMEL__CORE_STREAM_H

#include <stddef.h>
#include <stdint.h>

typedef void (*gemel__stream)(char *to, const char *from, size_t bytes);

/* The best way to copy BYTES bytes past the cache on this machine (or, where there is none, a plain
 * copy). After the last copy of a thread, gemel__stream_end orders them before what follows. */
gemel__stream gemel__stream_best(void);
void gemel__stream_end(void);

/* Bytes from which a result is better written past the cache. */
int64_t gemel__stream_bytes(void);

/* Has that be BYTES, so that tests write small results that way; 0: as it is by itself. */
void gemel__stream_from(int64_t bytes);

#endif
