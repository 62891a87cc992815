/* SPDX-License-Identifier: MIT
 *
 * Fuzzing the rewriter: random graphs (fuzz-random-graph.c), each rewritten by all rules. judge.c
 * judges each rule by itself. Here it is asked of all rules together that the rewriting ends, that
 * a second rewriting changes nothing, that the order in which the files of rules are read doesn't
 * matter, and, for some graphs, that results stay the same. A finding is shrunk (fuzz-shrink.c).
 */
#include "rules/fuzz.h"

#include <stdio.h>
#include <string.h>
#include <gemel/text.h>
#include "core/alloc.h"
#include "core/error.h"
#include "core/graph.h"
#include "rules/builtin.h"
#include "rules/fuzz-random-graph.h"

/* One graph in PASSES has loops and derivatives. */
enum { GRAPHS = 1000, FEWEST_STEPS = 2, MOST_STEPS = 9, INSTANCES = 8, PASSES = 3 };

static const char *const kind_names[] = {
#define NAME(E, name, meaning) name,
    GEMEL__FUZZ_TABLE(NAME)
#undef NAME
};

const char *gemel__fuzz_kind_name(gemel__fuzz_kind kind) {
  return (unsigned)kind < GEMEL__FUZZ_KIND_COUNT ? kind_names[kind] : NULL;
}

/* ---- Rewriting ---- */

/* GRAPH rewritten with the default options and the program's rules. */
static gemel_graph *rewrite(const gemel__fuzz *fuzz, const gemel_graph *graph,
                            gemel_rewrite_profile *profile, gemel_error *error) {
  gemel_rewrite_options options = {.size = sizeof options, .profile = profile};
  options.rules = fuzz->options.rules;
  options.n_rules = fuzz->options.n_rules;
  return gemel_rewrite(graph, &options, error);
}

/* GRAPH rewritten with the sets of rules in a random order given by SEED; 0: in the usual one. */
static gemel_graph *rewrite_in_order(const gemel__fuzz *fuzz, const gemel_graph *graph,
                                     uint64_t seed, gemel_error *error) {
  gemel_rewrite_options options = {.size = sizeof options, .without_builtin = 1};
  const gemel_rules *sets[GEMEL__FUZZ_SETS];
  size_t order[GEMEL__FUZZ_SETS];
  gemel__random random;
  gemel__random_seed(&random, seed);
  gemel__random_permutation(&random, fuzz->n_sets, order);
  for (size_t k = 0; k < fuzz->n_sets; k++) {
    sets[k] = fuzz->sets[seed == 0 ? k : order[k]];
  }
  options.rules = sets;
  options.n_rules = fuzz->n_sets;
  return gemel_rewrite(graph, &options, error);
}

/* 1 if A and B are the same graph, node for node; -1: memory is out. */
static int same_graph(const gemel_graph *a, const gemel_graph *b) {
  char *x = gemel_print_string(a, "g", NULL), *y = gemel_print_string(b, "g", NULL);
  int same = x == NULL || y == NULL ? -1 : strcmp(x, y) == 0;
  gemel_text_free(x);
  gemel_text_free(y);
  return same;
}

/* ---- Faults ---- */

static void note(gemel__fault *fault, gemel__fuzz_kind kind, const char *text) {
  fault->kind = kind;
  snprintf(fault->detail, sizeof fault->detail, "%s", text);
}

/* Notes a finding: FROM, the words BECOMES, and TO. */
static gemel_status note_graphs(gemel__fault *fault, gemel__fuzz_kind kind, const gemel_graph *from,
                                const char *becomes, const gemel_graph *to, gemel_error *error) {
  char *x = gemel_print_string(from, "first", NULL), *y = gemel_print_string(to, "then", NULL);
  gemel_status status = x != NULL && y != NULL ? GEMEL_OK : gemel__no_memory(error, "a finding");
  fault->kind = kind;
  if (status == GEMEL_OK) {
    snprintf(fault->detail, sizeof fault->detail, "%.900s%s\n%.900s", x, becomes, y);
  }
  gemel_text_free(x);
  gemel_text_free(y);
  return status;
}

/* Appends to the fault's detail which rules fire when GRAPH is rewritten. */
static gemel_status note_rules(const gemel__fuzz *fuzz, const gemel_graph *graph,
                               gemel__fault *fault, gemel_error *error) {
  gemel_rewrite_profile *profile = gemel_rewrite_profile_new();
  gemel_graph *again = profile != NULL ? rewrite(fuzz, graph, profile, error) : NULL;
  size_t used = strlen(fault->detail), rows = gemel_rewrite_profile_count(profile), named = 0;
  for (size_t k = 0; again != NULL && k < rows; k++) {
    const gemel_rewrite_row *row = gemel_rewrite_profile_at(profile, k);
    if (row->name != NULL && row->applied > 0 && used < sizeof fault->detail) {
      int n = snprintf(fault->detail + used, sizeof fault->detail - used, "%s%s",
                       named++ > 0 ? ", " : "by ", row->name);
      used += n > 0 ? (size_t)n : 0;
    }
  }
  gemel_rewrite_profile_free(profile);
  gemel_graph_unref(again);
  return again != NULL ? GEMEL_OK : gemel__no_memory(error, "a finding");
}

/* Checks that rewriting ONCE, which was rewritten already, changes nothing. */
static gemel_status check_settled(const gemel__fuzz *fuzz, const gemel_graph *once,
                                  gemel__fault *fault, gemel_error *error) {
  gemel_error problem = {GEMEL_OK, 0, 0, ""};
  gemel_graph *twice = rewrite(fuzz, once, NULL, &problem);
  gemel_status status = GEMEL_OK;
  if (twice == NULL) {
    note(fault, GEMEL__FUZZ_UNSETTLED, problem.text);
    return problem.status == GEMEL_NO_MEMORY ? gemel__no_memory(error, "fuzzing") : GEMEL_OK;
  }
  int same = same_graph(once, twice);
  if (same < 0) {
    status = gemel__no_memory(error, "fuzzing");
  } else if (!same) {
    status = note_graphs(fault, GEMEL__FUZZ_UNSETTLED, once, "which becomes", twice, error);
    status = status ? status : note_rules(fuzz, once, fault, error);
  }
  gemel_graph_unref(twice);
  return status;
}

static gemel_status check_order(const gemel__fuzz *fuzz, const gemel_graph *graph, uint64_t seed,
                                gemel__fault *fault, gemel_error *error) {
  gemel_error problem = {GEMEL_OK, 0, 0, ""};
  gemel_graph *a = rewrite_in_order(fuzz, graph, 0, &problem);
  gemel_graph *b = a != NULL ? rewrite_in_order(fuzz, graph, seed % 6 + 1, &problem) : NULL;
  int same = a != NULL && b != NULL ? same_graph(a, b) : 0;
  gemel_status status = GEMEL_OK;
  if (problem.status == GEMEL_NO_MEMORY || same < 0) {
    status = gemel__no_memory(error, "fuzzing");
  } else if (problem.status != GEMEL_OK) {
    note(fault, a == NULL ? GEMEL__FUZZ_FAILS : GEMEL__FUZZ_ORDER, problem.text);
  } else if (!same) {
    status = note_graphs(fault, GEMEL__FUZZ_ORDER, a, "and in another order", b, error);
  }
  gemel_graph_unref(a);
  gemel_graph_unref(b);
  return status;
}

static void keep_detail(void *user, const gemel_record *record) {
  gemel__fault *fault = user;
  if (record->verdict == GEMEL_VERDICT_REFUTED) {
    snprintf(fault->detail, sizeof fault->detail, "tier %s: %s\n%s", gemel_tier_name(record->tier),
             record->detail, record->counterexample != NULL ? record->counterexample : "");
  }
}

/* Rewrites GRAPH under certified compilation: every application of a rule must hold over the reals,
 * and the result must be ONCE again. */
static gemel_status check_certified(const gemel__fuzz *fuzz, const gemel_graph *graph,
                                    const gemel_graph *once, uint64_t seed, gemel__fault *fault,
                                    gemel_error *error) {
  gemel_rewrite_options options = {.size = sizeof options, .certify = 1};
  gemel_error problem = {GEMEL_OK, 0, 0, ""};
  gemel_graph *certified = NULL;
  gemel_status status = GEMEL_OK;
  options.rules = fuzz->options.rules;
  options.n_rules = fuzz->options.n_rules;
  if (gemel_certify_enable(fuzz->context, seed, &problem) == GEMEL_OK) {
    certified = gemel_rewrite(graph, &options, &problem);
  }
  int same = certified != NULL ? same_graph(once, certified) : 0;
  if (problem.status == GEMEL_NO_MEMORY || same < 0) {
    status = gemel__no_memory(error, "fuzzing");
  } else if (certified == NULL) {
    note(fault, GEMEL__FUZZ_DIFFERS, problem.text);
  } else if (!same) {
    status = note_graphs(fault, GEMEL__FUZZ_DIFFERS, once, "and certified", certified, error);
  }
  gemel_graph_unref(certified);
  return status;
}

/* Checks that GRAPH and ONCE give the same results where everything is exact, with the shipped code
 * and with references. GEMEL_UNSUPPORTED: they can't be compared. */
static gemel_status check_exact(const gemel_graph *graph, const gemel_graph *once, uint64_t seed,
                                gemel__fault *fault, gemel_error *error) {
  gemel_verify_options options = {.size = sizeof options, .seed = seed, .instances = INSTANCES};
  gemel_pair_result result = {.size = sizeof result};
  options.tiers = 1u << GEMEL_TIER_INTEGER;
  options.sink = keep_detail;
  options.user = fault;
  gemel_status status =
      gemel_verify_pair(graph, once, "fuzzed", GEMEL_NEEDS_ALL, &options, &result, error);
  if (status == GEMEL_OK && result.verdict == GEMEL_VERDICT_REFUTED) {
    fault->kind = GEMEL__FUZZ_DIFFERS;
  }
  return status == GEMEL_NO_MEMORY || status == GEMEL_OK ? status : GEMEL_UNSUPPORTED;
}

static gemel_status check_results(const gemel__fuzz *fuzz, const gemel_graph *graph,
                                  const gemel_graph *once, uint64_t seed, gemel__fault *fault,
                                  gemel_error *error) {
  GEMEL__TRY(check_certified(fuzz, graph, once, seed, fault, error));
  return fault->kind == GEMEL__FUZZ_KIND_COUNT ? check_exact(graph, once, seed, fault, error)
                                               : GEMEL_OK;
}

/* 1 if KIND is asked for and nothing is found yet. */
static int is_open(const gemel__fault *fault, unsigned asked, gemel__fuzz_kind kind) {
  return fault->kind == GEMEL__FUZZ_KIND_COUNT && (asked >> kind & 1);
}

static gemel_status check_rewritten(const gemel__fuzz *fuzz, const gemel_graph *graph,
                                    const gemel_graph *once, unsigned asked, uint64_t seed,
                                    gemel__fault *fault, gemel_error *error) {
  if (is_open(fault, asked, GEMEL__FUZZ_UNSETTLED)) {
    GEMEL__TRY(check_settled(fuzz, once, fault, error));
  }
  if (is_open(fault, asked, GEMEL__FUZZ_ORDER)) {
    GEMEL__TRY(check_order(fuzz, graph, seed, fault, error));
  }
  if (is_open(fault, asked, GEMEL__FUZZ_DIFFERS)) {
    GEMEL__TRY(check_results(fuzz, graph, once, seed, fault, error));
  }
  return is_open(fault, asked, GEMEL__FUZZ_LIFTED)
             ? gemel__fuzz_lifted(seed % 2 != 0 ? once : graph, seed, fault, error)
             : GEMEL_OK;
}

gemel_status gemel__fuzz_check(const gemel__fuzz *fuzz, const gemel_graph *graph, unsigned asked,
                               uint64_t seed, gemel__fault *fault, gemel_error *error) {
  gemel_error problem = {GEMEL_OK, 0, 0, ""};
  gemel_graph *once = rewrite(fuzz, graph, NULL, &problem);
  fault->kind = GEMEL__FUZZ_KIND_COUNT;
  fault->detail[0] = '\0';
  fault->left = 0;
  if (once == NULL || gemel_graph_check(once, &problem) != GEMEL_OK) {
    gemel_graph_unref(once);
    note(fault, GEMEL__FUZZ_FAILS, problem.text);
    return problem.status == GEMEL_NO_MEMORY ? gemel__no_memory(error, "fuzzing") : GEMEL_OK;
  }
  fault->left = once->n_nodes;
  gemel_status status = check_rewritten(fuzz, graph, once, asked, seed, fault, error);
  gemel_graph_unref(once);
  return status;
}

/* ---- Runs ---- */

static gemel_status too_many(gemel_error *error) {
  return gemel__fail(error, GEMEL_BAD_ARGUMENT, "more than %d sets of rules", GEMEL__FUZZ_SETS);
}

/* Loads gemel's own rules, one set for each file, and appends the program's. */
static gemel_status load_sets(gemel__fuzz *fuzz, gemel_error *error) {
  for (size_t k = 0; gemel__builtin_rules[k].file != NULL; k++) {
    const char *text = gemel__builtin_rules[k].text;
    if (fuzz->n_sets == GEMEL__FUZZ_SETS) {
      return too_many(error);
    }
    gemel_rules *set =
        gemel_rules_parse(fuzz->context, text, strlen(text), gemel__builtin_rules[k].file, error);
    if (set == NULL) {
      return error->status;
    }
    fuzz->sets[fuzz->n_sets++] = set;
  }
  for (size_t k = 0; k < fuzz->options.n_rules; k++) {
    if (fuzz->n_sets == GEMEL__FUZZ_SETS) {
      return too_many(error);
    }
    fuzz->sets[fuzz->n_sets++] = gemel_rules_ref((gemel_rules *)fuzz->options.rules[k]);
  }
  return GEMEL_OK;
}

static void end(gemel__fuzz *fuzz) {
  while (fuzz->n_sets > 0) {
    gemel_rules_unref(fuzz->sets[--fuzz->n_sets]);
  }
}

static gemel_status begin(gemel__fuzz *fuzz, gemel_context *context,
                          const gemel__fuzz_options *options, gemel_error *error) {
  memset(fuzz, 0, sizeof *fuzz);
  fuzz->context = context;
  if (options != NULL) {
    fuzz->options = *options;
  }
  gemel_status status = load_sets(fuzz, error);
  if (status != GEMEL_OK) {
    end(fuzz);
  }
  return status;
}

/* Shrinks GRAPH, in which the fault was found, and passes it to the sink. */
static gemel_status report(const gemel__fuzz *fuzz, const gemel_graph *graph, uint64_t seed,
                           uint64_t number, gemel__fault *fault, gemel_error *error) {
  gemel__fuzz_finding finding = {.seed = fuzz->options.seed};
  gemel_graph *small = gemel__fuzz_shrink(fuzz, graph, seed, fault, error);
  char *text = small != NULL ? gemel_print_string(small, "found", error) : NULL;
  gemel_graph_unref(small);
  if (text == NULL) {
    return GEMEL_NO_MEMORY;
  }
  finding.kind = fault->kind;
  finding.number = number;
  finding.graph = text;
  finding.detail = fault->detail;
  if (fuzz->options.sink != NULL) {
    fuzz->options.sink(fuzz->options.user, &finding);
  }
  gemel_text_free(text);
  return GEMEL_OK;
}

static gemel_status ask(const gemel__fuzz *fuzz, const gemel_graph *graph, uint64_t seed,
                        uint64_t number, gemel__fuzz_summary *counts, gemel_error *error) {
  uint64_t evaluate = fuzz->options.evaluate;
  int evaluated = evaluate != 0 && number % evaluate == 0;
  int there = gemel_device_of_space(fuzz->context, GEMEL__FUZZ_SPACE) != NULL;
  unsigned asked = 1u << GEMEL__FUZZ_UNSETTLED | 1u << GEMEL__FUZZ_ORDER |
                   (evaluated ? 1u << GEMEL__FUZZ_DIFFERS : 0) |
                   (there ? 1u << GEMEL__FUZZ_LIFTED : 0);
  gemel__fault fault;
  gemel_status status = gemel__fuzz_check(fuzz, graph, asked, seed, &fault, error);
  counts->graphs++;
  counts->nodes += graph->n_nodes;
  counts->left += fault.left;
  counts->evaluated += evaluated || there;
  counts->inconclusive += status == GEMEL_UNSUPPORTED;
  status = status == GEMEL_UNSUPPORTED ? GEMEL_OK : status;
  if (status == GEMEL_OK && fault.kind != GEMEL__FUZZ_KIND_COUNT) {
    counts->findings[fault.kind]++;
    status = report(fuzz, graph, seed, number, &fault, error);
  }
  return status;
}

/* Makes graph NUMBER and checks it. */
static gemel_status ask_random(const gemel__fuzz *fuzz, uint64_t number,
                               gemel__fuzz_summary *counts, gemel_error *error) {
  gemel__random random;
  gemel_error reason = {GEMEL_OK, 0, 0, ""};
  gemel__random_split(&random, fuzz->options.seed, number);
  int steps = (int)gemel__random_between(&random, FEWEST_STEPS, MOST_STEPS);
  gemel_graph *graph =
      gemel__random_graph(fuzz->context, (const gemel_rules *const *)fuzz->sets, fuzz->n_sets,
                          steps, number % PASSES == 0, &random, &reason);
  if (graph == NULL) {
    return reason.status == GEMEL_DECLINED ? GEMEL_OK : gemel__no_memory(error, "fuzzing");
  }
  gemel_status status = ask(fuzz, graph, gemel__random_bits(&random), number, counts, error);
  gemel_graph_unref(graph);
  return status;
}

gemel_status gemel__fuzz_graphs(gemel_context *context, const gemel__fuzz_options *options,
                                gemel__fuzz_summary *summary, gemel_error *error) {
  gemel__fuzz fuzz;
  gemel__fuzz_summary mine = {0};
  gemel_error local;
  error = error != NULL ? error : &local;
  if (context == NULL) {
    return gemel__fail(error, GEMEL_BAD_ARGUMENT, "the context is null");
  }
  gemel_status status = begin(&fuzz, context, options, error);
  uint64_t n = fuzz.options.graphs != 0 ? fuzz.options.graphs : GRAPHS;
  for (uint64_t k = 0; k < n && status == GEMEL_OK; k++) {
    status = ask_random(&fuzz, fuzz.options.first + k, summary != NULL ? summary : &mine, error);
  }
  end(&fuzz);
  return status;
}

gemel_status gemel__fuzz_graph(const gemel_graph *graph, const gemel__fuzz_options *options,
                               gemel__fuzz_summary *summary, gemel_error *error) {
  gemel__fuzz fuzz;
  gemel__fuzz_summary mine = {0};
  gemel_error local;
  error = error != NULL ? error : &local;
  if (graph == NULL) {
    return gemel__fail(error, GEMEL_BAD_ARGUMENT, "the graph is null");
  }
  gemel_status status = begin(&fuzz, graph->context, options, error);
  status = status
               ? status
               : ask(&fuzz, graph, fuzz.options.seed, 0, summary != NULL ? summary : &mine, error);
  end(&fuzz);
  return status;
}
