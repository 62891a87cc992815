/* SPDX-License-Identifier: MIT
 *
 * How far a run is, and the caller's wish that it ends. What takes long asks now and then whether
 * to go on; once the answer was no, it is no from there on.
 */
#ifndef GEMEL__BASE_TICK_H
#define GEMEL__BASE_TICK_H

#include <gemel/status.h>
#include <stdatomic.h>
#include <stddef.h>

typedef struct gemel__ticker {
  int (*tick)(void *user, const char *doing); /* the caller's; NULL: nobody is asked */
  void *user;
  const struct gemel__ticker *first; /* of a worker's: the calling thread's, which decides; else
                                        NULL */
  double started, stopped_at;        /* of gemel__clock */
  atomic_int stopped;
  size_t part;       /* from 1; 0: the graphs as a whole */
  const char *stage; /* static: "tier real" */
  size_t done, all;  /* of the stage; ALL 0: nothing is known */
} gemel__ticker;

void gemel__ticker_init(gemel__ticker *ticker, int (*tick)(void *user, const char *doing),
                        void *user);

/* Another thread's: it asks nobody, and stops when FIRST has been told to. FIRST may be NULL. */
void gemel__ticker_follow(gemel__ticker *ticker, const gemel__ticker *first);

/* What comes next, and how far it is. TICKER may be NULL, here and below. */
void gemel__ticker_part(gemel__ticker *ticker, size_t part);
void gemel__ticker_stage(gemel__ticker *ticker, const char *stage);
void gemel__ticker_at(gemel__ticker *ticker, size_t done, size_t all);

/* Asks. GEMEL_OK: go on. GEMEL_DECLINED: stop; what was begun is no evidence. */
gemel_status gemel__tick(gemel__ticker *ticker);

/* 1 once that was the answer. */
int gemel__stopped(const gemel__ticker *ticker);

/* "stopped after 10.0 s". */
void gemel__stopped_text(const gemel__ticker *ticker, char *text, size_t bytes);

#endif
