/* SPDX-License-Identifier: MIT
 *
 * What stands in a rule's attribute positions and conditions: numbers, dims, lists of them (one
 * entry an axis, mostly), dtypes, and truths. Arithmetic works entry by entry, a single number
 * against a list as often as the list is long; it is exact on dims too, in their normal form. The
 * functions and predicates are rows of functions.def.
 *
 * Whether two symbolic sizes are equal may not be known: then a comparison is UNKNOWN, and a
 * condition that comes out UNKNOWN doesn't hold, nor does its negation.
 */
#ifndef GEMEL__RULES_TERM_H
#define GEMEL__RULES_TERM_H

#include <stdint.h>
#include "core/arena.h"
#include "core/graph.h"
#include "rules/syntax.h"

typedef enum gemel__term_kind {
  GEMEL__TERM_ABSENT, /* an optional attribute that isn't there */
  GEMEL__TERM_NUMBER, /* one entry: list[0] */
  GEMEL__TERM_LIST,   /* COUNT entries */
  GEMEL__TERM_REAL,   /* a float attribute, or the value of a constant */
  GEMEL__TERM_DTYPE,
  GEMEL__TERM_UNKNOWN, /* a comparison that can't be decided */
  GEMEL__TERM_TENSOR,  /* a value of the graph: an argument of functions only */
  GEMEL__TERM_TENSORS, /* what a ..xs matched: an argument of functions only */
  GEMEL__TERM_OTHER    /* a string, tensor or graph attribute: equal or not, nothing else */
} gemel__term_kind;

/* An integer, or (DIM not GEMEL_DIM_NONE) a symbolic dim. Constant dims are always integers. */
typedef struct gemel__entry {
  int64_t value;
  gemel_dim dim;
} gemel__entry;

typedef struct gemel__term {
  unsigned char kind;
  uint32_t count;
  const gemel__entry *list; /* of a NUMBER (count 1) and a LIST; lives in the scene's arena */
  union {
    double real;
    gemel_dtype dtype;
    gemel__ref tensor;
    const gemel__ref *tensors; /* COUNT of them */
    const gemel_attr *attr;
  } u;
} gemel__term;

/* What terms are evaluated in: the values that a pattern's variables matched. */
typedef struct gemel__scene {
  gemel_graph *graph; /* TENSOR terms are values of it */
  const uint32_t
      *uses; /* by node: how often it is used, for single_use; NULL: not known, then once */
  gemel__arena *arena; /* lists live here */
  const gemel__term
      *variables;     /* by variable number: attributes, tensors and variadic ones alike */
  gemel_error *error; /* where GEMEL_NO_MEMORY says so */
} gemel__scene;

/* A compiled expression over variables: code for a stack machine. */
enum {
  GEMEL__TERMCODE_FUNCTION,
  GEMEL__TERMCODE_NUMBER,
  GEMEL__TERMCODE_VARIABLE,
  GEMEL__TERMCODE_LIST, /* of the COUNT topmost */
  GEMEL__TERMCODE_REAL,
  GEMEL__TERMCODE_DTYPE,
  GEMEL__TERMCODE_ABSENT,
  GEMEL__TERMCODE_OTHER /* a string */
};

typedef struct gemel__termcode {
  unsigned char kind;
  uint16_t count; /* operands taken from the stack */
  uint32_t index; /* row of functions.def, or number of the variable, or a gemel_dtype */
  int64_t value;
  double real;
  const gemel_attr *attr; /* of OTHER; in the arena */
} gemel__termcode;

typedef struct gemel__termexpr {
  const gemel__termcode *code;
  uint32_t count;
  uint32_t root;  /* in the syntax it was compiled from */
  unsigned kinds; /* what it may be: see kinds.h */
} gemel__termexpr;

enum { GEMEL__TERM_STACK = 64 };

/* Looks up a variable: its number, or -1, and which kinds of terms it may be (see kinds.h). */
typedef int (*gemel__term_lookup)(void *user, const char *name, size_t length, unsigned *kinds);

/* Compiles the tree at NODE into EXPR, whose code lives in ARENA. Names of dtypes (f32, …) and
 * `none` are constants. An operand that can't be what its function takes is an error.
 * GEMEL_BAD_TEXT with place and, where a name is nearly one of the table's or
 * of the variables', a suggestion ("did you mean ...?"); GEMEL_NO_MEMORY. */
gemel_status gemel__term_compile(const gemel__syntax *syntax, uint32_t node,
                                 gemel__term_lookup lookup, void *user, gemel__arena *arena,
                                 gemel__termexpr *expr, gemel_error *error);

/* Evaluates EXPR. GEMEL_OK with *TERM; GEMEL_DECLINED where it has no value (an index out of range,
 * an operand of the wrong kind, lists of different lengths, overflow); GEMEL_NO_MEMORY. */
gemel_status gemel__term_evaluate(const gemel__termexpr *expr, const gemel__scene *scene,
                                  gemel__term *term);

/* 1 if TERM is a truth that holds (a NUMBER that is a non-zero integer). */
int gemel__term_holds(const gemel__term *term);

/* 1 if A and B are provably the same, 0 if not (UNKNOWN included). */
int gemel__term_same(gemel_context *context, const gemel__term *a, const gemel__term *b);

/* The term that ATTR is (a value of an attribute as the context stores it) of node NODE of the
 * scene's graph: a size that input k of the node holds becomes the size that the value holds which
 * is input k, so that it means the same wherever it is put. GEMEL_NO_MEMORY; GEMEL_DECLINED if
 * there is no such input, or the size gets too long. */
gemel_status gemel__term_of_attr(const gemel__scene *scene, uint32_t node, const gemel_attr *attr,
                                 gemel__term *term);

/* TERM as an attribute of kind SPEC->kind, named SPEC->name; arrays live in the scene's arena.
 * GEMEL_DECLINED if it can't be one (a symbolic dim where an integer is asked for). */
gemel_status gemel__term_to_attr(const gemel__scene *scene, const gemel__term *term,
                                 const gemel_attr_spec *spec, gemel_attr *attr);

/* The one number that all elements of VALUE are, through broadcasts of constants: 1 and *TENSOR, a
 * scalar or any constant whose elements are all equal (looked at up to 64 elements); else 0. */
int gemel__uniform_constant(const gemel_graph *graph, gemel__ref value,
                            const gemel_tensor **tensor);

/* Writes TERM as text, as snprintf. */
size_t gemel__term_format(gemel_context *context, const gemel__term *term, char *text,
                          size_t bytes);

/* The table of functions, for documentation, mutation and suggestions: the K-th row's name, least
 * and most number of operands, and summary; NULL past the end. */
const char *gemel__function_name(size_t k, int *min_operands, int *max_operands,
                                 const char **summary);

#endif
