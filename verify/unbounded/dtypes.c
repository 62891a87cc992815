/* SPDX-License-Identifier: MIT
 *
 * Dtypes where elements have none (the pass for any elements): the right side must have its dtypes
 * wherever the left side has them. A tensor's dtype has a name, that of the variable that it comes
 * from ("x", "sum(x)"). Operations of the left side that take operands of one dtype only make two
 * names one. What an operation of the right side asks of dtypes must then be so by the names, or be
 * asked by the same operation of the same names on the left.
 */
#include <string.h>
#include "core/context.h"
#include "core/rows.h"
#include "unbounded/pull.h"

enum { NODES = 160, NAMES = 64, TEXT = 200 };

/* The tensors of a side, and names that are one. */
typedef struct side_of {
  const gemel__ptensor *at[NODES];
  uint32_t count;
  int full; /* 1: there are more */
} side_of;

typedef struct dtype_names {
  const char *at[NAMES];
  uint32_t same[NAMES]; /* another name of the same dtype, nearer to the first; itself */
  uint32_t count;
} dtype_names;

static int is_one(const char *name, const char *const *names) {
  while (*names != NULL && strcmp(*names, name) != 0) {
    names++;
  }
  return *names != NULL;
}

static const char *name_of(const gemel__ptensor *t) {
  return t->dtype != NULL ? t->dtype : t->name;
}

/* All tensors that ROOT is made of. */
static void gather(side_of *side, const gemel__ptensor *root) {
  side->at[0] = root;
  side->count = 1;
  for (uint32_t k = 0; k < side->count; k++) {
    for (uint32_t j = 0; side->at[k]->op != NULL && j < side->at[k]->count; j++) {
      const gemel__ptensor *x = side->at[k]->operands[j];
      uint32_t i = 0;
      while (i < side->count && side->at[i] != x) {
        i++;
      }
      side->full |= i == NODES;
      if (i == side->count && i < NODES) {
        side->at[side->count++] = x;
      }
    }
  }
}

/* ---- Names ---- */

static uint32_t place_of(dtype_names *names, const char *name) {
  uint32_t k = 0;
  while (k < names->count && strcmp(names->at[k], name) != 0) {
    k++;
  }
  if (k == names->count && k < NAMES) {
    names->at[k] = name;
    names->same[k] = k;
    names->count++;
  }
  while (k < names->count && names->same[k] != k) {
    k = names->same[k];
  }
  return k;
}

static void unite(dtype_names *names, const char *a, const char *b) {
  uint32_t x = place_of(names, a), y = place_of(names, b);
  if (x < names->count && y < names->count) {
    names->same[x > y ? x : y] = x > y ? y : x;
  }
}

/* 1 if the names A and B are of one dtype. */
static int one_dtype(dtype_names *names, const char *a, const char *b) {
  return strcmp(a, b) == 0 || place_of(names, a) == place_of(names, b);
}

/* ---- What operations ask ---- */

/* The first of the operands of T that must be of one dtype with those behind it; COUNT: none. */
static uint32_t alike_from(const gemel__ptensor *t) {
  static const char *const alike[] = {
      "join", "set_subtensor", "inc_subtensor", "pad", "dot", "dot_add", NULL};
  const gemel__scalar_row *row = gemel__scalar_row_of(&t->op->record);
  return row != NULL ? row->code == GEMEL__TYPE_SELECT
         : is_one(t->op->record.name, alike) || strncmp(t->op->record.name, "corr", 4) == 0
             ? 0
             : t->count;
}

static int is_alike(dtype_names *names, const gemel__ptensor *t) {
  uint32_t from = alike_from(t);
  int alike = 1;
  for (uint32_t k = from + 1; k < t->count; k++) {
    alike &= one_dtype(names, name_of(t->operands[from]), name_of(t->operands[k]));
  }
  return alike;
}

/* 1 if the left side has T's operation of operands of the same dtypes. */
static int is_left(dtype_names *names, const side_of *left, const gemel__ptensor *t) {
  int found = 0;
  for (uint32_t k = 0; k < left->count && !found; k++) {
    const gemel__ptensor *l = left->at[k];
    found = l->op == t->op && l->count == t->count;
    for (uint32_t j = 0; found && j < t->count; j++) {
      found = one_dtype(names, name_of(l->operands[j]), name_of(t->operands[j]));
    }
  }
  return found;
}

/* 1 if NAME is what the left side has indices of. */
static int is_index(dtype_names *names, const side_of *left, const char *name) {
  int found = strcmp(name, "i64") == 0;
  for (uint32_t k = 0; k < left->count && !found; k++) {
    const gemel__ptensor *l = left->at[k];
    found = l->op != NULL && strcmp(l->op->record.name, "take") == 0 && l->count > 1 &&
            one_dtype(names, name_of(l->operands[1]), name);
  }
  return found;
}

/* 1 if the number that T is one of is 0 or 1, which each dtype has, or stands on the left. */
static int is_held(dtype_names *names, const side_of *left, const gemel__ptensor *t) {
  const char *end = strchr(t->name, ':');
  size_t length = end != NULL ? (size_t)(end - t->name) : 0;
  int held = end == NULL || strncmp(t->name, "0:", 2) == 0 || strncmp(t->name, "1:", 2) == 0;
  for (uint32_t k = 0; k < left->count && !held; k++) {
    const gemel__ptensor *l = left->at[k];
    held = l->op == NULL && strncmp(l->name, t->name, length + 1) == 0 &&
           one_dtype(names, name_of(l), name_of(t));
  }
  return held;
}

/* 1 if T, of the right side, has a dtype wherever the left side has. */
static int is_sound(dtype_names *names, const side_of *left, const gemel__ptensor *t) {
  static const char *const any[] = {
      "dimshuffle", "reshape",       "broadcast_to", "reverse", "subtensor",
      "split",      "fill",          "arange",       "cast",    "pad",
      "join",       "set_subtensor", "eq",           "ne",      NULL};
  if (t->op == NULL) {
    return is_held(names, left, t);
  }
  const char *name = t->op->record.name;
  if (strcmp(name, "where") == 0) {
    return is_alike(names, t) && one_dtype(names, name_of(t->operands[0]), "bool");
  }
  if (strcmp(name, "take") == 0) {
    return is_index(names, left, name_of(t->operands[1]));
  }
  return is_one(name, any) ? is_alike(names, t) : 0;
}

/* Makes names one where T, of the left side, takes one dtype only. */
static void unite_operands(dtype_names *names, const gemel__ptensor *t) {
  const gemel__scalar_row *row = gemel__scalar_row_of(&t->op->record);
  uint32_t from = alike_from(t);
  for (uint32_t j = from + 1; j < t->count; j++) {
    unite(names, name_of(t->operands[from]), name_of(t->operands[j]));
  }
  if (row != NULL && (row->code == GEMEL__TYPE_SELECT || row->code == GEMEL__TYPE_LOGIC)) {
    unite(names, name_of(t->operands[0]), "bool");
  }
}

int gemel__pscene_dtypes_agree(const gemel__ptensor *left, const gemel__ptensor *right) {
  side_of l = {.count = 0}, r = {.count = 0};
  dtype_names names = {.count = 0};
  gather(&l, left);
  gather(&r, right);
  for (uint32_t k = 0; k < l.count; k++) {
    if (l.at[k]->op != NULL) {
      unite_operands(&names, l.at[k]);
    }
  }
  int agree = !l.full && !r.full && one_dtype(&names, name_of(left), name_of(right));
  for (uint32_t k = 0; k < r.count && agree; k++) {
    agree = is_sound(&names, &l, r.at[k]) || (r.at[k]->op != NULL && is_left(&names, &l, r.at[k]));
  }
  return agree && names.count < NAMES;
}
