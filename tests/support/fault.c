/* SPDX-License-Identifier: MIT
 *
 * The switch of the planted faults.
 */
#include "support/fault.h"

int gemel__fault_active;

static const struct {
  const char *name, *what;
} faults[] = {
    {"none", ""},
#define FAULT(name, what) {#name, what},
#include "support/fault.def"
#undef FAULT
};

const char *gemel__fault_name(int id) {
  return faults[id].name;
}

const char *gemel__fault_what(int id) {
  return faults[id].what;
}
