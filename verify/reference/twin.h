/* SPDX-License-Identifier: MIT
 *
 * What the harness knows of each of gemel's own operations: a record `gemel__twin_<name>`, defined
 * beside its reference. The rows of lib/ops/ops.def and lib/ops/scalar.def say which there are: an
 * operation without one doesn't link.
 */
#ifndef GEMEL__REFERENCE_TWIN_H
#define GEMEL__REFERENCE_TWIN_H

#include "reference/reference.h"
#include "sample/draft.h"
#include "sample/inverse.h"

/* Kinds of arithmetic, by which results on floats round. */
enum {
  GEMEL__SUMS = 1,
  GEMEL__PRODUCTS = 2,
  GEMEL__QUOTIENTS = 4,
  GEMEL__FUNCTIONS = 8, /* all others, square roots too */
  GEMEL__NARROWS = 16,  /* a cast to a dtype of fewer digits */
  GEMEL__EXACT = 32     /* none */
};

/* In which operands a float result is linear while the others are fixed, and where their axes go:
 * so it is known how factors and terms move through an operation (equal/offers.h). What comes of
 * that is held against numbers, so at the edges of images, say, it may be too much. */
typedef enum gemel__linearity {
  GEMEL__NONLINEAR,
  /* element by element, operands being broadcast */
  GEMEL__LINEAR_SUM,        /* x + y */
  GEMEL__LINEAR_DIFFERENCE, /* x − y */
  GEMEL__LINEAR_NEGATIVE,   /* −x */
  GEMEL__LINEAR_PRODUCT,    /* x y: in x, and in y */
  GEMEL__LINEAR_QUOTIENT,   /* x ÷ y: in x */
  GEMEL__LINEAR_CHOICE,     /* of y and z: in both together */
  /* moving elements */
  GEMEL__LINEAR_SHUFFLE,   /* x, whose axes go where dimshuffle's attribute says */
  GEMEL__LINEAR_BROADCAST, /* x, whose axes come last */
  GEMEL__LINEAR_FILL,      /* the second operand likewise */
  GEMEL__LINEAR_RESHAPE,   /* x, some of whose axes become others */
  GEMEL__LINEAR_PART,      /* x, whose axes stay in their order, some with another size */
  GEMEL__LINEAR_SECOND,    /* the second operand likewise */
  GEMEL__LINEAR_PAD,       /* x likewise, with other elements around it */
  GEMEL__LINEAR_WRITE,     /* x and y together, y within x's axes */
  GEMEL__LINEAR_JOIN,      /* all operands together, along an axis */
  /* adding up */
  GEMEL__LINEAR_REDUCTION,    /* x, axes of which are summed over */
  GEMEL__LINEAR_CONTRACTION,  /* x y as dot has them: in x, and in y; and in z that is added */
  GEMEL__LINEAR_CORRELATION,  /* images x, weights w: in x, and in w */
  GEMEL__LINEAR_CORRELATED,   /* weights w, the correlation's cotangent y: in w, and in y */
  GEMEL__LINEAR_CORRELATIONS, /* images x, the cotangent y, by weights: in x, and in y */
} gemel__linearity;

typedef struct gemel__twin {
  gemel__reference reference;
  gemel__proposer propose; /* NULL: its sampler's instances are proposed */
  gemel__inverse *invert;  /* NULL: an operand is aimed at what the result is aimed at */
  unsigned arithmetic;     /* 0: as what isn't known, which is a function of its own */
  gemel__linearity linear;
} gemel__twin;

#define OP(name, ...) extern const gemel__twin gemel__twin_##name;
#include "ops/ops.def"
#undef OP
#define SCALAR(name, ...) extern const gemel__twin gemel__twin_##name;
#include "ops/scalar.def"
#undef SCALAR

/* That of operation OP, by its id. Of a program's operation nothing is known: all members are 0. */
const gemel__twin *gemel__twin_of(uint32_t op);

#endif
