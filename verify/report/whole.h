/* SPDX-License-Identifier: MIT
 *
 * A counterexample for others: the inputs of both graphs as they came, at which they differ, and
 * both results, as files.
 */
#ifndef GEMEL__REPORT_WHOLE_H
#define GEMEL__REPORT_WHOLE_H

#include "instances/instance.h"

/* Where two graphs differ: a tensor for each of their inputs that matters. */
typedef struct gemel__whole {
  int taken; /* 1: there is such a point */
  size_t n;
  const char **names; /* of inputs; the context's */
  gemel_tensor **tensors;
} gemel__whole;

/* WHOLE becomes VALUES, of INSTANCE's inputs. GEMEL_NO_MEMORY. */
gemel_status gemel__whole_take(gemel__whole *whole, const gemel__instance *instance,
                               gemel_tensor *const *values, gemel_error *error);
void gemel__whole_clear(gemel__whole *whole);

/* Writes into FOLDER (made if it isn't there): first.gmt and second.gmt, inputs/NAME.npy for each
 * input, and what the shipped code makes of them, first/NAME.npy and second/NAME.npy for each
 * output. An input that WHOLE doesn't have is zeros. GEMEL_IO, GEMEL_UNSUPPORTED (bf16 has no NPY
 * name), what running the graphs reports, GEMEL_NO_MEMORY. */
gemel_status gemel__whole_write(const gemel__whole *whole, const char *folder, const gemel_graph *a,
                                const gemel_graph *b, gemel_error *error);

#endif
