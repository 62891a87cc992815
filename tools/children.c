/* SPDX-License-Identifier: MIT
 *
 * Runs something in a child that may hang, crash, write without end or leave processes behind. What
 * it writes comes through a pipe, of which the last bytes are kept, so that no disk and no memory
 * can be filled. Whether it has ended is looked up, not waited for: what it has started may keep
 * the pipe open.
 */
#include "children.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tool.h"

enum { CHUNK = 1 << 16, MOST_CHUNKS = 16 /* that a pipe may hold */ };

static void keep_last(gemel__tail *t, const char *bytes, size_t n) {
  size_t room = sizeof t->bytes;
  if (n > room) {
    bytes += n - room;
    n = room;
  }
  size_t stay = t->used + n > room ? room - n : t->used;
  memmove(t->bytes, t->bytes + t->used - stay, stay);
  memcpy(t->bytes + stay, bytes, n);
  t->used = stay + n;
}

static int ends_line(char c) {
  return c == '\n' || c == '\r' || c == '\0';
}

void gemel__tail_line(const gemel__tail *t, char *text, size_t bytes) {
  size_t end = t->used;
  while (end > 0 && ends_line(t->bytes[end - 1])) {
    end--;
  }
  size_t begin = end;
  while (begin > 0 && !ends_line(t->bytes[begin - 1])) {
    begin--;
  }
  snprintf(text, bytes, "%.*s", (int)(end - begin), t->bytes + begin);
}

int gemel__tail_read(gemel__tail *t, int pipe) {
  char bytes[CHUNK];
  ssize_t n = read(pipe, bytes, sizeof bytes);
  keep_last(t, bytes, n > 0 ? (size_t)n : 0);
  return n > 0 || (n < 0 && errno == EINTR);
}

/* Reads PIPE until CHILD has ended, and ends it if it must; how it ended, as waitpid says it. */
static int attend(pid_t child, int pipe, double limit, gemel__tail *t, int *late) {
  enum { LONGEST = 50 /* ms */ };
  struct pollfd wait = {.fd = pipe, .events = POLLIN};
  double began = gemel__now();
  int how = 0, pause = 1;
  while (waitpid(child, &how, WNOHANG) == 0) {
    int ready = poll(&wait, 1, pause);
    if (ready > 0 && !gemel__tail_read(t, pipe)) {
      wait.fd = -1;
    }
    pause = ready > 0 ? 1 : pause < LONGEST ? 2 * pause : LONGEST;
    *late = *late || (limit > 0 && gemel__now() - began > limit);
    if (*late || gemel__signals_caught()) {
      kill(-child, SIGKILL);
    }
  }
  return how;
}

/* Attends to CHILD until it has ended, and its group with it. */
static void follow(pid_t child, int pipe, double limit, gemel__child_end *end) {
  gemel__tail t = {.used = 0};
  struct pollfd rest = {.fd = pipe, .events = POLLIN};
  int how = attend(child, pipe, limit, &t, &end->late);
  kill(-child, SIGKILL);
  gemel__guard_leave(GEMEL__GUARD_CHILD);
  for (int k = 0; k < MOST_CHUNKS && poll(&rest, 1, 0) > 0 && gemel__tail_read(&t, pipe); k++) {
  }
  end->signal = WIFSIGNALED(how) ? WTERMSIG(how) : 0;
  end->status = WIFEXITED(how) ? WEXITSTATUS(how) : 0;
  gemel__tail_line(&t, end->line, sizeof end->line);
}

/* The child, which writes to PIPE. */
static void be_child(void (*body)(void *), void *user, int pipe) {
  setpgid(0, 0);
  gemel__signals_release();
  gemel__guard_join(GEMEL__GUARD_CHILD);
  gemel__stream_to_null(STDIN_FILENO);
  if (dup2(pipe, STDOUT_FILENO) >= 0 && dup2(pipe, STDERR_FILENO) >= 0) {
    body(user);
  }
  gemel__end_child(GEMEL__BAD);
}

void gemel__child_run(void (*body)(void *), void *user, double limit, gemel__child_end *end) {
  int ends[2];
  memset(end, 0, sizeof *end);
  if (pipe2(ends, O_CLOEXEC) != 0) {
    end->problem = errno;
    return;
  }
  pid_t child = gemel__fork();
  if (child == 0) {
    be_child(body, user, ends[1]);
  }
  end->problem = child < 0 ? errno : 0;
  close(ends[1]);
  if (child > 0) {
    setpgid(child, child);
    follow(child, ends[0], limit, end);
  }
  close(ends[0]);
}
