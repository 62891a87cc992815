/* SPDX-License-Identifier: MIT
 *
 * Compiled functions: making one and calling it. The program that a function runs doesn't change;
 * what a call needs besides, an *execution*, is taken from those that no other call uses, or made.
 * So there are as many as there were calls at a time, each with plans of its own.
 */
#include "run/record.h"

#include <stddef.h>
#include <string.h>
#include <gemel/train.h>
#ifdef _OPENMP
#include <omp.h>
#endif
#include "core/alloc.h"
#include "core/error.h"
#include "cpu/waits.h"
#include "run/autotune.h"

/* ---- Making and freeing ---- */

int gemel__thread_count(int wanted) {
#ifdef _OPENMP
  return wanted > 0 ? wanted : omp_get_max_threads();
#else
  (void)wanted;
  return 1;
#endif
}

gemel_status gemel__options_read(gemel_options *options, const gemel_options *given,
                                 gemel_error *error) {
  memset(options, 0, sizeof *options);
  if (given == NULL) {
    return GEMEL_OK;
  }
  if (given->size < offsetof(gemel_options, rewrite)) {
    return gemel__fail(error, GEMEL_BAD_ARGUMENT,
                       "the size of gemel_options is %zu: set it to sizeof(gemel_options)",
                       given->size);
  }
  if (given->threads < 0) {
    return gemel__fail(error, GEMEL_BAD_ARGUMENT, "%d threads asked for", given->threads);
  }
  memcpy(options, given, given->size < sizeof *options ? given->size : sizeof *options);
  if ((int)options->matmul_precision < 0 || options->matmul_precision >= GEMEL_PRECISION_COUNT) {
    return gemel__fail(error, GEMEL_BAD_ARGUMENT, "there is no precision %d of products",
                       (int)options->matmul_precision);
  }
  return GEMEL_OK;
}

/* The phases' own rows of PROFILE from the FIRST on, added up. */
static void add_phases(gemel_call_summary *summary, const gemel_rewrite_profile *profile,
                       size_t first) {
  for (size_t k = first; k < gemel_rewrite_profile_count(profile); k++) {
    const gemel_rewrite_row *row = gemel_rewrite_profile_at(profile, k);
    if (row->name == NULL) {
      summary->phases[row->phase] += row->seconds;
    }
  }
}

/* GRAPH rewritten, and what that took written down, by phases too: into the caller's profile if
 * there is one. */
static gemel_graph *rewrite_timed(gemel__recorder *r, const gemel_graph *graph,
                                  const gemel_rewrite_options *given, gemel_error *error) {
  gemel_rewrite_options options;
  if (gemel__take_options(&options, sizeof options, given, "gemel_rewrite_options", error) !=
      GEMEL_OK) {
    return NULL;
  }
  options.size =
      sizeof options; /* what an older caller's options lack is 0: there is its profile */
  gemel_rewrite_profile *own = options.profile == NULL ? gemel_rewrite_profile_new() : NULL;
  options.profile = own != NULL ? own : options.profile;
  if (options.profile == NULL) {
    gemel__no_memory(error, "a profile");
    return NULL;
  }
  size_t first = gemel_rewrite_profile_count(options.profile);
  double start = gemel__seconds();
  gemel_graph *result = gemel_rewrite(graph, &options, error);
  r->summary.rewriting = gemel__seconds() - start;
  add_phases(&r->summary, options.profile, first);
  gemel_rewrite_profile_free(own);
  return result;
}

/* A reference to GRAPH, rewritten if OPTIONS say so. */
static gemel_graph *rewritten(gemel_function *f, const gemel_graph *graph,
                              const gemel_options *options, gemel_error *error) {
  if (options->as_written || options->plain) {
    return gemel_graph_ref((gemel_graph *)graph);
  }
  return f->recorder != NULL ? rewrite_timed(f->recorder, graph, options->rewrite, error)
                             : gemel_rewrite(graph, options->rewrite, error);
}

/* A reference to GRAPH, rewritten and lifted if OPTIONS say so. */
static gemel_graph *prepare(gemel_function *f, const gemel_graph *graph,
                            const gemel_options *options, gemel_error *error) {
  gemel_graph *result = rewritten(f, graph, options, error);
  if (result == NULL || options->lift == NULL) {
    return result;
  }
  double began = gemel__seconds();
  gemel_graph *lifted = gemel_lift(result, options->lift, error);
  if (f->recorder != NULL) {
    f->recorder->summary.lifting = gemel__seconds() - began;
  }
  gemel_graph_unref(result);
  return lifted;
}

const char *gemel_precision_name(gemel_precision precision) {
  static const char *const names[] = {
#define NAME(E, name, meaning) #name,
      GEMEL_PRECISION_TABLE(NAME)
#undef NAME
  };
  return precision < GEMEL_PRECISION_COUNT ? names[precision] : NULL;
}

/* Whether F's kernels are chosen by timing. */
static gemel_status set_tuner(gemel_function *f, const gemel_options *options, gemel_error *error) {
  int tunes = options->autotune && !options->deterministic && !options->plain;
  f->tuner = tunes ? gemel__tuner_new(options->autotune_file) : NULL;
  return !tunes || f->tuner != NULL ? GEMEL_OK : gemel__no_memory(error, "a function");
}

/* What is observed of F's calls. */
static gemel_status set_watch(gemel_function *f, const gemel_options *options, gemel_error *error) {
  if (options->profile != 0) {
    f->recorder = gemel__recorder_new((options->profile & GEMEL_PROFILE_TRACE) != 0);
  }
  f->guard = options->guard & (GEMEL_GUARD_NAN | GEMEL_GUARD_INF);
  f->watched = options->profile != 0 || f->guard != 0;
  return options->profile == 0 || f->recorder != NULL ? GEMEL_OK
                                                      : gemel__no_memory(error, "a profile");
}

/* Binds the states to variables of zeros. */
static gemel_status make_states(gemel_function *f, const gemel_graph *graph, gemel_error *error) {
  size_t n = 0;
  gemel_shared **states = NULL;
  gemel_status status = gemel_states_new(graph, &n, &states, error);
  if (status == GEMEL_OK) {
    status = gemel__states_bind(f, graph, n, states, error);
    gemel_states_free(n, states);
  }
  return status;
}

static gemel_status start(gemel_function *f, const gemel_graph *graph, const gemel_options *options,
                          gemel_error *error) {
  gemel_graph *prepared = prepare(f, graph, options, error);
  gemel_status status = GEMEL_NO_MEMORY;
  if (prepared != NULL) {
    double began = gemel__seconds();
    status = gemel__run_program_make(&f->program, prepared, error);
    if (f->recorder != NULL) {
      f->recorder->summary.program = gemel__seconds() - began;
    }
    if (status == GEMEL_OK && (options->states != NULL || options->n_states > 0)) {
      status = gemel__states_bind(f, prepared, options->n_states, options->states, error);
    } else if (status == GEMEL_OK && options->make_states) {
      status = make_states(f, prepared, error);
    }
    gemel_graph_unref(prepared);
  }
  return status;
}

gemel_function *gemel_compile(const gemel_graph *graph, const gemel_options *options,
                              gemel_error *error) {
  gemel_function *f;
  gemel_options o;
  if (graph == NULL) {
    gemel__fail(error, GEMEL_BAD_ARGUMENT, "no graph to compile");
    return NULL;
  }
  if (gemel__options_read(&o, options, error) != GEMEL_OK) {
    return NULL;
  }
  if (graph->error.status != GEMEL_OK) {
    if (error != NULL) {
      *error = graph->error;
    }
    return NULL;
  }
  f = gemel__alloc_zeroed(sizeof *f);
  if (f == NULL) {
    gemel__no_memory(error, "a function");
    return NULL;
  }
  pthread_mutex_init(&f->lock, NULL);
  if (set_tuner(f, &o, error) != GEMEL_OK || set_watch(f, &o, error) != GEMEL_OK ||
      start(f, graph, &o, error) != GEMEL_OK) {
    gemel_function_free(f);
    return NULL;
  }
  f->threads = gemel__thread_count(o.threads);
  if (f->threads > 1) {
    gemel__wait_asleep();
  }
  f->deterministic = o.deterministic;
  f->plain = o.plain;
  f->most_steps = o.most_steps;
  f->matmul_precision = o.matmul_precision;
#ifdef GEMEL_DEBUG
  f->poison = 1;
#else
  f->poison = o.poison;
#endif
  return f;
}

void gemel_function_free(gemel_function *f) {
  if (f == NULL) {
    return;
  }
  while (f->idle != NULL) {
    gemel__execution *e = f->idle;
    f->idle = e->next;
    gemel__execution_free(e);
  }
  gemel__states_release(f);
  if (f->caller == NULL) {
    gemel__recorder_free(f->recorder);
  }
  gemel__tuner_free(f->tuner);
  gemel__run_program_release(&f->program);
  pthread_mutex_destroy(&f->lock);
  gemel__free(f, sizeof *f);
}

gemel_status gemel__function_nest(gemel_function *f, gemel__nested *nested, gemel_error *error) {
  if (nested == NULL) {
    return GEMEL_OK;
  }
  f->caller = nested->caller;
  f->recorder = f->caller->f->recorder;
  f->watched |= f->recorder != NULL;
  if (f->recorder != NULL && gemel__record_scope_of(f, nested->node) != 0) {
    return gemel__no_memory(error, "a profile");
  }
  nested->body = f;
  nested->calls = 1;
  return GEMEL_OK;
}

/* ---- Calling ---- */

/* What a call of a body took is part of what its caller's call takes. */
static void tell_caller(gemel__execution *e) {
  gemel__execution *caller = e->f->caller;
  caller->bytes += e->bytes;
  caller->unshared_bytes += e->unshared_bytes;
  caller->inside += e->plan_seconds;
  caller->plan_seconds += e->plan_seconds;
  caller->plans_made += e->plans_made;
  e->plan_seconds = 0;
  e->plans_made = 0;
}

gemel__execution *gemel__execution_take(gemel_function *f, gemel_error *error) {
  pthread_mutex_lock(&f->lock);
  gemel__execution *e = f->idle;
  f->idle = e != NULL ? e->next : NULL;
  pthread_mutex_unlock(&f->lock);
  return e != NULL ? e : gemel__execution_new(f, error);
}

void gemel__execution_give(gemel_function *f, gemel__execution *e, int called) {
  if (called && f->caller != NULL) {
    tell_caller(e);
  }
  pthread_mutex_lock(&f->lock);
  e->next = f->idle;
  f->idle = e;
  f->bytes = called ? e->bytes : f->bytes;
  f->kernels = called ? e->kernels : f->kernels;
  pthread_mutex_unlock(&f->lock);
}

size_t gemel_function_input_count(const gemel_function *f) {
  return f != NULL ? f->program.n_inputs - f->n_states : 0;
}

size_t gemel_function_output_count(const gemel_function *f) {
  return f != NULL ? f->program.n_outputs - f->n_updates : 0;
}

/* The caller's inputs, or outputs: GIVEN of them, in ARRAY. A message names those wanted. */
static gemel_status check_array(const gemel_function *f, int outputs, size_t given,
                                const void *array, gemel_error *error) {
  const gemel__run_program *p = &f->program;
  const gemel__port *ports = outputs ? p->outputs : p->inputs;
  gemel_shared *const *bound = outputs ? f->updates : f->states;
  size_t n_ports = outputs ? p->n_outputs : p->n_inputs;
  size_t wanted = outputs ? gemel_function_output_count(f) : gemel_function_input_count(f);
  const char *what = outputs ? "output" : "input", *before = ": ";
  if (given == wanted) {
    return array != NULL || wanted == 0
               ? GEMEL_OK
               : gemel__fail(error, GEMEL_BAD_ARGUMENT, "the %ss of a call are missing", what);
  }
  gemel__wrong_count(error, "a call", what, given, wanted);
  for (size_t k = 0; k < n_ports; k++) {
    if (bound == NULL || bound[k] == NULL) {
      gemel__error_add(error, "%s%s", before, ports[k].name);
      before = ", ";
    }
  }
  return GEMEL_BAD_ARGUMENT;
}

gemel_status gemel_call(gemel_function *f, size_t n_inputs, gemel_tensor *const *inputs,
                        size_t n_outputs, gemel_tensor **outputs, gemel_error *error) {
  gemel_status status;
  if (f == NULL) {
    return gemel__null(error, "the function");
  }
  status = check_array(f, 0, n_inputs, inputs, error);
  status = status == GEMEL_OK ? check_array(f, 1, n_outputs, outputs, error) : status;
  if (status != GEMEL_OK) {
    return status;
  }
  gemel__execution *e = gemel__execution_take(f, error);
  if (e == NULL) {
    return GEMEL_NO_MEMORY;
  }
  int recorded = f->recorder != NULL && f->caller == NULL;
  double began = recorded ? gemel__seconds() : 0;
  if (f->states != NULL) {
    status = gemel__states_enter(e, inputs, outputs);
    if (status == GEMEL_OK) {
      status = gemel__execution_call(e, e->all_inputs, e->all_outputs);
      gemel__states_leave(e, status, outputs);
    }
  } else {
    status = gemel__execution_call(e, inputs, outputs);
  }
  if (status != GEMEL_OK && error != NULL) {
    *error = e->error;
  }
  if (status == GEMEL_OK && recorded) {
    gemel__record_call(e, began);
  }
  gemel__execution_give(f, e, 1);
  return status;
}

gemel_status gemel_evaluate(const gemel_graph *graph, size_t n_inputs, gemel_tensor *const *inputs,
                            size_t n_outputs, gemel_tensor **outputs, gemel_error *error) {
  gemel_error local = {GEMEL_OK, 0, 0, ""};
  gemel_options options = {.size = sizeof options, .as_written = 1};
  gemel_function *f = gemel_compile(graph, &options, &local);
  gemel_status status;
  if (f == NULL) {
    if (error != NULL) {
      *error = local;
    }
    return local.status;
  }
  status = gemel_call(f, n_inputs, inputs, n_outputs, outputs, error);
  gemel_function_free(f);
  return status;
}

static size_t read_locked(const gemel_function *f, const size_t *number) {
  pthread_mutex_lock((pthread_mutex_t *)&f->lock);
  size_t result = *number;
  pthread_mutex_unlock((pthread_mutex_t *)&f->lock);
  return result;
}

size_t gemel_function_bytes(const gemel_function *f) {
  return f != NULL ? read_locked(f, &f->bytes) : 0;
}

size_t gemel_function_kernels(const gemel_function *f) {
  return f != NULL ? read_locked(f, &f->kernels) : 0;
}
