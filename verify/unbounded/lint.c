/* SPDX-License-Identifier: MIT
 *
 * Axes of one tensor that a rule uses as those of another, told with their place in its text.
 */
#include <gemel/verify.h>
#include "core/error.h"
#include "unbounded/axes.h"

gemel_status gemel_rule_check_axes(const gemel_rule *rule, gemel_error *error) {
  gemel__axes_report report;
  if (rule == NULL) {
    return gemel__fail(error, GEMEL_BAD_ARGUMENT, "the rule is null");
  }
  gemel_status status = gemel__axes_check(rule, &report, error);
  if (status == GEMEL_OK && report.clashes) {
    const gemel_rule_info *info = gemel_rule_describe(rule);
    status = gemel__fail(error, GEMEL_BAD_TEXT, "%s:%d:%d: rule %s: %s", info->file, report.line,
                         report.column, info->name, report.why);
    if (error != NULL) {
      error->line = report.line;
      error->column = report.column;
    }
  }
  return status;
}
