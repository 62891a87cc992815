/* SPDX-License-Identifier: MIT
 *
 * Between the parts of the sim:
 *
 *   report.c   reports; random.c the order of everything, from the seed
 *   memory.c   allocations, extents, pinned buffers; closed to the host by mprotect
 *   devices.c  several of them, and which one is current
 *   stream.c   queues of tasks, events, vector clocks; graph.c captures and replays them
 *   task.c     the tasks: kernels, copies, memsets, calls of the host
 *   block.c    runs a grid: threads as coroutines; warp.c operations of warps; shared.c shared
 * memory check.c    what every byte has been through; hooks.c each load and store of a kernel
 *   runtime.c, events.c, launch.c CUDA's own functions; blas.c, gemm.c cuBLAS;
 *   cudnn.c, conv.c cuDNN; cusolver.c cuSOLVER; sort.c CUB; nvrtc.c, library.c NVRTC
 *
 * One lock (gemel__sim_enter) is held in every function of CUDA, so nothing below it is locked.
 */
#ifndef GEMEL__SIM_INSIDE_H
#define GEMEL__SIM_INSIDE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "sim/calls.h"
#include "sim/sim.h"

enum {
  GEMEL__SIM_DEVICES = 4,              /* at most */
  GEMEL__SIM_STREAMS = 128,            /* at a time, with those inside graphs that run */
  GEMEL__SIM_THREADS = 1024,           /* of a block */
  GEMEL__SIM_SHARED_BYTES = 227 << 10, /* of a block: sm_90's limit */
  GEMEL__SIM_STACK_BYTES = 64 << 10    /* of a thread */
};

/* report.c */

/* Where a mistake was made: an address in code, or a file and line, or the name of a function. */
typedef struct {
  const void *pc;
  const char *file;
  int line;
} gemel__sim_place;

void gemel__sim_say(gemel__sim_kind kind, gemel__sim_place place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The error that the device is in, because a kernel had to be ended or memory ran out: nothing runs
   any more. */
extern cudaError_t gemel__sim_broken;
/* That, or what calls that wait return after reports which didn't stop anything. */
cudaError_t gemel__sim_verdict(void);

/* devices.c: the current device of this thread. */
extern _Thread_local int gemel__sim_device;
/* Reports that WHAT, which is DEVICE's, is used where WANTED is the device: CUDA's error. */
cudaError_t gemel__sim_elsewhere(const char *what, int device, int wanted);

/* random.c */
uint64_t gemel__sim_random(void);
uint32_t gemel__sim_below(uint32_t bound);
/* The same for the same OF until the seed is another one. */
bool gemel__sim_choice(uint64_t of);
/* How the streams of this seed are run: 0 soon and evenly, others late and the newest first. */
int gemel__sim_policy(void);

/* memory.c */

/* Of one byte: the last write, and the last read with what is known of earlier ones (check.c). */
typedef struct {
  uint32_t position, block;
  uint16_t stream, epoch, warp_epoch;
  uint16_t thread : 10;
  uint16_t atomic : 1;
  uint16_t lanes : 1;  /* other threads of the same warp did so since its last __syncwarp */
  uint16_t warps : 1;  /* threads of several warps did so since the last barrier */
  uint16_t blocks : 1; /* threads of several blocks did so */
  uint16_t set : 1;    /* of writes: there is a value */
  uint16_t whole : 1;  /* not a thread but a copy or a library */
} gemel__sim_access;
typedef struct {
  gemel__sim_access write, read;
} gemel__sim_cell;

typedef struct {
  size_t offset, bytes;
  long number;
} gemel__sim_extent;
typedef struct gemel__sim_allocation gemel__sim_allocation;
struct gemel__sim_allocation {
  uintptr_t at;
  size_t bytes, room; /* room: with whole pages */
  long number;
  int device;
  bool freed, pool;
  gemel__sim_cell *cells;     /* one a byte */
  gemel__sim_extent *extents; /* sorted */
  size_t count, capacity;
  gemel__sim_allocation *next, **link; /* among those that are in use; link NULL: it isn't */
};

bool gemel__sim_is_device(const void *pointer);
/* The device whose memory it is; the current one if it is none's. */
int gemel__sim_device_of(const void *pointer);
/* The allocation that holds the address or, if none does, the last one before it. */
gemel__sim_allocation *gemel__sim_find(uintptr_t address);
/* Whether the operation that runs may use BYTES bytes at ADDRESS. If not, WHY says what they are.
   FOUND is the allocation, and *FROM what offsets are counted from: the start of the extent or
   allocation. */
bool gemel__sim_inside(uintptr_t address, size_t bytes, gemel__sim_allocation **found,
                       uintptr_t *from, char *why, size_t room);
/* "byte 12 of allocation 3 (400 bytes)", or of a tensor in it. */
void gemel__sim_describe(uintptr_t address, char *text, size_t room);
cudaError_t gemel__sim_memory_start(void);
/* On the current device. */
cudaError_t gemel__sim_allocate(size_t bytes, void **pointer);
cudaError_t gemel__sim_release(void *pointer);
bool gemel__sim_extent_add(uintptr_t address, size_t bytes);
bool gemel__sim_extent_drop(uintptr_t address);
/* What touches device memory opens it first; it is closed when the call of CUDA ends. */
void gemel__sim_open(void);
void gemel__sim_close(void);
/* Changes whenever an allocation or extent does. */
extern long gemel__sim_generation;
void gemel__sim_memory_left(int device, size_t *left, size_t *total);

/* pinned.c */
typedef struct gemel__sim_pinned gemel__sim_pinned;
cudaError_t gemel__sim_pin(size_t bytes, void **pointer);
cudaError_t gemel__sim_unpin(void *pointer);
gemel__sim_pinned *gemel__sim_pinned_at(const void *pointer);
/* Operation POSITION of STREAM will use the buffer; until the host has waited for it, the host
   may not. False if memory ran out. */
bool gemel__sim_pinned_lend(gemel__sim_pinned *pinned, int stream, uint32_t position, bool write);
void gemel__sim_pinned_open(gemel__sim_pinned *pinned);
void gemel__sim_pinned_close(gemel__sim_pinned *pinned);
/* The host has waited for more. */
void gemel__sim_pinned_back(void);

/* fault.c */
void gemel__sim_fault_start(void);

/* task.c: what a stream does. Shared by streams and graphs, so counted and never changed. */

typedef struct gemel__sim_task gemel__sim_task;
struct gemel__sim_task {
  int references;
  const char *what;
  cudaError_t (*queued)(gemel__sim_task *task, int stream, uint32_t position); /* or NULL */
  void (*run)(gemel__sim_task *task);                                          /* or NULL */
  void (*drop)(gemel__sim_task *task);                                         /* or NULL */
};
void gemel__sim_task_unref(gemel__sim_task *task);
/* Each returns NULL if memory ran out. */
gemel__sim_task *gemel__sim_launch_task(const struct gemel__sim_kernel *kernel, dim3 grid,
                                        dim3 block, void **arguments, size_t shared);
gemel__sim_task *gemel__sim_copy_task(void *to, const void *from, size_t bytes, bool keep);
gemel__sim_task *gemel__sim_set_task(void *to, int value, size_t bytes);
gemel__sim_task *gemel__sim_call_task(cudaHostFn_t function, void *data);
gemel__sim_task *gemel__sim_extent_task(void *pointer, size_t bytes, bool begin);
gemel__sim_task *gemel__sim_event_task(void);

/* stream.c */

/* What is done: by stream, everything up to a position. */
typedef struct {
  uint32_t at[GEMEL__SIM_STREAMS];
} gemel__sim_clock;

typedef struct gemel__sim_work gemel__sim_work;
struct CUstream_st {
  int number, device;
  bool blocking, used, lane; /* lane: of a graph that runs */
  gemel__sim_work *first, **last;
  uint32_t queued, done;  /* positions */
  gemel__sim_clock clock; /* what the next operation comes after */
  struct gemel__sim_capture *capture;
  int capture_lane;
};
struct CUevent_st {
  int device;
  int stream; /* -1: never recorded */
  uint32_t position;
  gemel__sim_clock clock;
  double time; /* of the call, in milliseconds; below 0: not wanted */
  cudaEvent_t next;
  long capture; /* recorded in this one, by its number; or 0 */
  int mark;
};

/* The operation that runs now. */
typedef struct {
  int stream, device;
  uint32_t position;
  const char *what;
  gemel__sim_clock after;
} gemel__sim_operation;
extern gemel__sim_operation gemel__sim_now;
extern gemel__sim_clock gemel__sim_host; /* what the host knows to be done */
extern gemel__sim_counts gemel__sim_count;
extern gemel__sim_alive gemel__sim_here;

/* The name of an operation, if it isn't too long ago. */
const char *gemel__sim_name_of(int stream, uint32_t position);
void gemel__sim_forget_names(void); /* those of kernels that are unloaded */
/* NULL and cudaStreamLegacy are the current device's legacy stream; NULL if STREAM is none. */
cudaStream_t gemel__sim_stream(cudaStream_t stream);
cudaStream_t gemel__sim_stream_number(int number);
/* Whether it is a stream of the current device. */
bool gemel__sim_is_here(cudaStream_t stream);
bool gemel__sim_is_legacy(const struct CUstream_st *stream);
cudaStream_t gemel__sim_stream_new(int device, bool blocking, bool lane);
void gemel__sim_stream_done(cudaStream_t stream);
/* Queues TASK, whose reference is taken, in the stream or the graph that it captures. *POSITION,
   unless NULL, is its place. */
cudaError_t gemel__sim_queue(cudaStream_t stream, gemel__sim_task *task, uint32_t *position);
cudaError_t gemel__sim_queue_wait(cudaStream_t stream, int other, uint32_t position,
                                  const gemel__sim_clock *clock);
/* Runs what is queued until STREAM has done POSITION. */
void gemel__sim_run_until(cudaStream_t stream, uint32_t position);
void gemel__sim_run_all(void);
void gemel__sim_run_device(int device);
/* The device may or may not have got on meanwhile. */
void gemel__sim_drift(void);
void gemel__sim_host_knows(const gemel__sim_clock *clock);
void gemel__sim_join(gemel__sim_clock *clock, const gemel__sim_clock *other);

/* graph.c */
/* For calls that no capture of the thread, nor a global one of any, may see: spoils those, and says
   whether there are any. */
bool gemel__sim_unsafe(void);
bool gemel__sim_capturing(void);
cudaError_t gemel__sim_capture_task(cudaStream_t stream, gemel__sim_task *task);
cudaError_t gemel__sim_capture_wait(cudaStream_t stream, cudaEvent_t event);
cudaError_t gemel__sim_capture_record(cudaStream_t stream, cudaEvent_t event);
void gemel__sim_capture_spoil(struct gemel__sim_capture *capture);

/* block.c */

typedef enum {
  GEMEL__SIM_READY,
  GEMEL__SIM_AT_BARRIER,
  GEMEL__SIM_AT_WARP,
  GEMEL__SIM_ENDED
} gemel__sim_state;

typedef struct {
  void *sp;
  char *stack;
  int id;
  gemel__sim_state state;
  uint3 index;
  gemel__sim_place place; /* where it waits */
  int predicate;
  gemel__sim_warp_call call;
  unsigned mask;
  int argument, width;
  uint64_t value;
} gemel__sim_thread;

typedef struct {
  const struct gemel__sim_kernel *kernel;
  void **arguments;
  dim3 grid, size;
  uint3 index;
  uint32_t number, epoch; /* of this block in its grid; of its barriers */
  uint32_t warp_epoch[32];
  uint32_t alive[32], at_call[32]; /* lanes of each warp */
  size_t dynamic;                  /* bytes of dynamic shared memory */
  gemel__sim_thread *threads;
  int count, living, waiting, at_barrier;
  bool failed;
} gemel__sim_block;

extern gemel__sim_block gemel__sim_block_now;
extern gemel__sim_thread *gemel__sim_self; /* NULL outside kernels */
extern pthread_t gemel__sim_worker;        /* the host's thread that runs the kernel */

/* The thread of a kernel that runs on the calling thread of the host; NULL: none does. The host's
   functions of a kernel file have the hooks too. */
static inline gemel__sim_thread *gemel__sim_me(void) {
  gemel__sim_thread *me = gemel__sim_self;
  return me != NULL && pthread_equal(pthread_self(), gemel__sim_worker) ? me : NULL;
}

/* Runs all blocks. False if memory ran out. Whether the kernel failed is in gemel__sim_broken. */
bool gemel__sim_run_grid(const struct gemel__sim_kernel *kernel, dim3 grid, dim3 size,
                         void **arguments, size_t shared);
void gemel__sim_wait_as(gemel__sim_state state);
void gemel__sim_wake(gemel__sim_thread *thread);
/* Ends the kernel from inside one of its threads, with ERROR; does not return. */
void gemel__sim_end_kernel(cudaError_t error);
gemel__sim_thread *gemel__sim_owner_of_stack(uintptr_t address);

/* warp.c: finishes an operation that waited for a lane which has ended. */
bool gemel__sim_warp_unstick(void);

/* shared.c */
typedef struct {
  uintptr_t at;
  size_t bytes;
  const char *name;
  const void *key;
  gemel__sim_cell *cells; /* one a byte */
  bool dirty;             /* touched since it was filled */
  int module;             /* of plain arrays: whose thread-local variables it is among, and where */
  size_t offset;
} gemel__sim_array;

bool gemel__sim_shared_start(void); /* of a block; false if memory ran out */
/* The shared array at the address; NEAR, if there is none, is one next to it. */
gemel__sim_array *gemel__sim_array_at(uintptr_t address, gemel__sim_array **near);

/* check.c */
typedef struct {
  gemel__sim_place place;
  bool write, atomic;
} gemel__sim_how;
/* One byte or more of the running thread: cells of device memory, or of a shared array. */
void gemel__sim_check(gemel__sim_cell *cells, size_t bytes, uintptr_t address, bool shared,
                      gemel__sim_how how);
/* A copy, a memset or a library uses BYTES bytes. False, with a report, if it may not. */
bool gemel__sim_check_range(const void *pointer, size_t bytes, bool write);
void gemel__sim_check_block(void); /* a block starts */
bool gemel__sim_check_grid(uint32_t blocks);
void gemel__sim_check_fence(void);
void gemel__sim_check_update(uintptr_t address);

/* count.c: what launches cost, while gemel__sim_counting. */
extern bool gemel__sim_counting;
void gemel__sim_count_grid(void);  /* one starts */
void gemel__sim_count_wait(void);  /* the block's threads have met, at a barrier */
void gemel__sim_count_block(void); /* a block has ended */
void gemel__sim_count_end(void);   /* all have */
/* A kernel of a library has run, which reads and writes so many bytes, each once and by neighbours,
   of arrays that no cache holds. */
void gemel__sim_count_stream(const char *kernel, size_t read, size_t written);
void gemel__sim_count_access(uintptr_t address, size_t bytes, bool shared, gemel__sim_how how);

/* steps.c: instructions of some threads of each launch, meanwhile. */
void gemel__sim_steps_listen(long at_most); /* 0: no more */
void gemel__sim_steps_begin(void);          /* a thread starts */
/* Stops counting until _go is given the result: around what isn't the kernel's. */
bool gemel__sim_steps_rest(void);
void gemel__sim_steps_go(bool counted);
void gemel__sim_steps_take(gemel__sim_cost *cost); /* what was counted; then begins anew */
/* Of functions that kernels call and that aren't counted, not even their way there. */
#define GEMEL__SIM_HOOK __attribute__((section("gemel_sim_hooks")))

/* hooks.c: referred to, so that whoever runs kernels has it. */
void gemel__sim_hooks(void);

/* runtime.c: every function of CUDA begins and ends with these. The first locks, and gives what the
   call must return at once, if anything: calls that free something do that in any case, and only
   those that make something may be refused memory. The second unlocks and gives what the call
   returns. What breaks the device during a call that doesn't wait is the error of the next one. */
typedef enum {
  GEMEL__SIM_FREES,
  GEMEL__SIM_MAKES,
  GEMEL__SIM_ASKS,
  GEMEL__SIM_BEGINS, /* an extent, which may be refused memory, and ends one: no calls of CUDA */
  GEMEL__SIM_ENDS
} gemel__sim_entry;
cudaError_t gemel__sim_enter(gemel__sim_entry kind);
cudaError_t gemel__sim_leave(cudaError_t error);
/* The second for what isn't part of the runtime, which doesn't learn of its errors. */
cudaError_t gemel__sim_leave_apart(void);
/* As gemel__sim_enter for calls with a stream, which it looks up. */
cudaError_t gemel__sim_enter_stream(cudaStream_t *stream, gemel__sim_entry kind);
/* Waits for the stream's operation, and the host knows. Gives the error that the device is in. */
cudaError_t gemel__sim_wait(cudaStream_t stream, uint32_t position);

/* launch.c: the kernels that there are, the last one first. */
extern struct gemel__sim_kernel *gemel__sim_kernels;

#endif
