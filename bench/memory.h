/* SPDX-License-Identifier: MIT
 *
 * An allocator that counts: how many bytes gemel holds, and the most that it held.
 */
#ifndef GEMEL__BENCH_MEMORY_H
#define GEMEL__BENCH_MEMORY_H

#include <stddef.h>

/* From now on / no longer count. Call while no object of gemel's exists. */
void gemel__bench_count_start(void);
void gemel__bench_count_stop(void);

/* Bytes held now; the most since gemel__bench_count_start or gemel__bench_forget_peak. */
size_t gemel__bench_held(void);
size_t gemel__bench_peak(void);
void gemel__bench_forget_peak(void);

#endif
