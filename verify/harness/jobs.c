/* SPDX-License-Identifier: MIT
 *
 * Verifies several subjects at a time. Each worker takes the next subject and keeps copies of its
 * records. The calling thread waits for the subjects in their order and passes their records on, so
 * what a program sees doesn't depend on the number of workers or on their speed. Subjects share the
 * context, which is locked, and nothing else: each has its own random stream. One job at a time
 * runs on the calling thread, without copies.
 *
 * Workers are threads of their own, not of an OpenMP team. Inside a team the library's loops would
 * have one thread each, and variants on two and three threads would test nothing.
 */
#include "harness/jobs.h"

#include <pthread.h>
#include <string.h>
#include <time.h>
#include "core/alloc.h"
#include "core/error.h"
#include "domains/ordered.h"

enum { MOST_WORKERS = 256 };

/* The outcome of a subject. */
struct result {
  gemel_record *records; /* copies; their strings are our own */
  size_t n, capacity;
  gemel_status status;
  gemel_error error;
  int done;
};

struct queue {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  gemel__run *run;     /* the calling thread's */
  gemel__run template; /* what a worker's own run is copied from */
  gemel__job job;
  const void *user;
  int alone; /* 1: no thread could be started, so the calling thread does the work */
  struct result *results;
  size_t n, next; /* how many subjects, and the next one to take */
};

/* ---- Copies of records ---- */

enum { STRINGS = 8 }; /* of a record */

static void strings_of(gemel_record *r, const char **at[STRINGS]) {
  at[0] = &r->kind;
  at[1] = &r->name;
  at[2] = &r->detail;
  at[3] = &r->counterexample;
  at[4] = &r->replay;
  at[5] = &r->text;
  at[6] = &r->witnesses;
  at[7] = &r->ulps;
}

static void free_string(const char *string) {
  if (string != NULL) {
    gemel__free((char *)string, strlen(string) + 1);
  }
}

/* A copy of STRING; NULL, and *FAILED where that is because memory is out. */
static const char *copy_string(const char *string, int *failed) {
  size_t bytes = string != NULL ? strlen(string) + 1 : 0;
  char *copy = bytes > 0 ? gemel__alloc(bytes) : NULL;
  if (copy != NULL) {
    memcpy(copy, string, bytes);
  }
  *failed |= bytes > 0 && copy == NULL;
  return copy;
}

static void free_proof(const gemel_proof *proof) {
  if (proof != NULL) {
    free_string(proof->rule);
    free_string(proof->elements);
    free_string(proof->why);
    free_string(proof->counterexample);
    gemel__free((gemel_proof *)proof, sizeof *proof);
  }
}

static const gemel_proof *copy_proof(const gemel_proof *from, int *failed) {
  gemel_proof *to = from != NULL ? gemel__alloc(sizeof *to) : NULL;
  if (to != NULL) {
    *to = *from;
    to->rule = copy_string(from->rule, failed);
    to->elements = copy_string(from->elements, failed);
    to->why = copy_string(from->why, failed);
    to->counterexample = copy_string(from->counterexample, failed);
  }
  *failed |= from != NULL && to == NULL;
  return to;
}

static void clear_record(gemel_record *r) {
  const char **at[STRINGS];
  strings_of(r, at);
  for (size_t k = 0; k < STRINGS; k++) {
    free_string(*at[k]);
  }
  free_proof(r->proof);
}

/* *TO = a copy of FROM. Returns 0, or −1 when memory is out; then there is nothing to release. */
static int copy_record(gemel_record *to, const gemel_record *from) {
  const char **at[STRINGS];
  int failed = 0;
  *to = *from;
  strings_of(to, at);
  for (size_t k = 0; k < STRINGS; k++) {
    *at[k] = copy_string(*at[k], &failed);
  }
  to->proof = copy_proof(from->proof, &failed);
  if (failed) {
    clear_record(to);
  }
  return failed ? -1 : 0;
}

static void clear_result(struct result *r) {
  for (size_t k = 0; k < r->n; k++) {
    clear_record(&r->records[k]);
  }
  gemel__free(r->records, r->capacity * sizeof *r->records);
  r->records = NULL;
  r->n = r->capacity = 0;
}

/* The sink of a worker's run: keeps a copy. */
static void keep(void *user, const gemel_record *record) {
  struct result *r = user;
  if (r->status == GEMEL_OK &&
      (gemel__grow(&r->records, &r->capacity, r->n + 1, sizeof *r->records) != 0 ||
       copy_record(&r->records[r->n], record) != 0)) {
    r->status = gemel__no_memory(&r->error, "a record");
  } else if (r->status == GEMEL_OK) {
    r->n++;
  }
}

/* ---- Workers ---- */

static void work_on(const struct queue *q, size_t k) {
  struct result *r = &q->results[k];
  gemel__run mine = q->template;
  gemel__ticker ticker;
  gemel_error problem = {GEMEL_OK, 0, 0, ""};
  mine.options.sink = keep;
  mine.options.user = r;
  if (!q->alone && mine.ticker != NULL) {
    gemel__ticker_follow(&ticker, mine.ticker);
    mine.ticker = &ticker;
    gemel__ticker_watch(&ticker);
  }
  gemel_status status = q->job(&mine, q->user, k, &problem);
  if (mine.ticker == &ticker) {
    gemel__ticker_watch(NULL);
  }
  if (r->status == GEMEL_OK && status != GEMEL_OK) {
    r->status = status;
    r->error = problem;
  }
}

static void *worker(void *user) {
  struct queue *q = user;
  size_t k;
  pthread_mutex_lock(&q->lock);
  while ((k = q->next) < q->n) {
    q->next++;
    pthread_mutex_unlock(&q->lock);
    work_on(q, k);
    pthread_mutex_lock(&q->lock);
    q->results[k].done = 1;
    pthread_cond_signal(&q->changed);
  }
  pthread_mutex_unlock(&q->lock);
  gemel__domains_cleanup(); /* frees what FLINT and MPFR keep for this thread */
  return NULL;
}

/* Waits for the result R, and meanwhile asks the ticker. The caller holds the queue's lock. */
static void await(struct queue *q, const struct result *r) {
  enum { NAP = 20000000 }; /* nanoseconds */
  gemel__ticker *ticker = q->run->ticker != NULL ? q->run->ticker : q->run->between;
  while (!r->done && (ticker == NULL || ticker->tick == NULL || gemel__stopped(ticker))) {
    pthread_cond_wait(&q->changed, &q->lock);
  }
  while (!r->done) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += NAP;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_cond_timedwait(&q->changed, &q->lock, &until);
    pthread_mutex_unlock(&q->lock); /* not held during the program's function */
    gemel__tick(ticker);
    pthread_mutex_lock(&q->lock);
  }
}

/* Waits for subject K and passes its records on. */
static gemel_status deliver(struct queue *q, size_t k, gemel_error *error) {
  struct result *r = &q->results[k];
  gemel__ticker_at(q->run->ticker, k, q->n);
  gemel__ticker_at(q->run->between, k, q->n);
  pthread_mutex_lock(&q->lock);
  await(q, r);
  pthread_mutex_unlock(&q->lock);
  for (size_t j = 0; j < r->n; j++) {
    gemel__record_emit(q->run, &r->records[j]);
  }
  clear_result(r);
  if (r->status != GEMEL_OK && error != NULL) {
    *error = r->error;
  }
  return r->status;
}

/* Lets the workers finish their current subject, and waits for them. */
static void stop(struct queue *q, size_t n_workers, const pthread_t *workers) {
  pthread_mutex_lock(&q->lock);
  q->next = q->n;
  pthread_mutex_unlock(&q->lock);
  for (size_t k = 0; k < n_workers; k++) {
    pthread_join(workers[k], NULL);
  }
}

static gemel_status run_queue(struct queue *q, size_t wanted, gemel_error *error) {
  pthread_t workers[MOST_WORKERS];
  gemel_status status = GEMEL_OK;
  size_t k, started = 0;
  while (started < wanted && pthread_create(&workers[started], NULL, worker, q) == 0) {
    started++;
  }
  if (started == 0) {
    q->alone = 1;
    worker(q);
  }
  for (k = 0; k < q->n && status == GEMEL_OK; k++) {
    status = deliver(q, k, error);
  }
  stop(q, started, workers);
  return status;
}

/* ---- A run ---- */

static gemel_status run_together(gemel__run *run, size_t n, gemel__job job, const void *user,
                                 size_t wanted, gemel_error *error) {
  struct queue q = {.run = run, .template = *run, .job = job, .user = user, .n = n};
  pthread_condattr_t clock;
  gemel_status status;
  size_t k;
  q.results = gemel__alloc_zeroed(n * sizeof *q.results);
  if (q.results == NULL) {
    return gemel__no_memory(error, "the results of subjects");
  }
  pthread_mutex_init(&q.lock, NULL);
  pthread_condattr_init(&clock);
  pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
  pthread_cond_init(&q.changed, &clock);
  pthread_condattr_destroy(&clock);
  status = run_queue(&q, wanted, error);
  for (k = 0; k < n; k++) {
    clear_result(&q.results[k]);
  }
  pthread_cond_destroy(&q.changed);
  pthread_mutex_destroy(&q.lock);
  gemel__free(q.results, n * sizeof *q.results);
  return status;
}

gemel_status gemel__run_jobs(gemel__run *run, size_t n, gemel__job job, const void *user,
                             gemel_error *error) {
  size_t wanted = run->options.jobs < MOST_WORKERS ? run->options.jobs : MOST_WORKERS, k;
  gemel_status status = GEMEL_OK;
  if (wanted > 1 && n > 1) {
    return run_together(run, n, job, user, wanted < n ? wanted : n, error);
  }
  for (k = 0; k < n && status == GEMEL_OK; k++) {
    gemel__ticker_at(run->ticker, k, n);
    gemel__ticker_at(run->between, k, n);
    gemel__tick(run->between);
    status = job(run, user, k, error);
  }
  return status;
}

/* ---- Subjects that may be left out ---- */

struct subjects {
  gemel__job job, untried;
  const void *user;
};

static int is_uninformative(const struct result *r) {
  size_t k = 0;
  while (k < r->n && r->records[k].verdict != GEMEL_VERDICT_UNINFORMATIVE) {
    k++;
  }
  return k < r->n;
}

/* Subject K with so many INSTANCES; its records are in R. */
static gemel_status try_with(const gemel__run *run, const struct subjects *s, size_t k,
                             size_t instances, struct result *r, gemel_error *error) {
  gemel__run mine = *run;
  clear_result(r);
  mine.options.sink = keep;
  mine.options.user = r;
  mine.options.instances = instances;
  gemel_status status = s->job(&mine, s->user, k, error);
  if (status == GEMEL_OK && r->status != GEMEL_OK) {
    *error = r->error;
    status = r->status;
  }
  return status;
}

gemel_status gemel__run_settled(gemel__run *run, gemel__job job, const void *user, size_t k,
                                gemel__settle settle, gemel_error *error) {
  const struct subjects s = {job, NULL, user};
  struct result r = {.status = GEMEL_OK};
  gemel_proof room;
  gemel_status status = try_with(run, &s, k, run->options.instances, &r, error);
  const gemel_proof *proof = settle(run->context, r.n, r.records, &room);
  for (size_t j = 0; j < r.n; j++) {
    gemel_record record = r.records[j];
    record.proof = proof != NULL ? proof : record.proof;
    gemel__record_emit(run, &record);
  }
  clear_result(&r);
  return status;
}

/* Where few instances say nothing, the usual number is tried. */
static gemel_status try_quickly(gemel__run *run, const struct subjects *s, size_t k,
                                gemel_error *error) {
  struct result r = {.status = GEMEL_OK};
  size_t few = run->options.instances;
  gemel_status status = try_with(run, s, k, few, &r, error);
  if (status == GEMEL_OK && few < GEMEL__USUAL_INSTANCES && is_uninformative(&r)) {
    status = try_with(run, s, k, GEMEL__USUAL_INSTANCES, &r, error);
  }
  for (size_t j = 0; j < r.n; j++) {
    gemel__record_emit(run, &r.records[j]);
  }
  clear_result(&r);
  return status;
}

static gemel_status try_subject(gemel__run *run, const void *user, size_t k, gemel_error *error) {
  const struct subjects *s = user;
  if (gemel__stopped(run->between)) {
    return s->untried(run, s->user, k, error);
  }
  return run->options.quick ? try_quickly(run, s, k, error) : s->job(run, s->user, k, error);
}

gemel_status gemel__run_subjects(gemel__run *run, size_t n, gemel__job job, gemel__job untried,
                                 const void *user, gemel_error *error) {
  const struct subjects subjects = {job, untried, user};
  gemel__ticker ticker;
  gemel__ticker_init(&ticker, run->options.tick, run->options.user);
  gemel__ticker_stage(&ticker, "verifying");
  run->between = &ticker;
  gemel__tick(&ticker); /* whoever wants to stop already */
  gemel_status status = gemel__run_jobs(run, n, try_subject, &subjects, error);
  run->between = NULL;
  return status;
}
