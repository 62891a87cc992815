/* SPDX-License-Identifier: MIT
 *
 * Functions: a graph made ready to run. The schedule and the memory plan are made once for each
 * signature of input shapes and strides; a call with a known signature allocates nothing when it is
 * given its results' tensors. All functions may be called on several threads at once, for one
 * function too; but it is freed when no other thread uses it.
 */
#ifndef GEMEL_FUNCTION_H
#define GEMEL_FUNCTION_H

#include <gemel/graph.h>
#include <gemel/lift.h>
#include <gemel/rewrite.h>
#include <gemel/shared.h>
#include <gemel/text.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gemel_function gemel_function;

/* What gemel_options.guard looks for. */
enum { GEMEL_GUARD_NAN = 1, GEMEL_GUARD_INF = 2 };

/* What gemel_options.profile writes down: the time of each instruction (<gemel/profile.h>); when
 * each ran, too. */
enum { GEMEL_PROFILE_TIMES = 1, GEMEL_PROFILE_TRACE = 2 };

/* How a device multiplies f32 in products (dot, dot_add and convolutions, where one of its kernels
 * has the choice; the host doesn't): X(enum, word, meaning). Sums are taken in f32, whichever it
 * is. */
#define GEMEL_PRECISION_TABLE(X)                                                                   \
  X(IEEE, ieee, "as f32")                                                                          \
  X(TF32, tf32, "operands may be rounded to the 11 digits of TF32, which tensor cores take")       \
  X(BF16, bf16, "operands may be rounded to the 8 digits of bf16")

typedef enum gemel_precision {
#define GEMEL_PRECISION_ENUM(E, name, meaning) GEMEL_PRECISION_##E,
  GEMEL_PRECISION_TABLE(GEMEL_PRECISION_ENUM)
#undef GEMEL_PRECISION_ENUM
      GEMEL_PRECISION_COUNT
} gemel_precision;

/* Name of a precision, "tf32"; NULL out of range. Static storage; thread-safe. */
const char *gemel_precision_name(gemel_precision precision);

/* Options; start from {0} and set SIZE. Results of gemel's own kernels don't depend on the number
 * of threads. Those of f32 and f64 matrix products, which go through oneDNN or a CBLAS, may, and
 * which library computes an f32 product is found out by a trial in each process: DETERMINISTIC
 * computes them by the CBLAS (oneDNN if there is none) on one thread. A graph is rewritten before
 * it is compiled, unless AS_WRITTEN or PLAIN: results may then differ as far as the needs say that
 * REWRITE allows (all but nnan if it doesn't say), and an operation that no output needs any more
 * doesn't check its operands. */
typedef struct gemel_options {
  size_t size;
  int threads;       /* that a call may use; 0: as OpenMP would choose (doc/conventions.md) */
  int deterministic; /* 1: only kernels whose results don't depend on the number of threads */
  int plain;         /* 1: no rewriting, fusion or memory reuse, last kernels; in bodies too */
  const gemel_rewrite_options *rewrite; /* how the graph is rewritten first; NULL: as gemel_rewrite
                                           does by itself; borrowed for the time of gemel_compile */
  int as_written;                       /* 1: the graph is not rewritten */
  gemel_shared *const *states; /* the variable of each state of the graph, in the order of the
                                  inputs; referenced by the function. NULL: states are inputs of a
                                  call as all others, and their updates outputs */
  size_t n_states;             /* how many: as many as the graph has */
  int profile;                 /* bits GEMEL_PROFILE_…: calls are timed. 0: not, at no cost */
  unsigned guard; /* bits GEMEL_GUARD_…: the first node that makes a NaN, or an infinity, while
                     none of its operands has one ends the call with GEMEL_BAD_VALUE, which names
                     the node, its line, its shapes and the element. Nodes are then computed one by
                     one, with the same bits, in bodies that are invoked too; values on other
                     devices are not looked at */
  int poison; /* 1: memory of intermediate values is overwritten, with NaN where they are floats,
                 before it is written first and as soon as nothing reads it any more; so what reads
                 it too early or too late shows. Takes about as long as writing it once more */
  const gemel_lift_options *lift; /* to which device the graph is taken, once it is rewritten or as
                                     it is written; NULL: none. Its tensors then lie where the
                                     lift's options say. Borrowed for the time of gemel_compile */
  int autotune; /* 1: where several kernels of the host take a node, each is timed when a call is
                   planned, on operands of its own, and the fastest is kept: the first call of a
                   shape takes longer and needs memory for those, and the same program may give
                   other bits where kernels round differently. A plain kernel that would take
                   seconds is not among them. Has no effect where `deterministic` or `plain` is 1,
                   and on nodes whose attributes are known at a call only */
  const char *autotune_file; /* where choices are kept for later functions, and found; copied. NULL:
                                the file autotune in GEMEL_CACHE, or gemel/ in $XDG_CACHE_HOME or
                                ~/.cache. Where it can't be written, each function times anew */
  int make_states; /* 1, without STATES: the function makes a variable of zeros for each state, as
                      gemel_states_new does; gemel_function_state finds them */
  int64_t most_steps; /* a loop that takes more ends the call with GEMEL_TOO_LONG; loops in bodies
                         count by themselves. 0: as many as it takes */
  gemel_precision matmul_precision; /* 0, GEMEL_PRECISION_IEEE: what the device's record says, which
                                       is as f32 where nobody chose otherwise */
} gemel_options;

/* Compiles GRAPH's outputs as a function of its inputs, both in the graph's order. OPTIONS may be
 * NULL. The function, which the caller owns (gemel_function_free), copies what it needs: the graph
 * may be freed or grow afterwards. NULL on failure (GEMEL_UNSUPPORTED: an operation has no kernel,
 * a value lies in a memory space that has no device; GEMEL_NO_MEMORY; what gemel_rewrite and
 * gemel_lift say; the graph's own error if it has one; GEMEL_BAD_ARGUMENT). Thread-safe, but where
 * OPTIONS name the same profile or report: these are for one thread at a time. */
gemel_function *gemel_compile(const gemel_graph *graph, const gemel_options *options,
                              gemel_error *error);

/* The same with options by name: gemel_compile_with(graph, &error, .threads = 1, .make_states = 1).
 */
#ifndef __cplusplus
#define gemel_compile_with(graph, error, ...)                                                      \
  gemel_compile(graph, &(gemel_options){.size = sizeof(gemel_options), __VA_ARGS__}, error)
#endif

/* Calls FUNCTION: N_INPUTS is the number of graph inputs, and INPUTS[k] one for each, any strides;
 * so for N_OUTPUTS and OUTPUTS. Where states are bound to shared variables, these are the inputs
 * that aren't states, and the outputs that aren't updates. All states are read as they were before
 * the call, and change when all went well. The number of variables and of updates costs time, but
 * no copying. OUTPUTS[k] may come in as NULL (a new tensor is made) or as a tensor of the right
 * dtype and shape (it is filled; its strides may be any). A given tensor may overlap inputs, or be
 * one: it is written when all has been computed. New tensors share memory with nothing. On failure
 * they are released and OUTPUTS is as before, though given tensors that overlap no input may be
 * partly written. Errors: GEMEL_BAD_TYPE, GEMEL_BAD_SHAPE (with both names and sizes),
 * GEMEL_BAD_VALUE (an index out of range, what gemel_options.guard found), GEMEL_TOO_LONG
 * (gemel_options.most_steps), what devices say,
 * GEMEL_BAD_ARGUMENT (another number of inputs or outputs, with the names of those wanted; two
 * elements of given tensors in one place), GEMEL_UNSUPPORTED (bodies nested deeper than
 * GEMEL_MAX_NESTING), GEMEL_NO_MEMORY. Thread-safe: a function may be called on several threads at
 * once, also while their states are the same; calls that change a state wait for one another. Each
 * call at a time has memory and plans of its own, which are kept for later calls. */
gemel_status gemel_call(gemel_function *function, size_t n_inputs, gemel_tensor *const *inputs,
                        size_t n_outputs, gemel_tensor **outputs, gemel_error *error);

/* As gemel_call, on arrays of the program's own, packed in row-major order: their sizes are those
 * that the graph says, which must be numbers, and their lengths are not checked. Outputs are
 * written to the arrays given. Inputs are not written to. Errors also: GEMEL_BAD_SHAPE (a size that
 * is a symbol). */
gemel_status gemel_call_arrays(gemel_function *function, size_t n_inputs, void *const *inputs,
                               size_t n_outputs, void *const *outputs, gemel_error *error);

/* The shared variable of FUNCTION's state called NAME, borrowed; NULL if there is none, or the
 * state is an input of a call. Thread-safe. */
gemel_shared *gemel_function_state(const gemel_function *function, const char *name);

/* All of them: *STATES has *N, in the order of the graph's states, for gemel_states_save and
 * gemel_states_load (<gemel/train.h>); to be freed with gemel_states_free. None where states are
 * inputs of a call. On failure both are as before: GEMEL_BAD_ARGUMENT (NULL), GEMEL_NO_MEMORY. */
gemel_status gemel_function_states(const gemel_function *function, size_t *n,
                                   gemel_shared ***states, gemel_error *error);

/* How many tensors a call takes and gives. 0 for NULL. */
size_t gemel_function_input_count(const gemel_function *function);
size_t gemel_function_output_count(const gemel_function *function);

/* Compiles GRAPH as it is written, calls once and frees. Inputs, outputs and errors as of
 * gemel_compile and gemel_call. */
gemel_status gemel_evaluate(const gemel_graph *graph, size_t n_inputs, gemel_tensor *const *inputs,
                            size_t n_outputs, gemel_tensor **outputs, gemel_error *error);

/* Bytes of intermediate memory that the plan of the call that ended last holds, bodies' too; 0
 * before any has ended, and for NULL. */
size_t gemel_function_bytes(const gemel_function *function);

/* How many kernels the call that ended last ran: each takes a number of elementwise operations, one
 * other operation, or a copy. Views need none. A function that calls a body counts as one. 0 before
 * any call has ended, and for NULL. */
size_t gemel_function_kernels(const gemel_function *function);

/* Prints the plan of the call that ended last: inputs, values that need no work, and each
 * instruction with the nodes that it computes, its kernel and which others declined, where each
 * result is stored (an output, or a place in the arena) and whose memory it takes over, and the
 * line of the program that made the node; where a body is called, its plan. Values are numbered as
 * in the program of the function, or of the body, which rewriting made: the profile and the guard
 * use the same numbers. Errors: GEMEL_NOT_FOUND: no call has ended; GEMEL_IO: WRITE refused;
 * GEMEL_NO_MEMORY; GEMEL_BAD_ARGUMENT. Linear time. Thread-safe. */
gemel_status gemel_function_print(const gemel_function *function, gemel_write write, void *user,
                                  gemel_error *error);

/* Frees the function, which no call may use any more; NULL is ignored. */
void gemel_function_free(gemel_function *function);

#ifdef __cplusplus
}
#endif
#endif
