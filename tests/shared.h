/*
 * A context that the tests of one program share. Who uses C itself asks for it in ct_register. It
 * is released when the program ends, so that tests may run in any order, and each alone.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef GEMEL_TESTS_SHARED_H
#define GEMEL_TESTS_SHARED_H

#include <stdlib.h>
#include "ct.h"

#include <gemel/graph.h>

static gemel_context *c;

static inline void release_shared(void) {
  gemel_context_unref(c);
  c = NULL;
}

static inline gemel_context *shared(void) {
  if (c == NULL && (c = gemel_context_new(NULL)) != NULL) {
    atexit(release_shared);
    ct_shares();
  }
  return c;
}

#endif
