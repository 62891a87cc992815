/* SPDX-License-Identifier: MIT
 *
 * Schemas of attributes: checking one, and what an attribute that isn't given is.
 */
#ifndef GEMEL__CORE_SCHEMA_H
#define GEMEL__CORE_SCHEMA_H

#include <gemel/operation.h>

enum { GEMEL__MAX_ATTRS = 32 }; /* of an operation */

/* Checks SPECS (which a NULL name ends; NULL: none) of OPERATION: names, kinds, fallbacks.
 * GEMEL_BAD_ARGUMENT. */
gemel_status gemel__schema_check(const char *operation, const gemel_attr_spec *specs,
                                 gemel_error *error);

/* What SPEC, whose fallback is not NULL, is when it isn't given; 0, or -1 if the text is malformed.
 * Strings are borrowed from SPEC. */
int gemel__schema_fallback(const gemel_attr_spec *spec, gemel_attr *a);

#endif
