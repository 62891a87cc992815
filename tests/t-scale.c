/*
 * Work that grows with the size of a graph and no faster: each case is timed at a size and at four
 * times that size, in processor time, and the ratio held against 10: linear work has 4 (a little
 * more where caches run over), quadratic work 16. The best of a few runs counts, so that a busy
 * machine does not matter.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <gemel/gemel.h>
#include "core/graph.h"
#include "ct.h"

struct scale {
  const char *name;
  void (*work)(gemel_context *c, gemel_graph *g, size_t n);
  size_t n;
};

static gemel_type vector(gemel_context *c, int64_t n) {
  return gemel_type_of_shape(c, GEMEL_F32, 1, &n);
}

static gemel_value *values(size_t n) {
  gemel_value *v = malloc(n * sizeof *v);
  if (v == NULL) {
    abort();
  }
  return v;
}

/* N inputs of N sizes, N outputs. */
static void fill_body(gemel_context *c, gemel_graph *g, size_t n, gemel_value *in) {
  char name[32];
  size_t k;
  for (k = 0; k < n; k++) {
    gemel_dim size;
    snprintf(name, sizeof name, "n%zu", k);
    size = gemel_dim_symbol(c, name);
    in[k] = gemel_input(g, name, gemel_type_new(c, GEMEL_F32, 1, &size, 0));
    gemel_output(gemel_exp(in[k]), name);
  }
}

static void body(gemel_context *c, gemel_graph *g, size_t n) {
  gemel_graph *body = gemel_graph_new(c, NULL);
  gemel_value *in = values(n), *out = values(n);
  fill_body(c, body, n, in);
  fill_body(c, g, n, in);
  CT_EQ_INT(gemel__graph_inline(g, body, in, out, NULL), GEMEL_OK);
  CT_EQ_INT(gemel_graph_node_count(g), 2 * n);
  free(in);
  free(out);
  gemel_graph_unref(body);
}

/* N nodes on one input that differ in nothing but attributes, made twice. */
static void star(gemel_context *c, gemel_graph *g, size_t n) {
  gemel_value x = gemel_input(g, "x", vector(c, 4));
  size_t k;
  for (k = 0; k < 2 * n; k++) {
    gemel_dim shape[2];
    shape[0] = gemel_dim_constant(c, (int64_t)(k % n) * 3);
    shape[1] = gemel_dim_constant(c, 4);
    gemel_broadcast_to(x, 2, shape);
  }
  CT_EQ_INT(gemel_graph_node_count(g), n + 1);
}

/* One value used N times: N terms to add up. */
static void uses(gemel_context *c, gemel_graph *g, size_t n) {
  gemel_value x = gemel_input(g, "x", vector(c, 4)), y = x, d;
  size_t k;
  for (k = 0; k < n; k++) {
    y = gemel_add(y, gemel_mul(x, gemel_scalar(g, GEMEL_F32, (double)k)));
  }
  CT_EQ_INT(gemel_grad(1, &y, &x, 1, &x, &d, NULL), GEMEL_OK);
  CT_EQ_INT(gemel_jvp(1, &y, 1, &x, &x, &d, NULL), GEMEL_OK);
}

/* One node with N inputs, and what derives from it. */
static void wide(gemel_context *c, gemel_graph *g, size_t n) {
  gemel_value *x = values(n), *d = values(n), y;
  char name[32];
  size_t k;
  for (k = 0; k < n; k++) {
    snprintf(name, sizeof name, "x%zu", k);
    x[k] = gemel_input(g, name, vector(c, 2));
  }
  y = gemel_join(n, x);
  CT_EQ_INT(gemel_grad(1, &y, &y, n, x, d, NULL), GEMEL_OK);
  free(x);
  free(d);
}

/* One node with N outputs, each of them an output of the graph. */
static void parts(gemel_context *c, gemel_graph *g, size_t n) {
  gemel_value x = gemel_input(g, "x", vector(c, (int64_t)n * 2)), all, d;
  gemel_dim *two = malloc(n * sizeof *two);
  char name[32];
  size_t k;
  for (k = 0; k < n; k++) {
    two[k] = gemel_dim_constant(c, 2);
  }
  all = gemel_split(x, n, two);
  for (k = 0; k < n; k++) {
    snprintf(name, sizeof name, "part_%zu", k);
    gemel_output(gemel_value_output(all, (uint32_t)k), name);
  }
  all = gemel_value_output(all, (uint32_t)n - 1);
  CT_EQ_INT(gemel_grad(1, &all, &all, 1, &x, &d, NULL), GEMEL_OK);
  free(two);
}

/* Each node from a file of its own. */
static void files(gemel_context *c, gemel_graph *g, size_t n) {
  gemel_value y = gemel_input(g, "x", vector(c, 4));
  char name[40];
  gemel_location where = {name, 1};
  size_t k;
  for (k = 0; k < n; k++) {
    snprintf(name, sizeof name, "a/source/file_%zu.c", k);
    y = gemel_exp_at(y, where);
  }
}

static void chain(gemel_context *c, gemel_graph *g, size_t n) {
  gemel_value x = gemel_input(g, "x", vector(c, 4)), y = x, d;
  size_t k;
  for (k = 0; k < n; k++) {
    y = k % 2 ? gemel_mul(y, x) : gemel_add(x, y);
  }
  CT_EQ_INT(gemel_grad(1, &y, &x, 1, &x, &d, NULL), GEMEL_OK);
}

/* Seconds of processor time, building, checking and freeing included. */
static double seconds(const struct scale *s, size_t n) {
  clock_t start = clock();
  gemel_context *c = gemel_context_new(NULL);
  gemel_graph *g = gemel_graph_new(c, NULL);
  s->work(c, g, n);
  CT_EQ_STR(gemel_graph_error(g)->text, "");
  CT_EQ_INT(gemel_graph_check(g, NULL), GEMEL_OK);
  gemel_graph_unref(g);
  gemel_context_unref(c);
  return (double)(clock() - start) / CLOCKS_PER_SEC;
}

static void linear(const void *data) {
  const struct scale *s = data;
  double small = 1e9, large = 1e9, t;
  int k;
  for (k = 0; k < 5 && (k == 0 || !(large <= 10 * small)); k++) {
    t = seconds(s, s->n);
    small = t < small ? t : small;
    t = seconds(s, 4 * s->n);
    large = t < large ? t : large;
  }
  ct_context("%zu: %g ms, %zu: %g ms", s->n, small * 1e3, 4 * s->n, large * 1e3);
  CT_LE_DOUBLE(large, 10 * small);
}

void ct_register(void) {
  static const struct scale scales[] = {
      {"body", body, 5000},    {"star", star, 20000},   {"uses", uses, 10000},
      {"wide", wide, 5000},    {"parts", parts, 10000}, {"files", files, 10000},
      {"chain", chain, 50000},
  };
  size_t k;
  for (k = 0; k < CT_COUNT(scales); k++) {
    CT_ADD("scale", scales[k].name, linear, &scales[k]);
  }
}
