/*
 * The graphs of bench/graphs, for the tests that go through all of them: their files by name, and
 * reading one.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef GEMEL_TESTS_GRAPHS_H
#define GEMEL_TESTS_GRAPHS_H

#include "ct.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gemel/text.h>

enum { MAX_GRAPHS = 100 };

static char graph_files[MAX_GRAPHS][64];
static size_t n_graph_files;

/* The path of FILE, or of the folder if that is "". */
static inline void graph_path(const char *file, char *path, size_t room) {
  const char *root = getenv("GEMEL_SRCDIR");
  snprintf(path, room, "%s/bench/graphs/%s", root != NULL ? root : ".", file);
}

static inline int graph_by_name(const void *a, const void *b) {
  return strcmp(a, b);
}

/* Fills GRAPH_FILES, sorted. */
static inline void find_graphs(void) {
  char path[600];
  struct dirent *entry;
  DIR *folder;
  graph_path("", path, sizeof path);
  folder = opendir(path);
  while (folder != NULL && (entry = readdir(folder)) != NULL && n_graph_files < MAX_GRAPHS) {
    const char *end = strrchr(entry->d_name, '.');
    if (end != NULL && strcmp(end, ".gmt") == 0 && strlen(entry->d_name) < sizeof *graph_files) {
      strcpy(graph_files[n_graph_files++], entry->d_name);
    }
  }
  if (folder != NULL) {
    closedir(folder);
  }
  qsort(graph_files, n_graph_files, sizeof *graph_files, graph_by_name);
}

/* The graph of FILE and, unless NULL, its *NAME (gemel_text_free); a test fails without. */
static inline gemel_graph *load_graph(gemel_context *context, const char *file, char **name) {
  char path[600];
  gemel_error error = {0};
  gemel_graph *graph;
  graph_path(file, path, sizeof path);
  graph = gemel_load(context, path, name, &error);
  if (graph == NULL) {
    CT_FAIL("%s", error.text);
  }
  return graph;
}

#endif
