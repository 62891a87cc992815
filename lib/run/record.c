/* SPDX-License-Identifier: MIT
 *
 * Recording calls. A segment's instructions find their rows when it has run for the first time:
 * only then are attributes known that are read at run time. Rows are told apart by a hash of 64
 * bits of what the instruction is; times are kept with the segment while it runs, which no other
 * call does, and added under the recorder's lock when it has run.
 */
#include "run/record.h"

#include <string.h>
#include <time.h>
#include "core/alloc.h"
#include "core/error.h"

double gemel__seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

gemel__recorder *gemel__recorder_new(int trace) {
  gemel__recorder *r = gemel__alloc_zeroed(sizeof *r);
  if (r != NULL) {
    pthread_mutex_init(&r->lock, NULL);
    r->trace = trace;
    r->start = gemel__seconds();
  }
  return r;
}

void gemel__recorder_free(gemel__recorder *r) {
  if (r == NULL) {
    return;
  }
  gemel__map_clear(&r->found);
  gemel__arena_clear(&r->arena);
  gemel__free(r->rows, r->row_capacity * sizeof *r->rows);
  gemel__free(r->events, r->event_capacity * sizeof *r->events);
  pthread_mutex_destroy(&r->lock);
  gemel__free(r, sizeof *r);
}

/* ---- Segments ---- */

gemel_status gemel__record_prepare(gemel__execution *e, gemel__segment *s) {
  if (s->record != NULL) {
    return GEMEL_OK;
  }
  gemel__segment_record *record = gemel__alloc_zeroed(sizeof *record);
  if (record != NULL) {
    record->rows = gemel__alloc_array(s->n_instrs, sizeof *record->rows);
    record->times = gemel__alloc_array(s->n_instrs, 2 * sizeof *record->times);
    s->record = record;
  }
  if (record == NULL || record->rows == NULL || record->times == NULL) {
    gemel__record_release(s);
    return gemel__no_memory(&e->error, "a profile");
  }
  return GEMEL_OK;
}

void gemel__record_release(gemel__segment *s) {
  if (s->record != NULL) {
    gemel__free(s->record->rows, s->n_instrs * sizeof *s->record->rows);
    gemel__free(s->record->times, s->n_instrs * 2 * sizeof *s->record->times);
    gemel__free(s->record, sizeof *s->record);
    s->record = NULL;
  }
}

/* ---- Rows ---- */

static uint32_t value_of(const gemel__run_program *p, const gemel__instr *instr,
                         const uint32_t *nodes, uint32_t n) {
  const gemel__move *move = instr->body;
  return n > 0 ? p->nodes[nodes[n - 1]].value : p->outputs[move->output].value;
}

static uint64_t hash_of(const gemel__record_row *row) {
  const struct {
    const gemel__instr_kind *kind;
    const char *kernel;
    double flops, bytes;
    uint64_t value;
  } key = {row->kind, row->kernel, row->flops, row->bytes, row->value};
  return gemel__hash_bytes(gemel__hash_bytes(0, &key, sizeof key), row->nodes,
                           row->n_nodes * sizeof *row->nodes);
}

/* Adds ROW, with what it points at copied; its number + 1, 0 when memory is out. */
static uint32_t add_row(gemel__recorder *r, const gemel__run_program *p, const gemel__instr *instr,
                        gemel__record_row *row, uint64_t hash) {
  char operation[200];
  gemel__instr_operation(p, instr, operation, sizeof operation);
  row->operation = gemel__arena_string(&r->arena, operation);
  row->family = gemel__instr_class(p, instr);
  row->nodes = gemel__arena_copy(&r->arena, row->nodes, row->n_nodes * sizeof *row->nodes);
  if (row->operation == NULL || row->nodes == NULL ||
      gemel__grow(&r->rows, &r->row_capacity, r->n_rows + 1, sizeof *r->rows) != 0 ||
      gemel__map_put(&r->found, hash, (uint32_t)r->n_rows + 1) != 0) {
    return 0;
  }
  r->rows[r->n_rows] = *row;
  return (uint32_t)++r->n_rows;
}

static uint32_t find_row(gemel__recorder *r, const gemel__run_program *p,
                         const gemel__instr *instr) {
  gemel__record_row row = {.kind = instr->kind, .kernel = gemel__instr_kernel_name(instr)};
  row.nodes = gemel__instr_nodes(p, instr, &row.n_nodes);
  row.value = value_of(p, instr, row.nodes, row.n_nodes);
  row.dtype = gemel_type_dtype(p->context, gemel__value_type(p, row.value));
  gemel__instr_cost(instr, &row.flops, &row.bytes);
  uint64_t hash = hash_of(&row);
  uint32_t found = gemel__map_find(&r->found, hash);
  return found > 0 ? found : add_row(r, p, instr, &row, hash);
}

static void add_event(gemel__recorder *r, const gemel__execution *e, uint32_t row, double start,
                      double end) {
  if (r->n_events == GEMEL__EVENTS ||
      gemel__grow(&r->events, &r->event_capacity, r->n_events + 1, sizeof *r->events) != 0) {
    r->summary.lost_events++;
    return;
  }
  gemel__record_event *event = &r->events[r->n_events++];
  event->row = row;
  event->execution = e->number;
  event->start = start - r->start;
  event->seconds = end - start;
}

static int add_times(gemel__recorder *r, gemel__execution *e, const gemel__segment *s) {
  gemel__segment_record *record = s->record;
  e->number = e->number != 0 ? e->number : ++r->n_executions;
  for (size_t k = 0; k < s->n_instrs; k++) {
    double start = record->times[2 * k], end = record->times[2 * k + 1];
    if (!s->instrs[k].kind->computes) {
      continue;
    }
    if (record->rows[k] == 0) {
      record->rows[k] = find_row(r, &e->f->program, &s->instrs[k]);
    }
    if (record->rows[k] == 0) {
      return -1;
    }
    r->rows[record->rows[k] - 1].calls++;
    r->rows[record->rows[k] - 1].seconds += end - start;
    if (r->trace) {
      add_event(r, e, record->rows[k] - 1, start, end);
    }
  }
  return 0;
}

gemel_status gemel__record_segment(gemel__execution *e, gemel__segment *s) {
  gemel__recorder *r = e->f->recorder;
  pthread_mutex_lock(&r->lock);
  int failed = add_times(r, e, s);
  pthread_mutex_unlock(&r->lock);
  return failed ? gemel__no_memory(&e->error, "a profile") : GEMEL_OK;
}

/* ---- Calls ---- */

void gemel__record_call(gemel__execution *e, double start) {
  gemel__recorder *r = e->f->recorder;
  gemel_call_summary *s = &r->summary;
  double end = gemel__seconds(), seconds = end - start;
  pthread_mutex_lock(&r->lock);
  s->shortest = s->calls == 0 || seconds < s->shortest ? seconds : s->shortest;
  s->longest = seconds > s->longest ? seconds : s->longest;
  s->seconds += seconds;
  s->calls++;
  s->planning += e->plan_seconds;
  s->plans += e->plans_made;
  s->bytes = e->bytes > s->bytes ? e->bytes : s->bytes;
  s->unshared_bytes = e->unshared_bytes > s->unshared_bytes ? e->unshared_bytes : s->unshared_bytes;
  if (r->trace) {
    add_event(r, e, GEMEL__WHOLE_CALL, start, end);
  }
  pthread_mutex_unlock(&r->lock);
  e->plan_seconds = 0;
  e->plans_made = 0;
}
