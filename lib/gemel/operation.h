/* SPDX-License-Identifier: MIT
 *
 * The record of an operation: what gemel's own rows fill in, and what a program fills in to
 * register an operation of its own at run time. Structs begin with their size, so that fields can
 * be added. Hooks report failure by filling in ERROR and returning a status; they never abort.
 *
 * All functions may be called on several threads at once, and so are hooks and kernels, also while
 * others are at work in them; each with a call of its own, whose PREPARED no other call has then.
 */
#ifndef GEMEL_OPERATION_H
#define GEMEL_OPERATION_H

#include <stddef.h>
#include <stdint.h>
#include <gemel/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One attribute of an operation's schema. FALLBACK says what an absent one is: NULL means it must
 * be given; "none" leaves it absent (kind GEMEL_ATTR_NONE); else a value as text: an integer,
 * "true" or "false" (1 and 0), a float, the name of a dtype, a string, "[]" for a list of any kind.
 * Dims, tensors and graphs have no text. */
typedef struct gemel_attr_spec {
  const char *name;
  int kind;
  const char *fallback;
} gemel_attr_spec;

enum {
  GEMEL_OP_ELEMENTWISE = 1 << 0, /* operands broadcast; output element depends on operand element */
  GEMEL_OP_COMMUTATIVE = 1 << 1, /* two operands may be swapped */
  GEMEL_OP_VIEW = 1 << 2,        /* output 0 may share input 0's memory: see view */
  GEMEL_OP_SOURCE = 1 << 3,      /* no inputs; input and constant are such */
  GEMEL_OP_INEXACT = 1 << 4,     /* no result is exact, on small integers either: it is made of exp,
                                    say; the harness then looks for no exact ones */
  GEMEL_OP_SPARES_UNREAD = 1 << 5, /* kernels leave out results that nobody reads, which then have
                                      no memory: see UNREAD of gemel_kernel_call */
  GEMEL_OP_LIBRARY = 1 << 6 /* results are a math library's, and a device has another library: bits
                               agree on one device, and on two the operation's bound holds */
};

/* ---- Type rule ---- */

/* What a type rule sees: input types and attributes (in schema order, defaults filled in). It sets
 * N_OUTPUTS and OUTPUTS[0..N_OUTPUTS), which has room for MAX_OUTPUTS. It must work for symbolic
 * and for constant dims alike: the run-time shape check is the same rule on constants. A rule that
 * gives no output, more than 65535, or one without a type is GEMEL_BAD_TYPE. */
typedef struct gemel_infer {
  size_t size;
  gemel_context *context;
  size_t n_inputs;
  const gemel_type *inputs;
  const gemel_value *input_values; /* NULL when only types are known (the run-time shape check) */
  const gemel_attr *attrs;
  size_t max_outputs;
  size_t n_outputs;
  gemel_type *outputs;
  gemel_error *error;
  const void *data;           /* the record's DATA */
  const gemel_type *declared; /* at the run-time check, the types that the node was built with (a
                                 size that is 1 only now does not broadcast); else NULL */
  size_t n_attrs;
} gemel_infer;

/* ---- Derivatives ---- */

/* What a derivative rule sees: the node's inputs and outputs as values of the graph that the
 * derivative is built on. A gradient (reverse) rule finds the cotangent of each output in D_OUTPUTS
 * (null: zero) and sets D_INPUTS[k], the cotangent of input k, for each input with WANTED[k] (null:
 * zero); types as the inputs'. A forward rule (jvp) finds the tangent of each input in D_INPUTS
 * (null: zero) and sets the tangents of the outputs in D_OUTPUTS. A rule that fails leaves the
 * graph's own error; it returns that status. */
typedef struct gemel_derive {
  size_t size;
  gemel_graph *graph;
  size_t n_inputs;
  const gemel_value *inputs;
  size_t n_outputs;
  const gemel_value *outputs;
  const gemel_attr *attrs;
  const unsigned char *wanted;
  gemel_value *d_inputs;  /* reverse: to be set; forward: given */
  gemel_value *d_outputs; /* reverse: given; forward: to be set */
  gemel_location where;   /* the place of the node being differentiated */
  const void *data;
  gemel_error *error;
} gemel_derive;

/* ---- Kernels ---- */

typedef struct gemel_device gemel_device; /* <gemel/device.h> */

/* One elementwise operation of a cluster, which a device computes in one pass over the elements.
 * IN[k] < 0: input -1 - IN[k] of the call; else the result of step IN[k], an earlier one. The
 * result has DTYPE, and is rounded to it before another step reads it. Of a step BY_ROW the result
 * has one element for each row, which is all along the last axis: OPERATION is sum or max of that
 * axis and the operand a float, or OPERATION is elementwise and so are its operands, each the same
 * along the row. */
typedef struct gemel_step {
  const struct gemel_operation *operation;
  gemel_dtype dtype;
  int n_in;
  int in[3];
  int output; /* of the call; -1: only steps read it */
  int by_row;
} gemel_step;

/* What a kernel sees: views of its operands, and attributes. ATTRS has all of them in schema order:
 * one that wasn't given has its fallback (kind GEMEL_ATTR_NONE where that is "none"), and dims are
 * evaluated (kind GEMEL_ATTR_INT in place of GEMEL_ATTR_DIM), in PREPARE too. The type rule has
 * accepted them; else they are as the graph has them. Rewriting brings them to the operation's
 * normal form (NORMALIZE of the record: axes counted from 0, in ascending order where their order
 * is all the same, an absent list spelt out), but a graph that is compiled as written,
 * gemel_evaluate and the harness don't: so a kernel takes `axis = -1`, `axes = [2, 0]` and no axes
 * at all. Outputs are allocated, row-major (but for what CHANNELS_LAST of the record says),
 * uninitialised, and don't overlap the inputs. PREPARE runs once a shape signature and may return
 * GEMEL_DECLINED (then the next candidate is tried), ask for SCRATCH_BYTES of scratch memory for
 * each call and keep up to 256 bytes in PREPARED; the data pointers are not valid yet. RUN runs at
 * each call. THREADS is how many threads the call may use; DETERMINISTIC asks for results that
 * don't depend on it. */
typedef struct gemel_kernel_call {
  size_t size;
  size_t n_inputs;
  const gemel_view *inputs;
  size_t n_outputs;
  const gemel_view *outputs;
  const gemel_attr *attrs;
  int threads;
  int deterministic;
  size_t scratch_bytes;
  void *scratch;
  void *prepared;
  const void *data;
  gemel_error *error;
  /* PREPARE may set this if it succeeds: called with PREPARED once, when that is thrown away. */
  void (*release)(void *prepared);
  const struct gemel_operation *operation; /* the record */
  const gemel_device *device;              /* on which operands, results and scratch lie */
  /* Of a cluster: its N_STEPS steps in order. OPERATION and ATTRS are NULL then; inputs have the
   * shape of the outputs, with strides of 0 where they are broadcast; outputs of steps BY_ROW have
   * the shape without the last axis, or with 1 in its place. Another output may have the data of an
   * input that lies like it and that no step after the output's reads. */
  const gemel_step *steps;
  size_t n_steps;
  /* As in the function's gemel_options, for kernels that compile functions of their own, and loops.
   */
  unsigned guard;
  int poison;
  int64_t most_steps;
  /* Of each input: where a number stands that changes whenever the input's contents do, from one
   * call to the next; NULL: these may be others at each call. So RUN can keep in PREPARED what it
   * has made of a constant, or of a shared variable that changes seldom. It is never 0. VERSIONS
   * itself is NULL if there is none. */
  const uint64_t *const *versions;
  /* 1: kernels are chosen by timing (gemel_options.autotune), so PREPARE declines what RUN can't
   * do, and not what another kernel is thought to do faster. */
  int timed;
  /* Where the operation's record has the flag GEMEL_OP_SPARES_UNREAD and nobody reads some of the
   * outputs: of each, 1 if it has no memory, so that its DATA is NULL and RUN must not write it,
   * whatever its shape. NULL: all have memory. It is known to PREPARE. At least one output has
   * memory, and kernels on devices and those that a program registers for such an operation get it
   * too. */
  const unsigned char *unread;
  struct gemel__nested *nested; /* gemel's own, for kernels that call a body; may be NULL */
  /* PREPARE may set this to 1, once or at each signature anew: then RUN gets every operand and
   * every result row-major without gaps, whatever the strides that PREPARE is shown (those that
   * there are). What lies otherwise gemel copies, before RUN or behind it, on the device of the
   * call, in memory of its own. gemel_prepare_packed does that and no more. */
  int packed;
  gemel_status (*packed_run)(const struct gemel_kernel_call *call); /* gemel's own */
  int matmul_precision; /* a gemel_precision, as in the function's gemel_options */
} gemel_kernel_call;

#define GEMEL_KERNEL_PREPARED_BYTES 256

/* One way to compute an operation. An operation's kernels stand in order of preference, the plain
 * one, which never declines, last; the array ends with a NULL name. PREPARE may be NULL. */
typedef struct gemel_kernel {
  const char *name;
  gemel_status (*prepare)(gemel_kernel_call *call);
  gemel_status (*run)(const gemel_kernel_call *call);
} gemel_kernel;

/* A PREPARE for kernels that take packed operands and results only: sets PACKED and takes the call.
 * One that declines some calls says `return gemel_prepare_packed(call)` for the others. GEMEL_OK;
 * GEMEL_BAD_ARGUMENT for NULL. Thread-safe for different calls. */
gemel_status gemel_prepare_packed(gemel_kernel_call *call);

/* Registers a copy of KERNEL for the operation called OPERATION (gemel's own, or one that was
 * registered) on the device of memory space SPACE (GEMEL_SPACE_HOST: the host). From then on it is
 * asked before all kernels that the operation has there, and one that was registered earlier; where
 * it declines they are asked as before. It computes whatever is planned in CONTEXT: by functions
 * (plans that are made already keep their kernels), as constants that are folded, in the harness
 * (`gemel verify` then judges it in all ways that don't ask for plain kernels). An elementwise
 * operation with such a kernel is a call of its own, never part of a fused loop. Its call gets what
 * gemel_kernel_call promises; where the operation's record says `overwrites`, or channels_last, the
 * kernel takes such views too, or (GEMEL_OP_SPARES_UNREAD) outputs without memory. KERNEL's
 * functions must stay valid as long as the context does. With gemel_options.autotune the fastest
 * kernel is taken, whosever it is. Errors: GEMEL_BAD_ARGUMENT (a null argument; no name, or one
 * that a kernel of the operation has there; no `run`; an operation that isn't computed: input,
 * constant), GEMEL_NOT_FOUND (no such operation; no device in that space), GEMEL_NO_MEMORY.
 * Thread-safe. */
gemel_status gemel_register_kernel(gemel_context *context, int space, const char *operation,
                                   const gemel_kernel *kernel, gemel_error *error);

/* ---- Samples ---- */

/* What values an input of a sampled instance may take. */
typedef enum gemel_range {
  GEMEL_RANGE_ANY,         /* any number of the dtype */
  GEMEL_RANGE_POSITIVE,    /* > 0 */
  GEMEL_RANGE_NONNEGATIVE, /* >= 0 */
  GEMEL_RANGE_NONZERO,
  GEMEL_RANGE_ABOVE_MINUS_ONE, /* > -1 */
  GEMEL_RANGE_MODERATE,        /* |x| small enough for exp and its like not to overflow */
  GEMEL_RANGE_INDEX,           /* integer in [LOW, HIGH) */
  GEMEL_RANGE_DEFINITE         /* square matrices, whose lower triangles are those of symmetric ones
                                  that are positive definite */
} gemel_range;

#define GEMEL_SAMPLE_MAX_INPUTS 8
#define GEMEL_SAMPLE_MAX_ATTRS 16

/* What a sampler fills in: a random instance of the operation. RANDOM(user) gives 64 fresh bits.
 * DTYPE is the dtype that the harness wants where the operation leaves a choice. MAX_ELEMENTS
 * bounds each operand. A sampler for which DTYPE makes no sense returns GEMEL_DECLINED. Lists in
 * ATTRS point into STORAGE (or static data). Shapes should include sizes 0 and 1. RANK, if it isn't
 * 0, is the rank that the harness wants of the first operand, where the operation leaves a choice;
 * a sampler may ignore it. <gemel/sample.h> has ready samplers for usual shapes. */
typedef struct gemel_sample {
  size_t size;
  gemel_context *context;
  uint64_t (*random)(void *user);
  void *user;
  gemel_dtype dtype;
  int64_t max_elements;
  size_t n_inputs;
  gemel_type inputs[GEMEL_SAMPLE_MAX_INPUTS];
  gemel_range ranges[GEMEL_SAMPLE_MAX_INPUTS];
  int64_t low[GEMEL_SAMPLE_MAX_INPUTS];
  int64_t high[GEMEL_SAMPLE_MAX_INPUTS];
  size_t n_attrs;
  gemel_attr attrs[GEMEL_SAMPLE_MAX_ATTRS];
  union {
    int64_t ints[256];
    gemel_dim dims[512];
  } storage;
  size_t storage_used; /* in 8-byte units */
  const void *data;
  int rank; /* wanted; 0: any */
  /* LENGTH, if it isn't 0, is a size that the harness wants, with the other axes short: of axis
   * AXIS, counted modulo those for which the operation leaves a choice, or (-1) of all of them. A
   * sampler may ignore it. */
  int64_t length;
  int axis;
  gemel_error *error;                      /* what a sampler that fails may fill in; may be NULL */
  const struct gemel_operation *operation; /* the record */
} gemel_sample;

/* ---- Normal forms ---- */

#define GEMEL_NORMALIZE_STORAGE 128

/* What a normalize hook sees: the types of a node's inputs and a copy of its attributes (in schema
 * order, defaults filled in), which it rewrites to the one way of writing the same thing: axes
 * counted from 0, absent lists spelt out. Results must stay the same bit for bit, and what is
 * normal already must stay as it is. Lists may point into STORAGE. Attributes that the type rule
 * refuses may come too: the hook leaves them alone, so that the type rule says what is wrong. */
typedef struct gemel_normalize {
  size_t size;
  gemel_context *context;
  size_t n_inputs;
  const gemel_type *inputs;
  size_t n_attrs;
  gemel_attr *attrs;
  int64_t storage[GEMEL_NORMALIZE_STORAGE];
  size_t storage_used;
  gemel_error *error;
  const void *data; /* the record's DATA */
} gemel_normalize;

/* ---- The record ---- */

typedef struct gemel_operation {
  size_t size;      /* sizeof(gemel_operation) */
  const char *name; /* [A-Za-z_][A-Za-z0-9_]*, unique in the context */
  const char *summary;
  int min_inputs;
  int max_inputs; /* -1: no limit */
  unsigned flags;
  int version;                  /* for the binary form; from 1 */
  const gemel_attr_spec *attrs; /* ends with a NULL name; NULL: none */
  gemel_status (*infer)(gemel_infer *call);
  gemel_status (*grad)(gemel_derive *call); /* NULL: not differentiable */
  gemel_status (*jvp)(gemel_derive *call);  /* NULL: not differentiable forward */
  /* NULL: can't be verified by itself. gemel's own operations have none here: the harness draws
   * their instances itself. */
  gemel_status (*sample)(gemel_sample *call);
  const gemel_kernel *kernels;
  /* View operations: given views of the inputs, describes output 0 as a view of input 0's memory
   * (shape and strides go to the arrays, room for GEMEL_MAX_RANK; *OFFSET in bytes), or declines.
   */
  gemel_status (*view)(const gemel_kernel_call *call, int64_t *shape, int64_t *strides,
                       int64_t *offset);
  /* Operations' work at these shapes; NULL: one flop for each output element. */
  void (*cost)(const gemel_kernel_call *call, double *flops, double *bytes);
  const void *data;                                 /* handed to every hook */
  gemel_status (*normalize)(gemel_normalize *call); /* NULL: every way of writing is normal */
  /* 1 + the number of an input in whose memory output 0 may be made; 0: there is none. Where that
   * input has the output's type and nothing else reads it any more, a kernel, whichever is chosen,
   * may find both views with the same data and strides; no other input overlaps them. */
  int overwrites;
  /* 1 if the outputs of CALL, images [batch, channels, spatial axes...], had better lie with their
   * channels last: axis 1 with the smallest stride, the others row-major around it. Asked on the
   * host, before PREPARE, with the strides that the inputs have. The kernels must then write such
   * outputs too, though not every one that is asked for becomes one. NULL: always row-major. */
  int (*channels_last)(const gemel_kernel_call *call);
  /* Called once with DATA when the context is freed, behind the last call of a hook or a kernel;
   * not where the registration failed. NULL: nothing is. */
  void (*release)(const void *data);
} gemel_operation;

/* Registers an operation with CONTEXT; the record and what it points at are copied where gemel
 * keeps them (strings, schema) and must stay valid otherwise (functions, DATA, KERNELS). Errors:
 * GEMEL_BAD_ARGUMENT (name taken or malformed, no type rule, no kernel and no view, a kernel that
 * can't run, an impossible number of inputs, a malformed schema or fallback, SIZE too small),
 * GEMEL_UNSUPPORTED (65535 operations), GEMEL_NO_MEMORY. Thread-safe. */
gemel_status gemel_register_operation(gemel_context *context, const gemel_operation *operation,
                                      gemel_error *error);

/* The record of operation NAME, or NULL. Borrowed from the context. Thread-safe. */
const gemel_operation *gemel_operation_find(gemel_context *context, const char *name);

/* How many operations there are, and the K-th in the order of registration, borrowed from the
 * context; NULL out of range. Thread-safe. */
size_t gemel_operation_count(gemel_context *context);
const gemel_operation *gemel_operation_at(gemel_context *context, size_t k);

#ifdef __cplusplus
}
#endif
#endif
