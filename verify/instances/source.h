/* SPDX-License-Identifier: MIT
 *
 * Sources of points. Values are drawn by a fill (instance.h); a source then changes them so that
 * something shows which random numbers hardly ever meet: numbers halfway between two of a narrower
 * dtype, or next to each other. A source is a function and a row of sources.def, and serves every
 * question that its row names. What looks at results and goes on from there is a search
 * (tiers/drive.c, pairs/targets.c).
 */
#ifndef GEMEL__INSTANCES_SOURCE_H
#define GEMEL__INSTANCES_SOURCE_H

#include "core/graph.h"
#include "instances/instance.h"

/* A point, drawn already, in packed tensors. */
typedef struct gemel__drawn {
  const gemel__instance *instance;
  gemel_tensor *const *values; /* one for each leaf */
  size_t turn;                 /* how many of this question's points came before */
  gemel__random *random;
} gemel__drawn;

/* Questions that take points. */
enum {
  GEMEL__FOR_REAL = 1,      /* tier real */
  GEMEL__FOR_UNDEFINED = 2, /* the same, while some result was never defined */
  GEMEL__FOR_INFINITE = 4,  /* the same, with infinite inputs */
  GEMEL__FOR_NEEDS = 8,     /* what one side gives up against the other, by the shipped code */
  GEMEL__FOR_ORDER = 16,    /* beside it: are integers and truths the same? */
  GEMEL__FOR_BITS = 32      /* certified rules that keep every bit */
};

typedef struct gemel__source {
  unsigned questions;
  size_t every, first;
  int (*shows)(const gemel_graph *graph);
  void (*put)(const gemel__drawn *point);
} gemel__source;

enum {
#define SOURCE(name, ...) GEMEL__SOURCE_##name,
#include "instances/sources.def"
#undef SOURCE
  GEMEL__SOURCES
};
extern const gemel__source gemel__sources[];

/* Lets all sources for QUESTION whose turn it is change POINT. */
void gemel__sources_change(const gemel__drawn *point, unsigned question);

/* Lets SOURCE change POINT, whatever its turn. */
void gemel__source_put(const gemel__drawn *point, const gemel__source *source);

#define SOURCE(name, ...) void gemel__put_##name(const gemel__drawn *point);
#include "instances/sources.def"
#undef SOURCE

/* ---- What shows something in a graph (shows.c) ---- */

int gemel__shows_always(const gemel_graph *graph);

/* 1 if GRAPH may end in an error at some values of its inputs, such as indices outside, whatever
 * sizes that are values are. */
int gemel__may_refuse(const gemel_graph *graph);

/* The kinds of arithmetic that NODE does (reference/twin.h); 0 if its results are exact whatever
 * its inputs. */
unsigned gemel__arithmetic(const gemel_graph *graph, uint32_t node);

/* How NODE's result jumps where OPERAND changes slightly: to another truth or sign, or to another
 * integer or index. Of a node with a body it is the largest jump in that. */
typedef enum gemel__jump { GEMEL__NO_JUMP, GEMEL__JUMP_CHOICE, GEMEL__JUMP_WHOLE } gemel__jump;
gemel__jump gemel__jumps(const gemel_graph *graph, uint32_t node, gemel__ref operand);

/* 1 if there are several float dtypes, so that a number may be rounded twice. */
int gemel__rounds_twice(const gemel_graph *graph);

/* 1 if something rounded decides an order: a comparison, an index, a pool. */
int gemel__orders_rounded(const gemel_graph *graph);

/* 1 if something rounded decides an order or is subtracted or added, so that it shows whether
 * numbers have become equal or infinite. */
int gemel__meets_rounded(const gemel_graph *graph);

/* 1 if GRAPH has a count in a dtype of one or two bytes: a value that comes from argmax, arange,
 * size, or a sum of truths or integers. And the bits of these dtypes, and 1 if there is one in a
 * dtype of four bytes. */
int gemel__narrows_counts(const gemel_graph *graph);
unsigned gemel__narrow_counts(const gemel_graph *graph);
int gemel__counts_in_32_bits(const gemel_graph *graph);

#endif
