/* SPDX-License-Identifier: MIT
 *
 * Programs: appending instructions, and executing them on a graph. Execution allocates nothing (but
 * for calls with more than LOCAL operands) and looks at each instruction once, weak ones twice.
 */
#include <math.h>
#include <string.h>
#include "core/alloc.h"
#include "core/registry.h"
#include "core/dtype.h"
#include "core/rows.h"
#include "core/value.h"
#include "text/program.h"

enum { LOCAL = 16, MAX_BOUND = 32 };

void gemel__expr_program_init(gemel__expr_program *program, gemel_context *context) {
  memset(program, 0, sizeof *program);
  program->context = context;
}

void gemel__expr_program_reset(gemel__expr_program *program) {
  program->n_code = program->n_operands = program->n_bound = 0;
  program->n_frames = program->n_stack = program->n_pending = 0;
  gemel__store_reset(&program->store);
}

/* ---- Appending ---- */

static gemel__code *append(gemel__expr_program *program, int kind, int line, uint32_t *index,
                           gemel_error *error) {
  if (program->n_code >= UINT32_MAX / 2 ||
      gemel__grow(&program->code, &program->code_capacity, program->n_code + 1,
                  sizeof *program->code)) {
    gemel__no_memory(error, "an expression");
    return NULL;
  }
  gemel__code *code = &program->code[program->n_code];
  memset(code, 0, sizeof *code);
  *index = (uint32_t)program->n_code++;
  code->kind = (unsigned char)kind;
  code->line = (uint32_t)line;
  code->low = *index;
  code->owner = GEMEL__NO_OWNER;
  return code;
}

gemel_status gemel__expr_program_variable(gemel__expr_program *program, gemel__ref ref, int line,
                                          uint32_t *index, gemel_error *error) {
  gemel__code *code = append(program, GEMEL__CODE_VARIABLE, line, index, error);
  if (!code) {
    return GEMEL_NO_MEMORY;
  }
  code->u.ref = ref;
  return GEMEL_OK;
}

gemel_status gemel__expr_program_literal(gemel__expr_program *program, const gemel__number *number,
                                         int line, uint32_t *index, gemel_error *error) {
  gemel__code *code = append(program, GEMEL__CODE_LITERAL, line, index, error);
  if (!code) {
    return GEMEL_NO_MEMORY;
  }
  code->weak = 1;
  code->floating = number->is_float != 0;
  code->u.number.real = gemel__number_double(number);
  code->u.number.magnitude = number->magnitude;
  code->u.number.negative = number->negative;
  return GEMEL_OK;
}

gemel_status gemel__expr_program_constant(gemel__expr_program *program, gemel_tensor *tensor,
                                          int line, uint32_t *index, gemel_error *error) {
  gemel__code *code = append(program, GEMEL__CODE_CONSTANT, line, index, error);
  if (!code) {
    return GEMEL_NO_MEMORY;
  }
  code->u.tensor = tensor;
  return GEMEL_OK;
}

/* Operand 0 of where is a condition: its dtype is no concern of the others. */
static uint32_t first_number(const gemel__scalar_row *row) {
  return row && row->code == GEMEL__TYPE_SELECT;
}

/* 1 if the operation on weak numbers gives a weak number. */
static int passes_weakness(const gemel__scalar_row *row) {
  return row && row->code != GEMEL__TYPE_COMPARE && row->code != GEMEL__TYPE_LOGIC &&
         row->code != GEMEL__TYPE_CAST;
}

/* Makes CODE, at INDEX, the owner of the weak instructions of its weak operands. */
static void own_weak(gemel__expr_program *program, gemel__code *code, uint32_t index) {
  code->has_weak = 1;
  for (uint32_t k = 0; k < code->count; k++) {
    uint32_t operand = program->operands[code->first + k];
    if (program->code[operand].weak) {
      for (uint32_t j = program->code[operand].low; j <= operand; j++) {
        if (program->code[j].weak && program->code[j].owner == GEMEL__NO_OWNER) {
          program->code[j].owner = index;
        }
      }
    }
  }
}

/* Decides whether CODE, whose operands are in place, is weak. */
static void decide_weakness(gemel__expr_program *program, gemel__code *code, uint32_t index) {
  const gemel__scalar_row *row = gemel__scalar_row_of(gemel__callee(program->context, code->op));
  uint32_t weak = 0, from = first_number(row), any = 0;
  for (uint32_t k = 0; k < code->count; k++) {
    const gemel__code *operand = &program->code[program->operands[code->first + k]];
    any |= operand->weak;
    weak += k >= from && operand->weak;
    code->floating |= k >= from && operand->weak && operand->floating;
    code->low = operand->low < code->low ? operand->low : code->low;
  }
  if (!any) {
    return;
  }
  if (passes_weakness(row) && weak == code->count - from) {
    code->weak = 1;
    code->floating |= row->code == GEMEL__TYPE_REAL || row->code == GEMEL__TYPE_QUOTIENT;
    return;
  }
  own_weak(program, code, index);
}

gemel_status gemel__expr_program_apply(gemel__expr_program *program, uint32_t op, size_t count,
                                       const uint32_t *operands, uint32_t attrs, size_t n_bound,
                                       int line, uint32_t *index, gemel_error *error) {
  if (gemel__grow(&program->operands, &program->operand_capacity, program->n_operands + count,
                  sizeof *program->operands)) {
    return gemel__no_memory(error, "an expression");
  }
  gemel__code *code =
      append(program, n_bound || op & GEMEL__COMPOSITE ? GEMEL__CODE_BOUND : GEMEL__CODE_APPLY,
             line, index, error);
  if (!code) {
    return GEMEL_NO_MEMORY;
  }
  code->op = op;
  code->attrs = attrs;
  code->n_bound = (uint32_t)n_bound;
  code->first = (uint32_t)program->n_operands;
  code->count = (uint32_t)count;
  if (count) {
    memcpy(program->operands + program->n_operands, operands, count * sizeof *operands);
  }
  program->n_operands += count;
  decide_weakness(program, code, *index);
  return GEMEL_OK;
}

/* ---- Executing ---- */

typedef struct run {
  const gemel__expr_program *program;
  gemel_graph *graph;
  const gemel_value *variables;
  const gemel_attr *attrs;
  gemel_location where;
  int lines;
  gemel_value *values;
} run;

static gemel_location place(const run *r, const gemel__code *code) {
  gemel_location where = r->where;
  if (r->lines) {
    where.line = (int)code->line;
  }
  return where;
}

/* A constant of rank 0 through the graph's memory of scalars, if a double can carry it. */
static gemel_value constant(const run *r, gemel_tensor *tensor, gemel_location where) {
  gemel_dtype dtype = gemel_tensor_dtype(tensor);
  if (gemel_tensor_rank(tensor) == 0) {
    unsigned char back[8];
    double value = gemel__dtype_load(dtype, gemel_tensor_data(tensor));
    if (value == value && fabs(value) < 0x1p53 &&
        gemel__dtype_store(dtype, value, back) == GEMEL_OK) {
      return gemel_scalar_at(r->graph, dtype, value, where);
    }
  }
  return gemel_constant_at(r->graph, tensor, where);
}

/* The literal in DTYPE. */
static gemel_value literal(const run *r, const gemel__code *code, gemel_dtype dtype) {
  gemel_location where = place(r, code);
  if (code->floating || code->u.number.magnitude <= (uint64_t)1 << 53) {
    return gemel_scalar_at(r->graph, dtype, code->u.number.real, where);
  }
  gemel__number number = {.negative = code->u.number.negative,
                          .magnitude = code->u.number.magnitude};
  unsigned char element[8];
  gemel_view view = {dtype, 0, NULL, NULL, element};
  if (gemel__number_store(&number, dtype, element)) {
    return gemel__graph_fail(r->graph, GEMEL_BAD_VALUE, "%s:%d: %s can't hold %s%llu", where.file,
                             where.line, gemel_dtype_name(dtype), number.negative ? "-" : "",
                             (unsigned long long)number.magnitude);
  }
  gemel_tensor *tensor = gemel_tensor_copy(&view, NULL);
  if (!tensor) {
    return gemel__graph_fail(r->graph, GEMEL_NO_MEMORY, "out of memory for a constant");
  }
  gemel_value value = gemel_constant_at(r->graph, tensor, where);
  gemel_tensor_unref(tensor);
  return value;
}

/* Applies with attributes bound now: variables' from the caller's, run-time sizes' lifted. */
static gemel_value apply_bound(const run *r, const gemel__code *code, size_t n,
                               const gemel_value *inputs) {
  gemel_attr attrs[MAX_BOUND];
  const gemel_operation *record = gemel__callee(r->program->context, code->op);
  for (uint32_t k = 0; k < code->n_bound; k++) {
    const gemel__expr_attr *bound = &r->program->bound[code->attrs + k];
    attrs[k] = bound->attr;
    if (bound->variable >= 0) {
      attrs[k] = r->attrs[bound->variable];
      attrs[k].name = bound->attr.name;
    }
  }
  return gemel_apply_at(r->graph, record->name, n, inputs, code->n_bound, attrs, place(r, code));
}

/* Literals among INPUTS go to the memory space of what they are combined with. */
static void move_literals(const run *r, const gemel__code *code, gemel_value *inputs) {
  const uint32_t *operands = r->program->operands + code->first;
  int space = GEMEL_SPACE_HOST;
  for (uint32_t k = 0; k < code->count; k++) {
    if (!r->program->code[operands[k]].weak) {
      int one = gemel_type_space(r->graph->context, gemel_value_type(inputs[k]));
      space = one != GEMEL_SPACE_HOST ? one : space;
    }
  }
  for (uint32_t k = 0; k < code->count && space != GEMEL_SPACE_HOST; k++) {
    if (r->program->code[operands[k]].weak) {
      inputs[k] = gemel__in_space(inputs[k], space, place(r, code));
    }
  }
}

static gemel_value apply_to(const run *r, const gemel__code *code, gemel_value *inputs) {
  const uint32_t *operands = r->program->operands + code->first;
  for (uint32_t k = 0; k < code->count; k++) {
    inputs[k] = r->values[operands[k]];
    if (gemel_is_null(inputs[k])) {
      return gemel__no_value;
    }
  }
  move_literals(r, code, inputs);
  if (code->kind == GEMEL__CODE_BOUND) {
    return apply_bound(r, code, code->count, inputs);
  }
  return gemel__apply(r->graph, code->op, code->attrs, code->count, inputs, place(r, code));
}

static gemel_value apply(const run *r, const gemel__code *code) {
  gemel_value local[LOCAL];
  if (code->count <= LOCAL) {
    return apply_to(r, code, local);
  }
  gemel_value *inputs = (gemel_value *)gemel__alloc_array(code->count, sizeof *inputs);
  if (!inputs) {
    return gemel__graph_fail(r->graph, GEMEL_NO_MEMORY, "out of memory for inputs");
  }
  gemel_value value = apply_to(r, code, inputs);
  gemel__free(inputs, code->count * sizeof *inputs);
  return value;
}

/* The dtype of CODE's strong operands together, but for a condition; -1: there are none. */
static int strong_dtype(const run *r, const gemel__code *code) {
  const uint32_t *operands = r->program->operands + code->first;
  const gemel__scalar_row *row = gemel__scalar_row_of(gemel__callee(r->program->context, code->op));
  int dtype = -1;
  for (uint32_t k = first_number(row); k < code->count; k++) {
    gemel_value value = r->values[operands[k]];
    if (!r->program->code[operands[k]].weak && !gemel_is_null(value)) {
      gemel_dtype one = gemel__value_dtype(value);
      dtype = (int)(dtype < 0 ? one : gemel_promote((gemel_dtype)dtype, one));
    }
  }
  return dtype;
}

/* The dtype that a weak operand takes where the strong ones have DTYPE. */
static gemel_dtype weak_dtype(int dtype, int floating) {
  gemel_kind kind = dtype < 0 ? GEMEL_KIND_BOOL : gemel_dtype_kind((gemel_dtype)dtype);
  if (kind == GEMEL_KIND_FLOAT || (kind != GEMEL_KIND_BOOL && !floating)) {
    return (gemel_dtype)dtype;
  }
  return floating ? GEMEL_F64 : GEMEL_I64;
}

/* Executes the weak instructions up to OPERAND that OWNER owns, in DTYPE. */
static void run_weak(const run *r, uint32_t operand, uint32_t owner, gemel_dtype dtype) {
  const gemel__code *code = r->program->code;
  for (uint32_t j = code[operand].low; j <= operand; j++) {
    if (code[j].weak && code[j].owner == owner) {
      r->values[j] =
          code[j].kind == GEMEL__CODE_LITERAL ? literal(r, &code[j], dtype) : apply(r, &code[j]);
    }
  }
}

static void run_weak_operands(const run *r, const gemel__code *code, uint32_t index) {
  const uint32_t *operands = r->program->operands + code->first;
  uint32_t from = first_number(gemel__scalar_row_of(gemel__callee(r->program->context, code->op)));
  int dtype = strong_dtype(r, code), floating = 0;
  for (uint32_t k = from; k < code->count && dtype < 0; k++) {
    floating |= r->program->code[operands[k]].floating;
  }
  for (uint32_t k = 0; k < code->count; k++) {
    const gemel__code *operand = &r->program->code[operands[k]];
    if (operand->weak) {
      int known = k >= from ? dtype : -1;
      run_weak(r, operands[k], index, weak_dtype(known, floating | operand->floating));
    }
  }
}

static gemel_value execute(const run *r, uint32_t index) {
  const gemel__code *code = &r->program->code[index];
  switch (code->kind) {
  case GEMEL__CODE_VARIABLE:
    return r->variables ? r->variables[code->u.ref.node] : gemel__value(r->graph, code->u.ref);
  case GEMEL__CODE_CONSTANT:
    return constant(r, code->u.tensor, place(r, code));
  default:
    if (code->has_weak) {
      run_weak_operands(r, code, index);
    }
    return apply(r, code);
  }
}

gemel_value gemel__expr_program_run(const gemel__expr_program *program, gemel_graph *graph,
                                    const gemel_value *variables, const gemel_attr *attrs,
                                    gemel_location where, int lines, gemel_value *values) {
  run r = {program, graph, variables, attrs, where, lines, values};
  uint32_t last = (uint32_t)program->n_code - 1;
  for (uint32_t k = 0; k <= last; k++) {
    if (!program->code[k].weak) {
      values[k] = execute(&r, k);
      if (gemel_is_null(values[k])) {
        return gemel__no_value;
      }
    }
  }
  if (program->code[last].weak) {
    run_weak(&r, last, GEMEL__NO_OWNER, weak_dtype(-1, program->code[last].floating));
  }
  return values[last];
}
