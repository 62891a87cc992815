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

enum { FIRST_BUCKETS = 256, FILTERS = 1024 };

/* A bucket's FIRST is the operation that makes the first operand, and, shifted by this, a bit for
 * each phase whose rules were tried before. */
enum { TRIED_SHIFT = 24, TRIED_OPS = (1 << TRIED_SHIFT) - 1 };

/* Added to a bucket's SECOND where the first two operands are the same value. */
#define SAME_OPERANDS 0x80000000u

gemel_status gemel__selection_start(gemel__selection *s, gemel_context *context,
                                    gemel_error *error) {
  memset(s, 0, sizeof *s);
  s->context = context;
  s->constant_op = gemel__op_find(context, "constant");
  s->n_ops = gemel__stable_count(&context->ops);
  s->roots = gemel__alloc_array(s->n_ops, 1);
  s->buckets = gemel__alloc_array(FIRST_BUCKETS, sizeof *s->buckets);
  s->bucket_capacity = s->buckets != NULL ? FIRST_BUCKETS : 0;
  s->phases_of = gemel__alloc_array(s->n_ops, 1);
  if (s->roots == NULL || s->phases_of == NULL || s->buckets == NULL) {
    return gemel__no_memory(error, "rules");
  }
  for (uint32_t op = 1; op < s->n_ops; op++) {
    const gemel_operation *record = &gemel__op_at(context, op)->record;
    s->roots[op] =
        (unsigned char)((gemel__may_be_splat(record->name) ? GEMEL__OP_SPLAT : 0) |
                        (record->flags & GEMEL_OP_COMMUTATIVE ? GEMEL__OP_COMMUTATIVE : 0));
  }
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

static uint32_t splats_of(const struct gemel_rule *rule, uint32_t order) {
  uint32_t bits = 0;
  for (uint32_t k = 0; k < 2; k++) {
    bits |= (uint32_t)(gemel__rule_child(rule, order, k).kind == GEMEL__DEMAND_SPLAT) << k;
  }
  return bits;
}

/* Adds the outline of candidate C. */
static int add_outline(gemel__selection *s, gemel__candidate *c) {
  if (gemel__grow(&s->steps, &s->step_capacity, s->n_steps + GEMEL__OUTLINE_STEPS,
                  sizeof *s->steps) != 0) {
    return -1;
  }
  c->grounds = gemel__grounds_of(c->rule, c->order);
  c->outline = (uint32_t)s->n_steps;
  c->n_steps = gemel__outline_make(c->rule, c->order, s->steps + s->n_steps);
  s->n_steps += c->n_steps;
  return 0;
}

static uint32_t root_of(const struct gemel_rule *rule) {
  return rule->left.nodes[rule->left.count - 1].op;
}

static unsigned char phases_of(const struct gemel_rule *rule) {
  return (unsigned char)(1u << rule->info.phase | (rule->asks_uses ? GEMEL__ASKS_USES : 0));
}

gemel_status gemel__selection_add(gemel__selection *s, const struct gemel_rule *rule,
                                  gemel_error *error) {
  uint32_t orders = gemel__rule_orders(rule), order, weight = specificity(rule);
  if (gemel__grow(&s->candidates, &s->candidate_capacity, s->n_candidates + orders,
                  sizeof *s->candidates) ||
      gemel__grow(&s->rules, &s->rule_capacity, s->n_rules + 1, sizeof *s->rules)) {
    return gemel__no_memory(error, "rules");
  }
  for (order = 0; order < orders; order++) {
    gemel__candidate *c = &s->candidates[s->n_candidates++];
    c->rule = rule;
    c->order = order;
    c->weight = weight;
    c->row = (uint32_t)s->n_rules;
    c->splats = splats_of(rule, order);
    if (add_outline(s, c) != 0) {
      return gemel__no_memory(error, "rules");
    }
  }
  s->rules[s->n_rules++] = rule;
  uint32_t root = root_of(rule);
  s->roots[root] |= GEMEL__OP_ROOT;
  s->phases_of[root] |= phases_of(rule);
  return GEMEL_OK;
}

static int compare(const void *a, const void *b) {
  const gemel__candidate *x = a, *y = b;
  uint32_t sx = x->weight, sy = y->weight;
  int names = strcmp(x->rule->info.name, y->rule->info.name);
  return sx != sy     ? (sx > sy ? -1 : 1)
         : names != 0 ? names
                      : (x->order > y->order) - (x->order < y->order);
}

/* 1 if an operand made by OP (0: there is none) may be what operand K of C's root must be. */
static int child_fits(const gemel__selection *s, const gemel__candidate *c, uint32_t k,
                      uint32_t op) {
  gemel__demand demand = gemel__rule_child(c->rule, c->order, k);
  switch (demand.kind) {
  case GEMEL__DEMAND_OP:
    return op == demand.op;
  case GEMEL__DEMAND_CONSTANT:
    return op == s->constant_op;
  case GEMEL__DEMAND_SPLAT: /* of an operation that is newer than the selection nothing is known */
    return op >= s->n_ops || (s->roots[op] & GEMEL__OP_SPLAT) != 0;
  default:
    return 1;
  }
}

/* Fills in S->pairs; -1: memory is out. */
static int find_pairs(gemel__selection *s) {
  for (uint32_t k = 0; k < 2; k++) {
    s->pairs[k] = gemel__alloc_array(s->n_ops, s->n_ops);
    if (s->pairs[k] == NULL) {
      return -1;
    }
    for (size_t j = 0; j < s->n_candidates; j++) {
      const gemel__candidate *c = &s->candidates[j];
      unsigned char *row = s->pairs[k] + root_of(c->rule) * s->n_ops;
      for (uint32_t op = 0; op < s->n_ops; op++) {
        row[op] |= child_fits(s, c, k, op) ? phases_of(c->rule) : 0;
      }
    }
  }
  return 0;
}

gemel_status gemel__selection_finish(gemel__selection *s, gemel_error *error) {
  int failed = 0;
  s->tallies = gemel__alloc_array(s->n_rules + 1, sizeof *s->tallies);
  if (s->n_candidates > 0) {
    qsort(s->candidates, s->n_candidates, sizeof *s->candidates, compare);
  }
  if (s->n_rules > 0) {
    s->filters = gemel__alloc_array(FILTERS, sizeof *s->filters);
    s->verdicts = gemel__alloc_array(GEMEL__VERDICTS, sizeof *s->verdicts);
    failed = s->filters == NULL || s->verdicts == NULL || find_pairs(s) != 0;
  }
  return s->tallies != NULL && !failed ? GEMEL_OK : gemel__no_memory(error, "rules");
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

static int fits(const gemel__selection *s, const gemel__candidate *c, uint32_t op, uint32_t first,
                uint32_t second) {
  uint32_t tried = first >> TRIED_SHIFT;
  if ((tried >> c->rule->info.phase & 1) && (!c->rule->asks_uses || (tried & GEMEL__ASKS_USES))) {
    return 0;
  }
  return root_of(c->rule) == op && child_fits(s, c, 0, first & TRIED_OPS) &&
         child_fits(s, c, 1, second & ~SAME_OPERANDS) &&
         ((second & SAME_OPERANDS) || !gemel__rule_wants_same(c->rule));
}

static int fill_bucket(gemel__selection *s, struct gemel__bucket *b) {
  b->begin = (uint32_t)s->n_lists;
  for (size_t k = 0; k < s->n_candidates; k++) {
    if (fits(s, &s->candidates[k], b->op, b->first, b->second)) {
      if (gemel__grow(&s->lists, &s->list_capacity, s->n_lists + 1, sizeof *s->lists)) {
        return -1;
      }
      s->lists[s->n_lists++] = (uint32_t)k;
    }
  }
  b->count = (uint32_t)s->n_lists - b->begin;
  return 0;
}

static const uint32_t none[1];

/* The candidates for a node of operation OP whose operands are made by FIRST and SECOND (0: no such
 * operand), with the bits above; *COUNT of them. NULL: memory is out. */
static const uint32_t *find(gemel__selection *s, uint32_t op, uint32_t first, uint32_t second,
                            uint32_t *count) {
  size_t slot;
  *count = 0;
  if (op >= s->n_ops || !(s->roots[op] & GEMEL__OP_ROOT)) {
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

/* What candidates are found by. */
typedef struct likeness {
  uint32_t op, first, second, n;
  uint64_t key[4];
} likeness;

/* The key leaves out types of inputs beyond those it has room for. */
static inline __attribute__((always_inline)) void
find_likeness(const gemel_graph *graph, uint32_t node, uint32_t tried, likeness *l) {
  const gemel__node *record = gemel__node_at(graph, node);
  uint32_t n, types[GEMEL__FILTER_INPUTS] = {0}, first = 0, second = 0;
  const gemel__ref *in = gemel__node_inputs(graph, node, &n);
  if (n > 0) {
    first = graph->nodes[in[0].node].op;
    types[0] = gemel__node_type(graph, in[0].node, in[0].output);
  }
  if (n > 1) {
    second = graph->nodes[in[1].node].op | (gemel__same_ref(in[0], in[1]) ? SAME_OPERANDS : 0);
    types[1] = gemel__node_type(graph, in[1].node, in[1].output);
  }
  if (n > 2) {
    types[2] = gemel__node_type(graph, in[2].node, in[2].output);
  }
  first |= tried << TRIED_SHIFT;
  l->op = record->op;
  l->first = first;
  l->second = second;
  l->n = n;
  l->key[0] = (uint64_t)record->op << 32 | first;
  l->key[1] = (uint64_t)second << 32 | record->attrs;
  l->key[2] = (uint64_t)types[0] << 32 | types[1];
  l->key[3] = (uint64_t)types[2] << 32 | n;
}

static inline gemel__filter *slot_for(const gemel__selection *s, const uint64_t *key) {
  uint64_t low = (key[0] ^ key[1] >> 29) * 0x9e3779b97f4a7c15u + key[1];
  uint64_t high = (key[2] ^ key[3] >> 29) * 0xbf58476d1ce4e5b9u + key[3];
  return &s->filters[((low ^ low >> 29 ^ high) * 0x9e3779b97f4a7c15u) >> 54];
}

static inline int same_key(const uint64_t *a, const uint64_t *b) {
  return ((a[0] ^ b[0]) | (a[1] ^ b[1]) | (a[2] ^ b[2]) | (a[3] ^ b[3])) == 0;
}

/* 1 if nodes like NODE have the same candidates, of which the same can be foreseen. */
static int is_typical(const gemel_graph *graph, uint32_t node, uint32_t n) {
  const gemel__node *record = gemel__node_at(graph, node);
  return n <= GEMEL__FILTER_INPUTS && record->n_outputs == 1 &&
         !(record->attrs != 0 && gemel__attrs_at(graph->context, record->attrs)->has_runtime);
}

const uint32_t *gemel__selection_candidates(gemel__selection *s, const gemel_graph *graph,
                                            uint32_t node, uint32_t tried, uint32_t *count,
                                            gemel__filter **filter) {
  likeness l;
  find_likeness(graph, node, tried, &l);
  gemel__filter *slot = s->filters != NULL ? slot_for(s, l.key) : NULL;
  if (slot != NULL && same_key(slot->key, l.key)) {
    *filter = slot;
    *count = slot->count;
    return *count > 0 ? s->lists + slot->begin : none;
  }
  const uint32_t *list = find(s, l.op, l.first, l.second, count);
  *filter = NULL;
  if (slot != NULL && list != NULL && is_typical(graph, node, l.n)) {
    *slot = (gemel__filter){.begin = *count > 0 ? (uint32_t)(list - s->lists) : 0, .count = *count};
    memcpy(slot->key, l.key, sizeof l.key);
  }
  return list;
}

const uint32_t *gemel__selection_all(gemel__selection *s, const gemel_graph *graph, uint32_t node,
                                     uint32_t *count) {
  likeness l;
  find_likeness(graph, node, 0, &l);
  return find(s, l.op, l.first, l.second, count);
}

void gemel__selection_reset(gemel__selection *s) {
  memset(s->tallies, 0, (s->n_rules + 1) * sizeof *s->tallies);
}

void gemel__selection_clear(gemel__selection *s) {
  gemel__free(s->rules, s->rule_capacity * sizeof *s->rules);
  gemel__free(s->tallies, (s->n_rules + 1) * sizeof *s->tallies);
  gemel__free(s->candidates, s->candidate_capacity * sizeof *s->candidates);
  gemel__free(s->steps, s->step_capacity * sizeof *s->steps);
  gemel__free(s->roots, s->n_ops);
  gemel__free(s->phases_of, s->n_ops);
  gemel__free(s->pairs[0], s->n_ops * s->n_ops);
  gemel__free(s->pairs[1], s->n_ops * s->n_ops);
  gemel__free(s->buckets, s->bucket_capacity * sizeof *s->buckets);
  gemel__free(s->filters, FILTERS * sizeof *s->filters);
  gemel__free(s->verdicts, GEMEL__VERDICTS * sizeof *s->verdicts);
  gemel__free(s->lists, s->list_capacity * sizeof *s->lists);
  memset(s, 0, sizeof *s);
}
