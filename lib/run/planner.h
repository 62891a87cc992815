/* SPDX-License-Identifier: MIT
 *
 * What the parts of planning share. plan.c walks the nodes; bind.c turns dims into numbers and
 * checks shapes; cluster.c collects elementwise nodes and cluster-build.c turns a cluster into a
 * loop; memory.c assigns places in the arena. All pointers into buffers are written down as fixups
 * and resolved when the segment is complete, since places are only known then.
 */
#ifndef GEMEL__RUN_PLANNER_H
#define GEMEL__RUN_PLANNER_H

#include "run/execution.h"

enum {
  GEMEL__CLUSTER_NODES = 128,
  GEMEL__CLUSTER_LOADS = 32,
  GEMEL__CLUSTERS = 4,      /* open at a time */
  GEMEL__LOAD_REF = 0x8000, /* in member.in: a load, not a member */
  GEMEL__CLASSES = 256      /* of sizes of free places */
};

/* A node of a cluster. BY_ROW: it has one element for each row of the cluster's shape (gemel_step);
 * its own is that without the last axis, or with 1 in its place. */
typedef struct gemel__member {
  uint32_t node;
  uint32_t value;
  uint32_t uses, uses_inside; /* of its value and views of it */
  uint16_t in[3];             /* members, or loads with GEMEL__LOAD_REF */
  uint8_t n_in;
  uint8_t by_row;
} gemel__member;

/* AXIS_LEFT_OUT: its axes are those of the cluster's shape without the last one. */
typedef struct gemel__cluster_load {
  gemel__plan_layout *layout;
  gemel__run_buffer *buffer;
  uint32_t value;
  uint32_t uses; /* by members */
  uint16_t last; /* member that reads it last */
  uint8_t axis_left_out;
} gemel__cluster_load;

/* A value that is a view of a member's, of the same elements. */
typedef struct gemel__cluster_view {
  uint32_t value, member;
} gemel__cluster_view;

/* Elementwise nodes of one shape, and on some devices sums and maxima of their rows and what is
 * elementwise of these, that will be one loop. */
typedef struct gemel__cluster {
  uint32_t number; /* 0: none */
  uint8_t device;  /* number */
  uint32_t n_members, n_loads, n_views;
  const gemel__plan_layout *shape;
  gemel__member members[GEMEL__CLUSTER_NODES];
  gemel__cluster_load loads[GEMEL__CLUSTER_LOADS];
  gemel__cluster_view views[GEMEL__CLUSTER_LOADS];
} gemel__cluster;

/* A place in the arena, used by one buffer after another. */
typedef struct gemel__slot {
  int64_t bytes;
  int64_t offset;
  uint32_t next; /* in its free list; slot + 1, 0 ends it */
} gemel__slot;

typedef struct gemel__run_memory {
  gemel__slot *slots;
  size_t n_slots, slot_capacity;
  uint32_t heads[GEMEL__CLASSES]; /* free lists by class of size */
} gemel__run_memory;

/* *WHERE = data of BUFFER + OFFSET, once it is known. */
typedef struct gemel__fixup {
  char **where;
  const gemel__run_buffer *buffer;
  int64_t offset;
} gemel__fixup;

typedef struct gemel__home gemel__home; /* plan-join.c */

/* What reads a value: the last join, as which operand first, and how often joins do; how often
 * elementwise nodes do, and the last of these. Of a join's result: its home. */
typedef struct gemel__read {
  uint32_t node, operand, joins;
  uint32_t loops, loop;
  int done; /* what LOOP computes of it was done by the kernel that makes it */
  gemel__home *home;
} gemel__read;

typedef struct gemel__planner {
  const gemel_function *f;
  gemel__execution *execution;
  gemel__plan *plan;
  gemel__segment *segment;
  gemel__plan_place *places;
  gemel__plan_layout **layouts; /* of each type, row-major; NULL until asked for */
  gemel_error *error;
  gemel__fixup *fixups;
  size_t n_fixups, fixup_capacity;
  gemel__run_buffer **buffers; /* those in the arena */
  size_t n_buffers, buffer_capacity;
  gemel__run_memory *memories; /* one a device */
  gemel__cluster clusters[GEMEL__CLUSTERS];
  uint32_t next_cluster;
  const gemel__plan_place **inputs; /* of each input, once it is planned */
  gemel__read *read;                /* of each value; NULL: nobody asks */
  size_t *updates;  /* of each output: 1 + the instruction that may make it in its state's memory */
  size_t scratch;   /* bytes that loops need, all threads together */
  uint32_t node;    /* being planned, for dims that name its inputs */
  uint32_t missing; /* value whose size is needed and not known yet */
  const char *unknown; /* a symbol that no input's axis tells */
  int notes;           /* values end in the segment in which they begin, so devices may be told */
  int dynamic;         /* evaluating at a call: sizes of inputs are read, not looked up */
} gemel__planner;

/* ---- plan.c ---- */

/* Plans the segment's nodes until one needs a size that is not known, or all are planned, and what
 * follows for the whole segment: results, updates, queues, memory. */
gemel_status gemel__plan_nodes(gemel__planner *planner);

/* ---- bind.c ---- */

/* Evaluates DIM. GEMEL_DECLINED with MISSING set if it needs a size that is not known yet. */
gemel_status gemel__plan_dim(gemel__planner *planner, gemel_dim dim, int64_t *size);

/* The row-major layout of TYPE (a number of the program). As gemel__plan_dim. */
gemel_status gemel__plan_row_major(gemel__planner *planner, uint32_t type,
                                   gemel__plan_layout **layout);

/* A layout with these parts, copied. NULL when memory is out. */
gemel__plan_layout *gemel__layout_new(gemel__segment *segment, gemel_dtype dtype, int rank,
                                      const int64_t *shape, const int64_t *strides, int64_t offset);

/* Images laid out as L is, but with channels last. NULL when memory is out. */
gemel__plan_layout *gemel__layout_channels_last(gemel__segment *segment,
                                                const gemel__plan_layout *l);

/* 1 if L has channels last, gaps or not. */
int gemel__layout_ends_with_channels(const gemel__plan_layout *l);

/* The axis of L that comes K-th in memory, from the outermost on. */
static inline int gemel__layout_axis(const gemel__plan_layout *l, int k) {
  return !l->channels_last || k == 0 ? k : k == l->rank - 1 ? 1 : k + 1;
}

/* The type with the layout's constant dims; GEMEL_TYPE_NONE when memory is out. */
gemel_type gemel__layout_type(gemel__planner *planner, gemel__plan_layout *layout);

/* Checks node's operands' and results' sizes where building could not: elementwise nodes by their
 * dims, others by their type rule on constants. ATTRS have constant dims. */
gemel_status gemel__check_node(gemel__planner *planner, uint32_t node, const gemel_attr *attrs);

/* Attributes of NODE with dims evaluated: to constant dims in *CHECKED, to integers in *EVALUATED.
 * Both may point at the context's own. RUNTIME (may be NULL) gets the dims that must be evaluated
 * at each call; without it they are looked up. */
gemel_status gemel__plan_attrs(gemel__planner *planner, uint32_t node, const gemel_attr **checked,
                               const gemel_attr **evaluated, gemel__runtime_attribute **runtime,
                               size_t *n_runtime);

/* ---- memory.c ---- */

/* A buffer of BYTES bytes of DEVICE's memory with REMAINING uses in the arena; its place is free of
 * others until they are all scheduled. NULL when memory is out. */
gemel__run_buffer *gemel__buffer_new(gemel__planner *planner, uint8_t device, int64_t bytes,
                                     uint32_t remaining);

/* One that takes over the place of DYING. */
gemel__run_buffer *gemel__buffer_over(gemel__planner *planner, gemel__run_buffer *dying,
                                      uint32_t remaining);

/* One that is elsewhere. */
gemel__run_buffer *gemel__buffer_at(gemel__planner *planner, gemel__buffer_kind kind,
                                    uint8_t device, uint32_t port, char *data, int64_t bytes);

/* BYTES bytes of DEVICE's memory that live as long as the segment; NULL, and the error. */
void *gemel__segment_memory(gemel__planner *planner, uint8_t device, size_t bytes);

/* The same of memory for one value, and of staging memory of the host, for DEVICE to copy from and
 * to. */
void *gemel__segment_value(gemel__planner *planner, uint8_t device, size_t bytes);
void *gemel__segment_staging(gemel__planner *planner, uint8_t device, size_t bytes);

/* COUNT uses of BUFFER have been scheduled. */
gemel_status gemel__buffer_use(gemel__planner *planner, gemel__run_buffer *buffer, uint32_t count);

/* Tells devices, behind the copies that are made for results, that the values end which those
 * show. */
gemel_status gemel__notes_end(gemel__planner *planner);

/* Has *WHERE point OFFSET bytes into BUFFER. 0, or -1 when memory is out. */
int gemel__fix(gemel__planner *planner, void *where, const gemel__run_buffer *buffer,
               int64_t offset);

/* Lays out the arena, allocates it and resolves fixups. */
gemel_status gemel__memory_finish(gemel__planner *planner);
void gemel__memory_clear(gemel__planner *planner);

/* ---- in-place.c ---- */

/* The memory of the state that result OUTPUT is the next value of, if that lies as LAYOUT does;
 * NULL: there is none. OUTPUT may be the number of outputs. */
const gemel__run_buffer *gemel__state_buffer(const gemel__planner *planner, uint32_t output,
                                             const gemel__plan_layout *layout);

/* The next instruction makes OUTPUT, laid out as LAYOUT. Notes that it may do so in the memory of
 * OUTPUT's state if the READS that it still has of that memory itself are the last. */
void gemel__update_placed(gemel__planner *planner, uint32_t output,
                          const gemel__plan_layout *layout, uint32_t reads);

/* Settles which updates are made in place, when all instructions are there. */
void gemel__updates_settle(gemel__planner *planner);

/* ---- plan-once.c ---- */

/* 1 if NODE has no operands, and only transfers read its result. */
int gemel__is_made_once(const gemel__planner *planner, uint32_t node);

/* Computes NODE now, whose kernel was chosen and which is laid out: its result is a constant of the
 * plan. */
gemel_status gemel__make_now(gemel__planner *planner, uint32_t node, gemel__invocation *inv);

/* ---- plan-join.c ---- */

/* Finds what reads the values of a plan's first segment. GEMEL_NO_MEMORY. */
gemel_status gemel__reads_find(gemel__planner *planner);
void gemel__reads_clear(gemel__planner *planner);

/* Has VALUE, whose layout is chosen, made where a join will have it, with REMAINING uses; with
 * ANY_STRIDES also where there are gaps in that. GEMEL_DECLINED: it is to be placed elsewhere. */
gemel_status gemel__place_at_home(gemel__planner *planner, uint32_t value, int any_strides,
                                  uint32_t remaining);

/* Copies VALUE, which was made elsewhere just now, there, if several joins read it. */
gemel_status gemel__bring_home(gemel__planner *planner, uint32_t value);

/* Makes the result of NODE, whose operands have their buffers, a view of these. GEMEL_DECLINED: it
 * is no join of what lies in line; if some of that is where the result is to be, it has its place.
 */
gemel_status gemel__plan_join(gemel__planner *planner, uint32_t node);

/* ---- plan-bias.c ---- */

/* Offers INV's call, of NODE, what is added behind it, before its kernel is chosen; and notes
 * behind it whether that takes it. */
gemel_status gemel__offer_bias(gemel__planner *planner, uint32_t node, gemel__invocation *inv);
gemel_status gemel__settle_bias(gemel__planner *planner, uint32_t node, gemel__invocation *inv);

/* Makes the result of NODE, an elementwise node, a view of what a kernel made that did it already.
 * GEMEL_DECLINED: none did. */
gemel_status gemel__plan_added(gemel__planner *planner, uint32_t node);

/* ---- plan-move.c ---- */

/* Emits a copy of what LAYOUT describes in FROM to TO; both lie on one device. */
gemel_status gemel__plan_copy(gemel__planner *planner, uint32_t node,
                              const gemel__plan_layout *layout, gemel__run_buffer *from,
                              const gemel__plan_place *to);

/* Emits a copy of what lies at FROM to the tensor of output OUTPUT. */
gemel_status gemel__plan_result(gemel__planner *planner, uint32_t output,
                                const gemel__plan_place *from);

/* NODE, whose input lies on another device than its result. */
gemel_status gemel__plan_transfer(gemel__planner *planner, uint32_t node);

/* Tells BUFFER's device, if it wants to know, that a value of BYTES bytes lies there from here on,
 * or with 0 that it isn't needed any more. */
gemel_status gemel__plan_note(gemel__planner *planner, gemel__run_buffer *buffer, int64_t bytes);

/* Has BUFFER filled with what shows when it is read before it is written. */
gemel_status gemel__plan_poison(gemel__planner *planner, uint32_t node,
                                const gemel__run_buffer *buffer, int64_t bytes, int pattern);

/* ---- plan.c ---- */

/* Appends INSTR, which needs no other queue's (AFTER is set here). GEMEL_NO_MEMORY. */
gemel_status gemel__emit(gemel__planner *planner, gemel__instr instr);

/* The instruction appended last needs the one before it. */
void gemel__emitted_after(gemel__planner *planner);

/* Where VALUE, laid out as LAYOUT, is to be put: the result tensor if it is a result of the
 * function, else a new buffer with REMAINING uses. NULL: *STATUS says why. */
gemel__run_buffer *gemel__output_buffer(gemel__planner *planner, uint32_t value,
                                        const gemel__plan_layout *layout, uint32_t remaining,
                                        gemel_status *status);

/* Has INV's call run by the first of CANDIDATES that doesn't decline; the last one for plain
 * functions. */
gemel_status gemel__choose_kernel(gemel__planner *planner, const gemel_kernel *candidates,
                                  gemel__invocation *inv);

/* Gives CALL its scratch memory, a buffer of DEVICE's with one use; *SCRATCH is NULL if it wants
 * none. */
gemel_status gemel__place_scratch(gemel__planner *planner, uint8_t device, gemel_kernel_call *call,
                                  gemel__run_buffer **scratch);

/* Plans NODE, whose operands have buffers, by a kernel of its own. */
gemel_status gemel__plan_alone(gemel__planner *planner, uint32_t node);

/* Has the segment let go of what MADE's kernel holds, by INV, its copy there; if that is NULL, does
 * so at once. */
void gemel__note_release(gemel__planner *planner, const gemel__invocation *made,
                         gemel__invocation *inv);

/* ---- cluster.c ---- */

/* Adds NODE, an elementwise node with results laid out as LAYOUT, to a cluster. GEMEL_DECLINED: no
 * scalar kernel. */
gemel_status gemel__cluster_add(gemel__planner *planner, uint32_t node, gemel__plan_layout *layout);

/* Adds NODE, if it is a sum or maximum of rows, to the cluster of its operand's shape; its device's
 * clusters take rows. GEMEL_DECLINED: it isn't, or the rows are too long. */
gemel_status gemel__cluster_add_reduction(gemel__planner *planner, uint32_t node);

/* Has the result of NODE, a view, be in the cluster of its operand. GEMEL_DECLINED: it isn't a view
 * of a member BY_ROW that adds the last axis, or drops it. */
gemel_status gemel__cluster_add_view(gemel__planner *planner, uint32_t node);

/* Makes VALUE have a buffer: closes the cluster it is in, if any. */
gemel_status gemel__cluster_settle(gemel__planner *planner, uint32_t value);

/* Closes the clusters that read BUFFER. */
gemel_status gemel__cluster_settle_readers(gemel__planner *planner,
                                           const gemel__run_buffer *buffer);

/* Closes all clusters. */
gemel_status gemel__cluster_settle_all(gemel__planner *planner);

/* ---- cluster-build.c ---- */

/* The kernel of NODE, a scalar operation: half types stand for f32 in it. */
gemel__scalar_kernel gemel__member_kernel(const gemel__run_program *program, uint32_t node);

/* Emits CLUSTER as a loop; the members that others read have their buffers. */
gemel_status gemel__cluster_build(gemel__planner *planner, gemel__cluster *cluster);

/* Writes down what CLUSTER computes. GEMEL_NO_MEMORY. */
gemel_status gemel__cluster_describe(gemel__planner *planner, const gemel__cluster *cluster,
                                     gemel__cluster_record *record);

/* ---- cluster-device.c ---- */

/* The same as a kernel of the device on which the members lie. */
gemel_status gemel__cluster_build_there(gemel__planner *planner, gemel__cluster *cluster);

#endif
