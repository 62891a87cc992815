/* SPDX-License-Identifier: MIT
 *
 * Processes that the command starts, one at a time, and what goes with it when it ends in any way:
 * what it started, and a folder for what they write (guard.c, children.c).
 */
#ifndef GEMEL__TOOLS_CHILDREN_H
#define GEMEL__TOOLS_CHILDREN_H

#include <stddef.h>

/* ---- The guard (guard.c) ---- */

/* Makes a folder from TEMPLATE, as mkdtemp. From now on it, the child that runs and files that are
 * written aside go with this process, however that ends. GEMEL__BAD (said). */
int gemel__guard_start(char *template);

/* In a child: its group goes with the command, whose end it may outlive from here on. */
void gemel__guard_join(void);

/* The child has ended. */
void gemel__guard_leave(void);

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

#endif
