/* SPDX-License-Identifier: MIT
 *
 * Many calls of a program's own kernel: thousands of calls on states that live side by side, with
 * changing values, sizes and places in memory; states that are released while others go on; two
 * threads at a time, as with two compiled functions; and leaks.
 *
 * The reference judges the first call of each case, on a new state. Later calls must give the same
 * bits if `deterministic` is asked for; otherwise the last result that differs is judged by the
 * reference.
 */
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "core/alloc.h"
#include "core/error.h"
#include "tiers/allowed.h"
#include "tiers/kernel.h"

enum { CASES = GEMEL__SERIES_CASES, SETS = GEMEL__SERIES_SETS };
enum { LONG_CALLS = 1100, MIXED_CALLS = 500, PAIRED_CALLS = 100 };
enum { ROUNDS = 9, WARM_ROUNDS = 2, LIVES = 40, CALLS_A_LIFE = 3 };

static const gemel__kernel_variant strict = {
    "many calls", GEMEL__LIE_DENSE, GEMEL__AT_END, 1, 1, 0xff, 0, ~0u};
static const gemel__kernel_variant loose = {
    "many calls, 2 threads, any order", GEMEL__LIE_DENSE, GEMEL__AT_END, 2, 0, 0xff, 0, 0x5555u};

/* A fault, or (SUSPECT) a result for the reference to judge: in which call of which case. */
struct trouble {
  int found, c, set;
  uint64_t call;
  char text[160];
};

struct series_shared {
  gemel__report report;
  int usable[CASES];
  struct trouble wrong, suspect;
  /* the first results (CASES × SETS), then one row for each trouble and thread */
  _Alignas(64) char rows[];
};

enum { WRONG_ROW = CASES * SETS, SUSPECT_ROW, SCRATCH_ROW, OTHER_ROW, ROWS };

struct series {
  gemel__kernel_case *cases; /* CASES */
  /* values of each set, for each case */
  const void *const (*values)[SETS][GEMEL_SAMPLE_MAX_INPUTS];
  size_t n, row_bytes;
  int in_process;
  uint64_t seed;
  struct series_shared *shared;
};

static char *row_at(const struct series *s, int k) {
  return s->shared->rows + (size_t)k * s->row_bytes;
}

static void note(struct trouble *t, int c, int set, uint64_t call, const char *text) {
  t->found = 1;
  t->c = c;
  t->set = set;
  t->call = call;
  snprintf(t->text, sizeof t->text, "%s", text);
}

/* ---- Living states ---- */

/* A prepared state, with operands in two places in memory, each of which holds one set of values.
 */
struct life {
  int c, prepared;
  gemel__kernel_prepared p;
  gemel__kernel_memory memory[2];
  int holds[2], last; /* which set is in either place, and which one the last call used */
  uint64_t calls;
};

static int begin(const struct series *s, struct life *life, int c, const gemel__kernel_variant *v) {
  gemel_status status;
  memset(life, 0, sizeof *life);
  life->c = c;
  gemel__process_at(&s->shared->report, &life->p, NULL, GEMEL__STAGE_PREPARE);
  if (gemel__kernel_prepare(&life->p, &s->cases[c], v, s->seed, &status) != 0 ||
      (status != GEMEL_OK && status != GEMEL_DECLINED)) {
    note(&s->shared->wrong, c, 0, 0, "prepare fails where it didn't before");
  }
  gemel__process_at(&s->shared->report, NULL, NULL, GEMEL__STAGE_NONE);
  life->prepared = status == GEMEL_OK;
  for (int place = 0; place < 2 && status == GEMEL_OK; place++) {
    if (gemel__kernel_memory_new(&life->memory[place], &life->p, s->values[c][0]) != 0) {
      note(&s->shared->wrong, c, 0, 0, "no memory is left for a call");
      life->prepared = 0;
    }
  }
  return life->prepared;
}

static void end(const struct series *s, struct life *life) {
  gemel__process_at(&s->shared->report, &life->p, NULL, GEMEL__STAGE_RELEASE);
  gemel__kernel_release(&life->p);
  gemel__process_at(&s->shared->report, NULL, NULL, GEMEL__STAGE_NONE);
  for (int place = 0; place < 2; place++) {
    gemel__kernel_memory_free(&life->memory[place]);
  }
}

/* Puts values SET into PLACE for the next call. So an address may get other contents, or the same
 * contents move to another address, and the versions tell which. What has moved is overwritten in
 * the other place. */
static void bring(const struct series *s, struct life *life, int set, int place) {
  const gemel__kernel_case *c = life->p.c;
  const void *const *before = s->values[life->c][life->last], *const *now = s->values[life->c][set];
  for (size_t k = 0; k < c->n_in; k++) {
    size_t bytes = c->in[k].count * gemel_dtype_size(c->in[k].dtype);
    life->p.version[k] += before[k] != now[k] && memcmp(before[k], now[k], bytes) != 0;
  }
  if (life->holds[place] != set) {
    gemel__kernel_memory_fill(&life->memory[place], &life->p, now);
  }
  /* the set has moved: nothing of it stays in the other place */
  if (life->holds[!place] == set) {
    gemel__kernel_memory_fill(&life->memory[!place], &life->p,
                              s->values[life->c][(set + 1) % SETS]);
    life->holds[!place] = (set + 1) % SETS;
  }
  life->holds[place] = life->last = set;
}

/* Makes one call and copies its results to ROW. 0, or −1 if it failed. */
static int call_into(const struct series *s, struct life *life, int set, int place, char *row) {
  gemel__kernel_memory *m = &life->memory[place];
  char text[160] = "";
  bring(s, life, set, place);
  gemel__process_at(&s->shared->report, &life->p, m, GEMEL__STAGE_RUN);
  gemel_status status =
      gemel__kernel_call(&life->p, m, (unsigned char)(life->calls % 2 == 0 ? 0xff : 0x41));
  gemel__process_at(&s->shared->report, NULL, NULL, GEMEL__STAGE_NONE);
  life->calls++;
  const gemel__block *spoilt = gemel__kernel_memory_spoilt(&life->p, m);
  if (status != GEMEL_OK) {
    snprintf(text, sizeof text, "run returned \"%s\"%s%.80s", gemel_status_text(status),
             life->p.error.text[0] != '\0' ? ": " : "", life->p.error.text);
  } else if (spoilt != NULL) {
    snprintf(text, sizeof text, "it wrote to memory beside %s", spoilt->name);
  }
  if (text[0] != '\0') {
    note(&s->shared->wrong, life->c, set, life->calls, text);
    return -1;
  }
  gemel__kernel_memory_results(&life->p, m, row);
  return 0;
}

/* Makes one call, which must give the results of the first. 0, or −1 if it is certain that it
 * doesn't. */
static int call_again(const struct series *s, struct life *life, int set, int place, int row) {
  size_t output, element;
  const char *first = row_at(s, life->c * SETS + set);
  if (call_into(s, life, set, place, row_at(s, row)) != 0) {
    return -1;
  }
  if (gemel__kernel_case_same(life->p.c, first, row_at(s, row), &output, &element)) {
    return 0;
  }
  if (!life->p.v->deterministic) {
    note(&s->shared->suspect, life->c, set, life->calls, "");
    memcpy(row_at(s, SUSPECT_ROW), row_at(s, row), life->p.c->out_bytes);
    return 0;
  }
  note(&s->shared->wrong, life->c, set, life->calls, "");
  memcpy(row_at(s, WRONG_ROW), row_at(s, row), life->p.c->out_bytes);
  return -1;
}

/* ---- Phases ---- */

/* Makes the first call of each case and set, each on a state of its own. */
static int first_calls(const struct series *s) {
  struct life life;
  int c, set, failed = 0;
  for (c = 0; c < (int)s->n && !failed; c++) {
    for (set = 0; set < SETS && !failed; set++) {
      s->shared->usable[c] = begin(s, &life, c, &strict);
      if (s->shared->usable[c]) {
        failed = call_into(s, &life, set, 0, row_at(s, c * SETS + set)) != 0;
      }
      end(s, &life);
    }
  }
  return failed || s->shared->wrong.found ? -1 : 0;
}

/* Makes a thousand calls on one state, then some on all states in random order. Now and then one is
 * released and prepared anew. */
static int many_calls(const struct series *s, const gemel__kernel_variant *v,
                      gemel__random *random) {
  struct life lives[CASES];
  int c, failed = 0, k, alive[CASES];
  for (c = 0; c < (int)s->n; c++) {
    alive[c] = s->shared->usable[c] && begin(s, &lives[c], c, v);
  }
  for (c = 0; c < (int)s->n && !alive[c]; c++) {
  }
  for (k = 0; k < LONG_CALLS && c < (int)s->n && !failed; k++) {
    failed = call_again(s, &lives[c], k / 8 % SETS, k / 4 % 2, SCRATCH_ROW) != 0;
  }
  for (k = 0; k < MIXED_CALLS && !failed; k++) {
    c = (int)gemel__random_below(random, s->n);
    if (alive[c] && k % 100 == 50) {
      end(s, &lives[c]);
      alive[c] = begin(s, &lives[c], c, v);
    }
    if (alive[c]) {
      failed = call_again(s, &lives[c], (int)gemel__random_below(random, SETS),
                          (int)gemel__random_below(random, 2), SCRATCH_ROW) != 0;
    }
  }
  for (c = 0; c < (int)s->n; c++) {
    if (s->shared->usable[c]) {
      end(s, &lives[c]);
    }
  }
  return failed || s->shared->wrong.found ? -1 : 0;
}

/* Two threads in the kernel at a time. One calls without a pause. The other stops it by a signal,
 * wherever it is, makes a call itself, and lets it go on. So calls overlap in every way, on a busy
 * machine too. */
static struct {
  const struct series *s;
  int case_of[2];
  pthread_barrier_t ready;
  pthread_t stopped_one;
  atomic_int stopped, go, done;
} meeting;

static void pause_for(long nanoseconds) {
  struct timespec t = {0, nanoseconds};
  nanosleep(&t, NULL);
}

/* Waits until *FLAG is VALUE, but no longer than a second. */
static void wait_until(atomic_int *flag, int value) {
  for (int k = 0; k < 20000 && atomic_load(flag) != value && !atomic_load(&meeting.done); k++) {
    pause_for(50000);
  }
}

/* The stopped thread waits here until the other one has made its call. The wait is limited: the
 * stopped call may hold a lock that the other needs. */
static void on_stop(int number) {
  (void)number;
  atomic_store(&meeting.stopped, 1);
  for (int k = 0; k < 400 && !atomic_load(&meeting.go); k++) {
    pause_for(50000);
  }
  atomic_store(&meeting.stopped, 0);
}

/* Unblocks the signal that stops this thread; the kernel may have blocked it. */
static void be_stoppable(void) {
  sigset_t stops;
  sigemptyset(&stops);
  sigaddset(&stops, SIGUSR1);
  pthread_sigmask(SIG_UNBLOCK, &stops, NULL);
}

static int call_beside(struct life *life, int k, int row) {
  struct trouble *wrong = &meeting.s->shared->wrong;
  if (call_again(meeting.s, life, k % SETS, 0, row) == 0) {
    return 0;
  }
  if (wrong->text[0] == '\0') {
    snprintf(wrong->text, sizeof wrong->text,
             "wrong results while another thread calls it with another state");
  }
  return -1;
}

static void *be_stopped(void *unused) {
  struct life life;
  int alive = begin(meeting.s, &life, meeting.case_of[0], &strict), k;
  (void)unused;
  pthread_barrier_wait(&meeting.ready);
  for (k = 0; alive && !atomic_load(&meeting.done); k++) {
    be_stoppable();
    if (call_beside(&life, k, SCRATCH_ROW) != 0) {
      break;
    }
  }
  atomic_store(&meeting.done, 1);
  end(meeting.s, &life);
  return NULL;
}

static void stop_the_other(void) {
  struct life life;
  int alive = begin(meeting.s, &life, meeting.case_of[1], &strict), k;
  pthread_barrier_wait(&meeting.ready);
  for (k = 0; k < PAIRED_CALLS && alive && !atomic_load(&meeting.done); k++) {
    atomic_store(&meeting.go, 0);
    pthread_kill(meeting.stopped_one, SIGUSR1);
    wait_until(&meeting.stopped, 1);
    if (call_beside(&life, k, OTHER_ROW) != 0) {
      break;
    }
    atomic_store(&meeting.go, 1);
    wait_until(&meeting.stopped, 0);
  }
  atomic_store(&meeting.go, 1);
  atomic_store(&meeting.done, 1);
  end(meeting.s, &life);
}

/* Chooses the two cases with the most results, or the only one twice: a call of few elements is
 * rarely stopped in its middle. 0: no case can be used. */
static int choose_meeting(const struct series *s) {
  int first = -1, second = -1, c;
  for (c = 0; c < (int)s->n; c++) {
    if (!s->shared->usable[c]) {
      continue;
    }
    if (first < 0 || s->cases[c].out_bytes > s->cases[first].out_bytes) {
      second = first;
      first = c;
    } else if (second < 0 || s->cases[c].out_bytes > s->cases[second].out_bytes) {
      second = c;
    }
  }
  meeting.case_of[0] = first;
  meeting.case_of[1] = second < 0 ? first : second;
  return first >= 0;
}

/* Runs two threads, each with a state of its own, as two compiled functions have. */
static int two_at_once(const struct series *s) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = on_stop;
  action.sa_flags = SA_RESTART;
  sigaction(SIGUSR1, &action, NULL);
  meeting.s = s;
  if (!choose_meeting(s) || pthread_barrier_init(&meeting.ready, NULL, 2) != 0) {
    return 0;
  }
  if (pthread_create(&meeting.stopped_one, NULL, be_stopped, NULL) == 0) {
    stop_the_other();
    pthread_join(meeting.stopped_one, NULL);
  }
  pthread_barrier_destroy(&meeting.ready);
  return s->shared->wrong.found ? -1 : 0;
}

/* ---- Leaks ---- */

/* What the process holds: bytes from malloc, pages, open files. */
struct held {
  size_t amount[3];
};

static struct held measure(void) {
  struct held h = {{0, 0, 0}};
  struct mallinfo2 m = mallinfo2();
  char text[64] = "";
  int file = open("/proc/self/statm", O_RDONLY), k;
  if (file >= 0) {
    if (read(file, text, sizeof text - 1) > 0) {
      h.amount[1] = (size_t)strtoull(text, NULL, 10);
    }
    close(file);
  }
  h.amount[0] = m.uordblks + m.hblkhd;
  for (k = 0; k < 1024; k++) {
    h.amount[2] += fcntl(k, F_GETFD) >= 0;
  }
  return h;
}

static int live(const struct series *s, int c, const gemel__kernel_variant *v) {
  struct life life;
  int k, failed = 0;
  if (begin(s, &life, c, v)) {
    for (k = 0; k < CALLS_A_LIFE && !failed; k++) {
      failed = call_into(s, &life, k % SETS, 0, row_at(s, SCRATCH_ROW)) != 0;
    }
  }
  end(s, &life);
  return failed ? -1 : 0;
}

/* Prepares, calls and releases states, round after round. What grows in every round is a leak. */
static void leaks(const struct series *s) {
  static const char *const what[] = {"bytes from malloc", "pages of memory", "open files"};
  struct held before = measure(), after;
  int growing[3] = {0, 0, 0}, round, k, c;
  for (round = 0; round < ROUNDS; round++) {
    for (k = 0; k < LIVES; k++) {
      c = k % (int)s->n;
      if (s->shared->usable[c] && live(s, c, k % 20 == 7 ? &loose : &strict) != 0) {
        return;
      }
    }
    after = measure();
    for (k = 0; k < 3 && round >= WARM_ROUNDS; k++) {
      growing[k] += after.amount[k] > before.amount[k];
      if (growing[k] == ROUNDS - WARM_ROUNDS) {
        char text[160];
        snprintf(text, sizeof text, "%d lives of states with %d calls each leave %zu %s behind",
                 LIVES, CALLS_A_LIFE, after.amount[k] - before.amount[k], what[k]);
        note(&s->shared->wrong, 0, 0, 0, text);
      }
    }
    before = after;
  }
}

static void all_phases(void *user) {
  const struct series *s = user;
  gemel__random random;
  gemel__random_seed(&random, s->seed);
  s->shared->report.doing = 0;
  if (first_calls(s) != 0 || many_calls(s, &strict, &random) != 0) {
    return;
  }
  s->shared->report.doing = 1;
  if (many_calls(s, &loose, &random) != 0 || s->in_process || two_at_once(s) != 0) {
    return;
  }
  leaks(s);
}

/* ---- In the process that judges ---- */

static void refute(const struct series *s, const struct trouble *t, const gemel__kernel_variant *v,
                   gemel__outcome *outcome) {
  const gemel__kernel_case *c = &s->cases[t->c];
  const char *first = row_at(s, t->c * SETS + t->set), *got = row_at(s, WRONG_ROW);
  size_t used;
  outcome->refuted = 1;
  outcome->variant = v->name;
  if (t->text[0] != '\0') {
    outcome->whole = 1;
    snprintf(outcome->expected, sizeof outcome->expected, "results, as before");
    snprintf(outcome->got, sizeof outcome->got, "%s", t->text);
  } else if (!gemel__kernel_case_same(c, first, got, &outcome->output, &outcome->element)) {
    gemel_dtype dtype = c->out[outcome->output].dtype;
    size_t at = c->out_at[outcome->output] + outcome->element * gemel_dtype_size(dtype);
    gemel__outcome_numbers(outcome, dtype, first + at, ", as in the first call", got + at);
  }
  used = t->call > 0 ? (size_t)snprintf(outcome->manner, sizeof outcome->manner,
                                        "call %llu on one state; ", (unsigned long long)t->call)
                     : 0;
  gemel__kernel_describe(c, v, s->seed, outcome->manner + used, sizeof outcome->manner - used);
}

/* Has CHECK judge the results in ROW by the reference. */
static gemel_status judge_row(const struct series *s, gemel__series_case *one, int c, int set,
                              int row, const char *as, const gemel__trial *trial,
                              gemel__check check, gemel__outcome *outcome, gemel_error *error) {
  gemel_tensor *outputs[GEMEL_SAMPLE_MAX_INPUTS];
  GEMEL__TRY(gemel__kernel_case_tensors(&s->cases[c], row_at(s, row), outputs, error));
  trial->kernel->given = outputs;
  trial->kernel->given_as = as;
  gemel_status status = check(&one->instance, one->values[set], trial, outcome, error);
  trial->kernel->given = NULL;
  gemel__tensors_release(s->cases[c].n_out, outputs);
  return status;
}

static int any_usable(const struct series *s) {
  int any = 0;
  for (size_t c = 0; c < s->n; c++) {
    any |= s->shared->usable[c];
  }
  return any;
}

static gemel_status judge(const struct series *s, gemel__series_case *cases,
                          const gemel__trial *trial, gemel__check check, const gemel__end *ended,
                          size_t *guilty, int *set, gemel__outcome *outcome, gemel_error *error) {
  const struct series_shared *shared = s->shared;
  *guilty = 0;
  *set = 0;
  if (!ended->good) {
    struct trouble t = {1, 0, 0, 0, ""};
    snprintf(t.text, sizeof t.text, "%s", ended->text);
    trial->kernel->hung |= ended->hung;
    refute(s, &t, shared->report.doing == 0 ? &strict : &loose, outcome);
    return GEMEL_OK;
  }
  if (!any_usable(s)) {
    return GEMEL_DECLINED;
  }
  for (size_t c = 0; c < s->n; c++) {
    for (*set = 0; *set < SETS && shared->usable[c]; ++*set) {
      *guilty = c;
      GEMEL__TRY(judge_row(s, &cases[c], (int)c, *set, (int)c * SETS + *set, "first of many calls",
                           trial, check, outcome, error));
      if (outcome->refuted) {
        return GEMEL_OK;
      }
    }
  }
  if (shared->wrong.found) {
    *guilty = (size_t)shared->wrong.c;
    *set = shared->wrong.set;
    refute(s, &shared->wrong, &strict, outcome);
  } else if (shared->suspect.found) {
    *guilty = (size_t)shared->suspect.c;
    *set = shared->suspect.set;
    GEMEL__TRY(judge_row(s, &cases[*guilty], shared->suspect.c, *set, SUSPECT_ROW, loose.name,
                         trial, check, outcome, error));
  }
  *set = *set < SETS ? *set : 0;
  return GEMEL_OK;
}

static gemel_status set_up(struct series *s, gemel__series_case *cases, const gemel_kernel *kernel,
                           gemel_error *error) {
  for (size_t c = 0; c < s->n; c++) {
    GEMEL__TRY(
        gemel__kernel_case_init(&s->cases[c], &cases[c].instance, kernel, cases[c].values[0]));
    s->row_bytes = s->cases[c].out_bytes > s->row_bytes ? s->cases[c].out_bytes : s->row_bytes;
  }
  s->shared = gemel__process_memory(sizeof *s->shared + ROWS * s->row_bytes);
  return s->shared == NULL ? gemel__no_memory(error, "many calls of a kernel") : GEMEL_OK;
}

gemel_status gemel__kernel_series(size_t n, gemel__series_case *cases, const gemel__trial *trial,
                                  gemel__check check, size_t *guilty, int *set,
                                  gemel__outcome *outcome, gemel_error *error) {
  const void *values[CASES][SETS][GEMEL_SAMPLE_MAX_INPUTS];
  struct series s = {.n = n,
                     .values = (const void *const(*)[SETS][GEMEL_SAMPLE_MAX_INPUTS])values,
                     .in_process = trial->kernel->in_process,
                     .seed = gemel__random_bits(trial->random)};
  gemel__end ended;
  s.cases = gemel__alloc_array(CASES, sizeof *s.cases);
  gemel_status status = s.cases == NULL ? gemel__no_memory(error, "many calls of a kernel")
                                        : set_up(&s, cases, trial->kernel->kernel, error);
  for (size_t c = 0; c < n; c++) {
    for (size_t j = 0; j < SETS; j++) {
      gemel__values_allow(&cases[c].instance, gemel__allowed(&cases[c].instance, trial),
                          cases[c].values[j]);
      for (size_t k = 0; k < cases[c].instance.n_leaves && k < GEMEL_SAMPLE_MAX_INPUTS; k++) {
        values[c][j][k] = gemel_tensor_data(cases[c].values[j][k]);
      }
    }
  }
  if (status == GEMEL_OK) {
    status = gemel__process_run(all_phases, &s, &s.shared->report, trial->kernel->seconds,
                                s.in_process, &ended, error);
    trial->kernel->offers.calls += s.shared->report.runs;
  }
  status = status ? status : judge(&s, cases, trial, check, &ended, guilty, set, outcome, error);
  gemel__process_memory_free(s.shared, sizeof *s.shared + ROWS * s.row_bytes);
  gemel__free(s.cases, CASES * sizeof *s.cases);
  return status;
}
