/* SPDX-License-Identifier: MIT
 *
 * An expression as a flat program: instructions in the order in which they can be executed, each
 * giving one value, operands named by the index of the instruction that gives them.
 *
 * Literals without a dtype make it more than a list. `where(x == y, 0.5, 0)` has none either, so it
 * must wait for what it is combined with: such instructions are called weak. They are skipped when
 * their turn comes, and executed right before the first strong instruction that uses them, in the
 * dtype of its strong operands (f64 where an integer meets a float literal; i64 or f64 where
 * everything is a literal). The weak instructions that belong to a strong one stand between its
 * weak operand and the beginning of that operand's own sub-expression, and know their owner.
 */
#ifndef GEMEL__TEXT_PROGRAM_H
#define GEMEL__TEXT_PROGRAM_H

#include "text/values.h"

enum {
  GEMEL__CODE_VARIABLE, /* ref */
  GEMEL__CODE_LITERAL,  /* number, weak */
  GEMEL__CODE_CONSTANT, /* tensor of rank 0 or more, strong */
  GEMEL__CODE_APPLY,    /* op with interned attributes */
  GEMEL__CODE_BOUND     /* op with attributes that are known when it is built */
};

typedef struct gemel__code {
  unsigned char kind;
  unsigned char weak;
  unsigned char floating; /* weak: it holds a float literal, or gives a float */
  unsigned char has_weak; /* an operand is weak */
  uint32_t line;
  uint32_t op;
  uint32_t attrs;        /* id; of a BOUND one, index of the first in program->bound */
  uint32_t first, count; /* operands */
  uint32_t n_bound;
  uint32_t low;   /* where its sub-expression begins */
  uint32_t owner; /* of a weak one: the instruction that executes it, or none */
  union {
    gemel__ref ref;
    struct {
      double real;
      uint64_t magnitude;
      int negative;
    } number;
    gemel_tensor *tensor;
  } u;
} gemel__code;

/* A run-time attribute, which is known when the program runs: it is the attribute variable
 * VARIABLE, or (-1) holds sizes that values of the graph give. */
typedef struct gemel__expr_attr {
  gemel_attr attr;
  int variable;
} gemel__expr_attr;

#define GEMEL__NO_OWNER UINT32_MAX

typedef struct gemel__expr_program {
  gemel_context *context;
  gemel__code *code;
  size_t n_code, code_capacity;
  uint32_t *operands;
  size_t n_operands, operand_capacity;
  gemel__expr_attr *bound;
  size_t n_bound, bound_capacity;
  gemel__attr_store store;
  /* What the parser keeps between tokens (infix.c). */
  struct gemel__infix_frame *frames;
  size_t n_frames, frame_capacity;
  uint32_t *stack; /* complete operands */
  size_t n_stack, stack_capacity;
  gemel__expr_attr *pending; /* attributes of calls that are still open */
  size_t n_pending, pending_capacity;
} gemel__expr_program;

/* A program on CONTEXT; all-zero otherwise. */
void gemel__expr_program_init(gemel__expr_program *program, gemel_context *context);
/* Empty again, with its memory kept / released. */
void gemel__expr_program_reset(gemel__expr_program *program);
void gemel__expr_program_discard(gemel__expr_program *program);

/* Append one instruction whose index becomes *INDEX. GEMEL_NO_MEMORY. LINE is its provenance. */
gemel_status gemel__expr_program_variable(gemel__expr_program *program, gemel__ref ref, int line,
                                          uint32_t *index, gemel_error *error);
gemel_status gemel__expr_program_literal(gemel__expr_program *program, const gemel__number *number,
                                         int line, uint32_t *index, gemel_error *error);
/* TENSOR is owned by the program's store. */
gemel_status gemel__expr_program_constant(gemel__expr_program *program, gemel_tensor *tensor,
                                          int line, uint32_t *index, gemel_error *error);
/* Applies OP to OPERANDS; ATTRS is an id, or with N_BOUND > 0 the place in program->bound. */
gemel_status gemel__expr_program_apply(gemel__expr_program *program, uint32_t op, size_t count,
                                       const uint32_t *operands, uint32_t attrs, size_t n_bound,
                                       int line, uint32_t *index, gemel_error *error);

/* Executes the program on GRAPH; VALUES has room for n_code values and receives what each
 * instruction gave. A variable is variables[ref.node], or (VARIABLES NULL) the value REF of the
 * graph. ATTRS are what bound attributes refer to. LINES: instructions carry their own line, which
 * counts from WHERE's; else all have WHERE's. Returns the last instruction's value. */
gemel_value gemel__expr_program_run(const gemel__expr_program *program, gemel_graph *graph,
                                    const gemel_value *variables, const gemel_attr *attrs,
                                    gemel_location where, int lines, gemel_value *values);

/* Parses one expression (infix.c); *INDEX is the instruction that gives its value. Without a SCOPE
 * no names are known. */
gemel_status gemel__infix_parse(gemel__expr_program *program, gemel__lex *lex,
                                const gemel__scope *scope, uint32_t *index, gemel_error *error);

#endif
