/* SPDX-License-Identifier: MIT
 *
 * The dispatch table. A pattern says which operation its root has and, where its first two operands
 * are operations too, which those have; its conditions may ask for attributes and types. So nodes
 * are of one kind that agree in all of these: the operation, its attributes, the types of its
 * inputs and the operations that make the first two. The candidates of a kind are found when the
 * first node of it is met, by looking at every rule, and from then on by hashing: what a node costs
 * doesn't depend on how many rules there are that don't apply to it.
 *
 * A node with several outputs, many inputs or sizes that are known at run time is of a kind that
 * its operations alone make.
 */
#include "rewrite/dispatch.h"

#include <stdlib.h>
#include <string.h>
#include "core/alloc.h"
#include "core/attrs.h"
#include "core/intern.h"

enum { KIND_INPUTS = 3, FIRST_KINDS = 256, MOST_KINDS = 1 << 16 };

struct gemel__kind {
  uint32_t op, attrs, first, second; /* op 0: empty; attrs BY_OPERATIONS: nothing else decides */
  uint32_t types[KIND_INPUTS], n;
  uint32_t begin, count; /* in lists */
};

#define KEY_BYTES offsetof(struct gemel__kind, begin)
#define BY_OPERATIONS UINT32_MAX

/* Added to SECOND where the first two operands are the same value. */
#define SAME_OPERANDS 0x80000000u

/* ---- Adding rules ---- */

gemel_status gemel__selection_start(gemel__selection *s, gemel_context *context,
                                    gemel_error *error) {
  memset(s, 0, sizeof *s);
  s->context = context;
  s->n_ops = gemel__stable_count(&context->ops);
  s->is_root = gemel__alloc_array(s->n_ops, 1);
  s->kinds = gemel__alloc_array(FIRST_KINDS, sizeof *s->kinds);
  s->kind_capacity = s->kinds != NULL ? FIRST_KINDS : 0;
  return s->is_root != NULL && s->kinds != NULL ? GEMEL_OK : gemel__no_memory(error, "rules");
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

static uint32_t root_of(const struct gemel_rule *rule) {
  return rule->left.nodes[rule->left.count - 1].op;
}

gemel_status gemel__selection_add(gemel__selection *s, const struct gemel_rule *rule,
                                  gemel_error *error) {
  uint32_t orders = gemel__rule_orders(rule), weight = specificity(rule);
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

/* ---- Kinds ---- */

/* The kind of NODE, without its candidates. PLAIN: by operations alone. */
static struct gemel__kind kind_of(const gemel_graph *graph, uint32_t node, int plain) {
  const gemel__node *record = gemel__node_at(graph, node);
  struct gemel__kind kind = {.op = record->op, .attrs = record->attrs};
  const gemel__ref *in = gemel__node_inputs(graph, node, &kind.n);
  if (kind.n > 0) {
    kind.first = graph->nodes[in[0].node].op;
  }
  if (kind.n > 1) {
    kind.second = graph->nodes[in[1].node].op | (gemel__same_ref(in[0], in[1]) ? SAME_OPERANDS : 0);
  }
  if (plain || kind.n > KIND_INPUTS || record->n_outputs != 1 ||
      gemel__attrs_at(graph->context, record->attrs)->has_runtime) {
    kind.attrs = BY_OPERATIONS;
    return kind;
  }
  for (uint32_t k = 0; k < kind.n; k++) {
    kind.types[k] = gemel__node_type(graph, in[k].node, in[k].output);
  }
  return kind;
}

static size_t slot_of(const gemel__selection *s, const struct gemel__kind *kind) {
  uint64_t words[KEY_BYTES / 8], hash = 0;
  memcpy(words, kind, sizeof words);
  for (size_t k = 0; k < KEY_BYTES / 8; k++) {
    hash = gemel__mix(hash ^ words[k]);
  }
  size_t slot = (size_t)hash & (s->kind_capacity - 1);
  while (s->kinds[slot].op != 0 && memcmp(&s->kinds[slot], kind, KEY_BYTES) != 0) {
    slot = (slot + 1) & (s->kind_capacity - 1);
  }
  return slot;
}

static int grow_kinds(gemel__selection *s) {
  struct gemel__kind *old = s->kinds;
  size_t n = s->kind_capacity;
  struct gemel__kind *more = gemel__alloc_array(n * 2, sizeof *more);
  if (more == NULL) {
    return -1;
  }
  s->kinds = more;
  s->kind_capacity = n * 2;
  for (size_t k = 0; k < n; k++) {
    if (old[k].op != 0) {
      s->kinds[slot_of(s, &old[k])] = old[k];
    }
  }
  gemel__free(old, n * sizeof *old);
  return 0;
}

/* 1 if an operand made by OP (0: there is none) may be what operand K of C's root must be. */
static int operand_fits(const gemel__candidate *c, uint32_t k, uint32_t op) {
  gemel__demand demand = gemel__rule_child(c->rule, c->order, k);
  return demand.kind == GEMEL__DEMAND_OP         ? op == demand.op
         : demand.kind == GEMEL__DEMAND_CONSTANT ? op == GEMEL__OP_constant
                                                 : 1;
}

static int operations_fit(const gemel__candidate *c, const struct gemel__kind *kind) {
  return root_of(c->rule) == kind->op && operand_fits(c, 0, kind->first) &&
         operand_fits(c, 1, kind->second & ~SAME_OPERANDS) &&
         ((kind->second & SAME_OPERANDS) || !gemel__rule_wants_same(c->rule));
}

/* Finds the candidates of KIND, to which VALUE belongs. */
static gemel_status find_candidates(gemel__selection *s, gemel__scene *scene, gemel__ref value,
                                    struct gemel__kind *kind) {
  gemel__binding binding;
  kind->begin = (uint32_t)s->n_lists;
  for (size_t k = 0; k < s->n_candidates; k++) {
    const gemel__candidate *c = &s->candidates[k];
    gemel_status status = operations_fit(c, kind) ? GEMEL_OK : GEMEL_DECLINED;
    if (status == GEMEL_OK && kind->attrs != BY_OPERATIONS) {
      status = gemel__rule_foresee(c->rule, c->order, scene, value, &binding);
    }
    if (status == GEMEL_OK &&
        gemel__grow(&s->lists, &s->list_capacity, s->n_lists + 1, sizeof *s->lists) != 0) {
      return gemel__no_memory(scene->error, "rewriting");
    }
    if (status == GEMEL_OK) {
      s->lists[s->n_lists++] = (uint32_t)k;
    } else if (status != GEMEL_DECLINED) {
      return status;
    }
  }
  kind->count = (uint32_t)s->n_lists - kind->begin;
  return GEMEL_OK;
}

/* Enters KIND, which is new. */
static gemel_status enter(gemel__selection *s, gemel__scene *scene, gemel__ref value,
                          struct gemel__kind *kind) {
  if (s->n_kinds == MOST_KINDS) {
    memset(s->kinds, 0, s->kind_capacity * sizeof *s->kinds);
    s->n_kinds = s->n_lists = 0;
  }
  gemel_status status = find_candidates(s, scene, value, kind);
  if (status == GEMEL_OK && s->n_kinds * 2 >= s->kind_capacity && grow_kinds(s) != 0) {
    status = gemel__no_memory(scene->error, "rewriting");
  }
  if (status == GEMEL_OK) {
    s->kinds[slot_of(s, kind)] = *kind;
    s->n_kinds++;
  }
  return status;
}

gemel_status gemel__selection_candidates(gemel__selection *s, gemel__scene *scene, gemel__ref value,
                                         int plain, const uint32_t **list, uint32_t *count) {
  *count = 0;
  if (!gemel__selection_has_root(s, gemel__node_at(scene->graph, value.node)->op)) {
    return GEMEL_OK;
  }
  struct gemel__kind kind = kind_of(scene->graph, value.node, plain);
  const struct gemel__kind *known = &s->kinds[slot_of(s, &kind)];
  gemel_status status = GEMEL_OK;
  if (known->op == 0) {
    status = enter(s, scene, value, &kind);
    known = &kind;
  }
  *count = status == GEMEL_OK ? known->count : 0;
  *list = *count > 0 ? s->lists + known->begin : NULL;
  return status;
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
  gemel__free(s->kinds, s->kind_capacity * sizeof *s->kinds);
  gemel__free(s->lists, s->list_capacity * sizeof *s->lists);
  memset(s, 0, sizeof *s);
}
