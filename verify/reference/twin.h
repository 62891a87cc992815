/* SPDX-License-Identifier: MIT
 *
 * Twins: what the harness knows of each of gemel's own operations. It is a record
 * `gemel__twin_<name>`, defined beside the operation's reference. The rows of lib/ops/ops.def and
 * lib/ops/scalar.def declare them, so an operation without one doesn't link.
 */
#ifndef GEMEL__REFERENCE_TWIN_H
#define GEMEL__REFERENCE_TWIN_H

#include "reference/reference.h"
#include "sample/draft.h"
#include "sample/inverse.h"
#include "sample/sampling.h"

/* Kinds of arithmetic: how results of float dtype round. */
enum {
  GEMEL__SUMS = 1,
  GEMEL__PRODUCTS = 2,
  GEMEL__QUOTIENTS = 4,
  GEMEL__FUNCTIONS = 8, /* all other functions, sqrt too */
  GEMEL__NARROWS = 16,  /* a cast to a dtype of fewer digits */
  GEMEL__EXACT = 32     /* none */
};

/* In which operands a float result is linear while the others are fixed, and where their axes go.
 * So equal/offers.c knows how factors and terms move through an operation. What it derives is
 * checked with numbers, so it may be wrong in places (at the edges of images). */
typedef enum gemel__linearity {
  GEMEL__NONLINEAR,
  /* elementwise, operands are broadcast */
  GEMEL__LINEAR_SUM,        /* x + y */
  GEMEL__LINEAR_DIFFERENCE, /* x − y */
  GEMEL__LINEAR_NEGATIVE,   /* −x */
  GEMEL__LINEAR_PRODUCT,    /* x y: linear in x, and in y */
  GEMEL__LINEAR_QUOTIENT,   /* x ÷ y: in x */
  GEMEL__LINEAR_CHOICE,     /* where(c, y, z): linear in y and z together */
  /* moving elements */
  GEMEL__LINEAR_SHUFFLE,   /* x, whose axes go where dimshuffle's attribute says */
  GEMEL__LINEAR_BROADCAST, /* x, whose axes come last */
  GEMEL__LINEAR_FILL,      /* as BROADCAST, of the second operand */
  GEMEL__LINEAR_RESHAPE,   /* x, some of whose axes are merged or split */
  GEMEL__LINEAR_PART,      /* x, whose axes keep their order, some with another size */
  GEMEL__LINEAR_SECOND,    /* as PART, of the second operand */
  GEMEL__LINEAR_PAD,       /* as PART, with other elements around */
  GEMEL__LINEAR_WRITE,     /* linear in x and y together; y lies within x */
  GEMEL__LINEAR_JOIN,      /* linear in all operands together, along an axis */
  /* adding up */
  GEMEL__LINEAR_REDUCTION,   /* x, summed over some axes */
  GEMEL__LINEAR_CONTRACTION, /* dot(x, y): linear in x, and in y; and in z that is added */
  GEMEL__LINEAR_CORRELATION, /* images x, weights w: linear in x, and in w */
  GEMEL__LINEAR_CORRELATED,  /* weights w, the correlation's cotangent y: linear in w, and in y */
  /* images x, the cotangent y, derivative by weights: linear in x, and in y */
  GEMEL__LINEAR_CORRELATIONS,
} gemel__linearity;

typedef struct gemel__twin {
  gemel__reference reference;
  gemel__sampler sample;   /* NULL: can't be verified by itself */
  gemel__proposer propose; /* proposes instances; NULL: those of the sampler */
  gemel__inverse *invert;  /* NULL: an operand is aimed at the same number as the result */
  unsigned arithmetic;     /* 0: unknown, taken for a function */
  gemel__linearity linear;
  /* With at least so many inputs it ends in an error at some values of them, such as indices
   * outside; 0: it never does. */
  unsigned char refuses_with;
} gemel__twin;

#define OP(name, ...) extern const gemel__twin gemel__twin_##name;
#include "ops/ops.def"
#undef OP
#define SCALAR(name, ...) extern const gemel__twin gemel__twin_##name;
#include "ops/scalar.def"
#undef SCALAR

/* The twin of operation OP (an id). For a program's operation all members are 0. */
const gemel__twin *gemel__twin_of(uint32_t op);

/* What draws instances of the operation of this RECORD: the record's own sampler, as a program's
 * operation has it, or else its twin's; NULL: there is none. */
gemel__sampler gemel__sampler_of(gemel_context *context, const gemel_operation *record);

#endif
