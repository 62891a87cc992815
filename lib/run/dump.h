/* SPDX-License-Identifier: MIT
 *
 * What writing and reading a dumped call share: the names of its files and the options in it.
 */
#ifndef GEMEL__RUN_DUMP_H
#define GEMEL__RUN_DUMP_H

#include <gemel/dump.h>
#include <stddef.h>
#include "text/write.h"

#define GEMEL__DUMP_GRAPH "graph.gmt"
#define GEMEL__DUMP_OPTIONS "options"
#define GEMEL__DUMP_LINES "lines"
#define GEMEL__DUMP_INPUTS "inputs.npz"
#define GEMEL__DUMP_OUTPUTS "outputs.npz"
#define GEMEL__DUMP_RULES "rules-%zu.rules"

/* Members of options that are integers. X(name in the file, member of gemel_dumped). Besides there
 * are mode and allow (words), include and exclude (text), rules (a file's name) and strides. */
#define GEMEL__DUMP_INTEGERS(X)                                                                    \
  X("threads", options.threads)                                                                    \
  X("deterministic", options.deterministic)                                                        \
  X("plain", options.plain)                                                                        \
  X("as_written", options.as_written)                                                              \
  X("guard", options.guard)                                                                        \
  X("poison", options.poison)                                                                      \
  X("autotune", options.autotune)                                                                  \
  X("matmul_precision", options.matmul_precision)                                                  \
  X("without_builtin", rewrite.without_builtin)                                                    \
  X("certify", rewrite.certify)

/* The same of a call that was lifted, beside its strategy (a word) and the lists of inputs and
 * outputs. */
#define GEMEL__DUMP_LIFT_INTEGERS(X)                                                               \
  X("lift_space", lift.space)                                                                      \
  X("lift_states", lift.states)

enum { GEMEL__DUMP_PATH = 4096 };

/* PATH = FOLDER/NAME. GEMEL_IO if that is too long. */
gemel_status gemel__dump_path(const char *folder, const char *name, char path[GEMEL__DUMP_PATH],
                              gemel_error *error);

/* ---- Lines of the program (dump-lines.c) ---- */

/* Where the nodes of GRAPH come from, as text. */
gemel_status gemel__dump_put_lines(const gemel_graph *graph, gemel__writer *out,
                                   gemel_error *error);

/* Has the nodes of GRAPH, read from the dumped text, come from where the file PATH says. OK if
 * there is no such file, or it doesn't fit. GEMEL_BAD_FILE (with its line), GEMEL_IO,
 * GEMEL_NO_MEMORY. */
gemel_status gemel__dump_read_lines(gemel_graph *graph, const char *path, gemel_error *error);

#endif
