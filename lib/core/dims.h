/* SPDX-License-Identifier: MIT
 *
 * Inside the dims of a context. A dim is an integer polynomial in normal form: a sum of terms, each
 * an integer times a monomial, each monomial a product of powers of atoms. An atom is a symbol, a
 * size that a node produces, a size that an input holds, or a floor-quotient, minimum or maximum of
 * dims that no rule of arithmetic takes apart. Atoms, monomials and dims are interned, each in a
 * table of its own, so equal normal forms have equal ids.
 *
 * Everything that is stored also has its text and bounds between which its value lies (symbols are
 * never negative); the texts bound what can be built: an expression whose text is longer than
 * GEMEL__DIM_TEXT is refused, and with it any that would be too deep or too wide to walk over.
 */
#ifndef GEMEL__CORE_DIMS_H
#define GEMEL__CORE_DIMS_H

#include <stdatomic.h>
#include "core/context.h"

enum {
  GEMEL__DIM_TERMS = 128,  /* in a sum */
  GEMEL__DIM_DEGREE = 32,  /* of a monomial */
  GEMEL__DIM_LIST = 32,    /* operands of a min or max */
  GEMEL__DIM_TEXT = 4000,  /* bytes of the text */
  GEMEL__DIM_DEPTH = 200,  /* quotients, mins and maxes inside one another */
  GEMEL__DIM_SMALL = 1024, /* constants below this are found without the lock */
  GEMEL__MONO_ONE = 1      /* the empty product */
};

/* LOW <= value <= HIGH; INT64_MIN and INT64_MAX mean that nothing is known. */
typedef struct gemel__bounds {
  int64_t low, high;
} gemel__bounds;

/* What dims, monomials and atoms have in common. */
typedef struct gemel__dim_facts {
  const char *text;
  uint32_t hash;
  uint16_t text_bytes;
  uint8_t depth;
  uint8_t runtime; /* holds a VALUE or INPUT atom */
  gemel__bounds bounds;
} gemel__dim_facts;

enum { /* continues gemel__atom_kind */
       GEMEL__ATOM_QUOTIENT = GEMEL__ATOM_INPUT + 1,
       GEMEL__ATOM_MIN,
       GEMEL__ATOM_MAX
};

typedef struct gemel__dim_atom {
  gemel__dim_facts facts;
  int kind;
  const char *name; /* of a symbol */
  uint32_t a, b;    /* of a VALUE or INPUT; ids of dividend and divisor of a QUOTIENT */
  uint32_t count;   /* operands of a MIN or MAX, ascending ids */
  const gemel_dim *list;
} gemel__dim_atom;

typedef struct gemel__dim_factor {
  uint32_t atom;
  uint32_t power;
} gemel__dim_factor;

typedef struct gemel__mono {
  gemel__dim_facts facts;
  uint32_t degree;
  uint32_t count;
  const gemel__dim_factor *factors; /* ascending atoms */
} gemel__mono;

typedef struct gemel__dim_term {
  int64_t coefficient;
  uint32_t mono;
} gemel__dim_term;

typedef struct gemel__dim {
  gemel__dim_facts facts;
  uint32_t count;
  const gemel__dim_term *terms; /* ascending monomials, no coefficient 0 */
  gemel__dim_term only;         /* where the terms of a one-term dim lie */
} gemel__dim;

struct gemel__dims {
  gemel__arena arena;
  gemel__stable atoms, monos, dims; /* elements 0 unused */
  gemel__idtable atom_table, mono_table, dim_table;
  _Atomic uint32_t small[GEMEL__DIM_SMALL];
  _Atomic unsigned memory_failures;
};

/* A polynomial being computed. Functions on it return 0, or -1 when it can't be represented (or
 * memory is out) and the result is to be GEMEL_DIM_NONE. */
typedef struct gemel__poly {
  uint32_t count;
  gemel__dim_term terms[GEMEL__DIM_TERMS];
} gemel__poly;

static inline const gemel__dim *gemel__dim_at(const struct gemel__dims *dims, gemel_dim dim) {
  return (const gemel__dim *)gemel__stable_at(&dims->dims, dim.id);
}
static inline const gemel__mono *gemel__mono_at(const struct gemel__dims *dims, uint32_t mono) {
  return (const gemel__mono *)gemel__stable_at(&dims->monos, mono);
}
static inline const gemel__dim_atom *gemel__dim_atom_at(const struct gemel__dims *dims,
                                                        uint32_t atom) {
  return (const gemel__dim_atom *)gemel__stable_at(&dims->atoms, atom);
}

/* Dividend and divisor of the quotient ATOM. */
static inline gemel_dim gemel__dividend(const gemel__dim_atom *atom) {
  return (gemel_dim){atom->a};
}
static inline gemel_dim gemel__divisor(const gemel__dim_atom *atom) {
  return (gemel_dim){atom->b};
}

/* If DIM is a constant, 1 and its value. */
static inline int gemel__dim_constant_of(const gemel__dim *dim, int64_t *value) {
  if (dim->count == 0) {
    *value = 0;
    return 1;
  }
  *value = dim->terms[0].coefficient;
  return dim->count == 1 && dim->terms[0].mono == GEMEL__MONO_ONE;
}

/* ---- dims.c: interning; call with the context locked. 0, or no dim, on failure. ---- */
gemel_dim gemel__dim_intern(struct gemel__dims *dims, const gemel__poly *poly);
uint32_t gemel__mono_intern(struct gemel__dims *dims, const gemel__dim_factor *factors,
                            uint32_t count);
uint32_t gemel__atom_intern(struct gemel__dims *dims, const gemel__dim_atom *atom);

/* ---- dims-text.c: texts of what is about to be stored, in an order that does not depend on what
 * was interned before. They return the length, or -1 if it is over GEMEL__DIM_TEXT. TEXT has room
 * for GEMEL__DIM_TEXT + 1 bytes. ---- */
int gemel__atom_text(const struct gemel__dims *dims, const gemel__dim_atom *atom, char *text);
int gemel__mono_text(const struct gemel__dims *dims, const gemel__mono *mono, char *text);
int gemel__poly_text(const struct gemel__dims *dims, const gemel__poly *poly, char *text);

/* ---- dims-normal.c: arithmetic on normal forms ---- */
gemel__bounds gemel__poly_bounds(const struct gemel__dims *dims, const gemel__poly *poly);
gemel__bounds gemel__mono_bounds(const struct gemel__dims *dims, const gemel__mono *mono);
gemel__bounds gemel__atom_bounds(const struct gemel__dims *dims, const gemel__dim_atom *atom);
void gemel__poly_load(const struct gemel__dims *dims, gemel_dim dim, gemel__poly *poly);
/* Greatest common divisor of START and the coefficients of POLY, the constant's only if asked. */
uint64_t gemel__poly_content(const gemel__poly *poly, uint64_t start, int with_constant);
/* A + FACTOR × B; these three need no lock, the others may intern. */
int gemel__poly_combine(const gemel__poly *a, const gemel__poly *b, int64_t factor,
                        gemel__poly *result);
int gemel__poly_multiply(struct gemel__dims *dims, const gemel__poly *a, const gemel__poly *b,
                         gemel__poly *result);
int gemel__poly_floordiv(struct gemel__dims *dims, const gemel__poly *a, const gemel__poly *b,
                         gemel__poly *result);
gemel_dim gemel__dim_extreme(struct gemel__dims *dims, int kind, gemel_dim a, gemel_dim b);

/* floor(a / b), b not 0; the caller excludes INT64_MIN / -1. */
static inline int64_t gemel__floor_quotient(int64_t a, int64_t b) {
  int64_t q = a / b;
  return q - (a % b != 0 && (a < 0) != (b < 0));
}

#endif
