/* SPDX-License-Identifier: MIT
 *
 * What an expression of a composite is while it is expanded: a value of the graph, or something
 * that is known when the graph is built, such as a number, a size, a dtype or a list of these.
 */
#ifndef GEMEL__COMPOSITES_ITEM_H
#define GEMEL__COMPOSITES_ITEM_H

#include "composites/syntax.h"

typedef enum gemel__item_kind {
  GEMEL__ITEM_NONE,
  GEMEL__ITEM_VALUE,
  GEMEL__ITEM_BOOL, /* integer is 0 or 1 */
  GEMEL__ITEM_INTEGER,
  GEMEL__ITEM_REAL,
  GEMEL__ITEM_SIZE, /* that is no number */
  GEMEL__ITEM_DTYPE,
  GEMEL__ITEM_TEXT,
  GEMEL__ITEM_LIST
} gemel__item_kind;

typedef struct gemel__item {
  gemel__item_kind kind;
  union {
    gemel_value value;
    int64_t integer;
    double real;
    gemel_dim size;
    gemel_dtype dtype;
    const char *text;
    struct {
      struct gemel__item *items; /* in the expansion's arena */
      size_t count;
    } list;
  } u;
} gemel__item;

typedef struct gemel__composite_variable {
  const char *name;
  gemel__item item;
  struct gemel__composite_variable *next;
} gemel__composite_variable;

/* An expansion in progress. */
typedef struct gemel__expansion {
  gemel_graph *graph;
  gemel_context *context;
  gemel_location where;
  gemel__arena arena;
  long steps; /* that are left */
  int depth;
  const gemel__composite *composite;       /* the one that the program applies */
  const gemel__composite *running;         /* the one whose statements are gone through */
  const struct gemel__operator_node *node; /* for which it is applied; NULL: for none */
} gemel__expansion;

/* These return 0, or -1 with the graph's error. */

/* The graph's error: "NAME: FORMAT", where NAME is the composite's. Returns -1. */
int gemel__expansion_fail(gemel__expansion *x, gemel_status status, const char *format, ...)
    GEMEL__PRINTF(3, 4);
int gemel__expansion_no_memory(gemel__expansion *x);

/* *ITEM = a list with room for COUNT items, all none. */
int gemel__item_list(gemel__expansion *x, size_t count, gemel__item *item);

/* *ITEM = SIZE, as an integer where it is one. */
int gemel__item_size(gemel__expansion *x, gemel_dim size, gemel__item *item);

/* What the kind is called in messages. */
const char *gemel__item_name(const gemel__item *item);

/* 1 if ITEM is a bool, an integer, a real or a size. */
int gemel__item_is_number(const gemel__item *item);

/* ITEM, an integer, real, size or bool, as a double; 0 for a size. */
double gemel__item_real(const gemel__item *item);

/* *SIZE = ITEM, an integer, a size or an integer scalar of the graph. */
int gemel__item_to_size(gemel__expansion *x, const gemel__item *item, gemel_dim *size);

/* *VALUE = ITEM as a value of the graph; a number as one that goes with MODEL (null: by itself). */
int gemel__item_to_value(gemel__expansion *x, const gemel__item *item, gemel_value model,
                         gemel_value *value);

/* The value of ITEM, a number, of DTYPE and in the space of MODEL (null: the host). */
int gemel__item_to_dtype(gemel__expansion *x, const gemel__item *item, gemel_value model,
                         gemel_dtype dtype, gemel_value *value);

/* The value among N items of whose dtype numbers beside it are: the first float, else the first
 * integer, else the first; null if there is none. */
gemel_value gemel__item_model(const gemel__item *items, size_t n);

/* *ATTR = ITEM as the attribute that SPEC describes; its memory is the expansion's. */
int gemel__item_to_attr(gemel__expansion *x, const gemel__item *item, const gemel_attr_spec *spec,
                        gemel_attr *attr);

/* *ITEM = an attribute. */
int gemel__item_of_attr(gemel__expansion *x, const gemel_attr *attr, gemel__item *item);

/* A call of a function of the language, or of a builder written in C. 1: there is none called NAME;
 * WHERE labels stand, LABELS[k] is not NULL. */
int gemel__function_call(gemel__expansion *x, const char *name, size_t n, const gemel__item *items,
                         const char *const *labels, gemel__item *result);

/* first OP second, of which neither is a value or one is a list. */
int gemel__infix_known(gemel__expansion *x, int op, const gemel__item *a, const gemel__item *b,
                       gemel__item *result);

#endif
