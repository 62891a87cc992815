/* SPDX-License-Identifier: MIT
 *
 * A compiled function, and an *execution*: what one call at a time needs, its plans among it. A
 * function's calls on several threads have an execution each.
 */
#ifndef GEMEL__RUN_EXECUTION_H
#define GEMEL__RUN_EXECUTION_H

#include <pthread.h>
#include "core/tensor.h"
#include "run/plan.h"

typedef struct gemel__recorder gemel__recorder; /* record.h */

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
  int64_t most_steps;
  gemel_precision matmul_precision;
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

/* ---- Results given (overlap.c) ---- */

/* Compares the memory of given results with that of the inputs (E->aside says which overlap one,
 * other than the state that they may be made in place of) and with each other's.
 * GEMEL_BAD_ARGUMENT: two elements of results would lie in one place; the error is in E->error.
 * GEMEL_NO_MEMORY. */
gemel_status gemel__check_overlap(gemel__execution *e, gemel_tensor *const *inputs,
                                  gemel_tensor *const *outputs);

/* ---- States (shared.c) ---- */

/* VALUE, which is taken over and which nobody else writes to, becomes the variable's value. */
void gemel__shared_give(gemel_shared *shared, gemel_tensor *value);

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

/* Does the instructions of STRETCH, a recording of them if there is one. */
gemel_status gemel__stretch_run(gemel__execution *e, const gemel__segment *segment,
                                gemel__stretch *stretch);

/* Waits until all is done on devices other than the host. */
gemel_status gemel__synchronize(gemel__execution *e);

/* As gemel__segment_run, for functions that are profiled or guarded (watch.c). */
gemel_status gemel__segment_watch(gemel__execution *e, gemel__segment *segment);

/* Does INSTR; an error may be in E->error. */
gemel_status gemel__instr_run(gemel__execution *e, const gemel__instr *instr);

/* Does the instructions BEGIN to END of SEGMENT one by one. */
gemel_status gemel__instrs_run(gemel__execution *e, const gemel__segment *segment, size_t begin,
                               size_t end);

/* Completes E's error after NODE failed with STATUS, which it returns. */
gemel_status gemel__instr_failed(gemel__execution *e, uint32_t node, gemel_status status);

/* The size that an integer of DTYPE at DATA stands for. */
int64_t gemel__load_size(gemel_dtype dtype, const void *data);

#endif
