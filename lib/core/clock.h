/* SPDX-License-Identifier: MIT
 *
 * Processor time.
 */
#ifndef GEMEL__CORE_CLOCK_H
#define GEMEL__CORE_CLOCK_H

/* Seconds of processor time that this thread has had. */
double gemel__thread_seconds(void);

#endif
