/* SPDX-License-Identifier: MIT
 *
 * The region of a graph that one application of a rule is about: what its left side matched and
 * what its right side made, down to the values that its variables are bound to, which become
 * inputs.
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
    GEMEL__REGION_LITERAL,  /* matched by a number */
    GEMEL__REGION_CONSTANT, /* a number that the right side made */
    GEMEL__REGION_RIGHT     /* an operation of the right side: reached by its place in the rule
                               only, since what it became may be one of the other values too */
  } kind;
} gemel__region_value;

/* Used again from one application to the next; zeroed at first. */
typedef struct gemel__region {
  const gemel__application *a;
  gemel__region_value *values; /* numbered as they are met */
  size_t n, capacity;
  gemel__map numbers;                /* from 1, by value */
  gemel__ref at[GEMEL__RULE_NODES];  /* by node of the left side that is an operation */
  uint32_t right[GEMEL__RULE_NODES]; /* by node of the right side that is one: its number */
  uint32_t first[GEMEL__RULE_NODES]; /* and where the numbers of its operands begin */
  uint32_t *operands;                /* numbers */
  size_t n_operands, operand_capacity;
  uint32_t leftover; /* nodes of the left side that the right side uses */
  int open; /* 1: the right side reaches what neither side accounts for; it can't be checked */
} gemel__region;

/* Reads the region of A, and hashes what its validity depends on when nothing is known of its
 * leaves: the rule, structure, operations, attributes and types. Linear in its size. 0, or −1:
 * memory is out. */
int gemel__region_read(gemel__region *region, const gemel__application *a, uint64_t *key);
void gemel__region_clear(gemel__region *region);

/* What is known of REF, a value of GRAPH. */
gemel_range gemel__region_range(const gemel_graph *graph, gemel__ref ref);

/* KEY, with the facts known of the leaves and the constants among them. */
uint64_t gemel__region_facts_key(const gemel__region *region, uint64_t key);

/* Both sides as graphs with the same inputs, named as the rule's variables, and one output "y".
 * FACTS: leaves that are constants stay constants, and DOMAINS (room for region->n) says what else
 * is known of the other leaves, by input; without, only literals are constants. GEMEL_DECLINED: a
 * size is known at run time only, or region->open; GEMEL_NO_MEMORY. */
gemel_status gemel__region_build(const gemel__region *region, int facts, gemel_graph **left,
                                 gemel_graph **right, gemel_range *ranges, gemel_error *error);

#endif
