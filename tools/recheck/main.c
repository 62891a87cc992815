/* SPDX-License-Identifier: MIT
 *
 * gemel-recheck: evaluates the certificates that `gemel verify --certificates` wrote once more, and
 * says for each rule whether they hold. It links nothing of gemel's.
 *
 * Of each instance both sides are evaluated, and it is confirmed if at every element that could be
 * computed they agree with each other and with what the certificate says. A rule is confirmed if an
 * instance is and none is contradicted; contradicted if one is; else not covered.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "recheck.h"

typedef enum finding { NOT_COVERED, CONFIRMED, CONTRADICTED, UNREADABLE, FINDINGS } finding;

static const char *const words[FINDINGS] = {"not covered", "confirmed", "contradicted",
                                            "unreadable"};

/* What one instance, or all of a rule, came to. */
typedef struct outcome {
  finding found;
  char why[260];
  size_t compared, confirmed, uncovered;
} outcome;

/* ---- An instance ---- */

static int read_rings(world *w, const json *instance) {
  const char *primes = json_text(instance, "primes"),
             *generators = json_text(instance, "generators");
  char *end;
  for (; w->n_rings < RINGS; w->n_rings++) {
    w->prime[w->n_rings] = strtoull(primes, &end, 10);
    if (end == primes) {
      break;
    }
    primes = end;
    w->generator[w->n_rings] = strtoull(generators, &end, 10);
    generators = end;
  }
  for (int i = 0; i < w->n_rings; i++) {
    if (w->prime[i] < 3 || w->prime[i] % 2 == 0 || w->prime[i] >> 62 != 0) {
      return 0;
    }
  }
  return w->n_rings > 0 && world_prepare(w);
}

static int read_model(world *w, const json *instance) {
  const char *name = json_text(instance, "model");
  w->model = strcmp(name, "field") == 0   ? MODEL_FIELD
             : strcmp(name, "float") == 0 ? MODEL_FLOAT
                                          : MODEL_EXACT;
  if (w->model == MODEL_EXACT && strcmp(name, "exact") != 0) {
    return bad(w, "there is no model '%.20s'", name);
  }
  return w->model != MODEL_FIELD || read_rings(w, instance)
             ? 1
             : bad(w, "the primes and generators are no chain");
}

static given *read_inputs(world *w, const json *instance, size_t *n) {
  const json *inputs = json_find(instance, "inputs"), *at;
  given *all;
  *n = 0;
  for (at = inputs != NULL ? inputs->first : NULL; at != NULL; at = at->next) {
    ++*n;
  }
  all = pool_take(w->pool, *n, sizeof *all);
  *n = 0;
  for (at = inputs != NULL ? inputs->first : NULL; at != NULL; at = at->next) {
    all[*n].name = at->key != NULL ? at->key : "";
    all[(*n)++].values = at->kind == JSON_STRING ? at->text : "";
  }
  return all;
}

static void contradict(outcome *o, const char *what, size_t i) {
  o->found = CONTRADICTED;
  snprintf(o->why, sizeof o->why, "%s, element %zu", what, i);
}

/* Holds SIDE against the numbers in TEXT. */
static int hold_against(world *w, const tensor *side, const char *text, const char *what,
                        outcome *o) {
  for (size_t i = 0; i < side->count && o->found != CONTRADICTED; i++) {
    cell said;
    int equal;
    if (!number_read(w, side->dtype, &text, &said)) {
      return bad(w, "%s: element %zu can't be read", what, i);
    }
    equal = number_equal(w, side->dtype, &side->at[i], &said);
    o->compared += equal == 1;
    if (equal == 0) {
      contradict(o, what, i);
    }
  }
  return 1;
}

static int same_type(const tensor *a, const tensor *b) {
  return a->dtype == b->dtype && a->rank == b->rank &&
         memcmp(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape) == 0;
}

/* The two sides with each other, and with what is said of them. */
static int compare(world *w, const json *instance, const tensor *left, const tensor *right,
                   outcome *o) {
  int one = json_find(instance, "result") != NULL;
  if (!same_type(left, right)) {
    contradict(o, "the sides are of different types", 0);
    return 1;
  }
  for (size_t i = 0; i < left->count && one; i++) {
    if (number_equal(w, left->dtype, &left->at[i], &right->at[i]) == 0) {
      contradict(o, "the sides differ", i);
      return 1;
    }
  }
  if (one) {
    return hold_against(w, left, json_text(instance, "result"), "the result is another", o) < 0
               ? -1
               : hold_against(w, right, json_text(instance, "result"), "the result is another", o);
  }
  return hold_against(w, left, json_text(instance, "result_left"),
                      "the left side's result is another", o) < 0
             ? -1
             : hold_against(w, right, json_text(instance, "result_right"),
                            "the right side's result is another", o);
}

static outcome check_instance(const json *instance) {
  pool p = {0};
  world w = {.pool = &p};
  outcome o = {.found = NOT_COVERED};
  tensor *left = NULL, *right = NULL;
  size_t n;
  given *inputs = read_inputs(&w, instance, &n);
  int status = read_model(&w, instance);
  status = status > 0 ? graph_evaluate(&w, json_text(instance, "left"), inputs, n, &left) : status;
  status =
      status > 0 ? graph_evaluate(&w, json_text(instance, "right"), inputs, n, &right) : status;
  status = status > 0 ? compare(&w, instance, left, right, &o) : status;
  if (status < 0) {
    o.found = UNREADABLE;
    snprintf(o.why, sizeof o.why, "%s", w.problem);
  } else if (status > 0 && o.found != CONTRADICTED && o.compared > 0) {
    o.found = CONFIRMED;
  } else if (o.found == NOT_COVERED) {
    snprintf(o.why, sizeof o.why, "%.200s",
             w.uncovered != NULL ? w.uncovered : "nothing to compare");
  }
  pool_empty(&p);
  return o;
}

/* ---- A rule ---- */

static outcome check_rule(const json *certificate) {
  const json *instances = json_find(certificate, "instances"), *at;
  outcome all = {.found = NOT_COVERED};
  snprintf(all.why, sizeof all.why, "no instance");
  for (at = instances != NULL ? instances->first : NULL; at != NULL; at = at->next) {
    outcome o = check_instance(at);
    all.compared += o.compared;
    all.confirmed += o.found == CONFIRMED;
    all.uncovered += o.found == NOT_COVERED;
    if (o.found > all.found || (o.found == NOT_COVERED && all.found == NOT_COVERED)) {
      all.found = o.found;
      memcpy(all.why, o.why, sizeof all.why);
    }
  }
  return all;
}

static void print_rule(const char *name, const outcome *o, int brief) {
  if (o->found == CONFIRMED && !brief) {
    printf("%-40s confirmed (%zu instances, %zu results; %zu instances not covered)\n", name,
           o->confirmed, o->compared, o->uncovered);
  } else if (o->found != CONFIRMED) {
    printf("%-40s %s (%s)\n", name, words[o->found], o->why);
  }
}

/* ---- Files ---- */

/* The next line of FILE without its end; 0 at the end of the file. */
static int next_line(FILE *file, char **line, size_t *bytes) {
  ssize_t length = getline(line, bytes, file);
  if (length > 0 && (*line)[length - 1] == '\n') {
    (*line)[length - 1] = '\0';
  }
  return length > 0;
}

static void check_line(const char *line, int brief, size_t *counts) {
  pool p = {0};
  json *value = json_read(&p, line);
  if (value == NULL) {
    counts[UNREADABLE]++;
    puts("a line that is no JSON");
  } else if (strcmp(json_text(value, "kind"), "certificate") == 0) {
    outcome o = check_rule(value);
    counts[o.found]++;
    print_rule(json_text(value, "rule"), &o, brief);
  }
  pool_empty(&p);
}

static int check_file(const char *path, int brief, size_t *counts) {
  FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "r");
  char *line = NULL;
  size_t bytes = 0;
  if (file == NULL) {
    fprintf(stderr, "gemel-recheck: %s: %s\n", path, strerror(errno));
    return 0;
  }
  while (next_line(file, &line, &bytes)) {
    check_line(line, brief, counts);
  }
  free(line);
  int read = !ferror(file);
  if (!read) {
    fprintf(stderr, "gemel-recheck: %s: it can't be read\n", path);
  }
  return (file == stdin || fclose(file) == 0) && read;
}

static int usage(FILE *file) {
  fputs(
      "usage: gemel-recheck [--quiet] FILE...\n"
      "\n"
      "Evaluates the certificates of rewrite rules in each FILE ('-': stdin), which gemel verify\n"
      "--certificates wrote, once more, without gemel, and says of each rule: confirmed, not\n"
      "covered (with the operation that this program doesn't compute), or contradicted.\n"
      "\n"
      "  -q, --quiet    say nothing of what is confirmed, but the number\n"
      "  -h, --help     this\n"
      "\n"
      "Exit status: 0 if none is contradicted; 1 if one is; 2 for usage, and for what can't be\n"
      "read.\n",
      file);
  return file == stdout ? 0 : 2;
}

int main(int argc, char **argv) {
  size_t counts[FINDINGS] = {0};
  int brief = 0, k = 1, good = 1;
  for (; k < argc && argv[k][0] == '-' && argv[k][1] != '\0'; k++) {
    if (strcmp(argv[k], "-h") == 0 || strcmp(argv[k], "--help") == 0) {
      return usage(stdout);
    }
    if (strcmp(argv[k], "-q") != 0 && strcmp(argv[k], "--quiet") != 0) {
      return usage(stderr);
    }
    brief = 1;
  }
  if (k == argc) {
    return usage(stderr);
  }
  for (; k < argc; k++) {
    good &= check_file(argv[k], brief, counts);
  }
  printf("gemel-recheck: %zu confirmed, %zu not covered, %zu contradicted, %zu unreadable\n",
         counts[CONFIRMED], counts[NOT_COVERED], counts[CONTRADICTED], counts[UNREADABLE]);
  good = fflush(stdout) == 0 && good && counts[UNREADABLE] == 0;
  return counts[CONTRADICTED] > 0 ? 1 : good ? 0 : 2;
}
