/* SPDX-License-Identifier: MIT
 *
 * What is assumed of inputs (gemel_assume), wherever the harness makes or moves values: a leaf has
 * the facts of its input, and each element that it is given keeps them.
 */
#ifndef GEMEL__INSTANCES_ASSUMED_H
#define GEMEL__INSTANCES_ASSUMED_H

#include "instances/instance.h"

/* The range whose numbers have the signs that FACTS (bits GEMEL_FACT_…) leave. */
gemel_range gemel__range_of_facts(unsigned facts);

/* 1 if X may be an element of LEAF, of a float dtype. */
int gemel__leaf_admits(const gemel__leaf *leaf, double x);

/* The same of ELEMENT, stored in the leaf's dtype. */
int gemel__leaf_keeps(const gemel__leaf *leaf, const void *element);

/* Brings N elements in a row inside: what is below 0 loses its sign, and a zero, an infinity or a
 * NaN becomes 1 or −1, where the leaf's facts exclude it. */
void gemel__leaf_settle(const gemel__leaf *leaf, size_t n, void *elements);

/* The same for a row-major tensor. */
void gemel__tensor_settle(const gemel__leaf *leaf, gemel_tensor *tensor);

/* What both A and B assume of the input called NAME: of a pair, values have all of these facts. */
unsigned gemel__facts_of_both(const gemel_graph *a, const gemel_graph *b, const char *name);

/* Which inputs one of A and B assumes more of than the other, in words; "" if none. */
void gemel__say_assumed(const gemel_graph *a, const gemel_graph *b, char *text, size_t bytes);

#endif
