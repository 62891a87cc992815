/* SPDX-License-Identifier: MIT
 *
 * What can be proved of a value's elements by looking at the operations that made it, a few levels
 * down. Meant to be right before it is strong: what isn't proved isn't denied.
 */
#ifndef GEMEL__RULES_FACTS_H
#define GEMEL__RULES_FACTS_H

#include "core/graph.h"

enum {
  GEMEL__NONNEGATIVE = 1 << 0, /* no element < 0 (NaN and -0 may be among them) */
  GEMEL__NONZERO = 1 << 1,     /* no element == 0 (NaN may be) */
  GEMEL__NOT_NAN = 1 << 2,     /* no element is NaN */
  /* no element <= 0 (NaN may be) */
  GEMEL__POSITIVE = GEMEL__NONNEGATIVE | GEMEL__NONZERO
};

/* The facts known of VALUE, a value of GRAPH. Looks at a bounded number of nodes. */
unsigned gemel__facts(const gemel_graph *graph, gemel__ref value);

/* 1 if every value of dtype FROM is one of dtype TO, infinities and NaN included. */
int gemel__exact_cast(gemel_dtype from, gemel_dtype to);

#endif
