/* SPDX-License-Identifier: MIT
 *
 * What gemel's own kernels find behind gemel_kernel_call.nested: what a body belongs to that they
 * compile, and what they may add to their result while they make it.
 */
#ifndef GEMEL__CORE_NESTED_H
#define GEMEL__CORE_NESTED_H

#include <gemel/function.h>
#include <gemel/operation.h>

/* VIEW is a number for each channel, without gaps. A kernel whose PREPARE sets TAKEN adds it. */
typedef struct gemel__bias {
  gemel_view view;
  int taken;
} gemel__bias;

/* A kernel that compiles a body: the execution that it belongs to and its node there, from which
 * the body gets what is observed of calls, and the body, for those who look into it. */
typedef struct gemel__nested {
  struct gemel__execution *caller;
  uint32_t node;
  gemel_function *body; /* NULL: none, or it was compiled for a call that is over */
  int calls;            /* 1: the kernel calls a body */
  gemel__bias *bias;    /* NULL: there is none */
} gemel__nested;

#endif
