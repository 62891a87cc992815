/* SPDX-License-Identifier: MIT
 *
 * Compares the sides of a region, see compare.h. Large constant sizes are replaced by small ones in
 * the same order (sizes.h), and symbols get sizes. If a graph can't have such sizes (a reshape may
 * forbid it, which may show only once symbols have sizes), the sizes stay.
 *
 * Residues (trials.h) are tried first. If they don't decide, it is the question of tier real, put
 * to both models with few points: at the small sizes and, if a number is computed from an index or
 * a size, at the true ones. Bits are compared (bits.h) if digits may be lost between dtypes.
 *
 * A difference at small sizes must show at the true sizes too: with the models if the sides are
 * small enough for them, otherwise with residues. If it doesn't, the question stays open.
 */
#include "certify/compare.h"

#include <string.h>
#include "certify/sizes.h"
#include "certify/bits.h"
#include "certify/trials.h"
#include "core/alloc.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/graph.h"
#include "tiers/model.h"
#include "ops/ops.h"

enum { DRAWS = 3, POINTS = 24, FEWEST_POINTS = 4, INFINITE_POINTS = 6, TRIALS = 2 };
enum { DRIVES = 400, WORK = 200000 };
/* Elements of all values of a side. Up to MOST_MODELS it is asked about at true sizes only, up to
 * MOST_EXACT the models are asked, up to MOST_RESIDUES residues are. */
static const double most_models = 2000, most_exact = 20000, most_residues = 400000;

/* The state of one comparison. */
typedef struct scene {
  gemel__pool *pool;
  const gemel__comparison *c;
  gemel__literals literals;
  gemel_graph *small[2];
  int cut;                  /* 1: SMALL has smaller sizes than the sides */
  int decides;              /* 1: a decision was taken in a trial */
  gemel__difference *shown; /* receives the text of a difference; NULL: it isn't wanted */
  int around;               /* 1: at sizes around a literal */
  int nth;                  /* number of the draw of symbols, from 0, of those with results */
} scene;

/* A way to compare a pair at concrete sizes. */
typedef gemel_status compare_pair(scene *s, gemel__pair *pair, gemel__finding *finding,
                                  gemel_error *error);

static gemel_status by_residues(scene *s, gemel__pair *pair, gemel__finding *finding,
                                gemel_error *error) {
  return gemel__trials_run(s->pool, pair, finding, &s->decides, error);
}

static gemel_status by_bits(scene *s, gemel__pair *pair, gemel__finding *finding,
                            gemel_error *error) {
  return gemel__compare_bits(pair, &s->literals, s->shown, &s->pool->random, finding, error);
}

/* 1 if all inputs are floats. For integers and truths only some numbers are drawn, so residues
 * don't decide what depends on them. */
static int all_floats(const gemel__pair *pair) {
  for (size_t k = 0; k < pair->a.n_leaves; k++) {
    if (!gemel__is_float(pair->a.leaves[k].dtype)) {
      return 0;
    }
  }
  return 1;
}

/* Asks the models once. SEARCH: also searches for points at which decisions change, and asks the
 * solver. */
static gemel_status ask_once(scene *s, gemel__pair *pair, int search, gemel__finding *finding,
                             gemel_error *error) {
  double affordable = WORK / (gemel__pair_elements(pair) + 1);
  gemel__question how = {.points = affordable < FEWEST_POINTS ? FEWEST_POINTS
                                   : affordable < POINTS      ? (size_t)affordable
                                                              : POINTS,
                         .trials = TRIALS,
                         .infinite = s->c->infinite ? INFINITE_POINTS : 0,
                         .drives = !search               ? 0
                                   : affordable < DRIVES ? (size_t)affordable
                                                         : DRIVES,
                         .zeros_count = 1,
                         .keep_sites = 1,
                         .solve = search,
                         .seed = gemel__random_bits(&s->pool->random)};
  gemel__answer answer;
  gemel_status status = gemel__pair_decide(pair, &how, &answer, error);
  if (status == GEMEL_OK) {
    *finding = (gemel__finding){answer.verdict, answer.how};
    if (gemel__is_different(*finding)) {
      status = gemel__difference_show(s->shown, pair, answer.witness, answer.detail, error);
    }
    gemel__answer_clear(&answer);
  }
  return status;
}

/* Asks the models. A comparison is decided only if at some point its operands' difference is
 * exactly 0, which not every set of points has. So an elementwise function is asked about at up to
 * three sets, and searched with the last. */
static gemel_status by_models(scene *s, gemel__pair *pair, gemel__finding *finding,
                              gemel_error *error) {
  int tries = pair->a.elementwise && all_floats(pair) && !s->around ? 3 : 1;
  gemel_status status = GEMEL_OK;
  *finding = gemel__same;
  if (s->nth > 1 && !s->around) {
    return status; /* two draws of symbols are enough */
  }
  if (gemel__graph_elements(pair->a.graph, 4) > most_exact) {
    *finding = gemel__sampled;
    return status;
  }
  do {
    status = ask_once(s, pair, --tries == 0 && !s->around, finding, error);
  } while (status == GEMEL_OK && finding->verdict != GEMEL_VERDICT_REFUTED &&
           !gemel__is_proven(*finding) && tries > 0);
  return status;
}

/* ---- Sizes ---- */

/* 1 if every value of GRAPH has ELEMENTS elements, and every operation computes element by element
 * or only moves elements. Constants may have one element. */
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

/* Instantiates GRAPHS. K counts the draws of symbols. */
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

/* 1 if the result of GRAPH is empty for any sizes of symbols. */
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

/* Compares GRAPHS at their sizes. If these are symbolic: at several draws, and around literals
 * where indices or sizes become numbers. Draws with an empty result don't count, unless it is
 * always empty. *MADE, which may be NULL: how many draws counted. */
static gemel_status at_sizes(scene *s, const gemel_graph *const graphs[2], compare_pair *compare,
                             gemel__finding *finding, int *made, gemel_error *error) {
  int symbolic = gemel__sizes_symbolic(graphs[0]) || gemel__sizes_symbolic(graphs[1]);
  int wanted = symbolic ? DRAWS : 1, any_size = !symbolic || is_empty(graphs[0]), useful = 0;
  size_t around = symbolic && s->literals.positions ? gemel__sizes_draws(&s->literals) : 0, k = 0;
  gemel_status status = GEMEL_OK;
  *finding = gemel__same;
  if (s->shown != NULL) {
    s->shown->graphs = graphs[0] != s->c->sides[0];
  }
  for (;
       k < DRAWS + around && finding->verdict != GEMEL_VERDICT_REFUTED && status != GEMEL_NO_MEMORY;
       k++) {
    for (int tries = 0; tries < 4; tries++) {
      gemel__finding one = gemel__same;
      gemel__pair pair;
      int fits;
      status = make_pair(s, graphs, symbolic, k, &pair, error);
      fits = status == GEMEL_OK && (any_size || gemel__pair_results(&pair) > 0);
      if (fits) {
        s->nth = useful;
        s->around = k >= DRAWS;
        status = compare(s, &pair, &one, error);
        *finding = gemel__finding_both(*finding, status == GEMEL_OK ? one : gemel__unseen);
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
  *finding = useful < wanted ? gemel__finding_both(*finding, gemel__unseen) : *finding;
  if (made != NULL) {
    *made = useful;
  }
  return status == GEMEL_NO_MEMORY ? status : GEMEL_OK;
}

static int is_affordable(const scene *s, double most) {
  return gemel__graph_elements(s->c->sides[0], 4) <= most &&
         gemel__graph_elements(s->c->sides[1], 4) <= most;
}

static void forget_unless(const scene *s, gemel__finding finding) {
  if (!gemel__is_different(finding)) {
    gemel__difference_forget(s->shown);
  }
}

/* Confirms a difference at small sizes at the true ones: by the models if the sides are small
 * enough, then by residues. If neither shows it, the question is open. */
static gemel_status confirm(scene *s, gemel__finding *finding, gemel_error *error) {
  gemel__finding there = gemel__unseen;
  gemel_status status = GEMEL_OK;
  if (is_affordable(s, most_exact)) {
    status = at_sizes(s, s->c->sides, by_models, &there, NULL, error);
  }
  if (status == GEMEL_OK && !gemel__is_different(there) && is_affordable(s, most_residues)) {
    status = at_sizes(s, s->c->sides, by_residues, &there, NULL, error);
  }
  *finding = there.verdict == GEMEL_VERDICT_REFUTED ? gemel__different : gemel__unseen;
  forget_unless(s, *finding);
  return status;
}

/* Compares at small sizes, or at the true ones if no small ones fit. */
static gemel_status at_small_sizes(scene *s, compare_pair *compare, gemel__finding *finding,
                                   gemel_error *error) {
  const gemel_graph *small[2] = {s->small[0], s->small[1]};
  int made;
  gemel_status status = at_sizes(s, small, compare, finding, &made, error);
  if (status == GEMEL_OK && s->cut && made == 0 && is_affordable(s, most_residues)) {
    status = at_sizes(s, s->c->sides, compare, finding, NULL, error);
  }
  return status;
}

/* ---- Entry ---- */

static void begin(scene *s, gemel__pool *pool, const gemel__comparison *c) {
  s->shown = NULL;
  s->pool = pool;
  s->c = c;
  s->decides = 0;
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

/* 1 if a proof at these sizes is only a sample of the true ones: decisions depend on indices or
 * sizes. */
static int depends_on_sizes(const scene *s) {
  return s->literals.positions && s->decides &&
         (s->cut || gemel__sizes_symbolic(s->c->sides[0]) || gemel__sizes_symbolic(s->c->sides[1]));
}

static int wants_bits(const gemel__comparison *c) {
  return c->exact && (gemel__bits_matter(c->sides[0]) || gemel__bits_matter(c->sides[1]));
}

gemel_status gemel__compare_fast(gemel__pool *pool, const gemel__comparison *comparison,
                                 gemel__finding *finding, gemel_error *error) {
  scene s;
  gemel_status status;
  begin(&s, pool, comparison);
  status = at_small_sizes(&s, by_residues, finding, error);
  if (gemel__is_proven(*finding) && depends_on_sizes(&s)) {
    *finding = gemel__sampled;
  }
  if (status == GEMEL_OK && gemel__is_proven(*finding) && wants_bits(comparison)) {
    gemel__finding bits;
    status = at_small_sizes(&s, by_bits, &bits, error);
    *finding = gemel__is_different(bits) ? gemel__doubtful : *finding;
  }
  end(&s);
  return status;
}

/* Compares bits, and confirms a difference at the true sizes. */
static gemel_status look_at_bits(scene *s, gemel__finding *finding, gemel_error *error) {
  gemel__finding bits = gemel__same;
  gemel_status status = at_small_sizes(s, by_bits, &bits, error);
  if (status == GEMEL_OK && gemel__is_different(bits) && s->cut) {
    gemel__finding there = gemel__unseen;
    status = is_affordable(s, most_residues)
                 ? at_sizes(s, s->c->sides, by_bits, &there, NULL, error)
                 : GEMEL_OK;
    bits = gemel__is_different(there) ? there : gemel__unseen;
    forget_unless(s, bits);
  }
  *finding = gemel__finding_both(*finding, bits);
  return status;
}

/* Asks both models, at small sizes and, if a number is computed from an index or a size, at the
 * true ones. */
static gemel_status ask_models(scene *s, gemel__finding *finding, gemel_error *error) {
  gemel_status status = at_small_sizes(s, by_models, finding, error);
  if (status == GEMEL_OK && gemel__is_different(*finding) && s->cut) {
    return confirm(s, finding, error);
  }
  if (status == GEMEL_OK && s->cut && s->literals.positions) {
    gemel__finding there = gemel__sampled;
    if (is_affordable(s, most_exact)) {
      status = at_sizes(s, s->c->sides, by_models, &there, NULL, error);
    }
    *finding = gemel__finding_both(*finding, there);
  }
  if (gemel__is_proven(*finding) && depends_on_sizes(s)) {
    *finding = gemel__sampled;
  }
  return status;
}

gemel_status gemel__compare_surely(gemel__pool *pool, const gemel__comparison *comparison,
                                   gemel__finding *finding, char **shown, gemel_error *error) {
  scene s;
  gemel_status status;
  begin(&s, pool, comparison);
  gemel__difference difference = {&pool->random, 0, NULL};
  s.shown = &difference;
  s.decides = 1;
  status = ask_models(&s, finding, error);
  if (status == GEMEL_OK && !gemel__is_different(*finding) && wants_bits(comparison)) {
    status = look_at_bits(&s, finding, error);
  }
  end(&s);
  *shown = difference.text;
  return status;
}
