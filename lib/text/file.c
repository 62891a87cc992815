/* SPDX-License-Identifier: MIT
 *
 * Whole files: reading one into a block, writing one beside its place and renaming it, and loading
 * and saving graphs. In a folder that many may write to, somebody may have left a link where a file
 * is to be written, and whoever writes through it changes a file elsewhere. So links are followed
 * one by one, and only those of the user or of the system; another's is replaced, not followed. The
 * file aside is new, under a name that can't be foreseen.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "core/alloc.h"
#include "core/error.h"
#include "text/binary.h"
#include "text/file.h"

static gemel_status system_failed(const char *path, const char *what, gemel_error *error) {
  return gemel__fail(error, GEMEL_IO, "%s: %s: %s", path, what, strerror(errno));
}

static gemel_status too_long(const char *path, size_t most, gemel_error *error) {
  return gemel__fail(error, GEMEL_BAD_FILE, "%s: is a text of more than %zu bytes", path, most);
}

/* A device may have no end. */
enum { MOST_OF_DEVICE = 1 << 26 };

/* Reads the rest of STREAM, which may be a pipe, into a block that grows to MOST bytes. */
static gemel_status read_stream(FILE *stream, const char *path, size_t expected, size_t most,
                                char **bytes, size_t *length, gemel_error *error) {
  size_t capacity = 0, used = 0, n;
  char *block = NULL;
  do {
    if (used > most) {
      gemel__free(block, capacity);
      return too_long(path, most, error);
    }
    if (gemel__grow(&block, &capacity, used + (used == 0 ? expected + 2 : 4096), 1)) {
      gemel__free(block, capacity);
      return gemel__no_memory(error, path);
    }
    n = fread(block + used, 1, capacity - used - 1, stream);
    used += n;
  } while (n > 0);
  char *exact = ferror(stream) ? NULL : (char *)gemel__realloc(block, capacity, used + 1);
  if (!exact) {
    gemel_status status = ferror(stream) ? system_failed(path, "can't be read", error)
                                         : gemel__no_memory(error, path);
    gemel__free(block, capacity);
    return status;
  }
  exact[used] = 0;
  *bytes = exact;
  *length = used;
  return GEMEL_OK;
}

gemel_status gemel__file_read(const char *path, size_t most, char **bytes, size_t *length,
                              gemel_error *error) {
  struct stat info;
  FILE *stream = path ? fopen(path, "rb") : NULL;
  if (!path) {
    return gemel__null(error, "the path");
  }
  if (!stream) {
    return system_failed(path, "can't be opened", error);
  }
  gemel_status status = GEMEL_OK;
  if (fstat(fileno(stream), &info) != 0 || S_ISDIR(info.st_mode)) {
    status = gemel__fail(error, GEMEL_IO, "%s: is a folder", path);
  } else {
    size_t expected = S_ISREG(info.st_mode) ? (size_t)info.st_size : 0;
    most = S_ISCHR(info.st_mode) && most > MOST_OF_DEVICE ? MOST_OF_DEVICE : most;
    status = expected > most ? too_long(path, most, error)
                             : read_stream(stream, path, expected, most, bytes, length, error);
  }
  fclose(stream);
  return status;
}

/* ---- Where a file is written ---- */

enum { MOST_LINKS = 40, MOST_TRIES = 100, SUFFIX = 32 };

/* A place, and what is there. */
typedef struct place {
  char path[PATH_MAX];
  int is_direct; /* 1: a pipe or a device, which is opened as it is */
} place;

static int is_trusted(const struct stat *link) {
  return link->st_uid == geteuid() || link->st_uid == 0;
}

/* Replaces the link at PATH by what it says; 0: errno says why not. */
static int follow(char path[PATH_MAX]) {
  char target[PATH_MAX], *slash = strrchr(path, '/');
  ssize_t n = readlink(path, target, sizeof target - 1);
  size_t folder = n > 0 && target[0] != '/' && slash ? (size_t)(slash + 1 - path) : 0;
  if (n <= 0 || folder + (size_t)n >= PATH_MAX) {
    errno = n <= 0 ? errno : ENAMETOOLONG;
    return 0;
  }
  memcpy(path + folder, target, (size_t)n);
  path[folder + (size_t)n] = 0;
  return 1;
}

/* 1 if P is where to write, 0 if what it has now stands for that, -1: errno. */
static int settle(place *p) {
  struct stat here, there;
  if (lstat(p->path, &here) != 0 || (S_ISLNK(here.st_mode) && !is_trusted(&here))) {
    return 1;
  }
  int is_there = stat(p->path, &there) == 0;
  if (is_there && S_ISDIR(there.st_mode)) {
    errno = EISDIR;
    return -1;
  }
  p->is_direct = is_there && !S_ISREG(there.st_mode);
  if (!S_ISLNK(here.st_mode) || p->is_direct) {
    return 1;
  }
  return follow(p->path) ? 0 : -1;
}

/* *P = the place that PATH stands for. */
static gemel_status find_place(const char *path, place *p, gemel_error *error) {
  int settled = 0;
  p->is_direct = 0;
  if (strlen(path) >= sizeof p->path) {
    errno = ENAMETOOLONG;
    return system_failed(path, "can't be written", error);
  }
  memcpy(p->path, path, strlen(path) + 1);
  for (int k = 0; k < MOST_LINKS && settled == 0; k++) {
    settled = settle(p);
  }
  errno = settled == 0 ? ELOOP : errno;
  return settled > 0       ? GEMEL_OK
         : errno == EISDIR ? gemel__fail(error, GEMEL_IO, "%s: is a folder", path)
                           : system_failed(path, "can't be written", error);
}

FILE *gemel__file_new(char *name, size_t bytes, const char *path) {
  int descriptor = -1;
  for (int k = 0; k < MOST_TRIES && descriptor < 0; k++) {
    struct timespec now = {0, 0};
    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(name, bytes, "%s.%lx.%lx.tmp", path, (long)getpid(), (long)(now.tv_nsec + k));
    descriptor = open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (descriptor < 0 && errno != EEXIST) {
      break;
    }
  }
  FILE *file = descriptor >= 0 ? fdopen(descriptor, "wb") : NULL;
  if (descriptor >= 0 && !file) {
    close(descriptor);
    unlink(name);
  }
  return file;
}

/* ---- Writing ---- */

static void clear_names(gemel__file *file) {
  gemel__free(file->path, file->bytes);
  gemel__free(file->aside, file->bytes + SUFFIX);
}

static gemel_status set_names(gemel__file *file, const place *p, gemel_error *error) {
  file->bytes = strlen(p->path) + 1;
  file->path = (char *)gemel__alloc(file->bytes);
  file->aside = p->is_direct ? NULL : (char *)gemel__alloc(file->bytes + SUFFIX);
  if (!file->path || (!p->is_direct && !file->aside)) {
    clear_names(file);
    return gemel__no_memory(error, p->path);
  }
  memcpy(file->path, p->path, file->bytes);
  return GEMEL_OK;
}

gemel_status gemel__file_create(gemel__file *file, const char *path, gemel_error *error) {
  place p;
  memset(file, 0, sizeof *file);
  if (!path) {
    return gemel__null(error, "the path");
  }
  GEMEL__TRY(find_place(path, &p, error));
  GEMEL__TRY(set_names(file, &p, error));
  file->stream = file->aside ? gemel__file_new(file->aside, file->bytes + SUFFIX, file->path)
                             : fopen(file->path, "wb");
  if (!file->stream) {
    gemel_status status = system_failed(path, "can't be written", error);
    clear_names(file);
    return status;
  }
  return GEMEL_OK;
}

int gemel__file_write(void *file, const void *bytes, size_t count) {
  return fwrite(bytes, 1, count, ((gemel__file *)file)->stream) != count;
}

gemel_status gemel__file_commit(gemel__file *file, gemel_status status, gemel_error *error) {
  int failed = ferror(file->stream) | (fflush(file->stream) != 0);
  failed |= fclose(file->stream) != 0;
  if (failed && (!status || status == GEMEL_IO)) {
    status = system_failed(file->path, "can't be written", error);
  }
  if (!status && file->aside && rename(file->aside, file->path) != 0) {
    status = system_failed(file->path, "can't be written", error);
  }
  if (status && file->aside) {
    remove(file->aside);
  }
  clear_names(file);
  return status;
}

/* ---- Graphs ---- */

/* A text is limited, so that an endless one is an error soon; a graph file, whose name says so,
 * holds weights. */
static size_t most_bytes(const char *path) {
  size_t n = path ? strlen(path) : 0;
  return n >= 6 && strcmp(path + n - 6, ".gemel") == 0 ? GEMEL__MOST_BYTES : GEMEL__MOST_GRAPH_TEXT;
}

gemel_graph *gemel_load(gemel_context *context, const char *path, char **name, gemel_error *error) {
  char *bytes;
  size_t length;
  gemel_graph *graph;
  gemel_error local;
  error = error ? error : &local;
  if (!context) {
    gemel__null(error, "the context");
    return NULL;
  }
  if (gemel__file_read(path, most_bytes(path), &bytes, &length, error)) {
    return NULL;
  }
  if (length >= 8 && memcmp(bytes, GEMEL__MAGIC, 8) == 0) {
    graph = gemel__binary_read(context, bytes, length, path, name, error);
    if (!graph) {
      gemel__error_prefix(error, "%s", path);
    }
  } else {
    graph = gemel_parse(context, bytes, length, path, name, error);
  }
  gemel__free(bytes, length + 1);
  return graph;
}

gemel_status gemel_save(const gemel_graph *graph, const char *name, const char *path,
                        gemel_error *error) {
  size_t n = path ? strlen(path) : 0;
  int binary = n >= 6 && strcmp(path + n - 6, ".gemel") == 0;
  gemel__file file;
  gemel_status status =
      graph ? gemel__file_create(&file, path, error) : gemel__null(error, "the graph");
  if (status) {
    return status;
  }
  status = (binary ? gemel_serialize : gemel_print)(graph, name, gemel__file_write, &file, error);
  return gemel__file_commit(&file, status, error);
}
