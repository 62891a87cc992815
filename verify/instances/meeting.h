/* SPDX-License-Identifier: MIT
 *
 * Inputs that give 0 * inf, inf - inf or inf / inf (or NaN in place of inf). Elements drawn one by
 * one seldom make a scale that is 0 throughout beside a tensor with infinities of one sign. So
 * these inputs are numbered: GEMEL__MEETING_WAYS consecutive numbers, from a multiple on, go
 * through all ways for one input, the following ones for the next input.
 */
#ifndef GEMEL__INSTANCES_MEETING_H
#define GEMEL__INSTANCES_MEETING_H

#include "instances/instance.h"

typedef struct gemel__meeting {
  enum {
    GEMEL__MEET_LEAF,     /* an input is 0 throughout, the others get infinities or NaNs */
    GEMEL__MEET_WITHIN,   /* an input has zeros and infinities or NaNs */
    GEMEL__MEET_COMPUTED, /* small integers, whose differences may be 0; one input gets infinities
                           * or NaNs */
    GEMEL__MEET_ALL,      /* all inputs get infinities or NaNs */
    GEMEL__MEETINGS
  } kind;
  enum {
    GEMEL__MEET_PLUS,
    GEMEL__MEET_MINUS,
    GEMEL__MEET_BOTH, /* infinities of both signs */
    GEMEL__MEET_NAN,
    GEMEL__MEET_SPECIALS
  } special;
  size_t leaf;
} gemel__meeting;

enum { GEMEL__MEETING_WAYS = GEMEL__MEETINGS * GEMEL__MEET_SPECIALS };

gemel__meeting gemel__meeting_of(const gemel__instance *instance, size_t number);

/* Overwrites elements of VALUES. What is assumed of inputs is kept. Finite numbers are made small,
 * so that nothing overflows by itself. */
void gemel__meeting_arrange(const gemel__meeting *meeting, const gemel__instance *instance,
                            gemel__random *random, gemel_tensor **values);

#endif
