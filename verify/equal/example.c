/* SPDX-License-Identifier: MIT
 *
 * Looks for an example of a difference, see example.h. What refuted a pair may have been a part of
 * the graphs, numbers that no one would choose, or exact arithmetic. So the shipped code runs both
 * whole graphs at simple numbers, one recipe after another, until one shows a difference that no
 * rounding explains; the point that refuted the pair is taken where none does.
 */
#include "equal/example.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include "base/element.h"
#include "core/alloc.h"
#include "core/dtype.h"
#include "core/number.h"
#include "equal/question.h"
#include "instances/assumed.h"
#include "pairs/contrast.h"
#include "pairs/parting.h"

/* How much a difference says, from least to most. */
typedef enum weight {
  WEIGHT_NONE,
  WEIGHT_BITS,    /* a zero's sign, rounding */
  WEIGHT_SMALL,   /* half of the digits, of a number that is small beside others of the result */
  WEIGHT_SPECIAL, /* NaN or infinite on one side alone */
  WEIGHT_FULL     /* finite numbers, integers, shapes; an error on one side */
} weight;

typedef struct difference {
  weight weight;
  size_t output, element;
  char before[100], after[100];
} difference;

struct simple_search {
  gemel__run *run;
  gemel__pair shown; /* the whole graphs */
  gemel__pair asked; /* what is compared: them, or 0 in the place of what is undefined */
  gemel__random random;
  int ends;              /* 1: an error on one side counts */
  gemel_tensor **values; /* the best until now, or NULL */
  difference best;
};

/* ---- Comparing ---- */

static void format(const gemel_tensor *tensor, size_t element, char text[100]) {
  char number[GEMEL__NUMBER_TEXT];
  gemel__number_format(gemel_tensor_dtype(tensor), gemel__tensor_element(tensor, element), number);
  snprintf(text, 100, "%s", strncmp(number, "nan", 3) == 0 ? "nan" : number); /* no bits of it */
}

/* The largest finite magnitude of an output in both results. */
static double largest(const gemel__both *both, size_t output) {
  gemel_dtype dtype = gemel_tensor_dtype(both->left[output]);
  double most = 0;
  for (size_t i = 0; i < gemel__both_elements(both, output); i++) {
    double x = fabs(gemel__decode(dtype, gemel__tensor_element(both->left[output], i)));
    double y = fabs(gemel__decode(dtype, gemel__tensor_element(both->right[output], i)));
    most = isfinite(x) && x > most ? x : most;
    most = isfinite(y) && y > most ? y : most;
  }
  return most;
}

static weight weigh(const gemel__both *both, size_t output, size_t i, double most) {
  gemel_dtype dtype = gemel_tensor_dtype(both->left[output]);
  switch (gemel__both_contrast(both, output, i)) {
  case GEMEL__SAME:
    return WEIGHT_NONE;
  case GEMEL__ZERO_SIGN:
  case GEMEL__ROUNDING:
    return WEIGHT_BITS;
  case GEMEL__FAR:
    return gemel__is_far_beside(dtype, gemel__tensor_element(both->left[output], i),
                                gemel__tensor_element(both->right[output], i), most)
               ? WEIGHT_FULL
               : WEIGHT_SMALL;
  default:
    return WEIGHT_SPECIAL;
  }
}

/* The first of the largest differences of OUTPUT to D, if that is more than D. */
static void compare_output(const gemel__both *both, size_t output, difference *d) {
  const gemel_tensor *left = both->left[output], *right = both->right[output];
  if (!gemel__have_one_shape(left, right)) {
    *d = (difference){.weight = WEIGHT_FULL, .output = output, .element = SIZE_MAX};
    gemel__say_shape(left, d->before, sizeof d->before);
    gemel__say_shape(right, d->after, sizeof d->after);
    return;
  }
  if (gemel__both_identical(both, output)) {
    return;
  }
  double most = largest(both, output);
  for (size_t i = 0; i < gemel__both_elements(both, output); i++) {
    weight w = weigh(both, output, i, most);
    if (w > d->weight) {
      *d = (difference){.weight = w, .output = output, .element = i};
      format(left, i, d->before);
      format(right, i, d->after);
    }
  }
}

/* Runs both graphs at VALUES where they don't run together: one may end in an error. */
static void compare_ends(struct simple_search *s, gemel_tensor *const *values, difference *d) {
  gemel_error of[2] = {{GEMEL_OK, 0, 0, ""}, {GEMEL_OK, 0, 0, ""}};
  gemel_status left = gemel__instance_run(&s->asked.a, values, &s->random, &of[0]);
  gemel_status right = gemel__instance_run(&s->asked.b, values, &s->random, &of[1]);
  if ((left == GEMEL_OK) != (right == GEMEL_OK) && s->ends &&
      (gemel__is_no_result(left) || gemel__is_no_result(right))) {
    *d = (difference){.weight = WEIGHT_FULL, .element = SIZE_MAX};
    snprintf(d->before, sizeof d->before, "%.99s", left == GEMEL_OK ? "a result" : of[0].text);
    snprintf(d->after, sizeof d->after, "%.99s", right == GEMEL_OK ? "a result" : of[1].text);
  }
}

static difference compare(struct simple_search *s, gemel_tensor *const *values) {
  difference d = {.weight = WEIGHT_NONE};
  gemel__both both;
  if (gemel__both_run(&s->asked, values, &s->random, &both, NULL) != GEMEL_OK) {
    compare_ends(s, values, &d);
    return d;
  }
  for (size_t k = 0; k < both.n && d.weight < WEIGHT_FULL; k++) {
    compare_output(&both, k, &d);
  }
  gemel__both_clear(&both);
  return d;
}

/* Takes VALUES, which it owns from then on, if what they show is more than the best. */
static void offer(struct simple_search *s, gemel_tensor **values) {
  difference d = compare(s, values);
  if (d.weight > s->best.weight) {
    gemel__values_free(&s->asked.a, s->values);
    s->values = values;
    s->best = d;
  } else {
    gemel__values_free(&s->asked.a, values);
  }
}

/* ---- Simple numbers ---- */

enum { RECIPES = 14, OTHERS = 5 /* recipes; the first with random numbers */ };

/* Element I of input K by RECIPE. */
static double simple(int recipe, size_t k, size_t i, gemel__random *random) {
  static const double few[] = {1, 2, 3, 5, -1, 4, -2, 0.5}, halves[] = {2, -1.5, 0.5, 3, -0.25, -3};
  switch (recipe) {
  case 0:
    return (double)k + 1;
  case 1:
    return -1 - (double)k;
  case 2:
    return few[(i + k) % 4];
  case 3:
    return few[(i + k) % 8];
  case 4:
    return halves[(i + k) % 6];
  case RECIPES - 1:
    return 0;
  default:
    return (double)gemel__random_between(random, -16, 16) / (recipe % 2 == 0 ? 4 : 1);
  }
}

/* Indices lie in their range; some recipes leave integers as at the point, which may be sizes. */
static int keeps_given(const gemel__leaf *leaf, int recipe, const gemel_tensor *given) {
  return given != NULL && !gemel__is_float(leaf->dtype) && recipe > 3 && recipe % 2 == 0;
}

static gemel_tensor *fill(const struct simple_search *s, size_t k, int recipe, gemel_tensor *given,
                          gemel__random *random) {
  const gemel__leaf *leaf = &s->asked.a.leaves[k];
  if (keeps_given(leaf, recipe, given)) {
    return gemel_tensor_ref(given);
  }
  gemel_tensor *tensor = gemel_tensor_new(leaf->dtype, leaf->rank, leaf->shape, NULL);
  for (size_t i = 0; tensor != NULL && i < leaf->count; i++) {
    long double x = gemel__leaf_within(leaf, simple(recipe, k, i, random));
    gemel__leaf_put(leaf, gemel__leaf_at(leaf, tensor, i), x);
  }
  return tensor;
}

static gemel_tensor **make_values(struct simple_search *s, int recipe, gemel_tensor *const *given) {
  size_t n = s->asked.a.n_leaves;
  gemel_tensor **values = gemel__alloc_zeroed(n * sizeof *values);
  int good = values != NULL;
  for (size_t k = 0; k < n && good; k++) {
    values[k] = fill(s, k, recipe, given != NULL ? given[k] : NULL, &s->random);
    good = values[k] != NULL;
  }
  if (!good && values != NULL) {
    gemel__values_free(&s->asked.a, values);
    values = NULL;
  }
  return values;
}

/* Tries simple numbers until one recipe shows a full difference. */
static void try_recipes(struct simple_search *s, gemel_tensor *const *given) {
  enum { WORK = 20000000, FEWEST = 3 };
  size_t most = (size_t)(WORK / gemel__pair_work(&s->shown));
  for (int k = 0; k < RECIPES && s->best.weight < WEIGHT_FULL; k++) {
    gemel_tensor **values = NULL;
    if (((size_t)k < most || k < FEWEST) && !gemel__stopped(s->run->ticker)) {
      values = make_values(s, k, given);
    }
    if (values != NULL) {
      offer(s, values);
    }
  }
}

/* ---- Words ---- */

static int is_uniform(const gemel_tensor *tensor) {
  size_t n = (size_t)gemel_tensor_elements(tensor),
         size = gemel_dtype_size(gemel_tensor_dtype(tensor));
  for (size_t i = 1; i < n; i++) {
    if (memcmp(gemel__tensor_element(tensor, 0), gemel__tensor_element(tensor, i), size) != 0) {
      return 0;
    }
  }
  return n > 1;
}

/* Appends "3", "2 each" or "[1, 2, 3, …]". */
static void say_tensor(const gemel_tensor *tensor, char *text, size_t bytes) {
  enum { SHOWN = 16 };
  size_t n = (size_t)gemel_tensor_elements(tensor), used = 0;
  char number[100] = "";
  if (n > 0) {
    format(tensor, 0, number);
  }
  if (n == 1 || is_uniform(tensor)) {
    snprintf(text, bytes, "%s%s", number, n > 1 ? " each" : "");
    return;
  }
  used += (size_t)snprintf(text, bytes, "[");
  for (size_t i = 0; i < n && i < SHOWN && used < bytes; i++) {
    format(tensor, i, number);
    used += (size_t)snprintf(text + used, bytes - used, "%s%s", i > 0 ? ", " : "", number);
  }
  if (used < bytes) {
    snprintf(text + used, bytes - used, "%s]", n > SHOWN ? ", ..." : "");
  }
}

static void say_inputs(const gemel__instance *instance, gemel_tensor *const *values, char *text,
                       size_t bytes) {
  size_t used = 0;
  text[0] = '\0';
  for (size_t k = 0; k < instance->n_leaves && used < bytes; k++) {
    used += (size_t)snprintf(text + used, bytes - used, "%s%s = ", k > 0 ? ", " : "",
                             gemel_graph_input_name(instance->graph, k));
    if (used < bytes) {
      say_tensor(values[k], text + used, bytes - used);
      used += strlen(text + used);
    }
  }
  if (used + 1 >= bytes) {
    memcpy(text + bytes - 4, "...", 4);
  }
}

/* Names the nodes that differ first. At simple numbers values may be alike by chance, so others are
 * taken besides, if both graphs run there. */
static void name_nodes(struct simple_search *s, gemel_pair_example *example) {
  gemel_tensor **others = make_values(s, OTHERS, s->values);
  gemel_tensor *const *const both[2] = {s->values, others}, *const *const one[2] = {s->values};
  gemel__parting_name(&s->shown, both, &s->random, example->nodes);
  if (others != NULL && example->nodes[0][0] == '\0' && example->nodes[1][0] == '\0') {
    gemel__parting_name(&s->shown, one, &s->random, example->nodes);
  }
  gemel__values_free(&s->asked.a, others);
}

static void say(struct simple_search *s, gemel_pair_example *example) {
  const difference *d = &s->best;
  const gemel_graph *graph = s->shown.a.graph;
  example->found = 1;
  say_inputs(&s->shown.a, s->values, example->inputs, sizeof example->inputs);
  if (d->element != SIZE_MAX) {
    gemel__place_text(graph, d->output, d->element, example->output, sizeof example->output);
  } else {
    snprintf(example->output, sizeof example->output, "%s",
             gemel_graph_output_name(graph, d->output));
  }
  memcpy(example->before, d->before, sizeof example->before);
  memcpy(example->after, d->after, sizeof example->after);
  name_nodes(s, example);
}

/* ---- The search ---- */

static int is_of_bits(unsigned refused) {
  unsigned more = GEMEL_NEEDS_BIT(INTEGERS) | GEMEL_NEEDS_BIT(WORSENS) | GEMEL_PAIR_BIT(NARROWS) |
                  GEMEL_PAIR_BIT(WIDENS);
  return (refused & ~more) != 0;
}

/* Both pairs at the sizes of POINT or, where it has none, some. */
static int make_pairs(struct simple_search *s, const gemel_graph *a, const gemel_graph *b,
                      const gemel__undefined *u, const gemel__point *point) {
  const gemel_graph *x = u != NULL ? u->defined[0] : a, *y = u != NULL ? u->defined[1] : b;
  gemel__random again = s->random;
  if (point->taken) {
    return gemel__point_pair(a, b, point, &s->random, &s->shown) &&
           gemel__point_pair(x, y, point, &again, &s->asked);
  }
  return gemel__pair_draw(&s->shown, a, b, &s->random, NULL) == GEMEL_OK &&
         gemel__pair_draw(&s->asked, x, y, &again, NULL) == GEMEL_OK;
}

static void look(struct simple_search *s, const gemel__point *point) {
  gemel_tensor **given = point->taken ? gemel__point_values(point, &s->asked.a) : NULL;
  gemel_tensor **copy = given != NULL ? gemel__values_copy(&s->asked.a, given, NULL) : NULL;
  difference at_point = given != NULL ? compare(s, given) : (difference){.weight = WEIGHT_NONE};
  gemel__pair_compile(&s->asked);
  try_recipes(s, given);
  if (at_point.weight > s->best.weight && copy != NULL) {
    gemel__values_free(&s->asked.a, s->values);
    s->values = copy;
    s->best = at_point;
    copy = NULL;
  }
  gemel__values_free(&s->asked.a, copy);
  gemel__values_free(&s->asked.a, given);
}

void gemel__example_find(gemel__run *run, const char *name, const gemel_graph *a,
                         const gemel_graph *b, const gemel__undefined *u, unsigned refused,
                         gemel__point *point, gemel_pair_example *example) {
  struct simple_search s = {.run = run};
  unsigned ends = GEMEL_PAIR_BIT(NARROWS) | GEMEL_PAIR_BIT(WIDENS);
  weight least = is_of_bits(refused) ? WEIGHT_BITS : WEIGHT_SMALL;
  memset(example, 0, sizeof *example);
  s.ends = (refused & ends) != 0;
  gemel__run_random(run, name, GEMEL_TIER_REAL, gemel__aside(GEMEL__ASIDE_EXAMPLE), &s.random);
  if (make_pairs(&s, a, b, s.ends ? NULL : u, point)) {
    look(&s, point);
  }
  if (s.values != NULL && s.best.weight >= least) {
    say(&s, example);
    if (!point->taken || point->compared) {
      gemel_tier tier = point->tier;
      point->taken = gemel__point_take(point, &s.shown.a, s.values, NULL) == GEMEL_OK;
      point->tier = tier;
      point->compared = 1;
    }
  }
  gemel__values_free(&s.asked.a, s.values);
  gemel__pair_clear(&s.shown);
  gemel__pair_clear(&s.asked);
}

size_t gemel_pair_example_text(const gemel_pair_example *e, char *text, size_t bytes) {
  bytes = text != NULL ? bytes : 0;
  if (e == NULL || !e->found) {
    return (size_t)snprintf(text, bytes, "%s", "");
  }
  int two = e->nodes[0][0] != '\0' && e->nodes[1][0] != '\0';
  int some = e->nodes[0][0] != '\0' || e->nodes[1][0] != '\0';
  return (size_t)snprintf(text, bytes, "%s%s%s = %s becomes %s%s%s%s%s", e->inputs,
                          e->inputs[0] != '\0' ? ": " : "", e->output, e->before, e->after,
                          some ? "; first different: " : "", e->nodes[0], two ? ", " : "",
                          e->nodes[1]);
}
