/* SPDX-License-Identifier: MIT
 *
 * Facts of leaves, see assumed.h. Values come from many places: draws, searches, a
 * solver's examples, shrinking. Each chooses numbers for its own reasons. So facts are enforced
 * where a value is stored: one that breaks a fact is replaced by a similar one that doesn't.
 */
#include "instances/assumed.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include "core/cons.h"
#include "core/dtype.h"
#include "core/graph.h"
#include "instances/instance.h"

gemel_range gemel__range_of_facts(unsigned facts) {
  int positive = (facts & GEMEL_FACT_POSITIVE) == GEMEL_FACT_POSITIVE;
  return positive                         ? GEMEL_RANGE_POSITIVE
         : facts & GEMEL_FACT_NONNEGATIVE ? GEMEL_RANGE_NONNEGATIVE
         : facts & GEMEL_FACT_NONZERO     ? GEMEL_RANGE_NONZERO
                                          : GEMEL_RANGE_ANY;
}

/* ---- One element ---- */

int gemel__leaf_admits(const gemel__leaf *leaf, double x) {
  return !((leaf->facts & GEMEL_FACT_NONNEGATIVE) && x < 0) &&
         !((leaf->facts & GEMEL_FACT_NONZERO) && x == 0) &&
         !((leaf->facts & GEMEL_FACT_NOT_NAN) && isnan(x)) &&
         !((leaf->facts & GEMEL_FACT_FINITE) && !isfinite(x));
}

int gemel__leaf_keeps(const gemel__leaf *leaf, const void *element) {
  return leaf->facts == 0 || gemel__leaf_admits(leaf, gemel__decode(leaf->dtype, element));
}

static void store_integer(gemel_dtype dtype, int64_t x, void *element) {
  gemel__points_store(dtype, 1, NULL, &x, element);
}

/* X isn't allowed in LEAF: stores a similar number that is in ELEMENT. */
static void replace(const gemel__leaf *leaf, double x, void *element) {
  int below = x < 0 && (leaf->facts & GEMEL_FACT_NONNEGATIVE) != 0;
  double one = signbit(x) && !(leaf->facts & GEMEL_FACT_NONNEGATIVE) ? -1 : 1;
  if (gemel__is_float(leaf->dtype)) {
    gemel__store_real(leaf->dtype, below && gemel__leaf_admits(leaf, -x) ? -x : one, element);
    return;
  }
  store_integer(leaf->dtype, below ? x > -0x1p62 ? -(int64_t)x : INT64_MAX : 1, element);
  if (!gemel__leaf_keeps(leaf, element)) { /* the least integer of a dtype has no negative */
    store_integer(leaf->dtype, 1, element);
  }
}

void gemel__leaf_settle(const gemel__leaf *leaf, size_t n, void *elements) {
  size_t bytes = gemel_dtype_size(leaf->dtype), k;
  for (k = 0; k < n && leaf->facts != 0; k++) {
    void *element = (char *)elements + k * bytes;
    double x = gemel__decode(leaf->dtype, element);
    if (!gemel__leaf_admits(leaf, x)) {
      replace(leaf, x, element);
    }
  }
}

void gemel__tensor_settle(const gemel__leaf *leaf, gemel_tensor *tensor) {
  gemel__leaf_settle(leaf, (size_t)gemel_tensor_elements(tensor), gemel_tensor_data(tensor));
}

/* ---- Numbers ---- */

/* The least and the largest finite number of a dtype. */
static void ends_of(gemel_dtype dtype, long double *low, long double *high) {
  const gemel__format *format = gemel__dtype_format(dtype);
  if (gemel__is_float(dtype)) {
    *high = ldexpl(2 - ldexpl(1, 1 - format->digits), format->highest);
    *low = -*high;
    return;
  }
  int bits = dtype == GEMEL_BOOL ? 1 : 8 * (int)gemel_dtype_size(dtype);
  int is_signed = gemel_dtype_kind(dtype) == GEMEL_KIND_SIGNED;
  *high = ldexpl(1, bits - is_signed) - 1;
  *low = is_signed ? -ldexpl(1, bits - 1) : 0;
}

/* The integer that X becomes in DTYPE, in an int64_t (u64: the same bits). */
static int64_t integer_of(gemel_dtype dtype, long double x) {
  long double low, high;
  ends_of(dtype, &low, &high);
  if (dtype == GEMEL_BOOL) {
    return x != 0;
  }
  if (!(x >= -0x1p63L && x < 0x1p64L)) {
    x = x > 0 ? high : low;
  }
  return x >= 0x1p63L ? (int64_t)(uint64_t)x : (int64_t)x;
}

long double gemel__leaf_within(const gemel__leaf *leaf, long double x) {
  long double low, high;
  int positive = leaf->range == GEMEL_RANGE_POSITIVE || leaf->range == GEMEL_RANGE_NONZERO;
  ends_of(leaf->dtype, &low, &high);
  if (leaf->range == GEMEL_RANGE_MODERATE) {
    low = fmaxl(low, -16);
    high = 16;
  } else if (leaf->range == GEMEL_RANGE_INDEX) {
    low = leaf->low;
    high = leaf->high - 1;
  } else if (leaf->range == GEMEL_RANGE_POSITIVE || leaf->range == GEMEL_RANGE_NONNEGATIVE) {
    low = 0;
  } else if (leaf->range == GEMEL_RANGE_ABOVE_MINUS_ONE && x <= -1) {
    x = 0;
  }
  x = fmaxl(low, fminl(high, x));
  return x == 0 && positive ? 1 : x;
}

void gemel__leaf_put(const gemel__leaf *leaf, void *element, long double x) {
  if (gemel__is_float(leaf->dtype)) {
    gemel__store_real(leaf->dtype, (double)x, element);
  } else {
    store_integer(leaf->dtype, integer_of(leaf->dtype, x), element);
  }
  gemel__leaf_settle(leaf, 1, element);
}

long double gemel__leaf_get(const gemel__leaf *leaf, const void *element) {
  int64_t n;
  if (leaf->dtype != GEMEL_I64 && leaf->dtype != GEMEL_U64) {
    return gemel__decode(leaf->dtype, element);
  }
  memcpy(&n, element, sizeof n);
  return leaf->dtype == GEMEL_U64 ? (long double)(uint64_t)n : (long double)n;
}

void *gemel__leaf_at(const gemel__leaf *leaf, const gemel_tensor *tensor, size_t k) {
  return (char *)gemel_tensor_data(tensor) + k * gemel_dtype_size(leaf->dtype);
}

/* ---- Pairs ---- */

static unsigned facts_of(const gemel_graph *graph, const char *name) {
  long k = gemel__name_find(&graph->input_table, graph->input_names, name);
  return k < 0 ? 0 : gemel__input_facts(graph, (size_t)k);
}

unsigned gemel__facts_of_both(const gemel_graph *a, const gemel_graph *b, const char *name) {
  return facts_of(a, name) | facts_of(b, name);
}

void gemel__say_assumed(const gemel_graph *a, const gemel_graph *b, char *text, size_t bytes) {
  static const char *const who[] = {"", "the first graph assumes more of",
                                    "the second graph assumes more of",
                                    "the graphs assume different things of"};
  size_t k, used = 0;
  text[0] = '\0';
  for (k = 0; k < gemel_graph_input_count(a) && used < bytes; k++) {
    const char *name = gemel_graph_input_name(a, k);
    unsigned left = facts_of(a, name), right = facts_of(b, name);
    unsigned which = ((left & ~right) != 0) + 2u * ((right & ~left) != 0);
    if (which != 0) {
      used += (size_t)snprintf(text + used, bytes - used, "%s%s %s", used > 0 ? "; " : "",
                               who[which], name);
    }
  }
}
