/*
 * Version of the library that a program is linked with; any thread may ask for it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef GEMEL_VERSION_H
#define GEMEL_VERSION_H

#ifdef __cplusplus
extern "C" {
#endif

/* The library's version, such as "0.1.0": a string in static storage, never NULL, owned by the
   library. Cannot fail. May be called from any thread. */
const char *gemel_version(void);

#ifdef __cplusplus
}
#endif

#endif
