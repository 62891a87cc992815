/* SPDX-License-Identifier: MIT
 *
 * Where elements are numbers: over the reals a quotient by 0 or the logarithm of what isn't above 0
 * is none, and two elements are the same only if they are numbers at the same places. A choice is a
 * number where the one that it takes is. A fold is a number if what is folded is one at every
 * index: that is said at the fold's own symbols, of which nothing else is known.
 */
#include <string.h>
#include "core/alloc.h"
#include "unbounded/equal.h"

static gemel__pterm call(gemel__pscene *s, gemel__pterm_sort sort, const char *name, uint32_t n,
                         const gemel__pterm *operands) {
  return gemel__p_call(&s->terms, sort, name, 0, n, operands);
}

static gemel__pterm compared(gemel__pscene *s, const char *name, gemel__pterm x,
                             const char *number) {
  gemel__pterm both[2] = {
      x, gemel__p_literal(&s->terms, (gemel__pterm_sort)s->terms.nodes[x].sort, number)};
  gemel__pterm is = call(s, gemel__psort_of(GEMEL_BOOL), name, 2, both);
  return call(s, GEMEL__PSORT_TRUTH, "truth", 1, &is);
}

/* Where x to the power TEXT is a number. */
static gemel__pterm power_defined(gemel__pscene *s, gemel__pterm x, const char *text) {
  int whole = strchr(text, '.') == NULL && strchr(text, 'e') == NULL;
  if (whole) {
    return *text == '-' ? gemel__p_not(&s->terms, compared(s, "eq", x, "0"))
                        : gemel__p_truth(&s->terms, 1);
  }
  return compared(s, *text == '-' ? "gt" : "ge", x, "0");
}

/* Where the operation that A calls is a number, its operands being numbers. */
static gemel__pterm operation_defined(gemel__pscene *s, gemel__pterm a) {
  const gemel__pterm_node n = s->terms.nodes[a];
  gemel__pterm operands[4];
  char name[60] = "defined:";
  gemel_dtype dtype;
  if (n.count == 0 || n.count > 4 ||
      !gemel__psort_dtype(s->terms.nodes[gemel__p_operand(&s->terms, a, 0)].sort, &dtype) ||
      gemel_dtype_kind(dtype) != GEMEL_KIND_FLOAT || !gemel__scalar_is_partial(n.name)) {
    return gemel__p_truth(&s->terms, 1);
  }
  memcpy(operands, s->terms.operands + n.first, n.count * sizeof *operands);
  const gemel__pterm_node *exponent = n.count == 2 ? &s->terms.nodes[operands[1]] : NULL;
  if (strcmp(n.name, "pow") == 0 && exponent->kind == GEMEL__P_CALL && exponent->value == 2) {
    return power_defined(s, operands[0], exponent->name);
  }
  if (strcmp(n.name, "tan") == 0) {
    gemel__pterm cosine = call(s, (gemel__pterm_sort)n.sort, "cos", 1, operands);
    return gemel__p_not(&s->terms, compared(s, "eq", cosine, "0"));
  }
  strncat(name, n.name, sizeof name - sizeof "defined:");
  return call(s, GEMEL__PSORT_TRUTH, name, n.count, operands);
}

/* What A is a fold of is a number (BODY) at its symbols. */
static gemel__pterm fold_defined(gemel__pscene *s, gemel__pterm a, gemel__pterm body) {
  gemel__pterms *t = &s->terms;
  gemel__pterm inside = gemel__p_truth(t, 1);
  for (uint32_t k = 1; k + 1 < t->nodes[a].count; k += 2) {
    gemel__pterm symbol = gemel__p_operand(t, a, k), size = gemel__p_operand(t, a, k + 1);
    inside = gemel__p_and(t, inside, gemel__p_at_least(t, symbol, gemel__p_number(t, 0)));
    inside = gemel__p_and(t, inside, gemel__p_below(t, symbol, size));
  }
  return gemel__p_implies(t, inside, body);
}

/* Where A is a number, IS having that of what it is made of. */
static gemel__pterm defined_of(gemel__pscene *s, gemel__pterm a, const gemel__pterm *is) {
  gemel__pterms *t = &s->terms;
  const gemel__pterm_node n = t->nodes[a];
  gemel__pterm all = gemel__p_truth(t, 1);
  if (n.kind == GEMEL__P_CHOICE) {
    return gemel__p_and(t, is[gemel__p_operand(t, a, 0)],
                        gemel__p_choose(t, gemel__p_operand(t, a, 0), is[gemel__p_operand(t, a, 1)],
                                        is[gemel__p_operand(t, a, 2)]));
  }
  if (n.kind == GEMEL__P_FOLD) {
    return fold_defined(s, a, is[gemel__p_operand(t, a, 0)]);
  }
  for (uint32_t k = 0; k < n.count; k++) {
    all = gemel__p_and(t, all, is[t->operands[n.first + k]]);
  }
  return n.kind == GEMEL__P_CALL ? gemel__p_and(t, all, operation_defined(s, a)) : all;
}

gemel__pterm gemel__defined(gemel__pscene *s, gemel__pterm a) {
  size_t size = (size_t)a + 1;
  gemel__pterm *is = gemel__alloc_zeroed(size * sizeof *is), result;
  if (is == NULL) {
    gemel__pscene_stop(s, GEMEL__P_FAILED, "memory is out");
    return 0;
  }
  is[a] = a;
  for (gemel__pterm k = a; k > 0; k--) {
    for (uint32_t i = 0; is[k] != 0 && i < s->terms.nodes[k].count; i++) {
      is[gemel__p_operand(&s->terms, k, i)] = k;
    }
  }
  for (gemel__pterm k = 1; k <= a && !s->terms.trouble; k++) {
    is[k] = is[k] != 0 ? defined_of(s, k, is) : 0;
  }
  result = s->terms.trouble ? 0 : is[a];
  gemel__free(is, size * sizeof *is);
  return result;
}

/* The symbols of A's folds, up to MOST of them, one fold behind the other; how many. */
static uint32_t bound_symbols(gemel__pscene *s, gemel__pterm a, gemel__pterm *symbols,
                              uint32_t *counts, uint32_t most) {
  const gemel__pterms *t = &s->terms;
  unsigned char *wanted = gemel__alloc_zeroed((size_t)a + 1);
  uint32_t folds = 0;
  if (wanted == NULL) {
    gemel__pscene_stop(s, GEMEL__P_FAILED, "memory is out");
    return 0;
  }
  wanted[a] = 1;
  gemel__p_mark(t, a, 1, wanted);
  for (gemel__pterm k = a; k > 0; k--) {
    const gemel__pterm_node *n = &t->nodes[k];
    if (wanted[k] && n->kind == GEMEL__P_FOLD && folds < most && n->count / 2 <= GEMEL__PAXES) {
      counts[folds] = n->count / 2;
      for (uint32_t i = 0; i < counts[folds]; i++) {
        symbols[folds * GEMEL__PAXES + i] = gemel__p_operand(t, k, 2 * i + 1);
      }
      folds++;
    }
  }
  gemel__free(wanted, (size_t)a + 1);
  return folds;
}

/* DEFINED, which holds whatever the symbols of A's folds are, holds at those of B's. */
static void assume_instances(gemel__pscene *s, gemel__pterm defined, gemel__pterm a,
                             gemel__pterm b) {
  enum { MOST_FOLDS = 4 };
  gemel__pterm from[MOST_FOLDS * GEMEL__PAXES], to[MOST_FOLDS * GEMEL__PAXES];
  uint32_t counts[MOST_FOLDS], others[MOST_FOLDS];
  uint32_t n = bound_symbols(s, a, from, counts, MOST_FOLDS);
  uint32_t m = bound_symbols(s, b, to, others, MOST_FOLDS);
  gemel__pscene_assume(s, gemel__laws_write(s, defined), 0);
  for (uint32_t k = 0; k < n; k++) {
    for (uint32_t i = 0; i < m; i++) {
      if (counts[k] == others[i]) {
        gemel__pterm instance = gemel__p_replace(&s->terms, defined, counts[k],
                                                 from + k * GEMEL__PAXES, to + i * GEMEL__PAXES);
        gemel__pscene_assume(s, gemel__laws_write(s, instance), 0);
      }
    }
  }
}

int gemel__defined_alike(gemel__pscene *s, gemel__pterm a, gemel__pterm b) {
  gemel__pterm left = gemel__defined(s, a), right = gemel__defined(s, b);
  size_t before = s->n_known;
  int alike = 1;
  if (left == 0 || right == 0) {
    return 0;
  }
  for (int side = 0; side < 2 && alike; side++) {
    assume_instances(s, side ? right : left, side ? b : a, side ? a : b);
    alike =
        s->flow == GEMEL__P_GO &&
        gemel__pscene_provable(s, gemel__laws_write(s, side ? left : right), GEMEL__PSTEP_DEFINED);
    s->n_known = before;
  }
  return alike;
}

void gemel__assume_defined(gemel__pscene *s, gemel__pterm a) {
  gemel__pterm defined = gemel__defined(s, a);
  if (defined != 0) {
    assume_instances(s, defined, a, a);
  }
}
