/* SPDX-License-Identifier: MIT
 *
 * Models of questions as sizes and attributes, see hint.h.
 */
#include "unbounded/hint.h"

#include <string.h>
#include "unbounded/scene.h"

enum { MOST_SOLVED = 64 };

/* What a hint's numbers are: terms of the scene. */
typedef struct hinted {
  gemel__hint hint;
  gemel__pterm terms[GEMEL__HINT_NUMBERS];
  int full; /* there are more numbers than there is room for */
} hinted;

static void add_terms(hinted *h, uint32_t count, const gemel__pterm *terms) {
  if (h->hint.n_numbers + count > GEMEL__HINT_NUMBERS) {
    h->full = 1;
    return;
  }
  memcpy(h->terms + h->hint.n_numbers, terms, count * sizeof *terms);
  h->hint.n_numbers += count;
}

/* The dtype that instances may have in place of what T has in a proof: F32 stands for all floats.
 */
static gemel_dtype dtype_of(const gemel__pscene *s, const gemel__ptensor *t) {
  gemel_dtype dtype;
  return gemel__psort_dtype((int)t->sort, &dtype) && s->dtypes != 1u << GEMEL_F32
             ? dtype
             : GEMEL_DTYPE_COUNT;
}

static void add_tensors(hinted *h, const gemel__pscene *s, const gemel__pvalue *v,
                        gemel__hint_value *value) {
  if (v->count > GEMEL__HINT_PARTS) {
    h->full = 1;
    return;
  }
  for (uint32_t k = 0; k < v->count; k++) {
    value->ranks[k] = (unsigned char)v->tensors[k]->rank;
    value->dtypes[k] = (unsigned char)dtype_of(s, v->tensors[k]);
    add_terms(h, (uint32_t)v->tensors[k]->rank, v->tensors[k]->shape);
  }
  value->kind = GEMEL__HINT_TENSORS;
}

static void add_variable(hinted *h, const gemel__pscene *s, uint32_t variable) {
  const gemel__pvalue *v = &s->variables[variable];
  gemel__hint_value *value = &h->hint.values[variable];
  value->count = (unsigned char)v->count;
  value->first = (unsigned char)h->hint.n_numbers;
  switch (v->kind) {
  case GEMEL__PV_TENSOR:
  case GEMEL__PV_TENSORS:
    if (v->count == 0 || v->tensors[0]->pull == NULL) { /* else it is built, and named by `as` */
      add_tensors(h, s, v, value);
    }
    break;
  case GEMEL__PV_INTEGER:
  case GEMEL__PV_LIST:
    value->kind = v->kind == GEMEL__PV_LIST ? GEMEL__HINT_LIST : GEMEL__HINT_NUMBER;
    add_terms(h, v->count, v->list);
    break;
  case GEMEL__PV_ABSENT:
    value->kind = GEMEL__HINT_ABSENT;
    break;
  default:
    break;
  }
}

/* Symbols that are another term have its value, and aren't in the question. 0: one has none. */
static int add_solved(gemel__pscene *s) {
  gemel__pmodel *m = &s->ask.model;
  int64_t numbers[MOST_SOLVED];
  unsigned char has[MOST_SOLVED];
  if (s->solved.count > MOST_SOLVED || m->count + s->solved.count > GEMEL__PMODEL) {
    return 0;
  }
  gemel__ask_numbers(&s->ask, s->solved.count, s->solved.terms, numbers, has);
  for (size_t k = 0; k < s->solved.count; k++) {
    if (!has[k]) {
      return 0;
    }
    m->symbols[m->count] = s->solved.symbols[k];
    m->numbers[m->count++] = numbers[k];
  }
  return 1;
}

static void keep(gemel__hints *hints, const gemel__hint *hint) {
  enum { OF_A_SCENE = 4 };
  for (uint32_t k = 0; k < hints->count; k++) {
    if (memcmp(&hints->at[k], hint, sizeof *hint) == 0) {
      return;
    }
  }
  if (hints->old == GEMEL__HINTS) {
    return;
  }
  if (hints->count == GEMEL__HINTS || hints->count == hints->old + OF_A_SCENE) {
    hints->count--;
    memmove(&hints->at[hints->old], &hints->at[hints->old + 1],
            (hints->count - hints->old) * sizeof *hint);
  }
  hints->at[hints->count++] = *hint;
}

void gemel__hints_note(gemel__pscene *s) {
  hinted h;
  unsigned char has[GEMEL__HINT_NUMBERS];
  if (!s->ask.model.is || !add_solved(s)) {
    return;
  }
  memset(&h, 0, sizeof h);
  for (uint32_t k = 0; k < s->rule->n_variables; k++) {
    if (s->bound[k]) {
      add_variable(&h, s, k);
    }
  }
  gemel__ask_numbers(&s->ask, h.hint.n_numbers, h.terms, h.hint.numbers, has);
  if (!h.full && memchr(has, 0, h.hint.n_numbers) == NULL) {
    keep(&s->hints, &h.hint);
  }
}

void gemel__hints_end(gemel__pscene *s) {
  gemel__hints *hints = &s->hints;
  hints->count = s->flow == GEMEL__P_OPEN ? hints->count : hints->old;
  hints->old = hints->count;
}
