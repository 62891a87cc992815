/* SPDX-License-Identifier: MIT
 *
 * What the files that ask about a pair share: its worst verdict, records of its tiers, how much of
 * the usual work it gets, and the values of a counterexample.
 */
#include "equal/question.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include "core/alloc.h"
#include "core/ids.h"
#include "harness/saved.h"
#include "instances/assumed.h"

void gemel__equal_note(gemel__equality *q, gemel_verdict verdict) {
  gemel_verdict *worst = &q->result->verdict;
  if (verdict != GEMEL_VERDICT_NOT_APPLICABLE &&
      (*worst == GEMEL_VERDICT_NOT_RUN ||
       gemel_verdict_severity(verdict) > gemel_verdict_severity(*worst))) {
    *worst = verdict;
  }
}

void gemel__equal_begin(gemel__equality *q, gemel__inquiry *asked, gemel_tier tier) {
  gemel__inquiry_begin(asked, q->run, "pair", q->name, tier);
}

void gemel__equal_emit(gemel__equality *q, gemel_tier tier, gemel_verdict verdict,
                       const char *detail) {
  gemel__inquiry asked;
  if (gemel__run_wants(q->run, tier)) {
    gemel__equal_begin(q, &asked, tier);
    gemel__inquiry_end(&asked, verdict, GEMEL_EVIDENCE_NONE, detail);
  }
}

void gemel__equal_stopped(gemel__equality *q, gemel_tier tier) {
  char text[60];
  gemel__stopped_text(q->run->ticker, text, sizeof text);
  gemel__equal_emit(q, tier, GEMEL_VERDICT_NOT_RUN, text);
}

/* 1 if LIST, "2 for 100000, 3 for 512", has ENTRY. */
static int lists(const char *list, const char *entry) {
  size_t length = strlen(entry);
  const char *at = strstr(list, entry);
  while (at != NULL &&
         !((at == list || at[-1] == ' ') && (at[length] == '\0' || at[length] == ','))) {
    at = strstr(at + 1, entry);
  }
  return at != NULL;
}

void gemel__equal_note_scaled(char list[GEMEL__MOST_SCALED_TEXT], const char *scaled) {
  while (*scaled != '\0') {
    char entry[50];
    size_t length = strcspn(scaled, ","), used = strlen(list);
    snprintf(entry, sizeof entry, "%.*s", (int)length, scaled);
    if (!lists(list, entry) && used + strlen(entry) + 3 < GEMEL__MOST_SCALED_TEXT) {
      snprintf(list + used, GEMEL__MOST_SCALED_TEXT - used, "%s%s", used > 0 ? ", " : "", entry);
    }
    scaled += length;
    scaled += strspn(scaled, ", ");
  }
}

double gemel__equal_share(const gemel__run *run, const gemel__pair *pair) {
  return fmin(GEMEL__USUAL_WORK / gemel__pair_work(pair), 1) * (run->effort > 0 ? run->effort : 1);
}

size_t gemel__equal_affordable(double of_all, size_t n) {
  enum { AT_LEAST = 4 };
  size_t share = (size_t)(of_all * (double)n);
  return share >= n ? n : share > AT_LEAST ? share : AT_LEAST < n ? AT_LEAST : n;
}

void gemel__equal_keep(gemel__equality *q, gemel_tier tier, int compared,
                       const gemel__instance *instance, gemel_tensor *const *values) {
  if (q->run->point != NULL && values != NULL &&
      gemel__point_take(q->run->point, instance, values, NULL) == GEMEL_OK) {
    q->run->point->tier = tier;
    q->run->point->compared = compared;
  }
}

int gemel__equal_is_empty(const gemel__equality *q) {
  gemel_context *context = gemel_graph_context(q->a);
  double elements = 0;
  for (size_t k = 0; k < gemel_graph_output_count(q->a); k++) {
    elements += gemel__type_elements(context, gemel_value_type(gemel_graph_output(q->a, k)), 1);
  }
  return elements == 0;
}

/* Notes in SIZES what TENSOR says of the N symbols called NAMES, of which TYPE is made. */
static void note_sizes(gemel_context *context, gemel_type type, const gemel_tensor *tensor,
                       size_t n, const char *const *names, int64_t *sizes) {
  for (int i = 0; i < gemel_type_rank(context, type); i++) {
    for (size_t s = 0; s < n; s++) {
      if (gemel_type_dims(context, type)[i].id == gemel_dim_symbol(context, names[s]).id) {
        sizes[s] = gemel_tensor_shape(tensor)[i];
      }
    }
  }
}

/* The sizes of A's symbols, by the tensors of POINT: how many, or -1 if they don't tell one. */
static long sizes_at(const gemel_graph *a, const gemel__point *point,
                     const char *names[GEMEL__MOST_SYMBOLS], int64_t sizes[GEMEL__MOST_SYMBOLS]) {
  gemel_context *context = gemel_graph_context(a);
  size_t n = gemel__pair_symbols(a, names, GEMEL__MOST_SYMBOLS), known = 0;
  for (size_t s = 0; s < n; s++) {
    sizes[s] = -1;
  }
  for (size_t k = 0; k < gemel_graph_input_count(a) && n > 0; k++) {
    gemel_tensor *tensor = gemel__point_find(point, gemel_graph_input_name(a, k));
    if (tensor != NULL) {
      note_sizes(context, gemel_value_type(gemel_graph_input(a, k)), tensor, n, names, sizes);
    }
    gemel_tensor_unref(tensor);
  }
  while (known < n && sizes[known] >= 0) {
    known++;
  }
  return known == n ? (long)n : -1;
}

int gemel__point_pair(const gemel_graph *a, const gemel_graph *b, const gemel__point *point,
                      gemel__random *random, gemel__pair *pair) {
  const char *names[GEMEL__MOST_SYMBOLS];
  int64_t sizes[GEMEL__MOST_SYMBOLS];
  long n = sizes_at(a, point, names, sizes);
  return n >= 0 &&
         gemel__pair_draw_at(pair, a, b, (size_t)n, names, sizes, random, NULL) == GEMEL_OK;
}

/* Some value of an input that nothing reads. */
static gemel_tensor *any_value(const gemel__leaf *leaf) {
  gemel_tensor *tensor = gemel_tensor_new(leaf->dtype, leaf->rank, leaf->shape, NULL);
  for (size_t i = 0; tensor != NULL && i < leaf->count; i++) {
    gemel__leaf_put(leaf, gemel__leaf_at(leaf, tensor, i), gemel__leaf_within(leaf, 1));
  }
  return tensor;
}

gemel_tensor **gemel__point_values(const gemel__point *point, const gemel__instance *instance) {
  size_t n = instance->n_leaves, k = 0;
  gemel_tensor **values = gemel__alloc_zeroed(n * sizeof *values);
  for (; values != NULL && k < n; k++) {
    values[k] = gemel__point_find(point, gemel_graph_input_name(instance->graph, k));
    values[k] = values[k] != NULL ? values[k] : any_value(&instance->leaves[k]);
    if (values[k] == NULL) {
      gemel__values_free(instance, values);
      return NULL;
    }
  }
  return values;
}
