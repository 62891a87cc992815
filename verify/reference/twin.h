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

typedef struct gemel__twin {
  gemel__reference reference;
  gemel__proposer propose; /* NULL: its sampler's instances are proposed */
  gemel__inverse *invert;  /* NULL: an operand is aimed at what the result is aimed at */
  unsigned arithmetic;     /* 0: as what isn't known, which is a function of its own */
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
