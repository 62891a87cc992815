/*
 * Every function and operator of the rule language with operands of every kind, in a rule's
 * condition. Such a rule is refused where it is read, for the kind of an operand, or the prover
 * takes it, and nothing breaks. Every function has both.
 *
 * SPDX-License-Identifier: MIT
 */
#include "ct.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gemel/gemel.h>
#include <gemel/verify.h>
#include "rules/functions.h"
#include "unbounded/unbounded.h"

/* The left side binds a tensor, a variadic variable, a dtype, axes that may be absent, and a
 * number; the others are written. */
#define SIDE "join(cast(sum(x, axes = a), dtype = d), ..xs, axis = k)"

static const char *const operands[] = {"x",
                                       "xs",
                                       "d",
                                       "f32",
                                       "a",
                                       "shape(x)",
                                       "[0, 1]",
                                       "k",
                                       "rank(x)",
                                       "value(x)",
                                       "0.5",
                                       "none",
                                       "\"text\"",
                                       "rank(x) == 1",
                                       "[]",
                                       "-9223372036854775807",
                                       "4611686018427387904"};

enum { KINDS = sizeof operands / sizeof *operands, MOST_OPERANDS = 3 };

typedef struct trial {
  gemel_context *context;
  size_t read, refused;
} trial;

/* Writes the call of row K of functions.def with the operands AT. */
static void write_call(size_t k, const size_t *at, int n, char *text, size_t bytes) {
  static const char *const signs[] = {
      [GEMEL__OPERATOR_add] = "+",         [GEMEL__OPERATOR_sub] = "-",
      [GEMEL__OPERATOR_mul] = "*",         [GEMEL__OPERATOR_div] = "/",
      [GEMEL__OPERATOR_floordiv] = "//",   [GEMEL__OPERATOR_mod] = "%",
      [GEMEL__OPERATOR_neg] = "-",         [GEMEL__OPERATOR_eq] = "==",
      [GEMEL__OPERATOR_ne] = "!=",         [GEMEL__OPERATOR_lt] = "<",
      [GEMEL__OPERATOR_le] = "<=",         [GEMEL__OPERATOR_gt] = ">",
      [GEMEL__OPERATOR_ge] = ">=",         [GEMEL__OPERATOR_logical_and] = "and",
      [GEMEL__OPERATOR_logical_or] = "or", [GEMEL__OPERATOR_logical_not] = "not"};
  const gemel__function *f = &gemel__function_rows[k];
  size_t used;
  if (k == GEMEL__OPERATOR_index) {
    snprintf(text, bytes, "(%s)[%s]", operands[at[0]], operands[at[1]]);
  } else if (f->infix && n == 1) {
    snprintf(text, bytes, "%s (%s)", signs[k], operands[at[0]]);
  } else if (f->infix) {
    snprintf(text, bytes, "(%s) %s (%s)", operands[at[0]], signs[k], operands[at[1]]);
  } else {
    used = (size_t)snprintf(text, bytes, "%s(", f->name);
    for (int j = 0; j < n; j++) {
      used +=
          (size_t)snprintf(text + used, bytes - used, "%s%s", j > 0 ? ", " : "", operands[at[j]]);
    }
    snprintf(text + used, bytes - used, ")");
  }
}

/* The condition may be a number or a truth; for what gives none, that it isn't absent. */
static void try_condition(trial *t, const char *call) {
  char text[600];
  gemel_error error = {0};
  gemel__claim claim;
  snprintf(text, sizeof text, "rule r in canonicalize: %s => %s where (%s) != none", SIDE, SIDE,
           call);
  gemel_rules *rules = gemel_rules_parse(t->context, text, strlen(text), "kinds.rules", &error);
  ct_context("%s", call);
  if (rules == NULL) {
    CT_EQ_INT(error.status, GEMEL_BAD_TEXT);
    CT_HAS_STR(error.text, " takes ");
    t->refused++;
    return;
  }
  t->read++;
  CT_EQ_INT(gemel__prove_rule(gemel_rules_at(rules, 0), 1, NULL, &claim, &error), GEMEL_OK);
  CT_EQ_STR(error.text, "");
  gemel_rules_unref(rules);
}

/* All combinations of operands of row DATA. */
static void every_operand(const void *data) {
  size_t k = *(const size_t *)data, at[MOST_OPERANDS] = {0};
  const gemel__function *f = &gemel__function_rows[k];
  trial t = {.context = gemel_context_new(NULL)};
  char call[300];
  int n = f->min, j = 0;
  CT_REQUIRE(t.context != NULL && n <= MOST_OPERANDS);
  while (j < n) {
    write_call(k, at, n, call, sizeof call);
    try_condition(&t, call);
    for (j = 0; j < n && ++at[j] == KINDS; j++) {
      at[j] = 0;
    }
  }
  ct_context("%s", f->name);
  CT_CHECK(t.read > 0);
  CT_CHECK(t.refused > 0);
  gemel_context_unref(t.context);
}

void ct_register(void) {
  static size_t rows[GEMEL__ROW_COUNT];
  for (size_t k = 0; k < GEMEL__ROW_COUNT; k++) {
    rows[k] = k;
    CT_ADD_TO("rule_kinds", gemel__function_rows[k].infix ? "operator" : "function",
              gemel__function_rows[k].name, every_operand, &rows[k]);
  }
}
