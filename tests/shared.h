/*
 * A context that the tests of one program share: "shared" or a test "begin" makes it, a test "end"
 * releases it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef GEMEL_TESTS_SHARED_H
#define GEMEL_TESTS_SHARED_H

#include "ct.h"

#include <gemel/graph.h>

static gemel_context *c;

/* Made when it is first asked for, so that a test can also be run alone. */
static inline gemel_context *shared(void) {
  if (c == NULL) {
    c = gemel_context_new(NULL);
  }
  return c;
}

static inline void begin(const void *data) {
  (void)data;
  CT_REQUIRE(shared() != NULL);
}

static inline void end(const void *data) {
  (void)data;
  gemel_context_unref(c);
  c = NULL;
}

#endif
