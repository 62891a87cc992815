/* SPDX-License-Identifier: MIT
 *
 * Profiles of calls: where the time of a compiled function goes. A function that was compiled with
 * gemel_options.profile times each instruction of each call; a profile is what it has seen so far,
 * with a row for each instruction: an operation's kernel, a loop that takes several elementwise
 * nodes together, or a copy. Rows name the lines of the user's program, through all rewrites.
 * Timing costs two readings of a clock an instruction; without the option nothing is read. A
 * profile doesn't change once it is made, so threads may share it: all functions may be called on
 * several threads at once, but for the one that frees it.
 */
#ifndef GEMEL_PROFILE_H
#define GEMEL_PROFILE_H

#include <gemel/function.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What an instruction did in all calls; those of a body (of invoke, scan, or an operation defined
 * in text) have rows too, with a call for each step, and are recorded as soon as they are done.
 * FLOPS and BYTES are what the operation's row says that the work takes (gemel_operation.cost); a
 * loop has one flop for each element of each member, and the bytes of what it loads and stores:
 * what members hand to one another stays in the cache. CEILING is the part of this machine's speed
 * that was reached: the time that the bytes take at the speed of a large copy, or the flops at that
 * of a large matrix product, whichever is longer, divided by SECONDS. What lies in a cache may be
 * above 1; 0: the ceiling or the work isn't known. What calls a body has no work of its own. */
typedef struct gemel_call_row {
  const char *kind;      /* "loop", "kernel", "copy", "transfer", "result" */
  const char *family;    /* of the operation: "linalg", …; "copy"; "other": a program's own */
  const char *operation; /* "dot"; of a loop its members, "mul+add+tanh"; "scan/dot": in a body */
  const char *kernel;    /* which one was chosen; "" where there is no choice */
  uint32_t value;        /* the (last) value that it computes, as gemel_function_print numbers it */
  const gemel_location *places; /* N_PLACES different lines that made its nodes, in their order */
  size_t n_places;
  uint64_t calls;
  double seconds;
  double flops;
  double bytes;
  double ceiling;
  const char *within; /* "%7/" where VALUE is one of the body of the node that computes %7 */
  double inside;      /* seconds of the instructions of its body, which are no part of SECONDS */
} gemel_call_row;

/* All calls together. A call is timed as a whole, so SECONDS is more than its instructions take;
 * planning, which is done at the first call of a shape, is part of it. Calls that failed do not
 * count. */
typedef struct gemel_call_summary {
  uint64_t calls;
  double seconds, shortest, longest; /* of all calls; of one */
  double in_instructions;
  double rewriting;                 /* seconds of gemel_compile, and of planning in calls */
  double phases[GEMEL_PHASE_COUNT]; /* of REWRITING, in seconds of processor time */
  double lifting;                   /* to a device; of gemel_compile, as is the next */
  double program;
  double planning;
  uint64_t plans;
  size_t bytes;          /* of intermediate results, most of any call */
  size_t unshared_bytes; /* what they would be if no memory served twice */
  int threads;           /* that the function may use; the ceilings are theirs */
  double copy_speed;     /* bytes a second, read and written; 0: not known */
  double f32_speed;      /* flops a second of a product of matrices; 0: not known */
  double f64_speed;
  uint64_t events, lost_events; /* of the trace; LOST: beyond what is kept */
} gemel_call_summary;

typedef struct gemel_call_profile gemel_call_profile;

/* What FUNCTION's calls that have ended did, for the caller to free. The first profile in a
 * process, and one of a function with another number of threads than the one before, measures the
 * machine's ceilings, which takes some tenths of a second. NULL on failure: GEMEL_BAD_ARGUMENT
 * (NULL, a function compiled without the option), GEMEL_NO_MEMORY. Thread-safe, also with calls. */
gemel_call_profile *gemel_function_profile(const gemel_function *function, gemel_error *error);

/* Frees a profile; NULL is ignored. */
void gemel_call_profile_free(gemel_call_profile *profile);

/* FUNCTION forgets what it has seen of calls (not what compiling took). GEMEL_BAD_ARGUMENT as
 * above. Thread-safe. */
gemel_status gemel_function_profile_reset(gemel_function *function, gemel_error *error);

/* All calls together; NULL for NULL. Lives as long as the profile. */
const gemel_call_summary *gemel_call_profile_summary(const gemel_call_profile *profile);

/* How many rows, and the K-th, the slowest first; NULL out of range. They live as long as the
 * profile. */
size_t gemel_call_profile_count(const gemel_call_profile *profile);
const gemel_call_row *gemel_call_profile_at(const gemel_call_profile *profile, size_t k);

/* Prints tables for people: a summary; time by family of operations (Class), by operation (Ops) and
 * by instruction (Apply; the slowest 30). GEMEL_IO (WRITE refused), GEMEL_NO_MEMORY,
 * GEMEL_BAD_ARGUMENT; so the other two. */
gemel_status gemel_call_profile_print(const gemel_call_profile *profile, gemel_write write,
                                      void *user, gemel_error *error);

/* The same as JSON, an object a line: {"kind": "summary", …}, then {"kind": "loop", …} and so on
 * for each row; names are those of the structs above. Errors: as gemel_call_profile_print. */
gemel_status gemel_call_profile_json(const gemel_call_profile *profile, gemel_write write,
                                     void *user, gemel_error *error);

/* Each instruction of each call on a time line, in the format of Chrome's trace viewer (JSON;
 * https://ui.perfetto.dev shows it), calls at a time on lines of their own. There are events if the
 * function was compiled with GEMEL_PROFILE_TRACE; the first 2^20 are kept. Errors: as
 * gemel_call_profile_print. */
gemel_status gemel_call_profile_trace(const gemel_call_profile *profile, gemel_write write,
                                      void *user, gemel_error *error);

#ifdef __cplusplus
}
#endif
#endif
