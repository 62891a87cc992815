/* SPDX-License-Identifier: MIT
 *
 * Draws the numbers of a survey (survey.h) and makes instances of them. They are drawn as ordinals
 * (sample/ordinal.h), in which a binade is a range of integers.
 */
#include <stdio.h>
#include <string.h>
#include "core/alloc.h"
#include "core/dtype.h"
#include "core/error.h"
#include "ops/ops.h"
#include "sample/ordinal.h"
#include "operations/survey.h"

enum {
  PARTS = 64,       /* numbers of each binade */
  ROUND = 4,        /* more of each binade, some of them round */
  FAR_PARTS = 16,   /* in place of PARTS, of a binade beyond 2^±NEAR: f64 has many of these */
  NEAR = 64,        /* exponents */
  CELLS = 64,       /* pairs come from CELLS × CELLS parts of all binades */
  NEIGHBOURS = 6,   /* for each binade, pairs whose exponents are near each other */
  RELATED = 1024,   /* pairs of each kind of relation */
  TRIPLES = 12000,  /* for operations of three operands */
  INTEGERS = 6000,  /* tuples of integers */
  ALL_PAIRS = 8192, /* pairs, of the 65,536 of an 8-bit type */
  LANDMARKS = 200
};

static int width_of(gemel_dtype dtype) {
  return dtype == GEMEL_BOOL ? 1 : 8 * (int)gemel_dtype_size(dtype);
}

size_t gemel__survey_share(const gemel__survey *s, size_t n) {
  size_t share = s->density >= GEMEL__SURVEY_FULL
                     ? n
                     : (n * s->density + GEMEL__SURVEY_FULL - 1) / GEMEL__SURVEY_FULL;
  return share > 0 ? share : 1;
}

gemel_status gemel__survey_add(gemel__survey *s, const uint64_t *bits, gemel_error *error) {
  for (int k = 0; k < s->n_inputs; k++) {
    if (gemel__grow(&s->bits[k], &s->capacity[k], s->count + 1, sizeof *s->bits[k]) != 0) {
      return gemel__no_memory(error, "values");
    }
    s->bits[k][s->count] = bits[k];
  }
  s->count++;
  return GEMEL_OK;
}

void gemel__survey_clear(gemel__survey *s) {
  for (int k = 0; k < GEMEL__SURVEY_OPERANDS; k++) {
    gemel__free(s->bits[k], s->capacity[k] * sizeof *s->bits[k]);
    s->bits[k] = NULL;
    s->capacity[k] = 0;
  }
  s->count = 0;
}

/* ---- Numbers ---- */

static uint64_t mask_of(gemel_dtype dtype) {
  return UINT64_MAX >> (64 - width_of(dtype));
}

/* X with its highest P + 1 bits kept, the last of these set, and all lower bits cleared: half way
 * between two numbers of P digits. Sometimes one more or one less. */
static uint64_t make_tie(gemel__random *random, uint64_t x) {
  static const gemel_dtype floats[] = {GEMEL_BF16, GEMEL_F16, GEMEL_F32, GEMEL_F64};
  int p = gemel__dtype_format(floats[gemel__random_below(random, 4)])->digits, width = 1;
  while (width < 64 && x >> width != 0) {
    width++;
  }
  if (width <= p + 1) {
    return x;
  }
  x = (x >> (width - p - 1) | 1) << (width - p - 1);
  return x + gemel__random_below(random, 3) - 1;
}

/* An integer of a random width. Some end in a run of zeros or ones, so powers of two and their
 * neighbours come up; some are half way between two floats, or beside that. */
static uint64_t integer_number(gemel__random *random, gemel_dtype dtype) {
  int width = width_of(dtype), tail;
  uint64_t x = gemel__random_bits(random) >> gemel__random_below(random, 64);
  tail = (int)gemel__random_below(random, (uint64_t)width);
  switch (gemel__random_below(random, 5)) {
  case 0:
    x &= ~(uint64_t)0 << tail;
    break;
  case 1:
    x |= ((uint64_t)1 << tail) - 1;
    break;
  case 2:
    x = (x & ~(uint64_t)0 << tail) + gemel__random_below(random, 5) - 2;
    break;
  case 3:
    x = make_tie(random, x);
    break;
  default:
    break;
  }
  x = gemel__random_chance(random, 1, 2) ? x : (uint64_t)0 - x;
  return x & mask_of(dtype);
}

/* A number of binade K. Binades of negative numbers are counted first, then those of positive ones.
 * Some numbers are round, so that products and quotients are exact; some are half way between
 * numbers of a narrower dtype. */
static uint64_t of_binade(gemel__random *random, gemel_dtype dtype, int k) {
  int n = gemel__ordinal_binades(dtype), negative = k < n;
  int64_t first, count = gemel__ordinal_binade(dtype, negative ? k : k - n, &first);
  int64_t at = (int64_t)gemel__random_below(random, (uint64_t)count);
  switch (gemel__random_below(random, 8)) {
  case 0:
  case 1:
    at &= (int64_t)(~(uint64_t)0 << gemel__random_below(random, 52));
    break;
  case 2: /* in a binade of 2^p numbers, AT is the significand without its leading 1 */
    at = (int64_t)(make_tie(random, (uint64_t)(count + at)) - (uint64_t)count);
    break;
  default:
    break;
  }
  at = at < 0 ? 0 : at >= count ? count - 1 : at;
  return gemel__ordinal_bits(dtype, negative ? -first - at : first + at);
}

uint64_t gemel__survey_number(gemel__survey *s, int operand) {
  gemel_dtype dtype = s->dtypes[operand];
  if (!gemel__is_float(dtype)) {
    return integer_number(s->random, dtype);
  }
  return of_binade(
      s->random, dtype,
      (int)gemel__random_below(s->random, 2 * (uint64_t)gemel__ordinal_binades(dtype)));
}

/* ---- Landmarks ---- */

struct landmark_list {
  uint64_t bits[LANDMARKS];
  size_t count;
};

static void note(struct landmark_list *l, uint64_t bits) {
  if (l->count < LANDMARKS) {
    l->bits[l->count++] = bits;
  }
}

/* X, −X and the numbers beside them. */
static void note_around(struct landmark_list *l, gemel_dtype dtype, double x) {
  int64_t at = gemel__ordinal_of(dtype, gemel__ordinal_nearest(dtype, x));
  for (int64_t by = -1; by <= 1; by++) {
    note(l, gemel__ordinal_bits(dtype, at + by));
    note(l, gemel__ordinal_bits(dtype, -at - by));
  }
}

static void float_landmarks(struct landmark_list *l, gemel_dtype dtype) {
  static const double plain[] = {1, 0.5, 2, 3, 10, 0x1p31, 0x1p32, 0x1p63, 0x1p64};
  int fraction = gemel__ordinal_fraction(dtype);
  int64_t infinity = gemel__ordinal_infinity(dtype), least = (int64_t)1 << fraction;
  uint64_t sign = gemel__ordinal_bits(dtype, -1) ^ 1;
  note(l, 0);
  note(l, sign);
  note(l, (uint64_t)infinity);
  note(l, sign | (uint64_t)infinity);
  note(l, (uint64_t)infinity | (uint64_t)1 << (fraction - 1)); /* a NaN */
  note(l, 1);
  note(l, sign | 1);
  note(l, (uint64_t)infinity - 1);
  note(l, sign | ((uint64_t)infinity - 1));
  note_around(l, dtype, gemel__ordinal_value(dtype, (uint64_t)least));
  note_around(l, dtype, gemel__ordinal_value(dtype, (uint64_t)(infinity - least)));
  for (size_t k = 0; k < sizeof plain / sizeof *plain; k++) {
    note_around(l, dtype, plain[k]);
  }
  note_around(l, dtype, (double)((int64_t)2 << fraction)); /* integers end here */
  note_around(l, dtype, (double)((int64_t)1 << fraction)); /* halves end here */
}

static void integer_landmarks(gemel__random *random, struct landmark_list *l, gemel_dtype dtype) {
  uint64_t mask = mask_of(dtype), top = (mask >> 1) + 1;
  for (int k = -3; k <= 3; k++) {
    note(l, (uint64_t)(int64_t)k & mask);
    note(l, (top + (uint64_t)(int64_t)k) & mask);
  }
  for (int k = 0; k < 48 && width_of(dtype) > 1; k++) {
    uint64_t power = (uint64_t)1 << gemel__random_below(random, (uint64_t)width_of(dtype));
    uint64_t x = power + gemel__random_below(random, 3) - 1;
    note(l, (gemel__random_chance(random, 1, 2) ? x : (uint64_t)0 - x) & mask);
  }
}

static void landmarks(gemel__survey *s, int operand, struct landmark_list *l) {
  l->count = 0;
  if (gemel__is_float(s->dtypes[operand])) {
    float_landmarks(l, s->dtypes[operand]);
  } else {
    integer_landmarks(s->random, l, s->dtypes[operand]);
  }
}

/* ---- One operand ---- */

/* Every number of the dtype; at a lower density every n-th. */
static gemel_status draw_all(gemel__survey *s, gemel_error *error) {
  uint64_t total = mask_of(s->dtypes[0]) + 1, k;
  uint64_t step = total / gemel__survey_share(s, (size_t)total);
  gemel_status status = GEMEL_OK;
  for (k = gemel__random_below(s->random, step); k < total && status == GEMEL_OK; k += step) {
    status = gemel__survey_add(s, &k, error);
  }
  return status;
}

/* A few random numbers of binade K, some of them round. */
static gemel_status draw_round(gemel__survey *s, int k, int negative, gemel_error *error) {
  size_t n = gemel__survey_share(s, ROUND);
  gemel_status status = GEMEL_OK;
  for (; n > 0 && status == GEMEL_OK; n--) {
    uint64_t bits =
        of_binade(s->random, s->dtypes[0], negative ? k : k + gemel__ordinal_binades(s->dtypes[0]));
    status = gemel__survey_add(s, &bits, error);
  }
  return status;
}

/* Of binade K: a random number of each of PARTS parts, both ends, and a few round numbers. */
static gemel_status draw_binade(gemel__survey *s, int k, int negative, gemel_error *error) {
  gemel_dtype dtype = s->dtypes[0];
  int exponent = gemel__ordinal_exponent(dtype, k);
  int64_t first, count = gemel__ordinal_binade(dtype, k, &first);
  int64_t parts =
      (int64_t)gemel__survey_share(s, exponent < -NEAR || exponent > NEAR ? FAR_PARTS : PARTS);
  gemel_status status = GEMEL_OK;
  parts = parts > count ? count : parts;
  for (int64_t part = -1; part <= parts && status == GEMEL_OK; part++) {
    int64_t low = part < 0 ? 0 : part == parts ? count - 1 : count / parts * part;
    int64_t width = part < 0 || part == parts ? 1 : count / parts;
    int64_t at = first + low + (int64_t)gemel__random_below(s->random, (uint64_t)width);
    uint64_t bits = gemel__ordinal_bits(dtype, negative ? -at : at);
    status = gemel__survey_add(s, &bits, error);
  }
  return status == GEMEL_OK ? draw_round(s, k, negative, error) : status;
}

static gemel_status draw_landmarks(gemel__survey *s, gemel_error *error) {
  struct landmark_list l;
  gemel_status status = GEMEL_OK;
  landmarks(s, 0, &l);
  for (size_t k = 0; k < l.count && status == GEMEL_OK; k++) {
    status = gemel__survey_add(s, &l.bits[k], error);
  }
  return status;
}

static gemel_status draw_unary(gemel__survey *s, gemel_error *error) {
  gemel_dtype dtype = s->dtypes[0];
  gemel_status status = draw_landmarks(s, error);
  if (status == GEMEL_OK && width_of(dtype) <= (gemel__is_float(dtype) ? 16 : 8)) {
    return draw_all(s, error);
  }
  for (int k = 0; gemel__is_float(dtype) && k < gemel__ordinal_binades(dtype) && status == GEMEL_OK;
       k++) {
    status = draw_binade(s, k, 0, error);
    status = status == GEMEL_OK ? draw_binade(s, k, 1, error) : status;
  }
  for (size_t n = gemel__is_float(dtype) ? 0 : gemel__survey_share(s, INTEGERS);
       n > 0 && status == GEMEL_OK; n--) {
    uint64_t bits = gemel__survey_number(s, 0);
    status = gemel__survey_add(s, &bits, error);
  }
  return status == GEMEL_OK && gemel__is_float(dtype) ? gemel__survey_thresholds(s, error) : status;
}

/* ---- Two operands ---- */

static gemel_status draw_pairs_of_landmarks(gemel__survey *s, gemel_error *error) {
  struct landmark_list x, y;
  gemel_status status = GEMEL_OK;
  landmarks(s, 0, &x);
  landmarks(s, 1, &y);
  for (size_t i = 0; i < x.count && status == GEMEL_OK; i++) {
    for (size_t j = 0; j < y.count && status == GEMEL_OK; j++) {
      uint64_t pair[2] = {x.bits[i], y.bits[j]};
      if (gemel__random_below(s->random, GEMEL__SURVEY_FULL) < s->density) {
        status = gemel__survey_add(s, pair, error);
      }
    }
  }
  return status;
}

/* A random number of the CELL-th of CELLS parts of all binades of both signs. */
static uint64_t of_cell(gemel__survey *s, gemel_dtype dtype, int cell) {
  int n = 2 * gemel__ordinal_binades(dtype);
  int low = n * cell / CELLS, high = n * (cell + 1) / CELLS;
  int k = low + (int)gemel__random_below(s->random, (uint64_t)(high > low ? high - low : 1));
  return of_binade(s->random, dtype, k);
}

static gemel_status draw_cells(gemel__survey *s, gemel_error *error) {
  gemel_status status = GEMEL_OK;
  for (int i = 0; i < CELLS; i++) {
    for (int j = 0; j < CELLS && status == GEMEL_OK; j++) {
      uint64_t pair[2];
      if (gemel__random_below(s->random, GEMEL__SURVEY_FULL) < s->density) {
        pair[0] = of_cell(s, s->dtypes[0], i);
        pair[1] = of_cell(s, s->dtypes[1], j);
        status = gemel__survey_add(s, pair, error);
      }
    }
  }
  return status;
}

/* For each binade of the first operand, second operands whose exponent is near: closer than the
 * significand has digits. There sums round and cancel, and quotients are moderate. */
static gemel_status draw_neighbours(gemel__survey *s, gemel_error *error) {
  gemel_dtype dtype = s->dtypes[0];
  int n = gemel__ordinal_binades(dtype), reach = gemel__ordinal_fraction(dtype) + 3, k;
  size_t wanted = gemel__survey_share(s, n > 1000 ? NEIGHBOURS / 3 : NEIGHBOURS), j;
  gemel_status status = GEMEL_OK;
  for (k = 0; k < 2 * n; k++) {
    for (j = 0; j < wanted && status == GEMEL_OK; j++) {
      int other = k % n + (int)gemel__random_between(s->random, -reach, reach);
      uint64_t pair[2];
      other = other < 0 ? 0 : other >= n ? n - 1 : other;
      pair[0] = of_binade(s->random, dtype, k);
      pair[1] =
          of_binade(s->random, dtype, other + (gemel__random_chance(s->random, 1, 2) ? n : 0));
      status = gemel__survey_add(s, pair, error);
    }
  }
  return status;
}

/* A number that is related to X in the way KIND says: equal, opposite, adjacent, a small multiple,
 * a quotient by a small number, a small number ÷ X, a small number − X, or a small number. */
static uint64_t related(gemel__survey *s, gemel_dtype dtype, uint64_t x, uint64_t kind) {
  int64_t at = gemel__is_float(dtype) ? gemel__ordinal_of(dtype, x) : 0;
  double value = gemel__ordinal_value(dtype, x);
  double small = (double)gemel__random_between(s->random, 1, 12);
  int64_t by = gemel__random_between(s->random, -3, 3);
  if (!gemel__is_float(dtype)) {
    uint64_t factor = gemel__random_below(s->random, 7);
    uint64_t made = kind == 0   ? x
                    : kind == 1 ? (uint64_t)0 - x
                    : kind == 2 ? x + (uint64_t)by
                    : kind == 3 ? x * factor
                    : kind == 4 ? ~x
                                : factor + gemel__random_below(s->random, 2);
    return made & mask_of(dtype);
  }
  switch (kind) {
  case 0:
    return x;
  case 1:
    return gemel__ordinal_bits(dtype, -at - (gemel__random_chance(s->random, 1, 2) ? by : 0));
  case 2:
    return gemel__ordinal_bits(dtype, at + by);
  case 3:
    return gemel__ordinal_nearest(dtype, value * small);
  case 4:
    at = gemel__ordinal_of(dtype, gemel__ordinal_nearest(dtype, value / small));
    return gemel__ordinal_bits(dtype, at + by / 3);
  case 5:
    return gemel__ordinal_nearest(dtype, small / value);
  case 6:
    return gemel__ordinal_nearest(dtype, small - value);
  default:
    return gemel__ordinal_nearest(dtype, gemel__random_sign(s->random) * small / 2);
  }
}

enum { RELATIONS = 8 };

static gemel_status draw_related(gemel__survey *s, gemel_error *error) {
  size_t n = gemel__survey_share(s, RELATED) * RELATIONS, k;
  gemel_status status = GEMEL_OK;
  for (k = 0; k < n && status == GEMEL_OK; k++) {
    int first = (int)gemel__random_below(s->random, 2);
    uint64_t pair[2];
    pair[first] = gemel__survey_number(s, first);
    pair[1 - first] = related(s, s->dtypes[1 - first], pair[first], k % RELATIONS);
    status = gemel__survey_add(s, pair, error);
  }
  return status;
}

/* Pairs of an 8-bit type, spread over all 65,536: an odd multiplier permutes 0 … 65535. */
static gemel_status draw_small_pairs(gemel__survey *s, gemel_error *error) {
  uint64_t mask = mask_of(s->dtypes[0]), start = gemel__random_bits(s->random), k;
  size_t n = gemel__survey_share(s, ALL_PAIRS);
  gemel_status status = GEMEL_OK;
  for (k = 0; k < n && status == GEMEL_OK; k++) {
    uint64_t at = start + k * 40503;
    uint64_t pair[2] = {at & mask, at >> 8 & mask};
    status = gemel__survey_add(s, pair, error);
  }
  return status;
}

static gemel_status draw_integer_pairs(gemel__survey *s, gemel_error *error) {
  size_t n = gemel__survey_share(s, INTEGERS), k;
  gemel_status status = GEMEL_OK;
  if (width_of(s->dtypes[0]) <= 8) {
    return draw_small_pairs(s, error);
  }
  for (k = 0; k < n && status == GEMEL_OK; k++) {
    uint64_t pair[2] = {gemel__survey_number(s, 0), gemel__survey_number(s, 1)};
    status = gemel__survey_add(s, pair, error);
  }
  return status;
}

static gemel_status draw_binary(gemel__survey *s, gemel_error *error) {
  gemel_status status = draw_pairs_of_landmarks(s, error);
  if (status == GEMEL_OK) {
    status = draw_related(s, error);
  }
  if (status != GEMEL_OK || !gemel__is_float(s->dtypes[0])) {
    return status == GEMEL_OK ? draw_integer_pairs(s, error) : status;
  }
  if ((status = draw_cells(s, error)) == GEMEL_OK) {
    status = draw_neighbours(s, error);
  }
  return status == GEMEL_OK ? gemel__survey_thresholds(s, error) : status;
}

/* ---- Three operands ---- */

static gemel_status draw_ternary(gemel__survey *s, gemel_error *error) {
  struct landmark_list l[3];
  size_t n = gemel__survey_share(s, TRIPLES), k;
  gemel_status status = GEMEL_OK;
  for (int i = 0; i < 3; i++) {
    landmarks(s, i, &l[i]);
  }
  for (k = 0; k < n && status == GEMEL_OK; k++) {
    uint64_t triple[3];
    for (int i = 0; i < 3; i++) {
      uint64_t die = gemel__random_below(s->random, 3);
      if (die == 0) {
        triple[i] = l[i].bits[gemel__random_below(s->random, l[i].count)];
      } else if (die == 1 && i > 0 && s->dtypes[i - 1] == s->dtypes[i]) {
        triple[i] =
            related(s, s->dtypes[i], triple[i - 1], gemel__random_below(s->random, RELATIONS));
      } else {
        triple[i] = gemel__survey_number(s, i);
      }
    }
    status = gemel__survey_add(s, triple, error);
  }
  return status;
}

gemel_status gemel__survey_draw(gemel__survey *s, gemel_error *error) {
  return s->n_inputs == 1   ? draw_unary(s, error)
         : s->n_inputs == 2 ? draw_binary(s, error)
                            : draw_ternary(s, error);
}

/* ---- Instances ---- */

static gemel_status build(const gemel__survey *s, size_t n, gemel_graph *graph,
                          gemel_error *error) {
  gemel_value inputs[GEMEL__SURVEY_OPERANDS];
  gemel_attr attr = gemel_attr_dtype("dtype", s->to);
  int64_t shape[1];
  char name[8];
  int k;
  shape[0] = (int64_t)n;
  for (k = 0; k < s->n_inputs; k++) {
    snprintf(name, sizeof name, "x%d", k);
    inputs[k] = gemel_input(graph, name, gemel_type_of_shape(s->context, s->dtypes[k], 1, shape));
  }
  gemel_output(
      gemel_apply(graph, s->op->name, (size_t)s->n_inputs, inputs, (size_t)s->is_cast, &attr),
      "y0");
  if (error != NULL) {
    *error = *gemel_graph_error(graph);
  }
  return gemel_graph_error(graph)->status;
}

static gemel_status make_values(const gemel__survey *s, const gemel__instance *instance,
                                gemel_tensor ***values, gemel_error *error) {
  int k;
  *values = gemel__alloc_zeroed(instance->n_leaves * sizeof **values);
  if (*values == NULL) {
    return gemel__no_memory(error, "values");
  }
  for (k = 0; k < s->n_inputs; k++) {
    const gemel__leaf *leaf = &instance->leaves[k];
    (*values)[k] = gemel_tensor_new(leaf->dtype, leaf->rank, leaf->shape, error);
    if ((*values)[k] == NULL) {
      return GEMEL_NO_MEMORY;
    }
    memset(gemel_tensor_data((*values)[k]), 0, leaf->count * gemel_dtype_size(leaf->dtype));
  }
  return GEMEL_OK;
}

gemel_status gemel__survey_instance(const gemel__survey *s, size_t n, gemel__instance *instance,
                                    gemel_tensor ***values, gemel_error *error) {
  gemel_graph *graph = gemel_graph_new(s->context, error);
  gemel_status status;
  memset(instance, 0, sizeof *instance);
  *values = NULL;
  if (graph == NULL) {
    return GEMEL_NO_MEMORY;
  }
  status = build(s, n, graph, error);
  if (status == GEMEL_OK) {
    status = gemel__instance_of_graph(instance, graph, NULL, error);
  }
  gemel_graph_unref(graph);
  instance->ulp = s->ulp;
  instance->elementwise = 1;
  return status == GEMEL_OK ? make_values(s, instance, values, error) : status;
}

void gemel__survey_fill(const gemel__survey *s, size_t from, size_t n, gemel_tensor **values) {
  for (int k = 0; k < s->n_inputs; k++) {
    size_t size = gemel_dtype_size(s->dtypes[k]);
    char *at = gemel_tensor_data(values[k]);
    for (size_t i = 0; i < n; i++) {
      gemel__ordinal_put(s->dtypes[k], s->bits[k][from + i], at + i * size);
    }
  }
}
