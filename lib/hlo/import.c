/* SPDX-License-Identifier: MIT
 *
 * A module of HLO into a graph (<gemel/hlo.h>): instructions are applied in their order, and a
 * computation that is called is applied in the place of the call. The table of opcodes says which
 * function makes what; an opcode that isn't there is a formula of hlo.operators (texts.c). What
 * each gives must have the dtype and the sizes that the module says it has.
 *
 * Scalars' computations, of reductions and the like, are applied to arrays as they are to scalars
 * (gemel__hlo_map): every operation of a scalar is one of elements.
 */
#include <gemel/hlo.h>

#include <stdio.h>
#include <string.h>
#include <gemel/text.h>
#include "core/alloc.h"
#include "core/error.h"
#include "core/graph.h"
#include "core/value.h"
#include "hlo/opaque.h"
#include "hlo/texts.h"

enum { DEEPEST = 64, MOST_APPLIED = 10000000, MOST_NAME = 64 };

/* ---- Tuples and calls ---- */

static int tuple(gemel__hlo_call *c, gemel__hlo_value *result) {
  size_t n = c->instr->n_operands;
  gemel__hlo_value *parts = gemel__hlo_room(c, n * sizeof *parts);
  for (size_t k = 0; k < n && parts != NULL; k++) {
    parts[k] = *c->operands[k];
  }
  *result = (gemel__hlo_value){.n_parts = n, .parts = parts};
  return parts != NULL;
}

/* The one operand that an instruction passes on. */
static int pass(gemel__hlo_call *c, gemel__hlo_value *result) {
  if (c->instr->n_operands == 0) {
    return gemel__hlo_refuse(c, GEMEL_BAD_FILE, "it has no operand");
  }
  *result = *c->operands[0];
  return 1;
}

static int get_tuple_element(gemel__hlo_call *c, gemel__hlo_value *result) {
  int64_t k;
  if (!pass(c, result) || !gemel__hlo_int(c, "index", -1, &k)) {
    return 0;
  }
  if (!gemel_is_null(result->value) || k < 0 || (size_t)k >= result->n_parts) {
    return gemel__hlo_refuse(c, GEMEL_BAD_FILE, "its operand has no part %lld", (long long)k);
  }
  *result = result->parts[k];
  return 1;
}

/* The operands of a call, as an array. */
static gemel__hlo_value *given(gemel__hlo_call *c) {
  gemel__hlo_value *values = gemel__hlo_room(c, c->instr->n_operands * sizeof *values);
  for (size_t k = 0; k < c->instr->n_operands && values != NULL; k++) {
    values[k] = *c->operands[k];
  }
  return values;
}

static int call_named(gemel__hlo_call *c, const char *attribute, gemel__hlo_value *result) {
  const gemel__hlo_computation *called = gemel__hlo_called(c, attribute);
  const gemel__hlo_value *values = called != NULL ? given(c) : NULL;
  return values != NULL && gemel__hlo_apply(c, called, c->instr->n_operands, values, result);
}

static int call(gemel__hlo_call *c, gemel__hlo_value *result) {
  return call_named(c, "to_apply", result);
}

static int fusion(gemel__hlo_call *c, gemel__hlo_value *result) {
  return call_named(c, "calls", result);
}

/* ---- Opcodes ---- */

enum {
  SHAPES = 1,  /* it moves elements, so that of scalars there is nothing to do */
  MOVES = 2,   /* what elements are is the same to it */
  HANDS = 4,   /* it hands on values, whatever they are */
  MAPS = 8,    /* of scalars that stand for arrays it is the same for each element */
  INLINES = 16 /* it is what it calls, once */
};

static const struct opcode {
  const char *name;
  gemel__hlo_function *function;
  int flags;
} opcodes[] = {
    {"add-dependency", pass, HANDS},
    {"bitcast", gemel__hlo_bitcast, MAPS},
    {"broadcast", gemel__hlo_broadcast, SHAPES | MOVES},
    {"call", call, HANDS | MAPS | INLINES},
    {"concatenate", gemel__hlo_concatenate, MOVES},
    {"conditional", gemel__hlo_conditional, HANDS},
    {"constant", gemel__hlo_constant, MAPS},
    {"convolution", gemel__hlo_convolution, 0},
    {"copy", pass, HANDS | MAPS},
    {"dot", gemel__hlo_dot, 0},
    {"dynamic-slice", gemel__hlo_dynamic_slice, MOVES},
    {"dynamic-update-slice", gemel__hlo_dynamic_update_slice, MOVES},
    {"fusion", fusion, HANDS | MAPS | INLINES},
    {"gather", gemel__hlo_gather, 0},
    {"get-tuple-element", get_tuple_element, HANDS | MAPS},
    {"iota", gemel__hlo_iota_op, 0},
    {"map", gemel__hlo_map_op, 0},
    {"opt-barrier", pass, HANDS | MAPS},
    {"optimization-barrier", pass, HANDS | MAPS},
    {"pad", gemel__hlo_pad_op, 0},
    {"reduce", gemel__hlo_reduce, 0},
    {"reduce-precision", gemel__hlo_reduce_precision, MAPS},
    {"reduce-window", gemel__hlo_reduce_window, 0},
    {"reshape", NULL, SHAPES | MOVES},
    {"scatter", gemel__hlo_scatter, 0},
    {"select-and-scatter", gemel__hlo_select_and_scatter, 0},
    {"slice", gemel__hlo_slice, MOVES},
    {"sort", gemel__hlo_sort, 0},
    {"transpose", NULL, SHAPES | MOVES},
    {"tuple", tuple, HANDS | MAPS},
    {"while", gemel__hlo_while, HANDS},
};

static const struct opcode *opcode_named(gemel__hlo_span name) {
  for (size_t k = 0; k < sizeof opcodes / sizeof *opcodes; k++) {
    if (gemel__hlo_is(name, opcodes[k].name)) {
      return &opcodes[k];
    }
  }
  return NULL;
}

/* ---- One instruction ---- */

/* 1 if VALUE, of the graph, is an array as SHAPE says. */
static int is_array(gemel__hlo_call *c, const gemel__hlo_shape *shape, gemel_value value) {
  gemel_context *context = c->import->context;
  gemel_type type = gemel_value_type(value);
  int64_t sizes[GEMEL_MAX_RANK];
  if (gemel_type_dtype(context, type) != gemel__hlo_carrier(shape)) {
    return 0;
  }
  return c->is_mapped || (gemel__hlo_sizes(c, value, sizes) == shape->rank &&
                          memcmp(sizes, shape->dims, (size_t)shape->rank * sizeof *sizes) == 0);
}

/* 1 if VALUE is what SHAPE says; tuples are nested 32 deep at most. */
static int is_shaped(gemel__hlo_call *c, const gemel__hlo_shape *shape,
                     const gemel__hlo_value *value) {
  if (!gemel_is_null(value->value)) {
    return !shape->is_tuple && is_array(c, shape, value->value);
  }
  int good = shape->is_tuple && shape->n_parts == value->n_parts;
  for (size_t k = 0; k < value->n_parts && good; k++) {
    good = is_shaped(c, &shape->parts[k], &value->parts[k]);
  }
  return good;
}

static int check_result(gemel__hlo_call *c, const gemel__hlo_value *value) {
  char text[200] = "a tuple";
  if (is_shaped(c, &c->instr->shape, value)) {
    return 1;
  }
  if (!gemel_is_null(value->value)) {
    gemel_type_format(c->import->context, gemel_value_type(value->value), text, sizeof text);
  }
  return gemel__hlo_refuse(c, GEMEL_BAD_FILE, "it gives %s, which isn't its shape", text);
}

/* 1 if C's instruction can be applied to elements of the types that its operands and result have.
 */
static int is_of_types(gemel__hlo_call *c, int flags) {
  int is_foreign = gemel__hlo_is_foreign(&c->instr->shape), is_same = 1;
  for (size_t k = 0; k < c->instr->n_operands; k++) {
    const gemel__hlo_shape *shape = gemel__hlo_shape_of(c, k);
    is_foreign = is_foreign || gemel__hlo_is_foreign(shape);
    is_same =
        is_same && !shape->is_tuple &&
        (k > 0 || (shape->type.length == c->instr->shape.type.length &&
                   memcmp(shape->type.text, c->instr->shape.type.text, shape->type.length) == 0));
  }
  return !is_foreign || (flags & HANDS) != 0 || ((flags & MOVES) != 0 && is_same);
}

/* 1 if SHAPE is a scalar, or a tuple of such. */
static int is_scalar(const gemel__hlo_shape *shape) {
  int good = shape->rank == 0;
  for (size_t k = 0; k < shape->n_parts; k++) {
    good = good && is_scalar(&shape->parts[k]);
  }
  return good;
}

/* 1 if C's instruction, of scalars that stand for arrays, is the same for each element. */
static int can_be_mapped(const gemel__hlo_call *c, const struct opcode *opcode) {
  int good =
      is_scalar(&c->instr->shape) && (opcode == NULL || (opcode->flags & (MAPS | SHAPES)) != 0);
  for (size_t k = 0; k < c->instr->n_operands; k++) {
    good = good && is_scalar(gemel__hlo_shape_of(c, k));
  }
  return good;
}

/* Applies the function of C's opcode. */
static int apply_known(gemel__hlo_call *c, gemel__hlo_value *result) {
  const struct opcode *opcode = opcode_named(c->instr->opcode);
  int flags = opcode != NULL ? opcode->flags : 0;
  gemel__hlo_function *function =
      opcode != NULL && opcode->function != NULL ? opcode->function : gemel__hlo_by_text;
  if (c->is_mapped && !can_be_mapped(c, opcode)) {
    return gemel__hlo_refuse(c, GEMEL_UNSUPPORTED, "a computation of scalars that has it");
  }
  if (c->instr->has_effect && (flags & INLINES) == 0) {
    return gemel__hlo_refuse(c, GEMEL_UNSUPPORTED, "an effect");
  }
  if (!is_of_types(c, flags)) {
    return gemel__hlo_refuse(c, GEMEL_UNSUPPORTED, "elements of a type that gemel hasn't");
  }
  return (c->is_mapped && (flags & SHAPES) != 0 ? pass : function)(c, result);
}

/* What can't be said is opaque, but for an instruction of scalars that stand for arrays: there what
 * applies them is. */
static int apply_instr(gemel__hlo_call *c, gemel__hlo_value *result) {
  if (c->import->applied++ == MOST_APPLIED) {
    return gemel__hlo_refuse(c, GEMEL_TOO_LONG, "more than %d instructions, with those of calls",
                             MOST_APPLIED);
  }
  c->import->unsaid[0] = '\0';
  int good = apply_known(c, result);
  if (!good && c->import->unsaid[0] != '\0' && !c->is_mapped) {
    good = gemel__hlo_opaque(c, result);
  }
  return good && check_result(c, result);
}

/* ---- Computations ---- */

/* A call of instruction K of C's computation, whose VALUES are known before it. */
static int apply_one(const gemel__hlo_call *base, uint32_t k, gemel__hlo_value *values) {
  gemel__hlo_call c = *base;
  c.instr = &c.computation->instrs[k];
  c.where.line = (int)(c.instr->line < INT32_MAX ? c.instr->line : INT32_MAX);
  c.operands = gemel__hlo_room(&c, c.instr->n_operands * sizeof *c.operands);
  for (size_t i = 0; c.operands != NULL && i < c.instr->n_operands; i++) {
    c.operands[i] = &values[c.instr->operands[i]];
  }
  return c.operands != NULL && apply_instr(&c, &values[k]);
}

/* Applies COMPUTATION to OPERANDS in the graph of BASE, which says all but the instruction. */
static int apply_all(gemel__hlo_call *base, size_t n, const gemel__hlo_value *operands,
                     gemel__hlo_value *result) {
  const gemel__hlo_computation *computation = base->computation;
  if (n != computation->n_parameters) {
    return gemel__hlo_refuse(base, GEMEL_BAD_FILE, "%zu operands for %zu parameters", n,
                             computation->n_parameters);
  }
  gemel__hlo_value *values = gemel__hlo_room(base, computation->n_instrs * sizeof *values);
  if (values == NULL) {
    return 0;
  }
  for (size_t k = 0; k < n; k++) {
    base->instr = &computation->instrs[computation->parameters[k]];
    values[computation->parameters[k]] = operands[k];
    if (!check_result(base, &operands[k])) {
      return 0;
    }
  }
  for (uint32_t k = 0; k < computation->n_instrs; k++) {
    int is_given = gemel__hlo_is(computation->instrs[k].opcode, "parameter");
    if (!is_given && computation->instrs[k].is_live && !apply_one(base, k, values)) {
      return 0;
    }
  }
  *result = values[computation->root];
  return 1;
}

int gemel__hlo_apply(gemel__hlo_call *c, const gemel__hlo_computation *computation, size_t n,
                     const gemel__hlo_value *operands, gemel__hlo_value *result) {
  gemel__hlo_call inner = *c;
  inner.computation = computation;
  inner.depth++;
  return c->depth < DEEPEST
             ? apply_all(&inner, n, operands, result)
             : gemel__hlo_refuse(c, GEMEL_UNSUPPORTED, "calls nested more than %d deep", DEEPEST);
}

/* The arrays of VALUE, which is one or a tuple of such: N of them, broadcast to SIZES. */
static int take_arrays(gemel__hlo_call *c, const gemel__hlo_value *value, int rank,
                       const int64_t *sizes, size_t n, gemel_value *arrays) {
  const gemel__hlo_value *parts = gemel_is_null(value->value) ? value->parts : value;
  size_t n_parts = gemel_is_null(value->value) ? value->n_parts : 1;
  if (n_parts != n) {
    return gemel__hlo_refuse(c, GEMEL_BAD_FILE, "its computation has %zu results, not %zu", n_parts,
                             n);
  }
  for (size_t k = 0; k < n; k++) {
    if (gemel_is_null(parts[k].value)) {
      return gemel__hlo_refuse(c, GEMEL_BAD_FILE, "its computation gives no arrays");
    }
    arrays[k] = gemel__hlo_spread(c, parts[k].value, rank, sizes);
    if (gemel_is_null(arrays[k])) {
      return 0;
    }
  }
  return 1;
}

int gemel__hlo_map(gemel__hlo_call *c, const gemel__hlo_computation *computation, size_t n,
                   const gemel_value *operands, int rank, const int64_t *sizes, size_t n_results,
                   gemel_value *results) {
  gemel__hlo_call mapped = *c;
  gemel__hlo_value *values = gemel__hlo_room(c, n * sizeof *values), result;
  mapped.is_mapped = 1;
  for (size_t k = 0; k < n && values != NULL; k++) {
    values[k] = (gemel__hlo_value){.value = operands[k]};
  }
  return values != NULL && gemel__hlo_apply(&mapped, computation, n, values, &result) &&
         take_arrays(c, &result, rank, sizes, n_results, results);
}

/* ---- What a scalars' computation is ---- */

/* The instruction that K copies, or K. */
static const gemel__hlo_instr *behind_copies(const gemel__hlo_computation *c, uint32_t k) {
  while (gemel__hlo_is(c->instrs[k].opcode, "copy") && c->instrs[k].n_operands == 1) {
    k = c->instrs[k].operands[0];
  }
  return &c->instrs[k];
}

static int is_half(const gemel__hlo_instr *instr) {
  return instr->shape.dtype == GEMEL_F16 || instr->shape.dtype == GEMEL_BF16;
}

/* 1 if instruction K is parameter NUMBER; or, if it is WIDENED, a half as an f32. */
static int is_parameter(const gemel__hlo_computation *c, uint32_t k, size_t number, int widened) {
  const gemel__hlo_instr *instr = behind_copies(c, k);
  const gemel__hlo_instr *parameter = &c->instrs[c->parameters[number]];
  if (widened && (!gemel__hlo_is(instr->opcode, "convert") || instr->n_operands != 1 ||
                  instr->shape.dtype != GEMEL_F32 || !is_half(parameter))) {
    return 0;
  }
  return (widened ? behind_copies(c, instr->operands[0]) : instr) == parameter;
}

/* 1 if INSTR is of both parameters, in either order. */
static int is_of_both(const gemel__hlo_computation *c, const gemel__hlo_instr *instr, int widened) {
  return instr->n_operands == 2 && ((is_parameter(c, instr->operands[0], 0, widened) &&
                                     is_parameter(c, instr->operands[1], 1, widened)) ||
                                    (is_parameter(c, instr->operands[0], 1, widened) &&
                                     is_parameter(c, instr->operands[1], 0, widened)));
}

/* 1 if C is a sum of halves in f32, rounded. */
static int is_rounded_sum(const gemel__hlo_computation *c, const gemel__hlo_instr *root) {
  if (!gemel__hlo_is(root->opcode, "convert") || root->n_operands != 1 || !is_half(root)) {
    return 0;
  }
  const gemel__hlo_instr *sum = behind_copies(c, root->operands[0]);
  return gemel__hlo_is(sum->opcode, "add") && is_of_both(c, sum, 1) &&
         root->shape.dtype == c->instrs[c->parameters[0]].shape.dtype;
}

const char *gemel__hlo_kind(const gemel__hlo_computation *c) {
  static const char *const kinds[] = {"add", "multiply", "maximum", "minimum", "and", "or"};
  if (c->n_parameters != 2) {
    return NULL;
  }
  const gemel__hlo_instr *root = behind_copies(c, c->root);
  for (size_t k = 0; k < 2; k++) {
    if (&c->instrs[c->parameters[k]] == root) {
      return k == 0 ? "first" : "second";
    }
  }
  if (is_rounded_sum(c, root)) {
    return "add";
  }
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds && is_of_both(c, root, 0); k++) {
    if (gemel__hlo_is(root->opcode, kinds[k])) {
      return kinds[k];
    }
  }
  return NULL;
}

/* ---- The whole ---- */

/* FULL = NAME of an array of SHAPE: what has a type that gemel hasn't is named for that too, as the
 * name is all that tells it from another such type. */
static int name_array(gemel__hlo_call *c, const gemel__hlo_shape *shape, const char *name,
                      char full[MOST_NAME]) {
  int n = shape->dtype < 0 ? snprintf(full, MOST_NAME, "%s_%.*s", name, (int)shape->type.length,
                                      shape->type.text)
                           : snprintf(full, MOST_NAME, "%s", name);
  return n < MOST_NAME || gemel__hlo_refuse(c, GEMEL_UNSUPPORTED, "the name of a type is too long");
}

/* *VALUE = an input of SHAPE called NAME, or a tuple of such. */
static int make_input(gemel__hlo_call *c, const gemel__hlo_shape *shape, const char *name,
                      gemel__hlo_value *value) {
  char longer[MOST_NAME];
  if (!shape->is_tuple) {
    gemel_type type = gemel_type_of_shape(c->import->context, gemel__hlo_carrier(shape),
                                          shape->rank, shape->dims);
    if (gemel_type_is_none(type)) {
      return gemel__hlo_refuse(c, GEMEL_NO_MEMORY, "out of memory");
    }
    return name_array(c, shape, name, longer) &&
           gemel__hlo_give(value, gemel_input_at(c->graph, longer, type, c->where));
  }
  gemel__hlo_value *parts = gemel__hlo_room(c, shape->n_parts * sizeof *parts);
  int good = parts != NULL;
  for (size_t k = 0; k < shape->n_parts && good; k++) {
    if (snprintf(longer, sizeof longer, "%s_%zu", name, k) >= (int)sizeof longer) {
      return gemel__hlo_refuse(c, GEMEL_UNSUPPORTED, "a parameter that is nested too deep");
    }
    good = make_input(c, &shape->parts[k], longer, &parts[k]);
  }
  *value = (gemel__hlo_value){.n_parts = shape->n_parts, .parts = parts};
  return good;
}

/* Makes the arrays in VALUE, which is as SHAPE says, outputs; *N counts them. */
static int make_outputs(gemel__hlo_call *c, const gemel__hlo_shape *shape,
                        const gemel__hlo_value *value, size_t *n) {
  char name[MOST_NAME], full[MOST_NAME];
  if (!gemel_is_null(value->value)) {
    snprintf(name, sizeof name, "out%zu", (*n)++);
    return name_array(c, shape, name, full) &&
           gemel_output_at(value->value, full, c->where) == GEMEL_OK;
  }
  for (size_t k = 0; k < value->n_parts; k++) {
    if (!make_outputs(c, &shape->parts[k], &value->parts[k], n)) {
      return 0;
    }
  }
  return 1;
}

/* Fills the graph of C with the entry computation. */
static int import_entry(gemel__hlo_call *c) {
  const gemel__hlo_computation *entry = c->computation;
  gemel__hlo_value *inputs, result;
  char name[MOST_NAME];
  size_t n = 0;
  c->instr = &entry->instrs[entry->root];
  inputs = gemel__hlo_room(c, entry->n_parameters * sizeof *inputs);
  for (size_t k = 0; k < entry->n_parameters && inputs != NULL; k++) {
    c->instr = &entry->instrs[entry->parameters[k]];
    snprintf(name, sizeof name, "p%zu", k);
    if (!make_input(c, &c->instr->shape, name, &inputs[k])) {
      return 0;
    }
  }
  if (inputs == NULL || !apply_all(c, entry->n_parameters, inputs, &result) ||
      !make_outputs(c, &entry->instrs[entry->root].shape, &result, &n)) {
    return 0;
  }
  return gemel_graph_output_count(c->graph) > 0 ||
         gemel__hlo_refuse(c, GEMEL_UNSUPPORTED, "a module without results");
}

/* *NAME = the module's name, as text that is the caller's. */
static gemel_status give_name(const gemel_hlo *module, char **name, gemel_error *error) {
  if (name == NULL) {
    return GEMEL_OK;
  }
  *name = gemel__copy_string(module->name);
  return *name != NULL ? GEMEL_OK : gemel__no_memory(error, "a name");
}

gemel_graph *gemel_hlo_graph(const gemel_hlo *module, gemel_context *context, char **name,
                             gemel_error *error) {
  if (module == NULL || context == NULL) {
    gemel__null(error, module == NULL ? "the module" : "the context");
    return NULL;
  }
  gemel_graph *graph = gemel_graph_new(context, error);
  gemel__hlo_import import = {.module = module, .context = context};
  gemel__hlo_call c = {.import = &import,
                       .graph = graph,
                       .computation = &module->computations[module->entry],
                       .where = {module->file, 1}};
  if (graph == NULL) {
    return NULL;
  }
  int good = import_entry(&c);
  gemel__arena_clear(&import.arena);
  if (!good && import.unsaid[0] != '\0' && gemel_graph_error(graph)->status == GEMEL_OK) {
    gemel__graph_fail_at(graph, c.where, GEMEL_UNSUPPORTED, "%s", import.unsaid);
  }
  if (!good || give_name(module, name, error) != GEMEL_OK) {
    if (!good && error != NULL) {
      *error = *gemel_graph_error(graph);
    }
    gemel_graph_unref(graph);
    return NULL;
  }
  return graph;
}
