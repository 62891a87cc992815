/* SPDX-License-Identifier: MIT
 *
 * The switch of the planted faults; empty in an ordinary build.
 */
#include "core/fault.h"

#ifdef GEMEL_FAULTS
int gemel__fault_active;

static const struct {
  const char *name, *what;
} faults[] = {
    {"none", ""},
#define FAULT(name, what) {#name, what},
#include "core/fault.def"
#undef FAULT
};

const char *gemel__fault_name(int id) {
  return faults[id].name;
}

const char *gemel__fault_what(int id) {
  return faults[id].what;
}
#else
/* ISO C wants a translation unit not to be empty. */
typedef int gemel__no_faults;
#endif
