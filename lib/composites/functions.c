/* SPDX-License-Identifier: MIT
 *
 * The functions of the language of composites: what is known of a value's type, arithmetic of
 * numbers, sizes and lists, and the few builders that are written in C.
 */
#include <math.h>
#include <string.h>
#include <gemel/composite.h>
#include "composites/item.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/graph.h"
#include "core/value.h"
#include "ops/rule.h"

static int wrong(gemel__expansion *x, const char *name, const char *what) {
  return gemel__expansion_fail(x, GEMEL_BAD_TEXT, "%s takes %s", name, what);
}

static void set_integer(gemel__item *result, int64_t number) {
  result->kind = GEMEL__ITEM_INTEGER;
  result->u.integer = number;
}

static void set_bool(gemel__item *result, int truth) {
  result->kind = GEMEL__ITEM_BOOL;
  result->u.integer = truth != 0;
}

static void set_real(gemel__item *result, double number) {
  result->kind = GEMEL__ITEM_REAL;
  result->u.real = number;
}

/* ---- Arithmetic of what is known ---- */

static int sizes(gemel__expansion *x, int op, const gemel__item *a, const gemel__item *b,
                 gemel__item *result) {
  gemel_dim m, n;
  if (gemel__item_to_size(x, a, &m) != 0 || gemel__item_to_size(x, b, &n) != 0) {
    return -1;
  }
  switch (op) {
  case '+':
    return gemel__item_size(x, gemel_dim_add(x->context, m, n), result);
  case '-':
    return gemel__item_size(x, gemel_dim_sub(x->context, m, n), result);
  case '*':
    return gemel__item_size(x, gemel_dim_mul(x->context, m, n), result);
  case GEMEL__TOKEN_FLOORDIV:
    return gemel__item_size(x, gemel_dim_floordiv(x->context, m, n), result);
  case GEMEL__TOKEN_EQ:
    set_bool(result, gemel__dim_compare(x->context, m, n) == GEMEL__EQUAL);
    return 0;
  case GEMEL__TOKEN_NE:
    set_bool(result, gemel__dim_compare(x->context, m, n) != GEMEL__EQUAL);
    return 0;
  default:
    return gemel__expansion_fail(x, GEMEL_UNSUPPORTED, "a size must be known here");
  }
}

static int64_t floor_quotient(int64_t a, int64_t b) {
  int64_t q = b == -1 ? 0 - a : a / b;
  return b != -1 && a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

static int integers(gemel__expansion *x, int op, int64_t a, int64_t b, gemel__item *result) {
  int64_t r = 0;
  int bad = 0;
  switch (op) {
  case '+':
    bad = __builtin_add_overflow(a, b, &r);
    break;
  case '-':
    bad = __builtin_sub_overflow(a, b, &r);
    break;
  case '*':
    bad = __builtin_mul_overflow(a, b, &r);
    break;
  case GEMEL__TOKEN_FLOORDIV:
  case '%':
    bad = b == 0 || (a == INT64_MIN && b == -1);
    r = bad ? 0 : floor_quotient(a, b);
    r = op == '%' ? a - r * b : r;
    break;
  default:
    return -2; /* as reals */
  }
  set_integer(result, r);
  return bad ? gemel__expansion_fail(x, GEMEL_BAD_VALUE,
                                     "a number beyond 64 bits, or a quotient by 0")
             : 0;
}

static int reals(gemel__expansion *x, int op, double a, double b, gemel__item *result) {
  switch (op) {
  case '+':
    set_real(result, a + b);
    return 0;
  case '-':
    set_real(result, a - b);
    return 0;
  case '*':
    set_real(result, a * b);
    return 0;
  case '/':
    set_real(result, a / b);
    return 0;
  case GEMEL__TOKEN_FLOORDIV:
    set_real(result, floor(a / b));
    return 0;
  case '%':
    set_real(result, a - floor(a / b) * b);
    return 0;
  case '<':
    set_bool(result, a < b);
    return 0;
  case '>':
    set_bool(result, a > b);
    return 0;
  case GEMEL__TOKEN_LE:
    set_bool(result, a <= b);
    return 0;
  case GEMEL__TOKEN_GE:
    set_bool(result, a >= b);
    return 0;
  case GEMEL__TOKEN_EQ:
    set_bool(result, a == b);
    return 0;
  case GEMEL__TOKEN_NE:
    set_bool(result, a != b);
    return 0;
  case 'a':
    set_bool(result, a != 0 && b != 0);
    return 0;
  case 'o':
    set_bool(result, a != 0 || b != 0);
    return 0;
  default:
    return gemel__expansion_fail(x, GEMEL_BAD_TEXT, "no such operator of numbers");
  }
}

static int same_item(gemel__expansion *x, const gemel__item *a, const gemel__item *b) {
  gemel__item result;
  if (gemel__item_is_number(a) && gemel__item_is_number(b)) {
    return gemel__infix_known(x, GEMEL__TOKEN_EQ, a, b, &result) == 0 && result.u.integer;
  }
  if (a->kind != b->kind) {
    return 0;
  }
  switch (a->kind) {
  case GEMEL__ITEM_NONE:
    return 1;
  case GEMEL__ITEM_DTYPE:
    return a->u.dtype == b->u.dtype;
  case GEMEL__ITEM_TEXT:
    return strcmp(a->u.text, b->u.text) == 0;
  default:
    return 0;
  }
}

/* list + list, list * number */
static int lists(gemel__expansion *x, int op, const gemel__item *a, const gemel__item *b,
                 gemel__item *result) {
  size_t n = a->u.list.count, m, times = 1;
  if (op == '+' && b->kind == GEMEL__ITEM_LIST) {
    m = b->u.list.count;
  } else if (op == '*' && b->kind == GEMEL__ITEM_INTEGER && b->u.integer >= 0 &&
             b->u.integer <= 64) {
    times = (size_t)b->u.integer;
    m = 0;
  } else {
    return gemel__expansion_fail(x, GEMEL_BAD_TEXT,
                                 "lists are added, and multiplied by integers up to 64");
  }
  if (gemel__item_list(x, n * times + m, result) != 0) {
    return -1;
  }
  for (size_t k = 0; k < n * times; k++) {
    result->u.list.items[k] = a->u.list.items[k % n];
  }
  for (size_t k = 0; k < m; k++) {
    result->u.list.items[n * times + k] = b->u.list.items[k];
  }
  return 0;
}

int gemel__infix_known(gemel__expansion *x, int op, const gemel__item *a, const gemel__item *b,
                       gemel__item *result) {
  memset(result, 0, sizeof *result);
  if (a->kind == GEMEL__ITEM_LIST && (op == '+' || op == '*')) {
    return lists(x, op, a, b, result);
  }
  if (gemel__item_is_number(a) && gemel__item_is_number(b)) {
    if (a->kind == GEMEL__ITEM_SIZE || b->kind == GEMEL__ITEM_SIZE) {
      return sizes(x, op, a, b, result);
    }
    int status = a->kind == GEMEL__ITEM_INTEGER && b->kind == GEMEL__ITEM_INTEGER
                     ? integers(x, op, a->u.integer, b->u.integer, result)
                     : -2;
    return status != -2 ? status : reals(x, op, gemel__item_real(a), gemel__item_real(b), result);
  }
  if (op == GEMEL__TOKEN_EQ || op == GEMEL__TOKEN_NE) {
    set_bool(result, same_item(x, a, b) == (op == GEMEL__TOKEN_EQ));
    return 0;
  }
  return gemel__expansion_fail(x, GEMEL_BAD_TEXT, "no such operator of %s and %s",
                               gemel__item_name(a), gemel__item_name(b));
}

/* ---- Of values ---- */

static int shape(gemel__expansion *x, const gemel__item *a, gemel__item *result) {
  int rank;
  const gemel_dim *dims = gemel__value_dims(a->u.value, &rank);
  int status = gemel__item_list(x, (size_t)rank, result);
  for (int k = 0; k < rank && status == 0; k++) {
    status = gemel__item_size(x, dims[k], &result->u.list.items[k]);
  }
  return status;
}

/* axis(k, n): K counted from the front of N axes. */
static int axis(gemel__expansion *x, const gemel__item *items, gemel__item *result) {
  int64_t k = items[0].u.integer, n = items[1].u.integer;
  if (items[0].kind != GEMEL__ITEM_INTEGER || items[1].kind != GEMEL__ITEM_INTEGER) {
    return wrong(x, "axis", "two integers");
  }
  if (k < -n || k >= n) {
    return gemel__expansion_fail(x, GEMEL_BAD_SHAPE, "axis %lld is out of range for rank %lld",
                                 (long long)k, (long long)n);
  }
  set_integer(result, k < 0 ? k + n : k);
  return 0;
}

/* range(n), range(from, to) */
static int range(gemel__expansion *x, size_t n, const gemel__item *items, gemel__item *result) {
  int64_t from = n == 1 ? 0 : items[0].u.integer, to = items[n - 1].u.integer;
  if (items[0].kind != GEMEL__ITEM_INTEGER || items[n - 1].kind != GEMEL__ITEM_INTEGER) {
    return wrong(x, "range", "integers that are known");
  }
  if (gemel__item_list(x, to > from ? (size_t)((uint64_t)to - (uint64_t)from) : 0, result) != 0) {
    return -1;
  }
  for (size_t k = 0; k < result->u.list.count; k++) {
    set_integer(&result->u.list.items[k], from + (int64_t)k);
  }
  return 0;
}

/* product(list): of numbers and sizes. */
static int product(gemel__expansion *x, const gemel__item *list, gemel__item *result) {
  gemel__item so_far;
  set_integer(&so_far, 1);
  for (size_t k = 0; k < list->u.list.count; k++) {
    if (gemel__infix_known(x, '*', &so_far, &list->u.list.items[k], result) != 0) {
      return -1;
    }
    so_far = *result;
  }
  *result = so_far;
  return 0;
}

/* The larger, or smaller, of two numbers or sizes. */
static int extreme(gemel__expansion *x, int largest, const gemel__item *a, const gemel__item *b,
                   gemel__item *result) {
  if (a->kind == GEMEL__ITEM_SIZE || b->kind == GEMEL__ITEM_SIZE) {
    gemel_dim m, n;
    if (gemel__item_to_size(x, a, &m) != 0 || gemel__item_to_size(x, b, &n) != 0) {
      return -1;
    }
    return gemel__item_size(
        x, largest ? gemel_dim_max(x->context, m, n) : gemel_dim_min(x->context, m, n), result);
  }
  *result = (gemel__item_real(a) > gemel__item_real(b)) == largest ? *a : *b;
  return 0;
}

static int kind_is(const gemel__item *item, gemel_kind kind) {
  gemel_dtype dtype =
      item->kind == GEMEL__ITEM_VALUE ? gemel__value_dtype(item->u.value) : item->u.dtype;
  return gemel_dtype_kind(dtype) == kind;
}

static gemel_dtype item_dtype(const gemel__item *item) {
  return item->kind == GEMEL__ITEM_VALUE ? gemel__value_dtype(item->u.value) : item->u.dtype;
}

enum known {
  KNOWN_AXIS,
  KNOWN_BYTES,
  KNOWN_DTYPE,
  KNOWN_GIVEN,
  KNOWN_IS_BOOL,
  KNOWN_IS_FLOAT,
  KNOWN_IS_KNOWN,
  KNOWN_LENGTH,
  KNOWN_PRODUCT,
  KNOWN_PROMOTE,
  KNOWN_RANGE,
  KNOWN_RANK,
  KNOWN_SHAPE
};

/* What each takes: v a value, d a dtype or a value, l a list, i and anything else: . */
static const struct {
  const char *name;
  enum known known;
  const char *takes;
  size_t least;
} functions[] = {{"axis", KNOWN_AXIS, "..", 2},        {"bytes", KNOWN_BYTES, "d", 1},
                 {"dtype", KNOWN_DTYPE, "d", 1},       {"given", KNOWN_GIVEN, ".", 1},
                 {"is_bool", KNOWN_IS_BOOL, "d", 1},   {"is_float", KNOWN_IS_FLOAT, "d", 1},
                 {"is_known", KNOWN_IS_KNOWN, ".", 1}, {"length", KNOWN_LENGTH, "l", 1},
                 {"product", KNOWN_PRODUCT, "l", 1},   {"promote", KNOWN_PROMOTE, "dd", 2},
                 {"range", KNOWN_RANGE, "..", 1},      {"rank", KNOWN_RANK, "v", 1},
                 {"shape", KNOWN_SHAPE, "v", 1}};

static int known(gemel__expansion *x, enum known which, size_t n, const gemel__item *items,
                 gemel__item *result) {
  int rank;
  switch (which) {
  case KNOWN_AXIS:
    return axis(x, items, result);
  case KNOWN_BYTES:
    set_integer(result, (int64_t)gemel_dtype_size(item_dtype(&items[0])));
    return 0;
  case KNOWN_DTYPE:
    result->kind = GEMEL__ITEM_DTYPE;
    result->u.dtype = item_dtype(&items[0]);
    return 0;
  case KNOWN_GIVEN:
    set_bool(result, items[0].kind != GEMEL__ITEM_NONE);
    return 0;
  case KNOWN_IS_BOOL:
    set_bool(result, kind_is(&items[0], GEMEL_KIND_BOOL));
    return 0;
  case KNOWN_IS_FLOAT:
    set_bool(result, kind_is(&items[0], GEMEL_KIND_FLOAT));
    return 0;
  case KNOWN_IS_KNOWN:
    set_bool(result, items[0].kind != GEMEL__ITEM_SIZE && items[0].kind != GEMEL__ITEM_VALUE);
    return 0;
  case KNOWN_LENGTH:
    set_integer(result, (int64_t)items[0].u.list.count);
    return 0;
  case KNOWN_PRODUCT:
    return product(x, &items[0], result);
  case KNOWN_PROMOTE:
    result->kind = GEMEL__ITEM_DTYPE;
    result->u.dtype = gemel_promote(item_dtype(&items[0]), item_dtype(&items[1]));
    return 0;
  case KNOWN_RANGE:
    return range(x, n, items, result);
  case KNOWN_RANK:
    gemel__value_dims(items[0].u.value, &rank);
    set_integer(result, rank);
    return 0;
  case KNOWN_SHAPE:
    return shape(x, &items[0], result);
  }
  return -1;
}

static int fits(char takes, const gemel__item *item) {
  return takes == '.' || (takes == 'v' && item->kind == GEMEL__ITEM_VALUE) ||
         (takes == 'l' && item->kind == GEMEL__ITEM_LIST) ||
         (takes == 'd' && (item->kind == GEMEL__ITEM_VALUE || item->kind == GEMEL__ITEM_DTYPE));
}

/* ---- Functions of numbers ---- */

/* sqrt, exp and log of a number, and the larger and smaller of two: operations otherwise. 1: NAME
 * isn't one of them, or an argument is a value. */
static int of_numbers(gemel__expansion *x, const char *name, size_t n, const gemel__item *items,
                      gemel__item *result) {
  static const struct {
    const char *name;
    double (*function)(double x);
  } reals_of[] = {{"sqrt", sqrt}, {"exp", exp}, {"log", log}};
  for (size_t k = 0; k < n; k++) {
    if (!gemel__item_is_number(&items[k])) {
      return 1;
    }
  }
  if (n == 2 && (strcmp(name, "maximum") == 0 || strcmp(name, "minimum") == 0)) {
    return extreme(x, name[1] == 'a', &items[0], &items[1], result);
  }
  for (size_t k = 0; n == 1 && k < sizeof reals_of / sizeof *reals_of; k++) {
    if (strcmp(reals_of[k].name, name) == 0 && items[0].kind != GEMEL__ITEM_SIZE) {
      set_real(result, reals_of[k].function(gemel__item_real(&items[0])));
      return 0;
    }
  }
  return 1;
}

/* ---- Builders in C ---- */

/* matmul(x, y); slice(x, axis, start, stop) and index(x, axis, k), of known bounds. */
static int built(gemel__expansion *x, const char *name, size_t n, const gemel__item *items,
                 gemel__item *result) {
  gemel_value values[2] = {gemel__no_value, gemel__no_value}, model = gemel__item_model(items, n);
  int product_of = strcmp(name, "matmul") == 0 && n == 2;
  int part = strcmp(name, "slice") == 0 && n == 4, one = strcmp(name, "index") == 0 && n == 3;
  if (!product_of && !part && !one) {
    return 1;
  }
  for (size_t k = 0; k < (product_of ? 2 : 1); k++) {
    if (gemel__item_to_value(x, &items[k], model, &values[k]) != 0) {
      return -1;
    }
  }
  for (size_t k = 1; !product_of && k < n; k++) {
    if (items[k].kind != GEMEL__ITEM_INTEGER) {
      return wrong(x, name, "integers that are known");
    }
  }
  result->kind = GEMEL__ITEM_VALUE;
  result->u.value =
      product_of ? gemel_matmul_at(values[0], values[1], x->where)
      : part ? gemel_slice_at(values[0], items[1].u.integer, items[2].u.integer, items[3].u.integer,
                              x->where)
             : gemel_index_at(values[0], items[1].u.integer, items[2].u.integer, x->where);
  return gemel_is_null(result->u.value) ? -1 : 0;
}

int gemel__function_call(gemel__expansion *x, const char *name, size_t n, const gemel__item *items,
                         const char *const *labels, gemel__item *result) {
  for (size_t k = 0; k < n; k++) {
    if (labels[k] != NULL) {
      return 1;
    }
  }
  for (size_t k = 0; k < sizeof functions / sizeof *functions; k++) {
    if (strcmp(functions[k].name, name) == 0) {
      const char *takes = functions[k].takes;
      int good = n >= functions[k].least && n <= strlen(takes);
      for (size_t i = 0; i < n && good; i++) {
        good = fits(takes[i], &items[i]);
      }
      return good ? known(x, functions[k].known, n, items, result)
                  : wrong(x, name, "other arguments");
    }
  }
  int status = of_numbers(x, name, n, items, result);
  return status == 1 ? built(x, name, n, items, result) : status;
}
