/* SPDX-License-Identifier: MIT
 *
 * Questions that an example answers: numbers for the symbols, for which all that is known holds and
 * the goal doesn't. A few are tried before the solver is asked, which takes much longer. What calls
 * give, and elements, have no value here, so that a truth may be neither.
 */
#include <string.h>
#include "core/alloc.h"
#include "unbounded/ask.h"

enum { EXAMPLES = 4 };

/* The value of a term, if IS; of a truth 0 or 1. */
typedef struct value {
  unsigned char wanted, is;
  int64_t is_number;
} value;

/* Symbols with new names are indices, mostly; the others sizes, starts and steps. */
static int64_t symbol_value(const gemel__pterm_node *n, gemel__pterm a, int example) {
  int index = strchr(n->name, '!') != NULL;
  switch (example) {
  case 0:
    return !index;
  case 1:
    return index ? 0 : 2 + (int64_t)a;
  case 2:
    return index ? 1 : 2;
  default:
    return 0;
  }
}

static void set(value *v, int64_t number) {
  v->is = 1;
  v->is_number = number;
}

/* The sum, product ... of operands; without a value if one is too large or has none. */
static void evaluate_integer(const gemel__pterms *t, const gemel__pterm_node *n, value *values,
                             value *v) {
  int is_sum = n->kind == GEMEL__P_SUM;
  int64_t total = is_sum ? n->value : 1;
  for (uint32_t k = 0; k < n->count; k++) {
    const value *operand = &values[t->operands[n->first + k]];
    int64_t term;
    if (!operand->is || (is_sum ? __builtin_mul_overflow(operand->is_number,
                                                         t->coefficients[n->first + k], &term) ||
                                      __builtin_add_overflow(total, term, &total)
                                : __builtin_mul_overflow(total, operand->is_number, &total))) {
      return;
    }
  }
  set(v, total);
}

static void evaluate_quotient(const gemel__pterm_node *n, const value *a, const value *b,
                              value *v) {
  if (a->is && b->is && b->is_number > 0) {
    int64_t rest = a->is_number % b->is_number;
    rest += rest < 0 ? b->is_number : 0;
    set(v, n->kind == GEMEL__P_REMAINDER ? rest : (a->is_number - rest) / b->is_number);
  }
}

/* `and` is 0 by one operand, `or` is 1. */
static void evaluate_joined(const gemel__pterms *t, const gemel__pterm_node *n, value *values,
                            value *v) {
  int is_or = n->kind == GEMEL__P_OR, all = 1;
  for (uint32_t k = 0; k < n->count; k++) {
    const value *operand = &values[t->operands[n->first + k]];
    all &= operand->is;
    if (operand->is && (operand->is_number != 0) == is_or) {
      set(v, is_or);
      return;
    }
  }
  if (all) {
    set(v, !is_or);
  }
}

static void evaluate(const gemel__pterms *t, gemel__pterm a, value *values, int example) {
  const gemel__pterm_node *n = &t->nodes[a];
  value *v = &values[a], *first = n->count > 0 ? &values[t->operands[n->first]] : v;
  switch (n->kind) {
  case GEMEL__P_NUMBER:
  case GEMEL__P_TRUTH:
    set(v, n->value);
    break;
  case GEMEL__P_SYMBOL:
    if (v->is) {
      break;
    }
    if (n->sort == GEMEL__PSORT_INTEGER) {
      set(v, symbol_value(n, a, example));
    } else if (n->sort == GEMEL__PSORT_TRUTH) {
      set(v, example & 1);
    }
    break;
  case GEMEL__P_SUM:
  case GEMEL__P_PRODUCT:
    evaluate_integer(t, n, values, v);
    break;
  case GEMEL__P_DIVIDED:
  case GEMEL__P_REMAINDER:
    evaluate_quotient(n, first, &values[t->operands[n->first + 1]], v);
    break;
  case GEMEL__P_CHOICE:
    if (first->is) {
      *v = values[t->operands[n->first + (first->is_number ? 1 : 2)]];
      v->wanted = 1;
    }
    break;
  case GEMEL__P_ZERO:
  case GEMEL__P_NATURAL:
  case GEMEL__P_NOT:
    if (first->is) {
      set(v, n->kind == GEMEL__P_NATURAL ? first->is_number >= 0 : first->is_number == 0);
    }
    break;
  case GEMEL__P_AND:
  case GEMEL__P_OR:
    evaluate_joined(t, n, values, v);
    break;
  default:
    break;
  }
}

/* 1 if in EXAMPLE all that is known holds and GOAL doesn't. */
static int contradicts(const gemel__pterms *t, const gemel__pterm *known, size_t count,
                       gemel__pterm goal, value *values, int example) {
  for (gemel__pterm k = 1; k < t->count; k++) {
    values[k].is = 0;
    if (values[k].wanted) {
      evaluate(t, k, values, example);
    }
  }
  int holds = values[goal].is && !values[goal].is_number;
  for (size_t k = 0; k < count && holds; k++) {
    holds = values[known[k]].is && values[known[k]].is_number;
  }
  return holds;
}

/* Room for the values of ASK's terms, of which TERMS and what they are made of are wanted. NULL:
 * memory is out. */
static value *new_values(gemel__ask *ask, const gemel__pterm *terms, size_t count) {
  const gemel__pterms *t = ask->terms;
  value *values = gemel__alloc_zeroed(t->count * sizeof *values);
  if (values == NULL) {
    ask->no_memory = 1;
    return NULL;
  }
  for (size_t k = 0; k < count; k++) {
    values[terms[k]].wanted = 1;
  }
  return values;
}

static void want_operands(const gemel__pterms *t, value *values) {
  for (gemel__pterm k = (gemel__pterm)t->count - 1; k > 0; k--) {
    for (uint32_t i = 0; values[k].wanted && i < t->nodes[k].count; i++) {
      values[gemel__p_operand(t, k, i)].wanted = 1;
    }
  }
}

static void take_model(gemel__pmodel *model, const value *values) {
  model->is = model->count <= GEMEL__PMODEL;
  for (uint32_t k = 0; k < model->count && model->is; k++) {
    model->numbers[k] = values[model->symbols[k]].is_number;
  }
}

int gemel__ask_example(gemel__ask *ask, const gemel__pterm *known, size_t count,
                       gemel__pterm goal) {
  const gemel__pterms *t = ask->terms;
  value *values = new_values(ask, known, count);
  int found = 0;
  if (values == NULL) {
    return 0;
  }
  values[goal].wanted = 1;
  want_operands(t, values);
  for (int example = 0; example < EXAMPLES && !found; example++) {
    found = contradicts(t, known, count, goal, values, example);
  }
  if (found && ask->wants_model) {
    take_model(&ask->model, values);
  }
  gemel__free(values, t->count * sizeof *values);
  return found;
}

void gemel__ask_numbers(gemel__ask *ask, size_t count, const gemel__pterm *terms, int64_t *numbers,
                        unsigned char *has) {
  const gemel__pterms *t = ask->terms;
  value *values = new_values(ask, terms, count);
  memset(has, 0, count);
  if (values == NULL) {
    return;
  }
  want_operands(t, values);
  for (uint32_t k = 0; k < ask->model.count; k++) {
    set(&values[ask->model.symbols[k]], ask->model.numbers[k]);
  }
  for (gemel__pterm k = 1; k < t->count; k++) {
    if (values[k].wanted) {
      evaluate(t, k, values, 0);
    }
  }
  for (size_t k = 0; k < count; k++) {
    has[k] = values[terms[k]].is;
    numbers[k] = values[terms[k]].is_number;
  }
  gemel__free(values, t->count * sizeof *values);
}
