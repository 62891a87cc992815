/* SPDX-License-Identifier: MIT
 *
 * A rule's tree of syntax that is edited and printed, for mutants.
 */
#ifndef GEMEL__MUTATE_TEXT_H
#define GEMEL__MUTATE_TEXT_H

#include "mutate/mutate.h"
#include "rules/rule.h"
#include "base/random.h"

enum { GEMEL__EDIT_TEXT = 8192 };

/* A node as it is to be printed. */
typedef struct gemel__edit_node {
  gemel__syntax_node syntax;
  const char *spelling;       /* instead of its name, number or operator; NULL: as it was */
  const char *before, *after; /* around it; NULL: nothing */
} gemel__edit_node;

typedef struct gemel__editor {
  const struct gemel_rule *rule;
  gemel__edit_node *nodes; /* a copy of the rule's tree, restored after each mutant */
  uint32_t left, right;    /* roots */
  uint32_t conditions[GEMEL__RULE_NODES];
  uint32_t n_conditions;
  unsigned needs;
  gemel__random random;
  gemel__mutants *mutants;
  const char *original; /* how the rule itself is printed */
  gemel_error *error;
} gemel__editor;

/* Copies the tree. GEMEL_NO_MEMORY. */
gemel_status gemel__editor_start(gemel__editor *editor, const struct gemel_rule *rule,
                                 gemel__mutants *mutants, gemel_error *error);
void gemel__editor_clear(gemel__editor *editor);

/* Everything as in the rule. */
void gemel__editor_restore(gemel__editor *editor);

/* Keeps what the editor holds as a mutant, if it isn't there yet, and restores. */
gemel_status gemel__editor_emit(gemel__editor *editor, const char *format, ...) GEMEL__PRINTF(2, 3);

/* Writes the node into TEXT, shortened to fit. */
void gemel__editor_node_text(const gemel__editor *editor, uint32_t node, char *text, size_t bytes);

#endif
