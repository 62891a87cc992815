/* SPDX-License-Identifier: MIT
 *
 * Profiles: what a recorder holds, copied under its lock, with the lines of the user's program and
 * the shares of the machine's ceilings.
 */
#include "run/profile.h"

#include <stdlib.h>
#include <string.h>
#include "core/alloc.h"
#include "core/error.h"

/* ---- Rows ---- */

/* The time that the row's work takes at the machine's best ÷ the time that it took. */
static double share_of_ceiling(const gemel__record_row *row, const gemel__ceiling *c) {
  double peak = row->dtype == GEMEL_F64 ? c->f64 : c->f32;
  double move = c->copy > 0 ? row->bytes / c->copy : 0;
  double compute = peak > 0 ? row->flops / peak : 0;
  double least = move > compute ? move : compute;
  return row->seconds > 0 ? least * (double)row->calls / row->seconds : 0;
}

static int copy_row(gemel_call_profile *profile, const gemel__recorder *r,
                    const gemel__ceiling *ceiling, const gemel__record_row *from,
                    gemel_call_row *to) {
  gemel__arena *arena = &profile->arena;
  to->kind = gemel__instr_kind_name(from->kind);
  to->family = from->family;
  to->operation = gemel__arena_string(arena, from->operation);
  to->kernel = gemel__arena_string(arena, from->kernel);
  to->within = gemel__arena_string(arena, gemel__record_within(r, from->scope));
  to->places = gemel__arena_copy(arena, from->places, from->n_places * sizeof *from->places);
  to->n_places = from->n_places;
  to->value = from->value;
  to->calls = from->calls;
  to->seconds = from->seconds;
  to->inside = from->inside;
  to->flops = from->flops * (double)from->calls;
  to->bytes = from->bytes * (double)from->calls;
  to->ceiling = share_of_ceiling(from, ceiling);
  profile->summary.in_instructions += from->seconds;
  return to->operation == NULL || to->kernel == NULL || to->within == NULL || to->places == NULL
             ? -1
             : 0;
}

/* ---- Profiles ---- */

static int by_time(const void *a, const void *b) {
  const gemel_call_row *x = *(const gemel_call_row *const *)a,
                       *y = *(const gemel_call_row *const *)b;
  if (x->seconds != y->seconds) {
    return x->seconds > y->seconds ? -1 : 1;
  }
  return (x > y) - (x < y);
}

static int copy_recorder(gemel_call_profile *profile, const gemel__recorder *r,
                         const gemel__ceiling *ceiling) {
  profile->summary = r->summary;
  profile->capacity = r->n_rows;
  profile->rows = gemel__alloc_array(r->n_rows, sizeof *profile->rows);
  profile->order = gemel__alloc_array(r->n_rows, sizeof *profile->order);
  profile->n_events = r->n_events;
  profile->events = gemel__alloc_array(r->n_events, sizeof *profile->events);
  if (profile->rows == NULL || profile->order == NULL || profile->events == NULL) {
    return -1;
  }
  for (size_t k = 0; k < r->n_rows; k++) {
    if (copy_row(profile, r, ceiling, &r->rows[k], &profile->rows[k]) != 0) {
      return -1;
    }
    if (r->rows[k].calls > 0) { /* since a reset */
      profile->order[profile->count++] = &profile->rows[k];
    }
  }
  if (r->n_events > 0) {
    memcpy(profile->events, r->events, r->n_events * sizeof *r->events);
  }
  if (profile->count > 1) {
    qsort(profile->order, profile->count, sizeof *profile->order, by_time);
  }
  return 0;
}

/* What is not recorded. */
static void complete(gemel_call_summary *s, const gemel_function *f, const gemel__ceiling *c,
                     size_t n_events) {
  s->threads = f->threads;
  s->copy_speed = c->copy;
  s->f32_speed = c->f32;
  s->f64_speed = c->f64;
  s->events = n_events;
}

static gemel_status check(const gemel_function *f, gemel_error *error) {
  if (f == NULL) {
    return gemel__null(error, "the function");
  }
  return f->recorder != NULL
             ? GEMEL_OK
             : gemel__fail(error, GEMEL_BAD_ARGUMENT,
                           "the function was compiled without gemel_options.profile");
}

gemel_call_profile *gemel_function_profile(const gemel_function *f, gemel_error *error) {
  if (check(f, error) != GEMEL_OK) {
    return NULL;
  }
  gemel__ceiling ceiling = gemel__ceiling_of(f->program.context, f->threads);
  gemel_call_profile *profile = gemel__alloc_zeroed(sizeof *profile);
  if (profile != NULL) {
    profile->context = gemel_context_ref(f->program.context);
    pthread_mutex_lock(&f->recorder->lock);
    int failed = copy_recorder(profile, f->recorder, &ceiling);
    pthread_mutex_unlock(&f->recorder->lock);
    if (!failed) {
      complete(&profile->summary, f, &ceiling, profile->n_events);
      return profile;
    }
  }
  gemel_call_profile_free(profile);
  gemel__no_memory(error, "a profile");
  return NULL;
}

void gemel_call_profile_free(gemel_call_profile *profile) {
  if (profile == NULL) {
    return;
  }
  gemel__free(profile->rows, profile->capacity * sizeof *profile->rows);
  gemel__free(profile->order, profile->capacity * sizeof *profile->order);
  gemel__free(profile->events, profile->n_events * sizeof *profile->events);
  gemel__arena_clear(&profile->arena);
  gemel_context_unref(profile->context);
  gemel__free(profile, sizeof *profile);
}

gemel_status gemel_function_profile_reset(gemel_function *f, gemel_error *error) {
  GEMEL__TRY(check(f, error));
  gemel__recorder *r = f->recorder;
  pthread_mutex_lock(&r->lock);
  gemel_call_summary kept = {.rewriting = r->summary.rewriting,
                             .lifting = r->summary.lifting,
                             .program = r->summary.program};
  memcpy(kept.phases, r->summary.phases, sizeof kept.phases);
  r->summary = kept;
  r->n_events = 0;
  r->start = gemel__seconds();
  for (size_t k = 0; k < r->n_rows; k++) {
    r->rows[k].calls = 0;
    r->rows[k].seconds = r->rows[k].inside = 0;
  }
  pthread_mutex_unlock(&r->lock);
  return GEMEL_OK;
}

const gemel_call_summary *gemel_call_profile_summary(const gemel_call_profile *profile) {
  return profile != NULL ? &profile->summary : NULL;
}

size_t gemel_call_profile_count(const gemel_call_profile *profile) {
  return profile != NULL ? profile->count : 0;
}

const gemel_call_row *gemel_call_profile_at(const gemel_call_profile *profile, size_t k) {
  return profile != NULL && k < profile->count ? profile->order[k] : NULL;
}
