/* SPDX-License-Identifier: MIT
 *
 * Whole files: reading one into a block, writing one beside its place and renaming it, and loading
 * and saving graphs.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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
    status = expected > most ? too_long(path, most, error)
                             : read_stream(stream, path, expected, most, bytes, length, error);
  }
  fclose(stream);
  return status;
}

static void clear_names(gemel__file *file) {
  gemel__free(file->path, file->bytes);
  gemel__free(file->aside, file->bytes + 32);
}

/* Where the file really is, as links say, and beside it the place to write it first. */
static gemel_status set_names(gemel__file *file, const char *path, int aside, gemel_error *error) {
  char *real = realpath(path, NULL); /* NULL: there is none yet */
  const char *name = real ? real : path;
  file->bytes = strlen(name) + 1;
  file->path = (char *)gemel__alloc(file->bytes);
  file->aside = aside ? (char *)gemel__alloc(file->bytes + 32) : NULL;
  if (file->path) {
    memcpy(file->path, name, file->bytes);
  }
  if (file->aside) {
    snprintf(file->aside, file->bytes + 32, "%s.%ld.tmp", name, (long)getpid());
  }
  free(real);
  if (!file->path || (aside && !file->aside)) {
    clear_names(file);
    return gemel__no_memory(error, path);
  }
  return GEMEL_OK;
}

gemel_status gemel__file_create(gemel__file *file, const char *path, gemel_error *error) {
  struct stat info;
  memset(file, 0, sizeof *file);
  if (!path) {
    return gemel__null(error, "the path");
  }
  int there = stat(path, &info) == 0;
  if (there && S_ISDIR(info.st_mode)) {
    return gemel__fail(error, GEMEL_IO, "%s: is a folder", path);
  }
  gemel_status status = set_names(file, path, !there || S_ISREG(info.st_mode), error);
  if (status) {
    return status;
  }
  file->stream = fopen(file->aside ? file->aside : file->path, "wb");
  if (!file->stream) {
    status = system_failed(path, "can't be written", error);
    clear_names(file);
  }
  return status;
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
