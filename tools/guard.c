/* SPDX-License-Identifier: MIT
 *
 * A process that outlives the command by a moment. It makes a folder, and reads from a socket whose
 * other end only the command has: which groups of processes run now, one a place. When that end is
 * closed, be it by SIGKILL, it ends the groups and removes the folder, and files that were written
 * aside. A child says itself which group it is, before it lets go of the socket, so none is missed.
 * The guard is in a group of its own, and ignores the signals by which a user ends the command: the
 * command has to end first.
 */
#include <errno.h>
#include <ftw.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "children.h"
#include "tool.h"

/* What the guard is told: which group is in a place. */
typedef struct message {
  int place;
  pid_t group;
} message;
enum { NO_GROUP = 0, IN_ORDER = -1 };

static int command_end = -1; /* of the socket */
static pid_t guard;

/* ---- Removing ---- */

static int remove_entry(const char *path, const struct stat *about, int kind, struct FTW *at) {
  (void)about;
  (void)kind;
  if (at->level > 0) {
    remove(path);
  }
  return 0;
}

void gemel__folder_clear(const char *folder) {
  enum { OPEN_FOLDERS = 16 };
  nftw(folder, remove_entry, OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS);
}

/* Who was killed may write for a moment. */
static void remove_folder(const char *folder) {
  enum { TIMES = 100, PAUSE = 20000 /* microseconds */ };
  for (int k = 0; k < TIMES; k++) {
    gemel__folder_clear(folder);
    if (rmdir(folder) == 0 || errno == ENOENT) {
      return;
    }
    usleep(PAUSE);
  }
}

/* ---- The guard ---- */

static void ignore_requests(void) {
  static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGQUIT, SIGTSTP};
  for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
    signal(numbers[k], SIG_IGN);
  }
}

/* Lets go of the command's files, which others may wait to see closed. */
static void close_standard(void) {
  gemel__stream_to_null(STDIN_FILENO);
  gemel__stream_to_null(STDOUT_FILENO);
  gemel__stream_to_null(STDERR_FILENO);
}

/* Reads SOCKET until its other end is closed; 1 if the command ended in order. */
static int attend(int socket) {
  pid_t groups[GEMEL__GUARD_PLACES] = {NO_GROUP};
  message said;
  ssize_t n;
  int in_order = 0;
  while ((n = recv(socket, &said, sizeof said, MSG_WAITALL)) > 0 || (n < 0 && errno == EINTR)) {
    if (n == (ssize_t)sizeof said) {
      groups[said.place] = said.group;
      in_order = said.group == IN_ORDER;
    }
  }
  for (int k = 0; k < GEMEL__GUARD_PLACES; k++) {
    if (groups[k] > 0) {
      kill(-groups[k], SIGKILL);
    }
  }
  return in_order;
}

/* The guard's whole life. Its first words are how making the folder went: errno, and the name. */
static void be_guard(int socket, char *template) {
  setpgid(0, 0);
  ignore_requests();
  close_standard();
  int problem = mkdtemp(template) != NULL ? 0 : errno;
  send(socket, &problem, sizeof problem, MSG_NOSIGNAL);
  send(socket, template, strlen(template), MSG_NOSIGNAL);
  if (!attend(socket)) {
    gemel__signals_clear();
  }
  if (problem == 0) {
    remove_folder(template);
  }
  gemel__end_child(0);
}

/* ---- The command ---- */

static void tell(gemel__guard_place place, pid_t group) {
  message what = {place, group};
  if (command_end >= 0) {
    send(command_end, &what, sizeof what, MSG_NOSIGNAL);
  }
}

/* The guard's first words, into TEMPLATE; errno, 0: the folder is made. */
static int hear(char *template) {
  int problem = ECHILD;
  size_t length = strlen(template);
  if (recv(command_end, &problem, sizeof problem, MSG_WAITALL) == (ssize_t)sizeof problem &&
      problem == 0 && recv(command_end, template, length, MSG_WAITALL) != (ssize_t)length) {
    problem = ECHILD;
  }
  return problem;
}

int gemel__guard_start(char *template) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return gemel__complain("a socket can't be made: %s", strerror(errno));
  }
  guard = gemel__fork();
  if (guard == 0) {
    close(ends[0]);
    be_guard(ends[1], template);
  }
  int problem = guard < 0 ? errno : 0;
  close(ends[1]);
  command_end = ends[0];
  problem = problem == 0 ? hear(template) : problem;
  if (problem != 0) {
    gemel__guard_end();
    return gemel__complain("%s: %s", template, strerror(problem));
  }
  return GEMEL__GOOD;
}

void gemel__guard_join(gemel__guard_place place) {
  tell(place, getpid());
  close(command_end);
  command_end = -1;
}

void gemel__guard_leave(gemel__guard_place place) {
  tell(place, NO_GROUP);
}

void gemel__guard_end(void) {
  tell(GEMEL__GUARD_CHILD, IN_ORDER);
  close(command_end);
  command_end = -1;
  while (guard > 0 && waitpid(guard, NULL, 0) < 0 && errno == EINTR) {
  }
}
