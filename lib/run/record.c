/* SPDX-License-Identifier: MIT
 *
 * Recording calls. A segment's instructions find their rows when it has run for the first time:
 * only then are attributes known that are read at run time. Rows are told apart by a hash of 64
 * bits of what the instruction is; times are kept with the segment while it runs, which no other
 * call does, and added under the recorder's lock when it has run.
 */
#include "run/record.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include "core/alloc.h"
#include "core/error.h"

enum { TEXT = 600 };

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
  gemel__free(r->scopes, r->scope_capacity * sizeof *r->scopes);
  gemel__free(r->events, r->event_capacity * sizeof *r->events);
  pthread_mutex_destroy(&r->lock);
  gemel__free(r, sizeof *r);
}

/* ---- Bodies ---- */

const char *gemel__record_path(const gemel__recorder *r, uint32_t scope) {
  return scope == 0 ? "" : r->scopes[scope - 1].path;
}

const char *gemel__record_within(const gemel__recorder *r, uint32_t scope) {
  return scope == 0 ? "" : r->scopes[scope - 1].within;
}

/* The number of the scope of VALUE in OUTER, a result of OPERATION; 0 when memory is out. */
static uint32_t find_scope(gemel__recorder *r, uint32_t outer, uint32_t value,
                           const char *operation) {
  char path[TEXT], within[TEXT];
  for (size_t k = 0; k < r->n_scopes; k++) {
    if (r->scopes[k].outer == outer && r->scopes[k].value == value) {
      return (uint32_t)k + 1;
    }
  }
  snprintf(path, sizeof path, "%s%s/", gemel__record_path(r, outer), operation);
  snprintf(within, sizeof within, "%s%%%u/", gemel__record_within(r, outer), value);
  gemel__record_scope scope = {outer, value, gemel__arena_string(&r->arena, path),
                               gemel__arena_string(&r->arena, within)};
  if (scope.path == NULL || scope.within == NULL ||
      gemel__grow(&r->scopes, &r->scope_capacity, r->n_scopes + 1, sizeof *r->scopes) != 0) {
    return 0;
  }
  r->scopes[r->n_scopes] = scope;
  return (uint32_t)++r->n_scopes;
}

int gemel__record_scope_of(gemel_function *body, uint32_t node) {
  const gemel_function *f = body->caller->f;
  const gemel__pnode *n = &f->program.nodes[node];
  pthread_mutex_lock(&f->recorder->lock);
  body->scope = find_scope(f->recorder, f->scope, n->value, f->program.ops[n->op].op->record.name);
  pthread_mutex_unlock(&f->recorder->lock);
  return body->scope > 0 ? 0 : -1;
}

/* ---- Segments ---- */

/* Executions are told apart on the trace; one of a body stands with its caller's. */
static void number_execution(gemel__execution *e) {
  gemel__recorder *r = e->f->recorder;
  pthread_mutex_lock(&r->lock);
  e->number = e->f->caller != NULL ? e->f->caller->number : ++r->n_executions;
  pthread_mutex_unlock(&r->lock);
}

gemel_status gemel__record_prepare(gemel__execution *e, gemel__segment *s) {
  if (e->number == 0) {
    number_execution(e);
  }
  if (s->record != NULL) {
    return GEMEL_OK;
  }
  gemel__segment_record *record = gemel__alloc_zeroed(sizeof *record);
  if (record != NULL) {
    record->rows = gemel__alloc_array(s->n_instrs, sizeof *record->rows);
    record->times = gemel__alloc_array(s->n_instrs, 3 * sizeof *record->times);
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
    gemel__free(s->record->times, s->n_instrs * 3 * sizeof *s->record->times);
    gemel__free(s->record, sizeof *s->record);
    s->record = NULL;
  }
}

/* ---- Rows ---- */

static uint64_t hash_of(const gemel__record_row *row, const uint32_t *nodes, uint32_t n) {
  const struct {
    const char *kernel;
    double flops, bytes;
    uint32_t scope, value, kind, none;
  } key = {row->kernel, row->flops, row->bytes, row->scope, row->value, row->kind, 0};
  return gemel__hash_bytes(gemel__hash_bytes(0, &key, sizeof key), nodes, n * sizeof *nodes);
}

static int same_place(gemel_location a, gemel_location b) {
  return a.line == b.line && strcmp(a.file, b.file) == 0;
}

static void add_place(gemel__record_row *row, gemel_location *places, gemel_location where) {
  for (size_t k = 0; k < row->n_places; k++) {
    if (same_place(places[k], where)) {
      return;
    }
  }
  if (where.file[0] != '\0') {
    places[row->n_places++] = where;
  }
}

/* The different places of N nodes. -1 when memory is out. */
static int add_places(gemel__recorder *r, const gemel__run_program *p, const uint32_t *nodes,
                      uint32_t n, gemel__record_row *row) {
  gemel_location *places = gemel__arena_alloc(&r->arena, n * sizeof *places);
  for (uint32_t k = 0; k < n && places != NULL; k++) {
    add_place(row, places, gemel__pnode_where(p, nodes[k]));
  }
  row->places = places;
  return places != NULL ? 0 : -1;
}

/* Adds ROW with what belongs to it; its number + 1, 0 when memory is out. */
static uint32_t add_row(gemel__recorder *r, const gemel__run_program *p, const gemel__instr *instr,
                        gemel__record_row *row, uint64_t hash) {
  char operation[TEXT];
  size_t used = (size_t)snprintf(operation, 2 * TEXT / 3, "%s", gemel__record_path(r, row->scope));
  used = used < 2 * TEXT / 3 ? used : 2 * TEXT / 3 - 1;
  gemel__instr_operation(p, instr, operation + used, sizeof operation - used);
  row->operation = gemel__arena_string(&r->arena, operation);
  row->family = gemel__instr_class(p, instr);
  if (row->operation == NULL ||
      gemel__grow(&r->rows, &r->row_capacity, r->n_rows + 1, sizeof *r->rows) != 0 ||
      gemel__map_put(&r->found, hash, (uint32_t)r->n_rows + 1) != 0) {
    return 0;
  }
  r->rows[r->n_rows] = *row;
  return (uint32_t)++r->n_rows;
}

/* The node that computes VALUE. */
static uint32_t node_of_value(const gemel__run_program *p, uint32_t value) {
  uint32_t low = 0, high = p->n_nodes;
  while (high - low > 1) {
    uint32_t middle = low + (high - low) / 2;
    if (p->nodes[middle].value <= value) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

/* The row of INSTR, of the function F; its number + 1, 0 when memory is out. */
static uint32_t find_row(gemel__recorder *r, const gemel_function *f, const gemel__instr *instr) {
  const gemel__run_program *p = &f->program;
  gemel__record_row row = {
      .kind = instr->kind, .kernel = gemel__instr_kernel_name(instr), .scope = f->scope};
  uint32_t n, maker;
  const uint32_t *nodes = gemel__instr_nodes(p, instr, &n);
  row.value = n > 0 ? p->nodes[nodes[n - 1]].value : p->outputs[instr->move->output].value;
  row.dtype = gemel_type_dtype(p->context, gemel__value_type(p, row.value));
  gemel__instr_cost(instr, &row.flops, &row.bytes);
  uint64_t hash = hash_of(&row, nodes, n);
  uint32_t found = gemel__map_find(&r->found, hash);
  if (found == 0 && n == 0) { /* what only moves bytes: the node of the value */
    maker = node_of_value(p, row.value);
    nodes = &maker;
    n = 1;
  }
  return found > 0                               ? found
         : add_places(r, p, nodes, n, &row) != 0 ? 0
                                                 : add_row(r, p, instr, &row, hash);
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
  for (size_t k = 0; k < s->n_instrs; k++) {
    double start = record->times[3 * k], end = record->times[3 * k + 1];
    double inside = record->times[3 * k + 2];
    if (!gemel__instr_computes(s->instrs[k].kind)) {
      continue;
    }
    if (record->rows[k] == 0) {
      record->rows[k] = find_row(r, e->f, &s->instrs[k]);
    }
    if (record->rows[k] == 0) {
      return -1;
    }
    gemel__record_row *row = &r->rows[record->rows[k] - 1];
    row->calls++;
    row->seconds += end - start - inside;
    row->inside += inside;
    if (e->f->caller != NULL) {
      e->f->caller->inside += end - start;
    }
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
