/* SPDX-License-Identifier: MIT
 *
 * A *plan* is what a program does for one signature (shapes and strides of the inputs): all sizes
 * are numbers in it. It is a tree of *segments*, nearly always of one: where a size is only known
 * at run time, a segment ends at the first node that needs it, and the rest is planned for the size
 * that was seen; other sizes give the segment other children. A segment is a list of *instructions*
 * whose pointers are all set when it is planned, except for those into inputs and results, which a
 * short list of *patches* sets at each call.
 */
#ifndef GEMEL__RUN_PLAN_H
#define GEMEL__RUN_PLAN_H

#include <stddef.h>
#include <gemel/operation.h>
#include "core/arena.h"
#include "core/nested.h"
#include "cpu/loop.h"
#include "run/program.h"

enum { GEMEL__PLANS = 8 }; /* kept for a function, and children for a segment */

/* ---- Values of a plan ---- */

/* Where elements lie relative to a buffer: shape and strides are RANK numbers each. */
typedef struct gemel__plan_layout {
  gemel_dtype dtype;
  int rank;
  int dense;         /* row-major without gaps */
  int channels_last; /* images without gaps and with channels last (core/tensor.h) */
  int64_t elements;
  int64_t bytes; /* elements × their size */
  int64_t offset;
  gemel_type type; /* with constant dims; GEMEL_TYPE_NONE until it is asked for */
  const int64_t *shape;
  const int64_t *strides;
} gemel__plan_layout;

typedef enum gemel__buffer_kind {
  GEMEL__B_PORT,  /* an input or a result: DATA is known at a call; PORT counts inputs, then outputs
                   */
  GEMEL__B_ARENA, /* in the segment's arena, in place SLOT */
  GEMEL__B_FIXED  /* DATA: a constant, or of an earlier segment */
} gemel__buffer_kind;

typedef struct gemel__run_buffer {
  gemel__buffer_kind kind;
  uint8_t device;   /* number */
  uint8_t constant; /* DATA never changes */
  uint32_t port;
  uint32_t slot;
  uint32_t remaining; /* uses of it and its views that are not scheduled yet */
  int64_t bytes;
  char *data;
  struct gemel__move *begun; /* what told a device of its value; NULL: nothing did */
} gemel__run_buffer;

/* Where a value is. A value inside a cluster of elementwise nodes that is not closed yet has no
 * buffer but a CLUSTER (its number + 1) and is MEMBER there. */
typedef struct gemel__plan_place {
  gemel__plan_layout *layout; /* NULL: not planned yet */
  gemel__run_buffer *buffer;
  uint32_t cluster;
  uint32_t member;
} gemel__plan_place;

/* ---- Instructions ---- */

typedef struct gemel__execution gemel__execution; /* execution.h */

/* A run-time size in an attribute: evaluated from DIM to *TARGET at each call. */
typedef struct gemel__runtime_attribute {
  gemel_dim dim;
  int64_t *target;
} gemel__runtime_attribute;

/* What a cluster of elementwise nodes computes: MEMBERS are nodes in order; LOADS and STORES the
 * values that it reads and writes, each in memory. */
typedef struct gemel__cluster_record {
  const gemel__plan_layout *shape;
  uint32_t n_members, n_loads, n_stores;
  const uint32_t *members;
  const uint32_t *loads, *stores;
} gemel__cluster_record;

/* A cluster as one loop. */
typedef struct gemel__fused {
  gemel__loop loop;
  gemel__cluster_record cluster;
} gemel__fused;

typedef struct gemel__invocation {
  gemel_kernel_call call;
  gemel__nested nested;
  gemel_status (*run)(const gemel_kernel_call *call);
  const gemel_kernel *candidates; /* in their order */
  const gemel_kernel *chosen;     /* the one that RUN is of; of a dynamic one the last call's */
  const gemel__cluster_record *cluster; /* that it computes; NULL: it computes a node */
  gemel__runtime_attribute *runtime;
  size_t n_runtime;
  uint32_t added; /* the value that is nested.bias, if that isn't NULL */
  struct gemel__invocation *next_to_release;
} gemel__invocation;

typedef struct gemel__move {
  const gemel_device *device;       /* that does it; of a fetch the one that is waited for */
  const gemel__plan_layout *layout; /* of the source */
  const int64_t *to_strides;
  char *to;
  const char *from;
  uint32_t output;
  int64_t bytes; /* of poison, and of what goes from device to device */
  int pattern;
  struct gemel__move *begun; /* of a note: the one that began the value; of that: itself */
  int open; /* of a note that begins a value, once a run has failed: it hasn't ended */
} gemel__move;

/* What an instruction does, and so which member of its union it has. */
typedef enum gemel__instr_kind {
  GEMEL__INSTR_LOOP, /* LOOP */
  /* KERNEL: */
  GEMEL__INSTR_KERNEL,
  GEMEL__INSTR_DYNAMIC, /* attributes hold sizes that are read at each call */
  GEMEL__INSTR_CLUSTER, /* elementwise nodes, as one kernel of a device */
  /* MOVE: */
  GEMEL__INSTR_COPY,
  GEMEL__INSTR_UPLOAD, /* of bytes, from staging memory on the host to a device */
  GEMEL__INSTR_DOWNLOAD,
  GEMEL__INSTR_FETCH,  /* of bytes out of staging memory, once they are there */
  GEMEL__INSTR_RESULT, /* into the tensor of an output */
  /* MOVE, too, but only there so that errors show: */
  GEMEL__INSTR_POISON, /* fills memory that must not be read before it is written */
  GEMEL__INSTR_NOTE    /* tells a device that looks for mistakes of a value's life */
} gemel__instr_kind;

/* Each device has its queue, in which its instructions are asked for in order; the host's are done
 * at once. Those of two queues may change places (queues.c) but for what AFTER and ALONE say. */
typedef struct gemel__instr {
  gemel__instr_kind kind;
  uint32_t node;
  uint32_t after; /* the instruction of another queue that must come first; GEMEL__NO_INSTR */
  uint8_t queue;  /* number of the device */
  uint8_t alone;  /* nothing changes places with it */
  union {
    gemel__fused *loop;
    gemel__invocation *kernel;
    gemel__move *move;
  };
} gemel__instr;

#define GEMEL__NO_INSTR UINT32_MAX

enum { GEMEL__RECORDINGS = 4 };

/* Instructions of one queue that follow each other, and can be recorded: the recordings of the last
 * few sets of addresses that its inputs and outputs had. */
typedef struct gemel__stretch {
  size_t begin, end; /* instructions */
  uint8_t queue;
  struct {
    void *recording; /* NULL: none yet */
    char **ports;    /* addresses of all inputs and outputs on devices; NULL: not in use */
    uint64_t used;   /* the number of the last call that had these */
  } kept[GEMEL__RECORDINGS];
} gemel__stretch;

/* *WHERE = pointer of port PORT + OFFSET. */
typedef struct gemel__patch {
  char **where;
  uint32_t port;
  int64_t offset;
} gemel__patch;

/* A result that a segment makes. */
typedef struct gemel__result {
  uint32_t output;
  const gemel__plan_layout *layout;
} gemel__result;

/* Memory of a device. */
typedef struct gemel__device_block {
  const gemel_device *device;
  void *data;
  size_t bytes;
  enum {
    GEMEL__BLOCK_ARENA,
    GEMEL__BLOCK_VALUE,  /* of one value */
    GEMEL__BLOCK_STAGING /* of the host, to copy from and to */
  } kind;
} gemel__device_block;

typedef struct gemel__segment {
  struct gemel__segment *parent, *children, *next; /* NEXT: sibling, most recently used first */
  gemel__arena meta;                               /* everything that is small */
  gemel__device_block *blocks; /* intermediate memory, and what doesn't change from call to call */
  size_t n_blocks, block_capacity;
  size_t block_bytes;    /* of all */
  size_t unshared_bytes; /* what the arena would be if no place served twice */
  uint32_t depth;
  uint32_t begin, end; /* nodes */
  int64_t size;        /* the size seen, for which it was planned */
  uint32_t wanted;     /* value that holds the size the next segment needs; or GEMEL__NO_VALUE */
  const char *wanted_data;
  gemel__instr *instrs;
  size_t n_instrs, instr_capacity;
  size_t n_kernels;          /* the instructions that compute or move */
  size_t uploads, downloads; /* instructions */
  gemel__stretch *stretches; /* in order */
  size_t n_stretches;
  gemel__patch *patches;
  size_t n_patches, patch_capacity;
  gemel__result *results;
  size_t n_results, result_capacity;
  gemel__plan_place *places;            /* of the nodes' values, kept if there are run-time sizes */
  gemel__invocation *to_release;        /* those whose kernels hold something */
  struct gemel__segment_record *record; /* of a function that is profiled; NULL until it ran */
} gemel__segment;

typedef struct gemel__symbol {
  const char *name;
  int64_t size;
  uint32_t input;
  int axis;
} gemel__symbol;

typedef struct gemel__plan {
  struct gemel__plan *next;
  int64_t *signature; /* of each input: dtype, rank, shape, strides */
  size_t signature_count;
  size_t *offsets; /* where each input's part begins */
  gemel__symbol *symbols;
  size_t n_symbols, symbol_capacity;
  struct {
    gemel_dim dim;
    int64_t size;
  } * known; /* dims of input axes that leave symbols open */
  size_t n_known, known_capacity;
  gemel__segment *root;
  unsigned char *in_place; /* of each output: 1 if it may be made in the memory of the state that
                              it updates */
} gemel__plan;

/* ---- Planning ---- */

/* Plans the segment from node BEGIN on, below PARENT (NULL: the root). On failure nothing changes;
 * the error is in E->error. */
gemel_status gemel__plan_segment(gemel__execution *e, gemel__plan *plan, gemel__segment *parent,
                                 uint32_t begin, gemel__segment **made);

/* One input axis of size SIZE: finds the symbol that it determines, if there is one, or in the LAST
 * round remembers the size of an expression that leaves symbols open (solve.c). */
gemel_status gemel__solve_axis(const gemel_function *f, gemel__plan *plan, uint32_t input, int axis,
                               int64_t size, int last, gemel_error *error);
/* 1 and *SIZE if DIM is such an expression. */
int gemel__plan_known(const gemel__plan *plan, gemel_dim dim, int64_t *size);

/* Binds the symbols of the inputs' types to the sizes of INPUTS and checks everything about them.
 */
gemel_status gemel__bind_inputs(const gemel_function *f, gemel__plan *plan,
                                gemel_tensor *const *inputs, gemel_error *error);

void gemel__segment_free(gemel__execution *e, gemel__segment *segment);
void gemel__plan_free(gemel__execution *e, gemel__plan *plan);

/* Puts the instructions of SEGMENT in an order in which devices are waited for as rarely as can be,
 * and finds the stretches (queues.c). GEMEL_NO_MEMORY. */
gemel_status gemel__queues_settle(const gemel__run_program *program, gemel__segment *segment);
void gemel__stretches_free(const gemel__run_program *program, gemel__segment *segment);

/* The size of symbol NAME; 0, or -1 if PLAN has none of that name. */
int gemel__plan_symbol(const gemel__plan *plan, const char *name, int64_t *size);

#endif
