/* SPDX-License-Identifier: MIT
 *
 * A clock for measuring and limiting time.
 */
#ifndef GEMEL__BASE_CLOCK_H
#define GEMEL__BASE_CLOCK_H

/* Seconds since some fixed time in the past; never goes back. */
double gemel__clock(void);

#endif
