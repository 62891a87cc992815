/* SPDX-License-Identifier: MIT
 *
 * The steps of a while counted (control.h): its condition and body are computed on scalars of
 * integers and truths, as far as these are known, until the condition is false.
 */
#include "hlo/control.h"

#include <string.h>
#include "core/dtype.h"
#include "core/value.h"

enum { MOST_STEPS = 4000000, MOST_WORK = 20000000, DEEPEST = 16 };

/* A scalar that is known or not, or a tuple of such. */
typedef struct finding {
  int is_known;
  int64_t number;
  size_t n_parts;
  const struct finding *parts;
} finding;

typedef struct counter {
  const gemel_hlo *module;
  gemel__arena arena; /* of a step */
  int64_t work;
  int is_out_of_memory;
} counter;

static const finding nothing = {.is_known = 0};

static void *room(counter *t, size_t bytes) {
  void *block = gemel__arena_alloc(&t->arena, bytes > 0 ? bytes : 1);
  t->is_out_of_memory = t->is_out_of_memory || block == NULL;
  return block;
}

static finding number(int64_t value) {
  return (finding){.is_known = 1, .number = value};
}

/* VALUE as an element of DTYPE has it: wrapped. */
static finding wrapped(int dtype, int64_t value) {
  switch (dtype) {
  case GEMEL_BOOL:
    return number(value != 0);
  case GEMEL_I8:
    return number((int8_t)value);
  case GEMEL_I16:
    return number((int16_t)value);
  case GEMEL_I32:
    return number((int32_t)value);
  case GEMEL_I64:
    return number(value);
  case GEMEL_U8:
    return number((uint8_t)value);
  case GEMEL_U16:
    return number((uint16_t)value);
  case GEMEL_U32:
    return number((uint32_t)value);
  default:
    return nothing; /* u64, whose order is another, and floats */
  }
}

/* The literal of an instruction. */
static finding literal(const gemel__hlo_instr *instr) {
  const char *text = instr->inside.text;
  size_t n = instr->inside.length, k = n > 0 && text[0] == '-';
  int64_t value = 0;
  if (gemel__hlo_is(instr->inside, "true") || gemel__hlo_is(instr->inside, "false")) {
    return number(n == 4);
  }
  if (k == n || n > 18) {
    return nothing;
  }
  for (size_t i = k; i < n; i++) {
    if (text[i] < '0' || text[i] > '9') {
      return nothing;
    }
    value = value * 10 + (text[i] - '0');
  }
  return wrapped(instr->shape.dtype, k ? -value : value);
}

static finding compared(const gemel__hlo_instr *instr, int64_t x, int64_t y) {
  gemel__hlo_span direction = gemel__hlo_attr_of(instr, "direction");
  static const struct {
    const char *name;
    int less, equal, greater;
  } rows[] = {{"LT", 1, 0, 0}, {"LE", 1, 1, 0}, {"GT", 0, 0, 1},
              {"GE", 0, 1, 1}, {"EQ", 0, 1, 0}, {"NE", 1, 0, 1}};
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
    if (gemel__hlo_is(direction, rows[k].name)) {
      return number(x < y ? rows[k].less : x == y ? rows[k].equal : rows[k].greater);
    }
  }
  return nothing;
}

/* INSTR of two numbers. */
static finding of_two(const gemel__hlo_instr *instr, int64_t x, int64_t y) {
  int dtype = instr->shape.dtype;
  if (gemel__hlo_is(instr->opcode, "compare")) {
    return compared(instr, x, y);
  }
  if (gemel__hlo_is(instr->opcode, "add")) {
    return wrapped(dtype, (int64_t)((uint64_t)x + (uint64_t)y));
  }
  if (gemel__hlo_is(instr->opcode, "subtract")) {
    return wrapped(dtype, (int64_t)((uint64_t)x - (uint64_t)y));
  }
  if (gemel__hlo_is(instr->opcode, "multiply")) {
    return wrapped(dtype, (int64_t)((uint64_t)x * (uint64_t)y));
  }
  if (gemel__hlo_is(instr->opcode, "minimum")) {
    return number(x < y ? x : y);
  }
  if (gemel__hlo_is(instr->opcode, "maximum")) {
    return number(x > y ? x : y);
  }
  return gemel__hlo_is(instr->opcode, "and")  ? number(x & y)
         : gemel__hlo_is(instr->opcode, "or") ? number(x | y)
                                              : nothing;
}

static finding of_one(const gemel__hlo_instr *instr, int64_t x) {
  if (gemel__hlo_is(instr->opcode, "convert")) {
    return wrapped(instr->shape.dtype, x);
  }
  if (gemel__hlo_is(instr->opcode, "not") && instr->shape.dtype == GEMEL_BOOL) {
    return number(!x);
  }
  return gemel__hlo_is(instr->opcode, "copy") || gemel__hlo_is(instr->opcode, "bitcast") ||
                 gemel__hlo_is(instr->opcode, "reshape")
             ? number(x)
             : nothing;
}

/* INSTR, of a scalar, of what is known of its operands. */
static finding scalar(const gemel__hlo_instr *instr, const finding *values) {
  const finding *a[3] = {&nothing, &nothing, &nothing};
  for (size_t k = 0; k < instr->n_operands && k < 3; k++) {
    a[k] = &values[instr->operands[k]];
  }
  if (gemel__hlo_is(instr->opcode, "constant")) {
    return literal(instr);
  }
  if (gemel__hlo_is(instr->opcode, "select") && instr->n_operands == 3 && a[0]->is_known) {
    return a[0]->number != 0 ? *a[1] : *a[2];
  }
  if (instr->n_operands == 2 && a[0]->is_known && a[1]->is_known) {
    return of_two(instr, a[0]->number, a[1]->number);
  }
  return instr->n_operands == 1 && a[0]->is_known ? of_one(instr, a[0]->number) : nothing;
}

static finding compute(counter *t, const gemel__hlo_computation *c, size_t n,
                       const finding *operands, int depth);

/* The operands of INSTR as an array. */
static finding *given(counter *t, const gemel__hlo_instr *instr, const finding *values) {
  finding *list = room(t, instr->n_operands * sizeof *list);
  for (size_t k = 0; list != NULL && k < instr->n_operands; k++) {
    list[k] = values[instr->operands[k]];
  }
  return list;
}

static finding part(const gemel__hlo_instr *instr, const finding *values) {
  gemel__hlo_span index = gemel__hlo_attr_of(instr, "index");
  size_t k = 0;
  for (size_t i = 0; i < index.length && i < 9; i++) {
    k = k * 10 + (size_t)(index.text[i] - '0');
  }
  const finding *tuple = instr->n_operands == 1 ? &values[instr->operands[0]] : &nothing;
  return k < tuple->n_parts ? tuple->parts[k] : nothing;
}

/* INSTR of what is known of those before it. */
static finding of_instr(counter *t, const gemel__hlo_instr *instr, const finding *values,
                        int depth) {
  const char *attribute = gemel__hlo_is(instr->opcode, "fusion") ? "calls"
                          : gemel__hlo_is(instr->opcode, "call") ? "to_apply"
                                                                 : NULL;
  if (gemel__hlo_is(instr->opcode, "tuple")) {
    finding *list = given(t, instr, values);
    return list != NULL ? (finding){.n_parts = instr->n_operands, .parts = list} : nothing;
  }
  if (gemel__hlo_is(instr->opcode, "get-tuple-element")) {
    return part(instr, values);
  }
  if (attribute != NULL) {
    const gemel__hlo_computation *called =
        gemel__hlo_computation_of(t->module, gemel__hlo_attr_of(instr, attribute));
    finding *list = given(t, instr, values);
    return called != NULL && list != NULL ? compute(t, called, instr->n_operands, list, depth + 1)
                                          : nothing;
  }
  int is_scalar = !instr->shape.is_tuple && instr->shape.rank == 0;
  return is_scalar ? scalar(instr, values) : nothing;
}

/* What C makes of operands of which this is known. */
static finding compute(counter *t, const gemel__hlo_computation *c, size_t n,
                       const finding *operands, int depth) {
  finding *values = room(t, c->n_instrs * sizeof *values);
  if (n != c->n_parameters || depth > DEEPEST || values == NULL) {
    return nothing;
  }
  t->work += (int64_t)c->n_instrs;
  memset(values, 0, c->n_instrs * sizeof *values);
  for (size_t k = 0; k < n; k++) {
    values[c->parameters[k]] = operands[k];
  }
  for (size_t k = 0; k < c->n_instrs && t->work < MOST_WORK; k++) {
    if (c->instrs[k].is_live && !gemel__hlo_is(c->instrs[k].opcode, "parameter")) {
      values[k] = of_instr(t, &c->instrs[k], values, depth);
    }
  }
  return values[c->root];
}

/* What is known of VALUE. */
static finding begin(counter *t, const gemel__hlo_value *value) {
  gemel_attr attr;
  if (gemel_is_null(value->value)) {
    finding *parts = room(t, value->n_parts * sizeof *parts);
    for (size_t k = 0; parts != NULL && k < value->n_parts; k++) {
      parts[k] = begin(t, &value->parts[k]);
    }
    return (finding){.n_parts = parts != NULL ? value->n_parts : 0, .parts = parts};
  }
  if (strcmp(gemel_value_operation(value->value), "constant") != 0 ||
      gemel_value_attr(value->value, "value", &attr) != GEMEL_OK ||
      gemel_tensor_rank(attr.u.tensor) != 0 || gemel__is_float(gemel_tensor_dtype(attr.u.tensor))) {
    return nothing;
  }
  double real =
      gemel__dtype_load(gemel_tensor_dtype(attr.u.tensor), gemel_tensor_data(attr.u.tensor));
  return real > -0x1p53 && real < 0x1p53
             ? wrapped((int)gemel_tensor_dtype(attr.u.tensor), (int64_t)real)
             : nothing;
}

/* STATE's copy in T's arena. */
static finding kept(counter *t, finding state) {
  if (state.n_parts > 0) {
    finding *parts = room(t, state.n_parts * sizeof *parts);
    for (size_t k = 0; parts != NULL && k < state.n_parts; k++) {
      parts[k] = kept(t, state.parts[k]);
    }
    state.parts = parts;
    state.n_parts = parts != NULL ? state.n_parts : 0;
  }
  return state;
}

/* STATE behind BODY, in the arena that T has then: what was known before is gone. */
static finding advance(counter *t, const gemel__hlo_computation *body, const finding *state) {
  finding next = compute(t, body, 1, state, 0);
  gemel__arena before = t->arena;
  t->arena = (gemel__arena){0};
  next = kept(t, next);
  gemel__arena_clear(&before);
  return next;
}

int gemel__hlo_trips(gemel__hlo_call *c, const gemel__hlo_computation *condition,
                     const gemel__hlo_computation *body, const gemel__hlo_value *initial,
                     int64_t *steps) {
  counter t = {.module = c->import->module};
  finding state = begin(&t, initial);
  *steps = -1;
  for (int64_t n = 0; n <= MOST_STEPS && t.work < MOST_WORK; n++) {
    finding truth = compute(&t, condition, 1, &state, 0);
    if (!truth.is_known || truth.number == 0) {
      *steps = truth.is_known && t.work < MOST_WORK ? n : -1;
      break;
    }
    state = advance(&t, body, &state);
  }
  gemel__arena_clear(&t.arena);
  return !t.is_out_of_memory || gemel__hlo_refuse(c, GEMEL_NO_MEMORY, "out of memory");
}
