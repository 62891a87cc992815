/* SPDX-License-Identifier: MIT
 *
 * Sites, see sites.h. The domain's observer is called before each node is evaluated. What was
 * recorded on the tape since the call before belongs to the node before. Nodes are evaluated in the
 * same order each time, so a site is mostly found right after the last one.
 */
#include "tiers/sites.h"

#include <stdio.h>
#include <string.h>
#include "base/element.h"
#include "core/alloc.h"
#include "core/graph.h"
#include "domains/ordered.h"

enum { NEGATIVE = 1, ZERO = 2, POSITIVE = 4, MOST_SITES = 4096 };

/* ---- Finding ---- */

static int is_site(const gemel__site *s, const gemel__sites *sites) {
  return s->graph == sites->graph && s->node == sites->node && s->side == sites->side;
}

static int is_bool(const gemel_graph *graph, uint32_t node, uint32_t output) {
  return gemel_type_dtype(graph->context, gemel__node_type(graph, node, output)) == GEMEL_BOOL;
}

static int has_bool(const gemel_graph *graph, uint32_t node) {
  uint32_t count, k;
  const gemel__ref *refs = gemel__node_inputs(graph, node, &count);
  for (k = 0; k < count; k++) {
    if (is_bool(graph, refs[k].node, refs[k].output)) {
      return 1;
    }
  }
  return 0;
}

/* Labels the site "relu 2": the second relu of its graph. Another instance of the same rule has the
 * same label. */
static void name_site(gemel__site *site, const gemel_graph *graph, uint32_t node) {
  const gemel__op *op = gemel__node_op(graph, node);
  unsigned nth = 1;
  for (uint32_t k = 0; k < node; k++) {
    nth += gemel__node_op(graph, k) == op;
  }
  snprintf(site->label, sizeof site->label, "%.24s %u", op->record.name, nth);
}

static gemel__site *add(gemel__sites *sites) {
  if (sites->count >= MOST_SITES) {
    return NULL;
  }
  if (gemel__grow(&sites->sites, &sites->capacity, sites->count + 1, sizeof *sites->sites) != 0) {
    sites->failed = 1;
    return NULL;
  }
  return memset(&sites->sites[sites->count++], 0, sizeof *sites->sites);
}

/* The role of the current graph, whose site is the last one. */
static int role_of(const gemel__sites *sites) {
  int role = 0;
  for (size_t k = 0; k + 1 < sites->count; k++) {
    const gemel__site *s = &sites->sites[k];
    if (s->side == sites->side) {
      if (s->graph == sites->graph) {
        return s->role;
      }
      role = s->role >= role ? s->role + 1 : role;
    }
  }
  return role;
}

static gemel__site *find(gemel__sites *sites) {
  for (size_t k = 0; k < sites->count; k++) {
    size_t at = (sites->at + k) % sites->count;
    if (is_site(&sites->sites[at], sites)) {
      sites->at = at + 1;
      return &sites->sites[at];
    }
  }
  gemel__site *site = add(sites);
  if (site != NULL) {
    site->graph = sites->graph;
    site->node = sites->node;
    site->side = sites->side;
    site->role = role_of(sites);
    site->boolean = has_bool(sites->graph, sites->node);
    site->truth = is_bool(sites->graph, sites->node, 0);
    site->of_result = gemel__type_elements(sites->graph->context,
                                           gemel__node_type(sites->graph, sites->node, 0), 1);
    name_site(site, sites->graph, sites->node);
    sites->at = sites->count;
  }
  return site;
}

/* ---- Counting ---- */

static unsigned sign_bit(int64_t entry) {
  return entry < 0 ? NEGATIVE : entry > 0 ? POSITIVE : ZERO;
}

static void note(gemel__site *site, int64_t entry, int whole) {
  if (whole) {
    site->floors |= entry == INT64_MIN;
    if (entry >= GEMEL__ORDERED_POSSIBLE && entry <= GEMEL__ORDERED_POSSIBLE + 7) {
      site->possible |= (unsigned)(entry - GEMEL__ORDERED_POSSIBLE);
    } else if (entry != INT64_MIN) {
      site->possible |= sign_bit(entry);
    }
    return;
  }
  if (entry == GEMEL__UNORDERED || entry == INT64_MIN) {
    return;
  }
  if (site->seen == 0) {
    site->first = entry;
  }
  site->differs |= entry != site->first;
  site->seen |= sign_bit(entry);
}

/* Notes the signs of a node with few elements one by one. */
static void note_elements(gemel__site *site, size_t n, const int64_t *entries, int whole) {
  if (site->n_elements == 0 && !site->uneven) {
    site->n_elements = n;
  }
  if (site->n_elements != n || n > GEMEL__SITE_ELEMENTS || (double)n != site->of_result) {
    site->uneven = 1;
    site->n_elements = 0;
    return;
  }
  for (size_t k = 0; k < n; k++) {
    gemel__site one = {0};
    note(&one, entries[k], whole);
    site->element_possible[k] |= (unsigned char)one.possible;
    site->element_seen[k] |= (unsigned char)one.seen;
  }
}

/* Assigns the decisions recorded since the last call to the current node. */
static void flush(gemel__sites *sites) {
  size_t k, end = sites->tape->count;
  gemel__site *site;
  if (sites->graph == NULL || end <= sites->begin || (site = find(sites)) == NULL) {
    sites->begin = end;
    return;
  }
  for (k = sites->begin; k < end; k++) {
    note(site, sites->tape->entries[k], sites->whole);
  }
  note_elements(site, end - sites->begin, sites->tape->entries + sites->begin, sites->whole);
  sites->begin = end;
}

static void observe(gemel__observer *observer, const void *graph, uint32_t node) {
  gemel__sites *sites = (gemel__sites *)observer;
  if (sites->tape == NULL) {
    return;
  }
  flush(sites);
  sites->graph = graph;
  sites->node = node;
}

/* ---- From outside ---- */

void gemel__sites_init(gemel__sites *sites) {
  memset(sites, 0, sizeof *sites);
  sites->observer.node = observe;
}

void gemel__sites_clear(gemel__sites *sites) {
  gemel__free(sites->sites, sites->capacity * sizeof *sites->sites);
  gemel__sites_init(sites);
}

void gemel__sites_begin(gemel__sites *sites, int side, int whole, const gemel__tape *tape) {
  sites->side = side;
  sites->whole = whole;
  sites->tape = tape;
  sites->graph = NULL;
  sites->begin = 0;
}

void gemel__sites_end(gemel__sites *sites) {
  if (sites->tape != NULL) {
    flush(sites);
  }
  sites->tape = NULL;
}

static void unite(gemel__site *site, const gemel__site *from) {
  if (site->seen == 0) {
    site->first = from->first;
  }
  site->differs |= from->differs || (from->seen != 0 && from->first != site->first);
  site->seen |= from->seen;
  site->possible |= from->possible;
  site->floors |= from->floors;
  site->boolean |= from->boolean;
  site->uneven |= from->uneven || site->n_elements != from->n_elements;
  site->n_elements = site->uneven ? 0 : site->n_elements;
  for (size_t k = 0; k < site->n_elements; k++) {
    site->element_possible[k] |= from->element_possible[k];
    site->element_seen[k] |= from->element_seen[k];
  }
}

int gemel__sites_merge(gemel__sites *sites, const gemel__sites *from) {
  size_t k;
  for (size_t i = 0; i < from->count; i++) {
    const gemel__site *f = &from->sites[i];
    for (k = 0; k < sites->count; k++) {
      const gemel__site *s = &sites->sites[k];
      if (s->side == f->side && s->role == f->role && strcmp(s->label, f->label) == 0) {
        break;
      }
    }
    if (k < sites->count) {
      unite(&sites->sites[k], f);
    } else {
      gemel__site *site = add(sites);
      if (site != NULL) {
        *site = *f;
        site->graph = NULL;
      }
    }
  }
  return sites->failed || from->failed ? -1 : 0;
}

/* 1 if one of few elements that may have either sign had one at all points. */
static int element_one_way(const gemel__site *s) {
  unsigned both = NEGATIVE | POSITIVE;
  for (size_t k = 0; k < s->n_elements; k++) {
    if ((s->element_possible[k] & both) == both && s->element_seen[k] != 0 &&
        (s->element_seen[k] & both) != both) {
      return 1;
    }
  }
  return 0;
}

/* 1 if an undecided site went one way at all points. At truth values, comparisons and floors, any
 * two different decisions are enough. (A comparison's truth value is judged again where it is
 * used.) Elsewhere the ways are negative and positive, where both are possible. */
static int one_way(const gemel__site *s) {
  unsigned both = NEGATIVE | POSITIVE;
  if (s->seen == 0) {
    return 0;
  }
  if (s->boolean || s->truth || s->floors) {
    return ((s->possible & (s->possible - 1)) != 0 || s->floors) && !s->differs;
  }
  return ((s->possible & both) == both && (s->seen & both) != both) || element_one_way(s);
}

int gemel__sites_tied(const gemel__sites *sites) {
  for (size_t k = 0; k < sites->count; k++) {
    const gemel__site *s = &sites->sites[k];
    if ((s->possible & ZERO) && s->seen != 0 && !(s->seen & ZERO)) {
      return 0;
    }
  }
  return 1;
}

const gemel__site *gemel__sites_one_way(const gemel__sites *sites) {
  for (size_t k = 0; k < sites->count; k++) {
    if (one_way(&sites->sites[k])) {
      return &sites->sites[k];
    }
  }
  return NULL;
}
