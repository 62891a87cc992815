/* SPDX-License-Identifier: MIT
 *
 * Plain __shared__ arrays in libraries that are loaded at run time.
 */
#ifndef GEMEL__SIM_SHARED_H
#define GEMEL__SIM_SHARED_H

#include <stdbool.h>

/* The arrays in the file PATH, whose thread-local variables are those of MODULE, the number that
 * the dynamic linker gives it. False if it can't be read or memory ran out. */
bool gemel__sim_shared_module(const char *path, int module);
/* That module is about to be unloaded. */
void gemel__sim_shared_forget(int module);

#endif
