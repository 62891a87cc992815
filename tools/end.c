/* SPDX-License-Identifier: MIT
 *
 * How the process ends. Its status is the command's word, and 1 is a verdict; yet libraries end a
 * process too: OpenMP by exit(1) where a thread can't be started, GMP and FLINT by abort() where
 * memory is out. Both become GEMEL__BAD, with a line on stderr. The handler of exit() knows by a
 * note of the command's own status which of them called it. It is the last of those that were
 * registered while the command ran, and the libraries' own ends would come after it. These are left
 * out, as a thread that was never started may be waited for there; but sanitizers, and the counts
 * of a build for coverage, have theirs.
 */
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "tool.h"

enum { NOT_YET = -1 };

static volatile sig_atomic_t own = NOT_YET; /* the status that the command ends with */
static pid_t watched;                       /* the command; its children have no folder to remove */

#ifdef GEMEL_COVERAGE
void __gcov_dump(void); /* of libgcov: writes the counts, which _exit() doesn't */
#define WRITE_COUNTS() __gcov_dump()
#else
#define WRITE_COUNTS() ((void)0)
#endif

#if defined GEMEL_COVERAGE || defined GEMEL_SANITIZED
enum { LIBRARIES_END = 1 };
#else
enum { LIBRARIES_END = 0 };
#endif

#define BY_LIBRARY                                                                                 \
  " was called by a library that gemel stands on, as when memory or threads run out\n"

/* Ends the process for what TEXT says; safe in a handler of a signal. Where several threads end it,
 * the first one does. */
static void give_up(const char *text) {
  static atomic_flag taken = ATOMIC_FLAG_INIT;
  while (atomic_flag_test_and_set(&taken)) {
    pause();
  }
  ssize_t written = write(STDERR_FILENO, "gemel: ", 7);
  written = write(STDERR_FILENO, text, strlen(text));
  (void)written;
  gemel__signals_clear();
  if (getpid() == watched) {
    gemel__folder_unmake();
  }
  WRITE_COUNTS();
  _exit(GEMEL__BAD);
}

static void on_exit_called(void) {
  fflush(NULL);
  if (own == NOT_YET) {
    give_up("exit()" BY_LIBRARY);
  }
  if (!LIBRARIES_END) {
    _exit(own);
  }
}

static void on_abort(int number) {
  (void)number;
  give_up("abort()" BY_LIBRARY);
}

void gemel__end_watch(void) {
  struct sigaction action;
  watched = getpid();
  memset(&action, 0, sizeof action);
  action.sa_handler = on_abort;
  sigaction(SIGABRT, &action, NULL);
  atexit(on_exit_called);
}

int gemel__end_with(int status) {
  own = status;
  return status;
}

/* ---- Children ---- */

static void on_late(int number) {
  (void)number;
  give_up("no process can be started: a library that gemel stands on waits for memory\n");
}

/* OpenBLAS ends its threads before a fork, and one that has found no memory never ends. */
pid_t gemel__fork(void) {
  enum { PATIENCE = 10 /* seconds */ };
  struct sigaction action, before;
  memset(&action, 0, sizeof action);
  action.sa_handler = on_late;
  fflush(NULL);
  unsigned left = alarm(0);
  sigaction(SIGALRM, &action, &before);
  alarm(PATIENCE);
  pid_t child = fork();
  alarm(0);
  sigaction(SIGALRM, &before, NULL);
  if (child != 0) {
    alarm(left);
  }
  return child;
}

void gemel__end_child(int status) {
  WRITE_COUNTS();
  _exit(status);
}
