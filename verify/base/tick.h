/* SPDX-License-Identifier: MIT
 *
 * Progress of a run, and the caller's wish to stop it. Long computations call gemel__tick
 * regularly. Once the caller has said stop, the answer stays that.
 */
#ifndef GEMEL__BASE_TICK_H
#define GEMEL__BASE_TICK_H

#include <gemel/status.h>
#include <stdatomic.h>
#include <stddef.h>

typedef struct gemel__ticker {
  int (*tick)(void *user, const char *doing); /* the caller's callback; it returns nonzero to stop;
                                               * NULL: never */
  void *user;
  struct gemel__ticker *first; /* in a worker thread: the calling thread's ticker, which
                                * decides; else NULL */
  double started, stopped_at;  /* times by gemel__clock */
  atomic_int stopped;
  atomic_int unfollowed; /* 1: a loop took more steps than are followed */
  size_t part;           /* part of a divided pair, from 1; 0: the whole graphs */
  const char *stage;     /* static: "tier real" */
  size_t done, all;      /* progress of the stage; ALL 0: unknown */
} gemel__ticker;

void gemel__ticker_init(gemel__ticker *ticker, int (*tick)(void *user, const char *doing),
                        void *user);

/* Makes the ticker of a worker thread: it never calls back, and stops when FIRST has been told to.
 * FIRST may be NULL. */
void gemel__ticker_follow(gemel__ticker *ticker, gemel__ticker *first);

/* Say what is being done, and how far it is. TICKER may be NULL, here and below. */
void gemel__ticker_part(gemel__ticker *ticker, size_t part);
void gemel__ticker_stage(gemel__ticker *ticker, const char *stage);
void gemel__ticker_at(gemel__ticker *ticker, size_t done, size_t all);

/* Asks the caller. GEMEL_OK: go on. GEMEL_DECLINED: stop; what was begun is no evidence. */
gemel_status gemel__tick(gemel__ticker *ticker);

/* 1 once a tick was answered by stop. */
int gemel__stopped(const gemel__ticker *ticker);

/* Writes "stopped after 10.0 s". */
void gemel__stopped_text(const gemel__ticker *ticker, char *text, size_t bytes);

#endif
