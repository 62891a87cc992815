/* SPDX-License-Identifier: MIT
 *
 * Chains: several arithmetic steps of a tile done at once, so that what one hands to the next stays
 * in registers. A chain is a list of links; each is a small function that takes eight vector
 * registers as arguments, does its step on them and calls the next link, which compilers turn into
 * a jump. No code is generated at run time, and what is computed is to the last bit (but for which
 * NaN it is) what the steps' scalar kernels compute one by one, since both are the same IEEE
 * operations.
 */
#ifndef GEMEL__CPU_CHAIN_H
#define GEMEL__CPU_CHAIN_H

#include <stddef.h>
#include <stdint.h>
#include <gemel/dtype.h>
#include "core/rows.h"

enum {
  GEMEL__CHAIN_LINKS = 16,      /* steps in a chain at most */
  GEMEL__CHAIN_ELEMENTS = 1024, /* of a loop, from which chains pay */
  GEMEL__CHAIN_FIXED = 512      /* bytes of an operand that is the same everywhere that are read */
};

/* Which operand of a step is the register's value. */
typedef enum gemel__chain_side {
  GEMEL__CHAIN_LEFT,
  GEMEL__CHAIN_RIGHT,
  GEMEL__CHAIN_BOTH,
  GEMEL__CHAIN_LEFT_FIXED, /* the other operand is the same everywhere */
  GEMEL__CHAIN_RIGHT_FIXED,
  GEMEL__CHAIN_SIDES
} gemel__chain_side;

typedef void (*gemel__chain_function)(void); /* of a type that only chain.c knows */

/* A link as it is run: OPERAND is what the step reads besides the registers. */
typedef struct gemel__link {
  gemel__chain_function run;
  char *operand;
} gemel__link;

typedef struct gemel__chain {
  uint32_t n_links; /* with the one that loads the first operand and the one that stores */
  gemel_dtype dtype;
  const struct gemel__chain_family *family; /* what this machine has for the dtype */
  int streamed; /* the result is written past the cache if it is aligned */
  gemel__chain_function functions[GEMEL__CHAIN_LINKS + 2];
  uint16_t slots[GEMEL__CHAIN_LINKS + 2];
  uint8_t fixed[GEMEL__CHAIN_LINKS + 2]; /* the slot is read at its beginning only */
} gemel__chain;

/* The link of a scalar operation, or NULL if it can't be in a chain. */
gemel__chain_function gemel__chain_step(const gemel__scalar_row *row, gemel_dtype dtype,
                                        gemel__chain_side side);

/* Starts a chain on elements of DTYPE, the value at SLOT being its first operand. */
void gemel__chain_begin(gemel__chain *chain, gemel_dtype dtype, uint16_t slot);

/* Appends a step whose other operand is at SLOT; FIXED: STEP was asked for with a side that is. */
void gemel__chain_append(gemel__chain *chain, gemel__chain_function step, uint16_t slot, int fixed);

/* Ends the chain: its result goes to SLOT. */
void gemel__chain_end(gemel__chain *chain, uint16_t slot);

/* Runs CHAIN on N elements, operands at SLOTS. The result may be the same memory as an operand. */
void gemel__chain_run(const gemel__chain *chain, size_t n, void *const *slots);

#endif
