/* SPDX-License-Identifier: MIT
 *
 * A target for libFuzzer (ci/fuzz): any bytes as the files of a folder that gemel verify --replay
 * is given. A line "== NAME" begins a file; its name has no slash. They lie in a folder of their
 * own in memory.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <gemel/verify.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

enum { MOST_FILES = 12 };

typedef struct folder {
  char path[64];
  char files[MOST_FILES][160];
  size_t n;
} folder;

static void take(void *user, const gemel_record *record) {
  (void)user;
  (void)record;
}

static int count_ticks(void *user, const char *doing) {
  size_t *ticks = user;
  (void)doing;
  return ++*ticks > 200;
}

/* Writes the file whose head, "NAME\n", is at AT; returns what is behind it. */
static const char *write_file(folder *f, const char *at, const char *end) {
  const char *line = memchr(at, '\n', (size_t)(end - at));
  const char *body = line != NULL ? line + 1 : end;
  const char *next = memmem(body, (size_t)(end - body), "\n== ", 4);
  size_t name = (size_t)((line != NULL ? line : end) - at);
  next = next != NULL ? next + 1 : end;
  if (f->n < MOST_FILES && name > 0 && name < 40 && memchr(at, '/', name) == NULL &&
      memchr(at, 0, name) == NULL && at[0] != '.') {
    char *path = f->files[f->n++];
    snprintf(path, sizeof f->files[0], "%s/%.*s", f->path, (int)name, at);
    FILE *file = fopen(path, "wb");
    if (file != NULL) {
      fwrite(body, 1, (size_t)(next - body), file);
      fclose(file);
    }
  }
  return next < end ? next + 3 : end;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
  gemel_error error;
  size_t ticks = 0;
  folder f = {.path = "/dev/shm/gemel-fuzz-XXXXXX", .n = 0};
  const char *at = (const char *)bytes, *end = at + length;
  const gemel_verify_options options = {
      .size = sizeof options, .sink = take, .tick = count_ticks, .user = &ticks};
  gemel_context *context = gemel_context_new(&error);
  if (context == NULL || mkdtemp(f.path) == NULL) {
    abort();
  }
  at = length > 3 && memcmp(at, "== ", 3) == 0 ? at + 3 : end;
  while (at < end) {
    at = write_file(&f, at, end);
  }
  gemel_verify_replay(context, f.path, &options, NULL, &error);
  for (size_t k = 0; k < f.n; k++) {
    unlink(f.files[k]);
  }
  rmdir(f.path);
  gemel_context_unref(context);
  return 0;
}
