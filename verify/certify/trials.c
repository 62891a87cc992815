/* SPDX-License-Identifier: MIT
 *
 * Trials with residues, see trials.h. Fields are chains of 17-bit primes, in which exp, log and
 * inverse are table lookups. Several chains take turns, since different constants may be the same
 * residue in one of them. An element without a value at some residues (half of them have no log)
 * counts as compared if it had one in some trial.
 *
 * Integers and truths aren't residues but numbers that are drawn, extremes included, and they wrap
 * like their dtype. Sums and products that agree at random bits are the same. A decision on a truth
 * makes the result a polynomial in truths, whose degree is at most the number of truths that are
 * decided on. A polynomial of degree d that isn't zero is not zero at one in 2^d of all values, at
 * least. So for few truths there are trials enough for a proof. If a decision depends on an
 * integer, or on the character of a residue in place of a sign, trials are only samples.
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
  MOST_INDICES = 4, /* indices are drawn below 1, 2, ... of them in turn */
  CHAINS = 24,
  MANY = 1000
};
static const int rings[GEMEL__CHAIN_LENGTHS] = {2, 4};

void gemel__pool_clear(gemel__pool *pool) {
  for (int k = 0; k < GEMEL__CHAIN_LENGTHS; k++) {
    gemel__field_free(pool->fields[k]);
    pool->fields[k] = NULL;
  }
}

/* The field of trial TRIAL. There are CHAINS of them, the same for all questions, so their tables
 * are made once. */
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

/* Counts decisions, and the truths that they depend on. */
typedef struct decisions {
  gemel__observer observer; /* first member, so that a pointer to it is one to this */
  gemel__tape tape;
  size_t begin; /* where the decisions of the current node begin on the tape */
  const gemel_graph *graph;
  uint32_t node;
  int degree; /* of both sides; MANY or more: no bound is known */
} decisions;

/* How many truths an element of a result of NODE, which decides something, depends on. MANY: it
 * decides on something else. Even if the domain knows the sign of that (a square is never
 * negative), it may be 0, which no random residue is. */
static int truths(const gemel_graph *graph, uint32_t node) {
  uint32_t count;
  const gemel__ref *in = gemel__node_inputs(graph, node, &count);
  int n = 0;
  if (gemel__scalar_row_of(&gemel__node_op(graph, node)->record) == NULL) {
    return MANY;
  }
  for (uint32_t k = 0; k < count; k++) {
    n += gemel__ref_dtype(graph, in[k]) == GEMEL_BOOL;
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

/* The state of all trials of a pair. */
struct trials {
  gemel__pool *pool;
  const gemel__pair *pair;
  gemel__rtensor *room; /* both results, then each input */
  unsigned char *seen;  /* by element of the result: it was compared */
  int integers, truths; /* 1: there are inputs of these dtypes */
  int only_truths;      /* 1: all inputs are truths */
  int reads;            /* 1: an operation takes integers as indices or sizes */
  int sampled;          /* 1: the trials are only samples */
  int degree;
  int decides; /* 1: a decision was taken */
};

/* 1 if an operation takes integers as indices into, or sizes of, something else. */
static int reads_integers(const gemel_graph *graph) {
  for (uint32_t node = 0; node < graph->n_nodes; node++) {
    uint32_t count;
    const gemel__ref *in = gemel__node_inputs(graph, node, &count);
    int any = 0, other = 0;
    for (uint32_t k = 0; k < count; k++) {
      gemel_dtype dtype = gemel__ref_dtype(graph, in[k]);
      int integer = dtype != GEMEL_BOOL && !gemel__is_float(dtype);
      any |= integer;
      other |= !integer || in[k].node != in[0].node;
    }
    if (any && other && count > 1 &&
        gemel__scalar_row_of(&gemel__node_op(graph, node)->record) == NULL &&
        gemel__has_output(graph, node, 0) &&
        gemel__is_float(gemel__ref_dtype(graph, (gemel__ref){node, 0}))) {
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

/* Makes the integers of X numbers from -BOUND to BOUND - 1, which may be indices of an axis. */
static void make_small(gemel_tensor *x, int bound) {
  gemel_dtype dtype = gemel_tensor_dtype(x);
  int lowest = gemel_dtype_kind(dtype) == GEMEL_KIND_SIGNED ? -bound : 0;
  char *data = gemel_tensor_data(x);
  for (int64_t k = 0; k < gemel_tensor_elements(x); k++, data += gemel_dtype_size(dtype)) {
    double rest = fmod(fabs(gemel__dtype_load(dtype, data)), bound - lowest);
    gemel__dtype_store(dtype, rest + lowest, data);
  }
}

/* Draws the inputs: random residues for floats, numbers for integers and truths. BOUND: integers
 * are indices, and small (0: they are any). */
static gemel_status draw_inputs(gemel__pool *pool, const gemel__instance *in, gemel__domain *field,
                                int bound, gemel__rtensor *inputs, gemel_error *error) {
  gemel_tensor **point = gemel__alloc_array(in->n_leaves + 1, sizeof *point);
  gemel_status status =
      point == NULL ? gemel__no_memory(error, "a trial")
                    : gemel__instance_values(in, GEMEL__FILL_POINTS, &pool->random, point, error);
  if (status == GEMEL_OK) {
    for (size_t k = 0; k < in->n_leaves && bound > 0; k++) {
      gemel_dtype dtype = in->leaves[k].dtype;
      if (dtype != GEMEL_BOOL && !gemel__is_float(dtype)) {
        make_small(point[k], bound);
      }
    }
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

/* Compares A and B. Elements that have a value on both sides are marked in SEEN. */
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

/* Evaluates both sides on D. ROOM has two empty slots, then the inputs. */
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
    seen.degree = (int)pair->a.n_leaves; /* there are no other truths */
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

/* Runs trial K. What a reference can't evaluate is unseen, unless memory is out. */
static gemel_status run_trial(struct trials *t, gemel__domain *field, int k,
                              gemel__finding *finding, gemel_error *error) {
  int bound = t->reads ? 1 + k % MOST_INDICES : 0;
  gemel_status status = draw_inputs(t->pool, &t->pair->a, field, bound, t->room + 2, error);
  status = status ? status : evaluate(t, field, error);
  *finding = status == GEMEL_OK ? agree(field, &t->room[0], &t->room[1], t->seen) : gemel__unseen;
  gemel__rtensors_clear(t->pair->a.n_leaves + 2, t->room);
  return status == GEMEL_NO_MEMORY ? status : GEMEL_OK;
}

/* ---- All trials ---- */

/* How many trials show with error probability 1e-9 that polynomials of this degree are the same. */
static int trials_for(const struct trials *t) {
  static const double delta = 1e-9;
  const gemel__instance *a = &t->pair->a;
  double each = a->elementwise && a->n_leaves > 0 ? (double)a->leaves[0].count : 1;
  double n = t->degree < 20 ? gemel__field_trials(t->degree, delta) / each : MANY;
  return n <= MOST_TRIALS ? (int)ceil(n) : MOST_TRIALS + 1;
}

/* Adapts the number of trials to the report of the last one. */
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
  /* one residue stands for all numbers, a drawn integer only for itself */
  wanted = t->integers || t->truths ? TRIALS_OF_INTEGERS : TRIALS;
  *finding = gemel__unseen;
  for (int k = 0;
       k < wanted || (finding->verdict == GEMEL_VERDICT_UNINFORMATIVE && k < wanted + REDRAWS);
       k++) {
    gemel__domain *field = field_of(t->pool, length, (size_t)k, error);
    if (field == NULL || run_trial(t, field, k, finding, error) != GEMEL_OK) {
      return error->status;
    }
    const gemel__field_report *report = gemel__field_get_report(field);
    if (gemel__is_different(*finding)) {
      *finding = report->characters + report->roots + report->keyed > 0 ? gemel__doubtful
                                                                        : gemel__different;
      return GEMEL_OK;
    }
    if (finding->verdict == GEMEL_VERDICT_UNINFORMATIVE && report->gaps > 0 &&
        length + 1 < GEMEL__CHAIN_LENGTHS) {
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
