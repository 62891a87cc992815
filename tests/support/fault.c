/* SPDX-License-Identifier: MIT
 *
 * The switch of the planted faults.
 */
#include <stddef.h>
#include "support/fault.h"

int gemel__fault_active;

static const struct {
  const char *name, *what, *where;
} faults[] = {
    {"none", "", NULL},
#define FAULT(name, what, where) {#name, what, where},
#include "support/fault.def"
#undef FAULT
};

const char *gemel__fault_name(int id) {
  return faults[id].name;
}

const char *gemel__fault_what(int id) {
  return faults[id].what;
}

const char *gemel__fault_where(int id) {
  return faults[id].where;
}
