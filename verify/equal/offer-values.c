/* SPDX-License-Identifier: MIT
 *
 * Numbers of offers, see offer-values.h. Domain B evaluates all offers together. Where the large
 * ones have too many elements for that, their elements are computed when they are asked for
 * (elements.h), from constants and from small values, which domain B has.
 */
#include "equal/offer-values.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include "core/alloc.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/graph.h"
#include "core/value.h"

enum {
  MOST_LARGE = 1 << 18, /* elements of all large values, if domain B evaluates them */
};

static int is_unevaluated(const gemel__offer_values *v, size_t k) {
  return v->more[k].unevaluated;
}

/* ---- What is evaluated ---- */

/* The offer that X is, which becomes one if need be; −1 on failure. */
static int64_t offer_of(void *user, gemel_value x) {
  gemel__offer_values *v = user;
  gemel__offers *o = v->offers;
  if (x.output > 0) { /* PLACE knows first results */
    return -1;
  }
  if (v->place[x.node] == 0) {
    if (gemel__offers_add(o, x) != 0) {
      return -1;
    }
    v->place[x.node] = o->n;
  }
  return (int64_t)v->place[x.node] - 1;
}

/* Marks in HEAVY the nodes of GRAPH that are large, or are computed from large ones. Returns how
 * many elements the large ones have. */
static int64_t mark_heavy(const gemel_graph *graph, unsigned char *heavy) {
  int64_t sum = 0;
  for (uint32_t k = 0; k < graph->n_nodes; k++) {
    uint32_t count;
    const gemel__ref *inputs = gemel__node_inputs(graph, k, &count);
    for (uint32_t i = 0; i < graph->nodes[k].n_outputs; i++) {
      int64_t elements = gemel__value_elements(gemel__value(graph, (gemel__ref){k, i}));
      heavy[k] |= elements > GEMEL__LARGE_OFFER;
      sum += elements > GEMEL__LARGE_OFFER ? elements : 0;
    }
    for (uint32_t j = 0; j < count; j++) {
      heavy[k] |= heavy[inputs[j].node];
    }
  }
  return sum;
}

/* Lays out the expressions of large offers, if there are too many elements for domain B. Small ones
 * that are computed from large ones are left out. FOUND has an entry for each offer so far. */
static gemel_status lay_out(gemel__offer_values *v, gemel__offer_value *found, gemel_error *error) {
  const gemel_graph *graph = v->offers->graph;
  size_t n = v->offers->n;
  unsigned char *heavy = gemel__alloc_zeroed(v->n_places);
  gemel_status status = heavy == NULL ? gemel__no_memory(error, "constants") : GEMEL_OK;
  int evaluable = status == GEMEL_OK && mark_heavy(graph, heavy) <= MOST_LARGE;
  for (size_t k = 0; k < n; k++) {
    v->place[v->offers->all[k].node] = k + 1;
  }
  for (size_t k = 0; k < n && status == GEMEL_OK && !evaluable; k++) {
    gemel_value offer = v->offers->all[k];
    found[k].unevaluated = heavy[offer.node];
    if (found[k].unevaluated && gemel__value_elements(offer) > GEMEL__LARGE_OFFER) {
      status = gemel__elements_make(&found[k].elements, offer, offer_of, v, error);
      status = status == GEMEL_NO_MEMORY ? status : GEMEL_OK;
    }
  }
  gemel__free(heavy, v->n_places);
  return status;
}

/* ---- Values ---- */

/* The shape of offer K, if it can be compared. */
static gemel__rtensor shape_of(const gemel__offer_values *v, size_t k) {
  gemel_value offer = v->offers->all[k];
  gemel__rtensor r = {.dtype = GEMEL_DTYPE_COUNT};
  if (v->more[k].elements.n > 0 || v->more[k].balls != NULL) {
    r.dtype = gemel__value_dtype(offer);
    r.rank = gemel__offer_shape(offer, r.shape);
    r.count = (size_t)gemel__value_elements(offer);
  }
  return r;
}

/* Keeps the numbers of an offer, which take a fifth of what domain B needs. */
static void keep(void *user, uint32_t node, uint32_t output, const gemel__rtensor *value) {
  gemel__offer_values *v = user;
  size_t k = v->place[node] - 1; /* of no offer: the largest number */
  if (k >= v->n || is_unevaluated(v, k) || v->offers->all[k].output != output) {
    return;
  }
  gemel__ball *balls = gemel__alloc_array(value->count + 1, sizeof *balls);
  for (size_t i = 0; i < value->count && balls != NULL; i++) {
    gemel__bound_ball(value->domain, gemel__rtensor_at(value, i), balls[i].middle,
                      &balls[i].radius);
  }
  v->more[k].balls = balls;
  v->failed |= balls == NULL;
}

static gemel_status evaluate(gemel__offer_values *v, gemel_error *error) {
  gemel__bound *bound = gemel__bound_new(128);
  if (bound != NULL) {
    bound->domain.likely = 1;
  }
  gemel_status status = bound == NULL ? gemel__no_memory(error, "constants") : GEMEL_OK;
  for (size_t k = 0; k < v->n && status == GEMEL_OK; k++) {
    char name[32];
    snprintf(name, sizeof name, "offer%u", (unsigned)k);
    status = is_unevaluated(v, k) ? GEMEL_OK : gemel_output(v->offers->all[k], name);
  }
  if (status == GEMEL_OK) {
    status = gemel__reference_visit(v->offers->graph, &bound->domain, keep, v, error);
  }
  for (size_t k = 0; k < v->n && status == GEMEL_OK; k++) {
    v->of[k] = shape_of(v, k);
  }
  gemel__bound_free(bound);
  return v->failed ? gemel__no_memory(error, "constants") : status;
}

gemel_status gemel__offer_values_make(gemel__offer_values *v, gemel__offers *offers,
                                      gemel_error *error) {
  size_t before = offers->n;
  v->offers = offers;
  v->n_places = offers->graph->n_nodes + 1;
  v->place = gemel__alloc_zeroed(v->n_places * sizeof *v->place);
  gemel__offer_value *found = gemel__alloc_zeroed((before + 1) * sizeof *found);
  gemel_status status = v->place == NULL || found == NULL ? gemel__no_memory(error, "constants")
                                                          : lay_out(v, found, error);
  v->of = gemel__alloc_zeroed((offers->n + 1) * sizeof *v->of);
  v->more = gemel__alloc_zeroed((offers->n + 1) * sizeof *v->more);
  if (v->of == NULL || v->more == NULL) {
    status = gemel__no_memory(error, "constants");
  }
  for (size_t k = 0; k < before && found != NULL; k++) {
    if (v->more != NULL) {
      v->more[k] = found[k];
    } else {
      gemel__elements_clear(&found[k].elements);
    }
  }
  gemel__free(found, (before + 1) * sizeof *found);
  v->n = offers->n;
  return status ? status : evaluate(v, error);
}

void gemel__offer_values_clear(gemel__offer_values *v) {
  for (size_t k = 0; v->more != NULL && k < v->n; k++) {
    gemel__elements_clear(&v->more[k].elements);
    if (v->more[k].balls != NULL) {
      size_t count = (size_t)gemel__value_elements(v->offers->all[k]);
      gemel__free(v->more[k].balls, (count + 1) * sizeof *v->more[k].balls);
    }
  }
  gemel__free(v->of, (v->n + 1) * sizeof *v->of);
  gemel__free(v->more, (v->n + 1) * sizeof *v->more);
  gemel__free(v->place, v->n_places * sizeof *v->place);
  memset(v, 0, sizeof *v);
}

/* ---- Elements ---- */

/* Element I of small offer K. */
static double known_element(void *user, int64_t k, size_t i, double *radius) {
  const gemel__offer_value *own = &((const gemel__offer_values *)user)->more[k];
  *radius = own->balls != NULL ? own->balls[i].radius : INFINITY;
  return own->balls != NULL ? own->balls[i].middle[0] : 0;
}

double gemel__offer_ratio(gemel__offer_values *v, size_t k, size_t i, double x, double *radius) {
  gemel__ball ball = {{0, 0}, INFINITY};
  if (is_unevaluated(v, k)) {
    gemel__elements_at(&v->more[k].elements, i, known_element, v, &ball.middle[0], &ball.radius);
  } else {
    ball = v->more[k].balls[i];
  }
  if (isnan(ball.middle[0]) && ball.radius == 0) {
    *radius = 0;
    return isnan(x) ? 0 : INFINITY;
  }
  *radius = ball.radius;
  if (ball.radius == INFINITY) {
    return INFINITY;
  }
  double off =
      x == ball.middle[0] ? fabs(ball.middle[1]) : fabs(x - ball.middle[0] - ball.middle[1]);
  return off == 0 ? 0 : off / *radius;
}
