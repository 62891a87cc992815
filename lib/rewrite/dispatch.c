/* SPDX-License-Identifier: MIT
 *
 * The dispatch table. The left side of a rule says which operation its root is and, where one of
 * the root's first two operands is an operation too, which one that is. So nodes that agree in
 * their operation and in those that make their first two inputs have the same candidates: a list,
 * which is made by looking at every rule when the first such node is met, and kept in a hash table.
 * What a node costs doesn't depend on the number of rules that don't apply to it.
 */
#include "rewrite/dispatch.h"

#include <stdlib.h>
#include <string.h>
#include "core/alloc.h"
#include "core/intern.h"

enum { MOST_ROWS = 1 << 16 };

struct gemel__dispatch_row {
  uint32_t op, first, second; /* FIRST, SECOND 0: there is no such input */
  uint32_t begin, count;      /* of the candidates, in lists */
};

/* ---- Adding rules ---- */

gemel_status gemel__selection_start(gemel__selection *s, gemel_context *context,
                                    gemel_error *error) {
  memset(s, 0, sizeof *s);
  s->context = context;
  s->n_ops = gemel__stable_count(&context->ops);
  s->is_root = gemel__alloc_array(s->n_ops, 1);
  return s->is_root != NULL ? GEMEL_OK : gemel__no_memory(error, "rules");
}

/* How much a left side asks for; less for gemel's own rules than for any other. */
static uint32_t weigh(const struct gemel_rule *rule, int builtin) {
  uint32_t n = builtin ? 0 : 1 << 20;
  for (uint32_t k = 0; k < rule->left.count; k++) {
    n += rule->left.nodes[k].kind == GEMEL__PATTERN_APPLY ||
         rule->left.nodes[k].kind == GEMEL__PATTERN_LITERAL;
  }
  return n * 64 + rule->n_conditions;
}

static uint32_t root_of(const struct gemel_rule *rule) {
  return rule->left.nodes[rule->left.count - 1].op;
}

gemel_status gemel__selection_add(gemel__selection *s, const struct gemel_rule *rule, int builtin,
                                  gemel_error *error) {
  uint32_t orders = gemel__rule_orders(rule), weight = weigh(rule, builtin);
  if (gemel__grow(&s->candidates, &s->candidate_capacity, s->n_candidates + orders,
                  sizeof *s->candidates) ||
      gemel__grow(&s->rules, &s->rule_capacity, s->n_rules + 1, sizeof *s->rules)) {
    return gemel__no_memory(error, "rules");
  }
  for (uint32_t order = 0; order < orders; order++) {
    s->candidates[s->n_candidates++] =
        (gemel__candidate){rule, order, (uint32_t)s->n_rules, weight};
  }
  s->rules[s->n_rules++] = rule;
  s->is_root[root_of(rule)] = 1;
  return GEMEL_OK;
}

static int compare(const void *a, const void *b) {
  const gemel__candidate *x = a, *y = b;
  int names = strcmp(x->rule->info.name, y->rule->info.name);
  return x->weight != y->weight ? (x->weight > y->weight ? -1 : 1)
         : names != 0           ? names
                                : (x->order > y->order) - (x->order < y->order);
}

gemel_status gemel__selection_finish(gemel__selection *s, gemel_error *error) {
  s->tallies = gemel__alloc_array(s->n_rules + 1, sizeof *s->tallies);
  if (s->n_candidates > 0) {
    qsort(s->candidates, s->n_candidates, sizeof *s->candidates, compare);
  }
  return s->tallies != NULL ? GEMEL_OK : gemel__no_memory(error, "rules");
}

/* ---- The table ---- */

/* The row of NODE, without its candidates. */
static struct gemel__dispatch_row row_of(const gemel_graph *graph, uint32_t node) {
  uint32_t n;
  struct gemel__dispatch_row row = {.op = gemel__node_at(graph, node)->op};
  const gemel__ref *in = gemel__node_inputs(graph, node, &n);
  row.first = n > 0 ? graph->nodes[in[0].node].op : 0;
  row.second = n > 1 ? graph->nodes[in[1].node].op : 0;
  return row;
}

/* The operations of ROW as a key; an operation's number has 16 bits. */
static uint64_t key_of(const struct gemel__dispatch_row *row) {
  return (uint64_t)row->op << 32 | row->first << 16 | row->second;
}

/* 1 if an operand made by OP (0: there is none) may be what operand K of C's root must be. */
static int operand_fits(const gemel__candidate *c, uint32_t k, uint32_t op) {
  uint32_t wanted = gemel__rule_child(c->rule, c->order, k);
  return wanted == 0 || wanted == op;
}

static int is_candidate(const gemel__candidate *c, const struct gemel__dispatch_row *row) {
  return root_of(c->rule) == row->op && operand_fits(c, 0, row->first) &&
         operand_fits(c, 1, row->second);
}

/* Enters ROW, which is new, with its candidates. */
static gemel_status enter(gemel__selection *s, struct gemel__dispatch_row *row,
                          gemel_error *error) {
  if (s->n_rows == MOST_ROWS) {
    gemel__map_clear(&s->found);
    s->n_rows = s->n_lists = 0;
  }
  row->begin = (uint32_t)s->n_lists;
  for (size_t k = 0; k < s->n_candidates; k++) {
    if (!is_candidate(&s->candidates[k], row)) {
      continue;
    }
    if (gemel__grow(&s->lists, &s->list_capacity, s->n_lists + 1, sizeof *s->lists) != 0) {
      return gemel__no_memory(error, "rewriting");
    }
    s->lists[s->n_lists++] = (uint32_t)k;
    row->count++;
  }
  if (gemel__grow(&s->table, &s->row_capacity, s->n_rows + 1, sizeof *s->table) != 0 ||
      gemel__map_put(&s->found, key_of(row), (uint32_t)s->n_rows + 1) != 0) {
    return gemel__no_memory(error, "rewriting");
  }
  s->table[s->n_rows++] = *row;
  return GEMEL_OK;
}

gemel_status gemel__selection_candidates(gemel__selection *s, const gemel_graph *graph,
                                         uint32_t node, const uint32_t **list, uint32_t *count,
                                         gemel_error *error) {
  *count = 0;
  if (!gemel__selection_has_root(s, gemel__node_at(graph, node)->op)) {
    return GEMEL_OK;
  }
  struct gemel__dispatch_row row = row_of(graph, node);
  uint32_t known = gemel__map_find(&s->found, key_of(&row));
  if (known != 0) {
    row = s->table[known - 1];
  } else if (enter(s, &row, error) != GEMEL_OK) {
    return GEMEL_NO_MEMORY;
  }
  *count = row.count;
  *list = row.count > 0 ? s->lists + row.begin : NULL;
  return GEMEL_OK;
}

/* ---- The end ---- */

void gemel__selection_reset(gemel__selection *s) {
  memset(s->tallies, 0, (s->n_rules + 1) * sizeof *s->tallies);
}

void gemel__selection_clear(gemel__selection *s) {
  gemel__free(s->rules, s->rule_capacity * sizeof *s->rules);
  gemel__free(s->tallies, (s->n_rules + 1) * sizeof *s->tallies);
  gemel__free(s->candidates, s->candidate_capacity * sizeof *s->candidates);
  gemel__free(s->is_root, s->n_ops);
  gemel__free(s->table, s->row_capacity * sizeof *s->table);
  gemel__map_clear(&s->found);
  gemel__free(s->lists, s->list_capacity * sizeof *s->lists);
  memset(s, 0, sizeof *s);
}
