/* SPDX-License-Identifier: MIT
 *
 * A call in a folder: the graph, the options that it is compiled with, inputs, states and results.
 * `gemel run FOLDER` does the call again and compares bit for bit; so such a folder is a bug
 * report. It holds
 *
 * - graph.gmt: the graph as text, before rewriting;
 * - lines: the files and lines of the program that made its nodes, in their order; it may be
 *   missing, and doesn't count where the graph has been edited;
 * - options: gemel_options, gemel_rewrite_options and gemel_lift_options, a line each; strides of
 *   inputs that don't lie in row-major order;
 * - rules-K.rules: a set of rules, of those beside gemel's own;
 * - inputs.npz: the inputs' values under their names, states as they were before the call;
 * - outputs.npz: the results, updates among them; may be missing.
 *
 * bf16, for which NPY has no name, is stored as its bits, u16. What a program registers
 * (operations, devices, passes) is not in it: to read such a folder, a program registers the same
 * in the context first, and gemel run can't do the call, unless all that it lacks is the device
 * that `gemel run --device` names.
 *
 * Folders may be written and read on several threads at once; what is loaded is one thread's at a
 * time.
 */
#ifndef GEMEL_DUMP_H
#define GEMEL_DUMP_H

#include <gemel/function.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Writes the call of GRAPH, compiled with OPTIONS (may be NULL), to FOLDER, which must not be there
 * and appears whole or not at all. N_INPUTS is the number of GRAPH's inputs, states too, and
 * INPUTS[k] one for each; NULL for a state that OPTIONS binds to a shared variable, whose value is
 * taken, as an array that is NULL is for all. N_OUTPUTS and OUTPUTS are the same for the outputs,
 * updates too, as a call gave them; NULL: not stored. Threads that OPTIONS leave open are written
 * as they are now. Errors: GEMEL_BAD_ARGUMENT (another number of inputs or outputs, with the names
 * of those wanted; an input is missing; OPTIONS are malformed), GEMEL_IO (with the system's reason;
 * FOLDER is there already), GEMEL_NO_MEMORY, what devices say. Time linear in what is written.
 * Thread-safe. */
gemel_status gemel_dump(const gemel_graph *graph, const gemel_options *options, size_t n_inputs,
                        gemel_tensor *const *inputs, size_t n_outputs, gemel_tensor *const *outputs,
                        const char *folder, gemel_error *error);

/* What a folder holds. All belongs to the struct; it may be changed, but for the arrays. */
typedef struct gemel_dumped {
  gemel_graph *graph;
  gemel_options options; /* REWRITE points at the member below, and LIFT at the other one if the
                            call was lifted; states are inputs as all others */
  gemel_rewrite_options rewrite;
  size_t n_inputs;
  gemel_tensor **inputs; /* for gemel_call; strides as they were, of what lies on the host */
  size_t n_outputs;
  gemel_tensor **outputs; /* as they came, where the graph has them; NULL: not stored */
  gemel_lift_options lift;
} gemel_dumped;

/* Reads FOLDER into CONTEXT. NULL on failure: GEMEL_IO (a file can't be read), GEMEL_BAD_FILE,
 * GEMEL_BAD_TEXT (what is wrong, in which file), what the graph's operations say, GEMEL_UNSUPPORTED
 * (a memory space that has no device in CONTEXT), GEMEL_BAD_ARGUMENT (NULL), GEMEL_NO_MEMORY. To be
 * freed with gemel_dump_free. Thread-safe. */
gemel_dumped *gemel_dump_load(gemel_context *context, const char *folder, gemel_error *error);

/* Frees what gemel_dump_load returned; NULL is ignored. */
void gemel_dump_free(gemel_dumped *dumped);

#ifdef __cplusplus
}
#endif
#endif
