/* SPDX-License-Identifier: MIT
 *
 * Chains, trees and random DAGs of N elementwise nodes; see shapes.h. Built with the public
 * builders, as a program would. Ids are consecutive here, no two nodes being equal, so a value is
 * made from an id instead of being remembered: what is measured is the graph, not an array beside
 * it. (The suite checks that the graph has as many nodes as were asked for.)
 */
#include "shapes.h"

#include <stdlib.h>
#include <gemel/gemel.h>

static gemel_value at(gemel_graph *graph, uint64_t id) {
  gemel_value value = {graph, (uint32_t)id, 0};
  return value;
}

/* ---- Chain ---- */

static gemel_value chain(gemel_graph *graph, gemel_value x, uint64_t nodes, uint64_t seed) {
  gemel_value y = x;
  (void)graph, (void)seed;
  for (uint64_t k = 0; k < nodes; k++) {
    switch (k % 8) {
    case 0:
      y = gemel_sigmoid(y);
      break;
    case 1:
      y = gemel_mul(y, x);
      break;
    case 2:
      y = gemel_tanh(y);
      break;
    case 3:
      y = gemel_add(y, x);
      break;
    case 4:
      y = gemel_neg(y);
      break;
    case 5:
      y = gemel_sub(x, y);
      break;
    case 6:
      y = gemel_sqr(y);
      break;
    default:
      y = gemel_div(y, x);
    }
  }
  return y;
}

/* ---- Tree ---- */

/* Adds the nodes first, first + 1, … in pairs until one is left: each sum joins the queue. */
static gemel_value gather(gemel_graph *graph, uint64_t first, uint64_t end) {
  for (; first + 1 < end; first += 2) {
    if (gemel_is_null(gemel_add(at(graph, first), at(graph, first + 1)))) {
      return at(NULL, 0);
    }
    end++;
  }
  return at(graph, first);
}

/* The opening tree is laid out as a heap: node k (from 1) hangs on node (k - 1) / 2, and 0 is x.
 * Its leaves are the nodes that nothing hangs on: from n / 2 on, n being the heap's size. */
static gemel_value tree(gemel_graph *graph, gemel_value x, uint64_t nodes, uint64_t seed) {
  uint64_t open = 2 * nodes / 3 | 1, k; /* x and open - 1 nodes; leaves on one level or two */
  gemel_value y = x;
  (void)seed;
  while (open - 1 + (open - open / 2) - 1 > nodes) {
    open--;
  }
  for (k = 1; k < open; k++) {
    gemel_value up = at(graph, (k - 1) / 2);
    y = k % 2 == 0 ? gemel_tanh(up) : gemel_neg(up);
  }
  y = gather(graph, open / 2, open);
  for (k = open - 1 + (open - open / 2) - 1; k < nodes; k++) {
    y = gemel_sqr(y);
  }
  return y;
}

/* ---- Random DAG ---- */

/* Which nodes some node takes, as bits. */
typedef struct dag {
  gemel_graph *graph;
  uint64_t *taken;
  uint64_t count;  /* nodes so far, x among them */
  uint64_t unused; /* how many of them nobody takes */
  uint64_t random;
  int near; /* inputs are drawn by distance */
} dag;

/* A random number below BOUND: xorshift64* (Vigna 2016), scaled. */
static uint64_t below(dag *d, uint64_t bound) {
  d->random ^= d->random >> 12;
  d->random ^= d->random << 25;
  d->random ^= d->random >> 27;
  return ((d->random * 0x2545f4914f6cdd1dULL >> 32) * bound) >> 32;
}

/* An earlier node: any with the same chance, or (NEAR) so that each doubling of the distance has
 * the same chance, up to the whole graph. */
static uint64_t draw(dag *d) {
  uint64_t octaves = 0, distance;
  if (!d->near) {
    return below(d, d->count);
  }
  while (d->count >> octaves != 0) {
    octaves++;
  }
  distance = (uint64_t)1 << below(d, octaves);
  distance += below(d, distance);
  return distance < d->count ? d->count - distance : 0;
}

static gemel_value take(dag *d, uint64_t id) {
  uint64_t bit = (uint64_t)1 << id % 64;
  d->unused -= !(d->taken[id / 64] & bit);
  d->taken[id / 64] |= bit;
  return at(d->graph, id);
}

/* Appends one node; 0 on failure. KIND 3 takes the last one, the others any. */
static int grow(dag *d, uint64_t kind) {
  uint64_t a = kind == 4 ? d->count - 1 : draw(d), b = draw(d);
  gemel_value y, left = at(d->graph, a), right = at(d->graph, b);
  y = kind == 0   ? gemel_add(left, right)
      : kind == 1 ? gemel_mul(left, right)
      : kind == 2 ? gemel_sub(left, right)
                  : gemel_tanh(left);
  if (y.node != d->count) {
    return !gemel_is_null(y); /* there was such a node already */
  }
  take(d, a);
  if (kind < 3) {
    take(d, b);
  }
  d->count++;
  d->unused++;
  return 1;
}

/* The next node from *FROM on that nobody takes. */
static uint64_t next_unused(const dag *d, uint64_t *from) {
  while (d->taken[*from / 64] >> *from % 64 & 1) {
    ++*from;
  }
  return (*from)++;
}

/* Adds what nobody takes in pairs, sums included, until one is left. */
static int gather_unused(dag *d) {
  uint64_t from = 0;
  while (d->unused > 1) {
    uint64_t a = next_unused(d, &from), b = next_unused(d, &from);
    if (gemel_is_null(gemel_add(at(d->graph, a), at(d->graph, b)))) {
      return 0;
    }
    d->count++;
    d->unused--;
  }
  return 1;
}

static gemel_value random_dag(gemel_graph *graph, uint64_t nodes, uint64_t seed, int near) {
  dag d = {graph, NULL, 1, 1, 0x9e3779b97f4a7c15ULL ^ seed, near};
  d.taken = calloc(nodes / 64 + 2, sizeof *d.taken);
  int good = d.taken != NULL;
  /* Then COUNT nodes and UNUSED - 1 sums make NODES and x. */
  while (good && d.count + d.unused - 1 < nodes + 1) {
    good = grow(&d, d.count + d.unused - 1 == nodes ? 4 : below(&d, 4));
  }
  good = good && gather_unused(&d);
  free(d.taken);
  return good ? at(graph, d.count - 1) : at(NULL, 0);
}

static gemel_value any_dag(gemel_graph *graph, gemel_value x, uint64_t nodes, uint64_t seed) {
  (void)x;
  return random_dag(graph, nodes, seed, 0);
}

static gemel_value near_dag(gemel_graph *graph, gemel_value x, uint64_t nodes, uint64_t seed) {
  (void)x;
  return random_dag(graph, nodes, seed, 1);
}

const gemel__shape gemel__shapes[] = {
    {"chain", chain}, {"tree", tree}, {"dag", any_dag}, {"near dag", near_dag}, {NULL, NULL}};
