/* SPDX-License-Identifier: MIT
 *
 * Differences between two graphs that no kind of rounding explains, see needs.h.
 */
#ifndef GEMEL__PAIRS_BEYOND_H
#define GEMEL__PAIRS_BEYOND_H

#include "domains/bound.h"
#include "pairs/needs.h"

/* How the numbers of a point are. */
typedef enum gemel__temper {
  GEMEL__CALM,      /* all of ordinary magnitude, none is 0 */
  GEMEL__TAME,      /* zeros too, and numbers whose exponentials overflow */
  GEMEL__ONE_FAR,   /* those of one input: their squares overflow or underflow */
  GEMEL__FAR_APART, /* those of several inputs */
  GEMEL__WILD       /* all finite numbers */
} gemel__temper;

/* Of numbers of STYLE, and of an integer TENSOR: beyond a thousand they may overflow a float too.
 */
gemel__temper gemel__temper_of(gemel__style style);
gemel__temper gemel__temper_of_integers(const gemel_tensor *tensor);

/* Far off: NaN or infinite though a finite number is right, or by more than ROOM, the bound, and 16
 * units in the last place. */
int gemel__is_wrong(gemel_dtype dtype, double computed, double exact, double room);

/* Two finite numbers that neither of them can be called the better one of: closer than half of what
 * makes one wrong. */
int gemel__are_alike(gemel_dtype dtype, double left, double right);

/* Adds to NEEDS what the results BASE of PAIR at the finite VALUES show: LOST and GAINED, and
 * BEYOND if PLAN asks for that. */
gemel_status gemel__beyond_look(const gemel__pair *pair, gemel_tensor *const *values,
                                const gemel__both *base, gemel__temper temper,
                                const gemel__needs_plan *plan, gemel__bound *bound,
                                gemel__needs *needs, gemel_error *error);

/* An instance of NEEDS that shows one of the words REFUSED, or numbers that are too far apart; its
 * VALUES are NULL if there is none. *WORD: what it shows. */
gemel__witness *gemel__beyond_witness(gemel__needs *needs, unsigned refused, const char **word);

/* Overwrites the elements of an integer tensor with numbers that a narrower dtype or a float
 * can't hold, and their neighbours. Half of them are near those of other tensors with the same
 * COMMON. */
void gemel__beyond_fill(gemel_tensor *tensor, uint64_t common, gemel__random *random);

/* Overwrites the elements of all float inputs of PAIR with numbers at which digits are lost, of
 * another kind each TURN: nearly equal ones in one input and in several, small ones beside ordinary
 * or large ones, and ones that are far apart. Most of those that are nearly equal are near a
 * constant of either graph, where a difference may be small. What they are is returned. */
gemel__temper gemel__losses_fill(const gemel__pair *pair, size_t turn, gemel__random *random,
                                 gemel_tensor *const *values);

/* The turn to take instead of TURN where more points may tell of the kind of loss OPEN. */
size_t gemel__losses_turn(size_t open, size_t turn);

#endif
