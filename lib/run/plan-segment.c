/* SPDX-License-Identifier: MIT
 *
 * A segment from its beginning to its end: the tables that planning its nodes needs, and what is
 * kept of them. Where a plan is a tree of segments, the places of the values of those before it
 * stand in one table, which is loaded anew when another path is taken.
 */
#include <string.h>
#include "core/alloc.h"
#include "core/error.h"
#include "run/planner.h"
#include "run/record.h"

/* Copies places of earlier segments of this path that another path has overwritten. */
static void load_places(gemel__execution *e, gemel__segment *parent) {
  const gemel__run_program *p = &e->f->program;
  uint32_t d, k;
  for (d = 0; parent != NULL && d <= parent->depth; d++) {
    gemel__segment *s = e->seen[d].segment;
    uint32_t first = p->nodes[s->begin].value;
    if (e->loaded[d] != s) {
      memcpy(e->places + first, s->places, (p->nodes[s->end].value - first) * sizeof *e->places);
      for (k = d + 1; k < e->loaded_capacity; k++) {
        e->loaded[k] = NULL;
      }
      e->loaded[d] = s;
    }
  }
}

/* Keeps the places of this segment's values for when a child of it is planned later. */
static gemel_status save_places(gemel__planner *planner) {
  gemel__segment *s = planner->segment;
  const gemel__run_program *p = &planner->f->program;
  uint32_t first = p->nodes[s->begin].value;
  size_t count = p->nodes[s->end].value - first;
  if (s->wanted == GEMEL__NO_VALUE) {
    return GEMEL_OK;
  }
  s->places = gemel__arena_copy(&s->meta, planner->places + first, count * sizeof *s->places);
  return s->places != NULL ? GEMEL_OK : gemel__no_memory(planner->error, "a plan");
}

/* Room for the tile buffers of the segment's loops. */
static gemel_status reserve_scratch(gemel__planner *planner) {
  gemel__execution *e = planner->execution;
  size_t bytes = planner->scratch;
  char *block;
  if (bytes <= e->scratch_bytes) {
    return GEMEL_OK;
  }
  block = gemel__alloc(bytes + GEMEL__DATA_ALIGNMENT);
  if (block == NULL) {
    return gemel__no_memory(planner->error, "a plan");
  }
  if (e->scratch_block != NULL) {
    gemel__free(e->scratch_block, e->scratch_bytes + GEMEL__DATA_ALIGNMENT);
  }
  e->scratch_block = block;
  e->scratch_bytes = bytes;
  e->scratch = block + (-(uintptr_t)block & (GEMEL__DATA_ALIGNMENT - 1));
  return GEMEL_OK;
}

/* Marks whose places stand in the function's table now. */
static void set_loaded(gemel__execution *e, uint32_t depth, gemel__segment *segment) {
  size_t k;
  for (k = depth; k < e->loaded_capacity; k++) {
    e->loaded[k] = NULL;
  }
  if (depth < e->loaded_capacity) {
    e->loaded[depth] = segment;
  }
}

/* The table of all values' places, and room for the path to the new segment. */
static gemel_status prepare_tables(gemel__execution *e, uint32_t depth) {
  size_t old = e->loaded_capacity;
  int failed = gemel__grow(&e->loaded, &e->loaded_capacity, depth + 1u, sizeof *e->loaded);
  if (e->loaded_capacity > old) {
    memset(e->loaded + old, 0, (e->loaded_capacity - old) * sizeof *e->loaded);
  }
  if (failed || gemel__grow(&e->seen, &e->seen_capacity, depth + 1u, sizeof *e->seen) != 0) {
    return gemel__no_memory(&e->error, "a plan");
  }
  if (e->places == NULL) {
    e->places = gemel__alloc_array(e->f->program.n_values, sizeof *e->places);
  }
  return e->places != NULL ? GEMEL_OK : gemel__no_memory(&e->error, "a plan");
}

static gemel__segment *new_segment(gemel__segment *parent, uint32_t begin) {
  gemel__segment *s = gemel__alloc_zeroed(sizeof *s);
  if (s != NULL) {
    s->parent = parent;
    s->depth = parent != NULL ? parent->depth + 1 : 0;
    s->begin = begin;
    s->wanted = GEMEL__NO_VALUE;
  }
  return s;
}

/* A function without run-time sizes needs the table of places only while it plans. */
static void drop_places(gemel__execution *e, const gemel__segment *segment) {
  if (segment == NULL || (segment->depth == 0 && segment->wanted == GEMEL__NO_VALUE)) {
    gemel__free(e->places, e->f->program.n_values * sizeof *e->places);
    e->places = NULL;
    set_loaded(e, 0, NULL);
  }
}

/* Sizes that are known at a call only split the plan, and values may live on in the next part; in
 * plain functions none ends. */
static int tells_devices(const gemel_function *f) {
  int tells = !f->plain;
  for (uint32_t k = 0; k < f->program.n_types; k++) {
    tells &= !f->program.types[k].has_runtime;
  }
  return tells;
}

static void free_planner(gemel__planner *planner) {
  const gemel__run_program *p = &planner->f->program;
  gemel__memory_clear(planner);
  gemel__reads_clear(planner);
  gemel__free(planner->layouts, p->n_types * sizeof *planner->layouts);
  gemel__free(planner->inputs, p->n_inputs * sizeof *planner->inputs);
  gemel__free(planner->updates, p->n_outputs * sizeof *planner->updates);
  gemel__free(planner, sizeof *planner);
}

/* NULL when memory is out. */
static gemel__planner *new_planner(gemel__execution *e, gemel__plan *plan, gemel__segment *s) {
  const gemel__run_program *p = &e->f->program;
  gemel__planner *planner = gemel__alloc_zeroed(sizeof *planner);
  if (planner == NULL) {
    return NULL;
  }
  planner->execution = e;
  planner->f = e->f;
  planner->plan = plan;
  planner->segment = s;
  planner->places = e->places;
  planner->notes = tells_devices(e->f);
  planner->error = &e->error;
  planner->layouts = gemel__alloc_array(p->n_types, sizeof *planner->layouts);
  planner->memories = gemel__alloc_array(p->n_devices, sizeof *planner->memories);
  planner->inputs = gemel__alloc_array(p->n_inputs, sizeof *planner->inputs);
  planner->updates = gemel__alloc_array(p->n_outputs, sizeof *planner->updates);
  if (planner->layouts == NULL || planner->memories == NULL || planner->inputs == NULL ||
      planner->updates == NULL) {
    free_planner(planner);
    return NULL;
  }
  return planner;
}

static gemel_status plan_all(gemel__planner *planner) {
  load_places(planner->execution, planner->segment->parent);
  set_loaded(planner->execution, planner->segment->depth, NULL);
  GEMEL__TRY(gemel__reads_find(planner));
  GEMEL__TRY(gemel__plan_nodes(planner));
  GEMEL__TRY(save_places(planner));
  return reserve_scratch(planner);
}

gemel_status gemel__plan_segment(gemel__execution *e, gemel__plan *plan, gemel__segment *parent,
                                 uint32_t begin, gemel__segment **made) {
  double start = gemel__seconds();
  gemel_status status = prepare_tables(e, parent != NULL ? parent->depth + 1 : 0);
  gemel__segment *s = status == GEMEL_OK ? new_segment(parent, begin) : NULL;
  gemel__planner *planner = s != NULL ? new_planner(e, plan, s) : NULL;
  status = planner != NULL ? plan_all(planner) : gemel__no_memory(&e->error, "a plan");
  if (planner != NULL) {
    free_planner(planner);
  }
  if (status == GEMEL_OK) {
    set_loaded(e, s->depth, s);
  } else if (s != NULL) {
    gemel__segment_free(e, s);
    s = NULL;
  }
  drop_places(e, s);
  e->plan_seconds += gemel__seconds() - start;
  e->plans_made++;
  *made = s;
  return status;
}
