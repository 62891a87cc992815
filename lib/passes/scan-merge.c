/* SPDX-License-Identifier: MIT
 *
 * Loops that take the same steps become one, which does what each did in a step. What their bodies
 * have in common is computed once then: a derivative's loop that takes the steps of the original
 * anew, with more to be kept of each, is the only one that is left.
 *
 * Loops that are merged mustn't depend on each other. As for products (dots.c), levels settle that:
 * a loop's level is the greatest number of such loops on a way from the inputs to it, so loops of
 * one level never depend on each other, and one that takes the place of some has their level.
 */
#include <stdlib.h>
#include <gemel/ops.h>
#include "core/alloc.h"
#include "core/error.h"
#include "passes/passes.h"
#include "passes/scan-join.h"

/* A loop that may be merged with others: those that agree in all but the node. */
typedef struct merge_candidate {
  uint32_t level;
  gemel_dim length, truncate;
  int reverse, limited, recompute;
  gemel__ref steps;
  uint32_t node;
} merge_candidate;

typedef struct merge_scans {
  gemel_edit *edit;
  const gemel_graph *graph;
  gemel_error *error;
  merge_candidate *all; /* in the order of ids, later of what they agree in */
  size_t n, capacity;
  uint32_t *levels; /* by node */
  uint32_t *nodes;  /* of one group */
} merge_scans;

/* ---- Which loops ---- */

/* 1 if NODE may be merged with others, as *C says. One that ends by itself does so for itself. */
static int is_candidate(const merge_scans *m, uint32_t node, merge_candidate *c) {
  gemel__scan_node loop;
  if (gemel__scan_node_read(m->graph, node, &loop) != GEMEL_OK || loop.scan.until ||
      !loop.scan.rows) {
    return 0;
  }
  *c = (merge_candidate){.length = loop.length,
                         .truncate = loop.truncate,
                         .reverse = loop.scan.reverse,
                         .limited = loop.scan.limited,
                         .recompute = loop.scan.recompute,
                         .node = node};
  if (c->limited) {
    c->steps = loop.operands[-1];
  }
  return 1;
}

static gemel_status find_candidates(merge_scans *m) {
  const uint32_t *uses = NULL;
  for (uint32_t k = 0; k < m->graph->n_nodes; k++) {
    merge_candidate c;
    if (m->graph->nodes[k].op != GEMEL__OP_scan) {
      continue;
    }
    if (uses == NULL && (uses = gemel__edit_uses(m->edit)) == NULL) {
      return GEMEL_NO_MEMORY;
    }
    if (uses[k] == 0 || !is_candidate(m, k, &c)) {
      continue;
    }
    if (gemel__grow(&m->all, &m->capacity, m->n + 1, sizeof *m->all) != 0) {
      return gemel__no_memory(m->error, "loops");
    }
    m->all[m->n++] = c;
  }
  return GEMEL_OK;
}

static void find_levels(merge_scans *m) {
  for (uint32_t k = 0, next = 0; k < m->graph->n_nodes; k++) {
    uint32_t n_inputs, level = 0;
    const gemel__ref *in = gemel__node_inputs(m->graph, k, &n_inputs);
    for (uint32_t j = 0; j < n_inputs; j++) {
      level = m->levels[in[j].node] > level ? m->levels[in[j].node] : level;
    }
    if (next < m->n && m->all[next].node == k) {
      m->all[next++].level = ++level;
    }
    m->levels[k] = level;
  }
}

/* ---- Which together ---- */

static int order(uint64_t a, uint64_t b) {
  return (a > b) - (a < b);
}

/* In what loops must agree, levels first. */
static int compare(const merge_candidate *a, const merge_candidate *b) {
  int by[] = {order(a->level, b->level),
              order(a->length.id, b->length.id),
              order(a->truncate.id, b->truncate.id),
              order((uint64_t)a->reverse, (uint64_t)b->reverse),
              order((uint64_t)a->limited, (uint64_t)b->limited),
              order((uint64_t)a->recompute, (uint64_t)b->recompute),
              order(a->steps.node, b->steps.node),
              order(a->steps.output, b->steps.output)};
  size_t k = 0;
  while (k < sizeof by / sizeof *by - 1 && by[k] == 0) {
    k++;
  }
  return by[k];
}

static int by_group(const void *a, const void *b) {
  const merge_candidate *x = a, *y = b;
  int first = compare(x, y);
  return first != 0 ? first : order(x->node, y->node);
}

/* Groups of more than one, those of lower levels first: what is copied for a group holds loops of
 * lower levels only, and those are replaced by then. */
static gemel_status join_groups(merge_scans *m) {
  qsort(m->all, m->n, sizeof *m->all, by_group);
  for (size_t k = 0, count = 0; k < m->n; k += count) {
    for (count = 0; k + count < m->n && compare(&m->all[k], &m->all[k + count]) == 0; count++) {
      m->nodes[count] = m->all[k + count].node;
    }
    GEMEL__TRY(count > 1 ? gemel__scan_join(m->edit, count, m->nodes, m->error) : GEMEL_OK);
  }
  return GEMEL_OK;
}

gemel_status gemel__pass_merge_scans(gemel_edit *edit, const void *data, gemel_error *error) {
  merge_scans m = {.edit = edit, .graph = gemel_edit_graph(edit), .error = error};
  size_t count = m.graph->n_nodes;
  unsigned failures = gemel__dim_memory_failures(m.graph->context);
  (void)data;
  gemel_status status = find_candidates(&m);
  if (status == GEMEL_OK && m.n > 1) {
    m.levels = gemel__alloc_array(count, sizeof *m.levels);
    m.nodes = gemel__alloc_array(m.n, sizeof *m.nodes);
    status = m.levels != NULL && m.nodes != NULL ? GEMEL_OK : gemel__no_memory(error, "loops");
    if (status == GEMEL_OK) {
      find_levels(&m);
      status = join_groups(&m);
    }
    gemel__free(m.levels, count * sizeof *m.levels);
    gemel__free(m.nodes, m.n * sizeof *m.nodes);
  }
  gemel__free(m.all, m.capacity * sizeof *m.all);
  return status == GEMEL_OK ? gemel__scan_sizes_status(m.graph->context, failures, error) : status;
}
