/* SPDX-License-Identifier: MIT
 *
 * Modules of HLO, the language of XLA's graphs, as graphs of gemel's: the text that XLA writes with
 * --xla_dump_hlo_as_text is read (gemel_hlo_load), and made into a graph of a context
 * (gemel_hlo_graph) as often as you like. doc/hlo.md says what is read. All functions may be called
 * on several threads at once, for one module too; but it is freed when no other thread uses it.
 */
#ifndef GEMEL_HLO_H
#define GEMEL_HLO_H

#include <stddef.h>
#include <gemel/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A module that was read. It doesn't change, so threads may share it. */
typedef struct gemel_hlo gemel_hlo;

/* Reads the module in the file PATH, to be freed with gemel_hlo_free. NULL on failure: GEMEL_IO,
 * GEMEL_BAD_FILE (no module of HLO; line and column), GEMEL_UNSUPPORTED (sizes that are known only
 * at run time, more than GEMEL_MAX_RANK axes), GEMEL_BAD_ARGUMENT (no PATH), GEMEL_NO_MEMORY.
 * Thread-safe. */
gemel_hlo *gemel_hlo_load(const char *path, gemel_error *error);

/* As gemel_hlo_load, of LENGTH bytes of TEXT, which must outlive the module. NAME stands for the
 * file in messages. NULL on failure, as gemel_hlo_load but for GEMEL_IO. */
gemel_hlo *gemel_hlo_parse(const char *text, size_t length, const char *name, gemel_error *error);

/* Frees the module; NULL is ignored. Graphs made of it stay. */
void gemel_hlo_free(gemel_hlo *module);

/* The graph of the module's entry computation. Its inputs are called p0, p1, ..., as the parameters
 * are numbered, those of a tuple p0_0, p0_1, ...; its outputs out0, out1, ... *NAME (NAME may be
 * NULL) receives the module's name, to be freed with gemel_text_free. Each node's location is the
 * file and line of its instruction. Layouts and shardings say nothing to a graph. NULL on failure:
 * GEMEL_UNSUPPORTED (an instruction that gemel can't say, a dtype that it hasn't), GEMEL_BAD_FILE
 * (an attribute or operand that is missing, a shape that isn't that of the result), or the error of
 * an operation, all with file and line; GEMEL_BAD_ARGUMENT (NULL), GEMEL_NO_MEMORY. The graph has
 * one reference, owned by the caller. Computations are expanded where they are called. Thread-safe.
 */
gemel_graph *gemel_hlo_graph(const gemel_hlo *module, gemel_context *context, char **name,
                             gemel_error *error);

#ifdef __cplusplus
}
#endif
#endif
