/* SPDX-License-Identifier: MIT
 *
 * Graphs as text and as compact binary. Both round-trip exactly and neither recurses.
 *
 * All functions may be called on several threads at once, also for graphs of one context, or to
 * write one graph; but gemel_declare builds on a graph, which is one thread's then.
 */
#ifndef GEMEL_TEXT_H
#define GEMEL_TEXT_H

#include <stddef.h>
#include <gemel/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A sink for text or bytes: returns 0, or non-zero to stop with GEMEL_IO. It is called on the
 * thread that prints; BYTES are borrowed for the call. */
typedef int (*gemel_write)(void *user, const void *bytes, size_t count);

/* Parses one graph. FILE is the name used in messages and as the nodes' provenance. The graph has
 * one reference, owned by the caller. NULL on failure: GEMEL_BAD_TEXT with line and column, and a
 * message of up to three lines that shows the line with a caret; or the error of the operation
 * applied, with its line; GEMEL_BAD_ARGUMENT (no context, no text), GEMEL_NO_MEMORY. *NAME (NAME
 * may be NULL) receives the graph's name, to be freed with gemel_text_free; not on failure.
 * Operations that the text defines stay defined. Linear time. */
gemel_graph *gemel_parse(gemel_context *context, const char *text, size_t length, const char *file,
                         char **name, gemel_error *error);

/* Adds the input that TEXT declares, written as in a graph's text: "x: f32[N, 1000]", or "state w:
 * f32[3]"; behind the type may stand what is assumed of it ("x: f32[N] positive"). Null value on
 * failure, with the error on the graph: GEMEL_BAD_TEXT (with a caret below the place),
 * GEMEL_BAD_ARGUMENT (an input of that name is there), GEMEL_NO_MEMORY. */
gemel_value gemel_declare_at(gemel_graph *graph, const char *text, gemel_location where);
#define gemel_declare(graph, text) gemel_declare_at(graph, text, GEMEL_HERE)

/* Defines the operations in TEXT: stanzas at its beginning as
 *
 *   operation swish(x) { return x * sigmoid(x) }
 *
 * Such an operation takes operands of any types that its formula takes, is differentiated, run and
 * verified by its formula. Graphs and rules may have such stanzas in front of them, which their
 * readers define; from the first `graph` or `rule` on TEXT is left alone here. One of the same name
 * and text may come again; where the program has registered an operation of that name, the formula
 * is its reference in the harness. GEMEL_BAD_TEXT (with line and column), GEMEL_NO_MEMORY: what was
 * defined before the mistake stays. Thread-safe. */
gemel_status gemel_define_operations(gemel_context *context, const char *text, size_t length,
                                     const char *file, gemel_error *error);

/* Prints GRAPH under NAME, one node a line in the order of ids, only nodes that an output or input
 * needs; what is printed parses back to an equal graph, and prints the same again. Operations that
 * a text defined and GRAPH needs are printed in front of it. NAME NULL is "main". Errors: GEMEL_IO
 * (WRITE stopped it), GEMEL_BAD_ARGUMENT (no graph, no WRITE, NAME is malformed),
 * GEMEL_UNSUPPORTED (2^31 values, or inputs that have all names of values), GEMEL_NO_MEMORY: some
 * of the text may have been written by then. */
gemel_status gemel_print(const gemel_graph *graph, const char *name, gemel_write write, void *user,
                         gemel_error *error);

/* Prints to a new NUL-terminated string, to be freed with gemel_text_free; NULL on failure, as
 * gemel_print but for GEMEL_IO. */
char *gemel_print_string(const gemel_graph *graph, const char *name, gemel_error *error);

/* Frees a string that this header's functions made; NULL is ignored. */
void gemel_text_free(char *text);

/* Writes the binary form (format in doc/text.md: version, sections, checksum). NAME NULL is "main".
 * Errors: GEMEL_IO (WRITE stopped it), GEMEL_BAD_ARGUMENT (no graph, no WRITE, NAME is malformed),
 * GEMEL_NO_MEMORY. */
gemel_status gemel_serialize(const gemel_graph *graph, const char *name, gemel_write write,
                             void *user, gemel_error *error);

/* Reads the binary form. BYTES are not needed any more afterwards; the graph has one reference,
 * owned by the caller, and *NAME is as in gemel_parse. NULL on failure: GEMEL_BAD_FILE (what is
 * wrong and at which byte), GEMEL_UNSUPPORTED (another version of the form, an operation, or a
 * version of it, that CONTEXT doesn't have), GEMEL_BAD_ARGUMENT (NULL), GEMEL_NO_MEMORY. */
gemel_graph *gemel_deserialize(gemel_context *context, const void *bytes, size_t length,
                               char **name, gemel_error *error);

/* Loads a graph file, text or binary by its first bytes; saves one, binary if PATH ends in
 * ".gemel", else text (".gmt" by custom). A file appears whole or not at all, as gemel_npy_save's.
 * NAME, and what is owned, are as in gemel_parse and gemel_print. Errors: of gemel_parse or
 * gemel_deserialize, and of gemel_print or gemel_serialize; GEMEL_IO (PATH can't be read or
 * written), GEMEL_BAD_FILE (too long for a text), GEMEL_BAD_ARGUMENT (no PATH). */
gemel_graph *gemel_load(gemel_context *context, const char *path, char **name, gemel_error *error);
gemel_status gemel_save(const gemel_graph *graph, const char *name, const char *path,
                        gemel_error *error);

#ifdef __cplusplus
}
#endif
#endif
