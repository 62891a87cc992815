/* SPDX-License-Identifier: MIT
 *
 * The rules and composites that gemel brings along, as text: made from lib/rules and lib/composites
 * at build time.
 */
#ifndef GEMEL__RULES_BUILTIN_H
#define GEMEL__RULES_BUILTIN_H

typedef struct gemel__builtin_text {
  const char *file; /* NULL: the end */
  const char *text;
} gemel__builtin_text;

extern const gemel__builtin_text gemel__builtin_rules[];
extern const gemel__builtin_text gemel__builtin_composites[];

#endif
