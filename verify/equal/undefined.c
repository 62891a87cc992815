/* SPDX-License-Identifier: MIT
 *
 * Where a pair is undefined, see undefined.h. The masks are graphs like others, and whether one
 * graph's is also that of both is a question like others. What it refutes is shown by an example at
 * which the masks, when they are run, differ; a difference that no run shows is one of real numbers
 * that no dtype has, and the bits decide.
 */
#include "equal/undefined.h"

#include <stdio.h>
#include <string.h>
#include "base/element.h"
#include "core/alloc.h"
#include "core/error.h"
#include "core/ids.h"
#include "equal/equal.h"
#include "equal/question.h"
#include "harness/saved.h"
#include "pairs/joint.h"

/* ---- An example ---- */

/* The results of INSTANCE, one for each output, to be freed with gemel__tensors_free; NULL if it
 * can't be run. */
static gemel_tensor **results_of(const gemel__instance *instance, gemel_tensor *const *values,
                                 gemel__random *random) {
  size_t n = gemel__instance_results(instance);
  gemel_tensor **results = gemel__alloc_zeroed(n * sizeof *results);
  if (results != NULL &&
      gemel__execute(instance, &gemel__variants[0], values, random, results, NULL) != GEMEL_OK) {
    gemel__tensors_free(n, results);
    results = NULL;
  }
  return results;
}

static int is_true(const gemel_tensor *tensor, size_t element) {
  return *(const unsigned char *)gemel__tensor_element(tensor, element) != 0;
}

/* 1 if there is an element that isn't true in LESS but in MORE. */
static int find_element(size_t n, gemel_tensor *const *less, gemel_tensor *const *more,
                        size_t *output, size_t *element) {
  for (*output = 0; *output < n; ++*output) {
    size_t count = (size_t)gemel_tensor_elements(less[*output]);
    for (*element = 0; *element < count; ++*element) {
      if (!is_true(less[*output], *element) && is_true(more[*output], *element)) {
        return 1;
      }
    }
  }
  return 0;
}

/* 1 if the mask MORE has an element at POINT that LESS hasn't; PLACE says which. */
static int shows(const gemel_graph *less, const gemel_graph *more, const gemel__point *point,
                 gemel__random *random, char *place, size_t bytes) {
  gemel__pair pair;
  size_t output, element;
  int found = 0;
  if (!point->taken || !gemel__point_pair(less, more, point, random, &pair)) {
    return 0;
  }
  size_t n = gemel__instance_results(&pair.a);
  gemel_tensor **values = gemel__point_values(point, &pair.a);
  gemel_tensor **x = values != NULL ? results_of(&pair.a, values, random) : NULL;
  gemel_tensor **y = values != NULL ? results_of(&pair.b, values, random) : NULL;
  if (x != NULL && y != NULL && find_element(n, x, y, &output, &element)) {
    gemel__place_text(pair.a.graph, output, element, place, bytes);
    found = 1;
  }
  gemel__tensors_free(n, x);
  gemel__tensors_free(n, y);
  gemel__values_free(&pair.a, values);
  gemel__pair_clear(&pair);
  return found;
}

/* ---- Its cause ---- */

static void number_text(const gemel_tensor *tensor, size_t element, char text[64]) {
  size_t n = (size_t)gemel_tensor_elements(tensor);
  gemel__element_format(gemel_tensor_dtype(tensor),
                        gemel__tensor_element(tensor, n == 1 ? 0 : element), text, 64);
}

/* What CAUSE does to the operands X and Y at ELEMENT. */
static void say_cause(const gemel__cause *cause, const gemel_tensor *x, const gemel_tensor *y,
                      size_t element, char *text, size_t bytes) {
  char left[64], right[64];
  const char *sign = cause->op == GEMEL__OP_trunc_div     ? "/"
                     : cause->op == GEMEL__OP_shift_left  ? "<<"
                     : cause->op == GEMEL__OP_shift_right ? ">>"
                                                          : "%";
  number_text(x, element, left);
  number_text(y, element, right);
  size_t used =
      cause->op == GEMEL__OP_cast
          ? (size_t)snprintf(text, bytes, "Cast of %s to %s", left, gemel_dtype_name(cause->dtype))
          : (size_t)snprintf(text, bytes, "%s %s %s", left, sign, right);
  if (used < bytes) {
    snprintf(text + used, bytes - used, " is undefined in ONNX (%.110s:%d)", cause->where.file,
             cause->where.line);
  }
}

/* Operands of a cause are of one shape, or one is a number: else the element isn't told. */
static int has_element(const gemel_tensor *tensor, size_t n) {
  size_t own = (size_t)gemel_tensor_elements(tensor);
  return own == n || own == 1;
}

/* Looks for a partial node of side SIDE that has no result at POINT. */
static void find_cause(const gemel__undefined *u, int side, const gemel__point *point,
                       gemel__random *random, char *text, size_t bytes) {
  gemel__pair pair;
  snprintf(text, bytes, "undefined in ONNX");
  if (u->causes[side] == NULL ||
      !gemel__point_pair(u->causes[side], u->causes[side], point, random, &pair)) {
    return;
  }
  size_t n = gemel__instance_results(&pair.a), found = 0;
  gemel_tensor **values = gemel__point_values(point, &pair.a);
  gemel_tensor **of = values != NULL ? results_of(&pair.a, values, random) : NULL;
  for (size_t k = 0; of != NULL && k + 2 < n && !found; k += 3) {
    size_t count = (size_t)gemel_tensor_elements(of[k]);
    for (size_t i = 0; i < count && !found; i++) {
      if (is_true(of[k], i) && has_element(of[k + 1], count) && has_element(of[k + 2], count)) {
        say_cause(&u->cause[side][k / 3], of[k + 1], of[k + 2], i, text, bytes);
        found = 1;
      }
    }
  }
  gemel__tensors_free(n, of);
  gemel__values_free(&pair.a, values);
  gemel__pair_clear(&pair);
}

/* ---- The question ---- */

static void hear_nothing(void *user, const gemel_record *record) {
  (void)user, (void)record;
}

/* Asks whether the mask OWN is also EITHER, in TIERS. */
static gemel_status ask_mask(const gemel__run *run, const char *name, const gemel_graph *own,
                             const gemel_graph *either, unsigned tiers, gemel__point *point,
                             gemel_verdict *verdict, gemel_error *error) {
  gemel__run quiet = *run;
  gemel_pair_result result = {.size = sizeof result};
  gemel__part_graphs pair = {.a = (gemel_graph *)own, .b = (gemel_graph *)either};
  quiet.options.sink = hear_nothing;
  quiet.options.output = NULL;
  quiet.options.replay_folder = NULL;
  quiet.options.tiers = tiers;
  quiet.point = point;
  quiet.samples = 1; /* masks cost a solver minutes */
  gemel_status status = gemel__equal_divided(&quiet, &pair, name, 0, &result, error);
  *verdict = result.verdict;
  return status;
}

/* Is the graph that OTHER masks undefined where that of OWN isn't? *ANSWER = 1, 0, or -1 if that
 * isn't known. POINT and PLACE are an example. */
static gemel_status compare(const gemel__run *run, const char *name, const gemel_graph *own,
                            const gemel_graph *either, gemel__point *point, char *place,
                            size_t bytes, int *answer, gemel_error *error) {
  static const unsigned ways[] = {(1u << GEMEL_TIER_COUNT) - 1, 1u << GEMEL_TIER_SPECIAL};
  gemel__random random;
  gemel_verdict verdict = GEMEL_VERDICT_NOT_RUN;
  *answer = -1;
  gemel__run_random(run, name, GEMEL_TIER_REAL, gemel__aside(GEMEL__ASIDE_UNDEFINED), &random);
  for (int k = 0; k < 2 && *answer < 0 && !gemel__stopped(run->ticker); k++) {
    gemel__point_clear(point);
    GEMEL__TRY(ask_mask(run, name, own, either, ways[k], point, &verdict, error));
    if (verdict == GEMEL_VERDICT_PASSED) {
      *answer = 0;
    } else if (verdict == GEMEL_VERDICT_REFUTED &&
               shows(own, either, point, &random, place, bytes)) {
      *answer = 1;
    }
  }
  return GEMEL_OK;
}

/* FOUND shows A and B at POINT. */
static void show(const gemel_graph *a, const gemel_graph *b, const gemel__undefined *u,
                 const gemel__point *point, gemel__random *random, gemel__undefinedness *found) {
  find_cause(u, 1, point, random, found->cause, sizeof found->cause);
  if (gemel__point_pair(a, b, point, random, &found->pair)) {
    found->values = gemel__point_values(point, &found->pair.a);
  }
}

gemel_status gemel__undefined_compare(gemel__run *run, const gemel_graph *a, const gemel_graph *b,
                                      const char *name, const gemel__undefined *u,
                                      gemel__undefinedness *found, gemel_error *error) {
  gemel__point point = {.taken = 0};
  gemel__random random;
  char place[sizeof found->place];
  int narrows = 0, widens = 0;
  gemel_status status = GEMEL_OK;
  memset(found, 0, sizeof *found);
  gemel__ticker_stage(run->ticker, "where results are undefined");
  gemel__run_random(run, name, GEMEL_TIER_REAL, gemel__aside(GEMEL__ASIDE_UNDEFINED), &random);
  if (u->is_partial[1]) {
    status = compare(run, name, u->mask[0], u->either, &point, found->place, sizeof found->place,
                     &narrows, error);
  }
  if (status == GEMEL_OK && narrows > 0) {
    show(a, b, u, &point, &random, found);
  }
  if (status == GEMEL_OK && u->is_partial[0]) {
    status = compare(run, name, u->mask[1], u->either, &point, place, sizeof place, &widens, error);
  }
  gemel__point_clear(&point);
  found->unsure = narrows < 0;
  found->words =
      (narrows > 0 ? GEMEL_PAIR_BIT(NARROWS) : 0) | (widens > 0 ? GEMEL_PAIR_BIT(WIDENS) : 0);
  return status;
}

void gemel__undefinedness_clear(gemel__undefinedness *found) {
  gemel__values_free(&found->pair.a, found->values);
  gemel__pair_clear(&found->pair);
  memset(found, 0, sizeof *found);
}

/* ---- What is left ---- */

/* 1 if a truth of RESULTS, N tensors, is IS. */
static int has_truth(size_t n, gemel_tensor *const *results, int is) {
  for (size_t k = 0; k < n; k++) {
    for (size_t i = 0; i < (size_t)gemel_tensor_elements(results[k]); i++) {
      if (is_true(results[k], i) == is) {
        return 1;
      }
    }
  }
  return 0;
}

int gemel__undefined_some(gemel__run *run, const char *name, const gemel__undefined *u,
                          const gemel__point *point) {
  gemel__pair pair;
  gemel__random random;
  int some = 1;
  gemel__run_random(run, name, GEMEL_TIER_REAL, gemel__aside(GEMEL__ASIDE_UNDEFINED), &random);
  if (!point->taken || !gemel__point_pair(u->either, u->either, point, &random, &pair)) {
    return 1;
  }
  size_t n = gemel__instance_results(&pair.a);
  gemel_tensor **values = gemel__point_values(point, &pair.a);
  gemel_tensor **of = values != NULL ? results_of(&pair.a, values, &random) : NULL;
  if (of != NULL) {
    some = has_truth(n, of, 1);
  }
  gemel__tensors_free(n, of);
  gemel__values_free(&pair.a, values);
  gemel__pair_clear(&pair);
  return some;
}

/* 1 if an element of an output is defined at values drawn as FILL says. */
static int leaves_some(const gemel__undefined *u, gemel__fill fill, gemel__random *random) {
  gemel__pair pair;
  gemel_tensor **values = NULL;
  int some = 0;
  if (gemel__pair_draw(&pair, u->either, u->either, random, NULL) != GEMEL_OK) {
    return 0;
  }
  if (gemel__values_draw(&pair.a, fill, random, &values, NULL) == GEMEL_OK) {
    size_t n = gemel__instance_results(&pair.a);
    gemel_tensor **of = results_of(&pair.a, values, random);
    some = of != NULL && has_truth(n, of, 0);
    gemel__tensors_free(n, of);
    gemel__values_free(&pair.a, values);
  }
  gemel__pair_clear(&pair);
  return some;
}

int gemel__undefined_leaves_enough(gemel__run *run, const char *name, const gemel__undefined *u) {
  enum { DRAWS = 24, ENOUGH = 4 };
  static const gemel__fill fills[] = {GEMEL__FILL_SMALL, GEMEL__FILL_INTEGERS, GEMEL__FILL_FULL};
  gemel__random random;
  int good = 0;
  gemel__run_random(run, name, GEMEL_TIER_REAL, gemel__aside(GEMEL__ASIDE_UNDEFINED), &random);
  for (size_t k = 0; k < DRAWS && good < ENOUGH; k++) {
    good += leaves_some(u, fills[k % 3], &random);
  }
  return good >= ENOUGH;
}
