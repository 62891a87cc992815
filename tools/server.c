/* SPDX-License-Identifier: MIT
 *
 * A server: a command that is started once and asked many times, a line in, a line out, so that
 * what it needs to start is paid for once. Its group of processes goes with the command (guard.c).
 * It is asked through a socket, as a pipe that nobody reads would end the command; what it writes
 * to stderr is read along, of which the last bytes are kept.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "children.h"
#include "tool.h"

enum { LONGEST = 50 /* ms between two looks at the clock */ };

static void be_server(const char *command, int questions, int answers, int errors) {
  setpgid(0, 0);
  gemel__signals_release();
  gemel__guard_join(GEMEL__GUARD_SERVER);
  if (dup2(questions, STDIN_FILENO) >= 0 && dup2(answers, STDOUT_FILENO) >= 0 &&
      dup2(errors, STDERR_FILENO) >= 0) {
    execl("/bin/sh", "sh", "-c", command, (char *)NULL);
  }
  gemel__end_child(GEMEL__BAD);
}

static void close_both(const int ends[2]) {
  close(ends[0]);
  close(ends[1]);
}

int gemel__server_start(gemel__server *s, const char *command) {
  int in[2], out[2], err[2];
  memset(s, 0, sizeof *s);
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in) != 0) {
    return errno;
  }
  int problem = pipe2(out, O_CLOEXEC) != 0 ? errno : 0;
  if (problem != 0 || pipe2(err, O_CLOEXEC) != 0) {
    int later = problem == 0 ? errno : problem;
    close_both(in);
    if (problem == 0) {
      close_both(out);
    }
    return later;
  }
  pid_t child = gemel__fork();
  if (child == 0) {
    be_server(command, in[1], out[1], err[1]);
  }
  problem = child < 0 ? errno : 0;
  close(in[1]);
  close(out[1]);
  close(err[1]);
  s->questions = in[0];
  s->answers = out[0];
  s->errors = err[0];
  s->process = child > 0 ? child : 0;
  if (child > 0) {
    setpgid(child, child);
  } else {
    close(in[0]);
    close(out[0]);
    close(err[0]);
  }
  return problem;
}

/* Takes a line off what is held: 1, or 0 if none is whole. */
static int take_line(gemel__server *s, char *answer, size_t bytes) {
  char *end = memchr(s->held, '\n', s->used);
  int is_full = end == NULL && s->used == sizeof s->held;
  if (end == NULL && !is_full) {
    return 0;
  }
  size_t length = is_full ? s->used : (size_t)(end - s->held);
  snprintf(answer, bytes, "%.*s", (int)length, s->held);
  size_t drop = is_full ? length : length + 1;
  memmove(s->held, s->held + drop, s->used - drop);
  s->used -= drop;
  return 1;
}

/* Reads what there is of answers and messages; 0: no answer will come. */
static int listen_to(gemel__server *s) {
  struct pollfd wait[2] = {{.fd = s->answers, .events = POLLIN},
                           {.fd = s->errors, .events = POLLIN}};
  if (poll(wait, 2, LONGEST) <= 0) {
    return 1;
  }
  if (wait[1].revents != 0 && !gemel__tail_read(&s->said, s->errors)) {
    close(s->errors);
    s->errors = -1;
  }
  if (wait[0].revents == 0) {
    return 1;
  }
  ssize_t n = read(s->answers, s->held + s->used, sizeof s->held - s->used);
  s->used += n > 0 ? (size_t)n : 0;
  return n > 0 || (n < 0 && errno == EINTR);
}

/* What is left of a server that has ended. */
static void release(gemel__server *s) {
  kill((pid_t)-s->process, SIGKILL);
  gemel__guard_leave(GEMEL__GUARD_SERVER);
  close(s->questions);
  close(s->answers);
  if (s->errors >= 0) {
    close(s->errors);
  }
  s->process = 0;
}

/* Ends the server, and says in END how it ended. */
static void give_up(gemel__server *s, int late, gemel__child_end *end) {
  int how = 0;
  memset(end, 0, sizeof *end);
  if (late) {
    kill((pid_t)-s->process, SIGKILL);
  }
  pid_t ended = 0;
  for (double began = gemel__now(); ended == 0 && gemel__now() - began < 1;) {
    ended = waitpid((pid_t)s->process, &how, WNOHANG); /* it may have closed its output first */
    usleep(ended == 0 ? 1000 : 0);
  }
  while (s->errors >= 0 && poll(&(struct pollfd){.fd = s->errors, .events = POLLIN}, 1, 0) > 0 &&
         gemel__tail_read(&s->said, s->errors)) {
  }
  end->late = late;
  end->signal = ended > 0 && WIFSIGNALED(how) ? WTERMSIG(how) : 0;
  end->status = ended > 0 && WIFEXITED(how) ? WEXITSTATUS(how) : 0;
  gemel__tail_line(&s->said, end->line, sizeof end->line);
  if (ended > 0) {
    release(s);
  } else {
    gemel__server_stop(s);
  }
}

/* 1 if it has said more than it was asked for, so that no answer would be told from another. */
static int has_said_more(gemel__server *s) {
  while (s->used == 0 && poll(&(struct pollfd){.fd = s->answers, .events = POLLIN}, 1, 0) > 0 &&
         listen_to(s)) {
  }
  return s->used > 0;
}

int gemel__server_ask(gemel__server *s, const char *question, double limit, char *answer,
                      size_t bytes, gemel__child_end *end) {
  double began = gemel__now();
  int late = 0, hears = 1;
  if (question != NULL && has_said_more(s)) {
    gemel__server_stop(s);
    s->used = 0;
    snprintf(answer, bytes, "error it answers more often than it is asked");
    return 1;
  }
  if (question != NULL) {
    char *line = gemel__need_text("%s\n", question);
    hears = send(s->questions, line, strlen(line), MSG_NOSIGNAL) == (ssize_t)strlen(line);
    free(line);
  }
  while (!take_line(s, answer, bytes)) {
    late = limit > 0 && gemel__now() - began > limit;
    if (late || gemel__signals_caught() || !hears || !listen_to(s)) {
      give_up(s, late || gemel__signals_caught() != 0, end);
      return 0;
    }
  }
  return 1;
}

void gemel__server_stop(gemel__server *s) {
  if (s->process == 0) {
    return;
  }
  kill((pid_t)-s->process, SIGKILL);
  while (waitpid((pid_t)s->process, NULL, 0) < 0 && errno == EINTR) {
  }
  release(s);
}
