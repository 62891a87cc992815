/* SPDX-License-Identifier: MIT
 *
 * Rules by name, in a table of numbers.
 */
#include "rules/rule-names.h"

#include <string.h>
#include "core/alloc.h"
#include "core/intern.h"

typedef struct rule_sought {
  const gemel__rule_names *names;
  const char *name;
} rule_sought;

static int same(const void *user, uint32_t id) {
  const rule_sought *s = user;
  return strcmp(s->names->rules[id - 1]->info.name, s->name) == 0;
}

static uint64_t hash(const char *name) {
  return gemel__hash_bytes(0, name, strlen(name));
}

static uint64_t hash_of(const void *user, uint32_t id) {
  return hash(((const gemel__rule_names *)user)->rules[id - 1]->info.name);
}

const struct gemel_rule *gemel__rule_names_find(const gemel__rule_names *names, const char *name) {
  rule_sought s = {names, name};
  uint32_t id = gemel__idtable_find(&names->table, hash(name), same, &s);
  return id != 0 ? names->rules[id - 1] : NULL;
}

int gemel__rule_names_add(gemel__rule_names *names, const struct gemel_rule *rule) {
  uint32_t id = (uint32_t)names->count + 1;
  if (gemel__grow(&names->rules, &names->capacity, id, sizeof *names->rules) != 0) {
    return -1;
  }
  names->rules[names->count] = rule;
  if (gemel__idtable_add(&names->table, hash(rule->info.name), id, hash_of, names) != 0) {
    return -1;
  }
  names->count++;
  return 0;
}

void gemel__rule_names_clear(gemel__rule_names *names) {
  gemel__free(names->rules, names->capacity * sizeof *names->rules);
  gemel__idtable_clear(&names->table);
  memset(names, 0, sizeof *names);
}
