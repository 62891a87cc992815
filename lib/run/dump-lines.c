/* SPDX-License-Identifier: MIT
 *
 * Where the nodes of a dumped graph come from. Text says nothing of the program that built a graph,
 * so the folder has a file of lines beside it: for each node, in the order of the text, inputs
 * first, the line of the call that made it. "file NAME" stands in front of the lines in NAME, and
 * "12 x 3" is three nodes of line 12. Nodes of bodies are not in it. It may be missing, or speak of
 * another number of nodes, since somebody has edited the graph: nodes then come from the text.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "core/alloc.h"
#include "core/error.h"
#include "core/graph.h"
#include "core/ids.h"
#include "run/dump.h"
#include "text/bodies.h"
#include "text/file.h"

/* The inputs of a graph, then its other live nodes. */
typedef struct node_walk {
  const gemel_graph *graph;
  unsigned char *live;
  size_t next_input;
  uint32_t next;
} node_walk;

static gemel_status start_walk(node_walk *w, const gemel_graph *graph, gemel_error *error) {
  *w = (node_walk){graph, gemel__live_nodes(graph, error), 0, 0};
  return w->live != NULL ? GEMEL_OK : GEMEL_NO_MEMORY;
}

static void end_walk(node_walk *w) {
  gemel__free(w->live, w->graph->n_nodes);
}

/* The next node, or the number of nodes. */
static uint32_t next_node(node_walk *w) {
  const gemel_graph *graph = w->graph;
  if (w->next_input < graph->n_inputs) {
    return graph->inputs[w->next_input++].node;
  }
  while (w->next < graph->n_nodes &&
         (!w->live[w->next] || gemel__node_at(graph, w->next)->op == GEMEL__OP_input)) {
    w->next++;
  }
  return w->next < graph->n_nodes ? w->next++ : w->next;
}

/* ---- Writing ---- */

/* COUNT nodes of LINE. */
static void put_run(gemel__writer *out, uint32_t line, size_t count) {
  gemel__put_number(out, line);
  if (count > 1) {
    gemel__put_text(out, " x ");
    gemel__put_number(out, count);
  }
  gemel__put_text(out, "\n");
}

gemel_status gemel__dump_put_lines(const gemel_graph *graph, gemel__writer *out,
                                   gemel_error *error) {
  uint32_t file = 0, line = 0, node;
  size_t run = 0;
  node_walk w;
  gemel_status status = start_walk(&w, graph, error);
  while (status == GEMEL_OK && (node = next_node(&w)) < graph->n_nodes) {
    const gemel__node *record = gemel__node_at(graph, node);
    /* what would be two lines is no name */
    uint32_t its = strchr(graph->files[record->file], '\n') == NULL ? record->file : 0;
    if (run > 0 && (its != file || record->line != line)) {
      put_run(out, line, run);
      run = 0;
    }
    if (its != file) {
      gemel__put_text(out, "file ");
      gemel__put_text(out, graph->files[its]);
      gemel__put_text(out, "\n");
    }
    file = its;
    line = record->line;
    run++;
  }
  if (run > 0) {
    put_run(out, line, run);
  }
  end_walk(&w);
  return status;
}

/* ---- Reading ---- */

typedef struct line_reader {
  gemel_graph *graph;
  node_walk walk;
  int sets; /* 0: nodes are only counted */
  size_t count;
  const char *path;
  int number; /* of the line at hand */
  long file;
  gemel_error *error;
} line_reader;

/* Digits at *TEXT, which goes on behind them; -1: there are none, or too many. */
static long long read_number(char **text) {
  char *at = *text;
  errno = 0;
  long long value = *at >= '0' && *at <= '9' ? strtoll(at, text, 10) : -1;
  return errno == 0 && value <= UINT32_MAX ? value : -1;
}

static gemel_status read_row(line_reader *r, char *text) {
  if (strncmp(text, "file ", 5) == 0) {
    r->file = r->sets ? gemel__graph_file(r->graph, text + 5) : 0;
    return r->file >= 0 ? GEMEL_OK : gemel__no_memory(r->error, "a dumped call");
  }
  long long line = read_number(&text), run = 1;
  if (line >= 0 && strncmp(text, " x ", 3) == 0) {
    text += 3;
    run = read_number(&text);
  }
  if (line < 0 || run < 1 || *text != '\0') {
    return gemel__fail(r->error, GEMEL_BAD_FILE, "%s:%d: neither a file nor a line", r->path,
                       r->number);
  }
  r->count += (size_t)run;
  for (; run > 0 && r->sets; run--) {
    gemel__node *node = &r->graph->nodes[next_node(&r->walk)];
    node->file = (uint32_t)r->file;
    node->line = (uint32_t)line;
  }
  return GEMEL_OK;
}

/* The rows in TEXT, whose lines end with NUL. */
static gemel_status read_rows(line_reader *r, char *text, size_t length) {
  r->number = 0;
  for (char *line = text; line < text + length; line += strlen(line) + 1) {
    r->number++;
    GEMEL__TRY(read_row(r, line));
  }
  return GEMEL_OK;
}

static size_t count_nodes(node_walk walk) {
  size_t n = 0;
  while (next_node(&walk) < walk.graph->n_nodes) {
    n++;
  }
  return n;
}

static gemel_status read_text(line_reader *r, char *text, size_t length) {
  gemel_status status = start_walk(&r->walk, r->graph, r->error);
  for (size_t k = 0; k < length; k++) {
    text[k] = text[k] == '\n' ? '\0' : text[k];
  }
  if (status == GEMEL_OK) {
    status = read_rows(r, text, length);
  }
  if (status == GEMEL_OK && r->count == count_nodes(r->walk)) {
    r->sets = 1;
    r->file = 0;
    status = read_rows(r, text, length);
  }
  end_walk(&r->walk);
  return status;
}

gemel_status gemel__dump_read_lines(gemel_graph *graph, const char *path, gemel_error *error) {
  line_reader r = {.graph = graph, .path = path, .error = error};
  char *text;
  size_t length;
  if (access(path, F_OK) != 0 && errno == ENOENT) {
    return GEMEL_OK;
  }
  gemel_status status = gemel__file_read(path, GEMEL__MOST_TEXT, &text, &length, error);
  if (status == GEMEL_OK) {
    status = read_text(&r, text, length);
    gemel__free(text, length + 1);
  }
  return status;
}
