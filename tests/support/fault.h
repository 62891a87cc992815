/* SPDX-License-Identifier: MIT
 *
 * Planted faults: wrong variants of kernels, derivatives and schedules, with which the tests of the
 * harness show that it sees them. They stand in tests/faults, and in the copies of the sources that
 * tests/faults/plant makes, of which the suite's own library is compiled.
 */
#ifndef GEMEL_TESTS_FAULT_H
#define GEMEL_TESTS_FAULT_H

enum gemel__fault_id {
  GEMEL__FAULT_NONE,
#define FAULT(name, what, where) GEMEL__FAULT_##name,
#include "support/fault.def"
#undef FAULT
  GEMEL__FAULT_COUNT
};

/* The fault that is switched on; GEMEL__FAULT_NONE: none. Set it while nothing runs. */
extern int gemel__fault_active;
#define GEMEL__FAULT(name) (gemel__fault_active == GEMEL__FAULT_##name)

/* Name and description of fault ID (1 ... GEMEL__FAULT_COUNT - 1), and where it shows (fault.def).
 */
const char *gemel__fault_name(int id);
const char *gemel__fault_what(int id);
const char *gemel__fault_where(int id);

#endif
