/* SPDX-License-Identifier: MIT
 *
 * Choosing among kernels by timing them (gemel_options.autotune). What was found is kept in memory
 * and in a file, a line a choice: the operation and its version, attributes, dtypes, shapes and
 * strides, threads, gemel's version and the processor, a tab, and the kernel.
 */
#ifndef GEMEL__RUN_AUTOTUNE_H
#define GEMEL__RUN_AUTOTUNE_H

#include <gemel/operation.h>

typedef struct gemel__tuner gemel__tuner;

/* One that keeps its choices in FILE; NULL: in the folder of core/cache.h. Nothing is read yet.
 * NULL when memory is out. */
gemel__tuner *gemel__tuner_new(const char *file);
void gemel__tuner_free(gemel__tuner *tuner);

/* *CHOSEN = the kernel of CANDIDATES that is fastest for CALL, on operands of its own that lie as
 * CALL's do; the data of these isn't looked at. NULL where there is nothing to choose, or kernels
 * fail on such operands. CALL isn't changed. GEMEL_NO_MEMORY. Thread-safe. */
gemel_status gemel__tune(gemel__tuner *tuner, const gemel_kernel *candidates,
                         const gemel_kernel_call *call, const gemel_kernel **chosen);

#endif
