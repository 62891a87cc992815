/* SPDX-License-Identifier: MIT
 *
 * How threads wait for each other.
 */
#ifndef GEMEL__CPU_WAITS_H
#define GEMEL__CPU_WAITS_H

/* From now on OpenMP's threads that wait fall asleep after some microseconds, if the environment
 * doesn't say how they wait. Once a process; nothing happens if a thread can't be started.
 * Thread-safe. */
void gemel__wait_asleep(void);

#endif
