/*
 * Random loops are what their unrolled graphs are: values bit for bit, gradients, tangents and
 * second gradients within a bound. Loops are drawn by the operation's own sampler;
 * GEMEL_SCAN_LOOPS says how many.
 *
 * SPDX-License-Identifier: MIT
 */
#include <gemel/gemel.h>
#include <math.h>
#include <stdio.h>
#include "core/dtype.h"
#include "sample/sampling.h"
#include "support/graph-text.h"
#include "support/near.h"
#include "support/random.h"
#include "support/unrolled.h"

enum { MOST = 64, ELEMENTS = 30 };

/* Of what a result is compared by. */
typedef enum kind { VALUE, GRADIENT, TANGENT, SECOND } kind;
static const char *const kinds[] = {"value", "gradient", "tangent", "second gradient"};

/* A random loop in a graph of its own. */
typedef struct drawn {
  gemel_context *context;
  gemel_graph *graph;
  gemel_sample sample;
  gemel_tensor *operands[GEMEL_SAMPLE_MAX_INPUTS];
  size_t n_values; /* results of the loop */
  uint64_t seed;
  int until, limited, truncated;
} drawn;

static uint64_t random_bits64(void *unused) {
  (void)unused;
  return bits64();
}

static double eighths(void) {
  return ((double)rnd(33) - 16) / 16;
}

/* ---- Drawing ---- */

static gemel_tensor *draw_operand(const gemel_sample *sample, size_t k) {
  int64_t shape[GEMEL_MAX_RANK];
  gemel_type type = sample->inputs[k];
  int rank = gemel_type_rank(sample->context, type);
  for (int j = 0; j < rank; j++) {
    shape[j] = number_of(sample->context, gemel_type_dims(sample->context, type)[j]);
  }
  gemel_dtype dtype = gemel_type_dtype(sample->context, type);
  gemel_tensor *t = gemel_tensor_new(dtype, rank, shape, NULL);
  for (int64_t i = 0; i < gemel_tensor_elements(t); i++) {
    if (dtype == GEMEL_F64) {
      ((double *)gemel_tensor_data(t))[i] = eighths();
    } else if (dtype == GEMEL_I32) {
      ((int32_t *)gemel_tensor_data(t))[i] = (int32_t)rnd(9) - 4;
    } else if (dtype == GEMEL_U64) {
      ((uint64_t *)gemel_tensor_data(t))[i] = bits64();
    } else {
      int64_t span = sample->high[k] - sample->low[k];
      ((int64_t *)gemel_tensor_data(t))[i] = sample->low[k] + (int64_t)rnd((uint64_t)span);
    }
  }
  return t;
}

static void build_drawn(drawn *d) {
  const gemel_sample *s = &d->sample;
  gemel_value in[GEMEL_SAMPLE_MAX_INPUTS];
  d->graph = gemel_graph_new(d->context, NULL);
  for (size_t k = 0; k < s->n_inputs; k++) {
    char name[20];
    snprintf(name, sizeof name, "x%zu", k);
    in[k] = gemel_input(d->graph, name, s->inputs[k]);
    d->operands[k] = draw_operand(s, k);
  }
  gemel_value loop = gemel_apply(d->graph, "scan", s->n_inputs, in, s->n_attrs, s->attrs);
  CT_EQ_STR(gemel_graph_error(d->graph)->text, "");
  gemel_value value = loop;
  for (uint32_t k = 0; !gemel_is_null(value); value = gemel_value_output(loop, ++k)) {
    char name[20];
    snprintf(name, sizeof name, "r%u", (unsigned)k);
    gemel_output(value, name);
    d->n_values++;
  }
  d->until = attr_of(loop, "until").u.i != 0;
  d->limited = attr_of(loop, "limited").u.i != 0;
  d->truncated = attr_of(loop, "truncate").kind != GEMEL_ATTR_NONE;
}

/* Loop NUMBER; 0 if the sampler declines. */
static int draw(drawn *d, gemel_context *context, uint64_t number) {
  const gemel_operation *op = gemel_operation_find(context, "scan");
  gemel_status status = GEMEL_DECLINED;
  memset(d, 0, sizeof *d);
  state = 0x9e3779b97f4a7c15u * (number + 1);
  d->context = context;
  for (int tries = 0; tries < 20 && status == GEMEL_DECLINED; tries++) {
    d->sample = (gemel_sample){.size = sizeof d->sample,
                               .context = context,
                               .random = random_bits64,
                               .dtype = number % 4 == 3 ? GEMEL_I32 : GEMEL_F64,
                               .max_elements = ELEMENTS,
                               .data = op->data};
    status = gemel__sampler_scan(&d->sample);
  }
  if (status == GEMEL_OK) {
    d->seed = bits64() | 1;
    build_drawn(d);
  }
  return status == GEMEL_OK && d->n_values > 0;
}

static void drop(drawn *d) {
  for (size_t k = 0; k < d->sample.n_inputs; k++) {
    gemel_tensor_unref(d->operands[k]);
  }
  gemel_graph_unref(d->graph);
}

/* ---- Derivatives ---- */

static int is_float(gemel_value value) {
  gemel_dtype dtype = gemel_type_dtype(gemel_graph_context(value.graph), gemel_value_type(value));
  return gemel_dtype_kind(dtype) == GEMEL_KIND_FLOAT;
}

/* The sum of VALUES times random weights; null if there is nothing to add. */
static gemel_value weighted_sum(size_t n, const gemel_value *values) {
  gemel_value sum = {NULL, 0, 0};
  for (size_t k = 0; k < n; k++) {
    if (is_float(values[k])) {
      gemel_context *context = gemel_graph_context(values[k].graph);
      int64_t shape[GEMEL_MAX_RANK];
      int rank = rank_of(values[k]);
      for (int j = 0; j < rank; j++) {
        shape[j] = number_of(context, dims_of(values[k])[j]);
      }
      gemel_tensor *weights = gemel_tensor_new(GEMEL_F64, rank, shape, NULL);
      for (int64_t i = 0; i < gemel_tensor_elements(weights); i++) {
        ((double *)gemel_tensor_data(weights))[i] = eighths();
      }
      gemel_value term = gemel_sum(gemel_mul(values[k], gemel_constant(values[k].graph, weights)));
      sum = gemel_is_null(sum) ? term : gemel_add(sum, term);
      gemel_tensor_unref(weights);
    }
  }
  return sum;
}

static void leave(const char *group, size_t n, const gemel_value *values) {
  for (size_t k = 0; k < n; k++) {
    char name[40];
    snprintf(name, sizeof name, "%s%zu", group, k);
    gemel_output(values[k], name);
  }
}

/* Adds to GRAPH, which has the loop's results, what they are differentiated to; the weights are the
 * same whenever SEED is. The kinds of its outputs go to WHAT. */
static void differentiate(gemel_graph *graph, uint64_t seed, size_t n_values, kind *what) {
  gemel_value values[MOST], wrt[MOST], d[MOST], loss, tangent;
  size_t n = 0, total = n_values;
  gemel_error error = {0};
  state = seed;
  for (size_t k = 0; k < n_values; k++) {
    values[k] = gemel_graph_output(graph, k);
    what[k] = VALUE;
  }
  for (size_t k = 0; k < gemel_graph_input_count(graph); k++) {
    wrt[n] = gemel_graph_input(graph, k);
    n += (size_t)is_float(wrt[n]);
  }
  loss = weighted_sum(n_values, values);
  if (n == 0 || gemel_is_null(loss)) {
    return;
  }
  CT_EQ_INT(gemel_grad(1, &loss, NULL, n, wrt, d, &error), GEMEL_OK);
  CT_EQ_STR(error.text, "");
  leave("d", n, d);
  for (size_t k = 0; k < n; k++) {
    what[total++] = GRADIENT;
  }
  CT_EQ_INT(gemel_jvp(1, &loss, n, wrt, wrt, &tangent, &error), GEMEL_OK);
  CT_EQ_STR(error.text, "");
  leave("t", 1, &tangent);
  what[total++] = TANGENT;
  loss = weighted_sum(n, d);
  CT_EQ_INT(gemel_grad(1, &loss, NULL, n, wrt, d, &error), GEMEL_OK);
  CT_EQ_STR(error.text, "");
  leave("e", n, d);
  for (size_t k = 0; k < n; k++) {
    what[total++] = SECOND;
  }
}

/* ---- Comparing ---- */

static void run(const gemel_graph *graph, int rewritten, gemel_tensor *const *in,
                gemel_tensor **out) {
  gemel_options options = {
      .size = sizeof options, .threads = 1, .deterministic = 1, .as_written = !rewritten};
  gemel_error error = {0};
  gemel_function *f = gemel_compile(graph, &options, &error);
  CT_CHECK(f != NULL);
  if (f != NULL) {
    CT_EQ_INT(gemel_call(f, gemel_graph_input_count(graph), in, gemel_graph_output_count(graph),
                         out, &error),
              GEMEL_OK);
  }
  CT_EQ_STR(error.text, "");
  gemel_function_free(f);
}

static int same_shapes(const gemel_tensor *a, const gemel_tensor *b) {
  gemel_view x = gemel_tensor_view(a), y = gemel_tensor_view(b);
  return CT_CHECK(x.dtype == y.dtype) && CT_CHECK(x.rank == y.rank) &&
         CT_EQ_MEM(x.shape, y.shape, (size_t)x.rank * sizeof *x.shape);
}

/* The same bits; any NaN is like any other. */
static void same_bits(const gemel_tensor *a, const gemel_tensor *b, const char *what) {
  size_t item = gemel_dtype_size(gemel_tensor_dtype(a));
  const char *x = gemel_tensor_data(a), *y = gemel_tensor_data(b);
  for (size_t i = 0; i < (size_t)gemel_tensor_elements(a) * item; i += item) {
    double p = gemel__dtype_load(gemel_tensor_dtype(a), x + i);
    double q = gemel__dtype_load(gemel_tensor_dtype(a), y + i);
    if (memcmp(x + i, y + i, item) != 0 && !(p != p && q != q)) {
      CT_FAIL("%s, element %zu is %.17g, unrolled %.17g", what, i / item, p, q);
    }
  }
}

/* No further from one another than 1e-12 of the sum of the absolute values of all elements, and 1;
 * what is infinite or NaN in one is the same in the other. Returns the largest part of the bound
 * that is used up. */
static double within_bound(const gemel_tensor *a, const gemel_tensor *b, const char *what) {
  const double *x = gemel_tensor_data(a), *y = gemel_tensor_data(b);
  double sum = 1, worst = 0;
  for (int64_t i = 0; i < gemel_tensor_elements(a); i++) {
    sum += isfinite(y[i]) ? fabs(y[i]) : 0;
  }
  for (int64_t i = 0; i < gemel_tensor_elements(a); i++) {
    if (!is_near_or_nan(x[i], y[i], 1e-12 * sum)) {
      CT_FAIL("%s, element %lld is %.17g, unrolled %.17g", what, (long long)i, x[i], y[i]);
    } else if (isfinite(x[i])) {
      worst = fmax(worst, fabs(x[i] - y[i]) / (1e-12 * sum));
    }
  }
  return worst;
}

typedef struct tally {
  long loops, compared[4], not_zero[4], limited, until, truncated;
  double worst;
} tally;

static int has_other_than_0(const gemel_tensor *t) {
  const double *x = gemel_tensor_data(t);
  for (int64_t i = 0; gemel_tensor_dtype(t) == GEMEL_F64 && i < gemel_tensor_elements(t); i++) {
    if (x[i] != 0) {
      return 1;
    }
  }
  return 0;
}

/* Of D as a loop, A, and unrolled, B. */
static void compare(size_t n, const kind *what, gemel_tensor *const *a, gemel_tensor *const *b,
                    int exact, tally *t) {
  for (size_t k = 0; k < n && a[k] != NULL && b[k] != NULL; k++) {
    char was[200];
    snprintf(was, sizeof was, "result %zu, a %s", k, kinds[what[k]]);
    t->compared[what[k]]++;
    t->not_zero[what[k]] += has_other_than_0(b[k]);
    if (!same_shapes(a[k], b[k])) {
      CT_FAIL("%s", was);
    } else if (what[k] == VALUE && (exact || gemel_tensor_dtype(a[k]) != GEMEL_F64)) {
      same_bits(a[k], b[k], was);
    } else {
      t->worst = fmax(t->worst, within_bound(a[k], b[k], was));
    }
  }
}

/* D unrolled. OUT: its results; the last says how many steps there were, if it may end early. */
static gemel_graph *unroll_drawn(const drawn *d, gemel_tensor *const *out) {
  const gemel_tensor *count = d->until ? out[d->n_values - 1] : NULL;
  int64_t steps = count != NULL ? *(const int64_t *)gemel_tensor_data(count) : 0;
  int64_t limit = d->limited ? *(const int64_t *)gemel_tensor_data(d->operands[0]) : 0;
  return unroll(d->graph, steps, limit);
}

/* Each fourth is rewritten before it is run. */
static void try_loop(drawn *d, uint64_t number, tally *t) {
  gemel_tensor *a[MOST] = {NULL}, *b[MOST] = {NULL};
  kind what[MOST], twice[MOST];
  int rewritten = number / 4 % 4 == 3;
  char *text = gemel_print_string(d->graph, "g", NULL);
  ct_context("loop %llu:\n%s", (unsigned long long)number, text);
  run(d->graph, 0, d->operands, a);
  gemel_graph *unrolled = unroll_drawn(d, a);
  for (size_t k = 0; k < MOST; k++) {
    gemel_tensor_unref(a[k]);
    a[k] = NULL;
  }
  differentiate(d->graph, d->seed, d->n_values, what);
  differentiate(unrolled, d->seed, d->n_values, twice);
  size_t n = gemel_graph_output_count(d->graph);
  CT_EQ_UINT(gemel_graph_output_count(unrolled), n);
  run(d->graph, rewritten, d->operands, a);
  run(unrolled, 0, d->operands, b);
  compare(n, what, a, b, !rewritten, t);
  for (size_t k = 0; k < MOST; k++) {
    gemel_tensor_unref(a[k]);
    gemel_tensor_unref(b[k]);
  }
  t->loops++;
  t->limited += d->limited;
  t->until += d->until;
  t->truncated += d->truncated;
  gemel_text_free(text);
  gemel_graph_unref(unrolled);
}

static void random_loops(const void *data) {
  uint64_t n = ct_number("GEMEL_SCAN_LOOPS", getenv("GEMEL_VALGRIND") ? 60 : 1000);
  gemel_context *context = gemel_context_new(NULL);
  tally t = {0};
  (void)data;
  for (uint64_t number = 0; number < n; number++) {
    drawn d;
    if (number % 100 == 99) { /* a context keeps all that is built in it */
      gemel_context_unref(context);
      context = gemel_context_new(NULL);
    }
    if (draw(&d, context, number)) {
      try_loop(&d, number, &t);
    }
    drop(&d);
  }
  ct_context(NULL);
  gemel_context_unref(context);
  printf("  %ld loops, %ld limited, %ld until, %ld truncated; %.2g of the bound used at most\n",
         t.loops, t.limited, t.until, t.truncated, t.worst);
  for (int k = 0; k < 4; k++) {
    printf("  %ld %ss, %ld not 0\n", t.compared[k], kinds[k], t.not_zero[k]);
    CT_CHECK(t.not_zero[k] * 5 > t.compared[k]);
  }
  CT_CHECK(t.loops * 10 > (long)n * 9);
  CT_CHECK(t.until > 0 && t.limited > 0 && t.truncated > 0);
}

static const ct_test tests[] = {CT_TEST("random", random_loops, NULL)};

void ct_register(void) {
  ct_suite("scan_unrolled", tests, CT_COUNT(tests));
}
