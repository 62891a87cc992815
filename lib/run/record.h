/* SPDX-License-Identifier: MIT
 *
 * What a function that is profiled writes down. The same instruction of several plans or executions
 * is one row. Bodies write to the recorder of the function that calls them.
 */
#ifndef GEMEL__RUN_RECORD_H
#define GEMEL__RUN_RECORD_H

#include <gemel/profile.h>
#include "core/intern.h"
#include "run/instr.h"

typedef struct gemel__record_row {
  gemel__instr_kind kind;
  const char *kernel;
  const char *family;
  const char *operation;
  const gemel_location *places; /* different ones */
  uint32_t scope;
  uint32_t n_places;
  uint32_t value;
  gemel_dtype dtype; /* of the value */
  uint64_t calls;
  double seconds, inside;
  double flops, bytes; /* of one run */
} gemel__record_row;

/* Where rows belong: the first is the function, others are bodies of one node, whichever plan has
 * compiled them. */
typedef struct gemel__record_scope {
  uint32_t outer, value; /* the scope of the node, and its value there */
  const char *path;      /* "scan/" */
  const char *within;    /* "%7/" */
} gemel__record_scope;

#define GEMEL__WHOLE_CALL UINT32_MAX

typedef struct gemel__record_event {
  double start, seconds;
  uint32_t row;       /* or GEMEL__WHOLE_CALL */
  uint32_t execution; /* from 1 */
} gemel__record_event;

struct gemel__recorder {
  pthread_mutex_t lock; /* of all below but TRACE and START */
  int trace;
  double start; /* of time on the trace */
  gemel__arena arena;
  gemel__map found; /* hash of an instruction -> row + 1 */
  gemel__record_row *rows;
  size_t n_rows, row_capacity;
  gemel__record_scope *scopes; /* of bodies: the one numbered 1 first */
  size_t n_scopes, scope_capacity;
  gemel__record_event *events;
  size_t n_events, event_capacity;
  uint32_t n_executions;
  gemel_call_summary summary; /* without what is measured or added up at the end */
};

/* What a segment needs to be recorded: the row of each instruction, and when each ran. */
typedef struct gemel__segment_record {
  uint32_t *rows; /* 0: not found yet; else row + 1 */
  double *times;  /* start and end of each instruction, and the seconds inside of it */
} gemel__segment_record;

enum { GEMEL__EVENTS = 1 << 20 };

/* ---- The machine's best (ceiling.c) ---- */

/* Bytes a second, read and written, and flops a second, with THREADS threads; 0: there was no
 * memory to measure it. */
typedef struct gemel__ceiling {
  int threads;
  double copy, f32, f64;
} gemel__ceiling;

/* CONTEXT is for the graphs that it takes. Thread-safe. */
gemel__ceiling gemel__ceiling_of(gemel_context *context, int threads);

/* ---- Recording ---- */

/* Seconds of a clock that only goes forward. */
double gemel__seconds(void);

/* An empty recorder; TRACE: events too. NULL when memory is out. */
gemel__recorder *gemel__recorder_new(int trace);
void gemel__recorder_free(gemel__recorder *recorder);

/* Finds the scope of BODY, which NODE of its caller calls. -1 when memory is out. */
int gemel__record_scope_of(gemel_function *body, uint32_t node);

/* "" for the function that was compiled; else, of the rows of a body, "scan/" and "%7/". */
const char *gemel__record_path(const gemel__recorder *recorder, uint32_t scope);
const char *gemel__record_within(const gemel__recorder *recorder, uint32_t scope);

/* Room for S's times. GEMEL_NO_MEMORY, in E->error. */
gemel_status gemel__record_prepare(gemel__execution *e, gemel__segment *s);
void gemel__record_release(gemel__segment *s);

/* S ran, and its times are there. GEMEL_NO_MEMORY, in E->error. */
gemel_status gemel__record_segment(gemel__execution *e, gemel__segment *s);

/* A call that began at START is done. Where memory is out an event is lost. */
void gemel__record_call(gemel__execution *e, double start);

#endif
