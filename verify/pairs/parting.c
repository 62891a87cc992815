/* SPDX-License-Identifier: MIT
 *
 * Names the nodes at which two graphs begin to differ, see parting.h. The shipped code runs both
 * with plain kernels and every value an output. Two values are alike if rounding may explain what
 * is between them: graphs that compute alike in another order part where they really do.
 */
#include "pairs/parting.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include "core/alloc.h"
#include "core/dtype.h"
#include "core/graph.h"
#include "pairs/align.h"
#include "pairs/contrast.h"

/* One graph, run with all its values. */
struct ran {
  gemel__instance all;
  size_t n, n_outputs;
  gemel_value *outputs;
  struct at_point {
    gemel_tensor **values; /* a node each; NULL where there is none */
    double *most;          /* the largest finite magnitude in each */
  } at[2];
  size_t points;
  unsigned char *known; /* a byte a node: the other graph has its value, or no input matters */
};

/* The largest finite magnitude in TENSOR. */
static double largest(const gemel_tensor *tensor) {
  double most = 0;
  for (size_t i = 0; i < (size_t)gemel_tensor_elements(tensor); i++) {
    double x = fabs(gemel__decode(gemel_tensor_dtype(tensor), gemel__tensor_element(tensor, i)));
    most = isfinite(x) && x > most ? x : most;
  }
  return most;
}

static int run_at(struct ran *r, gemel_tensor *const *values, gemel__random *random) {
  struct at_point *at = &r->at[r->points];
  at->values = gemel__alloc_zeroed((r->n + 1) * sizeof *at->values);
  at->most = gemel__alloc_zeroed((r->n + 1) * sizeof *at->most);
  r->points++;
  if (at->values == NULL || at->most == NULL ||
      gemel__execute(&r->all, &gemel__variants[1], values, random, at->values, NULL) != GEMEL_OK) {
    return 0;
  }
  for (size_t k = 0; k < r->n; k++) {
    at->most[k] = at->values[k] != NULL ? largest(at->values[k]) : 0;
  }
  return 1;
}

static int run_all(struct ran *r, const gemel__instance *instance,
                   gemel_tensor *const *const points[2], gemel__random *random) {
  memset(r, 0, sizeof *r);
  r->n_outputs = gemel_graph_output_count(instance->graph);
  if (!gemel__expose(instance, &r->all, &r->outputs)) {
    return 0;
  }
  r->n = gemel_graph_node_count(r->all.graph);
  r->known = gemel__alloc_zeroed(r->n + 1);
  return r->known != NULL && run_at(r, points[0], random) &&
         (points[1] == NULL || run_at(r, points[1], random));
}

static void clear_ran(struct ran *r) {
  gemel__free(r->outputs, r->n_outputs * sizeof *r->outputs);
  for (size_t k = 0; k < r->points; k++) {
    if (r->at[k].values != NULL) {
      gemel__tensors_release(r->n, r->at[k].values);
    }
    gemel__free(r->at[k].values, (r->n + 1) * sizeof *r->at[k].values);
    gemel__free(r->at[k].most, (r->n + 1) * sizeof *r->at[k].most);
  }
  gemel__free(r->known, r->n + 1);
  gemel__instance_clear(&r->all);
}

/* 1 if rounding may explain what is between element I of X and Y, whose numbers are up to MOST. */
static int is_near(const gemel_tensor *x, const gemel_tensor *y, size_t i, double most) {
  gemel_dtype dtype = gemel_tensor_dtype(x);
  const void *a = gemel__tensor_element(x, i), *b = gemel__tensor_element(y, i);
  gemel__contrast c = gemel__contrast_of(dtype, a, b);
  return c <= GEMEL__ROUNDING || (c == GEMEL__FAR && !gemel__is_far_beside(dtype, a, b, most));
}

static int is_alike(const gemel_tensor *x, const gemel_tensor *y, double most) {
  if (gemel_tensor_dtype(x) != gemel_tensor_dtype(y) || !gemel__have_one_shape(x, y)) {
    return 0;
  }
  for (size_t i = 0; i < (size_t)gemel_tensor_elements(x); i++) {
    if (!is_near(x, y, i, most)) {
      return 0;
    }
  }
  return 1;
}

/* 1 if node I of A and node J of B have the same value wherever they ran. */
static int have_one_value(const struct ran *a, size_t i, const struct ran *b, size_t j) {
  int alike = 1;
  for (size_t k = 0; k < a->points && alike; k++) {
    const gemel_tensor *x = a->at[k].values[i], *y = b->at[k].values[j];
    alike = x != NULL && y != NULL && is_alike(x, y, fmax(a->at[k].most[i], b->at[k].most[j]));
  }
  return alike;
}

static void mark_known(struct ran *a, struct ran *b) {
  for (size_t i = 0; i < a->n; i++) {
    for (size_t j = 0; j < b->n; j++) {
      if ((!a->known[i] || !b->known[j]) && have_one_value(a, i, b, j)) {
        a->known[i] = b->known[j] = 1;
      }
    }
  }
}

/* What depends on no input is known: the node that uses a constant parts the graphs, not it. */
static void mark_closed(struct ran *r) {
  uint32_t count;
  unsigned char *closed = gemel__alloc_zeroed(r->n + 1);
  for (size_t k = 0; closed != NULL && k < r->n; k++) {
    const gemel__ref *inputs = gemel__node_inputs(r->all.graph, (uint32_t)k, &count);
    closed[k] = gemel__node_at(r->all.graph, (uint32_t)k)->op != GEMEL__OP_input;
    for (uint32_t j = 0; j < count; j++) {
      closed[k] = closed[k] && closed[inputs[j].node];
    }
    r->known[k] = r->known[k] || closed[k];
  }
  gemel__free(closed, r->n + 1);
}

/* The name of node K: what stands behind the file's of a model, else operation and place. */
static void name_node(const gemel_graph *graph, size_t k, char text[GEMEL__PARTING_TEXT]) {
  gemel__ref self = {(uint32_t)k, 0};
  gemel_location where = gemel_value_where(gemel__value(graph, self));
  const char *model = where.file != NULL ? strstr(where.file, ".onnx, ") : NULL;
  const char *operation = gemel__node_op(graph, (uint32_t)k)->record.name;
  if (model != NULL) {
    snprintf(text, GEMEL__PARTING_TEXT, "%s", model + strlen(".onnx, "));
  } else if (where.file != NULL) {
    snprintf(text, GEMEL__PARTING_TEXT, "%s (%.80s:%d)", operation, where.file, where.line);
  } else {
    snprintf(text, GEMEL__PARTING_TEXT, "%s", operation);
  }
}

static void name_first(const struct ran *r, char text[GEMEL__PARTING_TEXT]) {
  for (size_t k = 0; k < r->n; k++) {
    uint32_t count;
    const gemel__ref *inputs = gemel__node_inputs(r->all.graph, (uint32_t)k, &count);
    int first = !r->known[k] && count > 0;
    for (uint32_t j = 0; j < count && first; j++) {
      first = r->known[inputs[j].node];
    }
    if (first) {
      name_node(r->all.graph, k, text);
      return;
    }
  }
}

void gemel__parting_name(const gemel__pair *pair, gemel_tensor *const *const points[2],
                         gemel__random *random, char texts[2][GEMEL__PARTING_TEXT]) {
  struct ran a, b;
  int ran = run_all(&a, &pair->a, points, random);
  texts[0][0] = texts[1][0] = '\0';
  if (run_all(&b, &pair->b, points, random) && ran) {
    mark_known(&a, &b);
    mark_closed(&a);
    mark_closed(&b);
    name_first(&a, texts[0]);
    name_first(&b, texts[1]);
  }
  clear_ran(&a);
  clear_ran(&b);
}
