/* SPDX-License-Identifier: MIT
 *
 * Reading what is no operation: dims, types, tensors and attributes. All leave the lexer behind
 * what they read, and fail with the place in the text.
 */
#ifndef GEMEL__TEXT_VALUES_H
#define GEMEL__TEXT_VALUES_H

#include "core/arena.h"
#include "core/graph.h"
#include "core/lex.h"
#include "core/number.h"
#include "core/suggest.h"

/* What names mean to the reader of an expression. Functions that are NULL know no names. */
typedef struct gemel__scope {
  void *user;
  /* A variable or value: 1 and *REF (its index in REF->node, where values are bound later). */
  int (*value)(void *user, const char *name, size_t length, gemel__ref *ref);
  /* An attribute variable: its index, or -1. */
  int (*attr)(void *user, const char *name, size_t length);
  /* In a dim, the size that the value called NAME holds: 1 and *DIM (GEMEL_DIM_NONE and the error
   * set: it can't be one); 0: NAME is a symbol. */
  int (*size)(void *user, const char *name, size_t length, gemel_dim *dim, gemel_error *error);
  /* A graph at the token, by name or inline: a new reference, or NULL. */
  gemel_graph *(*graph)(void *user, gemel__lex *lex, gemel_error *error);
  /* Offers the names of values. */
  void (*offer)(void *user, gemel__suggestion *near);
  int composites; /* 1: composites may be called */
} gemel__scope;

/* Where what attributes point at lives until they are interned. Zeroed: empty. */
typedef struct gemel__attr_store {
  gemel__arena arena;
  uint64_t *slots; /* elements of the list being read */
  size_t slot_capacity;
  gemel_tensor **tensors;
  size_t n_tensors, tensor_capacity;
  gemel_graph **graphs;
  size_t n_graphs, graph_capacity;
} gemel__attr_store;

/* Releases what was read; the store can be used again. */
void gemel__store_reset(gemel__attr_store *store);
void gemel__store_clear(gemel__attr_store *store);

/* A dim: integers, names, $K (the size input K holds), $NAME (the symbol, whatever is in scope),
 * + - * //, unary -, parentheses, min(…) and max(…). SCOPE may be NULL. */
gemel_status gemel__dim_read(gemel_context *context, gemel__lex *lex, const gemel__scope *scope,
                             gemel_dim *dim, gemel_error *error);

/* A dtype's name. */
gemel_status gemel__dtype_read(gemel__lex *lex, gemel_dtype *dtype, gemel_error *error);

/* A type: dtype, dims in brackets (none: a scalar), @ and a memory space. */
gemel_status gemel__type_read(gemel_context *context, gemel__lex *lex, gemel_type *type,
                              gemel_error *error);

/* tensor(TYPE, [elements]) or a number with a dtype, as 2.5:f32; a new reference. */
gemel_status gemel__tensor_read(gemel_context *context, gemel__lex *lex, gemel_tensor **tensor,
                                gemel_error *error);

/* The attribute value at the token, as SPEC says it is. */
gemel_status gemel__attr_read(gemel_context *context, gemel__lex *lex, const gemel__scope *scope,
                              gemel__attr_store *store, const gemel_attr_spec *spec,
                              gemel_attr *attr, gemel_error *error);

#endif
