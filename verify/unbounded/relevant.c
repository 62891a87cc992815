/* SPDX-License-Identifier: MIT
 *
 * Which facts can matter to a goal: those that share a symbol, a fold or a function with it, or
 * with such a fact. What the others say has a model of its own, which any model of these goes with,
 * unless they contradict themselves. So questions are short, and one that was asked for an axis in
 * one scene is the same in the next.
 */
#include "core/alloc.h"
#include "unbounded/ask.h"

/* The term that stands for all that are connected with A. */
static gemel__pterm root_of(gemel__pterm *parent, gemel__pterm a) {
  while (parent[a] != a) {
    a = parent[a] = parent[parent[a]];
  }
  return a;
}

static void connect(gemel__pterm *parent, gemel__pterm a, gemel__pterm b) {
  parent[root_of(parent, a)] = root_of(parent, b);
}

/* Numbers and truths connect nothing. */
static int is_constant(const gemel__pterm_node *n) {
  return n->kind == GEMEL__P_NUMBER || n->kind == GEMEL__P_TRUTH ||
         (n->kind == GEMEL__P_CALL && n->value == 2);
}

/* Connects A with its operands, and with an earlier call of the same function. */
static void connect_term(const gemel__pterms *t, gemel__pterm *parent, const unsigned char *wanted,
                         gemel__pterm a) {
  const gemel__pterm_node *n = &t->nodes[a];
  for (uint32_t k = 0; k < n->count && n->kind != GEMEL__P_FOLD; k++) {
    if (!is_constant(&t->nodes[gemel__p_operand(t, a, k)])) {
      connect(parent, a, gemel__p_operand(t, a, k));
    }
  }
  if (n->kind != GEMEL__P_CALL || n->count == 0) {
    return;
  }
  for (gemel__pterm k = a - 1; k > 0; k--) {
    const gemel__pterm_node *m = &t->nodes[k];
    if (wanted[k] && m->kind == GEMEL__P_CALL && m->count == n->count && m->name == n->name) {
      connect(parent, a, k);
      return;
    }
  }
}

static size_t keep(const gemel__pterms *t, gemel__pterm *parent, unsigned char *wanted,
                   gemel__pterm *facts, size_t count, gemel__pterm goal) {
  size_t kept = 0;
  gemel__p_mark(t, (gemel__pterm)t->count - 1, 0, wanted);
  for (gemel__pterm k = 1; k < t->count; k++) {
    parent[k] = k;
  }
  for (gemel__pterm k = 1; k < t->count; k++) {
    if (wanted[k]) {
      connect_term(t, parent, wanted, k);
    }
  }
  for (size_t k = 0; k < count; k++) {
    if (is_constant(&t->nodes[facts[k]]) || root_of(parent, facts[k]) == root_of(parent, goal)) {
      facts[kept++] = facts[k];
    }
  }
  return kept;
}

size_t gemel__ask_relevant(gemel__ask *ask, gemel__pterm *facts, size_t count, gemel__pterm goal) {
  const gemel__pterms *t = ask->terms;
  if (goal == 0 || t->trouble || is_constant(&t->nodes[goal])) {
    return count;
  }
  unsigned char *wanted = gemel__alloc_zeroed(t->count);
  gemel__pterm *parent = gemel__alloc_array(t->count, sizeof *parent);
  if (wanted == NULL || parent == NULL) {
    ask->no_memory = 1;
  } else {
    wanted[goal] = 1;
    for (size_t k = 0; k < count; k++) {
      wanted[facts[k]] = 1;
    }
    count = keep(t, parent, wanted, facts, count, goal);
  }
  gemel__free(wanted, t->count);
  gemel__free(parent, t->count * sizeof *parent);
  return count;
}
