/* SPDX-License-Identifier: MIT
 *
 * Opaque instructions (opaque.h) as nodes of an operation `hlo_opaque`, which has no reference: the
 * harness takes it for an unknown function of its attributes and operands. The attribute `call` is
 * all that the text says of the instruction, with the computations that it names written out in
 * place of their names; so what is equal there is the same function. Nothing can run it.
 */
#include "hlo/opaque.h"

#include <gemel/operation.h>
#include <stdio.h>
#include <string.h>
#include "core/alloc.h"
#include "core/error.h"
#include "core/value.h"
#include "hlo/live.h"

enum { LONGEST = 1 << 20, DEEPEST = 8 };

/* ---- The operation ---- */

static const gemel_attr_spec specs[] = {{"call", GEMEL_ATTR_STRING, NULL},
                                        {"dtype", GEMEL_ATTR_DTYPE, NULL},
                                        {"shape", GEMEL_ATTR_LIST | GEMEL_ATTR_INT, NULL},
                                        {"result", GEMEL_ATTR_INT, NULL},
                                        {NULL, 0, NULL}};

static gemel_status infer_opaque(gemel_infer *call) {
  const gemel_attr *shape = &call->attrs[2];
  if (shape->count > GEMEL_MAX_RANK) {
    return gemel__fail(call->error, GEMEL_BAD_SHAPE, "more than %d axes", GEMEL_MAX_RANK);
  }
  call->n_outputs = 1;
  call->outputs[0] =
      gemel_type_of_shape(call->context, call->attrs[1].u.dtype, (int)shape->count, shape->u.ints);
  return gemel_type_is_none(call->outputs[0])
             ? gemel__fail(call->error, GEMEL_BAD_SHAPE, "no type has such sizes")
             : GEMEL_OK;
}

static gemel_status run_opaque(const gemel_kernel_call *call) {
  return gemel__fail(call->error, GEMEL_UNSUPPORTED,
                     "an instruction that gemel doesn't know can't be computed: %.200s",
                     call->attrs[0].u.text);
}

static const gemel_kernel kernels[] = {{"none", NULL, run_opaque}, {NULL, NULL, NULL}};

static const gemel_operation operation = {
    .size = sizeof operation,
    .name = "hlo_opaque",
    .summary = "An instruction of HLO of which nothing is known but its text.",
    .max_inputs = -1,
    .version = 1,
    .attrs = specs,
    .infer = infer_opaque,
    .kernels = kernels};

/* Makes the operation known to the context; another thread may have. */
static int register_opaque(gemel__hlo_call *c) {
  gemel_context *context = c->import->context;
  gemel_error error;
  return gemel_operation_find(context, operation.name) != NULL ||
         gemel_register_operation(context, &operation, &error) == GEMEL_OK ||
         gemel_operation_find(context, operation.name) != NULL ||
         gemel__hlo_refuse(c, error.status, "%s", error.text);
}

/* ---- What is said of an instruction ---- */

typedef struct says {
  gemel__hlo_call *c;
  char *text; /* of LONGEST bytes */
  size_t length;
  int is_too_long, is_left_out, is_refused;
  int says_layouts; /* 1: how elements lie in memory matters, too */
} says;

static void say(says *s, const char *text, size_t length) {
  if (length > LONGEST - s->length) {
    s->is_too_long = 1;
    return;
  }
  memcpy(s->text + s->length, text, length);
  s->length += length;
}

static void say_span(says *s, gemel__hlo_span span) {
  say(s, span.text != NULL ? span.text : "", span.length);
}

/* What stands in the parentheses of an instruction without operands: a literal, whose numbers must
 * all be there. */
static void say_inside(says *s, const gemel__hlo_instr *instr) {
  gemel__hlo_span inside = instr->inside;
  for (size_t k = 0; k + 3 <= inside.length; k++) {
    s->is_left_out = s->is_left_out || memcmp(inside.text + k, "...", 3) == 0;
  }
  say(s, "(", 1);
  say_span(s, instr->n_operands == 0 ? inside : (gemel__hlo_span){"", 0});
  say(s, ")", 1);
}

static void say_number(says *s, int64_t number) {
  char text[32];
  say(s, text, (size_t)snprintf(text, sizeof text, " %lld", (long long)number));
}

/* How the elements of SHAPE lie, if not in the usual order. */
static void say_layout(says *s, const gemel__hlo_shape *shape) {
  int is_usual = 1;
  for (int k = 0; k < shape->rank && shape->order != NULL; k++) {
    is_usual = is_usual && shape->order[k] == shape->rank - 1 - k;
  }
  if (!is_usual || gemel__hlo_is_tiled(shape)) {
    say(s, " {", 2);
    for (int k = 0; k < shape->rank && shape->order != NULL; k++) {
      say_number(s, shape->order[k]);
    }
    say_span(s, shape->tiles);
    say(s, "}", 1);
  }
}

static void say_shape(says *s, const gemel__hlo_shape *shape) {
  say(s, shape->is_tuple ? " (" : " ", 1 + (size_t)shape->is_tuple);
  say_span(s, shape->type);
  for (int k = 0; k < shape->rank; k++) {
    say_number(s, shape->dims[k]);
  }
  if (s->says_layouts) {
    say_layout(s, shape);
  }
  for (size_t k = 0; k < shape->n_parts; k++) {
    say_shape(s, &shape->parts[k]);
  }
  say(s, ")", (size_t)shape->is_tuple);
}

static void say_instr(says *s, const gemel__hlo_instr *instr, int depth);

/* The instructions of C, by their numbers. */
static void say_computation(says *s, const gemel__hlo_computation *computation, int depth) {
  s->is_too_long = s->is_too_long || depth > DEEPEST;
  for (size_t k = 0; k < computation->n_instrs && !s->is_too_long; k++) {
    const gemel__hlo_instr *instr = &computation->instrs[k];
    say(s, "\n", 1);
    say_instr(s, instr, depth);
    for (size_t i = 0; i < instr->n_operands; i++) {
      say_number(s, instr->operands[i]);
    }
  }
  say_number(s, computation->root);
}

/* A value of an attribute, in which each name of a computation is that computation. */
static void say_value(says *s, gemel__hlo_span value, int depth) {
  while (value.length > 0 && !s->is_too_long) {
    const char *begin = value.text;
    gemel__hlo_span word = gemel__hlo_next_word(&value);
    for (const char *at = begin; at < word.text; at++) {
      say(s, at, *at != '%');
    }
    const gemel__hlo_computation *called =
        word.length > 0 ? gemel__hlo_computation_of(s->c->import->module, word) : NULL;
    if (called != NULL && !gemel__hlo_is_before(s->c, called)) {
      s->is_refused = 1;
      return;
    }
    if (called != NULL) {
      s->says_layouts = 1;
      say_computation(s, called, depth + 1);
    } else {
      say_span(s, word);
    }
  }
}

static void say_instr(says *s, const gemel__hlo_instr *instr, int depth) {
  say_span(s, instr->opcode);
  say_inside(s, instr);
  say_shape(s, &instr->shape);
  for (size_t k = 0; k < instr->n_attrs; k++) {
    if (!gemel__hlo_is_silent(instr->attrs[k].name)) {
      say(s, ", ", 2);
      say_span(s, instr->attrs[k].name);
      say(s, "=", 1);
      say_value(s, instr->attrs[k].value, depth);
    }
  }
}

/* 1 if INSTR reads its operands, and writes its result, as they lie in memory. */
static int is_of_memory(const gemel__hlo_instr *instr) {
  return gemel__hlo_is(instr->opcode, "custom-call") || gemel__hlo_is(instr->opcode, "bitcast");
}

/* All that is said of C's instruction, and, if it has an effect, how many had one before it; NULL
 * with the graph's error. */
static char *all_said(gemel__hlo_call *c) {
  says s = {.c = c, .text = gemel__alloc(LONGEST + 1)};
  char *kept = NULL;
  if (s.text == NULL) {
    gemel__hlo_refuse(c, GEMEL_NO_MEMORY, "out of memory");
    return NULL;
  }
  s.says_layouts = is_of_memory(c->instr);
  say_instr(&s, c->instr, 0);
  s.says_layouts = is_of_memory(c->instr); /* not what it calls may have */
  if (c->instr->has_effect) {
    say_number(&s, ++c->import->effects);
  }
  for (size_t k = 0; k < c->instr->n_operands; k++) {
    say_shape(&s, gemel__hlo_shape_of(c, k));
  }
  if (s.is_refused) {
    gemel__free(s.text, LONGEST + 1);
    return NULL;
  }
  if (s.is_left_out) {
    gemel__hlo_refuse(c, GEMEL_BAD_FILE, "numbers of a literal are left out");
  } else if (s.is_too_long) {
    gemel__hlo_refuse(c, GEMEL_TOO_LONG, "gemel doesn't read it, and it is too long to be opaque");
  } else {
    kept = gemel__arena_copy(&c->import->arena, s.text, s.length + 1);
  }
  if (kept != NULL) {
    kept[s.length] = '\0';
  }
  gemel__free(s.text, LONGEST + 1);
  return kept;
}

/* ---- Nodes ---- */

int gemel__hlo_is_foreign(const gemel__hlo_shape *shape) {
  int is_foreign = !shape->is_tuple && shape->dtype < 0;
  for (size_t k = 0; k < shape->n_parts; k++) {
    is_foreign = is_foreign || gemel__hlo_is_foreign(&shape->parts[k]);
  }
  return is_foreign;
}

gemel_dtype gemel__hlo_carrier(const gemel__hlo_shape *shape) {
  return shape->dtype >= 0                     ? (gemel_dtype)shape->dtype
         : gemel__hlo_is(shape->type, "token") ? GEMEL_BOOL
                                               : GEMEL_F32;
}

/* Counts VALUE's arrays, and writes them where there is room. */
static size_t list_arrays(const gemel__hlo_value *value, gemel_value *arrays, size_t n) {
  if (!gemel_is_null(value->value)) {
    if (arrays != NULL) {
      arrays[n] = value->value;
    }
    return n + 1;
  }
  for (size_t k = 0; k < value->n_parts; k++) {
    n = list_arrays(&value->parts[k], arrays, n);
  }
  return n;
}

typedef struct opaque {
  gemel__hlo_call *c;
  const char *call;
  size_t n;
  gemel_value *operands;
  int64_t results; /* so far */
} opaque;

static int give_result(opaque *o, const gemel__hlo_shape *shape, gemel__hlo_value *result) {
  gemel__hlo_call *c = o->c;
  if (shape->is_tuple) {
    gemel__hlo_value *parts = gemel__hlo_room(c, shape->n_parts * sizeof *parts);
    *result = (gemel__hlo_value){.n_parts = shape->n_parts, .parts = parts};
    for (size_t k = 0; k < shape->n_parts && parts != NULL; k++) {
      if (!give_result(o, &shape->parts[k], &parts[k])) {
        return 0;
      }
    }
    return parts != NULL;
  }
  gemel_attr attrs[] = {
      {.name = "call", .kind = GEMEL_ATTR_STRING, .u.text = o->call},
      {.name = "dtype", .kind = GEMEL_ATTR_DTYPE, .u.dtype = gemel__hlo_carrier(shape)},
      {.name = "shape",
       .kind = GEMEL_ATTR_LIST | GEMEL_ATTR_INT,
       .count = (size_t)shape->rank,
       .u.ints = shape->dims},
      {.name = "result", .kind = GEMEL_ATTR_INT, .u.i = o->results++}};
  return gemel__hlo_give(
      result, gemel_apply_at(c->graph, operation.name, o->n, o->operands, 4, attrs, c->where));
}

/* Makes an effect one of the graph's results: the first array that the instruction gives, or one
 * made for it. */
static int show_effect(opaque *o, const gemel__hlo_value *result) {
  static const gemel__hlo_shape token = {.type = {"token", 5}, .dtype = -1};
  gemel__hlo_call *c = o->c;
  gemel__hlo_value made = *result;
  char name[40];
  if (list_arrays(result, NULL, 0) == 0 && !give_result(o, &token, &made)) {
    return 0;
  }
  while (gemel_is_null(made.value)) {
    size_t k = 0;
    while (list_arrays(&made.parts[k], NULL, 0) == 0) {
      k++;
    }
    made = made.parts[k];
  }
  snprintf(name, sizeof name, "effect%lld", (long long)c->import->effects);
  return gemel_output_at(made.value, name, c->where) == GEMEL_OK;
}

int gemel__hlo_opaque(gemel__hlo_call *c, gemel__hlo_value *result) {
  opaque o = {.c = c};
  if (!register_opaque(c)) {
    return 0;
  }
  for (size_t k = 0; k < c->instr->n_operands; k++) {
    o.n = list_arrays(c->operands[k], NULL, o.n);
  }
  o.operands = gemel__hlo_room(c, o.n * sizeof *o.operands);
  o.call = all_said(c);
  if (o.operands == NULL || o.call == NULL) {
    return 0;
  }
  o.n = 0;
  for (size_t k = 0; k < c->instr->n_operands; k++) {
    o.n = list_arrays(c->operands[k], o.operands, o.n);
  }
  return give_result(&o, &c->instr->shape, result) &&
         (!c->instr->has_effect || gemel__hlo_is_drawn(c->instr) || show_effect(&o, result));
}
