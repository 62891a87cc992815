/* SPDX-License-Identifier: MIT
 *
 * The switch of the planted faults. The environment variable GEMEL_FAULT, a name, switches one on
 * from the start.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

__attribute__((constructor)) static void switch_on(void) {
  const char *name = getenv("GEMEL_FAULT");
  int id = 0;
  while (name != NULL && strcmp(faults[id].name, name) != 0) {
    if (++id == GEMEL__FAULT_COUNT) {
      fprintf(stderr, "there is no fault %s\n", name);
      exit(2);
    }
  }
  gemel__fault_active = id;
}
