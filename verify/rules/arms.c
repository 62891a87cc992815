/* SPDX-License-Identifier: MIT
 *
 * Lists arms and boundaries, see arms.h. A condition is a program for a stack machine, in which an
 * operator follows its operands. It is read from the end, beside its syntax. Recursion is as deep
 * as the rule's text is nested, which the parser limits.
 */
#include "rules/arms.h"

#include <stdio.h>
#include <string.h>
#include "core/error.h"
#include "rules/functions.h"

uint32_t gemel__operand_start(const gemel__termexpr *expr, uint32_t end) {
  uint32_t wanted = 1;
  while (wanted > 0 && end > 0) {
    const gemel__termcode *code = &expr->code[--end];
    int takes = code->kind == GEMEL__TERMCODE_FUNCTION || code->kind == GEMEL__TERMCODE_LIST;
    wanted += (takes ? code->count : 0u) - 1;
  }
  return end;
}

gemel__termexpr gemel__part_of(const gemel__termexpr *expr, uint32_t from, uint32_t to) {
  gemel__termexpr part = *expr;
  part.code += from;
  part.count = to - from;
  return part;
}

int gemel__is_operator(const gemel__termexpr *expr, uint32_t end, uint32_t row) {
  const gemel__termcode *code = &expr->code[end - 1];
  return code->kind == GEMEL__TERMCODE_FUNCTION && code->index == row;
}

/* ---- Listing ---- */

struct listing {
  gemel__arms *arms;
  uint32_t condition;
  int boundaries; /* 1: boundaries are listed, 0: arms */
  gemel_error *error;
};

/* A part of a condition: its codes end before END. */
struct part {
  uint32_t end, node;
  int holds;
};

static const gemel__termexpr *condition_of(const gemel__arms *arms, uint32_t condition) {
  return &arms->rule->conditions[condition];
}

static void add(struct listing *l, struct part part, uint32_t entry, gemel__termexpr number) {
  if (l->arms->count < GEMEL__MOST_ARMS) {
    l->arms->at[l->arms->count++] =
        (gemel__arm){l->condition, part.end, part.holds, part.node, entry, number};
  }
}

/* Adds PART where also A == B, or A + 1 == B if ONE. */
static gemel_status add_equal(struct listing *l, struct part part, uint32_t entry,
                              gemel__termexpr a, gemel__termexpr b, int one) {
  static const gemel__termcode plus_one[] = {
      {.kind = GEMEL__TERMCODE_NUMBER, .value = 1},
      {.kind = GEMEL__TERMCODE_FUNCTION, .index = GEMEL__OPERATOR_add, .count = 2}};
  static const gemel__termcode equal = {
      .kind = GEMEL__TERMCODE_FUNCTION, .index = GEMEL__OPERATOR_eq, .count = 2};
  uint32_t n = a.count, more = one ? 2 : 0;
  gemel__termcode *code =
      gemel__arena_alloc(&l->arms->arena, (n + more + b.count + 1) * sizeof *code);
  if (code == NULL) {
    return gemel__no_memory(l->error, "arms");
  }
  memcpy(code, a.code, n * sizeof *code);
  memcpy(code + n, plus_one, more * sizeof *code);
  memcpy(code + n + more, b.code, b.count * sizeof *code);
  code[n + more + b.count] = equal;
  a.code = code;
  a.count = n + more + b.count + 1;
  add(l, part, entry, a);
  return GEMEL_OK;
}

/* 1 if A is about sizes, ranks and other integers, as far as its codes show. */
static int is_whole(const gemel__termexpr *a) {
  for (uint32_t k = 0; k < a->count; k++) {
    const gemel__termcode *code = &a->code[k];
    int function = code->kind == GEMEL__TERMCODE_FUNCTION;
    if (code->kind == GEMEL__TERMCODE_REAL || code->kind == GEMEL__TERMCODE_DTYPE ||
        code->kind == GEMEL__TERMCODE_ABSENT ||
        (function &&
         (code->index == GEMEL__FUNCTION_value || code->index == GEMEL__FUNCTION_dtype ||
          code->index == GEMEL__OPERATOR_div))) {
      return 0;
    }
  }
  return 1;
}

/* The comparison that holds where ROW doesn't. */
static uint32_t negated(uint32_t row) {
  static const uint32_t rows[][2] = {{GEMEL__OPERATOR_eq, GEMEL__OPERATOR_ne},
                                     {GEMEL__OPERATOR_lt, GEMEL__OPERATOR_ge},
                                     {GEMEL__OPERATOR_le, GEMEL__OPERATOR_gt}};
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
    if (rows[k][0] == row || rows[k][1] == row) {
      return rows[k][rows[k][0] == row];
    }
  }
  return row;
}

/* Adds PART where A ROW B just holds. */
static gemel_status add_boundary(struct listing *l, struct part part, uint32_t row,
                                 gemel__termexpr a, gemel__termexpr b) {
  gemel_status status = GEMEL_OK;
  if (row == GEMEL__OPERATOR_le || row == GEMEL__OPERATOR_ge) {
    return add_equal(l, part, 0, a, b, 0);
  }
  if (row == GEMEL__OPERATOR_lt || row == GEMEL__OPERATOR_ne) {
    status = add_equal(l, part, 0, a, b, 1);
  }
  if (row == GEMEL__OPERATOR_gt || row == GEMEL__OPERATOR_ne) {
    status = status ? status : add_equal(l, part, 0, b, a, 1);
  }
  return status;
}

/* The boundaries of PART, which is a comparison; where it just doesn't hold, OTHER does, unless
 * that is NULL. */
static gemel_status list_boundaries(struct listing *l, struct part part, const struct part *other) {
  const gemel__termexpr *expr = condition_of(l->arms, l->condition);
  uint32_t row = expr->code[part.end - 1].index;
  uint32_t from = gemel__operand_start(expr, part.end);
  uint32_t middle = gemel__operand_start(expr, part.end - 1);
  gemel__termexpr a = gemel__part_of(expr, from, middle);
  gemel__termexpr b = gemel__part_of(expr, middle, part.end - 1);
  int number = (a.count == 1 && a.code->kind == GEMEL__TERMCODE_NUMBER) ||
               (b.count == 1 && b.code->kind == GEMEL__TERMCODE_NUMBER);
  int equality = row == GEMEL__OPERATOR_eq || row == GEMEL__OPERATOR_ne;
  row = part.holds ? row : negated(row);
  if (!is_whole(&a) || !is_whole(&b) || (equality && !number)) {
    return GEMEL_OK; /* what is one beside a list isn't known */
  }
  gemel_status status = add_boundary(l, part, row, a, b);
  return status || other == NULL ? status : add_boundary(l, *other, negated(row), a, b);
}

/* The entries of [p, q, ...] in contains([p, q, ...], v), which is PART. */
static gemel_status list_entries(struct listing *l, struct part part) {
  const gemel__termexpr *expr = condition_of(l->arms, l->condition);
  const gemel__syntax_node *nodes = l->arms->rule->syntax.nodes;
  uint32_t middle = gemel__operand_start(expr, part.end - 1), end = middle - 1;
  uint32_t node = nodes[nodes[part.node].child].child, starts[GEMEL__TERM_STACK + 1];
  gemel__termexpr of = gemel__part_of(expr, middle, part.end - 1);
  uint32_t n = expr->code[end].kind == GEMEL__TERMCODE_LIST ? expr->code[end].count : 0;
  gemel_status status = GEMEL_OK;
  starts[n] = end;
  for (uint32_t k = n; k-- > 0;) {
    starts[k] = gemel__operand_start(expr, starts[k + 1]);
  }
  for (uint32_t k = 0; k < n && n > 1 && status == GEMEL_OK; k++, node = nodes[node].next) {
    status = add_equal(l, part, node, gemel__part_of(expr, starts[k], starts[k + 1]), of, 0);
  }
  return status;
}

static gemel_status list_atom(struct listing *l, struct part part, const struct part *other) {
  const gemel__termexpr *expr = condition_of(l->arms, l->condition);
  const gemel__termcode *code = &expr->code[part.end - 1];
  if (code->kind != GEMEL__TERMCODE_FUNCTION) {
    return GEMEL_OK;
  }
  if (l->boundaries && code->index >= GEMEL__OPERATOR_eq && code->index <= GEMEL__OPERATOR_ge) {
    return list_boundaries(l, part, other);
  }
  return !l->boundaries && part.holds && code->index == GEMEL__FUNCTION_contains
             ? list_entries(l, part)
             : GEMEL_OK;
}

/* Lists what PART has. OTHER: the arm beside the arm that PART is in; NULL: it is in none. */
static gemel_status list(struct listing *l, struct part part, const struct part *other) {
  const gemel__termexpr *expr = condition_of(l->arms, l->condition);
  const gemel__syntax_node *nodes = l->arms->rule->syntax.nodes;
  uint32_t first = nodes[part.node].child, end = part.end - 1;
  int is_and = gemel__is_operator(expr, part.end, GEMEL__OPERATOR_logical_and);
  if (gemel__is_operator(expr, part.end, GEMEL__OPERATOR_logical_not)) {
    return list(l, (struct part){end, first, !part.holds}, other);
  }
  if (!is_and && !gemel__is_operator(expr, part.end, GEMEL__OPERATOR_logical_or)) {
    return list_atom(l, part, other);
  }
  struct part sides[2] = {{gemel__operand_start(expr, end), first, part.holds},
                          {end, nodes[first].next, part.holds}};
  int choice = is_and != part.holds;
  gemel_status status = GEMEL_OK;
  for (int k = 0; k < 2 && status == GEMEL_OK; k++) {
    uint32_t row = expr->code[part.end - 1].index;
    if (choice && !l->boundaries && !gemel__is_operator(expr, sides[k].end, row)) {
      add(l, sides[k], 0, (gemel__termexpr){.code = NULL});
    }
    status = list(l, sides[k], choice ? &sides[!k] : other);
  }
  return status;
}

gemel_status gemel__arms_of(const struct gemel_rule *rule, gemel__arms *arms, gemel_error *error) {
  struct listing l = {.arms = arms, .error = error};
  gemel_status status = GEMEL_OK;
  memset(arms, 0, sizeof *arms);
  arms->rule = rule;
  for (l.boundaries = 0; l.boundaries < 2; l.boundaries++) {
    for (l.condition = 0; l.condition < rule->n_conditions && status == GEMEL_OK; l.condition++) {
      const gemel__termexpr *expr = &rule->conditions[l.condition];
      status =
          expr->count == 0 ? GEMEL_OK : list(&l, (struct part){expr->count, expr->root, 1}, NULL);
    }
    arms->n_arms = l.boundaries ? arms->n_arms : arms->count;
  }
  return status;
}

void gemel__arms_clear(gemel__arms *arms) {
  gemel__arena_clear(&arms->arena);
}

/* ---- Which are taken ---- */

/* 1 if EXPR holds in SCENE, 0 if not; −1: memory is out. */
static int holds_in(gemel__termexpr expr, const gemel__scene *scene) {
  gemel__term term;
  gemel_status status = gemel__term_evaluate(&expr, scene, &term);
  return status == GEMEL_NO_MEMORY ? -1 : status == GEMEL_OK && gemel__term_holds(&term);
}

/* 1 if no other arm of the condition would do in place of ARM, 0 if one would; −1: memory is out.
 */
static int is_alone(const gemel__termexpr *expr, const gemel__arm *arm, const gemel__scene *scene) {
  uint32_t end = expr->count;
  int holds = 1, other = !holds;
  while (end != arm->end) {
    if (gemel__is_operator(expr, end, GEMEL__OPERATOR_logical_not)) {
      end--;
      holds = !holds;
      continue;
    }
    uint32_t middle = gemel__operand_start(expr, end - 1);
    int first = arm->end <= middle;
    if (gemel__is_operator(expr, end, GEMEL__OPERATOR_logical_and) != holds) {
      other =
          first ? holds_in(gemel__part_of(expr, middle, end - 1), scene)
                : holds_in(gemel__part_of(expr, gemel__operand_start(expr, middle), middle), scene);
      if (other < 0 || other == holds) {
        return other < 0 ? -1 : 0;
      }
    }
    end = first ? middle : end - 1;
  }
  return 1;
}

gemel_status gemel__arms_taken(const gemel__arms *arms, const gemel__scene *scene, uint64_t *taken,
                               uint64_t *alone) {
  *taken = *alone = 0;
  for (size_t k = 0; k < arms->count; k++) {
    const gemel__arm *arm = &arms->at[k];
    const gemel__termexpr *expr = condition_of(arms, arm->condition);
    gemel__termexpr part = gemel__part_of(expr, gemel__operand_start(expr, arm->end), arm->end);
    int holds = arm->number.count > 0 ? holds_in(arm->number, scene) : 1;
    int met = holds == 1 ? holds_in(part, scene) : holds;
    int only = holds == 1 && met == arm->holds ? is_alone(expr, arm, scene) : 0;
    if (holds < 0 || met < 0 || only < 0) {
      return gemel__no_memory(scene->error, "arms");
    }
    *taken |= (uint64_t)(holds && met == arm->holds) << k;
    *alone |= (uint64_t)only << k;
  }
  return GEMEL_OK;
}

/* ---- Text ---- */

/* From the first token of the tree at NODE to behind its last. */
static void extend(const gemel__syntax_node *nodes, uint32_t node, const gemel__lex **first,
                   const char **end) {
  const gemel__syntax_node *n = &nodes[node];
  const char *behind = n->at.token + n->at.length;
  if (n->kind == GEMEL__SYNTAX_NUMBER && n->number.text + n->number.length > behind) {
    behind = n->number.text + n->number.length;
  }
  *first = *first == NULL || n->at.token < (*first)->token ? &n->at : *first;
  *end = *end == NULL || behind > *end ? behind : *end;
  for (uint32_t child = n->child; child != 0; child = nodes[child].next) {
    extend(nodes, child, first, end);
  }
}

/* Copies the text of NODE to TEXT, each white space as one blank, with the brackets that close what
 * it opens. Returns the line on which it begins. */
static int copy_text(const gemel__syntax_node *nodes, uint32_t node, char *text, size_t bytes) {
  const gemel__lex *first = NULL;
  const char *end = NULL;
  size_t n = 0;
  int open = 0;
  extend(nodes, node, &first, &end);
  for (const char *at = first->token; (at < end || open > 0) && n + 1 < bytes; at++) {
    int blank = *at == ' ' || *at == '\n' || *at == '\t' || *at == '\r';
    open += (*at == '(' || *at == '[') - (*at == ')' || *at == ']');
    if (!blank || (n > 0 && text[n - 1] != ' ')) {
      text[n++] = blank ? ' ' : *at;
    }
  }
  text[n] = '\0';
  return first->token_line;
}

void gemel__arm_text(const gemel__arms *arms, size_t k, char *text, size_t bytes) {
  const gemel__syntax_node *nodes = arms->rule->syntax.nodes;
  const gemel__arm *arm = &arms->at[k];
  char part[120], entry[40] = "";
  int line = copy_text(nodes, arm->node, part, sizeof part);
  if (arm->entry != 0) {
    line = copy_text(nodes, arm->entry, entry, sizeof entry);
  }
  snprintf(text, bytes, "%s%s%s%s%s (line %d)", entry, arm->entry != 0 ? " of " : "",
           arm->holds ? "" : "not (", part, arm->holds ? "" : ")", line);
}

void gemel__condition_text(const gemel__arms *arms, size_t k, char *text, size_t bytes) {
  char part[120];
  int line = copy_text(arms->rule->syntax.nodes, arms->rule->conditions[k].root, part, sizeof part);
  snprintf(text, bytes, "%s (line %d)", part, line);
}
