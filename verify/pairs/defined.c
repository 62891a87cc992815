/* SPDX-License-Identifier: MIT
 *
 * Where graphs are defined, see defined.h. Without symbols and integer inputs an error depends on
 * nothing that could be varied, so both are run once.
 */
#include "pairs/defined.h"

#include <stdio.h>
#include <string.h>
#include "core/alloc.h"
#include "core/error.h"
#include "instances/assumed.h"
#include "instances/rebuild.h"
#include "instances/source.h"
#include "pairs/numbers.h"
#include "tiers/tiers.h"
#include "core/dtype.h"
#include "core/graph.h"

enum { ROUNDS = 32, FEW_ROUNDS = 4, MOST_NUMBERS = 16, LARGE = 100000 };
/* Graphs of more elements get FEW_ROUNDS, of more than MOST_ELEMENTS none. */
#define USUAL_ELEMENTS 1e5
#define MOST_ELEMENTS 1e8

struct domain_search {
  const gemel_graph *a, *b;
  gemel__random *random;
  gemel__defined *found;
  size_t n; /* symbols */
  const char *names[GEMEL__MOST_SYMBOLS];
  int64_t sizes[GEMEL__MOST_SYMBOLS];
  int64_t numbers[MOST_NUMBERS]; /* of both graphs */
  size_t n_numbers;
};

static void note_number(void *user, int64_t number) {
  struct domain_search *s = user;
  size_t k = 0;
  while (k < s->n_numbers && s->numbers[k] != number) {
    k++;
  }
  if (k == s->n_numbers && k < MOST_NUMBERS && number > -LARGE && number < LARGE) {
    s->numbers[s->n_numbers++] = number;
  }
}

/* ---- Sizes ---- */

/* In rounds from ROUNDS on, one symbol is a number of the graphs, or one more: a table of so many
 * entries is too short then. */
static void draw_beside(struct domain_search *s, size_t round) {
  size_t way = round - ROUNDS, symbol = way / 2 % s->n, number = way / 2 / s->n;
  for (size_t k = 0; k < s->n; k++) {
    s->sizes[k] = 2;
  }
  s->sizes[symbol] = s->numbers[number] > 0 ? s->numbers[number] + (int64_t)(way % 2) : 2;
}

static void draw_sizes(struct domain_search *s, size_t round) {
  static const int64_t sizes[] = {2, 3, 1, 0, 4, 5};
  enum { SIZES = sizeof sizes / sizeof *sizes };
  if (round >= ROUNDS) {
    draw_beside(s, round);
    return;
  }
  for (size_t k = 0; k < s->n; k++) {
    s->sizes[k] = round == 0   ? (int64_t)k + 2
                  : round <= 4 ? sizes[round - 1]
                               : sizes[gemel__random_below(s->random, SIZES)];
  }
}

static void say_sizes(const struct domain_search *s, char *text, size_t bytes) {
  size_t used = 0;
  text[0] = '\0';
  for (size_t k = 0; k < s->n && used < bytes; k++) {
    used += (size_t)snprintf(text + used, bytes - used, "%s%s = %lld", k > 0 ? ", " : "",
                             s->names[k], (long long)s->sizes[k]);
  }
}

/* ---- Values ---- */

/* The size of some axis; small numbers if no input has one. */
static int64_t some_size(const struct domain_search *s, const gemel__instance *instance) {
  size_t from = gemel__random_below(s->random, instance->n_leaves);
  for (size_t k = 0; k < instance->n_leaves; k++) {
    const gemel__leaf *leaf = &instance->leaves[(from + k) % instance->n_leaves];
    if (leaf->rank > 0) {
      return leaf->shape[gemel__random_below(s->random, (uint64_t)leaf->rank)];
    }
  }
  return (int64_t)gemel__random_below(s->random, 4);
}

/* A number beside what an index may be: ends of an axis from both sides, numbers of the graphs, and
 * where a slice of so many elements ends with its axis. */
static int64_t beside(const struct domain_search *s, const gemel__instance *instance) {
  int64_t size = some_size(s, instance);
  uint64_t way = s->n_numbers > 0 ? gemel__random_below(s->random, 3) : 0;
  int64_t number = way > 0 ? s->numbers[gemel__random_below(s->random, s->n_numbers)] : size;
  number = way == 2 ? size - number : number;
  number += gemel__random_between(s->random, -1, 1);
  return gemel__random_chance(s->random, 1, 4) ? -number : number;
}

/* In two rounds of four: floats ascend or descend, truths are all true or all false. What is
 * computed of them, such as the place of the largest or a count, comes to either of its ends. */
static void put_ends(const gemel__leaf *leaf, size_t round, const gemel_tensor *values) {
  int end = round % 4 == 1 ? 1 : round % 4 == 2 ? -1 : 0, truths = leaf->dtype == GEMEL_BOOL;
  if (end == 0 || (!truths && !gemel__is_float(leaf->dtype))) {
    return;
  }
  for (size_t i = 0; i < leaf->count; i++) {
    size_t up = end > 0 ? i + 1 : leaf->count - i;
    void *at = gemel__leaf_at(leaf, values, i);
    double number = truths ? end > 0 : (double)(up % 1024);
    gemel__dtype_store(leaf->dtype, number, at);
  }
}

/* Makes integers 0 or 1; one of each tensor, in two rounds of three, a number beside. */
static void plant(const struct domain_search *s, const gemel__instance *instance, size_t round,
                  gemel_tensor *const *values) {
  for (size_t k = 0; k < instance->n_leaves; k++) {
    const gemel__leaf *leaf = &instance->leaves[k];
    put_ends(leaf, round, values[k]);
    for (size_t i = 0; gemel__is_integer_leaf(leaf) && i < leaf->count; i++) {
      gemel__leaf_put(leaf, gemel__leaf_at(leaf, values[k], i),
                      gemel__random_between(s->random, 0, 1));
    }
    if (gemel__is_integer_leaf(leaf) && leaf->count > 0 && round % 3 != 0) {
      size_t at = gemel__random_below(s->random, leaf->count);
      gemel__leaf_put(leaf, gemel__leaf_at(leaf, values[k], at), beside(s, instance));
    }
  }
}

/* ---- Comparing ---- */

/* A and B are what the two sides came to, one of which failed by PROBLEM. *PAIR and *VALUES, which
 * may be NULL, are moved if they are the first to show that. */
static void note(struct domain_search *s, gemel_status a, gemel_status b,
                 const gemel_error *problem, gemel__pair *pair, gemel_tensor ***values) {
  int narrows = a == GEMEL_OK && b != GEMEL_OK, widens = a != GEMEL_OK && b == GEMEL_OK;
  int first = narrows ? !s->found->narrows : widens && !s->found->widens && !s->found->narrows;
  s->found->narrows |= narrows;
  s->found->widens |= widens;
  if (!first) {
    return;
  }
  gemel__defined *d = s->found;
  gemel__values_free(&d->pair.a, d->values);
  gemel__pair_clear(&d->pair);
  memset(&d->pair, 0, sizeof d->pair);
  d->values = NULL;
  say_sizes(s, d->sizes, sizeof d->sizes);
  snprintf(d->problem, sizeof d->problem, "%.*s", (int)sizeof d->problem - 1, problem->text);
  if (pair != NULL) {
    d->pair = *pair;
    d->values = *values;
    memset(pair, 0, sizeof *pair);
    *values = NULL;
  }
}

int gemel__refuses(gemel_status status) {
  return gemel__is_no_result(status) || status == GEMEL_BAD_ARGUMENT || status == GEMEL_BAD_TYPE;
}

/* 1 if no result of GRAPH has an element: who gets an error instead loses nothing. */
static int gives_nothing(const gemel_graph *graph) {
  size_t k = 0, n = gemel_graph_output_count(graph);
  while (k < n && gemel__type_elements(gemel_graph_context(graph),
                                       gemel_value_type(gemel_graph_output(graph, k)), 1) == 0) {
    k++;
  }
  return k == n;
}

/* Runs both sides of PAIR at values of its own. */
static gemel_status compare_once(struct domain_search *s, gemel__pair *pair, size_t round,
                                 gemel_error *error) {
  gemel_error of_a = {GEMEL_OK, 0, 0, ""}, of_b = {GEMEL_OK, 0, 0, ""};
  gemel_tensor **values = NULL;
  const gemel__instance leaves = pair->a; /* what is noted moves the pair away */
  GEMEL__TRY(gemel__values_draw(&pair->a, GEMEL__FILL_SMALL, s->random, &values, error));
  plant(s, &pair->a, round, values);
  int nothing = gives_nothing(pair->a.graph);
  gemel_status a = gemel__instance_run(&pair->a, values, s->random, &of_a);
  gemel_status b = gemel__instance_run(&pair->b, values, s->random, &of_b);
  if (!nothing && ((a == GEMEL_OK && gemel__refuses(b)) || (b == GEMEL_OK && gemel__refuses(a)))) {
    note(s, a, b, a == GEMEL_OK ? &of_b : &of_a, pair, &values);
  }
  gemel__values_free(&leaves, values);
  return a == GEMEL_NO_MEMORY || b == GEMEL_NO_MEMORY ? gemel__no_memory(error, "results")
                                                      : GEMEL_OK;
}

/* 1 if an error may depend on the values of PAIR's inputs, or it costs little to see. */
static int depends(const gemel__pair *pair) {
  const gemel_graph *a = pair->a.graph, *b = pair->b.graph;
  return gemel__pair_elements(pair) <= USUAL_ELEMENTS || gemel__may_refuse(a) ||
         gemel__may_refuse(b) || gemel__graph_has_runtime_sizes(a) ||
         gemel__graph_has_runtime_sizes(b);
}

/* Each choice of sizes gets a few values if that may show something, as compiling costs more than
 * they do. */
static gemel_status compare_values(struct domain_search *s, gemel__pair *pair, size_t round,
                                   gemel_error *error) {
  enum { VALUES = 4 };
  size_t values = depends(pair) ? VALUES : 1;
  for (size_t k = 0; k < values && pair->a.graph != NULL; k++) {
    GEMEL__TRY(compare_once(s, pair, round + k, error));
  }
  return GEMEL_OK;
}

/* Sets *HAS to 1 if GRAPH, which its sizes allow, has a result for some of a few values: an index,
 * or a size that is known at run time, may end each run in an error. */
static gemel_status has_result(struct domain_search *s, const gemel_graph *graph, size_t round,
                               int *has, gemel_error *error) {
  enum { TRIES = 8 };
  gemel__pair pair;
  GEMEL__TRY(gemel__pair_draw_at(&pair, graph, graph, s->n, s->names, s->sizes, s->random, error));
  *has = !gemel__may_refuse(pair.a.graph) && !gemel__graph_has_runtime_sizes(pair.a.graph);
  gemel_status status = GEMEL_OK;
  for (size_t k = 0; k < TRIES && !*has && status == GEMEL_OK; k++) {
    gemel_tensor **values = NULL;
    gemel_error of = {GEMEL_OK, 0, 0, ""};
    status = gemel__values_draw(&pair.a, GEMEL__FILL_SMALL, s->random, &values, error);
    if (status == GEMEL_OK) {
      plant(s, &pair.a, round + k, values);
      *has = gemel__instance_run(&pair.a, values, s->random, &of) == GEMEL_OK;
      gemel__values_free(&pair.a, values);
    }
  }
  gemel__pair_clear(&pair);
  return status;
}

/* One choice of sizes. */
static gemel_status compare_at(struct domain_search *s, size_t round, gemel_error *error) {
  const gemel_graph *graphs[2] = {s->a, s->b};
  gemel_error of[2];
  gemel_status status[2];
  gemel__pair pair;
  int nothing = 0;
  for (int k = 0; k < 2; k++) {
    of[k] = (gemel_error){GEMEL_OK, 0, 0, ""};
    status[k] = gemel__pair_draw_at(&pair, graphs[k], graphs[k], s->n, s->names, s->sizes,
                                    s->random, &of[k]);
    if (status[k] == GEMEL_OK) {
      nothing |= gives_nothing(pair.a.graph);
      gemel__pair_clear(&pair);
    } else if (status[k] == GEMEL_NO_MEMORY) {
      return gemel__no_memory(error, "an instance");
    }
  }
  if (!nothing && ((status[0] == GEMEL_OK && gemel__refuses(status[1])) ||
                   (status[1] == GEMEL_OK && gemel__refuses(status[0])))) {
    int first = status[0] == GEMEL_OK, has = 0;
    GEMEL__TRY(has_result(s, graphs[!first], round, &has, error));
    if (has) {
      note(s, status[0], status[1], &of[first], NULL, NULL);
    }
  }
  if (status[0] != GEMEL_OK || status[1] != GEMEL_OK) {
    return GEMEL_OK;
  }
  GEMEL__TRY(gemel__pair_draw_at(&pair, s->a, s->b, s->n, s->names, s->sizes, s->random, error));
  int affordable = round < ROUNDS || gemel__pair_elements(&pair) <= USUAL_ELEMENTS;
  gemel_status compared = affordable ? compare_values(s, &pair, round, error) : GEMEL_OK;
  gemel__pair_clear(&pair);
  return compared;
}

/* 1 if an input or a computed value is an integer, which may be an index. */
static int has_integers(const gemel_graph *graph) {
  uint32_t k = 0;
  while (
      k < graph->n_nodes &&
      (graph->nodes[k].op == GEMEL__OP_constant || !gemel__has_output(graph, k, 0) ||
       !gemel__is_integer_dtype(gemel_type_dtype(graph->context, gemel__node_type(graph, k, 0))))) {
    k++;
  }
  return k < graph->n_nodes;
}

gemel_status gemel__defined_compare(const gemel_graph *a, const gemel_graph *b,
                                    gemel__random *random, gemel__ticker *ticker,
                                    gemel__defined *defined, gemel_error *error) {
  struct domain_search s = {.a = a, .b = b, .random = random, .found = defined};
  double elements = gemel__graphs_elements(a, b, 4);
  memset(defined, 0, sizeof *defined);
  s.n = gemel__pair_symbols(a, s.names, GEMEL__MOST_SYMBOLS);
  if (elements > MOST_ELEMENTS) {
    return GEMEL_OK;
  }
  gemel__numbers_each(a, note_number, &s);
  gemel__numbers_each(b, note_number, &s);
  gemel__ticker_stage(ticker, "where both are defined");
  size_t rounds = s.n == 0 && !has_integers(a) && !has_integers(b) ? 1
                  : elements > USUAL_ELEMENTS                      ? FEW_ROUNDS
                                                                   : ROUNDS;
  for (size_t k = 0; k < rounds && !defined->narrows && gemel__tick(ticker) == GEMEL_OK; k++) {
    draw_sizes(&s, k);
    GEMEL__TRY(compare_at(&s, k, error));
  }
  size_t beside = elements <= USUAL_ELEMENTS ? 2 * s.n * s.n_numbers : 0;
  for (size_t k = 0; k < beside && !defined->narrows && gemel__tick(ticker) == GEMEL_OK; k++) {
    draw_sizes(&s, ROUNDS + k);
    GEMEL__TRY(compare_at(&s, ROUNDS + k, error));
  }
  return GEMEL_OK;
}

void gemel__defined_clear(gemel__defined *defined) {
  gemel__values_free(&defined->pair.a, defined->values);
  gemel__pair_clear(&defined->pair);
  memset(defined, 0, sizeof *defined);
}
