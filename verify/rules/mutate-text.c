/* SPDX-License-Identifier: MIT
 *
 * Prints a rule's syntax tree as text again. Operators inside operators always get parentheses: the
 * text is parsed again, and only the tree matters.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "core/alloc.h"
#include "core/error.h"
#include "rules/mutate-text.h"
#include "base/buffer.h"

typedef struct rule_printer {
  const gemel__editor *editor;
  gemel__buffer to; /* a text that is too long is cut */
} rule_printer;

static void put(rule_printer *p, const char *text) {
  gemel__buffer_text(&p->to, text);
}

static void put_n(rule_printer *p, const char *text, size_t length) {
  gemel__buffer_format(&p->to, "%.*s", (int)length, text != NULL ? text : "");
}

static void put_node(rule_printer *p, uint32_t node);

/* Prints the node's operator, name or number. */
static void put_word(rule_printer *p, const gemel__edit_node *n) {
  if (n->spelling != NULL) {
    put(p, n->spelling);
  } else if (n->syntax.kind == GEMEL__SYNTAX_NUMBER) {
    int minus = n->syntax.number.negative && n->syntax.number.text[0] != '-';
    put_n(p, "-", minus ? 1 : 0);
    put_n(p, n->syntax.number.text, n->syntax.number.length);
  } else if (n->syntax.infix) {
    put_n(p, n->syntax.at.token, n->syntax.at.length);
  } else {
    put_n(p, n->syntax.text, n->syntax.length);
  }
}

static int is_infix(const gemel__edit_node *n) {
  return n->syntax.kind == GEMEL__SYNTAX_CALL && n->syntax.infix;
}

/* Prints an operand of an operator, or of what follows with [ ] or @, in parentheses if it is an
 * operator's call. */
static void put_operand(rule_printer *p, uint32_t node) {
  int wraps = is_infix(&p->editor->nodes[node]);
  put(p, wraps ? "(" : "");
  put_node(p, node);
  put(p, wraps ? ")" : "");
}

/* Prints a prefix operator. A minus before a number needs parentheses, or it would be parsed as
 * part of the number. */
static void put_prefix(rule_printer *p, const gemel__edit_node *n) {
  int number = p->editor->nodes[n->syntax.child].syntax.kind == GEMEL__SYNTAX_NUMBER;
  put_word(p, n);
  put(p, n->syntax.at.kind == '-' ? "" : " ");
  put(p, number ? "(" : "");
  put_operand(p, n->syntax.child);
  put(p, number ? ")" : "");
}

static void put_infix(rule_printer *p, const gemel__edit_node *n) {
  put_operand(p, n->syntax.child);
  put(p, " ");
  put_word(p, n);
  put(p, " ");
  put_operand(p, p->editor->nodes[n->syntax.child].syntax.next);
}

static void put_arguments(rule_printer *p, const gemel__edit_node *n) {
  for (uint32_t child = n->syntax.child; child != 0; child = p->editor->nodes[child].syntax.next) {
    const gemel__syntax_node *s = &p->editor->nodes[child].syntax;
    put(p, child == n->syntax.child ? "" : ", ");
    put_n(p, s->key, s->key_length);
    put(p, s->key != NULL ? " = " : "");
    put_node(p, child);
  }
}

static void put_call(rule_printer *p, const gemel__edit_node *n) {
  put_word(p, n);
  put(p, "(");
  put_arguments(p, n);
  put(p, ")");
}

/* Prints a[b] and a@b. */
static void put_postfix(rule_printer *p, const gemel__edit_node *n) {
  uint32_t first = n->syntax.child, second = p->editor->nodes[first].syntax.next;
  int index = n->syntax.kind == GEMEL__SYNTAX_INDEX;
  put_operand(p, first);
  put(p, index ? "[" : "@");
  if (index) {
    put_node(p, second);
  } else {
    put_operand(p, second);
  }
  put(p, index ? "]" : "");
}

/* Prints NODE. The parser limits the depth of this recursion. */
static void put_node(rule_printer *p, uint32_t node) {
  const gemel__edit_node *n = &p->editor->nodes[node];
  int named = n->syntax.as != NULL;
  put(p, n->before != NULL ? n->before : "");
  put(p, named && is_infix(n) ? "(" : "");
  switch (n->syntax.kind) {
  case GEMEL__SYNTAX_LIST:
    put(p, "[");
    put_arguments(p, n);
    put(p, "]");
    break;
  case GEMEL__SYNTAX_CALL:
    if (!is_infix(n)) {
      put_call(p, n);
    } else if (n->syntax.n_children == 1) {
      put_prefix(p, n);
    } else {
      put_infix(p, n);
    }
    break;
  case GEMEL__SYNTAX_INDEX:
  case GEMEL__SYNTAX_OUTPUT:
    put_postfix(p, n);
    break;
  case GEMEL__SYNTAX_VARIADIC:
    put(p, "..");
    put_node(p, n->syntax.child);
    break;
  default:
    put_word(p, n);
  }
  put(p, n->after != NULL ? n->after : "");
  if (named) {
    put(p, is_infix(n) ? ") as " : " as ");
    put_n(p, n->syntax.as, n->syntax.as_length);
  }
}

static void put_header(rule_printer *p) {
  const gemel_rule_info *info = &p->editor->rule->info;
  const char *before = " needs ";
  put(p, "rule ");
  put(p, info->name);
  put(p, " in ");
  put(p, gemel_phase_name(info->phase));
  for (size_t k = 0; k < info->n_tags; k++) {
    put(p, k == 0 ? " tags " : ", ");
    put(p, info->tags[k]);
  }
  for (int k = 0; k < GEMEL_NEEDS_COUNT; k++) {
    if (p->editor->needs >> k & 1) {
      put(p, before);
      put(p, gemel_needs_word(k));
      before = ", ";
    }
  }
  put(p, ":\n    ");
}

/* Prints the whole rule; returns its full length. */
static size_t print_rule(const gemel__editor *editor, char *text, size_t bytes) {
  rule_printer p = {editor, {text, bytes, 0, 0}};
  put_header(&p);
  put_node(&p, editor->left);
  put(&p, " => ");
  put_node(&p, editor->right);
  for (uint32_t k = 0; k < editor->n_conditions; k++) {
    put(&p, k == 0 ? "\n    where " : ", ");
    put_node(&p, editor->conditions[k]);
  }
  return p.to.used;
}

void gemel__editor_node_text(const gemel__editor *editor, uint32_t node, char *text, size_t bytes) {
  rule_printer p = {editor, {text, bytes, 0, 0}};
  text[0] = '\0';
  put_node(&p, node);
}

/* ---- Editing ---- */

/* The root of a side. For f(x)@k the pattern has the call only; the whole must be printed. */
static uint32_t root_of(const struct gemel_rule *rule, const gemel__rule_side *side) {
  uint32_t root = side->nodes[side->count - 1].syntax;
  for (uint32_t k = 1; k < rule->syntax.count; k++) {
    if (rule->syntax.nodes[k].kind == GEMEL__SYNTAX_OUTPUT && rule->syntax.nodes[k].child == root) {
      return k;
    }
  }
  return root;
}

void gemel__editor_restore(gemel__editor *editor) {
  const struct gemel_rule *rule = editor->rule;
  for (size_t k = 1; k < rule->syntax.count; k++) {
    memset(&editor->nodes[k], 0, sizeof *editor->nodes);
    editor->nodes[k].syntax = rule->syntax.nodes[k];
  }
  editor->left = root_of(rule, &rule->left);
  editor->right = root_of(rule, &rule->right);
  editor->n_conditions = rule->n_conditions;
  for (uint32_t k = 0; k < rule->n_conditions; k++) {
    editor->conditions[k] = rule->conditions[k].root;
  }
  editor->needs = rule->info.needs;
}

gemel_status gemel__editor_start(gemel__editor *editor, const struct gemel_rule *rule,
                                 gemel__mutants *mutants, gemel_error *error) {
  char text[GEMEL__EDIT_TEXT];
  memset(editor, 0, sizeof *editor);
  editor->rule = rule;
  editor->mutants = mutants;
  editor->error = error;
  editor->nodes = gemel__alloc_array(rule->syntax.count, sizeof *editor->nodes);
  if (editor->nodes == NULL) {
    return gemel__no_memory(error, "mutants");
  }
  gemel__editor_restore(editor);
  if (print_rule(editor, text, sizeof text) >= sizeof text) {
    return gemel__fail(error, GEMEL_BAD_VALUE, "rule %s is too long for mutants", rule->info.name);
  }
  editor->original = gemel__arena_string(&mutants->arena, text);
  return editor->original != NULL ? GEMEL_OK : gemel__no_memory(error, "mutants");
}

void gemel__editor_clear(gemel__editor *editor) {
  if (editor->nodes != NULL) {
    gemel__free(editor->nodes, editor->rule->syntax.count * sizeof *editor->nodes);
  }
  memset(editor, 0, sizeof *editor);
}

/* 1 if TEXT is the rule itself, or a mutant that there is already. */
static int is_known(const gemel__editor *editor, const char *text) {
  const gemel__mutants *m = editor->mutants;
  if (strcmp(text, editor->original) == 0) {
    return 1;
  }
  for (size_t k = 0; k < m->count; k++) {
    if (strcmp(text, m->list[k].text) == 0) {
      return 1;
    }
  }
  return 0;
}

gemel_status gemel__editor_emit(gemel__editor *editor, const char *format, ...) {
  gemel__mutants *m = editor->mutants;
  char text[GEMEL__EDIT_TEXT], mutation[400];
  va_list args;
  size_t length = print_rule(editor, text, sizeof text);
  va_start(args, format);
  vsnprintf(mutation, sizeof mutation, format, args);
  va_end(args);
  gemel__editor_restore(editor);
  if (length >= sizeof text || is_known(editor, text)) {
    return GEMEL_OK;
  }
  gemel__mutated_rule mutant = {gemel__arena_string(&m->arena, mutation),
                                gemel__arena_string(&m->arena, text)};
  if (mutant.mutation == NULL || mutant.text == NULL ||
      gemel__grow(&m->list, &m->capacity, m->count + 1, sizeof *m->list)) {
    return gemel__no_memory(editor->error, "mutants");
  }
  m->list[m->count++] = mutant;
  return GEMEL_OK;
}

void gemel__mutants_clear(gemel__mutants *mutants) {
  gemel__free(mutants->list, mutants->capacity * sizeof *mutants->list);
  gemel__arena_clear(&mutants->arena);
  memset(mutants, 0, sizeof *mutants);
}
