/*
 * What an operation's record says of its attributes.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef GEMEL_TESTS_ATTRIBUTES_H
#define GEMEL_TESTS_ATTRIBUTES_H

#include <gemel/operation.h>
#include <string.h>

static inline int has_attribute(const gemel_operation *op, const char *name) {
  for (size_t k = 0; op->attrs != NULL && op->attrs[k].name != NULL; k++) {
    if (strcmp(op->attrs[k].name, name) == 0) {
      return 1;
    }
  }
  return 0;
}

#endif
