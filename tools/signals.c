/* SPDX-License-Identifier: MIT
 *
 * Signals that end the command. One that ends in order takes the first as a request: what is under
 * way is finished or given up, and what is known is printed and written; a second signal ends it at
 * once, and so does a minute, for who sends but one. At once means that files which are written
 * aside are removed first, in any command.
 */
#include <signal.h>
#include <string.h>
#include <unistd.h>
#include "tool.h"

enum { MOST_ASIDE = 8, PATIENCE = 60 /* seconds */ };

static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGALRM};

enum { NUMBERS = sizeof numbers / sizeof *numbers };

static volatile sig_atomic_t in_order, caught;

/* Files that are written aside, to be removed; NULL: a place that is free. */
static char *volatile aside[MOST_ASIDE];

void gemel__signals_clear(void) {
  for (size_t k = 0; k < MOST_ASIDE; k++) {
    if (aside[k] != NULL) {
      unlink(aside[k]);
    }
  }
}

static void end_at_once(int number) {
  gemel__signals_clear();
  signal(number, SIG_DFL);
  raise(number);
}

static int is_request(int number) {
  return number == SIGINT || number == SIGTERM || number == SIGHUP;
}

static void take(int number) {
  if (in_order && !caught && is_request(number)) {
    caught = number;
    alarm(PATIENCE);
  } else {
    end_at_once(number);
  }
}

/* What is ignored, as by nohup, stays so. */
static void handle_all(void) {
  struct sigaction action, now;
  memset(&action, 0, sizeof action);
  action.sa_handler = take;
  for (size_t k = 0; k < NUMBERS; k++) {
    if (sigaction(numbers[k], NULL, &now) == 0 && now.sa_handler != SIG_IGN) {
      sigaction(numbers[k], &action, NULL);
    }
  }
}

void gemel__signals_catch(void) {
  in_order = 1;
  handle_all();
}

void gemel__signals_release(void) {
  in_order = 0;
  memset((void *)aside, 0, sizeof aside);
  for (size_t k = 0; k < NUMBERS; k++) {
    signal(numbers[k], SIG_DFL);
  }
}

int gemel__signals_caught(void) {
  return caught;
}

/* Puts AFTER in the place of BEFORE. */
static void replace(const char *before, char *after) {
  for (size_t k = 0; k < MOST_ASIDE; k++) {
    if (aside[k] == before) {
      aside[k] = after;
      return;
    }
  }
}

void gemel__signals_aside(char *path) {
  replace(NULL, path);
  handle_all();
}

void gemel__signals_kept(char *path) {
  replace(path, NULL);
}
