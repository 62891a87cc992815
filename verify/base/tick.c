/* SPDX-License-Identifier: MIT
 *
 * Progress and stopping, see tick.h. Only the calling thread calls back; workers read the flag, so
 * it is atomic.
 */
#include "base/tick.h"

#include <stdio.h>
#include <string.h>
#include "base/clock.h"

void gemel__ticker_init(gemel__ticker *ticker, int (*tick)(void *user, const char *doing),
                        void *user) {
  memset(ticker, 0, sizeof *ticker);
  ticker->tick = tick;
  ticker->user = user;
  ticker->started = gemel__clock();
  ticker->stage = "";
}

void gemel__ticker_follow(gemel__ticker *ticker, gemel__ticker *first) {
  gemel__ticker_init(ticker, NULL, NULL);
  ticker->first = first;
}

void gemel__ticker_part(gemel__ticker *ticker, size_t part) {
  if (ticker != NULL) {
    ticker->part = part;
  }
}

void gemel__ticker_stage(gemel__ticker *ticker, const char *stage) {
  if (ticker != NULL) {
    ticker->stage = stage;
    ticker->done = ticker->all = 0;
  }
}

void gemel__ticker_at(gemel__ticker *ticker, size_t done, size_t all) {
  if (ticker != NULL) {
    ticker->done = done;
    ticker->all = all;
  }
}

static void say(const gemel__ticker *t, char *text, size_t bytes) {
  size_t used = 0;
  text[0] = '\0';
  if (t->part > 0) {
    used = (size_t)snprintf(text, bytes, "part %zu, ", t->part);
  }
  if (t->all > 0) {
    snprintf(text + used, bytes - used, "%s, %zu of %zu", t->stage, t->done, t->all);
  } else {
    snprintf(text + used, bytes - used, "%s", t->stage);
  }
}

int gemel__stopped(const gemel__ticker *ticker) {
  const gemel__ticker *first = ticker != NULL && ticker->first != NULL ? ticker->first : ticker;
  return first != NULL && atomic_load(&first->stopped);
}

gemel_status gemel__tick(gemel__ticker *ticker) {
  char text[160];
  if (ticker == NULL) {
    return GEMEL_OK;
  }
  if (ticker->tick != NULL && !gemel__stopped(ticker)) {
    say(ticker, text, sizeof text);
    if (ticker->tick(ticker->user, text) != 0) {
      ticker->stopped_at = gemel__clock();
      atomic_store(&ticker->stopped, 1);
    }
  }
  return gemel__stopped(ticker) ? GEMEL_DECLINED : GEMEL_OK;
}

void gemel__stopped_text(const gemel__ticker *ticker, char *text, size_t bytes) {
  const gemel__ticker *first = ticker->first != NULL ? ticker->first : ticker;
  snprintf(text, bytes, "stopped after %.1f s", first->stopped_at - first->started);
}
