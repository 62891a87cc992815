/* SPDX-License-Identifier: MIT
 *
 * The discrimination table. A pattern says which operation its root has and, where its first two
 * operands are operations too, which those have. For a node, the candidates are those whose demands
 * its own three operations meet. There are few distinct triples in a graph, so the list for each is
 * made when it is first asked for and found by hashing from then on: what a node costs doesn't
 * depend on how many rules there are that don't apply to it.
 */
#include "passes/select.h"

#include <stdlib.h>
#include <string.h>
#include "core/alloc.h"
#include "core/intern.h"

struct gemel__bucket {
  uint32_t op, first, second; /* op 0: empty */
  uint32_t begin, count;      /* in lists */
};

enum { FIRST_BUCKETS = 256 };

gemel_status gemel__selection_start(gemel__selection *s, gemel_context *context,
                                    gemel_error *error) {
  memset(s, 0, sizeof *s);
  s->context = context;
  s->constant_op = gemel__op_find(context, "constant");
  s->n_ops = gemel__stable_count(&context->ops);
  s->roots = gemel__alloc_array(s->n_ops, 1);
  s->buckets = gemel__alloc_array(FIRST_BUCKETS, sizeof *s->buckets);
  s->bucket_capacity = s->buckets != NULL ? FIRST_BUCKETS : 0;
  return s->roots != NULL && s->buckets != NULL ? GEMEL_OK : gemel__no_memory(error, "rules");
}

gemel_status gemel__selection_add(gemel__selection *s, const struct gemel_rule *rule,
                                  gemel_error *error) {
  uint32_t orders = gemel__rule_orders(rule), order;
  if (gemel__grow(&s->candidates, &s->candidate_capacity, s->n_candidates + orders,
                  sizeof *s->candidates) ||
      gemel__grow(&s->rules, &s->rule_capacity, s->n_rules + 1, sizeof *s->rules)) {
    return gemel__no_memory(error, "rules");
  }
  for (order = 0; order < orders; order++) {
    gemel__candidate *c = &s->candidates[s->n_candidates++];
    c->rule = rule;
    c->order = order;
    c->row = (uint32_t)s->n_rules;
  }
  s->rules[s->n_rules++] = rule;
  s->roots[rule->left.nodes[rule->left.count - 1].op] = 1;
  return GEMEL_OK;
}

/* How much a left side asks for. */
static uint32_t specificity(const struct gemel_rule *rule) {
  uint32_t n = 0;
  for (uint32_t k = 0; k < rule->left.count; k++) {
    n += rule->left.nodes[k].kind == GEMEL__PATTERN_APPLY ||
         rule->left.nodes[k].kind == GEMEL__PATTERN_LITERAL;
  }
  return n * 64 + rule->n_conditions;
}

static int compare(const void *a, const void *b) {
  const gemel__candidate *x = a, *y = b;
  uint32_t sx = specificity(x->rule), sy = specificity(y->rule);
  int names = strcmp(x->rule->info.name, y->rule->info.name);
  return sx != sy     ? (sx > sy ? -1 : 1)
         : names != 0 ? names
                      : (x->order > y->order) - (x->order < y->order);
}

gemel_status gemel__selection_finish(gemel__selection *s, gemel_error *error) {
  s->tallies = gemel__alloc_array(s->n_rules + 1, sizeof *s->tallies);
  if (s->n_candidates > 0) {
    qsort(s->candidates, s->n_candidates, sizeof *s->candidates, compare);
  }
  return s->tallies != NULL ? GEMEL_OK : gemel__no_memory(error, "rules");
}

static size_t slot_of(const gemel__selection *s, uint32_t op, uint32_t first, uint32_t second) {
  uint64_t hash = gemel__mix(gemel__mix((uint64_t)op << 32 | first) ^ second);
  size_t slot = (size_t)hash & (s->bucket_capacity - 1);
  while (s->buckets[slot].op != 0 &&
         (s->buckets[slot].op != op || s->buckets[slot].first != first ||
          s->buckets[slot].second != second)) {
    slot = (slot + 1) & (s->bucket_capacity - 1);
  }
  return slot;
}

static int grow_buckets(gemel__selection *s) {
  struct gemel__bucket *old = s->buckets;
  size_t n = s->bucket_capacity;
  struct gemel__bucket *more = gemel__alloc_array(n * 2, sizeof *more);
  if (more == NULL) {
    return -1;
  }
  s->buckets = more;
  s->bucket_capacity = n * 2;
  for (size_t k = 0; k < n; k++) {
    if (old[k].op != 0) {
      s->buckets[slot_of(s, old[k].op, old[k].first, old[k].second)] = old[k];
    }
  }
  gemel__free(old, n * sizeof *old);
  return 0;
}

static int fits(const gemel__candidate *c, uint32_t op, uint32_t first, uint32_t second) {
  uint32_t a = gemel__rule_child_op(c->rule, c->order, 0);
  uint32_t b = gemel__rule_child_op(c->rule, c->order, 1);
  return c->rule->left.nodes[c->rule->left.count - 1].op == op && (a == 0 || a == first) &&
         (b == 0 || b == second);
}

static int fill_bucket(gemel__selection *s, struct gemel__bucket *b) {
  b->begin = (uint32_t)s->n_lists;
  for (size_t k = 0; k < s->n_candidates; k++) {
    if (fits(&s->candidates[k], b->op, b->first, b->second)) {
      if (gemel__grow(&s->lists, &s->list_capacity, s->n_lists + 1, sizeof *s->lists)) {
        return -1;
      }
      s->lists[s->n_lists++] = (uint32_t)k;
    }
  }
  b->count = (uint32_t)s->n_lists - b->begin;
  return 0;
}

const uint32_t *gemel__selection_find(gemel__selection *s, uint32_t op, uint32_t first,
                                      uint32_t second, uint32_t *count) {
  static const uint32_t none[1];
  size_t slot;
  *count = 0;
  if (op >= s->n_ops || !s->roots[op]) {
    return none;
  }
  slot = slot_of(s, op, first, second);
  if (s->buckets[slot].op == 0) {
    struct gemel__bucket bucket = {op, first, second, 0, 0};
    if ((s->n_buckets * 2 >= s->bucket_capacity && grow_buckets(s) != 0) ||
        fill_bucket(s, &bucket) != 0) {
      return NULL;
    }
    slot = slot_of(s, op, first, second);
    s->buckets[slot] = bucket;
    s->n_buckets++;
  }
  *count = s->buckets[slot].count;
  return *count > 0 ? s->lists + s->buckets[slot].begin : none;
}

void gemel__selection_clear(gemel__selection *s) {
  gemel__free(s->rules, s->rule_capacity * sizeof *s->rules);
  gemel__free(s->tallies, (s->n_rules + 1) * sizeof *s->tallies);
  gemel__free(s->candidates, s->candidate_capacity * sizeof *s->candidates);
  gemel__free(s->roots, s->n_ops);
  gemel__free(s->buckets, s->bucket_capacity * sizeof *s->buckets);
  gemel__free(s->lists, s->list_capacity * sizeof *s->lists);
  memset(s, 0, sizeof *s);
}
