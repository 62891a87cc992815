/* SPDX-License-Identifier: MIT
 *
 * Comparing regions, see compare.h. Constant sizes are exchanged for small ones that stand to each
 * other as they do (sizes.h) and symbols get sizes; where there is no such graph (a reshape may
 * forbid it, which shows only when symbols get sizes), sizes stay as they are. Residues (trials.h)
 * are asked first. What they don't decide is looked at in points (survey.h), at these sizes and,
 * where a number is made of a place or a size, at the true ones; in bits, where a dtype may lose
 * some; and last by both models, as in tier real.
 *
 * What small sizes show has to be there at the true ones, too: as far as residues tell, or points
 * where the sizes are small enough for those.
 */
#include "certify/compare.h"

#include <string.h>
#include "certify/sizes.h"
#include "certify/survey.h"
#include "certify/trials.h"
#include "core/alloc.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/graph.h"
#include "models/model.h"
#include "ops/ops.h"

enum { DRAWS = 3, POINTS = 24, TRIALS = 2 };
/* Elements of all values of a side, up to which it is evaluated at true sizes: by both models, at
 * points, by residues alone, which are fastest. */
static const double most_models = 2000, most_exact = 20000, most_residues = 400000;

/* One comparison under way. */
typedef struct scene {
  gemel__pool *pool;
  const gemel__comparison *c;
  gemel__literals literals;
  gemel_graph *small[2];
  int cut;                  /* SMALL is smaller */
  int decides;              /* a decision was taken at some residues */
  int thorough;             /* points are searched for */
  gemel__difference *shown; /* where a difference is shown; NULL: nowhere */
  int nth; /* which size of symbols it is, from 0, of those at which there are results */
} scene;

/* How a pair at concrete sizes is compared. */
typedef gemel_status compare_pair(scene *s, gemel__pair *pair, gemel__likeness *likeness,
                                  gemel_error *error);

static gemel_status by_residues(scene *s, gemel__pair *pair, gemel__likeness *likeness,
                                gemel_error *error) {
  return gemel__trials_run(s->pool, pair, likeness, &s->decides, error);
}

static gemel_status by_points(scene *s, gemel__pair *pair, gemel__likeness *likeness,
                              gemel_error *error) {
  const gemel__survey_options options = {&s->literals, s->thorough && s->nth == 0, s->c->infinite,
                                         s->shown};
  return gemel__survey(pair, &options, &s->pool->random, likeness, error);
}

static gemel_status by_bits(scene *s, gemel__pair *pair, gemel__likeness *likeness,
                            gemel_error *error) {
  const gemel__survey_options options = {&s->literals, 0, 0, s->shown};
  return gemel__survey_bits(pair, &options, &s->pool->random, likeness, error);
}

/* Integers and truths among the leaves are a few of many: no residues decide what they steer. */
static int all_floats(const gemel__pair *pair) {
  for (size_t k = 0; k < pair->a.n_leaves; k++) {
    if (!gemel__is_float(pair->a.leaves[k].dtype)) {
      return 0;
    }
  }
  return 1;
}

static gemel_status ask_once(scene *s, gemel__pair *pair, gemel__likeness *likeness,
                             gemel_error *error) {
  gemel__question how = {.points = POINTS,
                         .trials = TRIALS,
                         .bisections = 0,
                         .solve = 1,
                         .seed = gemel__random_bits(&s->pool->random)};
  gemel__answer answer;
  gemel_status status = gemel__pair_decide(pair, &how, &answer, error);
  if (status == GEMEL_OK) {
    int proven = answer.verdict == GEMEL_VERDICT_PASSED && answer.how == GEMEL_EVIDENCE_FIELD &&
                 all_floats(pair);
    proven |= answer.verdict == GEMEL_VERDICT_PASSED && answer.how == GEMEL_EVIDENCE_SOLVER;
    *likeness = answer.verdict == GEMEL_VERDICT_REFUTED ? GEMEL__UNLIKE
                : proven                                ? GEMEL__ALIKE
                                                        : GEMEL__SAMPLED;
    if (*likeness == GEMEL__UNLIKE) {
      status = gemel__difference_show(s->shown, pair, answer.witness, answer.detail, error);
    }
    gemel__answer_clear(&answer);
  }
  return status;
}

/* An elementwise function is asked about at up to three sets of points: the decision needs a point
 * where an operand of a comparison is exactly 0, and not every set has one. */
static gemel_status by_models(scene *s, gemel__pair *pair, gemel__likeness *likeness,
                              gemel_error *error) {
  int tries = pair->a.elementwise && all_floats(pair) ? 3 : 1;
  gemel_status status = GEMEL_OK;
  *likeness = GEMEL__ALIKE;
  if (s->nth > 1) {
    return status; /* two sizes of symbols will do */
  }
  if (gemel__sizes_elements(pair->a.graph) > most_exact) {
    *likeness = GEMEL__SAMPLED;
    return status;
  }
  do {
    status = ask_once(s, pair, likeness, error);
  } while (status == GEMEL_OK && *likeness == GEMEL__SAMPLED && --tries > 0);
  return status;
}

/* ---- Sizes ---- */

/* 1 if every operation of GRAPH computes element by element, of as many as each leaf has, or moves
 * all of them. */
static int is_elementwise(const gemel_graph *graph, size_t elements) {
  for (uint32_t k = 0; k < graph->n_nodes; k++) {
    const gemel_operation *record = &gemel__node_op(graph, k)->record;
    int64_t n = 1, size = 0;
    gemel_type type;
    if (!gemel__has_output(graph, k, 0)) {
      return 0;
    }
    type = gemel__node_type(graph, k, 0);
    for (int j = 0; j < gemel_type_rank(graph->context, type); j++) {
      gemel_dim_is_constant(graph->context, gemel_type_dims(graph->context, type)[j], &size);
      n *= size;
    }
    if (record->flags & GEMEL_OP_SOURCE
            ? n > 1 && (size_t)n != elements
            : (size_t)n != elements ||
                  !(record->flags & GEMEL_OP_VIEW || gemel__scalar_row_of(record) != NULL)) {
      return 0;
    }
  }
  return 1;
}

static void note_elementwise(gemel__pair *pair) {
  size_t n = pair->a.n_leaves > 0 ? pair->a.leaves[0].count : 0;
  int all = n > 0 && is_elementwise(pair->a.graph, n) && is_elementwise(pair->b.graph, n);
  for (size_t k = 0; k < pair->a.n_leaves; k++) {
    all &= pair->a.leaves[k].count == n;
  }
  pair->a.elementwise = pair->b.elementwise = all;
}

/* Both of GRAPHS at concrete sizes; K counts the draws of symbols. */
static gemel_status make_pair(scene *s, const gemel_graph *const graphs[2], int symbolic, size_t k,
                              gemel__pair *pair, gemel_error *error) {
  gemel_status status;
  memset(pair, 0, sizeof *pair);
  if (symbolic && k >= DRAWS) {
    status = gemel__sizes_draw(graphs, &s->literals, k - DRAWS, &s->pool->random, pair, error);
  } else if (symbolic) {
    status = gemel__pair_draw(pair, graphs[0], graphs[1], &s->pool->random, error);
  } else {
    status = gemel__instance_of_graph(&pair->a, (gemel_graph *)graphs[0], NULL, error);
    status =
        status ? status : gemel__instance_of_graph(&pair->b, (gemel_graph *)graphs[1], NULL, error);
  }
  for (size_t j = 0; j < pair->a.n_leaves && status == GEMEL_OK; j++) {
    pair->a.leaves[j].range = s->c->ranges[j];
    pair->b.leaves[j].range = s->c->ranges[j];
  }
  if (status == GEMEL_OK) {
    note_elementwise(pair);
  }
  return status;
}

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

/* The less certain of two answers; a difference is one. */
static gemel__likeness weaker(gemel__likeness a, gemel__likeness b) {
  static const int rank[] = {[GEMEL__ALIKE] = 0,
                             [GEMEL__SAMPLED] = 1,
                             [GEMEL__UNSEEN] = 2,
                             [GEMEL__DOUBTFUL] = 3,
                             [GEMEL__UNLIKE] = 4};
  return rank[a] >= rank[b] ? a : b;
}

static int is_difference(gemel__likeness likeness) {
  return likeness == GEMEL__DOUBTFUL || likeness == GEMEL__UNLIKE;
}

/* At the sizes of GRAPHS, or at several that their symbols may have, those around literals where
 * places are numbers; a size at which the result is empty says nothing, unless it always is. *MADE,
 * which may be NULL: at how many. */
static gemel_status at_sizes(scene *s, const gemel_graph *const graphs[2], compare_pair *compare,
                             gemel__likeness *likeness, int *made, gemel_error *error) {
  int symbolic = gemel__sizes_symbolic(graphs[0]) || gemel__sizes_symbolic(graphs[1]);
  int wanted = symbolic ? DRAWS : 1, any_size = !symbolic || is_empty(graphs[0]), useful = 0;
  size_t around = symbolic && s->literals.positions ? gemel__sizes_draws(&s->literals) : 0, k = 0;
  gemel_status status = GEMEL_OK;
  *likeness = GEMEL__ALIKE;
  if (s->shown != NULL) {
    s->shown->graphs = graphs[0] != s->c->sides[0];
  }
  for (; k < DRAWS + around && !is_difference(*likeness) && status != GEMEL_NO_MEMORY; k++) {
    for (int tries = 0; tries < 4; tries++) {
      gemel__likeness one = GEMEL__ALIKE;
      gemel__pair pair;
      int fits;
      status = make_pair(s, graphs, symbolic, k, &pair, error);
      fits = status == GEMEL_OK && (any_size || gemel__pair_results(&pair) > 0);
      if (fits) {
        s->nth = useful;
        status = compare(s, &pair, &one, error);
        *likeness = weaker(*likeness, status == GEMEL_OK ? one : GEMEL__UNSEEN);
        useful += k < DRAWS;
      }
      gemel__pair_clear(&pair);
      if (fits || k >= DRAWS || status == GEMEL_NO_MEMORY) {
        break;
      }
    }
    if (!symbolic) {
      break;
    }
  }
  *likeness = useful < wanted ? weaker(*likeness, GEMEL__UNSEEN) : *likeness;
  if (made != NULL) {
    *made = useful;
  }
  return status == GEMEL_NO_MEMORY ? status : GEMEL_OK;
}

static int is_affordable(const scene *s, double most) {
  return gemel__sizes_elements(s->c->sides[0]) <= most &&
         gemel__sizes_elements(s->c->sides[1]) <= most;
}

static void forget_unless(const scene *s, gemel__likeness likeness) {
  if (likeness != GEMEL__UNLIKE) {
    gemel__difference_forget(s->shown);
  }
}

/* A difference at small sizes has to be one at the true ones. Points are asked if they are few,
 * else residues; what neither shows is left open. */
static gemel_status confirm(scene *s, gemel__likeness *likeness, gemel_error *error) {
  gemel__likeness there = GEMEL__UNSEEN;
  gemel_status status = GEMEL_OK;
  if (is_affordable(s, most_exact)) {
    status = at_sizes(s, s->c->sides, by_points, &there, NULL, error);
  }
  if (status == GEMEL_OK && there != GEMEL__UNLIKE && is_affordable(s, most_residues)) {
    status = at_sizes(s, s->c->sides, by_residues, &there, NULL, error);
  }
  *likeness = there == GEMEL__UNLIKE || there == GEMEL__DOUBTFUL ? GEMEL__UNLIKE : GEMEL__UNSEEN;
  forget_unless(s, *likeness);
  return status;
}

/* At small sizes, or at the true ones where small ones can't be. */
static gemel_status at_small_sizes(scene *s, compare_pair *compare, gemel__likeness *likeness,
                                   gemel_error *error) {
  const gemel_graph *small[2] = {s->small[0], s->small[1]};
  int made;
  gemel_status status = at_sizes(s, small, compare, likeness, &made, error);
  if (status == GEMEL_OK && s->cut && made == 0 && is_affordable(s, most_residues)) {
    status = at_sizes(s, s->c->sides, compare, likeness, NULL, error);
  }
  return status;
}

/* ---- Entry ---- */

static void begin(scene *s, gemel__pool *pool, const gemel__comparison *c) {
  s->shown = NULL;
  s->pool = pool;
  s->c = c;
  s->decides = 0;
  s->thorough = 1;
  gemel__literals_find(c->sides, &s->literals);
  if (s->literals.positions && is_affordable(s, most_models)) {
    s->cut = 0;
    s->small[0] = gemel_graph_ref((gemel_graph *)c->sides[0]);
    s->small[1] = gemel_graph_ref((gemel_graph *)c->sides[1]);
  } else {
    s->cut = gemel__sizes_cut(c->sides, &s->literals, s->small);
  }
}

static void end(scene *s) {
  gemel_graph_unref(s->small[0]);
  gemel_graph_unref(s->small[1]);
}

/* Decisions, and places that are numbers, at other sizes than the true ones: samples. */
static int depends_on_sizes(const scene *s) {
  return s->literals.positions && s->decides &&
         (s->cut || gemel__sizes_symbolic(s->c->sides[0]) || gemel__sizes_symbolic(s->c->sides[1]));
}

static int wants_bits(const gemel__comparison *c) {
  return c->exact && (gemel__bits_matter(c->sides[0]) || gemel__bits_matter(c->sides[1]));
}

gemel_status gemel__compare_fast(gemel__pool *pool, const gemel__comparison *comparison,
                                 gemel__likeness *likeness, gemel_error *error) {
  scene s;
  gemel_status status;
  begin(&s, pool, comparison);
  status = at_small_sizes(&s, by_residues, likeness, error);
  if (*likeness == GEMEL__ALIKE && depends_on_sizes(&s)) {
    *likeness = GEMEL__SAMPLED;
  }
  if (status == GEMEL_OK && *likeness == GEMEL__ALIKE && wants_bits(comparison)) {
    gemel__likeness bits;
    status = at_small_sizes(&s, by_bits, &bits, error);
    *likeness = bits == GEMEL__UNLIKE ? GEMEL__DOUBTFUL : *likeness;
  }
  end(&s);
  return status;
}

/* Points, at small sizes and where need be at the true ones. */
static gemel_status look(scene *s, gemel__likeness *likeness, gemel_error *error) {
  gemel_status status = at_small_sizes(s, by_points, likeness, error);
  if (status == GEMEL_OK && *likeness == GEMEL__UNLIKE && s->cut) {
    return confirm(s, likeness, error);
  }
  if (status == GEMEL_OK && *likeness != GEMEL__UNLIKE && s->cut && s->literals.positions) {
    gemel__likeness there = GEMEL__SAMPLED;
    if (is_affordable(s, most_exact)) {
      status = at_sizes(s, s->c->sides, by_points, &there, NULL, error);
    }
    *likeness = weaker(*likeness, there);
  }
  return status;
}

/* Bits, where a dtype may lose some. */
static gemel_status look_at_bits(scene *s, gemel__likeness *likeness, gemel_error *error) {
  gemel__likeness bits = GEMEL__ALIKE;
  gemel_status status = at_small_sizes(s, by_bits, &bits, error);
  if (status == GEMEL_OK && bits == GEMEL__UNLIKE && s->cut) {
    gemel__likeness there = GEMEL__UNSEEN;
    status = is_affordable(s, most_residues)
                 ? at_sizes(s, s->c->sides, by_bits, &there, NULL, error)
                 : GEMEL_OK;
    bits = there == GEMEL__UNLIKE ? there : GEMEL__UNSEEN;
    forget_unless(s, bits);
  }
  *likeness = weaker(*likeness, bits);
  return status;
}

/* Both models: what they decide is decided, but for sizes. */
static gemel_status ask_models(scene *s, gemel__likeness *likeness, gemel_error *error) {
  gemel_status status = at_small_sizes(s, by_models, likeness, error);
  if (status == GEMEL_OK && *likeness == GEMEL__UNLIKE && s->cut) {
    status = confirm(s, likeness, error);
  }
  if (*likeness == GEMEL__ALIKE && depends_on_sizes(s)) {
    *likeness = GEMEL__SAMPLED;
  }
  return status;
}

gemel_status gemel__compare_surely(gemel__pool *pool, const gemel__comparison *comparison,
                                   gemel__likeness *likeness, char **shown, gemel_error *error) {
  scene s;
  gemel_status status;
  begin(&s, pool, comparison);
  gemel__difference difference = {&pool->random, 0, NULL};
  s.shown = &difference;
  s.decides = 1;
  status = ask_models(&s, likeness, error);
  if (status == GEMEL_OK && *likeness != GEMEL__UNLIKE) {
    gemel__likeness points;
    s.thorough = *likeness != GEMEL__ALIKE;
    status = look(&s, &points, error);
    *likeness = weaker(*likeness, points);
  }
  if (status == GEMEL_OK && *likeness != GEMEL__UNLIKE && wants_bits(comparison)) {
    status = look_at_bits(&s, likeness, error);
  }
  end(&s);
  *shown = difference.text;
  return status;
}
