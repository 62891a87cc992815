/* SPDX-License-Identifier: MIT
 *
 * What `gemel verify` is about to do: how many operations and rules, for progress, and how long
 * their names are, for a table that is printed row by row.
 */
#include <string.h>
#include "records.h"
#include "core/words.h"
#include "passes/passes.h"
#include "rewrite/choice.h"

/* An operation, in all tiers and with its derivatives, takes about as long as three rules. */
size_t gemel__subjects_weight(const char *kind) {
  return strcmp(kind, "operation") == 0 ? 3 : strcmp(kind, "gradient") == 0 ? 0 : 1;
}

static void add(gemel__records *records, const char *kind, size_t length) {
  enum { WIDEST = 40 };
  int width = length < WIDEST ? (int)length : WIDEST;
  records->all += gemel__subjects_weight(kind);
  if (width > records->rows_printed.width) {
    records->rows_printed.width = width;
  }
}

void gemel__subjects_operations(gemel__records *records, gemel_context *context, const char *list) {
  for (size_t k = 0; k < gemel_operation_count(context); k++) {
    const gemel_operation *op = gemel_operation_at(context, k);
    if (gemel__list_names(list, op->name)) {
      int derived = (op->flags & GEMEL_OP_SOURCE) == 0 && (op->grad != NULL || op->jvp != NULL);
      add(records, "operation", strlen(op->name) + (derived ? strlen(".grad") : 0));
    }
  }
}

void gemel__subjects_rules(gemel__records *records, gemel_context *context, const gemel_rules *set,
                           const char *list) {
  gemel_rules *own = set == NULL ? gemel_rules_builtin(context, NULL) : NULL;
  const gemel_rules *rules = set != NULL ? set : own;
  size_t n_rules = gemel_rules_count(rules);
  size_t n = n_rules + (set == NULL ? gemel_pass_count(context) : 0);
  for (size_t k = 0; k < n; k++) {
    gemel_rule_info info = k < n_rules ? *gemel_rule_describe(gemel_rules_at(rules, k))
                                       : gemel__pass_info(gemel_pass_at(context, k - n_rules));
    if (list == NULL || gemel__list_names_rule(list, &info)) {
      add(records, k < n_rules ? "rule" : "pass", strlen(info.name));
    }
  }
  gemel_rules_unref(own);
}
