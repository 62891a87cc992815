/* SPDX-License-Identifier: MIT
 *
 * What is assumed of inputs (gemel_assume), such as `positive`. A leaf has the facts of its input,
 * and every value that the harness draws or changes keeps them.
 */
#ifndef GEMEL__INSTANCES_ASSUMED_H
#define GEMEL__INSTANCES_ASSUMED_H

#include "instances/instance.h"

/* The range of numbers with the signs that FACTS (bits GEMEL_FACT_…) allow. */
gemel_range gemel__range_of_facts(unsigned facts);

/* 1 if the facts of LEAF, which is of a float dtype, allow X as an element. */
int gemel__leaf_admits(const gemel__leaf *leaf, double x);

/* The same for ELEMENT, stored in the leaf's dtype. */
int gemel__leaf_keeps(const gemel__leaf *leaf, const void *element);

/* Changes those of N consecutive elements that the leaf's facts exclude: a negative number loses
 * its sign; a zero, an infinity or a NaN becomes 1 or −1. */
void gemel__leaf_settle(const gemel__leaf *leaf, size_t n, void *elements);

/* The same for a row-major tensor. */
void gemel__tensor_settle(const gemel__leaf *leaf, gemel_tensor *tensor);

/* Stores X as ELEMENT, changed as above. Integers are rounded toward 0 and wrap; infinite X is
 * their dtype's least or greatest number. */
void gemel__leaf_put(const gemel__leaf *leaf, void *element, long double x);

/* X moved into the leaf's range and between the ends of its dtype. */
long double gemel__leaf_within(const gemel__leaf *leaf, long double x);

/* ELEMENT as a number. */
long double gemel__leaf_get(const gemel__leaf *leaf, const void *element);

/* Element K of a tensor of LEAF. */
void *gemel__leaf_at(const gemel__leaf *leaf, const gemel_tensor *tensor, size_t k);

/* All facts that A or B assumes of the input called NAME: values of a pair have all of them. */
unsigned gemel__facts_of_both(const gemel_graph *a, const gemel_graph *b, const char *name);

/* Says in words of which inputs A and B assume different facts; "" if of none. */
void gemel__say_assumed(const gemel_graph *a, const gemel_graph *b, char *text, size_t bytes);

#endif
