/* SPDX-License-Identifier: MIT
 *
 * How the functions of functions.def are called: operands that have the kinds the row asks for, and
 * a result to fill in. A function that has no value for its operands returns GEMEL_DECLINED.
 *
 * Truths have three values here: 1, 0, and MAYBE, which becomes a term UNKNOWN.
 */
#ifndef GEMEL__RULES_FUNCTIONS_H
#define GEMEL__RULES_FUNCTIONS_H

#include "rules/term.h"

enum { GEMEL__MAYBE = -1 };

/* On the stack only: the place of a term that has no value. */
enum { GEMEL__TERM_NOTHING = 255 };

/* Lists get no longer than this. */
enum { GEMEL__TERM_LONGEST = 4096 };

typedef struct gemel__termcall {
  const gemel__scene *scene;
  gemel_context *context;
  const gemel__term *x; /* N operands */
  uint32_t n;
  gemel__term *result;
} gemel__termcall;

typedef struct gemel__function {
  const char *name;
  const char *kinds;
  char gives;
  const char *summary;
  gemel_status (*run)(gemel__termcall *call); /* NULL: there is a definition */
  const char *definition;
  unsigned char min, max;
  unsigned char infix; /* an operator */
} gemel__function;

enum {
#define FUNCTION(name, min, max, kinds, gives, summary) GEMEL__FUNCTION_##name,
#define DEFINED(name, count, kinds, gives, definition, summary) GEMEL__FUNCTION_##name,
#include "rules/functions.def"
#undef FUNCTION
#undef DEFINED
  GEMEL__FUNCTION_COUNT,
  GEMEL__LAST_FUNCTION = GEMEL__FUNCTION_COUNT - 1,
#define OPERATOR(name, min, max, kinds, gives, summary) GEMEL__OPERATOR_##name,
#include "rules/functions.def"
#undef OPERATOR
  GEMEL__ROW_COUNT
};

/* The rows: functions, then operators. */
extern const gemel__function gemel__function_rows[GEMEL__ROW_COUNT];

#define FUNCTION(name, min, max, kinds, gives, summary)                                            \
  gemel_status gemel__function_##name(gemel__termcall *call);
#define OPERATOR(name, min, max, kinds, gives, summary)                                            \
  gemel_status gemel__operator_##name(gemel__termcall *call);
#include "rules/functions.def"
#undef FUNCTION
#undef OPERATOR

/* 1 if X is a NUMBER or a LIST; all its entries integers; one integer. */
int gemel__has_entries(const gemel__term *x);
int gemel__has_integers(const gemel__term *x);
int gemel__is_integer(const gemel__term *x);

/* ---- Results ---- */

gemel_status gemel__give_number(gemel__termcall *call, int64_t value);
gemel_status gemel__give_entry(gemel__termcall *call, gemel__entry entry);
gemel_status gemel__give_truth(gemel__termcall *call, int truth);
gemel_status gemel__give_real(gemel__termcall *call, double value);
gemel_status gemel__give_dtype(gemel__termcall *call, gemel_dtype dtype);

/* A list of COUNT entries, which the caller fills in; GEMEL_DECLINED if that is too many. */
gemel_status gemel__give_list(gemel__termcall *call, size_t count, gemel__entry **list);

/* ---- Entries ---- */

static inline gemel__entry gemel__entry_int(int64_t value) {
  gemel__entry entry = {value, GEMEL_DIM_NONE};
  return entry;
}
gemel__entry gemel__entry_dim(gemel_context *context, gemel_dim dim);

/* The dim that ENTRY is; GEMEL_DIM_NONE when memory is out. */
gemel_dim gemel__dim_of_entry(gemel_context *context, gemel__entry entry);

typedef enum gemel__arithmetic {
  GEMEL__ADD,
  GEMEL__SUB,
  GEMEL__MUL,
  GEMEL__FLOORDIV,
  GEMEL__MOD,
  GEMEL__MIN,
  GEMEL__MAX
} gemel__arithmetic;

/* A op B. GEMEL_DECLINED on overflow and division by 0; GEMEL_NO_MEMORY, said in SCENE's error. */
gemel_status gemel__entry_combine(const gemel__scene *scene, gemel__arithmetic op, gemel__entry a,
                                  gemel__entry b, gemel__entry *result);

/* A == B, A < B: 1, 0 or MAYBE. */
int gemel__entry_equal(gemel_context *context, gemel__entry a, gemel__entry b);
int gemel__entry_less(gemel_context *context, gemel__entry a, gemel__entry b);

/* Not, and. */
static inline int gemel__truth_not(int truth) {
  return truth == GEMEL__MAYBE ? GEMEL__MAYBE : !truth;
}
static inline int gemel__truth_and(int a, int b) {
  return a == 0 || b == 0 ? 0 : a == 1 && b == 1 ? 1 : GEMEL__MAYBE;
}

#endif
