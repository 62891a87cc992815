/* SPDX-License-Identifier: MIT
 *
 * Inside a profile of calls.
 */
#ifndef GEMEL__RUN_PROFILE_H
#define GEMEL__RUN_PROFILE_H

#include "run/record.h"

struct gemel_call_profile {
  gemel_context *context; /* strings belong to it */
  gemel_call_summary summary;
  gemel_call_row *rows;   /* as they were recorded: events name them by number */
  gemel_call_row **order; /* COUNT of them that count, the slowest first */
  size_t count, capacity;
  gemel__record_event *events;
  size_t n_events;
  gemel__arena arena;
};

#endif
