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

/* The value of X's dtype that no other is below, or above: an infinity of floats. */
static int end_of(gemel__expansion *x, gemel_value like, int highest, gemel__item *result) {
  gemel_dtype dtype = gemel__value_dtype(like);
  gemel_kind kind = gemel_dtype_kind(dtype);
  double bits = 8 * (double)gemel_dtype_size(dtype);
  double least = kind == GEMEL_KIND_FLOAT    ? -HUGE_VAL
                 : kind == GEMEL_KIND_SIGNED ? -exp2(bits - 1)
                                             : 0;
  result->kind = GEMEL__ITEM_VALUE;
  if (kind == GEMEL_KIND_FLOAT || kind == GEMEL_KIND_BOOL || !highest) {
    double end = highest ? kind == GEMEL_KIND_BOOL ? 1 : -least : least;
    result->u.value = gemel_scalar_like_at(like, end, x->where);
  } else { /* -1 - least, since a double doesn't hold the largest of 64 bits */
    gemel_value below = gemel_scalar_like_at(like, least, x->where);
    gemel_value one = gemel_scalar_like_at(like, 1, x->where);
    result->u.value = gemel_sub_at(gemel_neg_at(below, x->where), one, x->where);
  }
  return gemel_is_null(result->u.value) ? -1 : 0;
}

/* partial(x): x, whose node's result ONNX leaves open for some operands. */
static int partial(gemel__expansion *x, gemel_value value, gemel__item *result) {
  result->kind = GEMEL__ITEM_VALUE;
  result->u.value = value;
  if (value.graph != x->graph) {
    return gemel__expansion_fail(x, GEMEL_BAD_ARGUMENT, "partial of a value of another graph");
  }
  return gemel__mark_partial(x->graph, value.node) == 0 ? 0 : gemel__expansion_no_memory(x);
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
  KNOWN_HIGHEST,
  KNOWN_IS_BOOL,
  KNOWN_IS_FLOAT,
  KNOWN_IS_KNOWN,
  KNOWN_LENGTH,
  KNOWN_LOWEST,
  KNOWN_PARTIAL,
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
                 {"highest", KNOWN_HIGHEST, "v", 1},   {"lowest", KNOWN_LOWEST, "v", 1},
                 {"partial", KNOWN_PARTIAL, "v", 1},   {"is_bool", KNOWN_IS_BOOL, "d", 1},
                 {"is_float", KNOWN_IS_FLOAT, "d", 1}, {"is_known", KNOWN_IS_KNOWN, ".", 1},
                 {"length", KNOWN_LENGTH, "l", 1},     {"product", KNOWN_PRODUCT, "l", 1},
                 {"promote", KNOWN_PROMOTE, "dd", 2},  {"range", KNOWN_RANGE, "..", 1},
                 {"rank", KNOWN_RANK, "v", 1},         {"shape", KNOWN_SHAPE, "v", 1}};

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
  case KNOWN_HIGHEST:
  case KNOWN_LOWEST:
    return end_of(x, items[0].u.value, which == KNOWN_HIGHEST, result);
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
  case KNOWN_PARTIAL:
    return partial(x, items[0].u.value, result);
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

/* The operands and integers of a call of a builder, in their order. */
typedef struct builder_arguments {
  gemel_value values[2];
  int64_t integers[3];
  const char *text;
  size_t n_list;
  gemel_value *list;
} builder_arguments;

enum composite_builder {
  BUILD_EINSUM,
  BUILD_EXPAND_DIMS,
  BUILD_INDEX,
  BUILD_MATMUL,
  BUILD_SLICE,
  BUILD_SQUEEZE,
  BUILD_STACK,
  BUILD_SWAPAXES,
  BUILD_TRANSPOSE
};

/* What each takes: v a value, i an integer that is known, t a text, l a list of values. */
static const struct {
  const char *name;
  enum composite_builder builder;
  const char *takes;
} builders[] = {{"einsum", BUILD_EINSUM, "tl"},     {"expand_dims", BUILD_EXPAND_DIMS, "vi"},
                {"index", BUILD_INDEX, "vii"},      {"matmul", BUILD_MATMUL, "vv"},
                {"slice", BUILD_SLICE, "viii"},     {"squeeze", BUILD_SQUEEZE, "vi"},
                {"stack", BUILD_STACK, "li"},       {"swapaxes", BUILD_SWAPAXES, "vii"},
                {"transpose", BUILD_TRANSPOSE, "v"}};

static gemel_value build(enum composite_builder which, const builder_arguments *a,
                         gemel_location where) {
  switch (which) {
  case BUILD_EINSUM:
    return gemel_einsum_at(a->text, a->n_list, a->list, where);
  case BUILD_EXPAND_DIMS:
    return gemel_expand_dims_at(a->values[0], a->integers[0], where);
  case BUILD_INDEX:
    return gemel_index_at(a->values[0], a->integers[0], a->integers[1], where);
  case BUILD_MATMUL:
    return gemel_matmul_at(a->values[0], a->values[1], where);
  case BUILD_SLICE:
    return gemel_slice_at(a->values[0], a->integers[0], a->integers[1], a->integers[2], where);
  case BUILD_SQUEEZE:
    return gemel_squeeze_at(a->values[0], a->integers[0], where);
  case BUILD_STACK:
    return gemel_stack_at(a->n_list, a->list, a->integers[0], where);
  case BUILD_SWAPAXES:
    return gemel_swapaxes_at(a->values[0], a->integers[0], a->integers[1], where);
  case BUILD_TRANSPOSE:
    return gemel_transpose_at(a->values[0], where);
  }
  return gemel__no_value;
}

/* The items of a list as values. */
static int read_list(gemel__expansion *x, const char *name, const gemel__item *item,
                     builder_arguments *a) {
  if (item->kind != GEMEL__ITEM_LIST) {
    return wrong(x, name, "a list of values");
  }
  a->n_list = item->u.list.count;
  if (a->n_list == 0) {
    return wrong(x, name, "one value at least");
  }
  a->list = gemel__arena_alloc(&x->arena, (a->n_list + 1) * sizeof *a->list);
  if (a->list == NULL) {
    return gemel__expansion_no_memory(x);
  }
  gemel_value model = gemel__item_model(item->u.list.items, a->n_list);
  for (size_t k = 0; k < a->n_list; k++) {
    if (gemel__item_to_value(x, &item->u.list.items[k], model, &a->list[k]) != 0) {
      return -1;
    }
  }
  return 0;
}

static int read_builder(gemel__expansion *x, const char *name, const char *takes, size_t n,
                        const gemel__item *items, builder_arguments *a) {
  gemel_value model = gemel__item_model(items, n);
  size_t n_values = 0, n_integers = 0;
  for (size_t k = 0; k < n; k++) {
    if (takes[k] == 'v' && gemel__item_to_value(x, &items[k], model, &a->values[n_values++]) != 0) {
      return -1;
    }
    if (takes[k] == 'l' && read_list(x, name, &items[k], a) != 0) {
      return -1;
    }
    if (takes[k] == 'i' && items[k].kind != GEMEL__ITEM_INTEGER) {
      return wrong(x, name, "integers that are known");
    }
    if (takes[k] == 'i') {
      a->integers[n_integers++] = items[k].u.integer;
    }
    if (takes[k] == 't' && items[k].kind != GEMEL__ITEM_TEXT) {
      return wrong(x, name, "a text");
    }
    a->text = takes[k] == 't' ? items[k].u.text : a->text;
  }
  return 0;
}

/* A builder of <gemel/composite.h>. 1: there is none called NAME that takes so many. */
static int built(gemel__expansion *x, const char *name, size_t n, const gemel__item *items,
                 gemel__item *result) {
  size_t k = 0, count = sizeof builders / sizeof *builders;
  while (k < count && (strcmp(builders[k].name, name) != 0 || n != strlen(builders[k].takes))) {
    k++;
  }
  if (k == count) {
    return 1;
  }
  builder_arguments a = {.text = ""};
  if (read_builder(x, name, builders[k].takes, n, items, &a) != 0) {
    return -1;
  }
  result->kind = GEMEL__ITEM_VALUE;
  result->u.value = build(builders[k].builder, &a, x->where);
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
