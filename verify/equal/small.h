/* SPDX-License-Identifier: MIT
 *
 * Small versions of a part of two graphs: questions that say more, for any constants, but are
 * easier.
 */
#ifndef GEMEL__EQUAL_SMALL_H
#define GEMEL__EQUAL_SMALL_H

#include "pairs/joint.h"

enum { GEMEL__SMALL_VERSIONS = 2 };

/* Makes SMALL, PART with inputs in place of constants and with large sizes scaled. If it passes,
 * PART may be taken for equal by samples; if it doesn't, nothing is known. Of the versions the
 * first makes inputs of what constants come to, the second of the constants themselves.
 * GEMEL_DECLINED: there is no such version, or it is too large. */
gemel_status gemel__part_small(const gemel__part_graphs *part, int version,
                               gemel__part_graphs *small, gemel_error *error);

#endif
