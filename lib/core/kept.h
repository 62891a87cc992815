/* SPDX-License-Identifier: MIT
 *
 * Addresses of big blocks that were given back, to be used again (pages.c).
 */
#ifndef GEMEL__CORE_KEPT_H
#define GEMEL__CORE_KEPT_H

#include <stddef.h>

/* All sizes are multiples of UNIT. Safe on several threads, and in the child of a fork. */
#define GEMEL__KEPT_UNIT ((size_t)2 << 20)

/* Keeps BYTES bytes at BLOCK, and what was kept behind them. IS_BEHIND: they were the end of a
 * block that goes on before them. 0: there is no room for more; *BYTES then says how much is to be
 * given to the system, that included. */
int gemel__kept_add(char *block, size_t *bytes, int is_behind);

/* Takes BYTES bytes, with as much behind them as can be had; NULL: there is no such place. */
char *gemel__kept_take(size_t bytes);

/* Takes up to BYTES bytes that begin at END, where a block ends: how many, if they were one with
 * it. */
size_t gemel__kept_extend(char *end, size_t bytes);

/* The block that ends at END will not grow into what is behind it. */
void gemel__kept_leave(char *end);

/* Takes anything, to be given to the system: *BYTES bytes. NULL: there is nothing. */
char *gemel__kept_any(size_t *bytes);

#endif
