/* SPDX-License-Identifier: MIT
 *
 * Messages to people: complaints, progress and colours. A complaint is one message that begins with
 * "gemel: "; progress is shown on a terminal only, on one line that is written over and cleared.
 * Colours are for terminals, too: what goes to a file or a pipe has no escape codes in it.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "tool.h"

static int progress_shown;

int gemel__complain(const char *format, ...) {
  va_list args;
  gemel__progress(NULL);
  va_start(args, format);
  fputs("gemel: ", stderr);
  vfprintf(stderr, format, args);
  fputc('\n', stderr);
  va_end(args);
  return GEMEL__BAD;
}

int gemel__complain_error(const char *what, const gemel_error *error) {
  const char *text = error->text[0] != '\0' ? error->text : gemel_status_text(error->status);
  if (what == NULL || strncmp(text, what, strlen(what)) == 0) {
    return gemel__complain("%s", text); /* a message with a line names the file by itself */
  }
  return gemel__complain("%s: %s", what, text);
}

int gemel__complain_unread(const char *what, const gemel_error *error) {
  gemel__complain_error(what, error);
  return error->status == GEMEL_UNSUPPORTED ? GEMEL__LACKING : GEMEL__BAD;
}

void gemel__progress(const char *format, ...) {
  static int terminal = -1;
  va_list args;
  if (terminal < 0) {
    terminal = isatty(STDERR_FILENO);
  }
  if (!terminal || (format == NULL && !progress_shown)) {
    return;
  }
  fputs("\r\033[K", stderr);
  progress_shown = format != NULL;
  if (format != NULL) {
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
  }
  fflush(stderr);
}

int gemel__is_coloured(FILE *file) {
  const char *none = getenv("NO_COLOR"), *term = getenv("TERM");
  return (none == NULL || none[0] == '\0') && term != NULL && strcmp(term, "dumb") != 0 &&
         isatty(fileno(file));
}

void gemel__paint(FILE *file, gemel__tone tone, int width, const char *word) {
  static const char *const begin[] = {[GEMEL__TONE_QUIET] = "",
                                      [GEMEL__TONE_GOOD] = "\033[32m",
                                      [GEMEL__TONE_OPEN] = "\033[33m",
                                      [GEMEL__TONE_BAD] = "\033[1;31m"};
  int coloured = tone != GEMEL__TONE_QUIET && gemel__is_coloured(file);
  int spaces = width - (int)strlen(word);
  fprintf(file, "%s%s%s%*s", coloured ? begin[tone] : "", word, coloured ? "\033[m" : "",
          spaces > 0 ? spaces : 0, "");
}

double gemel__now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
