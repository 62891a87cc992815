/* SPDX-License-Identifier: MIT
 *
 * Inside a compiled function.
 *
 * A *run program* is the function's own compact copy of the live part of the graph: values are
 * numbered through, nodes stand in the order in which they are computed. An *execution* is what one
 * call at a time needs, its plans among it. A *plan* belongs to one signature (shapes and strides
 * of the inputs): all sizes are numbers in it. It is a tree of *segments*, nearly always of one:
 * where a size is only known at run time, a segment ends at the first node that needs it, and the
 * rest is planned for the size that was seen; other sizes give the segment other children. A
 * segment is a list of *instructions* whose pointers are all set when it is planned, except for
 * those into inputs and results, which a short list of *patches* sets at each call.
 */
#ifndef GEMEL__RUN_FUNCTION_H
#define GEMEL__RUN_FUNCTION_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <gemel/function.h>
#include <gemel/operation.h>
#include "core/arena.h"
#include "core/context.h"
#include "core/graph.h"
#include "core/tensor.h"
#include "cpu/loop.h"
#include "device/device.h"
#include "ops/ops.h"

enum { GEMEL__PLANS = 8 }; /* kept for a function, and children for a segment */

#define GEMEL__NO_VALUE UINT32_MAX

/* ---- Program ---- */

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

typedef struct gemel__execution gemel__execution;
typedef struct gemel__recorder gemel__recorder; /* record.h */

/* A kind of instruction: RUN does what BODY describes. Those there are stand in run.c. */
typedef struct gemel__instr_kind {
  const char *name;
  gemel_status (*run)(gemel__execution *e, void *body);
  int computes; /* 0: it is only there so that errors show */
} gemel__instr_kind;

extern const gemel__instr_kind gemel__instr_loop, /* gemel__fused */
    gemel__instr_kernel,                          /* gemel__invocation */
    gemel__instr_cluster, /* gemel__device_cluster: elementwise nodes, as one kernel of a device */
    gemel__instr_dynamic, /* the same; attributes hold sizes that are read at each call */
    gemel__instr_copy,    /* gemel__move */
    /* gemel__move of bytes between a device and its staging memory on the host: */
    gemel__instr_upload, gemel__instr_download,
    gemel__instr_fetch,  /* gemel__move of bytes out of staging memory, once they are there */
    gemel__instr_result, /* gemel__move, into the tensor of an output */
    gemel__instr_poison, /* gemel__move: fills memory that must not be read before it is written */
    gemel__instr_note;   /* gemel__move: tells a device that looks for mistakes of a value's life */

/* Each device has its queue, in which its instructions are asked for in order; the host's are done
 * at once. Those of two queues may change places (queues.c) but for what AFTER and ALONE say. */
typedef struct gemel__instr {
  const gemel__instr_kind *kind;
  uint32_t node;
  uint32_t after; /* the instruction of another queue that must come first; GEMEL__NO_INSTR */
  uint8_t queue;  /* number of the device */
  uint8_t alone;  /* nothing changes places with it */
  void *body;
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

/* A kernel that compiles a body: the execution that it belongs to and its node there, from which
 * the body gets what is observed of calls, and the body, for those who look into it. */
typedef struct gemel__nested {
  gemel__execution *caller;
  uint32_t node;
  gemel_function *body; /* NULL: none, or it was compiled for a call that is over */
  int calls;            /* 1: the kernel calls a body */
} gemel__nested;

typedef struct gemel__invocation {
  gemel_kernel_call call;
  gemel__nested nested;
  gemel_status (*run)(const gemel_kernel_call *call);
  const gemel_kernel *candidates; /* in their order */
  const gemel_kernel *chosen;     /* the one that RUN is of; of a dynamic one the last call's */
  gemel__runtime_attribute *runtime;
  size_t n_runtime;
  struct gemel__invocation *next_to_release;
} gemel__invocation;

/* A cluster as a kernel of a device. */
typedef struct gemel__device_cluster {
  gemel__invocation
      invocation; /* first: the body of an instruction with a kernel begins with one */
  gemel__cluster_record cluster;
} gemel__device_cluster;

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
  size_t n_kernels;          /* the instructions but poison */
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

/* A run-time size on the way from the root to the segment being run. */
typedef struct gemel__seen {
  uint32_t value;
  int64_t size;
  gemel__segment *segment; /* planned for it */
} gemel__seen;

/* A state that a call locks: for reading, or to change it too. */
typedef struct gemel__hold {
  gemel_shared *shared;
  const gemel_device *device; /* on which the state is to lie */
  int changes;
} gemel__hold;

/* The addresses from a given tensor's first byte to behind its last. */
typedef struct gemel__span {
  uintptr_t begin, end;
  uint32_t output;
  int touched; /* an input lies there too */
} gemel__span;

/* What one call at a time needs: plans, whose memory and kernels' states are the call's own, and
 * where its inputs and results are. */
struct gemel__execution {
  const gemel_function *f;
  struct gemel__execution *next; /* among those that no call uses */
  gemel__plan *plans;            /* most recently used first */
  char **ports;                  /* data of inputs, then of outputs, in this call */
  gemel_tensor **fresh;          /* results that this call made */
  gemel_tensor **staging;     /* staging buffers, for given results with other strides, or aside */
  gemel__span *spans;         /* room for the memory that results are given */
  unsigned char *aside;       /* of each output: 1 if what it is given overlaps an input */
  gemel_tensor **all_inputs;  /* with the states' values among them; NULL without states */
  gemel_tensor **all_outputs; /* with the updates among them */
  char *scratch;              /* of loops: aligned, and as allocated */
  char *scratch_block;
  size_t scratch_bytes;
  /* of all values on the current path; kept if there are run-time sizes */
  gemel__plan_place *places;
  gemel__seen *seen;
  size_t n_seen, seen_capacity;
  gemel__segment **loaded; /* whose places stand in PLACES, by depth */
  size_t loaded_capacity;
  size_t bytes; /* of this call's plan */
  size_t unshared_bytes;
  size_t kernels;      /* that it ran */
  uint64_t calls;      /* so far */
  size_t instrs;       /* done so far, one by one, those of bodies among them */
  size_t done;         /* instructions of the segment that runs which were done or asked for */
  int asked;           /* 1: devices may still read staging memory */
  double inside;       /* seconds of bodies' instructions in the instruction that runs */
  double plan_seconds; /* since the last call that was recorded */
  uint32_t plans_made;
  uint32_t number;   /* in the profile; 0: none yet */
  gemel_error error; /* what kernels fill in */
};

/* A function doesn't change once it is made, but for what stands behind its lock. */
struct gemel_function {
  gemel__run_program program;
  int threads, deterministic, plain, poison;
  struct gemel__tuner *tuner; /* NULL: kernels aren't timed */
  unsigned guard;             /* bits GEMEL_GUARD_… */
  gemel__recorder *recorder;  /* NULL: calls are not profiled; of a body its caller's */
  int watched;                /* one of the two */
  gemel__execution *caller;   /* of a body; NULL of what a program compiled */
  uint32_t scope;             /* of a body, in the recorder */
  uint32_t n_states, n_updates;
  gemel_shared **states;  /* of each input, NULL if it is none; NULL if there are none bound */
  gemel_shared **updates; /* of each output: the state that it is the next value of */
  gemel__hold *holds;     /* N_STATES of them, in the order in which they are locked */
  pthread_mutex_t lock;
  gemel__execution *idle; /* no call uses them; most recently used first */
  size_t bytes, kernels;  /* of the last call that ended */
};

/* ---- Options (function.c) ---- */

/* *OPTIONS = GIVEN, whose end may be missing; NULL: zeros. GEMEL_BAD_ARGUMENT. */
gemel_status gemel__options_read(gemel_options *options, const gemel_options *given,
                                 gemel_error *error);

/* How many threads a call uses where WANTED are asked for; 0: as OpenMP would choose. */
int gemel__thread_count(int wanted);

/* Makes F, which has not been called yet, the body of the kernel that NESTED (NULL: of none)
 * belongs to: from now on its calls are part of the caller's, in profiles and listings.
 * GEMEL_NO_MEMORY. */
gemel_status gemel__function_nest(gemel_function *f, gemel__nested *nested, gemel_error *error);

/* ---- Executions (execution.c) ---- */

/* NULL when memory is out. */
gemel__execution *gemel__execution_new(const gemel_function *f, gemel_error *error);
void gemel__execution_free(gemel__execution *execution);

/* ---- Many calls with the same shapes (execution.c) ---- */

/* Makes E ready for calls with inputs and outputs of these shapes and strides, all given,
 * row-major, and none over another: only their data changes from call to call. The function has no
 * states. */
gemel_status gemel__execution_ready(gemel__execution *e, gemel_tensor *const *inputs);

/* One of these calls. The error is E's. */
gemel_status gemel__execution_repeat(gemel__execution *e, gemel_tensor *const *inputs,
                                     gemel_tensor **outputs);

/* One that no call uses, the most recently used first; a new one if there is none. NULL when memory
 * is out. Given back when it is free again, and whether a call was done with it. */
gemel__execution *gemel__execution_take(gemel_function *f, gemel_error *error);
void gemel__execution_give(gemel_function *f, gemel__execution *execution, int called);

/* A call with the values of all inputs, and places for all outputs; the error is in E->error. */
gemel_status gemel__execution_call(gemel__execution *e, gemel_tensor *const *inputs,
                                   gemel_tensor **outputs);

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

/* Compares the memory of given results with that of the inputs (E->aside says which overlap one,
 * other than the state that they may be made in place of) and with each other's.
 * GEMEL_BAD_ARGUMENT: two elements of results would lie in one place; the error is in E->error.
 * GEMEL_NO_MEMORY. */
gemel_status gemel__check_overlap(gemel__execution *e, gemel_tensor *const *inputs,
                                  gemel_tensor *const *outputs);

void gemel__segment_free(gemel__execution *e, gemel__segment *segment);
void gemel__plan_free(gemel__execution *e, gemel__plan *plan);

/* ---- States (shared.c) ---- */

/* Binds the states of GRAPH, from which F's program was made, to N shared variables in their order.
 * GEMEL_BAD_ARGUMENT, GEMEL_NO_MEMORY; F is then to be freed. */
gemel_status gemel__states_bind(gemel_function *f, const gemel_graph *graph, size_t n,
                                gemel_shared *const *variables, gemel_error *error);
void gemel__states_release(gemel_function *f);

/* Where the version of the shared variable stands that INPUT is a state of; NULL if it is no state,
 * or F changes it. */
const uint64_t *gemel__state_version(const gemel_function *f, uint32_t input);

/* Locks the states that E's call reads and changes, moves those that lie on another device than it
 * wants them on, and completes its INPUTS and OUTPUTS in E's own arrays, but for the places of
 * updates. On failure (what devices say, in E's error) nothing is locked. */
gemel_status gemel__states_enter(gemel__execution *e, gemel_tensor *const *inputs,
                                 gemel_tensor **outputs);

/* Says where the call's updates go, when its plan is in front. */
void gemel__states_place(gemel__execution *e);

/* Hands on the results of a call that ended with STATUS, and unlocks. */
void gemel__states_leave(gemel__execution *e, gemel_status status, gemel_tensor **outputs);

/* ---- Running ---- */

/* Does the instructions of SEGMENT, which belongs to the plan in front; an error is in E->error. */
gemel_status gemel__segment_run(gemel__execution *e, gemel__segment *segment);

/* Puts the instructions of SEGMENT in an order in which devices are waited for as rarely as can be,
 * and finds the stretches (queues.c). GEMEL_NO_MEMORY. */
gemel_status gemel__queues_settle(const gemel__run_program *program, gemel__segment *segment);
void gemel__stretches_free(const gemel__run_program *program, gemel__segment *segment);

/* Does the instructions of STRETCH, a recording of them if there is one. */
gemel_status gemel__stretch_run(gemel__execution *e, const gemel__segment *segment,
                                gemel__stretch *stretch);

/* Waits until all is done on devices other than the host. */
gemel_status gemel__synchronize(gemel__execution *e);

/* As gemel__segment_run, for functions that are profiled or guarded (watch.c). */
gemel_status gemel__segment_watch(gemel__execution *e, gemel__segment *segment);

/* Does the instructions BEGIN to END of SEGMENT one by one. */
gemel_status gemel__instrs_run(gemel__execution *e, const gemel__segment *segment, size_t begin,
                               size_t end);

/* Completes E's error after NODE failed with STATUS, which it returns. */
gemel_status gemel__instr_failed(gemel__execution *e, uint32_t node, gemel_status status);

/* The size that an integer of DTYPE at DATA stands for. */
int64_t gemel__load_size(gemel_dtype dtype, const void *data);

/* The size of symbol NAME; 0, or -1 if PLAN has none of that name. */
int gemel__plan_symbol(const gemel__plan *plan, const char *name, int64_t *size);

#endif
