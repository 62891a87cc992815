/* SPDX-License-Identifier: MIT
 *
 * What the files of the elementwise family share among themselves, and the kernels' variants, which
 * tests compare with each other.
 */
#ifndef GEMEL__OPS_ELEMENTWISE_H
#define GEMEL__OPS_ELEMENTWISE_H

#include "ops/isa.h"
#include "ops/ops.h"
#include "text/recipe.h"

/* What is known of a derivative's recipe. */
typedef enum gemel__derivation {
  GEMEL__DERIVATION_UNKNOWN,
  GEMEL__DERIVATION_ZERO,   /* the derivative is zero */
  GEMEL__DERIVATION_RECIPE, /* over inputs, result and cotangent, in this order */
  GEMEL__DERIVATION_NONE    /* only the rule knows */
} gemel__derivation;

/* After the gradient rule of a row of scalar.def has answered CALL, in which input K was wanted:
 * how it made that input's cotangent. The recipe serves all nodes of the same operation, attributes
 * and types. If memory is out, the error is on the graph. */
gemel__derivation gemel__scalar_recipe(const gemel_derive *call, size_t k, gemel__recipe *recipe);

/* Hooks that stand in files of their own: elementwise_sample.c, elementwise_plain.c. */
gemel_status gemel__scalar_sample(gemel_sample *call);
extern const gemel_kernel gemel__scalar_kernels[];

/* gemel__scalar_kernel_for with a chosen instruction set, which the machine must have. */
gemel__scalar_kernel gemel__scalar_kernel_variant(const gemel__scalar_row *row, gemel_dtype operand,
                                                  gemel_dtype result, gemel__isa isa);

/* Kernels of one dtype, indexed by row, with NULL where there is none; the entry `where` of u8,
 * u16, u32 and u64 moves elements of that width whatever they mean. */
const gemel__scalar_kernel *gemel__float_kernels(gemel_dtype dtype, gemel__isa isa);
const gemel__scalar_kernel *gemel__signed_kernels(gemel_dtype dtype, gemel__isa isa);
const gemel__scalar_kernel *gemel__unsigned_kernels(gemel_dtype dtype, gemel__isa isa);

/* The cast from one dtype to another; all pairs exist. */
gemel__scalar_kernel gemel__cast_kernel(gemel_dtype from, gemel_dtype to, gemel__isa isa);

#endif
