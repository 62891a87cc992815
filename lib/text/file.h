/* SPDX-License-Identifier: MIT
 *
 * Whole files: read into memory, or written aside and renamed, so that a file appears whole or not
 * at all. A link of the user's or of the system's stays a link; anybody else's is replaced, and
 * what it points to stays as it is. A pipe or a device is written to as it is.
 */
#ifndef GEMEL__TEXT_FILE_H
#define GEMEL__TEXT_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <gemel/status.h>

/* Bytes of a text that somebody wrote: rules, a dump's options and lines. */
#define GEMEL__MOST_TEXT ((size_t)64 << 20)

/* Bytes of a graph's text, which programs write: ten million lines are less. */
#define GEMEL__MOST_GRAPH_TEXT ((size_t)2 << 30)

/* No limit. */
#define GEMEL__MOST_BYTES (SIZE_MAX - 4096)

/* The file's bytes, to be released with gemel__free(*BYTES, *LENGTH + 1); a NUL follows them.
 * GEMEL_IO (with the system's reason), GEMEL_BAD_FILE (more than MOST of them; no more are read),
 * GEMEL_NO_MEMORY. */
gemel_status gemel__file_read(const char *path, size_t most, char **bytes, size_t *length,
                              gemel_error *error);

/* A file being written: STATE for gemel__file_write is the struct. */
typedef struct gemel__file {
  FILE *stream;
  char *aside; /* where it is written first; NULL: what is there is no file (a pipe, a device) */
  char *path;
  size_t bytes; /* of PATH; ASIDE has 32 more */
} gemel__file;

gemel_status gemel__file_create(gemel__file *file, const char *path, gemel_error *error);
int gemel__file_write(void *file, const void *bytes, size_t count);

/* A new file beside PATH, whose name goes to NAME of BYTES, which must be 32 more than PATH has;
 * NULL: errno. */
FILE *gemel__file_new(char *name, size_t bytes, const char *path);

/* Closes; renames to its own name if STATUS is GEMEL_OK, else removes it and returns STATUS. */
gemel_status gemel__file_commit(gemel__file *file, gemel_status status, gemel_error *error);

#endif
