/* SPDX-License-Identifier: MIT
 *
 * Comparing regions, see compare.h. Sizes are exchanged for small ones by the role they play
 * (scale.h) and symbols get sizes; if the small graphs aren't graphs, or differ, the sizes stay as
 * they are. Fast: both sides at random residues in chains of 17-bit primes, where exp, log and
 * inverse are a look at a table; several chains one after the other, since one alone may not tell
 * constants apart that differ. An element whose value doesn't exist at some residues (the log of
 * half of them) has been seen when it did in one trial. Surely: in domain O at points, which is
 * exact.
 */
#include "certify/compare.h"

#include <string.h>
#include "core/alloc.h"
#include "core/error.h"
#include "core/graph.h"
#include "domains/field.h"
#include "domains/ordered.h"
#include "model.h"
#include "pair.h"
#include "scale.h"
#include "tiers.h"

enum {
  TRIALS = 2,
  TRIALS_WITH_SIGNS = 10,
  TRIALS_OF_INTEGERS = 24,
  REDRAWS = 12,
  POINTS = 24,
  CHAINS = 24,
  DRAWS = 3
};
static const int rings[GEMEL__LENGTHS] = {2, 4};

void gemel__pool_clear(gemel__pool *pool) {
  for (int k = 0; k < GEMEL__LENGTHS; k++) {
    gemel__field_free(pool->fields[k]);
    pool->fields[k] = NULL;
  }
}

/* The field of trial TRIAL: there are CHAINS of them, the same for all questions, so that their
 * tables are made once. */
static gemel__domain *field_of(gemel__pool *pool, int length, size_t trial, gemel_error *error) {
  gemel__domain **field = &pool->fields[length];
  uint64_t seed = pool->seed + trial % CHAINS;
  seed = gemel__splitmix(&seed);
  if (*field == NULL) {
    gemel__field_options options = {GEMEL__FIELD_SMALL, rings[length], NULL, 0, 0};
    *field = gemel__field_new(&options, seed, error);
    return *field;
  }
  return gemel__field_trial(*field, seed, error) == GEMEL_OK ? *field : NULL;
}

/* ---- Residues ---- */

static gemel__field_leaf leaf_kind(gemel_domain domain) {
  return domain == GEMEL_POSITIVE || domain == GEMEL_NONNEGATIVE ? GEMEL__LEAF_POSITIVE
                                                                 : GEMEL__LEAF_ANY;
}

/* Integers are those of POINT, floats random residues. */
static gemel_status draw_inputs(gemel__pool *pool, const gemel__instance *in, gemel__domain *field,
                                gemel__rtensor *inputs, gemel_error *error) {
  gemel_tensor **point = gemel__alloc_array(in->n_leaves + 1, sizeof *point);
  gemel_status status =
      point == NULL ? gemel__no_memory(error, "a trial")
                    : gemel__instance_values(in, GEMEL__FILL_POINTS, &pool->random, point, error);
  if (status == GEMEL_OK) {
    for (size_t k = 0; k < in->n_leaves && status == GEMEL_OK; k++) {
      gemel_view view = gemel_tensor_view(point[k]);
      int real = gemel_dtype_kind(view.dtype) == GEMEL_KIND_FLOAT;
      status = gemel__rtensor_from_view(&inputs[k], field, &view, error);
      for (size_t i = 0; status == GEMEL_OK && real && i < inputs[k].count; i++) {
        gemel__field_random(field, gemel__rtensor_at(&inputs[k], i),
                            leaf_kind(in->leaves[k].domain));
      }
    }
    gemel__tensors_release(in->n_leaves, point);
  }
  gemel__free(point, (in->n_leaves + 1) * sizeof *point);
  return status;
}

/* Elements that are SEEN get their mark. */
static gemel__likeness agree(gemel__domain *d, const gemel__rtensor *a, const gemel__rtensor *b,
                             unsigned char *seen) {
  gemel__likeness all = GEMEL__SAME;
  if (a->rank != b->rank || a->dtype != b->dtype ||
      memcmp(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape) != 0) {
    return GEMEL__NOT_SAME;
  }
  for (size_t i = 0; i < a->count; i++) {
    int equal = d->equal(d, gemel__rtensor_at(a, i), gemel__rtensor_at(b, i));
    if (equal == 0) {
      return GEMEL__NOT_SAME;
    }
    seen[i] |= equal == 1;
    all = seen[i] ? all : GEMEL__UNSEEN;
  }
  return all;
}

/* Both sides on D; ROOM has two empty slots, then the inputs. */
static gemel_status evaluate(const gemel__pair *pair, gemel__domain *d, gemel__rtensor *room,
                             gemel_error *error) {
  gemel_status status = gemel__reference_graph(pair->a.graph, d, room + 2, room, NULL, NULL, error);
  return status ? status
                : gemel__reference_graph(pair->b.graph, d, room + 2, room + 1, NULL, NULL, error);
}

static size_t results_of(const gemel__pair *pair) {
  gemel_context *context = gemel_graph_context(pair->a.graph);
  gemel_type type = gemel_value_type(gemel_graph_output(pair->a.graph, 0));
  const gemel_dim *dims = gemel_type_dims(context, type);
  size_t n = 1;
  for (int k = 0; k < gemel_type_rank(context, type); k++) {
    int64_t size = 0;
    gemel_dim_is_constant(context, dims[k], &size);
    n *= (size_t)size;
  }
  return n;
}

/* What trials share. */
struct trials {
  gemel__pool *pool;
  const gemel__pair *pair;
  gemel__rtensor *room; /* both results, and a slot for each leaf */
  unsigned char *seen;  /* by element of the result */
};

/* One trial. What a reference can't evaluate is unseen, unless memory is out. */
static gemel_status run_trial(struct trials *t, gemel__domain *field, gemel__likeness *likeness,
                              gemel_error *error) {
  gemel_status status = draw_inputs(t->pool, &t->pair->a, field, t->room + 2, error);
  status = status ? status : evaluate(t->pair, field, t->room, error);
  *likeness = status == GEMEL_OK ? agree(field, &t->room[0], &t->room[1], t->seen) : GEMEL__UNSEEN;
  gemel__rtensors_clear(t->pair->a.n_leaves + 2, t->room);
  return status == GEMEL_NO_MEMORY ? status : GEMEL_OK;
}

/* Residues say everything at once, numbers one thing each. */
static int trials_of(const gemel__instance *in) {
  int wanted = TRIALS;
  for (size_t k = 0; k < in->n_leaves; k++) {
    if (gemel_dtype_kind(in->leaves[k].dtype) != GEMEL_KIND_FLOAT) {
      wanted = TRIALS_OF_INTEGERS;
    }
  }
  return wanted;
}

static gemel_status run_trials(struct trials *t, gemel__likeness *likeness, gemel_error *error) {
  int length = 0, wanted = trials_of(&t->pair->a);
  *likeness = GEMEL__UNSEEN;
  for (int k = 0; k < wanted || (*likeness == GEMEL__UNSEEN && k < wanted + REDRAWS); k++) {
    gemel__domain *field = field_of(t->pool, length, (size_t)k, error);
    if (field == NULL || run_trial(t, field, likeness, error) != GEMEL_OK) {
      return error->status;
    }
    const gemel__field_report *report = gemel__field_get_report(field);
    if (*likeness == GEMEL__NOT_SAME) {
      *likeness = report->characters + report->roots + report->keyed > 0 ? GEMEL__DOUBTFUL
                                                                         : GEMEL__NOT_SAME;
      return GEMEL_OK;
    }
    if (*likeness == GEMEL__UNSEEN && report->gaps > 0 && length + 1 < GEMEL__LENGTHS) {
      length++;
    }
    if (report->characters + report->roots > 0 && wanted < TRIALS_WITH_SIGNS) {
      wanted = TRIALS_WITH_SIGNS;
    }
  }
  return GEMEL_OK;
}

static gemel_status with_room(gemel__pool *pool, const gemel__pair *pair,
                              gemel_status (*run)(struct trials *, gemel__likeness *,
                                                  gemel_error *),
                              gemel__likeness *likeness, gemel_error *error) {
  size_t n = pair->a.n_leaves + 2, results = results_of(pair);
  struct trials t = {pool, pair, gemel__alloc_array(n, sizeof *t.room),
                     gemel__alloc_array(results + 1, 1)};
  gemel_status status = t.room != NULL && t.seen != NULL ? run(&t, likeness, error)
                                                         : gemel__no_memory(error, "certifying");
  gemel__free(t.room, n * sizeof *t.room);
  gemel__free(t.seen, results + 1);
  return status;
}

static gemel_status by_residues(gemel__pool *pool, const gemel__pair *pair,
                                gemel__likeness *likeness, gemel_error *error) {
  return with_room(pool, pair, run_trials, likeness, error);
}

/* ---- Points ---- */

/* Whether two results certainly differ; what is undefined on a side is no difference here. */
static gemel__likeness agree_exactly(gemel__domain *o, const gemel__rtensor *a,
                                     const gemel__rtensor *b, int *seen) {
  if (a->count != b->count) {
    return GEMEL__NOT_SAME;
  }
  for (size_t i = 0; i < a->count; i++) {
    const void *x = gemel__rtensor_at(a, i), *y = gemel__rtensor_at(b, i);
    if (o->state(o, x) == GEMEL__DEFINED && o->state(o, y) == GEMEL__DEFINED) {
      *seen = 1;
      if (!gemel__ordered_overlap(o, x, y)) {
        return GEMEL__NOT_SAME;
      }
    }
  }
  return GEMEL__SAME;
}

static gemel_status draw_point(struct trials *t, gemel__domain *o, gemel_error *error) {
  const gemel__instance *in = &t->pair->a;
  double constants[24];
  size_t n = 0;
  gemel_tensor **point = gemel__alloc_array(in->n_leaves + 1, sizeof *point);
  gemel_status status;
  gemel__constants(in->graph, constants, 24, &n);
  gemel__constants(t->pair->b.graph, constants, 24, &n);
  status = point == NULL ? gemel__no_memory(error, "a point")
                         : gemel__instance_points(in, GEMEL__FILL_POINTS, constants, n,
                                                  &t->pool->random, point, error);
  if (status == GEMEL_OK) {
    for (size_t k = 0; k < in->n_leaves && status == GEMEL_OK; k++) {
      gemel_view view = gemel_tensor_view(point[k]);
      status = gemel__rtensor_from_view(&t->room[k + 2], o, &view, error);
    }
    gemel__tensors_release(in->n_leaves, point);
  }
  gemel__free(point, (in->n_leaves + 1) * sizeof *point);
  return status;
}

static gemel_status run_points(struct trials *t, gemel__likeness *likeness, gemel_error *error) {
  gemel__ordered *o = gemel__ordered_new(256);
  gemel_status status = o != NULL ? GEMEL_OK : gemel__no_memory(error, "a domain");
  int seen = 0;
  *likeness = GEMEL__SAME;
  for (int k = 0; k < POINTS && status == GEMEL_OK && *likeness == GEMEL__SAME; k++) {
    status = draw_point(t, &o->domain, error);
    if (status == GEMEL_OK) {
      gemel_status evaluated = evaluate(t->pair, &o->domain, t->room, error);
      status = evaluated == GEMEL_NO_MEMORY ? evaluated : GEMEL_OK;
      if (evaluated == GEMEL_OK) {
        *likeness = agree_exactly(&o->domain, &t->room[0], &t->room[1], &seen);
      }
    }
    gemel__rtensors_clear(t->pair->a.n_leaves + 2, t->room);
  }
  *likeness = *likeness == GEMEL__SAME && !seen ? GEMEL__UNSEEN : *likeness;
  gemel__ordered_free(o);
  return status;
}

static gemel_status by_points(gemel__pool *pool, const gemel__pair *pair, gemel__likeness *likeness,
                              gemel_error *error) {
  return with_room(pool, pair, run_points, likeness, error);
}

/* ---- Sizes ---- */

static int is_symbolic(const gemel_graph *graph) {
  for (size_t k = 0; k < graph->n_nodes; k++) {
    const struct gemel__type *type;
    if (!gemel__has_output(graph, (uint32_t)k, 0)) {
      continue;
    }
    type = gemel__type_at(graph->context, gemel__node_type(graph, (uint32_t)k, 0));
    for (int j = 0; j < type->rank; j++) {
      int64_t size;
      if (!gemel_dim_is_constant(graph->context, type->dims[j], &size)) {
        return 1;
      }
    }
  }
  return 0;
}

/* Both graphs at concrete sizes. */
static gemel_status make_pair(gemel__pool *pool, const gemel_graph *left, const gemel_graph *right,
                              const gemel_domain *domains, gemel__pair *pair, gemel_error *error) {
  gemel_status status;
  memset(pair, 0, sizeof *pair);
  if (is_symbolic(left) || is_symbolic(right)) {
    status = gemel__pair_draw(pair, left, right, &pool->random, error);
  } else {
    status = gemel__instance_of_graph(&pair->a, (gemel_graph *)left, NULL, error);
    status =
        status ? status : gemel__instance_of_graph(&pair->b, (gemel_graph *)right, NULL, error);
  }
  for (size_t k = 0; k < pair->a.n_leaves && status == GEMEL_OK; k++) {
    pair->a.leaves[k].domain = domains[k];
    pair->b.leaves[k].domain = domains[k];
  }
  return status;
}

/* Both graphs with small sizes: references; they themselves if that can't be. *SCALED says so. */
static void scale(const gemel_graph *graphs[2], gemel_graph *small[2], int *scaled) {
  gemel__scaling scaling;
  small[0] = small[1] = NULL;
  gemel__scaling_find(graphs[0], &scaling);
  if (scaling.n > 0) {
    small[0] = gemel__graph_scaled(graphs[0], &scaling, NULL);
    small[1] = small[0] != NULL ? gemel__graph_scaled(graphs[1], &scaling, NULL) : NULL;
  }
  *scaled = small[1] != NULL && gemel__pair_check(small[0], small[1], NULL) == GEMEL_OK;
  for (int k = 0; k < 2; k++) {
    if (!*scaled) {
      gemel_graph_unref(small[k]);
      small[k] = gemel_graph_ref((gemel_graph *)graphs[k]);
    }
  }
}

typedef gemel_status compare_pair(gemel__pool *pool, const gemel__pair *pair,
                                  gemel__likeness *likeness, gemel_error *error);

/* 1 if the result of GRAPH has no elements, whatever the symbols are. */
static int is_empty(const gemel_graph *graph) {
  gemel_type type = gemel_value_type(gemel_graph_output(graph, 0));
  const gemel_dim *dims = gemel_type_dims(graph->context, type);
  int64_t size;
  for (int k = 0; k < gemel_type_rank(graph->context, type); k++) {
    if (gemel_dim_is_constant(graph->context, dims[k], &size) && size == 0) {
      return 1;
    }
  }
  return 0;
}

/* At the sizes of the graphs, or at several that their symbols may have; a size at which the
 * result is empty says nothing, unless it always is. *MADE, which may be NULL: at how many. */
static gemel_status at_sizes(gemel__pool *pool, const gemel_graph *left, const gemel_graph *right,
                             const gemel_domain *domains, compare_pair *compare,
                             gemel__likeness *likeness, int *made, gemel_error *error) {
  int draws = is_symbolic(left) || is_symbolic(right) ? DRAWS : 1, useful = 0;
  int any_size = draws == 1 || is_empty(left);
  gemel_status status = GEMEL_OK;
  *likeness = GEMEL__SAME;
  for (int k = 0; k < 4 * draws && useful < draws && *likeness == GEMEL__SAME; k++) {
    gemel__pair pair;
    status = make_pair(pool, left, right, domains, &pair, error);
    if (status == GEMEL_OK && (any_size || results_of(&pair) > 0)) {
      status = compare(pool, &pair, likeness, error);
      useful++;
    }
    gemel__pair_clear(&pair);
    if (status == GEMEL_NO_MEMORY) {
      return status;
    }
  }
  *likeness = *likeness == GEMEL__SAME && useful < draws ? GEMEL__UNSEEN : *likeness;
  if (made != NULL) {
    *made = useful;
  }
  return GEMEL_OK;
}

/* 1 if comparing at the sizes that GRAPH has is no great work. */
static int is_moderate(const gemel_graph *graph) {
  enum { MOST_ELEMENTS = 1 << 16 };
  for (size_t k = 0; k < graph->n_nodes; k++) {
    const struct gemel__type *type;
    int64_t n = 1, size;
    if (!gemel__has_output(graph, (uint32_t)k, 0)) {
      continue;
    }
    type = gemel__type_at(graph->context, gemel__node_type(graph, (uint32_t)k, 0));
    for (int j = 0; j < type->rank && n <= MOST_ELEMENTS; j++) {
      int known = gemel_dim_is_constant(graph->context, type->dims[j], &size);
      n *= known && size < MOST_ELEMENTS ? size : known ? MOST_ELEMENTS + 1 : 1;
    }
    if (n > MOST_ELEMENTS) {
      return 0;
    }
  }
  return 1;
}

/* At small sizes; where there is no such graph (a reshape may forbid it, which shows only when
 * symbols get sizes), at the true ones. CONFIRM: a difference that is seen at small sizes has to be
 * one at the true sizes too, as far as residues tell. */
static gemel_status at_small_sizes(gemel__pool *pool, const gemel_graph *left,
                                   const gemel_graph *right, const gemel_domain *domains,
                                   compare_pair *compare, int confirm, gemel__likeness *likeness,
                                   gemel_error *error) {
  const gemel_graph *graphs[2] = {left, right};
  gemel_graph *small[2];
  int scaled, made;
  gemel_status status;
  scale(graphs, small, &scaled);
  status = at_sizes(pool, small[0], small[1], domains, compare, likeness, &made, error);
  if (status == GEMEL_OK && scaled && made == 0 && is_moderate(left) && is_moderate(right)) {
    status = at_sizes(pool, left, right, domains, compare, likeness, NULL, error);
  } else if (status == GEMEL_OK && scaled && confirm && *likeness == GEMEL__NOT_SAME) {
    status = at_sizes(pool, left, right, domains, by_residues, likeness, NULL, error);
    *likeness = *likeness == GEMEL__DOUBTFUL ? GEMEL__NOT_SAME : *likeness;
  }
  gemel_graph_unref(small[0]);
  gemel_graph_unref(small[1]);
  return status;
}

gemel_status gemel__compare_fast(gemel__pool *pool, const gemel_graph *left,
                                 const gemel_graph *right, const gemel_domain *domains,
                                 gemel__likeness *likeness, gemel_error *error) {
  return at_small_sizes(pool, left, right, domains, by_residues, 0, likeness, error);
}

/* ---- Both models ---- */

static gemel_status ask(gemel__pool *pool, const gemel__pair *pair, gemel__likeness *likeness,
                        gemel_error *error) {
  gemel__question how = {.points = POINTS,
                         .trials = TRIALS,
                         .bisections = 2,
                         .seed = gemel__random_bits(&pool->random)};
  gemel__answer answer;
  gemel_status status = gemel__pair_decide(pair, &how, &answer, error);
  if (status == GEMEL_OK) {
    *likeness = answer.verdict == GEMEL_REFUTED  ? GEMEL__NOT_SAME
                : answer.verdict == GEMEL_PASSED ? GEMEL__SAME
                                                 : GEMEL__UNSEEN;
    gemel__answer_clear(&answer);
  }
  return status;
}

gemel_status gemel__compare_surely(gemel__pool *pool, const gemel_graph *left,
                                   const gemel_graph *right, const gemel_domain *domains,
                                   gemel__likeness *likeness, gemel_error *error) {
  int was_certain = *likeness == GEMEL__NOT_SAME;
  gemel_status status = at_small_sizes(pool, left, right, domains, by_points, 1, likeness, error);
  return status == GEMEL_OK && was_certain && *likeness != GEMEL__NOT_SAME
             ? at_small_sizes(pool, left, right, domains, ask, 1, likeness, error)
             : status;
}
