/* SPDX-License-Identifier: MIT
 *
 * Hints: where a proof needs something that isn't so, the model that shows it has sizes and
 * attributes of the rule's variables. A hint refutes nothing, since a model may be one of the
 * question only: to the solver a sum, say, is any number. But with these sizes and attributes an
 * instance can be made of the rule, and be tried (rules/collect.c).
 */
#ifndef GEMEL__UNBOUNDED_HINT_H
#define GEMEL__UNBOUNDED_HINT_H

#include <stdint.h>
#include <gemel/dtype.h>
#include "rules/rule.h"

enum { GEMEL__HINTS = 8, GEMEL__HINT_NUMBERS = 64, GEMEL__HINT_PARTS = 2 };

typedef enum gemel__hint_kind {
  GEMEL__HINT_NOTHING, /* is said of the variable */
  GEMEL__HINT_NUMBER,  /* an attribute: FIRST is its number's place */
  GEMEL__HINT_LIST,    /* COUNT entries */
  GEMEL__HINT_ABSENT,
  GEMEL__HINT_TENSORS /* COUNT of them; FIRST: the sizes of one after those of the other */
} gemel__hint_kind;

typedef struct gemel__hint_value {
  unsigned char kind, count, first;
  unsigned char ranks[GEMEL__HINT_PARTS], dtypes[GEMEL__HINT_PARTS]; /* GEMEL_DTYPE_COUNT: any */
} gemel__hint_value;

typedef struct gemel__hint {
  gemel__hint_value values[GEMEL__RULE_VARIABLES];
  uint32_t n_numbers;
  int64_t numbers[GEMEL__HINT_NUMBERS];
} gemel__hint;

/* The first OLD are of scenes that have ended. */
typedef struct gemel__hints {
  uint32_t count, old;
  gemel__hint at[GEMEL__HINTS];
} gemel__hints;

struct gemel__pscene;

/* Notes what S's last model says of the rule's variables, if there is one. Of a scene's models the
 * last few are kept. */
void gemel__hints_note(struct gemel__pscene *s);

/* S's scene has ended: its hints are kept if it is open. */
void gemel__hints_end(struct gemel__pscene *s);

#endif
