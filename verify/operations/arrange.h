/* SPDX-License-Identifier: MIT
 *
 * Arrangements: instances that an operation's sampler doesn't give, made of one that it gives. Many
 * lengths in one graph, long chains of elementwise operations, many operands. Kernels work in
 * blocks, and a mistake may show at one remainder only; loops join operations into chains, and a
 * mistake may show on one side only.
 */
#ifndef GEMEL__OPERATIONS_ARRANGE_H
#define GEMEL__OPERATIONS_ARRANGE_H

#include "instances/instance.h"

/* A block has at most so many elements, or divides it; every remainder is a length. */
enum { GEMEL__BLOCK = 128 };

/* Which of the lengths BLOCK + k are in a graph: those with k = FROM, FROM + STEP, … below BLOCK.
 */
typedef struct gemel__lengths {
  size_t from, step;
} gemel__lengths;

/* Elements of each operand of BASE along its only axis. */
enum {
  GEMEL__LENGTHS_ROOM = 2 * GEMEL__BLOCK + 16,
  GEMEL__CHAIN_ROOM = 1024 + GEMEL__LENGTHS_ROOM /* from 1024 on loops are chains */
};

/* Makes a graph of the elementwise BASE: for each length, its result of a part of the operands, and
 * beside it that part of its result. */
gemel_status gemel__arrange_lengths(gemel__instance *made, const gemel__instance *base,
                                    gemel__lengths lengths, gemel_error *error);

/* Makes a graph of the elementwise BASE: for each length (1024 more), BASE with a computed operand,
 * each in turn, and an operation that has BASE's result on its right. Of an operation of two
 * operands, also a chain of a dozen operands. */
gemel_status gemel__arrange_chains(gemel__instance *made, const gemel__instance *base,
                                   gemel__lengths lengths, gemel_error *error);

/* Makes an instance of BASE's operation with COUNT operands whose types are BASE's in turn.
 * GEMEL_DECLINED: it doesn't take so many. */
gemel_status gemel__arrange_many(gemel__instance *made, const gemel__instance *base, size_t count,
                                 gemel_error *error);

#endif
