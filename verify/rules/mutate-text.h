/* SPDX-License-Identifier: MIT
 *
 * A copy of a rule's syntax tree that is edited and printed, for mutants.
 */
#ifndef GEMEL__RULES_MUTATE_TEXT_H
#define GEMEL__RULES_MUTATE_TEXT_H

#include "rules/mutate.h"
#include "rules/rule.h"
#include "base/random.h"

enum { GEMEL__EDIT_TEXT = 8192 };

/* A node and how it is printed. */
typedef struct gemel__edit_node {
  gemel__syntax_node syntax;
  const char *spelling; /* printed in place of its name, number or operator; NULL: unchanged */
  const char *before, *after; /* text around it; NULL: none */
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
  const char *original; /* the unchanged rule as it is printed */
  gemel_error *error;
} gemel__editor;

/* Copies the tree of RULE. GEMEL_NO_MEMORY; GEMEL_BAD_VALUE: the rule is too long. */
gemel_status gemel__editor_start(gemel__editor *editor, const struct gemel_rule *rule,
                                 gemel__mutants *mutants, gemel_error *error);
void gemel__editor_clear(gemel__editor *editor);

/* Undoes all edits. */
void gemel__editor_restore(gemel__editor *editor);

/* Adds the edited rule to the mutants, unless it is there already, and undoes the edits. */
gemel_status gemel__editor_emit(gemel__editor *editor, const char *format, ...) GEMEL__PRINTF(2, 3);

/* Writes the text of NODE into TEXT, shortened to fit. */
void gemel__editor_node_text(const gemel__editor *editor, uint32_t node, char *text, size_t bytes);

#endif
