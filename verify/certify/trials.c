/* SPDX-License-Identifier: MIT
 *
 * Residues, see trials.h. Fields are chains of 17-bit primes, where exp, log and inverse are a look
 * at a table; several chains one after the other, since one alone may not tell constants apart that
 * differ. An element whose value doesn't exist at some residues (the log of half of them) has been
 * seen when it did in one trial.
 *
 * Integers and truths are no residues but numbers that were drawn, at their extremes among others,
 * and wrap as they do. Sums and products of them are the same if they are at random bits. A
 * decision on a truth goes one of two ways: what is made of such values is a polynomial in them,
 * whose degree is at most the number of truths that operations decide on, and one of degree d that
 * isn't zero differs from it at one in 2^d of all values at least. So there are trials enough for
 * few truths. Where a decision looks at an integer, or at the character of a residue instead of a
 * sign, the trials are samples.
 */
#include "certify/trials.h"

#include <math.h>
#include <string.h>
#include "core/alloc.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/graph.h"
#include "domains/field.h"
#include "ops/ops.h"
#include "tiers/tiers.h"

enum {
  TRIALS = 2,
  TRIALS_WITH_SIGNS = 10,
  TRIALS_OF_INTEGERS = 24,
  MOST_TRIALS = 200,
  REDRAWS = 12,
  CHAINS = 24,
  MANY = 1000
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

/* ---- Decisions ---- */

/* Which operations decide something, and on how many truths. */
typedef struct decisions {
  gemel__observer observer; /* first */
  gemel__tape tape;
  size_t begin; /* of what the node at hand decided */
  const gemel_graph *graph;
  uint32_t node;
  int degree; /* of both sides; MANY: no bound is known */
} decisions;

static gemel_dtype dtype_of(const gemel_graph *graph, gemel__ref ref) {
  return gemel_type_dtype(graph->context, gemel__node_type(graph, ref.node, ref.output));
}

/* On how many truths an element of a result of NODE, which decides something, depends. A decision
 * on anything else, of which the domain knows the sign (a square's is never negative), may yet meet
 * a tie, which no residue does. */
static int truths(const gemel_graph *graph, uint32_t node) {
  uint32_t count;
  const gemel__ref *in = gemel__node_inputs(graph, node, &count);
  int n = 0;
  if (gemel__scalar_row_of(&gemel__node_op(graph, node)->record) == NULL) {
    return MANY;
  }
  for (uint32_t k = 0; k < count; k++) {
    n += dtype_of(graph, in[k]) == GEMEL_BOOL;
  }
  return n > 0 ? n : MANY;
}

static void note(decisions *d) {
  if (d->graph != NULL && d->tape.count > d->begin) {
    d->degree += truths(d->graph, d->node);
  }
  d->begin = d->tape.count;
}

static void observe(gemel__observer *observer, const void *graph, uint32_t node) {
  decisions *d = (decisions *)observer;
  note(d);
  d->graph = graph;
  d->node = node;
}

/* What trials share. */
struct trials {
  gemel__pool *pool;
  const gemel__pair *pair;
  gemel__rtensor *room; /* both results, and a slot for each leaf */
  unsigned char *seen;  /* by element of the result */
  int integers, truths; /* 1: leaves of these dtypes */
  int only_truths;      /* 1: no others */
  int reads;            /* 1: an operation reads integers as places or sizes */
  int sampled;          /* 1: what the trials say depends on more than residues */
  int degree;
  int decides; /* 1: a sign was asked for */
};

/* 1 if an operation takes an integer for a place or a size of something else. */
static int reads_integers(const gemel_graph *graph) {
  for (uint32_t node = 0; node < graph->n_nodes; node++) {
    uint32_t count;
    const gemel__ref *in = gemel__node_inputs(graph, node, &count);
    int any = 0, other = 0;
    for (uint32_t k = 0; k < count; k++) {
      gemel_dtype dtype = dtype_of(graph, in[k]);
      int integer = dtype != GEMEL_BOOL && !gemel__is_float(dtype);
      any |= integer;
      other |= !integer || in[k].node != in[0].node;
    }
    if (any && other && count > 1 &&
        gemel__scalar_row_of(&gemel__node_op(graph, node)->record) == NULL &&
        gemel__has_output(graph, node, 0) &&
        gemel__is_float(dtype_of(graph, (gemel__ref){node, 0}))) {
      return 1;
    }
  }
  return 0;
}

static void read_dtypes(struct trials *t) {
  t->only_truths = 1;
  for (size_t k = 0; k < t->pair->a.n_leaves; k++) {
    gemel_dtype dtype = t->pair->a.leaves[k].dtype;
    t->truths |= dtype == GEMEL_BOOL;
    t->only_truths &= dtype == GEMEL_BOOL;
    t->integers |= dtype != GEMEL_BOOL && !gemel__is_float(dtype);
  }
  t->reads = t->integers && (reads_integers(t->pair->a.graph) || reads_integers(t->pair->b.graph));
}

/* ---- One trial ---- */

static gemel__field_leaf leaf_kind(gemel_range range) {
  return range == GEMEL_RANGE_POSITIVE || range == GEMEL_RANGE_NONNEGATIVE ? GEMEL__LEAF_POSITIVE
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
    status = gemel__rtensors_read(in->n_leaves, inputs, field, point, error);
    for (size_t k = 0; k < in->n_leaves && status == GEMEL_OK; k++) {
      for (size_t i = 0; i < inputs[k].count && gemel__is_float(inputs[k].dtype); i++) {
        gemel__field_random(field, gemel__rtensor_at(&inputs[k], i),
                            leaf_kind(in->leaves[k].range));
      }
    }
    gemel__tensors_release(in->n_leaves, point);
  }
  gemel__free(point, (in->n_leaves + 1) * sizeof *point);
  return status;
}

/* Elements that are SEEN get their mark. */
static gemel__finding agree(gemel__domain *d, const gemel__rtensor *a, const gemel__rtensor *b,
                            unsigned char *seen) {
  gemel__finding all = gemel__same;
  if (a->rank != b->rank || a->dtype != b->dtype ||
      memcmp(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape) != 0) {
    return gemel__different;
  }
  for (size_t i = 0; i < a->count; i++) {
    int equal = d->equal(d, gemel__rtensor_at(a, i), gemel__rtensor_at(b, i));
    if (equal == 0) {
      return gemel__different;
    }
    seen[i] |= equal == 1;
    all = seen[i] ? all : gemel__unseen;
  }
  return all;
}

/* Both sides on D; ROOM has two empty slots, then the inputs. */
static gemel_status evaluate(struct trials *t, gemel__domain *d, gemel_error *error) {
  const gemel__pair *pair = t->pair;
  decisions seen = {.observer = {.node = observe}};
  d->observer = &seen.observer;
  gemel__field_record(d, &seen.tape);
  gemel_status status =
      gemel__reference_graph(pair->a.graph, d, t->room + 2, t->room, NULL, NULL, error);
  status = status ? status
                  : gemel__reference_graph(pair->b.graph, d, t->room + 2, t->room + 1, NULL, NULL,
                                           error);
  note(&seen);
  d->observer = NULL;
  gemel__field_record(d, NULL);
  if (seen.degree > 0 && t->only_truths && pair->a.elementwise) {
    seen.degree = (int)pair->a.n_leaves; /* nothing else is there to decide on */
  }
  t->degree = seen.degree > t->degree ? seen.degree : t->degree;
  t->decides |= seen.tape.count > 0;
  t->sampled |= t->reads || (t->integers && seen.tape.count > 0) || seen.degree >= MANY;
  gemel__tape_clear(&seen.tape);
  return status;
}

size_t gemel__pair_results(const gemel__pair *pair) {
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

/* One trial. What a reference can't evaluate is unseen, unless memory is out. */
static gemel_status run_trial(struct trials *t, gemel__domain *field, gemel__finding *finding,
                              gemel_error *error) {
  gemel_status status = draw_inputs(t->pool, &t->pair->a, field, t->room + 2, error);
  status = status ? status : evaluate(t, field, error);
  *finding = status == GEMEL_OK ? agree(field, &t->room[0], &t->room[1], t->seen) : gemel__unseen;
  gemel__rtensors_clear(t->pair->a.n_leaves + 2, t->room);
  return status == GEMEL_NO_MEMORY ? status : GEMEL_OK;
}

/* ---- All trials ---- */

/* Trials after which polynomials of that degree are the same, but for a chance of 1e-9. */
static int trials_for(const struct trials *t) {
  static const double delta = 1e-9;
  double each = t->pair->a.elementwise ? (double)t->pair->a.leaves[0].count : 1;
  double n = t->degree < 20 ? gemel__field_trials(t->degree, delta) / each : MANY;
  return n <= MOST_TRIALS ? (int)ceil(n) : MOST_TRIALS + 1;
}

/* What the report of the last trial asks of those to come. */
static void take_report(struct trials *t, const gemel__field_report *report, int *wanted) {
  t->sampled |= report->characters > 0 || report->keyed > 0;
  if (report->characters + report->roots > 0 && *wanted < TRIALS_WITH_SIGNS) {
    *wanted = TRIALS_WITH_SIGNS;
  }
  if (t->degree > 0 && !t->sampled) {
    int enough = trials_for(t);
    t->sampled |= enough > MOST_TRIALS;
    *wanted = !t->sampled && *wanted < enough ? enough : *wanted;
  }
}

static gemel_status run_trials(struct trials *t, gemel__finding *finding, gemel_error *error) {
  int length = 0, wanted;
  read_dtypes(t);
  /* residues say everything at once, numbers one thing each */
  wanted = t->integers || t->truths ? TRIALS_OF_INTEGERS : TRIALS;
  *finding = gemel__unseen;
  for (int k = 0;
       k < wanted || (finding->verdict == GEMEL_VERDICT_UNINFORMATIVE && k < wanted + REDRAWS);
       k++) {
    gemel__domain *field = field_of(t->pool, length, (size_t)k, error);
    if (field == NULL || run_trial(t, field, finding, error) != GEMEL_OK) {
      return error->status;
    }
    const gemel__field_report *report = gemel__field_get_report(field);
    if (gemel__is_different(*finding)) {
      *finding = report->characters + report->roots + report->keyed > 0 ? gemel__doubtful
                                                                        : gemel__different;
      return GEMEL_OK;
    }
    if (finding->verdict == GEMEL_VERDICT_UNINFORMATIVE && report->gaps > 0 &&
        length + 1 < GEMEL__LENGTHS) {
      length++;
    }
    take_report(t, report, &wanted);
  }
  *finding = gemel__is_proven(*finding) && t->sampled ? gemel__sampled : *finding;
  return GEMEL_OK;
}

gemel_status gemel__trials_run(gemel__pool *pool, const gemel__pair *pair, gemel__finding *finding,
                               int *decides, gemel_error *error) {
  size_t n = pair->a.n_leaves + 2, results = gemel__pair_results(pair);
  struct trials t = {pool,
                     pair,
                     gemel__alloc_array(n, sizeof *t.room),
                     gemel__alloc_array(results + 1, 1),
                     0,
                     0,
                     0,
                     0,
                     0,
                     0,
                     0};
  gemel_status status = t.room != NULL && t.seen != NULL ? run_trials(&t, finding, error)
                                                         : gemel__no_memory(error, "certifying");
  *decides |= t.decides;
  gemel__free(t.room, n * sizeof *t.room);
  gemel__free(t.seen, results + 1);
  return status;
}
