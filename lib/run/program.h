/* SPDX-License-Identifier: MIT
 *
 * A *run program* is a compiled function's own compact copy of the live part of its graph: values
 * are numbered through, and nodes stand in the order in which they are computed. It doesn't change
 * once it is made.
 */
#ifndef GEMEL__RUN_PROGRAM_H
#define GEMEL__RUN_PROGRAM_H

#include <stdint.h>
#include <gemel/function.h>
#include "core/context.h"
#include "core/graph.h"
#include "device/device.h"
#include "ops/ops.h"

#define GEMEL__NO_VALUE UINT32_MAX

typedef struct gemel__pnode {
  uint16_t op; /* index in program->ops */
  uint16_t n_outputs;
  uint32_t attrs; /* of an input: which one it is */
  uint32_t in_begin;
  uint32_t value; /* its first output; the others follow */
  uint32_t line;
  uint32_t file;
} gemel__pnode;

typedef enum gemel__pkind {
  GEMEL__P_INPUT,
  GEMEL__P_CONSTANT,
  GEMEL__P_TRANSFER, /* between two devices; on one it is a view */
  GEMEL__P_SCALAR,   /* a row of scalar.def that the tile engine runs */
  GEMEL__P_KERNEL
} gemel__pkind;

typedef struct gemel__pop {
  const gemel__op *op;
  const gemel__scalar_row *row;
  gemel__pkind kind;
} gemel__pop;

/* A type of the program: types are numbered anew, so that tables of them are small. */
typedef struct gemel__ptype {
  gemel_type type;
  uint8_t device;      /* number among the program's */
  uint8_t constant;    /* all dims are constants */
  uint8_t has_runtime; /* a dim is a size that a node produces */
} gemel__ptype;

/* An input or output of the function. */
typedef struct gemel__port {
  const char *name;
  uint32_t value;
  const gemel_device *device;
  uint32_t pair; /* of a state its update's output, of an update its state's input; or
                    GEMEL__NO_VALUE */
} gemel__port;

typedef struct gemel__run_program {
  gemel_context *context;
  gemel__pnode *nodes; /* n_nodes + 1: a sentinel ends the pool and the values */
  uint32_t n_nodes, n_values, n_pool, n_types, n_ops, n_files;
  uint32_t *pool;        /* values that nodes read */
  uint32_t *value_types; /* index in types */
  uint32_t *uses;        /* of each value, by nodes and outputs */
  uint8_t *read_here;    /* of each value: 1: something else than a transfer uses it */
  uint64_t *original;    /* id in the graph << 32 | node, sorted: for sizes that nodes produce */
  gemel__ptype *types;
  gemel__pop *ops;
  const char **files;
  gemel__port *inputs, *outputs;
  uint32_t n_inputs, n_outputs;
  uint32_t n_devices;
  const gemel_device *devices[256]; /* on which values lie; the host first */
  uint8_t inner;    /* 1: a body on a device, whose caller may be recording: it records nothing */
  uint64_t *direct; /* value << 32 | output, sorted: to find the output that a value is */
} gemel__run_program;

gemel_status gemel__run_program_make(gemel__run_program *program, const gemel_graph *graph,
                                     gemel_error *error);
void gemel__run_program_release(gemel__run_program *program);

static inline gemel_type gemel__value_type(const gemel__run_program *p, uint32_t value) {
  return p->types[p->value_types[value]].type;
}

/* Number of the device on which VALUE lies; 0: the host. */
static inline uint8_t gemel__value_device(const gemel__run_program *p, uint32_t value) {
  return p->types[p->value_types[value]].device;
}

static inline const uint32_t *gemel__pnode_inputs(const gemel__run_program *p, uint32_t node,
                                                  uint32_t *count) {
  *count = p->nodes[node + 1].in_begin - p->nodes[node].in_begin;
  return p->pool + p->nodes[node].in_begin;
}

/* The node that was ORIGINAL in the graph, or n_nodes. */
uint32_t gemel__node_of(const gemel__run_program *program, uint32_t original);

/* The first output of the function that VALUE is, or n_outputs. */
uint32_t gemel__run_program_output(const gemel__run_program *program, uint32_t value);

/* Puts "file:line: operation(types): " before the error's message. */
void gemel__blame(const gemel__run_program *program, uint32_t node, gemel_error *error);

#endif
