/* SPDX-License-Identifier: MIT
 *
 * Types and attributes by a hint (unbounded/hint.h).
 */
#ifndef GEMEL__RULES_HINTED_H
#define GEMEL__RULES_HINTED_H

#include "base/random.h"
#include "rules/term.h"
#include "unbounded/hint.h"

/* 1 and *TERM, whose entries live in ARENA, if HINT says what the attribute VARIABLE is. */
int gemel__hint_attr(const gemel__hint *hint, uint32_t variable, gemel__arena *arena,
                     gemel__term *term);

/* 1 and TYPES, as many as there are of them, if HINT says what tensors VARIABLE is. Where it
 * doesn't say of which dtype, that is mostly DTYPE. */
int gemel__hint_types(const gemel__hint *hint, uint32_t variable, gemel_context *context,
                      gemel_dtype dtype, gemel__random *random, gemel_type *types);

#endif
