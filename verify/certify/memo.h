/* SPDX-License-Identifier: MIT
 *
 * What has been found out already, by hash.
 */
#ifndef GEMEL__CERTIFY_MEMO_H
#define GEMEL__CERTIFY_MEMO_H

#include <stddef.h>
#include <stdint.h>

typedef struct gemel__certify_memo {
  uint64_t *keys; /* 0: an empty slot */
  unsigned char *states;
  size_t count, capacity; /* a power of two, or 0 */
} gemel__certify_memo;

/* The state under KEY, which is 1 if it is new; valid until the next call. NULL: memory is out. */
unsigned char *gemel__memo_at(gemel__certify_memo *memo, uint64_t key);
void gemel__memo_clear(gemel__certify_memo *memo);

#endif
