/* SPDX-License-Identifier: MIT
 *
 * How the types of functions are called, and what they share.
 */
#ifndef GEMEL__UNBOUNDED_AXES_TYPING_H
#define GEMEL__UNBOUNDED_AXES_TYPING_H

#include "unbounded/axes.h"

/* A call of a row: N operands IN, and where the type of the value goes. */
typedef struct typing {
  gemel__axes *x;
  const gemel__axes_value *in;
  uint32_t n;
  gemel__axes_value *out;
  int top; /* the value is a condition, which holds */
} typing;

/* ---- Values ---- */

static inline void give_list(const typing *t, int entry, uint16_t of, uint16_t over) {
  t->out->kind = GEMEL__AXES_IS_LIST;
  t->out->entry = (unsigned char)entry;
  t->out->of = of;
  t->out->over = over;
}

static inline void give_single(const typing *t, int entry, uint16_t of, int64_t number) {
  t->out->kind = GEMEL__AXES_IS_NUMBER;
  t->out->entry = (unsigned char)entry;
  t->out->of = of;
  t->out->number = number;
  t->out->natural = entry == GEMEL__AXES_NUMBER && number >= 0;
}

/* A truth that stays true while HOLDS axes are kept, and false while FAILS are. */
static inline void give_truth(const typing *t, int holds, int fails) {
  t->out->kind = GEMEL__AXES_IS_TRUTH;
  t->out->holds = holds;
  t->out->fails = fails;
}

static inline int is_list(const gemel__axes_value *v) {
  return v->kind == GEMEL__AXES_IS_LIST;
}

static inline int is_number(const gemel__axes_value *v, int64_t *number) {
  *number = v->number;
  return v->kind == GEMEL__AXES_IS_NUMBER && v->entry == GEMEL__AXES_NUMBER;
}

static inline int is_single(const gemel__axes_value *v, int entry) {
  return v->kind == GEMEL__AXES_IS_NUMBER && v->entry == entry;
}

static inline int has_axes(const gemel__axes_value *v) {
  return (is_list(v) || v->kind == GEMEL__AXES_IS_NUMBER) && v->entry == GEMEL__AXES_AXIS;
}

static inline int has_sizes(const gemel__axes_value *v) {
  return (is_list(v) || v->kind == GEMEL__AXES_IS_NUMBER) && v->entry == GEMEL__AXES_SIZE;
}

/* A list or number of -1. */
static inline int is_new(const gemel__axes_value *v) {
  return (is_list(v) || v->kind == GEMEL__AXES_IS_NUMBER) && v->entry == GEMEL__AXES_NUMBER &&
         v->number == -1;
}

static inline int is_written(const gemel__axes_value *v) {
  return (is_list(v) || v->kind == GEMEL__AXES_IS_NUMBER) && v->entry == GEMEL__AXES_NUMBER;
}

static inline void no_type(const typing *t, const char *what) {
  gemel__axes_fail(t->x, "%s", what);
}

typedef void (*gemel__axes_type)(const typing *t);

/* Types of comparisons and of what is true or not (axes-conditions.c). */
extern const gemel__axes_type gemel__axes_conditions[GEMEL__ROW_COUNT];

#endif
