/* SPDX-License-Identifier: MIT
 *
 * Runs a function in a child process, so that a signal, exit(), a call that doesn't end or too much
 * memory becomes a verdict. The child is a copy of this process, and works on a thread that it
 * starts itself: OpenMP's worker threads aren't copied by fork(), and belong to the thread that
 * started them. Results go into shared memory. A byte in a pipe says that the child is done.
 * Meanwhile this process looks ten times a second whether calls go on.
 *
 * Limits are in the child's CPU time, so a busy machine changes no verdict. Only a child that uses
 * none, because it waits for something, is killed by the clock.
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "core/error.h"
#include "tiers/kernel.h"
#include "base/clock.h"

enum {
  TICK_MS = 100,
  IDLE_FACTOR = 3,
  CHILD_CRASHED = 113,
  CHILD_LEFT = 114,
  CHILD_NO_THREAD = 115
};
/* of address space, beyond what the process has already */
#define BUDGET_BYTES ((uint64_t)2 << 30)

void *gemel__process_memory(size_t bytes) {
  void *memory =
      mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? NULL : memory;
}

void gemel__process_memory_free(void *memory, size_t bytes) {
  if (memory != NULL) {
    munmap(memory, bytes);
  }
}

/* ---- In the child ---- */

/* What the child's signal handlers need; zero in other processes. */
static struct {
  gemel__report *report;
  int pipe;
  void (*body)(void *);
  void *user;
  const gemel__kernel_prepared *prepared;
  const gemel__kernel_memory *memory;
} child;

/* What this thread works on. Threads that the kernel starts have none; for them the last one said
 * counts. */
static _Thread_local const gemel__kernel_prepared *at_prepared;
static _Thread_local const gemel__kernel_memory *at_memory;

void gemel__process_at(gemel__report *report, const gemel__kernel_prepared *p,
                       const gemel__kernel_memory *m, gemel__stage stage) {
  at_prepared = p;
  at_memory = m;
  if (child.report != NULL) {
    child.prepared = p;
    child.memory = m;
  }
  report->stage = stage;
  report->calls += stage != GEMEL__STAGE_NONE;
  report->runs += stage == GEMEL__STAGE_RUN;
}

#ifdef GEMEL_COVERAGE
void __gcov_dump(void); /* of libgcov: writes the counts, as exit() does and _exit() doesn't */
#define WRITE_COUNTS() __gcov_dump()
#else
#define WRITE_COUNTS() ((void)0)
#endif

static void leave(int status) {
  char byte = 0;
  WRITE_COUNTS();
  ssize_t written = write(child.pipe, &byte, 1);
  (void)written;
  _exit(status);
}

static void on_fault(int number, siginfo_t *info, void *context) {
  const gemel__kernel_prepared *p = at_prepared != NULL ? at_prepared : child.prepared;
  const gemel__kernel_memory *m = at_prepared != NULL ? at_memory : child.memory;
  size_t used = (size_t)snprintf(child.report->fault, sizeof child.report->fault,
                                 "%s: ", number == SIGSEGV ? "SIGSEGV" : "SIGBUS");
  (void)context;
  gemel__kernel_memory_explain(p, m, info->si_addr, child.report->fault + used,
                               sizeof child.report->fault - used);
  leave(CHILD_CRASHED);
}

/* Handlers run in reverse order of registration, so this one runs before any of the program's own.
 */
static void on_exit_called(void) {
  if (!child.report->finished) {
    child.report->left = 1;
    leave(CHILD_LEFT);
  }
}

static void set_handlers(void) {
  static const int plain[] = {SIGABRT, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGTERM, SIGXCPU, SIGALRM};
  struct sigaction action;
  sigset_t none;
  memset(&action, 0, sizeof action);
  action.sa_handler = SIG_DFL;
  for (size_t k = 0; k < sizeof plain / sizeof *plain; k++) {
    sigaction(plain[k], &action, NULL);
  }
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGSEGV, &action, NULL);
  sigaction(SIGBUS, &action, NULL);
  sigemptyset(&none);
  pthread_sigmask(SIG_SETMASK, &none, NULL);
  atexit(on_exit_called);
  at_quick_exit(on_exit_called);
}

/* Bytes of address space in use; 0 if unknown. */
static uint64_t addresses_in_use(void) {
  char text[64] = "";
  int file = open("/proc/self/statm", O_RDONLY);
  ssize_t n = file >= 0 ? read(file, text, sizeof text - 1) : -1;
  if (file >= 0) {
    close(file);
  }
  return n > 0 ? strtoull(text, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

static void set_limits(void) {
  uint64_t used = addresses_in_use();
  struct rlimit limit = {0, 0};
  setrlimit(RLIMIT_CORE, &limit);
  if (used > 0 && getrlimit(RLIMIT_AS, &limit) == 0 &&
      (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur > used + BUDGET_BYTES)) {
    limit.rlim_cur = used + BUDGET_BYTES;
    setrlimit(RLIMIT_AS, &limit);
  }
}

static void *work(void *unused) {
  char stack[1 << 16];
  /* a handler needs it when the stack overflows */
  stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
  (void)unused;
  sigaltstack(&alternate, NULL);
  child.body(child.user);
  alternate.ss_flags = SS_DISABLE;
  sigaltstack(&alternate, NULL);
  return NULL;
}

static void be_child(void (*body)(void *), void *user, gemel__report *report, int pipe) {
  pthread_t thread;
  child.report = report;
  child.pipe = pipe;
  child.body = body;
  child.user = user;
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  set_handlers();
  set_limits();
  if (pthread_create(&thread, NULL, work, NULL) != 0) {
    leave(CHILD_NO_THREAD);
  }
  pthread_join(thread, NULL);
  report->finished = 1;
  leave(0);
}

/* ---- In the parent ---- */

/* CPU seconds that PROCESS has used; −1 if it is gone. */
static double used_by(pid_t process) {
  clockid_t clock;
  struct timespec t;
  return clock_getcpuclockid(process, &clock) == 0 && clock_gettime(clock, &t) == 0
             ? (double)t.tv_sec + 1e-9 * (double)t.tv_nsec
             : -1;
}

/* When the current call began, in CPU time, and the clock when CPU time last grew. */
struct watch {
  uint64_t calls;
  double began, used, moved;
};

/* 1 if the current call takes too long. */
static int too_long(struct watch *w, pid_t process, const gemel__report *report, double seconds) {
  double used = used_by(process), now = gemel__clock();
  if (report->calls != w->calls || used > w->used + 1e-3) {
    w->moved = now;
  }
  if (report->calls != w->calls) {
    w->calls = report->calls;
    w->began = used;
  }
  w->used = used;
  return used - w->began > seconds || now - w->moved > IDLE_FACTOR * seconds;
}

static const char *signal_name(int number) {
  static const struct {
    int number;
    const char *name;
  } names[] = {{SIGABRT, "SIGABRT"}, {SIGFPE, "SIGFPE"},   {SIGILL, "SIGILL"},
               {SIGSEGV, "SIGSEGV"}, {SIGBUS, "SIGBUS"},   {SIGKILL, "SIGKILL"},
               {SIGTERM, "SIGTERM"}, {SIGTRAP, "SIGTRAP"}, {SIGSYS, "SIGSYS"}};
  for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
    if (names[k].number == number) {
      return names[k].name;
    }
  }
  return "a signal";
}

static void judge_end(const gemel__report *report, int known, int status, double seconds,
                      gemel__end *end) {
  static const char *const stages[] = {"between calls", "in prepare", "in run", "in release"};
  const char *stage = stages[report->stage];
  if (end->hung) {
    snprintf(end->text, sizeof end->text, "no end %s: more than %g s of CPU time, or of waiting",
             stage, seconds);
  } else if (report->fault[0] != '\0') {
    snprintf(end->text, sizeof end->text, "%s %s", report->fault, stage);
  } else if (report->left) {
    snprintf(end->text, sizeof end->text, "exit() was called %s", stage);
  } else if (report->finished) {
    end->good = 1;
  } else if (known && WIFSIGNALED(status)) {
    snprintf(end->text, sizeof end->text, "%s (signal %d) %s", signal_name(WTERMSIG(status)),
             WTERMSIG(status), stage);
  } else {
    snprintf(end->text, sizeof end->text, "the process was ended with status %d %s",
             known && WIFEXITED(status) ? WEXITSTATUS(status) : -1, stage);
  }
}

static void attend(pid_t process, int pipe, gemel__report *report, double seconds,
                   gemel__end *end) {
  struct watch w = {report->calls, 0, 0, gemel__clock()};
  struct pollfd heard = {pipe, POLLIN, 0};
  int status = 0, tick = TICK_MS;
  pid_t gone = 0;
  while (gone == 0 || (gone < 0 && errno == EINTR)) {
    if (poll(&heard, 1, tick) > 0) {
      /* the child is done, or closed the pipe and goes on */
      heard.fd = -1;
      tick = 1;
    }
    gone = waitpid(process, &status, WNOHANG);
    if (gone == 0 && too_long(&w, process, report, seconds)) {
      end->hung = 1;
      kill(-process, SIGKILL); /* the child's process group: whatever it has started */
      kill(process, SIGKILL);
    }
  }
  /* gone is −1 if the program ignores SIGCHLD: the exit status is unknown */
  judge_end(report, gone == process, status, seconds, end);
}

static gemel_status start(void (*body)(void *), void *user, gemel__report *report, double seconds,
                          gemel__end *end, gemel_error *error) {
  int ends[2];
  pid_t process;
  if (pipe(ends) != 0) {
    return gemel__fail(error, GEMEL_UNSUPPORTED, "no pipe to a process for the kernel: %s",
                       strerror(errno));
  }
  fflush(NULL); /* or the child would write buffered output a second time */
  process = fork();
  if (process == 0) {
    close(ends[0]);
    be_child(body, user, report, ends[1]);
  }
  close(ends[1]);
  if (process > 0) {
    attend(process, ends[0], report, seconds, end);
  }
  close(ends[0]);
  return process > 0 ? GEMEL_OK
                     : gemel__fail(error, errno == ENOMEM ? GEMEL_NO_MEMORY : GEMEL_UNSUPPORTED,
                                   "no process for the kernel can be started");
}

gemel_status gemel__process_run(void (*body)(void *), void *user, gemel__report *report,
                                double seconds, int in_process, gemel__end *end,
                                gemel_error *error) {
  memset(end, 0, sizeof *end);
  memset(report, 0, sizeof *report);
  if (!in_process) {
    return start(body, user, report, seconds, end, error);
  }
  body(user);
  end->good = 1;
  return GEMEL_OK;
}
