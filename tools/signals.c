/* SPDX-License-Identifier: MIT
 *
 * Signals that ask the command to end. It ends in order: what is under way is finished or given up,
 * and what is known is printed and written. A second signal ends it at once; so does a minute, for
 * who sends but one.
 */
#include <signal.h>
#include <string.h>
#include <unistd.h>
#include "tool.h"

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

enum { SIGNALS = sizeof signals / sizeof *signals };

static volatile sig_atomic_t caught;

static void take(int number) {
  enum { PATIENCE = 60 }; /* seconds */
  caught = number;
  alarm(PATIENCE);
  gemel__signals_release();
}

void gemel__signals_catch(void) {
  struct sigaction action, now;
  memset(&action, 0, sizeof action);
  action.sa_handler = take;
  for (size_t k = 0; k < SIGNALS; k++) {
    /* what is ignored, as by nohup, stays so */
    if (sigaction(signals[k], NULL, &now) == 0 && now.sa_handler != SIG_IGN) {
      sigaction(signals[k], &action, NULL);
    }
  }
}

void gemel__signals_release(void) {
  for (size_t k = 0; k < SIGNALS; k++) {
    signal(signals[k], SIG_DFL);
  }
}

int gemel__signals_caught(void) {
  return caught;
}
