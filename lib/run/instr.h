/* SPDX-License-Identifier: MIT
 *
 * What an instruction is, for those who tell people about it: the listing of a plan, the profile of
 * calls, the guard. Nodes are called by their number in the function's program: %3.
 */
#ifndef GEMEL__RUN_INSTR_H
#define GEMEL__RUN_INSTR_H

#include "run/execution.h"

/* 1 if INSTR holds a KERNEL; a MOVE. */
static inline int gemel__instr_is_kernel(const gemel__instr *instr) {
  return instr->kind >= GEMEL__INSTR_KERNEL && instr->kind <= GEMEL__INSTR_CLUSTER;
}
static inline int gemel__instr_moves(const gemel__instr *instr) {
  return instr->kind >= GEMEL__INSTR_COPY;
}

/* 0: an instruction of KIND is only there so that errors show. */
static inline int gemel__instr_computes(gemel__instr_kind kind) {
  return kind < GEMEL__INSTR_POISON;
}

/* "loop", "kernel", "copy", … */
const char *gemel__instr_kind_name(gemel__instr_kind kind);

/* The cluster that INSTR computes; NULL: it is none. */
const gemel__cluster_record *gemel__instr_cluster_of(const gemel__instr *instr);

/* The nodes that INSTR computes, in order: a loop's members, else one; none for what only moves
 * bytes to an output. */
const uint32_t *gemel__instr_nodes(const gemel__run_program *program, const gemel__instr *instr,
                                   uint32_t *count);

/* "library" of a kernel, "" of what has no choice. */
const char *gemel__instr_kernel_name(const gemel__instr *instr);

/* What a person calls it: "dot", "copy", or of a loop the operations of its members in order,
 * "mul+add+tanh", shortened to fit BYTES. */
void gemel__instr_operation(const gemel__run_program *program, const gemel__instr *instr,
                            char *text, size_t bytes);

/* "elementwise", "linalg", …: the family of the operation; "copy" for what only moves bytes, and
 * "other" for operations that a program registered. */
const char *gemel__instr_class(const gemel__run_program *program, const gemel__instr *instr);

/* The work of one run, as the operation's row says it (<gemel/operation.h>: COST). A loop has one
 * flop for each element of each member, and moves the bytes of what it loads, each element once,
 * and of what it stores: values between members are no traffic. What calls a body has no work of
 * its own. */
void gemel__instr_cost(const gemel__instr *instr, double *flops, double *bytes);

/* Where the user's program made NODE; the file is "" if that isn't known. */
gemel_location gemel__pnode_where(const gemel__run_program *program, uint32_t node);

#endif
