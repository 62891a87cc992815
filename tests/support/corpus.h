/* SPDX-License-Identifier: MIT
 *
 * Corpora: folders of the source, of which each file is a test. That files were read is a test too,
 * so a folder that isn't found, or isn't read to its end, is no success.
 */
#ifndef GEMEL_TESTS_CORPUS_H
#define GEMEL_TESTS_CORPUS_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../ct.h"

typedef struct corpus_file {
  char name[64];  /* without the ending */
  char path[600]; /* from the root on */
} corpus_file;

typedef struct corpus {
  const char *folder; /* below the source folder */
  const char *end;    /* of the names of files */
  size_t least;       /* how many files there are, at least */
  size_t count;
  corpus_file files[128];
  int cut; /* 1: there are more files, or names are too long */
} corpus;

static inline int corpus_by_name(const void *a, const void *b) {
  return strcmp(((const corpus_file *)a)->name, ((const corpus_file *)b)->name);
}

static inline void corpus_is_whole(const void *data) {
  const corpus *c = data;
  ct_context("%zu files *%s in %s", c->count, c->end, c->folder);
  CT_CHECK(c->count >= c->least);
  CT_CHECK(!c->cut);
}

static inline void corpus_take(corpus *c, const char *root, const char *name) {
  size_t length = strlen(name), end = strlen(c->end);
  if (length <= end || strcmp(name + length - end, c->end) != 0) {
    return;
  }
  corpus_file *file = &c->files[c->count];
  if (c->count == CT_COUNT(c->files) || length - end >= sizeof file->name ||
      snprintf(file->path, sizeof file->path, "%s/%s/%s", root, c->folder, name) >=
          (int)sizeof file->path) {
    c->cut = 1;
    return;
  }
  snprintf(file->name, sizeof file->name, "%.*s", (int)(length - end), name);
  c->count++;
}

/* Reads the names of C's files, in their order, and adds the test SUITE.corpus/FOLDER of them. C
 * lives as long as the program. */
static inline void corpus_read(corpus *c, const char *suite) {
  char path[600];
  const char *root = getenv("GEMEL_SRCDIR");
  root = root != NULL ? root : ".";
  snprintf(path, sizeof path, "%s/%s", root, c->folder);
  DIR *folder = opendir(path);
  for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
    corpus_take(c, root, entry->d_name);
  }
  if (folder != NULL) {
    closedir(folder);
  }
  qsort(c->files, c->count, sizeof *c->files, corpus_by_name);
  CT_ADD_TO(suite, "corpus", c->folder, corpus_is_whole, c);
}

/* Reads C and adds a test SUITE.PREFIX/NAME for each file, which gets the corpus_file. */
static inline void corpus_add(corpus *c, const char *suite, const char *prefix, ct_fn *run) {
  corpus_read(c, suite);
  for (size_t k = 0; k < c->count; k++) {
    CT_ADD_TO(suite, prefix, c->files[k].name, run, &c->files[k]);
  }
}

#endif
