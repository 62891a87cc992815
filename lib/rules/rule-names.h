/* SPDX-License-Identifier: MIT
 *
 * Rules by name, so that two of one name are found in a time that doesn't depend on how many there
 * are.
 */
#ifndef GEMEL__RULES_RULE_NAMES_H
#define GEMEL__RULES_RULE_NAMES_H

#include "core/context.h"
#include "rules/rule.h"

/* Zeroed is empty. Rules are borrowed. */
typedef struct gemel__rule_names {
  const struct gemel_rule **rules;
  size_t count, capacity;
  gemel__idtable table; /* of numbers of rules, from 1 */
} gemel__rule_names;

/* The rule called NAME, or NULL. */
const struct gemel_rule *gemel__rule_names_find(const gemel__rule_names *names, const char *name);

/* Adds RULE, of whose name there is none yet. 0, or -1: memory is out. */
int gemel__rule_names_add(gemel__rule_names *names, const struct gemel_rule *rule);

void gemel__rule_names_clear(gemel__rule_names *names);

#endif
