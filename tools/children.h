/* SPDX-License-Identifier: MIT
 *
 * Processes that the command starts, a child at a time and a server beside it, and what goes with
 * it when it ends in any way: what it started, and a folder for what they write (guard.c,
 * children.c, server.c).
 */
#ifndef GEMEL__TOOLS_CHILDREN_H
#define GEMEL__TOOLS_CHILDREN_H

#include <stddef.h>

/* ---- The guard (guard.c) ---- */

/* Makes a folder from TEMPLATE, as mkdtemp. From now on it, the child that runs and files that are
 * written aside go with this process, however that ends. GEMEL__BAD (said). */
int gemel__guard_start(char *template);

/* Of each kind one group of processes runs at a time. */
typedef enum gemel__guard_place {
  GEMEL__GUARD_CHILD,
  GEMEL__GUARD_SERVER,
  GEMEL__GUARD_PLACES
} gemel__guard_place;

/* In a child: its group goes with the command, whose end it may outlive from here on. */
void gemel__guard_join(gemel__guard_place place);

/* It has ended. */
void gemel__guard_leave(gemel__guard_place place);

/* Removes the folder, and waits until that is done. */
void gemel__guard_end(void);

/* Removes what is in FOLDER. */
void gemel__folder_clear(const char *folder);

/* ---- Children (children.c) ---- */

/* What became of a child. */
typedef struct gemel__child_end {
  int problem;    /* errno: it wasn't started; else 0 */
  int late;       /* 1: it took longer than its limit, and was ended */
  int signal;     /* that ended it; 0: it ended by itself */
  int status;     /* then its exit status */
  char line[600]; /* the last line that it wrote to stdout or stderr, or what it started */
} gemel__child_end;

/* Runs BODY(USER), which doesn't return, in a child and group of its own with nothing to read.
 * Whatever it writes, only the last 4 KiB are kept meanwhile. It is ended after LIMIT seconds (0:
 * none), or if the user ends the command; what is left of its group is ended with it. */
void gemel__child_run(void (*body)(void *user), void *user, double limit, gemel__child_end *end);

/* The last bytes that a child wrote. */
typedef struct gemel__tail {
  char bytes[4096];
  size_t used;
} gemel__tail;

/* Reads some of PIPE; 0: nothing more will come. */
int gemel__tail_read(gemel__tail *tail, int pipe);

/* The last line with something in it, shortened to fit TEXT. */
void gemel__tail_line(const gemel__tail *tail, char *text, size_t bytes);

/* ---- A server (server.c) ---- */

/* A command of the shell that stays, and answers a line with a line. */
typedef struct gemel__server {
  long process; /* 0: it doesn't run */
  int questions, answers, errors;
  gemel__tail said;   /* to stderr */
  char held[1 << 12]; /* of ANSWERS, the beginning of a line */
  size_t used;
} gemel__server;

/* Starts COMMAND; 0, or errno. */
int gemel__server_start(gemel__server *server, const char *command);

/* Writes QUESTION and a newline (NULL: nothing), and reads a line to ANSWER. 1; or 0 with END: the
 * server has ended, or was ended as LIMIT seconds (0: none) have passed or the user ends the
 * command. A line that doesn't fit is cut. */
int gemel__server_ask(gemel__server *server, const char *question, double limit, char *answer,
                      size_t bytes, gemel__child_end *end);

/* Ends it, and all processes of its group. */
void gemel__server_stop(gemel__server *server);

#endif
