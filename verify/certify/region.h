/* SPDX-License-Identifier: MIT
 *
 * The region of one application of a rule: what its left side matched and what its right side made.
 * Values bound to its variables become inputs.
 */
#ifndef GEMEL__CERTIFY_REGION_H
#define GEMEL__CERTIFY_REGION_H

#include "core/intern.h"
#include "rewrite/engine.h"
#include "sample/points.h"

/* A value of the region. */
typedef struct gemel__region_value {
  gemel__ref ref;
  enum {
    GEMEL__REGION_INSIDE,   /* matched by an operation of the left side */
    GEMEL__REGION_LEAF,     /* bound to a variable: any value */
    GEMEL__REGION_LITERAL,  /* a constant matched by a literal */
    GEMEL__REGION_CONSTANT, /* a constant that the right side made, or a known size */
    GEMEL__REGION_RIGHT /* an operation of the right side. It has no number by value, since what it
                           became may also be another value of the region */
  } kind;
} gemel__region_value;

/* Kept from one application to the next, for its memory. Begins as zeros. */
typedef struct gemel__region {
  const gemel__application *a;
  gemel__region_value *values; /* in the order in which they are found */
  size_t n, capacity;
  gemel__map numbers;                /* from value to number, from 1 */
  gemel__ref at[GEMEL__RULE_NODES];  /* by node of the left side: the value it matched */
  uint32_t right[GEMEL__RULE_NODES]; /* by operation of the right side: its number */
  uint32_t first[GEMEL__RULE_NODES]; /* likewise: where its operands begin */
  uint32_t *operands;                /* numbers of values */
  size_t n_operands, operand_capacity;
  uint32_t leftover; /* 1: the right side uses a value that a left operation matched */
  int open;          /* 1: can't be checked, as the right side uses a value outside the region */
} gemel__region;

/* Reads the region of A. *KEY is a hash of all that the question depends on when nothing is known
 * of the leaves: rule, structure, operations, attributes and types. Linear in its size. 0, or −1:
 * memory is out. */
int gemel__region_read(gemel__region *region, const gemel__application *a, uint64_t *key);
void gemel__region_clear(gemel__region *region);

/* The range of REF, a value of GRAPH, by the facts that are known. */
gemel_range gemel__region_range(const gemel_graph *graph, gemel__ref ref);

/* KEY combined with the facts of the leaves and those that are constants. */
uint64_t gemel__region_facts_key(const gemel__region *region, uint64_t key);

/* Builds both sides as graphs with one output "y" and the same inputs, named as the rule's
 * variables. With FACTS, leaves that are constants stay constants, and RANGES (room for region->n)
 * gets the ranges of the inputs. Without, only literals are constants. GEMEL_DECLINED: a size is
 * known at run time only, or region->open. GEMEL_NO_MEMORY. */
gemel_status gemel__region_build(const gemel__region *region, int facts, gemel_graph **left,
                                 gemel_graph **right, gemel_range *ranges, gemel_error *error);

#endif
