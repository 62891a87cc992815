/*
 * What gemel_verify_kernel says of a kernel, for the tests of wrong and right ones. Included by the
 * test programs after ct.h.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef GEMEL_TESTS_JUDGED_H
#define GEMEL_TESTS_JUDGED_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "support/heard.h"

enum { SEEDS = 1 /* GEMEL_CORPUS_SEEDS asks for others */ };

enum { I = 1 << GEMEL_TIER_INTEGER, F = 1 << GEMEL_TIER_FLOAT, S = 1 << GEMEL_TIER_SPECIAL };

static int64_t count(const gemel_view *v) {
  int64_t n = 1;
  for (int k = 0; k < v->rank; k++) {
    n *= v->shape[k];
  }
  return n;
}

/* What is said of KERNEL, for OPERATION; NAME is for messages. */
static inline heard judge_kernel(const char *name, const char *operation,
                                 const gemel_kernel *kernel, gemel_verify_options options) {
  gemel_context *context = gemel_context_new(NULL);
  heard h = hear_kernel(context, name, operation, kernel, options);
  ct_context("%s, seed %llu: %s%s", name, (unsigned long long)options.seed, h.all,
             h.counterexample);
  gemel_context_unref(context);
  return h;
}

#endif
