/* SPDX-License-Identifier: MIT
 *
 * What rows of scalar.def know of their results' elements: the column `facts` as a function for
 * each row.
 */
#include "core/dtype.h"
#include "ops/facts.h"
#include "ops/ops.h"

/* The words of the column. */
enum { N = GEMEL__NONNEGATIVE, Z = GEMEL__NONZERO, M = GEMEL__NOT_NAN, P = GEMEL__POSITIVE };
#define IF(condition, facts) gemel__facts_if(condition, facts)
#define HAS(facts, wanted) (((facts) & (wanted)) == (wanted))

/* What a cast keeps. A nonnegative number stays nonnegative when it is rounded, or truncated to an
 * integer; an integer that wraps round to a narrower dtype may become negative. */
static unsigned cast_facts(const gemel__fact_call *call) {
  unsigned x = call->of[0];
  int from_float = gemel_dtype_kind(call->from) == GEMEL_KIND_FLOAT;
  int exact = gemel__exact_cast(call->from, call->to);
  return IF(exact || from_float || call->is_float, x & N) | IF(exact || !from_float, x & M) |
         IF(call->is_float, x & M) | IF(exact || (!from_float && call->is_float), x & Z);
}

#define FACTS_NONE 0
#define FACTS_KNOWN(facts) (facts)
#define SCALAR(name, inputs, attrs, code, fc, ic, grads, ranges, ulp, flags, facts, ...)           \
  static unsigned facts_of_##name(const gemel__fact_call *call) {                                  \
    const unsigned x = call->of[0], y = call->of[1], z = call->of[2];                              \
    const int FLOAT = call->is_float, TWICE = call->twice;                                         \
    (void)x, (void)y, (void)z, (void)FLOAT, (void)TWICE;                                           \
    return FACTS_##facts;                                                                          \
  }
#include "ops/scalar.def"
#undef SCALAR

#define ANY_NONE 0
#define ANY_KNOWN(facts) 1
#define SCALAR(name, inputs, attrs, code, fc, ic, grads, ranges, ulp, flags, facts, ...)           \
  [GEMEL__SCALAR_##name] = ANY_##facts ? facts_of_##name : NULL,
const gemel__fact_rule gemel__scalar_facts[GEMEL__SCALAR_COUNT] = {
#include "ops/scalar.def"
};
