/*
 * A context that the tests of one program share: tests "begin" and "end" make and release it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef GEMEL_TESTS_SHARED_H
#define GEMEL_TESTS_SHARED_H

#include "ct.h"

#include <gemel/graph.h>

static gemel_context *c;

static inline void begin(const void *data) {
  (void)data;
  c = gemel_context_new(NULL);
  CT_REQUIRE(c != NULL);
}

static inline void end(const void *data) {
  (void)data;
  gemel_context_unref(c);
  c = NULL;
}

#endif
