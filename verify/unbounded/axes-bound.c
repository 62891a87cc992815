/* SPDX-License-Identifier: MIT
 *
 * How many axes keep the elements of both sides apart? On the way to an element of a variable each
 * choice goes one way: that an index lies beside a window or in a margin is so at one axis. Of N
 * elements of a variable that are read, N - 1 axes tell those apart that differ (doc/ranks.md).
 */
#include <string.h>
#include "core/context.h"
#include "unbounded/axes.h"

enum { MOST_CHOICES = 24 };

/* A walk through both sides on one way. GIVEN: what is chosen; LIMITS: how many each has. */
typedef struct walk {
  gemel__axes *x;
  unsigned char given[MOST_CHOICES], limits[MOST_CHOICES];
  uint32_t n_given, n_chosen;
  int reads[GEMEL__RULE_VARIABLES]; /* of each variable */
  int beside;                       /* choices that one axis shows */
  int chosen;                       /* choices by elements */
  int swaps, most_swaps;            /* operations above whose operands may be swapped */
  int many;                         /* there are too many choices */
  int under;  /* reductions along single axes above: at their places all ways are gone */
  int single; /* all reductions are such */
} walk;

static uint32_t choose(walk *w, uint32_t count) {
  uint32_t k = w->n_chosen;
  if (k == MOST_CHOICES || count > 255 || count == 0) {
    w->many = 1;
    return 0;
  }
  if (k >= w->n_given) {
    w->given[k] = 0;
  }
  w->limits[k] = (unsigned char)count;
  w->n_chosen++;
  return w->given[k];
}

static int next_way(walk *w) {
  uint32_t n = w->n_chosen;
  while (n > 0 && w->given[n - 1] + 1 == w->limits[n - 1]) {
    n--;
  }
  w->n_given = n;
  if (n > 0) {
    w->given[n - 1]++;
  }
  return n > 0;
}

/* The node of the left side that variable V names; -1 if it is a tensor of its own. */
static int named(const walk *w, uint32_t v) {
  const gemel__rule_side *left = &w->x->rule->left;
  for (uint32_t k = 0; k < left->count; k++) {
    if (left->nodes[k].kind == GEMEL__PATTERN_APPLY && left->nodes[k].named == v + 1) {
      return (int)k;
    }
  }
  return -1;
}

static void go(walk *w, const gemel__rule_side *side, uint32_t node);

/* In a window, or beside it: the operand INSIDE, or OUTSIDE. */
static void go_either(walk *w, const gemel__rule_side *side, const gemel__pattern *p, int inside,
                      int outside) {
  int way = w->under > 0 ? 2 : (int)choose(w, 2);
  w->beside += way > 0;
  if (way != 1) {
    go(w, side, p->operands[inside]);
  }
  if (way != 0) {
    go(w, side, p->operands[outside]);
  }
}

static void go_all(walk *w, const gemel__rule_side *side, const gemel__pattern *p, uint32_t from) {
  for (uint32_t k = from; k < p->n_operands; k++) {
    go(w, side, p->operands[k]);
  }
}

/* All operands, which may be swapped if COMMUTES. */
static void go_swapped(walk *w, const gemel__rule_side *side, const gemel__pattern *p,
                       int commutes) {
  w->swaps += commutes;
  w->most_swaps = w->swaps > w->most_swaps ? w->swaps : w->most_swaps;
  go_all(w, side, p, 0);
  w->swaps -= commutes;
}

static void go_inc(walk *w, const gemel__rule_side *side, const gemel__pattern *p) {
  int way = w->under > 0 ? 2 : (int)choose(w, 2);
  w->beside += way > 0;
  if (way != 1) {
    go_swapped(w, side, p, 1);
  } else {
    go(w, side, p->operands[0]);
  }
}

static int is_reduction(const char *name) {
  static const char *const names[] = {"argmax", "argsort", "cumsum", "max",
                                      "prod",   "softmax", "sum",    NULL};
  int k = 0;
  while (names[k] != NULL && strcmp(names[k], name) != 0) {
    k++;
  }
  return names[k] != NULL;
}

static void go_operation(walk *w, const gemel__rule_side *side, const gemel__pattern *p) {
  const gemel__op *op = gemel__op_at(w->x->rule->context, p->op);
  const char *name = op->record.name;
  int under = w->single && is_reduction(name);
  w->under += under;
  if (strcmp(name, "pad") == 0) {
    go_either(w, side, p, 0, 1);
  } else if (strcmp(name, "set_subtensor") == 0) {
    go_either(w, side, p, 1, 0);
  } else if (strcmp(name, "inc_subtensor") == 0) {
    go_inc(w, side, p);
  } else if (strcmp(name, "join") == 0 && w->under == 0) {
    go(w, side, p->operands[choose(w, p->n_operands)]);
  } else if (strcmp(name, "where") == 0 && w->under == 0) {
    w->chosen++;
    go(w, side, p->operands[0]);
    go(w, side, p->operands[1 + choose(w, 2)]);
  } else if (strcmp(name, "dot") == 0) {
    go_swapped(w, side, p, 1);
  } else if (strcmp(name, "fill") == 0) {
    go(w, side, p->operands[1]);
  } else {
    go_swapped(w, side, p, (op->record.flags & GEMEL_OP_COMMUTATIVE) != 0);
  }
  w->under -= under;
}

static void go(walk *w, const gemel__rule_side *side, uint32_t node) {
  const gemel__pattern *p = &side->nodes[node];
  if (p->kind == GEMEL__PATTERN_APPLY) {
    go_operation(w, side, p);
    return;
  }
  if (p->kind == GEMEL__PATTERN_LITERAL) {
    return;
  }
  int left = named(w, p->variable);
  if (left >= 0) {
    go(w, &w->x->rule->left, (uint32_t)left);
  } else if (gemel__axes_count(w->x, w->x->variables[p->variable].of) != 0) {
    w->reads[p->variable]++;
  }
}

/* Axes for the way that W has gone. */
static int axes_of_way(const walk *w, int folds) {
  int reads = 0;
  for (uint32_t k = 0; k < GEMEL__RULE_VARIABLES; k++) {
    reads += w->reads[k] > 1 ? w->reads[k] - 1 : 0;
  }
  return folds ? (1 << w->most_swaps) * (1 + w->beside) : reads + w->beside;
}

int gemel__axes_of_elements(gemel__axes *x, int *any) {
  const struct gemel_rule *rule = x->rule;
  int folds = x->folds > 0, most = 0;
  walk w = {.x = x, .single = !folds};
  *any = folds;
  if (x->different || (folds && x->singles > 0)) {
    return -1;
  }
  do {
    w.n_chosen = 0;
    w.beside = w.chosen = w.swaps = w.most_swaps = 0;
    memset(w.reads, 0, sizeof w.reads);
    go(&w, &rule->left, rule->left.count - 1);
    go(&w, &rule->right, rule->right.count - 1);
    int axes = axes_of_way(&w, folds);
    most = axes > most ? axes : most;
    if (w.many || w.most_swaps > 6 || (folds && w.chosen > 0)) {
      return -1;
    }
  } while (next_way(&w));
  return most;
}
