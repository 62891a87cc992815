/* SPDX-License-Identifier: MIT
 *
 * Plain lines. In a big graph nearly every name that a line mentions stands for a node whose record
 * is in no cache, so a line passes through a ring in three steps, each some lines behind the one
 * before it: it is read, and what its names stand for is fetched; the nodes that they stand for are
 * fetched; the node is made.
 *
 * Reading a line depends on nothing that lines before it do. A line that has any other form ends
 * the reading, as does one of which something can't be found or made: the parser then takes the
 * statement from its beginning, by the general path.
 */
#include "text/lines.h"

#include <string.h>
#include "core/cons.h"

enum { AHEAD = 16, BEHIND = 8, MAX_INPUTS = 4, LONG_LINE = 4096 };

typedef struct plain {
  const char *at, *line_start; /* the name, and its line */
  int line;
  uint32_t op, n;
  gemel__name target;
  gemel__name inputs[MAX_INPUTS];
} plain;

typedef struct reader {
  gemel_graph *graph;
  gemel__names *names;
  gemel__program *program;
  const char *file;
  const char *at, *line_start, *end; /* what has not been read yet */
  int line;
  plain ring[AHEAD]; /* line k in ring[k % AHEAD] */
} reader;

static inline const char *skip_blanks(const char *p) {
  while (*p == ' ') {
    p++;
  }
  return p;
}

static int is_word(const gemel__name *name, const char *word) {
  return name->length == strlen(word) && memcmp(name->text, word, name->length) == 0;
}

/* Reads `(name, …)` from P, in a line that ends at STOP; what is behind it, or NULL. */
static const char *read_inputs(plain *line, const char *p, const char *stop) {
  line->n = 0;
  do {
    p = skip_blanks(p + 1);
    if (line->n == MAX_INPUTS || gemel__char_class(*p) != GEMEL__CHAR_LETTER) {
      return NULL;
    }
    p = skip_blanks(gemel__name_read(p, stop, &line->inputs[line->n++]));
  } while (*p == ',');
  return *p == ')' ? p + 1 : NULL;
}

/* 1 if a statement can end before P: what follows doesn't go on with an expression. */
static int begins_statement(const char *p, const char *end) {
  gemel__name word;
  while (p < end && *p == ' ') {
    p++;
  }
  if (p == end || gemel__char_class(*p) != GEMEL__CHAR_LETTER) {
    return p < end && *p == '}';
  }
  if (*p != 'a' && *p != 'o') {
    return 1;
  }
  gemel__name_read(p, end, &word);
  return !is_word(&word, "and") && !is_word(&word, "or");
}

/* Reads the line at r->at; 0 if it is not plain, and nothing is read. The newline at its end stops
 * whatever looks for something else. */
static int read_line(reader *r, plain *line) {
  size_t left = (size_t)(r->end - r->at);
  const char *stop = (const char *)memchr(r->at, '\n', left < LONG_LINE ? left : LONG_LINE);
  const char *p = stop ? skip_blanks(r->at) : NULL;
  gemel__name op;
  if (!p || gemel__char_class(*p) != GEMEL__CHAR_LETTER) {
    return 0;
  }
  line->at = p;
  p = skip_blanks(gemel__name_read(p, stop, &line->target));
  if (*p != '=' || gemel__char_class(*(p = skip_blanks(p + 1))) != GEMEL__CHAR_LETTER) {
    return 0;
  }
  p = gemel__name_read(p, stop, &op);
  p = *p == '(' ? read_inputs(line, p, stop) : NULL;
  if (!p || skip_blanks(p) != stop || !begins_statement(stop + 1, r->end)) {
    return 0;
  }
  line->op = gemel__program_find(r->program, op.text, op.length);
  if (!line->op || gemel__op_at(r->program->context, line->op)->n_attrs) {
    return 0;
  }
  line->line_start = r->line_start;
  line->line = r->line++;
  r->at = r->line_start = stop + 1;
  return 1;
}

static void fetch_names(const reader *r, const plain *line) {
  for (uint32_t k = 0; k < line->n; k++) {
    if (gemel__names_numbered(r->names, &line->inputs[k])) {
      gemel__names_fetch(r->names, line->inputs[k].number);
    }
  }
}

static void fetch_nodes(const reader *r, const plain *line) {
  uint32_t largest = 0;
  for (uint32_t k = 0; k < line->n; k++) {
    uint32_t node = gemel__names_numbered(r->names, &line->inputs[k])
                        ? gemel__names_at(r->names, line->inputs[k].number).node
                        : UINT32_MAX;
    if (node < r->graph->n_nodes) {
      gemel__fetch_type(r->graph, node);
      largest = node > largest ? node : largest;
    }
  }
  gemel__cons_prefetch(r->graph, largest);
}

/* Makes the node of LINE and gives it its name. 0: it can't be, or not without a better look. */
static int make_node(reader *r, const plain *line, gemel_status *status, gemel_error *error) {
  gemel_value inputs[MAX_INPUTS];
  gemel_location where = {r->file, line->line};
  gemel__ref ref;
  for (uint32_t k = 0; k < line->n; k++) {
    if (!gemel__names_find(r->names, &line->inputs[k], &ref)) {
      return 0;
    }
    inputs[k] = gemel__value(r->graph, ref);
  }
  gemel_value value = gemel__apply(r->graph, line->op, 0, line->n, inputs, where);
  if (gemel_is_null(value) || gemel__stored_type(r->graph, value.node) & GEMEL__SEVERAL) {
    return 0;
  }
  int added = gemel__names_add(r->names, &line->target, (gemel__ref){value.node, 0});
  if (added < 0) {
    *status = gemel__no_memory(error, "names");
  }
  return added == 0;
}

/* Lines as long as they are plain; the number of those that were made, of *COUNT that were read. */
static size_t read_lines(reader *r, size_t *count, gemel_status *status, gemel_error *error) {
  size_t made = 0, read = 0;
  int more = 1;
  for (;;) {
    while (more && read < made + AHEAD) {
      plain *line = &r->ring[read % AHEAD];
      more = read_line(r, line);
      if (more) {
        fetch_names(r, line);
        read++;
      }
    }
    if (made + BEHIND < read) {
      fetch_nodes(r, &r->ring[(made + BEHIND) % AHEAD]);
    }
    if (made == read || !make_node(r, &r->ring[made % AHEAD], status, error)) {
      *count = read;
      return made;
    }
    made++;
  }
}

gemel_status gemel__lines_read(gemel_graph *graph, gemel__names *names, gemel__program *program,
                               gemel__lex *lex, const char *file, gemel_error *error) {
  reader r = {.graph = graph,
              .names = names,
              .program = program,
              .file = file,
              .at = lex->token,
              .line_start = lex->token_line_start,
              .end = lex->end,
              .line = lex->token_line};
  gemel_status status = GEMEL_OK;
  size_t read, made = read_lines(&r, &read, &status, error);
  if (graph->error.status == GEMEL_NO_MEMORY) {
    if (error) {
      *error = graph->error;
      error->line = r.ring[made % AHEAD].line;
      error->column = 0;
    }
    return GEMEL_NO_MEMORY;
  }
  gemel_graph_clear_error(graph); /* what is wrong is found again, and said better */
  if (made < read) {
    const plain *line = &r.ring[made % AHEAD];
    gemel__lex_move(lex, line->at, line->line_start, line->line);
  } else if (made > 0) {
    gemel__lex_move(lex, r.at, r.line_start, r.line);
  }
  return status;
}
