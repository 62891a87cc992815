/* SPDX-License-Identifier: MIT
 *
 * Planted faults: wrong variants of kernels, derivatives and schedules, with which the tests of the
 * harness show that it sees them. They exist only in a build with GEMEL_FAULTS (the test suite's
 * own copy of the library); elsewhere GEMEL__FAULT is the constant 0 and nothing is left of them.
 */
#ifndef GEMEL__CORE_FAULT_H
#define GEMEL__CORE_FAULT_H

enum gemel__fault_id {
  GEMEL__FAULT_NONE,
#define FAULT(name, what) GEMEL__FAULT_##name,
#include "core/fault.def"
#undef FAULT
  GEMEL__FAULT_COUNT
};

#ifdef GEMEL_FAULTS
/* The fault that is switched on; GEMEL__FAULT_NONE: none. Set it while nothing runs. */
extern int gemel__fault_active;
#define GEMEL__FAULT(name) (gemel__fault_active == GEMEL__FAULT_##name)

/* Name and description of fault ID (1 … GEMEL__FAULT_COUNT - 1). */
const char *gemel__fault_name(int id);
const char *gemel__fault_what(int id);
#else
#define GEMEL__FAULT(name) 0
#endif

#endif
