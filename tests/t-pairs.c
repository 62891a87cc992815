/*
 * The corpus of pairs of graphs, tests/pairs: NAME.pairs lists cases, each of two graphs and the
 * verdict that gemel_verify_pair must give for every seed.
 *
 *   == differ causal-mask-off-by-one
 *   graph a(x: f32[N]) { ... }
 *   graph b(x: f32[N]) { ... }
 *
 * A case begins with a line "==", the verdict (equal: passed; differ: refuted; uninformative), a
 * name and options: allow=WORDS (what may tell the two apart; default: what `gemel equal` allows),
 * instances=N (default 40), says=TEXT (some record's detail holds it; _ stands for a blank),
 * seeds=N (at most so many), usual=N (so many where GEMEL_CORPUS_SEEDS isn't set), grad=1 (the
 * first graph stands for its derivative). Lines that begin with # are comments; "# and" stands
 * between graphs that bodies precede. One test a file;
 * GEMEL_CORPUS_SEEDS says for how many seeds (default 2), GEMEL_CORPUS_CASE which cases (part of
 * their name).
 *
 * SPDX-License-Identifier: MIT
 */
#include "ct.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <gemel/verify.h>
#include "core/graph.h"
#include "support/corpus.h"
#include "support/heard.h"

enum { SEEDS = 2, MOST_BYTES = 1 << 22 };

/* ---- A case ---- */

typedef struct corpus_case {
  char verdict[32], name[64], allow[64], says[200];
  size_t instances;
  uint64_t seeds, usual;
  int grad;         /* 1: the first graph is differentiated */
  const char *text; /* both graphs, up to the next case */
  size_t length;
} corpus_case;

static void read_option(corpus_case *c, const char *word) {
  size_t k;
  if (strncmp(word, "allow=", 6) == 0) {
    snprintf(c->allow, sizeof c->allow, "%s", word + 6);
  } else if (strncmp(word, "says=", 5) == 0) {
    snprintf(c->says, sizeof c->says, "%s", word + 5);
    for (k = 0; c->says[k] != '\0'; k++) {
      c->says[k] = c->says[k] == '_' ? ' ' : c->says[k];
    }
  } else if (strncmp(word, "instances=", 10) == 0) {
    c->instances = strtoull(word + 10, NULL, 10);
  } else if (strncmp(word, "seeds=", 6) == 0) {
    c->seeds = strtoull(word + 6, NULL, 10);
  } else if (strncmp(word, "usual=", 6) == 0) {
    c->usual = strtoull(word + 6, NULL, 10);
  } else if (strcmp(word, "grad=1") == 0) {
    c->grad = 1;
  } else {
    CT_FAIL("%s: unknown option %s", c->name, word);
  }
}

/* Reads the case that begins at TEXT ("== ..."); returns where the next one begins. */
static const char *read_case(const char *text, corpus_case *c) {
  char line[400], *word, *rest = line;
  const char *end = strchr(text, '\n'), *next;
  size_t k;
  memset(c, 0, sizeof *c);
  c->instances = 40;
  c->seeds = UINT64_MAX;
  c->usual = SEEDS;
  end = end != NULL ? end : text + strlen(text);
  snprintf(line, sizeof line, "%.*s", (int)(end - text), text);
  for (k = 0; (word = strtok_r(rest, " ", &rest)) != NULL; k++) {
    if (k == 1) {
      snprintf(c->verdict, sizeof c->verdict, "%s", word);
    } else if (k == 2) {
      snprintf(c->name, sizeof c->name, "%s", word);
    } else if (k > 2) {
      read_option(c, word);
    }
  }
  next = strstr(end, "\n==");
  next = next != NULL ? next + 1 : end + strlen(end);
  c->text = end;
  c->length = (size_t)(next - end);
  return next;
}

/* ---- Asking ---- */

static unsigned needs_of(const char *words) {
  static const char *const names[] = {
#define NAME(E, name, meaning) #name,
      GEMEL_NEEDS_TABLE(NAME) GEMEL_PAIR_TABLE(NAME)
#undef NAME
  };
  unsigned bits = words[0] == '\0' || strstr(words, "all") != NULL ? GEMEL_PAIR_DEFAULT : 0;
  size_t k;
  for (k = 0; k < CT_COUNT(names); k++) {
    const char *at = strstr(words, names[k]);
    bits |= at != NULL ? 1u << k : 0;
  }
  return bits;
}

static const char *verdict_of(const corpus_case *c) {
  return strcmp(c->verdict, "equal") == 0    ? "passed"
         : strcmp(c->verdict, "differ") == 0 ? "refuted"
                                             : c->verdict;
}

static int ask(const corpus_case *c, const gemel_graph *a, const gemel_graph *b, uint64_t seed) {
  int right;
  ct_context("%s, seed %llu", c->name, (unsigned long long)seed);
  heard h = hear_pair(a, b, needs_of(c->allow), c->name,
                      (gemel_verify_options){.seed = seed, .instances = c->instances});
  ct_context("%s, seed %llu\n%s", c->name, (unsigned long long)seed, h.all);
  right = CT_EQ_STR(gemel_verdict_name(h.result.verdict), verdict_of(c));
  if (c->says[0] != '\0') {
    right &= CT_HAS_STR(h.all, c->says);
  }
  return right;
}

/* GRAPH's derivative: d_x for each input x. Takes the reference. */
static gemel_graph *differentiate(gemel_graph *graph) {
  size_t n = gemel_graph_input_count(graph), k;
  gemel_graph *result = gemel_graph_new(gemel_graph_context(graph), NULL);
  gemel_value inputs[8], gradients[8], loss;
  gemel_error error = {GEMEL_OK, 0, 0, ""};
  for (k = 0; k < n; k++) {
    inputs[k] = gemel_input(result, gemel_graph_input_name(graph, k),
                            gemel_value_type(gemel_graph_input(graph, k)));
  }
  if (gemel__graph_inline(result, graph, inputs, &loss, &error) != GEMEL_OK ||
      gemel_grad(1, &loss, NULL, n, inputs, gradients, &error) != GEMEL_OK) {
    CT_FAIL("%s", error.text);
    n = 0;
  }
  for (k = 0; k < n; k++) {
    char label[32];
    snprintf(label, sizeof label, "d_%s", gemel_graph_input_name(graph, k));
    gemel_output(gradients[k], label);
  }
  gemel_graph_unref(graph);
  return result;
}

/* Parses both graphs of C. The first ends with a line "}"; where graphs of a loop's body precede
 * it, with the last one before a line "# and". */
static int parse_case(const corpus_case *c, gemel_context *context, gemel_graph *graphs[2]) {
  const char *and = strstr(c->text, "\n# and\n");
  const char *end = and != NULL && and < c->text + c->length ? and-2 : strstr(c->text, "\n}\n");
  gemel_error error = {GEMEL_OK, 0, 0, ""};
  size_t first = end != NULL ? (size_t)(end + 3 - c->text) : 0;
  if (first == 0 || first >= c->length) {
    CT_FAIL("%s: wants two graphs, each with a last line \"}\"", c->name);
    return 0;
  }
  graphs[0] = gemel_parse(context, c->text, first, c->name, NULL, &error);
  graphs[1] = graphs[0] != NULL
                  ? gemel_parse(context, c->text + first, c->length - first, c->name, NULL, &error)
                  : NULL;
  if (graphs[1] == NULL) {
    CT_FAIL("%s: %s", c->name, error.text);
  }
  return graphs[1] != NULL;
}

static int is_right(const corpus_case *c) {
  gemel_context *context = gemel_context_new(NULL);
  gemel_graph *graphs[2] = {NULL, NULL};
  uint64_t seed, wanted = ct_seeds("GEMEL_CORPUS_SEEDS", c->usual);
  uint64_t n = wanted < c->seeds ? wanted : c->seeds;
  int right = parse_case(c, context, graphs);
  if (right && c->grad) {
    graphs[0] = differentiate(graphs[0]);
  }
  for (seed = 1; right && seed <= n; seed++) {
    right = ask(c, graphs[0], graphs[1], seed);
  }
  gemel_graph_unref(graphs[0]);
  gemel_graph_unref(graphs[1]);
  gemel_context_unref(context);
  return right;
}

/* ---- A file ---- */

static size_t cases; /* that were run */

static char *read_file(const char *path) {
  char *text = malloc(MOST_BYTES);
  FILE *file;
  size_t n = 0;
  file = fopen(path, "r");
  if (file != NULL && text != NULL) {
    n = fread(text, 1, MOST_BYTES - 1, file);
  }
  if (file != NULL) {
    fclose(file);
  }
  if (text != NULL) {
    text[n] = '\0';
  }
  CT_CHECK(n > 0 && n < MOST_BYTES - 1);
  return text;
}

static void cases_are_right(const void *data) {
  const char *only = getenv("GEMEL_CORPUS_CASE");
  const corpus_file *file = data;
  char *text = read_file(file->path);
  const char *at = text != NULL && strncmp(text, "==", 2) != 0 ? strstr(text, "\n==") : text;
  size_t right = 0, all = 0;
  at = at != NULL && at != text ? at + 1 : at;
  while (at != NULL && *at != '\0') {
    corpus_case c;
    at = read_case(at, &c);
    if (only == NULL || strstr(c.name, only) != NULL) {
      clock_t start = clock();
      int good = is_right(&c);
      all++;
      right += (size_t)good;
      printf("%-5s %7.1f s  %s\n", good ? "right" : "WRONG",
             (double)(clock() - start) / CLOCKS_PER_SEC, c.name);
      fflush(stdout);
    }
  }
  printf("%s: %zu of %zu cases right\n", file->name, right, all);
  CT_CHECK(all > 0 || only != NULL);
  cases += all;
  free(text);
}

/* Runs last: none was passed over. */
static void were_run(const void *data) {
  (void)data;
  CT_CHECK(cases >= (getenv("GEMEL_CORPUS_CASE") != NULL ? 1 : 949));
}

void ct_register(void) {
  static corpus pairs = {.folder = "tests/pairs", .end = ".pairs", .least = 20};
  corpus_add(&pairs, "pairs", "files", cases_are_right);
  CT_ADD("cases", "run", were_run, NULL);
}
