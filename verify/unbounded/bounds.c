/* SPDX-License-Identifier: MIT
 *
 * Sizes are 64 bits: a graph whose size expressions leave them ends with an error when it runs. A
 * claim is about sizes and numbers of attributes below 2^31, and tensors of fewer than 2^43
 * elements (axes of size 0 not counted); there the right side's expressions must stay within 64
 * bits. That is looked at by magnitudes: each symbol is below 2^31, as is what the left side has
 * for a size or an attribute, a product of sizes that is part of a left tensor's number of elements
 * is below 2^43, and other terms are bounded by what they are made of.
 */
#include <math.h>
#include "core/alloc.h"
#include "unbounded/bounds.h"

enum { MOST_TENSORS = GEMEL__RULE_NODES * 2 };

static const double most_size = 0x1p31, most_elements = 0x1p43, most_held = 0x1p63;

/* ---- What the left side has ---- */

static void hold(gemel__pscene *s, gemel__pterm a) {
  if (s->n_held < sizeof s->held / sizeof *s->held) {
    s->held[s->n_held++] = a;
  }
}

static void hold_tensor(gemel__pscene *s, const gemel__ptensor *t) {
  gemel__pterm elements = gemel__p_number(&s->terms, 1);
  for (int k = 0; k < t->rank; k++) {
    hold(s, t->shape[k]);
    elements = gemel__p_mul(&s->terms, elements, t->shape[k]);
  }
  for (size_t k = 0; t->op != NULL && k < t->op->n_attrs; k++) {
    const gemel__pvalue *v = &t->attrs[k];
    int has_entries = v->kind == GEMEL__PV_INTEGER || v->kind == GEMEL__PV_LIST;
    for (uint32_t i = 0; has_entries && i < v->count; i++) {
      hold(s, v->list[i]);
    }
  }
  if (s->n_areas < sizeof s->areas / sizeof *s->areas) {
    s->areas[s->n_areas++] = elements;
  }
}

void gemel__pscene_hold(gemel__pscene *s, const gemel__ptensor *left) {
  const gemel__ptensor *stack[MOST_TENSORS];
  size_t top = 0;
  s->n_held = s->n_areas = 0;
  s->n_magnitudes = 0;
  stack[top++] = left;
  while (top > 0) {
    const gemel__ptensor *t = stack[--top];
    hold_tensor(s, t);
    for (uint32_t k = 0; k < t->count && top < MOST_TENSORS; k++) {
      stack[top++] = t->operands[k];
    }
  }
}

static int is_held(const gemel__pscene *s, gemel__pterm a) {
  size_t k = 0;
  while (k < s->n_held && s->held[k] != a) {
    k++;
  }
  return k < s->n_held;
}

/* ---- Products of sizes ---- */

/* 1 if the factors of A, in the order of their indices, are among those of B. */
static int divides(const gemel__pterms *t, gemel__pterm a, gemel__pterm b) {
  const gemel__pterm_node *x = &t->nodes[a], *y = &t->nodes[b];
  uint32_t i = 0;
  for (uint32_t k = 0; y->kind == GEMEL__P_PRODUCT && k < y->count && i < x->count; k++) {
    i += gemel__p_operand(t, a, i) == gemel__p_operand(t, b, k);
  }
  return i == x->count;
}

/* 1 if the product A is part of the number of elements AREA, of which nothing is subtracted. */
static int is_part(const gemel__pterms *t, gemel__pterm a, gemel__pterm area) {
  const gemel__pterm_node *n = &t->nodes[area];
  int part = divides(t, a, area), adds = 1;
  for (uint32_t k = 0; n->kind == GEMEL__P_SUM && k < n->count; k++) {
    adds &= t->coefficients[n->first + k] > 0;
    part |= divides(t, a, gemel__p_operand(t, area, k));
  }
  return part && adds;
}

static int is_part_of_tensor(const gemel__pscene *s, gemel__pterm a) {
  size_t k = 0;
  while (k < s->n_areas && !is_part(&s->terms, a, s->areas[k])) {
    k++;
  }
  return k < s->n_areas;
}

/* ---- Magnitudes ---- */

static double of_sum(const gemel__pscene *s, gemel__pterm a) {
  const gemel__pterm_node *n = &s->terms.nodes[a];
  double most = fabs((double)n->value);
  for (uint32_t k = 0; k < n->count; k++) {
    most += fabs((double)s->terms.coefficients[n->first + k]) *
            s->magnitudes[gemel__p_operand(&s->terms, a, k)];
  }
  return most;
}

static double of_product(const gemel__pscene *s, gemel__pterm a) {
  double most = 1;
  for (uint32_t k = 0; k < s->terms.nodes[a].count; k++) {
    most *= s->magnitudes[gemel__p_operand(&s->terms, a, k)];
  }
  return most > most_elements && is_part_of_tensor(s, a) ? most_elements : most;
}

/* The most that A can be, either way; of what is no integer 0; of no term, which no node stands
 * for, without bound. */
static double magnitude(const gemel__pscene *s, gemel__pterm a) {
  if (a == 0) {
    return HUGE_VAL;
  }
  const gemel__pterm_node *n = &s->terms.nodes[a];
  const gemel__pterm *x = &s->terms.operands[n->first];
  if (n->sort != GEMEL__PSORT_INTEGER) {
    return 0;
  }
  switch (n->kind) {
  case GEMEL__P_NUMBER:
    return fabs((double)n->value);
  case GEMEL__P_SYMBOL:
    return most_size;
  case GEMEL__P_SUM:
    return is_held(s, a) ? most_size : of_sum(s, a);
  case GEMEL__P_PRODUCT:
    return is_held(s, a) ? most_size : of_product(s, a);
  case GEMEL__P_DIVIDED:
    return s->magnitudes[x[0]];
  case GEMEL__P_REMAINDER:
    return fmax(s->magnitudes[x[0]], s->magnitudes[x[1]]);
  case GEMEL__P_CHOICE:
    return fmax(s->magnitudes[x[1]], s->magnitudes[x[2]]);
  default:
    return is_held(s, a) ? most_size : HUGE_VAL;
  }
}

void gemel__pscene_bound(gemel__pscene *s, const gemel__pvalue *v) {
  int has_entries = v->kind == GEMEL__PV_INTEGER || v->kind == GEMEL__PV_LIST;
  for (uint32_t k = 0; has_entries && k < v->count && s->flow == GEMEL__P_GO; k++) {
    if (gemel__grow(&s->magnitudes, &s->magnitude_capacity, s->terms.count,
                    sizeof *s->magnitudes)) {
      gemel__pscene_stop(s, GEMEL__P_FAILED, "memory is out");
      return;
    }
    for (; s->n_magnitudes < s->terms.count; s->n_magnitudes++) {
      s->magnitudes[s->n_magnitudes] = magnitude(s, (gemel__pterm)s->n_magnitudes);
    }
    if (!(s->magnitudes[v->list[k]] < most_held)) {
      gemel__pscene_stop(s, GEMEL__P_OPEN, "the right side: a size that may leave 64 bits");
    }
  }
}
