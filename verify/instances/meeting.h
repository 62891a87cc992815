/* SPDX-License-Identifier: MIT
 *
 * Inputs at which zeros and infinities (or NaNs) meet: 0 * inf, inf - inf, inf / inf. What is drawn
 * element by element seldom has a scale that is 0 beside a tensor with infinities of one sign
 * alone, so meetings are numbered: GEMEL__MEETING_WAYS in a row, from a multiple of it on, are all
 * ways with one input, and those that follow have the next input.
 */
#ifndef GEMEL__INSTANCES_MEETING_H
#define GEMEL__INSTANCES_MEETING_H

#include "instances/instance.h"

typedef struct gemel__meeting {
  enum {
    GEMEL__MEET_LEAF,     /* an input is 0 throughout, the others get infinities or NaNs */
    GEMEL__MEET_WITHIN,   /* an input has zeros and infinities or NaNs */
    GEMEL__MEET_COMPUTED, /* small integers, whose differences may be 0; one input gets infinities
                             or NaNs */
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

/* Overwrites elements of VALUES. What is assumed of inputs is kept, and what stays finite is small:
 * what overflows by itself is another question. */
void gemel__meeting_arrange(const gemel__meeting *meeting, const gemel__instance *instance,
                            gemel__random *random, gemel_tensor **values);

#endif
