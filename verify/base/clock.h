/* SPDX-License-Identifier: MIT
 *
 * Time that passes.
 */
#ifndef GEMEL__BASE_CLOCK_H
#define GEMEL__BASE_CLOCK_H

/* Seconds of a monotonic clock. */
double gemel__clock(void);

#endif
