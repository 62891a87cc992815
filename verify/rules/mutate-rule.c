/* SPDX-License-Identifier: MIT
 *
 * Makes all mutants of a rule. The syntax tree is walked once. At each node, every slip that its
 * author could have made becomes a mutant: another operation or function, operands swapped or left
 * out, another number, another variable. Besides, conditions are dropped and negated, and each word
 * of `needs` is removed or added.
 *
 * On the left side variables stay, and so do operations other than `and`, `or` and `not`: a pattern
 * that matches less is no wrong rule.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "core/context.h"
#include "core/error.h"
#include "core/registry.h"
#include "rules/mutate-text.h"
#include "ops/ops.h"
#include "rules/functions.h"

enum { MOST_OPERANDS = 32, SHOWN = 90, OTHERS = 2 };

/* Where in the rule a node is. */
typedef struct rule_place {
  const char *name; /* "left", "right" or "where" */
  int right;
  int attribute; /* 1: in an attribute or a condition, so not a tensor */
  int set;       /* 1: the order of a list has no meaning here (axes) */
} rule_place;

static gemel__edit_node *at(gemel__editor *e, uint32_t node) {
  return &e->nodes[node];
}

/* ---- Groups of words ---- */

/* What an entry of mutate.def says of ROW: an operation's id, or a row of the rules' functions and
 * operators. */
typedef enum word_role { END_OF_GROUP, OPERATION, FUNCTION, FIRST, BOTH, COMMUTES } word_role;

static const struct {
  word_role role;
  uint32_t row;
  const char *spelling; /* the text that replaces another */
} words[] = {
#define GROUP {END_OF_GROUP, 0, NULL},
#define OPERATION(name) {OPERATION, GEMEL__OP_##name, #name},
#define FUNCTION(name) {FUNCTION, GEMEL__FUNCTION_##name, #name},
#define OPERATOR(name, sign) {FUNCTION, GEMEL__OPERATOR_##name, sign},
#define FIRST(name) {FIRST, GEMEL__##name, NULL},
#define BOTH(name) {BOTH, GEMEL__##name, NULL},
#define COMMUTES(name) {COMMUTES, GEMEL__##name, NULL},
#include "rules/mutate.def"
};
enum { WORDS = sizeof words / sizeof *words };

static int has_role(word_role role, uint32_t row) {
  size_t k = 0;
  while (k < WORDS && (words[k].role != role || words[k].row != row)) {
    k++;
  }
  return k < WORDS;
}

/* ---- Editing the tree ---- */

static uint32_t children(const gemel__editor *e, uint32_t node, uint32_t *list) {
  uint32_t n = 0;
  for (uint32_t c = e->nodes[node].syntax.child; c != 0 && n < MOST_OPERANDS;
       c = e->nodes[c].syntax.next) {
    list[n++] = c;
  }
  return n;
}

static uint32_t positional(const gemel__editor *e, uint32_t node, uint32_t *list) {
  uint32_t n = 0, all = children(e, node, list);
  for (uint32_t k = 0; k < all; k++) {
    if (e->nodes[list[k]].syntax.key == NULL) {
      list[n++] = list[k];
    }
  }
  return n;
}

static void relink(gemel__editor *e, uint32_t node, const uint32_t *list, uint32_t n) {
  at(e, node)->syntax.child = n > 0 ? list[0] : 0;
  at(e, node)->syntax.n_children = n;
  for (uint32_t k = 0; k < n; k++) {
    at(e, list[k])->syntax.next = k + 1 < n ? list[k + 1] : 0;
  }
}

/* Swaps operands A and B of NODE. */
static void swap(gemel__editor *e, uint32_t node, uint32_t a, uint32_t b) {
  uint32_t list[MOST_OPERANDS], n = children(e, node, list);
  for (uint32_t k = 0; k < n; k++) {
    list[k] = list[k] == a ? b : list[k] == b ? a : list[k];
  }
  relink(e, node, list, n);
}

static void leave_out(gemel__editor *e, uint32_t node, uint32_t child) {
  uint32_t list[MOST_OPERANDS], n = children(e, node, list), kept = 0;
  for (uint32_t k = 0; k < n; k++) {
    if (list[k] != child) {
      list[kept++] = list[k];
    }
  }
  relink(e, node, list, kept);
}

/* Replaces NODE by its operand CHILD. */
static void become(gemel__editor *e, uint32_t node, uint32_t child) {
  gemel__syntax_node was = at(e, node)->syntax;
  e->nodes[node] = e->nodes[child];
  at(e, node)->syntax.key = was.key;
  at(e, node)->syntax.key_length = was.key_length;
  at(e, node)->syntax.next = was.next;
}

/* ---- Numbers and names ---- */

static gemel_status try_number(gemel__editor *e, uint32_t node, rule_place p, const char *text) {
  char was[SHOWN];
  gemel__editor_node_text(e, node, was, sizeof was);
  at(e, node)->spelling = text;
  return gemel__editor_emit(e, "%s: %s becomes %s", p.name, was, text);
}

static gemel_status integer(gemel__editor *e, uint32_t node, rule_place p, int64_t v) {
  const int64_t others[] = {v + 1, v - 1, -v, 0, 1, 2 * v};
  char text[40];
  for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
    if (others[k] != v) {
      snprintf(text, sizeof text, "%lld", (long long)others[k]);
      GEMEL__TRY(try_number(e, node, p, text));
    }
  }
  return GEMEL_OK;
}

/* V's neighbours are those in f32: neighbours in f64 would be the same number in all narrower
 * dtypes. */
static gemel_status real(gemel__editor *e, uint32_t node, rule_place p, double v) {
  const double above = (double)nextafterf((float)v, INFINITY);
  const double below = (double)nextafterf((float)v, -INFINITY);
  const double others[] = {v + 1, v - 1, -v, 0, 1, 2 * v, above, below};
  char text[40];
  for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
    if (others[k] == v ? signbit(others[k]) != signbit(v) : others[k] == others[k]) {
      snprintf(text, sizeof text - 3, "%.17g", others[k]);
      strcat(text, strpbrk(text, ".einf") == NULL ? ".0" : "");
      GEMEL__TRY(try_number(e, node, p, text));
    }
  }
  return GEMEL_OK;
}

static gemel_status number(gemel__editor *e, uint32_t node, rule_place p) {
  const gemel__number *n = &at(e, node)->syntax.number;
  int64_t value;
  if (n->is_float) {
    return real(e, node, p, n->real);
  }
  if (gemel__number_int(n, &value) != 0 || value > INT64_MAX / 2 || value < -(INT64_MAX / 2)) {
    return GEMEL_OK;
  }
  return integer(e, node, p, value);
}

/* Replaces a variable by some others of its kind, chosen at random. */
static gemel_status name(gemel__editor *e, uint32_t node, rule_place p) {
  const gemel__syntax_node *s = &at(e, node)->syntax;
  const struct gemel_rule *rule = e->rule;
  const gemel__variable *mine = NULL, *others[GEMEL__RULE_VARIABLES];
  size_t n = 0, order[GEMEL__RULE_VARIABLES];
  char was[SHOWN];
  for (uint32_t k = 0; k < rule->n_variables; k++) {
    mine = gemel__syntax_is(s, rule->variables[k].name) ? &rule->variables[k] : mine;
  }
  if (mine == NULL || (!p.right && strcmp(p.name, "left") == 0)) {
    return GEMEL_OK;
  }
  for (uint32_t k = 0; k < rule->n_variables; k++) {
    if (&rule->variables[k] != mine && rule->variables[k].kind == mine->kind) {
      others[n++] = &rule->variables[k];
    }
  }
  gemel__random_permutation(&e->random, n, order);
  for (size_t k = 0; k < n && k < OTHERS; k++) {
    gemel__editor_node_text(e, node, was, sizeof was);
    at(e, node)->spelling = others[order[k]]->name;
    GEMEL__TRY(gemel__editor_emit(e, "%s: %s becomes %s", p.name, was, others[order[k]]->name));
  }
  return GEMEL_OK;
}

/* ---- Calls ---- */

/* The id of the operation that the call S applies; 0: none. */
static uint32_t operation_of(const gemel__editor *e, const gemel__syntax_node *s) {
  char word[64];
  snprintf(word, sizeof word, "%.*s", (int)s->length, s->text);
  return s->length < sizeof word ? gemel__op_find(e->rule->context, word) : 0;
}

/* The row of the function or operator that S calls; GEMEL__ROW_COUNT: none. */
static uint32_t function_of(const gemel__syntax_node *s) {
  uint32_t k = 0;
  while (k < GEMEL__ROW_COUNT && (gemel__function_rows[k].infix != s->infix ||
                                  !gemel__syntax_is(s, gemel__function_rows[k].name))) {
    k++;
  }
  return k;
}

/* Replaces the call's word by WORD. AS_CALL: printed as a function, even if it was an operator. */
static gemel_status try_word(gemel__editor *e, uint32_t node, rule_place p, const char *word,
                             int as_call) {
  char was[SHOWN];
  gemel__editor_node_text(e, node, was, sizeof was);
  at(e, node)->spelling = word;
  at(e, node)->syntax.infix = at(e, node)->syntax.infix && !as_call;
  return gemel__editor_emit(e, "%s: %s has %s instead", p.name, was, word);
}

/* Replaces the call of ROW at NODE by each other word of its group. */
static gemel_status siblings(gemel__editor *e, uint32_t node, rule_place p, word_role role,
                             uint32_t row) {
  for (size_t k = 0, first = 0; k < WORDS; k++) {
    first = words[k].role == END_OF_GROUP ? k + 1 : first;
    if (words[k].role != role || words[k].row != row) {
      continue;
    }
    for (size_t j = first; j < WORDS && words[j].role == role; j++) {
      if (j != k) {
        GEMEL__TRY(try_word(e, node, p, words[j].spelling, role == OPERATION));
      }
    }
  }
  return GEMEL_OK;
}

static gemel_status swaps(gemel__editor *e, uint32_t node, rule_place p) {
  uint32_t list[MOST_OPERANDS], n = positional(e, node, list);
  char was[SHOWN];
  for (uint32_t k = 0; k + 1 < n; k++) {
    gemel__editor_node_text(e, node, was, sizeof was);
    swap(e, node, list[k], list[k + 1]);
    GEMEL__TRY(
        gemel__editor_emit(e, "%s: swaps operands %u and %u of %s", p.name, k + 1, k + 2, was));
  }
  return GEMEL_OK;
}

static gemel_status passes(gemel__editor *e, uint32_t node, rule_place p, uint32_t most) {
  uint32_t list[MOST_OPERANDS], n = positional(e, node, list);
  for (uint32_t k = 0; k < n && k < most; k++) {
    char was[SHOWN], left[SHOWN];
    gemel__editor_node_text(e, node, was, sizeof was);
    gemel__editor_node_text(e, list[k], left, sizeof left);
    if (at(e, list[k])->syntax.kind != GEMEL__SYNTAX_VARIADIC) {
      become(e, node, list[k]);
      GEMEL__TRY(gemel__editor_emit(e, "%s: of %s only %s", p.name, was, left));
    }
  }
  return GEMEL_OK;
}

static gemel_status leaves_out(gemel__editor *e, uint32_t node, rule_place p, const uint32_t *list,
                               uint32_t n) {
  for (uint32_t k = 0; k < n; k++) {
    char was[SHOWN], gone[SHOWN];
    gemel__editor_node_text(e, node, was, sizeof was);
    gemel__editor_node_text(e, list[k], gone, sizeof gone);
    leave_out(e, node, list[k]);
    GEMEL__TRY(gemel__editor_emit(e, "%s: %s without %s", p.name, was, gone));
  }
  return GEMEL_OK;
}

/* Leaves out attributes, and makes reductions keep their axes. */
static gemel_status named(gemel__editor *e, uint32_t node, rule_place p,
                          const gemel_operation *op) {
  uint32_t all[MOST_OPERANDS], list[MOST_OPERANDS], n = children(e, node, all), keyed = 0;
  int keeps = 0;
  char was[SHOWN];
  for (uint32_t k = 0; k < n; k++) {
    const gemel__syntax_node *s = &at(e, all[k])->syntax;
    if (s->key != NULL) {
      list[keyed++] = all[k];
      keeps |= s->key_length == 8 && memcmp(s->key, "keepdims", 8) == 0;
    }
  }
  GEMEL__TRY(leaves_out(e, node, p, list, keyed));
  for (size_t k = 0; p.right && !keeps && n > 0 && op->attrs != NULL && op->attrs[k].name != NULL;
       k++) {
    if (strcmp(op->attrs[k].name, "keepdims") == 0) {
      gemel__editor_node_text(e, node, was, sizeof was);
      at(e, all[n - 1])->after = ", keepdims = 1";
      GEMEL__TRY(gemel__editor_emit(e, "%s: %s keeps its axes", p.name, was));
    }
  }
  return GEMEL_OK;
}

static gemel_status operation(gemel__editor *e, uint32_t node, rule_place p) {
  uint32_t id = operation_of(e, &at(e, node)->syntax);
  const gemel_operation *op = &gemel__op_at(e->rule->context, id)->record;
  uint32_t list[MOST_OPERANDS], n = positional(e, node, list);
  if (id == 0) {
    return GEMEL_OK;
  }
  GEMEL__TRY(siblings(e, node, p, OPERATION, id));
  if (!((op->flags & GEMEL_OP_COMMUTATIVE) && n == 2)) {
    GEMEL__TRY(swaps(e, node, p));
  }
  if (op->max_inputs < 0 && (int)n > op->min_inputs) {
    GEMEL__TRY(leaves_out(e, node, p, list, n));
  }
  GEMEL__TRY(named(e, node, p, op));
  /* on the left a lost operation makes another pattern; a lost arm of and, or, not makes it match
   * more */
  int arms =
      id == GEMEL__OP_logical_and || id == GEMEL__OP_logical_or || id == GEMEL__OP_logical_not;
  return p.right || arms ? passes(e, node, p, 2) : GEMEL_OK;
}

static gemel_status function(gemel__editor *e, uint32_t node, rule_place p) {
  uint32_t row = function_of(&at(e, node)->syntax);
  GEMEL__TRY(siblings(e, node, p, FUNCTION, row));
  if (!has_role(COMMUTES, row)) {
    GEMEL__TRY(swaps(e, node, p));
  }
  if (has_role(FIRST, row) || has_role(BOTH, row)) {
    GEMEL__TRY(passes(e, node, p, has_role(BOTH, row) ? 2 : 1));
  }
  return GEMEL_OK;
}

static gemel_status list(gemel__editor *e, uint32_t node, rule_place p) {
  uint32_t all[MOST_OPERANDS], n = children(e, node, all);
  GEMEL__TRY(leaves_out(e, node, p, all, n));
  return p.set ? GEMEL_OK : swaps(e, node, p);
}

static int names_axes(const gemel__syntax_node *s) {
  return s->key_length == 4 && memcmp(s->key, "axes", 4) == 0;
}

/* 1 if CHANGE has no effect: "reversed" on a set of axes or a list of at most one element,
 * "negated" on a list of zeros. */
static int is_idle(const gemel__editor *e, uint32_t node, const char *change) {
  const gemel__syntax_node *s = &e->nodes[node].syntax;
  uint32_t all[MOST_OPERANDS], n = children(e, node, all), zeros = 0;
  int is_list = s->kind == GEMEL__SYNTAX_LIST;
  for (uint32_t k = 0; k < n && is_list; k++) {
    const gemel__syntax_node *item = &e->nodes[all[k]].syntax;
    int64_t value;
    zeros += item->kind == GEMEL__SYNTAX_NUMBER && !item->number.is_float &&
             gemel__number_int(&item->number, &value) == 0 && value == 0;
  }
  return strcmp(change, "reversed") == 0 ? names_axes(s) || (is_list && n < 2)
                                         : strcmp(change, "negated") == 0 && is_list && zeros == n;
}

/* Changes the expression of an attribute as a whole. */
static gemel_status whole(gemel__editor *e, uint32_t node, rule_place p) {
  static const char *const wraps[][3] = {{"", " + 1", "one more"},
                                         {"", " - 1", "one less"},
                                         {"-(", ")", "negated"},
                                         {"reversed(", ")", "reversed"}};
  const gemel__syntax_node s = at(e, node)->syntax;
  char was[SHOWN];
  if (s.kind == GEMEL__SYNTAX_NUMBER || !p.right) {
    return GEMEL_OK;
  }
  for (size_t k = 0; k < sizeof wraps / sizeof *wraps; k++) {
    if (is_idle(e, node, wraps[k][2])) {
      continue;
    }
    gemel__editor_node_text(e, node, was, sizeof was);
    at(e, node)->before = wraps[k][0];
    at(e, node)->after = wraps[k][1];
    GEMEL__TRY(gemel__editor_emit(e, "%s: %.*s = %s is %s", p.name, (int)s.key_length, s.key, was,
                                  wraps[k][2]));
  }
  return GEMEL_OK;
}

/* ---- The walk ---- */

static gemel_status visit(gemel__editor *e, uint32_t node, rule_place p);

/* 1 for a call whose second operand lists what is removed, so its order has no meaning. */
static int takes_out(const gemel__syntax_node *s) {
  uint32_t row = s->kind == GEMEL__SYNTAX_CALL ? function_of(s) : GEMEL__ROW_COUNT;
  return row == GEMEL__FUNCTION_without || row == GEMEL__FUNCTION_remove;
}

static gemel_status visit_children(gemel__editor *e, uint32_t node, rule_place p) {
  uint32_t list[MOST_OPERANDS], n = children(e, node, list);
  int output = at(e, node)->syntax.kind == GEMEL__SYNTAX_OUTPUT;
  for (uint32_t k = 0; k < n; k++) {
    rule_place inner = p;
    int starts = !p.attribute && (at(e, list[k])->syntax.key != NULL || (output && k == 1));
    inner.attribute = p.attribute || starts;
    inner.set = names_axes(&at(e, list[k])->syntax) || (k == 1 && takes_out(&at(e, node)->syntax));
    if (starts && !output) {
      GEMEL__TRY(whole(e, list[k], inner));
    }
    GEMEL__TRY(visit(e, list[k], inner));
  }
  return GEMEL_OK;
}

/* Makes the mutants of NODE and of the nodes under it. The parser limits the depth. */
static gemel_status visit(gemel__editor *e, uint32_t node, rule_place p) {
  switch (at(e, node)->syntax.kind) {
  case GEMEL__SYNTAX_NUMBER:
    GEMEL__TRY(number(e, node, p));
    break;
  case GEMEL__SYNTAX_NAME:
    GEMEL__TRY(name(e, node, p));
    break;
  case GEMEL__SYNTAX_CALL:
    GEMEL__TRY(p.attribute ? function(e, node, p) : operation(e, node, p));
    break;
  case GEMEL__SYNTAX_INDEX:
    GEMEL__TRY(swaps(e, node, p));
    GEMEL__TRY(passes(e, node, p, 2));
    break;
  case GEMEL__SYNTAX_LIST:
    GEMEL__TRY(list(e, node, p));
    break;
  default:
    break;
  }
  return visit_children(e, node, p);
}

static gemel_status conditions(gemel__editor *e) {
  const rule_place p = {"where", 0, 1, 0};
  char was[SHOWN];
  for (uint32_t k = 0; k < e->rule->n_conditions; k++) {
    uint32_t root = e->conditions[k];
    gemel__editor_node_text(e, root, was, sizeof was);
    memmove(&e->conditions[k], &e->conditions[k + 1],
            (e->n_conditions - k - 1) * sizeof *e->conditions);
    e->n_conditions--;
    GEMEL__TRY(gemel__editor_emit(e, "where: drops %s", was));
    at(e, root)->before = "not (";
    at(e, root)->after = ")";
    GEMEL__TRY(gemel__editor_emit(e, "where: negates %s", was));
    GEMEL__TRY(visit(e, root, p));
  }
  return GEMEL_OK;
}

/* Removes or adds each word of `needs`. `improves` isn't removed: a rule needn't say that it
 * improves. */
static gemel_status needs(gemel__editor *e) {
  for (int k = 0; k < GEMEL_NEEDS_COUNT; k++) {
    int there = (int)(e->needs >> k & 1);
    if (there && 1u << k == GEMEL_NEEDS_BIT(IMPROVES)) {
      continue;
    }
    e->needs ^= 1u << k;
    GEMEL__TRY(
        gemel__editor_emit(e, "needs: %s %s", there ? "without" : "with", gemel_needs_word(k)));
  }
  return GEMEL_OK;
}

gemel_status gemel__mutants_of_rule(const struct gemel_rule *rule, uint64_t seed,
                                    gemel__mutants *mutants, gemel_error *error) {
  const rule_place left = {"left", 0, 0, 0}, right = {"right", 1, 0, 0};
  gemel__editor e;
  gemel_status status = gemel__editor_start(&e, rule, mutants, error);
  gemel__random_seed(&e.random, seed);
  status = status ? status : visit(&e, e.left, left);
  status = status ? status : visit(&e, e.right, right);
  status = status ? status : conditions(&e);
  status = status ? status : needs(&e);
  gemel__editor_clear(&e);
  return status;
}
