/* SPDX-License-Identifier: MIT
 *
 * gemel fuzz: random graphs, or those of files, rewritten by all rules, to see that the rules come
 * to an end together and that nothing is left to do then. Each finding is printed with a small
 * graph and the command that shows it again.
 */
#include <stdlib.h>
#include <string.h>
#include "rules/fuzz.h"
#include "tool.h"

static const gemel__option options[] = {
    {"graphs", 'n', "N", "random graphs (default 1000)"},
    {"first", 0, "K", "number of the first one (default 0); graph K of a seed is always the same"},
    {"seed", 's', "S", "of everything random, a number (default 1) or 'random'; always printed"},
    {"evaluate", 'e', "N",
     "compare the results of every Nth graph before and after (default 100; 0: of none; of a file "
     "always)"},
    {"device", 'D', "NAME",
     "lift every graph to this device, too, and compare what is computed there (default: none)"},
    {"rules", 'r', "F", "rules from F, beside gemel's own; may be given more than once"},
    {"replay-dir", 0, "DIR",
     "write the graph of each finding to a file in DIR, which is made if it isn't there"},
    {NULL, 0, NULL, NULL}};

/* So many graphs share a context, whose tables grow with every type and attribute that is met. */
enum { CHUNK = 500 };

typedef struct fuzz_session {
  const gemel__args *args;
  const char *folder;
  gemel__fuzz_options options;
  gemel__fuzz_summary summary;
  double started;
  int unwritten; /* a file of a finding couldn't be written (said) */
} fuzz_session;

static uint64_t findings_of(const gemel__fuzz_summary *s) {
  uint64_t n = 0;
  for (int k = 0; k < GEMEL__FUZZ_KIND_COUNT; k++) {
    n += s->findings[k];
  }
  return n;
}

/* BEFORE, and VALUE as one word of the shell. */
static void print_word(const char *before, const char *value) {
  char *word = gemel__shell_word(value, strlen(value));
  printf("%s%s", before, word);
  free(word);
}

/* " --device NAME" and " --rules F" as they were given. */
static void print_options(const fuzz_session *s) {
  if (gemel__arg(s->args, "device") != NULL) {
    print_word(" --device ", gemel__arg(s->args, "device"));
  }
  for (int k = 0; k < s->args->n_given; k++) {
    if (strcmp(s->args->given[k].option->name, "rules") == 0) {
      print_word(" --rules ", s->args->given[k].value);
    }
  }
}

/* Writes the graph of a finding to the folder; its path, or NULL (said). */
static char *write_graph(const fuzz_session *s, const gemel__fuzz_finding *f) {
  char *path = gemel__need_text("%s/%s-%llu-%llu.gmt", s->folder, gemel__fuzz_kind_name(f->kind),
                                (unsigned long long)f->seed, (unsigned long long)f->number);
  gemel__output output;
  if (gemel__output_open(&output, path) == GEMEL__GOOD) {
    gemel__output_write(&output, f->graph, strlen(f->graph));
    if (gemel__output_close(&output, 1) == GEMEL__GOOD) {
      return path;
    }
  }
  free(path);
  return NULL;
}

static void sink(void *user, const gemel__fuzz_finding *f) {
  fuzz_session *s = user;
  char *path = s->folder != NULL ? write_graph(s, f) : NULL;
  s->unwritten |= s->folder != NULL && path == NULL;
  gemel__progress(NULL);
  printf("%s: %s\n%s\nAgain: gemel fuzz", gemel__fuzz_kind_name(f->kind), f->detail, f->graph);
  print_options(s);
  if (s->args->n_operands > 0) {
    print_word(" ", s->args->operands[0]);
  } else if (path != NULL) {
    print_word(" ", path);
  } else {
    printf(" --seed %llu --first %llu --graphs 1", (unsigned long long)f->seed,
           (unsigned long long)f->number);
  }
  fputs("\n\n", stdout);
  free(path);
}

static void print_summary(const fuzz_session *s) {
  const gemel__fuzz_summary *f = &s->summary;
  printf(
      "gemel fuzz: %llu graphs of %llu nodes became %llu nodes; %llu of them were evaluated, %llu "
      "without a result;",
      (unsigned long long)f->graphs, (unsigned long long)f->nodes, (unsigned long long)f->left,
      (unsigned long long)f->evaluated, (unsigned long long)f->inconclusive);
  for (int k = 0; k < GEMEL__FUZZ_KIND_COUNT; k++) {
    printf("%s %s %llu", k > 0 ? "," : " findings:", gemel__fuzz_kind_name((gemel__fuzz_kind)k),
           (unsigned long long)f->findings[k]);
  }
  printf(" (seed %llu, %.1f s)\n", (unsigned long long)s->options.seed, gemel__now() - s->started);
}

/* A context for WORK, with the rules of --rules. */
static int with_rules(fuzz_session *s, int (*work)(fuzz_session *s, gemel_context *context)) {
  gemel_context *context = gemel__context_need();
  gemel__rewriting rewriting;
  int status = GEMEL__BAD, space;
  if (context == NULL ||
      gemel__device_open(context, gemel__arg(s->args, "device"), &space) != GEMEL__GOOD) {
    gemel_context_unref(context);
    return GEMEL__BAD;
  }
  if (gemel__rewriting_read(&rewriting, context, s->args) == GEMEL__GOOD) {
    s->options.rules = rewriting.options.rules;
    s->options.n_rules = rewriting.options.n_rules;
    status = work(s, context);
  }
  gemel__rewriting_clear(&rewriting);
  gemel_context_unref(context);
  return status;
}

static int fuzz_chunk(fuzz_session *s, gemel_context *context) {
  gemel_error error;
  return gemel__fuzz_graphs(context, &s->options, &s->summary, &error) == GEMEL_OK
             ? GEMEL__GOOD
             : gemel__complain_error(NULL, &error);
}

static int fuzz_random(fuzz_session *s, uint64_t graphs) {
  int status = GEMEL__GOOD;
  for (uint64_t done = 0; done < graphs && status == GEMEL__GOOD; done += s->options.graphs) {
    gemel__progress("gemel fuzz: %llu of %llu graphs, %llu findings", (unsigned long long)done,
                    (unsigned long long)graphs, (unsigned long long)findings_of(&s->summary));
    s->options.graphs = graphs - done < CHUNK ? graphs - done : CHUNK;
    status = with_rules(s, fuzz_chunk);
    s->options.first += s->options.graphs;
  }
  return status;
}

static int fuzz_file(fuzz_session *s, gemel_context *context) {
  gemel_error error;
  gemel_graph *graph;
  int read = gemel__graph_read(context, s->args->operands[0], &graph, NULL, s->args);
  if (read != GEMEL__GOOD) {
    return read;
  }
  gemel_status status = gemel__fuzz_graph(graph, &s->options, &s->summary, &error);
  gemel_graph_unref(graph);
  return status == GEMEL_OK ? GEMEL__GOOD : gemel__complain_error(NULL, &error);
}

static int run(const gemel__args *args) {
  fuzz_session s;
  uint64_t graphs = 1000;
  int has_file = args->n_operands > 0;
  memset(&s, 0, sizeof s);
  s.args = args;
  s.folder = gemel__arg(args, "replay-dir");
  s.started = gemel__now();
  s.options.seed = 1;
  s.options.evaluate = has_file ? 1 : 100;
  s.options.sink = sink;
  s.options.user = &s;
  if (gemel__arg_seed(args, &s.options.seed) != GEMEL__GOOD ||
      gemel__arg_number(args, "graphs", 1, 1000000000, &graphs) != GEMEL__GOOD ||
      gemel__arg_number(args, "first", 0, UINT64_MAX / 2, &s.options.first) != GEMEL__GOOD ||
      gemel__arg_number(args, "evaluate", 0, UINT64_MAX, &s.options.evaluate) != GEMEL__GOOD ||
      (s.folder != NULL && gemel__folder_make(s.folder) != GEMEL__GOOD)) {
    return GEMEL__BAD;
  }
  int status = has_file ? with_rules(&s, fuzz_file) : fuzz_random(&s, graphs);
  gemel__progress(NULL);
  if (status != GEMEL__GOOD) {
    return status;
  }
  print_summary(&s);
  if (s.unwritten) {
    return GEMEL__BAD;
  }
  return findings_of(&s.summary) > 0 ? GEMEL__REFUTED : GEMEL__GOOD;
}

const gemel__command gemel__command_fuzz = {
    "fuzz",
    "[FILE]",
    "Rewrite random graphs, or that of a file, by all rules, to see that they come to an end.",
    "A graph is made of left sides of rules and other operations, each applied to what those "
    "before "
    "it made. It is rewritten by all rules. fails: that ends with an error, such as rules that go "
    "in circles. unsettled: what came out is changed when it is rewritten once more. order: the "
    "files of rules in another order give another graph. differs: an application of a rule doesn't "
    "hold, as gemel opt --certify would find, or the results before and after differ where "
    "everything is exact. lifted: with --device, the graph or what it became, lifted by either "
    "strategy, gives a wrong result there, or the device finds a mistake.\n"
    "A finding is printed with the smallest graph found that shows the same, and the command that "
    "does so again. Exit status 0 if nothing was found, else 1; 2 for usage and for what can't be "
    "read or written; 3 where a model has something that gemel hasn't.",
    options,
    0,
    1,
    run};
